"""What people read of a type: mypy's `reveal_type` with the plugin, pyright's hover, and both checkers' word for a
misfit.

The lines are recorded whole, to be read as a user would.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from checkers import ENVIRONMENT, ROOT, mypy, pyright

IMPORTS = """
from typing import reveal_type
from jaxtyping import Float
from typednn import Array2, Array4, Input
from typednn.layers import LSTM, Conv2d, Embedding, Flatten, LastStep, Linear, ReLU, Residual, Tanh
"""
MODELS = """
layer = Linear(784, 10)
model = Input(28, 28, 1) >> Conv2d(1, 6, 5) >> ReLU() >> Flatten() >> Linear(3456, 10)
words = Input(7, dtype=int) >> Embedding(9, 4) >> LSTM(4, 6) >> LastStep() >> Linear(6, 2)
wrapper = Residual(Linear(64, 64) >> ReLU())
"""
REVEALED = {
    "layer": ("Linear(784, 10): batch 784 -> batch 10", "Linear[Literal['batch 784 -> batch 10']]"),
    "model": (
        "Input(28, 28, 1) >> Conv2d(1, 6, 5) >> ReLU() >> Flatten() >> Linear(3456, 10): batch 28 28 1 -> batch 10",
        "Chain[Array4, Array2, Literal['batch 28 28 1 -> batch 10'], Conv2dGrad, ElementwiseGrad[Array4, None], "
        "FlattenGrad[Array4], "
        "LinearGrad]",
    ),
    "words": (
        "Input(7, dtype=int) >> Embedding(9, 4) >> LSTM(4, 6) >> LastStep() >> Linear(6, 2): batch 7 -> batch 2",
        "FirstChain[IntArray2, Array2, Literal['batch 7 -> batch 2'], EmbeddingGrad, LSTMGrad, LastStepGrad, "
        "LinearGrad]",
    ),
    "wrapper": (
        "Residual(Linear(64, 64) >> ReLU()): batch 64 -> batch 64",
        "Residual[Array2, ChainGrad[Array2, LinearGrad, ElementwiseGrad[Array2, None]], Array2, None, "
        "Literal['batch 64 -> batch 64']]",
    ),
}
HOVERS = {
    "layer": "Linear[Any]",
    "model": "Chain[Array4, Array2, Last[Linear[Any]], Conv2dGrad, ElementwiseGrad[Array4, None], FlattenGrad[Array4], "
    "LinearGrad]",
    "words": "FirstChain[IntArray2, Array2, Last[Linear[Any]], EmbeddingGrad, LSTMGrad, LastStepGrad, LinearGrad]",
    "wrapper": "Residual[Array2, ChainGrad[Array2, LinearGrad, ElementwiseGrad[Array2, None]], Array2, None, Any]",
}
MISFITS = {
    "Conv2d(1, 6, 5) >> Linear(3456, 10)": '"Conv2d[Any]" and "Linear[Any]"',
    "Input(28, 28, 1) >> Conv2d(1, 6, 5) >> Linear(3456, 10)": (
        '"Chain[Array4, Array4, Last[Conv2d[Any]], Conv2dGrad]" and "Linear[Any]"'
    ),
    "Input(28, 28, 1) >> Conv2d(1, 6, 5) >> ReLU() >> Linear(3456, 10)": (
        '"Chain[Array4, Array4, Last[ReLU], Conv2dGrad, ElementwiseGrad[Array4, None]]" and "Linear[Any]"'
    ),
    "Input(28) >> Tanh() >> Conv2d(1, 6, 5)": (
        '"Chain[Array2, Array2, Last[Tanh], ElementwiseGrad[Array2, None]]" and "Conv2d[Any]"'
    ),
    "Linear(6, 2) >> (Tanh() >> Tanh()) >> Conv2d(1, 6, 5)": (
        '"Chain[Array2, Array2, Last[ElementwiseChain[None, None]], LinearGrad, ElementwiseGrad[Array2, '
        'tuple[None, None]]]" '
        'and "Conv2d[Any]"'
    ),
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mypy")


def revealed(folder: Path, cache: Path, *files: str) -> dict[int, list[str]]:
    """What mypy with the plugin prints, for each line of the last file."""
    (folder / "mypy.ini").write_text(
        f"[mypy]\nplugins = typednn.mypy_plugin\nmypy_path = {ROOT / 'stubs'}\n[typednn-mypy]\ndebug = true\n"
    )
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--cache-dir", str(cache), *files]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    result = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": path}
    )
    assert result.returncode == 0, result.stdout + result.stderr
    lines: dict[int, list[str]] = {}
    for line in result.stdout.splitlines():
        if line.startswith(f"{files[-1]}:"):
            _, place, kind, text = line.split(":", 3)
            assert kind == " note"
            lines.setdefault(int(place), []).append(text.strip())
    return lines


def of(name: str) -> list[str]:
    """The lines about one of the models."""
    model, kind = REVEALED[name]
    return [f'Revealed model is "{model}"', f'Revealed type is "{kind}"']


def test_a_model_is_one_readable_line(tmp_path: Path, cache: Path) -> None:
    """Also where nothing else in the file follows, and in a function that does nothing else."""
    (tmp_path / "models.py").write_text(IMPORTS + MODELS)
    start = IMPORTS + MODELS + "def inside() -> None:\n    reveal_type(model)\n"
    (tmp_path / "program.py").write_text(start + "".join(f"reveal_type({name})\n" for name in REVEALED))
    lines = list(revealed(tmp_path, cache, "program.py").values())
    assert lines == [of("model"), *map(of, REVEALED)]
    (tmp_path / "other.py").write_text("from models import model\n\nreveal_type(model)\n")
    imported = 'Revealed model is "Chain (batch 28 28 1 -> batch 10)"'  # of another module, its type alone is known
    assert revealed(tmp_path, cache, "models.py", "other.py") == {3: [imported, of("model")[1]]}


def test_what_the_type_does_not_say(tmp_path: Path, cache: Path) -> None:
    """A list's element, a variable that is assigned twice, a parameter's size, a loop, arrays: the plugin knows more
    than types say.
    """
    body = """
