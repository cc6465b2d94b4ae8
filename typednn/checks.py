"""Annotations become run-time checks, on every method that a class inherits a promise for.

``Float[Array2, "batch {self.in_features}"]`` is judged by beartype and jaxtyping: the values of one call, in
order, in one scope, so that ``batch`` means the same number everywhere and ``{self.x}`` is the instance's own
size. What this module adds:

* **Nothing escapes.** A class that implements a Protocol of `typednn.protocols` has its methods wrapped when it
  is defined (`typednn.promises`). An annotation that is missing, cannot be resolved, or whose alias and string disagree about the
  rank is a `DefinitionError` there and then; jaxtyping alone would silently check nothing.
* **A verdict is remembered** (mode ``"cached"``, the default). Whether a call fits depends only on each array's
  type, dtype and shape and on the sizes read from ``self``: a combination seen before costs one dictionary
  lookup. ``"full"`` judges every call anew, ``"off"`` none. `set_checks` switches at run time, the environment
  variable ``TYPEDNN_CHECKS`` at start.
* **Messages** say where, which rule, what came, and the cure (`typednn.errors.explain`).
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import types
import typing
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, Literal, TypeVar, get_args

import jaxtyping
from jaxtyping import AbstractArray, AnnotationError, jaxtyped  # pyright: ignore[reportUnknownVariableType]

from typednn import shapes
from typednn.arrays import device_of, is_array
from typednn.cures import rank_cure
from typednn.errors import ArgumentError, CheckError, DefinitionError, DeviceError, DTypeError, ShapeError, explain
from typednn.judgement import is_bearable

Mode = Literal["full", "cached", "off"]
Verdicts = dict[Any, Any]

_MOST_VERDICTS = 1024
_NONE = type(None)
_MISSING: Any = object()


class _Switch:
    """One attribute, read on every call."""

    mode: Mode = "cached"


switch: _Switch = _Switch()


def set_checks(mode: Mode) -> None:
    """Judge every call (``"full"``), remember verdicts (``"cached"``), or judge none (``"off"``), from now on."""
    if mode not in get_args(Mode):
        raise ArgumentError(explain("set_checks", "mode must be 'full', 'cached' or 'off'", repr(mode)))
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


def _mode_from_environment() -> None:
    mode = os.environ.get("TYPEDNN_CHECKS", "cached")
    if mode not in get_args(Mode):
        raise ArgumentError(explain("environment variable TYPEDNN_CHECKS", "must be 'full', 'cached' or 'off'", repr(mode)))
    switch.mode = typing.cast(Mode, mode)
    if mode != "off":
        _refuse_disabled_jaxtyping()


def _refuse_disabled_jaxtyping() -> None:
    """Disabled, jaxtyping would let everything pass: that has to be asked for in words that are ours."""
    if jaxtyping.config.jaxtyping_disable:
        raise ArgumentError(
            explain(
                "checks",
                "jaxtyping judges shapes",
                "jaxtyping disabled (JAXTYPING_DISABLE)",
                "enable it, or switch the checks off with TYPEDNN_CHECKS=off",
            )
        )


_mode_from_environment()


# What a verdict depends on: of an array its type, dtype and shape, and nothing else.
signature: Callable[[Any], tuple[Any, ...]] = attrgetter("__class__", "dtype", "shape")


def is_array_hint(hint: Any) -> bool:
    """Whether ``hint`` is a jaxtyping annotation such as ``Float[Array2, "batch features"]``."""
    return isinstance(hint, type) and issubclass(hint, AbstractArray)


def without_markers(hint: Any) -> Any:
    """The annotation itself, without what ``Annotated`` adds."""
    while typing.get_origin(hint) is typing.Annotated:
        hint = get_args(hint)[0]
    return hint


def check_hint(where: str, hint: Any) -> Any:
    """``hint`` itself, once its alias and its string are known to agree; otherwise `DefinitionError`."""
    hint = without_markers(hint)
    if is_array_hint(hint):
        for hole in re.findall(r"\{([^{}]*)\}", hint.dim_str):
            # A call could give another size each time; a verdict is remembered by the attributes that it was given on.
            if re.search(r"[\w\])]\s*\(", re.sub(r"\b(min|max|abs)\s*\(", "((", hole)):
                raise DefinitionError(explain(where, "braces read attributes", f"a call in {{{hole}}}", "keep the size in an attribute"))
        promised = getattr(hint.array_type, "rank", None)
        written = shapes.rank(hint.dim_str)
        if promised is not None and written is not None and promised != written:
            raise DefinitionError(
                explain(
                    where,
                    f"{hint.array_type.__name__} promises {promised} axes",
                    f"{written} axes in the string {hint.dim_str!r}",
                    f"write Array{written} or name {promised} axes",
                )
            )
    else:
        for argument in get_args(hint):
            if not isinstance(argument, (list, tuple)):
                check_hint(where, argument)
    return hint


def resolved_hints(function: Callable[..., Any], where: str) -> dict[str, Any]:
    """Every annotation of ``function`` as a real object: none missing, none that cannot be resolved."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise DefinitionError(
            explain(where, "every annotation must be resolvable at run time", str(error), "import or define the name at module level")
        ) from None
    for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise DefinitionError(explain(where, "takes a fixed list of parameters", f"*{name}", "name every parameter"))
        if name not in hints:
            raise DefinitionError(
                explain(where, "every parameter must be annotated", f"{name!r} without", 'such as Float[Array2, "batch features"]')
            )
    if "return" not in hints:
        raise DefinitionError(explain(where, "the result must be annotated", "no '->'", 'such as -> Float[Array2, "batch features"]'))
    return {name: check_hint(f"{where}, {name!r}", hint) for name, hint in hints.items()}


