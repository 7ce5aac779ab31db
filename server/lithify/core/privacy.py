r"""The scrub: what stands between `<private>` and `</private>` never goes further than this module.

Each span, its tags included, becomes the literal `[REDACTED]`. Whether a tag is meant is decided for the
secret: what is hidden too much costs a memory, what is hidden too little costs the user's trust. So:

* Tags are read in any case, with spaces and attributes, and in every form an encoder on the way may have
  given them: entities (`&lt;`, `&#60;`, `&#x3c`, `&amp;lt;`), JSON escapes at any depth (`\u003c`, `\\u003c`,
  `\u0026lt;`, `<\/private>`, `\"` in attributes), escaped letters (`\u0070rivate`), all of them mixed. An opening
  in one form is closed by any other. Percent-encoding, full-width letters and zero-width characters are not read.
* Spans nest; the outermost pair is one span. One that is never closed goes to the end of its string.
* A tag needs its `>`, or a private tag of the other kind after it: in `<private secret</private>` the first `>` was
  forgotten and the secret is hidden. An opening with neither is no tag. A `>`, and a private tag, inside a
  quoted attribute of an opening are part of the attribute. A closing tag ends at its first `>`.
* A closing tag with nothing open stays as it is.
* `<private/>` opens nothing by itself and stays as it is: in XML it hides nothing. To a browser it opens an
  element; so where a closing tag comes that has nothing else to close, all from the first `<private/>` on is hidden.
* A string is read by itself: a tag cut in two by the border of two strings is none.

One pass over the text, linear in its length whatever it holds; no depth of nesting matters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

REDACTED = "[REDACTED]"
"""What stands in place of a private span."""

MAX_QUOTED_CHARACTERS = 512
"""A quoted attribute that is longer is read as if it had no quotes; the bound keeps the pass linear."""

MAX_MISQUOTED_TAGS = 4
"""Openings of one text whose quotes may take away every `>` up to its end; they open all the same. After the last
of them no tag is read any more: all is hidden, to keep the pass linear."""


def scrub_body(body: dict[str, Any]) -> dict[str, Any]:
    """An event body (wire contract, section 2) without its private spans; the body itself where the word is nowhere.

    In a body of type `message` an open tag stays open over the following turns until it is closed, else to the
    end of the body; each turn it covers holds one `[REDACTED]` for its part. Foreign shapes are scrubbed as
    JSON values. Never changes `body`, never raises.
    """
    if not _any_sign(body):
        return body
    turns = body.get("turns")
    if body.get("type") != "message" or not isinstance(turns, list):
        return _scrubbed_object(body)
    scrubbed = _scrubbed_object({**body, "turns": None})
    open_spans = _OpenSpans()
    scrubbed["turns"] = [_scrubbed_turn(turn, open_spans) for turn in turns]
    return scrubbed


def may_hold_tag(text: str) -> bool:
    """Whether a tag may be in a text, or in any string of a JSON text: the quick look every event gets. The word may be
    there, its letters as they are or one of them escaped."""
    lowered = text.lower()
    return (
        "private" in lowered
        or ("#" in lowered and ("&#" in lowered or "amp;#" in lowered))
        or ("\\" in lowered and ("\\u00" in lowered or "\\u{" in lowered or "\\x" in lowered))
    )


def scrub_text(text: str) -> str:
    """The text with each private span replaced; the same string where there is none. Idempotent."""
    return _scrubbed(text, 0)[0]


def scrub_value(value: Any) -> Any:
    """Any JSON value with its strings and object keys scrubbed, each string by itself.

    The same object where the word `private` is nowhere, else a copy. Keys that become equal all keep their values: an
    unchanged key keeps its name, changed ones are numbered in order: `[REDACTED]`, `[REDACTED] 2`, ...
    """
    return _rebuilt(value, scrub_text) if _any_sign(value) else value


class _OpenSpans:
    """Scrubs strings one after the other, carrying the spans still open from each to the next."""

    def __init__(self) -> None:
        self._depth = 0

    def scrub(self, text: str) -> str:
        scrubbed, self._depth = _scrubbed(text, self._depth)
        return scrubbed


def _scrubbed_turn(turn: Any, open_spans: _OpenSpans) -> Any:
    if not isinstance(turn, dict):
        return _rebuilt(turn, open_spans.scrub)
    scrubbed = _scrubbed_object({**turn, "content": None})
    if "content" in turn:
        scrubbed["content"] = _rebuilt(turn["content"], open_spans.scrub)
    else:
        del scrubbed["content"]
    return scrubbed


# --- values ---------------------------------------------------------------------------------------------------


def _scrubbed_object(value: dict[str, Any]) -> dict[str, Any]:
    scrubbed: dict[str, Any] = _rebuilt(value, scrub_text)
    return scrubbed


def _any_sign(value: Any) -> bool:
    """Whether a string or key anywhere in the value may hold a tag."""
    pending = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            if may_hold_tag(node):
                return True
        elif isinstance(node, dict):
            pending.extend(node)
            pending.extend(node.values())
        elif isinstance(node, (list, tuple)):
            pending.extend(node)
    return False


def _rebuilt(value: Any, scrub: Callable[[str], str]) -> Any:
    """A copy of a JSON value, `scrub` applied to its strings in the order they are written."""
    root: list[Any] = [None]
    pending: list[tuple[Any, Any, Any]] = [(value, root, 0)]
    while pending:
        node, parent, place = pending.pop()
        if isinstance(node, str):
            parent[place] = scrub(node)
        elif isinstance(node, dict):
            keys = _scrubbed_keys(node)
            parent[place] = copy = dict.fromkeys(keys)
            pending.extend(
                (child, copy, key) for key, child in zip(reversed(keys), reversed(node.values()), strict=True)
            )
        elif isinstance(node, (list, tuple)):
            parent[place] = items = [None] * len(node)
            pending.extend((node[index], items, index) for index in range(len(node) - 1, -1, -1))
        else:
            parent[place] = node
    return root[0]


def _scrubbed_keys(node: dict[Any, Any]) -> list[Any]:
    scrubbed = [scrub_text(key) if isinstance(key, str) else key for key in node]
    taken = {new for old, new in zip(node, scrubbed, strict=True) if new is old}
    if len(taken) == len(scrubbed):
        return scrubbed
    uses: dict[str, int] = {}
    keys = []
    for old, new in zip(node, scrubbed, strict=True):
        key = new
        while new is not old and key in taken:
            uses[new] = uses.get(new, 1) + 1
            key = f"{new} {uses[new]}"
        taken.add(key)
        keys.append(key)
    return keys


# --- text -----------------------------------------------------------------------------------------------------


def _scrubbed(text: str, depth: int) -> tuple[str, int]:
    """The text without its spans, the first `depth` of them already open; and how many are open at its end."""
    if not depth and not may_hold_tag(text):
        return text, 0
    spans, depth = _spans(text, depth)
    if not spans:
        return text, depth
    kept = []
    position = 0
    for start, end in spans:
        kept.append(text[position:start])
        position = end
    kept.append(text[position:])
    return REDACTED.join(kept), depth


def _spans(text: str, depth: int) -> tuple[list[tuple[int, int]], int]:
    """The outermost spans in order, none of them empty, and how many are open at the end."""
    spans: list[tuple[int, int]] = []
    opened_at = 0
    self_closed_at: int | None = None
    for kind, start, end in _tags(text):
        if kind == "opening":
            opened_at = opened_at if depth else start
            depth += 1
        elif kind == "self_closing":
            self_closed_at = start if self_closed_at is None else self_closed_at
        elif depth:
            depth -= 1
            if not depth:
                spans.append((opened_at, end))
        elif self_closed_at is not None:
            _cover(spans, self_closed_at, end)
    if depth and opened_at < len(text):
        spans.append((opened_at, len(text)))
    return spans, depth


def _cover(spans: list[tuple[int, int]], start: int, end: int) -> None:
    """Adds a span that ends after all others, and takes in those it meets."""
    while spans and spans[-1][1] > start:
        start = min(start, spans.pop()[0])
    spans.append((start, end))


def _tags(text: str) -> Iterator[tuple[str, int, int]]:
    """Kind (`opening`, `self_closing`, `closing`), start and end of each tag, in order."""
    position = 0
    misquoted = 0
    patterns = _patterns()
    while misquoted < MAX_MISQUOTED_TAGS and (head := patterns.head.search(text, position)):
        closing = head.lastgroup == "slash"
        tail = patterns.closing_tail.search(text, head.end()) if closing else _opening_tail(text, head.end())
        if tail is not None:
            position = tail.start() if tail.lastgroup == "head" else tail.end()
            kind = "closing" if closing else "self_closing" if tail.lastgroup == "slash" else "opening"
        elif not closing and patterns.unquoted_tail.search(text, head.end()):
            misquoted += 1
            position = head.end()
            kind = "opening"
        else:
            return  # no `>` and no tag of the other kind up to the end: nothing after this can be a tag either
        yield kind, head.start(), position


def _opening_tail(text: str, position: int) -> re.Match[str] | None:
    while (tail := _patterns().opening_tail.search(text, position)) and tail.lastgroup == "quoted":
        position = tail.end()
    return tail


# --- the forms of a tag ---------------------------------------------------------------------------------------
# Every part starts with a character of its own, is possessive, and a run of backslashes is only ever entered at its
# first one: no character is looked at more than a bounded number of times.

_SLASHES = r"\\(?<!\\\\)\\*+"
_AMPERSAND = rf"(?:&|{_SLASHES}u0026)(?:amp;)*+"


def _encoded(characters: str, entities: str = "") -> str:
    """A pattern for one of the characters in any encoded form: an entity, a JSON escape."""
    decimal = "|".join(str(ord(character)) for character in characters)
    hexadecimal = "|".join(f"{ord(character):x}" for character in characters)
    numeric = rf"\#0*+(?:{decimal})(?![0-9]);?+|\#x0*+(?:{hexadecimal})(?![0-9a-f]);?+"
    entity = rf"{_AMPERSAND}(?:{numeric}{entities and f'|(?:{entities});?+'})"
    two_digits = "|".join(f"{ord(character):02x}" for character in characters)
    escape = rf"{_SLASHES}(?:(?:u00|x)(?:{two_digits})|u\{{0*+(?:{hexadecimal})\}})"
    return rf"{entity}|{escape}"


def _letters(word: str) -> str:
    return "".join(rf"(?:{letter}|{_encoded(letter + letter.upper())})" for letter in word)


_LESS = rf"(?:<|{_encoded('<', 'lt')})"
_GREATER = rf"(?:>|{_encoded('>', 'gt')})"
_SLASH = rf"(?:/|\\(?<!\\\\)\\*+/|{_encoded('/', 'sol')})"
_SPACE = (
    r"(?:[ \t\n\r\f\v\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
    rf"|{_SLASHES}[ntrf]|{_encoded(' ' + chr(9) + chr(10) + chr(13), 'nbsp|Tab|NewLine')})"
)
_NAME = rf"{_letters('private')}(?={_SPACE}|{_SLASH}|{_GREATER})"
_QUOTE = rf"\\{{0,8}}+[\"']|{_encoded(chr(34) + chr(39), 'quot|apos')}"
_QUOTED = (
    rf"={_SPACE}*+(?P<quote>{_QUOTE})(?>(?s:.){{0,{MAX_QUOTED_CHARACTERS}}}?(?P=quote))(?={_SPACE}|{_SLASH}|{_GREATER})"
)
_OPENING_HEAD = rf"{_LESS}{_SPACE}*+{_NAME}"
_CLOSING_HEAD = rf"{_LESS}{_SPACE}*+{_SLASH}{_SPACE}*+{_NAME}"
_FLAGS = re.IGNORECASE | re.ASCII


class _Patterns(NamedTuple):
    head: re.Pattern[str]
    closing_tail: re.Pattern[str]
    unquoted_tail: re.Pattern[str]
    opening_tail: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    """The patterns, compiled when the first word that looks like a tag comes: most events hold none."""
    quoted, slash = f"(?P<quoted>{_QUOTED})", f"(?P<slash>{_SLASH}{_SPACE}*+{_GREATER})"
    return _Patterns(
        re.compile(rf"{_LESS}{_SPACE}*+(?P<slash>{_SLASH}{_SPACE}*+)?+{_NAME}", _FLAGS),
        re.compile(rf"{_GREATER}|(?P<head>{_OPENING_HEAD})", _FLAGS),
        re.compile(rf"{_GREATER}|{_CLOSING_HEAD}", _FLAGS),
        re.compile(rf"{quoted}|{slash}|{_GREATER}|(?P<head>{_CLOSING_HEAD})", _FLAGS),
    )
