"""typednn generate: a run, a folder and gpt.c's file; what is drawn and how it is printed; prompts,
tables, mistakes.
"""

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import environment
from typednn.cli import generation, main
from typednn.data import Characters, Tokenizer, read_tokenizer, read_vocabulary, train_tokenizer, write_token_table
from typednn.models import GPT2, compact, generate, load_gpt2, save_gpt2, write_gpt_c
from typednn.random import XorShift64
from typednn.recipes import recipe, train
from typednn.recipes.catalogue import gpt2
from typednn.recipes.predictor import load_run

pytestmark = pytest.mark.usefixtures("on_the_reference")

Command = Callable[..., Any]
MERGED = 261
LETTERS = "\n !abcdehilostw"
WHERE = (
    "must be the run of a language model, a folder with config.json and model.safetensors, or gpt.c's file of a model"
)


def model_of(vocab_size: int) -> GPT2:
    """Random weights, large enough that texts differ."""
    rng = np.random.default_rng(vocab_size)
    model: GPT2 = GPT2(vocab_size, 12, 8, 1, 2, rng=rng)
    for array in model.parameters():
        array += rng.normal(0.0, 0.5, array.shape).astype(array.dtype)
    return model


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    """A folder with a model of characters."""
    save_gpt2(model_of(len(LETTERS)), tmp_path / "letters")
    Characters(LETTERS).save(tmp_path / "letters")
    return tmp_path / "letters"


@pytest.fixture
def merged(tmp_path: Path) -> Path:
    """A folder with a model and merges, as `transformers` has it; beside it the same as gpt.c's files."""
    pytest.importorskip("tokenizers", reason="needs tokenizers")
    tokenizer, model = train_tokenizer(["the", "the", "thé", "thé"], MERGED), model_of(MERGED)
    tokenizer.save(tmp_path / "merged")
    save_gpt2(model, tmp_path / "merged")
    write_gpt_c(model, tmp_path / "model.bin")
    write_token_table(tokenizer, tmp_path / "tokenizer.bin")
    return tmp_path / "merged"


def greedy(model: GPT2, tokens: list[int], count: int) -> list[int]:
    """By definition: the likeliest token after the last 12."""
    model.eval()
    whole = list(tokens)
    for _ in range(count):
        whole.append(int(model.forward(np.array([whole[-12:]]))[0, -1].argmax()))
    return whole


def visible(tokenizer: Tokenizer, tokens: list[int]) -> str:
    """The text of ``tokens``, without single bytes that are controls or in no UTF-8."""
    pieces = [tokenizer.bytes_of(token) for token in tokens]
    return b"".join(
        piece for piece in pieces if not re.fullmatch(rb"[\x00-\x08\x0e-\x1f\x7f\xc0\xc1\xf5-\xff]", piece)
    ).decode(errors="replace")


def scripted(monkeypatch: pytest.MonkeyPatch, *rows: list[int]) -> list[dict[str, Any]]:
    """The model draws these tokens, row by row; what it was asked."""
    asked: list[dict[str, Any]] = []

    def stream(model: GPT2, prompt: Any, count: int, **options: Any) -> Iterator[Any]:
        asked.append({"prompt": prompt.tolist(), "count": count, **options})
        for column in list(zip(*rows[: len(prompt)], strict=True))[:count]:
            yield np.array(column)

    monkeypatch.setattr(generation, "stream", stream)
    return asked


# ---------------------------------------------------------------------------------------------------- models


def test_a_folder_with_merges(at_once: Command, merged: Path) -> None:
    """G-C2, C-R5: the likeliest text is that of forward; the number of tokens per second is no part of the result."""
    tokenizer = read_tokenizer(merged)
    expected = visible(tokenizer, greedy(model_of(MERGED), tokenizer.encode("the thé").tolist(), 30))
    done = at_once(
        "generate", merged, "--prompt", "the thé", "--temperature", "0", "--max-tokens", "30", "--stop", "260"
    )
    assert (done.returncode, done.stdout) == (0, f"{expected}\n"), done.stderr
    assert re.fullmatch(r"30 tokens, [\d,]+\.\d tokens per second\n", done.stderr)
    assert (
        at_once(
            "generate", merged, "--prompt", "the thé", "--temperature", "0", "--max-tokens", "30", "--stop", "260", "-q"
        ).stderr
        == ""
    )


