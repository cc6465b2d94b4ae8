"""A mask by tril of ones."""

import torch
from jaxtyping import Float
from torch import Tensor


def causal(q: Float[Tensor, "b t d"], k: Float[Tensor, "b t d"]) -> Float[Tensor, "b t t"]:
    scores = q @ k.mT
    mask = torch.tril(torch.ones(q.shape[1], q.shape[1])) == 0
    return scores.masked_fill(mask, float("-inf"))


causal(torch.rand(2, 3, 8), torch.rand(2, 3, 8))
