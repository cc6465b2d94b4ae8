"""`compile`: a model whose forward and backward are recorded once, and then made as prepared calls.

=============  =======================================================================================================
first call     layer by layer, as without a plan; kernels are compiled
second call    the same, and recorded: each op with its engine, and where its arrays lie
third call     both ways, which must agree to the bit in output, derivatives, buffers and draws
later ones     the plan's calls alone: no checks, no dispatch, no new memory between layers
=============  =======================================================================================================

Each shape and dtype of the input, and training and eval, have a plan of their own. What makes a plan void, such as
another setting of a layer or an array in the place of a weight, is noticed at the next call, which records a new one;
what is written into a weight needs none. What a plan can't have is computed layer by layer, and `Compiled.explain` says
why.
"""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast, final, get_args, overload

import numpy as np

from typednn.arguments import choice
from typednn.contracts.checks import switch
from typednn.contracts.protocols import InputGrad, Optimizer, Part, ValuedLoss, one_pass
from typednn.engines import get_threads
from typednn.engines.counters import observers
from typednn.engines.dispatch import chosen_engine
from typednn.engines.memory import pool
from typednn.engines.precision import is_mixed
from typednn.errors import ArgumentError, NotForwarded, ShapeError, StateError, TypednnError, explain
from typednn.module.calls import is_observed, locate
from typednn.module.module import Module
from typednn.module.running_statistics import meeting_here
from typednn.plans.comparing import buffers_differ, differs, digest, digests, read_inputs
from typednn.plans.gradients import Keep, Template
from typednn.plans.parts import Parts
from typednn.plans.plan import Plan
from typednn.plans.recording import Recorder, Unplannable, View
from typednn.plans.rewriting import Program, rewritten
from typednn.plans.state import State, is_plain, scattered

if TYPE_CHECKING:
    from typednn.plans.explain import Explained

In = TypeVar("In")
Out = TypeVar("Out")
G = TypeVar("G", bound=InputGrad[Any])
Target = TypeVar("Target")

_SHAPES = 16  # of inputs that have plans at once
_MOST = 64  # plans: sizes that change with every call would each be recorded, and forgotten before they come again
_CHANGES = 8  # of a model after which it is not planned any more

# The shape and dtype of the input, whether the model trains, threads, engine, mixed precision.
_Key: TypeAlias = tuple[Any, ...]


@dataclass(slots=True)
class _Planned:
    """What is known of one kind of input: first nothing, then a plan, then that its results are right."""

    x: Any  # an array of this shape and dtype, without memory of its own
    calls: int = 0  # so far, computed layer by layer
    plan: Plan | None = None
    is_right: bool = False
    changes: int = 0  # of the steps, by rules that may fail on other numbers
    refused: str = ""
    state: State | None = None  # of the model when it was recorded

    def holds(self) -> bool:
        """Whether the model is as it was."""
        return self.state is not None and self.state.holds()


