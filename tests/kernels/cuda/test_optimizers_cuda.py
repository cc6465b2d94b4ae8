"""Optimizers' steps in CUDA against the reference: in place, any state, weight decay included; NaN and infinities."""

import numpy as np
import pytest
from fast_ops import SPECIAL, numbers, seeds
from hypothesis import given, settings
from hypothesis import strategies as st
from update_rows import DECAYS, ROWS

from typednn.engines import counting
from typednn.kernels import update_rules

EXACT = [name for name in ROWS if name.startswith(("sgd", "adam,"))]  # the others are compared in float64
sizes = st.sampled_from([(255,), (256,), (257,), (3, 6001)])


def agree(gpu, row, arrays, constants, dtype):
    """The step as CUDA and as the reference makes it, in place: the same bits, or where products are joined with sums
    nearly. The gradient is read-only.
    """
    theirs = [None if array is None else array.astype(dtype) for array in arrays]
    arrays[1].setflags(write=False)
    gpu.run(row.rule.step, *arrays, *constants)
    gpu.reference(row.rule.step, *theirs, *constants)
    same = dtype == arrays[0].dtype and not gpu.contracts
    for got, wanted in zip(arrays, theirs, strict=True):
        if got is not None:
            assert got.dtype == arrays[0].dtype
            bound = 0 if same else (256 if dtype == got.dtype else 200) * np.finfo(got.dtype).eps
            np.testing.assert_allclose(got, wanted, rtol=0, atol=bound)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("decay", DECAYS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=5, deadline=None)
@given(
    shape=st.one_of(st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple), sizes),
    which=st.integers(0, 7),
    special=st.booleans(),
    seed=seeds,
)
def test_is_the_reference(gpu, name, shape, which, decay, dtype, special, seed):
    row, rng = ROWS[name], np.random.default_rng(seed)
    constants = row.numbers[which % len(row.numbers)]
    arrays = row.state(shape, seed, dtype, constants)
    for place, array in enumerate(arrays):
        if array is not None and special and name in EXACT and not gpu.contracts:
            spoiled = rng.choice(SPECIAL, shape).astype(dtype)
            array[...] = np.where(rng.random(shape) < 0.2, abs(spoiled) if place in row.squares else spoiled, array)
    agree(gpu, row, arrays, (*constants, *decay), dtype if name in EXACT else np.float64)


@pytest.mark.parametrize("share", [0.001, 0.7])
def test_the_running_average_of_weights(gpu, share):
    average, weights = numbers(0, 33).copy(), numbers(1, 33)
    exact = average + share * (weights.astype(np.float64) - average)
    gpu.run(update_rules.ema.step, average, weights, share)
    np.testing.assert_allclose(average, exact, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("decay", DECAYS, ids=str)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_stay_where_they_are(gpu, name, bad, decay):
    """In each array at a place of its own; the decay that is not wanted must not turn an infinite weight into NaN."""
    row = ROWS[name]
    arrays = row.state((37,), 0, numbers=row.numbers[0])
    for place, array in enumerate(arrays):
        if array is not None:
            array[3 + 5 * place] = abs(bad) if place in row.squares else bad
    agree(gpu, row, arrays, (*row.numbers[0], *decay), np.float32)


def test_what_does_not_fit_is_left_to_the_reference(gpu):
    """A gradient that would be broadcast, arrays with gaps, two dtypes."""
    adam, sgd, plain = (ROWS[name] for name in ("adam, beta1 0.9", "sgd, dampened", "sgd"))
    weights, grad, m, v = map(gpu.put, adam.state((4, 6), 0))
    with counting() as counts:
        adam.rule.step(weights, grad[:1], m, v, *adam.numbers[0], *DECAYS[0])
        adam.rule.step(weights[:, ::2], grad[:, ::2], m[:, ::2], v[:, ::2], *adam.numbers[0], *DECAYS[0])
        sgd.rule.step(weights, grad[:1], m, *sgd.numbers[0], *DECAYS[0])
        plain.rule.step(weights.astype(np.float64), grad, None, *plain.numbers[0], *DECAYS[0])
    assert dict(counts) == {("adam.step", "reference"): 2, ("sgd.step", "reference"): 2}
