"""The URIs under which live sessions are documents: `lithify-session:<percent-encoded id>`."""

from __future__ import annotations

from urllib.parse import quote, unquote

SCHEME = "lithify-session:"


def session_uri(session_id: str) -> str:
    """The URI of a session."""
    return SCHEME + quote(session_id, safe="")


def session_of(uri: str) -> str | None:
    """The id of the session that a URI names, however an editor spells it; None for any other URI.

    Some editors take only a URI with slashes behind its scheme for one; an id that begins with a slash has it encoded.
    """
    return unquote(uri[len(SCHEME) :].lstrip("/")) if uri[: len(SCHEME)].lower() == SCHEME else None
