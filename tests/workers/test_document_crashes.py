"""Kill -9 while a session file is compacted, or that is undone: its agent loads it, and what is kept of it is true."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.kept_sessions import APPENDED
from tests.support.stores import IN_MEMORY
from tests.workers.document_crashes import STEP, STEPS

ROOT = Path(__file__).resolve().parents[2]
MESSAGES, COMPACTED = 6, 3

pytestmark = pytest.mark.timeout(180)


def found(command: str, agent: str) -> list[dict[str, Any]]:
    """What was found after each death, and at last after the end."""
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        arguments = [sys.executable, "-m", "tests.workers.document_crashes", command, agent, folder]
        told = subprocess.run(arguments, capture_output=True, text=True, cwd=ROOT, check=True)
    return [json.loads(line) for line in told.stdout.splitlines()]


@pytest.fixture(scope="module", params=APPENDED)
def agent(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def compactions(agent: str) -> list[dict[str, Any]]:
    return found("compact", agent)


@pytest.fixture(scope="module")
def undoings(agent: str) -> list[dict[str, Any]]:
    return found("undo", agent)


def test_there_are_many_lines_to_be_killed_at(
    agent: str, compactions: list[dict[str, Any]], undoings: list[dict[str, Any]]
) -> None:
    step = STEPS.get(agent, STEP)
    assert (len(compactions) > 100 // step, len(undoings) > 80 // step) == (True, True)
    assert [compactions[-1]["killed"], undoings[-1]["killed"]] == [False, False]


def test_killed_at_any_line_the_agent_loads_the_old_conversation_or_the_new_one(
    compactions: list[dict[str, Any]], undoings: list[dict[str, Any]]
) -> None:
    for one in (*compactions, *undoings):
        whole = MESSAGES if one["untouched"] else COMPACTED if one["grown"] else None
        assert one["loaded"] == whole, one


def test_killed_at_any_line_of_a_compaction_what_was_written_can_be_undone_and_nothing_else(
    compactions: list[dict[str, Any]],
) -> None:
    for one in compactions:
        assert one["undo"] == (None if one["grown"] else "unknown_compaction"), one
        assert one["restored"], one


def test_killed_at_any_line_of_an_undo_it_can_be_made_again_unless_it_was_made(undoings: list[dict[str, Any]]) -> None:
    for one in undoings:
        assert one["undo"] == (None if one["grown"] else "unknown_compaction"), one
        assert one["restored"], one


def test_what_is_certain_is_written(compactions: list[dict[str, Any]], undoings: list[dict[str, Any]]) -> None:
    assert [one for one in (*compactions, *undoings) if True in one["certain"] and not one["grown"]] == []
