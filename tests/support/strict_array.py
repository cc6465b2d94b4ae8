"""StrictArray: an array that behaves like a GPU's, on a machine that has none.

NumPy's and CuPy's arrays look alike, so code that mixes them up passes every test until it meets a GPU. A
`StrictArray` refuses what CuPy refuses, and what CuPy allows but should not happen inside a kernel:

==============================================  =================================================================
code under test                                 with a StrictArray
==============================================  =================================================================
``np.asarray(x)``, ``np.exp(x)``, ``np.sum(x)``  TypeError: the functions of ``typednn.arrays.namespace(x)`` are meant
``x + ndarray``, ``x[ndarray]``, ``x[...] = [1]``  TypeError: arrays of two devices, or a hidden transfer
``x * np.float64(2)`` with x float32            TypeError: a NumPy scalar that would promote; Python numbers are fine
``if x.any():``, ``float(x)``, ``int(x)``         HostSync: would wait for the GPU; fine within `allow_sync`, as is
                                                  ``x.item()``
``x.sum()``, ``x[0]``                           an array of no axes, never a NumPy scalar
``xp.sum(x, where=m)``, ``xp.block(...)``       TypeError, AttributeError: CuPy has no such argument, no such function
``x += 1`` where x was made read-only           ValueError
==============================================  =================================================================

Which functions and arguments exist was read off CuPy 13.3 and 14.2; a test compares the tables with CuPy where it is
installed. `register` makes "strict" a device like "cpu" and "cuda".
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, NoReturn, TypeAlias, final

import numpy as np

from typednn.arrays import register_array_type
from typednn.backends import Backend, register_backend

Host: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[Any]]

_sync_allowed: ContextVar[bool] = ContextVar("sync_allowed", default=False)


class HostSync(RuntimeError):
    """Something asked for a number of the device, and so would have waited for it, without saying so."""


@contextmanager
def allow_sync() -> Iterator[None]:
    """Within this block a StrictArray may become a Python number."""
    token = _sync_allowed.set(True)
    try:
        yield
    finally:
        _sync_allowed.reset(token)


# --- what may meet a StrictArray ------------------------------------------------------------------------------------


def _refuse_host_arrays(where: str, value: object) -> None:
    """NumPy arrays are refused however deep they are hidden."""
    if isinstance(value, np.ndarray):
        raise TypeError(f"{where}: expected arrays of the device, got numpy.ndarray; convert it with to_strict(...)")
    if isinstance(value, list | tuple):
        for item in value:
            _refuse_host_arrays(where, item)


def _refuse_promotion(where: str, *operands: object) -> None:
    """Python numbers take the arrays' dtype; a NumPy scalar has one of its own, and float32 * np.float64 is float64."""
    dtypes = [operand.dtype for operand in operands if isinstance(operand, StrictArray)]
    if not dtypes:
        return
    expected = np.result_type(*dtypes)
    for operand in operands:
        if isinstance(operand, np.generic) and np.result_type(expected, operand.dtype) != expected:
            raise TypeError(
                f"{where}: {expected} would become {np.result_type(expected, operand.dtype)}, "
                f"got a NumPy scalar {type(operand).__name__}; pass a Python number"
            )


def _is_operand(value: object) -> bool:
    return isinstance(value, StrictArray | bool | int | float | complex | np.generic)


def _unwrap(value: Any) -> Any:
    """The NumPy arrays within, through tuples, lists and dicts."""
    if isinstance(value, StrictArray):
        return value._base
    if isinstance(value, tuple | list):
        return type(value)(_unwrap(item) for item in value)
    if isinstance(value, dict):
        return {name: _unwrap(item) for name, item in value.items()}
    return value


def _wrap(result: Any) -> Any:
    """Arrays and NumPy's numbers become StrictArrays, through tuples and lists."""
    if isinstance(result, np.ndarray | np.generic | bool):
        return StrictArray(np.asarray(result))
    if isinstance(result, tuple | list):
        return type(result)(_wrap(item) for item in result)
    return result


