"""Losses of labels, with weights, an ignored label and smoothing, for samples, sequences and images: G-L6, Z-F2."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from typednn.backends import to_numpy
from typednn.engines import counting, using
from typednn.errors import ArgumentError, ShapeError
from typednn.losses import NLL, SoftmaxCrossEntropy
from typednn.losses.reduction import REDUCTIONS
from typednn.testing.subject import locked

SCORES = np.array([[2.0, 3.0, 4.0], [5.0, 6.0, 7.0], [1.0, 1.0, 1.0]])
LOSSES = np.array([1.407605964, 0.407605964, math.log(3)])  # of the labels 1, 2 and 0


def log_softmax(scores: Any) -> Any:
    return scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))


def by_hand(scores: Any, target: Any, weight: Any, ignore_index: int | None, smoothing: float) -> tuple[float, float]:
    """The sum of the losses and what the mean divides it by, one label after the other."""
    total = count = 0.0
    classes = scores.shape[-1]
    weight = np.ones(classes) if weight is None else weight
    for place in np.ndindex(target.shape):
        label, logs = int(target[place]), log_softmax(scores[place])
        if label != ignore_index:
            total -= (1 - smoothing) * weight[label] * logs[label] + smoothing / classes * float(weight @ logs)
            count += weight[label]
    return total, count


def test_without_ignored_labels() -> None:
    """Z-F2, G-L6: the mean of -log_softmax at the label."""
    labels = np.array([1, 2, 0])
    assert SoftmaxCrossEntropy().loss(SCORES, labels) == pytest.approx(LOSSES.mean(), rel=1e-8)
    assert NLL().loss(log_softmax(SCORES), labels) == pytest.approx(LOSSES.mean(), rel=1e-8)


def test_gradient_without_ignored_labels() -> None:
    """Z-F2, G-L6: (softmax - one_hot)/rows; of log-probabilities -one_hot/rows."""
    labels = np.array([1, 2, 0])
    expected = (np.exp(log_softmax(SCORES)) - np.eye(3)[labels]) / 3
    np.testing.assert_allclose(SoftmaxCrossEntropy().loss_grad(SCORES, labels), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(NLL().loss_grad(SCORES, labels), -np.eye(3)[labels] / 3, rtol=1e-15)


@pytest.mark.parametrize("ignored", [-100, 255, 2])
def test_with_ignored_labels(ignored: int) -> None:
    """Z-F2: the mean is over the others, whether the ignored label is a class or not."""
    labels = np.array([1, ignored, 0])
    assert SoftmaxCrossEntropy(ignore_index=ignored).loss(SCORES, labels) == pytest.approx(
        LOSSES[[0, 2]].mean(), rel=1e-8
    )
    assert NLL(ignore_index=ignored).loss(log_softmax(SCORES), labels) == pytest.approx(LOSSES[[0, 2]].mean(), rel=1e-8)
    assert SoftmaxCrossEntropy("mean", ignore_index=ignored).loss(SCORES, labels) == pytest.approx(
        LOSSES[[0, 2]].sum() / 6, rel=1e-8
    )


@pytest.mark.parametrize("ignored", [-100, 255, 2])
def test_gradient_with_ignored_labels(ignored: int) -> None:
    """Z-F2: zero for what is ignored."""
    labels = np.array([1, ignored, 0])
    expected = (np.exp(log_softmax(SCORES)) - np.eye(3)[[1, 0, 0]]) / 2 * [[1], [0], [1]]
    np.testing.assert_allclose(
        SoftmaxCrossEntropy(ignore_index=ignored).loss_grad(SCORES, labels), expected, rtol=1e-12, atol=1e-15
    )


@pytest.mark.parametrize("ignored", [-100, 2])
@pytest.mark.parametrize("weight", [None, [1.0, 2.0, 3.0]])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("kind", [SoftmaxCrossEntropy, NLL])
def test_all_ignored(kind: Any, reduction: Any, weight: Any, ignored: int) -> None:
    """Z-F2: loss and gradient are 0, where PyTorch gives NaN."""
    loss, labels = kind(reduction, weight=weight, ignore_index=ignored), np.full(3, ignored)
    value, gradient = loss.loss_and_grad(SCORES, labels)
    for found in (
        value,
        loss.loss(SCORES, labels),
        loss.loss_array(SCORES, labels),
        gradient,
        loss.loss_grad(SCORES, labels),
    ):
        np.testing.assert_array_equal(found, np.zeros_like(found))


def test_weights_of_zero_count_nothing() -> None:
    loss = SoftmaxCrossEntropy(weight=[0.0, 1.0, 0.0])
    assert loss.loss(SCORES, np.array([0, 2, 0])) == 0
    assert not loss.loss_grad(SCORES, np.array([0, 2, 0])).any()


settings_of = st.fixed_dictionaries(
    {
        "weight": st.none() | st.lists(st.floats(0.1, 3), min_size=4, max_size=4),
        "ignore_index": st.sampled_from([None, -100, 0, 3]),
        "label_smoothing": st.sampled_from([0.0, 0.1, 0.75]),
    }
)
leading = st.sampled_from([(3,), (2, 3), (2, 1, 3)])


@pytest.mark.parametrize("make", [NLL, SoftmaxCrossEntropy])
@pytest.mark.parametrize("ignore_index", [None, -100, 1])
def test_weighted_labels_that_are_no_class_count_nothing(make: Any, ignore_index: int | None) -> None:
    """Where labels are not checked, the divisor that is told is the one of the loss: here the weights of the labels 0
    and 2.
    """
    loss, target = make(weight=[1.0, 3.0, 2.0], ignore_index=ignore_index), np.array([0, 3, -1, 2, -4])
    scores = np.tile(log_softmax(SCORES[0]), (5, 1))
    assert loss.divisor(scores, target) == 3.0
    total = -1.0 * scores[0, 0] - 2.0 * scores[3, 2]
    assert float(loss.loss_array(scores, target)) == pytest.approx(total / 3.0)


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@given(axes=leading, settings=settings_of, seed=st.integers(0, 99))
def test_values_by_hand(engine: str, dtype: Any, axes: tuple[int, ...], settings: dict[str, Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores, target = rng.normal(0, 2, (*axes, 4)).astype(dtype), rng.integers(0, 4, axes)
    if settings["ignore_index"] == -100:
        target[0] = -100
    weight = None if settings["weight"] is None else np.array(settings["weight"])
    total, count = by_hand(
        scores.astype(np.float64), target, weight, settings["ignore_index"], settings["label_smoothing"]
    )
    close: dict[str, Any] = {
        "rel": 1e-12 if dtype is np.float64 else 1e-5,
        "abs": 1e-12 if dtype is np.float64 else 1e-6,
    }
    divisors = {"sum": 1.0, "batchmean": count or 1.0, "mean": 4 * count or 1.0}
    for reduction, divisor in divisors.items():
        with using(engine):
            loss: Any = SoftmaxCrossEntropy(reduction, **settings)  # type: ignore[call-overload]
            assert loss.loss(scores, target) == pytest.approx(total / divisor, **close)
            assert float(loss.loss_array(scores, target)) == pytest.approx(total / divisor, **close)
            counted = {"sum": None, "batchmean": count, "mean": 4 * count}[reduction]
            assert loss.divisor(scores, target) == (None if counted is None else pytest.approx(counted, rel=1e-6))
            value, gradient = loss.loss_and_grad(scores, target)
            assert value == loss.loss(scores, target)
            assert gradient.shape == scores.shape
            assert gradient.dtype == dtype
            np.testing.assert_array_equal(gradient, loss.loss_grad(scores, target))


def numeric(loss: Any, prediction: Any, target: Any) -> Any:
    gradient = np.zeros_like(prediction)
    for index in np.ndindex(prediction.shape):
        for sign in (1, -1):
            moved = prediction.copy()
            moved[index] += sign * 1e-6
            gradient[index] += sign * np.sum(loss.loss(moved, target)) / 2e-6
    return gradient


@pytest.mark.parametrize("reduction", REDUCTIONS)
@given(axes=leading, settings=settings_of, soft=st.booleans(), seed=st.integers(0, 99))
def test_gradients_by_finite_differences(
    reduction: Any, axes: tuple[int, ...], settings: dict[str, Any], soft: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    scores, labels = rng.normal(0, 2, (*axes, 4)), rng.integers(0, 4, axes)
    target: Any = rng.dirichlet(np.ones(4), axes) if soft else labels
    loss: Any = SoftmaxCrossEntropy(reduction, **settings)  # type: ignore[call-overload]
    np.testing.assert_allclose(loss.loss_grad(scores, target), numeric(loss, scores, target), rtol=1e-6, atol=1e-8)
    del settings["label_smoothing"]
    likelihood: Any = NLL(reduction, **settings)  # type: ignore[call-overload]
    np.testing.assert_allclose(
        likelihood.loss_grad(scores, labels), numeric(likelihood, scores, labels), rtol=1e-6, atol=1e-8
    )
    value, gradient = likelihood.loss_and_grad(scores, labels)
    np.testing.assert_array_equal(value, likelihood.loss(scores, labels))
    np.testing.assert_array_equal(gradient, likelihood.loss_grad(scores, labels))


def test_sequences_and_images_are_rows_to_the_kernel() -> None:
    """The same numbers as row after row, by the kernel of rows, without a copy of the scores."""
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(2, 3, 5, 6)).astype(np.float32), rng.integers(0, 6, (2, 3, 5))
    for setting in ({}, {"weight": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "label_smoothing": 0.1}):
        loss: Any = SoftmaxCrossEntropy(**setting)
        with counting() as counts:
            value, gradient = loss.loss_and_grad(scores, labels)
        assert counts["softmax_cross_entropy.forward_and_backward", "halide"] == 1
        flat, flat_gradient = loss.loss_and_grad(scores.reshape(30, 6), labels.reshape(30))
        assert value == flat
        np.testing.assert_array_equal(gradient.reshape(30, 6), flat_gradient)
    assert SoftmaxCrossEntropy("none").loss(scores, labels).shape == scores.shape
    assert SoftmaxCrossEntropy("mean_batch").loss(scores, labels).shape == (3, 5, 6)


def test_a_mean_on_a_device_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the mean divides by stays there too, whatever is ignored or weighted."""
    import strict_array

    strict_array.register()
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(2, 3, 4)).astype(np.float32), rng.integers(0, 4, (2, 3))
    labels[0, 1] = -100
    device: Any = locked(scores, "strict"), locked(labels, "strict")
    losses: list[Any] = [SoftmaxCrossEntropy(), SoftmaxCrossEntropy("mean", weight=[1, 2, 3, 4], label_smoothing=0.1)]
    losses += [SoftmaxCrossEntropy(ignore_index=2), NLL(weight=[1, 2, 3, 4]), NLL()]
    for loss in losses:
        labels[0, 1] = -100 if loss.ignore_index == -100 else 2
        device = locked(scores, "strict"), locked(labels, "strict")
        with using("reference"):
            with monkeypatch.context() as patched:
                for name in ("item", "tolist", "_number"):  # whoever asks for a number waits
                    patched.delattr(strict_array.StrictArray, name)
                value, gradient = loss.loss_array(*device), loss.loss_grad(*device)
            assert type(gradient) is strict_array.StrictArray
            assert gradient.dtype == np.float32
            np.testing.assert_allclose(to_numpy(value), loss.loss(scores, labels), rtol=1e-6)
            np.testing.assert_allclose(to_numpy(gradient), loss.loss_grad(scores, labels), rtol=1e-6)
            assert loss.loss(*device) == pytest.approx(loss.loss(scores, labels), rel=1e-6)


