"""The layers' formulas, written from their docstrings in operations of the graph: what the oracle differentiates.

A formula takes the layer, for its settings and the state that forward will find, a function from its arrays to tensors,
and its inputs as tensors. It calls no op of `typednn.kernels`; random masks alone come from the same generator.
"""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from typednn.graph.attention import attention, join_heads, split_heads
from typednn.graph.embedding import embed
from typednn.graph.movement import concatenate
from typednn.graph.nodes import binary, constant, pad, permute, reshape, tensor, unary
from typednn.graph.normalisation import batch_norm, group_norm, layer_norm, rms_norm
from typednn.graph.operations import Binary, Unary
from typednn.graph.products import linear, matmul, tensordot
from typednn.graph.softmax import log_softmax, softmax
from typednn.graph.windows import avg_pool, conv1d, conv2d, conv_transpose2d, max_pool
from typednn.kernels.dropout.reference import bits, bits_of_rows

Formula = Callable[..., Any]


def formula_of(layer: Any) -> Formula | None:
    """The formula of a layer's class."""
    return FORMULAS.get(type(layer).__name__)


def run(layer: Any, p: Any, *inputs: Any) -> Any:
    """What ``layer`` gives, by its formula."""
    return FORMULAS[type(layer).__name__](layer, p, *inputs)


def chain(layer: Any, p: Any, x: Any) -> Any:
    for part in layer.parts:
        x = run(part, p, x)
    return x


# ------------------------------------------------------------------ functions of one number


def exp(x: Any) -> Any:
    return unary(Unary.EXP, x)


def sigmoid(x: Any) -> Any:
    return 1.0 / (exp(-x) + 1.0)


def tanh(x: Any) -> Any:
    return unary(Unary.TANH, x)


def where(mask: Any, x: Any, y: Any) -> Any:
    return binary(Binary.MASKED, mask, x) + binary(Binary.MASKED, ~mask, y)


def clipped(x: Any, low: float, high: float) -> Any:
    return -binary(Binary.MAXIMUM, -binary(Binary.MAXIMUM, x, low), -high)


def gelu(layer: Any, p: Any, x: Any) -> Any:
    if layer.approximate == "tanh":
        return x * (tanh((x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)) + 1.0) * 0.5
    return x * (unary(Unary.ERF, x * math.sqrt(0.5)) + 1.0) * 0.5


def softplus(layer: Any, p: Any, x: Any) -> Any:
    scaled = x * layer.beta
    near = where(scaled > layer.threshold, constant(0.0, np.float64), scaled)  # exp of what is far would overflow
    return where(scaled > layer.threshold, x, unary(Unary.LOG, exp(near) + 1.0) / layer.beta)


def elu(x: Any, alpha: float, scale: float) -> Any:
    return where(x > 0.0, x, (exp(where(x > 0.0, constant(0.0, np.float64), x)) - 1.0) * alpha) * scale


def glu(layer: Any, p: Any, x: Any) -> Any:
    half = x.shape[-1] // 2
    return x[..., :half] * sigmoid(x[..., half:])


# ------------------------------------------------------------------ images


def conv(of: Formula, layer: Any, p: Any, x: Any, padding: Any) -> Any:
    return of(x, p(layer.weight), p(layer.bias), layer.stride, padding, layer.dilation, layer.groups)


def conv_of_images(layer: Any, p: Any, x: Any) -> Any:
    left, right, top, bottom = layer.padding
    return conv(conv2d, layer, p, x, ((top, bottom), (left, right)))


def transposed(layer: Any, p: Any, x: Any) -> Any:
    options = layer.stride, layer.padding, layer.output_padding, layer.groups, layer.dilation
    return conv_transpose2d(x, p(layer.weight), p(layer.bias), *options)


def along(x: Any, matrix: Any, axis: int) -> Any:
    """``matrix`` (new, old) applied to one axis."""
    moved = tensordot(tensor(matrix), x, ([1], [axis]))
    order = list(range(1, x.ndim))
    return permute(moved, (*order[:axis], 0, *order[axis:]))


def adaptive(layer: Any, p: Any, x: Any) -> Any:
    for axis, out in enumerate(layer.output_size, 1):
        size = x.shape[axis]
        shares = np.zeros((out, size))
        for i in range(out):
            first, end = math.floor(i * size / out), math.ceil((i + 1) * size / out)
            shares[i, first:end] = 1 / (end - first)
        x = along(x, shares, axis)
    return x


