"""Random functions of NumPy's operations on annotated arrays: what the mypy plugin says of them, against running them.

    python -m tests.typing.random_bodies --programs 20000

A function is right, or has one thing changed: an axis, a factor, a bound, letters, operands, or one axis of its promise.
The truth: each function runs with several sets of sizes for its axis names, all distinct primes. It is right if it runs and returns
exactly the promised shape each time. It is wrong if it does so no time, not even with even sizes. The rest is open: what
happens depends on the sizes or on the numbers in an array.
"""

import argparse
import itertools
import json
import math
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import tokenize
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

Environment: TypeAlias = "dict[str, Any]"
Sizes: TypeAlias = "tuple[int, ...]"  # one for each draw

NAMES = ("a", "b", "c", "d")
LITERALS = (2, 3, 5, 7)
# What the four names stand for, by draw. The first are small: programs are made with all of them.
DRAWS = ((11, 13, 17, 19), (19, 11, 13, 17), (17, 23, 11, 13), (13, 17, 29, 11))
EVEN = ((18, 30, 42, 66), (66, 18, 30, 42))  # a program that works with these is not wrong for all sizes
MOST_NUMBERS, MOST_AXES, MOST_LOOPS = 10_000, 5, 1_000_000
AT_ONCE = 500  # programs in one file
LEAST_FOUND = 0.85  # of the wrong ones
IMPORTS = "import numpy as np\nfrom jaxtyping import Float\n\nfrom typednn import Array1, Array2, Array3, Array4\n"


@dataclass(frozen=True)
class Program:
    """A function: arrays by name with the axes of their annotations, statements, and what it returns."""

    seed: int
    inputs: tuple[tuple[str, tuple[str, ...]], ...]
    statements: tuple[str, ...]
    result: str
    promise: tuple[str, ...]
    change: str = ""

    def text(self, name: str = "f") -> str:
        given = ", ".join(f"{each}: {annotation(axes)}" for each, axes in self.inputs)
        lines = [f"def {name}({given}) -> {annotation(self.promise)}:", *self.statements, f"return {self.result}"]
        return "\n    ".join(lines) + "\n"


def annotation(axes: Sequence[str]) -> str:
    return f'Float[Array{len(axes)}, "{" ".join(axes)}"]'


# ---------------------------------------------------------------------------------------------------- sizes as text


@cache
def expressions() -> dict[Sizes, str]:
    """The simplest expression for each tuple of sizes."""
    found: dict[Sizes, str] = {}
    values = {name: tuple(draw[place] for draw in DRAWS) for place, name in enumerate(NAMES)}

    def add(text: str, *bound: str) -> None:
        sizes = tuple(eval(text, {}, {name: values[name][draw] for name in NAMES}) for draw in range(len(DRAWS)))
        if min(sizes) > 0:
            found.setdefault(sizes, text)

    def shifted(text: str) -> None:
        for shift in range(1, 10):
            add(f"{text}+{shift}")
            add(f"{text}-{shift}")

    for number in range(200):
        found[(number,) * len(DRAWS)] = str(number)
    factors = [f"{factor}*" if factor > 1 else "" for factor in range(1, 13)]
    for number in range(1, 4):
        for names in itertools.combinations_with_replacement(NAMES, number):
            for factor in factors:
                add(factor + "*".join(names))
    for factor, name in itertools.product(factors, NAMES):
        shifted(factor + name)
    for one, other in itertools.combinations_with_replacement(NAMES, 2):
        for first, second in itertools.product(factors[:4], factors[:4]):
            add(f"{first}{one}+{second}{other}")
            shifted(f"{first}{one}+{second}{other}")
    for name, shift in itertools.product(NAMES, range(-6, 7)):
        inner = f"({name}{shift:+d})" if shift else name
        for other in NAMES:
            add(f"{inner}*{other}")
            for factor in factors[1:6]:
                add(f"{factor}{inner}*{other}")
        for factor in factors[1:6]:
            add(f"{factor}{inner}")
        for divisor in (2, 3):
            add(f"{inner}//{divisor}")
    return found


# ---------------------------------------------------------------------------------------------------- running


def arrays(program: Program, sizes: Sequence[int]) -> Environment:
    """The arguments, with these sizes for the names."""
    rng = np.random.default_rng(program.seed)
    known = dict(zip(NAMES, sizes, strict=True))
    return {name: rng.standard_normal(tuple(known[axis] if axis in known else int(axis) for axis in axes)) for name, axes in program.inputs}


def promised(program: Program, sizes: Sequence[int]) -> tuple[int, ...]:
    return tuple(eval(axis, {}, dict(zip(NAMES, sizes, strict=True))) for axis in program.promise)


@dataclass(frozen=True)
class Failure:
    """What goes wrong, and in which line of the function, its ``def`` being line 0."""

    what: str
    line: int
    of_numbers: bool = False  # or of types: it is no matter of shapes


