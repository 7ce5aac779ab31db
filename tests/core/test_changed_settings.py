"""Settings changed while the server runs: laid over those of the start, and never less safe than they were."""

from __future__ import annotations

from typing import Any

import pytest

from lithify.core.settings import Change, changed_settings, read_settings


def nested(name: str, value: Any) -> dict[str, Any]:
    """A setting as an editor sends it: `{"buffer": {"idleMs": value}}`."""
    for part in reversed(name.split(".")):
        value = {part: value}
    assert isinstance(value, dict)
    return value


def changed(initial: dict[str, Any], change: dict[str, Any]) -> Change:
    found = changed_settings(initial, change)
    assert isinstance(found, Change), found
    return found


def after(initial: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    return changed(initial, change).settings.model_dump(mode="json", by_alias=True)


def test_a_change_is_laid_over_the_settings_at_the_start_name_by_name() -> None:
    initial = {"buffer": {"idleMs": 6000, "extractionBytes": 2048}, "log": {"level": "info"}}
    found = after(initial, {"buffer": {"idleMs": 7000}})
    assert (found["buffer"]["idleMs"], found["buffer"]["extractionBytes"], found["log"]["level"]) == (
        7000,
        2048,
        "info",
    )


def test_a_second_change_does_not_build_on_the_first() -> None:
    initial = {"buffer": {"idleMs": 6000}}
    assert after(initial, {"buffer": {"idleMs": 7000}})["buffer"]["idleMs"] == 7000
    assert after(initial, {})["buffer"]["idleMs"] == 6000


def test_a_change_does_not_touch_the_settings_at_the_start() -> None:
    initial = {"buffer": {"idleMs": 6000}}
    changed(initial, {"buffer": {"idleMs": 7000}})
    assert initial == {"buffer": {"idleMs": 6000}}


MACHINE_SCOPED = {
    "dataDir": "/elsewhere",
    "model.acp.command": ["evil"],
    "model.acp.env": ["SECRET"],
    "model.acp.profile": "other",
    "model.http.baseUrl": "https://evil.example",
    "model.http.wire": "openai",
    "model.http.model": "other",
    "model.http.apiKeyEnv": "SECRET",
}


@pytest.mark.parametrize("name", MACHINE_SCOPED)
def test_a_change_never_chooses_what_runs_or_where_text_goes(name: str) -> None:
    found = changed({}, nested(name, MACHINE_SCOPED[name]))
    assert found.settings == read_settings({})
    assert [ignored for ignored in found.ignored if name.startswith(ignored)]


@pytest.mark.parametrize("name", ["data_dir", "model.acp_", "Model", "model.HTTP"])
def test_no_other_spelling_of_a_name_gets_around_that(name: str) -> None:
    assert changed({}, nested(name, "/elsewhere")).settings == read_settings({})


def test_what_the_user_chose_at_the_start_stays_beside_a_change() -> None:
    initial = {"model": {"provider": "http", "http": {"baseUrl": "http://localhost", "wire": "openai"}}}
    found = after(initial, {"model": {"provider": "offline", "http": {"baseUrl": "https://evil.example"}}})
    assert found["model"]["provider"] == "offline"
    assert found["model"]["http"]["baseUrl"] == "http://localhost"


def test_a_machine_scoped_setting_that_is_told_again_unchanged_is_not_called_ignored() -> None:
    assert changed({"dataDir": "/x"}, {"dataDir": "/x"}).ignored == ()


@pytest.mark.parametrize(
    ("initial", "change", "enabled"),
    [(True, True, True), (True, False, False), (False, True, False), (False, False, False)],
)
def test_a_change_may_only_switch_recording_off(initial: bool, change: bool, enabled: bool) -> None:
    found = after({"recording": {"enabled": initial}}, {"recording": {"enabled": change}})
    assert found["recording"]["enabled"] is enabled


def test_a_change_may_only_exclude_more() -> None:
    initial = {"recording": {"exclude": ["a", "b"]}}
    assert after(initial, {"recording": {"exclude": ["b", "c"]}})["recording"]["exclude"] == ["a", "b", "c"]
    assert after(initial, {"recording": {"exclude": []}})["recording"]["exclude"] == ["a", "b"]


def test_a_change_cannot_take_an_exclusion_back() -> None:
    settings = after({"recording": {"exclude": ["**/.env*"]}}, {"recording": {"exclude": ["!**/.env", "secret/"]}})
    assert settings["recording"]["exclude"] == ["**/.env*", "secret/"]


def test_the_default_exclusions_stay_when_a_change_names_its_own() -> None:
    assert after({}, {"recording": {"exclude": ["c"]}})["recording"]["exclude"] == [
        "**/.env*",
        "**/*.pem",
        "**/*.key",
        "c",
    ]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"buffer": {"idleMs": 1}}, "buffer.idleMs"),
        ({"buffer": None}, "buffer"),
        ({"model": "x"}, "model"),
        ({"buffer": {"ceilingBytes": 2048}}, "buffer.ceilingBytes"),
        ({"recording": {"exclude": ["["]}}, "recording.exclude"),
    ],
)
def test_an_invalid_change_is_told_by_its_names(change: dict[str, Any], named: str) -> None:
    found = changed_settings({}, change)
    assert isinstance(found, list)
    assert [problem.setting for problem in found] == [named]


def test_a_change_is_judged_together_with_the_settings_at_the_start() -> None:
    initial = {"buffer": {"extractionBytes": 1024, "compactionBytes": 1500}}
    assert isinstance(changed_settings(initial, {"buffer": {"ceilingBytes": 2048}}), Change)


ENDPOINT = {"http": {"baseUrl": "http://localhost:1"}}


@pytest.mark.parametrize(
    ("provider", "model", "taken"),
    [
        ("http", ENDPOINT, False),
        ("auto", ENDPOINT, False),
        ("acp", {"acp": {"command": ["agent"]}}, False),
        ("auto", {}, True),
        ("editor", ENDPOINT, True),
        ("offline", ENDPOINT, True),
    ],
)
def test_no_change_leads_from_the_offline_model_to_an_agent_or_an_endpoint(
    provider: str, model: dict[str, Any], taken: bool
) -> None:
    found = changed({"model": {"provider": "offline", **model}}, {"model": {"provider": provider}})
    assert (found.settings.model.provider, found.ignored) == (
        (provider, ()) if taken else ("offline", ("model.provider",))
    )
