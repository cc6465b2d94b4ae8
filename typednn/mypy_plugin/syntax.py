"""From mypy's syntax tree to Python's own, which everything else here reads.

Constructors of layers are kept in mypy's cache as text, and function bodies are followed while mypy checks them: both
become `ast` nodes, so that one evaluator serves both. What has no meaning for sizes becomes ``...``, the unknown. A
call, an operator or a name that comes from a body remembers the node it was made from in ``origin``.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeGuard, TypeVar

from mypy import nodes
from mypy import patterns as mypy_patterns
from mypy.types import RawExpressionType, TupleType, Type, UnboundType, UnionType

from typednn.errors import DefinitionError
from typednn.shapes import rank

Definition = TypeVar("Definition", ast.FunctionDef, ast.ClassDef)

_OPERATORS: dict[str, type[ast.operator]] = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod, "**": ast.Pow,
    "@": ast.MatMult, ">>": ast.RShift, "<<": ast.LShift, "&": ast.BitAnd, "|": ast.BitOr, "^": ast.BitXor,
}  # fmt: skip
_COMPARISONS: dict[str, type[ast.cmpop]] = {
    "==": ast.Eq, "!=": ast.NotEq, "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE,
    "is": ast.Is, "is not": ast.IsNot, "in": ast.In, "not in": ast.NotIn,
}  # fmt: skip
_UNARY: dict[str, type[ast.unaryop]] = {"-": ast.USub, "+": ast.UAdd, "not": ast.Not, "~": ast.Invert}
_CAPTURES = ("pattern", "patterns", "positionals", "keyword_values", "values", "keys")


def origin(node: ast.AST) -> Any:
    """The mypy node that this one was made from, or None."""
    return getattr(node, "origin", None)


def _unknown() -> ast.expr:
    return ast.Constant(value=...)


def _name(name: str) -> ast.Name:
    return ast.Name(id=name, ctx=ast.Load())


# ------------------------------------------------------------------ expressions


def expression(node: nodes.Expression) -> ast.expr:
    """The same expression, ``...`` in place of what no size can depend on."""
    made = _expression(node)
    made.origin = node  # type: ignore[attr-defined]
    return made


def _expression(node: nodes.Expression) -> ast.expr:
    match node:
        case nodes.IntExpr() | nodes.StrExpr() | nodes.FloatExpr():
            return ast.Constant(value=node.value)
        case nodes.NameExpr():
            return (
                ast.Constant(value={"True": True, "False": False, "None": None}[node.name]) if node.name in _CONSTANTS else _name(node.name)
            )
        case nodes.SuperExpr():
            return ast.Attribute(value=ast.Call(func=_name("super"), args=[], keywords=[]), attr=node.name, ctx=ast.Load())
        case nodes.MemberExpr():
            return ast.Attribute(value=expression(node.expr), attr=node.name, ctx=ast.Load())
        case nodes.IndexExpr():
            return ast.Subscript(value=expression(node.base), slice=expression(node.index), ctx=ast.Load())
        case nodes.SliceExpr():
            ends = [None if end is None else expression(end) for end in (node.begin_index, node.end_index, node.stride)]
            return ast.Slice(lower=ends[0], upper=ends[1], step=ends[2])
        case nodes.CallExpr() if isinstance(node.analyzed, nodes.RevealExpr | nodes.CastExpr | nodes.AssertTypeExpr):
            return _expression(node.analyzed)
        case nodes.CallExpr():
            return _call(node)
        case nodes.RevealExpr() if node.expr is not None:
            return ast.Call(func=_name("reveal_type"), args=[expression(node.expr)], keywords=[])
        case nodes.CastExpr() | nodes.AssertTypeExpr():
            return expression(node.expr)
        case nodes.OpExpr() if node.op in ("and", "or"):
            return ast.BoolOp(op=ast.And() if node.op == "and" else ast.Or(), values=[expression(node.left), expression(node.right)])
        case nodes.OpExpr() if node.op in _OPERATORS:
            return ast.BinOp(left=expression(node.left), op=_OPERATORS[node.op](), right=expression(node.right))
        case nodes.UnaryExpr() if node.op in _UNARY:
            return ast.UnaryOp(op=_UNARY[node.op](), operand=expression(node.expr))
        case nodes.ComparisonExpr():
            first, *others = map(expression, node.operands)
            return ast.Compare(left=first, ops=[_COMPARISONS[op]() for op in node.operators], comparators=others)
        case nodes.ConditionalExpr():
            return ast.IfExp(test=expression(node.cond), body=expression(node.if_expr), orelse=expression(node.else_expr))
        case nodes.TupleExpr():
            return ast.Tuple(elts=list(map(expression, node.items)), ctx=ast.Load())
        case nodes.ListExpr():
            return ast.List(elts=list(map(expression, node.items)), ctx=ast.Load())
        case nodes.DictExpr():
            keys = [None if key is None else expression(key) for key, _ in node.items]
            return ast.Dict(keys=keys, values=[expression(value) for _, value in node.items])
        case nodes.StarExpr():
            return ast.Starred(value=expression(node.expr), ctx=ast.Load())
        case nodes.AssignmentExpr():
            return ast.NamedExpr(target=_name(node.target.name), value=expression(node.value))
        case nodes.ListComprehension():
            return ast.ListComp(elt=expression(node.generator.left_expr), generators=_generators(node.generator))
        case nodes.GeneratorExpr():
            return ast.GeneratorExp(elt=expression(node.left_expr), generators=_generators(node))
        case nodes.LambdaExpr():
            return ast.Lambda(args=_parameters(node.arguments), body=_unknown())
        case _:
            return _unknown()


_CONSTANTS = ("True", "False", "None")


def _call(node: nodes.CallExpr) -> ast.expr:
    arguments: list[ast.expr] = []
    keywords: list[ast.keyword] = []
    for kind, name, argument in zip(node.arg_kinds, node.arg_names, node.args, strict=True):
        value = expression(argument)
        if kind == nodes.ARG_STAR:
            arguments.append(ast.Starred(value=value, ctx=ast.Load()))
        elif kind == nodes.ARG_STAR2 or kind.is_named():
            keywords.append(ast.keyword(arg=name, value=value))
        else:
            arguments.append(value)
    return ast.Call(func=expression(node.callee), args=arguments, keywords=keywords)


def _generators(node: nodes.GeneratorExpr) -> list[ast.comprehension]:
    return [
        ast.comprehension(target=expression(index), iter=expression(sequence), ifs=list(map(expression, conditions)), is_async=0)
        for index, sequence, conditions in zip(node.indices, node.sequences, node.condlists, strict=True)
    ]


# ------------------------------------------------------------------ statements


def block(statements: Iterable[nodes.Statement]) -> list[ast.stmt]:
    """Statements one by one; what mypy knows to be unreachable is left out."""
    found: list[ast.stmt] = []
    for statement in statements:
        for made in _statement(statement):
            made.origin = statement  # type: ignore[attr-defined]
            found.append(made)
    return found


def _body(body: nodes.Block | None) -> list[ast.stmt]:
    return [] if body is None or body.is_unreachable else block(body.body) or [ast.Pass()]


def _statement(node: nodes.Statement) -> list[ast.stmt]:
    match node:
        case nodes.AssignmentStmt():
            if isinstance(node.rvalue, nodes.TempNode):
                return []  # a declaration without a value
            return [ast.Assign(targets=list(map(expression, node.lvalues)), value=expression(node.rvalue))]
        case nodes.OperatorAssignmentStmt():
            value = ast.BinOp(left=expression(node.lvalue), op=_OPERATORS.get(node.op, ast.BitAnd)(), right=expression(node.rvalue))
            return [ast.Assign(targets=[expression(node.lvalue)], value=value)]
        case nodes.ExpressionStmt():
            return [ast.Expr(value=expression(node.expr))]
        case nodes.ReturnStmt():
            return [ast.Return(value=None if node.expr is None else expression(node.expr))]
        case nodes.IfStmt():
            return _if(node, 0)
        case nodes.WhileStmt():
            return [ast.While(test=expression(node.expr), body=_body(node.body), orelse=_body(node.else_body))]
        case nodes.ForStmt():
            target, sequence = expression(node.index), expression(node.expr)
            return [ast.For(target=target, iter=sequence, body=_body(node.body), orelse=_body(node.else_body))]
        case nodes.WithStmt():
            items = [
                ast.withitem(context_expr=expression(value), optional_vars=None if target is None else expression(target))
                for value, target in zip(node.expr, node.target, strict=True)
            ]
            return [ast.With(items=items, body=_body(node.body))]
        case nodes.TryStmt():
            handlers = [
                ast.ExceptHandler(type=None, name=None if name is None else name.name, body=_body(body))
                for name, body in zip(node.vars, node.handlers, strict=True)
            ]
            return [ast.Try(body=_body(node.body), handlers=handlers, orelse=_body(node.else_body), finalbody=_body(node.finally_body))]
        case nodes.MatchStmt():
            return _match(node)
        case nodes.Block():
            return _body(node)
        case nodes.RaiseStmt():
            return [ast.Raise()]
        case nodes.BreakStmt():
            return [ast.Break()]
        case nodes.ContinueStmt():
            return [ast.Continue()]
        case nodes.DelStmt():
            return [ast.Assign(targets=[expression(node.expr)], value=_unknown())]
        case nodes.GlobalDecl() | nodes.NonlocalDecl():
            return [ast.Assign(targets=[_name(name) for name in node.names], value=_unknown())]
        case nodes.Decorator():
            return _statement(node.func)
        case nodes.FuncDef():
            return [_function(node)]
        case nodes.ClassDef():
            return [_typed(ast.ClassDef(name=node.name, bases=[], keywords=[], body=_body(node.defs), decorator_list=[]))]
        case nodes.AssertStmt():
            return [ast.Expr(value=expression(node.expr))]
        case _:
            return []


def _if(node: nodes.IfStmt, place: int) -> list[ast.stmt]:
    if place == len(node.expr):
        return _body(node.else_body)
    rest = _if(node, place + 1)
    if node.body[place].is_unreachable:
        return rest
    return [ast.If(test=expression(node.expr[place]), body=_body(node.body[place]), orelse=rest)]


def _match(node: nodes.MatchStmt) -> list[ast.stmt]:
    """Any of the bodies, or none; names that patterns capture are unknown."""
    chain: list[ast.stmt] = []
    for pattern, body in zip(reversed(node.patterns), reversed(node.bodies), strict=True):
        captured: list[ast.stmt] = [ast.Assign(targets=[_name(name)], value=_unknown()) for name in _captured(pattern)]
        chain = [ast.If(test=_unknown(), body=captured + _body(body), orelse=chain)]
    return chain


def _captured(pattern: Any) -> list[str]:
    names = [found.name for key in ("name", "capture", "rest") if isinstance(found := getattr(pattern, key, None), nodes.NameExpr)]
    for key in _CAPTURES:
        inner: Any = getattr(pattern, key, None)
        names += [name for each in listed(inner) if isinstance(each, mypy_patterns.Pattern) for name in _captured(each)]
    return names


def listed(inner: Any) -> list[Any]:
    """A list as it is, one thing as a list of one."""
    several: list[Any] = [*inner] if isinstance(inner, list | tuple) else [inner]
    return several


# ------------------------------------------------------------------ functions


def _parameters(arguments: list[nodes.Argument]) -> ast.arguments:
    positional = [each for each in arguments if each.kind in (nodes.ARG_POS, nodes.ARG_OPT)]
    keyword = [each for each in arguments if each.kind in (nodes.ARG_NAMED, nodes.ARG_NAMED_OPT)]
    star = next((each for each in arguments if each.kind == nodes.ARG_STAR), None)
    star2 = next((each for each in arguments if each.kind == nodes.ARG_STAR2), None)
    return ast.arguments(
        posonlyargs=[],
        args=list(map(_parameter, positional)),
        vararg=None if star is None else ast.arg(arg=star.variable.name),
        kwonlyargs=list(map(_parameter, keyword)),
        kw_defaults=[None if each.initializer is None else expression(each.initializer) for each in keyword],
        kwarg=None if star2 is None else ast.arg(arg=star2.variable.name),
        defaults=[expression(each.initializer) for each in positional if each.initializer is not None],
    )


def _parameter(argument: nodes.Argument) -> ast.arg:
    declared = argument.type_annotation
    whole = isinstance(declared, UnboundType) and declared.name == "int" and not declared.args
    return ast.arg(arg=argument.variable.name, annotation=_name("int") if whole else None)


def constructor(function: nodes.FuncDef) -> str:
    """``__init__`` as text, to be kept in mypy's cache and evaluated for each instance."""
    return ast.unparse(ast.fix_missing_locations(_function(function)))


