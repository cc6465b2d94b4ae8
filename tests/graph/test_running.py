"""A realize by kernels and BLAS equals NumPy and the interpreter, compiles nothing twice, and leaves alone what kernels
can't do.
"""

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from typednn.engines import available, using
from typednn.errors import OutOfMemory
from typednn.graph import running
from typednn.graph.graph import GRAPH
from typednn.graph.interpreter import interpret
from typednn.graph.nodes import binary, broadcast_to, pad, permute, realize, reduce, reshape, tensor, unary
from typednn.graph.operations import Binary, Reduce, Unary
from typednn.graph.passes import without_passes
from typednn.graph.program import traced
from typednn.graph.running import Compiled, counters, plan_of
from typednn.graph.tape import Tape
from typednn.graph.tensor import AnyTensor

pytestmark = pytest.mark.skipif(not available(), reason="needs Halide")

SIZES = st.sampled_from([1, 2, 3, 17, 33, 70])
Values = np.ndarray[Any, Any]


def exp(x: AnyTensor) -> AnyTensor:
    return unary(Unary.EXP, x)


def softmax(x: AnyTensor) -> AnyTensor:
    e = exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def np_softmax(x: Values) -> Values:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def concatenated(x: AnyTensor, y: AnyTensor) -> AnyTensor:
    left = pad(x, [(0, 0), (0, y.shape[1])])
    return left + pad(y * 2.0, [(0, 0), (x.shape[1], 0)])


# By name: a function of two tensors of one shape, and the same of arrays.
PROGRAMS: dict[str, tuple[Callable[[AnyTensor, AnyTensor], Any], Callable[[Values, Values], Any]]] = {
    "elementwise": (lambda x, y: binary(Binary.MAXIMUM, x * 0.5 + y, -x), lambda x, y: np.maximum(x * 0.5 + y, -x)),
    "softmax": (lambda x, y: softmax(x) * y, lambda x, y: np_softmax(x) * y),
    "rows": (lambda x, y: (x * y).sum(-1) + x.max(-1), lambda x, y: (x * y).sum(-1) + x.max(-1)),
    "columns": (lambda x, y: (x + y).sum(axis=0) * 2.0, lambda x, y: (x + y).sum(axis=0) * 2),
    "transposed": (lambda x, y: (x.T + exp(y).T) * 0.5, lambda x, y: (x.T + np.exp(y).T) * 0.5),
    "joined": (concatenated, lambda x, y: np.concatenate([x, y * 2], 1)),
    "centred": (
        lambda x, y: (x - x.mean(0, keepdims=True)) * y.min(-1, keepdims=True),
        lambda x, y: (x - x.mean(0, keepdims=True)) * y.min(-1, keepdims=True),
    ),
    "product": (lambda x, y: binary(Binary.MAXIMUM, x @ y.T, 0.0), lambda x, y: np.maximum(x @ y.T, 0)),
    "everything": (lambda x, y: (x * y).sum() + y.max(), lambda x, y: (x * y).sum() + y.max()),
}


@given(st.sampled_from(sorted(PROGRAMS)), SIZES, SIZES, st.sampled_from([np.float32, np.float64]), st.integers(0, 100))
def test_programs_equal_numpy(name: str, rows: int, columns: int, dtype: Any, seed: int) -> None:
    """X-A7: programs of elementwise, movement and reduce operations equal NumPy within rounding, also for sizes of 1
    and odd sizes.
    """
    rng = np.random.default_rng(seed)
    x, y = (rng.normal(size=(rows, columns)).astype(dtype) for _ in range(2))
    ours, theirs = PROGRAMS[name]
    got, want = ours(tensor(x), tensor(y)).numpy(), theirs(x.astype(np.float64), y.astype(np.float64))
    assert (got.dtype, got.shape) == (dtype, np.shape(want))
    np.testing.assert_allclose(
        got, want, rtol=1e-4 if dtype == np.float32 else 1e-12, atol=2e-5 if dtype == np.float32 else 1e-12
    )


