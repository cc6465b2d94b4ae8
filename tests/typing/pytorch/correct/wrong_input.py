"""A model is called on flat images."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(784, 10)

    def forward(self, x: Float[Tensor, "n 1 28 28"]) -> Float[Tensor, "n 10"]:
        return self.fc(x.flatten(1))


def evaluate(model: Net, images: Float[Tensor, "n 784"]) -> Float[Tensor, "n 10"]:
    return model(images.view(-1, 1, 28, 28))


evaluate(Net(), torch.rand(2, 784))
