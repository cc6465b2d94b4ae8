"""GroupNorm: every group of channels of an image is shifted and scaled to mean 0 and variance 1, then by weight and
bias.

mean = Σ x / n      r = 1/√(Σ (x - mean)² / n + eps)      h = (x - mean)·r      y = h·weight + bias
g = dy·weight       dx = r·(g - Σ g / n - h·Σ g·h / n)    dweight = Σ dy·h      dbias = Σ dy

x, y (batch, height, width, channels), the channels of one group side by side; mean and r of each image and group, of n
numbers, computed again by backward; weight and bias (channels) or None. 8 operations per number forward, 16 backward.
Source: Wu and He 2018, "Group Normalization", eqs 1-6.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from typednn.arrays import Array1, Array4, namespace

_OVER = (1, 2, 4)  # of (batch, height, width, groups, channels of a group)


def forward(
    x: Float[Array4, "batch height width channels"],
    weight: Float[Array1, " channels"] | None,
    bias: Float[Array1, " channels"] | None,
    groups: int,
    eps: float,
) -> Float[Array4, "batch height width channels"]:
    """y."""
    y: Any = _normal(x, groups, eps)[0].reshape(x.shape)
    if weight is not None:
        y = y * weight
    return y if bias is None else y + bias  # type: ignore[no-any-return]


def backward(
    next_grad: Float[Array4, "batch height width channels"],
    x: Float[Array4, "batch height width channels"],
    weight: Float[Array1, " channels"] | None,
    groups: int,
    eps: float,
) -> tuple[Float[Array4, "batch height width channels"], Float[Array1, " channels"], Float[Array1, " channels"]]:
    """(dx, dweight, dbias)."""
    normal, rate = _normal(x, groups, eps)
    by_normal: Any = next_grad if weight is None else next_grad * weight
    by_normal = by_normal.reshape(normal.shape)
    inner = by_normal - _mean(by_normal) - normal * _mean(by_normal * normal)
    dx: Array4 = (inner * rate).astype(x.dtype).reshape(x.shape)
    dweight: Array1 = _sum(next_grad * normal.reshape(x.shape))
    return dx, dweight, _sum(next_grad)


def _normal(x: Any, groups: int, eps: float) -> tuple[Any, Any]:
    """h and r, by groups; r in double precision, where the squares of the largest float32 are no infinity."""
    x = x.reshape(*x.shape[:3], groups, x.shape[3] // groups)
    wide = x.astype(np.result_type(x.dtype, np.float64), copy=False)
    wide = wide - wide.mean(axis=_OVER, keepdims=True)
    xp = namespace(x)
    rate = 1 / xp.sqrt(xp.square(wide).mean(axis=_OVER, keepdims=True) + eps)
    return (wide * rate).astype(x.dtype), rate


def _mean(x: Any) -> Any:
    return x.mean(axis=_OVER, keepdims=True, dtype=np.result_type(x.dtype, np.float64)).astype(x.dtype)


def _sum(x: Any) -> Any:
    return x.sum(axis=(0, 1, 2), dtype=np.result_type(x.dtype, np.float64)).astype(x.dtype)
