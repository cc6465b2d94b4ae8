"""Tensor: the number of a node, with NumPy's operators. Each operation makes nodes and computes nothing.

    x = tensor(np.arange(6.0).reshape(2, 3), name="x")
    y = (x * x).sum(axis=1)          # three nodes
    y.numpy()                        # computes

Axes broadcast as NumPy's do. Dtypes never mix: `cast` changes one. A Python number takes the dtype of the tensor beside
it. For type checkers a tensor's rank and dtype are known, ``Tensor[tuple[int, int], np.float32]``; its sizes are
checked when a node is made.

0.5 to 4 µs and 16 bytes for each node, and what is kept beside it: see `typednn.graph.graph`.
"""

# What was given may be anything until it is a tensor.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from threading import get_ident
from types import EllipsisType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Literal, TypeAlias, cast, final, overload

import numpy as np
from typing_extensions import TypeVar

from typednn.arrays import described, device_of, is_array, is_floating
from typednn.errors import ArgumentError, DTypeError, ShapeError, StateError, explain
from typednn.graph.graph import GRAPH, Shape, bits_of, product, refuse_released
from typednn.graph.kinds import CODES, DTYPES, Kind
from typednn.graph.operations import Binary, Reduce, Unary
from typednn.graph.slab import NONE

R = TypeVar("R", bound=tuple[int, ...], default=Any, covariant=True)
D = TypeVar("D", bound=np.generic, default=Any, covariant=True)
D2 = TypeVar("D2", bound=np.generic)
R2 = TypeVar("R2", bound=tuple[int, ...])
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
    """Functions made of tensors that tensors call. The file of each, above this one, registers it; `typednn.graph`
    imports them all.
    """

    floor_divide: ClassVar[Callable[[Any, Any], Tensor[Any, Any]]]
    matmul: ClassVar[Callable[[Any, Any], Tensor[Any, Any]]]
    sliced: ClassVar[Callable[[Any, Any], Tensor[Any, Any]]]
    run: ClassVar[Callable[[Sequence[int]], None]]


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
        realize(self)
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
        return unary(Unary.NEGATIVE, self)

    def __abs__(self) -> Tensor[R, D]:
        return unary(Unary.ABS, self)

    def __invert__(self) -> Tensor[R, D]:
        return unary(Unary.BITWISE_NOT, self)

    @overload
    def __add__(self, other: Fitting[R, D]) -> Tensor[R, D]: ...
    @overload
    def __add__(self, other: Like[D]) -> Tensor[Any, D]: ...
    def __add__(self, other: Any) -> Any:
        return binary(Binary.ADD, self, other)

    @overload
    def __radd__(self, other: Number) -> Tensor[R, D]: ...
    @overload
    def __radd__(self, other: Like[D]) -> Tensor[Any, D]: ...
    def __radd__(self, other: Any) -> Any:
        return binary(Binary.ADD, other, self)

    @overload
    def __sub__(self, other: Fitting[R, D]) -> Tensor[R, D]: ...
    @overload
    def __sub__(self, other: Like[D]) -> Tensor[Any, D]: ...
    def __sub__(self, other: Any) -> Any:
        return binary(Binary.SUBTRACT, self, other)

    @overload
    def __rsub__(self, other: Number) -> Tensor[R, D]: ...
    @overload
    def __rsub__(self, other: Like[D]) -> Tensor[Any, D]: ...
    def __rsub__(self, other: Any) -> Any:
        return binary(Binary.SUBTRACT, other, self)

    @overload
    def __mul__(self, other: Fitting[R, D]) -> Tensor[R, D]: ...
    @overload
    def __mul__(self, other: Like[D]) -> Tensor[Any, D]: ...
    def __mul__(self, other: Any) -> Any:
        return binary(Binary.MULTIPLY, self, other)

    @overload
    def __rmul__(self, other: Number) -> Tensor[R, D]: ...
    @overload
    def __rmul__(self, other: Like[D]) -> Tensor[Any, D]: ...
    def __rmul__(self, other: Any) -> Any:
        return binary(Binary.MULTIPLY, other, self)

    @overload
    def __truediv__(self, other: Fitting[R, D]) -> Tensor[R, D]: ...
    @overload
    def __truediv__(self, other: Like[D]) -> Tensor[Any, D]: ...
    def __truediv__(self, other: Any) -> Any:
        return divided(self, other)

    @overload
    def __rtruediv__(self, other: Number) -> Tensor[R, D]: ...
    @overload
    def __rtruediv__(self, other: Like[D]) -> Tensor[Any, D]: ...
    def __rtruediv__(self, other: Any) -> Any:
        return divided(other, self)

    def __floordiv__(self, other: Any) -> Tensor[R, D]:
        return Registered.floor_divide(self, other)

    def __rfloordiv__(self, other: Any) -> Tensor[R, D]:
        return Registered.floor_divide(other, self)

    def __mod__(self, other: Any) -> Tensor[R, D]:
        return binary(Binary.MODULO, self, other)

    def __rmod__(self, other: Any) -> Tensor[R, D]:
        return binary(Binary.MODULO, other, self)

    def __pow__(self, other: Any) -> Tensor[R, D]:
        if isinstance(other, int) and not isinstance(other, bool) and other in (1, 2, 3):
            return self if other == 1 else self * self if other == 2 else self * self * self
        return binary(Binary.POWER, self, other)

    def __rpow__(self, other: Any) -> Tensor[R, D]:
        return binary(Binary.POWER, other, self)

    def __matmul__(self, other: Any) -> Tensor[Any, D]:
        return Registered.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Tensor[Any, D]:
        return Registered.matmul(other, self)

    @overload
    def __lt__(self, other: Fitting[R, D]) -> Tensor[R, np.bool_]: ...
    @overload
    def __lt__(self, other: Like[D]) -> Tensor[Any, np.bool_]: ...
    def __lt__(self, other: Any) -> Any:
        return binary(Binary.LESS, self, other)

    @overload
    def __gt__(self, other: Fitting[R, D]) -> Tensor[R, np.bool_]: ...
    @overload
    def __gt__(self, other: Like[D]) -> Tensor[Any, np.bool_]: ...
    def __gt__(self, other: Any) -> Any:
        return binary(Binary.GREATER, self, other)

    @overload
    def __ge__(self, other: Fitting[R, D]) -> Tensor[R, np.bool_]: ...
    @overload
    def __ge__(self, other: Like[D]) -> Tensor[Any, np.bool_]: ...
    def __ge__(self, other: Any) -> Any:
        return binary(Binary.GREATER_EQUAL, self, other)

    @overload
    def __le__(self, other: Fitting[R, D]) -> Tensor[R, np.bool_]: ...
    @overload
    def __le__(self, other: Like[D]) -> Tensor[Any, np.bool_]: ...
    def __le__(self, other: Any) -> Any:
        return binary(Binary.GREATER_EQUAL, other, self)

    # as an array's, a tensor of truths
    def __eq__(self, other: object) -> Tensor[R, np.bool_]:  # type: ignore[override]
        return binary(Binary.EQUAL, self, other)

    def __ne__(self, other: object) -> Tensor[R, np.bool_]:  # type: ignore[override]
        return binary(Binary.NOT_EQUAL, self, other)

    def __hash__(self) -> int:
        return object.__hash__(self)  # by handle, as an array's equality says nothing of it

    def __and__(self, other: Any) -> Tensor[R, D]:
        return binary(Binary.LOGICAL_AND if _is_bool(self) else Binary.BITWISE_AND, self, other)

    def __or__(self, other: Any) -> Tensor[R, D]:
        return binary(Binary.LOGICAL_OR if _is_bool(self) else Binary.BITWISE_OR, self, other)

    def __xor__(self, other: Any) -> Tensor[R, D]:
        return binary(Binary.LOGICAL_XOR if _is_bool(self) else Binary.BITWISE_XOR, self, other)

    def __lshift__(self, other: Any) -> Tensor[R, D]:
        return binary(Binary.LEFT_SHIFT, self, other)

    def __rshift__(self, other: Any) -> Tensor[R, D]:
        return binary(Binary.RIGHT_SHIFT, self, other)

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
        return reshape(self, _sizes(shape))

    def permute(self, *order: Any) -> Tensor[R, D]:
        """Its axes in this ``order``."""
        return permute(self, _sizes(order))

    @property
    def T(self) -> Tensor[R, D]:  # noqa: N802  # NumPy's name
        """Its axes in reverse order."""
        return permute(self, tuple(range(self.ndim))[::-1])

    def expand(self, *shape: Any) -> Tensor[Any, D]:
        """Its axes of size 1 repeated to this shape; further axes stand before its own."""
        return broadcast_to(self, _sizes(shape))

    def cast(self, dtype: type[D2] | np.dtype[D2]) -> Tensor[R, D2]:
        """Its numbers in another dtype."""
        return cast_to(self, dtype)

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
        return reduce(Reduce.SUM, self, axis, keepdims)

    def prod(self, axis: Axes = None, keepdims: bool = False) -> Tensor[Any, D]:
        """The product along ``axis``."""
        return reduce(Reduce.PROD, self, axis, keepdims)

    def max(self, axis: Axes = None, keepdims: bool = False) -> Tensor[Any, D]:
        """The largest number along ``axis``."""
        return reduce(Reduce.MAX, self, axis, keepdims)

    def min(self, axis: Axes = None, keepdims: bool = False) -> Tensor[Any, D]:
        """The smallest number along ``axis``."""
        return reduce(Reduce.MIN, self, axis, keepdims)

    @overload
    def mean(self, axis: None = None, keepdims: Literal[False] = False) -> Tensor[Rank0, D]: ...
    @overload
    def mean(self, axis: Axes, keepdims: Literal[True]) -> Tensor[R, D]: ...
    @overload
    def mean(self, axis: Axes = None, keepdims: bool = False) -> Tensor[Any, D]: ...
    def mean(self, axis: Axes = None, keepdims: bool = False) -> Any:
        """The mean along ``axis``; of integers in float64."""
        total: Tensor[Any, Any] = reduce(
            Reduce.SUM, self if is_floating(self.dtype) else cast_to(self, np.float64), axis, keepdims
        )
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


