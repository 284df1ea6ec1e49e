"""Where chains of relations stand in a text: in LaTeX, displayed or inline, and in plain lines (`2 + 3 = 5`).

A chain is a row of sides with relation signs between them, each with its place in the text. Rows of an aligned
environment that begin with a relation go on from the row before. Text in other languages than mathematics ends a chain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from .lexer import FUNCTIONS, GREEK
from .lexicon import wordlist
from .units import unit


@dataclass
class Side:
    """A piece of formula and its place."""

    text: str
    start: int
    stop: int


@dataclass
class Chain:
    """`sides` with `ops` between them. `before` is the text in front of it, `broken` names ends that words cut off."""

    sides: list[Side]
    ops: list[str]
    before: str = ""
    modulus: str | None = None
    choice: bool = False  # followed or preceded by "or"
    broken: set[str] = field(default_factory=set)
    latex: bool = True


_NAMES = "equation|align|aligned|gather|gathered|multline|eqnarray|split|displaymath|math|flalign|alignat"
_REGION = re.compile(
    r"\$\$(?P<a>.{1,4000}?)\$\$|\\\[(?P<b>.{1,4000}?)\\\]|\\\((?P<c>.{1,1000}?)\\\)"
    rf"|\\begin\{{(?P<name>{_NAMES})\*?\}}(?P<d>.{{1,8000}}?)\\end\{{(?P=name)\*?\}}"
    r"|(?<![\\$\w])\$(?![\s$])(?P<e>[^$\n]{1,600}?)(?<![\s\\])\$(?![\d$])"
    r"|(?<![\\$\w])\$[ ](?P<f>[^$\n]{1,600}?)[ ]\$(?![\w$])",
    re.DOTALL,
)
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]+`|https?://\S+|<[A-Za-z/][^<>\n]{0,200}>", re.DOTALL | re.MULTILINE)
_BLANKED = re.compile(
    rf"\\(?:begin|end)\{{(?:{_NAMES})\*?\}}(?:\{{\d+\}})?|\\(?:label|tag\*?|intertext)\{{[^{{}}]*\}}|\\(?:nonumber|notag)\b|&"
)
_ROW = re.compile(r"\\\\(?:\[[^\]]*\])?")
_RELATIONS = {
    "=": "=", ":=": ":=", "≤": "≤", "≥": "≥", "≠": "≠", "≈": "≈", "≡": "≡", "<": "<", ">": ">", "<=": "≤", ">=": "≥",
    "!=": "≠", "\\le": "≤", "\\leq": "≤", "\\leqslant": "≤", "\\ge": "≥", "\\geq": "≥", "\\geqslant": "≥", "\\lt": "<",
    "\\gt": ">", "\\ne": "≠", "\\neq": "≠", "\\approx": "≈", "\\simeq": "≈", "\\equiv": "≡", "\\coloneqq": ":=",
    "\\in": "∈", "∈": "∈",
}  # fmt: skip
_BREAKS = frozenset(
    wordlist(
        "\\quad \\qquad \\implies \\Rightarrow \\iff \\Leftrightarrow \\Longrightarrow \\land \\lor \\to \\rightarrow "
        "\\therefore \\because \\mapsto ⇒ ⇔ → ∴"
    )
)
_PIECE = re.compile(
    r"\\(?:text|mbox|textrm)\s*\{(?P<words>[^{}]*)\}|\\[A-Za-z]+|\\.|:=|<=|>=|!=|(?P<stop>[,;](?=\s|\\|$))|.", re.DOTALL
)
_JOINING = re.compile(
    r"\b(?:and|or|so|if|for|when|where|with|since|thus|hence|but|then|because|therefore|all|we|by|is|are|as|which)\b",
    re.I,
)
_MODULUS = re.compile(r"\\pmod\s*\{([^{}]+)\}\s*$|\\pmod\s*(\w)\s*$|\(\s*(?:\\bmod|\\mod|mod)\s+([^()]+)\)\s*$")


def chains(text: str) -> list[Chain]:
    """All chains with a relation, in the order of the text."""
    hidden = _CODE.sub(lambda found: " " * len(found[0]) if "\n" not in found[0] else _blank(found[0]), text)
    out: list[Chain] = []
    plain = list(hidden)
    for region in _REGION.finditer(hidden):
        group = next(name for name in "abcdef" if region[name] is not None)
        out += _of_region(
            hidden, region.start(group), region.end(group), text[max(0, region.start() - 60) : region.start()]
        )
        for at in range(region.start(), region.end()):
            plain[at] = "\n" if plain[at] == "\n" else "\x00"
    out += _of_lines("".join(plain), text)
    return sorted(out, key=lambda one: one.sides[0].start)


def _blank(part: str) -> str:
    return re.sub(r"[^\n]", " ", part)


def _of_region(text: str, start: int, stop: int, before: str) -> Iterator[Chain]:
    body = _BLANKED.sub(lambda found: " " * len(found[0]), text[start:stop])
    last: Side | None = None
    at = 0
    for row in [*_ROW.finditer(body), None]:
        end = row.start() if row else len(body)
        for one in _clauses(body[at:end], start + at):
            one.before = before
            if not one.sides[0].text.strip():
                if last is None:
                    one.sides, one.ops = one.sides[1:], one.ops[1:]
                else:
                    one.sides[0] = last
                    one.broken.add("goes on")
            if one.ops:
                last = one.sides[-1]
                yield one
            else:
                last = one.sides[-1] if one.sides and one.sides[-1].text.strip() else last
        at = row.end() if row else end


def _clauses(body: str, shift: int) -> Iterator[Chain]:
    """Splits at relations, and at commas and words outside brackets."""
    depth, at = 0, 0
    current = Chain([], [])
    begin = 0

    def side(end: int) -> Side:
        raw = body[begin:end]
        lead = len(raw) - len(raw.lstrip())
        return Side(raw.strip(), shift + begin + lead, shift + begin + lead + len(raw.strip()))

    choice = False
    for piece in _PIECE.finditer(body):
        part, at = piece[0], piece.start()
        if part in "{([" or part in ("\\{", "\\lbrace"):
            depth += 1
        elif part in "})]" or part in ("\\}", "\\rbrace"):
            depth -= 1
        elif depth == 0 and part in _RELATIONS:
            current.sides.append(side(at))
            current.ops.append(_RELATIONS[part])
            begin = piece.end()
        elif depth == 0 and (part in _BREAKS or piece["stop"] or _JOINING.search(piece["words"] or "")):
            current.sides.append(side(at))
            joined = part in ("\\lor",) or bool(re.search(r"\bor\b", piece["words"] or ""))
            current.choice = choice or joined
            yield _finished(current)
            current, begin, choice = Chain([], []), piece.end(), joined
    current.sides.append(side(len(body)))
    current.choice = choice
    yield _finished(current)


def _finished(chain: Chain) -> Chain:
    """Without the full stop at the end, and with its modulus apart."""
    last = chain.sides[-1]
    if last.text.endswith((".", ",", ";")) and not last.text.endswith("\\,"):
        last.text, last.stop = last.text[:-1].rstrip(), last.start + len(last.text[:-1].rstrip())
    if found := _MODULUS.search(last.text):
        chain.modulus = next(one for one in found.groups() if one)
        last.text = last.text[: found.start()].rstrip()
        last.stop = last.start + len(last.text)
    return chain


# ---- plain lines ---------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"\S+")
# Signs of programs and of arrows; `+=` is no equation.
_CODE_SIGNS = re.compile(r"==|=>|->|<-|[+\-*/%|]=|\w\[")
_LETTERS = re.compile(r"[^\W\d_]+")
_SIGNS_ONLY = re.compile(r"[\w.,+\-−*/^()\[\]{}=<>≤≥≈≠±·×÷√π°%!²³⁴ⁿ|∞]+")
# Words that make a number beside them part of something else ("minus 10 = 50", "= 3 dozen").
_CUTS_LEFT = frozenset(
    wordlist("minus plus times by over of per to from than less more dozen hundred thousand million")
)
_OPERATORS = ("+", "-", "−", "*", "/", "·", "×", "÷", "^", "**")
_CUTS_RIGHT = frozenset(
    wordlist("minus plus times divided over to percent dozen hundred thousand million billion more less mod modulo")
)


def _of_lines(plain: str, text: str) -> Iterator[Chain]:
    at = 0
    last: Chain | None = None
    for line in plain.split("\n"):
        found = list(_of_line(line, at, text))
        if (
            found
            and last is not None
            and not found[0].sides[0].text
            and not line[: found[0].sides[1].start - at].strip(" =<>≤≥≈≠")
        ):
            found[0].sides[0] = last.sides[-1]
            found[0].broken |= {"goes on"}
        complete = [one for one in found if one.sides[0].text]
        yield from complete
        # A line that begins with a relation goes on from this one only if nothing stands behind the chain here.
        ends = complete and not line[complete[-1].sides[-1].stop - at :].strip(" .,;")
        last = complete[-1] if ends else None
        at += len(line) + 1


def _of_line(line: str, shift: int, text: str) -> Iterator[Chain]:
    run: list[re.Match[str]] = []
    word_before = ""
    for token in [*_TOKEN.finditer(line), None]:
        if token is not None and _mathematical(token[0], run[-1][0] if run else ""):
            apart = bool(run) and (token.start() - run[-1].end() > 1 or (_WHOLE.match(token[0]) and _has_relation(run)))
            if apart:  # columns, and `a=1 b=2`
                yield from _of_run(line, run, word_before, "", shift, text)
                run, word_before = [], ""
            run.append(token)
            if not token[0].endswith((",", ";", ":", "?")):
                continue
            yield from _of_run(line, run, word_before, "", shift, text)
            run, word_before = [], ""
            continue
        word = token[0].strip("\x00.,;:!?()").lower() if token else ""
        if token is not None and "\x00" in token[0]:
            word = "over"  # a formula in LaTeX touches the run
        yield from _of_run(line, run, word_before, word, shift, text)
        run, word_before = [], "" if token is None or token[0].endswith((".", ",", ":", ";")) else word


_WHOLE = re.compile(r"\w[\w/()]*=\S")


def _has_relation(run: list[re.Match[str]]) -> bool:
    return any(sign in token[0] for token in run for sign in "=<>≤≥≈≠")


def _mathematical(token: str, before: str) -> bool:
    if not _SIGNS_ONLY.fullmatch(token.rstrip("?;:")) or _CODE_SIGNS.search(token):
        return False
    core = token.strip(".,;:?!()[]")
    runs = _LETTERS.findall(core)
    if len(runs) == 1 and runs[0] == core and len(core) > 1:
        measured = bool(re.search(r"\d$", before)) and unit(core) is not None
        return core in FUNCTIONS or core in GREEK or core == "pi" or measured
    if core.startswith("_") or core.endswith("_"):
        return False
    return all(len(one) <= 2 or one in FUNCTIONS or one in GREEK or unit(one) is not None for one in runs)


def _balanced(text: str) -> bool:
    depth = 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if depth < 0:
            return False
    return depth == 0


def _of_run(line: str, run: list[re.Match[str]], left: str, right: str, shift: int, text: str) -> Iterator[Chain]:
    while run and run[0][0] in ("a", "A", "I") and (len(run) < 2 or run[1][0][0] not in "=+-*/^<>≤≥≈≠·×÷"):
        run = run[1:]
    if not run or not _has_relation(run):
        return
    start, stop = run[0].start(), run[-1].end()
    body = line[start:stop].rstrip(".,;:?")
    for chain in _clauses(body, shift + start):
        chain.latex = False
        chain.before = text[max(0, shift + start - 60) : shift + start]
        if left in _CUTS_LEFT or (left and run[0][0] in _OPERATORS):
            chain.broken.add("left")
        if left == "and":
            chain.broken.add("and")  # "two hundred and 5 = 205"
        if right in _CUTS_RIGHT or run[-1][0] in _OPERATORS or body.endswith("!"):
            chain.broken.add("right")
        if chain.ops and chain.sides[-1].text == "":
            chain.sides.pop()
            chain.ops.pop()
        if not all(_balanced(side.text) for side in chain.sides) or not all(side.text for side in chain.sides[1:]):
            continue  # words have cut through a bracket: what is left is no formula
        if left == "or" or right == "or":
            chain.choice = True
        if chain.ops:
            yield chain
