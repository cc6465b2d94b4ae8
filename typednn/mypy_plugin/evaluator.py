"""Follows a constructor or a function body with what is known of its values, and nothing else.

Statements run in order on an environment; where a branch cannot be decided both sides run and what they agree on is
kept; a loop over known elements is unrolled, another runs until nothing changes. What is not known is `UNKNOWN`, and
whatever it touches becomes unknown too: only what is wrong on a path that surely exists is complained about.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from mypy import nodes
from mypy.nodes import TypeInfo

from typednn.mypy_plugin import classes, syntax
from typednn.mypy_plugin.calls import Calls
from typednn.mypy_plugin.types import of_class
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
    Sample,
    Value,
    integer_of,
    join,
    join_all,
    lookup,
    number,
    show,
    symbol,
)

Environment: TypeAlias = "dict[str, Value]"

_SELF_RETURNING = ("named", "init", "train", "eval", "to", "astype", "shared", "load_state_dict", "requires_grad")
_MUTATORS = ("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "setdefault", "popitem")
_UNROLLED = 64
_DEPTH = 24


class World(Protocol):
    """Where an evaluator learns about names and calls, and where its complaints go."""

    def resolve(self, name: str, node: ast.expr | None = None) -> Value: ...

    def within(self, module: Any, name: str) -> Value: ...

    def inside(self, module: str) -> World: ...

    def typed(self, node: ast.expr) -> Value: ...

    def signature(self, node: ast.Call) -> tuple[str, classes.Signature] | None: ...

    def complain(self, message: str, node: ast.AST) -> None: ...

    def note(self, message: str, node: ast.AST) -> None: ...

    def lost(self, what: str, node: ast.AST) -> None: ...

    def rank(self, node: ast.AST) -> int | None: ...


class Silent:
    """The world of a constructor: names of its module, no complaints; wrong arguments show where its layers are used."""

    def __init__(self, world: World, module: str) -> None:
        self.world = world.inside(module)

    def resolve(self, name: str, node: ast.expr | None = None) -> Value:
        return self.world.resolve(name)

    def within(self, module: Any, name: str) -> Value:
        return self.world.within(module, name)

    def inside(self, module: str) -> World:
        return self.world.inside(module)

    def typed(self, node: ast.expr) -> Value:
        return UNKNOWN

    def signature(self, node: ast.Call) -> tuple[str, classes.Signature] | None:
        return None

    def complain(self, message: str, node: ast.AST) -> None: ...

    def note(self, message: str, node: ast.AST) -> None: ...

    def lost(self, what: str, node: ast.AST) -> None: ...

    def rank(self, node: ast.AST) -> int | None:
        return None


class Evaluator:
    """One function body. ``names`` are the axis names that mean one thing all through it."""

    def __init__(self, world: World, names: frozenset[str] = frozenset(), depth: int = 0) -> None:
        self.world = world
        self.names = names
        self.depth = depth
        self.values: dict[int, Value] = {}  # by mypy node: what each expression was, joined over all visits
        self.memo: dict[int, Value] | None = None  # where nothing can change between two looks
        self.returns: Callable[[Value, ast.Return], None] | None = None
        self.calls = Calls(self)
        self._breaks: list[list[Environment]] = []
        self.hidden: frozenset[str] = frozenset()  # attributes of self that other methods assign: unknown in a constructor
        self.assigned: frozenset[str] = frozenset()  # the same, in a method: unknown after any call that is given self
        self._base: TypeInfo | None = None  # whose constructor this is

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
                if isinstance(right, ast.Name) and isinstance(value, Pack) and len(targets) == 1:
                    env[right.id] = value = value if value.frozen else UNKNOWN  # two names for one list
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
                return None
            case ast.If(test=test, body=body, orelse=orelse):
                return self._branch(self.truth(self.evaluate(test, env)), body, orelse, env)
            case ast.For():
                return self._for(statement, env)
            case ast.While(test=test, body=body, orelse=orelse):
                self.evaluate(test, env)
                return self._loop([], body, orelse, env, None)
            case ast.With(items=items, body=body):
                for item in items:
                    self.evaluate(item.context_expr, env)
                    if item.optional_vars is not None:
                        self.assign(item.optional_vars, UNKNOWN, env)
                after = self.run(body, dict(env))
                return after if after is not None else forget(env, body)
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
            case ast.Global(names=names):
                for name in names:
                    env[name] = UNKNOWN
            case _:
                pass
        return env

    def _branch(self, decided: bool | None, body: list[ast.stmt], orelse: list[ast.stmt], env: Environment) -> Environment | None:
        if decided is not None:
            return self.run(body if decided else orelse, env)
        return either(self.run(body, dict(env)), self.run(orelse, dict(env)))

    def _for(self, statement: ast.For, env: Environment) -> Environment | None:
        items = self.evaluate(statement.iter, env)
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
        self, targets: list[ast.expr], body: list[ast.stmt], orelse: list[ast.stmt], env: Environment, item: Value | None
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
        result: Environment | None = self.run(orelse, dict(entry))
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
                env[name] = value
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                env[f"self.{name}"] = value
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

    def _value(self, node: ast.expr, env: Environment) -> Value:
        match node:
            case ast.Constant(value=inner):
                if inner is ...:
                    return UNKNOWN
                return number(inner) if type(inner) is int else Constant(inner)
            case ast.Name(id=name):
                return env[name] if name in env else self.world.resolve(name, node)
            case ast.Attribute():
                return self._attribute(node, env)
            case ast.Call():
                return self._call(node, env)
            case ast.BinOp(left=left, op=op, right=right):
                return self.calls.operator(op, self.evaluate(left, env), self.evaluate(right, env), node)
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(op, self.evaluate(operand, env))
            case ast.BoolOp(values=conditions):
                for condition in conditions:
                    self.evaluate(condition, env)
                return UNKNOWN
            case ast.Compare():
                return self._compare(node, env)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                decided = self.truth(self.evaluate(test, env))
                if decided is not None:
                    return self.evaluate(body if decided else orelse, env)
                return join(self.evaluate(body, env), self.evaluate(orelse, env))
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return self._display(elements, env, frozen=isinstance(node, ast.Tuple))
            case ast.Dict(keys=keys, values=entries):
                found = [self.evaluate(entry, env) for entry in entries]
                names = [self.evaluate(key, env) if key is not None else UNKNOWN for key in keys]
                return Pack(tuple(found), keys=tuple(show(name) for name in names)) if UNKNOWN not in names else UNKNOWN
            case ast.ListComp(elt=element, generators=generators) | ast.GeneratorExp(elt=element, generators=generators):
                return self._comprehension(element, generators, env)
            case ast.Subscript(value=inner, slice=place):
                return self._subscript(self.evaluate(inner, env), self.evaluate(place, env), inner, env)
            case ast.NamedExpr(target=target, value=right):
                value = self.evaluate(right, env)
                self.assign(target, value, env)
                return value
            case _:
                return UNKNOWN

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
                return class_constant(self.world, info, name, self.depth)
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
                inner = self.evaluate(element.value, env)
                if not isinstance(inner, Pack):
                    return UNKNOWN
                items += inner.items
            else:
                items.append(self.evaluate(element, env))
        return Pack(tuple(items), frozen=frozen)

    def _comprehension(self, element: ast.expr, generators: list[ast.comprehension], env: Environment) -> Value:
        inner = dict(env)
        sequences: list[Value] = []
        for generator in generators:
            sequence = self.evaluate(generator.iter, inner)
            sequences.append(sequence)
            each = join_all(sequence.items) if isinstance(sequence, Pack) else sequence.item if isinstance(sequence, Many) else UNKNOWN
            self.assign(generator.target, each, inner)
            for condition in generator.ifs:
                self.evaluate(condition, inner)
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
        values = [self.evaluate(each, env) for each in (node.left, *node.comparators)]
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
        receiver = self.evaluate(node.func.value, env) if isinstance(node.func, ast.Attribute) else None
        arguments = [self.evaluate(each.value if isinstance(each, ast.Starred) else each, env) for each in node.args]
        keywords = {each.arg or "**": self.evaluate(each.value, env) for each in node.keywords}
        spread = any(isinstance(each, ast.Starred) for each in node.args) or "**" in keywords
        for each in node.args:  # whoever is handed a list may change it
            if (
                isinstance(each, ast.Name)
                and isinstance(passed := env.get(each.id), Pack)
                and not passed.frozen
                and not _harmless(node.func)
            ):
                env[each.id] = UNKNOWN
        handed = [*node.args, *(each.value for each in node.keywords)]
        if isinstance(node.func, ast.Attribute):
            handed.append(node.func.value)
        if any(isinstance(each, ast.Name) and each.id == "self" for each in handed):
            env |= {name: UNKNOWN for name in env if name.startswith("self.") and name[5:] in self.assigned}
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
                return self.calls.array_method(receiver, name, arguments, keywords)
            case _:
                pass
        function = self.world.resolve(node.func.id, node.func) if isinstance(node.func, ast.Name) and node.func.id not in env else None
        if function is None or function is UNKNOWN:
            function = self.evaluate(node.func, env)
        if isinstance(function, Layer) and not spread:
            return self.calls.forward(function, arguments or list(keywords.values()), node)
        if isinstance(function, Reference) and isinstance(function.node, TypeInfo):
            return self.instance(function.node, arguments, keywords, node, spread=spread)
        if isinstance(node.func, ast.Name) and node.func.id not in env:
            known = self._builtin(node.func.id, arguments, keywords, node, env)
            if known is not None:
                return known
        if isinstance(node.func, ast.Attribute) and isinstance(receiver, Reference) and receiver.node.fullname == "numpy":
            return self.calls.numpy_function(node.func.attr, arguments, keywords)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("standard_normal", "random"):
            return self.calls.numpy_function(node.func.attr, arguments, keywords)
        said = self.world.signature(node)
        if said is not None and not spread:
            return self.calls.function(*said, arguments, keywords, node, receiver)
        return UNKNOWN

    def _super(self, node: ast.Call, env: Environment) -> Value:
        """``super().__init__(…)`` of a layer runs its base's constructor on the same attributes."""
        arguments = [self.evaluate(each, env) for each in node.args]
        keywords = {each.arg or "**": self.evaluate(each.value, env) for each in node.keywords}
        spread = any(isinstance(each, ast.Starred) for each in node.args) or "**" in keywords
        if isinstance(node.func, ast.Attribute) and node.func.attr == "__init__" and self._base is not None:
            following = self._base.mro[1:]
            owner = next((base for base in following if "__init__" in base.names and base.fullname != "builtins.object"), None)
            if owner is not None:
                env |= {f"self.{name}": value for name, value in self._constructed(owner, arguments, keywords, spread=spread).items()}
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

    def _builtin(self, name: str, arguments: list[Value], keywords: Mapping[str, Value], node: ast.Call, env: Environment) -> Value | None:
        first = arguments[0] if arguments else UNKNOWN
        match name, arguments:
            case "integer", [_, _, value, *rest]:
                least = integer_of((rest or [keywords.get("least", number(1))])[0])
                return _size(value, least)
            case "pair", [_, _, value, *rest]:
                least = integer_of((rest or [keywords.get("least", number(1))])[0])
                if isinstance(value, Number):
                    return Pack((_size(value, least),) * 2, frozen=True)
                return Pack(tuple(_size(each, least) for each in value.items), frozen=True) if isinstance(value, Pack) else UNKNOWN
            case "choice" | "number", [_, _, value, *_]:
                return value
            case "int", [Number()]:
                return first
            case "len", [Pack(items=items)]:
                return number(len(items))
            case (("tuple" | "list" | "reversed" | "sorted"), [Pack(items=items)]) if name != "sorted":
                return Pack(items[::-1] if name == "reversed" else items, frozen=name == "tuple")
            case (("tuple" | "list" | "reversed"), [Many()]):
                return first
            case "enumerate", [Pack(items=items)]:
                return Pack(tuple(Pack((number(place), item), frozen=True) for place, item in enumerate(items)), frozen=True)
            case "enumerate", [Many(item=item)]:
                return Many(Pack((UNKNOWN, item), frozen=True))
            case "zip", [_, *_] if all(isinstance(each, Pack) for each in arguments):
                columns = [each.items for each in arguments if isinstance(each, Pack)]
                return Pack(tuple(Pack(row, frozen=True) for row in zip(*columns, strict=False)), frozen=True)
            case "range", _ if 1 <= len(arguments) <= 3 and all(integer_of(each) is not None for each in arguments):
                numbers = (
                    range(*(integer_of(each) or 0 for each in arguments)) if integer_of(arguments[-1]) or len(arguments) < 3 else range(0)
                )
                return Pack(tuple(map(number, numbers)), frozen=True) if len(numbers) <= _UNROLLED else UNKNOWN
            case "range", _:
                return Many(UNKNOWN)
            case (("min" | "max"), _) if arguments and all(integer_of(each) is not None for each in arguments):
                found = [integer_of(each) or 0 for each in arguments]
                return number(min(found) if name == "min" else max(found))
            case "isinstance", [_, _]:
                return _is_instance(first, ast.unparse(node.args[1]))
            case "reveal_type", [value]:
                self.calls.reveal(value, node)
                return value
            case _:
                return None

    # ------------------------------------------------------------------ building

    def instance(
        self, info: TypeInfo, arguments: Sequence[Value], keywords: Mapping[str, Value], node: ast.Call, *, spread: bool = False
    ) -> Value:
        """What a constructor call makes."""
        if info.fullname == classes.INPUT:
            numbers = [integer_of(each) for each in arguments]
            sizes = tuple(each for each in numbers if each is not None)
            return Sample(sizes if len(sizes) == len(numbers) and not spread else None)
        if info.has_base(classes.GRADIENT):
            return self.calls.gradient(info, arguments, keywords, node, spread=spread)
        if not info.has_base(classes.MODULE) or self.depth > _DEPTH:
            return UNKNOWN
        if info.fullname == classes.STACK:
            return self.calls.rows(info, arguments, keywords, node, spread=spread)
        if info.fullname in classes.CHAINS:
            return self.calls.sequential(info, arguments, keywords, node, spread=spread)
        if info.fullname in (classes.RESIDUAL, classes.PER_POSITION):
            return self.calls.wrapped(info, (*arguments, *keywords.values()), node)
        attributes = self._constructed(info, arguments, keywords, spread=spread)
        return of_class(info, self._shown(info, arguments, keywords, spread=spread), attributes)

    def symbolic(self, info: TypeInfo) -> Layer:
        """An instance of a class of which nobody said how it was built: its integers stand for themselves."""
        return of_class(info, "", self._constructed(info, (), {}, spread=False, symbolic=True))

    def _constructed(
        self, info: TypeInfo, arguments: Sequence[Value], keywords: Mapping[str, Value], *, spread: bool, symbolic: bool = False
    ) -> dict[str, Value]:
        owner = classes.constructor_owner(info)
        facts = classes.facts_of(owner) if owner is not None else None
        attributes: dict[str, Value] = {}
        if owner is not None and facts is not None and facts["constructor"]:
            function = _parsed(facts["constructor"])
            inner = Evaluator(Silent(self.world, facts["module"]), depth=self.depth + 1)
            inner._base = owner
            inner.hidden = classes.assigned(info)
            env = inner._bound(function.args, arguments, keywords, classes.positive(info), spread=spread, symbolic=symbolic)
            env |= {f"self.{name}": value for name, value in self._constants(info).items()}
            after = inner.run(function.body, env) or env
            attributes = {name[5:]: value for name, value in after.items() if name.startswith("self.") and name[5:] not in inner.hidden}
        else:
            own = next((found for base in info.mro if (found := classes.facts_of(base)) and found["dataclass"]), None)
            for place, (name, default) in enumerate(own["dataclass"] if own else ()):
                given = keywords.get(name, arguments[place] if place < len(arguments) else None)
                if given is None and default and own is not None:
                    given = Evaluator(Silent(self.world, own["module"]), depth=self.depth + 1).evaluate(
                        ast.parse(default, mode="eval").body, {}
                    )
                attributes[name] = UNKNOWN if given is None or spread else given
        return self._constants(info) | attributes

    def _constants(self, info: TypeInfo) -> dict[str, Value]:
        """What class bodies assign, the most derived one's first."""
        found: dict[str, Value] = {}
        for base in info.mro:
            for name in (classes.facts_of(base) or _NOTHING)["constants"]:
                if name not in found:
                    found[name] = class_constant(self.world, base, name, self.depth)
        return found

    def _bound(
        self,
        parameters: ast.arguments,
        arguments: Sequence[Value],
        keywords: Mapping[str, Value],
        positive: set[str],
        *,
        spread: bool,
        symbolic: bool,
    ) -> Environment:
        names = list(parameters.args[1:])
        defaults: dict[str, ast.expr] = dict(zip([each.arg for each in reversed(names)], reversed(parameters.defaults), strict=False))
        defaults |= {
            each.arg: default for each, default in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True) if default is not None
        }
        env: Environment = {}
        for place, each in enumerate([*names, *parameters.kwonlyargs]):
            if each.arg in keywords:
                env[each.arg] = keywords[each.arg]
            elif place < len(arguments) and place < len(names) and not spread:
                env[each.arg] = arguments[place]
            elif symbolic and each.annotation is not None:
                env[each.arg] = symbol(f"self·{each.arg}", positive=each.arg in positive)
            elif each.arg in defaults and not spread and not symbolic:
                env[each.arg] = self.evaluate(defaults[each.arg], {})
            else:
                env[each.arg] = UNKNOWN
        for star in (parameters.vararg, parameters.kwarg):
            if star is not None:
                env[star.arg] = UNKNOWN
        if parameters.vararg is not None and not spread:
            env[parameters.vararg.arg] = Pack(tuple(arguments[len(names) :]), frozen=True) if not symbolic else UNKNOWN
        return env

    def _shown(self, info: TypeInfo, arguments: Sequence[Value], keywords: Mapping[str, Value], *, spread: bool) -> str:
        """As ``repr`` has it: required arguments by position, the others by name where they differ from the default."""
        owner = classes.constructor_owner(info)
        facts = classes.facts_of(owner) if owner is not None else None
        if facts is None or not facts["constructor"] or spread:
            return f"{info.name}({', '.join(map(show, arguments))})"
        parameters = _parsed(facts["constructor"]).args
        names = [each.arg for each in parameters.args[1:]]
        required = names[: len(names) - len(parameters.defaults)]
        optional = dict(zip(names[len(required) :], parameters.defaults, strict=True))
        optional |= {
            each.arg: value for each, value in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True) if value is not None
        }
        given = dict(zip(names, arguments, strict=False)) | dict(keywords)
        parts = [show(given.get(name, UNKNOWN)) for name in required]
        for name, default in optional.items():
            if name in given and name != "rng" and not name.endswith("_init") and show(given[name]) not in (ast.unparse(default), "_"):
                parts.append(f"{name}={show(given[name])}")
        return f"{info.name}({', '.join(parts)})"


