"""Metrics: what a classifier got right, class by class, how far a regression is from its targets, how well a text is
told.

With c[t, p] the number of samples of true class t that were predicted as p (true classes are the ROWS):

precision_i = c[i,i] / Σ_t c[t,i]      of those called i, how many are
recall_i    = c[i,i] / Σ_p c[i,p]      of those that are i, how many were found
f1_i        = 2·c[i,i] / (Σ_t c[t,i] + Σ_p c[i,p])      the harmonic mean of the two
accuracy    = Σ_i c[i,i] / Σ c

From the scores themselves: `top_k_accuracy`, and by scikit-learn, where it is installed, the areas under the ROC and
the precision-recall curve, `roc_auc` and `average_precision`.

Source: "Deep Learning Implementation With Rust", eq 54.

For numbers, over all rows and outputs, with e = prediction − target:

mse = mean e²      mae = mean |e|      r2 = 1 − Σ e² / Σ (target − mean of its output)²
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import InitVar, asdict, dataclass, field
from importlib.util import find_spec
from math import exp, inf
from typing import Any, Literal, Self, TypeAlias, cast, final

import numpy as np
import numpy.typing as npt

from typednn.arguments import integer
from typednn.arrays import Array1, Array2, IntArray1, described, is_array, is_floating
from typednn.backends import to_numpy
from typednn.data.labels import checked_labels
from typednn.errors import ArgumentError, MissingExtra, explain, installing, optional, printable
from typednn.screen import brief, columns, screen_width, shortened, wrapped

Measure: TypeAlias = Literal["precision", "recall", "f1"]
Counts: TypeAlias = npt.NDArray[np.int64]
Shares: TypeAlias = npt.NDArray[np.float64]
Curve: TypeAlias = tuple[Shares, Shares]
_CELLS = 25  # classes of a confusion matrix in a notebook
_POINTS = 200  # of a curve
_PAIRS = 10  # confusions that are listed


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassificationReport:
    """Labels predicted beside labels true, counted; ``str(report)`` is a table to print.

    A class that was never predicted has no precision, one that no sample belongs to has no recall, and one of which
    both hold has no f1 either. Such a share is 0 here, and ``undefined`` names it, to distinguish it from a true 0.
    """

    classes: int
    prediction: InitVar[IntArray1]
    target: InitVar[IntArray1]
    confusion: Counts = field(init=False, repr=False)
    """(classes, classes): the true class in rows, the predicted one in columns."""
    precision: Shares = field(init=False)
    recall: Shares = field(init=False)
    f1: Shares = field(init=False)
    support: Counts = field(init=False)
    """How many samples belong to each class."""
    accuracy: float = field(init=False)
    undefined: tuple[tuple[Measure, int], ...] = field(init=False)
    """(measure, class) of every share that is 0 divided by 0."""
    names: tuple[str, ...] = ()
    """Of the classes, in ``report.json`` and in the tables; the numbers of those that have none."""
    areas: Areas | None = None
    """Under the curves of the scores; None where they are not known."""
    top_k: int | None = None
    top_k_accuracy: float | None = None
    """The share of labels among the ``top_k`` largest scores."""

    def __post_init__(self, prediction: IntArray1, target: IntArray1) -> None:
        classes = integer("ClassificationReport", "classes", self.classes)
        predicted = checked_labels("ClassificationReport", "prediction", prediction, classes)
        true = checked_labels("ClassificationReport", "target", target, classes)
        if len(predicted) != len(true) or not len(true):
            rule, got = (
                "needs a prediction for each target, and at least one",
                f"{len(predicted)} predictions and {len(true)} targets",
            )
            raise ArgumentError(explain("ClassificationReport", rule, got))
        confusion = np.bincount(true * classes + predicted, minlength=classes * classes).reshape(classes, classes)
        right, called, support = np.diagonal(confusion), confusion.sum(axis=0), confusion.sum(axis=1)
        fractions: dict[str, tuple[Counts, Counts]] = {
            "precision": (right, called),
            "recall": (right, support),
            "f1": (2 * right, called + support),
        }
        shares = {
            name: np.divide(part, of, out=np.zeros(classes), where=of != 0) for name, (part, of) in fractions.items()
        }
        undefined = tuple(
            (name, int(label)) for name, (_, of) in fractions.items() for label in np.flatnonzero(of == 0)
        )
        arrays: dict[str, npt.NDArray[Any]] = {"confusion": confusion, "support": support, **shares}
        for array in arrays.values():
            array.flags.writeable = False
        for name, value in {**arrays, "accuracy": int(right.sum()) / len(true), "undefined": undefined}.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_scores(
        cls,
        scores: Array2,
        labels: IntArray1,
        names: tuple[str, ...] = (),
        *,
        top_k: int | None = None,
        areas: Areas | None = None,
    ) -> ClassificationReport:
        """From scores or probabilities (batch, classes): the highest wins, the first of equals."""
        host = _checked_scores("ClassificationReport.from_scores", scores)
        among = None if top_k is None else top_k_accuracy(host, labels, min(top_k, host.shape[1]))
        return cls(host.shape[1], host.argmax(axis=1), labels, names, areas, top_k, among)

    @property
    def ranked(self) -> dict[str, float]:
        """What the scores' order tells, by name: the accuracy among the ``top_k`` largest, and the areas."""
        areas = self.areas
        found = {} if self.top_k_accuracy is None else {f"top-{self.top_k} accuracy": self.top_k_accuracy}
        more = {} if areas is None else {"ROC AUC": areas.roc_auc, "average precision": areas.average_precision}
        return found | more

    @property
    def left_out(self) -> str:
        """What this report would have too with another package, "" for nothing."""
        known = self.areas is not None or find_spec("sklearn") is not None
        return "" if known else installing("ROC AUC and average precision: pip install 'typednn[sklearn]'")

    @property
    def headline(self) -> str:
        """The one number to compare by."""
        return f"accuracy {self.accuracy:.2%}"

    def as_json(self, train: ClassificationReport) -> dict[str, Any]:
        """As ``report.json`` has it, with the accuracy on the training set."""
        return {
            "classes": self.classes,
            "names": self._every_name,
            **{name: getattr(self, name).tolist() for name in ("confusion", "precision", "recall", "f1", "support")},
            "accuracy": self.accuracy,
            "split": "test",
            "train_accuracy": train.accuracy,
            **({} if self.top_k is None else {"top_k": self.top_k, "top_k_accuracy": self.top_k_accuracy}),
            **({} if self.areas is None else self.areas.as_json()),
        }

    def __repr__(self) -> str:
        return brief(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the shares of every class, and the confusion matrix, darker where more
        of a class is.
        """
        from typednn.html import facts, number, shown, table, tinted

        names = self.names if len(self.names) == self.classes else tuple(map(str, range(self.classes)))
        shares = list(zip(*(share.tolist() for share in (self.precision, self.recall, self.f1)), strict=True))
        rows = [
            (name, *(f"{share:.3f}" for share in row), f"{count:,}")
            for name, row, count in zip(names, shares, self.support.tolist(), strict=True)
        ]
        head = ["class", "precision", "recall", "F1", "support"]
        parts = [table(head, rows, numbers=head[1:])]
        if self.classes <= _CELLS:
            cells = [
                (name, *(tinted(f"{count:,}" if count else "", count / max(total, 1)) for count in row))
                for name, row, total in zip(names, self.confusion.tolist(), self.support.tolist(), strict=True)
            ]
            parts.append(table(["true, predicted", *names], cells, numbers=names))
        right = f"{np.trace(self.confusion):,} of {self.confusion.sum():,}"
        ranked = facts({name: number(share) for name, share in self.ranked.items()}) if self.ranked else ""
        return shown(f"{self.headline} ({right})", ranked, *parts)

    def __str__(self) -> str:
        """The shares of every class, the accuracy, and the confusion matrix."""
        shares = (self.precision, self.recall, self.f1)
        width = screen_width() or sys.maxsize
        named = [
            name if name == str(label) else shortened(f"{label} {name}", width - 38)
            for label, name in enumerate(map(printable, self._every_name))
        ]
        rows = [
            (named[label], *(share[label] for share in shares), self.support[label]) for label in range(self.classes)
        ]
        rows.append(("mean", *(share.mean() for share in shares), self.support.sum()))
        wide = max(5, *map(len, named))
        lines = [f"{'class':{wide}}  precision  recall     f1  support"]
        lines += [
            f"{name:>{wide}}  {precision:9.3f}  {recall:6.3f}  {f1:5.3f}  {count:7,}"
            for name, precision, recall, f1, count in rows
        ]
        if self.undefined:
            left_out = ", ".join(f"{measure} of {label}" for measure, label in self.undefined)
            lines.append(wrapped(f"0 for want of samples: {left_out}", width))
        lines += ["", f"accuracy {self.accuracy:.2%} ({np.trace(self.confusion):,} of {self.confusion.sum():,})"]
        if self.ranked:
            lines.append(wrapped(", ".join(f"{name} {share:.4f}" for name, share in self.ranked.items()), width))
        lines.append("")

        cell = max(len(f"{self.confusion.max():,}"), len(str(self.classes - 1))) + 2
        edge = max(len("true"), *map(len, named))
        if edge + self.classes * cell > width:
            return "\n".join([*lines, *self._confused(named, width)])
        lines.append(f"{'':>{edge}}  predicted")
        lines.append(f"{'true':>{edge}}" + "".join(f"{label:>{cell}}" for label in range(self.classes)))
        for label in range(self.classes):
            counts = "".join(
                f"{count:>{cell},}" if count else f"{'.':>{cell}}" for count in self.confusion[label].tolist()
            )
            lines.append(f"{named[label]:>{edge}}{counts}")
        return "\n".join(lines)

    def _confused(self, named: list[str], width: int) -> list[str]:
        """The most frequent confusions, where the matrix is wider than the screen."""
        wrong = np.where(np.eye(self.classes, dtype=bool), 0, self.confusion)
        order: list[int] = np.argsort(-wrong, axis=None, kind="stable")[:_PAIRS].tolist()
        places: list[tuple[int, int]] = [divmod(place, self.classes) for place in order]
        rows = [(named[t], named[p], f"{wrong[t, p]:,}") for t, p in places if wrong[t, p]]
        return columns([("true", "predicted", "most often"), *rows], right=(2,), width=width)

    @property
    def _every_name(self) -> list[str]:
        return [*self.names, *map(str, range(len(self.names), self.classes))][: self.classes]


def accuracy(scores: Array2, labels: IntArray1) -> float:
    """The share of rows whose largest score stands at the row's label (the last part of eq 54)."""
    return ClassificationReport.from_scores(scores, labels).accuracy


def top_k_accuracy(scores: Array2, labels: IntArray1, k: int = 5) -> float:
    """The share of rows whose label is among the ``k`` largest scores; of equal scores the first count, so that k = 1
    is `accuracy`.
    """
    where = "top_k_accuracy"
    host = _checked_scores(where, scores)
    own = _checked_rows(where, host, labels)
    if integer(where, "k", k) > host.shape[1]:
        raise ArgumentError(explain(where, f"k is at most the number of classes, {host.shape[1]}", str(k)), "k")
    return int(in_top_k(host, own, k).sum()) / len(own)


def in_top_k(scores: Any, labels: Any, k: int) -> npt.NDArray[np.bool_]:
    """Whether fewer than ``k`` classes, along the last axis of ``scores``, come before each label; one beyond the
    classes is not.
    """
    classes = scores.shape[-1]
    label = labels.clip(0, classes - 1)[..., None]
    own = cast("Any", np.take_along_axis(scores, label, axis=-1))
    before = cast("Any", (scores > own) | ((scores == own) & (np.arange(classes) < label)))
    hits: npt.NDArray[np.bool_] = (before.sum(axis=-1) < k) & (labels >= 0) & (labels < classes)
    return hits


def roc_auc(scores: Array1 | Array2, labels: IntArray1) -> float:
    """The area under the ROC curve: how often a random row of the class has a larger score than a random row of none,
    equal ones half.

    ``scores`` (batch) are those of class 1, whatever their scale, and labels 0 or 1. Of scores (batch, classes), the
    mean over the classes, each against the rest (one-vs-rest, macro): rows are compared with each other, so give
    probabilities, such as a softmax's; of two classes it is the area for class 1. Every class needs a row, and another
    class one too. scikit-learn computes it: `MissingExtra` without it.
    """
    truth, ranks = _against_the_rest("roc_auc", scores, labels)
    return float(_peer("roc_auc").roc_auc_score(truth, ranks))


def average_precision(scores: Array1 | Array2, labels: IntArray1) -> float:
    """The area under the precision-recall curve, as a sum of steps; scores, labels and classes as in `roc_auc`."""
    truth, ranks = _against_the_rest("average_precision", scores, labels)
    return float(_peer("average_precision").average_precision_score(truth, ranks))


def _peer(where: str) -> Any:
    return optional("sklearn.metrics", where, "areas under curves need scikit-learn", "pip install 'typednn[sklearn]'")


def _against_the_rest(where: str, scores: Any, labels: Any) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int64]]:
    """For class 1 of two, or for each of several in a column: whether each row is of the class, and its scores'
    ranks, which order infinities too.
    """
    one = is_array(scores) and scores.ndim == 1
    host = _checked_scores(where, scores[:, None] if one else scores)
    classes = 2 if one else host.shape[1]
    own = checked_labels(where, "labels", labels, classes)
    _check_as_many(where, own, host)
    columns = [1] if classes == 2 else range(classes)
    truth = np.stack([own == label for label in columns], axis=1).astype(np.int8)
    for label, count in zip(columns, truth.sum(axis=0).tolist(), strict=True):
        if not 0 < count < len(own):
            rule = "every class needs a row, and another class one too"
            got = f"{count} rows of class {label} and {len(own) - count} of others"
            raise ArgumentError(explain(where, rule, got), "labels")
    used = host if one else host[:, columns]
    ranks = np.stack([np.unique(column, return_inverse=True)[1] for column in used.T], axis=1)
    return (truth[:, 0], ranks[:, 0]) if classes == 2 else (truth, ranks)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Areas:
    """`roc_auc` and `average_precision` of a set, and of two classes both curves, in at most `_POINTS` points."""

    roc_auc: float
    average_precision: float
    roc: Curve | None
    """(false positive rate, true positive rate) of class 1."""
    precision_recall: Curve | None
    """(recall, precision) of class 1."""

    @classmethod
    def of(cls, probabilities: Any, labels: Any) -> Self | None:
        """None where a class has no row, or scikit-learn is not installed."""
        try:
            peer = _peer("Areas")
            truth, ranks = _against_the_rest("Areas", probabilities, labels)
        except (ArgumentError, MissingExtra):
            return None
        areas = float(peer.roc_auc_score(truth, ranks)), float(peer.average_precision_score(truth, ranks))
        if truth.ndim == 2:
            return cls(*areas, None, None)
        false, true, _ = peer.roc_curve(truth, ranks)
        precision, recall, _ = peer.precision_recall_curve(truth, ranks)
        return cls(*areas, _thinned(false, true), _thinned(recall, precision))

    def __repr__(self) -> str:
        return brief(self)

    def as_json(self) -> dict[str, Any]:
        """As ``report.json`` has it."""
        curves = {"roc": self.roc, "precision_recall": self.precision_recall}
        return {"roc_auc": self.roc_auc, "average_precision": self.average_precision} | {
            name: [axis.tolist() for axis in curve] for name, curve in curves.items() if curve is not None
        }


