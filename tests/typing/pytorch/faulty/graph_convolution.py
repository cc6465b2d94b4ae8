"""A graph convolution: the adjacency meets features."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


def convolve(adjacency: Float[Tensor, "nodes nodes"], x: Float[Tensor, "nodes 16"], w: Float[Tensor, "16 8"]) -> Float[Tensor, "nodes 8"]:
    return F.relu(x @ adjacency @ w)  # shape


convolve(torch.eye(5), torch.rand(5, 16), torch.rand(16, 8))
