"""P-D7: whatever is wrong with a TOML config is told in one error, word for word, with a caret under the token."""

from collections.abc import Sequence

import pytest

from typednn.config import loads
from typednn.errors import ConfigError

HEAD = "format = 1\ninput = [4, 4, 1]\n"
ROWS = "format = 1\ninput = [4]\n"
LAYER = '[[layer]]\ntype = "ReLU"\n'
LINEAR = '[[layer]]\ntype = "Linear"\nin_features = 4\nout_features = 3\n'
TAKES = "there are format, input, layer, optimizer, init"


def complaint(text: str, name: str = "m.toml") -> ConfigError:
    with pytest.raises(ConfigError) as raised:
        loads(text, name)
    return raised.value


def pointed(error: ConfigError) -> str:
    """What stands over the carets."""
    shown, carets = str(error).split("\n")[1:3]
    begin, end = carets.index("^"), carets.rindex("^") + 1
    assert carets[begin:end] == "^" * (end - begin)
    assert shown.startswith(f"{error.line:>6} |")
    return shown.ljust(end)[begin:end]


def check(text: str, message: str, token: str, shapes: Sequence[str] = ()) -> None:
    error = complaint(text)
    lines = str(error).split("\n")
    assert lines[0] == f"m.toml:{error.line}:{error.column}: {message}"
    assert pointed(error) == token
    assert text.split("\n")[error.line - 1][error.column - 1 :].startswith(token.strip())
    assert lines[3:] == (["shapes so far:", *(f"    {line}" for line in shapes)] if shapes else [])
    assert error.path == "m.toml"


@pytest.mark.parametrize(
    ("text", "message", "token"),
    [
        pytest.param("", "format is missing; write format = 1 first", " ", id="empty"),
        pytest.param("input = [4]\n" + LAYER, "format is missing; write format = 1 first", "i", id="no-format"),
        pytest.param("format = 2\n", "format 2 is newer than this typednn, which reads up to 1; update typednn", "2", id="newer"),
        pytest.param('format = "1"\n', 'format must be an integer of at least 1, got "1"', '"1"', id="format-type"),
        pytest.param("format = true\n", "format must be an integer of at least 1, got true", "true", id="format-bool"),
        pytest.param("format = 0\n", "format must be an integer of at least 1, got 0", "0", id="format-zero"),
        pytest.param("format = 1\nlayers = 3\n", "unknown key 'layers'; did you mean 'layer'?", "layers", id="unknown-key"),
        pytest.param("format = 1\nimport = 'os'\n", f"unknown key 'import'; {TAKES}", "import", id="import"),
        pytest.param("format = 1\n[x.y]\nz = 1\n", f"unknown key 'x'; {TAKES}", "x.y", id="unknown-table"),
        pytest.param("format = 1\n" + LAYER, "input is missing; declare one sample's shape, such as input = [28, 28, 1]", "f", id="no-input"),
        pytest.param("format = 1\ninput = 784\n" + LAYER, "input must be a list of one to three sizes of one sample, got 784; leave the batch out", "784", id="input-number"),
        pytest.param("format = 1\ninput = []\n" + LAYER, "input must be a list of one to three sizes of one sample, got []; leave the batch out", "[]", id="input-empty"),
        pytest.param("format = 1\ninput = [1, 2, 3, 4]\n" + LAYER, "input must be a list of one to three sizes of one sample, got [1, 2, 3, 4]; leave the batch out", "[1, 2, 3, 4]", id="input-batch"),
        pytest.param("format = 1\ninput = [28, 0, 1]\n" + LAYER, "input: every size must be a positive integer, got 0; leave the batch out", "0", id="input-zero"),
        pytest.param("format = 1\ninput = [28, 1.5]\n" + LAYER, "input: every size must be a positive integer, got 1.5; leave the batch out", "1.5", id="input-float"),
        pytest.param(HEAD, 'a model needs layers; add one as a table [[layer]] with type = "Linear"', "f", id="no-layers"),
        pytest.param(HEAD + "[layer]\ntype = 'ReLU'\n", "layer is a list of tables, got a table; write each as [[layer]]", "layer", id="layer-table"),
        pytest.param(HEAD + "layer = []\n", "layer is a list of tables, got []; write each as [[layer]]", "[]", id="layer-empty"),
        pytest.param(HEAD + "layer = [3]\n", "layer 0: a layer is a table, got 3; write it as [[layer]] with a type", "3", id="layer-number"),
    ],
)  # fmt: skip
def test_top(text: str, message: str, token: str) -> None:
    """P-D7: missing and unparsable fields."""
    check(text, message, token)


