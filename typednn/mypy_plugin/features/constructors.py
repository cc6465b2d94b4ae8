"""Any class of layers: the attributes that its constructor sets on an instance.

A constructor is evaluated statement by statement, as any body, on the arguments of one call. Where the call is not known,
its integers are symbols.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from mypy.nodes import TypeInfo

from typednn.mypy_plugin import classes
from typednn.mypy_plugin.context import Analysis, Call, Context
from typednn.mypy_plugin.features.stacks import traced
from typednn.mypy_plugin.types import of_class
from typednn.mypy_plugin.values import UNKNOWN, Environment, Layer, Pack, Reference, Value, parsed, show, symbol

_SAME_CLASS = 3  # a class may build instances of itself, such as a tree of blocks
_CONSTRUCTIONS = 20_000  # in one scope; further ones are unknown


@dataclass(frozen=True, slots=True)
class Given:
    """The arguments of one constructor call; ``symbolic``: they are not known."""

    arguments: Sequence[Value] = ()
    keywords: Mapping[str, Value] = field(default_factory=dict[str, Value])
    spread: bool = False
    symbolic: bool = False


def constructed(call: Call) -> Value:
    """``Linear(784, 10)``."""
    if not isinstance(call.receiver, Reference) or not isinstance(info := call.receiver.node, TypeInfo):
        return UNKNOWN
    cache, given = call.context.scope.cache, Given(call.arguments, call.keywords, call.spread)
    cache.constructions += 1
    if call.context.under.count(info.fullname) >= _SAME_CLASS or cache.constructions > _CONSTRUCTIONS:
        return UNKNOWN
    layer = of_class(info, _shown(info, given), _attributes(call.context, info, given))
    return traced(call, layer, call.node) if layer.inner else layer


def symbolic(context: Context, info: TypeInfo) -> Layer:
    """An instance whose constructor call is not known: its integers are symbols."""
    scope, given = context.scope, Given(symbolic=True)
    return scope.cache.once(("symbolic", info.fullname), lambda: of_class(info, "", _attributes(context, info, given)), scope.depend)


def following(call: Call) -> Value:
    """``super().__init__(…)`` of a layer runs its base's constructor on the same attributes."""
    base, of = call.context.base, call.context.of
    if base is not None and of is not None:
        mro = of.mro[of.mro.index(base) + 1 :]
        owner = next((each for each in mro if "__init__" in each.names and each.fullname != "builtins.object"), None)
        left = _run(call.context, owner, of, Given(call.arguments, call.keywords, call.spread))
        call.env.update({f"self.{name}": value for name, value in left.items()})
    return UNKNOWN


def _attributes(context: Context, info: TypeInfo, given: Given) -> dict[str, Value]:
    """The attributes that the constructor of ``info`` sets."""

    def make() -> dict[str, Value]:
        return constants(context, info) | _run(context, classes.constructor_owner(info), info, given)

    key = (info.fullname, tuple(given.arguments), tuple(given.keywords.items()), given.spread, given.symbolic, context.under)
    try:
        hash(key)
    except TypeError:  # a layer or a gradient among them
        return make()
    return context.scope.cache.once(key, make, context.scope.depend)


def _run(context: Context, owner: TypeInfo | None, info: TypeInfo, given: Given) -> dict[str, Value]:
    """``owner``'s constructor on an instance of ``info``."""
    facts = classes.facts_of(owner) if owner is not None else None
    if facts is None or not facts["constructor"]:
        return _dataclass(context, info, given)
    function = _function(facts["constructor"])
    inner = context.inside(facts["module"], info.fullname)
    inner.base, inner.of, inner.hidden = owner, info, classes.named(info, "assigned")
    env = _bound(inner, function.args, given, classes.positive(info))
    env |= {f"self.{name}": value for name, value in constants(context, info).items()}
    left = {name[5:]: value for name, value in inner.outcome(function.body, env).items() if name.startswith("self.")}
    shared = {name for name in classes.named(info, "passed_on") if isinstance(held := left.get(name), Pack) and not held.frozen}
    return {name: UNKNOWN if name in shared else value for name, value in left.items() if name not in inner.hidden}


