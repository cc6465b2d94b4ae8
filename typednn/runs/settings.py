"""The settings of a run: what it was trained with, by name, whoever trained it.

``typednn train`` wrote them to ``recipe.json``; `typednn.training.fit` its model and optimizer to ``config.toml``, and
its arguments to ``starts.jsonl``, of which the last start counts. Both give the same names: ``optimizer.lr``,
``epochs``, ``layer.0``.
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from typednn.files import as_list, as_object
from typednn.runs.recorded import read_starts
from typednn.runs.run_files import read_json, read_text

_DEPTH = 4


def read_settings(run_folder: Path) -> dict[str, Any]:
    """The settings by name; none where the run says none, as its config may be any text. A `DataError` where
    ``recipe.json`` is damaged.
    """
    plan = read_json(run_folder, "recipe.json") or {}
    recipe, data = as_object(plan.get("recipe")) or {}, as_object(plan.get("data")) or {}
    config = plan.get("config") if plan else read_text(run_folder, "config.toml")
    starts = read_starts(run_folder)
    started = (as_object(starts[-1].get("settings")) if starts else None) or {}
    told = {name: value for name, value in recipe.items() if name not in ("about", "data")}
    return settings_of(config if isinstance(config, str) else "", {**told, "data": data, **started})


def settings_of(config: str, others: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a model config, and ``others``, which count where both have one."""
    try:
        table = tomllib.loads(config)
    except (tomllib.TOMLDecodeError, RecursionError):
        table = {}
    table.pop("format", None)
    layers = as_list(table.pop("layer", [])) or []
    table |= {"layer": {str(place): _words(layer) for place, layer in enumerate(layers)}}
    return {name: value for part in (table, others) for name, value in flattened(part)}


def flattened(facts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """``{"a": {"b": 1}}`` as ``a.b``; a list, and what lies deeper than four levels, is one value."""
    for key, value in facts.items():
        table = as_object(value)
        if table is not None and prefix.count(".") < _DEPTH:
            yield from flattened(table, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _words(layer: object) -> str:
    """A layer in one line: its type, then its arguments."""
    table = as_object(layer) or {}
    arguments = ", ".join(f"{name}={value}" for name, value in table.items() if name != "type")
    return f"{table.get('type', '')}({arguments})"
