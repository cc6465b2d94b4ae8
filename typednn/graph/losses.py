"""Losses: how far a prediction is from its target, differentiable by both wherever both are floats.

=====================  ==========================================================================================
function               loss of each number p with target t
=====================  ==========================================================================================
mse                    (p - t)²
l1                     |p - t|
huber                  d²/2 where |d| <= delta, else delta·(|d| - delta/2), d = p - t
smooth_l1              the same over delta, here called beta
bce_with_logits        -pos_weight·t·log σ(p) - (1 - t)·log(1 - σ(p))
kl_div                 t·(log t - p), 0 where t is 0; p are logarithms
nll                    -weight[t]·p[t]; p are logarithms, t a class
softmax_cross_entropy  -weight[t]·log_softmax(p)[t], t a class; or -Σ_c weight[c]·t[c]·log_softmax(p)[c], t shares
=====================  ==========================================================================================

``reduction``: "none" gives all losses, "sum" their sum, "mean" that over their number; of classes, over the labels that
count, or their weights. A label that is ``ignore_index`` has loss 0 and does not count. Where none counts the mean is
0, and so is its gradient. Source: as the losses of `typednn.losses`, and PyTorch's of the same names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, final

import numpy as np

from typednn.arguments import choice, number
from typednn.arrays import is_floating
from typednn.errors import ShapeError, explain
from typednn.graph.embedding import at_label, check_integers, refuse_outside
from typednn.graph.graph import GRAPH
from typednn.graph.nodes import as_tensor, binary, constant, reshape, unary
from typednn.graph.operations import Binary, Unary
from typednn.graph.softmax import log_softmax
from typednn.graph.tensor import AnyTensor, Tensor
from typednn.graph.whole import Whole, takes_whole
from typednn.kernels import class_targets
from typednn.kernels import softmax_cross_entropy as op

Reduction: TypeAlias = Literal["mean", "sum", "none"]
REDUCTIONS: Final[tuple[Reduction, ...]] = ("mean", "sum", "none")


def mse(prediction: Tensor[Any, Any], target: Any, reduction: Reduction = "mean") -> AnyTensor:
    """The squared distance, of tensors of one shape."""
    difference = prediction - _target("mse", prediction, target)
    return _reduced("mse", difference * difference, reduction)


def l1(prediction: Tensor[Any, Any], target: Any, reduction: Reduction = "mean") -> AnyTensor:
    """The distance, of tensors of one shape."""
    return _reduced("l1", abs(prediction - _target("l1", prediction, target)), reduction)


def huber(prediction: Tensor[Any, Any], target: Any, delta: float = 1.0, reduction: Reduction = "mean") -> AnyTensor:
    """Half the squared distance up to ``delta``, and a line beyond it."""
    number("huber", "delta", delta, least=1e-30)
    return _reduced("huber", _huber(prediction, _target("huber", prediction, target), delta), reduction)


def smooth_l1(prediction: Tensor[Any, Any], target: Any, beta: float = 1.0, reduction: Reduction = "mean") -> AnyTensor:
    """`huber` with delta ``beta``, over beta: a distance but near 0."""
    number("smooth_l1", "beta", beta, least=1e-30)
    return _reduced("smooth_l1", _huber(prediction, _target("smooth_l1", prediction, target), beta) / beta, reduction)


def _huber(prediction: AnyTensor, target: AnyTensor, delta: float) -> AnyTensor:
    distance = abs(prediction - target)
    near = -binary(Binary.MAXIMUM, -distance, -delta)  # the distance, at most delta
    return near * (distance - near * 0.5)


def bce_with_logits(
    prediction: Tensor[Any, Any],
    target: Any,
    pos_weight: AnyTensor | float | None = None,
    reduction: Reduction = "mean",
) -> AnyTensor:
    """Binary cross entropy of scores of any size; ``pos_weight``, one number or one for each class, is what a yes
    counts.
    """
    target = _target("bce_with_logits", prediction, target)
    # -log σ(p) = log(1 + exp(-|p|)) + max(-p, 0), and -log(1 - σ(p)) is p more.
    yes = unary(Unary.LOG, unary(Unary.EXP, -abs(prediction)) + 1.0) + binary(Binary.MAXIMUM, -prediction, 0.0)
    counts: AnyTensor | float = 1.0 if pos_weight is None else (pos_weight - 1.0) * target + 1.0
    losses: AnyTensor = (1.0 - target) * prediction + yes * counts
    return _reduced("bce_with_logits", losses, reduction)


def kl_div(
    prediction: Tensor[Any, Any], target: Any, log_target: bool = False, reduction: Reduction = "mean"
) -> AnyTensor:
    """The divergence of shares ``target``, or of their logarithms, from those whose logarithms are ``prediction``.

    "mean" is over all numbers, as PyTorch's: the divergence itself is the sum over those of a sample.
    """
    target = _target("kl_div", prediction, target)
    if log_target:
        return _reduced("kl_div", unary(Unary.EXP, target) * (target - prediction), reduction)
    present = target > 0.0
    logarithms = unary(Unary.LOG, binary(Binary.MASKED, present, target) + (~present).cast(target.dtype))
    return _reduced("kl_div", target * (logarithms - prediction), reduction)


def cosine_similarity(x: Tensor[Any, Any], y: Any, axis: int = -1, eps: float = 1e-8) -> AnyTensor:
    """The cosine of the angle between vectors along ``axis``; lengths below ``eps`` count as ``eps``. As a loss, take 1
    less this.

    x and y have one shape.
    """
    number("cosine_similarity", "eps", eps, least=1e-30)
    y = _target("cosine_similarity", x, y)
    squares = [binary(Binary.MAXIMUM, (each * each).sum(axis), eps * eps) for each in (x, y)]
    cosine: AnyTensor = (x * y).sum(axis) / (unary(Unary.SQRT, squares[0]) * unary(Unary.SQRT, squares[1]))
    return cosine


def nll(
    prediction: Tensor[Any, Any],
    target: Any,
    *,
    weight: AnyTensor | None = None,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
) -> AnyTensor:
    """Negative log-likelihood: prediction (…, classes) holds logarithms of shares, target (…) classes."""
    target = _labels("nll", prediction, target, weight, ignore_index)
    return _of_labels("nll", prediction, target, weight, ignore_index, 0.0, reduction)


def softmax_cross_entropy(
    prediction: Tensor[Any, Any],
    target: Any,
    *,
    weight: AnyTensor | None = None,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: Reduction = "mean",
) -> AnyTensor:
    """Cross entropy of scores (…, classes) of any size; target: classes (…), or shares (…, classes).

    A mean or a sum over classes without weights is one node, the op `typednn.kernels.softmax_cross_entropy`.
    """
    where = "softmax_cross_entropy"
    number(where, "label_smoothing", label_smoothing, least=0.0, below=1.0)
    choice(where, "reduction", reduction, REDUCTIONS)
    target = as_tensor(target, prediction)
    if is_floating(target.dtype):
        return _of_shares(
            where, log_softmax(prediction), _target(where, prediction, target), weight, label_smoothing, reduction
        )
    target = _labels(where, prediction, target, weight, ignore_index)
    if not takes_whole(prediction) or weight is not None or reduction == "none":
        return _of_labels(where, log_softmax(prediction), target, weight, ignore_index, label_smoothing, reduction)
    rows = reshape(prediction, (target.size, prediction.shape[-1]))
    return _SoftmaxCrossEntropy.of(
        op.forward,
        (),
        logits=rows,
        target=reshape(target, (target.size,)),
        smoothing=label_smoothing,
        ignore_index=ignore_index,
        is_mean=reduction == "mean",
    )


def _target(where: str, prediction: AnyTensor, target: Any) -> AnyTensor:
    """``target`` as a tensor of the prediction's shape: a loss does not broadcast."""
    found = as_tensor(target, prediction)
    if found.shape != prediction.shape:
        got = (
            f"{prediction.shape} and {found.shape}: {GRAPH.expression(prediction.id)} and {GRAPH.expression(found.id)}"
        )
        raise ShapeError(explain(where, "prediction and target have one shape", got, "reshape one of them"))
    return found


