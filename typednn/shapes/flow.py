"""A shape that runs through a stack of layers, and remembers where its sizes come from.

    flow = Flow.start((28, 28, 1))                                     # Input(28, 28, 1); Flow.start() if nothing is
                                                                       declared
    flow = flow.through("Conv2d(1, 6, 5)", inputs, output, attributes)     # StackError where the layer cannot follow

Every step gives a new flow. An unknown size is a name. When a later layer decides its value, the flow
replaces the name everywhere. Sizes that may or may not be equal stay in ``open_constraints``; they are
decided by the first array, by running ``Flow.of(x.shape)`` through the same layers. ``contract`` is the whole
flow as one text, which `split_contract` takes apart into what `Flow.through` takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import TypeAlias

from typednn.errors import StackError
from typednn.shapes.axes import Mismatch, Shape, Slot, Unifier, align, count_axes, parse, product, rank, written
from typednn.shapes.cures import between
from typednn.shapes.dims import Dim, differ, same
from typednn.shapes.expressions import Lookup, evaluate, unknown, write


@dataclass(frozen=True, slots=True)
class Axis:
    """One size, and where it comes from if a layer computed it."""

    size: Dim | None
    # as text, or a layer's expression and its names
    formula: str | tuple[str, Unifier] | None = field(default=None, compare=False)
    origin: str = ""  # what that layer read: "from MaxPool2d on 10x10x16"

    @property
    def how(self) -> str:
        """The layer's expression with the sizes written in, ``5*5*16``; written only when needed."""
        if self.formula is None or isinstance(self.formula, str):
            return self.formula or ""
        text, unifier = self.formula
        how = write(text, unifier.lookup, unifier.attributes)
        return "" if how == str(self.size) else how

    def sized(self, size: Dim | None) -> Axis:
        """The same axis with a size that is known better."""
        return self if size is self.size else replace(self, size=size)

    @property
    def why(self) -> str:
        """`` (= 5*5*16, from MaxPool2d on 10x10x16)``, or nothing."""
        how = self.how
        return f" (= {', '.join(part for part in (how, self.origin) if part)})" if how else ""


@dataclass(frozen=True, slots=True)
class Constraint:
    """Two sizes that must be equal, and whose equality is not decided yet."""

    left: Dim
    right: Dim

    def __str__(self) -> str:
        return f"{self.left}=={self.right}"


# A wrapper's field: its name, the contract for the layers in it, and how a shape goes through each.
Field: TypeAlias = "tuple[str, str, Sequence[Callable[[Flow], Flow]]]"


