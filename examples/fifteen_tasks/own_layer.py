"""A layer of one's own, kept in a config: y = x * scale, one scale for each feature."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from typednn import (
    Array1,
    Array2,
    Gradient,
    GraphLayer,
    Input,
    Parameter,
    S,
    config,
    data,
    layers,
    losses,
    optim,
    training,
)
from typednn.graph import Tensor2


@dataclass(frozen=True, slots=True)
class ScaleGrad(Gradient):
    """The loss's derivatives."""

    input: Float[Array2, "batch features"]
    scale: Float[Array1, " features"]


@config.register("Scale")
class Scale(GraphLayer[Array2, Array2, ScaleGrad, S]):
    """Multiplies each feature by a number that is learnt."""

    scale: Parameter[Float[Array1, " {self.features}"]]

    def __init__(self, features: int) -> None:
        self.features = features
        self.initialise_with(scale="ones")

    def formula(self, x: Float[Tensor2, "batch {self.features}"]) -> Float[Tensor2, "batch {self.features}"]:
        """Of which the graph knows the derivatives."""
        return x * self.scale


Path("model.toml").write_text(config.dumps(Input(4) >> Scale(4) >> layers.Linear(4, 3)))
again = config.load("model.toml").model()
rng = np.random.default_rng(0)
x = rng.standard_normal((300, 4), np.float32)
y = x[:, :3].argmax(1)
again.init(rng)
training.fit(
    again,
    losses.SoftmaxCrossEntropy(),
    optim.SGD(0.1).bind(again),
    data.Loader(x, y, batch_size=20, rng=rng),
    epochs=20,
    progress=False,
)
print("accuracy", (training.evaluate(again, x).argmax(1) == y).mean())
