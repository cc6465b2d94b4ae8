"""What every optimizer shares: per-parameter state, groups by name, schedules, and the three meanings of weight decay.

An optimizer meets weights only through a layer's ``update``: ``step(weights, grad)`` writes ``weights`` in place and
nothing else. Its state belongs to the array it stepped; after `bind` it belongs to the parameter's dotted name, can be
saved, and follows the parameter when ``to`` or ``astype`` replaces the array. Steps are counted per parameter.

=============  ======================================  ========================================
l2             eq 46: g + 2·l2·w                       the loss has l2·Σw² added
decay          eq 47: w·(1 - decay) before the step    whatever the learning rate
weight_decay   PyTorch's                               SGD, Adam: g + weight_decay·w;
                                                       AdamW: w·(1 - lr·weight_decay)
=============  ======================================  ========================================
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, ClassVar, Self

import numpy as np
from jaxtyping import Float

from typednn.arguments import number
from typednn.arrays import AnyArray, device_of
from typednn.backends import to_device, to_numpy
from typednn.errors import ArgumentError, StateDictError, StateError, explain
from typednn.module import Module
from typednn.optim.schedule import Schedule, schedule
from typednn.protocols import Optimizer


@dataclass(frozen=True, slots=True)
class Settings:
    """What may differ between groups of parameters."""

    lr: Schedule
    l2: float
    decay: float
    weight_decay: float

    def check(self, where: str) -> "Settings":
        for name in ("l2", "decay", "weight_decay"):
            number(where, name, getattr(self, name), least=0.0)
        given = [name for name in ("l2", "decay", "weight_decay") if getattr(self, name)]
        if len(given) > 1:
            raise ArgumentError(
                explain(where, "takes one meaning of weight decay", " and ".join(given), "l2 is eq 46, decay eq 47, weight_decay PyTorch's")
            )
        return self


@dataclass(frozen=True, slots=True)
class Group:
    """Other settings for the parameters whose dotted name matches ``names``, where ``*`` stands for anything.

    ``Group("*.bias", weight_decay=0.0)``; what is None is as for the others.
    """

    names: str
    lr: float | Schedule | None = None
    l2: float | None = None
    decay: float | None = None
    weight_decay: float | None = None

    def settings(self, where: str, common: Settings) -> Settings:
        """The common settings with this group's own in their place."""
        given = {name: getattr(self, name) for name in ("l2", "decay", "weight_decay") if getattr(self, name) is not None}
        lr = common.lr if self.lr is None else schedule(where, self.lr)
        return replace(common, lr=lr, **given).check(f"{where}, group {self.names!r}")


@dataclass(slots=True)
class ParameterState:
    """What is remembered about one parameter: how often it was stepped, and the optimizer's own arrays.

    ``coupled`` and ``shrink`` are this step's weight decay, for an `apply` that folds it in: g + coupled·w and w·shrink.
    """

    weights: Any
    settings: Settings
    step: int = 0
    arrays: dict[str, Any] = field(default_factory=dict[str, Any])
    coupled: float = 0.0
    shrink: float = 1.0