_NOTHING: classes.ClassFacts = {
    "module": "",
    "methods": {},
    "fields": {},
    "constructor": "",
    "constants": {},
    "assigned": [],
    "dataclass": [],
}
_constructors: dict[str, ast.FunctionDef] = {}


def _parsed(text: str) -> ast.FunctionDef:
    if text not in _constructors:
        function = ast.parse(text).body[0]
        assert isinstance(function, ast.FunctionDef)
        _constructors[text] = function
    return _constructors[text]


def class_constant(world: World, info: TypeInfo, name: str, depth: int) -> Value:
    """A constant of a class body, such as ``heads = 4``; what methods assign is none."""
    for base in info.mro:
        facts = classes.facts_of(base)
        if facts is not None and name in facts["constants"]:
            if name in facts["assigned"] or depth > _DEPTH:
                return UNKNOWN
            inner = Evaluator(Silent(world, facts["module"]), depth=depth + 1)
            own: Environment = {}
            for earlier, text in facts["constants"].items():
                if earlier == name:
                    return inner.evaluate(ast.parse(text, mode="eval").body, own)
                own[earlier] = inner.evaluate(ast.parse(text, mode="eval").body, own)
    return UNKNOWN


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


def changed(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The names that statements assign, wherever they stand in them."""
    for statement in body:
        for node in ast.walk(statement):
            targets: list[ast.expr] = []
            match node:
                case ast.Assign():
                    targets = node.targets
                case ast.AugAssign() | ast.For() | ast.NamedExpr():
                    targets = [node.target]
                case ast.withitem() if node.optional_vars is not None:
                    targets = [node.optional_vars]
                case ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute() as receiver, attr=name)) if name in _MUTATORS:
                    targets = [receiver]
                case _:
                    pass
            for target in targets:
                for each in ast.walk(target):
                    if isinstance(each, ast.Name) and each.id != "self":
                        yield each.id
                    elif isinstance(each, ast.Attribute) and ast.unparse(each.value) == "self":
                        yield f"self.{each.attr}"


def _leaves(body: Sequence[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Continue | ast.Break) for statement in body for node in ast.walk(statement))


def _compared(op: ast.cmpop, a: int, b: int) -> Value:
    answers: dict[type[ast.cmpop], bool] = {
        ast.Eq: a == b, ast.NotEq: a != b, ast.Lt: a < b, ast.LtE: a <= b, ast.Gt: a > b, ast.GtE: a >= b,
    }  # fmt: skip
    return Constant(answers[type(op)]) if type(op) in answers else UNKNOWN


def _is_instance(value: Value, kinds: str) -> Value:
    match value:
        case Number():
            return Constant("int" in kinds) if "bool" not in kinds else UNKNOWN
        case Pack():
            return Constant("tuple" in kinds or "list" in kinds or "Sequence" in kinds) if "int" not in kinds else UNKNOWN
        case _:
            return UNKNOWN


def _size(value: Value, least: int | None) -> Value:
    """An integer that was found to be at least ``least``; one that is not makes the constructor fail, and is nobody's size."""
    if not isinstance(value, Number):
        return UNKNOWN
    if value.size.value is not None:
        return value if least is None or value.size.value >= least else UNKNOWN
    alone = str(value.size).replace("·", "").isidentifier()
    return Number(value.size, value.positive or (alone and least is not None and least >= 1))


def _harmless(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id in (
        "len",
        "zip",
        "enumerate",
        "reversed",
        "tuple",
        "list",
        "sum",
        "print",
        "Sequential",
    )
