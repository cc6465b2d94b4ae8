"""Ten training steps of every optimizer and every option leave PyTorch's weights, after each step; so do schedules and
clipping.

Both engines begin at the same weights and see the same batches, but each computes its own gradients.
"""

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from typednn import Input
from typednn.layers import Linear, Tanh
from typednn.losses import MSE
from typednn.optim import (
    EMA,
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    AdamW,
    ConstantLR,
    CosineLR,
    ExponentialLR,
    Group,
    LinearLR,
    OneCycleLR,
    PolynomialLR,
    ReduceLROnPlateau,
    RMSprop,
    StepLR,
    clip_grad_norm,
)

pytestmark = pytest.mark.parity

STEPS = 10
# Weights and gradients are of size 1 here, so these bound absolute and relative differences alike. Rounding differs by
# an eps or so per step, and ten steps do not make it grow: the largest differences met are 3.4e-7 in float32 and
# 8.4e-16 in float64, both under Adam, which divides small means by small spreads; 8e-8 and 1.4e-16 under SGD. What is
# left to another processor or BLAS is a factor of thirty in float32 and of a thousand in float64. A wrong rule is off
# by 1e-3 or more after one or two steps.
TOLERANCE = {"float64": 1e-12, "float32": 1e-5}


class Net:
    """Linear, Tanh, Linear under squared error: one net, trained by both engines."""

    def __init__(self, peer: Any, dtype: Any) -> None:
        generator = np.random.default_rng(7)
        self.model = (Input(5) >> Linear(5, 8) >> Tanh() >> Linear(8, 3)).init(generator).astype(dtype)
        nn = peer.torch.nn
        self.twin = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3)).to(peer.tensor(np.zeros(1, dtype)).dtype)
        self.twin.load_state_dict({name: peer.tensor(array) for name, array in self.model.state_dict().items()})
        self.batches = [
            (generator.standard_normal((6, 5)).astype(dtype), generator.standard_normal((6, 3)).astype(dtype))
            for _ in range(STEPS)
        ]
        self.tolerance = TOLERANCE[dtype.name]
        self.peer = peer

    def ours(self, x: Any, target: Any) -> Any:
        """The gradient of one batch, typednn's."""
        return self.model.backward(MSE().loss_grad(self.model.forward(x), target))

    def theirs(self, x: Any, target: Any) -> None:
        """The gradient of one batch, left in PyTorch's parameters."""
        self.twin.zero_grad()
        self.peer.torch.nn.functional.mse_loss(self.twin(self.peer.tensor(x)), self.peer.tensor(target)).backward()

    def compare(self, step: int) -> None:
        for name, theirs in self.twin.state_dict().items():
            ours = self.model.state_dict()[name]
            assert str(theirs.dtype) == f"torch.{ours.dtype}"
            np.testing.assert_allclose(
                ours, theirs.numpy(), rtol=self.tolerance, atol=self.tolerance, err_msg=f"{name} after step {step}"
            )


def train(net: Net, ours: Any, theirs: Any, after_step: Callable[[], None] = lambda: None) -> None:
    before = {name: array.copy() for name, array in net.model.state_dict().items()}
    for step, (x, target) in enumerate(net.batches, start=1):
        net.model.update(ours, net.ours(x, target))
        net.theirs(x, target)
        theirs.step()
        after_step()
        net.compare(step)
    assert all(np.abs(array - before[name]).max() > 1e-3 for name, array in net.model.state_dict().items()), (
        "nothing was trained"
    )


