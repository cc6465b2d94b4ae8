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


@pytest.mark.parametrize(
    ("text", "message", "token"),
    [
        pytest.param(HEAD + "[[layer]]\n", 'layer 0: a layer needs a type; add type = "Conv2d"', "layer", id="no-type"),
        pytest.param(HEAD + "[[layer]]\ntype = 3\n", 'layer 0: type must be a string such as "Conv2d", got 3', "3", id="type-number"),
        pytest.param(HEAD + LAYER + '[[layer]]\ntype = "Conv2D"\n', "layer 1: unknown type \"Conv2D\"; did you mean 'Conv2d'?", '"Conv2D"', id="type-case"),
        pytest.param(HEAD + '[[layer]]\ntype = "Relu"\n', "layer 0: unknown type \"Relu\"; did you mean 'ReLU'?", '"Relu"', id="type-typo"),
        pytest.param(ROWS + '[[layer]]\ntype = "Linear"\nname = "fc1"\nin_feature = 4\nout_features = 3\n', "layer 0 \"fc1\": Linear has no argument 'in_feature'; did you mean 'in_features'?", "in_feature", id="unknown-argument"),
        pytest.param(ROWS + LAYER + "inplace = true\n", "layer 0: ReLU has no argument 'inplace'; it takes none", "inplace", id="no-arguments"),
        pytest.param(ROWS + LINEAR + "rng = 3\n", "layer 0: Linear has no argument 'rng'; it takes in_features, out_features, bias, weight_init, bias_init", "rng", id="rng"),
        pytest.param(ROWS + '[[layer]]\nname = "fc1"\ntype = "Linear"\n', 'layer 0 "fc1": Linear needs in_features (an integer) and out_features (an integer)', '"Linear"', id="missing"),
        pytest.param(ROWS + '[[layer]]\ntype = "Linear"\nin_features = "4"\nout_features = 3\n', 'layer 0: Linear: in_features must be an integer, got "4"', '"4"', id="string"),
        pytest.param(ROWS + '[[layer]]\ntype = "Linear"\nin_features = 4.0\nout_features = 3\n', "layer 0: Linear: in_features must be an integer, got 4.0", "4.0", id="float"),
        pytest.param(ROWS + '[[layer]]\ntype = "Linear"\nin_features = true\nout_features = 3\n', "layer 0: Linear: in_features must be an integer, got true", "true", id="bool"),
        pytest.param(ROWS + '[[layer]]\ntype = "Linear"\nin_features = {a = 1}\nout_features = 3\n', "layer 0: Linear: in_features must be an integer, got a table", "{a = 1}", id="table"),
        pytest.param(ROWS + '[[layer]]\ntype = "Linear"\nin_features = 2020-01-01\nout_features = 3\n', "layer 0: Linear: in_features must be an integer, got 2020-01-01", "2020-01-01", id="date"),
        pytest.param(ROWS + LINEAR + "bias = 1\n", "layer 0: Linear: bias must be true or false, got 1", "1", id="no-bool"),
        pytest.param(ROWS + '[[layer]]\ntype = "Linear"\nin_features = 0\nout_features = 3\n', "layer 0: Linear: in_features must be an integer of at least 1, got 0", "0", id="domain"),
        pytest.param(ROWS + LINEAR + 'weight_init = "he_norml"\n', "layer 0: initialiser: a name is one of zeros, ones, he_normal, he_uniform, xavier_normal, xavier_uniform, kaiming_uniform, kaiming_normal, got 'he_norml'; did you mean 'he_normal'?", '"he_norml"', id="initialiser"),
        pytest.param(ROWS + LINEAR + "weight_init = 3\n", 'layer 0: Linear: weight_init must be a string or { type = "Normal", ... }, got 3', "3", id="initialiser-number"),
        pytest.param(ROWS + LINEAR + "weight_init = {}\n", 'layer 0: a rule needs a type; add type = "Constant"', "{}", id="rule-without-type"),
        pytest.param(ROWS + LINEAR + 'weight_init = {type = "normal"}\n', "layer 0: unknown type \"normal\"; did you mean 'Normal'?", '"normal"', id="rule-typo"),
        pytest.param(ROWS + LINEAR + 'weight_init = {type = "Normal"}\n', "layer 0: Normal needs std (a number)", '"Normal"', id="rule-missing"),
        pytest.param(ROWS + LINEAR + 'weight_init = {type = "Normal", std = -1}\n', "layer 0: Normal: std is a finite number, at least 0, got -1", "-1", id="rule-domain"),
        pytest.param(ROWS + LINEAR + 'weight_init = {type = "HeNormal", fan = "over"}\n', 'layer 0: HeNormal: fan must be "in" or "out", got "over"', '"over"', id="rule-choice"),
        pytest.param(HEAD + '[[layer]]\ntype = "Conv2d"\nin_channels = 1\nout_channels = 1\nkernel_size = [1, 2, 3]\n', "layer 0: Conv2d: kernel_size must be an integer or [an integer, an integer], got [1, 2, 3]", "[1, 2, 3]", id="triple"),
        pytest.param(HEAD + '[[layer]]\ntype = "Conv2d"\nin_channels = 1\nout_channels = 1\nkernel_size = [\n  0,\n  2,\n]\n', "layer 0: Conv2d: kernel_size must be an integer of at least 1, got 0", "[", id="many-lines"),
        pytest.param(HEAD + '[[layer]]\ntype = "Pad2d"\npadding = 1\nmode = "reflect"\n', 'layer 0: Pad2d: mode must be "constant" or "replicate", got "reflect"', '"reflect"', id="choice"),
        pytest.param(HEAD + '[[layer]]\ntype = "Pad2d"\npadding = 1\nvalue = nan\n', "layer 0: Pad2d: value must be a finite number, got nan", "nan", id="nan"),
        pytest.param(HEAD + LAYER + 'name = "a"\n' + LAYER + 'name = "a"\n', "layer 1: every layer's name is its own, and 'a' is that of line 5; choose another", '"a"', id="name-twice"),
        pytest.param(HEAD + LAYER + 'name = "1st"\n', 'layer 0: a name must be an identifier such as "fc1", got "1st"', '"1st"', id="name-form"),
        pytest.param(HEAD + LAYER + "name = 1\n", 'layer 0: a name must be an identifier such as "fc1", got 1', "1", id="name-number"),
    ],
)  # fmt: skip
def test_one_layer(text: str, message: str, token: str) -> None:
    """P-D7: an unknown layer, and every way to be wrong about its arguments."""
    check(text, message, token)


