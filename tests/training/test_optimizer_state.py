"""`fit` with a rate that follows the validation, averages of the weights, and frozen parameters; and the run that is
resumed.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn import Input
from typednn.data import Loader
from typednn.errors import ArgumentError
from typednn.layers import Linear, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import EMA, SGD, Adam, GradientOptimizer, Group, OneCycleLR, ReduceLROnPlateau
from typednn.random import PCG32
from typednn.recipes import recipe
from typednn.runs import Run
from typednn.testing.subject import bits
from typednn.training import Callback, EarlyStopping, Evaluation, Every, History, Measured, Step, evaluate, fit

X = np.random.default_rng(0).standard_normal((70, 4), dtype=np.float32)
Y = (X[:, 0] > X[:, 1]).astype(np.int64)


def net() -> Any:
    return (Input(4) >> Linear(4, 8) >> ReLU() >> Linear(8, 2)).init(PCG32(0))


def fitted(model: Any, optimizer: Any, *, epochs: int = 4, **changes: Any) -> History:
    options: dict[str, Any] = {"progress": False, "validation": Evaluation(X[50:], Y[50:])}
    loader = Loader(X[:50], Y[:50], batch_size=8, rng=PCG32(1))
    return fit(model, SoftmaxCrossEntropy(), optimizer, loader, epochs=epochs, **(options | changes))


class Rates(Callback):
    """The rate of every step, and every evaluation."""

    def __init__(self) -> None:
        self.rates: list[float | None] = []
        self.measured: list[Measured] = []

    def on_step(self, step: Step) -> None:
        self.rates.append(step.lr)

    def on_evaluation(self, measured: Measured) -> None:
        self.measured.append(measured)


class Falling(Callback):
    """Ends a training in the middle of an epoch, as if the power had gone."""

    def __init__(self, at: int) -> None:
        self.at = at

    def on_step(self, step: Step) -> None:
        if step.step == self.at:
            raise SystemError


@pytest.mark.parametrize("metric", ["loss", "accuracy"])
def test_a_plateau_is_told_each_evaluation(metric: str) -> None:
    """The rates are those of the same schedule, told the same values by hand."""
    told, mode = Rates(), "min" if metric == "loss" else "max"
    rule: dict[str, Any] = {"mode": mode, "factor": 0.5, "patience": 0, "threshold": 0.2, "metric": metric}
    fitted(net(), SGD(ReduceLROnPlateau(0.3, **rule)), callbacks=[told], evaluate_every=Every(steps=5))
    by_hand, expected = ReduceLROnPlateau(0.3, **rule), []
    values = {each.step: each.loss if metric == "loss" else each.accuracy for each in told.measured}
    for step in range(1, len(told.rates) + 1):
        expected.append(by_hand(step))
        if values.get(step) is not None:
            by_hand.observe(values[step] or 0.0)
    assert told.rates == expected
    assert len(set(told.rates)) > 2


def test_a_plateau_needs_a_validation() -> None:
    for optimizer in (SGD(ReduceLROnPlateau(0.1)), SGD(0.1, groups=[Group("0.*", lr=ReduceLROnPlateau(0.1))])):
        with pytest.raises(
            ArgumentError, match=r"fit: a schedule watches 'loss' of an evaluation, got no validation; pass validation="
        ):
            fitted(net(), optimizer, validation=None)
    with pytest.raises(ArgumentError, match="ReduceLROnPlateau watches one of 'loss', 'accuracy', got 'f1'"):
        fitted(net(), SGD(ReduceLROnPlateau(0.1, metric="f1")))


def test_groups_are_bound_by_fit() -> None:
    """As with a run, or an average; the result is that of an optimizer that was bound by hand."""
    bound, model, other = net(), net(), net()
    fitted(bound, SGD(0.1, groups=[Group("0.*", lr=0.5)]).bind(bound))
    fitted(model, SGD(0.1, groups=[Group("0.*", lr=0.5)]))
    assert bits(bound.state_dict()) == bits(model.state_dict())
    with pytest.raises(ArgumentError, match=r"group 'nothing\*' must match a parameter"):
        fitted(other, SGD(groups=[Group("nothing*")]))


def test_loss_and_optimizer_in_the_wrong_order() -> None:
    wrong: Any = (SGD(0.1), SoftmaxCrossEntropy())
    with pytest.raises(
        ArgumentError, match="fit: takes model, loss, optimizer, loader in this order, the loss with loss_grad, got SGD"
    ):
        fit(net(), *wrong, Loader(X, Y, batch_size=8, rng=PCG32(0)), epochs=1)


# ------------------------------------------------------------------ averages


def test_the_average_is_what_is_measured_and_what_is_left() -> None:
    """Training goes its way as without; evaluations and the model at the end have the average, also of
    a loop by hand.
    """
    model, plain, told = net(), net(), Rates()
    optimizer, its = Adam(0.05, ema=0.8), Adam(0.05)
    history = fitted(model, optimizer, callbacks=[told])
    fitted(plain, its)
    other = net()
    by_hand = Adam(0.05, ema=0.8).bind(other)
    loss, loader = SoftmaxCrossEntropy(), Loader(X[:50], Y[:50], batch_size=8, rng=PCG32(1))
    for epoch in range(4):
        for batch in loader.batches():
            other.update(by_hand, other.backward(loss.loss_grad(other.forward(batch.x), batch.y)))
        with by_hand.averaged():
            assert told.measured[epoch].loss == pytest.approx(loss.loss(evaluate(other, X[50:]), Y[50:]), rel=1e-12)
        assert told.measured[epoch].loss != loss.loss(evaluate(other, X[50:]), Y[50:])
    for name, array in model.named_parameters().items():
        np.testing.assert_array_equal(array, by_hand.averages()[name])
        np.testing.assert_array_equal(other.named_parameters()[name], plain.named_parameters()[name])
    assert history.steps == 28


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_checkpoints_have_both_and_models_get_the_average(dtype: Any, tmp_path: Path) -> None:
    """To train on, the weights; to predict, the average: of the last step, and of the best."""
    model, optimizer = net().astype(dtype), Adam(0.3, ema=0.8)
    loader = Loader(X[:50].astype(dtype), Y[:50], batch_size=8, rng=PCG32(1))
    with Run.create(tmp_path / "run", "", model) as run:
        validation = Evaluation(X[50:].astype(dtype), Y[50:])
        fit(
            model,
            SoftmaxCrossEntropy(),
            optimizer,
            loader,
            epochs=6,
            progress=False,
            validation=validation,
            run=run,
            keep=10,
        )
        latest, best = net().astype(dtype), net().astype(dtype)
        checkpoint = run.load_weights(latest, "latest")
        assert checkpoint.state.best is not None
        run.load_weights(best, "best")
        at_best = run.checkpoint("best").optimizer
    for name, array in model.named_parameters().items():
        np.testing.assert_array_equal(latest.named_parameters()[name], array)
        np.testing.assert_array_equal(checkpoint.optimizer[f"{name}.ema"].astype(dtype), array)
        assert not np.array_equal(checkpoint.weights[name], array)
        np.testing.assert_array_equal(best.named_parameters()[name], at_best[f"{name}.ema"].astype(dtype))


@pytest.mark.parametrize("in_a_run", [False, True])
def test_the_best_weights_are_averages(in_a_run: bool, tmp_path: Path) -> None:
    """Early stopping leaves the model on which the best evaluation was measured."""
    model, optimizer = net(), Adam(0.3, ema=0.5)
    early = EarlyStopping(patience=3)
    if in_a_run:
        with Run.create(tmp_path / "run", "", model) as run:
            history = fitted(model, optimizer, epochs=30, early_stopping=early, run=run)
    else:
        history = fitted(model, optimizer, epochs=30, early_stopping=early)
    assert history.stopped == "early stopping"
    assert history.best is not None
    assert history.best.step < history.steps
    assert SoftmaxCrossEntropy().loss(evaluate(model, X[50:]), Y[50:]) == pytest.approx(-history.best.value, rel=1e-12)


# ------------------------------------------------------------------ resumed


def everything() -> GradientOptimizer:
    groups = [
        Group("0.bias", frozen=True),
        Group("3.*", lr=ReduceLROnPlateau(0.05, patience=1, threshold=0.5, cooldown=1)),
        Group("*.bias", l2=0.01),
    ]
    return Adam(
        ReduceLROnPlateau(0.05, patience=0, factor=0.5, threshold=0.3),
        amsgrad=True,
        ema=EMA(0.9, warmup=True),
        groups=groups,
    )


@pytest.mark.parametrize("at", [3, 9, 16])
def test_a_run_that_fell_ends_with_the_same_bits(at: int, tmp_path: Path) -> None:
    """Z-O2, X-O1: groups, rates that follow the validation, AMSGrad, averages; checkpoints every third step."""

    def trained(folder: Path, *callbacks: Callback) -> Any:
        model = (Input(4) >> Linear(4, 8) >> ReLU() >> Linear(8, 4) >> Linear(4, 2)).init(PCG32(0))
        with Run.open(folder) if folder.exists() else Run.create(folder, "", model) as run:
            fitted(model, everything().bind(model), run=run, callbacks=callbacks, checkpoint_every=3, evaluate_every=4)
            return run.checkpoint("latest")

    straight = trained(tmp_path / "straight")
    with pytest.raises(SystemError):
        trained(tmp_path / "fell", Falling(at))
    resumed = trained(tmp_path / "fell")
    assert resumed.state.step == straight.state.step == 28
    assert resumed.weights.keys() == straight.weights.keys()
    assert resumed.optimizer.keys() == straight.optimizer.keys()
    assert float(straight.optimizer["lr.rate"]) < 0.05
    assert float(straight.optimizer["groups.1.lr.rate"]) < 0.05
    assert "0.bias.m" not in straight.optimizer
    for name, value in (straight.weights | straight.optimizer).items():
        np.testing.assert_array_equal((resumed.weights | resumed.optimizer)[name], value, err_msg=name)


def test_a_rate_that_was_set_survives_a_resume(tmp_path: Path) -> None:
    model, told = net(), Rates()
    optimizer = SGD(0.3).bind(model)

    class Halved(Callback):
        def on_step(self, step: Step) -> None:
            optimizer.lr = 0.3 * 0.5**step.step

    with Run.create(tmp_path / "run", "", model) as run:
        fitted(model, optimizer, run=run, epochs=1, callbacks=[Halved()])
    with Run.open(tmp_path / "run") as run:
        fitted(net(), SGD(0.3), run=run, epochs=2, callbacks=[told])
    assert told.rates == [0.3 * 0.5**7] * 7


def test_recipes_take_them_all() -> None:
    """A cycle is as long as the training; EMA and plateaus are tables."""
    one = recipe("mlp").changed(
        {"optimizer.lr": {"type": "OneCycleLR", "max_lr": 0.1}, "optimizer.ema": {"type": "EMA", "decay": 0.9}}
    )
    optimizer: Any = one.checked(steps=40).optimizer()
    assert optimizer.settings.lr == OneCycleLR(0.1, 40)
    assert optimizer.ema == EMA(0.9)
