"""The meaning of a module's names: classes, functions, modules, and final constants.

The scope of a constructor is its module's names. It reports nothing: wrong arguments are reported where its layers are
used. A scope that mypy is checking (`body.Body`) knows more, and reports errors.
"""

import ast
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from mypy import nodes
from mypy.checker import TypeChecker
from mypy.server.trigger import make_trigger
from mypy.types import CallableType, Instance, NoneType, TupleType, Type, TypedDictType, get_proper_type

from typednn.mypy_plugin import classes, sources, syntax
from typednn.mypy_plugin.modules import in_module
from typednn.mypy_plugin.types import of_numbers, rank_of, value_of
from typednn.mypy_plugin.values import UNKNOWN, Layer, Many, Pack, Reference, Value, number, unshared
from typednn.shapes import Pair, leave, undecided

Result = TypeVar("Result")

# The classes of what `contextmanager` makes of a generator: its call is known by what the generator yields.
OF_GENERATORS = ("contextlib._GeneratorContextManager", "contextlib._AsyncGeneratorContextManager")
CALLS = 20_000  # of functions and constructors that are evaluated in one module; further ones are unknown


@dataclass(slots=True)
class ConstructionCache:
    """Results of constructors, kept during one run of mypy.

    mypy must know all that a result depends on, so each entry keeps the names that were looked up for it.
    """

    run: object  # one object for each run of mypy
    results: dict[Hashable, tuple[object, set[str], list[Pair]]] = field(
        default_factory=dict[Hashable, "tuple[object, set[str], list[Pair]]"]
    )
    requested: list[set[str]] = field(default_factory=list["set[str]"])  # of the constructors that are running
    calls: int = 0  # of functions and constructors that were evaluated for the module that is checked
    told_spent: bool = False  # whether a note says from where on no call is followed
    # by id: nodes of functions that a call was blamed for, and that call
    told: dict[int, tuple[nodes.Context, nodes.Context]] = field(
        default_factory=dict[int, "tuple[nodes.Context, nodes.Context]"]
    )
    held: Callable[[str], Value] = lambda name: UNKNOWN  # what a name of the module that is checked holds
    running: set[str] = field(default_factory=set[str])  # the constants of other modules that are evaluated
    evaluate: Callable[["Names", str], Value] = lambda scope, text: UNKNOWN  # an expression that a module assigns
    # the nodes that are refused in a function by itself
    faults: Callable[[nodes.FuncDef], frozenset[int]] = lambda function: frozenset()

    @property
    def spent(self) -> bool:
        """Whether no more calls are followed in the module that is checked."""
        return self.calls > CALLS

    def end(self) -> str:
        """What to say where following ends."""
        self.told_spent = True
        return (
            f"calls are followed no further than here: {CALLS:,} were evaluated in this file; what later ones give "
            "is not checked"
        )

    def begin(self) -> None:
        """Another module is checked."""
        self.calls, self.told_spent = 0, False