def _index(where: str, index: Any) -> Any:
    """Integers, slices, None, Ellipsis and index arrays of the device; anything else is a hidden transfer."""
    parts = index if isinstance(index, tuple) else (index,)
    for part in parts:
        _refuse_host_arrays(where, part)
        if isinstance(part, bool | np.bool_) or not isinstance(
            part, int | np.integer | slice | StrictArray | type(None) | type(...)
        ):
            raise TypeError(f"{where}: expected integers, slices or arrays of the device, got {type(part).__name__}")
        if isinstance(part, slice) and any(
            isinstance(bound, StrictArray) for bound in (part.start, part.stop, part.step)
        ):
            raise TypeError(f"{where}: expected integers within a slice, got StrictArray")
    if any(isinstance(part, StrictArray) for part in parts) or any(part is Ellipsis for part in parts):
        return _unwrap(index)
    return (*parts, Ellipsis)  # so that x[0] is a view of no axes, as on CuPy, and not a copied number


# --- the array ------------------------------------------------------------------------------------------------------


class Address(int):
    """Where an array begins, for a library that takes addresses. It knows the array, so that this can be checked."""

    array: StrictArray


class Memory(NamedTuple):
    """What of an array's memory CuPy tells."""

    ptr: Address


class Flags(NamedTuple):
    """The flags that CuPy's arrays have; ``writeable`` is not among them."""

    c_contiguous: bool
    f_contiguous: bool
    owndata: bool


def _operator(compute: Callable[[Any, Any], Any]) -> tuple[Callable[[Any, object], Any], Callable[[Any, object], Any]]:
    """``compute`` as ``x ∘ other`` and as ``other ∘ x``."""

    def operand(array: StrictArray, other: object) -> Any:
        _refuse_host_arrays(compute.__name__, other)
        if isinstance(other, list | tuple):
            raise TypeError(
                f"{compute.__name__}: expected an array of the device or a number, got {type(other).__name__}"
            )
        _refuse_promotion(compute.__name__, array, other)
        return _unwrap(other) if _is_operand(other) else NotImplemented

    def forward(array: StrictArray, other: object) -> Any:
        value = operand(array, other)
        return NotImplemented if value is NotImplemented else _wrap(compute(array._base, value))

    def reflected(array: StrictArray, other: object) -> Any:
        value = operand(array, other)
        return NotImplemented if value is NotImplemented else _wrap(compute(value, array._base))

    return forward, reflected


def _in_place(compute: Callable[[Any, Any], Any]) -> Callable[[Any, object], Any]:
    forward, _ = _operator(compute)

    def in_place(array: StrictArray, other: object) -> Any:
        # NumPy checks that the array is writable and that its dtype can hold the result.
        return NotImplemented if forward(array, other) is NotImplemented else array

    return in_place


