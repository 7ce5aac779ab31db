"""The items of a Codex history, and the chat messages they make.

An item is what Codex sends to its model: a message, a piece of reasoning, a call of a tool, its output. What the model
says in one step (reasoning, then text, then calls) is one message here, and so is never parted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from lithify.core.bare_messages import bare
from lithify.core.brief import brief
from lithify.core.messages import Message, compact_json, counted_bytes, text_parts, utf8_length

Item: TypeAlias = dict[str, Any]
"""One item, verbatim: `{ "type": str, ...the keys of its type }`."""

_TEXT = (str,)
_OUTPUT = (str, list)
_NEEDED: dict[str, dict[str, tuple[type, ...]]] = {
    "message": {"role": _TEXT, "content": (list,)},
    "reasoning": {"summary": (list,)},
    "function_call": {"name": _TEXT, "arguments": _TEXT, "call_id": _TEXT},
    "custom_tool_call": {"name": _TEXT, "input": _TEXT, "call_id": _TEXT},
    "local_shell_call": {"action": (dict,)},
    "tool_search_call": {},
    "web_search_call": {},
    "image_generation_call": {},
    "function_call_output": {"call_id": _TEXT, "output": _OUTPUT},
    "custom_tool_call_output": {"call_id": _TEXT, "output": _OUTPUT},
    "tool_search_output": {"tools": (list,)},
    "compaction": {"encrypted_content": _TEXT},
    "compaction_summary": {"encrypted_content": _TEXT},
    "context_compaction": {},
    "ghost_snapshot": {},
}
"""The types of items, and what each must hold; Codex passes over a whole record with an item that lacks any of it."""

_PARTS = {"input_text": "text", "output_text": "text", "input_image": "image_url"}
"""The parts of a message or an output, and the key that holds what each says."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SEALED = frozenset({"compaction", "compaction_summary", "context_compaction", "ghost_snapshot"})
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
_CONTEXT = (
    ("<environment_context>", "</environment_context>"),
    ("<user_instructions>", "</user_instructions>"),
    ("# AGENTS.md instructions", "</INSTRUCTIONS>"),
)
"""How the texts begin and end that Codex itself puts in front of a conversation."""


class ItemShape(NamedTuple):
    """What the place of an item in the conversation depends on. `wrong` says why Codex may not read it; one that is
    wrong has nothing else. `call` and `result` are the ids of the call it makes and of the one it answers, None for
    items that are no call and no output. `words` tells what the user says from anything else that a user says: a
    summary stands in a user's name too."""

    wrong: str | None = None
    stage: int = 0
    role: str = "assistant"
    call: str | None = None
    result: str | None = None
    is_sealed: bool = False
    is_context: bool = False
    is_user_turn: bool = False
    words: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """The items [first, end) of a history, which say one message."""

    first: int
    end: int


def shape_of(item: Any, source: str) -> ItemShape:
    """The shape of an item that is spelled in this source."""
    wrong = wrong_with(item)
    if wrong is None and _SURROGATE.search(source) and _holds_lone_surrogate(item):
        wrong = "not an item that Codex reads: half of a character in it"
    if wrong is not None:
        return _once(ItemShape(wrong))
    call = _call(item)
    shape = ItemShape(
        None,
        _stage(item),
        item["role"] if item["type"] == "message" else "assistant",
        call["id"] if call else None,
        _string(item.get("call_id")) if item["type"] in _RESULTS else None,
        is_sealed(item),
        is_context(item),
        is_user_turn(item),
        hash(compact_json(item["content"])) if is_user_turn(item) else 0,
    )
    return _once(shape)


@lru_cache(maxsize=1000)
def _once(shape: ItemShape) -> ItemShape:
    """One object for all that are equal."""
    return shape


def sizes_of(item: Item) -> tuple[int, int | None]:
    """Counted bytes of what an item says, and of the call it makes, None where it makes none."""
    call = _call(item)
    message = message_of([item])
    said = counted_bytes({"content": message.get("content")})
    return said, utf8_length(compact_json(call)) if call else None


def size_of(sizes: Sequence[tuple[int, int | None]]) -> int:
    """Counted bytes of the message that items of these sizes say."""
    calls = [size for _, size in sizes if size is not None]
    return sum(said for said, _ in sizes) + (sum(calls) + len(calls) + 1 if calls else 0)


def wrong_with(item: Any) -> str | None:
    """Why it is not certain that Codex reads this item; None for an item that it does read."""
    kind = item.get("type") if isinstance(item, dict) else None
    if not isinstance(kind, str):
        return "not an item: no object with a type"
    if kind not in _NEEDED:
        return f"not an item that is known: its type is `{brief(kind)}`"
    for key, wanted in _NEEDED[kind].items():
        if not isinstance(item.get(key), wanted):
            return f"not an item that Codex reads: a {kind} without a proper `{key}`"
    parts = [part for key in ("content", "output") if kind != "reasoning" for part in _listed(item.get(key))]
    return None if all(map(_is_part, parts)) else f"not an item that Codex reads: a {kind} with a part of another shape"


