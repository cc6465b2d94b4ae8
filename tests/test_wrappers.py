"""A layer that holds layers says in their annotations how it uses them: nothing else knows of it."""

from dataclasses import dataclass
from typing import Any, Generic, Literal

import numpy as np
import pytest
from jaxtyping import Float
from typing_extensions import TypeVar

from typednn import Array2, Array3, Gradient, Input, Layer, S, config, gradcheck
from typednn.config.registry import LAYERS
from typednn.errors import ConfigError, DefinitionError, ShapeError, StackError
from typednn.layers import (
    Concat,
    Conv2d,
    Flatten,
    Identity,
    Linear,
    Pad2d,
    PerPosition,
    ReLU,
    Repeat,
    Residual,
    Softmax,
    Tanh,
)
from typednn.shapes import Flow

Down = TypeVar("Down", covariant=True)
Up = TypeVar("Up", covariant=True)
RowsToRows = Layer[Array2, Array2, Any]


@dataclass(frozen=True, slots=True)
class BottleneckGrad(Gradient, Generic[Down, Up]):
    input: Float[Array2, "batch features"]
    down: Down
    up: Up


@dataclass(frozen=True, slots=True)
class InputGrad(Gradient):
    input: Float[Array2, "batch features"]


class Bottleneck(Layer[Array2, Array2, BottleneckGrad[Any, Any], S]):
    """From features to hidden and back."""

    down: Layer[Array2, Array2, Any, Literal["batch features -> batch hidden"]]
    up: Layer[Array2, Array2, Any, Literal["batch hidden -> batch features"]]

    def __init__(self, down: RowsToRows, up: RowsToRows) -> None:
        self.down = down
        self.up = up

    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
        return self.up.forward(self.down.forward(x))

    def backward(self, next_grad: Float[Array2, "batch features"]) -> BottleneckGrad[Any, Any]:
        up = self.up.backward(next_grad)
        down = self.down.backward(up.input)
        return BottleneckGrad(down.input, down, up)


@dataclass(frozen=True, slots=True)
class BlocksGrad(Gradient):
    input: Float[Array3, "batch time features"]
    blocks: list[Any]


class Blocks(Layer[Array3, Array3, BlocksGrad, S]):
    blocks: list[Layer[Array3, Array3, Any, Literal["batch time features -> batch time {self.out_features}"]]]

    def __init__(self, out_features: int, blocks: list[Layer[Array3, Array3, Any]]) -> None:
        self.out_features = out_features
        self.blocks = blocks

    def forward(self, x: Float[Array3, "batch time features"]) -> Float[Array3, "batch time {self.out_features}"]:
        for block in self.blocks:
            x = block.forward(x)
        return x

    def backward(self, next_grad: Float[Array3, "batch time {self.out_features}"]) -> BlocksGrad:
        gradients: list[Any] = []
        for block in reversed(self.blocks):
            gradients.append(block.backward(next_grad))
            next_grad = gradients[-1].input
        return BlocksGrad(next_grad, gradients[::-1])


