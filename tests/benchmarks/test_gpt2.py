"""`benchmarks.gpt2`: its counts are those of the model, wrong results are refused before a clock starts, goals are
judged as it says.
"""

import os
import subprocess
import sys
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import gpt2, gpt2_works
from benchmarks.gpt2_works import SIZES, apart
from benchmarks.limits import product_seconds, reading
from typednn.engines import observing
from typednn.losses import SoftmaxCrossEntropy
from typednn.models import GPT2

REPOSITORY = Path(__file__).resolve().parents[2]
TINY = SIZES["tiny"]


def test_alone() -> None:
    """The smallest model, without PyTorch even where it is installed: times, limit, memory, tokens;
    nothing is judged.
    """
    hidden = "import sys; sys.modules['torch'] = None; import benchmarks.gpt2 as g; g.find_spec = lambda name: None; "
    for row in (["step", "64"], ["memory", "64", "typednn"], ["text", "4"]):
        command = [
            sys.executable,
            "-c",
            f"{hidden}g.main({['--size', 'tiny', '--rounds', '1', '--new', '3', '--measure', *row]!r})",
        ]
        done = subprocess.run(
            command, cwd=REPOSITORY, env=dict(os.environ), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(("{", "1", "2", "3", "4", "5", "6", "7", "8", "9")), done.stdout


@pytest.mark.parity
def test_beside_pytorch() -> None:
    options = ["--size", "tiny", "--rounds", "1", "--processes", "1", "--new", "5", "--threads", "1", "--eager"]
    options += ["--only", "step-64", "memory-64", "generation"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "gpt2", *options],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all results agree" in done.stdout
    assert "FAIL" not in done.stdout
    for row in ("step, 4 x 64 tokens", "memory, 4 x 64 tokens", "generation, 5 tokens"):
        assert f"\n  {row} " in done.stdout


def test_no_such_benchmark() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "gpt3"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "no benchmark 'gpt3'" in done.stderr


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_parameters_are_counted(size: gpt2_works.Size) -> None:
    model: Any = GPT2(*astuple(size))
    assert size.parameters == model.num_parameters()
    assert size.read == size.parameters - size.n_positions * size.n_embd


def test_products_are_those_of_a_step() -> None:
    model: Any = GPT2(*astuple(TINY), rng=np.random.default_rng(0))
    x = gpt2_works.tokens(TINY, 2, 16)
    found: dict[str, float] = {"linear": 0.0, "self_attention": 0.0}

    def note(ran: Any) -> None:
        kind = ran.op.name.partition(".")[0]
        if kind in found:
            found[kind] += ran.op.flops(*ran.arguments)

    with observing(note):
        model.backward(SoftmaxCrossEntropy().loss_grad(model.forward(x), x))
    assert found["linear"] == pytest.approx(sum(6 * 32 * count * out * inner for count, out, inner in TINY.products))
    assert found["self_attention"] == pytest.approx(7 * TINY.attention(2, 16))


RIGHT = {"loss": np.array(0.5), "gradient 0": np.ones((2, 3))}


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"loss": np.array(0.51)}, "loss"),
        ({"gradient 0": np.full((2, 3), 1.001)}, "gradient 0"),
        ({"gradient 0": np.full((2, 3), np.nan)}, "gradient 0"),
        ({"gradient 0": np.ones((3, 2))}, "gradient 0"),
        ({"gradient 1": np.ones(1)}, "the number of gradients"),
    ],
)
def test_wrong_results_are_refused(wrong: Any, what: str) -> None:
    found = apart(RIGHT, RIGHT | wrong)
    assert found[1] == what
    (complaint,) = gpt2.wrong({"torch": found})
    assert complaint.startswith(f"torch: {what} ")
    assert gpt2.wrong({"torch": apart(RIGHT, RIGHT)}) == []


