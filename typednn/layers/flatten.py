"""Flatten: axes of a sample become one, last axis fastest; by default all of them, one row of numbers.

y = x.reshape(batch, height·width·channels)       dx = dy.reshape(x's shape)

x (batch, height, width, channels) or (batch, time, features). Keeps x's shape. No arithmetic; a view where the memory
allows it.
Source: "Deep Learning Implementation With Rust", eqs 36-37; arguments as torch.nn.Flatten.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, final, overload

from jaxtyping import Float
from typing_extensions import TypeVar

from typednn.arguments import integer
from typednn.arrays import AnyArray, Array2, Array3, Array4
from typednn.contracts.operands import Last
from typednn.contracts.protocols import Part
from typednn.errors import ArgumentError, explain
from typednn.kernels.reshape import reshape
from typednn.layer import ArrayGrad, Before, Chain, FirstChain, Gs, Input, Layer, S
from typednn.module.fields import Kept
from typednn.module.gradients import Gradient

if TYPE_CHECKING:
    In = TypeVar("In", Array4, Array3, default=Array4)
    Out = TypeVar("Out", Array2, Array3, default=Array2)
else:  # of a choice jaxtyping would make two annotations; `shape_contracts` tell the ranks
    In = TypeVar("In", bound=AnyArray)
    Out = TypeVar("Out", bound=AnyArray)
X = TypeVar("X", covariant=True, default=Array4)


@final
@dataclass(frozen=True, slots=True)
class FlattenGrad(Gradient, Generic[X]):
    """The loss's derivative by the input."""

    input: X


@final
class Flatten(Layer[In, Out, FlattenGrad[In], S], Generic[In, Out, S]):
    """Before the first `Linear`; ``Flatten(1, 2)`` makes a sequence of an image's pixels, ``Flatten(2)`` one of its
    rows.
    """

    _forms: ClassVar[dict[int, dict[int, tuple[str, ...]]]] = {
        1: {
            -1: (
                "batch time features -> batch time*features",
                "batch height width channels -> batch height*width*channels",
            ),
            2: ("batch height width channels -> batch height*width channels",),
            3: ("batch height width channels -> batch height*width*channels",),
        },
        2: {
            -1: ("batch height width channels -> batch height width*channels",),
            3: ("batch height width channels -> batch height width*channels",),
        },
    }
    _shape: Kept[tuple[int, ...]]

    @overload
    def __init__(self, start_dim: Literal[1] = 1, end_dim: Literal[-1] = -1) -> None: ...
    @overload
    def __init__(self: "Flatten[Array4, Array3]", start_dim: Literal[1], end_dim: Literal[2]) -> None: ...
    @overload
    def __init__(self: "Flatten[Array4, Array3]", *, end_dim: Literal[2]) -> None: ...
    @overload
    def __init__(self: "Flatten[Array4, Array2]", start_dim: Literal[1], end_dim: Literal[3]) -> None: ...
    @overload
    def __init__(self: "Flatten[Array4, Array3]", start_dim: Literal[2], end_dim: Literal[3, -1] = -1) -> None: ...
    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim: int = integer("Flatten", "start_dim", start_dim, least=0)
        self.end_dim: int = integer("Flatten", "end_dim", end_dim, least=-1)
        if start_dim == 0:
            raise ArgumentError(explain("Flatten", "start_dim is 1 or 2: the batch, axis 0, stays", "0"), "start_dim")
        if self.start_dim not in self._forms or self.end_dim not in self._forms[self.start_dim]:
            got = f"{start_dim} to {end_dim}"
            raise ArgumentError(
                explain("Flatten", f"flattens axes {_FORMS}", got, "-1 is the last axis, which is included"), "end_dim"
            )
        self.shape_contracts: tuple[str, ...] = self._forms[self.start_dim][self.end_dim]

    # For pyright, which takes a bare ``Flatten()`` to read images: behind sequences it reads sequences.
    @overload  # type: ignore[override]
    def __rrshift__(
        self: "Flatten[Array4, Array2]", other: Chain[Before, Array3, str, *Gs]
    ) -> Chain[Before, Array2, Last["Flatten[Array3, Array2]"], *Gs, FlattenGrad[Array3]]: ...
    @overload  # a FirstChain is a FirstLayer too, and grows
    def __rrshift__(  # pyright: ignore[reportOverlappingOverload]
        self: "Flatten[Array4, Array2]", other: FirstChain[Before, Array3, str, *Gs]
    ) -> FirstChain[Before, Array2, Last["Flatten[Array3, Array2]"], *Gs, FlattenGrad[Array3]]: ...
    @overload
    def __rrshift__(
        self: "Flatten[Array4, Array2]", other: Input[Array3]
    ) -> Chain[Array3, Array2, Last["Flatten[Array3, Array2]"], FlattenGrad[Array3]]: ...
    @overload
    def __rrshift__(
        self: "Flatten[Array4, Array2]", other: Part[Before, Array3, ArrayGrad]
    ) -> Chain[Before, Array2, Last["Flatten[Array3, Array2]"], ArrayGrad, FlattenGrad[Array3]]: ...
    def __rrshift__(self, other: Any) -> Any:
        return super().__rrshift__(other)

    @property
    def makes_rows(self) -> bool:
        """Whether all axes become one."""
        return self.start_dim == 1 and self.end_dim != 2

    def forward(self, x: Float[In, "batch *sample"]) -> Float[Out, "batch *output"]:
        shape: tuple[int, ...] = x.shape
        self._shape = shape
        last: int = self.end_dim % len(shape) + 1
        y: Out = reshape(x, (*shape[: self.start_dim], -1, *shape[last:]))
        return y

    def backward(self, next_grad: Float[Out, "batch *output"]) -> FlattenGrad[In]:
        return FlattenGrad(reshape(next_grad, self._shape))


_FORMS = "1 to -1, of images also 1 to 2, 1 to 3, 2 to 3 or 2 to -1"
