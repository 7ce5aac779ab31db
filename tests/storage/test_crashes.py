"""Kill -9 at any moment, and several processes at once: no event is lost, none is there twice."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lithify.storage.store import open_store
from tests.support.clock import Clock
from tests.support.kills import at_least
from tests.support.stores import CEILING_BYTES, IN_MEMORY, buffer_file, buffered_ids, event, states

ROOT = Path(__file__).resolve().parents[2]
KILLS = at_least(8, 32)


def started(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.storage.crashes", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def found_by(command: str, folder: Path) -> list[dict[str, Any]]:
    process = started(command, folder)
    told, _ = process.communicate()
    assert process.returncode == 0
    return [json.loads(line) for line in told.splitlines()]


# --- killed at a chosen place ---------------------------------------------------------------------------------


def found_in_memory(command: str) -> list[dict[str, Any]]:
    """In hundreds of data folders, which no power cut concerns."""
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        return found_by(command, Path(folder))


@pytest.fixture(scope="module")
def at_every_line() -> list[dict[str, Any]]:
    return found_in_memory("lines")


@pytest.fixture(scope="module")
def within_a_write() -> list[dict[str, Any]]:
    return found_in_memory("bytes")


def test_there_are_many_lines_to_be_killed_at(at_every_line: list[dict[str, Any]]) -> None:
    assert len(at_every_line) > 100


def test_killed_at_any_line_an_event_that_was_answered_is_kept(at_every_line: list[dict[str, Any]]) -> None:
    assert [one for one in at_every_line if set(one["answered"]) - set(one["states"])] == []


def test_killed_at_any_line_every_event_that_is_kept_is_in_the_buffer_once(at_every_line: list[dict[str, Any]]) -> None:
    assert [one for one in at_every_line if one["buffer"] != list(one["states"])] == []


def test_killed_at_any_line_the_state_is_true(at_every_line: list[dict[str, Any]]) -> None:
    assert [one for one in at_every_line if set(one["states"].values()) - {"buffered"}] == []


def test_killed_at_any_line_both_events_of_a_batch_are_kept_or_none(at_every_line: list[dict[str, Any]]) -> None:
    assert {tuple(one["states"]) == tuple(one["ids"]) for one in at_every_line if one["states"]} == {True}


def test_killed_within_a_write_every_event_is_readable_in_the_buffer_once(within_a_write: list[dict[str, Any]]) -> None:
    assert [one for one in within_a_write if one["buffer"] != one["ids"]] == []


def test_killed_within_a_write_the_state_is_true(within_a_write: list[dict[str, Any]]) -> None:
    assert {tuple(one["states"].values()) for one in within_a_write} == {("buffered", "buffered")}


def test_killed_at_any_line_that_heals_a_buffer_the_next_process_finds_every_event_once() -> None:
    found = found_in_memory("lost")
    healed = {"states": {"E1": "buffered", "E2": "buffered", "E3": "buffered"}, "buffer": ["E3", "E1", "E2"]}
    assert len(found) > 100
    assert [one for one in found if one != healed] == []


def test_killed_while_a_chat_is_opened_it_is_said_once_when_its_client_comes_back() -> None:
    found = found_in_memory("chat")
    assert [one for one in found if not one["kept"] or one["said"] != one["expected"]] == []


# --- killed at random, with another process at work -----------------------------------------------------------


def answers(process: subprocess.Popen[str]) -> list[str]:
    told, _ = process.communicate()
    return [line.split()[0] for line in told.splitlines(keepends=True) if line.endswith("\n")]


@pytest.mark.timeout(180)
def test_killed_at_random_no_answered_event_is_lost_and_none_is_there_twice(tmp_path: Path) -> None:
    chance = random.Random(20260102)
    answered: list[str] = []
    steady = started("write", tmp_path, 99, 2000, 1)
    for number in range(KILLS):
        process = started("write", tmp_path, number, 10_000, chance.choice((1, 3, 10)))
        assert process.stdout is not None
        answered.extend(process.stdout.readline().split()[0] for _ in range(chance.randint(1, 40)))
        process.kill()
        answered.extend(answers(process))
    answered.extend(answers(steady))
    assert steady.returncode == 0
    store = open_store(tmp_path, Clock())
    store.events.accept([event("LAST")], CEILING_BYTES)
    store.close()
    kept, counts = states(tmp_path), Counter(buffered_ids(tmp_path))
    assert set(answered) - set(kept) == set()
    assert set(kept.values()) == {"buffered"}
    assert dict(counts) == dict.fromkeys(kept, 1)
    assert list(counts) == list(kept)


def test_two_processes_append_to_one_project_without_losing_a_line(tmp_path: Path) -> None:
    both = [started("write", tmp_path, maker, 500, 1) for maker in range(2)]
    told = [one.communicate()[0].split() for one in both]
    lines = buffer_file(tmp_path).read_bytes().splitlines()
    ids = [json.loads(line)["event_id"] for line in lines]
    assert (len(lines), len(set(ids))) == (1000, 1000)
    assert [statuses for one in told for statuses in one[1::2]] == ["buffered"] * 1000
    assert ids == list(states(tmp_path))


def test_the_events_of_two_processes_keep_the_order_of_each(tmp_path: Path) -> None:
    both = [started("write", tmp_path, maker, 200, 4) for maker in range(2)]
    told = [one.communicate()[0].split()[::2] for one in both]
    buffered = buffered_ids(tmp_path)
    assert [[one for one in buffered if one in set(ids)] for ids in told] == told


# --- a full disk ----------------------------------------------------------------------------------------------


def test_events_wait_while_the_disk_is_full_and_are_fed_when_it_is_not(tmp_path: Path) -> None:
    before, full, after = found_by("full", tmp_path)
    assert before["status"] == "buffered"
    assert (full["status"], full["states"]["E2"], full["buffer"]) == ("stored", "waiting", ["E1"])
    assert full["error"].endswith("buffer.ndjson: File too large")
    assert (after["status"], after["buffer"], after["error"]) == ("buffered", ["E1", "E2", "E3"], None)
