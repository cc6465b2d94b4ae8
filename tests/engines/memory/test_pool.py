"""Memory is taken again only when nothing refers to it: whoever keeps a result keeps its values."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from typednn.engines import pool

SHAPE = (100, 100)
BYTES = 40_960  # of an owner: 40,000 rounded up


@pytest.fixture(autouse=True)
def empty_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool of its own for each test: another module of tests may keep arrays to the end, which would
    be counted here.
    """
    monkeypatch.setattr(pool, "_sizes", {})
    monkeypatch.setattr(pool, "_shapes", {})


def address(array: Any) -> int:
    return int(array.ctypes.data)


def test_memory_is_used_again() -> None:
    first = address(pool.empty(SHAPE))
    assert address(pool.empty(SHAPE)) == first
    assert address(pool.empty((10_000,))) == first, "one size, another shape"
    assert pool.statistics() == pool.PoolStatistics(held=BYTES, in_use=0)


@pytest.mark.parametrize("shape", [(1,), (5, 0), (), SHAPE, (64, 64), (3, 5, 7, 111)])
@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.float64, np.uint8, np.dtype(np.int64)])
def test_what_an_array_is(shape: tuple[int, ...], dtype: Any) -> None:
    """G-T3: aligned to 64 bytes."""
    array = pool.empty(shape, dtype)
    assert type(array) is np.ndarray
    assert (array.shape, array.dtype) == (shape, np.dtype(dtype))
    assert array.flags.carray
    assert array.nbytes < pool.SMALL or address(array) % 64 == 0
    array.fill(1)
    assert (array == 1).all()


def test_step_after_step_needs_no_more() -> None:
    def step() -> set[int]:
        a, b, c = pool.empty(SHAPE), pool.empty(SHAPE), pool.empty((200, 200))
        return {address(a), address(b), address(c)}

    first = step()
    assert len(first) == 3
    assert all(step() == first for _ in range(10))
    assert pool.statistics().held == BYTES * 2 + 163_840


def test_a_large_array_takes_a_larger_owner_that_is_idle() -> None:
    """Of up to twice its size, and only where its own size has none; smaller arrays, and much smaller ones, do not."""
    large, most, half = (5 << 20,), (10 << 20,), (4 << 20,)
    kept = pool.empty(most)
    first = address(kept)
    assert address(pool.empty(large)) != first, "in use"
    pool.clear()
    del kept
    pool.clear()
    first = address(pool.empty(most))
    one = pool.empty(large)
    assert address(one) == first
    assert address(pool.empty(most)) != first, "now in use"
    del one
    pool.clear()
    pool.empty(most)
    held = pool.statistics().held
    pool.empty(half)
    assert pool.statistics().held > held, "less than half"
    pool.clear()
    first = address(pool.empty((20_000,)))
    assert address(pool.empty((15_000,))) != first, "not large"


class Holder:
    def __init__(self, held: Any) -> None:
        self.held = held
        self.__array_interface__ = held.__array_interface__


KEEPERS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda array: array,
    "slice": lambda array: array[3:5],
    "slice of a slice": lambda array: array[3:50][::2, 1:2],
    "transposed": lambda array: array.T,
    "reshaped": lambda array: array.reshape(-1),
    "another dtype": lambda array: array.view(np.int32),
    "memoryview": memoryview,
    "slice of a memoryview": lambda array: memoryview(array)[2:],
    "dlpack": np.from_dlpack,
    "capsule": lambda array: array.__dlpack__(),
    "frombuffer": lambda array: np.frombuffer(array, np.float32),
    "iterator": lambda array: array.flat,
    "interface": lambda array: np.asarray(Holder(array)),
    "broadcast": lambda array: np.broadcast_to(array, (3, *array.shape)),
    "element": lambda array: array[1, 1:2],
}


@pytest.mark.parametrize("keep", KEEPERS.values(), ids=KEEPERS)
def test_what_is_kept_keeps_its_memory(keep: Callable[[Any], Any]) -> None:
    array = pool.empty(SHAPE)
    where = address(array)
    kept = keep(array)
    del array
    assert pool.statistics().in_use == BYTES
    assert address(pool.empty(SHAPE)) != where
    del kept
    assert where in {address(each) for each in [pool.empty(SHAPE), pool.empty(SHAPE)]}