def _is_bool(x: AnyTensor) -> bool:
    return x.dtype.kind == "b"


def _sizes(shape: tuple[Any, ...]) -> Shape:
    """Sizes that were given one by one, or as one sequence."""
    given: Any = shape[0] if len(shape) == 1 and not isinstance(shape[0], int | np.integer) else shape
    return tuple(map(int, given))


# ------------------------------------------------------------------ leaves and constants


@overload
def tensor(values: np.ndarray[R2, np.dtype[D2]], *, name: str = "") -> Tensor[R2, D2]: ...
@overload
def tensor(values: Any, *, dtype: type[D2], name: str = "") -> Tensor[Any, D2]: ...
@overload
def tensor(values: Any, *, dtype: Any = None, name: str = "") -> AnyTensor: ...
def tensor(values: Any, *, dtype: Any = None, name: str = "") -> Any:
    """A leaf that holds ``values``: an array, which is not copied and must not be changed afterwards, or numbers in
    lists.
    """
    if isinstance(values, Tensor):
        return values if dtype is None else cast_to(values, dtype)
    wanted = None if dtype is None else DTYPES[code_of("tensor", dtype)]
    try:
        array: Any = values if is_array(values) else np.asarray(values, wanted)
    except (ValueError, TypeError, OverflowError) as error:
        raise ArgumentError(
            explain("tensor", "takes an array, or numbers in lists of equal lengths", str(error)), "values"
        ) from None
    code = code_of("tensor", array.dtype if wanted is None else wanted)
    if wanted is not None and array.dtype != wanted:
        array = array.astype(wanted)
    if array.ndim > MOST_AXES:
        raise ShapeError(explain("tensor", f"has at most {MOST_AXES} axes", f"{array.ndim}"))
    made: AnyTensor = Tensor(GRAPH.push(Kind.LEAF, 0, code, tuple(array.shape)))
    GRAPH.arrays[made.id] = array
    return made.named(name) if name else made


