import copy
import gc
import inspect
import operator
import weakref
from typing import Any

import numpy as np
import pytest
from beartype import beartype
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float, Int, jaxtyped
from strict_array import (
    CONSTANTS,
    FUNCTIONS,
    LINALG,
    MATMUL_KEYWORDS,
    UFUNC_KEYWORDS,
    UFUNCS,
    UFUNCS_WITH_AT,
    HostSync,
    StrictArray,
    _Signature,
    allow_sync,
    register,
    strict_namespace,
    to_numpy,
    to_strict,
)

from typednn import arrays, backends
from typednn.arrays import Array2, IntArray1

xp: Any = strict_namespace

HOST = np.arange(6, dtype=np.float32).reshape(2, 3) + 1


@pytest.fixture
def x() -> Any:
    return to_strict(HOST)


def equal(strict: object, host: Any) -> None:
    """Same kind, dtype, shape and numbers; a number of NumPy is an array of no axes here."""
    assert type(strict) is StrictArray
    assert strict.dtype == np.asarray(host).dtype
    assert strict.shape == np.shape(host)
    np.testing.assert_array_equal(to_numpy(strict), host)


# --- conversions ------------------------------------------------------------------------------------------------------


def test_conversions_copy(x: Any) -> None:
    host = HOST.copy()
    there = to_strict(host)
    host[:] = 0
    equal(there, HOST)
    back = to_numpy(there)
    back[:] = 0
    equal(there, HOST)


def test_conversions_take_one_kind_each(x: Any) -> None:
    with pytest.raises(TypeError, match=r"to_strict: expected numpy\.ndarray, got StrictArray"):
        to_strict(x)
    with pytest.raises(TypeError, match=r"to_strict: expected numpy\.ndarray, got list"):
        to_strict([1.0])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="to_numpy: expected StrictArray, got ndarray"):
        to_numpy(HOST)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"StrictArray: expected numpy\.ndarray, got float"):
        StrictArray(1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "convert",
    [
        np.asarray,
        np.array,
        np.ascontiguousarray,
        lambda x: np.array([x]),
        lambda x: np.asarray(x, dtype=np.float32),
        lambda x: np.zeros(3)[x],
        lambda x: np.zeros((2, 3)).__setitem__(..., x),
    ],
)
def test_no_implicit_conversion_to_numpy(x: Any, convert: Any) -> None:
    with pytest.raises(TypeError, match="implicit conversion of a StrictArray to a NumPy array is not allowed"):
        convert(x)


@pytest.mark.parametrize("name", ["exp", "add", "matmul", "isnan"])
def test_ufuncs_of_numpy_refuse(x: Any, name: str) -> None:
    ufunc = getattr(np, name)
    with pytest.raises(TypeError, match="does not support ufuncs"):
        ufunc(*[x] * ufunc.nin)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("sum", ()),
        ("mean", ()),
        ("reshape", (6,)),
        ("zeros_like", ()),
        ("where", (1, 2)),
        ("transpose", ()),
        ("argmax", ()),
        ("copy", ()),
    ],
)
def test_functions_of_numpy_refuse(x: Any, name: str, args: tuple[Any, ...]) -> None:
    with pytest.raises(
        TypeError, match=rf"numpy\.{name}: expected NumPy arrays, got StrictArray; use typednn\.arrays\.namespace\(x\)"
    ):
        getattr(np, name)(x, *args)
    with pytest.raises(TypeError, match=r"numpy\.concatenate"):
        np.concatenate([x, x])


# --- operators --------------------------------------------------------------------------------------------------------

BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
]
IN_PLACE = [
    operator.iadd,
    operator.isub,
    operator.imul,
    operator.itruediv,
    operator.ifloordiv,
    operator.imod,
    operator.ipow,
]
ON_INTEGERS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
IN_PLACE_ON_INTEGERS = [operator.iand, operator.ior, operator.ixor]


@pytest.mark.parametrize("compute", BINARY)
def test_operators_compute_what_numpy_does(x: Any, compute: Any) -> None:
    equal(compute(x, x), compute(HOST, HOST))
    equal(compute(x, 2), compute(HOST, 2))
    equal(compute(3.0, x), compute(3.0, HOST))
    equal(compute(x, np.float32(2)), compute(HOST, np.float32(2)))
    equal(compute(np.float32(2), x), compute(np.float32(2), HOST))


