"""Any class of layers: the attributes that its constructor sets on an instance.

A constructor is evaluated statement by statement, as any body, on the arguments of one call. Where the call is not known,
its integers are symbols.
"""

import ast
from functools import lru_cache
from typing import cast

from mypy.nodes import TypeInfo

from typednn.mypy_plugin import classes
from typednn.mypy_plugin.context import Analysis, Call, Context
from typednn.mypy_plugin.features.stacks import traced
from typednn.mypy_plugin.types import of_class
from typednn.mypy_plugin.values import UNKNOWN, Environment, Layer, Pack, Value, parsed, show, symbol, unshared

_SAME_CLASS = 3  # a class may build instances of itself, such as a tree of blocks
_CONSTRUCTIONS = 20_000  # in one scope; further ones are unknown


def constructed(call: Call) -> Value:
    """``Linear(784, 10)``."""
    info: TypeInfo = call.receiver.node
    cache = call.context.scope.cache
    cache.constructions += 1
    if call.context.under.count(info.fullname) >= _SAME_CLASS or cache.constructions > _CONSTRUCTIONS:
        return UNKNOWN
    layer = of_class(info, _shown(info, call), _attributes(call.context, info, call))
    return traced(call, layer, call.node) if layer.inner else layer


def symbolic(context: Context, info: TypeInfo) -> Layer:
    """An instance whose constructor call is not known: its integers are symbols."""
    return context.scope.once(("symbolic", info.fullname), lambda: of_class(info, "", _attributes(context, info, None)))


def following(call: Call) -> Value:
    """``super().__init__(…)`` of a layer runs its base's constructor on the same attributes."""
    base, of = call.context.base, call.context.of
    if base is not None and of is not None:
        owner = classes.constructor_owner(of.mro[of.mro.index(base) + 1 :])
        attributes = _run(call.context, owner, of, call)
        call.env.update({f"self.{name}": value for name, value in attributes.items()})
    return UNKNOWN


def _attributes(context: Context, info: TypeInfo, call: Call | None) -> dict[str, Value]:
    """The attributes that the constructor of ``info`` sets; without a ``call`` its arguments are not known."""

    def compute() -> dict[str, Value]:
        return constants(context, info) | _run(context, classes.constructor_owner(info.mro), info, call)

    arguments = None if call is None else (tuple(call.arguments), tuple(call.keywords.items()), call.spread)
    key = (info.fullname, arguments, context.under)
    try:
        hash(key)
    except TypeError:  # a layer or a gradient among them
        return compute()
    return context.scope.once(key, compute)


def _run(context: Context, owner: TypeInfo | None, info: TypeInfo, call: Call | None) -> dict[str, Value]:
    """``owner``'s constructor on an instance of ``info``."""
    facts = classes.facts_of(owner)
    if facts is None or not facts["constructor"]:
        return _dataclass(context, info, call)
    function = _function(facts["constructor"])
    inner = context.inside(facts["module"], info.fullname)
    inner.base, inner.of, inner.hidden = owner, info, classes.named(info, "assigned")
    env = bound(inner, function.args, call, classes.positive(info))
    env |= {f"self.{name}": value for name, value in constants(context, info).items()}
    after = {name[5:]: value for name, value in inner.outcome(function.body, env).items() if name.startswith("self.")}
    shared = classes.named(info, "passed_on")
    return {name: unshared(value) if name in shared else value for name, value in after.items() if name not in inner.hidden}


def _dataclass(context: Context, info: TypeInfo, call: Call | None) -> dict[str, Value]:
    facts = next((facts for base in info.mro if (facts := classes.facts_of(base)) and facts["dataclass"]), None)
    if facts is None:
        return {}
    inner = context.inside(facts["module"], info.fullname)
    values = {name: inner.evaluate(parsed(default), {}) if default else UNKNOWN for name, default in facts["dataclass"]}
    if call is not None:
        values |= dict(zip(values, call.arguments, strict=False)) | {
            name: call.keywords[name] for name in values.keys() & call.keywords.keys()
        }
    return dict.fromkeys(values, UNKNOWN) if call is not None and call.spread else values


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
            values |= dict.fromkeys(values.keys() & base.names.keys(), UNKNOWN) | own
        return {**values, **dict.fromkeys(values.keys() & classes.named(info, "assigned"), UNKNOWN)}

    return context.scope.once(key, compute)


def _defaults(parameters: ast.arguments) -> dict[str, ast.expr]:
    """The parameters that have a default, in order."""
    last = parameters.args[len(parameters.args) - len(parameters.defaults) :]
    pairs = zip([*last, *parameters.kwonlyargs], [*parameters.defaults, *parameters.kw_defaults], strict=True)
    return {each.arg: value for each, value in pairs if value is not None}


def bound(context: Context, parameters: ast.arguments, call: Call | None, positive: set[str]) -> Environment:
    """The parameters of a constructor or a function, from one call's arguments; without a call its integers are symbols."""
    names = [each.arg for each in parameters.args]
    declared = [*parameters.args, *parameters.kwonlyargs]
    env: Environment = {each.arg: UNKNOWN for each in (*declared, parameters.vararg, parameters.kwarg) if each is not None}
    if call is None:
        return env | {
            each.arg: symbol(f"self·{each.arg}", positive=each.arg in positive) for each in declared if each.annotation is not None
        }
    if not call.spread:
        env |= {name: context.evaluate(default, {}) for name, default in _defaults(parameters).items()}
        env |= dict(zip(names, call.arguments, strict=False))
        if parameters.vararg is not None:
            env[parameters.vararg.arg] = Pack(tuple(call.arguments[len(names) :]), frozen=True)
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
    shown = {name: show(values[name]) for name in defaults.keys() & values.keys() if name != "rng" and not name.endswith("_init")}
    parts += [f"{name}={shown[name]}" for name in defaults if name in shown and shown[name] not in (ast.unparse(defaults[name]), "_")]
    return f"{info.name}({', '.join(parts)})"


@lru_cache(maxsize=1024)
def _function(text: str) -> ast.FunctionDef:
    """A constructor, without ``self`` among its parameters."""
    function = cast("ast.FunctionDef", ast.parse(text).body[0])
    del function.args.args[:1]
    return function


TABLE: dict[str, Analysis] = {"(typednn.module.module.Module)": constructed}
EFFECTS: dict[str, Analysis] = {"super().__init__()": following}
