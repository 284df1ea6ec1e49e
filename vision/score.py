"""Scores what a model answered: programs by drawing them, places by their overlap, the rest by whether it is right.

    RUN/predictions/step-00000123.jsonl   what was asked, what is true, what the model wrote; see `train.evaluate`
    RUN/scores/step-00000123.json         means by task, control and kind, and a line for every answer
    RUN/scores/step-00000123/<n>.png      what the n-th answer draws

A model's program is untrusted: it is drawn like a collected one, in processes that can be killed, and a kind that would
be executed only under full isolation. The true program is drawn by the same renderer at the same size and compared with
that. What does not draw is the model's failure, with a reason, and counts as far off as can be: distance 1, SSIM 0,
element match 0. So no mean gets better by leaving out what failed.
"""

from __future__ import annotations

import io
import json
import math
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from ..pipelines.errors import UserError
from .drawing import Drawing, draw_all
from .metrics import MalformedAnswer, boxes_of, element_f1, grounded, pixel_distance, same_program, ssim
from .types import Failure, Render

FORMAT = 1
RENDERED = ("svg", "web", "cad")
_UNPARSED = frozenset({"parse", "empty", "encoding"})
_SIZE = (512, 512)
"""Of a picture whose size no prediction names."""
_LARGEST = 8192
_FENCE = re.compile(r"(`{3,}|~{3,})[^\n`]*\n(.*?)(?:\n\1|\Z)", re.DOTALL)
_BEGINNINGS = ("<", "import ", "from ", "#")


@dataclass(frozen=True)
class Scores:
    """Attributes:
    step: of the run.
    tasks: task → control ("" for none) → kind or "all" → means and counts. See `_mean` and `_VALUES`.
    gaps: see `gaps`.
    notes: one line each about what could not be judged on this machine.
    path: the file with all of it.
    """

    step: int
    tasks: dict[str, dict[str, dict[str, Any]]]
    gaps: dict[str, dict[str, dict[str, Any]]]
    notes: tuple[str, ...]
    path: Path


def score_predictions(run: Path, step: int | None = None, *, workers: int = 1, timeout_s: float = 20.0) -> Scores:
    """Score the predictions of a step, the newest unless given, and write the scores; those written before go.

    Args:
        workers: processes of each kind that draw at a time.
        timeout_s: CPU seconds for drawing one program.

    Raises:
        UserError: there are no predictions, or they cannot be read.
    """
    step, asked = read_predictions(run, step)
    drawn, notes = draw_all(_drawings(asked), workers, timeout_s)
    items, pictures = [], {}
    for number, one in enumerate(asked):
        item = {"n": number, **{name: one[name] for name in ("id", "task", "kind", "control")}, **_judged(one, drawn)}
        if one["task"] == "to_code" and isinstance(render := drawn.get(_drawing(one, "prediction")), Render):
            item["png"] = f"scores/step-{step:08d}/{number}.png"
            pictures[number] = render.images[0].png
        items.append(item)
    tasks = _tasks(items)
    found = gaps(items)
    scores = {"format": FORMAT, "step": step, "notes": notes, "tasks": tasks, "gaps": found, "items": items}
    return Scores(step, tasks, found, tuple(notes), _write(run, step, scores, pictures))


def read_predictions(run: Path, step: int | None) -> tuple[int, list[dict[str, Any]]]:
    """The step and its lines. Raises UserError, which names the steps that there are."""
    steps = sorted(
        int(match[1]) for path in run.glob("predictions/*") if (match := re.fullmatch(r"step-(\d+)\.jsonl", path.name))
    )
    if not steps:
        raise UserError(f"{run}: no predictions; a run writes them when it evaluates on held-out tasks")
    if step is None:
        step = steps[-1]
    elif step not in steps:
        raise UserError(f"{run}: no predictions of step {step}; there are those of {', '.join(map(str, steps))}")
    path = run / "predictions" / f"step-{step:08d}.jsonl"
    asked = []
    # Not splitlines(), which also cuts at U+2028, U+0085 and others that JSON leaves inside a string.
    for number, line in enumerate(path.read_text(encoding="utf-8").rstrip("\n").split("\n"), 1):
        try:
            asked.append(_prediction(json.loads(line)))
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path}: line {number} is no prediction: {type(error).__name__} {error}") from None
    return step, asked


