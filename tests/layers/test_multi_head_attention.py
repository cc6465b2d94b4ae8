"""MultiHeadAttention and positions: causality, steps, a block of a transformer, initial values, and
what they refuse.
"""

from typing import Any

import numpy as np
import pytest

from typednn import Incremental, Input, gradcheck
from typednn.engines import using
from typednn.errors import ArgumentError, ShapeError
from typednn.layers import LearnedPositions, MultiHeadAttention, ReLU, Residual, SequenceLinear, SinusoidalPositions
from typednn.testing.subject import arrays_in


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def sequences(batch: int, time: int, features: int) -> Any:
    return rng().standard_normal((batch, time, features)).astype(np.float32)


@pytest.mark.parametrize("rotary", [True, False])
def test_a_later_position_changes_no_earlier_output(rotary: bool) -> None:
    layer, x = MultiHeadAttention(8, 2, causal=True, rotary=rotary, rng=rng()), sequences(2, 5, 8)
    y = layer.forward(x)
    changed = x.copy()
    changed[:, 3] += 1
    z = layer.forward(changed)
    np.testing.assert_array_equal(y[:, :3], z[:, :3])
    assert (y[:, 3:] != z[:, 3:]).any(axis=2).all()


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_nan_at_a_later_position_changes_no_earlier_output(engine: Any) -> None:
    """Nor one that the mask leaves out."""
    x = sequences(2, 18, 16)
    poisoned = x.copy()
    poisoned[:, 3:] = np.nan
    mask = np.array([[True] * 3 + [False] * 15] * 2)
    with using(engine):
        causal, masked = (MultiHeadAttention(16, 2, causal=causal, rng=rng()).eval() for causal in (True, False))
        np.testing.assert_allclose(causal.forward(poisoned)[:, :3], causal.forward(x)[:, :3], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(
            masked.forward(poisoned, None, mask)[:, :3], masked.forward(x, None, mask)[:, :3], rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize(
    "layer",
    [
        MultiHeadAttention(8, 2, causal=True),
        MultiHeadAttention(16, 2, causal=True, rotary=True, bias=False),
        LearnedPositions(6, 8),
        SinusoidalPositions(8),
    ],
    ids=repr,
)
def test_steps_give_what_forward_gives(layer: Any) -> None:
    """The law of `Incremental`; and a state can be used twice."""
    assert isinstance(layer, Incremental)
    layer.init(rng()).eval()
    x = sequences(2, 6, getattr(layer, "embed_dim"))  # noqa: B009
    whole, state = layer.forward(x), None
    for t in range(6):
        again = layer.step(x[:, t], state)[0]
        y, state = layer.step(x[:, t], state)
        np.testing.assert_array_equal(y, again)
        np.testing.assert_allclose(y, whole[:, t], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    "layer", [MultiHeadAttention(16, 2, causal=True, rotary=True), LearnedPositions(9, 16)], ids=repr
)
def test_pieces_give_what_forward_gives(layer: Any) -> None:
    layer.init(rng()).eval()
    x = sequences(2, 9, 16)
    whole, state = layer.forward(x), None
    for start, end in ((0, 3), (3, 4), (4, 9)):
        y, state = layer.read(x[:, start:end], state)
        np.testing.assert_allclose(y, whole[:, start:end], rtol=2e-5, atol=2e-6)


def test_a_state_of_another_batch_size_or_dtype_is_refused() -> None:
    layer: MultiHeadAttention = MultiHeadAttention(8, 2, causal=True, rng=rng())
    _, state = layer.read(sequences(2, 3, 8))
    others = [(layer, sequences(1, 1, 8)), (MultiHeadAttention(8, 4, causal=True, rng=rng()), sequences(2, 1, 8))]
    others.append(
        (MultiHeadAttention(8, 2, causal=True, rng=rng()).astype("float64"), sequences(2, 1, 8).astype(np.float64))
    )
    for other, x in others:
        with pytest.raises(
            ShapeError, match=r"a cache: is of batch, heads, features and dtype \(2, 2, 4, 'float32'\), got"
        ):
            other.read(x, state)


def test_relative_positions_alone_matter_to_rotary_attention() -> None:
    """RoFormer, eq 16: the same features further on give the same products."""
    layer = MultiHeadAttention(8, 2, causal=True, rotary=True, rng=rng()).eval()
    x = sequences(1, 4, 8)
    mask = np.array([[False, False, True, True, True, True]])
    padded = np.concatenate([sequences(1, 2, 8), x], axis=1)
    np.testing.assert_allclose(layer.forward(padded, None, mask)[:, 2:], layer.forward(x), rtol=1e-4, atol=1e-5)


def test_dropout_of_weights() -> None:
    """Z-D7: in training alone; each call draws another mask, and a layer that is loaded goes on with the same."""
    x = sequences(2, 20, 8)
    plain, layer = MultiHeadAttention(8, 2, rng=rng()), MultiHeadAttention(8, 2, dropout=0.5, rng=rng())
    assert [*plain.state_dict(), "seed"] == list(layer.state_dict())
    plain.load_state_dict({name: array for name, array in layer.state_dict().items() if name != "seed"})
    np.testing.assert_array_equal(layer.eval().forward(x), plain.eval().forward(x))
    assert layer.seed is not None
    assert layer.seed[1] == 0
    layer.train()
    first, second = layer.forward(x), layer.forward(x)
    assert np.abs(first - second).max() > 0.01
    other: MultiHeadAttention = MultiHeadAttention(8, 2, dropout=0.5)
    other.load_state_dict(layer.state_dict())
    np.testing.assert_array_equal(other.forward(x), layer.forward(x))
    assert layer.seed[1] == 3


def test_the_mean_of_dropped_weights_is_the_weight() -> None:
    """Over 3,000 masks; a softmax that is even makes y a mean of values, each present with probability 0.75."""
    layer: MultiHeadAttention = MultiHeadAttention(4, 1, dropout=0.25, rng=rng())
    assert layer.in_proj_weight is not None
    layer.in_proj_weight[:8] = 0  # all scores are 0
    layer.in_proj_weight[8:] = np.eye(4)
    layer.out_proj_weight[...] = np.eye(4)
    x = np.ones((3000, 1, 4), np.float32)
    y = layer.forward(x, np.ones((3000, 5, 4), np.float32))[:, 0, 0]
    counts = np.round(y * 0.75 * 5)
    np.testing.assert_allclose(y, counts / 5 / 0.75, rtol=1e-5)
    assert counts.mean() == pytest.approx(5 * 0.75, abs=4 * (5 * 0.75 * 0.25 / 3000) ** 0.5)
    assert counts.var() == pytest.approx(5 * 0.75 * 0.25, rel=0.1)


def test_dropout_keeps_no_scores() -> None:
    layer: MultiHeadAttention = MultiHeadAttention(8, 2, dropout=0.5, rng=rng())
    layer.forward(sequences(1, 64, 8))
    kept = [array for _, array in arrays_in(layer.__typednn_calls__.kept)]
    assert max(array.size for array in kept) == 64 * 3 * 8  # q, k and v


def test_a_block_of_a_transformer() -> None:
    """Of the pre-norm kind, without its normalisation."""
    block = Residual(MultiHeadAttention(6, 2, causal=True)) >> Residual(
        SequenceLinear(6, 24) >> ReLU() >> SequenceLinear(24, 6)
    )
    model = (Input(5, 6) >> LearnedPositions(7, 6) >> block).init(rng())
    assert gradcheck(model, sequences(2, 5, 6)).error < 1e-6
    assert model.num_parameters() == 7 * 6 + 4 * 6 * 7 + 6 * 24 + 24 + 24 * 6 + 6


def test_initial_values() -> None:
    """PyTorch's: xavier_uniform of the whole in_proj_weight, or of each weight; kaiming_uniform out; biases 0."""
    layer = MultiHeadAttention(64, 4, rng=rng())
    assert layer.in_proj_weight is not None
    assert 0.99 < abs(layer.in_proj_weight).max() / (6 / (64 + 192)) ** 0.5 <= 1
    assert 0.99 < abs(layer.out_proj_weight).max() / 64**-0.5 <= 1
    assert not np.any(layer.in_proj_bias)
    assert not np.any(layer.out_proj_bias)
    apart = MultiHeadAttention(64, 4, kdim=32, rng=rng())
    for weight, fans in ((apart.q_proj_weight, 128), (apart.k_proj_weight, 96), (apart.v_proj_weight, 96)):
        assert weight is not None
        assert 0.99 < abs(weight).max() / (6 / fans) ** 0.5 <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"embed_dim": 10, "num_heads": 4},
            "embed_dim must be a multiple of num_heads, 4, got 10; each head has embed_dim/num_heads",
        ),
        ({"embed_dim": 6, "num_heads": 2, "rotary": True}, "embed_dim must be a multiple of 2·num_heads, 4, got 6"),
        ({"embed_dim": 6, "num_heads": 0}, "num_heads must be an integer of at least 1, got 0"),
        (
            {"embed_dim": 6, "num_heads": 2, "dropout": 1.5},
            "dropout must be a finite number with 0 <= dropout <= 1, got 1.5",
        ),
        ({"embed_dim": 6, "num_heads": 2, "kdim": 0}, "kdim must be an integer of at least 1, got 0"),
    ],
)
def test_arguments_that_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        MultiHeadAttention(**arguments)
    assert str(caught.value).startswith(f"MultiHeadAttention: {message}")


