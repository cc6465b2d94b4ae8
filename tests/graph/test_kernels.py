"""Each operation of a kernel against NumPy's, also on NaN, infinities, zeros of both signs and denormal numbers."""

import math
import warnings
from typing import Any

import numpy as np
import pytest

from typednn.engines import available, get_threads, set_threads
from typednn.graph.grouping import Alone
from typednn.graph.lowering import LONG
from typednn.graph.nodes import binary, broadcast_to, cast_to, permute, realize, reduce, tensor, unary
from typednn.graph.operations import Binary, Reduce, Unary
from typednn.graph.program import traced
from typednn.graph.running import Compiled, plan_of
from typednn.graph.tensor import AnyTensor

pytestmark = pytest.mark.skipif(not available(), reason="needs Halide")

FLOATS = (np.float32, np.float64)
SIMPLE = [
    math.nan,
    math.inf,
    -math.inf,
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    -2.0,
    2.5,
    -2.5,
    3.0,
    -3.0,
    88.0,
    -88.0,
    100.0,
    -700.0,
    1024.0,
]
EXTREME = [
    1e-30,
    -1e-30,
    1e30,
    1e-40,
    -1e-40,
    1e-45,
    5e-324,
    1e-310,
    3e38,
    -3e38,
    1e308,
    -1e308,
    2.0**53,
    -(2.0**53),
    -1075.0,
]
SPECIAL = SIMPLE + EXTREME

# Beyond the rounding of the result: numbers of the last place, and what is called 0.
DIGITS = {
    Unary.EXP: 4,
    Unary.EXP2: 4,
    Unary.LOG: 4,
    Unary.LOG2: 6,
    Unary.SIN: 4,
    Unary.COS: 4,
    Unary.TANH: 6,
    Unary.ERF: 8,
    Unary.LOG1P: 4,
    Unary.EXPM1: 8,
}
NUMPY: dict[Unary, Any] = {
    Unary.NEGATIVE: np.negative,
    Unary.EXP: np.exp,
    Unary.EXP2: np.exp2,
    Unary.LOG: np.log,
    Unary.LOG2: np.log2,
    Unary.RECIPROCAL: np.reciprocal,
    Unary.SQRT: np.sqrt,
    Unary.SIN: np.sin,
    Unary.COS: np.cos,
    Unary.FLOOR: np.floor,
    Unary.TRUNC: np.trunc,
    Unary.ABS: np.abs,
    Unary.TANH: np.tanh,
    Unary.ERF: np.vectorize(math.erf, otypes=[np.float64]),
    Unary.LOG1P: np.log1p,
    Unary.EXPM1: np.expm1,
}

REDUCE: tuple[Any, ...] = (np.sum, np.prod, np.max, np.min)


def special(dtype: Any) -> np.ndarray[Any, Any]:
    with np.errstate(over="ignore"):
        return np.array(SPECIAL).astype(dtype)


def numbers(dtype: Any) -> np.ndarray[Any, Any]:
    """Special numbers, small ones, and some of every size, denormal ones too."""
    rng, most = np.random.default_rng(0), np.log10(np.finfo(dtype).max)
    drawn = [rng.normal(size=4000), rng.normal(size=2000) * 30, rng.normal(size=1000) * 500, np.linspace(-6, 6, 101)]
    with np.errstate(over="ignore"):
        return np.concatenate(
            [SPECIAL, *drawn, rng.choice([-1, 1], 4000) * 10 ** rng.uniform(-most - 6, most, 4000)]
        ).astype(dtype)


def all_by_kernels(outputs: list[AnyTensor]) -> None:
    """That no step is left to the interpreter."""
    program, leaves = traced([each.id for each in outputs])
    plan = plan_of(program, [np.empty(1)] * len(leaves))
    assert isinstance(plan, Compiled)
    assert not [step for step in plan.steps if isinstance(step, Alone)]


def near(got: Any, want: Any, digits: float = 1) -> None:
    """Equal to so many numbers of the last place, and in the sign of 0; denormal results may be 0."""
    zero = (got == 0) & (want == 0)
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))
    eps, tiny = np.finfo(got.dtype).eps, np.finfo(got.dtype).tiny
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    apart = ~((got == want) | np.isnan(want))
    with np.errstate(all="ignore"):
        assert (np.abs(got - want)[apart] <= digits * eps * np.abs(want[apart]) + 2 * tiny).all(), (
            got[apart],
            want[apart],
        )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("half", [0, 1])
