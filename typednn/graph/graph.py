"""Graph: all nodes of this process, what is known of each beside the slab, and how long they live.

A node lives while a `Tensor`, another node or a tape refers to it. Nothing is computed when a node is made. `realize`
computes; what it was asked for becomes a leaf and lets its inputs go, unless a tape lives: then it keeps its inputs
until the last tape is closed.

There is one graph, `GRAPH`: a tensor is only a number, and means a node of it. Threads may use it at once.
"""

import struct
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, final

import numpy as np

from typednn.arrays import is_floating
from typednn.engines.locks import Lock
from typednn.errors import StateError, explain
from typednn.graph.kinds import CODES, DTYPES, Kind
from typednn.graph.operations import OPERATIONS
from typednn.graph.slab import NONE, Slab

Shape: TypeAlias = tuple[int, ...]

_BITS = {"b": "<?7x", "i": "<q", "u": "<Q", "f": "<d"}


class Node(NamedTuple):
    """All that is known of a node. ``operation`` is a `Unary`, `Binary` or `Reduce` as a number; ``extra`` is what its
    kind has besides.
    """

    kind: Kind
    operation: int
    dtype: np.dtype[Any]
    shape: Shape
    inputs: tuple[int, ...]
    extra: Any
    references: int
    is_realized: bool


def bits_of(value: Any, dtype: np.dtype[Any]) -> tuple[int, int]:
    """A number of ``dtype`` as two words."""
    number = dtype.type(value).item()
    if not is_floating(dtype) and number != value:
        raise ValueError(value)
    low, high = struct.unpack("<II", struct.pack(_BITS[dtype.kind], number))
    return low, high


def number_of(low: int, high: int, dtype: np.dtype[Any]) -> Any:
    """The number that `bits_of` gave two words for."""
    return dtype.type(struct.unpack(_BITS[dtype.kind], struct.pack("<II", low, high))[0])


