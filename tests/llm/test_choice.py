"""Which model answers, for every provider, with and without an editor."""

from __future__ import annotations

from typing import Any

import pytest

from lithify.core.model_calls import ModelFailure
from lithify.core.settings import Model as ModelSettings
from lithify.llm.choice import AnyModel, choose_model
from lithify.llm.editor import EditorModel
from lithify.llm.offline import OfflineModel
from tests.support.clock import Ids


class Editor:
    async def complete(self, params: dict[str, Any]) -> Any:
        raise AssertionError("nobody asks a model while it is chosen")

    def cancel_complete(self, request_id: str) -> None:
        raise AssertionError


EDITOR = EditorModel(Editor(), Ids())
OFFLINE = OfflineModel()

ACP: dict[str, Any] = {"acp": {"command": ["agent", "acp"]}}
HTTP: dict[str, Any] = {"http": {"baseUrl": "http://localhost:1"}}


def chosen(settings: dict[str, Any], editor: EditorModel | None) -> AnyModel | ModelFailure:
    return choose_model(ModelSettings.model_validate(settings), editor, OFFLINE)


@pytest.mark.parametrize(
    ("settings", "editor", "expected"),
    [
        ({}, EDITOR, EDITOR),
        ({}, None, OFFLINE),
        ({"provider": "auto"}, EDITOR, EDITOR),
        ({"provider": "auto"}, None, OFFLINE),
        ({"provider": "auto", **ACP}, EDITOR, EDITOR),
        ({"provider": "auto", **HTTP}, EDITOR, EDITOR),
        ({"provider": "editor"}, EDITOR, EDITOR),
        ({"provider": "editor", **ACP, **HTTP}, EDITOR, EDITOR),
        ({"provider": "offline"}, EDITOR, OFFLINE),
        ({"provider": "offline"}, None, OFFLINE),
        ({"provider": "offline", **ACP, **HTTP}, EDITOR, OFFLINE),
    ],
)
def test_the_model_that_the_settings_name_answers(
    settings: dict[str, Any], editor: EditorModel | None, expected: AnyModel
) -> None:
    assert chosen(settings, editor) is expected


def failure(settings: dict[str, Any], editor: EditorModel | None) -> ModelFailure:
    found = chosen(settings, editor)
    assert isinstance(found, ModelFailure)
    return found


def test_an_editor_without_a_model_is_a_failure_that_says_what_to_do() -> None:
    found = failure({"provider": "editor"}, None)
    assert (found.type, found.retryable) == ("model_unavailable", False)
    assert "set it to 'offline'" in found.message


@pytest.mark.parametrize("editor", [EDITOR, None])
@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"provider": "acp"}, "model.acp.command"),
        ({"provider": "acp", **ACP}, "model.acp.command"),
        ({"provider": "http"}, "model.http.baseUrl"),
        ({"provider": "http", **HTTP}, "model.http.baseUrl"),
    ],
)
def test_a_provider_that_is_not_built_yet_is_named(
    settings: dict[str, Any], named: str, editor: EditorModel | None
) -> None:
    found = failure(settings, editor)
    assert (found.type, found.retryable, named in found.message) == ("not_built", False, True)


@pytest.mark.parametrize(("settings", "named"), [(ACP, "model.acp.command"), (HTTP, "model.http.baseUrl")])
def test_without_an_editor_a_configured_model_comes_before_the_offline_one(
    settings: dict[str, Any], named: str
) -> None:
    assert named in failure({"provider": "auto", **settings}, None).message


def test_an_agent_comes_before_an_endpoint() -> None:
    assert "model.acp.command" in failure({"provider": "auto", **ACP, **HTTP}, None).message
