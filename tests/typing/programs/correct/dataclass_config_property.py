"""A transformer's configuration with a computed size of each head."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from typednn import Array3, Input, Layer
from typednn.layers import GLU, LayerNorm, MultiHeadAttention, Residual, SequenceLinear


@dataclass(frozen=True)
class Config:
    heads: int = 4
    head_size: int = 8
    expansion: int = 2

    @property
    def width(self) -> int:
        return self.heads * self.head_size

    @property
    def inner(self) -> int:
        return 2 * self.expansion * self.width


def block(config: Config) -> Layer[Array3, Array3, Any]:
    attention = Residual(LayerNorm(config.width) >> MultiHeadAttention(config.width, config.heads))
    gate = SequenceLinear(config.width, config.inner) >> GLU()
    back = SequenceLinear(config.expansion * config.width, config.width)
    return attention >> Residual(gate >> back)


model = Input(6, 32) >> block(Config())

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.random((2, 6, 32)).astype(np.float32)).shape)
