"""Class-level annotations that say what a layer's field is.

``weight: Parameter[Float[Array2, "{self.out_features} {self.in_features}"]]``   learnt, saved, counted
``mean: Buffer[Float[Array1, " {self.features}"]]``                              saved, not learnt
``_x: Kept[Float[Array2, "batch {self.in_features}"]]``                          what backward needs from forward

A type checker sees the array alone. At run time each becomes a descriptor: reading a parameter that was never
filled, or a kept value that no forward left, raises the error that says so. Parameters and buffers live in
`Cell`s, so that two layers can share one array (`Module.shared`) and keep sharing it when it is replaced.
"""

# Descriptors keep their values on the layer, in attributes that are theirs and module.py's alone.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import inspect
import types
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar

import numpy as np
from jaxtyping import Shaped

from typednn import shapes
from typednn.arrays import Precision, device_of, is_array, is_floating
from typednn.checks import attribute_lookup, check_hint, is_array_hint, judge
from typednn.errors import DefinitionError, DeviceError, DTypeError, NotForwarded, NotInitialised, ShapeError, explain

if TYPE_CHECKING:
    from typednn.module import Module

T = TypeVar("T")


@dataclass(frozen=True)
class Marker:
    """Tells the kinds of field apart inside ``Annotated``."""

    kind: Literal["parameter", "buffer", "kept"]


Parameter: TypeAlias = Annotated[T, Marker("parameter")]
Buffer: TypeAlias = Annotated[T, Marker("buffer")]
Kept: TypeAlias = Annotated[T, Marker("kept")]


class Placement:
    """The precision and the device of a module's arrays; layers that share all their arrays share it."""

    __slots__ = ("device", "dtype", "precision")

    def __init__(self, precision: Precision, device: str) -> None:
        self.device: str = device
        self.set_precision(precision)

    def set_precision(self, precision: Precision) -> None:
        self.precision: Precision = precision
        self.dtype: np.dtype[Any] = precision.parameters  # every call reads it


class Cell:
    """The place of one array; layers that share a parameter share its cell."""

    __slots__ = ("array", "placements", "shared")

    def __init__(self, array: Any = None) -> None:
        self.array: Any = array
        self.shared: bool = False  # whether another layer was given it
        self.placements: tuple[Placement, ...] = ()  # of the modules that `Module.tie` made share it


def named_dtypes(hint: Any) -> tuple[str, ...]:
    """The dtypes that an array annotation names; none where it takes all."""
    anything: Any = Shaped
    return () if hint.dtypes is anything.dtypes else tuple(map(str, hint.dtypes))


