"""`lithify.compact_with_instructions`: a compaction whose instructions the user is asked for first."""

from __future__ import annotations

from typing import Any

from lithify.lsp import wire
from lithify.lsp.server import LithifyServer

TITLES = {"lithify.compact_up_to_here": "Compact up to here", "lithify.compact_conversation": "Compact conversation"}


def register(server: LithifyServer) -> None:
    """Registers the feature."""

    async def compact(params: wire.CompactWithInstructions) -> dict[str, Any]:
        """The user is asked only for what can be done, and what is done then is what could be done before."""
        run, argument = server.protocol.run_command, params.arguments[0]
        preview: dict[str, Any] = await run(params.command, {**argument, "dryRun": True})
        if preview["type"] != "preview":
            return preview
        instructions = await server.instructions.ask(TITLES[params.command])
        asked = {**argument, "instructions": instructions, "digest": preview["digest"]}
        result: dict[str, Any] = await run(params.command, asked)
        return result

    name = "lithify.compact_with_instructions"
    server.protocol.on_command(name, wire.CompactWithInstructions, compact, cancellable=True)
