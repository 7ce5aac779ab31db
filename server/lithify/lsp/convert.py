"""Between the shapes of the wire and the values of core."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from lithify.core.agents import CompactionCommand
from lithify.core.compaction_results import Preview, Stats, Summarised
from lithify.core.conversation import Noop, Range
from lithify.core.events import EventResult, EventSource, NewEvent
from lithify.core.model_calls import Answerer, ModelRequest, Usage
from lithify.core.projects import Project
from lithify.core.records import MemoryRecord
from lithify.core.replies import Notice
from lithify.core.settings import Settings
from lithify.core.status import BufferStatus, WorkStatus
from lithify.lsp import wire
from lithify.lsp.errors import field_problems
from lithify.lsp.wire_base import is_ulid
from lithify.workers.document_writing import CompactedDocument, DocumentDraft
from lithify.workers.drafts import Draft
from lithify.workers.session_compaction import Compacted


def new_event(raw: Any, new_id: Callable[[], str], actor_id: str, client_name: str, now: str) -> NewEvent | EventResult:
    """One event as it came, with its defaults filled in; a `rejected` result that names the field when it does not
    fit. The body is carried as it stands."""
    try:
        event = wire.Event.model_validate(raw)
    except ValidationError as error:
        return EventResult(_readable_id(raw), "rejected", field_problems(error))
    source = event.source or wire.Source()
    return NewEvent(
        event_id=event.event_id or new_id(),
        session_id=event.session_id,
        actor_id=event.actor_id or actor_id,
        kind=event.kind,
        body=raw["body"],
        valid_time=event.valid_time or now,
        surface=source.surface or client_name,
        parent_event_id=event.parent_event_id,
        content_hash=event.content_hash,
        source=EventSource(source.surface, source.version, source.client_id, source.project_path),
        id_given=event.event_id is not None,
    )


def _readable_id(raw: Any) -> str | None:
    given = raw.get("eventId") if isinstance(raw, dict) else None
    return given.upper() if isinstance(given, str) and is_ulid(given) else None


def event_result(result: EventResult) -> dict[str, Any]:
    """The wire's result of one event."""
    shown: dict[str, Any] = {"eventId": result.event_id, "status": result.status}
    if result.reason is not None:
        shown["reason"] = result.reason
    return shown


def project_uri(project: Project) -> str:
    """The file URI of a project's root."""
    return root_uri(project.root)


def root_uri(root: str) -> str:
    """The file URI of an absolute path."""
    return Path(root).as_uri()


def camel(name: str) -> str:
    """A name as it is written on the wire."""
    return to_camel(name)


def buffer_status(status: BufferStatus, settings: Settings) -> dict[str, Any]:
    """The wire's BufferStatus."""
    buffer = settings.buffer
    shown: dict[str, Any] = {
        "projectId": status.project.project_id,
        "projectUri": project_uri(status.project),
        "sizeBytes": status.size.size_bytes,
        "entries": status.size.entries,
        "thresholds": {
            "extractionBytes": buffer.extraction_bytes,
            "compactionBytes": buffer.compaction_bytes,
            "ceilingBytes": buffer.ceiling_bytes,
        },
        "state": status.state,
        "extraction": _work(status.extraction, settings.extraction.enabled),
        "compaction": _work(status.compaction, settings.buffer_compaction.enabled, method=True),
        "waiting": status.counts.waiting,
        "records": status.counts.records,
        "recording": status.counts.recording,
        "background": {
            "modelCallsLastHour": status.model_calls_last_hour,
            "tokensLastHour": status.tokens_last_hour,
            "paused": status.paused,
        },
    }
    if status.problem is not None:
        shown["problem"] = status.problem
    return shown


def _work(work: WorkStatus, enabled: bool, *, method: bool = False) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "enabled": enabled,
        "inFlight": work.in_flight,
        "breaker": work.phase,
        "failures": work.run.breaker.failures,
    }
    if work.run.last_run_at is not None:
        shown["lastRunAt"] = work.run.last_run_at
    if work.run.last_error is not None:
        shown["lastError"] = work.run.last_error
    if method and work.run.last_method is not None:
        shown["lastMethod"] = work.run.last_method
    if (last := work.run.last_answerer) is not None:
        shown["lastProvider"] = last.provider
        if last.model is not None:
            shown["lastModel"] = last.model
    return shown


def answerer(who: Answerer | None) -> dict[str, str]:
    """Who answered, as it stands in a result; nothing where nobody did."""
    if who is None:
        return {}
    return {"provider": who.provider} if who.model is None else {"provider": who.provider, "model": who.model}


