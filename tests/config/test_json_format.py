"""Configs in JSON: the same keys, models and checks as in TOML; places are those of JSON's tokens."""

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.config.test_paper_format import LENET5_TOML
from typednn.config import ConfigError, dumps, load, loads
from typednn.config.json_format import read_json
from typednn.config.source import Item, Source
from typednn.recipes import recipe_of_config

LENET5_JSON = json.dumps(tomllib.loads(LENET5_TOML), indent=1)


def plain(item: Item) -> Any:
    """An item as Python has it."""
    if item.table is not None:
        return {key: plain(part) for key, part in item.table.items()}
    return item.value if item.parts is None else [plain(part) for part in item.parts]


@pytest.mark.parametrize("name", ["lenet5.json", "<config>", "lenet5.JSON", "lenet5.config"])
def test_a_model_in_json_is_that_in_toml(name: str) -> None:
    """P-D4: the same layers, optimizer and weights."""
    ours, theirs = loads(LENET5_JSON, name), loads(LENET5_TOML, "lenet5.toml")
    assert dumps(ours.model(), ours.optimizer()) == dumps(theirs.model(), theirs.optimizer())
    one, other = ours.model().init(ours.rng()), theirs.model().init(theirs.rng())
    for path, expected in one.state_dict().items():
        assert np.array_equal(other.state_dict()[path], expected), path


def test_a_recipe_of_a_json_file(tmp_path: Path) -> None:
    """With the generator that it names."""
    (tmp_path / "m.json").write_text(LENET5_JSON)
    (tmp_path / "m.toml").write_text(LENET5_TOML)
    ours, theirs = recipe_of_config(tmp_path / "m.json"), recipe_of_config(tmp_path / "m.toml")
    assert (ours.seed, ours.generator, ours.stream) == (42, "pcg32", 6)
    assert ours.config() == theirs.config()
    assert load(tmp_path / "m.json").source == str(tmp_path / "m.json")


DOCUMENTS = st.recursive(
    st.booleans()
    | st.integers(-(1 << 63), (1 << 63) - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=5), inside, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), DOCUMENTS, max_size=4), st.sampled_from([None, 0, 2]), st.booleans())
def test_what_is_read_is_what_pythons_json_reads(document: dict[str, Any], indent: int | None, escaped: bool) -> None:
    """And each place is that of its token."""
    source = Source("m.json", json.dumps(document, indent=indent, ensure_ascii=escaped))
    items = read_json(source)
    assert {key: plain(item) for key, item in items.items()} == document

    def look(item: Item) -> None:
        line = source.text.split("\n")[item.place.line - 1]
        token = line[item.place.column - 1 : item.place.column - 1 + item.place.length]
        if item.table is not None or item.parts is not None:
            assert token in ("{", "[")
        else:
            assert json.loads(token) == item.value
        for part in (item.table or {}).values():
            look(part)
        for part in item.parts or []:
            look(part)

    for item in items.values():
        look(item)


@given(st.text(alphabet='{}[]",:0123456789.-+eE truefalsn\\u\n\t', max_size=30))
def test_what_python_refuses_is_refused(text: str) -> None:
    """Any text: read as Python reads it, or one `ConfigError` with its place."""
    source = Source("m.json", "{" + text)
    refused: ConfigError | None = None
    items: dict[str, Item] = {}
    try:
        items = read_json(source)
    except ConfigError as error:
        refused = error
    if refused is None:
        assert {key: plain(item) for key, item in items.items()} == json.loads(source.text)
    else:
        assert 1 <= (refused.line or 0) <= len(source.lines)


ROWS = '{"format": 1, "input": [4], "layer": [%s]}'
RELU = '{"type": "ReLU"}'


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", (1, 1), "not JSON: a config is an object, {...}"),
        ("[1]", (1, 1), "not JSON: a config is an object, {...}"),
        ("600,4,4,1\n####################\n", (1, 1), "not JSON: a config is an object, {...}"),
        ("{}", (1, 1), 'format is missing; write "format": 1 first'),
        ('{"format": 2}', (1, 12), "format 2 is newer than this typednn"),
        (ROWS % RELU + "x", (1, len(ROWS % RELU) + 1), "not JSON: nothing may follow the config's last }"),
        ('{"format": 1,\n "format": 1}', (2, 2), "not JSON: the key 'format' stands here twice"),
        ('{"format": 1,\n "input": [4}', (2, 13), "not JSON: expects , or ]"),
        ('{"format": 1,\n "input" [4]', (2, 10), "not JSON: expects : after a key"),
        ('{"format": 1,\n input: [4]}', (2, 2), "not JSON: a key is a string"),
        ('{"format": 1,}', (1, 14), "not JSON: a key is a string"),
        ('{"format": 1, "input": [4]', (1, 27), "not JSON: ends too early"),
        ('{"format": 1, "input": ', (1, 24), "not JSON: ends too early"),
        ('{"format": 1, "input": "4', (1, 24), "not JSON: unterminated string starting at"),
        ('{"format": 1, "input": null}', (1, 24), "not JSON: null is no value of a config; leave the key out"),
        ('{"format": 01}', (1, 12), "not JSON: expects a number, a string, true, false, a list or a table"),
        ('{"format": NaN}', (1, 12), "not JSON: expects a number"),
        ('{"format": 9223372036854775808}', (1, 12), "an integer of more than 64 bits"),
        ('{"format": ' + "9" * 5000 + "}", (1, 12), "an integer of more than 64 bits"),
        ('{"format": ' + "[" * 100 + "}", (1, 44), "nested more than 32 deep"),
        ('{"formt": 1, "format": 1}', (1, 2), "unknown key 'formt'; did you mean 'format'?"),
        (ROWS % '{"type": "Relu"}', (1, 48), "layer 0: unknown type \"Relu\"; did you mean 'ReLU'?"),
        (ROWS % '{"type": "LeakyReLU", "slope": 1}', (1, 61), "layer 0: LeakyReLU has no argument 'slope'"),
        (
            ROWS % '{"type": "LeakyReLU", "negative_slope": "a"}',
            (1, 79),
            "layer 0: LeakyReLU: negative_slope must be a number",
        ),
        (
            ROWS % '{"type": "Linear", "in_features": 5, "out_features": 2}',
            (1, 73),
            "layer 0: Linear(5, 2) cannot follow Input(4)",
        ),
    ],
)
def test_what_is_wrong_is_told_at_its_place(text: str, place: tuple[int, int], words: str) -> None:
    """P-D7: as in TOML, with a caret under the token."""
    with pytest.raises(ConfigError) as caught:
        loads(text, "m.json")
    assert words in str(caught.value)
    assert (caught.value.line, caught.value.column) == place
