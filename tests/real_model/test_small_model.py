"""A model of 135 million parameters answers badly: what is said of its answers, and what is never kept of them.

The facts hold whatever it says. `.real-model/answers.txt` shows what it said in the last run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from lithify.core.entries import Entry
from lithify.core.memory_replies import Extracted, Unusable, read_compaction, read_extraction
from lithify.prompt_files.templates import find_template
from tests.real_model.conftest import Starter
from tests.real_model.judging import brackets, loops, missing
from tests.real_model.relay import Exchange, Relay
from tests.support.editor import (
    buffer_entries,
    buffer_status,
    conversation,
    database,
    misplaced,
    note,
    open_session,
    record,
    session,
    stored_states,
    unchanged,
)
from tests.support.raw_client import Json, RawClient, RequestError

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(900)]

FULL = "lithify.compact_conversation"
WAIT_SECONDS = 600.0
"""For a command with all its model calls, each of which may take the two minutes that are the default."""

MODEL_FAILURES = {"model_unavailable", "model_error", "empty_response", "not_smaller", "timeout"}

WORK = (
    "The user asked why the buffer loses events when two windows append to it at once.",
    "Ran `pytest -q tests/storage`: 2 failed. sqlite3.OperationalError: database is locked. Cause: a transaction that "
    "feed() left open.",
    "Decided on a lock file beside the buffer, because os.replace drops the lock of the file that is renamed.",
    "Edited server/lithify/storage/buffer.py: append() writes one whole line under the lock. All 214 tests pass now.",
)


# --- a conversation -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Compaction:
    """What became of one conversation: its messages before and after, and the result or the failure."""

    before: list[Json]
    after: list[Json]
    prompt: str
    result: Json | None
    failure: RequestError | None
    exchanges: list[Exchange]

    @property
    def codes(self) -> set[str]:
        """The codes of the warnings."""
        assert self.result is not None
        return {one["code"] for one in self.result["warnings"]}


def told(number: int) -> list[Json]:
    """A chat about the work, one user message and one answer a step."""
    steps = [(f"Step {number}.{place}: {text}", f"Noted. {text}") for place, text in enumerate(WORK)]
    return [
        {"id": f"{role}{place}", "role": role, "content": text}
        for place, step in enumerate(steps)
        for role, text in zip(("user", "assistant"), step, strict=True)
    ]


async def compacted(client: RawClient, relay: Relay, session_id: str, messages: list[Json]) -> Compaction:
    """Compacts a session, whatever comes of it."""
    open_session(client, session_id, messages)
    before = (await session(client, session_id))["messages"]
    shown = await client.command(FULL, {"sessionId": session_id, "dryRun": True})
    asked = len(relay.exchanges)
    result = failure = None
    try:
        result = await client.result_of(client.ask_command(FULL, {"sessionId": session_id}), WAIT_SECONDS)
    except RequestError as error:
        failure = error
    after = (await session(client, session_id))["messages"]
    prompt = shown["request"]["message"]["content"][-1]["text"]
    return Compaction(before, after, prompt, result, failure, relay.exchanges[asked:])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def compactions(start: Starter) -> list[Compaction]:
    """Three conversations, each compacted once."""
    client, relay = await start()
    return [await compacted(client, relay, f"s{number}", told(number)) for number in range(3)]


@pytest.fixture
def kept(compactions: list[Compaction]) -> list[Compaction]:
    """Those whose answer was kept."""
    return [one for one in compactions if one.result is not None]


async def test_a_conversation_gets_the_models_answer_or_a_failure_of_a_model(compactions: list[Compaction]) -> None:
    for one in compactions:
        if one.failure is not None:
            assert one.failure.type in MODEL_FAILURES
        else:
            assert one.result is not None
            assert (one.result["type"], one.result["method"], one.result["provider"]) == ("compacted", "model", "http")


async def test_an_answer_is_kept_word_for_word(kept: list[Compaction]) -> None:
    for one in kept:
        (exchange,) = one.exchanges
        assert exchange.text.strip()
        assert exchange.text.strip() in str(one.after[0]["content"])


async def test_what_comes_after_the_range_stays_verbatim(compactions: list[Compaction]) -> None:
    for one in compactions:
        tail = one.after[1:] if one.result is not None else one.after
        assert len(tail) >= 2
        assert one.before[len(one.before) - len(tail) :] == tail


async def test_the_warnings_name_each_section_that_is_missing(kept: list[Compaction]) -> None:
    for one in kept:
        assert one.result is not None
        said = [each["message"] for each in one.result["warnings"] if each["code"] == "missing_sections"]
        lacking = missing(one.exchanges[-1].text)
        assert bool(said) == bool(lacking)
        assert all(tag in said[0] for tag in lacking)


async def test_the_warnings_say_that_an_answer_is_cut_off(kept: list[Compaction]) -> None:
    for one in kept:
        assert ("cut_off" in one.codes) == (one.exchanges[-1].stop_reason == "max_tokens")


async def test_the_warnings_say_that_an_answer_repeats_the_template(kept: list[Compaction]) -> None:
    for one in kept:
        echoed = any(bracket in one.exchanges[-1].text for bracket in brackets(one.prompt))
        assert ("echoed_template" in one.codes) == echoed


async def test_the_warnings_say_that_an_answer_loops(kept: list[Compaction]) -> None:
    for one in kept:
        text = one.exchanges[-1].text
        assert "repetition" in one.codes or not loops(text), text


async def test_a_conversation_too_long_for_the_model_is_sent_in_parts(start: Starter) -> None:
    client, relay = await start()
    one = await compacted(client, relay, "long", conversation(80))
    refused = [each for each in one.exchanges if each.status == 400]
    assert refused == one.exchanges[: len(refused)]
    assert refused
    if one.result is not None:
        assert len(one.exchanges) - len(refused) >= 2
        assert "folded" in one.codes
        assert one.exchanges[-1].text.strip() in str(one.after[0]["content"])
    else:
        assert one.failure is not None
        assert (one.failure.type in MODEL_FAILURES, one.after) == (True, one.before)


async def test_a_model_too_slow_for_the_time_it_has_leaves_the_session_as_it_was(start: Starter) -> None:
    client, relay = await start(conversation={"timeoutMs": 500})
    open_session(client, "s", told(0))
    async with unchanged(client, "s"):
        failure = await client.command_failure(FULL, {"sessionId": "s"})
    assert failure.type == "timeout"
    assert [one for one in relay.exchanges if one.stop_reason is not None] == []


# --- memory ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Run:
    """What became of a buffer: its entries before, the result, the status, and all that was said."""

    client: RawClient
    relay: Relay
    before: list[Entry]
    done: Json
    status: Json

    @property
    def answers(self) -> list[Exchange]:
        return self.relay.exchanges


async def worked_on(start: Starter, command: str, events: list[Json], **settings: Any) -> Run:
    """Fills a buffer and has it worked on."""
    client, relay = await start(**settings)
    await record(client, *events)
    before = [Entry(**entry) for entry in buffer_entries(client.data_dir)]
    done = await client.result_of(client.ask_command(command, {}), WAIT_SECONDS)
    return Run(client, relay, before, done, await buffer_status(client))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def extraction(start: Starter) -> Run:
    """An extraction of four events."""
    return await worked_on(start, "lithify.extract_now", [note(text) for text in WORK])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def compaction(start: Starter) -> Run:
    """A compaction of a buffer of eight events."""
    events = [note(f"{text} It was looked at {place} times.") for place in (1, 2) for text in WORK]
    return await worked_on(start, "lithify.compact_buffer", events, bufferCompaction={"enabled": True})


def extracted(of: Run) -> list[Extracted | Unusable]:
    """What each answer to an extraction is worth."""
    template = find_template("extraction").text
    return [read_extraction(one.text, of.before, template, one.stop_reason) for one in of.answers]


def stored_records(client: RawClient) -> list[tuple[str, str]]:
    """Title and summary of every memory record in the database."""
    with database(client.data_dir) as connection:
        return connection.execute("SELECT title, summary FROM memory_records ORDER BY number").fetchall()


async def test_memory_holds_just_the_records_of_the_one_answer_that_is_usable(extraction: Run) -> None:
    *earlier, last = extracted(extraction)
    records = last.records if isinstance(last, Extracted) else ()
    assert [one for one in earlier if isinstance(one, Extracted)] == []
    assert set(stored_records(extraction.client)) <= {(one.title, one.summary) for one in records}
    assert bool(stored_records(extraction.client)) == bool(records)


async def test_no_record_is_the_prompts_template_or_a_loop(extraction: Run) -> None:
    template = find_template("extraction").text
    for title, summary in stored_records(extraction.client):
        assert not any(bracket in title + summary for bracket in brackets(template))
        assert not loops(summary)


async def test_an_extraction_without_a_usable_answer_counts_as_one_failure_after_three_tries(extraction: Run) -> None:
    last = extracted(extraction)[-1]
    told = extraction.status["extraction"]
    if isinstance(last, Unusable):
        assert len(extraction.answers) == 3
        assert (extraction.done["extracted"], extraction.done["remaining"]) == (0, len(extraction.before))
        assert (told["failures"], told["breaker"], told["lastError"]) == (1, "closed", last.reason)
        assert extraction.done["problem"] == last.reason
    else:
        assert (extraction.done["extracted"], extraction.done["remaining"]) == (len(extraction.before), 0)
        assert told["failures"] == 0


async def test_a_buffer_is_rewritten_by_a_usable_answer_or_the_older_half_goes(compaction: Run) -> None:
    template = find_template("buffer_compaction").text
    verdicts = [read_compaction(one.text, compaction.before, template, one.stop_reason) for one in compaction.answers]
    after = [Entry(**entry) for entry in buffer_entries(compaction.client.data_dir)]
    if compaction.done["method"] == "model":
        last = verdicts[-1]
        assert not isinstance(last, Unusable)
        assert [one.body["content"] for one in after] == [one.text for one in last]
    else:
        assert (compaction.done["method"], len(verdicts)) == ("eviction", 2)
        assert after == compaction.before[4:]
        assert compaction.status["compaction"]["failures"] == 1
    assert compaction.done["sizeAfter"] < compaction.done["sizeBefore"]


async def test_no_summary_in_the_buffer_is_the_prompts_template_or_a_loop(compaction: Run) -> None:
    template = find_template("buffer_compaction").text
    for entry in buffer_entries(compaction.client.data_dir):
        text = entry["body"]["content"]
        assert not any(bracket in text for bracket in brackets(template))
        assert not loops(text)


async def test_every_event_is_in_exactly_one_place(extraction: Run, compaction: Run) -> None:
    for one in (extraction, compaction):
        assert len(stored_states(one.client.data_dir)) == len(one.before)
    assert misplaced(compaction.client.data_dir) == []
    if extracted(extraction)[-1] == Extracted(()):
        assert set(stored_states(extraction.client.data_dir).values()) == {"extracted"}
        assert (stored_records(extraction.client), buffer_entries(extraction.client.data_dir)) == ([], [])
    else:
        assert misplaced(extraction.client.data_dir) == []


async def test_the_ledger_has_every_call_with_its_tokens_and_the_host_on_loopback(
    extraction: Run, compaction: Run
) -> None:
    for one, purpose in ((extraction, "extraction"), (compaction, "buffer")):
        with database(one.client.data_dir) as connection:
            calls = connection.execute(
                "SELECT purpose, provider, model, host, outcome, tokens FROM model_calls ORDER BY rowid"
            ).fetchall()
        host, model = one.relay.host, "smollm2"
        assert calls == [(purpose, "http", model, host, "answered", exchange.tokens) for exchange in one.answers]
