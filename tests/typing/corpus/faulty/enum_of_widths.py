"""Widths from an IntEnum: the second layer expects the wide one."""

from enum import IntEnum

import numpy as np

from typednn.layers import Linear, ReLU


class Width(IntEnum):
    NARROW = 12
    WIDE = 48


model = Linear(20, Width.NARROW) >> ReLU() >> Linear(Width.WIDE, 2)  # shape: expects 48 features, gets 12

if __name__ == "__main__":
    print(model.init(np.random.default_rng(0)).forward(np.zeros((3, 20), np.float32)).shape)
