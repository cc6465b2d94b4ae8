"""What is known of a scope that was evaluated, as `facts` has it: sizes, mistakes with their cures, and where sizes are
lost.
"""

import ast
import os
from collections.abc import Iterator
from functools import reduce

from mypy import nodes
from mypy.types import AnyType, CallableType, TupleType, Type, get_proper_type

from typednn.mypy_plugin import changes, facts, libraries, syntax
from typednn.mypy_plugin.body import Body
from typednn.mypy_plugin.values import UNKNOWN, Array, Layer, Pack, Value, join, printed, written_shape
from typednn.shapes import Dim

_COMPUTED = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Subscript, ast.Attribute, ast.Compare, ast.IfExp)


def collect(body: Body) -> None:
    """Put what is known of a scope in place of what was known of it before."""
    if facts.collected is None:
        return
    path = os.path.abspath(body.api.path)
    module = facts.collected.setdefault(path, facts.ModuleFacts(path))
    if body.function is None and body.outer is None:
        module.sizes, module.problems, module.functions = [], [], []
    elif body.function is not None:
        _forget(module, body.function)
    module.sizes += _sizes(body)
    module.problems += [_problem(*each) for each in body.problems]
    function = _function(body)
    if function is not None:
        module.functions.append(function)


def _forget(module: facts.ModuleFacts, function: nodes.FuncDef) -> None:
    """In mypy's daemon a function is checked again by itself."""
    first, last = function.line, function.end_line or function.line
    module.sizes = [each for each in module.sizes if not first <= each.span.line <= last]
    module.problems = [each for each in module.problems if not first <= each.span.line <= last]
    module.functions = [each for each in module.functions if not first <= each.line <= last]


def span(node: nodes.Context) -> facts.Span:
    """The place of one of mypy's nodes."""
    end = (node.end_line or node.line, node.column + 1 if node.end_column is None else node.end_column)
    return facts.Span(node.line, node.column, *end)


def _problem(message: str, node: nodes.Context, cure: tuple[nodes.Context, str] | None) -> facts.Problem:
    if cure is None:
        return facts.Problem(span(node), message)
    argument, new = cure
    old = str(getattr(argument, "value", ""))
    return facts.Problem(span(node), message, facts.Fix(span(argument), old, new, f"Write {new} for {old}"))


# ------------------------------------------------------------------ sizes


def _sizes(body: Body) -> Iterator[facts.Size]:
    for node in _walked(body):
        match node:
            case ast.Assign(targets=[target], value=right):
                yield from _assigned(body, target, body.evaluator.values.get(id(syntax.origin(right)), UNKNOWN))
            case ast.Call():
                value = body.evaluator.values.get(id(syntax.origin(node)), UNKNOWN)
                if (known := shown(value)) is not None:
                    yield facts.Size(
                        span(syntax.origin(node)), "layer" if isinstance(value, Layer) else "call", "", *known
                    )
            case _:
                pass


def _assigned(body: Body, target: ast.expr, value: Value) -> Iterator[facts.Size]:
    match target, value:
        case ((ast.Tuple(elts=targets) | ast.List(elts=targets)), Pack(items=items)) if len(targets) == len(items):
            for each, item in zip(targets, items, strict=True):
                yield from _assigned(body, each, item)
        case ((ast.Name() | ast.Attribute()), _) if (known := shown(value)) is not None and syntax.origin(
            target
        ) is not None:
            yield facts.Size(span(syntax.origin(target)), "assignment", ast.unparse(target), *known)
        case _:
            pass


def shown(value: Value) -> tuple[str, str] | None:
    """Sizes and where they come from; None where nothing is known."""
    match value:
        case Array(open=shape) if shape:
            return printed(written_shape(shape, " ")), ""
        case Array(flow=flow) if flow.axes:
            why = [
                f"{axis.size} = {', '.join(part for part in (axis.how, axis.origin) if part)}"
                for axis in flow.axes
                if axis.how
            ]
            return printed(written_shape(flow.shape, " ")), printed("; ".join(why))
        case Layer() if (contract := value.contract) is not None:
            return printed(contract), ""
        case _:
            return None


# ------------------------------------------------------------------ what is proven