def _function(function: nodes.FuncDef) -> ast.FunctionDef:
    body = block(function.body.body) or [ast.Pass()]
    return _typed(ast.FunctionDef(name=function.name, args=_parameters(function.arguments), body=body, decorator_list=[]))


def _typed(made: Definition) -> Definition:
    vars(made)["type_params"] = []  # Python 3.12 wants them
    return made


def functions(body: nodes.Block) -> dict[str, nodes.FuncDef]:
    """The functions that a class body defines; of overloaded ones the implementation."""
    found: dict[str, nodes.FuncDef] = {}
    for statement in body.body:
        if isinstance(statement, nodes.OverloadedFuncDef):
            statement = statement.impl or statement
        if isinstance(statement, nodes.Decorator):
            statement = statement.func
        if isinstance(statement, nodes.FuncDef):
            found[statement.name] = statement
    return found


# ------------------------------------------------------------------ what changes


MUTATORS = ("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "setdefault", "popitem", "__setitem__")


def targets(node: ast.AST) -> list[ast.expr]:
    """What a statement or an expression assigns, or changes in place."""
    match node:
        case ast.Assign():
            return node.targets
        case ast.For() | ast.NamedExpr():
            return [node.target]
        case ast.withitem() if node.optional_vars is not None:
            return [node.optional_vars]
        case ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute() as receiver, attr=name)) if name in MUTATORS:
            return [receiver]
        case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[first, ast.Constant(value=str() as name), *_]):
            return [first, ast.Attribute(value=first, attr=name)]
        case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[first, *_]):
            return [first]
        case _:
            return []


