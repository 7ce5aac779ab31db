"""Items from what was said: decisions, the person's rules and wishes, open points, what was told on the way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from lithify.core.digest import fences
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

_DECIDED = re.compile(
    r"(?i)\b(?:let'?s (?:use|go with|keep|switch|stick)|go(?:ing)? with|decided|decision|instead of|rather than|"
    r"because|root cause|the reason|caused by|turns out|trade-?off|opted|switch(?:ed|ing)? (?:to|from)|prefer|"
    r"no longer|rules out|we should|to fix|the real)\b|因為|因为|改用|決定|决定|原因"
)
_WEAK = re.compile(r"(?i)\bwe should\b|\bto fix\b|\blet'?s use\b|\bno longer\b|\bthe real\b")
_LOOKING = re.compile(r"(?i)\bwe should (?:also |first )?(?:check|look|navigate|see|find|open|verify|start|run)")
_WISHED = re.compile(
    r"(?i)\b(?:always|never|don'?t|do not|must(?: not)?|should(?: not|n'?t)?|make sure|ensure|please use|only use|"
    r"avoid|without|at least|at most|no need to)\b|不要|必須|必须|請務必|请务必|確保|确保|不能|避免"
)
_RULED = re.compile(
    r"(?i)(?:^\W{0,8}|[,;:(–—-] ?|\b(?:please|and|but|or|you|we|must|should|to|also|then) )(?:always|never)\b|"
    r"\b(?:from now on|going forward|msrv|minimum supported|edition \d{4}|only use|use only|stick (?:to|with)|"
    r"use [^.;\n]{1,60}?,? (?:not|never|instead of|rather than)|"
    r"(?:keep|leave) [^.;\n]{1,60} (?:unchanged|untouched|intact|stable|as (?:it is|is|they are|before))|"
    r"(?:don'?t|do not|must not) (?:ever )?(?:touch|edit|change|modify|rename|use|remove|delete|commit|push|break)|"
    r"(?:rust|python|node(?:\.?js)?|go|java|ruby|php|typescript|django|react)(?: version)? ?(?:>=|≥)? ?v?\d+(?:\.\d+)*"
    r"(?:\+| (?:or|and) (?:later|newer|above|higher|up))|at least (?:version|v\d|python|rust|node))\b|>= ?\d|"
    r"\d\.\d{1,5}\+|从现在|從現在|始终|始終|总是|總是|永远|永遠"
)
_DEMANDED = re.compile(f"{_WISHED.pattern}|{_RULED.pattern[4:]}", re.M)
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
_BREAK = re.compile(r"(?<=[.!?])\s+|\n+|(?<=[。！？])")
_MARKDOWN = re.compile(r"^[ \t]*(?:#{1,6}|[-*]|>)[ \t]+|\*\*|^-{3,}$|^\|[-| :]+\|\n", re.M)
_LINE_MARKS = ("#", "-", "*", ">", "|")
_BLANK_LINES = re.compile(r"\n[ \t]*\n\s*\n")
_DECIDED_HINTS = (
    "let's ", "lets ", "go with", "going with", "deci", "instead of", "rather than", "cause", "reason", "turns out",
    "trade", "opted", "switch", "prefer", "no longer", "rules out", "we should", "to fix", "the real",
    "因", "改用", "決定", "决定",
)  # fmt: skip
_WISHED_HINTS = (
    "always", "never", "don't", "dont ", "do not", "must", "should", "make sure", "ensure", "please use", "only use",
    "avoid", "without", "at least", "at most", "no need", "不", "必", "請", "请", "確", "确", "避",
)  # fmt: skip
_RULED_HINTS = (
    "always", "never", "don't", "dont ", "do not", "must not", "at least", "from now on", "going forward", "msrv",
    "minimum", "edition", "use ", "only use", "keep ", "leave ", "stick ", ">=", "≥", "+", "later", "newer", "above",
    "higher", "and up", "or up", "从", "從", "始", "总", "總", "永",
)  # fmt: skip
_DEMANDED_HINTS = (*_WISHED_HINTS, *(hint for hint in _RULED_HINTS if hint not in _WISHED_HINTS))


@dataclass(frozen=True, slots=True)
class _Cue:
    """What makes a sentence worth telling. In every text that holds it is one of the `hints`, and in the text in lower
    case is `lowered`: to look for these first is many times faster."""

    pattern: re.Pattern[str]
    hints: tuple[str, ...]
    lowered: re.Pattern[str]

    def stands_in(self, text: str) -> bool:
        """Whether the text holds it."""
        lower = text.lower()
        for hint in self.hints:
            if hint in lower:
                return self.lowered.search(lower) is not None
        return False


def _cue(pattern: re.Pattern[str], hints: tuple[str, ...]) -> _Cue:
    return _Cue(pattern, hints, re.compile(pattern.pattern.removeprefix("(?i)"), pattern.flags & re.M))


_DECISION, _DEMAND, _RULE = _cue(_DECIDED, _DECIDED_HINTS), _cue(_DEMANDED, _DEMANDED_HINTS), _cue(_RULED, _RULED_HINTS)
_BRIEF_REQUEST, _LONG_REQUEST = 600, 1500
RULE_RANK, RULE_STEP = 3.1, 0.3
_RECENT = 3
_TELLING = 140
_SPECIFIC = re.compile(r"\d|`")
_MOST_TURNS, _MOST_SPOKEN, _MOST_SENTENCES = 300, 10_000, 200
_MOST_FIRST_RULES = 100


def items(facts: Facts) -> Iterator[Item]:
    """Everything the talk of a transcript gives, ranked."""
    turns = worth_telling(facts)
    if not turns:
        return
    yield from _asked_back(turns[-1])
    recent = [each for turn in turns[-3:] for each in turn.said[-_RECENT:]]
    yield from newest_first(ISSUES, 9, 5, _open_points(recent), share=30)
    yield from newest_first(CONTEXT, 12, 1.5, islice(decisions(turns), _MOST_SENTENCES), share=40)
    yield from (replace(wish, text=USER + wish.text) for wish in wishes(turns, current(turns)))
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
        question = _BREAK.split(tail)[-1]
        if not _OFFER.search(question):
            yield Item(ISSUES, 4, at, ASKED + question, share=50)


def _open_points(spoken: list[tuple[int, str]]) -> Iterator[Entry]:
    for position, text in spoken:
        if "[ ]" in text:
            yield from (Entry(position, found) for found in _UNCHECKED.findall(text))
        if _OPEN.search(text):
            yield from (Entry(position, sentence) for sentence in _sentences(text, _OPEN))


def decisions(turns: list[Turn]) -> Iterator[Entry]:
    """Sentences that decide or give a reason; a weak cue counts only beside a name in code or a second cue."""
    spoken = [each for turn in turns for each in ((turn.position, turn.request[:_BRIEF_REQUEST]), *turn.said)]
    for position, text in reversed(spoken[-_MOST_SPOKEN:]):
        if _DECISION.stands_in(text):
            yield from (Entry(position, each) for each in _sentences(text, _DECIDED) if _decides(each))


def _decides(sentence: str) -> bool:
    if sentence.endswith(("?", "？")) or _LOOKING.search(sentence):
        return False
    return not _WEAK.search(sentence) or "`" in sentence or len(_DECIDED.findall(sentence)) > 1


def told_on_the_way(turns: list[Turn]) -> Iterator[Entry]:
    """What the model said at some length before it came to the end of a turn."""
    for turn in turns[-_MOST_TURNS:]:
        for position, text in turn.said[-_MOST_SENTENCES:-1]:
            specific = len(text) > 40 and _SPECIFIC.search(text[:400]) is not None
            if (specific or len(text) > _TELLING) and not (len(text) <= _TELLING and _ROUTINE.match(text)):
                yield Entry(position, one_line(prose(text[:8000])))


def wishes(turns: list[Turn], present: Turn) -> Iterator[Item]:
    """What the person demanded, in their words: standing rules first. What a brief `present` request
    wishes beside its rules stands in the focus already."""
    rules: list[Entry] = []
    brief: list[Entry] = []
    long: list[Entry] = []
    for turn in reversed(turns[-_MOST_TURNS:]):
        if len(brief) > _MOST_SENTENCES or len(rules) > _MOST_SENTENCES:
            break
        found = list(_demands(turn, _DEMAND))
        if len(turn.request) > _LONG_REQUEST:
            long.extend(found[:4])
            continue
        ruled = [each for each in found if is_rule(each.text)]
        rules.extend(ruled)
        if turn is not present or len(turn.request) >= _BRIEF_REQUEST:
            brief.extend(each for each in found if each not in ruled)
    first = (each for turn in turns[:-_MOST_TURNS] if len(turn.request) <= _LONG_REQUEST for each in _first_rules(turn))
    rules.extend(islice(first, _MOST_FIRST_RULES))
    yield from newest_first(CONTEXT, RULE_RANK, RULE_STEP, rules, share=60)
    yield from newest_first(CONTEXT, 11, 1, brief, share=40)
    yield from newest_first(CONTEXT, 21, 5, long, share=40)


def _demands(turn: Turn, cue: _Cue) -> Iterator[Entry]:
    """The sentences of a request that hold a cue; a summary's words are not the person's."""
    if turn.named and cue.stands_in(turn.request):
        for sentence in _sentences(turn.request, cue.pattern):
            if not _NO_WISH.search(sentence):
                yield Entry(turn.position, sentence)


def _first_rules(turn: Turn) -> Iterator[Entry]:
    return (each for each in _demands(turn, _RULE) if is_rule(each.text))


def is_rule(text: str) -> bool:
    """Whether a sentence of the person's is a rule that stands: always, never, from now on, use this and not that."""
    return not text.endswith(("?", "？")) and _RULED.search(text[:2000]) is not None


