"""The laws themselves can fail: each is broken by a layer, loss or optimizer with one fault, and says which it is."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from jaxtyping import Float

from typednn import Array1, Array2, Gradient, Kept, Layer, Loss, Module, Parameter, S, testing
from typednn.config.registry import LAYERS
from typednn.errors import ArgumentError, MissingExtra
from typednn.graph import AnyTensor
from typednn.layers import RNN, Linear
from typednn.optim import SGD
from typednn.testing import LAYER_LAWS, LOSS_LAWS, OPTIMIZER_LAWS, LawBroken, check_layer, check_loss, check_optimizer


@dataclass(frozen=True, slots=True)
class ScaleGrad(Gradient):
    input: Float[Array2, "batch features"]
    weight: Float[Array1, " features"]
    bias: Float[Array1, " features"]


class Scale(Layer[Array2, Array2, ScaleGrad, S]):
    """y = x·weight + bias, as it should be."""

    weight: Parameter[Float[Array1, " {self.features}"]]
    bias: Parameter[Float[Array1, " {self.features}"]]
    _x: Kept[Float[Array2, "batch {self.features}"]]

    def __init__(self, features: int) -> None:
        self.features = features
        self.initialise_with(weight="ones", bias="zeros")

    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.features}"]:
        self._x = x
        return x * self.weight + self.bias

    def backward(self, next_grad: Float[Array2, "batch {self.features}"]) -> ScaleGrad:
        return ScaleGrad(next_grad * self.weight, (next_grad * self._x).sum(axis=0), next_grad.sum(axis=0))


# called by way of super() it would be a second forward
plain: Any = Scale.forward.__wrapped__  # type: ignore[attr-defined]


class FactorForgotten(Scale):
    """Right while weight is 1, as `init` leaves it."""

    def backward(self, next_grad: Float[Array2, "batch {self.features}"]) -> ScaleGrad:
        return ScaleGrad(next_grad * 1.0, (next_grad * self._x).sum(axis=0), next_grad.sum(axis=0))


class OffByAThousandth(Scale):
    def backward(self, next_grad: Float[Array2, "batch {self.features}"]) -> ScaleGrad:
        return ScaleGrad(next_grad * self.weight, (next_grad * self._x).sum(axis=0), next_grad.sum(axis=0) * 1.001)


class NotTheSameTwice(Scale):
    def backward(self, next_grad: Float[Array2, "batch {self.features}"]) -> ScaleGrad:
        self._x = self._x * 2.0
        return super().backward(next_grad)


class WritesNextGrad(Scale):
    def backward(self, next_grad: Float[Array2, "batch {self.features}"]) -> ScaleGrad:
        next_grad *= self.weight
        return ScaleGrad(
            next_grad, (next_grad / self.weight * self._x).sum(axis=0), (next_grad / self.weight).sum(axis=0)
        )


class WritesItsInput(Scale):
    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.features}"]:
        self._x = x.copy()
        x *= self.weight
        return x + self.bias


class WritesItsWeights(Scale):
    def backward(self, next_grad: Float[Array2, "batch {self.features}"]) -> ScaleGrad:
        gradient = super().backward(next_grad)
        self.weight[...] = self.weight - 0.1 * gradient.weight
        return gradient


class BatchLost(Scale):
    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "rows {self.features}"]:
        self._x = x
        return (x * self.weight + self.bias)[:1]


class BatchLostBackwards(Scale):
    def backward(self, next_grad: Float[Array2, "batch {self.features}"]) -> ScaleGrad:
        gradient = super().backward(next_grad)
        return ScaleGrad(gradient.input[:1], gradient.weight, gradient.bias)


class Doubles(Scale):
    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.features}"]:
        self._x = x
        return (x * self.weight + self.bias).astype(np.float64)


class UnsavedCount(Scale):
    """What it has become is in no field."""

    def __init__(self, features: int) -> None:
        super().__init__(features)
        self.forwards = 0

    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.features}"]:
        self.forwards += self.training
        return plain(self, x) * float(self.forwards)


class ForgetsToLoad(Scale):
    def load_state_dict(self, state: Any) -> None:
        if isinstance(state, dict):
            state = state | {"bias": np.zeros(self.features, np.float32)}
        super().load_state_dict(state)


class KeepsInEval(Scale):
    def __init__(self, features: int) -> None:
        super().__init__(features)
        self.seen: list[Any] = []

    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.features}"]:
        self.seen[:] = [x]
        return plain(self, x)


class CountsInEval(Scale):
    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.features}"]:
        self.calls = object()
        return plain(self, x)


class MovesInEval(Scale):
    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.features}"]:
        self.bias[...] += 1.0
        return plain(self, x)


class SkipsAnUpdate(Scale):
    def update(self, optimizer: Any, grad: ScaleGrad) -> None:
        optimizer.step(self.weight, grad.weight)


class UpdatesBackwards(Scale):
    def update(self, optimizer: Any, grad: ScaleGrad) -> None:
        optimizer.step(self.bias, grad.bias)
        optimizer.step(self.weight, grad.weight)


class UpdatesTwice(Scale):
    def update(self, optimizer: Any, grad: ScaleGrad) -> None:
        super().update(optimizer, grad)
        optimizer.step(self.bias, grad.bias)


class SwapsDerivatives(Scale):
    def update(self, optimizer: Any, grad: ScaleGrad) -> None:
        optimizer.step(self.weight, grad.bias)
        optimizer.step(self.bias, grad.weight)


class EscapesTheChecks(Scale):
    """A method that is put in afterwards is not enforced."""


def _unchecked(self: Any, optimizer: Any, grad: Any) -> None:
    for name in ("weight", "bias"):
        optimizer.step(getattr(self, name), np.resize(getattr(grad, name), getattr(self, name).shape))


EscapesTheChecks.update = _unchecked  # type: ignore[assignment, method-assign]


class FeelsTheChecks(Scale):
    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.features}"]:
        from typednn import get_checks

        return plain(self, x) * (2.0 if get_checks() == "off" else 1.0)


class TellsAnotherSize(Scale):
    def flow_after(self, flow: Any) -> Any:
        return flow.through("TellsAnotherSize", "batch features", "batch features+1")


class LosesAnArgument(Scale):
    def __init__(self, features: int, factor: float = 1.0) -> None:
        super().__init__(features)
        self.factor = factor

    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.features}"]:
        self._x = x * self.factor
        return plain(self, x * self.factor)


def _changed_afterwards() -> LosesAnArgument:
    layer = LosesAnArgument(3)
    layer.factor = 2.0  # the constructor was not told
    return layer


WRONG: list[tuple[Module, str, str]] = [
    (FactorForgotten(3), "derivatives", "the derivative by 'input' at"),
    (OffByAThousandth(3), "derivatives", "the derivative by 'bias' at"),
    (NotTheSameTwice(3), "purity", "backward gives the same twice, got another weight"),
    (WritesNextGrad(3), "purity", "neither inputs, nor parameters, nor next_grad are written"),
    (WritesItsInput(3), "purity", "neither inputs, nor parameters, nor next_grad are written"),
    (WritesItsWeights(3), "purity", "neither inputs, nor parameters, nor next_grad are written"),
    (BatchLost(3), "batch", "6 rows in give 6 rows out, got an output of shape (1, 3)"),
    (BatchLostBackwards(3), "batch", "the derivative by 'input' has its shape (6, 3), got (1, 3)"),
    (Doubles(3), "precision", "the result must stay float32, got float64"),
    (UnsavedCount(3), "state", "an instance that was loaded by name computes the same, got another"),
    (ForgetsToLoad(3), "state", "load_state_dict by name brings every array, got another bias"),
    (KeepsInEval(3), "eval", "forward in eval keeps nothing, got a reference to an input"),
    (CountsInEval(3), "eval", "forward in eval writes no attribute"),
    (MovesInEval(3), "eval", "forward in eval changes no parameter and no buffer, got another bias"),
    (SkipsAnUpdate(3), "update", "update steps weight, bias, got weight"),
    (UpdatesBackwards(3), "update", "update steps weight, bias, got bias, weight"),
    (OffByAThousandth(3), "formula", "the derivative by 'bias' is the formula's, to 1e-06, got a difference of"),
    (UpdatesTwice(3), "update", "update steps weight, bias, got weight, bias, bias"),
    (SwapsDerivatives(3), "update", "'weight' is stepped with its own derivative, got another array"),
    (EscapesTheChecks(3), "refusals", "update: a gradient of wrong rank is refused, got no error"),
    (FeelsTheChecks(3), "modes", "checks 'off' and 'full' compute the same, got another 0.0"),
    (TellsAnotherSize(3), "trace", "the output has the sizes that its annotation tells, (4,), got (3,)"),
    (_changed_afterwards(), "config", "the layer from the config gives the same output, got another"),
]


@pytest.mark.parametrize(
    ("layer", "law", "message"), WRONG, ids=lambda value: type(value).__name__ if isinstance(value, Module) else ""
)
def test_a_wrong_layer_breaks_the_law(layer: Module, law: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAYERS, "LosesAnArgument", LosesAnArgument)
    with pytest.raises(LawBroken, match=rf"{type(layer).__name__}\(.*law '{law}'.*{re.escape(message)}"):
        check_layer(layer, (5, 3), laws=[law], formula=scaled)


def scaled(x: AnyTensor, weight: AnyTensor, bias: AnyTensor) -> AnyTensor:
    """What Scale computes."""
    return x * weight + bias


def test_formulas_that_are_not_the_layers() -> None:
    """The formula is what may be wrong, too; and the law needs one."""
    for formula, message in [
        (lambda x, weight, bias: x * weight, "the output is the formula's, to 1e-06, got a difference of"),
        (lambda x, weight, bias: x * weight + bias * 1.001, "the output is the formula's"),
        (lambda x, weight, bias: (x * weight).sum(), r"a tensor of the output's shape (5, 3), got ()"),
        (lambda x, weight, bias: 3.0, r"a tensor of the output's shape (5, 3), got float"),
    ]:
        with pytest.raises(LawBroken, match=re.escape(message)):
            check_layer(Scale(3), (5, 3), laws=["formula"], formula=formula)
    with pytest.raises(ArgumentError, match="the law 'formula' needs a formula, got none; pass formula="):
        check_layer(Scale(3), (5, 3), laws=["formula"])


def test_the_right_layer_keeps_them_all() -> None:
    check_layer(Scale(3), examples=3, formula=scaled)
    check_layer(lambda: Scale(3), (5, 3))


def test_a_drawn_example_tells_how_to_repeat_it() -> None:
    with pytest.raises(LawBroken) as caught:
        check_layer(OffByAThousandth(3), examples=3)
    repeat = re.search(
        r"repeat it with check_layer\(OffByAThousandth\(3\), \((\d+), 3\), seed=(\d+), laws=\['derivatives'\]\)",
        str(caught.value),
    )
    assert repeat
    with pytest.raises(LawBroken) as again:
        check_layer(OffByAThousandth(3), (int(repeat[1]), 3), seed=int(repeat[2]), laws=["derivatives"])
    assert str(again.value) == str(caught.value)


def test_each_law_is_broken_by_one() -> None:
    assert {law for _, law, _ in WRONG} == set(LAYER_LAWS)


# ------------------------------------------------------------------ losses


class Squares(Loss[Array2, Array2]):
    def loss(self, prediction: Float[Array2, "batch features"], target: Float[Array2, "batch features"]) -> float:
        return float(((prediction - target) ** 2).sum())

    def loss_grad(
        self, prediction: Float[Array2, "batch features"], target: Float[Array2, "batch features"]
    ) -> Float[Array2, "batch features"]:
        return 2.0 * (prediction - target)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Halved(Squares):
    def loss_grad(
        self, prediction: Float[Array2, "batch features"], target: Float[Array2, "batch features"]
    ) -> Float[Array2, "batch features"]:
        return prediction - target


class Averaged(Squares):
    def loss_grad(
        self, prediction: Float[Array2, "batch features"], target: Float[Array2, "batch features"]
    ) -> Float[Array2, "one features"]:
        return 2.0 * (prediction - target).mean(axis=0, keepdims=True)


class WritesThePrediction(Squares):
    def loss_grad(
        self, prediction: Float[Array2, "batch features"], target: Float[Array2, "batch features"]
    ) -> Float[Array2, "batch features"]:
        prediction -= target
        return 2.0 * prediction


class Unheld(Squares):
    """Takes whatever comes."""

    def loss_grad(
        self, prediction: Float[Array2, "batch features"], target: Float[Array2, "batch features"]
    ) -> Float[Array2, "any_batch any_features"]:
        return 2.0 * (prediction - target)


Unheld.loss_grad.__typednn_contract__.hints  # noqa: B018  # enforced like the others
_contract = Unheld.loss_grad.__typednn_contract__  # type: ignore[attr-defined]
Unheld.loss_grad = Unheld.loss_grad.__wrapped__  # type: ignore[attr-defined, method-assign]
Unheld.loss_grad.__typednn_contract__ = _contract  # type: ignore[attr-defined]


class FeelsChecks(Squares):
    def loss_grad(
        self, prediction: Float[Array2, "batch features"], target: Float[Array2, "batch features"]
    ) -> Float[Array2, "batch features"]:
        from typednn import get_checks

        return (3.0 if get_checks() == "off" else 2.0) * (prediction - target)


class Doubles(Squares):
    def loss_and_grad(
        self, prediction: Float[Array2, "batch features"], target: Float[Array2, "batch features"]
    ) -> tuple[float, Float[Array2, "batch features"]]:
        return self.loss(prediction, target), 4.0 * (prediction - target)


WRONG_LOSSES: list[tuple[Any, str, str]] = [
    (Halved(), "derivatives", "the derivative by 'prediction' at"),
    (Averaged(), "shape", "loss_grad gives float32 of shape (5, 3), got float32 of shape (1, 3)"),
    (WritesThePrediction(), "purity", "are written"),
    (Doubles(), "together", "loss_and_grad gives what both give"),
    (Unheld(), "refusals", "loss_grad: prediction of wrong rank is refused"),
    (FeelsChecks(), "modes", "checks 'off' and 'full' compute the same"),
]


@pytest.mark.parametrize(
    ("loss", "law", "message"), WRONG_LOSSES, ids=lambda value: repr(value) if isinstance(value, Squares) else ""
)
def test_a_wrong_loss_breaks_the_law(loss: Any, law: str, message: str) -> None:
    with pytest.raises(LawBroken, match=rf"{type(loss).__name__}\(\), law '{law}'.*{re.escape(message)}"):
        check_loss(loss, (5, 3), (5, 3), laws=[law])
    assert {law for _, law, _ in WRONG_LOSSES} == set(LOSS_LAWS)


def test_the_right_loss_keeps_them_all() -> None:
    check_loss(Squares())


# ------------------------------------------------------------------ optimizers


class Steps:
    def step(self, weights: Any, grad: Any) -> None:
        weights -= 0.1 * grad


class Elsewhere(Steps):
    def step(self, weights: Any, grad: Any) -> None:
        weights = weights - 0.1 * grad


class WritesTheGradient(Steps):
    def step(self, weights: Any, grad: Any) -> None:
        grad *= 0.1
        weights -= grad


class Random(Steps):
    def step(self, weights: Any, grad: Any) -> None:
        weights -= np.random.default_rng().random() * grad


class OneMemory(Steps):
    count = 0

    def step(self, weights: Any, grad: Any) -> None:
        self.count += 1
        weights -= 0.1 / self.count * grad


class SkipsTheFirst(Steps):
    def step_many(self, pairs: Any) -> None:
        for weights, grad in pairs[1:]:
            self.step(weights, grad)


class Uphill(Steps):
    def step(self, weights: Any, grad: Any) -> None:
        weights += 0.1 * grad


class ForgetsMomentum(SGD):
    def load_state_dict(self, state: Any) -> None:
        super().load_state_dict(state)
        for parameter in self._named.values():
            parameter.arrays = {key: value * 0 for key, value in parameter.arrays.items()}


WRONG_OPTIMIZERS: list[tuple[Any, str, str]] = [
    (Elsewhere(), "in place", "step writes the weights in place, got weights that did not change"),
    (WritesTheGradient(), "gradient", "are written"),
    (Random(), "repeatable", "two copies that take the same steps end alike"),
    (OneMemory(), "separate", "a parameter's steps depend on that parameter alone"),
    (SkipsTheFirst(), "together", "step_many steps each pair as step does, got another 0"),
    (Uphill(), "descends", "a hundred steps on"),
    (ForgetsMomentum(0.1, momentum=0.9), "state", "an optimizer whose state was loaded goes on to the same weights"),
]


@pytest.mark.parametrize(("optimizer", "law", "message"), WRONG_OPTIMIZERS)
def test_a_wrong_optimizer_breaks_the_law(optimizer: Any, law: str, message: str) -> None:
    with pytest.raises(LawBroken, match=rf"{type(optimizer).__name__}, law '{law}'.*{re.escape(message)}"):
        check_optimizer(optimizer, laws=[law])
    assert {law for _, law, _ in WRONG_OPTIMIZERS} == set(OPTIMIZER_LAWS)


def test_the_right_optimizer_keeps_them_all() -> None:
    check_optimizer(Steps())


# ------------------------------------------------------------------ what is asked of the caller


def test_bad_arguments_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArgumentError, match=r"typednn.testing: laws are derivatives, .*, got 'speed'"):
        check_layer(Linear(3, 2), (5, 3), laws=["speed"])
    with pytest.raises(ArgumentError, match=r"check_layer: takes a layer or a function that builds one, got int"):
        check_layer(lambda: 3)  # type: ignore[arg-type, return-value]
    with pytest.raises(ArgumentError, match=r"Linear\(3, 2\) takes 1 inputs, got 2"):
        check_layer(Linear(3, 2), (5, 3), (5, 3))
    with pytest.raises(
        ArgumentError, match="check_layer: sizes must be found that fit, got none among 1 to 7; give the inputs' shapes"
    ):
        check_layer(_Wants())
    with pytest.raises(ArgumentError, match="check_loss: takes a loss with loss and an enforced loss_grad"):
        check_loss(3)
    with pytest.raises(ArgumentError, match="check_optimizer: takes an optimizer, with a step"):
        check_optimizer(SGD)
    with pytest.raises(ArgumentError, match="takes an optimizer"):
        check_optimizer(RNN(2, 2))
    monkeypatch.setitem(__import__("sys").modules, "hypothesis", None)
    with pytest.raises(
        MissingExtra, match=r"needs the package hypothesis, .*pip install 'typednn\[testing\]', or give the inputs"
    ):
        check_layer(Linear(3, 2))
    check_layer(Linear(3, 2), (5, 3), laws=["update"])


class _Wants(Scale):
    """No size is right for it."""

    def __init__(self) -> None:
        super().__init__(11)

    def flow_after(self, flow: Any) -> Any:
        return flow.through("Wants", "batch 12", "batch 12")


test_one_line = testing.layer_test(Scale(3), (5, 3))
test_one_line_of_a_loss = testing.loss_test(Squares(), (5, 3), (5, 3))
test_one_line_of_an_optimizer = testing.optimizer_test(Steps())


def test_one_line_fails_where_it_must() -> None:
    with pytest.raises(LawBroken, match="OffByAThousandth"):
        testing.layer_test(OffByAThousandth(3))()
    with pytest.raises(LawBroken, match="Halved"):
        testing.loss_test(Halved())()
    with pytest.raises(LawBroken, match="Uphill"):
        testing.optimizer_test(Uphill())()