@pytest.mark.parametrize(
    ("text", "message", "token"),
    [
        pytest.param("format = \n", "not TOML: Invalid value", " ", id="no-value"),
        pytest.param("format = 1\n\tinput == 3\n", "not TOML: Invalid value", "=", id="tab"),
        pytest.param("format = 1\nformat = 1\n", "not TOML: Cannot overwrite a value", " ", id="twice"),
        pytest.param("format = 1\ninput = [3", "not TOML: Unclosed array", " ", id="end"),
        pytest.param('format = "\x01"\n', "not TOML: Illegal character '\\x01'", "\ufffd", id="control"),
        pytest.param("日本 = = 1\n", "not TOML: Invalid statement", "日", id="wide"),
        pytest.param("format = 1\0\n", "a NUL byte; a config is text", "\ufffd", id="nul"),
        pytest.param("format = 0x" + "f" * 17, "an integer of more than 64 bits", "0x" + "f" * 17, id="65-bits"),
        pytest.param("format = " + "[" * 40, "nested more than 32 deep", "[", id="deep"),
        pytest.param("a." * 40 + "b = 1", "a key of more than 32 words", "a", id="long-key"),
        pytest.param('"a".' * 40 + "b = 1", "a key of more than 32 words", '"', id="long-quoted-key"),
    ],
)  # fmt: skip
def test_syntax(text: str, message: str, token: str) -> None:
    """P-D7: text that is not TOML; tomllib's words are its own, the place is held."""
    error = complaint(text)
    assert str(error).split("\n")[0] == f"m.toml:{error.line}:{error.column}: {message}"
    shown, carets = str(error).split("\n")[1:3]
    width = 2 if token == "日" else 1
    assert carets[carets.index("^") :] == "^" * max(width, len(token))
    assert shown.ljust(len(carets))[carets.index("^") :].startswith(token)


def test_a_long_number() -> None:
    assert str(complaint("format = 1" + "0" * 5000)).startswith("m.toml:1:10: an integer of more than 64 bits\n")


def test_caret_under_wide_and_combining_characters() -> None:
    error = complaint('format = 1\n"日本e\u0301" = 1\n')
    assert str(error).split("\n")[1:] == ['     2 | "日本e\u0301" = 1', "       | ^^^^^^^"]
    error = complaint('format = 1\ninput = [4]\n[[layer]]\nname = "日本"\ttype = 3\n')
    assert str(error).split("\n")[2].endswith("\t^")


def test_long_lines_are_cut_around_the_caret() -> None:
    error = complaint(f"format = 1\nx = [{'1, ' * 200}] # {'y' * 200}\n")
    assert max(map(len, str(error).split("\n")[1:])) < 140
    error = complaint(f"{' ' * 300}format = 2{' ' * 300}# end")
    assert pointed(error) == "2"


def test_windows_newlines_and_comments_keep_places() -> None:
    text = '# first\r\nformat = 1 # second\r\ninput = [4]\r\n[[layer]] # third\r\n  type = "Linear" # fourth\r\n  in_features = 5\r\n  out_features = 3\r\n'
    error = complaint(text)
    assert (error.line, error.column, pointed(error)) == (6, 17, "5")


def test_quoted_and_dotted_keys_keep_places() -> None:
    text = 'format = 1\ninput = [4]\nlayer = [{ "ty\\u0070e" = "Linear", in_features = 4, out_features = 3, weight_init.type = "Norml" }]\n'
    error = complaint(text)
    assert pointed(error) == '"Norml"'
    error = complaint('format = 1\ninput = [4]\noptimizer.type = "SGD"\noptimizer.lr = -1\n' + LINEAR)
    assert (error.line, pointed(error)) == (4, "-1")


def test_long_traces_are_cut() -> None:
    text = ROWS + LAYER * 30 + '[[layer]]\ntype = "Linear"\nin_features = 5\nout_features = 3\n'
    lines = str(complaint(text)).split("\n")
    assert lines[3:5] == ["shapes so far:", "    … 10 more"]
    assert len(lines) == 25


def test_too_many_layers() -> None:
    text = ROWS + LAYER * 4097
    assert str(complaint(text)).startswith("m.toml:8195:3: layer 4096: more than 4,096 layers; build such a model in code\n")
