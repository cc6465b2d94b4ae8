"""Classifier, Regressor: models of typednn as scikit-learn's estimators; needs the extra ``typednn[sklearn]``.

    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from typednn.sklearn import Classifier

    pipeline = make_pipeline(StandardScaler(), Classifier((64,), epochs=20, random_state=0)).fit(X, y)

``X`` is a table (samples, features) of any numbers: an array, a list of rows, a data frame. It is converted here, and
nowhere else, to float32. A column that is far from 0 for what it varies (`FAR`), such as a date, is centred and scaled
in float64 first, and so are such targets; all others are as they are. A model that reads images gets each row in the
shape that its `Input` declares. Training computes in float32; predictions are computed in float64, with the same
weights, so that those of a row do not depend on the rows beside it.

A pickled or copied estimator holds its parameters, and arrays of weights and of the optimizer; the model is built anew
from ``model``. A function that builds a model is pickled by its name, as Python's functions are.
"""

import copy
import math
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias, final

import numpy as np
import numpy.typing as npt

from typednn.arguments import choice, flag, number
from typednn.config.registry import OPTIMIZERS
from typednn.data import Loader
from typednn.data.loader import checked_sample_weight
from typednn.errors import ArgumentError, MissingExtra, explain
from typednn.kernels import softmax
from typednn.losses import MSE, SoftmaxCrossEntropy
from typednn.losses.weights import balanced
from typednn.optim import GradientOptimizer
from typednn.recipes.described import AnyModel, Described, built, sample_of
from typednn.runs.history import History
from typednn.runs.state import generator_states, restore_generators
from typednn.shapes import Flow
from typednn.training import EarlyStopping, Evaluation, evaluate, fit

