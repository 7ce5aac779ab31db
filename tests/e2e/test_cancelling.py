"""Progress of a compaction, and how it is cancelled while a model works on it."""

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
from tests.support.raw_client import NEVER, Json, RawClient, Refusal, framed_body

pytestmark = pytest.mark.asyncio(loop_scope="module")

FULL = "lithify.compact_conversation"


def progress(client: RawClient, token: Any) -> list[Json]:
    return [params["value"] for params in client.received("$/progress") if params["token"] == token]


async def begun(client: RawClient) -> Any:
    """The token of the first progress that has begun."""
    return (await client.notification("$/progress"))["token"]


async def test_progress_is_told_under_the_token_of_the_editor(client: RawClient) -> None:
    client.answerers["lithify/complete"] = answers()
    open_session(client, "a", conversation())
    await client.command(FULL, {"sessionId": "a"}, workDoneToken="mine")
    told = progress(client, "mine")
    assert told[0] == {"kind": "begin", "title": "Compacting conversation", "cancellable": True}
    assert [one["kind"] for one in told] == ["begin", "report", "end"]
    assert client.received("window/workDoneProgress/create") == []


@pytest.mark.parametrize("token", [0, -5, "", "ü"])
async def test_any_token_of_the_editor_is_used_as_it_is(client: RawClient, token: Any) -> None:
    client.answerers["lithify/complete"] = answers()
    open_session(client, "a", conversation())
    await client.command(FULL, {"sessionId": "a"}, workDoneToken=token)
    assert progress(client, token)[-1]["kind"] == "end"


async def test_without_a_token_the_server_makes_one_and_asks_the_editor(client: RawClient) -> None:
    model = SilentModel(client)
    open_session(client, "a", conversation())
    compaction = client.ask_command(FULL, {"sessionId": "a"})
    token = await begun(client)
    await model.answer({"text": SUMMARY})
    await client.result_of(compaction)
    assert client.received("window/workDoneProgress/create") == [{"token": token}]
    told = [one["kind"] for one in progress(client, token)]
    assert (told[0], told[-1], told.count("begin"), told.count("end")) == ("begin", "end", 1, 1)


async def test_the_end_of_the_progress_comes_before_the_answer(client: RawClient) -> None:
    client.answerers["lithify/complete"] = answers()
    open_session(client, "a", conversation())
    compaction = client.ask_command(FULL, {"sessionId": "a"}, workDoneToken="t")
    await client.result_of(compaction)
    ends = [one for one in client.messages if one.get("params", {}).get("value", {}).get("kind") == "end"]
    assert client.messages.index(ends[0]) < next(
        number for number, one in enumerate(client.messages) if one.get("id") == compaction and "result" in one
    )


async def test_an_editor_without_progress_is_not_told_of_any(start: Starter) -> None:
    fresh = await start()
    fresh.answerers["lithify/complete"] = answers()
    open_session(fresh, "a", conversation())
    await fresh.command(FULL, {"sessionId": "a"})
    assert not [one for one in fresh.messages if one.get("method") in ("$/progress", "window/workDoneProgress/create")]


def refuse(_: Any) -> Any:
    raise Refusal(-32603, "no progress here")


@pytest.mark.parametrize("answer", [refuse, lambda _: NEVER])
async def test_an_editor_that_does_not_create_progress_holds_nothing_up(client: RawClient, answer: Any) -> None:
    client.answerers["window/workDoneProgress/create"] = answer
    client.answerers["lithify/complete"] = answers()
    open_session(client, "a", conversation())
    compaction = client.ask_command(FULL, {"sessionId": "a"})
    assert (await client.result_of(compaction, 2))["type"] == "compacted"
    assert client.received("$/progress") == []


async def test_the_progress_of_a_failure_ends_as_well(client: RawClient) -> None:
    client.answerers["lithify/complete"] = answers("")
    open_session(client, "a", conversation())
    compaction = client.ask_command(FULL, {"sessionId": "a"}, workDoneToken="t")
    await client.failure_of(compaction)
    assert progress(client, "t")[-1] == {"kind": "end", "message": "Not done"}


async def cancelled_by_request(client: RawClient, compaction: Any, _: Any) -> None:
    client.notify("$/cancelRequest", {"id": compaction})


async def cancelled_by_token(client: RawClient, _: Any, token: Any) -> None:
    client.notify("window/workDoneProgress/cancel", {"token": token})


BOTH_WAYS = pytest.mark.parametrize("cancel", [cancelled_by_request, cancelled_by_token])


@BOTH_WAYS
async def test_a_cancelled_compaction_is_answered_as_such_and_changes_nothing(client: RawClient, cancel: Any) -> None:
    model = SilentModel(client)
    open_session(client, "a", conversation())
    compaction = client.ask_command(FULL, {"sessionId": "a"}, workDoneToken="t")
    await model.asked()
    async with unchanged(client, "a"):
        await cancel(client, compaction, "t")
        failure = await client.failure_of(compaction)
    assert (failure.code, failure.type, failure.data["retryable"]) == (-32800, "cancelled", True)
    assert client.received("lithify/sessionChanged") == []


