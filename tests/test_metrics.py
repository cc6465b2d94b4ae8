"""P-M1: what a classification report counts, and which way round."""

import sys
from typing import Any

import numpy as np
import pytest

from typednn.arrays import IntArray1
from typednn.errors import ArgumentError, MissingExtra
from typednn.metrics import (
    Areas,
    ClassificationReport,
    RegressionReport,
    accuracy,
    average_precision,
    roc_auc,
    top_k_accuracy,
)
from typednn.tasks import Classification

# 0 is called 1 once; 1 is called 2 twice; 2 is always right: the matrix differs from its transpose in every share.
TARGET = np.array([0, 0, 0, 1, 1, 1, 2])
PREDICTION = np.array([0, 0, 1, 1, 2, 2, 2])


def test_true_classes_are_rows() -> None:
    """P-M1: precision divides by columns and recall by rows; with the matrix transposed every assertion fails."""
    report = ClassificationReport(3, PREDICTION, TARGET)
    np.testing.assert_array_equal(report.confusion, [[2, 1, 0], [0, 1, 2], [0, 0, 1]])
    np.testing.assert_allclose(report.precision, [2 / 2, 1 / 2, 1 / 3])
    np.testing.assert_allclose(report.recall, [2 / 3, 1 / 3, 1 / 1])
    np.testing.assert_allclose(report.f1, [4 / 5, 2 / 5, 1 / 2])
    np.testing.assert_array_equal(report.support, [3, 3, 1])
    assert report.accuracy == 4 / 7
    assert report.undefined == ()


def test_equals_scikit_learn() -> None:
    """P-M1: a peer's numbers, absent classes included."""
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    target, prediction = rng.integers(0, 5, 200), rng.integers(1, 6, 200)
    report = ClassificationReport(7, prediction, target)
    precision, recall, f1, support = metrics.precision_recall_fscore_support(
        target, prediction, labels=range(7), zero_division=0
    )
    for ours, theirs in (
        (report.precision, precision),
        (report.recall, recall),
        (report.f1, f1),
        (report.support, support),
    ):
        np.testing.assert_allclose(ours, theirs)
    np.testing.assert_array_equal(report.confusion, metrics.confusion_matrix(target, prediction, labels=range(7)))
    assert report.accuracy == metrics.accuracy_score(target, prediction)


def test_absent_classes_are_zero_and_named() -> None:
    """P-M1: 0, never NaN and no warning; ``undefined`` tells such a 0 from an earned one."""
    report = ClassificationReport(4, np.array([0, 1, 1]), np.array([0, 0, 2]))
    assert report.undefined == (("precision", 2), ("precision", 3), ("recall", 1), ("recall", 3), ("f1", 3))
    for shares in (report.precision, report.recall, report.f1):
        assert shares[3] == 0.0
    assert report.recall[2] == 0.0  # earned: class 2 was there and was missed
    assert ("recall", 2) not in report.undefined
    assert "0 for want of samples: precision of 2, precision of 3, recall of 1, recall of 3, f1 of 3" in str(report)


def test_from_scores() -> None:
    """P-M1: the highest score wins, the first of equals."""
    scores = np.array([[0.1, 0.7, 0.2], [0.4, 0.2, 0.4], [-1.0, -2.0, np.inf]], np.float32)
    report = ClassificationReport.from_scores(scores, np.array([1, 0, 2], np.uint8))
    assert report.accuracy == 1.0
    assert report.classes == 3


def test_printed_table() -> None:
    """P-M1: the whole text."""
    assert str(ClassificationReport(3, PREDICTION, TARGET)).splitlines() == [
        "class  precision  recall     f1  support",
        "    0      1.000   0.667  0.800        3",
        "    1      0.500   0.333  0.400        3",
        "    2      0.333   1.000  0.500        1",
        " mean      0.611   0.667  0.567        7",
        "",
        "accuracy 57.14% (4 of 7)",
        "",
        "      predicted",
        "true  0  1  2",
        "   0  2  1  .",
        "   1  .  1  2",
        "   2  .  .  1",
    ]


