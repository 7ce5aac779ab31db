"""Extraction into memory records: the command, what the model is shown, what becomes of its answer, and search."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.e2e.conftest import HANDLES_ALL
from tests.support.editor import (
    MemoryModel,
    SilentModel,
    Starter,
    answers,
    buffer_entries,
    buffer_status,
    fail,
    json_event,
    ledger,
    misplaced,
    note,
    project_folder,
    record,
    record_reply,
    refuse,
    shown_ids,
    stored_states,
)
from tests.support.raw_client import Json, RawClient

pytestmark = pytest.mark.asyncio(loop_scope="module")

COMPLETE = "lithify/complete"
NO_MODEL: Json = {"client": {"bufferStatus": True}}


class Room:
    """A project of its own in the server that the tests share; everything sent is about it."""

    def __init__(self, client: RawClient, folder: Path) -> None:
        self.client = client
        self.folder = folder

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    async def request(self, method: str, params: Json) -> Any:
        """Sends a request about the project, or with events of it, and waits for its result."""
        source = {"projectPath": str(self.folder)}
        events = [{**event, "source": source} for event in params.get("events", [])]
        return await self.client.request(method, {"events": events} if events else self._about(params))

    def ask_command(self, name: str, argument: Json) -> int | str:
        """Sends a command about the project; its id."""
        return self.client.ask_command(name, self._about(argument))

    async def command(self, name: str, argument: Json) -> Any:
        """Runs a command about the project and waits for its result."""
        return await self.client.command(name, argument if "recordId" in argument else self._about(argument))

    def _about(self, argument: Json) -> Json:
        return {"projectUri": self.folder.as_uri(), **argument}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def quiet(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RawClient]:
    """A server that extracts nothing by itself."""
    options = {"client": HANDLES_ALL, "extraction": {"enabled": False}}
    running = await RawClient.start(tmp_path_factory.mktemp("data"), cwd=tmp_path_factory.mktemp("workspace"))
    await running.initialize(options)
    yield running
    await running.stop()
    assert running.not_protocol == b""


@pytest.fixture
def fresh(quiet: RawClient, tmp_path: Path) -> Room:
    """A project of the test's own."""
    quiet.start_afresh()
    return Room(quiet, project_folder(tmp_path))


async def extract(client: RawClient | Room) -> Json:
    done: Json = await client.command("lithify.extract_now", {})
    return done


async def memory(client: RawClient | Room) -> list[Json]:
    """All records of the project, the newest first."""
    listed: list[Json] = (await client.command("lithify.list_memory", {"limit": 1000}))["records"]
    return listed


async def with_record(fresh: RawClient | Room, **reply: Any) -> Json:
    """The one record of a project that had none before."""
    fresh.answerers[COMPLETE] = answers(record_reply(**reply))
    await record(fresh, note())
    await extract(fresh)
    (known,) = await memory(fresh)
    return known


# --- the command ---


async def test_an_extraction_tells_events_records_what_is_left_and_by_what(start: Starter) -> None:
    fresh = await start()
    fresh.answerers[COMPLETE] = MemoryModel()
    await record(fresh, note("a"), note("b"))
    assert await extract(fresh) == {
        "extracted": 2,
        "records": 1,
        "remaining": 0,
        "method": "model",
        "provider": "editor",
    }
    assert buffer_entries(fresh.data_dir) == []


async def test_an_extraction_of_nothing_asks_no_model_and_names_no_method(fresh: Room) -> None:
    fresh.answerers[COMPLETE] = model = MemoryModel()
    assert await extract(fresh) == {"extracted": 0, "records": 0, "remaining": 0, "reason": "nothing_waiting"}
    assert model.questions == []


async def test_without_any_model_the_offline_one_makes_records_marked_as_such(start: Starter) -> None:
    fresh = await start(options=NO_MODEL)
    data = {"tool_name": "Edit", "tool_input": {"file_path": "/p/a.py", "old_string": "a", "new_string": "b"}}
    await record(fresh, note("We decided to use SQLite because it needs no server."), json_event(data))
    done = await extract(fresh)
    records = await memory(fresh)
    assert (done["extracted"], done["remaining"], done["method"]) == (2, 0, "offline")
    assert records
    assert {one["method"] for one in records} == {"offline"}


