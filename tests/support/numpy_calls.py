"""Random calls of NumPy's functions, right and wrong ones: one generator for each row of the plugin's table."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np

Call = tuple[list[Any], dict[str, Any]]
Generator = Callable[[random.Random], Call]
SIZES = (0, 1, 1, 2, 3, 3, 5, 7)
FLOATS = ("float16", "float32", "float64")
NUMBERS = (*FLOATS, "int8", "uint8", "int16", "int32", "int64", "uint64")
ALL = (*NUMBERS, "bool", "complex64", "complex128")
EXACT = ("bool", "uint8", "int8", "int32", "int64", "uint64")


def shape(r: random.Random, most: int = 5, least: int = 0) -> tuple[int, ...]:
    return tuple(r.choice(SIZES) for _ in range(r.randint(least, most)))


def array(r: random.Random, sizes: tuple[int, ...] | None = None, dtypes: tuple[str, ...] = ALL, most: int = 4) -> Any:
    sizes = shape(r, most) if sizes is None else sizes
    return np.ones(sizes, r.choice(dtypes))


def almost(r: random.Random, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The same shape, mostly; or one that broadcasts; or one with another size."""
    found = list(sizes)
    for place in range(len(found)):
        if r.random() < 0.2:
            found[place] = 1
        elif r.random() < 0.06:
            found[place] = r.choice(SIZES)
    return tuple(found[r.randint(0, len(found)) :] if r.random() < 0.3 else found)


def scalar(r: random.Random) -> Any:
    return r.choice([2, 1, 0.5, True])


def axis(r: random.Random, rank: int, *, none: bool = True, several: bool = True) -> Any:
    choice = r.random()
    if none and choice < 0.2:
        return None
    if several and choice < 0.45:
        return tuple(r.randint(-rank, max(rank - 1, 0)) for _ in range(r.randint(0, min(rank, 3))))
    return r.choice((-rank - 1, rank)) if choice > 0.9 or not rank else r.randrange(-rank, rank)


def some(r: random.Random, **options: Any) -> dict[str, Any]:
    """Each option, or not; a function is called for its value."""
    return {
        name: value() if callable(value) and not isinstance(value, type) else value for name, value in options.items() if r.random() < 0.3
    }


def truth(r: random.Random) -> Any:
    return r.random() < 0.5


# ------------------------------------------------------------------ elementwise


def operands(count: int, dtypes: tuple[str, ...] = ALL, *, ufunc: bool = True, scalars: bool = True) -> Generator:
    def generate(r: random.Random) -> Call:
        sizes = shape(r)
        values = [array(r, almost(r, sizes) if place else sizes, dtypes) for place in range(count)]
        if scalars and count > 1 and r.random() < 0.3:
            values[r.randrange(count)] = scalar(r)
        extra: dict[str, Any] = {}
        if ufunc and r.random() < 0.15:
            extra["out"] = np.ones(almost(r, sizes), "complex128" if r.random() < 0.5 else "float64")
        if ufunc and r.random() < 0.1:
            extra["where"] = np.ones(almost(r, sizes), bool)
        return values, extra

    return generate


def where(r: random.Random) -> Call:
    values, _ = operands(2, ufunc=False)(r)
    sizes = next(value.shape for value in values if isinstance(value, np.ndarray))
    return [np.ones(almost(r, sizes), bool), *values], {}


def clip(r: random.Random) -> Call:
    a = array(r, dtypes=NUMBERS)
    ends = [array(r, almost(r, a.shape), (a.dtype.name,)) if r.random() < 0.3 else r.choice([1, None]) for _ in range(2)]
    return [a, *ends], {}


def single(**options: Any) -> Generator:
    """One array and keywords."""
    return lambda r: ([array(r)], some(r, **options))


# ------------------------------------------------------------------ reductions


