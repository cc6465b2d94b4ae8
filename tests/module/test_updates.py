"""Optimizers are driven through each layer's ``update``: every part's own runs, and a shared parameter
is stepped once.
"""

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from jaxtyping import Float

from typednn import AnyArray, Array2, Gradient, Layer, Optimizer, checking
from typednn.errors import CheckError, ShapeError, StateError
from typednn.layer import Elementwise, Input, Sequential
from typednn.layers import Linear, LinearGrad, PerPosition, PReLU, ReLU, Residual, Tanh
from typednn.module.held import Held
from typednn.module.stack import Dyn, Stack
from typednn.optim import SGD, Adam, AdamW, Group


@dataclass(frozen=True, slots=True)
class AffineGrad(Gradient):
    input: Float[Array2, "batch 3"]
    weight: Float[Array2, "3 3"]


class Affine(Layer[Array2, Array2, AffineGrad]):
    """y = x weightᵀ, with an update of its own that counts itself and limits the weights after the step."""

    from typednn.module.fields import Kept, Parameter

    weight: Parameter[Float[Array2, "3 3"]]
    _x: Kept[Float[Array2, "batch 3"]]

    def __init__(self, limit: float = np.inf) -> None:
        self.limit = limit
        self.count = 0

    def forward(self, x: Float[Array2, "batch 3"]) -> Float[Array2, "batch 3"]:
        self._x = x
        return x @ self.weight.T

    def backward(self, next_grad: Float[Array2, "batch 3"]) -> AffineGrad:
        return AffineGrad(next_grad @ self.weight, next_grad.T @ self._x)

    def update(self, optimizer: Optimizer, grad: AffineGrad) -> None:
        self.count += 1
        optimizer.step(self.weight, grad.weight)
        np.clip(self.weight, -self.limit, self.limit, out=self.weight)


class Inherited(Affine):
    """The same layer, whose update asks the inherited one for the step."""

    def update(self, optimizer: Optimizer, grad: AffineGrad) -> None:
        self.count += 1
        super(Affine, self).update(optimizer, grad)
        np.clip(self.weight, -self.limit, self.limit, out=self.weight)


class Frozen(Affine):
    """The same layer, whose weights are not learnt."""

    def update(self, optimizer: Optimizer, grad: AffineGrad) -> None:
        self.count += 1


class Plain(Affine):
    """The same layer, with the update that every layer inherits."""

    update = Layer.update


@dataclass(frozen=True)
class PairGrad(Gradient):
    input: Float[Array2, "batch 3"]
    first: Any
    second: Any


class Pair(Layer[Array2, Array2, PairGrad]):
    """Two layers by hand, with the update that every layer inherits."""

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second

    def forward(self, x: Float[Array2, "batch 3"]) -> Float[Array2, "batch 3"]:
        y: Any = self.second.forward(self.first.forward(x))
        return y

    def backward(self, next_grad: Float[Array2, "batch 3"]) -> PairGrad:
        second = self.second.backward(next_grad)
        first = self.first.backward(second.input)
        return PairGrad(first.input, first, second)


class CallsParts(Pair):
    """The update by hand, as the paper writes it; the later layer first."""

    def update(self, optimizer: Optimizer, grad: PairGrad) -> None:
        self.second.update(optimizer, grad.second)
        self.first.update(optimizer, grad.first)


class StepsParts(Pair):
    """The update by hand, down to the arrays."""

    def update(self, optimizer: Optimizer, grad: PairGrad) -> None:
        optimizer.step(self.first.weight, grad.first.weight)
        optimizer.step(self.second.weight, grad.second.weight)


CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "chain": lambda layer: Input(3) >> Linear(3, 3) >> layer >> ReLU(),
    "chain of a chain": lambda layer: Sequential([(Linear(3, 3) >> layer).named("inner"), Tanh()]),
    "sequential": lambda layer: Sequential([layer, Linear(3, 3)]),
    "stack": lambda layer: Stack([Linear(3, 3), layer], input=(3,)),
    "stack in a stack": lambda layer: Stack([Linear(3, 3), Stack([layer], input=(3,))], input=(3,)),
    "residual": lambda layer: Residual(layer),
    "residual of a chain": lambda layer: Input(3) >> Residual(layer >> Tanh()) >> Linear(3, 3),
    "by hand": lambda layer: Pair(Linear(3, 3), layer),
    "by hand, update too": lambda layer: CallsParts(Linear(3, 3), layer),
}


