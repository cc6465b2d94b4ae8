"""Converts mypy's syntax tree to Python's own, which everything else here reads.

Constructors of layers are kept in mypy's cache as text, and function bodies are evaluated while mypy checks them. Both
become `ast` nodes, so that one evaluator serves both. What has no meaning for sizes becomes ``...``, the unknown. A
call, an operator or a name from a body keeps its mypy node in ``origin``.
"""

import ast
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any, TypeGuard, cast

from mypy import nodes
from mypy import patterns as mypy_patterns
from mypy.types import UnboundType

from typednn.mypy_plugin import annotations

OPERATORS: dict[str, type[ast.operator]] = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod, "**": ast.Pow,
    "@": ast.MatMult, ">>": ast.RShift, "<<": ast.LShift, "&": ast.BitAnd, "|": ast.BitOr, "^": ast.BitXor,
}  # fmt: skip
COMPARISONS: dict[str, type[ast.cmpop]] = {
    "==": ast.Eq, "!=": ast.NotEq, "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE,
    "is": ast.Is, "is not": ast.IsNot, "in": ast.In, "not in": ast.NotIn,
}  # fmt: skip
_UNARY: dict[str, type[ast.unaryop]] = {"-": ast.USub, "+": ast.UAdd, "not": ast.Not, "~": ast.Invert}
_CONSTANTS = {"True": True, "False": False, "None": None}
_LOAD = ast.Load()
_NO_TYPE_PARAMETERS: dict[str, Any] = {"type_params": []}  # an attribute that `ast.unparse` of Python 3.12 reads


def origin(node: ast.AST | None) -> Any:
    """The mypy node that this one was made from, or None."""
    return getattr(node, "origin", None)


def _unknown(node: object = None) -> ast.expr:
    return ast.Constant(value=...)


def _name(name: str) -> ast.Name:
    return ast.Name(id=name.rstrip("'"), ctx=_LOAD)  # mypy writes f' for the second of two f


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and all within it, as `ast.walk` without contexts and operators, in a third of its time."""
    found = [node]
    for each in found:
        for name in _PARTS[type(each)]:
            value = getattr(each, name, None)
            if isinstance(value, ast.AST):
                found.append(value)
            elif isinstance(value, list):
                found += [inner for inner in cast("list[object]", value) if isinstance(inner, ast.AST)]
    return found


# The fields of each kind of node that may hold nodes.
_PARTS: dict[type, tuple[str, ...]] = {
    kind: ()
    if kind is ast.Constant
    else tuple(name for name in kind._fields if name not in ("id", "attr", "arg", "ctx", "op", "ops"))
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}


def of_self(node: ast.AST) -> TypeGuard[ast.Attribute]:
    """Whether this is ``self.name``."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


# ------------------------------------------------------------------ expressions


def expression(node: nodes.Expression) -> ast.expr:
    """The same expression, with ``...`` for parts that no size can depend on."""
    converted = _EXPRESSIONS.get(type(node), _unknown)(node)
    converted.origin = node  # type: ignore[attr-defined]
    return converted


def _optional(node: nodes.Expression | None) -> ast.expr | None:
    return None if node is None else expression(node)


def _expressions(several: Iterable[nodes.Expression]) -> list[ast.expr]:
    return list(map(expression, several))


def _call(node: nodes.CallExpr) -> ast.expr:
    if isinstance(node.analyzed, nodes.RevealExpr | nodes.CastExpr | nodes.AssertTypeExpr):
        return expression(node.analyzed)
    arguments = list(zip(node.arg_kinds, node.arg_names, map(_argument, node.args), strict=True))
    return ast.Call(
        func=expression(node.callee),
        args=[
            ast.Starred(value=value, ctx=_LOAD) if kind == nodes.ARG_STAR else value
            for kind, _, value in arguments
            if kind.is_positional(star=True)
        ],
        keywords=[
            ast.keyword(arg=name, value=value) for kind, name, value in arguments if not kind.is_positional(star=True)
        ],
    )


def _argument(node: nodes.Expression) -> ast.expr:
    """A generator that is handed over runs in the call, as a list does that is made there."""
    converted = expression(node)
    if isinstance(converted, ast.GeneratorExp):
        converted = ast.ListComp(elt=converted.elt, generators=converted.generators)
        converted.origin = node  # type: ignore[attr-defined]
    return converted


def _operation(node: nodes.OpExpr) -> ast.expr:
    left, right = expression(node.left), expression(node.right)
    if node.op in ("and", "or"):
        return ast.BoolOp(op=ast.And() if node.op == "and" else ast.Or(), values=[left, right])
    return ast.BinOp(left=left, op=OPERATORS[node.op](), right=right)


