"""A layer whose size is changed after it was built and before it is filled."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Layer, S
from typednn.layers import Linear


@dataclass(frozen=True)
class CropGrad(Gradient):
    input: Float[Array2, "batch features"]


class Crop(Layer[Array2, Array2, CropGrad, S]):
    def __init__(self, features: int, keep: int) -> None:
        self.features, self.keep = features, keep

    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.keep}"]:
        return x[:, : self.keep]

    def backward(self, next_grad: Float[Array2, "batch {self.keep}"]) -> CropGrad:
        return CropGrad(np.pad(next_grad, ((0, 0), (0, self.features - self.keep))))


crop = Crop(10, 4)
crop.keep = 6
linear = Linear(4, 4)
linear.in_features = 6
model = Linear(3, 10) >> crop >> linear

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(np.ones((2, 3), np.float32)).shape)
