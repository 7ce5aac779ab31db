"""How sessions of agents are shown: the list of them, and one with its conversation."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from lithify.cli.doctor_report import counted
from lithify.cli.session_compactions import Undoable
from lithify.cli.stored_text import cut, local_time, print_lines, print_pairs, to_copy
from lithify.cli.visible_text import INDENT, escaped, visible, visible_lines
from lithify.core.agent_sessions import AgentSession
from lithify.core.messages import Message, compact_json, has_media, result_text, role_of, text_parts, tool_calls
from lithify.lsp.agent_session_wire import agent_session, updated_at
from lithify.storage.agent_sessions.catalogue import title_of
from lithify.transcripts.model import Transcript

MOST_LINES = 20
"""Lines of one message that are shown unless all are asked for."""

MOST_OF_A_CALL = 200
TITLE_WIDTH = 48
NAME_WIDTH = 20
"""Columns for the names of sessions; a longer one, which many have nearly in common, moves its own line alone."""

_HEADER = ("SESSION", "AGENT", "MESSAGES", "TOKENS", "LAST USE", "STATE")
_RIGHT = frozenset({"MESSAGES", "TOKENS"})
_STATES = {True: "live", False: "idle", None: ""}


def listed_lines(sessions: Sequence[AgentSession], names: Mapping[str, str]) -> Iterator[Text]:
    """The table of sessions: two lines for each, the second one says what it is about and where."""
    rows = [_row(one, names) for one in sessions]
    widths = [max(cell_len(cell) for cell in column) for column in zip(_HEADER, *rows, strict=True)]
    widths[0] = min(widths[0], NAME_WIDTH)
    yield Text(_aligned(_HEADER, widths), "bold")
    for session, row in zip(sessions, rows, strict=True):
        yield Text(_aligned(row, widths), "green" if session.live else "")
        yield from _about(session, names)


def _row(session: AgentSession, names: Mapping[str, str]) -> tuple[str, ...]:
    states = (_STATES[session.live], "" if session.writable else "read-only")
    return (
        visible(names[session.file.uri]) if _has_short_name(session, names) else "-",
        session.file.agent,
        "-" if session.file.unread else f"{session.messages:,}",
        "-" if session.file.unread else f"{session.tokens:,}",
        ago(time.time() - session.file.modified_ns / 1e9),
        ", ".join(filter(None, states)),
    )


def _has_short_name(session: AgentSession, names: Mapping[str, str]) -> bool:
    name = names.get(session.file.uri, session.file.path)
    return name not in (session.file.path, session.file.uri) and not name.startswith("-")  # that looks like an option


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    placed = [
        blanks + cell if name in _RIGHT else cell + blanks
        for name, cell, width in zip(_HEADER, cells, widths, strict=True)
        for blanks in [" " * (width - cell_len(cell))]
    ]
    return "  ".join(placed).rstrip()


def _about(session: AgentSession, names: Mapping[str, str]) -> Iterator[Text]:
    """The title and the project; below them what a session is named by that has no name of its own."""
    title = cut(visible(session.title), TITLE_WIDTH) if session.title else "(no title)"
    said = Text(" " * INDENT + title)
    yield said.append(f"  {short_path(session.project)}", "dim") if session.project else said
    if not _has_short_name(session, names):
        name = names.get(session.file.uri, session.file.path)
        yield to_copy(" " * INDENT + short_path(session.file.path if name.startswith("-") else name), "dim")


def short_path(path: str) -> str:
    """A path for people, with `~` for the home folder."""
    try:
        home = str(Path.home())
    except RuntimeError:
        return visible(path)
    inside = path == home or path.startswith(home.rstrip("/\\") + "/")
    return visible("~" + path[len(home.rstrip("/\\")) :] if inside else path)


def ago(seconds: float) -> str:
    """How long something is ago, in a word or two; the date where that is long."""
    if seconds < 60:
        return "just now"
    for unit, size, most in (("min", 60, 60), ("h", 3600, 24), ("days", 86_400, 7)):
        if seconds < size * most:
            return f"{int(seconds // size)} {unit} ago".replace("1 days", "1 day")
    return datetime.fromtimestamp(max(time.time() - seconds, 0)).astimezone().strftime("%Y-%m-%d")


def shown_as_json(session: AgentSession, transcript: Transcript | None, undos: Sequence[Undoable]) -> dict[str, Any]:
    """A session and its conversation; `folded` counts the messages that the agent would not send, by what they are."""
    conversation = [] if transcript is None else transcript.conversation
    told = {
        "conversation": conversation,
        "folded": dict(_folded(transcript)),
        "compactions": [
            {"compactionId": one.compaction_id, "at": one.at}
            | ({} if one.messages is None else {"messages": one.messages})
            for one in undos
        ],
    }
    return {**agent_session(session), **told}


def print_session(
    session: AgentSession, transcript: Transcript | None, undos: Sequence[Undoable], undo: str, *, full: bool
) -> None:
    """A session: what is known of it, the compactions that can be undone, and the command (`undo`) for that; then its
    conversation, message by message."""
    compactions: list[tuple[str, str | Text]] = []
    if undos:
        compactions = [("Compactions", "\n".join(map(_compaction, undos))), ("Undo", to_copy(undo))]
    print_pairs([*_pairs(session), *compactions])
    if transcript is None:
        return
    lines: list[str | Text] = [""]
    lines += [Text(f"[{title}: {counted(number, 'message')}]", "dim") for title, number in _folded(transcript).items()]
    for number, message in enumerate(transcript.conversation, 1):
        lines += [Text(f"{number}. {visible(role_of(message)) or 'message'}", "bold"), *_said(message, full=full)]
    print_lines(lines)


def _pairs(session: AgentSession) -> list[tuple[str, str | Text]]:
    version = f" {visible(session.version)}" if session.version else ""
    state = {True: "live: its agent has it open now", False: "idle", None: "not known"}[session.live]
    pairs: list[tuple[str, str | Text | None]] = [
        ("Title", Text(visible(session.title), "bold") if session.title else None),
        ("Agent", title_of(session.file.agent) + version),
        ("Project", visible(session.project) if session.project else None),
        ("Size", None if session.file.unread else f"{counted(session.messages, 'message')}, {session.tokens:,} tokens"),
        ("Last use", local_time(updated_at(session))),
        ("State", state),
        ("Read-only", visible(session.reason) if session.reason else None),
        ("Go on", to_copy(escaped(session.resume_command)) if session.resume_command else None),
        ("File", to_copy(escaped(session.file.path))),
        ("ID", to_copy(escaped(session.session_id)) if session.session_id else None),
    ]
    return [(label, shown) for label, shown in pairs if shown is not None]


def _compaction(one: Undoable) -> str:
    stands_for = "" if one.messages is None else f", a summary of {counted(one.messages, 'message')}"
    return f"{visible(one.compaction_id)}  {local_time(one.at)}{stands_for}"


def _folded(transcript: Transcript | None) -> Counter[str]:
    """How many messages are left out, by what they are."""
    found: Counter[str] = Counter()
    for fold in transcript.folds if transcript is not None else ():
        found[visible(fold.title.partition(":")[0])] += fold.messages
    return found


def _said(message: Message, *, full: bool) -> Iterator[str | Text]:
    texts = [text for text in text_parts(message) if text.strip()]
    if not texts and (result := result_text(message)):
        texts = [result]
    lines = [line for text in texts for line in visible_lines(text.strip("\r\n").rstrip())]
    shown = lines if full else lines[:MOST_LINES]
    yield from (f"{' ' * INDENT}{line}" for line in shown)
    if len(lines) > len(shown):
        yield Text(f"{' ' * INDENT}[{counted(len(lines) - len(shown), 'more line')}; --full shows all]", "dim")
    if has_media(message):
        yield Text(f"{' ' * INDENT}[a picture, sound or film]", "dim")
    for call in tool_calls(message):
        arguments = call.arguments if isinstance(call.arguments, str) else compact_json(call.arguments)
        said = visible(f"{call.name or 'a tool'} {arguments}")
        yield Text(f"{' ' * INDENT}calls {said if full else cut(said, MOST_OF_A_CALL)}", "cyan")
