"""The kernel of attention for one query, as of a text that is read token by token. The formulas are those of
reference.py.

Each head is a task of its own: reading its keys and values once is nearly all there is to do. Sums run over their terms
in a fixed order.
"""

from __future__ import annotations

from functools import reduce
from operator import add

from typednn.engines import Cpu, hl, type_of
from typednn.kernels.elementwise import constant, decay


def forward(cpu: Cpu, q: hl.ImageParam, k: hl.ImageParam, v: hl.ImageParam, *, features: int) -> list[hl.Func]:
    """y[f, h, t, b] and log_sums[t, h, b], where t is 0 alone and nothing is masked."""
    f, h, t, b, j, lane = (hl.Var(name) for name in ("f", "h", "t", "b", "j", "lane"))
    real, memory = type_of(q[0, 0, 0, 0]), k.dim(2).extent()
    zero, lanes = hl.cast(real, 0), min(cpu.lanes, features & -features)
    products, dots, top, weights, total, sums, y, log_sums = (
        hl.Func(name) for name in ("products", "dots", "top", "weights", "total", "sums", "y", "log_sums")
    )

    places = [lane + first for first in range(0, features, lanes)]
    products[lane, j, h, b] = reduce(add, (q[place, h, 0, b] * k[place, h, j, b] for place in places))
    across, keys = hl.RDom([(0, lanes)]), hl.RDom([(0, memory)])
    dots[j, h, b] = zero
    dots[j, h, b] += products[across.x, j, h, b]
    scale = constant(zero, features**-0.5)
    top[h, b] = dots[0, h, b] * scale
    top[h, b] = hl.max(top[h, b], dots[keys.x, h, b] * scale)
    weights[j, h, b] = decay(dots[j, h, b] * scale - top[h, b])
    total[h, b] = zero
    total[h, b] += weights[keys.x, h, b]
    sums[f, h, b] = zero
    sums[f, h, b] += weights[keys.x, h, b] * v[f, h, keys.x, b]
    y[f, h, t, b] = sums[f, h, b] / total[h, b]
    log_sums[t, h, b] = top[h, b] + hl.log(total[h, b])

    guarded = hl.TailStrategy.GuardWithIf
    y.reorder(f, t, h, b).vectorize(f, lanes).parallel(h).parallel(b)
    log_sums.compute_with(y, h)
    log_sums.parallel(h).parallel(b)
    for each in (dots, top, weights, total, sums):
        each.compute_at(y, h)
    dots.vectorize(j, lanes, guarded).update().atomic().vectorize(across.x, lanes)
    products.compute_at(dots, j).store_in(hl.MemoryType.Stack).vectorize(lane, lanes)
    weights.vectorize(j, lanes, guarded)
    sums.store_in(hl.MemoryType.Stack).bound(f, 0, features).vectorize(f, lanes).unroll(f)
    sums.update().reorder(f, keys.x).vectorize(f, lanes).unroll(f)
    return [y, log_sums]
