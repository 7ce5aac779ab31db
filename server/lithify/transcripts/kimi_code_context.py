"""The context that kimi-code makes of the records of a session: the messages it sends, each with its records.

A message stands in a record of its own, or in the events of one step of the model: its parts, its calls of tools, the
results of these. While calls are unanswered, messages wait behind their results. Source: kimi-code 2.1.0, as measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lithify.core.messages import Message
from lithify.transcripts.chat_messages import assistant, call, listed, mapped, result, string, text_part, user, whole

ROLES = frozenset({"user", "assistant", "tool"})

_INTERRUPTED = "The tool was interrupted, and its result is not known."
_LEFT_OUT = "Some messages of the user are left out here."
_GO_ON = "The context was compacted; go on with the work."
_TYPED = frozenset({"skill_activation", "plugin_command"})
"""What the user starts with a slash, which counts as something the user said."""

Place = tuple[int, int]
Json = dict[str, Any]


@dataclass(slots=True, eq=False)
class Entry:
    """One message of the context in kimi-code's shape, the records that say it, and why it left if it did."""

    said: Json
    places: list[Place]
    left: str | None = None

    @property
    def origin(self) -> Json:
        return mapped(self.said.get("origin"))

    @property
    def is_of_user(self) -> bool:
        """Whether the user said it, and not kimi-code in the user's name."""
        kind = self.origin.get("kind", "user")
        typed = kind in _TYPED and self.origin.get("trigger") == "user-slash"
        return self.said.get("role") == "user" and (kind == "user" or typed)

    @property
    def message(self) -> Message:
        """The chat message that it is."""
        content, role = listed(self.said.get("content")), self.said.get("role")
        if role == "tool":
            return result(self.said.get("toolCallId"), content)
        if role != "assistant":
            return user(content)
        calls = map(mapped, listed(self.said.get("toolCalls")))
        return assistant(content, [call(one.get("id"), one.get("name"), one.get("arguments")) for one in calls])


