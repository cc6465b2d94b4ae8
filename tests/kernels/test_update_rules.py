"""Update rules of optimizers: each kernel against the reference in more digits; in place, with NaN and infinity, weight
decay included.
"""

import pickle  # noqa: TID251  # what jobs of the compiler go through
from typing import Any

import numpy as np
import pytest
from fast_ops import by_reference, floats, on_every_target, widened
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.engines import available, counting, get_threads, set_threads
from typednn.kernels import update_rules
from typednn.kernels.update_rules import How, Rule

needs_halide = pytest.mark.skipif(not available(), reason="Halide is not installed")

# Of each rule: the arrays that there are, after weights and gradient, and its numbers.
ROWS: dict[str, tuple[Rule, list[bool], tuple[float, ...]]] = {
    "rmsprop": (update_rules.rmsprop, [True, False, False], (0.01, 0.99, 0.01, 1e-8, 0.0)),
    "rmsprop centered, momentum": (update_rules.rmsprop, [True, True, True], (0.01, 0.9, 0.1, 1e-8, 0.9)),
    "adagrad": (update_rules.adagrad, [True], (0.01, 1e-10)),
    "adadelta": (update_rules.adadelta, [True, True], (1.0, 0.9, 0.1, 1e-6)),
    "amsgrad": (update_rules.amsgrad, [True, True, True], (0.01, 0.1, 0.999, 0.001, 0.05, 1e-8)),
    "lion": (update_rules.lion, [True], (0.01, 0.9, 0.1, 0.99, 0.01)),
}
DECAYS = [(0.0, 1.0), (0.3, 1.0), (0.0, 0.9)]
each_rule = pytest.mark.parametrize(("rule", "kept", "numbers"), ROWS.values(), ids=list(ROWS))


def state(kept: list[bool], shape: tuple[int, ...], seed: int, dtype: Any = np.float32) -> list[Any]:
    """Weights and gradient of both signs, then sums of squares; a mean is small, so that the variance
    is well above 0.
    """
    rng = np.random.default_rng(seed)
    both = [rng.standard_normal(shape).astype(dtype) for _ in range(2)]
    return both + [
        (rng.random(shape) + 1 if place != 1 else rng.random(shape) / 4).astype(dtype) if there else None
        for place, there in enumerate(kept)
    ]


def differences(ours: list[Any], theirs: list[Any]) -> list[float]:
    return [float(np.abs(a - b).max()) for a, b in zip(ours, theirs, strict=True) if a is not None]


@needs_halide
@each_rule
@settings(max_examples=12, deadline=None)
@given(
    shape=st.one_of(
        st.lists(st.integers(1, 19), min_size=1, max_size=3).map(tuple), st.sampled_from([(20001,), (262145,)])
    ),
    decay=st.sampled_from(DECAYS),
    seed=st.integers(0, 2**32 - 1),
    dtype=floats,
)
def test_is_the_reference(
    rule: Rule,
    kept: list[bool],
    numbers: tuple[float, ...],
    shape: tuple[int, ...],
    decay: tuple[float, float],
    seed: int,
    dtype: Any,
) -> None:
    ours = state(kept, shape, seed, dtype)
    if rule is update_rules.lion:  # where the sum is nearly 0, rounding decides the sign
        ours[1][np.abs(0.9 * ours[2] + 0.1 * (ours[1] + decay[0] * ours[0])) < 1e-3] += 1
    wide, before = [widened(array) for array in ours], ours[1].copy()
    with counting() as counts:
        rule.step(*ours, *numbers, *decay)
    assert counts == {(f"{rule.name}.step", "halide"): 1}
    np.testing.assert_array_equal(ours[1], before)
    by_reference(rule.step)(*wide, *numbers, *decay)
    # All numbers are below 20, and what they are divided by is above 0.4.
    assert max(differences(ours, wide)) <= 200 * np.finfo(dtype).eps


@needs_halide
@each_rule
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_nan_and_infinity_are_the_references(
    rule: Rule, kept: list[bool], numbers: tuple[float, ...], value: float
) -> None:
    """In each array at a place of its own; the decay that is not wanted must not turn an infinite weight into NaN."""
    for decay in DECAYS[:2]:
        ours = state(kept, (43,), 0)
        for place, array in enumerate(ours):
            if array is not None:
                array[3 + 5 * place] = abs(value) if place >= 2 else value
        theirs = [None if array is None else array.copy() for array in ours]
        rule.step(*ours, *numbers, *decay)
        by_reference(rule.step)(*theirs, *numbers, *decay)
        for got, wanted in zip(ours, theirs, strict=True):
            if got is not None:
                np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
        if not decay[0]:
            np.testing.assert_array_equal(theirs[0][3], value)
            assert all(np.isfinite(array[3]) for array in theirs[1:] if array is not None)


@needs_halide
@each_rule
def test_the_same_bits_on_one_thread_and_two(rule: Rule, kept: list[bool], numbers: tuple[float, ...]) -> None:
    threads = get_threads()
    results = []
    try:
        for count in (1, 2, 2):
            set_threads(count)
            arrays = state(kept, (3, 90_001), 1)
            rule.step(*arrays, *numbers, *DECAYS[0])
            results.append([array.tobytes() for array in arrays if array is not None])
    finally:
        set_threads(threads)
    assert results[0] == results[1] == results[2]


@each_rule
def test_the_rest_is_the_references(rule: Rule, kept: list[bool], numbers: tuple[float, ...]) -> None:
    """Half precision and arrays that are not contiguous; all are written in place, and those that are None stay so."""
    for change in (lambda array: array.astype(np.float16), lambda array: array[:, ::2]):
        ours = [None if array is None else change(array) for array in state(kept, (4, 6), 2)]
        theirs = [None if array is None else array.copy() for array in ours]
        with counting() as counts:
            rule.step(*ours, *numbers, *DECAYS[1])
        assert counts == {(f"{rule.name}.step", "reference"): 1}
        by_reference(rule.step)(*theirs, *numbers, *DECAYS[1])
        for got, wanted in zip(ours, theirs, strict=True):
            if got is not None:
                np.testing.assert_array_equal(got, wanted)


@needs_halide
@each_rule
def test_on_every_target(rule: Rule, kept: list[bool], numbers: tuple[float, ...], tmp_path: Any) -> None:
    if rule is update_rules.rmsprop:
        kept = [True, False, kept[2]]  # of random arrays, the variance may be negative
    on_every_target(
        rule.kernel(How((True, True, *kept), (), True, False), np.float32), tmp_path, extent=1001, least=0.3
    )


@needs_halide
def test_an_average() -> None:
    """What stays of the average, and the share of the new weights, by hand; the weights are not written."""
    for dtype in (np.float32, np.float64):
        average, weights = np.array([1.0, -2.0, 4.0] * 7, dtype), np.array([3.0, 2.0, 4.0] * 7, dtype)
        weights.setflags(write=False)
        with counting() as counts:
            update_rules.ema.step(average, weights, 0.25)
        assert counts == {("ema.step", "halide"): 1}
        np.testing.assert_array_equal(average, np.array([1.5, -1.0, 4.0] * 7, dtype))


def test_rules_are_pickled_by_name() -> None:
    """Kernels are compiled in other processes, which get the rule as an option of its kernel."""
    for name in ("sgd", "adam", "rmsprop", "adagrad", "adadelta", "amsgrad", "lion", "ema"):
        rule = getattr(update_rules, name)
        assert rule.name == name
        assert pickle.loads(pickle.dumps(rule)) is rule
