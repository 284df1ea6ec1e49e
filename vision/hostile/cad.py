"""Hostile and sound CAD sources: see `hostile`."""

from __future__ import annotations

from .types import Expectation, Recipe

_HEAD = "import cadquery as cq\n"
_BOX = "result = cq.Workplane('XY').box(10, 10, 10)\n"
_LIMITS = ("timeout", "memory", "signal", "no_result")


def _refused(name: str, source: str, *codes: str) -> Recipe:
    """A source that must not run: the check before it says why."""
    text = _HEAD + source + "\n" + _BOX
    return Recipe("cad", name, lambda s: f"# part {s.rng.randint(0, 10**6)}\n{text}", "reject", codes or ("forbidden",))


def _bad(name: str, source: str, *codes: str, slow: bool = False, expect: Expectation = "reject") -> Recipe:
    """A source that runs and gives no usable solid, or runs into a limit."""
    return Recipe(
        "cad", name, lambda s: f"# part {s.rng.randint(0, 10**6)}\n{_HEAD}{source}\n", expect, codes, slow=slow
    )


def _raw(name: str, source: bytes, *codes: str) -> Recipe:
    return Recipe("cad", name, lambda s: source, "reject", codes)


def _sound(name: str, source: str) -> Recipe:
    return Recipe("cad", name, lambda s: f"# part {s.rng.randint(0, 10**6)}\n{_HEAD}{source}\n", "render", control=True)


