"""Loaders: every row once, the same batches after any interruption, and no thread left behind."""

import gc
import json
import os
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from typednn.data import Batch, Loader, batches, generator_state, restore_generator
from typednn.errors import ArgumentError, StateDictError, StateError, TypednnError
from typednn.random import PCG32, Rng

MAKERS: dict[str, Callable[[int], Rng]] = {
    "PCG32": PCG32,
    "PCG64": np.random.default_rng,
    "MT19937": lambda seed: np.random.Generator(np.random.MT19937(seed)),
    "Philox": lambda seed: np.random.Generator(np.random.Philox(seed)),
    "SFC64": lambda seed: np.random.Generator(np.random.SFC64(seed)),
}


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if "prefetch" in thread.name]


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Any:
    yield
    gc.collect()
    assert threads() == []


def data(rows: int) -> tuple[Any, Any]:
    return np.arange(2.0 * rows, dtype=np.float32).reshape(rows, 2), np.arange(rows)


def loader(rows: int = 10, batch_size: int = 4, rng: Rng | None = None, **settings: Any) -> Loader[Any, Any]:
    x, y = data(rows)
    return Loader(x, y, batch_size=batch_size, rng=PCG32(0) if rng is None else rng, **settings)


def rows_of(batches: Any) -> list[list[int]]:
    return [batch.indices.tolist() for batch in batches]


@pytest.mark.parametrize("shape", [(), (3,), (2, 5, 1)])
def test_the_shape_of_a_sample_is_that_of_the_batches(shape: tuple[int, ...]) -> None:
    x = np.zeros((5, *shape), np.float32)
    for transform in (None, lambda x: np.repeat(x[..., None], 2, axis=-1)):
        some: Any = Loader(x, np.arange(5), batch_size=2, shuffle=False, transform=transform)
        assert {batch.x.shape[1:] for batch in some.batches()} == {some.sample}


@pytest.mark.parametrize("prefetch", [0, 1, 2, 9])
def test_every_row_once_and_the_last_batch_short(prefetch: int) -> None:
    """P-C4, Z-S2: sizes 4, 4, 2 in the order of the paper's golden shuffle; x and y stay together."""
    some = loader(rng=PCG32(42, 6), prefetch=prefetch)
    assert (some.steps_per_epoch, some.rows, some.batch_size) == (3, 10, 4)
    for number, batch in enumerate(some.batches(), 1):
        assert isinstance(batch, Batch)
        assert (some.epoch, some.step) == (0, number)
        np.testing.assert_array_equal(batch.x[:, 0], 2 * batch.y)
        np.testing.assert_array_equal(batch.y, batch.indices)
    assert (some.epoch, some.step) == (1, 0)
    assert [row for chunk in rows_of(loader(rng=PCG32(42, 6)).batches()) for row in chunk] == [
        0,
        5,
        2,
        3,
        8,
        4,
        7,
        6,
        9,
        1,
    ]


def test_each_epoch_is_drawn_anew_from_the_generator() -> None:
    """P-C4: the orders of two epochs are the generator's next two permutations."""
    some, rng = loader(50, 50), PCG32(0)
    for _ in range(2):
        assert rows_of(some.batches()) == [rng.permutation(50).tolist()]
    assert some.epoch == 2


def test_in_their_own_order() -> None:
    x, y = data(5)
    some = Loader(x, y, batch_size=3, shuffle=False)
    assert rows_of(some.batches()) == [[0, 1, 2], [3, 4]] == rows_of(some.batches())
    batch = next(Loader(x, y, batch_size=2, shuffle=False).batches())
    batch.x[:] = -1.0
    assert x[0, 0] == 0.0, "a batch is a copy"


