"""The command line's grammar: commands, arguments, and help by example. Imports nothing that is slow."""

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias, final

from typednn.cli.cures import for_command, for_option
from typednn.errors import printable
from typednn.version import __version__

Argument: TypeAlias = tuple[tuple[str, ...], dict[str, Any]]


@final
class Command(NamedTuple):
    """A command: the module in ``typednn.cli`` that has its function, its help, and the arguments of `argparse` it
    takes.
    """

    module: str
    about: str
    arguments: tuple[Argument, ...] = ()
    examples: str = ""


def _number(
    kind: Callable[[str], float], above: float, expected: str, text: str, *, most: float = sys.float_info.max
) -> float:
    with suppress(ValueError):
        if above < kind(text) <= most:
            return kind(text)
    raise argparse.ArgumentTypeError(f"expected {expected}, got {text!r}")


def _argument(*names: str, **options: Any) -> Argument:
    return names, options


def _weights(text: str) -> str:
    return "latest" if text == "last" else text


def _yes(text: str) -> bool:
    if text not in ("yes", "no"):
        raise argparse.ArgumentTypeError(f"expected yes or no, got {text!r}")
    return text == "yes"


def _character(text: str) -> str:
    return "\t" if text in ("tab", "\\t") else text


_NEGATIVE = -5e-324  # the largest number below 0
MODELS: Final = (
    "lenet5",
    "lenet5-paper",
    "mlp",
    "lstm",
    "resnet18",
    "resnet34",
    "resnet50",
    "vgg16",
    "gpt2",
)  # as in `typednn.recipes.RECIPES`, which imports NumPy
_MODELS = f"{', '.join(MODELS)}, or a config file"
# Settings of --set that have no option of their own; `typednn.recipes.recipe.CHANGEABLE` has them all, but imports
# NumPy.
SETTINGS: Final = """
  least_steps max_steps loss smoothing standardise generator stream clip_grad_norm accumulate patience validation
  evaluate_every checkpoint_every fuse image augment balance drop_last workers vocabulary tokens stride weights"""

_RUN = _argument("run", metavar="RUN", help="the run's folder")
_IMPORT = _argument(
    "--import",
    metavar="MODULE",
    action="append",
    default=[],
    dest="modules",
    help="import a module that registers layers; may be repeated",
)
_LAYOUT = (
    _argument(
        "--header",
        type=_yes,
        metavar="yes|no",
        help="of a CSV file: whether line 1 holds the columns' names; by default it decides",
    ),
    _argument(
        "--delimiter",
        type=_character,
        metavar="CHAR",
        help="of a CSV file: what is between columns, such as ';' or tab",
    ),
    _argument("--decimal", choices=(".", ","), help="of a CSV file: what is before fractions"),
)
_TRAINING = (
    _argument(
        "--time-limit",
        type=partial(_number, float, 0, "a number of seconds above 0"),
        metavar="SECONDS",
        help="save and stop after this time",
    ),
    _argument(
        "--report",
        action="store_true",
        help="at the end, draw the pictures and write the page, as `typednn report` does",
    ),
    _argument("-q", "--quiet", action="store_true", help="no progress, no tables"),
)

