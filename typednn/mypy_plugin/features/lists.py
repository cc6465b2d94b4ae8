"""Methods of lists and dicts; a list that is changed in any other way becomes unknown."""

import ast
from collections.abc import Sequence

from typednn.mypy_plugin.changes import MUTATORS
from typednn.mypy_plugin.context import Analysis, Call, forget_arrays, mutated
from typednn.mypy_plugin.python import elements, keys_of
from typednn.mypy_plugin.syntax import of_self
from typednn.mypy_plugin.values import UNKNOWN, Constant, Many, Number, Pack, Value, integer_of, join, show


def method(call: Call) -> Value:
    """``append`` and ``pop`` of a list in a variable, ``values`` of a dict."""
    if call.spread or not (isinstance(call.node, ast.Call) and isinstance(call.node.func, ast.Attribute)):
        return changed(call)
    held = call.node.func.value
    name = ast.unparse(held) if isinstance(held, ast.Name) or of_self(held) else ""
    match call.receiver, call.name.removeprefix("Pack."), call.arguments:
        case Pack(items=items), "append()", [each] if name:
            call.env[name] = Pack((*items, each))
            return Constant(None)
        case Pack(items=[*items, last]), "pop()", [] if name:
            call.env[name] = Pack(tuple(items))
            return last
        case Pack(items=items, keys=()), "pop()" | "insert()" | "extend()", given if name:
            return _changed_list(call, name, list(items), given)
        case Pack(items=items, keys=(_, *_)), "values()", _:
            return Pack(items)
        case Pack(items=items, keys=(_, *_)) as known, "items()", _:
            return Pack(tuple(Pack(pair, frozen=True) for pair in zip(keys_of(known), items, strict=True)), frozen=True)
        case Pack(keys=(_, *_)) as known, "keys()", _:
            return elements(known)
        case Pack(items=items, keys=(_, *_) as keys), "get()", [wanted, *default] if isinstance(
            wanted, Constant | Number
        ):
            return (
                items[keys.index(show(wanted))] if show(wanted) in keys else default[0] if default else Constant(None)
            )
        case _:
            return changed(call)


def _changed_list(call: Call, name: str, items: list[Value], arguments: Sequence[Value]) -> Value:
    """``pop``, ``insert`` and ``extend`` of a list in a variable."""
    place = integer_of(arguments[0]) if arguments else None
    result: Value = Constant(None)
    match call.name.removeprefix("Pack."), arguments:
        case "pop()", [_] if place is not None and -len(items) <= place < len(items):
            result = items.pop(place)
        case "insert()", [_, each] if place is not None:
            items.insert(place, each)
        case "extend()", [Pack(keys=()) as more]:
            items += more.items
        case _:
            return changed(call)
    call.env[name] = Pack(tuple(items))
    return result


def many(call: Call) -> Value:
    """``append`` to a list of any number of equal elements."""
    held = (
        call.node.func.value if isinstance(call.node, ast.Call) and isinstance(call.node.func, ast.Attribute) else None
    )
    if (
        held is None
        or not (isinstance(held, ast.Name) or of_self(held))
        or call.name != "Many.append()"
        or len(call.arguments) != 1
    ):
        return changed(call)
    common = join(call.receiver.item, call.arguments[0])
    call.env[ast.unparse(held)] = UNKNOWN if common is UNKNOWN else Many(common)
    return Constant(None)


def entries(call: Call) -> Value:
    """``values``, ``items`` and ``get`` of a dict of any keys."""
    each = call.receiver.item
    match call.name, call.arguments:
        case "Entries.values()", []:
            return Many(each, frozen=True)
        case "Entries.items()", []:
            return Many(Pack((UNKNOWN, each), frozen=True), frozen=True)
        case "Entries.get()", [_, *default]:
            return join(each, default[0]) if default else each
        case _:
            return changed(call)


def changed(call: Call) -> Value:
    """Any other that changes its receiver: a list, or ``resize`` of an array."""
    if call.name == "Array.resize()":
        forget_arrays(call.env)
    if isinstance(call.node, ast.Call) and isinstance(call.node.func, ast.Attribute):
        mutated(call.node.func.value, call.env)
    return UNKNOWN


_METHODS = (*MUTATORS, "values", "items", "keys", "get", "update", "__delitem__", "__iadd__", "__imul__", "__ior__")

EFFECTS: dict[str, Analysis] = {
    **{f"Pack.{name}()": method for name in _METHODS},
    **{f"Many.{name}()": many for name in MUTATORS},
    **{f"Entries.{name}()": entries for name in _METHODS},
    "Array.resize()": changed,
}
