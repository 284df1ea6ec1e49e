"""TeX to text: headings, lists and code blocks in Markdown, mathematics left as the LaTeX that it is.

pylatexenc parses; what is said here is only how structure is written. Comments, labels, layout commands and the
preamble go; title and abstract stay.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

_DOCUMENT = re.compile(r"\\begin\s*\{document\}([\s\S]*?)(?:\\end\s*\{document\}|\Z)")
_TITLE = re.compile(r"\\title\s*(?:\[[^\]]*\])?\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_HEADINGS = {"part": "#", "chapter": "#", "section": "##", "subsection": "###", "subsubsection": "####",
             "paragraph": "#####", "subparagraph": "######"}  # fmt: skip
_MATH_ENVIRONMENTS = ("equation", "align", "gather", "multline", "eqnarray", "displaymath", "alignat", "flalign")
_LISTS = ("itemize", "enumerate", "description")
_DISPLAY = re.compile(r"\\\[(.*?)\\\]", re.DOTALL)
_VERBATIM = re.compile(r"\\begin\s*\{(verbatim|lstlisting|minted|alltt)\*?\}(?:\[[^\]]*\])?(?:\{([a-zA-Z0-9+]*)\})?"
                       r"\n?([\s\S]*?)\\end\s*\{\1\*?\}")  # fmt: skip
_SILENT = "label maketitle tableofcontents title author date index vspace hspace cite ref eqref pageref"
_HOLD = "\ue000{}\ue001"
_HELD = re.compile("\ue000(\\d+)\ue001")


class BadTex(ValueError):
    """The source cannot be parsed; braces or environments do not match."""


def to_text(source: str) -> tuple[str, str]:
    """The document's text and its title.

    Raises:
        BadTex: it does not parse.
    """
    from pylatexenc.latexwalker import LatexWalkerParseError

    # Code is lifted out first: nothing in it is TeX.
    code: list[str] = []

    def lift(found: re.Match[str]) -> str:
        code.append(f"```{(found[2] or '').lower()}\n{found[3].strip(chr(10))}\n```")
        return f"\n\n{_HOLD.format(len(code) - 1)}\n\n"

    lifted = _VERBATIM.sub(lift, source.replace("\r\n", "\n"))
    whole = _DOCUMENT.search(lifted)
    title = _TITLE.search(lifted)
    try:
        converter = _converter()
        body = converter.latex_to_text(whole[1] if whole else lifted, tolerant_parsing=False)
        name = " ".join(converter.latex_to_text(title[1]).split()) if title else ""
    except (LatexWalkerParseError, RecursionError, IndexError) as error:
        raise BadTex(str(error).splitlines()[0][:200]) from None
    lines = [line.rstrip() for line in body.split("\n")]
    lines = _DISPLAY.sub(lambda found: f"$${found[1].strip()}$$", "\n".join(lines)).split("\n")
    lines = [line.removeprefix(" ") if not line.startswith("  ") else line for line in lines]  # two are a nested list
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    text = _HELD.sub(lambda found: code[int(found[1])], text)
    if name:
        text = f"# {name}\n\n{text}"
    return f"{text}\n" if text else "", name


@lru_cache(maxsize=1)
def _converter() -> Any:
    from pylatexenc import latex2text
    from pylatexenc.latex2text import EnvironmentTextSpec, MacroTextSpec

    def heading(mark: str) -> Any:
        def write(node: Any, l2tobj: Any) -> str:
            (title,) = [one for one in node.nodeargd.argnlist if one is not None and not _is_star(one)][-1:]
            return f"\n\n{mark} {' '.join(l2tobj.nodelist_to_text([title]).split())}\n\n"

        return write

    def verbatim_math(node: Any, l2tobj: Any) -> str:
        return f"\n\n$$\n{node.latex_verbatim().strip()}\n$$\n\n"

    def items(mark: str) -> Any:
        def write(node: Any, l2tobj: Any) -> str:
            count, found = 0, []
            for child in node.nodelist:
                if getattr(child, "macroname", None) == "item":
                    count += 1
                    label = l2tobj.nodelist_to_text([child.nodeoptarg]).strip() if child.nodeoptarg else ""
                    found.append("\n" + (f"{label}: " if label else mark.format(count)))
                elif getattr(child, "environmentname", None) in _LISTS:
                    inside = l2tobj.nodelist_to_text([child]).strip("\n")
                    found.append("\n" + "\n".join(f"  {line}" for line in inside.split("\n")))
                else:
                    found.append(re.sub(r"\s*\n\s*", " ", l2tobj.nodelist_to_text([child])))
            return "\n" + re.sub(r"\n\n+", "\n", "".join(found)).rstrip() + "\n\n"

        return write

    context = latex2text.get_default_latex_context_db()
    context.add_context_category(
        "k3data",
        prepend=True,
        macros=[
            *(MacroTextSpec(name, simplify_repl=heading(mark)) for name, mark in _HEADINGS.items()),
            *(MacroTextSpec(name, simplify_repl="") for name in _SILENT.split()),
            *(MacroTextSpec(name, simplify_repl="%s") for name in ("emph", "textbf", "textit", "underline")),
            MacroTextSpec("texttt", simplify_repl="`%s`"),
        ],
        environments=[
            *(EnvironmentTextSpec(name + star, simplify_repl=verbatim_math)
              for name in _MATH_ENVIRONMENTS for star in ("", "*")),
            EnvironmentTextSpec("itemize", simplify_repl=items("- ")),
            EnvironmentTextSpec("enumerate", simplify_repl=items("{}. ")),
            EnvironmentTextSpec("description", simplify_repl=items("- ")),
            EnvironmentTextSpec("comment", simplify_repl=""),
        ],
    )  # fmt: skip
    return latex2text.LatexNodes2Text(latex_context=context, math_mode="verbatim", keep_comments=False,
                                      strict_latex_spaces=True)  # fmt: skip


def _is_star(node: Any) -> bool:
    return getattr(node, "chars", None) == "*"
