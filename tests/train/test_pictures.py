"""Pictures of runs for a text: curves, and held-out pictures beside what the answers draw."""

from __future__ import annotations

import base64
import io
import json
import math
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from k3data.pipelines.errors import UserError
from k3data.tests.visit import Visit
from k3data.train.pictures import curves, main, predictions
from k3data.train.report import render
from k3data.train.report_run import read_run
from PIL import Image

SPACE = "{http://www.w3.org/2000/svg}"


def run_of(folder, losses, name="tiny", skipped=()):
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"format": 1, "config": {"name": name}, "steps": len(losses)}))
    steps = [
        {"event": "step", "step": n, "loss": loss, "norm": 1.0, "tokens": n, "skipped": n in skipped}
        for n, loss in enumerate(losses, 1)
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in steps))
    return folder


def answered(folder, colours):
    """Pictures "a", "b", …: of each the colour that it has, and those drawn as asked and with a blank picture."""
    run = run_of(folder, [1.0])
    for part in ("predictions/pictures", "scores/step-00000001"):
        (run / part).mkdir(parents=True)
    lines, items = [], []
    for name, (true, *drawn) in colours.items():
        picture = f"predictions/pictures/{name}.png"
        Image.new("RGB", (32, 32), true).save(run / picture)
        for control, colour in zip(("", "blank"), drawn, strict=True):
            item = {"n": len(lines), "id": name, "exact": colour == true, "renders": colour is not None}
            if colour:
                item["png"] = f"scores/step-00000001/{len(lines)}.png"
                Image.new("RGB", (32, 32), colour).save(run / item["png"])
            line = {"id": name, "kind": "svg", "task": "to_code", "control": control, "prompt": "", "prediction": ""}
            lines.append({**line, "truth": "", "exact": colour == true, "image": {"png": picture}})
            items.append(item)
    (run / "predictions/step-00000001.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    scores = {"step": 1, "notes": [], "tasks": {}, "gaps": {}, "items": items}
    (run / "scores/step-00000001.json").write_text(json.dumps(scores))
    return run


def seen(svg):
    """Colours of the pictures by rows, and the words."""
    rows: dict[float, list] = {}
    tree = ET.fromstring(svg)
    for one in tree.iter(f"{SPACE}image"):
        content = base64.b64decode(one.get("href").split(",")[1])
        with Image.open(io.BytesIO(content)) as picture:
            rows.setdefault(float(one.get("y")), []).append(picture.getpixel((5, 5)))
    return list(rows.values()), [one.text for one in tree.iter(f"{SPACE}text")]


RED, BLUE, WHITE = (255, 0, 0), (0, 0, 255), (255, 255, 255)


def test_pictures_stand_above_what_was_drawn_with_and_without_them(tmp_path):
    run = answered(tmp_path / "run", {"a": ("red", "red", "white"), "b": ("blue", "red", "white")})
    rows, words = seen(predictions(read_run(run)))
    assert rows == [[RED, BLUE], [RED, RED], [WHITE, WHITE]]
    assert words[-2:] == ["exact", "not exact"]
    rows, words = seen(predictions(read_run(run), count=1))
    assert rows == [[RED], [RED], [WHITE]]


def test_an_answer_that_draws_nothing_is_said(tmp_path):
    run = answered(tmp_path / "run", {"a": ("red", None, "white")})
    rows, words = seen(predictions(read_run(run)))
    assert rows == [[RED], [WHITE]] and "draws nothing" in words and "not exact" in words
    (run / "predictions/pictures/a.png").unlink()
    rows, words = seen(predictions(read_run(run)))
    assert rows == [[WHITE]] and "cannot be shown" in words


def test_the_sheet_is_a_part_of_the_report(tmp_path):
    run = answered(tmp_path / "run", {"a": ("red", "red", "white")})
    assert 'class="chart sheet"' in render(read_run(run))
    (run / "scores/step-00000001.json").unlink()
    assert 'class="chart sheet"' not in render(read_run(run))
    with pytest.raises(UserError, match="k3data eval"):
        predictions(read_run(run))


def test_curves_are_of_the_values_of_the_steps(tmp_path):
    first = run_of(tmp_path / "first", [4.0, 2.0, 1.0], "<nano>", skipped=(2,))
    tree = ET.fromstring(curves([read_run(first)]))
    (line,) = [one for one in tree.iter(f"{SPACE}path") if one.get("class") == "line t0"]
    points = [tuple(map(float, part.split())) for part in line.get("d")[1:].split("L")]
    assert [y for _, y in points] == sorted(y for _, y in points) and len(points) == 3
    drop = [after[1] - before[1] for before, after in pairwise(points)]
    assert drop[0] == pytest.approx(2 * drop[1], abs=0.2)
    words = [one.text for one in tree.iter(f"{SPACE}text")]
    assert "<nano>: 1" in words and "1 skipped" in words
    log = ET.fromstring(curves([read_run(first)], log=True))
    (line,) = [one for one in log.iter(f"{SPACE}path") if one.get("class") == "line t0"]
    heights = [float(part.split()[1]) for part in line.get("d")[1:].split("L")]
    assert heights[1] - heights[0] == pytest.approx(heights[2] - heights[1], abs=0.2)


def test_of_several_runs_each_has_its_colour_and_none_its_skips(tmp_path):
    runs = [run_of(tmp_path / name, [4.0, 2.0], name, skipped=(1,)) for name in ("nano", "small")]
    drawn = curves([read_run(one) for one in runs])
    assert 'class="line t0"' in drawn and 'class="line t1"' in drawn and "skipped" not in drawn
    assert "data-chart" not in drawn and ".line.t1{stroke:#" in drawn


def test_a_run_without_the_value_is_told(tmp_path, capsys):
    run = run_of(tmp_path / "run", [math.nan])
    assert main(["curves", str(run), "--to", str(tmp_path / "a.svg")]) == 2
    assert "no step with a loss" in capsys.readouterr().err and not (tmp_path / "a.svg").exists()
    assert main(["sheet", str(run), "--to", str(tmp_path / "a.svg")]) == 2
    assert main(["curves", str(run), "--column", "norm", "--to", str(tmp_path / "to" / "a.svg")]) == 0
    assert (tmp_path / "to" / "a.svg").read_text().startswith("<svg")


def test_a_browser_shows_the_file_by_itself(browser, tmp_path):
    run = answered(tmp_path / "run", {"a": ("red", "red", "white")})
    for kind in ("curves", "sheet"):
        assert main([kind, str(run), "--to", str(tmp_path / f"{kind}.svg")]) == 0
        visit = Visit(browser, tmp_path / f"{kind}.svg", viewport={"width": 900, "height": 600})
        try:
            assert visit.page.evaluate("document.querySelectorAll('parsererror').length") == 0
            assert visit.page.evaluate("document.documentElement.getBBox().width") > 100 and visit.alarms == []
        finally:
            visit.page.close()
