"""Sessions that are open as documents, with a real store: what is told of their changes when several things happen at
once, and how their URIs are read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lithify.core.settings import Conversation
from lithify.lsp.documents import Documents
from lithify.lsp.session_documents import SessionDocuments
from lithify.lsp.session_uris import session_of, session_uri
from lithify.workers.ports import Store
from lithify.workers.written_session import written
from tests.support.messages import assistant, user
from tests.support.stores import SESSION, Bench

URI = session_uri(SESSION)
CHAT = [user("a"), assistant("b"), user("c")]


class Opened:
    """A session that is open as a document. `before_answer` happens when the disk has read and nobody knows yet."""

    def __init__(self, folder: Path) -> None:
        self.bench = Bench(folder)
        self.bench.open(CHAT)
        self.documents = Documents()
        store = self.bench.store
        text = written(store.sessions.find(SESSION), store.sessions.message_texts(SESSION)).text  # type: ignore[arg-type]
        self.documents.open(URI, 1, text)
        self.sessions = SessionDocuments(self.documents, lambda: self._run, Conversation)
        self.before_answer: Callable[[], Any] | None = None

    async def _run(self, job: Callable[[Store], Any]) -> Any:
        result = job(self.bench.store)
        if self.before_answer is not None:
            happening, self.before_answer = self.before_answer, None
            await happening()
        return result

    async def messages(self) -> int:
        shown = await self.sessions.shown(URI)
        return 0 if shown is None else len(shown.messages)


def test_a_change_is_told_once(tmp_path: Path) -> None:
    async def look() -> list[bool]:
        opened = Opened(tmp_path)
        assert await opened.messages() == 3
        told = [await opened.sessions.changed()]
        opened.bench.append(user("d"))
        return [*told, await opened.sessions.changed(), await opened.sessions.changed()]

    assert asyncio.run(look()) == [False, True, False]


def test_what_was_shown_anew_while_somebody_looked_is_still_watched(tmp_path: Path) -> None:
    async def look() -> list[bool]:
        opened = Opened(tmp_path)
        await opened.messages()
        opened.bench.append(user("d"))
        opened.before_answer = opened.messages
        told = [await opened.sessions.changed()]
        opened.bench.append(user("e"))
        return [*told, await opened.sessions.changed()]

    assert asyncio.run(look()) == [False, True]


def test_a_document_that_was_closed_is_watched_no_longer(tmp_path: Path) -> None:
    async def look() -> tuple[bool, bool]:
        opened = Opened(tmp_path)
        await opened.messages()
        opened.documents.close(URI)
        opened.bench.append(user("d"))
        return await opened.sessions.changed(), opened.sessions.are_shown

    assert asyncio.run(look()) == (False, False)


def test_a_session_is_written_once_however_many_ask(tmp_path: Path) -> None:
    async def ask() -> int:
        opened = Opened(tmp_path)
        shown = await asyncio.gather(*(opened.sessions.shown(URI) for _ in range(4)))
        return len({id(one.outline) for one in shown if one is not None})

    assert asyncio.run(ask()) == 1


@pytest.mark.parametrize("session_id", ["plain", "a b/c", "ä\U0001f600", "%41", "#?&:@", "lithify-session:x"])
def test_a_uri_leads_back_to_its_session_also_where_an_editor_decodes_it(session_id: str) -> None:
    uri = session_uri(session_id)
    assert uri.isascii()
    assert session_of(uri) == session_id
    assert session_of(uri.replace("%2F", "/").replace("%3A", ":").replace("lithify", "Lithify", 1)) == session_id


@pytest.mark.parametrize("uri", ["", "file:///lithify-session:x", "lithify-sessions:x", "lithify-session"])
def test_any_other_uri_names_no_session(uri: str) -> None:
    assert session_of(uri) is None


def test_slashes_that_an_editor_needs_behind_the_scheme_are_no_part_of_the_id() -> None:
    assert session_of("lithify-session://a%20b") == "a b"
    assert session_of(session_uri("/a").replace(":", "://", 1)) == "/a"
