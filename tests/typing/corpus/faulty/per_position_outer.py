"""Sequences of ten positions and sixteen features; the layer per position reads ten."""

from typednn import Input
from typednn.layers import Linear, PerPosition

model = Input(10, 16) >> PerPosition(Linear(10, 4))  # shape: expects 10 features, gets 16
