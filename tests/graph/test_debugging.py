"""What the bits of TYPEDNN_DEBUG print."""

import os
import re
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from typednn.engines import available, using
from typednn.errors import ArgumentError, StateError
from typednn.errors.debugging import Debug, debug
from typednn.graph import Tape, attention, exp, linear, log, maximum, reshape, softmax_cross_entropy, where
from typednn.graph.graph import GRAPH
from typednn.graph.kinds import CODES, Kind
from typednn.graph.nodes import tensor
from typednn.graph.tensor import AnyTensor

needs_halide = pytest.mark.skipif(not available(), reason="needs Halide")
SAYS = {
    Debug.ENGINE: "1 kernels and 0 other steps",
    Debug.TIMES: "µs kernel",
    Debug.GROUPS: "flat of 1 axes",
    Debug.PROGRAM: " = multiply %",
}


def printed(capsys: pytest.CaptureFixture[str], mask: int) -> str:
    capsys.readouterr()
    with debug(mask):
        (tensor(np.ones((3, 4), np.float32)) * 3.0 + 1.0).realize()
    output = capsys.readouterr()
    assert not output.out
    return output.err


@needs_halide
@pytest.mark.parametrize("bit", SAYS)
def test_each_bit_prints_its_part_alone(bit: Debug, capsys: pytest.CaptureFixture[str]) -> None:
    """X-A6, X-D14: a bit prints the engine, the times, the groups or the lowered program, and nothing of the others."""
    text = printed(capsys, bit)
    assert [other for other, word in SAYS.items() if word in text] == [bit]


@needs_halide
def test_sums_combine_and_nothing_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    """X-A5, X-A6: sums of bits print all of their parts; without a bit, and after the block, nothing is printed."""
    text = printed(capsys, Debug.TIMES + Debug.PROGRAM)
    assert [bit for bit, word in SAYS.items() if word in text] == [Debug.TIMES, Debug.PROGRAM]
    (tensor(np.ones(3, np.float32)) * 2.0).realize()
    assert capsys.readouterr().err == ""
    assert printed(capsys, 0) == ""
    (tensor(np.ones(3, np.float32)) * 3.0).realize()
    assert capsys.readouterr().err == ""


@needs_halide
def test_the_statement_of_a_new_program(capsys: pytest.CaptureFixture[str]) -> None:
    """X-A6: bit 16 prints the loops of the kernels of a program that is planned."""
    with debug(Debug.KERNELS):
        (tensor(np.ones((5, 4), np.float32)) * 3.0 + 1.25).realize()
    text = capsys.readouterr().err
    assert "statement" in text
    assert "for (" in text


def test_the_interpreter_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    """X-A6: bit 1 says that the interpreter computes, and why."""
    with using("reference"), debug(Debug.ENGINE):
        (tensor(np.ones(3, np.float32)) * 3.0).realize()
    assert "by the interpreter (engine reference)" in capsys.readouterr().err


def test_a_bit_checks_each_new_node(capsys: pytest.CaptureFixture[str]) -> None:
    """X-D8: bit 32 refuses a node whose shape is not what its inputs give, within its block; it prints nothing."""
    x = tensor(np.ones((2, 3), np.float32))

    def wrong() -> None:
        GRAPH.release(GRAPH.push(Kind.RESHAPE, 0, CODES[x.dtype], (2, 2), x.id))

    for mask in (Debug.CHECKS, Debug.CHECKS | Debug.GROUPS):
        with debug(mask):
            with debug(0):
                wrong()
            with pytest.raises(StateError, match="RESHAPE of shapes"):
                wrong()
    wrong()
    assert printed(capsys, Debug.CHECKS) == ""


