"""A graph convolution."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


def convolve(adjacency: Float[Tensor, "nodes nodes"], x: Float[Tensor, "nodes 16"], w: Float[Tensor, "16 8"]) -> Float[Tensor, "nodes 8"]:
    return F.relu(adjacency @ x @ w)


convolve(torch.eye(5), torch.rand(5, 16), torch.rand(16, 8))
