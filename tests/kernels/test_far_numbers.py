"""Normalisation of numbers whose squares are beyond float32, or are 0 in it, against float64: kernels and references
alike.
"""

from typing import Any

import numpy as np
import pytest

from typednn.engines import counting, using
from typednn.kernels import batch_norm, group_norm, layer_norm
from typednn.layers import BatchNorm1d, LayerNorm

pytestmark = [
    pytest.mark.parametrize("engine", ["fast", "reference"]),
    pytest.mark.parametrize("scale", [2e19, 1e30, 1e37, 1.0, 1e-15, 1e-19, 1e-30]),
]
FEATURES = [2, 5, 40, 256, 1000]


def _drawn(scale: float, *shape: int) -> Any:
    rng = np.random.default_rng(0)
    return np.clip(rng.standard_normal(shape) * scale, -3e38, 3e38).astype(np.float32), rng.standard_normal(
        shape
    ).astype(np.float32)


def _theory(x: Any, dy: Any, eps: float, axes: Any, centred: bool = True) -> tuple[Any, Any, Any]:
    """y, dx and the magnitude of dx's terms, in float64, by the formulas."""
    x, dy = x.astype(np.float64), dy.astype(np.float64)
    moved = x - x.mean(axis=axes, keepdims=True) if centred else x
    rate = 1 / np.sqrt((moved**2).mean(axis=axes, keepdims=True) + eps)
    h = moved * rate
    inner = dy - h * (dy * h).mean(axis=axes, keepdims=True) - (dy.mean(axis=axes, keepdims=True) if centred else 0)
    return h, inner * rate, rate * abs(dy).max(axis=axes, keepdims=True) + 0 * x


def _near(found: Any, wanted: Any, magnitude: Any = 1.0) -> None:
    """Close where float32 holds the number: a derivative may be beyond it. ``magnitude``: of the terms, which may
    cancel out.
    """
    assert found.dtype == np.float32
    held = abs(magnitude) + 0 * wanted < 1e37
    excess = abs(found - wanted) - 1e-5 * np.maximum(abs(wanted), magnitude)
    assert (excess[held] <= 0).all()


def _eps(scale: float) -> float:
    """1e-5 would be all of a tiny variance."""
    return 0.0 if scale < 1e-3 else 1e-5


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("features", FEATURES)
def test_rows(features: int, centred: bool, scale: float, engine: str) -> None:
    """LayerNorm and RMSNorm; rows of usual numbers beside, which do not change."""
    x, dy = _drawn(scale, 60, features)
    usual, _ = _drawn(1.0, 60, features)
    x[::3] = usual[::3] + 1
    weight, bias, eps = np.ones(features, np.float32), np.zeros(features, np.float32), _eps(scale)
    with using(engine), counting() as counts:
        y = layer_norm.forward(x, weight, bias, eps, centred)
        dx, _, _ = layer_norm.backward(dy, x, weight, eps, centred)
        alone = layer_norm.forward(usual + 1, weight, bias, eps, centred)
    assert engine == "reference" or {name for _, name in counts} == {"halide"}
    wanted_y, *wanted_dx = _theory(x, dy, eps, 1, centred)
    _near(y, wanted_y)
    _near(dx, *wanted_dx)
    np.testing.assert_array_equal(y[::3], alone[::3])


@pytest.mark.parametrize("groups", [1, 2])
def test_groups(groups: int, scale: float, engine: str) -> None:
    x, dy = _drawn(scale, 3, 4, 5, 8)
    weight, bias, eps = np.ones(8, np.float32), np.zeros(8, np.float32), _eps(scale)
    with using(engine):
        y = group_norm.forward(x, weight, bias, groups, eps)
        dx, _, _ = group_norm.backward(dy, x, weight, groups, eps)
    wide = [each.reshape(3, 4, 5, groups, 8 // groups) for each in (x, dy)]
    wanted_y, *wanted_dx = (each.reshape(x.shape) for each in _theory(*wide, eps, (1, 2, 4)))
    _near(y, wanted_y)
    _near(dx, *wanted_dx)


def test_channels(scale: float, engine: str) -> None:
    """The running variance is infinite where float32 has no such number; the output is right."""
    x, dy = _drawn(scale, 300, 7)
    weight, bias, eps = np.ones(7, np.float32), np.zeros(7, np.float32), _eps(scale)
    with using(engine):
        y, mean, variance = batch_norm.forward(x, weight, bias, eps)
        dx, _, _ = batch_norm.backward(dy, x, mean, variance, weight, bias, eps)
        again = batch_norm.infer(x, mean, variance, weight, bias, eps)
    wanted_y, *wanted_dx = _theory(x, dy, eps, 0)
    _near(y, wanted_y)
    _near(again, wanted_y)
    _near(dx, *wanted_dx)


def test_layers(scale: float, engine: str) -> None:
    x = np.array([[scale, -scale]] * 3, np.float32)
    with using(engine):
        row = LayerNorm(2, eps=0.0, rng=np.random.default_rng(0)).forward(x)
        layer: Any = BatchNorm1d(2, eps=0.0, rng=np.random.default_rng(0))
        channel = layer.forward(np.concatenate([x, -x]))
    np.testing.assert_allclose(row, np.sign(x), rtol=1e-6)
    np.testing.assert_allclose(channel, np.sign(np.concatenate([x, -x])), rtol=1e-6)
