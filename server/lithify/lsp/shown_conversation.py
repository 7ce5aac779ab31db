"""A conversation on the wire as people read it: `lithify/getAgentSession`."""

from __future__ import annotations

from typing import Any

from lithify.core.document_compactions import DocumentCompaction
from lithify.core.kimi import OUTPUT_PREFIX
from lithify.core.messages import (
    MEDIA_TYPES,
    Message,
    answered_calls,
    compact_json,
    result_text,
    role_of,
    text_of,
    tool_calls,
)
from lithify.transcripts.outline import Outline


def about_transcript(uri: str, reason: str | None) -> dict[str, Any]:
    """What is known of a transcript that is no session of an agent. `reason`: why it can only be read, if so."""
    about = {"uri": uri, "live": None, "writable": reason is None, "reason": reason}
    return {key: value for key, value in about.items() if value is not None or key == "live"}


def shown_conversation(outline: Outline, *, exact: bool, writable: bool) -> dict[str, Any]:
    """The messages that the tool itself would send, and what it would not. `writable`: whether it can be compacted."""
    conversation = outline.conversation
    return {
        "tokens": outline.all_tokens,
        "messages": [
            _message(outline, index, message, compactable=writable and outline.up_to(index, exact=exact) is not None)
            for index, message in enumerate(conversation)
        ],
        "folds": [{"title": fold.title, "messages": fold.messages} for fold in outline.transcript.folds],
    }


def document_compaction(kept: DocumentCompaction) -> dict[str, Any]:
    """A compaction that is kept, so that it can be undone."""
    return {"compactionId": kept.compaction_id, "at": kept.at, "undone": kept.undone}


def _message(outline: Outline, index: int, message: Message, *, compactable: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "role": role_of(message) or "message",
        "text": text_of(message) or result_text(message),
        "toolCalls": [
            {"id": call.call_id, "name": call.name, "arguments": _as_text(call.arguments)}
            for call in tool_calls(message)
        ],
        "answers": answered_calls(message),
        "tokens": outline.tokens(index),
        "compactable": compactable,
    }
    thought, media = _thought(message), _media(message)
    extras = {"thought": thought, "media": media, "summary": OUTPUT_PREFIX in shown["text"][: len(OUTPUT_PREFIX) + 1]}
    return {**shown, **{key: value for key, value in extras.items() if value}}


def _as_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else compact_json(arguments)


def _parts(message: Message) -> list[dict[str, Any]]:
    content = message.get("content")
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _thought(message: Message) -> str:
    said = [part.get("think", part.get("thinking")) for part in _parts(message)]
    return "\n".join(one for one in said if isinstance(one, str))


def _media(message: Message) -> int:
    return sum(part.get("type") in MEDIA_TYPES for part in _parts(message) if isinstance(part.get("type"), str))