MAKES_NAN = {
    "log of -2.0, the first at (1, 2) of 1": lambda x: (log(x) * 2.0).sum(),
    "divide of 0.0 and 0.0, the first at (0, 1) of 1": lambda x: exp((x - 2.0) / (x - 2.0)),
    "sum of (2, 3), the first at () of 1": lambda x: ((x - 3.0) / tensor(np.zeros((2, 3)))).sum(),
    "Attention of (1, 2, 1, 3) and (1, 2, 1, 3) and (1, 2, 1, 3), the first at (0, 0, 0, 0) of 6": lambda x: _attended(
        x * 1e300
    ),
    "Attention.backward of (1, 2, 1, 3) and": lambda x: _gradient(lambda x: _attended(x) * 1e308, x),
}
MAKES_NONE: dict[str, Callable[[AnyTensor], AnyTensor]] = {
    "what is kept": lambda x: _attended(x),
    "what is kept, backward": lambda x: _gradient(_attended, x),
    "backward": lambda x: _gradient(lambda x: linear(x, tensor(np.ones((4, 3)))), x),
    "labels": lambda x: _gradient(lambda x: softmax_cross_entropy(x, tensor(np.array([0, 2]))), x),
}


def _attended(x: AnyTensor) -> AnyTensor:
    heads = reshape(x, (1, 2, 1, 3))
    return attention(heads, heads, heads)


def _gradient(function: Callable[[AnyTensor], AnyTensor], x: AnyTensor) -> AnyTensor:
    tape = Tape()
    return tape.gradient(function(x).sum(), [x], zeros=True)[0]


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("said", MAKES_NAN)
def test_a_bit_finds_the_operation_that_makes_nan(said: str, engine: str) -> None:
    """Z-T7, X-A6: bit 128 names the operation that makes NaN of numbers, and the first place; NaN that was given is
    none it made.
    """
    x = np.array([[1.0, 2.0, 4.0], [3.5, 5.0, -2.0]])
    with using(engine), debug(Debug.NAN):
        with pytest.raises(StateError, match=re.escape(said)):
            MAKES_NAN[said](tensor(x)).realize()
        given = tensor(np.array([1.0, np.nan]))
        assert np.isnan((given * 2.0).sum().numpy())
        assert maximum(log(where(given > 0, given, 1.0)), 0.0).sum().item() == 0
    with using(engine):
        assert np.isnan(log(tensor(x)).numpy()).sum() == 1


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("case", MAKES_NONE)
def test_whole_ops_are_looked_at(case: str, engine: str) -> None:
    """X-A6: bit 128 lets whole ops through that make no NaN, whatever arrays they give and keep: the numbers are those
    without it.
    """
    x = tensor(np.array([[1.0, 2.0, 4.0], [3.5, 5.0, -2.0]]))
    with using(engine):
        with debug(Debug.NAN):
            found = MAKES_NONE[case](x).numpy()
        np.testing.assert_array_equal(found, MAKES_NONE[case](tensor(x.numpy())).numpy())


@pytest.mark.parametrize("mask", [-1, 256])
def test_other_masks_are_refused(mask: int) -> None:
    """X-A6: a mask that is no sum of bits is an error that names the bits."""
    with pytest.raises(ArgumentError, match="8 PROGRAM"), debug(mask):
        pass


@pytest.mark.parametrize(("value", "word"), [("8", "= multiply"), ("x", "TYPEDNN_DEBUG"), ("32", "")])
def test_the_variable_of_the_environment(value: str, word: str) -> None:
    """X-D8, X-D14: TYPEDNN_DEBUG=8 prints the lowered program, 32 checks nodes; what is no number is an error that
    names the variable.
    """
    code = (
        "import numpy as np; from typednn.graph.nodes import tensor; from typednn.graph.graph "
        "import GRAPH\n"
        f"(tensor(np.ones(3, np.float32)) * 3.0).realize(); assert GRAPH.checks == {value == '32'}"
    )
    environment = {**os.environ, "TYPEDNN_DEBUG": value, "TYPEDNN_ENGINE": "reference"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert word in done.stderr
    assert (done.returncode == 0) == (value != "x")
