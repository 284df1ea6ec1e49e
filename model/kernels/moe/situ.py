"""SiTU-GLU and its derivatives on tiles in registers; what it is stands in `model/activation.py`.

With a = 1 + e^-g, b = 1 + e^(-2g/β_gate) and c = 1 + e^(-2u/β_up)

    σ(g) = 1/a        tanh(g/β_gate) = (2 - b)/b        tanh(u/β_up) = (2 - c)/c

and all three come from one reciprocal, of a·b·c: four special functions an element instead of six, which is what the
epilogues of the products wait for. Exponents are held to 40, so that a·b·c stays in range: σ is then 2^-40 where it
would be less.
"""

import triton
import triton.language as tl

from ..functions import LOG2E


@triton.jit
def situ_parts(gate, up, beta_gate, beta_up):
    """tanh(gate/β_gate), tanh(up/β_up) and σ(gate), in fp32. What is not a number stays so."""
    power_a = _power(gate, -LOG2E)
    power_b = _power(gate, -2.0 * LOG2E / beta_gate)
    power_c = _power(up, -2.0 * LOG2E / beta_up)
    a, b, c = 1.0 + power_a, 1.0 + power_b, 1.0 + power_c
    # The square of a reciprocal root is two instructions; a division is ten.
    root = tl.rsqrt(a * b * c)
    reciprocal = root * root
    of_a = reciprocal * a
    return (1.0 - power_b) * (of_a * c), (1.0 - power_c) * (of_a * b), reciprocal * (b * c)


@triton.jit
def _power(x, factor):
    return tl.exp2(tl.minimum(x * factor, 40.0, propagate_nan=tl.PropagateNan.ALL))
