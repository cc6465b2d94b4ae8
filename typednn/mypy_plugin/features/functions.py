"""Any function or method whose parameters are annotated: its arguments are unified with their axes from left to right."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy

from typednn.mypy_plugin.context import Call
from typednn.mypy_plugin.sizes import fits, result, same_precision
from typednn.mypy_plugin.syntax import Alternatives
from typednn.mypy_plugin.values import UNKNOWN, Array, Layer, Pack, Reference, Value, known, lookup
from typednn.shapes import Unifier, unknown


def called(call: Call) -> Value:
    """The result of such a function."""
    named_signature = call.context.scope.signature(call.node)
    if named_signature is None or call.spread:
        return UNKNOWN
    name, signature = named_signature
    parameters, receiver = signature["parameters"], call.receiver
    method = isinstance(call.node, ast.Call) and isinstance(call.node.func, ast.Attribute)
    bound = method and not isinstance(receiver, Reference)
    if parameters and parameters[0][0] in ("self", "cls") and (bound or parameters[0][0] == "cls"):
        parameters = parameters[1:]
    unifier = Unifier(lookup(receiver.attributes) if isinstance(receiver, Layer) else unknown)
    for argument, at, parameter, alternatives in _matched(call, parameters):
        if not isinstance(argument, Array) or not alternatives:
            continue
        several = alternatives if len(alternatives) > 1 else []
        fitting = [text for kind, text in several if _would_fit(call, unifier, kind, text, argument)]
        if not fitting:
            kind, text = alternatives[0]
            if not same_precision(kind, argument.kind):
                return call.complain(f"{name}: {parameter} expects {kind}, gets {argument.kind}", at)
            if not fits(call.context, unifier, f"{name}: {parameter}: ", text, argument, at):
                return UNKNOWN
        elif len(fitting) == 1:
            unifier.bind(fitting[0], known(argument.flow.shape, call.context.names))
    results = [
        result(call.context, unifier, alternatives[0][1], alternatives[0][0]) if len(alternatives) == 1 else UNKNOWN
        for alternatives in signature["result"]
    ]
    return results[0] if len(results) == 1 else Pack(tuple(results), frozen=True)


def _would_fit(call: Call, unifier: Unifier, kind: str, text: str, argument: Array) -> bool:
    trial = deepcopy(unifier)
    trial.bind(text, known(argument.flow.shape, call.context.names))
    return not trial.mismatches and same_precision(kind, argument.kind)


def _matched(call: Call, parameters: Sequence[tuple[str, Alternatives]]) -> Iterator[tuple[Value, ast.AST, str, Alternatives]]:
    """Each argument, its node, and its parameter: by position, by name, by ``*`` or ``**``."""
    positional = [each for each in parameters if not each[0].startswith(("*", "="))]
    stars: Mapping[str, Alternatives] = {name[: name.count("*")]: alternatives for name, alternatives in parameters if name.startswith("*")}
    named = {name.lstrip("="): alternatives for name, alternatives in parameters if not name.startswith("*")}
    nodes = call.node.args if isinstance(call.node, ast.Call) else []
    values = {each.arg: each.value for each in call.node.keywords} if isinstance(call.node, ast.Call) else {}
    for place, argument in enumerate(call.arguments):
        name, alternatives = positional[place] if place < len(positional) else ("*", stars.get("*", []))
        yield argument, nodes[place] if place < len(nodes) else call.node, name, alternatives
    for name, argument in call.keywords.items():
        yield argument, values.get(name, call.node), name, named.get(name, stars.get("**", []))
