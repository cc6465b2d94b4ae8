"""typednn train, as a user starts it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn.data import train_tokenizer, write_token_table, write_tokens
from typednn.models import GPT2, read_gpt_c, write_gpt_c
from typednn.recipes.predictor import load_run

Command = Callable[..., Any]


def _refused(done: Any, *parts: str) -> None:
    """Exit code 1 and one message, without traceback, that says all of ``parts``."""
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    for part in parts:
        assert part in done.stderr


def test_reports_on_both_sets(trained: tuple[Path, Any]) -> None:
    """P-D6: a config and two CSV files, one with a header line, give reports on the training and the test rows."""
    folder, done = trained
    assert re.search(r"On the training set:\n\nclass  precision  recall     f1  support\n", done.stdout)
    assert re.search(r"On the test set:\n\nclass  precision  recall     f1  support\n", done.stdout)
    assert re.search(r"^accuracy \d+\.\d+% \(\d+ of 200\)$", done.stdout, re.MULTILINE)
    assert re.search(r"^accuracy \d+\.\d+% \(\d+ of 60\)$", done.stdout, re.MULTILINE)
    accuracy = re.search(r"test accuracy (\d+\.\d+)%", done.stdout)
    assert accuracy
    assert float(accuracy[1]) > 90.0
    assert "200 to train on, 60 to test" in done.stderr
    assert re.search(r"^epoch 8/8  train loss \d", done.stderr, re.MULTILINE)
    assert {"recipe.json", "config.toml", "environment.json", "metrics.jsonl", "model.txt", "report.json"} <= {
        path.name for path in folder.iterdir()
    }


def test_the_papers_format(at_once: Command, files: Path) -> None:
    """P-D6: a config in the paper's own format, with its batch size and smoothed targets."""
    done = at_once(
        "train", files / "model.config", files / "train.csv", files / "test.csv", "--run", "here", "--epochs", "20"
    )
    assert done.returncode == 0, done.stderr
    assert "20 to train on" not in done.stderr
    assert "On the test set:" in done.stdout