def failure(function: Callable[..., Any], program: Program, sizes: Sequence[int]) -> Failure | None:
    """What goes wrong with these sizes."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(**arrays(program, sizes))
    except REFUSALS as error:  # NumPy's AxisError is a ValueError
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == PLACE]
        line = (lines[-1] or 1) - 1
        by_index = re.search(r"\bi\d+\b", program.text().splitlines()[line]) is not None and "out of bounds" in str(error)
        what = f"{type(error).__name__}: {error}".partition("\n")[0]
        return Failure(what, line, by_index or isinstance(error, (TypeError, AttributeError, ZeroDivisionError)))
    shape, wanted = np.shape(result), promised(program, sizes)
    return None if shape == wanted else Failure(f"returns {shape}, promises {wanted}", len(program.statements) + 1)


PLACE = "<program>"
REFUSALS = (ValueError, IndexError, TypeError, AttributeError, ZeroDivisionError)


class TooLarge(Exception):
    """It would take too long."""


def einsum(subscripts: str, *operands: Any) -> Any:
    """NumPy's, with a limit: a changed letter can make it a loop over everything."""
    sizes: dict[str, int] = {}
    for term, operand in zip(subscripts.partition("->")[0].split(","), operands, strict=False):
        for letter, size in zip(term, np.shape(operand), strict=False):
            sizes[letter] = max(size, sizes.get(letter, 1))
    if math.prod(sizes.values()) > 3 * MOST_LOOPS:
        raise TooLarge
    return np.einsum(subscripts, *operands)


