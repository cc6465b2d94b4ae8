"""Objects that derive from nothing, between layers and in fit: accepted, and enforced where they are consumed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from jaxtyping import Float

from typednn import Array2, Chain, Input, Sequential, checking, gradcheck
from typednn.data import Loader
from typednn.errors import ArgumentError, CheckError, DefinitionError, DTypeError, ShapeError, StackError, TypednnError
from typednn.layers import Linear, PReLU, ReLU
from typednn.losses import MSE
from typednn.module.foreign import Foreign
from typednn.optim import SGD
from typednn.runs import Run
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
        ("batch", ShapeError, 'Times.forward: the result must be "batch \\*output", got shape \\(1, 3\\): axis 0 is 1, not 5'),
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
        ("init", lambda model: model.init(rng())),
        ("to", lambda model: model.to("cpu")),
        ("astype", lambda model: model.astype(np.float64)),
        ("shared", lambda model: model.shared()),
        ("to", lambda model: gradcheck(model, array(5, 4))),
    ],
)
def test_a_missing_method_is_named_before_anything_changes(method: str, asked: Any) -> None:
    model = between(Times())
    before = {name: getattr(part, name).copy() for part in (model[0], model[3]) for name in ("weight", "bias")}
    with pytest.raises(DefinitionError) as caught:
        asked(model)
    words = f"Times: a model's {method} asks every part, got no method {method!r}; write Times.{method}, or derive Times from Layer"
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
    np.testing.assert_allclose(model.shared().fuse(False).forward(array(5, 4)), model.forward(array(5, 4)), rtol=1e-6)


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
        "  1  Times                                    ?",
        "  2  ReLU()",
        "  3  Linear(3, 2)  weight (2, 3), bias (2,)   8",
        "23 parameters, and those of 1 foreign parts",
    ]
    assert str(between(Keeper())).splitlines()[-1] == "24 parameters"
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
        with pytest.raises(ArgumentError, match=f"the derivatives of a part are the fields of a dataclass, got {kind.__qualname__}"):
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
    with pytest.raises(ArgumentError, match="fit: a model has forward, backward and update, got object, which has no forward"):
        fit(object(), MSE(), SGD(0.1), loader(), epochs=1, progress=False)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="fit: accumulate adds up gradients, got TimesGrad; derive it from Gradient"):
        fit(Times(), MSE(), SGD(0.1), loader(), epochs=1, progress=False, accumulate=2)
    with pytest.raises(ArgumentError, match="clip_grad_norm: takes what backward gives, a Gradient, got TimesGrad"):
        fit(Times(), MSE(), SGD(0.1), loader(), epochs=1, progress=False, clip_grad_norm=1.0)


def test_fit_with_a_run_needs_what_saving_needs_before_the_first_step(tmp_path: Path) -> None:
    times = Times()
    with (
        Run.create(tmp_path / "run", "") as run,
        pytest.raises(DefinitionError, match="Times: a model's state_dict asks every part, got no method 'state_dict'"),
    ):
        fit(times, MSE(), SGD(0.1), loader(), epochs=1, progress=False, run=run)
    assert times.steps == 0