def changed(body: Iterable[ast.stmt]) -> Iterator[str]:
    """The names and the attributes of self that statements assign or change in place, once for each time."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield statement.name
        for node in ast.walk(statement):
            for each in (part for target in targets(node) for part in ast.walk(target)):
                if isinstance(each, ast.Name) and each.id != "self":
                    yield each.id
                elif of_self(each):
                    yield f"self.{each.attr}"


def of_self(node: ast.AST) -> TypeGuard[ast.Attribute]:
    """Whether this is ``self.name``."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def assigned(body: Iterable[ast.stmt], *, others: bool = False) -> set[str]:
    """The attributes that statements assign or change in place; with ``others``, on anything but self (``net.head = …``)."""
    parts = (part for each in body for node in ast.walk(each) for target in targets(node) for part in ast.walk(target))
    return {part.attr for part in parts if isinstance(part, ast.Attribute) and not (others and of_self(part))}


def handed(body: Iterable[ast.stmt]) -> set[str]:
    """The attributes of self that statements hand on: who then holds a list may change it."""
    names: set[str] = set()
    for node in (node for each in body for node in ast.walk(each)):
        given: list[ast.expr | None] = []
        match node:
            case ast.Assign() | ast.Return() | ast.NamedExpr():
                given = [node.value]
            case ast.Call():
                given = [*node.args, *(each.value for each in node.keywords)]
            case ast.List() | ast.Tuple():
                given = list(node.elts)
            case _:
                pass
        names |= {each.attr for each in given if each is not None and of_self(each)}
    return names


