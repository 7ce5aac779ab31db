"""Makes a text fit a number of bytes, showing every cut."""

from __future__ import annotations

import re

from lithify.core.digest.labels import CUT
from lithify.core.messages import utf8_length

_SIGNATURE = re.compile(
    r"\s*(?:(?:export|default|public|private|protected|internal|static|async|abstract|final|pub(?:\([a-z]+\))?|"
    r"unsafe|override|virtual|declare)\s+)*"
    r"(?:def|class|fn|func|function|interface|type|struct|enum|impl|trait|const|namespace|record|"
    r"CREATE|ALTER|describe|it|test)\b[^=]*\w"
)
_HEADING = re.compile(r"#{1,4} \S")


def one_line(text: str) -> str:
    """The text on one line: lines are joined by a semicolon unless a punctuation mark ends them."""
    if text.isprintable() and "  " not in text:
        return text.strip()
    if "\n" not in text:
        return " ".join(text.split())
    joined: list[str] = []
    for line in text.split("\n"):
        words = line.split()
        if words:
            joined.append(" ".join(words) + (" " if words[-1][-1] in ".,:;!?。，：；！？{(" else "; "))
    return "".join(joined).rstrip(" ;")


def shortened(text: str, limit: int, tail: float = 0.25) -> str:
    """The text in at most `limit` bytes: its head, the cut mark, and the share `tail` of the room for its end."""
    if len(text) <= limit and utf8_length(text) <= limit:
        return text
    room = limit - 5
    if room < 8:
        return CUT if limit >= 3 else ""
    tail_room = int(room * tail) if room >= 80 else 0
    head = _head(text, room - tail_room)
    if not tail_room:
        return f"{head} {CUT}"
    end = _tail(text, tail_room)
    return f"{head} {CUT} {end}" if end else f"{head} {CUT}"


def excerpt(content: str, limit: int) -> str:
    """Lines of a file's content in at most `limit` bytes: all when they fit, else its signatures and its top."""
    content = content.strip("\n")
    if len(content) <= limit and utf8_length(content) <= limit:
        return content
    lines = content.split("\n")
    room = limit - 4
    chosen: set[int] = set()
    for wanted in _by_worth(lines):
        cost = min(utf8_length(lines[wanted]), 160) + 1 + (0 if wanted - 1 in chosen else 4)
        if cost <= room:
            chosen.add(wanted)
            room -= cost
        elif room < 24:
            break
    return _with_gaps(lines, chosen) if chosen else shortened(one_line(content[: limit * 4]), limit)


def _by_worth(lines: list[str]) -> list[int]:
    """Line numbers, the worthiest first: the first two, then signatures of code or headings, then the rest."""
    spoken = [number for number, line in enumerate(lines) if line.strip(" \t+-=#")]
    signatures = [number for number in spoken if _SIGNATURE.match(lines[number][:200])]
    if any(lines[number].startswith("```") for number in spoken):
        signatures = [number for number in spoken if _HEADING.match(lines[number])]
    elif len(signatures) < 3:
        signatures = [number for number in spoken[:40] if _HEADING.match(lines[number])]
    return list(dict.fromkeys([*spoken[:2], *signatures, *spoken]))


def _with_gaps(lines: list[str], chosen: set[int]) -> str:
    shown: list[str] = []
    before = -1
    for number in sorted(chosen):
        if any(line.strip(" \t+-") for line in lines[before + 1 : number]):
            shown.append(CUT)
        shown.append(shortened(lines[number], 160, tail=0.0))
        before = number
    if any(line.strip() for line in lines[before + 1 : before + 50]):
        shown.append(CUT)
    return "\n".join(shown)


def _head(text: str, room: int) -> str:
    head = text[:room].encode("utf-8", "replace")[:room].decode("utf-8", "ignore")
    space = head.rfind(" ")
    return head[:space].rstrip() if space > len(head) - 24 and space > 0 else head.rstrip()


def _tail(text: str, room: int) -> str:
    tail = text[-room:].encode("utf-8", "replace")[-room:].decode("utf-8", "ignore")
    space = tail.find(" ")
    return tail[space:].lstrip() if 0 <= space < 24 else tail.lstrip()
