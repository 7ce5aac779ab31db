"""A chat file on the disk or from a pipe: read, recognised, and written back."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from lithify.assembly import now_in_transcripts
from lithify.core.agent_sessions import in_agent
from lithify.core.compaction_results import Summarised
from lithify.storage.atomic import write_new
from lithify.transcripts import claude_code, codex, gemini, kimi_code, kimi_context
from lithify.transcripts.json_lines import LOOKED_AT, first_objects
from lithify.transcripts.model import Stamp, Transcript, TranscriptFormat
from lithify.transcripts.outline import Outline
from lithify.transcripts.reading import Reading
from lithify.transcripts.registry import by_name, formats, recognise
from lithify.transcripts.undecodable import decoded, encoded, unreadable_line
from lithify.workers.document_changes import new_text

_BYTE_ORDER_MARK = "\ufeff"
_KNOWN = (
    "Lithify reads OpenAI messages (JSON or JSON lines), SpecStory's Markdown, and the session files of Claude Code, "
    "Codex, kimi-cli, kimi-code, Gemini CLI, Copilot CLI and Cline, and what opencode and Copilot in VS Code export"
)


_OWNERS = {
    kimi_context.name: "kimi-cli",
    claude_code.name: "Claude Code",
    codex.name: "Codex",
    kimi_code.name: "kimi-code",
    gemini.name: "Gemini CLI",
}


class ChatFileError(Exception):
    """A file that cannot be read or written: one line that says what to do."""


@dataclass(frozen=True, slots=True)
class ChatFile:
    """What was read. `place` is where it lies: a path with its links followed, or the URI of a session that lies in no
    file; None for standard input. `title` is for people."""

    place: str | None
    title: str
    data: bytes
    text: str
    format: TranscriptFormat
    transcript: Transcript

    @property
    def path(self) -> Path | None:
        """The file, if it is one."""
        return None if self.place is None or in_agent(self.place) else Path(self.place)

    @property
    def owner(self) -> str | None:
        """The agent whose session the file is."""
        return _OWNERS.get(self.format.name)

    def compacted(self, outcome: Summarised) -> bytes:
        """The file's bytes with the summary in place. Raises LithifyError as `document_changes.new_text` does."""
        stamp = Stamp(now_in_transcripts(), lambda: str(uuid4()))
        reading = Reading(self.format, self.transcript, Outline(self.transcript))
        return encoded(new_text(self.text, reading, outcome, stamp).text)


def read_chat_file(name: str, format_name: str | None) -> ChatFile:
    """Reads a file, or standard input for `-`. Raises ChatFileError."""
    path = None if name == "-" else Path(name)
    title = "standard input" if path is None else name
    data, real = _bytes(path, title)
    text = decoded(data)
    file_name = "" if real is None else real.name
    chat_format = by_name(format_name) if format_name else recognise(text, file_name)
    transcript = None if chat_format is None else chat_format.parse(text)
    if (line := unreadable_line(text, transcript.messages if transcript else ())) is not None:
        raise ChatFileError(f"{title} is not UTF-8 (line {line}); save it as UTF-8 and try again")
    if chat_format is None or transcript is None:
        raise ChatFileError(_why_unknown(title, text))
    if format_name and not transcript.messages and not chat_format.recognise(text, file_name):
        found = recognise(text, file_name)
        if found is None:
            raise ChatFileError(_why_unknown(title, text))
        raise ChatFileError(f"{title} has no messages in it as {format_name}, but as {found.name}; leave --format out")
    return ChatFile(None if real is None else str(real), title, data, text, chat_format, transcript)


def _bytes(path: Path | None, title: str) -> tuple[bytes, Path | None]:
    try:
        if path is None:
            if sys.stdin is None:
                raise ChatFileError("standard input is closed; name a chat file, or pipe one in")
            return sys.stdin.buffer.read(), None
        real = path.resolve(strict=True)
        return real.read_bytes(), real
    except (OSError, RuntimeError) as error:
        raise ChatFileError(f"cannot read {title}: {_reason(error)}; name a chat file that you may read") from error


def _why_unknown(title: str, text: str) -> str:
    """What a text is that holds no conversation Lithify can read, in one line that says what to do."""
    if not text.removeprefix(_BYTE_ORDER_MARK).strip():
        return f"{title} is empty; name a file that holds a conversation"
    values = _objects(text)
    if values is None:
        return f"{title} is no chat file: it is not JSON; {_KNOWN}"
    agent = _agent_of(values)
    if agent is not None:
        return f"{title} looks like a session of {agent}, which this version does not read yet; {_KNOWN}"
    other = next((one for one in formats() if one.parse(text).messages), None)
    if other is not None:
        return f"{title} holds messages of unknown roles alone; to read them all the same, use '--format {other.name}'"
    return f"{title} has no messages in it; {_KNOWN}"


def _objects(text: str) -> list[dict[str, Any]] | None:
    """The first objects of JSON lines or of one JSON document; None where the text is neither."""
    try:
        whole = json.loads(text.removeprefix(_BYTE_ORDER_MARK))
    except (ValueError, RecursionError):
        return first_objects(text, strict=False) or None
    values = whole if isinstance(whole, list) else [whole]
    return [value for value in values[:LOOKED_AT] if isinstance(value, dict)]


def _agent_of(values: Sequence[dict[str, Any]]) -> str | None:
    """Whose session the objects are, by what is found in those of each coding agent and nowhere else."""
    return next((agent for value in values for agent, told in _AGENTS.items() if told(value)), None)


def _is_copilot(value: dict[str, Any]) -> bool:
    """Of its chat in VS Code, as that keeps it: what the chat was, and each change since."""
    chat = value.get("v")
    return isinstance(chat, dict) and "responderUsername" in chat and "requests" in chat


def _is_gemini(value: dict[str, Any]) -> bool:
    """Of a chat that was saved (`/chat save`)."""
    return value.get("role") in ("user", "model") and isinstance(value.get("parts"), list)


_AGENTS = {"Copilot": _is_copilot, "Gemini": _is_gemini}


def check_target(chat: ChatFile, output: str | None) -> None:
    """Finds out before any work whether the result can be written. Raises ChatFileError."""
    if not chat.transcript.writable:
        raise ChatFileError(f"{chat.title} cannot be rewritten. {chat.transcript.read_only_reason}")
    if output is not None and output != "-":
        target = Path(output)
        if target.exists() or target.is_symlink():
            raise _exists(output)
        if not target.parent.is_dir():
            raise ChatFileError(f"cannot write {output}: {target.parent} is no folder; make it first")


def write_output(output: str, data: bytes) -> None:
    """A new file. Raises ChatFileError, also when it exists."""
    try:
        write_new(Path(output), data)
    except FileExistsError as error:
        raise _exists(output) from error
    except OSError as error:
        raise ChatFileError(f"cannot write {output}: {_reason(error)}; name another place with --output") from error


def _exists(output: str) -> ChatFileError:
    return ChatFileError(
        f"{output} exists, and lithify never overwrites a file without --in-place; name a new file or move it away"
    )


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
