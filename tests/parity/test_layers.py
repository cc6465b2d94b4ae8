"""Every layer gives PyTorch's output and PyTorch's gradients, by the input and by every parameter."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from typednn import Input
from typednn.layers import (
    Conv2d,
    Flatten,
    Identity,
    LeakyReLU,
    Linear,
    MaxPool2d,
    Pad2d,
    PerPosition,
    PReLU,
    ReLU,
    Residual,
    SequenceLinear,
    Sigmoid,
    Softmax,
    Tanh,
)

pytestmark = pytest.mark.parity

# The fixture `dtype` is the same for all examples of one test, as it should be.
hard = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

sizes = st.integers(1, 6)
seeds = st.integers(0, 2**32 - 1)


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def numbers(seed: int, shape: tuple[int, ...], dtype: Any) -> Any:
    """Normal numbers, a tenth of them exactly zero: the kinks of ReLU and its kin are met."""
    generator = rng(seed)
    return (generator.standard_normal(shape) * (generator.random(shape) > 0.1)).astype(dtype)


@st.composite
def axes(draw: st.DrawFn, smallest: int = 1) -> tuple[int, int, int, int]:
    """(size, kernel, stride, dilation) along one axis: one to four windows, and pixels left over that no window meets."""
    kernel, stride, dilation = draw(st.integers(smallest, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    windows = draw(st.integers(1, 4))
    left_over = draw(st.integers(0, stride - 1))
    return dilation * (kernel - 1) + 1 + (windows - 1) * stride + left_over, kernel, stride, dilation


@st.composite
def windows(draw: st.DrawFn) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int], tuple[int, int]]:
    """Height and width, independent of each other: (input size, kernel_size, stride, dilation)."""
    vertical, horizontal = draw(axes()), draw(axes())
    return tuple(zip(vertical, horizontal, strict=True))  # type: ignore[return-value]


def first(x: Any) -> Any:
    """Channels first, as PyTorch wants images."""
    return x.permute(0, 3, 1, 2)


def last(x: Any) -> Any:
    """Channels last, as typednn has them."""
    return x.permute(0, 2, 3, 1)


# ---------------------------------------------------------------------------------------------------- affine


@hard
@given(batch=sizes, inputs=st.integers(1, 40), outputs=st.integers(1, 40), bias=st.booleans(), seed=seeds)
def test_linear(peer: Any, dtype: Any, batch: int, inputs: int, outputs: int, bias: bool, seed: int) -> None:
    """P-L1."""
    layer = Linear(inputs, outputs, bias, rng=rng(seed)).astype(dtype)
    peer.compare(
        layer, numbers(seed, (batch, inputs), dtype), lambda x, weight, bias=None: peer.torch.nn.functional.linear(x, weight, bias)
    )


@pytest.mark.parametrize("bias", [True, False])
def test_linear_state_is_pytorchs_under_the_same_names(torch: Any, close: Any, bias: bool) -> None:
    """G-D11: constructor, names, shapes and results of nn.Linear; state goes from one to the other unchanged."""
    ours, theirs = Linear(7, 3, bias), torch.nn.Linear(7, 3, bias)
    assert ours.parameter_shapes() == {name: tuple(value.shape) for name, value in theirs.state_dict().items()}
    ours.load_state_dict({name: value.numpy() for name, value in theirs.state_dict().items()})
    x = numbers(0, (4, 7), np.float32)
    close(ours.forward(x), theirs(torch.tensor(x)).detach().numpy(), "output")


@hard
@given(window=windows(), batch=st.integers(1, 3), inputs=st.integers(1, 4), outputs=st.integers(1, 4), bias=st.booleans(), seed=seeds)
def test_conv2d(peer: Any, dtype: Any, window: Any, batch: int, inputs: int, outputs: int, bias: bool, seed: int) -> None:
    """P-L3, P-L4, P-L5."""
    size, kernel_size, stride, dilation = window
    layer = Conv2d(inputs, outputs, kernel_size, stride, dilation=dilation, bias=bias, rng=rng(seed)).astype(dtype)

    def formula(x: Any, weight: Any, bias: Any = None) -> Any:
        return last(peer.torch.nn.functional.conv2d(first(x), first(weight), bias, stride=stride, dilation=dilation))

    peer.compare(layer, numbers(seed, (batch, *size, inputs), dtype), formula)


# ---------------------------------------------------------------------------------------------------- windows and borders


@hard
@given(window=windows(), batch=st.integers(1, 3), channels=st.integers(1, 4), seed=seeds)
def test_max_pool2d(peer: Any, dtype: Any, window: Any, batch: int, channels: int, seed: int) -> None:
    """P-L13, on distinct numbers. Outputs are equal; where windows overlap, gradients are added in another order."""
    size, kernel_size, stride, dilation = window
    x = rng(seed).permutation(batch * size[0] * size[1] * channels).reshape(batch, *size, channels).astype(dtype)

    def formula(x: Any) -> Any:
        return last(peer.torch.nn.functional.max_pool2d(first(x), kernel_size, stride, 0, dilation))

    peer.compare(MaxPool2d(kernel_size, stride, dilation=dilation), x, formula, ulps=0, gradient_ulps=8)


@hard
@given(window=windows(), seed=seeds)
def test_max_pool2d_ties_go_to_the_first(peer: Any, dtype: Any, window: Any, seed: int) -> None:
    """P-L17: what a ReLU leaves is full of equal zeros, so the rule decides where gradients go."""
    size, kernel_size, stride, dilation = window
    x = rng(seed).integers(0, 3, (2, *size, 2)).astype(dtype)

    def formula(x: Any) -> Any:
        # Contiguous and channels first: PyTorch's pooling of channels_last memory need not keep the rule.
        return last(peer.torch.nn.functional.max_pool2d(first(x).contiguous(), kernel_size, stride, 0, dilation))

    peer.compare(MaxPool2d(kernel_size, stride, dilation=dilation), x, formula, ulps=0, gradient_ulps=8)


def test_max_pool2d_moves_by_its_kernel_unless_told(peer: Any, dtype: Any) -> None:
    x = numbers(1, (2, 7, 8, 3), dtype)
    peer.compare(MaxPool2d((3, 2)), x, lambda x: last(peer.torch.nn.functional.max_pool2d(first(x), (3, 2))), ulps=0)


sides = st.tuples(*[st.integers(0, 4)] * 4)


@hard
@given(padding=sides, value=st.floats(-4, 4, width=32), height=sizes, width=sizes, channels=st.integers(1, 3), seed=seeds)
def test_pad2d_constant(peer: Any, dtype: Any, padding: Any, value: float, height: int, width: int, channels: int, seed: int) -> None:
    """P-L7."""

    def formula(x: Any) -> Any:
        return last(peer.torch.nn.functional.pad(first(x), padding, "constant", value))

    peer.compare(Pad2d(padding, "constant", value), numbers(seed, (2, height, width, channels), dtype), formula, ulps=0)


@hard
@given(padding=sides, height=sizes, width=sizes, channels=st.integers(1, 3), seed=seeds)
def test_pad2d_replicate(peer: Any, dtype: Any, padding: Any, height: int, width: int, channels: int, seed: int) -> None:
    """P-L8."""

    def formula(x: Any) -> Any:
        return last(peer.torch.nn.functional.pad(first(x), padding, "replicate"))

    peer.compare(Pad2d(padding, "replicate"), numbers(seed, (2, height, width, channels), dtype), formula, ulps=0, gradient_ulps=8)


# ---------------------------------------------------------------------------------------------------- element by element

shapes = st.lists(sizes, min_size=2, max_size=4).map(tuple)


@hard
@given(shape=shapes, seed=seeds)
@pytest.mark.parametrize(
    ("layer", "name", "ulps"),
    [
        pytest.param(ReLU(), "relu", 0, id="ReLU P-L9"),
        pytest.param(Sigmoid(), "sigmoid", 4, id="Sigmoid P-L10"),
        pytest.param(Tanh(), "tanh", 4, id="Tanh"),
        pytest.param(Identity(), "clone", 0, id="Identity P-L14"),
    ],
)
def test_elementwise(peer: Any, dtype: Any, layer: Any, name: str, ulps: float, shape: tuple[int, ...], seed: int) -> None:
    """Equal where nothing is computed; exp and tanh are a few eps apart, as each library has its own."""
    peer.compare(layer, 3 * numbers(seed, shape, dtype), lambda x: getattr(peer.torch, name)(x), ulps=ulps)


@hard
@given(slope=st.floats(0.0, 1.0, width=32), shape=shapes, seed=seeds)
def test_leaky_relu(peer: Any, dtype: Any, slope: float, shape: tuple[int, ...], seed: int) -> None:
    """P-L15."""
    formula = peer.torch.nn.LeakyReLU(slope)
    peer.compare(LeakyReLU(slope), numbers(seed, shape, dtype), formula, ulps=0)


@hard
@given(slope=st.floats(-1.0, 1.0, width=32), shape=shapes, seed=seeds)
def test_prelu(peer: Any, dtype: Any, slope: float, shape: tuple[int, ...], seed: int) -> None:
    """P-L16, with one slope for all channels."""
    layer = PReLU(init=slope, rng=rng(0)).astype(dtype)
    peer.compare(layer, numbers(seed, shape, dtype), lambda x, slope: peer.torch.nn.functional.prelu(x, slope))


@pytest.mark.parametrize("layer", [Sigmoid(), Tanh()], ids=repr)
def test_far_from_zero(peer: Any, dtype: Any, layer: Any) -> None:
    """P-L10: no overflow, on either side."""
    x = np.array([[-1e4, -1000.0, -88.8, -30.0, 30.0, 88.8, 1000.0, 1e4]], dtype)
    peer.compare(layer, x, getattr(peer.torch, type(layer).__name__.lower()), ulps=4)


@hard
@given(batch=sizes, features=st.integers(1, 20), scale=st.sampled_from([1e-3, 1.0, 30.0, 1e4]), seed=seeds)
def test_softmax(peer: Any, dtype: Any, batch: int, features: int, scale: float, seed: int) -> None:
    """P-L11, scores of ten thousand included."""
    x = (scale * numbers(seed, (batch, features), np.float64)).astype(dtype)
    peer.compare(Softmax(), x, lambda x: peer.torch.softmax(x, 1))


# ---------------------------------------------------------------------------------------------------- layouts and wrappers


@hard
@given(height=sizes, width=sizes, channels=sizes, seed=seeds)
def test_flatten(peer: Any, dtype: Any, height: int, width: int, channels: int, seed: int) -> None:
    """P-L12: the row is PyTorch's of a channels-last image."""
    peer.compare(Flatten(), numbers(seed, (2, height, width, channels), dtype), lambda x: x.flatten(1), ulps=0)


