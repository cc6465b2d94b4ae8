"""LayerNorm and RMSNorm: every row is scaled to variance 1, or mean square 1, then by weight and bias.

mean = Σ x / n, or 0 for RMSNorm    r = 1/√(Σ (x - mean)² / n + eps)    h = (x - mean)·r    y = h·weight + bias
g = dy·weight    dx = r·(g - Σ g / n - h·Σ g·h / n), without Σ g for RMSNorm    dweight = Σ dy·h    dbias = Σ dy

x, y (*batch, features); mean and r of each row of n features, computed again by backward; weight and bias (features) or
None. 8 operations per number forward, 16 backward.
Sources: Ba, Kiros and Hinton 2016, "Layer Normalization", eqs 2-4; Zhang and Sennrich 2019, "Root Mean Square Layer
Normalization", eq 4.
"""

from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float

from typednn.arrays import AnyArray, Array1, namespace

X = TypeVar("X", bound=AnyArray)


def forward(
    x: Float[X, "*batch features"],
    weight: Float[Array1, " features"] | None,
    bias: Float[Array1, " features"] | None,
    eps: float,
    centred: bool = True,
) -> Float[X, "*batch features"]:
    """y; ``centred``: LayerNorm, else RMSNorm."""
    y: Any = _normal(x, eps, centred)[0]
    if weight is not None:
        y = y * weight
    return y if bias is None else y + bias  # type: ignore[no-any-return]


def backward(
    next_grad: Float[X, "*batch features"],
    x: Float[AnyArray, "*batch features"],
    weight: Float[Array1, " features"] | None,
    eps: float,
    centred: bool = True,
) -> tuple[Float[X, "*batch features"], Float[Array1, " features"], Float[Array1, " features"]]:
    """(dx, dweight, dbias)."""
    normal, rate = _normal(x, eps, centred)
    by_normal: Any = next_grad if weight is None else next_grad * weight
    inner = by_normal - normal * _mean(by_normal * normal)
    if centred:
        inner = inner - _mean(by_normal)
    axes = tuple(range(x.ndim - 1))
    dx: X = (inner * rate).astype(x.dtype)
    dweight: Array1 = _sum(next_grad * normal, axes)
    return dx, dweight, _sum(next_grad, axes)


def _normal(x: Any, eps: float, centred: bool) -> tuple[Any, Any]:
    """h and r, r in double precision, where the squares of the largest float32 are no infinity and those of the
    smallest not 0.
    """
    wide = x.astype(np.result_type(x.dtype, np.float64), copy=False)
    if centred:
        wide = wide - wide.mean(axis=-1, keepdims=True)  # a large mean costs no digits
    xp = namespace(x)
    rate = 1 / xp.sqrt(xp.square(wide).mean(axis=-1, keepdims=True) + eps)
    return (wide * rate).astype(x.dtype), rate


def _mean(x: Any) -> Any:
    """Of each row, added in double precision."""
    return x.mean(axis=-1, keepdims=True, dtype=np.result_type(x.dtype, np.float64)).astype(x.dtype)


def _sum(x: Any, axes: tuple[int, ...]) -> Any:
    return x.sum(axis=axes, dtype=np.result_type(x.dtype, np.float64)).astype(x.dtype)
