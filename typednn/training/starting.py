"""How a training starts: from the checkpoint of its run, and on all ranks of a job alike, as the first one does."""

import hashlib
import signal
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from typednn.arrays import is_array
from typednn.backends import to_numpy
from typednn.data.fingerprint import fingerprint
from typednn.module.module import Module
from typednn.optim.optimizer import GradientOptimizer
from typednn.parallel import Ranks
from typednn.runs.environment import differences, environment
from typednn.runs.restoring import bind, restore
from typednn.runs.run import Run
from typednn.runs.run_files import attempted
from typednn.runs.settings import read_settings, settings_of
from typednn.runs.state import TrainingState
from typednn.training.batches import Batches
from typednn.training.callbacks import Callback
from typednn.training.evaluation import Evaluation
from typednn.training.signals import Stop
from typednn.version import __version__


def resume(
    run: Run,
    model: Module,
    optimizer: Any,
    loader: Batches[Any, Any],
    callbacks: Sequence[Callback],
    state: TrainingState,
    settings: dict[str, Any],
) -> tuple[TrainingState, bool]:
    """Restore everything from the run's newest checkpoint, and start the metrics; the state, which is ``state`` where
    there is no checkpoint, and whether there is one.
    """
    run.require_lock()
    bind(optimizer, model)
    checkpoint = run.latest()
    if checkpoint is not None:
        changes = "; ".join(differences(checkpoint.environment, run.environment, str(model.dtype)))
        if changes:
            run.warn(f"the bits may differ from an uninterrupted run's: {changes}")
        restore(checkpoint, model, optimizer, loader)
        state = checkpoint.state
    run.start_metrics(state.metrics_bytes)
    run.write_start(state.step, model.device, settings)
    saved = [pair for row in state.callbacks for pair in row.items()]
    for callback in callbacks:
        index = next((index for index, (name, _) in enumerate(saved) if name == type(callback).__qualname__), None)
        if index is not None and (kept := saved.pop(index)[1]):
            callback.load_state_dict(kept)
    lost = ", ".join(dict.fromkeys(name for name, kept in saved if kept))
    if lost:
        run.warn(f"the checkpoint holds the state of a callback that is not there: {lost}")
    return state, checkpoint is not None


def start_callbacks(callbacks: Sequence[Callback], run: Run | None, config: str, settings: Mapping[str, Any]) -> None:
    """Tell the callbacks the settings, those of the run's recipe too."""
    if not callbacks:
        return
    folder = None if run is None else run.folder
    kept = None if folder is None else attempted([], read_settings, folder)
    told = kept or settings_of(config, settings)
    for callback in callbacks:
        callback.on_start(told, folder)


def agreed(ranks: Ranks, reason: str | None, stop: Stop) -> str | None:
    """Why the training ends on all ranks: the reason of the first one that has one. A signal to one is one to all."""
    found = ranks.first_reason(reason)
    if found is not None and found in signal.Signals.__members__:
        stop.signal = stop.signal or signal.Signals[found]
        ranks.all_leave()
    return found


def join(
    ranks: Ranks,
    model: Module,
    optimizer: Any,
    loader: Batches[Any, Any],
    state: TrainingState,
    settings: dict[str, Any],
    validation: Evaluation[Any, Any] | None,
    *,
    sharded: bool = False,
) -> TrainingState:
    """Weights, optimizer, position in the data and state of the first rank, on each; a `StateError` where ranks differ
    in versions, data, model or settings. The state of an optimizer that is ``sharded`` is sent later, in slices.

    A warning where the machines differ in what may change the bits. The weights are compared behind this: those that
    came must be those that were sent.
    """
    if ranks.size == 1:
        return state
    _compare_environments(ranks)
    ranks.require_equal("the data", str(getattr(loader, "fingerprint", str)()).encode())
    if validation is not None:
        measured = fingerprint(validation.x, validation.y, validation.labels, validation.sample_weight)
        ranks.require_equal(f"the {validation.split} data", measured.encode())
    arrays = {name: f"{array.shape} {array.dtype}" for name, array in model.state_dict().items()}
    ranks.require_equal("the model's arrays", repr(arrays).encode())
    ranks.require_equal("the settings", repr(settings).encode())
    learns = isinstance(optimizer, GradientOptimizer)
    if learns:
        bind(optimizer, model)
    given: Any = None
    if ranks.is_first:
        learnt = _on_host(optimizer.state_dict()) if learns and not sharded else None
        given = (_on_host(model.state_dict()), learnt, loader.state_dict(), state)
    begun: TrainingState
    weights, learnt, position, begun = ranks.from_first(given)
    if not ranks.is_first:
        model.load_state_dict(weights)
        loader.load_state_dict(position)
        if learnt is not None:
            optimizer.load_state_dict(learnt)
    weights_now = hashlib.sha256()
    for array in _on_host(model.state_dict()).values():
        weights_now.update(np.ascontiguousarray(array).data)
    ranks.require_equal("the weights", weights_now.digest())
    return begun


def _on_host(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays on the CPU, where MPI reads them, and all else as it is."""
    return {name: to_numpy(value) if is_array(value) else value for name, value in arrays.items()}


def _compare_environments(ranks: Ranks) -> None:
    """A `StateError` where versions differ; a warning, of the first rank, where anything else does that may change the
    bits.
    """
    facts = environment()
    python = ".".join(facts["python"].split(".")[:2])
    for name, version in (("typednn", __version__), ("NumPy", np.__version__), ("Python", python)):
        ranks.require_equal(f"the versions of {name}", version.encode(), version)
    every = ranks.every(facts)
    for rank, other in enumerate(every):
        found = "; ".join(differences(every[0], other))
        if found and ranks.is_first:
            warnings.warn(f"another number of ranks may give other bits: from rank 0 to {rank}, {found}", stacklevel=2)
