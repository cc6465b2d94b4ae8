"""Movement: NumPy's values for every dtype, nothing lost on the way, derivatives by central differences. A row for each
function.
"""

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graph_rows import SEEDS, check_gradient, gradients
from hypothesis import given
from hypothesis import strategies as st

from typednn import graph as ops
from typednn.errors import ArgumentError, DTypeError, OutOfMemory, ShapeError, TypednnError
from typednn.graph import counting, movement, selection, tensor
from typednn.graph.graph import GRAPH

Case = tuple[Callable[..., Any], Callable[..., Any]]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Case]


def _axis(g: np.random.Generator, shape: tuple[int, ...]) -> int:
    return int(g.integers(-len(shape), len(shape)))


def _axes(g: np.random.Generator, shape: tuple[int, ...]) -> Any:
    chosen = [int(each) for each in g.permutation(len(shape))[: g.integers(0, len(shape) + 1)]]
    return None if g.random() < 0.2 else chosen[0] if len(chosen) == 1 else tuple(chosen)


def _both(name: str, reference: Callable[..., Any] | None = None) -> Callable[..., Case]:
    """The function ``name`` and NumPy's, with these further arguments."""
    mine, theirs = getattr(ops, name), reference or getattr(np, name)
    return lambda *arguments: (lambda x: mine(x, *arguments), lambda x: theirs(x, *arguments))


def _index(g: np.random.Generator, shape: tuple[int, ...]) -> Any:
    def one(size: int) -> Any:
        bounds = [None, *range(-size - 1, size + 2)]
        low, high = bounds[g.integers(len(bounds))], bounds[g.integers(len(bounds))]
        step = [None, 1, 2, 3, -1, -2, -3][g.integers(7)]
        return int(g.integers(-size, size)) if size and g.random() < 0.3 else slice(low, high, step)

    index = [one(size) for size in shape[: g.integers(0, len(shape) + 1)]]
    if g.random() < 0.3:
        index.insert(int(g.integers(0, len(index) + 1)), None)
    return (*index, Ellipsis) if g.random() < 0.3 else tuple(index)


def _sliced(g: np.random.Generator, shape: tuple[int, ...]) -> Case:
    index = _index(g, shape)
    return lambda x: x[index], lambda x: x[index]


