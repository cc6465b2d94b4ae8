"""Three channels times an open height and width can never be seven features."""

from typednn.layers import Conv2d, Flatten, Linear

model = Conv2d(1, 3, 1) >> Flatten() >> Linear(7, 4)  # shape: expects 7 features
