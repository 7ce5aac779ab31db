"""Reads an earlier summary back: its bullets, its files, and what it was about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from lithify.core.digest.labels import (
    ASSISTANT,
    CODE,
    COMPLETED,
    CONTEXT,
    DELETED,
    EDITED,
    FOCUS,
    ISSUES,
    MORE_LEFT_OUT,
    OLDER_LEFT_OUT,
    READ,
    SECTIONS,
    STATES,
    USER,
    WRITTEN,
)
from lithify.core.digest.shortening import one_line

PREFIX = "Previous context has been compacted"

Bullet: TypeAlias = tuple[str, str]
"""A section and the text of one of its bullets."""

_FOREIGN = ("This session is being continued from a previous conversation", "Context summary:")
_CLOSING = "\nIf you need specific details from before compaction"
_PLACEHOLDER = re.compile(
    r"(?:- )?(?:\[[^\]]*\](?:: ?\[[^\]]*\])?|\.\.\.[\w ]*\.\.\.)|[-*] \(?[Nn](?:one|/[Aa])\)?\.?|\(none\)"
)
_HEADING = re.compile(
    r"^(?:#{1,4} +([^\n]+)|\d{1,2}\. +([^\n:]{3,60}):|\*\*([^*\n]{3,60})\*\*:?|([A-Z][\w &/]{2,40}):) *$", re.M
)
_NOTICE = re.compile(r"^- \((\d{1,9})(?:" + re.escape(OLDER_LEFT_OUT) + "|" + re.escape(MORE_LEFT_OUT) + ")\n?", re.M)
_CODE_SPAN = re.compile(r"`([^`\n]{1,300})`")
_NO_NEWS = re.compile(r"(?i)(?:[\w ]{1,20}: *)?(?:none|n/a|nothing)\b.*", re.S)
_MERE_HEADING = re.compile(r"[\w /&-]{1,30}:")
_END = "\n"
_ISSUE = re.compile(r"(?i)next|pending|todo|blocked|in progress|issue|remaining|open")
_DONE = re.compile(r"(?i)done|completed|accomplished|finished|fixes|state")
_GOAL = re.compile(r"(?i)goal|primary request|current work|focus|objective")


@dataclass(slots=True)
class Earlier:
    """What an earlier summary holds; `files` are (path, state, body). The `request` of a focus in which nobody is
    named as the speaker is not `named`, and `left_out` counts, for each section, what it says was left out."""

    bullets: list[Bullet] = field(default_factory=list)
    files: list[tuple[str, str, str]] = field(default_factory=list)
    request: str = ""
    statement: str = ""
    named: bool = True
    left_out: dict[str, int] = field(default_factory=dict)


def is_summary(text: str, announced: bool) -> bool:
    """Whether a user's text is an earlier summary: announced as one, holding the six tags, or in a known form."""
    if announced or text.startswith(_FOREIGN):
        return True
    return "<current_focus>" in text and all(f"<{section}>" in text for section in SECTIONS)


def parse(text: str) -> Earlier:
    """What an earlier summary says. Placeholders a model left from its template are not taken for facts."""
    found = Earlier()
    if not any(f"<{section}>" in text for section in SECTIONS):
        _parse_headed(found, text)
        return found
    for section in SECTIONS:
        body = _between(text, section)
        body, found.left_out[section] = _without_notices(body)
        if section == CODE:
            found.files.extend(_files(body))
        elif section == FOCUS:
            _focus(found, body)
        else:
            found.bullets.extend((section, bullet) for bullet in _bullets(body))
    return found


def _between(text: str, tag: str) -> str:
    start = text.find(f"<{tag}>")
    if start < 0:
        return ""
    end = text.rfind(f"</{tag}>")
    if end < start:
        # A summary that was cut in its middle may lack the closing tag: the next section ends this one.
        nexts = [text.find(f"<{other}>", start + 1) for other in SECTIONS]
        end = min((at for at in nexts if at > start), default=len(text))
    return text[start + len(tag) + 2 : end].strip("\n")


def _without_notices(body: str) -> tuple[str, int]:
    """A section without its notices of what was left out, and the sum of these."""
    if not _NOTICE.search(body):
        return body, 0
    return _NOTICE.sub("", body), sum(int(number) for number in _NOTICE.findall(body))


def _focus(found: Earlier, body: str) -> None:
    body = "\n".join(line for line in body.split("\n") if line.strip() and not _PLACEHOLDER.fullmatch(line.strip()))
    if not body.startswith((USER, ASSISTANT)):
        body = body.partition("\n" + USER)[0]
        request, _, statement = body.partition("\n" + ASSISTANT)
        found.request, found.statement, found.named = request.strip(), statement.strip(), False
        return
    request, _, statement = ("", "", body) if body.startswith(ASSISTANT) else body.partition("\n" + ASSISTANT)
    found.request = request.strip().removeprefix(USER)
    found.statement = statement.partition("\n" + USER)[0].strip().removeprefix(ASSISTANT)


def _bullets(body: str) -> Iterator[str]:
    """Each bullet on one line; a plain line is a bullet of its own, and bullets under a mere heading stand alone."""
    current: list[str] = []
    for line in [*body.split("\n"), _END]:
        plain = line.strip()
        inner = plain.removeprefix("- ").removeprefix("* ")
        if plain and current and line[0] in " \t" and not _MERE_HEADING.fullmatch(current[0]):
            current.append(inner)
            continue
        if not plain and line != _END:
            continue
        if current and not (_NO_NEWS.fullmatch(current[0]) or _MERE_HEADING.fullmatch(current[0])):
            yield one_line("\n".join(current))
        current = [] if not plain or _PLACEHOLDER.fullmatch(plain) else [inner]


def _files(body: str) -> Iterator[tuple[str, str, str]]:
    for block in body.split("<file>")[1:]:
        path, _, rest = block.partition("</file>")[0].strip("\n").partition("\n")
        first, _, after = rest.partition("\n")
        state = first.rstrip(":").strip()
        if not path.strip() or _PLACEHOLDER.fullmatch(path.strip()):
            continue
        if state in STATES:
            yield path.strip(), state, after
        else:
            yield path.strip(), "", rest.strip("\n")


def _parse_headed(found: Earlier, text: str) -> None:
    """A summary under headings, as other agents write them: each heading says where its lines go."""
    text = (text.partition("\nSummary:\n")[2] or text).partition(_CLOSING)[0]
    headings = list(_HEADING.finditer(text))
    before = text[: headings[0].start()] if headings else text
    if not headings:
        found.bullets.extend((CONTEXT, bullet) for bullet in _bullets(before))
        return
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    for heading, end in zip(headings, ends, strict=True):
        title = next(name for name in heading.groups() if name).strip()
        body = text[heading.end() : end].strip("\n")
        if not body.strip():
            continue
        if title.lower() == "files":
            found.files.extend(_named_files(body))
        elif _GOAL.search(title) and not found.request:
            found.request, found.named = body.strip(), False
        else:
            found.bullets.extend((_section_of(title), bullet) for bullet in _bullets(body))


def _named_files(body: str) -> Iterator[tuple[str, str, str]]:
    for line in body.split("\n"):
        word = line.partition(":")[0].strip(" -*").lower()
        state = {"edited": EDITED, "modified": EDITED, "created": WRITTEN, "deleted": DELETED}.get(word, READ)
        yield from ((path, state, "") for path in _CODE_SPAN.findall(line))


def _section_of(title: str) -> str:
    if _ISSUE.search(title):
        return ISSUES
    return COMPLETED if _DONE.search(title) else CONTEXT
