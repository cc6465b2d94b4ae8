"""MLflow and Weights & Biases: what they keep is read back by MLflow's client and from wandb's own offline file."""

import contextlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import REPOSITORY, environment, run_command
from typednn import Input
from typednn.data import Loader
from typednn.errors import ArgumentError, MissingExtra
from typednn.layers import Linear, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import Adam
from typednn.training import Callback, History, MLflow, Step, TrackerWarning, WandB, fit

pytestmark = pytest.mark.usefixtures("on_the_reference")

X = np.random.default_rng(0).standard_normal((200, 4), dtype=np.float32)
Y = (X[:, 0] > X[:, 1]).astype(np.int64)


def trained(*callbacks: Callback, epochs: int = 3, **arguments: Any) -> tuple[Any, History]:
    """60 steps, and the model, whose bits tell whether a tracker changed anything."""
    rng = np.random.default_rng(1)
    model = (Input(4) >> Linear(4, 8) >> ReLU() >> Linear(8, 2)).init(rng)
    loader = Loader(X[:160], Y[:160], batch_size=8, rng=rng)
    given: dict[str, Any] = {"validation": (X[160:], Y[160:]), "progress": False, **arguments}
    history = fit(model, SoftmaxCrossEntropy(), Adam(0.02), loader, epochs=epochs, callbacks=callbacks, **given)
    return model, history


def same_bits(one: Any, other: Any) -> bool:
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(a.tobytes() == b.tobytes() for a, b in pairs)


class StopsAt(Callback):
    """Does something in a step."""

    def __init__(self, step: int, act: Any) -> None:
        self.step, self.act = step, act

    def on_step(self, step: Step) -> str | None:
        if step.step == self.step:
            self.act()
        return None


def broken() -> None:
    raise RuntimeError("the machine is on fire")


def interrupted_again() -> None:
    raise KeyboardInterrupt  # as by a second signal


def interrupted() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def recorded(run: Path) -> dict[str, list[tuple[int, float]]]:
    """What ``metrics.jsonl`` says, by the names that trackers use, at the steps that they keep."""
    found: dict[str, list[tuple[int, float]]] = {}
    for line in map(json.loads, (run / "metrics.jsonl").read_text().splitlines()):
        if line["kind"] == "evaluation":
            numbers = {f"{line['split']}/{name}": line[name] for name in ("loss", "accuracy")}
        elif line["step"] % 10 == 0 or "gradient_norms" in line:
            norms = {f"gradient_norms/{layer}": norm for layer, norm in line.get("gradient_norms", {}).items()}
            numbers = {"train/loss": line["loss"], "train/lr": line["lr"], **norms}
        else:
            continue
        for name, value in numbers.items():
            found.setdefault(name, []).append((line["step"], value))
    return found


# --- hooks -----------------------------------------------------------------------------------------------------------


class Heard(Callback):
    """What was called, in order."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def on_start(self, settings: dict[str, Any], folder: Path | None) -> None:
        self.calls.append((settings, folder))

    def on_end(self, history: History) -> None:
        self.calls.append("end")

    def on_exception(self, exception: BaseException) -> None:
        self.calls.append(type(exception))


def test_start_and_end_are_told_once(tmp_path: Path) -> None:
    heard, failed, resumed = Heard(), Heard(), Heard()
    trained(heard)
    settings, folder = heard.calls[0]
    expected = {"epochs": 3, "accumulate": 1, "batch_size": 8, "loss": "SoftmaxCrossEntropy", "optimizer.lr": 0.02}
    assert folder is None
    assert {**settings, **expected} == settings
    assert settings["layer.0"] == "Linear(in_features=4, out_features=8)"
    assert heard.calls[1:] == ["end"]
    with pytest.raises(RuntimeError, match="on fire"):
        trained(failed, StopsAt(25, broken), run=tmp_path / "run")
    assert failed.calls == [(settings, tmp_path / "run"), RuntimeError]
    trained(resumed, run=tmp_path / "run")
    assert resumed.calls == [(settings, tmp_path / "run"), "end"]


# --- MLflow ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store without runs: to make its tables takes seconds."""
    tracking: Any = pytest.importorskip("mlflow.tracking", reason="needs the extra typednn[mlflow]")
    folder = tmp_path_factory.mktemp("store")
    with contextlib.chdir(folder):  # where artifacts of its first experiment go
        tracking.MlflowClient(f"sqlite:///{folder / 'mlflow.db'}").search_experiments()
    return folder / "mlflow.db"


