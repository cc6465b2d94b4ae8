"""Sizes that a constructor leaves in more than one way, a base's constructor, a property, and a class that was changed."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Layer, S
from typednn.layers import Linear


@dataclass(frozen=True)
class CropGrad(Gradient):
    input: Float[Array2, "batch features"]


class Crop(Layer[Array2, Array2, CropGrad, S]):
    keep = 4

    def forward(self, x: Float[Array2, "batch 10"]) -> Float[Array2, "batch {self.keep}"]:
        return x[:, : self.keep]

    def backward(self, next_grad: Float[Array2, "batch {self.keep}"]) -> CropGrad:
        return CropGrad(np.pad(next_grad, ((0, 0), (0, 10 - self.keep))))


class Leaving(Crop):
    def __init__(self, wide: bool) -> None:
        self.keep = 6
        if wide:
            return
        self.keep = 4


class Told(Crop):
    def __init__(self, keep: int) -> None:
        self.keep = keep


class Six(Told):
    def __init__(self) -> None:
        Told.__init__(self, 6)


class Computed(Crop):
    @property
    def keep(self) -> int:  # type: ignore[override]
        return 6


class Configured(Crop):
    keep = 4

    @classmethod
    def configure(cls, keep: int) -> None:
        cls.keep = keep


wide = bool(np.ones(1).all())
Configured.configure(6)
leaving = Linear(3, 10) >> Leaving(wide) >> Linear(6, 4)
six = Linear(3, 10) >> Six() >> Linear(6, 4)
computed = Linear(3, 10) >> Computed() >> Linear(6, 4)
configured = Linear(3, 10) >> Configured() >> Linear(6, 4)

if __name__ == "__main__":
    x = np.ones((2, 3), np.float32)
    for model in (leaving, six, computed, configured):
        model.init(np.random.default_rng(0))
        print(model.forward(x).shape)
