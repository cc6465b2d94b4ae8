"""The graph: what is recorded, how long it lives, what it costs."""

import copy
import gc
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from typednn.errors import ArgumentError, StateError
from typednn.errors.debugging import Debug, debug
from typednn.graph.graph import GRAPH, Node
from typednn.graph.kinds import DTYPES, Kind
from typednn.graph.nodes import constant, lazily, pad, realize, tensor, to_device, unary
from typednn.graph.operations import Binary, Reduce, Unary
from typednn.graph.program import Program
from typednn.graph.running import plan_of
from typednn.graph.tape import Tape
from typednn.graph.tensor import AnyTensor, Tensor


@pytest.fixture(autouse=True)
def baseline() -> Iterator[int]:
    """Each test leaves as many nodes as it found, and every node that it makes is checked."""
    gc.collect()
    before = len(GRAPH)
    with debug(Debug.CHECKS):
        yield before
    gc.collect()
    assert len(GRAPH) == before
    assert GRAPH.recorded is None


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[Program]:
    """The programs that were computed."""
    programs: list[Program] = []

    def noted(program: Program, arrays: Sequence[Any]) -> object:
        programs.append(program)
        return plan_of(program, arrays)

    monkeypatch.setattr("typednn.graph.running.plan_of", noted)
    return programs


def counted(x: AnyTensor) -> int:
    return GRAPH.slab[x.id].references


def test_nothing_is_computed_before_realize(computed: list[Program]) -> None:
    """X-D1: a hundred operations and their derivative run nothing; derivatives stand in the same slab."""
    x = tensor(np.linspace(0, 1, 6).reshape(2, 3))
    with Tape() as tape:
        y = x
        for _ in range(50):
            y = unary(Unary.SIN, y * x)
        before = len(GRAPH)
        (gradient,) = tape.gradient(y.sum(), [x], zeros=True)
    assert computed == []
    assert not y.is_realized
    assert not gradient.is_realized
    assert len(GRAPH) > before
    assert gradient.id in GRAPH.slab
    realize(y, gradient)
    assert len(computed) == 1
    assert y.is_realized
    assert gradient.is_realized


def test_the_graph_can_be_looked_at() -> None:
    """X-D2: slab, tape, shapes, and all that is known of a node."""
    x = tensor(np.ones((2, 3), np.float32), name="x")
    y = x.sum(axis=1)
    assert GRAPH.node(x.id) == Node(Kind.LEAF, 0, np.dtype(np.float32), (2, 3), (), None, 2, True)
    assert GRAPH.node(y.id) == Node(Kind.REDUCE, Reduce.SUM, np.dtype(np.float32), (2,), (x.id,), (1,), 1, False)
    assert GRAPH.names[x.id] == "x"
    assert GRAPH.shapes[y.id] == (2,)
    assert GRAPH.recorded is None
    with Tape():
        z = -y
        assert GRAPH.recorded == {z.id}
    assert GRAPH.recorded is None


def test_there_are_twelve_kinds() -> None:
    """X-D6"""
    kinds = "CONST LEAF EXPAND PERMUTE RESHAPE PAD REDUCE CAST UNARY BINARY TO_DEVICE CUSTOM"
    assert [kind.name for kind in Kind] == kinds.split()
    assert [kind.value for kind in Kind] == list(range(12))


def test_a_tensor_is_four_bytes() -> None:
    """X-D5: the handle is a number; shape, dtype and name are the graph's."""
    assert Tensor.__slots__ == ("_id",)
    x = tensor(np.ones((2, 3)), name="x")
    assert x._id.nbytes == 4
    assert not hasattr(x, "__dict__")
    GRAPH.shapes[x.id] = (6, 1)
    assert x.shape == (6, 1)


def test_dropping_a_handle_lets_its_node_and_inputs_go(baseline: int) -> None:
    """X-D4"""
    x = tensor(np.ones(3))
    y = x * x
    z = unary(Unary.EXP, y)
    assert len(GRAPH) == baseline + 3
    del y
    assert len(GRAPH) == baseline + 3  # z reads it
    del z
    assert len(GRAPH) == baseline + 1
    del x
    assert len(GRAPH) == baseline


def test_diamonds_are_freed_once(baseline: int) -> None:
    """X-D4: each of ten levels reads the one below twice; a second release of one would make counts negative."""
    x = tensor(np.ones(3))
    y = x
    for _ in range(10):
        y = y * y + y
    assert len(GRAPH) == baseline + 21
    counts = [counted(x)]
    del y
    assert len(GRAPH) == baseline + 1
    counts.append(counted(x))
    assert counts == [4, 1]


