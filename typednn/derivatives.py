"""What a gradient promises: a derivative for each input and parameter, where that one is, of its dtype and shape.

Decided from the annotations when a class with a backward is defined (`GradientContract`), held to arrays when a backward or
an update is judged.
"""

from __future__ import annotations

import dataclasses
import threading
import typing
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from jaxtyping import Shaped

from typednn import shapes
from typednn.arrays import AnyArray, is_array, is_floating
from typednn.checks import Contract, array_hints, check_hint, judge, signature
from typednn.errors import CheckError, DefinitionError, DeviceError, DTypeError, ShapeError, explain

# One object: beartype remembers every annotation that it has judged by, so one made at each judgement would fill the memory.
ANY_ARRAY: Any = Shaped[AnyArray, "..."]


class _CheckedBackward(threading.local):
    """Whether this thread is in a backward whose gradient is checked when it returns: none is checked twice."""

    runs: bool = False


checked_backward: _CheckedBackward = _CheckedBackward()


class Record:
    """The signatures of one kind of forward, and the verdict on the gradient that belongs to it."""

    __slots__ = ("gradient", "inputs", "output")

    def __init__(self, inputs: tuple[Any, ...], output: tuple[Any, ...] | None) -> None:
        self.inputs: tuple[Any, ...] = inputs
        self.output: tuple[Any, ...] | None = output
        self.gradient: tuple[Callable[[Any], Any], Any] | None = None  # how to read a gradient's signatures, and what they must be


def gradient_fields(gradient_type: Any, where: str, rule: str = "must return a gradient dataclass") -> dict[str, Any]:
    """The fields of a gradient dataclass with resolved annotations; `DefinitionError` where there are none."""
    origin = typing.get_origin(gradient_type) or gradient_type
    if getattr(origin, "_is_protocol", False) and "input" in origin.__annotations__:  # InputGrad[Array2] promises its input alone
        kind: Any = next(iter(typing.get_args(gradient_type)), None)
        rank: int | None = getattr(kind, "rank", None)
        return {"input": ANY_ARRAY | None if not rank else Shaped[kind, " ".join(["batch", *map("input_{}".format, range(1, rank))])]}
    if dataclasses.is_dataclass(origin):
        names = [field.name for field in dataclasses.fields(origin)]
    else:
        raise DefinitionError(explain(where, rule, str(gradient_type), "derive one from Gradient"))
    try:
        hints = typing.get_type_hints(origin, include_extras=True)
    except NameError as error:
        raise DefinitionError(explain(str(origin), "every field's annotation must be resolvable at run time", str(error))) from None
    return {name: check_hint(f"{getattr(origin, '__qualname__', origin)}.{name}", hints[name]) for name in names}


class GradientType:
    """The fields of a gradient as its class annotates them; a type variable stands for a gradient of which nothing is known."""

    def __init__(self, hint: Any, where: str, rule: str = "must return a gradient dataclass") -> None:
        self.type: Any = typing.get_origin(hint) or hint
        self.known: bool = not isinstance(hint, typing.TypeVar)
        self.fields: dict[str, Any] = gradient_fields(hint, where, rule) if self.known else {}
        self.inputs: tuple[str, ...] = getattr(self.type, "__inputs__", ("input",))
        self.deferred: tuple[str, ...] = getattr(self.type, "__deferred__", ())

    def check_held(self, where: str, instance: Any, gradient: Any) -> list[str]:
        """Hold the derivatives that are named after arrays of ``instance`` to these; returns what was read."""
        paths: list[str] = []
        for name in self.fields:
            if name in self.inputs:
                continue
            derivative, array = getattr(gradient, name), getattr(instance, name, None)
            if is_array(array):
                judge(where, instance, [f"gradient field {name!r}"], [ANY_ARRAY], [derivative])
                check_derivative(where, instance, f"gradient field {name!r}", derivative, signature(array), f"self.{name}")
            paths += _signature_paths(name, derivative)
        return paths

    def check_annotations(self, where: str, instance: Any, gradient: Any) -> None:
        """Every field is what its annotation says, all in one scope; a field that holds an array has one that names axes."""
        own = {name: hint for name, hint in self.fields.items() if not isinstance(hint, typing.TypeVar) and name not in self.deferred}
        values = [getattr(gradient, name) for name in own]
        for (name, hint), value in zip(own.items(), values, strict=True):
            if is_array(value) and not array_hints(hint):
                rule, cure = "a field that holds an array names its axes", 'annotate it, such as Float[Array1, " features"]'
                raise DefinitionError(explain(f"{self.type.__qualname__}.{name}", rule, str(hint), cure))
        judge(where, instance, [f"gradient field {name!r}" for name in own], list(own.values()), values)


