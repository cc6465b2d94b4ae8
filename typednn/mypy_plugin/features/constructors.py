"""Any class of layers: the attributes that its constructor sets on an instance.

A constructor is evaluated statement by statement, as any body, on the arguments of one call. Where the call is not
known, its integers are symbols.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import lru_cache
from typing import cast

from mypy.nodes import Decorator, FuncDef, TypeInfo, Var
from mypy.types import CallableType, Instance, TupleType, Type, get_proper_type

from typednn.mypy_plugin import classes, python, syntax
from typednn.mypy_plugin.context import Analysis, Call, Context, mutated
from typednn.mypy_plugin.features.stacks import sequential, traced
from typednn.mypy_plugin.jax_modules import DEFAULTS, MODULES
from typednn.mypy_plugin.types import of_class
from typednn.mypy_plugin.values import (
    FLEXIBLE,
    UNKNOWN,
    Constant,
    Environment,
    Layer,
    Number,
    Pack,
    Value,
    parsed,
    show,
    symbol,
    unshared,
)
from typednn.shapes import leave

_CHAIN = "·chain"  # the attribute of a subclass of Sequential that holds what it was built of
_SAME_CLASS = 3  # a class may build instances of itself, such as a tree of blocks


def constructed(call: Call) -> Value:
    """``Linear(784, 10)``."""
    layer = instance(call)
    return traced(call, layer, call.node) if isinstance(layer, Layer) and layer.inner else layer


def instance(call: Call) -> Value:
    """``Config(hidden=128)``: an object of any class whose constructor, or whose fields, are known."""
    info: TypeInfo = call.receiver.node
    if (
        info.has_base(classes.SEQUENTIAL)
        and (owner := classes.constructor_owner(info.mro))
        and owner.fullname == classes.SEQUENTIAL
    ):
        return sequential(replace(call, name=info.fullname))
    cache = call.context.scope.cache
    cache.calls += 1
    if call.context.under.count(info.fullname) >= _SAME_CLASS or cache.spent:
        leave(None, None)
        return UNKNOWN
    if info.is_enum:
        return next(
            (
                member
                for member in constants(call.context, info).values()
                if python.value_of_member(member) == call.argument(0, "value")
            ),
            UNKNOWN,
        )
    if info.is_named_tuple:
        values = _dataclass(call.context, info, call)
        return Pack(tuple(values.values()), frozen=True, fields=tuple(values), of=info.fullname) if values else UNKNOWN
    if info.fullname in MODULES:
        return of_class(info, _shown(info, call), _given_to(info, call))
    if not call.context.scope.reads(info.module_name) and not any(True for _ in classes.all_facts(info)):
        return UNKNOWN
    layer = of_class(info, _shown(info, call), _attributes(call.context, info, call))
    chain = layer.attributes.get(_CHAIN, UNKNOWN)
    if isinstance(chain, Layer):
        return replace(layer, parts=chain.parts, sample=chain.sample, traced=chain.traced)
    return layer


def _given_to(info: TypeInfo, call: Call) -> dict[str, Value]:
    """The arguments of a constructor by name, for a layer of which no more is known."""
    initialiser = classes.member(info, "__init__")
    function = initialiser.func if isinstance(initialiser, Decorator) else initialiser
    declared = get_proper_type(function.type) if isinstance(function, FuncDef) else None
    if call.spread or not isinstance(declared, CallableType):
        return {}
    pairs = list(zip(declared.arg_names, declared.arg_kinds, strict=True))[1:]
    names = [name for name, kind in pairs if name is not None and kind.is_positional()]
    given = {**dict(zip(names, call.arguments, strict=False)), **call.keywords}
    if given.keys() & {"axis", "feature_axes"}:  # the features do not stand last
        return {}
    return {**{name: given.get(other, UNKNOWN) for name, other in DEFAULTS.items()}, **given}


def passed_on(call: Call, inner: Context, faults: Callable[[], frozenset[int]]) -> None:
    """Report what does not fit in a function because of the arguments of a call; what never fits is reported without
    any call. What does not fit in another module is reported at the call.
    """
    call.context.flexible |= inner.flexible
    if inner.scope.complaints:
        own = faults()
        for message, node in inner.scope.complaints:
            if id(syntax.origin(node) or node) not in own:
                elsewhere = syntax.origin(node) is None and syntax.origin(call.node) is not None
                call.context.scope.complain(message, call.node if elsewhere else node, call.node)
                return


def faults(context: Context, function: object) -> Callable[[], frozenset[int]]:
    """The nodes that are refused in a function of the module that is checked, whoever calls it."""
    return lambda: context.scope.cache.faults(function) if isinstance(function, FuncDef) else frozenset[int]()


def symbolic(context: Context, info: TypeInfo) -> Layer:
    """An instance whose constructor call is not known: its integers are symbols."""

    def made() -> Layer:
        known = _attributes(context, info, None)
        return of_class(info, "", {**known, **_declared(info, known)})

    return context.scope.once(("symbolic", info.fullname), made)


def _declared(info: TypeInfo, known: Mapping[str, Value]) -> dict[str, Value]:
    """The integers, and tuples of so many integers, of which the constructor tells no more than the type. Any of them
    may be equal.
    """
    positive, declared = classes.positive(info), dict[str, Value]()
    for name in sorted(known.keys() - classes.assigned(info)):
        found = classes.member(info, name)
        kind = get_proper_type(found.type) if isinstance(found, Var) else None
        if known[name] is not UNKNOWN:
            continue
        if _is_int(kind):
            declared[name] = symbol(f"self·{name}", positive=name in positive)
        elif isinstance(kind, TupleType) and all(map(_is_int, kind.items)):
            places = [f"{name}[{place}]" for place in range(len(kind.items))]
            declared[name] = Pack(
                tuple(symbol(f"self·{place}", positive=place in positive) for place in places), frozen=True
            )
    compared = known.get(FLEXIBLE, Pack(()))
    symbols = [each for value in declared.values() for each in (value.items if isinstance(value, Pack) else (value,))]
    names = [Constant(str(each.size)) for each in symbols if isinstance(each, Number)]
    return declared | {FLEXIBLE: Pack((*(compared.items if isinstance(compared, Pack) else ()), *names), frozen=True)}


def _is_int(declared: Type | None) -> bool:
    kind = get_proper_type(declared)
    return isinstance(kind, Instance) and kind.type.fullname == "builtins.int"


def following(call: Call) -> Value:
    """``super().__init__(…)`` of a layer runs its base's constructor on the same attributes."""
    base, of = call.context.base, call.context.of
    if base is not None and of is not None:
        owner = classes.constructor_owner(of.mro[of.mro.index(base) + 1 :])
        if owner is not None and owner.fullname == classes.SEQUENTIAL:
            call.env[f"self.{_CHAIN}"] = sequential(replace(call, name=owner.fullname))
            return UNKNOWN
        attributes = _run(call.context, owner, of, call)
        call.env.update({f"self.{name}": value for name, value in attributes.items()})
    return UNKNOWN