COMMANDS: Final = {
    "new": Command(
        "new",
        "write a small project: a layer of one's own, a config, a script, a test, settings of mypy",
        (_argument("name", metavar="NAME", help="of the project and its folder, which must not exist yet"),),
        """\
examples:
  typednn new my-project                        a folder whose own test passes at once; README.md in it says what to do
""",
    ),
    "train": Command(
        "training",
        "train a recipe or a config, and keep everything in a run folder",
        (
            _argument("recipe", metavar="RECIPE_OR_CONFIG", nargs="?", help=_MODELS),
            _argument(
                "files",
                metavar="CSV",
                nargs="*",
                default=[],
                help="train.csv test.csv, or one table that is split: rows of data, the label in the first column or "
                "in --target's",
            ),
            _argument(
                "--model",
                metavar="NAME",
                help="the same as RECIPE_OR_CONFIG; chosen for the data where there is neither",
            ),
            _argument("--data", metavar="NAME_OR_PATH", help="a data set's name, a folder that holds one, or a table"),
            _argument("--target", metavar="COLUMN", help="of a table with named columns: the one to learn"),
            _argument(
                "--task",
                choices=("classification", "regression"),
                help="labels or numbers; by default what the target holds",
            ),
            *_LAYOUT,
            _argument("--preset", metavar="NAME", help="of gpt2: shakespeare-char (the default), nina or gpt2-124m"),
            _argument(
                "--from",
                metavar="PATH",
                dest="start",
                help="of gpt2: start from weights: a folder as Hugging Face has it, or gpt.c's file",
            ),
            _argument(
                "--run",
                metavar="DIR",
                help="the run folder, a new one; by default runs/NAME-1, or the next free number",
            ),
            _argument(
                "--epochs",
                type=partial(_number, int, 0, "a whole number, at least 1"),
                metavar="N",
                help="passes over the data in all",
            ),
            _argument(
                "--lr",
                "--learning-rate",
                type=partial(_number, float, 0, "a number above 0"),
                metavar="LR",
                help="the learning rate",
            ),
            _argument(
                "--batch-size",
                type=partial(_number, int, 0, "a whole number, at least 1"),
                metavar="N",
                help="rows per step",
            ),
            _argument(
                "--optimizer", metavar="NAME", help="such as adam, with its own learning rate unless --lr gives one"
            ),
            _argument(
                "--seed",
                type=partial(_number, int, -1, "a whole number, at least 0"),
                metavar="N",
                help="of parameters and of the order",
            ),
            _argument(
                "--set",
                action="append",
                default=[],
                metavar="NAME=VALUE",
                dest="settings",
                help="change a setting; repeat for more",
            ),
            *_TRAINING,
            _IMPORT,
        ),
        f"""\
examples:
  typednn train lenet5
  typednn train lenet5 --data mnist --run runs/mine --epochs 8
  typednn train lenet5 --set optimizer.lr=0.02 --set batch_size=128
  typednn train lenet5-paper --data mnist       the paper's experiment, compared with its Table I
  typednn train model.toml train.csv test.csv   a model of your own, on rows of numbers: the label, then the inputs
  typednn train model.toml train.csv test.csv --set task=regression   the first column holds numbers to learn
  typednn train --data photos/                  images, a folder per class: a ResNet-18 of their size and classes
  typednn train --model resnet18 --data photos/ --set image=96 --epochs 10 --lr 0.01
  typednn train --data houses.csv --target price    a table: columns by name, numbers or words to learn
  typednn train model.toml --data pictures/ --report
  typednn train gpt2 --preset shakespeare-char  a language model that learns from Tiny Shakespeare
  typednn train gpt2 --from gpt2/ --data book.txt --set max_steps=200   go on from given weights
  typednn train gpt2 --from model.bin --data tokens/ --set vocabulary=tokenizer.bin   from gpt.c's files

data: mnist, fashion-mnist, cifar-10 (downloaded unless found), digits (scikit-learn's), spiral; or a folder that holds
the files of such a set, or a folder of images per class, by itself or in train, val and test; or a table in CSV,
Parquet or Arrow. For gpt2: tinyshakespeare, a text, a folder of texts, a file of tokens (.bin), a folder with train.bin
and val.bin, or TinyStories' data00.json, …. TYPEDNN_DATA names the folder in which sets are looked for. Without --data,
MNIST is taken where it is found, else the digits.

settings for --set: optimizer.* as in a config's [optimizer], and
  epochs batch_size seed{SETTINGS};
  model.* as in model.n_layer=6, where the recipe has such sizes
""",
    ),
    "resume": Command(
        "training",
        "continue a run that was stopped; the result is the same, bit for bit, as without the stop",
        (_RUN, *_TRAINING, _IMPORT),
        """\
examples:
  typednn resume runs/lenet5-1                  from its last checkpoint; from the start where there is none
""",
    ),
    "eval": Command(
        "use",
        "precision, recall, F1 and the confusion matrix of a run",
        (
            _RUN,
            _argument(
                "--data", metavar="NAME_OR_DIR", help="another data set, folder or CSV file; by default the run's own"
            ),
            *_LAYOUT,
            _argument(
                "--weights",
                type=_weights,
                choices=("best", "latest"),
                help="the weights to use; by default the latest, or the best if training could stop early",
            ),
            _IMPORT,
        ),
        """\
examples:
  typednn eval runs/lenet5-1                    the report on the test set that it was trained with
  typednn eval runs/lenet5-1 --data fashion-mnist
  typednn eval runs/table --data test.csv
  typednn eval runs/table --weights best        the checkpoint that was best on the validation data
""",
    ),
    "predict": Command(
        "use",
        "the label and probabilities of images or rows",
        (
            _RUN,
            _argument("files", metavar="FILE", nargs="+", help="images, IDX, NPY, CSV, TSV, Parquet or Arrow"),
            _argument("--json", action="store_true", help="a JSON object per input, with every probability"),
            _argument("--invert", action="store_true", help="for images that are dark on light"),
            *_LAYOUT,
            _IMPORT,
        ),
        """\
examples:
  typednn predict runs/lenet5-1 seven.png       label, probability, and the next best
  typednn predict runs/lenet5-1 *.png --json    a JSON object per input
  typednn predict runs/lenet5-1 photo.png --invert
  typednn predict runs/lenet5-1 t10k-images-idx3-ubyte.gz

reads: PNG (made grey and brought to the model's size), NPY and NPZ (one input or many), CSV (an input per row), IDX.
MNIST's digits are light on dark: for ink on paper add --invert, which inverts PNG images.
""",
    ),
    "generate": Command(
        "generation",
        "write text with a language model: a run, a folder of Hugging Face's weights, or gpt.c's file",
        (
            _argument(
                "model",
                metavar="RUN_OR_FOLDER",
                help="a run's folder, a folder with config.json and model.safetensors, or gpt.c's file",
            ),
            _argument(
                "--tokenizer",
                metavar="FOLDER",
                help="the vocabulary where it is elsewhere: a folder, or gpt.c's tokenizer.bin",
            ),
            _argument(
                "--prompt",
                action="append",
                default=[],
                metavar="TEXT",
                dest="prompts",
                help="what the text begins with; repeat for more",
            ),
            _argument(
                "--prompt-tokens",
                action="append",
                default=[],
                metavar="LIST",
                help="the same as tokens, such as '[50256, 8643]'",
            ),
            _argument(
                "--max-tokens",
                type=partial(_number, int, -1, "a whole number, at least 0"),
                default=256,
                metavar="N",
                help="of each text, behind the prompt; 256 by default",
            ),
            _argument(
                "--temperature",
                type=partial(_number, float, _NEGATIVE, "a number of at least 0"),
                default=1.0,
                metavar="T",
                help="1 by default; 0 takes the likeliest token",
            ),
            _argument(
                "--top-k",
                type=partial(_number, int, 0, "a whole number, at least 1"),
                metavar="N",
                help="draw from the N likeliest tokens only",
            ),
            _argument(
                "--top-p",
                type=partial(_number, float, _NEGATIVE, "a number from 0 to 1", most=1.0),
                metavar="P",
                help="draw from the fewest tokens that together have this probability",
            ),
            _argument(
                "--stop",
                action="append",
                default=[],
                metavar="TOKEN",
                help="end a text with this token, a text or a number; <|endoftext|> by default; repeat for more",
            ),
            _argument(
                "--seed",
                type=partial(_number, int, -1, "a whole number, at least 0"),
                metavar="N",
                help="0 by default; of xorshift64* 1337",
            ),
            _argument(
                "--dtype",
                choices=("float32", "bfloat16", "int8"),
                default="float32",
                help="of the matrices: fewer bytes are read faster, and a little less exact",
            ),
            _argument(
                "--sampler",
                choices=("numpy", "xorshift64*"),
                default="numpy",
                help="random numbers: NumPy's, or those of gpt.c",
            ),
            _argument(
                "--top",
                type=partial(_number, int, 0, "a whole number, at least 1"),
                metavar="N",
                help="print the N likeliest next tokens instead of a text",
            ),
            _argument("--interactive", action="store_true", help="continue each line of standard input"),
            _argument(
                "--weights",
                type=_weights,
                choices=("best", "latest"),
                help="the weights of a run to use, as for `typednn eval`",
            ),
            _argument("-q", "--quiet", action="store_true", help="the text only"),
            _IMPORT,
        ),
        """\
examples:
  typednn generate runs/gpt2-1 --prompt "ROMEO:"
  typednn generate gpt2/ --prompt "The capital of France is" --temperature 0 --max-tokens 20
  typednn generate gpt2/ --prompt "The capital of France is" --top 10      which token comes next?
  typednn generate gpt2/ --prompt "One day" --prompt "One night" --top-k 40 --seed 7
  typednn generate model.bin --tokenizer tokenizer.bin --prompt-tokens "[50256, 8643]" --sampler 'xorshift64*'
  typednn generate runs/gpt2-1 --interactive    continues what you type; Ctrl-D ends it

The folder holds config.json, model.safetensors, vocab.json and merges.txt, as Hugging Face's transformers writes them.
""",
    ),
    "tokens": Command(
        "tokens",
        "text to tokens and back, and the files of gpt.c",
        (
            _argument(
                "action",
                choices=("encode", "decode", "table", "file"),
                metavar="ACTION",
                help="encode, decode, table or file",
            ),
            _argument(
                "values",
                metavar="VALUE",
                nargs="+",
                help="texts; lists of tokens; the file to write; the file to read and to write",
            ),
            _argument(
                "--tokenizer",
                metavar="FOLDER",
                required=True,
                help="vocab.json and merges.txt, or characters.json, or tokenizer.bin",
            ),
            _argument("--eot", action="store_true", help="encode: begin with <|endoftext|>"),
            _argument(
                "--encoding",
                choices=("utf-8", "latin-1"),
                default="utf-8",
                help="file: how the text is written; utf-8 by default",
            ),
            _argument(
                "--eot-between",
                action="store_true",
                help="file: <|endoftext|> at the start, and behind each empty line",
            ),
            _argument(
                "--val",
                type=partial(_number, int, 0, "a whole number, at least 1"),
                metavar="N",
                help="file: the first N tokens go into a second file, for validation",
            ),
        ),
        """\
examples:
  typednn tokens encode --tokenizer gpt2/ --eot ANTONIO        [50256, 8643, 1340, 9399]
  typednn tokens decode --tokenizer gpt2/ "[8643, 1340, 9399]"
  typednn tokens table --tokenizer gpt2/ tokenizer.bin         gpt.c's table of what each token writes
  typednn tokens file --tokenizer gpt2/ input.txt tokens.bin   a corpus as int32 numbers
  typednn tokens file --tokenizer gpt2/ input.txt train.bin val.bin --val 32768 --eot-between
  typednn tokens file --tokenizer gpt2/ book.tex train.bin val.bin --val 34068 --encoding latin-1
  typednn tokens file --tokenizer gpt2/ TinyStories_all_data/ train.bin val.bin
""",
    ),
    "export": Command(
        "export",
        "write a trained model for other programs: ONNX, PyTorch, NumPy, gpt.c, JSON",
        (
            _argument(
                "source",
                metavar="RUN_OR_FILE",
                help="a run's folder, a file of model.save(path), or a GPT-2 as generate reads it",
            ),
            _argument(
                "--to",
                choices=("onnx", "torch", "npz", "typednn", "gpt.c", "json", "bin"),
                required=True,
                help="the format",
            ),
            _argument("--output", metavar="FILE", help="by default the source's name here, with the format's ending"),
            _argument("--weights", choices=("best", "latest"), help="of a run; as in eval"),
            _argument("--channels-first", action="store_true", help="of onnx: images are channels, height, width"),
            _IMPORT,
        ),
        """\
examples:
  typednn export runs/lenet5-1 --to onnx        lenet5-1.onnx, which gives the same numbers to 1e-5
  typednn export runs/lenet5-1 --to torch       PyTorch's names and layouts; of --output model.pt by torch.save
  typednn export runs/lenet5-1 --to npz --output weights.npz
  typednn export runs/lenet5-1 --to typednn     one file, which typednn.load reads
  typednn export runs/gpt2-1 --to gpt.c         gpt2-1.bin, gpt.c's file of a model, and gpt2-1.tokenizer.bin
  typednn export runs/lenet5-1 --to json        the numbers as JSON; --to bin: the raw numbers, nothing else
""",
    ),
    "summary": Command(
        "inspection",
        "the layers of a recipe, a config or a run, with shapes, parameters, flops, memory and settings",
        (_argument("recipe", metavar="RECIPE_CONFIG_OR_RUN", help=f"{_MODELS}, or a run's folder"), _IMPORT),
        """\
examples:
  typednn summary lenet5
  typednn summary runs/lenet5-1
  typednn summary model.toml --import my_layers
""",
    ),
    "check": Command(
        "checking",
        "check the sizes in configs and Python files: nothing is allocated, nothing is run",
        (
            _argument(
                "targets",
                metavar="TARGET",
                nargs="+",
                help="a config, a Python file, a folder, a module such as mypackage.models, or a run's folder",
            ),
            _argument(
                "--format",
                choices=("text", "github", "json", "sarif"),
                default="text",
                help="github: annotations of a workflow; json: an object per finding; sarif: one document, SARIF 2.1.0",
            ),
            _argument("--json", action="store_const", const="json", dest="format", help="short for --format json"),
            _argument("--watch", action="store_true", help="check again when a file changes, until Ctrl-C"),
            _argument(
                "--coverage",
                action="store_true",
                help="of each function, whether its sizes are proven, and where they were lost",
            ),
            _IMPORT,
        ),
        """\
examples:
  typednn check model.toml                      its layers and shapes, or line, column and caret of what is wrong
  typednn check model.toml --import my_layers
  typednn check model.py                        size mistakes in Python, found by the mypy plugin; nothing is run
  typednn check src/ mypackage.models           folders and modules
  typednn check runs/lenet5-1                   whether each file of a run is what was written
  typednn check model.py --json                 an object per finding: path, line, column, message, code
  typednn check src/ --watch                    again whenever a file changes
  typednn check src/ --coverage                 how much is known of each function, and where knowledge was lost

Python needs mypy: pip install 'typednn[mypy]'. Of your mypy settings, only those that say where modules are
found are used. Silence a finding with `# type: ignore[shape]`.
""",
    ),
    "lsp": Command(
        "checking",
        "a language server: sizes, mistakes and cures in the editor, as you type",
        (),
        """\
examples:
  typednn lsp                                   an editor starts it, and speaks with it on standard input and output

docs/editor.md has the settings for VS Code, Neovim, PyCharm and Helix.
It needs pygls and mypy: pip install 'typednn[lsp]'.
""",
    ),
    "gradcheck": Command(
        "inspection",
        "compare backward with finite differences, for a config, a recipe or one layer",
        (
            _argument("subject", metavar="CONFIG_OR_LAYER"),
            _argument("--input", metavar="SIZES", help="one sample's shape, such as 28,28,1, for a layer"),
            _argument(
                "--seed",
                type=partial(_number, int, -1, "a whole number, at least 0"),
                default=0,
                metavar="N",
                help="of the input and the parameters",
            ),
            _IMPORT,
        ),
        """\
examples:
  typednn gradcheck model.toml                  every derivative of the model against central differences, in float64
  typednn gradcheck 'Conv2d(2, 3, 3)' --input 6,6,2
  typednn gradcheck 'Linear(4, 2)'              the input's shape is derived where one number decides it
""",
    ),
    "completion": Command(
        "completion",
        "print what makes a shell complete typednn's commands, options and models",
        (_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish"),),
        """\
examples:
  typednn completion bash > ~/.local/share/bash-completion/completions/typednn
  typednn completion zsh > ~/.zfunc/_typednn    a folder of $fpath
  typednn completion fish > ~/.config/fish/completions/typednn.fish

It needs shtab: pip install 'typednn[completion]'. For this terminal only: source <(typednn completion bash)
""",
    ),
    "info": Command("info", "versions, machine, BLAS, threads, devices, extras: what a bug report needs"),
    "report": Command(
        "report",
        "draw a run's pictures, and write its report as one self-contained HTML page",
        (_RUN,),
        """\
examples:
  typednn report runs/lenet5-1                  the pictures in plots/, and one HTML page with them; prints its path
""",
    ),
}

_EPILOG = """\
examples:
  typednn train lenet5                          train on handwritten digits, into a new folder runs/lenet5-1
  typednn train lenet5 --data mnist --run big   on MNIST, into the folder big
  typednn resume big                            continue after Ctrl-C, a crash or a power cut, with the same result
  typednn predict big seven.png                 which digit is it?
  typednn COMMAND --help                        more, with examples

exit codes:
  0 success   1 an error, with a message that says what is wrong   2 the command line is wrong
  130 stopped by Ctrl-C   143 stopped by SIGTERM; `typednn resume` continues a stopped run
"""


WELCOME: Final = """\
typednn trains neural networks whose shapes are proven to fit. To begin:
  typednn train lenet5        trains on handwritten digits, into a new folder runs/lenet5-1
  typednn new my-project      writes a small project: a layer, a config, a script, a test
  typednn --help              every command, with examples
"""
_CALLS: Final = (
    "Such as typednn train lenet5, typednn train --data photos/, or typednn train --data table.csv --target COLUMN"
)


@final
class Parser(argparse.ArgumentParser):
    """As argparse's, with a cure for misspelt commands and options and for those of other tools; exit code 2."""

    def error(self, message: str) -> NoReturn:
        unknown = re.match(r"argument COMMAND: invalid choice: '([^']*)'", message)
        if unknown:
            message = f"no command {unknown[1]!r}; {for_command(unknown[1], COMMANDS)}"
        self.exit(2, printable(f"{self.prog}: {message}\n{self.prog} --help shows examples\n"))


def _is_bare(options: argparse.Namespace) -> bool:
    return all(named is None for named in (options.recipe, options.model, options.data, options.preset, options.start))


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options in ``arguments``; what is left over ends the process with exit code 2 and a cure."""
    top = parser()
    options, left = top.parse_known_args(arguments)
    if options.command == "train" and not left and _is_bare(options):
        top.exit(2, f"typednn train: what is to be trained? {_CALLS}\ntypednn train --help shows examples\n")
    unknown = next((word for word in left if word.startswith("-") and word != "-"), None)
    if left and unknown is None and options.command == "train":  # argparse takes no files behind an option
        options.files = [*options.files, *left]
    elif left:
        options_here = [
            name for names, _ in COMMANDS[options.command].arguments for name in names if name.startswith("--")
        ]
        settings = SETTINGS.split() if options.command == "train" else ()
        cure = "" if unknown is None else for_option(unknown, [*options_here, "--debug", "--help"], settings)
        if options.command == "resume" and unknown in [
            name for names, _ in COMMANDS["train"].arguments for name in names
        ]:
            cure = "a run keeps the settings that it began with; typednn train begins another"
        got = f"takes no {' '.join(left)!r}" if unknown is None else f"no option {unknown.partition('=')[0]!r}"
        where = f"typednn {options.command}"
        top.exit(2, f"{where}: {got}{'; ' if cure else ''}{cure}\n{where} --help shows examples\n")
    return options


def parser() -> Parser:
    """The parser of the whole command line."""
    formatter = argparse.RawDescriptionHelpFormatter
    top = Parser(
        prog="typednn",
        description="Train, resume, test and use neural networks whose shapes are proven to fit.",
        epilog=_EPILOG,
        formatter_class=formatter,
    )
    top.add_argument("--version", action="version", version=f"typednn {__version__}")
    parsers = top.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    for name, command in COMMANDS.items():
        added = parsers.add_parser(
            name, help=command.about, description=command.about, epilog=command.examples, formatter_class=formatter
        )
        added.add_argument("--debug", action="store_true", help="show the traceback of an error")
        for names, options in command.arguments:
            added.add_argument(*names, **options)
    return top
