"""Every agent goes on from what Lithify compacted: with the summary, the exact tail, and nothing else of old."""

from __future__ import annotations

import pytest

from tests.resume.agents import CLAUDE_CODE, CODEX, GEMINI, KIMI_CLI_AGENT, KIMI_CODE, OPENCODE, Agent
from tests.resume.checks import check_resumed, from_turn, openings, recorded, texts
from tests.resume.conftest import Meet
from tests.resume.person import compact
from tests.resume.said import orphans
from tests.resume.story import ASIDE, answer, prompt

EVERY_AGENT = pytest.mark.parametrize(
    "agent", [CLAUDE_CODE, CODEX, KIMI_CLI_AGENT, KIMI_CODE, OPENCODE, GEMINI], ids=lambda agent: agent.name
)


@EVERY_AGENT
def test_a_session_goes_on_with_summary_and_tail_and_can_be_compacted_again(agent: Agent, meet: Meet) -> None:
    person = meet(agent)
    before = recorded(person, 4)
    own = openings(person, person.asked[-1])
    after = check_resumed(person, compact(person, 3), from_turn(before, 3), 5)
    assert own <= openings(person, person.asked[-1]), "what the agent says of itself is as it was"
    again = 5 if agent.asks else 4  # opencode cannot keep what stands in front of a compaction before
    check_resumed(person, compact(person, again), from_turn(after, again), 6)


@EVERY_AGENT
def test_a_session_of_which_all_was_compacted_goes_on_with_the_summary(agent: Agent, meet: Meet) -> None:
    person = meet(agent)
    recorded(person, 2)
    check_resumed(person, compact(person, 3), (), 3)


@EVERY_AGENT
def test_the_agent_compacts_what_lithify_compacted_and_lithify_what_the_agent_did(agent: Agent, meet: Meet) -> None:
    person = meet(agent)
    before = recorded(person, 4)
    summary = compact(person, 3)
    check_resumed(person, summary, from_turn(before, 3), 5)
    asked = len(person.server.questions)
    person.says_aside(agent.compacts)
    sent = person.conversation(person.says(prompt(9)))
    assert any(summary in texts(person.conversation(one)) for one in person.server.questions[asked:])
    assert ASIDE in texts(sent)
    assert answer(3) not in texts(sent)
    assert orphans(sent) == []
    check_resumed(person, compact(person, 10), (), 10)