def constant(value: Number, dtype: Any, shape: Shape = ()) -> AnyTensor:
    """One number everywhere."""
    code = code_of("constant", dtype)
    kind = DTYPES[code]
    try:
        low, high = bits_of(value, kind)
    except (OverflowError, ValueError, TypeError) as error:
        raise DTypeError(
            explain("constant", f"a number that {kind} holds", repr(value), "cast the tensor first")
        ) from error
    return Tensor(GRAPH.push(Kind.CONST, 0, code, shape, low, high))


def sizes_of(where: str, shape: Any) -> Shape:
    """A shape as NumPy takes it: one size, or several."""
    try:
        sizes = tuple(map(operator.index, (shape,) if isinstance(shape, int | np.integer) else shape))
    except TypeError:
        sizes = (-1,)
    if min(sizes, default=0) < 0 or len(sizes) > MOST_AXES:
        rule = f"shape is an integer from 0 on, or a sequence of at most {MOST_AXES}"
        raise ArgumentError(explain(where, rule, repr(shape)), "shape")
    return sizes


def full(shape: int | Sequence[int], value: Number, dtype: Any = np.float32) -> AnyTensor:
    """A tensor of this shape, one size or several, with one number everywhere."""
    return constant(value, dtype, sizes_of("full", shape))


