"""Stack and Dyn: the same layers as in a Chain, between rows of numbers."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pytest
from jaxtyping import Float, Int

from tests.layer_cases import CASES
from typednn import (
    AnyArray,
    Array2,
    Array3,
    Chain,
    ChainGrad,
    DynLayer,
    Elementwise,
    ElementwiseGrad,
    Gradient,
    Input,
    IntArray2,
    Kept,
    Layer,
    Module,
    checking,
)
from typednn.errors import ArgumentError, LayerReused, NotForwarded, NotInitialised, ShapeError, StackError
from typednn.layer import A, FirstLayer, MultiInput, Sequential
from typednn.layers import (
    Conv2d,
    Flatten,
    Linear,
    MaxPool2d,
    Pad2d,
    PerPosition,
    PReLU,
    ReLU,
    Residual,
    Sigmoid,
    Softmax,
    Tanh,
)
from typednn.module.stack import Dyn, DynGrad, Stack
from typednn.optim import SGD, Adam
from typednn.random import PCG32
from typednn.testing.gradcheck import gradcheck


def lenet5_layers() -> list[Any]:
    he = {"weight_init": "he_normal"}
    return [
        Pad2d(2), Conv2d(1, 6, 5, **he), ReLU(), MaxPool2d(2), Conv2d(6, 16, 5, **he), ReLU(), MaxPool2d(2), Flatten(),
        Linear(400, 120, **he), ReLU(), Linear(120, 84, **he), ReLU(), Linear(84, 10, **he), Softmax(),
    ]  # fmt: skip


def lenet5_chain() -> Any:
    chain: Any = Input(28, 28, 1)
    for layer in lenet5_layers():
        chain = chain >> layer
    return chain


@pytest.fixture
def images() -> Any:
    return np.random.default_rng(7).standard_normal((3, 28, 28, 1), dtype=np.float32)


def test_dyn_reshapes_around_the_layer_itself(images: Any) -> None:
    """P-D1: a convolution between rows equals the convolution."""
    direct, wrapped = Conv2d(1, 2, 3, bias=True, rng=PCG32(1)), Conv2d(1, 2, 3, bias=True, rng=PCG32(1))
    dyn = Dyn(wrapped, (28, 28, 1))
    assert isinstance(dyn, DynLayer)
    assert isinstance(Stack([ReLU()], input=(3,)), DynLayer)
    y = direct.forward(images)
    rows = dyn.forward(images.reshape(3, 784))
    assert rows.shape == (3, 26 * 26 * 2)
    assert np.array_equal(rows, y.reshape(3, -1))
    next_grad = np.random.default_rng(8).standard_normal(y.shape, dtype=np.float32)
    grad, dyn_grad = direct.backward(next_grad), dyn.backward(next_grad.reshape(3, -1))
    assert isinstance(dyn_grad, DynGrad)
    assert np.array_equal(dyn_grad.input, grad.input.reshape(3, 784))
    assert np.array_equal(dyn_grad.inner.weight, grad.weight)
    assert list(dyn_grad.leaves()) == ["inner.weight", "inner.bias"]
    direct.update(SGD(0.1), grad)
    dyn.update(SGD(0.1), dyn_grad)
    assert np.array_equal(direct.weight, wrapped.weight)
    assert np.array_equal(direct.bias, wrapped.bias)


def test_a_dynamic_layer_has_all_three() -> None:
    """P-D1: forward, backward and update; whoever lacks one is none."""
    methods: dict[str, Any] = {name: lambda *_: None for name in ("forward", "backward", "update")}
    assert isinstance(type("Whole", (), methods)(), DynLayer)
    for missing in methods:
        part = {name: method for name, method in methods.items() if name != missing}
        assert not isinstance(type("Part", (), part)(), DynLayer), missing


@pytest.mark.parametrize("mode", ["full", "cached", "off"])
def test_a_convolution_in_a_stack_is_the_convolution(images: Any, mode: Any) -> None:
    """P-D1: rows in, rows out, the layers' own shapes only inside; anything but rows is refused."""
    with checking(mode):
        layers, alone = [Conv2d(1, 2, 3, bias=True), MaxPool2d(2)], [Conv2d(1, 2, 3, bias=True), MaxPool2d(2)]
        stack: Any = Stack(layers, input=(28, 28, 1)).init(PCG32(3))
        alone[0].init(PCG32(3))
        rows = stack.forward(images.reshape(3, 784))
        direct = alone[1].forward(alone[0].forward(images))
        assert rows.shape == (3, 13 * 13 * 2)
        assert np.array_equal(rows, direct.reshape(3, -1))
        next_grad = np.random.default_rng(8).standard_normal(direct.shape, dtype=np.float32)
        grad, wanted = stack.backward(next_grad.reshape(3, -1)), alone[0].backward(alone[1].backward(next_grad).input)
        assert np.array_equal(grad.input, wanted.input.reshape(3, 784))
        stack.update(SGD(0.1), grad)
        alone[0].update(SGD(0.1), wanted)
        assert np.array_equal(layers[0].weight, alone[0].weight)
        assert np.array_equal(layers[0].bias, alone[0].bias)
        for x in () if mode == "off" else (images, images.reshape(3, 28, 28), images.reshape(-1)):
            with pytest.raises(ShapeError):
                stack.forward(x)


