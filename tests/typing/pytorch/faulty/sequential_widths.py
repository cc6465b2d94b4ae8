"""A sequence of dense layers: two of them do not fit."""

import torch
from torch import nn


def build() -> nn.Sequential:
    return nn.Sequential(  # shape
        nn.Linear(32, 64),
        nn.ReLU(),
        nn.Linear(46, 64),
        nn.ReLU(),
        nn.Linear(64, 1),
    )


net = build()
net(torch.rand(3, 32))
