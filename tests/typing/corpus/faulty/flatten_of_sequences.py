"""A sequence of five positions with four features each is twenty numbers."""

from typednn import Input
from typednn.layers import Flatten, Linear

model = Input(5, 4) >> Flatten() >> Linear(21, 3)  # shape: expects 21 features, gets 20 (= 5*4, from Input(5, 4))
