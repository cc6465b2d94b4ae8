"""Objects that derive from nothing, between layers and in fit: accepted, and enforced where they are consumed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from jaxtyping import Float

from typednn import (
    Array1,
    Array2,
    Buffer,
    Chain,
    DynLayer,
    Gradient,
    Input,
    Optimizer,
    Parameter,
    Sequential,
    checking,
    gradcheck,
)
from typednn.data import Loader
from typednn.errors import (
    ArgumentError,
    CheckError,
    DefinitionError,
    DTypeError,
    ShapeError,
    StackError,
    StateDictError,
    TypednnError,
)
from typednn.layers import Linear, PReLU, ReLU
from typednn.losses import MSE
from typednn.module.foreign import Foreign
from typednn.optim import SGD
from typednn.runs import Run
from typednn.testing.gradcheck import GradcheckError
from typednn.training import fit


def array(*shape: int, dtype: Any = np.float32) -> Any:
    return np.ones(shape, dtype)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(params=["full", "cached"])
def mode(request: pytest.FixtureRequest) -> Any:
    with checking(request.param):
        yield request.param


@dataclass(frozen=True)
class TimesGrad:
    input: Any
    factor: Any


class Times:
    """Derives from nothing: every number times one factor, which it learns."""

    def __init__(self, broken: str = "") -> None:
        self.factor = np.full(1, 2.0, np.float32)
        self.broken = broken
        self.steps = 0

    def forward(self, numbers: Any) -> Any:
        self.numbers = numbers
        broken = {"text": "y", "batch": numbers[:1], "dtype": numbers.astype(np.float64), "list": numbers.tolist()}
        return broken.get(self.broken, numbers * self.factor)

    def backward(self, dy: Any) -> Any:
        good = TimesGrad(dy * self.factor, (dy * self.numbers).sum(keepdims=True).reshape(1))
        broken = {"gradient": dy, "none": TimesGrad(None, good.factor), "shape": TimesGrad(good.input[:1], good.factor)}
        return broken.get(self.broken, good)

    def update(self, optimizer: Any, grad: Any) -> None:
        self.steps += 1
        optimizer.step(self.factor, grad.factor)


Plain = Times


class Keeper(Times):
    """One that answers everything that a model can be asked."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def num_parameters(self) -> int:
        return 1

    def named_parameters(self) -> dict[str, Any]:
        return {"factor": self.factor}

    def state_dict(self) -> dict[str, Any]:
        return {"factor": self.factor}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if set(state) != {"factor"}:
            raise KeyError(str(sorted(state)))
        self.factor[...] = state["factor"]

    def init(self, generator: Any) -> None:
        self.factor[...] = 1.0

    def to(self, device: str) -> None:
        self.told.append(device)

    def astype(self, dtype: Any) -> None:
        self.factor = self.factor.astype(dtype)

    def train(self) -> None:
        self.told.append("train")

    def eval(self) -> None:
        self.told.append("eval")

    def free_cache(self) -> None:
        self.told.append("free_cache")

    def shared(self) -> "Keeper":
        twin = Keeper()
        twin.factor = self.factor
        return twin


def between(foreign: Any) -> Any:
    return Input(4) >> Linear(4, 3, rng=rng()) >> foreign >> ReLU() >> Linear(3, 2, rng=rng())


# ------------------------------------------------------------------ stacked


def test_one_operand_is_typednns() -> None:
    x = array(5, 4)
    for model in (
        Linear(4, 3, rng=rng()) >> Times() >> ReLU(),
        Times() >> Linear(4, 3, rng=rng()),
        Times() >> (Linear(4, 3, rng=rng()) >> ReLU()),
        Times() >> ReLU(),
        ReLU() >> Times(),
        ReLU() >> PReLU(rng=rng()) >> Times(),
        Input(4) >> Times(),
        Input(4) >> Times() >> Linear(4, 3, rng=rng()),
        Sequential([Linear(4, 3, rng=rng()), Times()]),
        Sequential({"first": Linear(4, 3, rng=rng()), "second": Times()}),
    ):
        y = model.forward(x)
        gradient = model.backward(np.ones_like(y))
        assert gradient.input.shape == (5, 4)
        assert len(gradient.parts) == len(model)
    assert isinstance(Times() >> ReLU(), Chain)
    assert Sequential({"a": Linear(4, 3), "b": Times()}).names == ("a", "b")


