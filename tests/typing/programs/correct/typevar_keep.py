"""A function that notes each layer in a list and gives it back."""

from typing import Any, TypeVar

import numpy as np

from typednn import Input
from typednn.layers import Linear, ReLU

L = TypeVar("L")

noted: dict[str, Any] = {}


def keep(name: str, layer: L) -> L:
    noted[name] = layer
    return layer


model = Input(20) >> keep("first", Linear(20, 40)) >> ReLU() >> keep("second", Linear(40, 30)) >> ReLU() >> keep("head", Linear(30, 4))

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.standard_normal((3, 20)).astype(np.float32)).shape)
    print({name: layer.num_parameters() for name, layer in noted.items()})
