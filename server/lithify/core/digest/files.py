"""The files of a transcript, each with its last state."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lithify.core.digest import fences
from lithify.core.digest.actions import FileDelete, FileEdit, FileRead, FileWrite
from lithify.core.digest.cleaning import file_view
from lithify.core.digest.items import Item
from lithify.core.digest.labels import CODE, CUT, DELETED, EDITED, READ, SHOWN, UNNAMED, WRITTEN

_FILE_NAME = re.compile(r"[\w./@+-]*[\w-]\.[A-Za-z][A-Za-z0-9]{0,7}")
_FIRST_COMMENT = re.compile(r"^\s*(?:#|//|--|<!--|/\*)\s*([\w./@-]+\.[A-Za-z]\w{0,7})\s*(?:-->|\*/)?\s*$")
_CONSOLES = frozenset({"bash", "sh", "shell", "console", "text", "txt", "zsh", "powershell", "output", "log", "diff"})
_CHANGES_KEPT = 6
_APPLIED_CHARS = 20_000
_WHOLE_FILES, _WHOLE_LINES, _WHOLE_SHARE = 2, 20, 250
_PAST = 1_000_000_000


@dataclass(slots=True)
class FileState:
    """One file: its last state, the last whole content, and the changes since; newest change last."""

    path: str
    state: str
    position: int
    content: str = ""
    changes: list[str] = field(default_factory=list)
    carried: str = ""
    whole: bool = False
    viewed: bool = False

    def edit(self, action: FileEdit) -> None:
        """Notes a change, and makes it in the known content where that is plainly possible, else forgets content
        that no longer holds: what was merely read goes, what was written stays as the version before."""
        if action.change.strip() and action.change not in self.changes:
            older = [change for change in self.changes if change not in action.change]
            self.changes = [*older[-_CHANGES_KEPT + 1 :], action.change]
        content = self.content if len(self.content) <= _APPLIED_CHARS else ""
        if self.viewed:
            content, self.viewed = file_view(content), False
        for old, new in action.replaced:
            content = content.replace(old, new, 1) if old and content.count(old) == 1 else ""
        if content and action.replaced:
            self.content = content
        elif not self.whole:
            self.content, self.viewed = "", False

    def body(self) -> str:
        """What is known of the file's text, the newest first."""
        if self.state == DELETED:
            return ""
        if self.state == EDITED and self.content and len(self.content) < 800:
            return self.content
        newer = [*reversed(self.changes), self.content]
        pieces = newer if _says(newer, self.carried) else [*newer, self.carried]
        return f"\n{CUT}\n".join(piece.strip("\n") for piece in pieces if piece.strip())


