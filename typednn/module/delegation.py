"""What a model asks of the parts that keep their own parameters (`typednn.module.foreign`): saving, counting, filling, moving."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from typednn.backends import to_numpy
from typednn.module.tree import Node


def foreign_parts(model: Node) -> list[tuple[str, Any]]:
    """The parts that keep their parameters to themselves, by path."""
    return [(path, module) for path, module in model.named_modules() if type(module).foreign]


def ask(model: Node, method: str, *arguments: Any) -> list[tuple[str, Any]]:
    """What each of them answers; if one lacks the method, an error that names it, before any is asked."""
    methods = [(path, part.require(method)) for path, part in foreign_parts(model)]
    return [(path, answer(*arguments)) for path, answer in methods]


def ask_names(model: Node, method: str) -> dict[str, Any]:
    """What they answer by name, each name under its part's path."""
    return {f"{path}.{name}" if path else name: value for path, answer in ask(model, method) for name, value in answer.items()}


def split(model: Node, state: Mapping[str, Any]) -> tuple[dict[str, Any], list[tuple[Any, dict[str, Any]]]]:
    """A saved state in two: what is the model's own, and each of these parts with what is its own."""
    own = dict(state)
    theirs: list[tuple[Any, dict[str, Any]]] = []
    for path, part in foreign_parts(model):
        prefix = f"{path}." if path else ""
        part.require("state_dict")
        part.require("load_state_dict")
        theirs.append((part, {name.removeprefix(prefix): own.pop(name) for name in list(own) if name.startswith(prefix)}))
    return own, theirs


def load(theirs: list[tuple[Any, dict[str, Any]]]) -> None:
    """Hand each part its state; where one refuses, it and those before it get back what they had."""
    before: list[tuple[Any, dict[str, Any]]] = []
    for part, state in theirs:
        before.append((part, {name: np.array(to_numpy(array)) for name, array in part.require("state_dict")().items()}))
        try:
            part.require("load_state_dict")(state)
        except Exception:
            for earlier, had in before:
                earlier.require("load_state_dict")(had)
            raise
