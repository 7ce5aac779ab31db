"""Which models answer, for every provider, with and without an editor."""

from __future__ import annotations

from typing import Any

import pytest

from lithify.core.model_calls import ModelFailure
from lithify.core.settings import Model as ModelSettings
from lithify.llm.choice import Models
from lithify.llm.editor import EditorModel
from tests.support.clock import Ids


class Editor:
    async def complete(self, params: dict[str, Any]) -> Any:
        raise AssertionError("nobody asks a model while it is chosen")

    def cancel_complete(self, request_id: str) -> None:
        raise AssertionError


ACP: dict[str, Any] = {"acp": {"command": ["agent", "acp"]}}
HTTP: dict[str, Any] = {"http": {"baseUrl": "http://localhost:1"}}


def chosen(settings: dict[str, Any], *, editor: bool) -> list[str] | ModelFailure:
    """The names of the models that are tried, in order."""
    models = Models(EditorModel(Editor(), Ids()) if editor else None, {})
    found = models.choose(ModelSettings.model_validate(settings))
    return found if isinstance(found, ModelFailure) else [one.name for one in found]


@pytest.mark.parametrize(
    ("settings", "editor", "expected"),
    [
        ({}, True, ["editor"]),
        ({}, False, ["offline"]),
        ({"provider": "auto"}, True, ["editor"]),
        ({"provider": "auto"}, False, ["offline"]),
        (ACP, True, ["editor", "acp"]),
        (HTTP, True, ["editor", "http"]),
        ({**ACP, **HTTP}, True, ["editor", "acp", "http"]),
        (ACP, False, ["acp"]),
        (HTTP, False, ["http"]),
        ({**ACP, **HTTP}, False, ["acp", "http"]),
        ({"acp": {"profile": "claude-code"}}, False, ["acp"]),
        ({"provider": "editor"}, True, ["editor"]),
        ({"provider": "editor", **ACP, **HTTP}, True, ["editor"]),
        ({"provider": "acp", **ACP, **HTTP}, True, ["acp"]),
        ({"provider": "http", **ACP, **HTTP}, True, ["http"]),
        ({"provider": "offline"}, True, ["offline"]),
        ({"provider": "offline", **ACP, **HTTP}, True, ["offline"]),
    ],
)
def test_the_models_that_the_settings_name_answer_in_order(
    settings: dict[str, Any], editor: bool, expected: list[str]
) -> None:
    assert chosen(settings, editor=editor) == expected


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"provider": "editor"}, "set it to 'offline'"),
        ({"provider": "acp"}, "model.acp.command"),
        ({"provider": "http"}, "model.http.baseUrl"),
        ({"acp": {"command": ["agent"], "profile": "unheard-of"}}, "the profiles are"),
        ({"acp": {"profile": "generic"}}, "model.acp.command"),
        ({"provider": "acp", "acp": {"profile": "unheard-of"}, **HTTP}, "model.acp.profile is 'unheard-of'"),
    ],
)
def test_what_the_settings_lack_is_a_failure_that_names_the_setting(settings: dict[str, Any], named: str) -> None:
    found = chosen(settings, editor=False)
    assert isinstance(found, ModelFailure)
    assert (found.type, found.retryable, named in found.message) == ("model_unavailable", False, True)


def test_nothing_falls_back_to_the_offline_model_where_something_is_configured_wrongly() -> None:
    assert isinstance(chosen({"acp": {"profile": "unheard-of"}}, editor=False), ModelFailure)


def test_one_agent_and_one_endpoint_are_made_for_the_same_settings() -> None:
    models = Models(None, {})
    settings = {**ACP, **HTTP}
    first, second = (models.choose(ModelSettings.model_validate(settings)) for _ in range(2))
    assert not isinstance(first, ModelFailure)
    assert not isinstance(second, ModelFailure)
    assert [id(one) for one in first] == [id(one) for one in second]


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"http": {"model": "gpt"}}, "model.http.baseUrl"), ({"acp": {"env": ["A_KEY"]}}, "model.acp.command")],
)
def test_settings_of_a_model_that_is_not_named_do_not_end_with_the_offline_one(
    settings: dict[str, Any], named: str
) -> None:
    found = chosen(settings, editor=False)
    assert isinstance(found, ModelFailure)
    assert named in found.message
