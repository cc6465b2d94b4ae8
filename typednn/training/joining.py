"""The ranks of a job begin a training alike: as the first one does, which has read the run's checkpoint."""

import signal
from typing import Any

import numpy as np

from typednn.module.module import Module
from typednn.optim.optimizer import GradientOptimizer
from typednn.parallel import Ranks
from typednn.runs.restoring import bind
from typednn.runs.state import TrainingState
from typednn.training.batches import Batches
from typednn.training.signals import Stop
from typednn.version import __version__


def agreed(ranks: Ranks, reason: str | None, stop: Stop) -> str | None:
    """Why the training ends on all ranks: the reason of the first one that has one. A signal to one is one to all."""
    found = ranks.first_reason(reason)
    if found is not None and found in signal.Signals.__members__ and stop.signal is None:
        stop.signal = signal.Signals[found]
    return found


def join(
    ranks: Ranks,
    model: Module,
    optimizer: Any,
    loader: Batches[Any, Any],
    state: TrainingState,
    settings: dict[str, Any],
) -> TrainingState:
    """Weights, optimizer, position in the data and state of the first rank, on each; a `StateError` where ranks differ
    in versions or settings.
    """
    ranks.require_equal("the versions", f"typednn {__version__}, NumPy {np.__version__}".encode())
    ranks.require_equal("the settings", repr(settings).encode())
    if ranks.size == 1:
        return state
    learns = isinstance(optimizer, GradientOptimizer)
    if learns:
        bind(optimizer, model)
    given: Any = None
    if ranks.is_first:
        given = (model.state_dict(), optimizer.state_dict() if learns else None, loader.state_dict(), state)
    begun: TrainingState
    weights, learnt, position, begun = ranks.from_first(given)
    if not ranks.is_first:
        model.load_state_dict(weights)
        loader.load_state_dict(position)
        if learns:
            optimizer.load_state_dict(learnt)
    return begun
