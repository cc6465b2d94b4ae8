"""Calls of the modules that give several arrays; what their constructors were given comes by name."""

from __future__ import annotations

from typednn.mypy_plugin.array_functions.rows import Misfit, Operands, Row, Rule, Shape, certain, made, written
from typednn.mypy_plugin.values import Constant, Number, Pack, Value
from typednn.shapes import Dim


def _given(o: Operands, name: str) -> Dim | None:
    value = o[name]
    return value.size if isinstance(value, Number) else None


def _recurrent(*, cells: bool) -> Rule:
    """``cells``: an LSTM, which has two states."""

    def rule(o: Operands) -> Value:
        shape = certain(o.shape("input"))
        if len(shape) not in (2, 3):
            raise Misfit(f"a recurrent layer on {written(shape)}: needs 3 axes, or 2 without a batch", o["input"])
        size, reads = shape[-1], _given(o, "input_size")
        message = f"a recurrent layer reads {reads} features, {written(shape)} has {size}"
        o.meet(size, reads, message, o["input"], len(shape) - 1)
        both = certain(o.flag("bidirectional"))
        hidden, layers = _given(o, "hidden_size"), _given(o, "num_layers")
        projected = _given(o, "proj_size") if cells else None
        own = hidden if not cells or projected == Dim.of(0) else projected if projected is not None else None
        wide = own * 2 if both and own is not None else own
        first = layers * 2 if both and layers is not None else layers
        batch: Shape = []
        if len(shape) == 3:
            batch = [shape[0] if certain(o.flag("batch_first")) else shape[1]]
        states = [made([first, *batch, each]) for each in ((own, hidden) if cells else (own,))]
        given = o["hx"]
        started = given.items if isinstance(given, Pack) and cells else (given,)
        for state, before in zip(states, started, strict=False):
            _as_state(o, state, before)
        return Pack((made([*shape[:-1], wide]), Pack(tuple(states), frozen=True) if cells else states[0]), frozen=True)

    return rule


def _as_state(o: Operands, state: Value, before: Value) -> None:
    """Whether a state that is handed in has the shape of one that is given."""
    known, given = (Operands({"x": each}, o.differ).shape("x") for each in (state, before))
    if known is None or given is None or before == Constant(None):
        return
    if len(known) != len(given):
        raise Misfit(f"the state is {written(given)}, the layer has {written(known)}", before)
    for place, (a, b) in enumerate(zip(known, given, strict=True)):
        o.meet(a, b, f"the state is {written(given)}, the layer has {written(known)}", before, place)


def _attending(o: Operands) -> Value:
    query, key, value = (certain(o.shape(name)) for name in ("query", "key", "value"))
    embedded = _given(o, "embed_dim")
    for name, shape, own in (("query", query, None), ("key", key, "kdim"), ("value", value, "vdim")):
        if len(shape) not in (2, 3) or len(shape) != len(query):
            raise Misfit(f"attention: {name} is {written(shape)}, it needs 3 axes, or 2 without a batch", o[name])
        wanted = embedded if own is None or o[own] == Constant(None) else _given(o, own)
        message = f"attention: {name} {written(shape)} needs {wanted} features"
        o.meet(shape[-1], wanted, message, o[name], len(shape) - 1)
    first = certain(o.flag("batch_first")) or len(query) == 2
    place = len(query) - 2 if first else 0
    o.meet(key[place], value[place], f"attention: {key[place]} keys, {value[place]} values", o["value"], place)
    if len(query) == 3:
        side = 0 if first else 1
        for name, shape in (("key", key), ("value", value)):
            message = f"attention: {query[side]} samples, {name} {written(shape)} has {shape[side]}"
            o.meet(query[side], shape[side], message, o[name], side)
    batch = [] if len(query) == 2 else [query[0] if first else query[1]]
    weights: Value = made([*batch, query[place], key[place]])
    if o["need_weights"] != Constant(True) or o["average_attn_weights"] != Constant(True):
        weights = Constant(None) if o["need_weights"] == Constant(False) else made(None)
    return Pack((made(query), weights), frozen=True)


_STATES = "input, hx=None, *, input_size, hidden_size, num_layers, batch_first, bidirectional"
TABLE: dict[str, Row] = {
    "torch.nn.LSTM.forward()": Row(f"{_STATES}, proj_size", _recurrent(cells=True)),
    "torch.nn.GRU.forward()": Row(_STATES, _recurrent(cells=False)),
    "torch.nn.MultiheadAttention.forward()": Row(
        "query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True, "
        "is_causal=False, *, embed_dim, kdim, vdim, batch_first",
        _attending,
    ),
}
