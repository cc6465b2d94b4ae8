"""Sigmoid: any number into the interval from 0 to 1.

y = 1 / (1 + exp(-x))       dx = dy·y·(1 - y)

Any shape, kept. One exponential per element; only that of -|x| is taken, which cannot overflow.
Where rounding makes the slope 0, an infinite dy stays infinite: the last digit of y must not decide between infinity and NaN.
Source: "Deep Learning Implementation With Rust", eqs 32-33.
"""

from __future__ import annotations

from typing import Any, TypeVar

from typednn.arrays import AnyArray, namespace

P = TypeVar("P", bound=AnyArray)


def forward(x: P) -> P:
    """y, shaped like x."""
    xp = namespace(x)
    decay = xp.exp(-abs(x))
    y: P = xp.where(x >= 0, 1, decay) / (1 + decay)
    return y


def backward(next_grad: P, y: AnyArray) -> P:
    """dx, from what `forward` gave."""
    slope: Any = y * (1 - y)
    xp = namespace(y)
    dx: P = next_grad * xp.where((slope == 0) & xp.isinf(next_grad), 1, slope)
    return dx
