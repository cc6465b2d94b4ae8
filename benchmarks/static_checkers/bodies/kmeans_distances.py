"""The squared distances of points to centres: both get their new axis at the same place."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("count, features, clusters")
def distances(
    points: Shaped[Tensor, "[count, features]"], centres: Shaped[Tensor, "[clusters, features]"]
) -> Shaped[Tensor, "[count, clusters]"]:
    difference = points[:, None] - centres[:, None]  # right: difference = points[:, None] - centres[None]
    return (difference**2).sum(dim=2)
