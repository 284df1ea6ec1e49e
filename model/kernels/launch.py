"""What the tables of launches share, and the arithmetic of grids, for which Triton takes ten times as long."""

from __future__ import annotations


def cdiv(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)


def next_power_of_2(n: int) -> int:
    """The smallest that is not below n, from 1 on."""
    return 1 << (n - 1).bit_length()


class Options:
    """Of a launch, whose dataclass says what else it fixes."""

    num_warps: int
    num_stages: int = 1
    registers: int | None = None
    """Most registers of a thread: fewer make room for more programs on a multiprocessor."""

    def options(self) -> dict[str, int | None]:
        """As Triton names them."""
        return {"num_warps": self.num_warps, "num_stages": self.num_stages, "maxnreg": self.registers}