def _comparison(node: nodes.ComparisonExpr) -> ast.expr:
    first, *others = map(expression, node.operands)
    return ast.Compare(left=first, ops=[COMPARISONS[op]() for op in node.operators], comparators=others)


def _generators(node: nodes.GeneratorExpr | nodes.DictionaryComprehension) -> list[ast.comprehension]:
    return [
        ast.comprehension(target=expression(index), iter=expression(sequence), ifs=_expressions(conditions), is_async=0)
        for index, sequence, conditions in zip(node.indices, node.sequences, node.condlists, strict=True)
    ]


def _returned(body: nodes.Block) -> ast.expr:
    last = body.body[-1] if body.body else None
    return expression(last.expr) if isinstance(last, nodes.ReturnStmt) and last.expr is not None else _unknown()


# By the class of mypy's node; of any other nothing is known.
_EXPRESSIONS: dict[type[nodes.Expression], Callable[[Any], ast.expr]] = {
    nodes.IntExpr: lambda node: ast.Constant(value=node.value),
    nodes.StrExpr: lambda node: ast.Constant(value=node.value),
    nodes.FloatExpr: lambda node: ast.Constant(value=node.value),
    nodes.NameExpr: lambda node: (
        ast.Constant(value=_CONSTANTS[node.name]) if node.name in _CONSTANTS else _name(node.name)
    ),
    nodes.SuperExpr: lambda node: ast.Attribute(
        value=ast.Call(func=_name("super"), args=[], keywords=[]), attr=node.name, ctx=_LOAD
    ),
    nodes.MemberExpr: lambda node: ast.Attribute(value=expression(node.expr), attr=node.name, ctx=_LOAD),
    nodes.IndexExpr: lambda node: ast.Subscript(value=expression(node.base), slice=expression(node.index), ctx=_LOAD),
    nodes.SliceExpr: lambda node: ast.Slice(*map(_optional, (node.begin_index, node.end_index, node.stride))),
    nodes.CallExpr: _call,
    nodes.RevealExpr: lambda node: (
        _unknown()
        if node.expr is None
        else ast.Call(func=_name("reveal_type"), args=[expression(node.expr)], keywords=[])
    ),
    nodes.CastExpr: lambda node: expression(node.expr),
    nodes.AssertTypeExpr: lambda node: expression(node.expr),
    nodes.OpExpr: _operation,
    nodes.UnaryExpr: lambda node: ast.UnaryOp(op=_UNARY[node.op](), operand=expression(node.expr)),
    nodes.ComparisonExpr: _comparison,
    nodes.ConditionalExpr: lambda node: ast.IfExp(*map(expression, (node.cond, node.if_expr, node.else_expr))),
    nodes.TupleExpr: lambda node: ast.Tuple(elts=_expressions(node.items), ctx=_LOAD),
    nodes.ListExpr: lambda node: ast.List(elts=_expressions(node.items), ctx=_LOAD),
    nodes.DictExpr: lambda node: ast.Dict(
        keys=[_optional(key) for key, _ in node.items], values=[expression(value) for _, value in node.items]
    ),
    nodes.SetExpr: lambda node: ast.Set(elts=_expressions(node.items)),
    nodes.StarExpr: lambda node: ast.Starred(value=expression(node.expr), ctx=_LOAD),
    nodes.AssignmentExpr: lambda node: ast.NamedExpr(target=_name(node.target.name), value=expression(node.value)),
    nodes.ListComprehension: lambda node: ast.ListComp(
        elt=expression(node.generator.left_expr), generators=_generators(node.generator)
    ),
    nodes.SetComprehension: lambda node: ast.SetComp(
        elt=expression(node.generator.left_expr), generators=_generators(node.generator)
    ),
    nodes.GeneratorExpr: lambda node: ast.GeneratorExp(elt=expression(node.left_expr), generators=_generators(node)),
    nodes.DictionaryComprehension: lambda node: ast.DictComp(
        key=expression(node.key), value=expression(node.value), generators=_generators(node)
    ),
    nodes.YieldExpr: lambda node: ast.Yield(value=_optional(node.expr)),
    nodes.YieldFromExpr: lambda node: ast.YieldFrom(value=expression(node.expr)),
    nodes.AwaitExpr: lambda node: ast.Await(value=expression(node.expr)),
    nodes.EllipsisExpr: lambda node: _name("Ellipsis"),
    nodes.LambdaExpr: lambda node: ast.Lambda(args=parameters(node.arguments), body=_returned(node.body)),
}


