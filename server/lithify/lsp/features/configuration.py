"""Settings and folders that change while the server runs."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from lsprotocol import types

from lithify.core.settings import changed_settings, unknown_settings
from lithify.lsp.asking import ClientError
from lithify.lsp.server import LithifyServer, describe

logger = logging.getLogger(__name__)

ASK_SECONDS = 5.0


def register(server: LithifyServer) -> None:
    """Registers the feature."""

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def did_change_configuration(params: types.DidChangeConfigurationParams) -> None:
        given = params.settings
        section = given.get("lithify") if isinstance(given, dict) else None
        if section is not None:
            apply(server, section)
        elif server.can_be_asked_configuration:
            server.keep(asyncio.ensure_future(_ask(server)))

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def did_change_folders(_: types.DidChangeWorkspaceFoldersParams) -> None:
        server.set_folders(tuple(server.workspace.folders))


async def _ask(server: LithifyServer) -> None:
    """Editors that send no values in the notification are asked for them."""
    try:
        async with asyncio.timeout(ASK_SECONDS):
            answer = await server.protocol.asking.ask("workspace/configuration", {"items": [{"section": "lithify"}]})
    except (ClientError, TimeoutError) as error:
        logger.warning("The editor did not tell its settings (%s); those before stay in force", type(error).__name__)
        return
    if isinstance(answer, list) and answer and answer[0] is not None:
        apply(server, answer[0])


def apply(server: LithifyServer, section: Any) -> None:
    """Puts changed settings in force, or tells the user why not; then the last valid ones stay."""
    if not isinstance(section, dict):
        server.show_error("The settings of Lithify must be an object; the settings before stay in force.")
        return
    change = changed_settings(server.initial_settings, section)
    if isinstance(change, list):
        server.show_error(f"Invalid settings: {describe(change)}. The settings before stay in force.")
        return
    for name in change.ignored:
        logger.warning("lithify.%s can only be set when the editor starts the server; the change is ignored", name)
    for name in unknown_settings(section):
        logger.warning("There is no setting lithify.%s", name)
    server.set_settings(change.settings)
