"""Operators of networks, as functions of tensors: normalisations, windows that slide, other sizes of images, recurrent
cells.

Rows of `typednn.exchange.onnx.operators`. Axes are those of the file: channels first.
"""

# Rows are functions of what may be a tensor, an array or None.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from typednn import graph
from typednn.exchange.onnx.nodes import Array, Call, axis_of, computed
from typednn.graph.tensor import AnyTensor
from typednn.kernels import recurrent as cells

Pairs: TypeAlias = "list[tuple[int, int]]"  # before and after each axis


# ------------------------------------------------------------------ normalisations


def _by_channel(call: Call, array: Any, rank: int) -> AnyTensor:
    values = call.tensor(array)
    return values.reshape((values.shape[0],) + (1,) * (rank - 2))


def _normalised(x: AnyTensor, axes: Any, eps: float) -> AnyTensor:
    centred = x - x.mean(axes, True)
    return centred / graph.sqrt((centred * centred).mean(axes, True) + eps)


def batch_norm(call: Call, x: Any, *arrays: Any) -> Any:
    """Each channel by its mean and variance, as they were learnt."""
    x, eps = call.tensor(x), call.option("epsilon", 1e-5)
    call.option("momentum")
    weight, bias, mean, variance = (_by_channel(call, each, x.ndim) for each in arrays)
    return (x - mean) * (weight / graph.sqrt(variance + eps)) + bias


def layer_norm(call: Call, x: Any, weight: Any, bias: Any = None) -> Any:
    """All axes from one on, with mean 0 and variance 1."""
    x = call.tensor(x)
    axes = tuple(range(axis_of(call.option("axis", -1), x.ndim), x.ndim))
    y = _normalised(x, axes, call.option("epsilon", 1e-5)) * call.tensor(weight)
    return y if bias is None else y + call.tensor(bias)


def rms_norm(call: Call, x: Any, weight: Any) -> Any:
    """All axes from one on, with mean square 1."""
    x = call.tensor(x)
    axes = tuple(range(axis_of(call.option("axis", -1), x.ndim), x.ndim))
    return x / graph.sqrt((x * x).mean(axes, True) + call.option("epsilon", 1e-5)) * call.tensor(weight)


def instance_norm(call: Call, x: Any, weight: Any, bias: Any) -> Any:
    """Each channel of each sample, with mean 0 and variance 1."""
    x = call.tensor(x)
    y = _normalised(x, tuple(range(2, x.ndim)), call.option("epsilon", 1e-5))
    return y * _by_channel(call, weight, x.ndim) + _by_channel(call, bias, x.ndim)