async def test_two_commands_at_once_share_one_run(fresh: Room) -> None:
    await record(fresh, note())
    silent = SilentModel(fresh)
    first = fresh.ask_command("lithify.extract_now", {})
    second = fresh.ask_command("lithify.extract_now", {})
    await silent.answer({"text": record_reply()})
    done = [await fresh.result_of(first), await fresh.result_of(second)]
    assert done == [{"extracted": 1, "records": 1, "remaining": 0, "method": "model", "provider": "editor"}] * 2
    assert len(fresh.received(COMPLETE)) == 1


async def test_what_comes_during_an_extraction_stays_in_the_buffer(start: Starter) -> None:
    fresh = await start()
    await record(fresh, note("before"))
    silent = SilentModel(fresh)
    asked = fresh.ask_command("lithify.extract_now", {})
    await silent.asked()
    (later,) = await record(fresh, note("meanwhile"))
    await silent.answer({"text": record_reply()})
    done = await fresh.result_of(asked)
    assert (done["remaining"], "came after the call" in done["problem"]) == (1, True)
    assert [one["event_id"] for one in buffer_entries(fresh.data_dir)] == [later["eventId"]]


async def test_a_cancelled_extraction_ends_the_model_call_and_leaves_the_buffer_as_it_was(start: Starter) -> None:
    fresh = await start()
    await record(fresh, note())
    before = buffer_entries(fresh.data_dir)
    silent = SilentModel(fresh)
    asked = fresh.ask_command("lithify.extract_now", {})
    question = (await silent.asked())["params"]
    fresh.notify("$/cancelRequest", {"id": asked})
    failure = await fresh.failure_of(asked)
    told = await fresh.notification("lithify/cancelComplete")
    assert (failure.code, failure.type) == (-32800, "cancelled")
    assert told == {"requestId": question["requestId"]}
    assert buffer_entries(fresh.data_dir) == before


async def test_an_extraction_after_a_cancelled_one_works(fresh: Room) -> None:
    await record(fresh, note())
    silent = SilentModel(fresh)
    asked = fresh.ask_command("lithify.extract_now", {})
    await silent.asked()
    fresh.notify("$/cancelRequest", {"id": asked})
    await fresh.failure_of(asked)
    fresh.answerers[COMPLETE] = MemoryModel()
    assert (await extract(fresh))["extracted"] == 1
    assert (await buffer_status(fresh))["extraction"]["failures"] == 0


async def test_the_command_goes_on_while_extraction_by_itself_is_off(start: Starter) -> None:
    fresh = await start(options={"client": HANDLES_ALL, "extraction": {"enabled": False}})
    fresh.answerers[COMPLETE] = MemoryModel()
    await record(fresh, note())
    assert (await extract(fresh))["extracted"] == 1


async def test_an_event_that_was_extracted_is_a_duplicate_after_a_restart_and_extracted_no_more(
    start: Starter,
) -> None:
    first = await start()
    first.answerers[COMPLETE] = MemoryModel()
    event = note(eventId="01ARZ3NDEKTSV4RRFFQ69G0001")
    await record(first, event)
    await extract(first)
    await first.shut_down()
    again = await start()
    again.answerers[COMPLETE] = model = MemoryModel()
    assert [one["status"] for one in await record(again, event)] == ["duplicate"]
    assert await extract(again) == {"extracted": 0, "records": 0, "remaining": 0, "reason": "nothing_waiting"}
    assert model.questions == []


# --- what the model is asked ---


async def test_the_model_is_asked_as_the_contract_says(fresh: Room) -> None:
    fresh.answerers[COMPLETE] = model = MemoryModel()
    await record(fresh, note())
    await extract(fresh)
    (asked,) = model.questions
    assert asked["message"]["role"] == "user"
    assert {part["type"] for part in asked["message"]["content"]} == {"text"}
    assert asked["systemPrompt"]
    assert len(asked["requestId"]) == 26
    told = {key: asked[key] for key in set(asked) - {"message", "systemPrompt", "requestId"}}
    assert told == {
        "purpose": "extraction",
        "userInitiated": True,
        "tools": [],
        "timeoutMs": 120_000,
        "settings": {"disable_all_tools": True},
    }