@dataclass(eq=False)
class Names:
    """Where an evaluator looks up names and calls, and reports errors."""

    api: TypeChecker
    module: str
    cache: ConstructionCache
    complaints: list[tuple[str, ast.AST]] = field(default_factory=list["tuple[str, ast.AST]"])
    pairs: list[Pair] | None = None  # what comparisons have not decided since `leave_open`; None: nobody counts them
    muted: int = 0  # within how many statements that catch what is raised in them: there a mistake may be on purpose
    # whether it is of the module that mypy checks, reached from there by its own functions and constructors alone
    follows: bool = False
    running: str = ""  # the function of another module that is followed

    def reads(self, module: str) -> bool:
        """Whether the bodies of a module's functions are read as they are now: of the one that mypy checks."""
        return self.follows and module == self.api.tree.fullname

    def source(self, function: nodes.FuncDef) -> ast.FunctionDef | None:
        """A function as it is written: in the module that mypy checks as it is now, in another one as it was kept."""
        module = module_of(function)
        if self.reads(module):
            key = ("source", function.fullname, id(function))
            return self.once(key, lambda: syntax.as_function(function)) if function.body.body else None
        kept = self.sources_of(module)
        if kept is None or function.name in self.altered[0]:
            return None
        name = function.fullname.removeprefix(f"{module}.")
        return self.once(("source", function.fullname), lambda: sources.function(kept, name))

    def sources_of(self, module: str) -> sources.Sources | None:
        """What a module of the project defines; what is checked now depends on it."""
        kept = sources.kept(self.api.modules.get(module))
        if kept is not None:
            self.depend(f"{module}.{sources.NAME}")
        return kept

    def keeps_signature(self, function: nodes.FuncDef) -> bool:
        """Whether no decorator makes something else of a function."""
        if not function.is_decorated:
            return True
        module = module_of(function)
        if module != self.api.tree.fullname:
            kept = self.sources_of(module)
            return kept is not None and function.fullname.removeprefix(f"{module}.") in kept["functions"]
        symbol = (function.info.names if function.info else self.api.tree.names).get(function.name)
        node = symbol.node if symbol is not None else None
        first = node.items[0] if isinstance(node, nodes.OverloadedFuncDef) and node.is_property else node
        return isinstance(first, nodes.Decorator) and in_module(self.api.tree).keeps_signature(
            first.original_decorators
        )

    @property
    def reshapes(self) -> bool:
        """Whether a function of the module that mypy checks may set the shape of an array in place."""
        return in_module(self.api.tree).reshapes

    @property
    def altered(self) -> tuple[frozenset[str], bool]:
        """What the module that mypy checks may change of others, by name; whether it sets the shapes of arrays."""
        return in_module(self.api.tree).altered, self.reshapes

    def resolve(self, name: str, node: ast.expr | None = None) -> Value:
        """The value of a name."""
        tree = self.api.modules.get(self.module)
        held = self.cache.held(name) if self.reads(self.module) else UNKNOWN
        if tree is None or held is not UNKNOWN:
            return held
        return self.within(tree if name in tree.names else self.api.modules.get("builtins", tree), name)

    def within(self, module: nodes.MypyFile, name: str) -> Value:
        """The value of a name in another module."""
        node = getattr(module.names.get(name), "node", None)
        self.depend(f"{module.fullname}.{name}")  # which another module may have defined
        if node is not None:
            self.depend(node.fullname)
        return self.meaning(node)

    def meaning(self, node: Any) -> Value:
        """The value of a symbol: of a name that another module assigns once, what it assigns."""
        value = meaning(node)
        if isinstance(node, nodes.Var) and (value is UNKNOWN or isinstance(value, Pack | Many)):
            assigned = self._constant(node)
            return value if assigned is UNKNOWN else assigned
        return value

    def _constant(self, node: nodes.Var) -> Value:
        module, _, name = node.fullname.rpartition(".")
        kept = None if self.reads(module) else self.sources_of(module)
        altered, _ = self.altered
        if kept is None or name not in kept["constants"] or name in altered or node.fullname in self.cache.running:
            return UNKNOWN
        text = kept["constants"][name]
        self.cache.running.add(node.fullname)
        try:
            scope = self.inside(module)
            value = self.once(("constant", node.fullname), lambda: self.cache.evaluate(scope, text))
        finally:
            self.cache.running.discard(node.fullname)
        if isinstance(value, Layer):
            changed = altered.union(kept["assigned"])
            return replace(
                value, attributes={each: held for each, held in value.attributes.items() if each not in changed}
            )
        if unshared(value) is value:
            return value
        return replace(value, frozen=True) if isinstance(value, Pack) else UNKNOWN

    def depend(self, fullname: str) -> None:
        """Tell mypy's cache and daemon that the checked code depends on a name, perhaps of another module."""
        for names in self.cache.requested:
            names.add(fullname)
        self.api.module_refs.add(fullname.rpartition(".")[0])
        self.api.tree.plugin_deps.setdefault(make_trigger(fullname), set()).add(self.api.tscope.current_target())

    def once(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """The result of ``compute``, which runs once; what is checked now depends on every name that it looked up."""
        key = (key, self.api.tree.fullname if self.follows else self.altered)
        if key in self.cache.results:
            for name in self.cache.results[key][1]:
                self.depend(name)
        else:
            self.cache.requested.append(set())
            try:
                with undecided() as pairs:
                    self.cache.results[key] = compute(), self.cache.requested[-1], pairs
            finally:
                self.cache.requested.pop()
        result, _, pairs = self.cache.results[key]
        for pair in pairs:
            leave(*pair)
        return cast("Result", result)

    def defines(self, name: str, node: ast.expr) -> bool:
        """Whether the name is not one of Python's own."""
        tree = self.api.modules.get(self.module)
        return tree is not None and name in tree.names

    def inside(self, module: str) -> "Names":
        """The names of another module."""
        return Names(self.api, module, self.cache, follows=self.follows and module == self.api.tree.fullname)

    def typed(self, node: ast.expr) -> Value:
        """What the type alone says of an expression."""
        return value_of(self.type_at(node))

    def signature(self, node: ast.expr) -> classes.Known | None:
        """What is known of the function that a call calls."""

    def declared(self, node: ast.Attribute | ast.Subscript) -> Value:
        """What a class declares of its field, ``batch.x``, or a TypedDict, ``batch["x"]``: nothing of a list, which may
        hold something else by now. The names of its axes are the class's own.
        """
        field: Type | None = None
        match node, get_proper_type(self.type_at(node.value)):
            case ast.Attribute(attr=name), (Instance(type=info) | TupleType(partial_fallback=Instance(type=info))) if (
                isinstance(variable := classes.member(info, name), nodes.Var) and not variable.is_inferred
            ):
                field = variable.type
            case ast.Subscript(slice=ast.Constant(value=str() as name)), TypedDictType(items=fields):
                field = fields.get(name)
            case _:
                pass
        return unshared(value_of(field, of_numbers))

    def complain(
        self, message: str, node: ast.AST, caller: ast.AST | None = None, cure: tuple[ast.AST, str] | None = None
    ) -> None:
        """Keep an error, for whoever called what is evaluated here.

        ``caller`` is the call whose arguments are to blame; ``cure`` the one argument that would mend it, and what to
        write there.
        """
        if not self.muted:
            here = caller is None and self.running  # and not in a function that is called from here
            where = f" (in {self.running}, line {getattr(node, 'lineno', 0)} of {self.module})" if here else ""
            self.complaints.append((message + where, node))

    def note(self, message: str, node: ast.AST) -> None:
        """Report a note."""

    def leave_open(self, node: ast.AST) -> None:
        """Keep the comparisons that were not decided in ``node``, if this scope's are counted."""

    def reached(self, test: ast.expr, body: Sequence[ast.AST]) -> bool:
        """Whether a branch can be taken, as far as mypy tells: it checks none that types exclude."""
        return True

    def catches_nothing(self, manager: ast.expr) -> bool:
        """Whether the type of a context manager says that it lets exceptions pass."""
        declared = get_proper_type(self.type_at(manager))
        leave = declared.type.get("__exit__") if isinstance(declared, Instance) else None
        kind = get_proper_type(leave.type) if leave is not None else None
        called = getattr(syntax.origin(manager.func), "node", None) if isinstance(manager, ast.Call) else None
        if isinstance(called, nodes.Decorator) and self.class_name(manager) in OF_GENERATORS:
            return _raises_where_it_yields(called.func)
        return isinstance(kind, CallableType) and isinstance(get_proper_type(kind.ret_type), NoneType)

    def type_at(self, node: ast.AST) -> Type | None:
        """The type that mypy found, in a scope that it is checking."""

    def rank(self, node: ast.AST) -> int | None:
        """The number of axes that mypy knows of an array. Where it is known, mypy reports a wrong number itself."""
        return rank_of(self.type_at(node))

    def class_name(self, node: ast.AST) -> str:
        """The full name of the class of an expression, by its type."""
        declared = get_proper_type(self.type_at(node))
        return declared.type.fullname if isinstance(declared, Instance) else ""


def module_of(function: nodes.FuncDef) -> str:
    """The module that defines a function, or its class."""
    return function.info.module_name if function.info else function.fullname.rpartition(".")[0]


def meaning(node: Any) -> Value:
    """The value of a symbol, by its type."""
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


def _raises_where_it_yields(generator: nodes.FuncDef) -> bool:
    """Whether what is raised where a generator yields leaves it: nothing around a ``yield`` may catch it."""
    walked = syntax.walk(syntax.as_function(generator))
    around = [
        each
        for each in walked
        if isinstance(each, ast.With)
        or (
            isinstance(each, ast.Try)
            and (each.handlers or any(isinstance(one, ast.Return) for one in syntax.walk(each)))
        )
    ]
    inside = {id(each) for one in around for each in syntax.walk(one)}
    yields = [each for each in walked if isinstance(each, ast.Yield | ast.YieldFrom)]
    return bool(yields) and not any(id(each) in inside for each in yields)
