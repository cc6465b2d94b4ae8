"""`benchmarks.parallel`: jobs that take turns give the same results, and a job that is wrong is not measured."""

import pytest

import benchmarks.parallel
from benchmarks.parallel import beside, compare, main, scaling
from tests.parallel.processes import in_processes


@in_processes
def test_jobs_take_turns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One rank and two of ShallowSpeed's network: the same gradients, to the bit."""
    monkeypatch.setitem(benchmarks.parallel.STEPS, "mlp", 2)
    found = compare("mlp", [("typednn", 1), ("typednn", 2)], 1, "")
    assert [*found] == ["typednn, 1 rank", "typednn, 2 ranks"]
    assert all(0 < least <= seconds for seconds, least in found.values())
    assert "typednn, 2 ranks is apart from typednn, 1 rank by 0.0e+00" in capsys.readouterr().out


@in_processes
def test_what_is_apart_is_not_measured(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(benchmarks.parallel, "TOLERANCE", -1.0)
    assert compare("mlp", [("typednn", 1), ("typednn-fastest", 1)], 1, "") == {}
    assert "results disagree: nothing is measured" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("two", "best", "told"),
    [(0.5, 0.5, "held"), (0.6, 0.5, "by the fastest only"), (0.5, 0.6, "by the median only"), (0.6, 0.6, "missed")],
)
def test_a_goal_is_of_the_median_and_the_fastest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], two: float, best: float, told: str
) -> None:
    """One rank takes 1 s, two of PyTorch 1.7: LeNet5's goals are 0.9, and a third of PyTorch's time."""

    def measured(_: str, contestants: list[tuple[str, int]], *__: object) -> dict[str, tuple[float, float]]:
        seconds = {1: (1.0, 1.0), 2: (two, best)}
        return {f"{name} {count}": (1.7, 1.7) if name == "torch" else seconds[count] for name, count in contestants}

    monkeypatch.setattr(benchmarks.parallel, "compare", measured)
    assert scaling("lenet5", 1) == beside("lenet5", "torch", 1, "") == (told == "held")
    assert [row.rpartition(": ")[2] for row in capsys.readouterr().out.splitlines() if "goal" in row] == [told] * 2


@in_processes
def test_shallowspeed_is_left_out_where_it_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--part", "mlp"]) == 0
    assert "  mlp is left out: needs a copy of ShallowSpeed, got none; " in capsys.readouterr().out
