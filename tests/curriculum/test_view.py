"""The page of sequences in a real browser: what it shows, that it can be moved about in, and that no data can act."""

from __future__ import annotations

import numpy as np
import orjson
import pytest
from k3data.curriculum.report import FILE, TOKENIZER
from k3data.curriculum.view import packed_stages, write_view
from k3data.pipelines.errors import UserError
from k3data.pipelines.reader import Dataset
from k3data.pipelines.record import licence
from k3data.pipelines.tokens import TokenSample, from_label_weights, token_record
from k3data.tests.pipelines.samples import picture, publish, record
from k3data.tests.pipelines.test_gallery import HOSTILE
from k3data.tests.tokenizer.texts import library_sources
from k3data.tests.visit import Visit
from k3data.tokenizer import Tokenizer
from k3data.tokenizer.images import image_grid, image_tokens
from k3data.tokenizer.train import train

LENGTH = 2000
STAGE = {
    "name": f"1k{HOSTILE}",
    "stage": {"window": LENGTH},
    "tokenizer": {"digest": "0123456789abcdef", "vocab_size": 2048},
    "mixture": {"train": [
        {"name": f"code{HOSTILE}", "wanted_share": 0.25, "got_share": 0.2, "got_tokens": 400},
        {"name": "text", "wanted_share": 0.75, "got_share": 0.8, "got_tokens": 1600},
    ]},
    "distances": {"dependencies": 0},
    "padding_share": 0.0125,
    "tokens": {"positions": 8000},
    "sequences": {"train": 4},
}  # fmt: skip


def sequence(tokenizer: Tokenizer, number: int, broken: bool = False) -> TokenSample:
    """Two documents and padding; in the first an item with a clue in words and one in a picture."""
    words = tokenizer.encode(f"Bolvira owns {number} boats. {HOSTILE}")
    pads = image_tokens(tokenizer, 60, 60, 16)
    tokens = np.full(LENGTH, tokenizer.special["pad"], np.uint32)
    tokens[:1600] = tokenizer.encode("and so on " * 800)[:1600]
    tokens[40 : 40 + len(words)] = words
    tokens[400 : 400 + len(pads)] = pads
    answer = tokenizer.encode("42")
    tokens[900 : 900 + len(answer)] = answer
    groups = [{"start": 0, "end": 1000}, {"start": 1000, "end": 1600}, {"start": 1600, "end": LENGTH}]
    data = b"no picture" if broken else picture(number, 60, 60)
    grid = image_grid(60, 60, 16)
    start = 400 + int(np.argmax(pads == tokenizer.special["media_pad"]))
    proof = {
        "start": 0, "length": 1000, "family": f"trail{HOSTILE}", "span": 0.4,
        "question": {"start": 880, "end": 900}, "answer": {"start": 900, "end": 900 + len(answer), "text": HOSTILE},
        "clues": [
            {"start": 40, "end": 40 + len(words), "edit": {"text": HOSTILE, "answer": "43"}},
            {"start": 400, "end": 400 + len(pads), "picture": {},
             "edit": {"label": HOSTILE, "value": 7, "answer": "44"}},
        ],
        "distractors": [{"start": 200, "end": 220}], "lexical": {"solved": False},
    }  # fmt: skip
    return TokenSample(
        tokens,
        groups,
        docs=[
            {**groups[0], "id": f"a{number}", "domain": "code", "kind": f"scatter{HOSTILE}"},
            {**groups[1], "id": f"b{number}", "domain": f"maths{HOSTILE}", "kind": "text"},
        ],
        images=[{"start": start, "tokens": grid.tokens, "grid": [grid.rows, grid.columns], "frames": 1, "offset": 0,
                 "bytes": len(data), "mime": "image/png", "width": 60, "height": 60}],
        weights=from_label_weights(np.r_[np.ones(1600), np.zeros(400)], groups),
        proofs=[proof] if number % 2 == 0 else [],
        media=data,
    )  # fmt: skip


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    root = tmp_path_factory.mktemp("out")
    content = train(library_sources(40), 2048)
    tokenizer = Tokenizer(content)
    records = []
    for number in range(6):
        meta = {
            "source": {"uri": "packed:1k", "item": str(number), "sha256": "0" * 64},
            "licence": licence("MIT", HOSTILE),
            "domain": "code",
            "kind": "packed",
            "split": "train",
        }
        made = token_record(sequence(tokenizer, number, broken=number == 4), like=meta)
        made.id = f"{number:032x}"
        records.append(made)
    folder = publish(root, records)
    (folder / TOKENIZER).write_bytes(content)
    (folder / FILE).write_bytes(orjson.dumps(STAGE))
    return root


