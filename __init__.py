"""k3data: data pipelines, curriculum and a reference trainer for Kimi-K3-style multimodal models.

`k3data.open(OUT)` reads what a run has written; everything else is reached through the `k3data` command
or by importing the part you need (`k3data.pipelines`, `k3data.vision`, …).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .pipelines.reader import Dataset

__version__ = "0.1.0"
__all__ = ["__version__", "open"]


def open(url: str, job: str | None = None, **storage_options: Any) -> Dataset:
    """Open an output of `k3data run` for reading.

    Args:
        url: the output's root or one job's folder; a path or any fsspec URL (`s3://…`).
        job: which job's data set; the last one of the recipe unless named.
        **storage_options: passed to fsspec.

    Returns:
        A `Dataset` with `len()`, `[id]`, iteration and `.sql(...)`.
    """
    from .pipelines.reader import Dataset

    return Dataset.open(url, job=job, **storage_options)
