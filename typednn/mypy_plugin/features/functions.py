"""Functions and methods.

One whose parameters are annotated: its arguments are unified with their axes from left to right, and its result is what
it says. Any other, if its source stands in the module that is checked: it is evaluated on the arguments of the call. A
mistake that only these arguments make is reported at the call.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial

from mypy import nodes
from mypy.types import CallableType, get_proper_type

from typednn.mypy_plugin import changes, classes, syntax
from typednn.mypy_plugin.annotations import Alternatives
from typednn.mypy_plugin.containers import misfit_inside
from typednn.mypy_plugin.context import Call, Context
from typednn.mypy_plugin.features.constructors import bound, passed_on, symbolic
from typednn.mypy_plugin.names import module_of
from typednn.mypy_plugin.sizes import bind, class_of, fits, result, same_precision
from typednn.mypy_plugin.types import value_of
from typednn.mypy_plugin.values import (
    UNKNOWN,
    Array,
    Constant,
    Function,
    Layer,
    Pack,
    Partial,
    Reference,
    Value,
    lookup,
)
from typednn.shapes import Unifier, leave

_SAME_FUNCTION = 3  # a function may call itself


def applied(call: Call, function: nodes.FuncDef) -> Value:
    """A call of a function that a module or a class defines."""
    return _both(call, call, function)


def method(call: Call, function: nodes.FuncDef) -> Value:
    """A method of ``call.receiver``, an object or a class."""
    receiver = () if function.is_static else (call.receiver,)
    return _both(call, replace(call, arguments=(*receiver, *call.arguments)), function)


def _both(call: Call, full: Call, function: nodes.FuncDef) -> Value:
    """By its annotations; and by its source, where arguments say more than annotations can: layers,
    numbers, functions.
    """
    value, source = annotated(call, function), at_hand(call.context, function)
    values = (*full.arguments, *full.keywords.values())
    if value is None or source is None or (value is not UNKNOWN and all(isinstance(each, Array) for each in values)):
        return value or UNKNOWN
    return better(value, followed(full, source))


def _of(function: nodes.FuncDef) -> classes.Known | None:
    declared = get_proper_type(function.type)
    if not isinstance(declared, CallableType):
        return None
    if function.info:
        signature = classes.method(function.info, function.name)
        return None if signature is None else (f"{function.info.name}.{function.name}", signature, declared)
    signature = classes.function_signature(declared)
    return None if signature is None else (function.name, signature, declared)


def better(promised: Value, found: Value) -> Value:
    """What annotations promise, with the sizes that they leave open as they were found."""
    match promised, found:
        case Array(), Array() if (
            promised.flow.shape and found.flow.shape and len(promised.flow.shape) == len(found.flow.shape)
        ):
            pairs = zip(promised.flow.axes or (), found.flow.axes or (), strict=True)
            axes = tuple(b if a.size is None else a for a, b in pairs)
            return replace(promised, flow=replace(promised.flow, axes=axes), kind=promised.kind or found.kind)
        case _:
            return found if promised is UNKNOWN else promised


def member(call: Call, owner: Layer | Pack | Reference) -> Value:
    """``object.name`` that its class defines: a property's value, a method."""
    info = owner.node if isinstance(owner, Reference) else class_of(call.context, owner)
    node = classes.member(info, call.name) if isinstance(info, nodes.TypeInfo) else None
    if isinstance(node, nodes.OverloadedFuncDef) and node.is_property:
        node = node.items[0]
    decorators = node.original_decorators if isinstance(node, nodes.Decorator) else []
    function = node.func if isinstance(node, nodes.Decorator) else node
    if not isinstance(function, nodes.FuncDef) or not call.context.scope.keeps_signature(function):
        return UNKNOWN
    if function.is_property or any(
        syntax.last_name(syntax.expression(each)) == "cached_property" for each in decorators
    ):
        return method(replace(call, receiver=owner), function) if not isinstance(owner, Reference) else UNKNOWN
    bound = not isinstance(owner, Reference) or function.is_class or function.is_static
    return Partial(Reference(function), (owner,)) if bound else Reference(function)


def at_hand(context: Context, function: nodes.FuncDef) -> Function | None:
    """A function whose source can be read; None where it gives something else than its body does."""
    if function.info and _overridden(context, function.info, function.name):
        return None
    plain = not (function.is_conditional or function.is_generator or function.is_coroutine or function.abstract_status)
    made = context.scope.source(function) if plain and context.scope.keeps_signature(function) else None
    return None if made is None else Function(function.name, module_of(function), made.args, made.body, {}, function)


