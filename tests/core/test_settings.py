"""Settings: defaults and bounds as section 7 of the wire contract has them."""

from __future__ import annotations

from typing import Any

import pytest

from lithify.core.settings import SettingProblem, Settings, read_settings, unknown_settings

DEFAULTS = {
    "dataDir": None,
    "recording.enabled": True,
    "recording.exclude": ["**/.env*", "**/*.pem", "**/*.key"],
    "sessions.record": "turns",
    "buffer.idleMs": 30000,
    "buffer.extractionBytes": 262144,
    "buffer.compactionBytes": 1048576,
    "buffer.ceilingBytes": 4194304,
    "extraction.enabled": True,
    "extraction.timeoutMs": 120000,
    "extraction.maxFailures": 3,
    "extraction.cooldownMs": 300000,
    "extraction.model": None,
    "bufferCompaction.enabled": False,
    "bufferCompaction.timeoutMs": 120000,
    "bufferCompaction.maxAttempts": 2,
    "bufferCompaction.maxFailures": 3,
    "bufferCompaction.cooldownMs": 300000,
    "bufferCompaction.model": "claude-haiku-4.5",
    "memoryCompaction.enabled": False,
    "memoryCompaction.maxRecords": 5000,
    "conversation.timeoutMs": 120000,
    "conversation.maxRequestTokens": 150000,
    "conversation.refuseLargerFrom": 20000,
    "conversation.exactAnchor": False,
    "conversation.keepOriginals": True,
    "conversation.compaction.enabled": True,
    "conversation.compaction.type": "kimi",
    "conversation.compaction.maxPreservedMessages": 2,
    "model.provider": "auto",
    "background.maxModelCallsPerHour": 60,
    "background.maxTokensPerHour": 2000000,
    "privacy.redactSecrets": True,
    "log.level": "warning",
}

BOOLEAN = [name for name, default in DEFAULTS.items() if isinstance(default, bool)]
NUMBER = [name for name, default in DEFAULTS.items() if type(default) is int]
FREE_NUMBER = {"conversation.compaction.maxPreservedMessages"}
FROM_ZERO = {
    "extraction.cooldownMs",
    "bufferCompaction.cooldownMs",
    "conversation.maxRequestTokens",
    "conversation.refuseLargerFrom",
}
OTHER_BOUNDS = {
    "buffer.idleMs": (5000, 300000),
    "buffer.extractionBytes": (1024, None),
    "buffer.compactionBytes": (1024, None),
    "buffer.ceilingBytes": (1024, None),
}
CHOICES = {
    "sessions.record": ["turns", "all", "none"],
    "model.provider": ["auto", "editor", "acp", "http", "offline"],
    "model.http.wire": ["openai", "anthropic"],
    "log.level": ["debug", "info", "warning", "error"],
}
TEXT = [
    "dataDir",
    "extraction.model",
    "bufferCompaction.model",
    "model.http.baseUrl",
    "model.http.model",
    "model.http.apiKeyEnv",
    "model.acp.profile",
]
LISTS = ["recording.exclude", "model.acp.command", "model.acp.env"]
SECTIONS = [
    "recording",
    "sessions",
    "buffer",
    "extraction",
    "conversation",
    "conversation.compaction",
    "model",
    "model.acp",
    "log",
]


def nested(name: str, value: Any) -> dict[str, Any]:
    """A setting as an editor sends it: `{"buffer": {"idleMs": value}}`."""
    for part in reversed(name.split(".")):
        value = {part: value}
    assert isinstance(value, dict)
    return value


def read(given: Any) -> dict[str, Any]:
    """The settings as JSON under their names on the wire."""
    settings = read_settings(given)
    assert isinstance(settings, Settings), settings
    return settings.model_dump(mode="json", by_alias=True)


def value_of(given: Any, name: str) -> Any:
    found: Any = read(given)
    for part in name.split("."):
        found = found[part]
    return found


def problems(given: Any) -> list[SettingProblem]:
    found = read_settings(given)
    assert isinstance(found, list), "nothing was found wrong"
    return found


def refused(name: str, value: Any) -> None:
    assert [(problem.setting, problem.given) for problem in problems(nested(name, value))] == [(name, value)]


def least(name: str) -> int:
    return OTHER_BOUNDS.get(name, (0 if name in FROM_ZERO else 1, None))[0] or 0


