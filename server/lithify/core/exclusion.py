"""The paths whose tool events are not recorded: the setting `recording.exclude`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

DEFAULT_PATTERNS = ("**/.env*", "**/*.pem", "**/*.key")

KNOWN_PATHS = 4096
"""Paths whose answer is remembered: tools name the same files again and again."""

KNOWN_KEYS, LONGEST_KEY = 1024, 64
"""Keys whose plain form is remembered, and how much of one counts: none that means something is longer."""

MAX_PATH_CHARACTERS = 1024
"""A longer string is no path."""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Glob patterns, read as gitignore reads them, but in any letter case.

    A relative path is taken to start at the project's root. Where that root lies in an absolute path, a URI or one
    that starts with `~`, `$`, `%` or `..` is not known: there a pattern counts from every folder. Naming a
    folder names what is in it. A later pattern that starts with `!` takes back what earlier ones exclude:
    patterns that may only add (a workspace's) belong in an `Exclusion` of their own.

    Raises `ValueError`, the pattern named, where one is not valid or can match nothing.
    """

    patterns: Sequence[str] = DEFAULT_PATTERNS
    _from_root: GitIgnoreSpec = field(init=False, repr=False, compare=False)
    _anywhere: GitIgnoreSpec = field(init=False, repr=False, compare=False)
    _known: Callable[[str], bool] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "patterns", tuple(self.patterns))
        for pattern in self.patterns:
            _refuse_invalid(pattern)
        object.__setattr__(self, "_from_root", _compiled(self.patterns))
        object.__setattr__(self, "_anywhere", _compiled([_unanchored(pattern) for pattern in self.patterns]))
        object.__setattr__(self, "_known", lru_cache(maxsize=KNOWN_PATHS)(self._judged))

    def excluded_path(self, event_kind: str, body: dict[str, Any]) -> str | None:
        """The first excluded path a tool event names, as it stands there; None for every other event.

        Looked at is `tool_input` of a `tool_use` event's JSON body (also where it is JSON in a string, or
        plain text: then a patch or a command). A path is: a whole string or object key; a word of a command; a file
        in the headers of a patch. Not looked at: what a file says (`content`, `new_string`, ...), prose, web addresses,
        and names that only a shell can complete (`.e*`, `"$FILE"`). Never raises.
        """
        data = body.get("data") if event_kind == "tool_use" and body.get("type") == "json" else None
        if not isinstance(data, dict):
            return None
        seen: set[str] = set()
        for text in _named_paths(_decoded(data.get("tool_input"))):
            if text not in seen and self.excludes(text):
                return text
            seen.add(text)
        return None

    def excludes(self, path: str) -> bool:
        """Whether one path is excluded: relative or absolute, with slashes or backslashes, or a `file:` URI."""
        path = path.strip()
        return 0 < len(path) <= MAX_PATH_CHARACTERS and self._known(path)

    def _judged(self, path: str) -> bool:
        if "\n" in path or _WEB.match(path):
            return False
        return self._matches(path) or bool((place := _POSITION.search(path)) and self._matches(path[: place.start()]))

    def _matches(self, path: str) -> bool:
        rooted, segments = _segments(path)
        spec = self._anywhere if rooted else self._from_root
        return bool(segments) and spec.match_file("/".join(segments).lower() + "/")


# --- patterns and paths ---------------------------------------------------------------------------------------

_WEB = re.compile(r"https?:", re.IGNORECASE)
_URI = re.compile(r"(?:[a-z][a-z0-9+.-]+://|file:)", re.IGNORECASE)
_ROOT = re.compile(r"/|[a-z]:|~|\$|%|\.\.(?:/|$)", re.IGNORECASE)
_DRIVE = re.compile(r"/*[a-z]:", re.IGNORECASE)
_POSITION = re.compile(r"(?::\d+){1,2}$|#L\d+(?:-L?\d+)?$")


def _refuse_invalid(pattern: str) -> None:
    try:
        valid = any(one.regex is not None for one in _compiled([pattern]).patterns)
    except (ValueError, re.error) as error:
        raise ValueError(f"not a valid glob pattern: {pattern!r}") from error
    if not valid:
        raise ValueError(f"not a valid glob pattern: {pattern!r} can match nothing")