@contextmanager
def little_memory() -> Iterator[None]:
    """For a while no more than half a gigabyte more: a changed program can make arrays as large as it likes."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() if Path("/proc/self/statm").exists() else 0
    if used:
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**29, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def compiled(program: Program) -> Callable[..., Any]:
    namespace: Environment = {}
    exec(IMPORTS, namespace)
    namespace["einsum"] = einsum
    exec(compile(program.text().replace("np.einsum(", "einsum("), PLACE, "exec"), namespace)
    return namespace["f"]  # type: ignore[no-any-return]


def truth(program: Program) -> tuple[str, Failure | None]:
    """ "right", "wrong" or "open", and what goes wrong."""
    function = compiled(program)
    try:
        with little_memory():
            failures = [failure(function, program, sizes) for sizes in DRAWS]
            told = next(filter(None, failures), None)
            if told is None:
                return "right", None
            if any(each is None or each.of_numbers for each in failures) or not all(failure(function, program, sizes) for sizes in EVEN):
                return "open", told
            return "wrong", told
    except (TooLarge, MemoryError):
        return "open", None


# ---------------------------------------------------------------------------------------------------- making right ones


class Maker:
    """Draws one right program: a statement that fails in any draw of sizes, or makes too large an array, is drawn again."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.seed = seed
        names, literals = NAMES[: rng.randint(2, 4)], [str(each) for each in rng.sample((1, *LITERALS), rng.randint(1, 2))]
        pool = [*names, *names, *literals]
        axes = [tuple(rng.choice(pool) for _ in range(rng.choice((1, 2, 2, 3, 3, 4)))) for _ in range(rng.randint(2, 4))]
        self.inputs = tuple((f"v{place}", each) for place, each in enumerate(axes) if len(set(each)) or each)
        start = Program(seed, self.inputs, (), "v0", axes[0])
        self.draws: list[Environment] = [{"np": np, "einsum": einsum, **arrays(start, sizes)} for sizes in DRAWS]
        self.statements: list[str] = []
        self.made = len(self.inputs)
        self.empty, self.again = rng.random() < 0.1, rng.random() < 0.3  # whether arrays may be empty, and variables assigned again

    # ------------------------------------------------------------------ what there is

    @property
    def first(self) -> Environment:
        return self.draws[0]

    def those(self, kinds: str = "v", least: int = 0, most: int = MOST_AXES) -> list[str]:
        return [name for name, value in self.first.items() if re.fullmatch(f"[{kinds}]\\d+", name) and least <= np.ndim(value) <= most]

    def pick(self, kinds: str = "v", least: int = 1, most: int = MOST_AXES) -> str:
        """An array, rather a late one."""
        names = self.those(kinds, least, most)
        if not names:
            raise Again
        return self.rng.choice(names[-4:] if self.rng.random() < 0.7 else names)

    def rank(self, name: str) -> int:
        return int(np.ndim(self.first[name]))

    def sizes(self, name: str, axis: int) -> Sizes:
        return tuple(int(np.shape(draw[name])[axis]) for draw in self.draws)

    def shape(self, name: str) -> tuple[Sizes, ...]:
        return tuple(self.sizes(name, axis) for axis in range(self.rank(name)))

    def mate(self, fits: Callable[[str], bool], kinds: str = "v") -> str:
        names = [name for name in self.those(kinds) if fits(name)]
        if not names:
            raise Again
        return self.rng.choice(names)

    def axis(self, name: str, more: int = 0) -> int:
        """An axis of an array, or of one with more axes."""
        rank = self.rank(name) + more
        if not rank:
            raise Again
        return self.rng.randrange(-rank, rank) if self.rng.random() < 0.5 else self.rng.randrange(rank)

    def size(self, name: str, axis: int) -> str:
        """The size of an axis as a program writes it."""
        found = self.sizes(name, axis)
        if len(set(found)) == 1 and self.rng.random() < 0.7:
            return str(found[0])
        numbers = [each for each, value in self.first.items() if re.fullmatch(r"n\d+", each) and value == found[0]]
        if numbers and self.rng.random() < 0.6:
            return self.rng.choice(numbers)
        return f"len({name})" if axis == 0 and self.rng.random() < 0.2 else f"{name}.shape[{axis}]"

    def chance(self, likely: float = 0.5) -> bool:
        return self.rng.random() < likely

    # ------------------------------------------------------------------ growing

    def grow(self, steps: int) -> None:
        makers = [getattr(self, name) for name in dir(Maker) if name.startswith("make_")]
        for _ in range(30 * steps):
            if len(self.statements) >= steps:
                break
            try:
                kinds, expression = self.rng.choice(makers)()
            except Again:
                continue
            self.accept(kinds, expression)

    def accept(self, kinds: str, expression: str) -> None:
        """Run a statement; ``kinds`` has a letter for each array or number that it makes, and is empty for one in place."""
        targets = [f"{kind}{self.made + place}" for place, kind in enumerate(kinds)]
        before = [name for name in self.those("v") if int(name[1:]) >= len(self.inputs)]
        if kinds == "v" and self.again and before and self.chance(0.3):
            targets = [self.rng.choice(before)]
        statement = f"{', '.join(targets)}{',' * (len(targets) == 1 and kinds == 'n')} = {expression}" if kinds else expression
        code = compile(statement.replace("np.einsum(", "einsum("), PLACE, "exec")
        results: list[Environment] = []
        for draw in self.draws:
            environment = dict(draw)
            try:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    exec(code, environment)
            except (*REFUSALS, TooLarge):
                return
            environment.pop("__builtins__", None)
            results.append(environment)
            for name in targets:
                shape = np.shape(environment[name])
                if (
                    (not self.empty and not np.prod(shape))
                    or np.prod(shape) > MOST_NUMBERS * (1 if draw is self.first else 20)
                    or len(shape) > MOST_AXES
                ):
                    return
        if any(len({np.ndim(each[name]) for each in results}) > 1 for name in targets):
            return
        self.draws = results
        self.made += len(targets)
        self.statements.append(statement)

    def program(self) -> Program | None:
        """What was made, if the shape of a late array can be written."""
        for name in reversed(self.those("v", 1, 4)):
            if int(name[1:]) < len(self.inputs):
                return None
            written = [expressions().get(sizes) for sizes in self.shape(name)]
            if None not in written:
                used = {axis for _, axes in self.inputs for axis in axes}
                promise = tuple(map(str, written))
                if set(re.findall("[a-d]", " ".join(promise))) <= used:
                    return Program(self.seed, self.inputs, tuple(self.statements), name, promise)
        return None

    # ------------------------------------------------------------------ products

    def make_product(self) -> tuple[str, str]:
        x = self.pick()
        place = -1
        y = self.mate(lambda y: self.rank(y) > 0 and self.sizes(y, -2 if self.rank(y) > 1 else 0) == self.sizes(x, place))
        return "v", self.rng.choice([f"{x} @ {y}", f"np.matmul({x}, {y})", f"np.dot({x}, {y})", f"{x}.dot({y})"])

    def make_transposed_product(self) -> tuple[str, str]:
        x = self.pick(most=3)
        y = self.mate(lambda y: self.rank(y) == 2 and self.sizes(y, 1) == self.sizes(x, -1))
        return "v", self.rng.choice([f"{x} @ {y}.T", f"np.inner({x}, {y})", f"np.matmul({x}, np.swapaxes({y}, 0, 1))"])

    def make_gram(self) -> tuple[str, str]:
        x = self.pick(least=2, most=3)
        return "v", self.rng.choice([f"{x} @ {x}.swapaxes(-1, -2)", f"np.swapaxes({x}, -1, -2) @ {x}", f"{x}.mT @ {x}"])

    def make_weights(self) -> tuple[str, str]:
        x, new = self.pick(), self.rng.choice(["4", "6", str(self.rng.choice(LITERALS))])
        size = self.size(x, -1)
        return "v", self.rng.choice(
            [f"{x} @ np.ones(({size}, {new}))", f"np.zeros(({new}, {self.size(x, 0)})) @ {x}.reshape({self.size(x, 0)}, -1)"]
        )

    def make_einsum(self) -> tuple[str, str]:
        operands = [self.pick(most=4) for _ in range(self.rng.randint(1, 3))]
        letters: dict[Sizes, str] = {}
        terms = list[str]()
        for name in operands:
            term = ""
            for sizes in self.shape(name):
                if sizes not in letters or letters[sizes] in term or self.chance(0.25):
                    letters[sizes] = "ijklmnopqrst"[len(set("".join([*terms, term])))]
                term += letters[sizes]
            terms.append(term)
        whole = sorted(set("".join(terms)))
        if len(whole) > 6:
            raise Again
        self.rng.shuffle(whole)
        kept = "".join(each for each in whole if self.chance(0.6))[:4]
        return "v", f'np.einsum("{",".join(terms)}->{kept}", {", ".join(operands)})'

    def make_tensordot(self) -> tuple[str, str]:
        x = self.pick(most=3)
        own = self.axis(x)
        y = self.mate(lambda y: 0 < self.rank(y) < 4 and self.sizes(x, own) in self.shape(y))
        other = self.shape(y).index(self.sizes(x, own))
        if self.chance(0.3):
            return "v", f"np.tensordot({x}, {y}, axes=1)"
        return (
            "v",
            f"np.tensordot({x}, {y}, axes=({own}, {other}))" if self.chance() else f"np.tensordot({x}, {y}, axes=([{own}], [{other}]))",
        )

    def make_outer(self) -> tuple[str, str]:
        return "v", f"np.outer({self.pick(most=1)}, {self.pick(most=1)})"

    # ------------------------------------------------------------------ movement

    def make_transpose(self) -> tuple[str, str]:
        x = self.pick(least=2)
        order = list(range(self.rank(x)))
        self.rng.shuffle(order)
        listed = ", ".join(map(str, order))
        one, other = self.axis(x), self.axis(x)
        return "v", self.rng.choice(
            [
                f"{x}.T",
                f"np.transpose({x})",
                f"np.transpose({x}, ({listed}))",
                f"{x}.transpose({listed})",
                f"{x}.transpose(({listed}))",
                f"{x}.swapaxes({one}, {other})",
                f"np.swapaxes({x}, {one}, {other})",
                f"np.moveaxis({x}, {one}, {other})",
            ]
        )

    def make_shape(self) -> tuple[str, str]:
        x = self.pick()
        return "n" * self.rank(x), f"{x}.shape"

    def make_reshape(self) -> tuple[str, str]:
        x = self.pick()
        rank = self.rank(x)
        sizes = [self.size(x, axis) for axis in range(rank)]
        start = self.rng.randrange(rank)
        kind = self.rng.randrange(6)
        if kind == 0 and rank > 1:  # two axes to one
            start = self.rng.randrange(rank - 1)
            sizes[start : start + 2] = ["-1" if self.chance() else f"{sizes[start]} * {sizes[start + 1]}"]
        elif kind == 1:  # one axis to two
            parts = [number for number in (2, 3, 4, 5) if all(each % number == 0 for each in self.sizes(x, start))]
            if not parts:
                raise Again
            part = str(self.rng.choice(parts))
            rest = "-1" if self.chance() else f"{sizes[start]} // {part}"
            sizes[start : start + 1] = [part, rest] if self.chance() else [rest, part]
        elif kind == 2:
            sizes.insert(self.rng.randint(0, rank), "1")
        elif kind == 3:
            self.rng.shuffle(sizes)
        elif kind == 4:
            sizes = [sizes[0], "-1"] if self.chance() else ["-1", sizes[-1]] if self.chance() else ["-1"]
        else:
            return "v", self.rng.choice([f"{x}.ravel()", f"{x}.flatten()", f"np.ravel({x})"])
        if "-1" not in sizes and self.chance(0.3):
            sizes[self.rng.randrange(len(sizes))] = "-1"
        listed = ", ".join(sizes)
        return "v", f"{x}.reshape({listed})" if self.chance(0.6) else f"np.reshape({x}, ({listed},))"

    def make_expanded(self) -> tuple[str, str]:
        x = self.pick(most=3)
        axis = self.axis(x, 1)
        return "v", self.rng.choice(
            [f"np.expand_dims({x}, {axis})", f"np.expand_dims({x}, axis={axis})", f"{x}[..., None]", f"{x}[:, None]", f"{x}[None]"]
        )

    def make_squeezed(self) -> tuple[str, str]:
        x = self.mate(lambda x: any(set(sizes) == {1} for sizes in self.shape(x)))
        axis = self.rng.choice([axis for axis, sizes in enumerate(self.shape(x)) if set(sizes) == {1}])
        return "v", self.rng.choice([f"np.squeeze({x}, axis={axis})", f"{x}.squeeze({axis})", f"np.squeeze({x})"])

    def make_repeated(self) -> tuple[str, str]:
        x, times = self.pick(most=4), self.rng.randint(2, 4)
        axis = self.axis(x)
        shifts = ", ".join(f"({self.rng.randint(0, 2)}, {self.rng.randint(0, 2)})" for _ in range(self.rank(x)))
        reps = ", ".join(str(self.rng.randint(1, 3)) for _ in range(self.rank(x)))
        return "v", self.rng.choice(
            [
                f"np.repeat({x}, {times}, axis={axis})",
                f"{x}.repeat({times}, axis={axis})",
                f"np.tile({x}, ({reps},))",
                f"np.tile({x}, {times})",
                f"np.pad({x}, ({shifts},))",
                f"np.pad({x}, {times - 1})",
                f"np.flip({x}, axis={axis})",
                f"np.roll({x}, {times}, axis={axis})",
                f"np.diff({x}, axis={axis})",
            ]
        )

    def make_broadcast(self) -> tuple[str, str]:
        x, front = self.pick(most=3), self.rng.choice(LITERALS)
        y = self.pick(most=4)
        listed = ", ".join([str(front), *(self.size(x, axis) for axis in range(self.rank(x)))])
        return "v", self.rng.choice([f"np.broadcast_to({x}, ({listed}))", f"np.broadcast_to({y}, {x}.shape)"])

    # ------------------------------------------------------------------ reductions

    def make_reduction(self) -> tuple[str, str]:
        x = self.pick(most=4)
        name = self.rng.choice(["sum", "mean", "max", "min", "std", "var", "prod"])
        axes = str(self.axis(x))
        if self.rank(x) > 1 and self.chance(0.3):
            axes = "({}, {})".format(*self.rng.sample(range(self.rank(x)), 2))
        given = "" if self.chance(0.1) else f"axis={axes}"
        kept = "keepdims=True" if self.chance(0.4) else ""
        inner = ", ".join(filter(None, [given, kept]))
        method = f"{x}.{name}({inner})"
        return "v", method if self.chance() else f"np.{name}({', '.join(filter(None, [x, inner]))})"

    def make_normalised(self) -> tuple[str, str]:
        x = self.pick(most=4)
        axis, name = self.axis(x), self.rng.choice(["sum", "mean", "max"])
        return "v", f"{x} {self.rng.choice('+-*/')} {x}.{name}(axis={axis}, keepdims=True)"

    def make_norm(self) -> tuple[str, str]:
        x = self.pick(most=4)
        axis = self.axis(x)
        return "v", self.rng.choice(
            [
                f"np.linalg.norm({x}, axis={axis})",
                f"np.linalg.norm({x}, axis={axis}, keepdims=True)",
                f"np.median({x}, axis={axis})",
                f"np.logaddexp.reduce({x}, axis={axis})",
                f"np.average({x}, axis={axis})",
            ]
        )

    def make_running(self) -> tuple[str, str]:
        x = self.pick(most=4)
        axis = self.axis(x)
        return "v", self.rng.choice(
            [
                f"np.cumsum({x}, axis={axis})",
                f"{x}.cumsum(axis={axis})",
                f"np.cumsum({x})",
                f"np.sort({x}, axis={axis})",
                f"np.cumprod({x}, {axis})",
            ]
        )

    def make_indices(self) -> tuple[str, str]:
        x = self.pick(most=4)
        axis = self.axis(x)
        return "i", self.rng.choice(
            [f"np.argmax({x}, axis={axis})", f"{x}.argmin(axis={axis})", f"np.argsort({x}, axis={axis})", f"{x}.argmax({axis})"]
        )

    # ------------------------------------------------------------------ elementwise

    def beside(self, x: str) -> str:
        """Another array that x meets, if there is one: of rank 0 at the worst."""
        shape = self.shape(x)

        def fits(y: str) -> bool:
            pairs = zip(reversed(self.shape(y)), reversed(shape), strict=False)
            return self.rank(y) > 0 and all(own == other or set(own) == {1} or set(other) == {1} for own, other in pairs)

        return self.mate(fits)

    def make_arithmetic(self) -> tuple[str, str]:
        x = self.pick()
        return "v", f"{x} {self.rng.choice('+-*/')} {self.beside(x)}"

    def make_outer_arithmetic(self) -> tuple[str, str]:
        x, y = self.pick(most=2), self.pick(most=2)
        return "v", f"{x}[:, None] {self.rng.choice('+-*')} {y}" if self.chance() else f"{x}[..., None] * {y}"

    def make_scalar(self) -> tuple[str, str]:
        x = self.pick()
        return "v", self.rng.choice(
            [f"{x} * 0.5", f"1 + {x}", f"-{x}", f"{x} ** 2", f"2 / {x}", f"abs({x})", f"{x} / {x}.shape[{self.axis(x)}]"]
        )

    def make_unary(self) -> tuple[str, str]:
        x, name = self.pick(), self.rng.choice(["exp", "tanh", "abs", "sqrt", "sin", "log1p", "sign", "square"])
        return "v", f"np.{name}({x})"

    def make_binary(self) -> tuple[str, str]:
        x = self.pick()
        y = self.beside(x)
        return "v", self.rng.choice(
            [
                f"np.maximum({x}, {y})",
                f"np.minimum({x}, 0)",
                f"np.where({x} > 0, {x}, {y})",
                f"np.where({x} > {y}, {x}, 0.0)",
                f"np.clip({x}, -1, 1)",
                f"{x}.clip(0, 1)",
                f"np.add({x}, {y})",
                f"np.hypot({x}, {y})",
            ]
        )

    def make_comparison(self) -> tuple[str, str]:
        x = self.pick()
        return "m", f"{x} {self.rng.choice(['<', '>', '<=', '=='])} {self.rng.choice(['0', self.beside(x)])}"

    def make_masked(self) -> tuple[str, str]:
        m = self.pick("m")
        x = self.mate(lambda x: self.shape(x) == self.shape(m))
        return "v", self.rng.choice([f"np.where({m}, {x}, 0.0)", f"{x} * {m}", f"{m}.astype(float)", f"np.where({m}, {x}, -{x})"])

    # ------------------------------------------------------------------ indexing

    def make_indexed(self) -> tuple[str, str]:
        x = self.pick()
        parts = list[str]()
        for axis in range(self.rng.randint(1, self.rank(x))):
            least = min(self.sizes(x, axis))
            choices = [":", ":", "0", "-1", "::2", "::-1", "1:", ":-1"]
            if least > 3:
                choices += ["1:3", ":3", "-3:", "1:-1", "2:", "2", "1::2", "[0, 2]", *["1:0"] * self.empty]
            elif self.chance(0.5):
                choices = [":"]
            parts.append(self.rng.choice(choices))
        if self.chance(0.2):
            parts.insert(self.rng.randint(0, len(parts)), "None")
        elif self.chance(0.15):
            parts = ["...", *parts[-1:]] if self.chance() else [*parts[:1], "..."]
        return "v", f"{x}[{', '.join(parts)}]"

    def make_halved(self) -> tuple[str, str]:
        x = self.pick()
        axis = self.rng.randrange(self.rank(x))
        size, start = self.size(x, axis), ", ".join([":"] * axis + [""])
        return "v", self.rng.choice([f"{x}[{start}: {size} // 2]", f"{x}[{start}{size} // 2 :]", f"{x}[{start}: {size} - 1]"])

    def make_taken(self) -> tuple[str, str]:
        x = self.pick(most=4)
        axis = self.axis(x)
        return "v", self.rng.choice(
            [
                f"np.take({x}, [0, 1], axis={axis})",
                f"{x}.take(1, axis={axis})",
                f"np.take({x}, np.array([1, 0, 1]), {axis})",
                f"{x}[np.arange({self.rng.randint(2, 4)})]",
            ]
        )

    def make_by_indices(self) -> tuple[str, str]:
        i = self.pick("i", most=2)
        x = self.pick(most=3)
        return "v", self.rng.choice(
            [
                f"{x}[{i}]",
                f"np.take({x}, {i}, axis={self.axis(x)})",
                f"{x}[np.arange(len({i})), {i}]",
                f"np.take_along_axis({x}, {i}[:, None], axis=1)",
            ]
        )

    # ------------------------------------------------------------------ joining

    def like(self, x: str, axis: int) -> str:
        """An array as large along all other axes, or x again."""
        axis %= self.rank(x)

        def rest(shape: Sequence[Sizes]) -> list[Sizes]:
            return [sizes for place, sizes in enumerate(shape) if place != axis]

        return self.mate(lambda y: self.rank(y) == self.rank(x) and rest(self.shape(y)) == rest(self.shape(x)))

    def make_concatenated(self) -> tuple[str, str]:
        x = self.pick(most=4)
        axis = self.axis(x)
        parts = [x, *(self.like(x, axis) for _ in range(self.rng.randint(1, 2)))]
        self.rng.shuffle(parts)
        listed = ", ".join(parts)
        return "v", self.rng.choice(
            [
                f"np.concatenate([{listed}], axis={axis})",
                f"np.concatenate(({listed}), axis={axis})",
                f"np.hstack([{listed}])",
                f"np.vstack([{listed}])",
            ]
        )

    def make_stacked(self) -> tuple[str, str]:
        x = self.pick(most=3)
        same = self.mate(lambda y: self.shape(y) == self.shape(x))
        return "v", f"np.stack([{x}, {same}], axis={self.axis(x, 1)})"

    def make_split(self) -> tuple[str, str]:
        x = self.pick(most=4)
        axis = self.axis(x)
        parts = self.rng.randint(2, 3)
        even = all(each % parts == 0 for each in self.sizes(x, axis))
        where = str(parts) if even else str([1, 3][: parts - 1])
        return "v" * parts, f"np.split({x}, {where}, axis={axis})"

    def make_column(self) -> tuple[str, str]:
        x = self.pick(most=3)
        ones = ", ".join("1" if axis == self.rank(x) - 1 else self.size(x, axis) for axis in range(self.rank(x)))
        return "v", f"np.concatenate([np.ones(({ones},)), {x}], axis=-1)"

    # ------------------------------------------------------------------ new arrays, and in place

    def make_new(self) -> tuple[str, str]:
        x, y = self.pick(), self.pick()
        one, other = self.size(x, self.rng.randrange(self.rank(x))), self.size(y, self.rng.randrange(self.rank(y)))
        return "v", self.rng.choice(
            [
                f"np.zeros(({one}, {other}))",
                f"np.ones(({one}, {other}, {self.rng.choice(LITERALS)}))",
                f"np.full({x}.shape, 0.5)",
                f"np.zeros_like({x})",
                f"np.ones_like({x})",
                f"np.zeros({x}.shape[1:])",
                f"np.empty({x}.shape[:-1] + ({other},))",
                f"np.eye({one})",
                f"np.linspace(0.0, 1.0, {one})",
                f"{x}.copy()",
                f"np.arange({one}) * 1.0",
            ]
        )

    def make_in_place(self) -> tuple[str, str]:
        x = self.mate(lambda x: self.rank(x) > 0 and int(x[1:]) >= len(self.inputs))
        y = self.beside(x)
        axis = self.axis(x)
        return "", self.rng.choice(
            [
                f"{x} += {y}",
                f"{x} *= {y}",
                f"{x} -= {x}.mean(axis={axis}, keepdims=True)",
                f"{x}[0] = 0.0",
                f"{x}[1:] = {y}[1:]",
                f"{x}[:] = {y}",
                f"{x}[..., 0] = {x}[..., 1]",
                f"np.exp({x}, out={x})",
                f"np.add({x}, {y}, out={x})",
                f"np.multiply({x}, {y}, out={x})",
            ]
        )

    def make_out(self) -> tuple[str, str]:
        x = self.pick(most=3)
        y = self.mate(lambda y: 0 < self.rank(y) < 4)
        out = self.mate(lambda z: int(z[1:]) >= len(self.inputs))
        return "v", self.rng.choice(
            [f"np.matmul({x}, {y}, out={out})", f"np.subtract({x}, {y}, out={out})", f"np.sum({x}, axis={self.axis(x)}, out={out})"]
        )