@pytest.mark.parametrize("what", ["gradients", "losses"])
def test_nothing_is_timed_where_results_differ(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(gpt2_works.Ours):
        def results(self, x: Any, labels: Any) -> Any:
            return super().results(x, (labels + 1) % 11 if what == "gradients" else labels)

        def step(self, x: Any, labels: Any) -> float:
            return super().step(x, labels) * (1.001 if what == "losses" else 1)

    monkeypatch.setitem(gpt2_works.CONTESTANTS, "torch", lambda size, folder: Other(size, folder))
    found = gpt2.measure_step(replace(TINY, vocab_size=11), 16, 1, ["torch"])
    assert found["times"] == {}
    assert gpt2.wrong(found["apart"])


def test_all_take_turns() -> None:
    ran: list[str] = []
    times = gpt2.takes_turns({"a": lambda: ran.append("a"), "b": lambda: ran.append("b")}, 2)
    assert ran == ["a", "b"] * 3
    assert [len(found) for found in times.values()] == [2, 2]


def _found(**times: list[float]) -> dict[str, Any]:
    return {
        "times": times,
        "limit": {"products": 1.0, "AdamW": 0.5},
        "rates": {"flops": 1e9, "copied": 1e9},
        "read": 4e9,
    }


def test_the_faster_peer_is_the_peer(capsys: pytest.CaptureFixture[str]) -> None:
    report = gpt2.Report(judged=True)
    gpt2.show_step(report, 64, [_found(typednn=[2.0, 1.0, 3.0], torch=[9.0], compiled=[4.0, 5.0, 2.0])])
    row, _, limit, _ = capsys.readouterr().out.splitlines()
    assert row.split()[-4:] == ["0.500", "0.500", "0.55", "pass"]
    assert limit.split()[-4:] == ["1.333", "0.667", "1.35", "pass"]
    assert report.missed == 0
    gpt2.show_step(report, 64, [_found(typednn=[2.0, 1.2, 3.0], torch=[4.0, 2.0, 5.0])])
    row, _, limit, _ = capsys.readouterr().out.splitlines()
    assert row.split()[-1] == "half"
    assert report.missed == 1


def test_generation_and_memory_are_judged(capsys: pytest.CaptureFixture[str]) -> None:
    report, size = gpt2.Report(judged=True), replace(TINY, vocab_size=11)
    gpt2.show_text(report, size, 8, [_found(typednn=[1.0], torch=[1.25], bfloat16=[0.625], int8=[0.41])])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[-4:] == ["1.250", "1.250", "1.25", "pass"]
    assert lines[2].split()[-4:] == ["1.600", "1.600", "1.60", "pass"]
    assert lines[3].split()[-4:] == ["2.439", "2.439", "2.50", "FAIL"]
    assert report.missed == 2  # the rate of reading too
    report.missed = 1
    gpt2.show_memory(report, 64, {"typednn": 91, "torch": 100})
    assert capsys.readouterr().out.split()[-3:] == ["0.910", "0.90", "FAIL"]
    gpt2.show_memory(report, 64, {"typednn": 90, "torch": 100})
    assert report.missed == 2
    capsys.readouterr()
    gpt2.show_memory(report, 256, {"typednn": 90e6, "typednn-checkpointing": 75e6, "torch": 100e6})
    plain, judged = capsys.readouterr().out.splitlines()
    assert plain.split()[-2:] == ["90", "MB"]
    assert judged.split()[5:] == ["checkpointing", "75", "MB,", "torch", "100", "MB", "0.750", "0.75", "pass"]


def test_rates_are_measured() -> None:
    assert all(seconds > 0 for seconds in product_seconds(3, 4, 5, 1))
    assert reading(2**10, 1) > 0


def test_loss_of_fewer_bits() -> None:
    """Bytes that follow from those before them are learnt; 16 and 8 bits change the loss a little."""
    found = gpt2.losses_on(b"abcdefgh" * 200, steps=30)
    assert list(found) == ["float32", "bfloat16", "int8"]
    assert found["float32"] < 3.0  # of ln 256 = 5.5
    assert 0 < abs(found["bfloat16"] - found["float32"]) < 0.1
    assert 0 < abs(found["int8"] - found["float32"]) < 0.1
