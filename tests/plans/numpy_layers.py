"""Layers as users write them, that compute by NumPy and decide by numbers: plans call them as a whole."""

from dataclasses import dataclass
from typing import Any, cast, final

import numpy as np
from jaxtyping import Float

from typednn import Array1, Elementwise, ElementwiseGrad, Gradient, Kept, Parameter
from typednn.arrays import AnyArray
from typednn.layer import A
from typednn.layers import Dropout, Linear


@final
@dataclass(frozen=True, slots=True)
class ScaledGrad(Gradient):
    """The derivative by the parameter."""

    scale: Float[Array1, "1"]


class Scaled(Elementwise[ScaledGrad]):
    """x·scale; keeps x."""

    scale: Parameter[Float[Array1, "1"]]
    _x: Kept[Float[AnyArray, "*shape"]]

    def __init__(self) -> None:
        self.initialise_with(scale="ones")

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        self._x = x
        return cast("A", np.multiply(x, self.scale[0]))

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, ScaledGrad]:
        given: Any = next_grad
        dscale = (given * self._x).sum().reshape(1).astype(given.dtype)
        return ElementwiseGrad(cast("A", given * self.scale[0]), ScaledGrad(dscale))


@final
class ScaledOrNot(Scaled):
    """x·scale where the first number is positive; else x itself, and next_grad itself."""

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        self._x = x
        given: Any = x
        return super().forward(x) if given.flat[0] > 0 else x

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, ScaledGrad]:
        if self._x.flat[0] > 0:
            return super().backward(next_grad)
        return ElementwiseGrad(next_grad, ScaledGrad(np.zeros_like(self.scale)))


@final
@dataclass(frozen=True, slots=True)
class GatedGrad(Gradient):
    """The gradients of the parts."""

    linear: Any
    drop: Any


@final
class Gated(Elementwise[GatedGrad]):
    """Rows and images: dropout and an affine map of typednn within lines of NumPy; counts its calls."""

    _slope: Kept[Float[AnyArray, "rows features"]]

    def __init__(self, features: int) -> None:
        self.linear: Linear = Linear(features, features)
        self.drop: Dropout = Dropout(0.3)
        self.calls = 0

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        self.calls += 1
        given: Any = x
        rows = self.linear.forward(given.reshape(-1, given.shape[-1]))
        y: Any = self.drop.forward(np.tanh(rows)).reshape(given.shape) + given
        self._slope = 1 - np.square(np.tanh(rows))
        return cast("A", y)

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, GatedGrad]:
        given: Any = next_grad
        dropped = self.drop.backward(given.reshape(-1, given.shape[-1]))
        linear = self.linear.backward(dropped.input * self._slope)
        dx: Any = linear.input.reshape(given.shape) + given
        return ElementwiseGrad(cast("A", dx), GatedGrad(linear, dropped))
