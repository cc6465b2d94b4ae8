"""Models in files: typednn's own, and those of others.

==============  ===========================================================  ==========================
file            written by                                                   read by
==============  ===========================================================  ==========================
typednn's own   ``model.save(path)``, `save`                                 `load`
ONNX            `export_onnx`                                                `import_onnx`
PyTorch's       `export_torch`: safetensors, or ``.pt``                      `load_torch`, into a model
NPZ             `export_npz`                                                 ``numpy.load``
JSON            `export_json`                                                `load_json`, into a model
raw numbers     `export_bin`                                                 `load_bin`, into a model
C library       `export_c`: an object file, a header and an example          any C compiler
==============  ===========================================================  ==========================
"""

from typing import TYPE_CHECKING

from typednn.errors.public import published
from typednn.exchange.c.export import export_c
from typednn.exchange.model_file import load, save
from typednn.exchange.npz import export_npz
from typednn.exchange.onnx.export import export_onnx
from typednn.exchange.onnx.preprocessing import Preprocessing
from typednn.exchange.onnx.reader import import_onnx
from typednn.exchange.plain import export_bin, export_json, load_bin, load_json
from typednn.exchange.torch_state import export_torch, load_torch

__all__ = [
    "Preprocessing",
    "export_bin",
    "export_c",
    "export_json",
    "export_npz",
    "export_onnx",
    "export_torch",
    "import_onnx",
    "load",
    "load_bin",
    "load_json",
    "load_torch",
    "save",
]

if not TYPE_CHECKING:  # to type checkers, a name that is not above is a mistake
    __getattr__ = published(globals())