def test_numbers_to_learn(typednn: Command, tmp_path: Path) -> None:
    """The sum of two numbers, from CSV files, and what the model says then."""
    rng = np.random.default_rng(0)
    for name, rows in (("train", 200), ("test", 40), ("new", 3)):
        x = rng.standard_normal((rows, 2))
        table = x if name == "new" else np.column_stack([x.sum(axis=1), x])
        np.savetxt(tmp_path / f"{name}.csv", table, fmt="%.6f", delimiter=",")
    config = 'format = 1\ninput = [2]\n\n[[layer]]\ntype = "Linear"\nin_features = 2\nout_features = 1\n'
    (tmp_path / "sum.toml").write_text(config, encoding="utf-8")
    done = typednn(
        "train", "sum.toml", "train.csv", "test.csv", "--run", "sum", "--epochs", "40", "--set", "task=regression"
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^train R² (0\.999\d|1\.0000), test R² (0\.999\d|1\.0000), \d+ s$", done.stdout, re.MULTILINE)
    assert re.search(
        r"On the test set:\n\nsamples  40\nMSE      \S+\nRMSE     \S+\nMAE      \S+\nR²       (0\.999\d|1\.0000)\n",
        done.stdout,
    )
    assert re.search(
        r"^epoch 40/40  train loss \S+  test loss \S+  test mse \S+  test mae \S+  test r2 (0\.999\d|1)  ",
        done.stderr,
        re.MULTILINE,
    )
    assert typednn("eval", "sum").stdout.startswith("samples  40\n")
    wanted = np.loadtxt(tmp_path / "new.csv", delimiter=",").sum(axis=1)
    said = [json.loads(line) for line in typednn("predict", "sum", "new.csv", "--json").stdout.splitlines()]
    assert [line["values"][0] for line in said] == pytest.approx(wanted.tolist(), abs=0.05)
    assert re.fullmatch(r"(new\.csv\[\d\]  -?\d\S*\n){3}", typednn("predict", "sum", "new.csv").stdout)


def test_a_language_model(typednn: Command, tmp_path: Path) -> None:
    """G-C1: from a text to a run: settings, steps, validation, samples, the best kept; and what is refused."""
    (tmp_path / "text.txt").write_text("".join(f"{line}: {line * line} times\n" for line in range(150)))
    sizes = {
        "model.n_positions": 8,
        "model.n_embd": 8,
        "model.n_layer": 1,
        "model.n_head": 2,
        "max_steps": 60,
        "evaluate_every": 20,
    }
    more = [word for name, value in sizes.items() for word in ("--set", f"{name}={value}")]
    train = ("train", "gpt2", "--preset", "shakespeare-char", "--data", "text.txt", "--run", "here", *more)
    done = typednn(*train, "--report")
    assert done.returncode == 0, done.stderr
    assert "2,064 tokens of 18 kinds to train on, 230 to test" in done.stderr
    small: GPT2 = GPT2(18, 8, 8, 1, 2)
    assert f"gpt2: a GPT-2 that learns to write a text\nmodel: {small.num_parameters():,} parameters\n" in done.stderr
    assert re.search(
        r"^step 20  validation loss \d\.\d+  validation perplexity \S+  validation token_accuracy \S+$",
        done.stderr,
        re.MULTILINE,
    )
    assert "--- after step 40 ---" in done.stderr
    assert re.search(r"On the validation text:\n\ntokens      224\nloss        \d\.\d{4}\nperplexity  \d", done.stdout)
    assert re.search(r"^train perplexity \d\S+, test perplexity \d\S+, \d+ s$", done.stdout, re.MULTILINE)
    assert "next: typednn generate here --prompt TEXT" in done.stderr
    assert done.stdout.endswith("here/report.html\n")
    assert (tmp_path / "here" / "report.html").is_file()
    assert json.loads((tmp_path / "here" / "checkpoints" / "best.json").read_text())["metric"] == "loss"
    text = typednn("generate", "here", "--prompt", "12:", "--max-tokens", "20", "-q")
    assert (text.returncode, len(text.stdout)) == (0, 24)
    _refused(typednn("train", "mlp", "--preset", "nina"), "--preset: is for the recipe gpt2, got recipe 'mlp'")
    _refused(typednn("train", "gpt2", "--data", "nowhere.txt"), "--data: expects a text", "'nowhere.txt'")
    _refused(
        typednn("train", "gpt2", "--from", "nowhere"),
        "nowhere: must be a folder with config.json and model.safetensors",
    )
    _refused(typednn("generate", "here", "--prompt", "é"), "'é' at 0")


def test_gpt_cs_files(at_once: Command, tmp_path: Path) -> None:
    """G-C1, G-C2, G-C9, G-F1, G-F2, G-F3: its model is trained on with its files of tokens, used, and written again
    with its table.
    """
    tokenizer = train_tokenizer(["the cat sat on the mat"] * 3, 262)
    tokens = tokenizer.encode("the cat sat on the mat, and the cat. " * 30)
    (tmp_path / "tokens").mkdir()
    write_tokens(tmp_path / "tokens" / "train.bin", tokens)
    write_tokens(tmp_path / "tokens" / "val.bin", tokens[:50])
    model: GPT2 = GPT2(len(tokenizer), 8, 8, 1, 2, rng=np.random.default_rng(0))
    write_gpt_c(model, tmp_path / "start.bin", steps=3)
    write_token_table(tokenizer, tmp_path / "table.bin")
    more = ("--data", "tokens", "--set", "max_steps=2", "--set", "evaluate_every=1", "-q")
    done = at_once("train", "gpt2", "--from", "start.bin", *more, "--run", "run")
    _refused(
        done,
        f"start.bin: needs the vocabulary of the model's {len(tokenizer)} tokens, got none beside it; give "
        "--set vocabulary=FOLDER",
    )
    done = at_once("train", "gpt2", "--from", "start.bin", *more, "--run", "run", "--set", "vocabulary=table.bin")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "vocabulary" / "tokenizer.bin").read_bytes() == (tmp_path / "table.bin").read_bytes()

    done = at_once("export", "run", "--to", "gpt.c")
    assert (done.returncode, done.stdout) == (0, "run.bin\nrun.tokenizer.bin\n"), done.stderr
    written, steps = read_gpt_c(tmp_path / "run.bin")
    trained, _ = load_run(tmp_path / "run").speaker()
    assert steps == 2
    assert all(
        np.array_equal(array, written.named_parameters()[name]) for name, array in trained.named_parameters().items()
    )
    assert not np.array_equal(written.wte.weight, model.wte.weight)
    np.testing.assert_allclose(written.wte.weight, model.wte.weight, atol=0.01)  # two steps of AdamW from there
    assert (tmp_path / "run.tokenizer.bin").read_bytes() == (tmp_path / "table.bin").read_bytes()

    drawn = ("--prompt-tokens", "[5, 6]", "--temperature", "0", "--max-tokens", "4", "-q")
    texts = [
        at_once("generate", "run", *drawn),
        at_once("generate", "run.bin", "--tokenizer", "run.tokenizer.bin", *drawn),
    ]
    assert texts[0].stdout == texts[1].stdout != ""
    done = at_once(
        "train",
        "gpt2",
        "--from",
        "run.bin",
        "--data",
        "tokens/train.bin",
        "--set",
        "vocabulary=table.bin",
        *more[2:],
        "--run",
        "on",
    )
    assert done.returncode == 0, done.stderr
    (tmp_path / "book.txt").write_text("the cat sat on the mat " * 20)
    done = at_once(
        "train", "gpt2", "--from", "run.bin", "--data", "book.txt", "--set", "vocabulary=table.bin", "--run", "no"
    )
    _refused(
        done,
        "vocabulary: book.txt is a text, and needs one that makes tokens of it, got gpt.c's table, which reads no text",
    )
    (tmp_path / "beside").mkdir()
    (tmp_path / "run.bin").rename(tmp_path / "beside" / "m.bin")
    tokenizer.save(tmp_path / "beside")
    done = at_once("train", "gpt2", "--from", "beside/m.bin", "--data", "book.txt", *more[2:], "--run", "texts")
    assert done.returncode == 0, done.stderr
    _refused(
        at_once("train", "gpt2", "--from", "tokens/train.bin"),
        "field 0: must be 20240415, got ",
        "this is no model of gpt.c",
    )


