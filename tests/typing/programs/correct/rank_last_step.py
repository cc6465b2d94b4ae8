"""The last state of a sequence, through a layer that may be there."""

import numpy as np
from jaxtyping import Float

from typednn import AnyArray, Array3
from typednn.layers import LSTM, Linear
from typednn.random import Rng


class Encoder:
    def __init__(self, rng: Rng, project: Linear | None = None) -> None:
        self.lstm = LSTM(5, 11, rng=rng)
        self.project = project

    def forward(self, x: Float[Array3, "batch time 5"]) -> Float[AnyArray, "batch 11"]:
        states = self.lstm.forward(x)
        last: AnyArray = states[:, -1]
        if self.project is None:
            return last
        return self.project.forward(states[:, -1])


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x = rng.random((2, 6, 5)).astype(np.float32)
    print(Encoder(rng).forward(x).shape, Encoder(rng, Linear(11, 11, rng=rng)).forward(x).shape)
