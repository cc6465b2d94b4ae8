"""A node of an ONNX file: its attributes and inputs, and what is known of the graph around it."""

# An input may be a tensor, an array or None.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn, final

import numpy as np

from typednn.arrays import is_floating, is_number
from typednn.errors import ArgumentError, explain
from typednn.files import File
from typednn.graph.graph import Shape
from typednn.graph.nodes import tensor
from typednn.graph.tensor import AnyTensor, Tensor

Array = np.ndarray[Any, Any]
FEW: Final = 1 << 16  # numbers in a list of sizes, axes or places

# What an attribute may say without changing anything here.
HARMLESS: Final = frozenset({
    ("storage_order", 0), ("ceil_mode", 0), ("auto_pad", "NOTSET"), ("training_mode", 0), ("spatial", 1), ("is_test",
        1), ("allowzero", 0),
    ("consumed_inputs", 0), ("noop_with_empty_axes", 0), ("stash_type", 1), ("select_last_index", 0), ("fmod", 0),
    ("antialias", 0),
    ("keep_aspect_ratio_policy", "stretch"), ("exclude_outside", 0), ("saturate", 1),
})  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class Operation:
    """A node of a file, its attributes read."""

    kind: str
    name: str
    inputs: tuple[str, ...]  # empty for one that is left out
    outputs: tuple[str, ...]
    options: Mapping[str, Any]
    domain: str = ""

    def label(self) -> str:
        """What messages call it."""
        return self.name or next(filter(None, self.outputs), self.kind)


@final
@dataclass(slots=True)
class Context:
    """What is known of a file's graph."""

    place: str  # the file's path
    opset: int = 1
    dtype: Any = None  # of the model's floats
    fixed: int = 0  # samples, where the file has a batch of one size; constants of it mean the batch's
    file: File | None = None  # whose reader may take so much memory; a model that runs may take what there is
    constants: dict[str, Array] = field(default_factory=dict[str, Array])
    learnt: set[str] = field(default_factory=set[str])  # constants that are weights
    # by output: what is computed of sizes, and can't be before
    late: dict[str, Operation] = field(default_factory=dict[str, Operation])
    # of each value its shape there, of a batch of `BATCH`
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])

    def wrong(self, rule: str, got: str, cure: str = "", where: str = "") -> NoReturn:
        """The error for a file, or for a place in it, that breaks a rule."""
        raise ArgumentError(explain(self.place + where, rule, got, cure), "path") from None

    def refuse(self, node: Operation, got: str) -> NoReturn:
        """The error for a node that cannot be read."""
        rule, cure = "each operator is one that is known, of what it can read", "`typednn docs exchange` lists them"
        self.wrong(rule, got, f"{cure}; build the model by hand", f", node {node.label()!r}")


@final
@dataclass(slots=True)
class Call:
    """One use of an operation: its attributes, and what is known of the graph and of the batch."""

    operation: Operation
    context: Context
    dtype: Any  # of the model's floats
    batch: int = 0  # samples, of the batch for which a formula is recorded
    # constants that were computed: the same array each time
    own: dict[Any, Array] = field(default_factory=dict[Any, Array])
    read: set[str] = field(default_factory=set[str])

    def refuse(self, got: str) -> NoReturn:
        """The error for what an operator is not asked to do here."""
        raise ArgumentError(got, "path")

    def option(self, name: str, default: Any = None) -> Any:
        """An attribute, or its default."""
        self.read.add(name)
        return self.operation.options.get(name, default)

    def rest(self) -> None:
        """Refuse an attribute that nobody has asked for, unless it says what is so anyway."""
        for name, value in self.operation.options.items():
            if name not in self.read and (isinstance(value, list) or (name, value) not in HARMLESS):
                self.refuse(f"{self.operation.kind} with {name}={value!r}")

    # -------------------------------------------------------------- inputs

    def constant(self, value: Any, what: str) -> Array:
        """An input that must be known before the model runs."""
        if isinstance(value, Tensor) or value is None:
            self.refuse(
                f"{self.operation.kind} whose {what} is {'missing' if value is None else 'computed from the input'}"
            )
        return np.asarray(value)

    def integers(self, value: Any, what: str) -> list[int]:
        """The same as a list of integers."""
        array = self.constant(value, what).reshape(-1)
        if array.size > FEW:
            self.refuse(f"{self.operation.kind} whose {what} has {array.size:,} numbers")
        if array.size and array.dtype.kind not in "iu":
            self.refuse(f"{self.operation.kind} whose {what} is {array.dtype}, not integers")
        found: list[int] = array.astype(np.int64).tolist()
        return found

    def given(self, name: str, value: Any, default: Any = None) -> Any:
        """Integers that are an input in newer operator sets, and an attribute in older ones."""
        return self.option(name, default) if value is None else self.integers(value, name)

    def tensor(self, value: Any) -> AnyTensor:
        """An input as a tensor; floats have the model's dtype."""
        if isinstance(value, Tensor):
            return value
        array = np.asarray(value)
        if is_floating(array.dtype) and array.dtype != self.dtype:
            array = array.astype(self.dtype)
        if array.flags.writeable or not array.flags.c_contiguous:
            array = np.ascontiguousarray(array).reshape(array.shape)
            array = self.own.setdefault((array.dtype.str, array.shape, array.tobytes()), array)
            array.flags.writeable = False
        return tensor(array)

    def beside(self, value: Any, other: Any) -> Any:
        """An input beside another; one number is a number."""
        if not isinstance(value, Tensor):
            array = np.asarray(value)
            alike = is_number(array.dtype) and is_floating(array.dtype) == is_floating(other.dtype)
            if array.size == 1 and array.ndim <= other.ndim and alike:
                return array.reshape(-1)[0].item()
        return self.tensor(value)

    def bounded(self, shape: Sequence[int]) -> Shape:
        """The shape of an array that is made of constants; a `DataError` where that takes more memory than the reader
        may.
        """
        if min(shape, default=0) < 0:
            self.refuse(f"{self.operation.kind} to the shape {tuple(shape)[:8]}")
        if self.context.file is not None:
            self.context.file.room(8 * math.prod(shape))
        return tuple(shape)


def computed(*values: Any) -> bool:
    """Whether one of the values is a tensor."""
    return any(isinstance(each, Tensor) for each in values)


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from the front."""
    if not -rank <= axis < max(rank, 1):
        raise ArgumentError(f"axis {axis} of {rank}", "path")
    return axis % rank if rank else 0
