"""Follows a constructor or a function body with what is known of its values, and nothing else.

What is not known is `UNKNOWN`, and whatever it touches becomes unknown too: only what is wrong on a path that surely
exists is complained about.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable

from mypy import nodes
from mypy.nodes import TypeInfo

from typednn.mypy_plugin import classes, python, syntax
from typednn.mypy_plugin.arrays import Arrays
from typednn.mypy_plugin.calls import Calls
from typednn.mypy_plugin.constructors import Constructors, Workshop
from typednn.mypy_plugin.names import Names
from typednn.mypy_plugin.statements import Statements
from typednn.mypy_plugin.values import (
    UNKNOWN,
    Array,
    Constant,
    Environment,
    Gradient,
    Layer,
    Many,
    Number,
    Pack,
    Reference,
    Value,
    join,
    lookup,
    number,
    show,
)

_SELF_RETURNING = ("named", "init", "train", "eval", "to", "astype", "shared", "load_state_dict", "requires_grad")
# Called with a list, these only read it; called with self, those do not assign its fields.
_READERS = frozenset(
    f"builtins.{name}"
    for name in ("len", "zip", "enumerate", "reversed", "tuple", "list", "sum", "print", "isinstance", "bool", "repr", "str")
) | {"typednn.layer.Sequential", "typednn.stack.Stack", "typednn.arguments.pair", "typednn.arguments.integer"}
_HARMLESS = frozenset(
    f"builtins.{name}" for name in ("isinstance", "type", "len", "repr", "str", "id", "hasattr", "getattr", "print", "super")
)


class Evaluator:
    """One function body. ``names`` are the axis names that mean one thing all through it."""

    def __init__(
        self, world: Names, names: frozenset[str] = frozenset(), workshop: Workshop | None = None, under: tuple[Hashable, ...] = ()
    ) -> None:
        self.world = world
        self.names = names
        self.workshop: Workshop = Workshop() if workshop is None else workshop
        self.constructors: Constructors = Constructors(self, self.workshop, under)
        self.values: dict[int, Value] = {}  # by mypy node: what each expression was, joined over all visits
        self.memo: dict[int, Value] | None = None  # where nothing can change between two looks
        self.statements: Statements = Statements(self)
        self.calls: Calls = Calls(self)
        self.arrays: Arrays = Arrays(self)
        self.rebound: frozenset[str] = frozenset()  # names that functions inside assign: unknown
        self.hidden: frozenset[str] = frozenset()  # attributes of self that other methods assign: unknown in a constructor
        self.assigned: frozenset[str] = frozenset()  # the same, in a method: unknown after any call that is given self

    def within(self, module: str, under: tuple[Hashable, ...]) -> Evaluator:
        """An evaluator for a constructor of another module, silent, with what constructors share."""
        return Evaluator(self.world.inside(module), workshop=self.workshop, under=under)

    def assign(self, target: ast.expr, value: Value, env: Environment) -> None:
        """Bind a name, an attribute of self, or several at once."""
        match target:
            case ast.Name(id=name):
                env[name] = UNKNOWN if name in self.rebound else value
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
            case ast.Attribute(value=inner) | ast.Subscript(value=inner):
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
                return python.unary(op, self.peek(operand, env))
            case ast.BoolOp(values=conditions):
                self.evaluate(conditions[0], env)
                for condition in conditions[1:]:  # may not be looked at
                    self._perhaps(condition, env)
                return UNKNOWN
            case ast.Compare(left=left, ops=[comparison, *_], comparators=others):
                values = [self.peek(each, env) for each in (left, *others)]
                return python.compared(comparison, *values) if len(values) == 2 else UNKNOWN
            case ast.IfExp(test=test, body=body, orelse=orelse):
                decided = python.truth(self.peek(test, env))
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
                return python.item(self.peek(inner, env), self.evaluate(place, env))
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
                return self.arrays.attribute(base, name)
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
        return self.arrays.promised(text, kind, lookup(layer.attributes))

    def _display(self, elements: list[ast.expr], env: Environment, *, frozen: bool) -> Value:
        items: list[Value] = []
        for element in elements:
            if isinstance(element, ast.Starred):
                inner = python.elements(self.peek(element.value, env))
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
            sequence = python.elements(self.peek(generator.iter, inner))
            sequences.append(sequence)
            self.assign(generator.target, python.element(sequence), inner)
            for condition in generator.ifs:
                self.evaluate(condition, inner)
        parts: list[ast.AST] = [element, *generators]
        leaked = [each.target for part in parts for each in ast.walk(part) if isinstance(each, ast.NamedExpr)]
        for target in leaked:
            self.assign(target, UNKNOWN, inner)
            self.assign(target, UNKNOWN, env)
        only = sequences[0]
        if len(generators) == 1 and not generators[0].ifs and isinstance(only, Pack) and len(only.items) <= python.UNROLLED:
            found: list[Value] = []
            for item in only.items:
                self.assign(generators[0].target, item, inner)
                found.append(self.evaluate(element, inner))
            return Pack(tuple(found))
        value = self.evaluate(element, inner)
        return UNKNOWN if value is UNKNOWN else Many(value)

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
                return UNKNOWN if spread else self.arrays.method(receiver, name, arguments, keywords)
            case _:
                pass
        if called == "builtins.reveal_type" and len(arguments) == 1 and not spread:
            self.arrays.reveal(arguments[0], node)
        known = None if spread else python.function(called, arguments, keywords, node)
        if known is not None:
            return known
        function = self.evaluate(node.func, env)
        if isinstance(function, Layer) and not spread:
            return self.calls.forward(function, arguments or list(keywords.values()), node)
        if isinstance(function, Reference) and isinstance(function.node, TypeInfo):
            return self.constructors.instance(function.node, arguments, keywords, node, spread=spread)
        if isinstance(node.func, ast.Attribute) and isinstance(receiver, Reference) and receiver.node.fullname == "numpy" and not spread:
            return self.arrays.function(node.func.attr, arguments, keywords)
        if isinstance(node.func, ast.Attribute) and self.world.class_name(node.func.value).startswith("numpy.random."):
            return self.arrays.function(node.func.attr, arguments, keywords)
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