@dataclass(slots=True)
class Files:
    """The files a transcript touches, by path; two spellings of one path meet in one state."""

    states: dict[str, FileState] = field(default_factory=dict)
    endings: dict[str, list[str]] = field(default_factory=dict)

    def changed(self, action: FileWrite | FileEdit | FileDelete) -> None:
        """A write replaces what was known, an edit adds to it, a deletion empties it."""
        match action:
            case FileWrite():
                state = self._touch(action.path, WRITTEN, action.position)
                state.content, state.changes, state.carried, state.whole = action.content, [], "", True
                state.viewed = False
            case FileEdit():
                state = self._touch(action.path, EDITED, action.position)
                state.edit(action)
            case FileDelete():
                self._touch(action.path, DELETED, action.position)

    def read(self, action: FileRead) -> None:
        """A view never hides a change that went before it."""
        path = self.spelling(action.path)
        known = self.states.get(path)
        if known is None or known.state in {READ, SHOWN, ""}:
            state = self._touch(path, READ, action.position)
            if action.text:
                state.content, state.viewed = action.text, True

    def carried(self, path: str, state: str, body: str) -> None:
        """A file of an earlier summary: known, but older than everything else, and the newer the later it stands."""
        known = self.states.get(self.spelling(path))
        if known is None or known.position < 0:
            self._touch(path, state, len(self.states) - _PAST).carried = body
        elif not known.carried:
            known.carried = body

    def shown(self, position: int, text: str) -> None:
        """Fenced code blocks in a model's words: the newest of each file name, unless a tool changed that file."""
        for path, content in _code_blocks(text) if fences.stand_in(text) else ():
            known = self.states.get(self.spelling(path))
            if known is None or known.state in {READ, SHOWN}:
                state = self._touch(path, SHOWN, position)
                state.content = content

    def items(self) -> Iterator[Item]:
        """A block for each file: changed files first, then code shown in chat, then files that were only read."""
        changed = [state for state in self.states.values() if state.state not in {READ, SHOWN} and state.position >= 0]
        shown = [state for state in self.states.values() if state.state == SHOWN and state.position >= 0]
        read = [state for state in self.states.values() if state.state == READ and state.position >= 0]
        past = [state for state in self.states.values() if state.position < 0]
        yield from _blocks(changed, 8, 2, share=70)
        named = [state for state in shown if state.path != UNNAMED]
        unnamed = [state for state in shown if state.path == UNNAMED]
        yield from _blocks(named, 14, 5, share=70)
        yield from _blocks(unnamed, 28 if changed else 15, 5, share=60)
        yield from _blocks(past, max(12, 8 + 2 * len(changed)), 2, share=40)
        yield from _blocks(read, 30, 4, share=0, counted=False)

    def _touch(self, path: str, state: str, position: int) -> FileState:
        known = self.spelling(path)
        found = self.states.get(known)
        if found is None:
            found = self.states[path] = FileState(path, state, position)
            self.endings.setdefault(_last(path), []).append(path)
        found.state, found.position = state, position
        return found

    def spelling(self, path: str) -> str:
        """The spelling under which a path is known already: `src/a.py` and `/repo/src/a.py` are one file."""
        if path in self.states:
            return path
        short = path.removeprefix("./")
        for other in self.endings.get(_last(path), ())[-8:]:
            bare = other.removeprefix("./")
            if bare.endswith("/" + short) or short.endswith("/" + bare) or bare == short:
                return other
        return path


def _blocks(states: list[FileState], rank: float, step: float, share: int, counted: bool = True) -> Iterator[Item]:
    """Blocks of files, the newest first; the newest two are shown whole at first when their text is short."""
    for nth, state in enumerate(sorted(states, key=lambda each: -each.position)):
        head = f"{state.path}\n{state.state}" if state.state else state.path
        body = state.body()
        whole = share and nth < _WHOLE_FILES and body.count("\n") < _WHOLE_LINES
        part = max(share, _WHOLE_SHARE) if whole else share
        yield Item(CODE, rank + step * nth, state.position, head, body, part, viewed=state.viewed, counted=counted)


def _says(newer: list[str], carried: str) -> bool:
    """Whether newer texts of a file hold every line of what an earlier summary has of it."""
    if len(carried) > _APPLIED_CHARS or not any(newer):
        return False
    known = {line.strip(" \t\r+-") for text in newer for line in text[:_APPLIED_CHARS].split("\n")}
    return all(line.strip(" \t\r+-") in known for line in carried.split("\n") if line.strip() != CUT)


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _code_blocks(text: str) -> Iterator[tuple[str, str]]:
    """(file name or a stand-in, content) of each fenced block of three lines or more that is no console."""
    for block in fences.split(text)[0]:
        language = block.info.partition(" ")[0].lower()
        if block.content.count("\n") >= 2 and language not in _CONSOLES:
            yield _block_name(block.info[:200], block.before[-300:], block.content) or UNNAMED, block.content


def _block_name(info: str, before: str, content: str) -> str:
    for word in re.split(r"[\s:=\"']+", info):
        if _FILE_NAME.fullmatch(word):
            return word
    first = _FIRST_COMMENT.match(content[:200].partition("\n")[0])
    if first:
        return first[1]
    lead = before.strip().rpartition("\n")[2][-120:]
    if len(lead) < 100 and (lead.endswith((":", "`", "*")) or lead.startswith("#")):
        names = _FILE_NAME.findall(lead)
        return names[-1] if names else ""
    return ""
