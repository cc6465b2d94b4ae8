"""Sharing: a parameter that layers of several classes hold, one array in one cell.

It is counted, saved, printed, written to configs and stepped once, where the model holds it first
(`typednn.module.updates`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typednn.errors import ArgumentError, DTypeError, ShapeError, StateError, explain
from typednn.module.fields import StoredField
from typednn.module.state import Cell
from typednn.module.tree import Node


def tie(layer: Node, other: Any, names: Mapping[str, str]) -> None:
    """Let ``layer`` hold the cells of ``other``; `typednn.Module.tie` says the rest."""
    where = f"{layer.label()}.tie"
    if not hasattr(other, "held_parameters") or other is layer or not names:
        got = "no parameter's name" if not names else "itself" if other is layer else type(other).__name__
        raise ArgumentError(
            explain(where, "takes another layer and names", got, 'such as head.tie(embedding, weight="weight")')
        )
    cells: dict[str, Cell] = {}
    for name, other_name in names.items():
        own, field = _held_field(where, layer, name), _held_field(where, other, other_name)
        if own.shape(layer) != field.shape(other):
            rule = f"{name} and {other.label()}'s {other_name} must have one shape"
            raise ShapeError(explain(where, rule, f"{own.shape(layer)} and {field.shape(other)}"), layer)
        if (layer.dtype, layer.device) != (other.dtype, other.device):
            got = f"{layer.dtype} on {layer.device} and {other.dtype} on {other.device}"
            raise DTypeError(
                explain(where, "both layers have one dtype and one device", got, "use astype and to first"), layer
            )
        if own.cell(layer).shared and own.cell(layer) is not field.cell(other):
            cure = "tie layers before shared()"
            raise StateError(
                explain(where, f"{name} must be this layer's alone", "a parameter that is shared already", cure), layer
            )
        cells[name] = field.cell(other)
    storage, placement = layer.__typednn_storage__, other.__typednn_storage__.placement
    for name, cell in cells.items():
        cell.put(storage.cells[name].array if cell.array is None else cell.array)
        cell.shared = True
        cell.placements = tuple({*cell.placements, storage.placement, placement})
    storage.cells.update(cells)


def _held_field(where: str, layer: Node, name: str) -> StoredField:
    """The parameter ``name`` of ``layer``; `ArgumentError` where there is none."""
    held: dict[str, StoredField] = dict(layer.held_parameters())
    if name not in held:
        raise ArgumentError(
            explain(where, f"{name!r} must be a parameter of {layer.label()}", ", ".join(held) or "there are none")
        )
    return held[name]
