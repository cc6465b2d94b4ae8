"""What the pages say that typednn has not, it has not: such a sentence goes stale on the day on which somebody adds it.

Each sentence of README and the pages that says so stands in a table: with a check that fails once the thing is there,
or with the reason why there is nothing to check. A sentence that is in no table is an error, and so is a row whose
sentence is gone.
"""

import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.repo.test_docs import _FENCE, REPOSITORY
from typednn import Input, MultiInput
from typednn.config import ConfigError, loads
from typednn.config.registry import LAYERS
from typednn.data import cifar10
from typednn.errors import DataError, habits
from typednn.exchange.onnx.operators import OPERATORS
from typednn.graph import Tensor
from typednn.layers import Linear
from typednn.losses import MSE
from typednn.models import GPT2, CompactGPT2

PAGES = [REPOSITORY / "README.md", REPOSITORY / "SECURITY.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
# These say of each function, each row of the specification, and each step of a release what is missing; other tests
# hold the first two.
LEFT_OUT = {"coverage.md", "proven.md", "releasing.md"}

SAYS_SO = re.compile(
    r"(?<!if )(?<!where )(?<!because )\b[Tt]here (?:is|are) no\b|\bNo [a-z]|\bnot supported\b|\byet\b|\bnot tested on\b"
    r"|\bhas no (?:gradient|place)\b|\b(?:is|are) not (?:read|converted|implemented|available)\b"
)

PUBLIC = {name for package in habits.PACKAGES for name in habits.public_names(package)}
SOURCES = [path.read_text(encoding="utf-8") for path in sorted((REPOSITORY / "typednn").rglob("*.py"))]


def _no_weights() -> bool:
    return {path.suffix for path in (REPOSITORY / "typednn").rglob("*.*") if path.is_file()} <= {
        ".py",
        ".pyc",
        ".txt",
        ".typed",
    }


def _no_hook() -> bool:
    program = "import sys, typednn.layers, typednn.training; print(sys.excepthook is sys.__excepthook__)"
    return (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False).stdout == "True\n"
    )


def _no_global_generator() -> bool:
    named = any(re.search(r"(?i)seed$|default_rng|get_rng", name) for name in PUBLIC - {"Seed"})
    return not named and "rng" in inspect.signature(Linear).parameters


def _a_config_is_data() -> bool:
    head = 'format = 1\ninput = [4]\n[[layer]]\ntype = "Linear"\nin_features = 4\n'
    refused = 0
    for text in (
        f'{head}out_features = "${{size}}"\n',
        f'{head}out_features = "$HOME"\n',
        f'{head}out_features = "4*2"\n',
        f'include = "other.toml"\n{head}out_features = 8\n',
    ):
        with pytest.raises(ConfigError):
            loads(text)
        refused += 1
    return refused == 4 and loads(f"{head}out_features = 8\n") is not None


def _no_pickled_cifar(tmp_path: Path) -> bool:
    for name in ("cifar-10-python.tar.gz", "data_batch_1", "test_batch"):
        (tmp_path / name).write_bytes(b"\x80\x04N.")
    with pytest.raises(DataError, match="got neither"):
        cifar10(tmp_path)
    return True


