"""The wire format of Anthropic's messages."""

from __future__ import annotations

import re
from typing import Any

from lithify.core.model_calls import ModelRequest
from lithify.llm.http.answer import TOOL_CALL, Answer, Fault, token_count
from lithify.llm.http.events import Event
from lithify.llm.http.overrides import overrides
from lithify.llm.http.refusals import Refusal, parsed, refusal_in

NEEDS_MODEL = True
VERSION = "2023-06-01"
DEFAULT_MAX_TOKENS = 8192
"""The wire wants a limit; where nobody names one."""

_STOP_REASONS = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
}
_FAULTS = {"refusal": Fault("refused to answer", retryable=False), "tool_use": TOOL_CALL}
_INPUT_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_LIMIT = re.compile(r"max_tokens: \d+ > (\d+)")


def headers(key: str | None) -> dict[str, str]:
    """The version, and the header that carries the key."""
    version = {"anthropic-version": VERSION}
    return version if key is None else {**version, "x-api-key": key}


def body(request: ModelRequest, model: Any) -> dict[str, Any]:
    """The body of a request. Parts without any text are left out, since the endpoint refuses them."""
    parts = [{"type": "text", "text": part} for part in request.parts if part.strip()]
    made: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_output_tokens or DEFAULT_MAX_TOKENS,
        "messages": [{"role": "user", "content": parts}],
        "stream": True,
    }
    if request.system_prompt:
        made["system"] = request.system_prompt
    return made | overrides(request.settings)


def amended(sent: dict[str, Any], refusal: Refusal) -> dict[str, Any] | None:
    """The same body with the highest limit that the model allows, where the endpoint names it; else None."""
    limit = _LIMIT.search(refusal.sentence) if refusal.status == 400 else None
    highest = int(limit[1][:9]) if limit is not None else 0
    given = token_count(sent.get("max_tokens"))
    return {**sent, "max_tokens": highest} if given is not None and 0 < highest < given else None


def read_event(answer: Answer, event: Event) -> None:
    """Takes one event of a stream; those it does not know (`ping`) are nothing."""
    value = parsed(event.data)
    if not isinstance(value, dict):
        answer.is_foreign = answer.is_over = value is None
        return
    kind = value.get("type", event.name)
    if kind == "error" or event.name == "error":
        answer.refuse(refusal_in(value))
    elif kind == "message_start":
        _read_message(answer, value.get("message"))
    elif kind == "content_block_start":
        _read_block(answer, value.get("content_block"))
    elif kind == "content_block_delta":
        _read_delta(answer, value.get("delta"))
    elif kind == "message_delta":
        _read_stop(answer, value.get("delta"))
        _read_usage(answer, value.get("usage"))
    elif kind == "message_stop":
        answer.is_whole = answer.is_over = True


def read_answer(answer: Answer, value: Any) -> None:
    """Takes an answer that came in one piece."""
    if isinstance(value, dict) and (value.get("type") == "error" or value.get("error")):
        answer.refuse(refusal_in(value))
    elif isinstance(value, dict) and isinstance(value.get("content"), list):
        _read_message(answer, value)
        answer.is_whole = True
    else:
        answer.is_foreign = True


def _read_message(answer: Answer, message: Any) -> None:
    if not isinstance(message, dict):
        return
    answer.note_model(message.get("model"))
    content = message.get("content")
    for block in content if isinstance(content, list) else []:
        _read_block(answer, block)
    _read_stop(answer, message)
    _read_usage(answer, message.get("usage"))


def _read_block(answer: Answer, block: Any) -> None:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "text":
        answer.add(block.get("text"))
    elif isinstance(kind, str) and kind.endswith("tool_use"):
        answer.spoil(TOOL_CALL)


def _read_delta(answer: Answer, delta: Any) -> None:
    if isinstance(delta, dict) and delta.get("type") == "text_delta":
        answer.add(delta.get("text"))


def _read_stop(answer: Answer, delta: Any) -> None:
    reason = delta.get("stop_reason") if isinstance(delta, dict) else None
    if isinstance(reason, str) and reason:
        answer.is_whole = True
        answer.stop_reason = _STOP_REASONS.get(reason, reason)
        if reason in _FAULTS:
            answer.spoil(_FAULTS[reason])


def _read_usage(answer: Answer, usage: Any) -> None:
    """Counts are of the whole answer so far; a later event may leave some out."""
    if not isinstance(usage, dict):
        return
    counts = [count for name in _INPUT_COUNTS if (count := token_count(usage.get(name))) is not None]
    if counts:
        answer.input_tokens = max(sum(counts), answer.input_tokens or 0)
    output = token_count(usage.get("output_tokens"))
    answer.output_tokens = answer.output_tokens if output is None else output
