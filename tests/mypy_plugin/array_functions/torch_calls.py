"""Random calls of each function of PyTorch in the table. To add a function, add its generator to `CALLS`."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.mypy_plugin.array_functions import calls
from tests.mypy_plugin.array_functions.calls import MISTAKES, Call, Draw
from tests.mypy_plugin.array_functions.comparison import Case
from typednn.mypy_plugin.array_functions import TABLE
from typednn.mypy_plugin.array_functions.rows import Row

ROWS: dict[str, Row] = {name: row for name, row in TABLE.items() if name.startswith("torch.")} | {
    name: TABLE[name] for name in ("<", "<=", ">", ">=", "==", "!=")
}
FLOATS = ("float32", "float64")
FLOAT = ("float32",)
NUMBERS = ("float32", "float64", "int64")
WHOLE = ("int64", "bool")
PLACES = ("int64",)

Sizes = Sequence[int]
Choice = Callable[[], Any]


def one(low: int = 0, high: int = 4, types: Sequence[str] = FLOATS, **choices: Callable[[Draw, Any], Any]) -> Call:
    """One array, and some keywords that may depend on it."""

    def draw(d: Draw) -> Case:
        x = d.any(low, high, types)
        return Case((x,), {name: make(d, x) for name, make in choices.items() if d.chance(0.5)})

    return draw


def axis(d: Draw, x: Any) -> Any:
    return d.one((0, -1)) if x.ndim == 0 and d.flag() else d.axis(x.ndim)


def axes(d: Draw, x: Any) -> Any:
    """An axis, or several."""
    if d.flag() or not x.ndim:
        return axis(d, x)
    return d.axes(x.ndim, d.random.randint(1, x.ndim))


def flag(d: Draw, x: Any) -> bool:
    return d.flag()


def pair(types: Sequence[str] = NUMBERS, *, numbers: bool = True) -> Call:
    """Two arrays that broadcast."""

    def draw(d: Draw) -> Case:
        x = d.any(types=types)
        y = d.one((2, 3)) if numbers and d.chance(0.2) else d.array(d.beside(x.shape), types)
        return Case((x, y))

    return draw


def into(count: int = 1, types: Sequence[str] = FLOATS) -> Call:
    """What goes into the first array."""

    def draw(d: Draw) -> Case:
        x = d.any(types=types)
        return Case((x, *(d.array(d.into(x.shape), [str(x.dtype)]) for _ in range(count))))

    return draw


def operators(d: Draw) -> Case:
    """Of dtypes that PyTorch computes with."""
    case = calls.operators(d)
    arrays = [
        each.real.astype(d.one(("int64", "int32", "bool", "float32"))) if isinstance(each, np.ndarray) else each
        for each in case.arguments
    ]
    return Case(arrays, {"out": arrays[0]} if "out" in case.keywords else {})


def three(types: Sequence[str] = FLOAT) -> Call:
    def draw(d: Draw) -> Case:
        x = d.any(types=types)
        return Case((x, d.array(d.beside(x.shape), types), d.array(d.beside(x.shape), types)))

    return draw


def where(d: Draw) -> Case:
    x = d.any(types=FLOAT)
    return Case((d.array(d.beside(x.shape), ["bool"]), x, d.array(d.beside(x.shape), FLOAT)))


def where_method(d: Draw) -> Case:
    mask, x, y = where(d).arguments
    return Case((x, mask, y))


def masked(d: Draw) -> Case:
    x = d.any(types=FLOAT)
    mask = d.array(d.beside(x.shape), ["bool"])
    return Case((x, mask, d.one((0.5, d.array(() if not d.chance(MISTAKES) else (2,), FLOAT)))))


def masked_in_place(d: Draw) -> Case:
    x = d.any(types=FLOAT)
    return Case((x, d.array(d.into(x.shape), ["bool"]), 0.5))


def clamped(d: Draw) -> Case:
    x = d.any(types=FLOAT)
    if d.flag():
        return Case((x,), {d.one(("min", "max")): d.one((1, 0.5))})
    return Case((x, d.array(d.beside(x.shape), FLOAT), d.array(d.beside(x.shape), FLOAT)))


def clamped_in_place(d: Draw) -> Case:
    x = d.any(types=FLOAT)
    return Case((x, d.array(d.into(x.shape), FLOAT), d.array(d.into(x.shape), FLOAT)))


# ---------------------------------------------------------------------------------------------------- along axes


def along(*spellings: str, **choices: Callable[[Draw, Any], Any]) -> Call:
    """An array and an axis; ``dim`` may be spelled otherwise."""

    def draw(d: Draw) -> Case:
        x = d.any(types=FLOATS)
        spelled = d.one(("dim", "dim", "dim", *spellings))
        return Case((x,), {spelled: axis(d, x)} | {key: make(d, x) for key, make in choices.items() if d.flag()})

    return draw


def kth(d: Draw) -> Case:
    x = d.any(1, 4, FLOATS)
    place = d.axis(x.ndim)
    size = x.shape[place] if -x.ndim <= place < x.ndim else 1
    return Case(
        (x, max(1, size) if not d.chance(MISTAKES) else size + 1, place), {"keepdim": d.flag()} if d.flag() else {}
    )


def topk(d: Draw) -> Case:
    x = d.any(1, 4, FLOATS)
    place = d.axis(x.ndim)
    size = x.shape[place] if -x.ndim <= place < x.ndim else 1
    return Case((x, d.random.randint(0, size) if not d.chance(MISTAKES) else size + 1, place))


def extreme(d: Draw) -> Case:
    x = d.any(types=FLOATS)
    kind = d.random.random()
    if kind < 0.2:
        return Case((x,))
    return Case((x,), {"dim": axis(d, x)} | ({"keepdim": d.flag()} if d.flag() else {}))


def extreme_or_pair(d: Draw) -> Case:
    x = d.any(types=FLOAT)
    return Case((x, d.array(d.beside(x.shape), FLOAT))) if d.chance(0.3) else extreme(d)


def quantile(d: Draw) -> Case:
    x = d.any(types=FLOAT)
    q = np.array(d.one((0.5, [0.25, 0.75], [0.1])), "float32")
    return Case((x, q if d.flag() else 0.5), {"dim": axis(d, x), "keepdim": d.flag()} if d.flag() else {})


def bincount(d: Draw) -> Case:
    return Case((d.array(d.maybe((d.size(),)), PLACES),))


# ---------------------------------------------------------------------------------------------------- products


def product(*ranks: Sequence[str]) -> Call:
    """Arrays whose axes are letters: of one letter, one size; most of the time."""

    def draw(d: Draw) -> Case:
        sizes = {letter: d.size() for letter in "abcdefgh"}
        return Case([d.array(d.maybe([sizes[letter] for letter in rank]), FLOAT) for rank in ranks])

    return draw


def added(*ranks: str) -> Call:
    """The first fits into the product of the others."""
    plain = product(*ranks)

    def draw(d: Draw) -> Case:
        case = plain(d)
        first, *others = case.arguments
        return Case((d.array(d.into(first.shape), FLOAT), *others))

    return draw


def tensordot(d: Draw) -> Case:
    a, b = d.shape(0, 3), d.shape(0, 3)
    count = d.random.randint(0, min(len(a), len(b)))
    if d.flag():
        b = d.maybe((*a[len(a) - count :], *b[count:]))
        return Case((d.array(a, FLOAT), d.array(b, FLOAT)), {"dims": count if not d.chance(MISTAKES) else count + 1})
    first, second = d.random.sample(range(len(a)), count), d.random.sample(range(len(b)), count)
    sizes = list(b)
    for x, y in zip(first, second, strict=True):
        sizes[y] = 1 if d.chance(0.1) else a[x]
    return Case((d.array(a, FLOAT), d.array(d.maybe(sizes), FLOAT)), {"dims": (first, second)})


def einsum(d: Draw) -> Case:
    case = calls.einsum(d)
    return Case((case.arguments[0], *(each.real.astype("float32") for each in case.arguments[1:])))


def distances(d: Draw) -> Case:
    before, features = d.shape(0, 2), d.size()
    a = (*d.beside(before), d.size(), features)
    return Case([d.array(d.maybe(each), FLOAT) for each in (a, (*before, d.size(), features))])


def similarity(d: Draw) -> Case:
    x = d.any(types=FLOAT)
    return Case((x, d.array(d.beside(x.shape), FLOAT)), {"dim": axis(d, x)} if d.flag() else {})


def pairwise(d: Draw) -> Case:
    x = d.any(1, 3, types=FLOAT)
    return Case((x, d.array(d.beside(x.shape), FLOAT)), {"keepdim": True} if d.flag() else {})


def square(*further: Any) -> Call:
    def draw(d: Draw) -> Case:
        size = d.size()
        shape = d.maybe((*d.shape(0, 2), size, size))
        values = np.broadcast_to(np.eye(*shape[-2:]), shape) if len(shape) > 1 else np.ones(shape)
        return Case((values.astype("float32"), *further))

    return draw


def solve(d: Draw) -> Case:
    size, before = d.size(), d.shape(0, 2)
    a = np.broadcast_to(np.eye(size, dtype="float32"), (*before, size, size)).copy()
    b = (size,) if d.chance(0.2) else (*before, size, d.size())
    return Case((a if not d.chance(MISTAKES) else d.array(d.perturbed(a.shape), FLOAT), d.array(d.maybe(b), FLOAT)))


def triangular(d: Draw) -> Case:
    size, before = d.size(), d.shape(0, 1)
    a = np.broadcast_to(np.eye(size, dtype="float32"), (*before, size, size)).copy()
    left = d.flag()
    b = (*before, size, d.size()) if left else (*before, d.size(), size)
    return Case((a, d.array(d.maybe(b), FLOAT)), {"upper": True, "left": left})


def matrix(**choices: Callable[[Draw, Any], Any]) -> Call:
    return one(1, 4, FLOAT, **choices)


def multi_dot(d: Draw) -> Case:
    case = calls.multi_dot(d)
    return Case(([each.real.astype("float32") for each in case.arguments[0]],))


# ---------------------------------------------------------------------------------------------------- movement


def reshape(*, spread: bool) -> Call:
    made = calls.reshape(spread=spread)

    def draw(d: Draw) -> Case:
        x, *sizes = made(d).arguments
        return Case((x, *sizes) if spread or isinstance(sizes[0], tuple | list) else (x, (sizes[0],)))

    return draw


def as_other(d: Draw) -> Case:
    x = d.any(types=FLOAT)
    sizes = list(x.shape)
    d.random.shuffle(sizes)
    return Case((x, d.array(d.maybe(sizes), FLOAT)))


def flatten(d: Draw) -> Case:
    x = d.any(types=FLOAT)
    return Case((x,), d.some(start_dim=lambda: axis(d, x), end_dim=lambda: axis(d, x)))


def unflatten(d: Draw) -> Case:
    x = d.any(1, 3, FLOAT)
    place = d.axis(x.ndim)
    size = x.shape[place] if -x.ndim <= place < x.ndim else 4
    sizes = d.one(((1, size), (size, 1), (-1, 1), (2, -1), (2, 2)))
    return Case((x, place, sizes))


def permute(*, spread: bool) -> Call:
    def draw(d: Draw) -> Case:
        x = d.any(types=FLOAT)
        order = list(d.axes(x.ndim, x.ndim))
        if d.chance(MISTAKES):
            order = order[1:] if d.flag() and order else [*order, d.axis(max(1, x.ndim))]
        return Case((x, *order) if spread and order and d.flag() else (x, tuple(order)))

    return draw


def swapped(d: Draw) -> Case:
    x = d.any(types=FLOAT)
    return Case((x, axis(d, x), axis(d, x)))


def moved(d: Draw) -> Case:
    x = d.any(types=FLOAT)
    if d.flag() or not x.ndim:
        return Case((x, axis(d, x), axis(d, x)))
    count = d.random.randint(1, x.ndim)
    return Case((x, d.axes(x.ndim, count), d.axes(x.ndim, count if not d.chance(MISTAKES) else count - 1)))


def unsqueeze(d: Draw) -> Case:
    x = d.any(types=FLOAT)
    return Case((x, d.axis(x.ndim + 1)))


def squeeze(d: Draw) -> Case:
    shape = [1 if d.flag() else size for size in d.shape()]
    x = d.array(shape, FLOAT)
    return Case((x,), {"dim": axes(d, x)} if d.flag() else {})


def expand(*, spread: bool) -> Call:
    def draw(d: Draw) -> Case:
        shape = d.shape()
        x = d.array([1 if d.chance(0.3) else size for size in shape], FLOAT)
        wanted = [-1 if d.chance(0.2) else size for size in d.maybe(shape)]
        wanted = [d.size(), *wanted] if d.chance(0.3) else wanted
        wanted = [-1, *wanted] if d.chance(0.05) else wanted
        return Case((x, *wanted) if spread and wanted and d.flag() else (x, tuple(wanted)))

    return draw


def expand_as(d: Draw) -> Case:
    shape = d.shape()
    return Case((d.array(d.into(shape), FLOAT), d.array(shape, FLOAT)))


def tiled(*, spread: bool) -> Call:
    def draw(d: Draw) -> Case:
        x = d.any(0, 3, FLOAT)
        times = [d.random.randint(0, 2) for _ in range(max(0, x.ndim + d.one((0, 0, 0, 1, -1))))]
        return Case((x, *times) if spread and times and d.flag() else (x, tuple(times)))

    return draw


def repeated(d: Draw) -> Case:
    x = d.any(1, 3, FLOAT)
    place = d.axis(x.ndim)
    size = x.shape[place] if -x.ndim <= place < x.ndim else 1
    if d.flag():
        return Case((x, d.random.randint(0, 3)), {"dim": place} if d.flag() else {})
    return Case((x, d.array(d.maybe((size,)), PLACES)), {"dim": place})


def rolled(d: Draw) -> Case:
    x = d.any(types=FLOAT)
    return Case((x, 1), {"dims": axis(d, x)} if d.flag() else {})


def flipped(*, spread: bool) -> Call:
    def draw(d: Draw) -> Case:
        x = d.any(types=FLOAT)
        places = d.axes(x.ndim, d.random.randint(0, x.ndim)) if x.ndim else (axis(d, x),)
        return Case((x, *places) if spread and places and d.flag() else (x, places))

    return draw


def rot90(d: Draw) -> Case:
    x = d.any(2, 4, FLOAT)
    return Case((x, d.random.randint(-3, 4), [*d.axes(x.ndim, 2)]))


def diagonal(d: Draw) -> Case:
    x = d.any(2, 4, FLOAT)
    return Case((x,), d.some(offset=lambda: d.random.randint(-2, 2), dim1=lambda: axis(d, x), dim2=lambda: axis(d, x)))


def unfold(d: Draw) -> Case:
    x = d.any(1, 3, FLOAT)
    return Case((x, d.axis(x.ndim), d.random.randint(1, 3), d.random.randint(1, 2)))


def size(d: Draw) -> Case:
    x = d.any()
    return Case((x,) if d.flag() or not x.ndim else (x, d.axis(x.ndim)))


# ---------------------------------------------------------------------------------------------------- joining


def cat(d: Draw) -> Case:
    shape = d.shape(0 if d.chance(0.1) else 1, 3)
    place = d.axis(len(shape))
    arrays = []
    for _ in range(d.random.randint(1, 3)):
        own = list(shape)
        if -len(own) <= place < len(own):
            own[place] = d.size()
        arrays.append(d.array(d.maybe(own) if not d.chance(0.05) else (0,), FLOAT))
    return Case((arrays if d.flag() else tuple(arrays),), {"dim": place} if place or d.flag() else {})


def stack(d: Draw) -> Case:
    arrays = d.together(d.random.randint(1, 3), d.shape(0, 3), FLOAT)
    return Case((arrays,), {"dim": d.axis(arrays[0].ndim + 1)} if d.flag() else {})


def joined(d: Draw) -> Case:
    return Case((d.together(d.random.randint(1, 3), d.shape(0, 3), FLOAT),))


def chunk(d: Draw) -> Case:
    x = d.any(1, 3, FLOAT)
    return Case((x, d.random.randint(1, 4) if not d.chance(0.03) else 0), {"dim": axis(d, x)} if d.flag() else {})


def split(d: Draw) -> Case:
    x = d.any(1, 3, FLOAT)
    place = d.axis(x.ndim)
    size = x.shape[place] if -x.ndim <= place < x.ndim else 3
    if d.flag():
        return Case((x, d.random.randint(1, 4)), {"dim": place} if d.flag() else {})
    first = d.random.randint(0, size)
    return Case((x, [first, size - first + d.chance(MISTAKES)]), {"dim": place})


def tensor_split(d: Draw) -> Case:
    x = d.any(1, 3, FLOAT)
    parts = d.one((1, 2, 3, (1, 2), (1,)))
    return Case((x, parts), {"dim": axis(d, x)} if d.flag() else {})


def gather(*, source: bool = False) -> Call:
    def draw(d: Draw) -> Case:
        shape = d.shape(1, 3)
        place = d.axis(len(shape))
        index = [d.random.randint(0, each) for each in shape]
        if -len(shape) <= place < len(shape) and shape[place]:
            index[place] = d.size()
        index_array = np.zeros(d.maybe(index), "int64")
        arguments = (d.array(shape, FLOAT), place, index_array)
        if not source:
            return Case(arguments)
        return Case(
            (*arguments, d.array(d.maybe([each + d.random.randint(0, 1) for each in index_array.shape]), FLOAT))
        )

    return draw


def reduced_scatter(d: Draw) -> Case:
    return Case(gather(source=True)(d).arguments, {"reduce": "sum"})


def index_select(d: Draw) -> Case:
    x = d.any(1, 3, FLOAT)
    place = d.axis(x.ndim)
    size = x.shape[place] if -x.ndim <= place < x.ndim else 1
    index = np.zeros(d.maybe((d.size(),)), "int64") if size else np.zeros((0,), "int64")
    return Case((x, place, index))


def select(d: Draw) -> Case:
    x = d.any(1, 3, FLOAT)
    return Case((x, d.axis(x.ndim), d.random.randint(-2, 2)))


def narrow(d: Draw) -> Case:
    x = d.any(1, 3, FLOAT)
    return Case((x, d.axis(x.ndim), d.random.randint(-1, 2), d.random.randint(0, 3)))


def along_dim(d: Draw) -> Case:
    x = d.any(1, 3, FLOAT)
    place = d.axis(x.ndim)
    index = list(d.beside(x.shape)) if d.chance(0.3) else list(x.shape)
    if -len(index) <= place < len(index) and x.shape and -x.ndim <= place < x.ndim:
        index[place] = d.size() if x.shape[place] else 0
    return Case((x, np.zeros(index, "int64")), {"dim": place} if d.chance(0.8) else {})


def take(d: Draw) -> Case:
    x = d.array(d.one(((2, 3), (4,))), FLOAT)
    return Case((x, np.zeros(d.shape(), "int64")))


def masked_select(d: Draw) -> Case:
    x = d.any(types=FLOAT)
    return Case((x, d.array(d.beside(x.shape), ["bool"])))


def grid(d: Draw) -> Case:
    arrays = [d.array(d.maybe((d.size(),)), FLOAT) for _ in range(d.random.randint(1, 3))]
    return Case(arrays if d.flag() else (arrays,), {"indexing": d.one(("ij", "xy"))})


def arrays(d: Draw) -> Case:
    return Case([d.any(types=FLOAT) for _ in range(d.random.randint(1, 2))])


# ---------------------------------------------------------------------------------------------------- indices


def read(d: Draw) -> Case:
    x = d.any(types=FLOAT)
    return Case((x, calls.index_of(d, x.shape)))


def assigned(d: Draw) -> Case:
    x = d.any(types=FLOAT)
    index = calls.index_of(d, x.shape)
    try:
        shape = x[index].shape
    except (IndexError, ValueError):
        shape = d.shape(0, 2)
    return Case((x, index, d.array(d.into(shape), FLOAT) if d.flag() else 1.5))


# ---------------------------------------------------------------------------------------------------- creation


def sizes(*, spread: bool = True) -> Call:
    def draw(d: Draw) -> Case:
        shape = d.shape() if not d.chance(0.05) else (2, -1)
        return Case(tuple(shape) if spread and shape and d.flag() else (tuple(shape),))

    return draw


def full(d: Draw) -> Case:
    return Case((d.shape(), d.one((1, 0.5))))


def new_sizes(d: Draw) -> Case:
    return Case((d.any(types=FLOAT), *sizes()(d).arguments))


def new_full(d: Draw) -> Case:
    return Case((d.any(types=FLOAT), d.shape(), 0.5))


def full_like(d: Draw) -> Case:
    return Case((d.any(types=FLOAT), 2))


def randint(d: Draw) -> Case:
    return Case((3, d.shape()) if d.flag() else (0, 3, d.shape()))


def multinomial(d: Draw) -> Case:
    x = np.ones(d.maybe(d.one(((3,), (2, 3)))), "float32")
    return Case((x, d.random.randint(1, 2)))


def arange(d: Draw) -> Case:
    return Case(d.one(((4,), (1, 5), (0, 6, 2), (5, 0, -1), (0,))))


def linspace(d: Draw) -> Case:
    return Case((0, 1, d.random.randint(0, 5)))


def eye(d: Draw) -> Case:
    return Case((d.size(),) if d.flag() else (d.size(), d.size()))


def nested(d: Draw) -> Case:
    return Case((d.one((1.5, [1, 2, 3], [[1.0, 2.0], [3.0, 4.0]], [[1], [2]], [], d.any(types=FLOAT))),))


def nested_wrong(d: Draw) -> Case:
    return Case(([[1, 2], [3]],)) if d.chance(MISTAKES) else nested(d)


def new_tensor(d: Draw) -> Case:
    return Case((d.any(types=FLOAT), *nested_wrong(d).arguments))


def from_numpy(d: Draw) -> Case:
    return Case((d.any(types=FLOAT),))


def randperm(d: Draw) -> Case:
    return Case((d.size(),))


def one_hot(d: Draw) -> Case:
    return Case((d.array(d.shape(0, 3), PLACES), 5) if d.chance(0.8) else (d.array((3,), PLACES),))


# ---------------------------------------------------------------------------------------------------- nn.functional


def loss(*, equal: bool = False) -> Call:
    def draw(d: Draw) -> Case:
        x = d.any(types=FLOAT) * 0 + 0.5
        x = np.asarray(x, "float32")
        target = d.array(d.maybe(x.shape) if equal else d.beside(x.shape), FLOAT).clip(0, 1)
        return Case(
            (x, np.asarray(target, "float32")), {"reduction": d.one(("mean", "sum", "none"))} if d.flag() else {}
        )

    return draw


def classified(*, shares: bool) -> Call:
    def draw(d: Draw) -> Case:
        shape = d.shape(1, 4)
        x = d.array(shape, FLOAT)
        keywords = {"reduction": d.one(("mean", "sum", "none"))} if d.flag() else {}
        if shares and d.chance(0.3):
            return Case((x, d.array(d.maybe(shape), FLOAT)), keywords)
        wanted = (shape[0], *shape[2:]) if len(shape) > 1 else ()
        target = np.zeros(d.maybe(wanted), "int64")
        return Case((x, target), keywords)

    return draw


def linear(d: Draw) -> Case:
    features, out = d.size(), d.size()
    x = (*d.shape(0, 3), features)
    weight = (features,) if d.chance(0.1) else (out, features)
    bias = [d.array(d.maybe((out,)), FLOAT)] if d.flag() and len(weight) == 2 else []
    return Case((d.array(d.maybe(x), FLOAT), d.array(d.maybe(weight), FLOAT), *bias))


def embedding(d: Draw) -> Case:
    weight = d.maybe((4, d.size()))
    return Case((d.array(d.shape(0, 3), PLACES), d.array(weight, FLOAT)))


def normalised(d: Draw) -> Case:
    x = d.any(1, 3, FLOAT)
    count = d.random.randint(1, x.ndim)
    return Case((x, list(d.maybe(x.shape[x.ndim - count :]))))


def in_groups(d: Draw) -> Case:
    groups = d.random.randint(1, 3)
    shape = (d.one((2, 3)), groups * d.one((1, 2)) + d.chance(MISTAKES), *d.one(((), (2,), (3, 4))))
    return Case((d.array(shape, FLOAT), groups))


def batch_norm(d: Draw) -> Case:
    shape = (2, d.one((2, 3)), *d.one(((), (2,), (3, 4))))
    return Case((d.array(shape, FLOAT), np.zeros(shape[1], "float32"), np.ones(shape[1], "float32")))


def attention(d: Draw) -> Case:
    before, features, keys, queries = d.shape(0, 2), d.one((1, 2, 3)), d.one((1, 2, 4)), d.one((1, 2, 4, 5))
    values = d.one((1, 2, 3))
    shapes = [(*before, queries, features), (*before, keys, features), (*before, keys, values)]
    arrays = [d.array(d.maybe(shape), FLOAT) for shape in shapes]
    mask = {"attn_mask": d.array(d.into((*before, queries, keys)), ["bool"])} if d.chance(0.3) else {}
    return Case(arrays, mask)


def convolved(axes: int, *, turned: bool = False) -> Call:
    def draw(d: Draw) -> Case:
        groups, channels, out = d.one((1, 1, 2)), d.one((1, 2)), d.one((1, 2))
        sizes = tuple(d.random.randint(2, 6) for _ in range(axes))
        kernel = tuple(d.random.randint(1, 3) for _ in range(axes))
        before = (2, channels * groups) if d.chance(0.8) else (channels * groups,)
        weight = (channels * groups, out, *kernel) if turned else (out * groups, channels, *kernel)

        def number(low: int, high: int) -> Any:
            return d.random.randint(low, high) if d.flag() else tuple(d.random.randint(low, high) for _ in range(axes))

        keywords = d.some(stride=lambda: number(1, 3), padding=lambda: number(0, 2), dilation=lambda: number(1, 2))
        if not turned and d.chance(0.1):
            keywords |= {"padding": d.one(("same", "valid"))}
            keywords.pop("stride", None)
        return Case(
            (d.array(d.maybe((*before, *sizes)), FLOAT), d.array(d.maybe(weight), FLOAT)),
            {**keywords, "groups": groups},
        )

    return draw


def pooled(axes: int, *, dilated: bool) -> Call:
    def draw(d: Draw) -> Case:
        before = (2, 3) if d.chance(0.8) else (3,)
        sizes = tuple(d.random.randint(1, 6) for _ in range(axes))
        kernel = d.random.randint(1, 3)
        keywords = d.some(stride=lambda: d.random.randint(1, 3), padding=lambda: kernel // 2)
        if dilated and d.chance(0.2):
            keywords["dilation"] = 2
        shape = (*before, *sizes) if not d.chance(MISTAKES) else d.one(((2,), (2, 3, *sizes, 2, 2)))
        return Case((d.array(shape, FLOAT), kernel if d.flag() else (kernel,) * axes), keywords)

    return draw


def adapted(axes: int) -> Call:
    def draw(d: Draw) -> Case:
        before = (2, 3) if d.chance(0.8) else (3,)
        shape = (*before, *(d.random.randint(1, 6) for _ in range(axes)))
        shape = shape if not d.chance(MISTAKES) else d.one(((2,), (*shape, 2, 2)))
        wanted = d.random.randint(1, 4) if d.flag() else (d.one((2, 3)),) * axes
        return Case((d.array(shape, FLOAT), wanted))

    return draw


def padded(d: Draw) -> Case:
    x = d.any(1, 3, FLOAT)
    count = d.random.randint(0, x.ndim)
    widths = [d.random.randint(-1, 2) for _ in range(2 * count)] + ([1] if d.chance(MISTAKES) else [])
    return Case((x, tuple(widths)))


def resized(d: Draw) -> Case:
    axes = d.one((1, 2, 3)) if not d.chance(MISTAKES) else d.one((0, 4))
    x = d.array((2, 3, *(d.random.randint(1, 4) for _ in range(axes))), FLOAT)
    return Case((x,), d.one(({"size": d.random.randint(1, 5)}, {"size": (2,) * axes}, {"scale_factor": 2})))


def shuffled(d: Draw) -> Case:
    return Case((d.array(d.maybe((2, 4, 2, 3)), FLOAT), 2))


def recurrent(d: Draw) -> Case:
    """The module's arguments come by name."""
    size, hidden, layers, batch = d.one((1, 2, 3)), d.one((1, 2, 4)), d.one((1, 2)), d.one((1, 2, 5))
    keywords = {
        "input_size": size,
        "hidden_size": hidden,
        "num_layers": layers,
        "batch_first": d.flag(),
        "bidirectional": d.flag(),
    }
    shape = (3, size) if d.chance(0.2) else (batch, 3, size) if keywords["batch_first"] else (3, batch, size)
    state = (layers * (2 if keywords["bidirectional"] else 1), *((batch,) if len(shape) == 3 else ()), hidden)
    started = {"hx": d.array(d.maybe(state), FLOAT)} if d.chance(0.3) else {}
    return Case((d.array(d.maybe(shape), FLOAT),), keywords | started)


