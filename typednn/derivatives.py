"""What a gradient promises: a derivative for each input and parameter, where that one is, of its dtype and shape.

Decided from the annotations when a layer's class is defined (`GradientContract`), held to arrays when a backward or an update is judged.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from jaxtyping import Shaped

from typednn import shapes
from typednn.arrays import AnyArray, is_array
from typednn.checks import Contract, array_hints, check_hint, judge, signature
from typednn.errors import DefinitionError, DeviceError, DTypeError, ShapeError, explain
from typednn.fields import StoredField
from typednn.gradients import gradient_fields

if TYPE_CHECKING:
    from typednn.module import Module

# One object: beartype remembers every annotation that it has judged by, so one made at each judgement would fill the memory.
ANY_ARRAY: Any = Shaped[AnyArray, "..."]


class GradientContract:
    """What each field of a layer's gradient is the derivative of; decided when the class is defined."""

    def __init__(self, owner: type[Module], function: Callable[..., Any]) -> None:
        self.contract: Contract = Contract(function, f"{owner.__qualname__}.backward")
        hint = self.contract.result
        self.type: Any = typing.get_origin(hint) or hint
        self.fields: dict[str, Any] = {}
        self.inputs: tuple[str, ...] = ("input",)
        self.deferred: tuple[str, ...] = ()
        if isinstance(hint, typing.TypeVar):
            return
        where = f"{owner.__qualname__}.backward"
        self.fields = {name: check_hint(f"{self.type.__qualname__}.{name}", field) for name, field in gradient_fields(hint, where).items()}
        self.inputs = getattr(self.type, "__inputs__", ("input",))
        self.deferred = getattr(self.type, "__deferred__", ())
        forward = getattr(owner.forward, "__typednn_contract__", None)
        if forward is not None:
            if len(self.inputs) != len(forward.names):
                raise DefinitionError(
                    explain(
                        where,
                        f"{self.type.__qualname__} must name a derivative by each of {', '.join(forward.names)}",
                        ", ".join(self.inputs),
                    )
                )
            for name, hint in zip(self.inputs, forward.hints, strict=True):
                self._require(where, name, hint, "input")
        if not owner.gradient_prefix:
            for name, field in owner.fields.items():
                if isinstance(field, StoredField) and field.kind == "parameter":
                    self._require(where, name, field.hint, "parameter")

    def _require(self, where: str, name: str, quantity: Any, kind: str) -> None:
        """The gradient has a field of that name, with as many axes as what it is the derivative of."""
        if name not in self.fields:
            raise DefinitionError(
                explain(
                    where, f"{self.type.__qualname__} must have a field {name!r}: the derivative by that {kind}", ", ".join(self.fields)
                )
            )
        quantity = array_hints(quantity)[0]
        wanted = shapes.rank(quantity.dim_str)
        for hint in array_hints(self.fields[name]):
            written = shapes.rank(hint.dim_str)
            if None not in (wanted, written) and written != wanted:
                raise DefinitionError(
                    explain(
                        f"{self.type.__qualname__}.{name}",
                        f"the derivative by that {kind} has its {wanted} axes, {quantity.dim_str.strip()!r}",
                        f"{written}, {hint.dim_str.strip()!r}",
                    )
                )


def check_derivative(where: str, module: Module, name: str, derivative: Any, quantity: tuple[Any, ...], what: str) -> None:
    """A derivative has the device, dtype and shape of what it is the derivative of; ``quantity`` is that one's signature."""
    array_type, dtype, shape = quantity
    if tuple(getattr(derivative, "shape", ())) != tuple(shape):
        raise ShapeError(
            explain(where, f"{name} must be shaped as {what}, {tuple(shape)}", f"shape {tuple(getattr(derivative, 'shape', ()))}"), module
        )
    if derivative.dtype != dtype:
        raise DTypeError(
            explain(
                where, f"{name} must have the dtype of {what}, {dtype}", str(derivative.dtype), f"convert it with .astype(numpy.{dtype})"
            ),
            module,
        )
    if type(derivative) is not array_type:
        raise DeviceError(
            explain(
                where,
                f"{name} must be where {what} is: {array_type.__module__}.{array_type.__name__}",
                f"{type(derivative).__module__}.{type(derivative).__name__}",
            ),
            module,
        )


def check_gradient(
    module: Module, promise: GradientContract, next_grad: Any, gradient: Any, inputs: tuple[Any, ...]
) -> tuple[Callable[[Any], Any], Any]:
    """Hold every field to its quantity; ``inputs`` are the signatures of forward's.

    Returns how to read the signatures that decided, and what they were.
    """
    where = f"{module.label()}.backward"
    contract = promise.contract
    contract.check_result(module, [next_grad], gradient)
    forward = module.forward.__typednn_contract__  # type: ignore[attr-defined]

    paths = ["__class__"]
    names: list[str] = []
    hints: list[Any] = []
    values: list[Any] = []
    quantities: list[tuple[Any, ...]] = []
    for field, hint, quantity in zip(promise.inputs, forward.hints, inputs, strict=True):
        if field in promise.deferred:
            continue
        derivative = getattr(gradient, field)
        kind: Any = quantity[1] if isinstance(quantity, tuple) else None  # of an input that is None, its class alone is known
        if kind is not None and kind.kind == "f":
            names.append(f"gradient field {field!r}")
            hints.append(hint)
            values.append(derivative)
            quantities.append(quantity)
        elif derivative is not None:
            raise DTypeError(
                explain(where, f"an input of {kind} has no derivative: gradient field {field!r} must be None", type(derivative).__name__),
                module,
            )
        paths += _signature_paths(field, derivative)
    for name, derivative, quantity in zip(names, values, quantities, strict=True):
        judge(where, module, [name], [ANY_ARRAY], [derivative])
        check_derivative(where, module, name, derivative, quantity, "the input")
    judge(where, module, [*names, "next_grad"], [*hints, forward.result], [*values, next_grad])

    for field, declared in module.own_parameters():
        derivative = attrgetter(module.gradient_prefix + field)(gradient)
        if declared.absent(module):
            if derivative is not None:
                raise ShapeError(
                    explain(where, f"gradient field {field!r} must be None, as this layer has no {field}", type(derivative).__name__),
                    module,
                )
        else:
            judge(where, module, [f"gradient field {field!r}"], [declared.hint], [derivative])
            check_derivative(
                where, module, f"gradient field {field!r}", derivative, signature(getattr(module, field)), f"parameter {field!r}"
            )
        paths += _signature_paths(module.gradient_prefix + field, derivative)

    own = {name: hint for name, hint in promise.fields.items() if not isinstance(hint, typing.TypeVar)}
    judge(where, module, [f"gradient field {name!r}" for name in own], list(own.values()), [getattr(gradient, name) for name in own])
    read = attrgetter(*paths)
    seen = read(gradient)
    return read, seen


def _signature_paths(path: str, value: Any) -> list[str]:
    return [f"{path}.{part}" for part in ("__class__", "dtype", "shape")] if is_array(value) else [f"{path}.__class__"]
