"""JAX's own NumPy: ``jax.numpy`` and the methods of ``jax.Array``.

They have NumPy's rules, by name. What JAX does otherwise has a row of its own, or none: an index that is too large is
clamped, a list is no index, and no array changes: ``x.at[index].set(y)`` gives another.
"""

from __future__ import annotations

from dataclasses import replace

from typednn.mypy_plugin.array_functions import (
    creation,
    dtypes,
    einsum,
    elementwise,
    fourier,
    indexing,
    joining,
    linear_algebra,
    movement,
    products,
    reductions,
)
from typednn.mypy_plugin.array_functions.elementwise import binary, unary
from typednn.mypy_plugin.array_functions.rows import (
    ONE,
    Misfit,
    Operands,
    Row,
    borrowed,
    certain,
    fits_into,
    like,
    made,
    matrix,
)
from typednn.mypy_plugin.array_functions.signatures import parameters_of
from typednn.mypy_plugin.values import UNKNOWN, Array, Constant, Number, Pack, Value, number
from typednn.shapes import Dim

_FILES = (elementwise, reductions, products, einsum, linear_algebra, movement, joining, creation, fourier, indexing)
_NUMPY: dict[str, Row] = {name: row for file in _FILES for name, row in file.TABLE.items()}


def as_in(row: Row, parameters: str) -> Row:
    """A row with other parameters: each stands for the one of the same name, else for that in the same place."""
    theirs = list(parameters_of(row.parameters))
    own = enumerate(parameters_of(parameters))
    return borrowed(row, parameters, **{each if each in theirs else theirs[place]: each for place, each in own})


def of_any_kind(row: Row) -> Row:
    """A row whose result may have another dtype than NumPy's."""

    def unknown(value: Value) -> Value:
        match value:
            case Array():
                return replace(value, kind="")
            case Pack(items=items):
                return replace(value, items=tuple(map(unknown, items)))
            case _:
                return value

    return Row(row.parameters, lambda o: unknown(row.rule(o)))


def _lenient(row: Row, words: str) -> Row:
    """A row without what NumPy refuses in these words."""

    def rule(o: Operands) -> Value:
        try:
            return row.rule(o)
        except Misfit as error:
            if words in str(error):
                return UNKNOWN
            raise

    return Row(row.parameters, rule)


def _masked(row: Row) -> Row:
    """A reduction: ``where`` and the array broadcast against each other."""

    def rule(o: Operands) -> Value:
        if o["where"] in (Constant(None), Constant(True)):
            return row.rule(o)
        shape = o.broadcast("a", "where")
        return row.rule(Operands({**o.values, "a": made(shape, o.kind("a")), "where": Constant(True)}, o.differ))

    return Row(row.parameters, rule)


# ------------------------------------------------------------------ indexing


def _clamped(index: Value) -> Value:
    """The index as NumPy's rule reads it: no number in it is too large."""
    match index:
        case Number():
            return number(0)
        case Pack(items=items):
            return Pack(tuple(map(_clamped, items)), frozen=index.frozen)
        case _:
            return index


def _read(o: Operands) -> Value:
    index = o["index"]
    if isinstance(index, Pack) and not (index.frozen or index.keys):
        raise Misfit("an index of JAX is no list; make an array of it")
    return _NUMPY["[]"].rule(Operands({**o.values, "index": _clamped(index)}, o.differ))


def _updated(o: Operands) -> Value:
    """``x.at[index].set(values)``: as large as x."""
    target, values = _read(o), o.shape("values")
    shape = Operands({"x": target}, o.differ).shape("x")
    if shape is not None and values is not None and Dim.of(0) not in (*shape, *values):
        fits_into(values, shape, o.differ, "update")
    return o["a"]


def _scaled(o: Operands) -> Value:
    _updated(o)
    return made(o.shape("a"))


_MODE = "*, indices_are_sorted=False, unique_indices=False, mode=None"
_UPDATES = ("set", "add", "subtract", "multiply", "mul", "min", "max")
_INDEXING: dict[str, Row] = {
    "jax.Array[]": Row("a, index", _read),
    "jax.Array.at.get()": Row(f"a, index, {_MODE}, fill_value=None", _read),
    **{f"jax.Array.at.{name}()": Row(f"a, index, values, {_MODE}", _updated) for name in _UPDATES},
    **{f"jax.Array.at.{name}()": Row(f"a, index, values, {_MODE}", _scaled) for name in ("divide", "power")},
}

# ------------------------------------------------------------------ by NumPy's rules

