"""Saving, counting, filling and moving of the parts that keep their own parameters (`typednn.module.foreign`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from typednn.backends import to_numpy
from typednn.module.tree import Node


def foreign_parts(model: Node) -> list[tuple[str, Any]]:
    """The parts that keep their parameters to themselves, by path."""
    return [(path, module) for path, module in model.named_modules() if type(module).foreign]


def ask(model: Node, method: str, *arguments: Any) -> list[tuple[str, Any]]:
    """The result of ``method`` of each of them; if one lacks it, an error that names it, before any is called."""
    methods = [(path, part.require(method)) for path, part in foreign_parts(model)]
    return [(path, function(*arguments)) for path, function in methods]


def ask_names(model: Node, method: str) -> dict[str, Any]:
    """The results, mappings by name, joined: each name under its part's path."""
    return {
        f"{path}.{name}" if path else name: value
        for path, values in ask(model, method)
        for name, value in values.items()
    }


def gradients(model: Node, grad: Any) -> dict[str, Any]:
    """The derivatives by their parameters, in the order of ``named_parameters``; after them any other derivative that a
    part gives.
    """
    found: dict[str, Any] = {}
    for path, part, gradient in _beside(model, grad, ""):
        below: dict[str, Any] = part.named_gradients(gradient)
        names = [name for name in part.known_names() if name in below]
        found |= {f"{path}.{name}" if path else name: below[name] for name in dict.fromkeys([*names, *below])}
    return found


def _beside(node: Node, grad: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Each of these parts with its path and its gradient."""
    if type(node).foreign:
        yield path, node, grad
    for name, child in node.children():
        if child.takes_update:
            yield from _beside(child, node.part_of(grad, name), f"{path}.{name}" if path else name)


def split(model: Node, state: Mapping[str, Any]) -> tuple[dict[str, Any], list[tuple[Any, dict[str, Any]]]]:
    """A saved state in two: what is the model's own, and each of these parts with what is its own."""
    own = dict(state)
    foreign_states: list[tuple[Any, dict[str, Any]]] = []
    for path, part in foreign_parts(model):
        prefix = f"{path}." if path else ""
        part.require("state_dict")
        part.require("load_state_dict")
        foreign_states.append(
            (part, {name.removeprefix(prefix): own.pop(name) for name in list(own) if name.startswith(prefix)})
        )
    return own, foreign_states


def load(foreign_states: list[tuple[Any, dict[str, Any]]]) -> None:
    """Load each part's state; where one refuses, it and those before it get their earlier state back."""
    before: list[tuple[Any, dict[str, Any]]] = []
    for part, state in foreign_states:
        before.append((part, {name: np.array(to_numpy(array)) for name, array in part.require("state_dict")().items()}))
        try:
            part.require("load_state_dict")(state)
        except Exception:
            for earlier, earlier_state in before:
                earlier.require("load_state_dict")(earlier_state)
            raise