class GradientContract(GradientType):
    """What each field of the gradient that a ``backward`` returns is the derivative of; decided when the class is defined."""

    def __init__(self, owner: type, function: Callable[..., Any]) -> None:
        where = f"{owner.__qualname__}.backward"
        self.contract: Contract = Contract(function, where)
        super().__init__(self.contract.result, where)
        if not self.known:
            return
        forward = getattr(getattr(owner, "forward", None), "__typednn_contract__", None)
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
        for name in self.inputs:
            self._require_axes(where, name)
        if not getattr(owner, "gradient_prefix", ""):
            for name, field in getattr(owner, "learnt", ()):
                self._require(where, name, field.hint, "parameter")

    def _require(self, where: str, name: str, quantity: Any, kind: str) -> None:
        """The gradient has a field of that name, with as many axes as what it is the derivative of."""
        self._require_field(where, name, kind)
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

    def _require_field(self, where: str, name: str, kind: str) -> None:
        if name not in self.fields:
            rule = f"{self.type.__qualname__} must have a field {name!r}: the derivative by that {kind}"
            raise DefinitionError(explain(where, rule, ", ".join(self.fields)))

    def _require_axes(self, where: str, name: str) -> None:
        """The derivative by an input is annotated: an array with named axes, a variable for one, or None."""
        self._require_field(where, name, "input")
        hint = self.fields[name]
        if not (isinstance(hint, typing.TypeVar) or hint in (None, type(None)) or array_hints(hint)):
            rule = "the derivative by an input is an array with named axes"
            got = getattr(hint, "__name__", str(hint))
            raise DefinitionError(explain(f"{self.type.__qualname__}.{name}", rule, got, 'such as Float[Array2, "batch features"]'))


def check_derivative(where: str, module: Any, name: str, derivative: Any, quantity: tuple[Any, ...], what: str) -> None:
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
    instance: Any, promise: GradientContract, next_grad: Any, gradient: Any, inputs: tuple[Any, ...] | None
) -> tuple[Callable[[Any], Any], Any]:
    """Hold every field to its quantity; ``inputs`` are the signatures of forward's, None where no forward is known.

    Returns how to read the signatures that decided, and what they were.
    """
    contract = promise.contract
    where = contract.described(instance)
    contract.check_result(instance, [next_grad], gradient)
    forward = getattr(getattr(instance.__class__, "forward", None), "__typednn_contract__", None)

    paths = ["__class__"]
    names: list[str] = []
    hints: list[Any] = []
    values: list[Any] = []
    for place, field in enumerate(promise.inputs):
        if field in promise.deferred:
            continue
        derivative = getattr(gradient, field)
        quantity = None if inputs is None else inputs[place]
        kind: Any = None if quantity in (None, type(None)) else quantity[1]  # of an input that is None, its class alone is known
        if quantity is not None and (kind is None or not is_floating(kind)):
            if derivative is not None:
                rule = f"an input of {kind} has no derivative: gradient field {field!r} must be None"
                raise DTypeError(explain(where, rule, type(derivative).__name__), instance)
        elif quantity is not None or promise.fields.get(field) not in (None, type(None)):
            names.append(f"gradient field {field!r}")
            hints.append(ANY_ARRAY if forward is None else forward.hints[place])
            values.append(derivative)
            judge(where, instance, names[-1:], [ANY_ARRAY], [derivative])
            if quantity is not None:
                check_derivative(where, instance, names[-1], derivative, quantity, "the input")
        paths += _signature_paths(field, derivative)
    judge(where, instance, [*names, "next_grad"], [*hints, contract.hints[0] if forward is None else forward.result], [*values, next_grad])

    if hasattr(instance, "own_parameters"):
        paths += _check_declared(where, instance, gradient)
    else:
        paths += promise.check_held(where, instance, gradient)
    promise.check_annotations(where, instance, gradient)
    read = attrgetter(*paths)
    seen = read(gradient)
    return read, seen


def _check_declared(where: str, module: Any, gradient: Any) -> list[str]:
    """Hold the derivatives by a layer's declared parameters to these; returns what was read."""
    paths: list[str] = []
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
    return paths


def check_optimizer(where: str, instance: Any, optimizer: Any) -> None:
    """Refuse the class where one of its instances is meant: it has a ``step`` too."""
    if isinstance(optimizer, type):
        name = optimizer.__name__
        raise CheckError(explain(where, "optimizer must be an Optimizer", f"the class {name}", f"write {name}(...)"), instance)


def _signature_paths(path: str, value: Any) -> list[str]:
    return [f"{path}.{part}" for part in ("__class__", "dtype", "shape")] if is_array(value) else [f"{path}.__class__"]