def copied(body: Iterable[ast.stmt]) -> set[str]:
    """The names whose value some assignment or loop hands to another name."""
    nodes_within = [node for each in body for node in ast.walk(each)]
    values = [node.value for node in nodes_within if isinstance(node, ast.Assign | ast.NamedExpr)]
    return {name for value in (*values, *(node.iter for node in nodes_within if isinstance(node, ast.For))) for name in _bare(value)}


def _bare(value: ast.expr) -> Iterable[str]:
    match value:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from _bare(element)
        case ast.IfExp(body=body, orelse=orelse):
            yield from _bare(body)
            yield from _bare(orelse)
        case _:
            pass


# ------------------------------------------------------------------ annotations


# One annotated array is [kind, text]: ["Float", "batch 10"]. Several are alternatives. None says nothing about sizes.
Alternatives = list[list[str]]


Aliases = Mapping[str, Alternatives]
# jaxtyping's words. Any other type with a string in it (Literal, dict, Annotated) says nothing about arrays.
KINDS = frozenset(
    [
        "Float",
        "Float16",
        "Float32",
        "Float64",
        "BFloat16",
        "Int",
        "Int8",
        "Int16",
        "Int32",
        "Int64",
        "UInt",
        "UInt8",
        "UInt16",
        "UInt32",
        "UInt64",
        "Integer",
        "Bool",
        "Num",
        "Real",
        "Inexact",
        "Complex",
        "Complex64",
        "Complex128",
        "Shaped",
    ]
)
_THROUGH = ("Parameter", "Buffer", "Kept", "Optional", "Union", "Final", "ClassVar")


