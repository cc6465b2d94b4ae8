"""The commands: what each takes, and its help by example. Imports nothing that is slow."""

from typing import Final

from typednn.cli.serve_options import SERVE
from typednn.cli.shared_options import (
    COUNT,
    IMPORT,
    LAYOUT,
    MODEL,
    NOT_NEGATIVE,
    RUN,
    SHARE,
    TRAINING,
    WHOLE,
    Command,
    argument,
    weights,
)
from typednn.cli.training_arguments import RECIPE_OR_CONFIG, TRAIN

# Settings of --set that have no option of their own; `typednn.recipes.recipe.CHANGEABLE` has them all, but imports
# NumPy.
SETTINGS: Final = """
  least_steps max_steps loss smoothing standardise generator stream
  clip_grad_norm precision compile accumulate patience start_from_epoch validation stratify
  evaluate_every checkpoint_every image augment balance class_weight
  top_k drop_last workers vocabulary tokens stride weights freeze fold
  shards exchange sync_batchnorm"""


COMMANDS: Final = {
    "new": Command(
        "new",
        "write a small project: a layer of one's own, a config, a script, a test, settings of mypy",
        (argument("name", metavar="NAME", help="of the project and its folder, which must not exist yet"),),
        """\
examples:
  typednn new my-project                        a folder whose own test passes at once; README.md in it says what to do
""",
    ),
    "train": Command(
        "training",
        "train a recipe or a config, and keep everything in a run folder",
        TRAIN,
        f"""\
examples:
  typednn train lenet5
  typednn train lenet5 --data mnist --run runs/mine --epochs 8
  typednn train lenet5 --set optimizer.lr=0.02 --set batch_size=128
  typednn train lenet5-paper --data mnist       the paper's experiment, compared with its Table I
  typednn train model.toml train.csv test.csv   a model of your own, on rows of numbers: the label, then the inputs
  typednn train model.toml train.csv test.csv --set task=regression   the first column holds numbers to learn
  typednn train --data photos/                  images, a folder per class
  typednn train --model resnet18 --data photos/ --set image=96 --epochs 10
  typednn train --data houses.csv --target price    a table: columns by name, numbers or words to learn
  typednn train model.toml --data pictures/ --report
  typednn train gpt2 --preset shakespeare-char   a language model that learns from Tiny Shakespeare
  typednn train gpt2 --from gpt2/ --data book.txt --set max_steps=200   go on from given weights
  typednn train gpt2 --from model.bin --data tokens/ \\
    --set vocabulary=tokenizer.bin            from gpt.c's files

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
        (
            RUN,
            argument("--epochs", type=COUNT, metavar="N", help="N more epochs, also where the run had ended"),
            *TRAINING,
            IMPORT,
        ),
        """\
examples:
  typednn resume runs/lenet5-1                  from its last checkpoint; from the start where there is none
  typednn resume runs/lenet5-1 --epochs 20      20 more epochs
""",
    ),
    "eval": Command(
        "use",
        "precision, recall, F1 and the confusion matrix of a run",
        (
            RUN,
            argument(
                "--data", metavar="NAME_OR_DIR", help="another data set, folder or CSV file; by default the run's own"
            ),
            *LAYOUT,
            argument(
                "--weights",
                type=weights,
                choices=("best", "latest"),
                help="the weights to use; by default the latest, or the best if training could stop early",
            ),
            argument("--target", metavar="COLUMN", help="of a run of fit: the table's column of labels or targets"),
            MODEL,
            IMPORT,
        ),
        """\
examples:
  typednn eval runs/lenet5-1                    the report on the test set that it was trained with
  typednn eval runs/lenet5-1 --data fashion-mnist
  typednn eval runs/table --data test.csv
  typednn eval runs/table --weights best        the checkpoint that was best on the validation data
  typednn eval runs/mine --data test.npz        a run of fit, on x and y of an NPZ file, or --target of a table
""",
    ),
    "predict": Command(
        "use",
        "the label and probabilities of images or rows",
        (
            RUN,
            argument(
                "files",
                metavar="FILE",
                nargs="+",
                help="images, folders of images, IDX, NPY, CSV, TSV, Parquet or Arrow; - is standard input",
            ),
            argument("--json", action="store_true", help="a JSON object per input, with every probability"),
            argument("--invert", action="store_true", help="for images that are dark on light"),
            *LAYOUT,
            MODEL,
            IMPORT,
        ),
        """\
examples:
  typednn predict runs/lenet5-1 seven.png       label, probability, and the next best
  typednn predict runs/lenet5-1 *.png --json    a JSON object per input
  typednn predict runs/lenet5-1 photo.png --invert
  typednn predict runs/lenet5-1 photos/         every image in a folder and below it
  typednn predict runs/houses - < new.csv       CSV, or an image's bytes, from standard input
  typednn predict runs/lenet5-1 t10k-images-idx3-ubyte.gz
  typednn predict runs/mine rows.npy --model my_model:build    a run of fit, whose model is in my_model.py

reads: PNG (made grey and brought to the model's size), NPY and NPZ (one input or many), CSV (an input per row), IDX.
MNIST's digits are light on dark: for ink on paper add --invert, which inverts PNG images.
""",
    ),
    "serve": SERVE,
    "generate": Command(
        "generation",
        "write text with a language model: a run, a folder of Hugging Face's weights, or gpt.c's file",
        (
            argument(
                "model",
                metavar="RUN_OR_FOLDER",
                help="a run's folder, a folder with config.json and model.safetensors, or gpt.c's file",
            ),
            argument(
                "--tokenizer",
                metavar="FOLDER",
                help="the vocabulary where it is elsewhere: a folder, or gpt.c's tokenizer.bin",
            ),
            argument(
                "--prompt",
                action="append",
                default=[],
                metavar="TEXT",
                dest="prompts",
                help="what the text begins with; repeat for more",
            ),
            argument(
                "--prompt-tokens",
                action="append",
                default=[],
                metavar="LIST",
                help="the same as tokens, such as '[50256, 8643]'",
            ),
            argument(
                "--max-tokens",
                type=WHOLE,
                default=256,
                metavar="N",
                help="of each text, behind the prompt; 256 by default",
            ),
            argument(
                "--temperature",
                type=NOT_NEGATIVE,
                default=1.0,
                metavar="T",
                help="1 by default; 0 takes the likeliest token",
            ),
            argument("--top-k", type=COUNT, metavar="N", help="draw from the N likeliest tokens only"),
            argument(
                "--top-p",
                type=SHARE,
                metavar="P",
                help="draw from the fewest tokens that together have this probability",
            ),
            argument(
                "--stop",
                action="append",
                default=[],
                metavar="TOKEN",
                help="end a text with this token, a text or a number; <|endoftext|> by default; repeat for more",
            ),
            argument("--seed", type=WHOLE, metavar="N", help="0 by default; of xorshift64* 1337"),
            argument(
                "--dtype",
                choices=("float32", "bfloat16", "int8"),
                default="float32",
                help="of the matrices: fewer bytes are read faster, and a little less exact",
            ),
            argument(
                "--sampler",
                choices=("numpy", "xorshift64*"),
                default="numpy",
                help="random numbers: NumPy's, or those of gpt.c",
            ),
            argument("--top", type=COUNT, metavar="N", help="print the N likeliest next tokens instead of a text"),
            argument("--interactive", action="store_true", help="continue each line of standard input"),
            argument(
                "--weights",
                type=weights,
                choices=("best", "latest"),
                help="the weights of a run to use, as for `typednn eval`",
            ),
            argument("-q", "--quiet", action="store_true", help="the text only"),
            IMPORT,
        ),
        """\
examples:
  typednn generate runs/gpt2-1 --prompt "ROMEO:"
  typednn generate gpt2/ --prompt "The capital of France is" --temperature 0 \\
    --max-tokens 20
  typednn generate gpt2/ --prompt "The capital of France is" --top 10      which token comes next?
  typednn generate gpt2/ --prompt "One day" --prompt "One night" --top-k 40 \\
    --seed 7
  typednn generate model.bin --tokenizer tokenizer.bin \\
    --prompt-tokens "[50256, 8643]" --sampler 'xorshift64*'
  typednn generate runs/gpt2-1 --interactive    continues what you type; Ctrl-D ends it

The folder holds config.json, model.safetensors and tokenizer.json (or vocab.json and merges.txt), as Hugging Face's
transformers writes them.
""",
    ),
    "tokens": Command(
        "tokens",
        "text to tokens and back, and the files of gpt.c",
        (
            argument(
                "action",
                choices=("encode", "decode", "table", "file"),
                metavar="ACTION",
                help="encode, decode, table or file",
            ),
            argument(
                "values",
                metavar="VALUE",
                nargs="+",
                help="texts; lists of tokens; the file to write; the file to read and to write",
            ),
            argument(
                "--tokenizer",
                metavar="FOLDER",
                required=True,
                help="tokenizer.json, or vocab.json and merges.txt, or characters.json, or tokenizer.bin",
            ),
            argument("--eot", action="store_true", help="encode: begin with <|endoftext|>"),
            argument(
                "--encoding",
                choices=("utf-8", "latin-1"),
                default="utf-8",
                help="file: how the text is written; utf-8 by default",
            ),
            argument(
                "--eot-between",
                action="store_true",
                help="file: <|endoftext|> at the start, and behind each empty line",
            ),
            argument(
                "--val", type=COUNT, metavar="N", help="file: the first N tokens go into a second file, for validation"
            ),
        ),
        """\
examples:
  typednn tokens encode --tokenizer gpt2/ --eot ANTONIO        [50256, 8643, 1340, 9399]
  typednn tokens decode --tokenizer gpt2/ "[8643, 1340, 9399]"
  typednn tokens table --tokenizer gpt2/ tokenizer.bin         gpt.c's table of what each token writes
  typednn tokens file --tokenizer gpt2/ input.txt tokens.bin   a corpus as int32 numbers
  typednn tokens file --tokenizer gpt2/ input.txt train.bin val.bin \\
    --val 32768 --eot-between
  typednn tokens file --tokenizer gpt2/ book.tex train.bin val.bin \\
    --val 34068 --encoding latin-1
  typednn tokens file --tokenizer gpt2/ TinyStories_all_data/ train.bin val.bin
""",
    ),
    "export": Command(
        "export",
        "write a trained model for other programs: ONNX, PyTorch, NumPy, C, gpt.c, JSON",
        (
            argument(
                "source",
                metavar="RUN_OR_FILE",
                help="a run's folder, a file of model.save(path), or a GPT-2 as generate reads it",
            ),
            argument(
                "--to",
                choices=("onnx", "torch", "npz", "typednn", "gpt.c", "json", "bin", "c"),
                required=True,
                help="the format",
            ),
            argument(
                "--output",
                metavar="FILE",
                help="by default the source's name here, with the format's ending; a folder of c",
            ),
            argument("--weights", choices=("best", "latest"), help="of a run; as in eval"),
            argument("--channels-first", action="store_true", help="of onnx: images are channels, height, width"),
            argument("--batch", type=COUNT, metavar="N", help="of c: samples of one forward; by default 1"),
            argument(
                "--target",
                choices=("host", "avx512", "avx2", "both"),
                help="of c: processors like this one, or all with these instructions; both: what the processor has",
            ),
            MODEL,
            IMPORT,
        ),
        """\
examples:
  typednn export runs/lenet5-1 --to onnx        lenet5-1.onnx, which gives the same numbers to 1e-5
  typednn export runs/lenet5-1 --to torch       PyTorch's names and layouts; of --output model.pt by torch.save
  typednn export runs/lenet5-1 --to npz --output weights.npz
  typednn export runs/lenet5-1 --to typednn     one file, which typednn.load reads
  typednn export runs/gpt2-1 --to gpt.c         gpt2-1.bin, gpt.c's file of a model, and gpt2-1.tokenizer.bin
  typednn export runs/lenet5-1 --to json        the numbers as JSON; --to bin: the raw numbers, nothing else
  typednn export runs/lenet5-1 --to c           lenet5-1-c/: an object file, a header and an example for any C program
""",
    ),
    "summary": Command(
        "inspection",
        "the layers of a recipe, a config or a run, with shapes, parameters, flops, memory and settings",
        (argument("recipe", metavar="RECIPE_CONFIG_OR_RUN", help=f"{RECIPE_OR_CONFIG}, or a run's folder"), IMPORT),
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
            argument(
                "targets",
                metavar="TARGET",
                nargs="+",
                help="a config, a Python file, a folder, a module such as mypackage.models, or a run's folder",
            ),
            argument(
                "--format",
                choices=("text", "github", "json", "sarif"),
                default="text",
                help="github: annotations of a workflow; json: an object per finding; sarif: one document, SARIF 2.1.0",
            ),
            argument("--json", action="store_const", const="json", dest="format", help="short for --format json"),
            argument("--watch", action="store_true", help="check again when a file changes, until Ctrl-C"),
            argument(
                "--coverage",
                action="store_true",
                help="of each function, whether its sizes are proven, and where they were lost",
            ),
            IMPORT,
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

`typednn docs editor` has the settings for VS Code, Neovim, PyCharm and Helix.
It needs pygls and mypy: pip install 'typednn[lsp]'.
""",
    ),
    "gradcheck": Command(
        "inspection",
        "compare backward with finite differences, for a config, a recipe or one layer",
        (
            argument("subject", metavar="CONFIG_OR_LAYER"),
            argument("--input", metavar="SIZES", help="one sample's shape, such as 28,28,1, for a layer"),
            argument("--seed", type=WHOLE, default=0, metavar="N", help="of the input and the parameters"),
            IMPORT,
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
        (argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish"),),
        """\
examples:
  typednn completion bash > ~/.local/share/bash-completion/completions/typednn
  typednn completion zsh > ~/.zfunc/_typednn    a folder of $fpath
  typednn completion fish > ~/.config/fish/completions/typednn.fish

It needs shtab: pip install 'typednn[completion]'. For this terminal only: source <(typednn completion bash)
""",
    ),
    "docs": Command(
        "documentation",
        "a page of the documentation, which comes with typednn, or the list of its pages",
        (
            argument("page", metavar="NAME", nargs="?", help="of a page; without it, all pages are listed"),
            argument("--path", action="store_true", help="only where the page's file is"),
        ),
        """\
examples:
  typednn docs                                  the pages, and what each is for
  typednn docs getting-started                  one page; | less to read it in parts
  typednn docs config --path                    its file, in Markdown
""",
    ),
    "info": Command("info", "versions, machine, BLAS, threads, devices, extras: what a bug report needs"),
    "runs": Command(
        "overview",
        "a table of the runs in a folder, the newest last: model, data, epochs, best evaluation, result",
        (
            argument("folder", metavar="FOLDER", nargs="?", default="runs", help="runs, unless given"),
            argument(
                "--sort",
                choices=("changed", "run", "model", "data", "epochs", "steps", "best", "result"),
                default="changed",
                metavar="NAME",
                help="by a column, the greatest or the best last; by default changed, the newest last",
            ),
            argument("--json", action="store_true", help="one JSON object for each run, a line each"),
        ),
        """\
examples:
  typednn runs                                  the runs in the folder runs
  typednn runs --sort best                      the best evaluation last
  typednn runs experiments --json               for other programs
""",
    ),
    "report": Command(
        "report",
        "draw a run's pictures, and write its report as one HTML page; or one page that compares several runs",
        (
            argument("runs", metavar="RUN", nargs="+", help="a run's folder, several, or folders that hold runs"),
            argument(
                "--output",
                metavar="FILE",
                help="of a comparison; by default comparison.html in the folder that holds the runs",
            ),
        ),
        """\
examples:
  typednn report runs/lenet5-1                  the pictures in plots/, and one HTML page with them; prints its path
  typednn report runs/lenet5-1 runs/mlp-1       curves over each other, settings that differ: runs/comparison.html
  typednn report runs --output all.html         every run in that folder
""",
    ),
}
