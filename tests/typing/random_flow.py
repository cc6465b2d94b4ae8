"""Random bodies with control flow that are right: aliases, closures, changes in place, guards, errors that are caught.

    python -m tests.typing.random_flow --programs 20000

They are made as `random_bodies` makes its own, which stand between them: each piece below gives an array of a known
shape, for all sizes. All of them run, so mypy with the plugin must report none.
"""

import argparse
import sys
from collections.abc import Callable

from tests.typing.random_bodies import Function, Maker, NotNow, Shape, shown
from typednn.shapes import Dim

ONE, TWO, THREE = Dim.of(1), Dim.of(2), Dim.of(3)


def same(shape: Shape) -> Shape:
    return shape


def twice(shape: Shape) -> Shape:
    return (TWO, *shape)


def turned(shape: Shape) -> Shape:
    return shape[::-1]


def one_row(shape: Shape) -> Shape:
    return (ONE, *shape[1:])


def two_by_three(shape: Shape) -> Shape:
    return (TWO, THREE)


# The result's shape by that of X, and the lines of a piece: # is a number of its own, the last line the result.
PIECES: tuple[tuple[Callable[[Shape], Shape], str], ...] = (
    (twice, "r# = [X]\ns# = r#\ns#.append(X)\nnp.stack(r#)"),
    (twice, "r# = [[X], []]\nr#[0].append(X)\nnp.stack(r#[0])"),
    (twice, "r# = [[X], []]\nr#[X.ndim * 0].append(X)\nnp.stack(r#[0])"),
    (twice, 'r# = {"a": [X]}\nfor s# in r#.values():\n    s#.append(X)\nnp.stack(r#["a"])'),
    (twice, 'r# = {"a": [X]}\ns# = r#["a"]\ns#.append(X)\nnp.stack(r#["a"])'),
    (twice, 'r# = {"a": {"b": X}}\nr#["a"]["b"] = np.stack([X, X])\nr#["a"]["b"]'),
    (twice, "r# = [[X]]\ns# = list(r#)\ns#[0].append(X)\nnp.stack(r#[0])"),
    (twice, "r# = [X]\nany(r#.append(X) for _ in range(1))\nnp.stack(r#)"),
    (twice, "r# = [X]\n[r#.append(X) for _ in range(1)]\nnp.stack(r#)"),
    (twice, "r# = [X, X, X]\ndel r#[0]\nnp.stack(r#)"),
    (twice, "r# = [X]\ndef f#():\n    r#.append(X)\nf#()\nnp.stack(r#)"),
    (twice, "r# = [X]\nf# = lambda: r#.append(X)\nf#()\nnp.stack(r#)"),
    (twice, "r# = [X]\ndef f#(s=r#):\n    s.append(X)\nf#()\nnp.stack(r#)"),
    (twice, "def f#():\n    yield X\n    yield X\nnp.stack(list(f#()))"),
    (twice, "z# = X\nf# = lambda: z#\nz# = np.stack([X, X])\nf#()"),
    (twice, "z# = X\ng# = (z# for _ in range(2))\nz# = X.copy()\nnp.stack(list(g#))"),
    (twice, "z# = X\ndef f#():\n    nonlocal z#\n    z# = np.stack([X, X])\nf#()\nz#"),
    (twice, "fs# = []\nfor z# in (X, np.stack([X, X])):\n    fs#.append(lambda: z#)\nfs#[0]()"),
    (twice, "z# = X\nfor _ in range(3):\n    try:\n        break\n    finally:\n        z# = np.stack([X, X])\nz#"),
    (twice, "z# = X\nwhile 1:\n    if z#.ndim > X.ndim:\n        break\n    z# = np.stack([X, X])\nz#"),
    (twice, "z# = X\nif (z# := np.stack([X, X])).size:\n    pass\nz#"),
    (turned, "z# = X\nfor _ in range(3):\n    z# = z#.T\nz#"),
    (turned, "z# = X\nfor _ in range(2 * len(X) + 1):\n    z# = z#.T\nz#"),
    (turned, "z#, w# = X, X.T\nfor _ in range(X.ndim * 2 + 1):\n    z#, w# = w#, z#\nz#"),
    (one_row, "z# = X\nwhile len(z#) > 1:\n    z# = z#[: (len(z#) + 1) // 2]\nz#"),
    (two_by_three, "z# = X.copy()\nw# = z#\nw#.resize((2, 3), refcheck=False)\nz#"),
    (two_by_three, "z# = X.copy()\ndef f#(w):\n    w.resize((2, 3), refcheck=False)\nf#(z#)\nz#"),
    (same, "z# = X\ntry:\n    z# = X.reshape(7, 1000003)\nexcept ValueError:\n    pass\nz#"),
    (
        same,
        "def f#(w):\n    try:\n        return w.reshape(7, 1000003)\n    except ValueError:\n        return w\nf#(X)",
    ),
    (same, "with np.testing.assert_raises(ValueError):\n    X.reshape(7, 1000003)\nX.copy()"),
    (same, "z# = X\nif X.shape[-1] == 1000003:\n    z# = X + np.ones(1000003)\nX.copy()"),
    (same, "if isinstance(X, list):\n    X[0] @ X[1]\nX.copy()"),
    (same, "np.testing.assert_equal(X.shape, Y.shape) if X is Y else None\nX.copy()"),
    (same, "z# = X + Y if len({X.shape, Y.shape}) == 1 else X\nz#"),
    (same, "z# = X + Y if X.shape == Y.shape else X\nz#"),
    (same, "def f#(a, b):\n    return a.shape == b.shape\nz# = X + Y if f#(X, Y) else X\nz#"),
    (same, "match X.shape == Y.shape:\n    case True:\n        z# = X + Y\n    case _:\n        z# = X\nz#"),
    (same, "z# = X\nif np.array_equal(X, Y):\n    z# = X + Y\nz#"),
)
AROUND = ("for _ in range(1):", "if X.ndim:", 'with np.errstate(all="ignore"):', "while True:", "try:")
AFTER = {"while True:": ["    break"], "try:": ["finally:", "    pass"]}


