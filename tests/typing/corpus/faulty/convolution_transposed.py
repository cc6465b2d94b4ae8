"""Twice the size needs one more row and column of output padding."""

from typednn import Input
from typednn.layers import ConvTranspose2d, Flatten, Linear

body = Input(4, 4, 8) >> ConvTranspose2d(8, 4, 3, 2, 1)
model = body >> Flatten() >> Linear(8 * 8 * 4, 10)  # shape: expects 256 features, gets 196
