"""The derivatives by the inputs of fused layers: those of the parts by themselves and of finite differences; refused
after a change.
"""

import copy
import gc
import pickle  # noqa: TID251  # to send a gradient to another process
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import strict_array
from effort import expensive
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float

from tests.support.fused_twin import fused_twin
from typednn import AnyArray, Array2, Elementwise, ElementwiseGrad, Input, Layer, Sequential, checking, observing
from typednn.backends import to_device, to_numpy
from typednn.engines import available, counting, using
from typednn.engines.halide.rehearsal import rehearsing
from typednn.errors import NotForwarded, OutOfMemory, StateError
from typednn.kernels import conv2d, linear
from typednn.layer import run
from typednn.layers import (
    Conv2d,
    Flatten,
    Identity,
    LeakyReLU,
    Linear,
    MaxPool2d,
    Pad2d,
    ReLU,
    Residual,
    Sigmoid,
    Softmax,
    Tanh,
)
from typednn.module.gradients import ChainGrad
from typednn.optim import SGD
from typednn.optim.ema import put

ACTIVATIONS: list[Callable[[], Any]] = [ReLU, lambda: LeakyReLU(0.2), lambda: LeakyReLU(-0.2), Sigmoid, Tanh]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def normal(seed: int, shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    return rng(seed).standard_normal(shape).astype(dtype)


def rows() -> Any:
    return (Input(5) >> Linear(5, 4) >> ReLU() >> Linear(4, 3) >> Tanh() >> Linear(3, 2)).init(rng())


def images() -> Any:
    convolutions = (
        Input(7, 6, 2)
        >> Pad2d(1)
        >> Conv2d(2, 3, 3, bias=True)
        >> ReLU()
        >> MaxPool2d(2)
        >> Conv2d(3, 4, 2)
        >> Sigmoid()
    )
    return (convolutions >> Flatten() >> Linear(16, 5) >> ReLU() >> Linear(5, 3)).init(rng(1))


def assert_same(ours: Any, theirs: Any) -> None:
    """Equal to rounding, by their largest number."""
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    bound = (
        20 * float(np.sqrt(ours.size) + 10) * np.finfo(ours.dtype).eps * max(float(np.abs(theirs).max(initial=0)), 1e-6)
    )
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=bound)


# ------------------------------------------------------------------ what they are

# Most examples on the reference: each size that is new to the compiled kernels takes seconds.
ENGINE = st.sampled_from(["reference", "reference", "reference", "fast"])


def assert_parts_agree(model: Any, x: Any, seed: int = 7) -> None:
    """Of a fused chain, against its twin that runs part by part."""
    plain = model.shared().fuse(False)
    y = model.forward(x)
    assert_same(plain.forward(x), y)
    dy = normal(seed, y.shape, y.dtype)
    grad, wanted = model.backward(dy), plain.backward(dy)
    for ours, theirs in zip(grad.parts, wanted.parts, strict=True):
        assert type(ours) is type(theirs)
        assert_same(ours.input, theirs.input)
    assert_same(grad.input, wanted.input)
    for name, leaf in wanted.leaves().items():
        assert_same(grad.leaves()[name], leaf)


@expensive
@given(
    size=st.tuples(st.integers(5, 8), st.integers(5, 8)),  # at least 2 after the convolution, for the pooling
    channels=st.integers(1, 3),
    filters=st.sampled_from([1, 3, 8]),
    kernel=st.integers(1, 3),
    stride=st.integers(1, 2),
    padding=st.sampled_from([None, 0, 1, 2]),
    active=st.sampled_from([None, *ACTIVATIONS]),
    pool=st.sampled_from([None, 1, 2]),
    batch=st.sampled_from([1, 2, 5]),
    dtype=st.sampled_from([np.float32, np.float64]),
    last=st.booleans(),
    engine=ENGINE,
)
def test_convolutions(
    size: Any,
    channels: int,
    filters: int,
    kernel: int,
    stride: int,
    padding: Any,
    active: Any,
    pool: Any,
    batch: int,
    dtype: Any,
    last: bool,
    engine: Any,
) -> None:
    """Of any size, with any neighbours, at the end of a chain or before other layers."""
    parts: list[Any] = [] if padding is None else [Pad2d(padding)]
    parts += [Conv2d(channels, filters, kernel, stride, bias=True), *([] if active is None else [active()])]
    parts += [] if pool is None else [MaxPool2d(pool)]
    around = Sequential(parts, input=Input(*size, channels))
    shape = around.shape_after((batch, *size, channels))
    assert shape is not None
    after = [] if last else [Flatten(), Linear(int(np.prod(shape[1:])), 3), ReLU(), Linear(3, 2)]
    model = Sequential([*parts, *after], input=Input(*size, channels)).init(rng(3)).astype(dtype)
    with using(engine):
        assert_parts_agree(model, normal(5, (batch, *size, channels), dtype))


