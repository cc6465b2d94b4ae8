"""State dictionaries of PyTorch: models of PyTorch's own give the same outputs here with their weights,
and ours there.
"""

import pickle  # noqa: TID251  # to write what must be refused
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from tests.layer_cases import CASES, LayerCase
from typednn import Input, Sequential
from typednn.engines import using
from typednn.errors import ArgumentError, DataError, MissingExtra, StateDictError, TypednnError
from typednn.exchange import export_torch, load, load_torch
from typednn.layers import (
    GRU,
    LSTM,
    RNN,
    BatchNorm1d,
    BatchNorm2d,
    Conv1d,
    Conv2d,
    ConvTranspose2d,
    Dropout,
    Embedding,
    Flatten,
    LastStep,
    LayerNorm,
    Linear,
    MultiHeadAttention,
    PReLU,
    ReLU,
    Reshape,
    Residual,
    Softmax,
    Tanh,
)
from typednn.models import LeNet5, resnet18

RNG = np.random.default_rng


@pytest.fixture(autouse=True)
def without_kernels() -> Iterator[None]:
    """Those of each size would be compiled."""
    with using("reference"):
        yield


def convolutions() -> Any:
    body = (
        Input(6, 5, 2)
        >> Conv2d(2, 4, 3, groups=2, bias=True)
        >> BatchNorm2d(4)
        >> ReLU()
        >> ConvTranspose2d(4, 3, 2)
        >> Flatten()
    )
    return body >> BatchNorm1d(60) >> PReLU() >> Dropout(0.2) >> Linear(60, 5) >> Tanh() >> Linear(5, 2)


def torch_convolutions(nn: Any) -> Any:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, groups=2), nn.BatchNorm2d(4), nn.ReLU(), nn.ConvTranspose2d(4, 3, 2), nn.Flatten(),
        nn.BatchNorm1d(60), nn.PReLU(), nn.Dropout(0.2), nn.Linear(60, 5), nn.Tanh(), nn.Linear(5, 2),
    )  # fmt: skip


def test_names_and_layouts(tmp_path: Path) -> None:
    """As PyTorch writes them: read with no library but safetensors."""
    model = convolutions().init(RNG(0))
    found = safetensors.numpy.load_file(str(export_torch(model, tmp_path / "m.safetensors")))
    assert np.array_equal(found["0.weight"], model[0].weight.transpose(0, 3, 1, 2))
    assert np.array_equal(found["3.weight"], model[3].weight.transpose(0, 3, 1, 2))
    assert found["6.weight"].shape == (1,)
    assert "7.seed" not in found
    # The first feature of the second channel is the second of the first pixel here, and behind the 20 pixels of the
    # first there.
    assert np.array_equal(found["8.weight"][:, 20], model[8].weight[:, 1])
    assert np.array_equal(found["5.running_mean"][20], model[5].running_mean[1])
    assert np.array_equal(found["10.weight"], model[10].weight)


@pytest.mark.parametrize("case", [case for case in CASES if case.stackable], ids=str)
def test_every_layer_comes_back(case: LayerCase, tmp_path: Path) -> None:
    """Written and read again: the same numbers, but a Dropout's seed, of which PyTorch has none."""
    subject = case.subject()
    x = subject.arrays()[0]
    model: Any = Sequential([subject.fresh().named("it")], input=Input(*x.shape[1:])).init(RNG(0))
    model.forward(np.concatenate([x, x + 1]))
    path = export_torch(model, tmp_path / "m.safetensors")
    fresh: Any = Sequential([subject.fresh().named("it")], input=Input(*x.shape[1:]))
    assert load_torch(path, fresh) is fresh
    for name, array in model.state_dict().items():
        assert np.array_equal(fresh.state_dict()[name], array) or name.endswith("seed"), name


def test_what_pytorch_has_not_stays(tmp_path: Path) -> None:
    """A seed of a model that has one; a model that was not initialised gets a new one."""
    model = convolutions().init(RNG(0))
    path = export_torch(model, tmp_path / "m.safetensors")
    other = convolutions().init(RNG(1))
    seed = other[7].seed.copy()
    load_torch(path, other)
    assert np.array_equal(other[7].seed, seed)
    load_torch(path, convolutions()).forward(RNG(2).standard_normal((3, 6, 5, 2), np.float32))


def test_hand_written_models(tmp_path: Path) -> None:
    """What is flattened is found in any forward."""
    model = LeNet5(rng=RNG(0))
    path = export_torch(model, tmp_path / "m.safetensors")
    found = safetensors.numpy.load_file(str(path))
    assert np.array_equal(found["fc1.weight"][:, 25], model.fc1.weight[:, 1])
    assert np.array_equal(load_torch(path, LeNet5()).fc1.weight, model.fc1.weight)


