"""Cross entropy against one-hot rows: the identity has the batch's size, not that of the classes."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, classes")
def loss_grad(prediction: Shaped[Tensor, "[batch, classes]"], target: Shaped[Tensor, "[batch]"]) -> Shaped[Tensor, "[batch, classes]"]:
    one_hot = torch.eye(target.shape[0]).index_select(0, target)  # right: one_hot = torch.eye(prediction.shape[1]).index_select(0, target)
    return -one_hot / prediction / target.shape[0]