STEPS = ["exp", "tanh", "add", "maximum", "sum", "max", "transpose", "pad", "flatten", "masked", "first"]


def built(x: AnyTensor, y: AnyTensor, steps: list[str]) -> AnyTensor:
    """A program of these operations."""
    for step in steps:
        if step in ("exp", "tanh"):
            x = unary(Unary.TANH, x) if step == "tanh" else exp(-(x * x))
        elif step in ("add", "maximum"):
            x = binary(Binary.ADD if step == "add" else Binary.MAXIMUM, x, y if x.shape == y.shape else 0.25)
        elif step in ("sum", "max"):
            x = x - broadcast_to(reduce(Reduce.SUM if step == "sum" else Reduce.MAX, x, -1, keepdims=True), x.shape)
        elif step == "transpose":
            x = permute(x, tuple(range(x.ndim))[::-1])
        elif step == "pad":
            x = pad(x, [(1, 0), *[(0, 0)] * (x.ndim - 1)])
        elif step == "flatten":
            x = reshape(x, (-1,)) if x.ndim > 1 else reshape(x, (x.size, 1))
        elif step == "masked":
            x = binary(Binary.MASKED, x > 0.0, x)
        elif step == "first":
            x = x.sum(axis=0, keepdims=True) if x.ndim > 1 else x * 2.0
    return x


@given(st.sampled_from(range(6)), st.integers(2, 12), st.integers(2, 12))
def test_random_programs_equal_the_interpreter_whichever_passes_run(seed: int, rows: int, columns: int) -> None:
    """X-A9: random programs equal the interpreter's results, with all passes, with each left out, and with none."""
    steps = np.random.default_rng(seed).choice(STEPS, size=6).tolist()
    rng = np.random.default_rng(rows + columns)
    x, y = (tensor(rng.normal(size=(rows, columns)).astype(np.float32)) for _ in range(2))
    program, leaves = traced([built(x, y, steps).id])
    arrays = [GRAPH.arrays[number] for number in leaves]
    (want,) = interpret(program, arrays)
    for left_out in [
        None,
        *[[]] * (seed == 0),
        *[[name] for name in ("common", "products", "fold_constants", "dead") if seed < 3],
    ]:
        if left_out is None:
            (got,) = plan_of(program, arrays)(arrays)
        else:
            with without_passes(*left_out):
                (got,) = plan_of(program, arrays)(arrays)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * max(1.0, float(np.abs(want).max(initial=0))))


def test_a_loop_compiles_nothing_after_its_first_step() -> None:
    """X-A8, X-H1: a second iteration plans and compiles nothing; another batch size or learning rate compiles nothing
    either.
    """
    w = tensor(np.ones((5, 3), np.float32))

    def step(batch: int, rate: float) -> None:
        nonlocal w
        x = tensor(np.full((batch, 5), 0.5, np.float32))
        with Tape() as tape:
            y = softmax(x @ w)
            (gradient,) = tape.gradient((y * y).sum(), [w], zeros=True)
        new = w - gradient * rate
        realize(new)
        w = new

    step(7, 0.5)
    before = counters()
    step(7, 0.5)
    after = counters()
    assert after.programs_planned == before.programs_planned
    assert after.kernels_compiled == before.kernels_compiled > 0
    assert after.kernels_run > before.kernels_run
    step(9, 0.25)
    assert counters().kernels_compiled == before.kernels_compiled
    assert counters().programs_planned == before.programs_planned + 1


def test_nothing_runs_before_realize() -> None:
    """After 100 operations no kernel has run; realize runs them."""
    before = counters()
    x = tensor(np.ones((3, 4), np.float32))
    y = x
    for _ in range(100):
        y = y * 1.01
    assert counters()[:3] == before[:3]
    y.realize()
    assert counters().kernels_run == before.kernels_run + 1


def test_bytes_held_are_those_of_leaves_and_results() -> None:
    """X-A6: bytes are counted, and given back when tensors go."""
    gc.collect()
    before = counters().bytes_held
    x = tensor(np.ones((8, 4), np.float32))
    y = (x + 1.0).realize()
    assert counters().bytes_held == before + 2 * 128
    del x, y
    gc.collect()
    assert counters().bytes_held == before


