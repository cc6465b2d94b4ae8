"""Gradients are values: frozen dataclasses that can be read, added, scaled and mapped.

A layer's gradient names each derivative after its quantity: ``grad.input``, ``grad.weight``, ``grad.bias``. What
is done *to* a gradient (``+``, ``*``, ``map``, ``norm``) concerns the parameters only, at any depth; the inputs'
gradients belong to one batch, and a result carries the left operand's.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, wraps
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeAlias, cast

import numpy as np
from typing_extensions import TypeVar, TypeVarTuple

from typednn.arrays import AnyArray, is_array, namespace
from typednn.backends import read_together, to_numpy
from typednn.contracts.checks import Facts, check_agreement, judge, remembered, switch
from typednn.contracts.derivatives import ANY_ARRAY, backwards, gradient_fields
from typednn.contracts.hints import array_hints, check_hint, is_array_hint, is_memorable, is_open
from typednn.errors import ArgumentError, ShapeError, StateError, explain
from typednn.kernels.pointwise import add, scaled
from typednn.kernels.totals import squares
from typednn.shapes import Dim, evaluate

# The names of the leaves that are one parameter's, for each shared parameter.
Shared: TypeAlias = Sequence[tuple[str, ...]]

AnyGradient = TypeVar("AnyGradient", bound="Gradient")
Array = TypeVar("Array", covariant=True)
In = TypeVar("In", covariant=True)
P = TypeVar("P", covariant=True)
Gs = TypeVarTuple("Gs")


class Made(Protocol):
    """What is known of a gradient that a plan made, so that its fields need not be walked through."""

    def uses(self, module: Any) -> tuple[list[Any], bool] | None:
        """`typednn.module.tree.Node.uses`; None of another module, or where the module has changed."""

    def named(self, gradient: Any) -> Iterable[tuple[str, AnyArray]]:
        """`named_leaves` of the ``gradient``."""
        ...

    def changed(self, gradient: Any, change: Callable[[AnyArray], AnyArray]) -> Any:
        """The ``gradient`` with ``change`` applied to each derivative by a parameter, whose shape stays."""


class Gradient:
    """Base of every gradient dataclass.

    A layer with several inputs names them: ``class BilinearGrad(Gradient, inputs=("left", "right"))``. Sizes of several
    fields that are not equal, but belong together, are ``relations`` between the names of their axes:
    ``relations=("gates == 3*hidden_size",)``.

    The gradient that a model's ``backward`` gives has one leaf per parameter: where layers share one, the sum of its
    uses, under the name of the first. The parts hold the derivative of each use.
    """

    __slots__ = ("_later", "_made", "_shared")
    _later: Callable[[], Any]  # of a `deferred` gradient
    _shared: Callable[[Any], Shared] | Shared | None  # which leaves are one parameter's; asked for when it matters
    _made: Made  # of a plan's gradient
    __array_ufunc__: ClassVar[None] = None  # NumPy's numbers leave ``number * gradient`` to `__rmul__`
    __inputs__: ClassVar[tuple[str, ...]] = ("input",)
    __relations__: ClassVar[tuple[str, ...]] = ()
    __defers__: ClassVar[bool] = False  # whether a backward may return one that is `deferred`

    def __init_subclass__(cls, inputs: tuple[str, ...] | None = None, relations: tuple[str, ...] | None = None) -> None:
        super().__init_subclass__()
        if cls.__repr__ is Gradient.__repr__:  # a dataclass would write its own
            setattr(cls, "__repr__", Gradient.__repr__)  # noqa: B010
        if inputs is not None:
            cls.__inputs__ = inputs
        if relations is not None:
            cls.__relations__ = relations
        own = vars(cls).get("__post_init__")
        if own is not None and not hasattr(own, "__wrapped__"):  # with slots, a dataclass is made twice
            setattr(cls, "__post_init__", _then_checked(own))  # noqa: B010

    def __post_init__(self) -> None:
        """Hold every field to its annotation, where no backward will; `CheckError` names the field."""
        if not backwards.running and switch.mode != "off":
            kind: type = type(self)
            _promises(kind).check(self)

    if not TYPE_CHECKING:  # checkers must go on to refuse what a gradient does not have

        def __getattr__(self, name):
            """Called for what is not there: an ``input`` that is computed when it is first read."""
            if name != "input" or not self.is_deferred:
                return object.__getattribute__(self, name)  # Python's own error
            value = self._later()
            object.__setattr__(self, "input", value)
            object.__delattr__(self, "_later")
            return value

    @property
    def is_deferred(self) -> bool:
        """Whether ``input`` is still to be computed, when it is first read: see `deferred`."""
        return hasattr(self, "_later")

    def __repr__(self) -> str:
        fields = dataclasses.fields(cast("Any", self))
        shown = [field.name for field in fields if field.repr and not (field.name == "input" and self.is_deferred)]
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def _repr_html_(self) -> str:
        """What a notebook shows: of each parameter's derivative the shape and the norm, as a number and a bar."""
        from typednn.html import bar, facts, number, shown, table

        leaves = self.leaves()
        norms = {name: math.sqrt(square) for name, square in squares_of(leaves).items()}
        most = max((norm for norm in norms.values() if math.isfinite(norm)), default=0.0) or 1.0
        rows = [
            (
                name,
                " × ".join(map(str, leaf.shape)),
                number(norms[name]),
                bar(norms[name] / most if math.isfinite(norms[name]) else 1.0),
            )
            for name, leaf in leaves.items()
        ]
        total = number(math.sqrt(sum(norm * norm for norm in norms.values())))
        parts = facts({"norm": total}), table(["parameter", "shape", "norm", ""], rows, numbers=("norm",))
        return shown(type(self).__qualname__, *parts)

    def leaves(self) -> dict[str, AnyArray]:
        """The derivative by every parameter, under its dotted name; what a layer lacks (``bias=False``) is left out."""
        made: Made | None = getattr(self, "_made", None)
        sums = dict(named_leaves(self) if made is None else made.named(self))
        for first, *others in self.shared_leaves():
            sums[first] = functools.reduce(add, (sums.pop(name) for name in others), sums[first])
        return sums

    def map(self, change: Callable[[AnyArray], AnyArray]) -> Self:
        """The same gradient with ``change`` applied to the derivative by every parameter.

        Of a shared parameter that is the sum of its uses; what comes of it stands in the first use, and zeros in the
        others.
        """
        shared = self.shared_leaves()
        if not shared:
            return self._combined(change)
        sums = self.leaves()
        others = {name for _, *names in shared for name in names}
        values = iter(
            [
                namespace(leaf).zeros_like(leaf) if name in others else change(sums[name])
                for name, leaf in named_leaves(self)
            ]
        )

        return self._combined(lambda _: next(values))  # the leaves come in the same order

    def shared_leaves(self) -> Shared:
        """The names of the leaves that are one parameter's, the first use first; of each shared parameter a tuple."""
        shared: Callable[[Any], Shared] | Shared | None = getattr(self, "_shared", None)
        if callable(shared):
            shared = shared(self)
            set_shared(self, shared)
        return shared or ()

    def norm(self) -> float:
        """The Euclidean norm over all parameters together: sqrt(Σ g²)."""
        return math.sqrt(sum(squares_of(self.leaves()).values()))

    def __add__(self, other: Self) -> Self:
        """The sum over parameters: gradients of two batches, accumulated."""
        if type(other) is not type(self):
            return NotImplemented
        return self._combined(add, other)

    def __mul__(self, factor: float) -> Self:
        """The gradient times a number; the dtype stays, also where the number is NumPy's or an array without axes."""
        number: Any = factor
        if issubclass(number.__class__, np.generic) or (is_array(number) and not number.shape):
            number = number.item()
        if not isinstance(number, Real):
            return NotImplemented
        plain = float(number)  # a Python float: NumPy's float64 would change a float32 array's dtype

        def times(leaf: Any) -> Any:
            return scaled(leaf, plain)

        made: Made | None = getattr(self, "_made", None)
        return self._combined(times) if made is None else made.changed(self, times)

    __rmul__ = __mul__

    def _combined(
        self, combine: Callable[[AnyArray], AnyArray] | Callable[[AnyArray, AnyArray], AnyArray], *others: Self
    ) -> Self:
        """``combine`` applied leaf by leaf; which leaves are one parameter's stays known."""
        combined: Self = _combined(combine, self, *others)
        return set_shared(combined, getattr(self, "_shared", None))

    def replaced(self, changed: dict[str, Any]) -> Self:
        """The same gradient with other values in the fields ``changed``."""
        if not self.is_deferred:
            return cast("Self", dataclasses.replace(cast("Any", self), **changed))
        others = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(cast("Any", self))
            if field.name != "input"
        }
        return deferred(type(self), self._later, others | changed)

    def __reduce__(self) -> Any:
        """A copy, and what is read from a file of them, knows its shared leaves by name, without the model."""
        values: dict[str, Any] = {}
        for field in dataclasses.fields(cast("Any", self)):
            with suppress(StateError):  # an input that can't be computed any more
                values[field.name] = getattr(self, field.name)
        return _rebuilt, (type(self), values, self.shared_leaves())


