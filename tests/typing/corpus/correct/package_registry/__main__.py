"""The model from its description."""

import json

import numpy as np

from package_registry import sizes
from package_registry.builders import BUILDERS
from typednn import Input, Sequential
from typednn.layers import Linear

TEXT = '[["dense", {"inputs": 6, "outputs": 9}], ["activation", {"name": "tanh"}], ["dense", {"inputs": 9, "outputs": 2, "bias": false}]]'


def main() -> None:
    sizes.configure(6)
    rng = np.random.default_rng(0)
    described = Sequential([BUILDERS[name](**options) for name, options in json.loads(TEXT)])
    written = Input(6) >> Linear(sizes.FEATURES, sizes.hidden) >> Linear(9, 2)
    x = np.ones((2, 6), np.float32)
    print(described.init(rng).forward(x).shape, written.init(rng).forward(x).shape)


if __name__ == "__main__":
    main()