@dataclass(frozen=True, slots=True)
class Flow:
    """An immutable shape between two layers; `start` or `of` makes one, `through` moves it on."""

    axes: tuple[Axis, ...] | None  # None: not even the number of axes is known
    began: tuple[Dim | None, ...] | None  # the shape before the first layer, in the names it was given
    previous: str = ""  # the layer before, or Input(...)
    origin: str = ""  # the last layer that changed the shape, and what it read
    trace: tuple[str, ...] = ()  # one line per layer
    undecided: tuple[Constraint, ...] = ()
    untouched: bool = True  # every layer so far kept the shape
    symbols: Mapping[str, Dim] = field(default_factory=dict[str, Dim])  # every name used so far -> what is known of it

    @staticmethod
    def start(sample: Sequence[int] | None = None) -> Flow:
        """The shape that ``Input(28, 28, 1)`` declares, without the batch; None: nothing is declared."""
        if sample is None:
            return Flow(None, None)
        declared = f"Input({', '.join(map(str, sample))})"
        return replace(Flow.of([Dim.named("batch"), *sample]), previous=declared, origin=f"from {declared}")

    @staticmethod
    def of(shape: Sequence[Dim | int | None]) -> Flow:
        """The shape that an array has, batch included."""
        dims = tuple(Dim.of(size) if isinstance(size, int) else size for size in shape)
        names = {name: Dim.named(name) for dim in dims if dim is not None for name in dim.names()}
        return Flow(tuple(map(Axis, dims)), dims, f"an array of shape ({_listed(dims, ', ')})", symbols=names)

    @property
    def shape(self) -> list[Dim | None] | None:
        """The sizes by now, None where one is unknown."""
        return None if self.axes is None else [axis.size for axis in self.axes]

    def sizes(self) -> tuple[int, ...] | None:
        """The sizes of one sample, if all are numbers."""
        known = [None if axis.size is None else axis.size.value for axis in (self.axes or ())[1:]]
        numbers = tuple(size for size in known if size is not None)
        return None if self.axes is None or len(numbers) < len(known) else numbers

    @property
    def open_constraints(self) -> tuple[Constraint, ...]:
        """What must hold besides ``began``: sizes that may be equal, and the values of names that layers introduced."""
        initial = {name for dim in self.began or () if dim is not None for name in dim.names()}
        introduced = (Constraint(Dim.named(name), dim) for name, dim in self.symbols.items() if name not in initial)
        return self.undecided + tuple(constraint for constraint in introduced if constraint.left != constraint.right)

    @property
    def contract(self) -> str:
        """``batch 28 28 1 -> batch 10``, and `` if `` what is still open."""
        any_shape = "*shape" if self.untouched else "..."
        began = None if self.began is None else [axis.size for axis in self._updated(map(Axis, self.began))]
        ends = " -> ".join(any_shape if dims is None else _listed(dims, " ") for dims in (began, self.shape))
        return f"{ends}{' if ' if self.open_constraints else ''}{', '.join(map(str, self.open_constraints))}"

    def __str__(self) -> str:
        return self.contract

    def through(
        self,
        label: str,
        inputs: str,
        output: str,
        attributes: Lookup = unknown,
        where: Sequence[str] = (),
        inner: Sequence[Field] = (),
    ) -> Flow:
        """The shape after one layer, given its two annotations.

        ``where`` holds conditions between its sizes, ``height*width==400``: the open constraints of a stack that
        is used as one layer. ``inner`` says how a wrapper uses the layers of each of its fields:
        ``("inner", "batch*time in_features -> batch*time out_features", [layer.trace])``. Left of the arrow is what
        they read, in names bound before; right of it what they must give, which binds new names (see `uses`).
        """
        output, used = uses(output, inner)
        flow = self._opened(inputs, attributes)
        unifier = Unifier(attributes)
        known = unifier.bind(inputs, flow.shape)
        for condition in where:
            unifier.require(condition)
        if unifier.mismatches:
            raise flow._misfit(label, unifier.mismatches[0])
        if flow.axes is not None and known is not None:
            flow = replace(flow, axes=tuple(map(Axis.sized, flow.axes, known)))
        named = _named(inputs, flow.axes)
        # what all branches read may be decided by a later one
        if flow.axes is None and any(use.branch for use in used):
            opened = flow
            for use in used:
                opened, _ = opened._around(label, inputs, use, unifier, _named(inputs, opened.axes))
            flow = replace(opened, trace=flow.trace)
            named = _named(inputs, flow.axes)
        for use in used:
            flow, outputs = flow._around(label, inputs, use, unifier, named)
            named = _named(inputs, flow.axes) | outputs | named
        kept = inputs.split() == output.split() and all(slot.text and not slot.broadcast for slot in parse(inputs))
        after = (flow if kept and flow.axes is not None else flow._outcome(label, output, unifier, named))._settled(
            label, unifier
        )
        before = flow.axes and after._updated(flow.axes)
        kept = kept or (bool(inner) and after.axes is not None and after.axes == before)
        return replace(
            after,
            previous=label,
            origin=flow.origin if kept else f"from {label.partition('(')[0]} on {_sample(before)}",
            trace=(*after.trace, f"{label}  {_sample(before)} -> {_sample(after.axes)}"),
            untouched=flow.untouched and kept,
        )

    def through_one(self, label: str, contracts: Sequence[str], attributes: Lookup = unknown) -> Flow:
        """`through` the contract that reads as many axes as there are; where that is not known, what
        all of them give.
        """
        known = list(map(split_contract, contracts))
        if self.axes is None and len(known) > 1:
            outputs = {output for _, output, _ in known}
            ranks = {rank(output) for output in outputs}
            shared = (
                next(iter(outputs))
                if len(outputs) == 1
                else "batch" + " _" * (min(map(len, map(str.split, outputs))) - 1)
            )
            return self.through(label, "batch *sample", shared if len(ranks) == 1 else "batch *output", attributes)
        fitting = [each for each in known if self.axes is None or rank(each[0]) == len(self.axes)]
        if not fitting and len(known) > 1:
            raise self.wrong_rank(label, [len(parse(inputs)) for inputs, _, _ in known])
        inputs, output, where = (fitting or known)[0]
        return self.through(label, inputs, output, attributes, where)

    def _around(
        self, label: str, inputs: str, use: Use, unifier: Unifier, named: Mapping[str, tuple[Axis, ...]]
    ) -> tuple[Flow, dict[str, tuple[Axis, ...]]]:
        """This flow after layers inside a wrapper, which may decide names; and the axes that they give."""
        reads, gives, _ = split_contract(use.contract)
        after = entering = self._outcome(label, reads, unifier, named)._settled(label, unifier)
        for run in use.layers:
            after = run(after)
        unifier.refined |= {name: dim for name, dim in after.symbols.items() if dim != Dim.named(name)}
        axes, began = self.axes, after.began
        if entering.axes is None and self.untouched:  # the inner layer decides what the wrapper reads
            unifier.bind(reads, began)
            opened = unifier.result(inputs)
            axes, began = (None, None) if opened is None else (tuple(map(Axis, opened)), tuple(opened))
        unifier.bind(gives, after.shape)
        if unifier.mismatches:
            raise _inner_misfit(label, use, unifier, after)
        outside = replace(
            after, axes=axes, began=began, previous=self.previous, origin=self.origin, untouched=self.untouched
        )
        return outside, _named(gives, after.axes)

    def _opened(self, inputs: str, attributes: Lookup) -> Flow:
        """This flow; where the shape is unknown, with the layer's input annotation as the shape, its names as unknown
        sizes.
        """
        slots = parse(inputs)
        if self.axes is not None or any(slot.variadic for slot in slots):
            return self
        symbols, opened = dict(self.symbols), Unifier(attributes)
        opened.sizes.update(
            {name: _fresh(name, symbols) for name in dict.fromkeys(slot.text for slot in slots if slot.is_name)}
        )
        dims = tuple(opened.size(slot) for slot in slots)
        return replace(self, axes=tuple(map(Axis, dims)), began=dims if self.untouched else self.began, symbols=symbols)

    def _outcome(self, label: str, output: str, unifier: Unifier, named: Mapping[str, tuple[Axis, ...]]) -> Flow:
        """The flow with the shape that ``output`` promises: axes passed on keep their provenance, others get one."""
        axes: list[Axis] = []
        symbols = dict(self.symbols)
        for slot in parse(output):
            known = named.get(slot.key)
            if known is not None:
                axes.extend(known)
            elif slot.variadic:
                return replace(self, axes=None)
            else:
                if slot.is_name and slot.text not in unifier.sizes:
                    unifier.sizes[slot.text] = _fresh(slot.text, symbols)
                size = unifier.size(slot)
                if size is not None and size.value is not None and size.value < 1:
                    raise self._too_small(label, slot, size.value, unifier)
                axes.append(Axis(size) if size is None else Axis(size, (slot.text, unifier), self.origin))
        return replace(self, axes=tuple(axes), symbols=symbols)

    def _settled(self, label: str, unifier: Unifier) -> Flow:
        """Replace the names whose values are now known, and check the constraints that this decides."""
        flow = replace(self, symbols={name: dim.substitute(unifier.refined) for name, dim in self.symbols.items()})
        undecided: list[Constraint] = []
        for constraint in [*self.undecided, *(Constraint(*pair) for pair in unifier.open)]:
            left, right = constraint.left.substitute(flow.symbols), constraint.right.substitute(flow.symbols)
            if differ(left, right):
                raise self._misfit(label, Mismatch(None, str(constraint.left), str(right), str(left), str(constraint)))
            if not same(left, right):
                undecided.append(Constraint(left, right))
        return replace(flow, axes=self.axes and flow._updated(self.axes), undecided=tuple(dict.fromkeys(undecided)))

    def _updated(self, axes: Iterable[Axis]) -> tuple[Axis, ...]:
        return tuple(axis.sized(None if axis.size is None else axis.size.substitute(self.symbols)) for axis in axes)

    def _misfit(self, label: str, mismatch: Mismatch) -> StackError:
        why = self.axes[mismatch.axis_index].why if self.axes is not None and mismatch.axis_index is not None else ""
        if mismatch.how:
            why = f" (= {', '.join(part for part in (mismatch.how, self.origin) if part)})"
        if not mismatch.label and (cure := between(rank(mismatch.source), len(self.axes or ()))):
            why = f"; {cure}"
        return StackError(
            f"{self._refused(label)}: {mismatch.sentence(why)}",
            "size" if mismatch.label else "rank",
            axis=mismatch.label,
            expected=mismatch.expected,
            got=mismatch.got,
            argument=mismatch.argument,
            trace=self.trace,
        )

    def _too_small(self, label: str, slot: Slot, got: int, unifier: Unifier) -> StackError:
        """The error of an empty output: which axis, the arithmetic, and how large the input must be."""
        formula = evaluate(slot.text, Dim.named, unifier.attributes)
        names = sorted(formula.names()) if formula is not None else []
        how = write(slot.text, unifier.lookup, unifier.attributes)
        rule = f"{formula if names else slot.label} is {got}{f' (= {how})' if how != str(got) else ''}"
        cure = "; every size must be at least 1"
        current = unifier.lookup(names[0]) if len(names) == 1 else None
        if formula is not None and current is not None and current.value is not None:
            larger = range(current.value + 1, current.value + 1024)
            enough = (size for size in larger if (formula.substitute({names[0]: Dim.of(size)}).value or 0) >= 1)
            cure = next((f"; {names[0]} must be at least {size}" for size in enough), cure)
        window = re.search(r"self\.(kernel\w*)", slot.source)
        reason = "kernel does not fit" if window else "input is too small" if names else "output is empty"
        return StackError(
            f"{self._refused(label)}: {reason}: {rule}{cure}",
            "empty",
            axis=names[0] if names else slot.label,
            expected="at least 1",
            got=str(got),
            argument=window[1] if window else "",
            trace=self.trace,
        )

    def _refused(self, label: str) -> str:
        return f"{label} cannot follow {self.previous}" if self.previous else label

    def wrong_rank(self, label: str, ranks: Sequence[int]) -> StackError:
        """The error of a layer that reads only the numbers of axes in ``ranks``."""
        *others, last = map(str, ranks)
        expected, got = (
            f"{', '.join(others)}{' or ' * bool(others)}{last} axes",
            count_axes(list(map(written, self.shape or ()))),
        )
        return self._misfit(label, Mismatch(None, "", expected, got, " ".join("_" * ranks[0])))


