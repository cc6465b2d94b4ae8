"""The input of an analysis: one call, operator or attribute with what is known of its operands, and its context."""

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, TypeAlias, TypeVar, cast

from mypy.nodes import TypeInfo

from typednn.mypy_plugin.bounds import beyond
from typednn.mypy_plugin.names import Names
from typednn.mypy_plugin.syntax import of_self
from typednn.mypy_plugin.values import UNKNOWN, Array, Entries, Environment, Layer, Many, Pack, Value
from typednn.shapes import Dim, Lookup, differ, same, unknown

Result = TypeVar("Result")


@dataclass(eq=False)
class Context(ABC):
    """One body. ``names`` are the axis names that mean one thing all through it."""

    scope: Names
    names: frozenset[str] = frozenset()
    under: tuple[Hashable, ...] = ()  # the classes that are being constructed, the functions that are called
    own: Layer | None = None  # self, in a method of a layer
    attributes: Lookup = unknown  # what braces in annotations mean
    base: TypeInfo | None = None  # the class whose constructor this body is
    of: TypeInfo | None = None  # the class of the instance it works on
    hidden: frozenset[str] = frozenset()  # attributes of self that other methods assign: unknown in a constructor
    assigned: frozenset[str] = frozenset()  # as `hidden`, in a method: unknown after any call that receives self
    _last: dict[Hashable, tuple[tuple[object, ...], object]] = field(
        default_factory=dict[Hashable, tuple[tuple[object, ...], object]], init=False
    )

    foreign: set[int] = field(default_factory=set[int])  # by node: calls of functions that the table does not name
    flexible: set[str] = field(default_factory=set[str])  # names whose sizes the body compares: they may be equal
    # Names that stand for any sizes: of axes that the function's own parameters declare; and of the sizes of its class.
    rigid: tuple[frozenset[str], ...] = ()

    def comparison(self) -> "Comparison":
        """How sizes are compared in this body."""
        return Comparison(tuple(each - self.flexible for each in self.rigid), frozenset(self.flexible))

    @abstractmethod
    def evaluate(self, node: ast.expr, env: Environment) -> Value:
        """What is known of an expression."""

    @abstractmethod
    def peek(self, node: ast.expr, env: Environment) -> Value:
        """What is known of a collection that is only read."""

    @abstractmethod
    def outcome(self, statements: Sequence[ast.stmt], env: Environment) -> Environment:
        """The environment after a whole body, whichever return it left by."""

    @abstractmethod
    def returned(self, statements: Sequence[ast.stmt], env: Environment) -> Value:
        """What a whole body returns, as far as all of its returns agree."""

    @abstractmethod
    def apply(self, function: Value, call: "Call") -> Value:
        """The result of a function for the arguments of a call."""

    @abstractmethod
    def operated(self, op: ast.operator, call: "Call") -> Value:
        """The result of an operator for the two arguments of a call."""

    @abstractmethod
    def inside(self, module: str, under: Hashable, names: frozenset[str] = frozenset()) -> "Context":
        """The context of a constructor or a function that is called: it keeps its complaints, as `Names.complaints`."""

    def begin(self) -> None:
        """Forget what was evaluated so far."""
        self._last.clear()

    def cached(self, key: Hashable, operands: tuple[object, ...], compute: Callable[[], Result]) -> Result:
        """The last result for ``key`` if the operands are identical, else a new one: a body is evaluated many times."""
        last = self._last.get(key)
        if last is None or list(map(id, last[0])) != list(map(id, operands)):
            last = self._last[key] = (operands, compute())
        return cast("Result", last[1])


@dataclass(slots=True)
class Comparison:
    """Whether two sizes differ: for all sizes, or because two names that stand for any sizes are equal by luck only."""

    rigid: tuple[frozenset[str], ...]
    flexible: frozenset[str] = frozenset()
    numbers: bool = True  # whether a name also differs from a number by itself
    by_luck: bool = False

    def __call__(self, a: Dim, b: Dim) -> bool:
        names = a.names() | b.names()
        rest = a - b
        # an array may be empty, above all where its size is looked at
        if names and (0 in (a.value, b.value) or (not rest.constant and rest.names() <= self.flexible)):
            return False
        if differ(a, b):
            return True
        if not self.numbers and (a.value is not None or b.value is not None):
            return False
        if never := beyond(a, b):
            return names.isdisjoint(self.flexible) and any(never <= each for each in self.rigid)
        rounded = any(not isinstance(atom, str) for size in (a, b) for product, _ in size.terms for atom in product)
        if rounded or not names or not any(names <= each for each in self.rigid) or same(a, b):
            return False
        self.by_luck = True
        return True


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function, a class or a method of ``receiver``; an operator with its operands; an attribute of
    ``receiver``.
    """

    context: Context
    name: str  # its key in the table
    node: ast.expr
    env: Environment
    receiver: Any = UNKNOWN  # a value of the kind that the key names
    arguments: Sequence[Value] = ()
    keywords: Mapping[str, Value] = field(default_factory=dict[str, Value])
    spread: bool = False  # by * or **: the parameters of the arguments are not known
    certain: int = 0  # of a spread call: the arguments before the first *

    def argument(self, place: int, name: str, default: Value = UNKNOWN) -> Value:
        """An argument by its place or its name."""
        return self.arguments[place] if place < len(self.arguments) else self.keywords.get(name, default)

    @property
    def first(self) -> ast.expr:
        """The node of the first argument."""
        return self.node.args[0] if isinstance(self.node, ast.Call) and self.node.args else self.node

    def complain(self, message: str, node: ast.AST | None = None, cure: tuple[ast.AST, str] | None = None) -> Value:
        """Report an error; the result is unknown."""
        self.context.scope.complain(message, self.node if node is None else node, cure=cure)
        return UNKNOWN


Analysis: TypeAlias = Callable[[Call], Value]


def once(analysis: Analysis) -> Analysis:
    """An analysis that is not repeated for the same call with identical values."""

    @wraps(analysis)
    def remembered(call: Call) -> Value:
        operands = (call.node, call.receiver, *call.arguments, *call.keywords.values())
        return call.context.cached((analysis, id(call.node)), operands, lambda: analysis(call))

    return remembered


def forget_arrays(env: Environment) -> None:
    """The shape of an array was set in place: any name, and any list, may hold this array."""
    env |= {name: UNKNOWN for name, value in env.items() if isinstance(value, Array | Pack | Many | Entries)}


def mutated(target: ast.expr, env: Environment) -> None:
    """What a name, or an attribute of self, holds was changed in place, at whatever depth."""
    match target:
        case ast.Name(id=name):
            env[name] = UNKNOWN
        case ast.Attribute() if of_self(target):
            env[ast.unparse(target)] = UNKNOWN
        case ast.Attribute(value=ast.Name(id=name), attr=attr) if isinstance(held := env.get(name), Layer):
            env[name] = replace(held, attributes={**held.attributes, attr: UNKNOWN})
        case (
            ast.Attribute(value=inner)
            | ast.Subscript(value=inner)
            | ast.Starred(value=inner)
            | ast.NamedExpr(target=inner)
            | ast.Call(func=ast.Attribute(value=inner))
        ):
            mutated(inner, env)
        case ast.IfExp(body=one, orelse=other):
            mutated(one, env)
            mutated(other, env)
        case _:
            pass
