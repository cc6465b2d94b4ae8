"""Methods of lists and dicts; a list that is changed in any other way becomes unknown."""

import ast

from typednn.mypy_plugin.context import Analysis, Call, mutated
from typednn.mypy_plugin.syntax import MUTATORS
from typednn.mypy_plugin.values import UNKNOWN, Constant, Pack, Value


def method(call: Call) -> Value:
    """``append`` and ``pop`` of a list in a variable, ``values`` of a dict."""
    if call.spread:
        return changed(call)
    match call.receiver, call.name.removeprefix("Pack."), call.node, call.arguments:
        case Pack(items=items), "append()", ast.Call(func=ast.Attribute(value=ast.Name(id=name))), [each]:
            call.env[name] = Pack((*items, each))
            return Constant(None)
        case Pack(items=[*items, last]), "pop()", ast.Call(func=ast.Attribute(value=ast.Name(id=name))), []:
            call.env[name] = Pack(tuple(items))
            return last
        case Pack(items=items, keys=[_, *_]), "values()", _, _:
            return Pack(items)
        case _:
            return changed(call)


def changed(call: Call) -> Value:
    """Any other that changes its receiver: a list, or ``resize`` of an array."""
    if isinstance(call.node, ast.Call) and isinstance(call.node.func, ast.Attribute):
        mutated(call.node.func.value, call.env)
    return UNKNOWN


EFFECTS: dict[str, Analysis] = {
    **{f"Pack.{name}()": method for name in (*MUTATORS, "values", "update", "__delitem__", "__iadd__", "__imul__", "__ior__")},
    **{f"Many.{name}()": changed for name in MUTATORS},
    "Array.resize()": changed,
}
