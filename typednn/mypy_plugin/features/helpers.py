"""Any function that gives layers, of the module that is checked: ``def block(in_channels: int, channels: int) -> Images``.

It is evaluated as a constructor is, on the arguments of one call. Of a function of another module mypy may not have read the
body, so there its type says what is known.
"""

from mypy.nodes import FuncDef
from mypy.types import CallableType, Instance, Type, UnionType, get_proper_type

from typednn.mypy_plugin import classes, syntax
from typednn.mypy_plugin.context import Call
from typednn.mypy_plugin.features.constructors import bound
from typednn.mypy_plugin.values import UNKNOWN, Value

_SAME_FUNCTION = 3  # a function may call itself


def followed(call: Call, function: FuncDef) -> Value:
    """What the function returns for these arguments."""
    context, name = call.context, function.fullname
    if not _gives_layers(function) or context.under.count(name) >= _SAME_FUNCTION:
        return UNKNOWN

    def compute() -> Value:
        inner = context.inside(name.rpartition(".")[0], name)
        body = context.scope.once(("body", name), lambda: syntax.block(function.body.body))
        return inner.returned(body, bound(inner, syntax.parameters(function.arguments), call, set()))

    key = (name, tuple(call.arguments), tuple(call.keywords.items()), call.spread, context.under)
    try:
        hash(key)
    except TypeError:  # a layer among them
        return compute()
    return context.scope.once(key, compute)


def _gives_layers(function: FuncDef) -> bool:
    declared = get_proper_type(function.type)
    plain = not (function.is_decorated or function.is_conditional or function.is_generator or function.is_coroutine)
    return plain and isinstance(declared, CallableType) and _layers(declared.ret_type)


def _layers(declared: Type) -> bool:
    match get_proper_type(declared):
        case UnionType(items=items):
            return any(map(_layers, items))
        case Instance(type=info):
            return info.has_base(classes.MODULE)
        case _:
            return False