def _set(g: np.random.Generator, shape: tuple[int, ...]) -> Case:
    index = _index(g, shape)

    def reference(x: Any) -> Any:
        found = x.copy()
        found[index] = x[index] // 2 if x.dtype.kind in "iu" else ~x[index] if x.dtype.kind == "b" else x[index] * 2
        return found

    def function(x: Any) -> Any:
        old = x[index]
        return ops.set_item(x, index, old // 2 if x.dtype.kind in "iu" else ~old if x.dtype.kind == "b" else old * 2)

    return function, reference


def _split(g: np.random.Generator, shape: tuple[int, ...]) -> Case:
    axis = _axis(g, shape)
    sections = shape[axis] if g.random() < 0.5 else sorted(int(each) for each in g.integers(0, shape[axis] + 1, 2))
    at = int(g.integers(sections if isinstance(sections, int) else 3))
    return lambda x: ops.split(x, sections, axis)[at], lambda x: np.split(x, sections, axis)[at]


def _diagonal(g: np.random.Generator, shape: tuple[int, ...]) -> Case:
    first, second = (int(each) for each in g.permutation(len(shape))[:2])
    return _both("diagonal")(int(g.integers(-7, 8)), first, second)


def _joined(g: np.random.Generator, shape: tuple[int, ...]) -> Case:
    axis, parts = _axis(g, shape), int(g.integers(1, 6))
    lengths = [int(each) for each in g.integers(0, shape[axis] + 1, parts)]
    at = axis % len(shape)

    def of(join: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x: join([x[(slice(None),) * at + (slice(0, length),)] for length in lengths], axis)

    return of(ops.concatenate), of(np.concatenate)


def _stacked(g: np.random.Generator, shape: tuple[int, ...]) -> Case:
    axis, parts = int(g.integers(-len(shape) - 1, len(shape) + 1)), int(g.integers(1, 5))
    return lambda x: ops.stack([x] * parts, axis), lambda x: np.stack([x] * parts, axis)


def _padded(g: np.random.Generator, shape: tuple[int, ...]) -> Case:
    widths = [(int(each[0]), int(each[1])) for each in g.integers(0, 3, (len(shape), 2))]
    return lambda x: ops.pad_with(x, widths, 1), lambda x: np.pad(x, widths, constant_values=1)


def _taken(g: np.random.Generator, shape: tuple[int, ...]) -> Case:
    axis = None if g.random() < 0.2 else _axis(g, shape)
    size = int(np.prod(shape)) if axis is None else shape[axis]
    indices = g.integers(-size, size, [(), (3,), (2, 2)][g.integers(3)])
    return lambda x: ops.take(x, tensor(np.asarray(indices)), axis), lambda x: np.take(x, indices, axis)


def _lines(g: np.random.Generator, shape: tuple[int, ...]) -> tuple[int, Any]:
    axis = _axis(g, shape)
    sizes = list(shape)
    sizes[axis] = int(g.integers(1, 5))
    return axis, g.integers(-shape[axis], shape[axis], sizes)


def _gathered(g: np.random.Generator, shape: tuple[int, ...]) -> Case:
    axis, indices = _lines(g, shape)
    return lambda x: ops.gather(x, axis, tensor(indices)), lambda x: np.take_along_axis(x, indices, axis)


def _scattered(g: np.random.Generator, shape: tuple[int, ...]) -> Case:
    axis, indices = _lines(g, shape)

    def reference(x: Any) -> Any:
        found = x.copy()
        for place in np.ndindex(indices.shape):
            at = list(place)
            at[axis] = indices[place]
            found[tuple(at)] += x.flat[0]
        return found

    return (
        lambda x: ops.scatter_add(x, axis, tensor(indices), ops.broadcast_to(x[(0,) * x.ndim], indices.shape)),
        reference,
    )


def _swapped(g: np.random.Generator, shape: tuple[int, ...]) -> tuple[int, int]:
    return _axis(g, shape), _axis(g, shape)


def _flat(x: Any, start: int, end: int) -> Any:
    return x.reshape(*x.shape[:start], -1, *x.shape[end + 1 :])


# Arguments are drawn for a shape of one axis at least; of two, where ``pairs`` names the function.
ROWS: list[tuple[str, Draw]] = [
    ("sliced", _sliced),
    ("set_item", _set),
    ("flip", lambda g, s: _both("flip")(_axes(g, s))),
    ("roll", lambda g, s: _both("roll")(int(g.integers(-9, 10)), None if g.random() < 0.3 else _axis(g, s))),
    ("repeat", lambda g, s: _both("repeat")(int(g.integers(0, 4)), None if g.random() < 0.3 else _axis(g, s))),
    ("tile", lambda g, s: _both("tile")([int(each) for each in g.integers(0, 4, g.integers(1, 5))])),
    ("concatenate", _joined),
    ("stack", _stacked),
    ("split", _split),
    ("pad_with", _padded),
    (
        "transpose",
        lambda g, s: _both("transpose")(None if g.random() < 0.3 else [int(each) for each in g.permutation(len(s))]),
    ),
    ("swapaxes", lambda g, s: _both("swapaxes")(*_swapped(g, s))),
    ("moveaxis", lambda g, s: _both("moveaxis")(*_swapped(g, s))),
    ("rollaxis", lambda g, s: _both("rollaxis")(_axis(g, s), int(g.integers(-len(s), len(s) + 1)))),
    (
        "squeeze",
        lambda g, s: _both("squeeze")(
            None if g.random() < 0.5 else tuple(at for at, size in enumerate(s) if size == 1)
        ),
    ),
    ("unsqueeze", lambda g, s: _both("unsqueeze", np.expand_dims)(int(g.integers(-len(s) - 1, len(s) + 1)))),
    ("expand_dims", lambda g, s: _both("expand_dims")(int(g.integers(-len(s) - 1, len(s) + 1)))),
    ("flatten", lambda g, s: _both("flatten", _flat)(*sorted(int(each) for each in g.integers(0, len(s), 2)))),
    ("tril", lambda g, s: _both("tril")(int(g.integers(-5, 6)))),
    ("triu", lambda g, s: _both("triu")(int(g.integers(-5, 6)))),
    ("diagonal", _diagonal),
    ("take", _taken),
    ("gather", _gathered),
    ("scatter_add", _scattered),
]
PAIRS = {"tril", "triu", "diagonal"}
NOT_OF_BOOLEANS = {"scatter_add"}
WITHOUT_INPUT = {"arange", "eye", "tri", "one_hot"}
DTYPES = (np.bool_, np.uint8, np.int8, np.int32, np.int64, np.float16, np.float32, np.float64)
SHAPES = st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple)


def _of_rank(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape, 3) if name in PAIRS and len(shape) == 1 else shape


def _numbers(g: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
    kind = np.dtype(dtype)
    x = g.integers(0, 2 if kind.kind == "b" else 100, shape).astype(kind)
    if kind.kind == "f":  # whatever there is
        special = np.array([-0.0, np.inf, -np.inf, np.nan], kind)
        x = np.where(g.random(shape) < 0.4, special[g.integers(0, 4, shape)], x)
    return x


def test_every_public_function_has_a_row() -> None:
    """Z-T5, X-A15: none is left out below."""
    functions = {
        name
        for module in (movement, selection, counting)
        for name, each in vars(module).items()
        if inspect.isfunction(each) and each.__module__ == module.__name__
    }
    public = {name for name in functions if not name.startswith("_")}
    assert public - {"sliced"} <= set(ops.__all__), "export it from typednn.graph"
    assert public <= {name for name, _ in ROWS} | WITHOUT_INPUT, "add a row to this file"


@pytest.mark.parametrize(("name", "draw"), ROWS, ids=[row[0] for row in ROWS])
@given(shape=SHAPES, seed=SEEDS, dtype=st.sampled_from(DTYPES))
def test_values_are_those_of_numpy(name: str, draw: Draw, shape: tuple[int, ...], seed: int, dtype: Any) -> None:
    """X-A15, Z-T5, Z-F1: bit by bit, in every dtype; infinities, NaN and the sign of zero arrive."""
    g = np.random.default_rng(seed)
    shape = _of_rank(name, shape)
    if name in NOT_OF_BOOLEANS and dtype == np.bool_:
        dtype = np.int16
    function, reference = draw(g, shape)
    x = g.integers(0, 5, shape).astype(dtype) if name == "scatter_add" else _numbers(g, shape, dtype)
    found, expected = function(tensor(x)), np.asarray(reference(x))
    assert found.shape == expected.shape
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.numpy(), expected)
    if found.dtype.kind == "f":
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found.numpy())[numbers], np.signbit(expected)[numbers])


