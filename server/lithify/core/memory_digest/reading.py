"""Entries read as the offline model reads a transcript: actions and facts, each with the place of its entry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lithify.core.digest import steps
from lithify.core.digest.actions import Action
from lithify.core.digest.gathering import Facts, gather
from lithify.core.digest.steps import Speech, Step
from lithify.core.digest.tools import act
from lithify.core.entries import SUMMARY_KIND, Entry
from lithify.core.messages import Message, text_parts
from lithify.core.observations import contents

_TEXT_KEYS = ("stdout", "stderr", "output", "content", "result", "error", "text", "message", "file")
_DEEPEST = 4
_MAX_TEXT = 200_000


@dataclass(frozen=True, slots=True)
class Reading:
    """What entries hold. The position of an action is the index of its entry; `summaries` are the texts of entries
    that are summaries already, by position."""

    entries: Sequence[Entry]
    actions: tuple[Action, ...]
    facts: Facts
    summaries: tuple[tuple[int, str], ...]


def read(entries: Sequence[Entry]) -> Reading:
    """The actions and facts of entries, in order."""
    actions = tuple(act([step for index, entry in enumerate(entries) for step in _steps(index, entry)]))
    summaries = [
        (index, text)
        for index, entry in enumerate(entries)
        if entry.kind == SUMMARY_KIND and (text := contents(entry)[1].strip())
    ]
    return Reading(entries, actions, gather(actions), tuple(summaries))


def _steps(index: int, entry: Entry) -> Iterator[Step]:
    if entry.kind == SUMMARY_KIND:
        return
    for step in steps.read(list(_messages(entry))):
        if isinstance(step, Speech):
            yield step._replace(position=index)
        else:
            step.position = index
            yield step


def _messages(entry: Entry) -> Iterator[Message]:
    body = entry.body
    data = body.get("data")
    speaker = "user" if entry.kind == "prompt" else "assistant"
    if body.get("type") == "message" and isinstance(body.get("turns"), list):
        yield from (turn for turn in body["turns"] if isinstance(turn, dict))
    elif isinstance(data, dict) and isinstance(data.get("tool_name"), str):
        call = {"type": "tool_use", "id": "t", "name": data["tool_name"], "input": data.get("tool_input")}
        yield {"role": "assistant", "content": [call]}
        if data.get("tool_response") is not None:
            yield {"role": "user", "content": [_answer(data["tool_response"])]}
    else:
        yield {"role": speaker, "content": contents(entry)[1]}


def _answer(response: Any) -> dict[str, Any]:
    answer = {"type": "tool_result", "tool_use_id": "t", "content": "\n".join(_texts(response, _DEEPEST))[:_MAX_TEXT]}
    failed = _failed(response)
    return answer if failed is None else {**answer, "is_error": failed}


def _texts(response: Any, depth: int) -> Iterator[str]:
    """The texts of a tool's response, in whichever of the known shapes it comes."""
    if isinstance(response, str):
        yield response
    elif isinstance(response, list):
        parts = text_parts({"content": response})
        yield from parts or (text for one in response[:200] if depth for text in _texts(one, depth - 1))
    elif isinstance(response, dict) and depth:
        for key in _TEXT_KEYS:
            if response.get(key):
                yield from _texts(response[key], depth - 1)


def _failed(response: Any) -> bool | None:
    """Whether a response says of itself that the tool failed; None where it does not say."""
    if not isinstance(response, dict):
        return None
    for key in ("is_error", "isError", "failed"):
        if isinstance(response.get(key), bool):
            return bool(response[key])
    for key in ("exit_code", "exitCode", "returncode"):
        if isinstance(response.get(key), int):
            return bool(response[key])
    return True if response.get("success") is False else None
