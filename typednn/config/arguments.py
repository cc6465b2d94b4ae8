"""A table of a config turned into a call: its keys are the constructor's arguments, held to their annotations.

Every error points at the token that caused it: an unknown key, a missing or ill-typed argument, or an argument that the
constructor refuses with an `ArgumentError`. Any other error of the constructor points at the table's type.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from beartype import BeartypeConf
from beartype.roar import BeartypeException

from typednn.config.registry import AVERAGES, INITIALISERS, SCHEDULES
from typednn.config.source import Item, Place, Source
from typednn.config.values import written
from typednn.contracts.hints import members
from typednn.contracts.judgement import is_bearable
from typednn.errors import ArgumentError, ConfigError, StackError, TypednnError, suggestion
from typednn.module.module import Module
from typednn.optim import EMA, Schedule
from typednn.random import Initialiser

_LONGEST = 60  # characters of a value that a message shows
_WORDS: Final[Mapping[Any, str]] = {
    bool: "true or false",
    float: "a number",
    int: "an integer",
    str: "a string",
    Initialiser: '{ type = "Normal", ... }',
    Schedule: '{ type = "CosineLR", ... }',
    EMA: '{ type = "EMA", ... }',
}


class Arguments:
    """The parameters of a constructor, and a table of values. ``reserved`` keys are no arguments; ``head`` is the
    table's place.
    """

    def __init__(
        self,
        source: Source,
        where: str,
        kind: str,
        factory: Callable[..., Any],
        table: Item,
        head: Place | None = None,
        reserved: Sequence[str] = (),
    ) -> None:
        self.source = source
        self.where = where
        self.kind = kind
        self.factory = factory
        self.table: dict[str, Item] = {key: item for key, item in (table.table or {}).items() if key not in reserved}
        self.head: Place = head or table.place
        function = constructor(factory)
        self.hints: dict[str, Any] = hints_of(function)
        self.parameters: dict[str, inspect.Parameter] = {
            name: parameter
            for name, parameter in list(inspect.signature(function).parameters.items())[isinstance(factory, type) :]
            if name != "rng"
            and (
                parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
                or (parameter.kind is parameter.VAR_POSITIONAL and name in self.hints)
            )
        }

    @staticmethod
    def of_type(
        source: Source,
        where: str,
        table: Item,
        choices: Mapping[str, Any],
        what: str,
        reserved: Sequence[str] = ("type",),
    ) -> Arguments:
        """A table whose ``type`` names the constructor, one of ``choices``."""
        item = (table.table or {}).get("type")
        example = next(iter(choices))
        if item is None:
            raise source.error(table.place, f'{where}: {what} needs a type; add type = "{example}"')
        if not isinstance(item.value, str):
            raise source.error(item.place, f'{where}: type must be a string such as "{example}", got {shortened(item)}')
        if item.value not in choices:
            cure = suggestion(item.value, choices)
            if what == "a layer":
                cure += f"{'' if cure.endswith('?') else ';'} --import MODULE registers a layer of your own"
            raise source.error(item.place, f"{where}: unknown type {shortened(item)}; {cure}")
        return Arguments(source, where, item.value, choices[item.value], table, item.place, reserved)

    def error(self, place: Place, message: str) -> ConfigError:
        return self.source.error(place, f"{self.where}: {message}")

    def check_keys(self) -> None:
        """Raise for the first key that the constructor does not have, then for what it lacks."""
        for key, item in self.table.items():
            if key not in self.parameters:
                raise self.error(
                    item.key, f"{self.kind} has no argument {key!r}; {suggestion(key, self.parameters, 'it takes')}"
                )
        missing = [
            f"{name} ({described(self.hints.get(name))})"
            for name, parameter in self.parameters.items()
            if parameter.default is parameter.empty and name not in self.table
        ]
        if missing:
            raise self.error(self.head, f"{self.kind} needs {' and '.join(missing)}")

    def plain(self, key: str) -> Any:
        """The value of ``key`` in its annotation's type: lists become tuples, tables the rule or schedule that they
        describe.
        """
        item, hint = self.table[key], self.hints.get(key)
        value = _plain(item)
        for rule, choices in ((Schedule, SCHEDULES), (Initialiser, INITIALISERS), (EMA, AVERAGES)):
            if item.table is not None and rule in members(hint):
                value = Arguments.of_type(self.source, self.where, item, choices, "a rule").build()
        if hint is not None and not _fits(value, hint):
            raise self.error(item.place, f"{self.kind}: {key} must be {described(hint)}, got {shortened(item)}")
        return value

    def build(self) -> Any:
        """The constructor's result for the whole table."""
        self.check_keys()
        return self.call({key: self.plain(key) for key in self.table})

    def call(self, values: Mapping[str, Any]) -> Any:
        """The constructor's result. An error points at the argument that it names."""
        several = [name for name, parameter in self.parameters.items() if parameter.kind is parameter.VAR_POSITIONAL]
        positional = [each for name in several for each in values[name]]
        try:
            return self.factory(*positional, **{name: value for name, value in values.items() if name not in several})
        except StackError:
            raise
        # About its arguments. Any other error is a bug in the constructor, and keeps its traceback.
        except (TypednnError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise self.refusal(error) from error

    def refusal(self, error: Exception) -> ConfigError:
        """The error of a constructor, at the argument that its `ArgumentError` names, or at the only argument."""
        named = error.argument if isinstance(error, ArgumentError) else ""
        item = self.table.get(next(iter(self.parameters)) if not named and len(self.parameters) == 1 else named)
        return self.error(item.place if item else self.head, str(error) or type(error).__name__)


def constructor(factory: Callable[..., Any]) -> Callable[..., Any]:
    """The function that a call of ``factory`` runs: a class's ``__init__``, or the function itself."""
    # of the class, not of an instance
    return getattr(factory, "__init__") if isinstance(factory, type) else factory  # noqa: B009


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a constructor; none where they cannot be resolved, as may be in a user's layer; of ``*layers``
    a tuple's.
    """
    try:
        hints: dict[str, Any] = get_type_hints(function)
    except (NameError, TypeError, AttributeError):
        return {}
    kinds: Any = tuple
    several = [
        name for name, each in inspect.signature(function).parameters.items() if each.kind is each.VAR_POSITIONAL
    ]
    return hints | {name: kinds[hints[name], ...] for name in several if name in hints}


def layers_expected(hint: Any) -> Literal["one", "many", "none"]:
    """Whether an argument is annotated as a layer, as a collection of layers, or as neither."""
    expected: Literal["one", "none"] = "none"
    for member in members(hint):
        origin = get_origin(member) or member
        if isinstance(origin, type) and issubclass(origin, Module):
            expected = "one"
        elif any(layers_expected(argument) == "one" for argument in get_args(member)):
            return "many"
    return expected


def described(hint: Any) -> str:
    """An annotation in the words of TOML: ``an integer or [an integer, an integer]``."""
    if layers_expected(hint) != "none":
        return "a list of layers, each a table [[...]] under it"
    return " or ".join(_described_member(member) for member in members(hint) if member is not type(None))


def _described_member(member: Any) -> str:
    origin, arguments = get_origin(member), get_args(member)
    if origin is Literal:
        return " or ".join(map(written, arguments))
    if origin is tuple and Ellipsis not in arguments:
        return f"[{', '.join(map(described, arguments))}]"
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return f"a list of {described(arguments[0]).removeprefix('a ').removeprefix('an ')}s" if arguments else "a list"
    return _WORDS.get(member, "any value" if member is None else getattr(member, "__name__", str(member)))


def shortened(item: Item) -> str:
    """A value as TOML writes it, cut where it is long."""
    text = "a table" if item.table is not None else written(_plain(item))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _plain(item: Item) -> Any:
    if item.table is not None:
        return {key: _plain(part) for key, part in item.table.items()}
    return item.value if item.parts is None else tuple(map(_plain, item.parts))


def _fits(value: Any, hint: Any) -> bool:
    """Whether an annotation allows ``value``; an annotation that beartype does not support allows all, and the
    constructor checks.
    """
    kinds = members(hint)
    if isinstance(value, bool) and bool not in kinds and (int in kinds or float in kinds):
        return False
    try:
        return is_bearable(value, hint, conf=BeartypeConf(is_pep484_tower=True))  # an integer is a number too
    except BeartypeException:
        return True
