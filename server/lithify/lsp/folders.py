"""The workspace's folders, as `initialize` names them."""

from __future__ import annotations

from typing import Any

from lithify.lsp.wire_base import is_place


def with_usable_folders(params: Any) -> Any:
    """The params of `initialize` without the folders that no system could look for: the library would fail on them."""
    if not isinstance(params, dict):
        return params
    usable = dict(params)
    if params.get("rootUri") is not None and not is_place(params["rootUri"]):
        usable["rootUri"] = None
    folders = params.get("workspaceFolders")
    if isinstance(folders, list):
        usable["workspaceFolders"] = [one for one in folders if not isinstance(one, dict) or is_place(one.get("uri"))]
    return usable


def folders_of(params: dict[str, Any]) -> tuple[str, ...]:
    """The workspace folders, else the root, as URIs or paths."""
    folders = params.get("workspaceFolders")
    uris = [one.get("uri") for one in folders if isinstance(one, dict)] if isinstance(folders, list) else []
    named = uris or [params.get("rootUri") or params.get("rootPath")]
    return tuple(one for one in named if is_place(one))
