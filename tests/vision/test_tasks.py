"""Tasks: exact answers, true boxes, and elements asked for only if their description fits them alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from k3data.pipelines.record import OBJECT, image, licence, new_record, to_sample, validate
from k3data.pipelines.stage import Context
from k3data.vision.captions import derive
from k3data.vision.coordinates import from_normalised
from k3data.vision.descriptions import unambiguous
from k3data.vision.render import Render
from k3data.vision.source import Programs
from k3data.vision.tasks import Tasks
from k3data.vision.types import Element

PROGRAM = '<svg viewBox="0 0 400 300"><circle/></svg>'


def context(tmp_path: Path, seed: int = 7) -> Context:
    return Context(seed=seed, recipe="test", job="render", unit="u", scratch=tmp_path)


def stage(tmp_path: Path, **parameters) -> Tasks:
    found = Tasks(**parameters)
    found.open(context(tmp_path))
    return found


def record(
    layout: list[Element], caption: str = "Two things.", program: str = PROGRAM, item: str = "svg/1", pictures: int = 1
):
    made = new_record(
        program, kind="svg", domain="vision", uri="test:x", item=item, content=program, licence=licence("MIT")
    )
    made.media = [
        image(b"png%d" % k, mime="image/png", width=400, height=300, name=f"view{k}") for k in range(pictures)
    ]
    made.text = OBJECT * pictures + "\n" + program
    made.metadata["scratch"] |= {"layout": layout, "program": program, "caption": caption}
    return made


def shape(text: str, box: tuple, role: str = "circle", **more) -> Element:
    return Element(f"id-{text}-{box[0]}", role, text, box, **more)


def by_name(done) -> dict[str, dict]:
    return {task["name"]: task for task in done.metadata["tasks"]}


def test_the_three_tasks_of_a_drawing(tmp_path):
    done = stage(tmp_path).process(
        record([shape("red circle", (10, 10, 60, 60)), shape("Tea", (100, 20, 180, 40), "text")])
    )
    tasks = by_name(done)
    assert list(tasks) == ["image_to_code", "code_to_caption", "grounding"]
    assert tasks["image_to_code"]["answer"] == PROGRAM and "SVG" in tasks["image_to_code"]["prompt"]
    assert tasks["code_to_caption"]["answer"] == "Two things." and PROGRAM in tasks["code_to_caption"]["prompt"]
    prompt, answer = tasks["grounding"]["prompt"], json.loads(tasks["grounding"]["answer"])
    assert "400 × 300" in prompt and all(box["label"] in prompt for box in answer["boxes"])
    known = {"the red circle": (10, 10, 60, 60), 'the text "Tea"': (100, 20, 180, 40)}
    assert len(answer["boxes"]) == len(tasks["grounding"]["boxes"])
    for said, stored in zip(answer["boxes"], tasks["grounding"]["boxes"], strict=True):
        assert tuple(said["pixels"]) == known[said["label"]] == tuple(stored["pixels"])
        assert from_normalised(said["normalised"], 400, 300) == pytest.approx(known[said["label"]], abs=0.05)
    validate(done)
    assert len(to_sample(done)["tasks"]) == 3


def test_look_alikes_are_told_apart_by_place_or_left_out():
    left, middle, right = (shape("red circle", (x, 50, x + 20, 70)) for x in (10, 100, 200))
    words = [words for words, _ in unambiguous([left, middle, right])]
    assert words == ["the leftmost red circle", "the rightmost red circle"]
    stacked = [shape("red circle", (10, 50, 30, 70)), shape("red circle", (12, 52, 32, 72))]
    assert unambiguous(stacked) == []


def test_groups_of_our_own_programs_are_called_by_their_ids():
    boats = [Element(f"boat-{k}", "group", "", (x, 50, x + 40, 90)) for k, x in ((1, 10), (2, 200))]
    heart = Element("icon-heart", "group", "", (100, 200, 140, 240))
    words = [words for words, _ in unambiguous([*boats, heart], ids_are_words=True)]
    assert words == ["the leftmost boat", "the rightmost boat", 'the icon "heart"']
    assert unambiguous([*boats, heart]) == []


def test_words_that_stand_twice_are_never_asked_for():
    twice = [shape("Tea", (10, 10, 50, 20), "text"), shape("Tea", (200, 10, 250, 20), "text")]
    assert unambiguous(twice) == []
    other_role = [shape("Tea", (10, 10, 50, 20), "text"), shape("Tea", (200, 10, 250, 20), "button")]
    assert unambiguous(other_role) == []
    same_place = [shape("Tea", (10, 10, 50, 20), "link"), shape("Tea", (10, 10, 52, 21), "text")]
    assert len(unambiguous(same_place)) == 2


@pytest.mark.parametrize(
    "hidden",
    [
        shape("red circle", (10, 10, 60, 60), visible=0.3),
        shape("red circle", (10, 10, 15, 60)),
        shape("red circle", (0, 0, 400, 290)),
        shape("x" * 80, (10, 10, 60, 60), "text"),
    ],
)
def test_what_is_hidden_tiny_huge_or_wordy_gives_no_grounding_and_a_check(tmp_path, hidden):
    done = stage(tmp_path).process(record([hidden]))
    assert list(by_name(done)) == ["image_to_code", "code_to_caption"]
    assert [(one["name"], one["passed"]) for one in done.metadata["checks"]] == [("groundable", False)]


def test_with_several_pictures_the_prompt_names_the_one_that_is_meant(tmp_path):
    layout = [
        shape("front view", (10, 10, 60, 60), "view", image=1),
        shape("hole of 4 mm", (70, 10, 90, 30), "hole", image=1),
    ]
    done = stage(tmp_path).process(record(layout, pictures=2))
    prompt = by_name(done)["grounding"]["prompt"]
    assert "picture 2 of 2 (view1)" in prompt and ("the front view" in prompt or "the hole of 4 mm" in prompt)


def test_a_layout_that_may_have_been_cut_off_is_not_asked_about(tmp_path):
    layout = [shape(f"word{k}", (10, 10, 60, 25), "text") for k in range(400)]
    assert "grounding" not in by_name(stage(tmp_path).process(record(layout)))
    assert "grounding" in by_name(stage(tmp_path).process(record(layout[:399])))


def test_grounding_asks_for_at_most_the_number_set(tmp_path):
    layout = [shape(f"word{k}", (10, 10 + 20 * k, 60, 25 + 20 * k), "text") for k in range(12)]
    counts = {
        len(by_name(stage(tmp_path, grounding=2).process(record(layout, item=str(k))))["grounding"]["boxes"])
        for k in range(30)
    }
    assert counts == {1, 2}
    assert "grounding" not in by_name(stage(tmp_path, grounding=0).process(record(layout)))


def test_the_same_item_gives_the_same_tasks_and_another_seed_other_wordings(tmp_path):
    layout = [shape(f"word{k}", (10, 10 + 20 * k, 60, 25 + 20 * k), "text") for k in range(12)]
    once, again = (stage(tmp_path).process(record(layout)).metadata["tasks"] for _ in range(2))
    assert once == again
    prompts = set()
    for seed in range(8):
        other = Tasks()
        other.open(context(tmp_path, seed))
        prompts.add(other.process(record(layout)).metadata["tasks"][0]["prompt"])
    assert len(prompts) > 1


def test_a_program_with_fences_is_fenced_more_widely(tmp_path):
    program = PROGRAM + "<!-- ```` -->"
    prompt = by_name(stage(tmp_path).process(record([], program=program)))["code_to_caption"]["prompt"]
    assert prompt.count("`````") == 2


def test_a_collected_drawing_is_described_by_its_title_and_its_shapes():
    layout = [
        shape("red circle", (0, 0, 9, 9)),
        shape("red circle", (20, 0, 29, 9)),
        shape("blue rectangle", (0, 0, 9, 9), "rectangle"),
    ]
    caption = derive("svg", "<svg><title>Two &amp; one</title></svg>", layout, {})
    assert caption == 'A drawing titled "Two & one" with 2 red circles and 1 blue rectangle.'
    page = [Element("h", "heading", "Hello", (0, 0, 9, 9)), Element("b", "button", "Go", (0, 0, 9, 9))]
    assert derive("web", "<title>Tea</title>", page, {}) == (
        'A web page titled "Tea", which opens with the heading "Hello". It shows 1 button and 1 heading.'
    )
    assert derive("cad", "", [], {"bbox_mm": [20.0, 10.0, 5.5], "faces": 6}) == (
        "A solid part that measures 20 × 10 × 5.5 mm and has 6 faces."
    )
    assert derive("svg", "<svg/>", [], {}) == derive("svg", "<svg/>", [], {}, "icons/f00-12.svg") == ""
    assert derive("svg", "<svg/>", layout[:1], {}, "icons/coffee-cup.svg") == (
        'A drawing named "coffee cup" with 1 red circle.'
    )


def test_generated_drawings_go_through_renderer_and_tasks(tmp_path):
    where, source, render, tasks = context(tmp_path), Programs(kinds=["svg"], count=12), Render(), stage(tmp_path)
    grounded = 0
    try:
        for part in source.plan(where, None):
            for item in source.read(part.where, (), where):
                done = tasks.process(render.process(item.load()))
                for task in done.metadata["tasks"]:
                    for box in task["boxes"]:
                        x1, y1, x2, y2 = box["pixels"]
                        media = done.media[0].metadata
                        assert 0 <= x1 < x2 <= media["width"] and 0 <= y1 < y2 <= media["height"]
                        grounded += 1
    finally:
        render.shutdown()
    assert grounded >= 12
