"""What this machine can do to lock a render worker in, and the locking itself. Linux only, no helper programs.

Four walls, each probed by really raising it in a child process:

    namespaces   own user, network and IPC namespace: no interface, so no packet leaves, whatever the program does
    landlock     the kernel refuses every file outside a short list, and signals to processes outside
    seccomp      no sockets, no exec, no new processes, no tracing (raised only around programs that are executed)
    limits       CPU time, address space, file size, no core dumps (always there)

`Level` is the sum. Programs that we did not write and that would be executed (CAD sources, pages with JavaScript)
need `Level.CONFINED`; drawing collected SVG and HTML with scripts off needs `Level.PROCESS`: one that can be killed.
"""

from __future__ import annotations

import ctypes
import enum
import functools
import json
import os
import platform
import resource
import signal
import struct
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path


class Level(enum.IntEnum):
    """How far a worker is locked in; each level includes the ones before."""

    PROCESS = 1
    OFFLINE = 2
    CONFINED = 3


class IsolationError(RuntimeError):
    """This machine cannot lock the worker in as far as the program needs."""


@dataclass(frozen=True)
class Isolation:
    """Which walls this machine gives."""

    namespaces: bool
    landlock: int
    seccomp: bool

    @property
    def level(self) -> Level:
        if not self.namespaces:
            return Level.PROCESS
        return Level.CONFINED if self.landlock and self.seccomp else Level.OFFLINE

    def __str__(self) -> str:
        walls = [
            "resource limits",
            *(["no network (own namespace)"] if self.namespaces else []),
            *([f"no files (Landlock {self.landlock})"] if self.landlock else []),
            *(["no sockets, exec or fork (seccomp)"] if self.seccomp else []),
        ]
        return f"{self.level.name.lower()}: {', '.join(walls)}"


@functools.cache
def probe() -> Isolation:
    """Try each wall for real, from a fresh interpreter: this process may have threads. Cached for its life."""
    command = [sys.executable, "-P", "-m", __name__]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(one for one in sys.path if one)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
    if done.returncode != 0:
        raise IsolationError(f"cannot probe what isolation this machine gives: {done.stderr.strip()[-300:]}")
    return Isolation(**json.loads(done.stdout))


def probe_here() -> Isolation:
    """The same from within a process without threads."""
    landlock = landlock_version()
    return Isolation(
        namespaces=_works(enter_namespaces),
        landlock=landlock if landlock and _works(lambda: restrict_files([], [])) else 0,
        seccomp=seccomp_works(),
    )


def require(level: Level) -> None:
    """Raise `IsolationError` unless this machine reaches `level`."""
    found = probe()
    if found.level < level:
        raise IsolationError(f"needs isolation level {level.name.lower()}, this machine gives {found}")


def seccomp_works() -> bool:
    """Whether `deny_system_calls` succeeds, tried in a child process."""
    return _works(deny_system_calls)


