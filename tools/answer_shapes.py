"""What the server says over the wire, as shapes: `protocol.ts` is made from them, and the page's examples must fit.

The server makes its answers as plain objects, so these shapes are the client's view of them. A key that is added later
does no harm; one that is missing or of another type fails a test.
"""

from __future__ import annotations

from typing import Any, Literal

from lithify.lsp.wire import AgentConfig
from lithify.lsp.wire_base import Message, Wire

Provider = Literal["editor", "acp", "http", "offline"]
Breaker = Literal["closed", "open", "half_open"]
Purpose = Literal["conversation", "buffer", "extraction"]


class Thresholds(Wire):
    extraction_bytes: int
    compaction_bytes: int
    ceiling_bytes: int


class WorkStatus(Wire):
    enabled: bool
    in_flight: bool
    breaker: Breaker
    failures: int
    last_run_at: str | None = None
    last_error: str | None = None
    last_method: Literal["model", "eviction", "offline"] | None = None
    last_provider: str | None = None
    last_model: str | None = None


class BackgroundStatus(Wire):
    model_calls_last_hour: int
    tokens_last_hour: int
    paused: bool


class BufferStatus(Wire):
    project_id: str
    project_uri: str
    size_bytes: int
    entries: int
    thresholds: Thresholds
    state: Literal["idle", "extracting", "compacting", "full", "degraded"]
    extraction: WorkStatus
    compaction: WorkStatus
    waiting: int
    records: int
    recording: bool
    background: BackgroundStatus
    problem: str | None = None


class EventResult(Wire):
    event_id: str | None
    status: Literal["buffered", "stored", "duplicate", "rejected"]
    reason: str | None = None


class EventResults(Wire):
    results: list[EventResult]


class RecordingState(Wire):
    recording: bool
    project_uri: str


class ExtractionResult(Wire):
    extracted: int
    records: int
    remaining: int
    method: str | None = None
    provider: str | None = None
    model: str | None = None
    reason: Literal["nothing_waiting", "nothing_worth_keeping"] | None = None
    problem: str | None = None


class BufferCompactionResult(Wire):
    size_before: int
    size_after: int
    entries_before: int
    entries_after: int
    method: str | None
    provider: str | None = None
    model: str | None = None
    problem: str | None = None


class MemoryRecord(Wire):
    record_id: str
    project_id: str
    type: Literal["tool_use", "decision", "error", "discovery", "pattern", "session_summary"]
    title: str
    summary: str
    facts: list[str]
    concepts: list[str]
    files: list[str]
    source_event_ids: list[str]
    created_at: str
    method: Literal["model", "offline"]
    score: float | int | None = None


class MemoryRecords(Wire):
    records: list[MemoryRecord]
    cursor: str | None = None


class Forgotten(Wire):
    forgotten: Literal[True]


class MessageRange(Wire):
    start: int
    end: int


class CompactionStats(Wire):
    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    duration_ms: int


class Usage(Wire):
    input_tokens: int | None = None
    output_tokens: int | None = None


class Notice(Wire):
    code: str
    message: str


class _Summarised(Wire):
    session_id: str | None = None
    uri: str | None = None
    range: MessageRange
    requested_range: MessageRange
    summary: Message
    stats: CompactionStats
    method: Literal["model", "offline"]
    provider: Provider
    model: str | None = None
    prompt_source: str
    usage: Usage | None = None
    warnings: list[Notice]


class Compacted(_Summarised):
    type: Literal["compacted"]
    compaction_id: str
    revision: int | None = None
    messages: list[Message] | None = None


class Draft(_Summarised):
    type: Literal["draft"]
    draft_id: str


class Noop(Wire):
    type: Literal["noop"]
    reason: Literal["empty", "preserve_none", "too_few_messages", "nothing_before_tail", "system_only"]


class TextPart(Wire):
    type: Literal["text"]
    text: str


class ModelMessage(Wire):
    role: Literal["user"]
    content: list[TextPart]


class PreviewedRequest(Wire):
    system_prompt: str
    message: ModelMessage
    tools: list[Any]
    model: str | None = None
    settings: dict[str, Any]


class Preview(Wire):
    type: Literal["preview"]
    range: MessageRange
    requested_range: MessageRange
    requests: int
    request: PreviewedRequest
    stats: CompactionStats
    prompt_source: str
    digest: str | None = None


class PreviewDocument(Wire):
    """`lithify.preview_compaction`: the preview as a text, which the server has the editor show."""

    type: Literal["preview_document"]
    uri: str
    language_id: str
    text: str


class Undone(Wire):
    session_id: str | None = None
    uri: str | None = None
    compaction_id: str
    revision: int | None = None
    messages: list[Message] | None = None
    restored_uri: str | None = None


class Discarded(Wire):
    discarded: Literal[True]


class KeptCompaction(Wire):
    compaction_id: str
    at: str
    range: MessageRange
    stats: CompactionStats
    undone: bool


