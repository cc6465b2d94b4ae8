"""A function with the name of a layer."""

from typing import Any

from typednn import layers

WIDE = True


def Linear(inputs: int, outputs: int) -> Any:  # noqa: N802
    return layers.Linear(inputs, outputs - 1)
