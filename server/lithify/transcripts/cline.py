"""The messages of a task of Cline or Roo Code, `api_conversation_history.json`: an array in Anthropic's shape.

It is read like any such array. Both keep elsewhere which of the messages they leave out when they go on, counted from
the front, so a file of theirs is never written. Only the name tells it from other arrays: the same messages under
another name are nobody's session.
"""

from __future__ import annotations

import re

from lithify.core.messages import Message, role_of
from lithify.core.outcomes import LithifyError
from lithify.transcripts import openai_json
from lithify.transcripts.model import Stamp, Transcript

name = "cline"

_FILE_NAME = re.compile(r"(?:.*[/\\])?api_conversation_history\.json", re.DOTALL)
_REASON = (
    "Cline and Roo Code count its messages elsewhere, and would go on with the wrong ones: it can only be read, "
    "and a copy under another name can be compacted."
)


def recognise(text: str, name: str) -> bool:
    """Whether it is a file of that name with messages in it."""
    return _FILE_NAME.fullmatch(name) is not None and openai_json.recognise(text, name)


def parse(text: str) -> Transcript:
    """The messages of the array; in Anthropic's shape there are two roles."""
    found = openai_json.parse(text)
    messages = tuple(one for one in found.messages if role_of(one.message) in ("user", "assistant"))
    return Transcript(name, messages, found.problems, writable=False, read_only_reason=_REASON)


def write(text: str, transcript: Transcript, start: int, end: int, summary: Message, stamp: Stamp) -> str:  # noqa: ARG001 - read-only
    """Never done."""
    raise LithifyError("unsupported_document", _REASON)
