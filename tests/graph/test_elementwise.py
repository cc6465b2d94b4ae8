"""Functions of each number: NumPy's values in every dtype, its special values, and derivatives by central differences.
A row for each.
"""

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graph_rows import SEEDS, SHAPES, Row, check_gradient, close, gradients
from hypothesis import given
from hypothesis import strategies as st

from typednn import graph as ops
from typednn.errors import ArgumentError, DTypeError, ShapeError, TypednnError
from typednn.graph import Tape, activations, elementwise, tensor
from typednn.kernels import linear_units, pointwise, pointwise_losses

FLOATS = (np.float16, np.float32, np.float64)
INTEGERS = (np.int8, np.int16, np.int32, np.int64)
UNSIGNED = (np.uint8, np.uint16, np.uint32, np.uint64)
OF = {"f": FLOATS, "i": INTEGERS, "u": UNSIGNED, "b": (np.bool_,)}

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _sigmoid(x: Any) -> Any:
    return np.exp(-np.logaddexp(0, -x))


def _closed(gate: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """x·gate(x), 0 at -∞."""
    return lambda x: np.where(x == -np.inf, 0, x * gate(x))


def _elu(x: Any, alpha: float = 1.0) -> Any:
    return np.where(x > 0, x, alpha * np.expm1(x))


SELU = (1.6732632423543772848170429916717, 1.0507009873554804934193349852946)

# X-A14: the operations; Z-T2: maps; Z-T3: elementwise.
UNARY = [
    Row("negative", ops.negative, np.negative, dtypes="fiu"),
    Row("abs", ops.abs, np.abs, dtypes="fiu", kinks=(0,)),
    Row("bitwise_not", ops.bitwise_not, np.bitwise_not, dtypes="iub"),
    Row("exp", ops.exp, np.exp),
    Row("exp2", ops.exp2, np.exp2),
    Row("expm1", ops.expm1, np.expm1),
    Row("log", ops.log, np.log, 0.1),
    Row("log2", ops.log2, np.log2, 0.1),
    Row("log10", ops.log10, np.log10, 0.1),
    Row("log1p", ops.log1p, np.log1p, -0.9),
    Row("reciprocal", ops.reciprocal, np.reciprocal, kinks=(0,)),
    Row("sqrt", ops.sqrt, np.sqrt, 0.1),
    Row("rsqrt", ops.rsqrt, lambda x: 1 / np.sqrt(x), 0.1),
    Row("sin", ops.sin, np.sin),
    Row("cos", ops.cos, np.cos),
    Row("tan", ops.tan, np.tan, -1.4, 1.4),
    Row("sinh", ops.sinh, np.sinh),
    Row("cosh", ops.cosh, np.cosh),
    Row("tanh", ops.tanh, np.tanh),
    Row("erf", ops.erf, _erf),
    Row("square", ops.square, np.square, dtypes="fiu"),
    Row("floor", ops.floor, np.floor, dtypes="fiu", whole=True),
    Row("ceil", ops.ceil, np.ceil, dtypes="fiu", whole=True),
    Row("trunc", ops.trunc, np.trunc, dtypes="fiu", whole=True),
    Row("round", ops.round, np.round, dtypes="fiu", kinks=tuple(np.arange(-5, 5) + 0.5)),
    Row("frac", ops.frac, lambda x: x - np.trunc(x), whole=True),
    Row("sign", ops.sign, np.sign, dtypes="fiu", kinks=(0,)),
    Row("deg2rad", ops.deg2rad, np.deg2rad, -360, 360),
    Row("rad2deg", ops.rad2deg, np.rad2deg),
    Row("isnan", ops.isnan, np.isnan, dtypes="fiu", smooth=False),
    Row("isinf", ops.isinf, np.isinf, dtypes="fiub", smooth=False),
    Row("isfinite", ops.isfinite, np.isfinite, dtypes="fiub", smooth=False),
    Row("logical_not", ops.logical_not, np.logical_not, dtypes="fiub", smooth=False),
    Row("clip", lambda x: ops.clip(x, -1, 2), lambda x: np.clip(x, -1, 2), dtypes="fi", kinks=(-1, 2)),
    Row("clamp", lambda x: ops.clamp(x, None, 1), lambda x: np.minimum(x, 1), dtypes="fiu", kinks=(1,)),
    Row("stop_gradient", ops.stop_gradient, lambda x: x, dtypes="fiub", smooth=False),
    # Activations: X-A15, Z-T2, Z-F1.
    Row("relu", ops.relu, lambda x: np.maximum(x, 0), dtypes="fi", kinks=(0,), signs=False),
    Row("leaky_relu", lambda x: ops.leaky_relu(x, 0.1), lambda x: np.where(x > 0, x, 0.1 * x), kinks=(0,)),
    Row("sigmoid", ops.sigmoid, _sigmoid),
    Row("logsigmoid", ops.logsigmoid, lambda x: -np.logaddexp(0, -x), signs=False),
    Row("softplus", ops.softplus, lambda x: np.logaddexp(0, x)),
    Row(
        "softplus",
        lambda x: ops.softplus(x, 2.0, 4.0),
        lambda x: np.where(2 * x > 4, x, np.logaddexp(0, 2 * x) / 2),
        kinks=(2,),
    ),
    Row("silu", ops.silu, _closed(_sigmoid), signs=False),
    Row("swish", ops.swish, _closed(_sigmoid), signs=False),
    Row("quick_gelu", ops.quick_gelu, _closed(lambda x: _sigmoid(1.702 * x)), signs=False),
    Row("mish", ops.mish, _closed(lambda x: np.tanh(np.logaddexp(0, x))), signs=False),
    Row("gelu", ops.gelu, _closed(lambda x: (1 + _erf(x / np.sqrt(2))) / 2), signs=False),
    Row(
        "gelu",
        lambda x: ops.gelu(x, "tanh"),
        _closed(lambda x: (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2),
        signs=False,
    ),
    Row("elu", lambda x: ops.elu(x, 0.7), lambda x: _elu(x, 0.7), kinks=(0,), signs=False),
    Row("selu", ops.selu, lambda x: SELU[1] * _elu(x, SELU[0]), kinks=(0,), signs=False),
    Row("celu", lambda x: ops.celu(x, 2.0), lambda x: np.where(x > 0, x, 2 * np.expm1(x / 2)), signs=False),
    Row("softsign", ops.softsign, lambda x: x / (1 + np.abs(x))),
    Row("hardsigmoid", ops.hardsigmoid, lambda x: np.clip(x + 3, 0, 6) / 6, -5, 5, kinks=(-3, 3)),
    Row("hardswish", ops.hardswish, _closed(lambda x: np.clip(x + 3, 0, 6) / 6), -5, 5, kinks=(-3, 3), signs=False),
    # Z-T2, Z-F1: what operators say.
    Row("scale, shift", lambda x: x * 3 + 2, lambda x: x * 3 + 2, dtypes="fiu"),
    Row("shift from the right", lambda x: 2 - x / 4, lambda x: 2 - x / 4),
    Row("powers", lambda x: x**2 + x**3 - x**1, lambda x: x**2 + x**3 - x, dtypes="f"),
    Row("powf", lambda x: x**1.5, lambda x: x**1.5, 0.1),
    Row("powers of a number", lambda x: 2.0**x, lambda x: 2.0**x),
    Row(
        "masked_fill",
        lambda x: ops.masked_fill(x, x > 1, 7),
        lambda x: np.where(x > 1, 7, x).astype(x.dtype),
        dtypes="fiu",
        kinks=(1,),
    ),
    Row(
        "where",
        lambda x: ops.where(x > 0, x, -2),
        lambda x: np.where(x > 0, x, -2).astype(x.dtype),
        dtypes="fi",
        kinks=(0,),
    ),
    Row(
        "where",
        lambda x: ops.where(x > 0, 0, x),
        lambda x: np.where(x > 0, 0, x).astype(x.dtype),
        dtypes="fi",
        kinks=(0,),
    ),
    Row("where", lambda x: ops.where(x > 0, x, -0.0), lambda x: np.where(x > 0, x, -0.0).astype(x.dtype), kinks=(0,)),
]
BINARY = [
    Row("add", ops.add, np.add, inputs=2, dtypes="fiu"),
    Row("subtract", ops.subtract, np.subtract, inputs=2, dtypes="fiu"),
    Row("multiply", ops.multiply, np.multiply, inputs=2, dtypes="fiu"),
    Row("divide", ops.divide, np.divide, (-3, 0.6), 3, inputs=2),
    Row("floor_divide", ops.floor_divide, np.floor_divide, (-3, 0.6), 3, inputs=2, dtypes="fiu", smooth=False),
    Row("power", ops.power, np.power, (0.1, 0), (3, 2), inputs=2, dtypes="fiu", special=False),
    Row("mod", ops.mod, np.mod, (0.4, 0.6), (0.5, 3), inputs=2, dtypes="fiu"),
    Row("maximum", ops.maximum, np.maximum, inputs=2, dtypes="fiub"),
    Row("minimum", ops.minimum, np.minimum, inputs=2, dtypes="fiub"),
    Row("equal", ops.equal, np.equal, inputs=2, dtypes="fiub", smooth=False),
    Row("not_equal", ops.not_equal, np.not_equal, inputs=2, dtypes="fiub", smooth=False),
    Row("less", ops.less, np.less, inputs=2, dtypes="fiub", smooth=False),
    Row("less_equal", ops.less_equal, np.less_equal, inputs=2, dtypes="fiub", smooth=False),
    Row("greater", ops.greater, np.greater, inputs=2, dtypes="fiub", smooth=False),
    Row("greater_equal", ops.greater_equal, np.greater_equal, inputs=2, dtypes="fiub", smooth=False),
    Row("logical_and", ops.logical_and, np.logical_and, inputs=2, dtypes="fiub", smooth=False),
    Row("logical_or", ops.logical_or, np.logical_or, inputs=2, dtypes="fiub", smooth=False),
    Row("logical_xor", ops.logical_xor, np.logical_xor, inputs=2, dtypes="fiub", smooth=False),
    Row("bitwise_and", ops.bitwise_and, np.bitwise_and, inputs=2, dtypes="iub"),
    Row("bitwise_or", ops.bitwise_or, np.bitwise_or, inputs=2, dtypes="iub"),
    Row("bitwise_xor", ops.bitwise_xor, np.bitwise_xor, inputs=2, dtypes="iub"),
    Row("left_shift", ops.left_shift, np.left_shift, (-3, 0), (3, 4), inputs=2, dtypes="iu"),
    Row("right_shift", ops.right_shift, np.right_shift, (-100, 0), (100, 4), inputs=2, dtypes="iu"),
    Row(
        "isclose",
        lambda x, y: ops.isclose(x, y, 0.5, 0.1),
        lambda x, y: np.isclose(x, y, 0.5, 0.1),
        inputs=2,
        smooth=False,
    ),
    Row(
        "isclose",
        lambda x, y: ops.isclose(x, y, equal_nan=True),
        lambda x, y: np.isclose(x, y, equal_nan=True),
        inputs=2,
        smooth=False,
    ),
    Row(
        "where",
        lambda x, y: ops.where(x > y, x, y * 2),
        lambda x, y: np.where(x > y, x, y * 2),
        inputs=2,
        dtypes="fiu",
        kinks=(0,),
    ),
    Row("where", lambda x, y: ops.where(x, x, y), lambda x, y: np.where(x, x, y), inputs=2, dtypes="b"),
    Row(
        "where",
        lambda x, y, z: ops.where(x > 0, y, z),
        lambda x, y, z: np.where(x > 0, y, np.broadcast_to(z, np.broadcast_shapes(x.shape, y.shape, z.shape))),
        inputs=3,
        dtypes="fiu",
        kinks=(0,),
    ),
]
ROWS = UNARY + BINARY
SMOOTH = [row for row in ROWS if "f" in row.dtypes and row.smooth]


def names(rows: list[Row]) -> list[str]:
    return [row.name for row in rows]


def test_every_public_function_has_a_row() -> None:
    """X-A14, X-A15, Z-T2, Z-T3, Z-F1: none is left out below."""
    functions = {
        name
        for module in (elementwise, activations)
        for name, each in vars(module).items()
        if inspect.isfunction(each) and each.__module__ == module.__name__
    }
    public = {name for name in functions if not name.startswith("_")}
    assert public <= set(ops.__all__), "export it from typednn.graph"
    assert public <= set(names(ROWS)), "add a row to this file"


@pytest.mark.parametrize("row", ROWS, ids=str)
@given(shape=SHAPES, seed=SEEDS, data=st.data())
def test_values_are_those_of_numpy(row: Row, shape: tuple[int, ...], seed: int, data: st.DataObject) -> None:
    """X-A14, X-A15, Z-T2, Z-T3: each function in each dtype, on random shapes that broadcast."""
    dtype = data.draw(st.sampled_from([dtype for kind in row.dtypes for dtype in OF[kind]]))
    arrays = row.draw(seed, shape, dtype)
    with np.errstate(all="ignore"):
        exact = [each.astype(np.float64) if np.dtype(dtype).kind == "f" else each for each in arrays]
        expected = np.asarray(row.reference(*exact))
    found = row.function(*map(tensor, arrays))
    assert found.dtype == (np.bool_ if expected.dtype == np.bool_ else dtype)
    close(found.numpy(), expected, dtype)


@pytest.mark.parametrize("row", [row for row in ROWS if "f" in row.dtypes and row.special], ids=str)
def test_special_values_are_those_of_numpy(row: Row) -> None:
    """X-A14, Z-T2: infinities, NaN, both zeros, the smallest and the largest numbers."""
    values = np.array(
        [np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, -1e-300, 0.5, -0.5, 1.5, 2.5, -2.5, 1e300, -1e300, 1000.0, -1000.0]
    )
    arrays = np.meshgrid(*[values] * row.inputs)
    with np.errstate(all="ignore"):
        expected = np.asarray(row.reference(*arrays))
    found = row.function(*map(tensor, arrays)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
    if row.signs and expected.dtype.kind == "f":
        numbers = ~np.isnan(expected) & ((expected == 0) == (found == 0))
        ties = (
            numbers & (arrays[0] == arrays[-1])
            if row.name in ("maximum", "minimum") and row.inputs == 2
            else np.zeros_like(numbers)
        )
        np.testing.assert_array_equal(np.signbit(found)[numbers & ~ties], np.signbit(expected)[numbers & ~ties])


@pytest.mark.parametrize("row", SMOOTH, ids=str)
@given(shape=SHAPES, seed=SEEDS)
def test_derivatives_are_central_differences(row: Row, shape: tuple[int, ...], seed: int) -> None:
    """X-A14, Z-F1: the tape's derivative of each function, by each input, away from kinks."""
    check_gradient(row.function, row.draw(seed, shape, np.float64), seed)


# Smooth everywhere: also where a formula with a maximum or a distance inside could have a kink.
EVEN_AT_ZERO = {
    *("sigmoid", "logsigmoid", "softplus", "silu", "quick_gelu", "mish", "gelu", "softsign", "celu"),
    *("sinh", "cosh", "tanh", "expm1", "log1p", "exp2", "erf"),
}


@pytest.mark.parametrize("row", [row for row in UNARY if row.name in EVEN_AT_ZERO], ids=str)
def test_smooth_functions_are_smooth_at_zero(row: Row) -> None:
    """Z-F1: 0 is no kink of the formulas."""
    for zero in (np.zeros(3), -np.zeros(3)):
        check_gradient(row.function, [zero], rtol=1e-5)  # of some, the second derivative jumps


@pytest.mark.parametrize(
    "row", [row for row in UNARY if row.name in {*EVEN_AT_ZERO, "exp", "sin", "tan", "rsqrt", "square"}], ids=str
)
@given(shape=SHAPES, seed=SEEDS)
def test_second_derivatives_are_central_differences(row: Row, shape: tuple[int, ...], seed: int) -> None:
    """X-A2: a derivative made of nodes has one of its own."""

    def slope(x: ops.Tensor) -> ops.Tensor:
        return _slope(row, x)

    check_gradient(slope, [x + 0.01 * (x == 0) for x in row.draw(seed, shape, np.float64)], seed, rtol=1e-5)


def _slope(row: Row, x: ops.Tensor) -> ops.Tensor:
    with Tape() as tape:
        (found,) = tape.gradient(row.function(x).sum(), [x], zeros=True)
    return found


def test_what_is_not_chosen_has_no_part() -> None:
    """Z-F1: an infinity or NaN in the other branch, or in the derivative that comes back, reaches neither value nor
    derivative.
    """
    mask = tensor(np.array([True, False, False]))
    x, y, g = np.array([1.0, np.nan, np.inf]), np.array([np.inf, 2.0, 3.0]), np.array([1.0, np.inf, 2.0])
    np.testing.assert_array_equal(ops.where(mask, tensor(x), tensor(y)).numpy(), [1, 2, 3])
    dx, dy = gradients(lambda x, y: ops.where(mask, x, y), [x, y], g)
    np.testing.assert_array_equal(dx, [1, 0, 0])
    np.testing.assert_array_equal(dy, [0, np.inf, 2])


def test_round_takes_decimals_as_numpy_does() -> None:
    """X-A15: half to the even digit, also of tens."""
    x = np.array([0.125, 2.675, -15.0, 25.0, 1234.5678, -0.5, 0.49999999999999994])
    for decimals in (-2, -1, 0, 1, 2):
        np.testing.assert_allclose(ops.round(tensor(x), decimals).numpy(), np.round(x, decimals), rtol=1e-15)


def test_activations_keep_their_digits_in_the_tails() -> None:
    """Z-T2: what cancels is written otherwise; values with 50 digits from the definitions."""
    x = tensor(np.array([-40.0, -700.0]))
    np.testing.assert_allclose(ops.sigmoid(x).numpy(), np.exp([-40.0, -700.0]), rtol=1e-13)
    np.testing.assert_allclose(ops.softplus(x).numpy(), np.exp([-40.0, -700.0]), rtol=1e-13)
    np.testing.assert_allclose(ops.elu(tensor(np.array([-1e-20]))).numpy(), [-1e-20], rtol=1e-13)
    (slope,) = gradients(ops.elu, [np.array([-40.0])])
    np.testing.assert_allclose(slope, np.exp([-40.0]), rtol=1e-13)
    np.testing.assert_allclose(ops.sinh(tensor(np.array([1e-20]))).numpy(), [1e-20], rtol=1e-13)
    np.testing.assert_allclose(ops.cosh(tensor(np.array([710.0]))).numpy(), np.cosh([710.0]), rtol=1e-12)


def test_derivatives_at_kinks_are_pytorchs() -> None:
    """Z-F1: one side's, or what equal numbers share."""
    zero = [np.zeros(1)]
    assert gradients(ops.relu, zero)[0] == 0
    assert gradients(ops.abs, zero)[0] == 0
    assert gradients(lambda x: ops.leaky_relu(x, 0.1), zero)[0] == pytest.approx(0.1)
    assert gradients(lambda x: ops.elu(x, 3.0), zero)[0] == pytest.approx(3)
    assert [float(each[0]) for each in gradients(ops.maximum, [np.ones(1), np.ones(1)])] == [0.5, 0.5]


def test_stop_gradient_ends_a_derivative() -> None:
    """X-A3: one tensor is left out, nothing is switched."""
    (slope,) = gradients(lambda x: x * ops.stop_gradient(x), [np.array([3.0])])
    assert slope == 3


# ------------------------------------------------------------------ the tables of formulas, on tensors

POINTWISE: list[tuple[pointwise.Pointwise, tuple[float, ...], str]] = [
    (pointwise.identity, (), "y"),
    (pointwise.relu, (), "x"),
    (pointwise.leaky_relu, (0.1,), "x"),
    (pointwise.sigmoid, (), "y"),
    (pointwise.tanh, (), "y"),
    (linear_units.gelu, (), "x"),
    (linear_units.gelu_tanh, (), "x"),
    (linear_units.silu, (), "x"),
    (linear_units.softplus, (1.5, 3.0), "x"),
    (linear_units.elu, (0.7, 1.1), "x"),
    (linear_units.hardswish, (), "x"),
    (linear_units.hardsigmoid, (), "x"),
]
LOSSES: list[tuple[pointwise.Pointwise, tuple[float, ...]]] = [
    (pointwise_losses.mse, ()),
    (pointwise_losses.cross_entropy, (1e-8,)),
    (pointwise_losses.l1, ()),
    (pointwise_losses.huber, (0.7,)),
    (pointwise_losses.bce_with_logits, (1.5,)),
    (pointwise_losses.kl_div, ()),
    (pointwise_losses.kl_div_of_logs, ()),
]


def test_every_pointwise_op_is_tried() -> None:
    declared = {
        each.name
        for module in (pointwise, linear_units, pointwise_losses)
        for each in vars(module).values()
        if isinstance(each, pointwise.Pointwise)
    }
    assert declared == {row[0].name for row in (*POINTWISE, *LOSSES)}


@pytest.mark.parametrize(("op", "numbers", "keeps"), POINTWISE, ids=[row[0].name for row in POINTWISE])
@given(shape=SHAPES, seed=SEEDS)
def test_formulas_of_arrays_are_formulas_of_tensors(
    op: pointwise.Pointwise, numbers: tuple[float, ...], keeps: str, shape: tuple[int, ...], seed: int
) -> None:
    """Z-T3, Z-F1: the table's formulas with typednn.graph for NumPy; the tape's derivative is the one
    written by hand.
    """
    forward, backward = op.formulas
    (x,) = Row("", ops.exp, np.exp, -5, 5, kinks=(0, -3, 3, 2)).draw(seed, shape, np.float64)
    next_grad = np.random.default_rng(seed).standard_normal(shape)
    y = forward.on_arrays(np, x, *numbers)
    np.testing.assert_allclose(forward.on_arrays(ops, tensor(x), *numbers).numpy(), y, rtol=1e-13, atol=1e-15)
    (slope,) = gradients(lambda x: forward.on_arrays(ops, x, *numbers), [x], next_grad)
    expected = backward.on_arrays(np, next_grad, x if keeps == "x" else y, *numbers)
    np.testing.assert_allclose(slope, expected, rtol=1e-11, atol=1e-12)
    on_tensors = backward.on_arrays(ops, tensor(next_grad), tensor(x if keeps == "x" else np.asarray(y)), *numbers)
    np.testing.assert_allclose(on_tensors.numpy(), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("op", "numbers"), LOSSES, ids=[row[0].name for row in LOSSES])
@given(shape=SHAPES, seed=SEEDS, scale=st.floats(0.1, 2))
def test_formulas_of_losses_are_formulas_of_tensors(
    op: pointwise.Pointwise, numbers: tuple[float, ...], shape: tuple[int, ...], seed: int, scale: float
) -> None:
    """Z-F1: values, and the derivative by the prediction."""
    forward, backward = op.formulas
    generator = np.random.default_rng(seed)
    x, t = generator.uniform(0.1, 1, (2, *shape))
    np.testing.assert_allclose(
        forward.on_arrays(ops, tensor(x), tensor(t), *numbers).numpy(),
        forward.on_arrays(np, x, t, *numbers),
        rtol=1e-13,
        atol=1e-15,
    )
    slope, _ = gradients(lambda x, t: forward.on_arrays(ops, x, t, *numbers) * scale, [x, t])
    np.testing.assert_allclose(slope, backward.on_arrays(np, x, t, *numbers, scale), rtol=1e-11, atol=1e-12)
    found = backward.on_arrays(ops, tensor(x), tensor(t), *numbers, scale).numpy()
    np.testing.assert_allclose(found, backward.on_arrays(np, x, t, *numbers, scale), rtol=1e-12, atol=1e-14)


# ------------------------------------------------------------------ refusals

x32, mask, whole = (
    tensor(np.ones((2, 3), np.float32), name="x"),
    tensor(np.ones((2, 3), bool)),
    tensor(np.arange(6).reshape(2, 3)),
)
REFUSED: list[tuple[str, Callable[[], Any], type[TypednnError], str]] = [
    ("exp of integers", lambda: ops.exp(whole), DTypeError, "exp.*floats"),
    ("sigmoid of integers", lambda: ops.sigmoid(whole), DTypeError, "sigmoid.*floats"),
    ("gelu of an array", lambda: ops.gelu(np.ones(3)), ArgumentError, "gelu.*tensor.*ndarray"),  # type: ignore[arg-type]
    ("relu of a list", lambda: ops.relu([1.0]), ArgumentError, "relu.*tensor.*list"),  # type: ignore[arg-type]
    ("two numbers", lambda: ops.maximum(1, 2), ArgumentError, "maximum.*tensor"),
    ("two shapes", lambda: ops.maximum(x32, tensor(np.ones(4, np.float32))), ShapeError, r"maximum.*\(2, 3\)"),
    ("two dtypes", lambda: ops.minimum(x32, tensor(np.ones(3))), DTypeError, "float32 and float64"),
    ("a condition of floats", lambda: ops.where(x32, x32, 0), DTypeError, "where.*booleans.*float32"),
    ("a choice of numbers", lambda: ops.where(mask, 1.0, 0.0), ArgumentError, "where.*dtype"),
    ("a choice of dtypes", lambda: ops.where(mask, x32, whole), DTypeError, "where.*float32 and int64"),
    ("a choice of shapes", lambda: ops.where(mask, x32, tensor(np.ones(2, np.float32))), ShapeError, "where"),
    ("a fraction of integers", lambda: ops.clip(whole, 0.5, 2), DTypeError, "0.5"),
    ("integers over floats", lambda: whole / x32, DTypeError, "divide.*int64 and float32"),
    ("numbers over numbers", lambda: ops.divide(1, 2), ArgumentError, "divide.*tensor"),
    ("a negative power", lambda: ops.power(whole, -1), ArgumentError, "power.*from 0"),
    ("a mask of floats", lambda: ops.masked_fill(x32, x32, 0), DTypeError, "booleans"),
    ("a list as a mask", lambda: ops.masked_fill(x32, [True], 0), ArgumentError, "masked_fill.*list"),  # type: ignore[arg-type]
    ("an unknown form", lambda: ops.gelu(x32, "erf"), ArgumentError, 'gelu.*"tanh"'),
    ("an alpha of 0", lambda: ops.celu(x32, 0), ArgumentError, "celu.*alpha"),
    ("the bits of floats", lambda: ops.bitwise_and(x32, x32), DTypeError, "integers"),
    ("the opposite of truth", lambda: ops.negative(mask), DTypeError, "negative.*numbers"),
    ("a text", lambda: ops.add(x32, "1"), ArgumentError, "tensors, arrays and numbers"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("make", "error", "said"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refusals_say_what_is_wrong(make: Callable[[], Any], error: type[TypednnError], said: str) -> None:
    """X-A14: one clear error when the node is made."""
    with pytest.raises(error, match=f"(?s){said}"):
        make()


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "x / y": lambda x, y: x / y,
    "x // y": lambda x, y: x // y,
    "x % y": lambda x, y: x % y,
    "x / 2": lambda x, _: x / 2,
    "x / 2.5": lambda x, _: x / 2.5,
    "7 / y": lambda _, y: 7 / y,
    "x // 3": lambda x, _: x // 3,
    "7 // y": lambda _, y: 7 // y,
    "7 % y": lambda _, y: 7 % y,
}


@pytest.mark.parametrize("dtype", [*INTEGERS, *UNSIGNED])
def test_integers_are_divided_as_numpy_divides_them(dtype: Any) -> None:
    """X-A13, X-A14: `/` of integers is a float64, ∞ where the divisor is 0; `//` and `%` round down,
    and are 0 there.
    """
    x, y = np.arange(-4, 5).astype(dtype), np.array([3, -2, 0, 1, 2, -1, 0, 5, -3]).astype(dtype)
    for name, function in ARITHMETIC.items():
        with np.errstate(all="ignore"):
            want = function(x, y)
        got = function(tensor(x), tensor(y)).numpy()
        assert got.dtype == want.dtype, name
        np.testing.assert_array_equal(got, want, name)
    np.testing.assert_array_equal(ops.divide(tensor(x), y).numpy(), (tensor(x) / tensor(y)).numpy())
    assert tensor(np.array([1, 2, 4, 3], dtype)).mean().item() == 2.5


def test_floats_are_divided_to_whole_numbers() -> None:
    """X-A14: NumPy's values of every pair of special numbers, and of many quotients."""
    special = np.array([0.0, -0.0, 1, -1, 2.5, -2.5, 7, -7, 0.3, 0.1, 1e20, -1e-20, np.inf, -np.inf, np.nan])
    pairs = [np.meshgrid(special, special), np.random.default_rng(0).normal(size=(2, 5000)) * [[100], [1]]]
    for x, y in pairs:
        for dtype in FLOATS:
            with np.errstate(all="ignore"):
                a, b = x.astype(dtype), y.astype(dtype)
                want = a // b
            np.testing.assert_array_equal((tensor(a) // tensor(b)).numpy(), want)
