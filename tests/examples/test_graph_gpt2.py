"""The small GPT-2 with an activation, an attention and a loss from formulas."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from examples import graph_gpt2
from examples.graph_gpt2 import HEADS, TIME, WIDTH, CappedAttention, SquaredReLU, ZLoss
from typednn.engines import using
from typednn.losses import SoftmaxCrossEntropy
from typednn.testing import check_layer, check_loss


def test_it_learns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """X-E1: an attention, an activation and a loss without a hand-written backward train a small GPT-2."""
    monkeypatch.setattr(graph_gpt2, "STEPS", 12)
    with using("reference"):  # no kernels are compiled for one test
        graph_gpt2.main()
    printed = capsys.readouterr().out
    losses = [float(line.split()[-1]) for line in printed.splitlines() if line.startswith("step")]
    assert len(losses) == 5
    assert losses[0] > np.log(len(graph_gpt2.vocabulary))
    assert losses[-1] < 0.75 * losses[0]
    agree = next(line for line in printed.splitlines() if line.startswith("The derivatives"))
    assert float(agree.split()[-1]) < 1e-6


@pytest.mark.parametrize("layer", [SquaredReLU(), CappedAttention(4, 2)], ids=repr)
def test_its_layers_keep_every_law(layer: Any) -> None:
    check_layer(layer, examples=2)


def test_its_loss_keeps_every_law() -> None:
    check_loss(ZLoss(), examples=2)


def test_no_position_reads_a_later_one() -> None:
    layer: Any = CappedAttention(WIDTH, HEADS).init(np.random.default_rng(0))
    x = np.random.default_rng(1).standard_normal((2, TIME, WIDTH)).astype(np.float32)
    other = x.copy()
    other[:, 5:] += 1
    before, after = layer.forward(x), layer.forward(other)
    assert_allclose(before[:, :5], after[:, :5], atol=1e-6)
    assert not np.allclose(before[:, 5:], after[:, 5:], atol=1e-3)


def test_without_a_penalty_the_loss_is_cross_entropy() -> None:
    scores = np.random.default_rng(0).standard_normal((2, 3, 5))
    labels = np.random.default_rng(1).integers(0, 5, (2, 3))
    assert ZLoss(0.0).loss(scores, labels) == pytest.approx(SoftmaxCrossEntropy().loss(scores, labels), rel=1e-12)
    assert ZLoss(1.0).loss(scores, labels) > ZLoss(0.0).loss(scores, labels)
