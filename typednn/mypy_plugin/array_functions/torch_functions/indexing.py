"""Reading and assigning elements. Unlike NumPy, PyTorch takes the numbers of an index first, and then its arrays."""

from __future__ import annotations

from typednn.mypy_plugin.array_functions.indexing import assigning, indexed, reading
from typednn.mypy_plugin.array_functions.rows import Misfit, Operands, Row, Shape, written
from typednn.mypy_plugin.values import Array, Constant, Number, Pack, Slice, Value, integer_of

_DOTS = Constant(Ellipsis)


def _index(o: Operands, shape: Shape, index: Value) -> Shape | None:
    """The shape of ``x[index]``; None where it is not known."""
    parts = list(index.items) if isinstance(index, Pack) and index.frozen else [index]
    if any(isinstance(each, Slice) and (integer_of(each.step) or 1) < 1 for each in parts):
        raise Misfit("a slice of a tensor has no step below one; write .flip()")
    if parts.count(_DOTS) > 1:
        return None
    arrays = [each for each in parts if isinstance(each, Array | Pack)]
    if any(isinstance(each, Array) and each.kind[:1] == "U" for each in arrays):
        return None  # of uint8 it is a mask
    if len(arrays) > 1 and any(isinstance(each, Array) and each.flow.shape == [] for each in arrays):
        return None
    if not arrays or not any(isinstance(each, Number) for each in parts):
        return indexed(o, shape, index)
    if any(_taken(each) is None for each in parts):
        return None
    used = sum(_taken(each) or 0 for each in parts)
    if used > len(shape):
        raise Misfit(f"{written(shape)} has {len(shape)} axes, the index names {used}")
    if _DOTS not in parts:
        parts.append(_DOTS)
    place = 0
    left, rest = list[Value](), list(shape)
    for part in parts:
        if isinstance(part, Number):
            size, at = rest[place], integer_of(part)
            if size is not None and size.value is not None and at is not None and not -size.value <= at < size.value:
                raise Misfit(f"index {at} of an axis of {written(shape)}: it has {size} elements")
            del rest[place]
            continue
        left.append(part)
        place += len(shape) - used if part == _DOTS else _taken(part) or 0
    return indexed(o, rest, Pack(tuple(left), frozen=True))


def _taken(part: Value) -> int | None:
    """How many axes a part of an index takes."""
    match part:
        case Constant(value=value) if value is None or value is Ellipsis:
            return 0
        case Array(flow=flow, kind="Bool"):
            return None if flow.shape is None else len(flow.shape)
        case Array(flow=flow):
            return None if flow.shape is None else 1
        case Number() | Slice():
            return 1
        case Pack(items=items) if all(isinstance(each, Number) for each in items):
            return 1
        case _:
            return None


TABLE: dict[str, Row] = {
    "torch.Tensor[]": Row("a, index", reading(_index)),
    "torch.Tensor[]=": Row("a, index, value", assigning(_index)),
}
