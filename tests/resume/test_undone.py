"""A compaction that was taken back: the agent goes on as if there had been none, in the session or in a new one."""

from __future__ import annotations

import pytest

from tests.resume.agents import CLAUDE_CODE, CODEX, GEMINI, KIMI_CLI_AGENT, KIMI_CODE, OPENCODE, Agent
from tests.resume.checks import from_turn, recorded, texts
from tests.resume.conftest import Meet
from tests.resume.person import Person, compact, idle_session, session_ids, undo
from tests.resume.said import Said, orphans
from tests.resume.story import answer, prompt

IN_FILES = (CLAUDE_CODE, CODEX, KIMI_CLI_AGENT, KIMI_CODE, GEMINI)
BESIDE = (CLAUDE_CODE, CODEX, KIMI_CODE, OPENCODE, GEMINI)
"""The agents whose session becomes a new one beside the compacted one that went on."""


def named(*agents: Agent) -> pytest.MarkDecorator:
    """A test for each of these agents."""
    return pytest.mark.parametrize("agent", agents, ids=lambda agent: agent.name)


def goes_on(person: Person, before: list[Said], turn: int, session: str | None = None) -> None:
    """Says a turn's prompt, and checks that all of the conversation before was sent, and the prompt."""
    sent = person.conversation(person.says(prompt(turn), session))
    assert sent[: len(before)] == before
    assert sent[len(before) :] == from_turn(sent, turn)
    assert orphans(sent) == []


@named(*IN_FILES)
def test_an_undo_behind_which_nothing_was_said_leaves_the_session_as_it_was(agent: Agent, meet: Meet) -> None:
    person = meet(agent)
    before = recorded(person, 4)
    path = person.session()
    held, ids = path.read_bytes(), session_ids(person)
    compact(person, 3)
    undo(person, str(path))
    assert (path.read_bytes(), session_ids(person)) == (held, ids)
    goes_on(person, before, 5)


@named(*BESIDE)
def test_an_undo_behind_which_something_was_said_makes_a_new_session_of_what_was(agent: Agent, meet: Meet) -> None:
    person = meet(agent)
    before = recorded(person, 4)
    name, ids = person.session_name(), session_ids(person)
    [compacted] = ids
    summary = compact(person, 3)
    person.says(prompt(5))
    if not agent.takes_out:
        idle_session(person)
    undo(person, name)
    [restored] = session_ids(person) - ids
    # the compacted one first: Gemini CLI deletes a session that it resumed, when it is started with another one
    after = person.conversation(person.says(prompt(7), compacted))
    assert summary in texts(after)
    assert [number for number in range(1, 10) if answer(number) in texts(after)] == [3, 4, 5]
    goes_on(person, before, 9, restored)


@named(OPENCODE)
def test_an_undo_in_opencode_makes_a_new_session_whatever_was_said_since(agent: Agent, meet: Meet) -> None:
    person = meet(agent)
    before = recorded(person, 4)
    name, ids = person.session_name(), session_ids(person)
    compact(person, 3)
    undo(person, name)
    [restored] = session_ids(person) - ids
    goes_on(person, before, 5, restored)


@named(KIMI_CLI_AGENT)
def test_an_undo_in_kimi_cli_keeps_what_was_said_since_behind_what_was(agent: Agent, meet: Meet) -> None:
    person = meet(agent)
    before = recorded(person, 4)
    compact(person, 3)
    since = from_turn(person.conversation(person.says(prompt(5))), 5)
    undo(person, str(idle_session(person)))
    goes_on(person, [*before, *since, Said("assistant", "text", answer(5))], 7)
