"""What a module holds: it does not stand in the way of a layer's own attributes; copies and shared layers have what
they need.
"""

import copy
import pickle  # noqa: TID251 - a user may
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from jaxtyping import Float
from numpy.testing import assert_array_equal

from typednn import Array2, Gradient, Kept, Layer
from typednn.layer import S
from typednn.layers import Linear, LinearGrad, ReLU, Tanh
from typednn.optim import SGD


@dataclass(frozen=True)
class OwnNamesGrad(Gradient):
    input: Float[Array2, "batch 3"]
    inner: LinearGrad


class OwnNames(Layer[Array2, Array2, OwnNamesGrad, S]):
    """Attributes with the names that a library might choose for itself."""

    _kept: Kept[Float[Array2, "batch 3"]]

    def __init__(self) -> None:
        self._cells, self._absent, self._name, self._record, self._token = 3, "absent", "own", [0], None
        self._arguments, self._kinds, self._placement, self._initialisers = (1, 2), {"a": 1}, "here", {1}
        self.name, self.state, self.storage, self.calls, self.cells, self.kept, self.record = "abcdefg"
        self.inner = Linear(3, 2)

    def forward(self, x: Float[Array2, "batch 3"]) -> Float[Array2, "batch 2"]:
        self._kept = x
        self._record[0] += 1
        return self.inner.forward(x)

    def backward(self, next_grad: Float[Array2, "batch 2"]) -> OwnNamesGrad:
        assert self._kept.shape[1] == self._cells
        inner = self.inner.backward(next_grad)
        return OwnNamesGrad(inner.input, inner)


X = np.ones((4, 3), np.float32)


def ready() -> Any:
    return OwnNames().named("first").init(np.random.default_rng(0))


def test_a_layer_has_every_name_to_itself() -> None:
    model = ready()
    (model >> ReLU()).forward(X)
    grad = model.backward(model.forward(X))
    model.update(SGD(lr=0.1), grad)
    assert model._record == [2]
    assert (model._name, model.name, model._cells, model._kinds) == ("own", "a", 3, {"a": 1})
    assert list(model.state_dict()) == ["inner.weight", "inner.bias"]
    assert list((model >> ReLU()).state_dict()) == ["first.inner.weight", "first.inner.bias"]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_has_arrays_of_its_own_and_what_forward_kept(copied: Callable[[Any], Any]) -> None:
    model = ready()
    y = model.forward(X)
    twin = copied(model)
    assert repr(twin) == repr(model)
    assert_array_equal(twin.backward(y).inner.weight, model.backward(y).inner.weight)
    model.free_cache()
    model.inner.weight[...] = 0
    assert twin.backward(y).inner.weight.any()
    assert twin.inner.weight.all()


def test_a_shared_layer_has_the_arrays_and_its_own_name_and_calls() -> None:
    model = ready()
    y = model.forward(X)
    twin = model.shared().named("second")
    assert twin.inner.weight is model.inner.weight
    assert list((model >> ReLU()).state_dict()) == ["first.inner.weight", "first.inner.bias"]
    assert list((twin >> ReLU()).state_dict()) == ["second.inner.weight", "second.inner.bias"]
    twin.forward(2 * X)
    assert_array_equal(model._kept, X)
    assert_array_equal(model.backward(y).inner.bias, y.sum(axis=0))
    twin.astype(np.float64)
    assert model.inner.weight.dtype == np.float64


def test_a_shallow_copy_has_the_arrays_and_calls_of_its_own() -> None:
    """And a name of its own; the layer itself is as it was: it may be tied, and goes backward from what it kept."""
    layer = Linear(3, 2, rng=np.random.default_rng(0)).named("a")
    x, dy = np.ones((4, 3), np.float32), np.ones((4, 2), np.float32)
    layer.forward(x)
    twin = copy.copy(layer).named("b")
    assert twin.weight is layer.weight
    assert_array_equal(twin.backward(dy).weight, layer.backward(dy).weight)
    twin.free_cache()
    assert layer.backward(dy).weight.shape == (2, 3)
    model = layer >> Linear(2, 3, rng=np.random.default_rng(1)) >> twin
    assert model.names == ("a", "1", "b")
    model.forward(x)
    expected = model.named_gradients(model.backward(dy))["a.weight"]
    second = copy.copy(model)
    second.forward(2 * x)
    assert_array_equal(model.named_gradients(model.backward(dy))["a.weight"], expected)
    copy.copy(model).eval()
    assert model["a"].training
    copy.copy(layer)
    layer.tie(Linear(3, 2, rng=np.random.default_rng(2)), weight="weight")


@dataclass(frozen=True)
class ClashingGrad(Gradient):
    input: Float[Array2, "batch 3"]
    inner: Any


class Clashing(Layer[Array2, Array2, ClashingGrad, S]):
    """Attributes with the names that a module's class uses."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.learnt, self.foreign = inner, Tanh(), Tanh()
        self.updates_by_hand = self.gradient_prefix = "none of typednn's"  # type: ignore[misc, assignment]

    def forward(self, x: Float[Array2, "batch 3"]) -> Float[Array2, "batch 3"]:
        y: Array2 = self.inner.forward(x)
        return y

    def backward(self, next_grad: Float[Array2, "batch 3"]) -> ClashingGrad:
        inner = self.inner.backward(next_grad)
        return ClashingGrad(inner.input, inner)


def test_attributes_do_not_hide_what_the_class_says() -> None:
    layer = Clashing(Linear(3, 3, rng=np.random.default_rng(0)))
    layer.forward(np.ones((2, 3), np.float32))
    grad = layer.backward(np.ones((2, 3), np.float32))
    assert (
        list(layer.named_parameters())
        == list(layer.named_gradients(grad))
        == list(layer.state_dict())
        == ["inner.weight", "inner.bias"]
    )
    before = layer.inner.bias.copy()
    layer.update(SGD(0.5), grad)
    assert_array_equal(layer.inner.bias, before - 0.5 * grad.inner.bias)
    assert layer.takes_update
    assert not Clashing(Tanh()).takes_update
