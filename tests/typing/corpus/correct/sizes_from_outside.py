"""Sizes that come from the command line and from JSON: unknown to a checker, and right."""

import argparse
import json
from typing import Any

import numpy as np

from typednn import Input
from typednn.layers import Linear, ReLU


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden", type=int, default=32)
    args = parser.parse_args(arguments)
    config: dict[str, Any] = json.loads('{"classes": 4, "layer": {"in_features": 4, "out_features": 2}}')
    hidden: int = args.hidden
    classes = config["classes"]
    model = Input(8) >> Linear(8, args.hidden) >> ReLU() >> Linear(hidden, classes) >> Linear(4, 4) >> Linear(**config["layer"])
    model.init(np.random.default_rng(0))
    print(model.forward(np.ones((2, 8), np.float32)).shape)


if __name__ == "__main__":
    main(["--hidden", "16"])
