"""Stacks: names, structure, messages when they are built, and what they refuse."""

import copy
import gc
import weakref
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float, Int

from typednn import (
    Array2,
    Array3,
    Chain,
    ElementwiseChain,
    FirstChain,
    FirstLayer,
    Gradient,
    Input,
    IntArray2,
    Kept,
    Layer,
    MultiInput,
    Parameter,
    S,
    Sequential,
    Stack,
    checking,
    gradcheck,
)
from typednn.errors import ArgumentError, LayerReused, ShapeError, StackError
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, Pad2d, PerPosition, PReLU, ReLU, Residual, Softmax, Tanh
from typednn.optim import SGD
from typednn.shapes import Flow
from typednn.testing.subject import bits, values


def test_a_misfit_is_told_when_the_stack_is_built() -> None:
    """P-P1, P-L1: both layers, both sizes, and the arithmetic."""
    features = (
        Input(32, 32, 3)
        >> Conv2d(3, 6, 5)
        >> ReLU()
        >> MaxPool2d(2)
        >> Conv2d(6, 16, 5)
        >> ReLU()
        >> MaxPool2d(2)
        >> Flatten()
    )
    with pytest.raises(StackError) as caught:
        features >> Linear(256, 120)
    assert str(caught.value) == (
        "Linear(256, 120) cannot follow Flatten: expects 256 features, gets 400 (= 5*5*16, from MaxPool2d on 10x10x16)"
    )


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: Linear(784, 128) >> Linear(127, 10),
            "Linear(127, 10) cannot follow Linear(784, 128): expects 127 features, gets 128",
        ),
        (
            lambda: Input(784) >> Linear(256, 10),
            "Linear(256, 10) cannot follow Input(784): expects 256 features, gets 784",
        ),
        (
            lambda: Conv2d(1, 6, 5) >> Conv2d(3, 8, 5),
            "Conv2d(3, 8, 5) cannot follow Conv2d(1, 6, 5): expects 3 channels, gets 6",
        ),
        (
            lambda: Sequential([Conv2d(1, 6, 5), Linear(3, 4)]),
            "Linear(3, 4) cannot follow Conv2d(1, 6, 5): expects 2 axes (batch, in_features=3), "
            "gets 4 axes (batch, height-4, width-4, 6); put Flatten() between them",
        ),
        (
            lambda: Input(4, 4, 1) >> Conv2d(1, 6, 5),
            "Conv2d(1, 6, 5) cannot follow Input(4, 4, 1): kernel does not fit: height-4 is 0 (= 4-5+1); height "
            "must be at least 5",
        ),
        (
            lambda: Residual(Linear(3, 4)),
            "Residual(Linear(3, 4)): the inner layer must keep the shape: gets 3, gives 4",
        ),
        (
            lambda: Input(5, 3) >> PerPosition(Linear(3, 4)) >> PerPosition(Linear(3, 4)),
            "Linear(3, 4) cannot follow PerPosition(Linear(3, 4)): expects 3 features, gets 4",
        ),
        (
            lambda: Conv2d(1, 6, 5) >> Flatten() >> Linear(7, 2),
            "Linear(7, 2) cannot follow Flatten: expects 7 features, gets 6*height*width-24*height-24*width+96 "
            "(= (height-4)*(width-4)*6, from Conv2d on height x width x 1)",
        ),
    ],
)
def test_messages_of_stacks(build: Any, message: str) -> None:
    with pytest.raises(StackError) as caught:
        build()
    assert str(caught.value) == message


def test_what_stays_open_is_decided_by_the_first_array_in_the_same_words() -> None:
    model = (Conv2d(1, 2, 3) >> Flatten() >> Linear(18, 2)).init(np.random.default_rng(0))
    assert model.forward(values((2, 5, 5, 1), dtype=np.float32)).shape == (2, 2)
    with pytest.raises(ShapeError) as caught:
        model.forward(values((2, 6, 5, 1), dtype=np.float32))
    assert (
        str(caught.value)
        == "Linear(18, 2) cannot follow Flatten: expects 18 features, gets 24 (= 4*3*2, from Conv2d on 6x5x1)"
    )


