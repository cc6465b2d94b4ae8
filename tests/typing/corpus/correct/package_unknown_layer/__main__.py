"""A model around the stack."""

import numpy as np

from package_unknown_layer.parts import body
from typednn import Input
from typednn.layers import Linear

model = Input(4) >> body >> Linear(8, 2)

if __name__ == "__main__":
    print(model.init(np.random.default_rng(0)).forward(np.ones((3, 4), np.float32)).shape)
