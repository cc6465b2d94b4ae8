"""Habits: what people write who know PyTorch, Keras, JAX or scikit-learn, and what to write here instead.

A name that typednn lacks is looked up here when it is missed, and never before: an attribute of a model, an optimizer
or a loss (`ATTRIBUTES`), a name of a package (`NAMES`), an argument (`ARGUMENTS`). The error is then a `MissingName`,
`MissingImport` or `CallError`. A name that typednn had and has given another works for one minor version, with a
`DeprecationWarning` (`RENAMED`).
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import FrameType
from typing import Any, Final

from typednn.errors import SURE, MissingImport, MissingName, closest, explain
from typednn.errors.tracebacks import caller_level, folding

# What was renamed: the old name with its package, the new one's, and the version that drops the old. CHANGELOG lists
# the same.
RENAMED: Final[dict[str, tuple[str, str]]] = {
    "typednn.arrays.flatten": ("typednn.tensors.flatten", "0.3"),
    "typednn.arrays.subtensor": ("typednn.tensors.subtensor", "0.3"),
}

# The packages whose names are public.
_PARTS = (
    "layers losses optim training data models runs metrics tasks recipes config exchange random tensors testing graph "
    "parallel"
)
PACKAGES: Final = ("typednn", *map("typednn.{}".format, _PARTS.split()))


def _each(table: Mapping[str, str]) -> dict[str, str]:
    """A row for each of the names that a row's key lists."""
    return {name: cure for names, cure in table.items() for name in names.split()}


_FIT = "fit(model, loss, optimizer, loader, epochs=…) of typednn.training trains"
_EVALUATE = "evaluate(model, x) of typednn.training gives the outputs for all rows; for classes .argmax(axis=1)"
_STATE = "model.state_dict() gives the arrays by name, and load_state_dict takes them"
_FILE = "model.save(path) writes a model into one file, and typednn.load(path) reads it"
_BACKWARD = "grad = model.backward(loss.loss_grad(prediction, target)), then model.update(optimizer, grad)"
_NO_ZERO = "leave it out: backward returns the gradient as a value, and nothing accumulates"
_OWN_BACKWARD = (
    "a layer writes its backward, or is a GraphLayer, whose formula is differentiated; model.backward(…) gives "
    "gradients"
)
_INSIDE = "index the chain, model[0], iterate over it, or walk model.named_modules()"
_ACTIVATION = "it is a layer of its own: put ReLU() and its like after it"

_SCHEDULES = {
    "CosineAnnealingLR": "CosineLR", "CosineDecay": "CosineLR", "ExponentialDecay": "ExponentialLR",
    "PolynomialDecay": "PolynomialLR", "PiecewiseConstantDecay": "StepLR",
}  # fmt: skip
_SCHEDULE = _each(
    {
        "step": "leave it out: the optimizer asks its schedule at each step, SGD(lr=StepLR(0.1, step_size=10))",
        "get_last_lr get_lr": "call it with the number of a step: schedule(0)",
    }
)

