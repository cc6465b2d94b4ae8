"""evaluate: a model's answers to many inputs, a batch at a time, nothing kept on the way."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypeVar

from typednn.arrays import AnyArray, namespace
from typednn.data.batches import in_order
from typednn.layer import Layer

In = TypeVar("In", bound=AnyArray)
Out = TypeVar("Out", bound=AnyArray)


def evaluate(model: Layer[In, Out, Any], x: In, batch_size: int = 500) -> Out:
    """``model.forward(x)`` in eval mode; afterwards every part is in the mode it was in, also after an error.

    Going into eval drops what forward kept: call it between steps, not between a forward and its backward.
    """
    rows = in_order(len(x), batch_size)
    modes = [(module, module.training) for _, module in model.named_modules()]
    model.eval()
    try:
        outputs: Any = [model.forward(_taken(x, some)) for some in rows]
    finally:
        for module, mode in modes:
            module.training = mode
    scores: Out = namespace(outputs[0]).concatenate(outputs)
    return scores


def _taken(array: In, rows: Any) -> In:
    taken: Any = array[rows]
    some: In = taken
    return some


__all__ = ["evaluate"]
