"""Configs of models that read integers: their input has ``dtype = "int"``, and they are chains."""

from typing import Any

import numpy as np
import pytest

from typednn import FirstChain, Input, config
from typednn.errors import ArgumentError, ConfigError
from typednn.layers import LSTM, Embedding, LastStep, Linear

pytestmark = pytest.mark.usefixtures("on_the_reference")

TEXT = """\
format = 1
input = [7]
dtype = "int"

[[layer]]
type = "Embedding"
num_embeddings = 5
embedding_dim = 4

[[layer]]
type = "LSTM"
input_size = 4
hidden_size = 6

[[layer]]
type = "LastStep"

[[layer]]
type = "Linear"
in_features = 6
out_features = 3
"""


def test_equals_the_chain_in_code() -> None:
    code: Any = Input(7, dtype=int) >> Embedding(5, 4) >> LSTM(4, 6) >> LastStep() >> Linear(6, 3)
    read = config.loads(TEXT).built()
    assert isinstance(read, FirstChain)
    assert config.dumps(code) == config.dumps(read) == TEXT
    for model in (code, read):
        model.init(np.random.default_rng(3))
    tokens = np.random.default_rng(0).integers(0, 5, (2, 7))
    np.testing.assert_array_equal(code.forward(tokens), read.forward(tokens))


def test_a_stack_has_rows_of_floats() -> None:
    with pytest.raises(ArgumentError) as raised:
        config.loads(TEXT, name="words.toml").model()
    assert str(raised.value) == (
        "words.toml: the rows of a Stack are floats, got Input(7, dtype=int); call built(), which gives a chain"
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('dtype = "int"\n', "", 'layer 0: Embedding(5, 4) reads integers; declare dtype = "int" beside input'),
        ('"int"', '"long"', 'dtype of the input is "float" or "int", got "long"; "int" is for tokens'),
        ("[7]", "[7, 2]", "input of integers is one size, the number of tokens of one sample, got [7, 2]"),
        (
            'dtype = "int"\n',
            '[[layer]]\ntype = "ReLU"\n',
            "layer 1: Embedding(5, 4) reads integers; integers have no derivative; put it first",
        ),
        (
            '[[layer]]\ntype = "Embedding"\nnum_embeddings = 5\nembedding_dim = 4\n',
            "",
            "layer 0: LSTM(4, 6) reads floats, and the input's dtype is int; put a layer that reads integers "
            "first, such as Embedding",
        ),
    ],
)
def test_complaints(old: str, new: str, message: str) -> None:
    assert TEXT.count(old) == 1
    with pytest.raises(ConfigError) as raised:
        config.loads(TEXT.replace(old, new), name="words.toml")
    assert raised.value.message.splitlines()[0] == message
