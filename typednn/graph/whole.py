"""Whole: an op of `typednn.kernels` as one node, with its fast kernel, and with the op's own backward as its
derivative.

    linear(x, weight, bias)                # one node: `typednn.kernels.linear`
    with decomposed():
        linear(x, weight, bias)            # the same numbers, from the twelve kinds

All that a node needs is in the op's declaration (`typednn.kernels.op`): the names of the arguments, the results that
backward reads, and backward itself, which gives a derivative for each of forward's first arguments, in their order.

What one call of a kernel gives together stays together: such a node's value is a tuple of arrays, and each `Part` takes
one of them. Equal nodes are computed once, so a backward runs once however many of its results are used, and finds what
forward kept. The arrays are copied where they are not C-contiguous. A derivative of a derivative is refused;
`decomposed` has them all.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, signature
from typing import Any, Final, NoReturn, cast, final

import numpy as np

from typednn.arrays import is_floating, namespace
from typednn.errors import ArgumentError, DTypeError, explain
from typednn.graph.custom import Function
from typednn.graph.graph import GRAPH, Shape
from typednn.graph.tensor import AnyTensor, Tensor
from typednn.kernels.op import Op

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


@dataclass(frozen=True)
class Whole(Function):
    """The forward of ``op``, of the tensors that it ``takes``, by the names of its arguments, and of ``settings``.

    Arguments of the op that are called ``shape`` and ``input_shape`` get those of the node and of its first tensor, and
    ``wants_input`` and ``wants_bias`` of backward whether somebody reads these derivatives. Derive from it where `run`
    or `derive` do more than the op does.
    """

    op: Op
    takes: tuple[str, ...]
    settings: tuple[tuple[str, Any], ...]
    shape: Shape

    @classmethod
    @final
    def of(cls, forward: Any, shape: Shape, /, **arguments: Any) -> AnyTensor:
        """A node of ``shape`` for the result of ``forward``, an op; its dtype is the first tensor's.

        ``arguments`` are those of forward and of backward, by name; the tensors among them in forward's order, as far
        as backward gives derivatives.
        """
        inputs: dict[str, AnyTensor] = {name: each for name, each in arguments.items() if isinstance(each, Tensor)}
        settings = tuple([(name, each) for name, each in arguments.items() if name not in inputs])
        op = cls(forward.op, tuple(inputs), settings, shape)
        dtypes = {each.dtype for each in inputs.values()}
        if len(dtypes) > 1 and sum(map(is_floating, dtypes)) > 1:
            got = ", ".join(f"{each.dtype}: {GRAPH.expression(each.id)}" for each in inputs.values())
            raise DTypeError(explain(op.name, "takes tensors of one dtype", got, "cast one of them"))
        together = op(*inputs.values())
        return Part(0, shape, together.dtype, op.name, True)(together) if op.kept else together

    @property
    def name(self) -> str:
        """As ``MaxPool2d`` for ``max_pool2d.forward``."""
        return _name(self.op)

    @property
    def kept(self) -> tuple[str, ...]:
        """The names of forward's results, the op's first, where backward reads one of them; else none."""
        return _kept(self.op)

    def run(self, given: Mapping[str, Any]) -> Any:
        """The op's forward of arguments by name."""
        return _called(self.op, given)

    def derive(self, given: Mapping[str, Any]) -> Any:
        """The op's backward of arguments by name, ``next_grad`` and what forward kept among them."""
        return _called(self.op.backward, given)

    def result(self, *inputs: AnyTensor) -> tuple[Shape, np.dtype[Any]]:
        return self.shape, inputs[0].dtype

    @final
    def forward(self, *arrays: Any) -> Any:
        found = self.run(self._given(arrays))
        return found if self.kept or not isinstance(found, tuple) else cast("Any", found)[0]

    def _given(self, arrays: tuple[Any, ...]) -> dict[str, Any]:
        given = dict(self.settings, shape=self.shape, input_shape=arrays[0].shape)
        given.update(zip(self.takes, map(_contiguous, arrays), strict=False))
        return given

    @final
    def derivatives(
        self, next_grad: AnyTensor, wanted: tuple[bool, ...], *inputs: AnyTensor
    ) -> tuple[AnyTensor | None, ...]:
        together = Derived(self, wanted)(next_grad, *inputs, *((self(*inputs),) if self.kept else ()))
        return tuple(
            Part(place, each.shape, each.dtype, f"{self.name}.backward", False)(together) if want else None
            for place, (each, want) in enumerate(zip(inputs, wanted, strict=True))
        )

    @final
    def derived(self, wanted: tuple[bool, ...], next_grad: Any, *arrays: Any) -> tuple[Any, ...]:
        """The derivatives; the last of ``arrays`` is what forward gave, where something is ``kept``."""
        given = self._given(arrays) | {"next_grad": _contiguous(next_grad)}
        if self.kept:
            given |= zip(self.kept, arrays[-1], strict=True)
        wants = dict(zip(self.takes, wanted, strict=True))
        given |= {"wants_input": wanted[0], "wants_bias": wants.get("bias", False)}
        found = self.derive(given)
        return cast("Any", found) if isinstance(found, tuple) else (found,)


@cache
def _name(op: Op) -> str:
    return "".join(word.capitalize() for word in op.name.partition(".")[0].split("_"))


@cache
def _kept(op: Op) -> tuple[str, ...]:
    """The results of ``op`` by name, if one of them is an argument that its backward can't do without."""
    arguments: Mapping[str, Parameter] = {} if op.backward is None else signature(op.backward.reference).parameters
    results = tuple(dict.fromkeys(["y", *(name for name in op.keeps if name not in op.names)]))
    needed = {name for name, each in arguments.items() if each.default is Parameter.empty}
    return () if needed.isdisjoint(results) else results


def _called(op: Any, given: Mapping[str, Any]) -> Any:
    return op.run(**{name: given[name] for name in op.names if name in given})


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
        return self.op.derived(self.wanted, *arrays)

    def backward(self, next_grad: AnyTensor, *inputs: AnyTensor) -> NoReturn:
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

    def backward(self, next_grad: AnyTensor, *inputs: AnyTensor) -> AnyTensor:
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
