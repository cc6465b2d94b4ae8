"""typednn.sklearn: estimators that are held to scikit-learn's own checks; beside them what is typednn's."""

import copy
import importlib
import io
import pickle  # noqa: TID251  # that it is safe to load what an estimator writes is tested here
import pickletools
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

import joblib
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter

from typednn import Input
from typednn.data import Loader
from typednn.errors import ArgumentError, ConfigError, MissingExtra, TypednnError
from typednn.layers import BatchNorm1d, Conv2d, Dropout, Flatten, Linear, ReLU
from typednn.optim import SGD, AdamW
from typednn.sklearn import Classifier, Regressor

pytestmark = pytest.mark.usefixtures("on_the_reference")

CONFIG = """
format = 1
input = [2]
[[layer]]
type = "Linear"
in_features = 2
out_features = 8
[[layer]]
type = "Tanh"
[[layer]]
type = "Linear"
in_features = 8
out_features = 3
[optimizer]
type = "SGD"
lr = 0.25
"""


def images(features: int, outputs: int) -> Any:
    """A model that reads rows of 64 numbers as images."""
    assert features == 64
    return Input(8, 8, 1) >> Conv2d(1, 4, 3) >> ReLU() >> Flatten() >> Linear(144, outputs)


def drops(features: int, outputs: int) -> Any:
    """A model with a generator and buffers of its own."""
    rng = np.random.default_rng(7)
    return Input(features) >> Linear(features, 16) >> BatchNorm1d(16) >> Dropout(0.5, rng=rng) >> Linear(16, outputs)


def three_corners(rows: int = 90) -> tuple[Any, Any]:
    """Rows of two numbers around three corners, and the names of the corners."""
    rng = np.random.default_rng(0)
    labels = np.arange(rows) % 3
    corners = np.array([[2.0, 0.0], [-2.0, 1.0], [0.0, -2.0]])
    return corners[labels] + 0.3 * rng.standard_normal((rows, 2)), np.array(["west", "north", "east"])[labels]


@parametrize_with_checks([Classifier(epochs=40), Regressor(epochs=40)])
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    """All of them, none expected to fail."""
    check(estimator)


@pytest.mark.parametrize(
    "model",
    [
        pytest.param((8,), id="hidden sizes"),
        pytest.param([6, 5], id="a list of them"),
        pytest.param((), id="none"),
        pytest.param(CONFIG, id="a config"),
        pytest.param(lambda features, outputs: Input(features) >> Linear(features, outputs), id="a function"),
        pytest.param(Input(2) >> Linear(2, 5) >> ReLU() >> Linear(5, 3), id="a model"),
        pytest.param(Linear(2, 3), id="a layer"),
    ],
)
def test_every_kind_of_model_learns(model: Any) -> None:
    x, y = three_corners()
    trained = Classifier(model, epochs=60, random_state=0, batch_size=10).fit(x, y)
    assert trained.score(x, y) > 0.95
    assert trained.classes_.tolist() == ["east", "north", "west"]
    shares = trained.predict_proba(x.tolist())
    assert shares.dtype == np.float64
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-14)
    assert (trained.classes_[shares.argmax(axis=1)] == trained.predict(x)).all()


def test_a_config_brings_its_optimizer_unless_another_is_named() -> None:
    x, y = three_corners()
    rates = {
        0.25: Classifier(CONFIG, epochs=1),
        0.5: Classifier(CONFIG, epochs=1, learning_rate=0.5),
        0.125: Classifier(CONFIG, epochs=1, optimizer=SGD(0.125)),
        0.001: Classifier(CONFIG, epochs=1, optimizer="AdamW"),
    }
    assert {rate: each.fit(x, y)._optimizer.lr for rate, each in rates.items()} == {rate: rate for rate in rates}
    assert isinstance(rates[0.001]._optimizer, AdamW)