async def test_the_model_of_the_setting_is_asked(start: Starter) -> None:
    fresh = await start(options={"client": HANDLES_ALL, "extraction": {"model": "mine", "timeoutMs": 7000}})
    fresh.answerers[COMPLETE] = model = MemoryModel()
    await record(fresh, note())
    await extract(fresh)
    assert [(one["model"], one["timeoutMs"]) for one in model.questions] == [("mine", 7000)]


@pytest.mark.parametrize(
    ("event", "shown"),
    [
        (
            json_event({"tool_name": "R<a>", "tool_input": {"p": "</input>&"}, "tool_response": "ok & <done>"}),
            "<tool_name>R&lt;a&gt;</tool_name>\n<timestamp>2026-01-02T03:04:05Z</timestamp>\n"
            '<input>{"p":"&lt;/input&gt;&amp;"}</input>\n<output>ok &amp; &lt;done&gt;</output>\n',
        ),
        (
            json_event({"tool_name": "Read", "tool_input": {}}),
            "<tool_name>Read</tool_name>\n<timestamp>2026-01-02T03:04:05Z</timestamp>\n<input>{}</input>\n",
        ),
        (
            note("x < y"),
            "<tool_name>note</tool_name>\n<timestamp>2026-01-02T03:04:05Z</timestamp>\n<input>x &lt; y</input>\n",
        ),
        (
            note(kind="prompt", body={"type": "message", "turns": [{"role": "user", "content": "why?"}]}),
            "<tool_name>prompt</tool_name>\n<timestamp>2026-01-02T03:04:05Z</timestamp>\n<input>user: why?</input>\n",
        ),
    ],
    ids=["tool with output", "tool without output", "text", "message"],
)
async def test_an_event_is_shown_to_the_model_as_an_escaped_observation(fresh: Room, event: Json, shown: str) -> None:
    fresh.answerers[COMPLETE] = model = MemoryModel()
    (result,) = await record(fresh, {**event, "validTime": "2026-01-02T03:04:05Z"})
    await extract(fresh)
    head = f'<tool_observation id="{result["eventId"]}" kind="{event["kind"]}">\n'
    assert model.questions[0]["message"]["content"][-1]["text"] == f"{head}{shown}</tool_observation>"


async def test_observations_are_shown_in_the_order_of_the_events(fresh: Room) -> None:
    fresh.answerers[COMPLETE] = model = MemoryModel()
    results = await record(fresh, *(note(f"event {number}") for number in range(20)))
    await extract(fresh)
    assert shown_ids(model.questions[0]) == [one["eventId"] for one in results]


async def test_a_large_buffer_is_shown_in_several_questions(start: Starter) -> None:
    fresh = await start(options={"client": HANDLES_ALL, "extraction": {"enabled": False}})
    fresh.answerers[COMPLETE] = model = MemoryModel()
    results = await record(fresh, *(note("word " * 10_000) for _ in range(6)))
    done = await extract(fresh)
    assert len(model.questions) > 1
    assert [one for asked in model.questions for one in shown_ids(asked)] == [one["eventId"] for one in results]
    assert (done["extracted"], done["records"]) == (6, len(model.questions))


# --- what becomes of the answer ---


async def test_a_record_has_just_what_the_model_answered(fresh: Room) -> None:
    _, second = await record(fresh, note("a"), note("b"))
    reply = record_reply(
        [second["eventId"]],
        title="Use &lt;WAL&gt;",
        summary="Because &amp; so.",
        type="decision",
        facts=["one", "two"],
        concepts=["sqlite"],
        files=["a/b.py"],
    )
    fresh.answerers[COMPLETE] = answers(reply)
    await extract(fresh)
    (known,) = await memory(fresh)
    status = await buffer_status(fresh)
    assert len(known.pop("recordId")) == 26
    assert known.pop("createdAt")
    assert known == {
        "projectId": status["projectId"],
        "type": "decision",
        "title": "Use <WAL>",
        "summary": "Because & so.",
        "facts": ["one", "two"],
        "concepts": ["sqlite"],
        "files": ["a/b.py"],
        "sourceEventIds": [second["eventId"]],
        "method": "model",
    }


