"""Which documents are open and what is in them, as the editor says it: `textDocument/didOpen`, `didChange`, `didSave`,
`didClose`."""

from __future__ import annotations

from lsprotocol import types

from lithify.lsp import document_wire as wire
from lithify.lsp.server import LithifyServer


def register(server: LithifyServer) -> None:
    """Registers the feature."""

    def did_open(params: wire.DidOpen) -> None:
        opened = params.text_document
        server.documents.open(opened.uri, opened.version, opened.text)

    def did_change(params: wire.DidChange) -> None:
        changed = params.text_document
        server.documents.change(changed.uri, changed.version, params.content_changes)

    def did_close(params: wire.DocumentParams) -> None:
        server.documents.close(params.text_document.uri)
        server.read_only.forget(params.text_document.uri)

    def did_save(_: wire.DocumentParams) -> None:
        """What is on the disk is now what is open; nothing of ours depends on it."""

    notification = server.protocol.on_notification
    notification(types.TEXT_DOCUMENT_DID_OPEN, wire.DidOpen, did_open)
    notification(types.TEXT_DOCUMENT_DID_CHANGE, wire.DidChange, did_change)
    notification(types.TEXT_DOCUMENT_DID_CLOSE, wire.DocumentParams, did_close)
    notification(types.TEXT_DOCUMENT_DID_SAVE, wire.DocumentParams, did_save)
