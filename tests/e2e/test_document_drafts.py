"""Drafts of documents: a summary that waits until the user applies it, edited or not, or discards it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.document_chat import CHAT, FULL, TEXT, UP_TO_HERE, summary_line
from tests.support.editor import SUMMARY, SilentModel, Starter, answers, conversation, open_session
from tests.support.messages import user
from tests.support.raw_client import NEVER, Json, RawClient
from tests.support.text_editor import EDITS, TextEditor
from tests.support.transcripts import json_lines

pytestmark = pytest.mark.asyncio(loop_scope="module")

APPLY, DISCARD, UNDO = "lithify.apply_compaction", "lithify.discard_draft", "lithify.undo_compaction"
EDIT = "What the user wrote: \U0001f469\u200d\U0001f52c and \u00fc."


def files(folder: Path) -> dict[str, bytes]:
    """What lies in a folder: each name, and its bytes."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


async def drafted(text_editor: TextEditor, uri: str, command: str = UP_TO_HERE, **argument: Any) -> Json:
    """A draft of all but the last message of that chat."""
    if command == UP_TO_HERE:
        argument = {"index": 4, **argument}
    draft: Json = await text_editor.client.command(command, {"uri": uri, "draft": True, **argument})
    assert draft["type"] == "draft"
    return draft


async def applied(text_editor: TextEditor, draft: Json, **argument: Any) -> Json:
    done: Json = await text_editor.client.command(APPLY, {"draftId": draft["draftId"], **argument})
    assert done["type"] == "compacted"
    return done


async def refused(text_editor: TextEditor, draft: Json) -> tuple[str, bool]:
    """Why a draft is not applied, and whether it may be tried again."""
    failure = await text_editor.client.command_failure(APPLY, {"draftId": draft["draftId"]})
    return failure.type, failure.data["retryable"]


# --- in an open document --------------------------------------------------------------------------------------


