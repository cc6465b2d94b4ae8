"""Normalisations: numbers with mean 0 and variance 1, or mean square 1.

y = (x - mean)/√(variance + eps)·weight + bias       mean = Σ x/n       variance = Σ (x - mean)²/(n - correction)

=============  ==================================================================
function       mean and variance of
=============  ==================================================================
batch_norm     each channel, over all other axes; or those that are given
layer_norm     the last axes, of the weight's shape
group_norm     channels side by side in groups, of each sample
rms_norm       the last axis: no mean, and the mean square in place of the variance
=============  ==================================================================

``correction`` is 0 as a rule, the biased variance, as PyTorch's layers and GPT-2 have it; 1 gives the unbiased one.
Channels are last. About ten operations each.
"""

from __future__ import annotations

from typing import Any

from typednn.arguments import divisor, number
from typednn.arrays import is_floating
from typednn.errors import ArgumentError, DTypeError, ShapeError, explain
from typednn.graph.graph import GRAPH, Shape, product
from typednn.graph.nodes import axes_of, reshape, unary
from typednn.graph.operations import Unary
from typednn.graph.tensor import AnyTensor, Tensor
from typednn.kernels.lerp import lerp


def moments(x: AnyTensor, axis: Any, correction: int = 0) -> tuple[AnyTensor, AnyTensor]:
    """Mean and variance along ``axis``, which is kept."""
    mean, centred = _centred(x, axis)
    return mean, _variance(centred, axis, correction)


def _centred(x: AnyTensor, axis: Any) -> tuple[AnyTensor, AnyTensor]:
    mean = x.mean(axis, keepdims=True)
    return mean, x - mean


def _variance(centred: AnyTensor, axis: Any, correction: int) -> AnyTensor:
    total = (centred * centred).sum(axis, keepdims=True)
    count = product(centred.shape) // max(product(total.shape), 1) - correction
    if count < 1:
        got = f"{count + correction} less a correction of {correction}: {GRAPH.expression(centred.id)}"
        raise ShapeError(explain("variance", "is of more numbers than the correction", got))
    return total * (1 / count)


def _affine(where: str, y: AnyTensor, weight: AnyTensor | None, bias: AnyTensor | None, shape: Shape) -> AnyTensor:
    for name, each in (("weight", weight), ("bias", bias)):
        if each is not None and each.shape != shape:
            raise ShapeError(explain(where, f"{name} is {shape}", f"{each.shape}: {GRAPH.expression(each.id)}"))
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def _checked(where: str, x: AnyTensor, least: int, eps: float) -> None:
    number(where, "eps", eps, least=0.0)
    if not is_floating(x.dtype):
        raise DTypeError(explain(where, "takes floats", f"{x.dtype}: {GRAPH.expression(x.id)}", "cast it"))
    if x.ndim < least or not x.size:
        raise ShapeError(
            explain(where, f"x has {least} axes at least, and numbers", f"{x.shape}: {GRAPH.expression(x.id)}")
        )


def layer_norm(
    x: Tensor[Any, Any],
    weight: AnyTensor | None = None,
    bias: AnyTensor | None = None,
    eps: float = 1e-5,
    axis: Any = None,
    correction: int = 0,
) -> AnyTensor:
    """Each row normalised, ``axis`` being the weight's axes, or the last one, unless given."""
    _checked("layer_norm", x, 1, eps)
    if axis is None:
        given = weight if weight is not None else bias
        axis = tuple(range(-(1 if given is None else given.ndim), 0))
    axes = axes_of("layer_norm", axis, x)
    if axes != tuple(range(x.ndim - len(axes), x.ndim)):
        raise ArgumentError(
            explain("layer_norm", "axes are the last ones", f"{axis} of {GRAPH.expression(x.id)}", "permute x"), "axis"
        )
    _, centred = _centred(x, axes)
    y = centred / unary(Unary.SQRT, _variance(centred, axes, correction) + eps)
    return _affine("layer_norm", y, weight, bias, tuple(x.shape[each] for each in axes))


def rms_norm(x: Tensor[Any, Any], weight: AnyTensor | None = None, eps: float = 1e-6) -> AnyTensor:
    """``x/√(Σ x²/n + eps)·weight``, along the last axis."""
    _checked("rms_norm", x, 1, eps)
    y = x / unary(Unary.SQRT, (x * x).mean(-1, keepdims=True) + eps)
    return _affine("rms_norm", y, weight, None, x.shape[-1:])


def group_norm(
    x: Tensor[Any, Any], groups: int, weight: AnyTensor | None = None, bias: AnyTensor | None = None, eps: float = 1e-5
) -> AnyTensor:
    """Each group of channels of each sample normalised: x (batch, …, channels), weight and bias (channels)."""
    _checked("group_norm", x, 2, eps)
    channels = x.shape[-1]
    divisor("group_norm", "groups", groups, channels=channels)
    grouped = reshape(x, (x.shape[0], product(x.shape[1:-1]), groups, channels // groups))
    _, centred = _centred(grouped, (1, 3))
    y = centred / unary(Unary.SQRT, _variance(centred, (1, 3), 0) + eps)
    return _affine("group_norm", reshape(y, x.shape), weight, bias, (channels,))


def batch_norm(
    x: Tensor[Any, Any],
    weight: AnyTensor | None = None,
    bias: AnyTensor | None = None,
    eps: float = 1e-5,
    statistics: tuple[AnyTensor, AnyTensor] | None = None,
) -> AnyTensor:
    """Each channel normalised over all other axes; by ``statistics``, mean and variance (channels), where given, as in
    evaluation.
    """
    _checked("batch_norm", x, 2, eps)
    channels, axes = x.shape[-1:], tuple(range(x.ndim - 1))
    if statistics is None:
        _, centred = _centred(x, axes)
        variance = _variance(centred, axes, 0)
    else:
        for name, each in zip(("mean", "variance"), statistics, strict=True):
            if each.shape != channels:
                raise ShapeError(
                    explain("batch_norm", f"the {name} is {channels}", f"{each.shape}: {GRAPH.expression(each.id)}")
                )
        centred, variance = x - statistics[0], statistics[1]
    return _affine("batch_norm", centred / unary(Unary.SQRT, variance + eps), weight, bias, channels)


def running_statistics(
    x: AnyTensor, mean: AnyTensor, variance: AnyTensor, momentum: float = 0.1
) -> tuple[AnyTensor, AnyTensor]:
    """``mean`` and ``variance`` (channels) moved by ``momentum`` towards those of ``x``, with the unbiased variance.

    PyTorch's momentum: of a "decay", as other papers have it, it is what remains to 1.
    """
    number("running_statistics", "momentum", momentum, least=0.0, most=1.0)
    axes = tuple(range(x.ndim - 1))
    found = moments(x, axes, correction=1)
    new_mean, new_variance = (reshape(new, old.shape) for new, old in zip(found, (mean, variance), strict=True))
    of_tensors: Any = lerp
    return of_tensors(mean, new_mean, momentum), of_tensors(variance, new_variance, momentum)