@final
class _Third(Elementwise[None]):
    """A layer of a user, whose gradient class is his own."""

    _x: Kept[AnyArray]

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        self._x = x
        return x / 3

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        return ElementwiseGrad(next_grad / 3, None)


@pytest.mark.parametrize("case", [*CASES, "a user's"], ids=str)
def test_every_dynamic_layer_gives_the_one_gradient(case: Any) -> None:
    """P-D2: a `DynGrad`, its input as rows, the layer's own gradient inside; one optimizer type takes them all."""
    layer, shape, *more = (_Third(), (2, 3)) if case == "a user's" else case.example()
    if more or isinstance(layer, FirstLayer | MultiInput):
        pytest.skip("reads integers, or several arrays, which a dynamic model does not")
    direct = copy.deepcopy(layer).init(PCG32(1))
    dyn: Any = Dyn(layer.init(PCG32(1)), shape[1:])
    x = np.random.default_rng(2).standard_normal(shape, dtype=np.float32)
    y = direct.forward(x)
    assert np.array_equal(dyn.forward(x.reshape(shape[0], -1)), y.reshape(shape[0], -1))
    next_grad = np.random.default_rng(3).standard_normal(y.shape, dtype=np.float32)
    grad, wanted = dyn.backward(next_grad.reshape(shape[0], -1)), direct.backward(next_grad)
    assert type(grad) is DynGrad
    assert type(grad.inner) is type(wanted)
    assert np.array_equal(grad.input, wanted.input.reshape(shape[0], -1))
    for optimizer in (SGD(0.1), Adam(0.1)):
        dyn.update(optimizer, grad)
    for optimizer in (SGD(0.1), Adam(0.1)):
        direct.update(optimizer, wanted)
    assert all(np.array_equal(one, other) for one, other in zip(layer.parameters(), direct.parameters(), strict=True))


def test_dyn_takes_any_layer_of_a_user() -> None:
    """P-D2: no closed union of gradients; whatever gradient a layer has is inside."""
    dyn = Dyn(PReLU(), (2, 3))
    dyn.layer.init(PCG32(1))
    dyn.forward(np.ones((4, 6), np.float32))
    grad = dyn.backward(np.ones((4, 6), np.float32))
    assert grad.input.shape == (4, 6)
    assert grad.inner.parameters.slope.shape == (1,)