def test_its_numbers_are_those_of_the_formula() -> None:
    """dx = dy·factor, dfactor = Σ dy·x, through a chain, in float64."""
    generator = rng()
    first, last = Linear(4, 3, rng=generator).astype(np.float64), Linear(3, 2, rng=generator).astype(np.float64)
    times = Times()
    times.factor = times.factor.astype(np.float64)
    model = first >> times >> last
    x, dy = generator.standard_normal((5, 4)), generator.standard_normal((5, 2))
    model.forward(x)
    gradient = model.backward(dy)
    hidden = x @ first.weight.T + first.bias
    np.testing.assert_allclose(gradient.parts[1].factor, [((dy @ last.weight) * hidden).sum()], rtol=1e-12)
    np.testing.assert_allclose(gradient.input, 2.0 * (dy @ last.weight) @ first.weight, rtol=1e-12)


def test_what_cannot_be_a_part_is_named() -> None:
    class Half:
        def forward(self, x: Any) -> Any:
            return x

    times = Times()
    for attempt, words in (
        (lambda: Linear(4, 3) >> Half(), "a stack is made of layers, got Half, which has no backward and no update"),
        (lambda: Half() >> Linear(4, 3), "a stack is made of layers, got Half, which has no backward and no update"),
        (lambda: Linear(4, 3) >> Times, "a stack is made of layers, got the class Times; call it"),
        (lambda: Linear(4, 3) >> 3, "a stack is made of layers, got int"),
        (lambda: Linear(4, 3) >> times >> ReLU() >> times, "Times stands twice in one stack"),
    ):
        with pytest.raises(StackError) as caught:
            attempt()  # type: ignore[no-untyped-call]
        assert str(caught.value).startswith(words)


def test_sizes_are_followed_through_its_annotations() -> None:
    class Wider:
        def __init__(self, features: int) -> None:
            self.features = features

        def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch 2*{self.features}"]:
            return np.concatenate([x, x], axis=1)

        def backward(self, next_grad: Any) -> Any:
            return TimesGrad(next_grad[:, : self.features] + next_grad[:, self.features :], None)

        def update(self, optimizer: Any, grad: Any) -> None: ...

    model = Input(4) >> Wider(4) >> Linear(8, 2, rng=rng())
    assert model.backward(model.forward(array(3, 4))).input.shape == (3, 4)
    with pytest.raises(StackError, match=r"Linear\(9, 2\) cannot follow Wider: expects 9 features, gets 8"):
        Input(4) >> Wider(4) >> Linear(9, 2)
    with pytest.raises(StackError, match="Wider cannot follow Input"):
        Input(5) >> Wider(4)
    Input(4) >> Times() >> Linear(9, 2)  # says nothing of its sizes: settled by the first array


# ------------------------------------------------------------------ enforced


@pytest.mark.parametrize(
    ("broken", "error", "words"),
    [
        ("text", CheckError, "Times.forward: the result must be an array, got str"),
        ("list", CheckError, "Times.forward: the result must be an array, got list"),
        (
            "batch",
            ShapeError,
            'Times.forward: the result must be "batch \\*output", got shape \\(1, 3\\): axis 0 is 1, not 5',
        ),
        ("dtype", DTypeError, "Times.forward: the result must stay float32, got float64"),
    ],
)
@pytest.mark.parametrize("after", [False, True], ids=["at once", "after a call that fitted"])
def test_its_forward_is_enforced(mode: str, broken: str, error: Any, words: str, after: bool) -> None:
    times = Times()
    model = between(times)
    if after:
        model.forward(array(5, 4))
    times.broken = broken
    with pytest.raises(error, match=words) as caught:
        model.forward(array(5, 4))
    assert caught.value.path == "1"


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ("gradient", "Times.backward: the result must be InputGrad, got ndarray"),
        ("none", "Times.backward: gradient field 'input' must be an array, got NoneType"),
        ("shape", r"Times.backward: gradient field 'input' must be shaped as the input, \(5, 3\), got shape \(1, 3\)"),
    ],
)
@pytest.mark.parametrize("after", [False, True], ids=["at once", "after a call that fitted"])
def test_its_gradient_is_enforced(mode: str, broken: str, words: str, after: bool) -> None:
    times = Times()
    model = between(times)
    y = model.forward(array(5, 4))
    if after:
        model.backward(y)
    times.broken = broken
    with pytest.raises(CheckError, match=words):
        model.backward(y)