@expensive
@given(
    features=st.lists(st.sampled_from([1, 2, 7, 17, 33]), min_size=2, max_size=4),
    active=st.sampled_from(ACTIVATIONS),
    bias=st.booleans(),
    batch=st.sampled_from([1, 3, 9]),
    dtype=st.sampled_from([np.float32, np.float64]),
    engine=ENGINE,
)
def test_affine_maps(features: list[int], active: Any, bias: bool, batch: int, dtype: Any, engine: Any) -> None:
    parts = [part for n, m in pairwise(features) for part in (Linear(n, m, bias), active())]
    model = Sequential(parts, input=Input(features[0])).init(rng(2)).astype(dtype)
    with using(engine):
        assert_parts_agree(model, normal(5, (batch, features[0]), dtype))


@pytest.mark.parametrize("made", [rows, images])
def test_finite_differences(made: Any) -> None:
    """The loss Σ y·dy, as the input of each part moves along a random direction."""
    model = made().astype(np.float64)
    x = normal(4, (3, *model.sample.sizes), np.float64)
    y = model.forward(x)
    dy = normal(5, y.shape, np.float64)
    grad = model.backward(dy)
    for place, part in enumerate(grad.parts):
        twins = model.shared().parts
        entering = run(twins[:place], x)
        direction = normal(6 + place, entering.shape, np.float64) * (entering != 0)  # ReLU's zeros are kinks of pooling
        losses = [
            float(np.sum(dy * run(model.shared().parts[place:], entering + step * direction))) for step in (1e-6, -1e-6)
        ]
        assert float(np.sum(part.input * direction)) == pytest.approx(
            (losses[0] - losses[1]) / 2e-6, rel=1e-5, abs=1e-7
        )


class Doubled(Elementwise[None]):
    """A user's layer."""

    def forward(self, x: Float[AnyArray, "*shape"]) -> Float[AnyArray, "*shape"]:
        return 2 * x

    def backward(self, next_grad: Float[AnyArray, "*shape"]) -> ElementwiseGrad[AnyArray, None]:
        return ElementwiseGrad(2 * next_grad, None)


@pytest.mark.parametrize(
    "made",
    [
        lambda: (
            Input(5)
            >> Linear(5, 4)
            >> ReLU()
            >> Doubled()
            >> Linear(4, 4)
            >> Tanh()
            >> Residual(Linear(4, 4) >> ReLU())
        ),
        lambda: Input(5) >> Doubled() >> Linear(5, 4) >> ReLU() >> Softmax(),
        lambda: Input(5) >> (Linear(5, 4) >> ReLU() >> Linear(4, 4)).named("inner") >> Linear(4, 3) >> ReLU(),
        lambda: (
            Input(5)
            >> Linear(5, 4)
            >> ReLU()
            >> (Linear(4, 4) >> ReLU() >> Linear(4, 4) >> Tanh()).named("inner")
            >> Linear(4, 3)
        ),
        lambda: Input(5) >> (first := Linear(5, 5)) >> ReLU() >> first.shared() >> Tanh() >> Linear(5, 2),
    ],
)
def test_other_parts_between(made: Any) -> None:
    assert_parts_agree(made().init(rng()), normal(3, (4, 5)))


