"""Real transcripts as message lists, converted in a throw-away way: only for tests that need real material."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[1] / "data"
"""What every clone has; its README says where it comes from."""

LARGER = DATA.parents[2] / "shared" / "transcripts"
"""Larger samples of the same kind, where they lie beside the clone."""

Messages = list[dict[str, Any]]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line) if line.strip() else None
        if isinstance(record, dict):
            yield record


def claude_code(path: Path) -> Messages:
    """User and assistant records in file order, records of one assistant message left apart."""
    return [
        {"role": record["message"].get("role"), "content": record["message"].get("content")}
        for record in _lines(path)
        if record.get("type") in {"user", "assistant"} and isinstance(record.get("message"), dict)
    ]


def codex(path: Path) -> Messages:
    """The response items of a rollout."""
    messages: Messages = []
    for record in _lines(path):
        payload = record.get("payload", {})
        if record.get("type") != "response_item":
            continue
        if payload["type"] == "message":
            parts = [{"type": "text", "text": part.get("text", "")} for part in payload["content"]]
            messages.append({"role": payload["role"], "content": parts})
        elif payload["type"] in {"function_call", "custom_tool_call"}:
            arguments = payload.get("arguments", payload.get("input", ""))
            call = {"id": payload.get("call_id"), "function": {"name": payload["name"], "arguments": arguments}}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        elif payload["type"].endswith("_output"):
            messages.append({"role": "tool", "tool_call_id": payload.get("call_id"), "content": payload["output"]})
    return messages


def specstory(path: Path) -> Messages:
    """One message a heading, its markup left as it stands."""
    pieces = re.split(r"^_\*\*(User|Agent)[^\n]*\*\*_$", path.read_text(encoding="utf-8"), flags=re.M)
    roles = {"User": "user", "Agent": "assistant"}
    pairs = zip(pieces[1::2], pieces[2::2], strict=True)
    return [{"role": roles[who], "content": text.strip().removesuffix("---").strip()} for who, text in pairs]


def openai_messages(path: Path) -> Messages:
    """`messages` or `history` of one JSON object."""
    loaded = json.loads(path.read_text(encoding="utf-8"))
    messages = loaded.get("history", loaded.get("messages")) if isinstance(loaded, dict) else loaded
    assert isinstance(messages, list)
    return messages


def gemini(path: Path) -> Messages:
    """Messages of a Gemini CLI log; an id that repeats replaces its message."""
    found: dict[str, Messages] = {}
    for record in _lines(path):
        kind = record.get("type")
        if kind not in {"user", "gemini"}:
            continue
        role = "user" if kind == "user" else "assistant"
        calls = record.get("toolCalls", [])
        message: dict[str, Any] = {"role": role, "content": record.get("content")}
        if calls:
            message["tool_calls"] = [
                {"id": call["id"], "function": {"name": call["name"], "arguments": json.dumps(call["args"])}}
                for call in calls
            ]
        answers = [
            {
                "role": "tool",
                "tool_call_id": call["id"],
                "content": str(result["functionResponse"]["response"].get("output", result["functionResponse"])),
            }
            for call in calls
            for result in call.get("result", [])
            if "functionResponse" in result
        ]
        found[record["id"]] = [message, *answers]
    return [message for group in found.values() for message in group]


def copilot(path: Path) -> Messages:
    """Messages and tool results of Copilot CLI events."""
    messages: Messages = []
    for record in _lines(path):
        data = record["data"]
        if record["type"] == "system.message":
            messages.append({"role": "system", "content": data["content"]})
        elif record["type"] == "user.message":
            messages.append({"role": "user", "content": data.get("transformedContent") or data["content"]})
        elif record["type"] == "assistant.message":
            calls = [
                {
                    "id": call["toolCallId"],
                    "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
                }
                for call in data.get("toolRequests", [])
            ]
            messages.append({"role": "assistant", "content": data["content"], "tool_calls": calls})
        elif record["type"] == "tool.execution_complete":
            content = data["result"]["content"]
            messages.append({"role": "tool", "tool_call_id": data["toolCallId"], "content": content})
    return messages


def kimi(path: Path) -> Messages:
    """The messages of a kimi-cli context file."""
    return [record for record in _lines(path) if not str(record.get("role", "_")).startswith("_")]


READERS: dict[str, Callable[[Path], Messages]] = {
    "claude-code": claude_code,
    "cline": openai_messages,
    "codex": codex,
    "copilot-cli": copilot,
    "gemini-cli": gemini,
    "kimi-cli": kimi,
    "openai-messages": openai_messages,
    "specstory": specstory,
}


def sample_paths() -> list[Path]:
    """Every sample file, in a fixed order; those of `LARGER` that are not in `DATA` come after them."""
    own = [path for folder in READERS for path in _files(DATA / "transcripts" / folder)]
    names = {path.name for path in own}
    return own + [path for folder in READERS for path in _files(LARGER / folder) if path.name not in names]


def _files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def sample(path: Path) -> Messages:
    """The messages of one sample file."""
    return READERS[path.parent.name](path)
