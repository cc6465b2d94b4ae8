"""What happens around a layer's forward and backward, whoever wrote it; around an update it is `typednn.updates`.

===========  ==============================================================================================
forward      arguments and result are what the annotations promise; the batch is kept; a layer with parameters
             gets its own dtype and device. While training: a second call within one outer forward is
             `LayerReused`, and the signatures of input and output are recorded.
backward     something was recorded, else `NotForwarded`; ``next_grad`` is shaped as the recorded output; every
             field of the gradient is shaped as what it is the derivative of.
===========  ==============================================================================================

The promises are those of the annotations alone: ``grad.input`` is held to forward's ``x``, ``grad.weight`` to the
parameter ``weight``. In mode ``"cached"`` a signature seen before costs one look-up.
"""

# A module's bookkeeping (_record, _token) is written here and in module.py, and nowhere else.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, get_args

from jaxtyping import Shaped

from typednn.arrays import AnyArray, device_of, is_array, is_floating, out_of_memory
from typednn.checks import Contract, array_hints, is_array_hint, judge, remember, signature, size_getter, switch
from typednn.derivatives import GradientContract, Record, check_derivative, check_gradient, checked_backward
from typednn.errors import DefinitionError, DeviceError, DTypeError, LayerReused, LocatedError, OutOfMemory, explain
from typednn.fields import not_forwarded
from typednn.gradients import Gradient, set_shared

if TYPE_CHECKING:
    from typednn.module import Module

# The batch law of the Protocols, for every layer: whatever the other axes are, the first is kept.
_BATCH_IN = Shaped[AnyArray, "batch *input"]
_BATCH_OUT = Shaped[AnyArray, "batch *output"]


# The record of a forward that ran unchecked: its backward is not checked either.
UNCHECKED = Record((), None)


class _OuterForward(threading.local):
    """The outermost forward that runs in this thread; a new object for each."""

    token: object = None


_outer = _OuterForward()


def locate(error: LocatedError, module: Module) -> None:
    """Write the failing layer's path into the error; the outermost model has the last word."""
    if error.owner is not None and error.owner is not module:
        path = module.path_of(error.owner)
        if path:
            error.path = path


def _check_inputs(module: Module, contract: Contract, values: Sequence[Any]) -> None:
    """Annotations first; then one float dtype and one device per model, for layers that own parameters."""
    module.refuse_undeclared_array()
    contract.check_arguments(module, values)
    if not module.owns_parameters:
        return
    where = contract.described(module)
    for name, value in zip(contract.names, values, strict=True):
        if is_array(value):
            if is_floating(value.dtype) and value.dtype != module.dtype:
                raise DTypeError(
                    explain(
                        where,
                        f"{name} must have the model's dtype {module.dtype}",
                        str(value.dtype),
                        f"convert one of them: {name}.astype(numpy.{module.dtype}) or model.astype(numpy.{value.dtype})",
                    ),
                    module,
                )
            if device_of(value) != module.device:
                raise DeviceError(
                    explain(
                        where,
                        f"{name} must be on the model's device {module.device!r}",
                        repr(device_of(value)),
                        "move one of them with to(device)",
                    ),
                    module,
                )


def _check_output(module: Module, contract: Contract, values: Sequence[Any], result: Any) -> None:
    contract.check_result(module, values, result)
    where = contract.described(module)
    arrays = [value for value in values if is_array(value)]
    judge(where, module, ["x", "the result"], [_BATCH_IN, _BATCH_OUT], [arrays[0], result])
    wanted = module.dtype if module.owns_parameters or not is_floating(arrays[0].dtype) else arrays[0].dtype
    if is_floating(result.dtype) and result.dtype != wanted:
        raise DTypeError(
            explain(
                where, f"the result must stay {wanted}", str(result.dtype), "keep the dtype: Python floats do, NumPy's float64 does not"
            ),
            module,
        )