def ready(model: Any) -> Any:
    return model.init(np.random.default_rng(0))


def gradient_of(model: Any, shape: tuple[int, ...] = (5, 3)) -> Any:
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    return model.backward(np.cos(model.forward(x)))


def counted(model: Any) -> int:
    return sum(module.count for _, module in model.named_modules() if isinstance(module, Affine))


@pytest.mark.parametrize("mode", ["full", "cached", "off"])
@pytest.mark.parametrize("kind", [Affine, Inherited])
@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_calls_its_parts_update(container: str, kind: type[Affine], mode: Any) -> None:
    """The layer's own update runs once a step; what comes of it is what the layer alone would have come to."""
    model = ready(CONTAINERS[container](kind(limit=0.2)))
    before = {name: array.copy() for name, array in model.named_parameters().items()}
    with checking(mode):
        for step in range(1, 4):
            grad = gradient_of(model)
            by_name = {name: array.copy() for name, array in model.named_gradients(grad).items()}
            model.update(SGD(0.5), grad)
            assert counted(model) == step
            for name, array in model.named_parameters().items():
                expected = before[name] - np.float32(0.5) * by_name[name]
                mine = isinstance(dict(model.named_modules())[name.rpartition(".")[0]], Affine)
                np.testing.assert_allclose(
                    array, np.clip(expected, -0.2, 0.2) if mine else expected, rtol=1e-6, atol=1e-7
                )
            before = {name: array.copy() for name, array in model.named_parameters().items()}


def test_per_position_calls_its_parts_update() -> None:
    layer = Affine()
    model = ready(PerPosition(layer))
    model.update(SGD(0.1), gradient_of(model, (2, 4, 3)))
    assert layer.count == 1


def test_dyn_calls_its_layers_update() -> None:
    layer = Affine()
    model = Dyn(layer, (3,))
    ready(layer)
    model.update(SGD(0.1), gradient_of(model))
    assert layer.count == 1


def test_an_update_without_parameters_runs_too() -> None:
    class Counting(Tanh):
        def update(self, optimizer: Optimizer, grad: Any) -> None:
            calls.append(type(grad).__name__)

    calls: list[str] = []
    model = ready(Input(3) >> Linear(3, 3) >> Residual(Sequential([Counting()])))
    model.update(SGD(0.1), gradient_of(model))
    assert calls == ["ElementwiseGrad"]