# ------------------------------------------------------------------ statements


def block(statements: Iterable[nodes.Statement]) -> list[ast.stmt]:
    """Statements one by one; what mypy knows to be unreachable is left out."""
    converted: list[ast.stmt] = []
    for statement in statements:
        for each in _STATEMENTS[type(statement)](statement) if type(statement) in _STATEMENTS else ():
            each.origin = statement  # type: ignore[attr-defined]
            converted.append(each)
    return converted


def _body(body: nodes.Block | None) -> list[ast.stmt]:
    return [] if body is None or body.is_unreachable else block(body.body) or [ast.Pass()]


def _assignment(node: nodes.AssignmentStmt) -> list[ast.stmt]:
    assigned = ast.Assign(targets=_expressions(node.lvalues), value=expression(node.rvalue))
    declared = annotations.annotation(node.unanalyzed_type)
    if len(declared) == 1 and len(node.lvalues) == 1:
        assigned.declared = declared[0]  # type: ignore[attr-defined]
    return [assigned]


def _forgotten(names: Iterable[str]) -> list[ast.stmt]:
    return [ast.Assign(targets=[_name(name)], value=_unknown()) for name in names]


def _if(node: nodes.IfStmt) -> list[ast.stmt]:
    chain: list[ast.stmt] = _body(node.else_body)
    for test, body in zip(reversed(node.expr), reversed(node.body), strict=True):
        if last_name(expression(test)) == "TYPE_CHECKING":  # mypy reads it, and the program runs what mypy leaves out
            inside = [each for part in block(body.body) for each in walk(part) if isinstance(each, ast.Assign)]
            chain = _forgotten(each.id for part in inside for each in part.targets if isinstance(each, ast.Name))
        elif not body.is_unreachable:
            chain = [ast.If(test=expression(test), body=_body(body), orelse=chain)]
    return chain


def _match(node: nodes.MatchStmt) -> list[ast.stmt]:
    cases = [
        ast.match_case(pattern=_pattern(pattern), guard=_optional(guard), body=_body(body))
        for pattern, guard, body in zip(node.patterns, node.guards, node.bodies, strict=True)
        if not body.is_unreachable
    ]
    return [ast.Match(subject=expression(node.subject), cases=cases)] if cases else []


def _pattern(pattern: Any) -> ast.pattern:
    match pattern:
        case mypy_patterns.AsPattern(pattern=inner, name=name):
            return ast.MatchAs(
                pattern=None if inner is None else _pattern(inner), name=None if name is None else name.name
            )
        case mypy_patterns.OrPattern(patterns=several):
            return ast.MatchOr(patterns=list(map(_pattern, several)))
        case mypy_patterns.ValuePattern(expr=value):
            return ast.MatchValue(value=expression(value))
        case mypy_patterns.SingletonPattern(value=value):
            return ast.MatchSingleton(value=value)
        case mypy_patterns.SequencePattern(patterns=several):
            return ast.MatchSequence(patterns=list(map(_pattern, several)))
        case mypy_patterns.StarredPattern(capture=name):
            return ast.MatchStar(name=None if name is None else name.name)
        case mypy_patterns.ClassPattern():
            keywords = list(map(_pattern, pattern.keyword_values))
            positional = list(map(_pattern, pattern.positionals))
            return ast.MatchClass(
                cls=expression(pattern.class_ref),
                patterns=positional,
                kwd_attrs=list(pattern.keyword_keys),
                kwd_patterns=keywords,
            )
        case _:  # of a mapping only what it captures
            captured: list[ast.pattern] = [ast.MatchAs(pattern=None, name=name) for name in _captured(pattern)]
            return ast.MatchClass(cls=_unknown(), patterns=captured, kwd_attrs=[], kwd_patterns=[])


def _captured(pattern: Any) -> Iterator[str]:
    for key in ("name", "capture", "rest", "pattern", "patterns", "positionals", "keyword_values", "values"):
        inner: Any = getattr(pattern, key, None)
        several: list[Any] = [*inner] if isinstance(inner, list) else [inner]
        for each in several:
            if isinstance(each, nodes.NameExpr):
                yield each.name
            elif isinstance(each, mypy_patterns.Pattern):
                yield from _captured(each)


def _with(node: nodes.WithStmt) -> list[ast.stmt]:
    managers = zip(node.expr, node.target, strict=True)
    items = [
        ast.withitem(context_expr=expression(value), optional_vars=_optional(target)) for value, target in managers
    ]
    return [ast.With(items=items, body=_body(node.body))]


