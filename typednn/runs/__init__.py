"""Runs: the folder of a training, its checkpoints, and what it recorded."""

from typing import TYPE_CHECKING

from typednn.errors.public import published
from typednn.runs.run import Run, RunLocked, RunWarning

__all__ = ["Run", "RunLocked", "RunWarning"]

if not TYPE_CHECKING:  # to type checkers, a name that is not above is a mistake
    __getattr__ = published(globals())