def test_of_chains_within_a_chain() -> None:
    model = Sequential(
        [
            (Linear(5, 4) >> ReLU() >> Linear(4, 4)).named("first"),
            (Linear(4, 3) >> Tanh() >> Linear(3, 2)).named("second"),
        ]
    )
    model.init(rng())
    plain = model.shared().fuse(False)
    x, dy = normal(1, (3, 5)), normal(2, (3, 2))
    model.forward(x), plain.forward(x)
    grad, wanted = model.backward(dy), plain.backward(dy)
    for ours, theirs in zip(grad.parts, wanted.parts, strict=True):
        for one, other in zip(ours.parts, theirs.parts, strict=True):
            assert_same(one.input, other.input)


def test_on_another_device() -> None:
    model = images()
    x, dy = normal(1, (2, 7, 6, 2)), normal(2, (2, 3))
    model.forward(x)
    wanted = [part.input for part in model.backward(dy).parts]
    strict_array.register()
    model.to("strict")
    model.forward(to_device(x, "strict"))
    for part, theirs in zip(model.backward(to_device(dy, "strict")).parts, wanted, strict=True):
        assert isinstance(part.input, strict_array.StrictArray)
        assert_same(to_numpy(part.input), theirs)


# ------------------------------------------------------------------ what a backward computes and holds


