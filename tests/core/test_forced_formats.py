"""The setting `documents.formats`: which files it decides the format of, and what is wrong with one."""

from __future__ import annotations

import pytest

from lithify.core.forced_formats import forced_format, problem_of
from lithify.core.format_names import FORMAT_NAMES
from lithify.core.settings import SettingProblem, Settings, read_settings
from lithify.transcripts.registry import formats

FORMATS_GIVEN = {
    "*.log": "codex",
    "/home/ana/chats/**": "openai-jsonl",
    "old/": "specstory",
    "chats/*.log": "openai-json",
}


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("file:///a/b.log", "codex"),
        ("file:///a/B%2ELOG", "codex"),
        ("C:\\a\\b.log", "codex"),
        ("untitled:b.log", "codex"),
        ("file:///home/ana/chats/b.txt", "openai-jsonl"),
        ("/a/old/b.txt", "specstory"),
        ("file:///a/b.txt", None),
        ("", None),
    ],
)
def test_a_glob_decides_the_format_of_a_place(place: str, name: str | None) -> None:
    assert forced_format(FORMATS_GIVEN, place) == name


def test_the_longest_glob_decides_in_whatever_order_they_are_given() -> None:
    backwards = dict(reversed(FORMATS_GIVEN.items()))
    assert forced_format(FORMATS_GIVEN, "/a/chats/b.log") == forced_format(backwards, "/a/chats/b.log") == "openai-json"


def test_every_format_can_be_forced_by_its_name() -> None:
    assert sorted(FORMAT_NAMES) == sorted(one.name for one in formats())
    assert problem_of(dict.fromkeys(FORMAT_NAMES, "codex")) is None


@pytest.mark.parametrize(
    ("formats", "expected"),
    [
        ({"*.log": "mardown"}, "names of formats: 'mardown' is none of kimi-context, "),
        ({"": "codex"}, "globs of paths "),
        ({"!*.log": "codex"}, "globs of paths "),
    ],
)
def test_a_bad_glob_or_name_is_an_invalid_setting(formats: dict[str, str], expected: str) -> None:
    (problem,) = problems({"documents": {"formats": formats}})
    assert (problem.setting, problem.given) == ("documents.formats", formats)
    assert problem.expected.startswith(expected)


@pytest.mark.parametrize("formats", [[], "codex", {"*.log": 7}, {"*.log": None}])
def test_what_is_no_object_of_strings_is_an_invalid_setting(formats: object) -> None:
    (problem,) = problems({"documents": {"formats": formats}})
    assert problem.setting.startswith("documents.formats")


def problems(given: object) -> list[SettingProblem]:
    found = read_settings(given)
    assert isinstance(found, list)
    return found


def test_nothing_is_forced_by_default() -> None:
    assert Settings().documents.formats == {}