@dataclass(frozen=True, slots=True)
class Use:
    """Layers inside a wrapper, one after another: what the first reads and the last must give."""

    name: str
    contract: str
    layers: Sequence[Callable[[Flow], Flow]]
    like: str = ""  # the name of the first one that must give the same
    branch: bool = False  # whether it is one of several side by side


def uses(output: str, inner: Sequence[Field]) -> tuple[str, list[Use]]:
    """What a wrapper gives, and how it uses the layers of each of its fields, given as in `Flow.through`.

    Several layers of a field stand one after another. ``batch *input -> batch *image +channels`` puts them side by
    side: each reads the same, and the output's ``channels`` is the sum of what each gives. A field without a layer
    passes on what it would have read.
    """
    passed: dict[str, str] = {}
    for _, contract, layers in inner:
        reads, gives, _ = split_contract(contract)
        if not layers and len(reads.split()) == len(gives.split()):
            pairs = zip(parse(gives), parse(reads), strict=True)
            passed |= {new.key: old.key for new, old in pairs if new.key and old.key and new.variadic == old.variadic}

    def renamed(text: str) -> str:
        names = r"(?<!\S)\*\w+|(?<![\w.])[A-Za-z_]\w*"
        return re.sub(names, lambda name: passed.get(name[0], name[0]), text) if passed else text

    output, used, first = renamed(output), list[Use](), dict[str, str]()
    for own, contract, layers in inner:
        plain, added = side_by_side(renamed(contract))
        if not added:
            used.append(Use(own, plain, layers, first.get(plain, "")))
            first.setdefault(plain, own)
            continue
        reads, gives, _ = split_contract(plain)
        names = [f"{added}_{place}" for place in range(len(layers))]
        used += [
            Use(
                f"{own}.{place}",
                f"{reads} -> {_put(gives, added, name)}",
                [layer],
                f"{own}.0" * (place > 0),
                branch=True,
            )
            for place, (name, layer) in enumerate(zip(names, layers, strict=True))
        ]
        output = _put(output, added, "+".join(names))
    return output, used


