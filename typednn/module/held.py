"""Held: the arrays and layers in the fields of an object that derives from no class of typednn and has no
``state_dict`` of its own.

What its constructor left is what a model counts, saves, moves and converts, under the names of the fields:

- arrays that its class declares, ``weight: Parameter[...]`` and ``mean: Buffer[...]``; where it declares none, every
  array of numbers in a field whose name does not begin with ``_``;
- layers in any field, of typednn or with the three methods.

Both may stand in lists, tuples and dicts. One that stands in several places counts once, under the name of the first,
and all these places change together. What ``forward`` assigns later is not among them. A declared `Buffer` is not
learnt, and neither is an integer; where nothing is declared, and ``backward`` names a gradient's class whose fields but
``input`` are all arrays or layers here, the arrays that it names are learnt and no others.
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
from typednn.module.updates import Around

Path: TypeAlias = tuple[Any, ...]  # the name of a field, then the places in lists and dicts
# by id: of what a search has met, the `Held` that has it, and the part that was made of it
Seen: TypeAlias = dict[int, tuple[Any, Any]]


class Held:
    """What ``owner`` held when this was made; ``adopt`` makes a part of a model of what has the three methods, and
    leaves the rest.
    """

    def __init__(self, owner: Any, adopt: Callable[..., Any], seen: Seen) -> None:
        self.owner: Any = owner
        self.adopt: Callable[..., Any] = adopt
        seen.setdefault(id(owner), (None, None))
        kind: Any = owner.__class__
        try:
            fields = declared_fields(kind)
        except DefinitionError:  # nobody promised that its annotations can be resolved
            fields = {}
        self.declared: dict[str, str] = {
            name: field.kind for name, field in fields.items() if isinstance(field, StoredField)
        }
        self.derivatives: frozenset[str] | None = _derivatives(kind)
        plain = (
            {name for name in attributes(owner) if not name.startswith("_")} - fields.keys()
            if not self.declared
            else set[str]()
        )
        self.paths: list[Path] = [(name,) for name in self.declared]
        # the layers, and the parts that were made of objects, so that each is made once
        self.parts: dict[Path, Any] = {}
        self.unknown: str = ""  # what an update stepped that is not among these
        found = [
            place
            for name, value in attributes(owner).items()
            if name not in self.declared and not name.startswith("__")
            for place in _inside((name,), value)
        ]
        for _, value in found:
            # before any part is made: what these parts refer to is no part of theirs
            seen.setdefault(id(value), (self, None))
        for path, value in found:
            if is_array(value):
                if path[0] in plain and (is_number(value.dtype) or value.dtype.kind == "b"):
                    self.paths.append(path)
                continue
            holder, part = seen[id(value)]
            if holder is self and part is None:
                part = adopt(value, seen=seen)
                seen[id(value)] = self, part
            if holder is self and isinstance(part, Module):
                self.parts[path] = part
                self.paths.append(path)

    # ------------------------------------------------------------------ what is there

    def leaves(self) -> Iterator[tuple[str, list[Path], Any]]:
        """Each array and each layer once: the dotted name of the first place where it stands, all these places, and
        itself.
        """
        places: dict[int, tuple[Any, list[Path]]] = {}
        fields = attributes(self.owner)
        for path in self.paths:
            value: Any = fields.get(path[0], ...)  # an ellipsis where it was never assigned
            for key in path[1:]:
                value = value[key]
            if value is not None or path[0] not in self.declared:
                places.setdefault(id(value), (value, []))[1].append(path)
        for value, paths in places.values():
            name = _dotted(paths[0])
            yield name, paths, value if is_array(value) else self._part(paths[0], value)

    def _part(self, path: Path, value: Any) -> Any:
        known = self.parts.get(path)
        if known is not None and getattr(known, "inner", known) is value:
            return known
        part = self.adopt(value, seen={id(self.owner): (None, None)})
        if not isinstance(part, Module):
            name = _dotted(path)
            rule, cure = "the constructor assigns an array or a layer, and it stays one", f"write self.{name} = … there"
            got = "nothing" if value is ... else type(value).__name__
            raise DefinitionError(explain(f"{type(self.owner).__qualname__}.{name}", rule, got, cure))
        self.parts[path] = part
        return part

    def _arrays(self) -> dict[str, tuple[list[Path], Any]]:
        return {name: (paths, value) for name, paths, value in self.leaves() if is_array(value)}

    def _modules(self) -> dict[str, Any]:
        return {name: value for name, _, value in self.leaves() if not is_array(value)}

    def _is_learnt(self, paths: Sequence[Path], array: Any) -> bool:
        if not is_floating(array.dtype):
            return False
        if self.declared:
            return any(self.declared[first] == "parameter" for first, *_ in paths)
        known = self.derivatives is not None and self.derivatives <= {first for first, *_ in self.paths}
        return not known or any(first in (self.derivatives or ()) for first, *_ in paths)

    def named_parameters(self) -> dict[str, Any]:
        self.stop()
        own = {name: array for name, (paths, array) in self._arrays().items() if self._is_learnt(paths, array)}
        return own | _joined({name: module.named_parameters() for name, module in self._modules().items()})

    def num_parameters(self) -> int:
        self.stop()
        own = sum(int(array.size) for paths, array in self._arrays().values() if self._is_learnt(paths, array))
        return own + sum(int(module.num_parameters()) for module in self._modules().values())

    def shapes(self) -> list[str]:
        """Each array as it is printed."""
        learnt = self._arrays().items()
        return [
            f"{'' if self._is_learnt(paths, array) else 'buffer '}{name} {tuple(array.shape)}"
            for name, (paths, array) in learnt
        ]

    def derivatives_in(self, grad: Any) -> dict[str, Any]:
        """The derivatives by the arrays in lists, and by the layers' parameters, as far as ``grad`` has the same
        fields.
        """
        found: dict[str, Any] = {}
        for name, paths, value in self.leaves():
            derivative = next((each for each in (_beside(grad, path) for path in paths) if each is not None), None)
            if derivative is not None and not is_array(value):
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
        """Copy saved arrays in; a `StateDictError` where they do not belong here: then layers may be filled, and
        nothing else is.

        A model whose ``load_state_dict`` calls this puts back what was there (`typednn.module.delegation.load`).
        """
        self.stop()
        own, arrays, modules = dict(state), self._arrays(), self._modules()
        below = {
            name: {path.removeprefix(f"{name}."): own.pop(path) for path in list(own) if path.startswith(f"{name}.")}
            for name in modules
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

    def arrays_now(self) -> Iterator[tuple[str, Any]]:
        """The arrays by name, also where some are unknown."""
        return ((name, value) for name, _, value in self.leaves() if is_array(value))

    def put(self, name: str, array: Any) -> None:
        """Another array in every place of the one of this name."""
        for path in self._arrays()[name][0]:
            setattr(self.owner, path[0], _with(attributes(self.owner)[path[0]], path[1:], array))

    def _replace(self, change: Callable[[Any], Any]) -> None:
        for name, (_, array) in self._arrays().items():
            new = change(array)
            if new is not array:
                self.put(name, new)

    # ------------------------------------------------------------------ what an update steps

    def update(self, optimizer: Any, grad: Any, saved: bool) -> None:
        """The object's first update: what it steps, or has a derivative by, must be among the arrays here, or nobody
        would save it.

        Where it is not, an error; at once if a run is ``saved``, else when somebody asks.
        """
        known = list(self.named_parameters().values())
        noting = _Noting(self, optimizer, [_root(array) for array in known], saved)
        self.owner.update(noting, grad)
        if not known and not self.unknown:
            names = [
                name
                for name in dir(grad)
                if not name.startswith("_") and name != "input" and is_array(getattr(grad, name, None))
            ]
            self.unknown = f"a derivative by {names[0]!r}, and no such array" if names else ""
        if saved:
            self.stop()

    def stepped(self, array: Any, known: Sequence[Any]) -> None:
        """Note an array that the update steps."""
        if not any(_root(array) is each for each in known):
            name = next((name for name, value in attributes(self.owner).items() if value is array), None)
            self.unknown = (
                f"an update of an array of shape {tuple(array.shape)} "
                f"{'in no field' if name is None else f'in {name!r}'}"
            )

    def stop(self) -> None:
        """`DefinitionError` where there is an array that is not known."""
        if self.unknown:
            kind = type(self.owner).__qualname__
            rule = "a model counts and saves the arrays in its parts' fields"
            cure = (
                "assign it in the constructor, to a field whose name does not begin with _ or that is declared "
                "as Parameter[...]; "
                f"or write {kind}.state_dict and {kind}.load_state_dict"
            )
            raise DefinitionError(explain(kind, rule, self.unknown, cure))


class _Noting(Around):
    """The optimizer in the first update of an object: it says what is stepped."""

    def __init__(self, held: Held, optimizer: Any, known: Sequence[Any], saved: bool) -> None:
        super().__init__(optimizer)
        self._held, self._known, self._saved = held, known, saved

    def step(self, weights: Any, grad: Any) -> None:
        self._held.stepped(weights, self._known)
        if self._saved:
            self._held.stop()
        try:
            self.optimizer.step(weights, grad)
        except StateError:  # of an optimizer that is bound to the parameters that are known
            self._held.stop()
            raise


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


def _inside(path: Path, value: Any, around: tuple[Any, ...] = ()) -> Iterator[tuple[Path, Any]]:
    """What stands in a field: itself, or each thing in lists, tuples and dicts."""
    if not isinstance(value, list | tuple | dict):
        yield path, value
    elif not any(value is each for each in around):
        inside = (
            cast("Mapping[Any, Any]", value).items()
            if isinstance(value, dict)
            else enumerate(cast("Sequence[Any]", value))
        )
        for key, part in inside:
            yield from _inside((*path, key), part, (*around, cast("Any", value)))


def _dotted(path: Path) -> str:
    return ".".join(map(str, path))


def _beside(grad: Any, path: Path) -> Any:
    """What ``grad`` has where the object has an array or a layer; None where it has nothing."""
    try:
        derivative = getattr(grad, path[0])
        for key in path[1:]:
            derivative = derivative[key]
    except (AttributeError, LookupError, TypeError):
        return None
    return derivative


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
        make: Callable[[list[Any]], Any] = getattr(cast("Any", value), "_make", tuple)  # a NamedTuple's own
        return make(parts)
    value[key] = _with(value[key], tuple(rest), new)
    return value