def _thinned(*axes: Shares) -> Curve:
    places = np.unique(np.linspace(0, len(axes[0]) - 1, _POINTS).astype(np.int64))
    x, y = (np.round(np.asarray(axis, np.float64)[places], 6) for axis in axes)
    return x, y


def _checked_scores(where: str, scores: Any) -> npt.NDArray[Any]:
    """Scores (batch, classes) on the host; an `ArgumentError` where they are not."""
    if not is_array(scores) or scores.ndim != 2 or not is_floating(scores.dtype):
        raise ArgumentError(
            explain(where, "scores must be floats of shape (batch, classes)", described(scores)), "scores"
        )
    host: npt.NDArray[Any] = to_numpy(scores)
    undefined = np.isnan(host).any(axis=1)
    if undefined.any():
        got, cure = f"NaN in row {int(undefined.argmax())}", "training diverged, or the input holds NaN"
        raise ArgumentError(explain(where, "scores must be numbers", got, cure), "scores")
    return host


def _checked_rows(where: str, scores: npt.NDArray[Any], labels: Any) -> npt.NDArray[np.int64]:
    """A label for each row of ``scores``, and at least one."""
    checked = checked_labels(where, "labels", labels, scores.shape[1])
    _check_as_many(where, checked, scores)
    return checked