def test_a_given_model_and_optimizer_stay_as_they_are() -> None:
    x, y = three_corners()
    model, optimizer = (Input(2) >> Linear(2, 3)).init(np.random.default_rng(0)), SGD(0.1)
    before = model.parameters()[0].copy()
    Classifier(model, optimizer=optimizer, epochs=2).fit(x, y)
    assert (model.parameters()[0] == before).all()
    assert optimizer.steps == 0


def test_rows_become_the_images_that_a_model_reads() -> None:
    x, y = load_digits(return_X_y=True)
    learn_x, test_x, learn_y, test_y = train_test_split(x / 16, y, random_state=0, train_size=600, stratify=y)
    ours = Classifier(images, epochs=12, optimizer="Adam", learning_rate=5e-3, random_state=0).fit(learn_x, learn_y)
    peer = MLPClassifier((32,), random_state=0, max_iter=60, tol=0.0, learning_rate_init=5e-3)
    with pytest.warns(match="Maximum iterations"):
        peer.fit(learn_x, learn_y)
    assert ours.score(test_x, test_y) > max(0.9, peer.score(test_x, test_y) - 0.03)


def test_a_straight_line_is_the_peers() -> None:
    """Without hidden layers, a regression by steps comes to the solution of the least squares."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 3))
    y = x @ np.array([[1.0, -1.0], [0.5, 2.0], [0.0, 1.0]]) + [1.0, -2.0] + 0.1 * rng.standard_normal((200, 2))
    peer = LinearRegression().fit(x, y)
    ours = Regressor((), optimizer="SGD", learning_rate=0.1, epochs=150, batch_size=200, random_state=0).fit(x, y)
    weight, bias = (np.asarray(array) for array in ours.model_.parameters())
    np.testing.assert_allclose(weight, peer.coef_, atol=1e-4)
    np.testing.assert_allclose(bias, peer.intercept_, atol=1e-4)
    np.testing.assert_allclose(ours.predict(x), peer.predict(x), atol=1e-3)
    assert ours.score(x, y) == pytest.approx(peer.score(x, y), abs=1e-5)


FAR: dict[str, Any] = {
    "dates": np.arange(20261101.0, 20261131.0),
    "Unix seconds": 1.79e9 + 10.0 * np.arange(60),
    "near a million": 1e6 + 0.01 * np.random.default_rng(0).standard_normal(200),
}


@pytest.mark.parametrize("numbers", FAR.values(), ids=FAR)
def test_numbers_that_float32_cannot_tell_apart(numbers: Any) -> None:
    """As inputs and as targets: a line through them has an R² of 1; also in copies and after later passes. Another
    column stays.
    """
    scaled = (numbers - numbers.mean()) / numbers.std()
    other = np.random.default_rng(1).standard_normal(len(numbers))
    x, y = np.column_stack([numbers, other]), 2 * scaled - other + 1
    line = Regressor((), optimizer="SGD", learning_rate=0.1, epochs=100, batch_size=10, random_state=0)
    trained = clone(line).fit(x, y)
    assert trained.score(x, y) > 0.9999
    assert len(np.unique(trained.predict(x[:, :1] * [1, 0]))) == len(numbers)
    weight, bias = (np.asarray(array, np.float64) for array in trained.model_.parameters())
    np.testing.assert_allclose(
        trained.predict(x), (np.column_stack([scaled, other]) @ weight.T + bias)[:, 0], rtol=1e-5, atol=1e-5
    )
    copied = _through_pickle(trained)
    np.testing.assert_array_equal(copied.predict(x), trained.predict(x))
    assert trained.partial_fit(x[:10], y[:10]).score(x, y) > 0.9999, "moved as at the first"
    both = np.column_stack([numbers, other])
    told = clone(line).fit(np.column_stack([scaled, other]), both).predict(np.column_stack([scaled, other]))
    np.testing.assert_allclose(told, both, atol=0.01 * numbers.std(), rtol=0)
    late = numbers > np.median(numbers)
    assert (
        Classifier((), learning_rate=0.05, epochs=100, random_state=0)
        .fit(numbers[:, None], late)
        .score(numbers[:, None], late)
        > 0.97
    )


@pytest.mark.parametrize("column", [np.full(30, 7e6), np.arange(1990.0, 2020.0), np.arange(30.0) / 30])
def test_other_columns_are_as_they_are(column: Any) -> None:
    """Of equal numbers, of years, of fractions: what predicts is the model alone."""
    x = np.column_stack([column, np.random.default_rng(0).standard_normal(30)])
    trained = Regressor((), optimizer="SGD", learning_rate=0.0, epochs=1, random_state=0).fit(x, x[:, 1])
    weight, bias = (np.asarray(array, np.float64) for array in trained.model_.parameters())
    np.testing.assert_allclose(trained.predict(x), (x @ weight.T + bias)[:, 0], rtol=1e-6)


def test_targets_keep_their_shape() -> None:
    x = np.random.default_rng(0).standard_normal((30, 2))
    for y in (x[:, 0], x[:, :1], x):
        assert Regressor((3,), epochs=1).fit(x, y).predict(x[:7]).shape == (7, *y.shape[1:])


def test_pipelines_searches_and_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search runs in two other processes."""
    monkeypatch.setenv("TYPEDNN_ENGINE", "reference")
    x, y = three_corners()
    pipeline = make_pipeline(StandardScaler(), Classifier((8,), epochs=15, learning_rate=0.02, random_state=0))
    scores = cross_val_score(pipeline, 100 * x + 5, y, cv=3)
    assert scores.min() > 0.9
    grid = {"classifier__model": [(), (8,)], "classifier__learning_rate": [1e-7, 0.02]}
    search = GridSearchCV(pipeline, grid, cv=2, n_jobs=2).fit(100 * x + 5, y)
    assert search.best_params_["classifier__learning_rate"] == 0.02
    assert search.best_score_ > 0.9
    scaled = TransformedTargetRegressor(Regressor((), learning_rate=0.05, epochs=30), transformer=StandardScaler())
    assert scaled.fit(x, 1000 * x[:, 0] - 500).score(x, 1000 * x[:, 0] - 500) > 0.99


