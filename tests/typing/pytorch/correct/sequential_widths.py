"""A sequence of dense layers."""

import torch
from torch import nn


def build() -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(32, 64),
        nn.ReLU(),
        nn.Linear(64, 64),
        nn.ReLU(),
        nn.Linear(64, 1),
    )


net = build()
net(torch.rand(3, 32))
