"""A layer that may be None, and early returns."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, Softmax
from typednn.random import Rng


class Classifier:
    softmax: Softmax | None
    extra: Linear | None = None

    def __init__(self, rng: Rng, probabilities: bool, extra: bool) -> None:
        self.fc = Linear(6, 3, rng=rng)
        self.softmax = Softmax() if probabilities else None
        if extra:
            self.extra = Linear(3, 3, rng=rng)

    def forward(self, x: Float[Array2, "batch 6"]) -> Float[Array2, "batch 3"]:
        scores = self.fc(x)
        if self.extra is not None:
            scores = self.extra(scores)
        if self.softmax is None:
            return scores
        return self.softmax(scores)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    for probabilities in (True, False):
        print(Classifier(rng, probabilities, not probabilities).forward(np.ones((2, 6), np.float32)).shape)
