"""Language: which token of a text comes next, at each of its positions; ``y`` holds the inputs, moved by one."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Never, final

import numpy as np
import numpy.typing as npt

from typednn.arrays import is_integer
from typednn.backends import to_numpy
from typednn.data.vocabulary import Vocabulary
from typednn.errors import ArgumentError, explain
from typednn.losses import SoftmaxCrossEntropy
from typednn.metrics import LanguageReport
from typednn.models.generation import generate
from typednn.models.gpt2 import GPT2
from typednn.module.module import Module
from typednn.tasks.task import RecipeTask

_SAMPLE = 200  # tokens of a sample
_PROMPT = 16  # of these from the text


@final
@dataclass(frozen=True, slots=True, eq=False)
class Language(RecipeTask[LanguageReport, Never]):
    """``y`` (batch, time); a label that is ``ignore_index`` does not count. A sample has ``per_sample`` tokens, the
    ``unit`` of speeds.

    ``vocabulary`` writes samples, which begin with ``prompt`` (n); without it there are none.
    """

    per_sample: int = 1
    vocabulary: Vocabulary | None = None
    prompt: tuple[int, ...] = ()
    ignore_index: int = -100
    unit: str = "tokens"

    def targets(self, y: Any, prediction: Any) -> Any:
        return y

    def metrics(self, batches: Iterable[tuple[Any, Any]]) -> dict[str, float]:
        """Perplexity, and the share of tokens that had the largest score."""
        return self.combined(self.counted(*batch) for batch in batches)

    def counted(self, prediction: Any, y: Any) -> tuple[float, int, int, int]:
        """Of scores (batch, time, tokens): the loss's sum, the tokens with the largest score, all tokens, the time."""
        wanted, scores = to_numpy(y), to_numpy(prediction)
        counts = wanted != self.ignore_index
        nats = SoftmaxCrossEntropy("sum", ignore_index=self.ignore_index).loss(scores, wanted)
        right = ((scores.argmax(axis=-1) == wanted) & counts).sum()
        return float(nats), int(right), int(counts.sum()), wanted.shape[1]

    def combined(self, counted: Iterable[tuple[float, int, int, int]]) -> dict[str, float]:
        """As `metrics`."""
        report = self.reported(counted)
        return {"perplexity": report.perplexity, "token_accuracy": report.token_accuracy}

    def measured(self, batches: Iterable[tuple[Any, Any]]) -> LanguageReport:
        """The report on batches of scores (batch, time, tokens) and ``y``."""
        return self.reported(self.counted(*batch) for batch in batches)

    def reported(self, counted: Iterable[tuple[float, int, int, int]]) -> LanguageReport:
        """The report on batches of which this was counted; each token counts once, whatever its batch."""
        summed, right, tokens, length = 0.0, 0, 0, 1
        for nats, hits, among, time in counted:
            summed, right, tokens, length = summed + nats, right + hits, tokens + among, time
        return LanguageReport(tokens, summed / max(tokens, 1), right / max(tokens, 1), length)

    def column(self, where: str, name: str, column: npt.NDArray[np.float64], place: Callable[[int], str]) -> Never:
        raise ArgumentError(
            explain(where, "a language model learns from a text or a file of tokens", "a CSV file", "give --data TEXT")
        )

    def check(self, where: str, y: npt.NDArray[Any], outputs: int) -> None:
        if not is_integer(y.dtype):
            rule = "a language model learns from a text or a file of tokens"
            raise ArgumentError(explain(where, rule, f"{y.dtype} of shape {y.shape}", "give --data TEXT"))
        largest = int(y.max())
        if largest >= outputs:
            got = f"token {largest}"
            raise ArgumentError(
                explain(
                    where, f"the model knows tokens 0 to {outputs - 1}", got, "another vocabulary made these tokens"
                )
            )

    def report(self, prediction: Any, y: npt.NDArray[Any]) -> LanguageReport:
        return self.measured([(prediction, y)])

    def shown(self, x: npt.NDArray[Any], y: npt.NDArray[Any], prediction: Any) -> None:
        return None

    def answers(self, file: str, prediction: Any, remark: str) -> Never:
        raise ArgumentError(
            explain(
                file, "a language model goes on with a text", "an input to label", "typednn generate RUN --prompt TEXT"
            )
        )

    def sample(self, model: Any, step: int) -> str | None:
        """What the model writes behind ``prompt``, at temperature 0.8, drawn from a generator of seed ``step``: again
        the same text.
        """
        speaker = speaker_of(model)
        if speaker is None or self.vocabulary is None or not self.prompt:
            return None
        drawn = generate(speaker, np.array([self.prompt]), _SAMPLE, temperature=0.8, rng=np.random.default_rng(step))
        return self.vocabulary.decode(drawn[0])


def speaker_of(model: Module) -> GPT2 | None:
    """The language model in ``model``, if there is one: it itself, or the only layer of a chain."""
    whole: Any = model
    parts: list[Any] = [whole] if isinstance(whole, GPT2) else [part for _, part in model.children()]
    found: GPT2 | None = parts[0] if len(parts) == 1 and issubclass(type(parts[0]), GPT2) else None
    return found


def prompt_of(tokens: npt.NDArray[Any]) -> tuple[int, ...]:
    """The first tokens of a text, as a prompt."""
    return tuple(np.asarray(tokens[:_PROMPT]).tolist())
