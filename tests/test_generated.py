"""Code that is made at run time has lines: in tracebacks, debuggers and `inspect`."""

import gc
import importlib
import inspect
import linecache
import pkgutil
import traceback
from typing import Any

import numpy as np
import pytest

from typednn import kernels
from typednn.errors import ShapeError
from typednn.errors.tracebacks import fold
from typednn.generated import execute
from typednn.kernels.op import OPS
from typednn.shapes.compiled import outcome

for each in pkgutil.iter_modules(kernels.__path__):
    importlib.import_module(f"typednn.kernels.{each.name}")


def made(title: str = "a test") -> Any:
    scope: dict[str, Any] = {}
    execute("def outer(x):\n    def inner(y):\n        return x / y\n    return inner\n", title, scope)
    return scope["outer"]


def test_a_traceback_shows_the_line() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        made("a quotient")(1)(0)
    (*_, last) = traceback.extract_tb(caught.value.__traceback__)
    assert last.line == "return x / y"
    assert last.filename.startswith("<typednn: a quotient, ")


def test_the_source_is_found() -> None:
    assert inspect.getsource(made()(1)) == "    def inner(y):\n        return x / y\n"


def test_lines_go_with_the_last_function() -> None:
    outer = made()
    inner, filename = outer(1), outer.__code__.co_filename
    assert filename in linecache.cache
    del outer
    gc.collect()
    linecache.checkcache()
    assert inspect.getsource(inner).startswith("    def inner")
    del inner
    gc.collect()
    assert filename not in linecache.cache


def test_its_lines_are_typednn_s() -> None:
    """A traceback of a user's mistake ends above them."""
    scope: dict[str, Any] = {"ShapeError": ShapeError}
    execute("def refuse():\n    raise ShapeError('no')\n", "a refusal", scope)
    with pytest.raises(ShapeError) as caught:
        scope["refuse"]()
    fold(caught.value)
    assert [line.name for line in traceback.extract_tb(caught.value.__traceback__)] == ["test_its_lines_are_typednn_s"]


@pytest.mark.parametrize("name", sorted(OPS))
def test_the_dispatch_of_every_op(name: str) -> None:
    assert inspect.getsource(OPS[name].run).startswith("def run(")
    assert inspect.getsource(OPS[name].engine).startswith("def engine(")


def test_the_comparison_of_sizes() -> None:
    assert "s0 = shape" in inspect.getsource(outcome("batch 3", "batch 4"))


def test_the_call_of_a_kernel() -> None:
    """Of each that this process has."""
    x = np.ones((3, 1025), np.float32)
    OPS["gelu.forward"].run(x)
    found = {
        name: "".join(linecache.getlines(name))
        for name in list(linecache.cache)
        if name.startswith("<typednn: call of ")
    }
    assert found
    assert all(source.startswith("def call(") for source in found.values())
