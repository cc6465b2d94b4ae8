"""A Sequential from a mapping of names, with a fault between the named layers."""

from typednn import Sequential
from typednn.layers import Linear, Tanh

model = Sequential({"encode": Linear(30, 5), "tanh": Tanh(), "decode": Linear(6, 30)})  # shape: expects 6 features, gets 5
