"""Session files of JSON lines that an agent only appends to: lines it may read and we cannot, and a line put behind."""

from __future__ import annotations

import re

from lithify.core.brief import brief
from lithify.transcripts.json_text import line_ending

_BROKEN = ("cut off", "not JSON")
_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.")


def is_beyond_us(fault: str | None) -> bool:
    """Whether a line with that fault may well be JSON that the agent reads, while it cannot be read here: for it is too
    deep, or holds a number of thousands of digits."""
    return fault is not None and not any(told in fault for told in _BROKEN)


def is_version_within(version: str, oldest: tuple[int, int], newest: tuple[int, int]) -> bool:
    """Whether a version is one of these, by its major and minor number."""
    found = _VERSION.match(version)
    return found is not None and oldest <= (int(found[1]), int(found[2])) <= newest


def newer_version(tool: str, version: str, newest: tuple[int, int]) -> str:
    """Why what a version of a tool wrote can only be read."""
    known = ".".join(map(str, newest))
    return (
        f"It was written by {tool} {brief(version)}; what is known ends at {known}.x, so it can only be read: compact "
        f"it in {tool} itself (/compact), or use a Lithify that knows this version."
    )


def with_record(text: str, record: str) -> str:
    """The text, and the record (JSON on one line) behind it with a line ending; a missing one first."""
    ending = line_ending(text, 0)
    ending = ending if ending.endswith("\n") else "\n"
    return text + ("" if text.endswith("\n") else ending) + record + ending
