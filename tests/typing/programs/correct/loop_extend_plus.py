"""A list of sizes that grows by +=, and a net of neighbours in it."""

import numpy as np

from typednn.layers import BatchNorm1d, Linear, ReLU

sizes = [11]
sizes += [40, 20]
sizes += [2]

body = Linear(sizes[0], sizes[1]) >> BatchNorm1d(sizes[1]) >> ReLU() >> Linear(sizes[1], sizes[2])
model = body >> BatchNorm1d(sizes[2]) >> ReLU() >> Linear(sizes[2], sizes[3])

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.random((4, 11)).astype(np.float32)).shape)
