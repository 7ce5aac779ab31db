"""Live sessions as documents of the editor: `lithify-session:<percent-encoded id>`.

The text is written anew from the session and held against the text that the editor has. Where the session begins with
it, all that is still certain is shown; what a command names carries the digest of its messages, so that it is `stale`
once the session holds others there. Else nothing is shown until the editor asks for the text again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from lithify.core.agents import CompactionCommand, resolved_options
from lithify.core.outcomes import LithifyError
from lithify.core.sessions import SessionInfo
from lithify.core.settings import Conversation
from lithify.lsp.documents import Documents, DocumentText
from lithify.lsp.session_compactions import SessionCompactions
from lithify.lsp.session_uris import session_of
from lithify.lsp.shown_document import Compactions, Nothing, ShownDocument
from lithify.transcripts.model import Transcript
from lithify.transcripts.outline import Outline
from lithify.workers.ports import Store
from lithify.workers.written_session import FORMAT, WrittenSession, written

RunOnStorage = Callable[[Callable[[Store], Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class _Placed:
    """A text of the editor in which the first messages of a session were found again."""

    document: DocumentText
    session: WrittenSession
    outline: Outline


class SessionDocuments:
    """The sessions that the editor has open as documents. `run` and `settings` are read anew for every call."""

    def __init__(
        self, documents: Documents, run: Callable[[], RunOnStorage], settings: Callable[[], Conversation]
    ) -> None:
        self._documents = documents
        self._run = run
        self._settings = settings
        self._told: dict[str, WrittenSession] = {}
        """By URI, the sessions as they were when something was last shown of them."""
        self._placed: dict[str, _Placed] = {}
        self._writing = asyncio.Lock()

    async def shown(self, uri: str) -> ShownDocument | None:
        """What is certain of a session that is open under that URI; None where nothing is."""
        document = self._documents.find(uri)
        session = await self._session(uri) if document is not None else None
        if document is None or session is None:
            return None
        outline = self._outline(uri, document, session)
        if outline is None:
            return None
        compactions = self._compactions(session, len(outline.conversation))
        return ShownDocument(uri, document.lines, outline, self._documents.encoding, compactions)

    @property
    def are_shown(self) -> bool:
        """Whether something was shown of a session that the editor may still have open."""
        return bool(self._told)

    async def changed(self) -> bool:
        """Whether a session is no longer what was last shown of it, by whomever it was changed. Tells each change
        once."""
        for uri in [uri for uri in self._told if self._documents.find(uri) is None]:
            del self._told[uri]
            self._placed.pop(uri, None)
        before = dict(self._told)
        if not before:
            return False
        now = await self._run()(
            lambda store: {uri: store.sessions.find(session.info.session_id) for uri, session in before.items()}
        )
        changed = [uri for uri, one in before.items() if now[uri] != one.info and self._told.get(uri) is one]
        for uri in changed:
            del self._told[uri]
        return bool(changed)

    async def _session(self, uri: str) -> WrittenSession | None:
        """The session as it is now, written once however many ask."""
        session_id = session_of(uri) or ""
        async with self._writing:
            told = self._told.get(uri)

            def read(store: Store) -> tuple[SessionInfo | None, list[str]]:
                info = store.sessions.find(session_id)
                same = info is None or (told is not None and told.info == info)
                return info, [] if same else store.sessions.message_texts(session_id)

            info, texts = await self._run()(read)
            if info is None:
                return None
            if told is None or told.info != info:
                told = await asyncio.to_thread(written, info, texts)
            self._told[uri] = told
            return told

    def _outline(self, uri: str, document: DocumentText, session: WrittenSession) -> Outline | None:
        known = self._placed.get(uri)
        if known is not None and known.document is document and known.session is session:
            return known.outline
        placed = session.placed(document.lines)
        if placed is None:
            return None
        same = placed is session.outline.transcript.messages
        outline = session.outline if same else Outline(Transcript(FORMAT, tuple(placed), ()))
        self._placed[uri] = _Placed(document, session, outline)
        return outline

    def _compactions(self, session: WrittenSession, count: int) -> Compactions:
        try:
            options = resolved_options(CompactionCommand(), session.info, self._settings(), None)
        except LithifyError:  # compaction is off for the agent
            return Nothing()
        return SessionCompactions(session, options, count)