# What JAX has not, or does otherwise.
_LEFT_OUT = {
    "numpy.copyto",
    "numpy.put_along_axis",
    *(f"numpy.{name}" for name in ("asanyarray", "asarray_chkfinite", "ascontiguousarray")),
    *(f"numpy.lib.stride_tricks.{name}" for name in ("sliding_window_view", "as_strided")),
    *(f"numpy.{name}.outer" for name in ("divide", "power", "equal", "less", "less_equal", "greater", "greater_equal")),
    *(name for name in _NUMPY if name.endswith(".at")),
}
# JAX's parameters, where they have other names than NumPy's, or another order.
_PARAMETERS = {
    "histogram": "a, bins=10, range=None, weights=None, density=None",
    "permute_dims": "a, axes",
    "isin": "element, test_elements, assume_unique=False, invert=False",
    "nan_to_num": "x, copy=True, nan=0.0, posinf=None, neginf=None",
    "flip": "m, axis=None",
    "flipud": "m",
    "fliplr": "m",
    "rot90": "m, k=1, axes=(0, 1)",
    "tile": "A, reps",
    "broadcast_to": "array, shape",
    "matrix_transpose": "x, /",
    "pad": "array, pad_width, mode='constant', *, constant_values=0",
    "identity": "n, dtype=None",
}
_OTHER_KINDS = ("reciprocal", "conj", "conjugate", "histogram", "gradient", "correlate")
_MASKED = ("sum", "prod", "max", "min", "amax", "amin", "any", "all")
_KEEPING_NUMBERS = ("median", "nanmedian", "quantile", "percentile")
_SYMMETRIC = ("cholesky", "eigh", "eigvalsh")
_ALLOWED = {"einsum": "the output lacks the axes of ...", "vsplit": "needs 2 axes", "logspace": "axis"}
_RENAMED = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh",
    "atan2": "arctan2", "pow": "power", "bitwise_invert": "invert", "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift", "nanquantile": "quantile", "nanpercentile": "percentile",
}  # fmt: skip


def _same(name: str, row: Row) -> Row:
    """NumPy's row with JAX's parameters, without what JAX allows."""
    last = name.rpartition(".")[2].removesuffix("()")
    row = of_any_kind(row) if last in _OTHER_KINDS else row
    row = _masked(row) if last in _MASKED else row
    row = _lenient(row, _ALLOWED[last]) if last in _ALLOWED else row
    row = _lenient(row, "where: ") if last.startswith("nan") else row
    row = _lenient(row, "a Fourier transform of ") if ".fft." in name else row
    row = _of_numbers(row) if last in _KEEPING_NUMBERS else row
    row = _symmetrized(row) if last in _SYMMETRIC else row
    return as_in(row, _PARAMETERS[last]) if name == f"numpy.{last}" and last in _PARAMETERS else row


def _of_numbers(row: Row) -> Row:
    """The median of a number may be a vector."""
    return Row(row.parameters, lambda o: row.rule(o) if o.shape("a") or o.flag("keepdims") is False else UNKNOWN)


def _symmetrized(row: Row) -> Row:
    """One row, or one column, broadcasts to a square matrix."""
    return Row(row.parameters, lambda o: UNKNOWN if ONE in (o.shape("a") or [])[-2:] else row.rule(o))


def _triangle(o: Operands) -> Value:
    return made(certain(matrix(o, "m", "triangle")), o.kind("m"))


def _clipped(o: Operands) -> Value:
    names = [name for name in ("arr", "min", "max") if o.given(name)]
    return made(o.broadcast(*names), o.kind(*names))


_CLIP = Row("arr, min=None, max=None", _clipped)
_METHODS = {
    "sort": _NUMPY["numpy.sort"],
    "argpartition": _NUMPY["numpy.argpartition"],
    "searchsorted": _NUMPY["numpy.searchsorted"],
    "ptp": _NUMPY["numpy.ptp"],
    "block_until_ready": Row("a", like("a", dtypes.same)),
    "clip": _CLIP,
    "astype": as_in(_NUMPY["Array.astype()"], "a, dtype, copy=False, device=None"),
}

TABLE: dict[str, Row] = {
    **{f"jax.{name}": _same(name, row) for name, row in _NUMPY.items() if name.startswith("numpy.")},
    **{f"jax.numpy.{name}": _same(f"numpy.{other}", _NUMPY[f"numpy.{other}"]) for name, other in _RENAMED.items()},
    **{f"jax.numpy.{name}": unary(dtypes.boolean) for name in ("isneginf", "isposinf", "isreal", "iscomplex")},
    "jax.numpy.clip": _CLIP,
    "jax.numpy.float_power": binary(dtypes.unknown),
    "jax.numpy.astype": as_in(_NUMPY["Array.astype()"], "x, dtype, /, *, copy=False, device=None"),
    **{f"jax.numpy.{name}": Row("m, k=0", _triangle) for name in ("tril", "triu")},
    "jax.numpy.unwrap": Row("p", like("p", dtypes.unknown)),
    **{f"jax.{name}": _same(name, row) for name, row in _NUMPY.items() if name.startswith("Array.")},
    **{f"jax.Array.{name}()": row for name, row in _METHODS.items()},
    **_INDEXING,
}
for _name in _LEFT_OUT:
    del TABLE[f"jax.{_name}"]
