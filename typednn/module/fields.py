"""Class-level annotations that say what a layer's field is.

``weight: Parameter[Float[Array2, "{self.out_features} {self.in_features}"]]``   learnt, saved, counted
``mean: Buffer[Float[Array1, " {self.features}"]]``                              saved, not learnt
``_x: Kept[Float[Array2, "batch {self.in_features}"]]``                          what backward needs from forward
``inner: Layer[Array2, Array2, G, Literal["batch n -> batch n"]]``               a layer inside, and how ``forward``
                                                                                 uses it

Left of the arrow stands what the inner layer reads, in names that the annotations of ``forward`` bind; right of it what
it must give. ``tuple[Layer[…], ...]`` and ``list[Layer[…]]`` hold several, each reading what the one before gave; with
``+`` before an axis, ``"batch *input -> batch *image +channels"``, all read the same, and that axis of the output is
the sum. ``Layer[…] | None`` may hold none: then what it would read is passed on. What is assigned is checked.

A type checker sees the array alone. At run time each becomes a descriptor: reading a parameter that was never
filled, or a kept value that no forward left, raises the error that says so. Parameters and buffers live in
`typednn.module.state.Cell`s, so that two layers can share one array (`Module.shared`) and keep sharing it when it is
replaced.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, cast, get_args, get_origin

import numpy as np
from jaxtyping import Shaped

from typednn import shapes
from typednn.arrays import device_of, is_array, is_floating
from typednn.contracts.checks import judge
from typednn.contracts.hints import attribute_lookup, check_hint, check_rank, is_array_hint
from typednn.errors import (
    DefinitionError,
    DeviceError,
    DTypeError,
    NotForwarded,
    NotInitialised,
    ShapeError,
    StackError,
    explain,
)
from typednn.module.state import CELLS, Cell, Stateful

T = TypeVar("T")


@dataclass(frozen=True)
class Marker:
    """Tells the kinds of field apart inside ``Annotated``."""

    kind: Literal["parameter", "buffer", "kept"]


Parameter: TypeAlias = Annotated[T, Marker("parameter")]
Buffer: TypeAlias = Annotated[T, Marker("buffer")]
Kept: TypeAlias = Annotated[T, Marker("kept")]


def named_dtypes(hint: Any) -> tuple[str, ...]:
    """The dtypes that an array annotation names; none where it takes all."""
    return () if hint.dtypes is cast("Any", Shaped).dtypes else tuple(map(str, hint.dtypes))


class StoredField:
    """A parameter or a buffer: what it must look like, and where each layer holds it."""

    def __init__(self, owner: str, name: str, kind: str, hint: Any) -> None:
        self.name = name
        self.kind = kind
        self.optional: bool = type(None) in get_args(hint) and get_origin(hint) in (typing.Union, types.UnionType)
        arrays = [part for part in (get_args(hint) if self.optional else (hint,)) if part is not type(None)]
        where = f"{owner}.{name}"
        if len(arrays) != 1 or not is_array_hint(arrays[0]):
            raise DefinitionError(
                explain(
                    where, f"a {kind} is annotated with one array type", str(hint), 'such as Float[Array1, " features"]'
                )
            )
        self.hint: Any = check_hint(where, arrays[0])
        self.place: str = f"{CELLS}[{name!r}].array"  # in code that compares calls
        if shapes.rank(self.hint.dim_str) is None:
            raise DefinitionError(explain(where, f"a {kind}'s axes are all named", repr(self.hint.dim_str)))

    def shape(self, layer: Stateful) -> tuple[int, ...]:
        """The sizes that the annotation gives for this instance; needs no array."""
        return shapes.sizes(self.hint.dim_str, attribute_lookup(layer))

    def dtype(self, layer: Stateful) -> np.dtype[Any]:
        """What its numbers are: the layer's precision where the annotation takes floats, else the widest kind that it
        names.
        """
        names = named_dtypes(self.hint)
        preferred = (layer.dtype.name, "int64", "uint64", "bool")
        return np.dtype(
            next((name for name in preferred if not names or name in names), names[0] if names else preferred[0])
        )

    def absent(self, layer: Stateful) -> bool:
        """Whether this optional field was switched off (``bias=False``)."""
        return self.name in layer.__typednn_storage__.absent

    def cell(self, layer: Stateful) -> Cell:
        return layer.__typednn_storage__.cells[self.name]

    def __get__(self, layer: Stateful | None, owner: type) -> Any:
        if layer is None:
            return self
        array = layer.__typednn_storage__.cells[self.name].array
        if array is None and not self.absent(layer):
            raise NotInitialised(
                f"{layer.label()}.{self.name} was never filled; call model.init(rng) or pass rng= to the constructor",
                layer,
            )
        return array

    def __set__(self, layer: Stateful, array: Any) -> None:
        if array is None and self.optional:
            layer.__typednn_storage__.absent.add(self.name)
            return
        self.check(layer, array)
        self.cell(layer).put(array)

    def check(self, layer: Stateful, array: Any) -> None:
        """Raise unless ``array`` has this field's shape and the layer's dtype and device."""
        where = f"{layer.label()}.{self.name}"
        shape = self.shape(layer)
        if is_array(array) and tuple(array.shape) != shape:
            raise ShapeError(explain(where, f"must have shape {shape}", f"shape {tuple(array.shape)}"), layer)
        judge(where, layer, [self.name], [self.hint], [array])
        if is_floating(array.dtype) and array.dtype != layer.dtype:
            raise DTypeError(
                explain(
                    where,
                    f"the model's dtype is {layer.dtype}",
                    str(array.dtype),
                    f"convert with .astype(numpy.{layer.dtype})",
                ),
                layer,
            )
        if device_of(array) != layer.device:
            raise DeviceError(
                explain(
                    where, f"the model is on {layer.device!r}", device_of(array), "move one of them with to(device)"
                ),
                layer,
            )


class KeptField:
    """What backward needs from forward: written while training only, gone after ``free_cache()``."""

    def __init__(self, owner: str, name: str, hint: Any) -> None:
        self.name = name
        self.hint: Any = check_hint(f"{owner}.{name}", hint)

    def __get__(self, layer: Stateful | None, owner: type) -> Any:
        if layer is None:
            return self
        try:
            return layer.__typednn_calls__.kept[self.name]
        except KeyError:
            raise not_forwarded(layer) from None

    def __set__(self, layer: Stateful, value: Any) -> None:
        if layer.training:
            layer.__typednn_calls__.kept[self.name] = value


def not_forwarded(layer: Stateful) -> NotForwarded:
    """The error of a backward that finds nothing kept, with the reason and the cure."""
    if layer.training:
        reason, cure = "nothing is kept", "call forward first (free_cache() drops what was kept)"
    else:
        reason, cure = "in eval nothing is kept", "call train() before forward"
    return NotForwarded(explain(f"{layer.label()}.backward", "needs what forward kept", reason, cure), layer)


class InnerField:
    """A layer inside this one, or several one after another, and what of ``forward`` it reads and must give."""

    def __init__(self, where: str, hint: Any, contract: str, *, many: bool, optional: bool) -> None:
        self.where = where
        self.name: str = where.rpartition(".")[2]
        self.hint: Any = hint
        self.contract = contract
        self.many = many
        self.optional = optional

    def define(self, bound: set[str]) -> None:
        """`DefinitionError` unless the contract can be read; ``bound`` are the names so far, and gets those that it
        brings.
        """
        reads, gives, _ = shapes.split_contract(shapes.side_by_side(self.contract)[0])
        if not gives:
            rule, cure = (
                "a layer inside says what it reads and what it must give",
                'such as "batch *shape -> batch *shape"',
            )
            raise DefinitionError(explain(self.where, rule, repr(self.contract), cure))
        for text, array_type in zip((reads, gives), get_args(self.hint), strict=False):
            check_rank(self.where, array_type, text, repr(text))
            for slot in shapes.parse(text):
                if text is gives:
                    bound.add(slot.key)
                if unbound := slot.names - bound:
                    rule = "its names are bound by forward, or by a layer inside that is declared before"
                    raise DefinitionError(explain(self.where, rule, f"{min(unbound)!r} in {self.contract!r}"))

    def use(self, layer: Stateful) -> tuple[str, str, list[Callable[[shapes.Flow], shapes.Flow]]]:
        """The name, the contract, and how shapes go through each layer that ``layer`` holds here."""
        value = vars(layer)[self.name]
        parts = value if self.many else [] if value is None else [value]
        return self.name, self.contract, [part.trace for part in parts]

    def __get__(self, layer: Stateful | None, owner: type) -> Any:
        if layer is None:
            return self
        try:
            return vars(layer)[self.name]
        except KeyError:
            raise DefinitionError(
                explain(
                    self.where,
                    "a layer inside is assigned in the constructor",
                    "nothing",
                    f"write self.{self.name} = …",
                )
            ) from None

    def __set__(self, layer: Stateful, value: Any) -> None:
        if self.many and not isinstance(value, list | tuple):
            raise StackError(explain(self.where, "holds a list or tuple of layers", type(value).__name__))
        none = self.optional and value is None
        parts: list[Any] = [None] if none else get_origin(self.hint).adopt(value if self.many else [value])
        vars(layer)[self.name] = (tuple(parts) if isinstance(value, tuple) else parts) if self.many else parts[0]
        layer.trace(shapes.Flow.start())


Field: TypeAlias = StoredField | KeptField | InnerField


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
    return {name: field for name, hint in hints.items() if (field := _declared_field(cls, name, hint)) is not None}


def _declared_field(cls: type, name: str, hint: Any) -> Field | None:
    """The field that an annotation declares, as inherited where ``cls`` does not say it anew; None where it declares
    none.
    """
    if get_origin(hint) is not Annotated:
        return _inner_field(f"{cls.__qualname__}.{name}", hint)
    inner, *metadata = get_args(hint)
    marker = next((each for each in metadata if isinstance(each, Marker)), None)
    if marker is None:
        return None
    inherited = getattr(cls, name, None)
    if isinstance(inherited, StoredField | KeptField) and name not in inspect.get_annotations(cls):
        return inherited
    if marker.kind == "kept":
        return KeptField(cls.__qualname__, name, inner)
    return StoredField(cls.__qualname__, name, marker.kind, inner)


def _inner_field(where: str, hint: Any) -> InnerField | None:
    """The field of ``Layer[…, Literal["batch n -> batch m"]]``, or None, or of a tuple or list of such; None for any
    other annotation.
    """
    optional = (
        get_origin(hint) in (typing.Union, types.UnionType)
        and len(get_args(hint)) == 2
        and type(None) in get_args(hint)
    )
    if optional:
        hint = next(each for each in get_args(hint) if each is not type(None))
    many = get_origin(hint) in (list, tuple) and get_args(hint)[1:] in ((), (Ellipsis,))
    layer = next(iter(get_args(hint)), None) if many else hint
    kind: Any = get_origin(layer)
    contract = next((get_args(argument)[0] for argument in get_args(layer) if get_origin(argument) is Literal), None)
    # what layers derive from, not one of them
    if contract is None or not isinstance(kind, type) or "adopt" not in vars(kind):
        return None
    return InnerField(where, layer, str(contract), many=many, optional=optional)