def array_hints(hint: Any) -> list[Any]:
    """The array annotations inside ``hint``: itself, or the members of a union or tuple."""
    if is_array_hint(hint):
        return [hint]
    return [inner for argument in get_args(hint) for inner in array_hints(argument)]


def size_getter(hints: Sequence[Any], extra: Sequence[str] = ()) -> Callable[[Any], Any]:
    """Reads from an instance whatever its verdicts depend on: each ``x`` of a ``{self.x}``."""
    text = " ".join(array.dim_str for hint in hints for array in array_hints(hint))
    # A path ends where a subscript begins: {self.kernel_size[0]} depends on self.kernel_size.
    paths = sorted({*re.findall(r"self\.([A-Za-z_][\w.]*)", text), *extra})
    return attrgetter(*paths) if paths else _nothing


def _nothing(instance: Any) -> None:
    return None


@jaxtyped(typechecker=None)
def _judge(self: Any, hints: Sequence[Any], values: Sequence[Any]) -> int:
    """The place of the first value that is not what its hint promises, or -1. ``self`` is what ``{self.x}`` reads."""
    for place, (hint, value) in enumerate(zip(hints, values, strict=True)):
        if not is_open(hint) and not is_bearable(value, hint):
            return place
        if is_array_hint(hint) and (0 in value.shape or not is_array(value)):
            return place
    return -1


def judge(where: str, instance: Any, names: Sequence[str], hints: Sequence[Any], values: Sequence[Any]) -> None:
    """Raise the fitting `CheckError` unless every value is what its hint promises, all in one scope."""
    _refuse_disabled_jaxtyping()
    try:
        place = _judge(instance, hints, values)
    except AnnotationError as error:
        raise DefinitionError(
            explain(where, "an axis expression may use only axes that were bound before it", str(error).splitlines()[0])
        ) from None
    if place >= 0:
        raise complaint(where, instance, names[: place + 1], hints[: place + 1], values[: place + 1])


