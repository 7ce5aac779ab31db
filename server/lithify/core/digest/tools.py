"""Understands the tools of many agents: a tool use becomes the actions it took."""

from __future__ import annotations

import re
from collections.abc import Iterator, KeysView, Sequence
from typing import Any

from lithify.core.digest import changes, failures, shell
from lithify.core.digest.actions import (
    Action,
    CommandRun,
    Failure,
    FileDelete,
    FileEdit,
    FileRead,
    FileWrite,
    Finding,
    Listing,
    TodoList,
    WorkingDirectory,
)
from lithify.core.digest.steps import Speech, Step, Use


def _ordered(*keys: str) -> KeysView[str]:
    """Keys of arguments that mean the same, those that are looked for first in front."""
    return dict.fromkeys(keys).keys()


_PATH_KEYS = _ordered(
    "file_path", "path", "filename", "filePath", "file", "target_file", "absolute_path", "relative_path",
    "relative_workspace_path", "notebook_path", "file_name", "uri",
)  # fmt: skip
_CONTENT_KEYS = _ordered("content", "contents", "file_text", "code_edit", "text", "new_source", "data")
_COMMAND_KEYS = _ordered("command", "cmd", "script", "commands", "code")
_OLD_KEYS = _ordered("old_string", "old_str", "old", "search", "oldString", "old_text")
_NEW_KEYS = _ordered(
    "new_string", "new_str", "new", "replace", "newString", "replacement_text", "new_text", "insert_text"
)
_REPLACING = _NEW_KEYS | {"edits", "edit"}
_TODO_KEYS = _ordered("todos", "plan", "todoList", "items", "todo_list")
_SAID_KEYS = _ordered("result", "summary", "question", "strategic_intent", "message")
_SAYING = frozenset(
    {"attempt_completion", "task_complete", "ask_followup_question", "finish", "update_topic", "complete"}
)
_OPEN_FILE = re.compile(r"\(Open file: (?!n/a)([^()\n]{1,300})\)")
_DIRECTORY = re.compile(r"\(Current directory: ([^()\n]{1,300})\)")
_LISTERS = frozenset(
    {"ls", "list", "list_files", "list_dir", "list_directory", "glob", "find_file", "listdir", "file_search"}
)
_DELETERS = frozenset({"delete_file", "deletefile", "remove_file", "delete"})
_LEAST_FINDING = 40
_WRITERS = frozenset({"create", "insert"})
_PROMPT = re.compile(r"\n?\(Open file: [^\n]{0,400}\)\n\(Current directory: [^\n]{0,400}\)\n(?:bash-)?\$\s*$")


def act(steps: Sequence[Step]) -> Iterator[Action]:
    """The actions of steps, in order; speech passes through, uses of unknown tools that worked are left out."""
    open_file = directory = ""
    for step in steps:
        if isinstance(step, Speech):
            yield step
            continue
        yield from _actions_of(step, open_file)
        if step.output and "(Open file: " in step.output:
            found = _OPEN_FILE.findall(step.output)
            open_file = found[-1] if found else open_file
            for place in _DIRECTORY.findall(step.output)[-1:]:
                if place != directory:
                    yield WorkingDirectory(step.position, place)
                directory = place


def _actions_of(use: Use, open_file: str) -> Iterator[Action]:
    arguments = use.arguments if isinstance(use.arguments, dict) else {}
    name = use.name.rpartition("__")[2].rpartition(".")[2].lower()
    output = use.output or ""
    if "(Open file: " in output:
        output = _PROMPT.sub("", output)
    todos = _first(arguments, _TODO_KEYS)
    if todos is not None and (items := changes.todos(todos)):
        yield TodoList(use.position, items)
    elif name == "submit":
        yield from _shown_diff(use.position, output)
    elif name in _SAYING:
        yield from _said(use, arguments)
    elif command := _command(use, name, arguments):
        yield from _run(use, command, output)
    elif patch := _patch(use.arguments):
        yield from _patched(use, name, patch, output)
    else:
        yield from _on_file(use, name, arguments, output, open_file)


def _command(use: Use, name: str, arguments: dict[str, Any]) -> str:
    raw = _first(arguments, _COMMAND_KEYS)
    if name == "str_replace_editor" or "editor" in name or (isinstance(raw, str) and _first(arguments, _PATH_KEYS)):
        return ""
    if isinstance(raw, str):
        return raw.strip()
    if isinstance(raw, list) and raw and all(isinstance(word, str) for word in raw):
        shells = raw[0].rpartition("/")[2] in {"bash", "sh", "zsh"} and len(raw) >= 3
        return str(raw[2] if shells else " ".join(raw)).strip()
    if isinstance(use.arguments, str) and name in {"bash", "shell", "exec", "terminal"}:
        return use.arguments.strip()
    return ""


def _run(use: Use, command: str, output: str) -> Iterator[Action]:
    line = shell.line(command)
    parsed = line.parsed
    failed = failures.command_failed(use.failed, parsed, output)
    if failures.refused(output):
        yield Failure(use.position, use.name, command, output)
        return
    # Of a line that failed, what it wrote before it ran anything is there all the same.
    effects = list(line.written if failed and len(parsed) > 1 else () if failed else line.effects())
    for effect in effects:
        yield from _effect(use.position, effect, output)
    silent = not failed and line.silent(len(effects))
    yield CommandRun(use.position, line.shown, output, failed, parsed, silent, use.output is not None)
    if command.startswith("git diff"):
        yield from _shown_diff(use.position, output)