def test_masks_and_memories_that_are_refused() -> None:
    layer, x = MultiHeadAttention(6, 2, rng=rng()), sequences(2, 4, 6)
    for shape in ((2, 3), (2, 3, 4), (2, 4, 4, 1), (3, 4)):
        with pytest.raises(ShapeError):
            layer.forward(x, None, np.ones(shape, bool))
    layer.forward(x, None, np.ones((2, 4), bool))
    with pytest.raises(ShapeError, match="mask must be"):  # after a call of the same kind
        layer.forward(x, None, np.ones((2, 3), bool))
    with pytest.raises(ShapeError, match="needs a memory of kdim=5 features, got none"):
        MultiHeadAttention(6, 2, kdim=5, rng=rng()).forward(x)
    with pytest.raises(ArgumentError, match="needs causal=True"):
        layer.step(x[:, 0])


def test_a_sequence_beyond_what_was_learnt_is_refused() -> None:
    layer = LearnedPositions(3, 2, rng=rng())
    with pytest.raises(ShapeError, match="knows 3 positions, got a sequence of 4; cut it, or set max_length"):
        layer.forward(sequences(1, 4, 2))
    with pytest.raises(ShapeError, match="knows 3 positions, got a sequence of 4"):
        layer.step(sequences(1, 1, 2)[:, 0], 3)