def _through_pickle(trained: Any) -> Any:
    return pickle.loads(pickle.dumps(trained))


def _through_joblib(trained: Any) -> Any:
    stream = io.BytesIO()
    joblib.dump(trained, stream)
    stream.seek(0)
    return joblib.load(stream)


@pytest.mark.parametrize("through", [copy.deepcopy, _through_pickle, _through_joblib])
@pytest.mark.parametrize("model", [(8,), CONFIG, drops], ids=["sizes", "config", "function"])
def test_copies_predict_and_go_on_the_same(model: Any, through: Any) -> None:
    """Weights, buffers, moments, generators of the model and of the order: a copy's next steps are the original's to
    the bit.
    """
    x, y = three_corners()
    trained = Classifier(model, optimizer="Adam", epochs=2, random_state=0, batch_size=8).fit(x, y)
    other = through(trained)
    assert (other.predict_proba(x) == trained.predict_proba(x)).all()
    assert other.loss_curve_ == trained.loss_curve_
    for each in (trained, other):
        each.partial_fit(x[:40], y[:40])
    assert (other.predict_proba(x) == trained.predict_proba(x)).all()


def test_a_copy_is_of_what_was_fitted() -> None:
    x, y = three_corners()
    trained = Classifier((8,), epochs=2, random_state=0).fit(x, y).set_params(model=(3,), optimizer="SGD")
    other = _through_pickle(trained)
    assert (other.predict_proba(x) == trained.predict_proba(x)).all()
    assert other.get_params() == trained.get_params()


