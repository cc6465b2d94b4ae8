"""Files, imports, registered layers, the command line; and that nothing is allocated."""

import inspect
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jaxtyping import Float

from typednn import Array2, Gradient, Layer, Module, layers
from typednn.config import ConfigError, dumps, load, loads, register
from typednn.config.arguments import constructor, hints_of
from typednn.config.registry import LAYERS
from typednn.errors import ArgumentError
from typednn.layers import Linear, Residual, Tanh
from typednn.module.stack import Stack
from typednn.shapes import Flow

ROWS = "format = 1\ninput = [4]\n"
LINEAR = '[[layer]]\ntype = "Linear"\nin_features = 4\nout_features = 3\n'
LAYERS_OF_A_USER = '''
from typednn.config import register
from typednn.layers import Linear
from typednn.layer import A, Elementwise
from typednn import ElementwiseGrad
from jaxtyping import Float

@register("Twice")
class Twice(Elementwise[None]):
    """Twice its input."""

    def __init__(self, factor: float = 2.0) -> None:
        self.factor = factor

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        return self.factor * x

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        return ElementwiseGrad(self.factor * next_grad, None)
'''


@pytest.fixture
def registry() -> Iterator[dict[str, type[Module]]]:
    """What a test registers is forgotten after it."""
    before = dict(LAYERS)
    yield LAYERS
    LAYERS.clear()
    LAYERS.update(before)


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "typednn", "check", *arguments]
    path = str(Path(__file__).resolve().parents[2])
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={"PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"},
    )


def test_command_prints_the_model_or_the_complaint(tmp_path: Path) -> None:
    """P-D4, P-D7: exit code 0 with the layers, 1 with the complaint on stderr, 2 for a command that is
    not understood.
    """
    (tmp_path / "good.toml").write_text(ROWS + LINEAR)
    (tmp_path / "bad.toml").write_text(ROWS + LINEAR.replace("4", "5"))
    good = run("good.toml", folder=tmp_path)
    assert (good.returncode, good.stderr) == (0, "")
    assert good.stdout == f"{load(tmp_path / 'good.toml').model()}\n"
    assert good.stdout.endswith("15 parameters\n")
    bad = run("bad.toml", folder=tmp_path)
    assert (bad.returncode, bad.stdout) == (1, "")
    assert bad.stderr == (
        "typednn check: bad.toml:5:15: layer 0: Linear(5, 3) cannot follow Input(4): expects 5 features, gets 4\n"
        "     5 | in_features = 5\n"
        "       |               ^\n"
    )
    assert run(folder=tmp_path).returncode == 2
    assert run("good.toml", "-x", folder=tmp_path).returncode == 2


def test_command_imports_what_it_is_told_to(tmp_path: Path) -> None:
    (tmp_path / "my_layers.py").write_text(LAYERS_OF_A_USER)
    (tmp_path / "m.toml").write_text(ROWS + '[[layer]]\ntype = "Twice"\n')
    alone = run("m.toml", folder=tmp_path)
    assert alone.returncode == 1
    assert re.match(
        r'typednn check: m.toml:4:8: layer 0: unknown type "Twice"; the nearest of \d+ are \w+(, \w+){7}; --import MOD',
        alone.stderr,
    )
    told = run("m.toml", "--import", "my_layers", folder=tmp_path)
    assert (told.returncode, told.stdout) == (0, "     Stack\n  0  Twice()\n0 parameters\n")
    absent = run("m.toml", "--import", "no_such_module", folder=tmp_path)
    cure = "start in the folder that holds it, or name that folder in PYTHONPATH"
    assert (absent.returncode, absent.stderr) == (
        1,
        f"typednn check: import no_such_module: No module named 'no_such_module'; {cure}\n",
    )


@pytest.mark.parametrize("module", ["", ".relative", "no such", "json.nothing"])
def test_what_cannot_be_imported(module: str) -> None:
    with pytest.raises(ConfigError, match=f"^import {module}: "):
        loads(ROWS + LINEAR, imports=[module])


def test_a_module_whose_name_cannot_be_printed() -> None:
    with pytest.raises(ConfigError) as caught:
        loads(ROWS + LINEAR, imports=["\ud800"])
    assert str(caught.value).encode()


def test_imports_register_a_users_layers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registry: dict[str, type[Module]]
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "layers_of_a_user.py").write_text(LAYERS_OF_A_USER)
    (tmp_path / "m.toml").write_text(ROWS + '[[layer]]\ntype = "Twice"\nfactor = 3\n')
    with pytest.raises(ConfigError, match="unknown type"):
        load(tmp_path / "m.toml")
    model = load(tmp_path / "m.toml", imports=["layers_of_a_user"]).model()
    assert np.array_equal(model.forward(np.ones((1, 4), np.float32)), np.full((1, 4), 3.0))
    assert 'type = "Twice"\nfactor = 3\n' in dumps(model)
    with pytest.raises(ConfigError, match=r"Twice: factor must be a number, got \"3\""):
        loads(ROWS + '[[layer]]\ntype = "Twice"\nfactor = "3"\n')


