"""Reductions: how the losses of all samples and features become one value.

loss (batch, *features) is defined by each loss, element by element. With n = features per sample:

==============  ===================================  ==========================  ==================
reduction       value                                shape                       alpha (divides the gradient)
==============  ===================================  ==========================  ==================
"none"          the losses themselves                as the prediction           1
"sum"           Σ_batch Σ_feature                    a number                    1
"mean"          sum / (batch·n)                      a number                    batch·n
"mean_batch"    Σ_batch / batch                      the features                batch
"mean_feature"  Σ_feature / n                        the batch                   n
"batchmean"     sum / batch                          a number                    batch
==============  ===================================  ==========================  ==================

The gradient of a reduction that gives several numbers is that of their sum. Losses with labels as targets count each
label, and not each sample: `typednn.losses.labels`.
Source: "Deep Learning Implementation With Rust", eqs 17-21; "batchmean" is PyTorch's name (torch.nn.KLDivLoss), and
what torch.nn.CrossEntropyLoss calls its mean.
"""

import math
from typing import Any, Literal, TypeAlias, get_args

from typednn.arguments import choice
from typednn.backends import to_number
from typednn.kernels.reduce import reduce

ToNumber: TypeAlias = Literal["mean", "sum", "batchmean"]
ToArray: TypeAlias = Literal["none", "mean_batch", "mean_feature"]
Reduction: TypeAlias = ToNumber | ToArray

REDUCTIONS: tuple[Reduction, ...] = ("none", "sum", "mean", "mean_batch", "mean_feature", "batchmean")


def checked_reduction(where: str, reduction: Reduction) -> Reduction:
    """``reduction`` if there is one of that name."""
    return choice(where, "reduction", reduction, REDUCTIONS)


def is_number(reduction: Reduction) -> bool:
    """Whether the value is one number."""
    return reduction in get_args(ToNumber)


def reduced(losses: Any, reduction: Reduction, divisor: Any = None) -> Any:
    """The value: a Python float, which waits for a device, or an array for "none", "mean_batch" and "mean_feature"."""
    value = reduced_array(losses, reduction, divisor)
    return to_number(value) if is_number(reduction) else value


def reduced_array(losses: Any, reduction: Reduction, divisor: Any = None) -> Any:
    """The value as an array on the device of the losses, without waiting for it; one number is a float64 of rank 0.

    ``divisor`` is alpha where the losses' shape does not tell it: a number, or an array of rank 0. ``losses`` of rank 0
    are their sum.
    """
    if reduction == "none":
        return losses
    axes = {"mean_batch": (0,), "mean_feature": tuple(range(1, len(losses.shape)))}.get(reduction)
    return reduce(losses, axes, alpha(losses.shape, reduction) if divisor is None else divisor)


def mean_divisor(shape: tuple[int, ...], reduction: Reduction) -> float | None:
    """What the losses of a batch were divided by, if that grows with the batch; None where batches are added up or
    joined.
    """
    return float(alpha(shape, reduction)) if reduction in ("mean", "mean_batch", "batchmean") else None


def alpha(shape: tuple[int, ...], reduction: Reduction) -> int:
    """The divisor of the gradient."""
    batch, features = shape[0], math.prod(shape[1:])
    return {"mean": batch * features, "mean_batch": batch, "batchmean": batch, "mean_feature": features}.get(
        reduction, 1
    )
