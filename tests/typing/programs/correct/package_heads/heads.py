"""Two heads."""

from jaxtyping import Float

from package_heads.base import Head
from typednn import Array2
from typednn.layers import Softmax
from typednn.random import Rng


class Scores(Head):
    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.classes}"]:
        return self.fc.forward(x)


class Probabilities(Scores):
    def __init__(self, rng: Rng) -> None:
        super().__init__(20, 5, rng)
        self.softmax = Softmax()

    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.classes}"]:
        return self.softmax.forward(super().forward(x))