def test_its_own_update_is_called() -> None:
    times = Times()
    part = Foreign(times)
    part.forward(array(5, 4))
    part.update(SGD(0.5), part.backward(array(5, 4)))
    assert times.steps == 1
    np.testing.assert_array_equal(times.factor, np.full(1, 2.0 - 0.5 * 20, np.float32))
    with pytest.raises(CheckError, match="optimizer must be an Optimizer, got the class SGD"):
        part.update(SGD, part.backward(array(5, 4)))  # type: ignore[arg-type]


def test_its_own_update_is_called_in_a_chain() -> None:
    times = Times()
    model = between(times)
    model.update(SGD(0.5), model.backward(model.forward(array(5, 4))))
    assert times.steps == 1


# ------------------------------------------------------------------ what a model is asked for


@pytest.mark.parametrize(
    ("method", "asked"),
    [
        ("state_dict", lambda model: model.state_dict()),
        ("state_dict", lambda model: model.load_state_dict({})),
        ("num_parameters", lambda model: model.num_parameters()),
        ("named_parameters", lambda model: model.parameters()),
        ("named_parameters", lambda model: model.parameter_shapes()),
        ("to", lambda model: model.to("cpu")),
        ("astype", lambda model: model.astype(np.float64)),
        ("shared", lambda model: model.shared()),
        ("to", lambda model: gradcheck(model, array(5, 4))),
    ],
)
def test_a_missing_method_is_named_before_anything_changes(method: str, asked: Any) -> None:
    """An object that answers one question about its state answers the others too."""

    class Times(Plain):
        def load_state_dict(self, state: dict[str, Any]) -> None: ...

    Times.__qualname__ = "Times"
    model = between(Times())
    before = {name: getattr(part, name).copy() for part in (model[0], model[3]) for name in ("weight", "bias")}
    with pytest.raises(DefinitionError) as caught:
        asked(model)
    words = (
        f"Times: a model's {method} asks every part, got no method {method!r}; write Times.{method}, or derive "
        "Times from Layer"
    )
    assert str(caught.value) == words
    for part in (model[0], model[3]):
        assert part.dtype == np.float32
    np.testing.assert_array_equal(model[3].weight, before["weight"])


def test_what_it_has_is_used() -> None:
    keeper = Keeper()
    model = between(keeper)
    assert model.num_parameters() == 15 + 1 + 8
    assert list(model.state_dict()) == ["0.weight", "0.bias", "3.weight", "3.bias", "1.factor"]
    assert model.parameter_shapes()["1.factor"] == (1,)
    assert model.named_parameters()["1.factor"] is keeper.factor
    saved = {name: value.copy() for name, value in model.state_dict().items()}
    model.init(rng())
    assert keeper.factor == 1.0
    model.load_state_dict(saved)
    assert keeper.factor == 2.0
    np.testing.assert_array_equal(model[0].weight, saved["0.weight"])
    model.eval().train().free_cache()
    model.to("cpu")
    assert keeper.told == ["eval", "train", "free_cache", "cpu", "free_cache"]
    assert model.astype(np.float64).forward(array(5, 4, dtype=np.float64)).dtype == np.float64
    model.astype(np.float32)
    twin = model.shared()
    assert twin[1].inner is not keeper
    assert twin[1].inner.factor is keeper.factor


