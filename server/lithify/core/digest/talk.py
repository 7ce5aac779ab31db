"""Items from what was said: decisions, the person's rules and wishes, open points, what was told on the way."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from lithify.core.digest import cues, fences, sentences
from lithify.core.digest.gathering import Facts, Turn
from lithify.core.digest.items import Entry, Item, newest_first
from lithify.core.digest.labels import (
    ASKED,
    CONTEXT,
    CUT,
    ISSUES,
    USER,
)
from lithify.core.digest.shortening import one_line

_WEAK = re.compile(r"(?i)\bwe should\b|\bto fix\b|\blet'?s use\b|\bno longer\b|\bthe real\b")
_LOOKING = re.compile(r"(?i)\bwe should (?:also |first )?(?:check|look|navigate|see|find|open|verify|start|run)")
_NO_WISH = re.compile(
    r"(?i)\b(?:you don'?t need|if you (?:don'?t|can'?t)|i don'?t know|should i|yet|for now|right now)\b"
)
_OPEN = re.compile(
    r"(?i)\b(?:next(?: step|,)|remaining|still (?:need|have|has|fail|miss|happen|broken)\w*|todos?(?![.\w]| list)|"
    r"not yet|needs? to be|left to do|remember to|unresolved|to be done|should (?:still|also)|"
    r"not (?:been )?(?:covered|tested|done))\b"
)
_UNCHECKED = re.compile(r"^[ \t]*[-*] \[ \] +(.+)$", re.M)
_ROUTINE = re.compile(
    r"(?i)(?:(?:now|first|next|then)?,? ?"
    r"(?:let me|let'?s|i'?ll|i will|i(?: am|'m) going to|we (?:should|need to))(?: also| first| now)? "
    r"(?:start|check|look|find|see|run|try|open|read|scan|fetch|append|examine|search|navigate|explore|view|verify|"
    r"first|use find)|next, i)"
)
_OFFER = re.compile(r"(?i)how (?:can|may) i (?:help|assist)|anything else|help you with")
_MARKDOWN = re.compile(r"^[ \t]*(?:#{1,6}|[-*]|>)[ \t]+|\*\*|^-{3,}$|^\|[-| :]+\|\n", re.M)
_LINE_MARKS = ("#", "-", "*", ">", "|")
_BLANK_LINES = re.compile(r"\n[ \t]*\n\s*\n")
_BRIEF_REQUEST, _LONG_REQUEST = 600, 1500
RULE_RANK, RULE_STEP = 3.1, 0.3
_RECENT = 3
_TELLING = 140
_SPECIFIC = re.compile(r"\d|`")
_MOST_TURNS, _MOST_SPOKEN, _MOST_SENTENCES = 300, 10_000, 200
_MOST_FIRST_RULES = 100


class Listened(NamedTuple):
    """A turn, whether the beginning of its request may hold a decision, and whether its request may hold a demand; a
    demand in an old one is a rule, and a summary's words are not the person's."""

    turn: Turn
    decides: bool
    demands: bool


def items(facts: Facts) -> Iterator[Item]:
    """Everything the talk of a transcript gives, ranked."""
    turns = worth_telling(facts)
    if not turns:
        return
    yield from _asked_back(turns[-1])
    recent = [each for turn in turns[-3:] for each in turn.said[-_RECENT:]]
    yield from newest_first(ISSUES, 9, 5, _open_points(recent), share=30)
    heard = listen(turns)
    yield from newest_first(CONTEXT, 12, 1.5, islice(decisions(heard), _MOST_SENTENCES), share=40)
    yield from (wish._replace(text=USER + wish.text) for wish in wishes(heard, current(turns)))
    yield from newest_first(CONTEXT, 23, 2, told_on_the_way(turns), share=30, counted=False)


def worth_telling(facts: Facts) -> list[Turn]:
    """The turns that say something; mere greetings only where there is nothing else."""
    turns = [turn for turn in facts.turns if turn.request or turn.said]
    return [turn for turn in turns if not turn.idle] or turns


def current(turns: list[Turn]) -> Turn:
    """The turn of the last request that names a task."""
    return next((turn for turn in reversed(turns) if not turn.trivial), turns[-1])


def _asked_back(last: Turn) -> Iterator[Item]:
    """A question the model ended on, which nobody has answered."""
    if not last.said:
        return
    at, text = last.said[-1]
    tail = prose(text).rstrip()[-600:]
    if tail.endswith(("?", "？")):
        question = sentences.split(tail)[-1]
        if not _OFFER.search(question):
            yield Item(ISSUES, 4, at, ASKED + question, share=50)


def _open_points(spoken: list[tuple[int, str]]) -> Iterator[Entry]:
    for position, text in spoken:
        if "[ ]" in text:
            yield from (Entry(position, found) for found in _UNCHECKED.findall(text))
        if _OPEN.search(text):
            yield from (Entry(position, sentence) for sentence in _sentences(text, _is_open))


def listen(turns: Sequence[Turn]) -> list[Listened]:
    """What the requests of turns are worth looking at for."""
    old, recent = turns[:-_MOST_TURNS], turns[-_MOST_TURNS:]
    return [*(_heard(turn, cues.RULE) for turn in old), *(_heard(turn, cues.DEMAND) for turn in recent)]


def _heard(turn: Turn, cue: cues.Cue) -> Listened:
    """Takes up each word of a request once, for all cues."""
    request = turn.request
    beginning = whole = cues.hear(request[:_BRIEF_REQUEST])
    demands = turn.named and (len(request) <= _LONG_REQUEST or cue is cues.DEMAND)
    if demands and len(request) > _BRIEF_REQUEST:
        whole = cues.hear(request)
    return Listened(turn, cues.DECISION.stands_in(beginning), demands and cue.stands_in(whole))


def _is_open(sentence: str) -> bool:
    return _OPEN.search(sentence) is not None


def decisions(turns: Sequence[Listened]) -> Iterator[Entry]:
    """Sentences that decide or give a reason, the newest first: of the newest texts, and the beginnings of requests."""
    left = _MOST_SPOKEN
    for turn, request_decides, _ in reversed(turns):
        for position, text in reversed(turn.said[-left:]):
            if cues.DECISION.stands_in(cues.hear(text)):
                yield from _decisions(position, text)
        left -= len(turn.said)
        if left > 0 and request_decides:
            yield from _decisions(turn.position, turn.request[:_BRIEF_REQUEST])
        left -= 1
        if left <= 0:
            return


def _decisions(position: int, text: str) -> Iterator[Entry]:
    return (Entry(position, each) for each in _sentences(text, cues.DECISION.holds) if _decides(each))


def _decides(sentence: str) -> bool:
    """Whether a sentence says what was decided; a weak cue counts only beside a name in code or a second cue."""
    if sentence.endswith(("?", "？")) or _LOOKING.search(sentence):
        return False
    return not _WEAK.search(sentence) or "`" in sentence or len(cues.DECISION.pattern.findall(sentence)) > 1


def told_on_the_way(turns: list[Turn]) -> Iterator[Entry]:
    """What the model said at some length before it came to the end of a turn."""
    for turn in turns[-_MOST_TURNS:]:
        for position, text in turn.said[-_MOST_SENTENCES:-1]:
            specific = len(text) > 40 and _SPECIFIC.search(text[:400]) is not None
            if (specific or len(text) > _TELLING) and not (len(text) <= _TELLING and _ROUTINE.match(text)):
                yield Entry(position, one_line(prose(text[:8000])))


def wishes(turns: Sequence[Listened], present: Turn) -> Iterator[Item]:
    """What the person demanded, in their words: standing rules first. What a brief `present` request
    wishes beside its rules stands in the focus already."""
    rules: list[Entry] = []
    brief: list[Entry] = []
    long: list[Entry] = []
    for turn, _, demands in reversed(turns[-_MOST_TURNS:]):
        if len(brief) > _MOST_SENTENCES or len(rules) > _MOST_SENTENCES:
            break
        found = list(_demands(turn, cues.DEMAND)) if demands else []
        if len(turn.request) > _LONG_REQUEST:
            long.extend(found[:4])
            continue
        ruled = [each for each in found if is_rule(each.text)]
        rules.extend(ruled)
        if turn is not present or len(turn.request) >= _BRIEF_REQUEST:
            brief.extend(each for each in found if each not in ruled)
    old = (turn for turn, _, demands in turns[:-_MOST_TURNS] if demands)
    first = (each for turn in old for each in _demands(turn, cues.RULE) if is_rule(each.text))
    rules.extend(islice(first, _MOST_FIRST_RULES))
    yield from newest_first(CONTEXT, RULE_RANK, RULE_STEP, rules, share=60)
    yield from newest_first(CONTEXT, 11, 1, brief, share=40)
    yield from newest_first(CONTEXT, 21, 5, long, share=40)


def _demands(turn: Turn, cue: cues.Cue) -> Iterator[Entry]:
    """The sentences of a request that hold a cue."""
    for sentence in _sentences(turn.request, cue.holds):
        if not _NO_WISH.search(sentence):
            yield Entry(turn.position, sentence)


def is_rule(text: str) -> bool:
    """Whether a sentence of the person's is a rule that stands: always, never, from now on, use this and not that."""
    return not text.endswith(("?", "？")) and cues.RULE.holds(text[:2000])


