"""What PyTorch's exporters write, and what ONNX Runtime makes of our own files."""

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.exchange.test_onnx_export import MODELS, inputs_of
from tests.layer_cases import CASES, LayerCase
from typednn.engines import using
from typednn.errors import ArgumentError
from typednn.exchange import export_onnx, import_onnx
from typednn.exchange.onnx import writer

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")
onnxruntime = pytest.importorskip("onnxruntime")

from tests.parity.onnx_nets import GOLDEN, NETS, net_of  # noqa: E402  # after the skip

# What the exporter of the TorchScript refuses, or writes as another function.
NOT_IN_THE_OLD = {"rms norm", "threshold", "softplus beta", "encoder layer", "encoder layer time first"}


def check(path: Path, x: Any, expected: Any) -> Any:
    """The model of a file gives PyTorch's numbers, and has derivatives."""
    with using("reference"):
        model: Any = import_onnx(path).eval()
        fits = x.ndim < 4 and model.sample.sizes == x.shape[1:]
        # images and sequences are channels last here
        given = x if fits else np.ascontiguousarray(np.moveaxis(x, 1, -1))
        found = model.forward(given)
        layouts = [found, np.moveaxis(found, -1, min(1, found.ndim - 1))]
        apart = [np.abs(each - expected).max() for each in layouts if each.shape == expected.shape]
        assert min(apart) <= 1e-5 * max(1.0, np.abs(expected).max())
        gradient = model.train().backward(np.ones_like(model.forward(given)))
        assert all(np.isfinite(each).all() for each in gradient.leaves().values())
    return model


@pytest.mark.parametrize("name", sorted(set(NETS) - NOT_IN_THE_OLD))
def test_the_exporter_of_torchscript(name: str, tmp_path: Path) -> None:
    net, x = net_of(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            net,
            (x,),
            str(tmp_path / "m.onnx"),
            dynamo=False,
            opset_version=20,
            input_names=["x"],
            dynamic_axes={"x": {0: "batch"}},
        )
    with torch.no_grad():
        check(tmp_path / "m.onnx", x.numpy(), net(x).numpy())


STORED = sorted({key.rpartition("/")[0] for key in np.load(GOLDEN)})


@pytest.mark.parametrize("name", STORED)
def test_the_default_exporter(name: str, tmp_path: Path) -> None:
    """Files of ``torch.onnx.export(…, dynamo=True)``, which tests/parity/onnx_nets.py wrote."""
    with np.load(GOLDEN) as stored:
        (tmp_path / "m.onnx").write_bytes(stored[f"{name}/file"].tobytes())
        check(tmp_path / "m.onnx", stored[f"{name}/x"], stored[f"{name}/y"])


def test_the_default_exporter_wrote_most() -> None:
    assert len(set(NETS) & set(STORED)) >= 0.8 * len(NETS)


# ------------------------------------------------------------------ our own files


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_layer_runs(case: LayerCase, dtype: Any, tmp_path: Path) -> None:
    """ONNX Runtime opens the file itself, of both dtypes, and gives the layer's numbers; they come back."""
    subject = case.subject()
    model: Any = subject.ready().eval().astype(dtype)
    arrays = [each.astype(dtype) if each is not None and each.dtype.kind == "f" else each for each in subject.arrays()]
    with using("reference"):
        path = export_onnx(model, tmp_path / "m.onnx", arrays)
        given = [each for each in arrays if each is not None]
        feeds = dict(
            zip(["x"] if len(given) == 1 else [f"x{place}" for place in range(len(given))], given, strict=True)
        )
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        found, expected = session.run(None, feeds)[0], model.forward(*arrays)
        assert found.dtype == expected.dtype
        assert np.abs(found - expected).max() <= 1e-5 * max(1.0, np.abs(expected).max())
        again: Any = import_onnx(path).eval()
        tolerance = 1e-5 if dtype == np.float32 else 1e-12  # what the file computes in float32 is float64 again
        assert np.abs(again.forward(*given) - expected).max() <= tolerance * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("name", ["LeNet5", "lstm", "unet", "mlp"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_models_come_back(name: str, dtype: Any, tmp_path: Path) -> None:
    with using("reference"):
        model: Any = MODELS[name]().eval().astype(dtype)
        x = inputs_of(model, 3)
        x = x.astype(dtype) if x.dtype.kind == "f" else x
        again: Any = import_onnx(export_onnx(model, tmp_path / "m.onnx")).eval()
        assert np.abs(again.forward(x) - model.forward(x)).max() <= 1e-5


def test_operators_that_are_single_are_so(tmp_path: Path) -> None:
    """Without the casts ONNX Runtime refuses each layer of float64 that needs them, and so does the export."""
    refused: set[str] = set()
    for case in CASES:
        subject = case.subject()
        model: Any = subject.ready().eval().astype(np.float64)
        arrays = [
            each.astype(np.float64) if each is not None and each.dtype.kind == "f" else each
            for each in subject.arrays()
        ]
        with using("reference"):
            path = export_onnx(model, tmp_path / "m.onnx", arrays)
            kinds = {node.op_type for node in onnx.load(str(path)).graph.node} & set(writer.SINGLE)
            if not kinds or kinds <= refused:
                continue
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(writer, "SINGLE", {})
                with pytest.raises(ArgumentError, match="must give the model's own numbers"):
                    export_onnx(model, tmp_path / "n.onnx", arrays)
            refused |= kinds
    assert refused == set(writer.SINGLE)


def test_the_golden_file_tells_nothing_of_a_machine() -> None:
    with np.load(GOLDEN) as stored:
        content = b"".join(stored[key].tobytes() for key in stored if key.endswith("/file"))
    assert not any(word in content for word in (b"/home", b"/tmp", b"/work", b".py"))


def test_nothing_is_written_at_home(tmp_path: Path) -> None:
    """ONNX Runtime would keep an id of the device and a database of events there: the comparison of an export switches
    that off.
    """
    lines = "import sys", "import numpy as np", "from typednn import Input", "from typednn.layers import Linear"
    export = (
        "from typednn.exchange import export_onnx",
        "export_onnx((Input(3) >> Linear(3, 2)).init(np.random.default_rng(0)), 'm.onnx')",
    )
    code = "\n".join([*lines, *export, "assert 'onnxruntime' in sys.modules"])
    home, place = tmp_path / "home", tmp_path / "place"
    home.mkdir()
    place.mkdir()
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "XDG_"))}
    folder = Path(__file__).resolve().parents[2]
    variables |= {"HOME": str(home), "PYTHONPATH": str(folder), "TYPEDNN_ENGINE": "reference"}
    subprocess.run([sys.executable, "-c", code], cwd=place, env=variables, check=True)
    assert [*home.rglob("*")] == []