@pytest.mark.parametrize("compute", ON_INTEGERS)
def test_operators_on_integers(compute: Any) -> None:
    host = np.array([1, 2, 3])
    equal(compute(to_strict(host), to_strict(host)), compute(host, host))
    equal(compute(to_strict(host), 1), compute(host, 1))
    equal(compute(1, to_strict(host)), compute(1, host))


@pytest.mark.parametrize("compute", IN_PLACE)
def test_in_place_operators_write_into_the_array(x: Any, compute: Any) -> None:
    view = x[0]
    assert compute(x, 2) is x
    equal(x, compute(HOST.copy(), 2))
    equal(view, compute(HOST.copy(), 2)[0])
    again = to_strict(HOST)
    assert compute(again, again) is again
    equal(again, compute(HOST.copy(), HOST))


@pytest.mark.parametrize("compute", IN_PLACE_ON_INTEGERS)
def test_in_place_operators_on_integers(compute: Any) -> None:
    host = np.array([1, 2, 3])
    there = to_strict(host)
    assert compute(there, 2) is there
    equal(there, compute(host.copy(), 2))


def test_in_place_keeps_the_dtype(x: Any) -> None:
    x += to_strict(HOST.astype(np.float64))
    assert x.dtype == np.float32
    integers = to_strict(np.array([1, 2]))
    with pytest.raises(TypeError):
        integers /= 2


def test_matmul(x: Any) -> None:
    equal(x @ x.T, HOST @ HOST.T)
    equal(x[0] @ x[0], HOST[0] @ HOST[0])
    with pytest.raises(TypeError, match="x @= w: NumPy writes into x, CuPy makes a new array"):
        x @= x


def test_unary_operators(x: Any) -> None:
    equal(-x, -HOST)
    equal(+x, +HOST)
    equal(abs(-x), HOST)
    equal(~(x > 2), ~(HOST > 2))
    equal(-x[0, 0], -HOST[0, 0])


@pytest.mark.parametrize("compute", [*BINARY, operator.matmul])
def test_operators_refuse_numpy_arrays(x: Any, compute: Any) -> None:
    for left, right in [
        (x, HOST),
        (HOST, x),
        (x, np.array(1.0)),
        (np.array(1.0), x),
        (x, HOST.tolist()),
        (HOST.tolist(), x),
    ]:
        with pytest.raises(TypeError):
            compute(left, right)


@pytest.mark.parametrize("compute", IN_PLACE)
def test_in_place_operators_refuse_numpy_arrays(x: Any, compute: Any) -> None:
    with pytest.raises(TypeError):
        compute(x, HOST)
    with pytest.raises(TypeError):
        compute(HOST.copy(), x)
    equal(x, HOST)


@pytest.mark.parametrize("scalar", [np.float64(2), np.int64(2)])
def test_numpy_scalars_that_would_promote_are_refused(x: Any, scalar: Any) -> None:
    message = r"float32 would become float64, got a NumPy scalar (float64|int64); pass a Python number"
    attempts: list[Any] = [
        lambda: x * scalar,
        lambda: scalar * x,
        lambda: xp.maximum(x, scalar),
        lambda: xp.where(x > 1, x, scalar),
        lambda: xp.clip(x, scalar, 3),
        lambda: x.__imul__(scalar),
    ]
    for compute in attempts:
        with pytest.raises(TypeError, match=message):
            compute()
    equal(x, HOST)


def test_numpy_scalars_that_change_nothing_are_fine() -> None:
    double = to_strict(HOST.astype(np.float64))
    equal(double * np.float32(2), HOST.astype(np.float64) * 2)
    equal(to_strict(np.array([1, 2])) + np.int32(1), np.array([2, 3]))


def test_strangers_are_left_to_python(x: Any) -> None:
    assert (x == "text") is False
    assert (x == None) is False  # noqa: E711
    with pytest.raises(TypeError, match="unsupported operand"):
        x + "text"
    with pytest.raises(TypeError, match="unsupported operand"):
        x += "text"

    class Stranger:
        def __rmul__(self, other: object) -> str:
            return "mine"

    assert x * Stranger() == "mine"