@hard
@given(height=sizes, width=sizes, channels=sizes, seed=seeds)
def test_flatten_then_linear_is_pytorchs_with_its_columns_permuted(
    peer: Any, dtype: Any, height: int, width: int, channels: int, seed: int
) -> None:
    """P-L12: how weights are carried over from a channels-first model."""
    model = (Input(height, width, channels) >> Flatten() >> Linear(height * width * channels, 3)).init(rng(seed)).astype(dtype)
    columns = np.arange(height * width * channels).reshape(height, width, channels).transpose(2, 0, 1).ravel()

    def formula(x: Any, **learnt: Any) -> Any:
        return peer.torch.nn.functional.linear(first(x).flatten(1), learnt["1_weight"][:, columns], learnt["1_bias"])

    peer.compare(model, numbers(seed, (2, height, width, channels), dtype), formula)


@hard
@given(batch=sizes, features=st.integers(1, 12), hidden=st.integers(1, 12), seed=seeds)
def test_residual(peer: Any, dtype: Any, batch: int, features: int, hidden: int, seed: int) -> None:
    layer = Residual(Linear(features, hidden) >> Tanh() >> Linear(hidden, features)).init(rng(seed)).astype(dtype)

    def formula(x: Any, **p: Any) -> Any:
        linear = peer.torch.nn.functional.linear
        inner = peer.torch.tanh(linear(x, p["inner_0_weight"], p["inner_0_bias"]))
        return x + linear(inner, p["inner_2_weight"], p["inner_2_bias"])

    peer.compare(layer, numbers(seed, (batch, features), dtype), formula)