def test_loading_is_all_or_nothing() -> None:
    keeper, other = Keeper(), Keeper()
    model = Linear(4, 3, rng=rng()) >> keeper >> other
    saved = {name: value.copy() + 1 for name, value in model.state_dict().items()}
    before = {name: value.copy() for name, value in model.state_dict().items()}
    for change in ({"2.factor": None}, {"0.weight": None}, {"2.more": array(1)}):
        wrong = {name: value for name, value in (saved | change).items() if value is not None}
        with pytest.raises((TypednnError, KeyError)):
            model.load_state_dict(wrong)
        for name, value in model.state_dict().items():
            np.testing.assert_array_equal(value, before[name])
    model.load_state_dict(saved)
    assert keeper.factor == 3.0


def test_a_model_with_a_foreign_part_prints() -> None:
    assert str(between(Times())).splitlines()[2:] == [
        "  1  Times         factor (1,)                1",
        "  2  ReLU()",
        "  3  Linear(3, 2)  weight (2, 3), bias (2,)   8",
        "24 parameters",
    ]
    assert str(between(Keeper())).splitlines()[-1] == "24 parameters"

    class Silent(Times):
        def state_dict(self) -> dict[str, Any]:
            return {}

    assert str(between(Silent())).splitlines()[2].split() == ["1", "Silent", "?"]
    assert str(between(Silent())).splitlines()[-1] == "23 parameters, and those of 1 foreign part"
    assert str(Input(4) >> Silent() >> Silent()).splitlines()[-1] == "0 parameters, and those of 2 foreign parts"
    assert str(Input(4) >> Times()).splitlines()[-1] == "1 parameter"
    assert repr(between(Times())) == "Input(4) >> Linear(4, 3) >> Times >> ReLU() >> Linear(3, 2)"


def test_derivatives_that_nobody_would_find_are_refused() -> None:
    """A norm or a clipped gradient that left some out would be wrong without a word."""

    class Loose:
        def __init__(self, input: Any, factor: Any) -> None:
            self.input, self.factor = input, factor

    class Pair(NamedTuple):
        input: Any
        factor: Any

    for kind in (Loose, Pair):

        class Own(Times):
            def backward(self, dy: Any, kind: Any = kind) -> Any:
                gradient = super().backward(dy)
                return kind(gradient.input, gradient.factor)

        model = between(Own())
        gradient = model.backward(model.forward(array(5, 4)))
        with pytest.raises(
            ArgumentError, match=f"the derivatives of a part are the fields of a dataclass, got {kind.__qualname__}"
        ):
            gradient.norm()
    model = between(Times())
    gradient = model.backward(model.forward(array(5, 4)))
    assert "parts.1.factor" in gradient.leaves()


# ------------------------------------------------------------------ fit


def loader() -> Any:
    return Loader(array(8, 4), array(8, 4), batch_size=4, shuffle=False)


def test_fit_takes_whatever_has_the_three_methods() -> None:
    class Bare:
        """With a gradient that is no dataclass, and nothing else."""

        def __init__(self) -> None:
            self.inner = Times()

        def forward(self, x: Any) -> Any:
            return self.inner.forward(x)

        def backward(self, next_grad: Any) -> Any:
            return self.inner.backward(next_grad)

        def update(self, optimizer: Any, grad: Any) -> None:
            self.inner.update(optimizer, grad)

    bare = Bare()
    history = fit(bare, MSE(), SGD(0.1), loader(), epochs=5, progress=False)
    assert bare.inner.steps == 10
    assert len(history.epochs) == 5
    assert abs(float(bare.inner.factor[0]) - 1.0) < abs(2.0 - 1.0)
    keeper = Keeper()
    fit(keeper, MSE(), SGD(0.1), loader(), epochs=1, progress=False)
    assert keeper.told[0] == "train"
    assert keeper.told[-1] == "free_cache"


