"""Layers and losses from formulas: the laws of all layers, what is kept, when a formula is recorded, and what is
refused.
"""

import copy
import gc
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float, Integer
from safetensors.numpy import load_file, save_file

from typednn import (
    AnyArray,
    Array1,
    Array2,
    Array3,
    Buffer,
    Elementwise,
    ElementwiseGrad,
    Gradient,
    GraphElementwise,
    GraphLayer,
    GraphLoss,
    Input,
    Kept,
    Layer,
    Parameter,
    S,
    config,
    gradcheck,
)
from typednn.config import registry
from typednn.engines import using
from typednn.errors import ArgumentError, DefinitionError, NotForwarded, ShapeError, StackError, StateError
from typednn.graph import arange, linear, tanh, tril, where
from typednn.graph.graph import GRAPH
from typednn.graph.nodes import constant, tensor, unary
from typednn.graph.operations import Unary
from typednn.graph.passes import without_passes
from typednn.graph.tensor import AnyTensor, Tensor0, Tensor1, Tensor2, Tensor3
from typednn.graph.whole import decomposed
from typednn.graph_layer import GraphMultiInput
from typednn.layers import GELU, Linear, Softmax, Tanh
from typednn.losses import MSE
from typednn.module import recording
from typednn.optim import SGD
from typednn.testing import check_layer, check_loss

sizes = st.integers(1, 5)


@pytest.fixture(autouse=True)
def reference() -> Iterator[None]:
    """No kernels are compiled for sizes that occur once."""
    with using("reference"):
        yield


def exp(x: AnyTensor) -> AnyTensor:
    return unary(Unary.EXP, x)