def reduction(dtypes: tuple[str, ...] = ALL, *, several: bool = True, dtype: bool = False, out: bool = False, most: int = 5) -> Generator:
    def generate(r: random.Random) -> Call:
        a = array(r, dtypes=dtypes, most=most)
        keywords: dict[str, Any] = {}
        if r.random() < 0.85:
            keywords["axis"] = axis(r, a.ndim, several=several)
        keywords |= some(r, keepdims=lambda: truth(r))
        if dtype:
            keywords |= some(r, dtype=np.float32)
        if out and r.random() < 0.1:
            keywords["out"] = np.ones(shape(r, 2), "float64")
        return [a], keywords

    return generate


def along(dtypes: tuple[str, ...] = ALL, *, before: Callable[[random.Random], list[Any]] = lambda r: [], none: bool = True) -> Generator:
    def generate(r: random.Random) -> Call:
        a = array(r, dtypes=dtypes)
        return [a, *before(r)], {"axis": axis(r, a.ndim, several=False, none=none)} if r.random() < 0.8 else {}

    return generate


def kth(r: random.Random) -> Call:
    a = array(r, tuple(r.choice((3, 5)) for _ in range(r.randint(1, 3))), NUMBERS)
    return [a, r.randint(0, 2)], some(r, axis=lambda: axis(r, a.ndim, several=False))


def difference(r: random.Random) -> Call:
    a = array(r, dtypes=NUMBERS)
    return [a], some(r, n=lambda: r.randint(-1, 4), axis=lambda: axis(r, a.ndim, several=False, none=False))


def norm(r: random.Random) -> Call:
    a = array(r, tuple(r.choice((1, 2, 3)) for _ in range(r.randint(0, 4))))
    return [a], some(r, ord=lambda: r.choice((1, 2, None)), axis=lambda: axis(r, a.ndim), keepdims=lambda: truth(r))


def quantile(r: random.Random) -> Call:
    a = array(r, tuple(r.choice((1, 2, 3)) for _ in range(r.randint(0, 4))), FLOATS)
    q = r.choice((0.5, [0.1, 0.5], np.ones((2, 3)) / 2, np.ones(0)))
    return [a, q], some(r, axis=lambda: axis(r, a.ndim), keepdims=lambda: truth(r))


# ------------------------------------------------------------------ products


def product(r: random.Random) -> Call:
    rows, inner, columns = (r.choice(SIZES) for _ in range(3))
    batch = shape(r, 2)
    one, two = (*batch, rows, inner), (*almost(r, batch), inner if r.random() < 0.8 else r.choice(SIZES), columns)
    shapes = [(inner,) if r.random() < 0.2 else () if r.random() < 0.05 else each for each in (one, two)]
    return [array(r, each) for each in shapes], {}


def pair(most: int = 3, dtypes: tuple[str, ...] = ALL) -> Generator:
    def generate(r: random.Random) -> Call:
        sizes = shape(r, most)
        other = (*shape(r, most - 1), *sizes[-1:]) if r.random() < 0.7 else shape(r, most)
        return [array(r, sizes, dtypes), array(r, other, dtypes)], {}

    return generate


def vdot(r: random.Random) -> Call:
    sizes = shape(r, 3)
    other = sizes[::-1] if r.random() < 0.7 else shape(r, 3)
    return [array(r, sizes), array(r, other)], {}


def tensordot(r: random.Random) -> Call:
    a = shape(r, 4)
    if r.random() < 0.5:
        count = r.randint(0, min(3, len(a) + 1))
        return [array(r, a), array(r, (*a[len(a) - count :], *shape(r, 2)) if r.random() < 0.8 else shape(r, 4))], {"axes": count}
    b = list(a)
    r.shuffle(b)
    first = r.sample(range(len(a)), min(len(a), r.randint(0, 2)))
    second = [b.index(a[place]) for place in first]
    if r.random() < 0.2:
        second = [r.randint(-len(a), len(a)) for _ in second]
    return [array(r, a), array(r, tuple(b))], {"axes": (tuple(first), tuple(second))}