@final
class StrictArray:
    """An array on a device of its own. ``StrictArray(host)`` wraps without a copy: where ``host`` is read-only, so is
    it.
    """

    __slots__ = ("__weakref__", "_base")
    __array_ufunc__ = None  # NumPy's ufuncs refuse it, and numpy's operators leave the decision to the methods below
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, host: Host) -> None:
        if type(host) is not np.ndarray:
            raise TypeError(f"StrictArray: expected numpy.ndarray, got {type(host).__name__}")
        self._base = host

    # no way to NumPy but to_numpy

    def __array__(self, *args: object, **kwargs: object) -> NoReturn:
        raise TypeError(
            "implicit conversion of a StrictArray to a NumPy array is not allowed; convert it with to_numpy(...)"
        )

    def __array_function__(self, function: Callable[..., object], *args: object) -> NoReturn:
        raise TypeError(
            f"numpy.{function.__name__}: expected NumPy arrays, got StrictArray; use typednn.arrays.namespace(x)"
        )

    # what it is

    @property
    def shape(self) -> tuple[int, ...]:
        return self._base.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._base.dtype

    @property
    def ndim(self) -> int:
        return self._base.ndim

    @property
    def size(self) -> int:
        return self._base.size

    @property
    def nbytes(self) -> int:
        return self._base.nbytes

    @property
    def itemsize(self) -> int:
        return self._base.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        return self._base.strides

    @property
    def flags(self) -> Flags:
        flags = self._base.flags
        return Flags(flags.c_contiguous, flags.f_contiguous, flags.owndata)

    @property
    def data(self) -> Memory:
        address = Address(self._base.ctypes.data)
        address.array = self
        return Memory(address)

    def __repr__(self) -> str:
        return repr(self._base).replace("array", "StrictArray", 1)

    def __len__(self) -> int:
        return len(self._base)

    def __iter__(self) -> Iterator[StrictArray]:
        return (self[row] for row in range(len(self)))

    # other views and copies of it

    @property
    def T(self) -> StrictArray:  # noqa: N802
        return StrictArray(self._base.T)

    def reshape(self, *shape: Any, order: Any = "C") -> StrictArray:
        return StrictArray(self._base.reshape(*shape, order=order))

    def transpose(self, *axes: Any) -> StrictArray:
        return StrictArray(self._base.transpose(*axes))

    def swapaxes(self, axis1: int, axis2: int) -> StrictArray:
        return StrictArray(self._base.swapaxes(axis1, axis2))

    def squeeze(self, axis: Any = None) -> StrictArray:
        return StrictArray(self._base.squeeze(axis))

    def ravel(self, order: Any = "C") -> StrictArray:
        return StrictArray(self._base.ravel(order))

    def flatten(self, order: Any = "C") -> StrictArray:
        return StrictArray(self._base.flatten(order))

    def view(self, dtype: Any = None) -> StrictArray:
        return StrictArray(self._base.view() if dtype is None else self._base.view(dtype))

    def astype(self, dtype: Any, order: Any = "K", copy: bool = True) -> StrictArray:
        return StrictArray(self._base.astype(dtype, order=order, copy=copy))

    def copy(self, order: Any = "C") -> StrictArray:
        return StrictArray(self._base.copy(order))

    def __copy__(self) -> StrictArray:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, object]) -> StrictArray:
        return self.copy()

    def __getitem__(self, index: Any) -> StrictArray:
        found: StrictArray = _wrap(self._base[_index("x[...]", index)])
        return found

    def __setitem__(self, index: Any, value: Any) -> None:
        where = "x[...] = value"
        if not _is_operand(value):
            raise TypeError(f"{where}: expected an array of the device or a number, got {type(value).__name__}")
        self._base[_index(where, index)] = _unwrap(value)

    def fill(self, value: Any) -> None:
        _refuse_host_arrays("fill", value)
        self._base.fill(_unwrap(value))

    # reductions: CuPy's arguments, and an array of no axes where NumPy gives a number

    def sum(
        self, axis: Any = None, dtype: Any = None, out: StrictArray | None = None, keepdims: bool = False
    ) -> StrictArray:
        return _call("sum", self, axis=axis, dtype=dtype, out=out, keepdims=keepdims)

    def prod(
        self, axis: Any = None, dtype: Any = None, out: StrictArray | None = None, keepdims: bool = False
    ) -> StrictArray:
        return _call("prod", self, axis=axis, dtype=dtype, out=out, keepdims=keepdims)

    def mean(
        self, axis: Any = None, dtype: Any = None, out: StrictArray | None = None, keepdims: bool = False
    ) -> StrictArray:
        return _call("mean", self, axis=axis, dtype=dtype, out=out, keepdims=keepdims)

    def std(
        self, axis: Any = None, dtype: Any = None, out: StrictArray | None = None, ddof: int = 0, keepdims: bool = False
    ) -> StrictArray:
        return _call("std", self, axis=axis, dtype=dtype, out=out, ddof=ddof, keepdims=keepdims)

    def var(
        self, axis: Any = None, dtype: Any = None, out: StrictArray | None = None, ddof: int = 0, keepdims: bool = False
    ) -> StrictArray:
        return _call("var", self, axis=axis, dtype=dtype, out=out, ddof=ddof, keepdims=keepdims)

    def max(self, axis: Any = None, out: StrictArray | None = None, keepdims: bool = False) -> StrictArray:
        return _call("max", self, axis=axis, out=out, keepdims=keepdims)

    def min(self, axis: Any = None, out: StrictArray | None = None, keepdims: bool = False) -> StrictArray:
        return _call("min", self, axis=axis, out=out, keepdims=keepdims)

    def any(self, axis: Any = None, out: StrictArray | None = None, keepdims: bool = False) -> StrictArray:
        return _call("any", self, axis=axis, out=out, keepdims=keepdims)

    def all(self, axis: Any = None, out: StrictArray | None = None, keepdims: bool = False) -> StrictArray:
        return _call("all", self, axis=axis, out=out, keepdims=keepdims)

    def argmax(self, axis: Any = None, out: StrictArray | None = None, *, keepdims: bool = False) -> StrictArray:
        return _call("argmax", self, axis=axis, out=out, keepdims=keepdims)

    def argmin(self, axis: Any = None, out: StrictArray | None = None, *, keepdims: bool = False) -> StrictArray:
        return _call("argmin", self, axis=axis, out=out, keepdims=keepdims)

    def cumsum(self, axis: Any = None, dtype: Any = None, out: StrictArray | None = None) -> StrictArray:
        return _call("cumsum", self, axis=axis, dtype=dtype, out=out)

    def clip(self, min: Any = None, max: Any = None, out: StrictArray | None = None) -> StrictArray:
        return _call("clip", self, min, max, out=out)

    def take(self, indices: Any, axis: Any = None, out: StrictArray | None = None) -> StrictArray:
        return _call("take", self, indices, axis=axis, out=out)

    def round(self, decimals: int = 0, out: StrictArray | None = None) -> StrictArray:
        return _call("round", self, decimals, out=out)

    def dot(self, b: StrictArray, out: StrictArray | None = None) -> StrictArray:
        return _call("dot", self, b, out=out)

    # numbers: on a GPU each of these waits for it

    def item(self) -> Any:
        """The one number, asked for in so many words."""
        return self._base.item()

    def tolist(self) -> Any:
        return self._base.tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        return self._base.tobytes(order)

    def _number(self, what: str) -> Any:
        if not _sync_allowed.get():
            raise HostSync(
                f"{what} of a StrictArray waits for the device; stay on it, say x.item(), or test within allow_sync()"
            )
        return self._base.item()

    def __bool__(self) -> bool:
        return bool(self._number("bool()"))

    def __int__(self) -> int:
        return int(self._number("int()"))

    def __float__(self) -> float:
        return float(self._number("float()"))

    def __complex__(self) -> complex:
        return complex(self._number("complex()"))

    def __format__(self, specification: str) -> str:
        return format(self._number("format()"), specification) if specification else repr(self)

    # operators

    __add__, __radd__ = _operator(operator.add)
    __sub__, __rsub__ = _operator(operator.sub)
    __mul__, __rmul__ = _operator(operator.mul)
    __truediv__, __rtruediv__ = _operator(operator.truediv)
    __floordiv__, __rfloordiv__ = _operator(operator.floordiv)
    __mod__, __rmod__ = _operator(operator.mod)
    __pow__, __rpow__ = _operator(operator.pow)
    __matmul__, __rmatmul__ = _operator(operator.matmul)
    __and__, __rand__ = _operator(operator.and_)
    __or__, __ror__ = _operator(operator.or_)
    __xor__, __rxor__ = _operator(operator.xor)
    __lshift__, __rlshift__ = _operator(operator.lshift)
    __rshift__, __rrshift__ = _operator(operator.rshift)
    __eq__, _ = _operator(operator.eq)
    __ne__, _ = _operator(operator.ne)
    __lt__, _ = _operator(operator.lt)
    __le__, _ = _operator(operator.le)
    __gt__, _ = _operator(operator.gt)
    __ge__, _ = _operator(operator.ge)
    del _

    __iadd__ = _in_place(operator.iadd)
    __isub__ = _in_place(operator.isub)
    __imul__ = _in_place(operator.imul)
    __itruediv__ = _in_place(operator.itruediv)
    __ifloordiv__ = _in_place(operator.ifloordiv)
    __imod__ = _in_place(operator.imod)
    __ipow__ = _in_place(operator.ipow)
    __iand__ = _in_place(operator.iand)
    __ior__ = _in_place(operator.ior)
    __ixor__ = _in_place(operator.ixor)

    def __imatmul__(self, other: object) -> NoReturn:
        raise TypeError(
            "x @= w: NumPy writes into x, CuPy makes a new array; write x = x @ w or xp.matmul(x, w, out=x)"
        )

    def __neg__(self) -> StrictArray:
        return StrictArray(np.asarray(-self._base))

    def __pos__(self) -> StrictArray:
        return StrictArray(np.asarray(+self._base))

    def __abs__(self) -> StrictArray:
        return StrictArray(np.asarray(abs(self._base)))

    def __invert__(self) -> StrictArray:
        return StrictArray(np.asarray(~self._base))