def cells(d: Draw) -> Case:
    case = recurrent(d)
    if "hx" in case.keywords:
        case.keywords["hx"] = (case.keywords["hx"],) * 2
    return Case(case.arguments, {**case.keywords, "proj_size": 0})


def multihead(d: Draw) -> Case:
    features, keys, queries = d.one((2, 4)), d.one((1, 2, 5)), d.one((1, 2, 4))
    batch, first = d.one((1, 3)), d.flag()
    keywords = {"embed_dim": features, "kdim": None, "vdim": None, "batch_first": first}
    shapes = [(length, features) for length in (queries, keys, keys)]
    if d.chance(0.8):
        shapes = [(batch, *shape) if first else (shape[0], batch, shape[1]) for shape in shapes]
    more = {"need_weights": False} if d.chance(0.3) else {}
    return Case([d.array(d.maybe(shape), FLOAT) for shape in shapes], keywords | more)


def threshold(d: Draw) -> Case:
    return Case((d.any(types=FLOAT), 0.1, 20.0))


F = "torch.nn.functional."
L = "torch.linalg."
_OF_FLOATS = one(types=FLOATS)
_REDUCED = one(types=FLOATS, dim=axes, keepdim=flag)
_REDUCED_ONE = one(types=FLOATS, dim=axis, keepdim=flag)