def test_functions_of_one_number(dtype: Any, half: int) -> None:
    """Exp, log, tanh and the others are NumPy's to a few units of the last place, also on special numbers."""
    x = numbers(dtype)
    operations = [each for each in NUMPY if each != Unary.ERF or dtype == np.float32][half::2]
    outputs = [unary(each, tensor(x)) for each in operations]
    all_by_kernels(outputs)
    realize(*outputs)
    with np.errstate(all="ignore"):
        for operation, output in zip(operations, outputs, strict=True):
            safe = x.astype(np.float64)
            if operation in (Unary.SIN, Unary.COS):
                safe = np.where(np.abs(safe) > 1e5, 0, safe)
            want = NUMPY[operation](safe).astype(dtype) if dtype == np.float32 else NUMPY[operation](safe)
            got = (
                np.where(np.abs(x) > 1e5, want, output.numpy())
                if operation in (Unary.SIN, Unary.COS)
                else output.numpy()
            )
            near(got, want, DIGITS.get(operation, 0))


def test_the_sign_of_zero_and_erf_in_double_precision() -> None:
    """The negative of 0 is -0; erf in float64 is exact to the last digit."""
    zero = unary(Unary.NEGATIVE, tensor(np.zeros(3, np.float32)))
    assert np.signbit(zero.numpy()).all()
    x = numbers(np.float64)
    near(unary(Unary.ERF, tensor(x)).numpy(), NUMPY[Unary.ERF](x), 2)


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_of_two_numbers(dtype: Any) -> None:
    """Comparisons of NaN are false but !=, maximum keeps NaN, arithmetic is exactly NumPy's, powers to
    the last place.
    """
    rng, drawn = np.random.default_rng(1), numbers(dtype)[len(SPECIAL) :]
    x, y = (each.reshape(-1) for each in np.meshgrid(SPECIAL, SPECIAL))
    with np.errstate(over="ignore"):  # many powers of the last ones are finite
        x = np.concatenate([x, drawn, rng.uniform(0, 10, 2000)]).astype(dtype)
        y = np.concatenate([y, rng.permutation(drawn), 20 * rng.normal(size=2000)]).astype(dtype)
    functions: dict[Binary, Any] = {
        Binary.ADD: np.add,
        Binary.SUBTRACT: np.subtract,
        Binary.MULTIPLY: np.multiply,
        Binary.DIVIDE: np.divide,
        Binary.MAXIMUM: np.maximum,
        Binary.POWER: np.power,
        Binary.LESS: np.less,
        Binary.GREATER: np.greater,
        Binary.GREATER_EQUAL: np.greater_equal,
        Binary.EQUAL: np.equal,
        Binary.NOT_EQUAL: np.not_equal,
    }
    outputs = {each: binary(each, tensor(x), tensor(y)) for each in functions}
    all_by_kernels(list(outputs.values()))
    realize(*outputs.values())
    with np.errstate(all="ignore"):
        for operation, function in functions.items():
            got, want = outputs[operation].numpy(), function(x, y)
            if operation.row.takes == "any":
                np.testing.assert_array_equal(got, want, err_msg=operation.name)
            else:
                near(got, want, 4 if operation == Binary.POWER else 0)


def test_a_number_beside_itself() -> None:
    """X - x, x/x and x == x are NaN and false where x is NaN or infinite."""
    values = special(np.float32)
    x = tensor(values)
    outputs = [
        x - x,
        x / x,
        binary(Binary.EQUAL, x, x),
        binary(Binary.NOT_EQUAL, x, x),
        x * 0.0,
        (x + 1.0) - x,
        x > x,
        x >= x,
    ]
    realize(*outputs)
    with np.errstate(all="ignore"):
        wanted = [
            values - values,
            values / values,
            values == values,
            values != values,
            values * 0,
            (values + 1) - values,
        ]
        for output, want in zip(outputs, [*wanted, np.zeros(len(values), bool), ~np.isnan(values)], strict=True):
            np.testing.assert_array_equal(output.numpy(), want)


