"""What the statements of one module declare."""

import ast
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from mypy import nodes

from typednn.mypy_plugin import annotations, changes, decorators, syntax


@dataclass
class InModule:
    """What the statements of a whole module declare, each read when it is first needed."""

    statements: list[nodes.Statement]

    @cached_property
    def aliases(self) -> annotations.Aliases:
        """Its aliases of annotations."""
        return annotations.aliases(self.statements)

    @cached_property
    def assigned(self) -> set[str]:
        """The attributes that it assigns on anything but self."""
        return changes.assigned(self.body, others=True)

    @cached_property
    def altered(self) -> frozenset[str]:
        """What it may change of other modules: what it assigns on anything but self, and imported names."""
        imports = [each for each in self.statements if isinstance(each, nodes.ImportFrom)]
        names = {bound or name: name for each in imports for name, bound in each.names}
        return frozenset(self.assigned.union(names[name] for name in changes.changed(self.body) if name in names))

    @cached_property
    def copied(self) -> set[str]:
        """The names that it assigns to other names: the types of both must stay compatible."""
        return changes.copied(self.body)

    @cached_property
    def changed_by_decorators(self) -> set[int]:
        """The functions of which a decorator may make something else, by their ids."""
        functions = syntax.decorated(self.statements)
        return {id(each.func) for each in functions if not self.keeps_signature(each.original_decorators)}

    @cached_property
    def keeping(self) -> frozenset[str]:
        """Its own decorators that keep a function as it is."""
        return decorators.keeping(self.body)

    def keeps_signature(self, several: Iterable[nodes.Expression]) -> bool:
        """Whether a function of this module under these decorators still is what its annotations say."""
        return syntax.keeps_signature(several, self.keeping)

    @cached_property
    def touched(self) -> frozenset[str]:
        """The names that it changes more than once, in functions too: a list may then hold something else."""
        return frozenset(name for name, times in Counter(changes.changed(self.body)).items() if times > 1)

    @cached_property
    def reshapes(self) -> bool:
        """Whether something in it sets the shape of an array in place."""
        return changes.reshapes(self.body)

    @cached_property
    def body(self) -> list[ast.stmt]:
        """As Python's own syntax tree."""
        return syntax.block(self.statements)


_latest: list[InModule] = []


def in_module(tree: nodes.MypyFile) -> InModule:
    """Of one module at a time; the daemon puts new statements into a tree that it keeps."""
    if not _latest or _latest[0].statements is not tree.defs:
        _latest[:] = [InModule(tree.defs)]
    return _latest[0]
