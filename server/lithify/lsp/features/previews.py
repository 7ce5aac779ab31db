"""`lithify.preview_compaction`: shows what a compaction would send, as a read-only document."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

from lithify.core.outcomes import LithifyError
from lithify.lsp import wire
from lithify.lsp.asking import ClientError
from lithify.lsp.preview_text import destination, preview_text
from lithify.lsp.server import LithifyServer

logger = logging.getLogger(__name__)

SHOW_SECONDS = 30.0
LANGUAGE = "markdown"

TITLES = {"lithify.compact_up_to_here": "compact up to here", "lithify.compact_conversation": "compact conversation"}


def register(server: LithifyServer) -> None:
    """Registers the feature."""

    async def preview_compaction(params: wire.PreviewCompaction) -> dict[str, Any]:
        argument = params.model_dump(by_alias=True, exclude_none=True)
        preview: dict[str, Any] = await server.protocol.run_command(params.command, {**argument, "dryRun": True})
        if preview["type"] != "preview":
            return preview
        to = destination(server.parts.choose_models(), preview["request"].get("model"))
        text = preview_text(TITLES[params.command], preview, to)
        path = await _written(server, text)
        uri = path.as_uri()
        if server.capable("window", "showDocument", "support"):
            server.keep(asyncio.ensure_future(_show(server, uri)))
        else:
            server.show_note(f"The preview of the compaction is in {path}")
        return {"type": "preview_document", "uri": uri, "languageId": LANGUAGE, "text": text}

    server.protocol.on_command("lithify.preview_compaction", wire.PreviewCompaction, preview_compaction)


async def _written(server: LithifyServer, text: str) -> Path:
    try:
        return await asyncio.to_thread(server.parts.previews.write, text)
    except OSError as error:
        folder = server.parts.data_dir / "previews"
        raise LithifyError("storage_failed", f"the preview could not be written in {folder} ({error})") from None


async def _show(server: LithifyServer, uri: str) -> None:
    """Not waited for: an editor may show it only when its command has been answered."""
    try:
        async with asyncio.timeout(SHOW_SECONDS):
            answer = await server.protocol.asking.ask("window/showDocument", {"uri": uri, "takeFocus": True})
    except (ClientError, TimeoutError) as error:
        logger.warning("The editor did not show a preview: %s", type(error).__name__)
        answer = None
    if not (isinstance(answer, dict) and answer.get("success") is True):
        server.show_error(f"The preview of the compaction could not be shown; open it yourself: {uri}")