@pytest.mark.parametrize("mode", ["full", "cached", "off"])
def test_stack_equals_chain_and_hand_chained_layers(images: Any, mode: Any) -> None:
    """P-D3: forward in order, backward in reverse, each layer stepped with its own gradient; bit for bit."""
    with checking(mode):
        chain, stack, by_hand = lenet5_chain(), Stack(lenet5_layers(), input=(28, 28, 1)), lenet5_layers()
        chain.init(PCG32(42, 6))
        stack.init(PCG32(42, 6))
        rng = PCG32(42, 6)
        for layer in by_hand:
            layer.init(rng)

        y = chain.forward(images)
        rows = stack.forward(images.reshape(3, 784))
        z = images
        for layer in by_hand:
            z = layer.forward(z)
        assert np.array_equal(y, rows)
        assert np.array_equal(y, z)

        next_grad = np.random.default_rng(9).standard_normal(y.shape, dtype=np.float32)
        chain_grad, stack_grad = chain.backward(next_grad), stack.backward(next_grad)
        parts: list[Any] = []
        passed: Any = next_grad
        for layer in reversed(by_hand):
            parts.insert(0, layer.backward(passed))
            passed = parts[0].input
        assert isinstance(stack_grad, ChainGrad)
        assert np.array_equal(chain_grad.input, stack_grad.input.reshape(images.shape))
        assert np.array_equal(passed, chain_grad.input)
        named = stack.named_gradients(stack_grad)
        assert list(named) == list(chain.named_gradients(chain_grad)) == list(stack.state_dict())
        for name, expected in chain.named_gradients(chain_grad).items():
            assert np.array_equal(named[name], expected), name

        chain.update(SGD(0.1, momentum=0.9), chain_grad)
        stack.update(SGD(0.1, momentum=0.9), stack_grad)
        for layer, grad in zip(by_hand, parts, strict=True):
            layer.update(SGD(0.1, momentum=0.9), grad)
        for name, expected in chain.state_dict().items():
            assert np.array_equal(stack.state_dict()[name], expected), name
            number, _, field = name.partition(".")
            assert np.array_equal(getattr(by_hand[int(number)], field), expected), name


def test_stack_is_walked_as_a_chain() -> None:
    """P-D3: names, order, counts, state and printing are the chain's."""
    layers = lenet5_layers()
    layers[1].named("conv1")
    stack = Stack(layers, input=Input(28, 28, 1))
    chain = lenet5_chain()
    chain.parts[1].named("conv1")
    chain = Chain(chain.parts, Input(28, 28, 1))
    assert stack.parameter_shapes() == chain.parameter_shapes()
    assert next(iter(stack.parameter_shapes())) == "conv1.weight"
    assert stack.num_parameters() == chain.num_parameters() == 61_684
    assert str(stack) == str(chain).replace("Chain", "Stack", 1)
    stack.init(PCG32(1))
    chain.load_state_dict(stack.state_dict())
    assert len(stack) == 14
    assert stack[1] is layers[1]
    assert repr(Stack([Linear(2, 3), ReLU()], input=(2,))) == "Stack([Linear(2, 3), ReLU()], input=Input(2))"


def test_stack_takes_a_chain_apart() -> None:
    named = Sequential({"fc1": Linear(4, 3), "act": Tanh()}, input=Input(4))
    assert list(Stack(named).parameter_shapes()) == ["fc1.weight", "fc1.bias"]
    assert Stack(Linear(4, 3) >> Tanh(), input=(4,)).names == ("0", "1")
    assert Stack({"fc1": Linear(4, 3)}, input=[4]).names == ("fc1",)


def test_any_batch_size_after_any_other(images: Any) -> None:
    """P-D3: the batch is not frozen into the shapes, as it is in ml-rs."""
    stack = Stack(lenet5_layers(), input=(28, 28, 1)).init(PCG32(42, 6))
    for batch in (1, 3, 2):
        y = stack.forward(images.reshape(3, 784)[:batch])
        assert y.shape == (batch, 10)
        assert stack.backward(np.ones_like(y)).input.shape == (batch, 784)


def nested(make: Callable[[], list[Any]] = lenet5_layers) -> Stack:
    layers = make()
    return Stack(
        [
            Stack(layers[:4], input=(28, 28, 1)),
            Stack([*layers[4:7], Stack(layers[7:], input=(5, 5, 16))], input=(14, 14, 6)),
        ],
        input=(784,),
    )


