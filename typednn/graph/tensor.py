"""Tensor: the number of a node, with NumPy's operators. Each operation makes nodes and computes nothing.

    x = tensor(np.arange(6.0).reshape(2, 3), name="x")
    y = (x * x).sum(axis=1)          # three nodes
    y.numpy()                        # computes

Axes broadcast as NumPy's do. Dtypes never mix: `cast` changes one. A Python number takes the dtype of the tensor beside
it. For type checkers a tensor's rank and dtype are known, ``Tensor[tuple[int, int], np.float32]``; its sizes are
checked when a node is made.

0.5 to 4 µs and 16 bytes for each node, and what is kept beside it: see `typednn.graph.graph`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import get_ident
from types import EllipsisType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Literal, TypeAlias, cast, final, overload

import numpy as np
from typing_extensions import TypeVar

from typednn.arrays import is_floating
from typednn.errors import ArgumentError, ShapeError, StateError, explain
from typednn.graph.graph import GRAPH, Shape, product, refuse_released
from typednn.graph.operations import Binary, Reduce, Unary
from typednn.graph.slab import NONE

R = TypeVar("R", bound=tuple[int, ...], default=Any, covariant=True)
D = TypeVar("D", bound=np.generic, default=Any, covariant=True)
D2 = TypeVar("D2", bound=np.generic)
R2 = TypeVar("R2", bound=tuple[int, ...])
F = TypeVar("F", bound=Callable[..., Any])
Number: TypeAlias = int | float | bool | np.generic
Axes: TypeAlias = int | Sequence[int] | None
Like: TypeAlias = "Tensor[Any, D] | np.ndarray[Any, np.dtype[D]]"
Fitting: TypeAlias = "Tensor[R, D] | Tensor[tuple[()], D] | Number"
Index: TypeAlias = int | slice | EllipsisType | None
Rank0: TypeAlias = tuple[()]
Rank1: TypeAlias = tuple[int]
Rank2: TypeAlias = tuple[int, int]
Rank3: TypeAlias = tuple[int, int, int]
Rank4: TypeAlias = tuple[int, int, int, int]

MOST_AXES: Final = 32
_RELEASED: Final = np.uint32(NONE)
# of each open region its thread and what it has made; the innermost last
regions: Final[list[tuple[int, list[Tensor[Any, Any]]]]] = []


class Registered:
    """Functions made of tensors that tensors call. They stand in files above this one, where `registered` marks them;
    `typednn.graph` imports them all.
    """

    unary: ClassVar[Callable[[Unary, Any], Tensor[Any, Any]]]
    binary: ClassVar[Callable[[Binary, Any, Any], Tensor[Any, Any]]]
    reduce: ClassVar[Callable[[Reduce, Any, Axes, bool], Tensor[Any, Any]]]
    divided: ClassVar[Callable[[Any, Any], Tensor[Any, Any]]]
    floor_divide: ClassVar[Callable[[Any, Any], Tensor[Any, Any]]]
    matmul: ClassVar[Callable[[Any, Any], Tensor[Any, Any]]]
    reshape: ClassVar[Callable[[Any, Sequence[int]], Tensor[Any, Any]]]
    permute: ClassVar[Callable[[Any, Sequence[int]], Tensor[Any, Any]]]
    broadcast_to: ClassVar[Callable[[Any, Sequence[int]], Tensor[Any, Any]]]
    cast_to: ClassVar[Callable[[Any, Any], Tensor[Any, Any]]]
    sliced: ClassVar[Callable[[Any, Any], Tensor[Any, Any]]]
    run: ClassVar[Callable[[Sequence[int]], None]]


def registered(function: F) -> F:
    """``function``, which `Registered` has from now on."""
    setattr(Registered, function.__name__, staticmethod(function))
    return function


@final
class Tensor(Generic[R, D]):
    """A node of the graph, by its number: 4 bytes. Everything else about it is in the graph. Made by `tensor` and by
    operations.
    """

    __slots__ = ("_id",)
    __array_ufunc__ = None  # NumPy's arrays leave ``array + tensor`` to `__radd__`

    def __init__(self, number: int) -> None:
        if type(number) is not int:
            self._id = _RELEASED
            raise ArgumentError(
                explain("Tensor", "is made by typednn.graph.tensor", type(number).__name__, "write tensor(values)")
            )
        self._id = np.uint32(number)
        if regions:
            note(self)

    def __del__(self, drop: Callable[[int], None] = GRAPH.dropped.append, released: np.uint32 = _RELEASED) -> None:
        # It may run in any thread, in the midst of anything, and while the interpreter ends: it only notes the number.
        if self._id != released:
            drop(int(self._id))

    def release(self) -> None:
        """Refer to its node no longer: to use the tensor is an error from now on, and a second release does nothing."""
        if self._id != _RELEASED:
            GRAPH.dropped.append(int(self._id))
            self._id = _RELEASED

    def __copy__(self) -> Tensor[R, D]:
        return self

    def __deepcopy__(self, memo: object) -> Tensor[R, D]:
        return self

    def __reduce__(self) -> str:
        cure = "save tensor.numpy(), and make another tensor of it"
        raise StateError(explain("Tensor", "is a number in this process's graph", "a wish to pickle it", cure))

    @property
    def id(self) -> int:
        """The number of its node."""
        if self._id == _RELEASED:
            raise refuse_released("Tensor")
        return int(self._id)

    @property
    def shape(self) -> R:
        """The size of each axis."""
        return cast("R", GRAPH.shapes[self.id])

    @property
    def ndim(self) -> int:
        """How many axes it has."""
        return len(GRAPH.shapes[self.id])

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return product(GRAPH.shapes[self.id])

    @property
    def dtype(self) -> np.dtype[D]:
        """The dtype of its numbers."""
        return cast("np.dtype[D]", GRAPH.dtype(self.id))

    @property
    def name(self) -> str:
        """Its name in messages and plots; "" where it has none."""
        return GRAPH.names.get(self.id, "")

    @property
    def is_realized(self) -> bool:
        """Whether its numbers are known."""
        return self.id in GRAPH.arrays

    def named(self, name: str) -> Tensor[R, D]:
        """The same tensor, called ``name`` in messages and plots."""
        GRAPH.names[self.id] = name
        return self

    def __repr__(self) -> str:
        if self._id == _RELEASED:
            return "Tensor(released)"
        state = "realized" if self.is_realized else "not computed"
        return f"Tensor({GRAPH.expression(self.id)}, {self.dtype}, {state})"

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("a tensor of rank 0 has no length")
        return int(self.shape[0])

    # ------------------------------------------------------------- numbers out

    def realize(self) -> Tensor[R, D]:
        """Compute its numbers now, unless they are known. `realize` computes several tensors at once, what they share
        only once.
        """
        Registered.run([self.id])
        return self

    def numpy(self) -> np.ndarray[R, np.dtype[D]]:
        """Its numbers as a NumPy array that cannot be written to; of a tensor in the processor's memory
        it is no copy.
        """
        from typednn.backends import to_numpy

        view = to_numpy(self.array).view()
        view.flags.writeable = False
        return cast("np.ndarray[R, np.dtype[D]]", view)

    @property
    def array(self) -> Any:
        """The array of a realized tensor, on its own device."""
        self.realize()
        return array_of(self.id)

    def item(self) -> float:
        """The only number of a tensor that has one."""
        if self.size != 1:
            got = f"{self.size} numbers, {GRAPH.expression(self.id)}"
            raise ShapeError(explain("Tensor.item", "the tensor has one number", got, "index it, or use numpy()"))
        return cast("float", self.numpy().item())

    def __float__(self) -> float:
        return float(self.item())

    def __bool__(self) -> bool:
        got = f"{GRAPH.expression(self.id)}, whose numbers may not be known yet"
        cure = "use typednn.graph.where, or compare tensor.numpy() for a decision in Python"
        raise TypeError(explain("Tensor", "a tensor is neither true nor false", got, cure))

    # ------------------------------------------------------------- arithmetic

    def __neg__(self) -> Tensor[R, D]:
        return Registered.unary(Unary.NEGATIVE, self)

    def __abs__(self) -> Tensor[R, D]:
        return Registered.unary(Unary.ABS, self)

    def __invert__(self) -> Tensor[R, D]:
        return Registered.unary(Unary.BITWISE_NOT, self)

    @overload
    def __add__(self, other: Fitting[R, D]) -> Tensor[R, D]: ...
    @overload
    def __add__(self, other: Like[D]) -> Tensor[Any, D]: ...
    def __add__(self, other: Any) -> Any:
        return Registered.binary(Binary.ADD, self, other)

    @overload
    def __radd__(self, other: Number) -> Tensor[R, D]: ...
    @overload
    def __radd__(self, other: Like[D]) -> Tensor[Any, D]: ...
    def __radd__(self, other: Any) -> Any:
        return Registered.binary(Binary.ADD, other, self)

    @overload
    def __sub__(self, other: Fitting[R, D]) -> Tensor[R, D]: ...
    @overload
    def __sub__(self, other: Like[D]) -> Tensor[Any, D]: ...
    def __sub__(self, other: Any) -> Any:
        return Registered.binary(Binary.SUBTRACT, self, other)

    @overload
    def __rsub__(self, other: Number) -> Tensor[R, D]: ...
    @overload
    def __rsub__(self, other: Like[D]) -> Tensor[Any, D]: ...
    def __rsub__(self, other: Any) -> Any:
        return Registered.binary(Binary.SUBTRACT, other, self)

    @overload
    def __mul__(self, other: Fitting[R, D]) -> Tensor[R, D]: ...
    @overload
    def __mul__(self, other: Like[D]) -> Tensor[Any, D]: ...
    def __mul__(self, other: Any) -> Any:
        return Registered.binary(Binary.MULTIPLY, self, other)

    @overload
    def __rmul__(self, other: Number) -> Tensor[R, D]: ...
    @overload
    def __rmul__(self, other: Like[D]) -> Tensor[Any, D]: ...
    def __rmul__(self, other: Any) -> Any:
        return Registered.binary(Binary.MULTIPLY, other, self)

    @overload
    def __truediv__(self, other: Fitting[R, D]) -> Tensor[R, D]: ...
    @overload
    def __truediv__(self, other: Like[D]) -> Tensor[Any, D]: ...
    def __truediv__(self, other: Any) -> Any:
        return Registered.divided(self, other)

    @overload
    def __rtruediv__(self, other: Number) -> Tensor[R, D]: ...
    @overload
    def __rtruediv__(self, other: Like[D]) -> Tensor[Any, D]: ...
    def __rtruediv__(self, other: Any) -> Any:
        return Registered.divided(other, self)

    def __floordiv__(self, other: Operand) -> Tensor[R, D]:
        return Registered.floor_divide(self, other)

    def __rfloordiv__(self, other: Operand) -> Tensor[R, D]:
        return Registered.floor_divide(other, self)

    def __mod__(self, other: Operand) -> Tensor[R, D]:
        return Registered.binary(Binary.MODULO, self, other)

    def __rmod__(self, other: Operand) -> Tensor[R, D]:
        return Registered.binary(Binary.MODULO, other, self)

    def __pow__(self, other: Operand) -> Tensor[R, D]:
        if isinstance(other, int) and not isinstance(other, bool) and other in (1, 2, 3):
            return self if other == 1 else self * self if other == 2 else self * self * self
        return Registered.binary(Binary.POWER, self, other)

    def __rpow__(self, other: Operand) -> Tensor[R, D]:
        return Registered.binary(Binary.POWER, other, self)

    def __matmul__(self, other: Operand) -> Tensor[Any, D]:
        return Registered.matmul(self, other)

    def __rmatmul__(self, other: Operand) -> Tensor[Any, D]:
        return Registered.matmul(other, self)

    @overload
    def __lt__(self, other: Fitting[R, D]) -> Tensor[R, np.bool_]: ...
    @overload
    def __lt__(self, other: Like[D]) -> Tensor[Any, np.bool_]: ...
    def __lt__(self, other: Any) -> Any:
        return Registered.binary(Binary.LESS, self, other)

    @overload
    def __gt__(self, other: Fitting[R, D]) -> Tensor[R, np.bool_]: ...
    @overload
    def __gt__(self, other: Like[D]) -> Tensor[Any, np.bool_]: ...
    def __gt__(self, other: Any) -> Any:
        return Registered.binary(Binary.GREATER, self, other)

    @overload
    def __ge__(self, other: Fitting[R, D]) -> Tensor[R, np.bool_]: ...
    @overload
    def __ge__(self, other: Like[D]) -> Tensor[Any, np.bool_]: ...
    def __ge__(self, other: Any) -> Any:
        return Registered.binary(Binary.GREATER_EQUAL, self, other)

    @overload
    def __le__(self, other: Fitting[R, D]) -> Tensor[R, np.bool_]: ...
    @overload
    def __le__(self, other: Like[D]) -> Tensor[Any, np.bool_]: ...
    def __le__(self, other: Any) -> Any:
        return Registered.binary(Binary.GREATER_EQUAL, other, self)

    # as an array's, a tensor of truths
    def __eq__(self, other: object) -> Tensor[R, np.bool_]:  # type: ignore[override]
        return Registered.binary(Binary.EQUAL, self, other)

    def __ne__(self, other: object) -> Tensor[R, np.bool_]:  # type: ignore[override]
        return Registered.binary(Binary.NOT_EQUAL, self, other)

    def __hash__(self) -> int:
        return object.__hash__(self)  # by handle, as an array's equality says nothing of it

    def __and__(self, other: Operand) -> Tensor[R, D]:
        return Registered.binary(Binary.LOGICAL_AND if self.dtype.kind == "b" else Binary.BITWISE_AND, self, other)

    def __or__(self, other: Operand) -> Tensor[R, D]:
        return Registered.binary(Binary.LOGICAL_OR if self.dtype.kind == "b" else Binary.BITWISE_OR, self, other)

    def __xor__(self, other: Operand) -> Tensor[R, D]:
        return Registered.binary(Binary.LOGICAL_XOR if self.dtype.kind == "b" else Binary.BITWISE_XOR, self, other)

    def __lshift__(self, other: Operand) -> Tensor[R, D]:
        return Registered.binary(Binary.LEFT_SHIFT, self, other)

    def __rshift__(self, other: Operand) -> Tensor[R, D]:
        return Registered.binary(Binary.RIGHT_SHIFT, self, other)

    # --------------------------------------------------------------- movement

    @overload
    def reshape(self, shape: Sequence[int], /) -> Tensor[Any, D]: ...
    @overload
    def reshape(self) -> Tensor[Rank0, D]: ...
    @overload
    def reshape(self, a: int, /) -> Tensor[Rank1, D]: ...
    @overload
    def reshape(self, a: int, b: int, /) -> Tensor[Rank2, D]: ...
    @overload
    def reshape(self, a: int, b: int, c: int, /) -> Tensor[Rank3, D]: ...
    @overload
    def reshape(self, a: int, b: int, c: int, d: int, /) -> Tensor[Rank4, D]: ...
    @overload
    def reshape(self, *shape: int) -> Tensor[Any, D]: ...
    def reshape(self, *shape: Any) -> Any:
        """The same numbers in another shape; one size may be -1."""
        return Registered.reshape(self, _sizes(shape))

    def permute(self, *order: Any) -> Tensor[R, D]:
        """Its axes in this ``order``."""
        return Registered.permute(self, _sizes(order))

    @property
    def T(self) -> Tensor[R, D]:  # noqa: N802  # NumPy's name
        """Its axes in reverse order."""
        return Registered.permute(self, tuple(range(self.ndim))[::-1])

    def expand(self, *shape: Any) -> Tensor[Any, D]:
        """Its axes of size 1 repeated to this shape; further axes stand before its own."""
        return Registered.broadcast_to(self, _sizes(shape))

    def cast(self, dtype: type[D2] | np.dtype[D2]) -> Tensor[R, D2]:
        """Its numbers in another dtype."""
        return Registered.cast_to(self, dtype)

    def __getitem__(self, index: Index | tuple[Index, ...]) -> Tensor[Any, D]:
        return Registered.sliced(self, index)

    # ------------------------------------------------------------- reductions

    @overload
    def sum(self, axis: None = None, keepdims: Literal[False] = False) -> Tensor[Rank0, D]: ...
    @overload
    def sum(self, axis: Axes, keepdims: Literal[True]) -> Tensor[R, D]: ...
    @overload
    def sum(self: Tensor[Rank1, D2], axis: int) -> Tensor[Rank0, D2]: ...
    @overload
    def sum(self: Tensor[Rank2, D2], axis: int) -> Tensor[Rank1, D2]: ...
    @overload
    def sum(self: Tensor[Rank3, D2], axis: int) -> Tensor[Rank2, D2]: ...
    @overload
    def sum(self: Tensor[Rank4, D2], axis: int) -> Tensor[Rank3, D2]: ...
    @overload
    def sum(self, axis: Axes = None, keepdims: bool = False) -> Tensor[Any, D]: ...
    def sum(self, axis: Axes = None, keepdims: bool = False) -> Any:
        """The sum along ``axis``, all where it is None."""
        return Registered.reduce(Reduce.SUM, self, axis, keepdims)

    def prod(self, axis: Axes = None, keepdims: bool = False) -> Tensor[Any, D]:
        """The product along ``axis``."""
        return Registered.reduce(Reduce.PROD, self, axis, keepdims)

    def max(self, axis: Axes = None, keepdims: bool = False) -> Tensor[Any, D]:
        """The largest number along ``axis``."""
        return Registered.reduce(Reduce.MAX, self, axis, keepdims)

    def min(self, axis: Axes = None, keepdims: bool = False) -> Tensor[Any, D]:
        """The smallest number along ``axis``."""
        return Registered.reduce(Reduce.MIN, self, axis, keepdims)

    @overload
    def mean(self, axis: None = None, keepdims: Literal[False] = False) -> Tensor[Rank0, D]: ...
    @overload
    def mean(self, axis: Axes, keepdims: Literal[True]) -> Tensor[R, D]: ...
    @overload
    def mean(self, axis: Axes = None, keepdims: bool = False) -> Tensor[Any, D]: ...
    def mean(self, axis: Axes = None, keepdims: bool = False) -> Any:
        """The mean along ``axis``; of integers in float64."""
        floats = self if is_floating(self.dtype) else self.cast(np.float64)
        total = Registered.reduce(Reduce.SUM, floats, axis, keepdims)
        count = self.size // max(total.size, 1) if total.size else 0
        return total * (1 / count) if count & (count - 1) == 0 and count else total / count


def note(made: Tensor[Any, Any]) -> None:
    """``made`` belongs to the innermost region of this thread, if there is one."""
    own = get_ident()
    for thread, inside in tuple(reversed(regions)):
        if thread == own:
            inside.append(made)
            return


AnyTensor: TypeAlias = Tensor[Any, Any]
if TYPE_CHECKING:
    Tensor0: TypeAlias = Tensor[Rank0]
    Tensor1: TypeAlias = Tensor[Rank1]
    Tensor2: TypeAlias = Tensor[Rank2]
    Tensor3: TypeAlias = Tensor[Rank3]
    Tensor4: TypeAlias = Tensor[Rank4]
else:  # as `typednn.arrays` does it: annotations are held to the rank, ``Float[Tensor2, "batch features"]``

    class _OfRank(type):
        def __instancecheck__(cls, candidate):
            return isinstance(candidate, Tensor) and candidate.ndim == cls.rank

    Tensor0, Tensor1, Tensor2, Tensor3, Tensor4 = (
        _OfRank(f"Tensor{rank}", (), {"rank": rank, "__doc__": f"A tensor of rank {rank}."}) for rank in range(5)
    )
Operand: TypeAlias = "AnyTensor | np.ndarray[Any, Any] | Number"


def array_of(number: int) -> Any:
    """The array of a realized node; a leaf that lies in a file is read now."""
    array = GRAPH.arrays[number]
    if callable(array):
        array = GRAPH.arrays[number] = array()
    return array


def held(number: int) -> AnyTensor:
    """Another tensor for a node that is there."""
    GRAPH.retain(number)
    return Tensor(number)


def _sizes(shape: tuple[Any, ...]) -> Shape:
    """Sizes that were given one by one, or as one sequence."""
    given: Any = shape[0] if len(shape) == 1 and not isinstance(shape[0], int | np.integer) else shape
    return tuple(map(int, given))
