"""Losses, against their formulas in NumPy; gradients by central differences."""

import math
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.differences import check_gradients, gradients, kinds_of, values
from typednn.errors import ArgumentError, DTypeError, ShapeError
from typednn.graph import losses
from typednn.graph.kinds import Kind
from typednn.graph.losses import softmax_cross_entropy
from typednn.graph.nodes import tensor
from typednn.graph.whole import decomposed

pytestmark = pytest.mark.usefixtures("on_the_reference")
both = pytest.mark.parametrize("mode", [nullcontext, decomposed], ids=["whole", "decomposed"])
shapes = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)
reductions = st.sampled_from(["mean", "sum", "none"])


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def huber_of(d: Any, delta: float) -> Any:
    return np.where(abs(d) <= delta, d * d / 2, delta * (abs(d) - delta / 2))


# A loss, its formula, and how prediction and target are drawn from normal numbers.
POINTWISE: dict[str, tuple[Any, Any, Any]] = {
    "mse": (losses.mse, lambda p, t: (p - t) ** 2, lambda x: x),
    "l1": (losses.l1, lambda p, t: abs(p - t), lambda x: x),
    "huber": (lambda *a, **k: losses.huber(*a, delta=0.7, **k), lambda p, t: huber_of(p - t, 0.7), lambda x: x),
    "smooth_l1": (
        lambda *a, **k: losses.smooth_l1(*a, beta=0.3, **k),
        lambda p, t: huber_of(p - t, 0.3) / 0.3,
        lambda x: x,
    ),
    "bce_with_logits": (
        losses.bce_with_logits,
        lambda p, t: -t * np.log(sigmoid(p)) - (1 - t) * np.log(sigmoid(-p)),
        sigmoid,
    ),
    "bce of weight 3": (
        lambda *a, **k: losses.bce_with_logits(*a, pos_weight=3.0, **k),
        lambda p, t: -3 * t * np.log(sigmoid(p)) - (1 - t) * np.log(sigmoid(-p)),
        sigmoid,
    ),
    "kl_div": (losses.kl_div, lambda p, t: t * (np.log(t) - p), lambda x: np.exp(-abs(x))),
    "kl_div of logarithms": (
        lambda *a, **k: losses.kl_div(*a, log_target=True, **k),
        lambda p, t: np.exp(t) * (t - p),
        lambda x: -abs(x),
    ),
}


@pytest.mark.parametrize("name", POINTWISE)
@given(shape=shapes, reduction=reductions)
def test_of_each_number(name: str, shape: Any, reduction: Any) -> None:
    """Z-F1: by the formula, differentiable by prediction and target."""
    loss, formula, targets = POINTWISE[name]
    rng = np.random.default_rng(0)
    prediction, target = rng.normal(size=shape) * 2, targets(rng.normal(size=shape))
    expected = formula(prediction, target)
    expected = {"mean": np.mean, "sum": np.sum, "none": np.asarray}[reduction](expected)

    def function(p, t):
        return loss(p, t, reduction=reduction)

    np.testing.assert_allclose(values(function, prediction, target), expected, rtol=1e-9, atol=1e-12)
    check_gradients(function, prediction, target)


def test_pos_weight_of_each_class() -> None:
    rng = np.random.default_rng(1)
    p, t, weight = rng.normal(size=(3, 2)), rng.random((3, 2)), np.array([0.5, 4.0])
    expected = -weight * t * np.log(sigmoid(p)) - (1 - t) * np.log(sigmoid(-p))
    found = values(lambda p, t, w: losses.bce_with_logits(p, t, w, "none"), p, t, weight)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_extreme_scores_and_shares() -> None:
    """No overflow, and 0·log 0 is 0: losses and derivatives stay finite."""
    p, t = np.array([1e4, -1e4, 0.0]), np.array([1.0, 0.0, 0.5])
    np.testing.assert_allclose(
        values(lambda p, t: losses.bce_with_logits(p, t, reduction="none"), p, t), [0, 0, math.log(2)]
    )
    assert np.isfinite(gradients(losses.bce_with_logits, p, t, next_grad=1.0)[0]).all()
    shares = np.array([0.0, 1.0])
    assert values(losses.kl_div, np.array([-3.0, 0.0]), shares) == 0
    assert np.isfinite(gradients(losses.kl_div, np.array([-3.0, 0.0]), shares, next_grad=1.0)).all()


