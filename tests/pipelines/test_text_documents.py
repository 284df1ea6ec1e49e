"""Documents keep their structure on the way to text, and say where they come from and under which licence."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest
from k3data.pipelines import recipe as recipes
from k3data.pipelines.errors import UserError
from k3data.pipelines.record import licence
from k3data.pipelines.sources.documents import plain
from k3data.pipelines.sources.documents.html_text import TooDeep, to_text
from k3data.pipelines.sources.documents.metamath import Metamath, section_text
from k3data.pipelines.sources.documents.places import copyright_of
from k3data.pipelines.sources.documents.source import Documents
from k3data.pipelines.sources.documents.tex_text import BadTex
from k3data.pipelines.sources.documents.tex_text import to_text as tex_to_text
from k3data.pipelines.sources.documents.wordnet import Wordnet
from k3data.pipelines.stage import Context, InvalidInput

PAGE = r"""<!DOCTYPE html><html><head><title>Sums</title><style>p {color: red}</style></head><body>
<nav><a href="/">Home</a> <a href="/x">Elsewhere</a></nav>
<div class="related"><ul><li><a>next</a></li></ul></div>
<div role="main"><section><h1>Sums<a class="headerlink" href="#s">¶</a></h1>
<p>A <em>sum</em> adds   numbers,
as in <code>sum(x)</code> or <span class="math notranslate">\(\sum_i x_i\)</span>,
x<sup>2</sup>.<script>alert(1)</script></p>
<div class="highlight-python3"><div class="highlight"><pre><span>def</span> f(x):
    return  x  # two blanks
</pre></div></div>
<div class="math">\[ a = b \]</div>
<ul><li>one</li><li>two<ol><li>deep</li></ol></li></ul>
<table><tr><th>name</th><th>size</th></tr><tr><td>a|b</td><td>3</td></tr></table>
<dl><dt>f(x)</dt><dd><p>Doubles <strong>x</strong><span class="classifier">int</span>.</p></dd></dl>
<math><semantics><mi>y</mi><annotation encoding="application/x-tex">y_1</annotation></semantics></math>
<blockquote><p>said</p></blockquote>
</section></div><footer>Copyright nobody</footer></body></html>"""

TEXT = r"""# Sums

A sum adds numbers, as in `sum(x)` or $\sum_i x_i$, x^2.

```python
def f(x):
    return  x  # two blanks
```

$$a = b$$

- one
- two
  1. deep

name | size
--- | ---
a\|b | 3

f(x)
    Doubles x : int.

$y_1$

> said
"""


def test_a_page_becomes_text_with_its_structure_and_without_its_boilerplate():
    assert to_text(PAGE) == (TEXT, "Sums")


def test_a_page_without_a_heading_gets_its_title():
    assert to_text("<title>Name</title><p>words") == ("# Name\n\nwords\n", "Name")
    assert to_text("<script>x()</script><nav>menu</nav>")[0] == ""


def test_nesting_that_no_person_wrote_is_refused():
    assert "deep" in to_text("<div>" * 100 + "deep")[0]
    with pytest.raises(TooDeep):
        to_text("<div>" * 5000 + "deep")
    with pytest.raises(TooDeep):
        to_text("<b>" * 400 + "deep")


def test_tex_keeps_mathematics_and_code_and_drops_comments():
    text, title = tex_to_text(
        r"""\title{On \emph{Sums}}