def test_fit_enforces_it_and_names_what_is_missing() -> None:
    with pytest.raises(CheckError, match=r'Times.forward: the result must be "batch \*output"'):
        fit(Times("batch"), MSE(), SGD(0.1), loader(), epochs=1, progress=False)
    with pytest.raises(
        ArgumentError, match="fit: a model has forward, backward and update, got object, which has no forward"
    ):
        fit(object(), MSE(), SGD(0.1), loader(), epochs=1, progress=False)  # type: ignore[arg-type]
    with pytest.raises(
        ArgumentError, match="fit: accumulate adds up gradients, got TimesGrad; derive it from Gradient"
    ):
        fit(Times(), MSE(), SGD(0.1), loader(), epochs=1, progress=False, accumulate=2)
    with pytest.raises(ArgumentError, match="clip_grad_norm: takes what backward gives, a Gradient, got TimesGrad"):
        fit(Times(), MSE(), SGD(0.1), loader(), epochs=1, progress=False, clip_grad_norm=1.0)


def test_fit_with_a_run_needs_what_saving_needs_before_the_first_step(tmp_path: Path) -> None:
    class Silent(Times):
        def num_parameters(self) -> int:
            return 1

    times = Silent()
    with (
        Run.create(tmp_path / "run", "") as run,
        pytest.raises(
            DefinitionError, match="Silent: a model's state_dict asks every part, got no method 'state_dict'"
        ),
    ):
        fit(times, MSE(), SGD(0.1), loader(), epochs=1, progress=False, run=run)
    assert times.steps == 0


# ------------------------------------------------------------------ arrays that are found in its fields


@dataclass(frozen=True)
class AnyGrad:
    """Of whatever fields: a gradient that derives from nothing."""

    input: Any
    factor: Any = None
    factors: Any = None
    linear: Any = None
    times: Any = None


class InLists(Times):
    """Its factors in a list, a tuple and a dict."""

    def __init__(self) -> None:
        super().__init__()
        del self.factor
        two = np.full(1, 2.0, np.float32)
        self.factors: Any = [two, (two + 1, {"last": two + 2})]

    def forward(self, numbers: Any) -> Any:
        self.numbers = numbers
        first, (second, last) = self.factors
        return numbers * (first + second * last["last"])

    def backward(self, dy: Any) -> Any:
        first, (second, last) = self.factors
        by = (dy * self.numbers).sum().reshape(1)
        return AnyGrad(dy * (first + second * last["last"]), factors=[by, (by * last["last"], {"last": by * second})])

    def update(self, optimizer: Any, grad: Any) -> None:
        optimizer.step(self.factors[0], grad.factors[0])
        optimizer.step(self.factors[1][0], grad.factors[1][0])
        optimizer.step(self.factors[1][1]["last"], grad.factors[1][1]["last"])


class OfParts(Times):
    """A layer of typednn in a private field, and another object."""

    def __init__(self) -> None:
        self._linear = Linear(3, 3, rng=rng())
        self.times = Times()

    def forward(self, numbers: Any) -> Any:
        return self.times.forward(self._linear.forward(numbers))

    def backward(self, dy: Any) -> Any:
        times = self.times.backward(dy)
        linear = self._linear.backward(times.input)
        return OfPartsGrad(linear.input, linear, times)

    def update(self, optimizer: Any, grad: Any) -> None:
        self._linear.update(optimizer, grad._linear)
        self.times.update(optimizer, grad.times)


@dataclass(frozen=True)
class OfPartsGrad:
    input: Any
    _linear: Any
    times: Any


class Declared(Times):
    """Says what is learnt and what is not; a plain array beside them is neither."""

    _factor: Parameter[Float[Array1, "1"]]
    shift: Buffer[Float[Array1, "1"]]

    def __init__(self) -> None:
        self._factor = np.full(1, 2.0, np.float32)
        self.shift = np.ones(1, np.float32)
        self.scratch = np.zeros(7)

    def forward(self, numbers: Any) -> Any:
        self.numbers = numbers
        return numbers * self._factor + self.shift

    def backward(self, dy: Any) -> Any:
        return DeclaredGrad(dy * self._factor, (dy * self.numbers).sum().reshape(1))

    def update(self, optimizer: Any, grad: Any) -> None:
        optimizer.step(self._factor, grad._factor)