def _labels(where: str, prediction: AnyTensor, target: Any, weight: AnyTensor | None, ignore_index: int) -> AnyTensor:
    """``target`` as a tensor of classes, checked as far as they are known."""
    found = as_tensor(target, prediction)
    check_integers(where, found)
    if (
        not prediction.ndim
        or found.shape != prediction.shape[:-1]
        or (weight is not None and weight.shape != prediction.shape[-1:])
    ):
        got = (
            f"{prediction.shape} and {found.shape}: {GRAPH.expression(prediction.id)} and {GRAPH.expression(found.id)}"
        )
        raise ShapeError(explain(where, "prediction is (…, classes), target (…), weight (classes)", got))
    refuse_outside(where, GRAPH.arrays.get(found.id), prediction.shape[-1], ignore_index)
    return found


def _of_labels(
    where: str,
    logarithms: AnyTensor,
    target: AnyTensor,
    weight: AnyTensor | None,
    ignore_index: int,
    smoothing: float,
    reduction: Reduction,
) -> AnyTensor:
    classes = logarithms.shape[-1]
    at, weighted = at_label(target, classes), logarithms if weight is None else logarithms * weight
    losses = -binary(Binary.MASKED, at, weighted).sum(-1)
    if smoothing:
        losses = losses * (1.0 - smoothing) - weighted.sum(-1) * (smoothing / classes)
    whole = np.iinfo(target.dtype)
    counts = (
        target != ignore_index if whole.min <= ignore_index <= whole.max else constant(True, np.bool_, target.shape)
    )
    losses = binary(Binary.MASKED, counts, losses)
    if choice(where, "reduction", reduction, REDUCTIONS) != "mean":
        return _reduced(where, losses, reduction)
    one = constant(1, losses.dtype) if weight is None else binary(Binary.MASKED, at, weight).sum(-1)
    number_of = binary(Binary.MASKED, counts, one).sum()
    return losses.sum() / (number_of + binary(Binary.EQUAL, number_of, 0.0).cast(losses.dtype))


