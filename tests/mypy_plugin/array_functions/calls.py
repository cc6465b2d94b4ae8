"""Random calls of each function of the table, right ones and wrong ones. To add a function, add its generator to
`CALLS`.
"""

import string
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from tests.mypy_plugin.array_functions.comparison import GENERATOR, OLDER_GENERATOR, RAISED, Case, computed
from typednn.mypy_plugin.array_functions import TABLE

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64", "complex64")
FLOATS = ("float16", "float32", "float64")
PRECISE = ("float32", "float64")
REAL = (*(name for name in DTYPES if name != "complex64"),)
INTEGERS = ("int8", "int16", "int32", "int64", "uint8")
MISTAKES = 0.12  # how often one thing of a call is made wrong
Call = Callable[["Draw"], Case]


class Draw:
    """Random arguments."""

    def __init__(self, seed: int | str) -> None:
        self.random = Random(seed)

    def chance(self, part: float) -> bool:
        return self.random.random() < part

    def one(self, choices: Sequence[Any]) -> Any:
        return self.random.choice(choices)

    def size(self) -> int:
        return self.random.choices((0, 1, 2, 3, 4, 5), (1, 4, 4, 5, 3, 3))[0]

    def shape(self, low: int = 0, high: int = 4) -> tuple[int, ...]:
        return tuple(self.size() for _ in range(self.random.randint(low, high)))

    def array(self, shape: Sequence[int], types: Sequence[str] = DTYPES) -> Any:
        values = np.array([self.random.randint(0, 3) for _ in range(int(np.prod(shape)))]).reshape(shape)
        return values.astype(self.one(types))

    def any(self, low: int = 0, high: int = 4, types: Sequence[str] = DTYPES) -> Any:
        return self.array(self.shape(low, high), types)

    def perturbed(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Another shape, near."""
        if not shape or self.chance(0.3):
            return (*shape, self.size()) if self.chance(0.5) or not shape else tuple(shape[1:])
        place = self.random.randrange(len(shape))
        return (*shape[:place], shape[place] + self.one((1, 2)), *shape[place + 1 :])

    def maybe(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self.perturbed(shape) if self.chance(MISTAKES) else tuple(shape)

    def beside(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape that broadcasts with another, most of the time."""
        kept = [1 if self.chance(0.25) else size for size in shape]
        if kept and self.chance(0.3):
            kept = kept[self.random.randint(0, len(kept)) :]
        elif self.chance(0.1):
            kept = [self.size(), *kept]
        return self.maybe(kept)

    def into(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape that broadcasts to another, most of the time."""
        kept = [1 if self.chance(0.25) else size for size in shape]
        return self.maybe(kept[self.random.randint(0, len(kept)) if self.chance(0.3) else 0 :])

    def axis(self, rank: int) -> int:
        if rank == 0 or self.chance(MISTAKES):
            return self.one((rank, -rank - 1))
        return self.random.randrange(-rank, rank)

    def axes(self, rank: int, count: int | None = None) -> Any:
        """None, an axis, or several."""
        if count is None and self.chance(0.25):
            return None
        if count is None and self.chance(0.5):
            return self.axis(rank)
        wanted = self.random.randint(0, rank) if count is None else min(count, rank)
        places = self.random.sample(range(rank), wanted)
        if places and self.chance(MISTAKES / 2):
            places.append(places[0])
        return tuple(place - rank if self.chance(0.4) else place for place in places)

    def number(self) -> Any:
        return self.one((2, 3, 1.5, True))

    def flag(self) -> bool:
        return self.chance(0.5)

    def some(self, **choices: Callable[[], Any]) -> dict[str, Any]:
        """Some of these keywords."""
        return {name: make() for name, make in choices.items() if self.chance(0.4)}

    def together(self, count: int, shape: Sequence[int], types: Sequence[str] = DTYPES) -> list[Any]:
        """Arrays of one shape, most of the time."""
        arrays = [self.array(shape, types) for _ in range(count)]
        if self.chance(MISTAKES):
            arrays[self.random.randrange(count)] = self.array(self.perturbed(shape), types)
        return arrays


# ---------------------------------------------------------------------------------------------------- elements


def unary(d: Draw) -> Case:
    x = d.any()
    keywords = d.some(where=lambda: d.array(d.into(x.shape), ["bool"])) if d.chance(0.3) else {}
    return Case((x,), keywords)


def binary(d: Draw) -> Case:
    x = d.any()
    y = d.number() if d.chance(0.2) else d.array(d.beside(x.shape))
    return Case((x, y) if d.flag() else (y, x), {})


def binary_ufunc(d: Draw) -> Case:
    case = binary(d)
    shapes = [np.shape(each) for each in case.arguments]
    if d.chance(0.2):
        case.keywords["where"] = d.array(d.beside(max(shapes, key=len)), ["bool"])
    return case


def operators(d: Draw) -> Case:
    case = binary(d)
    if not isinstance(case.arguments[0], np.ndarray) and not isinstance(case.arguments[1], np.ndarray):
        return operators(d)
    if isinstance(case.arguments[0], np.ndarray) and case.arguments[0].ndim and d.chance(0.3):
        case.keywords["out"] = case.arguments[0]
    return case


def comparisons(d: Draw) -> Case:
    return Case(binary(d).arguments)


def where(d: Draw) -> Case:
    x = d.any()
    return Case((d.array(d.beside(x.shape), ["bool"]), x, d.number() if d.chance(0.3) else d.array(d.beside(x.shape))))


def clip(d: Draw) -> Case:
    x = d.any(types=REAL)
    ends = [d.one((None, 1, d.array(d.beside(x.shape), REAL))), d.one((2, d.array(d.beside(x.shape), REAL)))]
    return Case((x, *ends))


def rounded(d: Draw) -> Case:
    return Case((d.any(),), d.some(decimals=lambda: 1))


def plain(low: int = 0, high: int = 4, types: Sequence[str] = DTYPES) -> Call:
    """One array."""
    return lambda d: Case((d.any(low, high, types),))


def pair(types: Sequence[str] = DTYPES) -> Call:
    def draw(d: Draw) -> Case:
        x = d.any(types=types)
        return Case((x, d.array(d.beside(x.shape), types)))

    return draw


# ---------------------------------------------------------------------------------------------------- reductions


def reduction(*further: str, types: Sequence[str] = DTYPES, several: bool = True) -> Call:
    def draw(d: Draw) -> Case:
        x = d.any(types=types)
        choices = {
            "axis": lambda: d.axes(x.ndim) if several else d.one((None, d.axis(x.ndim))),
            "keepdims": d.flag,
            "dtype": lambda: d.one((np.float32, np.float64)),
            "where": lambda: d.array(d.into(x.shape), ["bool"]),
            "initial": lambda: 1,
        }
        return Case((x,), d.some(**{name: choices[name] for name in ("axis", *further)}))

    return draw


def running(d: Draw) -> Case:
    x = d.any()
    return Case((x,), d.some(axis=lambda: d.one((None, d.axis(x.ndim)))))


def sorting(d: Draw) -> Case:
    x = d.any()
    return Case((x,), d.some(axis=lambda: d.one((None, d.axis(x.ndim)))))


def partition(d: Draw) -> Case:
    x = d.any(1, 4, REAL)
    axis = d.axis(x.ndim)
    size = x.shape[axis] if -x.ndim <= axis < x.ndim else 1
    return Case((x, d.random.randrange(size) if size else 0), {"axis": axis})


def differences(d: Draw) -> Case:
    x = d.any()
    return Case((x,), d.some(n=lambda: d.one((0, 1, 2, 3)), axis=lambda: d.axis(x.ndim)))


def norm(d: Draw) -> Case:
    x = d.any(types=REAL)
    return Case(
        (x,),
        d.some(
            axis=lambda: d.one((None, d.axis(x.ndim), d.axes(x.ndim, 2))), keepdims=d.flag, ord=lambda: d.one((1, 2))
        ),
    )


def quantile(scale: float) -> Call:
    def draw(d: Draw) -> Case:
        x = d.any(types=PRECISE)
        q = d.one((0.5 * scale, [0.25 * scale, 0.75 * scale], np.array([0.1, 0.2, 0.3]) * scale))
        return Case((x, q), d.some(axis=lambda: d.axes(x.ndim), keepdims=d.flag))

    return draw


def bincount(d: Draw) -> Case:
    return Case((d.array(d.maybe((d.size(),)), INTEGERS),))


# ---------------------------------------------------------------------------------------------------- products


def matmul(d: Draw) -> Case:
    a = d.shape(1, 4)
    b = (
        ((a[0],) if d.flag() else (a[0], d.size()))
        if len(a) == 1
        else (a[-1],)
        if d.chance(0.15)
        else (*d.beside(a[:-2]), a[-1], d.size())
    )
    return Case((d.array(d.maybe(a)), d.array(d.maybe(b))))


def dot(d: Draw) -> Case:
    a = d.shape(0, 3)
    b = () if d.chance(0.1) else (a[-1],) if a and d.chance(0.2) else (*d.shape(0, 1), a[-1] if a else 2, d.size())
    return Case((d.array(d.maybe(a)), d.array(d.maybe(b))))


def last_axes(d: Draw) -> Case:
    a = d.shape(0, 3)
    return Case((d.array(d.maybe(a)), d.array(d.maybe((*d.shape(0, 2), a[-1]) if a else ()))))


def vdot(d: Draw) -> Case:
    a = d.shape()
    return Case((d.array(a), d.array(d.maybe(a[::-1] if d.flag() else (int(np.prod(a)),)))))


def two(low: int = 0, high: int = 3, types: Sequence[str] = DTYPES) -> Call:
    """Two arrays that have nothing to do with each other."""
    return lambda d: Case((d.any(low, high, types), d.any(low, high, types)))


def tensordot(d: Draw) -> Case:
    a = d.shape(0, 4)
    if d.flag():
        count = d.random.randint(0, len(a))
        b = (*a[len(a) - count :], *d.shape(0, 2))
        return Case((d.array(a), d.array(d.maybe(b)), count if not d.chance(MISTAKES) else count + 1))
    places = d.random.sample(range(len(a)), d.random.randint(0, len(a)))
    b = [a[place] for place in places]
    for _ in range(d.random.randint(0, 2)):
        b.append(d.size())
    second = list(range(len(places)))
    if d.chance(MISTAKES) and second:
        second = second[1:]
    return Case(
        (
            d.array(a),
            d.array(d.maybe(b)),
            (list(places), second) if not d.chance(MISTAKES) else (list(places), [*second, 5]),
        )
    )


def einsum(d: Draw) -> Case:
    sizes = {letter: d.size() for letter in "abcdeAB"}
    dots = d.shape(0, 2) if d.chance(0.3) else None
    terms, arrays = list[str](), list[Any]()
    for _ in range(d.random.randint(1, 3)):
        letters = [d.one("abcdeAB") for _ in range(d.random.randint(0, 3))]
        shape = [sizes[letter] if not d.chance(0.1) else 1 for letter in letters]
        if dots is not None and d.chance(0.8):
            place = d.random.randint(0, len(letters))
            letters.insert(place, "...")
            shape[place:place] = d.into(dots)
        terms.append("".join(letters))
        arrays.append(d.array(d.maybe(shape)))
    text = ",".join(terms)
    if d.chance(0.7):
        letters = sorted({each for each in text if each in string.ascii_letters})
        kept = d.random.sample(letters, d.random.randint(0, len(letters)))
        if "..." in text and not d.chance(MISTAKES):
            kept.insert(d.random.randint(0, len(kept)), "...")
        if d.chance(MISTAKES):
            kept.append(d.one(("z", *letters)))
        text += f"->{''.join(kept)}"
    if d.chance(0.3):
        text = text.replace(",", ", ").replace("->", " -> ")
    return Case((text, *(arrays[1:] if len(arrays) > 1 and d.chance(MISTAKES / 2) else arrays)))


def square(types: Sequence[str] = PRECISE) -> Call:
    def draw(d: Draw) -> Case:
        shape = d.shape(2, 4)
        shape = d.maybe((*shape[:-1], shape[-2]))
        return Case(
            (
                (d.array(shape, types) + np.eye(*shape[-2:])[..., : shape[-1]] * 9).astype(d.one(types))
                if len(shape) > 1
                else d.array(shape, types),
            )
        )

    return draw


def symmetric(d: Draw) -> Case:
    shape = d.shape(2, 4)
    shape = (*shape[:-1], shape[-2])
    if d.chance(MISTAKES):
        return Case((d.array(d.perturbed(shape), PRECISE),))
    return Case((np.broadcast_to(np.eye(shape[-1], dtype=d.one(PRECISE)) * 2, shape).copy(),))


def solve(d: Draw) -> Case:
    a = symmetric(d).arguments[0]
    b = (a.shape[-1],) if d.flag() else (*d.beside(a.shape[:-2]), a.shape[-1], d.size())
    return Case((a, d.array(d.maybe(b), PRECISE)))


def diagonal(d: Draw) -> Case:
    x = d.any(1, 4)
    keywords = d.some(offset=lambda: d.one((-2, -1, 0, 1, 2)))
    if d.chance(0.3):
        keywords |= {"axis1": d.axis(x.ndim), "axis2": d.axis(x.ndim)}
    return Case((x,), keywords)


# ---------------------------------------------------------------------------------------------------- movement


def transpose(*, spread: bool = False) -> Call:
    def draw(d: Draw) -> Case:
        x = d.any()
        if d.chance(0.2):
            return Case((x,))
        axes = d.axes(x.ndim, x.ndim)
        if d.chance(MISTAKES):
            axes = axes[1:]
        if d.chance(MISTAKES / 2):
            axes = (*axes[1:], x.ndim)
        return Case((x, *axes) if spread and d.flag() else (x, axes))

    return draw


def two_axes(d: Draw) -> Case:
    x = d.any()
    return Case((x, d.axis(x.ndim), d.axis(x.ndim)))


def moveaxis(d: Draw) -> Case:
    x = d.any()
    if d.flag():
        return Case((x, d.axis(x.ndim), d.axis(x.ndim)))
    count = d.random.randint(0, x.ndim)
    return Case((x, d.axes(x.ndim, count), d.axes(x.ndim, max(0, count - d.chance(MISTAKES)))))


def reshape(*, spread: bool = False) -> Call:
    def draw(d: Draw) -> Case:
        x = d.any()
        wanted = list[int]()
        left = x.size
        while left > 1 and len(wanted) < 4 and d.chance(0.7):
            factor = d.one([each for each in range(1, left + 1) if left % each == 0])
            wanted.append(factor)
            left //= factor
        wanted.append(left)
        d.random.shuffle(wanted)
        wanted = list(d.maybe(wanted))
        if wanted and d.chance(0.4):
            wanted[d.random.randrange(len(wanted))] = -1
        if d.chance(MISTAKES / 2):
            wanted.append(-1)
        return Case(
            (x, *wanted) if spread and d.flag() else (x, wanted[0] if len(wanted) == 1 and d.flag() else tuple(wanted))
        )

    return draw


def expand(d: Draw) -> Case:
    x = d.any()
    if d.flag():
        return Case((x, d.axis(x.ndim + 1)))
    count = d.random.randint(1, 2)
    return Case((x, d.axes(x.ndim + count, count)))


def squeeze(d: Draw) -> Case:
    x = d.any()
    ones = [place for place, size in enumerate(x.shape) if size == 1]
    axis = d.one((None, d.axis(x.ndim), tuple(ones), ones[0] if ones else 0))
    return Case((x,) if axis is None and d.flag() else (x, axis))


def flip(d: Draw) -> Case:
    x = d.any()
    return Case((x,), d.some(axis=lambda: d.axes(x.ndim)))


def roll(d: Draw) -> Case:
    x = d.any()
    return Case((x, d.one((1, -2))), d.some(axis=lambda: d.axes(x.ndim)))


def rot90(d: Draw) -> Case:
    x = d.any(1, 4)
    return Case((x,), d.some(k=lambda: d.one((0, 1, 2, 3, -1)), axes=lambda: d.axes(x.ndim, 2)))


def repeat(d: Draw) -> Case:
    x = d.any()
    if d.chance(0.3):
        return Case((x, d.one((0, 1, 2, 3))))
    axis = d.axis(x.ndim)
    size = x.shape[axis] if -x.ndim <= axis < x.ndim else 2
    times = d.one(
        (2, [d.random.randint(0, 2) for _ in range(size + d.chance(MISTAKES))], np.ones(d.maybe((size,)), np.int64))
    )
    return Case((x, times), {"axis": axis})


def tile(d: Draw) -> Case:
    return Case((d.any(), d.one((2, 0, d.shape(0, 4)))))


def broadcast_to(d: Draw) -> Case:
    shape = d.shape()
    return Case((d.array(d.into(shape)), shape[0] if len(shape) == 1 and d.flag() else shape))


def broadcast_arrays(d: Draw) -> Case:
    shape = d.shape()
    return Case([d.array(d.beside(shape)) for _ in range(d.random.randint(1, 3))])


def pad(d: Draw) -> Case:
    x = d.any(types=REAL)
    pairs = [(d.random.randint(0, 2), d.random.randint(0, 2)) for _ in range(max(0, x.ndim - d.chance(MISTAKES)))]
    return Case((x, d.one((1, 0, (1, 2), (2,), ((1, 2),), tuple(pairs), [list(each) for each in pairs]))))


def at_least(d: Draw) -> Case:
    return Case([d.number() if d.chance(0.2) else d.any() for _ in range(d.one((1, 1, 1, 2)))])


def astype(d: Draw) -> Case:
    return Case((d.any(), d.one((np.float32, "float64", "int8", np.bool_, np.int64))))


def triangle(d: Draw) -> Case:
    return Case((d.any(0, 4),), d.some(k=lambda: d.one((-1, 1, 2))))


def windows(d: Draw) -> Case:
    x = d.any(1, 4)
    if d.flag():
        return Case((x, d.maybe([d.random.randint(0, max(1, size)) for size in x.shape])))
    axes = d.axes(x.ndim, d.random.randint(1, x.ndim))
    sizes = tuple(d.random.randint(1, max(1, x.shape[axis])) + d.chance(MISTAKES) for axis in axes)
    if len(sizes) == 1 and d.flag():
        return Case((x, sizes[0]), {"axis": axes[0]})
    return Case((x, sizes), {"axis": axes})


# ---------------------------------------------------------------------------------------------------- joining


def concatenate(d: Draw) -> Case:
    shape = d.shape(1, 4)
    arrays = d.together(d.random.randint(1, 3), shape)
    axis = d.axis(len(shape))
    if -len(shape) <= axis < len(shape):
        for index, array in enumerate(arrays):
            if array.ndim == len(shape) and d.flag():
                other = list(array.shape)
                other[axis] = d.size()
                arrays[index] = d.array(other)
    if d.chance(0.03):
        arrays = []
    if d.chance(0.05):
        arrays.append(d.number())
    return Case((arrays if d.flag() else tuple(arrays),), d.some(axis=lambda: d.one((axis, axis, axis, None))))


def stack(d: Draw) -> Case:
    shape = d.shape(0, 3)
    arrays = d.together(d.random.randint(1, 3), shape)
    return Case((arrays,), d.some(axis=lambda: d.axis(len(shape) + 1)))


def columns(d: Draw) -> Case:
    """For vstack, hstack, dstack, column_stack."""
    shape = d.shape(0, 3)
    arrays = d.together(d.random.randint(1, 3), shape)
    if d.chance(0.4) and shape:
        place = d.random.randrange(len(shape))
        arrays.append(d.array((*shape[:place], d.size(), *shape[place + 1 :])))
    if d.chance(0.2) and len(shape) > 1:
        arrays.append(d.array(shape[1:] if d.flag() else shape[:-1]))
    return Case((arrays,))


def split(*, axis: bool = True, low: int = 0) -> Call:
    def draw(d: Draw) -> Case:
        x = d.any(low, 4)
        places = d.one((1, 2, 3, 5, 0, (1,), [1, 2], (2, 4), [3, 1], (-1,), ()))
        return Case((x, places), d.some(axis=lambda: d.axis(x.ndim)) if axis else {})

    return draw


def append(d: Draw) -> Case:
    shape = d.shape(1, 3)
    if d.chance(0.3):
        return Case((d.array(shape), d.any(0, 2)))
    axis = d.axis(len(shape))
    other = list(shape)
    if -len(shape) <= axis < len(shape):
        other[axis] = d.size()
    return Case((d.array(shape), d.array(d.maybe(other))), {"axis": axis})


# ---------------------------------------------------------------------------------------------------- creation


def new_shape(d: Draw) -> Any:
    shape = d.shape()
    if d.chance(MISTAKES) and shape:
        shape = (*shape[1:], -1)
    return shape[0] if len(shape) == 1 and d.flag() else list(shape) if d.chance(0.2) else shape


def new(d: Draw) -> Case:
    return Case((new_shape(d),), d.some(dtype=lambda: d.one((np.float32, "int8", None))))


def full(d: Draw) -> Case:
    shape = d.shape()
    value = d.one((0, 1.5, True, d.array(d.into(shape))))
    return Case((shape, value), d.some(dtype=lambda: d.one((np.float32, None))))


def like(d: Draw) -> Case:
    return Case((d.any(),), d.some(dtype=lambda: d.one((np.float32, None)), shape=lambda: new_shape(d)))


def full_like(d: Draw) -> Case:
    x = d.any(types=REAL)
    return Case((x, d.one((0, 1.5, d.array(d.into(x.shape), REAL)))), d.some(dtype=lambda: d.one((np.float32, None))))


def nested(d: Draw) -> Any:
    if d.flag():
        return d.any()
    shape = d.shape(0, 2)
    return d.one(
        (
            d.number(),
            d.together(d.random.randint(1, 3), shape),
            [[1, 2], [3, 4 if d.flag() else 0.5]],
            [1, True],
            [[1, 2], [3]],
            [],
        )
    )


def array(d: Draw) -> Case:
    return Case((nested(d),), d.some(dtype=lambda: d.one((np.float32, None))))


def array_ndmin(d: Draw) -> Case:
    case = array(d)
    case.keywords |= d.some(ndmin=lambda: d.random.randint(0, 4))
    return case


def arange(d: Draw) -> Case:
    numbers = [d.random.randint(-3, 6) for _ in range(d.random.randint(1, 2))]
    if d.chance(0.3):
        return Case(
            (d.random.randint(-3, 3), d.random.randint(-3, 6), d.one((1, 2, -1, 3, 0.5))),
            d.some(dtype=lambda: np.float32),
        )
    return Case((*numbers[:-1], d.one((numbers[-1], 2.5))))


def linspace(d: Draw) -> Case:
    ends = (0.0, 1) if d.chance(0.7) else (d.any(0, 2, PRECISE), 2.0)
    return Case(
        ends,
        d.some(num=lambda: d.one((0, 1, 5, -1)), dtype=lambda: np.float32, axis=lambda: d.axis(np.ndim(ends[0]) + 1)),
    )


def eye(d: Draw) -> Case:
    return Case(
        (d.size(),), d.some(M=lambda: d.one((d.size(), None)), k=lambda: 1, dtype=lambda: d.one((np.float32, None)))
    )


def identity(d: Draw) -> Case:
    return Case((d.one((d.size(), -1)),), d.some(dtype=lambda: np.float32))


def meshgrid(d: Draw) -> Case:
    arrays = [d.any(1, 1) if not d.chance(0.1) else d.any(0, 2) for _ in range(d.random.randint(0, 3))]
    return Case(arrays, d.some(indexing=lambda: d.one(("ij", "xy")), sparse=d.flag))


def diag(d: Draw) -> Case:
    return Case((d.any(0, 3) if d.chance(0.2) else d.any(1, 2),), d.some(k=lambda: d.one((-2, -1, 0, 1, 2))))


def sized(*before: Any) -> Call:
    """Random numbers of a shape."""
    return lambda d: Case(before, {"size": new_shape(d)} if not d.chance(0.1) else {})


def normal(d: Draw) -> Case:
    x = d.any(0, 2, PRECISE)
    ends = d.one(((), (0.0, 2.0), (x, np.asarray(d.array(d.beside(x.shape), PRECISE) + 4.0))))
    return Case(
        ends,
        {}
        if d.flag()
        else {"size": np.broadcast_shapes(*map(np.shape, ends)) if d.chance(0.5) and _fit(ends) else new_shape(d)},
    )


def _fit(arrays: Sequence[Any]) -> bool:
    try:
        np.broadcast_shapes(*map(np.shape, arrays))
    except ValueError:
        return False
    return True


def integers(d: Draw) -> Case:
    return Case(d.one(((9,), (0, 9))), {"size": new_shape(d)} | d.some(dtype=lambda: np.int32))


def distribution(count: int) -> Call:
    """A function of so many parameters, each of which may be an array."""

    def draw(d: Draw) -> Case:
        shape = d.shape(0, 2)
        given = [d.array(d.beside(shape), ["bool"]) * 0.25 + 0.25 if d.flag() else 0.5 for _ in range(count)]
        size = d.one((shape, new_shape(d), np.broadcast_shapes(*map(np.shape, given)) if _fit(given) else shape))
        return Case(given, {"size": size} if d.chance(0.8) else {})

    return draw


def binomial(d: Draw) -> Case:
    case = distribution(1)(d)
    return Case((5, *case.arguments), case.keywords)


def triangular(d: Draw) -> Case:
    case = distribution(1)(d)
    return Case((-1.0, *case.arguments, 2.0), case.keywords)


def axes_given(d: Draw) -> Case:
    return Case(d.shape(0, 3) if not d.chance(0.1) else (2, -1))


def vectors(*before: Any) -> Call:
    """So many vectors for one vector of parameters."""

    def draw(d: Draw) -> Case:
        shape = (d.random.randint(1, 4),) if not d.chance(MISTAKES) else d.shape(2, 2)
        return Case((*before, np.ones(shape) / max(1, shape[-1])), {"size": new_shape(d)} if d.chance(0.7) else {})

    return draw


def normal_vectors(d: Draw) -> Case:
    count = d.random.randint(1, 4)
    mean, cov = (np.zeros(d.maybe(shape)) for shape in ((count,), (count, count)))
    return Case((mean, cov), {"size": new_shape(d)} if d.chance(0.7) else {})


def older_choice(d: Draw) -> Case:
    return Case((d.one((5, d.any(1, 1), d.any(1, 2))),), {"size": new_shape(d)} if d.chance(0.8) else {})


def older_permutation(d: Draw) -> Case:
    return Case((d.one((5, d.any(1, 3))),))


def older_integers(d: Draw) -> Case:
    return Case(d.one(((9,), (0, 9))), {"size": new_shape(d)} if d.chance(0.9) else {})


# ------------------------------------------------------------------------------------------- Fourier transforms


def transformed(d: Draw) -> Case:
    x = d.any(1, 3)
    return Case((x,), d.some(n=lambda: d.one((None, 0, 1, 4, 7)), axis=lambda: d.axis(x.ndim)))


def transformed_axes(low: int) -> Call:
    def draw(d: Draw) -> Case:
        x = d.any(low, 3)
        axes = d.axes(x.ndim, d.random.randint(1, 3))
        return Case((x,), {"axes": axes} if axes and len({axis % x.ndim for axis in axes}) == len(axes) else {})

    return draw


def frequencies(d: Draw) -> Case:
    return Case((d.random.randint(1, 9),), d.some(d=lambda: 0.5))


def shifted(d: Draw) -> Case:
    x = d.any(1, 3)
    return Case((x,), d.some(axes=lambda: d.axes(x.ndim)))


def strided(d: Draw) -> Case:
    x, shape = d.any(1, 3), d.shape(0, 3)
    return Case((x,), {"shape": shape, "strides": (0,) * len(shape)} if d.chance(0.8) else {})


def permutation(d: Draw) -> Case:
    return Case((5,)) if d.chance(0.3) else (lambda x: Case((x,), d.some(axis=lambda: d.axis(x.ndim))))(d.any(0, 3))


# ---------------------------------------------------------------------------------------------------- indexing


def index_of(d: Draw, shape: Sequence[int]) -> Any:
    """An index, most of the time a legal one."""
    parts = list[Any]()
    place, arrays = 0, d.chance(0.4)
    common = d.shape(0, 2)
    while place < len(shape) and d.chance(0.75):
        size = shape[place]
        kind = d.random.random()
        number = d.random.randrange(-size, size) if size else 0
        if arrays and kind < 0.3 and size:
            parts.append(
                np.array([d.random.randrange(-size, size) for _ in range(int(np.prod(common)))], np.int64).reshape(
                    common[1:] if d.chance(0.05) and 0 not in common and set(common) == {1} else common
                )
            )
        elif arrays and kind < 0.4 and size:
            parts.append([d.random.randrange(size) for _ in range(d.random.randint(1, 3))])
        elif arrays and kind < 0.5:
            count = d.random.randint(1, min(2, len(shape) - place))
            parts.append(d.array(d.maybe(shape[place : place + count]), ["bool"]))
            place += count - 1
        elif kind < 0.7:
            parts.append(number if not d.chance(MISTAKES / 2) else size)
        else:
            ends = [d.one((None, d.random.randint(-6, 6))) for _ in range(2)]
            parts.append(slice(*ends, d.one((None, None, 1, 2, -1, -2, 3)) if not d.chance(0.02) else 0))
        place += 1
    if d.chance(MISTAKES / 2):
        parts += [0] * (len(shape) + 1)
    for _ in range(2):
        if d.chance(0.2):
            parts.insert(d.random.randint(0, len(parts)), None)
    if d.chance(0.3):
        parts.insert(d.random.randint(0, len(parts)), Ellipsis)
    if d.chance(0.02):
        parts += [Ellipsis, Ellipsis]
    return parts[0] if len(parts) == 1 and d.flag() else tuple(parts)


def read(d: Draw) -> Case:
    x = d.any()
    return Case((x, index_of(d, x.shape)))


def assigned(d: Draw) -> Case:
    x = d.any(types=REAL)
    index = index_of(d, x.shape)
    try:
        shape = x[index].shape
    except (IndexError, ValueError):
        shape = ()
    return Case(
        (x, index, d.number() if d.chance(0.2) else d.array(d.into(shape) if d.chance(0.9) else (1, *shape), REAL))
    )


def added_at(d: Draw) -> Case:
    """NumPy writes beyond the array where values have more axes than what they are added to; such calls
    are left out.
    """
    x = d.any(1, 3, REAL)
    index = np.asarray(d.array(d.shape(0, 2), ["int64"]) % max(1, x.shape[0]))
    wanted = (*index.shape, *x.shape[1:])
    given = [1 if d.chance(0.25) else size for size in wanted]
    if given and d.chance(MISTAKES):
        given[-1] += 2
    return Case((x, index if x.shape[0] else np.zeros(0, np.int64), d.array(given if x.shape[0] else (), ["bool"])))


def take(d: Draw) -> Case:
    x = d.any(1, 4)
    axis = d.axis(x.ndim)
    indices = d.one((0, [0, 0], np.zeros(d.shape(0, 2), np.int64)))
    return Case((x, indices), {"axis": axis} if d.flag() else {})


def along_indices(d: Draw, x: Any, axis: int) -> Any:
    shape = [size if not d.chance(0.2) else 1 for size in x.shape]
    if -x.ndim <= axis < x.ndim:
        shape[axis] = d.size()
    return np.zeros(d.maybe(shape), np.int64)


def take_along(d: Draw) -> Case:
    x = d.any(1, 4)
    axis = d.axis(x.ndim)
    return Case((x, along_indices(d, x, axis), axis))


def put_along(d: Draw) -> Case:
    x = d.any(1, 4, REAL)
    axis = d.axis(x.ndim)
    return Case((x, along_indices(d, x, axis), 1, axis))


def unique(d: Draw) -> Case:
    return Case((d.any(),), d.some(return_counts=d.flag))


def searchsorted(d: Draw) -> Case:
    return Case((np.arange(d.size() + 1.0), d.any(types=PRECISE) if d.flag() else 2))


# ---------------------------------------------------------------------------------------------------- further


def outer(d: Draw) -> Case:
    return Case((d.any(0, 2), d.any(0, 2)))


def select(d: Draw) -> Case:
    shape = d.shape(0, 3)
    count = d.random.randint(1, 2)
    choices = [d.array(d.beside(shape)) for _ in range(count + d.chance(MISTAKES))]
    return Case(([d.array(d.beside(shape), ["bool"]) for _ in range(count)], choices), d.some(default=lambda: 1.5))


def ufunc_reduce(d: Draw) -> Case:
    x = d.any(types=REAL)
    return Case((x,), d.some(axis=lambda: d.axes(x.ndim), keepdims=d.flag))


def accumulate(d: Draw) -> Case:
    x = d.any(types=REAL)
    return Case((x,), d.some(axis=lambda: d.axis(x.ndim)))


def vector_norm(d: Draw) -> Case:
    x = d.any(types=DTYPES[1:])
    return Case((x,), d.some(axis=lambda: d.axes(x.ndim), keepdims=d.flag))


def matrix_norm(d: Draw) -> Case:
    return Case((d.any(1, 4, DTYPES[1:]),), d.some(keepdims=d.flag))


def histogram(d: Draw) -> Case:
    return Case((d.any(types=PRECISE),), d.some(bins=lambda: d.one((1, 5, [0.0, 1.0, 2.5], np.arange(4.0)))))


def gradient(d: Draw) -> Case:
    x = d.any(1, 3, REAL)
    return Case((x,), d.some(axis=lambda: d.axes(x.ndim)))


def along_last(d: Draw) -> Case:
    x = d.any(1, 3, PRECISE)
    return Case((x,), d.some(axis=lambda: d.axis(x.ndim)))


def covariance(d: Draw) -> Case:
    return Case((d.any(0, 2, REAL) if not d.chance(0.1) else d.any(3, 3, REAL),), d.some(rowvar=d.flag))


def vecdot(d: Draw) -> Case:
    shape = d.shape(1, 3)
    return Case((d.array(shape), d.array(d.maybe((*d.beside(shape[:-1]), shape[-1])))))


def cross(d: Draw) -> Case:
    shape = (*d.shape(0, 2), 3)
    return Case((d.array(d.maybe(shape), PRECISE), d.array((*d.beside(shape[:-1]), 3), PRECISE)))


def convolve(d: Draw) -> Case:
    high = 2 if d.chance(0.1) else 1
    return Case((d.any(0, high), d.any(0, 1)), d.some(mode=lambda: d.one(("full", "same", "valid"))))


def multi_dot(d: Draw) -> Case:
    sizes = [d.random.randint(1, 4) for _ in range(5)]
    count = d.random.randint(2, 4)
    arrays = [d.array(d.maybe((sizes[i], sizes[i + 1])), PRECISE) for i in range(count)]
    if d.chance(0.2):
        arrays[0] = d.array((sizes[1],), PRECISE)
    return Case((arrays,))


def matrix(*further: Callable[[Draw], dict[str, Any]], low: int = 2) -> Call:
    def draw(d: Draw) -> Case:
        x = d.any(1 if d.chance(MISTAKES) else low, 4, (*PRECISE, "int32"))
        return Case((x,), {name: value for each in further for name, value in each(d).items()})

    return draw


def matrix_power(d: Draw) -> Case:
    return Case((symmetric(d).arguments[0], d.one((0, 1, 2, 3, -1))))


def lstsq(d: Draw) -> Case:
    a = (d.random.randint(1, 4), d.random.randint(1, 4))
    return Case((d.array(d.maybe(a), PRECISE), d.array(d.maybe((a[0], *d.shape(0, 1))), PRECISE)))


def compress(d: Draw) -> Case:
    x = d.any(1, 3)
    axis = d.axis(x.ndim)
    return Case((d.array(d.maybe((1,)), ["bool"]), x), {"axis": axis} if d.flag() else {})


def extract(d: Draw) -> Case:
    x = d.any()
    return Case((d.array(x.shape, ["bool"]), x))


def digitize(d: Draw) -> Case:
    return Case((d.any(types=PRECISE), np.arange(3.0)))


def isin(d: Draw) -> Case:
    return Case((d.any(types=REAL), d.any(types=REAL)))


def interp(d: Draw) -> Case:
    size = d.size()
    return Case((d.any(types=PRECISE), np.arange(float((*d.maybe((size,)), 1)[0])), d.array(d.maybe((size,)), PRECISE)))


def open_mesh(d: Draw) -> Case:
    return Case([d.one((d.any(1, 1, INTEGERS), [0, 1], d.any(0, 2, INTEGERS))) for _ in range(d.random.randint(1, 3))])


def triangle_indices(d: Draw) -> Case:
    return Case((d.random.randint(0, 4),), d.some(k=lambda: 1, m=lambda: 3))


def lexsort(d: Draw) -> Case:
    shape = d.shape(1, 3)
    return Case((tuple(d.together(d.random.randint(1, 3), shape, REAL)),), d.some(axis=lambda: d.axis(len(shape))))


def copyto(d: Draw) -> Case:
    x = d.any(types=PRECISE)
    return Case((x, d.array(d.into(x.shape), ["int8"])))


def delete(d: Draw) -> Case:
    x = d.any(1, 3)
    place = d.one((0, -1, 2, 5, slice(0, 2)))
    return Case((x, place), d.some(axis=lambda: d.axis(x.ndim)))


def insert(d: Draw) -> Case:
    x = d.any(1, 3)
    axis = d.axis(x.ndim)
    return Case((x, 0, d.one((1, d.array(x.shape[1:])))), {"axis": axis} if d.flag() else {})


def resize(d: Draw) -> Case:
    return Case((d.any(), d.shape(0, 3)))


def rollaxis(d: Draw) -> Case:
    x = d.any(1, 4)
    return Case((x, d.axis(x.ndim)), d.some(start=lambda: d.one((d.axis(x.ndim), x.ndim))))


def unstack(d: Draw) -> Case:
    x = d.any(0, 3)
    return Case((x,), d.some(axis=lambda: d.axis(x.ndim)))


def vander(d: Draw) -> Case:
    return Case((d.any(0, 2) if d.chance(0.2) else d.any(1, 1),), d.some(N=lambda: d.one((None, 2))))


def indices(d: Draw) -> Case:
    return Case(
        (d.maybe(d.shape(0, 3)) if not d.chance(MISTAKES) else (2, -1),),
        d.some(dtype=lambda: np.float32, sparse=d.flag),
    )


def spaced(d: Draw) -> Case:
    case = linspace(d)
    return Case(
        [np.asarray(each, np.float64) + 1 if isinstance(each, np.ndarray) else 1.0 for each in case.arguments],
        case.keywords,
    )


def choice(d: Draw) -> Case:
    x = d.any(1, 3)
    keywords = {"size": new_shape(d)} | d.some(axis=lambda: d.axis(x.ndim))
    return Case((5,), {"size": new_shape(d)}) if d.flag() else Case((x,), keywords)


def shuffled(d: Draw) -> Case:
    x = d.any(0, 3)
    return Case((x,), d.some(axis=lambda: d.axis(x.ndim)))


def random_calls() -> dict[str, Call]:
    """Of the distributions, for both kinds of generators and for NumPy's own functions."""
    one = ("exponential", "poisson", "chisquare", "standard_t", "rayleigh", "pareto", "weibull", "geometric")
    two = ("beta", "gamma", "laplace", "logistic", "gumbel", "lognormal")
    newer = {**dict.fromkeys(one, distribution(1)), **dict.fromkeys(two, distribution(2))}
    newer |= {"binomial": binomial, "triangular": triangular, "dirichlet": vectors()}
    newer |= {"multivariate_normal": normal_vectors, "standard_exponential": sized()}
    older = newer | {"normal": normal, "uniform": normal, "randint": older_integers, "multinomial": vectors(5)}
    older |= dict.fromkeys(("standard_normal", "random", "random_sample"), sized())
    older |= {"rand": axes_given, "randn": axes_given, "choice": older_choice}
    older |= {"permutation": older_permutation, "shuffle": lambda d: Case((d.any(1, 3),))}
    return {
        **{f"{GENERATOR}{name}()": call for name, call in newer.items()},
        **{f"{OLDER_GENERATOR}{name}()": call for name, call in older.items()},
        **{f"numpy.random.{name}": call for name, call in older.items()},
    }


CALLS: dict[str, Call] = {
    **{name: unary for name, row in TABLE.items() if row.parameters == TABLE["numpy.exp"].parameters},
    **{name: binary_ufunc for name, row in TABLE.items() if row.parameters == TABLE["numpy.add"].parameters},
    **dict.fromkeys(("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>"), operators),
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), comparisons),
    **{name: plain(1) for name in ("neg", "invert", "abs", "Array.conj()", "numpy.nan_to_num")},
    "numpy.divmod": pair(),
    "numpy.where": where,
    **dict.fromkeys(("numpy.clip", "Array.clip()"), clip),
    **dict.fromkeys(("numpy.round", "numpy.around", "Array.round()"), rounded),
    "numpy.isclose": pair(),
    **{
        f"{place}{name}": reduction("keepdims", "dtype", "where", "initial")
        for name in ("sum", "prod")
        for place in ("numpy.", "numpy.nan")
    },
    **{
        f"{place}{name}": reduction("keepdims", "dtype", "where")
        for name in ("mean", "std", "var")
        for place in ("numpy.", "numpy.nan")
    },
    **{
        f"numpy.{name}": reduction("keepdims", "initial", types=REAL)
        for name in ("max", "min", "amax", "amin", "nanmax", "nanmin")
    },
    **{f"numpy.{name}": reduction("keepdims", "where") for name in ("any", "all")},
    **{f"numpy.{name}": reduction("keepdims", several=False) for name in ("argmax", "argmin")},
    **{f"numpy.{name}": running for name in ("cumsum", "cumprod")},
    "numpy.median": reduction("keepdims", types=PRECISE),
    "numpy.count_nonzero": reduction("keepdims"),
    "numpy.ptp": reduction("keepdims", types=PRECISE),
    "numpy.average": reduction("keepdims"),
    **{f"numpy.{name}": sorting for name in ("sort", "argsort")},
    **{f"numpy.{name}": partition for name in ("partition", "argpartition")},
    "numpy.diff": differences,
    "numpy.linalg.norm": norm,
    "numpy.quantile": quantile(1),
    "numpy.percentile": quantile(100),
    "numpy.bincount": bincount,
    "@": matmul,
    "numpy.matmul": matmul,
    "numpy.dot": dot,
    "numpy.inner": last_axes,
    "numpy.outer": two(0, 2),
    "numpy.vdot": vdot,
    "numpy.tensordot": tensordot,
    "numpy.einsum": einsum,
    "numpy.kron": two(0, 3),
    "numpy.linalg.inv": symmetric,
    "numpy.linalg.cholesky": symmetric,
    "numpy.linalg.det": symmetric,
    "numpy.linalg.solve": solve,
    "numpy.trace": diagonal,
    "numpy.diagonal": diagonal,
    "numpy.transpose": transpose(),
    "numpy.permute_dims": transpose(),
    "Array.transpose()": transpose(spread=True),
    **{
        name: plain()
        for name in (
            "Array.T",
            "Array.mT",
            "numpy.matrix_transpose",
            "numpy.ravel",
            "Array.flatten()",
            "numpy.flipud",
            "numpy.fliplr",
        )
    },
    "numpy.swapaxes": two_axes,
    "numpy.moveaxis": moveaxis,
    "numpy.reshape": reshape(),
    "Array.reshape()": reshape(spread=True),
    "numpy.expand_dims": expand,
    "numpy.squeeze": squeeze,
    "numpy.flip": flip,
    "numpy.roll": roll,
    "numpy.rot90": rot90,
    "numpy.repeat": repeat,
    "numpy.tile": tile,
    "numpy.broadcast_to": broadcast_to,
    "numpy.broadcast_arrays": broadcast_arrays,
    "numpy.pad": pad,
    **{f"numpy.atleast_{rank}d": at_least for rank in (1, 2, 3)},
    **{
        name: plain()
        for name in ("Array.shape", "Array.ndim", "Array.size", "Array.dtype", "numpy.shape", "numpy.ndim")
    },
    **{name: plain() for name in ("Array.real", "Array.imag", "numpy.copy")},
    "Array.astype()": astype,
    **dict.fromkeys(("numpy.tril", "numpy.triu"), triangle),
    "numpy.lib.stride_tricks.sliding_window_view": windows,
    **dict.fromkeys(("numpy.concatenate", "numpy.concat"), concatenate),
    "numpy.stack": stack,
    **{f"numpy.{name}": columns for name in ("vstack", "hstack", "dstack", "column_stack")},
    **{f"numpy.{name}": split() for name in ("split", "array_split")},
    "numpy.append": append,
    **{f"numpy.{name}": new for name in ("zeros", "ones", "empty")},
    "numpy.full": full,
    **{f"numpy.{name}_like": like for name in ("zeros", "ones", "empty")},
    "numpy.full_like": full_like,
    "numpy.array": array_ndmin,
    **{f"numpy.{name}": array for name in ("asarray", "asanyarray", "asarray_chkfinite", "ascontiguousarray")},
    "numpy.arange": arange,
    "numpy.linspace": linspace,
    "numpy.eye": eye,
    "numpy.identity": identity,
    "numpy.tri": eye,
    "numpy.meshgrid": meshgrid,
    "numpy.diag": diag,
    **{f"{GENERATOR}{name}()": sized() for name in ("standard_normal", "random")},
    **{f"{GENERATOR}{name}()": normal for name in ("normal", "uniform")},
    f"{GENERATOR}integers()": integers,
    f"{GENERATOR}permutation()": permutation,
    "[]": read,
    "[]=": assigned,
    "numpy.take": take,
    "numpy.take_along_axis": take_along,
    "numpy.put_along_axis": put_along,
    "numpy.nonzero": plain(),
    "numpy.unique": unique,
    "numpy.searchsorted": searchsorted,
    **{name: outer for name in TABLE if name.endswith(".outer") or name == "numpy.array_equal"},
    **{name: ufunc_reduce for name in TABLE if name.endswith(".reduce")},
    **{name: accumulate for name in TABLE if name.endswith(".accumulate")},
    **{name: added_at for name in TABLE if name.endswith(".at")},
    **{
        name: plain()
        for name in (
            "numpy.sinc",
            "numpy.angle",
            "numpy.real",
            "numpy.imag",
            "numpy.size",
            "numpy.ediff1d",
            "numpy.argwhere",
        )
    },
    **{name: plain() for name in ("numpy.flatnonzero", "numpy.diagflat")},
    "Array.conjugate()": plain(),
    "numpy.select": select,
    "numpy.allclose": pair(),
    **{f"numpy.nan{name}": reduction("keepdims", types=PRECISE, several=False) for name in ("argmax", "argmin")},
    **{f"numpy.nan{name}": running for name in ("cumsum", "cumprod")},
    "numpy.nanmedian": reduction("keepdims", types=PRECISE),
    "numpy.linalg.vector_norm": vector_norm,
    "numpy.linalg.matrix_norm": matrix_norm,
    "numpy.histogram": histogram,
    "numpy.gradient": gradient,
    "numpy.trapezoid": along_last,
    "numpy.cov": covariance,
    "numpy.vecdot": vecdot,
    "numpy.cross": cross,
    **{f"numpy.{name}": convolve for name in ("convolve", "correlate")},
    "numpy.linalg.multi_dot": multi_dot,
    "numpy.linalg.slogdet": symmetric,
    "numpy.linalg.matrix_power": matrix_power,
    **{f"numpy.linalg.{name}": symmetric for name in ("eigh", "eigvalsh", "eig", "eigvals")},
    "numpy.linalg.svd": matrix(lambda d: d.some(full_matrices=d.flag, compute_uv=d.flag)),
    "numpy.linalg.svdvals": matrix(),
    "numpy.linalg.qr": matrix(lambda d: d.some(mode=lambda: d.one(("reduced", "complete", "r")))),
    "numpy.linalg.pinv": matrix(),
    "numpy.linalg.lstsq": lstsq,
    "numpy.extract": extract,
    "numpy.compress": compress,
    "numpy.digitize": digitize,
    "numpy.isin": isin,
    "numpy.interp": interp,
    "numpy.ix_": open_mesh,
    **{f"numpy.{name}_indices": triangle_indices for name in ("triu", "tril")},
    "numpy.lexsort": lexsort,
    "numpy.copyto": copyto,
    "numpy.delete": delete,
    "numpy.insert": insert,
    "numpy.resize": resize,
    "numpy.rollaxis": rollaxis,
    "numpy.unstack": unstack,
    **{f"numpy.{name}": split(axis=False) for name in ("vsplit", "hsplit", "dsplit")},
    "numpy.vander": vander,
    "numpy.indices": indices,
    **{f"numpy.{name}": spaced for name in ("logspace", "geomspace")},
    **random_calls(),
    "numpy.lib.stride_tricks.as_strided": strided,
    **{f"numpy.fft.{name}": transformed for name in ("fft", "ifft", "rfft", "irfft")},
    **{f"numpy.fft.{name}": transformed_axes(2) for name in ("fft2", "ifft2", "rfft2")},
    **{f"numpy.fft.{name}": transformed_axes(1) for name in ("fftn", "ifftn", "rfftn")},
    **{f"numpy.fft.{name}": frequencies for name in ("fftfreq", "rfftfreq")},
    **{f"numpy.fft.{name}": shifted for name in ("fftshift", "ifftshift")},
    f"{GENERATOR}permuted()": shuffled,
    f"{GENERATOR}shuffle()": shuffled,
    f"{GENERATOR}choice()": choice,
}


def call_of(name: str) -> Call | None:
    """The generator of a row; a method has that of the function of its name."""
    return CALLS.get(name) or (
        CALLS.get(f"numpy.{name[6:-2]}") if name.startswith("Array.") and name.endswith("()") else None
    )


def drawn(name: str, seed: int) -> Case:
    """One call; where the function takes ``out=``, sometimes with it."""
    d = Draw(f"{name} {seed}")
    call = call_of(name)
    assert call is not None, name
    case = call(d)
    if name.startswith("Array."):
        case.arguments = [np.asarray(case.arguments[0]), *case.arguments[1:]]
    if (
        "out=" in TABLE[name].parameters
        and not name.startswith(GENERATOR)
        and name.startswith(("numpy.", "Array."))
        and d.chance(0.2)
    ):
        try:
            result = computed(name, case)
        except RAISED:
            return case
        # cumsum(x, out=y) writes beyond a y that is too small
        if isinstance(result, np.ndarray | np.generic) and result.size:
            shape = result.shape if call in (running, accumulate) else d.maybe(result.shape)
            case.keywords["out"] = np.zeros(shape, result.dtype)
    return case
