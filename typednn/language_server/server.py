"""The answers to the editor. Checks run between its messages, a moment after the last change; questions
wait for them.
"""

import asyncio
import logging
import os
import sys
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, final

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.workspace import PositionCodec, TextDocument

from typednn.language_server.axes import axes, clash, same
from typednn.language_server.session import Session
from typednn.language_server.shown import Page, cures, diagnostics, hints, hover, lenses
from typednn.version import __version__

_MOMENT = 0.1  # seconds without a change before a check


@final
class Editor:
    """An editor's open documents, and the check that is due. mypy needs the main thread, whose stack is large; so does
    the server.
    """

    def __init__(self, server: LanguageServer) -> None:
        self.session: Session = Session()
        self._server = server
        self._due: asyncio.TimerHandle | None = None
        self._checked = asyncio.Event()
        self._told: set[str] = set()

    @property
    def _codec(self) -> PositionCodec:
        return self._server.workspace.position_codec

    def changed(self) -> None:
        """Check a moment from now, if nothing else changes."""
        if self._due is not None:
            self._due.cancel()
        self._checked.clear()
        self._due = asyncio.get_running_loop().call_later(_MOMENT, self._check)

    async def page(self, uri: str) -> tuple[TextDocument, Page]:
        """A document, after the check that is due."""
        if self._due is not None:
            await self._checked.wait()
        document = self._server.workspace.get_text_document(uri)
        return document, Page(document.source, self._codec)

    def axis(self, uri: str, at: types.Position) -> tuple[str, list[types.Range]]:
        """An axis name of a text as it is now, and all the places where it means the same; none where none is."""
        found = same(axes(Page(self._server.workspace.get_text_document(uri).source, self._codec)), at)
        return (found[0].name if found else ""), [axis.place for axis in found]

    def renamed(self, asked: types.RenameParams) -> types.WorkspaceEdit | None:
        """An axis by another name."""
        page = Page(self._server.workspace.get_text_document(asked.text_document.uri).source, self._codec)
        found = axes(page)
        places = same(found, asked.position)
        if (wrong := clash(found, places, asked.new_name)) is not None:
            raise JsonRpcInvalidParams(wrong)
        edits = [types.TextEdit(axis.place, asked.new_name) for axis in places]
        return types.WorkspaceEdit(changes={asked.text_document.uri: edits}) if edits else None

    def _check(self) -> None:
        documents = {
            os.path.abspath(one.path): one
            for one in self._server.workspace.text_documents.values()
            if one.uri.startswith("file:")
        }
        with self._guarded():
            self.session.check({path: document.source for path, document in documents.items()})
            # What was found, and no longer what was found before.
            told = {path for path, found in self.session.found.items() if found or path in documents}
            for path in sorted(told | self._told):
                with self._guarded():
                    self._tell(path, documents.get(path))
            self._told = told
            workspace = self._server.client_capabilities.workspace
            if workspace is not None and workspace.inlay_hint is not None and workspace.inlay_hint.refresh_support:
                self._server.workspace_inlay_hint_refresh(None, lambda _: None)
            if workspace is not None and workspace.code_lens is not None and workspace.code_lens.refresh_support:
                self._server.workspace_code_lens_refresh(None, lambda _: None)
        self._due = None
        self._checked.set()

    @contextmanager
    def _guarded(self) -> Generator[None]:
        """An exception, mypy's or ours, is logged in the editor, and ends neither."""
        try:
            yield
        except (Exception, SystemExit):
            self._server.window_log_message(
                types.LogMessageParams(types.MessageType.Error, f"typednn lsp: {traceback.format_exc()}")
            )

    def _tell(self, path: str, document: TextDocument | None) -> None:
        text = document.source if document is not None else _on_disk(path)
        page = Page(text, self._codec)
        shown = diagnostics(page, self.session.found.get(path, ()), self.session.facts(path, text))
        uri = document.uri if document is not None else uris.from_fs_path(path) or ""
        version = document.version if document is not None else None
        self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, shown, version))


def _on_disk(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def run(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Serve until the editor is gone. Where it ends the session, so does the process."""
    logging.getLogger("pygls").setLevel(logging.ERROR)
    server = LanguageServer("typednn", __version__)
    editors: list[Editor] = []
    code = 1  # of the process: the protocol has 0 only where the editor said before that it would end the session

    def editor() -> Editor:
        if not editors:
            editors.append(Editor(server))
        return editors[0]

    @server.feature(types.INITIALIZED)
    def initialized(params: types.InitializedParams) -> None:
        """mypy's settings, and relative paths in them, are those of the folder that is open."""
        root = server.workspace.root_path
        if root is not None and os.path.isdir(root):
            os.chdir(root)

    @server.feature(types.SHUTDOWN)
    def shutting_down(params: None) -> None:
        nonlocal code
        code = 0

    @server.feature(types.EXIT)
    def ended(params: None) -> None:
        """At once: taking apart what mypy keeps takes seconds, and a thread waits for another message."""
        for one in editors:
            one.session.close()
        sys.stderr.flush()
        os._exit(code)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        editor().changed()

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        editor().changed()

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        editor().changed()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        editor().changed()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def changed_on_disk(params: types.DidChangeWatchedFilesParams) -> None:
        editor().changed()

    _answer_questions(server, editor)
    try:
        server.start_io(incoming, outgoing)
    finally:
        for one in editors:
            one.session.close()


def _answer_questions(server: LanguageServer, editor: Callable[[], Editor]) -> None:
    """What the editor asks of a text: its sizes, its cures, and where an axis is named."""

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def sizes(params: types.InlayHintParams) -> list[types.InlayHint]:
        document, page = await editor().page(params.text_document.uri)
        facts = editor().session.facts(os.path.abspath(document.path), page.text)
        return [] if facts is None else list(hints(page, facts, params.range))

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def derivation(params: types.HoverParams) -> types.Hover | None:
        document, page = await editor().page(params.text_document.uri)
        facts = editor().session.facts(os.path.abspath(document.path), page.text)
        return None if facts is None else hover(page, facts, params.position)

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    )
    async def quick_fixes(params: types.CodeActionParams) -> list[types.CodeAction]:
        document, page = await editor().page(params.text_document.uri)
        facts = editor().session.facts(os.path.abspath(document.path), page.text)
        shown = params.context.diagnostics
        return [] if facts is None else list(cures(page, params.text_document.uri, facts, params.range, shown))

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def proofs(params: types.CodeLensParams) -> list[types.CodeLens]:
        document, page = await editor().page(params.text_document.uri)
        facts = editor().session.facts(os.path.abspath(document.path), page.text)
        return [] if facts is None else list(lenses(page, facts))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def where_an_axis_is_named_first(params: types.DefinitionParams) -> types.Location | None:
        _, places = editor().axis(params.text_document.uri, params.position)
        return types.Location(params.text_document.uri, places[0]) if places else None

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    def where_an_axis_is_named(params: types.ReferenceParams) -> list[types.Location]:
        _, places = editor().axis(params.text_document.uri, params.position)
        return [types.Location(params.text_document.uri, each) for each in places]

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def an_axis(params: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
        _, places = editor().axis(params.text_document.uri, params.position)
        return [types.DocumentHighlight(each) for each in places]

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    def what_is_renamed(params: types.PrepareRenameParams) -> types.PrepareRenamePlaceholder | None:
        name, places = editor().axis(params.text_document.uri, params.position)
        here = [each for each in places if each.start <= params.position <= each.end]
        return types.PrepareRenamePlaceholder(here[0], name) if here else None

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    def rename(params: types.RenameParams) -> types.WorkspaceEdit | None:
        return editor().renamed(params)