def wants(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each backward of an affine map from now on, whether it computes the derivative by the input."""
    wanted: list[bool] = []
    real = linear.backward

    def spy(*arguments: Any) -> Any:
        if not rehearsing():  # where a kernel is compiled first
            wanted.append(arguments[5] if len(arguments) > 5 else True)
        return real(*arguments)

    monkeypatch.setattr(linear, "backward", spy)
    return wanted


def test_a_chain_that_begins_a_chain_computes_no_input_derivative(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = Input(5) >> Linear(5, 4) >> ReLU() >> Linear(4, 4) >> ReLU()
    model = Sequential([inner.named("inner"), Linear(4, 3), ReLU()]).init(rng())
    wanted = wants(monkeypatch)
    model.backward(model.forward(normal(1, (2, 5))))
    assert wanted == [True, True, False]


@pytest.mark.parametrize("mode", ["cached", "full", "off"])
def test_one_that_is_read_is_computed_at_once(monkeypatch: pytest.MonkeyPatch, mode: Any) -> None:
    """Within another layer, which needs the derivative by the input of its chain."""
    model = Residual(Input(5) >> Linear(5, 5) >> ReLU() >> Linear(5, 5) >> ReLU()).init(rng())
    wanted = wants(monkeypatch)
    with checking(mode):
        model.backward(model.forward(normal(1, (2, 5))))
    assert wanted == [True, True]


def test_a_chain_of_chains_computes_no_input_derivative(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a backbone and a head: of the outer chain nothing is fused."""
    backbone, head = Linear(5, 4) >> ReLU() >> Linear(4, 4) >> ReLU(), Linear(4, 3) >> ReLU() >> Linear(3, 2)
    model = Sequential([backbone.named("backbone"), head.named("head")], input=Input(5)).init(rng())
    x, dy = normal(1, (2, 5)), normal(2, (2, 2))
    wanted = wants(monkeypatch)
    model.forward(x)
    grad = model.backward(dy)
    assert wanted == [True, True, True, False]
    plain = model.shared().fuse(False)
    plain.forward(x)
    assert_same(grad.input, plain.backward(dy).input)


@pytest.mark.parametrize("first", ["observed", "part by part"])
def test_a_step_part_by_part_before_changes_no_later_one(monkeypatch: pytest.MonkeyPatch, first: str) -> None:
    """What is remembered of a gradient whose input was computed does not have the next one's computed."""
    model = rows()
    x = normal(1, (4, 5))
    with observing(model, lambda call: None) if first == "observed" else nullcontext():
        model.fuse(first == "observed")
        model.backward(model.forward(x))
    model.fuse()
    wanted = wants(monkeypatch)
    for _ in range(2):
        assert model.backward(model.forward(x)).is_deferred
        assert wanted == [True, True, False]
        wanted.clear()


def test_an_array_of_an_earlier_batch_is_dropped() -> None:
    """What the parts kept by themselves, by the first fused forward."""
    model = rows()
    kept = normal(1, (4, 5)) + 1
    alive = weakref.ref(kept)
    model.fuse(False).forward(kept)
    del kept
    model.fuse().forward(normal(2, (4, 5)))
    assert alive() is None


def test_a_gradient_holds_no_array_between_the_parts() -> None:
    model = images()
    grad = model.backward(model.forward(normal(1, (2, 7, 6, 2))))
    of_input = list(map(id, model.needed[0]))  # of what the derivative by the model's input is computed
    arrays = [
        array
        for needed in model.needed[1:]
        for array in needed or ()
        if isinstance(array, np.ndarray) and id(array) not in of_input
    ]
    kept = list(map(weakref.ref, arrays))
    del arrays
    assert len(kept) == 3
    model.forward(normal(2, (2, 7, 6, 2)))
    gc.collect()
    assert all(each() is None for each in kept)
    assert grad.input.shape == (2, 7, 6, 2)


def test_derivatives_between_kernels_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """But the one from which the derivative by the model's input is computed."""
    model = Sequential([part for _ in range(4) for part in (Linear(5, 5), ReLU())], input=Input(5)).init(rng())
    seen: list[Any] = []
    real = linear.backward

    def spy(next_grad: Any, *others: Any) -> Any:
        seen.append(weakref.ref(next_grad))
        return real(next_grad, *others)

    monkeypatch.setattr(linear, "backward", spy)
    dy = np.ones_like(model.forward(normal(1, (2, 5))))
    grad = model.backward(dy)
    assert [each() is None for each in seen] == [False, True, True, False]
    assert grad.parts[2].input.shape == (2, 5)


def test_gradients_are_freed_without_the_collector() -> None:
    model = images()
    grad = model.backward(model.forward(normal(1, (2, 7, 6, 2))))
    assert grad.parts[2].input.shape == (2, 7, 6, 3)
    alive = weakref.ref(grad.parts[1].weight)
    gc.disable()
    try:
        del grad
        assert alive() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "parts",
    [
        [Linear(5, 4), Tanh(), Linear(4, 4), ReLU()],
        [Linear(5, 4), Tanh(), Linear(4, 4), ReLU(), Identity(), Identity()],
        [Conv2d(2, 3, 2), ReLU(), Conv2d(3, 3, 2), ReLU(), Flatten()],
    ],
)
def test_what_forward_gave_may_be_written_into(parts: list[Any]) -> None:
    """As part by part: the last fused segment has a copy for its backward, also where a layer after it gives its output
    on.
    """
    model = Sequential(parts).init(rng())
    x = normal(1, (3, 5) if isinstance(parts[0], Linear) else (3, 4, 4, 2))
    y = model.forward(x)
    dy = normal(2, y.shape)
    wanted = model.backward(dy)
    assert wanted.parts[2].input.shape[0] == 3
    y = model.forward(x)
    y -= 3
    grad = model.backward(dy)
    for name, leaf in wanted.leaves().items():
        np.testing.assert_array_equal(grad.leaves()[name], leaf)
    assert_same(grad.parts[2].input, wanted.parts[2].input)


# ------------------------------------------------------------------ parts and settings that change


@pytest.mark.parametrize("parts", [lambda parts: (*parts[:-1], ReLU()), lambda parts: parts[:2]])
def test_backward_after_the_parts_have_changed(parts: Any) -> None:
    model = rows()
    y = model.forward(normal(1, (4, 5)))
    model.parts = parts(model.parts)
    with pytest.raises(NotForwarded):
        model.backward(y)


