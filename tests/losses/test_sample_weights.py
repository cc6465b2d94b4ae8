"""Weights of samples: 2 is the sample twice, 0 is the batch without it, for every loss."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from typednn.engines import using
from typednn.errors import ArgumentError
from typednn.losses import (
    L1,
    MSE,
    NLL,
    BCEWithLogits,
    CosineSimilarity,
    CrossEntropy,
    Huber,
    KLDiv,
    SoftmaxCrossEntropy,
)
from typednn.losses.sample_weights import SampleWeighted
from typednn.losses.weights import balanced

CLASSES = 3
WEIGHT = (0.5, 2.0, 3.5)
Made = tuple[Any, Any, Any]


def made(case: str, reduction: Any, rows: int, positions: tuple[int, ...], seed: int) -> Made:
    """A loss, predictions and targets, in float64."""
    rng = np.random.default_rng(seed)
    shape = (rows, *positions, CLASSES)
    numbers, shares = rng.standard_normal(shape), rng.uniform(0.1, 1.0, shape)
    labels = rng.choice([0, 1, 2, -100], shape[:-1])
    probabilities = shares / shares.sum(axis=-1, keepdims=True)
    logs = np.log(probabilities[..., ::-1])
    flat = (rows, -1)
    return {
        "labels": (SoftmaxCrossEntropy(reduction), numbers, labels),
        "labels, weights": (SoftmaxCrossEntropy(reduction, weight=WEIGHT, label_smoothing=0.1), numbers, labels),
        "labels, none ignored": (SoftmaxCrossEntropy(reduction, ignore_index=None), numbers, labels.clip(0)),
        "probabilities": (SoftmaxCrossEntropy(reduction, weight=WEIGHT), numbers, probabilities),
        "nll": (NLL(reduction, weight=WEIGHT, ignore_index=2), logs, labels.clip(0)),
        "mse": (MSE(reduction), numbers, shares),
        "l1": (L1(reduction), numbers, shares),
        "huber": (Huber(reduction), numbers, shares),
        "bce": (BCEWithLogits(reduction, pos_weight=2.0), numbers, probabilities),
        "cross entropy": (CrossEntropy(reduction), probabilities.reshape(flat), shares.reshape(flat)),
        "kl": (KLDiv(reduction), logs, probabilities),
        "cosine": (CosineSimilarity(reduction), numbers, shares),
    }[case]


CASES = (
    "labels",
    "labels, weights",
    "labels, none ignored",
    "probabilities",
    "nll",
    "mse",
    "l1",
    "huber",
    "bce",
    "cross entropy",
    "kl",
    "cosine",
)
REDUCTIONS = ("batchmean", "mean", "sum")
each_case = pytest.mark.parametrize("case", CASES)
each_reduction = pytest.mark.parametrize("reduction", REDUCTIONS)


@each_case
@each_reduction
@given(
    rows=st.integers(1, 6),
    positions=st.sampled_from([(), (1,), (3,), (2, 3)]),
    seed=st.integers(0, 2**32 - 1),
    data=st.data(),
)
def test_a_whole_number_is_so_many_samples(
    case: str, reduction: Any, rows: int, positions: tuple[int, ...], seed: int, data: st.DataObject
) -> None:
    """Value, gradient and divisor are those of the repeated rows, as the loss computes them."""
    loss, prediction, target = made(case, reduction, rows, positions, seed)
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows).filter(any)))
    repeated = np.repeat(np.arange(rows), times)
    weighted = SampleWeighted(loss, times.astype(np.float64))
    prediction.flags.writeable = target.flags.writeable = False
    expected = np.zeros_like(prediction)
    np.add.at(expected, repeated, loss.loss_grad(prediction[repeated], target[repeated]))
    assert weighted.loss(prediction, target) == pytest.approx(
        loss.loss(prediction[repeated], target[repeated]), rel=1e-9, abs=1e-12
    )
    np.testing.assert_allclose(weighted.loss_grad(prediction, target), expected, rtol=1e-9, atol=1e-12)
    counted = loss.divisor(prediction[repeated], target[repeated])
    assert weighted.divisor(prediction, target) == (counted if counted is None else pytest.approx(counted, rel=1e-12))
    assert float(weighted.loss_array(prediction, target)) == weighted.loss(prediction, target)


@each_case
@each_reduction
def test_the_gradient_is_that_of_the_value(case: str, reduction: Any) -> None:
    """Central differences, for weights that are no whole numbers."""
    loss, prediction, target = made(case, reduction, 4, (), 3)
    weighted = SampleWeighted(loss, np.array([0.3, 2.5, 0.0, 1.1]))
    gradient, step = weighted.loss_grad(prediction, target), 1e-6
    for place in np.ndindex(*prediction.shape):
        up, down = prediction.copy(), prediction.copy()
        up[place] += step
        down[place] -= step
        slope = (weighted.loss(up, target) - weighted.loss(down, target)) / (2 * step)
        assert gradient[place] == pytest.approx(slope, rel=1e-5, abs=1e-8)


@each_reduction
@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_a_sample_of_weight_0_has_no_part_in_it_whatever_it_is(reduction: Any, engine: str) -> None:
    scores = np.array([[np.inf, 0.0, np.nan], [1.0, 2.0, 3.0]], np.float32)
    labels = np.array([0, 2])
    loss = SoftmaxCrossEntropy(reduction)
    with using(engine), np.errstate(all="ignore"):
        weighted = SampleWeighted(loss, np.array([0.0, 1.5]))
        alone = SampleWeighted(loss, np.array([1.5]))
        gradient = weighted.loss_grad(scores, labels)
        assert weighted.loss(scores, labels) == alone.loss(scores[1:], labels[1:])
        np.testing.assert_array_equal(gradient, [[0, 0, 0], *alone.loss_grad(scores[1:], labels[1:])])
        assert gradient.dtype == np.float32
        nothing = SampleWeighted(loss, np.zeros(2))
        assert nothing.loss(scores, labels) == 0
        assert not nothing.loss_grad(scores, labels).any()


class OfMine:
    """A loss that looks like one of typednn."""

    reduction = "mean"


@pytest.mark.parametrize(
    ("loss", "got"),
    [
        (OfMine(), "OfMine(reduction='mean')"),
        (MSE("none"), "MSE(reduction='none')"),
        (object(), "object"),
    ],
)
def test_a_loss_that_cannot_weigh_is_refused(loss: Any, got: str) -> None:
    with pytest.raises(ArgumentError) as error:
        SampleWeighted(loss, np.ones(1))
    assert str(error.value) == (
        "SampleWeighted: sample weights need a loss of typednn.losses whose value is a number, got "
        f"{got}; such as SoftmaxCrossEntropy()"
    )


@given(labels=st.lists(st.integers(0, 4), min_size=1), seed=st.integers(0, 99))
def test_balanced_weights_are_the_peers(labels: list[int], seed: int) -> None:
    """scikit-learn's, for classes that occur; 1 for others."""
    class_weight = pytest.importorskip("sklearn.utils.class_weight")
    y = np.array(labels)
    present = np.unique(y)
    expected = np.ones(5)
    expected[present] = class_weight.compute_class_weight("balanced", classes=present, y=y)
    np.testing.assert_allclose(balanced(y, 5), expected, rtol=1e-12)
    times = np.random.default_rng(seed).integers(1, 4, len(y))
    np.testing.assert_allclose(balanced(y, 5, times.astype(np.float64)), balanced(np.repeat(y, times), 5), rtol=1e-12)