class GradientOptimizer(Optimizer):
    """Base of the optimizers: derive and write `apply`."""

    # Whether `apply` does the weight decay itself, in the same pass over memory: g + state.coupled·w, then w·state.shrink.
    folds_decay: ClassVar[bool] = False

    def __init_subclass__(cls, **keywords: Any) -> None:
        if "apply" in vars(cls) and "folds_decay" not in vars(cls):
            cls.folds_decay = False  # an `apply` of its own, whatever its base's does
        super().__init_subclass__(**keywords)

    def __init__(
        self,
        lr: float | Schedule,
        *,
        l2: float = 0.0,
        decay: float = 0.0,
        weight_decay: float = 0.0,
        groups: Sequence[Group] = (),
    ) -> None:
        where = type(self).__name__
        self.settings: Settings = Settings(schedule(where, lr), l2, decay, weight_decay).check(where)
        handed: Sequence[object] = groups
        stray = next((group for group in handed if not isinstance(group, Group)), None)
        if stray is not None:
            raise ArgumentError(explain(where, "groups are Group(names, ...)", repr(stray), 'such as Group("*.bias", weight_decay=0.0)'))
        self.groups: tuple[tuple[str, Settings], ...] = tuple((group.names, group.settings(where, self.settings)) for group in groups)
        self._states: dict[int, ParameterState] = {}
        self._model: Module | None = None
        self._named: dict[str, ParameterState] = {}

    @abstractmethod
    def apply(self, state: ParameterState, grad: AnyArray, lr: float) -> None:
        """One step of ``state.weights`` in place; ``state.step`` is 0 at the first."""

    def step(self, weights: Float[AnyArray, "*weights"], grad: Float[AnyArray, "*weights"]) -> None:
        state = self._states.get(id(weights))
        if state is None:
            state = self._new_state(weights)
        settings = state.settings
        lr = settings.lr(state.step)
        if settings.l2 or settings.decay or settings.weight_decay:
            coupled, shrink = self.decay(settings, lr)
            if self.folds_decay:
                state.coupled, state.shrink = coupled, shrink
            else:
                if coupled:
                    grad = grad + coupled * weights
                if shrink != 1:
                    weights *= shrink
        self.apply(state, grad, lr)
        state.step += 1

    def decay(self, settings: Settings, lr: float) -> tuple[float, float]:
        """What this step's weight decay adds to the gradient, times the weights; and what it multiplies the weights by."""
        return 2.0 * settings.l2 + settings.weight_decay, 1.0 - settings.decay

    # ------------------------------------------------------------------ whose state is it

    def bind(self, model: Module) -> Self:
        """Know the model's parameters by name: needed for groups and for saving. Returns the optimizer."""
        names = list(model.parameter_shapes())
        for pattern, _ in self.groups:
            if not any(fnmatchcase(name, pattern) for name in names):
                raise ArgumentError(
                    explain(
                        f"{type(self).__name__}.bind",
                        f"group {pattern!r} must match a parameter",
                        "none that does",
                        f"there are {', '.join(names)}",
                    )
                )
        self._model = model
        self._states = {}
        self._named = {name: ParameterState(None, self._settings_of(name)) for name in names}
        return self

    def _settings_of(self, name: str) -> Settings:
        return next((settings for pattern, settings in self.groups if fnmatchcase(name, pattern)), self.settings)

    def _new_state(self, weights: Any) -> ParameterState:
        """The state of an array not seen before: a new one, or that of the bound parameter which now lives in it."""
        if self._model is None:
            if self.groups:
                raise StateError(
                    explain(type(self).__name__, "groups go by name", "an optimizer bound to no model", "call bind(model) first")
                )
            state = ParameterState(weights, self.settings)
        else:
            name = next((name for name, array in self._model.named_parameters().items() if array is weights), None)
            if name is None:
                raise StateError(
                    explain(
                        type(self).__name__,
                        "steps the parameters of the model it is bound to",
                        "an array of another",
                        "bind(model) to that one",
                    )
                )
            state = self._named[name]
            self._states.pop(id(state.weights), None)
            state.weights = weights
            state.arrays = {key: to_device(array, device_of(weights)).astype(weights.dtype) for key, array in state.arrays.items()}
        self._states[id(weights)] = state
        return state

    # ------------------------------------------------------------------ saving

    def state_dict(self) -> dict[str, Any]:
        """Everything remembered, under ``parameter.key``: arrays by reference, ``parameter.step`` as an int."""
        if self._model is None:
            raise StateError(
                explain(
                    f"{type(self).__name__}.state_dict",
                    "state is saved by name",
                    "an optimizer bound to no model",
                    "call bind(model) first",
                )
            )
        state: dict[str, Any] = {}
        for name, parameter in self._named.items():
            state[f"{name}.step"] = parameter.step
            state |= {f"{name}.{key}": array for key, array in parameter.arrays.items()}
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Copy saved state in; on any misfit nothing is changed."""
        where = f"{type(self).__name__}.load_state_dict"
        if self._model is None:
            raise StateError(explain(where, "state is loaded by name", "an optimizer bound to no model", "call bind(model) first"))
        shapes = self._model.parameter_shapes()
        problems: list[str] = []
        steps: dict[str, int] = {}
        arrays: dict[str, dict[str, Any]] = {name: {} for name in shapes}
        for key, value in state.items():
            name, _, part = key.rpartition(".")
            if name not in shapes:
                problems.append(f"unexpected {key!r}")
            elif part == "step":
                steps[name] = int(value)
            elif part not in self.array_names():
                problems.append(f"unexpected {key!r}")
            elif tuple(value.shape) != shapes[name]:
                problems.append(f"{key!r} has shape {tuple(value.shape)}, the parameter {shapes[name]}")
            else:
                arrays[name][part] = np.array(to_numpy(value))
        problems += [f"missing {name + '.step'!r}" for name in shapes if name not in steps]
        if problems:
            raise StateDictError(explain(where, "state must belong to this optimizer and model", "; ".join(problems)))
        self._states = {}
        self._named = {name: ParameterState(None, self._settings_of(name), steps[name], arrays[name]) for name in shapes}

    def array_names(self) -> tuple[str, ...]:
        """The names of the arrays this optimizer keeps for each parameter."""
        return ()
