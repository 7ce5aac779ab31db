"""Session files in Claude Code's shape, written record by record, and one compaction of such a file, checked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from lithify.core.conversation import Range, with_summary
from lithify.core.kimi import OUTPUT_PREFIX, summary_message
from lithify.core.tool_groups import widen
from lithify.transcripts import claude_code
from lithify.transcripts.model import Stamp, Transcript
from tests.support import claude_code_loader

NOW = "2026-01-02T03:04:05.000Z"


def stamp(text: str = "") -> Stamp:
    """Stamps with uuids that are not in the text."""
    numbers = (f"00000000-0000-4000-8000-{number:012}" for number in count())
    return Stamp(NOW, lambda: next(uuid for uuid in numbers if uuid not in text))


@dataclass
class Session:
    """A session as Claude Code writes it. `at` is the record that the next one names as its parent."""

    version: str | None = "2.1.332"
    lines: list[str] = field(default_factory=list)
    at: str | None = None
    numbers: Iterator[int] = field(default_factory=count)
    message_numbers: Iterator[int] = field(default_factory=count)

    def text(self, ending: str = "\n") -> str:
        return "".join(line + ending for line in self.lines)

    def line(self, value: Any) -> None:
        self.lines.append(json.dumps(value, ensure_ascii=False, separators=(",", ":")))

    def add(self, kind: str, *, moves: bool = True, parent: str | None = "", **keys: Any) -> str:
        """A record of this type; with `moves` the next one hangs below it."""
        uuid = f"r{next(self.numbers)}"
        common = {"userType": "external", "cwd": "/home/dev/x", "sessionId": "s1", "version": self.version}
        if self.version is None:
            del common["version"]
        above = self.at if parent == "" else parent
        common |= {"gitBranch": "main", "type": kind}
        self.line({"parentUuid": above, "isSidechain": False, **common, **keys, "uuid": uuid, "timestamp": NOW})
        if moves:
            self.at = uuid
        return uuid

    def user(self, content: Any, **keys: Any) -> str:
        return self.add("user", message={"role": "user", "content": content}, **keys)

    def assistant(self, *parts: Any, message_id: str | None = None, **keys: Any) -> str:
        blocks = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
        said = {"id": message_id or f"m{next(self.message_numbers)}", "role": "assistant", "content": blocks}
        return self.add("assistant", message=said, **keys)

    def result(self, call_id: str, **keys: Any) -> str:
        return self.user([{"type": "tool_result", "tool_use_id": call_id, "content": f"of {call_id}"}], **keys)

    def parallel_calls(self, *call_ids: str) -> None:
        """One answer with several calls, each a record, and their results hanging beside the chain."""
        message_id = f"m{next(self.message_numbers)}"
        callers = {call_id: self.assistant(call(call_id), message_id=message_id) for call_id in call_ids}
        for call_id, caller in callers.items():
            self.result(call_id, parent=caller)

    def attachment(self) -> str:
        return self.add("attachment", attachment={"type": "todo"})

    def last_prompt(self, uuid: str | None) -> None:
        self.line({"type": "last-prompt", "lastPrompt": "x", "leafUuid": uuid, "sessionId": "s1"})

    def compact(self, kept: list[str] | None = None, *, segment_only: bool = False) -> str:
        """Claude Code's own compaction, of everything or up to the kept records."""
        boundary, summary = f"b{next(self.numbers)}", f"s{next(self.numbers)}"
        metadata: dict[str, Any] = {"trigger": "manual", "preTokens": 9}
        if kept:
            metadata["preservedSegment"] = {"headUuid": kept[0], "anchorUuid": summary, "tailUuid": kept[-1]}
        if kept is not None and not segment_only:
            metadata["preservedMessages"] = {"anchorUuid": summary, "uuids": kept}
        common = {"isSidechain": False, "sessionId": "s1", "version": "2.1.332", "timestamp": NOW}
        begins = {"type": "system", "subtype": "compact_boundary", "compactMetadata": metadata}
        records = {record.get("uuid"): record for record in map(json.loads, self.lines) if isinstance(record, dict)}
        last = records[kept[0]]["parentUuid"] if kept else self.at
        self.line({"parentUuid": None, "logicalParentUuid": last, **common, **begins, "uuid": boundary})
        said = {"message": {"role": "user", "content": f"summary {summary}"}, "isCompactSummary": True}
        self.line({"parentUuid": boundary, **common, "type": "user", **said, "uuid": summary})
        self.at = kept[-1] if kept else summary
        return summary


def call(call_id: str) -> dict[str, Any]:
    """A call of a tool, as a block."""
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": call_id}}


def texts(transcript: Transcript) -> list[str]:
    """Each message in a few characters: its texts, calls as `+id`, results as `-id`."""
    return ["".join(map(_short, _blocks(message["content"]))) for message in transcript.conversation]


def _blocks(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [content]


def _short(block: Any) -> str:
    if not isinstance(block, dict):
        return str(block)
    kinds = {"tool_use": lambda: f"+{block['id']}", "tool_result": lambda: f"-{block['tool_use_id']}"}
    return kinds.get(block["type"], lambda: str(block.get("text", "")))()


def widened(transcript: Transcript, end: int) -> int:
    """The end of a range from the first message on that parts no call from its results."""
    return widen(transcript.conversation, 0, end)[1]


def compacted(text: str, end: int, answer: str = "Summary: ü 😀") -> str:
    """The text with its first messages replaced, after all that every compaction has to keep was found kept."""
    before = claude_code.parse(text)
    summary = summary_message(before.conversation, answer)
    result = claude_code.write(text, before, 0, end, summary, stamp(text))
    parts = [{"type": "text", "text": OUTPUT_PREFIX}, {"type": "text", "text": answer}]
    meant = with_summary(before.conversation, Range(0, end), {"role": "user", "content": parts})
    after = claude_code.parse(result)
    assert after.conversation == meant
    assert sorted(one.message for one in after.problems) == sorted(one.message for one in before.problems)
    assert after.writable
    assert claude_code_loader.load(result) == claude_code_loader.without_orphans(meant)
    assert result.startswith(text)
    assert result[len(text) :].count("\n") == (2 if text.endswith("\n") else 3)
    result.encode("utf-8")
    return result
