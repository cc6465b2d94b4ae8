"""A classifier of sizes from arguments."""

import torch
from torch import Tensor, nn


class Classifier(nn.Module):
    def __init__(self, inputs: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, hidden)
        self.last = nn.Linear(hidden, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(self.first(x))
        return self.last(x)


def main() -> None:
    model = Classifier(20, 64, 5)
    print(model(torch.rand(8, 20)).shape)


main()