def _overridden(context: Context, info: nodes.TypeInfo, name: str) -> bool:
    """Whether a class that derives from this one has a method of the same name: self may be one of it. The class may
    stand in the module that is checked, or with this one.
    """
    scope = context.scope
    trees = [scope.api.modules.get(info.module_name), scope.api.tree if scope.follows else None]
    symbols = [each.node for tree in trees if tree is not None for each in tree.names.values()]
    return any(isinstance(each, nodes.TypeInfo) and info in each.mro[1:] and name in each.names for each in symbols)


def followed(call: Call, function: Function) -> Value:
    """What a function returns for these arguments."""
    context, key = call.context, id(function.body)
    cache = context.scope.cache
    cache.calls += 1
    if call.spread or context.under.count(key) >= _SAME_FUNCTION or cache.spent:
        leave(None, None)
        return UNKNOWN
    operands = (function.body, *call.arguments, *call.keywords, *call.keywords.values())
    return context.cached(("followed", id(call.node), key), operands, lambda: _evaluated(call, function))


def _evaluated(call: Call, function: Function) -> Value:
    inner = call.context.inside(function.module, id(function.body), call.context.names)
    inner.scope.running = "" if _at_hand(function) else function.name
    receiver = (
        call.arguments[0]
        if call.arguments and [each.arg for each in function.parameters.args[:1]] == ["self"]
        else UNKNOWN
    )
    inner.own = receiver if isinstance(receiver, Layer) else None
    info = class_of(call.context, receiver) if isinstance(receiver, Layer) else None
    inner.assigned = frozenset() if info is None else classes.assigned(info)
    env = function.env | bound(inner, function.parameters, call, set())
    value = (
        inner.evaluate(function.body, env)
        if isinstance(function.body, ast.expr)
        else inner.returned(function.body, env)
    )
    passed_on(call, inner, lambda: _faults(call.context, function))
    return value


def _faults(context: Context, function: Function) -> frozenset[int]:
    """The nodes that are refused in a function, whoever calls it: they are reported in its own module."""
    if _at_hand(function):
        return context.scope.cache.faults(function.node) if isinstance(function.node, nodes.FuncDef) else frozenset()
    inner = context.inside(function.module, id(function.body))
    env = function.env | bound(inner, function.parameters, None, set())
    if "self" in env and isinstance(function.node, nodes.FuncDef) and function.node.info:
        env["self"] = symbolic(context, function.node.info)
    inner.outcome(_statements_of(function), env)
    return frozenset(id(node) for _, node in inner.scope.complaints)


def _at_hand(function: Function) -> bool:
    """Whether a function stands in the module that is checked."""
    body = function.body
    return syntax.origin(body if isinstance(body, ast.expr) else body[0]) is not None


def _statements_of(function: Function) -> Sequence[ast.stmt]:
    """The body of a function; of a lambda what it returns."""
    body = function.body
    return [ast.Return(value=body)] if isinstance(body, ast.expr) else body


def only_reads(context: Context, function: Value) -> bool:
    """Whether a function, or a constructor, changes and keeps none of its arguments."""
    match function:
        case Function(parameters=parameters):
            statements = _statements_of(function)
            names = {each.arg for each in [*parameters.args, *parameters.kwonlyargs]}
            return not names & {*changes.changed(statements), *changes.handed_on(statements)}
        case Reference(node=nodes.FuncDef() as node):
            source = at_hand(context, node)
            return source is not None and only_reads(context, source)
        case Reference(node=nodes.TypeInfo() as info):
            return only_reads(context, Reference(classes.member(info, "__init__")))
        case Partial(function=inner):
            return only_reads(context, inner)
        case _:
            return False


def called(call: Call) -> Value:
    """The result of a function of which only the annotations are known."""
    return annotated(call) or UNKNOWN


