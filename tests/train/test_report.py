"""The report of a run: in a real browser, with what real runs have, and with what goes wrong in them."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
import subprocess
import sys

import numpy as np
import pytest
from k3data.pipelines.errors import UserError
from k3data.tests.visit import Visit
from k3data.train.report import write_report
from k3data.train.report_rasters import raster
from k3data.train.report_run import read_run
from PIL import Image

HOSTILE = "</script><img src=x onerror=alert(1)><svg/onload=alert(1)> {{script}} \"'> <!-- \u2028 \udcff"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><circle cx="20" cy="20" r="9"/></svg>'
FACTS = {
    "format": 1, "config": {"name": "tiny", "model": {"layers": 3}, "stages": [{"stage": "8k"}]}, "data": "out/packed",
    "parameters": {"total": 1_848_000, "active": 1_083_000}, "device": "CPU", "started": "2026-01-02T03:04:05+00:00",
    "words": 600, "steps": 3, "tokens": 3072,
}  # fmt: skip


def step(number, loss=2.0, **changes):
    return {
        "event": "step", "step": number, "stage": "8k", "tokens": 1024 * number, "learning_rate": 1e-3, "loss": loss,
        "next_next_loss": None, "norm": 0.5, "skipped": False, "reason": "", "seconds": 2.0, "tokens_per_s": 512.0,
        "mfu": None, "waited": 0.01, "memory_gib": 1.5, "load_excess": 0.3, "dead_experts": 0, "vision_norm": 0.1,
        "largest_logit": 1.0, "by": {"domain": {"web": loss, "vision": loss}, "kind": {"svg": loss}}, **changes,
    }  # fmt: skip


def evaluation(number, right=8, blank=0):
    counts = [{"to_code": {"asked": 8, "exact": exact}} for exact in (right, blank)]
    return {
        "event": "evaluation", "step": number, "stage": "8k", "split": "val", "bits_per_byte": {"web": 1.5},
        "bits_per_byte_all": 1.5, "answers": counts[0], "controls": {"blank": counts[1]},
    }  # fmt: skip


def diagnostics(number, layers=3):
    return {
        "event": "diagnostics", "step": number, "attn_res": [[0.75, 0.25]] * (2 * layers),
        "decay": {"edges": [0, 0.5, 1], "layers": {"0": [0.2, 0.8], "1": [0, 1]}}, "load": {"1": [0.5, 0.5, 0, 0]},
    }  # fmt: skip


def write(run, events, facts=FACTS, end=""):
    run.mkdir(parents=True, exist_ok=True)
    (run / "run.json").write_text(json.dumps(facts))
    (run / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in events) + end)
    return run


def prediction(name="a", truth=SVG, answer=SVG, control="", image=True, **more):
    picture = {"width": 64, "height": 64, "png": "predictions/pictures/a.png"} if image else None
    return {
        "id": name, "kind": "svg", "task": "to_code", "control": control, "prompt": "Draw it.", "truth": truth,
        "prediction": answer, "exact": truth == answer, "finish": "stop", "image": picture, "extra": {}, **more,
    }  # fmt: skip


def add_predictions(run, lines, number=3):
    (run / "predictions" / "pictures").mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (64, 64), "teal").save(run / "predictions" / "pictures" / "a.png")
    text = "".join(json.dumps(one) + "\n" for one in lines)
    (run / "predictions" / f"step-{number:08d}.jsonl").write_text(text)


def add_samples(run, lines, number=3):
    (run / "samples").mkdir(exist_ok=True)
    (run / "samples" / f"step-{number:08d}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))


def page_of(run):
    to = run.parent / f"{run.name}.html"
    write_report(run, to)
    return to.read_text(encoding="utf-8")


def words_of(page):
    """What a reader sees: without style, script and tags."""
    body = page[page.index("<main>") : page.index("</main>")]
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())


# --- in a browser ---------------------------------------------------------------------------------------------------


def full_run(run, text="plain"):
    """Every file a run can have, with `text` wherever a stranger's could come in."""
    facts = {**FACTS, "config": {"name": text, text: text}, "data": text, "device": text, "started": text}
    by = {"domain": {text: 2.0, "web": 2.0}, "kind": {text: 2.0, "svg": 1.0}, "position": {"0-255": 2.0, "256-1023": 1}}
    events = [step(n, 5.0 / n, by=by, stage=text) for n in range(1, 41)]
    events.insert(20, {"event": "stage", "stage": "first", "step": 0})
    events.insert(21, {"event": "stage", "stage": text, "step": 20})
    answers = {text: {"asked": 8, "exact": 4}, "to_code": {"asked": 8, "exact": 4}}
    for n in (20, 40):
        one = {**evaluation(n), "bits_per_byte": {text: 1.0, "web": 1.0}, "split": text, "answers": answers}
        events += [{**one, "controls": {text: answers}}, {**diagnostics(n), "load": {text: [0.5, 0.5]}}]
    write(run, [*events, {"event": "end", "step": 40, "finished": True}], facts)
    lines = [
        prediction("a", text + SVG, SVG + text, prompt=text),
        prediction("a", SVG, text, control="blank"),
        prediction("b", text, text, kind=text, task=text, image=False),
        prediction("c", SVG, SVG, image=False) | {"image": {"width": 9, "height": 9, "png": text}},
    ]
    add_predictions(run, lines, 40)
    for n in (20, 40):
        add_samples(run, [{"prompt": text, "text": text}], n)
    items = [
        {"n": 0, "id": "a", "task": "to_code", "control": "", "exact": False, "renders": False, "reason": text,
         "detail": text, "ssim": 0.5},
        {"n": 2, "id": "b", "exact": True, "family": text, "unjudged": text},
    ]  # fmt: skip
    cell = {"asked": 8, "judged": 8, "exact": 0.5, "ssim": 0.9, "elements": 0.5, "failures": {text: 1}}
    scores = {
        "format": 1, "step": 40, "notes": [text], "items": items,
        "tasks": {
            "to_code": {"": {"all": cell, text: cell, "svg": cell}, text: {"all": cell}},
            text: {"": {"all": cell}},
        },
        "gaps": {"to_code": {text: {"ssim": {"pairs": 8, "better": 1, "worse": 1, "gap": False}}}},
    }  # fmt: skip
    (run / "scores").mkdir()
    (run / "scores" / "step-00000020.json").write_text(json.dumps({**scores, "step": 20}))
    (run / "scores" / "step-00000040.json").write_text(json.dumps(scores))
    return run


