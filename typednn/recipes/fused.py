"""A recipe's model as training computes it: neighbouring layers run as one kernel, the parameters shared with the model itself."""

from __future__ import annotations

from typing import Any, cast

from typednn.fusion import fuse
from typednn.layer import Chain
from typednn.stack import Stack


def computed(model: Stack[Any], *, fused: bool) -> tuple[Any, tuple[int, ...]]:
    """What runs for ``model``, and the shape of one sample that it reads: the fused chain of its layers, or the stack itself and a row.

    A stack within the stack reads its row as samples of its own shape, which no chain does: then nothing is fused.
    """
    if not fused or any(isinstance(layer, Stack) for layer in model.layers):
        return model, (model.in_features,)
    chain = cast("Any", Chain)(model.layers, model.input)
    return fuse(chain), model.input.sizes