def position(n: int, m: int) -> Any:
    return PerPosition(Linear(n, m))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: Bottleneck(Linear(6, 3), Linear(3, 5)),
            "Bottleneck(Linear(6, 3), Linear(3, 5)): the inner layer must give features=6, gives 5",
        ),
        (lambda: Bottleneck(Linear(6, 3), Linear(4, 6)), "Linear(4, 6): expects 4 features, gets 3"),
        (
            lambda: Input(5) >> Bottleneck(Linear(6, 3), Linear(3, 6)),
            "Linear(6, 3) cannot follow Input(5): expects 6 features, gets 5",
        ),
        (
            lambda: Input(6) >> Bottleneck(Linear(6, 3), Linear(3, 6)) >> Linear(8, 2),  # type: ignore[shape]
            "Linear(8, 2) cannot follow Bottleneck(Linear(6, 3), Linear(3, 6)): expects 8 features, gets 6",
        ),
        (
            lambda: Blocks(5, [position(4, 3), position(2, 5)]),
            "Linear(2, 5) cannot follow PerPosition(Linear(4, 3)): expects 2 features, gets 3",
        ),
        (
            lambda: Blocks(5, [position(4, 3), position(3, 6)]),
            "Blocks(5, [PerPosition(Linear(4, 3)), PerPosition(Linear(3, 6))]): the inner layer must give "
            "features=5, gives 6",
        ),
        (lambda: Blocks(5, position(4, 5)), "Blocks.blocks: holds a list or tuple of layers, got PerPosition"),
        (
            lambda: Residual(np.ones(3)),  # type: ignore[arg-type]
            "a stack is made of layers, got ndarray",
        ),
        (
            lambda: Repeat(Linear(3, 4), 1),
            "Repeat(Linear(3, 4), 1): the inner layer must keep the shape: gets 3, gives 4",
        ),
        (
            lambda: Residual(Linear(3, 4), shortcut=Linear(3, 5)),
            "Residual(Linear(3, 4), shortcut=Linear(3, 5)): shortcut must give 4, as inner does, gives 5",
        ),
        (
            lambda: Input(8, 8, 3) >> Residual(Pad2d(1) >> Conv2d(3, 4, 3, 2), shortcut=Conv2d(3, 4, 1)),
            "shortcut must give 4x4x4, as inner does, gives 8x8x4",
        ),
        (lambda: Residual(Linear(3, 4), shortcut=Linear(5, 4)), "Linear(5, 4): expects 5 features, gets 3"),
        (
            lambda: Input(10, 10, 3) >> Concat(Conv2d(3, 2, 3), Conv2d(3, 2, 5)),
            "branches.1 must give height-2 x width-2 before the last axis, as branches.0 does, gives height-4 x "
            "width-4",
        ),
        (
            lambda: Input(10, 10, 3) >> Concat(Identity(), Pad2d(1) >> Conv2d(3, 2, 3)) >> Conv2d(6, 1, 1),
            "expects 6 channels, gets 5 (= 3+2, from Input(10, 10, 3))",
        ),
        (lambda: Concat(Linear(3, 2), Flatten()), "Flatten: expects 3 or 4 axes, gets 2 axes (batch, 3)"),
        (lambda: Repeat(Linear(3, 4), 2), "Linear(3, 4) cannot follow Linear(3, 4): expects 3 features, gets 4"),
        (
            lambda: Repeat(Conv2d(1, 1, 3), 1),
            "Repeat(Conv2d(1, 1, 3), 1): the inner layer must keep the shape: gets height x width x 1, gives "
            "height-2 x width-2 x 1",
        ),
    ],
)
def test_refused_when_it_is_built(build: Any, message: str) -> None:
    with pytest.raises(StackError) as error:
        build()
    assert message in str(error.value)


def test_what_it_gives_follows_from_what_is_inside() -> None:
    assert Bottleneck(Linear(6, 3), Linear(3, 6)).trace(Flow.start()).contract == "batch 6 -> batch 6"
    assert Bottleneck(Softmax(), Softmax()).trace(Flow.start()).contract == "batch features -> batch features"
    assert Blocks(5, [position(4, 3), position(3, 5)]).trace(Flow.start()).contract == "batch time 4 -> batch time 5"
    assert (
        gradcheck(
            Bottleneck(Linear(6, 3), Linear(3, 6)).init(np.random.default_rng(0)), np.ones((2, 6), np.float32)
        ).error
        < 1e-6
    )
    assert Repeat(ReLU() >> Linear(3, 3), 3).trace(Flow.start()).contract == "batch 3 -> batch 3"


def test_branches_and_shortcuts_decide_what_is_read_and_given() -> None:
    assert Residual(Linear(3, 4), shortcut=Linear(3, 4)).trace(Flow.start()).contract == "batch 3 -> batch 4"
    assert Concat(Identity(), Linear(3, 2)).trace(Flow.start()).contract == "batch 3 -> batch 5"
    assert Concat(Linear(3, 2), Identity(), Linear(3, 1)).trace(Flow.start()).contract == "batch 3 -> batch 6"
    names = [
        *Concat(Identity(), Linear(3, 2)).parameter_shapes(),
        *Residual(Linear(3, 4), Linear(3, 4, False)).parameter_shapes(),
    ]
    assert names == ["branches.1.weight", "branches.1.bias", "inner.weight", "inner.bias", "shortcut.weight"]


def test_paths_that_do_not_say_what_they_give_are_compared_when_they_have_given_it() -> None:
    class Half:
        def forward(self, rows: Any) -> Any:
            return rows[:1]

        def backward(self, dy: Any) -> Any:
            raise AssertionError

        def update(self, optimizer: Any, grad: Any) -> None: ...

    x = np.ones((2, 1), np.float32)
    residual: Any = Residual(Half())  # type: ignore[arg-type]
    with pytest.raises(ShapeError):
        residual.eval().forward(x)
    both: Any = Concat(Half(), Identity())
    with pytest.raises(ShapeError):
        both.eval().forward(x)


