"""One scope: a function body, a class body, the statements of a module.

While mypy checks a scope, the types of layers need contracts, so the scope is evaluated silently up to the statement
that mypy is in (`value`). When mypy has checked the module, the whole scope is evaluated once, with all types known,
and every mistake is reported (`check`).
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, TypeAlias, cast

from mypy import nodes
from mypy.checker import TypeChecker
from mypy.types import Instance, Type, UnionType, get_proper_type

from typednn.mypy_plugin import annotations, changes, classes, libraries, syntax
from typednn.mypy_plugin.array_functions.dtypes import WEAK_BOOL, WEAK_FLOAT
from typednn.mypy_plugin.classes import SHAPE
from typednn.mypy_plugin.features.constructors import constants, symbolic
from typednn.mypy_plugin.features.returns import returned, yielded
from typednn.mypy_plugin.modules import in_module
from typednn.mypy_plugin.names import ConstructionCache, Names
from typednn.mypy_plugin.sizes import names_of
from typednn.mypy_plugin.statements import Statements
from typednn.mypy_plugin.types import of_class, value_of
from typednn.mypy_plugin.values import (
    DOT,
    FLEXIBLE,
    OWN,
    UNKNOWN,
    Array,
    Constant,
    Environment,
    Layer,
    Pack,
    Reference,
    Value,
    lookup,
    printed,
    symbol,
    unshared,
)
from typednn.shapes import Flow, Lookup, Pair, undecided, unknown

Scope: TypeAlias = "nodes.FuncDef | nodes.TypeInfo | nodes.MypyFile"


# times that a statement of several lines is evaluated while mypy checks it; what is not known by then has no contract
_ASKED = 32
_WHILE_ASKED = 8  # elements of loops that are evaluated one by one whenever mypy asks


class Body(Names):
    """One scope of the module that mypy checks.

    ``outer`` is the module's own, for the values of its names; ``around`` the function that a nested function stands
    in.
    """

    def __init__(
        self, api: TypeChecker, scope: Scope, outer: "Body | None", around: "Body | None", cache: ConstructionCache
    ) -> None:
        super().__init__(api, api.tree.fullname, cache, follows=True)
        self.outer = outer
        self.around = around
        self.binder: Any = None  # mypy's own record of its check of this scope, new for each
        self.reporting: bool = False
        self.context: nodes.Context = api.tree
        # that were reported: the message, its node, what to write where
        self.problems: list[tuple[str, nodes.Context, tuple[nodes.Context, str] | None]] = []
        self.undecided: list[tuple[nodes.Context, Pair]] = []
        self.refusals: set[int] | None = None  # by mypy node, when all of the scope was evaluated
        self.refused: set[int] = set()  # operands of >> that have another number of axes, by mypy node
        self.signatures: dict[int, tuple[nodes.Context, classes.Known | None]] = {}
        self.function: nodes.FuncDef | None = scope if isinstance(scope, nodes.FuncDef) else None
        self.info: nodes.TypeInfo | None = (self.function.info or None) if self.function is not None else None
        self.in_constructor: bool = (
            self.info is not None and self.function is not None and self.function.name == "__init__"
        )
        module_facts = in_module(api.tree)
        self.annotated: classes.Signature | None = (
            classes.signature(self.function, module_facts.aliases) if self.function is not None else None
        )
        parameters = self.annotated["parameters"] if self.annotated else []
        self.parameters: annotations.Aliases = {name.lstrip("="): alternatives for name, alternatives in parameters}
        self.statements: list[ast.stmt] = syntax.block(_statements(scope))
        # The names that functions inside declare global, or nonlocal: they may change whenever one is called.
        self.rebound: frozenset[str] = changes.rebound(
            self.statements, ast.Global if self.function is None else ast.Nonlocal
        )
        if self.function is None:  # values that a module or a class defines are found by name
            self.statements = [each for each in self.statements if not isinstance(each, ast.FunctionDef | ast.ClassDef)]
        often = {name for name, times in Counter(changes.changed(self.statements)).items() if times > 1}
        self.shared: frozenset[str] = self.rebound | often | module_facts.copied
        self.touched: frozenset[str] = module_facts.touched if self.function is None else frozenset()
        self.position: int = 0  # of the statement that mypy is in; those before it are evaluated
        self.settled: dict[int, Value] = {}  # by mypy node: values of this statement
        self.asked: int = 0  # how often this statement was evaluated for mypy
        names = frozenset(
            name for _, alternatives in parameters for _, text, _ in alternatives for name in names_of(text)
        )
        kept = (
            []
            if self.info is None or self.annotated is None
            else [each for each in classes.fields(self.info).values() if each[0] == "Kept"]
        )
        kept_names = frozenset(
            name for _, alternatives in kept for _, text, _ in alternatives for name in names_of(text)
        )
        self.evaluator: Statements = Statements(self, names | kept_names, rigid=(names - self._optional(),))
        self.evaluator.watch(self.statements, self.rebound)
        self.attributes: Lookup = unknown
        self.env: Environment = self._entry()

    # ------------------------------------------------------------------ the start

    def _entry(self) -> Environment:
        arguments = [] if self.function is None else self.function.arguments
        env: Environment = {}
        if self.function is not None and self.info is not None and arguments and arguments[0].variable.name == "self":
            env["self"] = own = (
                of_class(self.info, "", constants(self.evaluator, self.info))
                if self.in_constructor
                else symbolic(self.evaluator, self.info)
            )
            self.attributes = self.evaluator.attributes = lookup(own.attributes, self._sizes())
            self.evaluator.own = own
            self.evaluator.assigned = classes.assigned(self.info)
            self.evaluator.rigid = self._rigid(own)
        elif self.function is not None:
            self.attributes = self.evaluator.attributes = lookup({}, self._sizes())
            self.evaluator.rigid = self._rigid(None)
        if self.function is not None and self.annotated is not None:
            self.evaluator.returns = partial(returned, self.evaluator, self.function, self.annotated, self.attributes)
            self.evaluator.yields = partial(yielded, self.evaluator, self.function, self.attributes)
        return {each.variable.name: self._parameter(each) for each in arguments} | env

    def _rigid(self, own: Layer | None) -> tuple[frozenset[str], ...]:
        """The names that stand for any sizes: the axes of this function with the sizes that it names, and all sizes of
        the class.
        """
        if self.annotated is None:
            return self.evaluator.rigid
        flexible = UNKNOWN if own is None else own.attributes.get(FLEXIBLE, UNKNOWN)
        known = (
            {str(each.value) for each in flexible.items if isinstance(each, Constant)}
            if isinstance(flexible, Pack)
            else set[str]()
        )

        def sizes(facts: object) -> frozenset[str]:
            found = (self.attributes(path) for path in re.findall(r"\{([\w.\[\]]+)\}", json.dumps(facts)))
            return frozenset(name for size in found if size is not None for name in size.names()) - known

        of_class = (
            []
            if self.info is None
            else [[facts["methods"], facts["fields"]] for _, facts in classes.all_facts(self.info)]
        )
        return (self.evaluator.rigid[0] | sizes(self.annotated), sizes(of_class))

    def _optional(self) -> frozenset[str]:
        """The axes that only parameters have which may be something else than an array: then they have no size yet."""
        arguments = [] if self.function is None else self.function.arguments
        unions = {each.variable.name: isinstance(get_proper_type(each.variable.type), UnionType) for each in arguments}
        found: dict[bool, set[str]] = {True: set(), False: set()}
        for name, alternatives in self.parameters.items():
            plain = not unions.get(name.lstrip("*"), False)
            found[plain].update(axis for _, text, _ in alternatives for axis in names_of(text))
        return frozenset(found[False] - found[True])

    def _sizes(self) -> dict[str, Value]:
        """The integers among the parameters, which annotations may name in braces."""
        arguments = [] if self.function is None else self.function.arguments
        named = classes.sized(self.annotated)
        return {
            each.variable.name: symbol(each.variable.name + DOT, positive=each.variable.name in named)
            for each in arguments
            if isinstance(declared := get_proper_type(each.variable.type), Instance)
            and declared.type.fullname == "builtins.int"
        }

    def _parameter(self, argument: nodes.Argument) -> Value:
        name, declared = argument.variable.name, get_proper_type(argument.variable.type)
        if argument.kind.is_star() or name in self.rebound:
            return UNKNOWN
        library = libraries.library_of(declared)
        alternatives = self.parameters.get(name, []) if library else []
        if alternatives:
            return self.evaluator.promised([[kind, text, library] for kind, text, _ in alternatives])
        plain = declared.type.fullname if isinstance(declared, Instance) else ""
        if plain in ("builtins.float", "builtins.bool"):
            return Array(Flow.of(()), WEAK_FLOAT if plain == "builtins.float" else WEAK_BOOL)
        if plain == "builtins.int":
            return symbol(name + DOT, positive=False)
        value = value_of(declared, self.evaluator.promised)
        return unshared(value) if name in self.evaluator.reached else value

    # ------------------------------------------------------------------ following mypy

    def value(self, context: nodes.Context) -> Value:
        """What is known of the expression that mypy is checking."""
        expression = syntax.expression(cast("nodes.Expression", context))
        if not self._reach(context):
            return self.evaluator.evaluate(expression, {})
        statement = self.statements[self.position]
        env = dict(self.env)
        if isinstance(statement, ast.Assign | ast.Expr | ast.Return):
            shape = Shape.of(statement)
            env |= dict.fromkeys(shape.hidden, UNKNOWN)
            self.evaluator.settled, self.evaluator.values = True, self.settled
            try:
                return self.evaluator.evaluate(shape.by_origin.get(id(context)) or expression, env)
            finally:
                self.evaluator.settled = False
        # mypy asks at each call in the statement, of a loop again and again. What was known once holds; more may be
        # known later.
        if self.settled.get(id(context), UNKNOWN) is UNKNOWN and self.asked < _ASKED:
            self.asked += 1
            self.evaluator.values, kept = {}, self.evaluator.unrolled
            self.evaluator.unrolled = min(kept, _WHILE_ASKED)
            try:
                self.evaluator.step(statement, env)
            finally:
                self.evaluator.unrolled = kept
            self.settled = self.evaluator.values
        return self.settled.get(id(context), UNKNOWN)

    def kept(self, context: nodes.Context) -> bool:
        """Whether the type of ``context`` may carry its contract: its value goes into a variable that never holds
        another one.

        A variable or a container that later holds a layer of other sizes would have a type that is too narrow.
        """
        if self.position == len(self.statements):
            return True
        shape = Shape.of(self.statements[self.position])
        return self._alone(shape.by_origin.get(id(context)), shape.parents)

    def _alone(self, node: ast.AST | None, parents: Mapping[int, ast.AST]) -> bool:
        outer = parents.get(id(node))
        match outer:
            case ast.Assign(targets=targets):
                return all(map(self._single, targets))
            case ast.Tuple() if isinstance(above := parents.get(id(outer)), ast.Assign):
                return all(isinstance(target, ast.Tuple) and self._single(target) for target in above.targets)
            case ast.List() | ast.Tuple() | ast.Dict() | ast.Set() | ast.ListComp() | ast.GeneratorExp():
                return False
            case ast.IfExp() | ast.NamedExpr() | ast.keyword():
                return self._alone(outer, parents)
            case ast.Call() if outer.func is not node and not self._is_layer(outer):
                return self._alone(outer, parents)  # Box(Linear(4, 2)): the type of the box may depend on its content
            case ast.Attribute() if isinstance(called := parents.get(id(outer)), ast.Call) and called.func is outer:
                return self._alone(called, parents)  # .named(…), .init(…)
            case _:
                return True

    def _is_layer(self, call: ast.Call) -> bool:
        value = self.resolve(call.func.id, call.func) if isinstance(call.func, ast.Name) else UNKNOWN
        return (
            isinstance(value, Reference)
            and isinstance(value.node, nodes.TypeInfo)
            and value.node.has_base(classes.MODULE)
        )

    def _single(self, target: ast.expr) -> bool:
        match target:
            case ast.Name(id=name):
                return name not in self.shared
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if self.info and self.in_constructor:
                passed_on = classes.passed_on(self.info)
                return f"self.{name}" not in self.shared and name not in self.evaluator.assigned | passed_on
            case ast.Tuple(elts=targets):
                return all(map(self._single, targets))
            case _:
                return False

    def check(self) -> None:
        """Evaluate the whole scope once, with all that mypy found, and report what does not fit."""
        self.reporting, self.problems, self.undecided = True, [], []
        try:
            with self._target(), undecided() as self.pairs:
                self._whole()
        finally:
            self.reporting, self.pairs = False, None

    def faults(self) -> frozenset[int]:
        """The nodes that are refused here, whoever calls it."""
        if self.refusals is None:
            with undecided():
                self._whole()
        return frozenset(self.refusals or ())

    def _whole(self) -> None:
        self.refusals = set()
        self.evaluator.begin()
        self.evaluator.values = {}
        self.env, self.position = self._entry(), len(self.statements)
        self.env = self.evaluator.run(self.statements, self.env) or self.env

    def held(self, name: str) -> Value:
        """What a name of this module holds, where nothing changes it afterwards."""
        value = UNKNOWN if name in self.evaluator.unsteady else self.env.get(name, UNKNOWN)
        if unshared(value) is value:
            return value
        return replace(value, frozen=True) if isinstance(value, Pack) and name not in self.touched else UNKNOWN

    @contextmanager
    def _target(self) -> Generator[None]:
        """As mypy's daemon sees it, errors and dependencies belong to the outermost function."""
        outermost, target = self, self.api.tscope
        while outermost.around is not None:
            outermost = outermost.around
        kept, target.function = target.function, outermost.function
        try:
            yield
        finally:
            target.function = kept

    def checked(self) -> bool:
        """Whether mypy has checked these statements, and did not leave them out."""
        walked = (syntax.origin(node) for each in self.statements for node in syntax.walk(each))
        return any(isinstance(each, nodes.Expression) and self.type_of(each) is not None for each in walked)

    def _reach(self, context: nodes.Context) -> bool:
        """Move to the statement that holds ``context``; those before it are done."""
        self.context = context
        places = range(self.position, len(self.statements))
        place = next((place for place in places if _holds(syntax.origin(self.statements[place]), context)), None)
        if place is None:
            return False
        if place != self.position:
            self.settled, self.asked = {}, 0
        while self.position < place:
            self._step()
        return True

    def reach(self, context: nodes.Context) -> None:
        """Evaluate the module up to a function that mypy begins to check."""
        while (
            self.position < len(self.statements) and syntax.origin(self.statements[self.position]).line < context.line
        ):
            self._step()

    def _step(self) -> None:
        self.env = self.evaluator.step(self.statements[self.position], self.env) or {}
        self.position += 1

    # ------------------------------------------------------------------ the scope of its evaluator

    def resolve(self, name: str, node: ast.expr | None = None) -> Value:
        expression = syntax.origin(node)
        if not isinstance(expression, nodes.NameExpr):
            return super().resolve(name)
        if self.around is not None and expression.kind == nodes.LDEF:
            return self.around.held(name) if name in self.around.env else self.around.resolve(name, node)
        if expression.kind != nodes.GDEF or expression.node is None:
            return UNKNOWN
        if self.outer is not None and expression.node.fullname == f"{self.module}.{name}":
            value = self.outer.held(name)  # more than its type says: how it was built
            if value is not UNKNOWN and not isinstance(value, Array):
                return value
        return self.meaning(expression.node)

    def defines(self, name: str, node: ast.expr) -> bool:
        return isinstance(syntax.origin(node), nodes.NameExpr) or super().defines(name, node)

    def type_at(self, node: ast.AST) -> Type | None:
        expression = syntax.origin(node)
        return self.type_of(expression) if isinstance(expression, nodes.Expression) else None

    def signature(self, node: ast.expr) -> classes.Known | None:
        return self.signatures.get(id(syntax.origin(node)), (None, None))[1]

    def remember(self, context: nodes.Context, signature: classes.Known) -> None:
        """Keep the annotations of what ``context`` calls; none for a union whose members differ."""
        _, earlier = self.signatures.get(id(context), (None, signature))
        self.signatures[id(context)] = (context, signature if earlier == signature else None)

    def complain(
        self, message: str, node: ast.AST, caller: ast.AST | None = None, cure: tuple[ast.AST, str] | None = None
    ) -> None:
        if self.muted:
            return
        calling = syntax.origin(caller)
        context = syntax.origin(node) or calling or self.context
        text = printed(message) + (
            f" (called in line {calling.line})" if calling is not None and context is not calling else ""
        )
        if " axes (" in text:
            self.refused.add(id(context))
        if self.refusals is not None:
            self.refusals.add(id(context))
        # mypy's daemon may check a scope again in the same run: then the call that was blamed is to blame again
        known = calling is not None and any(context is each for _, each, _ in self.problems)
        if self.reporting and not known and self.cache.told.get(id(context), (context, calling))[1] is calling:
            if calling is not None:
                self.cache.told[id(context)] = context, calling
            argument = None if cure is None else syntax.origin(cure[0])
            self.problems.append((text, context, None if cure is None or argument is None else (argument, cure[1])))
            self.api.fail(text, context, code=SHAPE)

    def reached(self, test: ast.expr, body: Sequence[ast.AST]) -> bool:
        if not self.reporting or self.type_at(test) is None:
            return True
        nodes_within = (syntax.origin(node) for each in body for node in syntax.walk(each))
        expressions = [each for each in nodes_within if isinstance(each, nodes.Expression)]
        return not expressions or any(self.type_of(each) is not None for each in expressions)

    def refused_rank(self, node: nodes.Node) -> bool:
        """Whether ``node`` was refused for its number of axes, which mypy would report again in its own words."""
        return id(node) in self.refused

    def type_of(self, node: nodes.Expression) -> Type | None:
        """The type that mypy found for an expression that it has checked."""
        return self.api.lookup_type_or_none(node)

    def note(self, message: str, node: ast.AST) -> None:
        if self.reporting:
            self.api.note(printed(message), syntax.origin(node) or self.context, code=SHAPE)

    def leave_open(self, node: ast.AST) -> None:
        expression = syntax.origin(node)
        if expression is not None and self.cache.spent and not self.cache.told_spent:
            self.note(self.cache.end(), node)
        if expression is not None and self.pairs is not None:
            # those are bound so
            pairs = [pair for pair in self.pairs if not any(str(size).endswith(OWN) for size in pair)]
            self.undecided += [(expression, (b, a) if str(b) < str(a) else (a, b)) for a, b in pairs]
            self.pairs.clear()


