"""Published results of a recipe, compared with ours: for lenet5-paper, the paper's Table I.

Source: "Deep Learning Implementation With Rust", Table I: precision, recall and F1 of each digit on the training and
the test images, to two decimals; accuracy 0.976 and 0.970.
"""

from typing import Final

from typednn.errors import ArgumentError, explain
from typednn.metrics import ClassificationReport

# A row per digit: precision, recall and F1, each on the training and on the test images.
TABLE_I: Final[tuple[tuple[float, ...], ...]] = (
    (0.97, 0.96, 0.99, 0.99, 0.98, 0.98),
    (0.99, 0.98, 0.99, 0.99, 0.99, 0.99),
    (0.98, 0.96, 0.98, 0.97, 0.98, 0.97),
    (0.96, 0.95, 0.98, 0.98, 0.97, 0.97),
    (0.97, 0.96, 0.98, 0.98, 0.98, 0.97),
    (0.97, 0.97, 0.98, 0.97, 0.97, 0.97),
    (0.99, 0.99, 0.98, 0.97, 0.98, 0.98),
    (0.97, 0.96, 0.98, 0.97, 0.98, 0.97),
    (0.98, 0.98, 0.96, 0.93, 0.97, 0.96),
    (0.98, 0.98, 0.94, 0.94, 0.96, 0.96),
)
ACCURACIES: Final[tuple[float, float]] = (0.976, 0.970)


def beside_published(recipe: str, train: object, test: object) -> str | None:
    """The published results of the recipe of this name beside the reports; None where there are none."""
    if (
        recipe != "lenet5-paper"
        or not isinstance(train, ClassificationReport)
        or not isinstance(test, ClassificationReport)
    ):
        return None
    return beside_the_paper(train, test) if test.classes == len(TABLE_I) else None


def beside_the_paper(train: ClassificationReport, test: ClassificationReport) -> str:
    """Table I with two numbers in each place: the paper's, then ours."""
    for part, report in (("train", train), ("test", test)):
        if report.classes != len(TABLE_I):
            raise ArgumentError(
                explain("beside_the_paper", f"Table I has ten digits, {part} too", f"{report.classes} classes")
            )
    lines = [
        "Table I of the paper, and ours beside it (paper ours)",
        "",
        f"{'':5}  {'precision':<23}  {'recall':<23}  f1",
        f"{'digit':5}" + f"  {'train':<10}  {'test':<11}" * 2 + "  train       test",
    ]
    for digit, row in enumerate(TABLE_I):
        ours = [
            float(share[digit])
            for name in ("precision", "recall", "f1")
            for share in (getattr(train, name), getattr(test, name))
        ]
        cells = (f"{theirs:.2f} {own:.3f}" for theirs, own in zip(row, ours, strict=True))
        lines.append(
            f"{digit:5}" + "".join(f"  {cell:<{11 if place % 2 else 10}}" for place, cell in enumerate(cells)).rstrip()
        )
    lines.append("")
    for part, paper, report in zip(("train", "test"), ACCURACIES, (train, test), strict=True):
        lines.append(f"{part} accuracy  paper {paper:.3f}  ours {report.accuracy:.4f}")
    return "\n".join(lines)
