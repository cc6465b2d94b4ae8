"""What happens around a layer's forward and backward, whoever wrote it; around an update it is
`typednn.module.updates`.

===========  ==============================================================================================
forward      arguments and result are what the annotations promise; the batch is kept; a layer with parameters
             gets its own dtype and device. While training: a second call within one outer forward is
             `LayerReused`, and the signatures of input and output are recorded.
backward     something was recorded, else `NotForwarded`; ``next_grad`` is shaped as the recorded output; every
             field of the gradient is shaped as what it is the derivative of.
===========  ==============================================================================================

The promises are those of the annotations alone: ``grad.input`` is held to forward's ``x``, ``grad.weight`` to the
parameter ``weight``. In mode ``"cached"`` a kind of call seen before costs the comparison of its sizes.

`observing` reports every call in a model.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias, cast, get_args

from jaxtyping import Shaped

from typednn.arrays import AnyArray, device_of, is_array, is_floating, out_of_memory
from typednn.contracts.checks import Contract, Facts, contracted, remembered, shape_of, switch
from typednn.contracts.derivatives import GradientContract, Outermost, Record, backwards
from typednn.contracts.hints import array_hints, is_array_hint
from typednn.engines.halide.rehearsal import Rehearsal, asked
from typednn.errors import (
    CheckError,
    DefinitionError,
    DeviceError,
    DTypeError,
    LayerReused,
    LocatedError,
    TypednnError,
    explain,
)
from typednn.errors.tracebacks import fold
from typednn.module.fields import not_forwarded
from typednn.module.gradients import Gradient, set_shared
from typednn.module.rehearsal import forward_and_backward, is_known
from typednn.module.state import PLACEMENT
from typednn.module.tree import Node

# The batch law of the Protocols, for every layer: whatever the other axes are, the first is kept.
_BATCH_LAW = ((Shaped[AnyArray, "batch *input"],), Shaped[AnyArray, "batch *output"])

# Of a forward, a new object for each; then its model and inputs.
_outer = Outermost()


def _rehearsal() -> Rehearsal | None:
    """How to repeat the outermost forward that runs now, with its backward, if it may be repeated."""
    if not _outer.running:
        return None
    module, inputs = cast("tuple[Node, Any]", _outer.running[1:])
    return (
        partial(forward_and_backward, module, inputs if isinstance(inputs, tuple) else (inputs,))
        if is_known(module)
        else None
    )


asked.append(_rehearsal)


def locate(error: TypednnError | MemoryError, module: Node) -> None:
    """Write the failing layer's path into the error, and fold its traceback; the outermost model does so last.

    A plain `MemoryError` becomes `OutOfMemory`.
    """
    fold(error)
    if not isinstance(error, TypednnError):
        raise out_of_memory(module.label(), str(error) or "no more memory", None, module) from error
    if isinstance(error, LocatedError) and error.owner is not None and error.owner is not module:
        error.path = next((path for path, part in module.named_modules() if part is error.owner), error.path)


def _check_inputs(module: Node, contract: Contract, values: Sequence[Any]) -> None:
    """Ahead of any arithmetic: annotations; then one float dtype and one device per model, for layers that own
    parameters; then sizes.
    """
    module.refuse_undeclared_array()
    contract.check_arguments(module, values)
    for name, value in zip(contract.names, values, strict=True):
        elsewhere = is_array(value) and device_of(value) != module.device
        if module.owns_parameters and (
            elsewhere or (is_array(value) and is_floating(value.dtype) and value.dtype != module.dtype)
        ):
            raise misplaced(module, contract.described(module), name, value)
    module.check_sizes(values)


def misplaced(module: Node, where: str, name: str, value: Any) -> CheckError:
    """The error for an array that is not where the model's arrays are, or not of their dtype."""
    if device_of(value) != module.device:
        rule, cure = f"{name} must be on the model's device {module.device!r}", "move one of them with to(device)"
        return DeviceError(explain(where, rule, repr(device_of(value)), cure), module)
    cure = f"convert one of them: {name}.astype(numpy.{module.dtype}) or model.astype(numpy.{value.dtype})"
    return DTypeError(
        explain(where, f"{name} must have the model's dtype {module.dtype}", str(value.dtype), cure), module
    )


def _check_output(module: Node, contract: Contract, values: Sequence[Any], result: Any) -> None:
    contract.check_result(module, values, result)
    dtype = module.dtype if module.owns_parameters or not is_floating(values[0].dtype) else values[0].dtype
    if is_floating(result.dtype) and result.dtype != dtype:
        raise DTypeError(
            explain(
                contract.described(module),
                f"the result must stay {dtype}",
                str(result.dtype),
                "keep the dtype: Python floats do, NumPy's float64 does not",
            ),
            module,
        )


def _is_further_input(hint: Any) -> bool:
    """An array, or one that may be None, such as a mask."""
    return bool(array_hints(hint)) and all(
        is_array_hint(option) or option is type(None) for option in get_args(hint) or (hint,)
    )


def _reused(module: Node) -> LayerReused:
    rule, got = "a layer holds one forward, for one backward", "a second call within one outer forward"
    cure = "use a second instance, or layer.shared() to share its parameters"
    return LayerReused(explain(f"{module.label()}.forward", rule, got, cure), module)


def _forward_contract(function: Callable[..., Any], owner: type) -> Contract:
    """The promises of a ``forward``; `DefinitionError` where input or output is no array with named axes."""
    contract = Contract(function, f"{owner.__qualname__}.forward")
    if not all(map(is_array_hint, (*contract.hints[:1], contract.result))) or not all(
        map(_is_further_input, contract.hints[1:])
    ):
        raise DefinitionError(
            explain(
                contract.where,
                "inputs and output are arrays with named axes",
                str(function.__annotations__),
                'such as Float[Array2, "batch features"]',
            )
        )
    contract.laws.append(_BATCH_LAW)
    return contract