def test_l1_and_huber_at_their_corners() -> None:
    p, t = np.array([1.0, 2.0]), np.array([1.0, 1.0])
    np.testing.assert_array_equal(gradients(losses.l1, p, t, next_grad=2.0)[0], [0, 1])
    # delta is reached: both formulas give it
    np.testing.assert_array_equal(gradients(losses.huber, p, t, next_grad=2.0)[0], [0, 1])


@given(shape=shapes, data=st.data())
def test_cosine_similarity(shape: Any, data: st.DataObject) -> None:
    """Z-F1: along any axis."""
    axis, rng = data.draw(st.integers(-len(shape), len(shape) - 1)), np.random.default_rng(2)
    x, y = rng.normal(size=shape), rng.normal(size=shape)
    expected = (x * y).sum(axis=axis) / np.sqrt((x * x).sum(axis=axis) * (y * y).sum(axis=axis))

    def function(x, y):
        return losses.cosine_similarity(x, y, axis)

    np.testing.assert_allclose(values(function, x, y), expected, rtol=1e-9)
    check_gradients(function, x, y, tolerance=1e-5)
    assert np.isfinite(gradients(function, np.zeros(shape), y, next_grad=1.0)[0]).all()


def cross_entropy(scores: Any, labels: Any, weight: Any, ignore: int, smoothing: float, reduction: str) -> Any:
    """Label by label."""
    classes = scores.shape[-1]
    weight = np.ones(classes) if weight is None else weight
    found, counts = np.zeros(labels.shape), np.zeros(labels.shape)
    for place in np.ndindex(labels.shape):
        if labels[place] != ignore:
            row = scores[place] - scores[place].max()
            logarithms = row - np.log(np.exp(row).sum())
            shares = (np.arange(classes) == labels[place]) * (1 - smoothing) + smoothing / classes
            found[place] = -(weight * shares * logarithms).sum()
            counts[place] = weight[labels[place]]
    return found if reduction == "none" else found.sum() / (counts.sum() or 1 if reduction == "mean" else 1)


@both
@given(
    leading=shapes,
    classes=st.integers(1, 4),
    weighted=st.booleans(),
    ignore=st.sampled_from([-100, 0, 7]),
    smoothing=st.sampled_from([0.0, 0.3]),
    reduction=reductions,
    dtype=st.sampled_from([np.int64, np.int32, np.uint8]),
)
def test_cross_entropy_of_classes(
    mode: Any, leading: Any, classes: int, weighted: bool, ignore: int, smoothing: float, reduction: Any, dtype: Any
) -> None:
    """Z-F1, Z-F2, X-D7: of labels of any shape, of which some are ignored; the mean is over the others."""
    rng = np.random.default_rng(3)
    scores, labels = rng.normal(size=(*leading, classes)) * 3, rng.integers(0, classes, leading)
    if ignore >= np.iinfo(dtype).min:
        labels[rng.random(leading) < 0.3] = ignore
    weight = rng.uniform(0.5, 2, classes) if weighted else None
    options = {"weight": None if weight is None else tensor(weight), "ignore_index": ignore}

    def function(s, t):
        return softmax_cross_entropy(s, t, label_smoothing=smoothing, reduction=reduction, **options)

    with mode():
        expected = cross_entropy(scores, labels, weight, ignore, smoothing, reduction)
        np.testing.assert_allclose(values(function, scores, labels.astype(dtype)), expected, rtol=1e-9, atol=1e-12)
        check_gradients(function, scores, labels.astype(dtype))
        if not smoothing:
            logarithms = scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))

            def of_logarithms(p, t):
                return losses.nll(p, t, reduction=reduction, **options)

            np.testing.assert_allclose(
                values(of_logarithms, logarithms, labels.astype(dtype)), expected, rtol=1e-9, atol=1e-12
            )
            check_gradients(of_logarithms, logarithms, labels.astype(dtype))


@both
def test_all_ignored(mode: Any) -> None:
    """Z-F2: the mean of no labels is 0, and so is its gradient."""
    scores, labels = np.ones((3, 4)), np.full(3, -1)

    def function(s, t):
        return softmax_cross_entropy(s, t, ignore_index=-1)

    with mode():
        assert values(function, scores, labels) == 0
        np.testing.assert_array_equal(gradients(function, scores, labels, next_grad=1.0)[0], np.zeros((3, 4)))