def to_strict(host: Host, *, readonly: bool = False) -> StrictArray:
    """A copy of ``host`` on the strict device."""
    if type(host) is not np.ndarray:
        raise TypeError(f"to_strict: expected numpy.ndarray, got {type(host).__name__}")
    copied = host.copy()
    copied.flags.writeable = not readonly
    return StrictArray(copied)


def to_numpy(array: StrictArray) -> Host:
    """A copy of ``array`` in the host's memory."""
    if type(array) is not StrictArray:
        raise TypeError(f"to_numpy: expected StrictArray, got {type(array).__name__}")
    return array._base.copy()


# --- the functions --------------------------------------------------------------------------------------------------

# Parameters as CuPy names and orders them. @a: an array of the device; +a: a sequence of such; a: anything that holds
# no NumPy array; *: by name only from here; ...: any number of arrays.
FUNCTIONS: dict[str, str] = {
    "all": "@a axis out keepdims",
    "allclose": "@a @b rtol atol equal_nan",
    "amax": "@a axis out keepdims",
    "amin": "@a axis out keepdims",
    "any": "@a axis out keepdims",
    "arange": "start stop step dtype",
    "argmax": "@a axis * out keepdims",
    "argmin": "@a axis * out keepdims",
    "argsort": "@a axis kind",
    "array_equal": "@a1 @a2 equal_nan",
    "ascontiguousarray": "@a dtype",
    "bincount": "@x weights minlength",
    "broadcast_to": "@array shape",
    "clip": "@a a_min a_max out",
    "concatenate": "+tup axis out * dtype casting",
    "copy": "@a order",
    "count_nonzero": "@a axis",
    "cumprod": "@a axis dtype out",
    "cumsum": "@a axis dtype out",
    "diag": "@v k",
    "diagonal": "@a offset axis1 axis2",
    "dot": "@a @b out",
    "einsum": "subscripts ... * dtype optimize",
    "empty": "shape dtype order",
    "empty_like": "@prototype dtype order subok shape",
    "expand_dims": "@a axis",
    "eye": "N M k dtype order",
    "flatnonzero": "@a",
    "flip": "@a axis",
    "full": "shape fill_value dtype order",
    "full_like": "@a fill_value dtype order subok shape",
    "hstack": "+tup * dtype casting",
    "isclose": "@a @b rtol atol equal_nan",
    "linspace": "start stop num endpoint retstep dtype axis",
    "max": "@a axis out keepdims",
    "mean": "@a axis dtype out keepdims",
    "min": "@a axis out keepdims",
    "moveaxis": "@a source destination",
    "nonzero": "@a",
    "ones": "shape dtype order",
    "ones_like": "@a dtype order subok shape",
    "outer": "@a @b out",
    "pad": "@array pad_width mode * constant_values end_values stat_length reflect_type",
    "prod": "@a axis dtype out keepdims",
    "ravel": "@a order",
    "reshape": "@a newshape order",
    "roll": "@a shift axis",
    "round": "@a decimals out",
    "sort": "@a axis kind",
    "split": "@ary indices_or_sections axis",
    "squeeze": "@a axis",
    "stack": "+tup axis out * dtype casting",
    "std": "@a axis dtype out ddof keepdims",
    "sum": "@a axis dtype out keepdims",
    "swapaxes": "@a axis1 axis2",
    "take": "@a indices axis out",
    "take_along_axis": "@a @indices axis",
    "tensordot": "@a @b axes",
    "tile": "@A reps",
    "trace": "@a offset axis1 axis2 dtype out",
    "transpose": "@a axes",
    "tril": "@m k",
    "triu": "@m k",
    "unique": "@ar return_index return_inverse return_counts axis * equal_nan",
    "vdot": "@a @b",
    "var": "@a axis dtype out ddof keepdims",
    "vstack": "+tup * dtype casting",
    "where": "@condition x y",
    "zeros": "shape dtype order",
    "zeros_like": "@a dtype order subok shape",
}  # fmt: skip