def complaint(where: str, instance: Any, names: Sequence[str], hints: Sequence[Any], values: Sequence[Any]) -> CheckError:
    """The error for the last of ``values``, in the words of its annotation."""
    name, hint, value = names[-1], hints[-1], values[-1]
    options = array_hints(hint)
    if not options:
        return CheckError(explain(where, f"{name} must be {_described(hint)}", f"{type(value).__name__}"), instance)
    if len(options) > 1 and is_array(value):
        fitting = [option for option in options if _fits_dtype(option, value) and shapes.rank(option.dim_str) == len(value.shape)]
        if len(fitting) != 1:
            return ShapeError(
                explain(where, f"{name} must be {_described(hint)}", f"{value.dtype} of shape {tuple(value.shape)}"), instance
            )
        return complaint(where, instance, names, [*hints[:-1], fitting[0]], values)
    hint = options[0]
    if not is_array(value):
        kind = f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
        return DeviceError(explain(where, f"{name} must be an array", kind, f"convert it with numpy.asarray({name})"), instance)
    if not _fits_dtype(hint, value):
        wanted = hint.dtype.__name__.lower()
        if wanted.startswith("float") and name == "target" and len(value.shape) == 1:
            labels = "class labels go through one_hot(labels, classes), or straight into SoftmaxCrossEntropy"
            return DTypeError(
                explain(where, f"target must be {_described(hint)}", f"{value.dtype} of shape {tuple(value.shape)}", labels), instance
            )
        cure = (
            f"convert it with {name}.astype(numpy.float32)" if wanted.startswith("float") else f"convert it with {name}.astype(numpy.int64)"
        )
        return DTypeError(explain(where, f"{name} must hold numbers of kind {wanted}", str(value.dtype), cure), instance)
    return _shape_complaint(where, instance, names, [*hints[:-1], hint], values)


def _described(hint: Any) -> str:
    """An annotation in words: ``int "batch" or float "batch classes"``."""
    if is_array_hint(hint):
        return f'{hint.dtype.__name__.lower()} "{hint.dim_str.strip()}"'
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return " or ".join(map(_described, get_args(hint)))
    return getattr(hint, "__name__", str(hint).replace("typing.", ""))


class _Number:
    """Stands for an array where its dtype alone is asked about."""

    shape = ()

    def __init__(self, dtype: Any) -> None:
        self.dtype: Any = dtype


@functools.cache
def _number_hint(kind: Any) -> Any:
    return kind[_Number, ""]


def _fits_dtype(hint: Any, value: Any) -> bool:
    return isinstance(_Number(value.dtype), _number_hint(hint.dtype))


def _shape_complaint(where: str, instance: Any, names: Sequence[str], hints: Sequence[Any], values: Sequence[Any]) -> ShapeError:
    name, hint, value = names[-1], hints[-1], values[-1]
    sizes = "".join(f", self.{path} = {_read(instance, path)}" for path in dict.fromkeys(re.findall(r"self\.([\w.\[\]]+)", hint.dim_str)))
    rule = f'{name} must be "{hint.dim_str.strip()}"{sizes}'
    got = f"shape {tuple(value.shape)}"
    if 0 in value.shape:
        return ShapeError(
            explain(where, rule, f"{got}: axis {value.shape.index(0)} is empty", "every axis needs at least one element"), instance
        )
    unifier = shapes.Unifier(attribute_lookup(instance))
    for earlier, seen in zip(hints, values, strict=True):
        if is_array_hint(earlier) and is_array(seen):
            unifier.bind(earlier.dim_str, [shapes.Dim.of(size) for size in seen.shape])
    if not unifier.mismatches:
        return ShapeError(explain(where, rule, got), instance)
    worst = unifier.mismatches[0]
    if worst.axis_index is None:
        cure = rank_cure(name, shapes.rank(hint.dim_str), len(value.shape))
        return ShapeError(explain(where, rule, f"{got}: {len(value.shape)} axes", cure), instance)
    attribute = re.fullmatch(r"(?:\w+=)?\{self\.(\w+)\}", worst.source)
    cure = f"give {worst.expected} {worst.label}, or build the layer with {attribute[1]}={worst.got}" if attribute else ""
    return ShapeError(explain(where, rule, f"{got}: axis {worst.axis_index} is {worst.got}, not {worst.expected}", cure), instance)


