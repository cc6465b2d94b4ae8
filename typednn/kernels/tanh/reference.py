"""Tanh: any number into the interval from -1 to 1.

y = tanh(x)         dx = dy·(1 - y²)

Any shape, kept. One tanh per element, two products backward.
Where rounding makes the slope 0, an infinite dy stays infinite: the last digit of y must not decide between infinity and NaN.
"""

from __future__ import annotations

from typing import Any, TypeVar

from typednn.arrays import AnyArray, namespace

P = TypeVar("P", bound=AnyArray)


def forward(x: P) -> P:
    """y, shaped like x."""
    y: P = namespace(x).tanh(x)
    return y


def backward(next_grad: P, y: AnyArray) -> P:
    """dx, from what `forward` gave."""
    slope: Any = 1 - y * y
    xp = namespace(y)
    dx: P = next_grad * xp.where((slope == 0) & xp.isinf(next_grad), 1, slope)
    return dx
