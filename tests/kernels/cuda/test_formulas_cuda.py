"""Formulas on arrays as CUDA kernels: every pointwise op's against its formula in float64, and what is made of a
formula.
"""

import numpy as np
import pytest
from fast_ops import numbers, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.engines import counting
from typednn.engines.cuda_formula import FUNCTIONS, CudaColumnSums, CudaFormula, Trace
from typednn.kernels import linear_units, pointwise, pointwise_losses, sums
from typednn.kernels.activations import Activation
from typednn.kernels.op import OPS
from typednn.kernels.pointwise import Formula

TABLES = {module.__name__ for module in (linear_units, pointwise, pointwise_losses)}
NAMES = sorted(
    name
    for name, op in OPS.items()
    if isinstance(getattr(op.reference, "__self__", None), Formula) and op.reference.__self__.__module__ in TABLES
)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 30.0, -30.0, 1e-30, np.inf, -np.inf, np.nan]
PAIRS = np.array([(first, second) for first in SPECIAL for second in SPECIAL]).T


def run(gpu, name, arrays, constants=()):
    found = gpu.run(OPS[name].run, *arrays, *constants)
    return found if isinstance(found, tuple) else (found,)


def expected(gpu, name, arrays, constants):
    found = gpu.reference(OPS[name].reference, *arrays, *constants)
    return found if isinstance(found, tuple) else (found,)


def test_all_tables_are_tested():
    assert len(NAMES) > 40
    assert {"add.forward", "gelu.backward", "relu.forward", "mse.forward_and_backward", "scaled"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_is_the_formula(gpu, name, dtype):
    formula = OPS[name].reference.__self__
    arrays = [numbers(place, 7, 41, dtype=dtype) for place in range(formula.arrays)]
    constants = [0.75, 0.5][: formula.numbers]
    assert len(constants) == formula.numbers
    wide = [array.astype(np.float64) for array in arrays]
    for found, exact in zip(run(gpu, name, arrays, constants), expected(gpu, name, wide, constants), strict=True):
        assert found.dtype == dtype
        size = abs(exact) + sum(abs(array) for array in wide) + 1
        assert (np.isnan(found) == np.isnan(exact)).all()  # a logarithm of a negative target
        assert not (abs(found - exact) > 32 * np.finfo(dtype).eps * size**2).any()


@pytest.mark.parametrize("name", NAMES)
def test_nan_and_infinity_are_the_formulas(gpu, name):
    formula = OPS[name].reference.__self__
    arrays = [np.ascontiguousarray(row, np.float32) for row in PAIRS[: formula.arrays]]
    constants = [0.75, 0.5][: formula.numbers]
    for found, exact in zip(run(gpu, name, arrays, constants), expected(gpu, name, arrays, constants), strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-6)


def test_a_number_may_be_an_array_of_the_gpu(gpu):
    x, target = numbers(0, 5, 3), numbers(1, 5, 3)
    got = gpu.run(pointwise_losses.mse.backward, x, target, np.array(0.25, np.float32))
    np.testing.assert_allclose(got, 0.5 * (x - target), rtol=1e-6)
    with counting() as counts:
        pointwise_losses.mse.backward(*map(gpu.put, (x, target)), gpu.put(np.array(0.25)))  # of another dtype
        pointwise_losses.mse.backward(*map(gpu.put, (x, target, numbers(2, 3))))  # of another rank
        formula = CudaFormula("scaled", lambda xp, x, factor: x * factor, 1, numbers=1)
        assert formula.covers(gpu.put(x), gpu.put(np.array(0.25, np.float32)))
        assert not formula.covers(gpu.put(x), np.array(0.25, np.float32))  # not of the GPU
    assert dict(counts) == {("mse.backward", "reference"): 2}


def test_arrays_that_differ_are_left_to_the_reference(gpu):
    x = gpu.put(numbers(0, 4, 3))
    with counting() as counts:
        pointwise.add(x, gpu.put(numbers(1, 3)))
        pointwise.add(x.T, gpu.put(numbers(1, 3, 4)))
        pointwise.relu.forward(x[:0])
    assert dict(counts) == {("add.forward", "reference"): 2, ("relu.forward", "reference"): 1}


def test_a_formula_of_other_functions_has_no_kernel():
    assert not CudaFormula("sine", lambda xp, x: xp.sin(x), 1).traceable
    assert not CudaFormula("chosen", lambda xp, x: x + bool(x), 1).traceable
    assert CudaFormula("doubled", lambda xp, x: 2 * x, 1).traceable
    with pytest.raises(AttributeError, match="no CUDA C for sin"):
        Trace().sin  # noqa: B018


def test_an_op_of_such_a_formula_runs_on_the_reference(gpu):
    sine = Formula(lambda xp, x: xp.sin(x)).op("a sine of this test")
    x = numbers(0, 5)
    try:
        with counting() as counts:
            found = sine(gpu.put(x))
    finally:
        del OPS["a sine of this test"]
    assert dict(counts) == {("a sine of this test", "reference"): 1}
    np.testing.assert_allclose(gpu.get(found), np.sin(x), rtol=1e-6)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_is_numpys(gpu, function):
    arrays = [
        numbers(place, 100, special=True)
        for place in range({"where": 3, "clip": 3, "maximum": 2, "minimum": 2}.get(function, 1))
    ]
    if function == "clip":
        arrays[1:] = [np.full(100, bound, np.float32) for bound in (-1, 2)]

    def formula(xp, *given):
        first = given[0] > 0 if function == "where" else given[0]
        value = getattr(xp, function)(first, *given[1:])
        return xp.where(value, 1, 0) if function == "isinf" else value

    found = gpu.get(CudaFormula("one", formula, len(arrays)).run(*map(gpu.put, arrays)))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, formula(np, *arrays), rtol=1e-5, atol=1e-6)


