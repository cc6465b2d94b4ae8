"""The property that counts an image's pixels forgets the channels."""

from typing import NamedTuple

import numpy as np

from typednn import Input
from typednn.layers import Flatten, Linear, ReLU


class Image(NamedTuple):
    height: int
    width: int
    channels: int

    @property
    def pixels(self) -> int:
        return self.height * self.width  # shape


photo = Image(12, 16, 3)
model = Input(*photo) >> Flatten() >> Linear(photo.pixels, 20) >> ReLU() >> Linear(20, 2)  # meets

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.random((3, *photo)).astype(np.float32)).shape)