RECIPES = [
    _raw("empty", b"", "empty"),
    _raw("white-space", b"\n \n", "empty"),
    _raw("nul-bytes", b"import cadquery as cq\0\nresult = 1\n", "encoding"),
    _raw("random-bytes", bytes(range(256)) * 9, "encoding"),
    _raw("invalid-utf8", b"# caf\xe9\nresult = 1\n", "encoding"),
    _raw("unknown-encoding", b"# -*- coding: x-nothing -*-\nresult = 1\n", "encoding"),
    _raw("syntax", b"import cadquery as cq\nresult = = 3\n", "parse"),
    _raw("indentation", b"import cadquery as cq\n  result = 3\n", "parse"),
    _raw("deep-brackets", b"result = " + b"(" * 5000 + b"1" + b")" * 5000, "parse", "too_large"),
    _raw("deep-sums", b"result = " + b"-" * 90_000 + b"1", "too_large", "parse"),
    _raw("prose", b"Please make me a nice bracket with four holes.\n", "parse"),
    Recipe("cad", "100-mb", lambda s: b"#" * (100 << 20) + b"\nresult = 1\n", "reject", ("too_large",)),
    _refused("import-os", "import os; os.system('true')"),
    _refused("exit", "import os; os._exit(0)"),
    _refused("fork-bomb", "import os\nwhile True: os.fork()"),
    _refused("socket", "import socket; socket.create_connection(('127.0.0.1', 9))"),
    _refused("url", "from urllib.request import urlopen; urlopen('http://127.0.0.1:9/')"),
    _refused("subprocess", "import subprocess; subprocess.run(['true'])"),
    _refused("threads", "import threading\nwhile True: threading.Thread(target=print).start()"),
    _refused("signals", "import signal; signal.signal(signal.SIGPROF, signal.SIG_IGN)"),
    _refused("ctypes", "import ctypes; ctypes.string_at(0)"),
    _refused("open", "open('/etc/passwd').read()"),
    _refused("write", "open('/tmp/x', 'w').write('x')"),
    _refused("descriptors", "f = [open('/dev/null') for _ in range(10**6)]"),
    _refused("eval", "eval('1+1')"),
    _refused("exec", "exec('import os')"),
    _refused("dunder-import", "__import__('os').system('true')"),
    _refused("subclasses", "().__class__.__base__.__subclasses__()"),
    _refused("getattr", "getattr(cq, 'occ' + '_impl')"),
    _refused("globals", "globals()['__builtins__']"),
    _refused("module-walk", "cq.occ_impl.shapes.os.system('true')"),
    _refused("export", "cq.exporters.export(cq.Workplane().box(1, 1, 1), '/tmp/x.step')"),
    _refused("import-file", "cq.importers.importStep('/etc/passwd')"),
    _refused("star-import", "from os import *"),
    _refused("class", "class A: pass"),
    _refused("input", "input()"),
    _refused("frames", "(lambda: 0).__globals__"),
    _bad("no-result", "part = cq.Workplane('XY').box(1, 1, 1)", "empty"),
    _bad("a-number", "result = 42", "empty"),
    _bad("a-sketch", "result = cq.Workplane('XY').circle(5)", "invalid_geometry", "empty"),
    _bad("nothing", "result = cq.Workplane('XY')", "empty", "invalid_geometry"),
    _bad("undefined", "result = cq.Workplane('XY').box(a, b, c)", "parse"),
    _bad("raises", "raise ValueError('no')\n" + _BOX, "parse", "invalid_geometry"),
    _bad("wrong-arguments", "result = cq.Workplane('XY').box('a')", "parse", "invalid_geometry"),
    _bad("divides-by-zero", "result = cq.Workplane('XY').box(1 / 0, 1, 1)", "parse"),
    _bad("recursion", "def f(n): return f(n + 1)\nresult = f(0)", "too_large", "signal"),
    _bad("zero-thickness", "result = cq.Workplane('XY').rect(5, 5).extrude(0)", "invalid_geometry"),
    _bad(
        "not-a-number",
        "n = float('nan')\nresult = cq.Workplane('XY').box(n, n, n)",
        "invalid_geometry",
        "parse",
        "signal",
    ),
    _bad(
        "infinite", "n = float('inf')\nresult = cq.Workplane('XY').box(n, n, n)", "invalid_geometry", "parse", *_LIMITS
    ),
    _bad("astronomic", "result = cq.Workplane('XY').box(1e12, 1e12, 1e12)", "invalid_geometry"),
    _bad("microscopic", "result = cq.Workplane('XY').box(1e-7, 1e-7, 1e-7)", "invalid_geometry"),
    _bad(
        "crossed-outline",
        "result = cq.Workplane('XY').polyline([(0,0),(9,9),(9,0),(0,9)]).close().extrude(5)",
        "invalid_geometry",
    ),
    _bad("fillet-too-big", "result = cq.Workplane('XY').box(5, 5, 5).edges().fillet(4)", "invalid_geometry"),
    _bad(
        "shell-too-thick",
        "result = cq.Workplane('XY').box(5, 5, 5).shell(-9)",
        "invalid_geometry",
        "signal",
        expect="either",
    ),
    _bad(
        "flat-loft",
        "result = cq.Workplane('XY').circle(5).workplane(offset=0).circle(3).loft()",
        "invalid_geometry",
        "signal",
    ),
    _bad(
        "crossing-lofts",
        "w = cq.Workplane('XY')\nfor i in range(6): w = w.circle(5 + i % 2).workplane(offset=(-1) ** i * 3.0)\n"
        "result = w.circle(4).loft(combine=True)",
        "invalid_geometry",
        *_LIMITS,
        expect="either",
    ),
    _bad(
        "edges-of-nothing",
        "result = cq.Workplane('XY').box(1, 1, 1).faces('>Z').edges('|Z').fillet(0.1)",
        "invalid_geometry",
        "parse",
    ),
    _bad("bad-selector", "result = cq.Workplane('XY').box(1, 1, 1).faces('?!').hole(1)", "invalid_geometry", "parse"),
    _bad("endless", "while True: pass\n" + _BOX, "timeout", slow=True),
    _bad(
        "endless-guarded", "while True:\n    try: x = 1 / 0\n    except Exception: pass\n" + _BOX, "timeout", slow=True
    ),
    _bad(
        "endless-solids",
        "w = cq.Workplane('XY').box(1, 1, 1)\nwhile True: w = w.union(cq.Workplane('XY').box(2, 2, 2))\n" + _BOX,
        "timeout",
        "memory",
        slow=True,
    ),
    _bad("power-tower", "n = 9 ** 9 ** 9\n" + _BOX, "timeout", "memory", slow=True),
    _bad("list-bomb", "x = [0] * 10 ** 11\n" + _BOX, "memory", "parse"),
    _bad("string-bomb", "x = 'x' * 10 ** 12\n" + _BOX, "memory", "parse"),
    _bad("growing-bomb", "x = [1]\nwhile True: x = x + x\n" + _BOX, "memory", "timeout", "signal"),
    _bad(
        "holes-bomb",
        "result = cq.Workplane('XY').box(900, 900, 2).faces('>Z').workplane().rarray(5, 5, 170, 170).hole(1)",
        *_LIMITS,
        "too_large",
        slow=True,
    ),
    _bad("print-flood", "for i in range(10 ** 6): print('x' * 1000)\n" + _BOX, *_LIMITS, expect="either"),
    _sound("sound-plate", "result = cq.Workplane('XY').box(40, 30, 8).faces('>Z').workplane().hole(10)"),
    _sound("sound-shaft", "result = cq.Workplane('XY').circle(10).extrude(30).faces('>Z').circle(6).extrude(20)"),
    _sound(
        "sound-bracket",
        "wall = cq.Workplane('XY').box(5, 20, 30).translate((-12.5, 0, 12.5))\n"
        "result = cq.Workplane('XY').box(30, 20, 5).union(wall)",
    ),
]
