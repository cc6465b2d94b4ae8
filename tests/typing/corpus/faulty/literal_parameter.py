"""A size by a parameter of a Literal type, and a layer that reads another."""

from typing import Literal

import numpy as np

from typednn import Input, Module
from typednn.layers import Linear, ReLU


def build(width: Literal[64]) -> Module:
    return Input(8) >> Linear(8, width) >> ReLU() >> Linear(32, 2)  # shape: expects 32 features, gets 64


if __name__ == "__main__":
    build(64).init(np.random.default_rng(0))
