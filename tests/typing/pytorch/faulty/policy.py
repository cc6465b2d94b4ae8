"""A policy over actions of a state: of a wrong width."""

import torch
from torch import Tensor, nn


class Policy(nn.Module):
    def __init__(self, states: int, actions: int) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(states, 64), nn.Tanh(), nn.Linear(64, actions))

    def forward(self, state: Tensor) -> Tensor:
        return self.net(state).softmax(dim=-1)  # shape


policy = Policy(4, 2)
policy(torch.rand(3, 2))
