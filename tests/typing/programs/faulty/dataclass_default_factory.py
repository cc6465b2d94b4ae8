"""A dataclass whose default head reads eight features of a body that gives six."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, SiLU

rng = np.random.default_rng(0)


@dataclass
class Net:
    body: Linear = field(default_factory=lambda: Linear(4, 6, rng=rng))
    act: SiLU = field(default_factory=SiLU)
    head: Linear = field(default_factory=lambda: Linear(8, 2, rng=rng))  # shape

    def forward(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
        h = self.act.forward(self.body.forward(x))
        return self.head.forward(h)  # meets


if __name__ == "__main__":
    net = Net()
    print(net.forward(np.zeros((3, 4), np.float32)).shape)
