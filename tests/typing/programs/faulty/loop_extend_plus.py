"""A list of sizes that grows by +=, where the classes are read at the wrong index."""

import numpy as np

from typednn.layers import BatchNorm1d, Linear, ReLU

sizes = [11]
sizes += [40, 20]
sizes += [2]

body = Linear(sizes[0], sizes[1]) >> BatchNorm1d(sizes[1]) >> ReLU() >> Linear(sizes[1], sizes[2])
model = body >> BatchNorm1d(sizes[2]) >> ReLU() >> Linear(sizes[1], sizes[3])  # shape

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.random((4, 11)).astype(np.float32)).shape)
