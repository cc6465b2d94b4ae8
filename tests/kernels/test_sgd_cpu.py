"""SGD's kernels against the reference in float64: one step from any state, in place, weight decay included."""

from typing import Any

import numpy as np
import pytest
from fast_ops import by_reference, floats, on_every_target, widened
from hypothesis import example, given, settings
from hypothesis import strategies as st
from optimizer_steps import sgd_step

from typednn.engines import available, counting, get_threads, set_threads
from typednn.kernels import update_rules
from typednn.kernels.update_rules import How

pytestmark = pytest.mark.skipif(not available(), reason="Halide is not installed")

RULES: list[dict[str, Any]] = [
    {"momentum": 0.0, "dampening": 0.0, "nesterov": False, "first": True},
    {"momentum": 0.9, "dampening": 0.0, "nesterov": False, "first": True},
    {"momentum": 0.9, "dampening": 0.0, "nesterov": False, "first": False},
    {"momentum": 0.9, "dampening": 0.3, "nesterov": False, "first": False},
    {"momentum": 0.9, "dampening": 0.0, "nesterov": True, "first": True},
    {"momentum": 0.5, "dampening": 0.0, "nesterov": True, "first": False},
]
DECAYS: list[dict[str, float]] = [{}, {"coupled": 0.3}, {"shrink": 0.9}, {"coupled": 0.3, "shrink": 0.9}]


def state(shape: tuple[int, ...], seed: int, rule: dict[str, Any], dtype: Any = np.float32) -> list[Any]:
    rng = np.random.default_rng(seed)
    weights, grad, velocity = (rng.standard_normal(shape).astype(dtype) for _ in range(3))
    if rule["first"]:
        velocity[...] = np.nan  # not read
    return [weights, grad, velocity if rule["momentum"] else None]


@settings(max_examples=100, deadline=None)
@given(
    shape=st.one_of(
        st.lists(st.integers(1, 19), min_size=1, max_size=4).map(tuple),
        st.sampled_from([(20001,), (262143,), (5, 60001)]),
    ),
    rule=st.sampled_from(RULES),
    decay=st.sampled_from(DECAYS),
    seed=st.integers(0, 2**32 - 1),
    dtype=floats,
)
# the velocity needs the weights that were
@example(shape=(5, 60001), rule=RULES[1], decay={"coupled": 0.3}, seed=0, dtype=np.float32)
def test_is_the_reference(
    shape: tuple[int, ...], rule: dict[str, Any], decay: dict[str, float], seed: int, dtype: Any
) -> None:
    arrays = state(shape, seed, rule, dtype)
    wide = [widened(array) for array in arrays]
    start, before = np.abs(wide[0]), arrays[1].copy()
    earlier = np.zeros(shape) if rule["first"] or wide[2] is None else np.abs(wide[2])
    with counting() as counts:
        sgd_step(*arrays, lr=0.1, **rule, **decay)
    assert counts == {("sgd.step", "halide"): 1}
    np.testing.assert_array_equal(arrays[1], before)
    by_reference(sgd_step)(*wide, lr=0.1, **rule, **decay)
    size = start + np.abs(before) + earlier
    for got, wanted in zip((arrays[0], arrays[2]), (wide[0], wide[2]), strict=True):
        if got is not None:
            assert (np.abs(got - wanted) <= 8 * np.finfo(dtype).eps * size).all()


@pytest.mark.parametrize("decay", DECAYS, ids=str)
@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_the_references(value: float, rule: dict[str, Any], decay: dict[str, float]) -> None:
    """In each array at a place of its own; the decay that is not wanted must not turn an infinite weight into NaN."""
    ours = state((37,), 0, rule)
    for place, array in enumerate(ours):
        if array is not None:
            array[3 + 5 * place] = value
    theirs = [None if array is None else array.copy() for array in ours]
    with np.errstate(invalid="ignore"):
        sgd_step(*ours, lr=0.1, **rule, **decay)
        by_reference(sgd_step)(*theirs, lr=0.1, **rule, **decay)
    for got, wanted in zip(ours, theirs, strict=True):
        if got is not None:
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_same_bits_on_one_thread_and_two(rule: dict[str, Any]) -> None:
    threads = get_threads()
    results = []
    try:
        for count in (1, 2, 2):
            set_threads(count)
            arrays = state((3, 90_001), 1, rule)
            sgd_step(*arrays, lr=0.1, **rule)
            results.append([array.tobytes() for array in arrays if array is not None])
    finally:
        set_threads(threads)
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_rest_is_the_references(rule: dict[str, Any]) -> None:
    for change in (lambda array: array.astype(np.float16), lambda array: array[:, ::2]):
        ours = [None if array is None else change(array) for array in state((4, 6), 2, rule)]
        theirs = [None if array is None else array.copy() for array in ours]
        with counting() as counts:
            sgd_step(*ours, lr=0.1, **rule)
        assert counts == {("sgd.step", "reference"): 1}
        by_reference(sgd_step)(*theirs, lr=0.1, **rule)
        for got, wanted in zip(ours, theirs, strict=True):
            if got is not None:
                np.testing.assert_array_equal(got, wanted)


def test_on_every_target(tmp_path: Any) -> None:
    plain, moving = (True, True, False), (True, True, True)
    for present, flags, decays in (
        (plain, (False, True), True),
        (moving, (True, True), True),
        (moving, (False, False), False),
    ):
        on_every_target(update_rules.sgd.kernel(How(present, flags, decays, decays), np.float32), tmp_path, extent=1001)
