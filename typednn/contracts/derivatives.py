"""What a gradient promises: a derivative for each input and parameter, where that one is, of its dtype and shape.

Decided from the annotations when a class with a backward is defined (`GradientContract`), held to arrays when a
backward or an update is judged.
"""

import dataclasses
import threading
from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from jaxtyping import Shaped

from typednn import shapes
from typednn.arrays import AnyArray, is_array, is_floating
from typednn.contracts.checks import Contract, Facts, Kind, contract_of, judge, signature, switch
from typednn.contracts.hints import array_hints, check_hint
from typednn.errors import CheckError, DefinitionError, DeviceError, DTypeError, ShapeError, explain

# One object: beartype remembers every annotation that it has judged by, so one made at each judgement would fill the
# memory.
ANY_ARRAY: Any = Shaped[AnyArray, "..."]


class Outermost(threading.local):
    """``running`` is empty unless a call of one kind runs in this thread; its first element stands for
    the outermost.
    """

    def __init__(self) -> None:
        self.running: list[object] = []


# The backwards that run in this thread, the outermost first. They check the gradients that are made in them, so that
# none is checked twice.
backwards: Outermost = Outermost()


# What a backward is held to: the kind of the forward before it, the shapes of that one's inputs and of its output.
Record: TypeAlias = tuple[Kind, tuple[Any, ...], tuple[int, ...]]


def gradient_fields(gradient_type: Any, where: str, rule: str = "must return a gradient dataclass") -> dict[str, Any]:
    """The fields of a gradient dataclass with resolved annotations; `DefinitionError` where there are none."""
    origin = get_origin(gradient_type) or gradient_type
    # InputGrad[Array2] promises its input alone
    if getattr(origin, "_is_protocol", False) and "input" in origin.__annotations__:
        kind: Any = next(iter(get_args(gradient_type)), None)
        rank: int | None = getattr(kind, "rank", None)
        return {
            "input": ANY_ARRAY | None
            if not rank
            else Shaped[kind, " ".join(["batch", *map("input_{}".format, range(1, rank))])]
        }
    if not dataclasses.is_dataclass(origin):
        raise DefinitionError(explain(where, rule, str(gradient_type), "derive one from Gradient"))
    try:
        hints = get_type_hints(origin, include_extras=True)
    except NameError as error:
        raise DefinitionError(
            explain(str(origin), "every field's annotation must be resolvable at run time", str(error))
        ) from None
    owner = getattr(origin, "__qualname__", str(origin))
    return {field.name: check_hint(f"{owner}.{field.name}", hints[field.name]) for field in dataclasses.fields(origin)}


class GradientType:
    """The fields of a gradient as its class annotates them; a type variable stands for a gradient of which nothing is
    known.
    """

    def __init__(self, hint: Any, where: str, rule: str = "must return a gradient dataclass") -> None:
        self.type: Any = get_origin(hint) or hint
        self.known: bool = not isinstance(hint, TypeVar)
        self.fields: dict[str, Any] = gradient_fields(hint, where, rule) if self.known else {}
        self.inputs: tuple[str, ...] = getattr(self.type, "__inputs__", ("input",))
        self.defers: bool = getattr(self.type, "__defers__", True)  # whether ``input`` may be computed when it is read

    def check_held(self, where: str, instance: Any, gradient: Any, facts: Facts) -> None:
        """Hold the derivatives that are named after arrays of ``instance`` to these."""
        for name in self.fields:
            if name in self.inputs:
                continue
            derivative, array = getattr(gradient, name), getattr(instance, name, None)
            facts.note(f"gradient.{name}", derivative)
            if is_array(array):
                check_derivative(
                    where, instance, f"gradient field {name!r}", derivative, signature(array), f"self.{name}"
                )
                facts.note(f"self.{name}", array)
                facts.same(f"self.{name}.shape", f"gradient.{name}.shape")

    def check_annotations(self, where: str, instance: Any, gradient: Any, facts: Facts) -> None:
        """Every field is what its annotation says, all in one scope; a field that holds an array has one that names
        axes.
        """
        waits = self.inputs if getattr(gradient, "is_deferred", False) else ()  # to look at them would compute them
        hints = {
            name: hint for name, hint in self.fields.items() if not isinstance(hint, TypeVar) and name not in waits
        }
        values = [getattr(gradient, name) for name in hints]
        for (name, hint), value in zip(hints.items(), values, strict=True):
            if is_array(value) and not array_hints(hint):
                rule, cure = (
                    "a field that holds an array names its axes",
                    'annotate it, such as Float[Array1, " features"]',
                )
                raise DefinitionError(explain(f"{self.type.__qualname__}.{name}", rule, str(hint), cure))
            facts.note(f"gradient.{name}", value)
        judge(where, instance, [f"gradient field {name!r}" for name in hints], list(hints.values()), values)
        facts.scope([f"gradient.{name}.shape" for name in hints], list(hints.values()), values)


