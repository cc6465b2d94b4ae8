"""A model whose layers are in a dictionary."""

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, ReLU
from typednn.losses import MSE
from typednn.optim import Adam
from typednn.random import Rng


class Model:
    def __init__(self, rng: Rng) -> None:
        self.relu = ReLU()
        self.linears = {
            "in": Linear(5, 16, rng=rng),
            "skip": Linear(5, 1, rng=rng),
            "out": Linear(16, 1, rng=rng),
        }

    def forward(self, x: Float[Array2, "batch 5"]) -> Float[Array2, "batch 1"]:
        h = self.relu.forward(self.linears["in"].forward(x))
        return self.linears["out"].forward(h) + self.linears["skip"].forward(x)

    def learn(self, optimizer: Adam, x: Float[Array2, "batch 5"], y: Float[Array2, "batch 1"]) -> float:
        scores = self.forward(x)
        grad = MSE().loss_grad(scores, y)
        self.linears["out"].update(optimizer, self.linears["out"].backward(grad))
        return MSE().loss(scores, y)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model, optimizer = Model(rng), Adam(lr=0.01)
    print(model.learn(optimizer, np.ones((3, 5), np.float32), np.ones((3, 1), np.float32)))
