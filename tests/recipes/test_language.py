"""Language models by recipe: texts and token files, training, resuming, what is kept in the run, and mistakes."""

import json
import os
import random
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.recipes.test_settings import VALUES
from typednn.data import Characters, find, read_tiny_stories, train_tokenizer, write_tokens
from typednn.errors import ArgumentError, DataError, TypednnError
from typednn.losses import SoftmaxCrossEntropy
from typednn.models import GPT2, load_gpt2, save_gpt2
from typednn.recipes import Recipe, catalogue, choose, evaluate_run, parsed_settings, predict, recipe, resume, train
from typednn.recipes.catalogue import PRESETS, gpt2, preset, starting_from
from typednn.recipes.plan import read_plan
from typednn.recipes.predictor import load_run
from typednn.recipes.texts import cleaned, load_text
from typednn.reports.html import write_report
from typednn.runs.recorded import read_metrics
from typednn.runs.run import RunWarning
from typednn.tasks import Language
from typednn.tasks.language import speaker_of
from typednn.training import Callback

TEXT = "".join(f"{line}: {line * line} times\n" for line in range(150))
TINY: dict[str, Any] = {"n_positions": 8, "n_embd": 8, "n_layer": 1, "n_head": 2}


def tiny(**settings: Any) -> Recipe:
    small = replace(PRESETS["shakespeare-char"], model=partial(gpt2, **TINY))
    return small.changed({"batch_size": 16, "evaluate_every": 10, "checkpoint_every": 7, "max_steps": 30} | settings)


@pytest.fixture
def text(tmp_path: Path) -> str:
    (tmp_path / "text.txt").write_text(TEXT)
    return str(tmp_path / "text.txt")


class StopAt(Callback):
    def __init__(self, step: int) -> None:
        self.step = step

    def on_step(self, step: Any) -> str | None:
        return "enough" if step.step == self.step else None


def weights(result: Any) -> dict[str, Any]:
    return {name: array.copy() for name, array in result.model.named_parameters().items()}


def test_train_resume_and_use(text: str, tmp_path: Path) -> None:
    """A run that was stopped within an epoch goes on to the same bits, samples included."""
    whole = train(tiny(), text, run=tmp_path / "whole", progress=False)
    assert whole.history.steps == 30
    assert [measured.step for measured in whole.history.evaluations] == [10, 20, 30]
    assert {measured.split for measured in whole.history.evaluations} == {"validation"}
    first, last = whole.history.evaluations[0], whole.history.evaluations[-1]
    assert last.loss < first.loss < np.log(len(Characters(TEXT)))
    assert last.metrics["perplexity"] == pytest.approx(np.exp(last.loss), rel=1e-4)
    train(tiny(), text, run=tmp_path / "stopped", progress=False, callbacks=[StopAt(13)])
    again = resume(tmp_path / "stopped", progress=False)
    assert all(np.array_equal(array, weights(again)[name]) for name, array in weights(whole).items())
    told, resumed = (read_metrics(tmp_path / run).texts for run in ("whole", "stopped"))
    assert told == resumed
    assert [step for step, _ in told] == [10, 20, 30]
    assert all(sample.startswith(TEXT[int(len(TEXT) * 0.9) :][:16]) for _, sample in told)

    speaker, vocabulary = load_run(tmp_path / "whole").speaker()
    assert (speaker.training, len(vocabulary)) == (False, len(set(TEXT)))
    tokens = vocabulary.encode("12: 144")[None]
    assert np.array_equal(speaker.forward(tokens), speaker_of(whole.model).eval().forward(tokens))  # type: ignore[union-attr]


class Killed(BaseException):
    """As if the process were gone."""


