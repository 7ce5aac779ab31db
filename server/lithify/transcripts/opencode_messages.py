"""What opencode sends of the messages of a session, as chat messages.

A message of opencode is what the user said, or one step of the model with the tools it called and their results. A
compaction is two of them: a question in the user's name, and the summary as its answer; here they are one, the summary.
Source: opencode 1.18, as measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lithify.core.messages import Message
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
from lithify.transcripts.json_array import Element

_QUESTION = "What was done so far?"
_TASK = "The user had this tool run:"
_INTERRUPTED = "The tool was interrupted."
_CLEARED = "This result was cleared."
_ATTACHED_AS_TEXT = frozenset({"text/plain", "application/x-directory"})


@dataclass(frozen=True, slots=True, eq=False)
class Spoken:
    """One message of opencode, and the characters [start, end) that spell it."""

    info: dict[str, Any]
    parts: tuple[Part, ...]
    start: int
    end: int

    @property
    def key(self) -> str:
        return string(self.info.get("id"))

    @property
    def created(self) -> float:
        """Milliseconds; messages are in the order of this, and of their ids where it is the same."""
        told = mapped(self.info.get("time")).get("created")
        return told if isinstance(told, int | float) else -1

    @property
    def compaction(self) -> Part | None:
        """The part by which the user's message asks for a compaction."""
        if self.info.get("role") != "user":
            return None
        return next((part for part in self.parts if part.get("type") == "compaction"), None)

    @property
    def summarises(self) -> str | None:
        """The id of the question that it answers with a summary that counts."""
        told = self.info
        counts = told.get("role") == "assistant" and told.get("summary") and told.get("finish")
        return string(told.get("parentID")) if counts and not told.get("error") else None


def spoken(element: Element) -> Spoken | None:
    """The message that an element of the export is; None where it is none."""
    held = mapped(element.value)
    info, parts = mapped(held.get("info")), held.get("parts")
    sound = isinstance(info.get("id"), str) and info.get("role") in ("user", "assistant") and isinstance(parts, list)
    if not sound:
        return None
    return Spoken(info, tuple(map(mapped, listed(parts))), element.start, element.end)


def effective(messages: Sequence[Spoken]) -> list[Spoken]:
    """Those that are sent, in the order in which they are: a compaction that counts comes first, then what it kept."""
    first = _first_loaded(messages)
    loaded = list(messages[first:])
    asked = next((at for at in range(len(loaded) - 1, -1, -1) if _tail_of(loaded[at])), None)
    if asked is None:
        return loaded
    wanted = loaded[asked].key
    answer = next((at for at in range(asked + 1, len(loaded)) if _is_summary_of(loaded[at], wanted)), None)
    tail = next((at for at, one in enumerate(loaded) if one.key == _tail_of(loaded[asked])), asked)
    if answer is None or tail >= asked:
        return loaded
    return [*loaded[asked : answer + 1], *loaded[tail:asked], *loaded[answer + 1 :]]


def grouped(messages: Sequence[Spoken]) -> Iterator[tuple[list[Message], list[Spoken]]]:
    """The chat messages, and the messages of opencode that make them; such as make none are left out."""
    at = 0
    while at < len(messages):
        pair = list(messages[at : at + 2])
        is_pair = len(pair) == 2 and pair[0].compaction is not None and pair[1].summarises == pair[0].key
        made = [user(_texts(pair[1]))] if is_pair else messages_of(pair[0])
        if made:
            yield made, pair if is_pair else pair[:1]
        at += 2 if is_pair else 1


def messages_of(one: Spoken) -> list[Message]:
    """The chat messages of one message of opencode."""
    if one.info.get("role") == "user":
        parts = [made for part in one.parts if (made := _of_user(part))]
        return [user(parts)] if parts else []
    return [] if _failed(one) else list(_of_model(one))


def _first_loaded(messages: Sequence[Spoken]) -> int:
    """Where opencode, going back from the end, stops: at a compaction that counts, or at the first message it kept."""
    counted: set[str] = set()
    tail = None
    for at in range(len(messages) - 1, -1, -1):
        one = messages[at]
        if tail is not None:
            if one.key == tail:
                return at
        elif one.key in counted and (asking := one.compaction) is not None:
            tail = asking.get("tail_start_id")
            if not tail or tail == one.key:
                return at
        elif (parent := one.summarises) is not None:
            counted.add(parent)
    return 0


def _tail_of(one: Spoken) -> str | None:
    """The id of the first message that a compaction kept."""
    return string((one.compaction or {}).get("tail_start_id")) or None


def _is_summary_of(one: Spoken, key: str) -> bool:
    told = one.info
    return told.get("role") == "assistant" and bool(told.get("summary")) and told.get("parentID") == key


def _failed(one: Spoken) -> bool:
    """Whether a step that ended in an error is left out: unless it was stopped when it had said something."""
    error = mapped(one.info.get("error"))
    said = any(part.get("type") not in ("step-start", "reasoning") for part in one.parts)
    return bool(error) and not (error.get("name") == "MessageAbortedError" and said)


def _texts(one: Spoken) -> list[Part]:
    return [text_part(string(part.get("text"))) for part in one.parts if part.get("type") == "text"]


def _of_user(part: Part) -> Part | None:
    kind = part.get("type")
    if kind == "text":
        return text_part(string(part["text"])) if part.get("text") and not part.get("ignored") else None
    if kind == "file":
        mime = string(part.get("mime"))
        return None if mime in _ATTACHED_AS_TEXT else media_part(mime, string(part.get("url")))
    return {"compaction": text_part(_QUESTION), "subtask": text_part(_TASK)}.get(string(kind))


def _of_model(one: Spoken) -> Iterator[Message]:
    said: list[Part] = []
    for part in one.parts:
        if part.get("type") == "text":
            said.append(text_part(string(part.get("text"))))
        elif part.get("type") == "reasoning":
            said.append(think_part(string(part.get("text"))))
    tools = [part for part in one.parts if part.get("type") == "tool"]
    if said or tools:
        yield assistant(said, [_call(part) for part in tools])
    for part in tools:
        yield result(part.get("callID"), list(_answer(mapped(part.get("state")))))


def _call(part: Part) -> Part:
    return call(part.get("callID"), part.get("tool"), mapped(part.get("state")).get("input"))


def _answer(state: dict[str, Any]) -> Iterator[Part]:
    """What a tool answered, with what it attached."""
    status, told = state.get("status"), mapped(state.get("metadata"))
    if status == "completed":
        cleared = mapped(state.get("time")).get("compacted")
        yield text_part(_CLEARED if cleared else string(state.get("output")))
        for attached in [] if cleared else map(mapped, listed(state.get("attachments"))):
            yield media_part(string(attached.get("mime")), string(attached.get("url")))
    elif status == "error":
        interrupted = told.get("output") if told.get("interrupted") is True else None
        yield text_part(interrupted if isinstance(interrupted, str) else string(state.get("error")))
    else:
        yield text_part(_INTERRUPTED)