def test_a_pickle_holds_arrays_and_parameters_only() -> None:
    """Of typednn it names the estimator and its records; no layer, no model, no function."""
    x, y = three_corners()
    written = pickle.dumps(Classifier(CONFIG, epochs=2, random_state=0).fit(x, y))
    words = [str(value) for operation, value, _ in pickletools.genops(written) if "UNICODE" in operation.name]
    named = {word for word in words if word.partition(".")[0] in ("typednn", "sklearn")}
    assert named == {"typednn.sklearn", "typednn.runs.history"}


def test_an_unfitted_one_is_copied_too() -> None:
    other = _through_pickle(clone(Classifier((5,), optimizer=SGD(0.1), epochs=3)))
    assert other.get_params()["epochs"] == 3
    assert isinstance(other.optimizer, SGD)
    with pytest.raises(NotFittedError):
        other.predict([[1.0, 2.0]])


def test_early_stopping_takes_the_best_weights() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((60, 4)), rng.integers(0, 2, 60)  # nothing to learn: soon it only gets worse
    trained = Classifier(
        (32,), learning_rate=0.05, epochs=300, early_stopping=True, n_iter_no_change=3, random_state=0
    ).fit(x, y)
    history = trained.history_
    assert history.stopped == "early stopping"
    assert trained.n_iter_ == len(history.epochs) == len(trained.loss_curve_) < 300
    losses = [measured.loss for measured in history.evaluations]
    assert int(np.argmin(losses)) == len(losses) - 4
    with pytest.raises(ValueError, match="test_size"):  # scikit-learn's own
        Classifier(early_stopping=True, validation_fraction=0.001).fit(x[:10], y[:10])


def test_one_partial_fit_is_a_fit_of_one_epoch() -> None:
    x, y = three_corners()
    whole = Classifier((8,), epochs=1, random_state=3).fit(x, y)
    part = Classifier((8,), random_state=3).partial_fit(x, y, classes=["west", "east", "north"])
    assert (whole.predict_proba(x) == part.predict_proba(x)).all()
    numbers = (
        Regressor((8,), epochs=1, random_state=3).fit(x, x[:, 0]),
        Regressor((8,), random_state=3).partial_fit(x, x[:, 0]),
    )
    assert (numbers[0].predict(x) == numbers[1].predict(x)).all()


def test_seeds() -> None:
    x, y = three_corners()

    def shares(seed: Any) -> Any:
        return Classifier((8,), epochs=1, random_state=seed).fit(x, y).predict_proba(x)

    assert (shares(1) == shares(1)).all()
    assert (shares(1) != shares(2)).any()
    assert (shares(None) != shares(None)).any()


def test_progress_is_shown_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    x, y = three_corners()
    Classifier((), epochs=2).fit(x, y)
    assert capsys.readouterr() == ("", "")
    Classifier((), epochs=2, verbose=True).fit(x, y)
    assert "epoch 2/2" in capsys.readouterr().err


# All rows in each step.
WHOLE: dict[str, Any] = {"optimizer": "SGD", "learning_rate": 0.5, "batch_size": 500, "random_state": 0}


def test_a_classifier_weighs_samples_and_classes_as_the_peer_does() -> None:
    """Without hidden layers, it comes to the weighted solution of the logistic regression."""
    rng = np.random.default_rng(0)
    x, names = rng.standard_normal((150, 3)), np.array(["no", "perhaps", "yes"])
    y = names[np.digitize(x @ [1.0, -1.0, 0.5] + rng.standard_normal(150), [-0.3, 1.5])]
    weight = rng.uniform(0.0, 3.0, 150)
    chosen: Any
    for chosen in (None, {"no": 1.0, "perhaps": 0.25, "yes": 4.0}, "balanced"):
        times = weight
        if chosen == "balanced":  # of the rows as they are weighed
            times = weight * np.array([weight.sum() / (3 * weight[y == label].sum()) for label in y])
        peer = LogisticRegression(C=1e12, class_weight=None if chosen == "balanced" else chosen, tol=1e-10)
        peer.fit(x, y, times)
        ours = Classifier((), epochs=1500, class_weight=chosen, **WHOLE).fit(x, y, sample_weight=weight)
        np.testing.assert_allclose(ours.predict_proba(x), peer.predict_proba(x), atol=2e-3)