def _attributes(context: Context, info: TypeInfo, call: Call | None) -> dict[str, Value]:
    """The attributes that the constructor of ``info`` sets; without a ``call`` its arguments are not known."""

    def compute() -> tuple[dict[str, Value], list[tuple[str, ast.AST]]]:
        silent = context.inside(context.scope.module, None, context.names)
        silent.under = context.under
        inner = None if call is None else replace(call, context=silent)
        return constants(context, info) | _run(
            context, classes.constructor_owner(info.mro), info, inner
        ), silent.scope.complaints

    arguments = None if call is None else (tuple(call.arguments), tuple(call.keywords.items()), call.spread)
    key = (info.fullname, arguments, context.under)
    try:
        hash(key)
    except TypeError:  # a layer or a gradient among them
        values, complaints = compute()
    else:
        values, complaints = context.scope.once(key, compute)
    for message, node in complaints[:1]:
        context.scope.complain(message, node, None if call is None else call.node)
    return values


def _run(context: Context, owner: TypeInfo | None, info: TypeInfo, call: Call | None) -> dict[str, Value]:
    """``owner``'s constructor on an instance of ``info``."""
    facts = classes.facts_of(owner)
    if facts is None or not facts["constructor"]:
        return _steady(info, _dataclass(context, info, call))
    function = _function(facts["constructor"])
    initialiser = owner.names["__init__"].node if owner is not None else None
    if isinstance(initialiser, FuncDef) and context.scope.reads(facts["module"]) and initialiser.body.body:
        key = ("constructor", info.fullname, id(initialiser))
        function = context.scope.once(key, lambda: _without_self(syntax.as_function(initialiser)))
    inner = _inside(context, facts["module"], owner, info)
    env = bound(inner, function.args, call, classes.positive(info))
    known = constants(context, info).items()
    env |= {f"self.{name}": value for name, value in known if value is not UNKNOWN}  # not of what a property gives
    after = {name[5:]: value for name, value in inner.outcome(function.body, env).items() if name.startswith("self.")}
    if inner.flexible:
        after[FLEXIBLE] = Pack(tuple(map(Constant, sorted(inner.flexible))), frozen=True)
    if call is not None:
        at_hand = initialiser if syntax.origin(function.body[0]) is not None else None
        if at_hand is not None or not _always(context, owner, info, inner):
            passed_on(call, inner, faults(context, at_hand))
    return _steady(info, after)