def _read(instance: Any, path: str) -> Any:
    """The value behind ``self.path``, where a path has names, dots and integer subscripts only."""
    value: Any = instance
    for name, subscript in re.findall(r"(\w+)|\[(\d+)\]", path):
        value = getattr(value, name, None) if name else value[int(subscript)]
    return value


def attribute_lookup(instance: Any) -> Callable[[str], shapes.Dim | None]:
    """Answers the shape algebra's questions about ``{self.x}`` from a live instance."""

    def lookup(path: str) -> shapes.Dim | None:
        value = _read(instance, path.removeprefix("self."))
        return shapes.Dim.of(value) if isinstance(value, int) else None

    return lookup


def check_agreement(where: Callable[[], str], instance: Any, names: Sequence[str], values: Sequence[Any]) -> None:
    """One float dtype and one device for all arrays among ``values``: what differs is refused, never promoted."""
    arrays = [(name, value) for name, value in zip(names, values, strict=True) if is_array(value)]
    floats = [(name, value) for name, value in arrays if value.dtype.kind == "f"]
    for name, value in floats[1:]:
        first, dtype = floats[0][0], floats[0][1].dtype
        if value.dtype != dtype:
            rule, cure = f"{name} must have the dtype of {first}, {dtype}", f"convert it with {name}.astype(numpy.{dtype})"
            raise DTypeError(explain(where(), rule, str(value.dtype), cure), instance)
    for name, value in arrays[1:]:
        first, device = arrays[0][0], device_of(arrays[0][1])
        if device_of(value) != device:
            rule = f"{name} must be on the device of {first}, {device!r}"
            raise DeviceError(explain(where(), rule, repr(device_of(value)), "move one of them with to_device"), instance)


class Contract:
    """The annotations of one method, resolved once, and the verdicts given on it so far."""

    def __init__(self, function: Callable[..., Any], where: str) -> None:
        hints = resolved_hints(function, where)
        function.__annotations__ = dict(hints)
        self.function: Callable[..., Any] = function
        self.where: str = where
        self.result: Any = hints.pop("return")
        self.names: tuple[str, ...] = tuple(inspect.signature(function).parameters)[1:]
        self.hints: tuple[Any, ...] = tuple(hints[name] for name in self.names)
        self.laws: list[tuple[tuple[Any, ...], Any]] = []  # what Protocols say of the first parameters and of the result
        self.verdicts: Verdicts = {}

    def described(self, instance: Any) -> str:
        """``Linear(256, 120).forward``: the instance, where it can say who it is."""
        if hasattr(instance, "label"):
            label = instance.label()
        else:
            kind: type = instance.__class__
            label = kind.__name__ if vars(kind).get("__repr__") is None else repr(instance)
        return f"{label}.{self.function.__name__}"

    def check_arguments(self, instance: Any, values: Sequence[Any]) -> None:
        judge(self.described(instance), instance, self.names, self.hints, values)
        for hints, _ in self.laws:
            judge(self.described(instance), instance, self.names[: len(hints)], hints, values[: len(hints)])

    def check_agreement(self, instance: Any, values: Sequence[Any]) -> None:
        check_agreement(lambda: self.described(instance), instance, self.names, values)

    def check_result(self, instance: Any, values: Sequence[Any], result: Any) -> None:
        """Judge the result in the scope that the arguments have bound."""
        where = self.described(instance)
        hint = self.result
        if typing.get_origin(hint) is tuple and Ellipsis not in get_args(hint) and isinstance(result, tuple):
            parts = get_args(hint)
            results: tuple[Any, ...] = result  # pyright: ignore[reportUnknownVariableType]
            names = [*self.names, *(f"result[{place}]" for place in range(len(parts)))]
            if len(parts) == len(results):
                judge(where, instance, names, [*self.hints, *parts], [*values, *results])
                return
        judge(where, instance, [*self.names, "the result"], [*self.hints, hint], [*values, result])
        for hints, promised in self.laws:
            names = [*self.names[: len(hints)], "the result"]
            judge(where, instance, names, [*hints, promised], [*values[: len(hints)], result])


