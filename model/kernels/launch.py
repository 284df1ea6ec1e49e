"""What the tables of launches share."""

from __future__ import annotations


class Options:
    """Of a launch, whose dataclass says what else it fixes."""

    num_warps: int
    num_stages: int = 1
    registers: int | None = None
    """Most registers of a thread: fewer make room for more programs on a multiprocessor."""

    def options(self) -> dict[str, int | None]:
        """As Triton names them."""
        return {"num_warps": self.num_warps, "num_stages": self.num_stages, "maxnreg": self.registers}
