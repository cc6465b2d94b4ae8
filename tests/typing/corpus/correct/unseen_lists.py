"""Lists and dicts that are filled where a reader of the line does not see it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2


@dataclass
class Recorder:
    rows: list[Array1] = field(default_factory=list)

    def add(self, row: Float[Array1, " 3"]) -> None:
        self.rows.append(row)

    def table(self) -> Float[Array2, "count 3"]:
        return np.stack(self.rows)


def by_a_method(x: Float[Array2, "count 3"]) -> Float[Array2, "count 3"]:
    recorder = Recorder()
    for row in x:
        recorder.add(row)
    return np.stack(recorder.rows)


def in_a_list(x: Float[Array2, "4 3"]) -> Float[Array2, "2 3"]:
    halves: list[list[Array1]] = [[], []]
    for place, row in enumerate(x):
        halves[place % 2].append(row)
    return np.stack(halves[0])


def in_a_dict(x: Float[Array2, "4 3"]) -> Float[Array2, "2 3"]:
    rows = {"first": [x[0]], "last": [x[3]]}
    rows["first"].append(x[1])
    return np.stack(rows["first"])


def by_each_of_a_dict(x: Float[Array2, "4 3"]) -> Float[Array2, "2 3"]:
    rows = {"first": [x[0]], "last": [x[3]]}
    for each in rows.values():
        each.append(x[1])
    return np.stack(rows["first"])


def by_an_item(x: Float[Array2, "4 3"]) -> Float[Array2, "2 3"]:
    rows = {"first": [x[0]]}
    first = rows["first"]
    first.append(x[1])
    return np.stack(rows["first"])


def by_a_comprehension(x: Float[Array2, "4 3"]) -> Float[Array2, "5 3"]:
    rows = [x[0]]
    any(rows.append(row) for row in x)  # type: ignore[func-returns-value]
    return np.stack(rows)


def by_a_closure(x: Float[Array2, "4 3"]) -> Float[Array2, "5 3"]:
    rows = [x[0]]

    def add(row: Array1) -> None:
        rows.append(row)

    for each in x:
        add(each)
    return np.stack(rows)


def called(function: Callable[[], object]) -> None:
    function()


def by_a_callback(x: Float[Array2, "4 3"]) -> Float[Array2, "2 3"]:
    rows = [x[0]]
    called(lambda: rows.append(x[1]))
    return np.stack(rows)


def by_a_default(x: Float[Array2, "4 3"]) -> Float[Array2, "2 3"]:
    rows = [x[0]]

    def add(row: Array1, to: list[Array1] = rows) -> None:
        to.append(row)

    add(x[1])
    return np.stack(rows)


def in_a_closure(x: Float[Array2, "4 3"]) -> Float[Array2, "3 4"]:
    state = {"x": x}

    def turn() -> None:
        state["x"] = state["x"].T

    turn()
    return state["x"]


def at_two_depths(x: Float[Array2, "4 3"]) -> Float[Array2, "3 4"]:
    tree = {"left": {"right": x}}
    tree["left"]["right"] = x.T
    return tree["left"]["right"]


def by_a_copy(x: Float[Array2, "4 3"]) -> Float[Array2, "2 3"]:
    rows = [[x[0]]]
    copied = list(rows)
    copied[0].append(x[1])
    return np.stack(rows[0])


def shortened(x: Float[Array2, "4 3"]) -> Float[Array1, " 1"]:
    rows = [x[0], x[1]]
    del rows[0]
    return np.zeros(len(rows))


@dataclass
class State:
    x: Any


def transpose(state: State) -> None:
    state.x = state.x.T


def by_a_function(x: Float[Array2, "4 3"]) -> Float[Array2, "3 4"]:
    state = State(x)
    transpose(state)
    return np.asarray(state.x)


def by_another_name(x: Float[Array2, "4 3"]) -> Float[Array2, "2 3"]:
    state = State([x[0]])
    same = state
    same.x.append(x[1])
    return np.stack(state.x)


if __name__ == "__main__":
    x = np.ones((4, 3))
    recorder = Recorder()
    recorder.add(x[0])
    print(recorder.table().shape, by_a_method(x).shape, in_a_list(x).shape, in_a_dict(x).shape)
    print(by_each_of_a_dict(x).shape, by_an_item(x).shape, by_a_comprehension(x).shape, by_a_closure(x).shape)
    print(by_a_callback(x).shape, by_a_default(x).shape, in_a_closure(x).shape, at_two_depths(x).shape)
    print(by_a_copy(x).shape, shortened(x).shape, by_a_function(x).shape, by_another_name(x).shape)