def test_nested_stacks_equal_a_flat_one(images: Any) -> None:
    """P-D3: a stack is a layer for rows itself; its ``input`` gradient is its first layer's, not its last."""
    flat, deep = Stack(lenet5_layers(), input=(28, 28, 1)).init(PCG32(42, 6)), nested().init(PCG32(42, 6))
    rows = images.reshape(3, 784)
    y = flat.forward(rows)
    assert np.array_equal(y, deep.forward(rows))
    next_grad = np.random.default_rng(9).standard_normal(y.shape, dtype=np.float32)
    flat_grad, deep_grad = flat.backward(next_grad), deep.backward(next_grad)
    assert deep_grad.input.shape == (3, 784)
    assert np.array_equal(flat_grad.input, deep_grad.input)
    assert list(deep.parameter_shapes())[:2] == ["0.1.weight", "1.0.weight"]
    assert "1.3.1.weight" in deep.parameter_shapes()
    for expected, given in zip(flat.gradients(flat_grad), deep.gradients(deep_grad), strict=True):
        assert np.array_equal(expected, given)
    flat.update(SGD(0.1), flat_grad)
    deep.update(SGD(0.1), deep_grad)
    for expected, given in zip(flat.parameters(), deep.parameters(), strict=True):
        assert np.array_equal(expected, given)


def test_nested_stack_derivatives() -> None:
    """P-D3: central differences in float64, through stacks in stacks, wrappers and chains."""
    inner = Stack(
        [Conv2d(2, 3, 2, bias=True), Sigmoid(), Stack([Flatten(), Linear(12, 5)], input=(2, 2, 3))], input=(3, 3, 2)
    )
    model = Stack([Linear(4, 18), inner, Residual(Stack([Linear(5, 5), Tanh()], input=(5,))), Linear(5, 2)], input=(4,))
    gradcheck(model.init(PCG32(1)), np.random.default_rng(3).standard_normal((3, 4)))


def test_stack_is_a_layer_of_chains_and_wrappers() -> None:
    stack = Stack([Linear(4, 6), Tanh()], input=(4,))
    chain = Input(5, 4) >> PerPosition(stack) >> Residual(PerPosition(Linear(6, 6)))
    gradcheck(chain.init(PCG32(1)), np.random.default_rng(3).standard_normal((2, 5, 4)))
    with pytest.raises(StackError, match=r"^Stack cannot follow Input\(5\): expects 4 features, gets 5$"):
        Input(5) >> Stack([Linear(4, 6)], input=(4,))


def test_a_stack_in_a_stack_reads_its_row_as_its_own_input() -> None:
    stack = Stack([MaxPool2d(2), Stack([Linear(12, 3)], input=(12,))], input=(4, 4, 3)).init(PCG32(1))
    assert stack.forward(np.ones((2, 48), np.float32)).shape == (2, 3)
    with pytest.raises(StackError) as raised:
        Stack([MaxPool2d(2), Stack([Conv2d(3, 3, 2)], input=(2, 3, 3))], input=(4, 4, 3))
    assert (
        str(raised.value)
        == "Stack cannot follow MaxPool2d(2): expects 18 features, gets 12 (= 2*2*3, from MaxPool2d on 4x4x3)"
    )


def test_shared_stack_has_kept_values_of_its_own() -> None:
    stack = Stack([Linear(2, 2), Stack([Tanh(), Linear(2, 2)], input=(2,))], input=(2,)).init(PCG32(1))
    twin = stack.shared()
    x = np.ones((1, 2), np.float32)
    assert np.array_equal(stack.forward(x), twin.forward(2 * x / 2))
    stack.free_cache()
    with pytest.raises(NotForwarded):
        stack.backward(x)
    assert twin.backward(x).input.shape == (1, 2)
    assert all(ours is theirs for ours, theirs in zip(stack.parameters(), twin.parameters(), strict=True))
    assert all(ours is not theirs for ours, theirs in zip(stack.parts, twin.parts, strict=True))


def test_shared_parameters_are_stepped_once_with_the_sum() -> None:
    first = Linear(2, 2, rng=PCG32(1))
    stack = Stack([first, Tanh(), first.shared()], input=(2,))
    before = first.weight.copy()
    y = stack.forward(np.ones((1, 2), np.float32))
    grad = stack.backward(np.ones_like(y))
    assert stack.num_parameters() == 6
    stack.update(SGD(1.0), grad)
    assert np.allclose(first.weight, before - grad.parts[0].inner.weight - grad.parts[2].inner.weight)


def test_state_of_a_stack() -> None:
    stack = Stack([Linear(2, 2)], input=(2,))
    x = np.ones((1, 2), np.float32)
    with pytest.raises(NotInitialised, match=r'^layer "0": Linear\(2, 2\)\.weight was never filled'):
        stack.forward(x)
    stack.init(PCG32(1)).eval()
    stack.forward(x)
    with pytest.raises(NotForwarded):
        stack.backward(x)
    assert stack.train().astype(np.float64).forward(x.astype(np.float64)).dtype == np.float64