@pytest.mark.parametrize(("name", "draw"), ROWS, ids=[row[0] for row in ROWS])
@given(shape=SHAPES, seed=SEEDS)
def test_derivatives_are_central_differences(name: str, draw: Draw, shape: tuple[int, ...], seed: int) -> None:
    """Z-F1, Z-T5: each number's derivative goes where the number came from, as often as it was used."""
    g = np.random.default_rng(seed)
    shape = _of_rank(name, shape)
    function, _ = draw(g, shape)
    check_gradient(function, [g.standard_normal(shape)], seed)


@given(size=st.integers(1, 70), rows=st.integers(1, 3), step=st.sampled_from([-7, -3, -2, -1, 2, 3, 5, 8]))
def test_slices_of_long_axes(size: int, rows: int, step: int) -> None:
    """Z-T5: steps that leave a rest, both ways."""
    x = np.arange(rows * size).reshape(rows, size)
    np.testing.assert_array_equal(tensor(x)[:, ::step].numpy(), x[:, ::step])


def test_shapes_may_be_lists() -> None:
    """X-A15: a list of sizes is the shape that a tuple is."""
    y = tensor(np.ones((2, 3)))
    for found in (
        ops.reshape(y, [3, 2]),
        ops.permute(y, [1, 0]),
        ops.reshape(y, [3, -1]),
        ops.broadcast_to(ops.reshape(y, [1, 6]), [4, 6]),
    ):
        assert isinstance(found.shape, tuple)
        assert found.numpy().shape == found.shape
    assert ops.reshape(y, [2, 3]) is y