def zeros(shape: int | Sequence[int], dtype: Any = np.float32) -> AnyTensor:
    """A tensor of zeros."""
    return constant(0, dtype, sizes_of("zeros", shape))


def ones(shape: int | Sequence[int], dtype: Any = np.float32) -> AnyTensor:
    """A tensor of ones."""
    return constant(1, dtype, sizes_of("ones", shape))


def zeros_like(x: AnyTensor) -> AnyTensor:
    """Zeros of the shape and dtype of ``x``."""
    return constant(0, x.dtype, x.shape)


def ones_like(x: AnyTensor) -> AnyTensor:
    """Ones of the shape and dtype of ``x``."""
    return constant(1, x.dtype, x.shape)


def lazily(read: Callable[[], Any], shape: Sequence[int], dtype: Any, *, name: str = "") -> AnyTensor:
    """A leaf whose array ``read()`` gives when it is first needed, such as an array in a file."""
    made: AnyTensor = Tensor(GRAPH.push(Kind.LEAF, 0, code_of("lazily", dtype), tuple(shape)))

    def checked() -> Any:
        array = read()
        if tuple(array.shape) != tuple(shape) or array.dtype != np.dtype(dtype):
            expected = f"{np.dtype(dtype)} of shape {tuple(shape)}"
            raise ShapeError(explain(f"lazily({name!r})", f"the array is {expected}, as was said", described(array)))
        return array

    GRAPH.arrays[made.id] = checked
    return made.named(name) if name else made


# ------------------------------------------------------------------ the nodes


def unary(operation: Unary, x: AnyTensor) -> AnyTensor:
    """A function of each number of ``x``."""
    number = x.id
    code = GRAPH.slab.tag(number) >> 16 & 0xFF
    dtype = GRAPH.dtype(number)
    takes = operation.row.takes
    if takes == "floats" or takes == "rounded":
        if not is_floating(dtype):
            if takes == "rounded":
                return x  # an integer is rounded already
            raise _wrong_dtype(operation.title, "floats", x, "cast it to a float dtype")
    elif takes == "whole" and is_floating(dtype):
        raise _wrong_dtype(operation.title, "integers or booleans", x)
    elif takes == "signed" and dtype.kind == "b":
        raise _wrong_dtype(operation.title, "numbers", x, "use ~ for the opposite of a boolean")
    return Tensor(GRAPH.push(Kind.UNARY, operation, code, GRAPH.shapes[number], number))


