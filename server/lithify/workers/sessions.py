"""Sessions: opened, appended to, spliced, closed; what is said in them is fed into the event log.

Everything here runs on the storage thread. A session and the events that come of it change in one transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lithify.core.events import EventSource, NewEvent, StoredEvent, stored_event
from lithify.core.messages import Message
from lithify.core.outcomes import LithifyError, Rejected
from lithify.core.projects import Project
from lithify.core.sessions import SessionInfo
from lithify.core.settings import Settings
from lithify.core.stored_json import same_json, storable_json
from lithify.core.utterances import CALLS_LOOK_BACK, Utterance, said_by
from lithify.workers.ingestion import Ingestion
from lithify.workers.ports import Store

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Opening:
    """A session as a client opens it."""

    session_id: str
    title: str | None
    agent: dict[str, Any] | None
    compaction_model: str | None
    record: str | None
    surface: str
    project: Project
    messages: Sequence[Message]


class SessionKeeper:
    """Applies what clients say of their sessions. Unknown sessions raise LithifyError `unknown_session`."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        ingestion: Ingestion,
        now: Callable[[], str],
        new_id: Callable[[], str],
        actor_id: str,
        on_change: Callable[[Project], None],
    ) -> None:
        self._settings = settings
        self._ingestion = ingestion
        self._now = now
        self._new_id = new_id
        self._actor_id = actor_id
        self._on_change = on_change

    def open(self, store: Store, opening: Opening) -> None:
        """Opens a session, or replaces the one of that id. What both have in common from the start on is kept, with
        its compactions; so the same messages are the same session."""
        texts = _stored_texts(opening.messages)
        store.events.note_project(opening.project)
        with self._recording(store, opening.project) as insert:
            known = store.sessions.find(opening.session_id)
            base = known or self._new_session(opening)
            info = replace(
                base,
                title=opening.title,
                agent=opening.agent,
                compaction_model=opening.compaction_model,
                record=opening.record,
                surface=opening.surface,
                project_id=opening.project.project_id,
                project_root=opening.project.root,
                closed=False,
            )
            store.sessions.put(info)
            spliced = self._replace_messages(store, info, opening.messages, texts, insert)
            if not spliced and (known is None or _told_of(info) != _told_of(known)):
                store.sessions.put(replace(info, revision=base.revision + 1, updated_at=self._now()))

    def append(self, store: Store, session_id: str, messages: Sequence[Message]) -> None:
        """Adds messages at the end."""
        self._splice(store, session_id, None, 0, messages)

    def splice(self, store: Store, session_id: str, start: int, delete_count: int, messages: Sequence[Message]) -> None:
        """Replaces some messages by others. Raises LithifyError `invalid_range`."""
        self._splice(store, session_id, start, delete_count, messages)

    def change(self, store: Store, session_id: str, changes: dict[str, Any]) -> None:
        """Sets the title, agent or compaction model."""
        with store.transaction():
            info = self.found(store, session_id)
            changed = replace(info, **changes)
            if changed != info:
                store.sessions.put(replace(changed, revision=info.revision + 1, updated_at=self._now()))

    def close(self, store: Store, session_id: str) -> None:
        """Marks a session as closed in its editor; it stays as it is."""
        with store.transaction():
            store.sessions.put(replace(self.found(store, session_id), closed=True))

    def delete(self, store: Store, session_id: str) -> None:
        """Forgets a session with its compactions; the events of what was said stay."""
        with store.transaction():
            self.found(store, session_id)
            store.sessions.delete(session_id)

    def found(self, store: Store, session_id: str) -> SessionInfo:
        """The session of that id."""
        info = store.sessions.find(session_id)
        if info is None:
            raise LithifyError(
                "unknown_session",
                f"there is no session {session_id!r}; open it with lithify/didOpenSession "
                "(lithify/listSessions tells those there are)",
            )
        return info

    def _new_session(self, opening: Opening) -> SessionInfo:
        now = self._now()
        return SessionInfo(
            session_id=opening.session_id,
            title=None,
            project_id=opening.project.project_id,
            project_root=opening.project.root,
            agent=None,
            compaction_model=None,
            record=None,
            surface=opening.surface,
            revision=0,
            message_count=0,
            counted_bytes=0,
            created_at=now,
            updated_at=now,
            closed=True,
        )

    def _replace_messages(
        self,
        store: Store,
        info: SessionInfo,
        messages: Sequence[Message],
        texts: Sequence[str],
        insert: Callable[[StoredEvent], bool],
    ) -> bool:
        """Makes these the session's messages; whether that changed anything."""
        session_id = info.session_id
        stored = store.sessions.message_texts(session_id)
        same = _common_prefix(stored, texts)
        changed = same < len(stored) or same < len(messages)
        if changed:
            fresh: list[tuple[Message, str | None]] = [(message, None) for message in messages[same:]]
            store.sessions.splice(session_id, same, len(stored) - same, fresh, self._now())
        if same < len(stored):
            store.compactions.forget_unreachable(session_id)
            store.sessions.nothing_said(session_id)
            for utterance in self._utterances(info, store.compactions.covered(session_id, 0, len(messages)), []):
                store.sessions.said(session_id, utterance.fingerprint)
            same = 0
        self._record(store, info, messages[same:], messages[:same], insert)
        return changed

    def _splice(
        self, store: Store, session_id: str, start: int | None, delete_count: int, messages: Sequence[Message]
    ) -> None:
        """Replaces messages from an index on; None: at the end. What stays the same is left alone."""
        texts = _stored_texts(messages)
        known = self.found(store, session_id)
        with self._recording(store, Project(known.project_id, known.project_root)) as insert:
            info = self.found(store, session_id)
            start = info.message_count if start is None else start
            if not 0 <= start <= start + delete_count <= info.message_count:
                raise LithifyError(
                    "invalid_range",
                    f"start {start} and deleteCount {delete_count} do not fit session {session_id}, which has "
                    f"{info.message_count} messages; open it again with all its messages",
                )
            stored = store.sessions.message_texts(session_id, start, start + delete_count)
            front = _common_prefix(stored, texts)
            back = _common_prefix(stored[front:][::-1], texts[front:][::-1])
            start, end = start + front, start + delete_count - back
            fresh = messages[front : len(messages) - back]
            if start == end and not fresh:
                return
            look_back = max(start - CALLS_LOOK_BACK, 0) if self._mode(info) == "all" else start
            before = store.sessions.messages(session_id, look_back, start)
            for gone, context in (
                (store.sessions.messages(session_id, start, end), before),
                (store.compactions.covered(session_id, start, end), []),
            ):
                for utterance in self._utterances(info, gone, context):
                    store.sessions.unsaid(session_id, utterance.fingerprint)
            store.sessions.splice(session_id, start, end - start, [(message, None) for message in fresh], self._now())
            self._record(store, info, fresh, before, insert)

    def _recording(self, store: Store, project: Project) -> Any:
        self._on_change(project)
        return store.events.accepting(project.project_id, self._settings().buffer.ceiling_bytes)

    def _mode(self, info: SessionInfo) -> str:
        return info.record or self._settings().sessions.record

    def _utterances(
        self, info: SessionInfo, messages: Iterable[Message], before: Sequence[Message]
    ) -> Iterator[Utterance]:
        """What messages say, in order; in `before` the calls are found that the first of them answer."""
        earlier = list(before)
        tools = self._mode(info) == "all"
        for message in messages:
            said = said_by(message, earlier, tools=tools)
            if tools:
                earlier.append(message)
            yield from {utterance.fingerprint: utterance for utterance in said}.values()

    def _record(
        self,
        store: Store,
        info: SessionInfo,
        messages: Iterable[Message],
        before: Sequence[Message],
        insert: Callable[[StoredEvent], bool],
    ) -> None:
        """Inserts what the messages say and was not seen yet."""
        for utterance in self._utterances(info, messages, before):
            if store.sessions.said(info.session_id, utterance.fingerprint):
                event = None if self._mode(info) == "none" else self._event(store, info, utterance)
                if event is not None:
                    insert(event)
                event_id = None if event is None else event.event_id
                store.sessions.note_recorded(info.session_id, utterance.fingerprint, event_id)

    def _event(self, store: Store, info: SessionInfo, utterance: Utterance) -> StoredEvent | None:
        """The event that something said becomes; None where it is not to be recorded."""
        project = Project(info.project_id, info.project_root)
        if self._ingestion.refusal(store.events.recording, utterance.kind, utterance.body, project) is not None:
            return None
        event = NewEvent(
            event_id=self._new_id(),
            session_id=info.session_id,
            actor_id=self._actor_id,
            kind=utterance.kind,
            body=utterance.body,
            valid_time=self._now(),
            surface=info.surface,
            source=EventSource(surface=info.surface, project_path=info.project_root),
        )
        stored = stored_event(event, info.project_id)
        if isinstance(stored, Rejected):
            logger.warning("A message of session %s was not recorded: %s", info.session_id, stored.reason)
            return None
        return stored


def _told_of(info: SessionInfo) -> tuple[Any, ...]:
    """What a client says of a session when it opens it."""
    return info.title, info.agent, info.compaction_model, info.record, info.surface, info.project_id


def _stored_texts(messages: Sequence[Message]) -> list[str]:
    try:
        return [storable_json(message) for message in messages]
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise LithifyError("invalid_params", f"messages: one cannot be written as JSON ({why})") from None


def _common_prefix(texts: Sequence[str], others: Sequence[str]) -> int:
    count = 0
    for one, other in zip(texts, others, strict=False):
        if not same_json(one, other):
            break
        count += 1
    return count
