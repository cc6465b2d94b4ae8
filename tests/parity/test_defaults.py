"""Constructors have PyTorch's names, order and defaults; every exception is written down here, and must still be one."""

import inspect
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from typednn import layers, losses, optim
from typednn.layers import Conv2d, Linear

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
ENGINE = ("foreach", "maximize", "capturable", "differentiable", "fused")  # how PyTorch computes the same; maximize: negate the loss
PAPER = ("l2", "decay", "groups")  # the paper's two meanings of weight decay; PyTorch's groups stand in its `params`

PAIRS = [
    Pair(layers.Linear, "nn.Linear", ours_only=INITIAL, theirs_only=PLACE),
    Pair(layers.SequenceLinear, "nn.Linear", ours_only=INITIAL, theirs_only=PLACE),
    Pair(
        layers.Conv2d,
        "nn.Conv2d",
        differs={"bias": (False, True)},  # the paper's eq 25 has none
        ours_only=INITIAL,
        theirs_only=("padding", "groups", "padding_mode", *PLACE),  # Pad2d pads
    ),
    Pair(layers.MaxPool2d, "nn.MaxPool2d", theirs_only=("padding", "return_indices", "ceil_mode")),
    Pair(layers.ReLU, "nn.ReLU", theirs_only=("inplace",)),
    Pair(layers.LeakyReLU, "nn.LeakyReLU", theirs_only=("inplace",)),
    Pair(
        layers.PReLU,
        "nn.PReLU",
        differs={"init": (0.01, 0.25)},  # ml-rs's
        ours_only=("rng",),
        theirs_only=("num_parameters", *PLACE),  # one slope for all channels
    ),
    Pair(layers.Sigmoid, "nn.Sigmoid"),
    Pair(layers.Tanh, "nn.Tanh"),
    Pair(layers.Softmax, "nn.Softmax", theirs_only=("dim",)),  # always over the features
    Pair(layers.Flatten, "nn.Flatten", theirs_only=("start_dim", "end_dim")),  # always all but the batch
    Pair(layers.Identity, "nn.Identity"),
    Pair(layers.Pad2d, "nn.ReplicationPad2d", ours_only=("mode", "value")),
    Pair(
        layers.Pad2d,
        "nn.ConstantPad2d",
        differs={"value": (0.0, inspect.Parameter.empty)},  # ZeroPad2d's
        ours_only=("mode",),
        moved=("value",),
    ),
    Pair(losses.MSE, "nn.MSELoss", theirs_only=OLD, moved=("reduction",)),
    Pair(
        losses.SoftmaxCrossEntropy,
        "nn.CrossEntropyLoss",
        differs={"reduction": ("batchmean", "mean")},  # one meaning; "mean" is the paper's over batch and classes
        theirs_only=("weight", "ignore_index", "label_smoothing", *OLD),
        moved=("reduction",),
    ),
    Pair(optim.SGD, "optim.SGD", ours_only=PAPER, theirs_only=("params", "foreach", "maximize", "differentiable", "fused")),
    Pair(optim.Adam, "optim.Adam", ours_only=PAPER, theirs_only=("params", "amsgrad", "decoupled_weight_decay", *ENGINE)),
    Pair(
        optim.AdamW,
        "optim.AdamW",
        differs={"weight_decay": (None, 0.01)},  # None: 0.01, unless l2 or decay is given
        ours_only=PAPER,
        theirs_only=("params", "amsgrad", *ENGINE),
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
    return {parameter.name: parameter for parameter in parameters if parameter.name != "self" and "VAR" not in parameter.kind.name}


def _places(parameters: dict[str, inspect.Parameter]) -> dict[str, int]:
    positional = [name for name, parameter in parameters.items() if name != _OWNER and parameter.kind is not parameter.KEYWORD_ONLY]
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
    differs = {name: (ours[name].default, theirs[name].default) for name in common if ours[name].default != theirs[name].default}
    assert differs == pair.differs
    ours_at, theirs_at = _places(ours), _places(theirs)
    assert tuple(name for name in common if name in ours_at and ours_at[name] != theirs_at.get(name)) == pair.moved


def test_every_public_class_has_its_peer_here() -> None:
    without_peer = {
        "PerPosition",
        "Repeat",
        "Residual",
        "CrossEntropy",
        "ConstantLR",
        "GradientOptimizer",
        "Group",
        "Schedule",
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
]


@pytest.mark.parametrize(("layer", "arguments", "options", "fan_in", "name"), CASES)
def test_initial_values_are_pytorchs(torch: Any, layer: Any, arguments: Any, options: Any, fan_in: int, name: str) -> None:
    """Uniform between -1/√fan_in and 1/√fan_in, weights and biases, as PyTorch's own samples.

    With n numbers in each sample, 1.95·√(2/n) is the distance that two samples of one distribution exceed once in a thousand
    seeds; the seeds are fixed. Bounds and spread are compared with the rule itself, of both.
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
