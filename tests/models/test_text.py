"""The LSTM that classifies texts."""

import numpy as np
import pytest

from typednn import gradcheck
from typednn.losses import SoftmaxCrossEntropy
from typednn.models import lstm_classifier
from typednn.optim import Adam

pytestmark = pytest.mark.usefixtures("on_the_reference")


def test_derivatives() -> None:
    tokens = np.random.default_rng(0).integers(1, 7, (2, 3))
    assert (
        gradcheck(lstm_classifier(2, length=3, vocabulary=7, rng=np.random.default_rng(1)), tokens, most=30).error
        < 1e-6
    )


def test_it_learns_what_came_first() -> None:
    """The class is the first of 12 tokens: it has to be remembered."""
    rng = np.random.default_rng(0)
    tokens = rng.integers(1, 4, (120, 12))
    model, loss, optimizer = lstm_classifier(3, length=12, vocabulary=4, rng=rng), SoftmaxCrossEntropy(), Adam(lr=0.01)
    for _ in range(60):
        _, next_grad = loss.loss_and_grad(model.forward(tokens), tokens[:, 0] - 1)
        model.update(optimizer, model.backward(next_grad))
    assert (model.forward(tokens).argmax(axis=1) == tokens[:, 0] - 1).mean() > 0.95
