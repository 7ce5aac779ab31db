"""`lithify.compact_with_instructions`: a compaction whose instructions the user is asked for first."""

from __future__ import annotations

from typing import Any

from lithify.core.outcomes import LithifyError
from lithify.lsp import wire
from lithify.lsp.server import LithifyServer
from lithify.workers.model_use import required
from lithify.workers.ports import Models

UNHEEDED = "Only the offline model is there, which does not heed instructions (another one: settings lithify.model.*)."

TITLES = {"lithify.compact_up_to_here": "Compact up to here", "lithify.compact_conversation": "Compact conversation"}


def register(server: LithifyServer) -> None:
    """Registers the feature."""

    async def compact(params: wire.CompactWithInstructions) -> dict[str, Any]:
        """The user is asked only for what can be done, and what is done then is what could be done before."""
        run, argument = server.protocol.run_command, params.arguments[0]
        preview: dict[str, Any] = await run(params.command, {**argument, "dryRun": True})
        if preview["type"] != "preview":
            return preview
        models = required(server.parts.choose_models())
        instructions = await _asked(server, TITLES[params.command], _note(models))
        asked = {**argument, "instructions": instructions, "digest": preview["digest"]}
        result: dict[str, Any] = await run(params.command, asked)
        return result

    name = "lithify.compact_with_instructions"
    server.protocol.on_command(name, wire.CompactWithInstructions, compact, cancellable=True)


async def _asked(server: LithifyServer, title: str, note: str) -> str:
    """What the user wants. An editor that knows no questions tells of no failed command either, so its user is told."""
    try:
        return await server.instructions.ask(title, note)
    except LithifyError:
        if not server.instructions.can_be_asked:
            server.show_warning(f"This editor cannot ask for instructions, so nothing was changed; take {title!r}.")
        raise


def _note(models: Models) -> str:
    """What the user should know before the question, if anything."""
    return UNHEEDED if all(model.name == "offline" for model in models) else ""
