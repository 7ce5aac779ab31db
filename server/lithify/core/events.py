"""Events: what happened in a coding session, as it is accepted, stored and staged in the buffer."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from lithify.core.messages import utf8_length
from lithify.core.outcomes import Rejected
from lithify.core.privacy import may_hold_tag, scrub_body, scrub_text, scrub_value
from lithify.core.stored_json import storable_json

EventKind: TypeAlias = Literal["prompt", "tool_use", "session_summary", "note"]
EventState: TypeAlias = Literal["waiting", "buffered", "extracted", "evicted"]
EventStatus: TypeAlias = Literal["buffered", "stored", "duplicate", "rejected"]

MAX_BODY_BYTES = 1_048_576
"""A body is at most this many bytes of UTF-8 JSON."""

REPEATED_NAMES = 256
"""Names of sessions, actors and editors whose stored form is remembered: events repeat them."""


@dataclass(frozen=True, slots=True)
class EventSource:
    """Where an event came from; all optional."""

    surface: str | None = None
    version: str | None = None
    client_id: str | None = None
    project_path: str | None = None


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event as a client sent it, checked for shape, with its defaults filled in; the body is not scrubbed yet."""

    event_id: str
    session_id: str
    actor_id: str
    kind: EventKind
    body: dict[str, Any]
    valid_time: str
    surface: str
    parent_event_id: str | None = None
    content_hash: str | None = None
    source: EventSource = field(default_factory=EventSource)
    id_given: bool = True
    """Whether the client gave the id; a rejected event without one has none in its result."""


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event as it is stored: scrubbed, of a project."""

    event_id: str
    project_id: str
    session_id: str
    actor_id: str
    kind: EventKind
    body_json: str
    valid_time: str
    namespace: str
    surface: str
    parent_event_id: str | None
    content_hash: str | None
    source_json: str


@dataclass(frozen=True, slots=True)
class EventResult:
    """What became of one event; `event_id` is None for an event that came without a usable one."""

    event_id: str | None
    status: EventStatus
    reason: str | None = None


def namespace_of(actor_id: str, project_id: str) -> str:
    """The namespace of a buffer entry (wire contract, section 8)."""
    return f"/actor/{actor_id}/project/{project_id}/"


def project_id_of(real_root: str) -> str:
    """The id of a project: the first 32 hex digits of the SHA-256 of its root's real path."""
    return hashlib.sha256(real_root.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def stored_event(event: NewEvent, project_id: str) -> StoredEvent | Rejected:
    """The event scrubbed and projected; rejected where its body is no JSON or too large."""
    try:
        body_json = storable_json(event.body)
    except (ValueError, TypeError, RecursionError) as error:
        return Rejected(f"body: it cannot be written as JSON ({error})")
    size = utf8_length(body_json)
    if size > MAX_BODY_BYTES:
        return Rejected(f"body: it is {size} bytes of JSON, the limit is {MAX_BODY_BYTES}")
    if may_hold_tag(body_json):
        body_json = storable_json(scrub_body(event.body))
    actor_id = _scrubbed_name(event.actor_id)
    return StoredEvent(
        event_id=event.event_id,
        project_id=project_id,
        session_id=_scrubbed_name(event.session_id),
        actor_id=actor_id,
        kind=event.kind,
        body_json=body_json,
        valid_time=event.valid_time,
        namespace=namespace_of(actor_id, project_id),
        surface=_scrubbed_name(event.surface),
        parent_event_id=event.parent_event_id,
        content_hash=event.content_hash,
        source_json=_source_json(event.source),
    )


def buffer_line(event_id: str, namespace: str, kind: str, body_json: str, timestamp: str, surface: str) -> str:
    """One entry of the buffer as its line, without the newline (wire contract, section 8)."""
    return _one_line(
        f'{{"event_id":{storable_json(event_id)},"namespace":{_name_json(namespace)},"kind":{_name_json(kind)},'
        f'"body":{body_json},"timestamp":{storable_json(timestamp)},"surface":{_name_json(surface)}}}'
    )


def _one_line(text: str) -> str:
    """JSON with the characters escaped that some readers take for the end of a line."""
    if text.isascii():
        return text
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")


@lru_cache(maxsize=REPEATED_NAMES)
def _name_json(name: str) -> str:
    return storable_json(name)


@lru_cache(maxsize=REPEATED_NAMES)
def _scrubbed_name(name: str) -> str:
    return scrub_text(name)


@lru_cache(maxsize=REPEATED_NAMES)
def _source_json(source: EventSource) -> str:
    known = {
        "surface": source.surface,
        "version": source.version,
        "client_id": source.client_id,
        "project_path": source.project_path,
    }
    return storable_json(scrub_value({name: value for name, value in known.items() if value is not None}))
