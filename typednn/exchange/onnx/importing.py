"""An ONNX file as a model, compared with the file.

A file names no code, and none is run. Weights in other files are read from its own folder only. Before the model is
given its results are compared with the file's, which ONNX Runtime runs, or ONNX's own reference.

Source: the operators of ONNX's standard, github.com/onnx/onnx/blob/main/docs/Operators.md.
"""

# ONNX's own package says nothing of its types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import os
from typing import Any

import numpy as np

from typednn.errors import DataError, TypednnError, explain, optional
from typednn.exchange.onnx.nodes import Array, Context
from typednn.exchange.onnx.reader import Reader
from typednn.exchange.onnx.running import EXTRA, TOLERANCE, difference, opened_onnx
from typednn.exchange.onnx.storage import read
from typednn.exchange.onnx.values import Value
from typednn.files import path_of
from typednn.layer import MultiInput, Sequential


def import_onnx(path: str | os.PathLike[str], *, limit: int | None = None) -> Sequential[Any] | MultiInput[Any, Any]:
    """The model in an ONNX file, in training, its parameters filled: it gives the file's numbers to 1e-5, in eval.

    A chain; of a file with several inputs a `MultiInput` that takes them in their order. Images are channels last.
    ``limit``: the bytes of memory that the file, what is computed of its constants, and each value of the comparison
    may take; see `typednn.files`.

    An `ArgumentError` names the operator and the node that have no counterpart; a `DataError` tells what is no ONNX
    file, or leads out of its folder. `MissingExtra` without the package ``onnx``.
    """
    place = path_of("import_onnx", path)
    onnx: Any = optional("onnx", "import_onnx", "needs the package onnx", EXTRA)
    whole, file = read(onnx, place, limit)
    reader = Reader(Context(str(place), file=file), file, onnx=onnx, whole=whole)
    with np.errstate(all="ignore"):  # the numbers are the file's, whatever they are
        try:
            model: Any = reader.model()
        except (AttributeError, LookupError, OverflowError, TypeError, ValueError, TypednnError) as error:
            if isinstance(error, TypednnError) and str(place) in str(error):
                raise
            # Of ONNX's own functions, on what its checker let through.
            got = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:120]}"
            raise DataError(explain(str(place), "must be valid ONNX", got)) from None
        _compare(reader, model)
    made: Sequential[Any] | MultiInput[Any, Any] = model.train()
    return made


def _compare(reader: Reader, model: Any) -> None:
    """Raise unless the model gives the file's numbers, of two batches together, which the file reads one after the
    other.
    """
    whole, place, values = reader.whole, reader.context.place, reader.values
    rng, order = np.random.default_rng(0), values[whole.graph.output[0].name].order
    starts = {each.name: values[each.name] for each in reader.inputs}
    given = [_numbers(reader, value, rng) for value in starts.values()]
    rule = f"the model must give the file's numbers to {TOLERANCE}"
    try:
        run = opened_onnx(whole.SerializeToString() if whole.ByteSize() < 1 << 31 else place)
        halves: list[Array] = []
        for half in zip(*(np.split(each, 2) for each in given), strict=True):
            named = zip(starts.items(), half, strict=True)
            feeds = {name: np.ascontiguousarray(x.transpose(value.order)) for (name, value), x in named}
            halves.append(np.asarray(run(feeds)))
        found = np.concatenate(halves, order.index(0))
    except Exception as error:  # of whatever runs it
        got = str(error).strip().partition("\n")[0][:200] or type(error).__name__
        reader.context.wrong(rule, got, "the file itself cannot be run")
    apart = difference(found, model.eval().forward(*given).transpose(order))
    if apart > TOLERANCE:
        reader.context.wrong(rule, f"a difference of {apart:.2g}")


def _numbers(reader: Reader, value: Value, rng: np.random.Generator) -> Any:
    """Two batches of what an input may read: tokens that tables have a row for, or else lengths that sequences have."""
    shape, constants = (reader.samples, *value.shape), reader.context.constants
    if value.dtype is None:
        return rng.standard_normal(shape).astype(reader.context.dtype)
    if value.dtype == np.bool_:
        return rng.random(shape) < 0.7
    gathers = [each.inputs[0] for each in reader.operations if each.kind == "Gather"]
    tables = [len(constants[name]) for name in gathers if name in reader.context.learnt]
    lengths = [sizes[0] for each in reader.inputs if (sizes := reader.values[each.name].shape)]
    least, most = (0, min(tables)) if tables else (1, min(lengths) + 1)
    return rng.integers(least, max(most, least + 1), shape).astype(value.dtype)
