"""Normalisation over groups of channels."""

import numpy as np
from jaxtyping import Float

from typednn import Array4


class GroupNorm:
    def __init__(self, channels: int, groups: int) -> None:
        self.channels, self.groups = channels, groups

    def forward(self, x: Float[Array4, "batch height width {self.channels}"]) -> Float[Array4, "batch height width {self.channels}"]:
        batch, height, width, channels = x.shape
        grouped = x.reshape(batch, height * width, self.groups, channels // self.groups)
        centred = grouped - grouped.mean(axis=(1, 3), keepdims=True)
        centred = centred / np.sqrt((centred**2).mean(axis=(1, 3), keepdims=True) + 1e-5)
        y: Array4 = centred.reshape(x.shape)
        return y


if __name__ == "__main__":
    print(GroupNorm(33, 3).forward(np.ones((2, 5, 7, 33))).shape)
