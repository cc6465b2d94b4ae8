"""A function that gives a function which makes layers of one width."""

from collections.abc import Callable

import numpy as np

from typednn import Input
from typednn.layers import LayerNorm, Linear, Tanh


def from_width(width: int) -> Callable[[int], Linear]:
    def layer(outputs: int) -> Linear:
        return Linear(width, outputs)

    return layer


from_eight = from_width(8)
from_thirty = from_width(30)

model = Input(8) >> from_eight(30) >> LayerNorm(30) >> Tanh() >> from_thirty(8) >> from_eight(1)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.random((3, 8)).astype(np.float32)).shape)
