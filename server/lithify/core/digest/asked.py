"""Items from requests: the focus, the first request, and how each earlier one ended."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lithify.core.digest import sentences, talk
from lithify.core.digest.gathering import Facts, Turn
from lithify.core.digest.items import Entry, Item, newest_first
from lithify.core.digest.labels import (
    ASSISTANT,
    COMPLETED,
    CONTEXT,
    EARLIER_FOCUS,
    FIRST_REQUEST,
    FOCUS,
    REQUEST,
    USER,
)
from lithify.core.digest.shortening import one_line, shortened
from lithify.core.digest.talk import plain, prose, worth_telling

_UNDERWAY = re.compile(
    r"(?i)(?:(?:ok(?:ay)?|sure|understood|great|good|perfect|now|first|next|then)[,.!:]? ){0,3}"
    r"(?:let me|let'?s|i'?ll|i will|i(?: am|'m) going to|i need to|started\b|starting\b|working on|looking)|"
    r"[^\n]{0,200}(?:\bstill (?:need|fail|miss|broken)\w*|\b(?:fails|failing|not (?:yet|done|finished))\b|"
    r"\b(?:doesn|don|won)'t (?:work|compile|build)\b|:$)"
)
_FINISHED = re.compile(
    r"(?i)\b(?:done|fixed|finished|completed?|resolved|released|renamed|merged|(?:is|are) (?:green|ready)|"
    r"(?:now )?works|pass(?:es|ed)?)\b|已|完成"
)
_QUESTION = re.compile(
    r"(?i)(?:^|[.!?,\n] ?)(?:(?:can|could) you |please ){0,3}"
    r"(?:explain|show me|tell me|help me (?:\w+ )?(?:understand|find)|where|what|why|how|who|which|is there|does|"
    r"do you)\b"
)
_LONG_FIRST = 400
_MANY_TURNS = 8
_RECENT = 100


def items(facts: Facts, most: int) -> Iterator[Item]:
    """Everything the newest `most` requests of a transcript give, ranked, and the first one."""
    turns = worth_telling(facts)
    if not turns:
        return
    current = talk.current(turns)
    first = None if facts.continued else next((turn for turn in turns if not turn.trivial), None)
    yield from _focus(turns, current)
    yield from _first(first, current, len(turns))
    yield from _ended(turns[-most:], current, first)


def passed_over(facts: Facts, most: int) -> int:
    """How many requests are older than the newest `most`, without the first one, which is told."""
    turns = worth_telling(facts)
    over = sum(1 for turn in turns[:-most] if not turn.trivial)
    return over if facts.continued else max(over - 1, 0)


def _focus(turns: list[Turn], current: Turn) -> Iterator[Item]:
    if current.request:
        speaker = USER if current.named else ""
        yield Item(FOCUS, 0, current.position, speaker + plain(current.request), share=170)
    after = [turn.statement() for turn in turns if turn.position >= current.position]
    at, said = next(((at, said) for at, said in reversed(after) if said), (0, ""))
    if said:
        yield Item(FOCUS, 1, at, ASSISTANT + prose(said), share=150)
    if turns[-1] is not current and turns[-1].request and len(turns[-1].request) < 200:
        yield Item(FOCUS, 2, turns[-1].position, USER + plain(turns[-1].request), share=40)


def _first(first: Turn | None, current: Turn, count: int) -> Iterator[Item]:
    """The request a conversation began with; where it ended stands beside it unless it is plainly finished."""
    if first is None or first is current:
        return
    request = FIRST_REQUEST + shortened(one_line(plain(first.request)), 800)
    outcome = one_line(prose(first.statement()[1][:8000]))
    if not finished(first):
        yield Item(CONTEXT, 5, first.position, outcome or request, share=100, lead=request if outcome else "")
    elif len(first.request) > _LONG_FIRST or count > _MANY_TURNS:
        yield Item(CONTEXT, 5, first.position, request, share=100)


def _ended(turns: list[Turn], current: Turn, first: Turn | None) -> Iterator[Item]:
    """Each earlier request with where it ended: among the completed ones only where the model came to an end."""
    ended, left = [], []
    for nth, turn in enumerate(reversed(turns)):
        said = turn.statement()[1]
        if turn.position >= current.position or not (said or not turn.trivial):
            continue
        outcome = one_line(prose(said[: 8000 if nth < _RECENT else 1500]))
        request = "" if turn.trivial else shortened(one_line(plain(turn.request[:2000])), 400)
        if (turn is first and not finished(turn)) or (not said and talk.only_rules(turn)):
            continue
        if not turn.named or not (turn.trivial or came_to_an_end(turn)):
            request = (REQUEST if turn.named else EARLIER_FOCUS) + request
            left.append(Entry(turn.position, outcome or request, request if outcome else ""))
        else:
            ended.append(Entry(turn.position, outcome or request, request if outcome else ""))
    yield from newest_first(COMPLETED, 10, 1.5, ended, share=60)
    yield from newest_first(CONTEXT, 10, 1.5, left, share=60)


def came_to_an_end(turn: Turn) -> bool:
    """Whether the model's last words in a turn came after its last tool use, and announce nothing more."""
    if turn.acted >= len(turn.said) or not turn.said:
        return False
    said = turn.statement()[1] or turn.said[-1][1]
    ended = reversed(sentences.END.split(said[-600:].strip()))
    return _UNDERWAY.match(next(filter(None, ended), "")) is None


def finished(turn: Turn) -> bool:
    """Whether a turn came to an end that its last words plainly call one, or answers a question."""
    if not came_to_an_end(turn):
        return False
    said = turn.statement()[1] or turn.said[-1][1]
    return _QUESTION.search(turn.request[:400]) is not None or _FINISHED.search(said[:1000]) is not None