@pytest.mark.parametrize("width", [1280, 380])
def test_text_of_strangers_is_shown_and_does_nothing(browser, tmp_path, width):
    write_report(full_run(tmp_path / "run", HOSTILE), tmp_path / "report.html")
    visit = Visit(browser, tmp_path / "report.html", viewport={"width": width, "height": 900})
    try:
        assert "onerror=alert(1)" in visit.page.inner_text("#samples")
        assert "onerror=alert(1)" in visit.page.inner_text("#predictions")
        visit.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert visit.page.evaluate("document.scripts.length") == 1
        assert visit.page.evaluate("document.querySelectorAll('img[src=x], [onerror], [onload], [style]').length") == 0
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert visit.page.evaluate(wide) <= 0, "the page itself must not scroll sideways"
        assert visit.alarms == []
    finally:
        visit.page.close()


def test_views_theme_and_values_under_the_pointer(browser, tmp_path):
    write_report(full_run(tmp_path / "run"), tmp_path / "report.html")
    visit = Visit(browser, tmp_path / "report.html", viewport={"width": 1280, "height": 900})
    try:
        page = visit.page
        chart = page.locator(".view-0 .broad svg")
        value = page.locator("#learning .legend b").first
        assert value.inner_text() == "0.125"
        box = chart.bounding_box()
        page.mouse.move(box["x"] + box["width"] * 53 / 1200, box["y"] + 100)
        assert value.inner_text() == "5" and "step 1" in chart.text_content()
        page.mouse.move(0, 0)
        assert value.inner_text() == "0.125"
        assert not page.locator(".view-2 .broad svg").is_visible()
        page.click("text=log both")
        assert page.locator(".view-2 .broad svg").is_visible() and not chart.is_visible()
        before = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.click("#theme")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
        assert visit.alarms == []
    finally:
        page.close()


def test_everything_is_there_without_a_script(browser, tmp_path):
    write_report(full_run(tmp_path / "run"), tmp_path / "report.html")
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto((tmp_path / "report.html").as_uri())
        assert page.locator("nav a").all_inner_texts() == [
            "Learning", "Steps", "Inside", "Held out", "Predictions", "Samples",
        ]  # fmt: skip
        page.click("text=log steps")
        assert page.locator(".view-1 .broad svg").is_visible()
        assert not page.locator("#theme").is_visible()
    finally:
        context.close()


# --- what runs have, and what goes wrong in them ----------------------------------------------------------------------


def test_three_steps_make_a_whole_page(tmp_path):
    run = write(tmp_path / "run", [step(n, 4.0 - n) for n in (1, 2, 3)])
    page = page_of(run)
    words = words_of(page)
    assert "3 of 3 steps on out/packed , begun 2026-01-02 03:04:05 UTC: still going on" in words
    assert "1.848M 1.083M active" in words and "Time 6 s" in words and "512" in words
    assert page.count('class="line t0"') > 6
    assert "://" not in page.replace("http://www.w3.org/2000/svg", "")


