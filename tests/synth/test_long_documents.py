"""Each detector of the cleaning of long documents on both sides: planted faults are found, honest text passes."""

from __future__ import annotations

import ast
import base64
import inspect
import io
import json
import logging
import random
import textwrap
from pathlib import Path

import k3data
import pytest
from datatrove.data import Document
from k3data.pipelines import recipe as recipes
from k3data.pipelines.errors import UserError
from k3data.pipelines.record import OBJECT, image, validate
from k3data.pipelines.stage import Context, Filtered
from k3data.pipelines.verify import verify
from k3data.synth.long_documents import bad_text, blobs, logs, structure, truncated
from k3data.synth.long_documents.classifier import train
from k3data.synth.long_documents.frames import Frames
from k3data.synth.long_documents.length import Length
from k3data.synth.long_documents.quality import Quality, measure
from k3data.tests.pipelines.toy import run

PROSE = textwrap.dedent(inspect.getdoc(ast) or "") + (
    "\n\nThe quick brown fox jumps over the lazy dog, and then it goes home. Nobody knows why it does so every day. "
    "Perhaps it likes the garden of the old house, where apples lie in the grass until winter comes. "
)
CODE = inspect.getsource(json.decoder)


def record(text: str, kind: str = "text", **metadata) -> Document:
    return Document(text, "id", [], {"kind": kind, **metadata})


def check(document: Document, name: str) -> dict:
    return next(one for one in document.metadata["checks"] if one["name"] == name)


# Blobs


def random_bytes(count: int) -> bytes:
    return random.Random(4).randbytes(count)


@pytest.mark.parametrize(
    "blob",
    [
        base64.b64encode(random_bytes(300)).decode(),
        base64.encodebytes(random_bytes(600)).decode(),
        "data:image/png;base64," + base64.b64encode(random_bytes(200)).decode(),
        random_bytes(200).hex(),
        "\n".join(f"{at:08x}  " + " ".join(f"{byte:02x}" for byte in random_bytes(16)) for at in range(0, 160, 16)),
    ],
    ids=["base64", "base64 lines", "data url", "hex", "hex dump"],
)
def test_a_blob_inside_prose_is_cut_and_the_prose_stays(blob):
    document = blobs.Blobs().process(record(f"{PROSE * 5}\n{blob}\n{PROSE}"))
    assert blob not in document.text
    assert document.text.startswith(PROSE * 5)
    assert document.text.endswith(PROSE)
    assert "characters of binary data]" in document.text
    assert 0 < check(document, "blobs")["score"] < 0.3
    with pytest.raises(Filtered) as why:
        blobs.Blobs().process(record(f"The picture: {blob}"))
    assert why.value.code == "blob"


@pytest.mark.parametrize(
    "text",
    [PROSE, CODE, "=" * 300, "-" * 300 + "\n", "a_very_long_identifier_of_a_generated_test_case_" * 8, "ACGT" * 100,
     "https://example.org/" + "path/of/words/" * 30, "\n".join("word" * 18 for _ in range(10)), "0" * 400,
     "\n".join(" ".join(str(n * m) for m in range(10)) for n in range(1, 12))],
)  # fmt: skip
def test_what_only_looks_like_a_blob_stays(text):
    document = blobs.Blobs().process(record(text))
    assert document.text == text


def test_binary_data_is_dropped_and_spans_are_given_up_with_the_text():
    with pytest.raises(Filtered) as why:
        blobs.Blobs().process(record(random_bytes(2000).decode("utf-8", "replace")))
    assert why.value.code == "binary"
    text = PROSE * 5 + random_bytes(200).hex()
    turns = [{"role": "user", "channel": "", "start": 0, "end": len(text)}]
    document = blobs.Blobs().process(record(text, turns=turns))
    validate(document)
    assert "turns" not in document.metadata
    assert check(document, "turns_kept")["passed"] is False


# Truncated files

