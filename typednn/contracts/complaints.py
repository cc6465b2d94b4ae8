"""The error for a value that is not what its annotation says: where, which rule, what came, and the cure."""

import re
from collections.abc import Sequence
from typing import Any

from typednn import shapes
from typednn.arrays import is_array, is_floating
from typednn.contracts.hints import (
    array_hints,
    attribute_lookup,
    fits_dtype,
    fits_kind,
    is_array_hint,
    members,
    read,
)
from typednn.errors import CheckError, DeviceError, DTypeError, ShapeError, explain
from typednn.errors.habits import value_cure
from typednn.shapes.cures import channels_cure, rank_cure, target_cure

# What to convert numbers to where an annotation names a kind of dtypes; integers to int64.
_CONVERTED = {"float": "float32", "bool": "bool"}


def complaint(
    where: str, instance: Any, names: Sequence[str], hints: Sequence[Any], values: Sequence[Any]
) -> CheckError:
    """The error for the last of ``values``, in the words of its annotation."""
    name, hint, value = names[-1], hints[-1], values[-1]
    options = array_hints(hint)
    if not options:
        return CheckError(explain(where, f"{name} must be {_described(hint)}", type(value).__name__), instance)
    if not is_array(value):
        kind = f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
        cure = value_cure(name, value) or f"convert it with numpy.asarray({name})"
        return DeviceError(explain(where, f"{name} must be an array", kind, cure), instance)
    if len(options) > 1:
        options = [each for each in options if fits_kind(each, value)]
    got = f"{value.dtype} of shape {tuple(value.shape)}"
    if (
        name == "target"
        and len(value.shape) == 1
        and is_floating(value.dtype)
        and "int" in (described := _described(hint))
    ):
        cure = "class labels are integers: target.astype(numpy.int64)"
        return DTypeError(explain(where, f"target must be {described}", got, cure), instance)
    if len(options) != 1:
        return ShapeError(explain(where, f"{name} must be {_described(hint)}", got), instance)
    hint = options[0]
    if fits_dtype(hint.dtype, value.dtype):
        return _shape_complaint(where, instance, names, [*hints[:-1], hint], values)
    kind = hint.dtype.__name__.lower()
    if kind.startswith("float") and name == "target" and len(value.shape) == 1:
        cure = "class labels go through one_hot(labels, classes), or straight into SoftmaxCrossEntropy"
        return DTypeError(explain(where, f"target must be {_described(hint)}", got, cure), instance)
    cure = f"convert it with {name}.astype(numpy.{kind if kind[-1].isdigit() else _CONVERTED.get(kind, 'int64')})"
    return DTypeError(explain(where, f"{name} must hold numbers of kind {kind}", str(value.dtype), cure), instance)


def _described(hint: Any) -> str:
    """An annotation in words: ``int "batch" or float "batch classes"``."""
    return " or ".join(
        f'{member.dtype.__name__.lower()} "{member.dim_str.strip()}"'
        if is_array_hint(member)
        else getattr(member, "__name__", str(member).replace("typing.", ""))
        for member in members(hint)
    )


def _shape_complaint(
    where: str, instance: Any, names: Sequence[str], hints: Sequence[Any], values: Sequence[Any]
) -> ShapeError:
    name, hint, value = names[-1], hints[-1], values[-1]
    sizes = "".join(
        f", self.{path} = {read(instance, path)}"
        for path in dict.fromkeys(re.findall(r"self\.([\w.\[\]]+)", hint.dim_str))
    )
    rule = f'{name} must be "{hint.dim_str.strip()}"{sizes}'
    got = f"shape {tuple(value.shape)}"
    if 0 in value.shape:
        return ShapeError(
            explain(
                where, rule, f"{got}: axis {value.shape.index(0)} is empty", "every axis needs at least one element"
            ),
            instance,
        )
    unifier = shapes.Unifier(attribute_lookup(instance))
    for array_hint, array in zip(hints, values, strict=True):
        if is_array_hint(array_hint) and is_array(array):
            unifier.bind(array_hint.dim_str, [shapes.Dim.of(size) for size in array.shape])
    if not unifier.mismatches:
        return ShapeError(explain(where, rule, got), instance)
    first = unifier.mismatches[0]
    if first.axis_index is None:
        cure = rank_cure(name, shapes.rank(hint.dim_str), len(value.shape)) or _target_cure(names, values)
        return ShapeError(explain(where, rule, f"{got}: {shapes.number_of_axes(len(value.shape))}", cure), instance)
    cure = channels_cure(name, value.shape, first.expected) if first.axis_index == 3 else _target_cure(names, values)
    if first.argument and not cure:
        given = f"give {first.counted}" if first.counted else f"make it {first.expected}"
        cure = f"{given}, or build the layer with {first.argument}={first.got}"
    return ShapeError(
        explain(where, rule, f"{got}: axis {first.axis_index} is {first.got}, not {first.expected}", cure), instance
    )


def _target_cure(names: Sequence[str], values: Sequence[Any]) -> str:
    """What to do about a target that does not fit its prediction."""
    if list(names) != ["prediction", "target"]:
        return ""
    prediction, target = values
    return target_cure(target.shape, prediction.shape, labels=not is_floating(target.dtype))