def test_realize_without_a_tape_makes_a_leaf(baseline: int) -> None:
    """X-D9: dtype, shape and name stay, inputs go."""
    x = tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    y = (x * x).sum(axis=0).named("y")
    del x
    assert len(GRAPH) == baseline + 3
    assert GRAPH.kind(y.id) == Kind.REDUCE
    y.realize()
    assert len(GRAPH) == baseline + 1
    assert GRAPH.node(y.id) == Node(Kind.LEAF, 0, np.dtype(np.float32), (3,), (), None, 1, True)
    assert y.name == "y"
    assert y.numpy().tolist() == [9, 17, 29]


def test_realize_under_a_tape_keeps_what_the_tape_needs() -> None:
    """X-D10: an intermediate that was realized is differentiated as if it were not."""
    x = tensor(np.array([1.0, 2.0]))
    older = x * 3.0
    with Tape() as tape:
        y = x * x
        y.realize()
        older.realize()
        assert GRAPH.kind(y.id) == Kind.BINARY
        assert GRAPH.kind(older.id) == Kind.LEAF  # it was made before the tape
        (gradient,) = tape.gradient(y * y, [x], zeros=True)
    assert GRAPH.kind(y.id) == Kind.LEAF
    assert gradient.numpy().tolist() == [4, 32]


@pytest.mark.parametrize("end", ["used", "closed", "dropped"])
def test_a_hundred_training_steps_leave_the_graph_as_it_was(end: str) -> None:
    """X-D11: after each step there are the weight, and nothing else."""
    x, y = np.random.default_rng(1).normal(size=(2, 8, 3))
    w = tensor(np.zeros((3, 3)))
    before = len(GRAPH)
    losses = []
    for _ in range(100):
        tape = Tape()
        loss = ((tensor(x) @ w - tensor(y)) ** 2).mean()
        gradient = tape.gradient(loss, [w]) if end == "used" else tape.gradient_persistent(loss, [w])
        assert gradient[0] is not None
        new = w - 0.1 * gradient[0]
        realize(loss, new)
        losses.append(loss.item())
        if end == "closed":
            tape.close()
        w = new
        del tape, gradient, loss, new
        assert len(GRAPH) == before
    assert losses[-1] < losses[0]
    assert len(GRAPH.arrays) >= 1


