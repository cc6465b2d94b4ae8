"""MnistNet of tensors beside MnistNet of layers: the same losses, and a picture of a step."""

import re
from pathlib import Path

import pytest

from examples import graph_mnist
from typednn.engines import using


def test_both_nets_have_the_same_losses(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """X-E1: 784-128-10, batches of 128, SGD of momentum .9, 200 steps: to 1e-5, on the digits, and the loss falls."""
    pytest.importorskip("sklearn")
    monkeypatch.setattr(graph_mnist, "find_mnist", lambda: None)
    with using("reference"):  # no kernels are compiled for one test
        graph_mnist.main(["--plot", str(tmp_path / "step.dot")])
    printed = capsys.readouterr().out
    apart = re.search(r"In 200 steps the losses are at most (\S+) apart", printed)
    assert apart
    assert float(apart[1]) < 1e-5
    losses = [float(loss) for loss in re.findall(r"^ *\d+  [\d.]+  ([\d.]+)$", printed, re.MULTILINE)]
    assert losses[0] > 2
    assert losses[-1] < 0.3
    drawn = (tmp_path / "step.dot").read_text(encoding="utf-8")
    assert drawn.startswith("strict digraph")
    for name in ("images", "labels", "0.weight", "1.bias", "loss"):
        assert name in drawn, "tensors that have a name show it"
