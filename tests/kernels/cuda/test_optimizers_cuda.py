"""Optimizers' steps in CUDA against the reference: in place, any state, weight decay included; NaN and infinities."""

import numpy as np
import pytest
from fast_ops import numbers, seeds
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from optimizer_steps import adam_step, sgd_step

from typednn.engines import counting
from typednn.kernels import update_rules

DECAYS = [{}, {"coupled": 0.3}, {"shrink": 0.9}, {"coupled": 0.3, "shrink": 0.9}]
MOMENTA = [
    {"momentum": 0.0, "dampening": 0.0, "nesterov": False, "first": True},
    {"momentum": 0.9, "dampening": 0.0, "nesterov": False, "first": True},
    {"momentum": 0.9, "dampening": 0.2, "nesterov": False, "first": False},
    {"momentum": 0.9, "dampening": 0.0, "nesterov": True, "first": False},
]
ADAM = {"lr": 0.01, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "step": 3}

shapes = st.one_of(
    st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple), st.sampled_from([(255,), (256,), (257,), (3, 6001)])
)


def state(shape, seed, dtype, special=False):
    """weights, grad, m and v; the gradient read-only. Unless ``special`` none is large, and v is not near 0."""
    arrays = [numbers(seed + place, *shape, special=special).astype(dtype) for place in range(4)]
    arrays[3] = np.abs(arrays[3]) + (0 if special else 0.1)
    for array in arrays:
        array.setflags(write=True)
    arrays[1].setflags(write=False)
    return arrays


def agree(gpu, op, function, arrays, **rule):
    """The step as CUDA and as the reference makes it, in place: the same bits, or where products are joined with sums
    nearly.
    """
    theirs = [array.copy() for array in arrays]
    gpu.run(op, function, *arrays, **rule)
    gpu.reference(function, *theirs, **rule)
    for got, wanted in zip(arrays, theirs, strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=0, atol=256 * np.finfo(got.dtype).eps if gpu.contracts else 0)


@settings(max_examples=60, deadline=None)
@given(
    shape=shapes,
    step=st.sampled_from([1, 2, 1000]),
    beta1=st.sampled_from([0.0, 0.5, 0.9]),
    decay=st.sampled_from(DECAYS),
    dtype=st.sampled_from([np.float32, np.float64]),
    special=st.booleans(),
    seed=seeds,
)
def test_adam_is_the_reference(gpu, shape, step, beta1, decay, dtype, special, seed):
    assume(not (special and gpu.contracts))
    agree(
        gpu,
        "adam.step",
        adam_step,
        state(shape, seed, dtype, special),
        **{**ADAM, "beta1": beta1, "step": step, **decay},
    )


@settings(max_examples=60, deadline=None)
@given(
    shape=shapes,
    momentum=st.sampled_from(MOMENTA),
    decay=st.sampled_from(DECAYS),
    dtype=st.sampled_from([np.float32, np.float64]),
    special=st.booleans(),
    seed=seeds,
)
def test_sgd_is_the_reference(gpu, shape, momentum, decay, dtype, special, seed):
    assume(not (special and gpu.contracts))
    arrays = state(shape, seed, dtype, special)[:3]
    if momentum["momentum"] == 0:
        arrays = arrays[:2]

        def step(weights, grad, **rule):
            sgd_step(weights, grad, None, **rule)
    else:
        step = sgd_step
    agree(gpu, "sgd.step", step, arrays, lr=0.1, **momentum, **decay)


# Of each rule: which arrays there are after weights and gradient, and its numbers.
RULES = {
    "rmsprop": ([True, False, False], (0.01, 0.99, 0.01, 1e-8, 0.0)),
    "rmsprop centered, with momentum": ([True, True, True], (0.01, 0.9, 0.1, 1e-8, 0.9)),
    "adagrad": ([True], (0.01, 1e-10)),
    "adadelta": ([True, True], (1.0, 0.9, 0.1, 1e-6)),
    "amsgrad": ([True, True, True], (0.01, 0.6, 0.999, 0.001, 0.05, 1e-8)),
    "lion": ([True], (0.01, 0.9, 0.1, 0.99, 0.01)),
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("decay", DECAYS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_rule_is_the_reference(gpu, name, decay, dtype):
    kept, constants = RULES[name]
    rule = getattr(update_rules, name.partition(" ")[0])
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((7, 41)).astype(dtype) for _ in range(2)]
    # Sums of squares; a mean is small, so that the variance is well above 0.
    arrays += [
        (rng.random((7, 41)) + 1 if place != 1 else rng.random((7, 41)) / 4).astype(dtype) if there else None
        for place, there in enumerate(kept)
    ]
    theirs = [None if array is None else array.astype(np.float64) for array in arrays]
    arrays[1].setflags(write=False)
    decays = decay.get("coupled", 0.0), decay.get("shrink", 1.0)
    gpu.run(f"{rule.name}.step", rule.step, *arrays, *constants, *decays)
    gpu.reference(rule.step, *theirs, *constants, *decays)
    for got, wanted in zip(arrays, theirs, strict=True):
        if got is not None:
            assert got.dtype == dtype
            np.testing.assert_allclose(got, wanted, rtol=0, atol=200 * np.finfo(dtype).eps)


@pytest.mark.parametrize("share", [0.001, 0.7])
def test_the_running_average_of_weights(gpu, share):
    average, weights = numbers(0, 33).copy(), numbers(1, 33)
    exact = average + share * (weights.astype(np.float64) - average)
    gpu.run("ema.step", update_rules.ema.step, average, weights, share)
    np.testing.assert_allclose(average, exact, rtol=0, atol=1e-6)


@pytest.mark.parametrize("decay", DECAYS, ids=str)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_stay_where_they_are(gpu, bad, decay):
    """In each array at a place of its own; the decay that is not wanted must not turn an infinite weight into NaN."""
    for op, function, count, rule in (
        ("adam.step", adam_step, 4, ADAM),
        ("sgd.step", sgd_step, 3, {"lr": 0.1, **MOMENTA[2]}),
        ("sgd.step", sgd_step, 3, {"lr": 0.1, **MOMENTA[1]}),  # the first step, which doesn't read the velocity
    ):
        arrays = [array.copy() for array in state((37,), 0, np.float32)[:count]]
        for place, array in enumerate(arrays):
            array[3 + 5 * place] = abs(bad) if place == 3 else bad
        arrays[1].setflags(write=False)
        agree(gpu, op, function, arrays, **rule, **decay)


def test_what_does_not_fit_is_left_to_the_reference(gpu):
    """A gradient that would be broadcast, arrays with gaps, two dtypes."""
    weights, grad, m, v = (gpu.put(array) for array in state((4, 6), 0, np.float32))
    rule = {"lr": 0.1, **MOMENTA[2]}
    with counting() as counts:
        adam_step(weights, grad[:1], m, v, **ADAM)
        adam_step(weights[:, ::2], grad[:, ::2], m[:, ::2], v[:, ::2], **ADAM)
        sgd_step(weights, grad[:1], m, **rule)
        sgd_step(weights.astype(np.float64), grad, None, lr=0.1, **MOMENTA[0])
    assert dict(counts) == {("adam.step", "reference"): 2, ("sgd.step", "reference"): 2}
