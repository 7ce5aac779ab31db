"""Session files of JSON lines that an agent only appends to: lines it may read and we cannot, and a line put behind."""

from __future__ import annotations

from lithify.transcripts.json_text import line_ending

_BROKEN = ("cut off", "not JSON")


def is_beyond_us(fault: str | None) -> bool:
    """Whether a line with that fault may well be JSON that the agent reads, while it cannot be read here: for it is too
    deep, or holds a number of thousands of digits."""
    return fault is not None and not any(told in fault for told in _BROKEN)


def with_record(text: str, record: str) -> str:
    """The text, and the record (JSON on one line) behind it with a line ending; a missing one first."""
    ending = line_ending(text, 0)
    ending = ending if ending.endswith("\n") else "\n"
    return text + ("" if text.endswith("\n") else ending) + record + ending
