"""Held: the arrays and layers in the fields of an object that derives from no class of typednn and has no ``state_dict`` of its own.

What its constructor left is what a model counts, saves, moves and converts, under the names of the fields:

- arrays that its class declares, ``weight: Parameter[...]`` and ``mean: Buffer[...]``; where it declares none, every array of numbers
  in a field whose name does not begin with ``_``;
- layers in any field, of typednn or with the three methods.

Both may stand in lists, tuples and dicts. What ``forward`` assigns later is not among them. A declared `Buffer` is not learnt, and
neither is an integer; where nothing is declared and ``backward`` names its gradient's class, an array is learnt if that has a field of
its name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast, get_origin, get_type_hints

import numpy as np

from typednn.arrays import device_of, is_array, is_floating, is_number
from typednn.backends import to_device, to_numpy
from typednn.errors import DefinitionError, LocatedError, StateDictError, StateError, explain, listed
from typednn.module.fields import StoredField, declared_fields
from typednn.module.module import Module

Path: TypeAlias = tuple[Any, ...]  # the name of a field, then the places in lists and dicts


class Held:
    """What ``owner`` held when this was made; ``adopt`` makes a part of a model of what has the three methods, and leaves the rest."""

    def __init__(self, owner: Any, adopt: Callable[[Any], Any]) -> None:
        self.owner: Any = owner
        self.adopt: Callable[[Any], Any] = adopt
        kind: Any = owner.__class__
        try:
            fields = declared_fields(kind)
        except DefinitionError:  # nobody promised that its annotations can be resolved
            fields = {}
        self.declared: dict[str, str] = {name: field.kind for name, field in fields.items() if isinstance(field, StoredField)}
        self.derivatives: frozenset[str] | None = _derivatives(kind)
        plain = {name for name in attributes(owner) if not name.startswith("_")} - fields.keys() if not self.declared else set[str]()
        self.paths: list[Path] = [(name,) for name in self.declared]
        for name, value in attributes(owner).items():
            if name not in self.declared and not name.startswith("__"):
                self.paths += self._search((name,), value, name in plain)
        self.parts: dict[str, Any] = {}  # the parts that were made of objects, so that each is made once
        self.unknown: str = ""  # what an update stepped that is not among these

    def _search(self, path: Path, value: Any, arrays: bool) -> Iterator[Path]:
        if is_array(value):
            if arrays and (is_number(value.dtype) or value.dtype.kind == "b"):
                yield path
        elif isinstance(value, list | tuple | dict):
            inside = cast("Mapping[Any, Any]", value).items() if isinstance(value, dict) else enumerate(cast("list[Any]", value))
            for key, part in inside:
                yield from self._search((*path, key), part, arrays)
        elif isinstance(self.adopt(value), Module):
            yield path

    # ------------------------------------------------------------------ what is there

    def leaves(self) -> Iterator[tuple[str, Path, Any]]:
        """Each array and each layer by its dotted name."""
        for path in self.paths:
            value = self._at(path)
            if value is None and path[0] in self.declared:
                continue
            name = ".".join(map(str, path))
            if not is_array(value):
                value = self._part(name, value)
            yield name, path, value

    def _at(self, path: Path) -> Any:
        """What stands there; an ellipsis where the field was never assigned."""
        inside: Any = {path[0]: ..., **attributes(self.owner)}
        for key in path:
            inside = inside[key]
        return inside

    def _part(self, name: str, value: Any) -> Any:
        known = self.parts.get(name)
        if known is not None and getattr(known, "inner", known) is value:
            return known
        part = self.adopt(value)
        if not isinstance(part, Module):
            rule, cure = "the constructor assigns an array or a layer, and it stays one", f"write self.{name} = … there"
            got = "nothing" if value is ... else type(value).__name__
            raise DefinitionError(explain(f"{type(self.owner).__qualname__}.{name}", rule, got, cure))
        self.parts[name] = part
        return part

    def _arrays(self) -> dict[str, tuple[Path, Any]]:
        return {name: (path, value) for name, path, value in self.leaves() if is_array(value)}

    def _modules(self) -> dict[str, Any]:
        return {name: value for name, _, value in self.leaves() if not is_array(value)}

    def _is_learnt(self, path: Path, array: Any) -> bool:
        if not is_floating(array.dtype):
            return False
        if self.declared:
            return self.declared[path[0]] == "parameter"
        known = self.derivatives is not None and self.derivatives <= {first for first, *_ in self.paths}
        return path[0] in (self.derivatives or ()) if known else True

    def named_parameters(self) -> dict[str, Any]:
        self.stop()
        own = {name: array for name, (path, array) in self._arrays().items() if self._is_learnt(path, array)}
        return own | _joined({name: module.named_parameters() for name, module in self._modules().items()})

    def num_parameters(self) -> int:
        self.stop()
        own = sum(int(array.size) for path, array in self._arrays().values() if self._is_learnt(path, array))
        return own + sum(int(module.num_parameters()) for module in self._modules().values())

    def shapes(self) -> list[str]:
        """Each array as it is printed."""
        learnt = self._arrays().items()
        return [f"{'' if self._is_learnt(path, array) else 'buffer '}{name} {tuple(array.shape)}" for name, (path, array) in learnt]

    def derivatives_in(self, grad: Any) -> dict[str, Any]:
        """The derivatives by the arrays in lists, and by the layers' parameters, as far as ``grad`` has the same fields."""
        found: dict[str, Any] = {}
        for name, path, value in self.leaves():
            try:
                derivative = grad
                for key in path:
                    derivative = derivative[key] if derivative is not grad else getattr(grad, key)
            except (AttributeError, LookupError, TypeError):
                continue
            if not is_array(value):
                found |= {f"{name}.{below}": array for below, array in value.named_gradients(derivative).items()}
            elif is_array(derivative):
                found[name] = derivative
        return found

    # ------------------------------------------------------------------ state

    def state_dict(self) -> dict[str, Any]:
        self.stop()
        own = {name: array for name, (_, array) in self._arrays().items()}
        return own | _joined({name: module.state_dict() for name, module in self._modules().items()})

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Copy saved arrays in; a `StateDictError` before anything is changed where they do not belong here."""
        self.stop()
        own, arrays, modules = dict(state), self._arrays(), self._modules()
        below = {
            name: {path.removeprefix(f"{name}."): own.pop(path) for path in list(own) if path.startswith(f"{name}.")} for name in modules
        }
        problems = [f"missing {name!r}" for name in arrays if name not in own]
        problems += [f"unexpected {name!r}" for name in own if name not in arrays]
        new: dict[str, Any] = {}
        for name, (_, array) in arrays.items():
            if name not in own:
                continue
            try:
                saved = new[name] = np.asarray(to_numpy(own[name]))
            except LocatedError:
                problems.append(f"{name!r} is a {type(own[name]).__name__}, not an array")
                continue
            if saved.shape != array.shape:
                problems.append(f"{name!r} has shape {saved.shape}, the model {tuple(array.shape)}")
            elif saved.dtype != array.dtype:
                problems.append(f"{name!r} is {saved.dtype}, the model {array.dtype}")
        if problems:
            where = f"{type(self.owner).__qualname__}.load_state_dict"
            raise StateDictError(explain(where, "state must belong to this layer", listed(problems, "; ")))
        for name, module in modules.items():
            module.load_state_dict(below[name])
        for name, saved in new.items():
            array = arrays[name][1]
            array[...] = to_device(saved, device_of(array))

    def init(self, rng: Any) -> None:
        """Fill the layers; an array keeps what the constructor gave it."""
        for module in self._modules().values():
            module.init(rng)

    def to(self, device: str) -> None:
        self.stop()
        for module in self._modules().values():
            module.to(device)
        self._replace(lambda array: to_device(array, device))

    def astype(self, dtype: Any) -> None:
        self.stop()
        for module in self._modules().values():
            module.astype(dtype)
        self._replace(lambda array: array.astype(dtype) if is_floating(array.dtype) and array.dtype != dtype else array)

    def arrays_now(self) -> list[tuple[str, Any]]:
        """The arrays by name, also where some are unknown."""
        return [(name, array) for name, (_, array) in self._arrays().items()]

    def put(self, name: str, array: Any) -> None:
        """Another array in the place of the one of this name."""
        path = self._arrays()[name][0]
        setattr(self.owner, path[0], _with(attributes(self.owner)[path[0]], path[1:], array))

    def _replace(self, change: Callable[[Any], Any]) -> None:
        for name, (_, array) in self._arrays().items():
            new = change(array)
            if new is not array:
                self.put(name, new)

    # ------------------------------------------------------------------ what an update steps

    def update(self, optimizer: Any, grad: Any, saved: bool) -> None:
        """The object's first update: what it steps, or has a derivative by, must be among the arrays here, or nobody would save it.

        Where it is not, an error; at once if a run is ``saved``, else when somebody asks.
        """
        known = list(self.named_parameters().values())
        noting = _Noting(self, optimizer, [_root(array) for array in known], saved)
        self.owner.update(noting, grad)
        if not known and not self.unknown:
            names = [name for name in dir(grad) if not name.startswith("_") and name != "input" and is_array(getattr(grad, name, None))]
            self.unknown = f"a derivative by {names[0]!r}, and no such array" if names else ""
        if saved:
            self.stop()

    def stepped(self, array: Any, known: Sequence[Any]) -> None:
        """Note an array that the update steps."""
        if not any(_root(array) is each for each in known):
            name = next((name for name, value in attributes(self.owner).items() if value is array), None)
            self.unknown = f"an update of an array of shape {tuple(array.shape)} {'in no field' if name is None else f'in {name!r}'}"

    def stop(self) -> None:
        """`DefinitionError` where there is an array that is not known."""
        if self.unknown:
            kind = type(self.owner).__qualname__
            rule = "a model counts and saves the arrays in its parts' fields"
            cure = (
                "assign it in the constructor, to a field whose name does not begin with _ or that is declared as Parameter[...]; "
                f"or write {kind}.state_dict and {kind}.load_state_dict"
            )
            raise DefinitionError(explain(kind, rule, self.unknown, cure))


class _Noting:
    """The optimizer in the first update of an object: it says what is stepped."""

    def __init__(self, held: Held, optimizer: Any, known: Sequence[Any], saved: bool) -> None:
        self._held, self._optimizer, self._known, self._saved = held, optimizer, known, saved

    def step(self, weights: Any, grad: Any) -> None:
        self._held.stepped(weights, self._known)
        if self._saved:
            self._held.stop()
        try:
            self._optimizer.step(weights, grad)
        except StateError:  # of an optimizer that is bound to the parameters that are known
            self._held.stop()
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._optimizer, name)


def attributes(owner: Any) -> dict[str, Any]:
    """The fields of any object: those in its ``__dict__`` and those in slots."""
    found: dict[str, Any] = {}
    for kind in type(owner).__mro__:
        slots: Any = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if not name.startswith("__") and hasattr(owner, name):
                found[name] = getattr(owner, name)
    return found | getattr(owner, "__dict__", {})


def _derivatives(kind: type) -> frozenset[str] | None:
    """The fields of the gradient that ``backward`` says it gives, without the input's; None where it does not say."""
    try:
        result = get_type_hints(vars(kind).get("backward") or getattr(kind, "backward", None)).get("return")
    except (NameError, AttributeError, SyntaxError, TypeError, ValueError):  # nobody promised that they can be resolved
        return None
    origin: Any = get_origin(result) or result
    if not dataclasses.is_dataclass(origin):
        return None
    return frozenset(field.name for field in dataclasses.fields(origin)) - {"input"}


def _joined(below: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {f"{name}.{path}": value for name, values in below.items() for path, value in values.items()}


def _root(array: Any) -> Any:
    """The array that owns the memory of a view."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def _with(value: Any, path: Path, new: Any) -> Any:
    """``value``, a list, tuple, dict or array, with ``new`` at ``path``; lists and dicts are changed in place."""
    if not path:
        return new
    key, *rest = path
    if isinstance(value, tuple):
        parts: list[Any] = [*value]
        parts[key] = _with(parts[key], tuple(rest), new)
        return tuple(parts)
    value[key] = _with(value[key], tuple(rest), new)
    return value
