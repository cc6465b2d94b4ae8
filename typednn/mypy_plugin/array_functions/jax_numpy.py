"""JAX's own NumPy: ``jax.numpy`` and the methods of ``jax.Array``.

They have NumPy's rules, by name. What JAX does otherwise has a row of its own, or none: an index that is too large is
clamped, a list is no index, and no array changes: ``x.at[index].set(y)`` gives another.
"""

from __future__ import annotations

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
    Misfit,
    Operands,
    Row,
    fits_into,
    like,
    parameters_of,
)
from typednn.mypy_plugin.values import Number, Pack, Value, number

_FILES = (elementwise, reductions, products, einsum, linear_algebra, movement, joining, creation, fourier, indexing)
_NUMPY: dict[str, Row] = {name: row for file in _FILES for name, row in file.TABLE.items()}


def as_in(row: Row, parameters: str) -> Row:
    """A row with other parameters: each stands for the one of the same name, else for that in the same place."""
    theirs, own = parameters_of(row.parameters), parameters_of(parameters)
    names = {each: each if each in theirs else list(theirs)[place] for place, each in enumerate(own)}

    def rule(o: Operands) -> Value:
        return row.rule(Operands({**theirs, **{names[name]: value for name, value in o.values.items()}}, o.differ))

    return Row(parameters, rule)


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
    if shape is not None and values is not None:
        fits_into(values, shape, o.differ, "update")
    return o["a"]


_MODE = "*, indices_are_sorted=False, unique_indices=False, mode=None"
_UPDATES = ("set", "add", "subtract", "multiply", "mul", "divide", "div", "power", "min", "max")
_INDEXING: dict[str, Row] = {
    "jax.Array[]": Row("a, index", _read),
    "jax.Array.at.get()": Row(f"a, index, {_MODE}, fill_value=None", _read),
    **{f"jax.Array.at.{name}()": Row(f"a, index, values, {_MODE}", _updated) for name in _UPDATES},
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
    "clip": "arr=None, min=None, max=None",
    "histogram": "a, bins=10, range=None, weights=None, density=None",
    "isin": "element, test_elements, assume_unique=False, invert=False",
    "nan_to_num": "x, copy=True, nan=0.0, posinf=None, neginf=None",
    "flip": "m, axis=None",
    "flipud": "m",
    "fliplr": "m",
    "rot90": "m, k=1, axes=(0, 1)",
    "tril": "m, k=0",
    "triu": "m, k=0",
    "tile": "A, reps",
    "broadcast_to": "array, shape",
    "matrix_transpose": "x, /",
    "pad": "array, pad_width, mode='constant', *, constant_values=0",
    "identity": "n, dtype=None",
}
_RENAMED = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh",
    "atan2": "arctan2", "pow": "power", "bitwise_invert": "invert", "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift", "nanquantile": "quantile", "nanpercentile": "percentile",
}  # fmt: skip


def _same(name: str, row: Row) -> Row:
    """NumPy's row with JAX's parameters."""
    parameters = _PARAMETERS.get(name.removeprefix("numpy."))
    return row if parameters is None else as_in(row, parameters)


_METHODS = {
    "sort": _NUMPY["numpy.sort"],
    "argpartition": _NUMPY["numpy.argpartition"],
    "searchsorted": _NUMPY["numpy.searchsorted"],
    "ptp": _NUMPY["numpy.ptp"],
    "block_until_ready": Row("a", like("a", dtypes.same)),
    "clip": as_in(_NUMPY["Array.clip()"], "a, min=None, max=None"),
    "astype": as_in(_NUMPY["Array.astype()"], "a, dtype, copy=False, device=None"),
}

TABLE: dict[str, Row] = {
    **{f"jax.{name}": _same(name, row) for name, row in _NUMPY.items() if name.startswith("numpy.")},
    **{f"jax.numpy.{name}": _NUMPY[f"numpy.{other}"] for name, other in _RENAMED.items()},
    **{f"jax.numpy.{name}": unary(dtypes.boolean) for name in ("isneginf", "isposinf", "isreal", "iscomplex")},
    "jax.numpy.float_power": binary(dtypes.unknown),
    "jax.numpy.astype": as_in(_NUMPY["Array.astype()"], "x, dtype, /, *, copy=False, device=None"),
    "jax.numpy.unwrap": Row("p", like("p", dtypes.unknown)),
    **{f"jax.{name}": row for name, row in _NUMPY.items() if name.startswith("Array.")},
    **{f"jax.Array.{name}()": row for name, row in _METHODS.items()},
    **_INDEXING,
}
for _name in _LEFT_OUT:
    del TABLE[f"jax.{_name}"]
