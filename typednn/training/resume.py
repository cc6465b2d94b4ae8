"""Going on: what a checkpoint holds put back into model, optimizer, loader and generators, all of it or an error."""

from __future__ import annotations

from typing import Any

import numpy as np

from typednn.backends import to_numpy
from typednn.errors import CheckpointError, StateDictError, StateError, explain
from typednn.module import Module
from typednn.optim.optimizer import GradientOptimizer
from typednn.training.checkpoint import Checkpoint
from typednn.training.run import check_model, load_weights
from typednn.training.state import restore_generators


def bind(optimizer: object, model: Module) -> None:
    """Let the optimizer know the model's parameters by name, which saving needs, if it does not yet."""
    if not isinstance(optimizer, GradientOptimizer):
        got, cure = type(optimizer).__name__, "use one of typednn.optim, or derive yours from GradientOptimizer"
        raise StateError(explain("fit", "a run saves the optimizer by its state_dict()", got, cure))
    try:
        optimizer.state_dict()
    except StateError:
        optimizer.bind(model)


def restore(found: Checkpoint, model: Module, optimizer: Any, loader: Any) -> None:
    """A checkpoint of another model, optimizer or data is a `CheckpointError`; then optimizer, loader and weights are as they were."""
    where, name = str(found.folder), type(optimizer).__name__
    check_model(found, model)
    if found.optimizer_name != name:
        raise CheckpointError(explain(where, f"is of a training with {found.optimizer_name}", name, "use the config it was trained with"))
    before = {key: value if isinstance(value, int) else np.array(to_numpy(value)) for key, value in optimizer.state_dict().items()}
    position = loader.state_dict()
    try:
        optimizer.load_state_dict(found.optimizer)
        loader.load_state_dict(found.state.loader)
        restore_generators(where, model, found.state.generators)
        load_weights(found, model)
    except (StateDictError, CheckpointError) as error:
        optimizer.load_state_dict(before)
        loader.load_state_dict(position)
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"{where}: of another training: {error}") from None
