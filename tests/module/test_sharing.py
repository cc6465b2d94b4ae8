"""Parameters that several layers share: one array, counted, saved, printed and clipped once."""

import copy
import pickle  # noqa: TID251  # users pickle what they hold; typednn's files are of other kinds
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from jaxtyping import Float, Int
from numpy.testing import assert_allclose, assert_array_equal

from typednn import Array2, Array3, FirstLayer, Gradient, IntArray2, Kept, Layer, Parameter, checking
from typednn.errors import ArgumentError, NotForwarded, ShapeError, StateError, TypednnError
from typednn.layer import Input, Sequential
from typednn.layers import Linear, PerPosition, PReLU, ReLU, Residual, Tanh
from typednn.module.stack import Stack
from typednn.optim import SGD, accumulate, clip_grad_norm


def ready(model: Any, seed: int = 0) -> Any:
    return model.init(np.random.default_rng(seed))


def tied() -> Any:
    first = Linear(4, 4)
    return ready(Input(4) >> first >> ReLU() >> first.shared())


MODELS = {
    "chain": tied,
    "stack": lambda: ready(Stack([first := Linear(4, 4), Tanh(), first.shared()], input=(4,))),
    "residual": lambda: ready(
        Input(4) >> (first := Linear(4, 4)) >> Residual(Tanh() >> first.shared()) >> first.shared()
    ),
    "inside one part": lambda: ready(
        Input(4) >> Residual((first := Linear(4, 4)) >> Tanh() >> first.shared()) >> Linear(4, 4)
    ),
    "bias only": lambda: ready(Input(4) >> (first := Linear(4, 4)) >> Tanh() >> Linear(4, 4).tie(first, bias="bias")),
}


def backward_of(model: Any, seed: int = 1) -> Any:
    x = np.random.default_rng(seed).standard_normal((5, 4)).astype(np.float32)
    return model.backward(np.cos(model.forward(x)))


def true_norm(model: Any, grad: Any) -> float:
    return float(
        np.sqrt(sum(np.sum(np.square(array, dtype=np.float64)) for array in model.named_gradients(grad).values()))
    )


@pytest.mark.parametrize("name", MODELS)
def test_a_shared_parameter_has_one_leaf(name: str) -> None:
    """Norm, clipping, sums and accumulation see the sum of its uses, as the step does."""
    model = MODELS[name]()
    grad, other = backward_of(model, 1), backward_of(model, 2)
    sums = model.named_gradients(grad)
    leaves = grad.leaves()
    assert len(leaves) == len(sums) == len(model.parameters())
    for leaf, expected in zip(leaves.values(), sums.values(), strict=True):
        assert_array_equal(leaf, expected)
    norm = true_norm(model, grad)
    assert grad.norm() == pytest.approx(norm, rel=1e-9)
    assert clip_grad_norm(grad, 0.5).norm() == pytest.approx(0.5, rel=1e-5)
    assert (grad * 3.0).norm() == pytest.approx(3 * norm, rel=1e-6)
    both = model.named_gradients(grad + other)
    for name_, array in model.named_gradients(other).items():
        assert_allclose(both[name_], sums[name_] + array, rtol=1e-5, atol=1e-6)
    assert accumulate([grad, other]).norm() == pytest.approx(true_norm(model, (grad + other) * 0.5), rel=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_a_map_meets_a_shared_parameter_once(name: str) -> None:
    """Not linear in the uses: the change is made to the sum, and that is what is stepped."""
    model = MODELS[name]()
    grad = backward_of(model)
    changed = grad.map(np.sign)
    for path, array in model.named_gradients(changed).items():
        assert_array_equal(array, np.sign(model.named_gradients(grad)[path]))
    assert changed.norm() == pytest.approx(model.num_parameters() ** 0.5, rel=1e-6)
    broken = grad.map(lambda leaf: leaf * np.float32(np.nan))
    assert np.isnan(broken.norm())


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda grad: pickle.loads(pickle.dumps(grad))])
def test_a_copied_gradient_knows_it_too(name: str, copied: Any) -> None:
    model = MODELS[name]()
    grad = backward_of(model)
    assert copied(grad).norm() == pytest.approx(true_norm(model, grad), rel=1e-9)
    assert list(copied(grad * 2.0).leaves()) == list(grad.leaves())


