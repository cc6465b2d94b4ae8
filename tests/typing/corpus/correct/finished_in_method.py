"""A layer that a method puts in the place of the constructor's."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear

rng = np.random.default_rng(0)


class Classifier:
    def __init__(self) -> None:
        self.head = Linear(4, 100, rng=rng)

    def for_classes(self, classes: int) -> None:
        self.head = Linear(4, classes, rng=rng)

    def forward(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 10"]:
        return self.head.forward(x)


if __name__ == "__main__":
    classifier = Classifier()
    classifier.for_classes(10)
    print(classifier.forward(np.ones((2, 4), np.float32)).shape)
