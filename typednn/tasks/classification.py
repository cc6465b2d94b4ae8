"""Classification: each sample belongs to one of several classes; ``y`` holds their numbers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from typednn.arguments import flag, integer
from typednn.arrays import is_integer
from typednn.backends import to_numpy
from typednn.data import one_hot
from typednn.data.labels import checked_labels, names_of, whole_numbers
from typednn.errors import optional, printable
from typednn.kernels import softmax
from typednn.metrics import Areas, ClassificationReport, in_top_k
from typednn.runs.shown import Mistakes, worst_mistakes
from typednn.tasks.task import RecipeTask


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """A classifier's prediction for one input: the file, the input's number in it (from 0), label, name, probabilities
    by name.
    """

    file: str
    index: int
    label: int
    name: str
    probabilities: dict[str, float]
    remark: str = ""

    def as_json(self) -> dict[str, Any]:
        """Label, name and probabilities."""
        return {"label": self.label, "name": self.name, "probabilities": self.probabilities}

    def __str__(self) -> str:
        """The name, its probability, and the next best."""
        order = sorted(self.probabilities.items(), key=lambda pair: -pair[1])
        others = ", ".join(f"{name} {share:.1%}" for name, share in order[1:3])
        return printable(
            f"{self.file}[{self.index}]  {self.name}  {order[0][1]:.1%}" + (f"  ({others})" if others else "")
        )


@final
@dataclass(frozen=True, slots=True)
class Classification(RecipeTask[ClassificationReport, Answer]):
    """``names`` are the classes'. ``rows``: whether targets are rows of probabilities, smoothed by ``smoothing``.

    ``scores``: whether outputs are logits, which a softmax turns into probabilities. ``ignore_index``: a label that
    does not count for the accuracy. In training, each position of a sequence or an image may have a label. ``top_k``:
    where it is given, as ``Classification(top_k=5)``, evaluations have ``top_5_accuracy`` too, the share of labels
    among the five largest scores. ``areas``: whether evaluations have ``roc_auc`` and ``average_precision`` too
    (`typednn.metrics`), where each class has a row; scikit-learn computes them. Reports have them anyway.
    """

    names: tuple[str, ...] = ()
    rows: bool = False
    smoothing: float = 0.0
    scores: bool = True
    ignore_index: int | None = None
    top_k: int | None = None
    areas: bool = False

    def __post_init__(self) -> None:
        if flag("Classification", "areas", self.areas):
            optional("sklearn.metrics", "Classification", "areas need scikit-learn", "pip install 'typednn[sklearn]'")
        if self.top_k is not None:
            integer("Classification", "top_k", self.top_k)

    def targets(self, y: Any, prediction: Any) -> Any:
        if not self.rows:
            return y
        off = self.smoothing / prediction.shape[1]
        if not is_integer(y.dtype):  # probabilities, as of mixed images
            return y * y.dtype.type(1.0 - self.smoothing) + y.dtype.type(off)
        return one_hot(y, prediction.shape[1], 1.0 - self.smoothing + off, off)

    def metrics(self, batches: Iterable[tuple[Any, Any]]) -> dict[str, float]:
        """The accuracy: the share of labels that have the largest score. Empty where ``y`` holds no labels, 0 where
        none counts.
        """
        return self.combined(self.counted(*batch) for batch in batches)

    def counted(self, prediction: Any, y: Any) -> tuple[int, int, int, Any, Any] | None:
        """How many labels have the largest score, are among the largest ``top_k``, and count; for ``areas`` the
        probabilities and labels. None where ``y`` holds no labels.
        """
        if not is_integer(y.dtype) or y.shape != prediction.shape[:-1]:
            return None
        wanted, host = to_numpy(y), to_numpy(prediction)
        counts = np.ones(wanted.shape, np.bool_) if self.ignore_index is None else wanted != self.ignore_index
        right = int(((host.argmax(axis=-1) == wanted) & counts).sum())
        among = 0 if self.top_k is None else int((in_top_k(host, wanted, self.top_k) & counts).sum())
        shares, labels = (self._shares(host[counts]), wanted[counts]) if self.areas else (None, None)
        return right, among, int(counts.sum()), shares, labels

    def combined(self, counted: Iterable[tuple[int, int, int, Any, Any] | None]) -> dict[str, float]:
        """As `metrics`."""
        right = among = total = 0
        kept: list[tuple[Any, Any]] = []
        for each in counted:
            if each is None:
                return {}
            right, among, total = right + each[0], among + each[1], total + each[2]
            kept += [each[3:]] if self.areas else []
        more = {} if self.top_k is None else {f"top_{self.top_k}_accuracy": among / max(total, 1)}
        found = Areas.of(*map(np.concatenate, zip(*kept, strict=True))) if kept else None
        if found is not None:
            more |= {"roc_auc": found.roc_auc, "average_precision": found.average_precision}
        return {"accuracy": right / max(total, 1), **more}

    def _shares(self, scores: Any) -> Any:
        """Probabilities."""
        return softmax.forward(scores) if self.scores else scores

    def column(
        self, where: str, name: str, column: npt.NDArray[np.float64], place: Callable[[int], str]
    ) -> npt.NDArray[np.int64]:
        rule = f"{name} must hold labels, whole numbers from 0, or words"
        return whole_numbers(
            where, rule, column, "choose another column with target=... (--target), or a regression", place
        )

    def check(self, where: str, y: npt.NDArray[Any], outputs: int) -> None:
        checked_labels(where, "labels", y, outputs)

    def report(self, prediction: Any, y: npt.NDArray[Any]) -> ClassificationReport:
        names = names_of(self.names, prediction.shape[1]) if self.names else ()
        areas = Areas.of(self._shares(prediction), y)
        return ClassificationReport.from_scores(prediction, y, names, top_k=self.top_k, areas=areas)

    def shown(self, x: npt.NDArray[Any], y: npt.NDArray[Any], prediction: Any) -> Mistakes | None:
        """The worst mistakes, of images."""
        return worst_mistakes(x, y, prediction) if x.ndim == 4 and x.shape[3] in (1, 3) else None

    def answers(self, file: str, prediction: Any, remark: str) -> list[Answer]:
        shares = self._shares(prediction)
        classes = prediction.shape[1]
        names = names_of(self.names, classes)
        labels = [(row, int(np.argmax(row))) for row in np.asarray(shares, np.float64).tolist()]
        return [
            Answer(file, index, label, names[label], dict(zip(names, row, strict=True)), remark)
            for index, (row, label) in enumerate(labels)
        ]
