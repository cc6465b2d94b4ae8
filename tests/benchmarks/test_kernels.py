"""`benchmarks.kernels` runs through with the smallest settings, refuses wrong results before it starts a clock, and
judges as it says.
"""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import kernels, machine, works
from benchmarks.limits import Limits, limits

REPOSITORY = Path(__file__).resolve().parents[2]
SMALL = works.Work("small", (8, 8, 1), (("pad", (1,)), works.conv(1, 2, 3), works.RELU, works.HALVED, works.FLATTEN,
                   works.linear(32, 3)), 4, "SGD", "labels", works.BOTH)  # fmt: skip


def test_quick(tmp_path: Path) -> None:
    written = tmp_path / "found.json"
    rows = ["lenet5-one", "control-step", "memory", "checks"]
    command = [
        sys.executable,
        "-m",
        "benchmarks.kernels",
        "--quick",
        "--threads",
        "1",
        "--json",
        str(written),
        "--rows",
        *rows,
    ]
    done = subprocess.run(command, cwd=REPOSITORY, env=dict(os.environ), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for part in (
        "Who",
        "Results: how far from typednn",
        "Which engine ran typednn's ops",
        "Limit of this machine",
        "  work ",
    ):
        assert f"\n{part}" in done.stdout
    assert "not judged: too small" in done.stdout
    assert "MISSED" not in done.stdout
    assert "1 threads" in done.stdout
    assert "to the end of LeNet5's first step: typednn " in done.stdout
    table = done.stdout.partition("\n  work ")[2]
    for title in (
        "LeNet5, batch 1, forward",
        "MLP 17-256-256-6, batch 256, step with Adam",
        "LeNet5, batch 600, training: peak memory",
    ):
        assert f"\n  {title} " in table
    assert "checked calls x" in table
    found = json.loads(written.read_text(encoding="utf-8"))
    assert list(found) == rows
    assert all(found["lenet5-one"][0]["times"]["typednn"])


def test_every_goal_has_a_row() -> None:
    assert {goal.row for goal in kernels.GOALS} | {"checks"} == set(kernels.ROWS)
    for goal in kernels.GOALS:
        if goal.row in works.WORKS:
            assert set(goal.peers) <= {*works.WORKS[goal.row].engines, "limit"}


class _Contestant:
    """Gives the results that it is told to, and notes how often it was run."""

    def __init__(self, results: dict[str, Any]) -> None:
        self.given = results
        self.runs = 0

    def results(self) -> dict[str, Any]:
        return self.given

    def run(self, times: int) -> None:
        self.runs += times

    def described(self) -> str:
        return "given"


RIGHT = {
    "output": np.array([1.0, -2.0]),
    "loss": np.array(0.5),
    "gradient 1.weight": np.ones(3),
    "way 1.weight": np.full(3, 0.1),
}


def _contest(monkeypatch: pytest.MonkeyPatch, **others: Any) -> tuple[dict[str, Any], dict[str, _Contestant]]:
    made = {"typednn": _Contestant(RIGHT), "torch": _Contestant(RIGHT | others)}
    monkeypatch.setattr(works, "new_contestant", lambda engine, work: made[engine])
    monkeypatch.setattr(works, "missing", lambda engine: "" if engine in made else "absent")
    monkeypatch.setattr(kernels, "limits", lambda *_: Limits(1e9, 1e9))
    work = works.Work("given", (2,), (works.linear(2, 1),), 1, "", "labels", tuple(works.ENGINES))
    return kernels.contest(work, 0.0, quick=True), made


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"output": np.array([1.0, -2.001])}, id="output"),
        pytest.param({"loss": np.array(0.5001)}, id="loss"),
        pytest.param({"gradient 1.weight": np.array([1, 1, 1.001])}, id="gradient"),
        pytest.param({"way 1.weight": np.full(3, -0.1)}, id="step"),
        pytest.param({"output": np.array([1.0, math.nan])}, id="NaN"),
        pytest.param({"output": np.ones(3)}, id="shape"),
        pytest.param({"gradient 2.weight": np.ones(3)}, id="another gradient"),
    ],
)
def test_wrong_results_are_refused_before_timing(
    wrong: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found, made = _contest(monkeypatch, **wrong)
    assert found["times"] == {}
    assert [contestant.runs for contestant in made.values()] == [0, 0]
    assert not kernels.print_report({"lenet5-forward": [found]})
    out = capsys.readouterr().out
    assert "refused, no times: torch is" in out
    assert "held" not in out.partition("\n  work ")[2].partition("goals")[0]


def test_right_results_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    found, made = _contest(monkeypatch, output=np.array([1.0, -2.00001]))
    assert set(found["times"]) == {"typednn", "torch"}
    assert all(contestant.runs for contestant in made.values())
    assert found["absent"]["jax"] == "absent"


def _found(**seconds: float) -> dict[str, Any]:
    ours = {"flops": 1e9, "traffic": 0.0, "limit": {"flops": 1e12, "copied": 1e9}}
    return ours | {"times": {engine.replace("_", "-"): [time, time] for engine, time in seconds.items()}}


def test_the_faster_layout_is_the_peer_and_the_median_process_decides() -> None:
    goal = kernels.Goal("lenet5-forward", "PyTorch", works.LAYOUTS, 0.25)
    founds = [_found(typednn=ours, torch=8.0, torch_channels_last=4.0) for ours in (0.5, 1.0, 3.0)]
    (line,) = kernels.lines(goal, founds)
    assert line.peer == "torch-channels-last"
    assert line.ratios == (0.125, 0.25, 0.75)
    assert line.held
    assert line.limit == pytest.approx(1000)
    assert not kernels.lines(kernels.Goal("lenet5-forward", "PyTorch", works.LAYOUTS, 0.24), founds)[0].held
    assert kernels.lines(kernels.Goal("lenet5-forward", "PyTorch", works.LAYOUTS, 0.24, 0.26), founds, avx2=True)[
        0
    ].held
    (line,) = kernels.lines(kernels.Goal("lenet5-forward", "the limit", kernels.LIMIT, 999.0), founds)
    assert (line.theirs, line.ratios, line.held) == (pytest.approx(1e-3), pytest.approx((500, 1000, 3000)), False)
    assert kernels.lines(goal, [_found(typednn=1.0)]) == []


def test_the_fastest_runs_decide_too() -> None:
    goal = kernels.Goal("lenet5-forward", "PyTorch", works.LAYOUTS, 0.25)
    found = _found(typednn=1.0, torch=4.0)
    assert kernels.lines(goal, [found])[0].held
    found["times"]["torch"] = [4.0, 4.0, 3.9]
    assert not kernels.lines(goal, [found])[0].held


def test_lines_without_a_goal_are_not_judged(capsys: pytest.CaptureFixture[str]) -> None:
    shown = {"described": {}, "absent": {}, "apart": {}}
    kernels.print_report({"mlp-step": [{"times": {"typednn-planned": [9.0], "torch": [1.0]}} | shown]}, avx2=True)
    out = capsys.readouterr().out
    assert " 9.000 (9.000-9.000)" in out
    assert "MISSED" not in out
    assert "0 of 0 goals held" in out


def test_shares_of_checks(capsys: pytest.CaptureFixture[str]) -> None:
    step = _found(typednn=1e-3) | {"checked": {"typednn": 20}}
    assert kernels.print_check_shares({"lenet5-step": [step]}, [{"costs": {"a": 1e-6, "b": 5e-7}}], judged=True)
    assert " 2.00%" in capsys.readouterr().out
    assert not kernels.print_check_shares({"lenet5-step": [step]}, [{"costs": {"a": 1.1e-6}}], judged=True)


def test_engines_used() -> None:
    ran = [["linear.forward", "blas", 2], ["relu.forward", "halide", 4], ["sgd.step", "reference", 1]]
    assert kernels.engines_used(ran) == "halide 4, blas 2, reference 1 (sgd.step)"
    assert kernels.engines_used([]) == "no op was noted"


def test_ours_tells_every_gradient_and_goes_down_it() -> None:
    results = works.new_contestant("typednn", SMALL).results()
    names = ("1.weight", "1.bias", "5.weight", "5.bias")
    assert set(results) == {
        "output",
        "loss",
        *(f"gradient {name}" for name in names),
        *(f"way {name}" for name in names),
    }
    for name in names:
        way, slope = (results[f"{what} {name}"].ravel() for what in ("way", "gradient"))
        assert way @ slope < -0.8 * np.linalg.norm(way) * np.linalg.norm(slope)


def test_layouts_are_each_others_inverse() -> None:
    for name, array in works.weights(SMALL).items():
        np.testing.assert_array_equal(works.channels_last(SMALL, name, works.channels_first(SMALL, name, array)), array)


def test_arithmetic_is_counted() -> None:
    """Products by hand: padded 3x3 convolution of 8x8 pixels to 2 channels, 32 features to 3; the loss and the rest
    take less.
    """
    products = 4 * 2 * (8 * 8 * 2 * 9 + 32 * 3)
    for work, times in ((replace(SMALL, optimizer=""), 1), (SMALL, 3)):
        flops, traffic = works.needed(work)
        unread = 4 * 2 * 8 * 8 * 2 * 9 if work.optimizer else 0  # the derivative by the images
        assert times * products - unread <= flops <= 1.3 * times * products
        numbers = 2 * 9 + 2 + 3 * 32 + 3
        # and int64 labels
        assert traffic == 4 * (4 * 64 + (3 if work.optimizer else 1) * numbers) + (4 * 8 if work.optimizer else 0)


def test_checked_calls_of_a_step() -> None:
    contestant: Any = works.new_contestant("typednn", SMALL)
    # Six parts and the whole, forward and backward; update walks once, and hands all parameters over at once; loss with
    # its gradient.
    assert kernels.checked_calls(contestant.step) == 7 + 7 + 1 + 1


def test_the_measured_processes_choose_their_own_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    variables = machine.environment(machine.How(2))
    assert "OPENBLAS_CORETYPE" not in variables
    assert machine.environment(machine.How(2, "avx2"))["TYPEDNN_TARGET"] == "avx2"
    assert {variables[name] for name in ("TYPEDNN_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPROC")} == {
        "2"
    }


def test_a_profile_names_the_ops() -> None:
    contestant = works.new_contestant("typednn", SMALL)
    with works.profiled() as found:
        contestant.run(2)
    assert len(found["linear.forward"]) == 2
    assert all(seconds >= 0 for op in found.values() for seconds in op)


def test_limits_are_measured() -> None:
    found = limits(64, 2**12, 1)
    assert found.flops > 0
    assert found.copied > 0
    assert found.seconds(found.flops, found.copied) == pytest.approx(2.0)