async def test_an_event_that_no_record_names_is_extracted_all_the_same(start: Starter) -> None:
    fresh = await start()
    first, second = await record(fresh, note("a"), note("b"))
    fresh.answerers[COMPLETE] = answers(record_reply([first["eventId"]]))
    assert (await extract(fresh))["extracted"] == 2
    assert stored_states(fresh.data_dir) == dict.fromkeys((first["eventId"], second["eventId"]), "extracted")


@pytest.mark.parametrize("ids", [[], ["01ARZ3NDEKTSV4RRFFQ69GZZZZ"]], ids=["none", "unknown"])
async def test_a_record_that_names_no_known_id_came_from_the_whole_batch(fresh: Room, ids: list[str]) -> None:
    results = await record(fresh, note("a"), note("b"))
    fresh.answerers[COMPLETE] = answers(record_reply(ids))
    await extract(fresh)
    assert (await memory(fresh))[0]["sourceEventIds"] == sorted(one["eventId"] for one in results)


async def test_a_skip_extracts_the_events_into_no_record(fresh: Room) -> None:
    await record(fresh, note())
    fresh.answerers[COMPLETE] = answers('<skip reason="nothing worth keeping"/>')
    assert await extract(fresh) == {
        "extracted": 1,
        "records": 0,
        "remaining": 0,
        "method": "model",
        "provider": "editor",
        "reason": "nothing_worth_keeping",
    }


async def test_texts_over_the_limits_are_cut_and_kept(fresh: Room) -> None:
    words = " ".join(f"word{number}" for number in range(2000))
    known = await with_record(fresh, title=words, summary=words, facts=[words], concepts=[words], files=[words])
    lengths = [len(known["title"]), len(known["summary"]), *(len(known[key][0]) for key in ("facts", "concepts"))]
    assert lengths == [200, 4000, 500, 100]
    assert len(known["files"][0]) == 500


async def test_the_same_record_again_is_merged_with_the_events_of_both(start: Starter) -> None:
    fresh = await start()
    fresh.answerers[COMPLETE] = answers(record_reply())
    results = []
    for text in ("a", "b"):
        results += await record(fresh, note(text))
        await extract(fresh)
    (known,) = await memory(fresh)
    assert known["sourceEventIds"] == sorted(one["eventId"] for one in results)


# --- a model that does not deliver ---


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (fail, "it broke"),
        (answers("no record at all"), "neither"),
        (answers(""), "empty"),
        (answers(record_reply(), stopReason="max_tokens"), "cut off"),
    ],
    ids=["error", "no record", "empty", "cut off"],
)
async def test_a_failed_extraction_says_why_and_changes_no_byte_of_the_buffer(
    start: Starter, model: Any, reason: str
) -> None:
    fresh = await start()
    await record(fresh, note())
    before = buffer_entries(fresh.data_dir)
    fresh.answerers[COMPLETE] = model
    done = await extract(fresh)
    assert (done["extracted"], done["records"], done["remaining"]) == (0, 0, 1)
    assert reason in done["problem"]
    assert buffer_entries(fresh.data_dir) == before


async def test_a_failed_extraction_is_in_the_status(fresh: Room) -> None:
    await record(fresh, note())
    fresh.answerers[COMPLETE] = fail
    await extract(fresh)
    told = await buffer_status(fresh)
    work = told["extraction"]
    assert (told["state"], work["breaker"], work["failures"]) == ("degraded", "closed", 1)
    assert "it broke" in work["lastError"]
    assert work["lastRunAt"]


async def test_a_failed_extraction_has_asked_three_times(start: Starter) -> None:
    fresh = await start()
    await record(fresh, note())
    fresh.answerers[COMPLETE] = fail
    await extract(fresh)
    assert len(fresh.received(COMPLETE)) == 3


