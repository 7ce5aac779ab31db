"""The shapes of LSP's messages about documents, as far as Lithify reads them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from lithify.lsp.wire_base import Json, Wire

Count = Annotated[int, Field(ge=0)]


class Position(Wire):
    line: Count
    character: Count


class Range(Wire):
    start: Position
    end: Position


class Identifier(Wire):
    uri: str


class VersionedIdentifier(Wire):
    uri: str
    version: int


class Item(Wire):
    uri: str
    language_id: str | None = None  # editors call transcripts whatever they like; the content tells
    version: int
    text: str


class ContentChange(Wire):
    range: Range | None = None
    range_length: Count | None = None  # of old editors; the range says it too
    text: str


class DidOpen(Wire):
    text_document: Item


class DidChange(Wire):
    text_document: VersionedIdentifier
    content_changes: list[ContentChange]


class DocumentParams(Wire):
    """`didClose`, `didSave`, and the requests about a whole document."""

    text_document: Identifier


class HoverParams(Wire):
    text_document: Identifier
    position: Position


class CodeActionContext(Wire):
    diagnostics: list[Json] | None = None
    only: list[str] | None = None


class CodeActionParams(Wire):
    text_document: Identifier
    range: Range
    context: CodeActionContext = CodeActionContext()
