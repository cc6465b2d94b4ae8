"""A chain that runs fused against its twin that runs part by part: outputs, gradients, names, state and steps."""

import copy
import gc
import inspect
import pickle  # noqa: TID251  # to send a gradient to another process
import sys
import weakref
from types import FrameType
from typing import Any

import numpy as np
import pytest
from effort import very_expensive
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Shaped

from tests.support.fused_twin import fused_twin
from typednn import Array2, ChainGrad, Input, Layer, Sequential, checking, observing
from typednn.engines import available, counting
from typednn.errors import DTypeError, NotForwarded, NotInitialised, ShapeError
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, Pad2d, ReLU, Tanh
from typednn.losses import SoftmaxCrossEntropy
from typednn.models import lenet5
from typednn.optim import SGD

LOSS = SoftmaxCrossEntropy()


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def digits(batch: int = 9, seed: int = 1) -> tuple[Any, Any]:
    return rng(seed).standard_normal((batch, 28, 28, 1), dtype=np.float32), rng(seed + 1).integers(0, 10, batch)


def small(bias: bool = True) -> Any:
    return (
        Input(9, 10, 2)
        >> Pad2d((1, 0, 2, 1))
        >> Conv2d(2, 3, 3, bias=bias).named("conv")
        >> ReLU()
        >> MaxPool2d(2)
        >> Flatten()
        >> Linear(60, 7, bias=bias)
        >> ReLU()
        >> Linear(7, 4).named("scores")
    ).init(rng())


def assert_same(first: Any, second: Any) -> None:
    """Arrays alike to float32 rounding, by their largest number."""
    assert first.shape == second.shape
    assert first.dtype == second.dtype
    scale = max(float(np.abs(first).max(initial=0)), 1e-6)
    np.testing.assert_allclose(first, second, rtol=0, atol=2e-5 * scale)


def assert_same_gradients(model: Any, fused: Any, grad: Any, other: Any) -> None:
    assert list(grad.leaves()) == list(other.leaves())
    for first, second in zip(grad.leaves().values(), other.leaves().values(), strict=True):
        assert_same(first, second)
    assert list(model.named_gradients(grad)) == list(fused.named_gradients(other))
    assert_same(grad.input, other.input)
    for first, second in zip(grad.parts, other.parts, strict=True):
        assert_same(first.input, second.input)


@pytest.mark.parametrize("mode", ["full", "cached", "off"])
@pytest.mark.parametrize("bias", [False, True])
def test_the_same_model(mode: Any, bias: bool) -> None:
    model = lenet5(softmax=False, bias=bias, rng=rng())
    fused = fused_twin(model)
    x, labels = digits()
    with checking(mode):
        for _ in range(2):
            y, z = model.forward(x), fused.forward(x)
            assert_same(y, z)
            assert_same_gradients(
                model, fused, model.backward(LOSS.loss_grad(y, labels)), fused.backward(LOSS.loss_grad(z, labels))
            )
    assert list(model.state_dict()) == list(fused.state_dict())
    assert str(model).splitlines()[1:] == str(fused).splitlines()[1:]


@pytest.mark.skipif(not available(), reason="Halide is not installed")
def test_kernels_run() -> None:
    fused = lenet5(softmax=False, rng=rng())
    x, _ = digits()
    with counting() as counts:
        fused.backward(fused.forward(x))
    assert counts["conv2d.forward", "halide"] == counts["conv2d.backward", "halide"] == 2
    assert (
        sum(counts[f"linear.{name}", engine] for name in ("forward", "backward") for engine in ("halide", "blas")) == 6
    )
    assert not {op for op, _ in counts} & {"pad2d.forward", "max_pool2d.forward", "relu.forward", "relu.backward"}