def _steady(info: TypeInfo, attributes: Mapping[str, Value]) -> dict[str, Value]:
    """The attributes that nothing changes when an object is made: what methods assign, or pass on, is unknown."""
    changed, shared = classes.assigned(info), classes.passed_on(info)
    if "__dict__" in changed:
        return {}
    return {
        name: unshared(value) if name in shared else value for name, value in attributes.items() if name not in changed
    }


def _inside(context: Context, module: str, owner: TypeInfo | None, info: TypeInfo) -> Context:
    inner = context.inside(module, info.fullname, context.names)
    inner.base, inner.of, inner.hidden = owner, info, classes.assigned(info)
    return inner


def continued(call: Call) -> Value:
    """``self._build()`` in a constructor: the method sets attributes too."""
    info, name = call.context.of, call.name
    if name in ("register_buffer", "register_parameter") and info is not None and info.has_base(classes.TORCH_MODULE):
        at, value = call.argument(0, "name"), call.argument(1, "tensor" if name == "register_buffer" else "param")
        if isinstance(at, Constant):
            call.env[f"self.{at.value}"] = value
        return Constant(None)
    function = classes.member(info, name)
    if info is None or name not in classes.parts_of_constructor(info) or not isinstance(function, FuncDef):
        return UNKNOWN
    source = call.context.scope.source(function)
    if source is None:
        return UNKNOWN
    made = _without_self(source)
    inner = _inside(call.context, function.info.module_name, function.info, info)
    if inner.under.count(info.fullname) > _SAME_CLASS + 3:
        return UNKNOWN
    own = {name: value for name, value in call.env.items() if name.startswith("self.")}
    after = inner.outcome(made.body, bound(inner, made.args, call, set()) | own)
    call.env.update({name: value for name, value in after.items() if name.startswith("self.")})
    passed_on(call, inner, faults(call.context, function))
    return Constant(None)