@pytest.fixture
def client(empty_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """MLflow's client for a store of this test's, which is MLflow's default here."""
    tracking: Any = pytest.importorskip("mlflow.tracking")
    shutil.copy(empty_store, tmp_path / "mlflow.db")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    return tracking.MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}")


def series(client: Any, run_id: str) -> dict[str, list[tuple[int, float]]]:
    names = client.get_run(run_id).data.metrics
    return {name: [(point.step, point.value) for point in client.get_metric_history(run_id, name)] for name in names}


def test_mlflow_keeps_settings_numbers_and_config(client: Any, tmp_path: Path) -> None:
    tracker = MLflow("digits", tags={"why": "a test"})
    trained(tracker, run=tmp_path / "mine")
    (run,) = client.search_runs([client.get_experiment_by_name("digits").experiment_id])
    assert run.info.run_id == tracker.run_id
    assert (run.info.status, run.info.run_name) == ("FINISHED", "mine")
    params = run.data.params
    assert {name: params[name] for name in ("optimizer.type", "optimizer.lr", "batch_size", "epochs", "loss")} == {
        "optimizer.type": "Adam",
        "optimizer.lr": "0.02",
        "batch_size": "8",
        "epochs": "3",
        "loss": "SoftmaxCrossEntropy",
    }
    assert run.data.tags["why"] == "a test"
    assert run.data.tags["typednn.run"] == str(tmp_path / "mine")
    assert series(client, run.info.run_id) == recorded(tmp_path / "mine")
    (artifact,) = client.list_artifacts(run.info.run_id)
    kept = Path(client.download_artifacts(run.info.run_id, artifact.path))
    assert kept.read_bytes() == (tmp_path / "mine" / "config.toml").read_bytes()


def test_mlflow_without_a_run_and_by_its_own_settings(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "from the environment")
    trained(MLflow(run_name="named"))
    (run,) = client.search_runs([client.get_experiment_by_name("from the environment").experiment_id])
    assert run.info.run_name == "named"
    assert [step for step, _ in series(client, run.info.run_id)["train/loss"]] == [1, 10, 20, 30, 40, 50, 60]
    assert client.list_artifacts(run.info.run_id) == []


@pytest.mark.parametrize(
    ("act", "error", "status"), [(broken, RuntimeError, "FAILED"), (interrupted, KeyboardInterrupt, "KILLED")]
)
def test_mlflow_resumed_is_one_clean_series(
    client: Any, tmp_path: Path, act: Any, error: type[BaseException], status: str
) -> None:
    """Steps behind the checkpoint are measured twice, and kept once."""
    first = MLflow()
    with pytest.raises(error):
        trained(first, StopsAt(35, act), run=tmp_path / "run", checkpoint_every=20)
    assert client.get_run(first.run_id).info.status == status
    assert series(client, str(first.run_id))["train/loss"][-1][0] == 30
    again = MLflow()
    model, _ = trained(again, run=tmp_path / "run", checkpoint_every=20)
    assert again.run_id == first.run_id
    assert client.get_run(first.run_id).info.status == "FINISHED"
    assert series(client, str(first.run_id)) == recorded(tmp_path / "run")
    assert same_bits(model, trained()[0])


