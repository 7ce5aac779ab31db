"""kill -9 at random moments of a session of events, extractions and buffer compactions: nothing lost, nothing twice.

One run in `make test`, four in `make test-kills`, so that they go in parallel; each prints its seed, and
`LITHIFY_KILLS_SEED` repeats it.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import HANDLES_ALL
from tests.support.editor import (
    MemoryModel,
    answer_later,
    misplaced,
    note,
    project_folder,
    record,
    refuse,
    stored_states,
)
from tests.support.kills import at_least
from tests.support.raw_client import Json, RawClient

pytestmark = pytest.mark.asyncio

RUNS = at_least(1, 4)
KILLS = 52
"""In each of the runs: 208 in all four."""

STARTING_SHARE = 0.2
"""How many of the kills come before the server has answered anything."""

MOST_EVENTS = 80
"""In one life, so that what is left at the end is extracted in a bounded time."""

LAST_SECONDS = 60

STARTING_SECONDS, WORKING_SECONDS = 0.5, 0.25

OPTIONS: Json = {
    "client": HANDLES_ALL,
    "buffer": {"extractionBytes": 2048, "compactionBytes": 4096, "ceilingBytes": 16_384},
    "background": {"maxModelCallsPerHour": 100_000, "maxTokensPerHour": 1_000_000_000},
}
HEALING: Json = {**OPTIONS, "extraction": {"enabled": False}}
"""Nothing is done unasked, so that the audit sees the files at rest."""

WORKING: Json = {"extraction": {"enabled": True}, "bufferCompaction": {"enabled": True}}


class Lives:
    """The lives of a server on one data folder, each ended by a kill."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.data_dir = folder / "data"
        self.project = project_folder(folder)
        self.random = random.Random(seed)
        self.answered: set[str] = set()
        self.tally: Counter[str] = Counter()
        """Kills by what the server was doing."""
        self.number = 0
        self.working = False

    async def live(self, *, is_last: bool = False) -> None:
        """One life: the audit of what the last one left, work, and a kill (the last one ends well)."""
        self.number += 1
        self.working = False
        client = await RawClient.start(self.data_dir, cwd=self.project)
        try:
            if not is_last and self.random.random() < STARTING_SHARE:
                self._kill_within(client, STARTING_SECONDS)
            await self._until_killed(client, self._work(client, is_last=is_last))
        finally:
            await client.stop()
        self._count(client)
        assert self.problems(strict=False) == []

    def problems(self, *, strict: bool) -> list[str]:
        """What is wrong with where events are, and which of those that were answered are not there at all."""
        if not (self.data_dir / "lithify.db").exists() or not self.answered:
            return []
        lost = self.answered - set(stored_states(self.data_dir))
        return [*(f"{one} was answered and is lost" for one in lost), *misplaced(self.data_dir, strict=strict)]

    async def _work(self, client: RawClient, *, is_last: bool) -> None:
        await client.initialize(HEALING)
        client.answerers["lithify/complete"] = refuse("consent_required")
        await client.command("lithify.extract_now", {})
        assert self.problems(strict=True) == []
        answer_later(client, MemoryModel(f"life{self.number}"), self.random)
        if is_last:
            done = await client.result_of(client.ask_command("lithify.extract_now", {}), LAST_SECONDS)
            assert done["remaining"] == 0
            return
        client.notify("workspace/didChangeConfiguration", {"settings": {"lithify": WORKING}})
        self.working = True
        self._kill_within(client, WORKING_SECONDS)
        while True:
            await self._step(client)

    async def _step(self, client: RawClient) -> None:
        chance = self.random.random()
        if chance < 0.1:
            client.ask_command("lithify.compact_buffer", {})
        elif chance < 0.25:
            client.ask_command("lithify.extract_now", {})
        elif len(self.answered) < MOST_EVENTS * self.number:
            events = [note("x" * self.random.randrange(600)) for _ in range(self.random.randrange(1, 6))]
            self.answered.update(one["eventId"] for one in await record(client, *events))
        else:
            await client.request("lithify/bufferStatus", {})

    def _count(self, client: RawClient) -> None:
        told = client.received("lithify/bufferStatusChanged")
        self.tally["working" if self.working else "starting"] += 1
        self.tally["in an extraction"] += bool(told) and told[-1]["extraction"]["inFlight"]
        self.tally["in a compaction"] += bool(told) and told[-1]["compaction"]["inFlight"]

    def _kill_within(self, client: RawClient, seconds: float) -> None:
        asyncio.get_running_loop().call_later(self.random.uniform(0, seconds), _kill, client)

    async def _until_killed(self, client: RawClient, work: Any) -> None:
        working = asyncio.ensure_future(work)
        ending = asyncio.ensure_future(client.process.wait())
        await asyncio.wait([working, ending], return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        if not working.done():
            working.cancel()
        try:
            await working
        except (asyncio.CancelledError, ConnectionError):
            assert client.process.returncode is not None, client.stderr


def _kill(client: RawClient) -> None:
    if client.process.returncode is None:
        client.process.kill()


@pytest.mark.timeout(240)
@pytest.mark.parametrize("run", range(RUNS))
async def test_after_every_kill_each_event_is_in_one_place_and_none_was_extracted_twice(
    run: int, tmp_path: Path
) -> None:
    seed = int(os.environ.get("LITHIFY_KILLS_SEED", time.time_ns() % 1_000_000)) + run
    sys.stdout.write(f"LITHIFY_KILLS_SEED={seed - run}\n")
    lives = Lives(tmp_path, seed)
    for _ in range(KILLS):
        await lives.live()
    await lives.live(is_last=True)
    sys.stdout.write(f"{KILLS} kills; {lives.tally}; {Counter(stored_states(lives.data_dir).values())}\n")
    assert len(lives.answered) > KILLS
    assert min(lives.tally[kind] for kind in ("starting", "working", "in an extraction")) > 0
    assert lives.problems(strict=True) == []
    assert set(stored_states(lives.data_dir).values()) <= {"extracted", "evicted"}