class GradientContract(GradientType):
    """What each field of the gradient that a ``backward`` returns is the derivative of; decided when the class is
    defined.
    """

    def __init__(self, owner: type, function: Callable[..., Any]) -> None:
        where = f"{owner.__qualname__}.backward"
        self.contract: Contract = Contract(function, where)
        super().__init__(self.contract.result, where)
        self.defers: bool = self.defers or bool(getattr(function, "defers", False))
        if not self.known:
            return
        forward = contract_of(owner, "forward")
        if forward is not None and len(self.inputs) != len(forward.names):
            raise DefinitionError(
                explain(
                    where,
                    f"{self.type.__qualname__} must name a derivative by each of {', '.join(forward.names)}",
                    ", ".join(self.inputs),
                )
            )
        for name, hint in zip(
            self.inputs, [ANY_ARRAY] * len(self.inputs) if forward is None else forward.hints, strict=True
        ):
            self._require_input(where, name, hint)
        if not getattr(owner, "gradient_prefix", ""):
            for name, field in getattr(owner, "learnt", ()):
                self._require(where, name, field.hint, "parameter")

    def held(self, instance: Any, next_grad: Any, record: Record | None, run: Callable[[Any, Any], Any]) -> Any:
        """The gradient that ``run`` gives; it and ``next_grad`` are held to what they are derivatives of, as far as
        ``record`` says.
        """
        kind, shapes_in, shape = record or (None, None, None)
        known: Kind | None = kind.gradient if kind is not None and switch.mode == "cached" else None
        if known is None or not known.fits(instance, next_grad, shape):
            known = None
            self.contract.check_arguments(instance, [next_grad])
            if kind is not None:
                where = self.contract.described(instance)
                check_derivative(
                    where, instance, self.contract.names[0], next_grad, (*kind.output, shape), "forward's output"
                )
        gradient = run(instance, next_grad)
        deferred: bool = self.defers and getattr(
            gradient, "is_deferred", False
        )  # then the comparison must not read ``input``, or it would be computed
        if known is None or known.deferred != deferred or not known.gives(instance, gradient, shapes_in):
            facts = self._checked(instance, next_grad, gradient, record)
            if kind is not None:
                before = Facts("self, next_grad, shape")
                before.note("next_grad", next_grad)
                before.same("shape", "next_grad.shape")
                for hints, _ in self.contract.laws:
                    before.scope(["next_grad.shape"], hints, [next_grad])
                kind.gradient = Kind(before.compiled(), facts.compiled(), (), None, deferred=deferred)
        return gradient

    def _checked(self, instance: Any, next_grad: Any, gradient: Any, record: Record | None) -> Facts:
        """Hold every field to its quantity; gives what that was decided by."""
        facts = Facts("self, gradient, inputs")
        # then ``input`` is computed when it is read, and not looked at here
        deferred: bool = getattr(gradient, "is_deferred", False)
        facts.note("gradient", gradient, "__class__", *("is_deferred",) * deferred)
        where = self.contract.described(instance)
        self.contract.check_result(instance, [next_grad], gradient)
        forward = contract_of(instance.__class__, "forward")

        # each derivative by an input, with its name and what forward says of that input
        judged: list[tuple[str, Any, Any]] = []
        for place, field in enumerate(() if deferred else self.inputs):
            name, derivative = f"gradient field {field!r}", getattr(gradient, field)
            facts.note(f"gradient.{field}", derivative)
            if record is None:
                if self.fields.get(field) in (None, type(None)):
                    continue
                judge(where, instance, [name], [ANY_ARRAY], [derivative])
            else:
                of_input = record[0].inputs[place]
                if of_input is None or not is_floating(of_input[1]):
                    if derivative is not None:
                        rule = f"an input of {of_input and of_input[1]} has no derivative: {name} must be None"
                        raise DTypeError(explain(where, rule, type(derivative).__name__), instance)
                    continue
                check_derivative(where, instance, name, derivative, (*of_input, record[1][place]), "the input")
                facts.same(f"inputs[{place}]", f"gradient.{field}.shape")
            judged.append((name, ANY_ARRAY if forward is None else forward.hints[place], derivative))
        judged.append(("next_grad", self.contract.hints[0] if forward is None else forward.result, next_grad))
        judge(where, instance, *zip(*judged, strict=True))

        if hasattr(instance.__class__, "learnt"):
            _check_declared(where, instance, gradient, facts)
        else:
            self.check_held(where, instance, gradient, facts)
        self.check_annotations(where, instance, gradient, facts)
        return facts

    def _require(self, where: str, name: str, quantity: Any, kind: str) -> None:
        """The gradient has a field of that name, with as many axes as what it is the derivative of."""
        if name not in self.fields:
            rule = f"{self.type.__qualname__} must have a field {name!r}: the derivative by that {kind}"
            raise DefinitionError(explain(where, rule, ", ".join(self.fields)))
        axes = array_hints(quantity)[0].dim_str.strip()
        for hint in array_hints(self.fields[name]):
            rank, written = shapes.rank(axes), shapes.rank(hint.dim_str)
            if None not in (rank, written) and written != rank:
                rule = f"the derivative by that {kind} has its {rank} axes, {axes!r}"
                raise DefinitionError(
                    explain(f"{self.type.__qualname__}.{name}", rule, f"{written}, {hint.dim_str.strip()!r}")
                )

    def _require_input(self, where: str, name: str, quantity: Any) -> None:
        """The derivative by an input is annotated: an array with named axes, a variable for one, or None."""
        self._require(where, name, quantity, "input")
        hint = self.fields[name]
        if not (isinstance(hint, TypeVar) or hint in (None, type(None)) or array_hints(hint)):
            rule, got = "the derivative by an input is an array with named axes", getattr(hint, "__name__", str(hint))
            raise DefinitionError(
                explain(f"{self.type.__qualname__}.{name}", rule, got, 'such as Float[Array2, "batch features"]')
            )


