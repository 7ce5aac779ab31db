"""Sessions long enough to be compacted, one of each agent, in a home folder of the test's own; and their going on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lithify.core.messages import text_of
from lithify.transcripts.reading import read
from tests.support import stub_opencode
from tests.support.agent_homes import LONG_AGO, AgentHome, codex_message, codex_record
from tests.transcripts.agent_records import gemini_said, gemini_user, kimi_counted, kimi_message, kimi_user

Json = dict[str, Any]

TURNS = 3
PROJECT = "shop"


def asked(turn: int) -> str:
    """What the user says in a turn."""
    return f"question {turn}: " + "why is the cart so slow? " * 20


def answered(turn: int) -> str:
    """What the model says in it."""
    return f"answer {turn}: " + "it reads every price anew. " * 20


def _claude_code(turn: int) -> list[Json]:
    above = None if turn == 0 else f"a{turn - 1}"
    said = {"id": f"m{turn}", "role": "assistant", "content": [{"type": "text", "text": answered(turn)}]}
    common = {"isSidechain": False, "version": "2.1.332", "timestamp": "2026-01-02T03:04:05.000Z"}
    question = {"uuid": f"q{turn}", "parentUuid": above, "message": {"role": "user", "content": asked(turn)}}
    answer = {"uuid": f"a{turn}", "parentUuid": f"q{turn}", "message": said}
    return [{"type": "user", **common, **question}, {"type": "assistant", **common, **answer}]


def _codex(turn: int) -> list[Json]:
    said = (("user", asked(turn)), ("assistant", answered(turn)))
    return [codex_record("response_item", codex_message(role, text)) for role, text in said]


def _kimi_code(turn: int) -> list[Json]:
    return [kimi_user(asked(turn)), kimi_message(answered(turn), "assistant"), kimi_counted(2 * turn + 2)]


def _kimi_cli(turn: int) -> list[Json]:
    return [{"role": "user", "content": asked(turn)}, {"role": "assistant", "content": answered(turn)}]


def _gemini(turn: int) -> list[Json]:
    return [gemini_user(f"q{turn}", asked(turn)), gemini_said(f"a{turn}", answered(turn))]


_TURNS: Mapping[str, Callable[[int], list[Json]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "kimi-code": _kimi_code,
    "kimi-cli": _kimi_cli,
    "gemini": _gemini,
}

FILES = tuple(_TURNS)
APPENDED = tuple(one for one in FILES if one != "kimi-cli")
"""The agents that append to their files."""


@dataclass(frozen=True, slots=True)
class KeptSession:
    """A session of TURNS turns in a file."""

    agent: str
    path: Path
    project: str

    @property
    def said(self) -> list[str]:
        """The first words of each message that the agent would send."""
        return said_in(self.path)

    def go_on(self, turn: int = TURNS) -> None:
        """The agent writes one turn more, a while ago."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(_lines(self, turn))
        os.utime(self.path, (LONG_AGO, LONG_AGO))


def said_in(path: Path) -> list[str]:
    """The first words of each message of a file; a summary's are `summary`."""
    reading = read(path.read_bytes().decode(), str(path))
    assert reading is not None
    texts = [text_of(message) for message in reading.transcript.conversation]
    return ["summary" if "compacted" in one[:60] else one.partition(":")[0] for one in texts]


def keep(home: AgentHome, agent: str) -> KeptSession:
    """A session of an agent, last used a while ago; its project is a folder below the home folder."""
    project = home.folder / PROJECT
    project.mkdir(parents=True, exist_ok=True)
    path: Path = getattr(home, agent.replace("-", "_"))(project=str(project))
    kept = KeptSession(agent, path, str(project))
    records = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(records[: {"claude-code": 0}.get(agent, 1)]), encoding="utf-8")
    for turn in range(TURNS):
        kept.go_on(turn)
    return kept


def keep_in_opencode(home: AgentHome) -> str:
    """The URI of such a session of opencode."""
    return stub_opencode.keep_session(home.folder, home.folder / PROJECT, TURNS)


def _lines(kept: KeptSession, turn: int) -> str:
    session = {"sessionId": kept.path.stem, "cwd": kept.project} if kept.agent == "claude-code" else {}
    return "".join(json.dumps({**one, **session}) + "\n" for one in _TURNS[kept.agent](turn))
