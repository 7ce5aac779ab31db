"""The wire format of OpenAI's chat completions, as many endpoints speak it."""

from __future__ import annotations

from typing import Any

from lithify.core.model_calls import ModelRequest
from lithify.llm.http.answer import TOOL_CALL, WITHHELD, Answer, Fault, token_count
from lithify.llm.http.events import Event
from lithify.llm.http.overrides import overrides
from lithify.llm.http.refusals import Refusal, parsed, refusal_in

NEEDS_MODEL = False

_STOP_REASONS = {"stop": "end", "length": "max_tokens"}
_FAULTS = {
    "content_filter": WITHHELD,
    "tool_calls": TOOL_CALL,
    "function_call": TOOL_CALL,
    "error": Fault("broke off with an error"),
}


def headers(key: str | None) -> dict[str, str]:
    """The headers that carry the key."""
    return {} if key is None else {"authorization": f"Bearer {key}"}


def body(request: ModelRequest, model: Any) -> dict[str, Any]:
    """The body of a request; without a model it is the endpoint's own."""
    system = [{"role": "system", "content": request.system_prompt}] if request.system_prompt else []
    user = {"role": "user", "content": [{"type": "text", "text": part} for part in request.parts]}
    made: dict[str, Any] = {"messages": [*system, user], "stream": True, "stream_options": {"include_usage": True}}
    if model:
        made["model"] = model
    if request.max_output_tokens is not None:
        made["max_tokens"] = request.max_output_tokens
    return made | overrides(request.settings)


def amended(sent: dict[str, Any], refusal: Refusal) -> dict[str, Any] | None:
    """The same body without what the endpoint does not know, where it says so; None where nothing helps."""
    if refusal.status not in (400, 422):
        return None
    if "max_tokens" in sent and "max_completion_tokens" in refusal.sentence:
        rest = {name: value for name, value in sent.items() if name != "max_tokens"}
        return rest | {"max_completion_tokens": sent["max_tokens"]}
    if "stream_options" in sent and ("stream_options" in refusal.sentence or "include_usage" in refusal.sentence):
        return {name: value for name, value in sent.items() if name != "stream_options"}
    return None


def read_event(answer: Answer, event: Event) -> None:
    """Takes one event of a stream."""
    if event.data.strip() == "[DONE]":
        answer.is_whole = answer.is_over = True
        return
    value = parsed(event.data)
    if event.name == "error" or _is_error(value):
        answer.refuse(refusal_in(value if value is not None else event.data))
    elif value is None:
        answer.is_foreign = answer.is_over = True
    elif isinstance(value, dict):
        _read(answer, value, "delta")


def read_answer(answer: Answer, value: Any) -> None:
    """Takes an answer that came in one piece."""
    if _is_error(value):
        answer.refuse(refusal_in(value))
    elif isinstance(value, dict) and isinstance(value.get("choices"), list) and value["choices"]:
        _read(answer, value, "message")
        answer.is_whole = True
    else:
        answer.is_foreign = True


def _is_error(value: Any) -> bool:
    return isinstance(value, dict) and (bool(value.get("error")) or value.get("object") == "error")


def _read(answer: Answer, value: dict[str, Any], name: str) -> None:
    answer.note_model(value.get("model"))
    usage = value.get("usage")
    if isinstance(usage, dict):
        answer.input_tokens = token_count(usage.get("prompt_tokens"))
        answer.output_tokens = token_count(usage.get("completion_tokens"))
    choices = value.get("choices")
    for choice in choices if isinstance(choices, list) else []:
        if isinstance(choice, dict) and choice.get("index", 0) == 0:
            _read_choice(answer, choice, name)


def _read_choice(answer: Answer, choice: dict[str, Any], name: str) -> None:
    said = choice.get(name)
    if isinstance(said, dict):
        _read_content(answer, said.get("content"))
        if isinstance(said.get("refusal"), str):
            answer.declined += said["refusal"]
        if said.get("tool_calls") or said.get("function_call"):
            answer.spoil(TOOL_CALL)
    reason = choice.get("finish_reason")
    if isinstance(reason, str) and reason:
        answer.is_whole = True
        answer.stop_reason = _STOP_REASONS.get(reason, reason)
        if reason in _FAULTS:
            answer.spoil(_FAULTS[reason])


def _read_content(answer: Answer, content: Any) -> None:
    """Text, or parts of which some are text (thinking is none)."""
    for part in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        if isinstance(part, dict) and part.get("type") == "text":
            answer.add(part.get("text"))
