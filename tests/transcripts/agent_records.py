"""Records of Gemini CLI, kimi-code and opencode as tests write them, and one compaction of a session of theirs."""

from __future__ import annotations

import json
from typing import Any

from lithify.core import tool_groups
from lithify.core.kimi import summary_message
from lithify.core.messages import text_of
from lithify.transcripts.model import TranscriptFormat
from tests.support.messages import orphans
from tests.transcripts.rewriting import STAMP

Json = dict[str, Any]

ANSWER = "short 短い 😀"
SUMMARY = summary_message([], ANSWER)


def lines(*records: Any, ending: str = "\n") -> str:
    """Records, one a line."""
    return "".join(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + ending for record in records)


def compacted(chat_format: TranscriptFormat, text: str, end: int, start: int = 0) -> str:
    """Replaces whole groups in [start, end), and asserts that the new text says the rest and the summary, no more."""
    before = chat_format.parse(text)
    assert before.writable, before.read_only_reason
    first, last = tool_groups.widen(before.conversation, start, end)
    made = chat_format.write(text, before, first, last, SUMMARY, STAMP)
    after = chat_format.parse(made)
    summary = after.conversation[first]
    assert (summary["role"], text_of(summary)) == ("user", text_of(SUMMARY))
    assert after.conversation == [*before.conversation[:first], summary, *before.conversation[last:]]
    assert [problem.message for problem in after.problems] == [problem.message for problem in before.problems]
    assert len(orphans(after.conversation)) <= len(orphans(before.conversation))
    assert after.writable, after.read_only_reason
    made.encode("utf-8")
    return made


# --- Gemini CLI -----------------------------------------------------------------------------------------------

GEMINI_SESSION: Json = {
    "sessionId": "5e55",
    "projectHash": "0a0a",
    "startTime": "2026-01-01T00:00:00.000Z",
    "lastUpdated": "2026-01-01T00:00:00.000Z",
    "kind": "main",
}


def gemini_user(key: str, content: Any = "please", **more: Any) -> Json:
    """What the user said."""
    parts = [{"text": content}] if isinstance(content, str) else content
    return {"id": key, "timestamp": "2026", "type": "user", "content": parts, **more}


def gemini_said(key: str, content: Any = "done", *calls: Json, **more: Any) -> Json:
    """One step of the model."""
    called = {"toolCalls": list(calls)} if calls else {}
    return {"id": key, "timestamp": "2026", "type": "gemini", "content": content, **more, **called}


def gemini_call(call_id: str, output: str | None = "done", **more: Any) -> Json:
    """One call of a tool with its result."""
    response = {"functionResponse": {"id": call_id, "name": "ls", "response": {"output": output}}}
    answered = {} if output is None else {"result": [response]}
    return {"id": call_id, "name": "ls", "args": {"path": "日本"}, **answered, "status": "success", **more}


# --- kimi-code ------------------------------------------------------------------------------------------------

KIMI_METADATA: Json = {"type": "metadata", "protocol_version": "1.5", "created_at": 1796008221547}


def kimi_message(text: str, role: str = "user", **more: Any) -> Json:
    """A message in a record of its own."""
    message = {"role": role, "content": [{"type": "text", "text": text}], "toolCalls": [], **more}
    return {"type": "context.append_message", "agentId": "main", "message": message, "time": 1}


def kimi_user(text: str, **more: Any) -> Json:
    """What the user said."""
    return kimi_message(text, origin={"kind": "user"}, **more)


def kimi_reminder(text: str) -> Json:
    """What kimi-code puts in."""
    return kimi_message(text, origin={"kind": "injection", "variant": "date"})


def kimi_event(kind: str, **more: Any) -> Json:
    """An event of a step."""
    return {"type": "context.append_loop_event", "agentId": "main", "event": {"type": kind, **more}, "time": 1}


def kimi_step(key: str, *parts: Json, calls: tuple[str, ...] = (), results: tuple[str, ...] = ()) -> list[Json]:
    """One step of the model: its parts, its calls, their results."""
    return [
        kimi_event("step.begin", uuid=key, turnId="0", step=1),
        *(kimi_event("content.part", stepUuid=key, part=part) for part in parts),
        *(kimi_event("tool.call", stepUuid=key, toolCallId=one, name="Bash", args={"command": "ls"}) for one in calls),
        *(kimi_event("tool.result", toolCallId=one, result={"output": f"of {one}"}) for one in results),
        kimi_event("step.end", uuid=key, finishReason="end_turn"),
    ]


def kimi_text(text: str) -> Json:
    """A part that says something."""
    return {"type": "text", "text": text}


def kimi_counted(length: int, kind: str = "measured") -> Json:
    """How many messages kimi-code counted."""
    return {"type": f"token_counting.{kind}", "agentId": "main", "length": length, "tokens": 15, "time": 1}


# --- opencode -------------------------------------------------------------------------------------------------

OPENCODE_SESSION: Json = {
    "id": "ses_1",
    "projectID": "p1",
    "directory": "/project",
    "title": "日本 😀",
    "version": "1.18.34",
    "time": {"created": 1, "updated": 2},
}
MODEL = {"providerID": "own", "modelID": "scripted-model"}


def opencode_key(number: int, prefix: str = "msg") -> str:
    """An id that sorts by its number."""
    return f"{prefix}_{number:012x}AbCdEfGhIjKlMn"


def opencode_message(number: int, role: str, *parts: Json, **more: Any) -> Json:
    """A message of the export; parts get their ids."""
    key = opencode_key(number)
    told: Json = {"agent": "build", "model": MODEL} if role == "user" else {**MODEL, "parentID": opencode_key(0)}
    if role == "assistant":
        told |= {"mode": "build", "agent": "build", "path": {"cwd": "/project", "root": "/"}, "finish": "stop"}
    info = {"id": key, "sessionID": "ses_1", "role": role, "time": {"created": number}, **told, **more}
    marks = [{"id": opencode_key(at, "prt"), "sessionID": "ses_1", "messageID": key} for at in range(len(parts))]
    return {"info": info, "parts": [{**part, **mark} for part, mark in zip(parts, marks, strict=True)]}


def opencode_tool(call_id: str, output: str = "done", status: str = "completed", **more: Any) -> Json:
    """A call of a tool in any state."""
    state = {"status": status, "input": {"command": "ls"}, "output": output, "time": {"start": 1, "end": 2}, **more}
    return {"type": "tool", "tool": "bash", "callID": call_id, "state": state}


def opencode_text(text: str, **more: Any) -> Json:
    """A text."""
    return {"type": "text", "text": text, **more}


def export(*messages: Json, indent: int | None = 2, **session: Any) -> str:
    """An export as opencode writes it."""
    document = {"info": {**OPENCODE_SESSION, **session}, "messages": list(messages)}
    return json.dumps(document, indent=indent, ensure_ascii=False)
