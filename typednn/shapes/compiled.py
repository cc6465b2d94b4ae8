"""Annotations as comparisons of integers: the same verdict as jaxtyping's, in a hundredth of its time.

``batch {self.in_features}`` becomes ``len(s0) == 2 and 0 not in s0 and s0[1] == self.in_features``. A name is written
as the place where it was first bound: ``batch`` in a later annotation is ``s0[0]``. So the check of a call is one
expression, generated once from its annotations.

Where the expression is false or fails, the caller asks jaxtyping, which decides and words the error. Annotations that
cannot be written this way give None, such as ``*#name``, or a brace with more than attributes, subscripts and
arithmetic in it.
"""

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from typednn.generated import execute
from typednn.shapes.axes import Slot, parse
from typednn.shapes.expressions import parse_expression

# The annotations of one call, in order, each with the Python expression of the shape that it is about.
Scope: TypeAlias = tuple[tuple[str, str], ...]

# Nodes allowed in a brace. jaxtyping pastes the value of a brace as text; these values mean the same as text.
_PLAIN = (
    ast.Attribute,
    ast.Subscript,
    ast.Constant,
    ast.Name,
    ast.BinOp,
    ast.UnaryOp,
    ast.USub,
    ast.Call,
    ast.operator,
    ast.expr_context,
)
_FUNCTIONS = frozenset({"min", "max", "abs"})


class _Inexpressible(Exception):
    """An annotation that only jaxtyping can judge."""


@lru_cache(maxsize=4096)
def comparison(
    parameters: str,
    facts: tuple[str, ...],
    scopes: tuple[Scope, ...],
    known: frozenset[str] = frozenset(),
    returned: Sequence[str] = (),
) -> Callable[..., Callable[..., Any]] | None:
    """A function of the values that ``facts`` must have. It returns a function of ``parameters``: whether facts and
    shapes fit.

    ``known`` shapes are known to fit, and only give names their sizes. Where all fits, the result is the tuple of the
    shapes ``returned``, or True if there are none; otherwise None.
    """
    shapes = _Shapes(known)
    try:
        for scope in scopes:
            names = _Names(shapes)
            for shape, annotation in scope:
                names.bind(shape, annotation)
    except _Inexpressible:
        return None
    results = "".join(f"{shapes.local(shape)}, " for shape in returned)
    return shapes.compiled(parameters, facts, f"({results})" if returned else "True")


@lru_cache(maxsize=1024)
def outcome(
    inputs: str, output: str, where: tuple[str, ...] = ()
) -> Callable[[Any, Sequence[int]], tuple[int, ...] | None]:
    """The function of a layer and its input's shape that gives its output's; None where it doesn't fit, or only
    jaxtyping can tell.

    ``where`` holds conditions between sizes, ``height*width==400``.
    """
    shapes = _Shapes(frozenset())
    names = _Names(shapes)
    try:
        names.bind("shape", inputs)
        sizes = "".join(f"{names.result(slot)}, " for slot in parse(output))
        for condition in where:
            shapes.conditions[" == ".join(map(names.value, condition.split("==")))] = None
    except _Inexpressible:
        return lambda layer, shape: None
    shapes.conditions[f"min(result := ({sizes})) > 0"] = None
    return shapes.compiled("self, shape", (), "result")()


class _Shapes:
    """The shapes of one call, each read once, and their conditions."""

    def __init__(self, known: frozenset[str]) -> None:
        self.known = known
        self.values: dict[str, str] = {}
        self.locals: dict[str, str] = {}
        self.ranks: dict[str, int] = {}  # of shapes whose number of axes is certain: their sizes are s0_0, s0_1
        self.full: set[str] = set()  # has no empty axis
        self.conditions: dict[str, None] = {}

    def local(self, shape: str) -> str:
        """The variable that holds a shape."""
        return self.locals.setdefault(self.read(shape), f"s{len(self.locals)}")

    def read(self, attribute: str) -> str:
        """``gradient.weight.dtype`` as ``v0.dtype``: an object with several attributes is looked up once."""
        value, _, name = attribute.rpartition(".")
        return (
            attribute
            if not value or value.isidentifier()
            else f"{self.values.setdefault(value, f'v{len(self.values)}')}.{name}"
        )

    def compiled(self, parameters: str, facts: Sequence[str], result: str) -> Callable[..., Callable[..., Any]]:
        """The function that `comparison` gives; the other one returns ``result`` where all fits."""
        expected = [f"f{place}" for place in range(len(facts))]
        same = [
            f"({fact} is {value} or {fact} == {value})"
            for fact, value in zip(map(self.read, facts), expected, strict=True)
        ]
        read = [f"{local} = {shape}" for shape, local in self.locals.items()]
        read += [
            "".join(f"{local}_{axis}, " for axis in range(rank)) + f"= {local}"
            for local, rank in self.ranks.items()
            if rank
        ]
        source = f"""
def make({", ".join(expected)}):
    def compare({parameters}):
        try:
            {"; ".join(f"{local} = {value}" for value, local in self.values.items()) or "pass"}
            if {" and ".join(same) or "True"}:
                {"; ".join(read) or "pass"}
                if {" and ".join(self.conditions) or "True"}:
                    return {result}
        except Exception:  # another rank, an attribute that is missing, a division by zero: jaxtyping words the error
            pass
        return None
    return compare
"""
        scope: dict[str, Any] = {}
        # made of parsed annotations: names, numbers and what _PLAIN lists
        execute(source, "comparison of sizes", scope)
        make: Callable[..., Callable[..., Any]] = scope["make"]
        return make