@dataclass(frozen=True)
class DeclaredGrad:
    input: Any
    _factor: Any


@dataclass(frozen=True)
class SaidGrad(Gradient):
    input: Float[Array2, "batch features"]
    factor: Float[Array1, "1"]


class Said(DynLayer):
    """On the Protocol: its gradient's class names what is learnt, so the mask is not; the counter, integers, is not
    either.
    """

    def __init__(self) -> None:
        self.out_features = 3
        self.mask = np.array([1, 0, 1], np.float32)
        self.factor = np.full(1, 2.0, np.float32)
        self.count = np.zeros((), np.int64)

    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
        self.x = x
        return x * (self.mask * self.factor)

    def backward(self, next_grad: Float[Array2, "batch features"]) -> SaidGrad:
        return SaidGrad(next_grad * (self.mask * self.factor), (next_grad * self.x * self.mask).sum().reshape(1))

    def update(self, optimizer: Optimizer, grad: Any) -> None:
        self.count += 1
        optimizer.step(self.factor, grad.factor)


class Slots(Times):
    __slots__ = ("factor",)


class Pair(NamedTuple):
    first: Any
    second: Any


class Twice(Times):
    """Its array and its layer stand in several places."""

    def __init__(self) -> None:
        super().__init__()
        self.steady = np.full(1, 3.0, np.float32)
        self.params = [self.factor]
        self.pair = Pair(self.factor, 7)
        self.linear = Linear(3, 3, rng=rng())
        self.layers = {"linear": self.linear, "times": Times()}
        self.times = self.layers["times"]

    def forward(self, numbers: Any) -> Any:
        return super().forward(self.linear.forward(self.layers["times"].forward(numbers))) * self.steady

    def backward(self, dy: Any) -> "TwiceGrad":
        own = super().backward(dy * self.steady)
        linear = self.linear.backward(own.input)
        times = self.times.backward(linear.input)
        return TwiceGrad(times.input, [own.factor], linear, times)

    def update(self, optimizer: Any, grad: Any) -> None:
        optimizer.step(self.params[0], grad.params[0])
        self.linear.update(optimizer, grad.linear)
        self.times.update(optimizer, grad.times)


@dataclass(frozen=True)
class TwiceGrad:
    input: Any
    params: Any
    linear: Any
    times: Any


class Knows(Times):
    """A part that knows what it is a part of, and all other parts of it."""

    def __init__(self, parent: Any, parts: Any) -> None:
        super().__init__()
        self.parent, self.me, self.parts = parent, self, parts


class Family(Times):
    """Its parts refer back to it; a list contains itself."""

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self.around: list[Any] = [self.parts]
        self.around.append(self.around)
        self.times = Knows(self, self.around)
        self.parts += [self.times, Linear(3, 3, rng=rng())]

    def forward(self, numbers: Any) -> Any:
        return self.parts[1].forward(self.times.forward(numbers))

    def backward(self, dy: Any) -> Any:
        linear = self.parts[1].backward(dy)
        times = self.times.backward(linear.input)
        return FamilyGrad(times.input, [times, linear])

    def update(self, optimizer: Any, grad: Any) -> None:
        self.times.update(optimizer, grad.parts[0])
        self.parts[1].update(optimizer, grad.parts[1])


@dataclass(frozen=True)
class FamilyGrad:
    input: Any
    parts: Any


