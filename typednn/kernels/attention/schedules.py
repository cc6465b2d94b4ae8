"""The kernels of attention in Halide: forward, and the three derivatives. The formulas are those of reference.py.

Each head of each sequence is a task of its own. Its queries are computed some at a time, in backward some queries with
some keys, and only the scores of these are held. Where attention is causal, tiles of scores without any query that
attends are left out. Every sum runs over its terms in a fixed order, whatever the number of threads. The loops over
tiles and blocks are not partitioned: for their first and last turns Halide would write all inner loops out again, which
takes three times as long to compile and saves no time.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from typednn.engines import Cpu, hl
from typednn.kernels.attention.blocks import COLUMNS, ROWS, Blocks, Part, Products
from typednn.kernels.dropout.reference import LANES
from typednn.kernels.elementwise import constant, decay


def _by_parts(packed: bool, arrays: Sequence[Any]) -> tuple[list[Any], Sequence[Any]]:
    """q, k and v, and what follows them: three arrays, or parts of one that is ``packed``."""
    return ([Part(arrays[0], place) for place in range(3)], arrays[1:]) if packed else ([*arrays[:3]], arrays[3:])


def forward(
    cpu: Cpu,
    *arrays: Any,  # arrays and numbers, which have no type in common
    features: int,
    causal: bool,
    masked: bool,
    packed: bool,
) -> list[hl.Func]:
    """y[f, h, t, b] and log_sums[t, h, b], of q, k and v, of a mask, where there is one, and of dropout's numbers."""
    (q, k, v), others = _by_parts(packed, arrays)
    a = Blocks(cpu, "forward", q, k, others[:masked], features, causal)
    dropout = others[masked:]
    (lane, _, i, block, h, b), f = a.of_scores, a.f
    keys = a.packed("keys", k)
    products = a.products("products", q, keys)
    scores, top, weights, sums, means = (a.func(name) for name in ("scores", "top", "weights", "sums", "means"))

    # Scores and weights have no first value: what is not attended to by the whole block is never read.
    scores[a.of_scores] = hl.undef(a.real)
    n = a.tiles_of(block)
    scores[lane, n, i, block, h, b] = a.score(products.func, n, block)
    largest = _over_keys(a, "largest", scores, a.lowest, hl.max)
    top[a.of_rows] = hl.select(largest[a.of_rows] > a.lowest, largest[a.of_rows], a.zero)
    weights[a.of_scores] = hl.undef(a.real)
    m = a.tiles_of(block)
    weights[lane, m, i, block, h, b] = decay(scores[lane, m, i, block, h, b] - top[a.of_rows])
    total = _over_keys(a, "total", weights, a.zero, operator.add)
    terms = hl.RDom([(0, a.keys), (0, a.tiles)])
    j = terms.y * a.keys + terms.x
    terms.where(j < a.memory)
    if causal:
        terms.where(a.meets(terms.y, block))
    value = v[f, h, hl.unsafe_promise_clamped(j, 0, a.memory - 1), b]
    used = _after_dropout(a, weights, dropout) if dropout else weights
    sums[f, i, block, h, b] = a.zero
    sums[f, i, block, h, b] += used[terms.x, terms.y, i, block, h, b] * value
    nothing = total[a.of_rows] == 0
    means[f, i, block, h, b] = sums[f, i, block, h, b] / hl.select(nothing, hl.cast(a.real, 1), total[a.of_rows])

    _, t, at = a.outputs(a.time, a.rows, a.blocks)
    _, piece, head, sample = at
    y, log_sums, place = hl.Func("y"), hl.Func("log_sums"), hl.Var("t")
    y[f, h, place, b] = hl.undef(a.real)
    y[f, head, t, sample] = means[(f, *at)]
    log_sums[place, h, b] = hl.undef(a.real)
    log_sums[t, head, sample] = hl.select(total[at] == 0, constant(a.zero, math.inf), top[at] + hl.log(total[at]))

    _scheduled(a, y.update(), at)
    _scheduled(a, log_sums.update(), at, along_features=False)
    log_sums.update().compute_with(y.update(), piece)
    keys.compute_at(y, head)
    products.compute_at(scores, a.by_tiles(scores.update(), n))
    a.along_keys(weights.update().reorder(lane, m, i))
    for each in (scores, top, weights, used, means, largest, total):
        each.compute_at(y, piece)
    a.sums(sums, means, i, ROWS, (terms.x, terms.y))
    return [y, log_sums]


