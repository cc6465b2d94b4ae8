"""Attention whose joined heads have heads * size = 96 features, and whose last map reads 64."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array3, Gradient, Input, Layer, S
from typednn.layers import Linear, PerPosition


@dataclass(frozen=True)
class MixGrad(Gradient):
    input: Float[Array3, "batch time features"]


class Mix(Layer[Array3, Array3, MixGrad, S]):
    """The mean over time, in heads; no parameters."""

    def __init__(self, heads: int, size: int) -> None:
        self.heads, self.size = heads, size

    def forward(self, x: Float[Array3, "batch time {self.heads}*{self.size}"]) -> Float[Array3, "batch time {self.heads}*{self.size}"]:
        return np.broadcast_to(x.mean(axis=1, keepdims=True), x.shape)

    def backward(self, next_grad: Float[Array3, "batch time {self.heads}*{self.size}"]) -> MixGrad:
        return MixGrad(np.broadcast_to(next_grad.mean(axis=1, keepdims=True), next_grad.shape))


model = Input(10, 96) >> Mix(heads=6, size=16) >> PerPosition(Linear(64, 64))  # shape: expects 64 features, gets 96