class _Names:
    """The names of one scope, with the Python expressions that they stand for."""

    def __init__(self, shapes: _Shapes) -> None:
        self.shapes = shapes
        self.sizes: dict[str, str] = {}
        self.groups: dict[str, str] = {}

    def bind(self, shape: str, annotation: str) -> None:
        """Require that ``shape`` fits."""
        conditions = dict.fromkeys(self._conditions(self.shapes.local(shape), parse(annotation)))
        if shape not in self.shapes.known:
            self.shapes.conditions |= conditions

    def _conditions(self, shape: str, slots: Sequence[Slot]) -> Iterator[str]:
        """Every axis in turn, the shape of a ``*name`` last, as jaxtyping has it."""
        several = next((place for place, slot in enumerate(slots) if slot.variadic), None)
        count = len(slots)
        rank = self.shapes.ranks.get(shape) if several is not None else self.shapes.ranks.setdefault(shape, count)
        if rank is not None and (rank < count - 1 if several is not None else rank != count):
            raise _Inexpressible  # it never fits
        if rank is None and count > 1:
            yield f"len({shape}) >= {count - 1}"
        # equal to an earlier shape, which has no empty axis
        if count == 1 and slots[0].variadic and slots[0].text in self.groups:
            self.shapes.full.add(shape)
        elif shape not in self.shapes.full:
            yield (
                f"0 not in {shape}"
                if rank is None
                else " and ".join(f"{shape}_{axis}" for axis in range(rank)) or f"not {shape}"
            )
        for place, slot in enumerate(slots):
            if slot.text and not slot.variadic:
                axis = place if several is None or place < several else place - count
                yield from self._axis(f"{shape}[{axis}]" if rank is None else f"{shape}_{axis % rank}", slot)
        if several is not None and slots[several].text:
            slot, end = slots[several], several + 1 - count
            group = f"{shape}[{several or ''}:{end or ''}]" if several or end else shape
            if slot.broadcast:
                raise _Inexpressible
            if slot.text in self.groups:
                yield f"{group} == {self.groups[slot.text]}"
            self.groups.setdefault(slot.text, group)

    def result(self, slot: Slot) -> str:
        """The sizes that one word of a result stands for."""
        if slot.variadic and slot.text in self.groups:
            return f"*{self.groups[slot.text]}"
        if not slot.text or slot.variadic or slot.broadcast:
            raise _Inexpressible
        return self.value(slot.text)

    def _axis(self, size: str, slot: Slot) -> Iterator[str]:
        earlier = self.sizes.get(slot.text) if slot.is_name else self.value(slot.text)
        if earlier is not None:
            yield f"({size} == 1 or {size} == {earlier})" if slot.broadcast else f"{size} == {earlier}"
        elif slot.broadcast:
            raise _Inexpressible  # a size of 1 would bind nothing
        else:
            self.sizes[slot.text] = size

    def value(self, text: str) -> str:
        """A name or an expression, with each name written as the place where it was bound."""
        return f"({ast.unparse(self._python(parse_expression(text)))})"

    def _python(self, node: ast.expr) -> ast.expr:
        """An axis expression as Python; a new tree, as the parsed one is cached."""
        match node:
            case ast.Name(id=name) if name in self.sizes:
                return ast.Name(self.sizes[name])
            case ast.Set(elts=[hole]) if _is_plain(hole):
                return hole
            case ast.Constant():
                return node
            case ast.UnaryOp(op=op, operand=operand):
                return ast.UnaryOp(op, self._python(operand))
            case ast.BinOp(left=left, op=op, right=right) if not (
                isinstance(op, ast.Pow) and isinstance(left, ast.Set)
            ):
                return ast.BinOp(self._python(left), op, self._python(right))  # -1 pasted before **2 reads -1**2
            case ast.Call(func=ast.Name(id=name) as func, args=args) if name not in self.sizes:
                return ast.Call(func, list(map(self._python, args)), [])
            case _:
                raise _Inexpressible


def _is_plain(hole: ast.expr) -> bool:
    """Whether the value of a brace is one of numbers, attributes of ``self``, and arithmetic."""
    called = {id(node.func) for node in ast.walk(hole) if isinstance(node, ast.Call)}
    return all(
        isinstance(node, _PLAIN)
        and (not isinstance(node, ast.Name) or node.id in (_FUNCTIONS if id(node) in called else ("self",)))
        for node in ast.walk(hole)
    )