def test_empty_axes_move() -> None:
    """X-A15: sizes of 0."""
    x = np.ones((0, 3), np.float32)
    t = tensor(x)
    np.testing.assert_array_equal(ops.flip(t).numpy(), x)
    np.testing.assert_array_equal(ops.roll(t, 2, 0).numpy(), x)
    np.testing.assert_array_equal(ops.concatenate([t, tensor(np.ones((2, 3), np.float32)), t]).numpy(), np.ones((2, 3)))
    np.testing.assert_array_equal(ops.concatenate([t, t]).numpy(), x)
    assert t[:, 1:1].numpy().shape == (0, 0)
    assert [each.shape for each in ops.split(t, 3)] == [(0, 3)] * 3
    assert ops.diagonal(tensor(np.ones((2, 3))), 5).numpy().shape == (0,)
    assert ops.arange(0).numpy().shape == (0,)


@given(rows=st.integers(0, 6), columns=st.integers(0, 6), k=st.integers(-7, 7), dtype=st.sampled_from(DTYPES))
def test_matrices_of_comparisons(rows: int, columns: int, k: int, dtype: Any) -> None:
    """X-A15, Z-T2: eye and tri, arange."""
    np.testing.assert_array_equal(ops.eye(rows, columns, k, dtype).numpy(), np.eye(rows, columns, k, dtype))
    np.testing.assert_array_equal(ops.tri(rows, columns, k, dtype).numpy(), np.tri(rows, columns, k, dtype))
    np.testing.assert_array_equal(ops.eye(rows).numpy(), np.eye(rows))
    np.testing.assert_array_equal(ops.arange(k, rows, columns + 1).numpy(), np.arange(k, rows, columns + 1))
    np.testing.assert_array_equal(ops.arange(rows, dtype=np.float32).numpy(), np.arange(rows, dtype=np.float32))


@given(shape=SHAPES, seed=SEEDS, classes=st.integers(1, 6))
def test_one_hot(shape: tuple[int, ...], seed: int, classes: int) -> None:
    """Z-T5, X-A15: rows of the identity."""
    labels = np.random.default_rng(seed).integers(0, classes, shape)
    np.testing.assert_array_equal(ops.one_hot(tensor(labels), classes).numpy(), np.eye(classes)[labels])
    assert not ops.one_hot(tensor(np.array([-1, classes])), classes).numpy().any(), "no class is none of them"


@given(seed=SEEDS)
def test_choice_and_its_transpose(seed: int) -> None:
    """Z-T5: derivatives by the values that are added; a second derivative of take, gather and scatter_add."""
    g = np.random.default_rng(seed)
    x, values, rows = g.standard_normal((4, 3)), g.standard_normal((5, 3)), tensor(g.integers(0, 4, (5, 3)))
    check_gradient(lambda x, values: ops.scatter_add(x, 0, rows, values) ** 2, [x, values], seed)

    def slope(x: ops.Tensor) -> ops.Tensor:
        with ops.Tape() as tape:
            y = (
                ops.take(x, rows, 0).sum()
                + (ops.take(x, rows[:, 0], 0) ** 3).sum()
                + (ops.gather(x, 0, rows) ** 3).sum()
            )
            (found,) = tape.gradient(y, [x], zeros=True)
        return found

    check_gradient(slope, [x], seed, rtol=1e-5)


def test_set_item_takes_numbers_and_broadcasts() -> None:
    """Z-T5: what is set may be a number, a row, a tensor; its derivative is the slice's."""
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(
        ops.set_item(tensor(x), (slice(None), slice(None, None, -2)), 9.0).numpy(), [[9, 1, 9], [9, 4, 9]]
    )
    np.testing.assert_array_equal(ops.set_item(tensor(x), ..., np.array([7.0, 8, 9])).numpy(), [[7, 8, 9]] * 2)
    check_gradient(lambda x, row: ops.set_item(x, 1, row) ** 2, [x, np.array([2.0, 3, 4])])