WHOLE = [
    (PROSE, None, None),
    (CODE, "code", "python"),
    (PROSE + "\n\n- and a list\n- whose last item has no full stop", None, None),
    (PROSE + "\n\n```\ncode(\n```\n", None, None),
    (PROSE + "\n\nname | size\n--- | ---\nfox | 3", None, None),
    ("# Only a heading", None, None),
    ("<html><body><p>Text</body></html>", None, None),
    (r"\begin{document} Text. \end{document}", None, None),
]


@pytest.mark.parametrize(("text", "form", "language"), WHOLE)
def test_whole_documents_show_no_sign_of_being_cut(text, form, language):
    assert truncated.sign(text, form, language) is None


@pytest.mark.parametrize(
    ("text", "form", "language", "code"),
    [
        (PROSE + " It went to the garden of the", None, None, "sentence"),
        ((PROSE * 3)[:-60], None, None, "sentence"),
        (PROSE + "\n\n[truncated]", None, None, "mark"),
        (PROSE + " ... read more", None, None, "mark"),
        (PROSE + "\n\n```\nopen(", None, None, "fence"),
        (CODE[: CODE.index("Simple JSON") + 40], "code", "python", "code"),
        ("def f(x):\n    return (x,\n        [1, 2", "code", "python", "code"),
        ("def f(x):\n", "code", "python", "code"),
        ("<html><body><p>Text", None, None, "open"),
        (r"\begin{document} Text.", None, None, "open"),
    ],
)
def test_cut_documents_are_noticed(text, form, language, code):
    found = truncated.sign(text, form, language)
    assert found is not None
    assert found[0] == code


# Logs


