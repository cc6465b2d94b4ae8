"""The language server, with a real client: it opens texts, changes them, asks, and applies what is offered."""

import asyncio
import os
import re
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

REPOSITORY = Path(__file__).resolve().parents[2]

HEAD = "from typednn import Input\nfrom typednn.layers import Flatten, Linear, MaxPool2d\n\n"
RIGHT = HEAD + "model = Input(10, 10, 16) >> MaxPool2d(2) >> Flatten() >> Linear(400, 120)\n"
WRONG = RIGHT.replace("Linear(400", "Linear(256")
SAID = "Linear(256, 120) cannot follow Flatten: expects 256 features, gets 400 (= 5*5*16, from MaxPool2d on 10x10x16)"
START = WRONG.splitlines()[3].index("Linear(256")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("root")


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(REPOSITORY), "OPENBLAS_NUM_THREADS": "1"}


COMMAND = [sys.executable, "-W", "error", str(Path(__file__).with_name("with_failure.py"))]


@pytest_lsp.fixture(scope="module", config=ClientServerConfig(server_command=COMMAND, server_env=_environment()))
async def client(lsp_client: LanguageClient, root: Path) -> AsyncGenerator[None]:
    parameters = types.InitializeParams(
        client_capabilities("visual-studio-code"), process_id=os.getpid(), root_uri=root.as_uri()
    )

    @lsp_client.feature(types.WORKSPACE_CODE_LENS_REFRESH)
    def refreshed(params: None) -> None:
        """VS Code asks for lenses again; pytest-lsp has no answer of its own."""

    await lsp_client.initialize_session(parameters)
    yield
    await lsp_client.shutdown_session()


@pytest.fixture(autouse=True)
def tidy(root: Path) -> Iterator[None]:
    yield
    for file in root.glob("*.toml"):
        file.unlink()


class Document:
    """A text that the client has open."""

    def __init__(self, client: LanguageClient, path: Path, text: str) -> None:
        self.client, self.path, self.uri, self.version, self.text = client, path, path.as_uri(), 0, text
        client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(self.uri, "python", 0, text))
        )

    def write(self, text: str) -> None:
        self.version, self.text = self.version + 1, text
        changes = [types.TextDocumentContentChangeWholeDocument(text)]
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version=self.version, uri=self.uri), changes
            )
        )

    async def told(self) -> list[types.Diagnostic]:
        """The diagnostics of the text as it is now; asking for hints waits for the check."""
        await self.hints()
        return list(self.client.diagnostics.get(self.uri, []))

    async def hints(self) -> list[types.InlayHint]:
        whole = types.Range(types.Position(0, 0), types.Position(10_000, 0))
        identifier = types.TextDocumentIdentifier(self.uri)
        return list(await self.client.text_document_inlay_hint_async(types.InlayHintParams(identifier, whole)) or [])

    def close(self) -> None:
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(self.uri)))


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_mistake_as_it_is_typed(client: LanguageClient, root: Path) -> None:
    """The file on the disk is empty: it is the text in the editor that counts."""
    (root / "lenet.py").touch()
    document = Document(client, root / "lenet.py", WRONG)
    (said,) = await document.told()
    assert (said.message, said.code, said.source) == (SAID, "shape", "typednn")
    assert (said.range.start, said.range.end) == (
        types.Position(3, START),
        types.Position(3, START + len("Linear(256, 120)")),
    )
    document.write(RIGHT)
    assert await document.told() == []
    document.write("\n" + WRONG)
    assert [one.range.start.line for one in await document.told()] == [4]
    document.close()
    await asyncio.sleep(0.5)
    await Document(client, root / "other.py", "").told()
    assert not client.diagnostics[document.uri], "what is closed is not shown"


async def test_columns_are_the_editors(client: LanguageClient, root: Path) -> None:
    """mypy counts bytes, the editor UTF-16: of 𝛿 these are four and two."""
    text = WRONG.replace("model = ", 'é = "𝛿"; model = ')
    document = Document(client, root / "letters.py", text)
    (said,) = await document.told()
    line = text.splitlines()[3]
    units = len(line[: line.index("Linear(256")].encode("utf-16-le")) // 2
    assert (said.range.start.character, said.range.end.character) == (units, units + len("Linear(256, 120)"))
    document.close()


