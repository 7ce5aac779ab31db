"""What Gemini CLI sends of one message record, as chat messages.

A record is what the user said, or what the model said in one step: its thoughts, its text, the tools it called, and
what each of them answered. Source: Gemini CLI 0.61, as measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lithify.core.messages import Message, compact_json
from lithify.transcripts.chat_messages import (
    Part,
    assistant,
    call,
    listed,
    mapped,
    media_part,
    result,
    string,
    text_part,
    think_part,
    user,
)

KINDS = frozenset({"user", "gemini", "info", "error", "warning"})
"""The types of message records; only the first two are sent."""

_NOT_SENT = ("/", "?", "<session_context>", "<hook_context>")
"""How what the user typed begins where it is a command, or comes anew at each start."""

_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_WITHOUT_TEXT = frozenset(
    {
        *("videoMetadata", "thought", "codeExecutionResult", "executableCode"),
        *("fileData", "functionCall", "functionResponse", "inlineData"),
    }
)


def messages_of(record: dict[str, Any]) -> list[Message]:
    """The messages that a record makes: none, one, or a call of tools with all its results."""
    if record.get("type") == "user":
        return list(_of_user(record.get("content")))
    return list(_of_model(record)) if record.get("type") == "gemini" else []


def _of_user(content: Any) -> Iterator[Message]:
    said = _told(content).strip(_SPACE)
    if not said or said.startswith(_NOT_SENT):
        return
    parts = _parts(content)
    yield from _results([part for part in parts if "functionResponse" in part], "")
    if others := [_part(part) for part in parts if "functionResponse" not in part]:
        yield user(others)


def _of_model(record: dict[str, Any]) -> Iterator[Message]:
    parts, calls = _parts(record.get("content")), [mapped(one) for one in listed(record.get("toolCalls"))]
    if not any(part.get("functionCall") or part.get("thought") for part in parts):
        parts = [*_thoughts(record), *parts, *({"functionCall": one} for one in calls)]
    if not parts:
        return
    made = [_call(part) for part in parts if "functionCall" in part]
    yield assistant([_part(part) for part in parts if "functionCall" not in part], made)
    for one in calls:
        yield from _results(_answers(one), one.get("id"))


def _told(value: Any) -> str:
    """The text by which Gemini CLI sees whether something is to be sent."""
    if isinstance(value, list):
        return "".join(map(_told, value))
    if isinstance(value, dict):
        return "[]" if _WITHOUT_TEXT & value.keys() else string(value.get("text"))
    return string(value)


def _parts(content: Any) -> list[Part]:
    """The content as parts, whatever its shape."""
    if not content:
        return []
    held = content if isinstance(content, list) else [content]
    return [one if isinstance(one, dict) else {"text": string(one)} for one in held]


def _thoughts(record: dict[str, Any]) -> Iterator[Part]:
    for thought in map(mapped, listed(record.get("thoughts"))):
        subject, said = thought.get("subject"), string(thought.get("description"))
        yield {"text": f"**{subject}** {said}" if subject else said, "thought": True}


def _part(part: Part) -> Part:
    """One part of a message; one of a kind that only Gemini knows stays as it is."""
    if isinstance(text := part.get("text"), str):
        return think_part(text) if part.get("thought") else text_part(text)
    for key, held in (("inlineData", "data"), ("fileData", "fileUri")):
        media = mapped(part.get(key))
        if isinstance(place := media.get(held), str):
            mime = string(media.get("mimeType"))
            return media_part(mime, f"data:{mime};base64,{place}" if key == "inlineData" else place)
    return part


def _call(part: Part) -> Part:
    called = mapped(part["functionCall"])
    return call(called.get("id"), called.get("name"), called.get("args"))


def _answers(called: dict[str, Any]) -> list[Part]:
    """The parts that answer a call: each is sent as it stands, or stands for the output alone."""
    answer = called.get("result")
    return [{"text": answer}] if answer and isinstance(answer, str) else _parts(answer)


def _results(parts: list[Part], call_id: Any) -> Iterator[Message]:
    """One message for each answer; what stands beside answers, an image say, belongs to the one before."""
    open_result: Message | None = None
    for part in parts:
        response = mapped(part.get("functionResponse"))
        if response or open_result is None:
            if open_result is not None:
                yield open_result
            open_result = result(response.get("id") or call_id, [])
        open_result["content"].append(text_part(_output(response.get("response"))) if response else _part(part))
    if open_result is not None:
        yield open_result


def _output(response: Any) -> str:
    told = mapped(response)
    for key in ("output", "error"):
        if isinstance(told.get(key), str):
            said: str = told[key]
            return said
    return compact_json(response)
