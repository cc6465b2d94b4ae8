"""The modules of ``torch.nn``: a table from a class to what its constructor takes and what a call does to shapes.

A module is a `Layer` as typednn's own are. ``contracts`` says what it reads and gives, once for each number of axes
that it reads; a module that reads several arrays, or gives several, names a row of `array_functions` instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from typednn.errors import StackError, TypednnError
from typednn.mypy_plugin import classes
from typednn.mypy_plugin.array_functions import apply
from typednn.mypy_plugin.array_functions.rows import Operands, Row
from typednn.mypy_plugin.array_functions.torch_functions.neural import each_of
from typednn.mypy_plugin.context import Analysis, Call
from typednn.mypy_plugin.features.arrays import computed
from typednn.mypy_plugin.sizes import class_of
from typednn.mypy_plugin.values import (
    UNKNOWN,
    Array,
    Constant,
    Layer,
    Many,
    Number,
    Pack,
    Value,
    integer_of,
    lookup,
    show,
)
from typednn.shapes import Flow, differ, evaluate, parse, split_contract, unknown

Contracts = Sequence[str]
_SAME = ("*shape -> *shape",)
_RANKS = (2, 1, 3, 4, 5)  # of arrays that a chain may read; 2 first: its message is told
_HIDDEN = ("device", "dtype", "bias", "inplace", "eps", "momentum")  # not shown in messages


@dataclass(frozen=True, slots=True)
class Module:
    """``parameters`` is the constructor's signature; ``contracts`` may depend on its arguments; ``arrays`` are the
    module's own, by name; ``spread`` names what is one number for each of the last axes.
    """

    parameters: str
    contracts: Contracts | Callable[[Mapping[str, Value]], Contracts] = ()
    arrays: Mapping[str, str] = field(default_factory=dict[str, str])
    spread: tuple[int, tuple[str, ...]] = (0, ())
    row: str = ""  # what a call computes, where contracts cannot say it
    passes: tuple[str, ...] = ()  # the attributes that it computes with


def built(call: Call) -> Value:
    """``nn.Linear(784, 128)``."""
    module = MODULES[call.name]
    made = partial(_made, call, module)
    return apply(Row(module.parameters, made), call.arguments, call.keywords, differ)


def _made(call: Call, module: Module, o: Operands) -> Value:
    attributes = {name: _positive(name, value) for name, value in o.values.items()}
    axes, spread = module.spread
    for name in spread:
        if name in attributes and not isinstance(attributes[name], Constant):
            sizes = each_of(attributes[name], axes)
            attributes[name] = Pack(tuple(UNKNOWN if size is None else Number(size) for size in sizes), frozen=True)
    for name, text in module.arrays.items():
        attributes[name] = Constant(None) if attributes.get(name) == Constant(False) else _array(text, attributes)
    told = module.contracts(attributes) if callable(module.contracts) else module.contracts
    shown = [*map(show, call.arguments)]
    shown += [f"{name}={show(value)}" for name, value in call.keywords.items() if name not in _HIDDEN]
    layer = Layer(
        f"{call.name.rpartition('.')[2]}({', '.join(shown)})", call.name, attributes=attributes, library="torch"
    )
    if len(told) != 1:
        return replace(layer, contracts=tuple(told))
    inputs, output, where = split_contract(told[0])
    return replace(layer, inputs=tuple(inputs.split(", ")), output=output, where=where)


def _positive(name: str, value: Value) -> Value:
    """A number of features is at least 1."""
    sizes = ("features", "channels", "dim", "size", "num_features", "d_model")
    return Number(value.size) if isinstance(value, Number) and name.endswith(sizes) else value


def _array(text: str, attributes: Mapping[str, Value]) -> Value:
    """One of a module's own arrays."""
    sizes = [evaluate(slot.text, unknown, lookup(attributes)) for slot in parse(text)]
    return Array(Flow.of(sizes), library="torch")


def called(call: Call, layer: Layer) -> Value | None:
    """What a module gives by its row; None where it has none."""
    module = MODULES.get(layer.class_name)
    if module is None or not module.row:
        return None
    given = {name: layer.attributes.get(name, UNKNOWN) for name in module.passes}
    return computed(call, module.row, call.arguments, {**given, **call.keywords})


# ------------------------------------------------------------------ containers