@pytest.mark.parametrize(
    ("place", "name", "value"),
    [
        (0, "value", 2.0),
        (0, "mode", "replicate"),
        (1, "stride", (2, 2)),
        (1, "dilation", (2, 2)),
        (2, "negative_slope", 0.7),
        (3, "stride", (1, 1)),
    ],
)
@pytest.mark.parametrize("training", [True, False])
def test_a_setting_that_changes(place: int, name: str, value: Any, training: bool) -> None:
    """As part by part: the next forward computes by it."""
    model = Sequential([Pad2d(1), Conv2d(2, 3, 3), LeakyReLU(0.2), MaxPool2d(2)]).init(rng()).train(training)
    x = normal(1, (2, 7, 7, 2))
    before = model.forward(x)
    setattr(model[place], name, value)
    y, plain = model.forward(x), model.shared().fuse(False).train(training)
    assert y.shape != before.shape or not np.allclose(y, before)
    assert_same(y, plain.forward(x))
    if training:
        ours, theirs = model.backward(y), plain.backward(y)
        for one, other in zip(ours.parts, theirs.parts, strict=True):
            assert_same(one.input, other.input)


def test_a_setting_that_changed_after_backward() -> None:
    model = Sequential([Linear(5, 4), LeakyReLU(0.2), Linear(4, 3)]).init(rng())
    grad = model.backward(model.forward(normal(1, (2, 5))))
    model[1].negative_slope = 0.7
    with pytest.raises(StateError, match="layers that compute something else now"):
        _ = grad.input


# ------------------------------------------------------------------ refused after a change

WHERE = {
    "weights": "changed weights",
    "written": "weights or an input that were written into",
    "gone": "arrays that another forward",
}


def assigned(model: Any) -> None:
    model[0].weight = model[0].weight + 1


def scaled(model: Any) -> None:
    model[0].weight *= 2


def written(model: Any) -> None:
    model[0].weight[...] = 0


class ByHand(Layer[Any, Any, Any]):
    """A model whose update steps the arrays itself."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def forward(self, x: Float[Array2, "batch n"]) -> Float[Array2, "batch m"]:
        return self.inner.forward(x)

    def backward(self, next_grad: Float[Array2, "batch m"]) -> ChainGrad[Any, *tuple[Any, ...]]:
        raise NotImplementedError

    def gradient_of(self, grad: Any, name: str) -> Any:
        return grad

    def update(self, optimizer: Any, grad: Any) -> None:
        for weights, derivative in zip(self.parameters(), self.gradients(grad), strict=True):
            weights -= 1e-7 * derivative


CHANGES: dict[str, tuple[Callable[[Any, Any], object], str]] = {
    "update": (lambda model, grad: model.update(SGD(1e-7), grad), "weights"),
    "a part's update": (lambda model, grad: model[0].update(SGD(1e-7), grad.parts[0]), "weights"),
    "a hand-written update": (lambda model, grad: ByHand(model).update(SGD(0.1), grad), "weights"),
    "a twin's update": (lambda model, grad: model.shared().update(SGD(1e-7), grad), "weights"),
    "load_state_dict": (lambda model, grad: model.load_state_dict(copy.deepcopy(model.state_dict())), "weights"),
    "averaged weights": (lambda model, grad: put(model, model.named_parameters()), "weights"),
    "init": (lambda model, grad: model.init(rng(9)), "weights"),
    "an assignment": (lambda model, grad: assigned(model), "weights"),
    "an operator": (lambda model, grad: scaled(model), "weights"),
    "numbers written into the weights": (lambda model, grad: written(model), "written"),
}


@pytest.mark.parametrize(("change", "what"), CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("read", ["input", "part"])
def test_changed_weights(change: Any, what: str, read: str) -> None:
    model = rows()
    grad = model.backward(model.forward(normal(1, (4, 5))))
    change(model, grad)
    with pytest.raises(StateError) as caught:
        _ = grad.input if read == "input" else grad.parts[1].input
    layer = caught.value.owner  # the derivatives between the parts are computed from the last one on
    assert layer is model[0] or (layer is model[2] and read == "part")
    assert str(caught.value) == (
        f"{layer!r}.backward: the derivative by the input of a fused layer is computed when it is read, from "
        "the weights and arrays of "
        f"its forward, got {WHERE[what]}; read it before update, or run part by part: model.fuse(False)"
    )


@pytest.mark.parametrize("read", ["input", "part"])
def test_an_input_that_was_written_into(read: str) -> None:
    model = rows()
    x = normal(1, (4, 5))
    grad = model.backward(model.forward(x))
    x[...] = normal(2, (4, 5))
    with pytest.raises(StateError, match="got weights or an input that were written into"):
        _ = grad.input if read == "input" else grad.parts[1].input


def test_moved_to_another_dtype() -> None:
    model = rows()
    grad = model.backward(model.forward(normal(1, (4, 5))))
    model.astype(np.float64)
    for read in (lambda: grad.input, lambda: grad.parts[1].input):
        with pytest.raises(StateError, match="is computed when it is read"):
            read()


@pytest.mark.parametrize(
    "drop",
    [lambda model: model.forward(normal(2, (4, 5))), lambda model: model.free_cache(), lambda model: model.eval()],
)
def test_what_forward_kept_is_gone(drop: Any) -> None:
    """The derivative by the whole model's input stays; those between the parts go with the arrays that they need."""
    model = rows()
    model.forward(normal(1, (4, 5)))
    dy = normal(3, (4, 2))
    wanted = model.backward(dy).input
    grad = model.backward(dy)
    drop(model)
    assert_same(grad.input, wanted)
    with pytest.raises(StateError, match=r"got arrays that another forward, free_cache\(\) or eval\(\) dropped"):
        _ = grad.parts[1].input