def annotation(declared: Type | None, aliases: Aliases = MappingProxyType({})) -> Alternatives:
    """What an annotation says about arrays: ``Float[Array2, "batch 10"] | None`` is [["Float", "batch 10"]].

    A string with another number of axes than its array type has is an error of its own, and says nothing.
    """
    match declared:
        case UnionType(items=items):
            return [each for item in items for each in annotation(item, aliases)]
        case UnboundType(args=[array, text]) if _kind(declared) in KINDS and (said := text_of(text)) is not None:
            kind = _kind(declared)
            return [] if rank_error(array, said) is not None else [[kind, said]]
        case UnboundType(name=name, args=args) if name.rpartition(".")[2] in _THROUGH:
            return [each for argument in args for each in annotation(argument, aliases)]
        case UnboundType(name=name, args=()):
            return list(aliases.get(name, []))
        case _:
            return []


def inner_contract(declared: Type | None) -> str:
    """``batch *shape -> batch *shape`` of ``Layer[In, In, G, Literal[…]]``, or of a tuple of such: how a wrapper uses a field's layers."""
    match declared:
        case UnboundType(args=[*_, UnboundType(args=[literal]) as last]) if _kind(last) == "Literal" and " -> " in (text_of(literal) or ""):
            return text_of(literal) or ""
        case UnboundType(args=[UnboundType() as first, *_]):
            return inner_contract(first)
        case _:
            return ""


def _kind(declared: UnboundType) -> str:
    return declared.name.rpartition(".")[2]


def rank_error(array: Type, text: str) -> str | None:
    """``Array2 promises 2 axes`` where the string has another number, or is none that can be checked."""
    name = array.name.rpartition(".")[2] if isinstance(array, UnboundType) else ""
    promised = re.fullmatch(r"(?:Int)?Array(\d)", name)
    try:
        written = rank(text)
    except DefinitionError as error:
        return str(error) if promised else ""
    if promised is None or written is None or written == int(promised[1]):
        return None
    cure = f"write Array{written} or name {promised[1]} axes"
    return f"{name} promises {promised[1]} axes, got {written} axes in the string {text!r}; {cure}"


def elements(result: Type) -> Sequence[Type]:
    """The types that a function returns: those of a tuple one by one."""
    match result:
        case TupleType(items=items):
            return items
        case UnboundType(name=name, args=args) if name.rpartition(".")[2] in ("tuple", "Tuple"):
            return args
        case _:
            return [result]


def aliases(statements: Iterable[nodes.Statement]) -> dict[str, Alternatives]:
    """``Images: TypeAlias = Float[Array4, "batch 28 28 1"]`` at the top of a module, by name."""
    found: dict[str, Alternatives] = {}
    for statement in statements:
        if isinstance(statement, nodes.AssignmentStmt) and isinstance(statement.lvalues[0], nodes.NameExpr):
            match statement.rvalue:
                case nodes.IndexExpr(base=nodes.RefExpr() as base, index=nodes.TupleExpr(items=[_, nodes.StrExpr(value=text)])) if (
                    getattr(base, "name", "") in KINDS
                ):
                    found[statement.lvalues[0].name] = [[str(getattr(base, "name", "")), text]]
                case _:
                    pass
    return found


def text_of(declared: Type) -> str | None:
    """The string of an annotation, as mypy's parser left it."""
    if isinstance(declared, RawExpressionType) and isinstance(declared.literal_value, str):
        return declared.literal_value
    if isinstance(declared, UnboundType) and declared.original_str_expr is not None:
        return declared.original_str_expr
    return None
