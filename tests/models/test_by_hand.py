"""P-P10: a model with its own forward, backward, update and gradient class, as the paper's section IV writes one."""

from typing import Any

import numpy as np

from tests.support.by_hand import ByHand, ByHandGrad
from typednn.losses import MSE
from typednn.optim import SGD
from typednn.random import PCG32
from typednn.testing.gradcheck import gradcheck

X, TARGET = np.random.default_rng(0).standard_normal((5, 3)), np.random.default_rng(1).standard_normal((5, 2))


class Noting:
    """An optimizer that notes what it is handed."""

    def __init__(self) -> None:
        self.met: list[tuple[int, Any]] = []

    def step(self, weights: Any, grad: Any) -> None:
        self.met.append((id(weights), grad))


def test_update_hands_each_weight_with_its_gradient_in_order() -> None:
    """P-P10: the model's own update runs, and is the only thing that steps."""
    model, noting = ByHand().init(PCG32(1)).astype(np.float64), Noting()
    grad = model.backward(MSE().loss_grad(model.forward(X), TARGET))
    assert type(grad) is ByHandGrad
    model.update(noting, grad)
    assert model.stepped == 1
    expected = [(model.first, grad.first), (model.second, grad.second)]
    pairs = [(getattr(layer, name), getattr(part, name)) for layer, part in expected for name in ("weight", "bias")]
    assert [place for place, _ in noting.met] == [id(weights) for weights, _ in pairs]
    for (_, handed), (_, wanted) in zip(noting.met, pairs, strict=True):
        np.testing.assert_array_equal(handed, wanted)


def test_the_gradient_is_that_of_the_loss() -> None:
    """P-P10: central differences, of the whole model and through the loss of a step that follows it downhill."""
    model = ByHand().init(PCG32(1)).astype(np.float64)
    gradcheck(model, X)
    losses = []
    for _ in range(200):
        prediction = model.forward(X)
        losses.append(MSE().loss(prediction, TARGET))
        model.update(SGD(0.1), model.backward(MSE().loss_grad(prediction, TARGET)))
    assert model.stepped == 200
    assert losses[-1] < 0.8 * losses[0]


def test_the_user_decides_what_flows() -> None:
    """P-P10: a gradient left out of the user's own update moves nothing; one changed on the way arrives changed."""
    model = ByHand().init(PCG32(1)).astype(np.float64)
    grad = model.backward(MSE().loss_grad(model.forward(X), TARGET))
    kept, before = model.first.weight.copy(), model.second.weight.copy()
    model.second.update(SGD(0.5), 2.0 * grad.second)
    np.testing.assert_array_equal(model.first.weight, kept)
    np.testing.assert_allclose(model.second.weight, before - grad.second.weight, rtol=1e-14)