def side_by_side(contract: str) -> tuple[str, str]:
    """A contract without its ``+``, and the name of the axis that had it; empty where the layers stand one after
    another.
    """
    added = re.search(r"(?<!\S)\+([A-Za-z_]\w*)", contract)
    return (contract, "") if added is None else (contract.replace(added[0], added[1]), added[1])


def _put(annotation: str, name: str, text: str) -> str:
    return " ".join(text if word == name else word for word in annotation.split())


def split_contract(contract: str) -> tuple[str, str, tuple[str, ...]]:
    """``inputs -> output if a==b, c==d`` as the three arguments of `Flow.through`."""
    annotations, _, conditions = contract.partition(" if ")
    inputs, _, output = annotations.partition(" -> ")
    return inputs, output, tuple(conditions.split(", ")) if conditions else ()


def _named(annotation: str, axes: tuple[Axis, ...] | None) -> dict[str, tuple[Axis, ...]]:
    """The axes that an annotation's names stand for; those of ``*shape`` together."""
    if axes is None:
        return {}
    slots = parse(annotation)
    named: dict[str, tuple[Axis, ...]] = {slot.key: () for slot in slots if slot.variadic and slot.key}
    for slot, axis in zip(align(slots, len(axes)) or (), axes, strict=False):
        if slot.variadic and slot.key:
            named[slot.key] = (*named[slot.key], axis)
        elif slot.key:
            named.setdefault(slot.key, (axis,))
    return named


