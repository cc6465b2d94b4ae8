"""Convolution by sliding windows."""

import numpy as np
from jaxtyping import Float

from typednn import Array4


class Convolution:
    def __init__(self, in_channels: int, out_channels: int, kernel: int) -> None:
        self.in_channels, self.out_channels, self.kernel = in_channels, out_channels, kernel
        self.weight: Float[Array4, "{self.out_channels} {self.kernel} {self.kernel} {self.in_channels}"] = np.ones(
            (out_channels, kernel, kernel, in_channels)
        )

    def forward(
        self, x: Float[Array4, "batch height width {self.in_channels}"]
    ) -> Float[Array4, "batch height-{self.kernel}+1 width-{self.kernel}+1 {self.out_channels}"]:
        windows = np.lib.stride_tricks.sliding_window_view(x, (self.kernel, self.kernel), axis=(1, 2))
        y: Array4 = np.einsum("bhwcij,oijc->bhwo", windows, self.weight)
        return y


if __name__ == "__main__":
    print(Convolution(2, 5, 3).forward(np.ones((7, 13, 11, 2))).shape)
