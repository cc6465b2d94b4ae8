"""What statements assign, change in place, pass on and copy."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from typednn.mypy_plugin.syntax import last_name, of_self, walk

MUTATORS = (
    "append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "setdefault", "popitem", "__setitem__",
)  # fmt: skip


def targets(node: ast.AST) -> list[ast.expr]:
    """The targets that a statement or an expression assigns, or changes in place."""
    match node:
        case ast.Assign() | ast.Delete():
            return node.targets
        case ast.For() | ast.NamedExpr() | ast.AugAssign():
            return [node.target]
        case ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name):
            return [ast.Name(id=name)]
        case ast.withitem() if node.optional_vars is not None:
            return [node.optional_vars]
        case ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute() as receiver, attr=name)) if (
            name in MUTATORS
        ):
            return [receiver]
        case ast.Call(
            func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__setattr__"), args=[name, _]
        ):
            return [ast.Attribute(value=ast.Name(id="self"), attr=_word(name))]
        case ast.Call(func=function, args=[ast.Constant(value=str()) as path, *_]) if last_name(function) in _SETTERS:
            return [ast.Attribute(value=path, attr=_word(path))]  # monkeypatch.setattr("sizes.WIDTH", 8)
        case ast.Call(func=function, args=[first, name, *_]) if last_name(function) in _SETTERS:
            return [first, ast.Attribute(value=first, attr=_word(name))]
        case _:
            return []


_SETTERS = ("setattr", "delattr", "__setattr__", "__delattr__")


def _word(name: ast.expr) -> str:
    """The attribute that a string names, perhaps with the objects that it is an attribute of."""
    return str(name.value).rpartition(".")[2] if isinstance(name, ast.Constant) else ""


def changed(body: Iterable[ast.stmt]) -> Iterator[str]:
    """The names and the attributes of self that statements assign or change in place, once for each time."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield statement.name
        for part in _changed_parts(statement):
            if isinstance(part, ast.Name) and part.id != "self":
                yield part.id
            elif of_self(part):
                yield f"self.{part.attr}"


def unsteady(body: Iterable[ast.stmt]) -> set[str]:
    """The names that hold more than one value: what a function kept of them may be another one when it is called."""
    statements = list(body)
    nodes = [node for each in statements for node in walk(each)]
    often = {name for name, times in Counter(changed(statements)).items() if times > 1}
    in_turns = [node for node in nodes if isinstance(node, ast.For | ast.While)]
    parts = [part for node in nodes if isinstance(node, ast.comprehension) for part in walk(node.target)]
    return often | {*changed(in_turns)} | {part.id for part in parts if isinstance(part, ast.Name)}


def rebound(body: Iterable[ast.stmt], outward: type[ast.Global | ast.Nonlocal]) -> frozenset[str]:
    """The names that functions inside declare global, or nonlocal: they may change whenever one is called."""
    nodes = (node for each in body for node in walk(each))
    return frozenset(name for node in nodes if isinstance(node, outward) for name in node.names)


IN_PLACE = ("shape", "dtype", "strides")  # what can be assigned of an array


# Methods that set the shape of an array in place.
RESHAPING = frozenset(
    (
        "resize",
        *(
            f"{name}_"
            for name in ["resize", "resize_as", "unsqueeze", "squeeze", "t", "transpose", "swapaxes", "swapdims", "set"]
        ),
    )
)


def reshapes(body: Iterable[ast.stmt]) -> bool:
    """Whether statements set the shape of some array in place."""
    statements = list(body)
    nodes = (
        node for each in statements for node in walk(each) if isinstance(node, ast.Attribute) and node.attr in RESHAPING
    )
    named = any(not (isinstance(each.value, ast.Name) and each.value.id in ("np", "numpy")) for each in nodes)
    return named or bool(assigned(statements).intersection(IN_PLACE))


_LATER = (ast.FunctionDef, ast.Lambda, ast.GeneratorExp)  # what stands in them runs at some time, perhaps several times
_READING = ("get", "items", "keys", "values", "index", "count", "copy")  # methods of containers that change nothing


def within_functions(body: Iterable[ast.stmt]) -> set[str]:
    """The names whose lists and dicts the functions inside may change, whenever one is called."""
    inner = [node for each in body for node in walk(each) if isinstance(node, _LATER)]
    return {name for each in inner for name in _reached(each)}


def _reached(function: ast.AST) -> Iterator[str]:
    for node in walk(function):
        parts = [each for each in (*targets(node), *_values_passed(node)) if each is not None]
        if isinstance(node, ast.Call) and last_name(node) in _READERS:
            parts = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr not in _READING:
            parts.append(node.func.value)
        if isinstance(node, ast.Attribute) and node.attr in MUTATORS:
            parts.append(node.value)
        yield from (part.id for each in parts for part in walk(each) if isinstance(part, ast.Name))


def _changed_parts(statement: ast.stmt) -> Iterator[ast.AST]:
    return (part for node in walk(statement) for target in targets(node) for part in walk(target))


def assigned(body: Iterable[ast.stmt], *, others: bool = False) -> set[str]:
    """The attributes that statements assign or change in place; with ``others``, on anything but self (``net.head =
    …``).
    """
    parts = (part for each in body for part in _changed_parts(each))
    return {part.attr for part in parts if isinstance(part, ast.Attribute) and not (others and of_self(part))}


def called_on_self(body: Iterable[ast.stmt]) -> set[str]:
    """The methods of self that statements call."""
    called = (node.func for each in body for node in walk(each) if isinstance(node, ast.Call))
    return {function.attr for function in called if of_self(function)}


def passed_on(body: Iterable[ast.stmt]) -> set[str]:
    """The attributes of self that statements pass on or store elsewhere: a list may then be changed there. Python's own
    functions such as ``zip`` and ``len`` only read it.
    """
    nodes = (node for each in body for node in walk(each) if not _reads(node))
    return {value.attr for node in nodes for value in _values_passed(node) if value is not None and of_self(value)}


def _reads(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _READERS


_READERS = (
    "len", "zip", "enumerate", "range", "sum", "list", "tuple", "reversed", "min", "max", "pairwise", "map", "sorted",
    "all", "any", "print", "isinstance", "prod",
)  # fmt: skip


def handed_on(body: Iterable[ast.stmt]) -> set[str]:
    """The names that statements pass on or store elsewhere, as `passed_on` the attributes."""
    parts = (
        node for each in body for node in walk(each) if not (isinstance(node, ast.Call) and last_name(node) in _READERS)
    )
    return {value.id for node in parts for value in _values_passed(node) if isinstance(value, ast.Name)}


def _values_passed(node: ast.AST) -> Sequence[ast.expr | None]:
    match node:
        case ast.Assign() | ast.Return() | ast.NamedExpr():
            return [node.value]
        case ast.Call():
            return [*node.args, *(each.value for each in node.keywords)]
        case ast.List() | ast.Tuple():
            return node.elts
        case _:
            return ()


def copied(body: Iterable[ast.stmt]) -> set[str]:
    """The names whose value some assignment or loop gives to another name."""
    assignments = (
        node for each in body for node in walk(each) if isinstance(node, ast.Assign | ast.NamedExpr | ast.For)
    )
    values = (node.iter if isinstance(node, ast.For) else node.value for node in assignments)
    return {name for value in values for name in _names_in(value)}


def _names_in(value: ast.expr) -> list[str]:
    match value:
        case ast.Name(id=name):
            return [name]
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return [name for element in elements for name in _names_in(element)]
        case ast.IfExp(body=body, orelse=orelse):
            return _names_in(body) + _names_in(orelse)
        case _:
            return []