def _prediction(one: dict[str, Any]) -> dict[str, Any]:
    texts = {name: str(one[name]) for name in ("id", "kind", "task", "control", "truth", "prediction")}
    image = one.get("image")
    size = (image["width"], image["height"]) if image else _SIZE
    if not all(isinstance(side, int) and 1 <= side <= _LARGEST for side in size):
        raise ValueError(f"a picture of {size}")
    return {**texts, "size": size, "extra": one.get("extra") or {}}


def program_of(answer: str) -> str:
    """The program in an answer: all of it if it begins like one, else what its first fence holds, even one that is
    left open, else all of it."""
    fenced = None if answer.lstrip().startswith(_BEGINNINGS) else _FENCE.search(answer)
    return (fenced[2] if fenced else answer).strip()


def _drawings(asked: Iterable[dict[str, Any]]) -> list[Drawing]:
    """What is to be drawn, each once: controls share their truths, and a young model gives one answer to all."""
    coded = [one for one in asked if one["task"] == "to_code" and one["kind"] in RENDERED]
    return list(dict.fromkeys(_drawing(one, side) for one in coded for side in ("truth", "prediction")))


def _drawing(one: dict[str, Any], side: str) -> Drawing:
    program = one["truth"].strip() if side == "truth" else program_of(one["prediction"])
    return Drawing(one["kind"], program, *one["size"])


def _judged(one: dict[str, Any], drawn: dict[Drawing, Render | Failure | None]) -> dict[str, Any]:
    exact = {"exact": one["truth"].strip() == one["prediction"].strip()}
    if one["task"] == "to_code":
        truth, given = (_drawing(one, side) for side in ("truth", "prediction"))
        return {"exact": same_program(truth.program, given.program), **_compared(drawn.get(truth), drawn.get(given))}
    if one["task"] == "grounding":
        return {**exact, **_placed(one)}
    if one["task"] == "scatter":
        facts = one["extra"]
        lengths = {name: bucket(facts[name]) if name in facts else "?" for name in ("distance", "length")}
        return {**exact, "family": str(facts.get("family", "?")), **lengths}
    return exact


def _compared(truth: Render | Failure | None, given: Render | Failure | None) -> dict[str, Any]:
    if truth is None or given is None:
        return {"unjudged": "no_renderer"}
    if isinstance(truth, Failure):
        return {"unjudged": f"truth_{truth.kind}", "detail": truth.detail}
    true_HWC = _pixels(truth)
    # A yardstick: what an empty sheet would get.
    sheet_HWC = np.full_like(true_HWC, 255)
    sheet = {"sheet_distance": pixel_distance(true_HWC, sheet_HWC), "sheet_ssim": ssim(true_HWC, sheet_HWC)}
    if isinstance(given, Failure):
        return {
            "parses": given.kind not in _UNPARSED, "renders": False, "reason": given.kind, "detail": given.detail[:300],
            "pixel_distance": 1.0, "ssim": 0.0, "elements": 0.0, **sheet,
        }  # fmt: skip
    given_HWC = _on_sheet(_pixels(given), true_HWC.shape)
    return {
        "parses": True, "renders": True, "pixel_distance": pixel_distance(true_HWC, given_HWC),
        "ssim": ssim(true_HWC, given_HWC), "elements": element_f1(truth.layout, given.layout), **sheet,
    }  # fmt: skip


def _pixels(render: Render) -> np.ndarray:
    with Image.open(io.BytesIO(render.images[0].png)) as picture:
        return np.asarray(picture.convert("RGB"))