def _of_shares(
    where: str,
    logarithms: AnyTensor,
    target: AnyTensor,
    weight: AnyTensor | None,
    smoothing: float,
    reduction: Reduction,
) -> AnyTensor:
    shares = target * (1.0 - smoothing) + smoothing / target.shape[-1] if smoothing else target
    shares = shares if weight is None else shares * weight
    products = binary(Binary.MASKED, shares != 0.0, logarithms) * shares  # 0, also where a logarithm is -inf
    return _reduced(where, -products.sum(-1), reduction)


def _reduced(where: str, losses: AnyTensor, reduction: Reduction) -> AnyTensor:
    choice(where, "reduction", reduction, REDUCTIONS)
    return losses if reduction == "none" else losses.sum() if reduction == "sum" else losses.mean()


@final
class _SoftmaxCrossEntropy(Whole):
    """The op, summed, or over the labels that count where ``is_mean`` is among the settings; labels that are known only
    now are refused.
    """

    def run(self, given: Mapping[str, Any]) -> Any:
        given, counted = self._labelled(given)
        return (super().run({**given, "summed": True}) / counted[0]).astype(given["logits"].dtype)

    def derive(self, given: Mapping[str, Any]) -> Any:
        given, counted = self._labelled(given)
        scale: Any = given["next_grad"] * counted[1]
        return super().derive({**given, "scale": float(scale) if isinstance(given["logits"], np.ndarray) else scale})

    def _labelled(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Any, Any]]:
        """The arguments; what the sum is divided by, and its reciprocal."""
        logits, labels, ignored = given["logits"], given["target"], given["ignore_index"]
        refuse_outside("softmax_cross_entropy", labels, logits.shape[1], ignored)
        labels = labels.astype(np.int64, copy=False)
        counted = class_targets.counted(labels, None, ignored, 1, logits.dtype) if given["is_mean"] else (1, 1)
        return {**given, "target": labels}, counted
