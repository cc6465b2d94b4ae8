"""Scores by einsum."""

import torch
from jaxtyping import Float
from torch import Tensor


def scores(q: Float[Tensor, "b h t d"], k: Float[Tensor, "b h s d"]) -> Float[Tensor, "b h t s"]:
    return torch.einsum("bhtd,bhsd->bhts", q, k)


scores(torch.rand(2, 4, 3, 8), torch.rand(2, 4, 5, 8))
