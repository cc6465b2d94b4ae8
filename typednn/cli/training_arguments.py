"""What `typednn train` takes."""

from typing import Final

from typednn.cli.shared_options import (
    COUNT,
    FOLDS,
    IMPORT,
    LAYOUT,
    POSITIVE,
    TRAINING,
    WHOLE,
    Argument,
    argument,
    names,
)

MODELS: Final = (
    "lenet5",
    "lenet5-paper",
    "mlp",
    "cnn",
    "lstm",
    "resnet18",
    "resnet34",
    "resnet50",
    "vgg16",
    "gpt2",
)  # as in `typednn.recipes.RECIPES`, which imports NumPy
RECIPE_OR_CONFIG: Final = f"{', '.join(MODELS)}, or a config file"
TRAIN: Final[tuple[Argument, ...]] = (
    argument("recipe", metavar="RECIPE_OR_CONFIG", nargs="?", help=RECIPE_OR_CONFIG),
    argument(
        "files",
        metavar="CSV",
        nargs="*",
        default=[],
        help="train.csv test.csv, or one table that is split: rows of data, the label in the first column or "
        "in --target's",
    ),
    argument(
        "--model",
        metavar="NAME",
        help="the same as RECIPE_OR_CONFIG; chosen for the data where there is neither",
    ),
    argument("--data", metavar="NAME_OR_PATH", help="a data set's name, a folder that holds one, or a table"),
    argument("--target", metavar="COLUMN", help="of a table with named columns: the one to learn"),
    argument("--columns", type=names, metavar="A,B,...", help="of a table: the inputs; by default all others"),
    argument("--exclude", type=names, metavar="A,B,...", help="of a table: columns that are no inputs"),
    argument(
        "--missing",
        choices=("fill", "drop", "error"),
        help="of a table: fill gaps (the default), leave out rows that have one, or refuse them",
    ),
    argument(
        "--task",
        choices=("classification", "regression"),
        help="labels or numbers; by default what the target holds",
    ),
    *LAYOUT,
    argument("--dry-run", action="store_true", help="tell what would be trained, and train nothing"),
    argument("--preset", metavar="NAME", help="of gpt2: shakespeare-char (the default), nina or gpt2-124m"),
    argument(
        "--from",
        metavar="PATH",
        dest="start",
        help="start from weights: a run, a file of model.save, PyTorch's names in .safetensors; of gpt2 also a "
        "folder as Hugging Face has it, or gpt.c's file",
    ),
    argument(
        "--freeze",
        type=int,
        metavar="N",
        help="the first N layers with parameters don't learn; -1: all but the last",
    ),
    argument(
        "--folds",
        type=FOLDS,
        metavar="K",
        help="train K times, each validated on another part of the samples: runs in DIR/fold-1 to fold-K",
    ),
    argument(
        "--run",
        metavar="DIR",
        help="the run folder, a new one; by default runs/NAME-1, or the next free number",
    ),
    argument("--epochs", type=COUNT, metavar="N", help="passes over the data in all"),
    argument("--lr", "--learning-rate", type=POSITIVE, metavar="LR", help="the learning rate"),
    argument("--batch-size", type=COUNT, metavar="N", help="rows per step"),
    argument("--optimizer", metavar="NAME", help="such as adam, with its own learning rate unless --lr gives one"),
    argument("--seed", type=WHOLE, metavar="N", help="of parameters and of the order"),
    argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="settings",
        help="change a setting; repeat for more",
    ),
    *TRAINING,
    IMPORT,
)
