"""Whether a tool use failed, and which lines of its output say why."""

from __future__ import annotations

import re

from lithify.core.digest import shell
from lithify.core.digest.cleaning import clean, without_stamps

_EXIT = re.compile(r"(?i)(?:exit(?:ed)?(?: with)?(?: exit)?[ _](?:code|status)|return ?code)[\"']?[:= ]+(-?\d{1,10})")
_EXIT_HINTS = ("xit", "eturncode", "eturn code")
_HINTS = (
    "rror",
    "xception",
    "raceback",
    "ail",
    "AIL",
    "fatal",
    "panic",
    "not found",
    "No such",
    "denied",
    "***",
    "⨯",
    "fault",
)
_STARTS = (
    "error", "<error", "<tool_use_error", "failed", "traceback", "patch rejected", "cannot ",
    "could not", "no such file", "invalid", "permission denied", "file not found", "file does not exist",
    "string to replace not found", "your proposed edit has introduced", "unable to",
)  # fmt: skip
_REFUSED = ("The user doesn't want to", "[Request interrupted by user", "Operation cancelled by user", "User rejected")
_TOLD = re.compile(
    r"Traceback \(most|^E {2,}|\b[A-Z]\w*(?:Error|Exception)\b|^error(?:\[\w+\])?:|^Error:|^fatal:|\bFAILED\b|^FAIL\b|"
    r"\b[1-9]\d* (?:failed|failing|errors?)\b|npm ERR!|^panic:|command not found|No such file or directory|"
    r"Permission denied|error TS\d+|^make: \*\*\*|Segmentation fault|^[ \t]*⨯ ",
    re.M,
)
_KEY = re.compile(
    r"^(?:[\w.]*(?:Error|Exception|Failure)\b.*|E {2,}.*|- [EFW]\d{3} .*|.*\berror(?:\[\w+\])?(?: TS\d+)?[:=].*|"
    r"(?:Error|fatal|panic|FAILED|FAIL|npm ERR!)\b.*|.*\b[1-9]\d* (?:failed|failing|errors?)\b.*|.*command not found.*|"
    r".*No such file or directory.*|.*(?:does not exist|not found|[Pp]ermission denied|rejected|⨯).*)$",
    re.M | re.I,
)
_NUMBERED = re.compile(r"\s*\d+(?:[:→\t|]|\. )")
_HEAD, _TAIL = 1500, 3500


def refused(output: str) -> bool:
    """Whether the person said no to a tool use."""
    return output.startswith(_REFUSED)


def tool_failed(flag: bool | None, output: str) -> bool:
    """Whether a tool other than a command failed: its flag, or how its answer begins."""
    if flag is not None:
        return flag
    return output[:60].lstrip().lower().startswith(_STARTS)


def command_failed(flag: bool | None, parsed: shell.Commands, output: str) -> bool | None:
    """Whether a command failed: its flag, its exit code, or what its output tells; None where nothing tells."""
    if flag is not None:
        return flag
    ends = _ends(output)
    if any(hint in ends for hint in _EXIT_HINTS) and (codes := _EXIT.findall(ends)):
        return int(codes[-1]) != 0
    if output[:20].lower().startswith(("error:", "<error")):
        return True
    if shell.only_looks(parsed) or not any(hint in ends for hint in _HINTS):
        return None
    return True if _TOLD.search(ends) else None


def key_lines(output: str, count: int = 3) -> list[str]:
    """The lines of an output that say what went wrong, else its last lines; at most `count`, without repeats."""
    ends = without_stamps(clean(_ends(output)))
    found = [line.strip() for line in _KEY.findall(ends) if line.strip() and not _NUMBERED.match(line)]
    if not found:
        found = [line.strip() for line in ends.split("\n") if line.strip()][-count:]
    unique = list(dict.fromkeys(found))
    return unique if len(unique) <= count else [unique[0], *unique[-count + 1 :]]


def _ends(output: str) -> str:
    return output if len(output) <= _HEAD + _TAIL else f"{output[:_HEAD]}\n{output[-_TAIL:]}"