# By the names of functions, without `torch.` and `torch.Tensor.`: for functions and methods of the name.
_GENERATORS: list[tuple[str, Call]] = [
    (
        "abs absolute neg negative sign sgn floor ceil trunc square relu round nan_to_num isnan isinf isfinite "
        "isposinf "
        "isneginf signbit logical_not exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan "
        "arcsin arccos "
        "arctan sinh cosh tanh asinh acosh atanh sigmoid erf erfc erfinv reciprocal frac digamma lgamma deg2rad "
        "rad2deg sinc "
        "logit detach clone contiguous cpu requires_grad_ detach_ zero_ uniform_ normal_ bernoulli_ random_ "
        "exponential_ log_normal_ float half double bfloat16 long int short bool real .data .real ravel .shape "
        ".ndim .dtype dim ndimension "
        "numel nelement zeros_like ones_like empty_like rand_like randn_like share_memory_ to",
        one(types=FLOATS),
    ),
    ("bitwise_not", one(types=WHOLE)),
    ("cuda pin_memory", one(types=FLOATS)),
    ("bernoulli", lambda d: Case((np.full(d.shape(), 0.5, "float32"),))),
    ("fill_", lambda d: Case((d.any(types=FLOATS), 1))),
    ("type_as", lambda d: Case((d.any(types=FLOATS), d.any(types=FLOATS)))),
    (
        "add sub subtract mul multiply div divide true_divide floor_divide remainder fmod pow eq ne lt le gt ge "
        "less less_equal "
        "greater greater_equal not_equal",
        pair(),
    ),
    (
        "atan2 arctan2 hypot copysign xlogy heaviside maximum minimum fmax fmin logaddexp logaddexp2 "
        "logical_and logical_or "
        "logical_xor isclose",
        pair(FLOAT, numbers=False),
    ),
    ("bitwise_and bitwise_or bitwise_xor", pair(WHOLE, numbers=False)),
    (
        "add_ sub_ subtract_ mul_ multiply_ div_ divide_ true_divide_ floor_divide_ remainder_ fmod_ pow_ eq_ "
        "ne_ lt_ le_ gt_ ge_ "
        "less_ less_equal_ greater_ greater_equal_ not_equal_ atan2_ arctan2_ hypot_ copysign_ xlogy_ "
        "heaviside_ logical_and_ "
        "logical_or_ logical_xor_ copy_",
        into(),
    ),
    ("addcmul_ addcdiv_ lerp_", into(2, FLOAT)),
    ("addcmul addcdiv lerp", three()),
    ("clamp clip", clamped),
    ("clamp_ clip_", clamped_in_place),
    ("clamp_min clamp_max", pair(FLOAT)),
    ("torch.where", where),
    ("torch.Tensor.where()", where_method),
    ("masked_fill", masked),
    ("masked_fill_", masked_in_place),
    ("masked_select", masked_select),
    ("sum nansum mean nanmean amax amin std var std_mean var_mean logsumexp norm all any", _REDUCED),
    ("count_nonzero", one(types=FLOATS, dim=axes)),
    ("prod argmax argmin mode", _REDUCED_ONE),
    ("logsumexp", along("axis", keepdim=flag)),
    ("cumsum cumprod cumsum_ cumprod_ logcumsumexp softmax log_softmax cummax cummin", along("axis")),
    ("sort argsort", one(types=FLOATS, dim=axis)),
    ("topk", topk),
    ("kthvalue", kth),
    ("max min", extreme_or_pair),
    ("median nanmedian", extreme),
    ("aminmax", along(keepdim=flag)),
    ("quantile nanquantile", quantile),
    ("bincount", bincount),
    ("diff", one(types=FLOAT, dim=axis, n=lambda d, x: d.one((0, 1, 2)))),
    ("matmul " + L + "matmul", calls.matmul),
    ("@", calls.matmul),
    ("mm", product("ab", "bc")),
    ("bmm", product("abc", "acd")),
    ("mv", product("ab", "b")),
    ("dot vdot", product("a", "a")),
    ("inner", product("ab", "cb")),
    ("outer ger", product("a", "b")),
    ("kron", product("ab", "cd")),
    ("addmm", added("ac", "ab", "bc")),
    ("baddbmm", added("abd", "abc", "acd")),
    ("addmv", added("a", "ab", "b")),
    ("einsum", einsum),
    ("tensordot", tensordot),
    ("cdist", distances),
    (f"cosine_similarity {F}cosine_similarity", similarity),
    (f"{F}pairwise_distance pairwise_distance", pairwise),
    ("trace", product("ab")),
    (L + "vecdot", similarity),
    (f"{L}vector_norm", one(types=FLOAT, dim=axes, keepdim=flag)),
    (f"{L}norm", one(types=FLOAT, dim=axis, keepdim=flag)),
    (f"{L}inv {L}det {L}slogdet {L}cholesky {L}eigh {L}eigvalsh {L}eig {L}eigvals", square()),
    (f"{L}matrix_power", square(2)),
    (f"{L}svd", matrix(full_matrices=flag)),
    (f"{L}svdvals {L}pinv", matrix()),
    (f"{L}qr", matrix(mode=lambda d, x: d.one(("reduced", "complete")))),
    (f"{L}multi_dot", multi_dot),
    (f"{L}solve", solve),
    (f"{L}solve_triangular", triangular),
    ("torch.reshape", reshape(spread=False)),
    ("torch.Tensor.reshape() torch.Tensor.view()", reshape(spread=True)),
    ("view_as reshape_as", as_other),
    ("flatten", flatten),
    ("unflatten", unflatten),
    ("torch.permute", permute(spread=False)),
    ("torch.Tensor.permute()", permute(spread=True)),
    ("transpose swapdims swapaxes", swapped),
    ("t .T .mT .mH tril triu tril_ triu_ fliplr flipud diag", one(0, 3, FLOAT)),
    ("movedim moveaxis", moved),
    ("unsqueeze", unsqueeze),
    ("squeeze", squeeze),
    ("torch.Tensor.expand()", expand(spread=True)),
    ("broadcast_to", expand(spread=False)),
    ("expand_as", expand_as),
    ("torch.tile", tiled(spread=False)),
    ("torch.Tensor.tile() torch.Tensor.repeat()", tiled(spread=True)),
    ("repeat_interleave", repeated),
    ("roll", rolled),
    ("torch.flip", flipped(spread=False)),
    ("torch.Tensor.flip()", flipped(spread=True)),
    ("rot90", rot90),
    ("diagonal", diagonal),
    ("torch.Tensor.unfold()", unfold),
    ("size", size),
    ("cat concat concatenate", cat),
    ("stack", stack),
    ("hstack vstack row_stack dstack column_stack", joined),
    ("chunk", chunk),
    ("split", split),
    ("tensor_split", tensor_split),
    ("unbind", one(0, 3, FLOAT, dim=axis)),
    ("gather", gather()),
    ("scatter scatter_add scatter_ scatter_add_", gather(source=True)),
    ("scatter_reduce scatter_reduce_", reduced_scatter),
    ("index_select", index_select),
    ("select", select),
    ("narrow", narrow),
    ("take_along_dim", along_dim),
    ("take", take),
    ("nonzero argwhere", one(types=FLOAT)),
    ("meshgrid", grid),
    ("atleast_1d atleast_2d", arrays),
    ("torch.Tensor[]", read),
    ("torch.Tensor[]=", assigned),
    ("zeros ones empty rand randn", sizes()),
    ("full", full),
    ("new_zeros new_ones new_empty", new_sizes),
    ("new_full", new_full),
    ("full_like", full_like),
    ("randint_like", full_like),
    ("randint", randint),
    ("multinomial", multinomial),
    ("arange", arange),
    ("linspace logspace", linspace),
    ("eye", eye),
    ("tensor as_tensor asarray", nested_wrong),
    ("new_tensor", new_tensor),
    ("from_numpy", from_numpy),
    ("randperm", randperm),
    (f"{F}one_hot", one_hot),
    (
        " ".join(
            f"{F}{name}"
            for name in [
                "relu",
                "relu6",
                "elu",
                "selu",
                "celu",
                "leaky_relu",
                "gelu",
                "silu",
                "mish",
                "hardswish",
                "hardsigmoid",
                "hardtanh",
                "softplus",
                "softsign",
                "tanhshrink",
                "sigmoid",
                "tanh",
                "logsigmoid",
                "softshrink",
                "hardshrink",
                "dropout",
                "alpha_dropout",
                "rrelu",
            ]
        )
        + " selu celu rrelu",
        one(types=FLOATS),
    ),
    (" ".join(f"{F}dropout{axes}d" for axes in (1, 2, 3)), one(3, 3, types=FLOATS)),
    (f"{F}threshold", threshold),
    (f"{F}softmax {F}log_softmax {F}softmin {F}gumbel_softmax", along()),
    (f"{F}normalize {F}glu", along()),
    (f"{F}mse_loss {F}l1_loss {F}smooth_l1_loss {F}huber_loss {F}kl_div", loss()),
    (f"{F}binary_cross_entropy {F}binary_cross_entropy_with_logits", loss(equal=True)),
    (f"{F}cross_entropy", classified(shares=True)),
    (f"{F}nll_loss", classified(shares=False)),
    (f"{F}linear", linear),
    (f"{F}embedding", embedding),
    (f"{F}layer_norm {F}rms_norm layer_norm", normalised),
    (f"{F}group_norm", in_groups),
    (f"{F}batch_norm", batch_norm),
    (f"{F}scaled_dot_product_attention", attention),
    *((f"{F}conv{n}d", convolved(n)) for n in (1, 2, 3)),
    *((f"{F}conv_transpose{n}d", convolved(n, turned=True)) for n in (1, 2, 3)),
    *((f"{F}max_pool{n}d", pooled(n, dilated=True)) for n in (1, 2, 3)),
    *((f"{F}avg_pool{n}d", pooled(n, dilated=False)) for n in (1, 2, 3)),
    *((f"{F}adaptive_avg_pool{n}d {F}adaptive_max_pool{n}d", adapted(n)) for n in (1, 2, 3)),
    ("torch.nn.GRU.forward()", recurrent),
    ("torch.nn.LSTM.forward()", cells),
    ("torch.nn.MultiheadAttention.forward()", multihead),
    (f"{F}pad", padded),
    (f"{F}interpolate", resized),
    (f"{F}pixel_shuffle", shuffled),
    (
        " ".join(f"torch.nn.init.{name}_" for name in ["uniform", "normal", "trunc_normal", "zeros", "ones"]),
        one(types=FLOAT),
    ),
    (
        " ".join(
            f"torch.nn.init.{name}_"
            for name in ["xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal", "orthogonal"]
        ),
        one(2, 3, types=FLOAT),
    ),
    ("torch.nn.init.constant_", lambda d: Case((d.any(types=FLOAT), 0.5))),
    ("+ - * / ** // % & | ^ << >>", operators),
    ("< <= > >= == !=", calls.comparisons),
    ("neg invert abs", one(types=("int64",))),
]
_BY_NAME = {name: call for names, call in _GENERATORS for name in names.split()}


def call_of(name: str) -> Call | None:
    """The generator of a row; a method has that of the function of its name."""
    short = re.sub(r"^torch\.(Tensor\.(?=\w+\(\)))?|\(\)$", "", name)
    sign = name.removeprefix("torch.Tensor")
    attribute = f".{name.removeprefix('torch.Tensor.')}" if re.fullmatch(r"torch\.Tensor\.\w+", name) else ""
    return (
        _BY_NAME.get(name)
        or _BY_NAME.get(sign)
        or _BY_NAME.get(attribute or short)
        or _BY_NAME.get(short.removesuffix("_"))
    )


def drawn(name: str, seed: int) -> Case:
    """One call."""
    d = Draw(f"{name} {seed}")
    call = call_of(name)
    assert call is not None, name
    return call(d)