def sequential(call: Call) -> Value:
    """``nn.Sequential(a, b, c)``; what fits for no number of axes is reported."""
    given = call.arguments
    if len(given) == 1 and isinstance(given[0], Pack) and given[0].keys:
        given = given[0].items
    parts = tuple(each if isinstance(each, Layer) else Layer("_", "", library="torch") for each in given)
    if call.spread or any(isinstance(each, Pack | Many) for each in given):
        return UNKNOWN
    chain = Layer(f"Sequential({', '.join(each.shown for each in parts)})", call.name, parts=parts, library="torch")
    refused = list[TypednnError]()
    for rank in _RANKS:
        try:
            chain.trace(Flow.of([None] * rank))
        except TypednnError as error:
            refused.append(error)
        else:
            return chain
    sizes = [each for each in refused if isinstance(each, StackError) and each.reason != "rank"]
    return call.complain(str((sizes or refused)[0]))


def listed(call: Call) -> Value:
    """``nn.ModuleList([a, b])``, ``nn.ModuleDict({"a": a})``."""
    value = call.argument(0, "modules", Pack(()))
    return replace(value, frozen=False) if isinstance(value, Pack) else value if isinstance(value, Many) else UNKNOWN


def parameter(call: Call) -> Value:
    """``nn.Parameter(torch.zeros(10))``."""
    return call.argument(0, "data")


def encoder(call: Call) -> Value:
    """``nn.TransformerEncoder(layer, 6)``: as one of its layers."""
    layer = call.argument(0, "encoder_layer")
    return replace(layer, shown="TransformerEncoder()") if isinstance(layer, Layer) else UNKNOWN


def itself(call: Call) -> Value:
    """``model.cuda()`` and other methods of every module that give the module."""
    info, name = class_of(call.context, call.receiver), call.name.removeprefix("Layer.")[:-2]
    found = classes.member(info, name)
    if info is not None and getattr(getattr(found, "info", None), "fullname", "") == classes.TORCH_MODULE:
        layer: Layer = call.receiver
        return layer
    return UNKNOWN


# ------------------------------------------------------------------ contracts

_NAMES = {1: ("length",), 2: ("height", "width"), 3: ("depth", "height", "width")}


def _batched(reads: str, gives: str) -> Contracts:
    """Of a batch, and of one sample."""
    return (f"batch {reads} -> batch {gives}", f"{reads} -> {gives}")


def _windows(axes: int) -> str:
    return " ".join(
        f"({name}+2*{{self.padding[{place}]}}-{{self.dilation[{place}]}}*({{self.kernel_size[{place}]}}-1)-1)"
        f"//{{self.stride[{place}]}}+1"
        for place, name in enumerate(_NAMES[axes])
    )


def _convolution(axes: int) -> Module:
    sizes = " ".join(_NAMES[axes])

    def contracts(attributes: Mapping[str, Value]) -> Contracts:
        match attributes["padding"]:
            case Constant(value="same"):
                after = sizes
            case Constant(value="valid"):
                after = _windows(axes).replace("+2*{self.padding[0]}", "").replace("+2*{self.padding[1]}", "")
                after = after.replace("+2*{self.padding[2]}", "")
            case _:
                after = _windows(axes)
        return _batched(f"{{self.in_channels}} {sizes}", f"{{self.out_channels}} {after}")

    kernel = " ".join(f"{{self.kernel_size[{place}]}}" for place in range(axes))
    return Module(
        "in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, "
        "padding_mode='zeros', device=None, dtype=None",
        contracts,
        {
            "weight": f"{{self.out_channels}} {{self.in_channels}}//{{self.groups}} {kernel}",
            "bias": "{self.out_channels}",
        },
        (axes, ("kernel_size", "stride", "padding", "dilation")),
    )


def _transposed(axes: int) -> Module:
    after = " ".join(
        f"({name}-1)*{{self.stride[{place}]}}-2*{{self.padding[{place}]}}"
        f"+{{self.dilation[{place}]}}*({{self.kernel_size[{place}]}}-1)+{{self.output_padding[{place}]}}+1"
        for place, name in enumerate(_NAMES[axes])
    )
    kernel = " ".join(f"{{self.kernel_size[{place}]}}" for place in range(axes))
    return Module(
        "in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, "
        "dilation=1, "
        "padding_mode='zeros', device=None, dtype=None",
        _batched(f"{{self.in_channels}} {' '.join(_NAMES[axes])}", f"{{self.out_channels}} {after}"),
        {
            "weight": f"{{self.in_channels}} {{self.out_channels}}//{{self.groups}} {kernel}",
            "bias": "{self.out_channels}",
        },
        (axes, ("kernel_size", "stride", "padding", "output_padding", "dilation")),
    )


