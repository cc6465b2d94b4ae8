"""The paper's tensor operations on arrays: views by ranges, flattening, correlation and convolution, and the paddings
around them.

A tensor is an array of NumPy or CuPy, so that most of section III is the array's own: ``A @ B`` is eq 5, ``A + B`` eq
6, ``a * A`` eq 7, ``A.transpose(axes)`` eq 8, ``numpy.flip(A, axes)`` eq 9. Here is what arrays lack or do differently:

==========================================  ==========================================================================
`subtensor`  `flatten`                      views: ranges that are never cut off; axes as one, the last included
`cross_correlate2d`  `convolve2d`           eq 10, and eq 10 after eq 9
`dilate2d`                                  eq 26
`same_padding`  `full_padding`              sizes of a border around an image
`literal`                                   an array written out, whose number of elements must fit its shape
`equal`                                     the same shape, and no number farther apart than a tolerance
`printed`                                   numbers with two decimals, and the shape
==========================================  ==========================================================================

Nothing here has a derivative: layers have (`typednn.layers`), and functions of `typednn.graph`.
Source: "Deep Learning Implementation With Rust", sections III and V.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast, overload

import numpy as np
from jaxtyping import Float

from typednn.arguments import integer, number, pair
from typednn.arrays import (
    AnyArray,
    AnyBoolArray,
    AnyIntArray,
    Array1,
    Array2,
    Array3,
    Array4,
    is_floating,
    is_number,
    namespace,
)
from typednn.errors import ArgumentError, DTypeError, ShapeError, explain
from typednn.errors.public import published
from typednn.kernels import conv2d
from typednn.kernels.conv2d import Window

__all__ = [
    "convolve2d",
    "cross_correlate2d",
    "dilate2d",
    "equal",
    "flatten",
    "full_padding",
    "literal",
    "printed",
    "same_padding",
    "subtensor",
]

A = TypeVar("A", bound=AnyArray)
Values: TypeAlias = "Sequence[float] | Sequence[Values]"


def flatten(x: AnyArray, start: int = 0, stop: int = -1) -> AnyArray:
    """The axes from ``start`` to ``stop``, both included, as one, last axis fastest; a view where the memory allows it.

    (2, 3, 3) becomes (6, 3) by ``flatten(x, 0, 1)``, (2, 9) by ``flatten(x, 1)``, (18,) by ``flatten(x)``.
    `ArgumentError` unless start and stop are axes in order.
    """
    first, last = (axis + x.ndim if axis < 0 else axis for axis in (start, stop))
    if not 0 <= first <= last < x.ndim:
        got, cure = f"{start} to {stop}", "the last axis is included, and -1 is the last of all"
        raise ArgumentError(explain("flatten", f"takes axes in order, of an array of rank {x.ndim}", got, cure))
    return x.reshape(*x.shape[:first], math.prod(x.shape[first : last + 1]), *x.shape[last + 1 :])


def subtensor(x: A, *ranges: int | slice) -> A:
    """A view of a range per axis, the first axes first, of the same rank: a single index is a range of one.

    Shape and offset change; strides and memory are those of x. NumPy cuts a range off where the array ends; here one
    that is empty or reaches outside is an `ArgumentError`.
    """
    if len(ranges) > x.ndim:
        raise ArgumentError(
            explain("subtensor", f"takes at most {x.ndim} ranges, one per axis", str(len(ranges))), "ranges"
        )
    parts = tuple(_checked_range(*each) for each in zip(range(x.ndim), x.shape, ranges, strict=False))
    return cast("A", cast("Any", x)[parts])


def _checked_range(axis: int, size: int, index: int | slice) -> slice:
    bounds = (index.start, index.stop) if isinstance(index, slice) else (index, None if index == -1 else index + 1)
    start, stop = (
        end if bound is None else bound + size if bound < 0 else bound
        for bound, end in zip(bounds, (0, size), strict=True)
    )
    if not 0 <= start < stop <= size or (isinstance(index, slice) and index.step not in (None, 1)):
        rule = f"the range of axis {axis} holds something and lies within its {size}, step 1"
        got = f"{index.start}:{index.stop}:{index.step}" if isinstance(index, slice) else str(index)
        raise ArgumentError(explain("subtensor", rule, got), "ranges")
    return slice(start, stop)


def cross_correlate2d(
    image: Float[Array2, "height width"],
    kernel: Float[Array2, "kernel_height kernel_width"],
    stride: int | tuple[int, int] = 1,
) -> Float[Array2, "out_height out_width"]:
    """y[r, c] = Σ_ij image[r·stride + i, c·stride + j] kernel[i, j] (eq 10).

    y's height is (height - kernel_height) // stride + 1, its width likewise; ``stride`` is one integer or (down,
    across). The kernel does not leave the image: put a border around it first, of `same_padding` or `full_padding`,
    with ``numpy.pad``. A new array of the dtype of both, which are floats;
    2·out_height·out_width·kernel_height·kernel_width flops, computed by the kernels of `Conv2d`. `ShapeError` if one is
    no matrix or the kernel is larger than the image, `DTypeError` for integers or two dtypes.
    """
    return _correlated("cross_correlate2d", image, kernel, stride)


def convolve2d(
    image: Float[Array2, "height width"],
    kernel: Float[Array2, "kernel_height kernel_width"],
    stride: int | tuple[int, int] = 1,
) -> Float[Array2, "out_height out_width"]:
    """y[r, c] = Σ_ij image[r·stride + kernel_height - 1 - i, c·stride + kernel_width - 1 - j] kernel[i, j] (eqs 9 and
    10).

    `cross_correlate2d` with the kernel reversed along both axes; all else is the same. With stride 1 and `full_padding`
    around the image it is the convolution that signal processing calls "full", without padding "valid".
    """
    _check_matrices("convolve2d", image, kernel)
    return _correlated("convolve2d", image, kernel[::-1, ::-1], stride)


def _correlated(where: str, image: Any, kernel: Any, stride: int | tuple[int, int]) -> Array2:
    _check_matrices(where, image, kernel)
    if any(reach > size for reach, size in zip(kernel.shape, image.shape, strict=True)):
        got, cure = (
            f"{kernel.shape} on {image.shape}",
            "put a border around the image, numpy.pad(image, full_padding(size))",
        )
        raise ShapeError(explain(where, "the kernel is no larger than the image", got, cure))
    window = Window(pair(where, "stride", stride))
    y: Any = conv2d.forward(image[None, :, :, None], kernel[None, :, :, None], None, window)[0]
    correlated: Array2 = y[0, :, :, 0]
    return correlated


def _check_matrices(where: str, image: Any, kernel: Any) -> None:
    for name, array in (("image", image), ("kernel", kernel)):
        namespace(array)
        if array.ndim != 2 or 0 in array.shape:
            raise ShapeError(explain(where, f"{name} is a matrix that is not empty", f"shape {tuple(array.shape)}"))
    if image.dtype != kernel.dtype or not is_floating(image.dtype):
        got, cure = f"{image.dtype} and {kernel.dtype}", "convert them with astype(numpy.float32)"
        raise DTypeError(explain(where, "image and kernel are floats of one dtype", got, cure))


def dilate2d(
    x: Float[Array4, "batch height width channels"], factor: int | tuple[int, int]
) -> Float[Array4, "batch out_height out_width channels"]:
    """factor - 1 zeros between neighbours of each image (eq 26): y[b, factor·r, factor·c, k] = x[b, r, c, k], else 0.

    y's height is factor·(height - 1) + 1, its width likewise; ``factor`` is one integer or (down, across). A new array
    of x's dtype. With it the derivative by a convolution's input is a convolution (eq 27). `ShapeError` unless x has
    four axes.
    """
    down, across = pair("dilate2d", "factor", factor)
    xp = namespace(x)
    if x.ndim != 4 or 0 in x.shape:
        cure = "write x[None, :, :, None] for one image with one channel"
        raise ShapeError(explain("dilate2d", "x is (batch, height, width, channels)", f"shape {tuple(x.shape)}", cure))
    batch, height, width, channels = x.shape
    y: Array4 = xp.zeros((batch, down * (height - 1) + 1, across * (width - 1) + 1, channels), dtype=x.dtype)
    y[:, ::down, ::across] = x
    return y


def same_padding(size: int, kernel: int, stride: int = 1) -> tuple[int, int]:
    """(before, after) along one axis, so that a kernel moved by ``stride`` gives ``size`` outputs again.

    size·(stride - 1) + kernel - stride in all; of an odd number the extra one goes after: below, or to the right. One
    axis at a time, so that height and width may differ. `ArgumentError` for sizes below 1.
    """
    size, kernel, stride = (
        integer("same_padding", name, value) for name, value in (("size", size), ("kernel", kernel), ("stride", stride))
    )
    total = size * (stride - 1) + kernel - stride
    return total // 2, total - total // 2


def full_padding(kernel: int) -> tuple[int, int]:
    """(before, after) along one axis, so that every tap of the kernel is multiplied by every pixel: kernel - 1 on both
    sides.
    """
    around = integer("full_padding", "kernel", kernel) - 1
    return around, around


@overload
def literal(shape: int | tuple[int], values: Sequence[float], dtype: Any = ...) -> Array1: ...
@overload
def literal(shape: tuple[int, int], values: Values, dtype: Any = ...) -> Array2: ...
@overload
def literal(shape: tuple[int, int, int], values: Values, dtype: Any = ...) -> Array3: ...
@overload
def literal(shape: tuple[int, int, int, int], values: Values, dtype: Any = ...) -> Array4: ...
@overload
def literal(shape: Sequence[int], values: Values, dtype: Any = ...) -> AnyArray: ...
def literal(shape: Any, values: Any, dtype: Any = np.float32) -> Any:
    """An array of this shape with the ``values`` written out, nested or flat: ``literal((2, 3), [1, 2, 3, 4, 5, 6])``.

    Flat values are in row-major order, last axis fastest. To type checkers the rank is the length of ``shape``.
    `ShapeError` if their number is not that of the shape, or if they are nested in another shape; `ArgumentError` if
    rows differ in length, or hold what is no number, or what an integer ``dtype`` can't hold.
    """
    listed = cast("Sequence[int]", shape if isinstance(shape, list | tuple) else (shape,))
    sizes = tuple(integer("literal", "shape", size) for size in listed)
    plain: np.ndarray[Any, Any] = cast("Any", values) if isinstance(values, np.ndarray) else np.array(values, object)
    given: np.ndarray[Any, Any] | None
    try:
        given = plain.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        given = None
    numbers = is_number(plain.dtype) or plain.dtype.kind == "b" or all(isinstance(each, Real) for each in plain.ravel())
    if given is None or not numbers or not (is_floating(given.dtype) or (given == plain).all()):
        rule = "values are numbers, in nested lists whose rows are of equal length, or in one flat list"
        raise ArgumentError(
            explain("literal", rule, f"values that make no array of {np.dtype(dtype)}"), "values"
        ) from None
    if given.size != math.prod(sizes):
        rule = f"the number of elements matches the shape {sizes}, which holds {math.prod(sizes)}"
        raise ShapeError(explain("literal", rule, f"{given.size} elements"))
    if given.ndim != 1 and given.shape != sizes:
        raise ShapeError(
            explain("literal", f"values are nested as the shape {sizes} says, or flat", f"shape {given.shape}")
        )
    return given.reshape(sizes).copy()


def equal(
    x: AnyArray | AnyIntArray | AnyBoolArray, y: AnyArray | AnyIntArray | AnyBoolArray, tolerance: float = 1e-6
) -> bool:
    """Whether x and y have the same shape and no two of their numbers are farther apart than ``tolerance``, which is
    absolute.

    NaN and infinity equal nothing, not even themselves, and nothing is broadcast; ``numpy.allclose`` does both the
    other way round. dtypes may differ. Compared in float64, in memory of three such arrays. `DeviceError` for what is
    no array, `ArgumentError` for a negative tolerance.
    """
    limit = number("equal", "tolerance", tolerance, least=0.0)
    xp, _ = namespace(x), namespace(y)
    if x.shape != y.shape:
        return False
    first, second = x.astype(np.float64), y.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        return bool((xp.isfinite(first) & xp.isfinite(second) & (abs(first - second) <= limit)).all())


def printed(x: AnyArray | AnyIntArray | AnyBoolArray, precision: int = 2, indent: int = 0) -> str:
    """The numbers of x with ``precision`` decimals, a line for each row of the first axis, and the shape behind them.

        [
          1.00 0.00
          0.00 1.00
        ] (2x2)

    Every line but the first is indented by ``indent`` spaces, for use within a text. Of three axes or more, brackets
    are around each row of the last. A vector's shape is written (5,). All numbers are written: take a `subtensor` of a
    large array.
    """
    precision, indent = (
        integer("printed", "precision", precision, least=0),
        integer("printed", "indent", indent, least=0),
    )
    namespace(x)
    if not x.ndim:
        raise ShapeError(explain("printed", "takes arrays of one axis or more", "a single number", "write f'{x:.2f}'"))
    rows: Any = cast("Any", x).tolist()
    shape = f"{x.shape[0]}," if x.ndim == 1 else "x".join(map(str, x.shape))
    lines = [f"  {_row(row, precision)}" for row in rows]
    return f"\n{' ' * indent}".join(["[", *lines, f"] ({shape})"])


def _row(row: Any, precision: int) -> str:
    """A number, the numbers of a vector with a space behind each, or such rows in brackets."""
    if not isinstance(row, list):
        return f"{row:.{precision}f}"
    return "".join(
        f"[{_row(each, precision)}]" if isinstance(each, list) else f"{each:.{precision}f} "
        for each in cast("Any", row)
    )


if not TYPE_CHECKING:  # to type checkers, a name that is not above is a mistake
    __getattr__ = published(globals())
