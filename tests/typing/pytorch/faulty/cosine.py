"""Cosine similarities of rows: along the wrong axis."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


def similar(a: Float[Tensor, "rows dim"], b: Float[Tensor, "rows dim"]) -> Float[Tensor, "rows"]:
    return F.cosine_similarity(a, b, dim=0)  # shape


similar(torch.rand(3, 4), torch.rand(3, 4))
