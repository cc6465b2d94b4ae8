"""The page for those who come from PyTorch names every class that they may look for, and only classes
that there are.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from typednn import layers, losses, optim

pytestmark = pytest.mark.parity

PAGE = Path(__file__).parents[2] / "docs" / "coming-from-pytorch.md"
OURS = {"Layer", "Sequential"} | {name for module in (layers, losses, optim) for name in module.__all__}


def rows() -> list[tuple[set[str], str]]:
    """PyTorch's names and the middle column, of every row of the four tables about classes."""
    lines = PAGE.read_text().split("## Layers")[1].splitlines()
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines if line.startswith("| `")]
    return [(set(re.findall(r"`(\w+)`", names)), ours) for names, ours, *_ in cells]


def public(module: Any, base: type) -> set[str]:
    return {
        name
        for name, kind in vars(module).items()
        if isinstance(kind, type) and issubclass(kind, base) and name.isidentifier() and name[0] != "_"
    }


def test_every_class_of_pytorch_is_named(torch: Any) -> None:
    theirs = public(torch.nn, torch.nn.Module) | public(torch.optim, torch.optim.Optimizer)
    theirs |= public(torch.optim.lr_scheduler, torch.optim.lr_scheduler.LRScheduler)
    named = set().union(*(names for names, _ in rows()))
    assert named == theirs


def test_every_class_of_ours_exists() -> None:
    for names, ours in rows():
        for name in re.findall(r"`(\w+)(?:\.\w+)?`", ours):
            assert name in OURS, (names, name)
        assert ours == "none" or "`" in ours or ours == "a function", names