def _works(wall: Callable[[], object]) -> bool:
    """Whether `wall()` succeeds in a child process of its own."""
    child = os.fork()
    if child == 0:
        try:
            wall()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# --- the C library -------------------------------------------------------------------------------------------------

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: object) -> int:
    result = getattr(_libc, name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def die_with_parent(parent: int) -> None:
    """Let the kernel kill this process when `parent` ends."""
    _call("prctl", 1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)


def limit_resources(*, file_size: int = 256 << 20, open_files: int = 1024) -> None:
    """No core dumps, bounded files and descriptors: set once at a worker's start."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    wanted = open_files if hard == resource.RLIM_INFINITY else min(open_files, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))


# --- namespaces ----------------------------------------------------------------------------------------------------

_CLONE_NEWUSER, _CLONE_NEWNET, _CLONE_NEWIPC = 0x10000000, 0x40000000, 0x08000000


def enter_namespaces() -> None:
    """Move this process into a user, network and IPC namespace of its own: it has no interface, not even loopback."""
    uid, gid = os.getuid(), os.getgid()
    _call("unshare", _CLONE_NEWUSER | _CLONE_NEWNET | _CLONE_NEWIPC)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


# --- Landlock ------------------------------------------------------------------------------------------------------

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_ALL_BY_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_FILE_ACCESS = _EXECUTE | _WRITE_FILE | _READ_FILE | 1 << 14 | 1 << 15
_SCOPE_ABSTRACT_SOCKETS, _SCOPE_SIGNALS = 1, 2


def landlock_version() -> int:
    """The kernel's Landlock version, 0 without it."""
    return max(0, _libc.syscall(_CREATE_RULESET, None, 0, 1))


def restrict_files(readable: list[Path], writable: list[Path]) -> None:
    """From now on this process and its children see only these trees, and signal only each other."""
    version = landlock_version()
    every = _ALL_BY_VERSION[min(version, 5)]
    scoped = _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS if version >= 6 else 0
    attributes = struct.pack("<QQQ", every, 0, scoped)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _call("syscall", _CREATE_RULESET, attributes, size, 0)
    try:
        for paths, rights in ((readable, _READ), (writable, every)):
            for path in paths:
                _allow(ruleset, path, rights)
        _call("prctl", 38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
        _call("syscall", _RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no permission
    try:
        if not path.is_dir():
            rights &= _FILE_ACCESS
        _call("syscall", _ADD_RULE, ruleset, 1, struct.pack("<Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)


def readable_trees() -> list[Path]:
    """What a renderer must read: Python and its packages, shared libraries, fonts, the browser, devices."""
    python = {sys.prefix, sys.base_prefix, sys.exec_prefix, *sysconfig.get_paths().values(), *sys.path}
    system = [
        *("/usr", "/lib", "/lib64", "/bin", "/opt", "/dev", "/proc", "/sys", "/var/cache/fontconfig"),
        *("/etc/fonts", "/etc/ld.so.cache", "/etc/localtime", "/etc/ssl/openssl.cnf", "/etc/alternatives"),
        *("/etc/chromium", "/etc/chromium.d"),
    ]
    browser = [Path(os.environ["K3DATA_CHROMIUM"]).resolve().parent] if os.environ.get("K3DATA_CHROMIUM") else []
    package = Path(__file__).resolve().parents[1]
    return [*(Path(one) for one in sorted(python) if one), *(Path(one) for one in system), *browser, package]


def writable_trees(scratch: Path) -> list[Path]:
    """Where a renderer may write: its own empty folder, and the devices that swallow output or share memory."""
    return [scratch, Path("/dev/null"), Path("/dev/shm")]


# --- seccomp -------------------------------------------------------------------------------------------------------

# System calls an executed program has no use for. clone is looked at more closely: threads yes, processes no.
_DENIED = {
    "x86_64": {
        "socket": 41, "connect": 42, "fork": 57, "vfork": 58, "execve": 59, "ptrace": 101, "mount": 165,
        "unshare": 272, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311, "execveat": 322, "bpf": 321,
        "io_uring_setup": 425, "pidfd_open": 434,
    },
    "aarch64": {
        "socket": 198, "connect": 203, "execve": 221, "ptrace": 117, "mount": 40, "unshare": 97, "setns": 268,
        "process_vm_readv": 270, "process_vm_writev": 271, "execveat": 281, "bpf": 280, "io_uring_setup": 425,
        "pidfd_open": 434,
    },
}  # fmt: skip
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_LOAD, _EQUAL, _ANY_BIT, _AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_EPERM, _ENOSYS = 1, 38
_CLONE_THREAD = 0x00010000
_X32 = 0x40000000


def deny_system_calls() -> None:
    """No sockets, no exec, no new processes, no tracing: for this process and its threads, for good."""
    machine = platform.machine()
    if machine not in _DENIED:
        raise IsolationError(f"no system call filter for {machine}")
    code = _filter(machine)
    buffer = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *one) for one in code))
    program = struct.pack("@HP", len(code), ctypes.addressof(buffer))
    _call("prctl", 38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    _call("prctl", 22, 2, program, 0, 0)  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER


def _filter(machine: str) -> list[tuple[int, int, int, int]]:
    """The BPF program, as (code, jump if true, jump if false, value)."""
    code = [
        (_LOAD, 0, 0, 4),  # seccomp_data.arch
        (_EQUAL, 1, 0, _ARCHITECTURE[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),  # seccomp_data.nr
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _ERRNO | _EPERM),
        (_EQUAL, 0, 1, _CLONE3),  # its flags lie in memory out of reach: the C library falls back to clone
        (_RETURN, 0, 0, _ERRNO | _ENOSYS),
        (_EQUAL, 0, 4, _CLONE[machine]),
        (_LOAD, 0, 0, 16),  # the low half of its first argument: the flags
        (_ANY_BIT, 1, 0, _CLONE_THREAD),
        (_RETURN, 0, 0, _ERRNO | _EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
    for number in sorted(set(_DENIED[machine].values())):
        code += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | _EPERM)]
    return [*code, (_RETURN, 0, 0, _ALLOW)]


if __name__ == "__main__":
    print(json.dumps(asdict(probe_here())))
