"""Every module of the table against PyTorch's own: built and called on random shapes."""

import re
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from effort import cheap

from tests.mypy_plugin.array_functions.calls import MISTAKES, Draw
from tests.mypy_plugin.array_functions.comparison import contradiction
from tests.mypy_plugin.array_functions.torch_library import plain
from typednn.errors import TypednnError
from typednn.mypy_plugin.context import Call
from typednn.mypy_plugin.features.torch_modules import MODULES, built
from typednn.mypy_plugin.values import Array, Constant, Layer, Pack, Value, number
from typednn.shapes import Flow

CALLS = max(40, cheap.max_examples // 8)
ROWS = {name for name, module in MODULES.items() if module.row}  # compared as rows are
# What PyTorch alone refuses: arguments of constructors, channels that are no multiple, and kernels' further wishes.
OPEN = (
    r"divisible|pad should be|too small|kernel|1D input|non-zero|must be non|Feature dropout|dropout\dd|Padding size"
    r"|out of range|start_dim cannot come|memory descriptor|[Ee]xpected (more than|2D or 3D)|spatial element"
)
AXES = {"1d": 1, "2d": 2, "3d": 3}


def value(given: Any) -> Value:
    """A constructor's argument as the plugin knows it."""
    if type(given) is int:
        return number(given)
    return Pack(tuple(map(value, given)), frozen=True) if isinstance(given, tuple) else Constant(given)


def spatial(d: Draw, axes: int) -> tuple[int, ...]:
    return tuple(d.random.randint(3, 8) for _ in range(axes))


def either(d: Draw, axes: int, low: int, high: int) -> Any:
    """One number, or one for each axis."""
    return d.random.randint(low, high) if d.flag() else tuple(d.random.randint(low, high) for _ in range(axes))


def drawn(name: str, d: Draw) -> tuple[tuple[Any, ...], dict[str, Any], tuple[int, ...]]:
    """The arguments of a constructor, and the shape of an input."""
    axes = AXES.get(name[-2:], 0)
    batch, channels = (2,) if d.chance(0.8) else (), d.one((2, 4))
    match name[:-2] if axes else name:
        case "Linear":
            return (channels, 5), d.some(bias=lambda: False), (*d.shape(0, 3), channels)
        case "Conv" | "ConvTranspose" as kind:
            choices = d.some(
                stride=lambda: either(d, axes, 1, 2),
                padding=lambda: either(d, axes, 0, 2),
                dilation=lambda: either(d, axes, 1, 2),
                groups=lambda: 2,
                bias=lambda: False,
            )
            if kind == "Conv" and d.chance(0.1):
                choices = {"padding": d.one(("same", "valid"))}
            return (channels, 6, either(d, axes, 1, 3)), choices, (*batch, channels, *spatial(d, axes))
        case "MaxPool" | "AvgPool":
            return (
                (either(d, axes, 2, 3),),
                d.some(stride=lambda: either(d, axes, 1, 3), padding=lambda: 1),
                (*batch, 3, *spatial(d, axes)),
            )
        case "AdaptiveAvgPool" | "AdaptiveMaxPool":
            wanted = d.one((1, 2, (2,) * axes, (None, *(3,) * (axes - 1)) if axes > 1 else 3))
            return (wanted,), {}, (*batch, 3, *spatial(d, axes))
        case "BatchNorm":
            return (channels,), {}, (2, channels, *(spatial(d, axes) if axes > 1 or d.flag() else ()))
        case "InstanceNorm":
            return (channels,), {}, (*batch, channels, *spatial(d, axes))
        case "LayerNorm" | "RMSNorm":
            return ((channels,) if d.flag() else d.one((channels, (3, channels))),), {}, (*d.shape(0, 2), 3, channels)
        case "GroupNorm":
            return (2, channels), {}, (2, channels, *d.shape(0, 2))
        case "Embedding":
            return (3, channels), {}, d.shape(0, 3)
        case "Flatten":
            return (
                (),
                d.some(start_dim=lambda: d.random.randint(0, 2), end_dim=lambda: d.random.randint(-2, 3)),
                d.shape(1, 5),
            )
        case "Unflatten":
            return (1, (2, 3)), {}, (2, 6, *d.shape(0, 2))
        case "ZeroPad" | "ReflectionPad" | "ReplicationPad":
            widths = d.one((1, tuple(d.random.randint(0, 2) for _ in range(2 * axes))))
            return (widths,), {}, (*batch, 3, *spatial(d, axes))
        case "ConstantPad":
            return (1, 0.5), {}, (*batch, 3, *spatial(d, axes))
        case "Upsample":
            return (), {"scale_factor": 2}, (2, 3, *spatial(d, d.one((1, 2, 3))))
        case "PixelShuffle":
            return (2,), {}, (*batch, 8, 3, 4)
        case "TransformerEncoderLayer":
            return (channels, 2), {"dim_feedforward": 8}, (*batch, 3, channels)
        case "Softmax" | "LogSoftmax" | "Softmin":
            return (), {"dim": -1}, d.shape(1, 4)
        case "Threshold":
            return (0.5, 1.0), {}, d.shape()
        case "Dropout" if axes:
            return (), {}, (2, 3, *spatial(d, axes))
        case "PReLU":
            return (), {}, d.shape(1, 4)
        case "Bilinear":
            return (2, 3, 4), {}, (5, 2)
        case _:
            return (), {}, d.shape()


def judged(name: str, seed: int) -> str:
    """What is wrong with what the table says of one call."""
    import torch

    short, d = name.rpartition(".")[2], Draw(f"{name} {seed}")
    arguments, keywords, shape = drawn(short, d)
    shape = tuple(size or 1 for size in shape)  # a shape without elements goes through no module's contract
    shape = d.perturbed(shape) if d.chance(MISTAKES) and short != "Bilinear" else shape
    told = f"{short}({arguments}, {keywords}) on {shape}"
    call = Call(
        None,
        name,
        None,
        {},
        arguments=[*map(value, arguments)],
        keywords={key: value(each) for key, each in keywords.items()},
    )  # type: ignore[arg-type]
    layer = built(call)
    x = torch.zeros(shape, dtype=torch.int64) if short == "Embedding" else torch.rand(shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            module = getattr(torch.nn, short)(*arguments, **keywords)
            result = plain(module(x, torch.rand(5, 3)) if short == "Bilinear" else module(x))
        except (RuntimeError, ValueError, TypeError, IndexError, AssertionError) as error:
            result, raised = None, str(error)
        else:
            raised = ""
    if not isinstance(layer, Layer):
        return f"{told}: no layer"
    if not raised:
        for each, known in layer.attributes.items():
            own = getattr(module, each, None)
            if isinstance(known, Array) and (wrong := contradiction(known, plain(own), {})):
                return f"{told}: {each}: {wrong}"
    if len(layer.inputs) > 1:
        return ""
    try:
        after = layer.trace(Flow.of(shape))
    except TypednnError as error:
        return "" if raised or not result.size else f"{told}: the table refuses it ({error}), PyTorch does not"
    if raised:
        return "" if re.search(OPEN, raised) else f"{told}: only PyTorch refuses it ({raised})"
    if after.shape is None or None in after.shape:
        return f"{told}: not known, PyTorch gives {result.shape}"
    return contradiction(Array(after), result, {}) and f"{told}: {after.shape}, PyTorch gives {result.shape}"


def complaints(name: str) -> Iterator[str]:
    return filter(None, (judged(name, seed) for seed in range(CALLS)))


@pytest.mark.parity
@pytest.mark.parametrize("name", sorted(MODULES.keys() - ROWS))
def test_each_module_does_what_pytorchs_does(name: str) -> None:
    wrong = list(complaints(name))
    assert not wrong, "\n".join(wrong[:5])