def test_names_do_not_change_when_a_layer_is_appended() -> None:
    """A8: ``>>`` flattens on the left; a chain on the right stays one part; given names are kept."""
    short = Linear(3, 4) >> ReLU() >> Linear(4, 5)
    long = short >> PReLU()
    assert list(short.parameter_shapes()) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert list(long.parameter_shapes()) == [*short.parameter_shapes(), "3.slope"]
    nested = Linear(2, 3) >> (Linear(3, 3) >> Linear(3, 4))
    assert list(nested.parameter_shapes()) == ["0.weight", "0.bias", "1.0.weight", "1.0.bias", "1.1.weight", "1.1.bias"]
    named = Linear(3, 4).named("fc1") >> ReLU() >> Linear(4, 5).named("fc2")
    assert list(named.parameter_shapes()) == ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]
    mapped = Sequential({"fc1": Linear(3, 4), "act": ReLU(), "fc2": Linear(4, 5)})
    assert list(mapped.parameter_shapes()) == list(named.parameter_shapes())
    flat = Sequential([short, PReLU(), Sequential([Linear(5, 5), Linear(5, 1)])])
    assert [name for name, _ in flat.children()] == ["0", "1", "2", "3", "4", "5"]
    with pytest.raises(ArgumentError, match="every part's name is its own, got 'fc' twice"):
        Linear(3, 3).named("fc") >> Linear(3, 3).named("fc")
    with pytest.raises(ArgumentError, match=r"a layer's name is an identifier, got 'fc\.1'"):
        Linear(3, 3).named("fc.1")


def test_a_growing_chain_looks_at_the_new_layer_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    traced: list[object] = []
    trace = Linear.trace
    monkeypatch.setattr(Linear, "trace", lambda self, flow: traced.append(self) or trace(self, flow))
    layers = [Linear(3, 3) for _ in range(50)]
    chain: Any = Input(3)
    for layer in layers:
        chain = chain >> layer
    assert traced == layers
    assert chain.trace(Flow.start(None)).sizes() == (3,)


@pytest.mark.parametrize("copied", [lambda chain: chain.shared(), copy.deepcopy, copy.copy])
def test_a_copied_chain_grows(copied: Any) -> None:
    chain = copied(Input(3) >> Linear(3, 4) >> ReLU())
    with pytest.raises(StackError, match=r"Linear\(5, 2\) cannot follow"):
        chain >> Linear(5, 2)
    assert repr(chain >> Linear(4, 2)).endswith("Linear(3, 4) >> ReLU() >> Linear(4, 2)")
    assert type(chain >> Linear(4, 2)) is Chain


def test_chains_that_grew_are_let_go() -> None:
    chain = Input(3) >> Linear(3, 3)
    grown = [chain >> ReLU() >> Linear(3, 3) for _ in range(3)]
    alive = [weakref.ref(each) for each in grown]
    del grown
    gc.collect()
    assert [each() for each in alive] == [None] * 3


def test_kinds_of_chain() -> None:
    assert type(ReLU() >> Tanh()) is ElementwiseChain
    assert type(ReLU() >> Linear(1, 1)) is Chain
    assert type((ReLU() >> Tanh()) >> Linear(1, 1)) is Chain
    assert type(Input(3) >> ReLU()) is Chain
    assert len(ReLU() >> Tanh() >> PReLU()) == 3
    assert repr(Input(3) >> Linear(3, 2) >> ReLU()) == "Input(3) >> Linear(3, 2) >> ReLU()"


