"""Module: everything that follows from walking a layer's fields (`typednn.module.tree`).

A layer is plain data: parameters, buffers, kept values and sublayers, each declared in the class body
(`typednn.module.fields`). From the walk over them, in the order of declaration, come names, counts, gradients, saved
state, initialisation, devices, printing and the default ``update``: for hand-written models and stacks alike.
Constructors take sizes and allocate nothing.
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import methodcaller
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import numpy.typing as npt

from typednn import hooks
from typednn.arrays import AnyArray, Precision, is_floating, out_of_memory, refuse_beyond_memory
from typednn.backends import select, to_device, to_numpy
from typednn.contracts.checks import enforced
from typednn.contracts.protocols import Enforced
from typednn.errors import ArgumentError, LocatedError, StateDictError, explain, listed
from typednn.errors.habits import value_cure
from typednn.module import calls, delegation, printing, sharing, updates
from typednn.module.fields import StoredField
from typednn.module.state import CallState, Cell, Placement, Storage
from typednn.module.tree import Node, modules_in, summed
from typednn.random import Fans, Initialiser, KaimingUniform, Rng, Zeros, initialiser
from typednn.screen import screen_width

# What a model computes in: those that every op and every file format knows.
DTYPES = tuple(map(np.dtype, (np.float16, np.float32, np.float64)))
_FLOAT32 = Precision.of(np.dtype(np.float32))


class Module(Node, Enforced):
    """Base of everything that has a forward and a backward; derive from one of `typednn.layer`'s."""

    if TYPE_CHECKING:  # every node of the tree is a module

        def children(self) -> Iterator[tuple[str, Module]]: ...

        def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]: ...

    else:  # checkers must look at the constructors that layers write, not at this
        __array_ufunc__ = None  # NumPy's operators leave `x >> model` to the model, which says what is wrong

        def __new__(cls, *args, **kwargs):
            self = super().__new__(cls)
            self.__typednn_storage__ = Storage((args, kwargs), Placement(_FLOAT32, "cpu"))
            self.__typednn_calls__ = CallState()
            return self

    @classmethod
    def wrap_method(cls, name: str, function: Callable[..., Any]) -> Any:
        wrap: dict[str, Any] = {
            "forward": calls.enforced_forward,
            "backward": calls.enforced_backward,
            "update": updates.enforced_update,
        }
        return wrap.get(name, enforced)(function, cls)

    def named_fields(self, *kinds: str) -> Iterator[tuple[str, Module, StoredField, Cell]]:
        """Every stored field of the given kinds once, under its first name: shared cells are not repeated."""
        seen: set[int] = set()
        for path, module in self.named_modules():
            for name, field in module.stored_fields():
                cell = field.cell(module)
                if field.kind in kinds and id(cell) not in seen:
                    seen.add(id(cell))
                    yield (f"{path}.{name}" if path else name), module, field, cell

    # ------------------------------------------------------------------ parameters and their gradients

    def named_parameters(self) -> dict[str, AnyArray]:
        """Every parameter by dotted name, by reference; a shared one once, under its first name."""
        own = {path: getattr(module, field.name) for path, module, field, _ in self.named_fields("parameter")}
        return own | delegation.ask_names(self, "named_parameters")

    def parameters(self) -> list[AnyArray]:
        """Every parameter, by reference, in the order of declaration."""
        return list(self.named_parameters().values())

    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every parameter; allocates nothing."""
        foreign = delegation.ask_names(self, "named_parameters")
        return self.own_shapes() | {path: tuple(array.shape) for path, array in foreign.items()}

    def own_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every parameter that is declared here or below, without those of parts that keep theirs to
        themselves.
        """
        return {path: field.shape(module) for path, module, field, _ in self.named_fields("parameter")}

    def num_parameters(self) -> int:
        """How many numbers the model learns, shared ones counted once; allocates nothing."""
        own = sum(math.prod(shape) for shape in self.own_shapes().values())
        return own + sum(int(count) for _, count in delegation.ask(self, "num_parameters"))

    def named_gradients(self, grad: Any) -> dict[str, AnyArray]:
        """The derivative by every parameter under that parameter's name; uses of a shared parameter are summed."""
        uses, by_hand = self.uses(grad)
        own = {name: derivative for name, _, derivative in summed(uses)}
        return own | delegation.gradients(self, grad) if by_hand else own

    def gradients(self, grad: Any) -> list[AnyArray]:
        """The derivatives, paired with `parameters`."""
        return list(self.named_gradients(grad).values())

    # ------------------------------------------------------------------ filling

    def initialise_with(self, **rules: str | Initialiser) -> None:
        """Say how `init` fills a parameter or buffer, by a rule or its name; without one, ``"kaiming_uniform"`` or
        zeros.
        """
        chosen = {name: initialiser(rule, f"{name}_init") for name, rule in rules.items()}
        self.__typednn_storage__.initialisers = {**self.__typednn_storage__.initialisers, **chosen}

    def fans(self) -> Fans:
        """Numbers that flow into and out of one unit, for initialisers; of the first parameter, ``(out,
        *window, in)``.
        """
        shape = next((field.shape(self) for _, field in type(self).learnt), (1,))
        return Fans(math.prod(shape[1:]), shape[0] * math.prod(shape[1:-1]))

    def init(self, rng: Rng) -> Self:
        """Fill every parameter and buffer, in the order of declaration, from one generator; returns the model.

        A buffer without a rule becomes zeros where it is empty, and stays where it was assigned.
        """
        if isinstance(cast("object", rng), ModuleType | type) or not isinstance(cast("object", rng), Rng):
            got = getattr(rng, "__name__", type(rng).__name__)
            cure = "pass numpy.random.default_rng(0) or PCG32(0): there is no global one"
            raise ArgumentError(explain(f"{self.label()}.init", "rng must be a generator", got, cure), "rng")
        for path, module, field, _ in self.named_fields("parameter", "buffer"):
            refuse_beyond_memory(
                f"{module.label()}.init, {path!r}", field.shape(module), field.dtype(module), module.device, module
            )
        delegation.ask(self, "init", rng)
        for path, module, field, cell in self.named_fields("parameter", "buffer"):
            rule = module.__typednn_storage__.initialisers.get(field.name)
            if rule is None:
                if field.kind == "buffer" and cell.array is not None:
                    continue
                rule = KaimingUniform() if field.kind == "parameter" else Zeros()
            shape = field.shape(module)
            try:
                values = rule(rng, shape, module.fans())
            except MemoryError as error:
                raise out_of_memory(
                    f"{module.label()}.init",
                    f"{path!r} of shape {shape}",
                    math.prod(shape) * module.dtype.itemsize,
                    module,
                ) from error
            if values.shape != shape:
                raise ArgumentError(explain(f"initialiser of {path!r}", f"must give shape {shape}", str(values.shape)))
            cell.put(to_device(values.astype(field.dtype(module)), module.device))
        return self

    def to(self, device: str) -> Self:
        """Move every parameter and buffer; kept values are dropped; sharing stays. Returns the model."""
        select(device)
        delegation.ask(self, "to", device)
        return self._replaced(lambda array: to_device(array, device), device=device)

    def astype(self, dtype: npt.DTypeLike) -> Self:
        """Convert floating parameters and buffers to float16, float32 or float64; kept values are dropped. Returns the
        model.
        """
        try:
            kind = np.dtype(dtype)
        except TypeError:
            kind = np.dtype(object)
        if kind not in DTYPES:
            rule = f"a model's dtype is {', '.join(map(str, DTYPES[:-1]))} or {DTYPES[-1]}"
            raise ArgumentError(explain(f"{self.label()}.astype", rule, repr(dtype)), "dtype")
        delegation.ask(self, "astype", kind)
        return self._replaced(
            lambda array: array.astype(kind) if is_floating(array.dtype) else array, precision=Precision.of(kind)
        )

    def _replaced(
        self, change: Callable[[Any], Any], *, precision: Precision | None = None, device: str | None = None
    ) -> Self:
        """Every stored array changed, and what modules inside and outside, which share them, say of it."""
        placements = {module.__typednn_storage__.placement for _, module in self.named_modules()}
        for _, _, _, cell in list(self.named_fields("parameter", "buffer")):
            if cell.array is not None:
                cell.put(change(cell.array))
            placements.update(cell.placements)
        for placement in placements:
            placement.precision = precision or placement.precision
            placement.device = placement.device if device is None else device
        self.free_cache()
        return self

    # ------------------------------------------------------------------ state

    def state_dict(self) -> dict[str, AnyArray]:
        """Parameters and buffers by dotted name, by reference, in the order of declaration."""
        own = {path: getattr(module, field.name) for path, module, field, _ in self.named_fields("parameter", "buffer")}
        return own | delegation.ask_names(self, "state_dict")

    def load_state_dict(self, state: Mapping[str, Any] | Sequence[Any]) -> None:
        """Copy saved arrays in, by name or (from a sequence) in order; on any misfit nothing changes and the error
        lists all.
        """
        stored = {path: (module, field, cell) for path, module, field, cell in self.named_fields("parameter", "buffer")}
        foreign_states: list[tuple[Any, dict[str, Any]]] = []
        index: dict[str, str] = {}
        if isinstance(state, Mapping):
            state, foreign_states = delegation.split(self, state)
        elif not isinstance(state, list | tuple):
            got = type(state).__name__
            cure = value_cure("state", state)
            raise StateDictError(
                explain("load_state_dict", "takes arrays by name, or a list of them in order", got, cure)
            )
        elif len(state) != len(stored):
            raise StateDictError(
                explain(
                    "load_state_dict",
                    f"expects {len(stored)} arrays",
                    f"{len(state)}",
                    f"in this order: {listed(list(stored))}",
                )
            )
        else:
            state = dict(zip(stored, state, strict=True))
            index = {path: f"[{place}] " for place, path in enumerate(stored)}
        arrays: dict[str, Any] = {}
        found: dict[str, Any] = dict.fromkeys(state)
        for path in [path for path in stored if path in state]:
            try:
                found[path] = arrays[path] = np.asarray(to_numpy(state[path]))
            except LocatedError:
                found[path] = f"is a {type(state[path]).__name__}, not an array"
        problems = self._misfits(found, stored, index)
        if problems:
            inside = [name for name in found if isinstance(state[name], Mapping) and name not in stored]
            cure = f"a checkpoint? Its arrays may be in state[{inside[0]!r}]" if inside else ""
            raise StateDictError(
                explain("load_state_dict", "state must belong to this model", listed(problems, "; "), cure)
            )
        delegation.load(foreign_states)
        for path, array in arrays.items():
            module, _, cell = stored[path]
            if cell.array is None:
                cell.put(to_device(array.copy(), module.device))
            else:
                cell.array[...] = to_device(array, module.device)
                cell.put(cell.array)

    def state_misfits(self, found: Mapping[str, Any]) -> list[str]:
        """Why a saved state would not belong to this model, from the ``shape`` and ``dtype`` of what is ``found`` under
        each name.

        Empty where it would. What parts that keep theirs to themselves would say is not asked.
        """
        stored = {path: (module, field, cell) for path, module, field, cell in self.named_fields("parameter", "buffer")}
        prefixes = tuple(f"{path}." if path else "" for path, _ in delegation.foreign_parts(self))
        return self._misfits(
            {path: array for path, array in found.items() if not path.startswith(prefixes or ("\0",))}, stored, {}
        )

    def _misfits(
        self, found: Mapping[str, Any], stored: Mapping[str, tuple[Module, StoredField, Cell]], index: dict[str, str]
    ) -> list[str]:
        """As `state_misfits`; a text in ``found`` is itself the reason, and ``index`` is put before the names."""
        problems = [f"missing {path!r}" for path in stored if path not in found]
        problems += [f"unexpected {path!r}" for path in found if path not in stored]
        for path in [path for path in stored if path in found]:
            (module, field, cell), array = stored[path], found[path]
            name, shape = f"{index.get(path, '')}{path!r}", field.shape(module)
            dtype = field.dtype(module) if cell.array is None else cell.array.dtype
            if isinstance(array, str):
                problems.append(f"{name} {array}")
            elif tuple(array.shape) != shape:
                problems.append(f"{name} has shape {tuple(array.shape)}, the model {shape}")
            elif array.dtype != dtype:
                problems.append(f"{name} is {array.dtype}, the model {dtype} (astype converts either)")
        return problems

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write parameters and buffers, and where the model is one that a config describes its config, into one
        safetensors file.

        `typednn.load` reads it. Written whole or not at all; a `DataError` where it cannot be written, an
        `ArgumentError` for the ending of another format, `NotInitialised` before ``init``.
        """
        hooks.save(self, path)

    def free_cache(self) -> None:
        """Drop what forward kept, here and below; afterwards backward raises until the next forward."""
        for _, part in delegation.foreign_parts(self):
            part.offer("free_cache")
        for _, module in self.named_modules():
            module.__typednn_calls__.drop()
            module.__typednn_calls__.token = None

    def close(self) -> None:
        """Release the arrays, here and below: what forward kept, parameters and buffers; again does no harm.

        A model's memory goes with the model itself; close it where something else still refers to it. A shared
        parameter goes for all layers that have it. Afterwards forward raises `NotInitialised`, until `init` or
        `load_state_dict`. A part that derives from nothing keeps its arrays.
        """
        self.free_cache()
        for _, _, _, cell in self.named_fields("parameter", "buffer"):
            cell.put(None)

    def train(self, mode: bool = True) -> Self:
        """Keep in forward what backward needs, here and below (``train(False)`` is `eval`); frozen layers stay in
        eval. Returns the model.
        """
        for _, module in self.named_modules():
            module.training = mode and not module.frozen
            if not module.training:
                module.__typednn_calls__.drop()
        return self

    def eval(self) -> Self:
        """Write nothing in forward: no memory kept, one model serves many threads, backward raises.
        Returns the model.
        """
        return self.train(False)

    def shared(self) -> Self:
        """A second instance on the same parameter arrays with kept values of its own: use it where a layer is used
        twice.
        """
        for _, field in self.stored_fields():
            field.cell(self).shared = True
        second = type(self).__new__(type(self))
        for name, value in vars(self).items():
            if name not in vars(second):
                vars(second)[name] = _with_modules(value, methodcaller("shared"))
        second.__typednn_storage__ = replace(self.__typednn_storage__)  # its name may change
        return second

    def __copy__(self) -> Self:
        """The same arrays; here and in every layer inside, the name and what calls leave are the copy's own from now
        on.
        """
        other = object.__new__(type(self))
        vars(other).update({name: _with_modules(value, copy.copy) for name, value in vars(self).items()})
        calls = self.__typednn_calls__
        other.__typednn_storage__, other.__typednn_calls__ = (
            replace(self.__typednn_storage__),
            replace(calls, kept=dict(calls.kept)),
        )
        return other

    def tie(self, other: Module, /, **names: str) -> Self:
        """Hold parameters of ``other``, a layer of any class, as one's own: ``head.tie(embedding, weight="weight")``.

        Both have one array from now on, that of ``other``. It is counted, saved and printed once, where the model holds
        it first, and stepped once, with the sum of its uses' derivatives. Tie before `shared`. Returns this layer.
        """
        sharing.tie(self, other, names)
        return self

    def named(self, name: str) -> Self:
        """Give this layer a name in the stack that it will be part of: ``fc1.weight`` instead of ``7.weight``."""
        if not isinstance(cast("object", name), str) or not name.isidentifier():
            raise ArgumentError(
                explain("named", "a layer's name is an identifier", repr(name), "such as 'fc1'"), "name"
            )
        self.__typednn_storage__.name = name
        return self

    # ------------------------------------------------------------------ printing

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(printing.arguments(self))})"

    def __str__(self) -> str:
        """One line per module: name, layer, shapes, count; a shared parameter is counted where it stands first."""
        return printing.table(self, screen_width())

    def _repr_html_(self) -> str:
        """What a notebook shows: a table of layers, shapes and parameters."""
        return printing.html(self)

    def printed_count(self, own: int) -> str:
        """The last column of a printed model: how many numbers this module learns itself."""
        return f"{own:,}" if own else ""

    def printed_shapes(self) -> list[str]:
        """The arrays that this module has without declaring them, as they are printed: `typednn.module.foreign`'s."""
        return []


def _with_modules(value: object, change: Callable[[Any], object]) -> object:
    """An attribute with ``change`` applied to the modules in it; anything else is the same object."""
    if isinstance(value, Module):
        return change(value)
    if next(modules_in("", value), None) is None:
        return value
    if isinstance(value, dict):
        return {key: _with_modules(part, change) for key, part in cast("Mapping[object, object]", value).items()}
    parts = [_with_modules(part, change) for part in cast("Sequence[object]", value)]
    return tuple(parts) if isinstance(value, tuple) else parts
