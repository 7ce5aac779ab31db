"""What the answer of `initialize` says the server can do; `work` registers who does it."""

from __future__ import annotations

from lsprotocol import types

COMPACT_KIND = "refactor.rewrite.compact"
"""The kind of the code actions that compact."""

COMMANDS = (
    "lithify.set_recording",
    "lithify.compact_conversation",
    "lithify.compact_up_to_here",
    "lithify.apply_compaction",
    "lithify.discard_draft",
    "lithify.undo_compaction",
    "lithify.preview_compaction",
    "lithify.compact_with_instructions",
    "lithify.extract_now",
    "lithify.compact_buffer",
    "lithify.search_memory",
    "lithify.list_memory",
    "lithify.show_memory",
    "lithify.forget_memory",
    "lithify.compact_memory",
)


def announce(capabilities: types.ServerCapabilities) -> None:
    """Adds them to what pygls announces by itself."""
    capabilities.experimental = {"lithify": {"protocolVersion": 1}}
    capabilities.execute_command_provider = types.ExecuteCommandOptions(commands=list(COMMANDS))
    capabilities.text_document_sync = types.TextDocumentSyncOptions(
        open_close=True,
        change=types.TextDocumentSyncKind.Incremental,
        save=types.SaveOptions(include_text=False),
    )
    capabilities.document_symbol_provider = True
    capabilities.folding_range_provider = True
    capabilities.hover_provider = True
    capabilities.code_lens_provider = types.CodeLensOptions()
    capabilities.code_action_provider = types.CodeActionOptions(code_action_kinds=[COMPACT_KIND])
