"""Parts of a model that a plan calls as a whole, as what their lines do may be another each time.

These are the layers whose ``forward`` or ``backward`` has a line that no plan may leave out (`typednn.plans.code`), and
those that compute by NumPy between ops. While a step is recorded, `Parts.watched` puts itself before the calls of a
user's layers: such a part's call is recorded like an op that runs by Python. Of the other layers it finds those whose
results no op computed: from the next recording on these are called as a whole.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast, final

import numpy as np

from typednn.kernels.op import Op
from typednn.module.gradients import Gradient, with_fields
from typednn.module.module import Module
from typednn.plans.code import is_ours, unplannable
from typednn.plans.comparing import read_inputs
from typednn.plans.recording import Recorder


@final
class Parts:
    """Which parts of ``model`` are called as a whole, each with why."""

    def __init__(self, model: Module) -> None:
        self.model: Module = model
        self._why: dict[int, str] = {}  # by the part's identity

    def read(self) -> str:
        """Read the code of every part. Why the model itself has no plan, or empty."""
        if why := unplannable(self.model):
            return why
        for part in self._outermost():
            if id(part) not in self._why and (why := unplannable(part)):
                self._why[id(part)] = why
        return ""

    def blamed(self, recorder: Recorder) -> str:
        """What to say of the part that computed by NumPy in the recording that failed; empty where none is known."""
        if recorder.found is None:
            return ""
        part, why = recorder.found
        self._why[part] = why
        return self.told()[-1]

    def told(self) -> list[str]:
        """What to say of each."""
        names = {id(part): path for path, part in self.model.named_modules()}
        return [f'"{names[part]}" is called as a whole: {why}' for part, why in self._why.items() if part in names]

    def inner(self) -> set[int]:
        """The identities of these parts and of all within them, on whose attributes a plan does not rest."""
        return {
            id(each)
            for _, part in self.model.named_modules()
            if id(part) in self._why
            for _, each in part.named_modules()
        }

    def _outermost(self) -> Iterator[Module]:
        """The parts that are in none that is called as a whole."""
        within: set[int] = set()
        for _, part in self.model.named_modules():
            if id(part) not in within and part is not self.model:
                yield part
            if id(part) in self._why:
                within |= {id(each) for _, each in part.named_modules()}

    # ------------------------------------------------------------------ while a step is recorded

    @contextmanager
    def watched(self, recorder: Recorder) -> Generator[None]:
        """Within this block the calls of a user's layers are recorded, or their results looked at."""
        shadowed: list[Module] = []
        try:
            for part in self._outermost():
                if id(part) in self._why:
                    calls = recorder.parts.get(id(part)) or recorder.parts.setdefault(
                        id(part), _recorded(recorder, part)
                    )
                elif not is_ours(type(part)):
                    calls = _looked_at(recorder, part, "forward"), _looked_at(recorder, part, "backward")
                else:
                    continue
                vars(part).update(forward=calls[0], backward=calls[1])
                shadowed.append(part)
            yield
        finally:
            for part in shadowed:
                del vars(part)["forward"], vars(part)["backward"]


def _looked_at(recorder: Recorder, part: Any, method: str) -> Callable[..., Any]:
    """Calls of ``part``, which is found where what it was given was known, and what it gives is not."""
    function = getattr(part, method)

    def called(*inputs: Any, **named: Any) -> Any:
        knew = not recorder.why and not any(_has_unknown(recorder, each) for each in (*inputs, *named.values()))
        result = function(*inputs, **named)
        if knew and recorder.found is None and (recorder.why or _has_unknown(recorder, result)):
            what = f"{type(part).__name__}.{method} computes by NumPy, which is not recorded"
            recorder.found = id(part), recorder.why or what
        return result

    return called


def _recorded(recorder: Recorder, part: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Calls of ``part`` that are recorded as a whole."""
    name, forward, backward = part.label().partition("(")[0], part.forward, part.backward
    given: list[Any] = []  # what the part may keep until its backward, so that its memory has to stay

    def forward_again(*inputs: Any) -> Any:
        return _own(forward(*inputs), inputs)

    def backward_again(next_grad: Any, *kept: Any) -> Any:
        gradient = backward(next_grad)
        read_inputs(gradient)
        return tuple(_own(each, (next_grad, *kept)) for each in _arrays(gradient))

    ops = [
        Op(f"{name}.{method}", run, (), _no_flops, "", None, "", ())
        for method, run in (("forward", forward_again), ("backward", backward_again))
    ]

    def forward_once(*inputs: Any, **named: Any) -> Any:
        if named:
            recorder.refuse(f"{part.label()} is given {', '.join(named)} by name")
            return forward(*inputs, **named)
        with recorder.off():
            y = forward_again(*inputs)
        given[:] = inputs
        recorder.whole(ops[0], inputs, (y,))
        return y

    def backward_once(next_grad: Any) -> Any:
        with recorder.off():
            gradient = backward(next_grad)
            read_inputs(gradient)
            gradient = _owned(gradient, (next_grad, *given))
        if not dataclasses.is_dataclass(gradient):
            recorder.refuse(f"the gradient of {part.label()} is a {type(gradient).__name__}, which is no dataclass")
        recorder.whole(ops[1], (next_grad, *given), tuple(_arrays(gradient)))
        return gradient

    return forward_once, backward_once


def _no_flops(*_: object) -> int:
    """Of what is not known."""
    return 0


def _own(array: Any, given: Sequence[Any]) -> Any:
    """``array`` as plans read arrays: C-contiguous, and in memory of its own."""
    shares = any(type(each) is np.ndarray and np.may_share_memory(array, each) for each in given)
    return array.copy() if shares else np.ascontiguousarray(array)


def _fields(value: Any) -> dict[str, Any]:
    """Of a gradient, without an input that is still put off, which its layer can't compute."""
    deferred = isinstance(value, Gradient) and value.is_deferred
    names = [each.name for each in dataclasses.fields(cast("Any", value))]
    return {name: getattr(value, name) for name in names if not (deferred and name == "input")}


def _arrays(value: Any) -> Iterator[Any]:
    """All arrays of a gradient, in order."""
    if type(value) is np.ndarray:
        yield value
    elif isinstance(value, tuple | list):
        for each in cast("Sequence[Any]", value):
            yield from _arrays(each)
    elif dataclasses.is_dataclass(value):
        for each in _fields(value).values():
            yield from _arrays(each)


def _owned(value: Any, given: Sequence[Any]) -> Any:
    """A gradient whose arrays are its `_own`."""
    if type(value) is np.ndarray:
        return _own(value, given)
    if isinstance(value, tuple | list):
        kind: Any = tuple if isinstance(value, tuple) else list
        return kind([_owned(each, given) for each in cast("Sequence[Any]", value)])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return with_fields(value, {name: _owned(each, given) for name, each in _fields(value).items()})
    return cast("object", value)


def _has_unknown(recorder: Recorder, result: Any) -> bool:
    """Whether an array, or one in a field of a gradient, is one that no op computed."""
    arrays = _fields(result).values() if dataclasses.is_dataclass(result) else (result,)
    return any(type(each) is np.ndarray and recorder.view(each) is None for each in arrays)