def _try(node: nodes.TryStmt) -> list[ast.stmt]:
    parts = zip(node.types, node.vars, node.handlers, strict=True)
    handlers = [
        ast.ExceptHandler(
            type=_optional(kind),
            name=None if name is None else name.name,
            body=_body(body),
        )
        for kind, name, body in parts
    ]
    return [
        ast.Try(
            body=_body(node.body), handlers=handlers, orelse=_body(node.else_body), finalbody=_body(node.finally_body)
        )
    ]


# By the class of mypy's node; any other means nothing here. An assignment with a TempNode is a declaration without a
# value.
_STATEMENTS: dict[type[nodes.Statement], Callable[[Any], list[ast.stmt]]] = {
    nodes.AssignmentStmt: lambda node: [] if isinstance(node.rvalue, nodes.TempNode) else _assignment(node),
    nodes.OperatorAssignmentStmt: lambda node: [
        ast.AugAssign(target=cast(Any, expression(node.lvalue)), op=OPERATORS[node.op](), value=expression(node.rvalue))
    ],
    nodes.DelStmt: lambda node: [
        ast.Delete(targets=_expressions(node.expr.items if isinstance(node.expr, nodes.TupleExpr) else [node.expr]))
    ],
    nodes.GlobalDecl: lambda node: [ast.Global(names=node.names), *_forgotten(node.names)],
    nodes.NonlocalDecl: lambda node: [ast.Nonlocal(names=node.names), *_forgotten(node.names)],
    nodes.ExpressionStmt: lambda node: [ast.Expr(value=expression(node.expr))],
    nodes.AssertStmt: lambda node: [ast.Assert(test=expression(node.expr))],
    nodes.ReturnStmt: lambda node: [ast.Return(value=_optional(node.expr))],
    nodes.RaiseStmt: lambda node: [ast.Raise()],
    nodes.BreakStmt: lambda node: [ast.Break()],
    nodes.ContinueStmt: lambda node: [ast.Continue()],
    nodes.IfStmt: _if,
    nodes.MatchStmt: _match,
    nodes.WhileStmt: lambda node: [
        ast.While(test=expression(node.expr), body=_body(node.body), orelse=_body(node.else_body))
    ],
    nodes.ForStmt: lambda node: [
        ast.For(
            target=expression(node.index),
            iter=expression(node.expr),
            body=_body(node.body),
            orelse=_body(node.else_body),
        )
    ],
    nodes.WithStmt: _with,
    nodes.TryStmt: _try,
    nodes.Block: _body,
    nodes.FuncDef: lambda node: [as_function(node)],
    nodes.Decorator: lambda node: [as_function(node.func, node.original_decorators)],
    nodes.ClassDef: lambda node: [
        ast.ClassDef(
            name=node.name, bases=[], keywords=[], body=_body(node.defs), decorator_list=[], **_NO_TYPE_PARAMETERS
        )
    ],
}


# ------------------------------------------------------------------ functions


def parameters(arguments: list[nodes.Argument]) -> ast.arguments:
    """The parameters of a function, with their defaults."""
    positional = [each for each in arguments if each.kind in (nodes.ARG_POS, nodes.ARG_OPT)]
    keyword = [each for each in arguments if each.kind in (nodes.ARG_NAMED, nodes.ARG_NAMED_OPT)]
    starred = {each.kind: ast.arg(arg=each.variable.name) for each in arguments if each.kind.is_star()}
    return ast.arguments(
        posonlyargs=[],
        args=list(map(_parameter, positional)),
        vararg=starred.get(nodes.ARG_STAR),
        kwonlyargs=list(map(_parameter, keyword)),
        kw_defaults=[_optional(each.initializer) for each in keyword],
        kwarg=starred.get(nodes.ARG_STAR2),
        defaults=[expression(each.initializer) for each in positional if each.initializer is not None],
    )


def _parameter(argument: nodes.Argument) -> ast.arg:
    declared = argument.type_annotation
    integer = isinstance(declared, UnboundType) and declared.name == "int" and not declared.args
    return ast.arg(arg=argument.variable.name, annotation=_name("int") if integer else None)


def constructor(function: nodes.FuncDef) -> str:
    """``__init__`` as text, to be kept in mypy's cache and evaluated for each instance."""
    return ast.unparse(ast.fix_missing_locations(as_function(function)))


def as_function(function: nodes.FuncDef, decorators: Iterable[nodes.Expression] = ()) -> ast.FunctionDef:
    """A function as Python's own node, with its parameters and defaults, without annotations. What it imports itself
    is unknown, and not what its module has by that name.
    """
    body = [*_forgotten(_imported(function.body.body)), *block(function.body.body)] or [ast.Pass()]
    arguments, decorated = parameters(function.arguments), _expressions(decorators)
    return ast.FunctionDef(
        name=function.name, args=arguments, body=body, decorator_list=decorated, **_NO_TYPE_PARAMETERS
    )


