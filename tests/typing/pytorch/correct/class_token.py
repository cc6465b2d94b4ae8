"""A class token is put before the patches."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Tokens(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, 64))

    def forward(self, x: Float[Tensor, "n 196 64"]) -> Float[Tensor, "n 197 64"]:
        token = self.token.expand(x.shape[0], -1, -1)
        return torch.cat([token, x], dim=1)


Tokens()(torch.rand(2, 196, 64))