def _statements(scope: Scope) -> list[nodes.Statement]:
    match scope:
        case nodes.FuncDef(body=block):
            return block.body
        case nodes.TypeInfo(defn=defined):
            return defined.defs.body
        case _:
            return scope.defs


def _holds(statement: nodes.Context, context: nodes.Context) -> bool:
    first = (statement.line, statement.column)
    last = (statement.end_line or statement.line, 1 << 30 if statement.end_column is None else statement.end_column)
    return bool(first <= (context.line, context.column) < last)


@dataclass(frozen=True, slots=True)
class Shape:
    """One statement: its nodes by mypy's nodes, their parents, and the names that only parts of it bind."""

    by_origin: dict[int, ast.expr]
    parents: dict[int, ast.AST]
    hidden: frozenset[str]

    @staticmethod
    @lru_cache(maxsize=1)
    def of(statement: ast.stmt) -> "Shape":
        walked = syntax.walk(statement)
        by_origin = {
            id(origin): node
            for node in walked
            if isinstance(node, ast.expr) and (origin := syntax.origin(node)) is not None
        }
        parents = {id(inner): node for node in walked for inner in ast.iter_child_nodes(node)}
        targets = [each for node in walked if isinstance(node, ast.comprehension) for each in syntax.walk(node.target)]
        names = {each.id for each in targets if isinstance(each, ast.Name)}
        lambdas = [node.args for node in walked if isinstance(node, ast.Lambda)]
        parameters = {each.arg for arguments in lambdas for each in [*arguments.args, *arguments.kwonlyargs]}
        return Shape(by_origin, parents, frozenset(names | parameters))
