"""A tied layer: the same square weights at two places of one stack."""

import numpy as np

from typednn import Input
from typednn.layers import Linear, ReLU

square = Linear(16, 16)
model = Input(8) >> Linear(8, 16) >> square >> ReLU() >> square.shared() >> Linear(16, 2)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    scores = model.forward(rng.standard_normal((3, 8)).astype(np.float32))
    print(model.backward(scores).input.shape, model.num_parameters())
