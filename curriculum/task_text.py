"""A record with tasks as text: which tasks, in which order, in which words.

A record is one program or document with a list of tasks. One training document is made of it: the pictures once, and
the tasks after each other, phrased in one of several ways. What a task asks for must not stand above it already, so a
task whose answer, or whose quoted program, has been shown is left out.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

PHRASINGS = (
    "{prompt}\n\n{answer}\n\n",
    "Question: {prompt}\n\nAnswer: {answer}\n\n",
    "Q: {prompt}\nA: {answer}\n\n",
    "Task. {prompt}\n\nSolution.\n{answer}\n\n",
    "**{prompt}**\n\n{answer}\n\n",
    "Prompt:\n{prompt}\n\nResponse:\n{answer}\n\n",
    "> {quoted}\n\n{answer}\n\n",
)
"""How a prompt and its answer stand in plain text."""

_FENCED = re.compile(r"^(`{3,})[^\n]*\n(.*?)^\1`*\s*$", re.MULTILINE | re.DOTALL)
_WORTH_HIDING = 40
"""A shorter answer may stand in a text by chance."""


def choose(tasks: Sequence[dict[str, Any]], rng: random.Random) -> list[dict[str, Any]]:
    """The tasks in the order in which they are asked, none of which is answered above."""
    order = list(tasks)
    rng.shuffle(order)
    chosen: list[dict[str, Any]] = []
    shown = ""
    for task in order:
        quoted = [block.strip() for _, block in _FENCED.findall(task["prompt"])]
        long = [piece for piece in (task["answer"].strip(), *quoted) if len(piece) >= _WORTH_HIDING]
        if any(piece in shown for piece in long):
            continue
        chosen.append(task)
        shown += f"{task['prompt']}\n{task['answer']}\n"
    return chosen


def quotes_its_program(task: dict[str, Any]) -> bool:
    """The task is about a text that stands in its prompt, and needs no picture."""
    return _FENCED.search(task["prompt"]) is not None


def plain(tasks: Sequence[dict[str, Any]], rng: random.Random) -> list[str]:
    """Each task as a piece of plain text, all in one phrasing."""
    phrasing = rng.choice(PHRASINGS)
    if phrasing.startswith(("**", ">")) and any("\n" in task["prompt"] for task in tasks):
        phrasing = PHRASINGS[0]  # bold face and quotations hold one paragraph
    return [
        phrasing.format(prompt=task["prompt"], answer=task["answer"].strip("\n"), quoted=task["prompt"])
        for task in tasks
    ]