def program(hidden: int, images: Float[Array4, "batch 28 28 1"]) -> None:
    layers = [Linear(3, 4), Linear(4, 5)]
    reveal_type(layers[1])
    twice = Linear(3, hidden) >> ReLU()
    twice = Linear(4, hidden) >> Tanh()
    reveal_type(twice)
    for width in (8, 9):
        reveal_type(Linear(width, 3))
    scores = model(images)
    reveal_type(scores)
    reveal_type(model.backward(scores).parts[0].weight)
    reveal_type(hidden)
"""
    (tmp_path / "program.py").write_text(IMPORTS + MODELS + body)
    lines = revealed(tmp_path, cache, "program.py")
    assert [each[0] for each in lines.values() if len(each) > 1] == [
        'Revealed model is "Linear(4, 5): batch 4 -> batch 5"',
        'Revealed model is "Linear(4, hidden) >> Tanh(): batch 4 -> batch hidden"',
        'Revealed model is "Linear(8, 3): batch 8 -> batch 3"',
        'Revealed sizes are "batch 10"',
        'Revealed sizes are "6 5 5 1"',
    ]
    assert len(lines) == 6
    assert lines[max(lines)] == ['Revealed type is "int"']


def test_types_that_are_no_models_stay_as_they_are(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import numpy as np\n\nclass typednn:\n    class Kind: ...\n\nreveal_type(typednn.Kind())\n"
    )
    assert revealed(tmp_path, cache, "program.py") == {6: ['Revealed type is "program.typednn.Kind"']}


def hovers(folder: Path, file: str) -> Iterator[str]:
    """What pyright's language server says where each name of `HOVERS` is assigned."""
    command = [sys.executable, "-m", "pyright.langserver", "--stdio"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT) as server:
        written, read = server.stdin, server.stdout
        assert written is not None
        assert read is not None

        def send(**message: Any) -> None:
            raw = json.dumps({"jsonrpc": "2.0", **message}).encode()
            written.write(b"Content-Length: %d\r\n\r\n%s" % (len(raw), raw))
            written.flush()

        def ask(method: str, params: dict[str, Any]) -> Any:
            send(id=1, method=method, params=params)
            while True:
                length = 0
                while header := read.readline().strip():
                    length = int(header.split(b":")[1]) if header.startswith(b"Content-Length") else length
                assert length, "the server ended"
                message = json.loads(read.read(length))
                if "method" not in message and message.get("id") == 1:
                    return message["result"]
                if "id" in message:
                    items = (
                        message["params"].get("items", []) if message["method"] == "workspace/configuration" else None
                    )
                    send(id=message["id"], result=None if items is None else [{} for _ in items])

        document = {"uri": (folder / file).as_uri()}
        text = (folder / file).read_text()
        hover = {"textDocument": {"hover": {"contentFormat": ["plaintext"]}}}
        folders = [{"uri": folder.as_uri(), "name": "program"}]
        ask(
            "initialize",
            {"processId": os.getpid(), "rootUri": folder.as_uri(), "capabilities": hover, "workspaceFolders": folders},
        )
        send(method="initialized", params={})
        send(
            method="textDocument/didOpen",
            params={"textDocument": document | {"languageId": "python", "version": 1, "text": text}},
        )
        for name in HOVERS:
            line = next(number for number, each in enumerate(text.splitlines()) if each.startswith(f"{name} = "))
            yield ask("textDocument/hover", {"textDocument": document, "position": {"line": line, "character": 0}})[
                "contents"
            ]["value"]
        server.kill()


@pytest.fixture
def project(tmp_path: Path, cache: Path) -> Path:
    """A folder with pyright's settings."""
    settings = {
        "typeCheckingMode": "basic",
        "pythonVersion": "3.11",
        "stubPath": str(ROOT / "stubs"),
        "extraPaths": [str(ROOT)],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    return tmp_path


def test_pyrights_hover(project: Path) -> None:
    (project / "program.py").write_text(IMPORTS + MODELS)
    assert list(hovers(project, "program.py")) == [f"(variable) {name}: {kind}" for name, kind in HOVERS.items()]


def test_a_misfit_names_both_layers(project: Path) -> None:
    """In pyright's first line, and in mypy's without the plugin, where the last layer stands among generics."""
    (project / "program.py").write_text(IMPORTS + "\n".join(MISFITS))
    found = [each for each in json.loads(pyright(project).stdout)["generalDiagnostics"] if each["severity"] == "error"]
    assert [each["message"] for each in found] == [
        f'Operator ">>" not supported for types {types}' for types in MISFITS.values()
    ]
    errors = [
        line
        for line in mypy(str(project / "program.py"), cache=project / "cache").stdout.splitlines()
        if ": error:" in line
    ]
    assert len(errors) == len(MISFITS)
    assert [
        part in line
        for line, part in zip(errors[1:4], ["LastLayer[Conv2d", "LastLayer[ReLU]", "LastLayer[Tanh]"], strict=True)
    ] == [True] * 3