def test_a_registered_class_need_not_be_a_layer(registry: dict[str, type[Module]]) -> None:
    """P-D1: any DynLayer loads, and is written back; what does not fit is told with line and column."""

    @register("Halves")
    class Halves:
        def __init__(self, out_features: int) -> None:
            self.out_features = out_features

        def forward(self, x: Any) -> Any:
            return x[:, : self.out_features] + x[:, self.out_features :]

        def backward(self, next_grad: Any) -> Any:
            raise AssertionError

        def update(self, optimizer: Any, grad: Any) -> None:
            raise AssertionError

    text = ROWS + '[[layer]]\ntype = "Halves"\nname = "halves"\nout_features = {}\n'
    model = loads(text.format(2)).model()
    np.testing.assert_array_equal(model.forward(np.ones((1, 4), np.float32)), [[2.0, 2.0]])
    assert model.names == ("halves",)
    for wrong, words in (
        (text.format(0), "Halves: a part of a Stack declares out_features"),
        (text.format('"2"'), "must be an integer"),
    ):
        with pytest.raises(ConfigError, match=words):
            loads(wrong)
    with pytest.raises(ConfigError, match="expects 5 features, gets 2"):
        loads(text.format(2) + '[[layer]]\ntype = "Linear"\nin_features = 5\nout_features = 3\n')
    assert dumps(model) == text.format(2).replace("[[layer]]", "\n[[layer]]")
    assert dumps(loads(dumps(model)).model()) == dumps(model)
    inside = "[[layer]]\ntype = 'Residual'\n[[layer.inner]]\ntype = 'Halves'\nout_features = 4\n"
    assert 'type = "Residual"\n\n[[layer.inner]]\ntype = "Halves"\nout_features = 4\n' in dumps(
        loads(ROWS + inside).model()
    )
    made = Stack([Residual(Halves(out_features=4)), Halves(2)], input=(4,))
    assert dumps(made).count('type = "Halves"\nout_features = ') == 2

    class Quarters(Halves):  # not registered itself
        pass

    with pytest.raises(
        ArgumentError, match=r"dumps: every layer's class has a name in configs, got .*Quarters, which has none"
    ):
        dumps(Stack([Quarters(2)], input=(4,)))


def test_an_object_that_remembers_nothing_is_not_written(registry: dict[str, type[Module]]) -> None:
    class Same:
        __slots__ = ("out_features",)

        def __init__(self, out_features: int) -> None:
            self.out_features = out_features

        def forward(self, x: Any) -> Any:
            return x

        def backward(self, next_grad: Any) -> Any:
            raise AssertionError

        def update(self, optimizer: Any, grad: Any) -> None:
            raise AssertionError

    early = Same(4)
    register("Same")(Same)
    for same in (early, Same(4)):
        with pytest.raises(
            ArgumentError, match="dumps: every layer knows the arguments it was made with, got Same, which is no Module"
        ):
            dumps(Stack([same], input=(4,)))


