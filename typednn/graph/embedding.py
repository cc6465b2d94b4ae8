"""embed: from integers to vectors.

embed(weight, tokens)[…] = weight[tokens[…]]

`embed` of floats is one node, the op `typednn.kernels.embedding`, unless `typednn.graph.whole.decomposed` asks for the
twelve kinds: then it is the product of `typednn.graph.one_hot` and the matrix. An integer that is none of the rows is
refused where it is known, which on a device would make each step wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np

from typednn.contracts.ranges import first_outside, within
from typednn.errors import ArgumentError, DTypeError, ShapeError, explain
from typednn.graph.counting import arange, one_hot
from typednn.graph.graph import GRAPH
from typednn.graph.nodes import binary, reshape
from typednn.graph.operations import Binary
from typednn.graph.products import tensordot
from typednn.graph.tensor import AnyTensor
from typednn.graph.whole import Whole, takes_whole
from typednn.kernels import embedding as op


def at_label(labels: AnyTensor, classes: int) -> AnyTensor:
    """(…, classes) of booleans, true at each label."""
    check_integers("one_hot", labels)
    row = arange(classes, dtype=labels.dtype)
    return binary(Binary.EQUAL, reshape(labels, (*labels.shape, 1)), row)


def embed(weight: AnyTensor, tokens: AnyTensor) -> AnyTensor:
    """A row of ``weight`` (vocab, features) for each of ``tokens`` (…): (…, features)."""
    if weight.ndim != 2:
        raise ShapeError(
            explain("embed", "weight is (vocab, features)", f"{weight.shape}: {GRAPH.expression(weight.id)}")
        )
    vocab, features = weight.shape
    check_integers("embed", tokens)
    refuse_outside("embed", GRAPH.arrays.get(tokens.id), vocab)
    if not takes_whole(weight):
        return tensordot(one_hot(tokens, vocab, weight.dtype), weight, 1)
    y = _Embedding.of(
        op.forward, (1, tokens.size, features), weight=weight, tokens=reshape(tokens, (1, tokens.size)), vocab=vocab
    )
    return reshape(y, (*tokens.shape, features))


def check_integers(where: str, labels: AnyTensor) -> None:
    """Refuse labels that are no integers."""
    if labels.dtype.kind not in "iu":
        raise DTypeError(explain(where, "takes integers", f"{labels.dtype}: {GRAPH.expression(labels.id)}", "cast it"))


def refuse_outside(where: str, labels: Any, classes: int, but: int | None = None) -> None:
    """Refuse an array on the host with a label that is neither a class nor ``but``."""
    if (
        isinstance(labels, np.ndarray)
        and not within(labels, 0, classes - 1)
        and (got := first_outside(labels, 0, classes - 1, but))
    ):
        raise ArgumentError(explain(where, f"integers are 0 to {classes - 1}", got))


@final
class _Embedding(Whole):
    """The op, which refuses tokens that are known only now."""

    def run(self, given: Mapping[str, Any]) -> Any:
        refuse_outside("embed", given["tokens"], given["vocab"])
        return super().run(given)
