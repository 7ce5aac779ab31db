"""A transcript as steps: what was said, and which tool was used with which result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from lithify.core.digest import cleaning, embedded
from lithify.core.messages import Message, ToolCall, role_of, text_parts, tool_calls

_JSON_OUTPUTS = ('{"output"', '{"stdout"', '{"type":"output_text"', '{"result"', '{"content"', '{"error"')
_ANSWERING = frozenset({"tool", "function"})
_TEXT_KEYS = ("output", "stdout", "stderr", "result", "content", "error", "text", "value")


class Speech(NamedTuple):
    """Words of a person or a model, without injected blocks; `context` are blocks a client put beside them."""

    position: int
    role: str
    text: str
    context: tuple[str, ...] = ()


@dataclass(slots=True)
class Use:
    """One use of a tool. `output` is None until a result came; `failed` is None where nothing says so."""

    position: int
    name: str
    arguments: Any
    output: str | None = None
    failed: bool | None = None


Step: TypeAlias = Speech | Use


@dataclass(slots=True)
class _Reader:
    steps: list[Step] = field(default_factory=list)
    waiting: dict[str, list[Use]] = field(default_factory=dict)

    def use(self, position: int, call: ToolCall) -> None:
        step = Use(position, call.name, call.arguments)
        self.steps.append(step)
        self.waiting.setdefault(call.call_id, []).append(step)

    def answer(self, position: int, call_id: str, output: str, failed: bool | None) -> None:
        """Gives a result to the oldest waiting call of that id; ids may repeat, and foreign ids are free-standing."""
        waiting = self.waiting.get(call_id)
        if waiting:
            step = waiting.pop(0)
        else:
            step = Use(position, "", None)
            self.steps.append(step)
        step.output, exit_failed = _plain_output(output)
        step.failed = exit_failed if failed is None else failed


def read(messages: Sequence[Message]) -> list[Step]:
    """The steps of messages, in order; a shape that is not a message holds none."""
    reader = _Reader()
    for position, message in enumerate(messages):
        if isinstance(message, dict):
            _read_message(reader, position, message)
    return reader.steps


def _read_message(reader: _Reader, position: int, message: Message) -> None:
    role = role_of(message)
    content = message.get("content")
    if isinstance(content, str):
        if role in _ANSWERING:
            reader.answer(position, _answered_id(message), content, _flag(message))
        else:
            _read_text(reader, position, role, content)
    elif isinstance(content, list):
        if role in _ANSWERING and (texts := text_parts(message)):
            reader.answer(position, _answered_id(message), "\n".join(texts), _flag(message))
        _read_parts(reader, position, role, content)
    if "tool_calls" in message or isinstance(content, list):
        for call in tool_calls(message):
            reader.use(position, call)


def _read_parts(reader: _Reader, position: int, role: str, parts: Sequence[Any]) -> None:
    """Results first, then words: a client puts what a person said after the results it answers."""
    for part in parts:
        if isinstance(part, dict) and part.get("type") == "tool_result":
            output = "\n".join(text_parts({"content": part.get("content")}))
            call_id = part.get("tool_use_id")
            reader.answer(position, call_id if isinstance(call_id, str) else "", output, _flag(part))
    if role not in _ANSWERING:
        for text in text_parts({"content": parts}):
            _read_text(reader, position, role, text)


def _read_text(reader: _Reader, position: int, role: str, text: str) -> None:
    if "<" not in text:
        if text:
            reader.steps.append(Speech(position, role, text.strip()))
        return
    for piece in embedded.split(text, role):
        if isinstance(piece, str):
            said, context = cleaning.speech(piece)
            if said or context:
                reader.steps.append(Speech(position, role, said, tuple(context)))
        else:
            output, failed = (None, None) if piece.output is None else _plain_output(piece.output)
            reader.steps.append(Use(position, piece.name, piece.arguments, output, failed))


def _answered_id(message: Message) -> str:
    one = message.get("tool_call_id")
    many = message.get("tool_call_ids")
    if isinstance(one, str):
        return one
    return next((each for each in many if isinstance(each, str)), "") if isinstance(many, list) else ""


def _flag(holder: dict[str, Any]) -> bool | None:
    flag = holder.get("is_error")
    return flag if isinstance(flag, bool) else None


def _plain_output(output: str) -> tuple[str, bool | None]:
    """The text of an output that some agents wrap in JSON, and whether its exit code tells of a failure."""
    failed = None
    if output.startswith(_JSON_OUTPUTS):
        try:
            wrapped = json.loads(output)
        except (ValueError, RecursionError):
            wrapped = None
        if isinstance(wrapped, dict):
            failed = _exit_failed(wrapped)
            output = "\n".join(_strings(wrapped)) or output
    output = cleaning.without_reminders(output)
    if output.startswith("<system>"):
        status, _, rest = output[len("<system>") :].partition("</system>")
        output = rest.lstrip("\n") if rest.strip() and not status.startswith("ERROR") else f"{status}{rest}"
    return output, failed


def _strings(wrapped: dict[str, Any], depth: int = 3) -> list[str]:
    found = []
    for key in _TEXT_KEYS:
        value = wrapped.get(key)
        if isinstance(value, str) and value.strip():
            found.append(value)
        elif isinstance(value, dict) and depth:
            found.extend(_strings(value, depth - 1))
    return found


def _exit_failed(wrapped: dict[str, Any]) -> bool | None:
    metadata = wrapped.get("metadata")
    for holder in (wrapped, metadata if isinstance(metadata, dict) else {}):
        for key in ("exit_code", "exitCode", "returncode"):
            code = holder.get(key)
            if isinstance(code, int):
                return code != 0
    return None