def sliced(program: Program, last: int | None = None) -> Program:
    """Without the statements that have no effect on the result, or on the statement ``last``."""
    kept: list[str] = []
    if last is None:
        needed = {program.result}
    else:
        kept, needed = [program.statements[last]], set(re.findall(r"\b[vimn]\d+\b", program.statements[last]))
    for statement in reversed(program.statements[:last]):
        made, _, _ = statement.partition(" = ")
        words = set(re.findall(r"\b[vimn]\d+\b", statement))
        changes = (
            words & needed
            if not re.match(r"[vimn]\d+(, [vimn]\d+)*,? = ", statement) or "out=" in statement
            else set(made.replace(",", "").split())
        )
        if changes & needed:
            needed |= words
            kept.insert(0, statement)
    inputs = tuple((name, axes) for name, axes in program.inputs if name in needed | {program.result})
    if not inputs or {axis for _, axes in inputs for axis in axes}.isdisjoint(NAMES):
        inputs = program.inputs
    missing = set(re.findall("[a-d]", " ".join(program.promise))) - {axis for _, axes in inputs for axis in axes}
    inputs = program.inputs if missing else inputs
    return replace(program, inputs=inputs, statements=tuple(kept), result=program.result if last is None else inputs[0][0])


class Again(Exception):
    """There is no array for this operation."""