def test_a_huge_stack_allocates_nothing() -> None:
    assert Stack([Linear(10**6, 10**6)], input=(10**6,)).num_parameters() == 10**12 + 10**6


def test_sizes_are_checked() -> None:
    stack = Stack([Pad2d(1), Flatten(), Linear(48, 2)], input=(2, 2, 3)).init(PCG32(1))
    with pytest.raises(ShapeError) as raised:
        stack.forward(np.ones((2, 13), np.float32))
    assert str(raised.value) == (
        "Stack.forward: x must be rows of 12 numbers (= 2*2*3), got rows of 13; "
        "feed samples of 2x2x3, one row each, or declare another input"
    )
    with pytest.raises(ShapeError, match="must be rows of 3 numbers, got rows of 4; feed samples of 3, one row each"):
        Dyn(Linear(3, 4), (3,)).forward(np.ones((2, 4), np.float32))
    stack.forward(np.ones((2, 12), np.float32))
    with pytest.raises(ShapeError):
        stack.backward(np.ones((2, 3), np.float32))
    deep = Stack([Stack([Linear(2, 2)], input=(2,))], input=(2,)).init(PCG32(1))
    with pytest.raises(ShapeError, match=r"^Stack\.forward: x must be rows of 2"):
        deep.forward(np.ones((2, 3), np.float32))


@dataclass(frozen=True, slots=True)
class TokensGrad(Gradient):
    input: None


class Tokens(FirstLayer[IntArray2, Array3, TokensGrad]):
    def forward(self, x: Int[IntArray2, "batch time"]) -> Float[Array3, "batch time 1"]:
        raise AssertionError

    def backward(self, next_grad: Float[Array3, "batch time 1"]) -> TokensGrad:
        raise AssertionError


@dataclass(frozen=True, slots=True)
class PairGrad(Gradient, inputs=("left", "right")):
    left: Float[Array2, "batch features"]
    right: Float[Array2, "batch features"]


class Pair(MultiInput[Array2, PairGrad]):
    def forward(
        self, left: Float[Array2, "batch features"], right: Float[Array2, "batch features"]
    ) -> Float[Array2, "batch features"]:
        raise AssertionError

    def backward(self, next_grad: Float[Array2, "batch features"]) -> PairGrad:
        raise AssertionError


@dataclass(frozen=True, slots=True)
class VagueGrad(Gradient):
    input: Float[Array2, "batch features"]


