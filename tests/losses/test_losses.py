"""Losses: values by hand, gradients by finite differences, every reduction."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from typednn import gradcheck
from typednn.backends import to_numpy
from typednn.engines import using
from typednn.errors import ArgumentError, DTypeError, ShapeError
from typednn.layers import Linear, Softmax
from typednn.losses import L1, MSE, BCEWithLogits, CosineSimilarity, CrossEntropy, Huber, KLDiv, SoftmaxCrossEntropy
from typednn.losses.reduction import REDUCTIONS
from typednn.testing.subject import locked

RNG = np.random.default_rng(0)
TO_NUMBER = ("sum", "mean", "batchmean")


def probabilities(rng: np.random.Generator, batch: int, classes: int) -> Any:
    raw = rng.uniform(0.1, 1.0, (batch, classes))
    return raw / raw.sum(axis=1, keepdims=True)


def test_the_five_reductions_by_hand() -> None:
    """P-P9, P-S1: a 2x3 example, eqs 17 to 21 and 41."""
    prediction = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    target = np.array([[0.0, 2.0, 5.0], [4.0, 2.0, 5.0]])
    # squared differences: 1 0 4 / 0 9 1
    assert MSE("sum").loss(prediction, target) == 15.0
    assert MSE("mean").loss(prediction, target) == 2.5
    assert MSE("batchmean").loss(prediction, target) == 7.5
    np.testing.assert_array_equal(MSE("none").loss(prediction, target), [[1, 0, 4], [0, 9, 1]])
    np.testing.assert_array_equal(MSE("mean_batch").loss(prediction, target), [0.5, 4.5, 2.5])
    np.testing.assert_allclose(MSE("mean_feature").loss(prediction, target), [5 / 3, 10 / 3], rtol=1e-15)
    doubled = 2 * (prediction - target)
    for reduction, alpha in {
        "none": 1,
        "sum": 1,
        "mean": 6,
        "mean_batch": 2,
        "mean_feature": 3,
        "batchmean": 2,
    }.items():
        np.testing.assert_allclose(MSE(reduction).loss_grad(prediction, target), doubled / alpha, rtol=1e-15)  # type: ignore[call-overload]


def numeric(loss: Any, prediction: Any, target: Any) -> Any:
    gradient = np.zeros_like(prediction)
    for index in np.ndindex(prediction.shape):
        for sign in (1, -1):
            moved = prediction.copy()
            moved[index] += sign * 1e-6
            gradient[index] += sign * np.sum(loss.loss(moved, target)) / 2e-6
    return gradient


@pytest.mark.parametrize("reduction", REDUCTIONS)
@given(batch=st.integers(1, 4), features=st.integers(1, 5), seed=st.integers(0, 99))
def test_gradients_by_finite_differences(reduction: Any, batch: int, features: int, seed: int) -> None:
    """P-S1, P-S2, P-S3: of the sum of what the reduction gives."""
    rng = np.random.default_rng(seed)
    prediction, target = probabilities(rng, batch, features), probabilities(rng, batch, features)
    labels = rng.integers(0, features, batch)
    scores = rng.normal(0, 2, (batch, features))
    for loss, where, to in (
        (MSE(reduction), scores, target),
        (CrossEntropy(reduction), prediction, target),
        (SoftmaxCrossEntropy(reduction), scores, target),
        (SoftmaxCrossEntropy(reduction), scores, labels),
    ):
        expected = numeric(loss, where, to)
        np.testing.assert_allclose(
            loss.loss_grad(where, to), expected, rtol=1e-6, atol=1e-6 * max(1.0, np.abs(expected).max())
        )


def test_mse_takes_any_rank() -> None:
    """P-S1: images and vectors too, features flattened."""
    for shape in ((3,), (2, 3, 4, 5)):
        prediction, target = RNG.normal(size=shape), RNG.normal(size=shape)
        assert MSE().loss(prediction, target) == pytest.approx(np.mean((prediction - target) ** 2), rel=1e-12)
        np.testing.assert_allclose(
            MSE().loss_grad(prediction, target), 2 * (prediction - target) / np.prod(shape), rtol=1e-12
        )
    assert MSE("mean_feature").loss(RNG.normal(size=(2, 3, 4)), np.zeros((2, 3, 4))).shape == (2,)
    assert MSE("mean_batch").loss(RNG.normal(size=(2, 3, 4)), np.zeros((2, 3, 4))).shape == (3, 4)


def test_cross_entropy_of_a_wrong_certainty() -> None:
    """P-S2: p = 0 with t = 1 gives 16.118 and keeps the derivative at eps; a target of 0 costs nothing."""
    p, t = np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]])
    assert CrossEntropy("sum").loss(p, t) == pytest.approx(16.118095, abs=1e-6)
    np.testing.assert_array_equal(CrossEntropy("sum").loss_grad(p, t), [[-1e7, 0.0]])


def test_cross_entropy_begins_where_the_paper_says() -> None:
    """P-S2: ten equal probabilities give ln(10)/10; smoothed targets cannot be fitted below 0.0500288."""
    uniform, hard = np.full((4, 10), 0.1), np.eye(10)[:4]
    assert CrossEntropy().loss(uniform, hard) == pytest.approx(0.2302585, abs=1e-7)
    smoothed = np.where(hard == 1, 0.91, 0.01)
    assert CrossEntropy().loss(smoothed, smoothed) == pytest.approx(0.0500288, abs=1e-7)
    assert CrossEntropy("batchmean").loss(smoothed, smoothed) == pytest.approx(0.5002880, abs=1e-6)


@given(batch=st.integers(1, 4), classes=st.integers(1, 5), seed=st.integers(0, 99))
def test_through_softmax(batch: int, classes: int, seed: int) -> None:
    """P-S3: cross entropy through Softmax gives (p - t)/alpha at the scores, and SoftmaxCrossEntropy
    the same at once.
    """
    rng = np.random.default_rng(seed)
    scores, target = rng.normal(0, 3, (batch, classes)), probabilities(rng, batch, classes)
    softmax = Softmax()
    p = softmax.forward(scores)
    through = softmax.backward(CrossEntropy("mean").loss_grad(p, target)).input
    np.testing.assert_allclose(through, (p - target) / (batch * classes), atol=1e-12)
    np.testing.assert_allclose(SoftmaxCrossEntropy("mean").loss_grad(scores, target), through, atol=1e-12)
    assert SoftmaxCrossEntropy("mean").loss(scores, target) == pytest.approx(
        CrossEntropy("mean").loss(p, target), rel=1e-9
    )


def test_scores_of_any_size_are_stable() -> None:
    """P-L11 for the loss: no overflow, no NaN, exact where it is certain."""
    scores = np.array([[1e4, -1e4, 0.0], [-1e4, 1e4, 0.0]], np.float32)
    labels = np.array([0, 0])
    with np.errstate(over="raise", invalid="raise", divide="raise"):  # underflow to zero is what is meant
        value = SoftmaxCrossEntropy("none").loss(scores, labels)
        gradient = SoftmaxCrossEntropy("sum").loss_grad(scores, labels)
    np.testing.assert_array_equal(value, [[0, 0, 0], [2e4, 0, 0]])
    np.testing.assert_array_equal(gradient, [[0, 0, 0], [-1, 1, 0]])


def test_labels_and_one_hot_agree() -> None:
    scores, labels = RNG.normal(size=(5, 4)), np.array([3, 0, 1, 1, 2])
    hot = np.eye(4)[labels]
    for reduction in REDUCTIONS:
        loss: Any = SoftmaxCrossEntropy(reduction)  # type: ignore[call-overload]
        np.testing.assert_array_equal(loss.loss(scores, labels), loss.loss(scores, hot))
        np.testing.assert_array_equal(loss.loss_grad(scores, labels), loss.loss_grad(scores, hot))


@pytest.mark.parametrize(
    "loss",
    [
        *(
            MSE(),
            CrossEntropy(),
            SoftmaxCrossEntropy(),
            SoftmaxCrossEntropy(weight=[1, 2, 0, 3], label_smoothing=0.1),
            L1(),
            Huber(),
        ),
        *(BCEWithLogits(), BCEWithLogits(pos_weight=[1, 2, 3, 4]), KLDiv(), KLDiv(log_target=True), CosineSimilarity()),
    ],
    ids=repr,
)
def test_losses_on_an_array_that_refuses_what_cupy_refuses(loss: Any) -> None:
    import strict_array

    strict_array.register()
    with using("reference"):  # the strict array's engine: the same bits
        _same_on_both(loss, strict_array)


def _same_on_both(loss: Any, strict_array: Any) -> None:
    p, t = probabilities(RNG, 3, 4).astype(np.float32), probabilities(RNG, 3, 4).astype(np.float32)
    assert loss.loss(locked(p, "strict"), locked(t, "strict")) == loss.loss(locked(p, "cpu"), locked(t, "cpu"))
    on_device = loss.loss_grad(locked(p, "strict"), locked(t, "strict"))
    assert type(on_device) is strict_array.StrictArray
    np.testing.assert_array_equal(to_numpy(on_device), loss.loss_grad(p, t))
    assert loss.loss_grad(p, t).dtype == np.float32


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(
    "kind", [MSE, CrossEntropy, SoftmaxCrossEntropy, L1, Huber, BCEWithLogits, KLDiv, CosineSimilarity]
)
def test_the_value_stays_on_its_device_until_it_is_read(
    kind: Any, reduction: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import strict_array

    strict_array.register()
    loss, p, t = (
        kind(reduction),
        probabilities(RNG, 3, 4).astype(np.float32),
        probabilities(RNG, 3, 4).astype(np.float32),
    )
    device: Any = locked(p, "strict"), locked(t, "strict")
    with using("reference"):
        value = loss.loss(p, t)
        with monkeypatch.context() as patched:
            for name in ("item", "tolist", "_number"):  # whoever asks for a number waits
                patched.delattr(strict_array.StrictArray, name)
            array = loss.loss_array(*device)
        np.testing.assert_array_equal(to_numpy(array), value)
        np.testing.assert_array_equal(to_numpy(array), loss.loss_array(p, t))
    assert type(array) is strict_array.StrictArray
    one = reduction in TO_NUMBER
    assert type(value) is (float if one else np.ndarray if np.ndim(value) else np.float32)
    assert array.dtype == (np.float64 if one else np.float32)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(batch=st.integers(1, 60), classes=st.integers(1, 60), labelled=st.booleans(), seed=st.integers(0, 99))
def test_loss_and_grad_are_the_two(
    reduction: Any, dtype: Any, batch: int, classes: int, labelled: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 3, (batch, classes)).astype(dtype)
    target = rng.integers(0, classes, batch) if labelled else probabilities(rng, batch, classes).astype(dtype)
    rows = probabilities(rng, batch, classes).astype(dtype)
    for kind, to in ((SoftmaxCrossEntropy, target), (MSE, rows)):
        loss: Any = kind(reduction)
        value, gradient = loss.loss_and_grad(scores, to)
        expected = loss.loss(scores, to)
        assert type(value) is type(expected)
        np.testing.assert_array_equal(value, expected)
        np.testing.assert_array_equal(gradient, loss.loss_grad(scores, to))


def test_loss_and_grad_refuse_what_the_two_refuse() -> None:
    loss, scores = SoftmaxCrossEntropy(), np.zeros((2, 3), np.float32)
    with pytest.raises(ArgumentError, match="labels are 0 to 2, got 3 in row 1"):
        loss.loss_and_grad(scores, np.array([1, 3]))
    with pytest.raises(ShapeError, match=r"loss_and_grad: target must be .*, got shape \(3,\): axis 0 is 3, not 2"):
        loss.loss_and_grad(scores, np.array([1, 2, 0]))


def test_labels_on_a_device_are_looked_at_by_loss_alone() -> None:
    """The gradient would wait each step: there such a label is no class, on the CPU it is refused."""
    import strict_array

    strict_array.register()
    loss, scores, labels = SoftmaxCrossEntropy(), np.zeros((2, 3), np.float32), np.array([1, 3])
    device: Any = locked(scores, "strict"), locked(labels, "strict")
    with pytest.raises(ArgumentError, match="labels are 0 to 2, got 3 in row 1"):
        loss.loss(*device)
    with pytest.raises(ArgumentError, match="labels are 0 to 2, got 3 in row 1"):
        loss.check_target(labels, 3)
    grad: Any = to_numpy(loss.loss_grad(*device))
    np.testing.assert_allclose(grad, np.array([[1, -2, 1], [0, 0, 0]]) / 6, rtol=1e-6)


def test_bad_arguments_are_told() -> None:
    with pytest.raises(ArgumentError, match=r"MSE: reduction must be one of 'none', 'sum', .*, got 'avg'"):
        MSE("avg")  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="eps must be"):
        CrossEntropy(eps=0.0)
    with pytest.raises(ArgumentError, match="labels are 0 to 2, got 3 in row 1"):
        SoftmaxCrossEntropy().loss(np.zeros((2, 3)), np.array([0, 3]))
    with pytest.raises(ArgumentError, match="labels are 0 to 2, got -1 in row 0"):
        SoftmaxCrossEntropy().loss_grad(np.zeros((2, 3)), np.array([-1, 2]))
    with pytest.raises(ShapeError, match=r'target must be "batch \*positions", got shape \(3,\): axis 0 is 3, not 2'):
        SoftmaxCrossEntropy().loss(np.zeros((2, 3)), np.array([0, 1, 2]))
    with pytest.raises(DTypeError, match="target must hold numbers of kind float, got int64"):
        CrossEntropy().loss(np.zeros((2, 3)), np.zeros((2, 3), np.int64))


def test_a_loss_is_printed_with_its_reduction() -> None:
    assert repr(MSE("sum")) == "MSE(reduction='sum')"
    assert repr(SoftmaxCrossEntropy()) == "SoftmaxCrossEntropy(reduction='batchmean')"


def test_a_wrong_loss_gradient_would_be_seen() -> None:
    """The numeric gradient above is no echo: a factor of 1.001 is told apart."""
    p, t = probabilities(RNG, 2, 3), probabilities(RNG, 2, 3)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(1.001 * MSE().loss_grad(p, t), numeric(MSE(), p, t), rtol=1e-6)
    assert gradcheck(Linear(2, 2, rng=RNG), p[:, :2]).error < 1e-6
