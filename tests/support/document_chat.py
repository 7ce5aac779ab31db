"""The transcript that the tests of documents use."""

from __future__ import annotations

import json

from tests.support.editor import SUMMARY
from tests.support.messages import Message, calling, result, user
from tests.support.transcripts import json_lines

FULL, UP_TO_HERE = "lithify.compact_conversation", "lithify.compact_up_to_here"

CHAT: list[Message] = [
    user("Fix the \U0001f600 sum"),
    calling("c1", "c2"),
    result("c2", "é"),
    result("c1", "x" * 5000),
    {"role": "assistant", "content": "Done \U0001f600."},
    user("Thanks"),
]
"""A group of calls in its midst, and text outside the BMP."""

TEXT = json_lines(CHAT)


def summary_line(text: str = SUMMARY) -> str:
    """The summary of that chat, as it stands in JSON lines: two parts, since a message has no string content."""
    prefix = "<system>Previous context has been compacted. Here is the compaction output:</system>"
    parts = [{"type": "text", "text": prefix}, {"type": "text", "text": text}]
    return json.dumps({"role": "user", "content": parts}, ensure_ascii=False)
