"""Scores by einsum: a letter stands at a wrong place."""

import torch
from jaxtyping import Float
from torch import Tensor


def scores(q: Float[Tensor, "b h t d"], k: Float[Tensor, "b h s d"]) -> Float[Tensor, "b h t s"]:
    return torch.einsum("bhtd,bhsd->bhst", q, k)  # shape


scores(torch.rand(2, 4, 3, 8), torch.rand(2, 4, 5, 8))
