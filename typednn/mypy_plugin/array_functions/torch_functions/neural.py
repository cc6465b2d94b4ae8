"""The functions of ``torch.nn.functional``: activations, losses, normalisation, convolution, pooling, attention."""

from __future__ import annotations

from typednn.mypy_plugin.array_functions import dtypes
from typednn.mypy_plugin.array_functions.products import together
from typednn.mypy_plugin.array_functions.rows import (
    ONE,
    Misfit,
    Operands,
    Row,
    Rule,
    Shape,
    broadcast,
    certain,
    fits_into,
    like,
    made,
    replaced,
    sizes_of,
    written,
)
from typednn.mypy_plugin.array_functions.torch_functions.arguments import dim
from typednn.mypy_plugin.values import UNKNOWN, Constant, Number, Pack, Value, integer_of
from typednn.shapes import Dim, number_of_axes


def _along(name: str = "input") -> Rule:
    """The shape stays; ``dim`` names one of its axes."""

    def rule(o: Operands) -> Value:
        shape = certain(o.shape(name))
        if o.given("dim"):
            dim(o, shape)
        return made(shape)

    return rule


def _gated(o: Operands) -> Value:
    """``glu``: one half of an axis gates the other."""
    shape = certain(o.shape("input"))
    if not shape:
        raise Misfit("glu of a number: it has no axis")
    place = dim(o, shape)
    size = shape[place]
    if size is not None and size.value is not None and size.value % 2:
        raise Misfit(f"glu: axis {place} of {written(shape)} has {size} elements; it must be even", o["input"], place)
    return made(replaced(shape, place, None if size is None else size // Dim.of(2)))


# ------------------------------------------------------------------ losses


def _reduced(o: Operands, shape: Shape | None) -> Value:
    match o["reduction"]:
        case Constant(value="mean" | "sum"):
            return made([])
        case Constant(value="none"):
            return made(shape)
        case _:
            return UNKNOWN


def _broadcasting(o: Operands) -> Value:
    return _reduced(o, broadcast([o["input"], o["target"]], o.differ))


def _equal(o: Operands) -> Value:
    """The target has the shape of the input."""
    shapes = o.both("input", "target")
    if shapes is not None:
        _same_shape(o, *shapes)
    return _reduced(o, o.shape("input"))


def _same_shape(o: Operands, shape: Shape, target: Shape) -> None:
    what = f"the target is {written(target)}, the input {written(shape)}"
    if len(shape) != len(target):
        raise Misfit(what, o["target"])
    for place, (a, b) in enumerate(zip(shape, target, strict=True)):
        o.meet(a, b, f"{what}: axis {place} is {b} and {a}", o["target"], place)


def _classified(*, shares: bool) -> Rule:
    """``input`` has a score for each class, the target a class; with ``shares`` it may also have a share of each."""

    def rule(o: Operands) -> Value:
        shapes = o.both("input", "target")
        if shapes is None:
            return _reduced(o, None)
        shape, target = shapes
        if shares and len(shape) == len(target):
            _same_shape(o, shape, target)
            return _reduced(o, [*shape[:1], *shape[2:]] if len(shape) > 1 else [])
        if len(shape) == len(target) == 1:
            o.meet(ONE, target[0], f"scores {written(shape)} of one sample, {target[0]} classes", o["target"], 0)
            return _reduced(o, None)
        if len(target) != max(0, len(shape) - 1):
            raise Misfit(
                f"scores {written(shape)} of classes: the target {written(target)} needs "
                f"{number_of_axes(max(0, len(shape) - 1))}, a class for each",
                o["target"],
            )
        for place, (a, b) in enumerate(zip([*shape[:1], *shape[2:]], target, strict=False)):
            what = f"scores {written(shape)}, classes {written(target)}: {a} and {b}"
            o.meet(a, b, what, o["target"], place)
        return _reduced(o, target)

    return rule


# ------------------------------------------------------------------ layers


def _linear(o: Operands) -> Value:
    shape, weight = certain(o.both("input", "weight"))
    if len(weight) not in (1, 2) or not shape:
        raise Misfit(f"linear of {written(shape)} by {written(weight)}")
    message = f"linear: {shape[-1]} features in {written(shape)}, the weight {written(weight)} reads {weight[-1]}"
    o.meet(shape[-1], weight[-1], message, o["weight"], len(weight) - 1)
    if o.given("bias") and len(weight) == 2:
        bias = o.shape("bias")
        if bias and bias[0] != ONE:
            o.meet(bias[-1], weight[0], f"linear: the bias has {bias[-1]}, the weight {weight[0]}", o["bias"], 0)
    return made([*shape[:-1], *weight[:-1]])


def _embedded(o: Operands) -> Value:
    places, weight = certain(o.both("input", "weight"))
    if len(weight) != 2:
        raise Misfit(f"embedding: the weight {written(weight)} needs 2 axes")
    return made([*places, weight[1]])


def _normalised(o: Operands) -> Value:
    """Over the last axes, whose sizes are given."""
    shape, sizes = certain(o.shape("input")), sizes_of(o["normalized_shape"])
    if sizes is None or isinstance(o["normalized_shape"], Number):
        return made(shape)
    if not sizes or len(sizes) > len(shape):
        raise Misfit(f"{written(sizes)} of {written(shape)}: there are {len(shape)} axes only")
    for place, (a, b) in enumerate(zip(shape[len(shape) - len(sizes) :], sizes, strict=True), len(shape) - len(sizes)):
        o.meet(a, b, f"normalisation of {written(shape)} over {written(sizes)}: {a} and {b}", o["input"], place)
    return made(shape)


def _in_groups(o: Operands) -> Value:
    shape, groups = certain(o.shape("input")), o.integer("num_groups")
    if len(shape) < 2:
        raise Misfit(f"group_norm of {written(shape)}: needs at least 2 axes")
    size = shape[1]
    if groups and size is not None and size.value is not None and size.value % groups:
        raise Misfit(f"group_norm: {size} channels into {groups} groups")
    return made(shape)


def _attention(o: Operands) -> Value:
    query, key, value = (certain(o.shape(name)) for name in ("query", "key", "value"))
    for shape in (query, key, value):
        if len(shape) < 2:
            raise Misfit(f"attention: {written(shape)} needs at least 2 axes")
    shown = f"attention of {written(query)}, {written(key)} and {written(value)}"
    o.meet(query[-1], key[-1], f"{shown}: {query[-1]} and {key[-1]} features", o["key"], len(key) - 1)
    o.meet(key[-2], value[-2], f"{shown}: {key[-2]} keys and {value[-2]} values", o["value"], len(value) - 2)
    if o.flag("enable_gqa") is not False:
        return made([*query[:-1], value[-1]])
    before = together(o, together(o, query[:-2], key[:-2]), value[:-2])
    mask = o.shape("attn_mask") if o.given("attn_mask") else None
    if mask is not None:
        fits_into(mask, [*before, query[-2], key[-2]], o.differ, "attn_mask")
    return made([*before, query[-2], value[-1]])


# ------------------------------------------------------------------ windows


def each_of(value: Value, axes: int) -> list[Dim | None]:
    """One number for all axes, or one for each."""
    sizes = sizes_of(value)
    if sizes is None:
        return [None] * axes
    return sizes * axes if len(sizes) == 1 else sizes if len(sizes) == axes else [None] * axes


def _spatial(o: Operands, axes: int, what: str) -> tuple[Shape, Shape]:
    """What stands before the axes that windows move over, and these."""
    shape = certain(o.shape("input"))
    if len(shape) not in (axes + 1, axes + 2):
        raise Misfit(f"{what} of {written(shape)}: needs {axes + 1} or {axes + 2} axes", o["input"])
    return shape[:-axes], shape[-axes:]


def _moved(
    o: Operands, what: str, sizes: Shape, windows: Shape, strides: Shape, paddings: Shape, dilations: Shape
) -> Shape:
    result: Shape = []
    for size, window, stride, padding, dilation in zip(sizes, windows, strides, paddings, dilations, strict=True):
        if size is None or window is None or stride is None or padding is None or dilation is None or not stride.terms:
            result.append(None)
            continue
        left = (size + padding * 2 - dilation * (window - 1) - 1) // stride + 1
        if left.value is not None and left.value < 1:
            raise Misfit(f"{what}: a window of {window} does not fit an axis of {size}", o["input"])
        result.append(left)
    return result


def _convolved(axes: int) -> Rule:
    what = f"conv{axes}d"

    def rule(o: Operands) -> Value:
        weight = o.shape("weight")
        if weight is not None and len(weight) != axes + 2:
            raise Misfit(f"{what}: the weight {written(weight)} needs {axes + 2} axes", o["weight"])
        before, sizes = _spatial(o, axes, what)
        weight, groups, channels = certain(weight), o["groups"], before[-1]
        if isinstance(groups, Number) and weight[1] is not None:
            reads = weight[1] * groups.size
            count = weight[0].value if weight[0] is not None else None
            if count is not None and groups.size.value and count % groups.size.value:
                raise Misfit(f"{what}: {count} output channels in {groups.size} groups", o["weight"], 0)
            o.meet(
                channels, reads, f"{what}: the input has {channels} channels, the weight reads {reads}", o["input"], 1
            )
        same, stride = o["padding"] == Constant("same"), each_of(o["stride"], axes)
        valid = o["padding"] == Constant("valid")
        padding = [Dim.of(0)] * axes if valid else each_of(o["padding"], axes)
        after = (
            sizes if same else _moved(o, what, sizes, weight[2:], stride, list(padding), each_of(o["dilation"], axes))
        )
        return made([*before[:-1], weight[0], *after])

    return rule


def _grown(size: Dim, window: Dim, stride: Dim, padding: Dim, more: Dim, dilation: Dim) -> Dim:
    return (size - 1) * stride - padding * 2 + dilation * (window - 1) + more + 1


def _turned_round(axes: int) -> Rule:
    """``conv_transpose2d``."""

    def rule(o: Operands) -> Value:
        weight = o.shape("weight")
        before, sizes = _spatial(o, axes, "conv_transpose")
        weight, groups, channels = certain(weight), o["groups"], before[-1]
        if len(weight) != axes + 2:
            raise Misfit(f"conv_transpose: the weight {written(weight)} needs {axes + 2} axes", o["weight"])
        message = f"conv_transpose: the input has {channels} channels, the weight reads {weight[0]}"
        o.meet(channels, weight[0], message, o["input"], 1)
        numbers = [each_of(o[name], axes) for name in ("stride", "padding", "output_padding", "dilation")]
        after: Shape = []
        for size, window, stride, padding, more, dilation in zip(sizes, weight[2:], *numbers, strict=True):
            known = [each for each in (size, window, stride, padding, more, dilation) if each is not None]
            after.append(_grown(*known) if len(known) == 6 else None)
        made_of = weight[1] * groups.size if weight[1] is not None and isinstance(groups, Number) else None
        return made([*before[:-1], made_of, *after])

    return rule


def _pooled(axes: int) -> Rule:
    def rule(o: Operands) -> Value:
        before, sizes = _spatial(o, axes, "pooling")
        windows = each_of(o["kernel_size"], axes)
        strides = each_of(o["stride"], axes) if o.given("stride") and o["stride"] != Pack((), frozen=True) else windows
        if o.flag("ceil_mode") is not False or o.values.get("return_indices", Constant(False)) != Constant(False):
            return UNKNOWN
        dilations = each_of(o.values.get("dilation", Number(ONE)), axes)
        after = _moved(o, "pooling", sizes, windows, strides, each_of(o["padding"], axes), dilations)
        return made([*before, *after])

    return rule


def _adapted(axes: int) -> Rule:
    def rule(o: Operands) -> Value:
        wanted = o["output_size"]
        if len(certain(o.shape("input"))) > axes + 2 and all(each == ONE for each in each_of(wanted, axes)):
            return UNKNOWN  # a mean over the last axes
        before, sizes = _spatial(o, axes, "adaptive pooling")
        items = wanted.items if isinstance(wanted, Pack) else (wanted,) * axes
        if len(items) != axes or o.values.get("return_indices", Constant(False)) != Constant(False):
            return UNKNOWN
        after = [
            size if item == Constant(None) else item.size if isinstance(item, Number) else None
            for size, item in zip(sizes, items, strict=True)
        ]
        return made([*before, *after])

    return rule


def _padded(o: Operands) -> Value:
    shape, widths = certain(o.shape("input")), certain(sizes_of(o["pad"]))
    if len(widths) % 2 or len(widths) > 2 * len(shape):
        raise Misfit(f"pad {written(widths)} of {written(shape)}: give two numbers for an axis, the last one first")
    result = list(shape)
    for place in range(len(widths) // 2):
        size, before, after = result[-1 - place], widths[2 * place], widths[2 * place + 1]
        left = None if size is None or before is None or after is None else size + before + after
        if left is not None and left.value is not None and left.value < 0:
            raise Misfit(f"pad {written(widths)} of {written(shape)}: axis {len(shape) - 1 - place} has {size}")
        result[-1 - place] = left
    return made(result, o.kind("input"))


def _resized(o: Operands) -> Value:
    shape = certain(o.shape("input"))
    if len(shape) not in (3, 4, 5):
        raise Misfit(f"interpolate of {written(shape)}: needs 3, 4 or 5 axes")
    axes = len(shape) - 2
    if o.given("size"):
        after = each_of(o["size"], axes)
    elif (times := integer_of(o["scale_factor"])) is not None:
        after = [None if size is None else size * times for size in shape[2:]]
    else:
        after = [None] * axes
    return made([*shape[:2], *after])


def _shuffled(o: Operands) -> Value:
    """``pixel_shuffle``: channels become pixels."""
    shape, times = certain(o.shape("input")), certain(o.integer("upscale_factor"))
    if len(shape) < 3:
        raise Misfit(f"pixel_shuffle of {written(shape)}: needs at least 3 axes")
    channels, height, width = shape[-3:]
    if channels is not None and channels.value is not None and times > 0 and channels.value % (times * times):
        raise Misfit(f"pixel_shuffle: {channels} channels are no multiple of {times * times}")
    less = None if channels is None else channels // Dim.of(times * times)
    grown = [None if size is None else size * times for size in (height, width)]
    return made([*shape[:-3], less, *grown])


def _kept(o: Operands) -> Value:
    return made(o.shape("input"))


_ACTIVATIONS = (
    "relu relu6 elu selu celu leaky_relu gelu silu mish hardswish hardsigmoid hardtanh softplus softsign tanhshrink "
    "sigmoid tanh logsigmoid softshrink hardshrink threshold dropout dropout1d dropout2d dropout3d alpha_dropout rrelu"
)
_OPTIONS = (
    "p=0.5, training=True, inplace=False, alpha=1.0, negative_slope=0.01, approximate='none', beta=1, threshold=20, "
    "min_val=-1.0, max_val=1.0, lambd=0.5, value=0.0"
)
_LOSS = "input, target, size_average=None, reduce=None, reduction='mean'"
_WEIGHTED = "input, target, weight=None, size_average=None, reduce=None, reduction='mean', pos_weight=None"
_CLASSES = "input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'"
_F = "torch.nn.functional."

TABLE: dict[str, Row] = {
    **{f"{_F}{name}": Row(f"input, *further, {_OPTIONS}", _kept) for name in _ACTIVATIONS.split()},
    **{
        f"{_F}{name}": Row("input, dim=None, _stacklevel=3, dtype=None", _along())
        for name in ("softmax", "log_softmax", "softmin")
    },
    f"{_F}gumbel_softmax": Row("input, tau=1, hard=False, eps=1e-10, dim=-1", _along()),
    f"{_F}normalize": Row("input, p=2.0, dim=1, eps=1e-12, out=None", _along()),
    f"{_F}glu": Row("input, dim=-1", _gated),
    **{
        f"{_F}{name}": Row(f"{_LOSS}, beta=1.0, delta=1.0", _broadcasting)
        for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
    },
    f"{_F}kl_div": Row(f"{_LOSS}, log_target=False", _broadcasting),
    **{f"{_F}{name}": Row(_WEIGHTED, _equal) for name in ("binary_cross_entropy", "binary_cross_entropy_with_logits")},
    f"{_F}cross_entropy": Row(f"{_CLASSES}, label_smoothing=0.0", _classified(shares=True)),
    f"{_F}nll_loss": Row(_CLASSES, _classified(shares=False)),
    f"{_F}linear": Row("input, weight, bias=None", _linear),
    f"{_F}embedding": Row(
        "input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False",
        _embedded,
    ),
    f"{_F}layer_norm": Row("input, normalized_shape, weight=None, bias=None, eps=1e-05", _normalised),
    f"{_F}rms_norm": Row("input, normalized_shape, weight=None, eps=None", _normalised),
    f"{_F}group_norm": Row("input, num_groups, weight=None, bias=None, eps=1e-05", _in_groups),
    f"{_F}batch_norm": Row(
        "input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05", _kept
    ),
    f"{_F}scaled_dot_product_attention": Row(
        "query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False", _attention
    ),
    **{
        f"{_F}conv{axes}d": Row("input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1", _convolved(axes))
        for axes in (1, 2, 3)
    },
    **{
        f"{_F}conv_transpose{axes}d": Row(
            "input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1", _turned_round(axes)
        )
        for axes in (1, 2, 3)
    },
    **{
        f"{_F}max_pool{axes}d": Row(
            "input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False",
            _pooled(axes),
        )
        for axes in (1, 2, 3)
    },
    **{
        f"{_F}avg_pool{axes}d": Row(
            "input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, "
            "divisor_override=None",
            _pooled(axes),
        )
        for axes in (1, 2, 3)
    },
    **{
        f"{_F}adaptive_{kind}_pool{axes}d": Row("input, output_size, return_indices=False", _adapted(axes))
        for axes in (1, 2, 3)
        for kind in ("avg", "max")
    },
    f"{_F}pad": Row("input, pad, mode='constant', value=None", _padded),
    f"{_F}interpolate": Row(
        "input, size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None, "
        "antialias=False",
        _resized,
    ),
    f"{_F}pixel_shuffle": Row("input, upscale_factor", _shuffled),
    **{f"torch.{name}": Row(f"input, *further, {_OPTIONS}", _kept) for name in ("selu", "celu", "rrelu")},
    "torch.layer_norm": Row(
        "input, normalized_shape, weight=None, bias=None, eps=1e-05, cudnn_enable=True", _normalised
    ),
    **{
        f"torch.nn.init.{name}": Row(
            "tensor, *further, a=0.0, b=1.0, mean=0.0, std=1.0, gain=1.0, mode='fan_in', "
            "nonlinearity='leaky_relu', generator=None",
            like("tensor", dtypes.unknown),
        )
        for name in (
            "xavier_uniform_",
            "xavier_normal_",
            "kaiming_uniform_",
            "kaiming_normal_",
            "uniform_",
            "normal_",
            "trunc_normal_",
            "constant_",
            "zeros_",
            "ones_",
            "orthogonal_",
        )
    },
}
