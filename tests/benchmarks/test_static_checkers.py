"""The comparison of static checkers: its programs, its verdicts, and the overlay for Pyrefly against what stacking
says.

What needs Pyrefly runs where ``PYREFLY`` names the program (in an environment that has its stubs and typednn); else it
is skipped.
"""

import ast
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

import typednn
import typednn.layers
from benchmarks.static_checkers import libraries, overlay, run
from benchmarks.static_checkers.bodies import __main__ as bodies
from typednn.shapes import Flow

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs" / "static-checks-compared.md"
PROGRAMS = [*run.programs("typednn"), *run.programs("torch"), *run.programs("bodies")]
PYREFLY = os.environ.get("PYREFLY")

# Bodies that were not put to other checkers yet, so that the page says nothing of them.
NOT_COMPARED = {
    "aliased_rows",
    "any_rank_axes",
    "any_rank_product",
    "awaited_rows",
    "batches_in_a_list",
    "batches_of_a_file",
    "declared_list",
    "either_precision",
    "fields_of_a_batch",
    "gathered_in_a_list",
    "leading_columns",
    "logged_calls",
    "opened_memory",
    "parameters_by_name",
    "power_spectrum",
    "random_offsets",
    "random_weights",
    "rows_collected",
    "stretched_batches",
    "windowed_average",
    "zipped_fields",
}

needs_pyrefly = pytest.mark.skipif(PYREFLY is None, reason="PYREFLY names no Pyrefly with stubs")
needs_syntax = pytest.mark.skipif(not hasattr(ast, "TypeVar"), reason="Pyrefly's syntax is that of Python 3.12")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_program(path: Path) -> None:
    """One mistake each, and both versions are Python."""
    text = path.read_text(encoding="utf-8")
    right = run.put_right(text)
    line = run.mistake_line(text)
    changed = [
        number
        for number, pair in enumerate(zip(text.splitlines(), right.splitlines(), strict=True), 1)
        if pair[0] != pair[1]
    ]
    assert changed == [line]
    assert "right:" not in right
    ast.parse(text)
    ast.parse(right)


def test_two_mistakes_are_refused() -> None:
    with pytest.raises(ValueError, match="one line with '# right:', got 2"):
        run.mistake_line("a = 1  # right: a = 2\nb = 1  # right: b = 2\n")


def test_torch_lacks_backward_only() -> None:
    names = {folder: {path.stem for path in run.programs(folder)} for folder in ("typednn", "torch")}
    assert names["typednn"] - names["torch"] == {"09_backward", "12_update"}
    assert names["torch"] <= names["typednn"]


def test_each_body_has_an_equivalent() -> None:
    names = [path.stem for path in run.programs("bodies")]
    faulty = {path.stem for path in (bodies.BODIES / "faulty").glob("*.py")}
    assert faulty >= NOT_COMPARED
    assert names == sorted(faulty - NOT_COMPARED)
    for path in run.programs("bodies"):
        subject = (bodies.BODIES / "faulty" / path.name).read_text(encoding="utf-8").splitlines()[0]
        assert path.read_text(encoding="utf-8").splitlines()[0] == subject.replace("; runs all the same", "")


def test_line_of_a_change() -> None:
    assert bodies.changed_line(bodies.BODIES / "faulty" / "max_pool.py") == 23


def test_verdicts() -> None:
    here, there = run.Finding(7, "here"), run.Finding(12, "there")
    assert run.Verdict.on(7, [], []) == run.Verdict("silent", "")
    assert run.Verdict.on(7, [there, here], []) == run.Verdict("where written", "here")
    assert run.Verdict.on(7, [there], []) == run.Verdict("line 12, not 7", "line 12: there")
    assert run.Verdict.on(7, [here], [here]).where == "refused, right too"


def test_plain_tensors_have_no_sizes() -> None:
    for path in run.programs("torch"):
        assert "Shaped[Tensor" not in run.plain_tensors(path.read_text(encoding="utf-8"))


