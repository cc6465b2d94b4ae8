"""LeNet on images of 28 pixels: the first dense layer is that of 32 pixels."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


class LeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 10)

    def forward(self, x: Float[Tensor, "batch 1 28 28"]) -> Float[Tensor, "batch 10"]:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))  # shape
        return self.fc2(x)


LeNet()(torch.rand(2, 1, 28, 28))
