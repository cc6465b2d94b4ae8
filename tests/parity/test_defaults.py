"""Constructors have PyTorch's names, order and defaults; every exception is written down here, and must
still be one.
"""

import inspect
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from typednn import layers, losses, optim
from typednn.layers import Conv2d, ConvTranspose2d, Linear

pytestmark = pytest.mark.parity


@dataclass(frozen=True)
class Pair:
    """One class of ours and its peer, with all that is not the same."""

    ours: Any
    theirs: str
    differs: dict[str, tuple[Any, Any]] = field(default_factory=dict)  # name -> (our default, PyTorch's)
    ours_only: tuple[str, ...] = ()
    theirs_only: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()  # at another place, so that only the name carries over


PLACE = ("device", "dtype")  # a model has one of each: to(device), astype(dtype)
INITIAL = ("weight_init", "bias_init", "rng")
OLD = ("size_average", "reduce")  # deprecated there
# a dense gradient; no norms
EMBEDDING = ("max_norm", "norm_type", "scale_grad_by_freq", "sparse", "_weight", "_freeze", *PLACE)
ENGINE = ("foreach", "capturable", "differentiable")  # how PyTorch computes the same
# the paper's meanings of weight decay; PyTorch averages in swa_utils; its groups are in `params`
PAPER = ("l2", "decay", "ema", "groups")