class StoredField:
    """A parameter or a buffer: what it must look like, and where each layer holds it."""

    def __init__(self, owner: str, name: str, kind: str, hint: Any) -> None:
        self.name = name
        self.kind = kind
        self.optional: bool = type(None) in typing.get_args(hint) and typing.get_origin(hint) in (typing.Union, types.UnionType)
        arrays = [part for part in (typing.get_args(hint) if self.optional else (hint,)) if part is not type(None)]
        where = f"{owner}.{name}"
        if len(arrays) != 1 or not is_array_hint(arrays[0]):
            raise DefinitionError(
                explain(where, f"a {kind} is annotated with one array type", str(hint), 'such as Float[Array1, " features"]')
            )
        self.hint: Any = check_hint(where, arrays[0])
        if shapes.rank(self.hint.dim_str) is None:
            raise DefinitionError(explain(where, f"a {kind}'s axes are all named", repr(self.hint.dim_str)))

    def shape(self, layer: Module) -> tuple[int, ...]:
        """The sizes that the annotation gives for this instance; needs no array."""
        return shapes.sizes(self.hint.dim_str, attribute_lookup(layer))

    def dtype(self, layer: Module) -> np.dtype[Any]:
        """What its numbers are: the layer's precision where the annotation takes floats, else the widest kind that it names."""
        names = named_dtypes(self.hint)
        wanted = (layer.dtype.name, "int64", "uint64", "bool")
        return np.dtype(next((name for name in wanted if not names or name in names), names[0] if names else wanted[0]))

    def absent(self, layer: Module) -> bool:
        """Whether this optional field was switched off (``bias=False``)."""
        return self.name in layer._absent

    def cell(self, layer: Module) -> Cell:
        return layer._cells.setdefault(self.name, Cell())

    def __get__(self, layer: Module | None, owner: type) -> Any:
        if layer is None:
            return self
        cell = layer._cells.get(self.name)
        if cell is None or cell.array is None:
            if self.name in layer._absent:
                return None
            raise NotInitialised(
                f"{layer.label()}.{self.name} was never filled; call model.init(rng) or pass rng= to the constructor", layer
            )
        return cell.array

    def __set__(self, layer: Module, array: Any) -> None:
        if array is None and self.optional:
            layer._absent.add(self.name)
            return
        self.check(layer, array)
        self.cell(layer).array = array

    def check(self, layer: Module, array: Any) -> None:
        """Raise unless ``array`` has this field's shape and the layer's dtype and device."""
        where = f"{layer.label()}.{self.name}"
        shape = self.shape(layer)
        if is_array(array) and tuple(array.shape) != shape:
            raise ShapeError(explain(where, f"must have shape {shape}", f"shape {tuple(array.shape)}"), layer)
        judge(where, layer, [self.name], [self.hint], [array])
        if is_floating(array.dtype) and array.dtype != layer.dtype:
            raise DTypeError(
                explain(where, f"the model's dtype is {layer.dtype}", str(array.dtype), f"convert with .astype(numpy.{layer.dtype})"), layer
            )
        if device_of(array) != layer.device:
            raise DeviceError(
                explain(where, f"the model is on {layer.device!r}", device_of(array), "move one of them with to(device)"), layer
            )


class KeptField:
    """What backward needs from forward: written while training only, gone after ``free_cache()``."""

    def __init__(self, owner: str, name: str, hint: Any) -> None:
        self.name = name
        self.hint: Any = check_hint(f"{owner}.{name}", hint)

    def __get__(self, layer: Module | None, owner: type) -> Any:
        if layer is None:
            return self
        try:
            return layer._kept[self.name]
        except KeyError:
            raise not_forwarded(layer) from None

    def __set__(self, layer: Module, value: Any) -> None:
        if layer.training:
            layer._kept[self.name] = value


def not_forwarded(layer: Module) -> NotForwarded:
    """The error of a backward that finds nothing kept, with the reason and the cure."""
    if layer.training:
        reason, cure = "nothing is kept", "call forward first (free_cache() drops what was kept)"
    else:
        reason, cure = "in eval nothing is kept", "call train() before forward"
    return NotForwarded(explain(f"{layer.label()}.backward", "needs what forward kept", reason, cure), layer)


Field: TypeAlias = StoredField | KeptField


def declared_fields(cls: type) -> dict[str, Field]:
    """The marked annotations of ``cls`` and its bases, in the order of declaration."""
    try:
        hints = typing.get_type_hints(cls, localns={cls.__name__: cls}, include_extras=True)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise DefinitionError(
            explain(
                cls.__qualname__,
                "every field's annotation must be resolvable at run time",
                str(error),
                "import or define it at module level",
            )
        ) from None
    fields: dict[str, Field] = {}
    for name, hint in hints.items():
        if typing.get_origin(hint) is not Annotated:
            continue
        inner, *metadata = typing.get_args(hint)
        for marker in metadata:
            if isinstance(marker, Marker):
                inherited = getattr(cls, name, None)
                if isinstance(inherited, StoredField | KeptField) and name not in inspect.get_annotations(cls):
                    fields[name] = inherited
                elif marker.kind == "kept":
                    fields[name] = KeptField(cls.__qualname__, name, inner)
                else:
                    fields[name] = StoredField(cls.__qualname__, name, marker.kind, inner)
    return fields


def holds_undeclared_array(layer: Module) -> str | None:
    """The name of an attribute that holds an array although no annotation says what it is."""
    return next((name for name, value in vars(layer).items() if is_array(value)), None)