OPTIONS = [
    ("SGD", {"lr": 0.3}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.4}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.05}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.05}),
    ("SGD", {"lr": 0.1, "momentum": 0.7, "dampening": 0.3, "weight_decay": 0.05}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.05}),
    ("Adam", {}),
    ("Adam", {"lr": 0.05}),
    ("Adam", {"lr": 0.05, "betas": (0.5, 0.7)}),
    ("Adam", {"lr": 0.05, "betas": (0.0, 0.9)}),
    ("Adam", {"lr": 0.05, "eps": 1e-2}),
    ("Adam", {"lr": 0.05, "weight_decay": 0.1}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.05}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.0}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.5}),
    ("AdamW", {"lr": 0.05, "betas": (0.9, 0.99), "eps": 1e-6, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.05, "amsgrad": True, "betas": (0.5, 0.5)}),  # betas under which the largest v is not the last
    ("AdamW", {"lr": 0.05, "amsgrad": True, "betas": (0.5, 0.5), "weight_decay": 0.5}),
    ("RMSprop", {}),
    ("RMSprop", {"lr": 0.02, "alpha": 0.5, "eps": 1e-3, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.01, "alpha": 0.9, "momentum": 0.9}),
    ("RMSprop", {"lr": 0.01, "alpha": 0.9, "centered": True}),
    ("RMSprop", {"lr": 0.01, "alpha": 0.9, "centered": True, "momentum": 0.5, "weight_decay": 0.1}),
    ("Adagrad", {}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.3, "weight_decay": 0.1}),
    ("Adagrad", {"lr": 0.1, "initial_accumulator_value": 0.5, "eps": 1e-3}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.5, "eps": 1e-3, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.05, "maximize": True}),
    ("Adam", {"lr": 0.05, "weight_decay": 0.1, "maximize": True}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.5, "maximize": True}),
    ("Adam", {"lr": 0.05, "amsgrad": True, "maximize": True}),
    ("RMSprop", {"lr": 0.01, "alpha": 0.9, "centered": True, "momentum": 0.5, "weight_decay": 0.1, "maximize": True}),
    ("Adagrad", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("Adadelta", {"weight_decay": 0.1, "maximize": True}),
]
OURS: dict[str, Any] = {
    "SGD": SGD,
    "Adam": Adam,
    "AdamW": AdamW,
    "RMSprop": RMSprop,
    "Adagrad": Adagrad,
    "Adadelta": Adadelta,
}


@pytest.mark.parametrize(
    ("name", "options"),
    OPTIONS,
    ids=[f"{name}({', '.join(f'{k}={v}' for k, v in options.items())})" for name, options in OPTIONS],
)
def test_ten_steps(peer: Any, dtype: Any, name: str, options: dict[str, Any]) -> None:
    """P-S4, X-O1, Z-O1, and the rules of Adam and AdamW."""
    net = Net(peer, dtype)
    train(net, OURS[name](**options), getattr(peer.torch.optim, name)(net.twin.parameters(), **options))


@pytest.mark.parametrize("name", OURS)
def test_copies_and_rates_that_are_set(peer: Any, dtype: Any, name: str) -> None:
    """PyTorch's steps are not interrupted; ours go on with a copy of model and optimizer after each, and one of three
    rates.
    """
    net = Net(peer, dtype)
    options: dict[str, Any] = {"momentum": 0.9} if name == "SGD" else {}
    ours, theirs = (
        OURS[name](lr=0.1, **options),
        getattr(peer.torch.optim, name)(net.twin.parameters(), lr=0.1, **options),
    )
    for step, batch in enumerate(net.batches, start=1):
        ours.lr = theirs.param_groups[0]["lr"] = (0.1, 0.02, 0.05)[step % 3]
        net.model.update(ours, net.ours(*batch))
        net.theirs(*batch)
        theirs.step()
        net.compare(step)
        net.model, ours = copy.deepcopy((net.model, ours))


def test_paper_l2_is_twice_pytorchs_weight_decay(peer: Any, dtype: Any) -> None:
    """P-S5: 2·l2·w against weight_decay·w."""
    net = Net(peer, dtype)
    train(net, SGD(0.1, 0.9, l2=0.025), peer.torch.optim.SGD(net.twin.parameters(), 0.1, 0.9, weight_decay=0.05))


def test_paper_decay_is_adamws_with_the_learning_rate_divided_out(peer: Any, dtype: Any) -> None:
    """P-S5: w·(1 - decay) against w·(1 - lr·weight_decay)."""
    net = Net(peer, dtype)
    train(net, AdamW(0.05, decay=0.05 * 0.3), peer.torch.optim.AdamW(net.twin.parameters(), 0.05, weight_decay=0.3))


def test_groups_are_pytorchs_parameter_groups(peer: Any, dtype: Any) -> None:
    net = Net(peer, dtype)
    named = dict(net.twin.named_parameters())
    biases = [value for name, value in named.items() if name.endswith("bias")]
    weights = [value for name, value in named.items() if name.endswith("weight")]
    theirs = peer.torch.optim.AdamW(
        [{"params": weights}, {"params": biases, "weight_decay": 0.0, "lr": 0.01}], lr=0.05, weight_decay=0.2
    )
    ours = AdamW(0.05, weight_decay=0.2, groups=[Group("*.bias", lr=0.01, weight_decay=0.0)]).bind(net.model)
    train(net, ours, theirs)


# ---------------------------------------------------------------------------------------------------- schedules


def step_lr(peer: Any, optimizer: Any) -> Any:
    return peer.torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)