def set_past_the_class(call: Call) -> Value:
    """``object.__setattr__(self, "inner", 4 * self.width)``: how a frozen dataclass sets its attributes."""
    of = call.node.args[:1] if isinstance(call.node, ast.Call) else []
    bound = call.name.startswith("super()")
    name, value = call.arguments[-2:] if len(call.arguments) == 3 - bound else (UNKNOWN, UNKNOWN)
    if not bound and not any(isinstance(each, ast.Name) and each.id == "self" for each in of):
        for each in of:
            mutated(each, call.env)
    elif isinstance(name, Constant):
        call.env[f"self.{name.value}"] = unshared(value)
    else:
        call.env.update(dict.fromkeys((each for each in call.env if each.startswith("self.")), UNKNOWN))
    return UNKNOWN


def _always(context: Context, owner: TypeInfo | None, info: TypeInfo, inner: Context) -> bool:
    """Whether a constructor that is kept as text refuses the same without arguments: it is reported in
    its own module.
    """
    if not inner.scope.complaints:
        return True
    function = _function((classes.facts_of(owner) or {"constructor": ""})["constructor"])
    alone = context.inside(inner.scope.module, info.fullname)
    alone.base, alone.of = owner, info
    alone.outcome(function.body, bound(alone, function.args, None, classes.positive(info)))
    own = {id(node) for _, node in alone.scope.complaints}
    return all(id(node) in own for _, node in inner.scope.complaints)


def _dataclass(context: Context, info: TypeInfo, call: Call | None) -> dict[str, Value]:
    """The fields of a dataclass or a NamedTuple, those of its bases first; then what ``__post_init__`` sets."""
    fields = classes.record(info)
    if not fields:
        return {}
    inner = _inside(context, info.module_name, info, info)
    values: dict[str, Value] = {
        name: _default(inner, parsed(default)) if default and (call is not None or "init=False" in default) else UNKNOWN
        for name, default in fields
    }
    if call is not None:
        named = {name: call.keywords[name] for name in values.keys() & call.keywords.keys()}
        if call.spread:
            values.update(dict.fromkeys(values, UNKNOWN))
        else:
            values.update({**dict(zip(_given(fields), call.arguments, strict=False)), **named})
    else:
        integers = {name for _, facts in classes.all_facts(info) for name in facts["integers"]}
        values |= {
            name: symbol(f"self·{name}", positive=name in classes.positive(info)) for name in integers & values.keys()
        }
    after = classes.member(info, "__post_init__")
    source = context.scope.source(after) if isinstance(after, FuncDef) else None
    if source is not None:
        function = _without_self(source)
        outcome = inner.outcome(function.body, {f"self.{name}": value for name, value in values.items()})
        values = {name[5:]: value for name, value in outcome.items() if name.startswith("self.")}
        if call is not None:
            passed_on(call, inner, faults(context, after))
    return values


def _given(fields: Sequence[Sequence[str]]) -> list[str]:
    """The fields that are parameters of the constructor."""
    return [name for name, default in fields if "init=False" not in default]


def _default(context: Context, default: ast.expr) -> Value:
    """The default of a field: also of ``field(default=…)`` and ``field(default_factory=…)``."""
    match default:
        case ast.Call(func=ast.Name(id="field") | ast.Attribute(attr="field"), keywords=keywords):
            named = {each.arg: each.value for each in keywords}
            if "default" in named:
                return context.evaluate(named["default"], {})
            if "default_factory" in named:
                return context.evaluate(ast.Call(func=named["default_factory"], args=[], keywords=[]), {})
            return UNKNOWN
        case _:
            return context.evaluate(default, {})


def constants(context: Context, info: TypeInfo) -> dict[str, Value]:
    """What class bodies assign, the most derived one's first; what a class only declares, or defines, is unknown."""
    key = ("constants", info.fullname)
    if key in context.under:  # a constant that refers to its own class
        return {}

    def compute() -> dict[str, Value]:
        values: dict[str, Value] = {}
        for base in reversed(info.mro):
            facts, inner = classes.facts_of(base), context.inside(base.module_name, key)
            own: Environment = {}
            for name, text in facts["constants"].items() if facts is not None else ():
                own[name] = inner.evaluate(parsed(text), own)
            if base.is_enum:
                own = {
                    name: python.member(base.fullname, name, value, integer=info.has_base("builtins.int"))
                    for name, value in own.items()
                }
            values |= dict.fromkeys(values.keys() & base.names.keys(), UNKNOWN) | own
        return {**values, **dict.fromkeys(values.keys() & classes.assigned(info), UNKNOWN)}

    return context.scope.once(key, compute)


