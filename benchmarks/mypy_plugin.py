"""The cost of the mypy plugin: ``python -m benchmarks.mypy_plugin``.

It writes a project of 100 models into a temporary folder: 50 hand-written models, each with forward, backward and
gradient, and 50 stacked chains of 9 to 13 layers. They are in 20 modules; one more module has their sizes. mypy
alternates with and without the plugin:

=======  ==========================================================================================================
empty    a new process with an empty cache, so that NumPy's stubs and typednn are read too
fresh    a new process with a cache of NumPy's stubs and typednn, none of the project
warm     a new process with a cache of everything
edit     ``dmypy check`` after a change of one line of one model, which makes it wrong or right again
sizes    ``dmypy check`` after a change of a constant that all 20 modules use for their sizes
=======  ==========================================================================================================

Results are checked before times. With the plugin, mypy must find exactly the one inserted fault, on its line. Without
the plugin, and without the fault, it must find nothing. The times are medians, and "adds" is the median of the
differences in each round. The exit code is 1 if a goal is missed: at most 60 % more with an empty cache, 0.3 s more
with a warm one, 1 s for an edit.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import count
from pathlib import Path
from statistics import median

from benchmarks import machine

EMPTY_GOAL = 0.60  # of the time without the plugin
WARM_GOAL = 0.3  # s
EDIT_GOAL = 1.0  # s
SIDES = ("without", "plugin")

SIZES = '''"""Sizes that every model is computed from."""

from typing import Final

NARROW: Final = 6
WIDE: Final = 16
HIDDEN: Final = 120
LAST: Final = 84
CLASSES: Final = 10
'''

# A module that imports every library module of the project and no module of the project.
LIBRARIES = "from typednn import Array2, Array4, Gradient, Input, Layer, S\nfrom typednn.layers import Linear\n"

HEADER = '''"""Models {first} and on."""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float
from sizes import CLASSES, HIDDEN, LAST, NARROW, WIDE

from typednn import Array2, Array4, Gradient, Input, Layer, S
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, Pad2d, ReLU, Softmax
from typednn.layers.conv2d import Conv2dGrad
from typednn.layers.linear import LinearGrad
'''

BY_HAND = """

@final
@dataclass(frozen=True, slots=True)
class Net{number}Grad(Gradient):
    input: Float[Array4, "batch {side} {side} 1"]
    conv1: Conv2dGrad
    conv2: Conv2dGrad
    fc1: LinearGrad
    fc2: LinearGrad
    fc3: LinearGrad


@final
class Net{number}(Layer[Array4, Array2, Net{number}Grad, S]):
    def __init__(self) -> None:
        self.pad = Pad2d({padding})
        self.conv1 = Conv2d(1, NARROW, {kernel})
        self.relu1 = ReLU()
        self.pool1 = MaxPool2d(2)
        self.conv2 = Conv2d(NARROW, WIDE, {kernel})
        self.relu2 = ReLU()
        self.pool2 = MaxPool2d(2)
        self.flatten = Flatten()
        self.fc1 = Linear({left} * {left} * WIDE, HIDDEN)
        self.relu3 = ReLU()
        self.fc2 = Linear(HIDDEN, LAST)
        self.relu4 = ReLU()
        self.fc3 = Linear(LAST, CLASSES)

    def forward(self, x: Float[Array4, "batch {side} {side} 1"]) -> Float[Array2, "batch 10"]:
        images = self.pad.forward(x)
        images = self.pool1.forward(self.relu1.forward(self.conv1.forward(images)))
        images = self.pool2.forward(self.relu2.forward(self.conv2.forward(images)))
        features = self.flatten.forward(images)
        features = self.relu3.forward(self.fc1.forward(features))
        features = self.relu4.forward(self.fc2.forward(features))
        return self.fc3.forward(features)

    def backward(self, next_grad: Float[Array2, "batch 10"]) -> Net{number}Grad:
        fc3 = self.fc3.backward(next_grad)
        fc2 = self.fc2.backward(self.relu4.backward(fc3.input).input)
        fc1 = self.fc1.backward(self.relu3.backward(fc2.input).input)
        images = self.flatten.backward(fc1.input).input
        conv2 = self.conv2.backward(self.relu2.backward(self.pool2.backward(images).input).input)
        conv1 = self.conv1.backward(self.relu1.backward(self.pool1.backward(conv2.input).input).input)
        return Net{number}Grad(self.pad.backward(conv1.input).input, conv1, conv2, fc1, fc2, fc3)
"""

STACKED = """

chain{number} = (
    Input({side}, {side}, 1)
    >> Pad2d({padding})
    >> Conv2d(1, NARROW, {kernel})
    >> ReLU()
    >> MaxPool2d(2)
    >> Conv2d(NARROW, WIDE, {kernel})
    >> ReLU()
    >> MaxPool2d(2)
    >> Flatten()
{rest})


def scores{number}(x: Float[Array4, "batch {side} {side} 1"]) -> Float[Array2, "batch 10"]:
    return chain{number}.forward(x)
