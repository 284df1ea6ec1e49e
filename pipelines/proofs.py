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
from .prepared import TOKENIZER_FILE, load_tokenizer
from .reader import Dataset
from .tokens import SIGNATURE, TokenSample, read_token_sample

if TYPE_CHECKING:
    from ..curriculum.proofs import ProofReport
    from ..tokenizer import Tokenizer


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
    from ..curriculum.proofs import ProofReport

    report = ProofsReport(ProofReport())
    with ProofChecker() as checker:
        for dataset in _datasets(url, job):
            encoder: Tokenizer | None = None
            carried = 0
            for number, members in enumerate(dataset.iter_raw()):
                sample = read_token_sample(members)
                if not sample.proofs:
                    continue
                encoder = encoder or _tokenizer(dataset, tokenizer)
                carried += 1
                where = f"{dataset.info['job']}/{dataset.samples['id'][number].as_py()}"
                checker.check(sample, encoder, report.found, where)
            if carried:
                report.jobs.append(dataset.info["job"])
                report.samples += carried
    if not report.samples:
        raise UserError(f"{url}: no sample carries a proof")
    return report


class ProofChecker:
    """The second program with the renderer it needs. A context manager: the renderer's processes end with it."""

    def __enter__(self) -> ProofChecker:
        self._stack = ExitStack()
        self._read = lru_cache(maxsize=4096)(self._render)
        self._reader: Any = None
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def check(self, sample: TokenSample, tokenizer: Tokenizer, report: ProofReport, where: str = "sample") -> None:
        """Re-derive a sample's proofs; see `curriculum.proofs.check_sample`."""
        from ..curriculum.proofs import check_sample

        check_sample(sample, tokenizer, self._read, report, where)

    def problems(self, sample: TokenSample, tokenizer: Tokenizer) -> list[str]:
        """One line for each item of the sample whose proof does not hold."""
        from ..curriculum.proofs import ProofReport

        report = ProofReport()
        self.check(sample, tokenizer, report)
        return report.problems

    def _render(self, kind: str, program: str) -> tuple[dict[str, int], str]:
        from ..vision.facts import FactReader  # a sample without pictures needs no renderer
        from ..vision.isolation import IsolationError

        if self._reader is None:
            self._reader = self._stack.enter_context(FactReader())
        try:
            return self._reader.read(kind, program)
        except IsolationError as error:
            raise UserError(f"a picture of kind {kind} cannot be rendered again on this machine: {error}") from None


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
    if given is None and not dataset.store.exists(TOKENIZER_FILE):
        raise UserError(f"{dataset.store.url} has no {TOKENIZER_FILE}: give --tokenizer PATH")
    return load_tokenizer(given or dataset.store.url)[0]
