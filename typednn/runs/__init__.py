"""Runs: the folder of a training, its checkpoints, and what it recorded."""

from typednn.runs.run import Run, RunLocked, RunWarning

__all__ = ["Run", "RunLocked", "RunWarning"]