def test_what_was_read_stays() -> None:
    model = rows()
    grad = model.backward(model.forward(normal(1, (4, 5))))
    read = grad.parts[1].input
    model.update(SGD(0.1), grad)
    assert grad.parts[1].input is read
    assert (2 * grad).parts[1].input is read
    assert grad.parts[3].input.shape == (4, 3)  # computed together
    with pytest.raises(StateError, match="got changed weights"):
        _ = grad.input


def test_a_part_in_eval_after_backward_changes_nothing() -> None:
    model = rows()
    grad = model.backward(model.forward(normal(1, (4, 5))))
    model[1].eval()
    assert grad.parts[1].input.shape == (4, 4)
    assert not model[1].training


def test_changes_of_other_models_change_nothing() -> None:
    model, other = rows(), rows()
    grad = model.backward(model.forward(normal(1, (4, 5))))
    other.update(SGD(0.1), other.backward(other.forward(normal(1, (4, 5)))))
    other.init(rng(4))
    assert grad.parts[1].input.shape == (4, 4)
    assert grad.input.shape == (4, 5)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda grad: pickle.loads(pickle.dumps(grad))])
def test_a_copy_has_what_could_be_computed(copied: Any) -> None:
    model = rows()
    grad = model.backward(model.forward(normal(1, (4, 5))))
    model.update(SGD(0.1), grad)
    late = copied(grad)
    np.testing.assert_array_equal(late.parts[0].weight, grad.parts[0].weight)
    for read in (lambda: late.input, lambda: late.parts[1].input):
        with pytest.raises(StateError) as caught:
            read()
        assert str(caught.value) == (
            "grad.input: a copy has the derivatives that could be computed when it was made, got one that could not; "
            "copy the gradient before the weights change"
        )


# ------------------------------------------------------------------ as part by part


@pytest.mark.skipif(not available(), reason="Halide is not installed")
@pytest.mark.parametrize("kind", [Pad2d, Conv2d, LeakyReLU, MaxPool2d, Flatten, Linear, ReLU])
@pytest.mark.parametrize("training", [True, False])
def test_a_subclass_is_not_fused(kind: Any, training: bool) -> None:
    """It may compute something else: its own forward is called."""
    called: list[Any] = []

    def forward(self: Any, x: Any) -> Any:
        called.append(self)
        return kind.forward(self, x)

    forward.__annotations__ = dict(kind.forward.__annotations__)
    mine: Any = type(kind.__name__, (kind,), {"forward": forward})
    made: dict[Any, tuple[Any, ...]] = {
        Pad2d: (1,),
        Conv2d: (2, 3, 3),
        LeakyReLU: (0.2,),
        MaxPool2d: (2,),
        Linear: (12, 5),
    }
    kinds = [Pad2d, Conv2d, LeakyReLU, MaxPool2d, Flatten, Linear, ReLU]
    parts = [(mine if each is kind else each)(*made.get(each, ())) for each in kinds]
    last = (mine if kind is Linear else Linear)(5, 5)  # beside another one
    model = Sequential([*parts, Linear(5, 5), last], input=Input(4, 4, 2)).init(rng()).train(training)
    model.forward(normal(1, (2, 4, 4, 2)))
    assert called == [part for part in model if type(part) is mine]