def _imported(statements: Iterable[nodes.Statement]) -> Iterator[str]:
    """The names that imports bind among statements, in all their branches."""
    for each in statements:
        match each:
            case nodes.Import(ids=ids):
                yield from (name or module.partition(".")[0] for module, name in ids)
            case nodes.ImportFrom(names=names):
                yield from (name or imported for imported, name in names)
            case nodes.FuncDef() | nodes.Decorator() | nodes.ClassDef():
                pass
            case _:
                yield from _imported(within(each))


# Decorators after which a function still takes and gives what it says; what any other makes of it is not known.
_DECORATORS = (
    "staticmethod", "classmethod", "property", "cached_property", "setter", "abstractmethod", "override", "final",
    "overload", "cache", "lru_cache", "contextmanager", "asynccontextmanager", "jaxtyped",
    "beartype", "typechecked", "deprecated", "njit",
    "jit", "filter_jit", "checkpoint", "filter_checkpoint", "remat", "custom_vjp", "custom_jvp",
)  # fmt: skip


def within(statement: nodes.Statement) -> list[nodes.Statement]:
    """The statements in a class, in a function, in all branches of another statement; those of `match` are left out."""
    blocks: list[nodes.Block | None] = []
    match statement:
        case nodes.OverloadedFuncDef(items=items, impl=impl):
            return [*items, *([impl] if impl is not None and impl not in items else [])]
        case nodes.ClassDef(defs=block) | nodes.FuncDef(body=block) | nodes.Decorator(func=nodes.FuncDef(body=block)):
            blocks = [block]
        case nodes.IfStmt(body=several, else_body=last):
            blocks = [*several, last]
        case nodes.TryStmt(body=block, handlers=handlers, else_body=other, finally_body=final):
            blocks = [block, *handlers, other, final]
        case nodes.ForStmt(body=block) | nodes.WhileStmt(body=block) | nodes.WithStmt(body=block):
            blocks = [block]
        case _:
            pass
    return [each for block in blocks if block is not None for each in block.body]


def decorated(statements: Iterable[nodes.Statement]) -> Iterator[nodes.Decorator]:
    """Every decorated function of a module, or of another block."""
    for each in statements:
        if isinstance(each, nodes.Decorator):
            yield each
        yield from decorated(within(each))


def keeps_signature(decorators: Iterable[nodes.Expression | ast.expr], keeping: Container[str] = ()) -> bool:
    """Whether a function under these decorators still is what its annotations say; ``keeping`` are the module's own
    that see to it: ``logged``, ``repeated()``.
    """
    several = (each if isinstance(each, ast.expr) else expression(each) for each in decorators)
    return all(_applied(each) in _DECORATORS or _own_name(each) in keeping for each in several)


def _own_name(decorator: ast.expr) -> str:
    match decorator:
        case ast.Name(id=name):
            return name
        case ast.Call(func=ast.Name(id=name)):
            return f"{name}()"
        case _:
            return ""


def _applied(decorator: ast.expr) -> str:
    """The last word of a decorator; ``jit`` of ``partial(jax.jit, static_argnames="n")``."""
    name = last_name(decorator)
    within = decorator.args if isinstance(decorator, ast.Call) and name == "partial" else []
    return last_name(within[0]) if within else name


def last_name(node: ast.expr) -> str:
    """The last word of a name, or of the name that a call calls: of a decorator, of a context manager."""
    called = node.func if isinstance(node, ast.Call) else node
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


def functions(
    body: nodes.Block, keeps: Callable[[Iterable[nodes.Expression]], bool] | None = None
) -> dict[str, nodes.FuncDef]:
    """The functions that a class body defines; of overloaded ones the implementation.

    Those under decorators of which ``keeps`` says that they may change them are left out.
    """
    # Before mypy has analysed a class, the implementation is the last of the overloads.
    implementations = [
        each.impl or each.items[-1] if isinstance(each, nodes.OverloadedFuncDef) else each for each in body.body
    ]
    kept = (
        each
        for each in implementations
        if keeps is None or not isinstance(each, nodes.Decorator) or keeps(each.original_decorators)
    )
    undecorated = [each.func if isinstance(each, nodes.Decorator) else each for each in kept]
    return {each.name: each for each in undecorated if isinstance(each, nodes.FuncDef)}
