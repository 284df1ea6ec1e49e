"""WordNet's data files: groups of neighbouring synsets, each with its words, gloss, examples and relations in words.

The files (format: wndb(5WN)) hold one synset a line and point to others by byte offset. Here an offset becomes the
words it stands for. A record is a run of synsets of one lexicographer file (nouns of artefacts, verbs of motion, …).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

from pydantic import Field

from ...errors import UserError
from ...record import new_record
from ...stage import Context, Input, Item, Slice
from ...store import open_store
from ..files import InputChanged
from ..folder import Folder
from .places import Placed, credit_of

_POS = {"n": "noun", "v": "verb", "a": "adjective", "s": "adjective", "r": "adverb"}
_FILES = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
_LEXICOGRAPHER_FILES = (
    "adjectives; relational adjectives; adverbs; nouns of the highest level; nouns: acts; nouns: animals; "
    "nouns: artefacts; nouns: attributes; nouns: the body; nouns: cognition; nouns: communication; nouns: events; "
    "nouns: feelings; nouns: food; nouns: groups; nouns: locations; nouns: motives; nouns: natural objects; "
    "nouns: people; nouns: natural phenomena; nouns: plants; nouns: possession; nouns: processes; nouns: quantities; "
    "nouns: relations; nouns: shapes; nouns: states; nouns: substances; nouns: time; verbs: bodily care; "
    "verbs: change; verbs: cognition; verbs: communication; verbs: competition; verbs: consumption; verbs: contact; "
    "verbs: creation; verbs: emotion; verbs: motion; verbs: perception; verbs: possession; verbs: social action; "
    "verbs: being and having; verbs: weather; participial adjectives"
)
_RELATIONS = {
    "!": "Opposite", "@": "A kind of", "@i": "An instance of", "~": "Kinds", "~i": "Instances", "#m": "Member of",
    "#s": "Substance of", "#p": "Part of", "%m": "Members", "%s": "Substances", "%p": "Parts", "=": "Attribute",
    "*": "Entails", ">": "Causes", "^": "See also", "&": "Similar to", "<": "Participle of", "\\": "Pertains to",
    ";c": "Field", ";r": "Region", ";u": "Usage",
}  # fmt: skip
_LISTED = 12  # of a relation with hundreds of targets (kinds of person), so many are named


class Synset(NamedTuple):
    """One line of a data file."""

    lexicographer: int
    pos: str
    words: list[str]
    pointers: list[tuple[str, str, int]]  # relation, part of speech, offset
    gloss: str


class Wordnet(Placed):
    """Groups of synsets become records; places, licence and the rest as in `Placed`.

    Attributes:
        glob: the data files; default: `data.noun`, `data.verb`, `data.adj` and `data.adv`.
        group: synsets a record.
    """

    version: ClassVar[int] = 1
    operational: ClassVar[frozenset[str]] = frozenset({"glob", "exclude", "root"})

    group: int = Field(default=40, ge=1)

    def plan(self, context: Context, unit_items: int | None) -> Iterator[Slice]:
        folder = self.folder(context)
        files = self.matching(folder, context, ["**/data.noun", "**/data.verb", "**/data.adj", "**/data.adv"])
        words = _database(folder.store.url, folder.name, tuple(files))
        size = unit_items or 200
        # Words are looked up in all files, so a change of any of them may change any record.
        for file in files:
            groups = _groups(words, _part(file.uri), self.group)
            for start in range(0, len(groups), size):
                stop = min(start + size, len(groups))
                yield Slice({"file": file.uri, "start": start, "stop": stop}, stop - start, tuple(files))

    def read(self, where: dict[str, Any], inputs: tuple[Input, ...], context: Context) -> Iterator[Item]:
        folder = self.folder(context)
        database = _database(folder.store.url, folder.name, tuple(inputs))
        groups = _groups(database, _part(where["file"]), self.group)
        for number in range(where["start"], where["stop"]):
            offsets = groups[number]
            text = group_text(database, _part(where["file"]), offsets)
            key = f"{where['file']}@{offsets[0]}"
            identity = f"{hashlib.sha256(text.encode()).hexdigest()}:{key}"
            yield Item(key, identity, lambda t=text, k=key: self._load(t, where["file"], k, folder))  # type: ignore[misc]

    def _load(self, text: str, uri: str, key: str, folder: Folder) -> Any:
        record = new_record(text, kind=self.kind, domain=self.domain, uri=uri, item=key, content=text,
                            licence=credit_of(self, folder))  # fmt: skip
        record.metadata.update({"format": "wordnet", "title": text.partition("\n")[0].lstrip("# ")})
        return record


def group_text(database: dict[tuple[str, int], Synset], part: str, offsets: list[int]) -> str:
    """The synsets at these offsets as paragraphs under a heading."""
    first = database[part, offsets[0]]
    last = database[part, offsets[-1]]
    name = _LEXICOGRAPHER_FILES.split("; ")[first.lexicographer].capitalize()
    found = [f"# {name}, {first.words[0]} to {last.words[0]}"]
    found += [_synset_text(database, database[part, offset]) for offset in offsets]
    return "\n\n".join(found) + "\n"


def _synset_text(database: dict[tuple[str, int], Synset], synset: Synset) -> str:
    definition, examples = _gloss(synset.gloss)
    lines = [f"{', '.join(synset.words)} ({_POS[synset.pos]}): {definition}."]
    if examples:
        lines.append(f"  For example: {'; '.join(examples)}.")
    related: dict[str, list[str]] = {}
    for relation, pos, offset in synset.pointers:
        if name := _RELATIONS.get(relation):
            related.setdefault(name, []).append(database["a" if pos == "s" else pos, offset].words[0])
    for name, words in related.items():
        words = list(dict.fromkeys(words))
        more = f" and {len(words) - _LISTED} more" if len(words) > _LISTED else ""
        lines.append(f"  {name}: {', '.join(words[:_LISTED])}{more}.")
    return "\n".join(lines)


def _gloss(gloss: str) -> tuple[str, list[str]]:
    examples = re.findall(r'"([^"]+)"', gloss)
    definition = re.split(r';?\s*"', gloss, maxsplit=1)[0]
    return definition.strip(" ;."), [one.strip() for one in examples]


def _groups(database: dict[tuple[str, int], Synset], part: str, size: int) -> list[list[int]]:
    """Offsets in the order of the file, cut where the lexicographer file changes and after `size`."""
    groups: list[list[int]] = []
    before = -1
    for (pos, offset), synset in database.items():
        if pos != part:
            continue
        if synset.lexicographer != before or len(groups[-1]) == size:
            groups.append([])
            before = synset.lexicographer
        groups[-1].append(offset)
    return groups


def _part(uri: str) -> str:
    return _FILES[uri.rsplit(".", 1)[-1]]


@lru_cache(maxsize=1)  # the units of one database, one after another
def _database(url: str, name: str, files: tuple[Input, ...]) -> dict[tuple[str, int], Synset]:
    """Every synset by part of speech (`s` under `a`) and offset, in the order of the files."""
    folder = Folder(name, open_store(url))
    found: dict[tuple[str, int], Synset] = {}
    for file in files:
        if file.uri.rsplit(".", 1)[-1] not in _FILES:
            raise UserError(f"{file.uri} is not one of WordNet's data files ({', '.join(f'data.{x}' for x in _FILES)})")
        data = folder.store.read(folder.path(file.uri))
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise InputChanged(f"{file.uri} has changed since the plan was frozen")
        part = _part(file.uri)
        for line in data.decode("ascii").split("\n"):
            if line and not line.startswith("  "):  # those with two blanks are the licence
                found[part, int(line[:8])] = _parse(line)
    lost = {(pos, at) for one in found.values() for _, pos, at in one.pointers} - found.keys()
    lost = {(pos, at) for pos, at in lost if ("a" if pos == "s" else pos, at) not in found}
    if lost:
        parts = ", ".join(sorted({_POS[pos] for pos, _ in lost}))
        raise UserError(f"WordNet's data files point to {len(lost)} synsets that they lack ({parts}); name all four")
    return found


def _parse(line: str) -> Synset:
    facts, _, gloss = line.partition(" | ")
    fields = facts.split()
    count = int(fields[3], 16)
    words = [fields[4 + 2 * at].split("(")[0].replace("_", " ") for at in range(count)]
    at = 4 + 2 * count
    pointers = [
        (fields[at + 1 + 4 * n], fields[at + 3 + 4 * n], int(fields[at + 2 + 4 * n])) for n in range(int(fields[at]))
    ]
    return Synset(int(fields[1]), fields[2], words, pointers, gloss.strip())