def test_repr_writes_integers_of_any_kind_as_numbers() -> None:
    """As the mypy plugin names the layer."""

    class Width(IntEnum):
        WIDE = 48

    assert repr(Linear(Width.WIDE, 3)) == "Linear(48, 3)"
    assert repr(Linear(cast("int", np.int64(4)), 3, bias=False)) == "Linear(4, 3, bias=False)"


def five() -> Any:
    return Input(6, 5, 1) >> Conv2d(1, 2, 3) >> ReLU() >> Flatten() >> Linear(24, 4).named("fc") >> Tanh()


@pytest.mark.parametrize("made", [five, lambda: Sequential(list(five()), input=Input(6, 5, 1))])
def test_a_slice_of_a_chain_is_a_chain(made: Any) -> None:
    model = made().init(np.random.default_rng(0))
    first, second = model[:2], model[2:]
    assert isinstance(first, Chain)
    assert [*first, *second] == [*model]
    assert (first.sample, second.sample) != (None, None)
    assert repr(first.sample) == "Input(6, 5, 1)"
    assert repr(second.sample) == "Input(4, 3, 2)"
    assert second.names == ("0", "fc", "2")
    x = values((3, 6, 5, 1), 0, np.float32)
    np.testing.assert_allclose(second.forward(first.forward(x)), model.forward(x), rtol=1e-5)
    dy = values((3, 4), 1, np.float32)
    np.testing.assert_allclose(
        first.backward(second.backward(dy).input).input, model.backward(dy).input, rtol=1e-4, atol=1e-6
    )
    first.forward(x)  # the same layers: a step of one is a step of the other
    first.update(SGD(1.0), first.backward(values((3, 4, 3, 2), 2, np.float32)))
    np.testing.assert_allclose(second.forward(first.forward(x)), model.forward(x), rtol=1e-5)
    with pytest.raises(StackError, match="cannot follow"):
        model[::-1]
    with pytest.raises(ArgumentError, match=r"a slice has a part at least, got none in \[3:3\]"):
        model[3:3]
    with pytest.raises(ArgumentError, match=r"none in \[7:\]"):
        model[7:]
    with pytest.raises(IndexError):
        model[5]
    assert model[-1] is model["4"] is list(model)[4]
    with pytest.raises(ArgumentError, match="a part is known by its name, got 'fc1'; one of 0, 1, 2, fc, 4"):
        model["fc1"]


def test_a_slice_of_a_chain_without_an_input() -> None:
    assert (Linear(3, 4) >> ReLU() >> Linear(4, 2))[1:].sample is None
    assert type((ReLU() >> Tanh() >> PReLU())[1:]) is Sequential


def test_append() -> None:
    """As ``>>``: the chain itself stays as it was, and the layers are the same."""
    for chain in (Input(3) >> Linear(3, 4), Sequential([Linear(3, 4)]), Stack([Linear(3, 4)], input=(3,))):
        short: Any = chain
        long = short.append(ReLU()).append(Linear(4, 2).named("out")).init(np.random.default_rng(0))
        assert type(long) is type(short)
        assert (short.names, long.names) == (("0",), ("0", "1", "out"))
        assert long[0] is short[0]
        x = values((2, 3), 0, np.float32)
        assert long.forward(x).shape == (2, 2)
        assert len(long.backward(np.ones((2, 2), np.float32)).parts) == 3
        assert short.forward(x).shape == (2, 4)
        with pytest.raises(StackError, match=r"Linear\(5, 2\) cannot follow"):
            short.append(Linear(5, 2))
        with pytest.raises(StackError, match="stands twice in one stack"):
            short.append(short[0])
        with pytest.raises(StackError, match="made of layers, got int"):
            short.append(3)
    assert type((ReLU() >> Tanh()).append(PReLU())) is ElementwiseChain
    assert type((ReLU() >> Tanh()).append(Linear(1, 1))) is Chain