# --- defaults and bounds --------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [None, {}, {"buffer": {}}])
@pytest.mark.parametrize("name", DEFAULTS)
def test_a_setting_that_was_not_given_has_its_default(name: str, given: Any) -> None:
    assert value_of(given, name) == DEFAULTS[name]


@pytest.mark.parametrize("name", NUMBER)
@pytest.mark.parametrize("value", ["7", 7.5, 7.0, True, None, [], {}])
def test_a_number_must_be_a_whole_number(name: str, value: Any) -> None:
    refused(name, value)


@pytest.mark.parametrize("name", [name for name in NUMBER if name not in FREE_NUMBER])
def test_a_number_below_its_least_is_refused(name: str) -> None:
    refused(name, least(name) - 1)
    refused(name, -1)


@pytest.mark.parametrize(
    "name", [name for name in NUMBER if name not in FREE_NUMBER and not name.startswith("buffer.")]
)
def test_a_number_at_its_least_is_accepted(name: str) -> None:
    assert value_of(nested(name, least(name)), name) == least(name)


@pytest.mark.parametrize("value", [5000, 300000])
def test_the_idle_time_may_lie_at_either_bound(value: int) -> None:
    assert value_of(nested("buffer.idleMs", value), "buffer.idleMs") == value


def test_the_idle_time_has_an_upper_bound() -> None:
    refused("buffer.idleMs", 300001)


def test_the_thresholds_may_begin_at_a_kibibyte() -> None:
    given = {"buffer": {"extractionBytes": 1024, "compactionBytes": 1025, "ceilingBytes": 1026}}
    assert read(given)["buffer"] == {**given["buffer"], "idleMs": 30000}


@pytest.mark.parametrize("value", [-1, 0, 99])
def test_the_preserved_messages_may_be_any_number(value: int) -> None:
    name = "conversation.compaction.maxPreservedMessages"
    assert value_of(nested(name, value), name) == value


@pytest.mark.parametrize("name", BOOLEAN)
def test_a_switch_is_on_or_off(name: str) -> None:
    assert value_of(nested(name, True), name) is True
    assert value_of(nested(name, False), name) is False


@pytest.mark.parametrize("name", BOOLEAN)
@pytest.mark.parametrize("value", [1, 0, "true", None, []])
def test_a_switch_takes_nothing_else(name: str, value: Any) -> None:
    refused(name, value)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in CHOICES.items() for value in values])
def test_every_choice_is_accepted(name: str, value: str) -> None:
    assert value_of(nested(name, value), name) == value


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("value", ["", "other", 1, []])
def test_no_other_choice_is_accepted(name: str, value: Any) -> None:
    refused(name, value)


@pytest.mark.parametrize("name", TEXT)
@pytest.mark.parametrize("value", ["", 1, True, [], {}])
def test_a_name_is_text_that_is_not_empty(name: str, value: Any) -> None:
    refused(name, value)


@pytest.mark.parametrize("name", TEXT)
@pytest.mark.parametrize("value", [None, "x"])
def test_a_name_may_be_given_or_not(name: str, value: Any) -> None:
    assert value_of(nested(name, value), name) == value


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("value", ["x", 1, None, {}])
def test_a_list_must_be_a_list(name: str, value: Any) -> None:
    refused(name, value)


@pytest.mark.parametrize("name", LISTS)
def test_a_list_holds_text(name: str) -> None:
    assert value_of(nested(name, ["a", "b"]), name) == ["a", "b"]
    assert [problem.setting for problem in problems(nested(name, ["a", 1, 2]))] == [name]


@pytest.mark.parametrize("name", SECTIONS)
@pytest.mark.parametrize("value", [None, [], "x", 1])
def test_a_section_must_be_an_object(name: str, value: Any) -> None:
    refused(name, value)


@pytest.mark.parametrize("value", [[], "x", 1, True])
def test_all_settings_together_must_be_an_object(value: Any) -> None:
    assert problems(value) == [SettingProblem("lithify", value, "an object of settings")]


def test_the_agent_config_of_documents_takes_all_that_an_agent_may_say() -> None:
    given = {"enabled": False, "type": "other", "maxPreservedMessages": 3, "compactionModel": "small", "prompt": "mine"}
    given["settingsOverrides"] = {"top_p": 1, "a-b": {"maxTokens": 2}}
    assert value_of({"conversation": {"compaction": given}}, "conversation.compaction") == given


