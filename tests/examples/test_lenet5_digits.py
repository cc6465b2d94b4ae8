"""The demo as a user starts it: in a process of its own."""

import os
import re
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from examples import lenet5_digits

REPOSITORY = Path(__file__).resolve().parents[2]


def _environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "TYPEDNN_DATA"}
    return {**kept, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **changes}


def _demo(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "examples.lenet5_digits", *arguments]
    variables = _environment(**environment)
    return subprocess.run(
        command, cwd=REPOSITORY, env=variables, capture_output=True, text=True, check=False, timeout=300
    )


def test_digits_from_start_to_report() -> None:
    """P-M1, P-E2: data named, model shown, an epoch told, the report printed."""
    pytest.importorskip("sklearn")
    done = _demo("--data", "digits", "--epochs", "1", "--limit", "500")
    assert done.returncode == 0, done.stderr
    assert "Data: scikit-learn's bundled digits, 8x8 pixels, resized to 28x28\n" in done.stdout
    assert "500 images to train on, once; 359 others to test" in done.stdout
    assert "61,706 parameters" in done.stdout
    assert re.search(r"^epoch 1/1  train loss \d\.\d{4}  \d+\.\d s$", done.stderr, re.MULTILINE)
    assert "class  precision  recall     f1  support" in done.stdout
    assert re.search(r"^true( +\d){10}$", done.stdout, re.MULTILINE)
    assert re.search(r"^\d+ seconds in all$", done.stdout, re.MULTILINE)
    accuracy = re.search(r"^accuracy (\d+\.\d+)% ", done.stdout, re.MULTILINE)
    assert accuracy
    assert float(accuracy[1]) > 20.0, "one short epoch should beat guessing"


def test_what_the_demo_promises() -> None:
    """P-E2: as it is started by `make demo` without MNIST: at least 97 % of images never seen."""
    pytest.importorskip("sklearn")
    done = _demo("--data", "digits")
    assert done.returncode == 0, done.stderr
    assert "1,438 images to train on, 15 times over; 359 others to test" in done.stdout
    accuracy = re.search(r"^accuracy (\d+\.\d+)% ", done.stdout, re.MULTILINE)
    assert accuracy
    assert float(accuracy[1]) >= 97.0


def test_mnist_where_it_is(tmp_path: Path) -> None:
    """P-E1: found by TYPEDNN_DATA, without an argument; here forty images in its format."""
    for name, count in (("train", 30), ("t10k", 10)):
        images = (
            struct.pack(">HBB3I", 0, 8, 3, count, 28, 28) + (np.arange(count * 784) % 251).astype(np.uint8).tobytes()
        )
        (tmp_path / f"{name}-images-idx3-ubyte").write_bytes(images)
        (tmp_path / f"{name}-labels-idx1-ubyte").write_bytes(
            struct.pack(">HBBI", 0, 8, 1, count) + bytes(i % 10 for i in range(count))
        )
    done = _demo("--epochs", "1", TYPEDNN_DATA=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert f"Data: MNIST from {tmp_path}" in done.stdout
    assert "30 images to train on, once; 10 others to test" in done.stdout


def test_damaged_mnist_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(b"not what it says")
    done = _demo(TYPEDNN_DATA=str(tmp_path))
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "train-labels-idx1-ubyte.gz" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epochs", "0"], "argument --epochs: expected a whole number, at least 1, got '0'"),
        (["--limit", "many"], "argument --limit: expected a whole number, at least 1, got 'many'"),
        (["--seed", "-1"], "argument --seed: expected a whole number, at least 0, got '-1'"),
        (["--data", "cifar"], "argument --data: invalid choice: 'cifar'"),
        (["more"], "unrecognized arguments: more"),
    ],
)
def test_wrong_arguments(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        lenet5_digits.main(arguments)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_mnist_wanted_but_not_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(lenet5_digits, "find_mnist", lambda: None)
    assert lenet5_digits.main(["--data", "mnist"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "set TYPEDNN_DATA" in err
    assert len(err.splitlines()) == 1


def test_the_smaller_set_is_announced(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.setattr(lenet5_digits, "find_mnist", lambda: None)
    assert lenet5_digits.main(["--epochs", "1", "--limit", "20"]) == 0
    out = capsys.readouterr().out
    assert "MNIST not found" in out
    assert "resized to 28x28" in out


def test_without_scikit_learn(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "sklearn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert lenet5_digits.main(["--data", "digits"]) == 1
    assert "pip install 'typednn[demo]'" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT for one process there")
def test_ctrl_c_leaves_with_one_line() -> None:
    pytest.importorskip("sklearn")
    command = [sys.executable, "-m", "examples.lenet5_digits", "--data", "digits", "--epochs", "1000"]
    with subprocess.Popen(
        command, cwd=REPOSITORY, env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as demo:
        assert demo.stdout is not None
        while not (line := demo.stdout.readline()).endswith("parameters\n"):
            assert line, "ended before training began"
        time.sleep(0.3)
        demo.send_signal(signal.SIGINT)
        _, err = demo.communicate(timeout=60)
    assert demo.returncode == 130
    assert "Traceback" not in err
    assert err.splitlines()[-1] == "stopped before the end; nothing was saved"
