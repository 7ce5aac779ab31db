"""What only kimi-cli does: its file is rewritten, so its own loader must read every record that is left."""

from __future__ import annotations

import json
from pathlib import Path

from tests.resume.agents import KIMI_CLI, KIMI_CLI_AGENT
from tests.resume.checks import recorded
from tests.resume.conftest import Meet
from tests.resume.person import Person, compact, read_session

LOADER = """
import asyncio, json, pathlib, sys
from kimi_cli.soul.context import Context

async def main():
    context = Context(pathlib.Path(sys.argv[1]))
    assert await context.restore()
    messages = [message.model_dump(mode="json", exclude_none=True) for message in context.history]
    print(json.dumps({"messages": messages, "tokens": context.token_count, "checkpoints": context.n_checkpoints}))

asyncio.run(main())
"""
"""kimi-cli's own code, run by its own Python."""


def loaded(person: Person, path: Path) -> dict[str, object]:
    """What kimi-cli holds after it loaded a session."""
    python = str(KIMI_CLI.parent / "python")
    found: dict[str, object] = json.loads(person.run([python, "-c", LOADER, str(path)]))
    return found


def test_its_own_loader_reads_the_same_messages(meet: Meet) -> None:
    person = meet(KIMI_CLI_AGENT)
    recorded(person, 4)
    compact(person, 3)
    found = loaded(person, person.session())
    shown = read_session(person).conversation
    assert found["messages"] == [{key: value for key, value in one.items() if value is not None} for one in shown]
    assert (found["checkpoints"], found["tokens"]) > (0, 0)


def test_the_old_session_is_kept_beside_it_as_kimi_cli_keeps_it(meet: Meet) -> None:
    person = meet(KIMI_CLI_AGENT)
    recorded(person, 2)
    before = person.session().read_bytes()
    compact(person, 2)
    assert person.session().with_name("context_1.jsonl").read_bytes() == before
