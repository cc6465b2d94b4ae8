"""Tensors: NumPy's operators, shapes and dtypes; what is refused, with the expression that led there."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes
from safetensors.numpy import load_file, save_file

from typednn.errors import ArgumentError, DTypeError, ShapeError, TypednnError
from typednn.graph.custom import Function
from typednn.graph.graph import GRAPH
from typednn.graph.kinds import DTYPES, Kind
from typednn.graph.nodes import (
    binary,
    broadcast_to,
    cast_to,
    constant,
    device,
    full,
    lazily,
    ones,
    ones_like,
    pad,
    permute,
    realize,
    reduce,
    reshape,
    tensor,
    to_device,
    unary,
    zeros,
    zeros_like,
)
from typednn.graph.operations import Binary, Reduce, Unary
from typednn.graph.tensor import AnyTensor, Tensor

pytestmark = pytest.mark.usefixtures("on_the_reference")

BINARY = {"+": "__add__", "-": "__sub__", "*": "__mul__", "/": "__truediv__", "%": "__mod__", "**": "__pow__"}
COMPARE = {"<": "__lt__", ">": "__gt__", ">=": "__ge__", "<=": "__le__", "==": "__eq__", "!=": "__ne__"}


@pytest.mark.parametrize("method", [*BINARY.values(), *COMPARE.values()])
@given(
    shapes=mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3, min_side=0), seed=st.integers(0, 1000)
)
def test_operators_broadcast_as_numpy_does(method: str, shapes: Any, seed: int) -> None:
    """X-A14, X-D8: equal sizes, sizes of 1, none at all; between tensors, beside arrays and numbers on either side."""
    x, y = (np.random.default_rng(seed).uniform(0.5, 2, shape) for shape in shapes.input_shapes)
    expected = np.asarray(getattr(x, method)(y))
    found = [getattr(tensor(x), method)(tensor(y)), getattr(tensor(x), method)(y)]
    for each in found:
        assert isinstance(each, Tensor)
        assert each.shape == shapes.result_shape
        assert each.dtype == expected.dtype
        np.testing.assert_allclose(each.numpy(), expected, rtol=1e-14)
    number = getattr(tensor(x), method)(2.0)
    np.testing.assert_allclose(number.numpy(), np.asarray(getattr(x, method)(2.0)), rtol=1e-14)


def test_numbers_and_arrays_on_the_left() -> None:
    """X-A14: NumPy leaves its arrays' operators to the tensor."""
    x = np.array([1.0, 2.0, 4.0])
    for found, expected in (
        (1 + tensor(x), 1 + x),
        (1 - tensor(x), 1 - x),
        (2 * tensor(x), 2 * x),
        (1 / tensor(x), 1 / x),
        (2 ** tensor(x), 2**x),
        (x - tensor(2 * x), -x),
        (np.float64(3) * tensor(x), 3 * x),
        (x @ tensor(x), x @ x),
        (tensor(x) @ x, x @ x),
    ):
        assert isinstance(found, Tensor)
        np.testing.assert_array_equal(found.numpy(), expected)


