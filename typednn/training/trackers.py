"""Trackers: a training's settings, numbers and end in MLflow or in Weights & Biases, by their own clients.

    fit(model, loss, optimizer, loader, epochs=5, callbacks=MLflow(experiment_name="digits"))

Numbers have the names that TensorBoard's have (`typednn.training.events`). A tracker that fails, at whatever moment,
warns once and is silent from then on: the training goes on, with the same bits. With a run, its checkpoints hold the
tracker's identifier, so a resumed training continues the same series.
"""

import os
import time
import warnings
from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from typing import Any, Literal, TypeAlias, final

from typednn.errors import ArgumentError, CallError, explain, optional, printable, shown, suggestion
from typednn.errors.tracebacks import caller_level
from typednn.runs.checksums import CONFIGS
from typednn.runs.history import Epoch, History, Measured
from typednn.training.events import Recorder

End: TypeAlias = Literal["finished", "failed", "killed"]
_MOST = 500  # numbers that wait: MLflow takes 1,000 at once
_AT_ONCE = 100  # settings that MLflow takes at once
_NAME = 250  # characters of a name that MLflow keeps
_CODES = {"finished": 0, "failed": 1, "killed": 130}
_VALUE = 6000  # characters of a setting that MLflow keeps


class TrackerWarning(UserWarning):
    """A tracker failed; the training goes on without it."""


class _Tracker(Recorder):
    """What trackers have in common: nothing of theirs leaves this class as an error."""

    def __init__(self) -> None:
        self.run_id: str | None = None
        self._works: bool = True

    def on_start(self, settings: dict[str, Any], folder: Path | None) -> None:
        self._try(self._begin, settings, folder)

    def record(self, numbers: Mapping[str, float], step: int) -> None:
        self._try(self._write, numbers, step)

    def on_epoch(self, epoch: Epoch) -> None:
        self._try(self._flush)

    def on_evaluation(self, measured: Measured) -> None:
        super().on_evaluation(measured)
        self._try(self._flush)

    def on_end(self, history: History) -> None:
        self._try(self._finish, "killed" if history.stopped in ("SIGINT", "SIGTERM") else "finished")

    def on_exception(self, exception: BaseException) -> None:
        self._try(self._finish, "failed" if isinstance(exception, Exception) else "killed")

    def state_dict(self) -> dict[str, Any]:
        self._try(self._flush)  # a training that goes on from the checkpoint measures what comes behind it
        return {} if self.run_id is None else {"run_id": self.run_id}

    def load_state_dict(self, state: dict[str, Any], /) -> None:
        self.run_id = str(state["run_id"])

    def _try(self, act: Callable[..., None], *arguments: Any) -> None:
        if self._works:
            try:
                act(*arguments)
            except Exception as error:  # whatever the client raises
                self._works = False
                got = " ".join(f"{type(error).__name__}: {error}".split())
                text = explain(type(self).__name__, "keeps what the training measures", got, "training goes on without")
                warnings.warn(TrackerWarning(printable(text)), stacklevel=caller_level())

    def _begin(self, settings: dict[str, Any], folder: Path | None) -> None:
        raise NotImplementedError

    def _write(self, numbers: Mapping[str, float], step: int) -> None:
        raise NotImplementedError

    def _flush(self) -> None:
        """Write what waits."""

    def _finish(self, end: End) -> None:
        raise NotImplementedError


