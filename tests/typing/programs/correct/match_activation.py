"""Activations by name, in a match statement."""

from typing import Any

import numpy as np

from typednn.layers import GLU, SequenceLinear, SiLU, Tanh


def activation(name: str) -> Any:
    match name:
        case "silu" | "swish":
            return SiLU()
        case "tanh":
            return Tanh()
        case "glu":
            return GLU()
        case other:
            raise ValueError(other)


plain = SequenceLinear(10, 32) >> activation("swish") >> SequenceLinear(32, 10)
gated = SequenceLinear(10, 32) >> activation("glu") >> SequenceLinear(16, 10)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x = rng.random((2, 5, 10)).astype(np.float32)
    for model in (plain, gated):
        model.init(rng)
        print(model.forward(x).shape)
