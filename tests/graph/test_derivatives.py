"""Derivatives of every operation against central differences in float64; at kinks and zeros against what the field
says.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.derivative_rows import BINARY, KINDS, REDUCE, ROWS, UNARY, Row
from typednn.graph import derivatives
from typednn.graph.kinds import Kind
from typednn.graph.nodes import binary, reduce, tensor, unary
from typednn.graph.operations import Binary, Reduce, Unary
from typednn.graph.tape import Tape
from typednn.graph.tensor import AnyTensor

pytestmark = pytest.mark.usefixtures("on_the_reference")
Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

SHAPES = st.sampled_from([(1,), (3,), (1, 1), (2, 3), (3, 1), (2, 1, 3), (1, 4, 1)])


def drawn(row: Row, shape: tuple[int, ...], seed: int) -> list[Array]:
    """Numbers for each input, none nearer to a kink than 0.01, nor to one another."""
    rng = np.random.default_rng(seed)
    size = math.prod(shape) * row.inputs
    grid = np.linspace(row.low, row.high, 4 * size + 50)
    grid = grid[np.all(np.abs(grid[:, None] - np.array([*row.kinks, 99.0])) > 0.01, axis=1)]
    picked = rng.permutation(grid)[:size]
    return [part.reshape(shape) for part in np.split(picked, row.inputs)]


def differences(row: Row, arrays: list[Array], place: int, weights: Array) -> Array:
    """By each number of one input: of the weighted sum, half the difference over the step."""
    step = 1e-6
    slopes = np.zeros(arrays[place].size)
    for i in range(slopes.size):
        values = []
        for sign in (1, -1):
            moved = [array.copy() for array in arrays]
            moved[place].reshape(-1)[i] += sign * step
            values.append((row.build(*map(tensor, moved)).numpy() * weights).sum())
        slopes[i] = (values[0] - values[1]) / (2 * step)
    return slopes.reshape(arrays[place].shape)


@pytest.mark.parametrize("name", ROWS)
@given(shape=SHAPES, seed=st.integers(0, 2**16))
def test_against_central_differences(name: str, shape: tuple[int, ...], seed: int) -> None:
    """X-A14: each operation; X-A2: the derivative of a sum of weighted results."""
    row = ROWS[name]
    arrays = drawn(row, shape, seed)
    inputs = [tensor(array) for array in arrays]
    with Tape() as tape:
        y = row.build(*inputs)
        weights = np.random.default_rng(seed).normal(size=y.shape)
        found = tape.gradient((y * tensor(weights)).sum(), inputs)
    for place, gradient in enumerate(found):
        if place not in row.by:
            assert gradient is None
            continue
        expected = differences(row, arrays, place, weights)
        actual = np.zeros(shape) if gradient is None else gradient.numpy()
        np.testing.assert_allclose(actual, expected, rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize(
    "name", ["PROD", "POWER", "DIVIDE", "TANH", "ERF", "SQRT", "MULTIPLY", "LOG2", "EXP2", "CUSTOM", "PAD", "EXPAND"]
)
@given(shape=st.sampled_from([(3,), (2, 3), (1, 2)]), seed=st.integers(0, 2**16))
def test_second_derivatives_against_differences_of_the_first(name: str, shape: tuple[int, ...], seed: int) -> None:
    """X-A2: a gradient is made of nodes, which have gradients."""
    row = ROWS[name]
    arrays = drawn(row, shape, seed)

    def slope(*given: AnyTensor) -> AnyTensor:
        with Tape() as tape:
            y = row.build(*given)
            return tape.gradient((y * y).sum(), [given[0]], zeros=True)[0]

    inputs = [tensor(array) for array in arrays]
    with Tape() as outer:
        first = slope(*inputs)
        weights = np.random.default_rng(seed).normal(size=first.shape)
        (second,) = outer.gradient((first * tensor(weights)).sum(), [inputs[0]], zeros=True)
    expected = differences(row._replace(build=slope), arrays, 0, weights)
    np.testing.assert_allclose(second.numpy(), expected, rtol=2e-5, atol=2e-6)


def test_every_operation_has_a_row() -> None:
    """X-A14: a new operation is tried, or its row says why not."""
    assert set(UNARY) == set(Unary)
    assert set(BINARY) == set(Binary)
    assert set(REDUCE) == set(Reduce)
    assert set(KINDS) == set(Kind)
    assert set(derivatives.DERIVATIVES) == set(Kind) - {Kind.CONST, Kind.LEAF, Kind.CUSTOM}


def gradients(build: object, *arrays: object) -> list[object]:
    inputs = [tensor(np.asarray(array, float)) for array in arrays]
    with Tape() as tape:
        found = tape.gradient(build(*inputs).sum(), inputs, zeros=True)  # type: ignore[operator]
    return [each.numpy().tolist() for each in found]


def test_equal_numbers_share_the_derivative_of_the_larger() -> None:
    """X-A14: PyTorch's rule for maximum, amax and amin."""
    assert gradients(lambda x, y: binary(Binary.MAXIMUM, x, y), [1, 2, 3], [1, 3, 2]) == [[0.5, 0, 1], [0.5, 1, 0]]
    assert gradients(lambda x: reduce(Reduce.MAX, x, 0), [1, 3, 3]) == [[0, 0.5, 0.5]]
    assert gradients(lambda x: reduce(Reduce.MIN, x, 0), [1, 1, 3]) == [[0.5, 0.5, 0]]


def test_products_with_zeros() -> None:
    """X-A14: the product of the others, whatever is zero; second derivatives, too."""
    assert gradients(lambda x: reduce(Reduce.PROD, x), [2, 0, 5]) == [[0, 10, 0]]
    assert gradients(lambda x: reduce(Reduce.PROD, x), [0, 0, 5]) == [[0, 0, 0]]
    assert gradients(lambda x: reduce(Reduce.PROD, x), [[2, 3], [4, 5]]) == [[[60, 40], [30, 24]]]
    assert gradients(lambda x: reduce(Reduce.PROD, x, 1), np.zeros((2, 0))) == [[[], []]]
    x = tensor(np.array([0.0, 0.0, 5.0]))
    with Tape() as tape:
        (first,) = tape.gradient_persistent(reduce(Reduce.PROD, x), [x], zeros=True)
        (second,) = tape.gradient(first[0], [x], zeros=True)
    assert second.numpy().tolist() == [0, 5, 0]


def test_powers_at_zero() -> None:
    """X-A14: x⁰ is flat, also at 0; 0² is flat in its exponent."""
    assert gradients(lambda x, y: x**y, [0, 0, 2], [0, 2, 0]) == [[0, 0, 0], [0, 0, math.log(2)]]


def test_absolute_values_are_flat_at_zero() -> None:
    assert gradients(lambda x: abs(x), [-2, 0, 3]) == [[-1, 0, 1]]


def test_infinity_times_zero_cannot_appear() -> None:
    """X-A14: a mask chooses and does not multiply, forward and in its own derivative."""
    x = tensor(np.array([0.0, 1.0, 4.0]))
    assert binary(Binary.MASKED, x > 1.0, 1.0 / x).numpy().tolist() == [0, 0, 0.25]
    assert binary(Binary.MASKED, x > 9.0, unary(Unary.LOG, x)).numpy().tolist() == [0, 0, 0]
    chosen = gradients(lambda x, y: binary(Binary.MASKED, x > 1.0, y) * math.inf, [1, 2], [3, 4])
    assert chosen == [[0, 0], [0, math.inf]]
