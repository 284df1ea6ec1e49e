"""Scoring predictions with real renderers: right, different, broken and hostile answers, and machines without one."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from k3data.pipelines.errors import UserError
from k3data.vision import drawing
from k3data.vision.isolation import IsolationError
from k3data.vision.process import StartError
from k3data.vision.score import bucket, gaps, program_of, score_predictions
from PIL import Image

HEAD = '<svg xmlns="http://www.w3.org/2000/svg" width="112" height="112">'
CIRCLE = f'{HEAD}\n<circle cx="40" cy="40" r="20" fill="red"/>\n</svg>'
SQUARE = f'{HEAD}\n<rect x="60" y="60" width="30" height="30" fill="blue"/>\n</svg>'
BOXES = '{"boxes": [{"label": "a", "pixels": [10, 10, 50, 50], "normalised": [0.1, 0.1, 0.5, 0.5]}]}'
HALF = '{"boxes": [{"label": "a", "pixels": [10, 10, 50, 30], "normalised": [0.1, 0.1, 0.5, 0.5]}]}'


def line(name, truth, prediction, *, task="to_code", kind="svg", control="", size=(112, 112), **extra):
    image = {"width": size[0], "height": size[1], "png": f"predictions/pictures/{name}.png"} if size else None
    return {
        "id": name, "kind": kind, "task": task, "control": control, "prompt": "Draw it.", "truth": truth,
        "prediction": prediction, "exact": truth == prediction, "finish": "stop", "image": image, "extra": extra,
    }  # fmt: skip


def write(run, lines, step=7):
    (run / "predictions").mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines)
    (run / "predictions" / f"step-{step:08d}.jsonl").write_text(text, encoding="utf-8")
    return run


def items(scores):
    return json.loads(scores.path.read_text())["items"]


def test_six_answers_from_right_to_broken(tmp_path):
    run = write(tmp_path, [
        line("right", CIRCLE, CIRCLE + "\n"),
        line("fenced", CIRCLE, f"Here it is:\n```svg\n{CIRCLE}\n```\nDone."),
        line("different", CIRCLE, SQUARE),
        line("broken", CIRCLE, CIRCLE[:-8]),
        line("where", BOXES, HALF, task="grounding", kind="web"),
        line("recall", " 42", "42 ", task="scatter", kind="scatter", family="books", distance=700, length=3000),
    ])  # fmt: skip
    scores = score_predictions(run, workers=2)
    right, fenced, different, broken, where, recall = items(scores)
    for one in (right, fenced):
        assert one["exact"] and one["renders"] and one["elements"] == 1 and one["pixel_distance"] == 0
        assert one["ssim"] == pytest.approx(1)
    assert not different["exact"] and different["renders"] and different["elements"] == 0
    assert different["pixel_distance"] > right["sheet_distance"] > 0 and different["ssim"] < 0.95
    assert (broken["parses"], broken["renders"], broken["reason"]) == (False, False, "parse")
    assert (broken["pixel_distance"], broken["ssim"], broken["elements"], broken.get("png")) == (1, 0, 0, None)
    assert (where["iou"], where["iou_normalised"], where["point"]) == (0.5, 1, 1)
    assert recall["exact"] and recall["distance"] == "512–1023"
    code = scores.tasks["to_code"][""]["svg"]
    assert (code["asked"], code["exact"], code["renders"], code["failures"]) == (4, 0.5, 0.75, {"parse": 1})
    assert code["pixel_distance"] == pytest.approx((1 + different["pixel_distance"]) / 4)
    assert scores.tasks["scatter"][""]["family books"]["exact"] == 1
    assert set(scores.tasks["scatter"][""]) == {"all", "family books", "distance 512–1023", "length 2K–4K"}
    assert scores.notes == () and scores.step == 7
    with Image.open(run / different["png"]) as drawn:
        assert drawn.size == (112, 112)
        assert np.asarray(drawn.convert("RGB"))[75, 75].tolist() == [0, 0, 255]
    assert sorted(path.name for path in (run / "scores").iterdir()) == ["step-00000007", "step-00000007.json"]


def test_scoring_again_replaces_what_was_there(tmp_path):
    run = write(tmp_path, [line("a", CIRCLE, CIRCLE), line("b", CIRCLE, SQUARE)])
    score_predictions(run)
    write(run, [line("a", CIRCLE, SQUARE)])
    scores = score_predictions(run, 7)
    assert [path.name for path in (run / "scores" / "step-00000007").iterdir()] == ["0.png"]
    assert scores.tasks["to_code"][""]["all"]["elements"] == 0


def test_a_picture_of_another_aspect_is_laid_on_the_sheet_of_the_truth(tmp_path):
    wide = CIRCLE.replace('height="112"', 'height="56"')
    (one,) = items(score_predictions(write(tmp_path, [line("a", CIRCLE, wide)])))
    assert one["renders"] and 0 < one["pixel_distance"] < 0.1


@pytest.mark.parametrize(
    ("prediction", "reason"),
    [
        ("", "empty"),
        ("I do not know.", "parse"),
        (f"{HEAD}<script>alert(1)</script></svg>", "forbidden"),
        (f'{HEAD}<image href="file:///etc/passwd"/></svg>', "forbidden"),
        (f"{HEAD}</svg>", "blank"),
        ("\udcff" + CIRCLE, "encoding"),
        (f'<!DOCTYPE s [<!ENTITY a "aa">]>{CIRCLE}', "forbidden"),
    ],
)
def test_what_does_not_draw_fails_with_its_reason(tmp_path, prediction, reason):
    write(tmp_path, [])
    path = tmp_path / "predictions" / "step-00000007.jsonl"
    path.write_text(json.dumps(line("a", CIRCLE, prediction)) + "\n")
    (one,) = items(score_predictions(tmp_path))
    assert one["reason"] == reason and not one["renders"]


def test_a_page_is_judged_at_the_size_of_its_picture(tmp_path):
    page = "<!doctype html><body style='margin:0'><h1>Title</h1><p>Some words.</p></body>"
    same, other = items(score_predictions(write(tmp_path, [
        line("a", page, page, kind="web", size=(400, 300)),
        line("b", page, page.replace("Title", "Another"), kind="web", size=(400, 300)),
    ])))  # fmt: skip
    assert same["pixel_distance"] == 0 and same["elements"] == 1
    assert 0 < other["pixel_distance"] < 0.2 and other["elements"] > 0
    with Image.open(tmp_path / same["png"]) as drawn:
        assert drawn.width == 400 and drawn.height <= 300


@pytest.mark.parametrize("problem", [StartError("no browser found"), IsolationError("needs isolation level confined")])
def test_a_kind_that_cannot_be_drawn_here_is_said_and_not_held_against_the_model(tmp_path, monkeypatch, problem):
    real = drawing.RenderPool.render

    def render(pool, program, spec):
        if pool.kind == "cad":
            raise problem
        return real(pool, program, spec)

    monkeypatch.setattr(drawing.RenderPool, "render", render)
    run = write(tmp_path, [line("a", "import cadquery", "import cadquery", kind="cad"), line("b", CIRCLE, CIRCLE)])
    scores = score_predictions(run)
    assert scores.notes == (f"cad cannot be drawn on this machine: {problem}",)
    cad = scores.tasks["to_code"][""]["cad"]
    assert (cad["judged"], cad["exact"], cad["unjudged"]) == (0, 1, {"no_renderer": 1}) and "renders" not in cad
    assert scores.tasks["to_code"][""]["svg"]["renders"] == 1


def test_an_untrusted_part_needs_full_isolation(tmp_path, monkeypatch):
    def none_here(level):
        raise IsolationError(f"needs {level.name}")

    monkeypatch.setattr("k3data.vision.pool.isolation.require", none_here)
    run = write(tmp_path, [line("a", "import cadquery", "import os", kind="cad")])
    assert score_predictions(run).notes == ("cad cannot be drawn on this machine: needs CONFINED",)


def test_a_program_is_drawn_once_however_often_it_is_written(tmp_path, monkeypatch):
    asked = []
    real = drawing.RenderPool.render
    monkeypatch.setattr(
        drawing.RenderPool, "render", lambda pool, program, spec: asked.append(program) or real(pool, program, spec)
    )
    score_predictions(write(tmp_path, [line(str(n), CIRCLE, SQUARE) for n in range(9)]), workers=3)
    assert sorted(asked) == sorted([CIRCLE, SQUARE])


def test_odd_characters_and_hostile_names_do_no_harm(tmp_path):
    odd = f"{HEAD}<text x='5' y='50'>a\u2028b\u0085c</text></svg>"
    run = write(tmp_path, [line("../../x\u2028", odd, odd), line("b", '{"boxes": []}', "{}", task="grounding")])
    one, other = items(score_predictions(run))
    assert one["exact"] and one["png"] == "scores/step-00000007/0.png"
    assert other["unjudged"] == "truth_form"


def test_gaps_need_more_than_luck():
    def answers(control, right):
        return [
            {"id": str(n), "task": "t", "control": control, "exact": n < right, "ssim": float(n < right)}
            for n in range(8)
        ]

    clear = gaps(answers("", 5) + answers("blank", 0))["t"]["blank"]
    assert clear["exact"] == {"pairs": 8, "better": 5, "worse": 0, "gap": True} and clear["ssim"]["gap"]
    assert not gaps(answers("", 4) + answers("blank", 0))["t"]["blank"]["exact"]["gap"]
    assert gaps(answers("", 4) + answers("swapped", 4))["t"]["swapped"]["ssim"]["better"] == 0
    assert gaps(answers("", 4)) == {}


def test_gaps_pair_the_nth_question_of_a_document_with_its_own_control():
    def one(control, exact):
        return {"id": "doc", "task": "t", "control": control, "exact": exact}

    found = gaps([one("", True), one("", False), one("blank", True), one("blank", False)])
    assert found["t"]["blank"]["exact"] == {"pairs": 2, "better": 0, "worse": 0, "gap": False}


@pytest.mark.parametrize(
    ("answer", "program"),
    [
        (" <svg/>\n", "<svg/>"),
        ("```html\n<p>a</p>\n```", "<p>a</p>"),
        ("Sure:\n\n```\n<p>left open", "<p>left open"),
        ("````md\n```\n<p/>\n```\n````", "```\n<p/>\n```"),
        ("<pre>\n```\ncode\n```\n</pre>", "<pre>\n```\ncode\n```\n</pre>"),
        ("no program", "no program"),
    ],
)
def test_the_program_is_taken_out_of_its_answer(answer, program):
    assert program_of(answer) == program


@pytest.mark.parametrize(
    ("tokens", "name"),
    [(0, "0–255"), (255, "0–255"), (256, "256–511"), (1024, "1K–2K"), (8191, "4K–8K"), (1 << 20, "1M–2M")],
)
def test_buckets_double(tokens, name):
    assert bucket(tokens) == name


def test_what_cannot_be_scored_is_one_line(tmp_path):
    with pytest.raises(UserError, match="no predictions"):
        score_predictions(tmp_path)
    write(tmp_path, [line("a", CIRCLE, CIRCLE)])
    with pytest.raises(UserError, match="no predictions of step 9; there are those of 7"):
        score_predictions(tmp_path, 9)
    write(tmp_path, [line("a", CIRCLE, CIRCLE, size=(10**6, 3))])
    with pytest.raises(UserError, match="line 1 is no prediction: ValueError a picture of"):
        score_predictions(tmp_path)
    (tmp_path / "predictions" / "step-00000007.jsonl").write_text('{"id": "a"')
    with pytest.raises(UserError, match="line 1 is no prediction"):
        score_predictions(tmp_path)


def test_pictures_written_are_whole(tmp_path):
    (one,) = items(score_predictions(write(tmp_path, [line("a", CIRCLE, CIRCLE)])))
    Image.open(io.BytesIO((tmp_path / one["png"]).read_bytes())).verify()