def test_booleans_masks_and_casts() -> None:
    """Logical functions of masks; where the mask is false it is 0, also beside infinity."""
    x = special(np.float32)
    a, b = tensor(x) > 0.0, tensor(x) < 2.0
    outputs = [
        a & b,
        a | b,
        binary(Binary.LOGICAL_XOR, a, b),
        ~a,
        binary(Binary.MASKED, a, tensor(x)),
        cast_to(a, np.float32),
    ]
    outputs += [cast_to(tensor(x), np.float64), cast_to(tensor(x), np.bool_)]
    realize(*outputs)
    with np.errstate(all="ignore"):
        p, q = x > 0, x < 2
        wanted = [
            p & q,
            p | q,
            p ^ q,
            ~p,
            np.where(p, x, 0),
            p.astype(np.float32),
            x.astype(np.float64),
            x.astype(bool),
        ]
    for output, want in zip(outputs, wanted, strict=True):
        assert output.numpy().dtype == want.dtype
        np.testing.assert_array_equal(output.numpy(), want)


@pytest.mark.parametrize("dtype", FLOATS)
def test_powers_of_known_exponents(dtype: Any) -> None:
    """A power that is known is products and roots: NumPy's, also of special numbers."""
    drawn = np.abs(numbers(dtype)[len(SPECIAL) :]) + dtype(0.1)
    x = np.concatenate(
        [np.array([0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -2.0, 1e30, -1e-30]).astype(dtype), drawn]
    )
    powers = [-2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 3.0, 4.0, 1.5]
    outputs = [binary(Binary.POWER, tensor(x), power) for power in powers]
    all_by_kernels(outputs)
    realize(*outputs)
    for power, output in zip(powers, outputs, strict=True):
        with np.errstate(all="ignore"):
            near(output.numpy(), np.power(x, np.full_like(x, power)), 4)