def test_floats_become_the_models(tmp_path: Path) -> None:
    model = (Input(4) >> Linear(4, 3)).init(RNG(0))
    path = export_torch(model, tmp_path / "m.safetensors")
    double = load_torch(path, (Input(4) >> Linear(4, 3)).astype(np.float64))
    assert double[0].weight.dtype == np.float64  # type: ignore[attr-defined]
    assert np.array_equal(double.parameters()[0], model.parameters()[0])


def test_shared_parameters_have_all_their_names(tmp_path: Path) -> None:
    def tied() -> Any:
        model = Input(4) >> Linear(4, 4, bias=False) >> Tanh() >> Linear(4, 4, bias=False)
        model[2].tie(model[0], weight="weight")
        return model

    path = export_torch(tied().init(RNG(0)), tmp_path / "m.safetensors")
    assert set(safetensors.numpy.load_file(str(path))) == {"0.weight", "2.weight"}
    assert np.array_equal(load_torch(path, tied())[2].weight, safetensors.numpy.load_file(str(path))["2.weight"])


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "an image of a row": (
        lambda: Input(4) >> Linear(4, 8) >> Reshape(2, 2, 2),
        'layer "1": a row that becomes an image has .*, got Reshape',
    ),
    "softmax": (
        lambda: Input(2, 2, 2) >> Flatten() >> Softmax(),
        'layer "1": what reads the features of a flattened image .*, got Softmax',
    ),
    "orders": (
        lambda: Input(2, 2, 2) >> Flatten() >> Residual(Linear(8, 8)),
        'layer "1": what reads the features of a flattened image .*, got numpy.add',
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_order_of_pytorchs_is_refused(name: str, tmp_path: Path) -> None:
    build, message = REFUSED[name]
    with pytest.raises(ArgumentError, match=f"export_torch, {message}"):
        export_torch(build().init(RNG(0)), tmp_path / "m.safetensors")
    assert list(tmp_path.iterdir()) == []


def test_mistakes(tmp_path: Path) -> None:
    """Nothing changes where anything is wrong."""
    path = export_torch(convolutions().init(RNG(0)), tmp_path / "m.safetensors")
    state = safetensors.numpy.load_file(str(path))
    model = convolutions().init(RNG(1))
    before = {name: array.copy() for name, array in model.state_dict().items()}
    wrong = {
        "missing '0.weight'": {name: array for name, array in state.items() if name != "0.weight"},
        "unexpected 'more'": state | {"more": np.zeros(1)},
        r"'0.weight' has shape \(4, 3, 3, 1\), and must have \(4, 1, 3, 3\)": state
        | {"0.weight": state["0.weight"].transpose(0, 2, 3, 1)},
        "'5.num_batches_tracked' is float32, the model int64": state
        | {"5.num_batches_tracked": np.zeros((), np.float32)},
    }
    for message, arrays in wrong.items():
        safetensors.numpy.save_file({name: np.array(array, order="C") for name, array in arrays.items()}, str(path))
        with pytest.raises(StateDictError, match=message):
            load_torch(path, model)
    assert all(np.array_equal(before[name], array) for name, array in model.state_dict().items())
    path.write_bytes(b"no tensors")
    with pytest.raises(DataError, match=r"m\.safetensors: must be a whole safetensors file"):
        load_torch(path, model)
    with pytest.raises(ArgumentError, match="load_torch: model is a model of typednn, got the class LeNet5; call it"):
        load_torch(path, LeNet5)  # type: ignore[type-var]
    with pytest.raises(ArgumentError, match="export_torch: model is a model of typednn, got str"):
        export_torch("model", path)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="needs the shape of a sample"):
        export_torch((Conv2d(1, 2, 2) >> Flatten() >> Linear(2, 2)).init(RNG(0)), path)


def test_without_pytorch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    for act in (
        lambda: export_torch((Input(1) >> Linear(1, 1)).init(RNG(0)), tmp_path / "m.pt"),
        lambda: load_torch(tmp_path / "m.pth", LeNet5()),
    ):
        with pytest.raises(
            MissingExtra,
            match="needs the package torch, got no module named 'torch'; pip install torch, or use safetensors",
        ):
            act()


# ------------------------------------------------------------------ against PyTorch itself


def stirred(torch: Any, peer: Any) -> Any:
    """Parameters and statistics that are not those of a beginning."""
    torch.manual_seed(0)
    with torch.no_grad():
        for array in [*peer.parameters(), *(each for each in peer.buffers() if each.dtype.is_floating_point)]:
            array.add_(torch.rand_like(array) * 0.3)
    return peer.eval()


