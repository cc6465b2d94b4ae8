"""The command that writes text with a language model: generate."""

import codecs
import os
import re
import sys
import time
from argparse import Namespace
from typing import Final, NamedTuple, final

import numpy as np

from typednn.arrays import IntArray1
from typednn.cli.output import hint, say
from typednn.config.model_config import import_layers
from typednn.data import Vocabulary, read_vocabulary
from typednn.data.vocabulary import END, prompt_tokens, token_of, tokens_in
from typednn.errors import ArgumentError, DataError, explain, printable
from typednn.files import path_of
from typednn.models import GPT2, compact, next_scores, probabilities, stream
from typednn.models.hub import local_folder
from typednn.random import Draws, XorShift64
from typednn.recipes.plan import FILE
from typednn.recipes.predictor import load_run
from typednn.recipes.weights import vocabulary_beside, weights_at
from typednn.screen import columns, screen_width

BETWEEN: Final = "---------------"  # two texts
_SPACES = range(9, 14)
# Single bytes that a terminal is not to get: controls, and what no UTF-8 text has.
_UNPRINTABLE = {bytes([byte]) for byte in (*range(32), 127, 192, 193, *range(245, 256)) if byte not in _SPACES}


@final
class _Prompt(NamedTuple):
    """What is continued: its tokens, and the text that is printed before what follows, None for that of the tokens."""

    tokens: IntArray1
    text: str | None


def generate(options: Namespace) -> int:
    """Text behind each prompt, as it is drawn; or with ``--top`` the likeliest next tokens."""
    import_layers(options.modules)
    writer = _Writer(options)
    given = [writer.prompt(text) for text in options.prompts]
    given += [writer.listed(text) for text in options.prompt_tokens]
    if not given and not options.interactive:
        given = [writer.prompt("")]
    writer.write(given)
    complete = not options.interactive or _answer_lines(writer)
    if not options.quiet and options.top is None:
        hint(f"{writer.drawn:,} tokens, {writer.drawn / max(writer.seconds, 1e-9):,.1f} tokens per second")
    return 0 if complete else 1


def _answer_lines(writer: "_Writer") -> bool:
    """Continue each line of standard input; whether none was refused."""
    stdin = sys.stdin if sys.stdin is not None and not sys.stdin.closed else None  # pyright: ignore[reportUnnecessaryComparison]
    terminal, complete = stdin is not None and stdin.isatty(), True
    while stdin is not None:
        if terminal:
            sys.stderr.write("> ")
            sys.stderr.flush()
        try:
            line = stdin.readline()
            if not line:
                break
            writer.write([writer.prompt(line.removesuffix("\n"))._replace(text="")])
        except UnicodeDecodeError as error:
            raise DataError(
                explain("standard input", f"must be {error.encoding}", f"another byte at {error.start}")
            ) from None
        except ArgumentError as error:  # of this line; the next may be right
            hint(f"typednn generate: {error}")
            complete = False
    return complete


@final
class _Writer:
    """The model, its vocabulary, and how it is drawn from; counts tokens and seconds."""

    def __init__(self, options: Namespace) -> None:
        self.options = options
        model, self.vocabulary = _opened(options)
        self.model = model if options.dtype == "float32" else compact(model, options.dtype)
        self.end = token_of(self.vocabulary, END)
        self.stops = _stops(options.stop, self.vocabulary, self.end)
        self.rng = _rng(options)
        self.drawn, self.seconds, self.texts = 0, 0.0, 0

    def prompt(self, text: str) -> _Prompt:
        """The tokens of ``text``, in which <|endoftext|> is the token; of none, that token alone."""
        return _Prompt(prompt_tokens("--prompt", self.vocabulary, text, self.end), text)

    def listed(self, text: str) -> _Prompt:
        """The tokens that ``text`` lists."""
        tokens = tokens_in("--prompt-tokens", text, len(self.vocabulary))
        return _Prompt(tokens, None) if len(tokens) else self.prompt("")

    def write(self, prompts: list[_Prompt]) -> None:
        """Print what follows each prompt, in their order; those of one length are read together, once
        the first is due.
        """
        made: dict[int, list[int]] = {}
        for place, prompt in enumerate(prompts):
            if self.texts:
                say(BETWEEN)
            self.texts += 1
            if len(prompt.tokens) > self.model.n_positions and not self.options.quiet:
                hint(
                    f"the prompt has {len(prompt.tokens):,} tokens; the model reads the last {self.model.n_positions:,}"
                )
            if self.options.top is not None:
                self._table(prompt)
                continue
            text = _Text(self.vocabulary)
            text.begin(prompt)
            try:
                if place not in made:
                    self._draw(prompts, place, text, made)
                else:
                    text.tokens(made[place])
            finally:
                text.finish()  # an error begins a line

    def _draw(self, prompts: list[_Prompt], first: int, text: "_Text", made: dict[int, list[int]]) -> None:
        """Draw for the prompt ``first``, whose text is printed at once, and for the later ones of its length, whose
        tokens are ``made``.
        """
        length = len(prompts[first].tokens)
        group = [place for place, prompt in enumerate(prompts) if place >= first and len(prompt.tokens) == length]
        made.update({place: [] for place in group})
        going = set(group)
        start = time.perf_counter()
        drawn = stream(
            self.model,
            np.stack([prompts[place].tokens for place in group]),
            self.options.max_tokens,
            temperature=self.options.temperature,
            top_k=self.options.top_k,
            top_p=self.options.top_p,
            stop=self.stops,
            rng=self.rng,
        )
        for tokens in drawn:
            for place, token in zip(group, tokens.tolist(), strict=True):
                if place not in going:
                    continue
                self.drawn += 1
                if token in self.stops:
                    going.remove(place)
                elif place == first:
                    text.tokens([token])
                else:
                    made[place].append(token)
        self.seconds += time.perf_counter() - start

    def _table(self, prompt: _Prompt) -> None:
        """Print the likeliest next tokens."""
        scores = next_scores(self.model, prompt.tokens[None])
        options = self.options
        chances = probabilities(scores, temperature=options.temperature, top_k=options.top_k, top_p=options.top_p)[0]
        rows = [("token", "text", "probability", "logit")]
        for token in np.argsort(-scores[0], kind="stable")[: options.top].tolist():
            rows.append(
                (
                    str(token),
                    _shown(self.vocabulary.bytes_of(token)),
                    f"{chances[token]:.6f}",
                    f"{scores[0, token]:.4f}",
                )
            )
        for line in columns(rows, right=(0, 2, 3), width=screen_width()):
            say(line)


