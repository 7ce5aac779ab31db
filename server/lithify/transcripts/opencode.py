"""The file that `opencode export` makes of a session, for `opencode import`: the session, and its messages in order.

What is read is what opencode would send. A compaction is two messages more at the end of the array, as opencode adds
them itself: a question that names the first message it keeps, and the summary as its answer. All other text stays as
it is; imported, the session has the same id. Source: opencode 1.18, as measured.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice, pairwise
from typing import Any

from lithify.core.brief import brief
from lithify.core.messages import Message, text_of
from lithify.core.outcomes import LithifyError
from lithify.transcripts.chat_messages import mapped, string
from lithify.transcripts.folds import Said, folds_over
from lithify.transcripts.json_array import Element
from lithify.transcripts.json_places import elements, members
from lithify.transcripts.json_text import Fault, problems_of, skip_mark, skip_space, value_at
from lithify.transcripts.model import Stamp, Transcript, TranscriptMessage, replaced_messages
from lithify.transcripts.opencode_ids import behind, rising_id
from lithify.transcripts.opencode_messages import Spoken, effective, grouped, messages_of, spoken
from lithify.transcripts.summary_text import spelled_like

name = "opencode"

NEWEST_VERSION = "1.18"
"""The version of opencode, major and minor, whose exports are known; those of others are read-only."""

_NOTHING = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
_BETWEEN = re.compile(r",[ \t\r\n]*")


def recognise(text: str, name: str) -> bool:  # noqa: ARG001 - any name will do
    """Whether the text is an object that begins with what a session of opencode is."""
    begin = skip_space(text, skip_mark(text))
    if not text.startswith("{", begin):
        return False
    first = next(islice(members(text, begin), 1), None)
    return first is not None and first[0] == "info" and _is_session(first[1].value)


def parse(text: str) -> Transcript:
    """What opencode would send; a summary can only take the place of the first messages."""
    export = _read(text)
    sent = effective(export.standing)
    messages = tuple(_placed(message, of) for made, of in grouped(sent) for message in made)
    reason = _reason(text, export)
    shown = set(map(id, sent))
    left = ((one, None if id(one) in shown else "Compacted away") for one in export.standing)
    said = [*left, *((one, "Taken back") for one in export.taken_back)]
    folds = folds_over(Said(one.start, one.end, len(messages_of(one)), why) for one, why in said)
    return Transcript(name, messages, problems_of(text, export.faults), reason is None, reason, folds, prefix_only=True)


def write(text: str, transcript: Transcript, start: int, end: int, summary: Message, stamp: Stamp) -> str:
    """The export with the two messages of a compaction behind its last one."""
    replaced_messages(transcript, start, end)
    export = _read(text)
    sent = effective(export.standing)
    kept = _kept(sent, end)
    made = _compaction(export, kept[0].key if kept else None, summary, stamp)
    added = [one for place in (-2, -1) if (one := spoken(Element(place, place, made[place])))]
    if effective([*export.standing, *added]) != [*added, *kept]:
        raise LithifyError(
            "invalid_range", "opencode cannot keep these messages without the summary before them: keep fewer, or none"
        )
    *_, last = export.elements
    spelled = [_spelled(text, last, one) for one in made]
    between = _between(text, export.elements)
    return text[: last.end] + "".join(between + one for one in spelled) + text[last.end :]


def canonical(text: str) -> str:
    """The export with the messages of its compactions spelled as `write` spells them, in whatever order opencode has
    their keys. So a compaction stands there as it was written; all else stays."""
    pieces, end = [], 0
    for one in _read(text).elements:
        said = spoken(one)
        if said is not None and (said.compaction is not None or said.summarises is not None):
            pieces += [text[end : one.start], _spelled(text, one, mapped(one.value))]
            end = one.end
    return "".join([*pieces, text[end:]])


def sent_keys(text: str) -> list[str]:
    """The ids of the messages that opencode would send, in that order; those of a compaction come first."""
    return [one.key for one in effective(_read(text).standing)]


@dataclass(frozen=True, slots=True)
class _Export:
    """What an export holds. `standing` are the messages that were not taken back; `faults` are what is broken."""

    session: dict[str, Any]
    elements: list[Element]
    standing: list[Spoken]
    taken_back: list[Spoken]
    faults: list[Fault]


def _read(text: str) -> _Export:
    begin = skip_space(text, skip_mark(text))
    whole = value_at(text, begin)
    faults = [whole] if isinstance(whole, Fault) else []
    if not isinstance(whole, Fault) and (behind := skip_space(text, whole[1])) < len(text):
        faults = [Fault(behind, "more text behind the end of the JSON")]
    held = dict(members(text, begin))
    session, array = held.get("info"), held.get("messages")
    found = list(elements(text, array.start)) if array else []
    read = [(element, spoken(element)) for element in found]
    faults += [Fault(element.start, "not a message of opencode") for element, one in read if one is None]
    messages = [one for _, one in read if one is not None]
    told = mapped(session.value) if session else {}
    since = mapped(told.get("revert")).get("messageID")
    first = next((at for at, one in enumerate(messages) if one.key == since), len(messages))
    return _Export(told, found, messages[:first], messages[first:], faults)


def _reason(text: str, export: _Export) -> str | None:
    """Why nothing can be written into this file; None where it can be."""
    version = string(export.session.get("version"))
    if export.faults:
        (first, *_) = problems_of(text, export.faults)
        return f"Line {first.line + 1} is {first.message}: export the session anew, then compact it."
    if not version.startswith(f"{NEWEST_VERSION}."):
        wrote = f"opencode {brief(version) or '(of no version)'} wrote it"
        return (
            f"{wrote}, and only {NEWEST_VERSION}.x was seen with Lithify, so it can only be read: compact it in "
            "opencode itself (/compact), or use a Lithify that knows this version."
        )
    if export.session.get("revert") is not None:
        return (
            "Something in it was undone and may come back: say something in opencode, export it anew, and compact that."
        )
    if any((one.created, one.key) >= (after.created, after.key) for one, after in pairwise(export.standing)):
        return "Its messages are not in the order of their times, in which opencode takes them: it can only be read."
    if export.standing and _last_of_user(export) is None:
        return "No message of the user names an agent and a model, as a compaction has to: it can only be read."
    return None


def _is_session(value: Any) -> bool:
    held = mapped(value)
    return string(held.get("id")).startswith("ses") and "projectID" in held and "version" in held


def _placed(message: Message, of: Sequence[Spoken]) -> TranscriptMessage:
    first, *more = of
    return TranscriptMessage(message, first.start, first.end, tuple((one.start, one.end) for one in more))


def _kept(sent: Sequence[Spoken], end: int) -> list[Spoken]:
    """What is sent from the chat message at `end` on."""
    owners = [of for made, of in grouped(sent) for _ in made]
    if end == len(owners):
        return []
    if end and owners[end] is owners[end - 1]:
        raise LithifyError("invalid_range", "a call and its results are one message of opencode: compact both or none")
    return list(sent[sent.index(owners[end][0]) :])


def _last_of_user(export: _Export) -> Spoken | None:
    """The last message of the user that says who answers it."""
    said = (one for one in reversed(export.standing) if one.info.get("role") == "user")
    return next((one for one in said if "agent" in one.info and "modelID" in mapped(one.info.get("model"))), None)


def _compaction(export: _Export, tail: str | None, summary: Message, stamp: Stamp) -> list[dict[str, Any]]:
    """The question and the summary, as elements of the array."""
    last, asking = export.standing[-1], _last_of_user(export)
    now = max(round(datetime.fromisoformat(stamp.now).timestamp() * 1000), int(last.created) + 1)
    question_id = behind(last.key, rising_id("msg", now, stamp.new_uuid))
    answer_id = behind(question_id, rising_id("msg", now + 1, stamp.new_uuid))
    told = asking.info if asking else {}
    model, session = told.get("model", {}), export.session.get("id")
    question = {"role": "user", "time": {"created": now}, "agent": told.get("agent"), "model": model}
    answer = {
        "parentID": question_id,
        "role": "assistant",
        "mode": "compaction",
        "agent": "compaction",
        "path": _path(export),
        "summary": True,
        "cost": 0,
        "tokens": _NOTHING,
        "modelID": model.get("modelID"),
        "providerID": model.get("providerID"),
        "time": {"created": now + 1, "completed": now + 1},
        "finish": "stop",
    }
    kept = {} if tail is None else {"tail_start_id": tail}
    said = [{"type": "text", "text": text_of(summary)}]
    pairs = ((question_id, question, [{"type": "compaction", "auto": False, **kept}]), (answer_id, answer, said))
    return [_element(key, string(session), info, parts, now, stamp) for key, info, parts in pairs]


def _element(
    key: str, session: str, info: dict[str, Any], parts: Sequence[dict[str, Any]], now: int, stamp: Stamp
) -> dict[str, Any]:
    """A message as the export spells it; the ids of its parts rise."""
    made: list[dict[str, Any]] = []
    part_id = ""
    for part in parts:
        part_id = behind(part_id, rising_id("prt", now, stamp.new_uuid))
        made.append({**part, "id": part_id, "sessionID": session, "messageID": key})
    return {"info": {**info, "id": key, "sessionID": session}, "parts": made}


def _path(export: _Export) -> dict[str, Any]:
    paths = (mapped(one.info.get("path")) for one in reversed(export.standing))
    directory = string(export.session.get("directory"))
    return next((path for path in paths if path), {"cwd": directory, "root": directory})


def _spelled(text: str, like: Element, message: dict[str, Any]) -> str:
    """A message of a compaction, spelled like an element of the array, with its keys in an order of their own."""
    ordered = json.loads(json.dumps(message, sort_keys=True))
    return spelled_like(text, like.start, like.end, ordered, escape=False)


def _between(text: str, found: Sequence[Element]) -> str:
    """What stands between two elements of the array."""
    if len(found) > 1:
        gap = text[found[-2].end : found[-1].start]
        return gap if _BETWEEN.fullmatch(gap) else ","
    before = text[: found[0].start]
    return "," + before[len(before.rstrip(" \t\r\n")) :]
