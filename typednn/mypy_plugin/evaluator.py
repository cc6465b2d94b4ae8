"""Evaluates expressions on what is known of their values.

An unknown value is `UNKNOWN`, and so is every result that depends on it: an error is reported only on a path that
certainly exists. The tables of `features` say what a call, an operator or an attribute means.
"""

import ast
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce

from mypy import nodes

from typednn.mypy_plugin import python, syntax
from typednn.mypy_plugin.array_functions import dtypes
from typednn.mypy_plugin.context import Call, Context, mutated
from typednn.mypy_plugin.features import EFFECTS, TABLE, arrays, constructors, functions
from typednn.mypy_plugin.features.constructors import constants
from typednn.mypy_plugin.sizes import keeps, stored
from typednn.mypy_plugin.values import (
    DOT,
    UNKNOWN,
    Array,
    Constant,
    DType,
    Environment,
    Function,
    Gradient,
    Layer,
    Many,
    Number,
    Pack,
    Partial,
    Reference,
    Slice,
    Value,
    integer_of,
    join,
    number,
    show,
    symbol,
    unshared,
)
from typednn.shapes import Flow

# _READERS don't change a list argument, as no function in the table does; _HARMLESS don't assign fields of a self
# argument.
_READERS = frozenset(f"builtins.{name}" for name in ("sum", "print", "bool", "repr", "str"))
_HARMLESS = frozenset(
    f"builtins.{name}"
    for name in ("isinstance", "type", "len", "repr", "str", "id", "hasattr", "getattr", "print", "super")
)
_SYMBOLS: dict[type[ast.operator], str] = {ast.RShift: ">>", ast.MatMult: "@"}