def _rebuilt(kind: type[Gradient], values: dict[str, Any], shared: Shared) -> Gradient:
    whole = "input" in values or "input" not in kind.__inputs__
    return set_shared(kind(**values) if whole else deferred(kind, _not_copied, values), shared)


def _not_copied() -> Any:
    rule, got = "a copy has the derivatives that could be computed when it was made", "one that could not"
    raise StateError(explain("grad.input", rule, got, "copy the gradient before the weights change"))


def deferred(kind: type[AnyGradient], later: Callable[[], Any], others: dict[str, Any]) -> AnyGradient:
    """A gradient of the fields ``others`` whose ``input`` is what ``later`` gives when it is first read; no check reads
    it.

    Gradients that are made of it, such as a sum, ask ``later`` too: it should remember what it has computed.
    """
    gradient, assign = object.__new__(kind), object.__setattr__
    for name, value in others.items():
        assign(gradient, name, value)
    assign(gradient, "_later", later)
    return gradient


def unreadable(part: Any, what: str, got: str, cure: str) -> StateError:
    """The error of reading an ``input`` that was put off and can't be computed any more."""
    rule = (
        f"the derivative by the input of a {what} is computed when it is read, from the weights and arrays of its "
        "forward"
    )
    return StateError(explain(f"{part.label()}.backward", rule, got, cure), part)


