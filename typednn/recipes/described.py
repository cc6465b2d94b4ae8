"""Models as scikit-learn's estimators get them: sizes of hidden layers, a config's text, a function, or a model."""

import copy
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from typednn.arguments import integer
from typednn.config import loads
from typednn.errors import ArgumentError, explain
from typednn.layer import Input, Layer
from typednn.layers import Linear, ReLU
from typednn.module.foreign import adopted
from typednn.module.stack import Stack
from typednn.optim import GradientOptimizer
from typednn.recipes.running import computed

AnyModel: TypeAlias = Layer[Any, Any, Any, Any]
Described: TypeAlias = "str | Sequence[int] | AnyModel | Callable[[int, int], AnyModel]"


def built(where: str, described: Described, features: int, outputs: int) -> tuple[AnyModel, GradientOptimizer | None]:
    """A model that reads samples, and the optimizer of its config, if it has one."""
    given: Any = described
    model: Any
    optimizer = None
    if isinstance(described, str):
        config = loads(described, "model")
        model, optimizer = config.built(), config.optimizer()
    elif isinstance(described, tuple | list):
        model = _perceptron(where, features, given, outputs)
    else:
        model = adopted(
            given(features, outputs) if callable(given) and not hasattr(given, "forward") else copy.deepcopy(given)
        )
    made: object = model
    if isinstance(made, Stack):
        model, _ = computed(model)
    elif not isinstance(made, Layer):
        rule = "model is sizes of hidden layers, a config's text, a function that gives a model, or a model"
        raise ArgumentError(explain(where, rule, repr(given)[:200], "such as (100,)"), "model")
    return model, optimizer


def _perceptron(where: str, features: int, hidden: Sequence[int], outputs: int) -> Any:
    """``hidden`` layers, each with a ReLU, and one that gives the outputs."""
    model: Any = Input(features)
    for size in hidden:
        model = model >> Linear(features, integer(where, "a size in model", size)) >> ReLU()
        features = size
    return model >> Linear(features, outputs)


def sample_of(model: Any) -> tuple[int, ...] | None:
    """The shape of one sample, where the model declares it."""
    sample: object = getattr(model, "sample", None)
    return sample.sizes if isinstance(sample, Input) else None