@pytest.mark.parametrize(
    ("text", "message", "token", "shapes"),
    [
        pytest.param(
            HEAD + '[[layer]]\ntype = "MaxPool2d"\nkernel_size = 2\n[[layer]]\ntype = "Flatten"\n[[layer]]\nname = "fc1"\ntype = "Linear"\nin_features = 256\nout_features = 120\n',
            'layer 2 "fc1": Linear(256, 120) cannot follow Flatten: expects 256 features, gets 4 (= 2*2*1, from MaxPool2d on 4x4x1)', "256",
            ["MaxPool2d(2)  4x4x1 -> 2x2x1", "Flatten  2x2x1 -> 4"], id="size",
        ),
        pytest.param(HEAD + LINEAR, "layer 0: Linear(4, 3) cannot follow Input(4, 4, 1): expects 2 axes (batch, in_features=4), gets 4 axes (batch, 4, 4, 1); put Flatten() between them", '"Linear"', [], id="rank"),
        pytest.param(
            HEAD + '[[layer]]\ntype = "Conv2d"\nin_channels = 3\nout_channels = 1\nkernel_size = 2\n',
            "layer 0: Conv2d(3, 1, 2) cannot follow Input(4, 4, 1): expects 3 channels, gets 1", "3", [], id="channels",
        ),
        pytest.param(
            HEAD + LAYER + '[[layer]]\ntype = "Conv2d"\nin_channels = 1\nout_channels = 1\ndilation = 2\nkernel_size = [3, 2]\n',
            "layer 1: Conv2d(1, 1, (3, 2), dilation=2) cannot follow ReLU: kernel does not fit: height-4 is 0 (= 4-5+1); height must be at least 5", "[3, 2]",
            ["ReLU  4x4x1 -> 4x4x1"], id="kernel",
        ),
        pytest.param(
            ROWS + LINEAR + '[[layer]]\ntype = "Residual"\nname = "block"\n[[layer.inner]]\ntype = "Linear"\nin_features = 3\nout_features = 5\n',
            'layer 1 "block": Residual(Linear(3, 5)): the inner layer must keep the shape: gets 3, gives 5', '"Residual"',
            ["Linear(4, 3)  4 -> 3", "Linear(3, 5)  3 -> 5"], id="residual",
        ),
        pytest.param(
            ROWS + LINEAR + '[[layer]]\ntype = "Residual"\n[[layer.inner]]\ntype = "Linear"\nin_features = 5\nout_features = 5\n',
            "layer 1.inner: Linear(5, 5) cannot follow Linear(4, 3): expects 5 features, gets 3", "5", ["Linear(4, 3)  4 -> 3"], id="inside-one",
        ),
        pytest.param(
            ROWS + LINEAR + '[[layer]]\ntype = "Residual"\nname = "block"\n[[layer.inner]]\ntype = "ReLU"\n[[layer.inner]]\nname = "fc"\ntype = "Linear"\nin_features = 3\nout_features = 7\n'
            '[[layer.inner]]\ntype = "Linear"\nin_features = 8\nout_features = 3\n',
            'layer 1.inner.2 "block.inner.2": Linear(8, 3) cannot follow Linear(3, 7): expects 8 features, gets 7', "8",
            ["Linear(4, 3)  4 -> 3", "ReLU  ... -> ...", "Linear(3, 7)  3 -> 7"], id="inside-several",
        ),
        pytest.param(
            ROWS + '[[layer]]\ntype = "PerPosition"\n[[layer.inner]]\ntype = "ReLU"\n',
            "layer 0: PerPosition(ReLU()) cannot follow Input(4): expects 3 axes (batch, time, features), gets 2 axes (batch, 4)", '"PerPosition"', [], id="per-position",
        ),
        pytest.param(
            HEAD + '[[layer]]\ntype = "Stack"\n[[layer.layers]]\ntype = "MaxPool2d"\nkernel_size = 2\n[[layer.layers]]\nname = "fc"\ntype = "Linear"\nin_features = 4\nout_features = 4\n',
            'layer 0.1 "0.fc": Linear(4, 4) cannot follow MaxPool2d(2): expects 2 axes (batch, in_features=4), gets 4 axes (batch, 2, 2, 1); put Flatten() between them', '"Linear"',
            ["MaxPool2d(2)  4x4x1 -> 2x2x1"], id="nested-stack",
        ),
        pytest.param(
            HEAD + LAYER + '[[layer]]\ntype = "Stack"\ninput = [5]\n[[layer.layers]]\ntype = "ReLU"\n',
            "layer 1: Stack cannot follow ReLU: expects 5 features, gets 16 (= 4*4*1, from Input(4, 4, 1))", "[5]", ["ReLU  4x4x1 -> 4x4x1"], id="nested-input",
        ),
    ],
)  # fmt: skip
def test_shapes(text: str, message: str, token: str, shapes: Sequence[str]) -> None:
    """P-D5, P-D7: shapes are checked through the whole file, wrappers included, with the trace that led there."""
    check(text, message, token, shapes)


