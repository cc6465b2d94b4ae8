"""Models, by their sizes."""

from typing import Any

from package_factories import sizes
from typednn.layers import Linear, ReLU


def make_mlp(inputs: int, outputs: int, hidden: int = sizes.HIDDEN) -> Any:
    first = Linear(inputs, hidden)
    return first >> ReLU() >> Linear(hidden, outputs)
