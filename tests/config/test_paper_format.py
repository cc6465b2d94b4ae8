"""The paper's own text format: what it means, and what is wrong with one that means nothing."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.support.paper import LENET5
from typednn import Input
from typednn.config import ConfigError, dumps, loads, register
from typednn.config.registry import LAYERS
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, Pad2d, ReLU, Softmax
from typednn.module.stack import Stack
from typednn.optim import SGD, Adam
from typednn.random import PCG32

LENET5_TOML = """\
format = 1
input = [28, 28, 1]
layer = [
    { type = "Pad2d", padding = 2 },
    { type = "Conv2d", in_channels = 1, out_channels = 6, kernel_size = [5, 5], weight_init = "he_normal" },
    { type = "ReLU" },
    { type = "MaxPool2d", kernel_size = 2 },
    { type = "Conv2d", in_channels = 6, out_channels = 16, kernel_size = 5, \
weight_init = { type = "HeNormal", fan = "in" } },
    { type = "ReLU" },
    { type = "MaxPool2d", kernel_size = 2, stride = 2 },
    { type = "Flatten" },
    { type = "Linear", in_features = 400, out_features = 120, weight_init = "he_normal" },
    { type = "ReLU" },
    { type = "Linear", in_features = 120, out_features = 84, weight_init = "he_normal" },
    { type = "ReLU" },
    { type = "Linear", in_features = 84, out_features = 10, weight_init = "he_normal" },
    { type = "Softmax" },
]

[optimizer]
type = "SGD"
lr = 1.0
decay = 1e-7