def losses(body: Body) -> list[facts.Loss]:
    """Where something is not proven, in the order of lines.

    The sizes of an array are lost, and nothing that it is computed from lacks any; two sizes are compared, and may be
    equal or not; a parameter is an array of another library.
    """
    found = [loss for _, loss in _computed(body) if loss is not None]
    found += _foreign(body)
    told = {each.span.line for each in found}  # there it is clear why nothing can be compared
    undecided = [(span(node), pair) for node, pair in body.undecided]
    found += [
        facts.Loss(place, _open(*pair)) for place, pair in undecided if pair != (None, None) or place.line not in told
    ]
    return sorted(dict.fromkeys(found), key=lambda each: (each.span.line, each.span.column))


def _open(a: Dim | None, b: Dim | None) -> str:
    """Of a comparison that is not decided."""
    sizes = [printed(str(size)) for size in (a, b) if size is not None]
    match sizes:
        case [first, second]:
            return f"whether {first} is {second} is not known"
        case [only]:
            return f"whether a size is {only} is not known"
        case _:
            return "whether two shapes are equal is not known"


def _foreign(body: Body) -> Iterator[facts.Loss]:
    """Parameters and results with sizes whose types are no arrays that are followed, such as TensorFlow's."""
    if body.function is None or body.annotated is None:
        return
    for argument in body.function.arguments:
        name, declared = argument.variable.name, argument.variable.type
        if body.parameters.get(name) and not libraries.library_of(declared):
            yield facts.Loss(span(argument), f"{name} is not followed: its type is no array of NumPy, PyTorch or JAX")
    result = get_proper_type(body.function.type)
    if isinstance(result, CallableType) and any(body.annotated["result"]) and _plain(get_proper_type(result.ret_type)):
        what = "the result is not followed: its type is no array of NumPy, PyTorch or JAX"
        yield facts.Loss(span(body.function), what)


def _plain(declared: Type) -> bool:
    """Whether a result that has sizes is one value, and no array."""
    several = isinstance(declared, TupleType)
    return not several and not libraries.library_of(declared)


def _computed(body: Body) -> Iterator[tuple[bool, facts.Loss | None]]:
    """Each array that is computed: whether all its sizes are known; where they are not and its operands' are, what was
    lost.
    """
    unknown: set[int] = set()
    statements = (node for node in _walked(body) if isinstance(node, ast.Assign | ast.For))
    assigned = (target for node in statements for target in changes.targets(node))  # and not read
    targets = {id(part) for each in assigned for part in getattr(each, "elts", [each])}
    for node in reversed(list(_walked(body))):  # operands first
        origin = syntax.origin(node)
        if not isinstance(node, _COMPUTED) or id(node) in targets or origin is None:
            continue
        value = body.evaluator.values.get(id(origin), UNKNOWN)
        if not libraries.library_of(body.type_of(origin)) and not _hidden(body, node, value):
            continue
        known = isinstance(value, Array) and value.shape is not None and None not in value.shape
        first = not known and not any(id(each) in unknown for each in syntax.walk(node) if each is not node)
        if not known:
            unknown.add(id(node))
        yield known, facts.Loss(span(origin), f"the sizes of {_short(node)} are not known") if first else None


def _hidden(body: Body, node: ast.expr, value: Value) -> bool:
    """Whether something of type Any may be an array: it is computed from one, and nothing is known of it."""
    declared = get_proper_type(body.type_of(syntax.origin(node)))
    if value is not UNKNOWN or isinstance(node, ast.Attribute) or not isinstance(declared, AnyType):
        return False
    operands = (body.evaluator.values.get(id(syntax.origin(each)), UNKNOWN) for each in ast.iter_child_nodes(node))
    return any(isinstance(each, Array) and each.shape != [] for each in operands)


def _function(body: Body) -> facts.Function | None:
    if body.function is None:
        return None
    known, lost = [each for each, _ in _computed(body)], losses(body)
    if not known and not lost and body.annotated is None:
        return None
    verdict = "proven" if not lost and all(known) and not body.problems else "partly" if any(known) else "unknown"
    name = f"{body.info.name}.{body.function.name}" if body.info is not None else body.function.name
    returned = [each.value for each in _walked(body) if isinstance(each, ast.Return) and each.value is not None]
    values = [body.evaluator.values.get(id(syntax.origin(each)), UNKNOWN) for each in returned]
    result, _ = (shown(reduce(join, values)) if values else None) or ("", "")
    return facts.Function(name, body.function.line, verdict, tuple(lost), result)


def _short(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _walked(body: Body) -> Iterator[ast.AST]:
    """The nodes of a scope, without those of functions in it: they are scopes of their own."""
    waiting: list[ast.AST] = list(reversed(body.statements))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            waiting += reversed(list(ast.iter_child_nodes(node)))