def upsample(layer: Any, p: Any, x: Any) -> Any:
    for axis, scale in enumerate(layer.scale_factor, 1):
        size = x.shape[axis]
        weights = np.zeros((size * scale, size))
        for i in range(size * scale):
            if layer.mode == "nearest":
                weights[i, i // scale] = 1
                continue
            at = i * (size - 1) / max(size * scale - 1, 1) if layer.align_corners else max((i + 0.5) / scale - 0.5, 0)
            low = min(math.floor(at), size - 1)
            weights[i, low] += 1 - (at - low)
            weights[i, min(low + 1, size - 1)] += at - low
        x = along(x, weights, axis)
    return x


def pad2d(layer: Any, p: Any, x: Any) -> Any:
    left, right, top, bottom = layer.padding
    if layer.mode == "constant":
        widths = ((0, 0), (top, bottom), (left, right), (0, 0))
        outside = ~pad(constant(True, np.bool_, x.shape), widths)
        return pad(x, widths) + binary(Binary.MASKED, outside, constant(layer.value, np.float64))
    for axis, before, after in ((1, top, bottom), (2, left, right)):
        nearest = np.clip(np.arange(-before, x.shape[axis] + after), 0, x.shape[axis] - 1)
        x = along(x, np.eye(x.shape[axis])[nearest], axis)
    return x


# ------------------------------------------------------------------ normalisations and dropout


def normalised_by_batch(layer: Any, p: Any, x: Any) -> Any:
    statistics = None
    if not layer.training and layer.running_mean is not None:
        statistics = tensor(layer.running_mean.copy()), tensor(layer.running_var.copy())
    return batch_norm(x, p(layer.weight), p(layer.bias), layer.eps, statistics)


def root_mean_square(layer: Any, p: Any, x: Any) -> Any:
    return rms_norm(x, p(layer.weight), np.finfo(np.float64).eps if layer.eps is None else layer.eps)


def dropped(layer: Any, p: Any, x: Any, whole: bool) -> Any:
    if not layer.training:
        return x
    if layer.p == 1.0:
        return x * 0.0
    key, drawn = (int(each) for each in layer.seed)
    shape = (x.shape[0], 1, 1, x.shape[-1]) if whole else x.shape
    u = (bits(np, math.prod(shape), key, drawn).reshape(shape) + 0.5) / 2**32
    return (
        binary(Binary.MASKED, tensor(u > layer.p), x / (1 - layer.p))
        if not whole
        else x * tensor((u > layer.p) / (1 - layer.p))
    )


# ------------------------------------------------------------------ sequences


def attended(layer: Any, p: Any, x: Any, memory: Any = None, mask: Any = None) -> Any:
    read, embed_dim = x if memory is None else memory, layer.embed_dim
    if layer.in_proj_weight is None:
        weights = [p(layer.q_proj_weight), p(layer.k_proj_weight), p(layer.v_proj_weight)]
    else:
        weights = [p(layer.in_proj_weight)[place * embed_dim : (place + 1) * embed_dim] for place in range(3)]
    biases = [None] * 3
    if layer.in_proj_bias is not None:
        biases = [p(layer.in_proj_bias)[place * embed_dim : (place + 1) * embed_dim] for place in range(3)]
    q, k, v = (
        split_heads(linear(of, weight, bias), layer.num_heads)
        for of, weight, bias in zip((x, read, read), weights, biases, strict=True)
    )
    if layer.rotary:
        q, k = turned(q), turned(k)
    dropout = None
    if layer.dropout and layer.training:
        key, drawn = (int(each) for each in layer.seed)
        batch, time, heads, _ = q.shape
        rows = bits_of_rows(np, batch * heads, slice(0, time), k.shape[1], key, drawn)
        dropout = layer.dropout, tensor(((rows + 0.5) / 2**32 > layer.dropout).reshape(batch, heads, time, k.shape[1]))
    y = join_heads(attention(q, k, v, mask, layer.causal, dropout=dropout))
    return linear(y, p(layer.out_proj_weight), p(layer.out_proj_bias))


def turned(x: Any) -> Any:
    """Each pair of features turned by its angle, position·10000^(-2i/features)."""
    batch, time, heads, features = x.shape
    angles = np.outer(np.arange(time), 10000.0 ** (-2 * np.arange(features // 2) / features)).reshape(
        time, 1, features // 2, 1
    )
    pairs = reshape(x, (batch, time, heads, features // 2, 2))
    even, odd = pairs[..., :1], pairs[..., 1:]
    cos, sin = tensor(np.cos(angles)), tensor(np.sin(angles))
    return reshape(concatenate([even * cos - odd * sin, even * sin + odd * cos], -1), x.shape)


def sines(layer: Any, p: Any, x: Any) -> Any:
    time, features = x.shape[1:]
    waves = np.zeros((time, features))
    for place in range(features):
        angle = np.arange(time) * 10000.0 ** (-2 * (place // 2) / features)
        waves[:, place] = np.cos(angle) if place % 2 else np.sin(angle)
    return x + tensor(waves)


def recurrent(layer: Any, p: Any, x: Any, lengths: Any, step: Callable[..., Any], states: int) -> Any:
    """A loop over the positions; from a sequence's length on, it gives zeros."""
    batch, time, _ = x.shape
    state = [constant(0.0, np.float64, (batch, layer.hidden_size)) for _ in range(states)]
    outputs = []
    for t in range(time):
        by_input = linear(x[:, t], p(layer.weight_ih), p(layer.bias_ih))
        by_state = linear(state[0], p(layer.weight_hh), p(layer.bias_hh))
        state = step(by_input, by_state, state)
        valid = None if lengths is None else reshape(lengths > t, (batch, 1)).expand(batch, layer.hidden_size)
        outputs.append(
            reshape(
                state[0] if valid is None else binary(Binary.MASKED, valid, state[0]), (batch, 1, layer.hidden_size)
            )
        )
    return concatenate(outputs, 1)


def rnn(layer: Any, p: Any, x: Any, lengths: Any = None) -> Any:
    act = tanh if layer.nonlinearity == "tanh" else lambda x: binary(Binary.MAXIMUM, x, 0.0)
    return recurrent(layer, p, x, lengths, lambda a, b, state: [act(a + b)], 1)


def gru(layer: Any, p: Any, x: Any, lengths: Any = None) -> Any:
    n = layer.hidden_size

    def step(a: Any, b: Any, state: Any) -> Any:
        r, u = sigmoid(a[:, :n] + b[:, :n]), sigmoid(a[:, n : 2 * n] + b[:, n : 2 * n])
        new = tanh(a[:, 2 * n :] + r * b[:, 2 * n :])
        return [(1.0 - u) * new + u * state[0]]

    return recurrent(layer, p, x, lengths, step, 1)


def lstm(layer: Any, p: Any, x: Any, lengths: Any = None) -> Any:
    n = layer.hidden_size

    def step(a: Any, b: Any, state: Any) -> Any:
        i, f, g, o = ((a + b)[:, place * n : (place + 1) * n] for place in range(4))
        cell = sigmoid(f) * state[1] + sigmoid(i) * tanh(g)
        return [sigmoid(o) * tanh(cell), cell]

    return recurrent(layer, p, x, lengths, step, 2)


def last_step(layer: Any, p: Any, x: Any, lengths: Any = None) -> Any:
    if lengths is None:
        return x[:, -1]
    at = reshape(lengths, (x.shape[0], 1, 1)) == reshape(tensor(np.arange(1, x.shape[1] + 1)), (1, x.shape[1], 1))
    return binary(Binary.MASKED, at.expand(*x.shape), x).sum(1)


# ------------------------------------------------------------------ what wraps others, or only moves numbers


def flatten(layer: Any, p: Any, x: Any) -> Any:
    end = layer.end_dim % x.ndim
    return reshape(x, (*x.shape[: layer.start_dim], -1, *x.shape[end + 1 :]))


def residual(layer: Any, p: Any, x: Any) -> Any:
    return run(layer.inner, p, x) + (x if layer.shortcut is None else run(layer.shortcut, p, x))


def repeated(layer: Any, p: Any, x: Any) -> Any:
    for each in layer.copies:
        x = run(each, p, x)
    return x


def per_position(layer: Any, p: Any, x: Any) -> Any:
    y = run(layer.inner, p, reshape(x, (x.shape[0] * x.shape[1], x.shape[2])))
    return reshape(y, (x.shape[0], x.shape[1], y.shape[1]))


def affine(layer: Any, p: Any, x: Any) -> Any:
    y = matmul(x, p(layer.weight).T)
    return y if layer.bias is None else y + p(layer.bias)


FORMULAS: Final[dict[str, Formula]] = {
    "AdaptiveAvgPool2d": adaptive,
    "AvgPool2d": lambda layer, p, x: avg_pool(
        x, layer.kernel_size, layer.stride, layer.padding, layer.count_include_pad
    ),
    "BatchNorm1d": normalised_by_batch,
    "BatchNorm2d": normalised_by_batch,
    "Concat": lambda layer, p, x: concatenate([run(each, p, x) for each in layer.branches], -1),
    "Conv1d": lambda layer, p, x: conv(conv1d, layer, p, x, (layer.padding,)),
    "Conv2d": conv_of_images,
    "ConvTranspose2d": transposed,
    "Dropout": lambda layer, p, x: dropped(layer, p, x, False),
    "Dropout2d": lambda layer, p, x: dropped(layer, p, x, True),
    "ELU": lambda layer, p, x: elu(x, layer.alpha, 1.0),
    "Embedding": lambda layer, p, x: embed(p(layer.weight), x),
    "Flatten": flatten,
    "GELU": gelu,
    "GLU": glu,
    "GRU": gru,
    "GlobalAvgPool2d": lambda layer, p, x: x.mean((1, 2)),
    "GroupNorm": lambda layer, p, x: group_norm(x, layer.num_groups, p(layer.weight), p(layer.bias), layer.eps),
    "Hardsigmoid": lambda layer, p, x: clipped(x + 3.0, 0.0, 6.0) / 6.0,
    "Hardswish": lambda layer, p, x: x * clipped(x + 3.0, 0.0, 6.0) / 6.0,
    "Identity": lambda layer, p, x: x,
    "LSTM": lstm,
    "LastStep": last_step,
    "LayerNorm": lambda layer, p, x: layer_norm(x, p(layer.weight), p(layer.bias), layer.eps),
    "LeakyReLU": lambda layer, p, x: where(x > 0.0, x, x * layer.negative_slope),
    "LearnedPositions": lambda layer, p, x: x + p(layer.weight)[: x.shape[1]],
    "Linear": affine,
    "LogSoftmax": lambda layer, p, x: log_softmax(x),
    "MaxPool2d": lambda layer, p, x: max_pool(x, layer.kernel_size, layer.stride, layer.padding, layer.dilation),
    "MultiHeadAttention": attended,
    "PReLU": lambda layer, p, x: where(x > 0.0, x, x * p(layer.slope)),
    "Pad2d": pad2d,
    "PerPosition": per_position,
    "RMSNorm": root_mean_square,
    "RNN": rnn,
    "ReLU": lambda layer, p, x: binary(Binary.MAXIMUM, x, 0.0),
    "Repeat": repeated,
    "Reshape": lambda layer, p, x: reshape(x, (x.shape[0], *layer.shape)),
    "Residual": residual,
    "SELU": lambda layer, p, x: elu(x, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946),
    "SequenceLinear": affine,
    "SiLU": lambda layer, p, x: x * sigmoid(x),
    "Sigmoid": lambda layer, p, x: sigmoid(x),
    "SinusoidalPositions": sines,
    "Softmax": lambda layer, p, x: softmax(x),
    "Softplus": softplus,
    "Tanh": lambda layer, p, x: tanh(x),
    "Upsample": upsample,
    # What `>>` makes, of which wrapped layers consist.
    "Chain": chain,
    "ElementwiseChain": chain,
    "PositionwiseChain": chain,
    "Sequential": chain,
}

# Rows of tests/layer_cases.py without a formula, each with its reason.
WITHOUT: Final[dict[str, str]] = {
    "BasicBlock": "a model, whose layers have formulas of their own",
    "Bottleneck": "a model, whose layers have formulas of their own",
    "GPT2Block": "a model, whose layers have formulas of their own",
    "LeNet5": "a model, whose layers have formulas of their own",
    "MaskedGate": "of the tests, not of typednn",
    "MaskedGate without mask": "of the tests, not of typednn",
}