def record(one: MemoryRecord) -> dict[str, Any]:
    """The wire's Record."""
    shown: dict[str, Any] = {
        "recordId": one.record_id,
        "projectId": one.project_id,
        "type": one.type,
        "title": one.title,
        "summary": one.summary,
        "facts": list(one.facts),
        "concepts": list(one.concepts),
        "files": list(one.files),
        "sourceEventIds": list(one.source_event_ids),
        "createdAt": one.created_at,
        "method": one.method,
    }
    if one.score is not None:
        shown["score"] = one.score
    return shown


def compaction_command(params: wire.CompactConversation | wire.CompactUpToHere) -> CompactionCommand:
    """What the user asks for, from either of the two commands."""
    by_range = isinstance(params, wire.CompactConversation)
    return CompactionCommand(
        start=params.start if by_range else None,
        end=params.end if by_range else None,
        up_to=None if isinstance(params, wire.CompactConversation) else params.index,
        up_to_id=None if isinstance(params, wire.CompactConversation) else params.message_id,
        instructions=params.instructions or "",
        prompt=params.prompt,
        compaction_model=params.compaction_model,
        settings_overrides=params.settings_overrides or {},
        max_preserved_messages=params.max_preserved_messages if isinstance(params, wire.CompactConversation) else None,
        exact=params.exact,
        digest=params.digest,
    )


def noop(result: Noop) -> dict[str, Any]:
    """The wire's no-op."""
    return {"type": "noop", "reason": result.reason}


def preview(result: Preview) -> dict[str, Any]:
    """The wire's preview."""
    return {
        "type": "preview",
        "range": _range(result.plan.range),
        "requestedRange": _range(result.plan.requested),
        "requests": result.requests,
        "request": _request(result.request),
        "stats": _stats(result.stats),
        "promptSource": result.prompt_source,
        "digest": result.digest,
    }


def compacted(result: Compacted) -> dict[str, Any]:
    """The wire's result of a compaction that was applied to a session."""
    return {
        "type": "compacted",
        "compactionId": result.compaction_id,
        "sessionId": result.session_id,
        "revision": result.changed.revision,
        **_summarised(result.summarised),
        "messages": result.changed.messages,
    }


def compacted_document(result: CompactedDocument) -> dict[str, Any]:
    """The wire's result of a compaction that was applied to a document."""
    return {
        "type": "compacted",
        "compactionId": result.compaction_id,
        "uri": result.uri,
        **_summarised(result.summarised),
    }


def draft(result: Draft) -> dict[str, Any]:
    """The wire's result of a compaction that waits to be applied to a session."""
    shown = _summarised(result.summarised)
    return {"type": "draft", "draftId": result.draft_id, "sessionId": result.target, **shown}


def document_draft(result: DocumentDraft) -> dict[str, Any]:
    """The wire's result of a compaction that waits to be applied to a document."""
    shown = _summarised(result.summarised)
    return {"type": "draft", "draftId": result.draft_id, "uri": result.found.uri, **shown}


def _summarised(done: Summarised) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "range": _range(done.plan.range),
        "requestedRange": _range(done.plan.requested),
        "summary": done.summary,
        "stats": _stats(done.stats),
        "method": done.method,
        "provider": done.provider,
        "promptSource": done.prompt_source,
        "warnings": [_notice(one) for one in done.warnings],
    }
    if done.model is not None:
        shown["model"] = done.model
    if done.usage is not None:
        shown["usage"] = _usage(done.usage)
    return shown


def _request(request: ModelRequest) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "systemPrompt": request.system_prompt,
        "message": {"role": "user", "content": [{"type": "text", "text": part} for part in request.parts]},
        "tools": [],
        "settings": request.settings,
    }
    if request.model is not None:
        shown["model"] = request.model
    return shown


def _range(value: Range) -> dict[str, int]:
    return {"start": value.start, "end": value.end}


def _stats(stats: Stats) -> dict[str, int]:
    return {
        "messagesBefore": stats.messages_before,
        "messagesAfter": stats.messages_after,
        "tokensBefore": stats.tokens_before,
        "tokensAfter": stats.tokens_after,
        "durationMs": stats.duration_ms,
    }


def _usage(usage: Usage) -> dict[str, int]:
    counts = {"inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens}
    return {name: count for name, count in counts.items() if count is not None}


def _notice(one: Notice) -> dict[str, str]:
    return {"code": one.code, "message": one.message}
