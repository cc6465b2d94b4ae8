"""Lists, dicts and tuples of arrays against annotations such as ``list[Float[Array2, "batch 10"]]``.

Each element of a list or a dict may have sizes of its own, where no array outside has their names: jaxtyping looks at
one element only. The elements of a tuple are compared with each other.
"""

import ast
from copy import deepcopy
from dataclasses import dataclass

from mypy.types import Instance, TupleType, Type, TypedDictType

from typednn.mypy_plugin.classes import holds_arrays
from typednn.mypy_plugin.context import Context
from typednn.mypy_plugin.sizes import misfit, same_precision
from typednn.mypy_plugin.types import DICTS, MANY, awaited, rank_of, said_of
from typednn.mypy_plugin.values import Array, Constant, Entries, Many, Pack, Value
from typednn.shapes import Unifier, leave, unknown


@dataclass(frozen=True, slots=True)
class Wrong:
    """An array that is not what an annotation says."""

    text: str  # of the annotation
    place: str  # in the list or the dict, ``[0]``
    how: str


def misfit_inside(
    context: Context, unifier: Unifier, declared: Type, value: Value, node: ast.AST, place: str = ""
) -> Wrong | None:
    """How the first of the arrays in a value contradicts the annotation in a type; None where all may fit."""
    plain = awaited(declared)
    if said := said_of(plain):
        if len(said) > 1 or not isinstance(value, Array) or (place and _ranks_differ(plain, value)):
            leave(None, None)
            return None
        kind, text, _ = said[0]
        if not same_precision(kind, value.kind):
            return Wrong(text, place, f"expects {kind}, gets {value.kind}")
        how = misfit(context, unifier, text, value, node)
        return Wrong(text, place, how) if how else None
    one_by_one: list[tuple[str, Type, Value]] = []
    match plain, value:
        case TupleType(items=types), Pack(items=values, keys=(), fields=()) if len(types) == len(values):
            for index, (each, item) in enumerate(zip(types, values, strict=True)):
                if wrong := misfit_inside(context, unifier, each, item, node, f"{place}[{index}]"):
                    return wrong
            return None
        case Instance(type=info, args=[each, *_]), Pack(items=values, keys=()) if info.fullname in MANY:
            one_by_one = [(str(index), each, item) for index, item in enumerate(values)]
        case Instance(type=info, args=[each, *_]), Many(item=item) if info.fullname in MANY:
            one_by_one = [("...", each, item)]
        case Instance(type=info, args=[_, each]), Pack(items=values, keys=(_, *_) as keys) if info.fullname in DICTS:
            one_by_one = [(key, each, item) for key, item in zip(keys, values, strict=True)]
        case Instance(type=info, args=[_, each]), Entries(item=item) if info.fullname in DICTS:
            one_by_one = [("...", each, item)]
        case TypedDictType(items=fields), Pack(items=values, keys=(_, *_) as keys):
            named = {repr(name): each for name, each in fields.items()}
            one_by_one = [(key, named[key], item) for key, item in zip(keys, values, strict=True) if key in named]
            unifier = Unifier(unknown, unifier.differs)  # its names are its own
        case _:
            if value != Constant(None) and holds_arrays(plain):
                leave(None, None)
    found = (
        misfit_inside(context, deepcopy(unifier), each, item, node, f"{place}[{key}]") for key, each, item in one_by_one
    )
    return next(filter(None, found), None)


def _ranks_differ(declared: Type | None, value: Array) -> bool:
    """Whether mypy's own types say that an array has another number of axes."""
    known = rank_of(declared)
    return known is not None and value.flow.shape is not None and len(value.flow.shape) != known
