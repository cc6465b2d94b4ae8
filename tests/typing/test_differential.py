"""The plugin is sound: random models, judged by mypy, when they are built, when they run, by NumPy alone, and as a
config.

Each model is one program (tests/support/random_models.py). The very lines that mypy reads are run. The verdicts:

static       mypy with the plugin reports an error on the model's lines
definition   building it raises
run          built without definition's checks, forward raises: each layer's run-time checks are left, and Residual's
             law
numpy        the same with the run-time checks off too: NumPy itself fails
forward      as it is, if building it did not raise: forward raises
declared     ``Input(...) >> a >> b``, the same layers built one after another with every size given, raises
config       the same layers in TOML are refused
arithmetic   integer arithmetic that knows nothing of typednn says that it cannot work

What must hold is in `disagreements`. A disagreement is shrunk and shown with its verdicts.
"""

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import LONG

from tests.support.random_models import (
    BATCH,
    FORMS,
    KINDS,
    Misfit,
    Model,
    Part,
    Shape,
    built_layer,
    configurable,
    draw,
    faulty,
    function,
    literal,
    outcome,
    program,
    smaller,
    through,
    toml,
)
from typednn import Input, checking, config
from typednn.engines import using
from typednn.errors import ShapeError, TypednnError
from typednn.layer import Chain, ElementwiseChain, Sequential
from typednn.layers import PerPosition, Residual
from typednn.shapes import Flow

MODELS = 10_000 if LONG else 500
AT_ONCE = 500  # models in one module
SIZES, RANKS = "shape", ("operator", "arg-type", "misc", "return-value", "assignment", "call-overload")

modules = count()


Judge = Callable[[Sequence[Model]], "list[Verdicts]"]


@dataclass(frozen=True)
class Verdicts:
    """Each judge's complaint; empty: accepted. None: not asked."""

    static: str
    definition: str
    run: str
    numpy: str
    forward: str | None
    declared: str | None
    config: str | None
    arithmetic: str

    def __str__(self) -> str:
        told = {field.name: getattr(self, field.name) for field in fields(self)}
        return "\n".join(
            f"  {name:<12} {'not asked' if complaint is None else complaint.strip() or 'accepts'}"
            for name, complaint in told.items()
        )


# ---------------------------------------------------------------------------------------------------- the rules


def undecided(model: Model, verdicts: Verdicts) -> bool:
    """Whether the program leaves something open that decides: a size, or the input's shape."""
    return not model.known or bool(not model.declared and not verdicts.definition and verdicts.run)


def by_luck(model: Model, static: str) -> bool:
    """Whether all that is refused is a promise of numbers for what has names: it holds for the sizes that were drawn,
    and not for any.
    """
    told = [line for line in static.splitlines() if line.endswith("[shape]")]
    named = r" must return \"[^\"]*\": expects .* to be \d+, gets [^ ]*[a-z][^ ]*( \(= .*\))?  \[shape\]$"
    return (
        model.form == "class" and not model.declared and model.promised and all(re.search(named, line) for line in told)
    )


def disagreements(model: Model, verdicts: Verdicts) -> list[str]:
    """The rules that these verdicts break."""
    v, found = verdicts, list[str]()
    if v.static and not v.run and not by_luck(model, v.static):
        codes = sorted(set(re.findall(r"\[([a-z-]+)\]$", v.static, re.MULTILINE)))
        found.append(f"false alarm: static refuses what runs [{', '.join(codes)}]")
    if v.definition and not v.run:
        found.append("false alarm: definition refuses what runs")
    if v.numpy and not v.run:
        found.append("NumPy fails where the checks saw nothing")
    if v.forward is not None and bool(v.forward) != bool(v.run):
        found.append("forward and run differ")
    if v.forward and CRASH in v.forward:
        found.append("forward fails without a word from typednn")
    if bool(v.run) != bool(v.arithmetic):
        found.append("run and arithmetic differ")
    if model.form != "class" and model.declared and bool(v.definition) != bool(v.run):
        found.append("definition and run differ")
    if bool(v.declared) != bool(v.config) and None not in (v.declared, v.config):
        found.append("definition and config differ")
    fits = v.run if model.form != "class" or not promise_broken(model) else None
    if v.config is not None and fits is not None and bool(v.config) != bool(fits):
        found.append("config and run differ")
    if model.known and model.form != "class" and bool(v.static) != bool(v.definition):
        found.append("static and definition differ")
    if model.known and model.form == "class" and bool(v.static) != bool(v.run):
        found.append("static and run differ")
    return found


def promise_broken(model: Model) -> bool:
    """Whether nothing but what the class promises is at fault: no stack and no config has that."""
    try:
        shape = through(model.parts, model.sample)
    except Misfit:
        return False
    return len(shape) != len(model.promise) or (model.promised and shape != model.promise)