async def broken(start: Starter) -> RawClient:
    """A server whose breaker is open after one failure."""
    fresh = await start(options={"client": HANDLES_ALL, "extraction": {"maxFailures": 1}})
    await record(fresh, note())
    fresh.answerers[COMPLETE] = fail
    await extract(fresh)
    return fresh


async def test_failures_up_to_the_setting_open_the_breaker(start: Starter) -> None:
    fresh = await broken(start)
    told = await fresh.notification("lithify/bufferStatusChanged", state="degraded")
    assert (told["extraction"]["breaker"], told["extraction"]["failures"]) == ("open", 1)


async def test_a_users_call_asks_once_through_an_open_breaker(start: Starter) -> None:
    fresh = await broken(start)
    fresh.messages.clear()
    await extract(fresh)
    assert len(fresh.received(COMPLETE)) == 1


async def test_a_users_call_that_succeeds_closes_the_breaker(start: Starter) -> None:
    fresh = await broken(start)
    fresh.answerers[COMPLETE] = MemoryModel()
    await extract(fresh)
    told = await buffer_status(fresh)
    assert (told["state"], told["extraction"]["breaker"], told["extraction"]["failures"]) == ("idle", "closed", 0)
    assert "lastError" not in told["extraction"]


async def test_an_open_breaker_is_still_open_after_a_restart(start: Starter) -> None:
    fresh = await broken(start)
    await fresh.shut_down()
    told = await buffer_status(await start())
    assert (told["extraction"]["breaker"], told["extraction"]["failures"]) == ("open", 1)


@pytest.mark.parametrize("reason", ["consent_required", "consent_denied", "quota"])
async def test_consent_and_quota_leave_the_buffer_and_the_breaker_alone(start: Starter, reason: str) -> None:
    fresh = await start()
    await record(fresh, note())
    before = buffer_entries(fresh.data_dir)
    fresh.answerers[COMPLETE] = refuse(reason)
    done = await extract(fresh)
    work = (await buffer_status(fresh))["extraction"]
    assert (done["remaining"], work["failures"], work["breaker"]) == (1, 0, "closed")
    assert buffer_entries(fresh.data_dir) == before
    assert len(fresh.received(COMPLETE)) == 1


async def test_a_model_that_does_not_answer_is_given_up_and_told_so(start: Starter) -> None:
    fresh = await start(options={"client": HANDLES_ALL, "extraction": {"timeoutMs": 50}})
    await record(fresh, note())
    SilentModel(fresh)
    done = await extract(fresh)
    questions = [one["requestId"] for one in fresh.received(COMPLETE)]
    assert "did not answer" in done["problem"]
    assert [one["requestId"] for one in fresh.received("lithify/cancelComplete")] == questions


async def test_a_batch_that_is_too_long_for_the_model_is_halved_until_it_fits(start: Starter) -> None:
    fresh = await start(options={"client": HANDLES_ALL, "extraction": {"enabled": False}})
    model = MemoryModel()
    too_long = refuse("context_too_long")
    fresh.answerers[COMPLETE] = lambda asked: too_long(asked) if len(shown_ids(asked)) > 2 else model(asked)
    results = await record(fresh, *(note("word " * 500) for _ in range(8)))
    done = await extract(fresh)
    work = (await buffer_status(fresh))["extraction"]
    assert (done["extracted"], done["remaining"], work["failures"], "problem" in done) == (8, 0, 0, False)
    assert [one for asked in model.questions for one in shown_ids(asked)] == [one["eventId"] for one in results]


async def test_no_text_of_a_record_can_steer_a_terminal(fresh: Room) -> None:
    steering = "a\x1b[2J\x9b31m\u202eb"
    known = await with_record(fresh, title=steering, summary=steering, facts=[steering], files=[steering])
    assert (known["title"], known["summary"], known["facts"], known["files"]) == (
        "a[2J31mb",
        "a[2J31mb",
        ["a[2J31mb"],
        ["a[2J31mb"],
    )


# --- records ---