def test_the_slab_of_ten_thousand_operations_in_a_process_of_its_own() -> None:
    """X-D12: with nothing else in the graph, its slab is at most 200 KB."""
    script = (
        "import numpy as np; from typednn.graph.nodes import tensor; from typednn.graph.graph import GRAPH\n"
        "x = tensor(np.ones((4, 5))); made = [x]\n"
        "for _ in range(10_000): made.append(made[-1] * x)\n"
        "print(len(GRAPH), GRAPH.nbytes, GRAPH.bytes_beside)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    nodes, slab, beside = map(int, done.stdout.split())
    assert nodes == 10_001
    assert slab == 16 * 10_001
    assert slab <= 200_000
    assert 0 < beside < 5 * 200_000


def test_recording_is_quick() -> None:
    """X-D12: 5 µs for an operation on a quiet machine; a busy one may take five times as long."""
    x = tensor(np.ones((4, 5)))
    best = float("inf")
    with debug(0):
        for _ in range(20):
            GRAPH.collect()
            start = time.perf_counter()
            made = [x + x for _ in range(200)]
            best = min(best, (time.perf_counter() - start) / 200)
            del made
    assert best < 25e-6


def test_handles_dropped_in_other_threads() -> None:
    """X-D4: threads make and drop tensors of shared inputs at once."""
    x = tensor(np.arange(4.0))
    failed: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(50):
                kept = [x * x + x for _ in range(5)]
                assert kept[-1].numpy().tolist() == [0, 2, 6, 12]
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    gc.collect()
    GRAPH.collect()
    assert counted(x) == 1


def test_threads_realize_one_expression() -> None:
    """X-D9: one makes leaves of what the other is reading, and lets their inputs go."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    failed: list[BaseException] = []

    def work(chain: list[AnyTensor], start: threading.Barrier) -> None:
        try:
            start.wait(10)
            for each in chain:
                each.realize()
        except BaseException as error:
            failed.append(error)

    try:
        for _ in range(5):
            x = tensor(np.arange(4.0))
            y, chain = x, list[AnyTensor]()
            for _ in range(100):
                y = y + x
                chain.append(y)
            start = threading.Barrier(2)
            threads = [
                threading.Thread(target=work, args=(each, start), daemon=True) for each in (chain[::10], chain[::-7])
            ]
            del chain
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(20)
                assert not thread.is_alive()
            assert not failed
            assert y.numpy().tolist() == [0, 101, 202, 303]
            del threads
    finally:
        sys.setswitchinterval(interval)


def test_the_collector_of_cycles_may_run_at_any_moment(baseline: int) -> None:
    """X-D4: tensors and tapes in cycles go while operations are being recorded."""
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        x = tensor(np.ones(3))
        for _ in range(100):
            cycle: list[object] = [x * 2.0, Tape()]
            cycle.append(cycle)
            x = (x + x) * 0.5
    finally:
        gc.set_threshold(*threshold)
    del cycle
    gc.collect()
    assert x.numpy().tolist() == [1, 1, 1]
    GRAPH.collect()
    assert GRAPH.tapes == 0
    assert len(GRAPH) == baseline + 1


def test_names_of_places_that_are_used_again() -> None:
    """X-D4: what stood beside a node goes with it."""
    x = tensor(np.ones(3), name="x")
    number = x.id
    del x
    y = constant(1, np.float32)
    assert y.id == number
    assert y.name == ""
    assert not y.is_realized
    assert number not in GRAPH.arrays


def test_copies_are_the_tensor_itself_and_pickles_are_refused() -> None:
    """X-D5: another handle of the same number would release it twice."""
    x = tensor(np.ones(3))
    assert copy.copy(x) is x
    assert copy.deepcopy([x])[0] is x
    with pytest.raises(StateError, match="save tensor"):
        x.__reduce__()  # what pickle asks for
    with pytest.raises(ArgumentError, match="is made by"):
        Tensor(np.ones(3))  # type: ignore[arg-type]


WRONG: list[tuple[str, Callable[[AnyTensor, AnyTensor], int]]] = [
    ("BINARY", lambda x, y: GRAPH.push(Kind.BINARY, Binary.ADD, 11, (2, 3), x.id, y.id)),
    ("UNARY", lambda x, y: GRAPH.push(Kind.UNARY, Unary.EXP, 11, (3, 2), x.id)),
    ("CAST", lambda x, y: GRAPH.push(Kind.CAST, 0, 10, (6,), x.id)),
    ("EXPAND", lambda x, y: GRAPH.push(Kind.EXPAND, 0, 11, (4, 3), x.id)),
    ("PERMUTE", lambda x, y: GRAPH.push(Kind.PERMUTE, 0, 11, (2, 3), x.id, extra=(1, 0))),
    ("RESHAPE", lambda x, y: GRAPH.push(Kind.RESHAPE, 0, 11, (2, 2), x.id)),
    ("PAD", lambda x, y: GRAPH.push(Kind.PAD, 0, 11, (2, 3), x.id, extra=((0, 1), (0, 0)))),
    ("REDUCE", lambda x, y: GRAPH.push(Kind.REDUCE, Reduce.SUM, 11, (2,), x.id, extra=(0,))),
]


@pytest.mark.parametrize(("kind", "push"), WRONG, ids=[kind for kind, _ in WRONG])
def test_wrong_shapes_are_found_when_a_node_is_made(kind: str, push: Callable[[AnyTensor, AnyTensor], int]) -> None:
    """X-D8: with checks on, a node whose shape is not what its inputs give is refused."""
    x, y = tensor(np.ones((2, 3))), tensor(np.ones((3, 2)))
    assert DTYPES[11] == np.float64
    before = set(GRAPH.slab)
    with pytest.raises(StateError, match=kind):
        push(x, y)
    assert set(GRAPH.slab) == before
    with debug(0):
        GRAPH.release(push(x, y))


def test_unary_binary_and_casts_have_their_inputs_shape() -> None:
    """X-D8"""
    x = tensor(np.ones((2, 3)))
    for y in (-x, x + x, x > x, x.cast(np.int8), to_device(x, "cpu")):
        assert y.shape == (2, 3)
        assert GRAPH.shapes[y.id] is GRAPH.shapes[x.id]
    assert pad(x, [(1, 0), (0, -1)]).shape == (3, 2)


def test_bytes_held_are_those_of_arrays() -> None:
    before = GRAPH.bytes_held
    x = tensor(np.ones((10, 10)))
    read = lazily(lambda: np.ones(4), (4,), np.float64)
    assert GRAPH.bytes_held == before + 800
    read.realize()
    assert read.numpy().tolist() == [1, 1, 1, 1]
    assert GRAPH.bytes_held == before + 832
    del x, read
    assert GRAPH.bytes_held == before


def test_expressions_tell_what_led_there() -> None:
    x = tensor(np.ones((2, 3)), name="x")
    assert GRAPH.expression((x * 2.0).id) == "multiply(x (2, 3), 2)"
    assert GRAPH.expression(x.sum(axis=0).id) == "sum(x (2, 3))"
    deep = x
    for _ in range(5):
        deep = -deep
    assert GRAPH.expression(deep.id) == "negative(negative(negative(… (2, 3))))"