def test_parts_stay_per_use() -> None:
    """``parts[i]`` is the derivative of that use, as a type checker says; its norm is its own."""
    model = tied()
    grad = backward_of(model)
    parts = [grad.parts[place].weight for place in (0, 2)]
    assert not np.allclose(parts[0], parts[1])
    assert_array_equal(grad.leaves()["parts.0.weight"], parts[0] + parts[1])
    own = sum(float(np.sum(np.square(leaf, dtype=np.float64))) for leaf in (grad.parts[2].weight, grad.parts[2].bias))
    assert grad.parts[2].norm() == pytest.approx(own**0.5, rel=1e-9)


# ---------------------------------------------------------------------- between layers of different classes


@dataclass(frozen=True, slots=True)
class StopsGrad(Gradient):
    input: Float[Array2, "batch 4"]


@dataclass(frozen=True, slots=True)
class EmbeddingGrad(Gradient):
    input: None
    weight: Float[Array2, "tokens features"]


class Embedding(FirstLayer[IntArray2, Array3, EmbeddingGrad]):
    """Row ``x[b,t]`` of the table."""

    weight: Parameter[Float[Array2, "{self.tokens} {self.features}"]]
    _x: Kept[Int[IntArray2, "batch time"]]

    def __init__(self, tokens: int, features: int) -> None:
        self.tokens, self.features = tokens, features

    def forward(self, x: Int[IntArray2, "batch time"]) -> Float[Array3, "batch time {self.features}"]:
        self._x = x
        y: Any = self.weight[x]
        return y

    def backward(self, next_grad: Float[Array3, "batch time {self.features}"]) -> EmbeddingGrad:
        weight = np.zeros_like(self.weight)
        np.add.at(weight, self._x, next_grad)
        return EmbeddingGrad(None, weight)


def language_model() -> tuple[Any, Embedding, Linear]:
    embedding, head = Embedding(7, 3), Linear(3, 7, bias=False)
    head.tie(embedding, weight="weight")
    return Input(4, dtype=int) >> embedding.named("embed") >> PerPosition(head), embedding, head


def test_an_embedding_and_a_head_share_their_weights() -> None:
    model, embedding, head = language_model()
    assert model.num_parameters() == 21
    ready(model)
    assert head.weight is embedding.weight
    assert list(model.state_dict()) == ["embed.weight"]
    assert "weight shared with embed" in str(model)
    tokens = np.random.default_rng(0).integers(0, 7, (2, 4))
    x = np.random.default_rng(1).standard_normal((2, 4, 7)).astype(np.float32)

    def loss() -> float:
        return float(np.sum(x.astype(np.float64) * model.forward(tokens)))

    model.astype(np.float64)
    model.forward(tokens)
    grad = model.backward(x.astype(np.float64))
    (derivative,) = model.named_gradients(grad).values()
    for index in np.ndindex(7, 3):
        before = embedding.weight[index]
        embedding.weight[index] = before + 1e-6
        above = loss()
        embedding.weight[index] = before - 1e-6
        below = loss()
        embedding.weight[index] = before
        assert derivative[index] == pytest.approx((above - below) / 2e-6, rel=1e-5, abs=1e-6)
    assert grad.norm() == pytest.approx(float(np.sqrt(np.sum(derivative**2))), rel=1e-9)
    expected = embedding.weight - 0.1 * derivative
    model.update(SGD(0.1), grad)
    assert_allclose(embedding.weight, expected, rtol=1e-12)
    saved = {name: array.copy() for name, array in model.state_dict().items()}
    other, table, _ = language_model()
    ready(other, 3).astype(np.float64).load_state_dict(saved)
    assert_array_equal(table.weight, embedding.weight)
    assert_array_equal(other.forward(tokens), model.forward(tokens))


def test_both_sides_know_the_dtype() -> None:
    """`astype` and `to` of either side are those of both; the other has the new dtype too."""
    for side in (0, 1):
        model, embedding, head = language_model()
        ready(model)
        (embedding, head)[side].astype(np.float64)
        assert embedding.dtype == head.dtype == embedding.weight.dtype == np.float64
        assert head.forward(np.ones((2, 3))).dtype == np.float64
        assert embedding.forward(np.ones((2, 4), np.int64)).dtype == np.float64


def test_a_twin_and_its_original_have_one_dtype() -> None:
    for side in (0, 1):
        model = ready(Input(4) >> Linear(4, 3) >> ReLU() >> Linear(3, 2))
        pair = (model, model.shared())
        x = np.ones((2, 4), np.float32)
        before = pair[1].forward(x)
        pair[side].astype(np.float64)
        for each in pair:
            assert each.dtype == np.float64
            assert_allclose(each.forward(x.astype(np.float64)), before, rtol=1e-6)
            with pytest.raises(TypednnError, match="float64"):
                each.forward(x)