class Vague(Layer[Array2, Array2, VagueGrad]):
    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch out_features"]:
        raise AssertionError

    def backward(self, next_grad: Float[Array2, "batch out_features"]) -> VagueGrad:
        raise AssertionError


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Stack([Linear(3, 4)], input=(2,)), "Linear(3, 4) cannot follow Input(2): expects 3 features, gets 2"),
        (
            lambda: Stack([Linear(3, 4), Linear(5, 6)], input=(3,)),
            "Linear(5, 6) cannot follow Linear(3, 4): expects 5 features, gets 4",
        ),
        (lambda: Stack([Linear], input=(2,)), "a Stack is made of layers, got the class Linear; call it"),
        (lambda: Stack([3], input=(2,)), "a Stack is made of layers, got int"),
        (
            lambda: Stack([Tokens()], input=(2,)),
            "Tokens() cannot be part of a Stack: it reads integers, and a Stack's rows are floats; build such a "
            "model with >>",
        ),
        (
            lambda: Stack([Pair()], input=(2,)),
            "Pair() cannot be part of a Stack: it takes several inputs; call it in a hand-written forward",
        ),
        (
            lambda: Stack([Vague(), ReLU()], input=(2,)),
            'Vague: a Stack must know every size from the input\'s, got "batch out_features"; '
            "say in the annotation of forward how it follows from the input's",
        ),
        (
            lambda: Stack([r := ReLU(), r], input=(2,)),
            "ReLU() stands twice in one stack, but a layer holds one forward; use a second instance or layer.shared()",
        ),
        (lambda: Dyn(Linear, (2,)), "a Stack is made of layers, got the class Linear; call it"),
        (lambda: Dyn(Linear(3, 2), (2,)), "Linear(3, 2) cannot follow Input(2): expects 3 features, gets 2"),
    ],
)
def test_layers_that_do_not_fit(build: Callable[[], object], message: str) -> None:
    with pytest.raises(StackError) as raised:
        build()
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Stack([], input=(2,)), "Stack: needs at least one layer, got none"),
        (lambda: Stack([ReLU()]), "Stack: must know one sample's shape, got no input; pass input=(28, 28, 1)"),
        (
            lambda: Stack([ReLU()], input=Input(3, dtype=int)),
            "Stack: reads rows of floats, got Input(3, dtype=int); leave dtype=int out",
        ),
        (lambda: Stack([ReLU()], input=(0,)), "Input: every size is a positive integer, got 0; leave the batch out"),
        (
            lambda: Stack([ReLU().named("a"), ReLU().named("a")], input=(2,)),
            "Stack: every part's name is its own, got 'a' twice; rename one with named(...)",
        ),
    ],
)
def test_arguments(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        build()
    assert str(raised.value) == message


def test_one_layer_in_two_places_is_noticed_at_the_first_forward() -> None:
    layer = Linear(2, 2, rng=PCG32(1))
    stack = Stack([Stack([layer], input=(2,)), Stack([layer], input=(2,))], input=(2,))
    with pytest.raises(LayerReused):
        stack.forward(np.ones((1, 2), np.float32))


def test_stack_is_a_module() -> None:
    assert isinstance(Stack([ReLU()], input=(2,)), Module)


# ------------------------------------------------------------------ any DynLayer


@dataclass(frozen=True)
class HalvesGrad(Gradient):
    input: Float[Array2, "batch features"]


class Halves:
    """Derives from nothing: the sum of a row's first and second half."""

    def __init__(self, out_features: Any = 4, in_features: Any = 8, wrong: int = 0) -> None:
        if out_features is not None:
            self.out_features = out_features
        if in_features is not None:
            self.in_features = in_features
        self.wrong = wrong
        self.steps = 0

    def forward(self, rows: Any) -> Any:
        half = rows.shape[1] // 2
        return rows[:, : half + self.wrong] + rows[:, half - self.wrong :]

    def backward(self, next_grad: Any) -> Any:
        return HalvesGrad(np.concatenate([next_grad, next_grad], axis=1))

    def update(self, optimizer: Any, grad: Any) -> None:
        self.steps += 1


def test_a_foreign_dyn_layer_is_a_part() -> None:
    """P-D1: between rows, whatever shape came before; numbers as those of the formula, in float64."""
    conv, last = Conv2d(1, 2, 2, rng=PCG32(1)).astype(np.float64), Linear(4, 3, rng=PCG32(2)).astype(np.float64)
    halves = Halves()
    stack = Stack([conv, halves, last], input=(3, 3, 1))
    assert stack.out_features == 3
    x = np.random.default_rng(0).standard_normal((5, 9))
    images = conv.shared().forward(x.reshape(5, 3, 3, 1)).reshape(5, 8)
    expected = (images[:, :4] + images[:, 4:]) @ last.weight.T + last.bias
    np.testing.assert_allclose(stack.forward(x), expected, rtol=1e-12)
    next_grad = np.ones((5, 3))
    gradient = stack.backward(next_grad)
    assert isinstance(gradient.parts[1], DynGrad)
    assert isinstance(gradient.parts[1].inner, HalvesGrad)
    rows = next_grad @ last.weight
    np.testing.assert_allclose(gradient.parts[1].input, np.concatenate([rows, rows], axis=1), rtol=1e-12)
    assert Stack({"conv": Conv2d(1, 2, 2), "halves": Halves(), "out": Linear(4, 3)}, input=(3, 3, 1)).names == (
        "conv",
        "halves",
        "out",
    )


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: Stack([Halves(out_features=None)], input=(8,)),
            "Halves: a part of a Stack declares out_features, how many numbers of a sample it gives, got no "
            "such attribute; "
            "set self.out_features to a positive integer",
        ),
        (lambda: Stack([Halves(out_features="4")], input=(8,)), "Halves: a part of a Stack declares out_features, "),
        (lambda: Stack([Halves(out_features=0)], input=(8,)), "Halves: a part of a Stack declares out_features, "),
        (
            lambda: Stack([Halves(in_features=2.0)], input=(8,)),
            "Halves: a part of a Stack declares in_features, how many numbers of a",
        ),
        (lambda: Stack([Halves()], input=(9,)), "Halves cannot follow Input(9): expects 8 features, gets 9"),
        (lambda: Stack([Halves()], input=(3, 3)), "Halves cannot follow Input(3, 3): expects 8 features, gets 9"),
        (
            lambda: Stack([Halves(), Linear(5, 2)], input=(8,)),
            "Linear(5, 2) cannot follow Halves: expects 5 features, gets 4",
        ),
        (lambda: Stack([object()], input=(8,)), "a Stack is made of layers, got object"),  # type: ignore[list-item]
        (lambda: Stack([Halves], input=(8,)), "a Stack is made of layers, got the class Halves; call it"),  # type: ignore[list-item]
    ],
)
def test_a_foreign_dyn_layer_that_does_not_fit_is_refused_by_name(build: Callable[[], object], message: str) -> None:
    with pytest.raises(StackError) as caught:
        build()
    assert str(caught.value).startswith(message)


