"""A generic function in the new notation, which gives its layer back."""

import numpy as np

from typednn import Input, Module
from typednn.layers import Linear, ReLU

count = 0


def counted[M: Module](layer: M) -> M:
    global count
    count += layer.num_parameters()
    return layer


model = Input(15) >> counted(Linear(15, 60)) >> ReLU() >> counted(Linear(60, 5))

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.random((2, 15)).astype(np.float32)).shape, count)