def test_five_examples_with_an_ignored_label() -> None:
    """Z-F2: by hand, forward and backward: scores of 0 are shares of a half."""
    scores, labels = np.zeros((3, 2)), np.array([0, -1, 1])

    def function(s, t):
        return softmax_cross_entropy(s, t, ignore_index=-1)

    np.testing.assert_allclose(values(function, scores, labels), math.log(2))
    np.testing.assert_allclose(
        gradients(function, scores, labels, next_grad=1.0)[0], [[-0.25, 0.25], [0, 0], [0.25, -0.25]]
    )


@given(leading=shapes, classes=st.integers(1, 4), smoothing=st.sampled_from([0.0, 0.2]), reduction=reductions)
def test_cross_entropy_of_shares(leading: Any, classes: int, smoothing: float, reduction: Any) -> None:
    rng = np.random.default_rng(4)
    scores, shares = rng.normal(size=(*leading, classes)), rng.random((*leading, classes))
    logarithms = scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))
    expected = -(logarithms * (shares * (1 - smoothing) + smoothing / classes)).sum(axis=-1)
    expected = {"mean": np.mean, "sum": np.sum, "none": np.asarray}[reduction](expected)

    def function(s, t):
        return softmax_cross_entropy(s, t, label_smoothing=smoothing, reduction=reduction)

    np.testing.assert_allclose(values(function, scores, shares), expected, rtol=1e-9, atol=1e-12)
    check_gradients(function, scores, shares)


def test_an_impossible_class_costs_nothing_elsewhere() -> None:
    """A score of -inf at another class: infinity times zero does not appear."""
    scores = np.array([[0.0, -np.inf, 1.0]])
    for mode in (nullcontext, decomposed):
        with mode():
            assert np.isfinite(values(softmax_cross_entropy, scores, np.array([0])))
            assert np.isfinite(values(softmax_cross_entropy, scores, np.array([[0.5, 0.0, 0.5]])))


def test_made_of_the_twelve_kinds() -> None:
    """X-D7: cross entropy is one node where it is whole, and none is custom where it is not."""
    scores, labels = tensor(np.ones((2, 3))), tensor(np.array([0, 2]))
    assert kinds_of(softmax_cross_entropy(scores, labels)) == [Kind.CUSTOM]
    with decomposed():
        made = kinds_of(softmax_cross_entropy(scores, labels))
    assert Kind.CUSTOM not in made
    assert len(made) < 40


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda p, t: losses.mse(p, p[:1]), ShapeError, "one shape"),
        (lambda p, t: losses.mse(p, p, "sums"), ArgumentError, "reduction"),
        (lambda p, t: losses.huber(p, p, delta=0.0), ArgumentError, "delta"),
        (lambda p, t: softmax_cross_entropy(p, t[:1]), ShapeError, "classes"),
        (lambda p, t: softmax_cross_entropy(p, t > 0), DTypeError, "integers"),
        (lambda p, t: softmax_cross_entropy(p, t, reduction="all"), ArgumentError, "reduction"),
        (lambda p, t: softmax_cross_entropy(p, t, label_smoothing=1.0), ArgumentError, "label_smoothing"),
        (lambda p, t: softmax_cross_entropy(p, t, weight=p[0, :2]), ShapeError, "weight"),
        (lambda p, t: softmax_cross_entropy(p, tensor(np.array([0, 3]))), ArgumentError, "0 to 2"),
        (lambda p, t: losses.nll(p, tensor(np.array([0, -1]))), ArgumentError, "0 to 2"),
    ],
)
@both
def test_refusals(call: Any, error: Any, text: str, mode: Any) -> None:
    with mode(), pytest.raises(error, match=text):
        call(tensor(np.ones((2, 3))), tensor(np.array([0, 2])))


def test_a_wrong_label_that_is_computed_is_refused_when_it_is_known() -> None:
    labels = tensor(np.array([1, 2])) + 1
    with pytest.raises(ArgumentError, match="0 to 2"):
        softmax_cross_entropy(tensor(np.ones((2, 3))), labels).numpy()
