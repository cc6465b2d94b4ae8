"""The command line's grammar: commands, arguments, and help by example. Imports nothing that is slow."""

import argparse
import difflib
import re
from contextlib import suppress
from functools import partial
from typing import Final, NoReturn, final

from typednn.version import __version__

# Each command and the module of its function, so that `--help` imports none of them.
COMMANDS: Final = {
    "train": "training",
    "resume": "training",
    "eval": "use",
    "predict": "use",
    "report": "report",
    "summary": "inspection",
    "check": "inspection",
    "gradcheck": "inspection",
    "info": "info",
}

_EPILOG = """\
examples:
  typednn train lenet5                          train on handwritten digits, into a new folder runs/lenet5-1
  typednn train lenet5 --data mnist --run big   on MNIST, into the folder big
  typednn resume big                            go on after a Ctrl-C, a crash or a power cut, to the same bits
  typednn predict big seven.png                 which digit is it?
  typednn COMMAND --help                        more, with examples

exit codes:
  0 done   1 typednn refused something, and said what   2 the command was not understood
  130 stopped by Ctrl-C   143 stopped by SIGTERM; a run that was stopped goes on with `typednn resume`
"""

_TRAIN = """\
examples:
  typednn train lenet5
  typednn train lenet5 --data mnist --run runs/mine --epochs 8
  typednn train lenet5 --set optimizer.lr=0.02 --set batch_size=128
  typednn train lenet5-paper --data mnist       the paper's experiment, its Table I beside ours
  typednn train model.toml train.csv test.csv   a model of your own, on rows of numbers: the label first, then the inputs
  typednn train model.toml train.csv test.csv --set task=regression   the first column holds numbers to learn
  typednn train model.toml --data pictures/ --report

data: mnist, fashion-mnist, cifar-10 (downloaded unless found), digits (scikit-learn's), spiral; or a folder that holds the files
of such a set, or train and test with a folder of PNG images per class.
TYPEDNN_DATA names the folder in which sets are looked for. Without --data, MNIST is taken where it is found, else the digits.

settings for --set: optimizer.* as in a config's [optimizer], and
  epochs least_steps batch_size loss smoothing standardise generator seed stream clip_grad_norm accumulate patience validation
  evaluate_every checkpoint_every fuse
"""

_RESUME = """\
examples:
  typednn resume runs/lenet5-1                  from its last checkpoint; from the start where there is none
"""

_EVAL = """\
examples:
  typednn eval runs/lenet5-1                    the report on the test set that it was trained with
  typednn eval runs/lenet5-1 --data fashion-mnist
  typednn eval runs/table --data test.csv
  typednn eval runs/table --weights best        the checkpoint that did best on the data kept apart
"""

_PREDICT = """\
examples:
  typednn predict runs/lenet5-1 seven.png       label, probability, and the next best
  typednn predict runs/lenet5-1 *.png --json    a JSON object per input
  typednn predict runs/lenet5-1 photo.png --invert
  typednn predict runs/lenet5-1 t10k-images-idx3-ubyte.gz

reads: PNG (made grey and brought to the model's size), NPY and NPZ (one input or many), CSV (an input per row), IDX.
MNIST's digits are light on dark: for ink on paper add --invert, which turns PNG images over.
"""

_SUMMARY = """\
examples:
  typednn summary lenet5
  typednn summary model.toml --import my_layers
"""

_CHECK = """\
examples:
  typednn check model.toml                      its layers and shapes, or line, column and caret of what is wrong
  typednn check model.toml --import my_layers
  typednn check model.py                        size mistakes in Python, in the words of the mypy plugin; nothing is run
  typednn check src/ mypackage.models           folders and modules
  typednn check model.py --json                 an object per finding: path, line, column, message, code

Python needs mypy: pip install 'typednn[mypy]'. Of your mypy settings those count that say where modules are found.
Silence a finding with `# type: ignore[shape]`.
"""

_GRADCHECK = """\
examples:
  typednn gradcheck model.toml                  every derivative of the model against central differences, in float64
  typednn gradcheck 'Conv2d(2, 3, 3)' --input 6,6,2
  typednn gradcheck 'Linear(4, 2)'              the input's shape is worked out where one number decides it
"""

_REPORT = """\
examples:
  typednn report runs/lenet5-1                  the pictures in plots/, and one HTML page with them; prints its path
"""

_SLUGGISH = re.compile(r"invalid choice: '([^']*)' \(choose from ([^)]*)\)")


@final
class Parser(argparse.ArgumentParser):
    """As argparse's, with a suggestion for a misspelt word; exit code 2."""

    def error(self, message: str) -> NoReturn:
        unknown = _SLUGGISH.search(message)
        if unknown:
            known = [word.strip(" '") for word in unknown[2].split(",")]
            close = difflib.get_close_matches(unknown[1], known, n=1)
            message = f"no command {unknown[1]!r}; " + (f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}")
        self.exit(2, f"{self.prog}: {message}\n{self.prog} --help shows examples\n")


