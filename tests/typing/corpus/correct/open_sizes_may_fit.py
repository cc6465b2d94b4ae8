"""Stacks whose height and width are open: 402 is a multiple of 6, so nobody can know yet."""

import numpy as np

from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, Pad2d

model = Conv2d(1, 6, 5) >> MaxPool2d(2) >> Flatten() >> Linear(96, 10)
wide = Conv2d(1, 6, 5) >> MaxPool2d(2) >> Flatten() >> Linear(402, 10)
padded = Pad2d((1, 2, 3, 4)) >> Conv2d(3, 8, (3, 5), stride=2) >> Flatten() >> Linear(8, 2)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.standard_normal((3, 12, 12, 1)).astype(np.float32)).shape)
    print(wide.num_parameters(), padded.num_parameters())
