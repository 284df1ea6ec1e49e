"""How many kernels a piece of work launches, counted on a CPU: operators that compute, without those that only look.

    with Launches() as counted:
        loss.backward()
    counted.total, counted.by_name.most_common(10)

A view, a size or an empty tensor launches nothing. Everything else is one launch here, and on a GPU about one: some
operators are several kernels there, and a list of tensors given to one `foreach` operator is one for many tensors.
What is compiled cannot be counted so, as under such a count it runs uncompiled: the profiler of a GPU can.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

_NOTHING = {
    "aten::empty", "aten::empty_like", "aten::new_empty", "aten::empty_strided", "aten::new_empty_strided",
    "aten::detach", "aten::_local_scalar_dense", "aten::is_same_size", "aten::resize_", "aten::set_",
    "aten::lift_fresh",
    "aten::_unsafe_view", "aten::is_pinned", "aten::record_stream", "aten::promote_types",
}  # fmt: skip


class Launches(TorchDispatchMode):
    """Attributes: `by_name` counts launches; `waits` the values that were fetched, each a wait for a GPU."""

    def __init__(self) -> None:
        super().__init__()
        self.by_name: Counter[str] = Counter()
        self.waits = 0

    @property
    def total(self) -> int:
        return sum(self.by_name.values())

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name
        self.waits += name in ("aten::_local_scalar_dense", "aten::nonzero")
        if name.startswith(("aten::", "k3data::")) and name not in _NOTHING and not func.is_view:
            self.by_name[name] += 1
        return func(*args, **(kwargs or {}))
