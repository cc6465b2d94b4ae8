"""An optimizer's step with momentum."""

from typing import Any

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2


class Momentum:
    def __init__(self, lr: float, momentum: float) -> None:
        self.lr, self.momentum = lr, momentum

    def step(
        self, weights: Float[Array2, "rows columns"], grad: Float[Array2, "rows columns"], velocity: Float[Array1, " rows"] | None = None
    ) -> None:
        moved: Any = np.zeros(weights.shape)
        moved += grad
        weights -= self.lr * self.momentum * moved


if __name__ == "__main__":
    weights = np.ones((7, 5))
    Momentum(0.1, 0.9).step(weights, np.ones((7, 5)))
    print(weights.shape)
