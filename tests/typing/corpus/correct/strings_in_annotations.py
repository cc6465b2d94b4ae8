"""Annotations with strings that are no axes."""

from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear

fc = Linear(4, 4, rng=np.random.default_rng(0))


def turned(mode: Literal["4", "5"], x: Float[Array2, "batch 4"]) -> Literal["5", "4"]:
    fc.forward(x)
    return mode


def named(layers: dict[str, "Linear"], others: Mapping[str, "Linear"]) -> Mapping[str, "Linear"]:
    fc.forward(np.ones((2, 4), np.float32))
    return {**layers, **others}


def area(height: Annotated[int, "in pixels"], width: Annotated[int, "4"]) -> Annotated[int, "square pixels"]:
    print(Linear(height, width) >> Linear(width, height))
    return height * width


if __name__ == "__main__":
    print(turned("5", np.ones((2, 4), np.float32)), named({"a": fc}, {"b": fc}), area(4, 5))
