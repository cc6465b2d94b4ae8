"""costs: parameters, outputs, flops and memory of each layer, beside their formulas."""

from typing import Any

import pytest

from typednn import Input
from typednn.layers import LSTM, BatchNorm2d, Conv2d, Embedding, Flatten, LastStep, Linear, MaxPool2d, ReLU
from typednn.recipes import recipe
from typednn.recipes.costs import costs, table


@pytest.mark.parametrize(("height", "width", "channels", "out"), [(5, 5, 1, 1), (8, 7, 3, 4)])
def test_a_convolution_and_a_linear_layer(height: int, width: int, channels: int, out: int) -> None:
    """2 flops for each product: out·h·w·k² of the convolution's channels, and in·out."""
    features = (height - 2) * (width - 2) * out
    model: Any = (
        Input(height, width, channels)
        >> Conv2d(channels, out, 3)
        >> ReLU()
        >> Flatten()
        >> Linear(features, 2).named("last")
    )
    convolved, relu, flat, last = costs(model)
    assert convolved.output == (height - 2, width - 2, out)
    assert convolved.parameters == 9 * channels * out
    assert convolved.flops == 2 * features * 9 * channels
    assert (relu.flops, relu.memory, relu.parameters) == (features, 4 * features, 0)
    assert (flat.output, flat.flops) == ((features,), 0)
    assert (last.name, last.layer) == ("last", f"Linear({features}, 2)")
    assert (last.parameters, last.flops, last.memory) == (
        2 * features + 2,
        2 * features * 2,
        8,
    ) or last.flops == 2 * features * 2 + 2


def test_the_sums() -> None:
    model = recipe("lenet5").model()
    found = costs(model)
    assert sum(each.parameters for each in found) == 61706
    shown = table(recipe("lenet5").model()).splitlines()
    assert shown[0].split() == ["layer", "output", "parameters", "flops", "memory"]
    assert shown[-2] == "61,706 parameters, 241.0 KiB in float32"
    flops = sum(each.flops or 0 for each in found)
    assert shown[-1].startswith(f"of one sample: {flops / 1e3:.1f} k flops forward, ")
    assert len(shown) == len(found) + 4


def test_tokens_normalisation_and_sequences() -> None:
    """Integers go in where the model reads tokens; running statistics are used, and stay as they are."""
    texts: Any = Input(6, dtype=int) >> Embedding(9, 4) >> LSTM(4, 3) >> LastStep() >> Linear(3, 2)
    assert [each.output for each in costs(texts)] == [(6, 4), (6, 3), (3,), (2,)]
    images: Any = Input(4, 4, 2) >> BatchNorm2d(2) >> MaxPool2d(2)
    assert [each.output for each in costs(images)] == [(4, 4, 2), (2, 2, 2)]
    assert images.training


def test_a_layer_without_ops(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of NumPy alone: its flops are not known, and said so."""
    from tests.cli.test_verbs import LAYERS

    (tmp_path / "layers_of_costs.py").write_text(LAYERS.replace('"Swish"', '"SwishOfCosts"'))
    monkeypatch.syspath_prepend(tmp_path)
    import layers_of_costs  # type: ignore[import-not-found]

    model: Any = Input(4) >> Linear(4, 3) >> layers_of_costs.Swish()
    assert [each.flops is None for each in costs(model)] == [False, True]
    assert "flops forward and those of layers with ?" in table(model)