def test_arrays_that_are_there_already() -> None:
    """The other layer's values hold; without any, this layer's."""
    first, second = ready(Linear(3, 3)), ready(Linear(3, 3), 1)
    kept = first.weight.copy()
    assert second.tie(first, weight="weight") is second
    assert_array_equal(second.weight, kept)
    assert second.bias is not first.bias
    empty, full = Linear(3, 3), ready(Linear(3, 3), 2)
    values = full.weight.copy()
    full.tie(empty, weight="weight")
    assert empty.weight is full.weight
    assert_array_equal(empty.weight, values)


@pytest.mark.parametrize(
    ("tie", "kind", "words"),
    [
        (lambda: Linear(3, 3).tie(Linear(3, 4), weight="weight"), ShapeError,
            r"must have one shape, got \(3, 3\) and \(4, 3\)"),
        (lambda: Linear(3, 3).tie(Linear(3, 3), weights="weight"), ArgumentError,
            "'weights' must be a parameter of .*, got weight, bias"),
        (lambda: Linear(3, 3).tie(Linear(3, 3), weight="table"), ArgumentError, "'table' must be a parameter"),
        (lambda: Linear(3, 3).tie(Linear(3, 3, bias=False), bias="bias"), ArgumentError, "'bias' must be a parameter"),
        (lambda: Linear(3, 3).tie(Linear(3, 3)), ArgumentError,
            "takes another layer and names, got no parameter's name"),
        (lambda: Linear(3, 3).tie(np.zeros(3), weight="weight"), ArgumentError, "got ndarray"),
        (lambda: (layer := Linear(3, 3)).tie(layer, weight="bias"), ArgumentError, "got itself"),
        (lambda: Linear(3, 3).tie(Linear(3, 3).astype(np.float64), weight="weight"), TypednnError,
            "one dtype and one device"),
        (lambda: [(layer := Linear(3, 3)).shared(), layer.tie(Linear(3, 3), weight="weight")], StateError,
            r"tie layers before shared\(\)"),
    ],
)  # fmt: skip
def test_what_cannot_be_tied_is_told(tie: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        tie()


def test_three_layers_share_one() -> None:
    first = Linear(3, 3)
    layers = [first, Linear(3, 3).tie(first, weight="weight"), Linear(3, 3).tie(first, weight="weight")]
    model = ready(Sequential(layers))
    assert model.num_parameters() == 9 + 3 * 3
    grad = model.backward(np.cos(model.forward(np.ones((2, 3), np.float32))))
    before = first.weight.copy()
    model.update(SGD(0.5), grad)
    total = sum(grad.parts[place].weight for place in range(3))
    assert_allclose(first.weight, before - np.float32(0.5) * total, rtol=1e-6)


def test_another_name_is_printed() -> None:
    """The two names of one array may differ; the second says whose it is."""
    first, slope = Linear(3, 1), PReLU()
    slope.tie(first, slope="bias")
    model = ready(Sequential({"fc": first, "act": slope}))
    assert "slope shared with fc.bias" in str(model)
    assert list(model.state_dict()) == ["fc.weight", "fc.bias"]
    assert slope.slope is first.bias


class Stops(Layer[Array2, Array2, StopsGrad]):
    """Hands on what it is given, but not zeros: it stands for whatever may end a forward early."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def forward(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 4"]:
        if not x.any():
            raise self.error
        return x

    def backward(self, next_grad: Float[Array2, "batch 4"]) -> StopsGrad:
        return StopsGrad(next_grad)


@pytest.mark.parametrize("mode", ["full", "cached", "off"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize(
    "make", [lambda error: Input(4) >> Linear(4, 4, bias=False) >> Stops(error) >> Tanh(), lambda error: Stops(error)]
)
def test_backward_after_an_interrupted_forward_is_refused(make: Any, error: type[BaseException], mode: Any) -> None:
    """What is kept would be of two batches: the model says so, as after `free_cache`; the next forward repairs it."""
    model = ready(make(error))
    x = np.ones((2, 4), np.float32)
    with checking(mode):
        y = model.forward(x)
        for _ in range(2):  # a verdict that is known
            with pytest.raises(error):
                model.forward(np.zeros((2, 4), np.float32))
            with pytest.raises(NotForwarded, match="needs what forward kept"):
                model.backward(y)
        model.backward(model.forward(x))
