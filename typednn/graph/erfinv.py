"""erfinv: the number of which the error function is x, as a whole node.

erfinv x = Φ⁻¹((1 + x)/2)/√2        d erfinv/dx = √π/2·exp(erfinv² x)

∞ at 1, -∞ at -1, NaN beyond. Three quotients of polynomials of degree 7, in float64: relative errors of about 1e-16,
also near ±1. Nothing is kept for the derivative, which computes the function again. Source: Wichura, "The Percentage
Points of the Normal Distribution" (AS 241, PPND16), 1988.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, final

import numpy as np

from typednn.arrays import namespace
from typednn.graph.custom import Function
from typednn.graph.elementwise import exp
from typednn.graph.operands import checked
from typednn.graph.tensor import D2 as D
from typednn.graph.tensor import R2 as R
from typednn.graph.tensor import AnyTensor, Tensor

# Of each quotient the factors above and below, of the highest power first.
_MIDDLE: Final = (
    (
        2509.0809287301226727,
        33430.575583588128105,
        67265.770927008700853,
        45921.953931549871457,
        13731.693765509461125,
        1971.5909503065514427,
        133.14166789178437745,
        3.387132872796366608,
    ),
    (
        5226.495278852854561,
        28729.085735721942674,
        39307.89580009271061,
        21213.794301586595867,
        5394.1960214247511077,
        687.1870074920579083,
        42.313330701600911252,
        1.0,
    ),
)
_TAIL: Final = (
    (
        7.7454501427834140764e-4,
        0.0227238449892691845833,
        0.24178072517745061177,
        1.27045825245236838258,
        3.64784832476320460504,
        5.7694972214606914055,
        4.6303378461565452959,
        1.42343711074968357734,
    ),
    (
        1.05075007164441684324e-9,
        5.475938084995344946e-4,
        0.0151986665636164571966,
        0.14810397642748007459,
        0.68976733498510000455,
        1.6763848301838038494,
        2.05319162663775882187,
        1.0,
    ),
)
_FAR: Final = (
    (
        2.01033439929228813265e-7,
        2.71155556874348757815e-5,
        0.0012426609473880784386,
        0.026532189526576123093,
        0.29656057182850489123,
        1.7848265399172913358,
        5.4637849111641143699,
        6.6579046435011037772,
    ),
    (
        2.04426310338993978564e-15,
        1.4215117583164458887e-7,
        1.8463183175100546818e-5,
        7.868691311456132591e-4,
        0.0148753612908506148525,
        0.13692988092273580531,
        0.59983220655588793769,
        1.0,
    ),
)


def _quotient(factors: tuple[Sequence[float], Sequence[float]], r: Any) -> Any:
    above, below = (reduce(lambda value, factor: value * r + factor, each) for each in factors)
    return above / below


@final
@dataclass(frozen=True)
class _ErfInv(Function):
    @property
    def name(self) -> str:
        return "erfinv"

    def forward(self, *arrays: Any) -> Any:
        (given,) = arrays
        xp: Any = namespace(given)
        with np.errstate(all="ignore"):
            x = given.astype(np.float64)
            q = x / 2
            r = xp.sqrt(-xp.log((1 - xp.abs(x)) / 2))
            tail = xp.where(r <= 5, _quotient(_TAIL, r - 1.6), _quotient(_FAR, r - 5))
            tail = xp.where(xp.abs(x) == 1, math.inf, tail)
            y = xp.where(xp.abs(q) <= 0.425, q * _quotient(_MIDDLE, 0.180625 - q * q), xp.copysign(tail, x))
            return xp.asarray(y / math.sqrt(2)).astype(given.dtype)

    def backward(self, next_grad: AnyTensor, *inputs: AnyTensor) -> AnyTensor:
        y = self(inputs[0])
        return next_grad * (exp(y * y) * (math.sqrt(math.pi) / 2))


def erfinv(x: Tensor[R, D]) -> Tensor[R, D]:
    """The number of which the error function is x."""
    return _ErfInv()(checked("erfinv", x, floats=True))