@pytest.mark.parametrize(
    ("kind", "learnt", "saved", "count"),
    [
        (Times, ["factor"], [], 1),
        (Slots, ["factor"], [], 1),
        (InLists, ["factors.0", "factors.1.0", "factors.1.1.last"], [], 3),
        (OfParts, ["times.factor", "_linear.weight", "_linear.bias"], [], 13),
        (Declared, ["_factor"], ["shift"], 1),
        (Said, ["factor"], ["mask", "count"], 1),
        (Twice, ["factor", "linear.weight", "linear.bias", "layers.times.factor"], ["steady"], 14),
        (Family, ["parts.0.factor", "parts.1.weight", "parts.1.bias"], [], 13),
    ],
)
def test_its_arrays_are_found(kind: Any, learnt: list[str], saved: list[str], count: int) -> None:
    """P-D1: counted, differentiated, stepped, saved, loaded, converted and moved, without a method for it."""
    model = between(kind())
    names = [f"1.{name}" for name in learnt]
    assert sorted(model.named_parameters()) == sorted(["0.weight", "0.bias", *names, "3.weight", "3.bias"])
    assert set(model.state_dict()) == {*model.named_parameters(), *(f"1.{name}" for name in saved)}
    assert model.num_parameters() == 15 + count + 8
    x = np.random.default_rng(3).standard_normal((5, 4), np.float32)
    assert {quantity.name for quantity in gradcheck(model, x).quantities} == {"input", *model.named_parameters()}
    before = {name: value.copy() for name, value in model.state_dict().items()}
    gradient = model.backward(model.forward(x))
    derivatives = model.named_gradients(gradient)
    assert list(derivatives) == list(model.named_parameters())
    derivatives = {name: value.copy() for name, value in derivatives.items()}
    model.update(SGD(0.5), gradient)
    after = {name: value.copy() for name, value in model.state_dict().items()}
    for name, derivative in derivatives.items():
        np.testing.assert_allclose(
            after[name], before[name] - np.float32(0.5) * derivative, rtol=1e-6, atol=1e-6, err_msg=name
        )
    twin = between(kind()).init(rng())
    twin.load_state_dict(after)
    np.testing.assert_array_equal(twin.forward(x), model.forward(x))
    model.init(rng())
    np.testing.assert_array_equal(model.state_dict()[next(iter(names))] == after[next(iter(names))], True)
    model.to("cpu").astype(np.float64)
    assert {array.dtype for array in model.parameters()} == {np.dtype(np.float64)}
    assert model.forward(x.astype(np.float64)).dtype == np.float64


def test_an_array_in_two_places_stays_one() -> None:
    """As converted, and as put back after an optimizer that replaced its memory."""
    twice = Twice()
    model = between(twice).astype(np.float64)
    model.forward(array(5, 4, dtype=np.float64))
    assert twice.factor is twice.params[0] is twice.pair.first
    assert (twice.factor.dtype, twice.pair.second) == (np.float64, 7)
    assert twice.layers["times"] is twice.times

    class Resizes:
        def step(self, weights: Any, grad: Any) -> None:
            if weights.size == 1:
                weights.resize((2, 2), refcheck=False)

    with pytest.raises(ShapeError, match=r"Resizes.step of "):
        model.update(Resizes(), model.backward(model.forward(array(5, 4, dtype=np.float64))))
    assert twice.factor is twice.params[0] is twice.pair.first
    assert twice.factor.shape == (1,)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"1.factor": None}, "missing 'factor'"),
        ({"1.more": array(1)}, "unexpected 'more'"),
        ({"1.factor": array(2)}, r"'factor' has shape \(2,\), the model \(1,\)"),
        ({"1.factor": array(1, dtype=np.float64)}, "'factor' is float64, the model float32"),
        ({"1.factor": "text"}, "'factor' is a str, not an array"),
    ],
)
def test_a_state_that_is_not_its_own_is_refused(change: dict[str, Any], words: str) -> None:
    model = between(Times())
    before = {name: value.copy() for name, value in model.state_dict().items()}
    wrong = {
        name: value
        for name, value in ({name: value + 1 for name, value in before.items()} | change).items()
        if value is not None
    }
    with pytest.raises(StateDictError, match=f"Times.load_state_dict: state must belong to this layer, got {words}"):
        model.load_state_dict(wrong)
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(value, before[name])


