"""Keywords in the other order: 10 features in, 84 out."""

from typednn import Input
from typednn.layers import Linear, ReLU

model = Input(120) >> Linear(120, 84) >> ReLU() >> Linear(out_features=84, in_features=10)  # shape: expects 10 features, gets 84
