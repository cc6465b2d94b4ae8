"""A Sequential from a list; its second layer reads seven features of six."""

from typednn import Input, Sequential
from typednn.layers import Linear, ReLU

model = Sequential([Linear(4, 6), ReLU(), Linear(7, 2)], input=Input(4))  # shape: expects 7 features, gets 6