class Watching:
    """Hands on to another optimizer, and says which arrays were stepped how often."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer
        self.seen: list[int] = []

    def step(self, weights: Any, grad: Any) -> None:
        self.seen.append(id(weights))
        self.optimizer.step(weights, grad)


def shared_pair(kinds: tuple[type[Affine], type[Affine]], limit: float = np.inf) -> tuple[Affine, Affine]:
    first, second = kinds[0](limit), kinds[1](limit)
    second.tie(first, weight="weight")
    return first, second


MODELS: dict[str, Callable[[Any, Any], Any]] = {
    "chain": lambda first, second: Input(3) >> first >> Tanh() >> second,
    "stack": lambda first, second: Stack([first, Tanh(), second], input=(3,)),
    "nested": lambda first, second: Input(3) >> Residual(first >> Tanh()) >> Sequential([Tanh(), second]),
    "by hand": Pair,
    "by hand, update too": CallsParts,
    "by hand, down to the arrays": StepsParts,
    "wrapped once more": lambda first, second: Residual(CallsParts(first, second)),
}


@pytest.mark.parametrize("mode", ["cached", "off"])
@pytest.mark.parametrize("kinds", [(a, b) for a in (Affine, Inherited, Plain) for b in (Affine, Inherited, Plain)])
@pytest.mark.parametrize("model_of", MODELS)
def test_a_shared_parameter_is_stepped_once_with_the_sum(
    model_of: str, kinds: tuple[type[Affine], type[Affine]], mode: Any
) -> None:
    """Both orders of two holders: one step of the sum of both uses; Adam counts one step; both updates run."""
    first, second = shared_pair(kinds)
    model = ready(MODELS[model_of](first, second))
    alone = Plain()
    alone.weight = first.weight.copy()
    adam, lone = Adam(0.1), Adam(0.1)
    with checking(mode):
        for _ in range(3):
            grad = gradient_of(model)
            name = next(name for name, array in model.named_parameters().items() if array is first.weight)
            total = model.named_gradients(grad)[name]
            watching = Watching(adam)
            model.update(watching, grad)
            assert watching.seen.count(id(first.weight)) == 1
            lone.step(alone.weight, total)
            np.testing.assert_allclose(first.weight, alone.weight, rtol=1e-5, atol=1e-6)
            assert second.weight is first.weight
    by_hand = [layer for _, layer in model.named_modules() if isinstance(layer, Affine) and type(layer) is not Plain]
    if model_of != "by hand, down to the arrays":
        assert [layer.count for layer in by_hand] == [3] * len(by_hand)


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("model_of", [name for name in MODELS if name != "by hand, down to the arrays"])
def test_who_freezes_a_shared_parameter(model_of: str, place: int) -> None:
    """The first holder decides: frozen there it stays; frozen in a later holder it learns from all its uses."""
    kinds = (Frozen, Affine) if place == 0 else (Affine, Frozen)
    first, second = shared_pair(kinds)
    model = ready(MODELS[model_of](first, second))
    before = first.weight.copy()
    grad = gradient_of(model)
    name = next(name for name, array in model.named_parameters().items() if array is first.weight)
    total = model.named_gradients(grad)[name]
    model.update(SGD(0.5), grad)
    np.testing.assert_allclose(
        first.weight, before if place == 0 else before - np.float32(0.5) * total, rtol=1e-6, atol=1e-7
    )


@pytest.mark.parametrize("model_of", [name for name in MODELS if name != "by hand, down to the arrays"])
@pytest.mark.parametrize("kinds", [(Affine, Plain), (Plain, Affine), (Inherited, Affine)])
def test_a_layer_that_limits_its_weights_after_the_step(
    model_of: str, kinds: tuple[type[Affine], type[Affine]]
) -> None:
    """Whichever holder limits them: that happens after the one step, or for a later holder at its turn."""
    first, second = shared_pair(kinds, limit=0.1)
    model = ready(MODELS[model_of](first, second))
    grad = gradient_of(model)
    model.update(SGD(50.0), grad)
    if model_of in ("by hand, update too", "wrapped once more") and kinds[0] is Plain:
        return  # here the later holder's update runs first, and the step comes after it
    assert np.abs(first.weight).max() <= np.float32(0.1)


def test_an_optimizer_around_the_one_that_was_handed_in() -> None:
    """A hand-written update may put its own optimizer around the one it is given: the shared step goes
    through it once.
    """

    class Doubled(Pair):
        def update(self, optimizer: Optimizer, grad: PairGrad) -> None:
            watching = Watching(optimizer)
            self.first.update(watching, grad.first)
            self.second.update(watching, grad.second)
            seen.append(len(watching.seen))

    for kinds in ((Plain, Plain), (Affine, Affine)):
        seen: list[int] = []
        first, second = shared_pair(kinds)
        model = ready(Doubled(first, second))
        before, grad = first.weight.copy(), gradient_of(model)
        model.update(SGD(0.5), grad)
        np.testing.assert_allclose(
            first.weight, before - np.float32(0.5) * (grad.first.weight + grad.second.weight), rtol=1e-6
        )
        assert seen == [1]


def test_another_model_is_updated_inside_an_update() -> None:
    """Its shared parameters are its own."""

    class Trains(Pair):
        def update(self, optimizer: Optimizer, grad: PairGrad) -> None:
            other.update(optimizer, other_grad)
            self.first.update(optimizer, grad.first)

    other = ready(Pair(*shared_pair((Plain, Plain))))
    other_grad = gradient_of(other)
    model = ready(Trains(*shared_pair((Plain, Plain))))
    before = other.first.weight.copy()
    model.update(SGD(1.0), gradient_of(model))
    np.testing.assert_allclose(
        other.first.weight, before - other_grad.first.weight - other_grad.second.weight, rtol=1e-6
    )


def test_an_update_that_fails_leaves_nothing_behind() -> None:
    class Failing(Affine):
        def update(self, optimizer: Optimizer, grad: Any) -> None:
            raise RuntimeError("no")

    first, second = shared_pair((Plain, Failing))
    model = ready(Pair(first, second))
    with pytest.raises(RuntimeError):
        model.update(SGD(0.1), gradient_of(model))
    test_a_shared_parameter_is_stepped_once_with_the_sum("by hand", (Plain, Affine), "cached")


def test_an_elementwise_layers_own_update() -> None:
    """P-P6: its gradient's own part lies one deeper."""

    class Limited(PReLU):
        def update(self, optimizer: Optimizer, grad: Any) -> None:
            seen.append(float(grad.parameters.slope[0]))
            super(PReLU, self).update(optimizer, grad)

    seen: list[float] = []
    first = Limited()
    model = ready(Input(3) >> first >> Tanh() >> first.shared())
    grad = gradient_of(model)
    total = float(grad.parts[0].parameters.slope[0] + grad.parts[2].parameters.slope[0])
    before = float(first.slope[0])
    model.update(SGD(0.5), grad)
    assert seen[0] == pytest.approx(total, rel=1e-6)
    assert float(first.slope[0]) == pytest.approx(before - 0.5 * total, rel=1e-6)
    assert isinstance(model.parts[0], Elementwise)


