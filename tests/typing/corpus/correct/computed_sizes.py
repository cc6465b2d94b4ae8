"""Sizes from len, min, max, int, a comprehension, a conditional expression and a flag."""

import numpy as np

from typednn import Input
from typednn.layers import Linear, ReLU

names = ["left", "right", "up"]
classes = len(names)
narrow = min(64, 4 * classes)
with_bias = True
extra = classes + int(with_bias)
half = narrow // 2 if narrow % 2 == 0 else narrow
ratio = round(0.75 * narrow)
wide = max(size for size in (narrow, half, extra))

model = Input(5) >> Linear(5, narrow) >> ReLU() >> Linear(12, half) >> Linear(6, extra) >> Linear(4, ratio) >> Linear(9, wide)
last = model >> Linear(12, 2 ** (classes - 1)) >> Linear(4, -(-7 // 2)) >> Linear(4, classes)

if __name__ == "__main__":
    print(last.init(np.random.default_rng(0)).forward(np.ones((2, 5), np.float32)).shape)
