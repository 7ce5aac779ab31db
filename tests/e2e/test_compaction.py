"""The two compactions of a session over the wire, what they answer and what they leave behind."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from tests.support.editor import (
    SUMMARY,
    Starter,
    answers,
    conversation,
    ledger,
    open_session,
    session,
    stored_states,
    unchanged,
)
from tests.support.raw_client import Json, RawClient

pytestmark = pytest.mark.asyncio(loop_scope="module")

FULL, UP_TO_HERE, UNDO = "lithify.compact_conversation", "lithify.compact_up_to_here", "lithify.undo_compaction"
PREFIX = "<system>Previous context has been compacted. Here is the compaction output:</system>"
NUMBERS = itertools.count()
KIMI = {"enabled": True, "type": "kimi"}
CALL = {"id": "call", "type": "function", "function": {"name": "read", "arguments": "{}"}}
WITH_TOOLS = [
    {"role": "user", "content": "read it"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call", "content": "the file"},
    {"role": "assistant", "content": "read"},
    {"role": "user", "content": "thanks"},
]


@pytest.fixture(autouse=True)
def model(client: RawClient) -> list[Json]:
    """A model that answers at once; what it was asked."""
    asked: list[Json] = []

    def answer(params: Json) -> Json:
        asked.append(params)
        return {"text": SUMMARY, "model": "m1", "stopReason": "end", "usage": {"inputTokens": 9, "outputTokens": 3}}

    client.answerers["lithify/complete"] = answer
    return asked


async def opened(client: RawClient, messages: list[Json] | None = None, **more: Any) -> str:
    """A session of its own for a test."""
    session_id = f"session {next(NUMBERS)}"
    open_session(client, session_id, conversation() if messages is None else messages, **more)
    return session_id


async def test_a_full_compaction_keeps_the_tail_and_tells_all_that_the_contract_names(client: RawClient) -> None:
    session_id = await opened(client)
    result = await client.command(FULL, {"sessionId": session_id})
    assert result.pop("compactionId")
    assert result["stats"].pop("durationMs") >= 0
    assert result["stats"].pop("tokensBefore") > 0
    assert result["stats"].pop("tokensAfter") > 0
    assert result.pop("promptSource")
    assert [one for one in result.pop("warnings") if one["code"] not in ("prompt_fallback", "not_smaller")] == []
    summary = {"role": "user", "content": f"{PREFIX}\n{SUMMARY}"}
    assert result == {
        "type": "compacted",
        "sessionId": session_id,
        "revision": 2,
        "range": {"start": 0, "end": 6},
        "requestedRange": {"start": 0, "end": 6},
        "summary": summary,
        "messages": [summary, *conversation()[6:]],
        "stats": {"messagesBefore": 8, "messagesAfter": 3},
        "method": "model",
        "provider": "editor",
        "model": "m1",
        "usage": {"inputTokens": 9, "outputTokens": 3},
    }


async def test_the_session_is_what_the_result_says(client: RawClient) -> None:
    session_id = await opened(client)
    result = await client.command(FULL, {"sessionId": session_id})
    told = await session(client, session_id)
    assert (told["messages"], told["revision"]) == (result["messages"], result["revision"])


async def test_a_session_lists_its_compactions(client: RawClient) -> None:
    session_id = await opened(client)
    result = await client.command(FULL, {"sessionId": session_id})
    (listed,) = (await session(client, session_id))["compactions"]
    assert set(listed) == {"compactionId", "at", "range", "stats", "undone"}
    assert (listed["compactionId"], listed["range"], listed["stats"], listed["undone"]) == (
        result["compactionId"],
        result["range"],
        result["stats"],
        False,
    )


async def test_the_summary_has_two_text_parts_where_a_message_holds_parts(client: RawClient) -> None:
    messages = conversation()
    messages[0]["content"] = [{"type": "text", "text": "in parts"}]
    session_id = await opened(client, messages)
    summary = (await client.command(FULL, {"sessionId": session_id}))["summary"]
    assert summary == {"role": "user", "content": [{"type": "text", "text": PREFIX}, {"type": "text", "text": SUMMARY}]}


async def test_a_leading_system_message_is_in_the_request_and_stays_in_front(
    client: RawClient, model: list[Json]
) -> None:
    system = {"role": "system", "content": "Be brief."}
    session_id = await opened(client, [system, *conversation()])
    result = await client.command(FULL, {"sessionId": session_id})
    assert result["range"] == {"start": 0, "end": 7}
    assert result["messages"][:2] == [system, result["summary"]]
    assert model[0]["message"]["content"][1]["text"] == "Be brief."


async def test_up_to_here_takes_the_message_with_the_id_and_all_before_it(client: RawClient) -> None:
    session_id = await opened(client)
    result = await client.command(UP_TO_HERE, {"sessionId": session_id, "messageId": "u2"})
    assert result["range"] == {"start": 0, "end": 5}
    assert result["messages"][1:] == conversation()[5:]


async def test_up_to_here_takes_the_message_at_the_index_and_all_before_it(client: RawClient) -> None:
    session_id = await opened(client)
    result = await client.command(UP_TO_HERE, {"sessionId": session_id, "index": 0})
    assert (result["range"], len(result["messages"])) == ({"start": 0, "end": 1}, 8)


async def test_up_to_the_last_message_leaves_the_summary_alone(client: RawClient) -> None:
    session_id = await opened(client)
    result = await client.command(UP_TO_HERE, {"sessionId": session_id, "index": 7})
    assert result["messages"] == [result["summary"]]


@pytest.mark.parametrize(
    ("argument", "start", "end"),
    [
        ({"start": 2, "end": 4}, 2, 4),
        ({"start": 0, "end": 8}, 0, 8),
        ({"end": 1}, 0, 1),
        ({"start": 2}, 2, 6),
        ({"maxPreservedMessages": 5}, 0, 3),
        ({"start": 1, "end": 5, "maxPreservedMessages": 99}, 1, 5),
        ({"start": 1, "maxPreservedMessages": 1}, 1, 7),
    ],
)
async def test_a_range_is_taken_as_asked_where_no_call_is_parted(
    client: RawClient, argument: Json, start: int, end: int
) -> None:
    session_id = await opened(client)
    result = await client.command(FULL, {"sessionId": session_id, **argument})
    assert result["range"] == result["requestedRange"] == {"start": start, "end": end}
    assert result["messages"] == [*conversation()[:start], result["summary"], *conversation()[end:]]


async def test_a_range_that_parts_a_call_from_its_result_is_widened(client: RawClient) -> None:
    session_id = await opened(client, WITH_TOOLS)
    result = await client.command(UP_TO_HERE, {"sessionId": session_id, "index": 1})
    assert (result["requestedRange"], result["range"]) == ({"start": 0, "end": 2}, {"start": 0, "end": 3})


async def test_an_exact_range_is_taken_as_asked_and_what_it_leaves_alone_is_named(client: RawClient) -> None:
    session_id = await opened(client, WITH_TOOLS)
    result = await client.command(UP_TO_HERE, {"sessionId": session_id, "index": 1, "exact": True})
    assert result["range"] == {"start": 0, "end": 2}
    assert "orphaned_tool_result" in [warning["code"] for warning in result["warnings"]]


async def test_the_question_to_the_editor_has_the_shape_of_the_contract(client: RawClient, model: list[Json]) -> None:
    session_id = await opened(client)
    result = await client.command(FULL, {"sessionId": session_id, "compactionModel": "m2", "end": 2})
    (asked,) = model
    assert asked.pop("requestId")
    assert asked.pop("systemPrompt")
    assert result["type"] == "compacted"
    content = asked["message"].pop("content")
    assert [set(part) for part in content] == [{"type", "text"}] * 5
    assert [part["text"] for part in content[:-1]] == [
        "## Message 1\nRole: user\nContent:\n",
        conversation()[0]["content"],
        "## Message 2\nRole: assistant\nContent:\n",
        conversation()[1]["content"],
    ]
    assert asked == {
        "purpose": "conversation",
        "userInitiated": True,
        "model": "m2",
        "message": {"role": "user"},
        "tools": [],
        "timeoutMs": 120_000,
        "settings": {"disable_all_tools": True},
    }


async def test_every_question_has_an_id_of_its_own(client: RawClient, model: list[Json]) -> None:
    for _ in range(3):
        await client.command(FULL, {"sessionId": await opened(client)})
    assert len({asked["requestId"] for asked in model}) == 3


async def test_a_dry_run_calls_no_model_and_shows_what_would_be_sent(client: RawClient, model: list[Json]) -> None:
    session_id = await opened(client)
    async with unchanged(client, session_id):
        preview = await client.command(FULL, {"sessionId": session_id, "dryRun": True})
    assert model == []
    await client.command(FULL, {"sessionId": session_id})
    assert (preview["type"], preview["requests"]) == ("preview", 1)
    assert preview["range"] == preview["requestedRange"] == {"start": 0, "end": 6}
    assert preview["request"] == {
        "systemPrompt": model[0]["systemPrompt"],
        "message": model[0]["message"],
        "tools": [],
        "settings": {"disable_all_tools": True},
    }
    assert set(preview["stats"]) == {"messagesBefore", "messagesAfter", "tokensBefore", "tokensAfter", "durationMs"}


async def test_a_dry_run_of_up_to_here_shows_the_same_range_as_the_real_one(client: RawClient) -> None:
    session_id = await opened(client, WITH_TOOLS)
    argument = {"sessionId": session_id, "index": 1}
    preview = await client.command(UP_TO_HERE, {**argument, "dryRun": True})
    result = await client.command(UP_TO_HERE, argument)
    assert (preview["range"], preview["requestedRange"]) == (result["range"], result["requestedRange"])


async def test_a_dry_run_starts_no_progress(client: RawClient) -> None:
    session_id = await opened(client)
    before = len(client.messages)
    await client.command(FULL, {"sessionId": session_id, "dryRun": True}, workDoneToken="dry")
    assert not [message for message in client.messages[before:] if message.get("method") == "$/progress"]


async def test_instructions_stand_at_the_end_of_the_request(client: RawClient, model: list[Json]) -> None:
    await client.command(FULL, {"sessionId": await opened(client), "instructions": "  keep the names \n"})
    assert model[0]["message"]["content"][-1]["text"].endswith("keep the names")


async def test_a_prompt_of_the_command_takes_the_place_of_the_template(client: RawClient, model: list[Json]) -> None:
    session_id = await opened(client)
    result = await client.command(FULL, {"sessionId": session_id, "prompt": " Sum it up. "})
    assert model[0]["message"]["content"][-1]["text"] == "\n Sum it up. "
    assert result["promptSource"] == "override"


async def test_a_prompt_of_the_command_wins_over_that_of_the_agent(client: RawClient, model: list[Json]) -> None:
    agent = {"compaction": {**KIMI, "prompt": "of the agent"}}
    session_id = await opened(client, agent=agent)
    await client.command(FULL, {"sessionId": session_id, "end": 2, "prompt": "of the command"})
    await client.command(FULL, {"sessionId": session_id, "end": 2})
    assert [one["message"]["content"][-1]["text"] for one in model] == ["\nof the command", "\nof the agent"]


@pytest.mark.parametrize(
    ("command", "of_session", "of_compaction", "of_agent", "chosen"),
    [
        ("c", "s", "k", "a", "c"),
        (None, "s", "k", "a", "s"),
        (None, None, "k", "a", "k"),
        (None, None, None, "a", "a"),
        (None, None, None, None, None),
    ],
)
async def test_the_model_is_the_one_named_nearest_to_the_command(
    client: RawClient,
    model: list[Json],
    command: str | None,
    of_session: str | None,
    of_compaction: str | None,
    of_agent: str | None,
    chosen: str | None,
) -> None:
    agent = {"model": of_agent, "compaction": {**KIMI, "compactionModel": of_compaction}}
    session_id = await opened(client, agent=agent, compactionModel=of_session)
    await client.command(FULL, {"sessionId": session_id, "compactionModel": command})
    assert model[0].get("model") == chosen


async def test_settings_overrides_merge_key_by_key_the_commands_last(client: RawClient, model: list[Json]) -> None:
    agent = {"compaction": {**KIMI, "settingsOverrides": {"a": 1, "b": {"x": 1}}}}
    session_id = await opened(client, agent=agent)
    await client.command(FULL, {"sessionId": session_id, "settingsOverrides": {"b": {"y": 2}, "c": None}})
    assert model[0]["settings"] == {"a": 1, "b": {"y": 2}, "c": None, "disable_all_tools": True}


@pytest.mark.parametrize("where", ["agent", "command"])
async def test_no_settings_override_brings_tools_back(client: RawClient, model: list[Json], where: str) -> None:
    overrides = {"disable_all_tools": False, "tools": [{"name": "sh"}], "tool_choice": "auto", "functions": [{}]}
    agent = {"compaction": {**KIMI, "settingsOverrides": overrides if where == "agent" else {}}}
    session_id = await opened(client, agent=agent)
    await client.command(FULL, {"sessionId": session_id, "settingsOverrides": overrides if where == "command" else {}})
    assert (model[0]["tools"], model[0]["settings"]) == ([], {"disable_all_tools": True})


@pytest.mark.parametrize(
    "agent",
    [
        {},
        {"compaction": None},
        {"compaction": {}},
        {"compaction": {"enabled": False, "type": "kimi"}},
        {"compaction": {"enabled": None, "type": "kimi"}},
        {"compaction": {"enabled": True}},
        {"compaction": {"enabled": True, "type": "other"}},
    ],
)
async def test_an_agent_whose_compaction_is_off_is_left_alone(
    client: RawClient, model: list[Json], agent: Json
) -> None:
    session_id = await opened(client, agent=agent)
    async with unchanged(client, session_id):
        for command, argument in ((FULL, {}), (UP_TO_HERE, {"index": 3}), (FULL, {"dryRun": True})):
            failure = await client.command_failure(command, {"sessionId": session_id, **argument})
            assert (failure.code, failure.type, failure.data["retryable"]) == (-32803, "disabled", False)
    assert model == []
    assert await client.request("lithify/sessionActions", {"agent": agent}) == {"actions": []}


async def test_both_actions_are_offered_while_no_agent_is_known(client: RawClient) -> None:
    offered = await client.request("lithify/sessionActions", {"agent": None})
    assert [(one["command"], one["target"]) for one in offered["actions"]] == [
        (FULL, "session"),
        (UP_TO_HERE, "message"),
    ]
    assert all(one["title"] for one in offered["actions"])


async def test_both_actions_are_offered_to_an_agent_that_compacts(client: RawClient) -> None:
    offered = await client.request("lithify/sessionActions", {"agent": {"compaction": KIMI}})
    assert len(offered["actions"]) == 2


async def test_a_session_without_an_agent_runs_under_the_setting(start: Starter) -> None:
    fresh = await start(options={"conversation": {"compaction": {"enabled": False}}})
    open_session(fresh, "a", conversation())
    assert (await fresh.command_failure(FULL, {"sessionId": "a"})).type == "disabled"
    settings = {"conversation": {"compaction": {"enabled": True, "maxPreservedMessages": 4}}}
    fresh.notify("workspace/didChangeConfiguration", {"settings": {"lithify": settings}})
    preview = await fresh.command(FULL, {"sessionId": "a", "dryRun": True})
    assert preview["range"] == {"start": 0, "end": 4}


@pytest.mark.parametrize(
    ("messages", "argument", "reason"),
    [
        ([], {}, "empty"),
        (conversation(), {"start": 3, "end": 3}, "empty"),
        (conversation(), {"start": 8}, "empty"),
        (conversation(), {"maxPreservedMessages": 0}, "preserve_none"),
        (conversation(), {"maxPreservedMessages": -1}, "preserve_none"),
        (conversation(), {"maxPreservedMessages": 9}, "too_few_messages"),
        (conversation(1), {}, "nothing_before_tail"),
        ([{"role": "system", "content": "x"}, *conversation(1)], {}, "system_only"),
    ],
)
async def test_where_there_is_nothing_to_compact_nothing_happens(
    client: RawClient, model: list[Json], messages: list[Json], argument: Json, reason: str
) -> None:
    session_id = await opened(client, messages)
    async with unchanged(client, session_id):
        result = await client.command(FULL, {"sessionId": session_id, **argument})
        tried = await client.command(FULL, {"sessionId": session_id, **argument, "dryRun": True})
    assert result == tried == {"type": "noop", "reason": reason}
    assert model == []


async def test_the_editor_is_told_that_a_session_was_compacted(client: RawClient) -> None:
    session_id = await opened(client)
    result = await client.command(FULL, {"sessionId": session_id})
    told = await client.notification("lithify/sessionChanged", sessionId=session_id)
    assert told == {
        "sessionId": session_id,
        "revision": result["revision"],
        "reason": "compacted",
        "messages": result["messages"],
    }


async def test_the_editor_is_told_that_a_compaction_was_undone(client: RawClient) -> None:
    session_id = await opened(client)
    await client.command(FULL, {"sessionId": session_id})
    undone = await client.command(UNDO, {"sessionId": session_id})
    told = await client.notification("lithify/sessionChanged", sessionId=session_id, reason="undone")
    assert (told["revision"], told["messages"]) == (undone["revision"], undone["messages"])


async def test_undo_restores_the_messages_exactly_and_says_so(client: RawClient) -> None:
    session_id = await opened(client)
    compacted = await client.command(FULL, {"sessionId": session_id})
    undone = await client.command(UNDO, {"sessionId": session_id})
    assert undone == {
        "sessionId": session_id,
        "compactionId": compacted["compactionId"],
        "revision": compacted["revision"] + 1,
        "messages": conversation(),
    }
    assert [one["undone"] for one in (await session(client, session_id))["compactions"]] == [True]


async def test_undo_keeps_what_was_said_after_the_compaction(client: RawClient) -> None:
    session_id = await opened(client)
    await client.command(FULL, {"sessionId": session_id})
    later = {"role": "user", "content": "and then?"}
    client.notify("lithify/didAppendMessages", {"sessionId": session_id, "messages": [later]})
    assert (await client.command(UNDO, {"sessionId": session_id}))["messages"] == [*conversation(), later]


async def test_undo_takes_back_compactions_of_compactions_one_by_one(client: RawClient) -> None:
    session_id = await opened(client)
    await client.command(FULL, {"sessionId": session_id, "end": 2})
    once = (await session(client, session_id))["messages"]
    await client.command(FULL, {"sessionId": session_id, "end": 3})
    first = await client.command(UNDO, {"sessionId": session_id})
    second = await client.command(UNDO, {"sessionId": session_id})
    assert (first["messages"], second["messages"]) == (once, conversation())


async def test_undo_works_after_a_restart_of_the_server(start: Starter) -> None:
    first = await start()
    first.answerers["lithify/complete"] = answers()
    open_session(first, "a", conversation())
    await first.command(FULL, {"sessionId": "a"})
    first.process.kill()
    await first.process.wait()
    again = await start()
    undone = await again.command(UNDO, {"sessionId": "a"})
    assert json.dumps(undone["messages"]) == json.dumps(conversation())


async def test_without_originals_a_compaction_cannot_be_undone(start: Starter) -> None:
    fresh = await start(options={"conversation": {"keepOriginals": False}})
    open_session(fresh, "a", conversation())
    await fresh.command(FULL, {"sessionId": "a"})
    async with unchanged(fresh, "a"):
        failure = await fresh.command_failure(UNDO, {"sessionId": "a"})
    assert (failure.code, failure.type) == (-32602, "unknown_compaction")


async def test_a_compaction_and_its_undo_record_nothing(start: Starter) -> None:
    fresh = await start(options={})
    open_session(fresh, "a", conversation())
    await session(fresh, "a")
    recorded = stored_states(fresh.data_dir)
    await fresh.command(FULL, {"sessionId": "a"})
    await fresh.command(UNDO, {"sessionId": "a"})
    open_session(fresh, "a", conversation())
    await session(fresh, "a")
    assert len(recorded) == 8
    assert stored_states(fresh.data_dir) == recorded


async def test_a_conversation_too_long_for_one_request_is_folded(start: Starter) -> None:
    fresh = await start(options={"client": {"complete": True}, "conversation": {"maxRequestTokens": 1500}})
    asked: list[Json] = []
    fresh.answerers["lithify/complete"] = lambda params: asked.append(params) or {"text": f"summary {len(asked)}"}
    messages = [{"role": "user", "content": f"message {number} " + "words " * 100} for number in range(30)]
    open_session(fresh, "a", messages)
    preview = await fresh.command(FULL, {"sessionId": "a", "dryRun": True})
    result = await fresh.command(FULL, {"sessionId": "a"})
    assert preview["requests"] > 1
    assert len(asked) > 1
    assert preview["request"]["message"] == asked[0]["message"]
    assert any("summary 1" in part["text"] for part in asked[1]["message"]["content"])
    assert "folded" in [warning["code"] for warning in result["warnings"]]
    assert result["summary"]["content"].endswith(f"summary {len(asked)}")


async def test_a_limit_of_zero_never_folds(start: Starter) -> None:
    fresh = await start(options={"conversation": {"maxRequestTokens": 0}})
    open_session(fresh, "a", [{"role": "user", "content": "words " * 200_000}] * 3)
    preview = await fresh.command(FULL, {"sessionId": "a", "dryRun": True})
    assert preview["requests"] == 1


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"text": "no sections at all"}, "missing_sections"),
        ({"text": SUMMARY, "stopReason": "max_tokens"}, "cut_off"),
        ({"text": SUMMARY + "x" * 9999}, "not_smaller"),
    ],
)
async def test_a_poor_answer_is_kept_with_a_warning(client: RawClient, answer: Json, code: str) -> None:
    client.answerers["lithify/complete"] = lambda _: answer
    result = await client.command(FULL, {"sessionId": await opened(client)})
    assert code in [warning["code"] for warning in result["warnings"]]
    assert all(warning["message"] for warning in result["warnings"])
    assert result["summary"]["content"].endswith(answer["text"])


async def test_images_that_were_left_out_are_told_of(client: RawClient) -> None:
    messages = conversation()
    messages[0]["content"] = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    result = await client.command(FULL, {"sessionId": await opened(client, messages)})
    assert "media_dropped" in [warning["code"] for warning in result["warnings"]]


async def test_without_a_model_of_the_editor_the_offline_model_answers(start: Starter) -> None:
    fresh = await start(options={})
    open_session(fresh, "a", conversation())
    result = await fresh.command(FULL, {"sessionId": "a"})
    assert result["method"] == "offline"


async def test_model_calls_are_kept_in_a_ledger_without_text(start: Starter) -> None:
    fresh = await start()
    fresh.answerers["lithify/complete"] = answers(model="m1", usage={"inputTokens": 90, "outputTokens": 10})
    open_session(fresh, "a", conversation())
    await fresh.command(FULL, {"sessionId": "a"})
    rows = await ledger(fresh, "purpose, provider, model, tokens, user_initiated, outcome")
    assert rows == [("conversation", "editor", "m1", 100, 1, "answered")]
