"""Each operation of a kernel against NumPy's, also on NaN, infinities, zeros of both signs and denormal numbers."""

import math
import warnings
from typing import Any

import numpy as np
import pytest

from typednn.engines import available
from typednn.graph.grouping import Alone
from typednn.graph.kernels import BINARY as COMPILED_BINARY
from typednn.graph.kernels import UNARY as COMPILED_UNARY
from typednn.graph.kinds import COMPARISONS, LOGICAL, Binary, Reduce, Unary
from typednn.graph.program import traced
from typednn.graph.running import Compiled, plan_of
from typednn.graph.tensor import AnyTensor, binary, cast_to, realize, reduce, tensor, unary

pytestmark = pytest.mark.skipif(not available(), reason="needs Halide")

FLOATS = (np.float32, np.float64)
SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, -1e-30, 1e30, 88.0, -88.0, 2.5, -2.5, 3.0, 100.0, -700.0]

# Beyond the rounding of the result: numbers of the last place, and what is called 0.
DIGITS = {Unary.EXP: 4, Unary.EXP2: 4, Unary.LOG: 4, Unary.LOG2: 6, Unary.SIN: 4, Unary.COS: 4, Unary.TANH: 6, Unary.ERF: 8}
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
}


def numbers(dtype: Any) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(0)
    drawn = [rng.normal(size=200), rng.normal(size=100) * 30, rng.normal(size=100) * 1e-3, np.linspace(-6, 6, 101)]
    return np.concatenate([SPECIAL, *drawn]).astype(dtype)


def all_by_kernels(outputs: list[AnyTensor]) -> None:
    """That no step is left to the interpreter."""
    program, leaves = traced([each.id for each in outputs])
    plan = plan_of(program, [np.empty(1)] * len(leaves))
    assert isinstance(plan, Compiled)
    assert not [step for step in plan.steps if isinstance(step, Alone)]


def near(got: Any, want: Any, digits: float = 1) -> None:
    """Equal to so many numbers of the last place; denormal results may be 0."""
    eps, tiny = np.finfo(got.dtype).eps, np.finfo(got.dtype).tiny
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    apart = ~((got == want) | np.isnan(want))
    with np.errstate(invalid="ignore"):
        assert (np.abs(got - want)[apart] <= digits * eps * np.abs(want[apart]) + 2 * tiny).all(), (got[apart], want[apart])


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
            got = np.where(np.abs(x) > 1e5, want, output.numpy()) if operation in (Unary.SIN, Unary.COS) else output.numpy()
            near(got, want, DIGITS.get(operation, 0))


def test_the_sign_of_zero_and_erf_in_double_precision() -> None:
    """The negative of 0 is -0; erf in float64 is exact to the last digit."""
    zero = unary(Unary.NEGATIVE, tensor(np.zeros(3, np.float32)))
    assert np.signbit(zero.numpy()).all()
    x = numbers(np.float64)
    near(unary(Unary.ERF, tensor(x)).numpy(), NUMPY[Unary.ERF](x), 2)


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_of_two_numbers(dtype: Any) -> None:
    """Comparisons of NaN are false but !=, maximum keeps NaN, arithmetic is exactly NumPy's, powers to the last place."""
    x, y = (each.reshape(-1).astype(dtype) for each in np.meshgrid(SPECIAL, SPECIAL))
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
            if operation in COMPARISONS:
                np.testing.assert_array_equal(got, want, err_msg=operation.name)
            else:
                near(got, want, 4 if operation == Binary.POWER else 0)


def test_a_number_beside_itself() -> None:
    """X - x, x/x and x == x are NaN and false where x is NaN or infinite."""
    values = np.array(SPECIAL, np.float32)
    x = tensor(values)
    outputs = [x - x, x / x, binary(Binary.EQUAL, x, x), binary(Binary.NOT_EQUAL, x, x), x * 0.0, (x + 1.0) - x, x > x, x >= x]
    realize(*outputs)
    with np.errstate(all="ignore"):
        wanted = [values - values, values / values, values == values, values != values, values * 0, (values + 1) - values]
        for output, want in zip(outputs, [*wanted, np.zeros(len(values), bool), ~np.isnan(values)], strict=True):
            np.testing.assert_array_equal(output.numpy(), want)