@BOTH_WAYS
async def test_a_cancel_that_comes_in_one_piece_with_its_command_is_heeded(client: RawClient, cancel: Any) -> None:
    SilentModel(client)
    open_session(client, "a", conversation())
    compaction = client.ask_command(FULL, {"sessionId": "a"}, workDoneToken="t")  # nothing is sent until we wait
    await cancel(client, compaction, "t")
    assert (await client.failure_of(compaction)).type == "cancelled"


@BOTH_WAYS
async def test_cancelling_ends_the_work_of_the_editors_model_too(client: RawClient, cancel: Any) -> None:
    model = SilentModel(client)
    open_session(client, "a", conversation())
    compaction = client.ask_command(FULL, {"sessionId": "a"}, workDoneToken="t")
    asked = await model.asked()
    await cancel(client, compaction, "t")
    await client.failure_of(compaction)
    assert client.received("lithify/cancelComplete") == [{"requestId": asked["params"]["requestId"]}]


async def test_a_token_that_the_server_made_cancels_as_well(client: RawClient) -> None:
    model = SilentModel(client)
    open_session(client, "a", conversation())
    compaction = client.ask_command(FULL, {"sessionId": "a"})
    await model.asked()
    client.notify("window/workDoneProgress/cancel", {"token": await begun(client)})
    assert (await client.failure_of(compaction)).code == -32800


async def test_a_compaction_is_answered_once_however_often_it_is_cancelled(client: RawClient) -> None:
    model = SilentModel(client)
    open_session(client, "a", conversation())
    compaction = client.ask_command(FULL, {"sessionId": "a"}, workDoneToken="t")
    await model.asked()
    for _ in range(3):
        client.notify("$/cancelRequest", {"id": compaction})
        client.notify("window/workDoneProgress/cancel", {"token": "t"})
    await client.failure_of(compaction)
    await settled(client)
    assert len([one for one in client.messages if one.get("id") == compaction]) == 1


async def test_after_a_cancel_the_same_session_can_be_compacted(client: RawClient) -> None:
    model = SilentModel(client)
    open_session(client, "a", conversation())
    compaction = client.ask_command(FULL, {"sessionId": "a"})
    await model.asked()
    client.notify("$/cancelRequest", {"id": compaction})
    await client.failure_of(compaction)
    client.answerers["lithify/complete"] = answers()
    assert (await client.command(FULL, {"sessionId": "a"}))["type"] == "compacted"


async def test_the_answer_of_a_model_after_the_cancel_is_let_pass(client: RawClient) -> None:
    model = SilentModel(client)
    open_session(client, "a", conversation())
    compaction = client.ask_command(FULL, {"sessionId": "a"})
    await model.asked()
    client.notify("$/cancelRequest", {"id": compaction})
    await client.failure_of(compaction)
    async with unchanged(client, "a"):
        await model.answer({"text": SUMMARY})
        await settled(client)
    assert client.received("window/showMessage") == []


async def test_a_cancel_of_one_compaction_leaves_the_other_running(client: RawClient) -> None:
    model = SilentModel(client)
    for session_id in ("a", "b"):
        open_session(client, session_id, conversation())
    first, second = (client.ask_command(FULL, {"sessionId": one}) for one in ("a", "b"))
    await model.asked(1)
    client.notify("$/cancelRequest", {"id": first})
    await client.failure_of(first)
    await model.answer({"text": SUMMARY}, 1)
    assert (await client.result_of(second))["type"] == "compacted"


async def test_a_cancel_that_comes_with_the_answer_of_the_model_is_told_the_truth(client: RawClient) -> None:
    model = SilentModel(client)
    for number in range(20):
        session_id = f"session {number}"
        open_session(client, session_id, conversation())
        compaction = client.ask_command(FULL, {"sessionId": session_id})
        asked = await model.asked(number)
        bodies = [
            framed_body({"jsonrpc": "2.0", "id": asked["id"], "result": {"text": SUMMARY}}),
            framed_body({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": compaction}}),
        ]
        client.send_bytes(b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies))
        answer = await client.answer_to(compaction)
        compacted = len((await session(client, session_id))["messages"]) == 3
        assert ("result" in answer) == compacted


async def test_a_cancelled_compaction_of_the_offline_model_is_answered_at_once(start: Starter) -> None:
    fresh = await start(options={})
    messages = [{"role": "user", "content": f"{number} " + "words of all kinds " * 50} for number in range(4000)]
    open_session(fresh, "a", messages)
    await session(fresh, "a")
    compaction = fresh.ask_command(FULL, {"sessionId": "a"}, workDoneToken="t")
    await fresh.notification("$/progress")
    fresh.notify("$/cancelRequest", {"id": compaction})
    answer = await fresh.answer_to(compaction, 5)
    told = await session(fresh, "a")
    assert ("result" in answer) == (len(told["messages"]) < 4000)