@final
class Compiled(Generic[In, Out, G]):
    """``forward`` and ``backward`` of ``model`` as plans: see `compile`."""

    def __init__(
        self, model: Part[In, Out, G], keep: Keep = "parameters", told: Callable[[str], object] | None = None
    ) -> None:
        """``told`` is called with why an input has no plan, or a part of the model is called as a whole; by default
        that is a warning.
        """
        if not isinstance(cast("object", model), Module):
            cure = "derive it from typednn.Layer, or build it of typednn's layers"
            raise ArgumentError(explain("compile", "model is a typednn model", type(model).__name__, cure), "model")
        self.model: Part[In, Out, G] = model
        self._module: Any = model
        self._parts: Parts = Parts(cast("Module", model))
        self.keep: Keep = choice("compile", "keep", keep, get_args(Keep))
        self._rewrites: bool = True
        self._told: Callable[[str], object] = told or _warn
        self.changes: int = 0  # of the model, that made plans void
        self.made: int = 0  # plans
        self._planned: OrderedDict[_Key, _Planned] = OrderedDict()
        self._last: tuple[_Key, Any] = (), None
        self._backward: Callable[[Any], Any] | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"compile({self.model!r})"

    def why_not(self) -> str:
        """Why calls are computed layer by layer, or empty."""
        return next((each.refused for each in self._planned.values() if each.refused), "")

    def explain(self, times: int = 20) -> Explained:
        """What the newest plan computes, step by step: engine, operations, bytes, and the median seconds of ``times``
        runs beside the limit. It makes the plan's calls on what lies in its memory: no number of the model changes, but
        a forward of the plan before it can't be gone back through.
        """
        from typednn.plans.explain import explained

        every = [*self._planned.values()]
        others = tuple(f"no plan: {each.refused}" for each in every if each.refused)
        found = next((each for each in reversed(every) if each.plan is not None), None)
        if found is None or found.plan is None:
            got = others[0] if others else "none"
            cure = "call forward, and in training backward, three times with inputs of one shape"
            raise StateError(explain("Compiled.explain", "tells of a plan", got, cure))
        if isinstance(self._backward, _Backward) and self._backward.plan is found.plan:
            self._backward = None
        before = self._copied_buffers()
        try:
            return explained(self._module, found.plan, found.x, (*self._parts.told(), *others), times)
        finally:
            _put(before)

    # ------------------------------------------------------------------ calls

    def forward(self, x: In) -> Out:
        """The model's output: what ``model.forward(x)`` gives, to the bit."""
        return cast("Out", self._output(x))

    def _output(self, x: Any) -> Any:
        self._backward = None
        if x.__class__ is not np.ndarray or not is_plain(x) or not x.size or not self._may():
            return self._eager(x)
        key = x.shape, x.dtype, self._module.training, get_threads(), chosen_engine(), is_mixed()
        last = self._last  # another thread may set it
        if key != last[0]:
            last = self._last = key, self._known(key, x)
        planned = last[1]
        if planned.refused or not self._lock.acquire(blocking=False):
            return self._eager(x)
        try:
            return self._forward(planned, x)
        except (TypednnError, MemoryError) as error:
            locate(error, self._module)
            raise
        finally:
            self._lock.release()

    def _known(self, key: _Key, x: Any) -> _Planned:
        """What is known of such inputs; those that did not come for longest are forgotten."""
        planned = self._planned.pop(key, None) or _Planned(np.broadcast_to(x.dtype.type(0), x.shape))
        self._planned[key] = planned
        if len(self._planned) > _SHAPES:
            self._planned.popitem(last=False)
        return planned

    def _forward(self, planned: _Planned, x: Any) -> Any:
        plan = planned.plan
        if plan is not None and not planned.holds():
            self.changes += 1
            plan, planned.plan, planned.is_right, planned.calls = None, None, False, 1
            if self.changes >= _CHANGES:
                self._refuse(planned, f"the model changed {self.changes} times between calls")
        if plan is None:
            planned.calls += 1
            if planned.calls < 2 or planned.refused or self.made >= _MOST:  # the first call compiles the kernels
                return self._eager(x)
            return self._recorded(planned, x)
        if not planned.is_right:
            return self._both(planned, plan, x)
        y = plan.forward(x)
        if self._module.training:
            self._module.__typednn_calls__.record = None  # what the layers kept is of another forward
            self._backward = _Backward(planned, plan, y)
        else:
            plan.let_go()
        return y

    def _refuse(self, planned: _Planned, why: str) -> None:
        """From now on such inputs are computed layer by layer, after a try without other steps; each reason is told
        once.
        """
        if planned.plan is not None and planned.changes:
            self._rewrites, planned.plan, planned.changes, planned.calls = False, None, 0, 1
            return
        if all(each.refused != why for each in self._planned.values()):
            self._told(f"layer by layer: {why}")
        planned.refused, planned.plan = why, None

    def backward(self, next_grad: Out) -> G:
        """The gradient of the last `forward`, as `Layer.backward` gives it, of a ``next_grad`` that is C-contiguous and
        aligned: of another a copy. A plan keeps the derivatives by parameters; those by inputs of layers too with
        ``keep="inputs"``.
        """
        backward = self._backward
        if backward is None:
            rule, got = "goes back through a forward", "none in training, or one that has gone back"
            raise NotForwarded(explain("Compiled.backward", rule, got, "call forward first"), self._module)
        self._backward = None
        if next_grad.__class__ is np.ndarray and not is_plain(next_grad):
            next_grad = cast("Out", cast("Any", next_grad).copy())
        return cast("G", backward(next_grad))

    def _may(self) -> bool:
        """Whether nothing asks for calls layer by layer."""
        return (
            not observers
            and switch.mode == "cached"
            and meeting_here() is None
            and not is_observed(self._module)
            and self._module.device == "cpu"
        )

    def _eager(self, x: Any) -> Any:
        y = self._module.forward(x)
        self._backward = self._module.backward if self._module.training else None
        return y

    # ------------------------------------------------------------------ a plan

    def _recorded(self, planned: _Planned, x: Any) -> Any:
        """The output, computed layer by layer, and recorded; the plan is made behind it, or behind its backward."""
        known = self._parts.told()
        if why := self._parts.read() or scattered(self._module):
            self._refuse(planned, why)
            return self._eager(x)
        for each in self._parts.told()[len(known) :]:
            self._told(each)
        state = planned.state = State(self._module, self._parts.inner())
        recorder = Recorder({id(array): array for array in state.arrays if array is not None})
        x = recorder.given(x, "input")
        y: Any = None
        try:
            with recorder.told(), self._parts.watched(recorder):
                y = self._eager(x)
            output = recorder.view(y) if type(y) is np.ndarray else None
            if output is None:
                raise Unplannable(
                    "the output is an array that no op computed: arithmetic of NumPy, such as x + y, is not recorded, "
                    "ops are, such as typednn.kernels.pointwise.add"
                )
            if not self._module.training:
                planned.plan = self._plan(planned, recorder, len(recorder.steps), output, None)
        except Unplannable as error:
            self._failed(planned, recorder, error)
            return y
        if self._module.training:
            self._backward = partial(self._recorded_back, planned, recorder, len(recorder.steps), output)
        return y

    def _recorded_back(self, planned: _Planned, recorder: Recorder, split: int, output: View, next_grad: Any) -> Any:
        grad: Any = None
        if next_grad.__class__ is not np.ndarray:
            return self._module.backward(next_grad)  # an error
        try:
            next_grad = recorder.given(next_grad, "next_grad")
            with recorder.told(), self._parts.watched(recorder):
                grad = self._module.backward(next_grad)
                if self.keep == "inputs":
                    read_inputs(grad)
            assert planned.state is not None
            template = Template(grad, recorder.view, self.keep, self._module, planned.state)
            planned.plan = self._plan(planned, recorder, split, output, template)
        except Unplannable as error:
            self._failed(planned, recorder, error)
        pool.clear()  # of what was computed twice to be recorded
        return grad

    def _failed(self, planned: _Planned, recorder: Recorder, error: Unplannable) -> None:
        """After a recording that gave no plan: the next one calls as a whole the part that computed by NumPy, if it is
        known which.
        """
        if why := self._parts.blamed(recorder):
            planned.calls = 1
            self._told(why)
        else:
            self._refuse(planned, str(error))

    def _plan(self, planned: _Planned, recorder: Recorder, split: int, output: View, template: Template | None) -> Plan:
        if not planned.holds():
            raise Unplannable("a forward changes an attribute of a layer, or replaces an array")
        steps, leaves = recorder.steps, [] if template is None else template.leaves
        program = Program(steps[:split], steps[split:], [output, *leaves])
        program.prune()
        if self._rewrites:
            planned.changes = rewritten(program)
        self.made += 1
        if template is not None:
            template.leaves = program.wanted[1:]
        return Plan(program.steps, len(program.forward), program.wanted[0], template)

    def _both(self, planned: _Planned, plan: Plan, x: Any) -> Any:
        """The output, computed layer by layer; in eval by the plan too, in training behind the backward, when what
        forward kept and the derivatives are gone: so there are never two steps in memory. They must agree to the bit.
        """
        before = self._copied_buffers()
        y = self._eager(x)
        if self._module.training:
            self._backward = partial(self._both_back, planned, plan, before, x, y.shape, digest(y))
            return y
        after = self._copied_buffers()  # a part may be in training
        _put(before)
        try:
            why = differs("the output", plan.forward(x), y) or buffers_differ(after)
        finally:
            plan.let_go()
            _put(after)
        if why:
            self._refuse(planned, why)
        planned.is_right = not why
        return y

    def _both_back(
        self,
        planned: _Planned,
        plan: Plan,
        before: list[tuple[Any, Any]],
        x: Any,
        shape: tuple[int, ...],
        output: bytes,
        next_grad: Any,
    ) -> Any:
        model: Any = self._module
        keeps = self.keep == "inputs"
        expected = digests(model.backward(next_grad), keeps)
        after = self._copied_buffers()
        model.free_cache()
        pool.clear()
        _put(before)
        try:
            y = plan.forward(x)
            why = "" if y.shape == shape and digest(y) == output else "the output of the plan differs from the layers'"
            del y
            grad = plan.backward(next_grad)
            why = why or buffers_differ(after)
            pool.clear()
            if not why and digests(grad, keeps) != expected:
                why = "a derivative of the plan differs from the layers'"
            if why:
                self._refuse(planned, why)
                _put(before)
                model.forward(x)
                grad = model.backward(next_grad)
        finally:
            plan.let_go()
            _put(after)
        planned.is_right = not why
        return grad

    def _copied_buffers(self) -> list[tuple[Any, Any]]:
        """The model's buffers, each with a copy."""
        arrays = (cell.array for *_, cell in self._module.named_fields("buffer"))
        return [(array, array.copy()) for array in arrays if type(array) is np.ndarray]


