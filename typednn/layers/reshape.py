"""Reshape: the same numbers of each sample in the same order, under another shape.

y = x.reshape(batch, …shape)       dx = dy.reshape(x's shape)

x: rows, sequences or images, as many numbers in a sample as ``shape`` has. Keeps x's shape.
No arithmetic; a view where the memory allows it.
Source: torch.nn.Unflatten, of all axes but the batch.
"""

# A class's own TypeVar in ``self`` leaves the rank of the input to what stands before the layer.
# pyright: reportInvalidTypeVarUse=false

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, final, overload

from jaxtyping import Float
from typing_extensions import TypeVar

from typednn.arguments import integer
from typednn.arrays import AnyArray, Array2, Array3, Array4
from typednn.errors import ArgumentError, explain
from typednn.kernels.reshape import reshape
from typednn.layer import Layer, S
from typednn.module.fields import Kept
from typednn.module.gradients import Gradient

if TYPE_CHECKING:
    In = TypeVar("In", Array2, Array3, Array4, default=Array2)
else:  # of a choice jaxtyping would make several annotations; `shape_contracts` tell the ranks
    In = TypeVar("In", bound=AnyArray)
Out = TypeVar("Out", default=Array4)
X = TypeVar("X", covariant=True, default=Array2)


@final
@dataclass(frozen=True, slots=True)
class ReshapeGrad(Gradient, Generic[X]):
    """The loss's derivative by the input."""

    input: X


@final
class Reshape(Layer[In, Out, ReshapeGrad[In], S], Generic[In, Out, S]):
    """``Reshape(28, 28, 1)`` makes an image of a row: all sizes of one sample, without the batch."""

    _forms: ClassVar[tuple[tuple[str, ...], ...]] = (
        (),
        (
            "batch {self.numbers} -> batch {self.shape[0]}",
            "batch time features -> batch {self.shape[0]} if time*features=={self.numbers}",
            "batch height width channels -> batch {self.shape[0]} if height*width*channels=={self.numbers}",
        ),
        (
            "batch {self.numbers} -> batch {self.shape[0]} {self.shape[1]}",
            "batch time features -> batch {self.shape[0]} {self.shape[1]} if time*features=={self.numbers}",
            "batch height width channels -> batch {self.shape[0]} {self.shape[1]} if "
            "height*width*channels=={self.numbers}",
        ),
        (
            "batch {self.numbers} -> batch {self.shape[0]} {self.shape[1]} {self.shape[2]}",
            "batch time features -> batch {self.shape[0]} {self.shape[1]} {self.shape[2]} if "
            "time*features=={self.numbers}",
            "batch height width channels -> batch {self.shape[0]} {self.shape[1]} {self.shape[2]} if "
            "height*width*channels=={self.numbers}",
        ),
    )
    _shape: Kept[tuple[int, ...]]

    @overload
    def __init__(self: "Reshape[In, Array2, S]", size0: int, /) -> None: ...
    @overload
    def __init__(self: "Reshape[In, Array3, S]", size0: int, size1: int, /) -> None: ...
    @overload
    def __init__(self: "Reshape[In, Array4, S]", size0: int, size1: int, size2: int, /) -> None: ...
    def __init__(self, *shape: int) -> None:
        if not 1 <= len(shape) <= 3:
            raise ArgumentError(
                explain("Reshape", "takes one to three sizes of one sample", str(len(shape)), "leave the batch out"),
                "shape",
            )
        if -1 in shape:
            rule, cure = "every size is stated, so that it can be checked before anything runs", "write the number"
            raise ArgumentError(explain("Reshape", rule, "-1", cure), "shape")
        self.shape: tuple[int, ...] = tuple(integer("Reshape", "shape", size) for size in shape)
        self.numbers: int = 1
        for size in self.shape:
            self.numbers = self.numbers * size
        self.shape_contracts: tuple[str, ...] = self._forms[len(shape)]

    def forward(self, x: Float[In, "batch *sample"]) -> Float[Out, "batch *output"]:
        self._shape = x.shape
        y: Out = reshape(x, (x.shape[0], *self.shape))
        return y

    def backward(self, next_grad: Float[Out, "batch *output"]) -> ReshapeGrad[In]:
        return ReshapeGrad(reshape(next_grad, self._shape))