async def test_a_draft_tells_what_the_compaction_would_and_changes_nothing(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    draft = await drafted(text_editor, uri)
    asked = len(text_editor.client.received("lithify/complete"))
    done = await applied(text_editor, draft)
    assert {**draft, "type": "compacted", "compactionId": done["compactionId"]} == {
        **done,
        "draftId": draft["draftId"],
    }
    assert (draft["uri"], draft["range"], asked) == (uri, {"start": 0, "end": 5}, 1)
    assert len(text_editor.client.received("lithify/complete")) == 1


async def test_a_draft_is_no_edit_until_it_is_applied(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    draft = await drafted(text_editor, uri)
    assert (text_editor.asked, text_editor.texts[uri]) == ([], TEXT)
    await applied(text_editor, draft)
    assert text_editor.texts[uri] == f"{summary_line()}\n{json_lines(CHAT[5:])}"
    assert len(text_editor.asked) == 1


async def test_the_users_edit_stands_in_the_place_of_the_models_text(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    done = await applied(text_editor, await drafted(text_editor, uri), summaryText=EDIT)
    assert text_editor.texts[uri] == f"{summary_line(EDIT)}\n{json_lines(CHAT[5:])}"
    assert done["summary"]["content"][1]["text"] == EDIT


@pytest.mark.parametrize(
    ("command", "label"), [(FULL, "Compact conversation"), (UP_TO_HERE, "Compact up to here")], ids=["full", "up to"]
)
async def test_the_edit_is_labelled_with_what_was_asked(
    text_editor: TextEditor, uri: str, command: str, label: str
) -> None:
    text_editor.open(uri, TEXT)
    await applied(text_editor, await drafted(text_editor, uri, command))
    assert text_editor.asked[0]["label"] == label


async def test_what_is_typed_outside_of_the_range_since_is_kept(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    draft = await drafted(text_editor, uri)
    text_editor.replace(uri, "Thanks", "Thank you")
    end = len(text_editor.texts[uri])
    text_editor.type(uri, end, end, json_lines([user("more")]))
    done = await applied(text_editor, draft)
    assert text_editor.texts[uri] == f"{summary_line()}\n{json_lines([user('Thank you'), user('more')])}"
    assert (done["stats"]["messagesBefore"], done["stats"]["messagesAfter"]) == (7, 3)


async def test_a_range_that_moved_since_is_found_again(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    draft = await drafted(text_editor, uri, FULL, start=4, end=6)
    text_editor.type(uri, 0, 0, json_lines([user("in front")]))
    done = await applied(text_editor, draft)
    assert done["range"] == {"start": 5, "end": 7}
    assert text_editor.texts[uri] == f"{json_lines([user('in front'), *CHAT[:4]])}{summary_line()}\n"


async def test_what_is_typed_inside_of_the_range_since_makes_it_stale_until_it_is_taken_back(
    text_editor: TextEditor, uri: str
) -> None:
    text_editor.open(uri, TEXT)
    draft = await drafted(text_editor, uri)
    text_editor.replace(uri, "sum", "product")
    text = text_editor.texts[uri]
    assert await refused(text_editor, draft) == ("stale", False)
    assert (text_editor.texts[uri], text_editor.asked) == (text, [])
    text_editor.replace(uri, "product", "sum")
    await applied(text_editor, draft)


async def test_an_edit_that_the_editor_refuses_leaves_the_draft(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    draft = await drafted(text_editor, uri)
    makes = text_editor.client.answerers["workspace/applyEdit"]
    text_editor.client.answerers["workspace/applyEdit"] = lambda _: {"applied": False}
    assert await refused(text_editor, draft) == ("stale", False)
    text_editor.client.answerers["workspace/applyEdit"] = makes
    await applied(text_editor, draft)


async def test_the_draft_of_a_document_that_was_closed_and_has_no_file_is_stale(
    text_editor: TextEditor, uri: str
) -> None:
    text_editor.open(uri, TEXT)
    draft = await drafted(text_editor, uri)
    text_editor.close(uri)
    assert await refused(text_editor, draft) == ("stale", False)
    text_editor.open(uri, TEXT)
    await applied(text_editor, draft)


async def test_a_draft_is_applied_once(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    draft = await drafted(text_editor, uri)
    await applied(text_editor, draft)
    assert await refused(text_editor, draft) == ("unknown_draft", False)


async def test_an_applied_draft_can_be_undone(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    done = await applied(text_editor, await drafted(text_editor, uri), summaryText=EDIT)
    undone = await text_editor.client.command(UNDO, {"uri": uri})
    assert (undone, text_editor.texts[uri]) == ({"uri": uri, "compactionId": done["compactionId"]}, TEXT)


async def test_a_draft_that_is_discarded_is_gone(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    draft = await drafted(text_editor, uri)
    assert await text_editor.client.command(DISCARD, {"draftId": draft["draftId"]}) == {"discarded": True}
    for command in (APPLY, DISCARD):
        failure = await text_editor.client.command_failure(command, {"draftId": draft["draftId"]})
        assert failure.type == "unknown_draft"


async def test_a_blank_edit_is_an_invalid_param_and_the_draft_stays(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    draft = await drafted(text_editor, uri)
    failure = await text_editor.client.command_failure(APPLY, {"draftId": draft["draftId"], "summaryText": " \n"})
    assert (failure.type, text_editor.asked) == ("invalid_params", [])
    await applied(text_editor, draft)


async def test_while_a_draft_is_made_the_document_is_busy(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    earlier = await drafted(text_editor, uri)
    model = SilentModel(text_editor.client)
    running = text_editor.client.ask_command(FULL, {"uri": uri, "draft": True})
    await model.asked()
    assert await refused(text_editor, earlier) == ("busy", True)
    assert (await text_editor.client.command_failure(UNDO, {"uri": uri})).type == "busy"
    await model.answer({"text": SUMMARY})
    assert (await text_editor.client.result_of(running))["type"] == "draft"


async def test_while_a_draft_is_applied_it_can_neither_be_applied_nor_discarded(
    text_editor: TextEditor, uri: str
) -> None:
    text_editor.open(uri, TEXT)
    draft = await drafted(text_editor, uri)
    client = text_editor.client
    client.answerers["workspace/applyEdit"] = lambda _: NEVER
    applying = client.ask_command(APPLY, {"draftId": draft["draftId"]})
    edit = await client.wait_for(lambda one: one.get("method") == "workspace/applyEdit")
    failures = [await client.command_failure(command, {"draftId": draft["draftId"]}) for command in (APPLY, DISCARD)]
    client.send({"jsonrpc": "2.0", "id": edit["id"], "result": {"applied": True}})
    assert (await client.result_of(applying))["type"] == "compacted"
    assert [failure.type for failure in failures] == ["busy", "busy"]


async def test_a_draft_is_not_applied_where_compaction_was_switched_off_since(start: Starter, uri: str) -> None:
    client = await start(options={"client": {"complete": True}}, capabilities=EDITS)
    client.answerers["lithify/complete"] = answers()
    text_editor = TextEditor(client)
    text_editor.open(uri, TEXT)
    draft = await drafted(text_editor, uri)
    off = {"conversation": {"compaction": {"enabled": False}}}
    client.notify("workspace/didChangeConfiguration", {"settings": {"lithify": off}})
    assert await refused(text_editor, draft) == ("disabled", False)
    assert (text_editor.asked, text_editor.texts[uri]) == ([], TEXT)


async def test_a_draft_of_nothing_is_a_no_op_and_a_dry_run_wins_over_a_draft(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    nothing = await text_editor.client.command(FULL, {"uri": uri, "start": 2, "end": 2, "draft": True})
    preview = await text_editor.client.command(FULL, {"uri": uri, "draft": True, "dryRun": True})
    assert (nothing, preview["type"]) == ({"type": "noop", "reason": "empty"}, "preview")
    assert text_editor.client.received("lithify/complete") == []


async def test_drafts_of_sessions_and_of_documents_are_applied_by_one_command(
    text_editor: TextEditor, uri: str
) -> None:
    client: RawClient = text_editor.client
    open_session(client, "beside a document", conversation())
    text_editor.open(uri, TEXT)
    in_document = await drafted(text_editor, uri)
    in_session = await client.command(FULL, {"sessionId": "beside a document", "draft": True})
    assert (await applied(text_editor, in_session))["sessionId"] == "beside a document"
    assert (await applied(text_editor, in_document))["uri"] == uri


# --- in a file ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["no mark", "BOM"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("ended", [True, False], ids=["ended", "not ended"])
async def test_a_draft_of_a_file_is_written_when_it_is_applied(
    text_editor: TextEditor, tmp_path: Path, mark: str, ending: str, ended: bool
) -> None:
    file = tmp_path / "chat.jsonl"
    text = mark + json_lines(CHAT, ending, ended=ended)
    file.write_bytes(text.encode())
    draft = await drafted(text_editor, file.as_uri())
    assert files(tmp_path) == {"chat.jsonl": text.encode()}
    await applied(text_editor, draft, summaryText=EDIT)
    tail = text[text.index(ending + '{"role": "user", "content": "Thanks') :]
    assert file.read_bytes() == (mark + summary_line(EDIT) + tail).encode()


async def test_what_another_program_wrote_outside_of_the_range_since_is_kept(
    text_editor: TextEditor, tmp_path: Path
) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_text(TEXT, encoding="utf-8")
    draft = await drafted(text_editor, file.as_uri())
    file.write_text(TEXT + json_lines([user("more")]), encoding="utf-8")
    await applied(text_editor, draft)
    assert file.read_text(encoding="utf-8") == f"{summary_line()}\n{json_lines([CHAT[5], user('more')])}"


async def test_what_another_program_wrote_inside_of_the_range_since_makes_it_stale(
    text_editor: TextEditor, tmp_path: Path
) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_text(TEXT, encoding="utf-8")
    draft = await drafted(text_editor, file.as_uri())
    file.write_text(TEXT.replace("sum", "product"), encoding="utf-8")
    assert await refused(text_editor, draft) == ("stale", False)
    assert file.read_text(encoding="utf-8") == TEXT.replace("sum", "product")


@pytest.mark.parametrize("change", ["deleted", "renamed"])
async def test_the_draft_of_a_file_that_is_gone_is_stale_until_it_is_back(
    text_editor: TextEditor, tmp_path: Path, change: str
) -> None:
    file, elsewhere = tmp_path / "chat.jsonl", tmp_path / "other.jsonl"
    file.write_text(TEXT, encoding="utf-8")
    draft = await drafted(text_editor, file.as_uri())
    if change == "renamed":
        file.rename(elsewhere)
    else:
        file.unlink()
    assert await refused(text_editor, draft) == ("stale", False)
    assert files(tmp_path) == ({"other.jsonl": TEXT.encode()} if change == "renamed" else {})
    file.write_text(TEXT, encoding="utf-8")
    await applied(text_editor, draft)


async def test_the_draft_of_a_file_that_was_opened_since_is_an_edit_there(
    text_editor: TextEditor, tmp_path: Path
) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_text(TEXT, encoding="utf-8")
    draft = await drafted(text_editor, file.as_uri())
    text_editor.open(file.as_uri(), TEXT)
    await applied(text_editor, draft)
    assert text_editor.texts[file.as_uri()] == f"{summary_line()}\n{json_lines(CHAT[5:])}"
    assert file.read_text(encoding="utf-8") == TEXT
