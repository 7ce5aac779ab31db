"""Edits that the editor is asked for: only of the text that it has."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lithify.core.outcomes import LithifyError
from lithify.lsp.asking import ClientRequests
from lithify.lsp.desk import EditorDesk
from lithify.lsp.document_wire import ContentChange
from lithify.lsp.documents import Documents
from lithify.transcripts.text_edits import TextEdit

URI = "file:///chats/a.jsonl"


class Open:
    """A document that is open, and what was sent to its editor."""

    def __init__(self, client_name: str = "", **capabilities: Any) -> None:
        self.sent: list[Any] = []
        self.documents = Documents()
        self.documents.open(URI, 1, "text")
        asking = ClientRequests(self.sent.append)
        self.desk = EditorDesk(self.documents, asking, lambda *path: capabilities.get(path[-1]), client_name)


@pytest.mark.parametrize("change", ["typed", "closed"])
def test_an_edit_of_a_text_that_is_no_longer_the_newest_is_not_sent(change: str) -> None:
    opened = Open()
    document = opened.desk.find(URI)
    assert document is not None
    if change == "typed":
        opened.documents.change(URI, 2, [ContentChange(text="other")])
    else:
        opened.documents.close(URI)
    refused = asyncio.run(opened.desk.edit(document, TextEdit(0, 1, "x"), "Compact conversation"))
    assert refused == "the document was changed or closed meanwhile"
    assert opened.sent == []


def test_an_editor_that_says_it_takes_no_edits_is_told_before_a_model_is_asked() -> None:
    with pytest.raises(LithifyError) as raised:
        Open(applyEdit=False).desk.check_edits()
    assert raised.value.type == "unsupported_document"


@pytest.mark.parametrize("said", [{"applyEdit": True}, {}])
def test_an_editor_that_takes_edits_or_says_nothing_is_asked(said: dict[str, bool]) -> None:
    Open(**said).desk.check_edits()


@pytest.mark.parametrize("name", ["Emacs", "eglot"])
def test_an_editor_that_would_look_for_the_least_difference_gets_an_insertion_and_a_deletion(name: str) -> None:
    assert _edits_asked_of(name) == [(0, 0, "new "), (0, 4, "")]


def test_any_other_editor_gets_one_replacement() -> None:
    assert _edits_asked_of("Neovim") == [(0, 4, "new ")]


def _edits_asked_of(client_name: str) -> list[tuple[int, int, str]]:
    """The edits, each with its columns, that an editor is asked for where four characters are replaced."""
    opened = Open(client_name=client_name)

    async def asked() -> Any:
        document = opened.desk.find(URI)
        assert document is not None
        editing = asyncio.ensure_future(opened.desk.edit(document, TextEdit(0, 4, "new "), "Compact conversation"))
        while not opened.sent:
            await asyncio.sleep(0)
        editing.cancel()
        await asyncio.gather(editing, return_exceptions=True)
        return opened.sent[0]["params"]["edit"]["changes"][URI]

    return [
        (one["range"]["start"]["character"], one["range"]["end"]["character"], one["newText"])
        for one in asyncio.run(asked())
    ]
