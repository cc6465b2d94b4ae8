"""An op runs the first engine that covers its arguments, else its reference; observers are told the same."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from typednn.engines import counting
from typednn.kernels.op import OPS, Engine, op

F32, F64, U8 = (np.dtype(name) for name in ("float32", "float64", "uint8"))


def on(*arrays: Any, dtypes: tuple[np.dtype[Any], ...] = (F32,)) -> bool:
    return all(array is None or array.dtype in dtypes for array in arrays) and arrays[0] is not None


def reference(x: Any, other: Any = None, index: Any = None, factor: float = 2.0) -> Any:
    return "reference", factor


@pytest.fixture
def declare() -> Iterator[Callable[..., Callable[..., Any]]]:
    """A function that declares an op, and tells which engine ran: by its result, and by what observers are told."""

    def declared(*engines: tuple[str, str, dict[str, Any]], of: Any = reference, **more: Any) -> Callable[..., Any]:
        made = [
            Engine(name, lambda *given, name=name: (name, given[-1]), arrays, on=on, **rules)
            for name, arrays, rules in engines
        ]
        run = op("test.op", of, *made, flops=lambda *_: 0, **more)

        def told(*given: Any, **named: Any) -> Any:
            name, factor = run(*given, **named)
            with counting() as counts:
                assert run(*given, **named) == (name, factor)
            assert dict(counts) == {("test.op", name): 1}
            return name if factor == 2.0 else (name, factor)

        return told

    yield declared
    OPS.pop("test.op", None)


def ones(*shape: int, dtype: Any = F32) -> Any:
    return np.ones(shape, dtype)


def test_the_first_engine_that_covers_the_arrays(declare: Any) -> None:
    run = declare(("first", "x other", {}), ("second", "x", {}))
    assert run(ones(2)) == "first"  # what is None is no obstacle
    assert run(ones(2), ones(3)) == "first"
    assert run(ones(2), ones(3, dtype=F64)) == "second"
    assert run(ones(2, dtype=F64)) == "reference"
    assert declare()(ones(2)) == "reference"


def test_arguments_by_position_by_name_and_left_out(declare: Any) -> None:
    run = declare(("first", "x", {}))
    assert run(ones(2), None, None, 3.0) == run(ones(2), factor=3.0) == run(factor=3.0, x=ones(2)) == ("first", 3.0)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        run()
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        run(ones(2), z=1)


def test_any_number_of_arguments(declare: Any) -> None:
    run = declare(
        ("first", "x", {"sizes": lambda x, *others: len(others) < 3}), of=lambda x, *others: ("reference", others[-1])
    )
    assert run(ones(2), 5.0, 6.0) == ("first", 6.0)
    assert run(ones(2), 5.0, 6.0, 7.0) == ("reference", 7.0)


def test_every_rule_of_an_engine(declare: Any) -> None:
    least = declare(("first", "x", {"least": 3}))
    assert (least(ones(3)), least(ones(2))) == ("first", "reference")
    same_shape = declare(("first", "x other", {"same_shape": True}))
    assert (same_shape(ones(3), ones(3)), same_shape(ones(3)), same_shape(ones(3), ones(3, 1))) == (
        "first",
        "first",
        "reference",
    )
    aligned = declare(("first", "x", {"aligned": True}))
    crooked = np.frombuffer(bytearray(9), np.float32, 2, offset=1)
    assert (aligned(ones(2)), aligned(crooked), declare(("first", "x", {}))(crooked)) == ("first", "reference", "first")
    others = declare(("first", "x", {"others": {"index": "uint8 int64"}}))
    assert (others(ones(2), index=ones(2, dtype=U8)), others(ones(2), index=ones(2)), others(ones(2))) == (
        "first",
        "reference",
        "first",
    )
    sizes = declare(("first", "x", {"sizes": lambda x, other, index, factor: x.shape[0] < factor}))
    assert (sizes(ones(1)), sizes(ones(2)), sizes(ones(2), factor=3.0)) == ("first", "reference", ("first", 3.0))


def test_a_number_of_flops_is_for_each_number_of_the_first_argument() -> None:
    for flops in (0, 3):
        run: Any = op("test.op", lambda x, factor: x * factor, flops=flops)
        assert run.op.flops(np.ones((2, 5)), 7.0) == 10 * flops


def test_what_the_reference_gives_is_written_where_an_engine_would(declare: Any) -> None:
    run: Any = op("test.op", lambda weights, state: (weights + 1, None), flops=lambda *_: 0, writes="weights state")
    weights, state = ones(2), ones(2)
    assert run(weights, state) is None
    assert (weights.tolist(), state.tolist()) == ([2, 2], [1, 1])