LINALG: dict[str, str] = {"norm": "@x ord axis keepdims"}

# fmt: off
UFUNCS = frozenset({
    "abs", "absolute", "add", "bitwise_and", "bitwise_or", "bitwise_xor", "ceil", "cos", "divide", "equal", "exp",
    "exp2", "expm1", "floor", "floor_divide", "fmax", "fmin", "greater", "greater_equal", "hypot", "invert", "isfinite",
    "isinf", "isnan", "less", "less_equal", "log", "log1p", "log2", "logaddexp", "logical_and", "logical_not",
    "logical_or", "logical_xor", "matmul", "maximum", "minimum", "mod", "multiply", "negative", "not_equal", "power",
    "reciprocal", "remainder", "rint", "sign", "sin", "sqrt", "square", "subtract", "tan", "tanh", "true_divide",
})
UFUNC_KEYWORDS = frozenset({"out", "dtype", "casting", "where"})
MATMUL_KEYWORDS = frozenset({"out", "dtype", "casting"})
UFUNCS_WITH_AT = frozenset({"add", "subtract", "maximum", "minimum"})

CONSTANTS = frozenset({
    "bool_", "can_cast", "dtype", "e", "finfo", "float16", "float32", "float64", "floating", "iinfo", "inexact", "inf",
    "int16", "int32", "int64", "int8", "int_", "integer", "intp", "issubdtype", "nan", "newaxis", "number", "pi",
    "promote_types", "uint16", "uint32", "uint64", "uint8",
})
# fmt: on


