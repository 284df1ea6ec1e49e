"""Styles that are no running text: notes as a nested list, and a table of facts."""

from __future__ import annotations

import random
import re

from . import wording
from .masks import HIDDEN
from .parts import Clause, capitalised, clause, fronted, is_clause, trailing, weak_start
from .passage import Passage, Statement, copied
from .prose import COPIED, alike
from .restate import condition_polished, moved, polished, sentence
from .verbs import AUXILIARIES, CLAUSE_WORDS, OF_THIRD

_ARTICLE = re.compile(rf"^The (?!minimum|maximum|few|number|majority)(?=[a-z{HIDDEN[1:-1]}])")
_ANY_ARTICLE = re.compile(r"^(?:The|An?) ")
_OPENING = re.compile(r"(?:an?|the) (?!minimum|maximum|few|number|majority)")
_NO_ITEM = AUXILIARIES | CLAUSE_WORDS | OF_THIRD.keys()
_SERIES = re.compile(
    r"(?P<lead>[^,;:]{10,90}(?:: | include | includes ))(?P<items>[^;:.]{3,60}(?:, "
    r"[^,;:.]{3,60})+,? (?:and|or) [^,;:.]{3,60})$"
)


def notes(passage: Passage, rng: random.Random) -> str | None:
    """A nested list in the short style of notes: what a paragraph is about, and under it what is said."""
    lines: list[str] = []
    for one in passage.paragraphs:
        if one.kind == "whole":
            lines.append(f"\n{one.raw}\n" if one.raw.startswith(("`", "~")) else one.raw)
            continue
        points = _points(one.statements, rng)
        first = [*points[0], *(f"  {line}" for point in points[1:] for line in point)]
        # What follows the first sentence goes under it where it says more of the same.
        follows = len(points) > 1 and all(weak_start(other.body) or not other.free for other in one.statements[1:2])
        lines += first if follows and len(points[0]) == 1 else [line for point in points for line in point]
    text = passage.mask.show("\n".join(lines))
    return text if len(lines) > 2 and copied(passage.source, text) <= COPIED else None


def _points(statements: tuple[Statement, ...], rng: random.Random) -> list[list[str]]:
    """Each statement as one or more lines of a list."""
    found: list[list[str]] = []
    for statement in statements:
        if not statement.free:
            found.append([f"- {statement.text}"])
            continue
        condition = fronted(statement.body)
        series = _SERIES.match(statement.body)
        items = re.split(r", (?:and |or )?| (?:and|or) (?=[^,]*$)", series["items"]) if series else []
        if series and all(_is_item(item) for item in items):
            found.append(
                [f"- {_brief(polished(series['lead'].rstrip(' :'), rng))}:", *(f"  - {item}" for item in items if item)]
            )
        elif condition and is_clause(condition.main) and len(condition.main) > 40:
            found.append(
                [
                    f"- {capitalised(condition.cue)} {condition_polished(condition.condition, rng)}:",
                    f"  - {_brief(capitalised(polished(condition.main, rng)))}",
                ]
            )
        else:
            found += [[f"- {_brief(said.removesuffix('.'))}"] for said in sentence(statement.body, rng)]
    return found


def _is_item(text: str) -> bool:
    """Whether a member of a series is a name, not a clause."""
    words = set(text.lower().split())
    return 0 < len(words) < 7 and not words & _NO_ITEM


def _brief(body: str) -> str:
    """A sentence as a note: "x is y" as "x: y", no article in front."""
    found = clause(body)
    if found is not None and found.verb in ("is", "are") and found.plain and len(found.subject.split()) <= 5:
        what = _OPENING.match(found.rest)
        if what and not re.search(r"[:;]", found.rest):
            return f"{capitalised(_ANY_ARTICLE.sub('', found.subject))}: {found.rest[what.end() :]}"
    return capitalised(_ARTICLE.sub("", body))


def table(passage: Passage, rng: random.Random) -> str | None:
    """Facts as rows: what it is about, what is said of it, and under which condition if any row has one."""
    rows: list[tuple[str, str, str]] = []
    told: list[str] = []
    for statement in passage.statements()[:100]:
        if any(alike(statement.body, other) for other in told):
            continue
        row = _row(statement.body, rng)
        if row is None or passage.mask.show(row[0]) in ("None", "True", "False"):
            continue
        if "|" not in passage.mask.show("".join(row)):
            rows.append(row)
            told.append(statement.body)
    if len(rows) < 3:
        return None
    lower = passage.source.lower()
    # A word of the source would seem to mean what the source means by it.
    fitting = [[head for head in heads if head.split()[-1] not in lower] for heads in wording.HEADS]
    if not all(fitting):
        return None
    head = [rng.choice(heads) for heads in fitting]
    order: tuple[int, ...] = rng.choice(((2, 0, 1), (0, 1, 2)))
    if not any(condition for _, _, condition in rows):
        order = (0, 1)
    lines = ["| " + " | ".join(head[at] for at in order) + " |", "|" + "---|" * len(order)]
    lines += ["| " + " | ".join(row[at] or "–" for at in order) + " |" for row in rows]
    text = passage.mask.show("\n".join(lines))
    return text if copied(passage.source, text) <= COPIED else None


def _row(body: str, rng: random.Random) -> tuple[str, str, str] | None:
    """Subject, statement and condition of a sentence that has a subject of its own."""
    condition = fronted(body) or trailing(body)
    if (
        condition is not None
        and condition.cue in ("if", "when", "unless", "whenever", "once", "until")
        and not weak_start(condition.condition)
    ):
        main: Clause | None = clause(capitalised(condition.main))
        said_when = f"{condition.cue} {condition_polished(condition.condition, rng)}"
    else:
        main, said_when = clause(moved(body, rng)), ""
    if (
        main is None
        or not main.plain
        or re.match(r"(?:this|these|that|those) ", main.subject, re.IGNORECASE)
        or not 2 < len(main.rest.split()) < 30
    ):
        return None
    if re.search(r"^[Yy]ou|^[Ww]e|^[Uu]sers? ", main.subject):
        return None
    return _ARTICLE.sub("", main.subject), polished(f"{main.verb} {main.rest}", rng), said_when
