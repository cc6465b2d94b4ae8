"""Annotations become run-time checks, on every method that a Protocol of the class promises.

``Float[Array2, "batch {self.in_features}"]`` is judged by beartype and jaxtyping: the values of one call, in
order, in one scope, so that ``batch`` means the same number everywhere and ``{self.x}`` is the instance's own
size. What this module adds:

* **Nothing is left out.** A class that implements a Protocol of `typednn.contracts.protocols` has its methods wrapped
  when it is defined (`typednn.contracts.promises`). An annotation that is missing, cannot be resolved, or whose alias
  and string disagree about the rank is a `DefinitionError` at once; jaxtyping alone would silently check nothing.
* **A kind of call is judged once** (mode ``"cached"``, the default): the class and dtype of every array, the class of
  anything else. For a known kind only the sizes are compared, by code generated from the annotations
  (`typednn.shapes.compiled`); calls that it does not accept are judged. ``"full"`` judges every call anew, ``"off"``
  none. `set_checks` switches at run time, the environment variable ``TYPEDNN_CHECKS`` at start.
* **Messages** say where, which rule, what came, and the cure (`typednn.errors.explain`).
"""

import functools
import inspect
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import Any, Literal, TypeVar, cast, get_args, get_origin

from jaxtyping import AnnotationError, config, jaxtyped  # pyright: ignore[reportUnknownVariableType]

from typednn.arrays import device_of, is_array, is_floating
from typednn.contracts.complaints import complaint
from typednn.contracts.hints import (
    array_hints,
    fits_kind,
    is_array_hint,
    is_memorable,
    is_open,
    members,
    resolved_hints,
)
from typednn.contracts.judgement import is_bearable
from typednn.errors import (
    ArgumentError,
    DefinitionError,
    DeviceError,
    DTypeError,
    TypednnError,
    explain,
)
from typednn.errors.public import refuse_misfit
from typednn.errors.tracebacks import fold
from typednn.shapes.compiled import Scope, comparison, outcome

Mode = Literal["full", "cached", "off"]
_MOST_KINDS = 16


class _Switch:
    """One attribute, read on every call."""

    mode: Mode = cast(Mode, os.environ.get("TYPEDNN_CHECKS", "cached"))


switch: _Switch = _Switch()


def set_checks(mode: Mode) -> None:
    """Judge every call (``"full"``), remember verdicts (``"cached"``), or judge none (``"off"``), from now on."""
    if mode not in get_args(Mode):
        raise ArgumentError(explain("set_checks", "mode must be 'full', 'cached' or 'off'", repr(mode)), "mode")
    switch.mode = mode


def get_checks() -> Mode:
    """The mode in force."""
    return switch.mode


@contextmanager
def checking(mode: Mode) -> Generator[None]:
    """``with checking("full"): …`` — a mode for a while, for all threads."""
    before = switch.mode
    set_checks(mode)
    try:
        yield
    finally:
        switch.mode = before


def _refuse_disabled_jaxtyping() -> None:
    """A disabled jaxtyping would accept everything; checks are switched off by typednn's own setting only."""
    if config.jaxtyping_disable:
        raise ArgumentError(
            explain(
                "checks",
                "jaxtyping judges shapes",
                "jaxtyping disabled (JAXTYPING_DISABLE)",
                "enable it, or switch the checks off with TYPEDNN_CHECKS=off",
            )
        )


if switch.mode not in get_args(Mode):
    raise ArgumentError(
        explain("environment variable TYPEDNN_CHECKS", "must be 'full', 'cached' or 'off'", repr(switch.mode))
    )
if switch.mode != "off":
    _refuse_disabled_jaxtyping()


# The attributes that a check needs of an array.
signature: Callable[[Any], tuple[Any, ...]] = attrgetter("__class__", "dtype", "shape")


@jaxtyped(typechecker=None)
def judged_place(self: Any, hints: Sequence[Any], values: Sequence[Any]) -> int:
    """The index of the first value that does not fit its hint, or -1. ``self`` is what ``{self.x}`` reads."""
    for place, (hint, value) in enumerate(zip(hints, values, strict=True)):
        if not (is_open(hint) or is_bearable(value, hint)) or (
            is_array_hint(hint) and (0 in value.shape or not is_array(value))
        ):
            return place
    return -1