@final
class _Signature:
    """What may be passed to one function, in CuPy's words."""

    def __init__(self, name: str, parameters: str) -> None:
        positional, _, by_name = parameters.partition(" * ")
        self.name = name
        self.positional = positional.split()
        self.names = {word.lstrip("@+") for word in [*self.positional, *by_name.split()]} - {"..."}

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for value in (*args, *kwargs.values()):
            _refuse_host_arrays(self.name, value)
        unknown = [name for name in kwargs if name not in self.names]
        if unknown:
            raise TypeError(f"{self.name}: CuPy takes {', '.join(sorted(self.names))} by name, got {unknown[0]}=")
        *_, last = self.positional
        expected = (
            self.positional[:-1] + ["@..."] * (len(args) - len(self.positional) + 1)
            if last == "..."
            else self.positional
        )
        if len(args) > len(expected):
            raise TypeError(
                f"{self.name}: CuPy takes {len(expected)} arguments by position ({', '.join(expected)}), got "
                f"{len(args)}"
            )
        for parameter, value in zip(expected, args, strict=False):
            if parameter.startswith("@") and not isinstance(value, StrictArray):
                raise TypeError(
                    f"{self.name}: expected {parameter[1:]} as an array of the device, got {type(value).__name__}"
                )
            if parameter.startswith("+"):
                if not isinstance(value, list | tuple):
                    raise TypeError(f"{self.name}: expected a list of arrays of the device, got {type(value).__name__}")
                for item in value:
                    if not isinstance(item, StrictArray):
                        raise TypeError(
                            f"{self.name}: expected a list of arrays of the device, got one of {type(item).__name__}"
                        )
        _check_out(self.name, kwargs.get("out"))