def _after_dropout(a: Blocks, weights: hl.Func, dropout: Sequence[hl.Param]) -> hl.Func:
    """The weights, of which some are 0 and the others larger."""
    used, n = a.func("used"), a.tiles_of(a.block)
    at = (a.lane, n, a.i, a.block, a.h, a.b)
    factor, words = a.dropped(dropout, n, a.block)
    used[a.of_scores] = hl.undef(a.real)
    used[at] = weights[at] * factor
    a.along_keys(used.update().reorder(a.lane, n, a.i))
    _of_words(a, words, used, n)
    return used


def _of_words(a: Blocks, words: hl.Func, stage: hl.Func, loop: hl.Var | hl.RVar) -> None:
    words.compute_at(stage, loop).store_in(a.stack).vectorize(words.args()[0], LANES)


def backward(
    cpu: Cpu,
    dy: hl.ImageParam,
    *arrays: Any,  # q, k and v as of `forward`, y, log_sums, and its others
    features: int,
    causal: bool,
    masked: bool,
    packed: bool,
) -> list[hl.Func]:
    """dq[f, h, t, b], and dk and dv[f, h, j, b]. A tile's scores with a block are computed once, for all three."""
    (q, k, v), (y, log_sums, *others) = _by_parts(packed, arrays)
    a = Blocks(cpu, "backward", q, k, others[:masked], features, causal)
    (lane, tile, i, block, h, b), f, place, which = a.of_scores, a.f, hl.Var("place"), hl.Var("which")
    keys, values = a.packed("keys", k), a.packed("values", v)
    of_scores, of_weights, mean = a.products("products", q, keys), a.products("dweights", dy, values), _mean(a, dy, y)
    both = a.func("both")  # weights, after dropout, and derivatives by scores
    factor, words = a.dropped(others[masked:], tile, block) if others[masked:] else (1, None)
    both[a.of_scores] = _weight_and_dscore(a, of_scores, of_weights, mean, log_sums, tile, block, factor)

    queries, places = hl.RDom([(0, a.rows)]), hl.RDom([(0, a.keys)])
    t, j = block * a.rows + queries.x, tile * a.keys + places.x
    queries.where(t < a.time)
    places.where(j < a.memory)
    t, j = hl.unsafe_promise_clamped(t, 0, a.time - 1), hl.unsafe_promise_clamped(j, 0, a.memory - 1)
    of_query, of_key = both[lane, tile, queries.x, block, h, b], both[places.x, tile, i, block, h, b]
    gains = [
        _gain(a, "dq", i, ROWS, of_key[1] * k[f, h, j, b], places.x),
        _gain(a, "dk", lane, COLUMNS, of_query[1] * q[f, h, t, b], queries.x),
        _gain(a, "dv", lane, COLUMNS, of_query[0] * dy[f, h, t, b], queries.x),
    ]

    # All three of a head in one Func, as only this lets one loop add to each.
    sums, over = a.func("sums"), hl.RDom([(0, max(a.rows, a.keys)), (0, 3), (0, a.blocks), (0, a.tiles)])
    inside, output, its_block, its_tile = (over[axis] for axis in range(4))
    over.where(inside < hl.select(output == 0, a.rows, a.keys))
    if causal:
        over.where(a.meets(its_tile, its_block))
    dq, dk, dv = (
        hl.Expr(gain[f, hl.unsafe_promise_clamped(inside, 0, count - 1), its_tile, its_block, h, b])
        for gain, count in zip(gains, (a.rows, a.keys, a.keys), strict=True)
    )
    sums[f, place, which, h, b] = a.zero
    at = hl.select(output == 0, its_block * a.rows, its_tile * a.keys) + inside
    sums[f, at, output, h, b] += hl.select(output == 0, dq, output == 1, dk, dv)

    outputs = [hl.Func(name) for name in (("dqkv",) if packed else ("dq", "dk", "dv"))]
    for number, out in enumerate(outputs):
        if packed:
            out[f, h, which, place, b] = sums[f, place, which, h, b]
            out.bound(which, 0, 3).reorder(f, which, place, h, b)
        else:
            out[f, h, place, b] = sums[f, place, number, h, b]
            out.reorder(f, place, h, b)
        out.vectorize(f, a.lanes).parallel(h).parallel(b).never_partition_all()
    first = outputs[0]
    for out in outputs[1:]:
        out.compute_with(first, h)
    for each in (keys, values, mean):
        each.compute_at(first, h)
    sums.compute_at(first, h).vectorize(f, a.lanes)
    sums.update().reorder(f, inside, output, its_block, its_tile).vectorize(f, a.lanes).unroll(
        output
    ).never_partition_all()
    for each in (*gains, both):
        each.compute_at(sums, its_block)
    rows = a.by_tiles(both)
    of_scores.compute_at(both, rows)
    of_weights.compute_at(both, rows)
    if words is not None:
        _of_words(a, words, both, rows)
    return outputs