def annotated(call: Call, function: nodes.FuncDef | None = None) -> Value | None:
    """The result that annotations promise; None where an argument does not fit, which is reported."""
    named_signature = call.context.scope.signature(call.node)
    if named_signature is None and function is not None and call.context.scope.keeps_signature(function):
        named_signature = _of(function)  # where mypy did not tell: in a function that is followed
    if named_signature is None:
        return UNKNOWN
    if call.spread:
        call = replace(call, arguments=call.arguments[: call.certain])
    name, signature, declared = named_signature
    parameters, receiver = signature["parameters"], call.receiver
    method = isinstance(call.node, ast.Call) and isinstance(call.node.func, ast.Attribute)
    bound = not isinstance(receiver, Reference) if method else name.endswith(".__call__")
    # no name: before /
    if parameters and parameters[0][0] in ("self", "cls", "") and (bound or parameters[0][0] == "cls"):
        parameters = parameters[1:]
    matched = list(_matched(call, parameters))
    given = {parameter: argument for argument, _, parameter, _ in matched}
    unifier = Unifier(
        lookup(receiver.attributes if isinstance(receiver, Layer) else {}, given), call.context.comparison()
    )
    for argument, at, parameter, alternatives in matched:
        if not isinstance(argument, Array) or not alternatives:
            if alternatives and argument != Constant(None):
                leave(None, None)
            continue
        several = alternatives if len(alternatives) > 1 else []
        fitting = [text for kind, text, _ in several if _would_fit(call, unifier, kind, text, argument)]
        if not fitting:
            kind, text, _ = alternatives[0]
            if not same_precision(kind, argument.kind):
                call.complain(f"{name}: {parameter} expects {kind}, gets {argument.kind}", at)
                return None
            if not fits(call.context, unifier, f"{name}: {parameter}: ", text, argument, at):
                return None
        elif len(fitting) == 1:
            bind(call.context, unifier, fitting[0], argument)
    if declared is not None:
        types = dict(zip((each.lstrip("=") for each, _ in signature["parameters"]), declared.arg_types, strict=False))
        for argument, at, parameter, alternatives in matched:
            inside = None if alternatives else types.get(parameter)
            wrong = None if inside is None else misfit_inside(call.context, unifier, inside, argument, at)
            if wrong is not None:
                call.complain(f"{name}: {parameter}{wrong.place}: {wrong.how}", at)
                return None
    return _results(call, unifier, signature, declared)


def _results(call: Call, unifier: Unifier, signature: classes.Signature, declared: CallableType | None) -> Value:
    """What the annotation of a result says: by its strings, and by the type that has them inside, as in a list."""
    results = [_result(call, unifier, alternatives) for alternatives in signature["result"]]
    value = results[0] if len(results) == 1 else Pack(tuple(results), frozen=True)
    if declared is None or not classes.holds_arrays(declared.ret_type):
        return value if any(signature["result"]) else UNKNOWN
    inside = value_of(declared.ret_type, partial(_result, call, unifier))
    match value, inside:
        case Pack(items=ones, fields=()), Pack(items=others) if len(ones) == len(others):
            pairs = zip(ones, others, strict=True)
            return replace(inside, items=tuple(other if one is UNKNOWN else one for one, other in pairs))
        case Array(), _:
            return value
        case _:
            return inside


def _result(call: Call, unifier: Unifier, alternatives: Alternatives) -> Value:
    if len(alternatives) != 1:
        return UNKNOWN
    kind, text, library = alternatives[0]
    return result(call.context, unifier, text, kind, library or "numpy")


def _would_fit(call: Call, unifier: Unifier, kind: str, text: str, argument: Array) -> bool:
    trial = deepcopy(unifier)
    bind(call.context, trial, text, argument)
    return not trial.mismatches and same_precision(kind, argument.kind)


def _matched(
    call: Call, parameters: Sequence[tuple[str, Alternatives]]
) -> Iterator[tuple[Value, ast.AST, str, Alternatives]]:
    """Each argument, its node, and its parameter: by position, by name, by ``*`` or ``**``."""
    positional = [each for each in parameters if not each[0].startswith(("*", "="))]
    stars: Mapping[str, Alternatives] = {
        name[: name.count("*")]: alternatives for name, alternatives in parameters if name.startswith("*")
    }
    named = {name.lstrip("="): alternatives for name, alternatives in parameters if not name.startswith("*")}
    nodes = call.node.args if isinstance(call.node, ast.Call) else []
    values = {each.arg: each.value for each in call.node.keywords} if isinstance(call.node, ast.Call) else {}
    for place, argument in enumerate(call.arguments):
        name, alternatives = positional[place] if place < len(positional) else ("*", stars.get("*", []))
        yield argument, nodes[place] if place < len(nodes) else call.node, name, alternatives
    for name, argument in call.keywords.items():
        yield argument, values.get(name, call.node), name, named.get(name, stars.get("**", []))
