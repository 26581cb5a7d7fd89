"""Counts the kernels of a training step: what a GPU would be asked to launch.

Counted is every call of one of torch's basic (aten) operations that computes or moves elements, in
the forward and the backward pass, in clipping and in the optimizer. Not counted are operations that
only look at memory another way (views), that reserve it without filling it, or that read sizes.
An operation over a list of tensors (`_foreach_add_`) or a fused one (attention, AdamW) counts once;
a GPU may launch a few kernels for one of these.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

WITHOUT_WORK = {
    "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "detach", "alias",
    "_unsafe_view", "lift_fresh", "is_same_size", "is_pinned",
}  # fmt: skip
"""Operations that are no views by their signature, and launch nothing."""


class Kernels(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """While active, counts by name what is launched: `calls`."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if not (func.is_view or name in WITHOUT_WORK):
            self.calls[name] += 1
        return func(*args, **(kwargs or {}))

    def total(self) -> int:
        """All of them."""
        return self.calls.total()