def right(seed: int) -> Program:
    """A right program."""
    for attempt in itertools.count():
        maker = Maker(seed + attempt * 1_000_003)
        maker.grow(maker.rng.randint(3, 20))
        program = maker.program()
        if program is not None:
            return replace(sliced(program) if maker.chance(0.6) else program, seed=seed)
    raise AssertionError


# ---------------------------------------------------------------------------------------------------- one thing changed


def changed(program: Program, rng: random.Random) -> Program:
    """The same with one thing changed; it may still be right."""
    while True:
        if rng.random() < 0.2:
            other = _promise_changed(program, rng)
        else:
            place = rng.randrange(len(program.statements))
            statement = program.statements[place]
            edits = list(_edits(statement, program, place, rng))
            if not edits:
                continue
            what = rng.choice(sorted({kind for kind, _ in edits}))
            edited = rng.choice([text for kind, text in edits if kind == what])
            statements = (*program.statements[:place], edited, *program.statements[place + 1 :])
            other = replace(program, statements=statements, change=f"{what}: {statement}")
        if other.text() != program.text():
            return other


def _promise_changed(program: Program, rng: random.Random) -> Program:
    promise = list(program.promise)
    place = rng.randrange(len(promise))
    others = ({axis for _, axes in program.inputs for axis in axes} | {f"{promise[place]}+1", "1", "4"}) - {promise[place]}
    promise[place] = rng.choice(sorted(others))
    if rng.random() < 0.2:
        promise = [*program.promise]
        rng.shuffle(promise)
    return replace(program, promise=tuple(promise), change=f"promise: {' '.join(program.promise)}")


