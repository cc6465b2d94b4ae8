"""Evaluates expressions on what is known of their values.

An unknown value is `UNKNOWN`, and so is every result that depends on it: an error is reported only on a path that
certainly exists. `Calls` says what a call, an operator or an attribute means.
"""

import ast
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce

from typednn.mypy_plugin import changes, python, syntax
from typednn.mypy_plugin.annotations import Alternatives
from typednn.mypy_plugin.calls import Calls
from typednn.mypy_plugin.context import Call, forget_arrays, mutated
from typednn.mypy_plugin.features import arrays
from typednn.mypy_plugin.sizes import keeps, promised
from typednn.mypy_plugin.values import (
    DOT,
    UNKNOWN,
    Array,
    Constant,
    Environment,
    Function,
    Many,
    Pack,
    Partial,
    Slice,
    Value,
    holds_lists,
    integer_of,
    join,
    number,
    show,
    sizes_in,
    symbol,
    unshared,
)

# functions that compare no sizes
_LOOKING = ("len", "isinstance", "print", "hasattr", "type", "id", "repr", "str", "bool", "float", "callable")


@dataclass(eq=False)
class Evaluator(Calls):
    """The expressions of one body."""

    # by mypy node: its value, joined over all visits
    values: dict[int, Value] = field(default_factory=dict[int, Value])
    settled: bool = False  # no value can change between two evaluations: those in `values` hold
    # How many elements loops here may evaluate one by one: of loops within each other the product, so that the cost
    # stays that of one.
    unrolled: int = field(default=python.UNROLLED, init=False)
    yields: Callable[[Value, ast.Yield | ast.YieldFrom], None] | None = field(default=None, init=False)
    rebound: frozenset[str] = frozenset()  # names that functions inside assign: unknown
    unsteady: frozenset[str] = frozenset()  # names that are assigned more than once, or changed in place
    reached: frozenset[str] = frozenset()  # names of lists and dicts that functions inside may change: unknown

    def promised(self, said: Alternatives) -> Value:
        """An array with an annotation of this body; with several, what they agree on."""
        return reduce(join, [promised(self, each, self.attributes) for each in said])

    def begin(self) -> None:
        super().begin()
        self.values = {}

    def watch(self, statements: Sequence[ast.stmt], rebound: frozenset[str] | None = None) -> None:
        """Learn which names of a body change out of sight."""
        self.rebound = changes.rebound(statements, ast.Nonlocal) if rebound is None else rebound
        self.unsteady = self.rebound | changes.unsteady(statements)
        self.reached = frozenset(changes.within_functions(statements))

    def assign(self, target: ast.expr, value: Value, env: Environment) -> None:
        """Bind a name, an attribute of self, or several at once."""
        match target:
            case ast.Name(id=name):
                changeable = isinstance(value, Many) or unshared(value) is not value
                env[name] = UNKNOWN if name in self.rebound or (changeable and name in self.reached) else value
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                env[f"self.{name}"] = value
                if isinstance(value, Array) and self.own is not None:
                    keeps(self, self.own, name, value, target)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self._check_number(target, targets, value)
                for each, item in zip(targets, _unpacked(targets, value), strict=True):
                    self.assign(each, item, env)
            case ast.Starred(value=inner):
                self.assign(inner, value, env)
            case ast.Subscript(value=inner, slice=place):
                self._assign_item(target, inner, self.evaluate(place, env), value, env)
            case ast.Attribute(value=inner, attr=name):
                if name in changes.IN_PLACE:
                    forget_arrays(env)
                mutated(inner, env)
            case _:
                pass

    def _check_number(self, target: ast.expr, targets: list[ast.expr], value: Value) -> None:
        """As many arrays as names: mypy knows the lengths of tuples, and not of what ``np.split`` gives."""
        if isinstance(value, Pack) and value.items and all(isinstance(each, Array) for each in value.items):
            starred = any(isinstance(each, ast.Starred) for each in targets)
            if len(targets) - starred > len(value.items) or (len(targets) < len(value.items) and not starred):
                self.scope.complain(f"{len(value.items)} arrays for {len(targets)} names", target)

    def _assign_item(
        self, target: ast.Subscript, inner: ast.expr, place: Value, value: Value, env: Environment
    ) -> None:
        """``x[place] = value``: of an array, or of a list or a dict in a variable."""
        base = self.peek(inner, env)
        index, name = (
            integer_of(place),
            ast.unparse(inner) if isinstance(inner, ast.Name) or syntax.of_self(inner) else "",
        )
        match base:
            case Array():
                arrays.assigned(Call(self, "", target, env, base), place, value)
            case Pack(items=items, keys=(), frozen=False) if (
                name and index is not None and -len(items) <= index < len(items)
            ):
                env[name] = Pack((*items[: index % len(items)], unshared(value), *items[index % len(items) + 1 :]))
            case Pack(items=items, keys=keys, frozen=False) if (
                name and isinstance(place, Constant) and (keys or not items)
            ):
                entries = dict(zip(keys, items, strict=True)) | {show(place): unshared(value)}
                env[name] = Pack(tuple(entries.values()), keys=tuple(entries))
            case _:
                mutated(inner, env)

    # ------------------------------------------------------------------ expressions

    def evaluate(self, node: ast.expr, env: Environment) -> Value:
        """What is known of an expression; its calls are checked on the way."""
        value = self._seen(node, env)
        if unshared(value) is not value and _has_another_name(node):
            mutated(node, env)
            return unshared(value)
        return value

    def _seen(self, node: ast.expr, env: Environment) -> Value:
        origin = syntax.origin(node)
        if self.settled and id(origin) in self.values:
            return self.values[id(origin)]
        value = self._value(node, env)
        if self.scope.pairs:
            self.scope.leave_open(node)
        if value is UNKNOWN:
            value = self.scope.typed(node)
        if value is UNKNOWN and isinstance(node, ast.Attribute | ast.Subscript) and _root(node) not in self.unsteady:
            value = self.scope.declared(node)
        return self._noted(node, value)

    def _noted(self, node: ast.expr, value: Value) -> Value:
        origin = syntax.origin(node)
        if origin is not None and not isinstance(node, ast.Constant):
            self.values[id(origin)] = join(self.values.get(id(origin), value), value)
        return value

    def peek(self, node: ast.expr, env: Environment) -> Value:
        """Evaluate a collection that is only read. Where a list is passed on, it may be changed, and `evaluate` makes
        it unknown.
        """
        match node:
            case ast.Name(id=name) if name in env:
                return self._noted(node, env[name])
            case ast.Attribute(value=ast.Name(id="self")):
                return self._noted(node, self.attribute(node, env))
            case _:
                return self._seen(node, env)

    def _value(self, node: ast.expr, env: Environment) -> Value:
        match node:
            case ast.Constant(value=inner):
                return UNKNOWN if inner is ... else number(inner) if type(inner) is int else Constant(inner)
            case ast.Name(id="Ellipsis") if "Ellipsis" not in env:
                return Constant(Ellipsis)
            case ast.Name(id=name) if name not in env:
                return self.scope.resolve(name, node)
            case ast.Name() | ast.Attribute(value=ast.Name(id="self")):
                value = self.peek(node, env)
                if unshared(value) is not value:
                    mutated(node, env)
                return unshared(value)
            case ast.Attribute():
                return self.attribute(node, env)
            case ast.Call():
                return self.call(node, env)
            case ast.BinOp(left=left, op=operation, right=right):
                operands = self.peek(left, env), self.peek(right, env)
                return self.operated(operation, Call(self, "", node, env, arguments=operands))
            case ast.UnaryOp(op=op, operand=operand):
                value = self.peek(operand, env)
                if isinstance(value, Array) and not isinstance(op, ast.Not):
                    return arrays.operator(Call(self, "", node, env), op, [value])
                return python.unary(op, value)
            case ast.BoolOp(op=op, values=conditions):
                return self._connected(op, conditions, env)
            case ast.Compare(left=left, ops=[comparison, *_], comparators=others):
                return self._compared(node, comparison, [left, *others], env)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                decided = self.chosen(test, [body], [orelse], env)
                if decided is not None:
                    return self.evaluate(body if decided else orelse, env)
                return join(self._evaluate_conditionally(body, env), self._evaluate_conditionally(orelse, env))
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return self._display(elements, env, frozen=isinstance(node, ast.Tuple))
            case ast.Dict(keys=keys, values=entries):
                items = [self.evaluate(entry, env) for entry in entries]
                names = [self.evaluate(key, env) if key is not None else UNKNOWN for key in keys]
                return python.dictionary(Pack(tuple(map(_pair, names, items))))
            case ast.ListComp(elt=element, generators=generators):
                return self._comprehension(element, generators, env)
            case ast.GeneratorExp(elt=element, generators=generators):  # runs when it is asked for its elements
                return self._comprehension(element, generators, self.captured(env))
            case ast.Set(elts=elements):  # how many different ones there are is asked of a set
                self.flexible.update(sizes_in(Pack(tuple(self.evaluate(each, env) for each in elements))))
                return UNKNOWN
            case ast.SetComp(elt=element, generators=generators):
                self.flexible.update(sizes_in(self._comprehension(element, generators, env)))
                return UNKNOWN
            case ast.Yield(value=ast.expr() as inner) | ast.YieldFrom(value=inner):
                value = self.evaluate(inner, env)
                if self.yields is not None:
                    self.yields(value, node)
                return UNKNOWN
            case ast.Await(value=inner):
                return self.evaluate(inner, env)  # a coroutine stands for its result
            case ast.DictComp(key=key, value=entry, generators=generators):
                pairs = self._comprehension(ast.Tuple(elts=[key, entry], ctx=ast.Load()), generators, env)
                return python.dictionary(pairs)
            case ast.Subscript():
                return self._item(node, env)
            case ast.Slice(lower=lower, upper=upper, step=step):
                ends = [Constant(None) if each is None else self.evaluate(each, env) for each in (lower, upper, step)]
                return Slice(*ends)
            case ast.Lambda(args=parameters, body=body):
                self.hand_on_defaults(parameters, env)
                return Function("lambda", self.scope.module, parameters, body, self.captured(env))
            case ast.NamedExpr(target=target, value=right):
                value = unshared(self.evaluate(right, env))
                self.assign(target, value, env)
                return value
            case _:
                return UNKNOWN

    def _connected(self, op: ast.boolop, conditions: list[ast.expr], env: Environment) -> Value:
        """``a and b``, ``a or b``."""
        value = self.evaluate(conditions[0], env)
        for place, condition in enumerate(conditions[1:], 1):
            decided = self.decided(value, conditions[place - 1])
            if decided is None and not self.scope.reached(conditions[0], [condition]):
                return UNKNOWN
            if decided is None:
                for each in conditions[place:]:  # may not be evaluated
                    self._evaluate_conditionally(each, env)
                return UNKNOWN
            if decided == isinstance(op, ast.Or):
                return value
            value = self.evaluate(condition, env)
        return value

    def _compared(self, node: ast.expr, comparison: ast.cmpop, operands: list[ast.expr], env: Environment) -> Value:
        values = [self.peek(each, env) for each in operands]
        self.flexible.update(name for value in values for name in sizes_in(value))
        if len(values) != 2:
            return UNKNOWN
        if any(isinstance(each, Array) for each in values):
            return arrays.operator(Call(self, "", node, env), comparison, list(map(self.scalar, values, operands)))
        return python.compared(comparison, *values)

    def _item(self, node: ast.Subscript, env: Environment) -> Value:
        """``base[index]``."""
        base, index = self.peek(node.value, env), self._index(node.slice, env)
        if isinstance(base, Array):
            return arrays.item(Call(self, "", node, env, base), index)
        if isinstance(base, Partial):  # x.at[index]
            return replace(base, arguments=(*base.arguments, index))
        at, of_array = integer_of(index), isinstance(node.value, ast.Attribute) and self._kept(node.value.value)
        if not isinstance(base, Pack) or not isinstance(of_array, Array) or at is None:
            return python.item(base, index)
        if not -len(base.items) <= at < len(base.items):
            self.scope.complain(f"{ast.unparse(node.value)} has {len(base.items)} sizes, none at {at}", node)
        return python.item(base, index)

    def _evaluate_conditionally(self, node: ast.expr, env: Environment) -> Value:
        """An expression that may or may not run: what it assigns is joined with the value before."""
        inner = dict(env)
        value = self.evaluate(node, inner)
        env |= {name: join(env.get(name, UNKNOWN), after) for name, after in inner.items() if env.get(name) != after}
        return value

    @contextmanager
    def within(self, elements: int) -> Generator[None]:
        """The body of a loop over so many elements."""
        before, self.unrolled = self.unrolled, self.unrolled // max(1, elements)
        try:
            yield
        finally:
            self.unrolled = before

    def chosen(
        self, test: ast.expr, body: Sequence[ast.AST], orelse: Sequence[ast.AST], env: Environment
    ) -> bool | None:
        """Which of two branches is taken, by the condition's value or because mypy leaves the other one out."""
        decided = self.decided(self.peek(test, env), test)
        if decided is None and body and not self.scope.reached(test, body):
            return False
        return True if decided is None and orelse and not self.scope.reached(test, orelse) else decided

    def decided(self, value: Value, test: ast.expr) -> bool | None:
        """Whether a condition holds; None where that is not known: sizes that it names may then be equal to any."""
        truth = python.truth(value)
        if truth is None:
            self.flexible.update(sizes_in(value))
            self.guarded(test)
        return truth

    def guarded(self, node: ast.expr) -> None:
        """A call in a condition, or as a statement: a function that is not followed may compare sizes."""
        for call in syntax.walk(node):
            if isinstance(call, ast.Call) and (name := syntax.last_name(call)) not in _LOOKING:
                arrays = name in ("array_equal", "array_equiv") or (
                    id(call) in self.foreign and self._kept(call) is UNKNOWN
                )
                for each in (*call.args, *(keyword.value for keyword in call.keywords)):
                    self.flexible.update(sizes_in(self._kept(each), arrays=arrays))

    def _kept(self, node: ast.expr) -> Value:
        return self.values.get(id(syntax.origin(node)), UNKNOWN)

    def lent(self, target: ast.expr, sequence: ast.expr, body: Sequence[ast.stmt], env: Environment) -> Value:
        """The elements of a loop: lists among them are unknown if the loop changes them."""
        elements = python.elements(self.peek(sequence, env))
        names = {part.id for part in syntax.walk(target) if isinstance(part, ast.Name)}
        if not isinstance(elements, Pack) or not holds_lists(elements):
            return elements
        if names.isdisjoint((*changes.changed(body), *changes.handed_on(body))):
            return elements
        mutated(sequence, env)
        return Pack(tuple(map(unshared, elements.items)), frozen=True)

    def hand_on_defaults(self, parameters: ast.arguments, env: Environment) -> None:
        """The values of defaults: a list among them has another name in the function."""
        for each in (*parameters.defaults, *parameters.kw_defaults):
            if each is not None:
                self.evaluate(each, env)

    def captured(self, env: Environment) -> Environment:
        """The names that a function keeps which is defined here: those that hold one value all through."""
        return {name: value for name, value in env.items() if name not in self.unsteady}

    def _index(self, place: ast.expr, env: Environment) -> Value:
        """What stands in brackets; an integer that is not known is one all the same."""
        if isinstance(place, ast.Tuple):
            return Pack(tuple(self._index(each, env) for each in place.elts), frozen=True)
        value = self.peek(place, env)
        return (
            symbol(f"index{DOT}", positive=False)
            if value is UNKNOWN and self.scope.class_name(place) == "builtins.int"
            else value
        )

    def _display(self, elements: list[ast.expr], env: Environment, *, frozen: bool) -> Value:
        parts = [
            python.elements(self.peek(each.value, env))
            if isinstance(each, ast.Starred)
            else Pack((self._element(each, env),))
            for each in elements
        ]
        packs = [part for part in parts if isinstance(part, Pack)]
        return (
            Pack(tuple(item for pack in packs for item in pack.items), frozen=frozen)
            if len(packs) == len(parts)
            else UNKNOWN
        )

    def _element(self, node: ast.expr, env: Environment) -> Value:
        """An element of a list or a tuple; a list that is made there has no other name."""
        value = self.evaluate(node, env)
        return value if isinstance(node, ast.List | ast.ListComp | ast.Call | ast.BinOp | ast.Dict) else unshared(value)

    def _comprehension(self, element: ast.expr, generators: list[ast.comprehension], env: Environment) -> Value:
        nodes_within = syntax.walk(ast.GeneratorExp(elt=element, generators=generators))
        leaked = {each.target.id: UNKNOWN for each in nodes_within if isinstance(each, ast.NamedExpr)}
        env |= leaked
        inner = dict(env)
        found = self._generated(element, generators, inner)
        indices = {part.id for each in generators for part in syntax.walk(each.target) if isinstance(part, ast.Name)}
        env |= {
            name: UNKNOWN for name in env.keys() - indices if inner.get(name) is not env[name]
        }  # such as appended to
        return Pack(tuple(found)) if isinstance(found, list) else UNKNOWN if found is UNKNOWN else Many(found)

    def _generated(
        self, element: ast.expr, generators: list[ast.comprehension], env: Environment
    ) -> "list[Value] | Value":
        """The elements one by one, or what is known of each of them."""
        if not generators:
            return [self.evaluate(element, env)]
        generator, *further = generators
        inside = [ast.Expr(value=each) for each in (element, *generator.ifs)]
        sequence = self.lent(generator.target, generator.iter, inside, env)
        values: list[Value] = []
        if isinstance(sequence, Pack) and len(sequence.items) <= self.unrolled:
            for item in sequence.items:
                self.assign(generator.target, item, env)
                truths = [self.decided(self.evaluate(condition, env), condition) for condition in generator.ifs]
                if None in truths:
                    break
                with self.within(len(sequence.items)):
                    inner = self._generated(element, further, env) if all(truths) else []
                if not isinstance(inner, list):
                    break
                values += inner
            else:
                return values if len(values) <= python.UNROLLED else reduce(join, values)
        self.assign(generator.target, python.element(sequence), env)
        for condition in generator.ifs:
            self.decided(self.evaluate(condition, env), condition)
        inner = self._generated(element, further, env)
        return inner if not isinstance(inner, list) else reduce(join, inner) if inner else UNKNOWN


def _root(node: ast.expr) -> str:
    """The name that an item, or an attribute, is taken from."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _has_another_name(node: ast.expr) -> bool:
    """Whether what an expression gives is a part of something else: an item, an attribute."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in ("get", "_replace")
        case _:
            return isinstance(node, ast.Subscript | ast.Attribute)


def _pair(name: Value, value: Value) -> Value:
    return Pack((name, value), frozen=True)


def _unpacked(targets: list[ast.expr], value: Value) -> list[Value]:
    """What each of several targets gets; one of them may be starred."""
    star = next((place for place, each in enumerate(targets) if isinstance(each, ast.Starred)), None)
    after = 0 if star is None else len(targets) - star - 1
    match value:
        case Pack(items=items, keys=()) if star is not None and len(items) >= len(targets) - 1:
            return [*items[:star], Pack(items[star : len(items) - after]), *items[len(items) - after :]]
        case Pack(items=items, keys=()) if len(items) == len(targets):
            return list(items)
        case Many(item=item):
            return [value if place == star else item for place in range(len(targets))]
        case _:
            return [UNKNOWN] * len(targets)
