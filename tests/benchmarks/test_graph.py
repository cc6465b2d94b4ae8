"""The benchmark of the graph: what is timed computes what it should."""

import numpy as np
import pytest

from benchmarks import graph


@pytest.mark.parametrize("name", ["elementwise", "softmax", "softmax_gradient"])
def test_engines_agree(name: str) -> None:
    arrays = [
        np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32) for _ in range(1 if name == "softmax" else 2)
    ]
    contestants, failed = graph.engines(name, arrays)
    assert "graph" in contestants
    assert all(isinstance(each, str) for each in failed)
    assert all(apart < 1e-5 for apart in graph.apart(contestants).values())


def test_steps_of_mnist_net_agree() -> None:
    steps = graph.mnist()
    for _ in range(3):
        losses = [float(step()) for step in steps.values()]
        assert max(losses) - min(losses) < 1e-5
    assert losses[0] < 3


def test_convolutions_agree_and_windows_cost_memory() -> None:
    contestants = graph.convolutions((4, 20, 20, 8), (8, 5, 5, 8), 0, gradient=True)
    assert all(apart < 1e-4 for apart in graph.apart(contestants).values())
    held = {name: graph.most_held(each) for name, each in contestants.items()}
    assert held["windows stored"] > 4 * 4 * 16 * 16 * 25 * 8


def test_ratios_are_of_the_graph_to_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    graph.report(
        "row", {"graph": [0.002, 0.001, 0.003], "peer": [0.004, 0.004, 0.008]}, ["JAX: RuntimeError"], {"peer": 1e-7}
    )
    assert capsys.readouterr().out == (
        "row: graph 2.00 ms; peer 4.00 ms (ratio 0.50, least 0.25, apart 1e-07); JAX: RuntimeError\n"
    )