def judge(where: str, instance: Any, names: Sequence[str], hints: Sequence[Any], values: Sequence[Any]) -> None:
    """Raise the fitting `CheckError` unless every value fits its hint, all in one scope."""
    _refuse_disabled_jaxtyping()
    names, hints, values = spread(names, hints, values)
    try:
        place = judged_place(instance, hints, values)
    except AnnotationError as error:
        raise DefinitionError(
            explain(where, "an axis expression may use only axes that were bound before it", str(error).splitlines()[0])
        ) from None
    if place >= 0:
        raise complaint(where, instance, names[: place + 1], hints[: place + 1], values[: place + 1])


def spread(names: Sequence[str], hints: Sequence[Any], values: Sequence[Any]) -> tuple[list[str], list[Any], list[Any]]:
    """The same with each tuple, where a tuple of as many is promised, as its parts: ``state`` as ``state[0]`` and
    ``state[1]``.
    """
    found: tuple[list[str], list[Any], list[Any]] = ([], [], [])
    for name, hint, value in zip(names, hints, values, strict=True):
        promised = [get_args(option) for option in members(hint) if get_origin(option) is tuple]
        fitting = [
            parts
            for parts in promised
            if value.__class__ is tuple and Ellipsis not in parts and 0 < len(parts) == len(value)
        ]
        inner = (
            spread([f"{name}[{place}]" for place in range(len(value))], fitting[0], value)
            if fitting
            else ([name], [hint], [value])
        )
        for whole, parts in zip(found, inner, strict=True):
            whole += parts
    return found


def check_agreement(where: Callable[[], str], instance: Any, names: Sequence[str], values: Sequence[Any]) -> None:
    """One float dtype and one device for all arrays among ``values``: others are refused, never promoted."""
    arrays = [(name, value) for name, value in zip(names, values, strict=True) if is_array(value)]
    floats = [(name, value) for name, value in arrays if is_floating(value.dtype)]
    for (first, other), (name, value) in pairwise(floats):
        if value.dtype != other.dtype:
            rule, cure = (
                f"{name} must have the dtype of {first}, {other.dtype}",
                f"convert it with {name}.astype(numpy.{other.dtype})",
            )
            raise DTypeError(explain(where(), rule, str(value.dtype), cure), instance)
    for (first, other), (name, value) in pairwise(arrays):
        if device_of(value) != device_of(other):
            rule, cure = (
                f"{name} must be on the device of {first}, {device_of(other)!r}",
                "move one of them with to_device",
            )
            raise DeviceError(explain(where(), rule, repr(device_of(value)), cure), instance)


class Facts:
    """The conditions of one kind of call: classes and dtypes, as in a call that fitted, and sizes, as compared by the
    annotations.

    Values are written as Python expressions of ``parameters``: ``x``, ``gradient.weight``.
    """

    def __init__(self, parameters: str, known: Iterable[str] = ()) -> None:
        self._parameters = parameters
        self._known = set(known)
        self._values: dict[str, Any] = {}
        self._scopes: list[Scope] = []
        self._decided: bool = True  # whether class, dtype and rank decide the member of each union

    def note(self, expression: str, value: Any, *parts: str) -> None:
        """Require the present class of a value and dtype of an array, in tuples too, or those ``parts`` of it."""
        is_tuple = value.__class__ is tuple and not parts
        for part in parts or ("__class__", *(("dtype",) if is_array(value) else ("__len__()",) if is_tuple else ())):
            self._values[f"{expression}.{part}"] = len(value) if part == "__len__()" else getattr(value, part)
        for place, part in enumerate(value if is_tuple else ()):
            self.note(f"{expression}[{place}]", part)

    def scope(self, shapes_of: Sequence[str], hints: Sequence[Any], values: Sequence[Any]) -> None:
        """Require that the values' shapes fit the hints, all in one scope."""
        pairs: list[tuple[str, str]] = []
        for shape, hint, value in zip(shapes_of, hints, values, strict=True):
            annotations = {
                option.dim_str for option in array_hints(hint) if is_array(value) and fits_kind(option, value)
            }
            pairs += [(shape, annotation) for annotation in annotations]
            self._decided &= len(annotations) < 2
        self._scopes.append(tuple(pairs))

    def same(self, known: str, shape: str) -> None:
        """Require that a shape equals another one, which is known to fit."""
        self._scopes.append(((known, "*shape"), (shape, "*shape")))
        self._known.add(known)

    def compiled(self, returned: Iterable[str] = ()) -> Callable[..., Any]:
        """A function that returns the shapes ``returned`` of a call that certainly is of this kind and fits, otherwise
        None.
        """
        if not self._decided or switch.mode != "cached":
            return _never
        make = comparison(
            self._parameters, tuple(self._values), tuple(self._scopes), frozenset(self._known), tuple(returned)
        )
        return _never if make is None else make(*self._values.values())