def code_of(where: str, dtype: Any) -> int:
    """The number of a dtype in nodes."""
    try:
        return CODES[np.dtype(dtype)]
    except (KeyError, TypeError):
        rule = f"a dtype is one of {', '.join(each.name for each in CODES)}"
        raise DTypeError(explain(where, rule, str(dtype), "convert the numbers")) from None


def _wrong_dtype(what: str, rule: str, x: AnyTensor, cure: str = "cast it") -> DTypeError:
    return DTypeError(explain(what, f"takes {rule}", f"{x.dtype}: {GRAPH.expression(x.id)}", cure))


def as_tensor(value: Any, beside: AnyTensor, shape: Shape = ()) -> AnyTensor:
    """``value`` as a tensor that fits ``beside``: a Python number takes its dtype, and this shape."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, bool | int | float):
        dtype = beside.dtype
        if type(value) is float and not is_floating(dtype):
            raise DTypeError(
                explain("a number beside a tensor", f"fits {dtype}", repr(value), "cast the tensor to a float dtype")
            )
        return constant(value, dtype, shape)
    if is_array(value):
        return tensor(value)
    if isinstance(value, np.generic):
        return tensor(np.asarray(value))
    got = type(value).__name__
    raise ArgumentError(explain("an operation of tensors", "takes tensors, arrays and numbers", got))


def binary(operation: Binary, x: Any, y: Any) -> AnyTensor:
    """A function of two tensors, number by number; axes broadcast."""
    graph = GRAPH
    if not isinstance(x, Tensor):
        x = as_tensor(x, y, graph.shapes[y.id])
    elif not isinstance(y, Tensor):
        y = as_tensor(y, x, graph.shapes[x.id])
    a, b = x.id, y.id
    shape = graph.shapes[a]
    if shape != graph.shapes[b]:
        x, y = broadcast(operation.title, x, y)
        a, b = x.id, y.id
        shape = graph.shapes[a]
    code = graph.slab.tag(a) >> 16 & 0xFF
    other = graph.slab.tag(b) >> 16 & 0xFF
    takes = operation.row.takes
    if takes == "a mask":
        if code != 0:
            raise _wrong_dtype("where", "a mask of booleans", x, "compare it, as in x > 0")
        code = other
    elif code != other:
        got = f"{graph.dtype(a)} and {graph.dtype(b)}: {graph.expression(a)} and {graph.expression(b)}"
        raise DTypeError(explain(operation.title, "takes two tensors of one dtype", got, "cast one of them"))
    elif takes == "any":
        code = 0
    elif code == 0 and takes != "booleans":
        raise _wrong_dtype(operation.title, "numbers", x)
    elif code != 0 and takes == "booleans":
        raise _wrong_dtype(operation.title, "booleans", x, "compare it, as in x != 0")
    elif takes == "integers" and is_floating(graph.dtype(a)):
        raise _wrong_dtype(operation.title, "integers", x, "cast it to an integer dtype")
    return Tensor(graph.push(Kind.BINARY, operation, code, shape, a, b))


def divided(x: Any, y: Any) -> AnyTensor:
    """x / y; integers are divided in float64, as NumPy does it."""
    whole = [getattr(getattr(each, "dtype", None), "kind", "") in ("i", "u") for each in (x, y)]
    if True in whole and all(
        is_whole or isinstance(each, int | float) for is_whole, each in zip(whole, (x, y), strict=True)
    ):
        x, y = (
            cast_to(tensor(each), np.float64) if is_whole else each
            for is_whole, each in zip(whole, (x, y), strict=True)
        )
    return binary(Binary.DIVIDE, x, y)


def broadcast(where: str, *tensors: AnyTensor) -> list[AnyTensor]:
    """All of ``tensors`` in the shape that they broadcast to."""
    shapes = [each.shape for each in tensors]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        got = " and ".join(f"{each.shape}: {GRAPH.expression(each.id)}" for each in tensors)
        cure = "reshape one of them, or reduce with keepdims=True"
        raise ShapeError(explain(where, "sizes are equal, or one of them is 1", got, cure)) from None
    return [broadcast_to(each, shape) for each in tensors]


def broadcast_to(x: AnyTensor, shape: Sequence[int]) -> AnyTensor:
    """``x`` with axes of size 1 repeated, and further axes before its own."""
    old, shape = x.shape, tuple(shape)
    if old == shape:
        return x
    if len(old) < len(shape):
        x = reshape(x, (1,) * (len(shape) - len(old)) + old)
        old = x.shape
    if len(old) > len(shape) or any(size not in (1, new) for size, new in zip(old, shape, strict=True)):
        got = f"{old} to {shape}: {GRAPH.expression(x.id)}"
        raise ShapeError(explain("broadcast_to", "an axis of size 1 repeats, others stay", got))
    if old == shape:
        return x
    return Tensor(GRAPH.push(Kind.EXPAND, 0, GRAPH.slab.tag(x.id) >> 16 & 0xFF, shape, x.id))


def reshape(x: AnyTensor, shape: Sequence[int]) -> AnyTensor:
    """The numbers of ``x`` in another shape; one size may be -1."""
    old, shape = x.shape, tuple(shape)
    new = shape
    if -1 in shape:
        others = product([size for size in shape if size != -1])
        new = tuple((product(old) // others if others else 0) if size == -1 else size for size in shape)
    if product(new) != product(old) or min(new, default=0) < 0 or len(new) > MOST_AXES:
        got = f"{old} to {shape}: {GRAPH.expression(x.id)}"
        raise ShapeError(explain("reshape", f"keeps the number of elements, {product(old)}", got))
    if new == old:
        return x
    return Tensor(GRAPH.push(Kind.RESHAPE, 0, GRAPH.slab.tag(x.id) >> 16 & 0xFF, new, x.id))


def permute(x: AnyTensor, order: Sequence[int]) -> AnyTensor:
    """The axes of ``x`` in this ``order``."""
    number = x.id
    old = GRAPH.shapes[number]
    ndim = len(old)
    axes = tuple([axis + ndim if -ndim <= axis < 0 else axis for axis in order])
    in_order = list(range(ndim))
    if sorted(axes) != in_order:
        got = f"{tuple(order)} of {GRAPH.expression(number)}"
        raise ShapeError(explain("permute", f"names each of the {ndim} axes once", got))
    if axes == tuple(in_order):
        return x
    shape = tuple([old[axis] for axis in axes])
    return Tensor(GRAPH.push(Kind.PERMUTE, 0, GRAPH.slab.tag(number) >> 16 & 0xFF, shape, number, NONE, axes))


def pad(x: AnyTensor, widths: Sequence[tuple[int, int]]) -> AnyTensor:
    """``x`` with zeros before and after each axis; negative widths cut off."""
    number = x.id
    old = GRAPH.shapes[number]
    pairs = tuple([(int(before), int(after)) for before, after in widths])
    shape = tuple([before + size + after for (before, after), size in zip(pairs, old, strict=False)])
    if len(pairs) != len(old) or any(
        new < max(before, after, 0) for (before, after), new in zip(pairs, shape, strict=True)
    ):
        got = f"{pairs} of {GRAPH.expression(number)}"
        raise ShapeError(
            explain("pad", f"two widths for each of {len(old)} axes; they cut off no more than there is", got)
        )
    if shape == old and not any(before or after for before, after in pairs):
        return x
    return Tensor(GRAPH.push(Kind.PAD, 0, GRAPH.slab.tag(number) >> 16 & 0xFF, shape, number, NONE, pairs))


def every(x: AnyTensor, axis: int, start: int, count: int, step: int) -> AnyTensor:
    """``count`` numbers of an axis, every ``step``-th: a multiple of steps, with zeros where it ends later, then the
    first of each.
    """
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    x = padded(x, axis, -start, start + count * step - x.shape[axis])
    if step == 1:
        return x
    return reshape(padded(reshape(x, (*before, count, step, *after)), axis + 1, 0, 1 - step), (*before, count, *after))


def padded(x: AnyTensor, axis: int, before: int, after: int) -> AnyTensor:
    """``x`` with zeros before and after one axis; negative widths cut off."""
    return pad(x, [(before, after) if place == axis else (0, 0) for place in range(x.ndim)])


def axes_of(where: str, axis: Axes, x: AnyTensor) -> Shape:
    """``axis`` as the numbers of axes of ``x``, in order."""
    ndim = x.ndim
    if axis is None:
        return tuple(range(ndim))
    given: tuple[Any, ...] = tuple(axis) if isinstance(axis, Sequence) else (axis,)
    whole = all(isinstance(each, int | np.integer) for each in given)
    axes = tuple(sorted([int(each) + ndim if each < 0 else int(each) for each in given])) if whole else ()
    if not whole or (axes and (axes[0] < 0 or axes[-1] >= ndim or len(set(axes)) != len(axes))):
        got = f"{axis} of {GRAPH.expression(x.id)}"
        rule = f"names axes from {-ndim} to {ndim - 1}, each once" if ndim else "names no axis, for there is none"
        raise ArgumentError(explain(where, rule, got), "axis")
    return axes


def reduce(operation: Reduce, x: AnyTensor, axis: Axes = None, keepdims: bool = False) -> AnyTensor:
    """The numbers of ``x`` along ``axis`` made one; ``keepdims`` leaves an axis of size 1."""
    axes = axes_of(operation.title, axis, x)
    number = x.id
    old, code = GRAPH.shapes[number], GRAPH.slab.tag(number) >> 16 & 0xFF
    if not operation.row.is_total:
        if 0 in [old[each] for each in axes]:
            raise ShapeError(explain(operation.title, "there is a number along each axis", GRAPH.expression(number)))
    elif code == 0:
        raise _wrong_dtype(operation.title, "numbers", x, "cast it, as in mask.cast(np.int64)")
    if not axes:
        return x
    shape = tuple([size for place, size in enumerate(old) if place not in axes])
    result: AnyTensor = Tensor(GRAPH.push(Kind.REDUCE, operation, code, shape, number, NONE, axes))
    return (
        reshape(result, tuple([1 if place in axes else size for place, size in enumerate(old)])) if keepdims else result
    )


def cast_to(x: AnyTensor, dtype: Any) -> AnyTensor:
    """``x`` in another dtype."""
    number, code = x.id, code_of("cast", dtype)
    if code == GRAPH.slab.tag(number) >> 16 & 0xFF:
        return x
    return Tensor(GRAPH.push(Kind.CAST, 0, code, GRAPH.shapes[number], number))


def to_device(x: AnyTensor, device: str) -> AnyTensor:
    """``x`` on another device: ``"cpu"``, ``"cuda"``."""
    from typednn.backends import select

    select(device)
    return Tensor(GRAPH.push(Kind.TO_DEVICE, 0, GRAPH.slab.tag(x.id) >> 16 & 0xFF, x.shape, x.id, extra=device))


def device(x: AnyTensor) -> str:
    """The device on which the numbers of ``x`` are, or will be. It computes nothing."""
    waiting = [x.id]
    while waiting:
        number = waiting.pop()
        if GRAPH.kind(number) == Kind.TO_DEVICE:
            return cast("str", GRAPH.extras[number])
        array = GRAPH.arrays.get(number)
        if array is not None and not callable(array):
            return device_of(array)
        waiting += GRAPH.inputs(number)
    return "cpu"


def realize(*tensors: AnyTensor | Iterable[AnyTensor]) -> None:
    """Compute these tensors, what they share only once. Those that are known already stay as they are."""
    flat = [each for given in tensors for each in ([given] if isinstance(given, Tensor) else given)]
    Registered.run([each.id for each in flat])


# An operation that is called with tensors makes its node.
Unary.node, Binary.node, Reduce.node = staticmethod(unary), staticmethod(binary), staticmethod(reduce)
