"""typednn: models that are proven to fit together before they run, checked while they run, with gradients you hold in
your hand.

>>> import numpy as np
>>> from typednn import Input
>>> from typednn.layers import Linear, ReLU
>>> model = Input(784) >> Linear(784, 128) >> ReLU() >> Linear(128, 10)
>>> model.num_parameters()
101770

Importing this package imports no array library; each name is loaded when it is first used.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

from typednn import hooks
from typednn.version import __version__ as __version__

TYPE_CHECKING = False  # to type checkers it is true; `typing` would be most of this import's time
if TYPE_CHECKING:
    from typednn import (
        backends,
        config,
        data,
        errors,
        exchange,
        layers,
        losses,
        metrics,
        models,
        optim,
        random,
        runs,
        shapes,
        tensors,
        testing,
        training,
    )
    from typednn.arrays import (
        AnyArray,
        AnyBoolArray,
        AnyIntArray,
        Array0,
        Array1,
        Array2,
        Array3,
        Array4,
        IntArray1,
        IntArray2,
        IntArray3,
    )
    from typednn.contracts.checks import checking, get_checks, set_checks
    from typednn.contracts.protocols import Backward, DynLayer, Forward, Incremental, InputGrad, Loss, Optimizer, Update
    from typednn.errors import TypednnError
    from typednn.module.calls import Call, observing
    from typednn.module.fields import Buffer, Kept, Parameter
    from typednn.module.formula import GraphElementwise, GraphLayer, GraphLoss
    from typednn.module.gradients import ChainGrad, ElementwiseGrad, Gradient
    from typednn.module.layer import (
        Chain,
        Elementwise,
        ElementwiseChain,
        FirstChain,
        FirstLayer,
        Input,
        Layer,
        MultiInput,
        Positionwise,
        PositionwiseChain,
        S,
        Sequential,
    )
    from typednn.module.module import Module
    from typednn.module.stack import Dyn, DynGrad, Stack
    from typednn.plans.compiled import compile
    from typednn.recipes.predictor import load
    from typednn.testing.gradcheck import gradcheck

# An idle worker of OpenBLAS gives its core back to the kernels' threads soon. It is read when the library is loaded, so
# it is set before NumPy is; what the user has set stays.
if "numpy" not in sys.modules:
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")

_HOMES = {
    "arrays": "AnyArray AnyBoolArray AnyIntArray Array0 Array1 Array2 Array3 Array4 IntArray1 IntArray2 IntArray3",
    "module.calls": "Call observing",
    "contracts.checks": "checking get_checks set_checks",
    "errors": "TypednnError",
    "module.fields": "Buffer Kept Parameter",
    "testing.gradcheck": "gradcheck",
    "module.formula": "GraphElementwise GraphLayer GraphLoss",
    "module.gradients": "ChainGrad ElementwiseGrad Gradient",
    "module.layer": "Chain Elementwise ElementwiseChain FirstChain FirstLayer Input Layer MultiInput Positionwise "
    "PositionwiseChain S Sequential",
    "module.module": "Module",
    "contracts.protocols": "Backward DynLayer Forward Incremental InputGrad Loss Optimizer Update",
    "module.stack": "Dyn DynGrad Stack",
    "plans.compiled": "compile",
    "recipes.predictor": "load",
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names.split()}
_SUBMODULES = (
    "backends",
    "config",
    "data",
    "errors",
    "exchange",
    "layers",
    "losses",
    "metrics",
    "models",
    "optim",
    "random",
    "runs",
    "shapes",
    "tensors",
    "testing",
    "training",
)


__all__ = [
    "AnyArray",
    "AnyBoolArray",
    "AnyIntArray",
    "Array0",
    "Array1",
    "Array2",
    "Array3",
    "Array4",
    "Backward",
    "Buffer",
    "Call",
    "Chain",
    "ChainGrad",
    "Dyn",
    "DynGrad",
    "DynLayer",
    "Elementwise",
    "ElementwiseChain",
    "ElementwiseGrad",
    "FirstChain",
    "FirstLayer",
    "Forward",
    "Gradient",
    "GraphElementwise",
    "GraphLayer",
    "GraphLoss",
    "Incremental",
    "Input",
    "InputGrad",
    "IntArray1",
    "IntArray2",
    "IntArray3",
    "Kept",
    "Layer",
    "Loss",
    "Module",
    "MultiInput",
    "Optimizer",
    "Parameter",
    "Positionwise",
    "PositionwiseChain",
    "S",
    "Sequential",
    "Stack",
    "TypednnError",
    "Update",
    "backends",
    "checking",
    "compile",
    "config",
    "data",
    "errors",
    "exchange",
    "get_checks",
    "gradcheck",
    "layers",
    "load",
    "losses",
    "metrics",
    "models",
    "observing",
    "optim",
    "random",
    "runs",
    "set_checks",
    "shapes",
    "tensors",
    "testing",
    "training",
]


def _save(model: Module, path: str | os.PathLike[str]) -> None:
    from typednn.exchange.model_file import save

    save(model, path)


hooks.save = _save


if not TYPE_CHECKING:  # to type checkers, a name that is not above is a mistake

    def __getattr__(name):
        if name in _MODULE_OF:
            value = getattr(import_module(f"typednn.{_MODULE_OF[name]}"), name)
        elif name in _SUBMODULES:
            value = import_module(f"typednn.{name}")
        else:
            try:
                from typednn.errors.habits import names_of

                return names_of(__name__)(name)
            except (AttributeError, ImportError) as error:  # its traceback ends in the line that asked
                error.__traceback__ = None
                raise
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
