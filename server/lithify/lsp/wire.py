"""Every message of our own on the wire: the only serialised shapes. The protocol reference is checked against this."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from lithify.lsp.errors import field_problems
from lithify.lsp.wire_base import (
    ContentHash,
    Json,
    Message,
    Overrides,
    Place,
    ProjectUri,
    RecordId,
    ShortId,
    Timestamp,
    Ulid,
    Wire,
    sound_json,
)


class TextBody(Wire):
    type: Literal["text"]
    content: str


class Turn(Wire):
    role: str
    content: str


class MessageBody(Wire):
    type: Literal["message"]
    turns: list[Turn]


class JsonBody(Wire):
    type: Literal["json"]
    data: Json


class Source(Wire):
    surface: str | None = None
    version: str | None = None
    client_id: str | None = None
    project_path: Place | None = None


class Event(Wire):
    event_id: Ulid | None = None
    parent_event_id: Ulid | None = None
    session_id: ShortId
    actor_id: ShortId | None = None
    kind: Literal["prompt", "tool_use", "session_summary", "note"]
    body: Annotated[TextBody | MessageBody | JsonBody, Field(discriminator="type")]
    valid_time: Timestamp | None = None
    source: Source | None = None
    schema_version: Literal[1] | None = None
    content_hash: ContentHash | None = None


class RecordEvents(Wire):
    """`lithify/didRecordEvents` and `lithify/recordEvents`; each event is checked on its own, as `Event`."""

    events: list[Json]


class BufferStatusParams(Wire):
    project_uri: ProjectUri | None = None


class AgentCompaction(Wire):
    enabled: bool | None = None
    type: str | None = None
    max_preserved_messages: int | None = None
    compaction_model: str | None = None
    prompt: str | None = None
    settings_overrides: Overrides | None = None


class AgentConfig(Wire):
    model: str | None = None
    context_window: Annotated[int, Field(gt=0)] | None = None
    compaction: AgentCompaction | None = None


def _agent(agent: dict[str, Any] | None) -> dict[str, Any] | None:
    if agent is not None:
        try:
            AgentConfig.model_validate(agent)
        except ValidationError as error:
            raise ValueError(field_problems(error)) from None
    return agent


Agent = Annotated[dict[str, Any] | None, AfterValidator(_agent), AfterValidator(sound_json)]


class DidOpenSession(Wire):
    session_id: ShortId
    title: str | None = None
    agent: Agent = None
    compaction_model: str | None = None
    messages: list[Message]
    project_uri: Json = None  # judged with `project_uri` by the handler: a wrong one must not lose the session
    source: Source | None = None
    record: Literal["turns", "all", "none"] | None = None


class DidAppendMessages(Wire):
    session_id: ShortId
    messages: list[Message]


class DidSpliceMessages(Wire):
    session_id: ShortId
    start: Annotated[int, Field(ge=0)]
    delete_count: Annotated[int, Field(ge=0)]
    messages: list[Message]


class DidChangeSession(Wire):
    session_id: ShortId
    title: str | None = None
    agent: Agent = None
    compaction_model: str | None = None


class SessionParams(Wire):
    """`lithify/didCloseSession`, `getSession`, `deleteSession`, `sessionStatus`."""

    session_id: ShortId


class ListSessions(Wire):
    project_uri: ProjectUri | None = None
    limit: Annotated[int, Field(gt=0, le=1000)] = 50
    cursor: str | None = None


class SessionActions(Wire):
    agent: Agent = None


class _Compaction(Wire):
    session_id: ShortId | None = None
    uri: str | None = None
    instructions: str | None = None
    prompt: str | None = None
    compaction_model: str | None = None
    settings_overrides: Overrides | None = None
    exact: bool | None = None
    digest: str | None = None
    dry_run: bool | None = None
    draft: bool | None = None


class CompactConversation(_Compaction):
    start: int | None = None
    end: int | None = None
    max_preserved_messages: int | None = None


class CompactUpToHere(_Compaction):
    message_id: str | None = None
    index: int | None = None
    line: int | None = None
    start: None = None
    end: None = None


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank; leave it out to apply the draft as it is")
    return text


class ApplyCompaction(Wire):
    draft_id: RecordId
    summary_text: Annotated[str, AfterValidator(_not_blank)] | None = None


class DiscardDraft(Wire):
    draft_id: RecordId


class UndoCompaction(Wire):
    session_id: ShortId | None = None
    uri: str | None = None
    compaction_id: RecordId | None = None


class ProjectParams(Wire):
    """`lithify.extract_now`, `lithify.compact_buffer`."""

    project_uri: ProjectUri | None = None


def _no_cursor(value: Any) -> None:
    if value is not None:
        raise ValueError("lithify.search_memory gives none, so it takes none; ask for more with limit")


class SearchMemory(Wire):
    query: str
    project_uri: ProjectUri | None = None
    cursor: Annotated[None, BeforeValidator(_no_cursor)] = None
    limit: Annotated[int, Field(gt=0, le=1000)] = 10


class ListMemory(Wire):
    project_uri: ProjectUri | None = None
    limit: Annotated[int, Field(gt=0, le=1000)] = 50
    cursor: str | None = None


class RecordParams(Wire):
    """`lithify.show_memory`, `lithify.forget_memory`."""

    record_id: RecordId


class SetRecording(Wire):
    enabled: bool
    project_uri: ProjectUri | None = None


class PreviewCompaction(CompactConversation):
    """What either of the two compactions takes: with an anchor it is up to here."""

    message_id: str | None = None
    index: int | None = None
    line: int | None = None

    @property
    def command(self) -> str:
        """The command that is previewed."""
        anchored = any(one is not None for one in (self.message_id, self.index, self.line))
        return "lithify.compact_up_to_here" if anchored else "lithify.compact_conversation"


class ListAgentSessions(Wire):
    project_uri: ProjectUri | None = None
    agent: str | None = None
    limit: Annotated[int, Field(gt=0)] | None = None


class GetAgentSession(Wire):
    uri: str


class CompactWithInstructions(Wire):
    """One of the two compactions as a command of LSP; the user is asked for its instructions first."""

    command: Literal["lithify.compact_conversation", "lithify.compact_up_to_here"]
    arguments: Annotated[list[dict[str, Json]], Field(min_length=1, max_length=1)]