# ---------------------------------------------------------------------------------------------------- the judges


class Static:
    """mypy over one module at a time, its cache kept."""

    def __init__(self, folder: Path, *, plugin: bool = True) -> None:
        self.folder = folder
        (folder / "mypy.ini").write_text("[mypy]\n" + "plugins = typednn.mypy_plugin\n" * plugin)

    def __call__(self, file: Path, places: Sequence[range]) -> list[str]:
        command = [
            sys.executable,
            "-m",
            "mypy",
            "--config-file",
            "mypy.ini",
            "--cache-dir",
            "cache",
            "--output",
            "json",
            file.name,
        ]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), f"mypy failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
        assert not done.stderr, done.stderr[-4000:]
        model_at = {line: place for place, lines in enumerate(places) for line in lines}
        complaints = [""] * len(places)
        for line in filter(lambda line: line.startswith("{"), done.stdout.splitlines()):
            found = json.loads(line)
            if found["severity"] == "error":
                assert found["file"] == file.name, line
                assert found["line"] in model_at, line
                assert found["code"] == SIZES or found["code"] in RANKS, line
                complaints[model_at[found["line"]]] += f"{found['message']}  [{found['code']}]\n"
        return complaints


CRASH = "!"


def complaint(what: Callable[[], object]) -> str:
    """What it raises; marked where that is no refusal of typednn's."""
    try:
        what()
    except (TypednnError, Misfit) as error:
        return f"{type(error).__name__}: {error}".partition("\n")[0]
    except Exception as error:  # NumPy's, or a fault of typednn's own
        return f"{CRASH} {type(error).__name__}: {error}".partition("\n")[0]
    return ""


class unchecked_definition:  # noqa: N801
    """For a while stacks and wrappers are built, and run, without a look at their sizes."""

    def __init__(self, law: bool) -> None:
        self.law = law  # Residual's own: it adds what has one shape, and does not broadcast

    def __enter__(self) -> None:
        self.patch = pytest.MonkeyPatch()
        for kind in (Chain, ElementwiseChain, Sequential, Residual, PerPosition):
            self.patch.setattr(kind, "trace", _untraced)
        self.patch.setattr("typednn.module.layer._grow", _grown)
        for kind in (Chain, ElementwiseChain, Sequential):
            self.patch.setattr(kind, "check_sizes", _unlooked)
        if self.law:
            self.patch.setattr(Residual, "forward", _added)

    def __exit__(self, *_: object) -> None:
        self.patch.undo()


def _untraced(_: object, flow: Flow) -> Flow:
    return flow


def _unlooked(_: object, inputs: Sequence[Any]) -> None:
    return


def _grown(kind: Any, chain: Any, layer: Any) -> Any:
    return kind((*chain.parts, layer), chain.sample)


def _added(residual: Any, x: Any) -> Any:
    y = residual.inner.forward(x)
    if x.shape != y.shape:
        raise ShapeError(f"Residual adds {y.shape} to {x.shape}")
    return x + y


def run(model: Model, built: Any) -> None:
    """Forward, on the reference: hundreds of shapes that are met once are not worth compiling for."""
    x = np.random.default_rng(0).standard_normal((BATCH, *model.sample), dtype=np.float32)
    with using("reference"):
        built.init(np.random.default_rng(0)).forward(x)


def judge(
    models: Sequence[Model], folder: Path, static: Callable[[Path, Sequence[range]], list[str]]
) -> list[Verdicts]:
    """Write one program of all models, and ask everyone."""
    file = folder / f"models_{next(modules)}.py"
    text, places = program(models)
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    complaints = static(file, places)
    return [verdicts(model, getattr(module, f"model_{place}"), complaints[place]) for place, model in enumerate(models)]


def verdicts(model: Model, build: Callable[..., Any], static: str) -> Verdicts:
    built: list[Any] = []  # by the program's own lines: without definition's checks, and as it is
    arguments = () if model.n is None else (model.n,)
    with unchecked_definition(law=True):
        built.append(build(*arguments))
        at_run = complaint(lambda: run(model, built[0]))
    with unchecked_definition(law=False), checking("off"):
        alone = complaint(lambda: run(model, built[0]))
    definition = complaint(lambda: built.append(build(*arguments)))
    if model.declared and model.form != "class":
        declared = definition
    else:
        declared = complaint(
            lambda: Sequential([built_layer(part) for part in model.parts], input=Input(*model.sample))
        )
    return Verdicts(
        static=static,
        definition=definition,
        run=at_run,
        numpy=alone,
        forward=None if definition else complaint(lambda: run(model, built[1])),
        declared=declared,
        config=complaint(lambda: config.loads(toml(model))) if configurable(model) else None,
        arithmetic=complaint(lambda: outcome(model)),
    )


# ---------------------------------------------------------------------------------------------------- shrinking


