"""A decoder: a transposed convolution gives its second number of channels, and an enlarged image is wider than high."""

from typednn import Input
from typednn.layers import Conv2d, ConvTranspose2d, Flatten, GroupNorm, Linear, Upsample

up = Input(7, 7, 8) >> ConvTranspose2d(8, 4, 2, 2)
normal = up >> GroupNorm(2, 8) >> Conv2d(4, 1, 3, padding="same")  # shape: expects 8 channels, gets 4
model = up >> Upsample((1, 2)) >> Flatten() >> Linear(14 * 14 * 4, 2)  # shape: expects 784 features, gets 1568