def numbers(*shape: int, seed: int = 0, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


# ------------------------------------------------------------------ layers that are written as a formula


@final
@dataclass(frozen=True, slots=True)
class SwishGrad(Gradient):
    input: Float[Array2, "batch features"]
    beta: Float[Array1, " features"]


@final
class Swish(GraphLayer[Array2, Array2, SwishGrad, S]):
    """x · sigmoid(beta · x)."""

    beta: Parameter[Float[Array1, " {self.features}"]]

    def __init__(self, features: int) -> None:
        self.features = features

    def formula(self, x: Float[Tensor2, "batch {self.features}"]) -> Float[Tensor2, "batch {self.features}"]:
        return x / (1.0 + exp(-(self.beta * x)))


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    """Swish has a name in configs while these tests run."""
    config.register("GraphSwish")(Swish)
    yield
    del registry.LAYERS["GraphSwish"]


@final
@dataclass(frozen=True, slots=True)
class AffineGrad(Gradient):
    input: Float[Array2, "batch in_features"]
    weight: Float[Array2, "out_features in_features"]
    bias: Float[Array1, " out_features"] | None


@final
class Affine(GraphLayer[Array2, Array2, AffineGrad, S]):
    """A Linear of one's own: a product, whose pairs are never stored, and a parameter that may be absent."""

    weight: Parameter[Float[Array2, "{self.out_features} {self.in_features}"]]
    bias: Parameter[Float[Array1, " {self.out_features}"] | None]

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        self.in_features, self.out_features = in_features, out_features
        if not bias:
            self.bias = None

    def formula(self, x: Float[Tensor2, "batch {self.in_features}"]) -> Float[Tensor2, "batch {self.out_features}"]:
        y = x @ self.weight.T
        return y if self.bias is None else y + self.bias


@dataclass(frozen=True, slots=True)
class InputGrad(Gradient):
    input: Float[Array2, "batch features"]


@dataclass(frozen=True, slots=True)
class Input3Grad(Gradient):
    input: Float[Array3, "batch a b"]


@final
class LargestShare(GraphLayer[Array2, Array1, InputGrad, S]):
    """Backward needs the result as well as a reduction before it."""

    def formula(self, x: Float[Tensor2, "batch features"]) -> Float[Tensor1, " batch"]:
        powers = exp(x)
        return (powers / powers.sum(axis=1, keepdims=True)).max(axis=1)


@final
class RowSoftmax(GraphLayer[Array2, Array2, InputGrad, S]):
    """Two reductions, of which forward keeps the results."""

    def formula(self, x: Float[Tensor2, "batch features"]) -> Float[Tensor2, "batch features"]:
        powers = exp(x - x.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)


@dataclass(frozen=True, slots=True)
class ShiftedGrad(Gradient):
    input: Float[Array2, "batch features"]
    weight: Float[Array1, " features"]


@final
class Shifted(GraphLayer[Array2, Array2, ShiftedGrad, S]):
    """Reads a buffer, which has no derivative, beside a parameter of the same shape."""

    offset: Buffer[Float[Array1, " {self.features}"]]
    weight: Parameter[Float[Array1, " {self.features}"]]

    def __init__(self, features: int) -> None:
        self.features = features
        self.initialise_with(offset="ones")

    def formula(self, x: Float[Tensor2, "batch {self.features}"]) -> Float[Tensor2, "batch {self.features}"]:
        return self.weight * x * (x - self.offset)


@final
class TanhGELU(GraphElementwise[None]):
    """GPT-2's, in one line."""

    def formula(self, x: Float[AnyTensor, "*shape"]) -> Float[AnyTensor, "*shape"]:
        return 0.5 * x * (1.0 + unary(Unary.TANH, (2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)))


@final
@dataclass(frozen=True, slots=True)
class SlopeGrad(Gradient):
    slope: Float[Array1, "1"]


@final
class Leaky(GraphElementwise[SlopeGrad]):
    """Slope · x below zero: an elementwise layer with a parameter."""

    slope: Parameter[Float[Array1, "1"]]

    def formula(self, x: Float[AnyTensor, "*shape"]) -> Float[AnyTensor, "*shape"]:
        return unary(Unary.ABS, x) * (0.5 - 0.5 * tensor(self.slope)) + x * (0.5 + 0.5 * tensor(self.slope))


@final
@dataclass(frozen=True, slots=True)
class NetGrad(Gradient):
    input: Float[Array2, "batch in_features"]
    weight1: Float[Array2, "hidden in_features"]
    bias1: Float[Array1, " hidden"]
    weight2: Float[Array2, "out_features hidden"]


@final
class Net(GraphLayer[Array2, Array2, NetGrad, S]):
    """Two affine maps, the first by a whole op unless it is decomposed, and an activation between them."""

    weight1: Parameter[Float[Array2, "5 4"]]
    bias1: Parameter[Float[Array1, " 5"]]
    weight2: Parameter[Float[Array2, "3 5"]]

    def formula(self, x: Float[Tensor2, "batch 4"]) -> Float[Tensor2, "batch 3"]:
        weight1, bias1, weight2 = map(tensor, (self.weight1, self.bias1, self.weight2))
        return linear(tanh(linear(x, weight1, bias1)), weight2)


@final
class SquaredError(GraphLoss[Array2, Array2]):
    """The mean of (prediction - target)²."""

    def formula(
        self, prediction: Float[Tensor2, "batch features"], target: Float[Tensor2, "batch features"]
    ) -> Float[Tensor0, ""]:
        return ((prediction - target) ** 2).mean()


@final
class Weighted(GraphLoss[Array2, Array1]):
    """A sum of exponentials, weighted by an integer for each row."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def formula(
        self, prediction: Float[Tensor2, "batch features"], target: Integer[Tensor1, " batch"]
    ) -> Float[Tensor0, ""]:
        return (exp(prediction * self.scale).sum(axis=1) * target.cast(prediction.dtype)).sum()


LAYERS = [
    Swish(4),
    Affine(3, 2),
    Affine(3, 2, bias=False),
    RowSoftmax(),
    LargestShare(),
    Shifted(3),
    TanhGELU(),
    Leaky(),
    Net(),
]


@pytest.mark.parametrize("layer", LAYERS, ids=repr)
def test_every_law_of_layers(layer: Any) -> None:
    """Derivatives by differences, purity, batch, precision, state, eval, update, refusals, modes,
    traced sizes, config.
    """
    check_layer(layer, examples=3)


@pytest.mark.parametrize("loss", [SquaredError(), Weighted(0.5)], ids=repr)
def test_every_law_of_losses(loss: Any) -> None:
    check_loss(loss, examples=3)


# ------------------------------------------------------------------ the same numbers as layers that are written by hand


@given(sizes, sizes, sizes)
def test_a_formula_of_linear_is_linear(batch: int, features: int, outputs: int) -> None:
    by_hand, formula = Linear(features, outputs).astype(np.float64), Affine(features, outputs).astype(np.float64)
    formula.load_state_dict(by_hand.init(np.random.default_rng(0)).state_dict())
    x, next_grad = numbers(batch, features, dtype=np.float64), numbers(batch, outputs, seed=1, dtype=np.float64)
    np.testing.assert_allclose(formula.forward(x), by_hand.forward(x), rtol=1e-12, atol=1e-12)
    ours, theirs = formula.backward(next_grad), by_hand.backward(next_grad)
    for name in ("input", "weight", "bias"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12, atol=1e-12)


@given(st.lists(sizes, min_size=1, max_size=4))
def test_a_formula_of_gelu_is_gelu_at_any_rank(shape: list[int]) -> None:
    x, next_grad = numbers(*shape), numbers(*shape, seed=1)
    by_hand, formula = GELU("tanh"), TanhGELU()
    np.testing.assert_allclose(formula.forward(x), by_hand.forward(x), rtol=1e-5, atol=1e-6)
    ours: Any = formula.backward(next_grad)
    np.testing.assert_allclose(ours.input, by_hand.backward(next_grad).input, rtol=1e-5, atol=1e-5)
    assert ours.parameters is None


@given(sizes, sizes)
def test_a_formula_of_softmax_is_softmax(batch: int, features: int) -> None:
    x, next_grad = numbers(batch, features), numbers(batch, features, seed=1)
    by_hand, formula = Softmax(), RowSoftmax()
    np.testing.assert_allclose(formula.forward(x), by_hand.forward(x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        formula.backward(next_grad).input, by_hand.backward(next_grad).input, rtol=1e-4, atol=1e-6
    )


@given(sizes, sizes)
def test_a_formula_of_the_squared_error_is_mse(batch: int, features: int) -> None:
    prediction, target = numbers(batch, features), numbers(batch, features, seed=1)
    ours, by_hand = SquaredError(), MSE()
    assert ours.loss(prediction, target) == pytest.approx(by_hand.loss(prediction, target), rel=1e-5)
    np.testing.assert_allclose(
        ours.loss_grad(prediction, target), by_hand.loss_grad(prediction, target), rtol=1e-5, atol=1e-7
    )


def test_passes_change_nothing() -> None:
    x = numbers(5, 3)
    layer: Any = Affine(3, 2).init(np.random.default_rng(0))
    results = []
    for names in ((), ("products",), ("fold_constants", "common", "dead")):
        with without_passes(*names):
            y = layer.forward(x)
            results.append([y, layer.backward(y).input])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5)


# ------------------------------------------------------------------ in models


def test_a_stack_of_formulas_and_layers_learns() -> None:
    """X-N2: parameters have their names in a model, are saved as safetensors, and read back."""
    model = (Input(4) >> Linear(4, 8) >> TanhGELU() >> Swish(8).named("swish") >> Affine(8, 2)).init(
        np.random.default_rng(0)
    )
    assert list(model.state_dict()) == ["0.weight", "0.bias", "swish.beta", "3.weight", "3.bias"]
    assert gradcheck(model, numbers(5, 4)).error < 1e-7
    loss, optimizer = SquaredError(), SGD(lr=0.1)
    x, target = numbers(16, 4), numbers(16, 2, seed=1)
    losses = []
    for _ in range(20):
        value, gradient = loss.loss_and_grad(model.forward(x), target)
        losses.append(value)
        model.update(optimizer, model.backward(gradient))
    assert losses[-1] < 0.9 * losses[0]


def test_weights_are_saved_and_read_back(tmp_path: Path) -> None:
    """X-N2: as safetensors, by name, into a model that has no weights yet and into one that has others."""
    model: Any = (Input(4) >> Swish(4).named("swish") >> Affine(4, 2).named("head")).init(np.random.default_rng(0))
    save_file(model.state_dict(), tmp_path / "weights.safetensors")
    empty: Any = Input(4) >> Swish(4).named("swish") >> Affine(4, 2).named("head")
    full: Any = (Input(4) >> Swish(4).named("swish") >> Affine(4, 2).named("head")).init(np.random.default_rng(1))
    x = numbers(3, 4)
    for other in (empty, full):
        other.load_state_dict(load_file(tmp_path / "weights.safetensors"))
        assert np.array_equal(model.forward(x), other.forward(x))


def test_sizes_are_proven_when_it_is_stacked() -> None:
    with pytest.raises(StackError, match=r"Swish\(4\) cannot follow Linear\(4, 8\): expects 4 features, gets 8"):
        Input(4) >> Linear(4, 8) >> Swish(4)


def test_sizes_of_a_call_are_checked() -> None:
    layer: Any = Swish(4).init(np.random.default_rng(0))
    with pytest.raises(ShapeError, match=r"Swish\(4\)\.forward: x must be"):
        layer.forward(numbers(2, 3))
    layer.forward(numbers(2, 4))
    with pytest.raises(ShapeError, match="next_grad"):
        layer.backward(numbers(3, 4))
    with pytest.raises(ShapeError, match=r"SquaredError\.loss_grad: target must be"):
        SquaredError().loss_grad(numbers(2, 3), numbers(2, 4))


def test_it_is_a_layer_by_its_class() -> None:
    assert isinstance(Swish(2), Layer)
    assert isinstance(TanhGELU(), Elementwise)
    gradient: Any = TanhGELU()
    gradient.forward(numbers(2))
    assert isinstance(gradient.backward(numbers(2)), ElementwiseGrad)


def test_copies_share_no_state() -> None:
    layer: Any = Swish(3).init(np.random.default_rng(0))
    x = numbers(2, 3)
    y = layer.forward(x)
    for other in (copy.copy(layer), copy.deepcopy(layer)):
        other.forward(2 * x)
        assert np.array_equal(layer.backward(y).input, layer.backward(y).input)
        assert not np.array_equal(layer.backward(y).input, other.backward(y).input)
    second = layer.shared()
    second.beta[...] = 3
    assert np.array_equal(layer.beta, second.beta)


def test_many_threads_call_one_model_in_eval() -> None:
    layer: Any = Swish(3).init(np.random.default_rng(0)).eval()
    inputs = [numbers(1 + place % 7, 3, seed=place) for place in range(40)]
    expected = [layer.forward(x) for x in inputs]
    fresh: Any = Swish(3)
    fresh.load_state_dict(layer.state_dict())
    fresh.eval()
    with ThreadPoolExecutor(4) as pool:
        for a, b in zip(pool.map(fresh.forward, inputs), expected, strict=True):
            assert np.array_equal(a, b)


def test_training_leaves_no_nodes_behind() -> None:
    """The graph is as small as before."""
    gc.collect()
    before = len(GRAPH)
    layer: Any = Affine(3, 2).init(np.random.default_rng(0))
    for batch in (1, 2, 3):
        layer.backward(layer.forward(numbers(batch, 3)))
        SquaredError().loss_and_grad(numbers(batch, 3), numbers(batch, 3, seed=1))
    gc.collect()
    assert len(GRAPH) == before


# ------------------------------------------------------------------ what is kept


def test_a_chain_of_numbers_keeps_its_input_alone() -> None:
    layer: Any = Swish(3).init(np.random.default_rng(0))
    x = numbers(2, 3)
    layer.forward(x)
    assert layer._inputs[0] is x
    assert layer._reduced == []


def test_results_of_reductions_are_kept() -> None:
    layer: Any = RowSoftmax()
    layer.forward(numbers(4, 3))
    assert sorted(array.shape for array in layer._reduced) == [(4,), (4,)]


def test_in_eval_nothing_is_kept() -> None:
    layer: Any = RowSoftmax().eval()
    y = layer.forward(numbers(4, 3))
    assert np.array_equal(y, RowSoftmax().forward(numbers(4, 3)))
    with pytest.raises(NotForwarded):
        layer.backward(y)


def test_derivatives_are_arrays_of_their_own() -> None:
    """The derivatives of x + bias are the one by the result, moved: with one row, even in the same order."""

    @dataclass(frozen=True, slots=True)
    class BiasGrad(Gradient):
        input: Float[Array2, "batch features"]
        bias: Float[Array1, " features"]

    class Bias(GraphLayer[Array2, Array2, BiasGrad, S]):
        bias: Parameter[Float[Array1, " 3"]]

        def formula(self, x: Float[Tensor2, "batch 3"]) -> Float[Tensor2, "batch 3"]:
            return x + self.bias

    layer: Any = Bias().init(np.random.default_rng(0))
    layer.forward(numbers(1, 3))
    next_grad = np.ones((1, 3), np.float32)
    gradient = layer.backward(next_grad)
    next_grad[...] = 7
    assert (gradient.input == 1).all()
    assert (gradient.bias == 1).all()


def test_results_lie_in_numpys_order() -> None:
    class Turned(GraphLayer[Array3, Array3, Input3Grad, S]):
        def formula(self, x: Float[Tensor3, "batch a b"]) -> Float[Tensor3, "batch b a"]:
            return exp(x).permute(0, 2, 1)

    layer: Any = Turned()
    x = numbers(2, 3, 4)
    y = layer.forward(x)
    np.testing.assert_allclose(y, np.exp(x).transpose(0, 2, 1), rtol=1e-6)
    assert y.flags.c_contiguous
    assert layer.backward(y).input.flags.c_contiguous


def test_derivatives_that_were_only_spread_are_whole_arrays() -> None:
    """The derivative of a sum repeats one number along an axis: a view of NumPy's could not be written, nor read in
    order.
    """

    class Total(GraphLayer[Array2, Array1, InputGrad, S]):
        def formula(self, x: Float[Tensor2, "batch features"]) -> Float[Tensor1, " batch"]:
            return x.sum(axis=1)

    layer: Any = Total()
    next_grad = layer.forward(numbers(3, 4))
    found = layer.backward(next_grad).input
    assert np.array_equal(found, np.repeat(next_grad[:, None], 4, axis=1))
    assert found.flags.c_contiguous
    assert found.flags.writeable


def test_a_formula_leaves_nothing_in_its_layer() -> None:
    class Leaves(GraphLayer[Array2, Array2, InputGrad, S]):
        _seen: Kept[Any]

        def formula(self, x: Float[Tensor2, "batch features"]) -> Float[Tensor2, "batch features"]:
            self._seen = self.noted = x
            return x * 2.0

    layer: Any = Leaves()
    layer.forward(numbers(2, 3))
    assert "_seen" not in layer.__typednn_calls__.kept
    assert not hasattr(layer, "noted")


# ------------------------------------------------------------------ a derivative by the input that nobody may read


@final
@dataclass(frozen=True, slots=True)
class OuterGrad(Gradient):
    input: Float[Array2, "batch in_features"]
    net: NetGrad


class Outer(Layer[Array2, Array2, OuterGrad, S]):
    """A model that reads the derivative by the input of its part."""

    def __init__(self, net: Any) -> None:
        self.net: Net[Any] = net

    def forward(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 3"]:
        return self.net.forward(x)

    def backward(self, next_grad: Float[Array2, "batch 3"]) -> OuterGrad:
        gradient = self.net.backward(next_grad)
        assert not gradient.is_deferred
        return OuterGrad(gradient.input, gradient)


def net() -> Any:
    return Net().init(np.random.default_rng(0))


def by_hand(model: Any) -> Any:
    """The same net of layers."""
    layers: Any = Input(4) >> Linear(4, 5) >> Tanh() >> Linear(5, 3, bias=False)
    layers.astype(model.dtype)
    names = ("0.weight", "0.bias", "2.weight")
    layers.load_state_dict(dict(zip(names, model.state_dict().values(), strict=True)))
    return layers


@pytest.mark.parametrize("ops", ["whole", "decomposed"])
@pytest.mark.parametrize("batch", [1, 7])
def test_it_is_computed_when_it_is_read(ops: str, batch: int) -> None:
    """And is what layers give, though next_grad and the gradient were written into meanwhile."""
    model = net().astype(np.float64)
    x, next_grad = numbers(batch, 4, dtype=np.float64), numbers(batch, 3, seed=1, dtype=np.float64)
    layers = by_hand(model)
    layers.forward(x)
    expected = layers.backward(next_grad.copy())
    with decomposed() if ops == "decomposed" else nullcontext():
        model.forward(x)
    gradient = model.backward(next_grad)
    assert gradient.is_deferred
    np.testing.assert_allclose(gradient.weight1, expected.parts[0].weight, rtol=1e-10)
    np.testing.assert_allclose(gradient.weight2, expected.parts[2].weight, rtol=1e-10)
    assert "input" not in repr(gradient)
    for array in (next_grad, *gradient.leaves().values()):
        array[...] = 9.0
    np.testing.assert_allclose(gradient.input, expected.input, rtol=1e-10)
    assert not gradient.is_deferred
    assert gradcheck(model, x).error < 1e-7


def test_a_model_that_begins_with_it_puts_it_off_too() -> None:
    model = net()
    x, next_grad = numbers(2, 4), numbers(2, 3, seed=1)
    model.forward(x)
    expected = model.backward(next_grad).input
    chain: Any = Input(4) >> model >> Linear(3, 3, rng=np.random.default_rng(1)) >> Tanh()
    for longer in (Input(4) >> model, Input(4) >> model >> Tanh(), chain):
        longer.forward(x)
        gradient = longer.backward(next_grad)
        assert gradient.is_deferred
        assert gradcheck(longer, x).error < 1e-6
    whole = Outer(model)
    whole.forward(x)
    np.testing.assert_allclose(whole.backward(next_grad).input, expected, rtol=1e-5)


def test_where_it_is_read_anyway_it_is_computed_at_once() -> None:
    later: Any = Input(4) >> Linear(4, 4, rng=np.random.default_rng(1)) >> net()
    later.forward(numbers(2, 4))
    assert not later.backward(numbers(2, 3)).parts[1].is_deferred


@pytest.mark.parametrize("layer", [Swish(4), RowSoftmax()], ids=repr)
def test_where_that_saves_nothing_it_is_computed_at_once(layer: Any) -> None:
    """Number by number, or with no parameters."""
    layer.init(np.random.default_rng(0))
    assert not layer.backward(layer.forward(numbers(2, 4))).is_deferred


def test_gradients_that_are_made_of_it_put_it_off() -> None:
    model = net()
    model.forward(numbers(2, 4))
    gradient = model.backward(numbers(2, 3))
    total: Any = 0.5 * (gradient + gradient)
    assert total.is_deferred
    assert gradient.is_deferred
    assert total.input is gradient.input
    assert np.array_equal(copy.deepcopy(gradient).input, gradient.input)


def written(array: Any) -> None:
    array[...] = array + 1


CHANGES = {
    "an update": (lambda model, x, grad: model.update(SGD(lr=1e-7), grad), "changed weights"),
    "load_state_dict": (
        lambda model, x, grad: model.load_state_dict(copy.deepcopy(model.state_dict())),
        "changed weights",
    ),
    "astype": (lambda model, x, grad: model.astype(np.float64), "another forward"),
    "numbers in the weights": (lambda model, x, grad: written(model.weight1), "written into"),
    "numbers in the input": (lambda model, x, grad: written(x), "written into"),
    "another forward": (lambda model, x, grad: model.forward(x), "another forward"),
    "free_cache": (lambda model, x, grad: model.free_cache(), "another forward"),
    "eval": (lambda model, x, grad: model.eval(), "another forward"),
}


@pytest.mark.parametrize(("change", "got"), CHANGES.values(), ids=CHANGES)
def test_it_is_refused_after_a_change(change: Any, got: str) -> None:
    """Rather than computed of other numbers."""
    model, x = net(), numbers(2, 4)
    model.forward(x)
    gradient = model.backward(numbers(2, 3))
    change(model, x, gradient)
    with pytest.raises(StateError, match=rf"Net\.backward: .* when it is read, .*{got}.*; read it before update"):
        _ = gradient.input


def test_what_forward_kept_is_not_held_by_gradients() -> None:
    model = net()
    gradients: list[Any] = []
    kept: list[Any] = []
    for seed in range(3):
        x = numbers(2, 4, seed=seed)
        model.forward(x)
        gradients.append(model.backward(numbers(2, 3)))
        kept.append(weakref.ref(x))
        del x
    assert [each() is None for each in kept] == [True, True, False]
    with pytest.raises(StateError, match="another forward"):
        _ = gradients[0].input


def test_gradients_that_cannot_do_without_it_have_it() -> None:
    """A class with a __post_init__ of its own sees whole gradients."""
    seen = list[Any]()

    @dataclass(frozen=True)
    class SeenGrad(Gradient):
        input: Float[Array2, "batch in_features"]
        weight: Float[Array2, "out_features in_features"]

        def __post_init__(self) -> None:
            seen.append(self.input)

    class Seen(GraphLayer[Array2, Array2, SeenGrad, S]):
        weight: Parameter[Float[Array2, "3 4"]]

        def formula(self, x: Float[Tensor2, "batch 4"]) -> Float[Tensor2, "batch 3"]:
            return linear(x, tensor(self.weight)) ** 2

    model: Any = Seen().init(np.random.default_rng(0))
    gradient = model.backward(model.forward(numbers(2, 4)))
    assert not gradient.is_deferred
    assert seen[0] is gradient.input


def test_gradients_whose_sizes_follow_from_it_have_it() -> None:
    """An axis ``in_features+1`` is checked against the input's, so that must be there."""

    @dataclass(frozen=True, slots=True)
    class FollowsGrad(Gradient):
        input: Float[Array2, "batch in_features"]
        weight1: Float[Array2, "in_features+1 in_features"]
        weight2: Float[Array2, "3 in_features+1"]

    class Follows(GraphLayer[Array2, Array2, FollowsGrad, S]):
        weight1: Parameter[Float[Array2, "5 4"]]
        weight2: Parameter[Float[Array2, "3 5"]]

        def formula(self, x: Float[Tensor2, "batch 4"]) -> Float[Tensor2, "batch 3"]:
            return linear(tanh(linear(x, tensor(self.weight1))), tensor(self.weight2))

    model: Any = Follows().init(np.random.default_rng(0))
    assert not model.backward(model.forward(numbers(2, 4))).is_deferred


# ------------------------------------------------------------------ when a formula is recorded


class _Counted:
    times = 0


@pytest.fixture
def counted() -> type[_Counted]:
    _Counted.times = 0
    return _Counted


@final
class Power(GraphElementwise[None]):
    """x·factor, or x·factor² where it is trained; counts how often it is recorded."""

    def __init__(self, factor: Any) -> None:
        self.factor = factor

    def formula(self, x: Float[AnyTensor, "*shape"]) -> Float[AnyTensor, "*shape"]:
        _Counted.times += 1
        factor: Any = self.factor[0] if isinstance(self.factor, list | tuple) else self.factor
        return x * (factor * factor if self.training else factor)


def test_it_is_recorded_once_for_each_shape_and_dtype(counted: type[_Counted]) -> None:
    layer = Power(2.5)
    for _ in range(3):
        layer.backward(layer.forward(numbers(2, 3)))
    assert counted.times == 1
    Power(2.5).forward(numbers(2, 3))
    assert counted.times == 1, "layers of one class with equal attributes share their recordings"
    layer.forward(numbers(2, 4))
    layer.forward(numbers(2, 4, dtype=np.float64))
    assert counted.times == 3


def test_attributes_that_change_are_seen(counted: type[_Counted]) -> None:
    layer = Power(3.5)
    x = numbers(2, 3)
    before = layer.forward(x)
    layer.factor = 4.5
    np.testing.assert_allclose(layer.forward(x), x * 4.5**2, rtol=1e-6)
    layer.eval()
    np.testing.assert_allclose(layer.forward(x), x * 4.5, rtol=1e-6)
    layer.factor = (3.5,)
    layer.train()
    assert np.array_equal(layer.forward(x), before)
    assert counted.times == 4


def test_attributes_that_cannot_be_compared_are_read_each_time(counted: type[_Counted]) -> None:
    layer = Power([2.0])
    x = numbers(2, 3)
    for factor in (2.0, 3.0, 4.0):
        layer.factor[0] = factor
        np.testing.assert_allclose(layer.forward(x), x * factor * factor, rtol=1e-6)
    assert counted.times == 3


def test_arrays_that_a_formula_makes_are_not_remembered() -> None:
    """A mask that is drawn anew at each call: backward has the one of its forward."""
    rng = np.random.default_rng(0)

    class Dropped(GraphElementwise[None]):
        def formula(self, x: Float[AnyTensor, "*shape"]) -> Float[AnyTensor, "*shape"]:
            return x * tensor(rng.integers(0, 2, x.shape).astype(np.float32))

    layer: Any = Dropped()
    x = np.ones((8, 8), np.float32)
    masks = [layer.forward(x) for _ in range(2)]
    assert not np.array_equal(*masks)
    assert np.array_equal(layer.backward(x).input, masks[1])


def test_arrays_of_a_formula_are_remembered_where_nobody_changes_them(counted: type[_Counted]) -> None:
    factors = np.arange(3, dtype=np.float32)

    class Times(GraphElementwise[None]):
        def formula(self, x: Float[AnyTensor, "*shape"]) -> Float[AnyTensor, "*shape"]:
            counted.times += 1
            return x * tensor(factors)

    layer: Any = Times()
    x = numbers(2, 3)
    for factor in (1, 2, 3):
        factors[...] = factor
        assert np.array_equal(layer.forward(x), x * factor)
        assert np.array_equal(layer.backward(x).input, x * factor)
    assert counted.times == 3
    factors.flags.writeable = False
    for _ in range(3):
        assert np.array_equal(layer.forward(x), x * 3)
        assert np.array_equal(layer.backward(x).input, x * 3)
    assert counted.times == 5, "the first with an array that nobody changes, and the second, which has the same one"


def test_counting_leaves_are_remembered(counted: type[_Counted]) -> None:
    """`arange`, of which `tril` is made, gives one array that nobody can change."""

    class Lower(GraphLayer[Array2, Array2, InputGrad, S]):
        def formula(self, x: Float[Tensor2, "batch features"]) -> Float[Tensor2, "batch features"]:
            counted.times += 1
            return tril(x)

    layer: Any = Lower()
    for seed in range(4):
        x = numbers(3, 4, seed=seed)
        assert np.array_equal(layer.forward(x), np.tril(x))
        assert np.array_equal(layer.backward(x).input, np.tril(x))
    assert counted.times == 2
    assert not arange(3).array.flags.writeable


def test_recordings_that_are_not_used_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_REMEMBERED", 4)
    monkeypatch.setattr(recording, "_recordings", {})
    for batch in range(1, 9):
        x = numbers(batch, 2)
        np.testing.assert_allclose(SquaredError().loss(x, x + 2), 4.0, rtol=1e-6)
    assert len(recording._recordings) == 4


# ------------------------------------------------------------------ refusals


def test_a_formula_sees_no_numbers() -> None:
    class Asks(GraphElementwise[None]):
        def formula(self, x: Float[AnyTensor, "*shape"]) -> Float[AnyTensor, "*shape"]:
            return x * float(x.max().item())

    class Branches(GraphElementwise[None]):
        def formula(self, x: Float[AnyTensor, "*shape"]) -> Float[AnyTensor, "*shape"]:
            return x if x.max() > 0 else -x

    with pytest.raises(StateError, match=r"Asks\.formula: is recorded: no number is known in it, got a request"):
        Asks().forward(numbers(2))
    with pytest.raises(TypeError, match="neither true nor false"):
        Branches().forward(numbers(2))


def test_a_formula_gives_a_tensor() -> None:
    class Gives(GraphElementwise[None]):
        def formula(self, x: Float[AnyTensor, "*shape"]) -> Float[AnyTensor, "*shape"]:
            return np.zeros(x.shape)  # type: ignore[return-value]

    with pytest.raises(ArgumentError, match=r"Gives\.formula: gives a tensor, got ndarray"):
        Gives().forward(numbers(2))


def test_a_formula_gives_what_it_promises() -> None:
    class Promises(GraphElementwise[None]):
        def formula(self, x: Float[AnyTensor, "*shape"]) -> Float[AnyTensor, "*shape"]:
            return x.sum()

    with pytest.raises(ShapeError, match=r"Promises\.forward: the result must be"):
        Promises().forward(numbers(2))


def test_a_loss_is_one_number() -> None:
    class Several(GraphLoss[Array2, Array2]):
        def formula(
            self, prediction: Float[Tensor2, "batch n"], target: Float[Tensor2, "batch n"]
        ) -> Float[Tensor2, "batch n"]:
            return prediction - target

    with pytest.raises(ArgumentError, match=r"Several\(\)\.formula: gives one number, got shape \(2, 3\)"):
        Several().loss(numbers(2, 3), numbers(2, 3))


def test_annotations_are_of_tensors() -> None:
    with pytest.raises(DefinitionError, match=r"OfArrays\.formula: inputs and result are tensors with named axes"):

        class OfArrays(GraphElementwise[None]):
            def formula(self, x: Float[AnyArray, "*shape"]) -> Float[AnyTensor, "*shape"]:
                return tensor(x)

    with pytest.raises(DefinitionError, match="Tensor2 promises 2 axes"):

        class OfRank(GraphElementwise[None]):
            def formula(self, x: Float[Tensor2, "a b c"]) -> Float[AnyTensor, "*shape"]:
                return x

    with pytest.raises(DefinitionError, match="every parameter must be annotated"):

        class Without(GraphElementwise[None]):
            def formula(self, x) -> Float[AnyTensor, "*shape"]:  # type: ignore[no-untyped-def]
                return x

    with pytest.raises(DefinitionError, match=r"Two\.formula: takes tensors: 1, got x, y"):

        class Two(GraphElementwise[None]):
            def formula(
                self, x: Float[AnyTensor, "*shape"], y: Float[AnyTensor, "*shape"]
            ) -> Float[AnyTensor, "*shape"]:
                return x * y

    with pytest.raises(DefinitionError, match="the Protocol promises 2 axes"):

        class OtherRank(GraphLayer[Array2, Array2, InputGrad, S]):
            def formula(self, x: Float[Tensor2, "batch features"]) -> Float[Tensor1, " batch"]:
                return x.sum(axis=1)


def test_the_gradient_has_a_field_for_each_parameter() -> None:
    with pytest.raises(DefinitionError, match=r"Forgets\.backward: InputGrad must have a field 'weight'"):

        class Forgets(GraphLayer[Array2, Array2, InputGrad, S]):
            weight: Parameter[Float[Array1, " 3"]]

            def formula(self, x: Float[Tensor2, "batch 3"]) -> Float[Tensor2, "batch 3"]:
                return x * self.weight

    with pytest.raises(DefinitionError, match="names its gradient among the type arguments of GraphLayer"):

        class Unnamed(GraphLayer):  # type: ignore[type-arg]
            def formula(self, x: Float[Tensor2, "batch 3"]) -> Float[Tensor2, "batch 3"]:
                return x


def test_a_layer_inside_is_refused() -> None:
    class Holds(GraphLayer[Array2, Array2, InputGrad, S]):
        def __init__(self) -> None:
            self.inner = Linear(3, 3)

        def formula(self, x: Float[Tensor2, "batch 3"]) -> Float[Tensor2, "batch 3"]:
            return x

    with pytest.raises(DefinitionError, match=r"Holds\.formula: has parameters, and no layers inside"):
        Holds().forward(numbers(2, 3))


def test_parts_that_play_no_part_have_derivatives_of_zero() -> None:
    @dataclass(frozen=True, slots=True)
    class UnusedGrad(Gradient):
        input: Float[Array2, "batch features"]
        weight: Float[Array1, " features"]

    class Unused(GraphLayer[Array2, Array2, UnusedGrad, S]):
        weight: Parameter[Float[Array1, " 3"]]

        def formula(self, x: Float[Tensor2, "batch 3"]) -> Float[Tensor2, "batch 3"]:
            return constant(1.0, x.dtype, x.shape)

    layer: Any = Unused().init(np.random.default_rng(0))
    gradient = layer.backward(layer.forward(numbers(2, 3)))
    assert not gradient.input.any()
    assert not gradient.weight.any()
    assert gradient.weight.shape == (3,)


@dataclass(frozen=True)
class GatedGrad(Gradient, inputs=("value", "gate", "places")):
    value: Float[Array2, "batch 3"]
    gate: Float[Array2, "batch 3"]
    places: None
    scale: Float[Array1, "3"]


class Gated(GraphMultiInput[Array2, GatedGrad]):
    """Two arrays with derivatives, and integers, which have none."""

    scale: Parameter[Float[Array1, "3"]]

    def formula(
        self, value: Float[Tensor2, "batch 3"], gate: Float[Tensor2, "batch 3"], places: Integer[Tensor2, "batch 3"]
    ) -> Float[Tensor2, "batch 3"]:
        chosen: Any = where(places > 0, value, gate * gate)
        y: Any = chosen * tensor(self.scale)
        return y


def test_several_inputs() -> None:
    """Each has its derivative under its name; that of central differences, here by hand."""
    layer = Gated().init(np.random.default_rng(0))
    generator = np.random.default_rng(1)
    value, gate = generator.standard_normal((2, 4, 3), np.float32)
    places = generator.integers(0, 2, (4, 3))
    y = layer.forward(value, gate, places)
    assert np.allclose(y, np.where(places > 0, value, gate * gate) * layer.scale, atol=1e-6)
    gradient = layer.backward(np.ones_like(y))
    assert gradient.places is None
    assert np.allclose(gradient.value, np.where(places > 0, layer.scale, 0), atol=1e-6)
    assert np.allclose(gradient.gate, np.where(places > 0, 0, 2 * gate * layer.scale), atol=1e-6)
    assert np.allclose(gradient.scale, np.where(places > 0, value, gate * gate).sum(axis=0), atol=1e-5)
