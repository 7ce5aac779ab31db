"""A live session written as a document: its messages with their places, and whether a text is still that document."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lithify.core.messages import Message
from lithify.core.range_digests import PrefixDigests
from lithify.core.sessions import SessionInfo
from lithify.transcripts.lines import Lines
from lithify.transcripts.model import Transcript, TranscriptMessage
from lithify.transcripts.outline import Outline
from lithify.transcripts.session_markdown import write_session

FORMAT = "lithify-session"
"""What a session's document is called among the formats of transcripts; nothing is ever recognised as one."""


@dataclass(frozen=True, slots=True)
class WrittenSession:
    """A session as it was at one time. `ends`: how long the document is, its line endings made alike, that shows so
    many messages."""

    info: SessionInfo
    messages: list[Message]
    unique_ids: frozenset[str]
    lines: Lines
    outline: Outline
    digests: PrefixDigests
    ends: dict[int, int]

    @property
    def text(self) -> str:
        """The document."""
        return self.lines.text

    def placed(self, lines: Lines) -> Sequence[TranscriptMessage] | None:
        """The messages with their places in a text of the editor; None where it is neither this document nor that of
        the session's first messages. Line endings count as alike: some editors make all of a text the same."""
        if lines.text == self.text:
            return self.outline.transcript.messages
        text = _alike(lines.text)
        count = self.ends.get(len(text)) if _alike(self.text).startswith(text) else None
        if count is None:
            return None
        return tuple(
            TranscriptMessage(one.message, self._there(one.start, lines), self._there(one.end, lines))
            for one in self.outline.transcript.messages[:count]
        )

    def _there(self, offset: int, lines: Lines) -> int:
        """The same place in a text of the same lines."""
        line = self.lines.line_of(offset)
        begin, end = lines.bounds(line)
        return min(begin + offset - self.lines.starts[line], end)


def written(info: SessionInfo, texts: Sequence[str]) -> WrittenSession:
    """The document of a session, of its messages as JSON. Takes time linear in them."""
    messages: list[Message] = [json.loads(text) for text in texts]
    document = write_session(info.title or f"Session {info.session_id}", messages)
    lines = Lines(document.text)
    placed = tuple(
        TranscriptMessage(message, start, end) for message, (start, end) in zip(messages, document.places, strict=True)
    )
    ids = Counter(message.get("id") for message in messages)
    return WrittenSession(
        info=info,
        messages=messages,
        unique_ids=frozenset(one for one, count in ids.items() if one and count == 1),
        lines=lines,
        outline=Outline(Transcript(FORMAT, placed, ())),
        digests=PrefixDigests(messages),
        ends=_ends(document.text, [document.end_of(count) for count in range(len(messages) + 1)]),
    )


def _ends(text: str, ends: Sequence[int]) -> dict[int, int]:
    """How many messages each length stands for, a pair of line ending characters counted once."""
    found, pairs, before = {}, 0, 0
    for count, end in enumerate(ends):
        pairs += text.count("\r\n", before, end)
        found[end - pairs] = count
        before = end
    return found


def _alike(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