if TYPE_CHECKING:  # scikit-learn ships no types; these are what a type checker sees, here and where typednn is used
    from sklearn.model_selection import train_test_split
    from sklearn.utils import assert_all_finite, check_array, check_random_state
    from sklearn.utils.class_weight import compute_class_weight
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data

    Tags: TypeAlias = Any

    class BaseEstimator:
        """What scikit-learn asks of every estimator."""

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def __getstate__(self) -> dict[str, Any]: ...
        def __setstate__(self, state: dict[str, Any]) -> None: ...
        def __sklearn_tags__(self) -> Tags: ...

    class ClassifierMixin:
        """The score of a classification: accuracy."""

        def score(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float: ...

    class RegressorMixin:
        """The score of a regression: R²."""

        def score(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float: ...

else:
    try:
        from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
        from sklearn.model_selection import train_test_split
        from sklearn.utils import Tags, assert_all_finite, check_array, check_random_state
        from sklearn.utils.class_weight import compute_class_weight
        from sklearn.utils.multiclass import check_classification_targets
        from sklearn.utils.validation import check_is_fitted, validate_data
    except ImportError as failed:
        why = explain(
            "typednn.sklearn", "needs scikit-learn 1.6 or later", str(failed), "pip install 'typednn[sklearn]'"
        )
        raise MissingExtra(why, name="sklearn") from None

Numbers: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float64]
Moves: TypeAlias = tuple[Floats, Floats]
Rows: TypeAlias = tuple[Numbers, Numbers, Floats | None]  # x, y, and what each row counts

FAR: Final = 1e4
"""A column is far from 0 where its mean is more than this many deviations: float32 keeps at most three digits of what
differs.
"""


class _Estimator(BaseEstimator):
    """What both have in common: parameters, building, training, predicting, copies."""

    def __init__(
        self,
        model: Described = (100,),
        *,
        optimizer: str | GradientOptimizer | None = None,
        learning_rate: float | None = None,
        epochs: int = 100,
        batch_size: int = 32,
        drop_last: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        """The parameters, which `fit` checks.

        =====================  =========================================================================================
        model                  sizes of hidden layers, with a ReLU after each; the text of a config; a function
                               ``model(features, outputs)`` that gives a model; or a model, of which a copy is trained
                               from the start
        optimizer              a name, such as ``"SGD"``, or an optimizer, which is copied; None: the config's, or else
                               Adam
        learning_rate          None: the optimizer's own
        epochs, batch_size     passes over the data; rows of a step
        drop_last              leave out the rows of an epoch that fill no batch; else the last batch is short, though
                               never of one row
        early_stopping         end when the loss of a share of the rows, ``validation_fraction``, has not improved for
                               ``n_iter_no_change`` epochs, and take the best weights
        random_state           an integer gives the same weights at each fit
        verbose                show the progress
        =====================  =========================================================================================
        """
        self.model: Described = model
        self.optimizer: str | GradientOptimizer | None = optimizer
        self.learning_rate: float | None = learning_rate
        self.epochs: int = epochs
        self.batch_size: int = batch_size
        self.drop_last: bool = drop_last
        self.early_stopping: bool = early_stopping
        self.validation_fraction: float = validation_fraction
        self.n_iter_no_change: int = n_iter_no_change
        self.random_state: int | np.random.RandomState | None = random_state
        self.verbose: bool = verbose

    model_: AnyModel
    """The trained model, in float32."""
    history_: History
    """The record of the last fit."""
    n_features_in_: int

    @property
    def n_iter_(self) -> int:
        """How many epochs the last fit took."""
        return len(self._fitted().history_.epochs)

    @property
    def loss_curve_(self) -> list[float]:
        """The mean training loss of each epoch."""
        return self._fitted().history_.losses

    def _fitted(self) -> Self:
        check_is_fitted(self, "model_")
        return self

    @contextmanager
    def _whole(self) -> Generator[None]:
        """What is fitted is set as a whole: after an error or Ctrl-C the estimator has what it had before, or none."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    # ------------------------------------------------------------------ building, training, predicting

    def _build(self, features: int, outputs: int) -> None:
        """Set ``model_``, its weights not filled yet, and ``_optimizer``, as the parameters say."""
        where, described, chosen = type(self).__name__, self.model, self.optimizer
        self.model_, optimizer = built(where, described, features, outputs)
        self._shape: tuple[int, ...] = sample_of(self.model_) or (features,)
        given = self.model_.trace(Flow.start(self._shape)).sizes()
        if math.prod(self._shape) != features or given not in (None, (outputs,)):
            rule = f"model reads rows of {features} numbers and gives {outputs} for each"
            got = (
                f"{math.prod(self._shape)}, and {'an unknown number' if given is None else ' x '.join(map(str, given))}"
            )
            raise ArgumentError(
                explain(where, rule, got, "a function model(features, outputs) gets both from the data"), "model"
            )
        if isinstance(chosen, GradientOptimizer):
            optimizer = copy.deepcopy(chosen)
        elif chosen is not None or optimizer is None:
            optimizer = OPTIMIZERS[
                choice(where, "optimizer", "Adam" if chosen is None else chosen, tuple(OPTIMIZERS))
            ]()  # type: ignore[call-arg]
        if self.learning_rate is not None:
            optimizer.lr = number(where, "learning_rate", self.learning_rate, least=0.0)
        self._optimizer: GradientOptimizer = optimizer.bind(self.model_)
        self._built_from: tuple[Described, str | GradientOptimizer | None, float | None, int]
        self._built_from = described, chosen, self.learning_rate, outputs

    def _start(self, features: int, outputs: int) -> np.random.RandomState:
        """Build anew, and fill the weights; what the validation share is drawn with."""
        draws: np.random.RandomState = check_random_state(self.random_state)
        self._rng: np.random.Generator = np.random.default_rng(draws.randint(2**31))
        self._build(features, outputs)
        self.model_.init(self._rng)
        return draws

    def _go_on(self) -> None:
        """Before a further pass: train copies, so that the model stays as it was if this pass fails."""
        self.model_, self._optimizer, self._rng = copy.deepcopy((self.model_, self._optimizer, self._rng))

    def _train(self, loss: Any, part: Rows, epochs: int, held_back: Rows | None = None) -> Self:
        """``epochs`` more passes over the rows of ``part``."""
        x, y, weight = part
        self.history_ = fit(
            self.model_,
            loss,
            self._optimizer,
            Loader(
                self._samples(x),
                y,
                batch_size=self.batch_size,
                drop_last=self.drop_last,
                rng=self._rng,
                prefetch=0,
                sample_weight=weight,
            ),
            epochs=epochs,
            validation=None
            if held_back is None
            else Evaluation(self._samples(held_back[0]), held_back[1], sample_weight=held_back[2]),
            early_stopping=None if held_back is None else EarlyStopping(self.n_iter_no_change),
            progress=flag(type(self).__name__, "verbose", self.verbose),
        )
        return self._ready()

    def _ready(self) -> Self:
        """Make the model that predicts."""
        self._exact: AnyModel = copy.deepcopy(self.model_).astype(np.float64).eval()
        return self

    def _split(
        self, rows: Rows, draws: np.random.RandomState, classes: Numbers | None = None
    ) -> tuple[Rows, Rows | None]:
        """Rows to train on, and rows to measure on, or None."""
        where = type(self).__name__
        if not flag(where, "early_stopping", self.early_stopping):
            return rows, None
        share = number(where, "validation_fraction", self.validation_fraction, least=0.0, below=1.0)
        parts = train_test_split(np.arange(len(rows[0])), test_size=share, random_state=draws, stratify=classes)
        return _taken(rows, parts[0]), _taken(rows, parts[1])

    def _counted(self, x: Numbers, y: Numbers, sample_weight: npt.ArrayLike | None) -> Rows:
        """The rows, with what each counts; those that count nothing are left out."""
        weight = checked_sample_weight(type(self).__name__, sample_weight, len(x))
        if weight is None:
            return x, y, None
        if not weight.any():
            rule = "one of sample_weight must be above 0"
            raise ArgumentError(explain(type(self).__name__, rule, "zeros"), "sample_weight")
        return _taken((x, y, weight), weight > 0)

    def _samples(self, x: Numbers) -> Numbers:
        return x.reshape(len(x), *self._shape)

    def _table(self, *arrays: npt.ArrayLike, reset: bool = True, **checks: Any) -> Any:
        """``X``, or X and y, as scikit-learn checks them, X in float32; what is too large for that is refused."""
        with np.errstate(over="ignore", invalid="ignore"):
            checked: Any = validate_data(self, *arrays, dtype=(np.float64, np.float32), reset=reset, **checks)
        x, *y = [checked] if len(arrays) == 1 else checked
        if reset:
            self._columns: Moves = _moves(x)
        return (_near(x, self._columns, "X"), *y) if y else _near(x, self._columns, "X")

    def _outputs(self, X: npt.ArrayLike) -> Floats:
        x = self._fitted()._table(X, reset=False)
        outputs: Floats = evaluate(self._exact, self._samples(x), transform=lambda rows: rows.astype(np.float64))
        return outputs

    # ------------------------------------------------------------------ copies

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "model_" in state:
            model, optimizer, _ = state.pop("model_"), state.pop("_optimizer"), state.pop("_exact")
            arrays = {name: np.array(array) for name, array in model.state_dict().items()}
            state["_arrays"] = arrays, copy.deepcopy(optimizer.state_dict()), generator_states(model)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        saved = state.get("_arrays")
        super().__setstate__({name: value for name, value in state.items() if name != "_arrays"})
        if saved is not None:
            arrays, moments = ({name: _plain(value) for name, value in part.items()} for part in saved[:2])
            now = self.model, self.optimizer, self.learning_rate
            self.model, self.optimizer, self.learning_rate, outputs = self._built_from  # they may have been set since
            self._build(self.n_features_in_, outputs)
            self.model, self.optimizer, self.learning_rate = now
            self.model_.init(np.random.default_rng(0)).load_state_dict(arrays)
            self._optimizer.load_state_dict(moments)
            restore_generators(type(self).__name__, self.model_, saved[2])
            self._ready()


@final
class Classifier(ClassifierMixin, _Estimator):
    """A classifier of any labels: the model gives a score (a logit) for each of ``classes_``; the loss is
    `SoftmaxCrossEntropy`.
    """

    classes_: Numbers
    """The labels, sorted."""

    def __init__(
        self,
        model: Described = (100,),
        *,
        optimizer: str | GradientOptimizer | None = None,
        learning_rate: float | None = None,
        epochs: int = 100,
        batch_size: int = 32,
        drop_last: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        """The parameters of a `Regressor`, and ``class_weight``: what each class counts in the loss.

        ``"balanced"`` lets each class count as much as any other; a dict has weights by label, 1 for those that it
        does not name.
        """
        super().__init__(
            model,
            optimizer=optimizer,
            learning_rate=learning_rate,
            epochs=epochs,
            batch_size=batch_size,
            drop_last=drop_last,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            random_state=random_state,
            verbose=verbose,
        )
        self.class_weight: Literal["balanced"] | Mapping[Any, float] | None = class_weight

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Train from the start: ``X`` (samples, features), ``y`` (samples) of numbers or words; ``sample_weight``
        (samples) is what each row counts.
        """
        with self._whole():
            x, y = self._table(X, y)
            check_classification_targets(y)
            self.classes_, labels = np.unique(np.asarray(y), return_inverse=True)
            rows = self._counted(x, labels, sample_weight)
            draws, loss = self._start(x.shape[1], len(self.classes_)), self._loss(rows)
            rows, held_back = self._split(rows, draws, rows[1])
            return self._train(loss, rows, self.epochs, held_back)

    def _loss(self, rows: Rows) -> SoftmaxCrossEntropy[float]:
        """With the weights that ``class_weight`` gives for these rows."""
        chosen, classes = self.class_weight, self.classes_
        if chosen == "balanced":
            return SoftmaxCrossEntropy(weight=balanced(rows[1], len(classes), rows[2]))
        given = None if chosen is None else compute_class_weight(chosen, classes=classes, y=classes[rows[1]]).tolist()
        return SoftmaxCrossEntropy(weight=given)

    def partial_fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """One more pass, over these rows; the first call needs all ``classes``, or takes those of ``y``."""
        if self.class_weight == "balanced":
            rule, cure = "class_weight 'balanced' counts all rows", "give the constructor class_weight={label: weight}"
            raise ArgumentError(explain("Classifier.partial_fit", rule, "some of them", cure), "class_weight")
        with self._whole():
            first = not hasattr(self, "model_")
            x, y = self._table(X, y, reset=first)
            check_classification_targets(y)
            if first:
                self.classes_ = np.unique(np.asarray(y if classes is None else classes))
                self._start(x.shape[1], len(self.classes_))
            else:
                self._go_on()
            labels = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
            if (self.classes_[labels] != y).any():
                unknown = np.setdiff1d(np.asarray(y), self.classes_)
                rule = f"y must hold classes of the first call, {self.classes_.tolist()!r:.200}"
                raise ArgumentError(
                    explain("Classifier.partial_fit", rule, f"{unknown.tolist()!r:.200}", "pass classes= at the first"),
                    "y",
                )
            rows = self._counted(x, labels, sample_weight)
            return self._train(self._loss(rows), rows, 1)

    def predict_proba(self, X: npt.ArrayLike) -> Floats:
        """The probability of each class, (samples, classes), in the order of ``classes_``."""
        scores: Any = self._outputs(X)
        shares: Any = softmax.forward(scores)
        return np.asarray(shares, np.float64)

    def predict(self, X: npt.ArrayLike) -> Numbers:
        """The most probable class of each row."""
        outputs = self._outputs(X)
        best: Numbers = self.classes_[outputs.argmax(axis=1)]
        return best

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """The accuracy."""
        return float(super().score(X, y, sample_weight))


@final
class Regressor(RegressorMixin, _Estimator):
    """A regressor of one number or several: the loss is `MSE`. Standardise targets whose scale is far from 1."""

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Train from the start: ``X`` (samples, features), ``y`` (samples) or (samples, targets); ``sample_weight``
        (samples) is what each row counts.
        """
        with self._whole():
            x, targets = self._rows(X, y, reset=True)
            rows = self._counted(x, targets, sample_weight)
            rows, held_back = self._split(rows, self._start(x.shape[1], targets.shape[1]))
            return self._train(MSE(), rows, self.epochs, held_back)

    def partial_fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """One more pass, over these rows."""
        first = not hasattr(self, "model_")
        with self._whole():
            x, targets = self._rows(X, y, reset=first)
            if first:
                self._start(x.shape[1], targets.shape[1])
            else:
                self._go_on()
            return self._train(MSE(), self._counted(x, targets, sample_weight), 1)

    def _rows(self, X: npt.ArrayLike, y: npt.ArrayLike, *, reset: bool) -> tuple[Numbers, Numbers]:
        x, y = self._table(X, y, multi_output=True, y_numeric=True, reset=reset)
        with np.errstate(over="ignore", invalid="ignore"):
            targets = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
        self._flat: bool = targets.ndim == 1
        targets = targets.reshape(len(x), -1)
        if reset:
            self._targets: Moves = _moves(targets)
        return x, _near(targets, self._targets, "y")

    def predict(self, X: npt.ArrayLike) -> Floats:
        """The numbers of each row, in the shape of ``y``."""
        mean, deviation = self._fitted()._targets
        outputs = self._outputs(X) * deviation + mean
        return outputs[:, 0] if self._flat else outputs

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """R², the share of the variance of ``y`` that is explained."""
        return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _taken(rows: Rows, chosen: Numbers) -> Rows:
    x, y, weight = rows
    return x[chosen], y[chosen], None if weight is None else weight[chosen]


def _moves(numbers: Numbers) -> Moves:
    """What is taken off each column, and what it is divided by then: mean and deviation of one that is `FAR` from 0,
    else 0 and 1.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = numbers.mean(axis=0, dtype=np.float64), numbers.std(axis=0, dtype=np.float64)
        far = (np.abs(mean) > FAR * deviation) & (deviation > 1e-12 * np.abs(mean))  # and it varies
    return np.where(far, mean, 0.0), np.where(far, deviation, 1.0)


def _near(numbers: Numbers, moves: Moves, name: str) -> Numbers:
    """``numbers`` moved in float64, then in float32; a `ValueError` where that cannot hold them."""
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.asarray((numbers - moves[0]) / moves[1] if moves[0].any() else numbers, np.float32)
        assert_all_finite(near, input_name=name)
    return near


def _plain(value: Any) -> Any:
    """An array of its own memory, where joblib gives one that is mapped from a file."""
    return value if isinstance(value, int) else np.array(value)
