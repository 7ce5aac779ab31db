"""A transcript that is shown in an editor: its text with what was read in it, and places as the editor says them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lithify.core.agents import compaction_enabled
from lithify.core.settings import Conversation
from lithify.lsp import document_wire as wire
from lithify.lsp.positions import Encoding, offset_of, places_of
from lithify.lsp.server import LithifyServer
from lithify.transcripts.lines import Lines
from lithify.transcripts.model import TranscriptMessage
from lithify.transcripts.outline import Offer, Outline
from lithify.transcripts.reading import Reading

JsonRange = dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """One version of an open transcript. `uri` is the one the editor asked with."""

    uri: str
    lines: Lines
    reading: Reading
    encoding: Encoding

    @property
    def outline(self) -> Outline:
        """The outline of the transcript."""
        return self.reading.outline

    @property
    def messages(self) -> tuple[TranscriptMessage, ...]:
        """The messages with their places."""
        return self.reading.transcript.messages

    def ranges(self, spans: Iterable[tuple[int, int]]) -> list[JsonRange]:
        """Ranges of LSP, one for each span of characters."""
        listed = list(spans)
        places = places_of(self.lines, (offset for span in listed for offset in span), self.encoding)
        return [{"start": places[start].on_wire(), "end": places[end].on_wire()} for start, end in listed]

    def offsets(self, asked: wire.Range) -> tuple[int, int]:
        """The characters of a range of the editor."""
        ends = (asked.start, asked.end)
        first, last = (offset_of(self.lines, one.line, one.character, self.encoding) for one in ends)
        return min(first, last), max(first, last)

    def message_at(self, offset: int) -> int | None:
        """The message that an offset stands for: the one that holds it, else the one its line stands for."""
        found = self.outline.within(offset, offset + 1)
        return found[1] if found is not None else self.message_of_line(self.lines.line_of(offset))

    def message_of_line(self, line: int) -> int | None:
        """The message that a line stands for."""
        return self.outline.near(*self.lines.bounds(line))

    def anchor(self, index: int, line: int) -> dict[str, int]:
        """What names a message in `lithify.compact_up_to_here`: its line, where that stands for it, else its index."""
        return {"line": line} if self.message_of_line(line) == index else {"index": index}


async def shown(server: LithifyServer, uri: str) -> ShownDocument | None:
    """The document of that URI as it is now; None for one that is not open, or is no transcript."""
    document = server.documents.find(uri)
    reading = await document.reading() if document is not None else None
    if document is None or reading is None:
        return None
    return ShownDocument(uri, document.lines, reading, server.documents.encoding)


def can_compact(settings: Conversation) -> bool:
    """Whether compaction is on for documents."""
    return compaction_enabled(settings.compaction.model_dump(by_alias=True))


def up_to_here(document: ShownDocument, index: int, line: int) -> dict[str, Any]:
    """The command that compacts up to a message, which lies on that line, without its title."""
    argument = {"uri": document.uri, **document.anchor(index, line)}
    return {"command": "lithify.compact_up_to_here", "arguments": [argument]}


def amount(offer: Offer) -> str:
    """What a compaction replaces, in words: `14 messages, 31k tokens`."""
    return f"{_counted(offer.messages, str(offer.messages), 'message')}, {tokens(offer.tokens)}"


def tokens(count: int) -> str:
    """A number of tokens in words."""
    if count < 1000:
        shown = str(count)
    elif count < 9_950:
        shown = f"{count / 1000:.1f}k"
    elif count < 999_500:
        shown = f"{count / 1000:.0f}k"
    else:
        shown = f"{count / 1_000_000:.1f}M"
    return _counted(count, shown, "token")


def _counted(count: int, shown: str, thing: str) -> str:
    return f"{shown} {thing}" if count == 1 else f"{shown} {thing}s"
