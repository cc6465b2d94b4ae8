"""The commands that use a run: eval, predict."""

import json
import sys
from argparse import Namespace
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from typednn.cli.output import hint, say
from typednn.config.model_config import import_layers, imported
from typednn.errors import DataError, explain
from typednn.files import allow, limit_of, writing
from typednn.recipes import Predictor, load_run
from typednn.recipes.tables import LAYOUT
from typednn.recipes.using import evaluate_run
from typednn.tasks import Answer, Estimate

STDIN: Final = "standard input"
_ENDINGS: Final[Mapping[str, str]] = {"rows": ".csv", "text": ".txt", "image": ".png"}


def evaluate(options: Namespace) -> int:
    """What the report says: precision, recall, F1 and the confusion matrix, or the errors of a regression."""
    import_layers(options.modules)
    given = {"target": options.target, "model": named_model(options), **_layout(options)}
    tested, samples = evaluate_run(options.run, options.data, options.weights, **given)
    hint(f"data: {samples.where}; {len(samples.test_x):,} to test")
    if samples.told:
        hint(f"read: {samples.told}")
    say(str(tested))
    return 0


def predict(options: Namespace) -> int:
    """A line per input, once all are known."""
    import_layers(options.modules)
    run = load_run(options.run, model=named_model(options))
    remarks: set[str] = set()
    for answer in [answer for file in options.files for answer in _answers(run, file, options)]:
        if answer.remark and answer.remark not in remarks:
            remarks.add(answer.remark)
            hint(f"{answer.file}: {answer.remark}")
        if options.json:
            say(json.dumps({"file": answer.file, "index": answer.index, **answer.as_json()}))
        else:
            say(str(answer))
    return 0


def _answers(run: Predictor, file: str, options: Namespace) -> list[Answer | Estimate]:
    if file != "-" or run.reads not in _ENDINGS:
        return run.predict_files(file, invert=options.invert, **_layout(options))
    with _standard_input(_ENDINGS[run.reads]) as path:
        found = run.predict_files(path, invert=options.invert, **_layout(options))
    return [replace(answer, file=STDIN) for answer in found]


@contextmanager
def _standard_input(ending: str) -> Generator[Path]:
    """Standard input as a file, which messages call by its own name."""
    stdin = getattr(sys.stdin, "buffer", None)
    if stdin is None or stdin.closed:
        raise DataError(explain(STDIN, "must be readable", "a closed one", "name a file"))
    if stdin.isatty():
        hint(f"reading {STDIN}; Ctrl-D ends it")
    most, size = limit_of("predict", None), 0
    with TemporaryDirectory() as folder:
        path = Path(folder, f"input{ending}")
        with writing(path), path.open("wb") as file:
            while piece := stdin.read(1 << 20):
                size += len(piece)
                allow(STDIN, size, most)
                file.write(piece)
        try:
            yield path
        except DataError as error:
            error.args = (str(error).replace(str(path), STDIN), *error.args[1:])
            raise


def named_model(options: Namespace) -> Any:
    """What ``--model`` names, or None."""
    return None if options.model is None else imported(options.model)


def _layout(options: Namespace) -> dict[str, Any]:
    return {name: getattr(options, name) for name in LAYOUT}
