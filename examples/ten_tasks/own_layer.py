"""A layer of one's own, in a config: y = x * scale, one scale for each feature."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2, Gradient, Input, Kept, Layer, Parameter, S, config, data, losses, training
from typednn.layers import Linear


@dataclass(frozen=True, slots=True)
class ScaleGrad(Gradient):
    """The loss's derivatives."""

    input: Float[Array2, "batch features"]
    scale: Float[Array1, "features"]


@config.register("Scale")
class Scale(Layer[Array2, Array2, ScaleGrad, S]):
    """Multiplies each feature by a number that is learnt."""

    scale: Parameter[Float[Array1, "{self.features}"]]
    _x: Kept[Float[Array2, "batch {self.features}"]]

    def __init__(self, features: int) -> None:
        self.features = features
