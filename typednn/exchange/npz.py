"""Parameters and buffers as NumPy's own file: ``numpy.load(path)["fc1.weight"]``, in any language that reads NPY."""

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from typednn.backends import to_numpy
from typednn.exchange.checked import check_model
from typednn.files import path_of, write_whole
from typednn.module.module import Module


def export_npz(model: Module, path: str | os.PathLike[str]) -> Path:
    """Write ``model.state_dict()`` as an NPZ file, under its names and in its layouts; the path of the file.

    `NotInitialised` before ``init``; a `DataError` where the file cannot be written.
    """
    place = path_of("export_npz", path)
    check_model("export_npz", model)
    content = io.BytesIO()
    # numpy.savez has arguments of its own, whose names an array could have
    with zipfile.ZipFile(content, "w") as archive:
        for name, array in model.state_dict().items():
            host: Any = np.asarray(to_numpy(array), order="C")
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, host, allow_pickle=False)
    write_whole(place, content.getvalue())
    return place
