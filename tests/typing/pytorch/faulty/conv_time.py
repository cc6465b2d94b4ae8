"""A causal convolution over time: the padding is too short."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


class Causal(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(8, 8, kernel_size=3, dilation=2)

    def forward(self, x: Float[Tensor, "batch 8 time"]) -> Float[Tensor, "batch 8 time"]:
        padded = F.pad(x, (2, 0))
        return torch.relu(self.conv(padded))  # shape


Causal()(torch.rand(2, 8, 20))
