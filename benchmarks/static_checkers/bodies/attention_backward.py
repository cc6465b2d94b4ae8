"""The gradients of queries and keys: the scores' gradient is not transposed for the keys."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, query, key, size")
def backward(
    dscores: Shaped[Tensor, "[batch, query, key]"], q: Shaped[Tensor, "[batch, query, size]"], k: Shaped[Tensor, "[batch, key, size]"]
) -> tuple[Shaped[Tensor, "[batch, query, size]"], Shaped[Tensor, "[batch, key, size]"]]:
    dq = dscores @ k
    dk = dscores @ q  # right: dk = dscores.transpose(1, 2) @ q
    return dq, dk
