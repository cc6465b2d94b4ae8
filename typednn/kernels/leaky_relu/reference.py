"""LeakyReLU: what is negative is scaled by a given slope.

y = x where x > 0, else slope·x         dx = dy where x > 0, else slope·dy

Any shape, kept. One comparison and one product per element.
Source: Maas, Hannun and Ng, "Rectifier Nonlinearities Improve Neural Network Acoustic Models", 2013.
"""

from __future__ import annotations

from typing import TypeVar

from typednn.arrays import AnyArray, namespace

P = TypeVar("P", bound=AnyArray)


def forward(x: P, negative_slope: float) -> P:
    """y, shaped like x."""
    y: P = namespace(x).where(x > 0, x, negative_slope * x)
    return y


def backward(next_grad: P, x: AnyArray, negative_slope: float) -> P:
    """dx, shaped like x."""
    dx: P = namespace(x).where(x > 0, next_grad, negative_slope * next_grad)
    return dx
