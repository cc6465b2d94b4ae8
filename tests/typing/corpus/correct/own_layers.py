"""Layers of one's own: elementwise, a pooling with a floor, one that halves, one for squares alone."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from typednn import AnyArray, Array2, Array4, Elementwise, ElementwiseGrad, Gradient, Input, Kept, Layer, S
from typednn.layer import A
from typednn.layers import Flatten, Linear


class Softsign(Elementwise[None]):
    _x: Kept[Float[AnyArray, "*shape"]]

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        self._x = x
        below: Any = 1.0 + np.abs(x)
        y: A = x / below
        return y

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        x: Any = self._x
        dx: A = next_grad / (1.0 + np.abs(x)) ** 2
        return ElementwiseGrad(dx, None)


@dataclass(frozen=True)
class ImagesGrad(Gradient):
    input: Float[Array4, "batch height width channels"]


class EverySecond(Layer[Array4, Array4, ImagesGrad, S]):
    _shape: Kept[tuple[int, ...]]

    def forward(self, x: Float[Array4, "batch height width channels"]) -> Float[Array4, "batch (height+1)//2 (width+1)//2 channels"]:
        self._shape = x.shape
        return x[:, ::2, ::2]

    def backward(self, next_grad: Float[Array4, "batch rows columns channels"]) -> ImagesGrad:
        dx: Any = np.zeros(self._shape, next_grad.dtype)
        dx[:, ::2, ::2] = next_grad
        return ImagesGrad(dx)


class Turned(Layer[Array4, Array4, ImagesGrad, S]):
    """Height and width in each other's place."""

    def forward(self, x: Float[Array4, "batch height width channels"]) -> Float[Array4, "batch width height channels"]:
        return x.transpose(0, 2, 1, 3)

    def backward(self, next_grad: Float[Array4, "batch width height channels"]) -> ImagesGrad:
        return ImagesGrad(next_grad.transpose(0, 2, 1, 3))


@dataclass(frozen=True)
class RowsGrad(Gradient):
    input: Float[Array2, "batch features"]


class Halves(Layer[Array2, Array2, RowsGrad, S]):
    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features//2"]:
        return x[:, ::2] + x[:, 1::2]

    def backward(self, next_grad: Float[Array2, "batch half"]) -> RowsGrad:
        return RowsGrad(next_grad.repeat(2, axis=1))


body = Input(9, 6, 2) >> Softsign() >> EverySecond() >> Turned() >> EverySecond() >> Softsign()
model = body >> Flatten() >> Halves() >> Linear(6, 2)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    scores = model.init(rng).forward(np.ones((2, 9, 6, 2), np.float32))
    print(model.backward(scores).input.shape)
