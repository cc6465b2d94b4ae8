"""Calls, attributes and operators: which function a call means, and what is known of its result.

The tables of `features` say what a call, an operator or an attribute means.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mypy import nodes

from typednn.mypy_plugin import python, syntax
from typednn.mypy_plugin.array_functions import dtypes, random
from typednn.mypy_plugin.changes import MUTATORS, RESHAPING
from typednn.mypy_plugin.context import Call, Context, forget_arrays, mutated
from typednn.mypy_plugin.features import EFFECTS, TABLE, arrays, constructors, functions
from typednn.mypy_plugin.features.constructors import constants
from typednn.mypy_plugin.sizes import stored
from typednn.mypy_plugin.values import (
    UNKNOWN,
    Array,
    Constant,
    DType,
    Environment,
    Function,
    Gradient,
    Layer,
    Pack,
    Partial,
    Reference,
    Value,
    holds_lists,
    owner,
    unshared,
)
from typednn.shapes import Flow

# _READERS don't change a list argument, as no function in the table does; _HARMLESS don't assign fields of a self
# argument.
_READERS = frozenset(f"builtins.{name}" for name in ("sum", "print", "bool", "repr", "str"))
_HARMLESS = frozenset(
    f"builtins.{name}"
    for name in ("isinstance", "type", "len", "repr", "str", "id", "hasattr", "getattr", "print", "super")
) | {"builtins.object.__setattr__"}
_COPIES = ("builtins.list", "builtins.tuple", "builtins.dict", "builtins.sorted", "builtins.reversed", "copy.copy")
_SYMBOLS: dict[type[ast.operator], str] = {ast.RShift: ">>", ast.MatMult: "@"}


@dataclass(eq=False)
class Calls(Context):
    """The calls, attributes and operators of one body."""

    def attribute(self, node: ast.Attribute, env: Environment) -> Value:
        name = node.attr
        if syntax.of_self(node) and (name in self.hidden or f"self.{name}" in env):
            return UNKNOWN if name in self.hidden else env[f"self.{name}"]
        base = self.peek(node.value, env)
        # in a constructor: an object that is not complete
        if base is UNKNOWN and syntax.of_self(node) and self.of is not None:
            own = {each[5:]: value for each, value in env.items() if each.startswith("self.")}
            base = Layer(self.of.name, self.of.fullname, attributes=own)
        if isinstance(base, Array) and name in RESHAPING:
            forget_arrays(env)
        if unshared(base) is not base:
            mutated(node.value, env)  # such as `add = layers.append`
        return self._attribute_of(base, node, env)

    def _attribute_of(self, base: Value, node: ast.Attribute, env: Environment) -> Value:
        name = node.attr
        call = Call(self, name, node, env, base)
        match base:
            case Layer(parts=tuple(parts)) if name == "parts":
                return Pack(parts)
            case Layer() if base.attributes.get(name, UNKNOWN) is not UNKNOWN:
                return base.attributes[name]
            case Layer():
                found = stored(self, base, name)
                return functions.member(call, base) if found is UNKNOWN else found
            case Gradient(fields=fields):
                return fields.get(name, UNKNOWN)
            case Pack(fields=(_, *_) as fields, items=items):
                return items[fields.index(name)] if name in fields else functions.member(call, base)
            case Reference(node=nodes.MypyFile(fullname="numpy" | "jax.numpy")) if name in _NUMPY:
                return _NUMPY[name]
            case Reference(node=nodes.MypyFile(fullname="torch")) if name in _TORCH:
                return _TORCH[name]
            case Reference(node=nodes.MypyFile() as module):
                return self.scope.within(module, name)
            case Reference(node=nodes.TypeInfo() as info):
                known = constants(self, info).get(name, UNKNOWN)
                return functions.member(call, base) if known is UNKNOWN else known
            case _:
                name = f"{owner(base)}.{name}"
                return TABLE[name](replace(call, name=name)) if name in TABLE else UNKNOWN

    def call(self, node: ast.Call, env: Environment) -> Value:
        receiver = self.peek(node.func.value, env) if isinstance(node.func, ast.Attribute) else UNKNOWN
        names = tuple(self._names(node.func, receiver, env))
        known = next((name for name in names if name in TABLE), "")
        stores = known == "functools.partial" or known.startswith(
            ("Pack.", "Many.")
        )  # such as append: a list that is handed over has then two names
        lists: list[ast.expr] = []  # that are handed over
        arguments: list[Value] = []
        keywords: dict[str, Value] = {}
        spread, certain = False, None
        given: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
        for each in given:
            inner = each.value if isinstance(each, ast.keyword | ast.Starred) else each
            value = self.evaluate(inner, env) if stores else self.peek(inner, env)
            if known in _COPIES and isinstance(value, Pack) and holds_lists(value):
                mutated(inner, env)  # the lists in it are now in both
                value = replace(value, items=tuple(map(unshared, value.items)))
            lists += [inner] if unshared(value) is not value else []
            items = value.items if isinstance(value, Pack) else None
            if isinstance(each, ast.keyword) and each.arg is None:
                pairs = zip(value.keys, value.items, strict=False) if isinstance(value, Pack) else ()
                named = {name: item for key, item in pairs if (name := python.key(key)) is not None}
                spread |= items is None or len(named) < len(items)
                keywords |= named
            elif isinstance(each, ast.keyword):
                keywords[each.arg or ""] = value
            elif isinstance(each, ast.Starred) and (items is None or (isinstance(value, Pack) and value.keys)):
                spread, certain = True, len(arguments) if certain is None else certain
                arguments.append(value)
            elif isinstance(each, ast.Starred):
                arguments += items or ()
            else:
                arguments.append(value)
        self._forget_fields(node, names, env)
        certain = len(arguments) if certain is None else certain
        call = Call(self, known, node, env, receiver, arguments, keywords, spread, certain)
        if known:
            return UNKNOWN if spread and known not in EFFECTS else TABLE[known](call)
        self.foreign.add(id(node))
        if syntax.of_self(node.func) and self.base is not None and "self" not in env:
            return constructors.continued(replace(call, name=node.func.attr))
        function = (
            self._attribute_of(receiver, node.func, env)
            if isinstance(node.func, ast.Attribute)
            else self.evaluate(node.func, env)
        )
        value = self.apply(function, call)
        if receiver is UNKNOWN and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
            mutated(node.func.value, env)  # such as rows[i].append
        if not _READERS.intersection(names) and not functions.only_reads(self, function):
            for each in lists:
                mutated(each, env)
        if self.scope.reshapes:
            forget_arrays(env)
        return value

    def operated(self, op: ast.operator, call: Call) -> Value:
        left, right = call.arguments
        if isinstance(left, Array) or isinstance(right, Array):
            own = isinstance(left, Array) and left.library != "jax"  # which never changes an array
            operands, in_place = call.arguments, own and getattr(call.node, "in_place", False)
            if isinstance(call.node, ast.BinOp):
                operands = self.scalar(left, call.node.left), self.scalar(right, call.node.right)
            return arrays.operator(call, op, operands, in_place=in_place)
        name = f"{type(left).__name__} {_SYMBOLS.get(type(op), '+')} {type(right).__name__}"
        return TABLE[name](replace(call, name=name, node=_operation(call.node, op))) if name in TABLE else UNKNOWN

    def scalar(self, value: Value, node: ast.expr) -> Value:
        """A number that is not known is one number all the same."""
        kind = _WEAK.get(self.scope.class_name(node), "") if value is UNKNOWN else ""
        return Array(Flow.of(()), kind) if kind else value

    def apply(self, function: Value, call: Call) -> Value:
        """The result of a function for the arguments of ``call``."""
        match function:
            case Partial(function=Constant(value=str() as name)):
                return TABLE[f"{name}()"](replace(call, name=f"{name}()", receiver=function))
            case Partial(
                function=Reference(node=nodes.FuncDef() as method), arguments=(Layer() | Pack() | Reference() as of,)
            ):
                return functions.method(replace(call, receiver=of), method)
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
            case Reference(node=nodes.FuncDef(fullname=own) | nodes.OverloadedFuncDef(fullname=own)) if name := next(
                (each for each in _called(own) if each in TABLE), ""
            ):
                return TABLE[name](replace(call, name=name))
            case Reference(node=(nodes.FuncDef() as called) | nodes.OverloadedFuncDef(impl=nodes.FuncDef() as called)):
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
            case ast.Attribute(value=ast.Attribute(value=ast.Name() as of, attr=ufunc), attr=name), _ if isinstance(
                module := self.peek(of, env), Reference
            ) and getattr(module.node, "fullname", "") in ("numpy", "jax.numpy"):  # np.add.reduce
                yield f"{module.node.fullname}.{ufunc}.{name}"
            case ast.Attribute(attr=name), Reference(node=nodes.TypeInfo() as info):
                yield f"{info.fullname}.{name}"
                yield from (f"({base.fullname}).{name}()" for base in info.mro)
            case ast.Attribute(attr=name), Reference(node=nodes.MypyFile() as module):
                value = self.scope.within(module, name)
                if isinstance(value, Reference):
                    yield from _called(value.node.fullname)
                yield f"{module.fullname}.{name}"
            case ast.Attribute(attr=name), Layer(class_name=random.GENERATOR):
                yield f"{random.GENERATOR}.{name}()"
            case ast.Attribute(value=of, attr=name), _:
                yield f"{self.scope.class_name(of) if receiver is UNKNOWN else owner(receiver)}.{name}()"
            case ast.Name(id=name), _ if name not in env:
                value = self.scope.resolve(name, function)
                if isinstance(value, Reference):
                    yield from _called(value.node.fullname)
                elif not self.scope.defines(name, function):
                    yield f"builtins.{name}"
                elif isinstance(origin := syntax.origin(function), nodes.NameExpr):
                    yield from _called(origin.fullname)  # a function that a variable holds
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
            if isinstance(self.peek(node.args[0], env), Array):
                forget_arrays(env)
            mutated(node.args[0], env)


_WEAK = {"builtins.float": dtypes.WEAK_FLOAT, "builtins.int": dtypes.WEAK_INT, "builtins.bool": dtypes.WEAK_BOOL}
_NUMPY: dict[str, Value] = {
    **{name: DType(kind) for name, kind in dtypes.BY_NAME.items() if name not in ("bool", "int", "float", "complex")},
    "newaxis": Constant(None), "pi": Constant(3.14), "e": Constant(2.7), "inf": Constant(float("inf")),
    "nan": Constant(float("nan")),
}  # fmt: skip


_TORCH: dict[str, Value] = {
    **{name: kind for name, kind in _NUMPY.items() if isinstance(kind, DType) and not name.endswith("_")},
    **{name: DType(kind) for name, kind in {"bool": "Bool", "long": "Int64", "int": "Int32", "short": "Int16"}.items()},
}


# The modules of NumPy whose functions have no shorter name, by a part of the names of where they are defined.
_MODULES = {".linalg.": "linalg", ".fft.": "fft", ".random.": "random", "stride_tricks": "lib.stride_tricks", "": ""}


# The modules from which JAX's functions are imported, by where they are defined in it.
_OF_JAX = {
    "numpy.linalg.": "jax.numpy.linalg", "numpy.fft.": "jax.numpy.fft", "numpy.": "jax.numpy", "nn.": "jax.nn",
    "lax.": "jax.lax", "random.": "jax.random", "scipy.special.": "jax.scipy.special", "ops.": "jax.scipy.special",
    "": "jax",
}  # fmt: skip
_TORCH_MODULES = {"._nn.": "torch.nn.functional", "._linalg.": "torch.linalg", "._fft.": "torch.fft"}


def _called(name: str) -> Iterator[str]:
    """The names of a function: as it is defined, and where NumPy offers it."""
    yield name
    if name.startswith("numpy."):
        module = next(known for part, known in _MODULES.items() if part in name)
        yield ".".join(filter(None, ("numpy", module, name.rpartition(".")[2])))
    module = next((known for part, known in _OF_JAX.items() if name.startswith(f"jax._src.{part}")), "")
    if module:
        yield f"{module}.{name.rpartition('.')[2]}"
    if name.startswith("einops.einops."):
        yield f"einops.{name.rpartition('.')[2]}"
    if name.startswith(("torch._C.", "torch.functional.")):
        module = next((known for part, known in _TORCH_MODULES.items() if part in name), "torch")
        yield f"{module}.{name.rpartition('.')[2]}"


def _operation(node: ast.expr, op: ast.operator) -> ast.expr:
    """An operator that is written as a call, such as ``operator.add(a, b)``, or that a function applies."""
    if isinstance(node, ast.BinOp):
        return node
    made = ast.BinOp(left=ast.Constant(value=...), op=op, right=ast.Constant(value=...))
    made.origin = syntax.origin(node)  # type: ignore[attr-defined]
    return made
