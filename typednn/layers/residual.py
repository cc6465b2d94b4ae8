"""Residual: a layer's output and its input, added up; the input may take a shortcut through a layer of its own.

y = inner(x) + shortcut(x)       dx = inner's dx + shortcut's dx       without a shortcut it is x itself, and dy

x: any shape; y: the shape that ``inner`` and ``shortcut`` both give, without a shortcut x's. Keeps nothing itself.
One addition per number, forward and backward.
Source: He et al. 2015, "Deep Residual Learning for Image Recognition", eqs 1-2.
"""

from dataclasses import dataclass
from typing import Any, Generic, Literal, cast, final, overload

from jaxtyping import Shaped
from typing_extensions import TypeVar

from typednn.arrays import Array3
from typednn.contracts.protocols import InputGrad, Part
from typednn.errors import ShapeError, explain
from typednn.kernels.pointwise import add
from typednn.layer import G, In, Layer, Positionwise, S
from typednn.module.gradients import ElementwiseGrad, Gradient

X = TypeVar("X", covariant=True)
Inner = TypeVar("Inner", covariant=True)
Short = TypeVar("Short", covariant=True, default=None)
Out = TypeVar("Out", default=In)
H = TypeVar("H", bound=InputGrad[Any] | None, default=None)
In1 = TypeVar("In1")
Out1 = TypeVar("Out1")
G1 = TypeVar("G1", bound=InputGrad[Any])
H1 = TypeVar("H1", bound=InputGrad[Any])
P1 = TypeVar("P1")


@final
@dataclass(frozen=True, slots=True)
class ResidualGrad(Gradient, Generic[X, Inner, Short]):
    """The loss's derivative by the input, and the whole gradients of the inner layer and of the shortcut, None where
    there is none.
    """

    input: X
    inner: Inner
    shortcut: Short


@final
class Residual(Layer[In, Out, ResidualGrad[In, G, H], S], Generic[In, G, Out, H, S]):
    """``Residual(Conv2d(64, 128, 1, stride=2), shortcut=MaxPool2d(2) >> …)``; without a shortcut ``inner`` keeps its
    input's shape.
    """

    inner: Layer[In, Out, G, Literal["batch *input -> batch *output"]]
    shortcut: Layer[In, Out, Any, Literal["batch *input -> batch *output"]] | None

    @overload
    def __init__(self: "Residual[In1, G1, In1, None]", inner: Layer[In1, In1, G1], shortcut: None = None) -> None: ...
    @overload  # of rows or of sequences: for types, of sequences; `Linear` is for rows
    def __init__(
        self: "Residual[Array3, ElementwiseGrad[Array3, P1], Array3, None]",
        inner: Positionwise[P1],
        shortcut: None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: "Residual[In1, G1, Out1, H1]", inner: Layer[In1, Out1, G1], shortcut: Part[In1, Out1, H1]
    ) -> None: ...
    def __init__(self, inner: Layer[Any, Any, Any] | Any, shortcut: Layer[Any, Any, Any] | Any | None = None) -> None:
        self.inner = inner
        self.shortcut = shortcut

    def forward(self, x: Shaped[In, "batch *input"]) -> Shaped[Out, "batch *output"]:
        own: Any = self.inner.forward(x)
        other: Any = x if self.shortcut is None else self.shortcut.forward(x)
        if own.shape != other.shape:  # of layers that do not say before what they give
            rule = f"the inner layer and {'its input' if self.shortcut is None else 'the shortcut'} must have one shape"
            raise ShapeError(explain(f"{self.label()}.forward", rule, f"{own.shape} and {other.shape}"), self)
        total: Out = add(other, own)
        return total

    def backward(self, next_grad: Shaped[Out, "batch *output"]) -> ResidualGrad[In, G, H]:
        inner = self.inner.backward(next_grad)
        shortcut = cast("H", None if self.shortcut is None else self.shortcut.backward(next_grad))
        dx: Any = next_grad if shortcut is None else shortcut.input
        return ResidualGrad(add(dx, inner.input), inner, shortcut)