def images(x: Any) -> Any:
    return np.ascontiguousarray(np.moveaxis(x, -1, 1))


# Ours, PyTorch's by torch.nn, the shape of a batch, and how the batch and the result are laid out there.
PEERS: dict[str,
    tuple[Callable[[], Any], Callable[[Any], Any], tuple[int, ...], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "convolutions": (convolutions, torch_convolutions, (3, 6, 5, 2), images, lambda y: y),
    "sequences": (
        lambda: Input(7, 3) >> Conv1d(3, 4, 3) >> BatchNorm1d(4) >> ReLU() >> Flatten() >> LayerNorm(20)
            >> Linear(20, 2),
        lambda nn: nn.Sequential(
            nn.Conv1d(3, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Flatten(), nn.LayerNorm(20), nn.Linear(20, 2)
        ),
        (3, 7, 3),
        images,
        lambda y: y,
    ),
    "features last": (
        lambda: Input(5, 3) >> LayerNorm(3) >> Flatten() >> Linear(15, 2),
        lambda nn: nn.Sequential(nn.LayerNorm(3), nn.Flatten(), nn.Linear(15, 2)),
        (3, 5, 3),
        lambda x: x,
        lambda y: y,
    ),
    "LSTM": (lambda: LSTM(3, 4), lambda nn: nn.LSTM(3, 4, batch_first=True), (2, 5, 3), lambda x: x, lambda y: y[0]),
    "GRU": (lambda: GRU(3, 4), lambda nn: nn.GRU(3, 4, batch_first=True), (2, 5, 3), lambda x: x, lambda y: y[0]),
    "RNN": (lambda: RNN(3, 4), lambda nn: nn.RNN(3, 4, batch_first=True), (2, 5, 3), lambda x: x, lambda y: y[0]),
}  # fmt: skip


@pytest.mark.parity
@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
def test_against_pytorch(name: str, suffix: str, tmp_path: Path) -> None:
    """PyTorch's weights give its outputs here; ours, written, give ours there."""
    import torch
    from safetensors.torch import load_file, save_file

    build, build_peer, shape, there, back = PEERS[name]
    peer, x = stirred(torch, build_peer(torch.nn)), RNG(1).standard_normal(shape, np.float32)
    path = tmp_path / f"theirs{suffix}"
    (torch.save if suffix == ".pt" else save_file)(peer.state_dict(), path)
    model = load_torch(path, build())

    def apart() -> float:
        expected = back(peer(torch.from_numpy(there(x)))).detach().numpy()
        return float(np.abs(model.eval().forward(x) - expected).max())

    assert apart() < 1e-5
    model.train().init(RNG(2))
    model.forward(x + 1)
    assert apart() > 1e-3
    path = export_torch(model, tmp_path / f"ours{suffix}")
    peer.load_state_dict(torch.load(path, weights_only=True) if suffix == ".pt" else load_file(path))
    assert apart() < 1e-5


@pytest.mark.parity
def test_attention_against_pytorch(tmp_path: Path) -> None:
    import torch

    peer = stirred(torch, torch.nn.MultiheadAttention(6, 3, batch_first=True))
    torch.save(peer.state_dict(), tmp_path / "m.pt")
    model: MultiHeadAttention = load_torch(tmp_path / "m.pt", MultiHeadAttention(6, 3))
    x = RNG(1).standard_normal((2, 5, 6), np.float32)
    tensor = torch.from_numpy(x)
    assert np.abs(model.forward(x) - peer(tensor, tensor, tensor)[0].detach().numpy()).max() < 1e-5
    assert set(safetensors.numpy.load_file(str(export_torch(model, tmp_path / "m.safetensors")))) == set(
        peer.state_dict()
    )


@pytest.mark.parity
def test_half_precision_and_a_model_of_blocks(tmp_path: Path) -> None:
    """bfloat16, which NumPy has not, and float16."""
    import torch

    model = Input(4, dtype=int) >> Embedding(7, 3) >> LastStep() >> Linear(3, 2)
    for dtype in (torch.bfloat16, torch.float16):
        state = {name: torch.randn(shape).to(dtype) for name, shape in model.parameter_shapes().items()}
        torch.save(state, tmp_path / "m.pt")
        assert np.array_equal(load_torch(tmp_path / "m.pt", model).parameters()[0], state["0.weight"].float().numpy())
    blocks = resnet18(10, image=(8, 8, 3), rng=RNG(0))
    again = load_torch(export_torch(blocks, tmp_path / "m.pt"), resnet18(10, image=(8, 8, 3)))
    assert all(np.array_equal(array, again.state_dict()[name]) for name, array in blocks.state_dict().items())


@pytest.mark.parity
def test_what_pytorch_writes_as_bfloat16(tmp_path: Path) -> None:
    """By `safetensors.torch`, and what NumPy has no numbers for, in both kinds of files."""
    import torch
    from safetensors.torch import save_file

    model, path = Linear(3, 2), tmp_path / "m.safetensors"
    state = {name: torch.randn(shape).bfloat16() for name, shape in model.parameter_shapes().items()}
    save_file(state, path)
    for read in (load_torch(path, Linear(3, 2)), load(path, Linear(3, 2))):
        assert all(
            np.array_equal(read.named_parameters()[name], tensor.float().numpy()) for name, tensor in state.items()
        )
    eighths = {name: tensor.to(torch.float8_e4m3fn) for name, tensor in state.items()}
    save_file(eighths, path)
    torch.save(eighths, tmp_path / "m.pt")
    for name, kind in (("m.safetensors", "F8_E4M3"), ("m.pt", "torch.float8_e4m3fn")):
        with pytest.raises(StateDictError, match=f"is {kind}, which NumPy has not; convert it"):
            load_torch(tmp_path / name, model)


@pytest.mark.parity
def test_files_that_would_run_code_are_refused(tmp_path: Path) -> None:
    """`torch.load` with ``weights_only``: what a pickle names is not called."""
    import torch

    class Runs:
        def __reduce__(self) -> Any:
            return (tmp_path / "ran").mkdir, ()

    path, model = tmp_path / "m.pt", (Input(1) >> Linear(1, 1)).init(RNG(0))
    for content in (pickle.dumps(Runs()), b"", b"PK\3\4 cut off"):
        path.write_bytes(content)
        with pytest.raises(
            DataError, match=r"m\.pt: must be a state dictionary that torch\.load\(weights_only=True\) reads, got "
        ):
            load_torch(path, model)
    torch.save({"0.weight": Runs()}, path)
    with pytest.raises(DataError, match="must be a state dictionary that"):
        load_torch(path, model)
    assert not (tmp_path / "ran").exists()
    for table, got in (
        ([torch.zeros(1)], "list"),
        ({"epoch": 3}, "'epoch', a int"),
        ({"model": {"0.weight": torch.zeros(1)}}, "'model', a dict"),
    ):
        torch.save(table, path)
        with pytest.raises(
            DataError,
            match=f"must be a dictionary of tensors by name, got {got}; save model.state_dict\\(\\), and nothing",
        ):
            load_torch(path, model)


@pytest.mark.parity
@pytest.mark.filterwarnings("ignore")  # PyTorch's own, of its kinds of tensors that are on trial
@pytest.mark.parametrize(
    "kind", ["sparse", "sparse rows", "quantised", "meta", "float8", "complex", "expanded bfloat16", "expanded float"]
)
def test_odd_tensors_are_refused(tmp_path: Path, kind: str) -> None:
    """In our words, and in the memory of the file."""
    import torch

    ones = torch.ones(3, 3)
    odd = {
        "sparse": lambda: ones.to_sparse(),
        "sparse rows": lambda: ones.to_sparse_csr(),
        "quantised": lambda: torch.quantize_per_tensor(ones, 0.1, 0, torch.qint8),
        "meta": lambda: torch.empty(3, 3, device="meta"),
        "float8": lambda: ones.to(torch.float8_e4m3fn),
        "complex": lambda: ones.to(torch.complex64),
        "expanded bfloat16": lambda: torch.ones(1).bfloat16().expand(1 << 36),
        "expanded float": lambda: torch.ones(1).expand(1 << 36),
    }[kind]()
    torch.save({"weight": odd}, tmp_path / "m.pt")
    with pytest.raises(TypednnError) as raised:
        load_torch(tmp_path / "m.pt", Linear(3, 3, bias=False))
    words = {"expanded": "may take at most", "complex": "is complex64, the model float32"}
    assert re.search(words.get(kind.split()[0], "which NumPy has not|must be a state dictionary"), str(raised.value))


@pytest.mark.parity
def test_packed_numbers_are_refused(tmp_path: Path) -> None:
    """A file of 1 MB would unpack to a gigabyte; PyTorch stores its numbers as they are."""
    import torch

    plain, packed = tmp_path / "plain.pt", tmp_path / "packed.pt"
    torch.save({"weight": torch.zeros(1 << 20)}, plain)
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
        for entry in source.infolist():
            target.writestr(entry.filename, source.read(entry))
    assert packed.stat().st_size < 1 << 16
    with pytest.raises(
        DataError, match=r"packed\.pt: holds its numbers as they are, got .*, which is compressed; save it with"
    ):
        load_torch(packed, Linear(3, 3, bias=False))