def test_operators_and_constants(gpu):
    def formula(xp, x, y):
        chosen = xp.where((x < y) & (x != 0) | (y >= 2), 1.5 - x, y / 2)
        return xp.maximum(xp.minimum(-chosen, np.inf), -np.inf), 2 * x + xp.where(x < y, np.nan, 3)

    x, y = numbers(0, 50), numbers(1, 50)
    got = CudaFormula("several", formula, 2, results=2).run(*map(gpu.put, (x, y)))
    for found, exact in zip(map(gpu.get, got), formula(np, x, y), strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-6)


# Around the rows of a block, 32 to 256, and the rows of a piece, 1,024.
@settings(max_examples=25, deadline=None)
@given(
    rows=st.one_of(st.integers(1, 40), st.sampled_from([255, 257, 1024, 2047, 2049, 5000])),
    columns=st.one_of(st.integers(1, 20), st.sampled_from([63, 65])),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=seeds,
)
def test_column_sums(gpu, rows, columns, dtype, seed):
    x, y = (numbers(seed + place, rows, columns, dtype=dtype) for place in (0, 1))
    found = gpu.get(sums.columns_on_gpu.run(gpu.put(x)))
    assert (found.dtype, found.shape) == (dtype, (columns,))
    bound = 2 * np.finfo(dtype).eps
    np.testing.assert_allclose(found, x.sum(0, dtype=np.longdouble), rtol=bound, atol=rows * bound)
    products = gpu.get(CudaColumnSums("products", lambda xp, x, y: (x * y, y), 2, 2).run(gpu.put(x), gpu.put(y)))
    exact = np.stack([(x.astype(np.longdouble) * y).sum(0), y.sum(0, dtype=np.longdouble)])
    np.testing.assert_allclose(products, exact, rtol=bound, atol=rows * 16 * bound)


def test_column_sums_of_many_axes_and_the_same_bits_every_time(gpu):
    x = numbers(0, 30, 9, 11, 6)
    results = [gpu.get(sums.columns_on_gpu.run(gpu.put(x))) for _ in range(3)]
    np.testing.assert_allclose(results[0], x.sum((0, 1, 2), dtype=np.float64), rtol=1e-6, atol=1e-5)
    assert len({result.tobytes() for result in results}) == 1


@pytest.mark.parametrize(
    "activation", [Activation("identity"), Activation("relu"), Activation("leaky_relu", 0.1), Activation("tanh")]
)
def test_an_activation_with_its_bias(gpu, activation):
    z, bias, dy = numbers(0, 3, 4, 5), numbers(1, 5), numbers(2, 3, 4, 5)
    y = activation.forward(z + bias)
    np.testing.assert_allclose(gpu.get(activation.with_bias(gpu.put(z), gpu.put(bias))), y, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        gpu.get(activation.with_bias(gpu.put(z), None)), activation.forward(z), rtol=1e-6, atol=1e-6
    )
    got = gpu.get(activation.derivative(gpu.put(dy), gpu.put(y)))
    np.testing.assert_allclose(got, activation.backward(dy, y), rtol=1e-5, atol=1e-6)
