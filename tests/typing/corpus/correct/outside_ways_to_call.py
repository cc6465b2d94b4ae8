"""Calls of annotated functions other than by name and position, and results that are no arrays yet."""

import asyncio
import operator
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np
from jaxtyping import Float, Int


def added(x: Float[np.ndarray, "2 3"], by: Float[np.ndarray, " 3"] | float = 0.0) -> Float[np.ndarray, "2 3"]:
    y: np.ndarray = x + by
    return y


def turned(by: Float[np.ndarray, " 3"], x: Float[np.ndarray, "2 3"]) -> Float[np.ndarray, "3 2"]:
    return added(x, by).T


def several(*rows: Float[np.ndarray, " 3"], **named: Float[np.ndarray, "2 3"]) -> Float[np.ndarray, "_ 3"]:
    return np.concatenate([*(row[None] for row in rows), *named.values()])


def halves(x: Float[np.ndarray, "2 3"]) -> Iterator[Float[np.ndarray, "1 3"]]:
    yield x[:1]
    yield x[1:]


@contextmanager
def widened(x: Float[np.ndarray, "2 3"]) -> Iterator[Float[np.ndarray, "2 6"]]:
    yield np.concatenate([x, x], axis=1)


async def read(x: Float[np.ndarray, "2 3"]) -> Float[np.ndarray, "2 3"]:
    await asyncio.sleep(0)
    return x


async def each(x: Float[np.ndarray, "2 3"]) -> AsyncIterator[Float[np.ndarray, " 3"]]:
    for row in x:
        yield row


class Points:
    """Its own operators read arrays; its properties give them; one is computed once."""

    def __init__(self, x: Float[np.ndarray, "2 3"]) -> None:
        self.x = x

    def __add__(self, by: Float[np.ndarray, " 3"]) -> "Points":
        return Points(added(self.x, by))

    def __matmul__(self, y: Float[np.ndarray, "3 4"]) -> Float[np.ndarray, "2 4"]:
        product: np.ndarray = self.x @ y
        return product

    def __getitem__(self, i: Int[np.ndarray, " k"]) -> Float[np.ndarray, "k 3"]:
        chosen: np.ndarray = self.x[i]
        return chosen

    def __call__(self, x: Float[np.ndarray, " 3"]) -> Float[np.ndarray, " 2"]:
        product: np.ndarray = self.x @ x
        return product

    @property
    def T(self) -> Float[np.ndarray, "3 2"]:  # noqa: N802
        return self.x.T

    @cached_property
    def centre(self) -> Float[np.ndarray, " 3"]:
        middle: np.ndarray = self.x.mean(axis=0)
        return middle

    @classmethod
    def of(cls, x: Float[np.ndarray, "3 2"]) -> "Points":
        return cls(x.T)


class Doubled(Points):
    def __init__(self, x: Float[np.ndarray, "1 3"]) -> None:
        super().__init__(np.concatenate([x, x]))


async def asynchronous(x: Float[np.ndarray, "2 3"]) -> list[Any]:
    waiting = read(x)
    return [await waiting, *[row async for row in each(x)]]


def called(x: Float[np.ndarray, "2 3"]) -> Float[np.ndarray, "2 3"]:
    row = x[0]
    arguments = {"by": row, "x": x}
    added(by=row, x=x)
    added(*(x, row))
    added(turned(**arguments).T)
    turned(x=x, by=row)
    partial(turned, row)(x)
    reduce(added, [row, row], x)
    operator.matmul(Points(x), x.T @ several(row, row, row, row).T[:2])
    more = {"a": x, "b": x}
    several(row, *x, **more)
    first, second = halves(x)
    with widened(x) as wide:
        added(wide[:, 3:])
    points = Points(x) + row
    points = Points.of(points.T) + points.centre
    points(points.centre)
    points(points[np.array([0, 1, 0])][0])
    added(Doubled(first + second).x)
    y: np.ndarray = [added, lambda z, by: z][len(x) % 2](x, row)
    return added(y if x is y else points.x)


if __name__ == "__main__":
    x = np.ones((2, 3), np.float32)
    print(called(x).shape, Doubled(x[:1]).x.shape, len(asyncio.run(asynchronous(x))))