# --- what waits for the device ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ask", [bool, int, float, complex, lambda x: f"{x:.3f}"])
def test_a_number_is_not_asked_for_in_silence(ask: Any) -> None:
    number = to_strict(np.array(2.0, dtype=np.float32))
    with pytest.raises(
        HostSync,
        match=r"of a StrictArray waits for the device; stay on it, say x\.item\(\), or test within allow_sync\(\)",
    ):
        ask(number)
    with allow_sync():
        assert ask(number) == ask(2.0)
    with pytest.raises(HostSync):
        ask(number)


def test_sync_is_refused_again_after_an_exception() -> None:
    def fail() -> None:
        with allow_sync():
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with pytest.raises(HostSync):
        bool(to_strict(np.array(True)))


def test_branching_on_an_array_is_a_sync(x: Any) -> None:
    with pytest.raises(HostSync):
        assert (x == x).all()
    with pytest.raises(HostSync):
        assert 2.0 in x[0]


def test_only_one_number_is_a_number(x: Any) -> None:
    with allow_sync():
        assert float(x[:1, :1]) == 1.0
        with pytest.raises(ValueError, match="size 1"):
            float(x)
        with pytest.raises(ValueError, match="size 1"):
            bool(x)


def test_no_index_from_an_array() -> None:
    with allow_sync(), pytest.raises(TypeError):
        range(to_strict(np.array(2)))  # type: ignore[call-overload]


def test_explicit_reads(x: Any) -> None:
    assert x[1, 2].item() == 6.0
    assert x.tolist() == HOST.tolist()
    assert x.tobytes() == HOST.tobytes()
    assert repr(x) == "StrictArray([[1., 2., 3.],\n       [4., 5., 6.]], dtype=float32)"
    assert f"{x[0, 0]}" == "StrictArray(1., dtype=float32)"


# --- what it is -------------------------------------------------------------------------------------------------------


def test_attributes(x: Any) -> None:
    assert (x.shape, x.dtype, x.ndim, x.size, x.nbytes, x.itemsize, x.strides) == (
        (2, 3),
        np.float32,
        2,
        6,
        24,
        4,
        (12, 4),
    )
    assert len(x) == 2
    assert x.flags == (True, False, True)
    assert x.T.flags.f_contiguous
    assert not hasattr(x.flags, "writeable"), "CuPy's arrays have no such flag"
    assert not isinstance(x, np.ndarray)
    for rows, row in zip(x, HOST, strict=True):
        equal(rows, row)


def test_unhashable_as_arrays_are(x: Any) -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


def test_weak_references(x: Any) -> None:
    there = to_strict(HOST)
    reference = weakref.ref(there)
    assert reference() is there
    del there
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, StrictArray.copy])
def test_copies_are_independent(duplicate: Any) -> None:
    there = to_strict(HOST, readonly=True)
    copied = duplicate(there)
    copied += 1
    equal(copied, HOST + 1)
    equal(there, HOST)


def test_deepcopy_within_a_container(x: Any) -> None:
    both = copy.deepcopy({"a": x, "b": x})
    assert both["a"] is both["b"]
    assert both["a"] is not x


@pytest.mark.parametrize(
    ("compute", "is_view"),
    [
        (lambda a: a.reshape(3, 2), True),
        (lambda a: a.reshape((3, -1)), True),
        (lambda a: a.T, True),
        (lambda a: a.transpose(1, 0), True),
        (lambda a: a.transpose(), True),
        (lambda a: a.swapaxes(0, 1), True),
        (lambda a: a.ravel(), True),
        (lambda a: a.view(), True),
        (lambda a: a.view(np.int32), True),
        (lambda a: a[:1].squeeze(0), True),
        (lambda a: a.flatten(), False),
        (lambda a: a.copy(), False),
        (lambda a: a.astype(np.float64), False),
        (lambda a: a.astype(np.float32), False),
        (lambda a: a.astype(np.float32, copy=False), True),
    ],
)
def test_views_and_copies(x: Any, compute: Any, is_view: bool) -> None:
    result = compute(x)
    equal(result, compute(HOST))
    x.fill(7)
    assert (to_numpy(result).tobytes() != to_numpy(to_strict(compute(HOST))).tobytes()) is is_view


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "std", "var", "max", "min", "argmax", "argmin"])
def test_reductions_stay_on_the_device(x: Any, name: str) -> None:
    for kwargs in [{}, {"axis": 0}, {"axis": 1, "keepdims": True}]:
        equal(getattr(x, name)(**kwargs), getattr(HOST, name)(**kwargs))
        equal(getattr(xp, name)(x, **kwargs), getattr(np, name)(HOST, **kwargs))