@pytest.mark.parametrize(
    ("rows", "batch_size", "joined", "dropped"),
    [
        (10, 4, [4, 4, 2], [4, 4]),
        (9, 4, [4, 5], [4, 4]),
        (43, 6, [6] * 6 + [7], [6] * 7),
        (33, 32, [33], [32]),
        (3, 2, [3], [2]),
        (8, 4, [4, 4], [4, 4]),
        (4, 1, [1] * 4, [1] * 4),
        (1, 1, [1], [1]),
        (1, 5, [1], None),
        (4, 5, [4], None),
    ],
)
def test_the_last_batch(rows: int, batch_size: int, joined: list[int], dropped: list[int] | None) -> None:
    """Z-S2: A last row is never alone; drop_last has PyTorch's meaning, and is refused where it leaves nothing."""
    some = loader(rows, batch_size)
    found = rows_of(some.batches())
    assert [len(chunk) for chunk in found] == joined == [len(chunk) for chunk in batches(rows, batch_size, PCG32(0))]
    assert some.steps_per_epoch == len(joined)
    assert sorted(row for chunk in found for row in chunk) == list(range(rows))
    if dropped is None:
        for make in (loader, lambda *sizes, drop_last: batches(*sizes, PCG32(0), drop_last=drop_last)):
            with pytest.raises(
                ArgumentError,
                match=f"needs rows for one whole batch, got {rows} rows and batch_size={batch_size}; take",
            ):
                make(rows, batch_size, drop_last=True)
        return
    less = loader(rows, batch_size, drop_last=True)
    left = rows_of(less.batches())
    assert (
        [len(chunk) for chunk in left]
        == dropped
        == [len(chunk) for chunk in batches(rows, batch_size, PCG32(0), drop_last=True)]
    )
    assert less.steps_per_epoch == len(dropped)
    order = PCG32(0).permutation(rows).tolist()
    assert [row for chunk in left for row in chunk] == order[: sum(dropped)], "the same order, its end left out"


def test_a_position_from_before_keeps_its_batches() -> None:
    """A state that does not say that the last row was joined is of a loader that left it alone, in this epoch and the
    next.
    """
    some = loader(9, 4, weights=None)
    for _ in some.batches():
        break
    state = some.state_dict()
    assert state.pop("last") == "joined"
    order = PCG32(0)
    expected = [order.permutation(9).tolist() for _ in range(2)]
    for prefetch in (0, 2):
        old = loader(9, 4, PCG32(5), prefetch=prefetch)
        old.load_state_dict(state)
        assert old.steps_per_epoch == 3
        assert rows_of(old.batches()) == [expected[0][4:8], expected[0][8:]]
        assert "last" not in old.state_dict()
        assert rows_of(old.batches()) == [expected[1][:4], expected[1][4:8], expected[1][8:]]
        old.load_state_dict(some.state_dict())
        assert (old.steps_per_epoch, rows_of(old.batches())) == (2, [expected[0][4:]]), "and back"
    for other in (loader(9, 4, drop_last=True), loader(10, 4)):
        with pytest.raises(StateDictError):
            other.load_state_dict(some.state_dict())
    kept = loader(9, 4, drop_last=True)
    with pytest.raises(StateDictError):
        some.load_state_dict(kept.state_dict())
    assert some.steps_per_epoch == 2


@given(st.data(), st.integers(1, 30), st.integers(1, 12), st.sampled_from(sorted(MAKERS)), st.integers(0, 3))
def test_continues_to_the_bit(draw: st.DataObject, rows: int, batch_size: int, kind: str, ahead: int) -> None:
    """Stopped anywhere in three epochs, saved as JSON, loaded into a fresh loader: the same batches as
    without a stop.
    """
    shuffle = draw.draw(st.booleans())
    drop_last = rows >= batch_size and draw.draw(st.booleans())

    def fresh(seed: int) -> Loader[Any, Any]:
        return loader(rows, batch_size, MAKERS[kind](seed), prefetch=ahead, shuffle=shuffle, drop_last=drop_last)

    whole = fresh(1)
    expected = [(whole.epoch, chunk) for _ in range(3) for chunk in rows_of(whole.batches())]
    stop = draw.draw(st.integers(0, len(expected)))
    first, seen = fresh(1), []
    while len(seen) < stop:
        for batch in first.batches():
            seen.append((first.epoch, batch.indices.tolist()))
            if len(seen) == stop:
                break
    assert [chunk for _, chunk in seen] == [chunk for _, chunk in expected[:stop]]
    second = fresh(2)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert (second.epoch, second.step) == (first.epoch, first.step)
    rest = []
    while second.epoch < 3:
        rest += rows_of(second.batches())
    assert rest == [chunk for _, chunk in expected[stop:]]