def _pool(axes: int, further: str) -> Module:
    def contracts(attributes: Mapping[str, Value]) -> Contracts:
        if any(attributes.get(name, Constant(False)) != Constant(False) for name in ("ceil_mode", "return_indices")):
            return ()
        after = _windows(axes)
        if attributes["stride"] == Constant(None):
            after = after.replace("self.stride", "self.kernel_size")
        if "dilation" not in attributes:
            for place in range(axes):
                after = after.replace(f"-{{self.dilation[{place}]}}*", "-1*")
        return _batched(f"channels {' '.join(_NAMES[axes])}", f"channels {after}")

    return Module(
        f"kernel_size, stride=None, padding=0, {further}",
        contracts,
        spread=(axes, ("kernel_size", "stride", "padding", "dilation")),
    )


def _adaptive(kind: str, axes: int) -> Module:
    def contracts(attributes: Mapping[str, Value]) -> Contracts:
        wanted = attributes["output_size"]
        items = wanted.items if isinstance(wanted, Pack) else (wanted,) * axes
        if len(items) != axes or attributes.get("return_indices", Constant(False)) != Constant(False):
            return ()
        sizes = [
            name if each == Constant(None) else str(size) if (size := integer_of(each)) is not None else f"new_{name}"
            for name, each in zip(_NAMES[axes], items, strict=True)
        ]
        contracts = _batched(f"channels {' '.join(_NAMES[axes])}", f"channels {' '.join(sizes)}")
        if kind == "Avg" and axes > 1 and set(sizes) == {"1"}:  # a mean over the last axes, of more axes too
            contracts = *contracts, f"more {contracts[0].replace('-> ', '-> more ')}"
        return contracts

    return Module("output_size, return_indices=False", contracts)


def _flat(attributes: Mapping[str, Value]) -> Contracts:
    start, end = (integer_of(attributes[name]) for name in ("start_dim", "end_dim"))
    if start is None or end is None:
        return ()
    names, found = ("batch", "channels", "height", "width", "depth", "time"), list[str]()
    for rank in range(1, 7):
        first, last = (place + rank if place < 0 else place for place in (start, end))
        if 0 <= first <= last < rank:
            own = names[:rank]
            found.append(
                f"{' '.join(own)} -> {' '.join([*own[:first], '*'.join(own[first : last + 1]), *own[last + 1 :]])}"
            )
    return found


def _unflat(attributes: Mapping[str, Value]) -> Contracts:
    place, sizes = integer_of(attributes["dim"]), attributes["unflattened_size"]
    numbers = [integer_of(each) for each in sizes.items] if isinstance(sizes, Pack) else [None]
    if place is None or None in numbers or -1 in numbers:
        return ()
    names, found = ("batch", "features", "height", "width"), list[str]()
    for rank in range(1, 5):
        at = place + rank if place < 0 else place
        if 0 <= at < rank:
            own = names[:rank]
            after = [*own[:at], *map(str, numbers), *own[at + 1 :]]
            found.append(f"{' '.join(own)} -> {' '.join(after)} if {own[at]}=={'*'.join(map(str, numbers))}")
    return found


def _over_last(attributes: Mapping[str, Value]) -> Contracts:
    """Normalisation over the last axes."""
    shape = attributes["normalized_shape"]
    count = len(shape.items) if isinstance(shape, Pack) else 1
    last = " ".join(f"{{self.normalized_shape[{place}]}}" for place in range(count))
    if not isinstance(shape, Pack):
        last = "{self.normalized_shape}"
    return (f"*batch {last} -> *batch {last}",) if isinstance(shape, Pack | Number) else ()


def _by_channel(axes: int) -> str:
    shape = f"batch {{self.num_features}} {' '.join(_NAMES[axes])}"
    return f"{shape} -> {shape}"


def _by_instance(axes: int, attributes: Mapping[str, Value]) -> Contracts:
    """Without weights of its own it takes any number of channels."""
    channels = "channels" if attributes["affine"] == Constant(False) else "{self.num_features}"
    shape = f"{channels} {' '.join(_NAMES[axes])}"
    return _batched(shape, shape)


def _around(kind: str, axes: int) -> Module:
    """Padding: two numbers for each axis, the last one first."""

    def contracts(attributes: Mapping[str, Value]) -> Contracts:
        after = " ".join(
            f"{name}+{{self.padding[{2 * (axes - 1 - place)}]}}+{{self.padding[{2 * (axes - 1 - place) + 1}]}}"
            for place, name in enumerate(_NAMES[axes])
        )
        if kind in ("Zero", "Constant"):
            return (f"*before {' '.join(_NAMES[axes])} -> *before {after}",)
        return _batched(f"channels {' '.join(_NAMES[axes])}", f"channels {after}")

    return Module("padding, value=0", contracts, spread=(2 * axes, ("padding",)))