def test_settings_are_kept(at_once: Command, files: Path, tmp_path: Path) -> None:
    done = at_once(
        "train", files / "model.toml", files / "train.csv", files / "test.csv",
        "--run", "a/b", "--epochs", "1", "--set", "optimizer.lr=0.025", "--set", "smoothing=0.3",
        "--set", "patience=4", "--set", "validation=0.1", "-q",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"train accuracy \d+\.\d+%, test accuracy \d+\.\d+%, \d+ s, in a/b\n", done.stdout)
    assert done.stderr == ""
    recipe = json.loads((tmp_path / "a" / "b" / "recipe.json").read_text(encoding="utf-8"))["recipe"]
    assert (recipe["epochs"], recipe["smoothing"], recipe["patience"], recipe["optimizer"]["lr"]) == (1, 0.3, 4, 0.025)
    assert "lr = 0.025" in (tmp_path / "a" / "b" / "config.toml").read_text(encoding="utf-8")


def test_runs_are_numbered(typednn: Command, files: Path, tmp_path: Path) -> None:
    for _ in range(2):
        done = typednn("train", files / "model.toml", files / "train.csv", files / "test.csv", "--epochs", "1", "-q")
        assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {"model-1", "model-2"}


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["lenet"], ["'lenet'", "did you mean 'lenet5'?"]),
        (["quite-another"], ["there are lenet5, lenet5-paper, mlp"]),
        (["mlp", "--data", "mnits"], ["'mnits'", "did you mean 'mnist'?"]),
        (["mlp", "--data", "fashion-mnist"], ["fetching it from the network", "127.0.0.1", "fashion-mnist"]),
        (["mlp", "one.csv"], ["one.csv: must be a readable file, got No such file"]),
        (["mlp", "one.csv", "two.csv", "--data", "spiral"], ["leave one out"]),
        (["mlp", "one.csv", "two.csv"], ["one.csv: must be a readable file, got No such file"]),
        (["mlp", "one.csv", "two.csv", "three.csv"], ["two CSV files, train.csv and test.csv"]),
        (["lenet5", "--data", "spiral"], ["the model reads 784 numbers per sample, got 1 x 1 x 2 in the train set"]),
        (
            ["mlp", "--data", "spiral", "--set", "epoch=3"],
            ["--set: expects a setting of the recipe, got 'epoch'; did you mean 'epochs'?"],
        ),
        (
            ["mlp", "--data", "spiral", "--set", "optimizer.momentun=3"],
            ["SGD has no argument 'momentun'; did you mean 'momentum'?"],
        ),
        (["mlp", "--data", "spiral", "--set", "optimizer.lr=-1"], ["--set optimizer", "-1"]),
        (["mlp", "--data", "spiral", "--set", "epochs=many"], ["epochs must be an integer, got 'many'"]),
        (["mlp", "--data", "spiral", "--set", "epochs"], ["NAME=VALUE"]),
        (["mlp", "--data", "spiral", "--set", "loss=hinge"], ["hinge", "softmax_cross_entropy"]),
        (["mlp", "--data", "spiral", "--set", "smoothing=1.5"], ["smoothing", "1.5"]),
    ],
)
def test_mistakes_are_told(
    at_once: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], parts: list[str]
) -> None:
    for name, value in {
        "TYPEDNN_DATA": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path),
        "TYPEDNN_MIRROR": "http://127.0.0.1:9",
    }.items():
        monkeypatch.setenv(name, value)
    done = at_once("train", *arguments)
    _refused(done, *parts)
    assert done.stderr.splitlines()[-1].startswith("typednn train: ")
    assert not (tmp_path / "runs").exists()


