"""A gradient of the same classes as one that was recorded, with other arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, cast, final

import numpy as np

from typednn.errors import StateError, explain
from typednn.module.gradients import ElementwiseGrad, Gradient
from typednn.plans.recording import Unplannable, View

Keep: TypeAlias = Literal["parameters", "inputs"]
_Make = Callable[[Sequence[Any]], Any]


@final
class Template:
    """The classes of a gradient, and where the arrays of its fields lie (``leaves``)."""

    def __init__(self, grad: Any, view: Callable[[Any], View | None], keep: Keep) -> None:
        self.leaves: list[View] = []
        self._view: Callable[[Any], View | None] = view
        self._keep: Keep = keep
        self._make: _Make = self._maker(grad)
        del self._view  # of a recorder, which keeps arrays

    def made(self, array: Callable[[View], Any]) -> Any:
        """The gradient with the arrays of now."""
        return self._make([array(view) for view in self.leaves])

    def _maker(self, value: Any) -> _Make:
        if isinstance(value, np.ndarray):
            view = self._view(value)
            if view is None:
                raise Unplannable("a derivative is an array that no op computed")
            place = len(self.leaves)
            self.leaves.append(view)
            return lambda arrays: arrays[place]
        if isinstance(value, tuple | list):
            makers = [self._maker(each) for each in cast("Sequence[Any]", value)]
            kind: Any = tuple if isinstance(value, tuple) else list
            return lambda arrays: kind([make(arrays) for make in makers])
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._of_dataclass(value)
        if value is None or isinstance(value, int | float | str):
            return lambda arrays: value
        raise Unplannable(f"a gradient has a {type(value).__name__}, which is neither an array nor a dataclass")

    def _of_dataclass(self, value: Any) -> _Make:
        kind: Any = value.__class__
        is_gradient = issubclass(kind, Gradient)
        later = self._later(value) if is_gradient else None
        drops = later is not None
        makers = [
            (field.name, self._maker(getattr(value, field.name)))
            for field in dataclasses.fields(value)
            if not (drops and field.name == "input")
        ]
        shared = getattr(value, "_shared", None) if is_gradient else None
        new, assign = object.__new__, object.__setattr__

        def make(arrays: Sequence[Any]) -> Any:
            gradient = new(kind)
            for name, maker in makers:
                assign(gradient, name, maker(arrays))
            if drops:
                assign(gradient, "_later", later)
            if shared is not None:
                assign(gradient, "_shared", shared)
            return gradient

        return make

    def _later(self, value: Any) -> Callable[[], Any] | None:
        """What refuses to give the derivative by the input; None where a plan gives it, or where there is none."""
        has = any(field.name == "input" for field in dataclasses.fields(value))
        if not has or value.__inputs__ != ("input",):
            return None
        if self._keep == "inputs":  # what is still put off, its layer can't compute
            return cast("Callable[[], Any]", value._later) if value.is_deferred else None
        if isinstance(value, ElementwiseGrad) and isinstance(cast("Any", value).parameters, tuple):
            return None  # of a chain, whose update reads it
        return _refuse if value.is_deferred or cast("Any", value).input is not None else None


def _refuse() -> Any:
    rule, got = "a plan keeps the derivatives by parameters", "one by the input of a layer"
    cure = 'typednn.compile(model, keep="inputs"), or fit(compile=False)'
    raise StateError(explain("grad.input", rule, got, cure))