@dataclass(eq=False)
class Evaluator(Context):
    """The expressions of one body."""

    # by mypy node: its value, joined over all visits
    values: dict[int, Value] = field(default_factory=dict[int, Value])
    settled: bool = False  # no value can change between two evaluations: those in `values` hold
    # How many elements loops here may evaluate one by one: of loops within each other the product, so that the cost
    # stays that of one.
    unrolled: int = field(default=python.UNROLLED, init=False)
    rebound: frozenset[str] = frozenset()  # names that functions inside assign: unknown
    unsteady: frozenset[str] = frozenset()  # names that are assigned more than once, or changed in place

    def begin(self) -> None:
        super().begin()
        self.values = {}

    def assign(self, target: ast.expr, value: Value, env: Environment) -> None:
        """Bind a name, an attribute of self, or several at once."""
        match target:
            case ast.Name(id=name):
                env[name] = UNKNOWN if name in self.rebound else value
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
            case ast.Attribute(value=inner):
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
        origin = syntax.origin(node)
        if self.settled and id(origin) in self.values:
            return self.values[id(origin)]
        value = self._value(node, env)
        if self.scope.pairs:
            self.scope.leave_open(node)
        if value is UNKNOWN:
            value = self.scope.typed(node)
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
                return self._noted(node, self._attribute(node, env))
            case _:
                return self.evaluate(node, env)

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
                return self._attribute(node, env)
            case ast.Call():
                return self._call(node, env)
            case ast.BinOp(left=left, op=operation, right=right):
                operands = self.peek(left, env), self.peek(right, env)
                return self.operated(operation, Call(self, "", node, env, arguments=operands))
            case ast.UnaryOp(op=op, operand=operand):
                value = self.peek(operand, env)
                if isinstance(value, Array) and not isinstance(op, ast.Not):
                    return arrays.operator(Call(self, "", node, env), op, [value])
                return python.unary(op, value)
            case ast.BoolOp(op=op, values=conditions):
                value = self.evaluate(conditions[0], env)
                for place, condition in enumerate(conditions[1:], 1):
                    decided = python.truth(value)
                    if decided is None:
                        for each in conditions[place:]:  # may not be evaluated
                            self._evaluate_conditionally(each, env)
                        return UNKNOWN
                    if decided == isinstance(op, ast.Or):
                        return value
                    value = self.evaluate(condition, env)
                return value
            case ast.Compare(left=left, ops=[comparison, *_], comparators=others):
                values = [self.peek(each, env) for each in (left, *others)]
                self.flexible.update(name for value in values for name in _names(value))
                if len(values) == 2 and any(isinstance(each, Array) for each in values):
                    values = [self._scalar(value, each) for value, each in zip(values, (left, *others), strict=True)]
                    return arrays.operator(Call(self, "", node, env), comparison, values)
                return python.compared(comparison, *values) if len(values) == 2 else UNKNOWN
            case ast.IfExp(test=test, body=body, orelse=orelse):
                decided = python.truth(self.peek(test, env))
                if decided is not None:
                    return self.evaluate(body if decided else orelse, env)
                return join(self._evaluate_conditionally(body, env), self._evaluate_conditionally(orelse, env))
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return self._display(elements, env, frozen=isinstance(node, ast.Tuple))
            case ast.Dict(keys=keys, values=entries):
                items = [self.evaluate(entry, env) for entry in entries]
                names = [self.evaluate(key, env) if key is not None else UNKNOWN for key in keys]
                latest = dict(zip(map(show, names), items, strict=True))
                known = all(isinstance(name, Constant | Number) for name in names)
                return Pack(tuple(latest.values()), keys=tuple(latest)) if known else UNKNOWN
            case (
                ast.ListComp(elt=element, generators=generators) | ast.GeneratorExp(elt=element, generators=generators)
            ):
                return self._comprehension(element, generators, env)
            case ast.DictComp(key=key, value=entry, generators=generators):
                pairs = self._comprehension(ast.Tuple(elts=[key, entry], ctx=ast.Load()), generators, env)
                return python.dictionary(pairs)
            case ast.Subscript(value=inner, slice=place):
                base, index = self.peek(inner, env), self._index(place, env)
                at = integer_of(index)
                if (
                    isinstance(base, Pack)
                    and _of_shape(inner)
                    and at is not None
                    and not -len(base.items) <= at < len(base.items)
                ):
                    self.scope.complain(f"{ast.unparse(inner)} has {len(base.items)} sizes, none at {at}", node)
                return (
                    arrays.item(Call(self, "", node, env, base), index)
                    if isinstance(base, Array)
                    else python.item(base, index)
                )
            case ast.Slice(lower=lower, upper=upper, step=step):
                ends = [Constant(None) if each is None else self.evaluate(each, env) for each in (lower, upper, step)]
                return Slice(*ends)
            case ast.Lambda(args=parameters, body=body):
                return Function("lambda", self.scope.module, parameters, body, self.captured(env))
            case ast.NamedExpr(target=target, value=right):
                value = unshared(self.evaluate(right, env))
                self.assign(target, value, env)
                return value
            case _:
                return UNKNOWN

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

    def _attribute(self, node: ast.Attribute, env: Environment) -> Value:
        name = node.attr
        if syntax.of_self(node) and (name in self.hidden or f"self.{name}" in env):
            return UNKNOWN if name in self.hidden else env[f"self.{name}"]
        base = self.peek(node.value, env)
        # in a constructor: an object that is not complete
        if base is UNKNOWN and syntax.of_self(node) and self.of is not None:
            own = {each[5:]: value for each, value in env.items() if each.startswith("self.")}
            base = Layer(self.of.name, self.of.fullname, attributes=own)
        if unshared(base) is not base:
            mutated(node.value, env)  # such as `add = layers.append`
        return self._attribute_of(base, node, env)

    def _attribute_of(self, base: Value, node: ast.Attribute, env: Environment) -> Value:
        name = node.attr
        match base:
            case Layer(parts=tuple(parts)) if name == "parts":
                return Pack(parts)
            case Layer() if base.attributes.get(name, UNKNOWN) is not UNKNOWN:
                return base.attributes[name]
            case Layer():
                found = stored(self, base, name)
                return functions.member(Call(self, name, node, env, base), base) if found is UNKNOWN else found
            case Gradient(fields=fields):
                return fields.get(name, UNKNOWN)
            case Pack(fields=(_, *_) as fields, items=items):
                return (
                    items[fields.index(name)]
                    if name in fields
                    else functions.member(Call(self, name, node, env, base), base)
                )
            case Reference(node=nodes.MypyFile(fullname="numpy")) if name in _NUMPY:
                return _NUMPY[name]
            case Reference(node=nodes.MypyFile() as module):
                return self.scope.within(module, name)
            case Reference(node=nodes.TypeInfo() as info):
                known = constants(self, info).get(name, UNKNOWN)
                return functions.member(Call(self, name, node, env, base), base) if known is UNKNOWN else known
            case _:
                name = f"{type(base).__name__}.{name}"
                return TABLE[name](Call(self, name, node, env, base)) if name in TABLE else UNKNOWN

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
        found = self._generated(element, generators, dict(env))
        return Pack(tuple(found)) if isinstance(found, list) else UNKNOWN if found is UNKNOWN else Many(found)

    def _generated(
        self, element: ast.expr, generators: list[ast.comprehension], env: Environment
    ) -> "list[Value] | Value":
        """The elements one by one, or what is known of each of them."""
        if not generators:
            return [self.evaluate(element, env)]
        generator, *further = generators
        sequence = python.elements(self.peek(generator.iter, env))
        values: list[Value] = []
        if isinstance(sequence, Pack) and len(sequence.items) <= self.unrolled:
            for item in sequence.items:
                self.assign(generator.target, item, env)
                truths = [python.truth(self.evaluate(condition, env)) for condition in generator.ifs]
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
            self.evaluate(condition, env)
        inner = self._generated(element, further, env)
        return inner if not isinstance(inner, list) else reduce(join, inner) if inner else UNKNOWN

    # ------------------------------------------------------------------ calls

    def _call(self, node: ast.Call, env: Environment) -> Value:
        receiver = self.peek(node.func.value, env) if isinstance(node.func, ast.Attribute) else UNKNOWN
        names = tuple(self._names(node.func, receiver, env))
        known = next((name for name in names if name in TABLE), "")
        stores = known.startswith(("Pack.", "Many."))  # such as append: a list that is handed over has then two names
        lists: list[ast.expr] = []  # that are handed over
        arguments: list[Value] = []
        keywords: dict[str, Value] = {}
        spread, certain = False, None
        given: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
        for each in given:
            inner = each.value if isinstance(each, ast.keyword | ast.Starred) else each
            value = self.evaluate(inner, env) if stores else self.peek(inner, env)
            lists += [inner] if unshared(value) is not value else []
            if isinstance(each, ast.keyword) and each.arg is None:
                known_items = isinstance(value, Pack) and bool(value.keys or not value.items)
                named = (
                    dict(zip(map(python.key, value.keys), value.items, strict=True))
                    if isinstance(value, Pack) and known_items
                    else {}
                )
                spread |= not known_items or None in named
                keywords |= {name: item for name, item in named.items() if name is not None}
            elif isinstance(each, ast.keyword):
                keywords[each.arg or ""] = value
            elif isinstance(each, ast.Starred):
                known_items = isinstance(value, Pack) and not value.keys
                spread |= not known_items
                certain = len(arguments) if certain is None and not known_items else certain
                arguments += value.items if known_items and isinstance(value, Pack) else (value,)
            else:
                arguments.append(value)
        self._forget_fields(node, names, env)
        call = Call(
            self,
            known,
            node,
            env,
            receiver,
            arguments,
            keywords,
            spread,
            len(arguments) if certain is None else certain,
        )
        if known:
            return UNKNOWN if spread and known not in EFFECTS else TABLE[known](call)
        if syntax.of_self(node.func) and self.base is not None and "self" not in env:
            return constructors.continued(replace(call, name=node.func.attr))
        function = (
            self._attribute_of(receiver, node.func, env)
            if isinstance(node.func, ast.Attribute)
            else self.evaluate(node.func, env)
        )
        value = self.apply(function, call)
        if not _READERS.intersection(names) and not functions.only_reads(self, function):
            for each in lists:
                mutated(each, env)
        return value

    def operated(self, op: ast.operator, call: Call) -> Value:
        left, right = call.arguments
        if isinstance(left, Array) or isinstance(right, Array):
            if isinstance(call.node, ast.BinOp):
                call = replace(
                    call, arguments=(self._scalar(left, call.node.left), self._scalar(right, call.node.right))
                )
            in_place = (
                isinstance(call.node, ast.BinOp) and getattr(call.node, "in_place", False) and isinstance(left, Array)
            )
            return arrays.operator(call, op, call.arguments, in_place=in_place)
        name = f"{type(left).__name__} {_SYMBOLS.get(type(op), '+')} {type(right).__name__}"
        return TABLE[name](replace(call, name=name, node=_operation(call.node, op))) if name in TABLE else UNKNOWN

    def _scalar(self, value: Value, node: ast.expr) -> Value:
        """A number that is not known is one number all the same."""
        kind = _WEAK.get(self.scope.class_name(node), "") if value is UNKNOWN else ""
        return Array(Flow.of(()), kind) if kind else value

    def apply(self, function: Value, call: Call) -> Value:
        """The result of a function for the arguments of ``call``."""
        match function:
            case Partial(
                function=Reference(node=nodes.FuncDef() as method), arguments=(Layer() | Pack() | Reference() as owner,)
            ):
                return functions.method(replace(call, receiver=owner), method)
            case Partial(function=inner, arguments=before, keywords=named):
                return self.apply(
                    inner,
                    replace(call, arguments=(*before, *call.arguments), keywords={**dict(named), **call.keywords}),
                )
            case Layer():
                return TABLE["Layer.__call__()"](replace(call, name="Layer.__call__()", receiver=function))
            case Reference(node=nodes.TypeInfo() as info):
                entries = (info.fullname, *(f"({base.fullname})" for base in info.mro))  # this class itself, or a base
                known = next((name for name in entries if name in TABLE), "")
                call = replace(call, name=known, receiver=function)
                return TABLE[known](call) if known else constructors.instance(call)
            case Reference(node=nodes.FuncDef(fullname=name)) if name in TABLE:
                return TABLE[name](replace(call, name=name))
            case Reference(node=nodes.FuncDef() as called):
                return functions.applied(call, called)
            case Reference(node=nodes.OverloadedFuncDef(impl=nodes.FuncDef() as called)):
                return functions.applied(call, called)
            case Function():
                return functions.followed(call, function)
            case _:
                return functions.called(call)

    def _names(self, function: ast.expr, receiver: Value, env: Environment) -> Iterator[str]:
        """The names under which the table may have the called function: as it is defined, and as it is written."""
        match function, receiver:
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name), _:
                yield f"super().{name}()"
            case ast.Attribute(value=ast.Attribute(value=ast.Name() as owner, attr=ufunc), attr=name), _ if (
                isinstance(module := self.peek(owner, env), Reference)
                and getattr(module.node, "fullname", "") == "numpy"
            ):  # np.add.reduce
                yield f"numpy.{ufunc}.{name}"
            case ast.Attribute(attr=name), Reference(node=nodes.TypeInfo() as info):
                yield f"{info.fullname}.{name}"
                yield from (f"({base.fullname}).{name}()" for base in info.mro)
            case ast.Attribute(attr=name), Reference(node=nodes.MypyFile() as module):
                value = self.scope.within(module, name)
                if isinstance(value, Reference):
                    yield from _called(value.node.fullname)
                yield f"{module.fullname}.{name}"
            case ast.Attribute(value=owner, attr=name), _:
                yield f"{self.scope.class_name(owner) if receiver is UNKNOWN else type(receiver).__name__}.{name}()"
            case ast.Name(id=name), _ if name not in env:
                value = self.scope.resolve(name, function)
                if isinstance(value, Reference):
                    yield from _called(value.node.fullname)
                elif not self.scope.defines(name, function):
                    yield f"builtins.{name}"
                elif isinstance(origin := syntax.origin(function), nodes.NameExpr):
                    yield origin.fullname  # a function that a variable holds
            case _:
                pass

    def _forget_fields(self, node: ast.Call, names: tuple[str, ...], env: Environment) -> None:
        """A callee that receives self may assign its fields: in a constructor all of them, in a method those that some
        method assigns.
        """
        values = [*node.args, *(each.value for each in node.keywords)]
        receives_self = any(
            isinstance(each, ast.Name) and each.id == "self" for each in values
        ) and not _HARMLESS.intersection(names)
        if receives_self or syntax.of_self(node.func):
            every_field = receives_self and self.base is not None
            env |= {
                each: UNKNOWN for each in env if each.startswith("self.") and (every_field or each[5:] in self.assigned)
            }
        if node.args and {"builtins.setattr", "builtins.delattr", "builtins.vars"}.intersection(names):
            mutated(node.args[0], env)


