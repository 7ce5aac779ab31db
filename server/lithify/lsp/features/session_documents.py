"""Live sessions as documents: `lithify/sessionDocument`, and code lenses that follow what changes."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from lithify.core.agents import compaction_enabled
from lithify.core.outcomes import LithifyError
from lithify.core.sessions import SessionInfo
from lithify.core.settings import Settings
from lithify.lsp import wire
from lithify.lsp.lens_refresh import LensRefresh
from lithify.lsp.server import LithifyServer
from lithify.lsp.session_uris import session_uri
from lithify.workers.ports import Store
from lithify.workers.written_session import written

logger = logging.getLogger(__name__)

LANGUAGE = "markdown"


def register(server: LithifyServer) -> None:
    """Registers the feature."""

    async def session_document(params: wire.SessionParams) -> dict[str, Any]:
        def read(store: Store) -> tuple[SessionInfo, list[str]]:
            info = server.parts.sessions.found(store, params.session_id)
            return info, store.sessions.message_texts(params.session_id)

        document = await asyncio.to_thread(written, *await server.parts.storage.run(read))
        return {"uri": session_uri(params.session_id), "languageId": LANGUAGE, "text": document.text}

    server.protocol.on_request("lithify/sessionDocument", wire.SessionParams, session_document)
    refresh = LensRefresh(server)
    watch = _Watch(server, refresh)

    def settings_changed(before: Settings, after: Settings) -> None:
        if _seen_in_lenses(before) != _seen_in_lenses(after):
            refresh.ask()

    server.on_sessions_changed = watch.look
    server.on_settings_changed = settings_changed


class _Watch:
    """Looks whether sessions that are open as documents were changed, one look at a time: what changes while it looks
    is seen by the next one."""

    def __init__(self, server: LithifyServer, refresh: LensRefresh) -> None:
        self._server = server
        self._refresh = refresh
        self._again = False
        self._looking: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Looks once all that the disk was told so far is done."""
        if not self._server.session_documents.are_shown:
            return
        self._again = True
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._look())
            self._server.keep(self._looking)

    async def _look(self) -> None:
        while self._again:
            self._again = False
            try:
                if await self._server.session_documents.changed():
                    self._refresh.ask()
            except LithifyError as error:
                logger.debug("The open session documents cannot be looked at: %s", error.message)


def _seen_in_lenses(settings: Settings) -> tuple[Any, ...]:
    """What of the settings decides which code lenses there are."""
    conversation = settings.conversation
    on = compaction_enabled(conversation.compaction.model_dump(by_alias=True))
    return on, conversation.exact_anchor, settings.documents.formats