def only_rules(turn: Turn) -> bool:
    """Whether a brief request is nothing but rules."""
    said = sentences.split(plain(turn.request)) if 0 < len(turn.request) < _BRIEF_REQUEST else []
    return bool(said) and all(map(is_rule, said))


def is_wish(text: str) -> bool:
    """Whether a sentence demands something."""
    return cues.WISH.holds(text[:2000]) and not _NO_WISH.search(text[:2000])


def _sentences(text: str, tells: Callable[[str], bool]) -> Iterator[str]:
    """The sentences of a text that tell something; routine announcements are left out."""
    for sentence in sentences.split(prose(text)):
        sentence = sentence.strip()
        if len(sentence) > 12 and tells(sentence[:2000]) and not _ROUTINE.match(sentence):
            yield one_line(sentence)


def prose(text: str) -> str:
    """A text without its fenced code blocks, unless it is little else, and without Markdown's emphasis."""
    if fences.stand_in(text):
        blocks, after = fences.split(text)
        without = "".join(f"{block.before}{CUT}\n" for block in blocks) + after
        text = without if len(without.strip(" \n…")) > 20 else text
    return plain(text)


def plain(text: str) -> str:
    """A text without Markdown's marks for headings, bullets and emphasis, and without more than one blank line."""
    if "\n" not in text and "**" not in text and not text.lstrip(" \t").startswith(_LINE_MARKS):
        return text.strip()
    return _BLANK_LINES.sub("\n\n", _MARKDOWN.sub("", text)).strip()
