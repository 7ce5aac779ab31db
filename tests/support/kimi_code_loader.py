"""How kimi-code takes up a `wire.jsonl` again: what context it sends then.

Source: kimi-code 2.1.0, as measured; our own words. Facts this replays: a line ends at `\\n`, one `\\r` before it is no
part of it; an empty line is passed over; a line that is no JSON ends the reading, and what lies behind it is lost. A
record is a message, or an event of a step; messages that come while calls are unanswered wait for the results; a step
that begins closes the one before, drops it where it said nothing, and answers for the tools that did not. A compaction
keeps the messages from a count on, or what the user said with a note behind the summary. Only protocol 1.5 is replayed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

INTERRUPTED = "(interrupted)"


@dataclass
class Session:
    """What kimi-code holds after it took up a session."""

    context: list[Json] = field(default_factory=list)
    lost: bool = False
    waiting: list[Json] = field(default_factory=list)
    step: str | None = None
    unanswered: list[str] = field(default_factory=list)


def load(data: bytes) -> Session:
    """Takes up the bytes of a session file."""
    session = Session()
    for line in data.decode("utf-8", errors="replace").removeprefix("\ufeff").split("\n"):
        source = line.removesuffix("\r")
        if not source:
            continue
        try:
            record = json.loads(source, parse_constant=_refuse)
        except (ValueError, RecursionError):
            session.lost = True
            break
        if isinstance(record, dict) and isinstance(record.get("type"), str):
            _take(session, record)
    return session


def append(data: bytes, record: Json) -> bytes:
    """What the file holds after kimi-code appended a record: it does not look at the last byte."""
    return data + json.dumps(record).encode() + b"\n"


def text(message: Json) -> str:
    """The texts of a message of the context."""
    return "".join(part.get("text", "") for part in message["content"])


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _take(session: Session, record: Json) -> None:
    kind = record["type"]
    if kind == "context.append_message":
        (session.waiting if session.unanswered else session.context).append(record["message"])
    elif kind == "context.append_loop_event":
        _take_event(session, record["event"])
    elif kind == "context.apply_compaction":
        _compact(session, record)
    elif kind == "context.clear":
        _reset(session, [])
    elif kind == "context.undo":
        _undo(session, record["count"])


def _take_event(session: Session, event: Json) -> None:
    kind = event["type"]
    if kind == "step.begin":
        _close(session)
        session.context.append({"role": "assistant", "content": [], "toolCalls": [], "open": event["uuid"]})
        session.step = event["uuid"]
    elif kind == "step.end" and event.get("finishReason") not in ("interrupted", "error"):
        _close(session)
        _let_in(session)
    elif kind == "content.part" and event["stepUuid"] == session.step:
        _open(session)["content"].append(event["part"])
    elif kind == "tool.call" and event["stepUuid"] == session.step:
        _open(session)["toolCalls"].append(
            {"id": event["toolCallId"], "name": event["name"], "args": event.get("args")}
        )
        session.unanswered.append(event["toolCallId"])
    elif kind == "tool.result" and event["toolCallId"] in session.unanswered:
        session.unanswered = [one for one in session.unanswered if one != event["toolCallId"]]
        session.context.append(_result(event["toolCallId"], event["result"]["output"]))
        if not session.unanswered:
            _let_in(session)


def _open(session: Session) -> Json:
    return next(message for message in reversed(session.context) if message.get("open") == session.step)


def _close(session: Session) -> None:
    if session.step is None:
        return
    had = list(dict.fromkeys(session.unanswered))
    session.context += [_result(one, INTERRUPTED) for one in had]
    session.unanswered = []
    if had:
        _let_in(session)
    step = _open(session)
    said = [part for part in step["content"] if part["type"] not in ("text", "think") or part[part["type"]].strip()]
    if not said and not step["toolCalls"]:
        session.context = [message for message in session.context if message is not step]
    session.step = None


def _let_in(session: Session) -> None:
    session.context += session.waiting
    session.waiting = []


def _reset(session: Session, context: list[Json]) -> None:
    session.context, session.waiting, session.unanswered, session.step = context, [], [], None


def _compact(session: Session, record: Json) -> None:
    said = [{"type": "text", "text": record.get("contextSummary", record.get("summary"))}]
    summary = {"role": "user", "content": said, "origin": {"kind": "compaction_summary"}}
    if record.get("legacyTail", "keptUserMessageCount" not in record):
        _reset(session, [summary, *session.context[record["compactedCount"] :]])
    else:
        users = [message for message in session.context if _is_of_user(message)]
        note = {"role": "user", "content": [{"type": "text", "text": "(go on)"}], "origin": {"kind": "injection"}}
        _reset(session, [*users, summary, note])


def _undo(session: Session, count: int) -> None:
    floor = max((at for at, one in enumerate(session.context) if _kind(one) == "compaction_summary"), default=-1)
    prompts = [at for at, one in enumerate(session.context) if at > floor and _is_of_user(one)]
    if 0 < count <= len(prompts):
        _reset(session, session.context[: prompts[-count]])


def _kind(message: Json) -> str:
    return str((message.get("origin") or {"kind": "user"})["kind"])


def _is_of_user(message: Json) -> bool:
    return message["role"] == "user" and _kind(message) == "user"


def _result(call_id: str, output: Any) -> Json:
    content = [{"type": "text", "text": output}] if isinstance(output, str) else list(output)
    return {"role": "tool", "toolCallId": call_id, "content": content}
