"""Update rules of optimizers: each kernel against the reference in more digits; in place, with NaN and infinity, weight
decay included.
"""

import pickle  # noqa: TID251  # what jobs of the compiler go through
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fast_ops import by_reference, floats, needs_halide, on_every_target, quiet, same_on_all_threads, widened
from hypothesis import example, given, settings
from hypothesis import strategies as st
from update_rows import DECAYS, ROWS, Row

from typednn.engines import counting
from typednn.kernels import update_rules
from typednn.kernels.update_rules import How, Rule

each_rule = pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
LARGE = [(20001,), (262143,), (262145,), (5, 60001)]


@needs_halide
@each_rule
@settings(max_examples=27, deadline=None)
@given(
    shape=st.one_of(st.lists(st.integers(1, 19), min_size=1, max_size=4).map(tuple), st.sampled_from(LARGE)),
    which=st.integers(0, 7),
    decay=st.sampled_from(DECAYS),
    seed=st.integers(0, 2**32 - 1),
    dtype=floats,
)
# the velocity needs the weights that were
@example(shape=(5, 60001), which=0, decay=DECAYS[1], seed=0, dtype=np.float32)
def test_is_the_reference(
    row: Row, shape: tuple[int, ...], which: int, decay: tuple[float, float], seed: int, dtype: Any
) -> None:
    rule, numbers = row.rule, row.numbers[which % len(row.numbers)]
    ours = row.state(shape, seed, dtype, numbers)
    if rule is update_rules.lion:  # where the sum is nearly 0, rounding decides the sign
        ours[1][np.abs(0.9 * ours[2] + 0.1 * (ours[1] + decay[0] * ours[0])) < 1e-3] += 1
    wide, before = [widened(array) for array in ours], ours[1].copy()
    bounds = row.bound([widened(array) for array in ours], numbers, decay)
    with counting() as counts:
        rule.step(*ours, *numbers, *decay)
    assert counts == {(f"{rule.name}.step", "halide"): 1}
    np.testing.assert_array_equal(ours[1], before)
    by_reference(rule.step)(*wide, *numbers, *decay)
    for place, (got, wanted, bound) in enumerate(zip(ours, wide, bounds, strict=True)):
        if got is not None:
            assert (np.abs(got - wanted) <= np.finfo(dtype).eps * bound).all(), place


@needs_halide
@quiet
@each_rule
@pytest.mark.parametrize("decay", DECAYS, ids=str)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_the_references(row: Row, decay: tuple[float, float], value: float) -> None:
    """In each array at a place of its own; the decay that is not wanted must not turn an infinite weight into NaN."""
    numbers = row.numbers[0]
    ours = row.state((43,), 0, numbers=numbers)
    for place, array in enumerate(ours):
        if array is not None:
            array[3 + 5 * place] = abs(value) if place in row.squares else value
    theirs = [None if array is None else array.copy() for array in ours]
    row.rule.step(*ours, *numbers, *decay)
    by_reference(row.rule.step)(*theirs, *numbers, *decay)
    for got, wanted in zip(ours, theirs, strict=True):
        if got is not None:
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=0 if row.rule is update_rules.adam else 1e-6)
    if not decay[0]:
        np.testing.assert_array_equal(theirs[0][3], value)
        assert all(np.isfinite(array[3]) for array in theirs[1:] if array is not None)


@needs_halide
@quiet
@each_rule
@pytest.mark.parametrize("decay", DECAYS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_slice_has_the_bits_of_the_whole_and_of_the_reference(
    row: Row, decay: tuple[float, float], dtype: Any
) -> None:
    """And of the reference: wherever it begins, and on either side of the size from which several threads work."""
    numbers = row.numbers[-1]
    whole = row.state((300_007,), 3, dtype, numbers)
    slices, plain = ([None if array is None else array.copy() for array in whole] for _ in range(2))
    for begin, end in ((0, 1), (1, 38), (38, 37_001), (37_001, 300_007)):
        cut = [None if array is None else array[begin:end] for array in slices]
        row.rule.step(*cut, *numbers, *decay)
    row.rule.step(*whole, *numbers, *decay)
    by_reference(row.rule.step)(*plain, *numbers, *decay)
    for ours, other, expected in zip(slices, whole, plain, strict=True):
        assert (ours is None) == (other is None) == (expected is None)
        if ours is not None and other is not None and expected is not None:
            assert ours.tobytes() == other.tobytes() == expected.tobytes()


@needs_halide
@each_rule
def test_the_same_bits_on_one_thread_and_two(row: Row) -> None:
    def stepped() -> list[Any]:
        arrays = row.state((3, 90_001), 1, numbers=row.numbers[0])
        row.rule.step(*arrays, *row.numbers[0], *DECAYS[0])
        return arrays

    same_on_all_threads(stepped)


@each_rule
@pytest.mark.parametrize("change", [lambda array: array.astype(np.float16), lambda array: array[:, ::2]])
def test_the_rest_is_the_references(row: Row, change: Callable[[Any], Any]) -> None:
    """Half precision and arrays that are not contiguous; all are written in place, and those that are None stay so."""
    state = row.state((4, 6), 2, numbers=row.numbers[0])
    ours = [None if array is None else change(array) for array in state]
    theirs = [None if array is None else array.copy() for array in ours]
    with counting() as counts:
        row.rule.step(*ours, *row.numbers[0], *DECAYS[1])
    assert counts == {(f"{row.rule.name}.step", "reference"): 1}
    by_reference(row.rule.step)(*theirs, *row.numbers[0], *DECAYS[1])
    for got, wanted in zip(ours, theirs, strict=True):
        if got is not None:
            np.testing.assert_array_equal(got, wanted)


# A rule, the arrays that there are, its flags, whether weights decay in either way, and the least of all numbers.
COMPILED = [
    ("sgd", (True, True, False), (False, True), (True, True), -1.0),
    ("sgd", (True, True, True), (True, True), (True, True), -1.0),
    ("sgd", (True, True, True), (False, False), (False, False), -1.0),
    ("adam", (True,) * 4, (), (True, True), 0.1),
    ("rmsprop", (True, True, True, False, False), (), (True, False), 0.3),
    ("rmsprop", (True, True, True, False, True), (), (True, False), 0.3),  # of random arrays the variance may be < 0
    ("adagrad", (True,) * 3, (), (True, False), 0.3),
    ("adadelta", (True,) * 4, (), (True, False), 0.3),
    ("amsgrad", (True,) * 5, (), (True, False), 0.3),
    ("lion", (True,) * 3, (), (True, False), 0.3),
]


@needs_halide
@pytest.mark.parametrize(("name", "present", "flags", "decays", "least"), COMPILED)
def test_on_every_target(
    name: str, present: tuple[bool, ...], flags: tuple[bool, ...], decays: Any, least: float, tmp_path: Any
) -> None:
    rule: Rule = getattr(update_rules, name)
    on_every_target(rule.kernel(How(present, flags, *decays), np.float32), tmp_path, extent=1001, least=least)


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
