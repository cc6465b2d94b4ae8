"""Benchmarks on a machine that lacks data, libraries or compilers: a line says what is left out, and they go on."""

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

import benchmarks.__main__ as every
import typednn.data.named as named
from benchmarks import absent, first_results, kernels, shakespeare

LINE = (
    r"^  {} is left out: http://127\.0\.0\.1:9/{}/\S+: must be reachable, got .+; is there a network\? .*TYPEDNN_DATA"
)


@pytest.fixture(autouse=True)
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data set on this machine, and no network."""
    monkeypatch.delenv("TYPEDNN_DATA", raising=False)
    monkeypatch.setenv("TYPEDNN_MIRROR", "http://127.0.0.1:9")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(named, "__file__", str(tmp_path / "a" / "b" / "c.py"))


def line(told: str) -> str:
    """The one that says what is left out."""
    (found,) = (each for each in told.splitlines() if "is left out" in each)
    return found


def matches(told: str, row: str, data: str) -> bool:
    """Whether it is of that row, and says why and what to do."""
    return re.match(LINE.format(row, data), line(told)) is not None


def test_shakespeare_without_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert shakespeare.main([]) == 0
    assert matches(capsys.readouterr().out, "shakespeare", "tinyshakespeare")


def test_kernels_without_mnist(capsys: pytest.CaptureFixture[str]) -> None:
    """The tables are printed all the same."""
    assert kernels.main(["--rows", "epoch"]) == 0
    told = capsys.readouterr().out
    assert matches(told, kernels.TITLES["epoch"], "mnist")
    assert told.index("is left out") < told.index("0 of 0 goals held")


def test_first_results_without_shakespeare(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The set behind it is still compared."""
    result = {"typednn": [first_results.Result(0.5, 1.0, 1.0)]}
    compared: list[str] = []

    def compare(name: str, *_: object) -> dict[str, list[first_results.Result]]:
        compared.append(name)
        return result

    monkeypatch.setattr(first_results, "compare", compare)
    assert first_results.main(["--sets", "speeches", "houses"]) == 0
    told = capsys.readouterr().out
    assert matches(told, "speeches", "tinyshakespeare")
    assert compared == ["houses"]
    assert told.index("is left out") < told.index("  houses ")


def test_data_are_downloaded(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(address: str, destination: Path, **_: Any) -> None:
        destination.parent.mkdir(parents=True, exist_ok=True)
        destination.write_text(address, encoding="utf-8")

    monkeypatch.setattr("typednn.data.download.fetch", fetch)
    folder = absent.data_of("row", "tinyshakespeare")
    assert folder is not None
    assert (folder / "input.txt").read_text(encoding="utf-8") == "http://127.0.0.1:9/tinyshakespeare/input.txt"
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("name", "needs"),
    [
        ("layers", "torch, got no such package; `make bench` installs it"),
        ("from_c", "onnxruntime and onnx, got no such packages; `make bench` installs them"),
        ("serving", "starlette and uvicorn, got no such packages; `make bench` installs them"),
        ("parallel", "mpi4py, got no such package; `make bench` installs it"),
        ("first_results", "sklearn and PIL, got no such packages; `make bench` installs them"),
    ],
)
def test_a_program_without_libraries(
    name: str, needs: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(absent, "find_spec", lambda _: None)
    monkeypatch.setattr(absent, "which", lambda command: command)
    assert every.run(name, ["--only", "gelu"] if name == "layers" else []) == 0
    row = "layers (gelu)" if name == "layers" else name
    assert capsys.readouterr().out == f"  {row} is left out: needs {needs}\n"


def test_a_program_without_a_compiler(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(absent, "which", lambda _: None)
    monkeypatch.setattr(absent, "find_spec", lambda name: name)
    assert every.run("from_c", []) == 0
    assert shakespeare.contestants() == ["typednn", "torch"]
    rest = "is left out: needs a compiler called {}, got none; install one, such as GCC"
    assert capsys.readouterr().out.splitlines() == [
        f"  from_c {rest.format('cc')}",
        f"  torch-compiled {rest.format('g++')}",
    ]


def test_one_that_fails_does_not_end_the_others(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def run(name: str, options: object) -> int:
        ran.append(name)
        if name == "lenet5":
            raise SystemExit("torch failed")
        if name == "graph":
            raise OSError("no such thing")
        return 0

    monkeypatch.setattr(every, "run", run)
    assert every.main([]) == 1
    assert ran == list(every.ALL)
    told = capsys.readouterr().err
    assert "benchmarks.lenet5: torch failed\n" in told
    assert "OSError: no such thing\n" in told
    monkeypatch.setattr(every, "run", lambda name, options: 0)
    assert every.main([]) == 0
    with pytest.raises(SystemExit, match="no benchmark 'lenet'; there are checks, "):
        every.main(["lenet"])


def test_every_name_is_a_program() -> None:
    for name in every.ALL:
        assert callable(importlib.import_module(f"benchmarks.{name}").main)
