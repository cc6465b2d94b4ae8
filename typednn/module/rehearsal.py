"""A step rehearsed on copies, so that its kernels are known before it runs (`typednn.engines.halide.rehearsal`).

Only code of typednn runs twice: a layer, a loss or a schedule of the user's might print, count, or draw from a
generator of its own.
"""

import copy
from typing import Any

import numpy as np

from typednn.module.state import CallState
from typednn.module.tree import Node


def is_known(*objects: object) -> bool:
    """Whether these are objects of typednn's classes, and of models every part."""
    nodes = [part for each in objects if isinstance(each, Node) for _, part in each.named_modules()]
    return all(type(each).__module__.startswith("typednn.") for each in (*objects, *nodes)) and not any(
        node.foreign for node in nodes
    )


def copied(model: Any, *others: Any) -> Any:
    """Deep copies of ``model`` and of what belongs to it, without what forward kept."""
    states = [part.__typednn_calls__ for _, part in model.named_modules()]
    return copy.deepcopy((model, *others), {id(state): CallState(kinds=state.kinds) for state in states})


def forward_and_backward(model: Any, inputs: tuple[Any, ...]) -> None:
    """Both on a copy of ``model``."""
    (other,) = copied(model)
    other.backward(np.zeros_like(other.forward(*copy.deepcopy(inputs))))