def test_embedding_is_a_choice_of_rows() -> None:
    """Z-T5, Z-F1: a label that occurs twice gets both derivatives."""
    table = np.arange(12.0).reshape(4, 3)
    labels = tensor(np.array([[1, 3], [1, 0]]))
    assert ops.take(tensor(table), labels, 0).shape == (2, 2, 3)
    (slope,) = gradients(lambda table: ops.take(table, labels, 0), [table])
    np.testing.assert_array_equal(slope, np.array([1, 2, 0, 1])[:, None] * np.ones(3))


def test_turning_costs_few_nodes() -> None:
    """X-D6: an axis of 1,000 is turned by 19 nodes, one of up to 8 by 5."""
    for size, most in ((1000, 19), (8, 5), (2, 5)):
        x = tensor(np.zeros((2, size)))
        before = len(GRAPH)
        y = ops.flip(x, 1)
        assert len(GRAPH) - before <= most
        del y


# ------------------------------------------------------------------ refusals

x, mask, whole = (
    tensor(np.ones((2, 3), np.float32), name="x"),
    tensor(np.ones((2, 3), bool)),
    tensor(np.arange(6).reshape(2, 3)),
)
REFUSED: list[tuple[str, Callable[[], Any], type[TypednnError], str]] = [
    ("an axis out of range", lambda: ops.flip(x, 2), ArgumentError, r"flip.*-2 to 1.*x \(2, 3\)"),
    ("an axis twice", lambda: ops.flip(x, (0, 0)), ArgumentError, "flip.*once"),
    ("an axis that is none", lambda: ops.roll(x, 1, 0.5), ArgumentError, "roll.*0.5"),  # type: ignore[arg-type]
    ("a text as axes", lambda: ops.flip(x, "ab"), ArgumentError, "flip.*ab"),  # type: ignore[arg-type]
    ("an index out of range", lambda: x[2], ShapeError, r"-2 to 1.*2 on axis 0 of x"),
    ("too many indices", lambda: x[0, 0, 0], ShapeError, "at most 2"),
    ("two ellipses", lambda: x[..., ...], ArgumentError, "one ellipsis"),
    ("a list as index", lambda: x[[0]], ArgumentError, "take picks rows"),  # type: ignore[index]
    ("a step of 0", lambda: x[::0], ArgumentError, "step that is not 0"),
    ("a slice of texts", lambda: x["a":], ArgumentError, "a slice has integers"),  # type: ignore[misc]
    ("values of another shape", lambda: ops.set_item(x, 0, x), ShapeError, r"\(2, 3\) to \(3,\)"),
    ("values of another dtype", lambda: ops.set_item(x, 0, whole[0]), DTypeError, "int64 and float32"),
    ("a place that is none", lambda: ops.set_item(x, 5, 0.0), ShapeError, "5 on axis 0"),
    ("a tensor joined with itself", lambda: ops.concatenate(x), ArgumentError, "concatenate.*sequence.*a tensor"),  # type: ignore[arg-type]
    ("half a section", lambda: ops.split(x, 1.5), ArgumentError, "split.*1.5"),  # type: ignore[arg-type]
    ("a section of texts", lambda: ops.split(x, ["a"]), ArgumentError, "a slice has integers"),  # type: ignore[list-item]
    ("nothing joined", lambda: ops.concatenate([]), ArgumentError, "concatenate.*at least one"),
    ("two shapes joined", lambda: ops.concatenate([x, x[:, :2]]), ShapeError, r"concatenate.*\(2, 3\) and \(2, 2\)"),
    ("two dtypes joined", lambda: ops.concatenate([x, whole]), DTypeError, "concatenate.*float32 and int64"),
    ("an array joined", lambda: ops.concatenate([x, np.ones((2, 3))]), ArgumentError, "concatenate.*ndarray"),  # type: ignore[list-item]
    ("two shapes stacked", lambda: ops.stack([x, x[:1]]), ShapeError, "stack.*one shape"),
    ("uneven sections", lambda: ops.split(x, 2, 1), ShapeError, "split.*divisor of 3"),
    ("no sections", lambda: ops.split(x, 0, 1), ArgumentError, "split.*from 1"),
    ("a squeezed size", lambda: ops.squeeze(x, 1), ShapeError, "squeeze.*size 1"),
    ("an order", lambda: ops.transpose(x, [0, 0]), ShapeError, "each of the 2 axes once"),
    ("negative repeats", lambda: ops.repeat(x, -1), ArgumentError, "repeat.*from 0"),
    ("half a repeat", lambda: ops.tile(x, 1.5), ArgumentError, "tile.*1.5"),  # type: ignore[arg-type]
    ("one axis twice", lambda: ops.diagonal(x, 0, 1, -1), ArgumentError, "diagonal.*two axes"),
    ("a triangle of a vector", lambda: ops.tril(x[0]), ShapeError, "tril.*two axes"),
    ("classes of floats", lambda: ops.one_hot(x, 3), DTypeError, "one_hot.*integers"),
    ("a negative count", lambda: ops.one_hot(whole, -3), ArgumentError, "classes.*-3"),
    ("a step of nothing", lambda: ops.arange(1, 5, 0), ArgumentError, "arange.*not 0"),
    ("a number without end", lambda: ops.arange(0, math.inf), ArgumentError, "arange.*finite numbers.*inf"),  # type: ignore[arg-type]
    (
        "numbers of no dtype",
        lambda: ops.arange(10**40, 10**40 + 3),
        ArgumentError,
        "arange: takes numbers that int64 holds, got 1000",
    ),
    (
        "numbers beyond memory",
        lambda: ops.arange(2**60),
        OutOfMemory,
        r"arange: its arrays must fit.*\(1152921504606846976,\).*smaller",
    ),
    ("floats beyond memory", lambda: ops.arange(0.0, 1e30), OutOfMemory, "arange: its arrays"),  # type: ignore[arg-type]
    ("integers beyond all memory", lambda: ops.arange(0, 10**400), OutOfMemory, "arange: its arrays"),
    ("sizes beyond all memory", lambda: ops.zeros((10**400,)).numpy(), OutOfMemory, "realize: its arrays"),
    ("floats that are too far apart", lambda: ops.arange(-1e308, 1e308), ArgumentError, "arange: takes numbers"),  # type: ignore[arg-type]
    ("rows beyond memory", lambda: ops.eye(2**60), OutOfMemory, "eye: its arrays"),
    ("columns beyond memory", lambda: ops.tri(2, 2**60), OutOfMemory, "tri: its arrays"),
    ("classes beyond memory", lambda: ops.one_hot(whole, 2**60), OutOfMemory, "one_hot: its arrays"),
    ("a matrix beyond memory", lambda: ops.eye(2**25).numpy(), OutOfMemory, "realize: its arrays"),
    (
        "places beyond memory",
        lambda: ops.set_item(x.reshape(1, 6).expand(2**50, 6), 0, 1.0),
        OutOfMemory,
        "set_item: its arrays",
    ),
    ("rows of floats", lambda: ops.take(x, x), DTypeError, "take.*integers.*float32"),
    ("a row out of range", lambda: ops.take(x, whole, 0).numpy(), ArgumentError, "-2 to 1.*0 to 5"),
    ("a place out of range", lambda: ops.gather(x, 1, whole - 9).numpy(), ArgumentError, "gather.*-3 to 2.*-9"),
    ("lines of other sizes", lambda: ops.gather(x, 1, whole[:, 0]), ShapeError, "gather.*axis 1"),
    ("a value too few", lambda: ops.scatter_add(x, 1, whole, x[:, :2]), ShapeError, "a value for each index"),
]


@pytest.mark.parametrize(("make", "error", "said"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refusals_say_what_is_wrong(make: Callable[[], Any], error: type[TypednnError], said: str) -> None:
    """Z-T5: one clear error, when the node is made or, of indices, when it is computed."""
    with pytest.raises(error, match=f"(?s){said}"):
        make()