_WEAK = {"builtins.float": dtypes.WEAK_FLOAT, "builtins.int": dtypes.WEAK_INT, "builtins.bool": dtypes.WEAK_BOOL}
_NUMPY: dict[str, Value] = {
    **{name: DType(kind) for name, kind in dtypes.BY_NAME.items() if name not in ("bool", "int", "float", "complex")},
    "newaxis": Constant(None), "pi": Constant(3.14), "e": Constant(2.7), "inf": Constant(float("inf")),
    "nan": Constant(float("nan")),
}  # fmt: skip


def _called(name: str) -> Iterator[str]:
    """The names of a function: as it is defined, and where NumPy offers it."""
    yield name
    if name.startswith("numpy."):
        *_, last = name.split(".")
        yield f"numpy.linalg.{last}" if ".linalg." in name else f"numpy.{last}"


def _of_shape(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "shape"


def _names(value: Value) -> frozenset[str]:
    """The names in a size, or in a shape."""
    match value:
        case Number(size=size):
            return size.names()
        case Pack(items=items):
            return frozenset(name for each in items for name in _names(each))
        case _:
            return frozenset()


def _operation(node: ast.expr, op: ast.operator) -> ast.expr:
    """An operator that is written as a call, such as ``operator.add(a, b)``, or that a function applies."""
    if isinstance(node, ast.BinOp):
        return node
    made = ast.BinOp(left=ast.Constant(value=...), op=op, right=ast.Constant(value=...))
    made.origin = syntax.origin(node)  # type: ignore[attr-defined]
    return made


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
