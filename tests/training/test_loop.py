"""The training loop: it learns, it is repeatable, it leaves things as it should."""

from typing import Any

import numpy as np
import pytest
from rich.console import Console
from rich.text import Text

from typednn import Input
from typednn.arrays import Array2, IntArray1
from typednn.data import batches
from typednn.errors import ArgumentError, NotForwarded, StateError
from typednn.layer import Chain, Layer
from typednn.layers import Linear, ReLU
from typednn.losses import MSE, SoftmaxCrossEntropy
from typednn.optim import SGD
from typednn.random import PCG32
from typednn.training import Epoch, fit


def _model() -> Chain[Array2, Array2, str, *tuple[Any, ...]]:
    return (Input(4) >> Linear(4, 8) >> ReLU() >> Linear(8, 2)).init(PCG32(0))


def _data(n: int = 50) -> tuple[Array2, IntArray1]:
    x = np.random.default_rng(0).standard_normal((n, 4), dtype=np.float32)
    return x, (x[:, 0] > x[:, 1]).astype(np.int64)


def _fit(model: Layer[Array2, Array2, Any], x: Array2, y: IntArray1, **changes: Any) -> Any:
    options: dict[str, Any] = {"epochs": 5, "batch_size": 8, "rng": PCG32(1), "progress": False}
    return fit(model, SoftmaxCrossEntropy(), SGD(0.3), x, y, **(options | changes))


def test_the_loss_falls() -> None:
    history = _fit(_model(), *_data(), epochs=20)
    assert [epoch.number for epoch in history.epochs] == list(range(1, 21))
    assert history.losses[0] > 0.4
    assert history.losses[-1] < 0.15
    assert all(epoch.seconds > 0 for epoch in history.epochs)


def test_equals_the_loop_written_out() -> None:
    """P-C4: each epoch in a new order from the one generator; the mean weighs the short last batch by its rows."""
    x, y = _data()
    trained = _model()
    history = _fit(trained, x, y, epochs=2)
    model, loss, optimizer, rng = _model(), SoftmaxCrossEntropy(), SGD(0.3), PCG32(1)
    for epoch in range(2):
        values, sizes = [], []
        for rows in batches(50, 8, rng):
            scores = model.forward(x[rows])
            values.append(loss.loss(scores, y[rows]))
            sizes.append(len(rows))
            model.update(optimizer, model.backward(loss.loss_grad(scores, y[rows])))
        np.testing.assert_allclose(history.losses[epoch], np.average(values, weights=sizes), rtol=1e-12)
    for mine, written_out in zip(trained.parameters(), model.parameters(), strict=True):
        assert mine.tobytes() == written_out.tobytes()


def test_targets_of_rank_two() -> None:
    x, _ = _data()
    model = (Input(4) >> Linear(4, 2)).init(PCG32(0))
    history = fit(model, MSE(), SGD(0.1), x, x[:, :2] * 2, epochs=30, batch_size=10, rng=PCG32(0), progress=False)
    assert history.losses[-1] < 0.02 * history.losses[0]


def test_trains_also_after_eval_and_keeps_nothing() -> None:
    model = _model().eval()
    before = [weights.copy() for weights in model.parameters()]
    _fit(model, *_data(), epochs=1)
    assert any(not np.array_equal(old, new) for old, new in zip(before, model.parameters(), strict=True))
    with pytest.raises(NotForwarded):
        model.backward(np.zeros((8, 2), np.float32))


def test_each_epoch_is_told() -> None:
    told: list[Epoch] = []
    history = _fit(_model(), *_data(), on_epoch=told.append)
    assert tuple(told) == history.epochs


def test_eval_in_on_epoch_does_no_harm() -> None:
    x, y = _data()
    model, other = _model(), _model()
    _fit(model, x, y, on_epoch=lambda _: model.eval())
    _fit(other, x, y)
    for mine, others in zip(model.parameters(), other.parameters(), strict=True):
        np.testing.assert_array_equal(mine, others)


def test_an_interruption_leaves_nothing_kept() -> None:
    model = _model()

    def interrupt(_: Epoch) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _fit(model, *_data(), on_epoch=interrupt)
    with pytest.raises(NotForwarded):
        model.backward(np.zeros((2, 2), np.float32))


def test_plain_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    _fit(_model(), *_data(), epochs=2, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split("  ")[0] for line in err.splitlines()] == ["epoch 1/2", "epoch 2/2"]
    assert "loss 0." in err
    assert "\x1b" not in err
    _fit(_model(), *_data(), progress=False)
    assert capsys.readouterr() == ("", "")


def test_a_bar_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def terminal(**options: Any) -> Console:
        return Console(force_terminal=True, width=100, **options)

    monkeypatch.setattr("typednn.training.loop.Console", terminal)
    _fit(_model(), *_data(), epochs=2, progress=True)
    shown = capsys.readouterr().err
    assert "━" in shown
    assert "7/7 loss 0." in " ".join(Text.from_ansi(shown).plain.split())
    assert "nan" not in shown
    assert "epoch 2/2" in shown


def test_divergence_is_told() -> None:
    x, y = _data()
    x[3, 2] = np.nan
    model = _model()
    with pytest.raises(StateError, match=r"fit: the loss must stay a finite number, got nan in epoch 1, batch \d; lower the learning rate"):
        _fit(model, x, y)
    with pytest.raises(NotForwarded):
        model.backward(np.zeros((8, 2), np.float32))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": 0}, "fit: epochs must be an integer of at least 1, got 0"),
        ({"batch_size": 0}, "fit: batch_size must be an integer of at least 1, got 0"),
        ({"batch_size": 2.0}, "batch_size must be an integer of at least 1, got 2.0"),
        ({"epochs": True}, "got True"),
    ],
)
def test_arguments_are_checked(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        _fit(_model(), *_data(), **changes)


def test_rows_must_pair() -> None:
    x, y = _data()
    with pytest.raises(ArgumentError, match="x and y must have as many rows, and at least one, got 50 and 49"):
        _fit(_model(), x, y[:49])
    with pytest.raises(ArgumentError, match="got 0 and 0"):
        _fit(_model(), x[:0], y[:0])
