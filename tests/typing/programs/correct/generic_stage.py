"""A generic stage of a pipeline: a layer and, maybe, one for normalising."""

from typing import Any, Generic, TypeVar

import numpy as np
from jaxtyping import Float

from typednn import Array2, Layer
from typednn.layers import LayerNorm, Linear

L = TypeVar("L", bound=Layer[Array2, Array2, Any])


class Stage(Generic[L]):
    def __init__(self, layer: L, norm: LayerNorm | None = None) -> None:
        self.layer = layer
        self.norm = norm

    def __call__(self, x: Float[Array2, "batch features"]) -> Array2:
        y = self.layer.forward(x)
        return y if self.norm is None else self.norm.forward(y)


rng = np.random.default_rng(0)
first = Stage(Linear(9, 27, rng=rng), LayerNorm(27, rng=rng))
second = Stage(Linear(27, 3, rng=rng))

if __name__ == "__main__":
    x = rng.standard_normal((4, 9)).astype(np.float32)
    print(second(first(x)).shape)
