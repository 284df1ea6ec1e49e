"""Language identification: keeps records in the wanted languages and notes which language each is in.

pycld2 decides when it calls its own answer reliable. When it does not, py3langid is asked as well, and what both name
wins; when they differ the record counts as being in no known language. Code blocks, formulas and markup are left out of
what is judged, since they are in no language.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.metadata import version as package_version
from typing import Any, ClassVar

from datatrove.data import Document
from pydantic import Field

from ..record import add_check
from ..stage import Context, Filtered, Stage

_NOT_PROSE = re.compile(r"^(`{3,})[\s\S]*?^\1|`[^`\n]*`|\$\$[\s\S]*?\$\$|\$[^$\n]+\$|https?://\S+", re.MULTILINE)
_SAMPLE = 50_000  # characters; more of a long document says nothing new
_LEAST = 20  # letters; fewer are no evidence


class Language(Stage):
    """Keep records in these languages.

    Attributes:
        languages: ISO 639-1 codes.
        kinds: judge records of these kinds only; others pass unjudged.
        min_share: of the text that must be in the language, by pycld2's count of bytes.
    """

    version: ClassVar[int] = 1

    languages: list[str] = Field(default=["en"], min_length=1)
    kinds: list[str] | None = None
    min_share: float = Field(default=0.6, ge=0, le=1)

    def environment(self) -> dict[str, str]:
        return {name: package_version(name) for name in ("pycld2", "py3langid")}

    def open(self, context: Context) -> None:
        _detectors()

    def process(self, record: Document) -> Document:
        if self.kinds is not None and record.metadata["kind"] not in self.kinds:
            return record
        language, share = detect(record.text)
        if language is None:
            raise Filtered("language_unknown", "no language could be told")
        if language not in self.languages:
            raise Filtered(f"language_{language}", f"{share:.0%} of the text is in {language!r}")
        if share < self.min_share:
            raise Filtered("language_mixed", f"only {share:.0%} of the text is in {language!r}")
        add_check(record, "language", True, share, language)
        return record


def detect(text: str) -> tuple[str | None, float]:
    """The language of a text (ISO 639-1) and which share of it is in that language; (None, 0) if it cannot be told."""
    cld2, langid = _detectors()
    prose = _NOT_PROSE.sub(" ", text[:_SAMPLE])
    if sum(map(str.isalpha, prose[:2000])) < _LEAST:
        return None, 0.0
    # cld2 refuses control characters and unpaired surrogates.
    clean = "".join(char for char in prose if char.isprintable() or char in "\n\t").encode("utf-8", "ignore")
    reliable, _, details = cld2.detect(clean, bestEffort=True)
    _, language, percent, _ = details[0]
    language, share = language.split("-")[0], percent / 100
    if reliable and language != "un":
        return language, share
    second, _ = langid.classify(prose[:20_000])
    if language == "un":
        return second, 1.0
    return (language, share) if second == language else (None, 0.0)


@lru_cache(maxsize=1)
def _detectors() -> tuple[Any, Any]:
    import py3langid
    import pycld2

    return pycld2, py3langid
