"""What the shapes on the wire are made of, and the two of ours that are needed to answer `initialize` or a command.

Keys are camelCase. Messages, parts, bodies and `settingsOverrides` are the user's data: they are checked here and
carried as the dicts they came as, unknown keys included.
"""

from __future__ import annotations

import os
import re
from datetime import datetime
from typing import Annotated, Any, TypeGuard, TypeVar
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, StringConstraints
from pydantic.alias_generators import to_camel

from lithify.core.stored_json import storable_json

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


def sound_json(value: T) -> T:
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
Message = Annotated[dict[str, Any], AfterValidator(_message), AfterValidator(sound_json)]
Json = Any
Overrides = Annotated[dict[str, Json], AfterValidator(sound_json)]


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
