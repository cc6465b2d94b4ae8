"""Running means at the ends of their way: share 1 is the new value, share 0 the old one, to the bit, on
every engine.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from typednn.engines import using
from typednn.kernels import batch_norm, update_rules
from typednn.kernels.lerp import lerp as lerp_of_arrays
from typednn.layers import BatchNorm1d
from typednn.optim import Adam

engines = pytest.mark.parametrize("engine", ["fast", "reference"])
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])

SIZE = 5000  # small arrays may be left to NumPy
FAR, NEAR = 1e4, 1e-4  # in float32, FAR + (NEAR - FAR) is 0
lerp: Any = lerp_of_arrays  # of numbers here
numbers = st.floats(-1e30, 1e30)


@given(start=numbers, end=numbers, share=st.floats(0, 1))
def test_between_the_ends(start: float, end: float, share: float) -> None:
    """Exactly the ends, and between them to rounding of the larger."""
    assert lerp(start, end, 0.0) == start
    assert lerp(start, end, 1.0) == end
    exact = (1 - Fraction(share)) * Fraction(start) + Fraction(share) * Fraction(end)
    assert abs(Fraction(lerp(start, end, share)) - exact) <= Fraction(2.0**-50) * Fraction(max(abs(start), abs(end)))


def _full(value: float, dtype: Any) -> Any:
    return np.full(SIZE, value, dtype)


@dtypes
@engines
@pytest.mark.parametrize(
    ("rule", "share"),
    [
        ("adam", 1.0),
        *((rule, share) for rule in ("amsgrad", "rmsprop", "adadelta", "lion", "ema") for share in (1.0, 0.0)),
    ],
)
def test_each_rule(rule: str, share: float, engine: str, dtype: Any) -> None:
    """The old value is large and the new one small; then the other way round."""
    stays = 1.0 - share
    for old, new in ((FAR, NEAR), (NEAR, FAR)):
        state, grad, weights = _full(old, dtype), _full(new, dtype), _full(1.0, dtype)
        other, third = _full(1.0, dtype), _full(1.0, dtype)
        wanted = new if share else old
        with using(engine):
            if rule == "adam":
                update_rules.adam.step(weights, grad, state, other, 0.1, share, 0.999, 0.001, 1.0, 1e-8, 0.0, 1.0)
            elif rule == "amsgrad":
                update_rules.amsgrad.step(
                    weights, grad, state, other, third, 0.1, share, 0.999, 0.001, 1.0, 1e-8, 0.0, 1.0
                )
            elif rule == "rmsprop":  # a square so large that the variance is no difference of two equal numbers
                update_rules.rmsprop.step(
                    weights, grad, _full(1e12, dtype), state, None, 0.1, stays, share, 1e8, 0.0, 0.0, 1.0
                )
            elif rule == "adadelta":
                update_rules.adadelta.step(weights, grad, state, other, 0.1, stays, share, 1e-6, 0.0, 1.0)
                wanted = float(dtype(new) * dtype(new)) if share else old
            elif rule == "lion":
                update_rules.lion.step(weights, grad, state, 0.1, 0.9, 0.1, stays, share, 0.0, 1.0)
            else:
                update_rules.ema.step(state, grad, share)
        np.testing.assert_array_equal(state, _full(wanted, dtype))


@engines
def test_adam_without_memory(engine: str) -> None:
    """Of betas (0, 0) each step is lr·grad/(|grad| + eps), whatever the gradient before was."""
    with using(engine):
        weights, optimizer = _full(0.0, np.float32), Adam(1.0, betas=(0.0, 0.0))
        optimizer.step(weights, _full(1e4, np.float32))
        before = weights.copy()
        optimizer.step(weights, _full(1e-4, np.float32))
    np.testing.assert_allclose(weights - before, -1e-4 / (1e-4 + 1e-8), rtol=1e-6)


@engines
@pytest.mark.parametrize("momentum", [1.0, 0.0])
def test_batch_norms_statistics(momentum: float, engine: str) -> None:
    """X-N1: momentum 1 is the newest batch's mean and unbiased variance, whatever the running ones were; momentum 0
    keeps those.
    """
    x = np.linspace(0.0, 0.45, 4, dtype=np.float32).reshape(4, 1).repeat(3, axis=1)
    layer: Any = BatchNorm1d(3, momentum=momentum, rng=np.random.default_rng(0))
    layer.running_mean[...], layer.running_var[...] = 1e8, 1e8
    with using(engine):
        layer.forward(x)
    mean, variance = (0.225, float(np.var(x[:, 0].astype(np.float64), ddof=1))) if momentum else (1e8, 1e8)
    np.testing.assert_allclose(layer.running_mean, mean, rtol=1e-6)
    np.testing.assert_allclose(layer.running_var, variance, rtol=1e-6)
    both = [np.full(3, 1e8, np.float32) for _ in range(2)]
    batch_norm.track(*both, np.full(3, 0.225, np.float32), np.full(3, 0.1, np.float32), momentum, 10**9)
    np.testing.assert_allclose(both[0], mean, rtol=1e-7)