\begin{document}\section{Intro}\label{a} % gone
We show $a^2$. \begin{equation} x = 1 \end{equation}
\begin{itemize} \item one \item two \end{itemize}
\begin{verbatim}
keep % {this
\end{verbatim}
\end{document} after"""
    )
    assert title == "On Sums"
    assert text.startswith("# On Sums\n\n## Intro\n\nWe show $a^2$.")
    assert "$$\n\\begin{equation} x = 1 \\end{equation}\n$$" in text
    assert "\n- one\n- two\n" in text
    assert "```\nkeep % {this\n```" in text
    assert "gone" not in text
    assert "after" not in text
    with pytest.raises(BadTex):
        tex_to_text(r"\begin{document} {open \end{document}")


def test_info_pages_are_unfolded():
    source = (
        "This is x.info.\n\n\x1f\nFile: x.info,  Node: Top,  Next: A,  Up: (dir)\n\nThe Book\n********\n\n"
        "Read this.\n\n* Menu:\n\n* A:: first\n* B:: second\n\n\x1f\nFile: x.info,  Node: A,  Prev: Top,  Up: Top\n\n"
        "1 First\n=======\n\nText, *note Other: B. goes on.\n\n\x1f\nTag Table:\nNode: Top\x7f10\n\x1f\nEnd Tag Table\n"
    )
    text = plain.info(source)
    assert "# The Book" in text
    assert "## 1 First\n\nText, see Other. goes on." in text
    assert not any(word in text for word in ("Node:", "Menu", "Tag Table", "\x1f", "first"))


def items(source, folder: Path, unit_items=None):
    context = Context(7, "toy", "work", "", folder, base=folder)
    return [
        item for piece in source.plan(context, unit_items) for item in source.read(piece.where, piece.inputs, context)
    ]


def test_formats_follow_from_names_and_long_files_stay_whole(tmp_path):
    (tmp_path / "a.html").write_text(PAGE)
    (tmp_path / "b.md.gz").write_bytes(gzip.compress(b"# Title\r\n\r\nlong " + b"word " * 300_000))
    (tmp_path / "c.py").write_text("# -*- coding: latin-1 -*-\nx = 'ü'\n", encoding="latin-1")
    (tmp_path / "d.unknown").write_text("not matched")
    found = {item.key.rsplit("/", 1)[-1]: item.load() for item in items(Documents(licence="MIT"), tmp_path)}
    assert {name: record.metadata["format"] for name, record in found.items()} == {
        "a.html": "html", "b.md.gz": "markdown", "c.py": "code"}  # fmt: skip
    assert found["a.html"].text == TEXT
    assert len(found["b.md.gz"].text) > 1_500_000
    assert "\r" not in found["b.md.gz"].text
    assert "ü" in found["c.py"].text
    assert found["c.py"].metadata["language"] == "python"


def test_what_cannot_be_read_is_refused_one_by_one(tmp_path):
    (tmp_path / "bytes.txt").write_bytes("Gr\xfcße".encode("latin-1"))
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "nothing.html").write_text("<script>x</script>")
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(b"words " * 1000)[:40])
    (tmp_path / "bomb.txt.gz").write_bytes(gzip.compress(b"\n" * 3_000_000))
    codes = {}
    for item in items(Documents(licence="MIT", max_bytes="1MB"), tmp_path):
        with pytest.raises(InvalidInput) as why:
            item.load()
        codes[item.key.rsplit("/", 1)[-1]] = why.value.code
    assert codes == {"bytes.txt": "encoding", "empty.txt": "empty", "nothing.html": "no_text",
                     "cut.txt.gz": "gzip", "bomb.txt.gz": "too_large"}  # fmt: skip
    (read,) = items(Documents(licence="MIT", glob="bytes.txt", encoding="latin-1"), tmp_path)
    assert read.load().text == "Grüße\n"


def test_excluded_files_are_left_out_and_copies_have_ids_of_their_own(tmp_path):
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text("the same")
    found = items(Documents(licence="MIT", exclude=["c.*"]), tmp_path, unit_items=1)
    assert len(found) == len({item.identity for item in found}) == 2
    with pytest.raises(UserError, match="is excluded"):
        items(Documents(licence="MIT", exclude=["*"]), tmp_path)


MACHINE_READABLE = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
### a comment ###

Files: *
Copyright: 1996-2019, The Group
           1994, The Regents
License: {}
 some text
 .
 more

Files: other/*
Copyright: Somebody
License: GPL-2+
"""


@pytest.mark.parametrize(
    ("stated", "spdx", "kind"),
    [
        ("PostgreSQL", "PostgreSQL", "permissive"),
        ("Expat", "MIT", "permissive"),
        ("GPL-2+ or Expat", "GPL-2.0-or-later OR MIT", "permissive"),
        ("Expat and GPL-2+", "MIT AND GPL-2.0-or-later", "copyleft"),
        ("Custom", "Custom", "unknown"),
    ],
)
def test_licences_are_read_from_debian_copyright_files(stated, spdx, kind):
    found, holders = copyright_of(MACHINE_READABLE.format(stated))
    assert (found, holders) == (spdx, ["1996-2019, The Group", "1994, The Regents"])
    assert licence(found)["class"] == kind
    assert copyright_of("This package was debianized by hand.\nIt is free.") == (None, [])


def test_licence_expressions_have_the_class_of_what_they_ask_for():
    assert licence("bsd-3-clause") == {"spdx": "BSD-3-Clause", "class": "permissive", "attribution": ""}
    assert licence("BSD-3-Clause AND 0BSD AND CC0-1.0")["class"] == "permissive"
    assert licence("(MIT AND GPL-3.0-only) OR CC-BY-4.0")["class"] == "attribution"
    assert licence("Apache-2.0 WITH LLVM-exception")["class"] == "permissive"
    assert licence("MIT AND Unheard-Of")["class"] == "unknown"


RECIPE = """
name: places
jobs:
  - name: work
    source:
{}
"""


def test_all_missing_packages_are_named_in_one_line(tmp_path):
    from k3data.pipelines import plan

    if shutil.which("dpkg-query") is None:
        pytest.skip("not a Debian system")
    sources = "".join(f"      - documents: {{debian: {name}}}\n" for name in ("no-such-one", "no-such-two"))
    recipe = recipes.parse(RECIPE.format(sources), "r.yaml", tmp_path)
    with pytest.raises(UserError, match=r"not installed: sudo apt install no-such-one no-such-two$"):
        plan.make(recipe, recipe.jobs[0], str(tmp_path / "out"))


def test_the_standard_library_is_a_place():
    found = items(Documents(standard_library=True, glob="json/*.py", kind="code", domain="code"), Path())
    record = found[0].load()
    assert record.metadata["licence"]["spdx"] == "PSF-2.0"
    assert record.metadata["source"]["uri"] == "python-standard-library/json/__init__.py"


SECTION = b"""$(
=-=-=-=-=-=-=-=-=-=-=-=-=-=-=-=-=-=-=-=-=
           Chains of reasoning
=-=-=-=-=-=-=-=-=-=-=-=-=-=-=-=-=-=-=-=-=

  How ` ph ` leads on.
$)
${
  syl.1 $e |- ( ph -> ps ) $.
  syl.2 $e |- ( ps -> ch ) $.
  $( An inference version of ~ imim1 .  (Contributed by NM, 30-Sep-1992.) $)
  syl $p |- ( ph -> ch ) $=
    ( wi a1i mpd ) ABCBCFADGE $.
$}
"""


def test_a_metamath_section_reads_as_prose_with_what_proves_it(tmp_path):
    text, title = section_text(SECTION)
    assert title == "Chains of reasoning"
    assert text == (
        "### Chains of reasoning\n\nHow `ph` leads on.\n\nTheorem syl. An inference version of imim1 .\nGiven:\n"
        "  syl.1: |- ( ph -> ps )\n  syl.2: |- ( ps -> ch )\nThen:\n  |- ( ph -> ch )\nProved from: wi, a1i, mpd.\n"
    )
    (tmp_path / "a.mm").write_bytes(b"$( a note $)\n" + SECTION + SECTION)
    found = items(Metamath(licence="CC0-1.0"), tmp_path, unit_items=2)
    assert len(found) == len({item.identity for item in found}) == 3
    assert found[1].load().text == found[2].load().text == text


def test_wordnet_synsets_name_each_other_in_words(tmp_path):
    noun = (
        "  1 This is the licence\n"
        '00000100 05 n 02 house_cat 0 tabby 0 002 @ 00000200 n 0000 ~ 00000300 v 0000 | a small cat; "the cat sat"  \n'
        "00000200 05 n 01 animal 0 001 ~ 00000100 n 0000 | a living thing  \n"
    )
    (tmp_path / "data.noun").write_text(noun)
    (tmp_path / "data.verb").write_text("00000300 38 v 01 run(a) 0 000 | move fast  \n")
    found = items(Wordnet(licence="WordNet", glob="data.*"), tmp_path)
    texts = [item.load().text for item in found]
    assert texts == [
        "# Nouns: animals, house cat to animal\n\nhouse cat, tabby (noun): a small cat.\n  For example: the cat sat.\n"
        "  A kind of: animal.\n  Kinds: run.\n\nanimal (noun): a living thing.\n  Kinds: house cat.\n",
        "# Verbs: motion, run to run\n\nrun (verb): move fast.\n",
    ]
    (tmp_path / "data.verb").unlink()
    with pytest.raises(UserError, match="1 synsets that they lack"):
        items(Wordnet(licence="WordNet", glob="data.*"), tmp_path)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ("{debian: a, package: b}", r"^r.yaml:\d+: .*give one of package, debian, not 2"),
        ("{root: ., licence: MIT, encoding: klingon}", r"^r.yaml:\d+: .*unknown encoding 'klingon'"),
        ("{root: ., licence: MIT, encoding: hex}", r"^r.yaml:\d+: .*unknown encoding 'hex'"),
        ("{root: ., fromat: html}", r"^r.yaml:\d+: .*did you mean 'format'"),
        ("{root: .}", r"nothing says under which licence .* is: give `licence: <SPDX identifier>`$"),
        ("{package: no-such-distribution}", r"not installed: pip install no-such-distribution$"),
        ("{root: ., licence: MIT, glob: '*.none'}", r"^no file matches \*.none below "),
        ("{package: pydantic, glob: '*.none'}", r"^no file matches \*.none in package:pydantic$"),
    ],
)
def test_a_wrong_source_is_one_line(tmp_path, parameters, said):
    from k3data.pipelines import plan

    (tmp_path / "a.txt").write_text("words")
    with pytest.raises(UserError, match=said):
        recipe = recipes.parse(RECIPE.format(f"      - documents: {parameters}"), "r.yaml", tmp_path)
        plan.make(recipe, recipe.jobs[0], str(tmp_path / "out"))