def _fresh(name: str, symbols: dict[str, Dim]) -> Dim:
    """A name that no size has yet; it is added to ``symbols``."""
    names = chain([name], (f"{name}_{number}" for number in count(2)))
    free = next(candidate for candidate in names if candidate not in symbols)
    return symbols.setdefault(free, Dim.named(free))


def _listed(dims: Shape, separator: str) -> str:
    return separator.join(map(written, dims))


def _sample(axes: tuple[Axis, ...] | None) -> str:
    return "..." if axes is None else product([axis.size for axis in axes[1:]])


def _arithmetic(gives: str, axis: str, after: Flow) -> str:
    """`` (= 10-4 x 10-4, from Input(10, 10, 1))`` of the axes that a name stands for in what a layer
    gives, or nothing.
    """
    axes = _named(gives, after.axes).get(axis, ())
    origin = next((each.origin for each in axes if each.how), None)
    how = " x ".join(each.how or written(each.size) for each in axes)
    return "" if origin is None else f" (= {', '.join(part for part in (how, origin) if part)})"


def _inner_misfit(label: str, use: Use, unifier: Unifier, after: Flow) -> StackError:
    """The error of a wrapper that cannot use what the layer inside it gives."""
    mismatch, (reads, gives, _) = unifier.mismatches[0], split_contract(use.contract)
    inputs, outputs = unifier.result(reads), after.shape
    if reads.split() == gives.split() and inputs is not None and outputs is not None:
        start = int(product(inputs[1:]) != product(outputs[1:]))  # the batch is written only where nothing else differs
        expected, got = product(inputs[start:]), product(outputs[start:])
        message = f"{label}: the inner layer must keep the shape: gets {expected}, gives {got}"
        return StackError(message, "shape", expected=expected, got=got, trace=after.trace)
    expected, got, axis = mismatch.expected, mismatch.got, mismatch.label
    wanted = f"{axis}={expected}" if axis and not axis.startswith("*") else expected
    message = f"{label}: the inner layer must give {wanted}, gives {got}"
    if use.like:
        before = " before the last axis" if use.branch else ""
        message = (
            f"{label}: {use.name} must give {wanted}{before}, as {use.like} does, gives "
            f"{got}{_arithmetic(gives, axis, after)}"
        )
    return StackError(message, "size" if axis else "rank", axis=axis, expected=expected, got=got, trace=after.trace)
