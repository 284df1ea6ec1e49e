"""What a model can do, measured while it learns, on data that it does not learn from.

Bits per byte of held-out sequences, by domain: comparable over tokenizers. Free answers to held-out tasks, each beside
its controls: whether an answer is right to the letter is counted here; whether a program draws the right picture is
decided by rendering it, which `k3data eval` does afterwards on a machine with renderers, from the predictions that are
written out. And text that goes on from fixed beginnings.

All ranks run the same forwards, because a sharded model needs them all; the first writes.

Letters: T tokens, V words.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from ..curriculum.reader import PackedReader
from ..curriculum.sequence import PackedSequence
from ..curriculum.shard_files import ShardFiles
from ..model.generate import Prompt, Sampling, Written, generate
from ..model.transformer import K3Model
from ..pipelines.errors import UserError
from ..tokenizer.bpe import Tokenizer
from .config import TrainConfig
from .data import Microbatch, StageData, make_microbatch
from .parallel import Ranks
from .prompting import said
from .questions import Question, questions, with_controls
from .run_folder import RunFolder

_LONGEST_PROMPT = 65536
_AT_ONCE = 65536
"""Tokens of the prompts that are answered together."""


class Evaluator:
    """Of one run; keeps the held-out readers and questions of each stage."""

    def __init__(self, config: TrainConfig, run: RunFolder, ranks: Ranks) -> None:
        self.config, self.run, self.ranks = config, run, ranks
        self.dtype = torch.bfloat16 if config.precision == "bf16" else torch.float32
        self._held_out: dict[str, HeldOut | None] = {}

    def evaluate(self, model: K3Model, stage: StageData, step: int) -> dict[str, Any]:
        """Logs an `evaluation` and writes samples and predictions; every rank must call this."""
        values: dict[str, Any] = {"step": step, "stage": stage.config.stage, "split": self.config.evaluation.split}
        held_out = self._of(stage)
        if held_out is None:
            values["skipped"] = f"the stage has no sequences of split {values['split']}"
        else:
            values |= bits_per_byte(model, held_out.microbatches(), held_out.token_bytes, stage, self.ranks)
            asked = held_out.questions
            written = answer(model, asked, self.config.evaluation.max_tokens, held_out.max_image_tokens, self.dtype)
            values |= tally(asked, written)
            self._write_predictions(asked, written, held_out.tokenizer, step)
        tokenizer = held_out.tokenizer if held_out else Tokenizer(stage.tokenizer_file().encode())
        self._write_samples(model, tokenizer, step)
        self.run.log("evaluation", **values)
        return values

    def _of(self, stage: StageData) -> HeldOut | None:
        name = stage.config.stage
        if name not in self._held_out:
            try:
                reader = open_split(stage.reader, self.config.evaluation.split)
            except UserError:  # a small stage may have none
                self._held_out[name] = None
            else:
                self._held_out[name] = HeldOut(reader, stage, self.config)
        return self._held_out[name]

    def _write_samples(self, model: K3Model, tokenizer: Tokenizer, step: int) -> None:
        beginnings = self.config.evaluation.prompts
        prompts = [Prompt(tokenizer.encode(text).tolist()) for text in beginnings]
        sampling = Sampling(max_tokens=128, temperature=0.8, top_p=0.95, stop=(tokenizer.special["eos"],), seed=step)
        written = generate(model, prompts, sampling, dtype=self.dtype)
        lines = [
            json.dumps({"prompt": text, "text": tokenizer.decode(one.tokens)}, ensure_ascii=False)
            for text, one in zip(beginnings, written, strict=True)
        ]
        self.run.write_text(f"samples/step-{step:08d}.jsonl", "\n".join(lines) + "\n")

    def _write_predictions(
        self, asked: Sequence[Question], written: Sequence[Written], tokenizer: Tokenizer, step: int
    ) -> None:
        if not self.run.writes or not asked:
            return
        pictures = self.run.path / "predictions" / "pictures"
        pictures.mkdir(parents=True, exist_ok=True)
        lines = []
        for one, found in zip(asked, written, strict=True):
            image = None
            if one.pictures:
                shown = pictures / f"{one.id}.png"
                if not one.control and not shown.exists():
                    one.pictures[0].save(shown)
                width, height = one.pictures[0].size
                image = {"width": width, "height": height, "png": str(shown.relative_to(self.run.path))}
            lines.append(json.dumps({
                "id": one.id, "kind": one.kind, "task": one.task, "control": one.control,
                "prompt": tokenizer.decode(one.prompt[-256:]), "truth": said(tokenizer, one.answer),
                "prediction": said(tokenizer, found.tokens), "exact": found.tokens == one.answer,
                "finish": found.finish, "image": image, "extra": one.extra,
            }, ensure_ascii=False))  # fmt: skip
        self.run.write_text(f"predictions/step-{step:08d}.jsonl", "\n".join(lines) + "\n")


class HeldOut:
    """What of a stage is held out, read when it is first needed."""

    def __init__(self, reader: PackedReader, stage: StageData, config: TrainConfig) -> None:
        self.reader, self.stage, self.config = reader, stage, config
        self.max_image_tokens = int(reader.about["images"]["max_tokens"])

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return Tokenizer(self.stage.tokenizer_file().encode())

    @cached_property
    def token_bytes(self) -> Tensor:
        """[V] bytes of each word; special ones have none."""
        return torch.tensor([len(one) for one in self.tokenizer.token_bytes])

    def sequences(self) -> Iterator[PackedSequence]:
        """In the order of the index, which is the same whatever the seed."""
        return islice(self.reader.iter(), len(self.reader))

    def microbatches(self) -> Iterator[Microbatch]:
        for sequence in islice(self.sequences(), self.config.evaluation.sequences):
            yield make_microbatch([sequence], self.max_image_tokens, self.stage.labels)

    @cached_property
    def questions(self) -> list[Question]:
        """At most so many of each task as the configuration says, and their controls."""
        wanted = self.config.evaluation.questions
        found: dict[str, list[Question]] = defaultdict(list)
        for sequence in self.sequences() if wanted else ():
            for one in questions(sequence, self.tokenizer, _LONGEST_PROMPT):
                if len(found[one.task]) < wanted and len(one.answer) <= self.config.evaluation.max_tokens:
                    found[one.task].append(one)
        return with_controls([one for several in found.values() for one in several], self.config.seed)


def open_split(reader: PackedReader, split: str) -> PackedReader:
    """Another split of the same stage. Raises UserError when it has no sequences."""
    return PackedReader(ShardFiles(reader.files.store, split, reader.files.check))


@torch.no_grad()
def bits_per_byte(
    model: K3Model, microbatches: Iterator[Microbatch], token_bytes: Tensor, stage: StageData, ranks: Ranks
) -> dict[str, Any]:
    """`bits_per_byte` by domain and `bits_per_byte_all`, of the tokens that have a weight."""
    domains = stage.labels.domain
    nats, sizes = torch.zeros(len(domains), dtype=torch.float64), torch.zeros(len(domains), dtype=torch.float64)
    was_training = model.training
    model.eval()
    try:
        for one in microbatches:
            losses = model.loss(
                one.tokens_1T.to(ranks.device), one.weights_1T.to(ranks.device), images=one.images,
                groups=one.groups, real_BT=one.real_1T.to(ranks.device),
            )  # fmt: skip
            counted_T = (one.weights_1T[0] > 0) & (one.labels["domain"] >= 0)
            domain_T = one.labels["domain"][counted_T]
            target_T = one.tokens_1T[0].roll(-1)[counted_T]
            nats.index_add_(0, domain_T, losses.next_token.per_token_T.double().cpu()[counted_T])
            sizes.index_add_(0, domain_T, token_bytes[target_T].double())
    finally:
        model.train(was_training)
    by = {
        name: nat / size / math.log(2)
        for name, nat, size in zip(domains, nats.tolist(), sizes.tolist(), strict=True)
        if size
    }
    whole = float(nats.sum() / sizes.sum() / math.log(2)) if sizes.sum() else None
    return {"bits_per_byte": by, "bits_per_byte_all": whole}


def answer(
    model: K3Model, asked: Sequence[Question], max_tokens: int, max_image_tokens: int, dtype: torch.dtype
) -> list[Written]:
    """The most probable answer to each question, written freely; together those of like length that end alike."""
    order = sorted(range(len(asked)), key=lambda n: (asked[n].end or 0, len(asked[n].prompt), n))
    written: dict[int, Written] = {}
    while order:
        batch: list[int] = []
        tokens, end = 0, asked[order[0]].end
        while order and asked[order[0]].end == end and (not batch or tokens + len(asked[order[0]].prompt) <= _AT_ONCE):
            batch.append(order.pop(0))
            tokens += len(asked[batch[-1]].prompt)
        prompts = [asked[n].as_prompt(max_image_tokens) for n in batch]
        stop = () if end is None else (end,)
        # No answer can be right that is much longer than the right one.
        longest = min(max_tokens, 16 + max(len(asked[n].answer) for n in batch) * 5 // 4)
        found = generate(model, prompts, Sampling(max_tokens=longest, stop=stop), dtype=dtype)
        written.update(zip(batch, found, strict=True))
    return [written[n] for n in range(len(asked))]


def tally(asked: Sequence[Question], written: Sequence[Written]) -> dict[str, Any]:
    """`answers` by task and, under `controls`, the same for each control: asked, and exactly right."""
    counts: dict[str, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(lambda: {"asked": 0, "exact": 0}))
    for one, found in zip(asked, written, strict=True):
        cell = counts[one.control][one.task]
        cell["asked"] += 1
        cell["exact"] += found.tokens == one.answer
    plain = {control: {task: dict(cell) for task, cell in tasks.items()} for control, tasks in counts.items()}
    return {"answers": plain.pop("", {}), "controls": plain}
