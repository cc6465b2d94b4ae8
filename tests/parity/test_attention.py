"""MultiHeadAttention gives PyTorch's output and gradients, with PyTorch's state; so do its positions, and training."""

from typing import Any

import numpy as np
import pytest
from effort import expensive
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from typednn.engines import counting, using
from typednn.kernels import attention
from typednn.kernels.positions import rotate
from typednn.layers import LearnedPositions, MultiHeadAttention, SinusoidalPositions
from typednn.optim import SGD

pytestmark = pytest.mark.parity

compiling = settings(expensive, suppress_health_check=[HealthCheck.function_scoped_fixture])  # for their sizes
hard = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
sizes = st.integers(1, 5)
seeds = st.integers(0, 2**32 - 1)


def theirs_name(name: str) -> str:
    return name.replace("out_proj_", "out_proj.")


def pair(torch: Any, dtype: Any, seed: int, embed_dim: int, heads: int, **arguments: Any) -> tuple[Any, Any]:
    """Our layer, and PyTorch's with the same state."""
    ours = MultiHeadAttention(embed_dim, heads, **arguments).init(np.random.default_rng(seed)).astype(dtype)
    for bias in (ours.in_proj_bias, ours.out_proj_bias):
        if bias is not None:
            bias += np.random.default_rng(seed).standard_normal(bias.shape).astype(dtype)
    kdim = arguments.get("kdim")
    theirs = torch.nn.MultiheadAttention(
        embed_dim,
        heads,
        bias=arguments.get("bias", True),
        kdim=kdim,
        vdim=kdim,
        batch_first=True,
        dtype=getattr(torch, dtype.name),
    )
    theirs.load_state_dict({theirs_name(name): torch.tensor(value) for name, value in ours.state_dict().items()})
    return ours, theirs


@compiling
@given(
    batch=sizes,
    time=sizes,
    memory=sizes,
    heads=sizes,
    features=sizes,
    kdim=st.sampled_from([None, 3, 7]),
    bias=st.booleans(),
    causal=st.booleans(),
    axes_of_mask=st.sampled_from([0, 2, 3]),
    seed=seeds,
)
def test_multi_head_attention(
    torch: Any, close: Any, dtype: Any, batch: int, time: int, memory: int, heads: int, features: int, kdim: int | None,
    bias: bool, causal: bool, axes_of_mask: int, seed: int,
) -> None:  # fmt: skip
    """G-P3: output, and every gradient, of self-attention where there is no kdim, else of attention to a memory."""
    compare(torch, close, dtype, batch, time, memory, heads, features, kdim, bias, causal, axes_of_mask, seed)


@pytest.mark.parametrize(
    ("heads", "features", "kdim", "causal", "axes_of_mask"),
    [(3, 8, None, True, 3), (2, 64, None, True, 0), (2, 64, 40, False, 2)],
)
def test_heads_of_sizes_that_have_kernels(
    torch: Any, close: Any, heads: int, features: int, kdim: int | None, causal: bool, axes_of_mask: int
) -> None:
    """The whole layer on kernels, over more than a block of queries and a tile of keys."""
    with counting() as counts:
        compare(torch, close, np.dtype(np.float32), 2, 53, 70, heads, features, kdim, True, causal, axes_of_mask, 0)
    op = "self_attention" if kdim is None else "attention"
    assert counts[f"{op}.forward", "halide"] == counts[f"{op}.backward", "halide"] == 1


