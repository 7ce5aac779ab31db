"""The moment of writing: an agent that goes on meanwhile, one that is busy, and a Lithify that is killed."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path

import pytest

from tests.resume.agents import CLAUDE_CODE, CODEX, GEMINI, KIMI_CLI_AGENT, KIMI_CODE, Agent
from tests.resume.checks import check_resumed, from_turn, recorded
from tests.resume.conftest import Meet
from tests.resume.person import LITHIFY_SECONDS, Person, compact_command, foretold_summary, idle_session
from tests.resume.said import Said
from tests.resume.story import answer, prompt
from tests.support.model_server import Request, Slow, Text, serve

KILLED = Path(__file__).parent / "killed.py"
SUMMARY = "All of part 1 and part 2 is done."
HELD_OFF = (KIMI_CLI_AGENT, GEMINI)
"""Agents of which nothing tells whether they use a session but when they last wrote into it."""


def named(*agents: Agent) -> pytest.MarkDecorator:
    """A test for each of these agents."""
    return pytest.mark.parametrize("agent", agents, ids=lambda agent: agent.name)


def compact_slowly(person: Person, meanwhile: str) -> str | None:
    """Compacts up to turn 3 with a model that answers when the user has said something more to the agent; what went
    wrong, or None."""
    gate = asyncio.Event()
    with serve(Slow(Text(SUMMARY), gate)) as model:
        settings = person.folder / "settings.json"
        http = {"baseUrl": model.base_url, "model": "scripted-model"}
        settings.write_text(json.dumps({"model": {"provider": "http", "http": http}}), encoding="utf-8")
        idle_session(person)
        command = [*compact_command(person, 3), "--settings", str(settings)]
        with person.running(command) as process:
            model.asked(seconds=LITHIFY_SECONDS)
            person.says(meanwhile)
            model.do(gate.set)
            _, errors = process.communicate(timeout=LITHIFY_SECONDS)
    return errors if process.returncode else None


@named(CLAUDE_CODE, CODEX, KIMI_CODE)
def test_what_the_agent_adds_while_a_summary_is_made_is_kept(agent: Agent, meet: Meet) -> None:
    person = meet(agent)
    recorded(person, 3)
    assert compact_slowly(person, prompt(4)) is None
    before = [*person.conversation(person.asked[-1]), Said("assistant", "text", answer(4))]
    check_resumed(person, SUMMARY, from_turn(before, 3), 5)


@named(*HELD_OFF)
def test_a_session_that_was_just_written_is_left_alone(agent: Agent, meet: Meet) -> None:
    person = meet(agent)
    recorded(person, 3)
    told = compact_slowly(person, prompt(4)) or ""
    assert "try again" in told
    sent = person.conversation(person.says(prompt(5)))
    assert [number for number in range(1, 6) if any(prompt(number) in one.text for one in sent)] == [1, 2, 3, 4, 5]


@named(CLAUDE_CODE, CODEX)
def test_a_session_in_the_middle_of_a_turn_is_left_alone(agent: Agent, meet: Meet) -> None:
    person = meet(agent)
    before = recorded(person, 2)
    gate, story = asyncio.Event(), person.server.server.script
    assert callable(story)

    def slow(request: Request) -> Slow:
        return Slow(story(request), gate)

    person.server.server.script = slow
    with person.running(person.command_for(prompt(3))) as process:
        person.server.asked(len(person.server.questions) + 1, seconds=LITHIFY_SECONDS)
        with person.running(compact_command(person, 2)) as lithify:
            _, told = lithify.communicate(timeout=LITHIFY_SECONDS)
        person.server.do(gate.set)
        process.communicate(timeout=LITHIFY_SECONDS)
    assert (lithify.returncode, process.returncode) == (1, 0)
    assert "try again" in told
    assert person.conversation(person.says(prompt(4)))[: len(before)] == before


@pytest.mark.parametrize("moment", ["before", "after"])
@named(CLAUDE_CODE, CODEX, KIMI_CODE, KIMI_CLI_AGENT, GEMINI)
def test_a_lithify_that_is_killed_leaves_the_old_conversation_or_the_compacted_one(
    agent: Agent, moment: str, meet: Meet
) -> None:
    person = meet(agent)
    before = recorded(person, 4)
    summary = foretold_summary(person, 3, idle_session(person))
    _, _, _, *arguments = compact_command(person, 3)
    with person.running([sys.executable, str(KILLED), moment, *arguments]) as process:
        process.communicate(timeout=LITHIFY_SECONDS)
    assert process.returncode == -signal.SIGKILL
    if moment == "after":
        check_resumed(person, summary, from_turn(before, 3), 5)
    else:
        assert person.conversation(person.says(prompt(5)))[: len(before)] == before