def _larger(attributes: Mapping[str, Value]) -> Contracts:
    times = integer_of(attributes["scale_factor"])
    if times is None:
        return ()
    ranks = [" ".join(_NAMES[axes]) for axes in (1, 2, 3)]
    return [
        f"batch channels {sizes} -> batch channels {' '.join(f'{name}*{times}' for name in sizes.split())}"
        for sizes in ranks
    ]


def _shuffled(attributes: Mapping[str, Value]) -> Contracts:
    times = integer_of(attributes["upscale_factor"])
    if times is None:
        return ()
    return (f"*batch channels height width -> *batch channels//{times * times} height*{times} width*{times}",)


_BATCH = "num_features, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, *, device=None, dtype=None"
_INSTANCE = _BATCH.replace("affine=True", "affine=False").replace(
    "track_running_stats=True", "track_running_stats=False"
)
_RECURRENT = (
    "input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, "
    "{}device=None, "
    "dtype=None"
)
_ATTENTION = (
    "embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None, "
    "batch_first=False, device=None, dtype=None"
)
_ENCODER = (
    "d_model, nhead, dim_feedforward=2048, dropout=0.1, activation='relu', layer_norm_eps=1e-05, batch_first=False, "
    "norm_first=False, bias=True, device=None, dtype=None"
)
_CHANNELS = {"weight": "{self.num_features}", "bias": "{self.num_features}"}
_ACTIVATIONS = (
    "ReLU ReLU6 ELU SELU CELU GELU SiLU Mish Hardswish Hardsigmoid Hardtanh LeakyReLU Sigmoid Tanh Softplus Softsign "
    "Tanhshrink LogSigmoid Softshrink Hardshrink Threshold RReLU"
)
_DROPOUTS = "Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout"
_PASSES = ("input_size", "hidden_size", "num_layers", "batch_first", "bidirectional")
_LOSS = "size_average=None, reduce=None, reduction='mean', weight=None, ignore_index=-100, pos_weight=None"
_F = "torch.nn.functional."


def _loss(row: str, further: str = "") -> Module:
    return Module(f"*args, {_LOSS}{further}", row=_F + row, passes=("reduction",))


