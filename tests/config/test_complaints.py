"""P-D7: whatever is wrong with a config is told in one error, word for word, with a caret under the token.

The cases are in toml_complaints.txt and paper_complaints.txt, to be read as a user would see them.
"""

from pathlib import Path

import pytest

from typednn.config import ConfigError, loads

ROWS = "format = 1\ninput = [4]\n"
LAYER = '[[layer]]\ntype = "ReLU"\n'
SPLIT = "#" * 20
LINEAR = '[[layer]]\ntype = "Linear"\nin_features = 4\nout_features = 3\n'


def _cases(file: str) -> list[tuple[str, str]]:
    """The config and the error of every case in ``file``."""
    cases = (Path(__file__).parent / file).read_text(encoding="utf-8").split("\n==== ")[1:]
    texts = [case.partition("\n") for case in cases]
    assert len({name for name, _, _ in texts}) == len(texts)
    return [pytest.param(*text.rstrip("\n").split("\n----\n"), id=name) for name, _, text in texts]


def complaint(text: str, name: str = "m.toml") -> ConfigError:
    with pytest.raises(ConfigError) as raised:
        loads(text, name)
    return raised.value


def pointed(error: ConfigError) -> str:
    """What stands over the carets."""
    shown, carets = str(error).split("\n")[1:3]
    begin = carets.index("^")
    assert set(carets[begin:]) == {"^"}
    assert shown.startswith(f"{error.line:>6} |")
    return shown.ljust(len(carets))[begin : len(carets)]


def _check(text: str, expected: str, name: str) -> None:
    error = complaint(text, name)
    assert str(error) == expected
    assert expected.startswith(f"{name}:{error.line}:{error.column}: ")
    assert error.path == name
    assert text.split("\n")[error.line - 1][error.column - 1 :].startswith(pointed(error).rstrip())


@pytest.mark.parametrize(("text", "expected"), _cases("toml_complaints.txt"))
def test_toml(text: str, expected: str) -> None:
    """P-D5, P-D7: missing and unparsable fields, unknown layers and optimizers, shapes through the whole file."""
    _check(text, expected, "m.toml")


@pytest.mark.parametrize(("text", "expected"), _cases("paper_complaints.txt"))
def test_the_papers_format(text: str, expected: str) -> None:
    """P-D5, P-D7: the same in the paper's own format."""
    _check(text, expected, "m.txt")


@pytest.mark.parametrize(
    ("text", "name", "message", "token"),
    [
        pytest.param("", "m.toml", "1:1: format is missing; write format = 1 first", "", id="empty"),
        pytest.param("format = \n", "m.toml", "1:10: not TOML: Invalid value", "", id="no-value"),
        pytest.param("format = 1\n\tinput == 3\n", "m.toml", "2:9: not TOML: Invalid value", "=", id="tab"),
        pytest.param("format = 1\nformat = 1\n", "m.toml", "2:11: not TOML: Cannot overwrite a value", "", id="twice"),
        pytest.param("format = 1\ninput = [3", "m.toml", "2:11: not TOML: Unclosed array", "", id="end"),
        pytest.param('format = "\x01"\n', "m.toml", "1:11: not TOML: Illegal character '\\x01'", "\ufffd",
            id="control"),
        pytest.param("format = 1\0\n", "m.toml", "1:11: a NUL byte; a config is text", "\ufffd", id="nul"),
        pytest.param("format = 0x" + "f" * 17, "m.toml", "1:10: an integer of more than 64 bits", "0x" + "f" * 17,
            id="65-bits"),
        pytest.param("format = " + "[" * 40, "m.toml", "1:42: nested more than 32 deep", "[", id="deep"),
        pytest.param("a." * 40 + "b = 1", "m.toml", "1:1: a key of more than 32 words", "a", id="long-key"),
        pytest.param('"a".' * 40 + "b = 1", "m.toml", "1:1: a key of more than 32 words", '"', id="long-quoted-key"),
        pytest.param(f"6,1,1,1\n{SPLIT}\nReLU\0", "m.txt", "3:5: a NUL byte; a config is text", "\ufffd",
            id="paper-nul"),
        pytest.param(f"\n{SPLIT}\nReLU\n{SPLIT}\nSGD,1\n", "m.txt", "6:1: input: expects one line, batch,h,w,c, got 0",
            "", id="no-input"),
        pytest.param(f"1,1,1,1\n{SPLIT}\nReLU\n{SPLIT}\n", "m.txt", "5:1: optimizer: expects one line, SGD,lr, got 0",
            "", id="no-step"),
    ],
)  # fmt: skip
def test_syntax(text: str, name: str, message: str, token: str) -> None:
    """P-D7: text that is not TOML (in tomllib's words), has no end, or shows no token."""
    error = complaint(text, name)
    assert str(error).split("\n")[0] == f"{name}:{message}"
    assert pointed(error).strip() == token


