"""What the user of an editor without code of ours is told: warnings, and why nothing is offered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.agent_homes import AgentHome
from tests.support.document_chat import CHAT, FULL, TEXT, UP_TO_HERE
from tests.support.editor import Starter, conversation, open_session, settled
from tests.support.kept_sessions import keep
from tests.support.raw_client import Json, RawClient
from tests.support.text_editor import EDITS, TextEditor
from tests.support.transcripts import json_lines

pytestmark = pytest.mark.asyncio(loop_scope="module")

ASKING = "lithify.compact_with_instructions"
PLAIN: Json = {"model": {"provider": "offline"}, "client": {"bufferStatus": True}}
OWN_CODE: Json = {"model": {"provider": "offline"}, "client": {"sessionChanged": True, "askInstructions": True}}
SHOWS: Json = {**EDITS, "textDocument": {**EDITS["textDocument"], "publishDiagnostics": {}}}
URI = "file:///nowhere/chat.jsonl"
LONG = [{"role": "user", "content": f"{number}: look at the sum of part {number}. " * 40} for number in range(6)]
MARKED = "\ufeff" + json_lines([{"role": "_system_prompt", "content": "be brief"}, *CHAT])
"""A `context.jsonl` that kimi-cli could not load again."""

UNHEEDED = "The offline model does not heed instructions; the summary was made without them."


def warned(client: RawClient) -> list[Json]:
    return client.received("window/showMessage")


# --- warnings -----------------------------------------------------------------------------------------------


async def test_the_warnings_of_a_compaction_are_shown(start: Starter) -> None:
    client = await start(options=PLAIN, capabilities=EDITS)
    TextEditor(client).open(URI, json_lines(LONG))
    open_session(client, "s", LONG)
    drafted = await client.command(FULL, {"uri": URI, "instructions": "names", "draft": True})
    await client.command(FULL, {"uri": URI, "instructions": "names", "dryRun": True})
    assert warned(client) == []  # nothing was changed yet
    shown = {"type": 2, "message": f"The compaction is made, but: {UNHEEDED}"}
    await client.command("lithify.apply_compaction", {"draftId": drafted["draftId"]})
    assert warned(client) == [shown]
    await client.command(FULL, {"sessionId": "s", "instructions": "names"})
    assert warned(client) == [shown, shown]


async def test_a_compaction_without_a_flaw_shows_nothing(start: Starter) -> None:
    client = await start(options=PLAIN)
    open_session(client, "s", LONG)
    done = await client.command(UP_TO_HERE, {"sessionId": "s", "index": 4})
    assert [one["code"] for one in done["warnings"]] in ([], ["prompt_fallback"])
    assert warned(client) == []


async def test_an_editor_with_code_of_ours_tells_the_warnings_itself(start: Starter) -> None:
    client = await start(options=OWN_CODE)
    open_session(client, "s", LONG)
    done = await client.command(FULL, {"sessionId": "s", "instructions": "names"})
    assert "instructions_ignored" in {one["code"] for one in done["warnings"]}
    await settled(client)
    assert warned(client) == []


@pytest.mark.parametrize("options", [PLAIN, OWN_CODE], ids=["by choice", "in free words"])
async def test_the_user_is_told_before_the_question_that_nobody_heeds_the_answer(start: Starter, options: Json) -> None:
    client = await start(options=options)
    open_session(client, "s", conversation())
    own = "askInstructions" in options["client"]
    method = "lithify/askInstructions" if own else "window/showMessageRequest"
    client.answerers[method] = lambda _: None
    await client.command_failure(ASKING, {"command": FULL, "arguments": [{"sessionId": "s"}]})
    (asked,) = client.received(method)
    assert asked["note" if own else "message"].startswith("Only the offline model is there, which does not heed")


async def test_the_user_is_not_asked_for_instructions_when_no_model_can_be(start: Starter) -> None:
    client = await start(options={"model": {"provider": "acp", "acp": {"profile": "nobody"}}})
    open_session(client, "s", conversation())
    failure = await client.command_failure(ASKING, {"command": FULL, "arguments": [{"sessionId": "s"}]})
    assert failure.type == "model_unavailable"
    assert client.received("window/showMessageRequest") == []


# --- read-only ----------------------------------------------------------------------------------------------


def diagnostics(client: RawClient) -> list[Any]:
    return client.received("textDocument/publishDiagnostics")


async def test_a_read_only_chat_says_why_once_at_its_first_message(start: Starter) -> None:
    client = await start(options=PLAIN, capabilities=SHOWS)
    editor = TextEditor(client)
    editor.open(URI, MARKED)
    for _ in range(2):
        assert await editor.actions(URI, len(MARKED) // 2) == []
        assert await editor.request("codeLens", URI) == []
    ((told,),) = [one["diagnostics"] for one in diagnostics(client)]
    assert told["message"].startswith("Nothing can be compacted in this chat. A byte order mark hides the first record")
    assert (told["severity"], told["code"], told["source"]) == (3, "read_only", "lithify")
    assert (told["range"]["start"]["line"], told["range"]["end"]["line"]) == (1, 1)
    hovered = await editor.request("hover", URI, position={"line": 2, "character": 3})
    assert hovered["contents"]["value"].splitlines()[-1] == told["message"]

    editor.type(URI, 0, 1, "")
    assert await editor.actions(URI, len(MARKED) // 2) != []
    assert [one["diagnostics"] for one in diagnostics(client)][1:] == [[]]
    assert "compacted" not in str(await editor.request("hover", URI, position={"line": 2, "character": 3}))


@pytest.mark.parametrize(
    ("agent", "seen", "other"), [("claude-code", "2.1.332", "1.0.95"), ("codex", "0.171.0", "0.39.0")]
)
async def test_an_open_session_of_an_agents_version_that_was_not_seen_says_why_in_place_of_offers(
    start: Starter, tmp_path: Path, agent: str, seen: str, other: str
) -> None:
    home = AgentHome(tmp_path)
    path = keep(home, agent).path
    path.write_text(path.read_text().replace(seen, other))
    variables = {**dict.fromkeys(("CLAUDE_CONFIG_DIR", "CODEX_HOME"), ""), **home.environment}
    client = await start(options=PLAIN, capabilities=SHOWS, environment=variables)
    editor, uri, text = TextEditor(client), path.as_uri(), path.read_text()
    editor.open(uri, text)
    assert await editor.request("codeLens", uri) == []
    assert await editor.actions(uri, text.index("answer 1")) == []
    ((told,),) = [one["diagnostics"] for one in diagnostics(client)]
    assert told["message"].startswith("Nothing can be compacted in this chat. C")
    assert f" {other} wrote it, and only " in told["message"]
    place = {"line": text.count("\n", 0, text.index("answer 1")), "character": 3}
    hovered = await editor.request("hover", uri, position=place)
    assert hovered["contents"]["value"].splitlines()[-1] == told["message"]
    refused = await client.command_failure(FULL, {"uri": uri, "dryRun": True})
    assert told["message"].partition(". ")[2] in refused.message

    copy = (tmp_path / "copy.jsonl").as_uri()
    editor.open(copy, text)
    assert await editor.request("codeLens", copy) != [], "no agent goes on with that"
    assert len(diagnostics(client)) == 1


async def test_a_session_is_offered_again_once_a_version_that_was_seen_has_gone_on_with_it(
    start: Starter, tmp_path: Path
) -> None:
    home = AgentHome(tmp_path)
    kept = keep(home, "claude-code")
    kept.path.write_text(kept.path.read_text().replace("2.1.332", "1.0.95"))
    client = await start(options=PLAIN, capabilities=SHOWS, environment={"CLAUDE_CONFIG_DIR": "", **home.environment})
    editor, uri, text = TextEditor(client), kept.path.as_uri(), kept.path.read_text()
    editor.open(uri, text)
    assert await editor.request("codeLens", uri) == []
    kept.go_on()
    editor.type(uri, len(text), len(text), kept.path.read_text()[len(text) :])
    assert await editor.request("codeLens", uri) != []
    assert [len(one["diagnostics"]) for one in diagnostics(client)] == [1, 0]


async def test_what_was_said_of_a_read_only_chat_goes_when_it_is_closed(start: Starter) -> None:
    client = await start(options=PLAIN, capabilities=SHOWS)
    editor = TextEditor(client)
    editor.open(URI, MARKED)
    await editor.request("documentSymbol", URI)
    editor.close(URI)
    await settled(client)
    assert [len(one["diagnostics"]) for one in diagnostics(client)] == [1, 0]


async def test_nothing_is_said_of_other_documents(start: Starter) -> None:
    client = await start(options=PLAIN, capabilities=SHOWS)
    editor = TextEditor(client)
    for text in (TEXT, "import os\n", ""):
        editor.open(URI, text)
        await editor.actions(URI, 0)
        editor.close(URI)
    await settled(client)
    assert diagnostics(client) == []


async def test_an_editor_that_shows_no_diagnostics_gets_none(start: Starter) -> None:
    client = await start(options=PLAIN, capabilities=EDITS)
    editor = TextEditor(client)
    editor.open(URI, MARKED)
    await editor.actions(URI, 0)
    await settled(client)
    assert diagnostics(client) == []
