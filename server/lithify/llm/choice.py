"""Which model answers: the one the settings name, or the first there is."""

from __future__ import annotations

from typing import TypeAlias

from lithify.core.model_calls import ModelFailure
from lithify.core.settings import Model as ModelSettings
from lithify.llm.editor import EditorModel
from lithify.llm.offline import OfflineModel

AnyModel: TypeAlias = EditorModel | OfflineModel


def choose_model(settings: ModelSettings, editor: EditorModel | None, offline: OfflineModel) -> AnyModel | ModelFailure:
    """The model for the next call. `auto`: the editor's, else a configured agent or endpoint, else offline."""
    provider = settings.provider
    if provider == "offline":
        return offline
    if provider == "editor" and editor is None:
        return ModelFailure(
            "model_unavailable",
            "model.provider is 'editor', but this editor offers no model; set it to 'offline' to go on without one",
            retryable=False,
        )
    if provider in ("auto", "editor") and editor is not None:
        return editor
    if provider == "acp" or (provider == "auto" and settings.acp.command):
        return _not_built("agents over ACP", "model.acp.command")
    if provider == "http" or (provider == "auto" and settings.http.base_url):
        return _not_built("HTTP endpoints", "model.http.baseUrl")
    return offline


def _not_built(what: str, setting: str) -> ModelFailure:
    return ModelFailure(
        "not_built",
        f"{what} ({setting}) are not supported by this version; set model.provider to 'editor' or 'offline'",
        retryable=False,
    )
