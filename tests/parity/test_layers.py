"""Every layer gives PyTorch's output and PyTorch's gradients, by the input and by every parameter."""

from typing import Any

import numpy as np
import pytest
from effort import LONG, expensive
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from typednn import Input
from typednn.layers import (
    ELU,
    GELU,
    GLU,
    SELU,
    AdaptiveAvgPool2d,
    AvgPool2d,
    Concat,
    Conv1d,
    Conv2d,
    ConvTranspose2d,
    Flatten,
    GlobalAvgPool2d,
    Hardsigmoid,
    Hardswish,
    Identity,
    LeakyReLU,
    Linear,
    LogSoftmax,
    MaxPool2d,
    Pad2d,
    PerPosition,
    PReLU,
    ReLU,
    Reshape,
    Residual,
    SequenceLinear,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
    Upsample,
)

pytestmark = [pytest.mark.parity, pytest.mark.usefixtures("few_kernels")]

# The fixture `dtype` is the same for all examples of one test, as it should be.
hard = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
compiling = settings(expensive if LONG else settings(), suppress_health_check=[HealthCheck.function_scoped_fixture])

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
    """(size, kernel, stride, dilation) along one axis: one to four windows, and pixels left over that
    no window meets.
    """
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


@compiling
@given(batch=sizes, inputs=st.integers(1, 40), outputs=st.integers(1, 40), bias=st.booleans(), seed=seeds)
def test_linear(peer: Any, dtype: Any, batch: int, inputs: int, outputs: int, bias: bool, seed: int) -> None:
    """P-L1."""
    layer = Linear(inputs, outputs, bias, rng=rng(seed)).astype(dtype)
    peer.compare(
        layer,
        numbers(seed, (batch, inputs), dtype),
        lambda x, weight, bias=None: peer.torch.nn.functional.linear(x, weight, bias),
    )


@pytest.mark.parametrize("bias", [True, False])
def test_linear_state_is_pytorchs_under_the_same_names(torch: Any, close: Any, bias: bool) -> None:
    """G-D11: constructor, names, shapes and results of nn.Linear; state goes from one to the other unchanged."""
    ours, theirs = Linear(7, 3, bias), torch.nn.Linear(7, 3, bias)
    assert ours.parameter_shapes() == {name: tuple(value.shape) for name, value in theirs.state_dict().items()}
    ours.load_state_dict({name: value.numpy() for name, value in theirs.state_dict().items()})
    x = numbers(0, (4, 7), np.float32)
    close(ours.forward(x), theirs(torch.tensor(x)).detach().numpy(), "output")


@compiling
@given(
    window=windows(),
    batch=st.integers(1, 3),
    inputs=st.integers(1, 4),
    outputs=st.integers(1, 4),
    bias=st.booleans(),
    seed=seeds,
)
def test_conv2d(
    peer: Any, dtype: Any, window: Any, batch: int, inputs: int, outputs: int, bias: bool, seed: int
) -> None:
    """P-L3, P-L4, P-L5."""
    size, kernel_size, stride, dilation = window
    layer = Conv2d(inputs, outputs, kernel_size, stride, dilation=dilation, bias=bias, rng=rng(seed)).astype(dtype)

    def formula(x: Any, weight: Any, bias: Any = None) -> Any:
        return last(peer.torch.nn.functional.conv2d(first(x), first(weight), bias, stride=stride, dilation=dilation))

    peer.compare(layer, numbers(seed, (batch, *size, inputs), dtype), formula)