def real_log() -> str:
    """What Python's own logging writes of a small program at work."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger = logging.Logger("shop")
    logger.addHandler(handler)
    rng = random.Random(2)
    for at in range(200):
        logger.info("request %d from 10.0.0.%d took %d ms", at, rng.randrange(255), rng.randrange(900))
        if rng.random() < 0.2:
            logger.warning("retrying order %x", rng.randrange(1 << 40))
    return stream.getvalue()


def test_logs_are_dropped_with_and_without_time_stamps():
    log = real_log()
    with pytest.raises(Filtered) as why:
        logs.Logs().process(record(log))
    assert why.value.code == "log_stamped"
    bare = "\n".join(line.partition("shop: ")[2] for line in log.splitlines())
    with pytest.raises(Filtered) as why:
        logs.Logs().process(record(bare))
    assert why.value.code == "log_templated"
    if Path("/var/log/dpkg.log").is_file():
        stamped, _ = logs.rates(Path("/var/log/dpkg.log").read_text())
        assert stamped > 0.9


def test_prose_code_tables_and_a_log_quoted_in_prose_pass():
    table = "name | size\n" + "\n".join(f"fox {at} | {at * 7}" for at in range(40))
    quoted = PROSE * 4 + "\n" + "\n".join(real_log().splitlines()[:3]) + "\n" + "\n".join(PROSE.split(". ") * 3)
    for text in (PROSE, CODE, quoted, "\n".join(["again and again the same line 7"] * 50)):
        assert check(logs.Logs().process(record(text)), "log")["score"] < 0.3
    logs.Logs().process(record(table))


# Structure


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("python", CODE, CODE.replace("def ", "fed ", 1)),
        ("python", "x = '\\d'", "x = (1]\n"),
        ("json", '{"a": [1, 2]}', '{"a": [1, 2}'),
        ("json", '{"a": 1}\n{"b": 2}\n', '{"a": 1}\n{b: 2}\n'),
        ("html", "<div><p>one<p>two<br></div>", "<div><span>one</div>"),
        ("html", "<ul><li>a<li>b</ul>", "<ul><li>a</section></ul>"),
        ("tex", r"\begin{a}\begin{b}\end{b}\end{a}", r"\begin{a}\begin{b}\end{a}\end{b}"),
        ("brackets", 'f("(", /* [ */ {1}); // }', "f({1)};"),
        ("text", "```\na\n```\n$$\\begin{a}x\\\\\\end{a}$$", "$$\\begin{a}$$"),
        ("text", "Title\n~~~~~\n", "```\na\n"),
    ],
)
def test_structure_is_judged_by_kind(name, good, bad):
    judge = structure._CHECKS[name]
    assert judge(good) is None
    assert judge(bad)


def test_the_stage_finds_the_kind_from_what_the_source_noted():
    stage = structure.Structure()
    noted = json.dumps({"format": "code", "language": "python"})
    assert check(stage.process(record("x = 1", "code", extra=noted)), "structure_python")["passed"]
    with pytest.raises(Filtered) as why:
        stage.process(record("x = = 1", "code", extra=noted))
    assert why.value.code == "structure_python"
    assert "checks" not in stage.process(record("anything (", "code", format="code", language="perl")).metadata
    assert stage.process(record("x = = 1", "text", kinds=["code"])).text


# Quality


def test_measures_of_bad_text_are_out_of_bounds():
    stage = Quality()
    assert stage.process(record(PROSE)).text == PROSE
    for text, code in (
        ("0.1 22 3.5 | 7\n" * 100, "few_letters"),
        ("averyveryverylongwordwithoutend " * 50, "word_length"),
        ("This line stands here again and again.\n" * 50 + PROSE, "repeated_lines"),
        ("fox dog " * 1000, "few_words"),
    ):
        with pytest.raises(Filtered) as why:
            stage.process(record(text))
        assert why.value.code == code
    assert measure(PROSE)["repeated"] == 0


MODULES = [ast, json, logging, random, textwrap, inspect, io, base64]


def documentation() -> list[str]:
    """Prose that every machine has: the docstrings of the standard library, a piece of 600 characters each."""
    found = []
    for module in MODULES:
        docs = [inspect.getdoc(one) or "" for _, one in sorted(vars(module).items()) if inspect.isroutine(one)
                or inspect.isclass(one)]  # fmt: skip
        whole = "\n\n".join(dict.fromkeys([inspect.getdoc(module) or "", *docs]))
        found += [whole[at : at + 600] for at in range(0, len(whole) - 600, 600)]
    return found


def test_the_classifier_tells_good_text_from_spoiled_text_it_has_not_seen():
    texts = documentation()
    random.Random(1).shuffle(texts)
    learned, held = texts[: len(texts) * 3 // 4], texts[len(texts) * 3 // 4 :]
    judge = train(learned, seed=3)
    assert (judge.weights == train(learned, seed=3).weights).all()
    rng = random.Random(8)
    good = [judge.score(text) >= 0.5 for text in held]
    bad = [judge.score(bad_text.spoil(text, rng)) < 0.5 for text in held for _ in range(4)]
    assert sum(good) / len(good) > 0.9
    assert sum(bad) / len(bad) > 0.75


# Frames


def picture(seed: int, shift: int = 0, size: int = 96):
    from PIL import Image, ImageDraw

    rng = random.Random(seed)
    canvas = Image.new("RGB", (size, size), (240, 240, 230))
    pen = ImageDraw.Draw(canvas)
    for _ in range(6):
        x, y = rng.randrange(size), rng.randrange(size)
        colour = tuple(rng.randrange(256) for _ in range(3))
        pen.rectangle([x + shift, y, x + shift + rng.randrange(10, 50), y + rng.randrange(10, 50)], fill=colour)
    buffer = io.BytesIO()
    canvas.save(buffer, "PNG")
    return image(buffer.getvalue(), mime="image/png", width=size, height=size)


def test_frames_that_look_like_one_before_are_dropped_with_their_places():
    pictures = [picture(1), picture(1, shift=1), picture(2), picture(3), picture(3, shift=1), picture(1)]
    document = record("".join(f"frame {at} {OBJECT}\n" for at in range(6)))
    document.media = list(pictures)
    document = Frames().process(document)
    validate(document)
    assert document.media == [pictures[0], pictures[2], pictures[3]]
    assert document.text == f"frame 0 {OBJECT}\nframe 1 \nframe 2 {OBJECT}\nframe 3 {OBJECT}\nframe 4 \nframe 5 \n"
    assert check(document, "frames")["score"] == 0.5
    still = record(OBJECT * 4)
    still.media = [picture(1)] * 4
    with pytest.raises(Filtered) as why:
        Frames(max_share=0.5).process(still)
    assert why.value.code == "static"
    near = record(OBJECT * 3)
    near.media = [picture(1), picture(2), picture(1)]
    assert len(Frames(window=1).process(near).media) == 3


# Length


def test_length_bounds_and_upsampling_are_noted():
    stage = Length(min_tokens=100, max_tokens=10_000, chars_per_token=4, upsample=[(0, 1), (1000, 2.5)])
    short = stage.process(record("word " * 100))
    assert check(short, "tokens")["score"] == 125
    assert check(short, "upsample")["score"] == 1
    assert check(stage.process(record("word " * 1000)), "upsample")["score"] == 2.5
    for text, code in (("word", "too_short"), ("word " * 20_000, "too_long")):
        with pytest.raises(Filtered) as why:
            stage.process(record(text))
        assert why.value.code == code


def test_wrong_parameters_and_missing_parts_are_one_line(tmp_path):
    with pytest.raises(ValueError, match="must ascend"):
        Length(upsample=[(5, 1), (5, 2)])
    context = Context(1, "toy", "work", "", tmp_path, str(tmp_path / "out"))
    with pytest.raises(UserError, match=r"^synth.length: "):
        Length(tokenizer="nowhere").reads(context)
    with pytest.raises(UserError, match="no complete data set"):
        Quality(out="nowhere", good="job").reads(context)


RECIPE = """
name: long
jobs:
  - name: raw
    source: [{jsonl: {glob: items.jsonl, licence: MIT}}]
  - name: clean
    source: [{dataset: {job: raw}}]
    stages:
      - synth.length: {min_tokens: 200}
      - synth.blobs: {}
      - synth.truncated: {}
      - synth.logs: {}
      - synth.structure: {}
      - synth.quality: {good: raw, samples: 30, min_score: 0.2}
  - name: unique
    source: [{dedup: {job: clean}}]