def test_a_regressor_weighs_samples_as_the_peer_does() -> None:
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal((200, 3)), rng.uniform(0.0, 3.0, 200)
    y = x @ np.array([1.0, 0.5, -2.0]) + x[:, 0] ** 2
    peer = LinearRegression().fit(x, y, weight)
    ours = Regressor((), epochs=200, **{**WHOLE, "learning_rate": 0.1}).fit(x, y, sample_weight=weight)
    np.testing.assert_allclose(ours.predict(x), peer.predict(x), atol=1e-3)


@pytest.mark.parametrize("estimator", [Classifier, Regressor])
def test_a_sample_of_weight_2_is_there_twice(estimator: Any) -> None:
    """And one of weight 0 is not there: also in partial_fit, and among the rows that are held back."""
    assert has_fit_parameter(estimator(), "sample_weight")
    rng = np.random.default_rng(0)
    x, y, times = rng.standard_normal((40, 3)), rng.integers(0, 3, 40), rng.integers(0, 3, 40)
    repeated = np.repeat(np.arange(40), times)
    for train in (estimator.fit, estimator.partial_fit):
        ours, theirs = estimator((5,), epochs=20, **WHOLE), estimator((5,), epochs=20, **WHOLE)
        train(ours, x, y, sample_weight=times)
        train(theirs, x[repeated], y[repeated])
        np.testing.assert_allclose(ours.predict(x), theirs.predict(x), rtol=1e-4, atol=1e-5)
    held_back = estimator((5,), epochs=4, early_stopping=True, random_state=0).fit(x, y, sample_weight=times)
    alone = estimator((5,), epochs=4, early_stopping=True, random_state=0)
    alone.fit(x[times > 0], y[times > 0], sample_weight=times[times > 0])
    assert held_back.history_.evaluations == alone.history_.evaluations


def test_what_weights_are_refused() -> None:
    x, y = three_corners()
    for weight, message in (
        (np.ones(3), "Classifier: sample_weight must be 90 finite numbers, one per row, none below 0, got float64"),
        (np.zeros(90), "Classifier: one of sample_weight must be above 0, got zeros"),
    ):
        with pytest.raises(ArgumentError, match=message):
            Classifier((), epochs=1).fit(x, y, weight)
    with pytest.raises(ValueError, match="must be an instance of 'dict', a str among"):
        Classifier((), class_weight="even").fit(x, y)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="class_weight 'balanced' counts all rows, got some of them; give the"):
        Classifier((), class_weight="balanced").partial_fit(x, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"model": (0,)}, "Classifier: a size in model must be an integer of at least 1, got 0"),
        (
            {"model": 5},
            "Classifier: model is sizes of hidden layers, a config's text, a function that gives a model, or a "
            "model, got 5",
        ),
        ({"model": lambda *_: None}, "Classifier: model is sizes of hidden layers"),
        (
            {"model": Linear(2, 2)},
            "Classifier: model reads rows of 2 numbers and gives 3 for each, got 2, and 2; a function",
        ),
        (
            {"model": Input(3) >> Linear(3, 3)},
            "Classifier: model reads rows of 2 numbers and gives 3 for each, got 3, and 3",
        ),
        ({"optimizer": "adam"}, "Classifier: optimizer must be one of 'SGD', "),
        ({"learning_rate": -1.0}, "Classifier: learning_rate must be a finite number"),
        ({"epochs": 0}, "fit: epochs must be an integer of at least 1, got 0"),
        ({"batch_size": 2.5}, "Loader: batch_size must be an integer of at least 1, got 2.5"),
        ({"early_stopping": 1}, "Classifier: early_stopping must be True or False, got 1"),
        (
            {"early_stopping": True, "validation_fraction": 1.5},
            "Classifier: validation_fraction must be a finite number",
        ),
        ({"early_stopping": True, "n_iter_no_change": 0}, "EarlyStopping: patience must be an integer of at least 1"),
        ({"verbose": "yes"}, "Classifier: verbose must be True or False, got 'yes'"),
    ],
)
def test_what_is_refused(parameters: dict[str, Any], message: str) -> None:
    x, y = three_corners()
    with pytest.raises(ArgumentError) as caught:
        Classifier(**parameters).fit(x, y)
    assert str(caught.value).startswith(message)


