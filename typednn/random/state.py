"""The state of a random generator as JSON, so that another process can continue from it."""

import json
from typing import Any, cast

import numpy as np

from typednn.errors import ArgumentError, StateDictError, explain
from typednn.random.generator import Rng
from typednn.random.pcg32 import PCG32

_MOST = {"pos": 624, "buffer_pos": 4, "has_uint32": 1}  # NumPy reads at this index without a check


def generator_state(rng: Rng) -> dict[str, Any]:
    """``{"kind": "PCG32" or a bit generator's name such as "PCG64", "state": …}``; for `PCG32` and
    ``numpy.random.Generator``.
    """
    if isinstance(rng, PCG32):
        return {"kind": "PCG32", "state": dict(rng.state)}
    return {"kind": type(_bits(rng)).__name__, "state": json.loads(json.dumps(_bits(rng).state, default=_plain))}


def restore_generator(rng: Rng, saved: Any) -> None:
    """Continue ``rng`` from a state of `generator_state`.

    A `StateDictError`, and nothing changed, if that is of another kind of generator or damaged.
    """
    before = generator_state(rng)
    if not isinstance(saved, dict) or set(cast("dict[object, object]", saved)) != {"kind", "state"}:
        raise StateDictError(
            explain(
                "restore_generator",
                "needs the keys 'kind' and 'state'",
                repr(cast(object, saved))[:80],
                "pass what was saved",
            )
        )
    state: Any = cast("dict[str, Any]", saved)["state"]
    if saved["kind"] != before["kind"]:
        rule, got = f"this generator is a {before['kind']}", f"the state of a {saved['kind']}"[:80]
        raise StateDictError(explain("restore_generator", rule, got, "go on with a generator of the same kind"))
    problem = _misfit("state", state, before["state"])
    if not problem:
        try:
            _set(rng, state)
        except (ArgumentError, OverflowError, TypeError, ValueError) as error:
            problem = str(error)[:200]
            _set(rng, before["state"])
    if problem:
        raise StateDictError(
            explain("restore_generator", f"needs the state of a {before['kind']}", problem, "pass what was saved")
        )


def _misfit(name: str, saved: Any, current: Any) -> str:
    """The first difference in structure between ``saved`` and ``current``. NumPy would read beyond arrays that are too
    short.
    """
    kind: Any = current.__class__
    if type(saved) is not kind:
        return f"{name} = {saved!r}"[:80]
    if kind is dict and set(saved) != set(current):
        return f"{name} with the keys {list(saved)}"[:80]
    if kind is list and len(saved) != len(current):
        return f"{len(saved)} {name} for {len(current)}"
    if kind is dict or kind is list:
        parts = (
            [(key, saved[key], current[key]) for key in current]
            if kind is dict
            else [(name, *pair) for pair in zip(saved, current, strict=True)]
        )
        return next(filter(None, (_misfit(*part) for part in parts)), "")
    wrong = saved != current if kind is str else not 0 <= saved <= _MOST.get(name, (1 << 128) - 1)
    return f"{name} = {saved!r}"[:80] if wrong else ""


def _set(rng: Rng, state: Any) -> None:
    if isinstance(rng, PCG32):
        rng.state = state
    else:
        _bits(rng).state = json.loads(json.dumps(state), object_hook=_array)


def _bits(rng: Rng) -> Any:
    bits: Any = getattr(rng, "bit_generator", None)
    if not isinstance(bits, np.random.BitGenerator):
        cure = "pass numpy.random.default_rng(0) or PCG32(0)"
        raise ArgumentError(
            explain("generator_state", "rng must be a generator whose state can be saved", type(rng).__name__, cure),
            "rng",
        )
    return bits


def _plain(value: Any) -> Any:
    """An array becomes ``{"dtype": …, "values": …}``, and a NumPy number a Python number."""
    return {"dtype": value.dtype.name, "values": value.tolist()} if value.ndim else value.item()


def _array(fields: dict[str, Any]) -> Any:
    is_one = set(fields) == {"dtype", "values"} and fields["dtype"] in ("uint32", "uint64")
    return np.array(fields["values"], fields["dtype"]) if is_one else fields
