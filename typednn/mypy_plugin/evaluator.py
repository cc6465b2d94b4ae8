"""Follows a constructor or a function body with what is known of its values, and nothing else.

Statements run in order on an environment; where a branch cannot be decided both sides run and what they agree on is
kept; a loop over known elements is unrolled, another runs until nothing changes. What is not known is `UNKNOWN`, and
whatever it touches becomes unknown too: only what is wrong on a path that surely exists is complained about.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from mypy import nodes
from mypy.nodes import TypeInfo

from typednn.mypy_plugin import classes, syntax
from typednn.mypy_plugin.calls import Calls
from typednn.mypy_plugin.classes import changed
from typednn.mypy_plugin.constructors import Constructors, Workshop
from typednn.mypy_plugin.values import (
    UNKNOWN,
    Array,
    Constant,
    Gradient,
    Layer,
    Many,
    Number,
    Pack,
    Reference,
    Value,
    integer_of,
    join,
    join_all,
    lookup,
    number,
    show,
)

Environment: TypeAlias = "dict[str, Value]"

_SELF_RETURNING = ("named", "init", "train", "eval", "to", "astype", "shared", "load_state_dict", "requires_grad")
# Called with a list, these only read it; called with self, those do not assign its fields.
_READERS = frozenset(
    f"builtins.{name}"
    for name in ("len", "zip", "enumerate", "reversed", "tuple", "list", "sum", "print", "isinstance", "bool", "repr", "str")
) | {"typednn.layer.Sequential", "typednn.stack.Stack", "typednn.arguments.pair", "typednn.arguments.integer"}
_HARMLESS = frozenset(
    f"builtins.{name}" for name in ("isinstance", "type", "len", "repr", "str", "id", "hasattr", "getattr", "print", "super")
)
_UNROLLED = 64


class World(Protocol):
    """Where an evaluator learns about names and calls, and where its complaints go."""

    def resolve(self, name: str, node: ast.expr | None = None) -> Value: ...

    def within(self, module: Any, name: str) -> Value: ...

    def defines(self, name: str, node: ast.expr) -> bool: ...

    def inside(self, module: str) -> World: ...

    def depend(self, fullname: str) -> None: ...

    def typed(self, node: ast.expr) -> Value: ...

    def signature(self, node: ast.Call) -> tuple[str, classes.Signature] | None: ...

    def complain(self, message: str, node: ast.AST) -> None: ...

    def note(self, message: str, node: ast.AST) -> None: ...

    def lost(self, what: str, node: ast.AST) -> None: ...

    def rank(self, node: ast.AST) -> int | None: ...

    def class_name(self, node: ast.AST) -> str: ...


class Silent:
    """The world of a constructor: names of its module, no complaints; wrong arguments show where its layers are used."""

    def __init__(self, world: World, module: str) -> None:
        self.world: World = world.inside(module)

    def resolve(self, name: str, node: ast.expr | None = None) -> Value:
        return self.world.resolve(name)

    def within(self, module: Any, name: str) -> Value:
        return self.world.within(module, name)

    def defines(self, name: str, node: ast.expr) -> bool:
        return self.world.defines(name, node)

    def inside(self, module: str) -> World:
        return self.world.inside(module)

    def depend(self, fullname: str) -> None:
        self.world.depend(fullname)

    def typed(self, node: ast.expr) -> Value:
        return UNKNOWN

    def signature(self, node: ast.Call) -> tuple[str, classes.Signature] | None:
        return None

    def complain(self, message: str, node: ast.AST) -> None: ...

    def note(self, message: str, node: ast.AST) -> None: ...

    def lost(self, what: str, node: ast.AST) -> None: ...

    def rank(self, node: ast.AST) -> int | None:
        return None

    def class_name(self, node: ast.AST) -> str:
        return ""


class Evaluator:
    """One function body. ``names`` are the axis names that mean one thing all through it."""

    def __init__(
        self, world: World, names: frozenset[str] = frozenset(), workshop: Workshop | None = None, under: tuple[Hashable, ...] = ()
    ) -> None:
        self.world = world
        self.names = names
        self.workshop: Workshop = Workshop() if workshop is None else workshop
        self.constructors: Constructors = Constructors(self, self.workshop, under)
        self.values: dict[int, Value] = {}  # by mypy node: what each expression was, joined over all visits
        self.memo: dict[int, Value] | None = None  # where nothing can change between two looks
        self.returns: Callable[[Value, ast.Return], None] | None = None
        self.calls: Calls = Calls(self)
        self._breaks: list[list[Environment]] = []
        self._exits: list[Environment] = []  # at each return
        self.rebound: frozenset[str] = frozenset()  # names that functions inside assign: unknown
        self.hidden: frozenset[str] = frozenset()  # attributes of self that other methods assign: unknown in a constructor
        self.assigned: frozenset[str] = frozenset()  # the same, in a method: unknown after any call that is given self

    def within(self, module: str, under: tuple[Hashable, ...]) -> Evaluator:
        """An evaluator for a constructor of another module, silent, with what constructors share."""
        return Evaluator(Silent(self.world, module), workshop=self.workshop, under=under)

    def outcome(self, statements: Sequence[ast.stmt], env: Environment) -> Environment:
        """The environment after a whole body, whichever return it left by."""
        after = self.run(statements, env)
        for left in self._exits:
            after = either(after, left)
        return after or {}

    # ------------------------------------------------------------------ statements

    def run(self, statements: Sequence[ast.stmt], env: Environment) -> Environment | None:
        """The environment afterwards; None where nothing comes after."""
        for statement in statements:
            after = self.step(statement, env)
            if after is None:
                return None
            env = after
        return env

    def step(self, statement: ast.stmt, env: Environment) -> Environment | None:
        """One statement; ``env`` is its to change."""
        match statement:
            case ast.Assign(targets=targets, value=right):
                value = self.evaluate(right, env)
                if len(targets) > 1 and isinstance(value, Pack) and not value.frozen:
                    value = UNKNOWN  # two names for one list
                for target in targets:
                    self.assign(target, value, env)
            case ast.AugAssign(target=target, op=op, value=right):
                self.assign(target, self.evaluate(ast.BinOp(left=target, op=op, right=right), env), env)
            case ast.Expr(value=value):
                self.evaluate(value, env)
            case ast.Return(value=value):
                found = Constant(None) if value is None else self.evaluate(value, env)
                if self.returns is not None:
                    self.returns(found, statement)
                self._exits.append(env)
                return None
            case ast.If(test=test, body=body, orelse=orelse):
                return self._branch(self.truth(self.peek(test, env)), body, orelse, env)
            case ast.For():
                return self._for(statement, env)
            case ast.While(test=test, body=body, orelse=orelse):
                return self._loop([], [ast.Expr(value=test), *body], orelse, env, None, always=[ast.Expr(value=test)])
            case ast.With(items=items, body=body):
                for item in items:
                    self.evaluate(item.context_expr, env)
                    if item.optional_vars is not None:
                        self.assign(item.optional_vars, UNKNOWN, env)
                after = self.run(body, dict(env))
                if all(_transparent(item.context_expr) for item in items):
                    return after
                return either(forget(env, body), after)  # a manager may cut its body short
            case ast.Try():
                return self._try(statement, env)
            case ast.Raise():
                return None
            case ast.Break():
                if self._breaks:
                    self._breaks[-1].append(env)
                return None
            case ast.Continue():
                return None
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                for name in names:
                    env[name] = UNKNOWN
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                env[name] = UNKNOWN
            case _:
                pass
        return env

    def _branch(self, decided: bool | None, body: list[ast.stmt], orelse: list[ast.stmt], env: Environment) -> Environment | None:
        if decided is not None:
            return self.run(body if decided else orelse, env)
        return either(self.run(body, dict(env)), self.run(orelse, dict(env)))

    def _for(self, statement: ast.For, env: Environment) -> Environment | None:
        items = _elements(self.peek(statement.iter, env))
        if isinstance(items, Pack) and len(items.items) <= _UNROLLED and not _leaves(statement.body):
            current: Environment | None = env
            for item in items.items:
                if current is None:
                    return None
                self.assign(statement.target, item, current)
                current = self.run(statement.body, current)
            return None if current is None else self.run(statement.orelse, current)
        each = join_all(items.items) if isinstance(items, Pack) else items.item if isinstance(items, Many) else UNKNOWN
        return self._loop([statement.target], statement.body, statement.orelse, env, each)

    def _loop(
        self,
        targets: list[ast.expr],
        body: list[ast.stmt],
        orelse: list[ast.stmt],
        env: Environment,
        item: Value | None,
        always: Sequence[ast.stmt] = (),
    ) -> Environment | None:
        if _leaves(body):  # continue skips what follows it: what the body changes is not followed
            env = forget(env, body)
        entry = dict(env)
        left: list[Environment] = []
        for _ in range(4):
            self._breaks.append([])
            start = dict(entry)
            for target in targets:
                self.assign(target, item if item is not None else UNKNOWN, start)
            after = self.run(body, start)
            left = self._breaks.pop()
            widened = either(dict(env), after)
            if widened is None or widened == entry:
                break
            entry = widened
        else:
            entry = forget(env, body)
        result: Environment | None = self.run([*always, *orelse], dict(entry))
        for broken in left:
            result = either(result, broken)
        return result

    def _try(self, statement: ast.Try, env: Environment) -> Environment | None:
        inside = self.run(statement.body, dict(env))
        if inside is not None:
            inside = self.run(statement.orelse, inside)
        shaken = forget(env, statement.body)
        after = inside
        for handler in statement.handlers:
            entered = dict(shaken)
            if handler.name:
                entered[handler.name] = UNKNOWN
            after = either(after, self.run(handler.body, entered))
        if not statement.finalbody:
            return after
        final = self.run(statement.finalbody, dict(shaken if after is None else after))
        return None if after is None else final

    def assign(self, target: ast.expr, value: Value, env: Environment) -> None:
        """Bind a name, an attribute of self, or several at once."""
        match target:
            case ast.Name(id=name):
                env[name] = UNKNOWN if name in self.rebound else value
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                env[f"self.{name}"] = value
            case ast.Attribute(value=inner):
                self._mutated(inner, env)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                starred = any(isinstance(each, ast.Starred) for each in targets)
                matching = isinstance(value, Pack) and len(value.items) == len(targets) and not starred
                for place, each in enumerate(targets):
                    inner = each.value if isinstance(each, ast.Starred) else each
                    item = (
                        value.items[place] if matching and isinstance(value, Pack) else value.item if isinstance(value, Many) else UNKNOWN
                    )
                    self.assign(inner, UNKNOWN if starred else item, env)
            case ast.Subscript(value=inner):
                self._mutated(inner, env)
            case _:
                pass

    def _mutated(self, node: ast.expr, env: Environment) -> None:
        match node:
            case ast.Name(id=name):
                env[name] = UNKNOWN
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                env[f"self.{name}"] = UNKNOWN
            case _:
                pass

    # ------------------------------------------------------------------ expressions

    def evaluate(self, node: ast.expr, env: Environment) -> Value:
        """What is known of an expression; its calls are checked on the way."""
        made_from = syntax.origin(node)
        if self.memo is not None and id(made_from) in self.memo:
            return self.memo[id(made_from)]
        value = self._value(node, env)
        if value is UNKNOWN:
            value = self.world.typed(node)
        if self.memo is not None and made_from is not None:
            self.memo[id(made_from)] = value
        if made_from is not None and not isinstance(node, ast.Constant):
            key = id(made_from)
            self.values[key] = join(self.values[key], value) if key in self.values else value
        return value

    def peek(self, node: ast.expr, env: Environment) -> Value:
        """A collection that is only looked at. Otherwise whoever gets a list may change it, and it becomes unknown."""
        match node:
            case ast.Name(id=name) if name in env:
                return env[name]
            case ast.Attribute(value=ast.Name(id="self")):
                return self._attribute(node, env)
            case _:
                return self.evaluate(node, env)

    def _handed(self, value: Value, key: str, env: Environment) -> Value:
        if isinstance(value, Pack) and not value.frozen:
            env[key] = UNKNOWN
            return UNKNOWN
        return value

    def _value(self, node: ast.expr, env: Environment) -> Value:
        match node:
            case ast.Constant(value=inner):
                if inner is ...:
                    return UNKNOWN
                return number(inner) if type(inner) is int else Constant(inner)
            case ast.Name(id=name):
                return self._handed(env[name], name, env) if name in env else self.world.resolve(name, node)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return self._handed(self._attribute(node, env), f"self.{name}", env)
            case ast.Attribute():
                return self._attribute(node, env)
            case ast.Call():
                return self._call(node, env)
            case ast.BinOp(left=left, op=operation, right=right):
                first, second = self.peek(left, env), self.peek(right, env)
                return self.calls.again("binary", node, (first, second), lambda: self.calls.binary(operation, first, second, node))
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(op, self.peek(operand, env))
            case ast.BoolOp(values=conditions):
                self.evaluate(conditions[0], env)
                for condition in conditions[1:]:  # may not be looked at
                    self._perhaps(condition, env)
                return UNKNOWN
            case ast.Compare():
                return self._compare(node, env)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                decided = self.truth(self.peek(test, env))
                if decided is not None:
                    return self.evaluate(body if decided else orelse, env)
                return join(self._perhaps(body, env), self._perhaps(orelse, env))
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return self._display(elements, env, frozen=isinstance(node, ast.Tuple))
            case ast.Dict(keys=keys, values=entries):
                found = [self.evaluate(entry, env) for entry in entries]
                names = [self.evaluate(key, env) if key is not None else UNKNOWN for key in keys]
                shown = [show(name) for name in names]
                latest = dict(zip(shown, found, strict=True))
                return (
                    Pack(tuple(latest.values()), keys=tuple(latest))
                    if all(isinstance(name, Constant | Number) for name in names)
                    else UNKNOWN
                )
            case ast.ListComp(elt=element, generators=generators) | ast.GeneratorExp(elt=element, generators=generators):
                return self._comprehension(element, generators, env)
            case ast.Subscript(value=inner, slice=place):
                return self._subscript(self.peek(inner, env), self.evaluate(place, env), inner, env)
            case ast.NamedExpr(target=target, value=right):
                value = self.evaluate(right, env)
                if isinstance(value, Pack) and not value.frozen:
                    value = UNKNOWN  # a list that two hold
                self.assign(target, value, env)
                return value
            case _:
                return UNKNOWN

    def _perhaps(self, node: ast.expr, env: Environment) -> Value:
        """An expression that may not be evaluated: what it assigns is assigned perhaps."""
        inner = dict(env)
        value = self.evaluate(node, inner)
        for name, found in inner.items():
            if env.get(name) != found:
                env[name] = join(env.get(name, UNKNOWN), found)
        return value

    def _attribute(self, node: ast.Attribute, env: Environment) -> Value:
        name = node.attr
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            if name in self.hidden:
                return UNKNOWN
            if f"self.{name}" in env:
                return env[f"self.{name}"]
        base = self.evaluate(node.value, env)
        match base:
            case Layer():
                if base.parts is not None and name == "parts":
                    return Pack(base.parts)
                return base.attributes[name] if name in base.attributes else self.stored(base, name)
            case Gradient(fields=fields):
                return fields.get(name, UNKNOWN)
            case Array():
                return self.calls.array_attribute(base, name)
            case Reference(node=nodes.MypyFile() as module):
                return self.world.within(module, name)
            case Reference(node=TypeInfo() as info):
                return self.constructors.constants(info).get(name, UNKNOWN)
            case _:
                return UNKNOWN

    def stored(self, layer: Layer, name: str) -> Value:
        """A parameter, a buffer, or what forward kept: an array whose sizes its annotation gives."""
        info = self.calls.class_of(layer)
        declared = classes.fields(info).get(name) if info is not None else None
        if declared is None or len(declared[1]) != 1:
            return UNKNOWN
        kind, text = declared[1][0]
        return self.calls.promised(text, kind, lookup(layer.attributes))

    def _display(self, elements: list[ast.expr], env: Environment, *, frozen: bool) -> Value:
        items: list[Value] = []
        for element in elements:
            if isinstance(element, ast.Starred):
                inner = _elements(self.peek(element.value, env))
                if not isinstance(inner, Pack):
                    return UNKNOWN
                items += inner.items
            else:
                item = self.evaluate(element, env)
                items.append(UNKNOWN if isinstance(item, Pack) and not item.frozen else item)  # a list within, which others may change
        return Pack(tuple(items), frozen=frozen)

    def _comprehension(self, element: ast.expr, generators: list[ast.comprehension], env: Environment) -> Value:
        inner = dict(env)
        sequences: list[Value] = []
        for generator in generators:
            sequence = _elements(self.peek(generator.iter, inner))
            sequences.append(sequence)
            each = join_all(sequence.items) if isinstance(sequence, Pack) else sequence.item if isinstance(sequence, Many) else UNKNOWN
            self.assign(generator.target, each, inner)
            for condition in generator.ifs:
                self.evaluate(condition, inner)
        parts: list[ast.AST] = [element, *generators]
        leaked = [each.target for part in parts for each in ast.walk(part) if isinstance(each, ast.NamedExpr)]
        for target in leaked:
            self.assign(target, UNKNOWN, inner)
            self.assign(target, UNKNOWN, env)
        only = sequences[0]
        if len(generators) == 1 and not generators[0].ifs and isinstance(only, Pack) and len(only.items) <= _UNROLLED:
            found: list[Value] = []
            for item in only.items:
                self.assign(generators[0].target, item, inner)
                found.append(self.evaluate(element, inner))
            return Pack(tuple(found))
        value = self.evaluate(element, inner)
        return UNKNOWN if value is UNKNOWN else Many(value)

    def _subscript(self, base: Value, place: Value, inner: ast.expr, env: Environment) -> Value:
        index = integer_of(place)
        match base:
            case Pack(items=items, keys=keys) if keys:
                return items[keys.index(show(place))] if show(place) in keys else UNKNOWN
            case Pack(items=items) if index is not None and -len(items) <= index < len(items):
                return items[index]
            case Many(item=item) if index is not None or isinstance(place, Number):
                return item
            case Layer() if base.parts is not None and index is not None and -len(base.parts) <= index < len(base.parts):
                return base.parts[index]
            case _:
                return UNKNOWN

    def _unary(self, op: ast.unaryop, value: Value) -> Value:
        match op, value:
            case ast.USub(), Number():
                return Number(-value.size, value.positive)
            case ((ast.USub() | ast.UAdd()), Array()):
                return value
            case ast.Not(), _:
                decided = self.truth(value)
                return UNKNOWN if decided is None else Constant(not decided)
            case _:
                return UNKNOWN

    def _compare(self, node: ast.Compare, env: Environment) -> Value:
        values = [self.peek(each, env) for each in (node.left, *node.comparators)]
        if len(values) != 2:
            return UNKNOWN
        a, b = values
        match node.ops[0]:
            case ast.Is() | ast.IsNot() as op if b == Constant(None) and isinstance(a, Constant | Number | Pack):
                return Constant((a == b) == isinstance(op, ast.Is))
            case ast.Eq() | ast.NotEq() as op if isinstance(a, Constant) and isinstance(b, Constant):
                return Constant((a.value == b.value) == isinstance(op, ast.Eq))
            case compared if (first := integer_of(a)) is not None and (second := integer_of(b)) is not None:
                return _compared(compared, first, second)
            case _:
                return UNKNOWN

    @staticmethod
    def truth(value: Value) -> bool | None:
        """Whether a condition holds; None where it may or may not."""
        match value:
            case Constant(value=inner):
                return bool(inner)
            case Number() if value.size.value is not None:
                return bool(value.size.value)
            case Pack(items=items) if value.frozen:
                return bool(items)
            case _:
                return None

    # ------------------------------------------------------------------ calls

    def _call(self, node: ast.Call, env: Environment) -> Value:
        if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "super()":
            return self._super(node, env)
        receiver = self.peek(node.func.value, env) if isinstance(node.func, ast.Attribute) else None
        called = self._full_name(node.func, env)
        read = self.peek if called in _READERS else self.evaluate
        arguments = [read(each.value if isinstance(each, ast.Starred) else each, env) for each in node.args]
        keywords = {each.arg or "**": read(each.value, env) for each in node.keywords}
        spread = any(isinstance(each, ast.Starred) for each in node.args) or "**" in keywords
        self._self_handed(node, called, env)
        match node.func:
            case ast.Attribute(attr=name) if isinstance(receiver, Pack) and not receiver.frozen:
                return self._list_method(node.func, name, receiver, arguments, env)
            case ast.Attribute(attr=name) if isinstance(receiver, Many) and name in ("append", "extend", "insert"):
                self._mutated(node.func.value, env)
                return UNKNOWN
            case ast.Attribute(attr=name) if isinstance(receiver, Layer) and name in _SELF_RETURNING:
                return receiver
            case ast.Attribute(attr="update") if isinstance(receiver, Layer) and len(arguments) == 2 and not spread:
                return self.calls.update(receiver, arguments[1], node)
            case ast.Attribute(attr="backward") if isinstance(receiver, Layer) and not spread:
                return self.calls.backward(receiver, (arguments or list(keywords.values()) or [UNKNOWN])[0], node)
            case ast.Attribute(attr="forward" | "__call__") if isinstance(receiver, Layer) and not spread:
                return self.calls.forward(receiver, arguments or list(keywords.values()), node)
            case ast.Attribute(attr=name) if isinstance(receiver, Array):
                if name == "resize":
                    self._mutated(node.func.value, env)
                return UNKNOWN if spread else self.calls.array_method(receiver, name, arguments, keywords)
            case _:
                pass
        known = None if spread else self._builtin(called, arguments, keywords, node)
        if known is not None:
            return known
        function = self.evaluate(node.func, env)
        if isinstance(function, Layer) and not spread:
            return self.calls.forward(function, arguments or list(keywords.values()), node)
        if isinstance(function, Reference) and isinstance(function.node, TypeInfo):
            return self.constructors.instance(function.node, arguments, keywords, node, spread=spread)
        if isinstance(node.func, ast.Attribute) and isinstance(receiver, Reference) and receiver.node.fullname == "numpy" and not spread:
            return self.calls.numpy_function(node.func.attr, arguments, keywords)
        if isinstance(node.func, ast.Attribute) and self.world.class_name(node.func.value).startswith("numpy.random."):
            return self.calls.numpy_function(node.func.attr, arguments, keywords)
        said = self.world.signature(node)
        if said is not None and not spread:
            return self.calls.function(*said, arguments, keywords, node, receiver)
        return UNKNOWN

    def _full_name(self, function: ast.expr, env: Environment) -> str:
        """``builtins.len``, ``typednn.arguments.integer``; empty where somebody's own name hides it."""
        match function:
            case ast.Name(id=name) if name not in env:
                found = self.world.resolve(name, function)
                if isinstance(found, Reference):
                    return str(found.node.fullname)
                return "" if self.world.defines(name, function) else f"builtins.{name}"
            case ast.Attribute(value=ast.Name() as base, attr=name):
                module = self.peek(base, env)
                inner = (
                    self.world.within(module.node, name)
                    if isinstance(module, Reference) and isinstance(module.node, nodes.MypyFile)
                    else UNKNOWN
                )
                return str(inner.node.fullname) if isinstance(inner, Reference) else ""
            case _:
                return ""

    def _self_handed(self, node: ast.Call, called: str, env: Environment) -> None:
        """Whoever is given self may assign its fields: in a constructor all of them, in a method those that some method assigns."""
        given = [*node.args, *(each.value for each in node.keywords)]
        handed = any(isinstance(each, ast.Name) and each.id == "self" for each in given) and called not in _HARMLESS
        method = isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id == "self"
        if handed or method:
            anything = handed and self.constructors.base is not None
            env |= {each: UNKNOWN for each in env if each.startswith("self.") and (anything or each[5:] in self.assigned)}
        if called in ("builtins.setattr", "builtins.delattr", "builtins.vars") and node.args:
            self._mutated(node.args[0], env)

    def _super(self, node: ast.Call, env: Environment) -> Value:
        """``super().__init__(…)`` of a layer runs its base's constructor on the same attributes."""
        arguments = [self.evaluate(each, env) for each in node.args]
        keywords = {each.arg or "**": self.evaluate(each.value, env) for each in node.keywords}
        spread = any(isinstance(each, ast.Starred) for each in node.args) or "**" in keywords
        base, of = self.constructors.base, self.constructors.of
        if isinstance(node.func, ast.Attribute) and node.func.attr == "__init__" and base is not None and of is not None:
            following = of.mro[of.mro.index(base) + 1 :]
            owner = next((each for each in following if "__init__" in each.names and each.fullname != "builtins.object"), None)
            env |= {f"self.{name}": value for name, value in self.constructors.run(owner, of, arguments, keywords, spread=spread).items()}
        return UNKNOWN

    def _list_method(self, node: ast.Attribute, name: str, receiver: Pack, arguments: list[Value], env: Environment) -> Value:
        if name == "append" and len(arguments) == 1 and isinstance(node.value, ast.Name):
            env[node.value.id] = Pack((*receiver.items, arguments[0]))
            return Constant(None)
        if name == "pop" and not arguments and receiver.items and isinstance(node.value, ast.Name):
            env[node.value.id] = Pack(receiver.items[:-1])
            return receiver.items[-1]
        if name not in ("index", "count", "copy", "items", "keys", "values", "get"):
            self._mutated(node.value, env)
        if receiver.keys and name == "values":
            return Pack(receiver.items)
        return UNKNOWN

    def _builtin(self, called: str, arguments: list[Value], keywords: Mapping[str, Value], node: ast.Call) -> Value | None:
        """What is known of Python's own functions and of those that check arguments; None for any other."""
        first = arguments[0] if arguments else UNKNOWN
        numbers = [integer_of(each) for each in arguments]
        match called.partition(".")[2] if called.startswith("builtins.") else called, arguments:
            case "typednn.arguments.integer", [_, _, value, *rest]:
                return _size(value, integer_of((rest or [keywords.get("least", number(1))])[0]))
            case "typednn.arguments.pair", [_, _, value, *rest]:
                least = integer_of((rest or [keywords.get("least", number(1))])[0])
                if isinstance(value, Number):
                    return Pack((_size(value, least),) * 2, frozen=True)
                return Pack(tuple(_size(each, least) for each in value.items), frozen=True) if isinstance(value, Pack) else UNKNOWN
            case "typednn.arguments.choice" | "typednn.arguments.number", [_, _, value, *_]:
                return value
            case "reveal_type", [value]:
                self.calls.reveal(value, node)
                return value
            case _ if keywords:
                return None
            case "int", [Number()]:
                return first
            case "len", [Pack(items=items)]:
                return number(len(items))
            case (("tuple" | "list" | "reversed"), [Pack() | Many()]):
                elements = _elements(first)
                if not isinstance(elements, Pack):
                    return elements
                ordered = elements.items[::-1] if called.endswith("reversed") else elements.items
                return Pack(ordered, frozen=not called.endswith("list"))
            case "enumerate", [Pack()] if isinstance(elements := _elements(first), Pack):
                return Pack(tuple(Pack((number(place), item), frozen=True) for place, item in enumerate(elements.items)), frozen=True)
            case "enumerate", [Many(item=item)]:
                return Many(Pack((UNKNOWN, item), frozen=True))
            case "zip", [_, *_] if all(isinstance(each, Pack) and not each.keys for each in arguments):
                columns = [each.items for each in arguments if isinstance(each, Pack)]
                return Pack(tuple(Pack(row, frozen=True) for row in zip(*columns, strict=False)), frozen=True)
            case "range", [_] | [_, _] if None not in numbers:
                counted = range(*(each or 0 for each in numbers))
                return Pack(tuple(map(number, counted)), frozen=True) if len(counted) <= _UNROLLED else Many(UNKNOWN)
            case "range", _:
                return Many(UNKNOWN)
            case (("min" | "max"), [_, _, *_]) if None not in numbers:
                return number((min if called.endswith("min") else max)(each or 0 for each in numbers))
            case "isinstance", [_, _]:
                return _is_instance(first, ast.unparse(node.args[1]))
            case _:
                return None