async def test_a_cure_is_applied(client: LanguageClient, root: Path) -> None:
    document = Document(client, root / "cured.py", WRONG)
    (said,) = await document.told()
    parameters = types.CodeActionParams(
        types.TextDocumentIdentifier(document.uri), said.range, types.CodeActionContext([said])
    )
    (action,) = await client.text_document_code_action_async(parameters) or []
    assert isinstance(action, types.CodeAction)
    assert action.kind == types.CodeActionKind.QuickFix
    assert list(action.diagnostics or []) == [said]
    assert action.edit is not None
    assert action.edit.changes is not None
    (edit,) = action.edit.changes[document.uri]
    lines = document.text.splitlines(keepends=True)
    line = lines[edit.range.start.line]
    lines[edit.range.start.line] = line[: edit.range.start.character] + edit.new_text + line[edit.range.end.character :]
    document.write("".join(lines))
    assert document.text == RIGHT
    assert await document.told() == []
    elsewhere = types.Range(types.Position(0, 0), types.Position(0, 1))
    document.write(WRONG)
    parameters = types.CodeActionParams(
        types.TextDocumentIdentifier(document.uri), elsewhere, types.CodeActionContext([])
    )
    assert not await client.text_document_code_action_async(parameters)
    document.close()


FLAT = """from jaxtyping import Float
from typednn import Array2, Array4
from typednn.layers import Flatten, MaxPool2d


def flat(x: Float[Array4, "batch 10 10 16"]) -> Array2:
    y = Flatten().forward(MaxPool2d(2).forward(x))
    return y
"""


async def test_hints_and_hover(client: LanguageClient, root: Path) -> None:
    """What the plugin itself knows."""
    document = Document(client, root / "hints.py", FLAT)
    hints = [hint for hint in await document.hints() if hint.position.line == 6]
    assert (hints[0].position, hints[0].label, hints[0].padding_left) == (types.Position(6, 5), "batch 400", True)
    identifier = types.TextDocumentIdentifier(document.uri)
    hovered = await client.text_document_hover_async(types.HoverParams(identifier, types.Position(6, 4)))
    assert hovered is not None
    assert isinstance(hovered.contents, types.MarkupContent)
    assert hovered.contents.value == "y: batch 400\n\n400 = 5*5*16, from MaxPool2d on 10x10x16"
    assert await client.text_document_hover_async(types.HoverParams(identifier, types.Position(0, 0))) is None
    first = types.Range(types.Position(0, 0), types.Position(0, 5))
    assert not await client.text_document_inlay_hint_async(types.InlayHintParams(identifier, first))
    document.close()


AXES = """from jaxtyping import Float, Int
from typednn import Array1, Array2, IntArray1


def loss(logits: Float[Array2, "batch classes"], y: Int[IntArray1, " batch"]) -> Float[Array1, " batch"]:
    é, rest = "𝛿", logits[1:]; later: Float[Array2, "batch-1 classes"] = rest
    return (later.sum(axis=1) * 0).repeat(2)[: len(y)]


def other(x: Float[Array2, "batch _rest #classes {n}"]) -> Float[Array2, 'batch min(batch,classes)']:
    return x


class Scaled:
    scale: Float[Array1, " features"]

    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
        return x * self.scale

    def backward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
        return x * self.scale
"""


def _marked(text: str, name: str, first: int, last: int) -> list[types.Range]:
    """Each place of a word in these lines, in UTF-16 units."""
    lines = text.splitlines()
    return [
        types.Range(*(types.Position(line, _units(lines[line][:place])) for place in found.span()))
        for line in range(first, last + 1)
        for found in re.finditer(rf"\b{name}\b", lines[line])
    ]


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


async def test_an_axis_name_is_found_and_renamed(client: LanguageClient, root: Path) -> None:
    """In one function; a name in a class's fields, in all of its methods."""
    document = Document(client, root / "axes.py", AXES)
    identifier = types.TextDocumentIdentifier(document.uri)
    for name, first, last in (
        ("batch", 4, 6),
        ("classes", 4, 6),
        ("batch", 9, 9),
        ("classes", 9, 9),
        ("features", 14, 20),
    ):
        expected = _marked(AXES, name, first, last)
        for place in expected:
            at = types.Position(place.start.line, place.start.character + 1)
            defined = await client.text_document_definition_async(types.DefinitionParams(identifier, at))
            assert defined == types.Location(document.uri, expected[0])
            context = types.ReferenceContext(include_declaration=True)
            used = await client.text_document_references_async(types.ReferenceParams(context, identifier, at))
            assert [one.range for one in used or []] == expected
            lit = await client.text_document_document_highlight_async(types.DocumentHighlightParams(identifier, at))
            assert [one.range for one in lit or []] == expected
    expected = _marked(AXES, "features", 14, 20)
    at = expected[0].start
    prepared = await client.text_document_prepare_rename_async(types.PrepareRenameParams(identifier, at))
    assert prepared == types.PrepareRenamePlaceholder(expected[0], "features")
    edit = await client.text_document_rename_async(types.RenameParams(identifier, at, "width"))
    assert edit is not None
    assert edit.changes is not None
    assert list(edit.changes[document.uri]) == [types.TextEdit(place, "width") for place in expected]
    forward = _marked(AXES, "batch", 16, 16)
    edit = await client.text_document_rename_async(types.RenameParams(identifier, forward[0].start, "rows"))
    assert edit is not None, "of one method, as no field has it"
    assert edit.changes is not None
    assert list(edit.changes[document.uri]) == [types.TextEdit(place, "rows") for place in forward]
    document.close()