def test_table_stays_aligned_for_many_classes_and_samples() -> None:
    labels = np.repeat(np.arange(12), 1500)
    lines = str(ClassificationReport(12, labels, labels)).splitlines()
    table, matrix = lines[:14], lines[-13:]
    assert len({len(line) for line in table}) == 1
    assert len({len(line) for line in matrix}) == 1
    assert matrix[-1].endswith("1,500")


def test_arrays_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        ClassificationReport(3, PREDICTION, TARGET).confusion[0, 0] = 9


@pytest.mark.parametrize(
    ("classes", "prediction", "target", "message"),
    [
        pytest.param(
            3,
            [0, 3],
            [0, 1],
            "Report: prediction must be 0 to 2, as there are 3 classes, got 3 in row 1",
            id="too high",
        ),
        pytest.param(
            3,
            [0, 1, 2],
            [0, 1, -1],
            "Report: target must be 0 to 2, as there are 3 classes, got -1 in row 2",
            id="negative",
        ),
        pytest.param(
            3,
            [0, 1],
            [0],
            "needs a prediction for each target, and at least one, got 2 predictions and 1 targets",
            id="lengths",
        ),
        pytest.param(3, [], [], "got 0 predictions and 0 targets", id="none"),
        pytest.param(0, [0], [0], "classes must be an integer of at least 1, got 0", id="no classes"),
        pytest.param(
            3, [0.0, 1.0], [0, 1], "prediction must be an array of integers, got float64; convert it", id="floats"
        ),
        pytest.param(
            3,
            [[0.0, 1.0]],
            [0],
            "prediction must be an array of integers, got float64; for scores use argmax",
            id="scores",
        ),
        pytest.param(
            3, [[0], [1]], [0, 1], r"prediction must have one axis, a class per row, got shape \(2, 1\)", id="column"
        ),
    ],
)
def test_bad_labels_are_refused(classes: int, prediction: list[int], target: list[int], message: str) -> None:
    def array(values: list[int]) -> IntArray1:
        return np.array(values) if values else np.zeros(0, np.int64)

    with pytest.raises(ArgumentError, match=message):
        ClassificationReport(classes, array(prediction), array(target))


def test_bad_scores_are_refused() -> None:
    labels = np.array([0, 1])
    with pytest.raises(ArgumentError, match="NaN in row 1; training diverged"):
        ClassificationReport.from_scores(np.array([[0.0, 1.0], [np.nan, 0.0]]), labels)
    with pytest.raises(
        ArgumentError, match=r"scores must be floats of shape \(batch, classes\), got int64 of shape \(2,\)"
    ):
        ClassificationReport.from_scores(labels, labels)
    with pytest.raises(ArgumentError, match="got list"):
        ClassificationReport.from_scores([[0.0, 1.0]], labels)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="prediction must be an array of integers, got list"):
        ClassificationReport(2, [0, 1], labels)  # type: ignore[arg-type]


