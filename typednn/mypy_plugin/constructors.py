"""What constructors make: the attributes that a call of a class leaves on its instance.

A constructor is followed statement by statement, as any body, on the arguments of one call; where nobody said how an
instance was built, its integers stand for themselves.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from mypy.nodes import TypeInfo

from typednn.mypy_plugin import classes
from typednn.mypy_plugin.types import of_class
from typednn.mypy_plugin.values import UNKNOWN, Environment, Layer, Pack, Sample, Value, integer_of, show, symbol

if TYPE_CHECKING:
    from typednn.mypy_plugin.evaluator import Evaluator

_SAME_CLASS = 3  # a class may build itself, a tree of blocks for one
_CONSTRUCTIONS = 20_000  # in one scope; what comes after is unknown


Made = TypeVar("Made")


@dataclass(slots=True)
class Workshop:
    """What all constructors share while mypy checks once: what was made is not made again.

    mypy must know of everything that a verdict depends on, so each entry remembers the names that were asked for.
    """

    made: dict[Hashable, tuple[Any, frozenset[str]]] = field(default_factory=dict[Hashable, "tuple[Any, frozenset[str]]"])
    asked: list[set[str]] = field(default_factory=list["set[str]"])
    constructions: int = 0

    def note(self, fullname: str) -> None:
        """A name of some module was asked for."""
        for names in self.asked:
            names.add(fullname)

    def once(self, key: Hashable, make: Callable[[], Made], depend: Callable[[str], None]) -> Made:
        """What ``make`` gives, made once; ``depend`` hears of every name that it asks for, each time."""
        if key in self.made:
            found: Made
            found, names = self.made[key]
            for name in names:
                depend(name)
            return found
        self.asked.append(set())
        try:
            found = make()
        finally:
            asked = self.asked.pop()
        self.made[key] = (found, frozenset(asked))
        return found


class Constructors:
    """The constructor calls of one body."""

    def __init__(self, body: Evaluator, workshop: Workshop, under: tuple[Hashable, ...]) -> None:
        self.body = body
        self.workshop = workshop
        self.under = under  # the classes that are being constructed
        self.base: TypeInfo | None = None  # whose constructor this body is
        self.of: TypeInfo | None = None  # whose instance it works on

    def instance(
        self, info: TypeInfo, arguments: Sequence[Value], keywords: Mapping[str, Value], node: ast.Call, *, spread: bool = False
    ) -> Value:
        """What a constructor call makes."""
        if info.fullname == classes.INPUT:
            numbers = [integer_of(each) for each in arguments]
            sizes = tuple(each for each in numbers if each is not None)
            return Sample(sizes if len(sizes) == len(numbers) and not spread else None)
        if info.has_base(classes.GRADIENT):
            return self.body.calls.gradient(info, arguments, keywords, node, spread=spread)
        if not info.has_base(classes.MODULE) or self._too_deep(info):
            return UNKNOWN
        if info.fullname == classes.STACK:
            return self.body.calls.rows(info, arguments, keywords, node, spread=spread)
        if info.fullname in classes.CHAINS:
            return self.body.calls.sequential(info, arguments, keywords, node, spread=spread)
        if info.fullname in (classes.RESIDUAL, classes.PER_POSITION):
            return self.body.calls.wrapped(info, (*arguments, *keywords.values()), node)
        attributes = self.attributes(info, arguments, keywords, spread=spread)
        return of_class(info, self._shown(info, arguments, keywords, spread=spread), attributes)

    def symbolic(self, info: TypeInfo) -> Layer:
        """An instance of a class of which nobody said how it was built: its integers stand for themselves."""
        return self.workshop.once(
            ("symbolic", info.fullname),
            lambda: of_class(info, "", self.attributes(info, (), {}, spread=False, symbolic=True)),
            self.body.world.depend,
        )

    def _too_deep(self, info: TypeInfo) -> bool:
        self.workshop.constructions += 1
        return self.under.count(info.fullname) >= _SAME_CLASS or self.workshop.constructions > _CONSTRUCTIONS

    def attributes(
        self, info: TypeInfo, arguments: Sequence[Value], keywords: Mapping[str, Value], *, spread: bool, symbolic: bool = False
    ) -> dict[str, Value]:
        """What the constructor that ``info`` has leaves on the instance."""

        def make() -> dict[str, Value]:
            owner = classes.constructor_owner(info)
            return self.constants(info) | self.run(owner, info, arguments, keywords, spread=spread, symbolic=symbolic)

        key = (info.fullname, tuple(arguments), tuple(keywords.items()), spread, symbolic, self.under)
        try:
            hash(key)
        except TypeError:  # a layer or a gradient among them
            return make()
        return self.workshop.once(key, make, self.body.world.depend)

    def run(
        self,
        owner: TypeInfo | None,
        info: TypeInfo,
        arguments: Sequence[Value],
        keywords: Mapping[str, Value],
        *,
        spread: bool,
        symbolic: bool = False,
    ) -> dict[str, Value]:
        """``owner``'s constructor on an instance of ``info``."""
        facts = classes.facts_of(owner) if owner is not None else None
        if owner is None or facts is None or not facts["constructor"]:
            return self._dataclass(info, arguments, keywords, spread=spread)
        function = _constructor(facts["constructor"])
        inner = self._inner(facts["module"], info)
        inner.constructors.base, inner.constructors.of = owner, info
        inner.hidden = classes.assigned(info)
        env = inner.constructors.bound(function.args, arguments, keywords, classes.positive(info), spread=spread, symbolic=symbolic)
        env |= {f"self.{name}": value for name, value in self.constants(info).items()}
        handed = classes.handed(info)
        found: dict[str, Value] = {}
        for name, value in inner.statements.outcome(function.body, env).items():
            if name.startswith("self.") and name[5:] not in inner.hidden:
                shared = isinstance(value, Pack) and not value.frozen and name[5:] in handed
                found[name[5:]] = UNKNOWN if shared else value
        return found

    def _inner(self, module: str, info: TypeInfo) -> Evaluator:
        return self.body.within(module, (*self.under, info.fullname))

    def _dataclass(self, info: TypeInfo, arguments: Sequence[Value], keywords: Mapping[str, Value], *, spread: bool) -> dict[str, Value]:
        own = next((facts for base in info.mro if (facts := classes.facts_of(base)) and facts["dataclass"]), None)
        found: dict[str, Value] = {}
        for place, (name, default) in enumerate(own["dataclass"] if own else ()):
            given = keywords.get(name, arguments[place] if place < len(arguments) else None)
            if given is None and default and own is not None:
                given = self._inner(own["module"], info).evaluate(_expression(default), {})
            found[name] = UNKNOWN if given is None or spread else given
        return found

    def constants(self, info: TypeInfo) -> dict[str, Value]:
        """What class bodies assign, the most derived one's first; what a class only declares, or defines, is unknown."""
        key = ("constants", info.fullname)
        if key in self.under:  # a constant that asks for its own class
            return {}
        return self.workshop.once(key, lambda: self._constants(info), self.body.world.depend)

    def _constants(self, info: TypeInfo) -> dict[str, Value]:
        found: dict[str, Value] = {}
        hidden = classes.assigned(info)
        for base in reversed(info.mro):
            facts = classes.facts_of(base)
            own: Environment = {}
            if facts is not None:
                inner = self.body.within(facts["module"], (*self.under, ("constants", info.fullname)))
                for name, text in facts["constants"].items():
                    own[name] = inner.evaluate(_expression(text), own)
            found |= dict.fromkeys(found.keys() & base.names.keys(), UNKNOWN) | own
        return {name: UNKNOWN if name in hidden else value for name, value in found.items()}

    def bound(
        self,
        parameters: ast.arguments,
        arguments: Sequence[Value],
        keywords: Mapping[str, Value],
        positive: set[str],
        *,
        spread: bool,
        symbolic: bool,
    ) -> Environment:
        """The parameters of a constructor, from one call's arguments."""
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
                env[each.arg] = self.body.evaluate(defaults[each.arg], {})
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
        parameters = _constructor(facts["constructor"]).args
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


@lru_cache(maxsize=1024)
def _constructor(text: str) -> ast.FunctionDef:
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    return function


@lru_cache(maxsize=4096)
def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