def test_gpt_c(at_once: Command, merged: Path) -> None:
    """G-C2: its model and its table give the text of the folder, from the same tokens."""
    listed = str(read_tokenizer(merged).encode("the thé").tolist())
    more = ("--prompt-tokens", listed, "--temperature", "0", "--max-tokens", "20", "-q")
    done = at_once("generate", "model.bin", "--tokenizer", "tokenizer.bin", *more)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("the thé")
    assert done.stdout == at_once("generate", merged, *more).stdout
    assert done.stdout == at_once("generate", "model.bin", "--tokenizer", merged, *more).stdout


def test_a_run(at_once: Command, tmp_path: Path) -> None:
    """Its own model and vocabulary, with the weights that are asked for; a classifier's run is refused."""
    (tmp_path / "text.txt").write_text(LETTERS * 40)
    small = partial(gpt2, n_positions=8, n_embd=8, n_layer=1, n_head=2)
    settings = {"max_steps": 4, "evaluate_every": 2, "checkpoint_every": 2, "optimizer.lr": 0.3}
    train(
        replace(recipe("gpt2"), model=small).changed(settings),
        str(tmp_path / "text.txt"),
        run=tmp_path / "run",
        progress=False,
    )
    run = Path(tmp_path, "run")
    for weights in (None, "best", "latest"):
        model, vocabulary = load_run(run, weights).speaker()  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        chosen = () if weights is None else ("--weights", weights)
        done = at_once(
            "generate", "run", "--prompt", LETTERS[:3], "--max-tokens", "3", "--temperature", "0", "-q", *chosen
        )
        expected = greedy(model, vocabulary.encode(LETTERS[:3]).tolist(), 3)
        assert (done.returncode, done.stdout) == (0, f"{vocabulary.decode(expected)}\n"), done.stderr
    train(recipe("mlp").changed({"epochs": 1}), "digits", run=tmp_path / "mlp", progress=False)
    done = at_once("generate", "mlp", "--prompt", "the")
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        done.stderr
        == "typednn generate: mlp: must be the run of a language model, got a classification; typednn predict uses it\n"
    )


def test_weights_that_are_not_finite(at_once: Command, letters: Path) -> None:
    """No text of them, whatever is asked for: one line that names the parameter, and exit code 1."""
    model = model_of(len(LETTERS))
    model.ln_f.bias[3] = np.nan
    save_gpt2(model, letters)
    for more in ((), ("--temperature", "0"), ("--top", "3"), ("--dtype", "int8"), ("--prompt", "cat")):
        done = at_once("generate", letters, "--prompt", "the", *more)
        assert done.returncode == 1
        assert done.stdout == ("" if "--top" in more else "the\n")
        named = "" if "int8" in more else ', as the parameter "ln_f.bias" holds such numbers'
        cure = "use weights from before the training diverged, or train anew"
        expected = f"typednn generate: generate: the scores of the next token must be finite, got NaN{named}; {cure}\n"
        assert done.stderr == expected


def test_fewer_bits(at_once: Command, letters: Path) -> None:
    """The greedy text is that of `compact`, which other tests compare with what its matrices stand for."""
    model, prompt = load_gpt2(letters), Characters(LETTERS).encode("the")[None]
    for kind in ("bfloat16", "int8"):
        done = at_once(
            "generate", letters, "--prompt", "the", "--max-tokens", "12", "--temperature", "0", "-q", "--dtype", kind
        )
        expected = generate(compact(model, kind), prompt, 12, temperature=0)[0]
        assert (done.returncode, done.stdout) == (0, f"{Characters(LETTERS).decode(expected)}\n"), done.stderr


# ---------------------------------------------------------------------------------------------------- drawing


@pytest.mark.parametrize(
    ("told", "options", "rng"),
    [
        ([], {}, np.random.default_rng(0)),
        (["--seed", "7"], {}, np.random.default_rng(7)),
        (["--temperature", "1.7", "--top-k", "5"], {"temperature": 1.7, "top_k": 5}, np.random.default_rng(0)),
        (["--top-p", "0.4"], {"top_p": 0.4}, np.random.default_rng(0)),
        (["--sampler", "xorshift64*"], {}, XorShift64(1337)),
        (["--sampler", "xorshift64*", "--seed", "5"], {}, XorShift64(5)),
    ],
)
def test_what_is_drawn(at_once: Command, letters: Path, told: list[str], options: dict[str, Any], rng: Any) -> None:
    """G-C2, G-C3, Z-N5: the library's `generate`, with these options and this generator; 256 tokens unless told."""
    vocabulary = read_vocabulary(letters)
    tokens = generate(model_of(len(LETTERS)), vocabulary.encode("the")[None], 256, rng=rng, **options)
    done = at_once("generate", letters, "--prompt", "the", *told)
    assert (done.returncode, done.stdout) == (0, f"{vocabulary.decode(tokens[0])}\n"), done.stderr
    assert done.stderr.startswith("256 tokens, ")