[init]
generator = "pcg32"
seed = 42
stream = 6
"""


@pytest.fixture
def registry() -> Iterator[None]:
    """What a test registers is forgotten after it."""
    before = dict(LAYERS)
    yield
    LAYERS.clear()
    LAYERS.update(before)


def in_code() -> Any:
    he = "he_normal"
    return (
        Input(28, 28, 1)
        >> Pad2d(2) >> Conv2d(1, 6, 5, weight_init=he) >> ReLU() >> MaxPool2d(2)
        >> Conv2d(6, 16, 5, weight_init=he) >> ReLU() >> MaxPool2d(2) >> Flatten()
        >> Linear(400, 120, weight_init=he) >> ReLU()
        >> Linear(120, 84, weight_init=he) >> ReLU()
        >> Linear(84, 10, weight_init=he) >> Softmax()
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "name"),
    [(LENET5, "lenet5.txt"), (LENET5, "<config>"), (LENET5_TOML, "lenet5.toml"), (LENET5_TOML, "<config>")],
)
def test_lenet5_from_a_config_is_lenet5_in_code(text: str, name: str) -> None:
    """P-D4, P-D5, P-E2, P-E3: the same layers, names, shapes and weights, and one training step, bit for bit."""
    config = loads(text, name)
    model, code = config.model(), in_code()
    if text == LENET5:
        assert str(model) == str(code).replace("Chain", "Stack", 1)
    assert model.parameter_shapes() == code.parameter_shapes()
    assert model.num_parameters() == 61_684
    model.init(config.rng())
    code.init(PCG32(42, 6))
    for path, expected in code.state_dict().items():
        assert np.array_equal(model.state_dict()[path], expected), path
    conv1 = model.parameters()[0].ravel()[:4]
    assert np.allclose(conv1, [-0.1194448, 0.2730768, -0.0500337, 0.3568150], rtol=0, atol=1e-5)

    x = np.random.default_rng(1).standard_normal((4, 28, 28, 1), dtype=np.float32)
    y, rows = code.forward(x), model.forward(x.reshape(4, 784))
    assert np.array_equal(y, rows)
    next_grad = np.random.default_rng(2).standard_normal(y.shape, dtype=np.float32)
    optimizer = config.optimizer()
    assert optimizer is not None
    model.update(optimizer, model.backward(next_grad))
    code.update(SGD(1.0, decay=1e-7), code.backward(next_grad))
    for path, expected in code.state_dict().items():
        assert np.array_equal(model.state_dict()[path], expected), path


def test_shapes_of_lenet5() -> None:
    """P-E2: 32, 28, 14, 10, 5, then 400, 120, 84, 10."""
    shapes = [part.sample_shape for part in loads(LENET5).model().dyn_layers]
    assert [shape[0] for shape in shapes] == [28, 32, 28, 28, 14, 10, 10, 5, 400, 120, 120, 84, 84, 10]


def test_what_a_config_says() -> None:
    """P-D4: the batch is a hint; every call makes a new model, optimizer and generator."""
    config = loads(LENET5, "lenet5.txt")
    assert (config.batch, config.input.sizes, config.source) == (600, (28, 28, 1), "lenet5.txt")
    assert repr(config) == "<ModelConfig lenet5.txt>"
    assert config.model() is not config.model()
    assert config.rng() == config.rng() == PCG32(42, 6)
    optimizer = config.optimizer()
    assert isinstance(optimizer, SGD)
    assert (optimizer.settings.lr(0), optimizer.settings.decay) == (1.0, 1e-7)
    assert config.model().init(config.rng()).forward(np.ones((7, 784), np.float32)).shape == (7, 10)
    assert loads(LENET5_TOML).batch is None


def test_unequal_sizes() -> None:
    """P-D4: heights and widths, strides and dilations of their own; blank lines, spaces and Windows newlines do no
    harm.
    """
    split = "#" * 20
    layers = ["Pad2D, 1, 2, 0.5", "Conv2D,2,3,3,2,2,1,1,2", "", "MaxPool2D,2,1,1,2,1,1", "Flatten"]
    model = loads("\r\n".join(["", "1, 9, 8, 2", split, *layers, split, " SGD , 1e-1 ", ""])).model()
    assert isinstance(model, Stack)
    pad, conv, pool, _ = model.parts
    assert repr(pad) == "Pad2d((2, 2, 1, 1), value=0.5)"
    assert repr(conv) == "Conv2d(2, 3, (3, 2), stride=(2, 1), dilation=(1, 2))"
    assert repr(pool) == "MaxPool2d((2, 1), stride=(1, 2))"
    assert model.out_features == 4 * 5 * 3


def test_the_format_is_told_by_name_or_content() -> None:
    with pytest.raises(ConfigError, match=r"^m\.toml:1:4: not TOML"):
        loads(LENET5, "m.toml")
    assert loads(LENET5_TOML, "m.txt").batch is None
    with pytest.raises(ConfigError, match=r"^<config>:1:1: format is missing"):
        loads("# a comment\n####################\nx = 1\n")
    with pytest.raises(ConfigError, match=r"^<config>:1:1: format is missing"):
        loads("")


def test_an_optimizer_and_a_layer_of_ones_own(registry: Any) -> None:
    """P-D4: by their names, with the constructor's arguments in their order."""

    @register("Scale")
    class Scale:
        def __init__(
            self,
            features: int,
            start: float = 1.0,
            shape: tuple[int, int] = (1, 1),
            kind: str = "plain",
            flag: bool = False,
        ) -> None:
            self.out_features = features
            self.weight = np.full(features, start, np.float32)
            self.said = start, shape, kind, flag

        def forward(self, x: Any) -> Any:
            return x * self.weight

        def backward(self, next_grad: Any) -> Any: ...

        def update(self, optimizer: Any, grad: Any) -> None: ...

    split = "#" * 20
    text = "\n".join(["5,2,2,1", split, "Flatten", "Scale,4,1.5,2,3,odd,true", "Scale,4", split, "Adam,0.001,0.8,0.99"])
    config = loads(text)
    model: Any = config.model()
    assert [part.inner.said for part in model.parts[1:]] == [(1.5, (2, 3), "odd", True), (1.0, (1, 1), "plain", False)]
    optimizer: Any = config.optimizer()
    assert type(optimizer) is Adam
    assert (optimizer.lr, optimizer.betas, optimizer.settings.decay) == (0.001, (0.8, 0.99), 0.0)
    assert 'type = "Scale"\nfeatures = 4\nstart = 1.5\n' in dumps(model, optimizer)
    for wrong, place, words in (
        ("Scale", (4, 1), "layer 1: Scale needs features (an integer)"),
        ("Scale,x", (4, 7), 'layer 1: Scale: features must be an integer, got "x"'),
        ("Scale,4,1.5,2", (4, 13), "layer 1: Scale: shape must be [an integer, an integer]"),
        ("Scale,4,1.5,2,3,odd,true,7", (4, 26), "layer 1: expects Scale,features,start,shape,kind,flag, got 8 fields"),
        ("Scal,4", (4, 1), "layer 1: unknown layer 'Scal'; did you mean 'Scale'?"),
    ):
        with pytest.raises(ConfigError) as caught:
            loads(text.replace("Scale,4,1.5,2,3,odd,true", wrong))
        assert words in str(caught.value)
        assert (caught.value.line, caught.value.column) == place
    for wrong, words in (
        ("Adm,0.1", "optimizer: unknown optimizer 'Adm'; did you mean 'Adam'?"),
        ("Adam,x", "optimizer: Adam: lr must be"),
        ("Adam,0.1,0.9", "optimizer: Adam: betas must be"),
    ):
        with pytest.raises(ConfigError) as caught:
            loads(text.replace("Adam,0.001,0.8,0.99", wrong))
        assert words in str(caught.value)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Lion"])
def test_every_optimizer(name: str) -> None:
    """P-D4: its rate is the first field; the decay of the paper is SGD's alone."""
    optimizer: Any = loads(LENET5.replace("SGD,1.0", f"{name},0.25")).optimizer()
    assert (type(optimizer).__name__, optimizer.lr) == (name, 0.25)
    assert optimizer.settings.decay == (1e-7 if name == "SGD" else 0.0)
