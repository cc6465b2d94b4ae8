"""A mask by tril of ones: of the features."""

import torch
from jaxtyping import Float
from torch import Tensor


def causal(q: Float[Tensor, "b t d"], k: Float[Tensor, "b t d"]) -> Float[Tensor, "b t t"]:
    scores = q @ k.mT
    mask = torch.tril(torch.ones(q.shape[2], q.shape[2])) == 0
    return scores.masked_fill(mask, float("-inf"))  # shape


causal(torch.rand(2, 3, 8), torch.rand(2, 3, 8))