PAIRS = [
    Pair(layers.Linear, "nn.Linear", ours_only=INITIAL, theirs_only=PLACE),
    Pair(layers.SequenceLinear, "nn.Linear", ours_only=INITIAL, theirs_only=PLACE),
    Pair(
        layers.MultiHeadAttention,
        "nn.MultiheadAttention",
        ours_only=("causal", "rotary", "in_proj_init", "out_proj_init", "rng"),
        theirs_only=("add_bias_kv", "add_zero_attn", "vdim", "batch_first", *PLACE),  # memory is keys and values
    ),
    Pair(
        layers.Conv2d,
        "nn.Conv2d",
        differs={"bias": (False, True)},  # the paper's eq 25 has none
        ours_only=INITIAL,
        theirs_only=("padding_mode", *PLACE),  # Pad2d puts other borders
    ),
    Pair(layers.Conv1d, "nn.Conv1d", ours_only=INITIAL, theirs_only=("padding_mode", *PLACE)),
    Pair(layers.ConvTranspose2d, "nn.ConvTranspose2d", ours_only=INITIAL, theirs_only=("padding_mode", *PLACE)),
    Pair(layers.MaxPool2d, "nn.MaxPool2d", theirs_only=("return_indices", "ceil_mode")),
    Pair(layers.AvgPool2d, "nn.AvgPool2d", theirs_only=("ceil_mode", "divisor_override")),
    Pair(layers.AdaptiveAvgPool2d, "nn.AdaptiveAvgPool2d"),
    Pair(
        layers.Upsample,
        "nn.Upsample",
        # None is False there too
        differs={"scale_factor": (inspect.Parameter.empty, None), "align_corners": (False, None)},
        theirs_only=("size", "recompute_scale_factor"),
        moved=("scale_factor", "mode", "align_corners"),
    ),
    Pair(layers.ReLU, "nn.ReLU", theirs_only=("inplace",)),
    Pair(layers.LeakyReLU, "nn.LeakyReLU", theirs_only=("inplace",)),
    Pair(
        layers.PReLU,
        "nn.PReLU",
        differs={"init": (0.01, 0.25)},  # ml-rs's
        ours_only=("rng",),
        theirs_only=("num_parameters", *PLACE),  # one slope for all channels
    ),
    Pair(layers.BatchNorm1d, "nn.BatchNorm1d", ours_only=("rng",), theirs_only=("bias", *PLACE)),
    Pair(layers.BatchNorm2d, "nn.BatchNorm2d", ours_only=("rng",), theirs_only=("bias", *PLACE)),
    Pair(layers.GroupNorm, "nn.GroupNorm", ours_only=("rng",), theirs_only=("bias", *PLACE)),
    Pair(layers.LayerNorm, "nn.LayerNorm", ours_only=("rng",), theirs_only=PLACE),
    Pair(layers.RMSNorm, "nn.RMSNorm", ours_only=("rng",), theirs_only=PLACE),
    Pair(layers.Dropout, "nn.Dropout", ours_only=("rng",), theirs_only=("inplace",)),
    Pair(layers.Dropout2d, "nn.Dropout2d", ours_only=("rng",), theirs_only=("inplace",)),
    Pair(layers.Sigmoid, "nn.Sigmoid"),
    Pair(layers.Tanh, "nn.Tanh"),
    Pair(layers.GELU, "nn.GELU"),
    Pair(layers.SiLU, "nn.SiLU", theirs_only=("inplace",)),
    Pair(layers.Softplus, "nn.Softplus"),
    Pair(layers.ELU, "nn.ELU", theirs_only=("inplace",)),
    Pair(layers.SELU, "nn.SELU", theirs_only=("inplace",)),
    Pair(layers.Hardswish, "nn.Hardswish", theirs_only=("inplace",)),
    Pair(layers.Hardsigmoid, "nn.Hardsigmoid", theirs_only=("inplace",)),
    Pair(layers.GLU, "nn.GLU", theirs_only=("dim",)),  # always halves of the features
    Pair(layers.LogSoftmax, "nn.LogSoftmax", theirs_only=("dim",)),  # always over the features
    Pair(layers.Softmax, "nn.Softmax", theirs_only=("dim",)),  # always over the features
    Pair(layers.Flatten, "nn.Flatten"),
    Pair(layers.Reshape, "nn.Unflatten", theirs_only=("dim", "unflattened_size")),  # *shape: all but the batch
    Pair(layers.Identity, "nn.Identity"),
    Pair(layers.Pad2d, "nn.ReplicationPad2d", ours_only=("mode", "value")),
    Pair(
        layers.Pad2d,
        "nn.ConstantPad2d",
        differs={"value": (0.0, inspect.Parameter.empty)},  # ZeroPad2d's
        ours_only=("mode",),
        moved=("value",),
    ),
    Pair(layers.Embedding, "nn.Embedding", ours_only=("weight_init", "rng"), theirs_only=EMBEDDING),
    # nn.RNN's constructor does not name its arguments
    Pair(layers.RNN, "nn.RNNCell", ours_only=("rng",), theirs_only=PLACE),
    Pair(layers.GRU, "nn.GRUCell", ours_only=("rng",), theirs_only=PLACE),
    Pair(layers.LSTM, "nn.LSTMCell", ours_only=("rng",), theirs_only=PLACE),
    Pair(losses.MSE, "nn.MSELoss", theirs_only=OLD, moved=("reduction",)),
    Pair(
        losses.SoftmaxCrossEntropy,
        "nn.CrossEntropyLoss",
        differs={"reduction": ("batchmean", "mean")},  # one meaning; "mean" is the paper's over batch and classes
        theirs_only=OLD,
        moved=("reduction",),
    ),
    Pair(
        losses.NLL,
        "nn.NLLLoss",
        differs={"reduction": ("batchmean", "mean")},  # as SoftmaxCrossEntropy's
        theirs_only=OLD,
        moved=("reduction",),
    ),
    Pair(losses.L1, "nn.L1Loss", theirs_only=OLD, moved=("reduction",)),
    Pair(losses.Huber, "nn.HuberLoss"),
    Pair(losses.KLDiv, "nn.KLDivLoss", theirs_only=OLD, moved=("reduction",)),
    Pair(losses.BCEWithLogits, "nn.BCEWithLogitsLoss", theirs_only=("weight", *OLD), moved=("reduction",)),
    Pair(
        losses.CosineSimilarity,
        "nn.CosineEmbeddingLoss",  # with target 1; eps is nn.CosineSimilarity's
        ours_only=("eps",),
        theirs_only=("margin", *OLD),
        moved=("reduction",),
    ),
    Pair(optim.SGD, "optim.SGD", ours_only=PAPER, theirs_only=("params", "foreach", "differentiable", "fused")),
    Pair(optim.Adam, "optim.Adam", ours_only=PAPER, theirs_only=("params", "decoupled_weight_decay", "fused", *ENGINE)),
    Pair(
        optim.AdamW,
        "optim.AdamW",
        differs={"weight_decay": (None, 0.01)},  # None: 0.01, unless l2 or decay is given
        ours_only=PAPER,
        theirs_only=("params", "fused", *ENGINE),
    ),
    Pair(optim.RMSprop, "optim.RMSprop", ours_only=PAPER, theirs_only=("params", *ENGINE)),
    Pair(optim.Adagrad, "optim.Adagrad", ours_only=PAPER, theirs_only=("params", "foreach", "differentiable", "fused")),
    Pair(optim.Adadelta, "optim.Adadelta", ours_only=PAPER, theirs_only=("params", *ENGINE)),
    Pair(
        optim.ExponentialLR,
        "optim.lr_scheduler.ExponentialLR",
        ours_only=("lr",),
        theirs_only=("optimizer", "last_epoch"),
    ),
    Pair(optim.LinearLR, "optim.lr_scheduler.LinearLR", ours_only=("lr",), theirs_only=("optimizer", "last_epoch")),
    Pair(
        optim.PolynomialLR,
        "optim.lr_scheduler.PolynomialLR",
        ours_only=("lr",),
        theirs_only=("optimizer", "last_epoch"),
    ),
    Pair(
        optim.OneCycleLR,
        "optim.lr_scheduler.OneCycleLR",
        differs={"total_steps": (inspect.Parameter.empty, None)},  # or epochs and steps_per_epoch
        theirs_only=(
            "optimizer",
            "epochs",
            "steps_per_epoch",
            "cycle_momentum",
            "base_momentum",
            "max_momentum",
            "last_epoch",
        ),
        moved=("max_lr", "total_steps"),
    ),
    Pair(
        optim.ReduceLROnPlateau,
        "optim.lr_scheduler.ReduceLROnPlateau",
        ours_only=("lr", "metric"),
        theirs_only=("optimizer",),
    ),
    Pair(
        optim.EMA,
        "optim.swa_utils.get_ema_multi_avg_fn",
        ours_only=("warmup",),
    ),
    Pair(optim.StepLR, "optim.lr_scheduler.StepLR", ours_only=("lr",), theirs_only=("optimizer", "last_epoch")),
    Pair(
        optim.CosineLR,
        "optim.lr_scheduler.CosineAnnealingLR",
        ours_only=("lr", "total_steps", "warmup_steps"),  # total_steps is T_max and the warm-up
        theirs_only=("optimizer", "T_max", "last_epoch"),
        moved=("eta_min",),
    ),
    Pair(
        optim.clip_grad_norm,
        "nn.utils.clip_grad_norm_",
        ours_only=("grad",),
        theirs_only=("parameters", "norm_type", "error_if_nonfinite", "foreach"),
    ),
]


