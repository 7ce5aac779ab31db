"""Every message of our own on the wire: the only serialised shapes. The protocol reference is checked against this.

Keys are camelCase. Messages, parts, bodies and `settingsOverrides` are the user's data: they are checked here and
carried as the dicts they came as, unknown keys included.
"""

from __future__ import annotations

import os
import re
from datetime import datetime
from typing import Annotated, Any, Literal, TypeGuard, TypeVar
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError
from pydantic.alias_generators import to_camel

from lithify.core.events import storable_json
from lithify.lsp.errors import field_problems

ULID_PATTERN = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")

T = TypeVar("T")


TIMESTAMP_PATTERN = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?([Zz]|[+-][0-9:]+)?\Z"
)
"""The characters an ISO 8601 timestamp is made of; whether they make a date is decided after that."""


class Wire(BaseModel):
    """A shape on the wire; unknown keys are let through, since more may be added. Its check is built when it first
    comes: no editor sends all of them, and none before it was answered."""

    model_config = ConfigDict(alias_generator=to_camel, strict=True, frozen=True, extra="ignore", defer_build=True)


def is_ulid(text: str) -> bool:
    """Whether a text is a ULID, in any case."""
    return text.isascii() and ULID_PATTERN.fullmatch(text.upper()) is not None


def _ulid(text: str) -> str:
    if not is_ulid(text):
        raise ValueError("must be a ULID (26 characters of Crockford's base 32)")
    return text.upper()


def _timestamp(text: str) -> str:
    try:
        parsed = datetime.fromisoformat(text.upper() if TIMESTAMP_PATTERN.match(text) else "")
    except ValueError:
        raise ValueError("must be an ISO 8601 date and time with an offset") from None
    if parsed.tzinfo is None:
        raise ValueError("must have an offset from UTC, such as Z or +02:00")
    return text


def is_unicode(text: str) -> bool:
    """Whether a text can be stored: a lone half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unicode(text: str) -> str:
    if not is_unicode(text):
        raise ValueError("must not hold a lone half of a surrogate pair")
    return text


def _place(text: str) -> str:
    """A path, or a URI that has one: nothing that the system could not even look for."""
    try:
        path = urlsplit(text).path if "://" in text else text
    except ValueError:
        raise ValueError("must be a path or a file URI") from None
    if "\0" in (unquote(path) if "://" in text else path):
        raise ValueError("must be a path or a file URI without NUL characters")
    return text


def project_uri(value: Any) -> str:
    """A `projectUri`: a file URI with a path, or an absolute path; `~` stands for the home folder.

    Raises ValueError, with words of what it must be, for anything else: none of it means the default project.
    """
    expected = "must be a file: URI (file:///...) or an absolute path"
    if not isinstance(value, str) or not is_unicode(value):
        raise ValueError(expected)
    named = f"file://{value[5:]}" if re.match(r"file:/(?!/)", value, re.IGNORECASE) else value
    scheme, separator, _ = _place(named).partition("://")
    if separator:
        absolute = scheme.lower() == "file" and urlsplit(named).path.startswith("/")
    else:
        absolute = os.path.isabs(os.path.expanduser(named))
    if not absolute:
        raise ValueError(expected)
    return named


def is_place(value: Any) -> TypeGuard[str]:
    """Whether a value is a path or a URI that can be looked for on this machine."""
    try:
        return isinstance(value, str) and bool(value) and bool(_place(value).encode())
    except ValueError:
        return False


def _sound(value: T) -> T:
    """Data of the user that JSON can hold: it is stored and sent again."""
    try:
        storable_json(value)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError:
        raise ValueError("it holds a number that JSON does not know (NaN or infinite)") from None
    return value


def _message(message: dict[str, Any]) -> dict[str, Any]:
    role, content = message.get("role"), message.get("content")
    if not isinstance(role, str) or not role:
        raise ValueError("role must be a string that is not empty")
    if content is not None and not isinstance(content, (str, list)):
        raise ValueError("content must be a string, a list of parts, or null")
    if "id" in message and message["id"] is not None and not isinstance(message["id"], str):
        raise ValueError("id must be a string")
    return message


Ulid = Annotated[str, AfterValidator(_ulid)]
ShortId = Annotated[str, StringConstraints(min_length=1, max_length=128)]
RecordId = Annotated[str, AfterValidator(_unicode), StringConstraints(min_length=1, max_length=128)]
Timestamp = Annotated[str, AfterValidator(_timestamp)]
ContentHash = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-fA-F]{64}$")]
Place = Annotated[str, AfterValidator(_place)]
ProjectUri = Annotated[str, BeforeValidator(project_uri)]
Message = Annotated[dict[str, Any], AfterValidator(_message), AfterValidator(_sound)]
Json = Any
Overrides = Annotated[dict[str, Json], AfterValidator(_sound)]


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


Agent = Annotated[dict[str, Any] | None, AfterValidator(_agent), AfterValidator(_sound)]


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


class ExecuteCommand(Wire):
    command: str
    arguments: list[Json] | None = None
    work_done_token: int | str | None = None


class ClientOptions(Wire):
    """`initializationOptions.client`: which of the server's own messages the editor handles."""

    complete: bool = False
    buffer_status: bool = False
    session_changed: bool = False
    ask_instructions: bool = False

    @property
    def has_own_code(self) -> bool:
        """Whether the editor has code made for Lithify, which tells its user what the results of commands say."""
        return self.complete or self.session_changed or self.ask_instructions