def einsum(r: random.Random) -> Call:
    sizes = {letter: r.choice(SIZES[1:]) for letter in "abcd"}  # of 0 and 1 under one letter of one term, NumPy takes either
    dots = shape(r, 2) if r.random() < 0.3 else None
    terms, arrays = [], []
    for _ in range(r.randint(1, 3)):
        letters = "".join(r.choice("abcd") for _ in range(r.randint(0, 3)))
        place = r.randint(0, len(letters))
        shapes = [
            [sizes[letter] if r.random() < 0.94 else r.choice(SIZES[1:]) for letter in part] for part in (letters[:place], letters[place:])
        ]
        use = dots is not None and r.random() < 0.8
        terms.append(f"{letters[:place]}...{letters[place:]}" if use else letters)
        arrays.append(array(r, (*shapes[0], *(almost(r, dots or ()) if use else ()), *shapes[1])))
    if r.random() < 0.05:
        arrays.pop()
    present = sorted(set("".join(terms)) - {"."})
    output = "".join(r.sample(present, r.randint(0, len(present)))) + ("e" if r.random() < 0.03 else "")
    has = any("." in term for term in terms) and r.random() < 0.9
    text = ",".join(terms) + (f"->{'...' if has else ''}{output}" if r.random() < 0.8 else "")
    return [text, *arrays], {}


def square(r: random.Random) -> Call:
    size = r.choice((0, 1, 2, 3))
    ends = (size, size if r.random() < 0.85 else r.choice((1, 2)))
    sizes = (*shape(r, 2), *ends)[r.choice((0, 0, 0, 0, 1)) :]
    a = np.zeros(sizes, r.choice((*NUMBERS[1:], "complex64")))
    a[...] = np.eye(*ends) if len(sizes) > 1 and sizes[-2:] == ends else 1
    return [a], {}


def solve(r: random.Random) -> Call:
    (a,), _ = square(r)
    size = a.shape[-1] if r.random() < 0.85 else 4
    return [a, array(r, r.choice(((size,), (size, 2), (*a.shape[:-2], size, 3), (3, size, 2), ())), ("float32", "float64", "int64"))], {}


# ------------------------------------------------------------------ movement


def transpose(r: random.Random, *, method: bool) -> Call:
    a = array(r)
    order: list[int] = list(range(a.ndim))
    r.shuffle(order)
    if order and r.random() < 0.2:
        order[0] = r.randint(-a.ndim - 1, a.ndim)
    if r.random() < 0.1:
        order = order[1:]
    if r.random() < 0.2:
        return [a], {}
    return [a, *order] if method and r.random() < 0.5 else [a, tuple(order)], {}


def two_axes(r: random.Random) -> Call:
    a = array(r)
    return [a, axis(r, a.ndim, none=False, several=False), axis(r, a.ndim, none=False, several=False)], {}


def moveaxis(r: random.Random) -> Call:
    a = array(r)
    if r.random() < 0.5:
        return two_axes(r)
    count = r.randint(0, a.ndim)
    places = [tuple(r.sample(range(-a.ndim, a.ndim), count)) for _ in range(2)]
    return [a, places[0], places[1][: count - (r.random() < 0.1)] if count else places[1]], {}


def reshape(r: random.Random, *, method: bool) -> Call:
    a = array(r)
    left: int = a.size
    sizes: list[int] = []
    while left > 1 and len(sizes) < 4:
        size = r.choice([each for each in range(1, left + 1) if left % each == 0])
        sizes.append(size)
        left //= size
    sizes += [left] if left != 1 or r.random() < 0.3 else []
    if sizes and r.random() < 0.4:
        sizes[r.randrange(len(sizes))] = -1
    if sizes and r.random() < 0.15:
        sizes[r.randrange(len(sizes))] = r.choice((-1, 0, 2, 4))
    if r.random() < 0.2 and len(sizes) == 1:
        return [a, sizes[0]], {}
    return [a, *sizes] if method and r.random() < 0.6 else [a, tuple(sizes) if r.random() < 0.8 else sizes], {}


def expand(r: random.Random) -> Call:
    a = array(r)
    return [a, axis(r, a.ndim + 1, none=False)], {}


def squeeze(r: random.Random) -> Call:
    a = array(r, tuple(r.choice((1, 1, 1, 2)) for _ in range(r.randint(0, 4))))
    return [a], some(r, axis=lambda: axis(r, a.ndim)) if r.random() < 0.8 else {"axis": axis(r, a.ndim)}


