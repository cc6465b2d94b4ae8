"""An optimizer's saved state: its arrays, settings that were changed, and what schedules have seen.

Settings and what schedules have seen are arrays of float64, which checkpoints keep to the bit.
"""

import copy
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, cast

import numpy as np

from typednn.arguments import integer
from typednn.arrays import is_floating
from typednn.backends import to_numpy
from typednn.errors import ArgumentError, LocatedError, StateDictError, explain
from typednn.optim.schedule import Watching


def settings(changed: Mapping[str, object]) -> dict[str, Any]:
    """Those that are a number, True or False, or a tuple of numbers; a function can't be saved."""
    return {name: np.array(value, np.float64) for name, value in changed.items() if _is_plain(value)}


def rates(watching: Mapping[str, Watching]) -> dict[str, Any]:
    """The state of schedules, each under its key."""
    states = {key: rate.state_dict() for key, rate in watching.items()}
    return {
        f"{key}.{name}": np.array(value, np.float64) for key, state in states.items() for name, value in state.items()
    }


def read_settings(
    where: str, state: Mapping[str, Any], known: Mapping[str, object], trial: Any, problems: list[str]
) -> dict[str, Any]:
    """The ``known`` settings in ``state``, set on the optimizer ``trial``; what can't be is added to ``problems``."""
    found: dict[str, Any] = {}
    for name in sorted(known.keys() & state.keys()):
        like = known[name] if _is_plain(known[name]) else 0.0  # a number in place of a schedule
        try:
            found[name] = _read(where, name, state[name], like)
            setattr(trial, name, found[name])
        except (ArgumentError, LocatedError) as error:
            problems.append(str(error))
    return found


def read_rates(
    where: str, state: Mapping[str, Any], watching: Mapping[str, Watching], problems: list[str]
) -> dict[str, dict[str, float]]:
    """The state of each schedule by its key; what is missing, or does not fit, is added to ``problems``."""
    found: dict[str, dict[str, float]] = {}
    for key, rate in watching.items():
        likes = rate.state_dict()
        missing = [f"missing {f'{key}.{name}'!r}" for name in likes if f"{key}.{name}" not in state]
        problems += missing
        if not missing:
            try:
                found[key] = {
                    name: _read(where, f"{key}.{name}", state[f"{key}.{name}"], like) for name, like in likes.items()
                }
                copy.deepcopy(rate).load_state_dict(found[key])
            except (ArgumentError, LocatedError, StateDictError, OverflowError, ValueError) as error:
                problems.append(str(error))
    return found


def read_arrays(
    where: str,
    state: Mapping[str, Any],
    shapes: Mapping[str, tuple[int, ...]],
    kinds: Sequence[str],
    problems: list[str],
) -> tuple[dict[str, int], dict[str, dict[str, Any]]]:
    """The steps of each parameter, and copies of its arrays; ``kinds`` are their names. What does not fit is added to
    ``problems``.
    """
    steps: dict[str, int] = {}
    arrays: dict[str, dict[str, Any]] = {name: {} for name in shapes}
    for key, value in state.items():
        name, _, part = str(key).rpartition(".")
        try:
            if name not in shapes or part not in ("step", *kinds):
                problems.append(f"unexpected {key!r}")
            elif part == "step":
                steps[name] = integer(where, key, value, least=0)
            else:
                arrays[name][part] = np.array(to_numpy(value))
        except ArgumentError:
            problems.append(f"{key!r} is {value!r}, not a number of steps")
        except LocatedError:
            problems.append(f"{key!r} is a {type(value).__name__}, not an array")
    for name, shape in shapes.items():
        needed = ("step", *(kinds if steps.get(name) or any(f"{name}.{part}" in state for part in kinds) else ()))
        problems += [f"missing {f'{name}.{part}'!r}" for part in needed if f"{name}.{part}" not in state]
        for part, array in arrays[name].items():
            if array.shape != shape:
                problems.append(f"{f'{name}.{part}'!r} has shape {array.shape}, the parameter {shape}")
            elif not is_floating(array.dtype):
                problems.append(f"{f'{name}.{part}'!r} holds {array.dtype}, not floats")
    return steps, arrays


def _is_plain(value: object) -> bool:
    numbers = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
    return all(isinstance(each, Real) for each in numbers)


def _read(where: str, key: str, value: Any, like: Any) -> Any:
    """The array ``value`` in the form of ``like``; `ArgumentError` if it has another size, or is no number."""
    array = np.asarray(to_numpy(value))
    if array.shape != np.shape(like) or not is_floating(array.dtype):
        raise ArgumentError(explain(where, f"{key!r} is an array of shape {np.shape(like)}", f"{array!r:.80}"), key)
    return tuple(map(float, array)) if isinstance(like, tuple) else type(like)(array.item())