"""


def test_the_chain_keeps_good_documents_and_names_the_fault_of_each_other(tmp_path):
    rng = random.Random(6)
    words = [word for word in " ".join(documentation()).split() if word.isalpha()]
    texts = documentation()
    good = [" ".join(texts[at : at + 3]) + f" This was part {at}." for at in range(0, 90, 3)]
    faulty = {
        "blob": "See: " + base64.b64encode(random_bytes(3000)).decode(),
        "truncated_sentence": PROSE * 4 + "It went to the garden of the",
        "log_stamped": real_log(),
        "structure_text": PROSE * 4 + "\n$$\\begin{a}$$\n",
        "few_words": "fox dog " * 500 + "end.",
    }
    same = good[0].replace(" This was part 0.", " This was a copy.")
    rows = [*good, *faulty.values(), same, " ".join(rng.choices(words, k=20))]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in rows))
    datasets = run(recipes.parse(RECIPE, "r.yaml", tmp_path), tmp_path / "out")
    codes = {name.rsplit("/", 1)[-1] for name in json.loads((tmp_path / "out/clean/stats.json").read_text())["codes"]}
    assert set(faulty) <= codes
    assert "too_short" in codes
    assert datasets[1].outcomes["published"] >= 28
    assert datasets[2].outcomes["merged"] == 1
    assert all(check(one, "upsample")["score"] == 1 for one in k3data.open(tmp_path / "out"))
    assert verify(str(tmp_path / "out")).problems == []
