"""``return x``: checked against the function's own annotation; for ``backward``, the gradient's input against what
forward read.
"""

import ast
from itertools import zip_longest

from mypy import nodes
from mypy.types import CallableType, Instance, ProperType, Type, get_proper_type

from typednn.mypy_plugin import classes
from typednn.mypy_plugin.annotations import Alternatives, elements
from typednn.mypy_plugin.containers import misfit_inside
from typednn.mypy_plugin.context import Context
from typednn.mypy_plugin.sizes import fits, misfit, names_of, same_precision, within
from typednn.mypy_plugin.values import UNKNOWN, Array, Constant, Gradient, Pack, Value
from typednn.shapes import Lookup, leave


def returned(
    context: Context,
    function: nodes.FuncDef,
    signature: classes.Signature,
    attributes: Lookup,
    value: Value,
    node: ast.AST,
) -> None:
    """Report an error where ``value`` is not what the function promises."""
    where = f"{function.info.name}.{function.name}" if function.info else function.name
    promised = signature["result"]
    if function.is_generator:
        return
    types = elements(_result_type(function))
    values = value.items if len(promised) > 1 and isinstance(value, Pack) else (value,)
    if len(values) == len(promised):
        for each, texts, declared in zip_longest(values, promised, types[: len(values)]):
            if not texts and _broken_inside(context, f"{where} must return", each, declared, attributes, node):
                return
            if texts and not isinstance(each, Array) and each != Constant(None):
                leave(None, None)
            if isinstance(each, Array) and texts and _broken(context, where, each, texts, attributes, node):
                return
    elif any(promised):
        leave(None, None)
    if isinstance(value, Gradient) and function.name == "backward" and function.info:
        forward = classes.method(function.info, "forward")
        if forward is not None:
            _input_gradient(context, where, value, forward, signature, attributes, node)


def yielded(
    context: Context, function: nodes.FuncDef, attributes: Lookup, value: Value, node: ast.Yield | ast.YieldFrom
) -> None:
    """``yield x``: checked against the annotation of the generator; ``yield from xs``."""
    where = f"{function.info.name}.{function.name}" if function.info else function.name
    declared: Type | None = _result_type(function)
    if isinstance(node, ast.Yield):
        declared = declared.args[0] if isinstance(declared, Instance) and declared.args else None
    _broken_inside(context, f"{where} must yield", value, declared, attributes, node)


def _result_type(function: nodes.FuncDef) -> ProperType | None:
    """The type of what a function returns; of a coroutine, when it is awaited."""
    declared = get_proper_type(function.type)
    result = get_proper_type(declared.ret_type) if isinstance(declared, CallableType) else None
    later = function.is_coroutine and not function.is_async_generator and isinstance(result, Instance)
    return get_proper_type(result.args[-1]) if later and isinstance(result, Instance) and result.args else result


def _broken_inside(
    context: Context, must: str, value: Value, declared: Type | None, attributes: Lookup, node: ast.AST
) -> bool:
    """Whether an array in a list, a dict or a tuple is not what is promised."""
    if declared is None or not classes.holds_arrays(declared):
        return False
    wrong = misfit_inside(context, within(context, attributes), declared, value, node)
    if wrong is not None:
        at = f" at {wrong.place}" if wrong.place else ""
        context.scope.complain(f'{must} "{wrong.text}"{at}: {wrong.how}', node)
    return wrong is not None


def _broken(context: Context, where: str, array: Array, texts: Alternatives, attributes: Lookup, node: ast.AST) -> bool:
    problems: list[str] = []
    for kind, text, _ in texts:
        wrong = misfit(context, within(context, attributes), text, array, node)
        if not same_precision(kind, array.kind):
            problems.append(f"{where} must return {kind}, gets {array.kind}")
        elif wrong is None:
            return False
        elif wrong:
            problems.append(f'{where} must return "{text}": {wrong}')
    if problems:
        context.scope.complain(problems[0], node)
    return bool(problems)


def _input_gradient(
    context: Context,
    where: str,
    gradient: Gradient,
    forward: classes.Signature,
    backward: classes.Signature,
    attributes: Lookup,
    node: ast.AST,
) -> None:
    """Backward's promise: the gradient's input is as large as what forward read."""
    match forward, backward:  # one array in, one out
        case {"parameters": [_, [_, [[_, inputs, _]]]], "result": [[[_, output, _]]]}, {
            "parameters": [_, [_, [[_, next_grad, _]]]]
        }:
            # A name means the same in both where the same axis of the output has it.
            shared = {a for a, b in zip(names_of(output), names_of(next_grad), strict=False) if a == b}
            unifier = within(context, attributes, shared & context.names)
            fits(
                context, unifier, f"{where}: the gradient's input ", inputs, gradient.fields.get("input", UNKNOWN), node
            )
        case _:
            pass
