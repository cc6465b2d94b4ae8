"""typednn.graph as a whole: its names, and the example of its docstring."""

import ast
import inspect
import textwrap
from typing import get_origin

import pytest

from typednn import graph


def test_names_are_listed_and_documented() -> None:
    """Every public name says what it is."""
    assert graph.__all__ == sorted(set(graph.__all__))
    for name in graph.__all__:
        named = getattr(graph, name)
        assert inspect.getdoc(get_origin(named) or named), f"typednn.graph.{name} says nothing of itself"


def test_example_of_the_docstring_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """X-D1, X-A1: ten lines, as they are printed."""
    example = textwrap.dedent((graph.__doc__ or "").split("\n\n")[1] + "\n\n" + (graph.__doc__ or "").split("\n\n")[2])
    assert len(ast.parse(example).body) > 4
    exec(compile(example, "docstring", "exec"), {})
    assert capsys.readouterr().out.count("\n") == 3
