"""Sequences and images become rows, images sequences; rows become images."""

from typing import assert_type

from typednn import Input
from typednn.arrays import Array2, Array3, Array4
from typednn.layers import LSTM, Conv2d, Flatten, Linear, MaxPool2d, ReLU, Reshape, SequenceLinear
from typednn.random import PCG32

rows = Input(5, 4) >> Flatten() >> Linear(20, 3)
after = Input(5, 4) >> SequenceLinear(4, 3) >> ReLU() >> Flatten() >> Linear(15, 3)
recurrent = Input(5, 4) >> LSTM(4, 3) >> Flatten() >> Linear(15, 3)
pixels = Input(6, 5, 1) >> Conv2d(1, 2, 3) >> Flatten(1, 2) >> SequenceLinear(2, 4) >> Flatten() >> Linear(48, 2)
lines = Input(6, 5, 2) >> Flatten(2) >> LSTM(10, 3)
images = Input(784) >> Reshape(28, 28, 1) >> Conv2d(1, 6, 5) >> MaxPool2d(2) >> Flatten() >> Linear(864, 10)
halves = Input(6, 5, 2) >> Reshape(12, 5) >> SequenceLinear(5, 2) >> Reshape(24) >> Linear(24, 1)
open_sizes = Conv2d(1, 6, 3) >> Reshape(24) >> Linear(24, 2)


class ByHand:
    def __init__(self, size: int) -> None:
        rng = PCG32(1)
        self.flatten: Flatten = Flatten()
        self.image = Reshape(size, size, 1)
        self.conv = Conv2d(1, 2, 3, rng=rng)

    def forward(self, x: Array4, y: Array3, z: Array2) -> None:
        assert_type(self.flatten.forward(x), Array2)
        sequences: Flatten[Array3] = Flatten()
        assert_type(sequences.forward(y), Array2)
        assert_type(self.image.forward(z), Array4)
        self.conv.forward(self.image.forward(z))
