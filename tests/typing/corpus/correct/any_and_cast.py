"""What a checker cannot follow: Any, cast, getattr, sizes out of strings."""

from typing import Any, cast

import numpy as np
from jaxtyping import Float

from typednn import Array2, layers
from typednn.layers import Linear

rng = np.random.default_rng(0)
kind: Any = getattr(layers, "Lin" + "ear")
made = kind(7, 5).init(rng)
sized = Linear(cast(Any, "7").__len__() + 4, int("3"), rng=rng)
untyped: Any = Linear(3, 2, rng=rng)


def relabelled(x: object) -> object:
    return x


def forward(x: Float[Array2, "batch 7"]) -> Float[Array2, "batch 2"]:
    h = made.forward(x)
    h = sized.forward(h)
    h = cast("Array2", next(map(relabelled, [h])))
    y: Array2 = untyped.forward(h)
    return y


if __name__ == "__main__":
    print(forward(np.ones((2, 7), np.float32)).shape)