def _is_further_input(hint: Any) -> bool:
    """An array, or one that may be None, such as a mask."""
    return bool(array_hints(hint)) and all(is_array_hint(option) or option is type(None) for option in get_args(hint) or (hint,))


def enforced_forward(function: Callable[..., Any], owner: type) -> Callable[..., Any]:
    """``forward`` with its promises kept and, while training, its signatures recorded."""
    contract = Contract(function, f"{owner.__qualname__}.forward")
    if not all(map(is_array_hint, (*contract.hints[:1], contract.result))) or not all(map(_is_further_input, contract.hints[1:])):
        raise DefinitionError(
            explain(
                contract.where,
                "inputs and output are arrays with named axes",
                str(function.__annotations__),
                'such as Float[Array2, "batch features"]',
            )
        )
    parameters = inspect.signature(function)
    read_sizes = size_getter((*contract.hints, contract.result), ("_placement.dtype", "_placement.device"))

    def judged(self: Module, inputs: tuple[Any, ...], key: Any) -> Any:
        """A call whose verdict is not known."""
        _check_inputs(self, contract, inputs)
        self.check_sizes(inputs)
        output = _held(self, function, inputs, forward) if self.training else function(self, *inputs)
        settle(self, inputs, key, output)
        return output

    def settle(self: Module, inputs: tuple[Any, ...], key: Any, output: Any) -> None:
        """Judge the output and remember the verdict; per instance, as a stack's sizes are its parts'."""
        _check_output(self, contract, inputs, output)
        record = Record(tuple(map(_signature, inputs)), signature(output))
        remember(self._verdicts, key, record)
        if self.training:
            self._record = record

    def several(self: Module, *inputs: Any, **named: Any) -> Any:
        """Any number of inputs, by position or by name."""
        if named or len(inputs) != len(contract.names):
            bound = parameters.bind(self, *inputs, **named)
            bound.apply_defaults()
            inputs = bound.args[1:]
        mode = switch.mode
        try:
            known = UNCHECKED
            key: Any = None
            if mode != "off":
                key = (read_sizes(self), *map(_signature, inputs))
                try:
                    verdict = self._verdicts.get(key) if mode == "cached" else None
                except TypeError:
                    raise _unhashable(self, contract) from None
                if verdict is None:
                    return judged(self, inputs, key)
                known = verdict
            output = _held(self, function, inputs, forward) if self.training else function(self, *inputs)
            if self.training:
                self._record = known
            if mode != "off" and _signature(output) != known.output:
                settle(self, inputs, key, output)
            return output
        except LocatedError as error:
            locate(error, self)
            raise
        except MemoryError as error:
            raise _no_room(self, error) from error

    def one(self: Module, x: Any) -> Any:
        """One input: the same as ``several``, and quick where the verdict is known."""
        known: Record | None = None
        key: Any = None
        mode = switch.mode
        try:
            if mode == "cached":
                try:
                    key = (read_sizes(self), x.__class__, x.dtype, x.shape)
                    known = self._verdicts.get(key)
                except AttributeError:  # not an array
                    return several(self, x)
                except TypeError:
                    raise _unhashable(self, contract) from None
                if known is None:
                    return judged(self, (x,), key)
            elif mode != "off":
                return several(self, x)
            if not self.training:
                output = function(self, x)
            else:
                self._record = None  # until the forward has ended: what an interrupted one kept is of two batches
                token = _outer.token
                if token is None:
                    _outer.token = self._token = object()
                    try:
                        output = function(self, x)
                    finally:
                        _outer.token = None
                elif self._token is token:
                    if self.__class__.forward is forward:
                        raise _reused(self)
                    output = function(self, x)  # super().forward(x), a part of this layer's own
                else:
                    self._token = token
                    output = function(self, x)
                self._record = known or UNCHECKED
            if known is not None:
                try:
                    if (output.__class__, output.dtype, output.shape) == known.output:
                        return output
                except AttributeError:
                    pass
                settle(self, (x,), key, output)
        except LocatedError as error:
            locate(error, self)
            raise
        except MemoryError as error:
            raise _no_room(self, error) from error
        return output

    forward = functools.wraps(function)(one if contract.names == ("x",) else several)
    forward.__typednn_contract__ = contract  # type: ignore[attr-defined]
    return forward