# By the name of a class in the object's line of descent.
ATTRIBUTES: Final[Mapping[str, Mapping[str, str]]] = {
    "Module": _each({
        "fit train_on_batch train_step partial_fit fit_generator": _FIT,
        "compile": "typednn.compile(model) gives a plan; loss and optimizer are arguments of fit, in typednn.training",
        "fuse": "typednn.compile(model) gives a plan, whose ops are joined",
        "predict predict_proba predict_on_batch call": _EVALUATE,
        "evaluate test_on_batch score": (
            "pass validation=Evaluation(x, y) to fit, or read evaluate(model, x), both of typednn.training"
        ),
        "summary tabulate": "print(model) shows layers, shapes and counts",
        "count_params": "it is called model.num_parameters()",
        "zero_grad": _NO_ZERO,
        "grad": _BACKWARD,
        "step": "model.update(optimizer, grad) makes the step",
        "cuda": 'model.to("cuda") moves it',
        "cpu": 'model.to("cpu") moves it',
        "float": "model.astype(numpy.float32) converts it",
        "half bfloat16": "model.astype(numpy.float16) converts it",
        "double": "model.astype(numpy.float64) converts it",
        "type": "model.astype(dtype) converts it, and model.dtype says what it is",
        "requires_grad_ requires_grad trainable freeze unfreeze": (
            'the optimizer decides: groups=[Group("body.*", frozen=True)]'
        ),
        "weight bias kernel w b": (
            "a layer of the model has it, such as model[0].weight; model.named_parameters() lists all by name"
        ),
        "layers modules named_children submodules": _INSIDE,
        "add add_module": "write model >> layer, which gives a new chain",
        "get_weights weights variables trainable_variables trainable_weights params": (
            "model.named_parameters() gives them by name"
        ),
        "set_weights": _STATE,
        "save_weights load_weights": _FILE,
        "to_onnx export to_torchscript": "typednn.exchange.export_onnx(model, path) writes an ONNX file",
        "register_buffer": "declare it in the class: statistics: Buffer[Float[Array1, …]]",
        "register_parameter": "declare it in the class: weight: Parameter[Float[Array2, …]]",
        "register_forward_hook register_backward_hook register_full_backward_hook": (
            "with observing(model, function): of typednn"
        ),
        "apply": (
            "model.forward(x) computes; model.init(rng) fills the parameters; iterate over model.named_modules() "
            "for the rest"
        ),
        "__matmul__": "model(x) and model.forward(x) compute",
        "__add__": "Residual(layer) of typednn.layers adds a layer's input to its output; a >> b puts b after a",
        "__or__": "a >> b puts b after a",
        "output_shape input_shape": "print(model) shows the layers and their shapes",
    }),
    "Optimizer": _each({
        "zero_grad": _NO_ZERO,
        "param_groups": "optimizer.groups are the groups, and optimizer.lr = 0.01 sets the rate",
        "learning_rate": "it is called lr",
        "add_param_group": "pass groups=[Group(names, lr=…)] to the constructor",
        "minimize apply_gradients update apply_updates": "model.update(optimizer, grad) makes the step",
        "init": "there is nothing to fill: its state is made at the first step",
        "get_config": "save state_dict(), after bind(model)",
    }),
    "Loss": _each({
        "backward": _BACKWARD,
        "forward call __call__": (
            "loss.loss(prediction, target) is the value, loss.loss_grad(prediction, target) the derivative"
        ),
        "item": "loss.loss(prediction, target) is a float already",
        "grad": "it is called loss.loss_grad(prediction, target)",
    }),
    **dict.fromkeys(_SCHEDULES.values(), _SCHEDULE),
    **dict.fromkeys(("ConstantLR", "LinearLR", "OneCycleLR", "ReduceLROnPlateau"), _SCHEDULE),
    "InputGrad": _each({
        "items keys values": "grad.leaves() gives the derivatives by name",
        "zero_ zero": _NO_ZERO,
        "clip": "clip_grad_norm(grad, max_norm) of typednn.optim gives a clipped one",
    }),
    "Loader": _each({
        "__iter__": "loader.batches() gives an epoch's batches, each with x and y",
        "dataset": "it holds the arrays that it was given",
    }),
    "Batch": _each({"__iter__": "a batch has x and y: for batch in loader.batches(): batch.x, batch.y"}),
    "Input": _each({
        "__call__": "put it first, Input(4) >> Linear(4, 8)",
        "shape": "it is called sizes",
    }),
    "History": _each({
        "history": "history.losses are the epochs' means, history.evaluations what was measured",
        "epoch": "history.epochs has each epoch",
    }),
}  # fmt: skip

