"""X-A14: the operations of a node, a row each."""

import shutil
import subprocess
import sys
from pathlib import Path

import typednn
from typednn.graph.operations import OPERATIONS, Binary, Reduce, Unary

PACKAGE = Path(typednn.__file__).parent
FUNCTIONS = Path("graph/operations/functions.py")
LAST = '        cuda="expm1({0})",\n        weight=16,\n    )\n'
ROW = """    ARCTAN = UnaryRow(
        value=lambda xp, x: xp.arctan(x),
        derivative=lambda g, x, y: g / (1.0 + x * x),
        halide=lambda x: hl.atan(x),
        cuda="atan({0})",
        onnx="Atan",
        weight=16,
    )
"""
USE = """
from pathlib import Path

import numpy as np
from jaxtyping import Float

import typednn
from typednn import GraphElementwise, layers
from typednn.errors import DTypeError
from typednn.exchange import export_onnx, import_onnx
from typednn.graph import Tape, tensor
from typednn.graph.cuda import source
from typednn.graph.description import (Group)
from typednn.graph.grouping import (grouped, split_reductions)
from typednn.graph.interpreter import interpret
from typednn.graph.operations import Unary
from typednn.graph.passes import optimised
from typednn.graph.program import traced
from typednn.graph.tensor import (AnyTensor)
from typednn.random import PCG32

assert Path(typednn.__file__).is_relative_to(Path.cwd()), typednn.__file__
x = np.linspace(-3, 3, 101).astype(np.float32)
y = Unary.ARCTAN(tensor(x))
assert repr(y).startswith("Tensor(arctan("), repr(y)
program, leaves = traced([y.id])
(by_interpreter,) = interpret(program, [x])
np.testing.assert_allclose(by_interpreter, np.arctan(x), rtol=1e-6)
(group,) = grouped(split_reductions(optimised(program)))
assert isinstance(group, Group)
assert "atan(" in source(group.description)
np.testing.assert_allclose(y.numpy(), np.arctan(x), rtol=2e-6)

double = tensor(x.astype(np.float64))
with Tape() as tape:
    (slope,) = tape.gradient(Unary.ARCTAN(double).sum(), [double])
step = 1e-5
expected = (np.arctan(double.numpy() + step) - np.arctan(double.numpy() - step)) / (2 * step)
np.testing.assert_allclose(slope.numpy(), expected, rtol=1e-8)

try:
    Unary.ARCTAN(tensor(np.arange(3)))
except DTypeError as error:
    assert str(error).startswith("arctan: takes floats, got int64"), error
else:
    raise AssertionError("integers")
"""
ONNX = """

class Arctan(GraphElementwise[None]):
    def formula(self, x: Float[AnyTensor, "*shape"]) -> Float[AnyTensor, "*shape"]:
        return Unary.ARCTAN(x)


model = (layers.Linear(5, 4, rng=PCG32(1)) >> Arctan()).eval()
export_onnx(model, Path("a.onnx"), np.zeros((2, 5), np.float32))
assert b"Atan" in Path("a.onnx").read_bytes()
again = import_onnx(Path("a.onnx"))
batch = np.random.default_rng(1).normal(size=(7, 5)).astype(np.float32)
np.testing.assert_allclose(again(batch), model(batch), rtol=1e-5, atol=1e-6)
"""


def test_a_new_function_is_a_row_and_nothing_else(tmp_path: Path) -> None:
    """Value, derivative, both engines, messages and ONNX, both ways, come from one row."""
    copy = tmp_path / "typednn"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    before = (copy / FUNCTIONS).read_text()
    assert before.count(LAST) == 1
    (copy / FUNCTIONS).write_text(before.replace(LAST, LAST + ROW))
    (tmp_path / "use.py").write_text(USE + ONNX)
    found = subprocess.run([sys.executable, "use.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


def test_numbers_of_operations() -> None:
    """They are places in the table, each once, as nodes store them."""
    for kind in OPERATIONS.values():
        assert [int(each) for each in kind] == list(range(len(kind)))
        assert [kind(number) for number in range(len(kind))] == list(kind)


def test_every_operation_of_zyx_is_there() -> None:
    unary = "negative bitwise_not exp exp2 log log2 reciprocal sqrt sin cos floor trunc abs"
    binary = (
        "add subtract multiply divide power modulo less greater greater_equal maximum logical_or logical_and "
        "logical_xor "
        "bitwise_or bitwise_and left_shift right_shift not_equal equal"
    )
    assert {each.title for each in Unary} >= set(unary.split())
    assert {each.title for each in Binary} >= set(binary.split())
    assert {each.title for each in Reduce} >= {"sum", "max"}