def test_booleans_masks_and_casts() -> None:
    """Logical functions of masks; where the mask is false it is 0, also beside infinity."""
    x = np.array(SPECIAL, np.float32)
    a, b = tensor(x) > 0.0, tensor(x) < 2.0
    outputs = [a & b, a | b, binary(Binary.LOGICAL_XOR, a, b), ~a, binary(Binary.MASKED, a, tensor(x)), cast_to(a, np.float32)]
    outputs += [cast_to(tensor(x), np.float64), cast_to(tensor(x), np.bool_)]
    realize(*outputs)
    with np.errstate(all="ignore"):
        p, q = x > 0, x < 2
        wanted = [p & q, p | q, p ^ q, ~p, np.where(p, x, 0), p.astype(np.float32), x.astype(np.float64), x.astype(bool)]
    for output, want in zip(outputs, wanted, strict=True):
        assert output.numpy().dtype == want.dtype
        np.testing.assert_array_equal(output.numpy(), want)


@pytest.mark.parametrize("power", [-2.0, -1.0, -0.5, 0.5, 2.0, 3.0, 4.0, 1.5])
def test_powers_of_known_exponents(power: float) -> None:
    """A power that is known is products and roots."""
    x = np.abs(numbers(np.float32)[len(SPECIAL) :]) + np.float32(0.1)
    near(binary(Binary.POWER, tensor(x), power).numpy(), (x.astype(np.float64) ** power).astype(np.float32), 4)


@pytest.mark.parametrize("shape", [(3, 5), (4, 64), (2, 200), (1, 1000)])
def test_reductions_keep_nan(shape: tuple[int, int]) -> None:
    """The largest and smallest number of a row, and its sum and product, wherever in the row NaN is."""
    rng = np.random.default_rng(1)
    for place in (0, shape[1] // 2, shape[1] - 1):
        x = rng.uniform(0.9, 1.1, shape).astype(np.float32)
        x[0, place] = math.nan
        outputs = [reduce(each, tensor(x), 1) for each in Reduce]
        realize(*outputs)
        for output, function in zip(outputs, (np.sum, np.prod, np.max, np.min), strict=True):
            np.testing.assert_allclose(output.numpy(), function(x.astype(np.float64), axis=1), rtol=2e-5)


def test_long_sums_keep_their_digits() -> None:
    """Sums of a million numbers are added in blocks and in double precision: 1e6 times 0.1 is right to 1e-6 and 3e-6."""
    x = np.full(1_000_003, 0.1, np.float32)
    assert abs(float(tensor(x).sum()) / (float(x[0]) * len(x)) - 1) < 1e-6
    tall = np.full((200_003, 3), 0.1, np.float32)
    np.testing.assert_allclose(tensor(tall).sum(axis=0).numpy(), float(x[0]) * len(tall), rtol=3e-6)


def test_what_halide_refuses_is_interpreted() -> None:
    """A division by what is always 0 can't be compiled: a warning says so, and the results are NumPy's."""
    x = tensor(np.array([1.0, -2.0, 0.0], np.float32))
    nothing = binary(Binary.MASKED, x > x, x)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        got = (x / nothing).numpy()
    assert any("interpreter" in str(each.message) for each in caught)
    np.testing.assert_array_equal(got, np.array([np.inf, -np.inf, np.nan], np.float32))


def test_tables_are_complete() -> None:
    """Each operation has a kernel's expression, or is left to the interpreter by name."""
    assert set(COMPILED_UNARY) == set(Unary)
    integers = {each for each in Binary if each.name.startswith(("BITWISE", "LEFT", "RIGHT"))}
    assert set(Binary) - set(COMPILED_BINARY) == integers | {Binary.MODULO, Binary.MASKED}
    assert set(COMPILED_BINARY) >= LOGICAL