@pytest.mark.parametrize("weight", [None, [1.0, 2.0]])
def test_more_labels_than_float16_counts(weight: Any) -> None:
    """As an image of 300x300 has; on a device too, where the count is an array."""
    import strict_array

    strict_array.register()
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(1, 300, 300, 2)).astype(np.float16), rng.integers(0, 2, (1, 300, 300))
    loss = SoftmaxCrossEntropy(weight=weight)
    with using("reference"):
        on_host = loss.loss(scores, labels)
        assert on_host == pytest.approx(loss.loss(scores.astype(np.float64), labels), rel=1e-3)
        assert loss.loss(locked(scores, "strict"), locked(labels, "strict")) == pytest.approx(on_host, rel=1e-6)


def test_unsigned_and_narrow_labels() -> None:
    labels = np.array([1, 255, 0])
    for dtype in (np.uint8, np.int16, np.uint64):
        loss = SoftmaxCrossEntropy(ignore_index=255)
        assert loss.loss(SCORES, labels.astype(dtype)) == loss.loss(SCORES, labels)
        assert SoftmaxCrossEntropy().loss(SCORES, (labels % 3).astype(dtype)) == SoftmaxCrossEntropy().loss(
            SCORES, labels % 3
        )


@pytest.mark.parametrize("kind", [SoftmaxCrossEntropy, NLL])
def test_what_is_refused(kind: Any) -> None:
    name, scores = kind.__name__, np.zeros((2, 2, 3))
    with pytest.raises(ArgumentError, match=rf"{name}: labels are 0 to 2, got 7 in row 1, position 0"):
        kind().loss(scores, np.array([[0, -100], [7, 9]]))
    with pytest.raises(ArgumentError, match=r"labels are 0 to 2, got -100 in row 0, position 1"):
        kind(ignore_index=None).loss_grad(scores, np.array([[0, -100], [1, 2]]))
    with pytest.raises(ArgumentError, match=r"labels are 0 to 2, got -100 in row 0, position 1"):
        kind(ignore_index=0).loss_and_grad(scores, np.array([[0, -100], [1, 2]]))
    with pytest.raises(ArgumentError, match="labels are 0 to 2, got 3 in row 1, position 1, 0"):
        kind().loss(np.zeros((2, 2, 2, 3)), np.array([[[0, 1], [-100, 2]], [[2, 2], [3, 4]]]))
    with pytest.raises(ArgumentError, match=rf"{name}: weight has one number per class, 3, got 2"):
        kind(weight=[1.0, 2.0]).loss(scores, np.zeros((2, 2), np.int64))
    for wrong in (3.0, [], [[1.0]], [[1.0], [1.0, 2.0]], "abc", np.zeros((2, 2)), np.array(1.0)):
        with pytest.raises(ArgumentError, match=f"{name}: weight must be a list of one number per class"):
            kind(weight=wrong)
    for number in ([1.0, -1.0], [float("nan")], ["a"], [10**400]):
        with pytest.raises(ArgumentError, match=f"{name}: each weight must be a finite number"):
            kind(weight=number)
    with pytest.raises(ArgumentError, match=f"{name}: ignore_index must be an integer"):
        kind(ignore_index=0.5)
    with pytest.raises(ShapeError, match=r'target must be "batch \*positions", got shape \(2, 3\): axis 1 is 3, not 2'):
        kind().loss(scores, np.zeros((2, 3), np.int64))
    with pytest.raises(ShapeError, match=r"target must be .*batch \*positions.*, got .*shape \(2,\)"):
        kind().loss_grad(scores, np.zeros(2, np.int64))
    with pytest.raises(ArgumentError, match="label_smoothing must be a finite number with 0 <= label_smoothing < 1"):
        SoftmaxCrossEntropy(label_smoothing=1.0)


def test_settings_are_printed() -> None:
    assert repr(SoftmaxCrossEntropy()) == "SoftmaxCrossEntropy(reduction='batchmean')"
    shown = "SoftmaxCrossEntropy(reduction='sum', weight=(1.0, 2.0), ignore_index=None, label_smoothing=0.5)"
    assert (
        repr(SoftmaxCrossEntropy("sum", weight=np.array([1, 2], np.float32), ignore_index=None, label_smoothing=0.5))
        == shown
    )
    assert repr(NLL(ignore_index=0)) == "NLL(reduction='batchmean', ignore_index=0)"