def test_the_generator_may_be_shared() -> None:
    """Somebody else draws from the same generator within an epoch: it, too, continues where it was."""
    rng = PCG32(0)
    some, seen = loader(rng=rng), []
    for _ in some.batches():
        seen.append(rng.random((1,)).item())
        if len(seen) == 1:
            saved = json.dumps(some.state_dict())
    other = PCG32(9)
    again = loader(rng=other)
    again.load_state_dict(json.loads(saved))
    assert [other.random((1,)).item() for _ in again.batches()] == seen[1:]
    assert other == rng


def test_no_thread_after_a_break_or_an_error() -> None:
    some = loader(100, 1)
    for _ in some.batches():
        assert threads() == ["typednn prefetch"]
        break
    assert threads() == []
    assert some.step == 1

    def fails() -> None:
        for batch in some.batches():
            raise KeyError(batch.indices[0])

    with pytest.raises(KeyError):
        fails()
    assert threads() == []
    assert some.step == 2
    iterator = some.batches()
    assert threads() == [], "begins with the first batch that is asked for"
    next(iterator)
    assert threads() == ["typednn prefetch"]
    iterator.close()  # type: ignore[attr-defined]
    assert threads() == []


def test_errors_of_the_thread_reach_the_caller() -> None:
    def fails(x: Any) -> Any:
        if x[0, 0] >= 4:
            raise LookupError("at row 2")
        return x

    for ahead in (0, 2):
        some = loader(6, 1, shuffle=False, transform=fails, prefetch=ahead)
        with pytest.raises(LookupError, match="at row 2"):
            rows_of(some.batches())
        assert some.step == 2
        assert threads() == []


def test_a_transform_that_stops_iteration_does_not_end_the_epoch() -> None:
    def stops(x: Any) -> Any:
        raise StopIteration

    for ahead in (0, 2):
        with pytest.raises(RuntimeError, match="StopIteration"):
            rows_of(loader(6, 1, shuffle=False, transform=stops, prefetch=ahead).batches())


def test_after_an_error_no_further_batch_is_made() -> None:
    made: list[float] = []

    def fails(x: Any) -> Any:
        made.append(x[0, 0])
        if len(made) == 2:
            raise LookupError("at the second")
        return x

    with pytest.raises(LookupError):
        rows_of(loader(20, 1, shuffle=False, transform=fails, prefetch=4).batches())
    assert len(made) == 2