def agrees(before: Any, now: Any) -> bool:
    """Whether an array that forward computed, and the same computed again, differ by rounding alone."""
    before, now = to_numpy(before), to_numpy(now)
    tolerance = math.sqrt(np.finfo(before.dtype).eps)
    scale = float(np.abs(before[np.isfinite(before)]).max(initial=0))
    return np.allclose(now, before, rtol=tolerance, atol=tolerance * scale, equal_nan=True)


def without_inner_inputs(gradient: Any, cure: str) -> Any:
    """``gradient``, whose parts no longer hold the derivatives by their inputs: reading one is a `StateError` that
    gives the ``cure``.
    """

    def refuse() -> Any:
        raise StateError(
            explain(
                "grad.input", "a derivative is read where it is kept", "one between two layers, which was let go", cure
            )
        )

    def stripped(part: Any) -> Any:
        if isinstance(part, tuple | list):
            parts = map(stripped, cast("Sequence[Any]", part))
            return tuple(parts) if isinstance(part, tuple) else list(parts)
        if not isinstance(part, Gradient) or part.__inputs__ != ("input",):
            return part
        kind: Any = type(part)
        stripped_gradient: Gradient = deferred(
            kind, refuse, {name: stripped(getattr(part, name)) for name in _own_fields(kind)}
        )
        return stripped_gradient

    return with_fields(gradient, {name: stripped(getattr(gradient, name)) for name in _own_fields(gradient.__class__)})


def with_fields(gradient: Any, changed: dict[str, Any]) -> Any:
    """A gradient dataclass, whether it derives from `Gradient` or not, with other values in the fields ``changed``."""
    return gradient.replaced(changed) if isinstance(gradient, Gradient) else dataclasses.replace(gradient, **changed)


def set_shared(gradient: AnyGradient, shared: Callable[[Any], Shared] | Shared | None) -> AnyGradient:
    """``gradient``, with the names of the leaves that are one parameter's, or a function that finds them when they are
    needed.
    """
    object.__setattr__(gradient, "_shared", shared)
    return gradient


def _then_checked(own: Callable[..., None]) -> Callable[..., None]:
    @wraps(own)
    def both(self: Gradient, *arguments: Any) -> None:
        own(self, *arguments)
        Gradient.__post_init__(self)

    return both


class _Promises:
    """What the annotations of a gradient dataclass say of the fields alone, and the kinds of them that
    fitted so far.
    """

    def __init__(self, kind: type[Gradient]) -> None:
        fields = gradient_fields(kind, kind.__qualname__)
        self.where: str = kind.__qualname__
        self.names: tuple[str, ...] = tuple(fields)
        self.hints: list[Any] = []
        for name in self.names:
            hint = _of_any_layer(check_hint(f"{kind.__qualname__}.{name}", fields[name]))
            # An input that may be anything is at least an array, or None where the input was no float.
            self.hints.append(_ARRAY_OR_NONE if name in kind.__inputs__ and (is_open(hint) or hint is Any) else hint)
        self.relations: tuple[str, ...] = kind.__relations__
        self.memorable: bool = all(map(is_memorable, self.hints))
        self.kinds: tuple[Callable[..., bool], ...] = ()

    def check(self, gradient: Gradient) -> None:
        if self.relations:
            self._relate(gradient)
        if switch.mode == "cached" and any(fits(gradient) for fits in self.kinds):
            return
        values = [getattr(gradient, name) for name in self.names]
        judge(self.where, None, self.names, self.hints, values)
        check_agreement(lambda: self.where, None, self.names, values)
        if self.memorable:
            facts, paths = Facts("gradient"), [f"gradient.{name}" for name in self.names]
            for path, value in zip(paths, values, strict=True):
                facts.note(path, value)
            facts.scope([f"{path}.shape" for path in paths], self.hints, values)
            self.kinds = remembered(self.kinds, facts.compiled())

    def _relate(self, gradient: Gradient) -> None:
        """Raise unless the relations between sizes hold, as far as the sizes are there."""
        sizes: dict[str, Dim] = {}
        for name, hint in zip(self.names, self.hints, strict=True):
            value = getattr(gradient, name)
            for array in array_hints(hint) if is_array(value) else ():
                sizes |= zip(array.dim_str.split(), map(Dim.of, value.shape), strict=False)
        for relation in self.relations:
            left, right = (evaluate(side.strip(), sizes.get) for side in relation.split("=="))
            if left is not None and right is not None and left != right:
                got = ", ".join(f"{name} {size}" for name, size in sizes.items() if re.search(rf"\b{name}\b", relation))
                raise ShapeError(explain(self.where, f"its fields are of one layer: {relation}", got))