def _dataclass(context: Context, info: TypeInfo, given: Given) -> dict[str, Value]:
    own = next((facts for base in info.mro if (facts := classes.facts_of(base)) and facts["dataclass"]), None)
    found: dict[str, Value] = {}
    for place, (name, default) in enumerate(own["dataclass"] if own else ()):
        value = given.keywords.get(name, given.arguments[place] if place < len(given.arguments) else None)
        if value is None and default and own is not None:
            value = context.inside(own["module"], info.fullname).evaluate(parsed(default), {})
        found[name] = UNKNOWN if value is None or given.spread else value
    return found


def constants(context: Context, info: TypeInfo) -> dict[str, Value]:
    """What class bodies assign, the most derived one's first; what a class only declares, or defines, is unknown."""
    key = ("constants", info.fullname)
    if key in context.under:  # a constant that refers to its own class
        return {}

    def make() -> dict[str, Value]:
        found: dict[str, Value] = {}
        for base in reversed(info.mro):
            facts = classes.facts_of(base)
            own: Environment = {}
            if facts is not None:
                inner = context.inside(facts["module"], key)
                for name, text in facts["constants"].items():
                    own[name] = inner.evaluate(parsed(text), own)
            found |= dict.fromkeys(found.keys() & base.names.keys(), UNKNOWN) | own
        return {**found, **dict.fromkeys(found.keys() & classes.named(info, "assigned"), UNKNOWN)}

    return context.scope.cache.once(key, make, context.scope.depend)


def _defaults(parameters: ast.arguments) -> dict[str, ast.expr]:
    """The parameters after ``self`` that have a default, in order."""
    names = [each.arg for each in parameters.args[1:]]
    found = dict(zip(names[len(names) - len(parameters.defaults) :], parameters.defaults, strict=True))
    return found | {each.arg: value for each, value in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True) if value is not None}


def _bound(context: Context, parameters: ast.arguments, given: Given, positive: set[str]) -> Environment:
    """The parameters of a constructor, from one call's arguments."""
    names = [each.arg for each in parameters.args[1:]]
    declared = [*parameters.args[1:], *parameters.kwonlyargs]
    starred = [star for star in (parameters.vararg, parameters.kwarg) if star is not None]
    env: Environment = {each.arg: UNKNOWN for each in [*declared, *starred]}
    if given.symbolic:
        return env | {
            each.arg: symbol(f"self·{each.arg}", positive=each.arg in positive) for each in declared if each.annotation is not None
        }
    if not given.spread:
        env |= {name: context.evaluate(default, {}) for name, default in _defaults(parameters).items()}
        env |= dict(zip(names, given.arguments, strict=False))
        if parameters.vararg is not None:
            env[parameters.vararg.arg] = Pack(tuple(given.arguments[len(names) :]), frozen=True)
    return env | {each.arg: given.keywords[each.arg] for each in declared if each.arg in given.keywords}


def _shown(info: TypeInfo, given: Given) -> str:
    """As in ``repr``: required arguments by position, the others by name where they differ from the default."""
    owner = classes.constructor_owner(info)
    facts = classes.facts_of(owner) if owner is not None else None
    if facts is None or not facts["constructor"] or given.spread:
        return f"{info.name}({', '.join(map(show, given.arguments))})"
    parameters = _function(facts["constructor"]).args
    names, defaults = [each.arg for each in parameters.args[1:]], _defaults(parameters)
    values = dict(zip(names, given.arguments, strict=False)) | dict(given.keywords)
    parts = [show(values.get(name, UNKNOWN)) for name in names if name not in defaults]
    shown = {name: show(values[name]) for name in defaults.keys() & values.keys() if name != "rng" and not name.endswith("_init")}
    parts += [f"{name}={shown[name]}" for name in defaults if name in shown and shown[name] not in (ast.unparse(defaults[name]), "_")]
    return f"{info.name}({', '.join(parts)})"


@lru_cache(maxsize=1024)
def _function(text: str) -> ast.FunctionDef:
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    return function


TABLE: dict[str, Analysis] = {"(typednn.module.module.Module)": constructed}
EFFECTS: dict[str, Analysis] = {"super().__init__()": following}
