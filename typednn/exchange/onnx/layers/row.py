"""What a row of the table of layers says."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

# Of the file, the layer and its inputs: what comes out, or the input where the layer does nothing.
Write: TypeAlias = "Callable[..., Any]"
# Of the file and the names that a node reads, None for one that is left out: what a layer makes of it.
Read: TypeAlias = "Callable[..., Any]"


class Row(NamedTuple):
    """A class of layers in other formats."""

    write: Write  # its nodes in ONNX
    read: Mapping[str, Read] = {}  # by operator: a node of ONNX as this layer
    torch: Mapping[str, str | None] = {}  # PyTorch's names of its arrays, where they are others; None where it has none
    features: tuple[str, ...] = ()  # arrays whose last axis are the features that it reads
    window: bool = False  # whether the channels of its weight are last here, and axis 1 in ONNX and in PyTorch
