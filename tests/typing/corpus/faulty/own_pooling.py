"""A pooling layer of one's own rounds up: 5 x 3 x 2, not 4 x 3 x 2."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from typednn import Array4, Gradient, Input, Kept, Layer, S
from typednn.layers import Flatten, Linear


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


model = Input(9, 6, 2) >> EverySecond() >> Flatten() >> Linear(24, 2)  # shape: expects 24 features, gets 30
