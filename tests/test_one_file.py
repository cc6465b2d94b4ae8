"""A layer of any kind is one file: its laws, its config, its gradients and every engine follow from its annotations
alone.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import own_layers
import pytest
from jaxtyping import Float
from own_layers import Scaled, ScaleNorm, Softsign, Tokens, TokensGrad, Widen

import typednn
from typednn import Array3, Input, Module, config, gradcheck
from typednn.config.registry import LAYERS as REGISTRY
from typednn.engines import available, counting, using
from typednn.errors import StackError
from typednn.layers import Conv2d, Linear, PerPosition, ReLU, SequenceLinear
from typednn.testing import LawBroken, Subject, check_layer

# The file registers its layers when it is imported; for other tests they are taken out again.
OWN = {name: REGISTRY.pop(name) for name, kind in list(REGISTRY.items()) if kind.__module__ == own_layers.__name__}


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    REGISTRY.update(OWN)
    yield
    for name in OWN:
        del REGISTRY[name]


# How each is built, an input's shape, and how many integers it knows.
LAYERS: dict[str, tuple[Callable[[], Module], tuple[int, ...], int]] = {
    "ScaleNorm": (lambda: ScaleNorm(5), (2, 3, 4, 5), 2),
    "Widen": (lambda: Widen(3, 2), (2, 4, 3), 2),
    "Scaled": (lambda: Scaled(PerPosition(Linear(4, 4) >> ReLU())), (2, 3, 4), 2),
    "Tokens": (lambda: Tokens(7, 4), (2, 3), 7),
    "Softsign": (Softsign, (2, 3, 5), 2),
}
each = pytest.mark.parametrize("name", LAYERS)


@each
def test_it_keeps_the_laws(name: str) -> None:
    build, shape, vocab = LAYERS[name]
    check_layer(build, shape, vocab=vocab)
    with using("reference"):  # each size would compile kernels of its own
        check_layer(build, vocab=vocab, examples=4)  # at sizes of its annotations


@each
def test_its_derivatives_are_checked_under_every_engine(name: str) -> None:
    build, shape, vocab = LAYERS[name]
    x: Any = (
        np.random.default_rng(0).integers(0, vocab, shape)
        if name == "Tokens"
        else np.linspace(-1, 1, np.prod(shape)).reshape(shape)
    )
    outputs: list[Any] = []
    for engine in ("reference", "fast"):
        with using(engine):
            layer: Any = build().init(np.random.default_rng(1))
            assert gradcheck(layer, x).error < 1e-6
            outputs.append(layer.forward(x if name == "Tokens" else x.astype(np.float32)))
    np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in LAYERS if name != "Tokens"])  # a config's models read rows of floats
def test_a_config_reads_and_writes_it(name: str) -> None:
    build, shape, _ = LAYERS[name]
    model = typednn.Sequential([build()], input=Input(*shape[1:]))
    text = config.dumps(model)
    assert f'type = "{name}"' in text
    read = config.loads(text).model().init(np.random.default_rng(0))
    assert config.dumps(read) == config.dumps(config.loads(config.dumps(read)).model())
    assert {path: array.shape for path, array in read.named_parameters().items()} == model.parameter_shapes()


@pytest.mark.skipif(not available(), reason="needs Halide")
def test_a_pointwise_op_has_a_kernel_and_a_fallback() -> None:
    layer = Softsign()
    x = np.linspace(-3, 3, 5000, dtype=np.float32)
    outputs = []
    for array, engine in (
        (x, "halide"),
        (x.astype(np.float64), "halide"),
        (x.astype(np.float16), "reference"),
        (x[::2], "reference"),
    ):
        with counting() as counts:
            outputs.append(layer.forward(array))
            layer.backward(array)
        assert counts == {("softsign.forward", engine): 1, ("softsign.backward", engine): 1}
    np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-6)


def test_they_stack() -> None:
    model = (Input(6, dtype=int) >> Tokens(9, 4) >> ScaleNorm(4) >> SequenceLinear(4, 8) >> ReLU() >> Widen(8, 2)).init(
        np.random.default_rng(0)
    )
    tokens = np.random.default_rng(1).integers(0, 9, (2, 6))
    assert model.forward(tokens).shape == (2, 6, 16)
    assert gradcheck(model, tokens).error < 1e-6


@pytest.mark.parametrize(
    ("stack", "message"),
    [
        (lambda: Input(6) >> ScaleNorm(5), "ScaleNorm(5) cannot follow Input(6): expects 5 features, gets 6"),
        (lambda: Input(7, 4) >> Widen(3, 2), "Widen(3, 2) cannot follow Input(7, 4): expects 3 features, gets 4"),  # type: ignore[shape]
        (
            lambda: Input(7, 3) >> Widen(3, 2) >> SequenceLinear(5, 2),
            "SequenceLinear(5, 2) cannot follow Widen(3, 2): expects 5",
        ),  # type: ignore[shape]
        (
            lambda: Conv2d(1, 6, 5) >> SequenceLinear(6, 2),  # type: ignore[operator]
            "SequenceLinear(6, 2) cannot follow Conv2d(1, 6, 5): expects 2 or 3 axes, "
            "gets 4 axes (batch, height-4, width-4, 6); put Flatten() between them",
        ),
        (
            lambda: Input(8, 8, 3) >> Widen(3, 2),
            "Widen(3, 2) cannot follow Input(8, 8, 3): expects 2 or 3 axes, gets 4 axes",
        ),  # type: ignore[operator]
        (lambda: Scaled(Linear(3, 4)), "the inner layer must keep the shape: gets 3, gives 4"),
    ],
)
def test_what_does_not_fit_is_refused_when_it_is_built(stack: Callable[[], Any], message: str) -> None:
    with pytest.raises(StackError) as error:
        stack()
    assert message in str(error.value)


def test_nothing_else_knows_of_them() -> None:
    assert OWN.keys() == LAYERS.keys()
    package = Path(typednn.__file__).parent
    known = [
        path
        for path in package.rglob("*.py")
        if any(f"{name}(" in path.read_text() for name in OWN if name != "Tokens")
    ]
    assert known == []


def test_integers_are_drawn_below_the_vocabulary_size() -> None:
    class Forgetful(Tokens[str]):
        """Learns nothing of the tokens from 2 on."""

        def backward(self, next_grad: Float[Array3, "batch time {self.features}"]) -> TokensGrad:
            weight = super().backward(next_grad).weight
            weight[2:] = 0.0
            return TokensGrad(None, weight)

    assert set(np.unique(Subject(Tokens(7, 4), ((30, 3),), vocab=7).arrays()[0])) == set(range(7))
    check_layer(Forgetful(7, 4), (4, 3), laws=["derivatives"])  # tokens 0 and 1 are drawn
    with pytest.raises(LawBroken, match=r"repeat it with check_layer\(Forgetful\(7, 4\), \(4, 3\), seed=0, vocab=7"):
        check_layer(Forgetful(7, 4), (4, 3), laws=["derivatives"], vocab=7)