def test_a_gradient_without_the_part_is_told() -> None:
    @dataclass(frozen=True)
    class OnlyInput(Gradient):
        input: Float[Array2, "batch 3"]

    model = ready(Pair(Linear(3, 3), Affine()))
    with pytest.raises(StateError, match="its gradient must have a part for 'first', got OnlyInput"):
        model.update(SGD(0.1), OnlyInput(np.zeros((5, 3), np.float32)))


@pytest.mark.parametrize("mode", ["full", "cached"])
@pytest.mark.parametrize("kind", [Plain, Affine])
def test_a_gradient_that_does_not_fit_reaches_no_optimizer(kind: type[Affine], mode: Any) -> None:
    """Whatever the optimizer would do with it; and no parameter before it is stepped."""
    model = ready(Input(3) >> Linear(3, 3) >> kind())
    grad = gradient_of(model)
    with checking("off"):
        faulty = replace(grad, parts=(grad.parts[0], replace(grad.parts[1], weight=grad.parts[1].weight[:1])))
    watching = Watching(SGD(0.1))
    with checking(mode), pytest.raises(ShapeError, match="must be shaped as its parameter"):
        model.update(watching, faulty)
    assert watching.seen == []


# --- all parameters in one call --------------------------------------------------------------------------------------


class Single:
    """An optimizer from outside, with ``step`` alone."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []

    def step(self, weights: Any, grad: Any) -> None:
        self.calls.append([id(weights)])
        weights -= 0.1 * grad


class Both(Single):
    """One that has ``step_many`` as well."""

    def step_many(self, pairs: Any) -> None:
        self.calls.append([id(weights) for weights, _ in pairs])
        for weights, grad in pairs:
            weights -= 0.1 * grad


class Around:
    """An optimizer around another, which passes on what it does not have."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.seen = 0

    def step(self, weights: Any, grad: Any) -> None:
        self.seen += 1
        self.inner.step(weights, grad)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