def group_norm(call: Call, x: Any, weight: Any, bias: Any) -> Any:
    """Channels side by side, with mean 0 and variance 1."""
    x, groups = call.tensor(x), call.option("num_groups")
    split = x.reshape((x.shape[0], groups, math.prod(x.shape[1:]) // groups))
    y = _normalised(split, (2,), call.option("epsilon", 1e-5))
    if call.tensor(weight).shape[0] == groups and groups != x.shape[1]:  # before opset 21 there is one for each group
        return (y * _by_channel(call, weight, 3) + _by_channel(call, bias, 3)).reshape(x.shape)
    return y.reshape(x.shape) * _by_channel(call, weight, x.ndim) + _by_channel(call, bias, x.ndim)


# ------------------------------------------------------------------ windows


def _last(x: AnyTensor) -> AnyTensor:
    """Channels last."""
    return x.permute((0, *range(2, x.ndim), 1))


def _first(x: AnyTensor) -> AnyTensor:
    return x.permute((0, x.ndim - 1, *range(1, x.ndim - 1)))


def padding(
    auto: str,
    pads: Sequence[int] | None,
    sizes: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> Pairs:
    """The places before and after each axis: those of ``pads``, or what ``auto_pad`` asks for."""
    axes = len(window)
    if auto in ("NOTSET", ""):
        given = [0] * (2 * axes) if pads is None else list(pads)
        return list(zip(given[:axes], given[axes:], strict=True))
    if auto == "VALID":
        return [(0, 0)] * axes
    each = zip(sizes, window, strides, dilations, strict=True)
    return _halves(
        auto,
        [max(0, (-(-size // step) - 1) * step + dilation * (k - 1) + 1 - size) for size, k, step, dilation in each],
    )


def _halves(auto: str, sizes: Sequence[int]) -> Pairs:
    """Each size before and after its axis; an odd one has more after it in SAME_UPPER."""
    more = auto == "SAME_UPPER"
    return [((size + 1 - more) // 2, (size + more) // 2) for size in sizes]


def sliding(call: Call, sizes: Sequence[int], window: Sequence[int]) -> tuple[list[int], list[int], Pairs]:
    """Strides, dilations, and padding."""
    ones = [1] * len(window)
    strides, dilations = call.option("strides", ones), call.option("dilations", ones)
    pairs = padding(call.option("auto_pad", "NOTSET"), call.option("pads"), sizes, window, strides, dilations)
    if any(min(pair) < 0 for pair in pairs):
        call.refuse(f"{call.operation.kind} with pads={call.option('pads')}")
    return strides, dilations, pairs


def _filters(call: Call, x: Any, weight: Any, bias: Any) -> tuple[AnyTensor, AnyTensor, Any, AnyTensor | None]:
    """The image, the weight with its channels last, its window, and the bias."""
    image, filters = call.tensor(x), call.tensor(weight)
    axes = image.ndim - 2
    if axes not in (1, 2) or filters.ndim != image.ndim:
        call.refuse(f"{call.operation.kind} of {axes} axes")
    window = call.option("kernel_shape", list(filters.shape[2:]))
    return image, _last(filters), window, None if bias is None else call.tensor(bias)


def conv(call: Call, x: Any, weight: Any, bias: Any = None) -> Any:
    """Cross-correlation along one axis or two."""
    x, filters, window, biases = _filters(call, x, weight, bias)
    strides, dilations, pairs = sliding(call, x.shape[2:], window)
    function: Any = graph.conv1d if x.ndim == 3 else graph.conv2d
    return _first(function(_last(x), filters, biases, strides, pairs, dilations, call.option("group", 1)))


def conv_transpose(call: Call, x: Any, weight: Any, bias: Any = None) -> Any:
    """The derivative of `conv` by its input."""
    x, filters, window, biases = _filters(call, x, weight, bias)
    ones, sizes = [1] * len(window), x.shape[2:]
    strides, dilations = call.option("strides", ones), call.option("dilations", ones)
    auto, pads, shape = call.option("auto_pad", "NOTSET"), call.option("pads"), call.option("output_shape")
    more = call.option("output_padding", [0] * len(sizes))
    if auto in ("SAME_UPPER", "SAME_LOWER") or shape:
        wanted = shape or [size * stride for size, stride in zip(sizes, strides, strict=True)]
        each = zip(sizes, strides, window, dilations, more, wanted, strict=True)
        whole = [step * (size - 1) + extra + far * (k - 1) + 1 - out for size, step, k, far, extra, out in each]
        pairs = _halves(auto, whole)
    else:
        pairs = padding(auto, pads, sizes, window, strides, dilations)
    function: Any = graph.conv_transpose1d if x.ndim == 3 else graph.conv_transpose2d
    zeros = [0] * len(sizes)
    y = function(_last(x), filters, biases, strides, zeros, more, call.option("group", 1), dilations)
    cuts = (slice(before, size - after) for size, (before, after) in zip(y.shape[1:-1], pairs, strict=True))
    return _first(y[(slice(None), *cuts)])


def _pooled(call: Call, x: AnyTensor) -> tuple[Any, Any, Any, Pairs, list[int], bool]:
    """Window, strides, dilations, the places before and after each axis, what the last windows reach beyond, and
    whether a pool takes that as its padding: the same on both sides, and at most half a window.
    """
    window = call.option("kernel_shape")
    if len(window) not in (1, 2):
        call.refuse(f"{call.operation.kind} of {len(window)} axes")
    if len(call.operation.outputs) > 1:
        call.refuse(f"{call.operation.kind} with indices")
    strides, dilations, pairs = sliding(call, x.shape[2:], window)
    extents, beyond = [dilation * (k - 1) + 1 for k, dilation in zip(window, dilations, strict=True)], [0] * len(window)
    if call.option("ceil_mode", 0):
        each = zip(x.shape[2:], extents, strides, pairs, strict=True)
        for axis, (size, extent, stride, (before, after)) in enumerate(each):
            count = -(-(size + before + after - extent) // stride) + 1
            count -= (count - 1) * stride >= size + before
            beyond[axis] = max(0, (count - 1) * stride + extent - size - before - after)
    even = all(before == after <= extent // 2 for (before, after), extent in zip(pairs, extents, strict=True))
    return window, strides, dilations, pairs, beyond, even and not any(beyond)


def _around(x: AnyTensor, pairs: Pairs, beyond: Sequence[int], number: float) -> AnyTensor:
    """The image, channels last, with a number around it."""
    inner = ((before, after + more) for (before, after), more in zip(pairs, beyond, strict=True))
    return graph.pad_with(_last(x), [(0, 0), *inner, (0, 0)], number)


def max_pool(call: Call, x: Any) -> Any:
    """The largest number of each window."""
    x = call.tensor(x)
    window, strides, dilations, pairs, beyond, even = _pooled(call, x)
    image = _last(x) if even else _around(x, pairs, beyond, -math.inf)
    return _first(graph.max_pool(image, window, strides, [before for before, _ in pairs] if even else 0, dilations))


def average_pool(call: Call, x: Any) -> Any:
    """The mean of each window: of the numbers in it, or of the zeros around too."""
    x, counted = call.tensor(x), bool(call.option("count_include_pad", 0))
    window, strides, dilations, pairs, beyond, even = _pooled(call, x)
    if any(each != 1 for each in dilations):
        call.refuse(f"AveragePool with dilations={dilations}")
    if even:
        return _first(graph.avg_pool(_last(x), window, strides, [before for before, _ in pairs], counted))
    counts = np.ones((1, 1))
    for size, k, stride, pair, more in zip(x.shape[2:], window, strides, pairs, beyond, strict=True):
        call.bounded([size + sum(pair) + more])
        real = np.pad(np.pad(np.ones(size), pair, constant_values=counted), (0, more))
        inside = np.lib.stride_tricks.sliding_window_view(real, k)[::stride].sum(-1)
        call.bounded([counts.size, len(inside)])
        counts = counts[..., None] * inside
    means = _first(graph.avg_pool(_around(x, pairs, beyond, 0.0), window, strides, 0))
    return means * call.tensor(math.prod(window) / counts)


def over_sizes(function: Callable[..., Any]) -> Any:
    """A reduction over all axes behind the channels."""
    return lambda call, x: function(call.tensor(x), tuple(range(2, x.ndim)), True)


def resize(call: Call, x: Any, *given: Any) -> Any:
    """Each axis that changes is multiplied by a matrix."""
    x, old = call.tensor(x), call.operation.kind == "Upsample" or call.context.opset < 11
    inputs = dict(zip(("scales",) if old else ("roi", "scales", "sizes"), given, strict=False))
    scales, sizes = inputs.get("scales"), inputs.get("sizes")
    how = (
        call.option("mode", "nearest"),
        call.option("coordinate_transformation_mode", "asymmetric" if old else "half_pixel"),
        call.option("nearest_mode", "floor" if old else "round_prefer_floor"),
        call.option("cubic_coeff_a", -0.75),
    )
    chosen = call.option("axes", list(range(x.ndim)))
    call.option("extrapolation_value")  # of a mode that is refused
    if sizes is not None and (scales is None or not np.size(scales)):
        wanted = call.integers(sizes, "sizes")
        factors = [size / x.shape[axis] for axis, size in zip(chosen, wanted, strict=True)]
    else:
        factors = [float(each) for each in call.option("scales") or call.constant(scales, "scales").reshape(-1)]
        wanted = [math.floor(x.shape[axis] * factor) for axis, factor in zip(chosen, factors, strict=True)]
    for axis, size, factor in zip(chosen, wanted, factors, strict=True):
        axis = axis_of(axis, x.ndim)
        if size != x.shape[axis] or factor != 1:
            call.bounded([size, x.shape[axis]])
            matrix = _between(call, x.shape[axis], size, factor, *how)
            order = [each for each in range(x.ndim) if each != axis]
            y = graph.matmul(x.permute((*order, axis)), call.tensor(matrix.T))
            x = y.permute(tuple(np.argsort([*order, axis]).tolist()))
    return x


def _between(call: Call, old: int, new: int, scale: float, mode: str, where: str, rounding: str, cubic: float) -> Array:
    """The matrix (new, old) that resizes an axis."""
    places = np.arange(new, dtype=np.float64)
    centred = (places + 0.5) / scale
    at = {
        "align_corners": places * (old - 1) / max(new - 1, 1),
        "asymmetric": places / scale,
        "half_pixel": centred - 0.5,
        "half_pixel_symmetric": old / 2 * (1 - np.divide(new, scale * old)) + centred - 0.5,
        "pytorch_half_pixel": centred - 0.5 if new > 1 else places * 0,
    }.get(where)
    if at is None:
        call.refuse(f"{call.operation.kind} with coordinate_transformation_mode={where!r}")
    start: Any = np.floor(at)
    part = at - start
    weights: dict[int, Any] = {0: 1.0}
    if mode == "nearest":
        rounded = {
            "floor": start,
            "ceil": np.ceil(at),
            "round_prefer_floor": np.ceil(at - 0.5),
            "round_prefer_ceil": np.floor(at + 0.5),
        }
        if rounding not in rounded:
            call.refuse(f"{call.operation.kind} with nearest_mode={rounding!r}")
        start = rounded[rounding]
    elif mode == "linear":
        weights = {0: 1 - part, 1: part}
    elif mode == "cubic":
        far = partial(np.polyval, [cubic, -5 * cubic, 8 * cubic, -4 * cubic])
        near = partial(np.polyval, [cubic + 2, -(cubic + 3), 0, 1])
        weights = {-1: far(part + 1), 0: near(part), 1: near(1 - part), 2: far(2 - part)}
    else:
        call.refuse(f"{call.operation.kind} in mode {mode!r}")
    matrix = np.zeros((new, old))
    for offset, weight in weights.items():
        np.add.at(matrix, (np.arange(new), (start.astype(int) + offset).clip(0, old - 1)), weight)
    return matrix


# ------------------------------------------------------------------ recurrent


# Blocks of the parameters in our order, by their places in ONNX's: i, o, f, g become i, f, g, o; u, r, n become r, u,
# n.
BLOCKS: Final[Mapping[str, tuple[int, ...]]] = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}


def cell_of(call: Call, directions: int) -> str:
    """The name of the cell of a recurrent operator, whose other settings are those of `typednn.layers`."""
    kind = call.operation.kind
    gates = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}[kind] * directions
    activations = [str(each) for each in call.option("activations", gates)]
    plain = not call.option("clip") and not call.option("input_forget", 0) and not call.option("layout", 0)
    if not plain or (kind == "GRU" and not call.option("linear_before_reset", 0)):
        call.refuse(f"{kind} with clip, input_forget or layout=1" if not plain else "GRU with linear_before_reset=0")
    if activations == gates:
        return {"LSTM": "lstm", "GRU": "gru", "RNN": "tanh"}[kind]
    if kind != "RNN" or set(activations) != {"Relu"}:
        call.refuse(f"{kind} with activations={activations}")
    return "relu"


def blocks(kind: str, array: Any, split: Callable[..., Any], join: Callable[..., Any]) -> Any:
    """The rows of a weight or bias, in our order."""
    parts = split(array, len(BLOCKS[kind]))
    return parts[0] if len(parts) == 1 else join([parts[place] for place in BLOCKS[kind]])


def recurrent(
    call: Call, x: Any, weight: Any, recurrence: Any, bias: Any = None, lengths: Any = None, *states: Any
) -> Any:
    """All steps of each direction, and the last one."""
    kind, x = call.operation.kind, call.tensor(x)
    for state in states:
        if state is not None and (computed(state) or np.asarray(state).any()):
            call.refuse(f"{kind} with an initial state, or with peepholes")
    direction, hidden = call.option("direction", "forward"), call.option("hidden_size")
    backwards = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}[direction]
    if lengths is not None and not computed(lengths) and (np.asarray(lengths) == x.shape[0]).all():
        lengths = None
    if lengths is not None and True in backwards:
        call.refuse(f"{kind} with lengths, backwards")
    cell = cell_of(call, len(backwards))
    weight, recurrence = call.tensor(weight), call.tensor(recurrence)
    bias = graph.zeros((len(backwards), 2 * weight.shape[1]), x.dtype) if bias is None else call.tensor(bias)
    batch_first = x.permute((1, 0, 2))
    sequences: list[AnyTensor] = []
    for place, turned in enumerate(backwards):
        theirs = weight[place], recurrence[place], *graph.split(bias[place], 2)
        ours = [blocks(kind, each, graph.split, graph.concatenate) for each in theirs]
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        y = graph.Whole.of(
            cells.forward,
            (*batch_first.shape[:2], ours[1].shape[1]),
            x=graph.flip(batch_first, 1) if turned else batch_first,
            **dict(zip(names, ours, strict=True)),
            lengths=None if lengths is None else call.tensor(lengths),
            cell=cell,
        )
        sequences.append(graph.flip(y, 1) if turned else y)
    if hidden is not None and hidden != sequences[0].shape[2]:
        call.refuse(f"{kind} with hidden_size={hidden} and {sequences[0].shape[2]} features")
    whole = graph.stack(sequences, 0).permute((2, 0, 1, 3))  # time, directions, batch, features
    if lengths is None:
        last = graph.stack([y[:, 0 if turned else -1] for y, turned in zip(sequences, backwards, strict=True)], 0)
    else:
        places = call.tensor(lengths).reshape((-1, 1, 1)) - 1
        last = graph.gather(sequences[0], 1, places).reshape((1, x.shape[1], sequences[0].shape[2]))
    return whole, last
