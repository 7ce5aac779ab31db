"""Commands of the wire contract that this version does not have yet: each says so."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from lithify.core.outcomes import LithifyError
from lithify.lsp.server import LithifyServer
from lithify.lsp.wire_base import Wire

COMMANDS = ("lithify.compact_memory",)


class Anything(Wire):
    """Params that nobody reads."""

    model_config = ConfigDict(extra="allow")


def register(server: LithifyServer) -> None:
    """Registers the feature."""

    def refuse(name: str) -> Any:
        async def not_built(_: Anything) -> None:
            raise LithifyError("not_built", f"{name} is not supported by this version")

        return not_built

    for command in COMMANDS:
        server.protocol.on_command(command, Anything, refuse(command))
