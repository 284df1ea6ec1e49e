"""The replies that were paid for: asked once, stored before they are used, shared by runs, workers and data sets.

    answers/<2 digits>/<key>.json    one object each, never replaced; the first one stored is the answer
    refusals/<2 digits>/<key>.json   permanent errors of a server (4xx), which hold for a day
    packs/<hash>-<answers>.jsonl     many answers in one file, read through an index

A reply is looked for in the packs, then among the single objects; only then is it asked for, by one thread of one
process of this machine (`flights`). It is returned once it is on the disk, so what was used is never asked again. Two
machines on one object store may ask for the same key at the same time; both then use the answer that was stored first.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...pipelines import durable
from ...pipelines.store import disk_errors, open_store
from .flights import Flights
from .packs import Pack, write_pack
from .spend import Spend
from .stored import DamagedReply, answer, check, key_of, loads, parts_of, refusal, reply_of
from .types import Backend, Refused, Reply, Request

ANSWERS = "answers"
REFUSALS = "refusals"
PACKS = "packs"
REFUSAL_S = 86_400.0

_PERMANENT = re.compile(r"http_4(?!08|09|25|29)\d\d")
"""Refusals that are stored; those left out are said of the moment, not of the request."""


@dataclass(frozen=True)
class Checked:
    """What `Calls.verify` found.

    Attributes:
        replies: how many single answers and lines of packs were read.
        refusals: how many stored refusals.
        damage: one line for each that is not what was written.
    """

    replies: int
    refusals: int
    damage: tuple[str, ...]


class Calls:
    """The replies under one URL. Any number of threads and processes may use it at once.

    Args:
        url: a local folder or an object store.
        spend: the run's account; without one nothing is counted.
        refusal_s: how long a permanent refusal holds, in seconds.
        storage_options: for fsspec.

    Raises:
        UserError: the place cannot be written.
        DamagedReply: a pack is damaged.
    """

    def __init__(
        self,
        url: str | os.PathLike[str],
        spend: Spend | None = None,
        *,
        refusal_s: float = REFUSAL_S,
        **storage_options: Any,
    ):
        self._store = open_store(url, **storage_options)
        self._store.check(write=True)
        self._make_folders()
        self._spend = spend
        self._refusal_s = refusal_s
        self._flights = Flights(self._store.scratch() / "calls.lock")
        self._packs: dict[str, Pack] = {}
        self._refresh_packs()
        self._recover()

    def reply(self, backend: Backend, request: Request) -> Reply:
        """The stored answer, or else the back end's, which is stored first.

        Raises:
            Refused, Stopped: as the back end says, or as it was stored.
            StoreError: the store cannot be read or written; DamagedReply if what it holds is not what was written.
        """
        if not backend.stored:
            return backend.reply(request)
        parts = parts_of(request, backend)
        key = key_of(parts)
        found = self.stored(key)
        if found is None:
            found, asked = self._flights.fly(key, lambda: self._ask(backend, request, key, parts))
            if not asked:
                found = replace(found, cached=True)
        if found.cached and self._spend:
            self._spend.cached()
        return found

    def stored(self, key: str) -> Reply | None:
        """The stored answer to a key, or None.

        Raises:
            Refused: what is stored is a refusal that still holds.
        """
        told = self._find(key)
        if told is not None:
            return reply_of(told)
        refused = self._read(_path(REFUSALS, key), key)
        if refused and refused["refused"]["until"] > time.time():
            raise Refused(refused["refused"]["code"], refused["refused"]["detail"])
        return None

    def verify(self) -> Checked:
        """Read everything and work its keys and digests out again."""
        replies, refusals, damage = 0, 0, []
        for place, line in self._single(ANSWERS, REFUSALS):
            replies += f"/{ANSWERS}/" in place
            refusals += f"/{REFUSALS}/" in place
            try:
                check(loads(line, Path(place).stem, place), place)
            except DamagedReply as error:
                damage.append(str(error))
        self._refresh_packs()
        for pack in self._packs.values():
            replies += len(pack)
            for place, told in pack.objects():
                try:
                    check(told, place)
                except DamagedReply as error:
                    damage.append(str(error))
        return Checked(replies, refusals, tuple(damage))

    def export(self, path: Path, keys: Iterable[str] | None = None) -> int:
        """Write all answers, or those to `keys`, into one file that `Replay` reads. Returns how many.

        Raises:
            KeyError: a key is wanted that is not stored.
        """
        wanted = sorted(set(self._keys() if keys is None else keys))
        write_pack(path, map(self._line, wanted))
        return len(wanted)

    def pack(self, *, remove: bool = False) -> int:
        """Fold all answers into one pack, from which they are read quickly. Returns how many it holds.

        Args:
            remove: delete the single objects and the older packs after. Whoever has the store open looks for new packs
                before it asks, so nothing is asked again.
        """
        single = self._files(ANSWERS)
        keys = sorted(set(self._keys()))
        before = set(self._packs)
        made = self._store.scratch() / f"pack-{os.getpid()}.jsonl"
        name = f"{PACKS}/{write_pack(made, map(self._line, keys))[:16]}-{len(keys)}.jsonl"
        self._store.put_file(made, name)
        self._refresh_packs()
        if remove:
            for path in (*single, *sorted(before - {name})):
                self._store.delete(path)
            self._refresh_packs()
        return len(keys)

    def close(self) -> None:
        self._flights.close()
        for pack in self._packs.values():
            pack.close()

    def _make_folders(self) -> None:
        """On a local disk, all folders of answers at once: one made later would have to be made durable with its first
        answer, and `put_bytes` syncs the folder of a file only."""
        answers = self._store.local(ANSWERS)
        if answers is None or (answers / "ff").exists():
            return
        for number in range(256):  # ff is the last
            (answers / f"{number:02x}").mkdir(parents=True, exist_ok=True)
        durable.fsync_folder(answers)
        durable.fsync_folder(answers.parent)

    def _ask(self, backend: Backend, request: Request, key: str, parts: dict[str, Any]) -> Reply:
        """Called by one thread of one process of this machine at a time for a key."""
        self._refresh_packs()
        found = self.stored(key)  # by another process, while we waited for its lock
        if found is not None:
            return found
        spend = self._spend
        if spend:
            spend.reserve(key, request, self._recover)
        try:
            reply = backend.reply(request)
        except BaseException as error:
            if spend:
                spend.release(key, refused=isinstance(error, Refused))
            if isinstance(error, Refused) and _PERMANENT.fullmatch(error.code):
                until = time.time() + self._refusal_s
                self._store.put_bytes(_path(REFUSALS, key), refusal(key, parts, error, until))
            raise
        cost = spend.price.of(reply.prompt_tokens, reply.completion_tokens) if spend else 0.0
        line = answer(key, parts, reply, cost, spend.name if spend else "")
        try:
            first = self._store.put_bytes(_path(ANSWERS, key), line, if_absent=True)
        finally:
            if spend:  # also if it could not be stored: it was paid
                spend.settle(key, reply)
        if first:
            return reply
        told = self._find(key)
        assert told is not None, "put-if-absent said that another answer is there"
        return replace(reply_of(told), cached=False)

    def _find(self, key: str) -> dict[str, Any] | None:
        for pack in self._packs.values():
            told = pack.get(key)
            if told is not None:
                return told
        return self._read(_path(ANSWERS, key), key)

    def _read(self, path: str, key: str) -> dict[str, Any] | None:
        place = f"{self._store.url}/{path}"
        try:
            with disk_errors(f"reading {place}"):
                line = self._store.read(path)
        except FileNotFoundError:
            return None
        return loads(line, key, place)

    def _recover(self) -> None:
        if self._spend:
            self._spend.recover(self._answered)

    def _answered(self, key: str, account: str) -> Reply | None:
        told = self._find(key)
        return reply_of(told) if told is not None and told["account"] == account else None

    def _refresh_packs(self) -> None:
        """Open packs that were added; forget those that are gone (a mapped file stays readable until then)."""
        names = set(self._files(PACKS))
        packs = {name: pack for name, pack in self._packs.items() if name in names}
        try:
            for name in sorted(names - packs.keys()):
                index = self._store.scratch() / f"{Path(name).stem}.index.npy"
                packs[name] = pack = Pack(self._on_disk(name), index)
                if not name.endswith(f"-{len(pack)}.jsonl"):
                    raise DamagedReply(f"{self._store.url}/{name} is damaged: it holds {len(pack)} answers only")
        except FileNotFoundError:  # folded into another one since it was listed
            self._refresh_packs()
        else:
            self._packs = packs

    def _on_disk(self, name: str) -> Path:
        local = self._store.local(name)
        if local is None:
            local = self._store.scratch() / name.replace("/", "-")
            if not local.exists():
                temporary = local.with_name(f"{local.name}.{os.getpid()}.tmp")
                temporary.write_bytes(self._store.read(name))
                temporary.replace(local)
        return local

    def _single(self, *folders: str) -> Iterator[tuple[str, bytes]]:
        """(place, line) of all single objects."""
        for folder in folders:
            for path in self._files(folder):
                yield f"{self._store.url}/{path}", self._store.read(path)

    def _files(self, folder: str) -> list[str]:
        """The objects there. Some object stores list emptied folders too."""
        return [entry.path for entry in self._store.list(folder) if entry.path.endswith((".json", ".jsonl"))]

    def _keys(self) -> Iterator[str]:
        """The key of every answer, those of packs and single objects alike."""
        for path in self._files(ANSWERS):
            yield Path(path).stem
        self._refresh_packs()
        for pack in self._packs.values():
            yield from pack.keys()

    def _line(self, key: str) -> bytes:
        for pack in self._packs.values():
            line = pack.line(key)
            if line is not None:
                return line
        path = _path(ANSWERS, key)
        try:
            line = self._store.read(path)
        except FileNotFoundError:
            raise KeyError(key) from None
        loads(line, key, f"{self._store.url}/{path}")
        return line


def _path(folder: str, key: str) -> str:
    return f"{folder}/{key[:2]}/{key}.json"
