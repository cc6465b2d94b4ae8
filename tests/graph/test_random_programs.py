"""A few hundred random programs; the long run is ``python -m tests.graph.random_programs``."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.graph.random_programs import Maker, compare
from typednn.engines import using
from typednn.graph import interpreter
from typednn.graph.operations import OPERATIONS
from typednn.graph.passes import PASSES, without_passes


def compare_all(seeds: range) -> None:
    for seed in seeds:
        compare(seed)


@pytest.mark.parametrize("hundred", range(4))
def test_interpreted_programs_equal_numpy(hundred: int) -> None:
    """X-A14: in place of zyx's fuzzer; within bounds of rounding."""
    with using("reference"):
        compare_all(range(100 * hundred, 100 * hundred + 100))


def test_programs_equal_numpy() -> None:
    """X-A14: on the engine that runs where nothing else is said."""
    for seed in range(1000, 1030):
        compare(seed, steps=8)


@pytest.mark.parametrize("left_out", [[name] for name in PASSES] + [[]], ids=[*PASSES, "all"])
def test_results_are_equal_without_passes(left_out: list[str]) -> None:
    """X-A9: each pass left out, one at a time, and all of them at once."""
    with using("reference"), without_passes(*left_out):
        compare_all(range(60))


def wrong(right: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose results are wrong, by a thousandth or by one."""

    def changed(*given: Any) -> Any:
        y = np.asarray(right(*given))
        return (
            ~y
            if y.dtype.kind == "b"
            else y + y.dtype.type(1)
            if y.dtype.kind in "iu"
            else y * y.dtype.type(1.001) + y.dtype.type(1e-3)
        )

    return changed


EACH = [(kind, each) for kind, operations in OPERATIONS.items() for each in operations]


@pytest.mark.parametrize(("kind", "operation"), EACH, ids=[each.name for _, each in EACH])
def test_a_wrong_operation_is_found(kind: int, operation: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """X-A14: the programs use every operation, and their bounds are narrow enough to tell."""
    functions = interpreter.VALUES[kind]
    monkeypatch.setitem(functions, operation, wrong(functions[operation]))
    with using("reference"), pytest.raises(AssertionError, match="program"):
        compare_all(range(400))


def test_programs_are_of_all_dtypes_and_ranks() -> None:
    drawn: Counter[Any] = Counter()
    for seed in range(200):
        maker = Maker(seed)
        with np.errstate(all="ignore"):
            maker.grow(12)
        for value in maker.values:
            drawn.update([value.array.dtype.name, value.array.ndim, value.array.size == 0, value.error is None])
    assert {name for name in drawn if isinstance(name, str)} == {
        "bool",
        "int8",
        "uint8",
        "int32",
        "uint32",
        "int64",
        "float32",
        "float64",
    }
    assert all(drawn[rank] > 20 for rank in range(5))
    assert drawn[True] > 20
