"""A configuration of configurations, with defaults of their own."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, ReLU
from typednn.random import Rng


@dataclass
class TrunkConfig:
    features: int = 13
    width: int = 50


@dataclass
class HeadConfig:
    inputs: int = 50
    outputs: int = 1


@dataclass
class ModelConfig:
    trunk: TrunkConfig = field(default_factory=TrunkConfig)
    head: HeadConfig = field(default_factory=HeadConfig)


class Regressor:
    def __init__(self, config: ModelConfig, rng: Rng) -> None:
        self.trunk = (Linear(config.trunk.features, config.trunk.width) >> ReLU()).init(rng)
        self.head = Linear(config.head.inputs, config.head.outputs, rng=rng)

    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch outputs"]:
        return self.head.forward(self.trunk.forward(x))


if __name__ == "__main__":
    model = Regressor(ModelConfig(), np.random.default_rng(0))
    print(model.forward(np.zeros((4, 13), np.float32)).shape)
