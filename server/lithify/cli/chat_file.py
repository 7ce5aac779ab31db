"""A chat file on the disk or from a pipe: read, recognised, and written back."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from lithify.core.compaction_results import Summarised
from lithify.storage.atomic import replace_with_backup, write_new
from lithify.storage.backup_names import next_backup, next_rotation
from lithify.transcripts import kimi_context
from lithify.transcripts.model import Transcript, TranscriptFormat
from lithify.transcripts.registry import FORMATS, by_name, recognise


class ChatFileError(Exception):
    """A file that cannot be read or written: one line that says what to do."""


@dataclass(frozen=True, slots=True)
class ChatFile:
    """What was read. `path` has its links followed and is None for standard input; `title` is for people."""

    path: Path | None
    title: str
    data: bytes
    text: str
    format: TranscriptFormat
    transcript: Transcript

    @property
    def rotates(self) -> bool:
        """Whether the file is a session of kimi-cli, which numbers its old files in its own way."""
        return self.format.name == kimi_context.name

    def compacted(self, outcome: Summarised) -> bytes:
        """The file's bytes with the summary in place."""
        planned = outcome.plan.range
        text = self.format.write(self.text, self.transcript, planned.start, planned.end, outcome.summary)
        return text.encode("utf-8")


def read_chat_file(name: str, format_name: str | None) -> ChatFile:
    """Reads a file, or standard input for `-`. Raises ChatFileError."""
    path = None if name == "-" else Path(name)
    title = "standard input" if path is None else name
    data, real = _bytes(path, title)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ChatFileError(f"{title} is not UTF-8 (line {line}); save it as UTF-8 and try again") from error
    chat_format = by_name(format_name) if format_name else recognise(text, "" if real is None else real.name)
    if chat_format is None:
        known = ", ".join(one.name for one in FORMATS)
        raise ChatFileError(f"{title} is no chat file that Lithify knows; name its format with --format ({known})")
    return ChatFile(real, title, data, text, chat_format, chat_format.parse(text))


def _bytes(path: Path | None, title: str) -> tuple[bytes, Path | None]:
    try:
        if path is None:
            return sys.stdin.buffer.read(), None
        real = path.resolve(strict=True)
        return real.read_bytes(), real
    except (OSError, RuntimeError) as error:
        raise ChatFileError(f"cannot read {title}: {_reason(error)}; name a chat file that you may read") from error


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


def rewrite(chat: ChatFile, data: bytes) -> Path:
    """The file rewritten, and where its former bytes are. Raises ChatFileError, also when it changed meanwhile."""
    if chat.path is None:
        raise ChatFileError("standard input cannot be rewritten; use '--output -'")
    try:
        if chat.path.read_bytes() != chat.data:
            raise ChatFileError(f"{chat.title} was changed by another program meanwhile; try again when it is idle")
        backup = next_rotation(chat.path) if chat.rotates else next_backup(chat.path)
        replace_with_backup(chat.path, data, backup)
    except OSError as error:
        raise ChatFileError(
            f"cannot rewrite {chat.title}: {_reason(error)}; it is as it was, use --output to write elsewhere"
        ) from error
    return backup


def _exists(output: str) -> ChatFileError:
    return ChatFileError(
        f"{output} exists, and lithify never overwrites a file without --in-place; name a new file or move it away"
    )


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