def _gain(a: Blocks, name: str, place: hl.Var, count: int, term: hl.Expr, over: hl.RVar) -> hl.Func:
    """The sum of a term over a block's queries or a tile's keys, for each of the others."""
    gain, sums = a.func(name), a.func(f"{name}_sums")
    at = (a.f, place, a.tile, a.block, a.h, a.b)
    sums[at] = a.zero
    sums[at] += term
    gain[at] = sums[at]
    a.sums(sums, gain, place, count, (over,))
    return gain


def _weight_and_dscore(
    a: Blocks,
    of_scores: Products,
    of_weights: Products,
    mean: hl.Func,
    log_sums: hl.ImageParam,
    tile: hl.Var,
    block: hl.Var,
    factor: hl.Expr | int,
) -> tuple[hl.Expr, hl.Expr]:
    """A weight times ``factor``, and the derivative by the product of its query and key."""
    at = (a.lane, tile, a.i, block, a.h, a.b)
    weight = decay(a.score(of_scores.func, tile, block) - log_sums[a.query(a.i, block), a.h, a.b])
    scale = constant(a.zero, a.features**-0.5)
    return weight * factor, weight * (of_weights.func[at] * factor - mean[a.i, block, a.h, a.b]) * scale


def _mean(a: Blocks, dy: hl.ImageParam, y: hl.ImageParam) -> hl.Func:
    """Σ_f dy·y of each query."""
    mean, over = a.func("mean"), hl.RDom([(0, a.features)])
    place = (over.x, a.h, a.query(a.i, a.block), a.b)
    mean[a.of_rows] = a.zero
    mean[a.of_rows] += dy[place] * y[place]
    mean.update().atomic().vectorize(over.x, a.lanes)
    return mean


def _over_keys(
    a: Blocks, name: str, x: hl.Func, start: hl.Expr, combined: Callable[[hl.Expr, hl.Expr], hl.Expr]
) -> hl.Func:
    """``x`` of a row over all keys that its block attends to: lane by lane, then over the lanes."""
    result, running = a.func(name), a.func(f"{name}_running")
    lanes, n = hl.RDom([(0, a.keys)]), a.tiles_of(a.block)
    at = (a.lane, *a.of_rows)
    running[at] = start
    running[at] = combined(running[at], x[a.lane, n, a.i, a.block, a.h, a.b])
    result[a.of_rows] = start
    result[a.of_rows] = combined(result[a.of_rows], running[(lanes.x, *a.of_rows)])
    result.update().atomic().vectorize(lanes.x, a.keys)
    a.along_keys(running.compute_at(result, a.i).store_in(a.stack))
    a.along_keys(running.update().reorder(a.lane, n, a.i))
    return result


def _scheduled(
    a: Blocks, stage: hl.Stage, at: tuple[hl.RVar, hl.RVar, hl.RVar, hl.RVar], along_features: bool = True
) -> None:
    """The update of an output, a head of a sequence for each task: each place is written once, so
    threads don't meet.
    """
    stage.reorder(*(a.f,) * along_features, *at).allow_race_conditions().parallel(at[2]).parallel(
        at[3]
    ).never_partition_all()
    if along_features:
        stage.vectorize(a.f, a.lanes)