def test_part_by_part_on_request() -> None:
    """Chains within, too; and back."""
    inner = Linear(4, 4) >> ReLU() >> Linear(4, 3)
    model = (Input(5) >> Linear(5, 4) >> Tanh() >> Residual(Linear(4, 4) >> ReLU()) >> inner.named("inner")).init(rng())
    x = normal(1, (2, 5))
    assert model.fuse(False) is model
    with counting() as parts:
        model.backward(model.forward(x))
    assert sum(number for (name, _), number in parts.items() if name in ("relu.forward", "tanh.forward")) == 3
    model.fuse()
    with counting() as fused:
        model.backward(model.forward(x))
    assert not {name for name, _ in fused} & {"relu.forward", "tanh.forward", "relu.backward", "tanh.backward"}


@pytest.mark.parametrize("ways", [(True, False), (False, True)])
def test_a_backward_runs_as_its_forward_did(ways: tuple[bool, bool]) -> None:
    """That of the last forward, whatever ran before."""
    model = rows()
    plain = model.shared().fuse(False)
    x, dy = normal(1, (4, 5)), normal(3, (4, 2))
    model.fuse(ways[1]).forward(-x)
    model.fuse(ways[0]).forward(x)
    plain.forward(x)
    wanted = plain.backward(dy)
    for ours, theirs in zip(model.fuse(ways[1]).backward(dy).parts, wanted.parts, strict=True):
        assert_same(ours.input, theirs.input)
    model.fuse().forward(-x)
    with observing(model, lambda call: None):
        model.forward(x)
    assert_same(model.backward(dy).parts[1].input, wanted.parts[1].input)


def test_one_part_is_observed() -> None:
    model = rows()
    paths: list[str] = []
    with observing(model[1], lambda call: paths.append(call.method)):
        model.backward(model.forward(normal(1, (4, 5))))
    assert paths == ["forward", "backward"]


def test_a_part_in_eval_keeps_nothing() -> None:
    model = rows()
    model[0].eval()
    y = model.forward(normal(1, (4, 5)))
    with pytest.raises(NotForwarded, match=r"Linear\(5, 4\).*in eval nothing is kept"):
        model.backward(y)


def test_a_part_alone_keeps_nothing_of_a_fused_forward() -> None:
    """Nor is what it kept before of any use: it was of another batch."""
    model = rows()
    model[0].forward(normal(2, (4, 5)))
    model.forward(normal(1, (4, 5)))
    with pytest.raises(NotForwarded, match=r"Linear\(5, 4\)"):
        model[0].backward(normal(3, (4, 4)))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("op", ["forward", "backward"])
def test_memory_that_runs_out_names_the_part(op: str, training: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    model = images()
    x = normal(1, (9, 7, 6, 2))  # too many for one kernel in eval
    y = model.forward(x)
    if op == "forward":
        model.train(training)

    def greedy(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(conv2d, op, greedy)
    with pytest.raises(OutOfMemory, match=r"Conv2d\("):
        model.forward(x) if op == "forward" else model.backward(y)


def test_a_part_with_another_dtype_is_named() -> None:
    model = rows().eval()
    x = normal(1, (2, 5))
    for _ in range(2):
        model.forward(x)
    model.train()[2].astype(np.float64)
    with pytest.raises(TypeError, match=r"Linear\(4, 3\)\.forward: x must have the model's dtype float64, got float32"):
        model.forward(x)


def test_a_twin_of_a_fused_chain() -> None:
    model = images()
    x = normal(1, (2, 7, 6, 2))
    fused = fused_twin(model)
    np.testing.assert_allclose(fused.forward(x), model.forward(x), rtol=1e-4, atol=1e-6)
