"""Function: an operation of one's own, whole: one node, whatever it computes.

    class Cube(Function):
        def forward(self, x):                          # arrays in, an array out
            return x * x * x

        def backward(self, next_grad, x):              # tensors in, a tensor for each input
            return next_grad * 3.0 * x * x

    y = Cube()(x)

`backward` builds nodes, so that a gradient has a gradient of its own. Where it calls a `Function` without a
``backward``, that ends there, with an error that says so. ``result`` gives shape and dtype before anything is computed;
as a rule they are the first input's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias, cast, final

import numpy as np

from typednn.arrays import described, is_array
from typednn.errors import ArgumentError, ShapeError, explain
from typednn.graph.graph import GRAPH, Shape
from typednn.graph.kinds import Kind
from typednn.graph.nodes import code_of
from typednn.graph.slab import NONE
from typednn.graph.tensor import AnyTensor, Tensor

# one for each input; of a single input also alone
Derivatives: TypeAlias = AnyTensor | tuple[AnyTensor | None, ...] | list[AnyTensor | None] | None


class Function:
    """Base of operations that are computed whole. Equal functions of equal inputs give equal results, so they may be
    computed once.
    """

    @property
    def name(self) -> str:
        """What messages and plots call it."""
        return type(self).__name__

    def result(self, *inputs: AnyTensor) -> tuple[Shape, np.dtype[Any]]:
        """Shape and dtype of what `forward` gives."""
        return inputs[0].shape, inputs[0].dtype

    def forward(self, *arrays: Any) -> Any:
        """The result of arrays."""
        rule = "computes something only if it defines forward"
        raise ArgumentError(explain(self.name, rule, "none", f"define {self.name}.forward"))

    def backward(self, next_grad: AnyTensor, *inputs: AnyTensor) -> Derivatives:
        """The derivatives by each input; None for one that has none. Of a single input also alone."""
        rule = "has a derivative only if it defines backward"
        raise ArgumentError(
            explain(self.name, rule, "none", f"define {self.name}.backward, or compose it of other operations")
        )

    def derivatives(self, next_grad: AnyTensor, wanted: tuple[bool, ...], *inputs: AnyTensor) -> Derivatives:
        """What `backward` gives. Derive where a derivative that is not ``wanted`` saves work."""
        return self.backward(next_grad, *inputs)

    @final
    def __call__(self, *inputs: AnyTensor) -> AnyTensor:
        """A node for this function of ``inputs``."""
        given: tuple[object, ...] = inputs
        strangers = [type(each).__name__ for each in given if not isinstance(each, Tensor)]
        if strangers or not inputs:
            got = ", ".join(strangers) or "none"
            raise ArgumentError(explain(self.name, "is a function of tensors", got, "make one by typednn.graph.tensor"))
        if type(self).__hash__ is None:
            rule = "is hashable, so that equal functions are computed once"
            raise ArgumentError(explain(self.name, rule, "__eq__ without __hash__", "write @dataclass(frozen=True)"))
        shape, dtype = self.result(*inputs)
        extra = Called(self, tuple([each.id for each in inputs]))
        return Tensor(
            GRAPH.push(Kind.CUSTOM, 0, code_of(f"{self.name}.result", dtype), tuple(shape), NONE, NONE, extra)
        )


class Called(NamedTuple):
    """What a CUSTOM node has: the function and its inputs."""

    function: Function
    inputs: tuple[int, ...]

    @property
    def name(self) -> str:
        """What messages and plots call it."""
        return self.function.name


def computed(function: Function, shape: Shape, dtype: np.dtype[Any], arrays: Sequence[Any]) -> Any:
    """What the function's ``forward`` gives, which is as its ``result`` said."""
    found = function.forward(*arrays)
    if isinstance(found, tuple):  # of which a function takes each, see `typednn.graph.whole`
        return cast("Any", found)
    # pyright does not know which number's type a number of NumPy's is of.
    array: Any = np.asarray(cast("Any", found)) if isinstance(found, np.generic) else found
    if not is_array(array) or array.shape != shape or array.dtype != dtype:
        rule = f"gives {dtype} of shape {shape}, as result says"
        raise ShapeError(
            explain(f"{function.name}.forward", rule, described(array), f"let {function.name}.result say what it gives")
        )
    return array


def derivatives_of(
    called: Called, next_grad: AnyTensor, inputs: tuple[AnyTensor, ...], wanted: tuple[bool, ...]
) -> tuple[AnyTensor | None, ...]:
    """The derivative by each input, from the function's own ``backward``."""
    given = called.function.derivatives(next_grad, wanted, *inputs)
    derivatives = tuple(given) if isinstance(given, tuple | list) else (given,)
    shapes = [None if each is None else each.shape for each in derivatives]
    if len(derivatives) != len(inputs) or any(
        shape not in (None, each.shape) for shape, each in zip(shapes, inputs, strict=True)
    ):
        rule = f"gives a derivative for each input, of shapes {', '.join(str(each.shape) for each in inputs)}"
        raise ArgumentError(explain(f"{called.name}.backward", rule, ", ".join(map(str, shapes))))
    return derivatives