def test_a_thread_goes_on_after_the_script_has_ended() -> None:
    """The interpreter waits for such a thread, in which each batch must still be made; and it does not wait for an
    iterator in use.
    """
    script = """if True:
        import threading, time
        import numpy as np
        from typednn.data import Loader

        def slow(x):
            time.sleep(0.05)
            return x

        rows = np.zeros((8, 1), np.float32)
        in_use = Loader(rows, rows, batch_size=1, rng=None, shuffle=False, transform=lambda x: time.sleep(60)).batches()
        threading.Thread(target=lambda: next(in_use), daemon=True).start()
        loader = Loader(rows, rows, batch_size=1, rng=None, shuffle=False, transform=slow)
        train = lambda: print(sum(1 for _ in loader.batches()))
        threading.Thread(target=train).start()
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=50)
    assert (done.returncode, done.stdout) == (0, "8\n"), done.stderr


def test_transform_works_in_the_background() -> None:
    where = []

    def scaled(x: Any) -> Any:
        where.append(threading.current_thread().name)
        return (x / 255).astype(np.float32)

    x, y = np.full((4, 3), 255, np.uint8), np.zeros(4, np.int64)
    typed: Loader[np.ndarray[Any, Any], Any] = Loader(x, y, batch_size=2, shuffle=False, transform=scaled)
    batches = list(typed.batches())
    assert [batch.x.dtype for batch in batches] == [np.float32] * 2
    assert batches[0].x.max() == 1.0
    assert set(where) == {"typednn prefetch"}


def test_no_more_than_prefetch_are_made_ahead() -> None:
    made: list[int] = []

    def counted(x: Any) -> Any:
        made.append(len(x))
        return x

    iterator = loader(100, 1, prefetch=3, transform=counted).batches()
    next(iterator)
    for _ in range(2000):
        if len(made) == 4:
            break
        threading.Event().wait(0.005)
    threading.Event().wait(0.05)
    assert len(made) == 4  # one in use, three ready
    del iterator


def test_one_iterator_at_a_time() -> None:
    some = loader(20, 1)
    old = some.batches()
    next(old)
    new = some.batches()
    with pytest.raises(
        StateError, match=r"Loader\.batches: one iterator at a time, the newest, got one of an earlier call"
    ):
        next(old)
    next(new)
    assert some.step == 2
    some.load_state_dict(some.state_dict())
    with pytest.raises(StateError, match="one iterator at a time"):
        next(new)
    done = some.batches()
    assert len(list(done)) == 18
    assert list(done) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": 11}, "rows must be 10, got 11; go on with the same data, batch size and shuffling"),
        ({"batch_size": 5}, "batch_size must be 4, got 5"),
        ({"shuffle": False}, "shuffle must be True, got False"),
        ({"shuffle": 1}, "shuffle must be True, got 1"),
        ({"epoch": -1}, "epoch must be an integer, at least 0, got -1"),
        ({"epoch": True}, "epoch must be an integer, at least 0, got True"),
        ({"step": 4}, "step must be an integer, 0 to 3, got 4"),
        ({"step": 1.0}, "step must be an integer, 0 to 3, got 1.0"),
        ({"drawn_from": None}, "step must be an integer, 0 to 0, got 1"),
        ({"drawn_from": 3}, "needs the keys 'kind' and 'state', got 3"),
        ({"generator": None}, "needs the keys 'kind' and 'state', got None"),
        ({"generator": {"kind": "PCG64", "state": {}}}, "is a PCG32, got the state of a PCG64; go on with a"),
        (
            {"generator": {"kind": "PCG32", "state": {"state": 1, "increment": 2}}},
            "the state of a PCG32, got PCG32.state: increment is",
        ),
        ({"more": 1}, "needs the keys batch_size, drawn_from, epoch, generator, rows, shuffle, step, got {'rows'"),
    ],
)
def test_states_of_another_loader_change_nothing(changes: dict[str, Any], message: str) -> None:
    rng = PCG32(5)
    some = loader(rng=rng)
    next(some.batches())
    rng.random((3,))  # so that the generator is not where the order was drawn
    before = some.state_dict()
    with pytest.raises(StateDictError) as caught:
        some.load_state_dict({**before, **changes})
    assert message in str(caught.value)
    assert some.state_dict() == before
    with pytest.raises(StateDictError, match="needs the keys"):
        some.load_state_dict([])


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["kind", "state", "inc", "key", "dtype", "values"]), inner)
    ),
    max_leaves=8,
)


@given(st.sampled_from(sorted(MAKERS)), st.lists(st.text(max_size=8), max_size=3), ANYTHING)
def test_damaged_states_give_one_kind_of_error(kind: str, path: list[str], value: Any) -> None:
    rng = MAKERS[kind](3)
    some = loader(rng=rng)
    next(some.batches())
    saved = json.loads(json.dumps(some.state_dict()))
    before = some.state_dict()
    place = saved["generator"]
    for key in ["state", *path]:
        if isinstance(place.get(key), dict):
            place = place[key]
    place[next(iter(place))] = value
    try:
        some.load_state_dict(saved)
    except TypednnError:
        assert some.state_dict() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"rng": None},
            "shuffling draws from a generator, got none; pass rng=numpy.random.default_rng(0), or shuffle=False",
        ),
        ({"rng": 0}, "shuffling draws from a generator, got int"),
        ({"batch_size": 0}, "batch_size must be an integer of at least 1, got 0"),
        ({"prefetch": -1}, "prefetch must be an integer of at least 0, got -1"),
        ({"x": [1.0]}, "x must be a NumPy array of numbers with rows, got list; convert it with numpy.asarray"),
        ({"y": np.array(["a"] * 4)}, "y must be a NumPy array of numbers with rows, got <U1 of shape (4,)"),
        ({"y": np.zeros(())}, "y must be a NumPy array of numbers with rows, got float64 of shape ()"),
        ({"y": np.zeros(3)}, "x and y must have as many rows, and at least one, got 4 and 3"),
        ({"x": np.zeros((0, 2)), "y": np.zeros(0)}, "and at least one, got 0 and 0"),
    ],
)
def test_arguments_are_checked_at_once(arguments: dict[str, Any], message: str) -> None:
    given = {"x": np.zeros((4, 2)), "y": np.zeros(4), "batch_size": 2, "rng": PCG32(0), **arguments}
    with pytest.raises(ArgumentError) as caught:
        Loader(**given)
    assert message in str(caught.value)


def test_a_state_that_fails_half_way_changes_nothing() -> None:
    rng, other = MAKERS["MT19937"](1), MAKERS["MT19937"](2)
    before, saved = generator_state(rng), generator_state(other)
    saved["state"]["state"]["key"] = [*saved["state"]["state"]["key"]["values"][:-1], "many"]  # set one by one
    with pytest.raises(StateDictError, match="needs the state of a MT19937, got"):
        restore_generator(rng, saved)
    assert generator_state(rng) == before


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("MT19937", lambda state: state["state"]["key"]["values"].pop(), "623 values for 624"),
        ("MT19937", lambda state: state["state"].update(pos=625), "pos = 625"),
        ("MT19937", lambda state: state["state"]["key"].update(dtype="uint64"), "dtype = 'uint64'"),
        ("MT19937", lambda state: state["state"]["key"].update(values=[2**32] * 624), "out of bounds for uint32"),
        ("Philox", lambda state: state["state"]["counter"].update(values=[]), "0 values for 4"),
        ("Philox", lambda state: state.update(buffer_pos=5), "buffer_pos = 5"),
        ("Philox", lambda state: state["state"].update(key=[]), r"key = \[\]"),
        ("SFC64", lambda state: state["state"].pop("state"), r"state with the keys \[\]"),
        ("PCG64", lambda state: state.update(has_uint32=2), "has_uint32 = 2"),
        ("PCG64", lambda state: state["state"].update(inc=1.5), "inc = 1.5"),
        ("PCG64", lambda state: state["state"].update(inc=-1), "inc = -1"),
        ("PCG64", lambda state: state["state"].update(state=True), "state = True"),
        ("PCG64", lambda state: state["state"].update(inc=2**128), "inc = 3402823669"),
        ("PCG32", lambda state: state.update(increment=4), "so odd, got 4"),
    ],
)
def test_a_generators_state_has_its_own_form(kind: str, change: Callable[[Any], object], message: str) -> None:
    """NumPy believes lengths and positions, and reads beyond the arrays that they are wrong for."""
    rng = MAKERS[kind](1)
    before, saved = generator_state(rng), generator_state(MAKERS[kind](2))
    change(saved["state"])
    with pytest.raises(StateDictError, match=f"restore_generator: needs the state of a {kind}, got .*{message}"):
        restore_generator(rng, saved)
    assert generator_state(rng) == before


class Dice:
    """A generator that nobody knows how to save."""

    def random(self, size: Any) -> Any: ...
    def uniform(self, low: float, high: float, size: Any) -> Any: ...
    def standard_normal(self, size: Any) -> Any: ...
    def normal(self, loc: float, scale: float, size: Any) -> Any: ...
    def permutation(self, n: int) -> Any:
        return np.arange(n)


def test_a_generator_that_cannot_be_saved() -> None:
    with pytest.raises(ArgumentError, match="rng must be a generator whose state can be saved, got Dice; pass numpy"):
        loader(rng=Dice()).batches()


def test_streams_a_file_larger_than_memory(tmp_path: Path) -> None:
    """A sparse .npy, twice the machine's memory; the loader holds its batches and the order of the rows."""
    from typednn.data import read_npy

    row = 1 << 20
    rows = max(2 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // row, 64)
    path = tmp_path / "large.npy"
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": (rows, row)})
        try:
            file.truncate(file.tell() + rows * row)
        except OSError:
            pytest.skip("this file system has no sparse files of that size")
    x = read_npy(path, mmap=True)
    some = Loader(x, np.arange(rows), batch_size=4, rng=np.random.default_rng(0), prefetch=2)
    tracemalloc.start()
    try:
        for number, batch in enumerate(some.batches()):
            assert type(batch.x) is np.ndarray
            assert batch.x.shape == (4, row)
            if number == 20:
                break
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # In use, two ready, one in the making: four batches, and 8 bytes per row for the order (twice while it is drawn).
    assert peak < 5 * 4 * row + 40 * rows


def test_memory_stays_flat_over_epochs() -> None:
    x, y = np.zeros((64, 100), np.float32), np.zeros(64, np.int64)
    some = Loader(x, y, batch_size=8, rng=np.random.default_rng(0))
    sizes = []
    tracemalloc.start()
    try:
        for epoch in range(60):
            for _ in some.batches():
                pass
            if epoch in (20, 59):
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert sizes[1] - sizes[0] < 10_000


# --- several workers ------------------------------------------------------------------------------------------------


@given(rows=st.integers(1, 30), batch_size=st.integers(1, 12), workers=st.integers(1, 6), ahead=st.integers(1, 5))
def test_workers_change_nothing(rows: int, batch_size: int, workers: int, ahead: int) -> None:
    def slow(x: Any) -> Any:
        threading.Event().wait(0.0005 * float(x[0, 0] % 5))  # the later ones are often done first
        return -x

    expected = [batch.x.tolist() for batch in loader(rows, batch_size, prefetch=0, transform=lambda x: -x).batches()]
    assert [
        batch.x.tolist()
        for batch in loader(rows, batch_size, transform=slow, workers=workers, prefetch=ahead).batches()
    ] == expected


def test_workers_work_at_the_same_time() -> None:
    together = threading.Barrier(3, timeout=10)

    def waits(x: Any) -> Any:
        together.wait()
        return x

    assert len(rows_of(loader(6, 1, workers=3, transform=waits).batches())) == 6
    assert threads() == []


def test_workers_end_with_the_loop() -> None:
    some = loader(100, 1, workers=4)
    for _ in some.batches():
        assert threads() == ["typednn prefetch"] * 4
        break
    assert threads() == []
    assert some.step == 1


def test_an_error_of_one_worker_comes_in_its_place() -> None:
    made: list[float] = []

    def fails(x: Any) -> Any:
        made.append(x[0, 0])
        if x[0, 0] == 6:
            raise LookupError("at row 3")
        threading.Event().wait(0.01)
        return x

    some = loader(1000, 1, shuffle=False, transform=fails, workers=3)
    with pytest.raises(LookupError, match="at row 3"):
        rows_of(some.batches())
    assert some.step == 3
    assert threads() == []
    assert len(made) < 20


def test_workers_that_are_refused() -> None:
    with pytest.raises(ArgumentError, match="Loader: workers make batches ahead, got prefetch=0; leave prefetch out"):
        loader(workers=2, prefetch=0)
    with pytest.raises(ArgumentError, match="Loader: workers must be an integer of at least 1, got 0"):
        loader(workers=0)


# --- weights --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(MAKERS))
def test_rows_come_as_often_as_their_weights_say(kind: str) -> None:
    weights = [0.0, 1.0, 2.0, 0.0, 5.0, 0.0]
    some = loader(6, 6, MAKERS[kind](1), weights=weights)
    counts = np.zeros(6)
    for _ in range(1500):
        for rows in rows_of(some.batches()):
            assert len(rows) == 6, "an epoch has as many rows as without"
            counts += np.bincount(rows, minlength=6)
    assert not counts[[0, 3, 5]].any()
    np.testing.assert_allclose(counts / counts.sum(), np.array(weights) / 8, atol=0.02)  # four standard deviations


def test_the_least_draw_is_no_row_without_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    def least(self: PCG32, size: tuple[int, ...]) -> Any:
        return np.zeros(size)

    monkeypatch.setattr(PCG32, "random", least)
    assert rows_of(loader(3, 3, weights=[0.0, 1.0, 1.0]).batches()) == [[1, 1, 1]]


def test_balanced_classes() -> None:
    y = np.repeat([0, 1, 7], [90, 9, 1])
    some: Loader[Any, Any] = Loader(np.arange(100.0), y, batch_size=100, rng=PCG32(0), balance=True)
    counts = sum(np.bincount(batch.y, minlength=8) for _ in range(60) for batch in some.batches())
    np.testing.assert_allclose(np.asarray(counts)[[0, 1, 7]] / 6000, 1 / 3, atol=0.03)


@given(stop=st.integers(0, 9), kind=st.sampled_from(sorted(MAKERS)))
def test_a_weighted_loader_continues_to_the_bit(stop: int, kind: str) -> None:
    def fresh(seed: int) -> Loader[Any, Any]:
        return loader(rng=MAKERS[kind](seed), weights=np.arange(10.0))

    whole = fresh(1)
    expected = [rows for _ in range(3) for rows in rows_of(whole.batches())]
    first, seen = fresh(1), 0
    while seen < stop:
        for _ in first.batches():
            seen += 1
            if seen == stop:
                break
    second = fresh(2)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    rest: list[list[int]] = []
    while second.epoch < 3:
        rest += rows_of(second.batches())
    assert rest == expected[stop:]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weights": [1.0]}, "weights must be 10 finite numbers, one per row, none below 0, got"),
        ({"weights": [-1.0] + [1.0] * 9}, "weights must be 10 finite numbers"),
        ({"weights": [0.0] * 10}, "one of weights must be above 0, got zeros"),
        ({"weights": [np.inf] * 10}, "weights must be 10 finite numbers"),
        ({"weights": ["a"] * 10}, "weights must be 10 finite numbers"),
        ({"weights": [1.0] * 10, "shuffle": False}, "weights draw rows at random, got shuffle=False"),
        ({"balance": True, "shuffle": False}, "weights draw rows at random, got shuffle=False"),
        ({"balance": True, "weights": [1.0] * 10}, "Loader: takes weights or balance, got both"),
        ({"balance": 1}, "Loader: balance must be True or False, got 1"),
    ],
)
def test_weights_that_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        loader(**settings)


def test_balance_needs_classes() -> None:
    with pytest.raises(ArgumentError, match=r"balance needs labels \(n\) of classes, got y: "):
        Loader(np.zeros(3), np.zeros(3), batch_size=1, rng=PCG32(0), balance=True)


def test_other_weights_are_another_loader() -> None:
    saved = loader(weights=np.arange(10.0)).state_dict()
    with pytest.raises(StateDictError, match="weights must be"):
        loader(weights=np.arange(1.0, 11.0)).load_state_dict(saved)
    with pytest.raises(StateDictError, match="needs the keys"):
        loader().load_state_dict(saved)


def test_rows_of_a_class_of_ones_own() -> None:
    class Squares:
        shape, dtype = (5,), np.dtype(np.int64)

        def __len__(self) -> int:
            return 5

        def __getitem__(self, rows: Any) -> Any:
            return np.arange(5)[rows] ** 2

    some: Loader[Any, Any] = Loader(Squares(), np.arange(5), batch_size=2, shuffle=False)
    assert [batch.x.tolist() for batch in some.batches()] == [[0, 1], [4, 9, 16]]
