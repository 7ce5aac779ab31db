"""Every way in which a compaction fails: its error, and that the session is byte for byte what it was."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.editor import (
    SUMMARY,
    SilentModel,
    Starter,
    answers,
    conversation,
    open_session,
    session,
    settled,
    unchanged,
)
from tests.support.raw_client import NEVER, Json, RawClient, Refusal

pytestmark = pytest.mark.asyncio(loop_scope="module")

FULL, UP_TO_HERE, UNDO = "lithify.compact_conversation", "lithify.compact_up_to_here", "lithify.undo_compaction"
SOON = {"client": {"complete": True, "sessionChanged": True}, "conversation": {"timeoutMs": 100}}


def refusing(reason: str | None, code: int = -32803, message: str = "the editor says no") -> Any:
    def answer(_: Json) -> Json:
        raise Refusal(code, message, None if reason is None else {"reason": reason})

    return answer


@pytest.mark.parametrize(
    ("command", "argument", "failure_type"),
    [
        (FULL, {"sessionId": "no such session"}, "unknown_session"),
        (UP_TO_HERE, {"sessionId": "no such session", "index": 0}, "unknown_session"),
        (UNDO, {"sessionId": "no such session"}, "unknown_session"),
        (UP_TO_HERE, {"sessionId": "a", "messageId": "no such message"}, "unknown_message"),
        (UP_TO_HERE, {"sessionId": "a", "messageId": ""}, "unknown_message"),
        (UP_TO_HERE, {"sessionId": "a", "messageId": "twice"}, "unknown_message"),
        (UNDO, {"sessionId": "a"}, "unknown_compaction"),
        (UNDO, {"sessionId": "a", "compactionId": "no such compaction"}, "unknown_compaction"),
        (FULL, {"sessionId": "a", "start": -1}, "invalid_range"),
        (FULL, {"sessionId": "a", "end": -1}, "invalid_range"),
        (FULL, {"sessionId": "a", "start": 3, "end": 2}, "invalid_range"),
        (FULL, {"sessionId": "a", "start": 11}, "invalid_range"),
        (FULL, {"sessionId": "a", "end": 11}, "invalid_range"),
        (FULL, {"sessionId": "a", "end": 2**70}, "invalid_range"),
        (UP_TO_HERE, {"sessionId": "a", "index": -1}, "invalid_range"),
        (UP_TO_HERE, {"sessionId": "a", "index": 10}, "invalid_range"),
        (UP_TO_HERE, {"sessionId": "a"}, "invalid_params"),
        (UP_TO_HERE, {"sessionId": "a", "index": 0, "messageId": "u0"}, "invalid_params"),
        (UP_TO_HERE, {"sessionId": "a", "line": 3}, "invalid_params"),
        (FULL, {"sessionId": "a", "uri": "file:///a.json"}, "invalid_params"),
        (FULL, {}, "invalid_params"),
    ],
)
async def test_what_does_not_exist_or_does_not_fit_is_an_invalid_param_of_its_type(
    client: RawClient, command: str, argument: Json, failure_type: str
) -> None:
    twice = [{"id": "twice", "role": "user", "content": "x"}] * 2
    open_session(client, "a", [*conversation(), *twice])
    async with unchanged(client, "a"):
        failure = await client.command_failure(command, argument)
    assert (failure.code, failure.type, failure.data["retryable"]) == (-32602, failure_type, False)


@pytest.mark.parametrize(
    ("answer", "failure_type"),
    [
        (refusing("no_model"), "model_unavailable"),
        (refusing("consent_required"), "model_unavailable"),
        (refusing("consent_denied"), "model_unavailable"),
        (refusing("quota"), "model_unavailable"),
        (refusing(None, -32601), "model_unavailable"),
        (refusing("timeout"), "timeout"),
        (refusing("context_too_long"), "model_error"),
        (refusing("unknown"), "model_error"),
        (refusing("made up"), "model_error"),
        (refusing(None), "model_error"),
        (lambda _: None, "model_error"),
        (lambda _: 7, "model_error"),
        (lambda _: "text", "model_error"),
        (lambda _: [], "model_error"),
        (lambda _: {}, "model_error"),
        (lambda _: {"text": None}, "model_error"),
        (lambda _: {"text": ["x"]}, "model_error"),
        (lambda _: {"text": ""}, "empty_response"),
        (lambda _: {"text": " \n\t "}, "empty_response"),
    ],
)
async def test_a_model_that_does_not_deliver_is_named_and_can_be_asked_again(
    client: RawClient, answer: Any, failure_type: str
) -> None:
    client.answerers["lithify/complete"] = answer
    open_session(client, "b", conversation())
    async with unchanged(client, "b"):
        failure = await client.command_failure(FULL, {"sessionId": "b"})
    assert (failure.code, failure.type, failure.data["retryable"]) == (-32803, failure_type, True)
    client.answerers["lithify/complete"] = answers()
    assert (await client.command(FULL, {"sessionId": "b"}))["type"] == "compacted"


@pytest.mark.parametrize("error", [None, 7, "no", {}, {"code": "x", "message": 7, "data": []}, {"data": {"reason": 7}}])
async def test_an_error_answer_of_the_wrong_shape_is_an_error_of_the_model_or_an_empty_result(
    client: RawClient, error: Any
) -> None:
    model = SilentModel(client)
    open_session(client, "c", conversation())
    compaction = client.ask_command(FULL, {"sessionId": "c"})
    client.send({"jsonrpc": "2.0", "id": (await model.asked())["id"], "error": error})
    assert (await client.failure_of(compaction)).type == "model_error"


async def test_an_answer_with_a_result_beside_an_empty_error_is_a_result(client: RawClient) -> None:
    model = SilentModel(client)
    open_session(client, "a", conversation())
    compaction = client.ask_command(FULL, {"sessionId": "a"})
    asked = await model.asked()
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"text": SUMMARY}, "error": None})
    assert (await client.result_of(compaction))["type"] == "compacted"


@pytest.mark.parametrize("usage", [None, 7, {}, {"inputTokens": "many"}, {"inputTokens": -1}, {"outputTokens": 3}])
async def test_usage_that_makes_no_sense_costs_nothing(client: RawClient, usage: Any) -> None:
    client.answerers["lithify/complete"] = answers(usage=usage, model=7, stopReason=[])
    open_session(client, "d", conversation())
    assert (await client.command(FULL, {"sessionId": "d"}))["type"] == "compacted"


async def test_a_provider_that_is_not_there_is_unavailable(start: Starter) -> None:
    fresh = await start(options={"model": {"provider": "editor"}})
    open_session(fresh, "a", conversation())
    async with unchanged(fresh, "a"):
        failure = await fresh.command_failure(FULL, {"sessionId": "a"})
    assert (failure.code, failure.type) == (-32803, "model_unavailable")


@pytest.mark.parametrize(("provider", "setting"), [("acp", "model.acp.command"), ("http", "model.http.baseUrl")])
async def test_a_provider_without_its_settings_names_what_is_missing(
    start: Starter, provider: str, setting: str
) -> None:
    fresh = await start(options={"model": {"provider": provider}})
    open_session(fresh, "a", conversation())
    async with unchanged(fresh, "a"):
        failure = await fresh.command_failure(FULL, {"sessionId": "a"})
    assert (failure.code, failure.type, setting in failure.message) == (-32803, "model_unavailable", True)


async def test_a_large_range_whose_summary_is_not_smaller_is_refused(start: Starter) -> None:
    fresh = await start(options={"client": {"complete": True}, "conversation": {"refuseLargerFrom": 50}})
    fresh.answerers["lithify/complete"] = answers(SUMMARY + "x" * 9999)
    open_session(fresh, "a", conversation())
    async with unchanged(fresh, "a"):
        failure = await fresh.command_failure(FULL, {"sessionId": "a"})
    assert (failure.code, failure.type, failure.data["retryable"]) == (-32803, "not_smaller", True)


async def test_a_model_that_never_answers_is_timed_out_and_told_so(start: Starter) -> None:
    fresh = await start(options=SOON)
    fresh.answerers["lithify/complete"] = lambda _: NEVER
    open_session(fresh, "a", conversation())
    async with unchanged(fresh, "a"):
        failure = await fresh.command_failure(FULL, {"sessionId": "a"})
    asked = fresh.received("lithify/complete")
    assert (failure.code, failure.type, failure.data["retryable"]) == (-32803, "timeout", True)
    assert [one["timeoutMs"] for one in asked] == [100]
    assert fresh.received("lithify/cancelComplete") == [{"requestId": asked[0]["requestId"]}]


async def test_an_answer_that_comes_too_late_is_let_pass(start: Starter) -> None:
    fresh = await start(options=SOON)
    model = SilentModel(fresh)
    open_session(fresh, "a", conversation())
    await fresh.command_failure(FULL, {"sessionId": "a"})
    async with unchanged(fresh, "a"):
        await model.answer({"text": SUMMARY})
        await settled(fresh)
    assert fresh.received("window/showMessage") == []
    assert fresh.received("lithify/sessionChanged") == []


async def test_while_one_compaction_of_a_session_runs_a_second_is_busy(client: RawClient) -> None:
    model = SilentModel(client)
    open_session(client, "a", conversation())
    open_session(client, "b", conversation())
    running = client.ask_command(FULL, {"sessionId": "a"})
    await model.asked()
    async with unchanged(client, "a"):
        for command, argument in ((FULL, {}), (UP_TO_HERE, {"index": 1}), (UNDO, {})):
            failure = await client.command_failure(command, {"sessionId": "a", **argument})
            assert (failure.code, failure.type, failure.data["retryable"]) == (-32803, "busy", True)
    assert (await client.command(FULL, {"sessionId": "b", "dryRun": True}))["type"] == "preview"
    await model.answer({"text": SUMMARY})
    assert (await client.result_of(running))["type"] == "compacted"


async def test_compactions_of_two_sessions_run_at_the_same_time(client: RawClient) -> None:
    model = SilentModel(client)
    open_session(client, "a", conversation())
    open_session(client, "b", conversation())
    running = [client.ask_command(FULL, {"sessionId": one}) for one in ("a", "b")]
    await model.asked(1)
    for number in (1, 0):
        await model.answer({"text": SUMMARY}, number)
    assert [(await client.result_of(one))["type"] for one in running] == ["compacted", "compacted"]


async def test_what_is_said_while_the_model_works_is_kept_after_the_tail(client: RawClient) -> None:
    model = SilentModel(client)
    open_session(client, "a", conversation())
    compaction = client.ask_command(FULL, {"sessionId": "a"})
    await model.asked()
    later = {"role": "user", "content": "meanwhile"}
    client.notify("lithify/didAppendMessages", {"sessionId": "a", "messages": [later]})
    await model.answer({"text": SUMMARY})
    result = await client.result_of(compaction)
    assert result["messages"] == [result["summary"], *conversation()[6:], later]


@pytest.mark.parametrize(
    "change",
    [
        ("lithify/didSpliceMessages", {"start": 0, "deleteCount": 1, "messages": []}),
        (
            "lithify/didSpliceMessages",
            {"start": 2, "deleteCount": 1, "messages": [{"role": "user", "content": "edited"}]},
        ),
        ("lithify/didOpenSession", {"agent": None, "messages": [{"role": "user", "content": "all new"}]}),
    ],
)
async def test_a_range_changed_while_the_model_works_is_stale(client: RawClient, change: tuple[str, Json]) -> None:
    model = SilentModel(client)
    open_session(client, "a", conversation())
    compaction = client.ask_command(FULL, {"sessionId": "a"})
    await model.asked()
    client.notify(change[0], {"sessionId": "a", **change[1]})
    async with unchanged(client, "a"):
        await model.answer({"text": SUMMARY})
        failure = await client.failure_of(compaction)
    assert (failure.code, failure.type, failure.data["retryable"]) == (-32801, "stale", True)
    assert client.received("lithify/sessionChanged") == []


async def test_a_session_deleted_while_the_model_works_is_unknown(client: RawClient) -> None:
    model = SilentModel(client)
    open_session(client, "a", conversation())
    compaction = client.ask_command(FULL, {"sessionId": "a"})
    await model.asked()
    await client.request("lithify/deleteSession", {"sessionId": "a"})
    await model.answer({"text": SUMMARY})
    assert (await client.failure_of(compaction)).type == "unknown_session"


async def test_an_undo_whose_summary_was_edited_is_stale(client: RawClient) -> None:
    client.answerers["lithify/complete"] = answers()
    open_session(client, "a", conversation())
    await client.command(FULL, {"sessionId": "a"})
    edit = {"sessionId": "a", "start": 0, "deleteCount": 1, "messages": [{"role": "user", "content": "edited"}]}
    client.notify("lithify/didSpliceMessages", edit)
    async with unchanged(client, "a"):
        failure = await client.command_failure(UNDO, {"sessionId": "a"})
    assert (failure.code, failure.type) == (-32801, "stale")


async def test_a_second_undo_of_the_same_compaction_is_unknown(client: RawClient) -> None:
    client.answerers["lithify/complete"] = answers()
    open_session(client, "a", conversation())
    compacted = await client.command(FULL, {"sessionId": "a"})
    await client.command(UNDO, {"sessionId": "a"})
    async with unchanged(client, "a"):
        failure = await client.command_failure(UNDO, {"sessionId": "a", "compactionId": compacted["compactionId"]})
    assert (failure.code, failure.type) == (-32602, "unknown_compaction")


async def test_a_deleted_session_is_gone(client: RawClient) -> None:
    open_session(client, "gone", conversation())
    assert await client.request("lithify/deleteSession", {"sessionId": "gone"}) is None
    for method in ("lithify/getSession", "lithify/sessionStatus", "lithify/deleteSession"):
        failure = await client.failure(method, {"sessionId": "gone"})
        assert (failure.code, failure.type) == (-32602, "unknown_session")


async def test_a_message_that_does_not_fit_leaves_the_session_as_it_was(client: RawClient) -> None:
    open_session(client, "kept", conversation())
    async with unchanged(client, "kept"):
        for bad in (
            {"role": 7},
            {"content": "no role"},
            {"role": "user", "content": 7},
            {"role": "user", "id": 7},
            "text",
        ):
            messages = [{"role": "user", "content": "good"}, bad]
            client.notify("lithify/didAppendMessages", {"sessionId": "kept", "messages": messages})
    assert len((await session(client, "kept"))["messages"]) == 8
