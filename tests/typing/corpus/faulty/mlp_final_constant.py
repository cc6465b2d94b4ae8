"""An MLP whose sizes are constants; the last layer reads what the one before it reads."""

from typing import Final

from typednn import Input
from typednn.layers import Linear, ReLU

PIXELS: Final = 28 * 28
HIDDEN: Final = 128
NARROW: Final = HIDDEN // 2

body = Input(PIXELS) >> Linear(PIXELS, HIDDEN) >> ReLU() >> Linear(HIDDEN, NARROW)
model = body >> ReLU() >> Linear(HIDDEN, 10)  # shape: expects 128 features, gets 64
