"""NPZ files: what NumPy reads is the state dictionary."""

from pathlib import Path

import numpy as np
import pytest

from typednn import Input
from typednn.errors import ArgumentError, DataError, NotInitialised
from typednn.exchange import export_npz
from typednn.layers import BatchNorm1d, Linear


def test_numpy_reads_the_state(tmp_path: Path) -> None:
    """Also an array whose name is one of ``numpy.savez``'s arguments."""
    model = (Input(4) >> Linear(4, 3).named("file") >> BatchNorm1d(3)).init(np.random.default_rng(0)).astype(np.float64)
    for path in (
        export_npz(model, tmp_path / "new" / "model.npz"),
        export_npz(BatchNorm1d(2, rng=np.random.default_rng(0)), tmp_path / "m"),
    ):
        assert path.is_file()
    with np.load(tmp_path / "new" / "model.npz") as found:
        assert list(found) == list(model.state_dict())
        for name, array in model.state_dict().items():
            assert found[name].dtype == array.dtype
            assert np.array_equal(found[name], array)


def test_mistakes(tmp_path: Path) -> None:
    model = Input(4) >> Linear(4, 3)
    with pytest.raises(NotInitialised):
        export_npz(model, tmp_path / "m.npz")
    with pytest.raises(ArgumentError, match="export_npz: model is a model of typednn, got str"):
        export_npz("model", tmp_path / "m.npz")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="export_npz: path must be the name of a file or folder, got int"):
        export_npz(model, 3)  # type: ignore[arg-type]
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="must be writable, got "):
        export_npz(model.init(np.random.default_rng(0)), tmp_path / "file" / "m.npz")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
