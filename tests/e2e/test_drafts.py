"""Drafts over the wire: a summary that waits until the user applies it, edited or not, or discards it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.support.editor import (
    SUMMARY,
    SilentModel,
    Starter,
    answers,
    conversation,
    database,
    ledger,
    open_session,
    session,
    unchanged,
)
from tests.support.raw_client import Json, RawClient

pytestmark = pytest.mark.asyncio(loop_scope="module")

FULL, UP_TO_HERE, UNDO = "lithify.compact_conversation", "lithify.compact_up_to_here", "lithify.undo_compaction"
APPLY, DISCARD = "lithify.apply_compaction", "lithify.discard_draft"
PREFIX = "<system>Previous context has been compacted. Here is the compaction output:</system>"
NUMBERS = itertools.count()
EDIT = "What the user wrote: \U0001f469\u200d\U0001f52c and \u00fc."


@pytest.fixture(autouse=True)
def model(client: RawClient) -> list[Json]:
    """A model that answers at once; what it was asked."""
    asked: list[Json] = []

    def answer(params: Json) -> Json:
        asked.append(params)
        return {"text": SUMMARY, "model": "m1", "stopReason": "end", "usage": {"inputTokens": 9, "outputTokens": 3}}

    client.answerers["lithify/complete"] = answer
    return asked


async def drafted(client: RawClient, messages: list[Json] | None = None, **argument: Any) -> Json:
    """A draft for a session of its own."""
    session_id = f"drafts {next(NUMBERS)}"
    open_session(client, session_id, conversation() if messages is None else messages)
    draft: Json = await client.command(FULL, {"sessionId": session_id, "draft": True, **argument})
    assert draft["type"] == "draft"
    return draft


async def test_a_draft_tells_all_that_the_contract_names_and_changes_nothing(
    client: RawClient, model: list[Json]
) -> None:
    open_session(client, "a", conversation())
    async with unchanged(client, "a"):
        draft = await client.command(FULL, {"sessionId": "a", "draft": True})
    assert draft.pop("draftId")
    assert draft["stats"].pop("durationMs") >= 0
    assert draft["stats"].pop("tokensBefore") > 0
    assert draft["stats"].pop("tokensAfter") > 0
    assert draft.pop("promptSource")
    assert [one for one in draft.pop("warnings") if one["code"] not in ("prompt_fallback", "not_smaller")] == []
    assert draft == {
        "type": "draft",
        "sessionId": "a",
        "range": {"start": 0, "end": 6},
        "requestedRange": {"start": 0, "end": 6},
        "summary": {"role": "user", "content": f"{PREFIX}\n{SUMMARY}"},
        "stats": {"messagesBefore": 8, "messagesAfter": 3},
        "method": "model",
        "provider": "editor",
        "model": "m1",
        "usage": {"inputTokens": 9, "outputTokens": 3},
    }
    assert len(model) == 1
    assert client.received("lithify/sessionChanged") == []


async def test_a_draft_of_up_to_here_has_the_range_of_the_anchor(client: RawClient) -> None:
    open_session(client, "a", conversation())
    draft = await client.command(UP_TO_HERE, {"sessionId": "a", "messageId": "u2", "draft": True})
    applied = await client.command(APPLY, {"draftId": draft["draftId"]})
    assert draft["range"] == applied["range"] == {"start": 0, "end": 5}
    assert applied["messages"][1:] == conversation()[5:]


async def test_an_applied_draft_answers_as_the_compaction_would_have(client: RawClient, model: list[Json]) -> None:
    draft = await drafted(client)
    applied = await client.command(APPLY, {"draftId": draft.pop("draftId")})
    assert len(model) == 1
    told = await session(client, draft["sessionId"])
    (listed,) = told["compactions"]
    assert applied == {
        **draft,
        "type": "compacted",
        "compactionId": listed["compactionId"],
        "revision": told["revision"],
        "messages": told["messages"],
    }
    assert told["messages"] == [draft["summary"], *conversation()[6:]]
    assert listed["stats"] == applied["stats"]


async def test_the_editor_is_told_of_the_applied_draft_before_the_answer(client: RawClient) -> None:
    draft = await drafted(client)
    applying = client.ask_command(APPLY, {"draftId": draft["draftId"]})
    applied = await client.result_of(applying)
    (told,) = client.received("lithify/sessionChanged")
    assert told == {
        "sessionId": draft["sessionId"],
        "revision": applied["revision"],
        "reason": "compacted",
        "messages": applied["messages"],
    }
    places = [
        number
        for number, one in enumerate(client.messages)
        if one.get("method") == "lithify/sessionChanged" or one.get("id") == applying
    ]
    assert client.messages[places[-1]].get("id") == applying


async def test_the_users_edit_stands_behind_the_fixed_first_part(client: RawClient) -> None:
    draft = await drafted(client)
    applied = await client.command(APPLY, {"draftId": draft["draftId"], "summaryText": EDIT})
    assert applied["summary"] == applied["messages"][0] == {"role": "user", "content": f"{PREFIX}\n{EDIT}"}
    assert (await session(client, draft["sessionId"]))["messages"] == applied["messages"]


async def test_the_users_edit_is_the_second_part_where_a_message_holds_parts(client: RawClient) -> None:
    messages = conversation()
    messages[0]["content"] = [{"type": "text", "text": "in parts"}]
    draft = await drafted(client, messages)
    applied = await client.command(APPLY, {"draftId": draft["draftId"], "summaryText": EDIT})
    assert applied["summary"]["content"] == [{"type": "text", "text": PREFIX}, {"type": "text", "text": EDIT}]


async def test_the_figures_are_those_of_the_edited_summary(client: RawClient) -> None:
    draft = await drafted(client)
    applied = await client.command(APPLY, {"draftId": draft["draftId"], "summaryText": EDIT + "x" * 2700})
    assert applied["stats"]["tokensBefore"] == draft["stats"]["tokensBefore"]
    assert (
        applied["stats"]["tokensAfter"] == (await client.request("lithify/sessionStatus", _id(draft)))["tokens"] > 1000
    )
    assert "not_smaller" in [warning["code"] for warning in applied["warnings"]]


def _id(draft: Json) -> Json:
    return {"sessionId": draft["sessionId"]}


async def test_an_applied_draft_can_be_undone(client: RawClient) -> None:
    draft = await drafted(client)
    applied = await client.command(APPLY, {"draftId": draft["draftId"], "summaryText": EDIT})
    undone = await client.command(UNDO, {**_id(draft), "compactionId": applied["compactionId"]})
    assert undone["messages"] == conversation()


@pytest.mark.parametrize("blank", ["", " \n\t", "\u3000"])
async def test_a_blank_edit_is_an_invalid_param_and_the_draft_stays(client: RawClient, blank: str) -> None:
    draft = await drafted(client)
    async with unchanged(client, draft["sessionId"]):
        failure = await client.command_failure(APPLY, {"draftId": draft["draftId"], "summaryText": blank})
    assert (failure.code, failure.type, failure.data["retryable"]) == (-32602, "invalid_params", False)
    assert "summaryText" in failure.message
    assert (await client.command(APPLY, {"draftId": draft["draftId"]}))["type"] == "compacted"


@pytest.mark.parametrize(
    ("command", "argument"),
    [
        *itertools.product((APPLY, DISCARD), ({}, {"draftId": 7}, {"draftId": None}, {"draftId": ""})),
        (APPLY, {"draftId": "x", "summaryText": 7}),
    ],
)
async def test_an_argument_of_the_wrong_shape_is_an_invalid_param(
    client: RawClient, command: str, argument: Json
) -> None:
    failure = await client.command_failure(command, argument)
    assert (failure.code, failure.type) == (-32602, "invalid_params")


async def test_a_discarded_draft_is_gone_and_nothing_was_changed(client: RawClient) -> None:
    draft = await drafted(client)
    async with unchanged(client, draft["sessionId"]):
        assert await client.command(DISCARD, {"draftId": draft["draftId"]}) == {"discarded": True}
        await _unknown(client, draft["draftId"])


async def test_a_draft_can_be_applied_once(client: RawClient) -> None:
    draft = await drafted(client)
    await client.command(APPLY, {"draftId": draft["draftId"]})
    async with unchanged(client, draft["sessionId"]):
        await _unknown(client, draft["draftId"])


async def test_a_draft_that_never_was_is_unknown(client: RawClient) -> None:
    await _unknown(client, "01JZ0C4T7Q9W3N5XK2V8M6R1AB")


async def _unknown(client: RawClient, draft_id: str) -> None:
    for command in (APPLY, DISCARD):
        failure = await client.command_failure(command, {"draftId": draft_id})
        assert (failure.code, failure.type, failure.data["retryable"]) == (-32602, "unknown_draft", False)


async def test_a_draft_ends_with_the_server(start: Starter) -> None:
    first = await start()
    first.answerers["lithify/complete"] = answers()
    draft = await drafted(first)
    await first.shut_down()
    again = await start()
    await _unknown(again, draft["draftId"])


async def test_what_was_said_since_is_kept_after_the_tail(client: RawClient) -> None:
    draft = await drafted(client)
    later = {"role": "user", "content": "since then"}
    client.notify("lithify/didAppendMessages", {**_id(draft), "messages": [later]})
    applied = await client.command(APPLY, {"draftId": draft["draftId"]})
    assert applied["messages"] == [draft["summary"], *conversation()[6:], later]
    assert (applied["stats"]["messagesBefore"], applied["stats"]["messagesAfter"]) == (9, 4)


@pytest.mark.parametrize(
    "change",
    [
        {"start": 0, "deleteCount": 1, "messages": []},
        {"start": 0, "deleteCount": 0, "messages": [{"role": "user", "content": "in front"}]},
        {"start": 2, "deleteCount": 1, "messages": [{"role": "user", "content": "edited"}]},
    ],
)
async def test_a_draft_whose_range_was_changed_since_is_stale_and_can_be_discarded(
    client: RawClient, change: Json
) -> None:
    draft = await drafted(client)
    client.notify("lithify/didSpliceMessages", {**_id(draft), **change})
    async with unchanged(client, draft["sessionId"]):
        failure = await client.command_failure(APPLY, {"draftId": draft["draftId"], "summaryText": EDIT})
    assert (failure.code, failure.type, failure.data["retryable"]) == (-32801, "stale", False)
    assert client.received("lithify/sessionChanged") == []
    assert await client.command(DISCARD, {"draftId": draft["draftId"]}) == {"discarded": True}


async def test_a_stale_draft_fits_again_when_the_change_is_taken_back(client: RawClient) -> None:
    draft = await drafted(client)
    await client.command(FULL, {**_id(draft), "end": 2})
    assert (await client.command_failure(APPLY, {"draftId": draft["draftId"]})).type == "stale"
    await client.command(UNDO, _id(draft))
    assert (await client.command(APPLY, {"draftId": draft["draftId"]}))["type"] == "compacted"


async def test_the_draft_of_a_deleted_session_meets_an_unknown_session(client: RawClient) -> None:
    draft = await drafted(client)
    await client.request("lithify/deleteSession", _id(draft))
    failure = await client.command_failure(APPLY, {"draftId": draft["draftId"]})
    assert (failure.code, failure.type) == (-32602, "unknown_session")
    assert await client.command(DISCARD, {"draftId": draft["draftId"]}) == {"discarded": True}


async def test_a_draft_of_nothing_is_a_no_op(client: RawClient, model: list[Json]) -> None:
    open_session(client, "a", conversation(1))
    noop = await client.command(FULL, {"sessionId": "a", "draft": True})
    assert (noop, model) == ({"type": "noop", "reason": "nothing_before_tail"}, [])


async def test_a_dry_run_wins_over_a_draft(client: RawClient, model: list[Json]) -> None:
    open_session(client, "a", conversation())
    preview = await client.command(FULL, {"sessionId": "a", "draft": True, "dryRun": True})
    assert (preview["type"], model) == ("preview", [])


async def test_a_model_that_fails_makes_no_draft(client: RawClient) -> None:
    client.answerers["lithify/complete"] = answers("")
    open_session(client, "a", conversation())
    async with unchanged(client, "a"):
        failure = await client.command_failure(FULL, {"sessionId": "a", "draft": True})
    assert failure.type == "empty_response"


async def test_while_a_draft_is_made_the_session_is_busy(client: RawClient) -> None:
    earlier = await drafted(client)
    silent = SilentModel(client)
    running = client.ask_command(FULL, {**_id(earlier), "draft": True})
    await silent.asked()
    for command, argument in (
        (FULL, _id(earlier)),
        (FULL, {**_id(earlier), "draft": True}),
        (APPLY, {"draftId": earlier["draftId"]}),
        (UNDO, _id(earlier)),
    ):
        failure = await client.command_failure(command, argument)
        assert (failure.code, failure.type, failure.data["retryable"]) == (-32803, "busy", True)
    await silent.answer({"text": SUMMARY})
    assert (await client.result_of(running))["type"] == "draft"
    assert (await client.command(APPLY, {"draftId": earlier["draftId"]}))["type"] == "compacted"


async def test_a_cancelled_draft_ends_the_model_and_changes_nothing(client: RawClient) -> None:
    silent = SilentModel(client)
    open_session(client, "a", conversation())
    async with unchanged(client, "a"):
        running = client.ask_command(FULL, {"sessionId": "a", "draft": True})
        asked = await silent.asked()
        client.notify("$/cancelRequest", {"id": running})
        failure = await client.failure_of(running)
    assert (failure.code, failure.type) == (-32800, "cancelled")
    assert client.received("lithify/cancelComplete") == [{"requestId": asked["params"]["requestId"]}]


async def test_a_draft_tells_its_progress_as_a_compaction_does(client: RawClient) -> None:
    open_session(client, "a", conversation())
    await client.command(FULL, {"sessionId": "a", "draft": True}, workDoneToken="draft")
    told = [params["value"]["kind"] for params in client.received("$/progress") if params["token"] == "draft"]
    assert told == ["begin", "report", "end"]


async def test_the_oldest_of_more_than_32_drafts_is_dropped(start: Starter) -> None:
    fresh = await start(options={})
    open_session(fresh, "a", conversation())
    made = [await fresh.command(FULL, {"sessionId": "a", "draft": True}) for _ in range(33)]
    await _unknown(fresh, made[0]["draftId"])
    assert (await fresh.command(APPLY, {"draftId": made[1]["draftId"]}))["type"] == "compacted"


async def test_the_call_of_a_draft_is_in_the_ledger_and_its_text_is_nowhere(start: Starter) -> None:
    fresh = await start()
    fresh.answerers["lithify/complete"] = answers("a text of its own", usage={"inputTokens": 90, "outputTokens": 10})
    await drafted(fresh)
    rows = await ledger(fresh, "purpose, provider, tokens, user_initiated, outcome")
    assert rows == [("conversation", "editor", 100, 1, "answered")]
    with database(fresh.data_dir) as connection:
        assert "a text of its own" not in "\n".join(connection.iterdump())