def test_further_methods(x: Any) -> None:
    equal((x > 1).any(), np.True_)
    equal((x > 1).all(axis=1), np.array([False, True]))
    equal(x.sum(dtype=np.float64), HOST.sum(dtype=np.float64))
    equal(x.cumsum(axis=1), HOST.cumsum(axis=1))
    equal(x.clip(2, 3), HOST.clip(2, 3))
    equal(x.take(xp.asarray([1]), axis=1), HOST.take([1], axis=1))
    equal((x / 3).round(1), (HOST / 3).round(1))
    equal(x.dot(x.T), HOST.dot(HOST.T))
    equal(x.std(ddof=1), HOST.std(ddof=1))
    out = xp.empty(3, dtype=xp.float32)
    assert x.sum(axis=0, out=out) is out
    equal(out, HOST.sum(axis=0))


@pytest.mark.parametrize("argument", ["where", "initial"])
def test_reductions_have_cupys_arguments_only(x: Any, argument: str) -> None:
    with pytest.raises(TypeError, match=argument):
        x.sum(**{argument: 1})
    with pytest.raises(TypeError, match=rf"sum: CuPy takes a, axis, dtype, keepdims, out by name, got {argument}="):
        xp.sum(x, **{argument: 1})


# --- indices ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "index",
    [
        0,
        -1,
        (1, 2),
        slice(None, 1),
        (slice(None), 1),
        ...,
        (..., 0),
        None,
        (0, None),
        np.int64(1),
        (slice(0, 2), slice(None, None, 2)),
    ],
)
def test_basic_indices_are_views(x: Any, index: Any) -> None:
    view = x[index]
    equal(view, HOST[index])
    view += 10
    host = HOST.copy()
    host[index] += 10
    equal(x, host)


def test_index_arrays(x: Any) -> None:
    rows, columns = np.array([1, 0, 1]), np.array([2, 0, 0])
    equal(x[to_strict(rows)], HOST[rows])
    equal(x[:, to_strict(columns)], HOST[:, columns])
    equal(x[to_strict(rows), to_strict(columns)], HOST[rows, columns])
    equal(x[x > 2], HOST[HOST > 2])
    equal(x[to_strict(np.array(1))], HOST[1])


def test_setting(x: Any) -> None:
    host = HOST.copy()
    both: list[tuple[Any, Any]] = [(x, to_strict), (host, lambda a: a)]
    for array, wrap in both:
        array[0] = 5
        array[1, wrap(np.array([0, 2]))] = wrap(np.array([7, 8], dtype=np.float32))
        array[array > 7] = 0.5
        array[..., 1] = array[..., 0]
    equal(x, host)


@pytest.mark.parametrize(
    "index", [np.array([0]), [0], [True, False], (0, np.array(1)), (slice(None), [0]), True, 1.0, np.True_, "a"]
)
def test_indices_of_the_host_are_refused(x: Any, index: Any) -> None:
    with pytest.raises(TypeError, match=r"x\[\.\.\.\]"):
        x[index]
    with pytest.raises(TypeError, match=r"x\[\.\.\.\]"):
        x[index] = 0


def test_slices_of_arrays_are_refused(x: Any) -> None:
    with pytest.raises(TypeError, match="expected integers within a slice"):
        x[: xp.asarray(1)]


@pytest.mark.parametrize("value", [HOST, np.array(1.0), [1, 2, 3], (1, 2, 3), None, "a"])
def test_values_of_the_host_are_refused(x: Any, value: Any) -> None:
    with pytest.raises(TypeError, match=r"x\[\.\.\.\] = value"):
        x[0] = value
    equal(x, HOST)


def test_out_of_bounds(x: Any) -> None:
    with pytest.raises(IndexError):
        x[2]
    with pytest.raises(IndexError):
        x[to_strict(np.array([2]))]  # CuPy would wrap around in silence


# --- read-only --------------------------------------------------------------------------------------------------------


def _read_only_base() -> StrictArray:
    host = HOST.copy()
    host.flags.writeable = False
    return StrictArray(host)


