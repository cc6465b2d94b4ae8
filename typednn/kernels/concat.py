"""Join and split: an array of parts, one after another along an axis, and the parts of one.

join: y = [x_0, x_1, …]       split: the x_i, each with one of ``sizes`` along the axis

Any shape; the parts agree in all other axes. No arithmetic. Join copies; so does split, but along the first axis its
parts are views. All are arrays without gaps, as kernels read them.
"""

from itertools import accumulate
from typing import Any, Final

from typednn.arrays import namespace
from typednn.kernels.op import op


def _join(axis: int, *parts: Any) -> Any:
    """The parts, one after another along ``axis``."""
    return namespace(parts[0]).concatenate(parts, axis=axis)


def _split(axis: int, x: Any, sizes: tuple[int, ...]) -> tuple[Any, ...]:
    """The parts of ``x`` along ``axis``, each with one of ``sizes``."""
    xp, before, ends = namespace(x), (slice(None),) * (axis % x.ndim), accumulate(sizes)
    return tuple(
        xp.ascontiguousarray(x[(*before, slice(end - size, end))]) for size, end in zip(sizes, ends, strict=True)
    )


join: Final = op("join", _join, flops=0)
split: Final = op("split", _split, flops=0)
