"""What a shell command does to files, as far as its words plainly say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from lithify.core.digest import changes
from lithify.core.digest.changes import Effect

_HEREDOC = re.compile(r"(?<!<)<<-?[ \t]{0,9}['\"]?(\w{1,40})['\"]?[^\n]{0,500}\n")
_TARGET = re.compile(r"(?<![\d>])(>>?)\s*([^\s<>|&;]+)")
_TEE = re.compile(r"\btee\s+(-a\s+)?([^\s<>|&;]+)")
_TOKEN = re.compile(r"&&|\|\||[;|\n]|(?:'[^']*'|\"[^\"]*\"|[^\s;|&]|&(?!&))+")
_BREAKS = frozenset({"&&", "||", ";", "\n"})
_READERS = frozenset({"cat", "head", "tail", "sed", "bat", "less", "nl", "type", "Get-Content"})
_LISTERS = frozenset({"ls", "tree", "find", "fd", "dir"})
_VIEWERS = (
    _READERS
    | _LISTERS
    | {"grep", "rg", "ag", "echo", "wc", "pwd", "cd", "which", "awk", "diff", "printf", "true", "sleep"}
)
_GIT_VIEWERS = frozenset({"log", "diff", "show", "status", "blame", "branch", "ls-files"})
_ASIDES = frozenset({"cd", "echo", "true", "export", "set", "source"})
_GROUNDWORK = frozenset({"mkdir", "cd", "touch", "chmod"})
_WRAPPERS = frozenset({"sudo", "time", "env", "command", "nohup", "exec"})


Commands: TypeAlias = list[list[str]]


@dataclass(frozen=True, slots=True)
class Line:
    """A command line: its words without the texts it writes into files, its simple commands, and these files."""

    shown: str
    parsed: Commands
    written: tuple[Effect, ...] = ()
    foreign: bool = False

    def effects(self) -> Iterator[Effect]:
        """The files the line reads, writes, edits, deletes or lists. Words of a `foreign` text, which goes into
        another program, are no commands."""
        if "*** Begin Patch" in self.shown:
            yield from changes.patched_files(self.shown)
            return
        yield from self.written
        for words in () if self.foreign else self.parsed:
            yield from _of_words(words)

    def silent(self, effects: int) -> bool:
        """Whether all the line did was to change so many files, which other actions tell, or to make ready for it."""
        if "*** Begin Patch" in self.shown:
            return effects > 0
        return bool(self.parsed) and effects >= sum(1 for words in self.parsed if words[0] not in _GROUNDWORK)


def line(command: str) -> Line:
    """A command line with its here-documents taken out where a file takes them up."""
    if "<<" not in command or "*** Begin Patch" in command:
        return Line(command, parse(command))
    kept: list[str] = []
    written: list[Effect] = []
    foreign = False
    at = 0
    while heredoc := _HEREDOC.search(command, at):
        start = max(command.rfind("\n", 0, heredoc.start()) + 1, at)
        ending = "\n" + heredoc[1]
        end = command.find(ending, heredoc.end() - 1)
        end = len(command) if end < 0 else end
        after = min(end + len(ending), len(command))
        effect = _taken_up(command[start : heredoc.end()], command[heredoc.end() : max(end, heredoc.end())])
        kept.append(command[at : heredoc.end() - 1] if effect else command[at:after])
        written.extend([effect] if effect else [])
        foreign = foreign or effect is None
        at = after
    shown = "".join(kept) + command[at:]
    return Line(shown, parse(shown), tuple(written), foreign)


def parse(command: str) -> Commands:
    """The words of each simple command in a line of them, up to its first pipe; wrappers and assignments left out."""
    found: list[list[str]] = [[]]
    piped = False
    for token in _TOKEN.findall(command[:2000]):
        if token in _BREAKS:
            found.append([])
            piped = False
        elif token == "|":
            piped = True
        elif not piped and (found[-1] or not _wraps(token)):
            found[-1].append(token.strip("'\""))
    return [words for words in found if words]


def program(parsed: Commands) -> str:
    """What a command mainly runs: its last simple command's program and, where it has one, its subcommand."""
    main: list[str] = []
    for words in parsed:
        if not main or words[0] not in _ASIDES:
            main = words
    return " ".join([word for word in main if not word.startswith("-")][:2])


def only_looks(parsed: Commands) -> bool:
    """Whether a command merely shows things: its output is material, and words like `error` in it are no failure."""
    return bool(parsed) and all(words[0] in _VIEWERS or _views_git(words) for words in parsed)


def _views_git(words: list[str]) -> bool:
    return words[0] == "git" and len(words) > 1 and words[1] in _GIT_VIEWERS


def _taken_up(first: str, body: str) -> Effect | None:
    """The file that takes up a here-document, by the line that opens it; an appended text is an edit."""
    target = _TARGET.search(first)
    teed = _TEE.search(first)
    path = target[2] if target else teed[2] if teed else ""
    if not path or path.startswith("/dev/"):
        return None
    appended = target[1] == ">>" if target else teed is not None and teed[1] is not None
    if appended:
        return Effect("edited", path.strip("'\""), "\n".join(f"+{each}" for each in body.split("\n")))
    return Effect("written", path.strip("'\""), body)


def _of_words(words: list[str]) -> Iterator[Effect]:
    name = words[0]
    plain = [word for word in words[1:] if not word.startswith("-")]
    redirected = any(word.startswith((">", "2>")) for word in words)
    if name in {"rm", "unlink"} or words[:2] == ["git", "rm"]:
        for path in plain[1:] if name == "git" else plain:
            if "*" not in path:
                yield Effect("deleted", path)
    elif name == "sed" and any(word.startswith("-i") for word in words):
        scripts = [word for word in plain if word]
        for path in scripts[1:]:
            yield Effect("edited", path, scripts[0])
    elif name in _READERS and not redirected:
        paths = [word for word in plain if "." in word or "/" in word]
        paths = [path for path in paths if "," not in path and "*" not in path]
        if len(paths) == 1:
            yield Effect("read", paths[0])
    elif name in _LISTERS and not redirected:
        yield Effect("listed", plain[0] if plain else ".")


def _wraps(word: str) -> bool:
    return word in _WRAPPERS or ("=" in word and word.partition("=")[0].isidentifier())
