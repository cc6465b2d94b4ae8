"""Dropout: numbers, or whole channels, become zero at random."""

from typing import Any, Final

from typednn.hooks import repeated
from typednn.kernels.dropout import cpu, reference
from typednn.kernels.op import Engine, op

# Forward and backward: each number by the same factor.
dropout: Final = op(
    "dropout",
    reference.dropout,
    Engine("halide", cpu.dropout, "x", sizes=cpu.sizes),
    flops=2,
)


@repeated
def next_mask(seed: Any) -> tuple[int, int]:
    """A layer's key, and how many masks it drew before this one, which ``seed`` counts."""
    key, drawn = seed[0].item(), seed[1].item()
    seed[1] += 1
    return key, drawn


__all__ = ["dropout", "next_mask"]