def roll(r: random.Random) -> Call:
    a = array(r)
    return [a, r.randint(-3, 3)], some(r, axis=lambda: axis(r, a.ndim))


def rot90(r: random.Random) -> Call:
    a = array(r)
    return [a], some(
        r, k=lambda: r.randint(-3, 4), axes=lambda: (axis(r, a.ndim, none=False, several=False), axis(r, a.ndim, none=False, several=False))
    )


def repeat(r: random.Random) -> Call:
    a = array(r, most=3)
    where = axis(r, a.ndim, several=False)
    size = a.size if where is None else a.shape[where] if -a.ndim <= where < a.ndim else 2
    times = r.choice((r.randint(-1, 3), [r.randint(0, 2) for _ in range(size if r.random() < 0.8 else 2)]))
    return [a, times], {} if where is None and r.random() < 0.5 else {"axis": where}


def tile(r: random.Random) -> Call:
    return [array(r, most=3), r.choice((r.randint(0, 3), tuple(r.randint(0, 2) for _ in range(r.randint(0, 4)))))], {}


def broadcast_to(r: random.Random) -> Call:
    sizes = shape(r)
    return [array(r, almost(r, sizes)), sizes if r.random() < 0.9 or len(sizes) != 1 else sizes[0]], {}


def pad(r: random.Random) -> Call:
    a = array(r, most=3)
    pairs = tuple((r.randint(0, 2), r.randint(0, 2)) for _ in range(a.ndim if r.random() < 0.8 else r.randint(1, 3)))
    return [a, r.choice((pairs, 2, (1, 2), ((1, 2),), [[1, 0]], (3,), pairs))], some(r, mode=lambda: "constant")


def several(most: int, count: tuple[int, int] = (1, 3)) -> Generator:
    return lambda r: ([array(r, most=most) for _ in range(r.randint(*count))], {})


def sliding(r: random.Random) -> Call:
    a = array(r, most=3)
    where = axis(r, a.ndim)
    count = a.ndim if where is None else len(where) if isinstance(where, tuple) else 1
    window: Any = tuple(r.randint(-1 if r.random() < 0.1 else 0, 3) for _ in range(count if r.random() < 0.9 else 1))
    return [a, window[0] if len(window) == 1 and r.random() < 0.5 else window], {} if where is None else {"axis": where}


def astype(r: random.Random) -> Call:
    return [array(r, dtypes=NUMBERS), r.choice((np.dtype("float32"), np.dtype("int64"), "float16", np.dtype(bool)))], {}


# ------------------------------------------------------------------ joining


def parts(r: random.Random) -> list[Any]:
    sizes = list(shape(r, 4, r.random() < 0.95))
    place = r.randrange(len(sizes)) if sizes else 0
    found = []
    for _ in range(r.randint(1, 3)):
        other = [r.choice(SIZES) if at == place or r.random() < 0.04 else size for at, size in enumerate(sizes)]
        found.append(array(r, tuple(other[1:] if r.random() < 0.04 else other)))
    return found


def concatenate(r: random.Random) -> Call:
    values = parts(r)
    keywords = {"axis": axis(r, values[0].ndim, several=False)} if r.random() < 0.8 else {}
    return [values if r.random() < 0.7 else tuple(values)], keywords | some(r, dtype=np.complex128)


def stack(r: random.Random) -> Call:
    a = array(r)
    values = [a, *(array(r, a.shape if r.random() < 0.9 else almost(r, a.shape)) for _ in range(r.randint(0, 2)))]
    return [values], {"axis": axis(r, a.ndim + 1, several=False, none=False)} if r.random() < 0.8 else {}


def joined(r: random.Random) -> Call:
    return [parts(r) if r.random() < 0.7 else stack(r)[0][0]], {}


def split(r: random.Random, most: int = 8) -> Call:
    a = array(r, most=3)
    places = r.choice((r.randint(0, 4), r.randint(1, 3), [r.randint(-3, 4) for _ in range(r.randint(0, 3))]))
    return [a, places], {"axis": axis(r, a.ndim, several=False, none=False)} if r.random() < 0.7 else {}


