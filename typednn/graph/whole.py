"""Whole: an op of `typednn.kernels` as one node, with its fast kernel, and with the op's own backward as its
derivative.

    linear(x, weight, bias)                # one node: `typednn.kernels.linear`
    with decomposed():
        linear(x, weight, bias)            # the same numbers, from the twelve kinds

What one call of a kernel gives together stays together: such a node's value is a tuple of arrays, and each `Part` takes
one of them. Equal nodes are computed once, so a backward runs once however many of its results are used, and finds what
forward kept. The arrays are copied where they are not C-contiguous. A derivative of a derivative is refused;
`decomposed` has them all.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar, Final, final

import numpy as np

from typednn.arrays import is_floating, namespace
from typednn.errors import ArgumentError, DTypeError, explain
from typednn.graph.custom import Function
from typednn.graph.graph import GRAPH, Shape
from typednn.graph.tensor import AnyTensor

_decomposed: Final[ContextVar[bool]] = ContextVar("decomposed", default=False)


@contextmanager
def decomposed() -> Generator[None]:
    """Within this block, of this thread, `linear`, convolutions and their like are made of the twelve kinds, and of no
    whole op.
    """
    before = _decomposed.set(True)
    try:
        yield
    finally:
        _decomposed.reset(before)


def takes_whole(*inputs: AnyTensor) -> bool:
    """Whether these are computed by a whole op: floats, outside of `decomposed`."""
    return not _decomposed.get() and is_floating(inputs[0].dtype)


class Whole(Function):
    """Base of the whole ops: derive a frozen dataclass of the op's settings, and write `run`, `derive` and
    `Function.result`.
    """

    # whether `run` gives a tuple: the result, then what `derive` needs besides the inputs
    keeps: ClassVar[bool] = False

    def run(self, *arrays: Any) -> Any:
        """The op's forward."""
        raise NotImplementedError

    def derive(self, wanted: tuple[bool, ...], next_grad: Any, *arrays: Any) -> Sequence[Any]:
        """The op's backward: an array for each input that is ``wanted``. The last of ``arrays`` is what `run` gave,
        where it ``keeps``.
        """
        raise NotImplementedError

    @final
    def of(self, *inputs: AnyTensor) -> AnyTensor:
        """A node for the result."""
        if len({each.dtype for each in inputs if is_floating(each.dtype)}) > 1:
            got = ", ".join(f"{each.dtype}: {GRAPH.expression(each.id)}" for each in inputs)
            raise DTypeError(explain(self.name, "takes tensors of one dtype", got, "cast one of them"))
        together = self(*inputs)
        return Part(0, together.shape, together.dtype, self.name, True)(together) if self.keeps else together

    @final
    def forward(self, *arrays: Any) -> Any:
        return self.run(*map(_contiguous, arrays))

    @final
    def derivatives(self, next_grad: AnyTensor, wanted: tuple[bool, ...], *inputs: AnyTensor) -> Any:
        kept = (self(*inputs),) if self.keeps else ()
        together = Derived(self, wanted)(next_grad, *inputs, *kept)
        return tuple(
            Part(place, each.shape, each.dtype, f"{self.name}.backward", False)(together) if want else None
            for place, (each, want) in enumerate(zip(inputs, wanted, strict=True))
        )


@final
@dataclass(frozen=True)
class Derived(Function):
    """All derivatives of a whole op: a tuple of arrays, None for those that are not wanted."""

    op: Whole
    wanted: tuple[bool, ...]

    @property
    def name(self) -> str:
        return f"{self.op.name}.backward"

    def result(self, *inputs: AnyTensor) -> tuple[Shape, np.dtype[Any]]:
        return (), inputs[0].dtype

    def forward(self, *arrays: Any) -> Any:
        return tuple(self.op.derive(self.wanted, *map(_contiguous, arrays)))

    def backward(self, next_grad: AnyTensor, *inputs: AnyTensor) -> Any:
        raise _refuse_second(self.op.name)


@final
@dataclass(frozen=True)
class Part(Function):
    """One array of a tuple. ``is_result``: it is what a whole op gives; else it is one of a whole op's derivatives."""

    place: int
    shape: Shape
    dtype: np.dtype[Any]
    label: str
    is_result: bool

    @property
    def name(self) -> str:
        return self.label

    def result(self, *inputs: AnyTensor) -> tuple[Shape, np.dtype[Any]]:
        return self.shape, self.dtype

    def forward(self, *arrays: Any) -> Any:
        return arrays[0][self.place]

    def backward(self, next_grad: AnyTensor, *inputs: AnyTensor) -> Any:
        if self.is_result:
            return next_grad
        raise _refuse_second(self.label.removesuffix(".backward"))


def _contiguous(value: Any) -> Any:
    """An array adjacent in memory; what a whole op keeps, a tuple, as it is."""
    array: Any = value
    return array if isinstance(value, tuple) else namespace(array).ascontiguousarray(array).reshape(array.shape)


def _refuse_second(name: str) -> ArgumentError:
    cure = "build it within typednn.graph.decomposed()"
    return ArgumentError(
        explain(name, "is a whole op, which has a first derivative only", "a derivative of its derivative", cure)
    )