def _unhashable(module: Module, contract: Contract) -> DefinitionError:
    rule = "sizes in braces are integers or tuples of them"
    return DefinitionError(explain(contract.described(module), rule, "a list or another that can change", "use a tuple"))


def _signature(value: Any) -> Any:
    return signature(value) if is_array(value) else value.__class__


def _held(module: Module, function: Callable[..., Any], inputs: Sequence[Any], forward: Callable[..., Any]) -> Any:
    """Run a training forward as part of the outermost one; a layer holds one forward, so it may take part once."""
    module._record = None  # until the forward has ended: what an interrupted one kept is of two batches
    token = _outer.token
    if token is not None:
        if module._token is token:
            if module.__class__.forward is forward:
                raise _reused(module)
            return function(module, *inputs)  # super().forward(x), a part of this layer's own
        module._token = token
        return function(module, *inputs)
    _outer.token = module._token = object()
    try:
        return function(module, *inputs)
    finally:
        _outer.token = None


def _no_room(module: Module, error: MemoryError) -> OutOfMemory:
    """The error of a call that ran out of memory, in the innermost layer."""
    return out_of_memory(module.label(), str(error) or "no more memory", None, module)


def _reused(module: Module) -> LayerReused:
    return LayerReused(
        explain(
            f"{module.label()}.forward",
            "a layer holds one forward, for one backward",
            "a second call within one outer forward",
            "use a second instance, or layer.shared() to share its parameters",
        ),
        module,
    )


def enforced_backward(function: Callable[..., Any], owner: type[Module]) -> Callable[..., Any]:
    """``backward`` with ``next_grad`` and every field of the gradient held to what they are derivatives of."""
    gradient = GradientContract(owner, function)
    contract = gradient.contract

    @functools.wraps(function)
    def backward(self: Module, next_grad: Any) -> Any:
        record = self._record
        try:
            if record is None:
                raise not_forwarded(self)
            mode = switch.mode
            if mode == "off" or record is UNCHECKED:
                return _owned(self, function(self, next_grad))
            known = record.gradient if mode == "cached" else None
            if known is not None:
                try:
                    if (next_grad.__class__, next_grad.dtype, next_grad.shape) != record.output:
                        known = None
                except AttributeError:
                    known = None
            if known is None:
                _check_next_grad(self, contract, next_grad, record)
            if checked_backward.runs:
                result = function(self, next_grad)
            else:
                checked_backward.runs = True
                try:
                    result = _owned(self, function(self, next_grad))
                finally:
                    checked_backward.runs = False
            if known is not None:
                try:
                    if known[0](result) == known[1]:
                        return result
                except AttributeError:
                    pass
            record.gradient = check_gradient(self, gradient, next_grad, result, record.inputs)
            return result
        except LocatedError as error:
            locate(error, self)
            raise
        except MemoryError as error:
            raise _no_room(self, error) from error

    backward.__typednn_contract__ = contract  # type: ignore[attr-defined]
    backward.__typednn_gradient__ = gradient  # type: ignore[attr-defined]
    return backward


def _owned(module: Module, gradient: Any) -> Any:
    """The gradient of an outermost backward, which from now on asks ``module`` for its shared leaves."""
    if Gradient in gradient.__class__.__mro__:
        set_shared(gradient, module.shared_leaves)
    return gradient


def _check_next_grad(module: Module, contract: Contract, next_grad: Any, record: Record) -> None:
    contract.check_arguments(module, [next_grad])
    check_derivative(f"{module.label()}.backward", module, contract.names[0], next_grad, record.output or (), "forward's output")
