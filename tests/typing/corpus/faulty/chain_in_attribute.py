"""A body kept in an attribute and extended by a head that does not fit."""

from typednn import Input
from typednn.layers import Linear, ReLU


class Classifier:
    def __init__(self) -> None:
        self.body = Input(30) >> Linear(30, 20) >> ReLU() >> Linear(20, 10)
        self.model = self.body >> ReLU() >> Linear(20, 2)  # shape: expects 20 features, gets 10


if __name__ == "__main__":
    Classifier()
