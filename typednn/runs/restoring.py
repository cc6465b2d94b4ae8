"""A checkpoint into a model, an optimizer and a loader, where it fits them."""

from typing import Any

import numpy as np

from typednn.backends import to_numpy
from typednn.errors import CheckpointError, StateDictError, StateError, explain
from typednn.layer import Parts
from typednn.module.module import Module
from typednn.module.printing import rows
from typednn.optim.optimizer import GradientOptimizer
from typednn.runs.checkpoint import Checkpoint
from typednn.runs.state import restore_generators


def check_model(checkpoint: Checkpoint, model: Module) -> None:
    """A `CheckpointError` with the first layer that differs, where the checkpoint is of a model with other layers."""
    saved, current = _lines(checkpoint.model), _lines(structure(model))
    if checkpoint.model and saved != current:
        before, now = next((a, b) for a, b in zip([*saved, ""], [*current, ""], strict=False) if a != b)
        raise CheckpointError(
            explain(
                str(checkpoint.folder),
                f"is of a model with {before!r}",
                repr(now),
                "use the config it was trained with",
            )
        )


def structure(model: Module) -> list[list[str]]:
    """Of each module its name, what it is, its parameters' shapes, and their count.

    A chain is a ``Chain``, of whatever class and fused or not: the same parts have the same parameters and results.
    """
    return [
        [name, "Chain" if isinstance(module, Parts) else kind, *rest]
        for (name, kind, *rest), (_, module) in zip(rows(model), model.named_modules(), strict=True)
    ]


def _lines(model: list[list[str]] | str) -> list[str]:
    """A line for each module. Before version 2 a checkpoint held the model as it prints, its total in the last line."""
    if not isinstance(model, str):
        return [" ".join(" ".join(row).split()) for row in model]
    return [
        " ".join([*words[:-1], "Chain"] if words and words[-1] in ("Sequential", "Stack", "Fused") else words)
        for words in map(str.split, model.splitlines()[:-1])
    ]


def load_weights(checkpoint: Checkpoint, model: Module, *, averaged: bool = True) -> None:
    """Fill ``model``; a `CheckpointError` says how a checkpoint of another model differs.

    Where the optimizer averaged the weights, these are the averages, which were evaluated; to train on,
    ``averaged=False``.
    """
    check_model(checkpoint, model)
    optimizer, weights = checkpoint.optimizer, checkpoint.weights
    averages = {
        name: optimizer[f"{name}.ema"].astype(array.dtype)
        for name, array in weights.items()
        if f"{name}.ema" in optimizer
    }
    try:
        model.load_state_dict(weights | averages if averaged else weights)
    except StateDictError as error:
        raise CheckpointError(f"{checkpoint.folder}: of another model: {error}") from None


def restore(checkpoint: Checkpoint, model: Module, optimizer: Any, loader: Any) -> None:
    """A checkpoint of another model, optimizer or data is a `CheckpointError`; optimizer, loader and weights are then
    unchanged.
    """
    where, name = str(checkpoint.folder), type(optimizer).__name__
    check_model(checkpoint, model)
    if checkpoint.optimizer_name != name:
        raise CheckpointError(
            explain(
                where, f"is of a training with {checkpoint.optimizer_name}", name, "use the config it was trained with"
            )
        )
    before = {
        key: value if isinstance(value, int) else np.array(to_numpy(value))
        for key, value in optimizer.state_dict().items()
    }
    position = loader.state_dict()
    try:
        optimizer.load_state_dict(checkpoint.optimizer)
        loader.load_state_dict(checkpoint.state.loader)
        restore_generators(where, model, checkpoint.state.generators)
        load_weights(checkpoint, model, averaged=False)
    except (StateDictError, CheckpointError) as error:
        optimizer.load_state_dict(before)
        loader.load_state_dict(position)
        raise (
            error if isinstance(error, CheckpointError) else CheckpointError(f"{where}: of another training: {error}")
        ) from None


def bind(optimizer: object, model: Module) -> None:
    """Bind the optimizer to the model, which saving, groups and averages need, unless it is bound."""
    if not isinstance(optimizer, GradientOptimizer):
        raise StateError(
            explain(
                "fit",
                "a run saves the optimizer by its state_dict()",
                type(optimizer).__name__,
                "use one of typednn.optim, or derive yours from GradientOptimizer",
            )
        )
    try:
        optimizer.state_dict()
    except StateError:
        optimizer.bind(model)