_LAYER = "from typednn.layers import {}"
_KERAS_LAYERS = {
    "Dense": "Linear", "Conv1D": "Conv1d", "Conv2D": "Conv2d", "Conv2DTranspose": "ConvTranspose2d",
    "MaxPooling2D": "MaxPool2d",
    "MaxPool2D": "MaxPool2d", "AveragePooling2D": "AvgPool2d", "GlobalAveragePooling2D": "GlobalAvgPool2d",
    "UpSampling2D": "Upsample",
    "ZeroPadding2D": "Pad2d", "ZeroPad2d": "Pad2d", "LayerNormalization": "LayerNorm",
    "GroupNormalization": "GroupNorm",
    "MultiheadAttention": "MultiHeadAttention", "Unflatten": "Reshape", "TimeDistributed": "SequenceLinear",
    "SimpleRNN": "RNN",
    "SpatialDropout2D": "Dropout2d", "Concatenate": "Concat", "LogSoftMax": "LogSoftmax", "Swish": "SiLU",
}  # fmt: skip
_LOSSES = {
    "CrossEntropyLoss": "SoftmaxCrossEntropy", "SparseCategoricalCrossentropy": "SoftmaxCrossEntropy",
    "CategoricalCrossentropy": "SoftmaxCrossEntropy", "MSELoss": "MSE", "MeanSquaredError": "MSE", "L1Loss": "L1",
    "MeanAbsoluteError": "L1", "NLLLoss": "NLL", "HuberLoss": "Huber", "SmoothL1Loss": "Huber",
    "BCELoss": "BCEWithLogits",
    "BCEWithLogitsLoss": "BCEWithLogits",
    "BinaryCrossentropy": "BCEWithLogits", "KLDivLoss": "KLDiv", "CosineEmbeddingLoss": "CosineSimilarity",
}  # fmt: skip

# Names of packages, classes and functions of other libraries, in whichever package of ours they are looked for.
NAMES: Final[Mapping[str, str]] = {
    **{name: _LAYER.format(ours) for name, ours in _KERAS_LAYERS.items()},
    **{name: f"from typednn.losses import {ours}" for name, ours in _LOSSES.items()},
    **{name: f"from typednn.optim import {ours}" for name, ours in _SCHEDULES.items()},
    **_each({
        "nn": "layers are in typednn.layers, losses in typednn.losses, and models derive from typednn.Layer",
        "functional F": "a layer is an object: ReLU().forward(x); formulas of arrays are in typednn.graph",
        "optimizers": "they are in typednn.optim",
        "lr_scheduler schedules LRScheduler LearningRateScheduler": (
            "schedules are in typednn.optim, such as StepLR; pass one as lr"
        ),
        "callbacks": "Callback and EarlyStopping are in typednn.training",
        "datasets utils": "readers, named data sets and Loader are in typednn.data",
        "activations": "they are layers: from typednn.layers import ReLU",
        "no_grad inference_mode set_grad_enabled": (
            "model.eval() keeps nothing for a backward, as in evaluate(model, x)"
        ),
        "tensor Tensor as_tensor from_numpy": (
            "an array of NumPy is a tensor here: numpy.asarray(values, numpy.float32)"
        ),
        "float32 float64 float16 int64 zeros ones arange stack": (
            "dtypes and arrays are NumPy's: numpy.float32, numpy.zeros"
        ),
        "manual_seed seed set_seed set_random_seed PRNGKey": (
            "there is no global generator: pass rng=numpy.random.default_rng(0)"
        ),
        "device": 'a device is a text: model.to("cuda")',
        "cuda": 'model.to("cuda") moves a model, with the extra typednn[gpu]',
        "grad value_and_grad autograd jacobian backward": _OWN_BACKWARD,
        "jit vmap pmap": "typednn.compile(model) gives a plan; kernels are compiled with the extra typednn[fast]",
        "save load": _FILE,
        "onnx": "export_onnx and import_onnx are in typednn.exchange",
        "train Trainer": "from typednn.training import fit",
        "Model": "stack layers with >>, or derive from typednn.Layer",
        "ModuleList ModuleDict ParameterList": "a list, tuple or dictionary in a field holds layers",
        "Lambda": "from typednn import GraphLayer: a layer from a formula",
        "Activation": _ACTIVATION,
        "BatchNormalization BatchNorm": "from typednn.layers import BatchNorm2d, of images, or BatchNorm1d, of rows",
        "DataLoader Dataloader": "from typednn.data import Loader",
        "TensorDataset": "Loader(x, y, batch_size=…, rng=…) of typednn.data takes the arrays",
        "random_split train_test_split": "rows, test = typednn.data.split(labels, 0.2, seed=0)",
        "load_mnist MNIST": 'typednn.data.load("mnist")',
        "ModelCheckpoint Checkpoint": "pass run=Run.create(…) and checkpoint_every to fit",
        "TensorBoard CSVLogger": "pass run=Run.create(…) to fit: it writes metrics.jsonl and events",
        "ReduceLROnPlateau": "from typednn.optim import ReduceLROnPlateau; pass it as lr",
        "clip_grad_norm_ clip_grad_value_ clip_by_global_norm": (
            "from typednn.optim import clip_grad_norm, which gives a new gradient"
        ),
        "init initializers": "pass weight_init= to a layer: typednn.random has the rules",
        "to_categorical": "from typednn.data import one_hot",
        "accuracy_score Accuracy": "fit measures the accuracy of labels; ClassificationReport is in typednn.metrics",
        "LSTMCell GRUCell RNNCell": "LSTM, GRU and RNN of typednn.layers have step for one time step",
    }),
}  # fmt: skip