async def test_what_is_no_axis_name_is_not_renamed(client: LanguageClient, root: Path) -> None:
    document = Document(client, root / "no_axes.py", AXES)
    identifier = types.TextDocumentIdentifier(document.uri)
    nowhere = [(0, 6), (1, 0), *((9, AXES.splitlines()[9].index(word) + 1) for word in ("rest", "{n}", "min", "other"))]
    for line, column in nowhere:
        at = types.Position(line, column)
        assert await client.text_document_definition_async(types.DefinitionParams(identifier, at)) is None
        assert await client.text_document_prepare_rename_async(types.PrepareRenameParams(identifier, at)) is None
        assert await client.text_document_rename_async(types.RenameParams(identifier, at, "rows")) is None
    here = _marked(AXES, "batch", 4, 4)[0].start
    for new, said in (
        ("classes", "classes is another axis here, in line 5: the two would become one; choose another name"),
        ("a b", "'a b' cannot name an axis"),
        ("_rows", "'_rows' cannot name an axis"),
        ("lambda", "'lambda' cannot name an axis"),
    ):
        with pytest.raises(Exception, match=said):
            await client.text_document_rename_async(types.RenameParams(identifier, here, new))
    document.write(AXES + "def f(:\n")
    assert not await client.text_document_references_async(
        types.ReferenceParams(types.ReferenceContext(include_declaration=True), identifier, here)
    )
    document.close()


async def test_a_lens_tells_what_a_function_gives(client: LanguageClient, root: Path) -> None:
    """Also where its annotation has no sizes."""
    unknown = '\n\ndef cut(x: Float[Array4, "batch 10 10 16"], n: int) -> Array4:\n    return x[:, :n]\n'
    wrong = '\n\ndef sums(x: Float[Array4, "batch 10 10 16"]) -> Float[Array4, "batch 10 10 15"]:\n    return x\n'
    document = Document(client, root / "lens.py", FLAT + unknown + wrong)
    await document.told()
    identifier = types.TextDocumentIdentifier(document.uri)
    lenses = await client.text_document_code_lens_async(types.CodeLensParams(identifier)) or []
    assert [(one.range.start.line, one.command and one.command.title) for one in lenses] == [
        (5, "gives batch 400, proven"),
        (10, "gives batch _ 10 16, 1 place is not proven"),
        (14, "gives batch 10 10 16, does not fit"),
    ]
    document.close()


async def test_a_text_that_cannot_be_parsed(client: LanguageClient, root: Path) -> None:
    """Only this is said of it; what imports it is checked as before."""
    body = HEAD + "body = Input(10, 10, 16) >> MaxPool2d(2) >> Flatten()\n"
    user = HEAD + "from parsed import body\n\nmodel = body >> Linear(256, 120)\n"
    imported, document = Document(client, root / "parsed.py", body), Document(client, root / "user.py", user)
    (said,) = await document.told()
    assert said.message.endswith("expects 256 features, gets 400")
    imported.write(body + "def f(:\n")
    (broken,) = await imported.told()
    assert (broken.code, broken.message, broken.range.start) == ("syntax", "invalid syntax", types.Position(4, 6))
    assert await imported.hints() == []
    assert await document.told() == [said]
    imported.write(body.replace("16)", "9)"))
    assert await imported.told() == []
    (now,) = await document.told()
    assert now.message.endswith("expects 256 features, gets 225")
    imported.close()
    document.close()


