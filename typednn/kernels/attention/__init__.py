"""Attention: each query's mean of the values, weighted by how well it fits their keys."""

from typing import Final

from typednn.arrays import Array3, Array4
from typednn.engines.cuda import on_gpu
from typednn.kernels.attention import cpu, cuda, reference
from typednn.kernels.op import Engine, flops_of, op


def _flops(q: Array4, k: Array4, causal: bool) -> int:
    """Of one of the products: of queries and keys, or of weights and values."""
    batch, time, heads, features = q.shape
    return 2 * batch * heads * features * reference.attended(time, k.shape[1], causal)


backward: Final = op(
    "attention.backward",
    reference.backward,
    Engine(
        "halide",
        cpu.backward,
        "next_grad q k v y log_sums",
        others={"mask": "bool"},
        plan=cpu.plan_backward,
        trusts=cpu.trusts,
    ),
    Engine("cuda", cuda.backward, "next_grad q k v y log_sums", sizes=cuda.covers_backward, on=on_gpu),
    flops=flops_of(
        reference.backward,
        lambda next_grad, q, k, v, mask, y, log_sums, causal=False, dropout=None: 5 * _flops(q, k, causal),
    ),
)
forward: Final = op(
    "attention.forward",
    reference.forward,
    Engine("halide", cpu.forward, "q k v", others={"mask": "bool"}, plan=cpu.plan, trusts=cpu.trusts),
    Engine("cuda", cuda.forward, "q k v", sizes=cuda.covers, on=on_gpu),
    flops=flops_of(reference.forward, lambda q, k, v, mask=None, causal=False, dropout=None: 2 * _flops(q, k, causal)),
    keeps="q k v mask y log_sums",
    backward=backward,
)


def _self_flops(qkv: Array3, causal: bool) -> int:
    """As `_flops`, of all heads together."""
    batch, time, packed = qkv.shape
    return 2 * batch * packed // 3 * reference.attended(time, time, causal)


self_backward: Final = op(
    "self_attention.backward",
    reference.self_backward,
    Engine(
        "halide",
        cpu.self_backward,
        "next_grad qkv y log_sums",
        others={"mask": "bool"},
        plan=cpu.plan_self_backward,
        trusts=cpu.trusts,
    ),
    Engine("cuda", cuda.self_backward, "next_grad qkv y log_sums", sizes=cuda.covers_self_backward, on=on_gpu),
    flops=flops_of(
        reference.self_backward,
        lambda next_grad, qkv, mask, y, log_sums, causal=False, dropout=None: 5 * _self_flops(qkv, causal),
    ),
)
self_forward: Final = op(
    "self_attention.forward",
    reference.self_forward,
    Engine("halide", cpu.self_forward, "qkv", others={"mask": "bool"}, plan=cpu.plan_self, trusts=cpu.trusts),
    Engine("cuda", cuda.self_forward, "qkv", sizes=cuda.covers_self, on=on_gpu),
    flops=flops_of(
        reference.self_forward,
        lambda qkv, heads, mask=None, causal=False, dropout=None: 2 * _self_flops(qkv, causal),
    ),
    keeps="qkv mask y log_sums",
    backward=self_backward,
)

__all__ = ["backward", "forward", "self_backward", "self_forward"]