def _defaults(parameters: ast.arguments) -> dict[str, ast.expr]:
    """The parameters that have a default, in order."""
    last = parameters.args[len(parameters.args) - len(parameters.defaults) :]
    pairs = zip([*last, *parameters.kwonlyargs], [*parameters.defaults, *parameters.kw_defaults], strict=True)
    return {each.arg: value for each, value in pairs if value is not None}


def bound(context: Context, parameters: ast.arguments, call: Call | None, positive: set[str]) -> Environment:
    """The parameters of a constructor or a function, from one call's arguments; without a call its integers are
    symbols.
    """
    names = [each.arg for each in parameters.args]
    declared = [*parameters.args, *parameters.kwonlyargs]
    env: Environment = {
        each.arg: UNKNOWN for each in (*declared, parameters.vararg, parameters.kwarg) if each is not None
    }
    if call is None:
        return env | {
            each.arg: symbol(f"self·{each.arg}", positive=each.arg in positive)
            for each in declared
            if each.annotation is not None
        }
    if not call.spread:
        env |= {name: context.evaluate(default, {}) for name, default in _defaults(parameters).items()}
        env |= dict(zip(names, call.arguments, strict=False))
        if parameters.vararg is not None:
            env[parameters.vararg.arg] = Pack(tuple(call.arguments[len(names) :]), frozen=True)
        further = {name: value for name, value in call.keywords.items() if name not in {each.arg for each in declared}}
        if parameters.kwarg is not None:
            env[parameters.kwarg.arg] = Pack(tuple(further.values()), keys=tuple(map(repr, further)))
    return env | {each.arg: call.keywords[each.arg] for each in declared if each.arg in call.keywords}


def _shown(info: TypeInfo, call: Call) -> str:
    """As in ``repr``: required arguments by position, the others by name where they differ from the default."""
    owner = classes.constructor_owner(info.mro)
    facts = classes.facts_of(owner)
    if facts is None or not facts["constructor"] or call.spread:
        return f"{info.name}({', '.join(map(show, call.arguments))})"
    parameters = _function(facts["constructor"]).args
    names, defaults = [each.arg for each in parameters.args], _defaults(parameters)
    values = dict(zip(names, call.arguments, strict=False)) | dict(call.keywords)
    parts = [show(values.get(name, UNKNOWN)) for name in names if name not in defaults]
    parts += map(show, call.arguments[len(names) :])
    shown = {
        name: show(values[name])
        for name in defaults.keys() & values.keys()
        if name != "rng" and not name.endswith("_init")
    }
    parts += [
        f"{name}={shown[name]}"
        for name in defaults
        if name in shown and shown[name] not in (ast.unparse(defaults[name]), "_")
    ]
    return f"{info.name}({', '.join(parts)})"


@lru_cache(maxsize=1024)
def _function(text: str) -> ast.FunctionDef:
    """A constructor, without ``self`` among its parameters."""
    return _without_self(cast("ast.FunctionDef", ast.parse(text).body[0]))


def _without_self(function: ast.FunctionDef) -> ast.FunctionDef:
    made, parameters = copy(function), copy(function.args)
    made.args, parameters.args = parameters, parameters.args[1:]
    return made


TABLE: dict[str, Analysis] = {"(typednn.module.module.Module)": constructed}
EFFECTS: dict[str, Analysis] = {
    "super().__init__()": following,
    "super().__setattr__()": set_past_the_class,
    "builtins.object.__setattr__": set_past_the_class,
}
