"""Cross-validation: as many trainings as there are folds, each validated on another part of the training samples.

    every = enumerate(folds_of(recipe, samples, 5), 1)
    print(across([train(each, samples, run=f"runs/mlp-1/fold-{number}") for number, each in every]))

Each is an ordinary training, whose recipe says its part (``fold="2/5"``). The test part is none of them.
"""

from collections.abc import Sequence
from statistics import mean, stdev

from typednn.arguments import integer
from typednn.errors import ArgumentError, explain
from typednn.recipes.plan import rows_of
from typednn.recipes.recipe import Recipe
from typednn.recipes.running import Trained, which
from typednn.recipes.samples import Samples

_SHOWN = {"accuracy": ("accuracy", ".2%"), "r2": ("R²", ".4f"), "mae": ("MAE", ".6g")}  # metrics, and how they look


def folds_of(recipe: Recipe, samples: Samples, folds: int = 5) -> list[Recipe]:
    """``recipe`` for each of so many parts; an `ArgumentError` where the samples can't be shared out."""
    count = integer("folds", "folds", folds, 2)
    every = [recipe.changed({"fold": f"{number}/{count}"}) for number in range(1, count + 1)]
    rows_of(every[0], samples)
    return every


def across(results: Sequence[Trained]) -> str:
    """In a line, the metrics on the validation parts: of each the mean, and the standard deviation (of n - 1) between
    the folds.
    """
    if len(results) < 2:
        raise ArgumentError(explain("across", "needs the results of two folds at least", str(len(results))), "results")
    kept = [_kept(result) for result in results]
    shown = [
        f"{label} {mean(values):{form}} ± {stdev(values):{form}}"
        for name, (label, form) in _SHOWN.items()
        if (values := [metrics[name] for metrics in kept if name in metrics]) and len(values) == len(kept)
    ]
    best = (
        "; of each its best evaluation, by which its weights were chosen"
        if which(results[0].plan.recipe) == "best"
        else ""
    )
    return f"validation {', '.join(shown)}: mean of {len(kept)} folds ± standard deviation between them{best}"


def _kept(result: Trained) -> dict[str, float]:
    """The metrics of the evaluation whose weights the run has."""
    history = result.history
    if which(result.plan.recipe) == "best" and history.best is not None:
        best = history.best.step
        return next(each.metrics for each in history.evaluations if each.step == best)
    return history.evaluations[-1].metrics