# By the function or class that is called, "" for all, then by argument; "*" for too many by position.
ARGUMENTS: Final[Mapping[str, Mapping[str, str]]] = {
    "Sequential": {"*": "pass one list, Sequential([a, b]), or write a >> b, which keeps the types"},
    "Optimizer": _each({
        "params parameters weights lr": (
            "an optimizer gets its settings alone, and model.update(optimizer, grad) hands it the weights"
        ),
        "step_size": "a schedule is the rate: SGD(lr=StepLR(0.1, step_size=10))",
    }),
    "Input": _each({
        "shape batch_shape input_shape": "write the sizes of one sample: Input(28, 28, 1)",
        "batch_size": "leave the batch out",
        "name": "Input has no name; layers have, by named(…)",
    }),
    "fit": _each({
        "validation_data": "it is called validation, a pair (x, y) or an Evaluation(x, y)",
        "validation_split": "set rows aside yourself, and pass validation=(x, y)",
        "batch_size shuffle": "the loader has it: Loader(x, y, batch_size=32, rng=…)",
        "verbose": "it is called progress",
        "lr learning_rate": "the optimizer has it: SGD(lr=0.1)",
        "metrics": "the task measures: task=Regression() or Classification() of typednn.tasks",
        "patience": "pass early_stopping=EarlyStopping(patience=3)",
        "device": "move the model first: model.to(device)",
        "class_weight": "the loss has it: SoftmaxCrossEntropy(weight=[…])",
        "sample_weight": "the data have it: Loader(x, y, sample_weight=[…], …)",
        "*": "x and y go into a loader: fit(model, loss, optimizer, Loader(x, y, batch_size=32, rng=…), epochs=1)",
        "loader": "x and y go into a loader: fit(model, loss, optimizer, Loader(x, y, batch_size=32, rng=…), epochs=1)",
    }),
    "Loader": _each({
        "num_workers workers": "leave it out: prefetch=2 batches are made ahead in a thread",
        "y": "pass inputs and targets as two arrays: Loader(x, y, batch_size=32, rng=…)",
        "*": "name it: Loader(x, y, batch_size=32, rng=…)",
        "seed random_state generator": "it is called rng: rng=numpy.random.default_rng(0)",
    }),
    "Evaluation": {"y": "pass inputs and targets as two arrays: Evaluation(x, y)"},
    "EarlyStopping": _each({
        "monitor": "it is called metric, such as 'loss' or 'accuracy', always of the evaluation",
        "mode": "leave it out: higher is better but for loss, mse and mae",
    }),
    "evaluate": {"*": "its third argument is batch_size; targets go into fit's validation=Evaluation(x, y)"},
    "step": {"weights": "model.update(optimizer, grad) makes the step"},
    "LSTM": {"num_layers": "one layer each: LSTM(4, 8) >> LSTM(8, 8)"},
    "GRU": {"num_layers": "one layer each: GRU(4, 8) >> GRU(8, 8)"},
    "RNN": {"num_layers": "one layer each: RNN(4, 8) >> RNN(8, 8)"},
    "init": _each({"rng seed random_state": "pass a generator: model.init(numpy.random.default_rng(0))"}),
    "Softmax": {"dim": "leave it out: it is of rows, over their last axis"},
    "LogSoftmax": {"dim": "leave it out: it is of rows, over their last axis"},
    "": _each({
        "learning_rate": "it is called lr",
        "activation": _ACTIVATION,
        "units filters": "sizes are (in, out): Linear(4, 8), Conv2d(1, 6, 5)",
        "out_features out_channels kernel_size": "sizes are (in, out): Linear(4, 8), Conv2d(1, 6, 5)",
        "strides": "it is called stride",
        "pool_size": "it is called kernel_size",
        "dilation_rate": "it is called dilation",
        "use_bias": "it is called bias",
        "input_shape input_dim": "put Input(…) first: Input(28, 28, 1) >> Conv2d(1, 6, 5)",
        "kernel_initializer kernel_init": "it is called weight_init",
        "bias_initializer": "it is called bias_init",
        "kernel_regularizer": "the optimizer has it: SGD(lr=0.1, l2=1e-4), or weight_decay",
        "rate": "it is called p",
        "device": "move the model: model.to(device)",
        "dtype": "convert the model: model.astype(numpy.float64)",
        "padding_mode": "put Pad2d(…, mode=…) before it",
        "batch_first return_sequences": (
            "leave it out: sequences are (batch, time, features), and LastStep() picks the last"
        ),
        "from_logits": (
            "leave it out: SoftmaxCrossEntropy and BCEWithLogits take scores, CrossEntropy takes probabilities"
        ),
        "size_average reduce": "it is called reduction",
        "T_max decay_steps": "it is called total_steps",
        "num_features num_classes": "sizes are stated, so that they can be checked before anything runs",
        "beta_1 beta_2": "they are called betas, a pair",
        "epsilon": "it is called eps",
        "name": "name a layer by Linear(4, 8).named('fc1')",
        "inplace": "leave it out: layers give new arrays",
    }),
}  # fmt: skip


