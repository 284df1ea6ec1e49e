"""How many chunks the rules can rewrite in each style, and how many of their rewrites the verifier passes (V0 to V3).

Chunks come from documents that the rules were not developed on: Python's manual, SciPy, SymPy and the descriptions of
AWS
for knowledge, docstrings of SciPy and SymPy with LaTeX for mathematics. A near-copy is a reject (8-gram copy rate above
0.6). Peers on the same chunks: the text as it is, and the small edits that the verifier is tested with.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import Any

from ..rewrite.styles import STYLES, rewrite
from ..verify.edits import rewritten
from ..verify.verify import verify
from .rewrite_texts import MATHS, maths_texts
from .verify_texts import SUITE, texts

NAME = "rewrite"
SUMMARY = "rewrites by rules: accepted, passed by the verifier, copied, how far from the source, chunks a second"

_OPENING = 8  # words

Rewriter = Callable[[str, int], str | None]


def run(quick: bool) -> dict[str, Any]:
    """Rewrite held-out chunks in every style, judge all that comes back, and time both."""
    count = 60 if quick else 400
    sources = {"knowledge": _sample(list(SUITE.values()), count), "maths": _maths(count)}
    figures: dict[str, Any] = {f"chunks_{kind}": len(found) for kind, found in sources.items()}
    reached: dict[str, set[int]] = {kind: set() for kind in sources}
    accepted = passed = 0
    for name, style in STYLES.items():
        found = measure(sources[style.kind], _in_style(name), style.verifier)
        reached[style.kind] |= found.pop("numbers")
        accepted += found["accepted"]
        passed += found["passed"]
        figures |= {f"{name}_{key}": value for key, value in found.items()}
    figures |= {f"accepted_by_any_{kind}": _share(len(found), len(sources[kind])) for kind, found in reached.items()}
    figures["passed_of_accepted"] = _share(passed, accepted)
    figures |= _speed(sources["knowledge"][: 60 if quick else 200])
    peers: dict[str, Any] = {}
    for peer, write in (("identity", _as_it_is), ("edits", _edited)):
        found = measure(sources["knowledge"], write, "paraphrase")
        found.pop("numbers")
        peers |= {f"{peer}_{key}": value for key, value in found.items()}
    return {"figures": figures, "peers": peers}


def _in_style(name: str) -> Rewriter:
    return lambda text, seed: rewrite(text, name, seed)


def _as_it_is(text: str, seed: int) -> str:
    return text


def _edited(text: str, seed: int) -> str:
    return rewritten(text, random.Random(seed))


def measure(sources: Sequence[str], write: Rewriter, style: str) -> dict[str, Any]:
    """Rewrite each chunk (its number is the seed), judge by the verifier's style, and count."""
    codes: Counter[str] = Counter()
    openings: Counter[tuple[str, ...]] = Counter()
    numbers = set()
    passed = 0
    copied = distance = 0.0
    for number, source in enumerate(sources):
        text = write(source, number)
        if text is None:
            continue
        numbers.add(number)
        verdict = verify(source, text, style)
        passed += verdict.verdict == "pass"
        codes.update(set(verdict.codes))
        copied += next((check.value for check in verdict.checks if check.name == "copied"), 0.0)
        distance += _distance(source.split(), text.split())
        openings[tuple(text.lower().split()[:_OPENING])] += 1
    count = len(numbers)
    return {
        "accepted": count,
        "accepted_share": _share(count, len(sources)),
        "passed": passed,
        "passed_share": _share(passed, count),
        "copied_mean": _share(copied, count),
        "word_edit_distance_mean": _share(distance, count),
        "commonest_opening": max(openings.values(), default=0),
        **{f"rejected_{code}": seen for code, seen in codes.most_common()},
        "numbers": numbers,
    }


def _distance(source: list[str], text: list[str]) -> float:
    """Words to insert, delete or replace on the way from one text to the other, as a share of the longer one."""
    blocks = SequenceMatcher(None, source, text, autojunk=False).get_matching_blocks()
    changed, at, to = 0, 0, 0
    for block in blocks:
        changed += max(block.a - at, block.b - to)
        at, to = block.a + block.size, block.b + block.size
    return changed / max(len(source), len(text), 1)


def _speed(sources: list[str]) -> dict[str, float]:
    """Chunks a second of one core: rewriting by itself, tried in all styles of knowledge; and each rewrite with its
    verdict."""
    names = [name for name, style in STYLES.items() if style.kind == "knowledge"]
    begun = time.process_time()
    made = [
        (source, name, text) for source in sources for name in names if (text := rewrite(source, name, 1)) is not None
    ]
    writing = time.process_time() - begun
    begun = time.process_time()
    for source, name, text in made:
        verify(source, text, STYLES[name].verifier)
    judging = time.process_time() - begun
    tried = len(sources) * len(names)
    return {
        "rewrites_tried_per_s": round(tried / writing, 1),
        "rewrites_accepted_per_s": round(len(made) / writing, 1),
        "rewritten_and_verified_per_s": round(len(made) / (writing + judging), 1),
    }


def _sample(fields: list[tuple[str, ...]], count: int) -> list[str]:
    """So many chunks, the same share of each field."""
    found: list[str] = []
    for field in fields:
        chunks = list(dict.fromkeys(texts(field)))
        random.Random("chunks").shuffle(chunks)
        found += islice(chunks, count // len(fields))
    return found


def _maths(count: int) -> list[str]:
    chunks = list(dict.fromkeys(maths_texts(MATHS)))
    random.Random("chunks").shuffle(chunks)
    return chunks[:count]


def _share(part: float, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