def _compiled(patterns: Sequence[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # not needed to answer `initialize`

    return GitIgnoreSpec.from_lines([pattern.lower() for pattern in patterns], backend="simple")


def _unanchored(pattern: str) -> str:
    """The same pattern, counted from every folder."""
    negation, glob = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    return f"{negation}**/{glob.lstrip('/')}"


def _segments(path: str) -> tuple[bool, list[str]]:
    """Whether the place of the first segment is unknown, and the segments, `.` and `..` resolved."""
    rooted = False
    if scheme := _URI.match(path):
        rooted = True
        path = unquote(re.split(r"[?#]", path[scheme.end() :], maxsplit=1)[0])
    path = path.replace("\\", "/")
    rooted = rooted or _ROOT.match(path) is not None
    segments: list[str] = []
    for segment in _DRIVE.sub("", path, count=1).split("/"):
        if segment == ".." and segments:
            segments.pop()
        elif segment not in ("", ".", ".."):
            segments.append(segment)
    return rooted, segments


# --- what a tool event names ----------------------------------------------------------------------------------

_COMMAND_KEYS = frozenset(
    {"command", "commands", "cmd", "script", "shell", "shellcommand", "commandline", "bash", "exec", "args", "argv"}
    | {"arguments"}
)
_PATCH_KEYS = frozenset({"patch", "patchtext", "input", "diff", "unifieddiff"})
_SEARCH_KEYS = frozenset({"pattern", "regex", "regexp", "query", "search", "searchterm"})
_PROSE_KEYS = frozenset(
    {"content", "contents", "filecontent", "filetext", "text", "body", "code", "codeedit", "source", "html", "output"}
    | {"newstring", "oldstring", "newstr", "oldstr", "newtext", "oldtext", "newcontent", "oldcontent", "newsource"}
    | {"inserttext", "replacement", "replace", "prompt", "description", "message", "explanation", "instructions"}
    | {"reason", "thought", "title", "summary", "question", "answer", "plan"}
)

_WORD = re.compile(r"[a-zA-Z][\w+.-]*://[^\s\"'`<>|;()]+|[^\s\"'`=:;,|<>()&{}@]+")
_PATCH_HEADER = re.compile(
    r"^(?:\*\*\* (?:(?:Add|Update|Delete) File|Move to): |\+\+\+ |--- |rename (?:from|to) |Index: )([^\t\r\n]+)",
    re.MULTILINE,
)
_PATCH_BLOCK = re.compile(r"^\*\*\* Begin Patch$(?:.*?^\*\*\* End Patch$|.*)", re.MULTILINE | re.DOTALL)


def _decoded(tool_input: Any) -> Any:
    """The tool's input as a value; plain text is the patch or the command it seems to be."""
    if not isinstance(tool_input, str):
        return tool_input
    try:
        value = json.loads(tool_input)
    except (ValueError, RecursionError):
        value = tool_input
    if not isinstance(value, str):
        return value
    return {"patch" if _PATCH_HEADER.search(value) else "command": value}


def _named_paths(tool_input: Any) -> Iterator[str]:
    """Every string of a tool's input that may be a path, in the order they are written."""
    pending: list[tuple[Any, str]] = [(tool_input, "")]
    while pending:
        node, key = pending.pop()
        if isinstance(node, str):
            yield from _paths_of_string(node, key)
        elif isinstance(node, dict):
            yield from (name for name in node if isinstance(name, str))
            pending.extend((child, _plain(str(name)[:LONGEST_KEY])) for name, child in reversed(node.items()))
        elif isinstance(node, list):
            pending.extend((child, key) for child in reversed(node))


@lru_cache(maxsize=KNOWN_KEYS)
def _plain(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()


def _paths_of_string(text: str, key: str) -> Iterator[str]:
    if key in _PROSE_KEYS or (key in _SEARCH_KEYS and "\\" in text):  # `\.env` is an expression, not a path
        return
    if key in _COMMAND_KEYS:
        yield from _patched_files(text)
        yield from _WORD.findall(_PATCH_BLOCK.sub(" ", text))
    if key in _PATCH_KEYS:
        yield from _patched_files(text)
    if key not in _COMMAND_KEYS or "://" not in text:  # a list of arguments may hold a path with spaces
        yield text


def _patched_files(patch: str) -> Iterator[str]:
    for name in _PATCH_HEADER.findall(patch):
        yield name[2:] if name.startswith(("a/", "b/")) else name
