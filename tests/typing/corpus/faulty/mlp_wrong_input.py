"""An MLP that declares 28 * 27 pixels and reads 784."""

from typednn import Input
from typednn.layers import Linear, ReLU

model = Input(28 * 27) >> Linear(784, 10) >> ReLU()  # shape: expects 784 features, gets 756
