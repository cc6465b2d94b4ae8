"""The queries, keys and values of sequences, by heads, and their derivatives: several ops in a row, for layers of
attention.
"""

from collections.abc import Sequence
from typing import Any

from jaxtyping import Bool, Float

from typednn.arrays import AnyBoolArray, Array1, Array2, Array3, Array4
from typednn.errors import ArgumentError, ShapeError, explain
from typednn.kernels import attention, linear
from typednn.kernels.attention.reference import Drawn
from typednn.kernels.concat import join, split
from typednn.kernels.pointwise import add
from typednn.kernels.positions import rotate
from typednn.kernels.reshape import reshape
from typednn.random import Fans, Initialiser


def check_heads(where: str, embed_dim: int, num_heads: int, rotary: bool) -> None:
    """Refuse features that heads cannot share evenly, or, with ``rotary``, in pairs."""
    features, rest = divmod(embed_dim, num_heads)
    if rest or (rotary and features % 2):
        rule = f"embed_dim must be a multiple of {'2·' * rotary}num_heads, {(1 + rotary) * num_heads}"
        cure = "each head has embed_dim/num_heads features" + ", of which rotary turns pairs" * rotary
        raise ArgumentError(explain(where, rule, str(embed_dim), cure), "embed_dim")


def of_layer(layer: Any) -> tuple[Sequence[Array2], Sequence[Array1 | None]]:
    """The weights and the biases of q, k and v."""
    sizes, packed = (layer.embed_dim,) * 3, layer.in_proj_weight
    apart = layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight
    biases = (None, None, None) if layer.in_proj_bias is None else split(0, layer.in_proj_bias, sizes)
    return apart if packed is None else split(0, packed, sizes), biases


def mapped(
    x: Any,
    weight: Float[Array2, "out_features in_features"],
    bias: Float[Array1, " out_features"] | None,
    shape: tuple[int, ...],
) -> Any:
    """x weightᵀ + bias at every position, under ``shape``."""
    return reshape(linear.forward(_rows(x, weight.shape[1]), weight, bias), shape)


def mapped_backward(
    next_grad: Any, x: Any, weight: Float[Array2, "out_features in_features"]
) -> tuple[Any, Float[Array2, "out_features in_features"], Float[Array1, " out_features"]]:
    """(dx, dweight, dbias) of `mapped`."""
    dx, dweight, dbias = linear.backward(_rows(next_grad, weight.shape[0]), _rows(x, weight.shape[1]), weight)
    return reshape(dx, x.shape), dweight, dbias