def test_accuracy() -> None:
    """Z-S3: the share of rows whose highest score is at the label."""
    scores = np.array([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    assert accuracy(scores, np.array([1, 0, 0, 0])) == 0.75


# --- numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1,), (50,), (50, 3), (7, 2, 2)])
@pytest.mark.parametrize("batch", [1, 4, 50])
def test_a_regression_as_the_formulas_say(shape: tuple[int, ...], batch: int) -> None:
    """Whatever the batches; in float64, far from zero too."""
    rng = np.random.default_rng(len(shape))
    target = 1e6 + rng.standard_normal(shape)
    prediction = target + 0.3 * rng.standard_normal(shape)
    pairs = [(prediction[at : at + batch], target[at : at + batch]) for at in range(0, len(target), batch)]
    report = RegressionReport.from_batches(pairs)
    error = prediction - target
    assert report.samples == len(target)
    assert report.mse == pytest.approx((error**2).mean(), rel=1e-12)
    assert report.mae == pytest.approx(np.abs(error).mean(), rel=1e-12)
    spread = ((target - target.mean(axis=0)) ** 2).sum()
    assert report.r2 == (pytest.approx(1 - (error**2).sum() / spread, rel=1e-6) if spread else 0.0)


def test_a_regression_as_scikit_learn_says() -> None:
    peer = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    target, prediction = rng.standard_normal((2, 60, 1))
    report = RegressionReport.from_batches([(prediction, target)])
    assert report.mse == pytest.approx(peer.mean_squared_error(target, prediction))
    assert report.mae == pytest.approx(peer.mean_absolute_error(target, prediction))
    assert report.r2 == pytest.approx(peer.r2_score(target, prediction))
    same = np.ones((4, 1))
    for wrong, wanted in ((same, 1.0), (same + 1, 0.0)):
        assert RegressionReport.from_batches([(wrong, same)]).r2 == peer.r2_score(same, wrong) == wanted


@pytest.mark.parametrize("batch", [1, 3, 4, 7, 20])
@pytest.mark.parametrize("constant", [[0.1], [0.1, 0.3], [1e6 + 0.1, -7.7, 0.0]])
def test_equal_targets_leave_nothing_to_explain(constant: list[float], batch: int) -> None:
    """Whatever the batches, although a mean of rounded numbers is rounded."""
    target = np.tile(constant, (20, 1))

    def r2(prediction: Any) -> float:
        pairs = [(prediction[at : at + batch], target[at : at + batch]) for at in range(0, len(target), batch)]
        return RegressionReport.from_batches(pairs).r2

    assert r2(target) == 1.0
    assert r2(target + 1.0) == 0.0


@pytest.mark.parametrize("batch", [1, 3, 20])
def test_r2_over_all_outputs(batch: int) -> None:
    """One that is constant adds its errors, and no spread. Where none is, scikit-learn says the same of outputs weighed
    by variance.
    """
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    target = np.column_stack([rng.standard_normal(20), 3 * rng.standard_normal(20)])
    prediction = target + rng.standard_normal((20, 2))

    def r2(prediction: Any, target: Any) -> float:
        pairs = [(prediction[at : at + batch], target[at : at + batch]) for at in range(0, len(target), batch)]
        return RegressionReport.from_batches(pairs).r2

    assert r2(prediction, target) == pytest.approx(
        metrics.r2_score(target, prediction, multioutput="variance_weighted")
    )
    target[:, 0] = 0.1
    spread = np.square(target[:, 1] - target[:, 1].mean()).sum()
    assert r2(prediction, target) == pytest.approx(1 - np.square(prediction - target).sum() / spread)


def test_a_regression_in_words() -> None:
    report = RegressionReport.from_batches([(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0]))])
    assert str(report) == "samples  3\nMSE      0.333333\nRMSE     0.57735\nMAE      0.333333\nR²       0.5000"
    assert report.headline == "R² 0.5000"


@pytest.mark.parametrize(
    ("shapes", "got"), [([((3, 1), (3,))], "(3, 1) and (3,)"), ([((0,), (0,))], "(0,) and (0,)"), ([], "none")]
)
def test_a_regression_needs_pairs(shapes: Any, got: str) -> None:
    with pytest.raises(ArgumentError) as refusal:
        RegressionReport.from_batches([tuple(np.zeros(shape) for shape in pair) for pair in shapes])
    assert str(refusal.value) == f"RegressionReport: needs a prediction for each target, and at least one, got {got}"


# --- from scores ---------------------------------------------------------------------------------------------------


