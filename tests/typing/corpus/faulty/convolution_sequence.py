"""A convolution of sequences whose next one expects other channels."""

from typednn import Input
from typednn.layers import Conv1d

model = Input(16, 3) >> Conv1d(3, 4, 3, padding=1) >> Conv1d(3, 2, 3)  # shape: expects 3 channels, gets 4