# Whom PyTorch's optimizers write to; ours meet parameters in `update`.
_OWNER = "params"


def _signature(member: Any) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(member.__init__ if inspect.isclass(member) else member).parameters.values()
    return {
        parameter.name: parameter
        for parameter in parameters
        if parameter.name != "self" and "VAR" not in parameter.kind.name
    }


def _places(parameters: dict[str, inspect.Parameter]) -> dict[str, int]:
    positional = [
        name
        for name, parameter in parameters.items()
        if name != _OWNER and parameter.kind is not parameter.KEYWORD_ONLY
    ]
    return {name: place for place, name in enumerate(positional)}


@pytest.mark.parametrize("pair", PAIRS, ids=[f"{pair.ours.__name__}-{pair.theirs}" for pair in PAIRS])
def test_constructor(torch: Any, pair: Pair) -> None:
    """G-D11."""
    theirs_member = torch
    for name in pair.theirs.split("."):
        theirs_member = getattr(theirs_member, name)
    ours, theirs = _signature(pair.ours), _signature(theirs_member)
    common = [name for name in ours if name in theirs]
    assert {name for name in ours if name not in theirs} == set(pair.ours_only)
    assert {name for name in theirs if name not in ours} == set(pair.theirs_only)
    differs = {
        name: (ours[name].default, theirs[name].default)
        for name in common
        if ours[name].default != theirs[name].default
    }
    assert differs == pair.differs
    ours_at, theirs_at = _places(ours), _places(theirs)
    assert tuple(name for name in common if name in ours_at and ours_at[name] != theirs_at.get(name)) == pair.moved


