"""BatchNorm: every channel is shifted and scaled to mean 0 and variance 1, then by its weight and bias.

mean = Σ x / n        variance = Σ (x - mean)² / n        y = a((x - mean)·weight / √(variance + eps) + bias)
r = 1/√(variance + eps)      h = (x - mean)·r      dz = dy·a'      dbias = Σ dz      dweight = Σ dz·h
dx = weight·r·(dz - (dbias + h·dweight) / n)

x, y (*batch, channels), sums over the n rows of all axes but the last; a is an activation. mean and variance
(channels), weight and bias (channels) or None. Sums in double precision, squares of differences from the mean. Backward
computes y again, for the slope of a. 6 operations per number forward, 10 backward.
Source: Ioffe and Szegedy 2015, "Batch Normalization: Accelerating Deep Network Training by Reducing Internal Covariate
Shift", algorithm 1.
"""

from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float

from typednn.arrays import AnyArray, Array1, namespace
from typednn.kernels.activations import IDENTITY, Activation
from typednn.kernels.lerp import lerp

X = TypeVar("X", bound=AnyArray)


def forward(
    x: Float[X, "*batch channels"],
    weight: Float[Array1, " channels"] | None,
    bias: Float[Array1, " channels"] | None,
    eps: float,
    activation: Activation = IDENTITY,
) -> tuple[Float[X, "*batch channels"], Float[Array1, " channels"], Float[Array1, " channels"]]:
    """(y, mean, variance): of the numbers in ``x``; the variance in float64, as the square of a large float32 is beyond
    its range.
    """
    xp = namespace(x)
    rows: Any = x.reshape(-1, x.shape[-1])
    wide = np.result_type(x.dtype, np.float64)
    mean = rows.mean(axis=0, dtype=wide)
    variance: Array1 = xp.square(rows - mean).mean(axis=0, dtype=wide)
    mean = mean.astype(x.dtype)
    return infer(x, mean, variance, weight, bias, eps, activation), mean, variance


def infer(
    x: Float[X, "*batch channels"],
    mean: Float[Array1, " channels"],
    variance: Float[Array1, " channels"],
    weight: Float[Array1, " channels"] | None,
    bias: Float[Array1, " channels"] | None,
    eps: float,
    activation: Activation = IDENTITY,
) -> Float[X, "*batch channels"]:
    """y, with a mean and a variance that are given."""
    scale = _rate(x, variance, eps)
    y: X = activation.forward(
        _moved(((x - mean) * (scale if weight is None else weight * scale)).astype(x.dtype), bias)
    )
    return y


def backward(
    next_grad: Float[X, "*batch channels"],
    x: Float[AnyArray, "*batch channels"],
    mean: Float[Array1, " channels"],
    variance: Float[Array1, " channels"],
    weight: Float[Array1, " channels"] | None,
    bias: Float[Array1, " channels"] | None,
    eps: float,
    activation: Activation = IDENTITY,
) -> tuple[Float[X, "*batch channels"], Float[Array1, " channels"], Float[Array1, " channels"]]:
    """(dx, dweight, dbias), where mean and variance are those of ``x``."""
    axes, wide = tuple(range(x.ndim - 1)), np.result_type(x.dtype, np.float64)
    rate = _rate(x, variance, eps)
    normal = ((x - mean) * rate).astype(x.dtype)
    if activation != IDENTITY:
        next_grad = activation.backward(next_grad, infer(x, mean, variance, weight, bias, eps, activation))
    dbias: Array1 = next_grad.sum(axis=axes, dtype=wide).astype(x.dtype)
    dweight: Array1 = (next_grad * normal).sum(axis=axes, dtype=wide).astype(x.dtype)
    inner: Any = (rate if weight is None else weight * rate) * (
        next_grad - (dbias + normal * dweight) / (x.size // x.shape[-1])
    )
    dx: X = inner.astype(x.dtype)
    return dx, dweight, dbias


def track(
    running_mean: Float[Array1, " channels"],
    running_var: Float[Array1, " channels"],
    mean: Float[Array1, " channels"],
    variance: Float[Array1, " channels"],
    momentum: float,
    count: int,
) -> tuple[Float[Array1, " channels"], Float[Array1, " channels"]]:
    """The new running mean and variance: each moves by ``momentum`` of the way to that of ``count`` numbers, the
    variance without bias.
    """
    unbiased = variance * (count / max(count - 1, 1))
    with np.errstate(over="ignore"):  # a variance beyond the range of the running one is infinite there
        running: Array1 = lerp(running_var, unbiased, momentum).astype(running_var.dtype)
    return lerp(running_mean, mean, momentum), running


def _rate(x: AnyArray, variance: Float[Array1, " channels"], eps: float) -> Float[Array1, " channels"]:
    # where 1/√eps fits
    rate: Array1 = 1 / namespace(x).sqrt(variance.astype(np.result_type(variance.dtype, np.float32)) + eps)
    return rate


def _moved(x: Any, bias: Array1 | None) -> Any:
    return x if bias is None else x + bias