paddings = st.one_of(
    st.integers(0, 3), st.tuples(st.integers(0, 3), st.integers(0, 3)), st.sampled_from(["same", "valid"])
)


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")  # PyTorch copies there
@compiling
@given(
    window=windows(),
    padding=paddings,
    groups=st.integers(1, 4),
    inputs=st.integers(1, 3),
    outputs=st.integers(1, 3),
    bias=st.booleans(),
    seed=seeds,
)
def test_conv2d_with_padding_and_groups(
    peer: Any, dtype: Any, window: Any, padding: Any, groups: int, inputs: int, outputs: int, bias: bool, seed: int
) -> None:
    """X-N1, Z-Y1: depthwise where a group has one channel."""
    size, kernel_size, stride, dilation = window
    if padding == "same":
        stride = (1, 1)
    layer: Any = Conv2d(
        groups * inputs, groups * outputs, kernel_size, stride, padding, dilation, groups, bias, rng=rng(seed)
    )

    def formula(x: Any, weight: Any, bias: Any = None) -> Any:
        return last(peer.torch.nn.functional.conv2d(first(x), first(weight), bias, stride, padding, dilation, groups))

    peer.compare(layer.astype(dtype), numbers(seed, (2, *size, groups * inputs), dtype), formula)


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")
@compiling
@given(
    axis=axes(),
    padding=st.sampled_from([0, 1, 3, "same", "valid"]),
    groups=st.integers(1, 3),
    bias=st.booleans(),
    seed=seeds,
)
def test_conv1d(peer: Any, dtype: Any, axis: Any, padding: Any, groups: int, bias: bool, seed: int) -> None:
    """Any strides, and channels in groups of two."""
    time, kernel_size, stride, dilation = axis
    if padding == "same":
        stride = 1
    layer: Any = Conv1d(2 * groups, 3 * groups, kernel_size, stride, padding, dilation, groups, bias, rng=rng(seed))

    def formula(x: Any, weight: Any, bias: Any = None) -> Any:
        of_time = x.permute(0, 2, 1), weight.permute(0, 2, 1)
        return peer.torch.nn.functional.conv1d(*of_time, bias, stride, padding, dilation, groups).permute(0, 2, 1)

    peer.compare(layer.astype(dtype), numbers(seed, (2, time, 2 * groups), dtype), formula)