@very_expensive
@given(
    channels=st.integers(1, 3),
    filters=st.sampled_from([2, 5, 16]),
    kernel=st.integers(1, 3),
    padding=st.integers(0, 2),
    pool=st.sampled_from([2, 3]),
    biased=st.booleans(),
    hidden=st.sampled_from([1, 6, 17]),
    batch=st.sampled_from([1, 3, 9]),
    seed=st.integers(0, 99),
)
def test_any_sizes(
    channels: int, filters: int, kernel: int, padding: int, pool: int, biased: bool, hidden: int, batch: int, seed: int
) -> None:
    size = 7 + 2 * padding - kernel + 1
    features = (size // pool) ** 2 * filters
    model: Any = (
        Input(7, 7, channels)
        >> Pad2d(padding)
        >> Conv2d(channels, filters, kernel, bias=biased)
        >> ReLU()
        >> MaxPool2d(pool)
        >> Flatten()
        >> Linear(features, hidden, bias=biased)
        >> ReLU()
        >> Linear(hidden, 3)
    ).init(rng(seed))
    fused = fused_twin(model)
    x = rng(seed).standard_normal((batch, 7, 7, channels), dtype=np.float32)
    y, z = model.forward(x), fused.forward(x)
    assert_same(y, z)
    next_grad = rng(seed).standard_normal(y.shape, dtype=np.float32)
    assert_same_gradients(model, fused, model.backward(next_grad), fused.backward(next_grad))


def test_parameters_are_shared_both_ways() -> None:
    model = small()
    fused = fused_twin(model)
    x = rng(3).standard_normal((4, 9, 10, 2), dtype=np.float32)
    fused.update(SGD(0.1), fused.backward(fused.forward(x)))
    assert_same(model.forward(x), fused.forward(x))
    model.load_state_dict({name: array + 1 for name, array in model.state_dict().items()})
    assert_same(model.forward(x), fused.forward(x))
    for name, array in fused.state_dict().items():
        assert array is model.state_dict()[name]
    model.init(rng(5))
    assert_same(model.forward(x), fused.forward(x))


def test_the_input_gradient_is_computed_once_and_stays() -> None:
    model = small()
    fused = fused_twin(model)
    x = rng(3).standard_normal((4, 9, 10, 2), dtype=np.float32)
    next_grad = rng(4).standard_normal((4, 4), dtype=np.float32)
    model.forward(x)
    expected = model.backward(next_grad).input.copy()
    fused.forward(x)
    grad = fused.backward(next_grad)
    fused.forward(-x)
    assert_same(grad.input, expected)
    fused.update(SGD(0.5), grad)
    assert_same(grad.input, expected)
    assert grad.input is grad.input
    doubled = 2 * (grad + grad)
    assert isinstance(doubled, ChainGrad)
    assert_same(doubled.leaves()["parts.1.weight"], 4 * grad.leaves()["parts.1.weight"])
    assert doubled.input is grad.input
    assert_same(grad.map(np.negative).leaves()["parts.5.bias"], -grad.leaves()["parts.5.bias"])
    assert grad.norm() > 0


@pytest.mark.skipif(not available(), reason="Halide is not installed")
def test_a_step_does_not_compute_the_input_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    from typednn.kernels import conv2d

    wanted: list[bool] = []
    real = conv2d.backward

    def spy(*arguments: Any) -> Any:
        wanted.append(arguments[7] if len(arguments) > 7 else True)
        return real(*arguments)

    monkeypatch.setattr(conv2d, "backward", spy)
    fused = lenet5(softmax=False, rng=rng())
    x, labels = digits()
    for _ in range(2):
        grad = fused.backward(LOSS.loss_grad(fused.forward(x), labels))
        fused.update(SGD(0.1), grad.map(np.copy))
    assert wanted == [True, False] * 2  # the second convolution's, and not the first's
    grad = fused.backward(LOSS.loss_grad(fused.forward(x), labels))
    assert grad.input.shape == x.shape
    assert wanted[4:] == [True, False, True]


def test_gradients_are_those_of_the_layers() -> None:
    """The classes of the unfused model's; a copy of one lacks the same inputs."""
    model = small()
    fused = fused_twin(model)
    x = rng().standard_normal((2, 9, 10, 2), dtype=np.float32)
    plain = model.backward(model.forward(x))
    grad = fused.backward(fused.forward(x))
    assert type(grad) is type(plain)
    assert [type(part) for part in grad.parts] == [type(part) for part in plain.parts]
    assert repr(grad.parts[2]) == "ElementwiseGrad(parameters=None)"
    assert repr(grad).startswith("ChainGrad(parts=(Pad2dGrad(), Conv2dGrad(weight=")
    for copied in (copy.deepcopy(grad), pickle.loads(pickle.dumps(grad)), 2 * grad, grad + grad, grad.map(np.negative)):
        assert_same(copied.input, plain.input)
        for ours, theirs in zip(copied.parts, plain.parts, strict=True):
            assert_same(ours.input, theirs.input)
    assert grad.parts[1].replaced({"bias": None}).bias is None


def test_sums_of_many_steps_hold_the_last_arrays_alone() -> None:
    """Nothing of the gradients that were added stays but the first one's input, computed once."""
    fused = small()
    x = rng().standard_normal((1, 9, 10, 2), dtype=np.float32)
    next_grad = np.ones_like(fused.forward(x))
    first = total = fused.backward(next_grad)
    for _ in range(1500):
        total = total + first
    before = weakref.ref(total.parts[1].weight)
    total = total + first
    gc.collect()
    assert before() is None
    assert total.input is first.input is total.input


class Sometimes(Layer[Any, Any, Any]):
    """A layer around a fused chain, whose gradient is once the chain's own and once another, of a wrong shape."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.wrong = False

    def forward(self, x: Shaped[Array2, "batch *input"]) -> Shaped[Array2, "batch *output"]:
        return self.inner.forward(x)

    def backward(self, next_grad: Shaped[Array2, "batch *output"]) -> ChainGrad[Any, *tuple[Any, ...]]:
        gradient = self.inner.backward(next_grad)
        return ChainGrad(np.zeros((1, 1), np.float32), gradient.parts) if self.wrong else gradient


@pytest.mark.parametrize("warm", [False, True])
def test_a_deferred_gradient_is_a_kind_of_its_own(warm: bool) -> None:
    layer = Sometimes((Input(3) >> Linear(3, 4) >> ReLU() >> Linear(4, 2)).init(rng()))
    x = np.ones((2, 3), np.float32)
    for _ in range(2 * warm):
        layer.backward(layer.forward(x))
    layer.wrong = True
    y = layer.forward(x)
    with pytest.raises(ShapeError, match="gradient field 'input' must be shaped as the input"):
        layer.backward(y)


def test_what_a_caller_holds_stays() -> None:
    """Step 1's output and gradients over steps 2 and 3."""
    fused = lenet5(softmax=False, bias=True, rng=rng())
    x, labels = digits(40)
    y = fused.forward(x)
    grad = fused.backward(LOSS.loss_grad(y, labels))
    held = [y, *grad.leaves().values()]
    copies = [array.copy() for array in held]
    for seed in (5, 6):
        other, others = digits(40, seed)
        later = fused.backward(LOSS.loss_grad(fused.forward(other), others))
        gc.collect()
        assert later.input.shape == x.shape
    for array, copied in zip(held, copies, strict=True):
        np.testing.assert_array_equal(array, copied)


def test_backward_is_pure() -> None:
    fused = small()
    x = rng().standard_normal((2, 9, 10, 2), dtype=np.float32)
    next_grad = fused.forward(x).copy()
    first, second = fused.backward(next_grad), fused.backward(next_grad)
    for one, two in zip(first.leaves().values(), second.leaves().values(), strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(first.input, second.input)


def test_eval_keeps_nothing() -> None:
    fused = small().eval()
    x = rng().standard_normal((2, 9, 10, 2), dtype=np.float32)
    y = fused.forward(x)
    assert not any(module.__typednn_calls__.kept for _, module in fused.named_modules())
    with pytest.raises(NotForwarded):
        fused.backward(y)
    fused.train().forward(x)
    fused.free_cache()
    with pytest.raises(NotForwarded):
        fused.backward(y)


def test_wrong_arguments_are_refused() -> None:
    model = small()
    fused = fused_twin(model)
    with pytest.raises(ShapeError):
        fused.forward(np.zeros((2, 9, 9, 2), np.float32))
    with pytest.raises(DTypeError, match="x must have the model's dtype float32"):
        fused.forward(np.zeros((2, 9, 10, 2)))
    fused.forward(np.zeros((2, 9, 10, 2), np.float32))
    with pytest.raises(ShapeError):
        fused.backward(np.zeros((3, 4), np.float32))
    with pytest.raises(NotInitialised, match=r"Conv2d\(1, 6, 5\)\.weight"):
        lenet5().forward(digits()[0])


def test_other_dtypes_run() -> None:
    model = small().astype(np.float64)
    fused = fused_twin(model)
    x = rng().standard_normal((2, 9, 10, 2))
    y, z = model.forward(x), fused.forward(x)
    np.testing.assert_allclose(y, z, rtol=1e-12)
    assert z.dtype == np.float64
    np.testing.assert_allclose(model.backward(y).input, fused.backward(y).input, rtol=1e-10)


def test_chains_within_chains_and_sequential() -> None:
    inner = Sequential({"one": Linear(6, 5), "act": ReLU()}).named("inner")
    model: Any = Sequential([inner, Linear(5, 4), ReLU(), Tanh(), Linear(4, 2)], input=Input(6)).init(rng())
    fused = fused_twin(model)
    x = rng().standard_normal((3, 6), dtype=np.float32)
    y, z = model.forward(x), fused.forward(x)
    assert_same(y, z)
    assert_same_gradients(model, fused, model.backward(y), fused.backward(y))
    with counting() as counts:
        fused.backward(fused.forward(x))
    assert not {op for op, _ in counts} & {"relu.forward", "relu.backward"}


def test_copies_and_shared_twins() -> None:
    fused = small()
    x = rng().standard_normal((3, 9, 10, 2), dtype=np.float32)
    y = fused.forward(x)
    twin, apart = fused.shared(), copy.deepcopy(fused)
    fused.update(SGD(0.1), fused.backward(y))
    assert_same(twin.forward(x), fused.forward(x))
    assert_same(apart.forward(x), y)


def test_one_segment_alone() -> None:
    """The caller's own array is next_grad: what is done to it afterwards changes nothing."""
    model: Any = (Input(5) >> Linear(5, 4) >> ReLU()).init(rng())
    fused = fused_twin(model)
    x = rng().standard_normal((3, 5), dtype=np.float32)
    next_grad = np.ones((3, 4), np.float32)
    model.forward(x)
    expected = model.backward(next_grad).input.copy()
    fused.forward(x)
    grad = fused.backward(next_grad)
    next_grad[:] = 7
    assert_same(grad.input, expected)


def lines_of_linear(run: Any) -> int:
    """How often a debugger could stop in `Linear.forward`."""
    code, reached = inspect.unwrap(Linear.forward).__code__, 0

    def trace(frame: FrameType, event: str, argument: object) -> None:
        nonlocal reached
        reached += frame.f_code is code and event == "call"

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return reached


def test_where_a_debugger_stops() -> None:
    """docs/fusion.md says so: in a fused layer's own forward never, after fuse(False) and while it is
    observed always.
    """
    model, x = (Input(3) >> Linear(3, 4) >> ReLU() >> Linear(4, 2) >> Tanh()).init(rng()), np.ones((2, 3), np.float32)
    assert lines_of_linear(lambda: model.forward(x)) == 0
    with observing(model, lambda call: None):
        assert lines_of_linear(lambda: model.forward(x)) == 2
    assert lines_of_linear(lambda: model.fuse(False).forward(x)) == 2