class FlowMaker(Maker):
    """Draws one function that is right, with pieces of control flow."""

    OPERATIONS = (*Maker.OPERATIONS, *["piece"] * len(Maker.OPERATIONS))

    def piece(self) -> None:
        """One of `PIECES`, perhaps within a block."""
        x, y, number = self.array(1, 3), self.array(1, 3), str(len(self.lines))
        shape_after, text = self.one(PIECES)
        pairs = list(zip(self.arrays[x], self.arrays[y], strict=False))
        if "Y" in text and not (
            len(self.arrays[x]) == len(self.arrays[y]) and all(_may_be_equal(*each) for each in pairs)
        ):
            raise NotNow
        *lines, result = text.replace("#", number).replace("X", x).replace("Y", y).splitlines()
        first = len(self.lines)
        for line in lines:
            self.line(line)
        self.made([result], shape_after(self.arrays[x]))
        if self.chance(0.3):
            around = self.one(AROUND)
            inside = [["    ", *line] for line in self.lines[first:]]
            after = [[line] for line in AFTER.get(around, [])]
            self.lines[first:] = [[around.replace("X", x)], *inside, *after]


def _may_be_equal(a: Dim, b: Dim) -> bool:
    """Whether a guard that two sizes are equal is no dead code."""
    return a == b or (str(a).isalpha() and str(b).isalnum()) or (str(b).isalpha() and str(a).isalnum())


def drawn(seed: int) -> Function:
    """A function with up to 12 operations."""
    maker = FlowMaker(seed)
    return maker.grown(maker.random.randint(2, 12))


def main() -> None:
    """The number of false alarms, and some of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--show", type=int, default=5, help="how many of those that are reported")
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.programs)
    count = judged(seeds, lambda text: print(text, flush=True), drawn)
    print("\n\n".join(map(shown, count.false_alarms[: arguments.show])))
    sys.exit(bool(count.false_alarms or count.wrong))


if __name__ == "__main__":
    main()