def _untested_python(version: str) -> bool:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    workflow = (REPOSITORY / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    return f'"{version}"' not in workflow and not any(name.endswith(version) for name in project["classifiers"])


def _one_precision() -> bool:
    precision = (Input(4) >> Linear(4, 2)).init(np.random.default_rng(0)).precision
    return precision.parameters == precision.compute == precision.accumulate


def _in_no_name(*parts: str) -> bool:
    return not any(part in name.lower() for name in PUBLIC for part in parts)


# (page, a part of the sentence, whether it still holds)
CHECKED: list[tuple[str, str, Callable[[], bool]]] = [
    ("README.md", "**No pretrained weights** come with it", _no_weights),
    (
        "README.md",
        "There is no `loss.backward()`",
        lambda: not hasattr(MSE, "backward") and not hasattr(Tensor, "backward"),
    ),
    ("checks.md", "there is no global hook", _no_hook),
    ("coming-from-keras-and-jax.md", "there is no global seed", _no_global_generator),
    ("config.md", "There is no interpolation, no include", _a_config_is_data),
    (
        "config.md",
        "A layer with several inputs, such as attention to another sequence, has no place",
        lambda: not any(isinstance(kind, type) and issubclass(kind, MultiInput) for kind in LAYERS.values()),
    ),
    ("design.md", "there is no global generator", _no_global_generator),
    (
        "exchange.md",
        "No control flow, no functions of the file's own, no quantised operators",
        lambda: not OPERATORS.keys() & {"If", "Loop", "Scan", "QuantizeLinear", "DequantizeLinear", "QLinearConv"},
    ),
    ("getting-started.md", "It is not tested on 3.14", lambda: _untested_python("3.14")),
    ("gpu.md", "It is not a feature yet", lambda: not any("begin_capture" in source for source in SOURCES)),
    ("graph.md", "There is no global generator in typednn", _no_global_generator),
    ("graph.md", "No tensor is marked as needing a gradient", lambda: not hasattr(Tensor, "requires_grad")),
    ("models.md", "It has no gradient", lambda: not hasattr(CompactGPT2, "backward") and hasattr(GPT2, "backward")),
    ("parallel.md", "Not there yet", lambda: _in_no_name("shard", "zero_redundancy", "pipeline", "overlap")),
]

# Sentences that name a limit which another test holds, or that speak of something else than a feature.
REASONS: list[tuple[str, str, str]] = [
    ("SECURITY.md", "There is no older version that gets corrections", "a promise"),
    ("checks.md", "No decorator is needed", "what needs not be written"),
    ("checks.md", "If no forward ran yet", "a case"),
    ("command-line.md", "Bytes of a token that are not yet a character", "a case"),
    ("data.md", "No reader executes the contents", "tests/torture holds it"),
    ("design.md", "No layer is written twice", "a decision"),
    ("exchange.md", "No reader imports or runs", "tests/torture holds it"),
    ("gpu.md", "Speed is not the reason to use it yet", "measured below it"),
    ("kernels.md", "There is no kernel of a formula that uses other functions", "tests/kernels holds it"),
    ("optimizers.md", "No factor can make such a gradient small", "mathematics"),
    ("peers.md", "nothing: the string is not read", "of another library"),
    ("peers.md", "There is no native two-dimensional convolution", "of another library"),
    ("reports.md", "so there is no confusion matrix", "of an example"),
    ("reports.md", "At the end there are no later steps", "a case"),
    ("reports.md", "Above 100 classes there are no numbers", "tests/reports holds it"),
    ("reports.md", "files above 64 MiB are not read", "tests/reports holds it"),
    ("runs.md", "because there is nothing to save yet", "a case"),
    ("scikit-learn.md", "Models that read integers, such as those of texts, are not supported", "X becomes float32"),
    ("reports.md", "each class against the rest, and there is no picture", "the page draws the curves of two classes"),
    ("static-checks-compared.md", "**No plugin.**", "of another library"),
    ("static-checks-compared.md", "No column finds wrong values", "of another library"),
    ("SECURITY.md", "There is no password", "a page for one's own machine"),
    ("serving.md", "There is no password and no encryption", "a page for one's own machine"),
    ("static-checks-compared.md", "There is no error in", "of another library"),
    ("static-sizes.md", "No layer is hard-coded", "tests/mypy_plugin holds it"),
]


def sentences(page: str) -> list[str]:
    """The sentences of a page's prose, its lists and tables among them, each in a line."""
    prose = re.sub(r"<!--.*?-->", "", _FENCE.sub("", page), flags=re.DOTALL)
    parts = re.split(r"\n\s*\n|\n(?=[-|#]|\d+\. )", prose)
    return [each for part in parts for each in re.split(r"(?<=[.!?:;])\s+(?=[A-Z*`\[])", " ".join(part.split()))]


@pytest.mark.parametrize(
    ("page", "part", "absent"), CHECKED, ids=lambda value: value[:40] if isinstance(value, str) else ""
)
def test_it_is_still_absent(page: str, part: str, absent: Callable[[], bool]) -> None:
    assert absent(), f"{page} says {part!r}, and it is there now: correct the sentence, and drop its row"


def test_the_pickled_cifar_is_not_read(tmp_path: Path) -> None:
    assert "the pickled version is not read" in (REPOSITORY / "docs" / "data.md").read_text(encoding="utf-8")
    assert _no_pickled_cifar(tmp_path)


def test_every_sentence_of_absence_has_a_row() -> None:
    rows = [(page, part) for page, part, _ in (*CHECKED, *REASONS)]
    rows.append(("data.md", "the pickled version is not read"))
    told = {
        (path.name, sentence): [part for page, part in rows if page == path.name and part in sentence]
        for path in PAGES
        if path.name not in LEFT_OUT
        for sentence in sentences(path.read_text(encoding="utf-8"))
    }
    open_ones = [
        f"{page}: {sentence}" for (page, sentence), found in told.items() if SAYS_SO.search(sentence) and not found
    ]
    assert open_ones == [], "add a row to CHECKED, with a check that fails once it is there"
    known = {(page, part) for (page, _), found in told.items() for part in found}
    assert [row for row in rows if row not in known] == [], "the sentence is gone: drop its row"


@pytest.mark.parametrize(
    ("sentence", "says"),
    [
        ("There is no support for sparse arrays.", True),
        ("Sound is not supported.", True),
        ("It is not a feature yet.", True),
        ("A model without a loss is an error.", False),
        ("The page says so if there is no picture.", False),
    ],
)
def test_what_counts_as_a_sentence_of_absence(sentence: str, says: bool) -> None:
    assert bool(SAYS_SO.search(sentence)) == says