def column(title: str) -> dict[str, str]:
    """One column of the page's table."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    head = next(row for row in rows if title in row)
    return {row[0]: row[head.index(title)] for row in rows if re.match(r"\d\d_", row[0])}


@pytest.mark.parametrize(
    "checker",
    [
        run.Checker("mypy + plugin", "typednn", run.mypy_with_plugin),
        run.Checker("no checker: run", "typednn", run.running),
    ],
    ids=lambda checker: checker.title,
)
def test_the_page_says_what_is_found(checker: run.Checker) -> None:
    assert {name: verdict.where for name, verdict in run.verdicts(checker).items()} == column(checker.title)


def test_where_attributes_come_from() -> None:
    pool = ["kernel_size[0]", "kernel_size[1]", "stride[0]", "stride[1]", "dilation[0]"]
    given = {"kernel_size": 1, "stride": None, "dilation": None}
    found = ["given_kernel_size"] * 4 + ["1"]
    assert overlay._origins(typednn.layers.MaxPool2d, given, pool) == found
    pairs = {"kernel_size": 2, "stride": 1, "dilation": None}
    found = ["given_kernel_size_0", "given_kernel_size_1", "given_stride", "given_stride", "1"]
    assert overlay._origins(typednn.layers.MaxPool2d, pairs, pool) == found
    assert overlay._origins(typednn.layers.MaxPool2d, {"kernel_size": 3}, pool) is None


@needs_syntax
def test_stub_of_linear() -> None:
    stub = overlay.layers_stub(typednn.layers.linear)
    assert "class Linear[in_features_: _IntVar, out_features_: _IntVar](Layer[Array2, Array2, LinearGrad, Any])" in stub
    assert (
        "_numpy.ndarray[[batch, in_features_], _numpy.dtype[Any]]) -> _numpy.ndarray[[batch, out_features_], "
        "_numpy.dtype[Any]]" in stub
    )
    assert "grad: LinearGrad[int, in_features_, out_features_]" in stub


@needs_syntax
def test_every_stub_is_python(tmp_path: Path) -> None:
    overlay.write_overlay(tmp_path)
    stubs = list(tmp_path.rglob("*.pyi"))
    assert {stub.stem for stub in stubs} >= {"layer", "linear", "conv2d", "residual"}
    for stub in stubs:
        compile(stub.read_text(encoding="utf-8"), str(stub), "exec")


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert PYREFLY is not None
    folder = tmp_path_factory.mktemp("overlay")
    command = [
        Path(PYREFLY).parent / "python",
        "-m",
        "benchmarks.static_checkers.overlay",
        folder,
        "--module",
        "own_layers",
    ]
    own = run.put_right((REPOSITORY / "benchmarks/static_checkers/typednn/11_own_layer.py").read_text(encoding="utf-8"))
    (folder / "own_layers.py").write_text(own.replace("model = ", "# "), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(folder)])}
    subprocess.run(list(map(str, command)), check=True, env=environment, cwd=folder)
    return folder


def refused(place: Path, stubs: Path, text: str) -> dict[int, str]:
    """Line by line, what Pyrefly says of a program."""
    assert PYREFLY is not None
    (place / "program.py").write_text(text, encoding="utf-8")
    return {finding.line: finding.message for finding in run.pyrefly(Path(PYREFLY), stubs)(place).get("program", [])}


def random_stack(rng: random.Random) -> str:
    """A stack with a declared input, mostly of layers that fit so far."""
    sizes = [rng.randint(6, 30), rng.randint(6, 30), rng.randint(1, 4)] if rng.random() < 0.75 else [rng.randint(2, 9)]
    text = f"Input({', '.join(map(str, sizes))})"

    def pair(least: int, most: int) -> str:
        a, b = rng.randint(least, most), rng.randint(least, most)
        return rng.choice([str(a), f"({a}, {b})"])

    for _ in range(rng.randint(1, 7)):
        now = evaluated(text).trace(Flow.start(None)).sizes() if " >> " in text else tuple(sizes)
        given = now[-1] if rng.random() < 0.9 else rng.randint(1, 9)
        images = (len(now) == 3) != (rng.random() < 0.03)
        dilation, stride = f"dilation={pair(1, 2)}", pair(1, 3)
        extra = rng.choice(["", f", {stride}", f", stride={stride}", f", {stride}, {dilation}", f", {dilation}"])
        kinds = [rng.choice(["ReLU()", "Tanh()", "PReLU()", "Identity()"])]
        if images:
            kinds += [f"Conv2d({given}, {rng.randint(1, 9)}, {pair(1, 4)}{extra})"] * 2
            kinds += [f"MaxPool2d({pair(1, 3)}{extra})", f"Pad2d({rng.choice(['1', '(1, 0, 2, 1)'])})", "Flatten()"]
            kinds += [f"Residual(Conv2d({now[-1]}, {given}, 1))"]
        else:
            kinds += [f"Linear({given}, {rng.randint(1, 9)})"] * 3 + [
                "Softmax()",
                f"Residual(Linear({now[-1]}, {given}))",
            ]
        text += f" >> {rng.choice(kinds)}"
        if verdict(text):
            break
    return text


def evaluated(text: str) -> typednn.Layer:
    return eval(text, {"Input": typednn.Input, **vars(typednn.layers)})


def verdict(text: str) -> str:
    try:
        evaluated(text)
    except typednn.TypednnError as error:
        return str(error)
    return ""


@needs_pyrefly
def test_overlay_agrees_with_stacking(tmp_path: Path, stubs: Path) -> None:
    """No stack that can be built is refused. Missed: a kernel larger than its image, and what comes before a residual
    block.
    """
    rng = random.Random(0)
    stacks = [random_stack(rng) for _ in range(200)]
    lines = ["from typednn import Input", "from typednn.layers import *", *stacks]
    found = refused(tmp_path, stubs, "\n".join(lines) + "\n")
    expected = {number: verdict(text) for number, text in enumerate(lines, 1) if number > 2}
    assert sum(map(bool, expected.values())) > 20
    assert sum(not said for said in expected.values()) > 20
    assert [lines[line - 1] for line, said in expected.items() if not said and line in found] == []
    missed = [
        (said, lines[line - 1].split(" >> ")[-1]) for line, said in expected.items() if said and line not in found
    ]
    unexplained = [
        last for said, last in missed if "kernel does not fit" not in said and not last.startswith("Residual(")
    ]
    assert unexplained == []


@needs_pyrefly
def test_overlay_of_ones_own_module(tmp_path: Path, stubs: Path) -> None:
    text = (
        "from own_layers import Scale\nfrom typednn.layers import Linear\nLinear(4, 8) >> Scale(8)\nLinear(4, 8) >> "
        "Scale(9)\n"
    )
    assert list(refused(tmp_path, stubs, text)) == [4]


@needs_pyrefly
def test_unknown_sizes_are_silent(tmp_path: Path, stubs: Path) -> None:
    text = """from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear
def build(n: int, kernel: tuple[int, int]) -> None:
    Input(28, 28, 1) >> Conv2d(1, 6, n) >> Flatten() >> Linear(400, 10)
    Input(28, 28, 1) >> Conv2d(1, 6, kernel) >> Flatten() >> Linear(400, 10)
    Input(28, n, 1) >> Conv2d(1, 6, 3) >> Flatten() >> Linear(400, 10)
    Linear(4, n) >> Linear(9, n)
    Input(28, 28, 1) >> Conv2d(2, n, 3)
"""
    assert list(refused(tmp_path, stubs, text)) == [8]


@needs_pyrefly
def test_overlay_reads_lenet5(tmp_path: Path, stubs: Path) -> None:
    """The library's own, by hand and stacked, is not refused."""
    source = REPOSITORY / "typednn" / "models" / "lenet5.py"
    assert refused(tmp_path, stubs, source.read_text(encoding="utf-8")) == {}


def test_pyrefly_answers_are_read(tmp_path: Path) -> None:
    """Its JSON, without Pyrefly: a program that prints such a report."""
    report = {
        "errors": [{"line": 3, "path": "program.py", "severity": "error", "description": "no"}, {"severity": "info"}]
    }
    program = tmp_path / "pyrefly"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(report)}\nEND\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    assert run.pyrefly(program)(tmp_path) == {"program": [run.Finding(3, "no")]}


def test_pyrefly_reads_which_names_are_axes() -> None:
    """Its copies of programs with jaxtyping's strings declare them; the rest of a program stays as it is."""
    program = (
        '"""Doc."""\n\nfrom __future__ import annotations\n\n\n@jit\n'
        'def f(x: Float[Array, "*b height-4 {n} _r 3"], y: "int") -> Float[Array, "b c"]:\n'
        "    return x\n\n\ndef plain(n: int) -> int:\n    return n\n"
    )
    changed = libraries.declared(program).splitlines()
    added = ["from shape_extensions import static_jaxtyping", '@static_jaxtyping("*b height b c")']
    assert [line for line in changed if line not in program.splitlines()] == added
    assert [line for line in changed if line not in added] == program.splitlines()
    assert changed.index("@jit") == changed.index(added[1]) + 1


def test_what_jaxtyc_and_torchtyc_print_is_read(tmp_path: Path) -> None:
    program = tmp_path / "torchtyc"
    said = "torchy.py:5:1: info[trace-retried]\n  again\ntorchy.py:6:12: error[trace-error]\n  RuntimeError: no\n"
    program.write_text(f"#!{sys.executable}\nprint({said!r})\n")
    program.chmod(0o755)
    (tmp_path / "torchy.py").touch()
    assert libraries.tyc(program)(tmp_path) == {"torchy": [run.Finding(6, "RuntimeError: no")]}