def test_every_public_class_has_its_peer_here() -> None:
    without_peer = {
        "LastStep",
        "Concat",
        "GlobalAvgPool2d",
        "LearnedPositions",
        "PerPosition",
        "Repeat",
        "Residual",
        "SinusoidalPositions",
        "CrossEntropy",
        "ConstantLR",
        "GradientOptimizer",
        "Group",
        "Lion",
        "Schedule",
        "Watching",
        "accumulate",
        "l2_penalty",
    }
    public = {name for module in (layers, losses, optim) for name in module.__all__ if not name.endswith("Grad")}
    assert public == {pair.ours.__name__ for pair in PAIRS} | without_peer


def test_adamw_decays_as_pytorchs_unless_told() -> None:
    assert optim.AdamW().settings.weight_decay == 0.01
    assert optim.AdamW(decay=0.1).settings.weight_decay == 0.0


# ---------------------------------------------------------------------------------------------------- initial values


def _distance(ours: Any, theirs: Any) -> float:
    """Kolmogorov and Smirnov's: the largest distance between the two distribution functions."""
    both = np.sort(np.concatenate([ours, theirs]))
    below = [np.searchsorted(np.sort(sample), both, side="right") / sample.size for sample in (ours, theirs)]
    return float(np.abs(below[0] - below[1]).max())


CASES = [
    pytest.param(Linear, (300, 200), {}, 300, "weight", id="Linear.weight"),
    pytest.param(Linear, (3, 20000), {}, 3, "bias", id="Linear.bias"),
    pytest.param(Conv2d, (12, 200, (3, 5)), {"bias": True}, 12 * 15, "weight", id="Conv2d.weight"),
    pytest.param(Conv2d, (2, 20000, (3, 5)), {"bias": True}, 2 * 15, "bias", id="Conv2d.bias"),
    pytest.param(Conv2d, (12, 400, (3, 5)), {"groups": 2}, 6 * 15, "weight", id="Conv2d.weight in groups"),
    pytest.param(ConvTranspose2d, (200, 12, (3, 5)), {}, 12 * 15, "weight", id="ConvTranspose2d.weight"),
]


@pytest.mark.parametrize(("layer", "arguments", "options", "fan_in", "name"), CASES)
def test_initial_values_are_pytorchs(
    torch: Any, layer: Any, arguments: Any, options: Any, fan_in: int, name: str
) -> None:
    """G-L1: Uniform between -1/√fan_in and 1/√fan_in, weights and biases, as PyTorch's own samples.

    With n numbers in each sample, 1.95·√(2/n) is the distance that two samples of one distribution exceed once in a
    thousand seeds; the seeds are fixed. Bounds and spread are compared with the rule itself, of both.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        theirs = getattr(getattr(torch.nn, layer.__name__)(*arguments, **options), name).detach().numpy().ravel()
    ours = np.asarray(getattr(layer(*arguments, **options, rng=np.random.default_rng(0)), name)).ravel()
    assert ours.size == theirs.size >= 20000
    bound = 1 / np.sqrt(fan_in)
    for sample in (ours, theirs):
        assert bound * 0.999 < np.abs(sample).max() <= bound * (1 + 1e-6)
        assert sample.std() == pytest.approx(bound / np.sqrt(3), rel=0.02)
        assert abs(sample.mean()) < 0.02 * bound
    assert _distance(ours, theirs) < 1.95 * np.sqrt(2 / ours.size)
