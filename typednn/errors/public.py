"""What a user's code calls: arguments that are not taken become a `CallError` with the right ones, and tracebacks end
at the call.

`public` marks a function, `opened` a class, `published` all of a package; classes whose methods are enforced
(`typednn.contracts.promises`) are opened by that. Names that another library has are missed in the words of
`typednn.errors.habits`.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from typednn.errors import SURE, CallError, TypednnError, closest, explain, habits
from typednn.errors.tracebacks import folding

P = ParamSpec("P")
R = TypeVar("R")

# Methods of an opened class that are public, besides those that are enforced.
METHODS = ("__init__", "__rshift__", "__rrshift__", "init", "to", "astype", "load_state_dict", "tie", "named", "bind")
_OPERATORS = {
    "__call__": "cannot be called",
    "__iter__": "cannot be looped over",
    "__matmul__": "is no array",
    "__add__": "is no number",
    "__or__": "is no set",
}


def public(function: Callable[P, R]) -> Callable[P, R]:
    """``function`` as users call it."""

    @functools.wraps(function)
    def called(*args: P.args, **named: P.kwargs) -> R:
        try:
            return function(*args, **named)
        except TypeError as error:
            if not isinstance(error, TypednnError):
                refuse_misfit(function, args, named)
            raise

    vars(called)["__typednn_public__"] = True
    return folding(called)


def opened(kind: type) -> None:
    """Make a class public: its constructor and `METHODS`, and what it lacks that classes of its kind have elsewhere."""
    for name in METHODS:
        member = vars(kind).get(name)
        if inspect.isfunction(member) and not hasattr(member, "__typednn_public__"):
            setattr(kind, name, public(member))
    if "__call__" in vars(kind):
        setattr(kind, "__call__", folding(vars(kind)["__call__"]))  # noqa: B010  # to checkers, a method is no variable
    if not hasattr(kind, "__getattr__") and any(base.__name__ in habits.ATTRIBUTES for base in kind.__mro__):
        setattr(kind, "__getattr__", habits.attribute_of)  # noqa: B010  # to checkers, it has none
    for name in _OPERATORS:
        cure = habits.cure_of(kind, name)
        if cure and not any(name in vars(base) for base in kind.__mro__):
            setattr(kind, name, _refusal(name, cure))


def published(names: dict[str, Any]) -> Callable[[str], Any]:
    """Make public what a package gives its users, ``names`` being its ``globals()``; returns its ``__getattr__``.

    A function is public in the package alone: the module that defines it, and what imports it from there, calls it as
    it is.
    """
    package: str = names["__name__"]
    for name in names["__all__"]:
        value = names[name]
        if inspect.isfunction(value) and not hasattr(value, "__typednn_public__"):
            names[name] = public(value)
            names[name].__module__ = package  # where pickle finds it
        elif inspect.isclass(value) and not (issubclass(value, BaseException) or getattr(value, "_is_protocol", False)):
            opened(value)
            _tell_formula(value)
    return habits.names_of(package)


def _tell_formula(kind: type) -> None:
    """Add what its file says to the class's docstring: a layer's formulas, shapes and costs stand there, and ``help``
    shows them.
    """
    home = sys.modules[kind.__module__]
    if kind.__name__.lower() == home.__name__.rpartition(".")[2].replace("_", "") and home.__doc__ and kind.__doc__:
        kind.__doc__ = f"{inspect.cleandoc(kind.__doc__)}\n\n{home.__doc__}"


def _refusal(name: str, cure: str) -> Callable[..., Any]:
    """An operator, which Python looks up in the class, that says what to write instead."""

    def refuse(self: object, *_: object, **__: object) -> Any:
        raise CallError(explain(type(self).__name__, _OPERATORS[name], name, cure))

    return folding(refuse)


def _longer(word: str, names: Sequence[str]) -> str:
    """The one name that has ``word`` among its words, as ``kernel_size`` has ``kernel``; "" if there is no such one."""
    found = [name for name in names if word in name.split("_")]
    return found[0] if len(found) == 1 else ""


def refuse_misfit(function: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any]) -> None:
    """`CallError` where ``function`` does not take these arguments."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **named)
    except TypeError as error:
        reason = str(error)
    else:
        return
    path = function.__qualname__.split(".")
    method = len(path) > 1 and path[-2] != "<locals>"
    kinds = [kind.__name__ for kind in type(args[0]).__mro__] if method and args else []
    where = ".".join([*kinds[:1], path[-1]] if kinds else path).removesuffix(".__init__")
    parameters = list(signature.parameters.values())[1 if method else 0 :]
    names = [each.name for each in parameters]
    by_place = [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    given = len(args) - method
    unknown = [name for name in named if name not in names]
    twice = [name for name in named if name in by_place[:given]]
    missing = [
        each.name
        for place, each in enumerate(parameters)
        if each.default is each.empty and each.name not in named and (each.name not in by_place or place >= given)
    ]
    meant = cure = ""
    if unknown:
        blamed, got = unknown[0], f"{unknown[0]}="
        meant = closest(blamed, names, SURE) or _longer(blamed, names)
    elif twice:
        blamed, got = twice[0], f"{twice[0]} by position and by name"
    elif given > len(by_place):
        blamed, got = "*", f"{given} arguments by position"
        cure = f"write {names[len(by_place)]}=…" if len(names) > len(by_place) else ""
    else:
        blamed, got = missing[0] if missing else "", f"no {' and no '.join(missing)}" if missing else reason
        cure = f"pass {missing[0]}=…" if missing else ""
    known = [habits.ARGUMENTS.get(place, {}).get(blamed, "") for place in (where, *kinds, path[-1], "")]
    if meant:
        known.insert(-1, f"it is called {meant}")
    cure = next(filter(None, known), cure)
    needed = [each.name for each in parameters if each.default is each.empty]
    optional = [name for name in names if name not in needed]
    takes = ", ".join([*needed, *([f"[{', '.join(optional)}]"] if optional else [])]) or "nothing"
    raise CallError(explain(where, f"takes {takes}", got, cure), "" if blamed == "*" else blamed) from None
