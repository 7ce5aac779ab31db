"""Which models may answer: the one the settings name, or with `auto` those that are there, in order."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from lithify.core.model_calls import ModelFailure
from lithify.core.settings import AcpModel as AcpSettings
from lithify.core.settings import HttpModel as HttpSettings
from lithify.core.settings import Model as ModelSettings
from lithify.llm.editor import EditorModel
from lithify.llm.offline import OfflineModel

if TYPE_CHECKING:
    from lithify.llm.acp.model import AcpModel
    from lithify.llm.http.model import HttpModel

    AnyModel: TypeAlias = EditorModel | AcpModel | HttpModel | OfflineModel


class Models:
    """The models of one process: the editor's where the editor offers to be asked, and all that settings can name.

    `environment` is where agents and keys are looked for.
    """

    def __init__(self, editor: EditorModel | None, environment: Mapping[str, str]) -> None:
        self._editor = editor
        self._environment = environment
        self._offline = OfflineModel()
        self._agent = lru_cache(maxsize=4)(self._new_agent)
        self._endpoint = lru_cache(maxsize=4)(self._new_endpoint)

    def choose(self, settings: ModelSettings) -> tuple[AnyModel, ...] | ModelFailure:
        """The models for the next call, in the order in which they are tried; never empty.

        `auto` is the editor's, a configured agent, a configured endpoint; the offline one only where there is none of
        these, so that no failure ever falls back to it by itself. Settings of one that cannot be are a failure, and not
        passed over: text would go where nobody expects it.
        """
        match settings.provider:
            case "editor":
                found: AnyModel | ModelFailure = self._editor or _failure(
                    "model.provider is 'editor', but no editor offers one here; set it to 'offline' to go on "
                    "without one"
                )
            case "acp":
                found = self._agent(settings.acp)
            case "http":
                found = self._endpoint(settings.http)
            case "offline":
                found = self._offline
            case "auto":
                return self._all_there(settings)
        return found if isinstance(found, ModelFailure) else (found,)

    def _all_there(self, settings: ModelSettings) -> tuple[AnyModel, ...] | ModelFailure:
        found: list[AnyModel | ModelFailure] = []
        if self._editor is not None:
            found.append(self._editor)
        if settings.acp.command or settings.acp.profile:
            found.append(self._agent(settings.acp))
        if settings.http.base_url:
            found.append(self._endpoint(settings.http))
        found.extend(_half_set(settings))
        models = tuple(one for one in found if not isinstance(one, ModelFailure))
        failures = [one for one in found if isinstance(one, ModelFailure)]
        if failures:
            return failures[0]
        return models or (self._offline,)

    def _new_agent(self, settings: AcpSettings) -> AcpModel | ModelFailure:
        from lithify.llm.acp.model import AcpModel
        from lithify.llm.acp.profiles import PROFILES, find_profile

        profile = find_profile(settings.profile, settings.command)
        if profile is None:
            known = ", ".join(one.name for one in PROFILES)
            return _failure(f"model.acp.profile is {settings.profile!r}; the profiles are {known}")
        command = settings.command or profile.command
        if not command:
            return _failure("model.acp.command is empty; set it to the command of an agent that speaks ACP")
        return AcpModel(profile, command, settings.env, self._environment)

    def _new_endpoint(self, settings: HttpSettings) -> HttpModel | ModelFailure:
        from lithify.llm.http.model import HttpModel

        if settings.base_url is None:
            return _failure("model.http.baseUrl is not set; set it to the address of an endpoint")
        return HttpModel(settings, self._environment)


def _half_set(settings: ModelSettings) -> list[ModelFailure]:
    """Settings of an agent or an endpoint that name none: surely not meant to end with the offline model."""
    found = []
    if settings.http != HttpSettings() and not settings.http.base_url:
        found.append(_failure("model.http has settings, but model.http.baseUrl is not set; name the endpoint there"))
    if settings.acp != AcpSettings() and not (settings.acp.command or settings.acp.profile):
        found.append(_failure("model.acp has settings, but model.acp.command is not set; name the agent there"))
    return found


def _failure(message: str) -> ModelFailure:
    return ModelFailure("model_unavailable", message, retryable=False, sent=False)
