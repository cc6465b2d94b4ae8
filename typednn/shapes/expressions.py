"""One axis expression, read as jaxtyping reads it.

``(height-{self.kernel_size[0]})//{self.stride[0]}+1``: outside braces stand names of axes, integers,
``+ - * // % **`` and ``min``, ``max``, ``abs``; inside braces stands what jaxtyping pastes in as text, such as
an attribute of the layer. Text that is not of this form is a `DefinitionError`; a size that cannot be worked
out, because a name is unbound or a brace holds something else, is None. Nothing is ever run as code.
"""

import ast
import keyword
import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from typednn.errors import DefinitionError
from typednn.shapes.dims import Dim

Lookup: TypeAlias = "Callable[[str], Dim | None]"

_NUMERIC: dict[str, Callable[[list[int]], int]] = {"min": min, "max": max, "abs": lambda numbers: abs(numbers[0])}


def unknown(path: str) -> Dim | None:
    """The lookup that knows nothing."""
    return None


def evaluate(text: str, names: Lookup, attributes: Lookup = unknown) -> Dim | None:
    """The size that one axis expression stands for, or None where it cannot be known.

    ``names`` answers for axis names, ``attributes`` for paths in braces: ``attributes("self.kernel_size[0]")``.
    """
    return _value(parse_expression(text), names, attributes)


def write(text: str, names: Lookup, attributes: Lookup = unknown) -> str:
    """The expression with the sizes that are known written in: ``height*width*channels`` as ``5*5*16``.

    What the layer alone decides is one number, and what changes nothing is left out: the rows of a convolution,
    ``(height+2*{self.padding}-{self.dilation}*({self.kernel}-1)-1)//{self.stride}+1``, read ``28-5+1``.
    """
    return ast.unparse(_filled(parse_expression(text), names, attributes)).replace(" ", "")


@lru_cache(maxsize=4096)
def parse_expression(text: str) -> ast.expr:
    """The syntax tree of an expression that is known to be of the right form; not to be changed.

    A brace is what Python calls a set of one element.
    """
    if keyword.iskeyword(text):
        raise DefinitionError(f'axis "{text}": a Python keyword cannot name an axis; choose another name')
    if re.search(r"[\s#']", text):
        raise DefinitionError(f'axis "{text}": spaces, # and quotes cannot stand inside an expression; leave them out')
    try:
        return _checked(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise DefinitionError(
            f'axis "{text}": not an expression; balance its brackets and write it without spaces'
        ) from None
    except _Unsupported as error:
        raise DefinitionError(
            f'axis "{text}": sizes are integers, names and {{self.…}} joined by + - * // % ** or in min, max, '
            f"abs, got {error}"
        ) from None


@lru_cache(maxsize=4096)
def _path(node: ast.expr) -> str:
    """``self.kernel_size[0]``; the trees are parsed once and kept, so each is written once."""
    return ast.unparse(node)


class _Unsupported(Exception):
    """A piece of syntax that is no axis expression."""


def _checked(node: ast.expr) -> ast.expr:
    match node:
        case ast.Name():
            return node
        case ast.Constant(value=value) if type(value) is int:
            return node
        case ast.Set(elts=[hole]) if not any(
            isinstance(part, ast.Set | ast.Dict | ast.Starred) for part in ast.walk(hole)
        ):
            return node
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return ast.UnaryOp(op=node.op, operand=_checked(operand))
        case ast.BinOp(
            left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv() | ast.Mod() | ast.Pow(), right=right
        ):
            return ast.BinOp(left=_checked(left), op=node.op, right=_checked(right))
        case ast.Call(func=ast.Name() as func, args=args) if _is_numeric(node):
            return ast.Call(func=func, args=[_checked(argument) for argument in args], keywords=[])
        case _:
            raise _Unsupported(ast.unparse(node))


def _is_numeric(call: ast.Call) -> bool:
    """``abs`` of one number, ``min`` or ``max`` of several."""
    known = isinstance(call.func, ast.Name) and call.func.id in _NUMERIC and not call.keywords and bool(call.args)
    return known and (len(call.args) == 1) == (ast.unparse(call.func) == "abs")


def _value(node: ast.expr, names: Lookup, attributes: Lookup) -> Dim | None:
    match node:
        case ast.Constant(value=value) if type(value) is int:
            return Dim.of(value)
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return names(_path(node))
        case ast.Set(elts=[hole]):
            return _value(hole, attributes, attributes)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            size = _value(operand, names, attributes)
            return None if size is None else -size
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _value(left, names, attributes), _value(right, names, attributes)
            return None if a is None or b is None else operation(op, a, b, pasted=isinstance(left, ast.Set))
        case ast.Call(func=ast.Name(id=name), args=args) if _is_numeric(node):
            sizes = [_value(argument, names, attributes) for argument in args]
            numbers = [size.value for size in sizes if size is not None and size.value is not None]
            return Dim.of(_NUMERIC[name](numbers)) if len(numbers) == len(args) else None
        case _:
            return None


def operation(op: ast.operator, a: Dim, b: Dim, *, pasted: bool = False) -> Dim | None:
    """``a op b``, as Python's integers have it; None where that is no integer for sure. ``pasted``: ``a`` was written
    out before it.
    """
    match op:
        case ast.Add():
            return a + b
        case ast.Sub():
            return a - b
        case ast.Mult():
            return a * b
        case ast.FloorDiv() if b.terms:
            return a // b
        case ast.Mod() if b.terms:
            return a - b * (a // b)
        case ast.Pow() if a.value is not None and b.value is not None and b.value >= 0:
            power = Dim.of(abs(a.value) ** b.value)  # -1 pasted before **2 reads -1**2, which is -(1**2)
            return -power if a.value < 0 and (pasted or b.value % 2) else power
        case _:
            return None


def _filled(node: ast.expr, names: Lookup, attributes: Lookup) -> ast.expr:
    own = _value(node, unknown, attributes)
    if own is not None:
        return parse_expression(str(own))
    match node:
        case ast.Name(id=name):
            size = names(name)
            return node if size is None else parse_expression(str(size))
        case ast.Set(elts=[hole]):
            return ast.Name(id=ast.unparse(hole).replace("self.", ""))
        case ast.UnaryOp(op=op, operand=operand):
            return ast.UnaryOp(op=op, operand=_filled(operand, names, attributes))
        case ast.BinOp(left=ast.BinOp(left=first, op=ast.Sub() as op, right=second), op=ast.Sub(), right=third) if (
            _value(difference := ast.BinOp(second, ast.Add(), third), unknown, attributes) is not None
        ):  # a-4-1 is a-5
            return _filled(ast.BinOp(first, op, difference), names, attributes)
        case ast.BinOp(left=left, op=op, right=right):
            return _shortened(_filled(left, names, attributes), op, _filled(right, names, attributes))
        case ast.Call(func=func, args=args):
            return ast.Call(func=func, args=[_filled(argument, names, attributes) for argument in args], keywords=[])
        case _:
            return node


def _shortened(left: ast.expr, op: ast.operator, right: ast.expr) -> ast.expr:
    match op, ast.unparse(left), ast.unparse(right):
        case (ast.Add() | ast.Sub(), _, "0") | (ast.FloorDiv(), _, "1"):
            return left
        case (ast.Add(), "0", _):
            return right
        case _:
            return ast.BinOp(left=left, op=op, right=right)