@pytest.mark.parametrize(
    ("text", "message", "token"),
    [
        pytest.param(ROWS + '[[layer]]\ntype = "Residual"\n', "layer 0: Residual needs inner (a list of layers, each a table [[...]] under it)", '"Residual"', id="no-inner"),
        pytest.param(ROWS + '[[layer]]\ntype = "Residual"\ninner = 3\n', "layer 0: Residual: inner must be one or more layers, got 3; write each as a table [[layer.inner]]", "3", id="inner-number"),
        pytest.param(ROWS + '[[layer]]\ntype = "Residual"\ninner = []\n', "layer 0: Residual: inner must be one or more layers, got []; write each as a table [[layer.inner]]", "[]", id="inner-empty"),
        pytest.param(ROWS + '[[layer]]\ntype = "Residual"\ninner = ["ReLU"]\n', 'layer 0.inner.0: a layer is a table, got "ReLU"; write it as [[layer]] with a type', '"ReLU"', id="inner-string"),
        pytest.param(ROWS + '[[layer]]\ntype = "Residual"\n[[layer.inner]]\ntype = "Relu"\n', "layer 0.inner: unknown type \"Relu\"; did you mean 'ReLU'?", '"Relu"', id="inner-type"),
        pytest.param(ROWS + '[[layer]]\ntype = "Residual"\n[[layer.inner]]\ntype = "Stack"\n[[layer.inner.layers]]\ntype = "ReLU"\n', "layer 0.inner: Stack needs input here (a list of integers): only the layer around it knows what reaches it", '"Stack"', id="stack-in-wrapper"),
        pytest.param(ROWS + '[[layer]]\ntype = "Stack"\n', "layer 0: Stack needs layers (a list of layers, each a table [[...]] under it)", '"Stack"', id="stack-empty"),
        pytest.param(ROWS + '[[layer]]\ntype = "Stack"\ninput = [0]\n[[layer.layers]]\ntype = "ReLU"\n', "layer 0: Input: every size is a positive integer, got 0; leave the batch out", "[0]", id="stack-input"),
        pytest.param(ROWS + '[[layer]]\ntype = "Sequential"\n[[layer.layers]]\ntype = "ReLU"\nname = "a"\n[[layer.layers]]\ntype = "ReLU"\nname = "a"\n', "layer 0.1: every layer's name is its own, and 'a' is that of line 7; choose another", '"a"', id="inner-names"),
    ],
)  # fmt: skip
def test_wrappers(text: str, message: str, token: str) -> None:
    """P-D7: layers inside layers."""
    check(text, message, token)