def test_an_array_that_does_not_fit_is_refused_before_any_arithmetic() -> None:
    class Even(Layer[Array2, Array2, InputGrad, S]):
        """Drops the last column where their number is odd: nobody can know before the array is there."""

        def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch 2*(features//2)"]:
            raise AssertionError

        def backward(self, next_grad: Float[Array2, "batch features"]) -> InputGrad:
            raise AssertionError

    odd: Any = Residual(Even())
    with pytest.raises(ShapeError, match="the inner layer must keep the shape: gets 3, gives 2"):
        odd.forward(np.ones((2, 3), np.float32))


@pytest.mark.parametrize(
    ("contract", "message"),
    [
        ("batch *shape", "says what it reads and what it must give, got 'batch *shape'"),
        ("batch time -> batch features", "bound by forward, or by a layer inside that is declared before, got 'time'"),
        (
            "batch features -> batch features*time",
            "declared before, got 'time' in 'batch features -> batch features*time'",
        ),
        ("batch *rest -> batch *rest", "declared before, got '*rest'"),
        ("batch -> batch features", "Array2 promises 2 axes, got 1 axis in 'batch'"),
        ("batch feat(ures -> batch features", "not an expression"),
    ],
)
def test_a_contract_that_cannot_be_read_is_refused_with_its_class(contract: str, message: str) -> None:
    with pytest.raises(DefinitionError) as error:

        class Wrong(Layer[Array2, Array2, BottleneckGrad[Any, Any], S]):
            inner: Layer[Array2, Array2, Any, Literal[contract]]  # type: ignore[valid-type]

            def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
                raise AssertionError

            def backward(self, next_grad: Float[Array2, "batch features"]) -> BottleneckGrad[Any, Any]:
                raise AssertionError

    assert "Wrong.inner" in str(error.value) or "annotation" in str(error.value)
    assert message in str(error.value)


def test_what_was_never_assigned_says_so() -> None:
    class Forgetful(Bottleneck[str]):
        def __init__(self) -> None: ...

    layer = Forgetful()
    with pytest.raises(
        DefinitionError, match=r"Forgetful.up: a layer inside is assigned in the constructor, got nothing"
    ):
        layer.forward(np.ones((2, 3), np.float32))


def test_copies_learn_by_themselves() -> None:
    inner = Linear(3, 3) >> Tanh()
    model = Repeat(inner, 2).init(np.random.default_rng(0))
    names = list(model.named_parameters())
    assert names == ["copies.0.0.weight", "copies.0.0.bias", "copies.1.0.weight", "copies.1.0.bias"]
    first, _, second, _ = model.parameters()
    assert not np.array_equal(first, second)
    assert model.num_parameters() == 24
    x = np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32)
    y = model.forward(x)
    by_hand = x
    for weight, bias in zip(model.parameters()[::2], model.parameters()[1::2], strict=True):
        by_hand = np.tanh(by_hand @ weight.T + bias)
    np.testing.assert_allclose(y, by_hand, rtol=1e-6)
    gradient = model.backward(y)
    assert [part.parts[0].weight.shape for part in gradient.copies] == [(3, 3), (3, 3)]
    assert gradcheck(model, x).error < 1e-6


def test_a_config_reads_and_writes_wrappers_of_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAYERS, "Blocks", Blocks)
    text = """
format = 1
input = [7, 4]

[[layer]]
type = "Blocks"
out_features = 5
[[layer.blocks]]
type = "PerPosition"
[[layer.blocks.inner]]
type = "Linear"
in_features = 4
out_features = 3
[[layer.blocks]]
type = "Repeat"
times = 2
[[layer.blocks.inner]]
type = "PerPosition"
[[layer.blocks.inner.inner]]
type = "Linear"
in_features = 3
out_features = 3
[[layer.blocks]]
type = "PerPosition"
[[layer.blocks.inner]]
type = "Linear"
in_features = 3
out_features = 5
"""
    model = config.loads(text).model()
    assert model.out_features == 35
    again = config.loads(config.dumps(model)).model()
    assert list(again.parameter_shapes()) == list(model.parameter_shapes())
    with pytest.raises(ConfigError, match="the inner layer must give features=5, gives 6"):
        config.loads(text.replace("in_features = 3\nout_features = 5", "in_features = 3\nout_features = 6"))


def test_a_layer_inside_may_derive_from_nothing() -> None:
    class Shift:
        def forward(self, rows: Any) -> Any:
            return rows + 1.0

        def backward(self, dy: Any) -> Any:
            @dataclass
            class Grad:
                input: Any

            return Grad(dy)

        def update(self, optimizer: Any, grad: Any) -> None: ...

    layer: Any = Residual(Shift())  # type: ignore[arg-type]
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(layer.forward(x), 2 * x + 1)
    np.testing.assert_array_equal(layer.backward(x).input, 2 * x)
