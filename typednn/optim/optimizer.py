"""What every optimizer shares: per-parameter state, groups by name, schedules, and the three meanings of weight decay.

An optimizer gets weights only through a layer's ``update``: ``step(weights, grad)`` writes ``weights`` in place and
nothing else. Its state belongs to the array that it stepped; after `bind` it belongs to the parameter's dotted name,
can be saved, and follows the parameter when ``to`` or ``astype`` replaces the array. Steps are counted per parameter.

Copied or pickled together with its model, an optimizer belongs to that copy; ``copy.copy(optimizer)`` is another one
for the same model, with moments of its own. A copy refuses to step parameters of any other model.

=============  ======================================  ========================================
l2             eq 46: g + 2·l2·w                       the loss has l2·Σw² added
decay          eq 47: w·(1 - decay) before the step    whatever the learning rate
weight_decay   PyTorch's                               g + weight_decay·w;
                                                       AdamW, Lion: w·(1 - lr·weight_decay)
=============  ======================================  ========================================
"""

import copy
import inspect
import math
from abc import abstractmethod
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from jaxtyping import Float

from typednn.arguments import number
from typednn.arrays import AnyArray, device_of
from typednn.backends import to_device
from typednn.contracts.checks import switch
from typednn.contracts.protocols import Optimizer
from typednn.errors import ArgumentError, StateDictError, StateError, explain, listed
from typednn.kernels.pointwise import add_scaled, scaled, shrunk
from typednn.module.module import Module
from typednn.optim import saved
from typednn.optim.ema import EMA, average, averaging, put
from typednn.optim.parameter_state import ParameterState
from typednn.optim.schedule import ConstantLR, Schedule, Watching, schedule
from typednn.optim.settings import Group, Settings, completing
from typednn.screen import as_call