def test_residual_of_images(peer: Any, dtype: Any) -> None:
    layer = Residual(Pad2d(1) >> Conv2d(3, 3, 3, bias=True)).init(rng(2)).astype(dtype)

    def formula(x: Any, inner_1_weight: Any, inner_1_bias: Any) -> Any:
        return x + last(peer.torch.nn.functional.conv2d(first(x), first(inner_1_weight), inner_1_bias, padding=1))

    peer.compare(layer, numbers(2, (2, 5, 4, 3), dtype), formula)


@hard
@given(leading=st.one_of(st.tuples(sizes), st.tuples(sizes, sizes)), inputs=st.integers(1, 40), outputs=st.integers(1, 40), seed=seeds)
@pytest.mark.parametrize("bias", [True, False])
def test_sequence_linear(peer: Any, dtype: Any, leading: Any, inputs: int, outputs: int, bias: bool, seed: int) -> None:
    """nn.Linear on rows and on sequences."""
    layer = SequenceLinear(inputs, outputs, bias, rng=rng(seed)).astype(dtype)
    peer.compare(
        layer, numbers(seed, (*leading, inputs), dtype), lambda x, weight, bias=None: peer.torch.nn.functional.linear(x, weight, bias)
    )


@hard
@given(batch=sizes, time=sizes, features=st.integers(1, 12), hidden=st.integers(1, 12), seed=seeds)
def test_per_position(peer: Any, dtype: Any, batch: int, time: int, features: int, hidden: int, seed: int) -> None:
    """PyTorch's Linear takes any rank; ours says where it is applied."""
    layer = PerPosition(Linear(features, hidden) >> Sigmoid() >> Linear(hidden, 2, bias=False)).init(rng(seed)).astype(dtype)

    def formula(x: Any, **p: Any) -> Any:
        linear = peer.torch.nn.functional.linear
        return linear(peer.torch.sigmoid(linear(x, p["inner_0_weight"], p["inner_0_bias"])), p["inner_2_weight"])

    peer.compare(layer, numbers(seed, (batch, time, features), dtype), formula)