async def test_two_files_that_import_each_other(client: LanguageClient, root: Path) -> None:
    first = Document(
        client,
        root / "first.py",
        HEAD + "from typing import Final\n\nimport second\n\nWIDTH: Final = 8\n\ndef f() -> None:\n    "
        "print(second.model)\n",
    )
    second = Document(
        client,
        root / "second.py",
        HEAD + "import first\n\nmodel = Input(4) >> Linear(4, 8) >> Linear(first.WIDTH, 2)\n",
    )
    assert await second.told() == []
    first.write(first.text.replace("= 8", "= 9"))
    assert await first.told() == []
    (said,) = await second.told()
    assert "gets 8" in said.message
    first.close()
    second.close()


async def test_files_of_one_name(client: LanguageClient, root: Path) -> None:
    documents = [
        Document(client, root / folder / "train.py", text) for folder, text in (("one", WRONG), ("two", RIGHT))
    ]
    assert [len(await document.told()) for document in documents] == [1, 0]
    for document in documents:
        document.close()


async def test_an_empty_file_and_one_elsewhere(client: LanguageClient, root: Path, tmp_path: Path) -> None:
    empty, outside = Document(client, root / "empty.py", ""), Document(client, tmp_path / "outside.py", WRONG)
    assert await empty.told() == []
    assert [one.message for one in await outside.told()] == [SAID]
    outside.close()
    empty.close()


async def test_what_is_not_ones_own_python_is_left_alone(client: LanguageClient, root: Path) -> None:
    for name in ("notes.txt", "site-packages/installed.py"):
        document = Document(client, root / name, WRONG)
        assert await document.told() == [], name
        document.close()


async def test_settings_of_mypy_that_cannot_be_read(client: LanguageClient, root: Path) -> None:
    (root / "pyproject.toml").write_text("[tool.mypy\n", encoding="utf-8")
    document = Document(client, root / "settings.py", WRONG)
    (said,) = await document.told()
    assert said.code == "config"
    assert said.message.startswith("pyproject.toml: cannot be read for mypy's settings: ")
    (root / "pyproject.toml").unlink()
    document.write(WRONG + "\n")
    assert [one.message for one in await document.told()] == [SAID]
    document.close()


async def test_an_exception_does_not_end_it(client: LanguageClient, root: Path) -> None:
    before = len(client.log_messages)
    document, other = (
        Document(client, root / "fails.py", WRONG + "# boom\n"),
        Document(client, root / "works.py", WRONG),
    )
    with pytest.raises(Exception, match="on purpose"):
        await document.hints()
    assert any("on purpose" in message.message for message in client.log_messages[before:])
    assert [one.message for one in await other.told()] == [SAID], "the others are checked all the same"
    document.write(WRONG)
    assert [one.message for one in await document.told()] == [SAID]
    document.close()
    other.close()


async def test_odd_documents_keep_the_others_checked(client: LanguageClient, root: Path) -> None:
    """What mypy cannot read to its end, and what would hide a package if it were on the disk."""
    odd = {
        "a\0b.py": ("x = 1\n", "config", "cannot be checked: ValueError: embedded null byte"),
        "deep.py": (f"x = {'(' * 5000}{')' * 5000}\n", "syntax", "too many nested parentheses"),
        "numpy.py": ("x = 1\n", "hidden", "hides the package numpy: nothing here is checked; rename it"),
    }
    good = Document(client, root / "good.py", WRONG)
    documents = {name: Document(client, root / name, text) for name, (text, _, _) in odd.items()}
    assert [one.message for one in await good.told()] == [SAID]
    for name, document in documents.items():
        assert [(one.code, one.message) for one in client.diagnostics[document.uri]] == [odd[name][1:]]
        document.close()
    good.close()


async def test_time_of_an_edit(client: LanguageClient, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a file of 500 lines; printed, as it says more about the machine."""
    block = RIGHT.removeprefix(HEAD) + "\ndef f(n: int) -> int:\n    return n + model.forward\n".replace(
        "model.forward", "1"
    )
    text = "import numpy as np\n" + HEAD
    number = 0
    while text.count("\n") < 500:
        number += 1
        text += block.replace("model", f"model{number}").replace("def f", f"\ndef f{number}") + "\n\n"
    document = Document(client, root / "long.py", text)
    assert await document.told() == []
    times = []
    for _ in range(5):
        began = time.perf_counter()
        document.write(document.text.replace("Linear(400", "Linear(256", 1))
        assert len(await document.told()) == 1
        times.append(time.perf_counter() - began)
        document.write(text)
        assert await document.told() == []
    with capsys.disabled():
        print(
            f"\n{text.count(chr(10))} lines: {', '.join(f'{seconds:.2f} s' for seconds in times)} from an edit "
            "to its diagnostics"
        )
    document.close()
