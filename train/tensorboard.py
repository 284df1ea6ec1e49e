"""The numbers of metrics.jsonl for TensorBoard, too, where one wants it: `k3data train … --tensorboard`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..model.config import ConfigError


class TensorBoard:
    """Writes to RUN/tensorboard. Raises ConfigError when TensorBoard is not installed."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"--tensorboard needs {error.name}, which is not installed: pip install 'k3data[tensorboard]'"
            ) from None
        self._writer = SummaryWriter(str(folder / "tensorboard"))  # type: ignore[no-untyped-call]

    def __call__(self, event: str, values: dict[str, Any]) -> None:
        """Every number of a step or an evaluation, under its dotted name."""
        if event in ("step", "evaluation"):
            for name, value in _numbers(values, event):
                self._writer.add_scalar(name, value, values["step"])  # type: ignore[no-untyped-call]
            self._writer.flush()  # type: ignore[no-untyped-call]

    def close(self) -> None:
        self._writer.close()  # type: ignore[no-untyped-call]


def _numbers(values: dict[str, Any], prefix: str) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    for name, value in values.items():
        if isinstance(value, dict):
            found += _numbers(value, f"{prefix}/{name}")
        elif isinstance(value, (int, float)) and name != "step":
            found.append((f"{prefix}/{name}", float(value)))
    return found