@pytest.mark.parametrize("mode", ["full", "cached", "off"])
def test_an_optimizer_with_step_many_gets_all_parameters_at_once(mode: Any) -> None:
    """In the order of declaration, a shared one once; an optimizer without it gets one step per parameter, in the same
    order.
    """
    shared = Linear(3, 3)
    one, two = (ready(Input(3) >> Linear(3, 3) >> shared >> PReLU() >> shared.shared()) for _ in range(2))
    grad = gradient_of(one)
    expected = [id(weights) for weights in one.parameters()]
    single, both = Single(), Both()
    with checking(mode):
        one.update(single, grad)
        assert single.calls == [[each] for each in expected]
        before = [weights.copy() for weights in one.parameters()]
        one.update(both, grad)
        assert both.calls == [expected]
    two.load_state_dict(dict(zip(two.named_parameters(), before, strict=True)))
    two.update(Single(), grad)
    assert [mine.tobytes() for mine in one.parameters()] == [its.tobytes() for its in two.parameters()]


def test_beside_an_update_by_hand_each_part_hands_over_its_own() -> None:
    model, both = ready(Input(3) >> Linear(3, 3) >> Affine()), Both()
    model.update(both, gradient_of(model))
    weight, bias, affine = map(id, model.parameters())
    assert both.calls == [[weight, bias], [affine]]


def test_step_many_does_not_go_past_an_optimizer_around_another() -> None:
    model, around = ready(Linear(3, 3) >> PReLU()), Around(SGD(0.1))
    model.update(around, gradient_of(model))
    assert around.seen == 3


@pytest.mark.parametrize("mode", ["full", "cached", "off"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: SGD(0.1),
        lambda: SGD(
            lambda step: 0.1 / (1 + step),
            momentum=0.9,
            weight_decay=0.01,
            groups=[Group("*.bias", lr=0.02, weight_decay=0.0)],
        ),
        lambda: Adam(0.01, l2=0.01),
        lambda: AdamW(0.01, groups=[Group("2.*", lr=0.5)]),
    ],
)
def test_step_many_is_the_single_steps_to_the_bit(make: Callable[[], Any], mode: Any) -> None:
    models = [ready(Linear(3, 4) >> PReLU() >> Linear(4, 3)) for _ in range(2)]
    optimizers = [make().bind(model) for model in models]
    with checking(mode):
        for _ in range(4):
            grads = [gradient_of(model) for model in models]
            models[0].update(optimizers[0], grads[0])
            for weights, grad in zip(models[1].parameters(), models[1].gradients(grads[1]), strict=True):
                optimizers[1].step(weights, grad)
    assert [mine.tobytes() for mine in models[0].parameters()] == [its.tobytes() for its in models[1].parameters()]


def test_a_derived_optimizers_own_step_is_called() -> None:
    class Counting(Adam):
        count = 0

        def step(self, weights: Float[AnyArray, "*weights"], grad: Float[AnyArray, "*weights"]) -> None:
            vars(self)["count"] = self.count + 1
            super().step(weights, grad)

    model, optimizer = ready(Linear(3, 3) >> PReLU()), Counting(0.1)
    for _ in range(2):
        model.update(optimizer, gradient_of(model))
    assert optimizer.count == 6


@pytest.mark.parametrize("stepped", [False, True])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda grad: grad[:1], "grad must be"),
        (lambda grad: grad.astype(np.float64), "grad must have the dtype of weights"),
        (lambda grad: grad.tolist(), "grad must be"),
    ],
)
def test_step_many_refuses_what_step_refuses(stepped: bool, wrong: Callable[[Any], Any], message: str) -> None:
    weights, grad = np.ones((2, 3), np.float32), np.ones((2, 3), np.float32)
    optimizer = SGD(0.1)
    if stepped:
        optimizer.step_many([(weights, grad)])
    with pytest.raises(CheckError, match=message):
        optimizer.step_many([(weights, wrong(grad))])


# ------------------------------------------------------------------ what an optimizer must leave as it is


class Careless:
    """Of a user: steps, and then does something to the array itself."""

    def __init__(self, does: Callable[[Any], object], fails: bool = False) -> None:
        self.does, self.fails = does, fails

    def step(self, weights: Any, grad: Any) -> None:
        weights -= 0.1 * grad
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.does(weights)
        if self.fails:
            raise RuntimeError("of its own")


