"""CosineSimilarity: how far two vectors point apart, before its reduction.

loss = 1 - x·t / (|x|' |t|')       dx = scale·(cos·x/|x|'² where |x| > eps - t/(|x|' |t|'))       |v|' = max(|v|, eps)

x, t (…, features); loss (…), one for each vector along the last axis. Not longer than eps, |x|' is constant, and only
the second term is left. 6 flops for each number forward, 5 more backward.
Source: torch.nn.CosineEmbeddingLoss with target 1; eps as in torch.nn.CosineSimilarity.
"""

from typing import Any, Final, TypeVar

from jaxtyping import Float

from typednn.arrays import AnyArray, namespace
from typednn.kernels.op import op

X = TypeVar("X", bound=AnyArray)


def _parts(
    x: Float[AnyArray, "*batch features"], t: Float[AnyArray, "*batch features"], eps: float
) -> tuple[Float[AnyArray, "*batch 1"], Float[AnyArray, "*batch 1"], Float[AnyArray, "*batch 1"]]:
    """cos, |x|' and |t|', with a last axis of 1."""
    xp = namespace(x)
    x_length, t_length = (xp.maximum(xp.sqrt((v * v).sum(axis=-1, keepdims=True)), eps) for v in (x, t))
    return ((x / x_length) * (t / t_length)).sum(axis=-1, keepdims=True), x_length, t_length


def _forward(
    x: Float[AnyArray, "*batch features"], t: Float[AnyArray, "*batch features"], eps: float
) -> Float[AnyArray, "*batch"]:
    """The loss of each vector."""
    return 1 - _parts(x, t, eps)[0][..., 0]


def _backward(
    x: Float[X, "*batch features"], t: Float[AnyArray, "*batch features"], eps: float, scale: float
) -> Float[X, "*batch features"]:
    """The scaled loss by x."""
    slope: X = _slope(x, t, eps, scale, *_parts(x, t, eps))
    return slope


def _slope(x: Any, t: Any, eps: float, scale: float, cos: Any, x_length: Any, t_length: Any) -> Any:
    along = namespace(x).where(x_length > eps, cos, 0) * (x / x_length)
    return (along - t / t_length) * (scale / x_length)


def _both(
    x: Float[X, "*batch features"], t: Float[AnyArray, "*batch features"], eps: float, scale: float
) -> tuple[Float[AnyArray, "*batch"], Float[X, "*batch features"]]:
    parts = _parts(x, t, eps)
    return 1 - parts[0][..., 0], _slope(x, t, eps, scale, *parts)


backward: Final = op("cosine_similarity.backward", _backward, flops=11)
forward: Final = op("cosine_similarity.forward", _forward, flops=6, keeps="x t", backward=backward)
forward_and_backward: Final = op("cosine_similarity.forward_and_backward", _both, flops=11)
