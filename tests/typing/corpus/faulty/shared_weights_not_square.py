"""A tied layer that is not square is used twice in a row."""

from typednn import Input
from typednn.layers import Linear, ReLU

first = Linear(8, 16)
model = Input(8) >> first >> ReLU() >> first.shared()  # shape: expects 8 features, gets 16