def _check_as_many(where: str, labels: npt.NDArray[Any], scores: npt.NDArray[Any]) -> None:
    if len(labels) != len(scores) or not len(labels):
        got = f"{len(labels)} labels and {len(scores)} rows of scores"
        raise ArgumentError(explain(where, "needs a label for each row of scores, and at least one", got), "labels")


@final
@dataclass(frozen=True, slots=True)
class RegressionReport:
    """Predicted numbers beside true ones; ``str(report)`` is a table to print.

    Where the targets of every output are all equal there is nothing to explain: ``r2`` is then 1 if every prediction is
    right, else 0.
    """

    samples: int
    mse: float
    mae: float
    r2: float

    @classmethod
    def from_batches(cls, batches: Iterable[tuple[Any, Any]]) -> RegressionReport:
        """From each batch's predictions and targets, of one shape (batch, ...); added up in float64."""
        samples, numbers, squared, absolute, spread, varies = 0, 0, 0.0, 0.0, 0.0, False
        mean: Any = 0.0
        first: Any = None
        for batch in batches:
            prediction, target = (np.asarray(to_numpy(array), np.float64) for array in batch)
            if prediction.shape != target.shape or not len(target):
                rule, got = (
                    "needs a prediction for each target, and at least one",
                    f"{prediction.shape} and {target.shape}",
                )
                raise ArgumentError(explain("RegressionReport", rule, got))
            error, centre, rows = prediction - target, target.mean(axis=0), len(target)
            first = target[0] if first is None else first
            varies = varies or bool((target != first).any())  # ``spread`` can't say, as the means are rounded
            squared += float(np.square(error).sum())
            absolute += float(np.abs(error).sum())
            # Two sets' spreads joined: T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating Formulae" (1979), eq 2.1.
            shift = centre - mean
            spread += float(
                np.square(target - centre).sum() + np.square(shift).sum() * samples * rows / (samples + rows)
            )
            mean = mean + shift * rows / (samples + rows)
            samples, numbers = samples + rows, numbers + target.size
        if not numbers:
            raise ArgumentError(
                explain("RegressionReport", "needs a prediction for each target, and at least one", "none")
            )
        explained = 1.0 - squared / spread if varies and spread else float(not squared)
        return cls(samples, squared / numbers, absolute / numbers, explained)

    @property
    def rmse(self) -> float:
        """The root of the mean squared error, in the targets' own units."""
        return float(np.sqrt(self.mse))

    @property
    def headline(self) -> str:
        """The one number to compare by."""
        return f"R² {self.r2:.4f}"

    def as_json(self, train: RegressionReport) -> dict[str, Any]:
        """As ``report.json`` has it, with the R² on the training set."""
        return {"task": "regression", **asdict(self), "split": "test", "train_r2": train.r2}

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from typednn.html import facts, number, shown

        errors = {"mean squared error": number(self.mse), "mean absolute error": number(self.mae)}
        return shown(self.headline, facts({"samples": f"{self.samples:,}", **errors}))

    def __str__(self) -> str:
        return (
            f"samples  {self.samples:,}\nMSE      {self.mse:.6g}\nRMSE     {self.rmse:.6g}\nMAE      "
            f"{self.mae:.6g}\nR²       {self.r2:.4f}"
        )