def _effect(position: int, effect: changes.Effect, output: str) -> Iterator[Action]:
    if effect.kind == "read":
        yield FileRead(position, effect.path, output)
    elif effect.kind == "written":
        yield FileWrite(position, effect.path, effect.text)
    elif effect.kind == "edited":
        yield FileEdit(position, effect.path, effect.text, effect.replaced)
    elif effect.kind == "deleted":
        yield FileDelete(position, effect.path)
    else:
        yield Listing(position, effect.path, output)


def _patch(raw: Any) -> str:
    for value in raw.values() if isinstance(raw, dict) else (raw,):
        if isinstance(value, str) and "*** Begin Patch" in value:
            return value
    return ""


def _patched(use: Use, name: str, patch: str, output: str) -> Iterator[Action]:
    if failures.tool_failed(use.failed, output):
        paths = [change.path for change in changes.patched_files(patch)]
        yield Failure(use.position, name, ", ".join(paths), output)
        return
    for change in changes.patched_files(patch):
        yield from _effect(use.position, change, "")


def _shown_diff(position: int, output: str) -> Iterator[Action]:
    """The changes a diff of the working tree shows: what was edited, whoever did it."""
    for piece in output.split("diff --git ")[1:]:
        path = piece.partition(" b/")[2].partition("\n")[0].strip()
        if path and "@@" in piece:
            yield FileEdit(position, path, changes.diff_lines(piece))


def _on_file(use: Use, name: str, arguments: dict[str, Any], output: str, open_file: str) -> Iterator[Action]:
    path = _string(_first(arguments, _PATH_KEYS)).removeprefix("file://")
    replaced = _replaced(arguments)
    change = _change(replaced) if replaced else ""
    change = change or _diff(arguments)
    content = _first(arguments, _CONTENT_KEYS)
    if not path and change and "start_line" in arguments:
        path = open_file
    if failures.tool_failed(use.failed, output):
        yield Failure(use.position, use.name, path or _subject(arguments), output)
    elif name in _DELETERS and path:
        yield FileDelete(use.position, path)
    elif path and change and replaced and _creates(arguments, replaced):
        yield FileWrite(use.position, path, replaced[0][1])
    elif path and change:
        yield FileEdit(use.position, path, change, replaced)
    elif path and content is None and ("edit" in name or "write" in name):
        yield FileEdit(use.position, path, "")
    elif path and isinstance(content, str) and "read" not in name and "search" not in name:
        yield FileWrite(use.position, path, content)
    elif name in _LISTERS or _lists(path, name, arguments, output):
        yield Listing(use.position, path or _subject(arguments), output)
    elif path and name not in _WRITERS and not _searches(name):
        yield FileRead(use.position, path, output)
    elif len(output) > _LEAST_FINDING:
        yield Finding(use.position, use.name, _subject(arguments), output)


def _change(replaced: Sequence[tuple[str, str]]) -> str:
    return "\n".join(text for old, new in replaced if (text := changes.changed_lines(old, new)))


def _replaced(arguments: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The pairs of old and new text a call gives: one replacement, or a list of them."""
    if _REPLACING.isdisjoint(arguments):
        return ()
    edits = arguments.get("edits", arguments.get("edit"))
    several = edits if isinstance(edits, list) else [edits] if isinstance(edits, dict) else [arguments]
    found = []
    for edit in several:
        new = _first(edit, _NEW_KEYS) if isinstance(edit, dict) else None
        if isinstance(new, str):
            found.append((_string(_first(edit, _OLD_KEYS)), new))
    return tuple(found)


def _diff(arguments: dict[str, Any]) -> str:
    diff = arguments.get("diff", arguments.get("patch"))
    return changes.diff_lines(diff) if isinstance(diff, str) else ""


def _creates(arguments: dict[str, Any], replaced: Sequence[tuple[str, str]]) -> bool:
    """Whether an edit makes a new file: its old text is there, and empty."""
    edits = arguments.get("edits")
    first = edits[0] if isinstance(edits, list) and isinstance(edits[0], dict) else arguments
    return len(replaced) == 1 and any(first.get(key) == "" for key in _OLD_KEYS)


def _lists(path: str, name: str, arguments: dict[str, Any], output: str) -> bool:
    """A view of a folder: a tool that shows files, a path without an extension, short lines that are all names."""
    if name not in {"view", "read_many_files"} or "." in path.rpartition("/")[2][1:] or len(arguments) > 2:
        return False
    return all(" " not in line.strip() and len(line) < 80 for line in output[:2000].split("\n"))


def _searches(name: str) -> bool:
    return "grep" in name or "search" in name or "fetch" in name


def _said(use: Use, arguments: dict[str, Any]) -> Iterator[Action]:
    said = _string(_first(arguments, _SAID_KEYS)).strip()
    if said:
        yield Speech(use.position, "assistant", said)


def _subject(arguments: dict[str, Any]) -> str:
    return next((value for value in arguments.values() if isinstance(value, str) and value.strip()), "")


def _first(arguments: dict[str, Any], keys: KeysView[str]) -> Any:
    for key in () if keys.isdisjoint(arguments) else keys:
        if (value := arguments.get(key)) is not None:
            return value
    return None


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