class Derived(SGD):
    """On one of typednn's own."""

    does: Callable[[Any], object] | None = None

    def apply(self, state: Any, grad: Any, lr: float) -> None:
        super().apply(state, grad, lr)
        Careless(type(self).does or (lambda _: None)).step(state.weights, 0 * grad)


def turned(weights: Any) -> None:
    weights.shape = weights.shape[::-1]


CARELESS: list[tuple[Callable[[Any], object], str]] = [
    (turned, r"got shape \(3, 2\) of float32"),
    (lambda weights: setattr(weights, "shape", (weights.size,)), r"got shape \(6,\) of float32"),
    (lambda weights: setattr(weights, "dtype", np.int32), r"got shape \(2, 3\) of int32"),
    (lambda weights: setattr(weights, "dtype", np.float16), r"got shape \(2, 6\) of float16"),
    (lambda weights: setattr(weights, "strides", (4, 8)), r"strides \(4, 8\)"),
    (lambda weights: weights.setflags(write=False), "read-only"),
]


class FromNothing:
    """A part that derives from nothing."""

    def __init__(self) -> None:
        self.weight = np.arange(6, dtype=np.float32).reshape(2, 3)
        self.out_features = 2

    def forward(self, x: Any) -> Any:
        self.x = x
        return x @ self.weight.T

    def backward(self, next_grad: Any) -> Any:
        return FromNothingGrad(next_grad @ self.weight, next_grad.T @ self.x)

    def update(self, optimizer: Any, grad: Any) -> None:
        optimizer.step(self.weight, grad.weight)


@dataclass(frozen=True)
class FromNothingGrad:
    input: Any
    weight: Any


@dataclass(frozen=True, slots=True)
class ByHandGrad(Gradient):
    input: Float[Array2, "batch 3"]
    inner: LinearGrad


class ByHand(Layer[Array2, Array2, ByHandGrad]):
    """A model whose update is written by hand."""

    def __init__(self) -> None:
        self.inner: Linear = Linear(3, 2, bias=False)

    def forward(self, x: Float[Array2, "batch 3"]) -> Float[Array2, "batch 2"]:
        return self.inner.forward(x)

    def backward(self, next_grad: Float[Array2, "batch 2"]) -> ByHandGrad:
        inner = self.inner.backward(next_grad)
        return ByHandGrad(inner.input, inner)

    def update(self, optimizer: Optimizer, grad: ByHandGrad) -> None:
        self.inner.update(optimizer, grad.inner)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Linear(3, 2, bias=False),
        lambda: Input(3) >> Linear(3, 2, bias=False),
        lambda: Input(3) >> FromNothing(),
        lambda: Input(3) >> AroundLinear(),
        ByHand,
    ],
)
@pytest.mark.parametrize(("does", "got"), CARELESS)
def test_an_optimizer_leaves_the_array_as_it_is(
    build: Callable[[], Any], does: Callable[[Any], object], got: str
) -> None:
    """Told by the optimizer's and the parameter's name; the model goes on, with the numbers that were written where
    there is room.
    """
    model: Any = build().init(np.random.default_rng(0))
    x = np.ones((4, 3), np.float32)
    name, before = next((name, array.copy()) for name, array in model.named_parameters().items())
    gradient = model.backward(model.forward(x))
    derivative = model.named_gradients(gradient)[name].copy()
    short = name.rpartition(".")[2]
    for optimizer in (Careless(does), Careless(does, fails=True)):
        with pytest.raises(RuntimeError if optimizer.fails else ShapeError) as caught:
            model.update(optimizer, gradient)
        if not optimizer.fails:
            assert re.match(
                rf"(layer .*: )?Careless.step of '(.*\.)?{short}' of .*: an optimizer writes numbers in place",
                str(caught.value),
            )
            assert re.search(got, str(caught.value))
        weights = model.named_parameters()[name]
        assert (weights.shape, weights.dtype, weights.strides, weights.flags.writeable) == (
            (2, 3),
            np.float32,
            (12, 4),
            True,
        )
        before = before - np.float32(0.1) * derivative
        np.testing.assert_allclose(weights, before, rtol=1e-6)
        assert model.forward(x).shape == (4, 2)
    model.update(SGD(0.1), model.backward(model.forward(x)))


