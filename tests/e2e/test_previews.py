"""`lithify.preview_compaction`: what it shows, where that lies, and for how long."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from lithify.cli.compact_words import compacted
from lithify.core.conversation import Plan, Range
from tests.support.document_chat import CHAT, TEXT
from tests.support.editor import Starter, conversation, open_session, session, settled
from tests.support.raw_client import Json, RawClient, Refusal
from tests.support.text_editor import EDITS, TextEditor
from tests.support.transcripts import json_lines

pytestmark = pytest.mark.asyncio(loop_scope="module")

PREVIEW = "lithify.preview_compaction"
SHOWS: Json = {**EDITS, "window": {"showDocument": {"support": True}}}


def path_of(uri: str) -> Path:
    return Path(unquote(urlsplit(uri).path))


async def test_the_preview_holds_the_estimate_and_all_that_would_be_sent(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    (preview,) = [one for one in await text_editor.actions(uri, TEXT.index("Done")) if "Preview" in one["title"]]
    shown = await text_editor.run(preview["command"])
    assert (shown["type"], shown["languageId"]) == ("preview_document", "markdown")
    text = shown["text"]
    assert text.startswith("# Preview: compact up to here\n")
    for fact in (
        "* Messages: 5 of 6 are summarised, from 1 to 5; 2 are left",
        "* Size: 1.9k tokens before, about ",
        "* Requests: 1",
        "* Model: the one that the editor chooses",
        "* The text goes to: the editor, which passes it to its own model",
        "* Prompt: ",
    ):
        assert f"\n{fact}" in text
    dry = await text_editor.client.command("lithify.compact_up_to_here", {"uri": uri, "line": 4, "dryRun": True})
    assert f"\n{dry['request']['systemPrompt']}\n" in text
    assert f"\n{''.join(part['text'] for part in dry['request']['message']['content'])}" in text
    assert text_editor.client.received("lithify/complete") == []
    assert text_editor.asked == []


async def test_nothing_that_is_sent_ends_the_block_that_it_stands_in(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, json_lines([{"role": "user", "content": "a\n`````\nb"}, *CHAT]))
    shown = await text_editor.client.command(PREVIEW, {"uri": uri, "index": 0})
    assert "\n``````\n## Message 1\n" in shown["text"]
    assert shown["text"].endswith("\n``````\n")


async def test_a_preview_of_what_would_do_nothing_is_the_no_op(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, json_lines(CHAT[:1]))
    done = await text_editor.client.command(PREVIEW, {"uri": uri})
    assert done == {"type": "noop", "reason": "too_few_messages"}


@pytest.mark.parametrize(
    ("argument", "failure_type"),
    [({"line": 1, "index": 2}, "invalid_params"), ({"index": 9}, "invalid_range"), ({"line": 0, "start": 1}, "")],
)
async def test_a_preview_fails_as_its_compaction_would(
    text_editor: TextEditor, uri: str, argument: Json, failure_type: str
) -> None:
    text_editor.open(uri, TEXT)
    failure = await text_editor.client.command_failure(PREVIEW, {"uri": uri, **argument})
    assert failure.type == (failure_type or "invalid_params")


async def test_a_session_and_a_file_that_nobody_has_open_can_be_previewed(
    text_editor: TextEditor, tmp_path: Path
) -> None:
    client = text_editor.client
    open_session(client, "previewed", conversation())
    before = await session(client, "previewed")
    shown = await client.command(PREVIEW, {"sessionId": "previewed", "messageId": "a1", "instructions": "be terse"})
    assert "* Messages: 4 of 8 are summarised, from 1 to 4; 5 are left" in shown["text"]
    assert "be terse" in shown["text"]
    assert await session(client, "previewed") == before
    file = tmp_path / "chat.jsonl"
    file.write_text(TEXT, encoding="utf-8")
    shown = await client.command(PREVIEW, {"uri": file.as_uri()})
    assert shown["text"].startswith("# Preview: compact conversation\n")
    assert file.read_text(encoding="utf-8") == TEXT


async def test_a_long_conversation_says_how_many_requests_it_takes(start: Starter) -> None:
    client = await start(options={"conversation": {"maxRequestTokens": 4000}, "client": {"complete": True}})
    open_session(client, "long", [{"role": "user", "content": "word " * 8000}, *conversation()])
    shown = await client.command(PREVIEW, {"sessionId": "long"})
    dry = await client.command("lithify.compact_conversation", {"sessionId": "long", "dryRun": True})
    assert dry["requests"] > 1
    assert f"\n* Requests: {dry['requests']}\n" in shown["text"]
    assert "Below is the first one." in shown["text"]


async def test_the_host_that_text_would_go_to_is_named(start: Starter) -> None:
    http = {"baseUrl": "https://models.example.com:8443/v1", "wire": "openai", "model": "small"}
    client = await start(options={"model": {"provider": "http", "http": http}})
    open_session(client, "s", conversation())
    shown = await client.command(PREVIEW, {"sessionId": "s"})
    assert "\n* Model: small, by the provider `http`\n" in shown["text"]
    assert "\n* The text goes to: models.example.com" in shown["text"]


async def test_where_no_model_can_be_asked_the_preview_says_why(start: Starter) -> None:
    client = await start(options={"model": {"provider": "acp", "acp": {"profile": "nobody"}}})
    open_session(client, "s", conversation())
    shown = await client.command(PREVIEW, {"sessionId": "s"})
    assert "\n* Model: none can be asked: model.acp.profile is 'nobody'" in shown["text"]
    assert "\n* The text goes to: nowhere\n" in shown["text"]


# --- how it is shown ----------------------------------------------------------------------------------------


async def test_the_editor_is_asked_to_show_it(start: Starter) -> None:
    client = await start(capabilities=SHOWS)
    client.answerers["window/showDocument"] = lambda _: {"success": True}
    open_session(client, "s", conversation())
    shown = await client.command(PREVIEW, {"sessionId": "s"})
    assert await client.notification("window/showDocument") == {"uri": shown["uri"], "takeFocus": True}


async def test_an_editor_that_does_not_show_documents_is_not_asked(start: Starter) -> None:
    client = await start()
    open_session(client, "s", conversation())
    await client.command(PREVIEW, {"sessionId": "s"})
    await client.command(PREVIEW, {"sessionId": "s"})
    assert client.received("window/showDocument") == []


def refused(_: Any) -> Any:
    raise Refusal(-32803, "no")


@pytest.mark.parametrize("answer", [lambda _: {"success": False}, lambda _: None, refused])
async def test_a_preview_that_is_not_shown_is_told_with_its_place(start: Starter, answer: Any) -> None:
    client = await start(capabilities=SHOWS)
    client.answerers["window/showDocument"] = answer
    open_session(client, "s", conversation())
    shown = await client.command(PREVIEW, {"sessionId": "s"})
    told = await client.notification("window/showMessage")
    assert shown["uri"] in told["message"]


# --- where it lies ------------------------------------------------------------------------------------------


async def preview_file(client: RawClient) -> Path:
    open_session(client, "s", conversation())
    shown = await client.command(PREVIEW, {"sessionId": "s"})
    path = path_of(shown["uri"])
    assert path.read_text(encoding="utf-8") == shown["text"]
    return path


async def test_the_file_is_private_and_read_only(start: Starter) -> None:
    client = await start()
    path = await preview_file(client)
    previews = client.data_dir / "previews"
    assert previews in path.parents
    assert stat.S_IMODE(path.stat().st_mode) == 0o400
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, previews)} == {0o700}


async def test_the_files_are_gone_with_the_server(start: Starter) -> None:
    client = await start()
    await preview_file(client)
    await client.shut_down()
    assert list((client.data_dir / "previews").iterdir()) == []


async def test_what_a_server_left_that_was_killed_is_gone_with_the_next_one_and_what_another_shows_stays(
    start: Starter,
) -> None:
    killed, other = await start(), await start()
    left, kept = await preview_file(killed), await preview_file(other)
    killed.process.kill()
    await killed.process.wait()
    fresh = await start()
    await preview_file(fresh)
    await fresh.shut_down()
    assert not left.exists()
    assert kept.exists()
    assert sorted(one.name for one in (other.data_dir / "previews").iterdir()) == sorted(
        (kept.parent.name, f"{kept.parent.name}.lock")
    )


async def test_a_preview_that_cannot_be_written_is_told(start: Starter) -> None:
    client = await start()
    open_session(client, "s", conversation())
    await settled(client)
    (client.data_dir / "previews").write_text("in the way")
    failure = await client.command_failure(PREVIEW, {"sessionId": "s"})
    assert (failure.code, failure.type) == (-32803, "storage_failed")
    assert "previews" in failure.message


async def test_an_editor_that_shows_no_documents_is_told_where_the_preview_lies(
    text_editor: TextEditor, uri: str
) -> None:
    text_editor.open(uri, TEXT)
    shown = await text_editor.client.command(PREVIEW, {"uri": uri})
    (told,) = text_editor.client.received("window/showMessage")
    assert told == {"type": 3, "message": f"The preview of the compaction is in {path_of(shown['uri'])}"}


WITH_SYSTEM = json_lines([{"role": "system", "content": "You are terse."}, *CHAT])


async def test_lens_action_preview_result_and_command_line_count_the_same_messages(
    text_editor: TextEditor, uri: str
) -> None:
    text_editor.open(uri, WITH_SYSTEM)
    lens = (await text_editor.request("codeLens", uri))[-2]["command"]
    actions = await text_editor.actions(uri, WITH_SYSTEM.index("Done"))
    (preview,) = [one for one in actions if "Preview" in one["title"]]
    shown = await text_editor.run(preview["command"])
    done = await text_editor.run(lens)
    assert lens["title"].startswith("Compact up to here: 5 messages, ")
    assert actions[0]["title"].startswith("Compact up to here (5 messages, ")
    assert preview["title"].startswith("Preview compaction up to here (5 messages, ")
    which = "from 2 to 6 (message 1 is the system message and stays)"
    assert f"\n* Messages: 5 of 7 are summarised, {which}; 3 are left\n" in shown["text"]
    before, after = done["stats"]["messagesBefore"], done["stats"]["messagesAfter"]
    assert (before, after, before - after + 1) == (7, 3, 5)
    plan = Plan(Range(**done["range"]), Range(**done["requestedRange"]))
    told = compacted([json.loads(line) for line in WITH_SYSTEM.splitlines()], plan)
    assert told == "messages 2 to 6 (message 1 is the system message and stays)"
