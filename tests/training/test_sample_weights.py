"""fit with a weight for each sample: training, accumulation, evaluation, and going on."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn import Input
from typednn.data import Loader, MixUp
from typednn.errors import ArgumentError, StateDictError
from typednn.layers import Linear, Tanh
from typednn.losses import MSE, SoftmaxCrossEntropy
from typednn.optim import SGD, Adam
from typednn.training import Evaluation, fit

rng = np.random.default_rng(0)
X: Any = rng.standard_normal((12, 4), dtype=np.float32)
LABELS: Any = rng.integers(0, 3, 12)
TIMES = np.array([1, 2, 0, 3, 1, 1, 2, 0, 1, 4, 1, 2])
REPEATED = np.repeat(np.arange(12), TIMES)


def model() -> Any:
    return (Input(4) >> Linear(4, 5) >> Tanh() >> Linear(5, 3)).init(np.random.default_rng(1)).astype(np.float64)


def weights_after(x: Any, y: Any, **more: Any) -> tuple[Any, Any]:
    """The parameters after five steps of all rows, and the history."""
    trained, options = model(), {"epochs": 5, "progress": False}
    fitted = {name: more.pop(name) for name in ("accumulate", "validation") if name in more}
    loader: Any = Loader(x.astype(np.float64), y, shuffle=False, **{"batch_size": len(x), **more})
    history = fit(
        trained, SoftmaxCrossEntropy(weight=[1.0, 2.0, 0.5]), SGD(0.1, momentum=0.9), loader, **options, **fitted
    )
    return trained.parameters(), history


def test_a_weight_of_2_is_the_row_twice() -> None:
    ours, history = weights_after(X, LABELS, sample_weight=TIMES)
    theirs, expected = weights_after(X[REPEATED], LABELS[REPEATED])
    assert history.losses == pytest.approx(expected.losses, rel=1e-9)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-12)


def test_batches_of_one_step_count_as_one() -> None:
    """Of other weights in each: a batch counts its rows' weights."""
    ours, history = weights_after(X, LABELS, sample_weight=TIMES, batch_size=5, accumulate=3)
    whole, expected = weights_after(X, LABELS, sample_weight=TIMES)
    assert history.losses == pytest.approx(expected.losses, rel=1e-9)
    for mine, other in zip(ours, whole, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-12)


def test_an_evaluation_weighs_its_loss_and_counts_every_row() -> None:
    x = X.astype(np.float64)
    _, history = weights_after(X, LABELS, validation=Evaluation(x, LABELS, sample_weight=TIMES, batch_size=5))
    _, expected = weights_after(X, LABELS, validation=Evaluation(x[REPEATED], LABELS[REPEATED], batch_size=4))
    _, plain = weights_after(X, LABELS, validation=Evaluation(x, LABELS))
    assert [each.loss for each in history.evaluations] == pytest.approx([each.loss for each in expected.evaluations])
    assert [each.accuracy for each in history.evaluations] == [each.accuracy for each in plain.evaluations]
    first = Evaluation(x, LABELS, labels=LABELS, sample_weight=TIMES, batch_size=5).first()
    assert [len(each) for each in (first.x, first.y, first.labels, first.sample_weight)] == [5] * 4  # type: ignore[arg-type]


def test_weights_of_1_change_nothing_but_rounding() -> None:
    ours, _ = weights_after(X, LABELS, sample_weight=np.ones(12))
    plain, _ = weights_after(X, LABELS)
    for mine, other in zip(ours, plain, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-14)


def _loader(**more: Any) -> Any:
    return Loader(X, LABELS, batch_size=5, rng=np.random.default_rng(3), **{"sample_weight": TIMES + 0.5, **more})


def test_a_run_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    """Stopped within the second epoch, then continued in other objects."""

    def trained(folder: Path, *stops: int) -> Any:
        for steps in stops:
            model_ = (Input(4) >> Linear(4, 3)).init(np.random.default_rng(1))
            fit(
                model_,
                SoftmaxCrossEntropy(),
                Adam(0.01),
                _loader(),
                epochs=4,
                max_steps=steps,
                run=folder,
                progress=False,
                checkpoint_every=1,
            )
        return model_.parameters()

    whole, parts = trained(tmp_path / "whole", 12), trained(tmp_path / "parts", 4, 7, 12)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_batch_has_the_weights_of_its_rows() -> None:
    loader = _loader()
    seen = [batch for _ in range(2) for batch in loader.batches()]
    for batch in seen:
        np.testing.assert_array_equal(batch.sample_weight, TIMES[batch.indices] + 0.5)
    assert next(_loader(sample_weight=None).batches()).sample_weight is None


def test_a_position_belongs_to_its_weights() -> None:
    state = _loader().state_dict()
    with pytest.raises(StateDictError, match="sample_weight must be"):
        _loader(sample_weight=TIMES).load_state_dict(state)
    with pytest.raises(StateDictError, match="needs the keys"):
        _loader(sample_weight=None).load_state_dict(state)


@pytest.mark.parametrize(
    ("weight", "got"),
    [
        ([1.0], "float64 of shape (1,)"),
        (np.ones((12, 1)), "float64 of shape (12, 1)"),
        (-TIMES, "others"),
        (TIMES + np.inf, "others"),
        (["a"] * 12, "others"),
    ],
)
def test_what_is_refused(weight: Any, got: str) -> None:
    rule = "sample_weight must be 12 finite numbers, one per row, none below 0"
    for where, make in (
        ("Loader", lambda: _loader(sample_weight=weight)),
        ("Evaluation", lambda: Evaluation(X, LABELS, sample_weight=weight)),
    ):
        with pytest.raises(ArgumentError) as error:
            make()
        assert str(error.value).startswith(f"{where}: {rule}, got ")


def test_mixed_rows_have_no_weight_of_their_own() -> None:
    with pytest.raises(ArgumentError, match="MixUp joins rows, each of which has one weight, got sample_weight and"):
        _loader(augment=MixUp(classes=3))


def test_a_loss_of_ones_own_is_refused_before_a_folder_is_made(tmp_path: Path) -> None:
    class OfMine:
        def loss(self, prediction: Any, target: Any) -> float:
            return MSE().loss(prediction, target)

        def loss_grad(self, prediction: Any, target: Any) -> Any:
            return MSE().loss_grad(prediction, target)

    with pytest.raises(ArgumentError, match="fit: sample weights need a loss of typednn"):
        fit(model(), OfMine(), SGD(0.1), _loader(), epochs=1, run=tmp_path / "run")
    assert not (tmp_path / "run").exists()