def only_rules(turn: Turn) -> bool:
    """Whether a brief request is nothing but rules."""
    sentences = _BREAK.split(plain(turn.request)) if 0 < len(turn.request) < _BRIEF_REQUEST else []
    return bool(sentences) and all(is_rule(sentence) for sentence in sentences)


def is_wish(text: str) -> bool:
    """Whether a sentence demands something."""
    return _WISHED.search(text[:2000]) is not None and not _NO_WISH.search(text[:2000])


def _sentences(text: str, cue: re.Pattern[str]) -> Iterator[str]:
    """The sentences of a text that hold a cue; routine announcements are left out."""
    for sentence in _BREAK.split(prose(text)):
        sentence = sentence.strip()
        if len(sentence) > 12 and cue.search(sentence[:2000]) and not _ROUTINE.match(sentence):
            yield one_line(sentence)


def prose(text: str) -> str:
    """A text without its fenced code blocks, unless it is little else, and without Markdown's emphasis."""
    blocks, after = fences.split(text)
    if blocks:
        without = "".join(f"{block.before}{CUT}\n" for block in blocks) + after
        text = without if len(without.strip(" \n…")) > 20 else text
    return plain(text)


def plain(text: str) -> str:
    """A text without Markdown's marks for headings, bullets and emphasis, and without more than one blank line."""
    if "\n" not in text and "**" not in text and not text.lstrip(" \t").startswith(_LINE_MARKS):
        return text.strip()
    return _BLANK_LINES.sub("\n\n", _MARKDOWN.sub("", text)).strip()
