"""The tree that a model is: the walk from a module to those below it, to what they store, and with a gradient to its
parts.

A module's children are the layers in its attributes, declared ones first. Names, counts, saved state and gradients of a
model follow from this walk.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias, cast

from typednn.arrays import AnyArray, is_array
from typednn.contracts.checks import contract_of
from typednn.contracts.hints import array_hints, attribute_lookup
from typednn.errors import DefinitionError, StackError, StateError, explain
from typednn.errors.tracebacks import folding
from typednn.kernels.pointwise import add
from typednn.module.fields import Field, InnerField, StoredField, declared_fields
from typednn.module.gradients import named_leaves
from typednn.module.state import CallState, Cell, Stateful, Storage
from typednn.shapes import Flow, parse, rank, split_contract
from typednn.shapes.compiled import outcome

# One use of a parameter: its dotted name, its cell, the derivative, and the layer that holds it.
Use: TypeAlias = "tuple[str, Cell, AnyArray, Node]"

# Kinds of value that hold no module.
_PLAIN = frozenset({bool, int, float, str, type(None), object, Storage, CallState})


class Node(Stateful):
    """A module as a node of that tree: what its class declares, the modules below it, and the shapes that go through
    them.
    """

    fields: ClassVar[dict[str, Field]] = {}
    declared: ClassVar[tuple[str, ...]] = ()  # every annotated name, in the order of declaration
    learnt: ClassVar[tuple[tuple[str, StoredField], ...]] = ()  # the fields that are parameters
    inside: ClassVar[tuple[InnerField, ...]] = ()  # the fields that are layers, used as their annotations say
    updates_by_hand: ClassVar[bool] = False  # whether ``update`` is written in the class, not inherited
    gradient_prefix: ClassVar[str] = ""
    foreign: ClassVar[bool] = False  # whether it keeps its parameters to itself

    # What forward does to shapes where its annotations cannot say it, ``batch time features -> batch time*features``:
    # one for each rank that it reads. A constructor sets them, with constant texts, which the mypy plugin can evaluate.
    shape_contracts: tuple[str, ...] = ()
    forward: Callable[..., Any]
    backward: Callable[..., Any]
    update: Callable[..., None]
    named_gradients: Callable[..., dict[str, AnyArray]]

    @folding
    def __init_subclass__(cls, **keywords: Any) -> None:
        cls.fields = declared_fields(cls)
        for name, field in cls.fields.items():
            setattr(cls, name, field)
        cls.learnt = tuple(
            (name, field)
            for name, field in cls.fields.items()
            if isinstance(field, StoredField) and field.kind == "parameter"
        )
        classes = [base for base in reversed(cls.__mro__) if base not in Node.__mro__]
        cls.declared = tuple(dict.fromkeys(name for base in classes for name in inspect.get_annotations(base)))
        super().__init_subclass__(**keywords)
        cls.inside = tuple(field for field in cls.fields.values() if isinstance(field, InnerField))
        contract = contract_of(cls, "forward")
        if contract is not None:
            bound = {
                slot.key for hint in contract.hints for array in array_hints(hint) for slot in parse(array.dim_str)
            }
            for inner in cls.inside:
                inner.define(bound)
        cls.updates_by_hand = hasattr(getattr(cls, "update", None), "__wrapped__")

    # ------------------------------------------------------------------ the walk

    def children(self) -> Iterator[tuple[str, Node]]:
        """The sublayers by name: declared ones in the order of declaration, then the others in the
        order of assignment.
        """
        attributes = vars(self)
        # A step calls this on every layer, and most hold numbers and tuples of them only: skip these first.
        names = [
            name
            for name, value in attributes.items()
            if value.__class__ not in _PLAIN and not (value.__class__ is tuple and _PLAIN.issuperset(map(type, value)))
        ]
        if len(names) > 1:
            names = list(dict.fromkeys([*(name for name in self.declared if name in names), *names]))
        for name in names:
            yield from modules_in(name, attributes[name])

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Node]]:
        """This module and every one below it with its dotted path, parents first."""
        self.refuse_undeclared_array()
        yield prefix, self
        for name, child in self.children():
            yield from child.named_modules(f"{prefix}.{name}" if prefix else name)

    def refuse_undeclared_array(self) -> None:
        """`DefinitionError` where an attribute holds an array although no annotation says what it is."""
        name = next((attribute for attribute, value in vars(self).items() if is_array(value)), None)
        if name is not None:
            rule, cure = (
                "an array is held in a declared field",
                f"declare it in the class body: {name}: Parameter[…], Buffer[…] or Kept[…]",
            )
            raise DefinitionError(
                explain(f"{type(self).__qualname__}.{name}", rule, "an attribute without annotation", cure)
            )

    def stored_fields(self) -> Iterator[tuple[str, StoredField]]:
        """This module's own parameters and buffers, without those that are switched off (``bias=False``)."""
        fields = type(self).fields.items()
        return ((name, field) for name, field in fields if isinstance(field, StoredField) and not field.absent(self))

    def held_parameters(self) -> Iterator[tuple[str, StoredField]]:
        """This module's own parameters, without its sublayers' and those that are switched off (``bias=False``)."""
        return ((name, field) for name, field in type(self).learnt if name not in self.__typednn_storage__.absent)

    @property
    def owns_parameters(self) -> bool:
        """Whether this module itself declares a parameter that is not switched off."""
        learnt = type(self).learnt
        return bool(learnt) and any(name not in self.__typednn_storage__.absent for name, _ in learnt)

    @property
    def takes_update(self) -> bool:
        """Whether there is a parameter, or a hand-written ``update``, here or below, and it is not frozen."""
        return not self.frozen and (
            type(self).updates_by_hand
            or self.owns_parameters
            or any(child.takes_update for _, child in self.children())
        )

    def shared_parameters(self) -> list[tuple[str, ...]]:
        """The dotted names under which layers hold one parameter, the first holder's first; of each shared parameter a
        tuple.
        """
        names: dict[int, list[str]] = {}
        for path, module in self.named_modules():
            for name, field in module.held_parameters():
                names.setdefault(id(field.cell(module)), []).append(f"{path}.{name}" if path else name)
        return [tuple(together) for together in names.values() if len(together) > 1]

    # ------------------------------------------------------------------ a gradient beside the tree

    def gradient_of(self, grad: Any, name: str) -> Any:
        """The part of this module's gradient that belongs to its parameter or sublayer ``name`` (``"fc1"``,
        ``"blocks.0"``).
        """
        path = type(self).gradient_prefix + name
        if path.isidentifier():
            return getattr(grad, path)
        for part in path.split("."):
            grad = grad[int(part)] if part.isdigit() else getattr(grad, part)
        return grad

    def own_uses(self, grad: Any) -> Iterator[tuple[str, Cell, AnyArray]]:
        """This module's own parameters: the name, the cell, and the derivative in ``grad``."""
        storage = self.__typednn_storage__
        for name, _ in type(self).learnt:
            if name not in storage.absent:
                cell = storage.cells[name]
                if cell.array is None:
                    getattr(self, name)  # raises NotInitialised, before anything is said of the gradient
                yield name, cell, self.part_of(grad, name)

    def uses(self, grad: Any, prefix: str = "") -> tuple[list[Use], bool]:
        """Each parameter here and below, in the order of declaration, shared ones as often as they are used.

        Beside that, whether an ``update`` here or below is hand-written.
        """
        uses: list[Use] = [(prefix + name, cell, derivative, self) for name, cell, derivative in self.own_uses(grad)]
        by_hand = type(self).updates_by_hand
        for name, child in self.children():
            if child.takes_update:
                below, hand_written = child.uses(self.part_of(grad, name), f"{prefix}{name}.")
                uses += below
                by_hand |= hand_written
        return uses, by_hand

    def part_of(self, grad: Any, name: str) -> Any:
        """`gradient_of`, and `StateError` where the gradient has no such part."""
        try:
            return self.gradient_of(grad, name)
        except (AttributeError, IndexError, TypeError):
            rule = f"its gradient must have a part for {name!r}"
            cure = f"hand it what its own backward returned, with a field {name.partition('.')[0]!r}"
            raise StateError(explain(self.label(), rule, type(grad).__name__, cure), self) from None

    def shared_leaves(self, grad: Any) -> list[tuple[str, ...]]:
        """Which leaves of this module's gradient are one shared parameter's, by their names in ``grad``: the first use
        first.
        """
        if not self.shared_parameters():
            return []
        names: dict[int, list[str]] = {}
        for name, leaf in named_leaves(grad):
            names.setdefault(id(leaf), []).append(name)
        together: dict[int, list[str]] = {}
        for _, cell, derivative, _ in self.uses(grad)[0]:
            together.setdefault(id(cell), []).append(names[id(derivative)].pop(0))
        return [tuple(names) for names in together.values() if len(names) > 1]

    # ------------------------------------------------------------------ shapes before any array

    def trace(self, flow: Flow) -> Flow:
        """The shapes after this layer, from its annotations alone; `StackError` where they cannot fit."""
        try:
            return self.flow_after(flow)
        except StackError as error:
            error.layers.append(self)
            raise

    def flow_after(self, flow: Flow) -> Flow:
        """What `trace` gives; derive it where a layer's own annotations do not say how the layers
        inside it use theirs.
        """
        if self.shape_contracts:
            return flow.through_one(self.label(), self.shape_contracts, attribute_lookup(self))
        contract: Any = contract_of(type(self), "forward")
        inner = [field.use(self) for field in type(self).inside if field.name in vars(self)]
        return flow.through(
            self.label(), contract.hints[0].dim_str, contract.result.dim_str, attribute_lookup(self), inner=inner
        )

    def shape_after(self, shape: Sequence[int]) -> tuple[int, ...] | None:
        """The shape that comes out for one that goes in, batch included; None where it does not fit, or `trace` has to
        say it.
        """
        contract = contract_of(type(self), "forward")
        if contract is None or type(self).flow_after is not Node.flow_after or type(self).inside:
            return None
        for text in self.shape_contracts:
            inputs, output, where = split_contract(text)
            if rank(inputs) == len(shape):
                return outcome(inputs, output, where)(self, shape)
        return None if self.shape_contracts else contract.outcome(self, shape)

    def check_sizes(self, inputs: Sequence[Any]) -> None:
        """Called with inputs of sizes other than the last call's, ahead of any arithmetic; stacks look through to their
        parts.
        """


def summed(uses: Sequence[Use]) -> Iterable[tuple[str, Cell, AnyArray]]:
    """Each parameter once: its first name, its cell, and the sum of the derivatives by its uses."""
    sums: dict[int, tuple[str, Cell, AnyArray]] = {}
    for name, cell, derivative, _ in uses:
        earlier = sums.get(id(cell))
        sums[id(cell)] = (
            (name, cell, derivative) if earlier is None else (earlier[0], cell, add(earlier[2], derivative))
        )
    return sums.values()


def modules_in(name: str, value: object) -> Iterator[tuple[str, Node]]:
    """The modules that an attribute holds: itself, or inside lists, tuples and dicts."""
    # Not isinstance: Node's metaclass, a Protocol's, takes 20 times as long to answer, and a step asks for every
    # attribute.
    if Node in type(value).__mro__:
        yield name, cast("Node", value)
    elif isinstance(value, list | tuple | dict):
        parts = (
            cast("Mapping[object, object]", value).items()
            if isinstance(value, dict)
            else enumerate(cast("Sequence[object]", value))
        )
        for key, part in parts:
            yield from modules_in(f"{name}.{key}", part)
