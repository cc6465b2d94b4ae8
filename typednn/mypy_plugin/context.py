"""What an analysis is given: one call, operator or attribute with what is known of its operands, and a narrow way to ask for more."""

import ast
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeAlias, TypeVar

from mypy.nodes import TypeInfo

from typednn.mypy_plugin.names import Names
from typednn.mypy_plugin.syntax import of_self
from typednn.mypy_plugin.values import UNKNOWN, Environment, Layer, Value

Found = TypeVar("Found")


@dataclass(eq=False)
class Context(ABC):
    """One body. ``names`` are the axis names that mean one thing all through it."""

    world: Names
    names: frozenset[str] = frozenset()
    under: tuple[Hashable, ...] = ()  # the classes that are being constructed
    own: Layer | None = None  # self, in a method of a layer
    base: TypeInfo | None = None  # whose constructor this body is
    of: TypeInfo | None = None  # whose instance it works on
    hidden: frozenset[str] = frozenset()  # attributes of self that other methods assign: unknown in a constructor
    _last: dict[Hashable, tuple[tuple[object, ...], Any]] = field(
        default_factory=dict[Hashable, tuple[tuple[object, ...], Any]], init=False
    )

    @abstractmethod
    def evaluate(self, node: ast.expr, env: Environment) -> Value:
        """What is known of an expression."""

    @abstractmethod
    def outcome(self, statements: Sequence[ast.stmt], env: Environment) -> Environment:
        """The environment after a whole body, whichever return it left by."""

    @abstractmethod
    def inside(self, module: str, under: Hashable) -> "Context":
        """The context of a constructor of another module, silent, with what constructors share."""

    def again(self, key: Hashable, given: tuple[object, ...], compute: Callable[[], Found]) -> Found:
        """The last answer for ``key``, if it is given the very same objects: a body is followed many times."""
        last = self._last.get(key)
        if last is None or len(last[0]) != len(given) or not all(map(operator.is_, last[0], given)):
            last = self._last[key] = (given, compute())
        found: Found = last[1]
        return found


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function, a class or a method of ``receiver``; an operator with its operands; an attribute of ``receiver``."""

    context: Context
    name: str  # under which the table has it
    node: ast.expr
    env: Environment
    receiver: Value = UNKNOWN
    arguments: Sequence[Value] = ()
    keywords: Mapping[str, Value] = field(default_factory=dict[str, Value])
    spread: bool = False  # by * or **: which argument meets which parameter is not known

    def argument(self, place: int, name: str) -> Value:
        """An argument by its place or its name."""
        return self.arguments[place] if place < len(self.arguments) else self.keywords.get(name, UNKNOWN)

    @property
    def first(self) -> ast.expr:
        """Where the first argument stands."""
        return self.node.args[0] if isinstance(self.node, ast.Call) and self.node.args else self.node

    def complain(self, message: str, node: ast.AST | None = None) -> Value:
        """Say what is wrong; what comes of it is unknown."""
        self.context.world.complain(message, self.node if node is None else node)
        return UNKNOWN


Analysis: TypeAlias = Callable[[Call], Value]


def once(analysis: Analysis) -> Analysis:
    """An analysis that is not repeated for the same call of the very same values."""

    @wraps(analysis)
    def remembered(call: Call) -> Value:
        given = (call.node, call.receiver, *call.arguments, *call.keywords.values())
        return call.context.again((analysis, id(call.node)), given, lambda: analysis(call))

    return remembered


def mutated(target: ast.expr, env: Environment) -> None:
    """What a name, or an attribute of self, holds was changed in place."""
    if isinstance(target, ast.Name) or of_self(target):
        env[ast.unparse(target)] = UNKNOWN
