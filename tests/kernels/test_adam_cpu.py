"""Adam's kernel against the reference in float64: one step from any state, in place, weight decay included."""

from typing import Any

import numpy as np
import pytest
from fast_ops import by_reference, floats, on_every_target, widened
from hypothesis import given, settings
from hypothesis import strategies as st
from optimizer_steps import adam_step

from typednn.engines import available, counting, get_threads, set_threads
from typednn.kernels import update_rules
from typednn.kernels.update_rules import How

pytestmark = pytest.mark.skipif(not available(), reason="Halide is not installed")

RULE: dict[str, Any] = {"lr": 0.01, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "step": 3}
DECAYS: list[dict[str, float]] = [{}, {"coupled": 0.3}, {"shrink": 0.9}, {"coupled": 0.3, "shrink": 0.9}]


def state(shape: tuple[int, ...], seed: int, dtype: Any = np.float32) -> list[Any]:
    rng = np.random.default_rng(seed)
    weights, grad, m = (rng.standard_normal(shape).astype(dtype) for _ in range(3))
    return [weights, grad, m, (rng.random(shape) + 0.01).astype(dtype)]


@settings(max_examples=80, deadline=None)
@given(
    shape=st.one_of(
        st.lists(st.integers(1, 19), min_size=1, max_size=4).map(tuple),
        st.sampled_from([(20001,), (262143,), (5, 60001)]),
    ),
    step=st.sampled_from([1, 2, 1000]),
    beta1=st.sampled_from([0.0, 0.5, 0.9]),
    eps=st.sampled_from([1e-8, 0.1]),
    decay=st.sampled_from(DECAYS),
    seed=st.integers(0, 2**32 - 1),
    dtype=floats,
)
def test_is_the_reference(
    shape: tuple[int, ...], step: int, beta1: float, eps: float, decay: dict[str, float], seed: int, dtype: Any
) -> None:
    arrays = state(shape, seed, dtype)
    rule = {**RULE, "beta1": beta1, "eps": eps, "step": step, **decay}
    wide = [widened(array) for array in arrays]
    before = arrays[1].copy()
    # what the mean is summed from
    summands = np.abs(wide[2]) + np.abs(wide[1]) + decay.get("coupled", 0.0) * np.abs(wide[0])
    with counting() as counts:
        adam_step(*arrays, **rule)
    assert counts == {("adam.step", "halide"): 1}
    np.testing.assert_array_equal(arrays[1], before)
    by_reference(adam_step)(*wide, **rule)
    sizes = [np.abs(array).max() for array in wide]
    # The mean may cancel: its error is in proportion to its summands, and the step carries that error into the weights.
    spread = np.sqrt(wide[3] / (1 - rule["beta2"] ** step)) + eps
    moved = rule["lr"] / (1 - beta1**step) * summands / spread
    for place, bound in ((0, np.abs(wide[0]) + moved), (2, summands), (3, sizes[3] + sizes[1] ** 2)):
        assert (np.abs(arrays[place] - wide[place]) <= 4 * np.finfo(dtype).eps * bound).all(), place


@pytest.mark.parametrize("decay", DECAYS, ids=str)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_the_references(value: float, decay: dict[str, float]) -> None:
    """In each array at a place of its own; the decay that is not wanted must not turn an infinite weight into NaN."""
    ours = state((37,), 0)
    for place, array in enumerate(ours):
        array[3 + 5 * place] = abs(value) if place == 3 else value
    theirs = [array.copy() for array in ours]
    with np.errstate(invalid="ignore"):
        adam_step(*ours, **RULE, **decay)
        by_reference(adam_step)(*theirs, **RULE, **decay)
    for got, wanted in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_the_same_bits_on_one_thread_and_two() -> None:
    threads = get_threads()
    results = []
    try:
        for count in (1, 2, 2):
            set_threads(count)
            arrays = state((3, 90_001), 1)
            adam_step(*arrays, **RULE)
            results.append([array.tobytes() for array in arrays])
    finally:
        set_threads(threads)
    assert results[0] == results[1] == results[2]


def test_the_rest_is_the_references() -> None:
    for change in (lambda array: array.astype(np.float16), lambda array: array[:, ::2]):
        ours = [change(array) for array in state((4, 6), 2)]
        theirs = [array.copy() for array in ours]
        with counting() as counts:
            adam_step(*ours, **RULE)
        assert counts == {("adam.step", "reference"): 1}
        by_reference(adam_step)(*theirs, **RULE)
        for got, wanted in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_on_every_target(tmp_path: Any) -> None:
    on_every_target(
        update_rules.adam.kernel(How((True,) * 4, (), True, True), np.float32), tmp_path, extent=1001, least=0.1
    )