def test_a_chain_is_its_parts_by_hand() -> None:
    """P-P10: forward in order, backward in reverse, each layer's gradient in its place."""
    model = (Linear(3, 4) >> Tanh() >> Linear(4, 2) >> Softmax()).init(np.random.default_rng(0))
    x, dy = values((2, 3), 0, np.float32), values((2, 2), 1, np.float32)
    y = x
    for part in model.parts:
        y = part.forward(y)
    by_hand = []
    gradient = dy
    for part in reversed(model.parts):
        by_hand.insert(0, part.backward(gradient))
        gradient = by_hand[0].input
    model.free_cache()
    assert bits(model.forward(x)) == bits(y)
    whole = model.backward(dy)
    assert bits(whole.parts) == bits(tuple(by_hand))
    assert bits(whole.input) == bits(gradient)


def test_the_chain_rule_of_the_paper() -> None:
    """P-P8, P-L14: g = w·x, h = identity; w = 3, x = 5."""
    from typednn.layers import Identity

    model = (Linear(1, 1, bias=False) >> Identity()).init(np.random.default_rng(0))
    model.load_state_dict({"0.weight": np.array([[3.0]], np.float32)})
    assert model.forward(np.array([[5.0]], np.float32)) == 15
    gradient = model.backward(np.array([[1.0]], np.float32))
    assert gradient.input == 3
    assert gradient.parts[0].weight == 5
    assert gradient.parts[0].bias is None


