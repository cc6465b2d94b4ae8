"""Frames: prepared once for each shape, never shared by two threads, and checked again where an array
may be another.
"""

from __future__ import annotations

import gc
import sys
import threading
from typing import Any

import numpy as np
import pytest

from typednn.engines import Array, Scalar, hl
from typednn.engines.halide import compiled, frames, toolchain
from typednn.engines.halide.compiled import Kernel, kernel
from typednn.engines.halide.frames import Frame
from typednn.errors import DTypeError, ShapeError

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="needs Halide")


def scaled(cpu: Any, x: Any, weight: Any, bias: Any) -> Any:
    column, row, y = hl.Var("column"), hl.Var("row"), hl.Func("y")
    y[column, row] = x[column, row] * weight[column] + bias[column]
    return y.vectorize(column, cpu.lanes, hl.TailStrategy.GuardWithIf)


def moved(cpu: Any, x: Any, velocity: Any, rate: Any) -> Any:
    i, y, at = hl.Var("i"), hl.Func("y"), hl.Func("at")
    at[i] = hl.Tuple([x[i] + rate * velocity[i], velocity[i] * hl.f32(2)])
    y[i] = hl.Tuple([at[i][0], at[i][1], at[i][0] + at[i][1]])
    at.compute_at(y, i).store_in(hl.MemoryType.Stack)
    return y


