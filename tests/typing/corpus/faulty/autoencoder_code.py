"""An autoencoder whose halves do not agree on the size of the code."""

from typednn import Input
from typednn.layers import Linear, ReLU, Sigmoid

encoder = Linear(784, 256) >> ReLU() >> Linear(256, 32)
decoder = Linear(64, 256) >> ReLU() >> Linear(256, 784) >> Sigmoid()
model = Input(784) >> encoder >> decoder  # shape: expects 64 features, gets 32
