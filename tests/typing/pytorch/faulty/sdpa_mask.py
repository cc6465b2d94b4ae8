"""A mask of attention: of the wrong lengths."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor


def attend(
    q: Float[Tensor, "b 8 t 64"], k: Float[Tensor, "b 8 s 64"], v: Float[Tensor, "b 8 s 64"], mask: Bool[Tensor, "t s"]
) -> Float[Tensor, "b 8 t 64"]:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask.T)  # shape


attend(torch.rand(2, 8, 3, 64), torch.rand(2, 8, 5, 64), torch.rand(2, 8, 5, 64), torch.ones(3, 5).bool())