@pytest.mark.filterwarnings("ignore:.*number of threads")  # one there, and here as many as there are
def test_what_a_checkpoint_holds_is_in_mlflow_before_it(client: Any, tmp_path: Path) -> None:
    """A process that ends at once, as by a power cut, leaves nothing out that is behind the checkpoint."""
    program = (
        "from tests.training.test_trackers import *\n"
        "trained(MLflow(), StopsAt(18, lambda: os._exit(9)), run='run', checkpoint_every=12)"
    )
    changed = {"PYTHONPATH": str(REPOSITORY), "TYPEDNN_ENGINE": "reference"}
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment(**changed), check=False)
    assert done.returncode == 9
    (run,) = client.search_runs(["0"])
    assert run.info.status == "RUNNING"
    assert [step for step, _ in series(client, run.info.run_id)["train/loss"]] == [1, 10]
    trained(MLflow(), run=tmp_path / "run", checkpoint_every=12)
    assert client.get_run(run.info.run_id).info.status == "FINISHED"
    assert series(client, run.info.run_id) == recorded(tmp_path / "run")


def test_many_settings_and_numbers_are_sent_in_parts(client: Any) -> None:
    """MLflow takes 100 settings and 1,000 numbers at once, and 6,000 characters of a value."""
    tracker = MLflow()
    tracker.on_start({**{f"setting{place}": place for place in range(250)}, "long": "x" * 7000}, None)
    for step in range(1, 4):
        tracker.record({f"number{place}": float(place) for place in range(700)}, step)
    tracker.on_end(History(()))
    run = client.get_run(tracker.run_id)
    assert len(run.data.params) == 251
    assert run.data.params["long"] == "x" * 6000
    assert len(run.data.metrics) == 700
    assert series(client, str(tracker.run_id))["number699"] == [(step, 699.0) for step in (1, 2, 3)]


# --- Weights & Biases ------------------------------------------------------------------------------------------------


def offline_records(folder: Path) -> list[Any]:
    """Every record of the only offline run in ``folder``, once its last is there: wandb writes behind our back."""
    for _ in range(100):
        found = records_in(next(folder.glob("wandb/offline-run-*/run-*.wandb")).read_bytes())
        if found and found[-1].WhichOneof("record_type") == "exit":
            return found
        time.sleep(0.1)
    raise AssertionError("the run was never finished")


