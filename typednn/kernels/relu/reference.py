"""ReLU: what is negative becomes zero.

y = max(x, 0)       dx = dy where x > 0, else 0 (so 0 at x = 0)

Any shape, kept. One comparison per element.
Source: "Deep Learning Implementation With Rust", eqs 30-31.
"""

from __future__ import annotations

from typing import TypeVar

from typednn.arrays import AnyArray, namespace

P = TypeVar("P", bound=AnyArray)


def forward(x: P) -> P:
    """y, shaped like x."""
    y: P = namespace(x).maximum(x, 0)
    return y


def backward(next_grad: P, x: AnyArray) -> P:
    """dx, shaped like x."""
    # Not dy * (x > 0): an infinite dy must not become NaN where it does not pass.
    dx: P = namespace(x).where(x > 0, next_grad, 0)
    return dx
