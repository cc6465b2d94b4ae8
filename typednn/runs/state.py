"""TrainingState: saved next to weights and optimizer, so that a training continues bit for bit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from typednn.errors import CheckpointError, StateDictError, explain
from typednn.module.module import Module
from typednn.random import PCG32
from typednn.random.state import generator_state, restore_generator
from typednn.runs.history import RECORD, Best, Epoch, Measured
from typednn.runs.run_files import as_number

T = TypeVar("T")
Json: TypeAlias = dict[str, Any]


@dataclass(slots=True)
class TrainingState:
    """Everything but weights and optimizer: the counters of a session, consistent at the end of a step."""

    step: int = 0
    origin: int = 0  # the loader's epoch when the run began
    loader: Json = field(default_factory=dict[str, Any])
    generators: Json = field(default_factory=dict[str, Any])
    metrics_bytes: int = 0
    loss_sum: float = 0.0  # Σ loss·divisor of the current epoch's batches
    divisor: float = 0.0  # Σ divisor, 0 where batches are added up
    rows: int = 0  # its rows, so far
    seconds: float = 0.0  # its seconds, and those of the whole run
    total_seconds: float = 0.0
    epochs: list[Epoch] = field(default_factory=list[Epoch])
    evaluations: list[Measured] = field(default_factory=list[Measured])
    best: Best | None = None
    waited: int = 0  # evaluations since the last improvement, for early stopping
    watched: float | None = None  # the best value, for early stopping
    callbacks: list[Json] = field(default_factory=list[Json])  # the state of each in order, with its class's name

    def record(self, measured: Measured, metric: str, least: float | None) -> bool:
        """Take in an evaluation, watched by ``metric``; whether it is the best so far.

        ``least`` is how much better it must be than the best for early stopping, None where nothing stops early.
        """
        worth = measured.value(metric)
        # resumed with another metric: its numbers can't be compared
        if self.best is not None and self.best.metric != metric:
            self.best, self.watched, self.waited = None, None, 0
        self.evaluations.append(measured)
        if least is not None:
            improved = self.watched is None or worth > self.watched + least
            self.watched, self.waited = (worth, 0) if improved else (self.watched, self.waited + 1)
        if self.best is not None and worth <= self.best.value:
            return False
        self.best = Best(measured.step, metric, worth)
        return True

    def as_json(self) -> Json:
        """The state as JSON, for `from_json`."""
        return {
            **{each.name: getattr(self, each.name) for each in fields(self)},
            "epochs": [asdict(epoch) for epoch in self.epochs],
            "evaluations": [measured.as_json() for measured in self.evaluations],
            "best": None if self.best is None else asdict(self.best),
        }

    @classmethod
    def from_json(cls, where: str, table: Json) -> TrainingState:
        """The state from JSON, with the type of every field checked; a `CheckpointError` names a wrong one."""
        table = {"divisor": table.get("rows"), **table}  # older checkpoints weighted by rows
        return cls(
            **plain(where, table, cls),
            epochs=[Epoch(**plain(where, row, Epoch)) for row in rows(where, table, "epochs")],
            evaluations=[
                Measured(
                    **plain(where, row, Measured),
                    metrics={
                        name: real(where, row, name) for name in row if name not in RECORD and row[name] is not None
                    },
                )
                for row in rows(where, table, "evaluations")
            ],
            best=None if table.get("best") is None else Best(**plain(where, inner(where, table, "best"), Best)),
            watched=None if table.get("watched") is None else real(where, table, "watched"),
            callbacks=[
                {name: inner(where, row, name) for name in row}
                for row in rows(where, {"callbacks": [], **table}, "callbacks")  # older checkpoints have none
            ],
        )


# --- JSON, read strictly -------------------------------------------------------------------------------------------


def part(where: str, table: Json, key: str, kind: type[T]) -> T:
    """``table[key]`` of that kind, or a `CheckpointError`."""
    value = table.get(key)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise _damaged(where, key, f"be a {kind.__name__}", value)
    return value


def _damaged(where: str, key: str, rule: str, value: object) -> CheckpointError:
    return CheckpointError(explain(where, f"{key!r} must {rule}", repr(value)[:40], "it is damaged"), damaged=True)


def inner(where: str, table: Json, key: str) -> Json:
    """The table ``table[key]``."""
    return cast("Json", part(where, table, key, dict))


def word(where: str, table: Json, key: str) -> str:
    """The text ``table[key]``."""
    return part(where, table, key, str)


def count(where: str, table: Json, key: str) -> int:
    """A whole number from 0 that fits in 64 bits."""
    value = part(where, table, key, int)
    if not 0 <= value < 1 << 63:
        raise _damaged(where, key, "not be negative" if value < 0 else "be less than 2^63", value)
    return value


def real(where: str, table: Json, key: str) -> float:
    """A finite number."""
    value = as_number(table.get(key))
    if value is None or not math.isfinite(value):
        raise _damaged(where, key, "be a finite number", table.get(key))
    return value


def items(where: str, table: Json, key: str) -> list[object]:
    """The items of the list ``table[key]``."""
    return cast("list[object]", part(where, table, key, list))


def rows(where: str, table: Json, key: str) -> list[Json]:
    """A list of tables."""
    return [inner(where, {key: row}, key) for row in items(where, table, key)]


def plain(where: str, table: Json, record: type[Any]) -> Json:
    """The numbers, words and tables among the fields of the dataclass ``record``, each read by its annotation, a string
    here.
    """
    readers: dict[str, Callable[[str, Json, str], Any]] = {"int": count, "float": real, "str": word, "Json": inner}
    return {each.name: readers[each.type](where, table, each.name) for each in fields(record) if each.type in readers}


# --- generators ----------------------------------------------------------------------------------------------------


def generators(model: Module) -> Iterator[tuple[str, PCG32 | np.random.Generator]]:
    """The generators that layers own and draw from in forward, by dotted name."""
    for path, module in model.named_modules():
        for name, value in vars(module).items():
            if isinstance(value, PCG32 | np.random.Generator):
                yield (f"{path}.{name}" if path else name), value


def generator_states(model: Module) -> Json:
    """The state of every generator in the model."""
    return {name: generator_state(rng) for name, rng in generators(model)}


def restore_generators(where: str, model: Module, saved: Json) -> None:
    """Restore every generator; `CheckpointError` where the names differ."""
    generators_by_name = dict(generators(model))
    if set(generators_by_name) != set(saved):
        raise CheckpointError(
            explain(
                where,
                f"the model's generators are {sorted(generators_by_name)}",
                str(sorted(saved)),
                "is it another model's?",
            )
        )
    for name, rng in generators_by_name.items():
        try:
            restore_generator(rng, saved[name])
        except StateDictError as error:
            raise CheckpointError(f"{where}, generator {name!r}: {error}") from None