def test_a_loss_that_falls_far_is_seen_on_a_logarithmic_scale_first(tmp_path):
    near = page_of(write(tmp_path / "near", [step(n, 4.0 / n) for n in range(1, 9)]))
    far = page_of(write(tmp_path / "far", [step(n, 4.0 / 10**n) for n in range(1, 9)]))
    assert 'id="view-0" checked' in near and 'id="view-3" checked' in far and far.count(" checked>") == 1


def test_the_policy_allows_the_pages_own_style_and_script_alone(tmp_path):
    page = page_of(write(tmp_path / "run", [step(1)]))
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1])
    own = {name: re.search(rf"<{name}>(.*?)</{name}>", page, re.DOTALL)[1] for name in ("style", "script")}
    hashes = {name: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for name, text in own.items()}
    assert policy.split("; ") == [
        "default-src 'none'", "img-src data:", f"style-src 'sha256-{hashes['style']}'",
        f"script-src 'sha256-{hashes['script']}'", "base-uri 'none'", "form-action 'none'",
    ]  # fmt: skip


def test_a_run_without_steps_or_a_finite_loss_says_so(tmp_path):
    assert "no step is taken yet" in words_of(page_of(write(tmp_path / "none", [])))
    lost = write(tmp_path / "lost", [step(n, math.nan, norm=None) for n in (1, 2)])
    assert "No step has a finite loss" in words_of(page_of(lost))


def test_losses_that_are_not_finite_are_gaps(tmp_path):
    page = page_of(write(tmp_path / "run", [step(n, math.nan if n == 3 else 2.0) for n in range(1, 6)]))
    broad = page[page.index('class="broad"') : page.index('class="narrow"')]
    assert broad.count('class="line t0"') == 2 and "nan" not in broad.lower()


def test_of_steps_done_twice_the_later_count(tmp_path):
    first = [step(n, 9.0) for n in range(1, 8)] + [evaluation(6, right=1), {"event": "skip", "step": 7}]
    again = [{"event": "start", "resumed_from": 4}, *[step(n, 3.0) for n in (5, 6)]]
    run = write(tmp_path / "run", first + again)
    add_samples(run, [{"prompt": "The", "text": "from a step that was taken back"}], 7)
    found = read_run(run)
    assert [(one["step"], one["loss"]) for one in found.steps] == [(n, 9.0) for n in (1, 2, 3, 4)] + [
        (5, 3.0),
        (6, 3.0),
    ]
    assert found.events["evaluation"] == [] and found.events["skip"] == [] and found.samples == {}
    page = page_of(run)
    assert "It was resumed once." in page and 'class="mark resume"' in page


def test_a_run_begun_anew_in_the_same_folder_forgets_the_old_one(tmp_path):
    run = write(tmp_path / "run", [step(1, 9.0), step(2, 9.0), {"event": "start", "resumed_from": None}, step(1, 3.0)])
    assert [one["loss"] for one in read_run(run).steps] == [3.0]


def test_a_last_line_that_is_still_written_is_no_fault_but_a_damaged_one_is_told(tmp_path):
    run = write(tmp_path / "run", [step(1), step(2)], end=json.dumps(step(3))[:50])
    assert read_run(run).notes == [] and len(read_run(run).steps) == 2
    run = write(tmp_path / "run", [step(1), step(2)], end='{"event": "st\n[3]\n' + json.dumps(step(3)) + "\n")
    assert read_run(run).notes == ["metrics.jsonl: 2 lines cannot be read"] and len(read_run(run).steps) == 3
    assert "2 lines cannot be read" in words_of(page_of(run))


def test_skipped_steps_are_marked_and_counted(tmp_path):
    page = page_of(
        write(tmp_path / "run", [step(n, skipped=n in (2, 4), norm=99.0 if n == 4 else 1.0) for n in range(1, 6)])
    )
    norm = page[page.index("Gradient norm") : page.index("<h3>Speed")]
    assert "skipped <b>2</b>" in norm and norm.count("V") > 0
    assert re.search(r'<path class="mark skip" d="(M[\d.]+ \d+V\d+){2}"/>', norm)


def test_a_long_run_is_thinned_and_loses_no_spike(tmp_path):
    events = [step(n, 50.0 if n == 7777 else 2.0, by={}) for n in range(1, 20_001)]
    page = page_of(write(tmp_path / "run", events))
    assert len(page) < 500_000
    broad = page[page.index('class="broad"') : page.index('class="narrow"')]
    band = re.search(r'class="band t0" d="M([^"]+)Z"', broad)[1]
    points = np.array([one.split() for one in band.split("L")], dtype=float)
    spike = points[points[:, 1].argmin()]
    assert spike[1] < 62 and abs(spike[0] - (52 + 1138 * 7776 / 19_999)) < 3
    assert np.median(points[:, 1]) > 250 and ">60</text>" in broad


