"""A variational autoencoder."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(64, 20)

    def forward(self, x: Float[Tensor, "batch 64"]) -> Float[Tensor, "batch 10"]:
        mean, log_variance = self.net(x).chunk(2, dim=1)
        noise = torch.randn_like(mean)
        return mean + noise * torch.exp(log_variance / 2)


Encoder()(torch.rand(2, 64))