async def test_a_search_finds_the_better_record_first_with_its_score(fresh: Room) -> None:
    await record(fresh, note())
    fresh.answerers[COMPLETE] = answers(
        record_reply(title="Unrelated", summary="A word on zeppelins.")
        + record_reply(title="Zeppelin engines", summary="They burn.", facts=["zeppelin fuel"])
        + record_reply(title="Cats", summary="They sleep.")
    )
    await extract(fresh)
    found = (await fresh.command("lithify.search_memory", {"query": "zeppelin OR zeppelins"}))["records"]
    assert [one["title"] for one in found] == ["Zeppelin engines", "Unrelated"]
    assert found[0]["score"] >= found[1]["score"]


@pytest.mark.parametrize(
    "query", ['"', "a AND", "NEAR(", "title:x", "*", "", "'; DROP TABLE events; --", "\ud800", "(" * 99]
)
async def test_any_text_is_a_query(fresh: Room, query: str) -> None:
    assert await fresh.command("lithify.search_memory", {"query": query}) == {"records": []}


async def test_a_search_is_limited_to_its_project(fresh: Room, tmp_path: Any) -> None:
    await with_record(fresh, title="Zeppelin")
    other = (tmp_path / "other").as_uri()
    found = await fresh.command("lithify.search_memory", {"query": "zeppelin", "projectUri": other})
    assert found == {"records": []}


async def test_records_are_listed_by_page_the_newest_first(fresh: Room) -> None:
    fresh.answerers[COMPLETE] = MemoryModel()
    for number in range(5):
        await record(fresh, note(f"{number}"))
        await extract(fresh)
    pages, cursor = [], None
    while cursor is not None or not pages:
        page = await fresh.command("lithify.list_memory", {"limit": 2, **({"cursor": cursor} if cursor else {})})
        pages.append([one["title"] for one in page["records"]])
        cursor = page.get("cursor")
    titles = [f"Batch {number} of model" for number in (5, 4, 3, 2, 1)]
    assert pages == [titles[:2], titles[2:4], titles[4:]]


async def test_a_record_is_shown_as_it_is_listed(fresh: Room) -> None:
    known = await with_record(fresh)
    assert await fresh.command("lithify.show_memory", {"recordId": known["recordId"]}) == known


async def test_a_forgotten_record_is_neither_found_nor_listed_nor_shown(fresh: Room) -> None:
    known = await with_record(fresh, title="Zeppelin")
    assert await fresh.command("lithify.forget_memory", {"recordId": known["recordId"]}) == {"forgotten": True}
    failure = await fresh.command_failure("lithify.show_memory", {"recordId": known["recordId"]})
    assert (await fresh.command("lithify.search_memory", {"query": "zeppelin"}))["records"] == []
    assert await memory(fresh) == []
    assert failure.type == "unknown_record"


async def test_forgetting_is_told_in_the_status(fresh: Room) -> None:
    known = await with_record(fresh)
    await fresh.notification("lithify/bufferStatusChanged", records=1)
    fresh.messages.clear()
    await fresh.command("lithify.forget_memory", {"recordId": known["recordId"]})
    await fresh.notification("lithify/bufferStatusChanged", records=0)


@pytest.mark.parametrize("command", ["lithify.show_memory", "lithify.forget_memory"])
async def test_a_record_that_is_not_there_is_an_error_that_names_the_case(client: RawClient, command: str) -> None:
    failure = await client.command_failure(command, {"recordId": "01ARZ3NDEKTSV4RRFFQ69G0001"})
    assert (failure.code, failure.type, failure.data["retryable"]) == (-32602, "unknown_record", False)


@pytest.mark.parametrize(
    ("command", "argument"),
    [
        ("lithify.show_memory", {}),
        ("lithify.forget_memory", {"recordId": 7}),
        ("lithify.search_memory", {}),
        ("lithify.search_memory", {"query": "x", "limit": 0}),
        ("lithify.list_memory", {"limit": "many"}),
        ("lithify.extract_now", {"projectUri": 7}),
    ],
)
async def test_a_memory_command_with_unfit_arguments_is_answered_with_invalid_params(
    client: RawClient, command: str, argument: Any
) -> None:
    failure = await client.command_failure(command, argument)
    assert (failure.code, failure.type) == (-32602, "invalid_params")