class GradientOptimizer(Optimizer):
    """Base of the optimizers: derive and write `apply`."""

    # Whether `apply` does the weight decay itself, in the same pass over memory: g + state.coupled·w, then
    # w·state.shrink. With ``maximize`` it then gets lr and state.coupled negated. As the step for -g is that for g
    # turned round, with running means of the other sign, this is the step for -g to the bit.
    folds_decay: ClassVar[bool] = False
    # Whether a number's step needs no other number of its parameter, so that slices of it can be stepped apart.
    elementwise: ClassVar[bool] = False
    # Settings of a derived class that are numbers from 0, each below this one; those that are True or False; and those
    # that are said when the optimizer is built, as groups are.
    limits: ClassVar[Mapping[str, float]] = {}
    switches: ClassVar[frozenset[str]] = frozenset({"maximize"})
    fixed: ClassVar[frozenset[str]] = frozenset()

    settings: Settings  # of every parameter that is in no group
    groups: tuple[tuple[str, Settings], ...]

    def __init_subclass__(cls, **keywords: Any) -> None:
        for name in {"folds_decay", "elementwise"} - vars(cls).keys() if "apply" in vars(cls) else ():
            setattr(cls, name, False)  # its own `apply` decides, not its base's
        setattr(cls, "__init__", completing(cls.__init__))  # noqa: B010  # to checkers, a constructor is no variable
        super().__init_subclass__(**keywords)

    def __init__(
        self,
        lr: float | Schedule,
        *,
        l2: float = 0.0,
        decay: float = 0.0,
        weight_decay: float = 0.0,
        maximize: bool = False,
        ema: float | EMA | None = None,
        groups: Sequence[Group] = (),
    ) -> None:
        where = type(self).__name__
        common = Settings(schedule(where, lr), l2, decay, weight_decay).check(where)
        given: object = groups
        wrong = [each for each in given if not isinstance(each, Group)] if isinstance(given, Sequence) else [given]
        if wrong:
            cure = 'such as [Group("*.bias", weight_decay=0.0)]'
            raise ArgumentError(
                explain(where, "groups are a list of Group(names, ...)", repr(wrong[0]), cure), "groups"
            )
        self._groups: tuple[Group, ...] = tuple(groups)
        self.maximize: bool = maximize
        self.ema: float | EMA | None = ema
        self._ema: EMA | None = averaging(where, ema)
        self._rated: int = -1  # the step whose learning rates have been checked
        self._set: set[str] = set()  # the arguments that were set after construction
        self._states: dict[int, ParameterState] = {}
        self._model: Module | None = None
        self._named: dict[str, ParameterState] = {}
        self._copied: bool = False
        self._revision: int = 0  # grows whenever a setting is set
        self._configure(common)

    # ------------------------------------------------------------------ settings

    @property
    def lr(self) -> float | Schedule:
        """The rate, a number or a schedule. Setting it replaces either, for all parameters whose group has no rate of
        its own.
        """
        rate = self.settings.lr
        return rate.lr if isinstance(rate, ConstantLR) else rate

    @lr.setter
    def lr(self, rate: float | Schedule) -> None:
        self._configure(replace(self.settings, lr=schedule(type(self).__name__, rate)))

    def __repr__(self) -> str:
        known = {**vars(self), **{each.name: getattr(self.settings, each.name) for each in fields(self.settings)}}
        known |= {"lr": self.lr, "groups": self._groups}
        given = inspect.signature(type(self).__init__).parameters.items()
        shown = {n: known[n] for n, each in given if n == "lr" or (n in known and known[n] != each.default)}
        return as_call(type(self).__name__, shown)

    @property
    def steps(self) -> int:
        """The number of steps so far, from which schedules count; the largest number where parameters differ."""
        return max((state.step for state in (*self._states.values(), *self._named.values())), default=0)

    def _configure(self, common: Settings) -> None:
        """Give every parameter, including those stepped before, these settings or its group's."""
        groups = tuple((group.names, group.settings(type(self).__name__, common)) for group in self._groups)
        vars(self).update(settings=common, groups=groups, _rated=-1)
        for state in self._states.values():
            state.settings = common
        for name, state in self._named.items():
            state.settings = self._settings_of(name)

    def checked(self, name: str, value: Any) -> Any:
        """``value`` as the attribute ``name``, in the constructor and whenever it is set; `ArgumentError` where it
        cannot be that.

        Derive to check the settings of your own optimizer.
        """
        where = type(self).__name__
        if name in self.limits:
            value = number(where, name, value, least=0.0, below=self.limits[name])
        if name in self.switches and not isinstance(value, bool):
            raise ArgumentError(explain(where, f"{name} is True or False", repr(value)), name)
        if "_complete" not in vars(self) or name.startswith("_"):
            return value
        if name in _FIXED | self.fixed:
            raise ArgumentError(
                explain(
                    where,
                    f"{name} is said when the optimizer is built",
                    "a value set later",
                    f"build another {where}; lr can be set",
                ),
                name,
            )
        member = getattr(type(self), name, None)
        replaced = isinstance(member, property) or (member is not None and callable(member) == callable(value))
        if name not in vars(self) and not replaced:
            known = sorted({"lr", *(name for name in vars(self) if not name.startswith("_"))} - _FIXED - self.fixed)
            raise ArgumentError(explain(where, f"what can be set is {', '.join(known)}", repr(name)))
        return value

    if not TYPE_CHECKING:  # hidden from type checkers: they would allow attributes of any name

        def __setattr__(self, name, value):
            object.__setattr__(self, name, self.checked(name, value))
            if "_complete" in self.__dict__:
                self._set.add(name)
                self.__dict__["_revision"] += 1

    @abstractmethod
    def apply(self, state: ParameterState, grad: AnyArray, lr: float) -> None:
        """One step of ``state.weights`` in place; ``state.step`` is 0 at the first."""

    def step(self, weights: Float[AnyArray, "*weights"], grad: Float[AnyArray, "*weights"]) -> None:
        self._step_all(((weights, grad),))

    def step_many(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        """`step` of each ``(weights, grad)``, in order. New parameters and arrays that may not fit go through `step`,
        which checks.
        """
        if (
            switch.mode != "full"
            # a derived class may have a step of its own
            and getattr(self.step, "__func__", None) is GradientOptimizer.step
            and all(
                id(weights) in self._states
                and grad.__class__ is weights.__class__
                and grad.shape == weights.shape
                and grad.dtype == weights.dtype
                for weights, grad in pairs
            )
        ):
            self._step_all(pairs)
        else:
            for weights, grad in pairs:
                self.step(weights, grad)

    def _step_all(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        """Each step in order; rate and decay are computed once for equal settings and steps."""
        settings, step, lr, coupled, shrink, ema = None, -1, 0.0, 0.0, 1.0, self._ema
        for weights, grad in pairs:
            state = self._states.get(id(weights)) or self._new_state(weights)
            if state.settings is not settings or state.step != step:
                if state.settings.frozen:
                    continue
                settings, step = state.settings, state.step
                if step != self._rated:
                    self._rate(step)
                lr = float(settings.lr(step))
                coupled, shrink = (
                    self.decay(settings, lr) if settings.l2 or settings.decay or settings.weight_decay else (0.0, 1.0)
                )
                if self.maximize and self.folds_decay:
                    lr, coupled = -lr, -coupled
            if self.folds_decay:
                state.coupled, state.shrink = coupled, shrink
            else:
                if self.maximize:
                    grad = scaled(grad, -1.0)
                if coupled:
                    grad = add_scaled(grad, weights, coupled)
                if shrink != 1:
                    shrunk(weights, shrink)
            self.apply(state, grad, lr)
            if ema is not None:
                average(state.arrays, weights, ema(state.step))
            state.step += 1

    def _rate(self, step: int) -> None:
        """Refuse an invalid learning rate of any group before the first parameter is written."""
        every = (self.settings, *[own for _, own in self.groups]) if self.groups else (self.settings,)
        for settings in every:
            lr = settings.lr(step)
            if lr.__class__ is not float or not 0.0 <= lr < math.inf:
                number(
                    f"{type(self).__name__}, step {step}", "the schedule's learning rate", lr, least=0.0, argument="lr"
                )
        self.__dict__["_rated"] = step  # not through `checked`, as this runs at every step

    def _watching(self) -> dict[str, Watching]:
        """The schedules that watch a metric, by their key in saved state."""
        rates: dict[str, Schedule] = {"lr": self.settings.lr}
        rates |= {
            f"groups.{place}.lr": own.lr for place, (_, own) in enumerate(self.groups) if own.lr is not self.settings.lr
        }
        return {key: rate for key, rate in rates.items() if isinstance(rate, Watching)}

    def watched(self) -> list[str]:
        """The metrics that schedules watch."""
        return list(dict.fromkeys(rate.metric for rate in self._watching().values()))

    def observe(self, metrics: Mapping[str, float]) -> None:
        """Tell the schedules that watch a metric its newest value, as `fit` does after each evaluation:
        ``observe({"loss": 0.1})``.
        """
        for rate in {id(each): each for each in self._watching().values()}.values():
            if rate.metric not in metrics:
                rule = f"{type(rate).__name__} watches one of {', '.join(map(repr, metrics)) or 'no metrics'}"
                raise ArgumentError(explain(f"{type(self).__name__}.observe", rule, repr(rate.metric)), "metric")
            rate.observe(metrics[rate.metric])

    def averages(self) -> dict[str, Any]:
        """With ``ema``, the average of each parameter that was stepped, by name and by reference."""
        self._follow(self._bound(".averages", "averages go by name"))
        return {name: state.arrays["ema"] for name, state in self._named.items() if "ema" in state.arrays}

    @contextmanager
    def averaged(self) -> Generator[None]:
        """In this block the model has the averaged weights: ``with optimizer.averaged(): evaluate(model, x)``."""
        model = self._bound(".averages", "averages go by name")
        before = put(model, self.averages())
        try:
            yield
        finally:
            put(model, before)

    def decay(self, settings: Settings, lr: float) -> tuple[float, float]:
        """This step's weight decay: the factor of the weights in the gradient, and the factor that weights are
        multiplied by.
        """
        return 2.0 * settings.l2 + settings.weight_decay, 1.0 - settings.decay

    # ------------------------------------------------------------------ parameters and their state

    def bind(self, model: Module) -> Self:
        """Take the names of the model's parameters, for groups and for saving. Existing state is kept. Returns the
        optimizer.
        """
        names = list(model.parameter_shapes())
        for pattern, _ in self.groups:
            if not any(fnmatchcase(name, pattern) for name in names):
                raise ArgumentError(
                    explain(
                        f"{type(self).__name__}.bind",
                        f"group {pattern!r} must match a parameter",
                        "none that does",
                        f"there are {listed(names)}",
                    ),
                    "names",
                )
        kept = self._kept_in(model)
        self._named = {name: kept.get(name) or ParameterState(None, self.settings) for name in names}
        self._model = model
        self._states = {id(state.weights): state for state in kept.values() if state.weights is not None}
        self._configure(self.settings)
        return self

    def _bound(self, method: str, rule: str) -> Module:
        """The model that this optimizer is bound to; where there is none, a `StateError` with the ``rule``."""
        if self._model is None:
            where, cure = f"{type(self).__name__}{method}", "call bind(model) first"
            raise StateError(explain(where, rule, "an optimizer bound to no model", cure))
        return self._model

    def _kept_in(self, model: Module) -> dict[str, ParameterState]:
        """The state of the parameters of ``model`` by name; `StateError` if some of it belongs to another model."""
        if model is self._model:
            return self._named
        if self._model is not None and self.steps:
            self._follow(self._model)
        stepped = [state for state in self._states.values() if state.step]
        names = {id(array): name for name, array in model.named_parameters().items()} if stepped else {}
        missing = sum(id(state.weights) not in names for state in stepped)
        if missing:
            raise StateError(
                explain(
                    f"{type(self).__name__}.bind",
                    "an optimizer keeps to the parameters that it has stepped",
                    f"a model without {missing} of these {len(stepped)}",
                    "bind a new optimizer to this model; load_state_dict lets it go on from another's state_dict",
                )
            )
        return {names[id(state.weights)]: state for state in stepped}

    def _settings_of(self, name: str) -> Settings:
        return next((settings for pattern, settings in self.groups if fnmatchcase(name, pattern)), self.settings)

    def _new_state(self, weights: Any) -> ParameterState:
        """The state of an array not seen before: a new one, or that of the bound parameter which now lives in it."""
        where = type(self).__name__
        if self._model is None:
            if self.groups:
                self._bound("", "groups go by name")
            if self._copied:
                raise StateError(
                    explain(
                        where,
                        "a copied optimizer steps the arrays that were copied with it",
                        "another array",
                        "copy both at once, copy.deepcopy((model, optimizer)); one more for the same model is "
                        "copy.copy(optimizer); "
                        "for parameters that were never stepped, call bind(model)",
                    )
                )
            if any(
                type(known.weights) is not type(weights) or known.weights.dtype != weights.dtype
                for known in self._states.values()
            ):
                rule = "an optimizer bound to no model knows a parameter by its array"
                cure = "call bind(model) before to or astype, or build another optimizer"
                raise StateError(explain(where, rule, "one of another dtype or device than those before", cure))
            self._states[id(weights)] = ParameterState(weights, self.settings)
        else:
            self._follow(self._model)
            if id(weights) not in self._states:
                cure = "bind(model) to that one"
                if any(state.step for state in self._named.values()):
                    cure = (
                        "copy both at once, copy.deepcopy((model, optimizer)); a new optimizer can load this one's "
                        "state_dict"
                    )
                raise StateError(
                    explain(where, "steps the parameters of the model it is bound to", "an array of another", cure)
                )
        return self._states[id(weights)]

    def _follow(self, model: Module) -> None:
        """Each named state belongs to the array in which its parameter lives now."""
        weights = model.named_parameters()
        moved = {
            name: state for name, state in self._named.items() if name in weights and weights[name] is not state.weights
        }
        for name, state in moved.items():
            if any(array.shape != weights[name].shape for array in state.arrays.values()):
                rule = f"{name!r} keeps the shape that it was stepped with"
                got, cure = f"shape {tuple(weights[name].shape)}", "bind a new optimizer to the changed model"
                raise StateError(explain(type(self).__name__, rule, got, cure))
        for name, state in moved.items():
            now = weights[name]
            own = np.result_type(now.dtype, np.float32)
            state.arrays = {key: to_device(array, device_of(now)).astype(own) for key, array in state.arrays.items()}
            state.prepared = None
            state.weights = now  # last: after an error, the next call moves the rest
        self._states = {id(state.weights): state for state in self._named.values() if state.weights is not None}

    # ------------------------------------------------------------------ copying

    def __copy__(self) -> Self:
        """Another optimizer for the same model, which continues from here with moments of its own."""
        shared: list[Any] = [self._model, *(state.weights for state in self._states.values())]
        copied = copy.deepcopy(self, {id(shared_object): shared_object for shared_object in shared})
        copied._copied = self._copied
        return copied

    def __getstate__(self) -> dict[str, Any]:
        # State is kept by the address of an array, which a copy changes.
        return vars(self) | {"_states": list(self._states.values())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        states = {id(parameter.weights): parameter for parameter in state["_states"]}
        vars(self).update(state | {"_states": states, "_copied": bool(states)})

    # ------------------------------------------------------------------ saving

    def state_dict(self) -> dict[str, Any]:
        """The whole state, under ``parameter.key``: arrays by reference, ``parameter.step`` as an int; then settings
        that were changed.
        """
        self._bound(".state_dict", "state is saved by name")
        state: dict[str, Any] = {}
        for name, parameter in self._named.items():
            state[f"{name}.step"] = parameter.step
            state |= {f"{name}.{key}": array for key, array in parameter.arrays.items()}
        changed = {name: getattr(self, name) for name in sorted(self._set & self._arguments())}
        return state | saved.settings(changed) | saved.rates(self._watching())

    def _arguments(self) -> set[str]:
        """The constructor's arguments that can be set later."""
        return set(inspect.signature(type(self).__init__).parameters) - _FIXED - self.fixed

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Copy saved state in; on any misfit nothing is changed."""
        where = f"{type(self).__name__}.load_state_dict"
        model = self._bound(".load_state_dict", "state is loaded by name")
        if not isinstance(cast("object", state), Mapping):
            raise StateDictError(explain(where, "takes what state_dict gives", type(state).__name__))
        shapes = model.parameter_shapes()
        kinds = (*self.array_names(), *(("ema",) if self._ema is not None else ()))
        problems: list[str] = []
        trial = type(self).__new__(type(self))  # the same settings, of no parameter
        vars(trial).update(vars(self), _states={}, _named={}, _set=set())
        settings = saved.read_settings(
            where,
            state,
            {name: getattr(self, name) for name in self._arguments() if hasattr(self, name)},
            trial,
            problems,
        )
        rates = saved.read_rates(where, state, trial._watching(), problems)
        others = {*settings, *(f"{key}.{name}" for key, values in rates.items() for name in values)}
        state = {key: value for key, value in state.items() if key not in others}
        steps, arrays = saved.read_arrays(where, state, shapes, kinds, problems)
        if problems:
            raise StateDictError(
                explain(where, "state must belong to this optimizer and model", listed(problems, "; "))
            )
        self.hand_over(model, {name: (steps[name], arrays[name]) for name in shapes})
        for name, value in settings.items():
            setattr(self, name, value)
        for key, rate in self._watching().items():
            rate.load_state_dict(rates[key])

    def kept(self) -> dict[str, tuple[int, dict[str, Any]]]:
        """Of each parameter by its name the number of its steps, and the arrays, by reference."""
        self._follow(self._bound(".kept", "state is kept by name"))
        return {name: (state.step, state.arrays) for name, state in self._named.items()}

    def hand_over(self, model: Module, kept: Mapping[str, tuple[int, dict[str, Any]]]) -> None:
        """Go on with the parameters of another ``model``, with these steps and arrays; those left out begin anew."""
        self._model, self._states = model, {}
        self._named = {
            name: ParameterState(None, self._settings_of(name), *kept.get(name, (0, {})))
            for name in model.parameter_shapes()
        }

    def array_names(self) -> tuple[str, ...]:
        """The names of the arrays this optimizer keeps for each parameter, from its first step on; ``ema`` is the
        weights' average.
        """
        return ()


# What only the constructor takes: groups start from the common settings.
_FIXED = frozenset({"settings", "groups", "l2", "decay", "weight_decay", "maximize", "ema"})