def test_torch_keeps_memory() -> None:
    torch = pytest.importorskip("torch", reason="needs torch")
    array = pool.empty(SHAPE)
    where = address(array)
    tensor = torch.from_numpy(array)[1:]
    del array
    assert address(pool.empty(SHAPE)) != where
    del tensor
    assert pool.statistics().in_use == 0


def test_a_kept_result_keeps_its_values() -> None:
    results = []
    for step in range(20):
        array = pool.empty(SHAPE)
        array.fill(step)
        results.append(array[50:])
    assert all((result == step).all() for step, result in enumerate(results))


def test_clear_gives_back_what_is_idle_and_no_more() -> None:
    kept = pool.empty(SHAPE)
    kept.fill(3)
    pool.empty((200, 200))  # alone in its size
    pool.clear()
    assert pool.statistics() == pool.PoolStatistics(BYTES, BYTES)
    pool.empty(SHAPE).fill(4)
    assert (kept == 3).all()


def test_idle_memory_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_LIMIT", 100_000)
    for rows in range(100, 200):
        pool.empty((rows, 100))
    statistics = pool.statistics()
    assert statistics.held - statistics.in_use <= 100_000 + 81_920  # the newest comes on top


def test_small_arrays_are_not_held() -> None:
    kept = [pool.empty((10, 10)) for _ in range(3)]
    assert len({address(array) for array in kept}) == 3
    assert pool.statistics().held == 0


def test_many_shapes_do_not_pile_up() -> None:
    for size in range(5000, 5000 + 6000):
        pool.empty((size,))
    assert len(pool._shapes) <= 4097
    assert pool.statistics().held <= 10 * 44_000, "one of each rounded size"


@given(st.integers(0, 2**40))
def test_sizes_are_rounded_up_by_at_most_an_eighth(size: int) -> None:
    rounded = pool._size((size,), np.uint8)
    assert size <= rounded <= size * 9 // 8
    assert pool._size((rounded,), np.uint8) == rounded


def content(kept: Any) -> bytes:
    """The numbers that are kept, where they can be read."""
    return np.asarray(kept).tobytes() if isinstance(kept, np.ndarray | memoryview) else b""


class Reuse(RuleBasedStateMachine):
    """The law of `pool.empty`: whatever still refers to memory keeps its values, and an array shares no byte with
    another.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[tuple[Any, bytes]] = []

    @rule(
        shape=st.sampled_from([(64, 64), (4097,), (5000,), (8, 640), (33, 11, 13), (70, 80), (3,), (0, 7)]),
        dtype=st.sampled_from([np.dtype(np.float32), np.float64, np.int64, np.uint8]),
        keep=st.sampled_from(list(KEEPERS.values())),
        value=st.integers(1, 100),
    )
    def take(self, shape: tuple[int, ...], dtype: Any, keep: Callable[[Any], Any], value: int) -> None:
        array = pool.empty(shape, dtype)
        assert array.shape == shape
        array.fill(value)
        with contextlib.suppress(TypeError, ValueError, IndexError, BufferError):  # not every keeper takes every shape
            kept = keep(array)
            self.kept.append((kept, content(kept)))

    @precondition(lambda self: self.kept)
    @rule(place=st.integers(0, 10**6))
    def drop(self, place: int) -> None:
        del self.kept[place % len(self.kept)]

    @rule()
    def clear(self) -> None:
        pool.clear()

    @invariant()
    def kept_values_stay(self) -> None:
        assert all(content(kept) == before for kept, before in self.kept)


TestReuse = Reuse.TestCase


def test_threads_never_share() -> None:
    wrong: list[int] = []
    held = pool.statistics().in_use

    def work(number: int) -> None:
        for _ in range(3000):
            array = pool.empty(SHAPE)
            array[0, :8] = number
            other = pool.empty(SHAPE)
            other[0, :8] = -number
            if not (array[0, :8] == number).all():
                wrong.append(number)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(1, 7)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert wrong == []
    assert pool.statistics().in_use <= held