_BY_FILE: dict[str, dict[str, Module]] = {
    "linear": {
        "Linear": Module(
            "in_features, out_features, bias=True, device=None, dtype=None",
            ("*batch {self.in_features} -> *batch {self.out_features}",),
            {"weight": "{self.out_features} {self.in_features}", "bias": "{self.out_features}"},
        ),
        "Bilinear": Module(
            "in1_features, in2_features, out_features, bias=True, device=None, dtype=None",
            ("*batch {self.in1_features}, *batch {self.in2_features} -> *batch {self.out_features}",),
            {"weight": "{self.out_features} {self.in1_features} {self.in2_features}", "bias": "{self.out_features}"},
        ),
        "Identity": Module("*args", _SAME),
    },
    "conv": {
        **{f"Conv{axes}d": _convolution(axes) for axes in (1, 2, 3)},
        **{f"ConvTranspose{axes}d": _transposed(axes) for axes in (1, 2, 3)},
    },
    "pooling": {
        **{f"MaxPool{axes}d": _pool(axes, "dilation=1, return_indices=False, ceil_mode=False") for axes in (1, 2, 3)},
        **{
            f"AvgPool{axes}d": _pool(axes, "ceil_mode=False, count_include_pad=True, divisor_override=None")
            for axes in (1, 2, 3)
        },
        **{f"Adaptive{kind}Pool{axes}d": _adaptive(kind, axes) for axes in (1, 2, 3) for kind in ("Avg", "Max")},
    },
    "batchnorm": {
        "BatchNorm1d": Module(
            _BATCH,
            (
                "batch {self.num_features} -> batch {self.num_features}",
                "batch {self.num_features} length -> batch {self.num_features} length",
            ),
            _CHANNELS,
        ),
        **{f"BatchNorm{axes}d": Module(_BATCH, (_by_channel(axes),), _CHANNELS) for axes in (2, 3)},
    },
    "instancenorm": {f"InstanceNorm{axes}d": Module(_INSTANCE, partial(_by_instance, axes)) for axes in (1, 2, 3)},
    "normalization": {
        "LayerNorm": Module(
            "normalized_shape, eps=1e-05, elementwise_affine=True, bias=True, device=None, dtype=None", _over_last
        ),
        "RMSNorm": Module("normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None", _over_last),
        "GroupNorm": Module(
            "num_groups, num_channels, eps=1e-05, affine=True, bias=True, device=None, dtype=None",
            ("batch {self.num_channels} *rest -> batch {self.num_channels} *rest",),
            {"weight": "{self.num_channels}", "bias": "{self.num_channels}"},
        ),
    },
    "sparse": {
        "Embedding": Module(
            "num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, "
            "sparse=False, device=None, dtype=None",
            ("*batch -> *batch {self.embedding_dim}",),
            {"weight": "{self.num_embeddings} {self.embedding_dim}"},
        ),
    },
    "dropout": {name: Module("p=0.5, inplace=False", _SAME) for name in _DROPOUTS.split()},
    "activation": {
        **{
            name: Module("*args, inplace=False, approximate='none', negative_slope=0.01", _SAME)
            for name in _ACTIVATIONS.split()
        },
        **{name: Module("dim=None", row=f"{_F}{row}", passes=("dim",)) for name, row in (("GLU", "glu"),)},
        **{name: Module("dim=None", _SAME) for name in ("Softmax", "LogSoftmax", "Softmin")},
        "PReLU": Module("num_parameters=1, init=0.25, device=None, dtype=None", _SAME),
        "MultiheadAttention": Module(
            _ATTENTION, row="torch.nn.MultiheadAttention.forward()", passes=("embed_dim", "kdim", "vdim", "batch_first")
        ),
    },
    "flatten": {
        "Flatten": Module("start_dim=1, end_dim=-1", _flat),
        "Unflatten": Module("dim, unflattened_size", _unflat),
    },
    "padding": {
        f"{kind}Pad{axes}d": _around(kind, axes)
        for kind in ("Zero", "Constant", "Reflection", "Replication")
        for axes in (1, 2, 3)
    },
    "upsampling": {"Upsample": Module("size=None, scale_factor=None, mode='nearest', align_corners=None", _larger)},
    "pixelshuffle": {"PixelShuffle": Module("upscale_factor", _shuffled)},
    "rnn": {
        "LSTM": Module(
            _RECURRENT.format("proj_size=0, "), row="torch.nn.LSTM.forward()", passes=(*_PASSES, "proj_size")
        ),
        "GRU": Module(_RECURRENT.format(""), row="torch.nn.GRU.forward()", passes=_PASSES),
        "RNN": Module(_RECURRENT.format("nonlinearity='tanh', "), row="torch.nn.GRU.forward()", passes=_PASSES),
    },
    "transformer": {
        "TransformerEncoderLayer": Module(_ENCODER, ("*batch time {self.d_model} -> *batch time {self.d_model}",)),
    },
    "loss": {
        "CrossEntropyLoss": _loss("cross_entropy", ", label_smoothing=0.0"),
        "NLLLoss": _loss("nll_loss"),
        "MSELoss": _loss("mse_loss"),
        "L1Loss": _loss("l1_loss"),
        "SmoothL1Loss": _loss("smooth_l1_loss", ", beta=1.0"),
        "HuberLoss": _loss("huber_loss", ", delta=1.0"),
        "KLDivLoss": _loss("kl_div", ", log_target=False"),
        "BCELoss": _loss("binary_cross_entropy"),
        "BCEWithLogitsLoss": _loss("binary_cross_entropy_with_logits"),
    },
    "distance": {
        "CosineSimilarity": Module("dim=1, eps=1e-08", row=f"{_F}cosine_similarity", passes=("dim",)),
        "PairwiseDistance": Module(
            "p=2.0, eps=1e-06, keepdim=False", row=f"{_F}pairwise_distance", passes=("keepdim",)
        ),
    },
}
MODULES: dict[str, Module] = {
    f"torch.nn.modules.{file}.{name}": module for file, modules in _BY_FILE.items() for name, module in modules.items()
}
_ITSELF = ("cuda", "cpu", "float", "double", "half", "bfloat16", "requires_grad_")

TABLE: dict[str, Analysis] = {
    **dict.fromkeys(MODULES, built),
    "torch.nn.modules.container.Sequential": sequential,
    "torch.nn.modules.container.ModuleList": listed,
    "torch.nn.modules.container.ModuleDict": listed,
    "torch.nn.parameter.Parameter": parameter,
    "torch.nn.modules.transformer.TransformerEncoder": encoder,
    **{f"Layer.{name}()": itself for name in _ITSELF},
}
