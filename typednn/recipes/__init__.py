"""Recipes: models with everything that decides how they are trained, by name or from a config file.

    from typednn.recipes import recipe, train
    result = train(recipe("lenet5").changed({"epochs": 3}), data="mnist", run="runs/mine")

The commands call these functions.
"""

from typednn.recipes.catalogue import RECIPES, find, recipe, recipe_of_config
from typednn.recipes.choosing import choose, chosen
from typednn.recipes.cross_validation import across, folds_of
from typednn.recipes.predictor import Predictor, load_run
from typednn.recipes.published import beside_published, beside_the_paper
from typednn.recipes.recipe import Recipe, parsed_settings
from typednn.recipes.running import Trained, resume, train
from typednn.recipes.samples import Samples, load_data
from typednn.recipes.tables import load_tables
from typednn.recipes.using import evaluate_run, predict

__all__ = [
    "RECIPES",
    "Predictor",
    "Recipe",
    "Samples",
    "Trained",
    "across",
    "beside_published",
    "beside_the_paper",
    "choose",
    "chosen",
    "evaluate_run",
    "find",
    "folds_of",
    "load_data",
    "load_run",
    "load_tables",
    "parsed_settings",
    "predict",
    "recipe",
    "recipe_of_config",
    "resume",
    "train",
]