@pytest.mark.parametrize("key", ["import", "imports", "module", "plugins"])
@pytest.mark.parametrize(
    "place",
    [
        "{key} = 'side_effect'\n" + ROWS + LINEAR,
        ROWS + LINEAR + "{key} = 'side_effect'\n",
        ROWS + "[[layer]]\ntype = 'side_effect.Layer'\n#{key}",
    ],
)
def test_a_config_never_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, place: str) -> None:
    (tmp_path / "side_effect.py").write_text("raise AssertionError\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError):
        loads(place.format(key=key))
    assert "side_effect" not in sys.modules


@dataclass(frozen=True, slots=True)
class PickyGrad(Gradient):
    input: Float[Array2, "batch features"]


class Picky(Layer[Array2, Array2, PickyGrad]):
    """A layer of a user whose constructor has no annotations and opinions of its own."""

    def __init__(self, first, *, second=None, inner=None) -> None:  # type: ignore[no-untyped-def]
        if second == "named":
            raise ArgumentError("second must be better", "second")
        if second == "key":
            raise KeyError("second")
        if second == "bug":
            raise AssertionError("a bug")
        if second == "silent":
            raise ValueError
        self.first, self.inner = 1 / first, inner

    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
        return x

    def backward(self, next_grad: Float[Array2, "batch features"]) -> PickyGrad:
        return PickyGrad(next_grad)


def test_unannotated_layers_of_a_user(registry: dict[str, type[Module]]) -> None:
    assert register("Picky")(Picky) is Picky
    picky = ROWS + '[[layer]]\ntype = "Picky"\nfirst = '
    model = loads(picky + "2\n[[layer.inner]]\ntype = 'Tanh'\n").model()
    assert isinstance(vars(model.parts[0])["inner"], Tanh)
    assert isinstance(loads(picky + "2\nsecond = [1, {a = 2}]\n").model().parts[0], Picky)
    assert str(_error(picky + "0\n")).split("\n")[0] == "<config>:4:8: layer 0: division by zero"
    assert (
        str(_error(picky + "1\nsecond = 'named'\n")).split("\n")[0] == "<config>:6:10: layer 0: second must be better"
    )
    assert str(_error(picky + "1\nsecond = 'key'\n")).split("\n")[0] == "<config>:4:8: layer 0: 'second'"
    assert str(_error(picky + "1\nsecond = 'silent'\n")).split("\n")[0] == "<config>:4:8: layer 0: ValueError"
    assert str(_error(picky + "'x'\n")).split("\n")[0].startswith("<config>:4:8: layer 0: unsupported operand")
    assert (
        str(_error(ROWS + '[[layer]]\ntype = "Picky"\n')).split("\n")[0]
        == "<config>:4:8: layer 0: Picky needs first (any value)"
    )
    with pytest.raises(AssertionError, match="a bug"):  # a fault of the layer's keeps its traceback
        loads(picky + "1\nsecond = 'bug'\n")


def _error(text: str) -> ConfigError:
    with pytest.raises(ConfigError) as raised:
        loads(text)
    return raised.value


class Halved(Picky):
    def __init__(self, features: int) -> None:
        if features % 2:
            raise ValueError("an odd number")
        super().__init__(1)


def test_the_only_argument_is_to_blame(registry: dict[str, type[Module]]) -> None:
    register("Halved")(Halved)
    error = _error(ROWS + '[[layer]]\ntype = "Halved"\nfeatures = 3\n')
    assert str(error).split("\n")[0] == "<config>:5:12: layer 0: an odd number"


class Reserved(Picky):
    def __init__(self, name: str) -> None:
        pass


@pytest.mark.parametrize(
    ("name", "layer", "message"),
    [
        (
            "Linear",
            Picky,
            "register('Linear'): every layer type's name is its own, got that of typednn.layers.linear.Linear; "
            "choose another name",
        ),
        ("a b", Picky, "register: a layer type's name is an identifier, got 'a b'; such as \"Swish\""),
        (
            "X",
            int,
            "register('X'): registers a class derived from Module, or one with forward, backward and update, "
            "got <class 'int'>",
        ),
        (
            "X",
            3,
            "register('X'): registers a class derived from Module, or one with forward, backward and update, got 3",
        ),
        (
            "X",
            Reserved,
            "register('X'): 'name' is a key of every [[layer]], got a constructor's argument of that name in "
            "Reserved; rename the argument",
        ),
    ],
)
def test_register_refuses(registry: dict[str, type[Module]], name: str, layer: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        register(name)(layer)
    assert str(raised.value) == message


def test_a_name_is_registered_once(registry: dict[str, type[Module]]) -> None:
    register("Picky")(Picky)
    with pytest.raises(ArgumentError, match="every layer type's name is its own"):
        register("Picky")(Picky)


def test_every_layer_has_its_class_name_in_configs() -> None:
    public = {name for name in layers.__all__ if not name.endswith("Grad")}
    blocks, chains = (
        {"BasicBlock", "Bottleneck", "GPT2", "GPT2Block"},
        {"Chain", "ElementwiseChain", "PositionwiseChain", "Sequential", "Stack"},
    )
    assert public | blocks | chains == set(LAYERS)
    assert all(kind.__name__ == name for name, kind in LAYERS.items())


def test_annotations_of_every_constructor_are_understood() -> None:
    for kind in LAYERS.values():
        takes = [*inspect.signature(constructor(kind)).parameters.values()][1:]
        named = {
            parameter.name
            for parameter in takes
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        }
        assert named <= hints_of(constructor(kind)).keys(), kind


def test_an_unregistered_layer_is_not_written() -> None:
    from typednn import Input

    with pytest.raises(
        ArgumentError,
        match=r"^dumps: every layer's class has a name in configs, got Picky, which has none; decorate it with "
        r"@register\(\"Picky\"\)$",
    ):
        dumps(Input(4) >> Picky(1))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(None, "m.toml: must be a readable file, got No such file or directory", id="missing"),
        pytest.param(b"format = 1\nx = '\xff'\n", "m.toml:2:6: byte 0xff is not UTF-8; save the file as UTF-8",
            id="latin-1"),
        pytest.param("format = 1\nx = 'é".encode()[:-1], "m.toml:2:6: byte 0xc3 is not UTF-8; save the file as UTF-8",
            id="cut"),
        pytest.param(b"\xff\xfeformat", "m.toml:1:1: byte 0xff is not UTF-8; save the file as UTF-8", id="utf-16"),
        pytest.param(b"#\n" * (1 << 19) + b"#", "m.toml: longer than 1,048,576 bytes, the most that a config can have",
            id="long"),
        pytest.param(b"\x00\x01", "m.toml:1:1: a NUL byte; a config is text", id="binary"),
    ],
)  # fmt: skip
def test_files_that_are_no_config(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes | None, message: str
) -> None:
    """P-D7: a missing file, and files that are not text."""
    monkeypatch.chdir(tmp_path)
    if data is not None:
        Path("m.toml").write_bytes(data)
    with pytest.raises(ConfigError) as raised:
        load("m.toml")
    assert str(raised.value).split("\n")[0] == message
    assert raised.value.path == "m.toml"


