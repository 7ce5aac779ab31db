"""A conversation that is shown in an editor: its text with the messages in it, places as the editor says them, and the
compactions that would do something there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from lithify.core.agents import compaction_enabled
from lithify.core.settings import Conversation
from lithify.lsp import document_wire as wire
from lithify.lsp.documents import offsets_of
from lithify.lsp.positions import Encoding, places_of
from lithify.lsp.session_uris import session_of
from lithify.transcripts.lines import Lines
from lithify.transcripts.model import Fold, TranscriptMessage
from lithify.transcripts.outline import Offer, Outline

if TYPE_CHECKING:
    from lithify.lsp.server import LithifyServer

JsonRange = dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class Offered:
    """A compaction that would do something, and the argument of its command."""

    offer: Offer
    argument: dict[str, Any]


class Compactions(Protocol):
    """The compactions of one conversation; None for one that would change nothing."""

    def up_to(self, index: int, line: int) -> Offered | None:
        """Up to a message, which is asked for on that line."""

    def between(self, start: int, end: int) -> Offered | None:
        """Of the messages [start, end)."""

    def whole(self) -> Offered | None:
        """Of the conversation, but for the tail that is preserved."""


class Nothing:
    """The compactions of a conversation for which compaction is off, which can only be read, or whose text is not up to
    date."""

    def up_to(self, index: int, line: int) -> Offered | None:  # noqa: ARG002
        """None."""
        return None

    def between(self, start: int, end: int) -> Offered | None:  # noqa: ARG002
        """None."""
        return None

    def whole(self) -> Offered | None:
        """None."""
        return None


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """One version of an open conversation. `uri` is the one the editor asked with."""

    uri: str
    lines: Lines
    outline: Outline
    encoding: Encoding
    compactions: Compactions
    read_only: str | None = None
    """Why it can only be read, in a sentence or two; None where it can be compacted."""

    @property
    def messages(self) -> Sequence[TranscriptMessage]:
        """The messages with their places."""
        return self.outline.transcript.messages

    @property
    def folds(self) -> tuple[Fold, ...]:
        """What the tool itself would not send."""
        return self.outline.transcript.folds

    def ranges(self, spans: Iterable[tuple[int, int]]) -> list[JsonRange]:
        """Ranges of LSP, one for each span of characters."""
        listed = list(spans)
        places = places_of(self.lines, (offset for span in listed for offset in span), self.encoding)
        return [{"start": places[start].on_wire(), "end": places[end].on_wire()} for start, end in listed]

    def offsets(self, asked: wire.Range) -> tuple[int, int]:
        """The characters of a range of the editor."""
        return offsets_of(self.lines, asked, self.encoding)

    def message_at(self, offset: int) -> int | None:
        """The message that an offset stands for: the one that holds it, else the one its line stands for."""
        found = self.outline.within(offset, offset + 1)
        return found[1] if found is not None else _message_of_line(self.outline, self.lines, self.lines.line_of(offset))


@dataclass(frozen=True, slots=True)
class DocumentCompactions:
    """The compactions of a transcript, named by its URI."""

    uri: str
    lines: Lines
    outline: Outline
    settings: Conversation

    def up_to(self, index: int, line: int) -> Offered | None:
        """A message is named by its line, where that stands for it, else by its index."""
        anchor = {"line": line} if _message_of_line(self.outline, self.lines, line) == index else {"index": index}
        return self._offered(self.outline.up_to(index, exact=self.settings.exact_anchor), anchor)

    def between(self, start: int, end: int) -> Offered | None:
        """Of the messages [start, end)."""
        offer = self.outline.between(start, end, exact=self.settings.exact_anchor)
        return self._offered(offer, {"start": start, "end": end})

    def whole(self) -> Offered | None:
        """Of the conversation, but for the tail that is preserved."""
        preserved = self.settings.compaction.max_preserved_messages
        return self._offered(self.outline.whole(preserved, exact=self.settings.exact_anchor), {})

    def _offered(self, offer: Offer | None, named: dict[str, int]) -> Offered | None:
        return None if offer is None else Offered(offer, {"uri": self.uri, **named})


async def shown(server: LithifyServer, uri: str, *, as_asked: bool = False) -> ShownDocument | None:
    """The document of that URI as it is now; None for one that is not open, or is no conversation.

    `as_asked`: None also where it was changed before it could be read, so that a place in it may be another one by now.
    """
    if session_of(uri) is not None:
        return await server.session_documents.shown(uri)
    asked = server.documents.find(uri)
    if asked is None:
        return None
    document, reading = await asked.read()
    if as_asked and document is not asked:
        return None
    reason = None if reading is None else await server.read_only.reason(document, reading)
    is_newest = server.documents.find(uri) is document
    if reading is None:
        if is_newest:
            server.read_only.forget(uri)
        return None
    settings, outline = server.settings.conversation, reading.outline
    on = compaction_enabled(settings.compaction.model_dump(by_alias=True))
    offers = on and reason is None
    compactions = DocumentCompactions(uri, document.lines, outline, settings) if offers else Nothing()
    found = ShownDocument(uri, document.lines, outline, server.documents.encoding, compactions, reason)
    if is_newest:
        server.read_only.look(found)
    return found


def _message_of_line(outline: Outline, lines: Lines, line: int) -> int | None:
    """The message that a line stands for."""
    return outline.near_line(lines, line)


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