def test_operators_of_integers_and_booleans() -> None:
    """X-A14"""
    x, y = np.array([5, -7, 12]), np.array([3, 2, -5])
    a, b = tensor(x), tensor(y)
    p, q = tensor(x > 0), tensor(y > 0)
    for found, expected in (
        (a / b, x / y),
        (a // b, x // y),
        (a % b, x % y),
        (a & b, x & y),
        (a | b, x | y),
        (a ^ b, x ^ y),
        (~a, ~x),
        (a << 2, x << 2),
        (a >> 1, x >> 1),
        (abs(a), abs(x)),
        (p & q, (x > 0) & (y > 0)),
        (p | q, (x > 0) | (y > 0)),
        (p ^ q, (x > 0) ^ (y > 0)),
        (~p, ~(x > 0)),
        (unary(Unary.FLOOR, a), x),
    ):
        np.testing.assert_array_equal(found.numpy(), expected)
        assert found.dtype == expected.dtype


REFUSED: dict[str, tuple[Any, type[TypednnError], str]] = {
    "dtypes mix": (
        lambda x, n: x + n.cast(np.float32),
        DTypeError,
        r"add: takes two tensors of one dtype, got float64 and float32: x \(2, 3\) and",
    ),
    "float beside integers": (lambda x, n: n + 1.5, DTypeError, r"fits int64, got 1\.5"),
    "too large": (lambda x, n: n.cast(np.uint8) + 300, DTypeError, "constant: a number that uint8 holds, got 300"),
    "negative": (lambda x, n: n.cast(np.uint8) + -1, DTypeError, "constant: a number that uint8 holds, got -1"),
    "no whole number": (
        lambda x, n: full((2,), 1.5, np.int32),
        DTypeError,
        "constant: a number that int32 holds, got 1.5",
    ),
    "a negative size": (
        lambda x, n: zeros((-1, 2)),
        ArgumentError,
        r"zeros: shape is an integer from 0 on, .* got \(-1, 2\)",
    ),
    "half a size": (lambda x, n: ones(2.5), ArgumentError, "ones: shape is an integer"),  # type: ignore[arg-type]
    "a text as a size": (lambda x, n: full("ab", 1.0), ArgumentError, "full: shape is an integer"),  # type: ignore[arg-type]
    "many sizes": (lambda x, n: zeros((1,) * 99), ArgumentError, "at most 32"),
    "no number": (lambda x, n: x + "one", ArgumentError, "takes tensors, arrays and numbers, got str"),
    "none": (lambda x, n: x * None, ArgumentError, "takes tensors, arrays and numbers, got NoneType"),
    "shapes": (
        lambda x, n: x + tensor(np.ones(2)),
        ShapeError,
        r"add: sizes are equal, or one of them is 1, got \(2, 3\): x \(2, 3\) and \(2,\)",
    ),
    "what led there": (
        lambda x, n: (x * 2.0).sum(axis=0) + np.ones(2),
        ShapeError,
        r"\(3,\): sum\(multiply\(x \(2, 3\), 2\)\) and \(2,\): array \(2\)",
    ),
    "reshape": (
        lambda x, n: x.reshape(4, 2),
        ShapeError,
        r"reshape: keeps the number of elements, 6, got \(2, 3\) to \(4, 2\): x",
    ),
    "reshape of what is left": (lambda x, n: x.reshape(-1, 4), ShapeError, "keeps the number of elements"),
    "negative sizes": (lambda x, n: x.reshape(-2, -3), ShapeError, "keeps the number of elements"),
    "permute": (lambda x, n: x.permute(0, 0), ShapeError, r"permute: names each of the 2 axes once, got \(0, 0\) of x"),
    "expand": (
        lambda x, n: x.expand(4, 3),
        ShapeError,
        r"an axis of size 1 repeats, others stay, got \(2, 3\) to \(4, 3\)",
    ),
    "expand to fewer": (lambda x, n: x.expand(3), ShapeError, "an axis of size 1 repeats"),
    "pad": (lambda x, n: pad(x, [(-3, 0), (0, 0)]), ShapeError, "pad: two widths for each of 2 axes"),
    "cut off twice": (lambda x, n: pad(x, [(-2, -1), (0, 0)]), ShapeError, "pad: two widths"),
    "pad too few": (lambda x, n: pad(x, [(1, 1)]), ShapeError, "pad: two widths"),
    "axis": (lambda x, n: x.sum(axis=2), ArgumentError, "sum: names axes from -2 to 1, each once, got 2 of x"),
    "axis twice": (lambda x, n: x.sum(axis=(0, -2)), ArgumentError, "sum: names axes"),
    "axis of none": (lambda x, n: x.sum().sum(axis=0), ArgumentError, "sum: names no axis"),
    "empty maximum": (
        lambda x, n: tensor(np.ones((2, 0))).max(axis=1),
        ShapeError,
        "max: there is a number along each axis",
    ),
    "sum of booleans": (
        lambda x, n: (x > 0.0).sum(),
        DTypeError,
        r"sum: takes numbers, got bool: greater\(x \(2, 3\), 0\); cast it",
    ),
    "booleans added": (lambda x, n: (x > 0.0) + (x > 1.0), DTypeError, "add: takes numbers, got bool"),
    "numbers as truths": (
        lambda x, n: binary(Binary.LOGICAL_AND, n, n),
        DTypeError,
        "logical_and: takes booleans, got int64",
    ),
    "bits of floats": (lambda x, n: x & x, DTypeError, "bitwise_and: takes integers, got float64"),
    "opposite of floats": (lambda x, n: ~x, DTypeError, "bitwise_not: takes integers or booleans, got float64"),
    "negative booleans": (lambda x, n: -(x > 0.0), DTypeError, "negative: takes numbers, got bool"),
    "sine of integers": (lambda x, n: unary(Unary.SIN, n), DTypeError, "sin: takes floats, got int64"),
    "mask": (lambda x, n: binary(Binary.MASKED, x, x), DTypeError, "where: takes a mask of booleans, got float64"),
    "cast": (lambda x, n: x.cast(np.complex128), DTypeError, "cast: a dtype is one of bool, uint8"),
    "no dtype": (lambda x, n: x.cast("integer"), DTypeError, "cast: a dtype is one of bool, uint8"),
    "ragged": (lambda x, n: tensor([[1], [2, 3]]), ArgumentError, "numbers in lists of equal lengths"),
    "text": (lambda x, n: tensor(["a"]), DTypeError, "tensor: a dtype is one of"),
    "complex": (lambda x, n: tensor(np.ones(2, complex)), DTypeError, "tensor: a dtype is one of"),
    "item": (lambda x, n: x.item(), ShapeError, "Tensor.item: the tensor has one number, got 6 numbers, x"),
    "matmul": (lambda x, n: x @ x, ShapeError, r"matmul: .*\(2, 3\) and \(2, 3\): x \(2, 3\) and x \(2, 3\)"),
    "matmul with a number": (lambda x, n: x @ 2.0, ShapeError, "matmul"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    """X-A13, X-D8: when the node is made, in one error that shows the expression."""
    build, error, message = REFUSED[case]
    x, n = tensor(np.ones((2, 3)), name="x"), tensor(np.arange(3))
    with pytest.raises(error, match=message):
        build(x, n)


def test_a_tensor_is_neither_true_nor_false() -> None:
    x = tensor(np.ones(3))
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(x > 0.0)
    with pytest.raises(TypeError, match="no length"):
        len(x.sum())
    assert len(x) == 3
    assert float(x.sum()) == 3


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes(dtype: "np.dtype[Any]") -> None:
    """X-A13, Z-T1: NumPy's twelve, kept by leaves, constants, movement and reductions; never changed unasked."""
    x = np.array([[0, 1], [1, 1]]).astype(dtype)
    a = tensor(x)
    for found in (
        a,
        a.T,
        a.reshape(4),
        a.expand(2, 2, 2),
        pad(a, [(1, 0), (0, 0)]),
        a.max(axis=0),
        zeros_like(a),
        ones_like(a),
        full((2,), 1, dtype),
    ):
        assert found.dtype == dtype
        assert found.numpy().dtype == dtype
    if dtype.kind != "b":
        assert (a + 1).dtype == dtype
        assert a.sum().numpy().dtype == dtype
        np.testing.assert_array_equal((a * a + 1).numpy(), x * x + dtype.type(1))
    for other in DTYPES:
        cast = a.cast(other)
        np.testing.assert_array_equal(cast.numpy(), x.astype(other))
        assert cast.numpy().dtype == other


@given(seed=st.integers(0, 10_000))
def test_constants_of_every_dtype_keep_their_number(seed: int) -> None:
    """X-D6: a CONST's number stands in its two words."""
    rng = np.random.default_rng(seed)
    for dtype in DTYPES:
        value: Any
        if dtype.kind == "f":
            value = dtype.type(rng.choice([rng.normal(), -0.0, math.inf, -math.inf, math.nan]))
        elif dtype.kind == "b":
            value = bool(rng.integers(2))
        else:
            value = [int(np.iinfo(dtype).min), int(np.iinfo(dtype).max), 1][rng.integers(3)]
        made = constant(value, dtype, (2,))
        assert GRAPH.kind(made.id) == Kind.CONST
        np.testing.assert_array_equal(made.numpy(), np.full(2, value, dtype))
        assert np.signbit(made.numpy()[0]) == np.signbit(dtype.type(value)) or np.isnan(value)


@given(
    shape=st.lists(st.integers(0, 4), min_size=1, max_size=4),
    axes=st.lists(st.integers(-4, 3), max_size=3),
    keepdims=st.booleans(),
    seed=st.integers(0, 99),
)
def test_reductions_take_numpys_axes(shape: list[int], axes: list[int], keepdims: bool, seed: int) -> None:
    """X-A14: one axis, several, none, all, negative ones; and the same ones are refused."""
    x = np.random.default_rng(seed).normal(size=shape)
    for operation, done in ((Reduce.SUM, np.sum), (Reduce.PROD, np.prod), (Reduce.MAX, np.max), (Reduce.MIN, np.min)):
        for axis in (None, tuple(axes), *axes[:1]):
            try:
                expected = np.asarray(done(x, axis=axis, keepdims=keepdims))
            except ValueError:
                with pytest.raises(TypednnError):
                    reduce(operation, tensor(x), axis, keepdims)
                continue
            found = reduce(operation, tensor(x), axis, keepdims)
            assert found.shape == expected.shape
            np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


def test_means() -> None:
    """Along axes whose size is a power of two, and others; of nothing as NumPy's, NaN."""
    x = np.arange(24.0).reshape(2, 3, 4)
    for axis in (None, 0, 1, (0, 2), ()):
        np.testing.assert_allclose(tensor(x).mean(axis=axis).numpy(), x.mean(axis=axis), rtol=1e-15)
    assert tensor(x).mean(axis=1, keepdims=True).shape == (2, 1, 4)


def test_movement_that_changes_nothing_makes_no_node() -> None:
    """X-D6"""
    x = tensor(np.ones((2, 3)))
    for same in (
        x.reshape(2, 3),
        x.reshape(2, -1),
        x.permute(0, 1),
        x.expand(2, 3),
        pad(x, [(0, 0), (0, 0)]),
        x.cast(np.float64),
        x.sum(axis=()),
        x**1,
    ):
        assert same is x
    assert x.permute(-1, 0).shape == (3, 2)
    assert x.reshape([3, 2]).shape == x.reshape((3, 2)).shape == (3, 2)


def test_a_shape_is_one_size_or_several() -> None:
    """X-A15: as NumPy takes it."""
    shapes: list[Any] = [3, np.int64(3), (3,), [2, 3], (), 0]
    for shape in shapes:
        np.testing.assert_array_equal(ones(shape).numpy(), np.ones(shape, np.float32), strict=True)
        assert zeros(shape).shape == full(shape, 2.0).shape == np.zeros(shape).shape


def test_a_number_beside_a_tensor_is_one_node() -> None:
    """X-D12: with the tensor's shape, at once."""
    x = tensor(np.ones((2, 3)))
    before = len(GRAPH)
    y = x + 1
    assert len(GRAPH) == before + 2
    assert y.numpy().tolist() == [[2, 2, 2], [2, 2, 2]]


def test_a_file_is_read_when_its_array_is_needed(tmp_path: Path) -> None:
    """X-A11: the file is not even there when the node is made."""
    path = tmp_path / "weights.safetensors"
    w = lazily(lambda: load_file(path)["w"], (2, 3), np.float32, name="w")
    y = (w * 2.0).sum(axis=0)
    save_file({"w": np.ones((2, 3), np.float32)}, path)
    assert y.numpy().tolist() == [4, 4, 4]
    path.unlink()
    assert w.numpy().tolist() == [[1, 1, 1], [1, 1, 1]]


def test_lazy_leaves_read_when_they_are_needed() -> None:
    """X-A11: once; and what is read is what was said."""
    reads: list[int] = []

    def read() -> Any:
        reads.append(1)
        return np.arange(3.0)

    x = lazily(read, (3,), np.float64, name="x")
    y = x + 1.0
    assert (x.shape, x.dtype, device(y)) == ((3,), np.float64, "cpu")
    assert reads == []
    assert y.numpy().tolist() == [1, 2, 3]
    assert (x * 2.0).numpy().tolist() == [0, 2, 4]
    assert reads == [1]
    for wrong in (np.arange(4.0), np.arange(3)):
        with pytest.raises(ShapeError, match=r"lazily\('z'\): the array is float64 of shape \(3,\), as was said, got"):
            lazily(lambda wrong=wrong: wrong, (3,), np.float64, name="z").numpy()
    with pytest.raises(DTypeError):
        lazily(read, (3,), "text")


class Counted(Function):
    """Counts how often it is computed."""

    def __init__(self) -> None:
        self.calls = 0

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return x + 1


def test_realize_computes_what_is_shared_once() -> None:
    """X-D1: of several tensors, in lists or alone; known ones stay as they are."""
    counted = Counted()
    x = counted(tensor(np.ones(2)))
    y, z, w = x + 1.0, x + 2.0, x + 3.0
    realize([y, z], w)
    assert counted.calls == 1
    arrays = [each.array for each in (y, z, w)]
    realize(y, [z, w])
    assert all(each.array is array for each, array in zip((y, z, w), arrays, strict=True))
    realize()
    assert [float(each.numpy()[0]) for each in (y, z, w)] == [3, 4, 5]


def test_devices_are_known_without_computing() -> None:
    """X-A11"""
    x = tensor(np.ones(3))
    y = to_device(1.0 + x, "cpu") * 2.0
    assert device(y) == "cpu"
    assert not y.is_realized
    with pytest.raises(TypednnError):
        to_device(x, "moon")
    assert device(ones((2,))) == device(zeros((2,))) == "cpu"


def test_functions_and_methods_agree() -> None:
    x: AnyTensor = tensor(np.arange(6.0).reshape(2, 3))
    for method, function in (
        (x.reshape(3, 2), reshape(x, (3, 2))),
        (x.T, permute(x, (1, 0))),
        (x.expand(2, 2, 3), broadcast_to(x, (2, 2, 3))),
        (x.cast(np.int8), cast_to(x, np.int8)),
        (x.prod(axis=1), reduce(Reduce.PROD, x, 1)),
    ):
        np.testing.assert_array_equal(method.numpy(), function.numpy())


def test_how_tensors_print() -> None:
    x = tensor(np.ones((2, 3), np.float32), name="x")
    assert repr(x) == "Tensor(x (2, 3), float32, realized)"
    assert repr(x.sum(axis=1)) == "Tensor(sum(x (2, 3)), float32, not computed)"
    assert tensor([1, 2]).dtype == np.int64
    assert tensor([1, 2], dtype=np.float32).dtype == np.float32
    assert tensor(x) is x
