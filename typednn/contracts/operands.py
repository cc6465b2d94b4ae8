"""What stands on the right of ``>>``, as a type checker reads it: the last layer of a chain has its name in the chain's
type.

A checker that refuses ``a >> b`` prints the types of ``a`` and ``b``. In a chain's type most layers are known by their
gradients, but `ReLU` and its like share one. So ``Last[ReLU]`` stands where mypy's plugin writes the contract. It
refuses nothing: it is a `str` and Any, so that every chain still fits where a chain with other last layers fits.
"""

from typing import Any, Generic, Protocol, TypeAlias

from typing_extensions import TypeVar

from typednn.contracts.protocols import InputGrad, Part

In = TypeVar("In", contravariant=True)
Out = TypeVar("Out")
G = TypeVar("G", bound=InputGrad[Any])
Own = TypeVar("Own", covariant=True)
L = TypeVar("L")


class LastLayer(str, Generic[Own]):
    """The place of a chain's contract while only the last layer's class is known. There are no objects of it."""


Last: TypeAlias = LastLayer[L] | Any


class Operand(Part[In, Out, G], Protocol[In, Out, G, Own]):
    """A `Part` and its own class."""

    @property  # type: ignore[misc]  # object's can be set, too
    def __class__(self) -> type[Own]: ...  # type: ignore[override]