def append(r: random.Random) -> Call:
    values = (parts(r) * 2)[:2]
    return values, some(r, axis=lambda: axis(r, values[0].ndim, several=False))


# ------------------------------------------------------------------ creation


def new_shape(r: random.Random) -> Any:
    sizes: Any = shape(r)
    if r.random() < 0.05:
        sizes = (*sizes, -2)
    return sizes[0] if sizes and r.random() < 0.2 else list(sizes) if r.random() < 0.2 else sizes


def dtype(r: random.Random) -> Any:
    return r.choice((np.dtype("float32"), np.dtype("int64"), "float32", None))


def new(r: random.Random) -> Call:
    return [new_shape(r)], some(r, dtype=lambda: dtype(r))


def full(r: random.Random) -> Call:
    wanted = shape(r)
    return [wanted, array(r, almost(r, wanted)) if r.random() < 0.3 else scalar(r)], some(r, dtype=lambda: dtype(r))


def like(r: random.Random) -> Call:
    return [array(r)], some(r, dtype=lambda: dtype(r), shape=lambda: new_shape(r))


def full_like(r: random.Random) -> Call:
    a = array(r, dtypes=NUMBERS)
    return [a, array(r, almost(r, a.shape), ("int8",)) if r.random() < 0.3 else 1], some(r, shape=lambda: a.shape)


def nested(r: random.Random, depth: int = 3) -> Any:
    if depth == 0 or r.random() < 0.2:
        return r.choice((1, 2.5, True)) if r.random() < 0.8 else array(r, r.choice(((), (2,), (3,))), NUMBERS)
    item = nested(r, depth - 1)
    items = [item for _ in range(r.randint(0, 3))]
    if items and r.random() < 0.1:
        items[0] = nested(r, depth - 1)
    return items if r.random() < 0.5 else tuple(items)


def from_nested(r: random.Random) -> Call:
    return [array(r) if r.random() < 0.4 else nested(r)], some(r, dtype=lambda: dtype(r))


def from_nested_ndmin(r: random.Random) -> Call:
    arguments, keywords = from_nested(r)
    return arguments, keywords | some(r, ndmin=lambda: r.randint(0, 4))


def arange(r: random.Random) -> Call:
    ends: list[float] = [r.randint(-3, 6) for _ in range(r.randint(1, 3))]
    if r.random() < 0.2:
        ends = [each / 2 for each in ends]
    return ends, some(r, dtype=lambda: r.choice((None, np.dtype("float32"))))


def linspace(r: random.Random) -> Call:
    sizes = shape(r, 2) if r.random() < 0.4 else ()
    ends = [np.ones(almost(r, sizes)) if sizes else r.choice((0, 1.5)) for _ in range(2)]
    return ends, some(r, num=lambda: r.randint(-1, 6), endpoint=lambda: truth(r), axis=lambda: r.randint(-1, 1), dtype=lambda: dtype(r))


def eye(r: random.Random) -> Call:
    return [r.randint(-1, 4)], some(r, M=lambda: r.choice((None, 0, 3)), k=lambda: r.randint(-2, 2), dtype=lambda: dtype(r))


def meshgrid(r: random.Random) -> Call:
    values = [array(r, (r.choice(SIZES),) if r.random() < 0.9 else shape(r, 2)) for _ in range(r.randint(1, 4))]
    return values, some(r, indexing=lambda: r.choice(("ij", "xy")), sparse=lambda: truth(r))


def diag(r: random.Random) -> Call:
    return [array(r, shape(r, 2, 1) if r.random() < 0.9 else shape(r, 3))], some(r, k=lambda: r.randint(-2, 2))


def triangle(r: random.Random) -> Call:
    return [array(r)], some(r, k=lambda: r.randint(-2, 2))


def diagonal(r: random.Random) -> Call:
    a = array(r)
    return [a], some(
        r,
        offset=lambda: r.randint(-3, 3),
        axis1=lambda: axis(r, a.ndim, none=False, several=False),
        axis2=lambda: axis(r, a.ndim, none=False, several=False),
    )


