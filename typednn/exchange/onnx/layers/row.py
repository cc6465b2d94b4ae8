"""What a row of the table of layers says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, final

from typednn.exchange.onnx.values import Value
from typednn.exchange.onnx.writer import Out
from typednn.exchange.tracing import Traced

# Of the file, the layer and its inputs: what comes out, or the input where the layer does nothing.
Write: TypeAlias = "Callable[..., Out | Traced]"
# Of the file and the names that a node reads, None for one that is left out: what a layer makes of it.
Read: TypeAlias = "Callable[..., Value]"


@final
@dataclass(frozen=True, slots=True)
class Row:
    """A class of layers in other formats."""

    write: Write  # its nodes in ONNX
    read: Mapping[str, Read] = field(default_factory=dict[str, Read])  # by operator: a node of ONNX as this layer
    torch: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])  # PyTorch's names, if others
    window: bool = False  # whether the channels of its weight are last here, and axis 1 in ONNX and in PyTorch