class _Backward:
    """The backward of a plan's forward."""

    __slots__ = ("plan", "planned", "y")

    def __init__(self, planned: _Planned, plan: Plan, y: Any) -> None:
        self.planned: _Planned = planned
        self.plan: Plan = plan
        self.y: Any = y

    def __call__(self, next_grad: Any) -> Any:
        y = self.y
        if next_grad.__class__ is not np.ndarray or next_grad.shape != y.shape or next_grad.dtype != y.dtype:
            rule = f"next_grad is shaped as forward's output, {y.dtype} {y.shape}"
            is_array = next_grad.__class__ is np.ndarray
            got = f"{next_grad.dtype} {next_grad.shape}" if is_array else next_grad.__class__.__name__
            raise ShapeError(explain("Compiled.backward", rule, got))
        if not self.planned.holds():
            rule, got = "a backward is of the model of its forward", "one that has changed since"
            raise StateError(explain("Compiled.backward", rule, got, "call forward again"))
        grad = self.plan.backward(next_grad)
        self.plan.let_go()
        return grad


def _warn(why: str) -> None:
    warnings.warn(f"typednn.compile: {why}", RuntimeWarning, stacklevel=2)


def _put(arrays: list[tuple[Any, Any]]) -> None:
    for array, numbers in arrays:
        array[...] = numbers