def parser() -> Parser:
    """The whole grammar."""
    top = Parser(prog="typednn", description="Train, resume, test and use neural networks whose shapes are proven to fit.", epilog=_EPILOG)
    top.formatter_class = argparse.RawDescriptionHelpFormatter
    top.add_argument("--version", action="version", version=f"typednn {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)

    def command(name: str, help_line: str, epilog: str = "") -> Parser:
        added: Parser = commands.add_parser(
            name, help=help_line, description=help_line, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        added.add_argument("--debug", action="store_true", help="show the traceback of an error")
        return added

    one = command("train", "train a recipe or a config, and keep everything in a run folder", _TRAIN)
    one.add_argument("recipe", metavar="RECIPE_OR_CONFIG", help="lenet5, lenet5-paper, mlp, or a config file")
    one.add_argument("files", metavar="CSV", nargs="*", help="train.csv test.csv: data as rows, the label in the first column")
    one.add_argument("--data", metavar="NAME_OR_DIR", help="a data set's name, or a folder that holds one")
    one.add_argument("--run", metavar="DIR", help="the run folder, a new one; runs/NAME-1, -2 ... unless told")
    _settings(one)
    _import(one)

    one = command("resume", "go on with a run that was stopped, to the same bits as if it had not been", _RESUME)
    _run(one)
    _settings(one, sets=False)

    one = command("eval", "precision, recall, F1 and the confusion matrix of a run", _EVAL)
    _run(one)
    one.add_argument("--data", metavar="NAME_OR_DIR", help="another data set, folder or CSV file; else the run's own")
    one.add_argument(
        "--weights", choices=("best", "latest"), help="other weights than those that count: the last unless training could stop early"
    )

    one = command("predict", "the label and probabilities of images or rows", _PREDICT)
    _run(one)
    one.add_argument("files", metavar="FILE", nargs="+", help="PNG, NPY, CSV or IDX")
    one.add_argument("--json", action="store_true", help="a JSON object per input, with every probability")
    one.add_argument("--invert", action="store_true", help="for images that are dark on light")

    one = command("summary", "the layers of a recipe or a config, with shapes, parameters and settings", _SUMMARY)
    one.add_argument("recipe", metavar="RECIPE_OR_CONFIG")
    _import(one)

    one = command("check", "check the sizes in configs and Python files: nothing is allocated, nothing is run", _CHECK)
    one.add_argument("targets", metavar="TARGET", nargs="+", help="a config, a Python file, a folder, or a module such as mypackage.models")
    one.add_argument("--json", action="store_true", help="a JSON object per finding")
    _import(one)

    one = command("gradcheck", "compare backward with finite differences, for a config, a recipe or one layer", _GRADCHECK)
    one.add_argument("subject", metavar="CONFIG_OR_LAYER")
    one.add_argument("--input", metavar="SIZES", help="one sample's shape, such as 28,28,1, for a layer")
    one.add_argument("--seed", type=partial(_at_least, 0), default=0, metavar="N", help="of the input and the parameters")
    _import(one)

    command("info", "versions, machine, BLAS, threads, devices, extras: what a bug report needs")

    one = command("report", "draw a run's pictures, and write its report as one self-contained HTML page", _REPORT)
    _run(one)
    return top


def _run(one: Parser) -> None:
    one.add_argument("run", metavar="RUN", help="the run's folder")


def _settings(one: Parser, *, sets: bool = True) -> None:
    one.add_argument("--time-limit", type=_seconds, metavar="SECONDS", help="save and stop after this time")
    one.add_argument("--report", action="store_true", help="in the end draw the pictures and write the page, as `typednn report` does")
    if sets:
        one.add_argument("--epochs", type=partial(_at_least, 1), metavar="N", help="passes over the data in all")
        one.add_argument(
            "--set", action="append", default=[], metavar="NAME=VALUE", dest="settings", help="change a setting; repeat for more"
        )
    one.add_argument("-q", "--quiet", action="store_true", help="no progress, no tables")


def _import(one: Parser) -> None:
    one.add_argument(
        "--import",
        metavar="MODULE",
        action="append",
        default=[],
        dest="modules",
        help="import a module that registers layers; may be repeated",
    )


def _at_least(least: int, text: str) -> int:
    with suppress(ValueError):
        if int(text) >= least:
            return int(text)
    raise argparse.ArgumentTypeError(f"expected a whole number, at least {least}, got {text!r}")


def _seconds(text: str) -> float:
    with suppress(ValueError):
        if 0.0 < float(text) < float("inf"):
            return float(text)
    raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, got {text!r}")