@pytest.fixture(scope="module")
def path(out, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "view.html"
    assert write_view(Dataset.open(str(out)), path, stages=packed_stages(str(out)), limit=4) == 4
    return path


@pytest.fixture
def visit(browser, path):
    visit = Visit(browser, path, viewport={"width": 1300, "height": 900})
    yield visit
    visit.page.close()
    assert visit.alarms == []


def test_the_data_set_is_shown_in_three_charts(visit):
    titles = visit.page.locator(".chart h2").all_inner_texts()
    assert titles == ["Mixture", "How far dependencies reach", "Padding by stage"]
    assert "20.0 % · 400" in visit.text("#charts") and "1.250 % of 8.0K" in visit.text("#charts")
    assert "6 sequences, 12.0K tokens" in visit.text("#about")


def test_sequences_with_items_come_first_and_others_follow(visit):
    told = visit.page.locator("#list button").all_inner_texts()
    assert ["items" in one or "1 item" in one for one in told] == [True, True, True, False]
    assert "2 documents · 1 picture · 1 item, 2 clues · 20.00 % padding · train" in told[0]


def test_an_item_has_an_arc_for_each_clue_and_its_words(visit):
    figure = visit.page.locator("#figure svg")
    assert figure.locator(".arc").count() == 2
    assert figure.locator("circle.clue").count() == 1 and figure.locator("rect.clue").count() == 1
    assert figure.locator(".doc").count() == 2 and figure.locator(".image").count() == 1
    card = visit.page.locator(".card").first.inner_text()
    assert "Bolvira owns" in card and HOSTILE.replace("\u2028", " ")[:30] in card
    assert "[picture]" in card and "→ 44" in card and "asked at 88 %" in card


def test_one_can_look_closer_and_move(visit):
    assert visit.text("#range") == "tokens 0 to 2,000 of 2,000"
    visit.page.keyboard.press("+")
    assert visit.text("#range") == "tokens 500 to 1,500 of 2,000"
    visit.page.keyboard.press("ArrowLeft")
    assert visit.text("#range") == "tokens 250 to 1,250 of 2,000"
    visit.page.keyboard.press("0")
    visit.page.locator(".doc").first.hover(force=True)
    assert "0 … 1,000 (1,000 tokens)" in visit.text("#pointed")
    before = visit.page.locator(".facts b").inner_text()
    visit.page.keyboard.press("ArrowDown")
    assert visit.page.locator(".facts b").inner_text() != before


def test_a_picture_that_cannot_be_drawn_is_told(visit):
    sources = []
    for number in range(3):
        visit.page.locator("#list button").nth(number).click()
        sources.append((visit.page.locator(".card img").count(), visit.page.locator(".card .broken").count()))
    assert sorted(sources) == [(0, 1), (1, 0), (1, 0)]


def test_nothing_of_the_data_is_markup(path):
    page = path.read_text()
    assert page.count("<script") == 2 and "alert(1)>" not in page
    assert "default-src &#x27;none&#x27;" in page and "unsafe" not in page


def test_without_a_tokenizer_the_page_has_places_but_no_words(out, tmp_path, browser):
    dataset = Dataset.open(str(out))
    (store := dataset.store).delete(TOKENIZER)
    try:
        assert write_view(dataset, tmp_path / "bare.html", limit=2) == 2
        visit = Visit(browser, tmp_path / "bare.html")
        assert "no words" in visit.text(".question") and visit.page.locator(".arc").count() == 2
        visit.page.close()
        assert visit.alarms == []
    finally:
        store.put_bytes(TOKENIZER, train(library_sources(40), 2048))


def test_what_cannot_be_shown_is_refused_in_one_line(tmp_path):
    publish(tmp_path / "svg", [record(0, "svg")])
    with pytest.raises(UserError, match="is not made of token ids"):
        write_view(Dataset.open(str(tmp_path / "svg")), tmp_path / "x.html")


def test_a_tokenizer_that_is_none_is_refused(out, tmp_path):
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(UserError, match="damaged"):
        write_view(Dataset.open(str(out)), tmp_path / "x.html", tokenizer=tmp_path)
