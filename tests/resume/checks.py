"""What is checked of a session that an agent resumes after Lithify compacted it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from lithify.core.kimi import OUTPUT_PREFIX
from tests.resume.person import Person, conversation_of
from tests.resume.said import Said, orphans, said
from tests.resume.story import answer, marks, prompt
from tests.support.model_server import Request


def recorded(person: Person, turns: int) -> list[Said]:
    """The conversation after so many turns, as the agent would send it."""
    for number in range(1, turns + 1):
        person.says(prompt(number))
    return [*person.conversation(person.asked[-1]), Said("assistant", "text", answer(turns))]


def from_turn(conversation: Sequence[Said], turn: int) -> list[Said]:
    """The conversation from a turn's prompt on."""
    first = next(place for place, one in enumerate(conversation) if prompt(turn) in one.text)
    return list(conversation[first:])


def check_resumed(person: Person, summary: str, tail: Sequence[Said], turn: int) -> list[Said]:
    """Says a turn's prompt and checks that the agent sent the summary, the tail and the prompt, and nothing else.

    The conversation after that turn. An empty tail is that of a session of which all was compacted. What was sent must
    be what Lithify had shown.
    """
    agent = person.agent
    shown = spoken(one for one in conversation_of(person) if not agent.is_own(one))
    request = person.says(prompt(turn))
    sent = person.conversation(request)
    new = len(sent) - len(from_turn(sent, turn))
    first = new - (len(tail) or agent.fills)
    lead = sent[agent.asks : first]
    assert texts(lead).removesuffix(agent.seam) == f"{OUTPUT_PREFIX}\n{summary}"
    assert {(one.role, one.kind) for one in lead} == {("assistant" if agent.asks else "user", "text")}
    assert sent[first:new] == list(tail) or not tail
    assert shown == [text.removesuffix(agent.seam) for text in spoken([*lead, *tail])]
    assert not [one for one in sent[new + 1 :] if one.role == "user"]
    assert orphans(sent) == []
    said_by_itself = [*sent[: agent.asks], *(sent[first:new] if not tail else []), *own_blocks(person, request)]
    assert not [mark for mark in marks(range(1, turn + 1)) if mark in texts(said_by_itself)]
    return [*sent, Said("assistant", "text", answer(turn))]


def own_blocks(person: Person, request: Request) -> list[Said]:
    """What the agent says of itself in a request."""
    return [one for one in said(request) if person.agent.is_own(one)]


def openings(person: Person, request: Request) -> set[str]:
    """How the agent's own blocks of a request begin, whatever they count."""
    return {re.sub("[0-9]+", "0", one.text.strip())[:30] for one in own_blocks(person, request)}


def texts(conversation: Iterable[Said]) -> str:
    """All that is said, a line between two."""
    return "\n".join(one.text for one in conversation)


def spoken(conversation: Iterable[Said]) -> list[str]:
    """The texts of the user and of the model."""
    return [one.text for one in conversation if one.kind == "text" and one.role in ("user", "assistant")]