def projected(
    x: Float[Array3, "batch time embed_dim"],
    memory: Float[Array3, "batch memory kdim"],
    weights: Sequence[Array2],
    biases: Sequence[Array1 | None],
    heads: int,
    rotary: bool,
    first: int = 0,
) -> tuple[
    Float[Array4, "batch time {heads} _"],
    Float[Array4, "batch memory {heads} _"],
    Float[Array4, "batch memory {heads} _"],
]:
    """q of ``x``, k and v of ``memory``; both begin at position ``first``."""
    q, k, v = (
        mapped(read, weight, bias, (*read.shape[:2], heads, weight.shape[0] // heads))
        for read, weight, bias in zip((x, memory, memory), weights, biases, strict=True)
    )
    return (rotate(q, first=first), rotate(k, first=first), v) if rotary else (q, k, v)


def together(layer: Any, x: Float[Array3, "batch time embed_dim"]) -> Float[Array3, "batch time 3*embed_dim"]:
    """q, k and v of ``x`` in one array, by one product with a ``layer``'s packed weights."""
    qkv: Array3 = mapped(x, layer.in_proj_weight, layer.in_proj_bias, (*x.shape[:2], 3 * layer.embed_dim))
    return qkv


def projected_together(
    layer: Any, x: Float[Array3, "batch time embed_dim"], first: int
) -> tuple[
    Float[Array4, "batch time heads _"], Float[Array4, "batch time heads _"], Float[Array4, "batch time heads _"]
]:
    """`projected` of ``x`` alone, of copied parts of `together`: less time for few positions."""
    if layer.in_proj_weight is None:
        return projected(x, x, *of_layer(layer), layer.num_heads, layer.rotary, first)
    by_heads = *x.shape[:2], layer.num_heads, layer.embed_dim // layer.num_heads
    q, k, v = (reshape(part, by_heads) for part in split(2, together(layer, x), (layer.embed_dim,) * 3))
    return (rotate(q, first=first), rotate(k, first=first), v) if layer.rotary else (q, k, v)


def projected_backward(
    derivatives: tuple[Any, Any, Any],
    x: Float[Array3, "batch time embed_dim"],
    memory: Float[Array3, "batch memory kdim"] | None,
    weights: Sequence[Array2],
    rotary: bool,
) -> tuple[
    Sequence[Array2],
    Float[Array1, "3*embed_dim"],
    Float[Array3, "batch time embed_dim"],
    Float[Array3, "batch memory kdim"] | None,
]:
    """The derivatives by the three weights, by the biases in one array, by x and by memory, from those by q, k and v.

    Without ``memory`` k and v are of x, and dx is the sum.
    """
    dq, dk, dv = derivatives
    if rotary:
        dq, dk = rotate(dq, back=True), rotate(dk, back=True)
    read = x if memory is None else memory
    parts = [mapped_backward(*each) for each in zip((dq, dk, dv), (x, read, read), weights, strict=True)]
    (dx, dread, more), dweights, dbiases = zip(*parts, strict=True)
    dread = add(dread, more)
    return dweights, join(0, *dbiases), add(dx, dread) if memory is None else dx, None if memory is None else dread


def attend(
    layer: Any,
    x: Float[Array3, "batch time embed_dim"],
    read: Float[Array3, "batch memory kdim"],
    itself: bool,
    mask: Bool[AnyBoolArray, "batch ... memory"] | None,
    drawn: Drawn | None,
) -> tuple[tuple[Any, ...], Any, Float[Array3, "batch heads time"], Drawn | None]:
    """What a ``layer`` keeps: the queries, keys and values of x and of what it reads, y, log_sums and what was drawn.

    Where x attends to ``itself``, all three are in one array, unless they are rotated.
    """
    if itself and layer.in_proj_weight is not None and not layer.rotary:
        qkv = together(layer, x)
        return (qkv,), *attention.self_forward(qkv, layer.num_heads, mask, layer.causal, drawn), drawn
    q, k, v = projected(x, read, *of_layer(layer), layer.num_heads, layer.rotary)
    return (q, k, v), *attention.forward(q, k, v, mask, layer.causal, drawn), drawn


def attend_backward(
    layer: Any,
    next_grad: Any,
    x: Float[Array3, "batch time embed_dim"],
    memory: Float[Array3, "batch memory kdim"] | None,
    mask: Bool[AnyBoolArray, "batch ... memory"] | None,
    kept: tuple[Any, ...],
) -> tuple[
    tuple[Array2 | None, Array2 | None, Array2 | None, Array2 | None],
    Float[Array1, "3*embed_dim"],
    Float[Array3, "batch time embed_dim"],
    Float[Array3, "batch memory kdim"] | None,
]:
    """The derivatives by the packed weights or by the three, by the biases, by x and by memory, from what `attend`
    gave.
    """
    read, y, log_sums, drawn = kept
    if len(read) == 1:
        dqkv = attention.self_backward(next_grad, read[0], mask, y, log_sums, layer.causal, drawn)
        dx, dweight, dbias = mapped_backward(dqkv, x, layer.in_proj_weight)
        return (dweight, None, None, None), dbias, dx, None
    q, k, v = read
    derivatives = attention.backward(next_grad, q, k, v, mask, y, log_sums, layer.causal, drawn)
    each, dbias, dx, dmemory = projected_backward(derivatives, x, memory, of_layer(layer)[0], layer.rotary)
    dq, dk, dv = each
    packed = layer.in_proj_weight is not None
    return (join(0, dq, dk, dv), None, None, None) if packed else (None, dq, dk, dv), dbias, dx, dmemory


def of_its_own(rule: Initialiser) -> Initialiser:
    """``rule`` with the fans of each weight, not of the layer's first one."""
    return lambda rng, shape, fans: rule(rng, shape, Fans(shape[1], shape[0]))


def attended(
    owner: Any,
    x: Float[Array3, "batch time embed_dim"],
    memory: Float[Array3, "batch memory kdim"] | None,
    mask: Bool[AnyBoolArray, "batch ... positions"] | None,
) -> Any:
    """What ``owner`` attends to: ``memory``, or ``x``. `ShapeError` where x has other features, or a mask's sizes are
    not theirs.

    A mask is (batch, memory) or (batch, time, memory); its batch, and a memory's size, are checked before.
    """
    if memory is None and owner.kdim != owner.embed_dim:
        raise ShapeError(
            explain(f"{owner.label()}.forward", f"needs a memory of kdim={owner.kdim} features", "none"), owner
        )
    read = x if memory is None else memory
    if mask is None or (
        mask.shape[-1] == read.shape[1] and (mask.ndim == 2 or (mask.ndim == 3 and mask.shape[1] == x.shape[1]))
    ):
        return read
    got = f"shape {tuple(mask.shape)} beside x {tuple(x.shape)}"
    raise ShapeError(
        explain(f"{owner.label()}.forward", 'mask must be "batch memory" or "batch time memory"', got), owner
    )


def _rows(x: Any, features: int) -> Float[Array2, "_ {features}"]:
    """Every position as a row."""
    rows: Array2 = reshape(x, (-1, features))
    return rows
