"""Takes noise out of transcript text: escapes, progress bars, line numbers, hex runs, injected blocks."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])?")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\u200b\ufeff]")
_LONG_RUN = re.compile(r"[0-9A-Za-z+/_=-]{40,}")
_RUN_BYTES = frozenset((string.ascii_letters + string.digits + "+/_=-").encode())
_OUTLINES = bytes(ord("x") if each in _RUN_BYTES else ord(" ") for each in range(256))
_SHORTEST_RUN = b"x" * 40
_HEX = re.compile(r"[0-9a-fA-F-]+")
_STAMP = re.compile(r"^[ \t]*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?[ \t]*", re.M)
_NUMBERED = re.compile(r"[ \t]*(\d{1,7})(?:→|\t|: ?|\| ?|\. ?)")
_VIEW_HEADER = re.compile(
    r"^\[File: [^\]\n]*\]\n|^\(\d+ more lines (?:above|below)\)\n?|^Here's the result of running `cat -n`[^\n]*\n", re.M
)
_BAR = re.compile(r"[=#█▓▒░━─╸╺■●○⣿.>\-_*~]{12,}")

_DROPPED = (
    "system-reminder|system_reminder|reminder|think|thinking|reasoning|local-command-stdout|"
    "local-command-stderr|local-command-caveat|command-name|command-message|command-args|command-contents|current_datetime|"
    "ide_opened_file|ide_selection|sql_tables|antml:thinking|attached_files|open_and_recently_viewed_files|"
    "available_skills|environment_details|environment_context|env|user_info|system_information|SYSTEM_NOTICE"
)
_OPENING = re.compile(r"<(" + _DROPPED + r")(?:\s[^<>]{0,200})?>")
_CONTEXT_BLOCKS = frozenset(
    {"environment_details", "environment_context", "env", "user_info", "system_information", "SYSTEM_NOTICE"}
)
_THINKING = frozenset({"think", "thinking", "reasoning", "antml:thinking"})
_UNWRAPPED = re.compile(
    r"</?(?:user_query|user_message|task|feedback|query|answer|result|system|details|summary|tool_use_error|error)>"
)


def clean(text: str) -> str:
    """The text without terminal escapes, overwritten progress, control characters and long machine-made runs."""
    if not text.isprintable():
        if "\x1b" in text:
            text = _ANSI.sub("", text)
        if "\r" in text:
            text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
        text = _CONTROL.sub("", text)
    return _LONG_RUN.sub(_shortened_run, text) if _SHORTEST_RUN in _outline(text) else text


def _outline(text: str) -> bytes:
    """A text in which every character that long runs are made of looks the same."""
    return text.encode("utf-8", "replace").translate(_OUTLINES)


def without_stamps(output: str) -> str:
    """A tool's output without the time stamps that begin its lines, and without drawn bars."""
    if ":" in output:
        output = _STAMP.sub("", output)
    return _BAR.sub(" … ", output)


def file_view(text: str) -> str:
    """A view of a file without what its tool put around it: headers, and line numbers where most lines carry one."""
    text = _VIEW_HEADER.sub("", text)
    lines = text.split("\n")
    probe = [line for line in lines[:40] if line.strip()]
    numbered = sum(1 for line in probe if _NUMBERED.match(line))
    if numbered * 5 < len(probe) * 4 or (numbered < 2 and len(probe) > 1):
        return text
    return "\n".join(_NUMBERED.sub("", line, count=1) for line in lines)


def without_reminders(output: str) -> str:
    """A tool's output without the reminders a client put into it for the model."""
    if "<system-reminder>" not in output:
        return output
    first, *rest = output.split("<system-reminder>")
    return first + "".join(piece.partition("</system-reminder>")[2] for piece in rest)


def speech(text: str) -> tuple[str, list[str]]:
    """What a person or a model said, and the context blocks a client put beside it (environment, notices).

    Thinking, reminders and records of local commands are left out of both.
    """
    if "<" not in text:
        return text.strip(), []
    kept: list[str] = []
    context: list[str] = []
    for piece, block in _pieces(text):
        if block is None:
            kept.append(piece)
        elif block in _CONTEXT_BLOCKS:
            context.append(piece)
    return _UNWRAPPED.sub("", " ".join(kept)).strip(), context


def _pieces(text: str) -> Iterator[tuple[str, str | None]]:
    """Splits a text into plain pieces and injected blocks; each closing tag is sought once, so time is linear."""
    at = 0
    unclosed: set[str] = set()
    for opening in _OPENING.finditer(text):
        name = opening[1]
        if opening.start() < at or name in unclosed:
            continue
        end = text.find(f"</{name}>", opening.end())
        if end < 0:
            unclosed.add(name)
            if name not in _THINKING:
                continue
            end = len(text)
        yield text[at : opening.start()], None
        yield text[opening.end() : end], name
        at = end + len(name) + 3
    yield text[at:], None


def _shortened_run(match: re.Match[str]) -> str:
    run = match[0]
    if _HEX.fullmatch(run):
        return run[:8] + "…"
    if len(run) >= 80 and run.count("/") * 20 < len(run) and run.count("_") + run.count("-") < len(run) // 8:
        return run[:12] + "…"
    return run
