"""The warnings of a compaction, told to the user where nothing else in the editor does."""

from __future__ import annotations

from typing import Any

from lithify.lsp.server import LithifyServer

_ONCE_AND_FOR_ALL = frozenset({"prompt_fallback"})
"""What holds for every compaction until somebody changes the installation: `lithify doctor` says it, and no pop-up."""


def tell_warnings(server: LithifyServer, result: dict[str, Any]) -> dict[str, Any]:
    """The result of a command; where it changed something, its warnings are shown in an editor without code of ours."""
    if result["type"] == "compacted" and not server.client.has_own_code:
        warnings = [one["message"] for one in result["warnings"] if one["code"] not in _ONCE_AND_FOR_ALL]
        if warnings:
            server.show_warning(f"The compaction is made, but: {' '.join(warnings)}")
    return result
