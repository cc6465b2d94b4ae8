"""The loss of a language model: logits and targets keep their axes."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor


def loss(logits: Float[Tensor, "batch time vocab"], targets: Int[Tensor, "batch time"]) -> Float[Tensor, ""]:
    return F.cross_entropy(logits.flatten(0, 1), targets)  # shape


loss(torch.rand(2, 3, 7), torch.zeros(2, 3, dtype=torch.long))