def _check_out(name: str, out: object) -> None:
    for target in out if isinstance(out, tuple) else (out,):
        if target is not None and not isinstance(target, StrictArray):
            raise TypeError(f"{name}: expected out= as an array of the device, got {type(target).__name__}")


def _result(result: Any, out: object) -> Any:
    """With ``out=``, the very array that was handed in, as NumPy and CuPy give it back."""
    if isinstance(out, tuple) and len(out) == 1:
        (out,) = out
    return out if isinstance(out, StrictArray) else _wrap(result)


@final
class _Function:
    """One function of NumPy, with the arguments that CuPy's namesake takes."""

    def __init__(self, name: str, compute: Callable[..., Any], parameters: str) -> None:
        self.__name__ = name
        self._compute = compute
        self._signature = _Signature(name, parameters)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = self.__name__
        self._signature.check(args, kwargs)
        if name in {"clip", "where"}:
            _refuse_promotion(name, *(args[1:] if name == "where" else args))
        if name == "pad":
            _check_pad(*args, **kwargs)
        out = kwargs.get("out")
        if out is None:
            kwargs.pop("out", None)
        return _result(self._compute(*_unwrap(args), **_unwrap(kwargs)), out)


def _check_pad(array: StrictArray, pad_width: object, mode: object = "constant", **options: object) -> None:
    modes = {"constant", "edge", "empty", "linear_ramp", "maximum", "mean", "minimum", "reflect", "symmetric", "wrap"}
    if mode not in modes:
        raise ValueError(f"pad: CuPy's modes are {', '.join(sorted(modes))}, got {mode!r}")


@final
class _Ufunc:
    """One of NumPy's elementwise functions."""

    def __init__(self, name: str, compute: np.ufunc) -> None:
        self.__name__ = name
        self._compute = compute

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = self.__name__
        for value in (*args, *kwargs.values()):
            _refuse_host_arrays(name, value)
        keywords = MATMUL_KEYWORDS if name == "matmul" else UFUNC_KEYWORDS
        unknown = [keyword for keyword in kwargs if keyword not in keywords]
        if unknown:
            raise TypeError(f"{name}: CuPy takes {', '.join(sorted(keywords))} by name, got {unknown[0]}=")
        inputs, outputs = args[: self._compute.nin], args[self._compute.nin :]
        for value in inputs:
            if not _is_operand(value):
                raise TypeError(f"{name}: expected arrays of the device or numbers, got {type(value).__name__}")
        _refuse_promotion(name, *inputs)
        out = outputs or kwargs.pop("out", None)
        _check_out(name, out)
        if kwargs.get("where") is None:
            kwargs.pop("where", None)
        return _result(self._compute(*_unwrap(inputs), out=_unwrap(out), **_unwrap(kwargs)), out)

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "at" and self.__name__ in UFUNCS_WITH_AT:
            return self._at
        raise AttributeError(
            f"the strict namespace's {self.__name__} has no {attribute!r}: it is not on the list of what CuPy has"
        )

    def _at(self, array: object, index: Any, values: Any) -> None:
        name = f"{self.__name__}.at"
        _refuse_host_arrays(name, values)
        if not isinstance(array, StrictArray) or not _is_operand(values):
            raise TypeError(
                f"{name}: expected arrays of the device, got {type(array).__name__} and {type(values).__name__}"
            )
        _refuse_promotion(name, array, values)
        self._compute.at(array._base, _index(name, index), _unwrap(values))