@pytest.mark.parametrize(
    "make", [_read_only_base, lambda: to_strict(HOST, readonly=True), lambda: to_strict(HOST, readonly=True)[:]]
)
@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.__setitem__(0, 1),
        lambda x: x.__setitem__(x > 1, 1),
        lambda x: x[0].fill(1),
        lambda x: x.reshape(-1).__iadd__(1),
        lambda x: xp.add(x, 1, out=x),
        lambda x: xp.add(x, 1, x),
        lambda x: xp.add.at(x, 0, 1),
        lambda x: xp.sum(x, axis=0, out=x[0]),
        lambda x: x.sum(axis=0, out=x[0]),
        *[lambda x, compute=compute: compute(x, 2) for compute in IN_PLACE],
    ],
)
def test_read_only_arrays_are_not_written(make: Any, write: Any) -> None:
    x = make()
    with pytest.raises(ValueError, match="read-only"):
        write(x)
    equal(x, HOST)


# --- the namespace ----------------------------------------------------------------------------------------------------


def test_creation() -> None:
    equal(xp.zeros((2, 3), dtype=xp.float32), np.zeros((2, 3), np.float32))
    equal(xp.ones(2), np.ones(2))
    equal(xp.full((2,), 3.0, dtype=xp.float32), np.full(2, 3.0, np.float32))
    equal(xp.arange(3), np.arange(3))
    equal(xp.arange(1, 7, 2, dtype=xp.int32), np.arange(1, 7, 2, dtype=np.int32))
    equal(xp.eye(2, dtype=xp.float32), np.eye(2, dtype=np.float32))
    assert xp.empty((0, 3)).shape == (0, 3)


def test_like(x: Any) -> None:
    equal(xp.zeros_like(x), np.zeros_like(HOST))
    equal(xp.ones_like(x, dtype=xp.int64), np.ones_like(HOST, dtype=np.int64))
    equal(xp.full_like(x, 2), np.full_like(HOST, 2))
    assert xp.empty_like(x).shape == x.shape
    with pytest.raises(TypeError, match="zeros_like: expected a as an array of the device, got list"):
        xp.zeros_like([1, 2])


def test_asarray(x: Any) -> None:
    assert xp.asarray(1.5).shape == ()
    equal(xp.asarray([[1, 2], [3, 4]], dtype=xp.float32), np.array([[1, 2], [3, 4]], np.float32))
    shared = xp.asarray(x)
    shared += 1
    equal(x, HOST + 1)
    copied = xp.array(x)
    copied += 1
    equal(x, HOST + 1)
    for convert in (xp.asarray, xp.array):
        for host in (HOST, [HOST], (1, [HOST])):
            with pytest.raises(TypeError, match=r"array: expected arrays of the device, got numpy\.ndarray"):
                convert(host)
        with pytest.raises(TypeError, match="for a list of arrays use stack"):
            convert([x, x])
        with pytest.raises(TypeError, match="or numbers, got NoneType"):
            convert(None)


@pytest.mark.parametrize("name", sorted(UFUNCS - {"bitwise_and", "bitwise_or", "bitwise_xor", "invert", "matmul"}))
def test_elementwise_functions(x: Any, name: str) -> None:
    ufunc = getattr(np, name)
    equal(getattr(xp, name)(*[x / 7] * ufunc.nin), ufunc(*[HOST / 7] * ufunc.nin))
    out = xp.empty_like(ufunc_result := getattr(xp, name)(*[x] * ufunc.nin))
    assert getattr(xp, name)(*[x] * ufunc.nin, out=out) is out
    equal(out, to_numpy(ufunc_result))
    with pytest.raises(TypeError, match=rf"{name}: expected arrays of the device, got numpy\.ndarray"):
        getattr(xp, name)(*[HOST] * ufunc.nin)
    with pytest.raises(TypeError, match=f"{name}: expected arrays of the device or numbers, got list"):
        getattr(xp, name)(*[[1.0]] * ufunc.nin)


