"""The gradient of an embedding: the tokens are not flattened as the gradient is."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, time, features, vocab")
def backward(
    next_grad: Shaped[Tensor, "[batch, time, features]"],
    tokens: Shaped[Tensor, "[batch, time]"],
    weight: Shaped[Tensor, "[vocab, features]"],
) -> Shaped[Tensor, "[vocab, features]"]:
    dweight = torch.zeros_like(weight)
    flat = next_grad.reshape(-1, next_grad.shape[2])
    dweight.index_add_(0, tokens, flat)  # right: dweight.index_add_(0, tokens.reshape(-1), flat)
    return dweight
