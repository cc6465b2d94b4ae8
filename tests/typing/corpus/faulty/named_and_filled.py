"""Names, filling and eval() in between change no size."""

import numpy as np

from typednn import Input
from typednn.layers import Linear, ReLU

rng = np.random.default_rng(0)
body = (Input(30) >> Linear(30, 20).named("fc1") >> ReLU()).init(rng).eval()
model = body >> Linear(30, 10).named("fc2")  # shape: expects 30 features, gets 20
