"""The wrong member of an IntEnum of sizes."""

from enum import IntEnum

import numpy as np

from typednn import Input
from typednn.layers import Linear, ReLU


class Size(IntEnum):
    FEATURES = 20
    HIDDEN = 50
    CODE = 5
    CLASSES = 3


encoder = Linear(Size.FEATURES, Size.HIDDEN) >> ReLU() >> Linear(Size.HIDDEN, Size.CODE)
model = Input(20) >> encoder >> ReLU() >> Linear(Size.HIDDEN, Size.CLASSES)  # shape

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.random((3, 20)).astype(np.float32)).shape)