@compiling
@given(
    window=windows(),
    shares=st.tuples(*[st.floats(0, 0.99)] * 4),
    groups=st.integers(1, 3),
    channels=st.integers(1, 3),
    bias=st.booleans(),
    seed=seeds,
)
def test_conv_transpose2d(
    peer: Any, dtype: Any, window: Any, shares: Any, groups: int, channels: int, bias: bool, seed: int
) -> None:
    """Padding up to half a window, so that something is left; output_padding below the stride or the dilation."""
    size, kernel_size, stride, dilation = window
    padding = tuple(
        int(share * (d * (k - 1) // 2 + 1)) for share, d, k in zip(shares, dilation, kernel_size, strict=False)
    )
    more = tuple(int(share * max(steps)) for share, *steps in zip(shares[2:], stride, dilation, strict=True))
    arguments = stride, padding, more, groups
    layer: Any = ConvTranspose2d(groups * 2, groups * channels, kernel_size, *arguments, bias, dilation, rng=rng(seed))

    def formula(x: Any, weight: Any, bias: Any = None) -> Any:
        return last(peer.torch.nn.functional.conv_transpose2d(first(x), first(weight), bias, *arguments, dilation))

    peer.compare(layer.astype(dtype), numbers(seed, (2, *size, groups * 2), dtype), formula)


# -------------------------------------------------------------------------------------------------- windows and borders


@compiling
@given(window=windows(), batch=st.integers(1, 3), channels=st.integers(1, 4), seed=seeds)
def test_max_pool2d(peer: Any, dtype: Any, window: Any, batch: int, channels: int, seed: int) -> None:
    """P-L13, on distinct numbers. Outputs are equal; where windows overlap, gradients are added in another order."""
    size, kernel_size, stride, dilation = window
    x = rng(seed).permutation(batch * size[0] * size[1] * channels).reshape(batch, *size, channels).astype(dtype)

    def formula(x: Any) -> Any:
        return last(peer.torch.nn.functional.max_pool2d(first(x), kernel_size, stride, 0, dilation))

    peer.compare(MaxPool2d(kernel_size, stride, dilation=dilation), x, formula, ulps=0, gradient_ulps=8)


@compiling
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


@compiling
@given(window=windows(), data=st.data(), seed=seeds)
def test_max_pool2d_with_a_border(peer: Any, dtype: Any, window: Any, data: st.DataObject, seed: int) -> None:
    size, kernel_size, stride, dilation = window
    # At most half the kernel, where PyTorch's versions agree.
    padding = tuple(data.draw(st.integers(0, kernel // 2)) for kernel in kernel_size)
    x = rng(seed).integers(-3, 3, (2, *size, 2)).astype(dtype)

    def formula(x: Any) -> Any:
        return last(peer.torch.nn.functional.max_pool2d(first(x).contiguous(), kernel_size, stride, padding, dilation))

    peer.compare(MaxPool2d(kernel_size, stride, padding, dilation), x, formula, ulps=0, gradient_ulps=8)


@compiling
@given(window=windows(), data=st.data(), counted=st.booleans(), seed=seeds)
def test_avg_pool2d(peer: Any, dtype: Any, window: Any, data: st.DataObject, counted: bool, seed: int) -> None:
    size, kernel_size, stride, _ = window
    padding = tuple(data.draw(st.integers(0, kernel // 2)) for kernel in kernel_size)

    def formula(x: Any) -> Any:
        return last(peer.torch.nn.functional.avg_pool2d(first(x), kernel_size, stride, padding, False, counted))

    layer = AvgPool2d(kernel_size, stride, padding, count_include_pad=counted)
    peer.compare(layer, numbers(seed, (2, *size, 3), dtype), formula)


def test_avg_pool2d_moves_by_its_kernel_unless_told(peer: Any, dtype: Any) -> None:
    x = numbers(1, (2, 7, 8, 3), dtype)
    peer.compare(AvgPool2d((3, 2)), x, lambda x: last(peer.torch.nn.functional.avg_pool2d(first(x), (3, 2))))


@compiling
@given(height=sizes, width=sizes, output_size=st.tuples(st.integers(1, 9), sizes), seed=seeds)
def test_adaptive_avg_pool2d(
    peer: Any, dtype: Any, height: int, width: int, output_size: tuple[int, int], seed: int
) -> None:
    def formula(x: Any) -> Any:
        return last(peer.torch.nn.functional.adaptive_avg_pool2d(first(x), output_size))

    peer.compare(AdaptiveAvgPool2d(output_size), numbers(seed, (2, height, width, 3), dtype), formula)


@compiling
@given(height=sizes, width=sizes, channels=st.integers(1, 20), seed=seeds)
def test_global_avg_pool2d(peer: Any, dtype: Any, height: int, width: int, channels: int, seed: int) -> None:
    def formula(x: Any) -> Any:
        return peer.torch.nn.functional.adaptive_avg_pool2d(first(x), 1).flatten(1)

    peer.compare(GlobalAvgPool2d(), numbers(seed, (2, height, width, channels), dtype), formula)


@compiling
@given(height=sizes, width=sizes, scale=st.tuples(st.integers(1, 4), st.integers(1, 4)), seed=seeds)
@pytest.mark.parametrize(("mode", "align_corners"), [("nearest", None), ("bilinear", False), ("bilinear", True)])
def test_upsample(
    peer: Any,
    dtype: Any,
    height: int,
    width: int,
    scale: tuple[int, int],
    mode: Any,
    align_corners: bool | None,
    seed: int,
) -> None:
    def formula(x: Any) -> Any:
        scales = tuple(map(float, scale))
        return last(
            peer.torch.nn.functional.interpolate(first(x), scale_factor=scales, mode=mode, align_corners=align_corners)
        )

    layer = Upsample(scale, mode, bool(align_corners))
    peer.compare(layer, numbers(seed, (2, height, width, 3), dtype), formula)


sides = st.tuples(*[st.integers(0, 4)] * 4)


@compiling
@given(
    padding=sides, value=st.floats(-4, 4, width=32), height=sizes, width=sizes, channels=st.integers(1, 3), seed=seeds
)
def test_pad2d_constant(
    peer: Any, dtype: Any, padding: Any, value: float, height: int, width: int, channels: int, seed: int
) -> None:
    """P-L7."""

    def formula(x: Any) -> Any:
        return last(peer.torch.nn.functional.pad(first(x), padding, "constant", value))

    peer.compare(Pad2d(padding, "constant", value), numbers(seed, (2, height, width, channels), dtype), formula, ulps=0)


@compiling
@given(padding=sides, height=sizes, width=sizes, channels=st.integers(1, 3), seed=seeds)
def test_pad2d_replicate(
    peer: Any, dtype: Any, padding: Any, height: int, width: int, channels: int, seed: int
) -> None:
    """P-L8."""

    def formula(x: Any) -> Any:
        return last(peer.torch.nn.functional.pad(first(x), padding, "replicate"))

    peer.compare(
        Pad2d(padding, "replicate"),
        numbers(seed, (2, height, width, channels), dtype),
        formula,
        ulps=0,
        gradient_ulps=8,
    )


# --------------------------------------------------------------------------------------------------- element by element

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
def test_elementwise(
    peer: Any, dtype: Any, layer: Any, name: str, ulps: float, shape: tuple[int, ...], seed: int
) -> None:
    """Equal where nothing is computed; exp and tanh are a few eps apart, as each library has its own."""
    peer.compare(layer, 3 * numbers(seed, shape, dtype), lambda x: getattr(peer.torch, name)(x), ulps=ulps)


# How far PyTorch itself is off in float64, in eps. Hardsigmoid: its slope is the float32 number nearest to 1/6. GELU of
# tanh: it rounds 1 - tanh² to eps and multiplies by x v'/2, up to 23 before tanh is 1, at |x| = 7.2, and by |dy|, below
# 5. Ours is within 2 eps of the formula in long doubles (tests/kernels/test_elementwise_cpu.py). SiLU: beside the root
# of its slope, at x = -1.278, both cancel: beside long doubles ours is up to 19 eps off and PyTorch's formula 18, of
# slopes above 0.01 at 22,000 x.
TORCH_OFF = {"Hardsigmoid": 2.0**30, "GELU of tanh G-L4": 23 * 5.0, "SiLU": 19.0 + 18.0}

SMOOTH = {
    "GELU G-L4": (GELU(), lambda torch: torch.nn.GELU()),
    "GELU of tanh G-L4": (GELU("tanh"), lambda torch: torch.nn.GELU("tanh")),
    "SiLU": (SiLU(), lambda torch: torch.nn.SiLU()),
    "Softplus": (Softplus(), lambda torch: torch.nn.Softplus()),
    "Softplus with a threshold": (Softplus(2.0, 3.0), lambda torch: torch.nn.Softplus(2.0, 3.0)),
    "ELU": (ELU(), lambda torch: torch.nn.ELU()),
    "ELU of alpha": (ELU(0.3), lambda torch: torch.nn.ELU(0.3)),
    "SELU": (SELU(), lambda torch: torch.nn.SELU()),
    "Hardswish": (Hardswish(), lambda torch: torch.nn.Hardswish()),
    "Hardsigmoid": (Hardsigmoid(), lambda torch: torch.nn.Hardsigmoid()),
}


@hard
@given(shape=shapes, scale=st.sampled_from([0.1, 1.0, 3.0, 30.0]), seed=seeds)
@pytest.mark.parametrize("name", SMOOTH)
def test_linear_units(peer: Any, dtype: Any, name: str, shape: tuple[int, ...], scale: float, seed: int) -> None:
    """G-L4."""
    layer, formula = SMOOTH[name]
    rough = TORCH_OFF.get(name) if dtype == np.float64 else None
    peer.compare(
        layer,
        (scale * numbers(seed, shape, np.float64)).astype(dtype),
        formula(peer.torch),
        ulps=8,
        gradient_ulps=rough or 16,
    )


@pytest.mark.parametrize("name", [name for name in SMOOTH if "threshold" not in name])
def test_linear_units_far_from_zero_and_at_their_corners(peer: Any, dtype: Any, name: str) -> None:
    layer, formula = SMOOTH[name]
    x = np.array([[-1e4, -1000.0, -104.0, -30.0, -3.0, -0.0, 0.0, 3.0, 20.0, 30.0, 88.8, 1000.0, 1e4]], dtype)
    rough = TORCH_OFF.get(name) if dtype == np.float64 else None
    peer.compare(layer, x, formula(peer.torch), ulps=4, gradient_ulps=rough or 16)


@hard
@given(leading=st.one_of(st.tuples(sizes), st.tuples(sizes, sizes)), half=st.integers(1, 20), seed=seeds)
def test_glu(peer: Any, dtype: Any, leading: Any, half: int, seed: int) -> None:
    """Rows and sequences."""
    peer.compare(GLU(), numbers(seed, (*leading, 2 * half), dtype), peer.torch.nn.GLU(), ulps=8)


@compiling
@given(batch=sizes, features=st.integers(1, 20), scale=st.sampled_from([1e-3, 1.0, 30.0, 1e4]), seed=seeds)
def test_log_softmax(peer: Any, dtype: Any, batch: int, features: int, scale: float, seed: int) -> None:
    """Scores of ten thousand included."""
    x = (scale * numbers(seed, (batch, features), np.float64)).astype(dtype)
    peer.compare(LogSoftmax(), x, lambda x: peer.torch.log_softmax(x, 1))


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


@compiling
@given(batch=sizes, features=st.integers(1, 20), scale=st.sampled_from([1e-3, 1.0, 30.0, 1e4]), seed=seeds)
def test_softmax(peer: Any, dtype: Any, batch: int, features: int, scale: float, seed: int) -> None:
    """P-L11, scores of ten thousand included."""
    x = (scale * numbers(seed, (batch, features), np.float64)).astype(dtype)
    peer.compare(Softmax(), x, lambda x: peer.torch.softmax(x, 1))


# ------------------------------------------------------------------------------------------------- layouts and wrappers


@hard
@given(height=sizes, width=sizes, channels=sizes, seed=seeds)
def test_flatten(peer: Any, dtype: Any, height: int, width: int, channels: int, seed: int) -> None:
    """P-L12: the row is PyTorch's of a channels-last image."""
    x = numbers(seed, (2, height, width, channels), dtype)
    peer.compare(Flatten(), x, lambda x: x.flatten(1), ulps=0)
    peer.compare(Flatten(1, 2), x, lambda x: x.flatten(1, 2), ulps=0)
    peer.compare(Flatten(2), x, lambda x: x.flatten(2), ulps=0)
    peer.compare(Flatten(), x[:, :, :, 0], lambda x: x.flatten(1), ulps=0)
    peer.compare(Reshape(channels, height * width), x, lambda x: x.reshape(2, channels, height * width), ulps=0)
    peer.compare(
        Reshape(channels, width, height), x.reshape(2, -1), lambda x: x.unflatten(1, (channels, width, height)), ulps=0
    )


@compiling
@given(height=sizes, width=sizes, channels=sizes, seed=seeds)
def test_flatten_then_linear_is_pytorchs_with_its_columns_permuted(
    peer: Any, dtype: Any, height: int, width: int, channels: int, seed: int
) -> None:
    """P-L12: how weights are carried over from a channels-first model."""
    model = (
        (Input(height, width, channels) >> Flatten() >> Linear(height * width * channels, 3))
        .init(rng(seed))
        .astype(dtype)
    )
    columns = np.arange(height * width * channels).reshape(height, width, channels).transpose(2, 0, 1).ravel()

    def formula(x: Any, **learnt: Any) -> Any:
        return peer.torch.nn.functional.linear(first(x).flatten(1), learnt["1_weight"][:, columns], learnt["1_bias"])

    peer.compare(model, numbers(seed, (2, height, width, channels), dtype), formula)


@compiling
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


def test_residual_with_a_shortcut(peer: Any, dtype: Any) -> None:
    """The block with which ResNet makes an image smaller."""
    layer = Residual(Pad2d(1) >> Conv2d(3, 4, 3, 2), shortcut=Conv2d(3, 4, 1, 2)).init(rng(2)).astype(dtype)

    def formula(x: Any, inner_1_weight: Any, shortcut_weight: Any) -> Any:
        conv2d = peer.torch.nn.functional.conv2d
        return last(
            conv2d(first(x), first(inner_1_weight), stride=2, padding=1)
            + conv2d(first(x), first(shortcut_weight), stride=2)
        )

    peer.compare(layer, numbers(2, (2, 7, 4, 3), dtype), formula)


def test_concat(peer: Any, dtype: Any) -> None:
    layer = Concat(Identity(), Linear(5, 3) >> Tanh(), Linear(5, 2)).init(rng(3)).astype(dtype)

    def formula(x: Any, **p: Any) -> Any:
        linear = peer.torch.nn.functional.linear
        second = peer.torch.tanh(linear(x, p["branches_1_0_weight"], p["branches_1_0_bias"]))
        return peer.torch.cat([x, second, linear(x, p["branches_2_weight"], p["branches_2_bias"])], dim=-1)

    peer.compare(layer, numbers(3, (4, 5), dtype), formula)


@compiling
@given(
    leading=st.one_of(st.tuples(sizes), st.tuples(sizes, sizes)),
    inputs=st.integers(1, 40),
    outputs=st.integers(1, 40),
    seed=seeds,
)
@pytest.mark.parametrize("bias", [True, False])
def test_sequence_linear(peer: Any, dtype: Any, leading: Any, inputs: int, outputs: int, bias: bool, seed: int) -> None:
    """nn.Linear on rows and on sequences."""
    layer = SequenceLinear(inputs, outputs, bias, rng=rng(seed)).astype(dtype)
    peer.compare(
        layer,
        numbers(seed, (*leading, inputs), dtype),
        lambda x, weight, bias=None: peer.torch.nn.functional.linear(x, weight, bias),
    )


@compiling
@given(batch=sizes, time=sizes, features=st.integers(1, 12), hidden=st.integers(1, 12), seed=seeds)
def test_per_position(peer: Any, dtype: Any, batch: int, time: int, features: int, hidden: int, seed: int) -> None:
    """PyTorch's Linear takes any rank; ours says where it is applied."""
    layer = (
        PerPosition(Linear(features, hidden) >> Sigmoid() >> Linear(hidden, 2, bias=False))
        .init(rng(seed))
        .astype(dtype)
    )

    def formula(x: Any, **p: Any) -> Any:
        linear = peer.torch.nn.functional.linear
        return linear(peer.torch.sigmoid(linear(x, p["inner_0_weight"], p["inner_0_bias"])), p["inner_2_weight"])

    peer.compare(layer, numbers(seed, (batch, time, features), dtype), formula)
