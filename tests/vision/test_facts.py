"""Fact pictures: what a program was made to show is what the layout gives back, and an altered number is seen."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from copy import deepcopy

import pytest
from k3data.pipelines.stage import Context, Filtered, InvalidInput, seeded_rng
from k3data.vision.fact_pictures import FactPictures
from k3data.vision.facts import SIZES, FactReader, Facts, FactsError, pair
from k3data.vision.programs.facts import SIDE, fact_templates, generate_facts
from k3data.vision.render import Render
from k3data.vision.types import Element

TEMPLATES = [(kind, name) for kind in SIZES for name in fact_templates(kind)]


@pytest.fixture(scope="module")
def reader():
    with FactReader(trusted=True) as reader:
        yield reader


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    """One rendered record a kind, as the stage gets it."""
    sizes = {kind: {"width": width, "height": height} for kind, (width, height) in SIZES.items()}
    stage, context = Render(**sizes), Context(3, "facts", "job", "", tmp_path_factory.mktemp("scratch"))
    made = {}
    for where in FactPictures(count=3).plan(context, None):
        (item,) = FactPictures(count=3).read(where.where, (), context)
        made[where.where["kind"]] = stage.process(item.load())
    stage.shutdown()
    return made, context


@pytest.mark.parametrize(("kind", "template"), TEMPLATES)
def test_a_template_gives_its_facts_back(kind, template, reader):
    for number in range(1 if kind == "cad" else 4):
        program = generate_facts(kind, seeded_rng("facts", template, number), template)
        facts, digest = reader.read(kind, program.text)
        assert facts == program.facts
        assert 3 <= len(facts) <= 8 and all(10 <= value <= 9999 for value in facts.values())
        assert re.fullmatch("[0-9a-f]{64}", digest)


@pytest.mark.parametrize(("kind", "template"), [pair for pair in TEMPLATES if pair[0] != "cad"] + [("cad", "block")])
def test_an_altered_number_gives_the_altered_fact(kind, template, reader):
    program = generate_facts(kind, seeded_rng("altered", template), template)
    label, value = next(iter(program.facts.items()))
    other = next(one for one in range(value + 7, value + 20) if one not in program.facts.values())
    altered, count = re.subn(rf"(?<=[>= ]){value}(?=[<\n])", str(other), program.text)
    assert count == 1
    facts, digest = reader.read(kind, altered)
    assert facts == {**program.facts, label: other}
    assert digest != reader.read(kind, program.text)[1]


def test_a_generator_is_a_function_of_its_seed():
    for kind, template in TEMPLATES:
        first, second = (generate_facts(kind, seeded_rng(5), template) for _ in range(2))
        assert first == second
        assert generate_facts(kind, seeded_rng(6), template) != first


@pytest.mark.parametrize("kind", list(SIZES))
def test_the_stage_keeps_one_picture_and_asks_for_its_facts(kind, rendered, reader):
    made, context = rendered
    record, stage = deepcopy(made[kind]), Facts()
    stage.open(context)
    found = stage.process(record)
    (part,) = found.media
    assert max(part.metadata["width"], part.metadata["height"]) <= SIDE
    assert found.text.count("\ufffc") == 1 and found.text[:2] == "\ufffc\n"
    (task,) = found.metadata["tasks"]
    facts = json.loads(task["answer"])
    assert task["name"] == "facts" and facts == found.metadata["scratch"]["facts"]
    assert task["answer"] == json.dumps(dict(sorted(facts.items())), separators=(",", ":"))
    assert [box["label"] for box in task["boxes"]] == sorted(facts)
    assert reader.read(kind, found.text[2:]) == (facts, hashlib.sha256(part.media_bytes).hexdigest())


def test_a_picture_that_does_not_show_its_facts_is_rejected(rendered):
    made, context = rendered
    stage = Facts()
    stage.open(context)
    record = deepcopy(made["svg"])
    facts = record.metadata["scratch"]["facts"]
    record.metadata["scratch"]["facts"] = {**facts, next(iter(facts)): 9998}
    with pytest.raises(Filtered, match=r"facts_differ: shows .* not "):
        stage.process(record)
    record = deepcopy(made["svg"])
    layout = record.metadata["scratch"]["layout"]
    covered = next(one for one in layout if one.text == next(iter(facts)))
    record.metadata["scratch"]["layout"] = [dataclasses.replace(one, visible=0.5) if one is covered else one
                                            for one in layout]  # fmt: skip
    with pytest.raises(Filtered, match="facts_differ: only 50% of"):
        stage.process(record)
    record = deepcopy(made["svg"])
    record.media[0].metadata["width"] = 449
    with pytest.raises(Filtered, match="too_large"):
        stage.process(record)
    record.metadata["scratch"].pop("facts")
    with pytest.raises(InvalidInput, match="no_facts"):
        stage.process(record)


def word(text: str, x: float, y: float, *, wide: float = 40, high: float = 12) -> Element:
    return Element(text, "text", text, (x, y, x + wide, y + high))


@pytest.mark.parametrize(
    ("layout", "told"),
    [
        ([], "no name with a number"),
        ([word("Bolvira", 0, 0), word("Temko", 0, 40), word("123", 60, 0)], "2 names and 1 numbers"),
        ([word("Bolvira", 0, 0), word("123", 60, 90)], "nothing is in line with 123"),
        ([word("Bolvira", 0, 0), word("123", 50, 0), word("Temko", 100, 0), word("456", 150, 0)], "as near to"),
        (
            [word("Bolvira", 0, 0), word("Bolvira", 0, 40), word("12", 50, 0), word("34", 50, 40)],
            "Bolvira stands there",
        ),
        ([word("Bolvira", 0, 0), word("Temko", 0, 40), word("12", 50, 0), word("12", 50, 40)], "12 stands there twice"),
        ([word("Bolvira", 0, 0), word("123", 60, 0, high=5)], "123 is 5.0 pixels high"),
        ([word("Bolvira", 0, 0), word("Temko", 0, 30), word("12", 50, 0), word("34", 45, 1)], "nearer to another"),
    ],
)
def test_a_layout_in_doubt_gives_no_facts(layout, told):
    with pytest.raises(FactsError, match=told):
        pair("svg", layout)


def test_pairs_are_found_beside_below_and_above():
    layout = [
        word("Bolvira", 0, 0), word("123", 80, 2),
        word("Temko", 0, 60), word("45", 5, 80),
        word("678", 100, 60), word("Sarnu", 98, 76),
    ]  # fmt: skip
    assert [one[:2] for one in pair("svg", layout)] == [("Bolvira", 123), ("Sarnu", 678), ("Temko", 45)]


def test_a_size_that_the_part_does_not_have_is_no_fact(reader):
    dimension = Element("dimension-width", "dimension", "overall width", (0, 0, 90, 40), 1, 1.0, {"value_mm": 50.0})
    words = Element("svg/text", "text", "Bolvira 50", (10, 10, 80, 22), 1)
    assert pair("cad", [dimension, words])[0][:2] == ("Bolvira", 50)
    wrong = dataclasses.replace(words, text="Bolvira 51")
    with pytest.raises(FactsError, match="Bolvira 51 is not what its dimension measures"):
        pair("cad", [dimension, wrong])
    outside = dataclasses.replace(words, box=(10, 50, 80, 62))
    with pytest.raises(FactsError, match="not what its dimension measures"):
        pair("cad", [dimension, outside])


def test_programs_without_facts_are_told_in_one_line(reader):
    for kind, program, told in (
        ("svg", "<svg", "no picture: parse"),
        ("gif", "x", "no picture of kind 'gif'"),
        ("svg", '<svg viewBox="0 0 9 9"><rect width="5" height="5" fill="red"/></svg>', "no name with a number"),
    ):
        with pytest.raises(FactsError, match=told) as caught:
            reader.read(kind, program)
        assert "\n" not in str(caught.value)