def test_what_cannot_be_stacked() -> None:
    layer = Linear(3, 3)
    with pytest.raises(
        StackError, match=r"Linear\(3, 3\) stands twice in one stack, .* use a second instance or layer\.shared\(\)"
    ):
        layer >> layer
    with pytest.raises(StackError, match="a stack is made of layers, got the class Linear; call it"):
        layer >> Linear  # type: ignore[operator]
    with pytest.raises(StackError, match="a stack is made of layers, got int"):
        layer >> 3  # type: ignore[operator]
    with pytest.raises(ArgumentError, match="needs a list of layers, or a mapping of names to layers, got none"):
        Sequential([])
    with pytest.raises(StackError, match="a stack is made of layers, got str"):
        Sequential(["Linear"])  # type: ignore[list-item]
    inner = ReLU()
    model = (Linear(3, 3) >> inner >> Residual(Linear(3, 3) >> inner)).init(np.random.default_rng(0))
    with pytest.raises(LayerReused):
        model.forward(values((2, 3), dtype=np.float32))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Input(0), "every size is a positive integer, got 0; leave the batch out"),
        (lambda: Input(2.0), "every size is a positive integer, got 2.0"),  # type: ignore[call-overload]
        (lambda: Input(), "takes one to three sizes of one sample, got 0"),  # type: ignore[call-overload]
        (lambda: Input(1, 2, 3, 4), "takes one to three sizes of one sample, got 4"),  # type: ignore[call-overload]
        (lambda: Input(3, dtype=str), "dtype is float or int"),  # type: ignore[call-overload]
        (lambda: Linear(0, 1), "Linear: in_features must be an integer of at least 1, got 0"),
        (lambda: Linear(True, 1), "Linear: in_features must be an integer of at least 1, got True"),
        (lambda: Linear(1.5, 1), "Linear: in_features must be an integer of at least 1, got 1.5"),  # type: ignore[arg-type]
        (lambda: Linear(1, 1, weight_init="he"), "he"),
        (lambda: Conv2d(1, 1, (3,)), "kernel_size must be one integer or a pair (height, width), got (3,)"),  # type: ignore[arg-type]
        (lambda: Conv2d(1, 1, 3, stride=0), "stride must be an integer of at least 1, got 0"),
        (lambda: MaxPool2d("2"), "kernel_size must be one integer or a pair"),  # type: ignore[arg-type]
        (lambda: Pad2d(-1), "padding must be an integer of at least 0, got -1"),
        (lambda: Pad2d((1, 2)), "padding must be one integer or (left, right, top, bottom), got (1, 2)"),  # type: ignore[arg-type]
        (lambda: Pad2d(1, "reflect"), "mode must be one of 'constant', 'replicate', got 'reflect'"),  # type: ignore[arg-type]
        (lambda: PReLU(init=float("inf")), "init must be a finite number"),
    ],
)
def test_bad_arguments_are_told(make: Any, words: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        make()
    assert words in str(caught.value)


@dataclass(frozen=True, slots=True)
class EmbeddingGrad(Gradient):
    input: None
    weight: Float[Array2, "vocab features"]


class Embedding(FirstLayer[IntArray2, Array3, EmbeddingGrad, S]):
    """Tokens to vectors: a layer whose input has no derivative."""

    weight: Parameter[Float[Array2, "{self.vocab} {self.features}"]]
    _tokens: Kept[Int[IntArray2, "batch time"]]

    def __init__(self, vocab: int, features: int) -> None:
        self.vocab, self.features = vocab, features

    def forward(self, x: Int[IntArray2, "batch time"]) -> Float[Array3, "batch time {self.features}"]:
        self._tokens = x
        return self.weight[x]

    def backward(self, next_grad: Float[Array3, "batch time {self.features}"]) -> EmbeddingGrad:
        weight = np.zeros_like(self.weight)
        np.add.at(weight, self._tokens, next_grad)
        return EmbeddingGrad(None, weight)


def test_a_first_layer_reads_integers() -> None:
    """A5: no input gradient, first in a chain only; the rest of the stack is as ever."""
    model = (Input(3, dtype=int) >> Embedding(5, 4) >> PerPosition(Linear(4, 2))).init(np.random.default_rng(0))
    assert type(model) is FirstChain
    tokens = np.array([[0, 4, 4], [1, 2, 0]])
    assert model.forward(tokens).shape == (2, 3, 2)
    gradient = model.backward(values((2, 3, 2), dtype=np.float32))
    assert gradient.input is None
    assert gradient.parts[0].weight.shape == (5, 4)
    report = gradcheck(model, tokens)
    assert [quantity.name for quantity in report.quantities] == ["0.weight", "1.inner.weight", "1.inner.bias"]
    with pytest.raises(StackError, match=r"Embedding\(5, 4\) cannot follow Linear\(3, 3\): it reads integers"):
        Linear(3, 3) >> Embedding(5, 4)  # type: ignore[operator]
    with pytest.raises(StackError, match="it reads integers"):
        Sequential([Linear(3, 3), Embedding(5, 4)])


@given(st.lists(st.sampled_from(["linear", "relu", "residual"]), min_size=1, max_size=6), st.integers(0, 99))
def test_random_stacks_hand_and_chain_agree(kinds: list[str], seed: int) -> None:
    """A stack of anything is the composition of its parts, and its gradient the chain rule's."""
    rng = np.random.default_rng(seed)
    layers: list[Any] = []
    features = first = int(rng.integers(1, 4))
    for kind in kinds:
        if kind == "linear":
            wider = int(rng.integers(1, 4))
            layers.append(Linear(features, wider))
            features = wider
        elif kind == "relu":
            layers.append(Tanh())
        else:
            layers.append(Residual(Linear(features, features)))
    model = Sequential(layers, input=Input(first)).init(rng)
    report = gradcheck(model, values((2, first), seed))
    assert report.error < 1e-6
    assert model.trace(Input(first).flow).sizes() == (features,)


def test_printing_shows_names_shapes_and_counts() -> None:
    """The tree, each parameter's shape, the count."""
    model = (
        Input(6, 6, 1) >> Conv2d(1, 2, 3, bias=True).named("conv1") >> ReLU() >> Flatten() >> Linear(32, 3).named("fc")
    )
    assert str(model).splitlines() == [
        "         Chain",
        "  conv1  Conv2d(1, 2, 3, bias=True)  weight (2, 3, 3, 1), bias (2,)  20",
        "  1      ReLU()",
        "  2      Flatten()",
        "  fc     Linear(32, 3)               weight (3, 32), bias (3,)       99",
        "119 parameters",
    ]
    tied = Linear(2, 2)
    assert str(tied >> ReLU() >> tied.shared()).splitlines()[1:] == [
        "  0  Linear(2, 2)  weight (2, 2), bias (2,)                  6",
        "  1  ReLU()",
        "  2  Linear(2, 2)  weight shared with 0, bias shared with 0",
        "6 parameters",
    ]
    assert str(Linear(2, 3)) == "  Linear(2, 3)  weight (3, 2), bias (3,)  9\n9 parameters"


@dataclass(frozen=True)
class LosesGrad(Gradient):
    input: None


class LosesTheBatch(FirstLayer[IntArray2, Array2, LosesGrad]):
    def forward(self, x: Int[IntArray2, "rows time"]) -> Float[Array2, "time rows"]:
        return np.ascontiguousarray(x.T).astype(np.float32)

    def backward(self, next_grad: Float[Array2, "time rows"]) -> LosesGrad:
        return LosesGrad(None)


@dataclass(frozen=True)
class TurnsGrad(Gradient, inputs=("left", "right")):
    left: Float[Array2, "rows features"]
    right: Float[Array2, "rows features"]


class Turns(MultiInput[Array2, TurnsGrad]):
    def forward(
        self, left: Float[Array2, "rows features"], right: Float[Array2, "rows features"]
    ) -> Float[Array2, "features rows"]:
        return (left + right).T.copy()

    def backward(self, next_grad: Float[Array2, "features rows"]) -> TurnsGrad:
        return TurnsGrad(next_grad.T.copy(), next_grad.T.copy())


def test_who_reads_integers_or_several_arrays_keeps_the_batch() -> None:
    """The batch law holds for every layer, whatever its annotations call the first axis."""
    with pytest.raises(ShapeError, match=r"the result must be .*batch"):
        LosesTheBatch().forward(np.ones((2, 3), np.int64))
    with pytest.raises(ShapeError, match=r"the result must be .*batch"):
        Turns().forward(np.ones((2, 3), np.float32), np.ones((2, 3), np.float32))


@pytest.mark.parametrize("mode", ["full", "cached", "off"])
def test_a_subclass_asks_its_base(mode: Any) -> None:
    """``super().forward`` is a part of the layer's own forward, while training too; a second call from outside is still
    refused.
    """

    class Shifted(Scales):
        def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
            return super().forward(x + 1)

        def backward(self, next_grad: Float[Array2, "batch features"]) -> ScalesGrad:
            return ScalesGrad(super().backward(next_grad).input)

    layer: Any = Shifted()
    model = Input(3) >> Linear(3, 3) >> layer
    model.init(np.random.default_rng(0))
    x = np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32)
    with checking(mode):
        for _ in range(3):
            np.testing.assert_allclose(model.forward(x), 2 * (model[0].forward(x) + 1), rtol=1e-6)
            model.forward(x)
            np.testing.assert_array_equal(layer.backward(x).input, 2 * x)
            with pytest.raises(LayerReused):
                Sequential([layer, Again(layer)]).forward(x)
            layer.free_cache()


@dataclass(frozen=True)
class ScalesGrad(Gradient):
    input: Float[Array2, "batch features"]


class Scales(Layer[Array2, Array2, ScalesGrad, S]):
    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
        return 2 * x

    def backward(self, next_grad: Float[Array2, "batch features"]) -> ScalesGrad:
        return ScalesGrad(2 * next_grad)


class Again(Layer[Array2, Array2, ScalesGrad, S]):
    """Calls a layer that somebody else holds too."""

    def __init__(self, other: Any) -> None:
        self.other = (other,)

    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
        y: Any = self.other[0].forward(x)
        return y

    def backward(self, next_grad: Float[Array2, "batch features"]) -> ScalesGrad:
        return ScalesGrad(next_grad)