def shrunk(model: Model, judge: Judge) -> tuple[Model, Verdicts]:
    """The smallest model that breaks the same rule; every round judges all its candidates at once."""
    (found,) = judge([model])
    rule = next(iter(disagreements(model, found)), "")
    if not rule:  # it takes the other models of its module
        return model, found
    while candidates := smaller(model)[:400]:
        verdicts = judge(candidates)
        remaining = [(each, v) for each, v in zip(candidates, verdicts, strict=True) if rule in disagreements(each, v)]
        if not remaining:
            break
        model, found = remaining[0]
    return model, found


def shown(model: Model, verdicts: Verdicts, seed: int | None = None) -> str:
    head = ("; ".join(disagreements(model, verdicts)) or "alone in its module it agrees") + (
        "" if seed is None else f" (shrunk from draw({seed}))"
    )
    return "\n".join(
        [head, *(f"    {line}" for line in function(model, 0)), f"  on {(BATCH, *model.sample)}", str(verdicts)]
    )


def complaints(judged: Iterable[tuple[int, Model, Verdicts]], judge: Judge) -> list[str]:
    """One shrunk example, at most three, of every rule that is broken."""
    broken: dict[str, list[int]] = {}
    models: dict[int, Model] = {}
    for seed, model, verdicts in judged:
        for rule in disagreements(model, verdicts)[:1]:
            broken.setdefault(f"{rule} ({model.form})", []).append(seed)
            models[seed] = model
    told: list[str] = []
    for rule, seeds in broken.items():
        told.append(
            f"{len(seeds)} models: {rule}: {', '.join(map(str, seeds[:20]))}{', ...' if len(seeds) > 20 else ''}"
        )
        examples = {shown(*shrunk(models[seed], judge)): seed for seed in seeds[:3]}
        told += [text.replace("\n", f" (shrunk from draw({seed}))\n", 1) for text, seed in examples.items()]
    return told


# ---------------------------------------------------------------------------------------------------- the tests


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    folder = tmp_path_factory.mktemp("models")
    static = Static(folder)
    return lambda models: judge(models, folder, static)


def test_all_verdicts_agree(
    ask: Judge, capsys: pytest.CaptureFixture[str], record_property: Callable[[str, object], None]
) -> None:
    judged: list[tuple[int, Model, Verdicts]] = []
    for first in range(0, MODELS, AT_ONCE):
        models = [draw(seed) for seed in range(first, first + AT_ONCE)]
        judged += zip(range(first, first + AT_ONCE), models, ask(models), strict=True)
    told = summary(judged)
    for name, number in told.items():
        record_property(name, number)
    with capsys.disabled():
        print(f"\n{', '.join(f'{number:,} {name}' for name, number in told.items())}")
    broken = complaints(judged, ask)
    assert not broken, "\n\n".join(broken)
    assert told["refused by all that know the sizes"] > MODELS // 4, "faults are found"
    assert told["undecided"] < MODELS // 3, "most models are decided"


def summary(judged: Sequence[tuple[int, Model, Verdicts]]) -> dict[str, int]:
    open_ones = [(model, v) for _, model, v in judged if undecided(model, v)]
    decided = [(model, v) for _, model, v in judged if not undecided(model, v)]
    return {
        "models": len(judged),
        "accepted by all": sum(not v.run and not v.static for _, v in decided),
        "refused by all that know the sizes": sum(bool(v.static) and bool(v.run) for _, v in decided),
        "undecided": len(open_ones),
        "undecided and silent though it fails": sum(bool(v.run) and not v.static for _, v in open_ones),
        "undecided and refused, rightly": sum(bool(v.run) and bool(v.static) for _, v in open_ones),
        "refused though NumPy alone would go on": sum(bool(v.run) and not v.numpy for _, _, v in judged),
    }


def test_models_are_varied() -> None:
    models = [draw(seed) for seed in range(1_000)]
    assert {part.kind for model in models for top in model.parts for part in top.everywhere()} == set(KINDS)
    assert {(model.form, model.declared) for model in models} == {
        (form, declared) for form in FORMS for declared in (True, False)
    }
    assert 400 < sum(map(faulty, models)) < 600
    assert 50 < sum(not model.known for model in models) < 250
    assert {len(model.parts) for model in models} >= set(range(2, 9))


# --------------------------------------------------------------------------------------------- a wrong verdict is found


def fake(tmp_path: Path, lie: Callable[[Model, str], str]) -> Judge:
    """Every judge but mypy; the static verdict is right, but for the lie."""

    def ask(models: Sequence[Model]) -> list[Verdicts]:
        found = judge(models, tmp_path, lambda _, places: [""] * len(places))
        truths = [v.run if model.form == "class" else v.definition for model, v in zip(models, found, strict=True)]
        return [replace(v, static=lie(model, truth)) for model, v, truth in zip(models, found, truths, strict=True)]

    return ask