def _holds_lone_surrogate(item: Item) -> bool:
    """Whether a string of the item holds half of a character, which Codex refuses."""
    return _LONE_SURROGATE.search(compact_json(item)) is not None


def is_context(item: Item) -> bool:
    """Whether Codex puts the item into the conversation itself, anew at each start: it is not part of what was said."""
    if item["type"] != "message":
        return False
    if item["role"] == "developer":
        return True
    texts = [_string(part.get("text")) for part in item["content"]]
    return is_user_turn(item) and bool(texts) and all(map(_is_context_text, texts))


def is_user_turn(item: Item) -> bool:
    """Whether a turn of the user begins with the item."""
    return (item["type"], item.get("role")) == ("message", "user")


def is_sealed(item: Item) -> bool:
    """Whether only Codex can read the item: a compaction of its own, encrypted, or the state of the user's files."""
    kind: str = item["type"]
    return kind in _SEALED


def summary_item(summary: Message) -> Item:
    """A summary as an item: a user message with the same text parts."""
    content = [{"type": "input_text", "text": text} for text in text_parts(summary)]
    return {"type": "message", "role": "user", "content": content}


def steps(shapes: Sequence[ItemShape]) -> list[Step]:
    """The messages that items of these shapes make, in order; a sealed item makes none."""
    found: list[Step] = []
    first = 0
    while first < len(shapes):
        end = _end_of_step(shapes, first)
        if not shapes[first].is_sealed:
            found.append(Step(first, end))
        first = end
    return found


_REASONING, _SAYING, _CALLING, _ALONE = range(4)


def _stage(item: Item) -> int:
    """Where in a step of the model an item stands."""
    kind = item["type"]
    if kind in _RESULTS or is_sealed(item) or (kind == "message" and item["role"] != "assistant"):
        return _ALONE
    if kind == "message":
        return _SAYING
    return _CALLING if _call(item) else _REASONING


def _end_of_step(shapes: Sequence[ItemShape], first: int) -> int:
    """Behind the last item of the step: reasoning, at most one text, calls."""
    stage, end = shapes[first].stage, first + 1
    while stage != _ALONE and end < len(shapes):
        following = shapes[end].stage
        if following == _ALONE or following < stage or following == stage == _SAYING:
            break
        stage, end = following, end + 1
    return end


def bare_of(shapes: Sequence[ItemShape]) -> Message:
    """The message of a step as `core.bare_messages` leaves it."""
    first = shapes[0]
    if first.result is not None:
        return {"role": "tool", "tool_call_id": first.result}
    calls = [{"id": shape.call} for shape in shapes if shape.call is not None]
    return {"role": first.role, "tool_calls": calls} if calls else bare({"role": first.role})


def message_of(items: Sequence[Item]) -> Message:
    """The message that the items of a step say."""
    first = items[0]
    if first["type"] in _RESULTS:
        said = first["output"] if "output" in first else compact_json(first["tools"])
        content = [{"type": "text", "text": said}] if isinstance(said, str) else [_part(part) for part in said]
        return {"role": "tool", "tool_call_id": _string(first.get("call_id")), "content": content}
    parts = [part for item in items for part in _said(item)]
    calls = [call for item in items if (call := _call(item))]
    message: Message = {"role": first["role"] if first["type"] == "message" else "assistant", "content": parts}
    return {**message, "content": parts or None, "tool_calls": calls} if calls else message


def _said(item: Item) -> list[Any]:
    """The content parts of an item that is no output; one without a text of its own is a part as it stands."""
    if item["type"] == "message":
        return [_part(part) for part in item["content"]]
    if item["type"] == "reasoning":
        thoughts = [*item["summary"], *_listed(item.get("content"))]
        texts = [_string(part.get("text")) for part in thoughts if isinstance(part, dict)]
        return [{"type": "think", "think": "\n".join(texts)}] if any(texts) else []
    return [] if _call(item) else [item]


def _part(part: dict[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": part["text"]} if "text" in part else part


def _call(item: Item) -> dict[str, Any] | None:
    """The call an item makes; None where it makes none that anything could answer."""
    kind, call_id = item["type"], item.get("call_id")
    if not kind.endswith("_call") or not isinstance(call_id, str):
        return None
    name = item.get("name", kind.removesuffix("_call"))
    given = item.get("arguments", item.get("input", item.get("action", {})))
    arguments = given if isinstance(given, str) else compact_json(given)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _is_part(part: Any) -> bool:
    kind = part.get("type") if isinstance(part, dict) else None
    key = _PARTS.get(kind) if isinstance(kind, str) else None
    return key is not None and isinstance(part.get(key), str)


def _is_context_text(text: str) -> bool:
    said = text.strip()
    return any(said.startswith(opening) and said.endswith(closing) for opening, closing in _CONTEXT)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