@pytest.fixture(params=["linked", "in memory"])
def in_memory(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param == "in memory":
        monkeypatch.setattr(toolchain, "linkers", lambda: ())
    return request.param == "in memory"


@pytest.fixture
def learnt(in_memory: bool) -> Kernel:
    rows, features = Array("batch", 5), Array(5, parameter=True)
    return Kernel(kernel("test.scaled", scaled, inputs=(rows, features, features), outputs=(rows,)).plan)


@pytest.fixture
def in_place(in_memory: bool) -> Kernel:
    flat = Array("size", flat=True)
    plan = kernel("test.moved", moved, inputs=(flat, flat, Scalar()), outputs=(flat, flat, flat), written=(0, 1)).plan
    return Kernel(plan)


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What frames were prepared for."""
    seen: list[Any] = []
    real = Frame.fit

    def fit(self: Frame, arguments: Any) -> None:
        seen.append([getattr(argument, "shape", None) for argument in arguments])
        real(self, arguments)

    monkeypatch.setattr(Frame, "fit", fit)
    return seen


def rows(batch: int, seed: int = 0) -> Any:
    return np.random.default_rng([seed, batch]).standard_normal((batch, 5)).astype(np.float32)


def test_shapes_take_turns(fits: list[Any]) -> None:
    flat = Array("size", flat=True)
    each = Kernel(
        kernel("test.moved", moved, inputs=(flat, flat, Scalar()), outputs=(flat, flat, flat), written=(0, 1)).plan
    )
    for turn in range(3):
        for shape in ((3,), (2, 5), (7,), (5, 2)):
            x, velocity, out = np.full(shape, turn, np.float32), np.ones(shape, np.float32), np.empty(shape, np.float32)
            each(x, velocity, 3.0, out)
            np.testing.assert_array_equal(x, turn + 3)
            np.testing.assert_array_equal(out, turn + 5)
    assert len(fits) == 4


def test_shapes_that_always_change_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_SHAPES", 4)
    flat = Array("size", flat=True)
    each = Kernel(
        kernel("test.moved", moved, inputs=(flat, flat, Scalar()), outputs=(flat, flat, flat), written=(0, 1)).plan
    )
    each(np.zeros(1, np.float32), np.ones(1, np.float32), 1.0, np.empty(1, np.float32))
    known = each.call.__globals__["frames"]
    for size in range(1, 30):
        x, velocity, out = np.zeros(size, np.float32), np.ones(size, np.float32), np.empty(size, np.float32)
        each(x, velocity, 1.0, out)
        assert out.tolist() == [3.0] * size
        assert 1 <= len(known) <= 4


def test_flat_arrays_of_one_size_and_several_shapes(in_place: Kernel) -> None:
    for shape in ((6,), (2, 3), (3, 2), (6,)):
        x, velocity, out = np.zeros((2, 3), np.float32), np.ones(shape, np.float32), np.empty(6, np.float32)
        in_place(x, velocity, 1.0, out)
        assert out.tolist() == [3.0] * 6
    with pytest.raises(ShapeError):
        in_place(x, np.ones(5, np.float32), 1.0, out)


def test_written_over(in_place: Kernel) -> None:
    x, velocity, out = np.arange(9, dtype=np.float32), np.ones(9, np.float32), np.empty(9, np.float32)
    in_place(x, velocity, 0.5, out)
    np.testing.assert_array_equal(x, np.arange(9) + 0.5)
    np.testing.assert_array_equal(velocity, [2] * 9)
    np.testing.assert_array_equal(out, np.arange(9) + 2.5)
    before = x.copy()
    velocity.setflags(write=False)
    with pytest.raises(ShapeError, match="output 1: must be C-contiguous, aligned and writeable"):
        in_place(x, velocity, 0.5, out)
    np.testing.assert_array_equal(x, before)


def test_a_parameter_may_change_and_its_values_as_well(learnt: Kernel) -> None:
    weight, bias = np.ones(5, np.float32), np.zeros(5, np.float32)
    for batch in (2, 3, 2):
        x, y = rows(batch), np.empty((batch, 5), np.float32)
        learnt(x, weight, bias, y)
        np.testing.assert_allclose(y, x * weight + bias, rtol=1e-5, atol=1e-6)
        bias += 1
        learnt(x, weight, bias, y)
        np.testing.assert_allclose(y, x * weight + bias, rtol=1e-5, atol=1e-6)
        weight = weight + 1  # another array, whose predecessor's memory may be taken for something else
        gc.collect()
        learnt(x, weight, bias, y)
        np.testing.assert_allclose(y, x * weight + bias, rtol=1e-5, atol=1e-6)


def test_two_owners_of_parameters_take_turns(learnt: Kernel) -> None:
    x, y = rows(4), np.empty((4, 5), np.float32)
    owners = [(rows(1, seed)[0].copy(), rows(1, seed + 9)[0].copy()) for seed in range(3)]
    for _ in range(3):
        for weight, bias in owners:
            learnt(x, weight, bias, y)
            np.testing.assert_allclose(y, x * weight + bias, rtol=1e-5, atol=1e-6)


def test_every_new_parameter_is_checked(learnt: Kernel) -> None:
    x, y = rows(2), np.full((2, 5), 7, np.float32)
    weight, bias = np.ones(5, np.float32), np.zeros(5, np.float32)
    learnt(x, weight, bias, y)
    before = y.copy()
    wrong: list[Any] = [np.ones(4, np.float32), np.ones(5), np.ones(10, np.float32)[::2], [1.0] * 5, None]
    for other in wrong:
        for arguments in ((x, other, bias, y), (x, weight, other, y)):
            with pytest.raises((ShapeError, DTypeError)):
                learnt(*arguments)
    np.testing.assert_array_equal(y, before)


def test_none_is_no_array_after_one_has_gone(learnt: Kernel) -> None:
    x, y = rows(2), np.empty((2, 5), np.float32)
    learnt(x, np.ones(5, np.float32), np.zeros(5, np.float32), y)
    gc.collect()
    with pytest.raises(DTypeError):
        learnt(x, None, None, y)


def test_parameters_are_not_kept_alive_and_cannot_be_resized(learnt: Kernel) -> None:
    x, y = rows(2), np.empty((2, 5), np.float32)
    weight, bias = np.ones(5, np.float32), np.zeros(5, np.float32)
    learnt(x, weight, bias, y)
    assert sys.getrefcount(weight) == sys.getrefcount(bias) == 2
    if not toolchain.linkers():
        return
    with pytest.raises(ValueError, match="cannot resize"):
        weight.resize(50, refcheck=False)


def test_threads_at_one_kernel_with_shapes_that_take_turns() -> None:
    batches, wrong = Array("batch", 5), []
    each = compiled.Kernel(
        kernel("test.scaled", scaled, inputs=(batches, *[Array(5, parameter=True)] * 2), outputs=(batches,)).plan
    )

    def work(number: int) -> None:
        weight, bias = np.full(5, number, np.float32), np.full(5, -number, np.float32)
        for turn in range(1500):
            batch = 1 + turn % 3
            x, y = np.full((batch, 5), turn % 7, np.float32), np.empty((batch, 5), np.float32)
            each(x, weight, bias, y)
            if not (y == number * (turn % 7) - number).all():
                wrong.append((number, turn))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(1, 9)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(120)
    finally:
        sys.setswitchinterval(before)
    assert wrong == []