@final
class _Text:
    """A text on standard output, token by token; a character is printed once all its bytes are there."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def begin(self, prompt: _Prompt) -> None:
        """Print the prompt."""
        if prompt.text is None:
            self.tokens(prompt.tokens.tolist())
        else:
            _print(prompt.text)

    def tokens(self, tokens: list[int]) -> None:
        """Print ``tokens``, but no single bytes that are no text."""
        pieces = map(self._vocabulary.bytes_of, tokens)
        _print(self._decoder.decode(b"".join(piece for piece in pieces if piece not in _UNPRINTABLE)))

    def finish(self) -> None:
        """End the line."""
        _print(self._decoder.decode(b"", final=True) + "\n")


def _print(text: str) -> None:
    sys.stdout.write(printable(text.replace("\r\n", "\n")))
    sys.stdout.flush()


def _shown(piece: bytes) -> str:
    try:
        return repr(piece.decode())
    except UnicodeDecodeError:
        return repr(piece)


def _opened(options: Namespace) -> tuple[GPT2, Vocabulary]:
    """The model and its vocabulary, which fit."""
    place = local_folder("generate", options.model)
    model: GPT2
    vocabulary: Vocabulary | None = None
    if os.path.isfile(place / FILE):
        model, vocabulary = load_run(place, options.weights).speaker()
    elif options.weights is not None:
        raise ArgumentError(
            explain("--weights", "chooses between the weights of a run", f"{place}, which is no run", "leave it out")
        )
    else:
        model = weights_at(place)
    if options.tokenizer is not None:
        vocabulary = read_vocabulary(path_of("--tokenizer", options.tokenizer))
    if vocabulary is None:
        beside = vocabulary_beside(place)
        if beside is None:
            got, cure = (
                "none beside the weights",
                "give --tokenizer a folder with tokenizer.json, or with vocab.json and merges.txt, or tokenizer.bin",
            )
            raise ArgumentError(explain(str(place), "needs the model's vocabulary", got, cure))
        vocabulary = read_vocabulary(beside)
    if len(vocabulary) != model.vocab_size:
        got, cure = f"a vocabulary of {len(vocabulary):,}", "give --tokenizer the one with which the model was trained"
        raise ArgumentError(explain(str(place), f"the model has {model.vocab_size:,} tokens", got, cure))
    return model, vocabulary


def _stops(given: list[str], vocabulary: Vocabulary, end: int | None) -> list[int]:
    """The tokens that end a text: numbers, or texts that are one token; <|endoftext|> where none is given."""
    if not given:
        return [] if end is None else [end]
    stops: list[int] = []
    for text in given:
        if re.fullmatch(r"[0-9]{1,18}", text):
            stops += tokens_in("--stop", text, len(vocabulary)).tolist()
            continue
        token = token_of(vocabulary, text)
        tokens = vocabulary.encode(text).tolist() if token is None else [token]
        if len(tokens) != 1:
            raise ArgumentError(
                explain("--stop", "is one token, or its number", f"{text!r}, which is {len(tokens)} tokens")
            )
        stops += tokens
    return stops


def _rng(options: Namespace) -> Draws:
    if options.sampler == "numpy":
        return np.random.default_rng(options.seed or 0)
    return XorShift64() if options.seed is None else XorShift64(options.seed)
