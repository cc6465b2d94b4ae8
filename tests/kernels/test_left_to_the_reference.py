"""What Halide's kernels leave to the reference: small arrays for which NumPy is quicker, and arguments that they do not
cover.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fast_ops import by_reference, needs_halide, numbers, quiet

from typednn.engines import counting
from typednn.kernels import batch_norm, embedding, log_softmax, softmax, upsample
from typednn.kernels import softmax_cross_entropy as joined
from typednn.kernels.activations import Activation
from typednn.kernels.pointwise import relu, tanh
from typednn.kernels.pointwise_losses import bce_with_logits, bce_with_logits_forward_and_backward, cross_entropy, mse

pytestmark = [needs_halide, quiet]

LOGITS, TOKENS = numbers(0, 6, 5), np.array([[1, 0, 6], [2, 2, 5]])
COLUMN = np.array([[3], [np.nan], [np.inf]], np.float32)
WEIGHTS = np.arange(8, dtype=np.float32)


def case(function: Callable[..., Any], *arguments: Any, ran: str = "reference") -> tuple[Any, ...]:
    return function, arguments, ran


def around(function: Any, size: int, count: int, *more: Any) -> list[tuple[Any, ...]]:
    """From more than ``size`` numbers on the kernel computes."""
    return [
        case(function, *(numbers(place, size + above, scale=1.0) for place in range(count)), *more, ran=engine)
        for above, engine in enumerate(("reference", "halide"))
    ]


CASES = [
    *around(relu.forward, 2048, 1),
    *around(tanh.forward, 32768, 1),
    *around(mse.forward, 2048, 2),
    *around(mse.backward, 2048, 2, 0.5),
    case(tanh.forward, numbers(0, 40_000, dtype=np.float64)),
    case(cross_entropy.forward, np.zeros(1, np.float32), np.ones(1, np.float32), 0.0),  # a tiny eps
    case(cross_entropy.backward, np.ones(1, np.float32), np.ones(1, np.float32), 0.0, 1.0),
    case(bce_with_logits.forward, numbers(0, 300, 8), abs(numbers(1, 300, 8)), WEIGHTS),  # a weight for each class
    case(bce_with_logits_forward_and_backward, numbers(0, 300, 8), abs(numbers(1, 300, 8)), WEIGHTS, 0.5),
    case(softmax.forward, COLUMN),  # a row of one
    case(log_softmax.forward, COLUMN),
    case(joined.forward, COLUMN, COLUMN),
    case(joined.backward, COLUMN, COLUMN, 1.0),
    *(case(joined.forward, LOGITS.astype(a), abs(LOGITS).astype(b)) for a, b in (("f4", "f8"), ("f8", "f4"))),
    *(case(embedding.backward, numbers(0, 2, 3, 5), TOKENS.astype(dtype), 7, 3) for dtype in ("u8", ">i8")),
    *(
        case(embedding.backward, numbers(0, 2, 3, 5), TOKENS.astype(dtype), 7, 3, ran="halide")
        for dtype in ("i8", "i4", "i2", "u1")
    ),
    case(upsample.forward, numbers(0, 1, 2, 9, 3), (1, upsample.cpu._LARGEST + 1), "bilinear", False),
    # activations that take an exponential
    case(batch_norm.forward, numbers(0, 9, 5), None, None, 1e-3, Activation("tanh")),
]


@pytest.mark.parametrize(("function", "arguments", "ran"), CASES, ids=[str(each[0].op.name) for each in CASES])
def test_who_computes(function: Any, arguments: tuple[Any, ...], ran: str) -> None:
    with counting() as counts:
        found = function(*arguments)
    assert dict(counts) == {(function.op.name, ran): 1}
    expected = by_reference(function)(*arguments)
    pairs = ((each,) if isinstance(each, np.ndarray) else each for each in (found, expected))
    exact = ran == "reference" or function is embedding.backward
    for one, wanted in zip(*pairs, strict=True):
        np.testing.assert_allclose(one, wanted, rtol=0 if exact else 1e-5, atol=0)


@pytest.mark.parametrize(
    ("function", "expected"),
    [(softmax.forward, [[1], [np.nan], [np.nan]]), (log_softmax.forward, [[0], [np.nan], [np.nan]])],
    ids=["softmax", "log_softmax"],
)
def test_a_row_of_one(function: Any, expected: Any) -> None:
    np.testing.assert_array_equal(function(COLUMN), expected)
    assert np.isnan(joined.forward(COLUMN, COLUMN)[1:]).all()
    assert np.isnan(joined.backward(COLUMN, COLUMN, 1.0)[1:]).all()


def test_without_an_eps_a_wrong_certainty_costs_infinitely_much() -> None:
    assert np.isposinf(cross_entropy.forward(np.zeros(1, np.float32), np.ones(1, np.float32), 0.0))
