"""The commands that use a run: eval, predict."""

import json
from argparse import Namespace
from dataclasses import asdict
from typing import Any

from typednn.cli.output import hint, say
from typednn.config.model_config import import_layers
from typednn.recipes.tables import LAYOUT
from typednn.recipes.using import evaluate_run
from typednn.recipes.using import predict as predict_files


def evaluate(options: Namespace) -> int:
    """What the report says: precision, recall, F1 and the confusion matrix, or the errors of a regression."""
    import_layers(options.modules)
    tested, samples = evaluate_run(options.run, options.data, options.weights, **_layout(options))
    hint(f"data: {samples.where}; {len(samples.test_x):,} to test")
    if samples.told:
        hint(f"read: {samples.told}")
    say(str(tested))
    return 0


def predict(options: Namespace) -> int:
    """A line per input."""
    import_layers(options.modules)
    remarks: set[str] = set()
    for answer in predict_files(options.run, options.files, invert=options.invert, **_layout(options)):
        if answer.remark and answer.remark not in remarks:
            remarks.add(answer.remark)
            hint(f"{answer.file}: {answer.remark}")
        if options.json:
            say(json.dumps({key: value for key, value in asdict(answer).items() if key != "remark"}))
        else:
            say(str(answer))
    return 0


def _layout(options: Namespace) -> dict[str, Any]:
    return {name: getattr(options, name) for name in LAYOUT}