"""

# The layers after Flatten; the whole chain has 9, 10, 11, 12 or 13 layers.
RESTS = (
    ["Linear({left} * {left} * WIDE, CLASSES)"],
    ["Linear({left} * {left} * WIDE, CLASSES)", "Softmax()"],
    ["Linear({left} * {left} * WIDE, HIDDEN)", "ReLU()", "Linear(HIDDEN, CLASSES)"],
    ["Linear({left} * {left} * WIDE, HIDDEN)", "ReLU()", "Linear(HIDDEN, CLASSES)", "Softmax()"],
    ["Linear({left} * {left} * WIDE, HIDDEN)", "ReLU()", "Linear(HIDDEN, LAST)", "ReLU()", "Linear(LAST, CLASSES)"],
)


def model(number: int, by_hand: bool) -> str:
    """The source of one model; its number determines its sizes."""
    side, padding, kernel = 20 + 4 * (number % 5), number % 3, (3, 5)[number % 2]
    left = side + 2 * padding
    for _ in range(2):
        left = (left - kernel + 1) // 2
    rest = "".join(f"    >> {layer.format(left=left)}\n" for layer in RESTS[number % len(RESTS)])
    return (BY_HAND if by_hand else STACKED).format(
        number=number, side=side, padding=padding, kernel=kernel, left=left, rest=rest
    )


def sources(models: int, modules: int) -> dict[str, str]:
    """The project's file names and sources. The first half of the models is hand-written, the second half stacked."""
    files = {"sizes.py": SIZES, "libraries.py": LIBRARIES}
    for module in range(modules):
        numbers = range(module, models, modules)
        files[f"models_{module:02}.py"] = HEADER.format(first=module) + "".join(
            model(number, number < models // 2) for number in numbers
        )
    return files


@dataclass
class Project:
    """The files, an optional fault in them, and runs of mypy on them."""

    folder: Path
    models: int
    modules: int
    _timestamps: Iterator[int] = field(default_factory=lambda: count(int(time.time()) - 1_000_000, 10))

    def __post_init__(self) -> None:
        for name, text in sources(self.models, self.modules).items():
            self.write(name, text)
        for side, plugins in zip(SIDES, ("", "plugins = typednn.mypy_plugin\n"), strict=True):
            (self.folder / f"{side}.ini").write_text(f"[mypy]\nstrict = true\n{plugins}", encoding="utf-8")

    def write(self, name: str, text: str) -> None:
        """Write with a new timestamp: mypy takes a file with the same size and second as unchanged."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        timestamp = next(self._timestamps)
        os.utime(path, (timestamp, timestamp))

    def set_fault(self, wrong: bool) -> tuple[str, int]:
        """Make one line of the last stacked model wrong, or right again; return its file and line."""
        name = f"models_{(self.models - 1) % self.modules:02}.py"
        text = sources(self.models, self.modules)[name]
        *_, size = re.finditer(r"Linear\(\d+ ", text)
        self.write(name, text[: size.start()] + "Linear(1000 " + text[size.end() :] if wrong else text)
        return name, text.count("\n", 0, size.start()) + 1

    def resize(self, hidden: int) -> None:
        """Change a constant; every model stays right."""
        self.write("sizes.py", SIZES.replace("120", str(hidden)))

    def _run(self, command: Sequence[str]) -> tuple[float, list[str]]:
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=self.folder, capture_output=True, text=True, check=False
        )
        taken = time.perf_counter() - start
        if done.returncode not in (0, 1) or done.stderr:
            raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return taken, [line for line in done.stdout.splitlines() if ": error:" in line]

    def mypy(self, side: str, cache: Path, *files: str) -> tuple[float, list[str]]:
        """Seconds of a new process, and its errors."""
        return self._run(["mypy", "--config-file", f"{side}.ini", "--cache-dir", str(cache), *(files or ["."])])

    @contextmanager
    def daemon(self, side: str) -> Iterator[Callable[[], tuple[float, list[str]]]]:
        """A dmypy that has read the project; a call returns seconds and errors of a check."""
        dmypy = ["mypy.dmypy", "--status-file", f"{side}.json"]
        options = ["--config-file", f"{side}.ini", "--cache-dir", str(self.folder / f"{side}-daemon")]
        self._run([*dmypy, "start", "--timeout", "600", "--", *options])
        try:
            self._run([*dmypy, "check", "."])
            yield lambda: self._run([*dmypy, "check", "."])
        finally:
            self._run([*dmypy, "stop"])


def expect(what: str, errors: list[str], at: tuple[str, int] | None) -> None:
    """Exit unless mypy found exactly one error at that file and line, or none."""
    places = [tuple(line.split(":")[:2]) for line in errors]
    if places != ([] if at is None else [(at[0], str(at[1]))]) or (at is not None and "[shape]" not in errors[0]):
        expected = "nothing" if at is None else f"one [shape] error at {at[0]}:{at[1]}"
        raise SystemExit(f"wrong results, {what}: expected {expected}, mypy found\n" + "\n".join(errors or ["nothing"]))


def compare(project: Project, scratch: Path) -> None:
    """Check the results of both sides, with and without the fault."""
    for side in SIDES:
        shutil.copytree(scratch / f"libraries-{side}", scratch / f"compared-{side}")
    for wrong in (True, False):
        fault = project.set_fault(wrong)
        for side in SIDES:
            _, errors = project.mypy(side, scratch / f"compared-{side}")
            title = f"{'one fault' if wrong else 'no fault'}, {side}"
            expect(title, errors, fault if wrong and side == "plugin" else None)
            print(f"  {title + ':':24}{errors[0] if errors else 'nothing found'}")


Times = dict[str, dict[str, list[float]]]


def processes(project: Project, scratch: Path, rounds: int) -> Times:
    """Seconds of new processes."""
    times: Times = {what: {side: [] for side in SIDES} for what in ("empty", "fresh", "warm")}
    for turn in range(rounds):
        for side in SIDES if turn % 2 else reversed(SIDES):
            empty, fresh = scratch / f"empty-{side}-{turn}", scratch / f"fresh-{side}-{turn}"
            shutil.copytree(scratch / f"libraries-{side}", fresh)
            for what, cache in (("empty", empty), ("fresh", fresh), ("warm", empty)):
                taken, errors = project.mypy(side, cache)
                expect(f"{what}, {side}", errors, None)
                times[what][side].append(taken)
            shutil.rmtree(empty)
            shutil.rmtree(fresh)
    return times


def daemons(project: Project, rounds: int) -> Times:
    """Seconds of ``dmypy check`` after edits; each side has one daemon, and both see every edit."""
    times: Times = {what: {side: [] for side in SIDES} for what in ("edit", "sizes")}
    with project.daemon(SIDES[0]) as without, project.daemon(SIDES[1]) as plugin:
        checks = dict(zip(SIDES, (without, plugin), strict=True))
        for turn in range(rounds):
            for edit in ("wrong", "right", "sizes"):
                fault = None
                if edit == "sizes":
                    project.resize(121 + turn)
                else:
                    fault = project.set_fault(edit == "wrong")
                for side in SIDES if turn % 2 else reversed(SIDES):
                    taken, errors = checks[side]()
                    expect(f"dmypy, {edit}, {side}", errors, fault if edit == "wrong" and side == "plugin" else None)
                    times["sizes" if edit == "sizes" else "edit"][side].append(taken)
    return times


def print_table(times: Times, judged: bool = True) -> bool:
    """Print the table; return whether the goals are met."""
    print(f"\n  {'seconds':8}{'without':>9}{'plugin':>9}{'adds':>9}{'ratio':>8}")
    passed = True
    for what, sides in times.items():
        pairs = list(zip(sides["without"], sides["plugin"], strict=True))
        without, plugin = median(sides["without"]), median(sides["plugin"])
        adds, ratio = median(on - off for off, on in pairs), median(on / off for off, on in pairs)
        goal = {
            "empty": (f"at most {EMPTY_GOAL:.0%} more", ratio <= 1 + EMPTY_GOAL),
            "warm": (f"at most {WARM_GOAL:g} s more", adds <= WARM_GOAL),
            "edit": (f"at most {EDIT_GOAL:g} s", plugin <= EDIT_GOAL),
        }.get(what)
        verdict = ""
        if goal is not None and judged:
            passed &= goal[1]
            verdict = f"  {'pass' if goal[1] else 'FAIL'}: {goal[0]}"
        print(f"  {what:8}{without:9.2f}{plugin:9.2f}{adds:+9.2f}{ratio:8.2f}{verdict}")
    return passed


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 0 if the goals are met."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mypy_plugin", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--rounds", type=int, default=7, help="turns of each measurement (default: %(default)s)")
    parser.add_argument(
        "--quick", action="store_true", help="4 models in 2 modules, one turn, no verdict: does it work?"
    )
    options = parser.parse_args(arguments)
    models, modules, rounds = (4, 2, 1) if options.quick else (100, 20, options.rounds)

    print(f"mypy plugin: {models} models in {modules} modules, medians of {rounds} turns")
    print(f"  {machine.described()}")
    print(f"  mypy {version('mypy')}, numpy {version('numpy')}, typednn {version('typednn')}")
    noise = machine.Noise.now()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        (scratch / "project").mkdir()
        project = Project(scratch / "project", models, modules)
        for side in SIDES:
            project.mypy(side, scratch / f"libraries-{side}", "libraries.py")
        compare(project, scratch)
        times = processes(project, scratch, rounds) | daemons(project, rounds)
    passed = print_table(times, judged=not options.quick)
    print(f"  {noise.until_now()}")
    if options.quick:
        print("\nnot judged: too small and too short to measure anything")
        return 0
    print("\nPASS: every goal is met" if passed else "\nFAIL: a goal is missed")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
