"""Tool uses that stand as markup inside a message's text: Cline's XML tools, and SpecStory's exported blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lithify.core.digest import fences
from lithify.core.digest.cleaning import file_view

_CLINE = re.compile(
    r"<(write_to_file|read_file|replace_in_file|apply_diff|insert_content|execute_command|search_files|list_files|"
    r"attempt_completion|ask_followup_question|update_todo_list|new_task)>"
)
_ARGUMENT = re.compile(r"<(path|content|diff|command|result|question|regex|todos|line_count)>")
_SPECSTORY = re.compile(r'<tool-use data-tool-type="([^"<>]{0,40})" data-tool-name="([^"<>]{0,80})">')
_SUMMARY = re.compile(r"<summary>[^<\n]{0,300}</summary>")
_CODE_SPAN = re.compile(r"`([^`\n]{1,2000})`")
_UPDATED = re.compile(r"(?:The file|at:|Successfully modified file:) (/\S+|[A-Za-z]:\\\S+)")


@dataclass(frozen=True, slots=True)
class Markup:
    """A tool use found in text; `output` is None where the text shows none."""

    name: str
    arguments: Any
    output: str | None = None


def split(text: str, role: str) -> Iterator[str | Markup]:
    """Splits an assistant's text into words and tool uses, in order; any other role's text is words alone."""
    if role == "assistant" and "<tool-use " in text:
        yield from _split_specstory(text)
    elif role == "assistant" and "</" in text and _CLINE.search(text):
        yield from _split_cline(text)
    else:
        yield text


def _split_cline(text: str) -> Iterator[str | Markup]:
    at = 0
    for opening in _CLINE.finditer(text):
        if opening.start() < at:
            continue
        closing = f"</{opening[1]}>"
        end = text.find(closing, opening.end())
        if end < 0:
            break
        yield text[at : opening.start()]
        yield Markup(opening[1], _arguments(text[opening.end() : end]))
        at = end + len(closing)
    yield text[at:]


def _arguments(body: str) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 0
    for opening in _ARGUMENT.finditer(body):
        name = opening[1]
        if opening.start() < at or name in found:
            continue
        # A file's content may hold the closing tag itself: the last one ends it.
        end = body.rfind(f"</{name}>") if name in {"content", "diff"} else body.find(f"</{name}>", opening.end())
        if end >= opening.end():
            found[name] = body[opening.end() : end].strip("\n")
            at = end
    return found


def _split_specstory(text: str) -> Iterator[str | Markup]:
    at = 0
    for opening in _SPECSTORY.finditer(text):
        if opening.start() < at:
            continue
        end = text.find("</tool-use>", opening.end())
        if end < 0:
            break
        yield text[at : opening.start()]
        body = text[opening.end() : end].removeprefix("<details>").rstrip().removesuffix("</details>")
        yield _specstory_use(opening[1], opening[2], _SUMMARY.sub("", body).strip())
        at = end + len("</tool-use>")
    yield text[at:]


def _specstory_use(kind: str, name: str, body: str) -> Markup:
    blocks, after = fences.split(body)
    prose = "".join(block.before for block in blocks) + after
    shown = [(block.info, block.content) for block in blocks]
    span = _CODE_SPAN.search(prose)
    named = span[1] if span else ""
    if kind == "shell":
        command = named or (shown[0][1] if shown and shown[0][0] in {"bash", "sh", "shell"} else "")
        outputs = [content for _, content in shown if content != command]
        return Markup(name, {"command": command}, "\n".join(outputs))
    if kind == "task":
        return Markup(name, {"todos": body})
    if kind == "read":
        return Markup(name, {"path": named}, shown[0][1] if shown else "")
    if kind == "write":
        return _specstory_write(name, named, prose, [content for _, content in shown])
    return Markup(name, {"query": named}, "\n".join(content for _, content in shown))


def _specstory_write(name: str, path: str, prose: str, shown: list[str]) -> Markup:
    """An exported edit shows a diff or the written text, then what the tool answered, which names the file."""
    answer = next((content for content in shown if _UPDATED.search(content)), "")
    where = _UPDATED.search(answer) or _UPDATED.search(prose)
    path = path or (where[1].rstrip(".") if where else "")
    texts = [content for content in shown if content != answer]
    arguments = {"path": path, "content" if name in {"Write", "write_file"} else "diff": "\n".join(texts)}
    if not texts and answer:
        arguments = {"path": path, "diff": file_view(answer.partition("edited file:\n")[2])}
    return Markup(name, arguments, "")
