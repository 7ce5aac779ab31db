"""The compactions of an open document: what they answer, and what the user does meanwhile."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.support.document_chat import CHAT, FULL, TEXT, UP_TO_HERE, summary_line
from tests.support.editor import SUMMARY, SilentModel, answers, conversation
from tests.support.messages import user
from tests.support.raw_client import Json, Refusal
from tests.support.text_editor import TextEditor
from tests.support.transcripts import json_lines

pytestmark = pytest.mark.asyncio(loop_scope="module")


# --- what the user does meanwhile -----------------------------------------------------------------------------


@pytest.mark.parametrize("old", ["Fix", "c1", "xxxxx"])
async def test_what_the_user_types_inside_of_the_range_meanwhile_makes_it_stale(
    text_editor: TextEditor, uri: str, old: str
) -> None:
    model = SilentModel(text_editor.client)
    text_editor.open(uri, TEXT)
    running = text_editor.client.ask_command(UP_TO_HERE, {"uri": uri, "line": 3})
    await model.asked()
    start = text_editor.texts[uri].index(old)
    text_editor.type(uri, start, start + 1, "y")
    text = text_editor.texts[uri]
    await model.answer({"text": SUMMARY})
    failure = await text_editor.client.failure_of(running)
    assert (failure.code, failure.type, failure.data["retryable"]) == (-32801, "stale", True)
    assert (text_editor.texts[uri], text_editor.asked) == (text, [])


async def test_a_result_that_comes_in_for_a_call_of_the_range_makes_it_stale(text_editor: TextEditor, uri: str) -> None:
    model = SilentModel(text_editor.client)
    text_editor.open(uri, json_lines([*CHAT[:3], CHAT[5]]))
    running = text_editor.client.ask_command(UP_TO_HERE, {"uri": uri, "line": 2})
    await model.asked()
    text_editor.type(uri, len(text_editor.texts[uri]), len(text_editor.texts[uri]), json_lines([CHAT[3]]))
    await model.answer({"text": SUMMARY})
    assert (await text_editor.client.failure_of(running)).type == "stale"
    assert text_editor.asked == []


async def test_keys_that_come_steadily_elsewhere_keep_no_compaction_and_no_undo_from_being_made(
    text_editor: TextEditor, uri: str
) -> None:
    line, last = json_lines([user("x" * 5000)]), json_lines([user("Thanks")])
    text_editor.open(uri, line * 400 + last)

    async def keys() -> None:
        while True:
            text_editor.replace(uri, "Thanks", "Thanks.")
            await asyncio.sleep(0.02)
            text_editor.replace(uri, "Thanks.", "Thanks")
            await asyncio.sleep(0.02)

    typing = asyncio.ensure_future(keys())
    try:
        done = await text_editor.client.command(UP_TO_HERE, {"uri": uri, "index": 20})
        assert (done["type"], text_editor.texts[uri].count(line)) == ("compacted", 379)
        await text_editor.client.command("lithify.undo_compaction", {"uri": uri})
    finally:
        typing.cancel()
    assert text_editor.texts[uri].replace("Thanks.", "Thanks") == line * 400 + last


async def test_what_the_user_types_while_the_edit_is_on_its_way_is_kept(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)

    def change_it_once() -> None:
        if len(text_editor.asked) == 1:
            text_editor.replace(uri, "Thanks", "Thank you")

    text_editor.before_edit = change_it_once
    await text_editor.client.command(UP_TO_HERE, {"uri": uri, "line": 3})
    assert text_editor.texts[uri] == f"{summary_line()}\n{json_lines([CHAT[4], user('Thank you')])}"
    assert len(text_editor.asked) == 2


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"applied": False, "failureReason": "the user said no"}, "the user said no"),
        ({"applied": False}, "did not make the edit"),
        (None, "did not make the edit"),
        (Refusal(-32803, "out of order"), "out of order"),
    ],
)
async def test_an_edit_that_the_editor_refuses_is_stale_with_its_reason(
    text_editor: TextEditor, uri: str, answer: Any, reason: str
) -> None:
    def refuse(_: Any) -> Any:
        if isinstance(answer, Refusal):
            raise answer
        return answer

    text_editor.open(uri, TEXT)
    text_editor.client.answerers["workspace/applyEdit"] = refuse
    failure = await text_editor.client.command_failure(FULL, {"uri": uri})
    assert (failure.code, failure.type) == (-32801, "stale")
    assert reason in failure.message
    assert len(text_editor.client.received("workspace/applyEdit")) == 1


async def test_a_document_that_is_closed_meanwhile_and_has_no_file_is_stale(text_editor: TextEditor, uri: str) -> None:
    model = SilentModel(text_editor.client)
    text_editor.open(uri, TEXT)
    running = text_editor.client.ask_command(FULL, {"uri": uri})
    await model.asked()
    text_editor.close(uri)
    await model.answer({"text": SUMMARY})
    assert (await text_editor.client.failure_of(running)).type == "stale"


async def test_an_open_document_needs_no_file(text_editor: TextEditor) -> None:
    text_editor.open("untitled:Untitled-1", TEXT)
    await text_editor.client.command(UP_TO_HERE, {"uri": "untitled:Untitled-1", "index": 4})
    assert text_editor.texts["untitled:Untitled-1"] == f"{summary_line()}\n{json_lines(CHAT[5:])}"
    assert "changes" not in text_editor.asked[0]["edit"]


# --- what is answered ---------------------------------------------------------------------------------------


async def test_a_preview_tells_what_would_be_sent_and_changes_nothing(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    shown = await text_editor.client.command(UP_TO_HERE, {"uri": uri, "line": 1, "dryRun": True})
    assert (shown["type"], shown["range"], shown["requests"]) == ("preview", {"start": 0, "end": 4}, 1)
    assert "Fix the \U0001f600 sum" in json.dumps(shown["request"], ensure_ascii=False)
    assert (text_editor.asked, text_editor.client.received("lithify/complete")) == ([], [])


@pytest.mark.parametrize(
    ("chat", "argument", "reason"),
    [
        (CHAT[:1], {}, "too_few_messages"),
        (CHAT, {"start": 2, "end": 2}, "empty"),
        (CHAT, {"maxPreservedMessages": 0}, "preserve_none"),
        ([{"role": "system", "content": "be brief"}], {"end": 1}, "system_only"),
    ],
)
async def test_a_no_op_edits_nothing(
    text_editor: TextEditor, uri: str, chat: list[Json], argument: Json, reason: str
) -> None:
    text_editor.open(uri, json_lines(chat))
    assert await text_editor.client.command(FULL, {"uri": uri, **argument}) == {"type": "noop", "reason": reason}
    assert (text_editor.asked, text_editor.client.received("lithify/complete")) == ([], [])


async def test_an_empty_session_file_is_a_no_op(text_editor: TextEditor) -> None:
    text_editor.open("file:///nowhere/context.jsonl", "")
    done = await text_editor.client.command(FULL, {"uri": "file:///nowhere/context.jsonl"})
    assert done == {"type": "noop", "reason": "empty"}


@pytest.mark.parametrize(
    ("command", "argument", "failure_type"),
    [
        (UP_TO_HERE, {}, "invalid_params"),
        (UP_TO_HERE, {"line": 1, "index": 1}, "invalid_params"),
        (UP_TO_HERE, {"line": -1}, "invalid_params"),
        (UP_TO_HERE, {"index": 6}, "invalid_range"),
        (UP_TO_HERE, {"messageId": "nobody"}, "unknown_message"),
        (FULL, {"start": 5, "end": 9}, "invalid_range"),
    ],
)
async def test_a_range_that_does_not_fit_is_an_invalid_param(
    text_editor: TextEditor, uri: str, command: str, argument: Json, failure_type: str
) -> None:
    text_editor.open(uri, TEXT)
    failure = await text_editor.client.command_failure(command, {"uri": uri, **argument})
    assert (failure.code, failure.type) == (-32602, failure_type)
    assert text_editor.asked == []


async def test_a_line_above_all_messages_names_none(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, "\n\n" + TEXT)
    assert (await text_editor.client.command_failure(UP_TO_HERE, {"uri": uri, "line": 0})).type == "unknown_message"


async def test_a_message_is_found_by_its_id(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, json_lines(conversation()))
    done = await text_editor.client.command(UP_TO_HERE, {"uri": uri, "messageId": "a1"})
    assert done["range"] == {"start": 0, "end": 4}


@pytest.mark.parametrize("text", ["import os\n", "", json.dumps(CHAT)[:-9]], ids=["code", "empty", "broken"])
async def test_a_document_that_cannot_be_compacted_is_unsupported(text_editor: TextEditor, uri: str, text: str) -> None:
    text_editor.open(uri, text)
    failure = await text_editor.client.command_failure(FULL, {"uri": uri})
    assert (failure.code, failure.type, failure.data["retryable"]) == (-32602, "unsupported_document", False)
    assert text_editor.client.received("lithify/complete") == []


@pytest.mark.parametrize(
    "uri", ["untitled:Untitled-7", "file:///nowhere/gtext_editor.jsonl", "not a uri", "https://a.b/c.jsonl"]
)
async def test_a_document_that_is_nowhere_is_unsupported(text_editor: TextEditor, uri: str) -> None:
    failure = await text_editor.client.command_failure(FULL, {"uri": uri})
    assert failure.type == "unsupported_document"
    assert f"The document '{uri}' cannot be read: " in failure.message


async def test_a_second_compaction_of_a_document_is_busy_and_the_first_goes_on(
    text_editor: TextEditor, uri: str
) -> None:
    model = SilentModel(text_editor.client)
    text_editor.open(uri, TEXT)
    first = text_editor.client.ask_command(FULL, {"uri": uri})
    await model.asked()
    second = await text_editor.client.command_failure(UP_TO_HERE, {"uri": uri.replace("chat", "%63hat"), "line": 1})
    assert (second.code, second.type) == (-32803, "busy")
    await model.answer({"text": SUMMARY})
    assert (await text_editor.client.result_of(first))["type"] == "compacted"


async def test_a_compaction_that_is_cancelled_edits_nothing_and_can_be_made_again(
    text_editor: TextEditor, uri: str
) -> None:
    model = SilentModel(text_editor.client)
    text_editor.open(uri, TEXT)
    running = text_editor.client.ask_command(FULL, {"uri": uri})
    await model.asked()
    text_editor.client.notify("$/cancelRequest", {"id": running})
    failure = await text_editor.client.failure_of(running)
    assert (failure.code, failure.type, text_editor.asked) == (-32800, "cancelled", [])
    text_editor.client.answerers["lithify/complete"] = answers()
    assert (await text_editor.client.command(FULL, {"uri": uri}))["type"] == "compacted"


async def test_progress_is_shown_and_the_call_is_in_the_ledger(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    await text_editor.client.command(FULL, {"uri": uri}, workDoneToken="t")
    kinds = [told["value"]["kind"] for told in text_editor.client.received("$/progress") if told["token"] == "t"]
    assert (kinds[0], kinds[-1]) == ("begin", "end")
