"""`k3data verify --proofs`: every proof of every scattered item, re-derived by a second program, `curriculum.proofs`.

The checker and the renderer are loaded by name, when they are asked for: the engine knows neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .errors import UserError
from .output import open_output
from .reader import Dataset
from .tokens import SIGNATURE, read_token_sample

if TYPE_CHECKING:
    from ..curriculum.proofs import ProofReport
    from ..tokenizer import Tokenizer

TOKENIZER_FILE = "tokenizer.json"


@dataclass
class ProofsReport:
    """The proofs of an output, re-derived.

    Attributes:
        found: counts over all jobs.
        samples: sequences that carry proofs.
    """

    found: ProofReport
    samples: int = 0
    jobs: list[str] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        return self.found.problems

    def as_dict(self) -> dict[str, Any]:
        return {
            "ok": not self.problems,
            "jobs": self.jobs,
            "samples": self.samples,
            **self.found.as_dict(),
            "problems": self.problems,
        }

    def text(self) -> str:
        found = self.found
        lines = [
            f"{found.items:,} items in {self.samples:,} sequences of {', '.join(self.jobs)}: {found.checked:,} proofs "
            f"hold, {found.items - found.checked:,} do not",
            f"{found.clues:,} clues; {found.pictured:,} items have evidence in pictures",
        ]
        for name, count in sorted(found.families.items()):
            lines.append(f"{name:<16}{count:>8,} items, lexical retrieval solves {found.lexical[name]:,}")
        return "\n".join([*lines, *self.problems])


def verify_proofs(url: str, job: str | None = None, tokenizer: str | None = None) -> ProofsReport:
    """Re-derive the proofs of an output, or of one job of it.

    Args:
        tokenizer: file or folder of the tokenizer; by default the one that lies in the job's folder.

    Raises:
        UserError: nothing there carries proofs, or no tokenizer was given where none lies beside the shards.
    """
    from ..curriculum.proofs import ProofReport, check_sample

    report = ProofsReport(ProofReport())
    with ExitStack() as stack:
        read_picture = _picture_reader(stack)
        for dataset in _datasets(url, job):
            encoder: Tokenizer | None = None
            carried = 0
            for number, members in enumerate(dataset.iter_raw()):
                sample = read_token_sample(members)
                if not sample.proofs:
                    continue
                encoder = encoder or _tokenizer(dataset, tokenizer)
                carried += 1
                where = f"{dataset.info['name']}/{dataset.samples['id'][number].as_py()}"
                check_sample(sample, encoder, read_picture, report.found, where)
            if carried:
                report.jobs.append(dataset.info["job"])
                report.samples += carried
    if not report.samples:
        raise UserError(f"{url}: no sample carries a proof")
    return report


def _datasets(url: str, job: str | None) -> Iterator[Dataset]:
    """The complete data sets of token samples."""
    _, root = open_output(url)
    for name in [job] if job else root.jobs:
        try:
            dataset = Dataset.open(url, job=name)
        except UserError:
            if job:
                raise
            continue  # a job that is not complete yet has nothing to verify
        if SIGNATURE in dataset.shards["signature"].to_pylist():
            yield dataset


def _tokenizer(dataset: Dataset, given: str | None) -> Tokenizer:
    from ..tokenizer import Tokenizer, TokenizerError

    try:
        if given is not None:
            return Tokenizer.load(given)
        return Tokenizer(dataset.store.read(TOKENIZER_FILE), f"{dataset.store.url}/{TOKENIZER_FILE}")
    except FileNotFoundError:
        raise UserError(f"{dataset.store.url} has no {TOKENIZER_FILE}: give --tokenizer PATH") from None
    except TokenizerError as error:
        raise UserError(str(error)) from None


def _picture_reader(stack: ExitStack) -> Any:
    """Renders a program the first time it is asked for; the processes that do it end with `stack`."""
    readers: list[Any] = []

    @lru_cache(maxsize=4096)
    def read(kind: str, program: str) -> tuple[dict[str, int], str]:
        if not readers:
            from ..vision.facts import FactReader

            readers.append(stack.enter_context(FactReader()))
        return readers[0].read(kind, program)

    return read