def test_prompts_of_one_length_are_read_together(
    at_once: Command, letters: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each text is that of its prompt alone; they are printed in the order of the prompts."""
    prompts = ["the", "a cat", "who", "a cow", "the"]
    prompts = [prompt.replace("w", "l") for prompt in prompts]
    more = ("--temperature", "0", "--max-tokens", "20", "-q")
    alone = [at_once("generate", letters, "--prompt", prompt, *more).stdout for prompt in prompts]
    given = [word for prompt in prompts for word in ("--prompt", prompt)]
    done = at_once("generate", letters, *given, *more)
    assert done.stdout == "---------------\n".join(alone), done.stderr
    asked = scripted(monkeypatch, *[[3]] * 3)
    at_once("generate", letters, *given)
    shapes = [np.shape(each["prompt"]) for each in asked]
    assert shapes == [(3, 3), (2, 5)]


def test_texts_of_a_batch_end_by_themselves(at_once: Command, letters: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    b, c, stop = (LETTERS.index(letter) for letter in "bc!")
    scripted(monkeypatch, [b, b, b, stop], [stop, stop, stop, stop], [c, stop, stop, stop])
    given = ["--prompt", "a", "--prompt", "b", "--prompt", "c", "--stop", "!"]
    done = at_once("generate", letters, *given)
    assert done.stdout == "abbb\n---------------\nb\n---------------\ncc\n"
    assert done.stderr.startswith("7 tokens, "), "4 + 1 + 2, with those that end"


def test_what_the_model_is_asked(at_once: Command, merged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a text stops by default, and is a token within a prompt; an empty prompt begins with it, unprinted."""
    asked = scripted(monkeypatch, [5, 0, 7], [6, 0, 7])
    tokenizer = read_tokenizer(merged)
    end, the, new = (
        tokenizer.vocab["<|endoftext|>"],
        *tokenizer.encode("the").tolist(),
        *tokenizer.encode("\n").tolist(),
    )
    assert at_once("generate", merged, "--max-tokens", "1").stdout == f"{tokenizer.decode([5])}\n"
    assert at_once("generate", merged, "--prompt", "").returncode == 0
    assert at_once("generate", merged, "--prompt-tokens", "[]").returncode == 0
    assert [(each["prompt"], each["stop"], each["count"]) for each in asked] == [
        ([[end]], [end], count) for count in (1, 256, 256)
    ]
    del asked[:]
    prompt = "the<|endoftext|><|endoftext|>the"
    done = at_once(
        "generate", merged, "--prompt", prompt, "--stop", "\n", "--stop", "7", "--stop", "the", "--top-k", "3"
    )
    assert done.stdout.startswith(prompt)
    assert asked[0]["prompt"] == [[the, end, end, the]]
    assert asked[0]["stop"] == [new, 7, the]
    assert (asked[0]["temperature"], asked[0]["top_k"], asked[0]["top_p"]) == (1.0, 3, None)
    at_once("generate", merged, "--prompt-tokens", "[7, 8]", "--prompt-tokens", "9 10")
    assert asked[1]["prompt"] == [[7, 8], [9, 10]]


def test_a_long_prompt_is_cut(at_once: Command, letters: Path) -> None:
    """The model has 12 positions."""
    told = ("--temperature", "0", "--max-tokens", "4")
    done = at_once("generate", letters, "--prompt", "the cat has a table", *told)
    assert done.returncode == 0
    assert done.stderr.startswith("the prompt has 19 tokens; the model reads the last 12\n")
    short = at_once("generate", letters, "--prompt", "the cat has a table"[-12:], *told)
    assert "the model reads" not in short.stderr
    assert done.stdout == "the cat" + short.stdout
    assert "reads" not in at_once("generate", letters, "--prompt", "the cat has a table", *told, "-q").stderr


# ---------------------------------------------------------------------------------------------------- printing


def test_characters_are_printed_once_they_are_whole(merged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Token by token, as soon as they are drawn."""
    stdout, tokenizer = io.StringIO(), read_tokenizer(merged)
    monkeypatch.setattr(sys, "stdout", stdout)
    pieces = [tokenizer.vocab[name] for name in "tâĤ¬Ġt"]
    shown = ["h", "ht", "ht", "ht", "ht€", "ht€ "]

    def stream(*_: Any, **options: Any) -> Iterator[Any]:
        for token, before in zip(pieces, shown, strict=True):
            assert stdout.getvalue() == before
            yield np.array([token])

    monkeypatch.setattr(generation, "stream", stream)
    assert main(["generate", str(merged), "--prompt", "h", "-q"]) == 0
    assert stdout.getvalue() == "ht€ t\n"


def test_what_is_not_printed(at_once: Command, merged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """G-C6: single bytes that are no character, of a prompt's tokens too; spaces and new lines are printed; a cut
    character is told.
    """
    tokenizer = read_tokenizer(merged)
    by_byte = {tokenizer.bytes_of(token): token for token in range(len(tokenizer))}
    hidden = [by_byte[bytes([byte])] for byte in (0, 7, 8, 27, 31, 127, 0xC0, 0xC1, 0xF5, 0xFF)]
    seen = [by_byte[bytes([byte])] for byte in b"a \t\n~"]
    scripted(monkeypatch, [*hidden, *seen, by_byte[b"\xc3"]])
    done = at_once(
        "generate", merged, "--prompt-tokens", str([*hidden, by_byte[b"b"], by_byte[b"\xc3"], by_byte[b"\xa9"]])
    )
    assert done.stdout == "béa \t\n~\ufffd\n"


def test_tokens_that_hold_commands_of_a_terminal(merged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within longer tokens, and over several: written as escapes; the ends of lines are line feeds."""
    stdout, pieces = io.StringIO(), [b"a\x1b[2J", b"\xe2\x80", b"\xae", b"b\r\n", b"\rc", b"\xc2\x9b", b"d"]
    tokenizer = read_tokenizer(merged)
    monkeypatch.setattr(sys, "stdout", stdout)
    monkeypatch.setattr(type(tokenizer), "bytes_of", lambda _, token: pieces[token - 10])
    scripted(monkeypatch, [*range(10, 17)])
    assert main(["generate", str(merged), "--prompt-tokens", "[16]", "-q"]) == 0
    assert stdout.getvalue() == r"da\u001b[2J\u202eb" + "\n" + r"\u000dc\u009bd" + "\n"


def test_the_likeliest_next_tokens(at_once: Command, letters: Path) -> None:
    """C-R5: token, text, probability and logit, by forward and softmax; with the options of drawing."""
    scores = model_of(len(LETTERS)).eval().forward(Characters(LETTERS).encode("the")[None])[0, -1].astype(float)
    chances = np.exp(scores) / np.exp(scores).sum()
    done = at_once("generate", letters, "--prompt", "the", "--top", "4")
    header, *lines = done.stdout.splitlines()
    assert header.split() == ["token", "text", "probability", "logit"]
    assert len({len(line) for line in (header, *lines)}) == 1
    assert len(lines) == 4
    for line, token in zip(lines, np.argsort(-scores), strict=False):
        number, text, chance, logit = line.rsplit(maxsplit=2)[0].split(maxsplit=1) + line.split()[-2:]
        assert (int(number), text.strip()) == (token, repr(LETTERS[token]))
        assert float(chance) == pytest.approx(chances[token], abs=2e-6)
        assert float(logit) == pytest.approx(scores[token], abs=2e-4)
    assert done.stderr == ""
    assert len(at_once("generate", letters, "--prompt", "the", "--top", "99").stdout.splitlines()) == 1 + len(LETTERS)
    lines = at_once("generate", letters, "--prompt", "the", "--top", "3", "--top-k", "1").stdout.splitlines()
    assert [line.split()[-2] for line in lines[1:]] == ["1.000000", "0.000000", "0.000000"]
    both = at_once("generate", letters, "--prompt", "the", "--prompt", "a", "--top", "1").stdout
    assert both.count("probability") == 2
    assert "\n---------------\n" in both


def test_bytes_in_the_table(at_once: Command, merged: Path) -> None:
    lines = at_once("generate", merged, "--prompt", "the", "--top", "261").stdout.splitlines()
    assert any("  'the'  " in line for line in lines)
    assert any("  b'\\xc3'  " in line for line in lines)
    assert any(r"  '\x1b'  " in line for line in lines)


# ---------------------------------------------------------------------------------------------------- standard input


def test_interactive(at_once: Command, letters: Path) -> None:
    """Each line is a prompt, which is not printed again; without a terminal there is no sign."""
    more = ("--temperature", "0", "--max-tokens", "5", "-q")
    alone = [
        at_once("generate", letters, "--prompt", prompt, *more).stdout.removeprefix(prompt)
        for prompt in ("the", "a cat")
    ]
    done = at_once("generate", letters, "--interactive", *more, stdin="the\na cat")
    assert (done.returncode, done.stdout, done.stderr) == (0, "---------------\n".join(alone), "")
    done = at_once("generate", letters, "--interactive", "--prompt", "the", *more, stdin="a cat\n")
    assert done.stdout == "the" + "---------------\n".join(alone)
    assert at_once("generate", letters, "--interactive", *more).stdout == ""


def test_a_line_that_is_refused(at_once: Command, letters: Path) -> None:
    """It is told, the others are continued, and the exit code says so."""
    done = at_once("generate", letters, "--interactive", "--max-tokens", "0", "-q", stdin="the\nTHE\n\na\n")
    assert (done.returncode, done.stdout) == (1, "\n---------------\n\n")
    assert [line.partition(", got")[0] for line in done.stderr.splitlines()] == [
        "typednn generate: Characters.encode: text is of the vocabulary's characters",
        "typednn generate: --prompt: a text begins with a prompt, or with <|endoftext|>",
    ]


def test_interactive_with_gpt_cs_table(at_once: Command, merged: Path) -> None:
    """G-C2: it reads no text, so each line lists tokens."""
    more = ("--temperature", "0", "--max-tokens", "3", "-q")
    done = at_once(
        "generate", "model.bin", "--tokenizer", "tokenizer.bin", "--interactive", *more, stdin="[5, 6]\nthe\n"
    )
    expected = greedy(model_of(MERGED), [5, 6], 3)[2:]
    assert done.stdout == visible(read_tokenizer(merged), expected) + "\n"
    assert "a table of tokens reads no text" in done.stderr
    assert done.returncode == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of Unix")
def test_a_terminal_shows_a_sign(letters: Path) -> None:
    """On standard error: the text alone is the result. Ctrl-D ends it."""
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "typednn", "generate", str(letters), "--interactive", "--max-tokens", "0", "-q"]
    with subprocess.Popen(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True
    ) as process:
        os.close(theirs)
        os.write(ours, b"the\n\x04")
        out, told = process.communicate(timeout=120)
        os.close(ours)
    assert (process.returncode, out, told) == (0, "\n", "> > ")


@pytest.mark.parametrize(
    ("stdin", "told"), [(b"the\n\xff\n", "standard input: must be utf-8, got another byte at"), (None, "")]
)
def test_standard_input_of_any_kind(letters: Path, stdin: bytes | None, told: str) -> None:
    """Bytes that are no text, and no standard input at all."""
    command = [sys.executable, "-m", "typednn", "generate", str(letters), "--interactive", "--max-tokens", "1", "-q"]
    shell = ["sh", "-c", f'exec "$@" {"<&-" if stdin is None else ""}', "sh", *command]
    done = subprocess.run(
        shell,
        input=stdin,
        capture_output=True,
        env=environment(PYTHONIOENCODING="utf-8:strict"),
        check=False,
        timeout=120,
    )
    assert done.returncode == (1 if told else 0)
    assert done.stderr.decode().startswith(f"typednn generate: {told}" if told else "")
    assert b"Traceback" not in done.stderr


# ---------------------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("nowhere", f"nowhere: {WHERE}, got no such file or folder"),
        ("empty", f"empty: {WHERE}, got a folder without these"),
        ("", "generate: path must be the name of a file or folder, got ''"),
        ("text.txt --tokenizer letters", "text.txt: must begin with a header of 1024 bytes, got 3 bytes"),
        ("unweighted", "model.safetensors: must be a readable file, got No such file"),
        (
            "letters",
            "--prompt: a text begins with a prompt, or with <|endoftext|>, got a vocabulary without it; give a "
            "prompt of one",
        ),
        (
            "letters --prompt The",
            "text is of the vocabulary's characters, got 'T' at 0; the vocabulary has the 15 characters of its own",
        ),
        (
            "letters --prompt-tokens [1,2,x]",
            "--prompt-tokens: tokens are whole numbers, such as [50256, 8643], got 'x'",
        ),
        ("letters --prompt-tokens [15]", "--prompt-tokens: tokens are 0 to 14, got 15"),
        ("letters --prompt-tokens []", "--prompt: a text begins with a prompt"),
        ("letters --prompt a --stop the", "--stop: is one token, or its number, got 'the', which is 3 tokens"),
        ("letters --prompt a --stop 15", "--stop: tokens are 0 to 14, got 15"),
        ("letters --prompt a --stop Z", "text is of the vocabulary's characters, got 'Z' at 0"),
        (
            "letters --prompt a --sampler xorshift64* --seed 0",
            "XorShift64: seed is an integer from 1 to 18446744073709551615, got 0",
        ),
        (
            "letters --prompt a --weights best",
            "--weights: chooses between the weights of a run, got letters, which is no run; leave",
        ),
        (
            "letters --prompt a --tokenizer others",
            "letters: the model has 15 tokens, got a vocabulary of 2; give --tokenizer the one with",
        ),
        (
            "wordless --prompt a",
            "wordless: needs the model's vocabulary, got none beside the weights; give --tokenizer a folder",
        ),
        (
            "model.bin --prompt a",
            "model.bin: needs the model's vocabulary, got none beside the weights; give --tokenizer a folder",
        ),
        (
            "letters --prompt a --tokenizer nowhere",
            "nowhere: must hold tokenizer.json, or vocab.json and merges.txt, got no such folder",
        ),
    ],
)
def test_mistakes_are_told(at_once: Command, letters: Path, tmp_path: Path, arguments: str, told: str) -> None:
    """One sentence, before any text."""
    model = model_of(len(LETTERS))
    Characters("ab").save(tmp_path / "others")
    for name in ("wordless", "unweighted"):
        save_gpt2(model, tmp_path / name)
    Characters(LETTERS).save(tmp_path / "unweighted")
    (tmp_path / "unweighted" / "model.safetensors").unlink()
    write_gpt_c(model, tmp_path / "model.bin")
    (tmp_path / "text.txt").write_bytes(b"abc")
    (tmp_path / "empty").mkdir()
    done = at_once("generate", *arguments.split(" "))
    assert done.returncode == 1, done.stderr
    assert told in done.stderr
    assert done.stderr.startswith("typednn generate: ")
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("", "the following arguments are required: RUN_OR_FOLDER"),
        ("m --max-tokens -1", "argument --max-tokens: expected a whole number, at least 0, got '-1'"),
        ("m --max-tokens x", "got 'x'"),
        ("m --seed -1", "argument --seed: expected a whole number, at least 0, got '-1'"),
        ("m --top 0", "argument --top: expected a whole number, at least 1, got '0'"),
        ("m --top-k 0", "argument --top-k: expected a whole number, at least 1, got '0'"),
        ("m --top-p 2", "argument --top-p: expected a number from 0 to 1, got '2'"),
        ("m --top-p=-0.1", "argument --top-p: expected a number from 0 to 1, got '-0.1'"),
        ("m --temperature=-1e-300", "argument --temperature: expected a number of at least 0, got '-1e-300'"),
        ("m --temperature nan", "got 'nan'"),
        ("m --temperature inf", "got 'inf'"),
        ("m --temperature warm", "got 'warm'"),
        ("m --sampler dice", "invalid choice: 'dice'"),
        ("m --weights worst", "invalid choice: 'worst'"),
    ],
)
def test_the_command_line_is_wrong(at_once: Command, arguments: str, told: str) -> None:
    done = at_once("generate", *arguments.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("typednn generate: ")
    assert told in done.stderr


def test_without_the_extra(at_once: Command, merged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    done = at_once("generate", merged)
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        done.stderr
        == "typednn generate: Tokenizer: needs the package tokenizers, got no module named 'tokenizers'; pip "
        "install 'typednn[text]'\n"
    )