def test_ufunc_arguments(x: Any) -> None:
    out = xp.zeros((2, 3), dtype=xp.float32)
    assert xp.add(x, 1, out) is out
    assert xp.add(x, 1, out=(out,)) is out
    xp.negative(x, out=out, where=x > 2)
    equal(out, np.where(HOST > 2, -HOST, HOST + 1))
    equal(xp.add(x, x, dtype=xp.float64), np.add(HOST, HOST, dtype=np.float64))
    equal(xp.invert(x > 1), ~(HOST > 1))
    equal(xp.matmul(x, x.T, out=xp.empty((2, 2), dtype=xp.float32)), HOST @ HOST.T)
    for keyword in ("order", "subok", "signature"):
        with pytest.raises(TypeError, match=f"add: CuPy takes casting, dtype, out, where by name, got {keyword}="):
            xp.add(x, 1, **{keyword: None})
    for wrong in (np.empty((2, 3)), [x], HOST.tolist()):
        with pytest.raises(TypeError, match="add: expected"):
            xp.add(x, 1, out=wrong)


def test_adding_at_indices(x: Any) -> None:
    host = HOST.copy()
    index = np.array([0, 0, 1])
    xp.add.at(x, to_strict(index), 1)
    np.add.at(host, index, 1)
    equal(x, host)
    with pytest.raises(TypeError, match=r"add\.at: expected arrays of the device, got numpy\.ndarray"):
        xp.add.at(x, index, 1)
    with pytest.raises(TypeError, match=r"add\.at: expected arrays of the device, got numpy\.ndarray"):
        xp.add.at(x, 0, HOST)
    with pytest.raises(TypeError, match=r"add\.at: expected arrays of the device, got ndarray"):
        xp.add.at(HOST, 0, 1)
    with pytest.raises(AttributeError, match="the strict namespace's exp has no 'at'"):
        xp.exp.at  # noqa: B018
    with pytest.raises(AttributeError, match="the strict namespace's add has no 'reduce'"):
        xp.add.reduce  # noqa: B018


CALLS: list[Any] = [
    lambda n, a: n.where(a > 2, a, 0.0),
    lambda n, a: n.clip(a, 2, 3),
    lambda n, a: n.tensordot(a, a, axes=([1], [1])),
    lambda n, a: n.einsum("ij,kj->ik", a, a),
    lambda n, a: n.einsum("ij->", a),
    lambda n, a: n.dot(a, a.T),
    lambda n, a: n.outer(a, a),
    lambda n, a: n.stack([a, a], axis=-1),
    lambda n, a: n.concatenate((a, a), axis=1),
    lambda n, a: n.vstack([a, a]),
    lambda n, a: n.hstack([a, a]),
    lambda n, a: n.reshape(a, (3, 2)),
    lambda n, a: n.ravel(a),
    lambda n, a: n.transpose(a),
    lambda n, a: n.swapaxes(a, 0, 1),
    lambda n, a: n.moveaxis(a, 0, 1),
    lambda n, a: n.expand_dims(a, 0),
    lambda n, a: n.squeeze(a[:1]),
    lambda n, a: n.broadcast_to(a, (4, 2, 3)),
    lambda n, a: n.ascontiguousarray(a.T),
    lambda n, a: n.pad(a, ((1, 1), (0, 2))),
    lambda n, a: n.pad(a, 1, mode="constant", constant_values=-1.0),
    lambda n, a: n.take(a, 1, axis=1),
    lambda n, a: n.take_along_axis(a, n.argmax(a, axis=1)[:, None], axis=1),
    lambda n, a: n.flip(a, axis=0),
    lambda n, a: n.roll(a, 1, axis=1),
    lambda n, a: n.tile(a, (2, 1)),
    lambda n, a: n.any(a > 5),
    lambda n, a: n.all(a > 5, axis=0),
    lambda n, a: n.amax(a, axis=1, keepdims=True),
    lambda n, a: n.amin(a),
    lambda n, a: n.cumsum(a, axis=1),
    lambda n, a: n.cumprod(a, axis=1),
    lambda n, a: n.sort(-a),
    lambda n, a: n.argsort(-a),
    lambda n, a: n.round(a / 3, 1),
    lambda n, a: n.trace(a),
    lambda n, a: n.diag(a),
    lambda n, a: n.diagonal(a),
    lambda n, a: n.tril(a),
    lambda n, a: n.triu(a, 1),
    lambda n, a: n.copy(a),
    lambda n, a: n.linspace(0.0, 1.0, 5),
    lambda n, a: n.flatnonzero(a > 2),
    lambda n, a: n.count_nonzero(a > 2),
    lambda n, a: n.bincount(n.flatnonzero(a > 2)),
    lambda n, a: n.unique(a > 2),
    lambda n, a: n.isclose(a, a),
    lambda n, a: n.allclose(a, a),
    lambda n, a: n.array_equal(a, a),
    lambda n, a: n.linalg.norm(a),
    lambda n, a: n.linalg.norm(a, axis=1, keepdims=True),
]


