"""What is ignored, masked, or of weight 0 has a loss and a derivative of 0, whatever its number is, on every engine."""

from typing import Any

import numpy as np
import pytest

from typednn.arrays import Array2
from typednn.engines import using
from typednn.losses import NLL, BCEWithLogits, CrossEntropy, KLDiv, SoftmaxCrossEntropy

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning"),
    pytest.mark.parametrize("dtype", [np.float32, np.float64]),
    pytest.mark.parametrize("engine", ["fast", "reference"]),
    pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan], ids=str),
    pytest.mark.parametrize("rows", [2, 400]),  # small arrays may be left to NumPy
]

IGNORED = {
    "ignore_index": (lambda reduction: SoftmaxCrossEntropy(reduction), -100),
    "a class that is ignored": (lambda reduction: SoftmaxCrossEntropy(reduction, ignore_index=1), 1),
    "weight 0": (lambda reduction: SoftmaxCrossEntropy(reduction, weight=[1.0, 0.0, 2.0]), 1),
    "smoothed": (lambda reduction: SoftmaxCrossEntropy(reduction, label_smoothing=0.1), -100),
    "smoothed and weighted": (
        lambda reduction: SoftmaxCrossEntropy(reduction, label_smoothing=0.1, weight=[1.0, 3.0, 2.0]),
        -100,
    ),
    "nll, ignore_index": (lambda reduction: NLL(reduction), -100),
    "nll, weight 0": (lambda reduction: NLL(reduction, weight=[1.0, 0.0, 2.0]), 1),
}


@pytest.mark.parametrize("reduction", ["batchmean", "mean", "sum"])
@pytest.mark.parametrize("case", IGNORED)
def test_rows(case: str, reduction: Any, rows: int, number: float, engine: str, dtype: Any) -> None:
    """Odd rows do not count: the result is that of the even rows alone. With none left it is 0."""
    make, label = IGNORED[case]
    loss = make(reduction)
    x: Array2 = np.random.default_rng(0).standard_normal((rows, 3)).astype(dtype)
    y = np.where(np.arange(rows) % 2 == 1, label, np.arange(rows) // 2 % 2 * 2)
    x[1::2] = number
    with using(engine):
        value, grad = loss.loss_and_grad(x, y)
        np.testing.assert_array_equal(loss.loss_grad(x, y), grad)
        assert loss.loss(x, y) == value
        alone, its = loss.loss_and_grad(np.ascontiguousarray(x[::2]), y[::2])
        nothing, zeros = loss.loss_and_grad(x, np.full(rows, label))
    assert value == pytest.approx(alone, rel=1e-5)
    np.testing.assert_allclose(grad[::2], its, rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(grad[1::2], 0)
    assert nothing == 0
    np.testing.assert_array_equal(zeros, 0)


NUMBERS: dict[str, tuple[Any, float, float | None]] = {
    "a yes of weight 0": (lambda: BCEWithLogits("none", pos_weight=0.0), 1.0, None),
    "a yes of weight 0, of each class": (lambda: BCEWithLogits("none", pos_weight=[0.0, 0.0, 0.0]), 1.0, None),
    "a right yes": (lambda: BCEWithLogits("none"), 1.0, np.inf),
    "a right no": (lambda: BCEWithLogits("none"), 0.0, -np.inf),
    "a share of 0": (lambda: CrossEntropy("none"), 0.0, None),
    "a share of 0, kl": (lambda: KLDiv("none"), 0.0, None),
    "a share of e^-∞, kl of logarithms": (lambda: KLDiv("none", log_target=True), -np.inf, None),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers(case: str, rows: int, number: float, engine: str, dtype: Any) -> None:
    """log σ(∞) is 0, and what has no part in a target has none in the loss."""
    make, wanted, only = NUMBERS[case]
    if only not in (None, number):
        number = only
    loss, x, y = make(), np.full((rows, 3), number, dtype), np.full((rows, 3), wanted, dtype)
    with using(engine):
        np.testing.assert_array_equal(loss.loss(x, y), 0)
        np.testing.assert_array_equal(loss.loss_grad(x, y), 0)