def test_a_run_has_its_vocabulary_whenever_its_start_is_cut_off(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file is renamed into its place; where the first ones are that far, the folder is no run yet, and can become
    one.
    """
    rename, folder, seen = os.rename, tmp_path / "run", []
    for files in range(8):
        left = iter(range(files))

        def renamed(source: Any, target: Any, left: Any = left) -> None:
            if next(left, None) is None:
                raise Killed
            rename(source, target)

        with monkeypatch.context() as patch:
            patch.setattr(os, "rename", renamed)
            with pytest.raises(Killed):
                train(tiny(), text, run=folder, progress=False)
        seen.append((folder / "recipe.json").exists())
        if seen[-1]:
            break
    assert seen.count(False) >= 3
    assert seen[-1]
    resume(folder, progress=False)
    _, vocabulary = load_run(folder).speaker()
    assert vocabulary.decode(vocabulary.encode(TEXT[:20])) == TEXT[:20]


def test_the_report(text: str, tmp_path: Path) -> None:
    """The loss and the share of right tokens of the last tenth, computed here from the scores."""
    result = train(tiny(), text, run=tmp_path / "run", progress=False)
    speaker, vocabulary = load_run(tmp_path / "run").speaker()
    tokens = vocabulary.encode(TEXT[int(len(TEXT) * 0.9) :])
    count = (len(tokens) - 1) // 8
    x, y = tokens[: 8 * count].reshape(-1, 8), tokens[1 : 8 * count + 1].reshape(-1, 8)
    scores = speaker.forward(x).astype(np.float64)
    shares = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    loss = -np.log(np.take_along_axis(shares, y[..., None], -1)).mean()
    report: Any = result.test
    assert (report.tokens, report.length) == (8 * count, 8)
    assert report.loss == pytest.approx(loss, rel=1e-5)
    assert report.perplexity == pytest.approx(np.exp(loss), rel=1e-5)
    assert report.token_accuracy == pytest.approx((scores.argmax(-1) == y).mean())
    saved = json.loads((tmp_path / "run" / "report.json").read_text())
    assert (saved["task"], saved["loss"]) == ("language", report.loss)
    again, samples = evaluate_run(tmp_path / "run")
    kept = tmp_path / "run" / "report.json"
    kept.rename(tmp_path / "report.json")
    kept.mkdir()  # so that it cannot be written, as where a run may only be read
    with pytest.warns(RunWarning, match=r"run: the report is not kept: .*report\.json: must be writable, got "):
        assert str(evaluate_run(tmp_path / "run")[0]) == str(again)
    kept.rmdir()
    (tmp_path / "report.json").rename(kept)
    assert (str(again), len(samples.test_x)) == (str(report), len(tokens))
    (tmp_path / "other.txt").write_text(TEXT[:500])
    other: Any = evaluate_run(tmp_path / "run", str(tmp_path / "other.txt"))[0]
    assert other.tokens == 499 // 8 * 8

    page = write_report(tmp_path / "run").read_text()
    for words in ("validation perplexity", f"{report.perplexity:.2f}", "Samples", "after step 30", "tokens per second"):
        assert words in page
    speeds = [
        json.loads(line).get("samples_per_second")
        for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    ]
    speed = np.median([speed for speed in speeds if speed is not None]) * 8
    assert f"<dt>tokens per second</dt><dd>{speed:,.0f}</dd>" in page
    assert "left out" not in page
    assert "Confusion" not in page
    (tmp_path / "run" / "report.json").write_text(json.dumps(saved | {"loss": -1}))
    assert "&#x27;loss&#x27; must be a finite number from 0" in write_report(tmp_path / "run").read_text()


def test_a_text_by_heart(tmp_path: Path) -> None:
    """Z-D10: nina's settings, on the first part of Tiny Shakespeare with a small model; docs/models.md
    has the whole.
    """
    place = find("tinyshakespeare")
    if place is None:
        pytest.skip("needs tinyshakespeare in TYPEDNN_DATA, or in ../shared/data")
    (tmp_path / "text.txt").write_text((place / "input.txt").read_text()[:6000])
    sizes = {"n_positions": 16, "n_embd": 64, "n_layer": 2, "n_head": 4, "tie_word_embeddings": False, "initial": "he"}
    small = replace(PRESETS["nina"], model=partial(gpt2, **sizes)).changed({"epochs": 16, "batch_size": 4})
    result = train(small, str(tmp_path / "text.txt"), run=tmp_path / "run", progress=False)
    losses = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    first = next(line["loss"] for line in losses if line["kind"] == "step")
    _, vocabulary = load_run(tmp_path / "run").speaker()
    assert np.log(len(vocabulary)) < first < np.log(len(vocabulary)) + 1  # He's initial values are not small
    assert result.history.epochs[-1].loss < 0.9


@pytest.mark.usefixtures("on_the_reference")
def test_where_the_whole_model_begins() -> None:
    """Z-D10, Z-N1: He's initial weights spread the scores by one, so that the first loss is about ln(12,729) + 1 =
    10.45.
    """
    model: Any = PRESETS["nina"].model(12_729).init(np.random.default_rng(0))
    assert model.num_parameters() == 11_301_817
    tokens = np.random.default_rng(1).integers(0, 12_729, (2, 129))
    loss = SoftmaxCrossEntropy().loss(model.forward(tokens[:, :-1]), tokens[:, 1:])
    assert 10.3 <= float(loss) <= 10.6


def test_a_book_in_another_encoding(tmp_path: Path) -> None:
    """G-D22: a text that is not UTF-8 is refused by its name; read as latin-1 its tokens are held out from the front
    and learned.
    """
    book = "\\section{Théorie}\nLet $A$ be a matrix, après Gauß.\n" * 40
    (tmp_path / "book.tex").write_bytes(book.encode("latin-1"))
    with pytest.raises(DataError, match=r"book\.tex.*UTF-8"):
        load_text(str(tmp_path / "book.tex"), "characters", 0.1)
    text = (tmp_path / "book.tex").read_text("latin-1")
    coder = Characters(text)
    coder.save(tmp_path / "vocabulary")
    tokens = coder.encode(text)
    (tmp_path / "files").mkdir()
    write_tokens(tmp_path / "files" / "val.bin", tokens[:340])
    write_tokens(tmp_path / "files" / "train.bin", tokens[340:])
    samples = load_text(str(tmp_path / "files"), str(tmp_path / "vocabulary"), 0.1)
    assert samples.vocabulary is not None
    assert samples.vocabulary.decode(samples.test_x) + samples.vocabulary.decode(samples.x) == book
    assert (len(samples.test_x), len(samples.x)) == (340, len(book) - 340)


def test_ignored_targets_do_not_count() -> None:
    scores = np.log(np.array([[[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]]], np.float32))
    report = Language().measured([(scores, np.array([[1, -100]]))])
    assert (report.tokens, report.token_accuracy) == (1, 0.0)
    assert report.loss == pytest.approx(np.log(4), rel=1e-6)
    assert report.perplexity == pytest.approx(4.0, rel=1e-6)


def test_tokens_of_files(tmp_path: Path) -> None:
    """A folder of gpt.c's files, one file, and Nina's numbers of 64 bits: the same tokens as the text's, mapped."""
    coder = Characters(TEXT)
    coder.save(tmp_path / "vocabulary")
    tokens = coder.encode(TEXT)
    held = int(len(tokens) * 0.9)
    (tmp_path / "files").mkdir()
    write_tokens(tmp_path / "files" / "train.bin", tokens[:held])
    write_tokens(tmp_path / "files" / "val.bin", tokens[held:])
    write_tokens(tmp_path / "one.bin", tokens)
    write_tokens(tmp_path / "long.bin", tokens, "uint64")
    (tmp_path / "text.txt").write_text(TEXT)
    for name in ("files", "one.bin", "long.bin", "text.txt"):
        samples = load_text(str(tmp_path / name), str(tmp_path / "vocabulary"), 0.1)
        assert np.array_equal(samples.x, tokens[:held]), name
        assert np.array_equal(samples.test_x, tokens[held:]), name
        assert isinstance(samples.x, np.memmap) == (name in ("files", "one.bin"))
        assert samples.x.dtype == np.int32
    result = train(
        tiny(vocabulary=str(tmp_path / "vocabulary")), str(tmp_path / "files"), run=tmp_path / "run", progress=False
    )
    assert result.plan.data == {"name": str(tmp_path / "files")}
    nothing_held = load_text(str(tmp_path / "one.bin"), str(tmp_path / "vocabulary"), 0.0)
    assert np.array_equal(nothing_held.x, tokens)
    assert np.array_equal(nothing_held.test_x, tokens[held:])


def test_tokens_of_nanogpt(tmp_path: Path) -> None:
    """uint16 without a header: found out, told in a line, mapped, and learned to the same bits as the same tokens in
    int32.
    """
    coder, told = Characters(TEXT), list[str]()
    coder.save(tmp_path / "vocabulary")
    tokens, vocabulary = coder.encode(TEXT), str(tmp_path / "vocabulary")
    held = int(len(tokens) * 0.9)
    for kind in ("int32", "uint16"):
        (tmp_path / kind).mkdir()
        write_tokens(tmp_path / kind / "train.bin", tokens[:held], kind)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        write_tokens(tmp_path / kind / "val.bin", tokens[held:], kind)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    samples = load_text(str(tmp_path / "uint16"), vocabulary, 0.1, told.append)
    assert np.array_equal(samples.x, tokens[:held])
    assert np.array_equal(samples.test_x, tokens[held:])
    assert isinstance(samples.x, np.memmap)
    assert told == [
        f"{tmp_path / 'uint16' / name}: read as uint16, as nanoGPT has it; --set tokens=int32 reads it otherwise"
        for name in ("train.bin", "val.bin")
    ]
    runs = [
        train(
            tiny(vocabulary=vocabulary, max_steps=8), str(tmp_path / kind), run=tmp_path / f"run-{kind}", progress=False
        )
        for kind in ("int32", "uint16")
    ]
    assert all(np.array_equal(array, weights(runs[1])[name]) for name, array in weights(runs[0]).items())
    assert str(runs[0].test) == str(runs[1].test)
    assert str(evaluate_run(tmp_path / "run-uint16", str(tmp_path / "uint16"))[0]) == str(
        evaluate_run(tmp_path / "run-int32", str(tmp_path / "int32"))[0]
    )


@pytest.mark.parametrize(
    ("numbers", "dtype", "expected"),
    [
        ([1, 2, 3, 1], "<i4", "int32"),
        ([1, 2, 3, 1], "<u2", "uint16"),
        ([1, 2, 3], "<u2", "uint16"),
        ([3, 1, 2, 1, 2, 0], "<u2", "uint16"),
        ([0, 0, 1, 0], "<i4", "int32"),
        ([1, 9, 3, 1], "<i4", "token 9; another vocabulary made these tokens"),
        (
            [1, 65_537, 65_537, 3],
            "<i4",
            "must be tokens of the vocabulary in int32, or in uint16, got what may be either",
        ),
        ([1, 2, 9], "<u2", "token 9; another vocabulary made these tokens"),
        ([1, 2, 9, 1], "<u2", "token .*; another vocabulary made these tokens"),
        ([1, 2, 3], "u1", "must be whole numbers of 4 bytes"),
    ],
)
def test_what_a_file_of_tokens_holds(tmp_path: Path, numbers: list[int], dtype: str, expected: str) -> None:
    """Read so or refused, by a vocabulary of four tokens; a setting decides what is doubtful."""
    Characters("abcd").save(tmp_path / "four")
    path, four = tmp_path / "tokens.bin", str(tmp_path / "four")
    np.array(numbers, dtype).tofile(path)
    if expected in ("int32", "uint16"):
        whole = load_text(str(path), four, 0.0)
        assert whole.x.tolist() == numbers
        assert whole.x.dtype == expected
        assert load_text(str(path), four, 0.0, kind=expected).x.tolist() == numbers  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    else:
        with pytest.raises(DataError, match=expected):
            load_text(str(path), four, 0.0)


def test_a_setting_says_what_the_tokens_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept in the run, which is resumed with it."""
    monkeypatch.chdir(tmp_path)
    Characters("abcd").save("four")
    np.array([1, 0, 2, 0, 3, 0] * 40, "<u2").tofile("tokens.bin")
    assert load_text("tokens.bin", "four", 0.0).x.tolist() == [1, 2, 3] * 40
    assert load_text("tokens.bin", "four", 0.0, kind="uint16").x.tolist() == [1, 0, 2, 0, 3, 0] * 40
    result = train(tiny(vocabulary="four", tokens="uint16", max_steps=2), "tokens.bin", run="run", progress=False)
    assert json.loads(Path("run/recipe.json").read_text())["recipe"]["tokens"] == "uint16"
    assert resume("run", progress=False).history.steps == result.history.steps == 2
    saved = json.loads(Path("run/recipe.json").read_text())
    del saved["recipe"]["tokens"]  # as runs before the setting have it
    Path("run/recipe.json").write_text(json.dumps(saved | {"format": 5}))
    assert read_plan(Path("run")).recipe.tokens == "auto"
    with pytest.raises(
        ArgumentError, match="tokens is a language model's, got 'uint16'; leave it out, or set task=language"
    ):
        recipe("mlp").changed({"tokens": "uint16"})
    with pytest.raises(ArgumentError, match="tokens must be one of 'auto', 'int32', 'uint16', 'uint64', got 'int64'"):
        tiny(tokens="int64")


def stories(folder: Path, shards: dict[int, list[str]]) -> Path:
    folder.mkdir(exist_ok=True)
    for number, texts in shards.items():
        table = [
            {"story": text, "instruction": {"prompt:": "Write."}, "summary": "A cat.", "source": "GPT-4"}
            for text in texts
        ]
        (folder / f"data{number:02}.json").write_text(json.dumps(table))
    return folder


def test_tiny_stories(tmp_path: Path) -> None:
    """G-D23: shard 0 to validate, 1 to 10 to train; each shuffled by its own generator, <|endoftext|> before each
    story.
    """
    tokenizer = train_tokenizer(["the cat sat", "the cat ran"] * 3, 262)
    end = tokenizer.vocab["<|endoftext|>"]
    written = {number: [f" the cat {number} sat {place}\n" for place in range(7)] for number in (0, 1, 2, 10, 11)}
    folder = stories(tmp_path / "stories", written)
    train_tokens, held = read_tiny_stories(folder, tokenizer)

    def expected(number: int) -> list[int]:
        order = list(range(7))
        random.Random(1337 + number).shuffle(order)
        assert order != list(range(7))
        return [
            token for place in order for token in (end, *tokenizer.encode(f"the cat {number} sat {place}").tolist())
        ]

    assert held.tolist() == expected(0)
    assert train_tokens.tolist() == [*expected(1), *expected(2), *expected(10)]
    assert (held.dtype, train_tokens.dtype) == (np.int32, np.int32)

    tokenizer.save(tmp_path / "vocabulary")
    (folder / "data11.json").unlink()
    found, samples = choose(str(folder), tiny(vocabulary=str(tmp_path / "vocabulary")))
    assert found.name == "gpt2"
    assert (samples.x.tolist(), samples.test_x.tolist()) == (train_tokens.tolist(), held.tolist())
    train(found.changed({"max_steps": 2}), samples, run=tmp_path / "run", source={"name": str(folder)}, progress=False)
    assert resume(tmp_path / "run", progress=False).history.steps == 2


@pytest.mark.parametrize(
    ("shards", "vocabulary", "message"),
    [
        (
            {1: ["a"], 2: ["b"]},
            "merges",
            r"must hold data00.json, to validate on, and one of data01.json to .*, got data01.json, data02.json",
        ),
        ({0: ["a"]}, "merges", "must hold data00.json, .*, got data00.json"),
        (
            {0: ["a"], 1: []},
            "merges",
            r"data01.json: must be a list of stories in JSON, of one at least, got something else",
        ),
        (
            {0: ["a"], 1: ["a", 3]},
            "merges",
            r'data01.json, story 1: must be an object with a text under "story", got none',
        ),
        (
            {0: ["a"], 1: ["a", "b\ud83d"]},
            "merges",
            r"data01.json, story 1: must be whole Unicode characters, got half of a surrogate pair at 1",
        ),
        (
            {0: ["a"], 1: ["a"]},
            "letters",
            r"stories begin with <\|endoftext\|>, got a vocabulary without it; --set vocabulary=gpt2",
        ),
        (
            {0: ["a"], 1: ["a"]},
            "characters",
            r"vocabulary: stories begin with <\|endoftext\|>, .* got 'characters'; --set vocabulary=gpt2",
        ),
    ],
)
def test_stories_that_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shards: Any, vocabulary: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    train_tokenizer(["the cat"], 257).save("merges")
    Characters("abcd").save("letters")
    stories(tmp_path / "stories", shards)
    with pytest.raises((ArgumentError, DataError), match=message):
        load_text("stories", vocabulary, 0.0)


def test_texts_of_a_folder(tmp_path: Path) -> None:
    for name, part in {"b.txt": "dbb", "a.txt": "\ufeffac\r\n", "c.md": "x"}.items():
        (tmp_path / name).write_bytes(part.encode())
    samples = load_text(str(tmp_path), "characters", 0.0)
    assert samples.vocabulary is not None
    assert samples.vocabulary.decode(samples.x) == "ac\ndbb"


def test_fine_tuning(text: str, tmp_path: Path) -> None:
    """From a folder of weights: its sizes, its vocabulary; the first loss is that of these weights."""
    coder = Characters(TEXT)
    model = GPT2(len(coder), **TINY, rng=np.random.default_rng(3))
    save_gpt2(model, tmp_path / "weights")
    coder.save(tmp_path / "weights")
    start = starting_from(str(tmp_path / "weights"), tiny())
    assert start.vocabulary == start.weights == str(tmp_path / "weights")
    assert np.array_equal(load_gpt2(tmp_path / "weights").wte.weight, model.wte.weight)
    result = train(
        replace(start.changed({"max_steps": 1}), optimizer={"type": "SGD", "lr": 1e-30}),
        text,
        run=tmp_path / "run",
        progress=False,
    )
    for name, array in model.named_parameters().items():
        np.testing.assert_allclose(array, weights(result)[f"0.{name}"], rtol=0, atol=1e-30, err_msg=name)
    with pytest.raises(ArgumentError, match="must have the sizes of the model"):
        train(replace(start, model=partial(gpt2, **(TINY | {"n_embd": 4}))), text, progress=False)


def test_a_run_needs_no_other_folder(text: str, tmp_path: Path) -> None:
    """Once there is a checkpoint, the weights that it began with, and their vocabulary, may be gone."""
    coder = Characters(TEXT)
    save_gpt2(GPT2(len(coder), **TINY, rng=np.random.default_rng(3)), tmp_path / "weights")
    coder.save(tmp_path / "weights")
    start = starting_from(str(tmp_path / "weights"), tiny(max_steps=6))
    whole = train(start, text, progress=False)
    train(start, text, run=tmp_path / "run", progress=False, callbacks=[StopAt(2)])
    shutil.rmtree(tmp_path / "weights")
    again = resume(tmp_path / "run", progress=False)
    assert all(np.array_equal(array, weights(again)[name]) for name, array in weights(whole).items())
    assert evaluate_run(tmp_path / "run")[0] == again.test


def test_fine_tuning_from_the_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`typednn.models.hub` says where the files are; the run keeps that folder."""
    coder = Characters(TEXT)
    save_gpt2(GPT2(len(coder), **TINY, rng=np.random.default_rng(3)), tmp_path)
    monkeypatch.setattr(
        catalogue,
        "local_folder",
        lambda where, name: tmp_path if (where, name) == ("--from", "hf://ann/small") else None,
    )
    assert starting_from("hf://ann/small", tiny()).weights == str(tmp_path)


def test_a_setting_names_weights_of_the_hub(monkeypatch: pytest.MonkeyPatch, text: str, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    model = GPT2(len(Characters(TEXT)), **TINY, rng=np.random.default_rng(3))
    save_gpt2(model, tmp_path / "weights")
    asked: list[str] = []
    monkeypatch.setattr(
        "huggingface_hub.snapshot_download", lambda name, **_: asked.append(name) or str(tmp_path / "weights")
    )
    start = tiny(weights="hf://ann/small", max_steps=1)
    result = train(replace(start, optimizer={"type": "SGD", "lr": 1e-30}), text, run=tmp_path / "run", progress=False)
    assert asked == ["ann/small"]
    for name, array in model.named_parameters().items():
        np.testing.assert_allclose(array, weights(result)[f"0.{name}"], rtol=0, atol=1e-30, err_msg=name)


def test_the_size_that_the_docs_tell() -> None:
    assert recipe("gpt2").model(classes=65).num_parameters() == 809_856


def test_published_numbers() -> None:
    """nanoGPT's splits of Tiny Shakespeare, by characters and by GPT-2's tokens, and Nina's text of 306,635 tokens.
    Z-N1, Z-N2.
    """
    if find("tinyshakespeare") is None or find("gpt2-bpe") is None:
        pytest.skip("needs tinyshakespeare and gpt2-bpe in TYPEDNN_DATA, or in ../shared/data")
    characters = load_text("tinyshakespeare", "characters", 0.1)
    assert (len(characters.x), len(characters.test_x), characters.classes) == (1_003_854, 111_540, 65)
    pairs = load_text("tinyshakespeare", "gpt2", 0.1)
    assert (len(pairs.x), len(pairs.test_x), pairs.classes) == (301_966, 36_059, 50_257)
    nina = load_text("tinyshakespeare", "nina", 0.0)
    assert (len(nina.x), nina.classes) == (306_635, 12_729)
    x, y = nina.shaped(128).x, nina.shaped(128).y
    assert (x.shape, x[-1, -1], y[-1, -1]) == ((2_396, 128), 1, -100)


def test_cleaned() -> None:
    assert (
        cleaned("\ufeff \u201cone\u201d\u2014two\u2019s\r\n\n\n\n\nthree \t four\x07\ufb01ve \n")
        == '"one"-two\'s\n\nthree fourfive'
    )


@pytest.mark.parametrize(
    ("data", "vocabulary", "message"),
    [
        (
            "missing.txt",
            "characters",
            "--data: expects a text, a file of tokens or a folder of either, got .*missing.txt'; such as",
        ),
        ("x" * 5000, "characters", "--data: expects a text, a file of tokens or a folder of either, got"),
        ("", "characters", "--data: path must be the name of a file or folder, got ''"),
        ("empty.txt", "characters", "empty.txt: must hold a text, got an empty one"),
        ("folder", "characters", "folder: must hold .txt files, or train.bin and val.bin, got none of these"),
        ("bytes.txt", "characters", "bytes.txt: must be UTF-8, got another byte at 1"),
        (
            "tokens.bin",
            "characters",
            "vocabulary: files of tokens need the vocabulary that made them, got 'characters'; --set vocabulary=",
        ),
        (
            "tokens.bin",
            "vocabulary",
            r"tokens.bin: the vocabulary has tokens 0 to 3, got token 9; another vocabulary made these tokens",
        ),
        ("negative.bin", "vocabulary", r"negative.bin: the vocabulary has tokens 0 to 3, got token -2"),
        ("good.txt", "nowhere", r"nowhere: must hold tokenizer.json, or vocab.json and merges.txt, got no such folder"),
        ("short.txt", "characters", r"windows: a window needs 9 tokens, got 3; shorter windows, or a longer text"),
        ("good.txt", "vocabulary", r"Characters.encode: text is of the vocabulary's characters, got '0' at 0"),
    ],
)
def test_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: str, vocabulary: str, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.txt").write_text("")
    Path("folder").mkdir()
    Path("bytes.txt").write_bytes(b"a\xff")
    np.array([1, 2, 9], "<i4").tofile("tokens.bin")
    np.array([1, 2, -2], "<i4").tofile("negative.bin")
    Path("good.txt").write_text(TEXT)
    Path("short.txt").write_text("abcd")
    Characters("abcd").save("vocabulary")
    with pytest.raises((ArgumentError, DataError), match=message):
        train(tiny(vocabulary=vocabulary), data, run=tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists(), "no folder for a run that can't begin"


def test_sizes_of_the_model() -> None:
    bigger = recipe("gpt2").changed({"model.n_layer": 2, "model.n_embd": 16})
    model = bigger.model(classes=9).parts[0]
    assert (model.n_layer, model.n_embd, model.n_head, model.vocab_size) == (2, 16, 4, 9)
    with pytest.raises(
        ArgumentError, match=r"--set model.n_layers: recipe 'gpt2' has no such size, got 2; did you mean 'n_layer'"
    ):
        recipe("gpt2").changed({"model.n_layers": 2})
    with pytest.raises(
        ArgumentError, match=r"--set model.width: sizes of this model are changed where it is written, got 2"
    ):
        recipe("mlp").changed({"model.width": 2})
    with pytest.raises(ArgumentError, match="n_embd must be a multiple of n_head"):
        recipe("gpt2").changed({"model.n_head": 3})


def test_epochs(text: str, tmp_path: Path) -> None:
    """Z-N7: the mean loss of each epoch, and loss and accuracy of each evaluation."""
    result = train(
        tiny(epochs=2, max_steps=None, evaluate_every=None, stride=None), text, run=tmp_path / "run", progress=False
    )
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    steps = [line for line in lines if line["kind"] == "step"]
    for number, loss in enumerate(result.history.losses, 1):
        losses = [line["loss"] for line in steps if line["epoch"] == number]
        assert loss == pytest.approx(np.mean(losses), rel=0.02)  # the last batch is short
    assert [set(measured.metrics) for measured in result.history.evaluations] == [{"perplexity", "token_accuracy"}] * 2


def test_the_best_by_the_loss(text: str, tmp_path: Path) -> None:
    """G-C10: a rate that spoils the model keeps the best weights by the validation, with the gradient clipped at 1."""
    rate = {"type": "CosineLR", "lr": 3.0, "warmup_steps": 19}
    spoiled = replace(tiny(max_steps=20, evaluate_every=5), optimizer={"type": "AdamW", "lr": rate})
    result = train(spoiled, text, run=tmp_path / "run", progress=False)
    losses = {measured.step: measured.loss for measured in result.history.evaluations}
    best = min(losses, key=losses.__getitem__)
    assert result.history.best is not None
    assert (result.history.best.step, result.history.best.metric) == (best, "loss")
    assert json.loads((tmp_path / "run" / "checkpoints" / "best.json").read_text())["value"] == -losses[best]
    assert spoiled.clip_grad_norm == 1.0


def test_steps_instead_of_epochs() -> None:
    """3 batches and a short one of 10, two batches a step: two steps an epoch."""
    for steps, epochs in ((1, 1), (2, 1), (3, 2), (7, 4)):
        plain = tiny(max_steps=steps, batch_size=3, accumulate=2)
        assert (plain.epochs_for(10), plain.steps_for(10)) == (epochs, steps)
    assert recipe("gpt2").changed({"epochs": 3}).max_steps is None
    assert tiny(epochs=3, max_steps=30).max_steps == 30


def test_the_vocabulary_is_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text.txt").write_text(TEXT)
    Characters(TEXT).save(tmp_path / "vocabulary")
    monkeypatch.chdir(tmp_path)
    train(tiny(vocabulary="vocabulary", max_steps=3), "text.txt", run="run", progress=False, callbacks=[StopAt(1)])
    monkeypatch.chdir("/")
    assert resume(tmp_path / "run", progress=False).history.steps == 3


@pytest.mark.parametrize("name", ["vocabulary", "weights", "stride", "tokens"])
def test_any_value(text: str, name: str) -> None:
    sentences = []
    for value in VALUES:
        try:
            train(tiny(max_steps=1).changed(parsed_settings([f"{name}={value}"])), text, progress=False)
        except TypednnError as error:
            sentences.append(str(error))
    assert len(sentences) > len(VALUES) / 2
    assert all(sentence.strip() for sentence in sentences)


def test_mistakes_of_settings() -> None:
    with pytest.raises(
        ArgumentError,
        match=r"a language model has the loss softmax_cross_entropy, no smoothing, and a vocabulary, got loss mse",
    ):
        tiny(loss="mse")
    with pytest.raises(ArgumentError, match="--preset: is for the recipe gpt2, got recipe 'mlp'; typednn train gpt2"):
        preset("nina", recipe("mlp"))
    with pytest.raises(
        ArgumentError, match="--preset: expects the name of one, got 'shakespere'; did you mean 'shakespeare-char'"
    ):
        preset("shakespere", recipe("gpt2"))
    with pytest.raises(ArgumentError, match="max_steps must be an integer of at least 1, got 0"):
        tiny(max_steps=0)


def test_other_commands_say_what_they_cannot_do(text: str, tmp_path: Path) -> None:
    train(tiny(max_steps=1), text, run=tmp_path / "run", progress=False)
    (tmp_path / "a.txt").write_text("1: 1 ")
    with pytest.raises(
        ArgumentError, match="predict labels inputs, got a language model; typednn generate RUN --prompt TEXT"
    ):
        predict(tmp_path / "run", [tmp_path / "a.txt"])
    train(recipe("mlp").changed({"epochs": 1}), "digits", run=tmp_path / "mlp", progress=False)
    with pytest.raises(
        ArgumentError, match="must be the run of a language model, got a classification; typednn predict uses it"
    ):
        load_run(tmp_path / "mlp").speaker()