def _never(*call: Any) -> None:
    return None


@dataclass(slots=True, eq=False)
class Kind:
    """One kind of call that fitted."""

    fits: Callable[..., Any]  # (instance, arguments) -> their shapes, or None
    gives: Callable[..., Any]  # (instance, these shapes, result) -> whether it fits
    inputs: tuple[Any, ...]  # the class and dtype of each array
    output: Any
    shape: Any = None  # of the last input of `Module.check_sizes`
    gradient: Any = None  # the kind of its gradient, after a backward was judged
    deferred: bool = False  # of a gradient: whether its ``input`` was not computed yet

    def __reduce__(self) -> Any:
        """A copy keeps the shapes of its last forward; its calls are judged anew."""
        return Kind, (_never, _never, self.inputs, self.output)


def _array_kind(value: Any) -> Any:
    """An array's class and dtype; None for anything else."""
    return (value.__class__, value.dtype) if is_array(value) else None


class Contract:
    """The annotations of one method, resolved once."""

    def __init__(self, function: Callable[..., Any], where: str) -> None:
        hints = resolved_hints(function, where)
        function.__annotations__ = dict(hints)
        self.function: Callable[..., Any] = function
        self.where: str = where
        self.result: Any = hints.pop("return")
        self.signature: inspect.Signature = inspect.signature(function)
        self.names: tuple[str, ...] = tuple(self.signature.parameters)[1:]
        self.hints: tuple[Any, ...] = tuple(hints[name] for name in self.names)
        # The laws of the annotations, then of Protocols, for the first parameters and the result, each in a scope of
        # its own.
        self.laws: list[tuple[tuple[Any, ...], Any]] = [(self.hints, self.result)]
        results = get_args(self.result) if get_origin(self.result) is tuple else (self.result,)
        self.memorable: bool = all(map(is_memorable, (*self.hints, *results)))
        self.kinds: tuple[Kind, ...] = ()

    @functools.cached_property
    def outcome(self) -> Callable[[Any, Sequence[int]], tuple[int, ...] | None]:
        """The result's shape for the instance and its one input's."""
        return outcome(self.hints[0].dim_str, self.result.dim_str)

    def described(self, instance: Any) -> str:
        """``Linear(256, 120).forward``: with the instance where it has a description."""
        kind: type = instance.__class__
        label = getattr(instance, "label", instance.__repr__ if "__repr__" in vars(kind) else lambda: kind.__name__)
        return f"{label()}.{self.function.__name__}"

    def in_order(self, instance: Any, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments of a call, defaults put in, one for each name."""
        try:
            bound = self.signature.bind(instance, *args, **named)
        except TypeError:
            refuse_misfit(self.function, (instance, *args), named)
            raise
        bound.apply_defaults()
        return bound.args[1:]

    def check_arguments(self, instance: Any, values: Sequence[Any]) -> None:
        for hints, _ in self.laws:
            judge(self.described(instance), instance, self.names[: len(hints)], hints, values[: len(hints)])

    def check_result(self, instance: Any, values: Sequence[Any], result: Any) -> None:
        """Judge the result in the scope that the arguments bound."""
        for hints, promised in self.laws:
            count = len(hints)
            name = "the result" if spread(["result"], [promised], [result])[0] == ["result"] else "result"
            judge(
                self.described(instance),
                instance,
                [*self.names[:count], name],
                [*hints, promised],
                [*values[:count], result],
            )

    def kind(
        self, instance: Any, values: Sequence[Any], result: Any, names: Sequence[str], before: Facts | None = None
    ) -> Kind:
        """The kind of a call that was judged. ``names`` are the names of the arguments in ``x``; ``before`` has
        further conditions.
        """
        parts, _, inside = spread(names, self.hints, values)
        shapes_of = {
            name: _shape_expression(name, value)
            for name, value in zip((*names, *parts), (*values, *inside), strict=True)
        }
        known = {name: f"shapes[{place}]" for place, name in enumerate(shapes_of)}
        before, after = before or Facts("self, x"), Facts("self, shapes, y", known.values())
        for name, value in zip(names, values, strict=True):
            before.note(name, value)
        after.note("y", result)
        for hints, promised in self.laws:
            given, held, arrays = spread(names[: len(hints)], hints, values[: len(hints)])
            before.scope([shapes_of[name] for name in given], held, arrays)
            outputs, promises, results = spread(["y"], [promised], [result])
            after.scope(
                [*(known[name] for name in given), *map(_shape_expression, outputs, results)],
                [*held, *promises],
                [*arrays, *results],
            )
        fits, gives = (
            (before.compiled([*shapes_of.values()] or ["None"]), after.compiled())
            if self.memorable
            else (_never, _never)
        )
        return Kind(fits, gives, tuple(map(_array_kind, values)), _array_kind(result))


def _shape_expression(name: str, value: Any) -> str:
    return f"{name}.shape" if is_array(value) else "None"


F = TypeVar("F", bound=Callable[..., Any])
Known = TypeVar("Known")


def contracted(wrapper: F, contract: Contract, gradient: Any = None) -> F:
    """``wrapper`` with the contract that it enforces, and the promises about the ``gradient`` that it returns."""
    vars(wrapper).update(__typednn_contract__=contract, __typednn_gradient__=gradient)
    return wrapper


def contract_of(cls: type, method: str) -> Contract | None:
    """The contract that a method of ``cls`` enforces, None where there is none."""
    return getattr(getattr(cls, method, None), "__typednn_contract__", None)


def enforced(
    function: Callable[..., Any], owner: type, note: Callable[[Any, Any], None] | None = None
) -> Callable[..., Any]:
    """``function`` with its annotations enforced; ``note`` gets from each call what a backward is checked against."""
    contract = Contract(function, f"{owner.__qualname__}.{function.__name__}")
    count = len(contract.names)
    names = [f"x[{place}]" for place in range(count)]

    @functools.wraps(function)
    def checked(self: Any, *args: Any, **named: Any) -> Any:
        try:
            mode = switch.mode
            if mode == "off":
                if note is not None:
                    note(self, None)
                return function(self, *args, **named)
            if named or len(args) != count:
                args = contract.in_order(self, args, named)
            kind = shapes_in = None
            if mode == "cached":
                for kind in contract.kinds:
                    if shapes_in := kind.fits(self, args):
                        break
            if shapes_in is None:
                contract.check_arguments(self, args)
                check_agreement(lambda: contract.described(self), self, contract.names, args)
            result = function(self, *args)
            if kind is None or shapes_in is None or not kind.gives(self, shapes_in, result):
                contract.check_result(self, args, result)
                kind = contract.kind(self, args, result, names)
                contract.kinds = remembered(contract.kinds, kind)
                shapes_in = tuple(map(shape_of, args))
            if note is not None:
                note(self, (kind, shapes_in, result.shape))
            return result
        except TypednnError as error:
            fold(error)
            raise

    return contracted(checked, contract)


def remembered(kinds: tuple[Known, ...], kind: Known) -> tuple[Known, ...]:
    """The kinds that a call is compared with, the latest first; a program has few."""
    return (kind, *kinds)[:_MOST_KINDS] if switch.mode == "cached" else kinds


def shape_of(value: Any) -> Any:
    """An array's shape, None for anything else."""
    return getattr(value, "shape", None)