@pytest.mark.parametrize("call", CALLS)
def test_functions_compute_what_numpy_does(x: Any, call: Any) -> None:
    equal(call(xp, x), call(np, HOST))


@pytest.mark.parametrize("call", CALLS)
def test_functions_refuse_numpy_arrays(call: Any) -> None:
    name = next(name for name in call.__code__.co_names if name in {**FUNCTIONS, **LINALG} and name != "argmax")
    if name == "linspace":
        return
    with pytest.raises(TypeError, match=r"(argmax|flatnonzero|\w+): expected arrays of the device, got numpy\.ndarray"):
        call(xp, HOST)


def test_functions_with_several_results(x: Any) -> None:
    found, counts = xp.unique(x > 2, return_counts=True)
    equal(found, np.array([False, True]))
    equal(counts, np.array([2, 4]))
    for got, index in zip(xp.nonzero(x > 2), np.nonzero(HOST > 2), strict=True):
        equal(got, index)
    for got, part in zip(xp.split(x, 3, axis=1), np.split(HOST, 3, axis=1), strict=True):
        equal(got, part)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: xp.stack([x, HOST]), r"stack: expected arrays of the device, got numpy\.ndarray"),
        (lambda x: xp.stack([x, 1.0]), "stack: expected a list of arrays of the device, got one of float"),
        (lambda x: xp.stack(x), "stack: expected a list of arrays of the device, got StrictArray"),
        (lambda x: xp.sum([1.0, 2.0]), "sum: expected a as an array of the device, got list"),
        (lambda x: xp.where(True, x, x), "where: expected condition as an array of the device, got bool"),
        (
            lambda x: xp.einsum("i,i->", x[0], [1.0, 2, 3]),
            r"einsum: expected \.\.\. as an array of the device, got list",
        ),
        (
            lambda x: xp.einsum("ij->", x, out=x[0, 0]),
            "einsum: CuPy takes dtype, optimize, subscripts by name, got out=",
        ),
        (lambda x: xp.clip(x, min=0), "clip: CuPy takes a, a_max, a_min, out by name, got min="),
        (lambda x: xp.argmax(x, 0, None), r"argmax: CuPy takes 2 arguments by position \(@a, axis\), got 3"),
        (lambda x: xp.sum(x, axis=0, out=np.empty(3)), r"sum: expected arrays of the device, got numpy\.ndarray"),
        (lambda x: xp.sum(x, axis=0, out=[x]), "sum: expected out= as an array of the device, got list"),
        (lambda x: xp.where(x > 1, HOST, x), r"where: expected arrays of the device, got numpy\.ndarray"),
        (
            lambda x: xp.pad(x, 1, constant_values=np.array(1.0)),
            r"pad: expected arrays of the device, got numpy\.ndarray",
        ),
        (lambda x: xp.result_type(x, HOST), r"result_type: expected arrays of the device, got numpy\.ndarray"),
        (lambda x: xp.linalg.norm(HOST), r"norm: expected arrays of the device, got numpy\.ndarray"),
    ],
)
def test_arguments_that_cupy_refuses(x: Any, call: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call(x)


def test_pad_has_cupys_modes(x: Any) -> None:
    with pytest.raises(ValueError, match=r"pad: CuPy's modes are constant, .*, got 'median'"):
        xp.pad(x, 1, mode="median")


@pytest.mark.parametrize(
    "name", ["block", "asanyarray", "savez", "random", "fft", "vectorize", "apply_along_axis", "nothing", "_members_"]
)
def test_what_is_not_on_the_list_is_missing(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"^strict\.{name} is not on the list of what CuPy has too$"):
        getattr(xp, name)
    assert not hasattr(xp.linalg, name)


def test_constants(x: Any) -> None:
    assert xp.float32 is np.float32
    assert xp.newaxis is None
    assert xp.inf == np.inf
    assert xp.ndarray is StrictArray
    assert xp.issubdtype(x.dtype, xp.floating)
    assert xp.finfo(x.dtype).eps == np.finfo(np.float32).eps
    assert xp.result_type(x, xp.float64) == np.float64
    assert {"exp", "sum", "float32", "linalg"} <= set(dir(xp))
    assert repr(xp) == "<namespace strict>"


@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=20))
def test_a_kernel_gives_the_same_on_both(values: list[float]) -> None:
    def softmax(n: Any, a: Any) -> Any:
        e = n.exp(a - n.max(a, axis=-1, keepdims=True))
        return e / n.sum(e, axis=-1, keepdims=True)

    host = np.array([values], dtype=np.float32)
    equal(softmax(xp, to_strict(host)), softmax(np, host))