class Session(Wire):
    session_id: str
    title: str | None = None
    project_uri: str | None = None
    compaction_model: str | None = None
    revision: int
    messages: list[Message]
    compactions: list[KeptCompaction]
    agent: AgentConfig | None
    record: Literal["turns", "all", "none"]
    closed: bool
    created_at: str
    updated_at: str


class ListedSession(Wire):
    session_id: str
    title: str | None = None
    project_uri: str | None = None
    messages: int
    tokens: int
    updated_at: str


class ListedSessions(Wire):
    sessions: list[ListedSession]
    cursor: str | None = None


class SessionStatus(Wire):
    messages: int
    tokens: int
    window: int | None = None
    share: float | int | None = None


class SessionAction(Wire):
    command: str
    title: str
    target: Literal["session", "message"]


class OfferedActions(Wire):
    actions: list[SessionAction]


class SessionChanged(Wire):
    session_id: str
    revision: int
    reason: Literal["compacted", "undone"]
    messages: list[Message]


class ShownSession(Wire):
    uri: str
    language_id: str
    text: str


class FoundSession(Wire):
    uri: str
    agent: str
    session_id: str | None = None
    version: str | None = None
    title: str | None = None
    project: str | None = None
    messages: int
    tokens: int
    updated_at: str
    live: bool | None
    writable: bool
    reason: str | None = None
    resume_command: str | None = None


class FoundSessions(Wire):
    sessions: list[FoundSession]
    more: bool | None = None


class ShownCall(Wire):
    id: str
    name: str
    arguments: str


class ShownMessage(Wire):
    role: str
    text: str
    tool_calls: list[ShownCall]
    answers: list[str]
    tokens: int
    compactable: bool
    thought: str | None = None
    media: int | None = None
    summary: bool | None = None


class ShownFold(Wire):
    title: str
    messages: int


class DocumentCompaction(Wire):
    compaction_id: str
    at: str
    undone: bool


class ShownConversation(Wire):
    """`lithify/getAgentSession`: a session of an agent, or another transcript, as people read it."""

    uri: str
    agent: str | None = None
    session_id: str | None = None
    version: str | None = None
    title: str | None = None
    project: str | None = None
    messages: list[ShownMessage]
    tokens: int
    updated_at: str | None = None
    live: bool | None
    writable: bool
    reason: str | None = None
    resume_command: str | None = None
    folds: list[ShownFold]
    compactions: list[DocumentCompaction]


class CompleteParams(Wire):
    """`lithify/complete`: what the editor's model is asked."""

    request_id: str
    purpose: Purpose
    user_initiated: bool
    model: str | None = None
    system_prompt: str
    message: ModelMessage
    tools: list[Any]
    max_output_tokens: int | None = None
    timeout_ms: int
    settings: dict[str, Any] | None = None


class Completion(Wire):
    """The editor's answer to `lithify/complete`."""

    text: str
    model: str | None = None
    stop_reason: str | None = None
    usage: Usage | None = None


class CancelComplete(Wire):
    request_id: str


class InstructionsQuestion(Wire):
    """`lithify/askInstructions`: what the user wants a compaction to heed is asked for."""

    title: str
    note: str | None = None


class Instructions(Wire):
    """The editor's answer: null where the user gave up."""

    instructions: str | None


class FailureData(Wire):
    """`data` of an error of the server's."""

    type: str
    retryable: bool


ANSWERS: dict[str, tuple[type[Wire], ...]] = {
    "lithify/recordEvents": (EventResults,),
    "lithify/bufferStatus": (BufferStatus,),
    "lithify/getSession": (Session,),
    "lithify/listSessions": (ListedSessions,),
    "lithify/sessionStatus": (SessionStatus,),
    "lithify/sessionActions": (OfferedActions,),
    "lithify.set_recording": (RecordingState,),
    "lithify.extract_now": (ExtractionResult,),
    "lithify.compact_buffer": (BufferCompactionResult,),
    "lithify.search_memory": (MemoryRecords,),
    "lithify.list_memory": (MemoryRecords,),
    "lithify.show_memory": (MemoryRecord,),
    "lithify.forget_memory": (Forgotten,),
    "lithify.compact_conversation": (Compacted, Draft, Noop, Preview),
    "lithify.compact_up_to_here": (Compacted, Draft, Noop, Preview),
    "lithify.apply_compaction": (Compacted,),
    "lithify.discard_draft": (Discarded,),
    "lithify.undo_compaction": (Undone,),
}
"""What each request or command is answered with, one of these."""

SENT: dict[str, type[Wire]] = {
    "lithify/bufferStatusChanged": BufferStatus,
    "lithify/sessionChanged": SessionChanged,
    "lithify/complete": CompleteParams,
    "lithify/cancelComplete": CancelComplete,
}
"""The params of what the server sends."""