def test_a_config_with_a_mistake_is_a_configs_error() -> None:
    x, y = three_corners()
    with pytest.raises(ConfigError, match="model:1:1: "):
        Classifier("model.toml").fit(x, y)


def test_labels_and_numbers_that_do_not_fit() -> None:
    x, y = three_corners()
    trained = Classifier((), epochs=1).fit(x, y)
    with pytest.raises(
        ArgumentError, match=r"y must hold classes of the first call, .* got \['south', 'zenith'\]; pass classes="
    ):
        trained.partial_fit(x, np.where(y == "east", "south", "zenith"))
    with pytest.raises(ValueError, match="too large for dtype"):  # scikit-learn's own: beyond float32
        trained.predict(x * 1e300)
    with pytest.raises(ValueError, match="y contains infinity or a value too large"):
        Regressor((), epochs=1).fit(x, x[:, 0] * 1e300)


def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "sklearn" or name == "typednn.sklearn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtra, match=r"needs scikit-learn .* pip install 'typednn\[sklearn\]'") as caught:
        importlib.import_module("typednn.sklearn")
    assert caught.value.name == "sklearn"
    assert isinstance(caught.value, TypednnError)


class _Stops(Exception):
    """What a user's model raises."""


def _no_model(features: int, outputs: int) -> Any:
    raise _Stops


# How a fit can fail: parameters, what is done to X, what is done to y, and the error.
FAILURES: list[tuple[str, dict[str, Any], Any, Any, type[BaseException]]] = [
    ("rows of another number", {}, lambda x: x[:-1], None, ValueError),
    ("no rows", {}, lambda x: x[:0], lambda y: y[:0], ValueError),
    ("NaN in X", {}, lambda x: x * np.nan, None, ValueError),
    ("X beyond float32", {}, lambda x: x * 1e300, None, ValueError),
    ("complex X", {}, lambda x: x * 1j, None, ValueError),
    ("X of words", {}, lambda x: np.full(x.shape, "a"), None, ValueError),
    ("X of one axis", {}, lambda x: x[:, 0], None, ValueError),
    ("missing y", {}, None, lambda y: [None] * len(y), ValueError),
    ("no model", {"model": "model.toml"}, None, None, ConfigError),
    ("a model that raises", {"model": _no_model}, None, None, _Stops),
    ("a model of other rows", {"model": Linear(7, 2)}, None, None, TypednnError),
    ("what is no model", {"model": 3}, None, None, TypednnError),
    ("sizes that are none", {"model": (0,)}, None, None, ArgumentError),
    ("no such optimizer", {"optimizer": "Newton"}, None, None, ArgumentError),
    ("a rate below 0", {"learning_rate": -1.0}, None, None, ArgumentError),
    ("no epochs", {"epochs": 0}, None, None, ArgumentError),
    ("half a row", {"batch_size": 2.5}, None, None, ArgumentError),
    ("nothing but a short batch", {"batch_size": 1000, "drop_last": True}, None, None, ArgumentError),
    ("a flag that is none", {"drop_last": 3}, None, None, ArgumentError),
    ("early, perhaps", {"early_stopping": 1}, None, None, ArgumentError),
    ("all kept apart", {"early_stopping": True, "validation_fraction": 1.5}, None, None, ArgumentError),
    ("no patience", {"early_stopping": True, "n_iter_no_change": 0}, None, None, ArgumentError),
    ("loud", {"verbose": "yes"}, None, None, ArgumentError),
    ("no seed", {"random_state": "x"}, None, None, ValueError),
    ("an overflow, where warnings are errors", {"optimizer": SGD(lr=1e38)}, None, None, RuntimeWarning),
]