# By what was asked for, then by the class of what was passed.
VALUES: Final[Mapping[str, Mapping[str, str]]] = {
    "lr": _each({
        "list dict generator": ARGUMENTS["Optimizer"]["lr"],
        "Optimizer": "the optimizer has the schedule: SGD(lr=StepLR(0.1, step_size=10))",
        "str": "write it without quotes",
    }),
    "batch_size": {"ndarray": "pass the inputs alone, evaluate(model, x); targets go into fit's validation=(x, y)"},
    "part": _each({
        "str": "a layer is an object, such as ReLU() of typednn.layers",
        "list tuple": "Sequential([a, b]) takes a list",
        "ufunc function builtin_function_or_method": "an activation is an object, such as Tanh() of typednn.layers",
        "ndarray": "model.forward(x) computes",
    }),
    "next_grad": {"float": "pass loss.loss_grad(prediction, target): the derivative, not the value"},
    "state": {"str": "read the file first: safetensors.numpy.load_file(path)"},
}  # fmt: skip


def value_cure(argument: str, value: object) -> str:
    """What to pass instead of a ``value`` of a wrong class; "" where nothing is known."""
    cures = VALUES.get(argument, {})
    return next((cures[kind.__name__] for kind in type(value).__mro__ if kind.__name__ in cures), "")