def records_in(content: bytes) -> list[Any]:
    """The records of a file in LevelDB's log format, in which wandb writes offline.

    A header of 7 bytes, then blocks of 32 KiB, of fragments: CRC-32 (4 bytes), length (2), kind (1: whole, 2: first,
    3: middle, 4: last), content.
    """
    messages: Any = pytest.importorskip("wandb.proto.wandb_internal_pb2")
    at, part = 7, b""
    found: list[Any] = []
    while at + 7 <= len(content):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        _, length, kind = struct.unpack_from("<IHB", content, at)
        part = content[at + 7 : at + 7 + length] if kind in (1, 2) else part + content[at + 7 : at + 7 + length]
        if kind in (1, 4):
            found.append(messages.Record.FromString(part))
        at += 7 + length
    return found


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, in which wandb writes, quietly."""
    pytest.importorskip("wandb", reason="needs the extra typednn[wandb]")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    return tmp_path


def test_wandb_keeps_settings_and_numbers(offline: Path) -> None:
    tracker = WandB("digits", dir=offline, tags=["a"], config={"mine": 7})
    model, _ = trained(tracker, run=offline / "mine")
    records = offline_records(offline)
    (run,) = (record.run for record in records if record.WhichOneof("record_type") == "run")
    assert (run.project, run.display_name, run.run_id, [*run.tags]) == ("digits", "mine", tracker.run_id, ["a"])
    configs = [run.config, *(record.config for record in records if record.WhichOneof("record_type") == "config")]
    config = {item.key or item.nested_key[0]: json.loads(item.value_json) for each in configs for item in each.update}
    assert (config["optimizer.lr"], config["batch_size"], config["mine"]) == (0.02, 8, 7)
    found: dict[str, list[tuple[int, float]]] = {}
    for record in records:
        if record.WhichOneof("record_type") == "history":
            items = {item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
            for name, value in items.items():
                if not name.startswith("_"):
                    found.setdefault(name, []).append((items["_step"], value))
    assert found == recorded(offline / "mine")
    assert [record.exit.exit_code for record in records if record.WhichOneof("record_type") == "exit"] == [0]
    assert same_bits(model, trained()[0])


@pytest.mark.parametrize(
    ("act", "error", "code"),
    [(broken, RuntimeError, 1), (interrupted, KeyboardInterrupt, 130), (interrupted_again, KeyboardInterrupt, 130)],
)
def test_wandb_is_told_how_it_ended(offline: Path, act: Any, error: type[BaseException], code: int) -> None:
    with pytest.raises(error):
        trained(WandB("digits", dir=offline), StopsAt(12, act))
    records = offline_records(offline)
    assert [record.exit.exit_code for record in records if record.WhichOneof("record_type") == "exit"] == [code]


def test_wandb_resumed_keeps_its_identifier(offline: Path) -> None:
    first, again = WandB("digits", dir=offline), WandB("digits", dir=offline)
    with pytest.raises(RuntimeError):
        trained(first, StopsAt(35, broken), run=offline / "run", checkpoint_every=20)
    trained(again, run=offline / "run", checkpoint_every=20)
    assert again.run_id == first.run_id is not None


# --- what goes wrong -------------------------------------------------------------------------------------------------


def test_a_tracker_that_never_works_changes_nothing(client: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    expected = "MLflow: keeps what the training measures, got .*; training goes on without"
    with pytest.warns(TrackerWarning, match=expected) as caught:
        model, history = trained(MLflow(tracking_uri=f"sqlite:///{tmp_path}/file/mlflow.db"), run=tmp_path / "run")
    assert len([each for each in caught if each.category is TrackerWarning]) == 1
    assert history.steps == 60
    assert same_bits(model, trained()[0])


@pytest.mark.parametrize("kind", ["mlflow", "wandb"])
def test_a_tracker_that_breaks_off_changes_nothing(
    kind: str, client: Any, offline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker: Any = MLflow() if kind == "mlflow" else WandB("digits", dir=offline)

    def full(*_: Any, **__: Any) -> None:
        raise OSError("disk\nfull")

    def breaks() -> None:
        monkeypatch.setattr(
            tracker._client if kind == "mlflow" else tracker._run, "log_batch" if kind == "mlflow" else "log", full
        )

    with pytest.warns(TrackerWarning, match="got OSError: disk full; training goes on without") as caught:
        model, _ = trained(StopsAt(12, breaks), tracker)
    assert len([each for each in caught if each.category is TrackerWarning]) == 1
    assert same_bits(model, trained()[0])
    if kind == "wandb":
        tracker._run.finish()


@pytest.mark.parametrize(("make", "package"), [(MLflow, "mlflow"), (WandB, "wandb")])
def test_without_the_extra(make: Any, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"needs the package {package}, .* pip install 'typednn\[{package}\]'"):
        make()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: MLflow(3), "MLflow: experiment_name is a text that is not empty, got 3"),  # type: ignore[arg-type]
        (lambda: MLflow(run_name=""), "MLflow: run_name is a text that is not empty, got ''"),
        (lambda: MLflow(tracking_uri=Path("x")), "MLflow: tracking_uri is a text"),  # type: ignore[arg-type]
        (lambda: WandB(["a"]), "WandB: project is a text"),  # type: ignore[arg-type]
        (lambda: WandB(name=1), "WandB: name is a text"),  # type: ignore[arg-type]
    ],
)
def test_wrong_arguments(make: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        make()


def test_nothing_optional_is_loaded() -> None:
    program = "import sys, typednn.training.trackers; raise SystemExit(bool({'mlflow', 'wandb'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-W", "error", "-c", program], check=False).returncode == 0


def test_the_command(client: Any, tmp_path: Path) -> None:
    digits = ["train", "mlp", "--data", "digits", "--epochs", "1", "--set", "least_steps=0", "-q", "--track"]
    done = subprocess.run(
        [sys.executable, "-m", "typednn", *digits, "mlflow"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (run,) = client.search_runs(["0"])
    assert (run.info.status, run.info.run_name, run.data.params["data.name"]) == ("FINISHED", "mlp-1", "digits")
    assert series(client, run.info.run_id) == recorded(tmp_path / "runs" / "mlp-1")
    wrong = run_command("train", "mlp", "--track", "neptune", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "invalid choice: 'neptune' (choose from 'mlflow', 'wandb')" in wrong.stderr
