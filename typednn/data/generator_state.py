"""What a generator remembers, as JSON, so that it can go on from there in another process."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from typednn.errors import ArgumentError, StateDictError, TypednnError, explain
from typednn.random import PCG32, Rng


def generator_state(rng: Rng) -> dict[str, Any]:
    """``{"kind": "PCG32" or a bit generator's name such as "PCG64", "state": …}``; for `PCG32` and ``numpy.random.Generator``."""
    if isinstance(rng, PCG32):
        return {"kind": "PCG32", "state": dict(rng.state)}
    return {"kind": type(_bits(rng)).__name__, "state": _plain(_bits(rng).state)}


def restore_generator(rng: Rng, saved: Any) -> None:
    """Let ``rng`` go on from what `generator_state` gave.

    A `StateDictError`, and nothing changed, if that is of another kind of generator or damaged.
    """
    before = generator_state(rng)
    if not isinstance(saved, dict) or set(cast("dict[object, object]", saved)) != {"kind", "state"}:
        got = repr(cast(object, saved))[:80]
        raise StateDictError(explain("restore_generator", "needs the keys 'kind' and 'state'", got, "pass what was saved"))
    if saved["kind"] != before["kind"]:
        cure = "go on with a generator of the same kind"
        raise StateDictError(explain("restore_generator", f"this generator is a {before['kind']}", f"the state of a {saved['kind']}", cure))
    try:
        _set(rng, saved["state"])
    except (ArgumentError, AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        _set(rng, before["state"])
        got = (str(error) if isinstance(error, TypednnError) else repr(error))[:200]
        raise StateDictError(explain("restore_generator", f"needs the state of a {before['kind']}", got, "pass what was saved")) from None


def _set(rng: Rng, state: Any) -> None:
    if isinstance(rng, PCG32):
        rng.state = state
    else:
        _bits(rng).state = _arrays(state)


def _bits(rng: Rng) -> Any:
    bits: Any = getattr(rng, "bit_generator", None)
    if not isinstance(bits, np.random.BitGenerator):
        cure = "pass numpy.random.default_rng(0) or PCG32(0)"
        raise ArgumentError(explain("generator_state", "rng must be a generator whose state can be saved", type(rng).__name__, cure))
    return bits


def _plain(state: object) -> Any:
    """Arrays become ``{"dtype": …, "values": …}``, and NumPy's numbers Python's."""
    if isinstance(state, dict):
        return {str(key): _plain(value) for key, value in cast("dict[object, object]", state).items()}
    some: Any = state
    if isinstance(state, np.ndarray):
        return {"dtype": some.dtype.name, "values": some.tolist()}
    return some.item() if isinstance(state, np.generic) else some


def _arrays(state: object) -> Any:
    if not isinstance(state, dict):
        return state
    fields = cast("dict[str, Any]", state)
    if set(fields) == {"dtype", "values"} and fields["dtype"] in ("uint32", "uint64"):
        return np.array(fields["values"], fields["dtype"])
    return {key: _arrays(value) for key, value in fields.items()}


__all__ = ["generator_state", "restore_generator"]