def _scored(classes: int, ties: bool, seed: int) -> tuple[Any, IntArray1]:
    """Probabilities of which many are equal, if there are ``ties``, and labels of every class."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(1, 4, (60, classes)).astype(np.float64) if ties else rng.random((60, classes)) + 0.01
    return scores / scores.sum(axis=1, keepdims=True), rng.permutation(np.arange(60) % classes)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("classes", [2, 3, 7])
def test_scores_equal_scikit_learn(classes: int, ties: bool, seed: int) -> None:
    """P-M1: a peer's areas and shares. Of equal scores it counts the last, so it gets the classes in reverse order."""
    metrics = pytest.importorskip("sklearn.metrics")
    scores, labels = _scored(classes, ties, seed)
    for dtype in (np.float64, np.float32):
        area = roc_auc(scores.astype(dtype), labels)
        given = scores.astype(dtype).astype(np.float64)
        if classes == 2:
            assert area == pytest.approx(metrics.roc_auc_score(labels, given[:, 1]), abs=1e-12)
            assert roc_auc(scores[:, 1].astype(dtype), labels) == pytest.approx(area, abs=1e-12)
            precision = metrics.average_precision_score(labels, given[:, 1])
            assert average_precision(given, labels) == pytest.approx(precision, abs=1e-12)
        elif dtype is np.float64:  # it checks that rows add up to 1
            assert area == pytest.approx(
                metrics.roc_auc_score(labels, given, multi_class="ovr", average="macro"), abs=1e-12
            )
            own = labels[:, None] == np.arange(classes)
            precision = metrics.average_precision_score(own, given, average="macro")
            assert average_precision(given, labels) == pytest.approx(precision, abs=1e-12)
    for k in range(1, classes):
        if classes == 2:
            break  # of two classes it takes one column
        theirs = metrics.top_k_accuracy_score(classes - 1 - labels, scores[:, ::-1], k=k, labels=range(classes))
        assert top_k_accuracy(scores, labels, k) == pytest.approx(theirs, abs=1e-12)
    assert top_k_accuracy(scores, labels, 1) == accuracy(scores, labels)
    assert top_k_accuracy(scores, labels, classes) == 1


def test_areas_by_hand() -> None:
    """Pairs of a row of the class and another: three of four are in order; equal ones count half; infinities are in
    order too.
    """
    labels = np.array([0, 1, 0, 1])
    assert roc_auc(np.array([0.1, 0.4, 0.35, 0.8]), labels) == 1.0
    assert roc_auc(np.array([0.1, 0.3, 0.35, 0.8]), labels) == 0.75
    assert roc_auc(np.array([0.5, 0.5, 0.5, 0.5]), labels) == 0.5
    assert roc_auc(np.array([-np.inf, 0.0, 0.0, np.inf]), labels) == 0.875
    assert average_precision(np.array([0.1, 0.4, 0.35, 0.8]), labels) == 1.0
    assert average_precision(np.array([0.1, 0.3, 0.35, 0.8]), labels) == pytest.approx((1 + 2 / 3) / 2)


@pytest.mark.parametrize("classes", [2, 4])
def test_areas_while_training_and_in_reports(classes: int) -> None:
    """Of scores, which a softmax makes comparable between rows; in a report beside the accuracy of the largest k."""
    rng = np.random.default_rng(1)
    scores, labels = rng.standard_normal((90, classes)), rng.permutation(np.arange(90) % classes)
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    expected = {"roc_auc": roc_auc(shares, labels), "average_precision": average_precision(shares, labels)}
    batches = [(scores[:50], labels[:50]), (scores[50:], labels[50:]), (scores[:20], np.full(20, -100))]
    task = Classification(areas=True, top_k=1, ignore_index=-100)
    found = task.metrics(batches)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    report = task.report(scores, labels)
    assert report.ranked == pytest.approx(
        {
            "top-1 accuracy": report.accuracy,
            "ROC AUC": expected["roc_auc"],
            "average precision": expected["average_precision"],
        }
    )
    assert f"ROC AUC {expected['roc_auc']:.4f}" in str(report)
    assert "average precision" in report._repr_html_()
    saved = report.as_json(report)
    assert saved["roc_auc"] == report.areas.roc_auc  # type: ignore[union-attr]
    assert ("roc" in saved) == (classes == 2)
    # a class without a row has no area: neither is there
    assert "roc_auc" not in task.metrics([(scores, np.zeros(90, np.int64))])
    assert Classification().report(scores, np.zeros(90, np.int64)).areas is None