@final
class Graph:
    """The slab, and beside it by node: shapes, what kinds have besides their inputs, names, and the arrays of leaves
    and realized nodes.
    """

    def __init__(self) -> None:
        self.slab: Slab = Slab()
        self.shapes: list[Shape] = []
        self.extras: dict[int, Any] = {}
        self.arrays: dict[int, Any] = {}
        self.names: dict[int, str] = {}
        self.recorded: set[int] | None = None  # the nodes made while a tape lives
        self.tapes: int = 0
        # Nodes that tensors no longer refer to, NONE for a tape: a finaliser may run anywhere, so it only notes what
        # goes.
        self.dropped: deque[int] = deque()
        self.checks: bool = False  # whether every new node is checked: see `typednn.graph.debugging.Debug`
        self.lock: Lock = Lock()

    def push(
        self, kind: Kind, operation: int, dtype: int, shape: Shape, x: int = NONE, y: int = NONE, extra: Any = None
    ) -> int:
        """The number of a new node with one reference. ``x`` and ``y`` are its inputs; those of a CUSTOM node are in
        ``extra``.
        """
        slab = self.slab
        with self.lock():
            if self.dropped:
                self.collect()
            number = slab.insert(kind | operation << 8 | dtype << 16, x, y)
            if number == len(self.shapes):
                self.shapes.append(shape)
            else:
                self.shapes[number] = shape
            slab.retain(number)
            if kind > Kind.LEAF:
                if kind == Kind.CUSTOM:
                    for each in extra.inputs:
                        slab.retain(each)
                else:
                    slab.retain(x)
                    if y != NONE:
                        slab.retain(y)
            if extra is not None:
                self.extras[number] = extra
            if self.recorded is not None:
                self.recorded.add(number)
            if self.checks:
                try:
                    self.check(number)
                except StateError:
                    self._release(number)
                    raise
            return number

    def kind(self, number: int) -> Kind:
        """What the node ``number`` is."""
        return Kind(self.slab.tag(number) & 0xFF)

    def operation(self, number: int) -> int:
        """Which operation of its kind it is."""
        return self.slab.tag(number) >> 8 & 0xFF

    def dtype(self, number: int) -> np.dtype[Any]:
        """The dtype of its numbers."""
        return DTYPES[self.slab.tag(number) >> 16 & 0xFF]

    def inputs(self, number: int) -> tuple[int, ...]:
        """The nodes that it reads."""
        tag, x, y = self.slab.words(number)
        kind = tag & 0xFF
        if kind <= Kind.LEAF:
            return ()
        if kind == Kind.CUSTOM:
            inputs: tuple[int, ...] = self.extras[number].inputs
            return inputs
        return (x,) if y == NONE else (x, y)

    def constant(self, number: int) -> Any:
        """The number of a CONST."""
        entry = self.slab[number]
        return number_of(entry.x, entry.y, self.dtype(number))

    def node(self, number: int) -> Node:
        """All that is known of ``number``."""
        return Node(
            self.kind(number),
            self.operation(number),
            self.dtype(number),
            self.shapes[number],
            self.inputs(number),
            self.constant(number) if self.kind(number) == Kind.CONST else self.extras.get(number),
            self.slab[number].references,
            number in self.arrays,
        )

    def check(self, number: int) -> None:
        """`StateError` unless the shape beside the node is what its kind makes of its inputs, and these are there."""
        node = self.node(number)
        lost = [each for each in node.inputs if each not in self.slab or self.slab[each].references < 1]
        shapes = [self.shapes[each] for each in node.inputs]
        if lost or _expected(node, shapes) != node.shape:
            rule = f"{node.kind.name} of shapes {shapes} and {node.extra} gives its shape"
            raise StateError(explain(f"node {number}", rule, f"{node.shape}, with {len(lost)} inputs lost"))

    def collect(self) -> None:
        """Release what tensors no longer refer to, and close the tapes that nobody has any more."""
        with self.lock():
            while self.dropped:
                number = self.dropped.popleft()
                if number == NONE:
                    self.close_tape()
                else:
                    self._release(number)

    def retain(self, number: int) -> None:
        """One reference to ``number`` more."""
        with self.lock():
            self.slab.retain(number)

    def release(self, number: int) -> None:
        """One reference to ``number`` fewer; without any, it goes, and lets its inputs go."""
        with self.lock():
            self._release(number)

    def _release(self, number: int) -> None:
        slab, waiting = self.slab, [number]
        while waiting:
            each = waiting.pop()
            if slab.release(each):
                continue
            waiting += self.inputs(each)
            for known in (self.extras, self.arrays, self.names):
                known.pop(each, None)
            if self.recorded is not None:
                self.recorded.discard(each)
            slab.remove(each)

    def realized(self, number: int, array: Any) -> None:
        """``array`` holds the numbers of ``number`` from now on; without a tape, it needs its inputs no longer."""
        with self.lock():
            self.arrays[number] = array
            if self.recorded is None or number not in self.recorded:
                self._become_leaf(number)

    def _become_leaf(self, number: int) -> None:
        inputs = self.inputs(number)
        if self.kind(number) != Kind.LEAF:
            self.slab.replace(number, Kind.LEAF | CODES[self.dtype(number)] << 16)
            self.extras.pop(number, None)
        for each in inputs:
            self._release(each)

    def open_tape(self) -> None:
        """From now on, every node that is made is recorded."""
        with self.lock():
            self.tapes += 1
            self.recorded = set() if self.recorded is None else self.recorded

    def close_tape(self) -> None:
        """Without any tape left, what was realized needs its inputs no longer."""
        with self.lock():
            self.tapes -= 1
            if self.tapes == 0:
                recorded, self.recorded = self.recorded or set(), None
                self.collect()
                for number in recorded:
                    # Letting a node's inputs go may remove recorded nodes, and nothing is inserted meanwhile.
                    if number in self.slab and number in self.arrays:
                        self._become_leaf(number)

    def __len__(self) -> int:
        self.collect()
        return len(self.slab)

    @property
    def nbytes(self) -> int:
        """Bytes of the slab."""
        return self.slab.nbytes

    @property
    def bytes_beside(self) -> int:
        """Bytes of the maps beside the slab, without arrays: shapes that several nodes share are counted once."""
        from sys import getsizeof

        maps: Iterable[Any] = (self.shapes, self.extras, self.arrays, self.names)
        shapes = {id(shape): getsizeof(shape) for shape in self.shapes}
        return sum(map(getsizeof, maps)) + sum(shapes.values()) + sum(map(getsizeof, self.extras.values()))

    @property
    def bytes_held(self) -> int:
        """Bytes of the arrays that leaves and realized nodes hold."""
        self.collect()
        return sum(int(array.nbytes) for array in self.arrays.values() if hasattr(array, "nbytes"))

    def ancestors(self, numbers: Iterable[int], stop: Any = ()) -> list[int]:
        """``numbers`` and all that they are computed from, inputs first; nothing beyond ``stop``."""
        found: dict[int, None] = {}
        waiting: list[int] = list(numbers)
        while waiting:
            number = waiting.pop()
            if number < 0:  # all that it is computed from was found
                found.setdefault(~number)
            elif number not in found:
                waiting.append(~number)
                if number not in stop:
                    waiting += [each for each in self.inputs(number) if each not in found]
        return list(found)

    def expression(self, number: int, depth: int = 3) -> str:
        """How ``number`` is computed, as a formula of names and shapes, for messages."""
        name = self.names.get(number)
        shape = f"({', '.join(map(str, self.shapes[number]))})"
        if name is not None:
            return f"{name} {shape}"
        node = self.node(number)
        if node.kind == Kind.CONST:
            return f"{node.extra:g}" if is_floating(node.dtype) else str(node.extra)
        if node.kind == Kind.LEAF or depth == 0:
            return f"{'array' if node.kind == Kind.LEAF else '…'} {shape}"
        of = ", ".join(self.expression(each, depth - 1) for each in node.inputs)
        if node.kind in OPERATIONS:
            return f"{OPERATIONS[node.kind](node.operation).title}({of})"
        return f"{getattr(node.extra, 'name', node.kind.name.lower())}({of})"


def _expected(node: Node, shapes: Sequence[Shape]) -> Shape | None:
    """The shape that a node of inputs of these shapes has; None if it can have none."""
    if node.kind in (Kind.CONST, Kind.LEAF, Kind.CUSTOM):
        return node.shape
    x = shapes[0]
    if node.kind == Kind.EXPAND:
        return (
            tuple(new if old == 1 else old for old, new in zip(x, node.shape, strict=False))
            if len(x) == len(node.shape)
            else None
        )
    if node.kind == Kind.PERMUTE:
        order: Shape = node.extra
        return tuple(x[axis] for axis in order) if sorted(order) == list(range(len(x))) else None
    if node.kind == Kind.RESHAPE:
        return node.shape if product(x) == product(node.shape) else None
    if node.kind == Kind.PAD:
        return tuple(before + size + after for (before, after), size in zip(node.extra, x, strict=False))
    if node.kind == Kind.REDUCE:
        return tuple(size for axis, size in enumerate(x) if axis not in node.extra)
    return x if all(shape == x for shape in shapes) else None


def refuse_released(what: str) -> StateError:
    """The error for a tensor or tape that is used after its end."""
    return StateError(
        explain(what, "can be used until it is released", "a use after that", "keep it, or make it again")
    )


def product(sizes: Sequence[int]) -> int:
    """How many numbers an array of these sizes has."""
    total = 1
    for size in sizes:
        total *= size
    return total


GRAPH: Final = Graph()