@pytest.mark.parametrize(
    "cursor", ["nonsense", "", "Mg", "M!g==", "KzI=", "IDI=", "LTE=", "\ud800", 7, ["Mg=="], True, {}]
)
@pytest.mark.parametrize("command", ["lithify.list_memory", "lithify.search_memory"])
async def test_a_cursor_that_no_answer_gave_is_named_as_unfit(client: RawClient, command: str, cursor: Any) -> None:
    argument = {"cursor": cursor, **({"query": "x"} if command == "lithify.search_memory" else {})}
    failure = await client.command_failure(command, argument)
    assert (failure.code, failure.type, "cursor: " in failure.message) == (-32602, "invalid_params", True)


async def test_a_search_takes_no_cursor_of_a_list(fresh: Room) -> None:
    await with_record(fresh)
    fresh.answerers[COMPLETE] = answers(record_reply(title="another matter"))
    await record(fresh, note("more"))
    await extract(fresh)
    page = await fresh.command("lithify.list_memory", {"limit": 1})
    assert (await fresh.command("lithify.list_memory", {"cursor": page["cursor"]}))["records"]
    failure = await fresh.command_failure("lithify.search_memory", {"query": "x", "cursor": page["cursor"]})
    assert failure.type == "invalid_params"


async def test_a_null_cursor_counts_as_none(fresh: Room) -> None:
    known = await with_record(fresh, title="Zeppelin")
    for command, argument in (("lithify.list_memory", {}), ("lithify.search_memory", {"query": "zeppelin"})):
        found = await fresh.command(command, {**argument, "cursor": None})
        assert [one["recordId"] for one in found["records"]] == [known["recordId"]]


# --- what stays private ---


@pytest.mark.parametrize("word", ["zeppelin", "dirigible"], ids=["title", "fact"])
async def test_forgotten_text_is_in_no_file_of_the_database(start: Starter, word: str) -> None:
    fresh = await start()
    known = await with_record(fresh, title="On zeppelins", summary="A zeppelin.", facts=["a dirigible flies"])
    await start()
    await fresh.command("lithify.forget_memory", {"recordId": known["recordId"]})
    files = [path for path in fresh.data_dir.rglob("*") if path.is_file()]
    assert [path.name for path in files if word.encode() in path.read_bytes().lower()] == []


async def test_nothing_of_a_body_or_of_an_answer_is_logged(start: Starter) -> None:
    secret = "marzipan"
    options = {"client": HANDLES_ALL, "log": {"level": "info"}, "bufferCompaction": {"enabled": True}}
    fresh = await start(options=options)
    await record(fresh, note(f"{secret} one"), note(f"{secret} two"))
    for model in (answers(f"no {secret}"), answers(record_reply(title=secret))):
        fresh.answerers[COMPLETE] = model
        await fresh.command("lithify.compact_buffer", {})
        await extract(fresh)
    await fresh.shut_down()
    logged = [fresh.stderr, *(one["message"] for one in fresh.received("window/logMessage"))]
    assert [one for one in logged if secret in one] == []


async def test_every_model_call_is_in_the_ledger_without_text(start: Starter) -> None:
    fresh = await start()
    await record(fresh, note("marzipan"))
    fresh.answerers[COMPLETE] = MemoryModel()
    await extract(fresh)
    (line,) = await ledger(fresh, "purpose, provider, user_initiated, outcome, bytes > 0, tokens > 0")
    assert line == ("extraction", "editor", 1, "answered", 1, 1)
    assert "marzipan" not in json.dumps(await ledger(fresh))


async def test_after_extractions_of_all_sorts_every_event_is_in_one_place(start: Starter) -> None:
    fresh = await start()
    for model in (MemoryModel(), fail, refuse("quota")):
        fresh.answerers[COMPLETE] = model
        await record(fresh, note("a"), note("b"))
        await extract(fresh)
    assert misplaced(fresh.data_dir) == []
