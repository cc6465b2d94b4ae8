"""``typednn lsp`` as an editor starts it: the installed script, in a folder of the user's, by the protocol's own
messages.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import environment

SCRIPT = Path(sys.executable).with_name("typednn")
RIGHT = (
    "from typednn import Input\nfrom typednn.layers import Linear\n\nmodel = Input(4) >> Linear(4, 8) >> Linear(8, 2)\n"
)
WRONG = RIGHT.replace("Linear(8, 2)", "Linear(7, 2)")
SAID = ["Linear(7, 2) cannot follow Linear(4, 8): expects 7 features, gets 8"]


class Editor:
    """Sends messages, and keeps what the server says of each file."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.said: dict[str, list[str]] = {}
        self._numbers = count(1)

    def tell(self, method: str, params: Any = None, **more: Any) -> None:
        text = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
        self.process.stdin.flush()

    def ask(self, method: str, params: Any = None) -> Any:
        number = next(self._numbers)
        self.tell(method, params, id=number)
        while (message := self._message()).get("id") != number:
            if message.get("method") == "textDocument/publishDiagnostics":
                self.said[message["params"]["uri"]] = [one["message"] for one in message["params"]["diagnostics"]]
        return message["result"]

    def _message(self) -> Any:
        assert self.process.stdout is not None
        length = 0
        while (line := self.process.stdout.readline()) != b"\r\n":
            assert line, "the server has ended"
            name, _, value = line.partition(b":")
            length = int(value) if name == b"Content-Length" else length
        return json.loads(self.process.stdout.read(length))

    def told(self, path: Path) -> list[str]:
        """The mistakes in a file as it is now: hints wait for the check."""
        everything = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
        self.ask("textDocument/inlayHint", {"textDocument": {"uri": path.as_uri()}, "range": everything})
        return self.said.get(path.as_uri(), [])


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    """It has a project open whose code lies in ``src``, as a package that is installed to be edited does: on Python's
    path.
    """
    (tmp_path / "src").mkdir()
    path = os.pathsep.join([environment()["PYTHONPATH"], str(tmp_path / "src")])
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([SCRIPT, "lsp"], cwd=tmp_path, env=environment(PYTHONPATH=path), **pipes) as process:
        made = Editor(process)
        made.ask("initialize", {"processId": os.getpid(), "rootUri": tmp_path.as_uri(), "capabilities": {}})
        made.tell("initialized", {})
        yield made
        process.kill()


def test_each_edit_is_checked_and_the_end_is_clean(editor: Editor, tmp_path: Path) -> None:
    """Of a file in the folder that is open, and of one in a folder on Python's path."""
    paths = [tmp_path / "lenet.py", tmp_path / "src" / "lenet5.py"]
    for path in paths:
        path.write_text(RIGHT, encoding="utf-8")
        editor.tell(
            "textDocument/didOpen",
            {"textDocument": {"uri": path.as_uri(), "languageId": "python", "version": 0, "text": RIGHT}},
        )
    assert [editor.told(path) for path in paths] == [[], []]
    for version, (text, said) in enumerate([(WRONG, SAID), (RIGHT, []), ("\n" + WRONG, SAID), (RIGHT, [])], 1):
        for path in paths:
            changes = [{"text": text}]
            editor.tell(
                "textDocument/didChange",
                {"textDocument": {"uri": path.as_uri(), "version": version}, "contentChanges": changes},
            )
        assert [editor.told(path) for path in paths] == [said, said], text
    assert editor.ask("shutdown") is None
    editor.tell("exit")
    assert editor.process.wait(10) == 0  # its standard input is open still
    assert editor.process.stderr is not None
    assert editor.process.stderr.read() == b""


def test_an_end_that_was_not_announced(editor: Editor) -> None:
    editor.tell("exit")
    assert editor.process.wait(30) == 1
