"""From a collected file's bytes to text, by the rules of its kind; what does not decode is refused, never guessed.

A byte order mark wins, then the encoding that the file declares (XML declaration, HTML `meta charset`), then UTF-8.
"""

from __future__ import annotations

import codecs
import re

_MARKS = [
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
]
_DECLARED = {
    "svg": re.compile(rb"""^\s*<\?xml[^>]{0,200}?\bencoding\s*=\s*["']([A-Za-z0-9_.:-]{1,40})["']"""),
    "web": re.compile(rb"""<meta[^>]{0,200}?\bcharset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE),
    "cad": re.compile(rb"""^[^\n]{0,200}(?:\n[^\n]{0,200})?coding[:=][ \t]*([-\w.]{1,40})"""),
}
_PLAIN_TEXT = re.compile(r"^(utf-?8|us-?ascii|ascii|iso-?8859-?\d+|latin-?\d|windows-125\d|cp125\d|koi8-[ru]|"
                         r"shift[-_]jis|euc-(jp|kr)|gb(2312|k|18030)|big5)$", re.IGNORECASE)  # fmt: skip


class Undecodable(ValueError):
    """The bytes are not text in the encoding that they declare."""


def decode(data: bytes, kind: str, default: str = "utf-8") -> str:
    """The text of a file of this kind, without its byte order mark; `default` is the encoding if it declares none.

    Raises:
        Undecodable: wrong or unknown encoding, or NUL characters, which no text format of ours allows.
    """
    mark, encoding = next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", ""))
    if not encoding:
        declared = _DECLARED[kind].search(data[:2048]) if kind in _DECLARED else None
        encoding = declared[1].decode("ascii") if declared else default
        if not _PLAIN_TEXT.match(encoding):
            raise Undecodable(f"declares the encoding {encoding!r} but has no byte order mark of it")
    try:
        text = data[len(mark) :].decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        raise Undecodable(f"not {encoding}: {error}"[:200]) from error
    if "\x00" in text:
        raise Undecodable("contains NUL characters")
    return text