@pytest.mark.parametrize("shape", [(4, 4), (1, 2)])
def test_an_array_of_other_memory_is_replaced(shape: tuple[int, int]) -> None:
    """What is left of the numbers is kept, and zeros are put after them."""
    layer = FromNothing()
    layer.weight = np.array([[1, 2, 3], [4, 5, 6]], np.float32)  # NumPy resizes only what owns its memory
    model: Any = Input(3) >> layer
    x = np.ones((4, 3), np.float32)
    gradient = model.backward(model.forward(x))
    with pytest.raises(
        ShapeError, match=r"Careless.step of 'weight' of FromNothing: .*, got shape \(\d, \d\) of float32"
    ):
        model.update(Careless(lambda weights: weights.resize(shape, refcheck=False)), gradient)
    derivative = model.named_gradients(gradient)["0.weight"]
    left = (np.array([1, 2, 3, 4, 5, 6], np.float32) - np.float32(0.1) * derivative.ravel())[: shape[0] * shape[1]]
    np.testing.assert_allclose(layer.weight, np.pad(left, (0, 6 - left.size)).reshape(2, 3), rtol=1e-6)
    model.update(SGD(0.1), model.backward(model.forward(x)))


class AroundLinear:
    """A part that derives from nothing, around a layer of typednn."""

    def __init__(self) -> None:
        self.linear = Linear(3, 2, bias=False)

    def forward(self, x: Any) -> Any:
        return self.linear.forward(x)

    def backward(self, next_grad: Any) -> Any:
        linear = self.linear.backward(next_grad)
        return AroundLinearGrad(linear.input, linear)

    def update(self, optimizer: Any, grad: Any) -> None:
        self.linear.update(optimizer, grad.linear)


@dataclass(frozen=True)
class AroundLinearGrad:
    input: Any
    linear: Any


def test_arrays_are_listed_for_a_foreign_optimizer_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of typednn's own, or one without checks, does not search the fields."""
    model: Any = Input(3) >> FromNothing()
    x = np.ones((4, 3), np.float32)
    model.update(SGD(0.1), model.backward(model.forward(x)))  # the first looks for what is stepped
    searched: list[object] = []
    leaves = Held.leaves

    def noted(self: Held) -> Any:
        for leaf in leaves(self):
            searched.append(leaf)
            yield leaf

    monkeypatch.setattr(Held, "leaves", noted)
    model.update(SGD(0.1), model.backward(model.forward(x)))
    with checking("off"):
        model.update(Careless(lambda _: None), model.backward(model.forward(x)))
    assert not searched
    model.update(Careless(lambda _: None), model.backward(model.forward(x)))
    assert searched


def test_a_class_on_typednns_own_is_looked_at_too() -> None:
    model: Any = Linear(3, 2, bias=False, rng=np.random.default_rng(0))
    kind = type("Mine", (Derived,), {"does": staticmethod(turned), "__module__": __name__})
    x = np.ones((4, 3), np.float32)
    with pytest.raises(ShapeError, match=r"^Mine.step of 'weight' of Linear\(3, 2, bias=False\): "):
        model.update(kind(0.1), model.backward(model.forward(x)))
    assert model.forward(x).shape == (4, 2)


def test_what_an_optimizer_may_do_is_not_told() -> None:
    model: Any = Input(3) >> Linear(3, 2, rng=np.random.default_rng(0))
    for _ in range(2):
        model.update(
            Careless(lambda weights: np.copyto(weights, 1.0)),
            model.backward(model.forward(np.ones((4, 3), np.float32))),
        )
    np.testing.assert_array_equal(model.named_parameters()["0.weight"], np.ones((2, 3)))