class Private(Times):
    def __init__(self) -> None:
        super().__init__()
        self._factor = self.factor
        del self.factor

    def forward(self, numbers: Any) -> Any:
        self.factor = self._factor
        result = super().forward(numbers)
        del self.factor
        return result

    def backward(self, dy: Any) -> Any:
        return AnyGrad(dy * self._factor, (dy * self.numbers).sum().reshape(1))

    def update(self, optimizer: Any, grad: Any) -> None:
        self.steps += 1
        optimizer.step(self._factor, grad.factor)


class Late(Times):
    """Makes its array in the first forward."""

    def __init__(self) -> None:
        super().__init__()
        del self.factor

    def forward(self, numbers: Any) -> Any:
        self.factor = np.full(1, 2.0, np.float32)
        return super().forward(numbers)


class Number(Times):
    """Learns a Python number, by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.factor: Any = 2.0

    def update(self, optimizer: Any, grad: Any) -> None:
        self.steps += 1
        self.factor -= 0.1 * float(grad.factor[0])


@pytest.mark.parametrize(
    ("kind", "got"),
    [
        (Private, r"an update of an array of shape \(1,\) in '_factor'"),
        (Late, r"an update of an array of shape \(1,\) in 'factor'"),
        (Number, "a derivative by 'factor', and no such array"),
    ],
)
def test_what_cannot_be_found_is_told_before_it_is_lost(kind: Any, got: str, tmp_path: Path) -> None:
    """A run says so at its first step; without one the model trains, and says so when it is asked for its state."""
    words = (
        f"{kind.__qualname__}: a model counts and saves the arrays in its parts' fields, got {got}; assign it in "
        "the constructor"
    )
    with Run.create(tmp_path / "run", "") as run, pytest.raises(DefinitionError, match=words):
        fit(kind(), MSE(), SGD(0.1), loader(), epochs=1, progress=False, run=run)
    free = kind()
    fit(free, MSE(), SGD(0.1), loader(), epochs=1, progress=False)
    assert free.steps == 2
    model = between(kind())
    optimizer = SGD(0.1)
    model.update(optimizer, model.backward(model.forward(array(5, 4))))
    for asked in (
        model.state_dict,
        model.num_parameters,
        model.parameters,
        lambda: model.save(tmp_path / "m.safetensors"),
    ):
        with pytest.raises(DefinitionError, match=words):
            asked()
    assert "?" in str(model)


def test_a_bound_optimizer_says_so_too() -> None:
    model = between(Private())
    optimizer = SGD(0.1).bind(model)
    with pytest.raises(DefinitionError, match="Private: a model counts and saves the arrays"):
        model.update(optimizer, model.backward(model.forward(array(5, 4))))


def test_what_was_declared_is_assigned_in_the_constructor() -> None:
    class Forgets(Declared):
        def __init__(self) -> None: ...

    Forgets.__qualname__ = "Forgets"

    with pytest.raises(
        DefinitionError,
        match=r"Forgets\._factor: the constructor assigns an array or a layer, and it stays one, got nothing; write "
        r"self._factor =",
    ):
        between(Forgets()).state_dict()


def test_a_gradient_under_another_name_is_told() -> None:
    class Other(Times):
        def backward(self, dy: Any) -> Any:
            gradient = super().backward(dy)
            return OtherGrad(gradient.input, gradient.factor)

    with pytest.raises(
        GradcheckError, match=r"gives a derivative by '1.factor', got those by .*1.d_factor; name the gradient's field"
    ):
        gradcheck(between(Other()), array(5, 4))


@dataclass(frozen=True)
class OtherGrad:
    input: Any
    d_factor: Any


def test_a_run_of_it_resumes(tmp_path: Path) -> None:
    """Bit for bit as without the stop."""

    def trained(folder: Path, *epochs: int) -> Any:
        times = Times()
        for last in epochs:
            times = Times()
            fit(times, MSE(), SGD(0.01, momentum=0.9), loader(), epochs=last, progress=False, run=folder)
        return times.factor

    np.testing.assert_array_equal(trained(tmp_path / "whole", 4), trained(tmp_path / "parts", 2, 4))