def names_of(package: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package."""

    def missing(name: str) -> Any:
        caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        while caller.f_back is not None and caller.f_code.co_name in ("called", "__getattr__"):
            caller = caller.f_back
        asks: str = caller.f_globals.get("__name__", "")
        if f"{package}.{name}" in RENAMED:
            return _renamed(f"{package}.{name}", told=asks.partition(".")[0] == "importlib")
        if (
            name.startswith("_")
            or asks.partition(".")[0] in ("importlib", "typednn")
            or not (cure := _cure(package, name))
        ):
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])
        message = explain(package, "has no such name", repr(name), cure)
        raise MissingImport(message, name=package) if _imports(caller) else MissingName(message)

    return folding(missing, AttributeError)


def _renamed(old: str, *, told: bool) -> Any:
    """What ``old``, a name with its package, is called now, with a `DeprecationWarning` in the line that used it,
    unless it was told.

    An import asks twice: the import system looks whether there is such a name, then the line itself gets it.
    """
    new, until = RENAMED[old]
    if not told:
        warnings.warn(
            f"{old} is called {new} now; the old name goes in {until}", DeprecationWarning, stacklevel=caller_level()
        )
    package, _, name = new.rpartition(".")
    return getattr(import_module(package), name)


def _imports(caller: FrameType) -> bool:
    """Whether the frame runs ``from package import name``, where Python drops the words of an `AttributeError`."""
    import dis  # on a miss only

    return dis.opname[caller.f_code.co_code[caller.f_lasti]] == "IMPORT_FROM"


def _cure(package: str, name: str) -> str:
    """What to write instead of a name that ``package`` has not."""
    if name in NAMES:
        return NAMES[name]
    homes = {each: home for home in reversed((package, *PACKAGES)) for each in public_names(home)}
    if name in homes:
        return f"from {homes[name]} import {name}"
    own = closest(name, public_names(package), SURE)
    other = own or closest(name, homes, SURE)
    return f"from {package if own else homes[other]} import {other}" if other else ""


# Short names of losses and optimizers, as texts, that are no near match.
_SHORT = {
    "crossentropy": "SoftmaxCrossEntropy", "categorical_crossentropy": "SoftmaxCrossEntropy", "mae": "L1",
    "sparse_categorical_crossentropy": "SoftmaxCrossEntropy", "cross_entropy": "SoftmaxCrossEntropy",
    "bce": "BCEWithLogits", "binary_crossentropy": "BCEWithLogits", "mean_squared_error": "MSE", "nll_loss": "NLL",
    "momentum": "SGD",
}  # fmt: skip


def kin(name: str, names: Iterable[str]) -> str:
    """Which of ``names`` a text stands for, such as "mse" for MSE; "" where none is near."""
    return _SHORT.get(name.lower(), "") or closest(name, names, SURE)


def public_names(package: str) -> list[str]:
    """The names that a package gives its users; those that it defines, where it lists none."""
    module = import_module(package)
    own = (
        name for name, value in vars(module).items() if name[0] != "_" and getattr(value, "__module__", "") == package
    )
    return sorted(getattr(module, "__all__", own))


def cure_of(kind: type, name: str) -> str:
    """What to write instead of an attribute that there is not; "" where nothing is known."""
    return next((cure for base in kind.__mro__ if (cure := ATTRIBUTES.get(base.__name__, {}).get(name))), "")


def _attribute_of(instance: object, name: str) -> Any:
    kind = type(instance)
    cure = "" if name.startswith("_") else cure_of(kind, name)
    if cure:
        raise MissingName(explain(kind.__name__, "has no such attribute", repr(name), cure))
    raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}", name=name, obj=instance)


attribute_of: Callable[[object, str], Any] = folding(_attribute_of, AttributeError)
"""The ``__getattr__`` of a class: it is called for an attribute that there is not."""