F = TypeVar("F", bound=Callable[..., Any])


def enforced(function: F, owner: str) -> F:
    """``function`` with its annotations enforced; the verdict for a signature is remembered in mode ``"cached"``."""
    contract = Contract(function, f"{owner}.{function.__name__}")
    read_sizes = size_getter((*contract.hints, contract.result))
    sized = read_sizes is not _nothing
    verdicts = contract.verdicts
    parameters = inspect.signature(function)
    memorable = all(map(is_memorable, (*contract.hints, contract.result)))

    @functools.wraps(function)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        mode = switch.mode
        if mode == "off":
            return function(self, *args, **kwargs)
        if kwargs or len(args) != len(contract.names):
            bound = parameters.bind(self, *args, **kwargs)
            bound.apply_defaults()
            args = bound.args[1:]
        key = expected = None
        if memorable and mode == "cached":
            key = (sized and read_sizes(self), *map(signature_or_type, args))
            expected = verdicts.get(key)
        if expected is None:
            contract.check_arguments(self, args)
            contract.check_agreement(self, args)
        result = function(self, *args)
        if expected is None or signature_or_type(result) != expected:
            contract.check_result(self, args, result)
            if key is not None:
                remember(verdicts, key, signature_or_type(result))
        return result

    @functools.wraps(function)
    def checked_pair(self: Any, first: Any = _MISSING, second: Any = _MISSING, *more: Any, **named: Any) -> Any:
        """Two arrays by position, as a loss or a step has them: the same as ``checked``, and quick where the verdict is known."""
        if switch.mode != "cached" or second is _MISSING or more or named:
            given = tuple(value for value in (first, second) if value is not _MISSING)
            return checked(self, *given, *more, **named)
        try:
            key = (
                sized and read_sizes(self),
                (first.__class__, first.dtype, first.shape),
                (second.__class__, second.dtype, second.shape),
            )
        except AttributeError:
            return checked(self, first, second)
        expected = verdicts.get(key)
        if expected is None:
            return checked(self, first, second)
        result = function(self, first, second)
        if result is None and expected is _NONE:
            return None
        if signature_or_type(result) != expected:
            contract.check_result(self, (first, second), result)
        return result

    quick = checked_pair if memorable and len(contract.names) == 2 else checked
    quick.__typednn_contract__ = contract  # type: ignore[attr-defined]
    return typing.cast(F, quick)


def remember(verdicts: Verdicts, key: Any, verdict: Any) -> None:
    """Keep a verdict; shapes that never repeat must not fill the memory."""
    if len(verdicts) >= _MOST_VERDICTS:
        verdicts.clear()
    verdicts[key] = verdict


def signature_or_type(value: Any) -> Any:
    """What a verdict depends on: an array's signature, the type of anything else."""
    if value is None:
        return _NONE
    try:
        return signature(value)
    except AttributeError:
        return value.__class__


def is_open(hint: Any) -> bool:
    """Whether a type variable stands for anything at all; its default is no promise, though beartype on Python 3.13 takes it for one."""
    return isinstance(hint, TypeVar) and not hint.__bound__ and not hint.__constraints__


def is_memorable(hint: Any) -> bool:
    """Whether type, dtype and shape alone decide; anything else is judged on every call."""
    if isinstance(hint, TypeVar):
        return is_open(hint)
    options = get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    return all(is_array_hint(option) or option is None or (isinstance(option, type) and not get_args(option)) for option in options)
