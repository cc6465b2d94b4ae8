"""The new centres of k-means: the assignments are not transposed."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("count, features, clusters")
def update(
    points: Shaped[Tensor, "[count, features]"], assigned: Shaped[Tensor, "[count, clusters]"]
) -> Shaped[Tensor, "[clusters, features]"]:
    totals = assigned @ points  # right: totals = assigned.T @ points
    return totals / assigned.sum(dim=0)[:, None]
