"""Self-attention with heads as a Layer of four affine maps, checked per position."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from typednn import AnyArray, Array3, Gradient, Kept, Layer, S
from typednn.layers import Linear, LinearGrad, PerPosition, PerPositionGrad


@dataclass(frozen=True)
class AttentionGrad(Gradient):
    input: Float[Array3, "batch time features"]
    q: PerPositionGrad[LinearGrad]
    k: PerPositionGrad[LinearGrad]
    v: PerPositionGrad[LinearGrad]
    out: PerPositionGrad[LinearGrad]


class Attention(Layer[Array3, Array3, AttentionGrad, S]):
    _heads: Kept[tuple[Any, Any, Any, Any]]

    def __init__(self, features: int, heads: int) -> None:
        self.features, self.heads, self.size = features, heads, features // heads
        self.q, self.k, self.v = (PerPosition(Linear(features, features)) for _ in range(3))
        self.out = PerPosition(Linear(features, features))

    def split(self, x: Float[AnyArray, "batch time {self.features}"]) -> Float[AnyArray, "batch {self.heads} time {self.size}"]:
        batch, time = x.shape[:2]
        return x.reshape(batch, time, self.heads, self.size).transpose(0, 2, 1, 3)

    def join(self, x: Float[AnyArray, "batch {self.heads} time {self.size}"]) -> Float[Array3, "batch time {self.features}"]:
        batch, _, time, _ = x.shape
        return x.transpose(0, 2, 1, 3).reshape(batch, time, self.features)

    def forward(self, x: Float[Array3, "batch time {self.features}"]) -> Float[Array3, "batch time {self.features}"]:
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores: Any = q @ k.swapaxes(-1, -2) * self.size**-0.5
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = scores / scores.sum(axis=-1, keepdims=True)
        self._heads = (q, k, v, weights)
        return self.out(self.join(weights @ v))

    def backward(self, next_grad: Float[Array3, "batch time {self.features}"]) -> AttentionGrad:
        q, k, v, weights = self._heads
        out = self.out.backward(next_grad)
        mixed = self.split(out.input)
        d_weights = mixed @ v.swapaxes(-1, -2)
        d_scores = weights * (d_weights - (d_weights * weights).sum(axis=-1, keepdims=True)) * self.size**-0.5
        d_v = self.v.backward(self.join(weights.swapaxes(-1, -2) @ mixed))
        d_k = self.k.backward(self.join(d_scores.swapaxes(-1, -2) @ q))
        d_q = self.q.backward(self.join(d_scores @ k))
        return AttentionGrad(d_q.input + d_k.input + d_v.input, d_q, d_k, d_v, out)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    layer = Attention(12, heads=3).init(rng)
    y = layer.forward(rng.standard_normal((2, 5, 12)).astype(np.float32))
    print(layer.backward(y).q.inner.weight.shape)
