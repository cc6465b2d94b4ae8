"""CuPy as type checkers see it: NumPy's array and functions, plus the names of its own that typednn touches.

CuPy ships no types. To a checker its array is NumPy's, so that one layer serves both; that no array strays onto
another device is checked when it runs. A name stands here only if every CuPy from 13.3 on has it, so what CuPy
lacks is an error. ``tests/backends/test_cupy_stub.py`` compares this list with CuPy where that is installed.
"""

# ruff: isort: skip_file

from typing import Any, TypeVar, overload

import numpy as np

# fmt: off
from numpy import (
    abs as abs, absolute as absolute, add as add, all as all, allclose as allclose, amax as amax, amin as amin,
    angle as angle, any as any, append as append, arange as arange, arccos as arccos, arccosh as arccosh,
    arcsin as arcsin, arcsinh as arcsinh, arctan as arctan, arctan2 as arctan2, arctanh as arctanh, argmax as argmax,
    argmin as argmin, argpartition as argpartition, argsort as argsort, argwhere as argwhere, around as around,
    array as array, array_equal as array_equal, array_equiv as array_equiv, ascontiguousarray as ascontiguousarray,
    atleast_1d as atleast_1d, atleast_2d as atleast_2d, atleast_3d as atleast_3d, average as average,
    bincount as bincount, bitwise_and as bitwise_and, bitwise_not as bitwise_not, bitwise_or as bitwise_or,
    bitwise_xor as bitwise_xor, bool_ as bool_, broadcast_arrays as broadcast_arrays,
    broadcast_shapes as broadcast_shapes, broadcast_to as broadcast_to, can_cast as can_cast, cbrt as cbrt,
    ceil as ceil, choose as choose, clip as clip, column_stack as column_stack, common_type as common_type,
    complex128 as complex128, complex64 as complex64, complexfloating as complexfloating, compress as compress,
    concatenate as concatenate, conj as conj, conjugate as conjugate, convolve as convolve, copy as copy,
    copysign as copysign, copyto as copyto, corrcoef as corrcoef, correlate as correlate, cos as cos, cosh as cosh,
    count_nonzero as count_nonzero, cov as cov, cross as cross, cumprod as cumprod, cumsum as cumsum,
    deg2rad as deg2rad, degrees as degrees, delete as delete, diag as diag, diag_indices as diag_indices,
    diag_indices_from as diag_indices_from, diagflat as diagflat, diagonal as diagonal, diff as diff,
    digitize as digitize, divide as divide, divmod as divmod, dot as dot, dsplit as dsplit, dstack as dstack,
    dtype as dtype, e as e, ediff1d as ediff1d, einsum as einsum, empty as empty, empty_like as empty_like,
    equal as equal, euler_gamma as euler_gamma, exp as exp, exp2 as exp2, expand_dims as expand_dims, expm1 as expm1,
    extract as extract, eye as eye, fabs as fabs, fill_diagonal as fill_diagonal, finfo as finfo,
    flatnonzero as flatnonzero, flip as flip, fliplr as fliplr, flipud as flipud, float16 as float16,
    float32 as float32, float64 as float64, float_power as float_power, floating as floating, floor as floor,
    floor_divide as floor_divide, fmax as fmax, fmin as fmin, fmod as fmod, frexp as frexp, full as full,
    full_like as full_like, gcd as gcd, generic as generic, gradient as gradient, greater as greater,
    greater_equal as greater_equal, histogram as histogram, histogram2d as histogram2d, histogramdd as histogramdd,
    hsplit as hsplit, hstack as hstack, hypot as hypot, identity as identity, iinfo as iinfo, imag as imag,
    indices as indices, inexact as inexact, inf as inf, inner as inner, int16 as int16, int32 as int32, int64 as int64,
    int8 as int8, int_ as int_, integer as integer, interp as interp, intersect1d as intersect1d, intp as intp,
    invert as invert, isclose as isclose, iscomplex as iscomplex, iscomplexobj as iscomplexobj, isfinite as isfinite,
    isfortran as isfortran, isin as isin, isinf as isinf, isnan as isnan, isneginf as isneginf, isposinf as isposinf,
    isreal as isreal, isrealobj as isrealobj, isscalar as isscalar, issubdtype as issubdtype, kron as kron, lcm as lcm,
    ldexp as ldexp, left_shift as left_shift, less as less, less_equal as less_equal, lexsort as lexsort,
    linspace as linspace, log as log, log10 as log10, log1p as log1p, log2 as log2, logaddexp as logaddexp,
    logaddexp2 as logaddexp2, logical_and as logical_and, logical_not as logical_not, logical_or as logical_or,
    logical_xor as logical_xor, logspace as logspace, mask_indices as mask_indices, matmul as matmul, max as max,
    maximum as maximum, may_share_memory as may_share_memory, mean as mean, median as median, meshgrid as meshgrid,
    min as min, minimum as minimum, mod as mod, modf as modf, moveaxis as moveaxis, multiply as multiply, nan as nan,
    nan_to_num as nan_to_num, nanargmax as nanargmax, nanargmin as nanargmin, nancumprod as nancumprod,
    nancumsum as nancumsum, nanmax as nanmax, nanmean as nanmean, nanmedian as nanmedian, nanmin as nanmin,
    nanprod as nanprod, nanstd as nanstd, nansum as nansum, nanvar as nanvar, ndim as ndim, negative as negative,
    newaxis as newaxis, nextafter as nextafter, nonzero as nonzero, not_equal as not_equal, number as number,
    ones as ones, ones_like as ones_like, outer as outer, packbits as packbits, pad as pad, partition as partition,
    percentile as percentile, pi as pi, piecewise as piecewise, place as place, positive as positive, power as power,
    prod as prod, promote_types as promote_types, ptp as ptp, put as put, putmask as putmask, quantile as quantile,
    rad2deg as rad2deg, radians as radians, ravel as ravel, ravel_multi_index as ravel_multi_index, real as real,
    real_if_close as real_if_close, reciprocal as reciprocal, remainder as remainder, repeat as repeat,
    reshape as reshape, resize as resize, result_type as result_type, right_shift as right_shift, rint as rint,
    roll as roll, rollaxis as rollaxis, roots as roots, rot90 as rot90, round as round, searchsorted as searchsorted,
    select as select, setdiff1d as setdiff1d, setxor1d as setxor1d, shape as shape, shares_memory as shares_memory,
    sign as sign, signbit as signbit, signedinteger as signedinteger, sin as sin, sinc as sinc, sinh as sinh,
    size as size, sort as sort, sort_complex as sort_complex, split as split, sqrt as sqrt, square as square,
    squeeze as squeeze, stack as stack, std as std, subtract as subtract, sum as sum, swapaxes as swapaxes,
    take as take, take_along_axis as take_along_axis, tan as tan, tanh as tanh, tensordot as tensordot, tile as tile,
    trace as trace, transpose as transpose, tri as tri, tril as tril, tril_indices as tril_indices,
    tril_indices_from as tril_indices_from, triu as triu, triu_indices as triu_indices,
    triu_indices_from as triu_indices_from, true_divide as true_divide, trunc as trunc, ufunc as ufunc,
    uint16 as uint16, uint32 as uint32, uint64 as uint64, uint8 as uint8, union1d as union1d, unique as unique,
    unpackbits as unpackbits, unravel_index as unravel_index, unsignedinteger as unsignedinteger, var as var,
    vdot as vdot, vsplit as vsplit, vstack as vstack, where as where, zeros as zeros, zeros_like as zeros_like,
)
# fmt: on
from numpy import linalg as linalg
from numpy import ndarray as ndarray

from cupy import cuda as cuda

_A = TypeVar("_A", bound=np.ndarray[Any, Any])

@overload
def asarray(a: _A, *, blocking: bool = False) -> _A: ...
@overload
def asarray(a: Any, dtype: Any = None, order: str | None = None, *, blocking: bool = False) -> np.ndarray[Any, Any]: ...
def asnumpy(
    a: _A,
    stream: cuda.Stream | None = None,
    order: str = "C",
    out: np.ndarray[Any, Any] | None = None,
    *,
    blocking: bool = True,
) -> _A: ...
def get_array_module(*args: object) -> Any: ...
def show_config(*, _full: bool = False) -> None: ...

class ElementwiseKernel:
    def __init__(
        self, in_params: str, out_params: str, operation: str, name: str = "kernel", **kwargs: Any
    ) -> None: ...
    def __call__(self, *args: Any, size: int | None = None, block_size: int = 128) -> Any: ...

class RawKernel:
    def __init__(
        self,
        code: str,
        name: str,
        options: tuple[str, ...] = (),
        backend: str = "auto",
        *,
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        jitify: bool = False,
    ) -> None: ...
    def __call__(
        self, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...], *, shared_mem: int = 0
    ) -> None: ...