def has(model: Model, kind: str) -> bool:
    return any(part.kind == kind for top in model.parts for part in top.everywhere())


def test_a_right_static_verdict_agrees(tmp_path: Path) -> None:
    ask = fake(tmp_path, lambda _, truth: truth)
    models = [draw(seed) for seed in range(60)]
    assert complaints(zip(range(60), models, ask(models), strict=True), ask) == []


def test_a_false_alarm_is_found_and_shrunk(tmp_path: Path) -> None:
    ask = fake(tmp_path, lambda model, truth: truth or ("invented  [shape]" if has(model, "Tanh") else ""))
    seeds = [seed for seed in range(80) if has(draw(seed), "Tanh") and not faulty(draw(seed))][:2]
    models = [draw(seed) for seed in seeds]
    told = "\n".join(complaints(zip(seeds, models, ask(models), strict=True), ask))
    assert re.match(r"[12] models: false alarm: static refuses what runs \[shape\] \(", told)
    smallest = (
        r"        return Input\([1, ]+\) >> Tanh\(\)\n  on .*\n  static       invented  \[shape\]\n  definition   "
        r"accepts\n"
    )
    assert re.search(smallest, told), told


def test_a_miss_is_found_and_shrunk(tmp_path: Path) -> None:
    ask = fake(tmp_path, lambda model, truth: "" if has(model, "Linear") and " feature" in truth else truth)
    seeds = [seed for seed in range(200) if faulty(draw(seed)) and draw(seed).form == "expression"][:20]
    models = [draw(seed) for seed in seeds]
    told = "\n".join(complaints(zip(seeds, models, ask(models), strict=True), ask))
    assert "static and definition differ" in told
    # the smallest
    assert re.search(r"        return (Linear\(1, 2\) >> Linear\(1, 1\)|Linear\(1, 1\) >> Linear\(2, 1\))\n", told), (
        told
    )


def test_mypy_alone_misses_sizes_and_finds_ranks(tmp_path: Path) -> None:
    """Without the plugin the comparison fails: it is the plugin that is tested."""
    sizes = plain((1,), Part("Linear", linear(1, 2)), Part("Linear", linear(3, 2)))
    ranks = plain((4, 4, 1), Part("MaxPool2d", (("kernel_size", literal(2)),)), Part("Linear", linear(2, 2)))
    missed, refused = judge([sizes, ranks], tmp_path, Static(tmp_path, plugin=False))
    assert disagreements(sizes, missed) == ["static and definition differ"]
    assert refused.static.startswith("Unsupported operand types for >>")
    assert disagreements(ranks, refused) == []


def linear(reads: int, gives: int) -> Any:
    return ("in_features", literal(reads)), ("out_features", literal(gives))


def plain(sample: Shape, *parts: Part, form: Any = "expression") -> Model:
    return Model(sample, parts, form, True, (1,) * len(parts), (1,), False, "nested", False, None)


ALL_FINE = Verdicts(static="", definition="", run="", numpy="", forward="", declared="", config="", arithmetic="")
ALL_REFUSE = Verdicts(
    static="x", definition="x", run="x", numpy="x", forward=None, declared="x", config="x", arithmetic="x"
)


@pytest.mark.parametrize(
    ("form", "verdicts", "rule"),
    [
        ("expression", replace(ALL_FINE, static="x  [shape]\n"), "false alarm: static refuses what runs [shape]"),
        ("expression", replace(ALL_REFUSE, static=""), "static and definition differ"),
        ("class", replace(ALL_REFUSE, static="", definition="", forward="x"), "static and run differ"),
        (
            "expression",
            replace(ALL_FINE, definition="x", declared="x", config="x"),
            "false alarm: definition refuses what runs",
        ),
        ("expression", replace(ALL_REFUSE, definition="", static=""), "definition and run differ"),
        ("expression", replace(ALL_FINE, numpy="x"), "NumPy fails where the checks saw nothing"),
        ("expression", replace(ALL_FINE, forward="x"), "forward and run differ"),
        ("class", replace(ALL_REFUSE, forward=f"{CRASH} ValueError: x"), "forward fails without a word from typednn"),
        ("expression", replace(ALL_FINE, arithmetic="x"), "run and arithmetic differ"),
        ("expression", replace(ALL_REFUSE, config=""), "definition and config differ"),
        ("class", replace(ALL_REFUSE, declared=None, config=""), "config and run differ"),
    ],
)
def test_every_rule_can_be_broken(form: str, verdicts: Verdicts, rule: str) -> None:
    model = plain((1,), Part("Linear", linear(1, 1)), form=form)
    assert rule in disagreements(model, verdicts)
    for fine in (ALL_FINE, replace(ALL_REFUSE, forward=None)):
        assert disagreements(model, fine) == []