def test_one_foreign_dyn_layer_stands_in_a_stack_once() -> None:
    halves = Halves(8, 8)
    with pytest.raises(StackError, match="Halves stands twice in one stack"):
        Stack([halves, halves], input=(8,))


def test_a_foreign_dyn_layer_keeps_its_word() -> None:
    stack = Stack([Halves(wrong=1), Linear(4, 2, rng=PCG32(1))], input=(8,))
    with pytest.raises(
        ShapeError, match=r"Halves.forward: gives 4 numbers per sample, as its out_features says, got shape \(5, 5\)"
    ):
        stack.forward(np.ones((5, 8), np.float32))
    free = Stack([Halves(in_features=None)], input=(8,))
    assert free.forward(np.ones((5, 8), np.float32)).shape == (5, 4)


def test_dyn_is_a_part_of_a_stack(images: Any) -> None:
    """P-D1: the same as the layer itself, and with a shape of its own a stack within the stack."""
    layers = [Conv2d(1, 2, 3, rng=PCG32(1)), ReLU(), Flatten(), Linear(26 * 26 * 2, 3, rng=PCG32(2))]
    plain = Stack([layer.shared() for layer in layers], input=(28, 28, 1))
    wrapped = Stack(
        [Dyn(layers[0], (28, 28, 1)), layers[1], layers[2], Dyn(layers[3], (26 * 26 * 2,))], input=(28, 28, 1)
    )
    rows = images.reshape(3, -1)
    np.testing.assert_array_equal(wrapped.forward(rows), plain.forward(rows))
    next_grad = np.ones((3, 3), np.float32)
    assert list(wrapped.state_dict()) == list(plain.state_dict())
    np.testing.assert_array_equal(
        wrapped.backward(next_grad).parts[0].inner.weight, plain.backward(next_grad).parts[0].inner.weight
    )
    other = Stack([Dyn(Conv2d(1, 2, 3, rng=PCG32(1)), (28, 28, 1))], input=(784,))
    np.testing.assert_array_equal(other.forward(rows), layers[0].shared().forward(images).reshape(3, -1))
    assert list(other.state_dict()) == ["0.0.weight"]
    with pytest.raises(StackError, match="expects 784 features, gets 9"):
        Stack([Dyn(Conv2d(1, 2, 3), (28, 28, 1))], input=(9,))


class Alike(DynLayer):
    """Derives from the Protocol, so it is enforced by itself as well."""

    out_features = 3

    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
        return x

    def backward(self, next_grad: Float[Array2, "batch features"]) -> HalvesGrad:
        return HalvesGrad(next_grad)

    def update(self, optimizer: Any, grad: HalvesGrad) -> None: ...


def test_a_class_on_dyn_layer_is_a_part() -> None:
    stack = Stack([Alike(), Linear(3, 2, rng=PCG32(1))], input=(3,))
    assert stack.backward(stack.forward(np.ones((2, 3), np.float32))).input.shape == (2, 3)