@dataclass(slots=True)
class Context:
    """The context while the records are walked over. `entries` is what would be sent, `gone` what was in it before;
    `waiting` are messages that come when all calls are answered."""

    entries: list[Entry] = field(default_factory=list)
    gone: list[Entry] = field(default_factory=list)
    waiting: list[Entry] = field(default_factory=list)
    unanswered: dict[str, None] = field(default_factory=dict)
    _open: Entry | None = None
    _step: Any = None

    def append(self, said: Json, place: Place) -> None:
        """A message in a record of its own."""
        (self.waiting if self.unanswered else self.entries).append(Entry(said, [place]))

    def take_event(self, event: Json, place: Place) -> None:
        """Something that happened in a step of the model."""
        kind = event.get("type")
        if kind in _EVENTS:
            _EVENTS[kind](self, event, place)

    def compact(self, record: Json, place: Place) -> None:
        """A summary in place of the first messages, or of all but what the user said."""
        summary = record.get("summary")
        said = summary if isinstance(summary, dict) else _summary(record.get("contextSummary", summary))
        kept_users = record.get("keptUserMessageCount")
        if record.get("legacyTail", kept_users is None) is True:
            kept = self.entries[record.get("compactedCount", record.get("count")) :]
            self._become([Entry(said, [place]), *kept], "Compacted away")
        else:
            users = self._kept_users(whole(kept_users) or 0, record.get("keptHeadUserMessageCount"), place)
            self._become([*users, Entry(said, [place]), _note(_GO_ON, place)], "Compacted away")

    def undo(self, count: Any) -> None:
        """Takes back the user's last prompts and all behind them, if there are as many since the last summary."""
        left, cut = whole(count) or 0, -1
        for index in range(len(self.entries) - 1, -1, -1):
            entry = self.entries[index]
            if left <= 0 or entry.origin.get("kind") == "compaction_summary":
                break
            if entry.is_of_user and entry.origin.get("inTurn") is not True:
                left, cut = left - 1, self._first_of_prompt(index)
        if cut >= 0 and left == 0:
            self._become(self.entries[:cut], "Taken back")

    def clear(self) -> None:
        """An empty context."""
        self._become([], "Cleared")

    def leave_swarm(self) -> None:
        """The reminder of a mode goes with the mode."""
        origin = self.entries[-1].origin if self.entries else {}
        if (origin.get("kind"), origin.get("variant")) == ("injection", "swarm_mode"):
            self._become(self.entries[:-1], "Taken back")

    def settle(self) -> None:
        """What waited comes, although calls are unanswered."""
        self.entries += self.waiting
        self.waiting = []

    # --- steps ---

    def _begin(self, event: Json, place: Place) -> None:
        self._end_step(place)
        self._open, self._step = (
            Entry({"role": "assistant", "content": [], "toolCalls": []}, [place]),
            event.get("uuid"),
        )
        self.entries.append(self._open)

    def _end(self, event: Json, place: Place) -> None:
        if event.get("finishReason") in ("interrupted", "error"):
            return
        self._end_step(place)
        self.settle()

    def _take_part(self, event: Json, place: Place) -> None:
        if self._open and event.get("stepUuid") == self._step:
            self._open.said["content"].append(event.get("part"))
            self._open.places.append(place)

    def _take_call(self, event: Json, place: Place) -> None:
        if self._open and event.get("stepUuid") == self._step:
            call_id = string(event.get("toolCallId"))
            made = {"id": call_id, "name": event.get("name"), "arguments": event.get("args")}
            self._open.said["toolCalls"].append(made)
            self._open.places.append(place)
            self.unanswered[call_id] = None

    def _take_result(self, event: Json, place: Place) -> None:
        call_id = string(event.get("toolCallId"))
        if call_id in self.unanswered:
            del self.unanswered[call_id]
            self.entries.append(_answer(call_id, mapped(event.get("result")).get("output"), place))
            if not self.unanswered:
                self.settle()

    def _end_step(self, place: Place) -> None:
        """Closes the open step: unanswered calls count as interrupted, and a step that said nothing is dropped."""
        if self._open is None:
            return
        self.entries += [_answer(one, _INTERRUPTED, place) for one in self.unanswered]
        if self.unanswered:
            self.unanswered = {}
            self.settle()
        if not self._open.said["toolCalls"] and all(map(_is_vacuous, self._open.said["content"])):
            last = range(len(self.entries) - 1, -1, -1)
            del self.entries[next(index for index in last if self.entries[index] is self._open)]
        self._open = None

    # --- what leaves ---

    def _become(self, entries: list[Entry], why: str) -> None:
        staying = set(map(id, entries))
        for entry in self.entries:
            if id(entry) not in staying:
                entry.left = why
                self.gone.append(entry)
        self.entries, self.waiting, self.unanswered, self._open = entries, [], {}, None

    def _first_of_prompt(self, index: int) -> int:
        """Where the reminders begin that belong to the prompt at this index."""
        prompt = self.entries[index].said.get("id")
        while index > 0 and prompt is not None and self.entries[index - 1].origin.get("ownerPromptId") == prompt:
            index -= 1
        return index

    def _kept_users(self, count: int, head: Any, place: Place) -> list[Entry]:
        """What the user said that a compaction keeps: the last of it, or the first and the last with a note between."""
        users = [entry for entry in self.entries if entry.is_of_user]
        if (first := whole(head)) is None:
            return users[max(0, len(users) - count) :]
        return [*users[:first], _note(_LEFT_OUT, place), *users[len(users) - (count - first) :]]


_EVENTS: dict[Any, Callable[[Context, Json, Place], None]] = {
    "step.begin": Context._begin,
    "step.end": Context._end,
    "content.part": Context._take_part,
    "tool.call": Context._take_call,
    "tool.result": Context._take_result,
}


def _summary(text: Any) -> Json:
    return {"role": "user", "content": [text_part(string(text))], "origin": {"kind": "compaction_summary"}}


def _note(text: str, place: Place) -> Entry:
    said = {"role": "user", "content": [text_part(text)], "origin": {"kind": "injection"}}
    return Entry(said, [place])


def _answer(call_id: str, output: Any, place: Place) -> Entry:
    content = [text_part(output)] if isinstance(output, str) else listed(output)
    return Entry({"role": "tool", "toolCallId": call_id, "content": content}, [place])


def _is_vacuous(part: Any) -> bool:
    """Whether a part says nothing at all."""
    told = mapped(part)
    if told.get("type") == "think":
        return "encrypted" not in told and not string(told.get("think")).strip()
    return told.get("type") == "text" and not string(told.get("text")).strip()