def test_a_label_beyond_the_classes(at_once: Command, files: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("0,1,2,3,4\n3,1,2,3,4\n", encoding="utf-8")
    _refused(
        at_once("train", files / "model.toml", "bad.csv", files / "test.csv"), "labels must be 0 to 2", "3 in line 2"
    )


def test_a_faulty_config(at_once: Command, files: Path, tmp_path: Path) -> None:
    text = (files / "model.toml").read_text(encoding="utf-8").replace("in_features = 8", "in_features = 9")
    (tmp_path / "bad.toml").write_text(text, encoding="utf-8")
    _refused(
        at_once("train", "bad.toml", files / "train.csv", files / "test.csv"),
        "bad.toml:",
        "expects 9 features, gets 8",
        "^",
    )


def test_a_folder_that_holds_a_run(at_once: Command, files: Path, trained: tuple[Path, Any]) -> None:
    done = at_once("train", files / "model.toml", files / "train.csv", files / "test.csv", "--run", trained[0])
    _refused(done, "a new run needs a folder without one", "resume it, or choose another folder")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["trian"], "did you mean 'train'?"),
        (["train"], "what is to be trained? Such as typednn train lenet5"),
        (["train", "mlp", "--epochs", "0"], "expected a whole number, at least 1, got '0'"),
        (["train", "mlp", "--time-limit", "-1"], "expected a number of seconds above 0"),
        (["train", "mlp", "--frob"], "--frob"),
        (["resume", "run", "--epochs", "0"], "--epochs"),
        (["eval", "run", "--weights", "first"], "argument --weights: invalid choice: 'first'"),
    ],
)
def test_commands_not_understood(at_once: Command, arguments: list[str], part: str) -> None:
    done = at_once(*arguments)
    assert done.returncode == 2
    assert part in done.stderr
    assert "--help shows examples" in done.stderr
    assert done.stdout == ""


def test_debug_shows_where(typednn: Command) -> None:
    done = typednn("train", "lenet", "--debug")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "ArgumentError" in done.stderr


def test_a_language_model_of_a_config(at_once: Command, tmp_path: Path) -> None:
    """The task that is told by --set is known wherever the settings are used."""
    (tmp_path / "text.txt").write_text("the cat sat on the mat. " * 60)
    model = 'type = "GPT2", vocab_size = 11, n_positions = 8, n_embd = 8, n_layer = 1, n_head = 2'
    config = f'format = 1\ninput = [8]\ndtype = "int"\nlayer = [{{ {model} }}]\noptimizer = {{ type = "SGD" }}\n'
    (tmp_path / "small.toml").write_text(config)
    told = ("--set", "task=language", "--set", "vocabulary=characters", "--set", "max_steps=2")
    done = at_once("train", "small.toml", "--data", "text.txt", *told, "--run", "run", "-q")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "vocabulary" / "characters.json").is_file()
