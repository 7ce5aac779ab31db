"""What works in the server: imported and made once `initialize` is answered."""

from __future__ import annotations

import os

from lsprotocol import types

from lithify.assembly import Hooks, Lithify, project_finder
from lithify.core.forced_formats import forced_format
from lithify.lsp.desk import EditorDesk
from lithify.lsp.documents import Documents
from lithify.lsp.editor_client import EditorClient
from lithify.lsp.features import (
    agent_sessions,
    code_actions,
    code_lenses,
    compaction,
    configuration,
    document_symbols,
    document_sync,
    events,
    folding_ranges,
    hover,
    instructions,
    memory,
    previews,
    reserved,
    session_documents,
    sessions,
    status,
)
from lithify.lsp.instructions import Instructions
from lithify.lsp.read_only import ReadOnlyReasons
from lithify.lsp.server import LithifyServer
from lithify.lsp.session_documents import SessionDocuments
from lithify.transcripts.registry import formats

DOCUMENT_FEATURES = (document_sync, document_symbols, folding_ranges, hover, code_lenses, code_actions)
FEATURES = (
    events,
    sessions,
    agent_sessions,
    session_documents,
    status,
    compaction,
    previews,
    instructions,
    memory,
    configuration,
    *DOCUMENT_FEATURES,
    reserved,
)


def begin(server: LithifyServer) -> Lithify:
    """Gives the server its documents, and registers the features; the assembled parts, which these ask for later."""
    server.documents = Documents(lambda uri: forced_format(server.settings.documents.formats, uri))
    server.documents.agree_on(server.workspace.position_encoding or types.PositionEncodingKind.Utf16)
    server.session_documents = SessionDocuments(
        server.documents, lambda: server.parts.storage.run, lambda: server.settings.conversation
    )
    server.read_only = ReadOnlyReasons(
        server.protocol.tell,
        lambda: server.capability("textDocument", "publishDiagnostics") is not None,
        lambda found: server.parts.document_compactor.read_only_reason(found),  # noqa: PLW0108 - there are no parts yet
    )
    server.instructions = Instructions(server.protocol.asking, lambda: server.client)

    def folders_changed() -> None:
        server.find_project = project_finder(server.folders)

    server.on_folders_changed = folders_changed
    folders_changed()
    for feature in FEATURES:
        feature.register(server)
    formats()  # a first long chat should not wait for them
    hooks = Hooks(
        settings=lambda: server.settings,
        find_project=lambda named: server.find_project(named),  # noqa: PLW0108 - another one once the folders change
        on_change=server.project_changed,
        on_trouble=server.all_changed,
        on_look=server.looked,
        client=EditorClient(server.protocol) if server.client.complete else None,
        desk=EditorDesk(server.documents, server.protocol.asking, server.capability, server.client_name),
    )
    return Lithify(hooks, dict(os.environ))