def _call(name: str, *args: Any, **kwargs: Any) -> StrictArray:
    """A method is the function of its name, with every argument that it has a default for."""
    given = {keyword: value for keyword, value in kwargs.items() if value is not None or keyword == "axis"}
    result: StrictArray = getattr(strict_namespace, name)(*args, **given)
    return result


def _array(name: str, value: Any, dtype: Any, copy: bool | None) -> StrictArray:
    """From a StrictArray, a number, or numbers in lists; NumPy arrays come in through `to_strict` alone."""
    _refuse_host_arrays(name, value)
    if isinstance(value, StrictArray):
        return StrictArray(np.array(value._base, dtype=dtype, copy=copy))
    host = np.array(value, dtype=dtype) if _numbers(value) else None
    if host is None:
        raise TypeError(
            f"{name}: expected an array of the device or numbers, got {type(value).__name__}; for a list of "
            "arrays use stack"
        )
    return StrictArray(host)


def _numbers(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(_numbers(item) for item in value)
    return isinstance(value, bool | int | float | complex | np.generic)


@final
class _Namespace:
    """What of NumPy a kernel may use on every device: ``xp.exp(x)``, ``xp.float32``, ``xp.linalg.norm(x)``."""

    def __init__(self, name: str, module: Any, functions: dict[str, str]) -> None:
        self.__name__ = name
        self._members: dict[str, Any] = {
            function: _Function(function, getattr(module, function), parameters)
            for function, parameters in functions.items()
        }

    def __getattr__(self, attribute: str) -> Any:
        try:
            return self.__dict__["_members"][attribute]
        except KeyError:
            raise AttributeError(
                f"{self.__dict__.get('__name__')}.{attribute} is not on the list of what CuPy has too"
            ) from None

    def __dir__(self) -> list[str]:
        return sorted(self._members)

    def __repr__(self) -> str:
        return f"<namespace {self.__name__}>"


def _asarray(a: Any, dtype: Any = None) -> StrictArray:
    return _array("asarray", a, dtype, None)


def _array_function(obj: Any, dtype: Any = None, copy: bool = True) -> StrictArray:
    return _array("array", obj, dtype, True if copy else None)


def _result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    for value in arrays_and_dtypes:
        _refuse_host_arrays("result_type", value)
    return np.result_type(*_unwrap(arrays_and_dtypes))


def _may_share_memory(a: StrictArray, b: StrictArray) -> bool:
    """CuPy compares addresses, which the host knows."""
    return np.may_share_memory(a._base, b._base)


strict_namespace = _Namespace("strict", np, FUNCTIONS)
strict_namespace._members.update(
    {name: _Ufunc(name, getattr(np, name)) for name in UFUNCS},
    **{name: getattr(np, name) for name in CONSTANTS},
    linalg=_Namespace("strict.linalg", np.linalg, LINALG),
    ndarray=StrictArray,
    asarray=_asarray,
    array=_array_function,
    result_type=_result_type,
    may_share_memory=_may_share_memory,
)


# --- the device -----------------------------------------------------------------------------------------------------


@final
class StrictBackend(Backend):
    """The device "strict". To a type checker its arrays are NumPy's, as CuPy's are."""

    device = "strict"

    @property
    def array_type(self) -> type:
        return StrictArray

    @property
    def namespace(self) -> Any:
        return strict_namespace

    def from_numpy(self, host: Any) -> Any:
        return to_strict(host, readonly=not host.flags.writeable)  # what must not be written here must not be there

    def to_numpy(self, array: Any) -> Any:
        return to_numpy(array)


def register() -> None:
    """Make StrictArrays pass typednn's checks, and "strict" a device. Calling it again changes nothing."""
    register_array_type(StrictArray, "strict", lambda: strict_namespace)
    register_backend(StrictBackend())
