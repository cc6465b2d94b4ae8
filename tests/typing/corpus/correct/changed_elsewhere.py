"""Attributes that closures, other functions, other names and class methods change, and lists that methods lengthen."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear

rng = np.random.default_rng(0)


class Deep:
    def __init__(self) -> None:
        self.layers = [Linear(4, 8, rng=rng)]

    def finish(self) -> "Deep":
        self.layers.append(Linear(8, 2, rng=rng))
        return self

    def forward(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
        for layer in self.layers:
            x = layer.forward(x)
        return x


class Headed:
    def __init__(self) -> None:
        self.head = Linear(4, 8, rng=rng)

    @classmethod
    def small(cls) -> "Headed":
        made = cls()
        made.head = Linear(4, 2, rng=rng)
        return made

    def forward(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
        return self.head.forward(x)


class Enclosed:
    def __init__(self) -> None:
        self.head = Linear(4, 8, rng=rng)

    def finish(self) -> "Enclosed":
        def change() -> None:
            self.head = Linear(4, 2, rng=rng)

        change()
        return self

    def forward(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
        return self.head.forward(x)


if __name__ == "__main__":
    x = np.ones((2, 4), np.float32)
    print(Deep().finish().forward(x).shape, Headed.small().forward(x).shape, Enclosed().finish().forward(x).shape)
