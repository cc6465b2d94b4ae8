"""Recipes with class_weight=balanced and top_k."""

from typing import Any

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

from typednn.errors import ArgumentError
from typednn.losses import SoftmaxCrossEntropy
from typednn.recipes import Samples, find, train

rng = np.random.default_rng(0)


def unbalanced() -> Samples:
    """Rows around two centres that overlap; nine of ten are of class 0. Class 2 does not occur."""
    y = (rng.random(400) < 0.1).astype(np.int64)
    x = (rng.standard_normal((400, 3)) + y[:, None]).astype(np.float32)
    return Samples("two", "two centres", x[:300], y[:300], x[300:], y[300:], ("a", "b", "c"))


def test_balanced_classes_count_the_same() -> None:
    """The loss that is measured has scikit-learn's weights of the training rows; the rare class is found more often."""
    samples, settings = unbalanced(), {"epochs": 3, "seed": 1, "validation": 0.0}
    recipe = find("mlp").changed(settings)
    plain = train(recipe, samples, progress=False)
    result: Any = train(recipe.changed(class_weight="balanced", top_k=2), samples, progress=False)
    weight = [*compute_class_weight("balanced", classes=np.arange(2), y=samples.y), 1.0]
    scores = result.model.forward(result.plan.scaling(samples.test_x))
    expected = SoftmaxCrossEntropy(weight=weight).loss(scores, samples.test_y)
    measured = result.history.evaluations[-1]
    assert measured.loss == pytest.approx(expected, rel=1e-6)
    assert measured.metrics["top_2_accuracy"] == result.test.top_k_accuracy == 1.0
    assert result.test.recall[1] > plain.test.recall[1]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"class_weight": "even"}, "recipe 'mlp': class_weight must be one of 'balanced', got 'even'"),
        ({"class_weight": [1.0]}, "recipe 'mlp': class_weight must be a word or none, got [1.0]"),
        (
            {"class_weight": "balanced", "loss": "cross_entropy"},
            "recipe 'mlp': class_weight is of a classification with the loss softmax_cross_entropy, got a "
            "classification, loss cross_entropy; leave it out",
        ),
        (
            {"class_weight": "balanced", "task": "regression"},
            "recipe 'mlp': class_weight is of a classification with the loss softmax_cross_entropy, got a "
            "regression, loss mse; leave it out",
        ),
        ({"top_k": 0}, "recipe 'mlp': top_k must be an integer of at least 1, got 0"),
        ({"top_k": 2, "task": "regression"}, "recipe 'mlp': top_k is of classes, got a regression; leave it out"),
    ],
)
def test_what_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as error:
        find("mlp").changed(settings)
    assert str(error.value) == message