def enforced_forward(function: Callable[..., Any], owner: type) -> Callable[..., Any]:
    """``forward`` with its promises kept and, while training, its signatures recorded."""
    contract = _forward_contract(function, owner)
    alone = contract.names == ("x",)
    run: Callable[[Any, Any], Any] = function if alone else lambda self, inputs: function(self, *inputs)
    names = ["x"] if alone else [f"x[{place}]" for place in range(len(contract.names))]

    def settled(self: Node, inputs: tuple[Any, ...], output: Any) -> Record:
        """Judge the output; a call that fitted is a kind from now on."""
        _check_output(self, contract, inputs, output)
        before = Facts("self, x")
        if self.owns_parameters:
            placement = self.__typednn_storage__.placement
            before.note(PLACEMENT, placement, "device")
            before.note(f"{PLACEMENT}.precision", placement.precision, "parameters")
        kind = contract.kind(self, inputs, output, names, before)
        state = self.__typednn_calls__
        state.kinds = remembered(state.kinds, kind)
        return kind, tuple(map(shape_of, inputs)), output.shape

    def called(self: Node, x: Any) -> Any:
        """A call with its one input, or with several in a tuple."""
        mode, state = switch.mode, self.__typednn_calls__
        kind: Any = None
        shapes: Any = None
        try:
            if mode == "cached":
                for kind in state.kinds:
                    if shapes := kind.fits(self, x):
                        if kind.shape != shapes[0]:
                            self.check_sizes((x,) if alone else x)
                            kind.shape = shapes[0]
                        break
            if shapes is None and mode != "off":
                _check_inputs(self, contract, (x,) if alone else x)
            training = self.training
            if not training:
                output = run(self, x)
            else:
                state.record = None  # until the forward has ended: what an interrupted one kept is of two batches
                tokens = _outer.running
                if not tokens:
                    state.token = object()
                    tokens += state.token, self, x
                    try:
                        output = run(self, x)
                    finally:
                        tokens.clear()
                else:  # a layer holds one forward, so it may take part in the outermost one once
                    if state.token is tokens[0] and self.__class__.forward is forward:
                        raise _reused(self)
                    state.token = tokens[0]  # which it has already in super().forward(x), a part of this layer's own
                    output = run(self, x)
            record: Record | tuple[()] = ()  # of a forward that ran unchecked: its backward is not checked either
            if shapes and kind.gives(self, shapes, output):
                record = kind, shapes, output.shape
            elif mode != "off":
                record = settled(self, (x,) if alone else x, output)
            if training:
                state.record = record
            if _observers:
                _notify(self, "forward", (x,) if alone else x, output)
        except (TypednnError, MemoryError) as error:
            locate(error, self)
            raise
        return output

    def with_several(self: Node, *inputs: Any, **named: Any) -> Any:
        return called(self, contract.in_order(self, inputs, named))

    forward = contracted(functools.wraps(function)(called if alone else with_several), contract)
    return forward


def enforced_backward(function: Callable[..., Any], owner: type[Node]) -> Callable[..., Any]:
    """``backward`` with ``next_grad`` and every field of the gradient held to what they are derivatives of."""
    gradient = GradientContract(owner, function)

    @functools.wraps(function)
    def backward(self: Node, next_grad: Any) -> Any:
        record, outer = self.__typednn_calls__.record, backwards.running
        try:
            if record is None:
                raise not_forwarded(self)
            mode = switch.mode
            # nothing is known of the forward: gradients are checked when they are made
            if not record and mode != "off":
                result = function(self, next_grad)
            else:
                outer.append(self)
                try:
                    result = (
                        function(self, next_grad)
                        if mode == "off"
                        else gradient.held(self, next_grad, record or None, function)
                    )
                finally:
                    outer.pop()
            if not outer and Gradient in result.__class__.__mro__:
                set_shared(result, self.shared_leaves)  # the outermost gradient asks its model for its shared leaves
            if _observers:
                _notify(self, "backward", (next_grad,), result)
        except (TypednnError, MemoryError) as error:
            locate(error, self)
            raise
        return result

    return contracted(backward, gradient.contract, gradient)


# ------------------------------------------------------------------ observers


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a module in a model that is observed, after it has ended."""

    module: Node
    path: str  # of the module in the model, empty for the model itself
    method: Literal["forward", "backward"]
    inputs: tuple[Any, ...]  # of a backward, ``next_grad``
    result: Any  # the output, or the gradient


Observer: TypeAlias = Callable[[Call], object]

_observers: list[tuple[dict[int, str], Observer]] = []  # the paths of a model's modules, and their observer


@contextmanager
def observing(model: Node, observer: Observer) -> Generator[None]:
    """Call ``observer`` after each forward and backward of ``model`` and of every module in it, inside this context.

    A chain of which a module is observed is computed part by part meanwhile, so that there are calls to observe.
    """
    entry = ({id(module): path for path, module in model.named_modules()}, observer)
    _observers.append(entry)
    try:
        yield
    finally:
        _observers.remove(entry)


def is_observed(module: Node) -> bool:
    """Whether the calls of this module or of a module in it are observed."""
    return bool(_observers) and any(id(part) in paths for _, part in module.named_modules() for paths, _ in _observers)


def _notify(module: Node, method: Literal["forward", "backward"], inputs: tuple[Any, ...], result: Any) -> None:
    for paths, observer in tuple(_observers):
        path = paths.get(id(module))
        if path is not None:
            observer(Call(module, path, method, inputs, result))