def either(a: Environment | None, b: Environment | None) -> Environment | None:
    """Where two paths meet."""
    if a is None or b is None:
        return b if a is None else a
    return {name: join(a[name], b[name]) if name in a and name in b else UNKNOWN for name in a.keys() | b.keys()}


def forget(env: Environment, body: Sequence[ast.stmt]) -> Environment:
    """The environment with everything unknown that some statements may assign or change."""
    shaken = dict(env)
    for name in changed(body):
        shaken[name] = UNKNOWN
    return shaken


def _leaves(body: Sequence[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Continue | ast.Break) for statement in body for node in ast.walk(statement))


def _compared(op: ast.cmpop, a: int, b: int) -> Value:
    answers: dict[type[ast.cmpop], bool] = {
        ast.Eq: a == b, ast.NotEq: a != b, ast.Lt: a < b, ast.LtE: a <= b, ast.Gt: a > b, ast.GtE: a >= b,
    }  # fmt: skip
    return Constant(answers[type(op)]) if type(op) in answers else UNKNOWN


def _is_instance(value: Value, kinds: str) -> Value:
    """Decided only for Python's own int, tuple and list, named as such."""
    words = set(re.findall(r"\w+", kinds))
    match value:
        case Number():
            own, plain = "int", words <= {"int", "tuple", "list", "str", "dict"}
        case Pack(keys=()):
            own, plain = "tuple" if value.frozen else "list", words <= {"int", "tuple", "list", "str", "float"}
        case _:
            return UNKNOWN
    return Constant(own in words) if plain else UNKNOWN


def _elements(value: Value) -> Value:
    """What iterating gives: of a dict its keys, which are no sizes."""
    if isinstance(value, Pack) and value.keys:
        return Pack((UNKNOWN,) * len(value.items), frozen=True)
    return value


def _transparent(manager: ast.expr) -> bool:
    """Whether a context manager surely lets exceptions pass, so that its body runs to the end."""
    function = manager.func if isinstance(manager, ast.Call) else manager
    name = function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    return name in ("checking", "open", "nullcontext", "errstate", "catch_warnings", "closing", "redirect_stdout")


def _size(value: Value, least: int | None) -> Value:
    """An integer that was found to be at least ``least``; one that is not makes the constructor fail, and is nobody's size."""
    if not isinstance(value, Number):
        return UNKNOWN
    if value.size.value is not None:
        return value if least is None or value.size.value >= least else UNKNOWN
    alone = str(value.size).replace("·", "").isidentifier()
    return Number(value.size, value.positive or (alone and least is not None and least >= 1))
