"""What the names of a module mean: classes, functions, modules, and constants that are final.

The world of a constructor is its module's names, and silent: wrong arguments show where its layers are used. A scope
that mypy is checking (`body.Body`) knows more, and complains.
"""

import ast
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mypy import nodes
from mypy.server.trigger import make_trigger
from mypy.types import Instance, Type, get_proper_type

from typednn.mypy_plugin import classes
from typednn.mypy_plugin.types import rank_of, value_of
from typednn.mypy_plugin.values import UNKNOWN, Reference, Value, number

Made = TypeVar("Made")


@dataclass(slots=True)
class Workshop:
    """What all constructors share while mypy checks once: what was made is not made again.

    mypy must know of everything that a verdict depends on, so each entry remembers the names that were asked for.
    """

    made: dict[Hashable, tuple[Any, set[str]]] = field(default_factory=dict[Hashable, "tuple[Any, set[str]]"])
    asked: list[set[str]] = field(default_factory=list["set[str]"])
    constructions: int = 0

    def note(self, fullname: str) -> None:
        """A name of some module was asked for."""
        for names in self.asked:
            names.add(fullname)

    def once(self, key: Hashable, make: Callable[[], Made], depend: Callable[[str], None]) -> Made:
        """What ``make`` gives, made once; ``depend`` hears of every name that it asks for, each time."""
        if key in self.made:
            for name in self.made[key][1]:
                depend(name)
        else:
            self.asked.append(set())
            try:
                self.made[key] = make(), self.asked[-1]
            finally:
                self.asked.pop()
        found: Made = self.made[key][0]
        return found


@dataclass(eq=False)
class Names:
    """Where an evaluator learns about names and calls, and where its complaints go."""

    api: Any
    module: str
    workshop: Workshop

    def resolve(self, name: str, node: ast.expr | None = None) -> Value:
        tree = self.api.modules.get(self.module)
        return UNKNOWN if tree is None else self.within(tree, name)

    def within(self, module: Any, name: str) -> Value:
        node = getattr(module.names.get(name), "node", None)
        if node is not None:
            self.depend(node.fullname)
        return meaning(node)

    def depend(self, fullname: str) -> None:
        """What mypy is checking depends on a name, of another module perhaps: for its cache, and for its daemon."""
        self.workshop.note(fullname)
        self.api.module_refs.add(fullname.rpartition(".")[0])
        self.api.tree.plugin_deps.setdefault(make_trigger(fullname), set()).add(self.api.tscope.current_target())

    def defines(self, name: str, node: ast.expr) -> bool:
        tree = self.api.modules.get(self.module)
        return tree is not None and name in tree.names

    def inside(self, module: str) -> "Names":
        return Names(self.api, module, self.workshop)

    def typed(self, node: ast.expr) -> Value:
        return value_of(self.type_at(node))

    def signature(self, node: ast.expr) -> tuple[str, classes.Signature] | None:
        return None

    def complain(self, message: str, node: ast.AST) -> None: ...

    def note(self, message: str, node: ast.AST) -> None: ...

    def lost(self, what: str, node: ast.AST) -> None: ...

    def type_at(self, node: ast.AST) -> Type | None:
        """What mypy found, where it is checking."""
        return None

    def rank(self, node: ast.AST) -> int | None:
        """How many axes mypy itself knows an array to have: then it is mypy that says so when they are too many."""
        return rank_of(self.type_at(node))

    def class_name(self, node: ast.AST) -> str:
        declared = get_proper_type(self.type_at(node))
        return declared.type.fullname if isinstance(declared, Instance) else ""


def meaning(node: Any) -> Value:
    """What a symbol stands for."""
    match node:
        case nodes.Var():
            return number(node.final_value) if node.is_final and type(node.final_value) is int else value_of(node.type)
        case nodes.TypeAlias():
            target = get_proper_type(node.target)
            return Reference(target.type) if isinstance(target, Instance) else UNKNOWN
        case None | nodes.PlaceholderNode():
            return UNKNOWN
        case _:
            return Reference(node.func if isinstance(node, nodes.Decorator) else node)