@final
class CompiledStep(Generic[In, Out, Target, G]):
    """A whole step of training: see `compile`. ``compiled`` is its model."""

    def __init__(self, compiled: Compiled[In, Out, G], loss: ValuedLoss[Out, Target], optimizer: Optimizer) -> None:
        self.compiled: Compiled[In, Out, G] = compiled
        self.loss: ValuedLoss[Out, Target] = loss
        self.optimizer: Optimizer = optimizer
        self._one_pass: Callable[[Any, Any, Any], tuple[Any, Any]] | None = one_pass(loss)
        self.grad: G | None = None
        """The gradient of the last step."""

    def __call__(self, x: In, y: Target) -> float:
        """Forward, the loss, backward and update; the loss before the update."""
        model: Any = self.compiled.model
        if not model.training:
            model.train()
        prediction = self.compiled.forward(x)
        both, loss = self._one_pass, self.loss
        value, derivative = (
            (loss.loss(prediction, y), loss.loss_grad(prediction, y)) if both is None else both(loss, prediction, y)
        )
        self.grad = self.compiled.backward(derivative)
        model.update(self.optimizer, self.grad)
        return float(value)


@overload
def compile(model: Part[In, Out, G], *, keep: Keep = "parameters") -> Compiled[In, Out, G]: ...
@overload
def compile(
    model: Part[In, Out, G], loss: ValuedLoss[Out, Target], optimizer: Optimizer, *, keep: Keep = "parameters"
) -> CompiledStep[In, Out, Target, G]: ...
def compile(model: Any, loss: Any = None, optimizer: Any = None, *, keep: Keep = "parameters") -> Any:
    """``model`` with a `forward` and a `backward` that are recorded once and then made as prepared calls; with ``loss``
    and ``optimizer`` a whole step of training.

    >>> import numpy as np, typednn
    >>> from typednn.models import lenet5
    >>> model = lenet5(rng=np.random.default_rng(0)).eval()
    >>> fast = typednn.compile(model)
    >>> fast.forward(np.zeros((1, 28, 28, 1), np.float32)).shape
    (1, 10)

    Results have the bits of the layers. ``keep="inputs"``: gradients also have the derivatives by the inputs of layers,
    which a plan otherwise leaves out. Costs: the memory of one more step while the third call is computed both ways.
    """
    compiled: Compiled[Any, Any, Any] = Compiled(model, keep)
    if loss is None and optimizer is None:
        return compiled
    if loss is None or optimizer is None:
        got, cure = "a loss alone" if optimizer is None else "an optimizer alone", "give both, or the model alone"
        raise ArgumentError(explain("compile", "a whole step has a loss and an optimizer", got, cure), "optimizer")
    return CompiledStep(compiled, loss, optimizer)
