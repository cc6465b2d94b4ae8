"""Losses of numbers, scores and distributions, element by element: values by hand, gradients by finite differences,
refusals.
"""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from typednn.errors import ArgumentError, DTypeError, ShapeError
from typednn.losses import L1, MSE, BCEWithLogits, CosineSimilarity, Huber, KLDiv
from typednn.losses.reduction import REDUCTIONS
from typednn.testing import check_loss

shapes = st.sampled_from([(3,), (2, 4), (1, 1), (2, 3, 2), (2, 1, 2, 3)])


def numeric(loss: Any, prediction: Any, target: Any) -> Any:
    gradient = np.zeros_like(prediction)
    for index in np.ndindex(prediction.shape):
        for sign in (1, -1):
            moved = prediction.copy()
            moved[index] += sign * 1e-6
            gradient[index] += sign * np.sum(loss.loss(moved, target)) / 2e-6
    return gradient


def cases(reduction: Any, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Losses, each with a prediction off its kinks and a target."""
    target, apart = rng.normal(size=shape), rng.uniform(0.1, 3, shape) * rng.choice([-1, 1], shape)
    apart = np.where(abs(abs(apart) - 0.7) < 0.01, 0.5, apart)
    shares, logs = rng.uniform(0.05, 1, shape), -rng.uniform(0.1, 3, shape)
    yield L1(reduction), target + apart, target
    yield Huber(reduction, delta=0.7), target + apart, target
    yield KLDiv(reduction), logs, shares
    yield KLDiv(reduction, log_target=True), logs, np.log(shares)
    yield BCEWithLogits(reduction), 3 * target, shares
    yield BCEWithLogits(reduction, pos_weight=2.5), 3 * target, np.round(shares)
    yield BCEWithLogits(reduction, pos_weight=rng.uniform(0.5, 2, shape[-1])), 3 * target, shares
    if len(shape) > 1:
        yield CosineSimilarity(reduction), target + apart, target


@pytest.mark.parametrize("reduction", REDUCTIONS)
@given(shape=shapes, seed=st.integers(0, 99))
def test_gradients_by_finite_differences(reduction: Any, shape: tuple[int, ...], seed: int) -> None:
    for loss, prediction, target in cases(reduction, np.random.default_rng(seed), shape):
        expected = numeric(loss, prediction, target)
        np.testing.assert_allclose(
            loss.loss_grad(prediction, target), expected, rtol=1e-5, atol=1e-7, err_msg=repr(loss)
        )


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_loss_and_grad_are_the_two(reduction: Any, dtype: Any) -> None:
    for shape in ((2, 3), (60, 70), (3, 40, 50)):
        for loss, *arrays in cases(reduction, np.random.default_rng(1), shape):
            prediction, target = (array.astype(dtype) for array in arrays)
            value, gradient = loss.loss_and_grad(prediction, target)
            np.testing.assert_array_equal(value, loss.loss(prediction, target), err_msg=repr(loss))
            np.testing.assert_array_equal(gradient, loss.loss_grad(prediction, target), err_msg=repr(loss))
            assert gradient.dtype == dtype


@pytest.mark.parametrize("loss", [L1(), Huber(), BCEWithLogits(), KLDiv(log_target=True), CosineSimilarity()], ids=repr)
def test_laws(loss: Any) -> None:
    """`typednn.testing.check_loss`: derivatives, shape, purity, refusals and modes, at a drawn
    prediction and target.
    """
    for shape in ((4, 3), (2, 3, 5)):
        check_loss(loss, shape, shape)


def test_l1_by_hand() -> None:
    prediction, target = np.array([[1.0, 2.0, 5.0]]), np.array([[1.0, 4.0, 2.0]])
    np.testing.assert_array_equal(L1("none").loss(prediction, target), [[0, 2, 3]])
    np.testing.assert_array_equal(L1().loss_grad(prediction, target), [[0, -1 / 3, 1 / 3]])


def test_huber_is_half_of_mse_near_and_a_line_far() -> None:
    prediction, target = np.array([[0.5, -2.0, 2.0, 5.0]]), np.zeros((1, 4))
    np.testing.assert_array_equal(Huber("none", delta=2.0).loss(prediction, target), [[0.125, 2, 2, 8]])
    np.testing.assert_array_equal(Huber("sum", delta=2.0).loss_grad(prediction, target), [[0.5, -2, 2, 2]])
    assert Huber(delta=1e3).loss(prediction, target) == pytest.approx(MSE().loss(prediction, target) / 2, rel=1e-15)


def test_scores_of_any_size_lose_no_digits() -> None:
    """A loss of 1e-20 is not rounded to 0, one of 1e4 does not overflow; neither are their derivatives."""
    scores, yes = np.array([[46.0, -1e4, 0.0, 80.0]], np.float64), np.ones((1, 4))
    for dtype in (np.float32, np.float64):
        x, t = scores.astype(dtype), yes.astype(dtype)
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            np.testing.assert_allclose(
                BCEWithLogits("none").loss(x, t), [[math.exp(-46), 1e4, math.log(2), math.exp(-80)]], rtol=1e-5
            )
            np.testing.assert_allclose(
                BCEWithLogits("none").loss(-x, 0 * t), [[math.exp(-46), 1e4, math.log(2), math.exp(-80)]], rtol=1e-5
            )
            np.testing.assert_allclose(
                BCEWithLogits("sum").loss_grad(x, t), [[-math.exp(-46), -1, -0.5, -math.exp(-80)]], rtol=1e-5
            )
            np.testing.assert_allclose(
                BCEWithLogits("sum").loss_grad(-x, 0 * t), [[math.exp(-46), 1, 0.5, math.exp(-80)]], rtol=1e-5
            )


def test_pos_weight_counts_each_yes() -> None:
    """Two yeses of the first class cost as much as one with weight 2; a no costs the same."""
    scores, target = np.array([[0.5, -1.0]]), np.array([[1.0, 0.0]])
    plain = BCEWithLogits("none").loss(scores, target)
    np.testing.assert_allclose(
        BCEWithLogits("none", pos_weight=[2.0, 3.0]).loss(scores, target), plain * [[2, 1]], rtol=1e-15
    )
    np.testing.assert_allclose(BCEWithLogits("none", pos_weight=2.0).loss(scores, target), plain * [[2, 1]], rtol=1e-15)


def test_divergence_of_a_distribution_from_itself() -> None:
    """0; and a target of 0 costs nothing, even where the prediction is sure of it."""
    shares = np.array([[0.25, 0.75, 0.0]])
    with np.errstate(divide="ignore"):
        logs = np.log(shares)
    np.testing.assert_allclose(
        KLDiv("none").loss(np.array([[math.log(0.25), math.log(0.75), -5.0]]), shares), 0, atol=1e-16
    )
    half = np.log(np.array([[0.5, 0.5, 1e-300]]))
    expected = 0.25 * math.log(0.5) + 0.75 * math.log(1.5)
    assert KLDiv("batchmean").loss(half, shares) == pytest.approx(expected, rel=1e-12)
    assert KLDiv("batchmean", log_target=True).loss(half, logs) == pytest.approx(expected, rel=1e-12)
    assert KLDiv("sum").loss_grad(half, shares).tolist() == [[-0.25, -0.75, 0]]


def test_cosine_similarity_looks_at_directions_alone() -> None:
    target = np.array([[3.0, 4.0], [3.0, 4.0], [3.0, 4.0], [0.0, 0.0]])
    prediction = np.array([[6.0, 8.0], [-0.3, -0.4], [-4.0, 3.0], [1.0, 1.0]])
    loss = CosineSimilarity("none")
    np.testing.assert_allclose(loss.loss(prediction, target), [0, 2, 1, 1], atol=1e-15)
    assert CosineSimilarity().loss(prediction, target) == pytest.approx(1)
    np.testing.assert_allclose(loss.loss_grad(prediction, target)[:3], [[0, 0], [0, 0], [-0.12, -0.16]], atol=1e-15)
    assert np.isfinite(loss.loss_grad(np.zeros((1, 2)), target[:1])).all()


def test_bad_arguments_are_told() -> None:
    with pytest.raises(ArgumentError, match=r"Huber: delta must be a finite number with 1e-30 <= delta < inf, got 0"):
        Huber(delta=0)
    with pytest.raises(ArgumentError, match="KLDiv: log_target must be True or False, got 1"):
        KLDiv(log_target=1)  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="BCEWithLogits: each pos_weight must be a finite number"):
        BCEWithLogits(pos_weight=[1.0, -1.0])
    with pytest.raises(ArgumentError, match="BCEWithLogits: pos_weight must be a finite number"):
        BCEWithLogits(pos_weight=-1.0)
    with pytest.raises(ArgumentError, match="BCEWithLogits: pos_weight must be a list of one number per class"):
        BCEWithLogits(pos_weight=[[1.0], [1.0, 2.0]])
    with pytest.raises(ArgumentError, match="BCEWithLogits: pos_weight has one number per class, 3, got 2"):
        BCEWithLogits(pos_weight=[1.0, 2.0]).loss(np.zeros((2, 3)), np.zeros((2, 3)))
    with pytest.raises(ArgumentError, match="CosineSimilarity: eps must be"):
        CosineSimilarity(eps=0.0)
    for loss in (L1(), Huber(), BCEWithLogits(), KLDiv(), CosineSimilarity()):
        with pytest.raises(ShapeError, match=r"got shape \(2, 2\): axis 1 is 2, not 3"):
            loss.loss_grad(np.zeros((2, 3)), np.zeros((2, 2)))
        with pytest.raises(DTypeError, match=r"target must .*, got int64"):
            loss.loss(np.zeros((2, 3)), np.zeros((2, 3), np.int64))


def test_losses_are_printed_with_their_settings() -> None:
    assert repr(Huber(delta=2.0)) == "Huber(reduction='mean', delta=2.0)"
    assert repr(BCEWithLogits()) == "BCEWithLogits(reduction='mean')"
    assert repr(BCEWithLogits("sum", pos_weight=[1, 2])) == "BCEWithLogits(reduction='sum', pos_weight=(1.0, 2.0))"
    assert repr(KLDiv("batchmean")) == "KLDiv(reduction='batchmean', log_target=False)"