# Of a convolution in groups: each reads and gives as many channels as the others.
GROUPS = ("in_channels%group_channels == 0", "out_channels%(in_channels//group_channels) == 0")

_promises = cache(_Promises)
_ARRAY_OR_NONE: Any = ANY_ARRAY | None


def _of_any_layer(hint: Any) -> Any:
    """``hint`` with ``_`` for each axis that a layer's attribute would give: a gradient by itself knows no layer."""
    if is_array_hint(hint):
        free = re.sub(r"\S*\{[^{}]*\}(?:[^\s{}]|\{[^{}]*\})*", "_", hint.dim_str)
        return hint if free == hint.dim_str else hint.dtype[hint.array_type, free]
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        members: Any = tuple(map(_of_any_layer, typing.get_args(hint)))
        return typing.Union[members]  # noqa: UP007
    return hint


def named_leaves(gradient: Any, prefix: str = "") -> Iterator[tuple[str, AnyArray]]:
    """Every array of ``gradient`` that is no input's, by its dotted name."""
    if is_array(gradient):
        yield prefix, gradient
        return
    # it may hold derivatives that nobody here would find
    if not dataclasses.is_dataclass(gradient) and hasattr(gradient, "input"):
        kind, cure = type(gradient).__qualname__, "make it a dataclass, derived from Gradient"
        raise ArgumentError(explain("gradients", "the derivatives of a part are the fields of a dataclass", kind, cure))
    node: Any = gradient  # type checkers have narrowed it above
    several = isinstance(node, tuple | list)
    parts: Any = enumerate(node) if several else ((name, getattr(node, name)) for name in _own_fields(node.__class__))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    for name, part in parts:
        yield from named_leaves(part, f"{prefix}.{name}" if prefix else str(name))


def squares_of(leaves: Mapping[str, AnyArray]) -> dict[str, float]:
    """Σ g² of each derivative, by its name; a device is waited for once."""
    totals = read_together([squares(leaf) for leaf in leaves.values()]) if leaves else []
    return {name: total for name, (total,) in zip(leaves, totals, strict=True)}


@cache
def _own_fields(kind: type) -> tuple[str, ...]:
    """The fields of a gradient dataclass that don't belong to an input; none of anything else."""
    if not dataclasses.is_dataclass(kind):
        return ()
    return tuple(
        field.name for field in dataclasses.fields(kind) if field.name not in getattr(kind, "__inputs__", ("input",))
    )


def _combined(combine: Callable[..., Any], first: Any, *others: Any) -> Any:
    """``combine`` applied leaf by leaf; inputs are the first's."""
    if is_array(first):
        for other in others:
            if other.shape != first.shape:
                raise ArgumentError(
                    explain("gradients", "both must come from one model", f"shapes {first.shape} and {other.shape}")
                )
        return combine(first, *others)
    if isinstance(first, tuple | list):
        parts = [_combined(combine, *part) for part in zip(typing.cast("Sequence[Any]", first), *others, strict=True)]
        return tuple(parts) if isinstance(first, tuple) else parts
    if dataclasses.is_dataclass(first) and not isinstance(first, type):
        changed = {
            name: _combined(combine, getattr(first, name), *(getattr(other, name) for other in others))
            for name in _own_fields(type(first))
        }
        return with_fields(first, changed)
    return first


@dataclasses.dataclass(frozen=True, slots=True)
class ElementwiseGrad(Gradient, Generic[Array, P]):
    """Gradient of a layer of several ranks: ``input`` shaped as its input, ``parameters`` its own dataclass or None."""

    input: Array
    parameters: P


@dataclasses.dataclass(frozen=True, slots=True)
class ChainGrad(Gradient, Generic[In, *Gs]):
    """Gradient of a chain: ``parts[i]`` is exactly the gradient of part ``i``."""

    input: In
    parts: tuple[*Gs]
    __defers__: ClassVar[bool] = True
