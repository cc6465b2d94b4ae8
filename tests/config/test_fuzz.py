"""Whatever the text, a config is loaded or refused with a `ConfigError`: never a dependency's traceback, never a
RecursionError.
"""

import time
from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from typednn.config import ConfigError, load, loads
from typednn.config.source import decoded

TOML = """\
format = 1
input = [28, 28, 1]
[[layer]]
type = "Pad2d"
padding = [1, 2, 3, 4]
[[layer]]
type = "Conv2d"
name = "conv1"
in_channels = 1
out_channels = 6
kernel_size = 5
weight_init = { type = "Normal", std = 0.02 }
[[layer]]
type = "Residual"
[[layer.inner]]
type = "PReLU"
[[layer.inner]]
type = "Stack"
input = [1]
[[layer.inner.layers]]
type = "ReLU"
[optimizer]
type = "SGD"
lr = { type = "CosineLR", lr = 0.1, total_steps = 10 }
[[optimizer.group]]
names = "*"
l2 = 0.1
[init]
seed = 42
generator = "pcg32"
"""
PAPER = """\
6,8,8,1
####################
Pad2D,2,2,0
Conv2D,1,2,3,3,1,1,1,1
ReLU
MaxPool2D,2,2,2,2,1,1
Flatten
Linear,50,10
Softmax
####################
SGD,1.0
"""

SIGNS = [
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    ",",
    '"',
    "'",
    '"""',
    "\n",
    "\r",
    "\t",
    "#",
    ".",
    "é",
    "日",
    "\\u0000",
    "\0",
    "#" * 20,
]
VALUES = [
    "-1",
    "0",
    "1.5",
    "1e999",
    "nan",
    "true",
    "2020-01-01",
    "07:32:00",
    "9" * 30,
    "9223372036854775807",
    "a" * 200,
    '""',
    '"\\u0007"',
]
TABLES = [
    "[]",
    "[[]]",
    "[0, 0]",
    "[1, 2]",
    '["a"]',
    "{}",
    "{type = 1}",
    '{type = "Normal"}',
    '{type = "ReLU"}',
    "[{}]",
    '[{type = "Linear"}]',
]
NESTED = [
    '[{type = "Stack", layers = [{type = "ReLU"}]}]',
    "[[layer]]",
    "[[layer.inner]]",
    "[[layer.layers]]",
    "[optimizer]",
]
WORDS = [
    "type",
    "name",
    "input",
    "rng",
    "self",
    '"fc1"',
    '"Linear"',
    '"Stack"',
    '"Sequential"',
    '"Chain"',
    '"ElementwiseChain"',
    '"PerPosition"',
]
PIECES = st.sampled_from([*SIGNS, *VALUES, *TABLES, *NESTED, *WORDS])


def refused(text: str, name: str) -> None:
    """Load, or be refused in the one way that there is."""
    error: ConfigError | None = None
    try:
        loads(text, name).model()
    except ConfigError as raised:
        error = raised
    assert error is None or (str(error).startswith(name) and error.path == name)


@pytest.mark.parametrize("name", ["m.toml", "m.txt"])
@given(text=st.text(max_size=200))
@example(text='"')
@example(text="\r")
@example(text="a = 1\rb")
def test_any_text(name: str, text: str) -> None:
    """P-D7."""
    refused(text, name)


@given(data=st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    """P-D7."""
    with suppress(ConfigError):
        decoded("m", data)


@settings(max_examples=150)
@pytest.mark.parametrize("text", [TOML, PAPER], ids=["toml", "paper"])
@given(data=st.data())
def test_any_change_of_a_good_config(text: str, data: st.DataObject) -> None:
    """P-D7: pieces cut out, put in, and put in the place of others."""
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = start + data.draw(st.integers(0, 12))
        text = text[:start] + data.draw(PIECES | st.just("")) + text[end:]
    refused(text, "m.toml" if text.startswith("format") else "m.txt")


@settings(max_examples=150)
@given(data=st.data())
def test_any_value_for_any_key(data: st.DataObject) -> None:
    """P-D7: well-formed TOML with the wrong things in it."""
    lines = TOML.split("\n")
    place = data.draw(st.sampled_from([number for number, line in enumerate(lines) if "=" in line]))
    key = lines[place].split("=")[0]
    lines[place] = f"{key}= {data.draw(st.sampled_from([*VALUES, *TABLES, *NESTED[:1], *WORDS[5:]]))}"
    refused("\n".join(lines), "m.toml")


def nested(key: str, kind: str, depth: int) -> str:
    """``depth`` layers, each inside the one before."""
    tables = [f"[[layer{f'.{key}' * level}]]\ntype = '{kind}'\n" for level in range(depth)]
    return "format = 1\ninput = [4]\n" + "".join(tables)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a = " + "[" * 100_000, id="brackets"),
        pytest.param("a = " + "[\n" * 100_000, id="brackets-in-lines"),
        pytest.param("a = " + "{a = " * 100_000, id="braces"),
        pytest.param("a." * 100_000 + "a = 1", id="dotted"),
        pytest.param('"a".' * 100_000 + "a = 1", id="quoted"),
        pytest.param("'a'." * 100_000 + "a = 1", id="single-quoted"),
        pytest.param('a . "b" . ' * 50_000 + "a = 1", id="spaced"),
        pytest.param("[" + "a." * 100_000 + "a]", id="header"),
        pytest.param('"\\' * 400_000, id="escapes"),
        pytest.param('"""\\' * 200_000, id="long-strings"),
        pytest.param("'" * 999_999, id="quotes"),
        pytest.param("a" * 1_000_000, id="word"),
        pytest.param("a" * 100_000 + "." * 100_000, id="word-and-dots"),
        pytest.param("format = 1\ninput = [4]\n" + "[[layer]]\ntype = 'ReLU'\n" * 40_000, id="layers"),
        pytest.param(nested("inner", "Residual", 40), id="residuals"),
        pytest.param(nested("layers", "Stack", 31) + "[[layer" + ".layers" * 31 + "]]\ntype = 'X'", id="stacks"),
        pytest.param("1,1,1,1\n####################\n" + "ReLU\n" * 200_000, id="lines"),
        pytest.param("1,1,1,1\n####################\nReLU" + "," * 1_000_000, id="commas"),
        pytest.param("1,1,1," + "9" * 1_000_000, id="digits"),
    ],
)  # fmt: skip
def test_hostile_texts_are_refused_at_once(text: str) -> None:
    """P-D7: limits are declared, and told."""
    start = time.monotonic()
    with pytest.raises(ConfigError) as raised:
        loads(text)
    assert time.monotonic() - start < 60  # seconds, on the slowest machine; quadratic time would be hours
    assert len(str(raised.value)) < 8_000


def test_deep_nesting_within_the_limit() -> None:
    inside = "[[layer" + ".inner" * 30 + "]]\ntype = 'Linear'\nin_features = 4\nout_features = 4\n"
    assert loads(nested("inner", "Residual", 30) + inside).model().num_parameters() == 20
    inside = "[[layer" + ".layers" * 30 + "]]\ntype = 'ReLU'\n"
    assert loads(nested("layers", "Stack", 30) + inside).model().out_features == 4


def test_a_device_is_no_config() -> None:
    with pytest.raises(ConfigError, match=r"^/dev/zero: must be a plain file, got a device"):
        load("/dev/zero")
