"""Lists, dicts, tuples, generators and records of annotated arrays, some changed; what jaxtyping checks of them holds."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypedDict, TypeVar

import numpy as np
from beartype import beartype
from jaxtyping import Float, jaxtyped

from typednn import Array1, Array2

P = ParamSpec("P")
R = TypeVar("R")
Points: TypeAlias = Float[Array2, "count 3"]

if not TYPE_CHECKING:

    def hidden(x: Points) -> Points:
        return x @ np.ones((3, 2))


@jaxtyped(typechecker=beartype)
def lengths(clouds: list[Float[Array2, "_ 3"]], rows: tuple[Float[Array1, " _"], ...]) -> list[int]:
    """Each cloud has a number of points of its own."""
    first: Array2 = clouds[0] - clouds[-1].mean(axis=0, keepdims=True)
    return [len(first), *map(len, clouds), *map(len, rows)]


def scattered(clouds: list[Float[Array2, "count 3"]]) -> int:
    return sum(len(cloud) for cloud in clouds)


@jaxtyped(typechecker=beartype)
def joined(clouds: Sequence[Points], by_name: dict[str, Float[Array2, "_ 3"]]) -> Float[Array2, "all 3"]:
    parts: list[Array2] = [*clouds, *by_name.values()]
    return np.concatenate(parts)


@jaxtyped(typechecker=beartype)
def pair(x: Float[Array2, "n m"], ends: tuple[Float[Array1, " n"], Float[Array1, " m"]]) -> Float[Array2, "n m"]:
    y: Array2 = x * ends[0][:, None] + ends[1]
    return y


def transpose(parts: list[Array2], by_name: dict[str, Array2]) -> None:
    parts[:] = [part.T for part in parts]
    by_name["last"] = by_name["last"].T


def changed(parts: list[Float[Array2, "_ 4"]], by_name: dict[str, Float[Array2, "_ 4"]]) -> Array2:
    """What a function may change is not what it was."""
    transpose(parts, by_name)
    product: Array2 = parts[0] @ np.ones((2, 3)) + by_name["last"] @ np.ones((2, 3))
    return product


def grown(parts: list[Float[Array2, "_ 4"]]) -> int:
    parts.append(np.ones((2, 5)))
    last: Array2 = parts[-1] @ np.ones((5, 3))
    return last.size


def within(parts: list[Float[Array2, "_ 4"]]) -> Array2:
    def turn() -> None:
        parts[0] = parts[0].T

    turn()
    product: Array2 = parts[0] @ np.ones((2, 3))
    return product


@jaxtyped(typechecker=beartype)
def batches(x: Float[Array2, "count 3"], size: int) -> Iterator[Float[Array2, "batch 3"]]:
    for start in range(0, len(x), size):
        yield x[start : start + size]


@jaxtyped(typechecker=beartype)
def means(several: Iterable[Float[Array2, "batch 3"]]) -> list[Array1]:
    return [each.mean(axis=0) for each in several]


@contextmanager
def quiet(x: Float[Array2, "count 3"]) -> Iterator[Float[Array2, "count 3"]]:
    try:
        yield x
    except ValueError:
        print("on purpose")


@dataclass
class Cloud:
    points: Float[Array2, "count 3"]
    parts: list[Float[Array2, "count 3"]]


class Named(TypedDict, total=False):
    points: Float[Array2, "count 3"]


@jaxtyped(typechecker=beartype)
def recorded(x: Float[Array2, "count 3"], y: Float[Array2, "other 3"], cloud: Cloud, named: Named) -> Array2:
    """The names in a class are its own."""
    total: Array2 = x + cloud.points + named["points"]
    cloud.parts[0] = y.T
    product: Array2 = cloud.parts[0] @ y
    named["points"] = y[:, :2]
    assert named["points"].shape[1] == 2
    return total @ product


def logged(function: Callable[P, R]) -> Callable[P, R]:
    @wraps(function)
    def inner(*args: P.args, **kwargs: P.kwargs) -> R:
        result = function(*args, **kwargs)
        return result

    return inner


def transposed(function: Callable[P, R]) -> Callable[P, R]:
    def inner(*args: Any, **kwargs: Any) -> Any:
        result: Any = function(*args, **kwargs)
        return result.T

    return inner


@logged
def doubled(x: Points) -> Points:
    return 2 * x


@transposed
def turned(x: Points) -> Points:
    return x


@jaxtyped(typechecker=beartype)
def leading(x: Float[Array2, "n m"], y: Float[Array2, "n 3"]) -> Float[Array2, "n _"]:
    """A slice of one column broadcasts."""
    return y + x[:, :2]


@jaxtyped(typechecker=beartype)
def further(x: Float[Array2, "n m"]) -> Float[Array2, "n _"]:
    """A slice from an end on may have no column; what the body compares may be equal."""
    if (two := x[:, :2]).shape[1] == 3:
        return two @ np.ones((3, 3))
    return np.concatenate([x, x[:, 4:6]], axis=1)


@jaxtyped(typechecker=beartype)
def stretched(x: Float[np.ndarray, "*#b d"], y: Float[np.ndarray, "*#b d"], z: Float[Array1, "d+1"]) -> int:
    return x.size + y.size + z.size


if __name__ == "__main__":
    one, two, four = np.ones((1, 3)), np.ones((2, 3)), np.ones((2, 4))
    print(lengths([one, two], (np.ones(2), np.ones(5))), joined((two, two), {"a": two}).shape)
    print(scattered([one, two]))
    print(pair(two, (np.ones(2), np.ones(3))).shape, changed([four], {"last": four}).shape)
    print(grown([four]), within([four]).shape, len(means(batches(np.ones((5, 3)), 2))))
    with quiet(two) as x:
        print(x @ np.ones((2, 2)))
    print(recorded(two, one, Cloud(two, [two]), {"points": two}).shape)
    print((doubled(two) @ np.ones((3, 2))).shape, (turned(two) @ np.ones((2, 2))).shape)
    print(
        leading(np.ones((2, 1)), two).shape,
        further(two).shape,
        stretched(np.ones((2, 1, 4)), np.ones((5, 4)), np.ones(5)),
    )
