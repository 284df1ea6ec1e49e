"""A small tokenizer and small data sets for the tests of the curriculum."""

from __future__ import annotations

import random
from functools import lru_cache
from pathlib import Path

import k3data

ROOT = Path(k3data.__file__).resolve().parent


@lru_cache(maxsize=1)
def sources() -> list[str]:
    """Real texts: this package's own code and prose."""
    paths = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "pipelines").glob("*.py"))]
    return [path.read_text(encoding="utf-8") for path in paths]


def prose(number: int, words: int) -> str:
    """Paragraphs of made-up sentences, always the same for a number."""
    rng = random.Random(number)
    stock = ["shard", "window", "token", "picture", "ledger", "unit", "plan", "reader", "naïve", "größer", "数据", "42"]
    out, left = [], words
    while left > 0:
        size = min(left, rng.randint(5, 60))
        out.append(" ".join(rng.choice(stock) for _ in range(size)).capitalize() + ".")
        left -= size
    return "\n\n".join(out)