# --- thresholds and globs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("compaction", [262143, 262144])
def test_the_compaction_threshold_lies_above_the_extraction_threshold(compaction: int) -> None:
    (problem,) = problems({"buffer": {"compactionBytes": compaction}})
    assert (problem.setting, problem.given) == ("buffer.compactionBytes", compaction)
    assert "extractionBytes" in problem.expected


@pytest.mark.parametrize("ceiling", [1048575, 1048576])
def test_the_ceiling_lies_above_the_compaction_threshold(ceiling: int) -> None:
    (problem,) = problems({"buffer": {"ceilingBytes": ceiling}})
    assert (problem.setting, problem.given) == ("buffer.ceilingBytes", ceiling)
    assert "compactionBytes" in problem.expected


def test_thresholds_the_wrong_way_round_are_each_named() -> None:
    found = problems({"buffer": {"extractionBytes": 9000, "compactionBytes": 8000, "ceilingBytes": 7000}})
    assert [problem.setting for problem in found] == ["buffer.compactionBytes", "buffer.ceilingBytes"]


def test_a_glob_that_cannot_be_read_is_refused() -> None:
    (problem,) = problems({"recording": {"exclude": ["**/ok", "["]}})
    assert (problem.setting, problem.given) == ("recording.exclude", ["**/ok", "["])


# --- what is said about problems and unknown names --------------------------------------------------------------


def test_every_invalid_setting_is_named_once() -> None:
    given = {"buffer": {"idleMs": 1}, "log": {"level": "loud"}, "recording": {"exclude": [1, 2]}}
    assert sorted(problem.setting for problem in problems(given)) == ["buffer.idleMs", "log.level", "recording.exclude"]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("buffer.idleMs", 1, "5000"),
        ("buffer.idleMs", 300001, "300000"),
        ("log.level", "loud", "'warning'"),
        ("recording.enabled", 1, "boolean"),
        ("model.acp.command", "ls", "a list"),
        ("buffer", [], "an object of settings"),
        ("conversation.compaction.settingsOverrides", [], "an object"),
    ],
)
def test_a_problem_says_what_is_expected(name: str, value: Any, words: str) -> None:
    (problem,) = problems(nested(name, value))
    assert words in problem.expected
    assert "Input" not in problem.expected


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_does_not_know_is_told_as_text(number: float) -> None:
    (problem,) = problems(nested("buffer.idleMs", number))
    assert problem.given == str(number)


def test_unknown_names_are_found_at_every_depth() -> None:
    given = {"colour": 1, "buffer": {"idleMs": 30000, "speed": 1}, "model": {"http": {"url": "x"}}}
    assert sorted(unknown_settings(given)) == ["buffer.speed", "colour", "model.http.url"]


def test_unknown_names_are_not_refused() -> None:
    assert read({"colour": 1, "buffer": {"speed": 1}}) == read({})


def test_what_the_editor_says_of_itself_is_no_unknown_setting() -> None:
    assert unknown_settings({"client": {"complete": True}}) == []


def test_the_keys_of_settings_overrides_are_no_unknown_settings() -> None:
    assert unknown_settings(nested("conversation.compaction.settingsOverrides", {"top_p": 1})) == []


@pytest.mark.parametrize("given", [None, [], "x"])
def test_what_is_no_object_has_no_unknown_names(given: Any) -> None:
    assert unknown_settings(given) == []


@pytest.mark.parametrize(
    "given", [{"data_dir": "/x"}, {"buffer": {"idle_ms": 5000}}, {"buffer_compaction": {"enabled": True}}]
)
def test_names_are_those_of_the_wire_alone(given: dict[str, Any]) -> None:
    assert read(given) == read({})
    assert len(unknown_settings(given)) == 1


@pytest.mark.parametrize(
    ("given", "setting"),
    [
        ({"model": {"http": {"apiKeyEnv": "sk-0123456789-abc"}}}, "model.http.apiKeyEnv"),
        ({"model": {"acp": {"env": ["KEY=0123456789"]}}}, "model.acp.env"),
    ],
)
def test_a_key_in_the_place_of_a_variables_name_is_refused_and_not_told(given: Any, setting: str) -> None:
    (problem,) = read_settings(given) if isinstance(read_settings(given), list) else []
    assert (problem.setting, "0123456789" in repr(problem)) == (setting, False)
    assert "name of an environment variable" in problem.expected
