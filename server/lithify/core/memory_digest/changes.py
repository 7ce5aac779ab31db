"""Drafts of what was done to files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from lithify.core.digest.actions import FileDelete, FileEdit, FileWrite
from lithify.core.digest.files import FileState
from lithify.core.digest.labels import CUT, DELETED, EDITED, READ, SHOWN
from lithify.core.digest.shortening import excerpt, one_line, shortened
from lithify.core.memory_digest.drafts import Draft, drafted
from lithify.core.memory_digest.reading import Reading

MOST_ALONE, MOST_GROUPS = 3, 4

_NAMED = re.compile(
    r"^[+ \t]*(?:(?:export|default|public|private|protected|static|async|pub|final|abstract) )*"
    r"(?:def|class|fn|func|function|interface|type|struct|enum|trait|const)\s+(?:\([^)\n]{0,80}\)\s*)?([A-Za-z_]\w{2,60})|"
    r"^\+?#{1,3} ([^\n]{3,60})$",
    re.M,
)
_BODY = 40_000


def drafts(reading: Reading) -> Iterator[Draft]:
    """One draft a file where few were changed, else one a folder, the rest in one; files that came and went are no
    news."""
    touched: Counter[str] = Counter()
    positions: dict[str, list[int]] = {}
    for action in reading.actions:
        if isinstance(action, FileWrite | FileEdit | FileDelete):
            path = reading.facts.files.spelling(action.path)
            touched[path] += 1
            positions.setdefault(path, []).append(action.position)
    states = [reading.facts.files.states[path] for path, _ in touched.most_common()]
    changed = [state for state in states if state.state not in {READ, SHOWN} and state.position >= 0]
    changed = [state for state in changed if state.state != DELETED or touched[state.path] == 1]
    for group in _groups(changed):
        places = {place for state in group for place in positions[state.path][-10:]}
        count = sum(touched[state.path] for state in group)
        yield _draft(group, places, 45 + min(count, 15))


def _groups(changed: list[FileState]) -> list[list[FileState]]:
    if len(changed) <= MOST_ALONE:
        return [[state] for state in changed]
    folders: dict[str, list[FileState]] = {}
    for state in changed:
        folders.setdefault(state.path.rpartition("/")[0], []).append(state)
    groups = sorted(folders.values(), key=lambda group: -len(group))
    rest = [state for group in groups[MOST_GROUPS - 1 :] for state in group]
    return [*groups[: MOST_GROUPS - 1], rest] if len(groups) > MOST_GROUPS else groups


def _draft(group: list[FileState], places: set[int], worth: float) -> Draft:
    bodies = {state.path: _body(state)[:_BODY] for state in group}
    names = {path: _names(body) for path, body in bodies.items()}
    all_names = list(dict.fromkeys(name for found in names.values() for name in found))
    room = max(900 // len(group), 120)
    summary = "\n".join(_told(state, bodies[state.path], room) for state in group)
    facts = [
        f"{state.state} {path}: {', '.join(names[path][:12]) or one_line(body[:160])}".rstrip(": ")
        for state, (path, body) in zip(group, bodies.items(), strict=True)
    ]
    return drafted(
        "tool_use",
        worth,
        _title(group, all_names),
        summary,
        places,
        facts=facts if len(group) > 1 or len(all_names) > 5 else [],
        named=[name for name in all_names if name.isidentifier() and len(name) > 3][:6],
        paths=[state.path for state in group],
    )


def _body(state: FileState) -> str:
    """What was done to a file: its changes, the newest first, else what was written."""
    if state.state == EDITED and state.changes:
        return f"\n{CUT}\n".join(change.strip("\n") for change in reversed(state.changes))
    return state.body()


def _title(group: list[FileState], names: list[str]) -> str:
    if len(group) == 1:
        head = f"{group[0].state} {group[0].path}"
        return f"{head}: {', '.join(names[:5])}" if names else head
    by_state: dict[str, list[str]] = {}
    for state in group:
        by_state.setdefault(state.state, []).append(state.path.rpartition("/")[2])
    return "; ".join(f"{state} {', '.join(found)}" for state, found in by_state.items())


def _told(state: FileState, body: str, room: int) -> str:
    head = f"{state.state} {state.path}"
    if state.state == DELETED or not body.strip(f" \n{CUT}"):
        return head
    text = excerpt(body, room) if room > 300 else shortened(one_line(body), room)
    return f"{head}:\n{text}" if room > 300 else f"{head}: {text}"


def _names(body: str) -> list[str]:
    """What a file's text or change defines, headings of prose among it."""
    return list(dict.fromkeys(name for groups in _NAMED.findall(body) for name in groups if name))
