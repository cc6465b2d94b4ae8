"""A gradient of the same classes as one that was recorded, with other arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Literal, TypeAlias, cast, final

import numpy as np

from typednn.errors import StateError, TypednnError, explain
from typednn.module.gradients import ElementwiseGrad, Gradient, Made, named_leaves
from typednn.module.state import Cell
from typednn.module.tree import Node, Use
from typednn.plans.recording import Unplannable, View
from typednn.plans.state import State

Keep: TypeAlias = Literal["parameters", "inputs"]
_Make = Callable[[Sequence[Any]], Any]


@final
class _Made(Made):
    """Of a template's gradient."""

    __slots__ = ("_arrays", "_template")

    def __init__(self, template: Template, arrays: Sequence[Any]) -> None:
        self._template: Template = template
        self._arrays: Sequence[Any] = arrays

    def uses(self, module: Node) -> tuple[list[Use], bool] | None:
        return self._template.used(self._arrays, module)

    def named(self, gradient: Gradient) -> list[tuple[str, Any]]:
        return self._template.named(self._arrays, gradient)

    def changed(self, gradient: Gradient, change: Callable[[Any], Any]) -> Any:
        own = {id(leaf) for _, leaf in self.named(gradient)}
        return self._template.made_of([change(each) if id(each) in own else each for each in self._arrays])


@final
class Template:
    """The classes of a gradient, and where the arrays of its fields lie (``leaves``)."""

    def __init__(self, grad: Any, view: Callable[[Any], View | None], keep: Keep, module: Node, state: State) -> None:
        """``state``: of the ``module``, which the uses of its parameters are known as long as."""
        self.leaves: list[View] = []
        self._view: Callable[[Any], View | None] = view
        self._keep: Keep = keep
        self._places: dict[int, int] = {}  # of arrays of ``grad`` among the leaves
        self._make: _Make = self._maker(grad)
        self._module: Node = module
        self._state: State = state
        self._uses: list[tuple[str, Cell, int, Node]] = []
        self._names: list[tuple[str, int]] = []  # of the derivatives by parameters, each with its place
        if isinstance(grad, Gradient):
            with suppress(TypednnError, KeyError):  # it lacks a part, of which an update tells, or makes new arrays
                uses, self._by_hand = module.uses(grad)
                self._uses = [(path, cell, self._places[id(array)], holder) for path, cell, array, holder in uses]
        del self._view, self._places  # of a recorder, which keeps arrays

    def made_of(self, arrays: Sequence[Any]) -> Any:
        """The gradient of these arrays, one for each of the ``leaves``."""
        gradient = self._make(arrays)
        if self._uses:
            object.__setattr__(gradient, "_made", _Made(self, arrays))
        return gradient

    def used(self, arrays: Sequence[Any], module: Node) -> tuple[list[Use], bool] | None:
        """`Made.uses` of a gradient of these arrays."""
        if module is not self._module or not self._state.holds():
            return None
        return [(path, cell, arrays[place], holder) for path, cell, place, holder in self._uses], self._by_hand

    def named(self, arrays: Sequence[Any], gradient: Gradient) -> list[tuple[str, Any]]:
        """`Made.named` of a gradient of these arrays."""
        if not self._names:
            places = {id(array): place for place, array in enumerate(arrays)}
            self._names = [(name, places[id(leaf)]) for name, leaf in named_leaves(gradient)]
        return [(name, arrays[place]) for name, place in self._names]

    def _maker(self, value: Any) -> _Make:
        if isinstance(value, np.ndarray):
            view = self._view(value)
            if view is None:
                raise Unplannable("a derivative is an array that no op computed")
            place = self._places[id(cast("object", value))] = len(self.leaves)
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