def cosine(peer: Any, optimizer: Any) -> Any:
    return peer.torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20, eta_min=0.01)


def warmed_up_cosine(peer: Any, optimizer: Any) -> Any:
    schedulers = peer.torch.optim.lr_scheduler
    warm_up = schedulers.LinearLR(optimizer, start_factor=1 / 4, total_iters=3)
    return schedulers.SequentialLR(
        optimizer, [warm_up, schedulers.CosineAnnealingLR(optimizer, T_max=16, eta_min=0.01)], milestones=[4]
    )


def constant(peer: Any, optimizer: Any) -> Any:
    return peer.torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)


def of_the_name(name: str, **arguments: Any) -> Any:
    """PyTorch's scheduler of that name."""
    return lambda peer, optimizer: getattr(peer.torch.optim.lr_scheduler, name)(optimizer, **arguments)


def one_cycle(**arguments: Any) -> Any:
    return of_the_name("OneCycleLR", max_lr=0.2, total_steps=22, cycle_momentum=False, **arguments)


CYCLES: list[dict[str, Any]] = [
    {},
    {"pct_start": 0.5, "anneal_strategy": "linear"},
    {"div_factor": 5.0, "final_div_factor": 10.0, "three_phase": True},
    {"pct_start": 0.4, "anneal_strategy": "linear", "three_phase": True},
    {"pct_start": 0.0},
]

SCHEDULES = [
    pytest.param(ConstantLR(0.2), constant, id="constant"),
    pytest.param(StepLR(0.2, 3, 0.5), step_lr, id="step"),
    pytest.param(CosineLR(0.2, 20, eta_min=0.01), cosine, id="cosine"),
    pytest.param(CosineLR(0.2, 20, 4, 0.01), warmed_up_cosine, id="cosine with warm-up"),
    pytest.param(ExponentialLR(0.2, 0.9), of_the_name("ExponentialLR", gamma=0.9), id="exponential"),
    pytest.param(LinearLR(0.2), of_the_name("LinearLR"), id="linear"),
    pytest.param(
        LinearLR(0.2, 0.9, 0.1, 7),
        of_the_name("LinearLR", start_factor=0.9, end_factor=0.1, total_iters=7),
        id="linear down",
    ),
    pytest.param(PolynomialLR(0.2), of_the_name("PolynomialLR"), id="polynomial"),
    pytest.param(
        PolynomialLR(0.2, 8, 2.5), of_the_name("PolynomialLR", total_iters=8, power=2.5), id="polynomial of power 2.5"
    ),
    *[pytest.param(OneCycleLR(0.2, 22, **cycle), one_cycle(**cycle), id=f"one cycle {cycle}") for cycle in CYCLES],
]


@pytest.mark.parametrize(("schedule", "scheduler"), SCHEDULES)
def test_schedule(peer: Any, schedule: Any, scheduler: Any) -> None:
    """Every rate up to the last step; PyTorch reckons each from the one before, hence 1e-12 and not equality."""
    optimizer = peer.torch.optim.SGD([peer.tensor(np.ones(1), learnt=True)], 0.2)
    steps = scheduler(peer, optimizer)
    for step in range(21):
        assert schedule(step) == pytest.approx(steps.get_last_lr()[0], rel=1e-12, abs=1e-15), f"step {step}"
        optimizer.step()
        with warnings.catch_warnings():
            # SequentialLR calls its second scheduler in a way that PyTorch itself has deprecated.
            warnings.filterwarnings("ignore", "The epoch parameter", UserWarning)
            steps.step()


PLATEAUS: list[dict[str, Any]] = [
    {"patience": 2},
    {"mode": "max", "patience": 1, "factor": 0.5, "cooldown": 2},
    {"patience": 0, "threshold": 0.05, "threshold_mode": "abs", "min_lr": 0.01},
    {"mode": "max", "patience": 1, "threshold": 0.05, "threshold_mode": "abs"},
    {"patience": 0, "factor": 0.9, "eps": 0.01},
]


@pytest.mark.parametrize("options", PLATEAUS, ids=str)
def test_plateau(peer: Any, options: dict[str, Any]) -> None:
    """The rate after each of sixty values that fall, stay and rise; the same bits."""
    theirs = peer.torch.optim.SGD([peer.tensor(np.ones(1), learnt=True)], 0.2)
    scheduler = peer.torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, **options)
    optimizer = SGD(ReduceLROnPlateau(0.2, **options))
    rng, seen = np.random.default_rng(0), set()
    for number in range(60):
        value = float(1 / (1 + min(number, 20)) + rng.choice([0.0, 0.0, 0.03]))
        optimizer.observe({"loss": value})
        scheduler.step(value)
        assert optimizer.settings.lr(number) == theirs.param_groups[0]["lr"], number
        seen.add(theirs.param_groups[0]["lr"])
    assert len(seen) > 2


