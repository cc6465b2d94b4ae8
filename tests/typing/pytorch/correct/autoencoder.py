"""An autoencoder."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 16))
        self.decoder = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 784))

    def forward(self, x: Float[Tensor, "batch 784"]) -> Float[Tensor, "batch 784"]:
        return torch.sigmoid(self.decoder(self.encoder(x)))


Autoencoder()(torch.rand(2, 784))
