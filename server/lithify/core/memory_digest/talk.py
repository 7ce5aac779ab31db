"""Drafts from what was said: decisions with their reasons, and what a session was about."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lithify.core.digest import talk
from lithify.core.digest.gathering import Turn
from lithify.core.digest.labels import ASSISTANT, FAILED, THEN, USER
from lithify.core.digest.shortening import one_line, shortened
from lithify.core.memory_digest.drafts import FACT_BYTES, Draft, drafted
from lithify.core.memory_digest.reading import Reading

MOST_DECISIONS = 4
MOST_SUMMARIES = 6

_STRONG = re.compile(
    r"(?i)\b(?:decided|decision|instead of|rather than|trade-?off|opted|go(?:ing)? with|switch(?:ed|ing)? (?:to|from)|"
    r"prefer)|改用|決定|决定"
)
_REASON = re.compile(r"(?i)\b(?:because|since|so that|root cause|the reason|caused by|turns out)\b|因為|因为|原因")
_RULE = re.compile(
    r"(?i)\b(?:always|never|don'?t|do not|must(?: not)?|avoid|only|at least|at most)\b|不要|必須|必须|不能|避免"
)
_REQUEST = re.compile(r"(?i)(?:can|could|would|will) you\b")
_MOST_SENTENCES = 120
_MOST_WISHES = 6
_LINES = re.compile(r"\n+")
_BULLET = re.compile(r"^[-*] ")
_TRIVIAL_LENGTH = 12


def drafts(reading: Reading) -> Iterator[Draft]:
    """Decisions, what the user asked to be kept to, what the session was about, and summaries that stand there."""
    turns = [turn for turn in reading.facts.turns if (turn.request or turn.said) and not turn.idle]
    yield from _decisions(turns)
    yield from _wishes(turns)
    yield from _session(reading, turns)
    yield from _earlier(reading)


def _decisions(turns: list[Turn]) -> Iterator[Draft]:
    """One draft for each message that decides something, the weightiest ones."""
    by_message: dict[int, list[str]] = {}
    for nth, found in enumerate(talk.decisions(talk.listen(turns))):
        if nth >= _MOST_SENTENCES:
            break
        by_message.setdefault(found.position, []).append(found.text)
    weighed = sorted(((_weight(said), at, said) for at, said in by_message.items()), reverse=True)
    for weight, position, said in weighed[:MOST_DECISIONS]:
        if weight > 0:
            best = max(said, key=lambda sentence: _weight([sentence]))
            asked = [turn.position for turn in turns if turn.position <= position][-1:]
            yield drafted("decision", 60 + 4 * weight, best, " ".join(said), [position, *asked], facts=said)


def _weight(said: list[str]) -> int:
    text = " ".join(said)
    strong, reasons = len(_STRONG.findall(text)), len(_REASON.findall(text))
    return min(3 * strong + 2 * reasons + ("`" in text), 8)


def _wishes(turns: list[Turn]) -> Iterator[Draft]:
    """What the user wants always or never, in one draft."""
    wished = [item for item in talk.wishes(talk.listen(turns), Turn(-1, "")) if _lasts(item.text)][:_MOST_WISHES]
    wished.sort(key=lambda item: item.position)
    if wished:
        texts = [item.text for item in wished]
        positions = [item.position for item in wished]
        yield drafted("decision", 62, USER + texts[0], "\n".join(USER + each for each in texts), positions, facts=texts)


def _lasts(wish: str) -> bool:
    """Whether a wish is a rule to keep to, not a request for one thing."""
    return _RULE.search(wish) is not None and _REQUEST.match(wish) is None


def _session(reading: Reading, turns: list[Turn]) -> Iterator[Draft]:
    """What was asked first, how each request ended, and the last word with what it answers."""
    asked = [turn for turn in turns if not turn.trivial and len(turn.request) >= _TRIVIAL_LENGTH]
    ended = [turn for turn in turns if turn.statement()[1]]
    if not asked and not ended:
        return
    first = asked[0] if asked else ended[0]
    request = one_line(talk.plain(first.request[:4000])) if asked else ""
    at, last = ended[-1].statement() if ended else (first.position, "")
    outcome = one_line(talk.prose(last[:8000]))
    before = [turn for turn in asked if turn.position <= at]
    answered = one_line(talk.plain(before[-1].request[:4000])) if before and before[-1] is not first else ""
    facts = [_ended(turn) for turn in (asked or ended)[-8:]]
    changed = list(reading.facts.changed_paths)[-6:]
    yield drafted(
        "session_summary",
        75,
        request or outcome,
        "\n".join(
            line
            for line in (
                USER + shortened(request, 500) if request else "",
                USER + shortened(answered, 300) if answered else "",  # it may be of another chat than the first one
                ASSISTANT + shortened(outcome, 600) if outcome else "",
                *_todos(reading),
            )
            if line
        ),
        {first.position, at, *(turn.position for turn in asked[-8:]), *(turn.statement()[0] for turn in ended[-8:])},
        facts=facts if len(turns) > 1 else [],
        paths=changed,
    )


def _ended(turn: Turn) -> str:
    """A request with where it ended."""
    request = shortened(one_line(talk.plain(turn.request[:2000])), FACT_BYTES // 2)
    outcome = shortened(one_line(talk.prose(turn.statement()[1][:4000])), FACT_BYTES // 2)
    return THEN.join(each for each in (request, outcome) if each)


def _todos(reading: Reading) -> Iterator[str]:
    open_points = [f"[{state}] {text}" for text, (_, state) in reading.facts.todos.items() if state != "completed"]
    if open_points:
        yield shortened("; ".join(open_points), 300)


def _earlier(reading: Reading) -> Iterator[Draft]:
    """Summaries that stand among the entries, taken over as they are; the newest ones."""
    for position, text in reading.summaries[-MOST_SUMMARIES:]:
        lines = list(dict.fromkeys(_BULLET.sub("", line.strip()) for line in _LINES.split(text) if line.strip()))
        telling = [line for line in lines if FAILED in line or _STRONG.search(line) or _REASON.search(line)]
        title = next((line for line in lines if line.startswith(USER)), lines[0]).removeprefix(USER)
        yield drafted("session_summary", 72, title, "\n".join(lines), [position], facts=[*telling, *lines])