def test_a_folder_that_is_no_run_is_one_line(tmp_path):
    with pytest.raises(UserError, match=r"is no run: it has no run\.json"):
        write_report(tmp_path, tmp_path / "a.html")
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(UserError, match=r"run\.json is damaged"):
        write_report(tmp_path, tmp_path / "a.html")
    (tmp_path / "run.json").write_text('{"format": 2}')
    with pytest.raises(UserError, match="not of format 1"):
        write_report(tmp_path, tmp_path / "a.html")
    assert not (tmp_path / "a.html").exists()


# --- what is claimed --------------------------------------------------------------------------------------------------


def test_no_gap_over_a_control_makes_no_claim(tmp_path):
    lucky = words_of(page_of(write(tmp_path / "a", [step(1), evaluation(1, right=3, blank=1)])))
    assert "no gap over a blank picture. No gap over the control, no claim." in lucky
    clear = words_of(page_of(write(tmp_path / "b", [step(1), evaluation(1, right=7, blank=1)])))
    assert "better than under every control" in clear and "no claim" not in clear


def test_predictions_stand_beside_the_truth_with_what_they_draw(tmp_path):
    run = write(tmp_path / "run", [step(n) for n in (1, 2, 3)])
    answer = SVG.replace("20", "30", 1)
    add_predictions(run, [prediction("a", SVG, answer), prediction("b", SVG, "<svg"), prediction("a", control="blank")])
    plain = page_of(run)
    assert plain.count('src="data:image/png') == 2 and "the answer, drawn" not in plain
    (run / "scores" / "step-00000003").mkdir(parents=True)
    Image.new("RGB", (64, 64), "red").save(run / "scores" / "step-00000003" / "0.png")
    items = [
        {"n": 0, "id": "a", "exact": False, "renders": True, "ssim": 0.9, "png": "scores/step-00000003/0.png"},
        {"n": 1, "id": "b", "exact": False, "renders": False, "reason": "parse", "detail": "unclosed token"},
    ]
    scores = {"step": 3, "notes": [], "tasks": {}, "gaps": {}, "items": items}
    (run / "scores" / "step-00000003.json").write_text(json.dumps(scores))
    scored = words_of(page_of(run))
    assert "the answer, drawn" in scored and "SSIM 0.9" in scored
    assert "fails: parse" in scored and "unclosed token" in scored
    items[0]["id"] = "z"
    (run / "scores" / "step-00000003.json").write_text(json.dumps(scores))
    assert "the scores of step 3 are of other predictions" in words_of(page_of(run))


def test_true_and_given_places_are_drawn_over_the_picture(tmp_path):
    run = write(tmp_path / "run", [step(3)])
    add_predictions(run, [prediction("a", "{}", "{}", task="grounding")])
    (run / "scores").mkdir()
    item = {
        "n": 0,
        "id": "a",
        "exact": False,
        "iou": 0.5,
        "places": {"true": [[1, 2, 31, 42]], "given": [[5, 6, 7, 8]]},
    }
    scores = {"step": 3, "tasks": {}, "items": [item]}
    (run / "scores" / "step-00000003.json").write_text(json.dumps(scores))
    page = page_of(run)
    assert '<svg viewBox="0 0 64 64" aria-hidden="true"><rect class="true" x="1" y="2" width="30" height="40"/>' in page
    assert '<rect class="given" x="5" y="6" width="2" height="2"/>' in page


def test_samples_are_spread_over_the_run_with_the_first_and_the_newest(tmp_path):
    run = write(tmp_path / "run", [step(n) for n in range(1, 11)])
    for n in range(1, 11):
        add_samples(run, [{"prompt": "The", "text": f" sample {n}"}], n)
    page = page_of(run)
    shown = re.findall(
        r"</span> sample (\d+)<", page[page.index('id="samples"') : page.index("<details><summary>all 10")]
    )
    assert shown == ["10", "7", "4", "1"]
    assert page.count("</span> sample 5<") == 1


def test_a_picture_outside_the_run_is_not_shown(tmp_path):
    Image.new("RGB", (8, 8)).save(tmp_path / "secret.png")
    (tmp_path / "run").mkdir()
    assert "leads out of the run" in raster(tmp_path / "run", "../secret.png")
    assert "leads out of the run" in raster(tmp_path / "run", str(tmp_path / "secret.png"))
    assert "is not there" in raster(tmp_path / "run", "none.png")
    (tmp_path / "run" / "text.png").write_text("<svg/>")
    assert "cannot be read" in raster(tmp_path / "run", "text.png")


def test_the_report_needs_nothing_of_the_data_side():
    script = (
        "import sys, k3data.train.report\n"
        "heavy = 'orjson', 'pydantic', 'datatrove', 'duckdb', 'typer', 'torch'\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
