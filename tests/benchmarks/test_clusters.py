"""The model of larger clusters: its terms by hand, and where it can only go one way."""

from typing import Literal

import pytest

from benchmarks.clusters import MODELS, NETWORKS, POSITIONS, TOKENS, Network, main, step

SLOW, FAST = NETWORKS


@pytest.mark.parametrize(("kind", "messages"), [("exact", 2 * 7), ("plain", 2 * 3)])
def test_the_terms_of_a_sum(kind: Literal["exact", "plain"], messages: int) -> None:
    """Of 8 MB over 8 ranks: each sends and receives 7 MB twice, and adds up 7 MB."""
    network = Network("", alpha=1e-3, beta=1e9, gamma=2e9)
    expected = messages * 1e-3 + 14e6 / 1e9 + 7e6 / 2e9
    assert network.exchange(8e6, 8, kind) == pytest.approx(expected)


def test_one_rank_sends_nothing() -> None:
    size = MODELS["124 M"]
    alone = step(size, SLOW, 1, rate=1e12, kind="exact")
    assert alone == pytest.approx(6 * size.parameters * TOKENS / 1e12)
    assert SLOW.exchange(1e9, 1) == 0


def test_two_stages_wait_for_each_other() -> None:
    """128 replicas have 4 rows each: the first stage waits for a fifth of its time, and 4 rows go there and back."""
    size = MODELS["1.56 B"]
    network = Network("", alpha=0.0, beta=1e9, gamma=1e30)
    computing = 6 * size.parameters * TOKENS / 1e12 / 256 * (1 + 1 / 4)
    between, gradient = 2 * 4 * 4 * size.n_embd * POSITIONS / 1e9, 4 * size.parameters / 2
    expected = computing + between + 2 * 127 / 128 * gradient / 1e9
    assert step(size, network, 256, 2, rate=1e12, kind="exact") == pytest.approx(expected)


def test_a_faster_network_is_no_slower_and_the_plain_sum_no_slower_than_the_exact() -> None:
    for size in MODELS.values():
        for ranks in (2, 16, 256):
            exact, plain = (step(size, SLOW, ranks, rate=3e12, kind=kind) for kind in ("exact", "plain"))
            assert plain <= exact
            assert step(size, FAST, ranks, rate=3e12, kind="exact") < exact


def test_it_prints_a_row_for_each_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert sum(row.startswith(f"| {name}, ") for name in MODELS for row in rows) == 2 * len(MODELS)
    assert [row.split(" | ")[0] for row in rows[-5:]] == ["| 1", "| 2", "| 4", "| 8", "| 16"]