def check_derivative(where: str, module: Any, name: str, derivative: Any, quantity: tuple[Any, ...], what: str) -> None:
    """A derivative is an array, with the device, dtype and shape of what it is the derivative of; ``quantity`` is that
    one's signature.
    """
    judge(where, module, [name], [ANY_ARRAY], [derivative])
    array_type, dtype, shape = quantity
    if tuple(derivative.shape) != tuple(shape):
        raise ShapeError(
            explain(where, f"{name} must be shaped as {what}, {tuple(shape)}", f"shape {tuple(derivative.shape)}"),
            module,
        )
    if derivative.dtype != dtype:
        raise DTypeError(
            explain(
                where,
                f"{name} must have the dtype of {what}, {dtype}",
                str(derivative.dtype),
                f"convert it with .astype(numpy.{dtype})",
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


def _check_declared(where: str, module: Any, gradient: Any, facts: Facts) -> None:
    """Hold the derivatives by a layer's declared parameters to these."""
    kind = module.__class__
    for field, declared in kind.learnt:
        name, path = f"gradient field {field!r}", kind.gradient_prefix + field
        derivative = attrgetter(path)(gradient)
        facts.note(f"gradient.{path}", derivative)
        if not declared.absent(module):
            judge(where, module, [name], [declared.hint], [derivative])
            check_derivative(where, module, name, derivative, signature(getattr(module, field)), f"parameter {field!r}")
            facts.same(f"{declared.place}.shape", f"gradient.{path}.shape")
        elif derivative is not None:
            raise ShapeError(
                explain(where, f"{name} must be None, as this layer has no {field}", type(derivative).__name__), module
            )


def check_optimizer(where: str, instance: Any, optimizer: Any) -> None:
    """Refuse the class where one of its instances is meant: it has a ``step`` too."""
    if isinstance(optimizer, type):
        got, cure = f"the class {optimizer.__name__}", f"write {optimizer.__name__}(...)"
        raise CheckError(explain(where, "optimizer must be an Optimizer", got, cure), instance)