def test_paths_that_are_no_file(tmp_path: Path) -> None:
    """P-D7: a directory, a name that no file can have."""
    with pytest.raises(ConfigError, match=r"must be a plain file, got a folder$"):
        load(tmp_path)
    with pytest.raises(ConfigError, match=r"must be a readable file, got File name too long$"):
        load("x" * 5000)
    closed = tmp_path / "closed.toml"
    closed.write_text(ROWS)
    closed.chmod(0)
    try:
        closed.read_text()
    except PermissionError:
        with pytest.raises(ConfigError, match=r"must be a readable file, got Permission denied$"):
            load(closed)


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_bytes(b"\xef\xbb\xbf" + (ROWS + LINEAR).encode())
    assert load(str(tmp_path / "m.toml")).model().num_parameters() == 15


def test_a_text_with_half_a_character() -> None:
    with pytest.raises(ConfigError, match=r"^<config>:2:2: character '\\ud800' is not Unicode text"):
        loads("a\nb\ud800")


def test_rng_must_be_declared() -> None:
    with pytest.raises(
        ArgumentError,
        match=r"^m\.toml: a generator needs an \[init\] table, got none; add \[init\] with seed = 0, or hand init a "
        r"generator$",
    ):
        loads(ROWS + LINEAR, "m.toml").rng()
    config = loads(ROWS + LINEAR + "[init]\nseed = 3\n")
    assert np.array_equal(
        config.model().init(config.rng()).parameters()[0], config.model().init(np.random.default_rng(3)).parameters()[0]
    )
    assert loads(ROWS + LINEAR).optimizer() is None


class Doubled(Picky):
    """A layer of a user with one inside, which no config says."""

    def __init__(self, features: int) -> None:
        self.inside: Linear = Linear(2 * features, 2 * features)

    def flow_after(self, flow: Flow) -> Flow:
        return self.inside.trace(flow)


def test_a_misfit_inside_a_users_layer_is_told_at_that_layer(registry: dict[str, type[Module]]) -> None:
    register("Doubled")(Doubled)
    error = _error(ROWS + '[[layer]]\ntype = "Residual"\n[[layer.inner]]\ntype = "Doubled"\nfeatures = 3\n')
    message = "layer 0.inner: Linear(6, 6) cannot follow Input(4): expects 6 features, gets 4"
    assert str(error).split("\n")[0] == f"<config>:6:8: {message}"


def test_layers_are_left_as_their_constructors_make_them() -> None:
    text = (
        ROWS + "[[layer]]\ntype = 'Residual'\n[[layer.inner]]\ntype = 'Stack'\ninput = "
        "[4]\n[[layer.inner.layers]]\ntype = 'Tanh'\n"
    )
    tanh = next(module for _, module in loads(text).model().named_modules() if isinstance(module, Tanh))
    assert vars(tanh).keys() == vars(Tanh()).keys()


def test_nothing_is_allocated() -> None:
    """P-D5: the whole file is shape-checked and counted before any array exists."""
    text = (
        f"format = 1\ninput = [{10**6}]\n"
        + '[[layer]]\ntype = "Linear"\nin_features = 1_000_000\nout_features = 1_000_000\n' * 3
    )
    loads(text)
    tracemalloc.start()
    model = loads(text).model()
    count = model.num_parameters()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 3 * (10**12 + 10**6)
    assert peak < 2_000_000
    assert isinstance(model.parts[0], Linear)