def test_a_long_number() -> None:
    assert str(complaint("format = 1" + "0" * 5000)).startswith("m.toml:1:10: an integer of more than 64 bits\n")


def test_caret_under_wide_and_combining_characters() -> None:
    error = complaint('format = 1\n"日本e\u0301" = 1\n')
    assert str(error).split("\n")[1:] == ['     2 | "日本e\u0301" = 1', "       | ^^^^^^^"]
    error = complaint("\tformat = 2\n")
    assert str(error).split("\n")[2] == "       | \t         ^"


def test_long_lines_are_cut_around_the_caret() -> None:
    error = complaint(f"format = 1\nx = [{'1, ' * 200}] # {'y' * 200}\n")
    assert max(map(len, str(error).split("\n")[1:])) < 140
    error = complaint(f"{' ' * 300}format = 2{' ' * 300}# end")
    assert pointed(error) == "2"


def test_windows_newlines_and_comments_keep_places() -> None:
    text = (
        '# first\nformat = 1 # second\ninput = [4]\n[[layer]] # third\n  type = "Linear" # fourth\n  in_features = '
        "5\n  out_features = 3\n"
    )
    error = complaint(text.replace("\n", "\r\n"))
    assert (error.line, error.column, pointed(error)) == (6, 17, "5")
    assert str(error).split("\n")[1] == "     6 |   in_features = 5"


def test_quoted_and_dotted_keys_keep_places() -> None:
    text = (
        'format = 1\ninput = [4]\nlayer = [{ "ty\\u0070e" = "Linear", in_features = 4, out_features = 3, '
        'weight_init.type = "Norml" }]\n'
    )
    error = complaint(text)
    assert pointed(error) == '"Norml"'
    error = complaint('format = 1\ninput = [4]\nlayer = [{ name = "éé", type = "Relu" }]\n')
    assert (error.column, pointed(error)) == (32, '"Relu"')
    error = complaint('format = 1\ninput = [4]\noptimizer.type = "SGD"\noptimizer.lr = -1\n' + LINEAR)
    assert (error.line, pointed(error)) == (4, "-1")


def test_long_traces_are_cut() -> None:
    text = ROWS + LAYER * 30 + '[[layer]]\ntype = "Linear"\nin_features = 5\nout_features = 3\n'
    lines = str(complaint(text)).split("\n")
    assert lines[3:5] == ["shapes so far:", "    … 10 more"]
    assert len(lines) == 25


def test_too_many_layers() -> None:
    inside = ROWS + LAYER * 2 + '[[layer]]\ntype = "Sequential"\n' + LAYER.replace("layer", "layer.layers") * 4096
    assert "layer 2.4093: more than 4,096 layers" in str(complaint(inside)).split("\n")[0]
    text = ROWS + LAYER * 4097
    assert str(complaint(text)).startswith(
        "m.toml:8195:3: layer 4096: more than 4,096 layers; build such a model in code\n"
    )