def test_the_reference_is_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``using("reference")``, and where there is no Halide, no kernel runs."""
    x = np.array([[1.0, 2.0], [3.0, 5.0]], np.float32)
    before = counters().kernels_run
    with using("reference"):
        np.testing.assert_array_equal((tensor(x) * 2.0 + 7.0).numpy(), x * 2 + 7)
    monkeypatch.setattr(running, "available", lambda: False)
    np.testing.assert_array_equal((tensor(x) * 2.0 + 9.0).numpy(), x * 2 + 9)
    assert counters().kernels_run == before


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_memory_that_does_not_suffice(engine: Any) -> None:
    """One error with the expression, or with the shape that no machine can address; the tensors stay as they are."""
    x = tensor(np.ones(1, np.float32), name="x")
    large, larger = x.expand(2**30, 2**30) + 1.0, x.expand(2**31, 2**31) + 1.0
    with using(engine):
        with pytest.raises(
            OutOfMemory, match=r"(?s)realize: its arrays must fit.*Unable to allocate.*add\(expand\(.*x \(1\)"
        ):
            large.realize()
        with pytest.raises(
            OutOfMemory, match=r"float32 of shape \(2147483648, 2147483648\), 18,446,744,073,709,551,616 bytes"
        ):
            larger.realize()
        assert not large.is_realized
        assert (x + 1.0).item() == 2.0


def test_earlier_results_keep_their_numbers() -> None:
    """Memory of results is used again only when nothing refers to them."""
    x = tensor(np.arange(20_000, dtype=np.float32))
    first = (x + 1.0).numpy()
    second = (x + 2.0).numpy()
    (x + 3.0).numpy()
    np.testing.assert_array_equal(second - first, np.ones(20_000))


def test_other_arrays_and_other_numbers() -> None:
    """Arrays that are not contiguous, of no numbers, of integers, and of half precision give NumPy's results."""
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    np.testing.assert_array_equal((tensor(x[:, ::2]) * 2.0).numpy(), x[:, ::2] * 2)
    np.testing.assert_array_equal((tensor(x.T) * 2.0).numpy(), x.T * 2)
    assert (tensor(np.zeros((0, 3), np.float32)) * 2.0).sum(axis=0).numpy().tolist() == [0, 0, 0]
    np.testing.assert_array_equal((tensor(np.arange(5)) * 3 + 1).numpy(), np.arange(5) * 3 + 1)
    half = np.arange(5, dtype=np.float16)
    np.testing.assert_array_equal((tensor(half) * 0.5).numpy(), half * np.float16(0.5))
    mixed = tensor(half).cast(np.float32) + tensor(np.ones(5, np.float32))
    np.testing.assert_array_equal(mixed.numpy(), half.astype(np.float32) + 1)


@pytest.mark.parametrize(
    "shapes",
    [((5, 6), (6, 7)), ((6,), (6, 7)), ((5, 6), (6,)), ((2, 5, 6), (2, 6, 7)), ((2, 5, 6), (6, 7)), ((1, 6), (6, 1))],
)
def test_products_equal_numpy(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """Products of matrices, of vectors, and of stacks of matrices, also of transposed ones."""
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=shape) for shape in shapes)
    np.testing.assert_allclose((tensor(a) @ tensor(b)).numpy(), a @ b, rtol=1e-12)
    if len(shapes[0]) == len(shapes[1]) == 2:
        np.testing.assert_allclose((tensor(b).T @ tensor(a).T).numpy(), b.T @ a.T, rtol=1e-12)


def test_plans_are_compiled() -> None:
    """The programs of this file are computed by kernels, or their tests would prove nothing."""
    x = tensor(np.ones((3, 4), np.float32))
    for ours, _ in PROGRAMS.values():
        program, leaves = traced([ours(x, x + 1.0).id])
        plan = plan_of(program, [GRAPH.arrays[number] for number in leaves])
        assert isinstance(plan, Compiled)