def test_curves_are_the_peers() -> None:
    """In at most 200 points of those that scikit-learn gives."""
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    for rows in (4, 3000):
        labels = rng.permutation(np.arange(rows) % 2)
        shares = rng.uniform(0, 0.6, rows) + 0.4 * labels
        areas = Areas.of(np.stack([1 - shares, shares], axis=1), labels)
        assert areas is not None
        false, true, _ = metrics.roc_curve(labels, shares)
        precision, recall, _ = metrics.precision_recall_curve(labels, shares)
        for ours, theirs in ((areas.roc, (false, true)), (areas.precision_recall, (recall, precision))):
            assert ours is not None
            known = {tuple(point) for point in np.round(np.stack(theirs, axis=1), 6).tolist()}
            points = [tuple(point) for point in np.stack(ours, axis=1).tolist()]
            assert set(points) <= known
            assert len(points) <= 200
            assert {points[0], points[-1]} <= known


def test_without_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it computes is absent, the report says what would bring it, and a call names the extra."""
    scores, labels = _scored(3, False, 0)
    monkeypatch.setitem(sys.modules, "sklearn.metrics", None)
    with pytest.raises(MissingExtra, match=r"typednn\[sklearn\]"):
        roc_auc(scores, labels)
    with pytest.raises(MissingExtra, match=r"typednn\[sklearn\]"):
        Classification(areas=True)
    monkeypatch.setattr("typednn.metrics.find_spec", lambda name: None)
    report = Classification(scores=False).report(scores, labels)
    assert report.areas is None
    assert "typednn[sklearn]" in report.left_out
    assert report.ranked == {}


def test_top_k_while_training() -> None:
    """Counted over batches, without labels that are ignored."""
    scores, labels = _scored(5, True, 0)
    batches = [(scores[:25], labels[:25]), (scores[25:], np.where(np.arange(35) < 5, -100, labels[25:]))]
    found = Classification(ignore_index=-100, top_k=3).metrics(batches)
    counts = np.r_[0:25, 30:60]
    assert found["top_3_accuracy"] == pytest.approx(top_k_accuracy(scores[counts], labels[counts], 3), abs=1e-12)
    assert set(found) == {"accuracy", "top_3_accuracy"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, y: top_k_accuracy(x, y, 4), "top_k_accuracy: k is at most the number of classes, 3, got 4"),
        (lambda x, y: top_k_accuracy(x, y, 0), "top_k_accuracy: k must be an integer of at least 1, got 0"),
        (
            lambda x, y: top_k_accuracy(x, y[:2]),
            "needs a label for each row of scores, and at least one, got 2 labels and 4 rows",
        ),
        (lambda x, y: top_k_accuracy(x, y + 1), "labels must be 0 to 2"),
        (lambda x, y: roc_auc(x * np.nan, y), "roc_auc: scores must be numbers, got NaN in row 0"),
        (
            lambda x, y: roc_auc(x, y.clip(0, 1)),
            "every class needs a row, and another class one too, got 0 rows of class 2 and 4 of others",
        ),
        (lambda x, y: roc_auc(x[:, 0], y), "labels must be 0 to 1"),
        (lambda x, y: roc_auc(x[None], y), "scores must be floats of shape"),
    ],
)
def test_wrong_scores_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call(np.random.default_rng(0).random((4, 3)), np.array([0, 1, 2, 1]))
