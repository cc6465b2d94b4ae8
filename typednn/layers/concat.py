"""Concat: several layers read the same input, and their outputs stand side by side along the last axis.

y = [branch_0(x), branch_1(x), …]       dx = Σ_i branch_i's dx, each for its own part of dy

x: any shape; y: what the branches give, equal in all axes but the last, which adds up. Keeps the sizes of the parts.
One copy per number forward and backward, and for each branch after the first an addition per number of x backward.
Source: Szegedy et al. 2014, "Going Deeper with Convolutions"; with an `Identity`, Ronneberger et al. 2015, "U-Net".
"""

from dataclasses import dataclass
from functools import reduce
from typing import Any, Generic, Literal, final, overload

from jaxtyping import Shaped
from typing_extensions import TypeVar, TypeVarTuple

from typednn.contracts.protocols import InputGrad, Part
from typednn.errors import ArgumentError, ShapeError, explain
from typednn.kernels.concat import join, split
from typednn.kernels.pointwise import add
from typednn.layer import S0, Elementwise, Gs, In, Layer, Out
from typednn.module.fields import Kept
from typednn.module.gradients import ElementwiseGrad, Gradient

X = TypeVar("X", covariant=True)
In1 = TypeVar("In1")
Out1 = TypeVar("Out1")
P0 = TypeVar("P0")
G0 = TypeVar("G0", bound=InputGrad[Any])
G1 = TypeVar("G1", bound=InputGrad[Any])
G2 = TypeVar("G2", bound=InputGrad[Any])
G3 = TypeVar("G3", bound=InputGrad[Any])
Branches = TypeVarTuple("Branches")


@final
@dataclass(frozen=True, slots=True)
class ConcatGrad(Gradient, Generic[X, *Branches]):
    """The loss's derivative by the input; ``branches[i]`` is exactly the gradient of branch ``i``."""

    input: X
    branches: tuple[*Branches]


@final
class Concat(Layer[In, Out, ConcatGrad[In, *Gs], S0], Generic[In, Out, S0, *Gs]):
    """``Concat(Identity(), inner)`` keeps the input beside what ``inner`` makes of it. Types are exact for up to four
    branches.
    """

    branches: tuple[Layer[In, Out, Any, Literal["batch *input -> batch *others +features"]], ...]
    _sizes: Kept[tuple[int, ...]]

    @overload
    def __init__(self: "Concat[In1, Out1, str, G0]", b0: Part[In1, Out1, G0], /) -> None: ...
    @overload  # an elementwise layer first: its ranks are those of the next
    def __init__(
        self: "Concat[In1, In1, str, ElementwiseGrad[In1, P0], G1]", b0: Elementwise[P0], b1: Part[In1, In1, G1], /
    ) -> None: ...
    @overload
    def __init__(
        self: "Concat[In1, Out1, str, G0, G1]", b0: Part[In1, Out1, G0], b1: Part[In1, Out1, G1], /
    ) -> None: ...
    @overload
    def __init__(
        self: "Concat[In1, In1, str, ElementwiseGrad[In1, P0], G1, G2]",
        b0: Elementwise[P0], b1: Part[In1, In1, G1], b2: Part[In1, In1, G2], /,
    ) -> None: ...  # fmt: skip
    @overload
    def __init__(
        self: "Concat[In1, Out1, str, G0, G1, G2]",
        b0: Part[In1, Out1, G0],
        b1: Part[In1, Out1, G1],
        b2: Part[In1, Out1, G2],
        /,
    ) -> None: ...
    @overload
    def __init__(
        self: "Concat[In1, In1, str, ElementwiseGrad[In1, P0], G1, G2, G3]",
        b0: Elementwise[P0], b1: Part[In1, In1, G1], b2: Part[In1, In1, G2], b3: Part[In1, In1, G3], /,
    ) -> None: ...  # fmt: skip
    @overload
    def __init__(
        self: "Concat[In1, Out1, str, G0, G1, G2, G3]",
        b0: Part[In1, Out1, G0], b1: Part[In1, Out1, G1], b2: Part[In1, Out1, G2], b3: Part[In1, Out1, G3], /,
    ) -> None: ...  # fmt: skip
    @overload
    def __init__(
        self: "Concat[In1, Out1, str, *tuple[Any, ...]]",
        b0: Part[In1, Out1, Any], b1: Part[In1, Out1, Any], b2: Part[In1, Out1, Any], b3: Part[In1, Out1, Any],
        b4: Part[In1, Out1, Any], /, *more: Part[In1, Out1, Any],
    ) -> None: ...  # fmt: skip
    def __init__(self, *branches: Layer[Any, Any, Any] | Any) -> None:
        if not branches:
            raise ArgumentError(explain("Concat", "needs a branch at least", "none", "pass layers"), "branches")
        self.branches = branches

    def forward(self, x: Shaped[In, "batch *input"]) -> Shaped[Out, "batch *others features"]:
        outputs: list[Any] = [branch.forward(x) for branch in self.branches]
        # of layers that do not say before what they give
        if any(y.shape[:-1] != outputs[0].shape[:-1] for y in outputs):
            shapes = " and ".join(str(y.shape) for y in outputs)
            raise ShapeError(
                explain(f"{self.label()}.forward", "branches must agree in all axes but the last", shapes), self
            )
        self._sizes = tuple(y.shape[-1] for y in outputs)
        y: Out = join(-1, *outputs)
        return y

    def backward(self, next_grad: Shaped[Out, "batch *others features"]) -> ConcatGrad[In, *Gs]:
        parts: Any = split(-1, next_grad, self._sizes)
        gradients: Any = tuple(branch.backward(part) for branch, part in zip(self.branches, parts, strict=True))
        return ConcatGrad(reduce(add, [each.input for each in gradients]), gradients)