def _on_sheet(pixels_HWC: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Laid on a white sheet of the truth's size, top left: another aspect or a longer page is cut or has a margin."""
    sheet_HWC = np.full(shape, 255, np.uint8)
    height, width = (min(own, wanted) for own, wanted in zip(pixels_HWC.shape[:2], shape[:2], strict=True))
    sheet_HWC[:height, :width] = pixels_HWC[:height, :width]
    return sheet_HWC


def _placed(one: dict[str, Any]) -> dict[str, Any]:
    try:
        true = boxes_of(one["truth"])
    except MalformedAnswer as error:
        return {"unjudged": f"truth_{error.reason}"}
    if not true:
        return {"unjudged": "truth_form"}
    try:
        given, fault = boxes_of(one["prediction"]), {}
    except MalformedAnswer as error:
        given, fault = [], {"reason": error.reason}
    pixels, normalised = grounded(true, given)
    return {
        "parses": not fault, "iou": pixels.iou, "point": pixels.point, "iou_normalised": normalised.iou,
        "point_normalised": normalised.point, **fault,
        "places": {"true": [place.pixels for place in true], "given": [place.pixels for place in given]},
    }  # fmt: skip


def bucket(tokens: int) -> str:
    """A count of tokens by doublings: `0–255`, `256–511`, …, `1K–2K`, `2K–4K`."""
    if tokens < 256:
        return "0–255"
    low = 1 << (tokens.bit_length() - 1)
    return f"{low}–{2 * low - 1}" if low < 1024 else f"{_short(low)}–{_short(2 * low)}"


def _short(tokens: int) -> str:
    return f"{tokens >> 20}M" if tokens >= 1 << 20 else f"{tokens >> 10}K"


_VALUES = (
    "parses", "renders", "pixel_distance", "ssim", "elements", "sheet_distance", "sheet_ssim", "iou", "point",
    "iou_normalised", "point_normalised",
)  # fmt: skip
_BETTER = {"exact": 1, "renders": 1, "pixel_distance": -1, "ssim": 1, "elements": 1, "iou": 1, "point": 1}
"""Which way is better."""


def _tasks(items: Sequence[dict[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    """Task → control → kind, or for scattered items → family, distance and length."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for one in items:
        groups[one["task"], one["control"], "all"].append(one)
        parts = [f"{what} {one[what]}" for what in ("family", "distance", "length") if one["task"] == "scatter"]
        for part in parts or [one["kind"]]:
            if part != "all":
                groups[one["task"], one["control"], part].append(one)
    found: dict[str, dict[str, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
    for (task, control, part), several in groups.items():
        found[task][control][part] = _mean(several)
    return {task: dict(controls) for task, controls in found.items()}


def _mean(several: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What was asked, how much of it is exactly right, what was judged and why not, and the means of that."""
    judged = [one for one in several if "unjudged" not in one]
    means = {
        name: sum(one[name] for one in judged) / len(judged)
        for name in _VALUES
        if judged and all(name in one for one in judged)
    }
    reasons = {
        name: dict(sorted(Counter(one[key] for one in several if key in one).items()))
        for name, key in (("failures", "reason"), ("unjudged", "unjudged"))
    }
    exact = sum(one["exact"] for one in several) / len(several)
    named = {name: one for name, one in reasons.items() if one}
    return {"asked": len(several), "judged": len(judged), "exact": exact, **means, **named}


def gaps(items: Sequence[dict[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    """Task → control → value → how often the answer was better than the same question's under the control, how often
    worse, and whether that is a gap: a sign test finds it with p ≤ 0.05, which takes at least five."""
    found: dict[str, dict[str, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
    own, nth = {}, Counter[tuple[str, ...]]()
    for one in items:
        # One document may ask several things.
        question = one["task"], one["control"], one["id"]
        nth[question] += 1
        key = (one["task"], one["id"], nth[question])
        if not one["control"]:
            own[key] = one
            continue
        for name, sign in _BETTER.items():
            if key in own and name in one and name in own[key]:
                cell = found[one["task"]][one["control"]].setdefault(name, {"pairs": 0, "better": 0, "worse": 0})
                change = sign * (own[key][name] - one[name])
                cell["pairs"] += 1
                cell["better"] += change > 1e-9
                cell["worse"] += change < -1e-9
    for cell in (cell for controls in found.values() for cells in controls.values() for cell in cells.values()):
        cell["gap"] = _sign_test(cell["better"], cell["worse"]) <= 0.05
    return {task: dict(controls) for task, controls in found.items()}


def _sign_test(better: int, worse: int) -> float:
    """How probable so many are better, or more, of those that differ, if that were as likely as worse."""
    total = better + worse
    return sum(math.comb(total, count) for count in range(better, total + 1)) / 2**total


def _write(run: Path, step: int, scores: dict[str, Any], pictures: dict[int, bytes]) -> Path:
    """Pictures first, then the file that names them: there is never one without the other's."""
    folder = run / "scores" / f"step-{step:08d}"
    path = folder.with_suffix(".json")
    folder.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    _replaced(folder, lambda new: [(new / f"{n}.png").write_bytes(png) for n, png in pictures.items()])
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(json.dumps(scores, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)
    return path


def _replaced(folder: Path, fill: Callable[[Path], object]) -> None:
    new = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    fill(new)
    if folder.exists():
        shutil.rmtree(folder)
    new.replace(folder)