# --- typednn ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The device "strict", for one test."""
    monkeypatch.setattr(arrays, "_BACKENDS", dict(arrays._BACKENDS))
    monkeypatch.setattr("typednn.backends.backend._BACKENDS", dict(backends.backend._BACKENDS))
    register()
    register()


@pytest.mark.usefixtures("registered")
def test_registered(x: Any) -> None:
    assert arrays.is_array(x)
    assert arrays.namespace(x) is strict_namespace
    assert arrays.device_of(x) == "strict"
    array_class: Any = Array2
    assert isinstance(x, array_class)


@pytest.mark.usefixtures("registered")
def test_a_device_like_any_other(x: Any) -> None:
    assert "strict" in backends.available()
    there = backends.to_device(HOST, "strict")
    equal(there, HOST)
    assert backends.to_device(there, "strict") is there
    np.testing.assert_array_equal(backends.to_numpy(there), HOST)
    np.testing.assert_array_equal(backends.to_device(there, "cpu"), HOST)
    assert backends.select("strict").namespace is strict_namespace
    backends.synchronize("strict")


@pytest.mark.usefixtures("registered")
def test_jaxtyping_reads_it(x: Any) -> None:
    def fits(array: object, annotation: Any) -> bool:
        return isinstance(array, annotation)

    assert fits(x, Float[Array2, "a b"])
    assert fits(x, Float[Array2, "2 3"])
    assert not fits(x, Float[Array2, "3 2"])
    assert not fits(x, Float[Array2, "a b c"])
    assert not fits(x, Int[Array2, "a b"])
    assert fits(xp.arange(3), Int[IntArray1, "n"])

    @jaxtyped(typechecker=beartype)
    def matmul(a: Float[Array2, "a b"], b: Float[Array2, "b c"]) -> Float[Array2, "a c"]:
        return a @ b

    equal(matmul(x, x.T), HOST @ HOST.T)
    with pytest.raises(TypeError, match="matmul"):
        matmul(x, x)


# --- the lists against CuPy itself; a GPU is not needed for that ------------------------------------------------------


def _parameters(function: Any) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function).parameters)


@pytest.mark.parametrize(
    ("name", "listed"), [*FUNCTIONS.items(), *[("linalg." + name, listed) for name, listed in LINALG.items()]]
)
def test_functions_are_listed_as_cupy_has_them(name: str, listed: str) -> None:
    cupy = pytest.importorskip("cupy")
    theirs = _parameters(operator.attrgetter(name)(cupy))
    if name in {"einsum", "pad"}:  # their keywords are read inside: dtype, optimize; those of each mode
        assert any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in theirs.values())
        return
    signature = _Signature(name, listed)
    assert signature.names <= set(theirs)
    positional = [word.lstrip("@+") for word in signature.positional]
    assert positional == list(theirs)[: len(positional)]


def test_elementwise_functions_and_constants_are_cupys() -> None:
    cupy = pytest.importorskip("cupy")
    assert [name for name in sorted(UFUNCS | CONSTANTS) if not hasattr(cupy, name)] == []
    assert [name for name in sorted(UFUNCS) if not callable(getattr(cupy, name))] == []
    assert all(hasattr(getattr(cupy, name), "at") for name in UFUNCS_WITH_AT)
    assert {"out", "dtype", "casting", "where"} == UFUNC_KEYWORDS
    assert MATMUL_KEYWORDS < UFUNC_KEYWORDS


def test_methods_are_cupys() -> None:
    cupy = pytest.importorskip("cupy")
    public = [name for name in dir(StrictArray) if not name.startswith("_")]
    assert [name for name in public if not hasattr(cupy.ndarray, name)] == []