def drawn(*parameters: float, sized: bool = True) -> Generator:
    """``rng.normal(loc, scale, size)``."""

    def generate(r: random.Random) -> Call:
        sizes = shape(r, 3)
        values: list[Any] = [np.full(almost(r, sizes), each) if r.random() < 0.2 else each for each in parameters]
        keywords = some(r, size=lambda: r.choice((sizes, None, 3, new_shape(r)))) if sized else {}
        return values, keywords

    return generate


def permutation(r: random.Random) -> Call:
    a = array(r, most=3)
    return ([r.randint(0, 5)], {}) if r.random() < 0.3 else ([a], some(r, axis=lambda: axis(r, a.ndim, several=False, none=False)))


# ------------------------------------------------------------------ indices


def an_index(r: random.Random, sizes: tuple[int, ...], *, advanced: bool = True) -> Any:
    parts: list[Any] = []
    place = 0
    common = shape(r, 2)
    while place < len(sizes) + (r.random() < 0.04) and r.random() < 0.85:
        size = sizes[place] if place < len(sizes) else 2
        kind = r.random()
        if kind < 0.3:
            parts.append(r.randint(-size, size - (r.random() < 0.95)) if size else 0)
        elif kind < 0.65:
            start, stop = (r.choice((None, r.randint(-size - 1, size + 1))) for _ in range(2))
            parts.append(slice(start, stop, r.choice((None, None, 1, 2, 3, -1, -2))))
        elif kind < 0.72 and Ellipsis not in [each for each in parts if not isinstance(each, np.ndarray)]:
            parts.append(Ellipsis)
            place = max(place, len(sizes) - r.randint(0, 2)) - 1
        elif kind < 0.8:
            parts.append(None)
            place -= 1
        elif not advanced or not size:
            parts.append(slice(None))
        elif kind < 0.93:
            parts.append(
                np.zeros(almost(r, common), r.choice(("int64", "int32", "uint8"))) if r.random() < 0.8 else [0, -1, 0][: r.randint(1, 3)]
            )
        else:
            count = r.randint(1, 2)
            parts.append(np.ones(almost(r, sizes[place : place + count]) if r.random() < 0.2 else sizes[place : place + count], bool))
            place += count - 1
        place += 1
    return parts[0] if len(parts) == 1 and r.random() < 0.5 else tuple(parts)


def read(r: random.Random) -> Call:
    a = array(r)
    return [a, an_index(r, a.shape)], {}


def assigned(r: random.Random) -> Call:
    a = array(r, dtypes=("float32",))
    index = an_index(r, a.shape)
    try:
        target = a[index].shape
    except (IndexError, ValueError):
        target = ()
    value = almost(r, target)
    return [a, index, array(r, ((1,) if r.random() < 0.1 else ()) + value, ("float32",)) if r.random() < 0.8 else 1.5], {}


def take(r: random.Random) -> Call:
    a = array(r, most=3)
    return [a, np.zeros(shape(r, 2), "int64") if r.random() < 0.7 else 0], some(r, axis=lambda: axis(r, a.ndim, several=False))


def take_along(r: random.Random) -> Call:
    a = array(r, most=3)
    where = axis(r, a.ndim, several=False, none=r.random() < 0.3)
    sizes = list(almost(r, a.shape))
    if where is not None and -len(sizes) <= where < len(sizes):
        sizes[where] = r.choice((1, 2))
    return [a, np.zeros(sizes if where is not None or r.random() < 0.3 else 2, "int64")], {
        "axis": where
    } if where != -1 or r.random() < 0.5 else {}


def put_along(r: random.Random) -> Call:
    (a, indices), keywords = take_along(r)
    return [a, indices, np.ones(almost(r, indices.shape), a.dtype) if r.random() < 0.7 else 1], {"axis": keywords.get("axis", -1)}


def unique(r: random.Random) -> Call:
    return [array(r, dtypes=NUMBERS, most=3)], some(r, return_counts=True, return_inverse=True)


def searched(r: random.Random) -> Call:
    return [np.arange(4.0), r.choice((2, array(r, dtypes=FLOATS)))], {}


def bincount(r: random.Random) -> Call:
    return [array(r, shape(r, 1, 1) if r.random() < 0.9 else shape(r, 2), ("int64", "uint8"))], {}