@final
@dataclass(frozen=True, slots=True)
class LanguageReport:
    """How well each next token of a text was told: the mean loss in nats, and the share of tokens that had the largest
    score.

    perplexity = e^loss: the number of equally likely tokens between which the model hesitates
    """

    tokens: int
    loss: float
    token_accuracy: float
    length: int
    """Tokens of a sample."""

    @property
    def perplexity(self) -> float:
        """Infinite where it is beyond the range of floats."""
        return exp(self.loss) if self.loss < 700.0 else inf

    @property
    def headline(self) -> str:
        """The one number to compare by."""
        return f"perplexity {self.perplexity:.2f}"

    def as_json(self, train: LanguageReport) -> dict[str, Any]:
        """As ``report.json`` has it, with the loss on the training text."""
        return {"task": "language", **asdict(self), "split": "validation", "train_loss": train.loss}

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from typednn.html import facts, number, shown

        right = f"{self.token_accuracy:.2%} of the next tokens"
        return shown(self.headline, facts({"tokens": f"{self.tokens:,}", "loss": number(self.loss), "right": right}))

    def __str__(self) -> str:
        return (
            f"tokens      {self.tokens:,}\nloss        {self.loss:.4f}\nperplexity  {self.perplexity:.2f}\n"
            f"right       {self.token_accuracy:.2%} of the next tokens"
        )
