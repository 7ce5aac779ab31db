"""`lithify ledger`: what left the machine, on a ledger that a real store kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lithify.assembly import now
from lithify.core.model_calls import ModelCall, Purpose
from tests.cli.running import CONTROL, Ended, Place
from tests.support.stores import Bench

LONG_AGO = "2026-01-02T03:04:05.000+00:00"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def bench(place: Place) -> Iterator[Bench]:
    """A data folder that a server has open."""
    bench = Bench(place.folder / "data")
    yield bench
    bench.store.close()


def note(
    bench: Bench,
    at: str = LONG_AGO,
    *,
    purpose: Purpose = "extraction",
    provider: str = "http",
    model: str | None = "haiku",
    host: str | None = "api.example.com",
    tokens: int = 100,
    by_user: bool = False,
    outcome: str = "answered",
) -> None:
    """Adds a line to the ledger."""
    bench.store.note_model_call(ModelCall(at, purpose, provider, model, host, 12_288, tokens, by_user, outcome))


def ledger(place: Place, *arguments: str) -> Ended:
    return place.run("ledger", *arguments, LITHIFY_DATA_DIR=str(place.folder / "data"))


def test_a_call_is_told_with_all_that_is_known_of_it(place: Place, bench: Bench) -> None:
    note(bench, tokens=3456, outcome="timeout")
    cells = [cell.strip() for cell in ledger(place).lines[1].split("  ") if cell]
    assert cells == [
        "2026-01-02 03:04:05",
        "extraction",
        "background",
        "api.example.com",
        "http: haiku",
        "12.0 KiB",
        "3,456",
        "timeout",
    ]


def test_a_call_that_the_user_asked_for_is_told_as_such(place: Place, bench: Bench) -> None:
    note(bench, by_user=True)
    assert " you " in ledger(place).lines[1]


def test_a_call_of_the_editors_model_went_to_the_editor(place: Place, bench: Bench) -> None:
    note(bench, provider="editor", host=None)
    assert " the editor " in ledger(place).lines[1]


def test_a_call_of_the_offline_model_went_to_nobody(place: Place, bench: Bench) -> None:
    note(bench, provider="offline", model=None, host=None)
    assert " nobody " in ledger(place).lines[1]


def test_the_newest_call_comes_first(place: Place, bench: Bench) -> None:
    note(bench, "2026-01-02T03:04:05.000+00:00", purpose="buffer")
    note(bench, "2026-01-03T03:04:05.000+00:00", purpose="conversation")
    note(bench, "2026-01-01T03:04:05.000+00:00", purpose="extraction")
    assert [line.split()[2] for line in ledger(place).lines[1:4]] == ["conversation", "buffer", "extraction"]


def test_the_columns_are_aligned_in_a_pipe(place: Place, bench: Bench) -> None:
    note(bench, host="a.example.com", tokens=1)
    note(bench, host="a-much-longer-name.example.com", tokens=1_000_000)
    header, *calls = ledger(place).lines[:3]
    assert {line[header.index("OUTCOME") :] for line in calls} == {"answered"}


def test_no_more_calls_than_the_limit_are_shown(place: Place, bench: Bench) -> None:
    for _ in range(3):
        note(bench)
    lines = ledger(place, "--limit", "2").lines
    assert (lines[3], lines[4].endswith("Shown: the last 2; for more: --limit.")) == ("", True)


def test_the_last_hour_is_held_against_the_background_budget(place: Place, bench: Bench) -> None:
    note(bench, now(), tokens=1000)
    note(bench, now(), tokens=500, by_user=True)
    note(bench, LONG_AGO, tokens=7)
    expected = "Last hour: 1 background call of 60, 1,000 tokens of 2,000,000 (the default budget)."
    assert ledger(place).lines[-1] == expected


def test_an_empty_ledger_says_that_nothing_ever_left(place: Place, bench: Bench) -> None:
    assert ledger(place) == Ended(0, "Nothing ever left this machine: no call of a model is listed.\n", "")


def test_a_ledger_of_the_offline_model_alone_says_that_nothing_ever_left(place: Place, bench: Bench) -> None:
    note(bench, provider="offline", model=None, host=None)
    assert "Nothing ever left this machine: only its own offline model was asked." in ledger(place).lines


def test_that_nothing_ever_left_is_not_said_when_an_older_call_did(place: Place, bench: Bench) -> None:
    note(bench, LONG_AGO)
    note(bench, now(), provider="offline", model=None, host=None)
    assert "Nothing ever left" not in ledger(place, "--limit", "1").out


def test_the_ledger_answers_as_json(place: Place, bench: Bench) -> None:
    note(bench, by_user=True)
    answer = json.loads(ledger(place, "--json").out)
    assert answer == {
        "calls": [
            {
                "at": LONG_AGO,
                "purpose": "extraction",
                "provider": "http",
                "model": "haiku",
                "host": "api.example.com",
                "bytes": 12_288,
                "tokens": 100,
                "userInitiated": True,
                "outcome": "answered",
            }
        ],
        "anyLeft": True,
        "backgroundLastHour": {"modelCalls": 0, "maxModelCalls": 60, "tokens": 0, "maxTokens": 2_000_000},
    }


def test_an_empty_ledger_is_an_empty_list_in_json(place: Place) -> None:
    answer = json.loads(ledger(place, "--json").out)
    assert (answer["calls"], answer["anyLeft"]) == ([], False)


@pytest.mark.parametrize("as_json", [(), ("--json",)], ids=["text", "json"])
def test_no_stored_control_character_reaches_the_output(place: Place, bench: Bench, as_json: tuple[str, ...]) -> None:
    note(bench, model="m\x1b[31m\x9b", host="h\x07\u202e", outcome="o\r\n")
    ended = ledger(place, *as_json)
    assert (ended.code, CONTROL.search(ended.out), "\u202e" in ended.out) == (0, None, False)


def test_a_wide_terminal_is_shown_a_table(place: Place, bench: Bench) -> None:
    note(bench)
    written = place.run_on_terminal("ledger", columns=140, LITHIFY_DATA_DIR=str(bench.data_dir))
    assert "OUTCOME" in written


def test_a_narrow_terminal_is_shown_each_call_on_lines_that_fit(place: Place, bench: Bench) -> None:
    note(bench)
    written = place.run_on_terminal("ledger", columns=60, NO_COLOR="1", LITHIFY_DATA_DIR=str(bench.data_dir))
    assert "sent to api.example.com (http: haiku): 12.0 KiB, 100 tokens" in " ".join(written.split())
    assert max(map(len, written.splitlines())) <= 60
