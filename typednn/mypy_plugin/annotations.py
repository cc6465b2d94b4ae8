"""Reads the annotations of arrays, ``Float[Array2, "batch 10"]``, as mypy's parser left them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from mypy import nodes
from mypy.types import RawExpressionType, TupleType, Type, UnboundType, UnionType

from typednn.errors import DefinitionError
from typednn.shapes import DTYPE_WORDS, rank

# One annotated array is [kind, text, library]: ["Float", "batch 10", "numpy"]; the library is empty where only mypy's
# types tell it. Several are alternatives. None: nothing about sizes.
Alternatives = list[list[str]]


Aliases = Mapping[str, Alternatives]
_THROUGH = ("Parameter", "Buffer", "Kept", "Optional", "Union", "Final", "ClassVar")


def annotation(declared: Type | None, aliases: Aliases = MappingProxyType({})) -> Alternatives:
    """What an annotation says about arrays: ``Float[Array2, "batch 10"] | None`` is [["Float", "batch 10", ""]].

    A string with another number of axes than its array type has is an error of its own, and says nothing.
    """
    match declared:
        case UnionType(items=items):
            return [each for item in items for each in annotation(item, aliases)]
        case UnboundType(args=[array, string]) if (
            word(declared) in DTYPE_WORDS and (text := text_of(string)) is not None
        ):
            return [[word(declared), text, ""]] if rank_error(word(array), text) is None else []
        case UnboundType(args=args) if word(declared) in _THROUGH:
            return [each for argument in args for each in annotation(argument, aliases)]
        case UnboundType(name=name, args=()):
            return list(aliases.get(name, []))
        case _:
            return []


def inner_contract(declared: Type | None) -> str:
    """``batch *shape -> batch *shape`` of ``Layer[In, In, G, Literal[…]]``, or of a tuple of such: how a wrapper uses a
    field's layers.
    """
    match declared:
        case UnboundType(args=[*_, UnboundType(args=[literal]) as last]) if word(last) == "Literal" and " -> " in (
            text_of(literal) or ""
        ):
            return text_of(literal) or ""
        case (
            UnboundType(args=[UnboundType() as first, *_])
            | UnionType(items=[UnboundType() as first, UnboundType(name="None")])
        ):
            return inner_contract(first)
        case _:
            return ""


def word(declared: Type | None) -> str:
    """The last word of a type's name as it is written: ``Float`` of ``jaxtyping.Float[…]``."""
    return declared.name.rpartition(".")[2] if isinstance(declared, UnboundType) else ""


def rank_error(name: str, text: str) -> str | None:
    """``Array2 promises 2 axes`` where the string has another number; its fault, or nothing, where it cannot be
    checked.
    """
    promised = re.fullmatch(r"(?:IntArray|Array|Tensor)(\d)", name)
    try:
        written = rank(text)
    except DefinitionError as error:
        return str(error) if promised else ""
    if promised is None or written is None or written == int(promised[1]):
        return None
    cure = f"write {name[:-1].removeprefix('Int')}{written} or name {promised[1]} axes"
    return f"{name} promises {promised[1]} axes, got {written} axes in the string {text!r}; {cure}"


def elements(result: Type | None) -> Sequence[Type]:
    """The types that a function returns: those of a tuple one by one."""
    match result:
        case TupleType(items=items):
            return items
        case UnboundType(args=args) if word(result) in ("tuple", "Tuple"):
            return args
        case _:
            return [] if result is None else [result]


def declared(statements: Iterable[nodes.Statement]) -> Iterator[tuple[str, Type | None, nodes.Expression]]:
    """The names that statements assign or declare: each with its annotation and its value."""
    for statement in statements:
        if isinstance(statement, nodes.AssignmentStmt) and isinstance(statement.lvalues[0], nodes.NameExpr):
            yield statement.lvalues[0].name, statement.unanalyzed_type, statement.rvalue
        elif isinstance(statement, nodes.TypeAliasStmt):
            yield statement.name.name, None, statement.value.expr()


def declared_on_self(function: nodes.FuncDef | None) -> Iterator[tuple[str, Type | None]]:
    """The attributes that a constructor declares: ``self.mean: Float[Array2, "rows columns"] = …``."""
    for statement in function.body.body if function is not None else ():
        if isinstance(statement, nodes.AssignmentStmt) and statement.unanalyzed_type is not None:
            target = statement.lvalues[0]
            if (
                isinstance(target, nodes.MemberExpr)
                and isinstance(target.expr, nodes.NameExpr)
                and target.expr.name == "self"
            ):
                yield target.name, statement.unanalyzed_type


def aliases(statements: Iterable[nodes.Statement]) -> dict[str, Alternatives]:
    """``Images: TypeAlias = Float[Array4, "batch 28 28 1"]`` at the top of a module, by name."""
    by_name: dict[str, Alternatives] = {}
    for name, _, value in declared(statements):
        match value:
            case nodes.IndexExpr(
                base=nodes.NameExpr(name=kind) | nodes.MemberExpr(name=kind),
                index=nodes.TupleExpr(items=[array, nodes.StrExpr(value=text)]),
            ) if kind in DTYPE_WORDS and rank_error(getattr(array, "name", ""), text) is None:
                by_name[name] = [[kind, text, ""]]
            case _:
                pass
    return by_name


def text_of(declared: Type) -> str | None:
    """The string of an annotation, as mypy's parser left it."""
    match declared:
        case RawExpressionType(literal_value=str() as text) | UnboundType(original_str_expr=str() as text):
            return text
        case _:
            return None