@pytest.mark.parametrize("decay", [0.5, 0.99])
def test_averages(peer: Any, dtype: Any, decay: float) -> None:
    """Ten steps: the average is AveragedModel's; forward with it too."""
    net = Net(peer, dtype)
    ours, theirs = Adam(0.05, ema=EMA(decay)).bind(net.model), peer.torch.optim.Adam(net.twin.parameters(), 0.05)
    swa = peer.torch.optim.swa_utils
    averaged = swa.AveragedModel(net.twin, multi_avg_fn=swa.get_ema_multi_avg_fn(decay))

    def update() -> None:
        averaged.update_parameters(net.twin)

    train(net, ours, theirs, update)
    for name, array in averaged.module.state_dict().items():
        np.testing.assert_allclose(
            ours.averages()[name], array.numpy(), rtol=net.tolerance, atol=net.tolerance, err_msg=name
        )
    x = net.batches[0][0]
    with ours.averaged():
        np.testing.assert_allclose(
            net.model.forward(x), averaged(peer.tensor(x)).detach().numpy(), rtol=net.tolerance, atol=net.tolerance
        )
    net.compare(STEPS)


def test_frozen_parameters_are_those_without_a_gradient(peer: Any, dtype: Any) -> None:
    """Z-O2: as with PyTorch's requires_grad = False; weight decay leaves them too."""
    net = Net(peer, dtype)
    start = net.model.state_dict()["0.weight"].copy()
    net.twin[0].weight.requires_grad_(False)
    ours = AdamW(0.05, weight_decay=0.5, groups=[Group("0.weight", frozen=True)]).bind(net.model)
    theirs = peer.torch.optim.AdamW(net.twin.parameters(), 0.05, weight_decay=0.5)
    for step, batch in enumerate(net.batches, start=1):
        net.model.update(ours, net.ours(*batch))
        net.theirs(*batch)
        theirs.step()
        net.compare(step)
    np.testing.assert_array_equal(net.model.state_dict()["0.weight"], start)


@pytest.mark.parametrize(("schedule", "scheduler"), SCHEDULES)
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_ten_steps_on_a_schedule(peer: Any, dtype: Any, schedule: Any, scheduler: Any, name: str) -> None:
    """An optimizer reads the rate of the step that it takes, for its decay as well."""
    net = Net(peer, dtype)
    optimizer = getattr(peer.torch.optim, name)(net.twin.parameters(), lr=0.2, weight_decay=0.1)
    steps = scheduler(peer, optimizer)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The epoch parameter", UserWarning)
        train(net, OURS[name](lr=schedule, weight_decay=0.1), optimizer, steps.step)


# ---------------------------------------------------------------------------------------------------- clipping


@pytest.mark.parametrize("max_norm", [0.0, 1e-3, 0.1, 1.0, 1e3])
def test_clip_grad_norm(peer: Any, close: Any, dtype: Any, max_norm: float) -> None:
    net = Net(peer, dtype)
    grad = net.ours(*net.batches[0])
    net.theirs(*net.batches[0])
    norm = peer.torch.nn.utils.clip_grad_norm_(net.twin.parameters(), max_norm)
    close(np.asarray(grad.norm(), dtype), norm.numpy(), "norm")
    clipped = net.model.named_gradients(clip_grad_norm(grad, max_norm))
    for name, theirs in net.twin.named_parameters():
        unit = max_norm if 0 < max_norm < 1 else 1.0
        close(clipped[name] / dtype.type(unit), theirs.grad.numpy() / dtype.type(unit), name)


def test_ten_clipped_steps(peer: Any, dtype: Any) -> None:
    net = Net(peer, dtype)
    ours, theirs = SGD(0.5, 0.9), peer.torch.optim.SGD(net.twin.parameters(), 0.5, 0.9)
    for step, batch in enumerate(net.batches, start=1):
        grad = net.ours(*batch)
        assert grad.norm() > 0.1
        net.model.update(ours, clip_grad_norm(grad, 0.1))
        net.theirs(*batch)
        peer.torch.nn.utils.clip_grad_norm_(net.twin.parameters(), 0.1)
        theirs.step()
        net.compare(step)