@final
class MLflow(_Tracker):
    """An MLflow run: settings as parameters, numbers as metrics by step, the run's config as artifacts; its status at
    the end is FINISHED, FAILED or KILLED. Needs the extra ``typednn[mlflow]``.

    ``experiment_name``, ``run_name``, ``tracking_uri`` and ``tags`` are MLflow's. By default MLflow's own settings
    count, such as ``MLFLOW_TRACKING_URI`` and ``MLFLOW_EXPERIMENT_NAME``; the name is that of the run's folder. Numbers
    are sent together, at each evaluation and epoch at the latest. ``run_id`` is MLflow's.

    A `typednn.errors.MissingExtra` where MLflow is not installed; an `ArgumentError` where an argument is no text.
    """

    def __init__(
        self,
        experiment_name: str | None = None,
        *,
        run_name: str | None = None,
        tracking_uri: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        for name, value in (
            ("experiment_name", experiment_name),
            ("run_name", run_name),
            ("tracking_uri", tracking_uri),
        ):
            _check_text("MLflow", name, value)
        _mlflow("mlflow")
        self.experiment_name: str | None = experiment_name
        self.run_name: str | None = run_name
        self.tracking_uri: str | None = tracking_uri
        self.tags: dict[str, str] = dict(tags or {})
        self._client: Any = None
        self._waiting: list[Any] = []
        self._known: dict[str, int] = {}  # the last step of each series, which an earlier process wrote

    def _begin(self, settings: dict[str, Any], folder: Path | None) -> None:
        client = self._client = _mlflow("mlflow.tracking").MlflowClient(self.tracking_uri)
        if self.run_id is not None:
            client.update_run(self.run_id, "RUNNING")
            for name in client.get_run(self.run_id).data.metrics:
                self._known[name] = max(point.step for point in client.get_metric_history(self.run_id, name))
            return
        experiment = self.experiment_name or os.environ.get("MLFLOW_EXPERIMENT_NAME") or "Default"
        found = client.get_experiment_by_name(experiment)
        place = client.create_experiment(experiment) if found is None else found.experiment_id
        where = {} if folder is None else {"typednn.run": str(folder.absolute())}
        name = self.run_name or (None if folder is None else folder.absolute().name)
        self.run_id: str | None = client.create_run(place, tags={**where, **self.tags}, run_name=name).info.run_id
        param = _mlflow("mlflow.entities").Param
        params = [param(key[:_NAME], str(value)[:_VALUE]) for key, value in settings.items()]
        for first in range(0, len(params), _AT_ONCE):
            client.log_batch(self.run_id, params=params[first : first + _AT_ONCE])
        for path in [] if folder is None else [folder / file for file in CONFIGS]:
            if path.is_file():
                client.log_artifact(self.run_id, str(path))

    def _write(self, numbers: Mapping[str, float], step: int) -> None:
        metric, now = _mlflow("mlflow.entities").Metric, time.time_ns() // 1_000_000
        self._waiting += [
            metric(name, value, now, step) for name, value in numbers.items() if step > self._known.get(name, -1)
        ]
        if len(self._waiting) >= _MOST:
            self._flush()

    def _flush(self) -> None:
        while self._waiting:
            self._client.log_batch(self.run_id, metrics=self._waiting[:_MOST])
            del self._waiting[:_MOST]

    def _finish(self, end: End) -> None:
        if self._client is not None:
            self._flush()
            self._client.set_terminated(self.run_id, end.upper())


@final
class WandB(_Tracker):
    """A run of Weights & Biases: settings as its config, numbers by step; its exit code at the end is 0, or 1 after an
    error, or 130 after a signal. Needs the extra ``typednn[wandb]``.

    ``project`` and ``name`` are those of ``wandb.init``, as are ``options``: ``WandB("digits", mode="offline")``. By
    default wandb's own settings count, such as ``WANDB_PROJECT`` and ``WANDB_MODE``; the name is that of the run's
    folder. ``run_id`` is wandb's.

    A `typednn.errors.MissingExtra` where wandb is not installed; an `ArgumentError` where an argument is no text.
    """

    def __init__(self, project: str | None = None, *, name: str | None = None, **options: Any) -> None:
        super().__init__()
        _check_text("WandB", "project", project)
        _check_text("WandB", "name", name)
        self._wandb: Any = optional(
            "wandb", "WandB", "needs the package wandb", "install it with: pip install 'typednn[wandb]'"
        )
        unknown = next((each for each in options if each not in signature(self._wandb.init).parameters), None)
        if unknown is not None:
            rule, got = "takes project, name and the arguments of wandb.init", f"{unknown}={shown(options[unknown])}"
            raise CallError(explain("WandB", rule, got, suggestion(unknown, signature(self._wandb.init).parameters)))
        self.project: str | None = project
        self.name: str | None = name
        self.options: dict[str, Any] = options
        self._run: Any = None

    def _begin(self, settings: dict[str, Any], folder: Path | None) -> None:
        name = self.name or (None if folder is None else folder.absolute().name)
        again = {} if self.run_id is None else {"id": self.run_id, "resume": "allow"}
        self._run = self._wandb.init(**{"project": self.project, "name": name, **again, **self.options})
        self.run_id: str | None = self._run.id
        self._run.config.update(settings, allow_val_change=True)  # by a run that is resumed, with more epochs

    def _write(self, numbers: Mapping[str, float], step: int) -> None:
        self._run.log(dict(numbers), step=step)

    def _finish(self, end: End) -> None:
        if self._run is not None:
            self._run.finish(exit_code=_CODES[end])


def _mlflow(module: str) -> Any:
    return optional(module, "MLflow", "needs the package mlflow", "install it with: pip install 'typednn[mlflow]'")


def _check_text(where: str, name: str, value: object) -> None:
    if value is not None and (not isinstance(value, str) or not value):
        raise ArgumentError(explain(where, f"{name} is a text that is not empty", shown(value)), name)