@pytest.mark.parametrize(
    ("text", "message", "token"),
    [
        pytest.param("optimizer = 3\n", "optimizer is a table, got 3; write it as [optimizer]", "3", id="number"),
        pytest.param("[optimizer]\nlr = 0.1\n", 'optimizer: an optimizer needs a type; add type = "SGD"', "optimizer", id="no-type"),
        pytest.param('[optimizer]\ntype = "Adm"\n', "optimizer: unknown type \"Adm\"; did you mean 'Adam'?", '"Adm"', id="unknown"),
        pytest.param('[optimizer]\ntype = "SGD"\nlearning_rate = 0.1\n', "optimizer: SGD has no argument 'learning_rate'; it takes lr, momentum, dampening, weight_decay, nesterov, l2, decay", "learning_rate", id="argument"),
        pytest.param('[optimizer]\ntype = "SGD"\nname = "a"\n', "optimizer: SGD has no argument 'name'; it takes lr, momentum, dampening, weight_decay, nesterov, l2, decay", "name", id="name"),
        pytest.param('[optimizer]\ntype = "SGD"\nlr = "fast"\n', 'optimizer: SGD: lr must be a number or { type = "CosineLR", ... }, got "fast"', '"fast"', id="ill-typed"),
        pytest.param('[optimizer]\ntype = "SGD"\nlr = -1\n', "optimizer: SGD: lr must be a finite number with 0 <= lr < inf, got -1", "-1", id="domain"),
        pytest.param('[optimizer]\ntype = "SGD"\nnesterov = true\n', "optimizer: SGD: nesterov needs momentum and no dampening, got momentum=0.0, dampening=0.0", "true", id="nesterov"),
        pytest.param('[optimizer]\ntype = "SGD"\nl2 = 0.1\ndecay = 0.2\n', "optimizer: SGD: takes one meaning of weight decay, got l2 and decay; l2 is eq 46, decay eq 47, weight_decay PyTorch's", "0.2", id="two-decays"),
        pytest.param('[optimizer]\ntype = "Adam"\nbetas = [0.9]\n', "optimizer: Adam: betas must be [a number, a number], got [0.9]", "[0.9]", id="betas"),
        pytest.param('[optimizer]\ntype = "SGD"\nlr = {type = "Cosine", lr = 1}\n', "optimizer: unknown type \"Cosine\"; did you mean 'CosineLR'?", '"Cosine"', id="schedule"),
        pytest.param('[optimizer]\ntype = "SGD"\nlr = {type = "CosineLR", lr = 1}\n', "optimizer: CosineLR needs total_steps (an integer)", '"CosineLR"', id="schedule-missing"),
        pytest.param('[optimizer]\ntype = "SGD"\ngroup = 3\n', "optimizer: group is a list of tables, got 3; write each as [[optimizer.group]]", "3", id="group-number"),
        pytest.param('[optimizer]\ntype = "SGD"\ngroups = 3\n', "optimizer: SGD has no argument 'groups'; it takes lr, momentum, dampening, weight_decay, nesterov, l2, decay", "groups", id="groups"),
        pytest.param('[optimizer]\ntype = "SGD"\n[[optimizer.group]]\nlr = 1.0\n', "optimizer, group 0: Group needs names (a string)", "optimizer.group", id="group-names"),
        pytest.param('[optimizer]\ntype = "SGD"\n[[optimizer.group]]\nnames = "fc9.*"\n', "optimizer, group 0: SGD.bind: group 'fc9.*' must match a parameter, got none that does; there are 0.weight, 0.bias", '"fc9.*"', id="group-match"),
        pytest.param('[optimizer]\ntype = "SGD"\n[[optimizer.group]]\nnames = "*"\nlr = 1\nl2 = -1\n', "optimizer, group 0: SGD, group '*': l2 must be a finite number with 0 <= l2 < inf, got -1", "-1", id="group-domain"),
        pytest.param("init = 3\n", "init is a table, got 3; write it as [init]", "3", id="init-number"),
        pytest.param("[init]\n", "init: Rng needs seed (an integer)", "init", id="init-empty"),
        pytest.param("[init]\nseed = 1.5\n", "init: Rng: seed must be an integer, got 1.5", "1.5", id="init-seed"),
        pytest.param("[init]\nseed = -1\n", "init: Rng: seed must be an integer of at least 0, got -1", "-1", id="init-negative"),
        pytest.param('[init]\nseed = 1\ngenerator = "mt19937"\n', 'init: Rng: generator must be "numpy" or "pcg32", got "mt19937"', '"mt19937"', id="init-generator"),
        pytest.param("[init]\nseed = 1\nstream = 6\n", "init: Rng: stream belongs to generator = \"pcg32\", got 'numpy'; leave it out", "6", id="init-stream"),
        pytest.param("[init]\nseeds = 1\n", "init: Rng has no argument 'seeds'; did you mean 'seed'?", "seeds", id="init-key"),
    ],
)  # fmt: skip
def test_optimizer_and_init(text: str, message: str, token: str) -> None:
    """P-D7: an unknown optimizer, and every way to be wrong about its arguments; likewise the generator."""
    check(f"{ROWS}{text}{LINEAR}" if not text.startswith("[") else f"{ROWS}{LINEAR}{text}", message, token)


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