def _edits(statement: str, program: Program, place: int, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Each kind of change, and the statement with it."""
    start = statement.index(" = ") + 3 if " = " in statement else 0
    tokens = [token for token in tokenize.generate_tokens(StringIO(statement).readline) if token.start[1] >= start]
    before = {name for name, _ in program.inputs} | set(
        re.findall(r"\b[vim]\d+\b", " ".join(each.partition(" = ")[0] for each in program.statements[:place]))
    )

    def put(token: tokenize.TokenInfo, text: str) -> str:
        return statement[: token.start[1]] + text + statement[token.end[1] :]

    names = list[tokenize.TokenInfo]()
    for token in tokens:
        if token.type == tokenize.NUMBER and token.string.isdigit():
            number = int(token.string)
            if "reshape" in statement and statement[token.start[1] - 1] == "-":
                continue  # for NumPy each number below 0 is -1 there
            yield "number", put(token, str(rng.choice([each for each in (0, 1, 2, 3, number + 1) if each != number])))
        elif token.type == tokenize.STRING:
            letters = [at for at, letter in enumerate(token.string) if letter.isalpha()]
            at = rng.choice(letters)
            yield "letters", put(token, token.string[:at] + rng.choice("ijkl") + token.string[at + 1 :])
            yield "letters", put(token, token.string[:at] + token.string[at + 1 :])
        elif token.type == tokenize.NAME and re.fullmatch(r"[vim]\d+", token.string):
            names.append(token)
            others = sorted(name for name in before if name[0] == token.string[0] and name != token.string)
            if others:
                yield "operand", put(token, rng.choice(others))
    if "keepdims=True" in statement:
        yield "keepdims", statement.replace("keepdims=True", "keepdims=False")
    elif re.search(r"axis=[-\d]+\)", statement) and re.search(r"(?<![a-z])(sum|mean|max|min|std|var|prod|norm)\(", statement):
        yield "keepdims", re.sub(r"(axis=[-\d]+)\)", r"\1, keepdims=True)", statement)
    if ".T" in statement:
        yield "permutation", statement.replace(".T", "")
    if "[:, None]" in statement:
        yield "index", statement.replace("[:, None]", "[None]")
    for one, other in itertools.combinations(names, 2):
        if one.string != other.string and one.string[0] == other.string[0]:
            swapped = put(other, one.string)
            yield "order", swapped[: one.start[1]] + other.string + swapped[one.end[1] :]
    for match in re.finditer(r"\((\d(?:, \d)+)\)", statement[start:]):
        numbers = match[1].split(", ")
        one, two = rng.sample(range(len(numbers)), 2)
        if numbers[one] != numbers[two]:
            numbers[one], numbers[two] = numbers[two], numbers[one]
            yield "permutation", f"{statement[: start + match.start()]}({', '.join(numbers)}){statement[start + match.end() :]}"


def draw(seed: int) -> Program:
    """Every third program is right; the others have one thing changed."""
    program = right(seed)
    return program if seed % 3 == 0 else changed(program, random.Random(seed))


# ---------------------------------------------------------------------------------------------------- what mypy says


CONFIG = """[mypy]
plugins = typednn.mypy_plugin

[typednn-mypy]
debug = True
"""


@dataclass(frozen=True)
class Message:
    """What mypy says of one line of a function."""

    line: int
    code: str
    text: str


class Static:
    """mypy with the plugin over one file of programs at a time."""

    def __init__(self, folder: Path, *, notes: bool = False) -> None:
        self.folder, self.notes = folder, notes
        self.crashes: list[str] = []  # exceptions inside the plugin
        (folder / "mypy.ini").write_text(CONFIG + "report_unknown = True\n" * notes)

    def __call__(self, programs: Sequence[Program]) -> list[list[Message]]:
        """What mypy says of each program."""
        texts = [program.text(f"f{place}") for place, program in enumerate(programs)]
        (self.folder / "bodies.py").write_text("\n".join([IMPORTS, *texts]))
        place_of, line = dict[int, tuple[int, int]](), len(IMPORTS.splitlines()) + 1
        for place, text in enumerate(texts):
            lines = len(text.splitlines())
            place_of |= {line + own + 1: (place, own) for own in range(lines)}
            line += lines + 1
        command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--cache-dir", "cache", "--output", "json", "bodies.py"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1) or done.stderr:
            raise RuntimeError(f"mypy failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        found: list[list[Message]] = [[] for _ in programs]
        for each in map(json.loads, filter(lambda line: line.startswith("{"), done.stdout.splitlines())):
            if each["line"] not in place_of:
                self.crashes.append(each["message"])
            elif each["file"] == "bodies.py" and (self.notes or each["severity"] == "error"):
                place, own = place_of[each["line"]]
                found[place].append(Message(own, each["code"] if each["severity"] == "error" else each["severity"], each["message"]))
        return found


# ---------------------------------------------------------------------------------------------------- both


@dataclass(frozen=True)
class Judged:
    """A program, what happens when it runs, and what mypy says."""

    program: Program
    truth: str
    failure: Failure | None
    messages: tuple[Message, ...]

    @property
    def verdict(self) -> str:
        """In which line of the summary it counts."""
        said = any(each.code == "shape" for each in self.messages)
        if self.truth == "right":
            return "false alarm" if said else "accepted"
        if self.failure is not None and self.truth == "wrong" and not said:
            own = any(each.line == self.failure.line and each.code not in ("note", "assignment") for each in self.messages)
            return "found by the types alone" if own else "missed"
        return "found" if self.truth == "wrong" else "open, reported" if said else "open"

    def __str__(self) -> str:
        told = [f"{self.verdict}: program {self.program.seed}", *[f"changed, {self.program.change}"] * bool(self.program.change)]
        happens = [f"line {self.failure.line}: {self.failure.what}"] * (self.failure is not None) if self.failure else ["runs"]
        says = [f"line {each.line} [{each.code}] {each.text}" for each in self.messages]
        return "\n".join([*told, self.program.text().rstrip(), *(f"  {each}" for each in [*happens, *says])]) + "\n"


def judge(programs: Sequence[Program], static: Static) -> list[Judged]:
    said = static(programs)
    return [Judged(program, *truth(program), tuple(messages)) for program, messages in zip(programs, said, strict=True)]


def smallest(judged: Sequence[Judged], folder: Path) -> list[Judged]:
    """The same programs without what does not matter for the verdict, with notes of the sizes that are lost."""
    places = [
        each.failure.line - 1
        if each.failure is not None and each.failure.line <= len(each.program.statements)
        else None
        if each.failure is not None
        else min(message.line for message in each.messages if message.code == "shape") - 1
        for each in judged
    ]
    smaller = [
        sliced(each.program, place if place is not None and place < len(each.program.statements) else None)
        for each, place in zip(judged, places, strict=True)
    ]
    return [new if new.verdict == old.verdict else old for old, new in zip(judged, judge(smaller, Static(folder, notes=True)), strict=True)]


def judge_all(seeds: range, static: Static) -> Iterator[Judged]:
    """Every program, one file after another."""
    for first in range(0, len(seeds), AT_ONCE):
        yield from judge([draw(seed) for seed in seeds[first : first + AT_ONCE]], static)


def summary(counts: Mapping[str, int]) -> str:
    wrong = sum(counts.get(name, 0) for name in WRONG)
    share = f", {100 * (wrong - counts.get('missed', 0)) / wrong:.1f} % of the {wrong:,} wrong ones are reported" if wrong else ""
    return f"{sum(counts.values()):,} programs: {', '.join(f'{number:,} {name}' for name, number in sorted(counts.items()))}{share}"


WRONG = ("found", "found by the types alone", "missed")


def main() -> None:
    """The long run: every false alarm and every miss is printed, with the statements that matter."""
    parser = argparse.ArgumentParser(description="Compare what mypy says of random functions with running them.")
    parser.add_argument("--programs", type=int, default=1000, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the first program")
    options = parser.parse_args()
    start, counts, odd = time.perf_counter(), Counter[str](), list[Judged]()
    with tempfile.TemporaryDirectory() as folder:
        static = Static(Path(folder))
        for each in judge_all(range(options.first, options.first + options.programs), static):
            counts[each.verdict] += 1
            odd += [each] * (each.verdict in ("false alarm", "missed"))
        shorter = [small for first in range(0, len(odd), AT_ONCE) for small in smallest(odd[first : first + AT_ONCE], Path(folder))]
    for each in sorted(shorter, key=lambda each: each.verdict):
        print(each)
    print(*static.crashes, sep="\n")
    print(f"{summary(counts)}; {len(static.crashes)} exceptions inside the plugin; {time.perf_counter() - start:.0f} s")
    if static.crashes or counts["false alarm"] or counts["missed"] > (1 - LEAST_FOUND) * sum(counts[name] for name in WRONG):
        sys.exit(1)


if __name__ == "__main__":
    main()
