"""Random bodies of functions: up to 20 operations of NumPy on arrays of known axes, right ones and ones with one thing
changed.

    python -m tests.typing.random_bodies --programs 20000

Each function is read by mypy with the plugin, and run with sizes that are distinct primes, twice. It is right if it
runs and returns what its annotation promises, both times. What must hold: the plugin reports no right function, and of
those that raise or return another shape at least 95 % are reported, by the plugin or by mypy, which counts the names
that a shape is unpacked into. Where NumPy's stubs mislead mypy in that, the plugin is not to blame. Whether a change
makes a function wrong is for NumPy to say, not for this file.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from typednn.shapes import Dim, evaluate

ROOT = Path(__file__).parent.parent.parent
NAMES = ("a", "b", "c", "d", "e")
PRIMES = ({"a": 5, "b": 7, "c": 11, "d": 13, "e": 17}, {"a": 19, "b": 13, "c": 7, "d": 5, "e": 11})
LITERALS = (2, 3, 4, 6, 8, 12)
MOST = 300_000  # elements of one array
AT_ONCE = 500  # functions in one file
LEAST_FOUND = 0.95
VALUES = "an element of an index"  # is out of bounds: nothing about shapes, such a function counts neither way
HEAD = "import numpy as np\nfrom jaxtyping import Float\n\nfrom typednn import Array1, Array2, Array3, Array4\n"

Shape = tuple[Dim, ...]


@dataclass(frozen=True)
class Choice:
    """A place in the text that can be changed."""

    what: str
    right: str
    wrong: tuple[str, ...]


Text = list["str | Choice"]


@dataclass
class Function:
    """The text of one function, and what becomes of it."""

    parameters: dict[str, Shape]
    lines: list[Text]
    changed: Choice | None = None
    operation: str = ""  # that was changed
    wrong: str = field(default="", compare=False)  # how it fails when it runs
    reported: str = field(default="", compare=False)

    def text(self, name: str) -> str:
        """The function as Python, under a name."""
        given = ", ".join(
            f'{each}: Float[Array{len(shape)}, "{written(shape)}"]' for each, shape in self.parameters.items()
        )
        *body, promise = [
            "".join(part if isinstance(part, str) else part.right for part in line) for line in self.lines
        ]
        rank = len(promise.split())
        result = f'"{" " * (rank == 1)}{promise}"'
        return f"def {name}({given}) -> Float[Array{rank}, {result}]:\n" + "".join(f"    {line}\n" for line in body)

    @property
    def promise(self) -> list[str]:
        return "".join(part if isinstance(part, str) else part.right for part in self.lines[-1]).split()


def written(shape: Shape) -> str:
    """The axes of an annotation."""
    text = " ".join(map(str, shape))
    return f" {text}" if len(shape) == 1 else text


def size_in(dim: Dim, sizes: dict[str, int]) -> int:
    """A size for certain sizes of the names."""
    value = dim.substitute({name: Dim.of(size) for name, size in sizes.items()}).value
    assert value is not None
    return value


class NotNow(Exception):
    """An operation that does not suit the arrays at hand."""


class Maker:
    """Draws one function that is right."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.parameters: dict[str, Shape] = {}
        self.arrays: dict[str, Shape] = {}  # of floats
        self.lines: list[Text] = []
        self.operations: list[str] = []
        self.count = 0
        for _ in range(self.random.randint(1, 2)):
            self.parameter(tuple(self.size() for _ in range(self.random.randint(1, 3))))

    # ------------------------------------------------------------ pieces

    def one(self, choices: Sequence[Any]) -> Any:
        if not choices:
            raise NotNow
        return self.random.choice(choices)

    def chance(self, part: float) -> bool:
        return self.random.random() < part

    def size(self) -> Dim:
        return Dim.of(self.one(LITERALS)) if self.chance(0.3) else Dim.named(self.one(NAMES))

    def parameter(self, shape: Shape) -> str:
        """A further argument."""
        if not 1 <= len(shape) <= 4 or len(self.parameters) >= 6 or not all(str(size).isalnum() for size in shape):
            raise NotNow
        name = f"x{len(self.parameters)}"
        self.parameters[name] = self.arrays[name] = shape
        return name

    def array(self, low: int = 1, high: int = 4) -> str:
        """An array at hand; the latest ones are likelier."""
        found = [name for name, shape in self.arrays.items() if low <= len(shape) <= high]
        return self.one(found[-3:] if self.chance(0.6) else found)

    def of(self, shape: Shape) -> str:
        """An array of this shape."""
        found = [name for name, each in self.arrays.items() if each == shape]
        if found and self.chance(0.6):
            return self.one(found)
        return self.parameter(shape) if self.chance(0.7) or not found else self.one(found)

    def made(self, text: Text, shape: Shape) -> str:
        """``y3 = text``."""
        name = f"y{self.count}"
        if len(shape) > 4 or any(np.prod([float(size_in(each, sizes)) for each in shape]) > MOST for sizes in PRIMES):
            raise NotNow
        self.count += 1
        self.lines.append([f"{name} = ", *text])
        self.arrays[name] = shape
        return name

    def line(self, *text: "str | Choice") -> None:
        self.lines.append(list(text))

    def axis(self, rank: int, axis: int) -> Choice:
        """An axis, in either way of counting."""
        right = axis - rank if self.chance(0.3) else axis
        return Choice(
            "axis",
            str(right),
            tuple(str(each) for each in range(-rank - 1, rank + 1) if each % rank != axis or each in (-rank - 1, rank)),
        )

    def written_size(self, dim: Dim, sources: Sequence[str]) -> str:
        """A size in an expression: a number, or an axis of an array that has it."""
        if dim.value is not None:
            return str(dim.value)
        found = [
            f"{name}.shape[{place}]" for name in sources for place, size in enumerate(self.arrays[name]) if size == dim
        ]
        if not found:
            raise NotNow
        return str(self.one(found))

    def sized(self, dim: Dim, sources: Sequence[str]) -> Choice:
        """A size in an expression, that may be another one."""
        right = self.written_size(dim, sources)
        others = [
            f"{name}.shape[{place}]" for name in sources for place, size in enumerate(self.arrays[name]) if size != dim
        ]
        return Choice("size", right, tuple({*others, f"{right} + 1", f"2 * {right}"}))

    # ------------------------------------------------------------ operations

    def unary(self) -> None:
        x = self.array()
        function = self.one(
            (
                "np.exp({})",
                "np.tanh({})",
                "-{}",
                "{} * 2.0",
                "np.abs({})",
                "1.0 / (1.0 + {} ** 2)",
                "np.clip({}, 0.0, 1.0)",
            )
        )
        self.made([function.format(x)], self.arrays[x])

    def binary(self) -> None:
        x = self.array()
        shape = self.arrays[x]
        other = shape if self.chance(0.4) else shape[self.random.randrange(len(shape)) :]
        y = self.of(other)
        wrong = tuple(name for name, each in self.arrays.items() if each not in (other, shape))
        op = self.one((" + ", " - ", " * ", " / "))
        self.made([x, op, Choice("operand", y, wrong)], shape)

    def centred(self) -> None:
        """``x - x.mean(axis=1, keepdims=True)``."""
        x = self.array()
        rank = len(self.arrays[x])
        axis = self.random.randrange(rank)
        keeps = Choice("keepdims", ", keepdims=True", ("",))
        kind, op = self.one(("mean", "max", "sum", "std", "min")), self.one((" - ", " / "))
        self.made(
            [x, op, f"{x}.{kind}(axis=", self.axis(rank, axis) if self.chance(0.2) else str(axis), keeps, ")"],
            self.arrays[x],
        )

    def reduction(self) -> None:
        x = self.array(2)
        shape = self.arrays[x]
        axis = self.random.randrange(len(shape))
        keeps = self.chance(0.3)
        kind = self.one(("sum", "mean", "max", "min", "var", "prod"))
        form = [f"np.{kind}({x}, axis="] if self.chance(0.5) else [f"{x}.{kind}(axis="]
        flag = Choice("keepdims", ", keepdims=True" if keeps else "", ("" if keeps else ", keepdims=True",))
        after = (*shape[:axis], *((Dim.of(1),) if keeps else ()), *shape[axis + 1 :])
        self.made([*form, self.axis(len(shape), axis), flag, ")"], after)

    def over_two(self) -> None:
        x = self.array(3)
        shape = self.arrays[x]
        axes = sorted(self.random.sample(range(len(shape)), 2))
        others = tuple(str((i, j)) for i in range(len(shape)) for j in range(i) if sorted((i, j)) != axes)
        self.made(
            [f"{x}.sum(axis=", Choice("axis", str(tuple(axes)), others), ")"],
            tuple(s for i, s in enumerate(shape) if i not in axes),
        )

    def product(self) -> None:
        x = self.array(2, 4)
        *before, inner = self.arrays[x]
        result = self.size()
        if self.chance(0.3):
            w = self.of((result, inner))
            right, wrong = f"{x} @ {w}.T", (f"{x} @ {w}", f"{w} @ {x}.T")
        else:
            w = self.of((inner, result))
            right, wrong = f"{x} @ {w}", (f"{w} @ {x}", f"{x} @ {w}.T", f"{x}.T @ {w}")
        if self.chance(0.2):
            right, wrong = right.replace(" @ ", ", "), tuple(each.replace(" @ ", ", ") for each in wrong)
            self.made(["np.matmul(", Choice("order", right, wrong), ")"], (*before, result))
        else:
            self.made([Choice("order", right, wrong)], (*before, result))

    def gram(self) -> None:
        x = self.array(2, 2)
        _, k = self.arrays[x]
        self.made([Choice("order", f"{x}.T @ {x}", (f"{x} @ {x}.T", f"{x} @ {x}"))], (k, k))

    def einsum(self) -> None:
        x = self.array(1, 3)
        shape = self.arrays[x]
        letters = "ijkl"[: len(shape)]
        summed = self.one(range(len(shape)))
        further = self.size()
        w = self.of((shape[summed], further) if self.chance(0.6) else (further, shape[summed]))
        second = "".join(
            letters[summed] if size == shape[summed] and place == self.arrays[w].index(shape[summed]) else "m"
            for place, size in enumerate(self.arrays[w])
        )
        sizes = {**dict(zip(letters, shape, strict=True)), "m": further}
        output = [letter for letter in letters if letter != letters[summed]] + ["m"]
        self.random.shuffle(output)
        right = f"{letters},{second}->{''.join(output)}"
        turned = f"{letters},{second[::-1]}->{''.join(output)}"
        moved = f"{letters[1:]}{letters[0]},{second}->{''.join(output)}"
        back = f"{letters},{second}->{''.join(output[::-1])}"
        wrong = tuple(each for each in {turned, moved, back} if each != right)
        self.made(
            ['np.einsum("', Choice("letters", right, wrong), f'", {x}, {w})'], tuple(sizes[letter] for letter in output)
        )

    def einsum_dots(self) -> None:
        x = self.array(2, 4)
        *before, inner = self.arrays[x]
        result = self.size()
        w = self.of((inner, result))
        self.made(
            [
                'np.einsum("',
                Choice("letters", "...i,ij->...j", ("...i,ji->...j", "...i,ij->...i", "i...,ij->...j")),
                f'", {x}, {w})',
            ],
            (*before, result),
        )

    def tensordot(self) -> None:
        x = self.array(2, 3)
        shape = self.arrays[x]
        axis = self.random.randrange(len(shape))
        further = self.size()
        w = self.of((shape[axis], further))
        place = f"([{axis}], [0])"
        wrong = tuple(f"([{i}], [{j}])" for i in range(len(shape)) for j in (0, 1) if (i, j) != (axis, 0))
        self.made(
            [f"np.tensordot({x}, {w}, axes=", Choice("axes", place, wrong), ")"],
            (*shape[:axis], *shape[axis + 1 :], further),
        )

    def outer(self) -> None:
        x, y = self.array(1, 1), self.array(1, 1)
        (n,), (m,) = self.arrays[x], self.arrays[y]
        form, wrong = self.one(
            (
                (f"np.outer({x}, {y})", (f"np.outer({y}, {x})",)),
                (f"{x}[:, None] * {y}", (f"{x} * {y}", f"{x}[None] * {y}")),
                (f"np.add.outer({x}, {y})", (f"np.add.outer({y}, {x})",)),
            )
        )
        self.made([Choice("order", form, wrong)], (n, m))

    def merged(self) -> None:
        """Two axes become one."""
        x = self.array(2)
        shape = self.arrays[x]
        at = self.random.randrange(len(shape) - 1)
        wanted = (*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :])
        parts: Text = []
        open_place = at if self.chance(0.5) else -1
        for place, size in enumerate(wanted):
            if place == open_place:
                parts += ["-1"]
            elif place == at:
                parts += [f"{self.written_size(shape[at], [x])} * ", self.sized(shape[at + 1], [x])]
            else:
                parts.append(self.sized(size, [x]))
            parts.append(", ")
        text = [f"{x}.reshape(", *parts[:-1], ")"] if self.chance(0.5) else [f"np.reshape({x}, (", *parts, "))"]
        self.made(text, wanted)

    def divided(self) -> None:
        """One axis becomes two."""
        x = self.array(1, 3)
        shape = self.arrays[x]
        places = [
            (place, factor)
            for place, size in enumerate(shape)
            for factor in (2, 3, 4)
            if (size // factor) * factor == size
        ]
        at, factor = self.one(places)
        pair = (shape[at] // factor, Dim.of(factor))
        pair = pair if self.chance(0.5) else pair[::-1]
        wanted = (*shape[:at], *pair, *shape[at + 1 :])
        parts: Text = []
        for place, size in enumerate(wanted):
            if place in (at, at + 1):
                known = (
                    str(size.value) if size.value is not None else f"{self.written_size(shape[at], [x])} // {factor}"
                )
                parts.append(Choice("factor", known, (f"{known} + 1", str(factor + 1))))
            else:
                parts.append(self.sized(size, [x]))
            parts.append(", ")
        self.made([f"{x}.reshape(", *parts[:-1], ")"], wanted)

    def transposed(self) -> None:
        x = self.array(2)
        shape = self.arrays[x]
        rank = len(shape)
        order = self.random.sample(range(rank), rank)
        others = [self.random.sample(range(rank), rank) for _ in range(4)]
        wrong = (*(str(tuple(each)) for each in others if each != order), str((*order[:-1], rank)))
        form = self.one((f"np.transpose({x}, ", f"{x}.transpose("))
        self.made([form, Choice("permutation", str(tuple(order)), wrong), ")"], tuple(shape[place] for place in order))

    def swapped(self) -> None:
        x = self.array(2)
        shape = list(self.arrays[x])
        i, j = self.random.sample(range(len(shape)), 2)
        others = tuple(f"{a}, {b}" for a in range(len(shape)) for b in range(len(shape) + 1) if {a, b} != {i, j})
        if self.chance(0.5):
            shape[i], shape[j] = shape[j], shape[i]
            self.made([f"{x}.swapaxes(", Choice("axes", f"{i}, {j}", others), ")"], tuple(shape))
        else:
            shape.insert(j, shape.pop(i))
            self.made([f"np.moveaxis({x}, ", Choice("axes", f"{i}, {j}", others), ")"], tuple(shape))

    def turned(self) -> None:
        x = self.array(2)
        self.made([Choice("transpose", f"{x}.T", (x, f"{x}.T.T"))], self.arrays[x][::-1])

    def picked(self) -> None:
        """An integer, a slice, None."""
        x = self.array(1, 4)
        shape = self.arrays[x]
        at = self.random.randrange(len(shape))
        size = shape[at]
        kind = self.random.randrange(6)
        before = ":, " * at
        if kind == 0 and len(shape) > 1:
            number = self.one((0, 1, -1))
            after = (*shape[:at], *shape[at + 1 :])
            index, wrong = str(number), (f"{number}:", ":", "None")
        elif kind == 1:
            after, index, wrong = (*shape[:at], Dim.of(1), *shape[at:]), "None", (":", "0", "None, None")
        elif kind == 2:
            after, index, wrong = (
                (*shape[:at], size - 1, *shape[at + 1 :]),
                self.one(("1:", ":-1")),
                (":", "2:", "0:", ":-2"),
            )
        elif kind == 3 and size.value != 2:
            after, index, wrong = (
                (*shape[:at], Dim.of(2), *shape[at + 1 :]),
                self.one((":2", "0:2", "1:3")),
                (":3", "2:", "1:2"),
            )
        elif kind == 4 and size.value is not None and size.value % 2 == 0:
            after, index, wrong = (*shape[:at], size // 2, *shape[at + 1 :]), "::2", ("::3", ":", "1::3", "::4")
        elif kind == 5:
            after, index, wrong = shape, "::-1", ("::2", "1::1")
        else:
            raise NotNow
        if any(size_in(each, sizes) < 1 for each in after for sizes in PRIMES):
            raise NotNow
        self.made([f"{x}[{before}", Choice("index", index, wrong), "]"], after)

    def gathered(self) -> None:
        x = self.array(1, 3)
        shape = self.arrays[x]
        at = self.random.randrange(len(shape))
        index, wrong = "[0, 1, 1]", ("[0, 1]", "[0]", "[0, 1, 1, 0]")
        if self.chance(0.4):
            text: Text = [
                f"np.take({x}, ",
                Choice("index", index, wrong[::2]),
                ", axis=",
                self.axis(len(shape), at),
                ")",
            ]
        else:
            text = [f"{x}[{':, ' * at}", Choice("index", index, wrong), "]"]
        self.made(text, (*shape[:at], Dim.of(3), *shape[at + 1 :]))

    def joined(self) -> None:
        x = self.array(1, 3)
        shape = self.arrays[x]
        at = self.random.randrange(len(shape))
        other = (*shape[:at], self.size() if self.chance(0.5) else shape[at], *shape[at + 1 :])
        y = self.of(other)
        wrong = tuple(name for name, each in self.arrays.items() if each not in (other, shape))
        self.made(
            [f"np.concatenate([{x}, ", Choice("operand", y, wrong), "], axis=", self.axis(len(shape), at), ")"],
            (*shape[:at], shape[at] + other[at], *shape[at + 1 :]),
        )

    def stacked(self) -> None:
        x = self.array(1, 3)
        shape = self.arrays[x]
        y = self.of(shape)
        at = self.random.randrange(len(shape) + 1)
        wrong = tuple(name for name, each in self.arrays.items() if each != shape)
        self.made(
            [f"np.stack([{x}, ", Choice("operand", y, wrong), "], axis=", self.axis(len(shape) + 1, at), ")"],
            (*shape[:at], Dim.of(2), *shape[at:]),
        )

    def on_top(self) -> None:
        x = self.array(2, 2)
        n, m = self.arrays[x]
        k = self.size()
        if self.chance(0.5):
            self.made(
                [Choice("function", "np.vstack", ("np.hstack", "np.dstack")), f"([{x}, {self.of((k, m))}])"], (n + k, m)
            )
        else:
            self.made(
                [Choice("function", "np.hstack", ("np.vstack", "np.dstack")), f"([{x}, {self.of((n, k))}])"], (n, m + k)
            )

    def split(self) -> None:
        x = self.array(1, 3)
        shape = self.arrays[x]
        at, parts = self.one(
            [(place, parts) for place, size in enumerate(shape) for parts in (2, 3) if (size // parts) * parts == size]
        )
        names = [f"y{self.count + each}" for each in range(parts)]
        self.count += parts
        after = (*shape[:at], shape[at] // parts, *shape[at + 1 :])
        self.line(
            ", ".join(names),
            f" = np.split({x}, ",
            Choice("parts", str(parts), (str(parts + 1), str(parts - 1))),
            ", axis=",
            self.axis(len(shape), at),
            ")",
        )
        self.arrays |= dict.fromkeys(names, after)

    def chosen(self) -> None:
        x = self.array()
        shape = self.arrays[x]
        y = self.of(shape)
        wrong = tuple(name for name, each in self.arrays.items() if each != shape)
        self.made([f"np.where({x} > 0.0, ", Choice("operand", y, wrong), ", 0.0)"], shape)

    def in_place(self) -> None:
        x = self.array()
        shape = self.arrays[x]
        name = self.made([f"{x}.copy()"], shape)
        other = shape if self.chance(0.5) else shape[self.random.randrange(len(shape)) :]
        y = self.of(other)
        wrong = tuple(each for each, has in self.arrays.items() if has != other)
        self.line(name, self.one((" += ", " *= ", " -= ")), Choice("operand", y, wrong))

    def assigned(self) -> None:
        x = self.array(2, 3)
        shape = self.arrays[x]
        name = self.made([f"np.zeros_like({x})"], shape)
        y = self.of(shape[1:])
        wrong = tuple(each for each, has in self.arrays.items() if has != shape[1:])
        self.line(
            name, "[", Choice("index", self.one(("0", "-1")), ("0:1, 0", ":, 0")), "] = ", Choice("operand", y, wrong)
        )

    def out(self) -> None:
        x = self.array()
        shape = self.arrays[x]
        target = self.made([f"np.empty_like({x})"], shape)
        y = self.of(shape)
        wrong = tuple(each for each, has in self.arrays.items() if has != shape)
        self.line(f"np.add({x}, ", Choice("operand", y, wrong), ", out=", Choice("out", target, wrong), ")")

    def new(self) -> None:
        x = self.array()
        dims = list(self.arrays[x])
        self.random.shuffle(dims)
        shape = tuple(dims[: self.random.randint(1, len(dims))])
        parts: Text = []
        for size in shape:
            parts += [self.sized(size, [x]), ", "]
        function = self.one(("np.zeros((", "np.ones((", "np.full(("))
        self.made([function, *parts, "), 0.5)" if "full" in function else "))"], shape)

    def shaped(self) -> None:
        x = self.array()
        self.made(
            [Choice("size", f"np.zeros({x}.shape)", (f"np.zeros({x}.shape[:-1])", f"np.zeros({x}.shape[::-1])"))],
            self.arrays[x],
        )

    def repeated(self) -> None:
        x = self.array(1, 3)
        shape = self.arrays[x]
        at = self.random.randrange(len(shape))
        times = self.one((2, 3))
        text: Text = [
            f"np.repeat({x}, ",
            Choice("factor", str(times), (str(times + 1),)),
            ", axis=",
            self.axis(len(shape), at),
            ")",
        ]
        if at == len(shape) - 1 and self.chance(0.5):
            text = [f"np.tile({x}, ", Choice("factor", str(times), (str(times + 1), f"({times}, 1)")), ")"]
        self.made(text, (*shape[:at], shape[at] * times, *shape[at + 1 :]))

    def padded(self) -> None:
        x = self.array(1, 3)
        shape = self.arrays[x]
        at = self.random.randrange(len(shape))
        pairs = [(1, 2) if place == at else (0, 0) for place in range(len(shape))]
        wrong = (
            str(tuple(pairs[::-1])),
            str((*pairs, (0, 0))),
            str((1, 1)),
            str(tuple((1, 1) if pair == (1, 2) else pair for pair in pairs)),
        )
        self.made(
            [f"np.pad({x}, ", Choice("widths", str(tuple(pairs)), wrong), ")"],
            (*shape[:at], shape[at] + 3, *shape[at + 1 :]),
        )

    def raised(self) -> None:
        x = self.array(1, 3)
        shape = self.arrays[x]
        at = self.random.randrange(len(shape) + 1)
        name = self.made(
            [f"np.expand_dims({x}, ", self.axis(len(shape) + 1, at), ")"], (*shape[:at], Dim.of(1), *shape[at:])
        )
        if self.chance(0.5):
            self.made([f"np.squeeze({name}, axis=", self.axis(len(shape) + 1, at), ")"], shape)

    def stretched(self) -> None:
        x = self.array(1, 2)
        shape = self.arrays[x]
        y = self.array(2, 3)
        wanted = (*self.arrays[y][: -len(shape)], *shape) if self.arrays[y][-len(shape) :] == shape else None
        if wanted is None:
            raise NotNow
        self.made(
            [f"np.broadcast_to({x}, ", Choice("size", f"{y}.shape", (f"{y}.shape[::-1]", f"{y}.T.shape")), ")"], wanted
        )

    def ordered(self) -> None:
        x = self.array()
        shape = self.arrays[x]
        at = self.random.randrange(len(shape))
        kind = self.random.randrange(4)
        if kind == 0:
            self.made([f"np.cumsum({x}, axis=", self.axis(len(shape), at), ")"], shape)
        elif kind == 1:
            self.made([f"np.sort({x}, axis=", self.axis(len(shape), at), ")"], shape)
        elif kind == 2:
            self.made(
                [f"np.diff({x}, axis=", self.axis(len(shape), at), ")"], (*shape[:at], shape[at] - 1, *shape[at + 1 :])
            )
        else:
            self.made([f"np.flip({x}, axis=", self.axis(len(shape), at), ")"], shape)
        if any(size_in(each, sizes) < 1 for each in list(self.arrays.values())[-1] for sizes in PRIMES):
            raise NotNow

    def along(self) -> None:
        x = self.array(2, 3)
        shape = self.arrays[x]
        at = self.random.randrange(len(shape))
        self.made(
            [
                f"np.take_along_axis({x}, np.argmax({x}, axis=",
                self.axis(len(shape), at),
                f", keepdims=True), axis={at})",
            ],
            (*shape[:at], Dim.of(1), *shape[at + 1 :]),
        )

    def unpacked(self) -> None:
        """``n, m = x.shape``, and an array of these sizes."""
        x = self.array(2, 3)
        shape = self.arrays[x]
        names = [f"n{self.count}_{place}" for place in range(len(shape))]
        right, wrong = (
            f"{x}.shape",
            tuple(f"{name}.shape" for name, each in self.arrays.items() if len(each) != len(shape)),
        )
        self.line(", ".join(names), " = ", Choice("operand", right, wrong))
        order = self.random.sample(range(len(shape)), len(shape))
        given = ", ".join(names[place] for place in order)
        turned = ", ".join(names[place] for place in order[::-1])
        self.made(
            ["np.ones((", Choice("size", given, (turned, f"{given} + 1")), "))"], tuple(shape[place] for place in order)
        )

    def algebra(self) -> None:
        x = self.array(2, 2)
        n, m = self.arrays[x]
        square = self.made([Choice("order", f"{x} @ {x}.T", (f"{x}.T @ {x}", x))], (n, n))
        regular = self.made([f"{square} + np.eye(", self.sized(n, [x]), ")"], (n, n))
        if self.chance(0.5):
            self.made([f"np.linalg.inv({regular}) @ ", Choice("operand", x, (f"{x}.T",))], (n, m))
        else:
            self.made([f"np.linalg.solve({regular}, ", Choice("operand", x, (f"{x}.T",)), ")"], (n, m))

    def normed(self) -> None:
        x = self.array(2, 4)
        shape = self.arrays[x]
        at = self.random.randrange(len(shape))
        self.made([f"np.linalg.norm({x}, axis=", self.axis(len(shape), at), ")"], (*shape[:at], *shape[at + 1 :]))

    OPERATIONS = (
        *(
            "unary",
            "binary",
            "binary",
            "centred",
            "centred",
            "reduction",
            "reduction",
            "over_two",
            "product",
            "product",
            "product",
            "gram",
        ),
        *(
            "einsum",
            "einsum",
            "einsum_dots",
            "tensordot",
            "outer",
            "merged",
            "merged",
            "divided",
            "divided",
            "transposed",
            "transposed",
        ),
        *(
            "swapped",
            "turned",
            "picked",
            "picked",
            "picked",
            "gathered",
            "joined",
            "joined",
            "stacked",
            "on_top",
            "split",
            "chosen",
        ),
        *(
            "in_place",
            "assigned",
            "out",
            "new",
            "shaped",
            "repeated",
            "padded",
            "raised",
            "stretched",
            "ordered",
            "along",
            "unpacked",
        ),
        *("algebra", "normed"),
    )

    def grown(self, steps: int) -> Function:
        """The function after some operations."""
        while len(self.lines) < steps:
            before = dict(self.arrays), dict(self.parameters), len(self.lines), self.count
            name = self.one(self.OPERATIONS)
            try:
                getattr(self, name)()
            except NotNow:
                self.arrays, self.parameters = before[0], before[1]
                del self.lines[before[2] :]
                self.count = before[3]
                continue
            self.operations += [name] * (len(self.lines) - len(self.operations))
        result = list(self.arrays)[-1]
        shape = self.arrays[result]
        if not shape:
            result = next(name for name, each in reversed(self.arrays.items()) if each)
            shape = self.arrays[result]
        self.line("return ", result)
        promise: Text = []
        for place, size in enumerate(shape):
            others = {str(each) for each in shape if each != size} | {f"{size}+1"}
            promise += [Choice("promise", str(size), tuple(sorted(others))), " "] if place < 4 else []
        self.lines.append(promise[:-1])
        self.operations += ["return", "return"]
        return Function(self.parameters, self.lines)


def drawn(seed: int) -> Function:
    """A function; two of three have one thing changed."""
    random = Random(f"{seed} changed")
    maker = Maker(seed)
    function = maker.grown(random.randint(1, 20))
    places = [
        (i, j)
        for i, line in enumerate(function.lines)
        for j, part in enumerate(line)
        if isinstance(part, Choice) and part.wrong
    ]
    if not places or random.random() < 1 / 3:
        return function
    i, j = random.choice(places)
    choice = function.lines[i][j]
    assert isinstance(choice, Choice)
    changed = Choice(choice.what, random.choice(choice.wrong), ())
    lines = [list(line) for line in function.lines]
    lines[i][j] = changed
    return Function(function.parameters, lines, choice, maker.operations[i])


# ---------------------------------------------------------------------------------------------------- run


def failure(function: Function) -> str:
    """How it fails for one of the two assignments of primes; empty where it is right."""
    space: dict[str, Any] = {"np": np}
    text = re.sub(r"Float\[[^\]]*\]", "object", function.text("f"))
    exec(compile(text, "<function>", "exec"), space)
    for sizes in PRIMES:
        random = np.random.default_rng(0)
        arguments = [
            random.standard_normal([size_in(each, sizes) for each in shape]) for shape in function.parameters.values()
        ]
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                result = space["f"](*arguments)
        except IndexError as error:  # an AxisError is one, too
            return f"{VALUES if 'out of bounds for axis' in str(error) else 'IndexError'}: {error}"
        except (ValueError, TypeError, ZeroDivisionError) as error:
            return f"{type(error).__name__}: {error}"
        known = {name: Dim.of(size) for name, size in sizes.items()}
        promised = tuple(
            size_in(promise, sizes) if (promise := evaluate(word, known.get)) is not None else -1
            for word in function.promise
        )
        if result.shape != promised:
            return f"returns {result.shape}, promises {promised}"
    return ""


# ---------------------------------------------------------------------------------------------------- read by mypy


def read(functions: Sequence[Function], folder: Path) -> None:
    """Writes one file of all functions, and notes what mypy with the plugin reports of each."""
    (folder / "mypy.ini").write_text("[mypy]\nplugins = typednn.mypy_plugin\n")
    lines, owner = HEAD.count("\n"), dict[int, Function]()
    text = [HEAD]
    for number, function in enumerate(functions):
        body = "\n\n" + function.text(f"f{number}")
        owner |= dict.fromkeys(range(lines + 1, lines + 1 + body.count("\n")), function)
        lines += body.count("\n")
        text.append(body)
    (folder / "bodies.py").write_text("".join(text))
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--cache-dir", "cache", "bodies.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout[-2000:] + done.stderr[-2000:]
    for match in re.finditer(
        r"^bodies\.py:(\d+): error: (.*(?:  \[shape\]|values to unpack.*))$", done.stdout, re.MULTILINE
    ):
        owner[int(match[1])].reported += match[2] + "\n"


@dataclass
class Count:
    """What came out."""

    right: int = 0
    wrong: int = 0
    false_alarms: list[Function] = field(default_factory=list)
    missed: list[Function] = field(default_factory=list)

    @property
    def found(self) -> float:
        return 1 - len(self.missed) / max(1, self.wrong)

    def __str__(self) -> str:
        return (
            f"{self.right:,} right functions, {len(self.false_alarms)} reported; "
            f"{self.wrong:,} wrong ones, {self.wrong - len(self.missed):,} reported ({self.found:.1%})"
        )


def judged(
    seeds: Sequence[int],
    progress: Callable[[str], None] = lambda _: None,
    draw: Callable[[int], Function] | None = None,
) -> Count:
    """The functions of some seeds, by mypy and by running them; ``draw`` makes another kind of functions."""
    count = Count()
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, len(seeds), AT_ONCE):
            functions = [(draw or drawn)(seed) for seed in seeds[first : first + AT_ONCE]]
            read(functions, Path(folder))
            for function in functions:
                function.wrong = failure(function)
                if function.wrong.startswith(VALUES):
                    continue
                count.wrong += bool(function.wrong)
                count.right += not function.wrong
                if function.wrong and not function.reported:
                    count.missed.append(function)
                if "[shape]" in function.reported and not function.wrong:
                    count.false_alarms.append(function)
            progress(str(count))
    return count


def shown(function: Function) -> str:
    """One function with its verdicts."""
    change = (
        f"{function.operation}: {function.changed.what} was {function.changed.right!r}\n" if function.changed else ""
    )
    return (
        f"{function.text('f')}{change}run: {function.wrong or 'right'}\nplugin: "
        f"{function.reported.strip() or 'nothing'}\n"
    )


def main() -> None:
    """The numbers, and some of what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--show", type=int, default=5, help="how many of those that went wrong")
    arguments = parser.parse_args()
    count = judged(range(arguments.first, arguments.first + arguments.programs), lambda text: print(text, flush=True))
    for function in count.false_alarms[: arguments.show]:
        print(f"\n-- false alarm\n{shown(function)}")
    for function in count.missed[: arguments.show]:
        print(f"\n-- missed\n{shown(function)}")
    for (operation, what), number in Counter(
        (each.operation, each.changed.what if each.changed else "") for each in count.missed
    ).most_common():
        print(f"{number:6} missed: {operation}, {what}")
    sys.exit(bool(count.false_alarms) or count.found < LEAST_FOUND)


if __name__ == "__main__":
    main()
