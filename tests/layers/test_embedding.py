"""G-L2: what the laws of all layers do not say of Embedding."""

from typing import Any

import numpy as np
import pytest

from typednn import Input, checking
from typednn.errors import ArgumentError, CheckError
from typednn.layers import Embedding, SequenceLinear
from typednn.optim import SGD

TOKENS = np.array([[0, 2, 4], [4, 4, 3]])


def embedding(*arguments: Any, **options: Any) -> Any:
    return Embedding(*arguments, **options, rng=np.random.default_rng(0))


@pytest.mark.parametrize("padding", [2, -3])
def test_the_paddings_row_begins_as_zeros_and_stays(padding: int) -> None:
    """As torch.nn.Embedding's padding_idx."""
    layer = embedding(5, 3, padding)
    assert layer.padding_idx == 2
    assert not layer.weight[2].any()
    before = layer.weight.copy()
    layer.update(SGD(0.1), layer.backward(np.ones_like(layer.forward(TOKENS))))
    assert [bool((row != old).any()) for row, old in zip(layer.weight, before, strict=True)] == [
        True,
        False,
        False,
        True,
        True,
    ]


@pytest.mark.parametrize(("token", "place"), [(5, (1, 2)), (-1, (0, 1))])
def test_a_token_outside_the_vocabulary_is_refused_with_its_place(token: int, place: tuple[int, int]) -> None:
    """G-L2."""
    tokens = TOKENS.copy()
    tokens[place] = token
    model = Input(3, dtype=int) >> embedding(5, 3).named("words") >> SequenceLinear(3, 2, rng=np.random.default_rng(0))
    with pytest.raises(CheckError) as error:
        model.forward(tokens)
    row, position = place
    assert str(error.value) == (
        f'layer "words": Embedding(5, 3).forward: tokens are 0 to 4, got {token} in row {row}, position {position}'
    )
    with checking("off"):
        model.forward(tokens)


@pytest.mark.parametrize("arguments", [(0, 3), (5, 0), (5, 3, 5), (5, 3, -6), (5.0, 3), (5, 3, True)])
def test_wrong_arguments(arguments: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^Embedding: (num_embeddings|embedding_dim|padding_idx) must be"):
        Embedding(*arguments)


def test_initial_weights_are_normal() -> None:
    """G-L2: N(0, 1); in 20,000 numbers the mean is within 5 standard errors of 0, and so is the variance of 1."""
    weight = embedding(200, 100).weight
    assert abs(weight.mean()) < 5 / 20_000**0.5
    assert abs(weight.var() - 1) < 5 * (2 / 20_000) ** 0.5