def compare(
    torch: Any, close: Any, dtype: Any, batch: int, time: int, memory: int, heads: int, features: int, kdim: int | None,
    bias: bool, causal: bool, axes_of_mask: int, seed: int,
) -> None:  # fmt: skip
    rng = np.random.default_rng(seed)
    ours, theirs = pair(torch, dtype, seed, heads * features, heads, kdim=kdim, bias=bias, causal=causal)
    x = rng.standard_normal((batch, time, heads * features)).astype(dtype)
    read = None if kdim is None else rng.standard_normal((batch, memory, kdim)).astype(dtype)
    length = time if read is None else memory
    mask = (
        None if not axes_of_mask else rng.random((batch, length) if axes_of_mask == 2 else (batch, time, length)) < 0.6
    )
    if mask is not None:
        mask[..., 0] = True  # PyTorch gives NaN where nothing is attended to
    y = ours.forward(x, read, mask)
    next_grad = rng.standard_normal(y.shape).astype(dtype)
    grad = ours.backward(next_grad)

    tensor = torch.tensor(x, requires_grad=True)
    tensor_read = tensor if read is None else torch.tensor(read, requires_grad=True)
    allowed = (
        np.ones((batch, time, length), bool)
        if mask is None
        else np.broadcast_to(mask if mask.ndim == 3 else mask[:, None], (batch, time, length))
    )
    allowed = allowed & (np.tri(time, length, dtype=bool) if causal else True)
    expected, _ = theirs(
        tensor, tensor_read, tensor_read, attn_mask=torch.tensor(~np.repeat(allowed, heads, axis=0)), need_weights=False
    )
    close(y, expected.detach().numpy(), "output")
    expected.backward(torch.tensor(next_grad))
    close(grad.input, tensor.grad.numpy(), "input gradient")
    if read is not None:
        close(grad.memory, tensor_read.grad.numpy(), "memory gradient")
    gradients = {name: value.grad.numpy() for name, value in theirs.named_parameters()}
    for name, derivative in ours.named_gradients(grad).items():
        close(derivative, gradients.pop(theirs_name(name)), name)
    assert not gradients


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("causal", [True, False])
def test_scaled_dot_product_attention(torch: Any, close: Any, engine: str, causal: bool) -> None:
    """The op alone, over several blocks of queries and keys with remainders."""
    rng = np.random.default_rng(0)
    q, k, v, next_grad = rng.standard_normal((4, 2, 133, 3, 16), dtype=np.float32)
    with using(engine):
        y, log_sums = attention.forward(q, k, v, None, causal)
        gradients = attention.backward(next_grad, q, k, v, None, y, log_sums, causal)
    tensors = [torch.tensor(x, requires_grad=True) for x in (q, k, v)]
    expected = torch.nn.functional.scaled_dot_product_attention(
        *(x.transpose(1, 2) for x in tensors), is_causal=causal
    ).transpose(1, 2)
    expected.backward(torch.tensor(next_grad))
    close(y, expected.detach().numpy(), "output")
    for name, ours, theirs in zip("qkv", gradients, tensors, strict=True):
        close(ours, theirs.grad.numpy(), name)


def test_ten_steps(torch: Any) -> None:
    """Ten steps of SGD leave PyTorch's weights."""
    ours, theirs = pair(torch, np.dtype(np.float64), 0, 12, 3, causal=True)
    x, target = np.random.default_rng(1).standard_normal((2, 4, 7, 12))
    optimizer, peer = SGD(0.002), torch.optim.SGD(theirs.parameters(), 0.002)
    later = torch.ones(7, 7, dtype=torch.bool).triu(1)
    for _ in range(10):
        ours.update(optimizer, ours.backward(2 * (ours.forward(x) - target)))
        tensor = torch.tensor(x)
        peer.zero_grad()
        (
            theirs(tensor, tensor, tensor, attn_mask=later, need_weights=False)[0] - torch.tensor(target)
        ).square().sum().backward()
        peer.step()
    state = theirs.state_dict()
    for name, value in ours.state_dict().items():
        np.testing.assert_allclose(value, state[theirs_name(name)].numpy(), rtol=1e-9, atol=1e-9, err_msg=name)


@hard
@given(batch=sizes, time=sizes, heads=sizes, pairs=sizes, first=st.integers(0, 9), seed=seeds)
def test_rotate(torch: Any, batch: int, time: int, heads: int, pairs: int, first: int, seed: int) -> None:
    """Each pair of features as a complex number, times that of its angle."""
    x = np.random.default_rng(seed).standard_normal((batch, time, heads, 2 * pairs))
    angles = (torch.arange(first, first + time).double()[:, None] / 10000 ** (torch.arange(pairs).double() / pairs))[
        :, None
    ]
    numbers = torch.view_as_complex(torch.tensor(x).unflatten(3, (pairs, 2)))
    expected = torch.view_as_real(numbers * torch.polar(torch.ones_like(angles), angles))
    np.testing.assert_allclose(rotate(x, first=first), expected.flatten(3).numpy(), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(rotate(rotate(x, first=first), first=first, back=True), x, rtol=1e-12, atol=1e-12)


@hard
@given(batch=sizes, time=sizes, pairs=sizes, seed=seeds)
def test_sinusoidal_positions(torch: Any, batch: int, time: int, pairs: int, seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal((batch, time, 2 * pairs))
    angles = torch.arange(time).double()[:, None] / 10000 ** (torch.arange(pairs).double() / pairs)
    expected = torch.tensor(x) + torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)
    np.testing.assert_allclose(SinusoidalPositions(2 * pairs).forward(x), expected.numpy(), rtol=1e-12, atol=1e-12)


@hard
@given(batch=sizes, time=sizes, more=st.integers(0, 3), features=sizes, seed=seeds)
def test_learned_positions(peer: Any, dtype: Any, batch: int, time: int, more: int, features: int, seed: int) -> None:
    layer = LearnedPositions(time + more, features).init(np.random.default_rng(seed)).astype(dtype)
    x = np.random.default_rng(seed).standard_normal((batch, time, features)).astype(dtype)
    peer.compare(layer, x, lambda x, weight: x + weight[: x.shape[1]])