@pytest.mark.parametrize("shape", [(3, 5), (4, 64), (2, 200), (1, 1000)])
def test_reductions_keep_nan(shape: tuple[int, int]) -> None:
    """The largest and smallest number of a row, and its sum and product, wherever in the row NaN is."""
    rng = np.random.default_rng(1)
    for place in (0, shape[1] // 2, shape[1] - 1):
        x = rng.uniform(0.9, 1.1, shape).astype(np.float32)
        x[0, place] = math.nan
        outputs = [reduce(each, tensor(x), 1) for each in Reduce]
        realize(*outputs)
        for output, function in zip(outputs, REDUCE, strict=True):
            np.testing.assert_allclose(output.numpy(), function(x.astype(np.float64), axis=1), rtol=2e-5)


def test_integers_beside_themselves() -> None:
    """I >= i is true for every integer, and what is masked by it is not the same number once."""
    i, x = tensor(np.arange(5)), tensor(np.array(1.5, np.float32))
    outputs = [
        reduce(Reduce.PROD, binary(Binary.MASKED, i >= i, x), 0),
        cast_to(i > i, np.float32).sum(),
        cast_to(i >= i, np.float32).sum(),
    ]
    realize(*outputs)  # a kernel that can't be compiled warns
    np.testing.assert_array_equal([each.numpy() for each in outputs], [1.5**5, 0, 5])


@pytest.mark.parametrize(
    ("shape", "order", "axis"), [((10, 2, 5), (1, 0, 2), 0), ((5, 5, 5), (1, 0, 2), 0), ((3, 4, 2, 5), (1, 2, 0, 3), 1)]
)
def test_columns_that_are_not_one_axis(shape: tuple[int, ...], order: tuple[int, ...], axis: int) -> None:
    """A sum over an axis before others that an array has apart."""
    x, y = np.random.default_rng(4).normal(size=shape), np.random.default_rng(5).normal(size=shape[-1:])
    got = binary(Binary.MAXIMUM, permute(tensor(x), order), tensor(y)).sum(axis=axis)
    np.testing.assert_allclose(got.numpy(), np.maximum(x.transpose(order), y).sum(axis=axis), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(("shape", "axis"), [((5, 1), 1), ((1, 5), 0), ((3, 1, 4), 1), ((1, 1), 1)])
def test_reductions_of_what_is_repeated(shape: tuple[int, ...], axis: int) -> None:
    """A reduction along an axis on which nothing changes is done for each place, by a kernel."""
    x = np.random.default_rng(2).uniform(0.5, 1.5, shape).astype(np.float32)
    for count in (3, 77, LONG + 5):
        if count > 77 and axis != len(shape) - 1:
            continue
        wide = tuple(count if place == axis else size for place, size in enumerate(shape))
        outputs = [reduce(each, broadcast_to(unary(Unary.SQRT, tensor(x)), wide), axis) for each in Reduce]
        realize(*outputs)  # a kernel that can't be compiled warns
        repeated = np.broadcast_to(np.sqrt(x.astype(np.float64)), wide)
        for output, function in zip(outputs, REDUCE, strict=True):
            with np.errstate(over="ignore", under="ignore"):
                np.testing.assert_allclose(
                    output.numpy(), function(repeated, axis=axis).astype(np.float32), rtol=1e-4, atol=1e-37
                )


@pytest.mark.parametrize("shape", [(LONG * 3 + 7,), (2, LONG + 5), (20_003, 5), (2, 3_001, 7), (500, 1_003)])
def test_reductions_are_the_same_by_any_number_of_threads(shape: tuple[int, ...]) -> None:
    """Sums of long rows, of columns and of many rows are equal to the bit, by one thread, two and three."""
    values, before = np.random.default_rng(3).normal(size=shape).astype(np.float32), get_threads()
    found: list[list[Any]] = []
    try:
        for threads in (1, 2, 3):
            set_threads(threads)
            x = tensor(values)
            outputs = [reduce(each, x, axis) for each in Reduce for axis in range(len(shape))]
            realize(*outputs)
            found.append([output.numpy() for output in outputs])
    finally:
        set_threads(before)
    for other in found[1:]:
        for one, another in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, another)


def test_long_sums_keep_their_digits() -> None:
    """Sums of a million numbers are added in blocks and in double precision: 1e6 times 0.1 is right to
    1e-6 and 3e-6.
    """
    x = np.full(1_000_003, 0.1, np.float32)
    assert abs(float(tensor(x).sum()) / (float(x[0]) * len(x)) - 1) < 1e-6
    tall = np.full((200_003, 3), 0.1, np.float32)
    np.testing.assert_allclose(tensor(tall).sum(axis=0).numpy(), float(x[0]) * len(tall), rtol=3e-6)


def test_what_halide_refuses_is_interpreted() -> None:
    """A division by what is always 0 can't be compiled: a warning says so, and the results are NumPy's."""
    x, i = tensor(np.array([1.0, -2.0, 0.0], np.float32)), tensor(np.arange(3))
    nothing = binary(Binary.MASKED, i > i, x)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        got = (x / nothing).numpy()
    assert any("interpreter" in str(each.message) for each in caught)
    np.testing.assert_array_equal(got, np.array([np.inf, -np.inf, np.nan], np.float32))


def test_only_integers_and_remainders_are_left_to_the_interpreter() -> None:
    integers = {each for each in Binary if each.name.startswith(("BITWISE", "LEFT", "RIGHT"))}
    assert {each for each in Binary if each.row.halide is None} == integers | {Binary.MODULO}
    assert {each for each in Binary if each.row.cuda is None} == integers | {Binary.MODULO}


def test_a_function_of_a_function_is_written_once() -> None:
    """X-A7: the larger of two numbers names one of them five times, and tanh its argument more often: a chain of 24
    would be 5²⁴ long.
    """
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((3, 40)) for _ in range(24)]
    larger, inner = tensor(arrays[0]), tensor(arrays[0])
    for each in arrays[1:]:
        larger = binary(Binary.MAXIMUM, larger, tensor(each))
    for each in arrays[1:9]:
        inner = unary(Unary.TANH, inner + tensor(each))
    all_by_kernels([larger, inner])
    realize(larger, inner)
    want = arrays[0]
    for each in arrays[1:9]:
        want = np.tanh(want + each)
    np.testing.assert_array_equal(larger.numpy(), np.max(arrays, axis=0))
    np.testing.assert_allclose(inner.numpy(), want, rtol=1e-13, atol=1e-13)
