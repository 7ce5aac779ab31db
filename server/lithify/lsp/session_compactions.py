"""The compactions of a live session that is shown as a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lithify.core.agents import CompactionOptions
from lithify.core.range_digests import range_digest
from lithify.lsp.shown_document import Offered
from lithify.transcripts.outline import Offer
from lithify.workers.written_session import WrittenSession


@dataclass(frozen=True, slots=True)
class SessionCompactions:
    """What can be compacted of a session of which the first `count` messages are shown.

    What reaches over messages that are not shown is not offered. A range carries the digest of its messages.
    """

    session: WrittenSession
    options: CompactionOptions
    count: int

    def up_to(self, index: int, line: int) -> Offered | None:  # noqa: ARG002 - lines say nothing to a session
        """A message is named by its id, where no other one has it, else by its index."""
        message_id = self.session.messages[index].get("id")
        anchor = {"messageId": message_id} if message_id in self.session.unique_ids else {"index": index}
        return self._offered(self.session.outline.up_to(index, exact=self.options.exact), anchor)

    def between(self, start: int, end: int) -> Offered | None:
        """Of the messages [start, end)."""
        offer = self.session.outline.between(start, end, exact=self.options.exact)
        return self._offered(offer, {"start": start, "end": end})

    def whole(self) -> Offered | None:
        """Of all that the session holds when the command comes, but for its tail: it names no message."""
        offer = self.session.outline.whole(self.options.max_preserved_messages, exact=self.options.exact)
        return None if offer is None else Offered(offer, {"sessionId": self.session.info.session_id})

    def _offered(self, offer: Offer | None, named: dict[str, Any]) -> Offered | None:
        if offer is None or offer.range.end > self.count:
            return None
        start, end = offer.range.start, offer.range.end
        digest = range_digest(self.session.messages[start:end]) if start else self.session.digests.up_to(end)
        return Offered(offer, {"sessionId": self.session.info.session_id, **named, "digest": digest})