def _fitted_part(estimator: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(estimator).items() if name not in estimator.get_params(deep=False)}


@pytest.mark.parametrize("kind", [Classifier, Regressor])
@pytest.mark.parametrize(
    ("parameters", "change_x", "change_y", "error"), [row[1:] for row in FAILURES], ids=[row[0] for row in FAILURES]
)
def test_a_failed_fit_leaves_what_was_there(
    kind: Any, parameters: dict[str, Any], change_x: Any, change_y: Any, error: type[BaseException]
) -> None:
    """Nothing after the first fit, the first after the second; and both can be copied, pickled, and fitted then."""
    x = np.random.default_rng(0).standard_normal((40, 2))
    y = x[:, 0] if kind is Regressor else np.where(x[:, 0] > 0, "right", "left")
    wrong_x, wrong_y = x if change_x is None else change_x(x), y if change_y is None else change_y(y)
    new = kind(**{"model": (3,), "epochs": 2, **parameters})
    with pytest.raises(error):
        new.fit(wrong_x, wrong_y)
    assert _fitted_part(new) == {}
    for same in (copy.deepcopy(new), pickle.loads(pickle.dumps(new))):
        with pytest.raises(NotFittedError):
            same.predict(x)
    one = kind((3,), epochs=2, random_state=0).fit(x, y)
    before, answers = _fitted_part(one), one.predict(x)
    one.set_params(**parameters)
    with pytest.raises(error):
        one.fit(wrong_x[:, :1] if change_x is None else wrong_x, wrong_y)
    after = _fitted_part(one)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    for same in (one, copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        np.testing.assert_array_equal(same.predict(x), answers)
    one.set_params(**kind((3,), epochs=2, random_state=0).get_params(deep=False))
    np.testing.assert_array_equal(one.fit(x, y).predict(x), answers)


@pytest.mark.parametrize("kind", [Classifier, Regressor])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("stop", [KeyboardInterrupt, _Stops])
def test_a_pass_that_is_cut_short_changes_nothing(
    kind: Any, first: bool, stop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C or an error in the middle of partial_fit: the weights, the optimizer and the order are those of the pass
    before.
    """
    x = np.random.default_rng(0).standard_normal((40, 2))
    y = x[:, 0] if kind is Regressor else np.where(x[:, 0] > 0, "right", "left")
    one, peer = (kind((3,), batch_size=8, random_state=0) for _ in range(2))
    if not first:
        one.partial_fit(x, y)
        peer.partial_fit(x, y)
    done, batch = 0, Loader._batch

    def cut(self: Any, *rows: Any) -> Any:
        nonlocal done
        done += 1
        if done == 4:
            raise stop
        return batch(self, *rows)

    with monkeypatch.context() as patch:
        patch.setattr(Loader, "_batch", cut)
        with pytest.raises(stop):
            one.partial_fit(x, y)
    assert done == 4
    if first:
        assert _fitted_part(one) == {}
    else:
        np.testing.assert_array_equal(one.predict(x), peer.predict(x))
    np.testing.assert_array_equal(one.partial_fit(x, y).predict(x), peer.partial_fit(x, y).predict(x))


def test_a_batch_of_one_row_does_not_end_batch_normalisation() -> None:
    """33 rows are a batch of 33, not 32 and 1; with drop_last 32."""
    x = np.random.default_rng(0).standard_normal((33, 2))
    for settings in ({}, {"drop_last": True}):
        model = Classifier(
            Input(2) >> Linear(2, 4) >> BatchNorm1d(4) >> ReLU() >> Linear(4, 2), epochs=2, random_state=0, **settings
        )
        assert model.fit(x, x[:, 0] > 0).n_iter_ == 2
