"""Padding as a number, a pair or a word; groups; sequences; convolutions that enlarge."""

from typednn import Input
from typednn.layers import Conv1d, Conv2d, ConvTranspose2d, Flatten, Linear

same = Input(9, 8, 3) >> Conv2d(3, 6, (2, 5), padding="same", dilation=2) >> Conv2d(6, 4, 3, 2, 1)
images = same >> Conv2d(4, 8, 3, padding=(0, 2), groups=4) >> Flatten() >> Linear(3 * 6 * 8, 10)
sequence = Input(16, 3) >> Conv1d(3, 4, 4, padding="same") >> Conv1d(4, 2, 3, 2, 1) >> Conv1d(2, 2, 8, padding="valid")
enlarged = Input(4, 4, 8) >> ConvTranspose2d(8, 4, 3, 2, 1, output_padding=1) >> ConvTranspose2d(4, 1, 2, 2) >> Flatten()
pixels = enlarged >> Linear(16 * 16, 10)
