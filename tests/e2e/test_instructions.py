"""`lithify.compact_with_instructions`: how the user is asked, and what becomes of the answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.document_chat import CHAT, FULL, TEXT, UP_TO_HERE, summary_line
from tests.support.editor import SUMMARY, Starter, answers, conversation, open_session, unchanged
from tests.support.raw_client import NEVER, Json, RawClient, Refusal
from tests.support.text_editor import EDITS, TextEditor
from tests.support.transcripts import json_lines

pytestmark = pytest.mark.asyncio(loop_scope="module")

ASKING = "lithify.compact_with_instructions"
OWN, STANDARD = "lithify/askInstructions", "window/showMessageRequest"
FREE_WORDS: Json = {"client": {"complete": True, "askInstructions": True}}


def argument(session_id: str = "s", **more: Any) -> Json:
    """The argument for a session, up to its second message."""
    inner = {"sessionId": session_id, "index": 1, **more}
    return {"command": UP_TO_HERE, "arguments": [inner]}


async def asking(start: Starter, method: str, answer: Any) -> RawClient:
    """An editor with a session and a model, whose user answers so."""
    client = await start(options=FREE_WORDS if method == OWN else {"client": {"complete": True}}, capabilities=EDITS)
    client.answerers[method] = answer if callable(answer) else lambda _: answer
    client.answerers["lithify/complete"] = answers()
    open_session(client, "s", conversation())
    return client


def what_was_asked(client: RawClient) -> str:
    (question,) = client.received("lithify/complete")
    last: str = question["message"]["content"][-1]["text"]
    return last


async def test_an_editor_that_can_asks_in_free_words(start: Starter) -> None:
    client = await asking(start, OWN, {"instructions": "Keep the names of files."})
    done = await client.command(ASKING, argument())
    assert (done["type"], done["range"]) == ("compacted", {"start": 0, "end": 2})
    assert what_was_asked(client).endswith("Keep the names of files.")
    (asked,) = client.received(OWN)
    assert asked["title"] == "Compact up to here with instructions"
    assert "Decisions and why" in asked["suggestions"]
    assert client.received(STANDARD) == []


async def test_any_other_editor_is_asked_with_a_few_choices(start: Starter) -> None:
    client = await asking(start, STANDARD, {"title": "Open problems and next steps"})
    done = await client.command(ASKING, {"command": FULL, "arguments": [{"sessionId": "s"}]})
    assert (done["type"], done["range"]) == ("compacted", {"start": 0, "end": 6})
    assert what_was_asked(client).endswith("Open problems and next steps")
    (asked,) = client.received(STANDARD)
    assert asked["message"] == "Compact conversation: what should the summary give weight to?"
    assert [one["title"] for one in asked["actions"]] == [
        "Decisions and why",
        "Code that was changed",
        "Open problems and next steps",
        "Errors and how they were solved",
        "Cancel",
    ]
    assert client.received(OWN) == []


def broken(_: Any) -> Any:
    raise Refusal(-32603, "it broke")


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        (OWN, {"instructions": None}),
        (OWN, {}),
        (OWN, {"instructions": 7}),
        (OWN, "words"),
        (OWN, broken),
        (STANDARD, None),
        (STANDARD, {"title": "Cancel"}),
        (STANDARD, {"title": "Something else"}),
        (STANDARD, broken),
    ],
)
async def test_without_instructions_nothing_is_done(start: Starter, method: str, answer: Any) -> None:
    client = await asking(start, method, answer)
    async with unchanged(client, "s"):
        failure = await client.command_failure(ASKING, argument())
    assert (failure.code, failure.type) == (-32800, "cancelled")
    assert client.received("lithify/complete") == []


async def test_blank_instructions_compact_without_any(start: Starter) -> None:
    client = await asking(start, OWN, {"instructions": "  "})
    assert (await client.command(ASKING, argument()))["type"] == "compacted"


async def test_the_user_is_not_asked_for_what_cannot_be_done(start: Starter) -> None:
    client = await asking(start, OWN, {"instructions": "never"})
    done = await client.command(ASKING, {"command": FULL, "arguments": [{"sessionId": "s", "maxPreservedMessages": 0}]})
    assert done == {"type": "noop", "reason": "preserve_none"}
    assert (await client.command_failure(ASKING, argument("nobody"))).type == "unknown_session"
    assert (await client.command_failure(ASKING, argument(index=99))).type == "invalid_range"
    assert client.received(OWN) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"command": "lithify.extract_now", "arguments": [{}]},
        {"command": FULL, "arguments": []},
        {"command": FULL, "arguments": [{}, {}]},
        {"command": FULL, "arguments": [7]},
    ],
)
async def test_what_is_no_compaction_is_an_invalid_param(text_editor: TextEditor, wrong: Json) -> None:
    failure = await text_editor.client.command_failure(ASKING, wrong)
    assert (failure.code, failure.type) == (-32602, "invalid_params")


async def test_what_changes_while_the_user_thinks_is_stale(start: Starter) -> None:
    client = await asking(start, OWN, lambda _: NEVER)
    running = client.ask_command(ASKING, argument())
    question = await client.wait_for(lambda one: one.get("method") == OWN)
    client.notify("lithify/didSpliceMessages", {"sessionId": "s", "start": 0, "deleteCount": 1, "messages": []})
    async with unchanged(client, "s"):
        client.send({"jsonrpc": "2.0", "id": question["id"], "result": {"instructions": "late"}})
        assert (await client.failure_of(running)).type == "stale"
    assert client.received("lithify/complete") == []


async def test_a_question_whose_command_is_cancelled_is_taken_back(start: Starter) -> None:
    client = await asking(start, OWN, lambda _: NEVER)
    running = client.ask_command(ASKING, argument())
    question = await client.wait_for(lambda one: one.get("method") == OWN)
    client.notify("$/cancelRequest", {"id": running})
    assert (await client.failure_of(running)).type == "cancelled"
    assert await client.notification("$/cancelRequest") == {"id": question["id"]}


async def test_a_document_is_compacted_with_instructions_by_its_action(start: Starter) -> None:
    client = await asking(start, OWN, {"instructions": "Keep the sum."})
    editor = TextEditor(client)
    editor.open("file:///nowhere/chat.jsonl", TEXT)
    (action,) = [one for one in await editor.actions("file:///nowhere/chat.jsonl", 0) if "with" in one["title"]]
    done = await editor.run(action["command"])
    assert (done["type"], done["summary"]["content"][1]["text"]) == ("compacted", SUMMARY)
    assert what_was_asked(client).endswith("Keep the sum.")
    assert editor.texts["file:///nowhere/chat.jsonl"] == f"{summary_line()}\n{json_lines(CHAT[1:])}"


async def test_what_is_typed_into_the_range_while_the_user_thinks_is_stale(start: Starter) -> None:
    client = await asking(start, OWN, lambda _: NEVER)
    editor, uri = TextEditor(client), "file:///nowhere/chat.jsonl"
    editor.open(uri, TEXT)
    running = client.ask_command(ASKING, {"command": UP_TO_HERE, "arguments": [{"uri": uri, "line": 4}]})
    question = await client.wait_for(lambda one: one.get("method") == OWN)
    editor.type(uri, 0, 0, json.dumps(CHAT[5]) + "\n")
    client.send({"jsonrpc": "2.0", "id": question["id"], "result": {"instructions": "late"}})
    assert (await client.failure_of(running)).type == "stale"
    assert editor.asked == []


async def test_an_editor_that_cannot_ask_is_offered_no_instructions_any_more(start: Starter) -> None:
    client = await start(options={"client": {"complete": True}}, capabilities=EDITS)
    editor, uri = TextEditor(client), "file:///nowhere/chat.jsonl"
    editor.open(uri, TEXT)
    assert any("with instructions" in one["title"] for one in await editor.actions(uri, 0))
    asked = {"command": FULL, "arguments": [{"uri": uri}]}
    failure = await client.command_failure(ASKING, asked)
    assert (failure.type, "window/showMessageRequest" in failure.message) == ("cancelled", True)
    (told,) = client.received("window/showMessage")
    assert told["message"].startswith("This editor cannot ask for instructions, so nothing was changed")
    assert not any("with instructions" in one["title"] for one in await editor.actions(uri, 0))
