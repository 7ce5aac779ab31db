"""The changed lines of edits, diffs and patches, and the items of TODO lists, from the arguments of tools."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lithify.core.digest.labels import COMPLETED_STATE, IN_PROGRESS, PENDING

_SEARCH_REPLACE = re.compile(r"^(?:<{5,9} ?SEARCH|-{5,9} SEARCH|={5,9}|>{5,9} ?REPLACE|\+{5,9} REPLACE)[^\n]*$", re.M)
_PATCH_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.M)
_CHECKBOX = re.compile(r"^[ \t]*(?:(?:[-*]|\d{1,3}\.)[ \t]*)?\[([ xX✓~⚡>/-]?)\]\s+(.+)$", re.M)
_STATES = {
    "completed": COMPLETED_STATE, "done": COMPLETED_STATE, "complete": COMPLETED_STATE, "finished": COMPLETED_STATE,
    "in_progress": IN_PROGRESS, "in-progress": IN_PROGRESS, "doing": IN_PROGRESS, "active": IN_PROGRESS,
}  # fmt: skip
_MARKS = {
    "x": COMPLETED_STATE,
    "✓": COMPLETED_STATE,
    "~": IN_PROGRESS,
    "⚡": IN_PROGRESS,
    ">": IN_PROGRESS,
    "/": IN_PROGRESS,
}


@dataclass(frozen=True, slots=True)
class Effect:
    """What is done to one file. `kind` is read, written, edited, deleted or listed; `text` is the content or the
    changed lines, where they are known; `replaced` are pairs of old and new text."""

    kind: str
    path: str
    text: str = ""
    replaced: tuple[tuple[str, str], ...] = ()


def changed_lines(old: str, new: str) -> str:
    """The lines a replacement takes out (`-`) and puts in (`+`), without those both sides share at either end."""
    if not old:
        return new
    before, after = old.split("\n"), new.split("\n")
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    gone = [f"-{line}" for line in before[start : len(before) - end]]
    come = [f"+{line}" for line in after[start : len(after) - end]]
    return "\n".join([*gone[:3], *(["…"] if len(gone) > 3 else []), *come])


def diff_lines(diff: str) -> str:
    """The changed lines of a diff: SEARCH/REPLACE blocks, or lines that begin with `+` and `-`."""
    if "SEARCH" in diff:
        pieces = [piece.strip("\n") for piece in _SEARCH_REPLACE.split(diff)]
        pairs = zip(pieces[1::3], pieces[2::3], strict=False)
        return "\n".join(changed_lines(old, new) for old, new in pairs)
    lines = diff.split("\n")
    changed = [line for line in lines if line[:1] in {"+", "-"} and line[:4] not in {"+++ ", "--- "}]
    return "\n".join(changed) if changed else diff


def patched_files(patch: str) -> Iterator[Effect]:
    """What a patch in Codex's form does to each file."""
    marks = list(_PATCH_FILE.finditer(patch))
    ends = [*(mark.start() for mark in marks[1:]), len(patch)]
    for mark, end in zip(marks, ends, strict=False):
        body = patch[mark.end() : end].partition("*** End Patch")[0].strip("\n")
        path = mark[2].strip()
        if mark[1] == "Delete":
            yield Effect("deleted", path)
        elif mark[1] == "Add":
            yield Effect("written", path, "\n".join(line[1:] for line in body.split("\n") if line.startswith("+")))
        else:
            hunks = [hunk for hunk in re.split(r"^@@.*\n?", body, flags=re.M) if hunk.strip()]
            yield Effect("edited", path, _without_same(diff_lines(body)), tuple(map(_sides, hunks)))


def _sides(hunk: str) -> tuple[str, str]:
    """A hunk's text before and after."""
    lines = hunk.strip("\n").split("\n")
    before = [line[1:] for line in lines if line[:1] != "+"]
    after = [line[1:] for line in lines if line[:1] != "-"]
    return "\n".join(before), "\n".join(after)


def todos(raw: Any) -> tuple[tuple[str, str], ...]:
    """The items of a TODO list: objects with a text and a status, or lines with check boxes."""
    if isinstance(raw, str):
        found = [(text.strip(), _MARKS.get(mark.lower(), PENDING)) for mark, text in _CHECKBOX.findall(raw)]
        return tuple(found)
    if not isinstance(raw, list):
        return ()
    return tuple(item for each in raw if (item := _todo(each)))


def _todo(each: Any) -> tuple[str, str] | None:
    if isinstance(each, str):
        return (each.strip(), PENDING) if each.strip() else None
    if not isinstance(each, dict):
        return None
    text = next(
        (each[key] for key in ("content", "step", "title", "text", "task") if isinstance(each.get(key), str)), ""
    )
    status = each.get("status", each.get("state"))
    state = _STATES.get(status.lower(), PENDING) if isinstance(status, str) else PENDING
    if each.get("done") is True or each.get("completed") is True:
        state = COMPLETED_STATE
    return (text.strip(), state) if text.strip() else None


def _without_same(change: str) -> str:
    """A change without lines that are taken out and put back as they were."""
    lines = change.split("\n")
    gone = {line[1:] for line in lines if line.startswith("-")}
    come = {line[1:] for line in lines if line.startswith("+")}
    both = gone & come
    return "\n".join(line for line in lines if line[1:] not in both or line[:1] not in {"+", "-"})
