"""Products, against NumPy; gradients by central differences."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.differences import check_gradients, gradients, kinds_of, values
from typednn.errors import ArgumentError, DTypeError, ShapeError
from typednn.graph.kinds import Kind
from typednn.graph.nodes import tensor
from typednn.graph.products import linear, matmul, tensordot
from typednn.graph.whole import decomposed

pytestmark = pytest.mark.usefixtures("on_the_reference")
both = pytest.mark.parametrize("mode", [nullcontext, decomposed], ids=["whole", "decomposed"])
sizes = st.integers(1, 4)


@given(
    batch=st.sampled_from([((), ()), ((3,), (3,)), ((2, 1), (3,)), ((1,), (2,)), ((), (2, 3))]),
    rows=sizes,
    inner=sizes,
    columns=sizes,
)
def test_matmul_is_numpys(batch: Any, rows: int, inner: int, columns: int) -> None:
    """Z-F1, X-D7: also batched, with axes that broadcast."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(*batch[0], rows, inner)), rng.normal(size=(*batch[1], inner, columns))
    np.testing.assert_allclose(values(matmul, x, y), x @ y, rtol=1e-12, atol=1e-12)
    check_gradients(matmul, x, y)
    vector = rng.normal(size=inner)
    np.testing.assert_allclose(values(matmul, x, vector), x @ vector, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(values(matmul, vector, y), vector @ y, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(values(matmul, vector, vector), vector @ vector, rtol=1e-12, atol=1e-12)


@st.composite
def contractions(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    """Two arrays and axes: pairs of equal sizes, in any places."""
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    summed = draw(st.lists(sizes, max_size=2))
    shapes, axes = [], []
    for _ in range(2):
        others = draw(st.lists(sizes, max_size=2))
        order = draw(st.permutations(range(len(summed) + len(others))))
        shapes.append(tuple((summed + others)[place] for place in order))
        axes.append([order.index(place) - draw(st.sampled_from([0, len(order)])) for place in range(len(summed))])
    return rng.normal(size=shapes[0]), rng.normal(size=shapes[1]), tuple(axes)


@given(contractions())
def test_tensordot_is_numpys(drawn: Any) -> None:
    """Z-T5: any axes of both, also none."""
    x, y, axes = drawn
    np.testing.assert_allclose(
        values(lambda x, y: tensordot(x, y, axes), x, y), np.tensordot(x, y, axes), rtol=1e-12, atol=1e-12
    )
    check_gradients(lambda x, y: tensordot(x, y, axes), x, y)


@pytest.mark.parametrize("axes", [0, 1, 2])
def test_tensordot_of_so_many_axes(axes: int) -> None:
    x, y = np.random.default_rng(1).normal(size=(2, 3, 4, 5)), np.random.default_rng(2).normal(size=(4, 5, 2))
    y = y if axes == 2 else y.transpose(1, 0, 2)
    np.testing.assert_allclose(values(lambda x, y: tensordot(x, y, axes), x, y), np.tensordot(x, y, axes), rtol=1e-12)


@both
@given(leading=st.lists(sizes, max_size=3), features=sizes, out=sizes, bias=st.booleans())
def test_linear(mode: Any, leading: list[int], features: int, out: int, bias: bool) -> None:
    """Z-F1: x weightᵀ + bias for rows of any number of axes; derivatives by all three."""
    rng = np.random.default_rng(3)
    arrays = [
        rng.normal(size=(*leading, features)),
        rng.normal(size=(out, features)),
        *([rng.normal(size=out)] if bias else []),
    ]
    expected = arrays[0] @ arrays[1].T + (arrays[2] if bias else 0)
    with mode():
        np.testing.assert_allclose(values(linear, *arrays), expected, rtol=1e-12, atol=1e-12)
        check_gradients(linear, *arrays)


def test_linear_is_one_node_or_the_twelve_kinds() -> None:
    """X-D7, X-A10: the op whole, unless it is decomposed, and of integers always so."""
    x, weight = tensor(np.ones((2, 3))), tensor(np.ones((4, 3)))
    assert kinds_of(linear(x, weight)) == [Kind.CUSTOM]
    with decomposed():
        assert Kind.CUSTOM not in kinds_of(linear(x, weight))
    assert Kind.CUSTOM not in kinds_of(linear(x.cast(np.int64), weight.cast(np.int64)))


def test_no_pairs_are_stored() -> None:
    """A product of 1,000 by 1,000 numbers with 1,000 others would be 8 GB of pairs; forward and backward it is BLAS."""
    x, y = np.ones((1000, 1000)), np.ones((1000, 1000))
    assert values(matmul, x, y)[0, 0] == 1000
    assert gradients(matmul, x, y, next_grad=1.0)[0][0, 0] == 1000


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: matmul(x, x), ShapeError),
        (lambda x: matmul(x, 2.0), ShapeError),
        (lambda x: tensordot(x, x, 3), ArgumentError),
        (lambda x: tensordot(x, x, ([0], [1])), ShapeError),
        (lambda x: tensordot(x, x, ([0, 0], [0, 0])), ArgumentError),
        (lambda x: tensordot(x, x, ([0], [2])), ArgumentError),
        (lambda x: linear(x, x.T), ShapeError),
        (lambda x: linear(x, x, tensor(np.ones(3))), ShapeError),
        (lambda x: linear(x, x.cast(np.float32)), DTypeError),
    ],
)
@both
def test_refusals(call: Any, error: Any, mode: Any) -> None:
    with mode(), pytest.raises(error):
        call(tensor(np.ones((2, 3))))
