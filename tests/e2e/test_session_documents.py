"""Live sessions as documents: their text, what is shown and offered in it, and what becomes of it when they change."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from tests.support.document_chat import FULL, UP_TO_HERE
from tests.support.editor import SUMMARY, Starter, answers, conversation, open_session, session, settled
from tests.support.messages import calling, result, user
from tests.support.raw_client import Json, RawClient
from tests.support.text_editor import EDITS, TextEditor
from tests.support.text_positions import offset

pytestmark = pytest.mark.asyncio(loop_scope="module")

NUMBERS = count()
REFRESHES: Json = {**EDITS, "workspace": {**EDITS["workspace"], "codeLens": {"refreshSupport": True}}}
REFRESH = "workspace/codeLens/refresh"
OFF: Json = {"compaction": {"enabled": False, "type": "kimi"}}

CHAT: list[Json] = [
    {"role": "system", "content": "be brief"},
    user("Fix the \U0001f600 sum"),
    calling("c1"),
    result("c1", "## 9. user\n\n```\nnot mine"),
    {"role": "assistant", "content": "Done \U0001f600.\r\nReally."},
    user("Thanks"),
]


@pytest.fixture
def session_id() -> str:
    """The id of a session of the test's own."""
    return f"chat {next(NUMBERS)}/ä?#%"


async def document(client: RawClient, session_id: str) -> Json:
    """The document of a session."""
    told: Json = await client.request("lithify/sessionDocument", {"sessionId": session_id})
    return told


async def opened(editor: TextEditor, session_id: str, messages: list[Json], **more: Any) -> str:
    """Opens a session and its document; its URI."""
    open_session(editor.client, session_id, messages, **more)
    told = await document(editor.client, session_id)
    editor.open(told["uri"], told["text"])
    return str(told["uri"])


def append(editor: TextEditor, session_id: str, *messages: Json) -> None:
    editor.client.notify("lithify/didAppendMessages", {"sessionId": session_id, "messages": list(messages)})


async def shown(editor: TextEditor, uri: str) -> tuple[list[str], list[str]]:
    """The names of the symbols and the titles of the lenses."""
    symbols = await editor.request("documentSymbol", uri)
    lenses = await editor.request("codeLens", uri)
    return [symbol["name"] for symbol in symbols], [lens["command"]["title"] for lens in lenses]


# --- the text -----------------------------------------------------------------------------------------------


async def test_a_session_is_a_markdown_document_under_a_uri_of_its_own(
    text_editor: TextEditor, session_id: str
) -> None:
    open_session(text_editor.client, session_id, CHAT, title="Receipts")
    told = await document(text_editor.client, session_id)
    assert told["uri"] == f"lithify-session:chat%20{session_id.split('/')[0][5:]}%2F%C3%A4%3F%23%25"
    assert told["languageId"] == "markdown"
    assert told["text"].startswith("# Receipts\n\n## 1. system\n\nbe brief\n\n## 2. user\n\nFix the \U0001f600 sum\n")


async def test_an_unknown_session_has_no_document(text_editor: TextEditor) -> None:
    failure = await text_editor.client.failure("lithify/sessionDocument", {"sessionId": "nobody"})
    assert (failure.code, failure.type) == (-32602, "unknown_session")


# --- what is shown and offered ------------------------------------------------------------------------------


async def test_each_message_has_its_symbol_fold_and_hover_whatever_the_texts_look_like(
    text_editor: TextEditor, session_id: str
) -> None:
    uri = await opened(text_editor, session_id, CHAT)
    text = text_editor.texts[uri]
    symbols = await text_editor.request("documentSymbol", uri)
    assert [symbol["name"].partition(":")[0] for symbol in symbols] == [message["role"] for message in CHAT]
    for number, symbol in enumerate(symbols, start=1):
        start, end = (offset(text, symbol["range"][side], text_editor.encoding) for side in ("start", "end"))
        assert text[start:end].startswith(f"## {number}. {CHAT[number - 1]['role']}")
    assert text[offset(text, symbols[3]["range"]["start"], text_editor.encoding) :].count("## 9. user") == 1
    folds = await text_editor.request("foldingRange", uri)
    assert [fold["startLine"] for fold in folds] == [symbol["range"]["start"]["line"] for symbol in symbols]
    hover = await text_editor.request("hover", uri, position={"line": folds[3]["startLine"] + 4, "character": 0})
    assert hover["contents"]["value"].startswith("tool, message 4 of 6, ")


async def test_a_lens_names_the_session_and_the_message(text_editor: TextEditor, session_id: str) -> None:
    uri = await opened(text_editor, session_id, conversation())
    lens = (await text_editor.request("codeLens", uri))[1]
    assert lens["command"]["title"].startswith("Compact up to here: 2 messages, ")
    (argument,) = lens["command"]["arguments"]
    assert {**argument, "digest": ""} == {"sessionId": session_id, "messageId": "a0", "digest": ""}
    done = await text_editor.run(lens["command"])
    assert (done["sessionId"], done["range"]) == (session_id, {"start": 0, "end": 2})


@pytest.mark.parametrize("ids", [[None, None], ["", ""], ["same", "same"]])
async def test_a_message_without_an_id_of_its_own_is_named_by_its_index(
    text_editor: TextEditor, session_id: str, ids: list[str | None]
) -> None:
    chat = [{**user("a"), "id": ids[0]}, {**user("b"), "id": ids[1]}, user("c")]
    uri = await opened(text_editor, session_id, chat)
    lenses = await text_editor.request("codeLens", uri)
    assert [lens["command"]["arguments"][0].get("index") for lens in lenses] == [0, 1, 2]
    assert (await text_editor.run(lenses[1]["command"]))["range"] == {"start": 0, "end": 2}


async def test_actions_act_on_the_session(text_editor: TextEditor, session_id: str) -> None:
    uri = await opened(text_editor, session_id, CHAT)
    text = text_editor.texts[uri]
    actions = await text_editor.actions(uri, text.index("Done"), text.index("Thanks"))
    assert [action["title"].partition(" (")[0] for action in actions] == [
        "Compact up to here",
        "Compact selection",
        "Compact conversation",
        "Compact up to here with instructions…",
        "Preview compaction up to here",
    ]
    assert actions[2]["command"]["arguments"] == [{"sessionId": session_id}]
    done = await text_editor.run(actions[1]["command"])
    assert (done["sessionId"], done["range"]) == (session_id, {"start": 4, "end": 6})
    assert text_editor.asked == []


async def test_a_lens_inside_a_group_of_calls_counts_the_whole_group(text_editor: TextEditor, session_id: str) -> None:
    uri = await opened(text_editor, session_id, CHAT)
    _, lenses = await shown(text_editor, uri)
    assert [title.split(",")[0] for title in lenses] == [
        "Compact up to here: 1 message",
        *["Compact up to here: 3 messages"] * 2,
        "Compact up to here: 4 messages",
        "Compact up to here: 5 messages",
    ]


@pytest.mark.parametrize("agent", [OFF, {}, {"compaction": {"enabled": True, "type": "other"}}])
async def test_nothing_is_offered_where_the_agent_has_compaction_off(
    text_editor: TextEditor, session_id: str, agent: Json
) -> None:
    uri = await opened(text_editor, session_id, conversation(), agent=agent)
    names, lenses = await shown(text_editor, uri)
    assert (len(names), lenses) == (8, [])
    assert await text_editor.actions(uri, len(text_editor.texts[uri]) // 2) == []


async def test_the_agent_decides_how_much_is_preserved(text_editor: TextEditor, session_id: str) -> None:
    agent = {"compaction": {"enabled": True, "type": "kimi", "maxPreservedMessages": 8}}
    uri = await opened(text_editor, session_id, conversation(), agent=agent)
    assert "Compact conversation" not in [one["title"] for one in await text_editor.actions(uri, 40)]


@pytest.mark.parametrize("method", [UP_TO_HERE, FULL])
async def test_the_uri_names_the_session_in_commands_too(text_editor: TextEditor, session_id: str, method: str) -> None:
    uri = await opened(text_editor, session_id, conversation())
    done = await text_editor.client.command(method, {"uri": uri, **({"index": 3} if method == UP_TO_HERE else {})})
    assert (done["type"], done["sessionId"]) == ("compacted", session_id)
    undone = await text_editor.client.command("lithify.undo_compaction", {"uri": uri})
    assert (undone["sessionId"], undone["messages"]) == (session_id, conversation())


@pytest.mark.parametrize("uri", ["lithify-session:nobody", "lithify-session:", "LITHIFY-SESSION:nobody%FF"])
async def test_a_uri_of_no_session_is_an_unknown_session(text_editor: TextEditor, uri: str) -> None:
    assert (await text_editor.client.command_failure(FULL, {"uri": uri})).type == "unknown_session"
    text_editor.open(uri, "# nobody\n")
    assert await shown(text_editor, uri) == ([], [])


# --- what is no longer up to date ---------------------------------------------------------------------------


async def test_where_a_session_grew_what_is_shown_of_it_stays(text_editor: TextEditor, session_id: str) -> None:
    uri = await opened(text_editor, session_id, conversation())
    before = await shown(text_editor, uri)
    append(text_editor, session_id, user("More"))
    assert await shown(text_editor, uri) == before
    lens = (await text_editor.request("codeLens", uri))[1]
    assert (await text_editor.run(lens["command"]))["range"] == {"start": 0, "end": 2}


async def test_what_would_reach_over_messages_that_are_not_shown_is_not_offered(
    text_editor: TextEditor, session_id: str
) -> None:
    uri = await opened(text_editor, session_id, [user("Go"), calling("c1")])
    assert len((await shown(text_editor, uri))[1]) == 2
    append(text_editor, session_id, result("c1", "late"))
    assert len((await shown(text_editor, uri))[1]) == 1


async def test_where_a_session_was_compacted_nothing_is_shown_until_the_text_is_asked_for_again(
    text_editor: TextEditor, session_id: str
) -> None:
    uri = await opened(text_editor, session_id, conversation())
    await text_editor.client.command(UP_TO_HERE, {"sessionId": session_id, "index": 3})
    assert await shown(text_editor, uri) == ([], [])
    assert await text_editor.request("foldingRange", uri) == []
    assert await text_editor.request("hover", uri, position={"line": 3, "character": 0}) is None
    assert await text_editor.actions(uri, 40) == []
    told = await document(text_editor.client, session_id)
    assert "\n## 1. user (the summary of a compaction)\n" in told["text"]
    assert SUMMARY in told["text"]
    text_editor.type(uri, 0, len(text_editor.texts[uri]), told["text"])
    names, lenses = await shown(text_editor, uri)
    assert (len(names), len(lenses)) == (5, 5)


@pytest.mark.parametrize("change", ["compacted", "spliced", "replaced", "cut"])
async def test_a_lens_of_before_a_change_never_means_other_messages(
    text_editor: TextEditor, session_id: str, change: str
) -> None:
    said = [{"role": message["role"], "content": message["content"]} for message in conversation()]
    uri = await opened(text_editor, session_id, said)
    lens = (await text_editor.request("codeLens", uri))[3]
    if change == "compacted":
        await text_editor.client.command(UP_TO_HERE, {"sessionId": session_id, "index": 1})
    elif change == "replaced":
        open_session(text_editor.client, session_id, [user("Another chat"), *said])
    else:
        spliced = {"sessionId": session_id, "start": 1, "deleteCount": 6, "messages": []}
        if change == "spliced":
            spliced |= {"deleteCount": 1, "messages": [user("Edited")]}
        text_editor.client.notify("lithify/didSpliceMessages", spliced)
    before = await session(text_editor.client, session_id)
    failure = await text_editor.client.command_failure(*command_of(lens))
    assert (failure.code, failure.type, failure.data["retryable"]) == (-32801, "stale", False)
    assert await session(text_editor.client, session_id) == before


def command_of(lens: Json) -> tuple[str, Json]:
    return lens["command"]["command"], lens["command"]["arguments"][0]


async def test_an_action_of_before_a_change_never_means_other_messages(
    text_editor: TextEditor, session_id: str
) -> None:
    uri = await opened(text_editor, session_id, conversation())
    text = text_editor.texts[uri]
    actions = await text_editor.actions(uri, text.index("Question 1"), text.index("Answer 2"))
    await text_editor.client.command(UP_TO_HERE, {"sessionId": session_id, "index": 1})
    for action in (actions[0], actions[1], actions[4]):
        assert (await text_editor.client.command_failure(*command_of(action))).type in ("stale", "unknown_message")


@pytest.mark.parametrize("instead", ["Questions 1", "Question i"])
async def test_a_text_that_the_user_changed_is_not_taken_for_the_session(
    text_editor: TextEditor, session_id: str, instead: str
) -> None:
    uri = await opened(text_editor, session_id, conversation())
    text_editor.replace(uri, "Question 1", instead)
    assert await shown(text_editor, uri) == ([], [])


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
async def test_an_editor_that_makes_all_line_endings_alike_sees_the_same(
    text_editor: TextEditor, session_id: str, ending: str
) -> None:
    uri = await opened(text_editor, session_id, CHAT)
    before = await text_editor.request("documentSymbol", uri)
    alike = text_editor.texts[uri].replace("\r\n", "\n").replace("\n", ending)
    text_editor.type(uri, 0, len(text_editor.texts[uri]), alike)
    assert await text_editor.request("documentSymbol", uri) == before


async def test_a_session_without_messages_has_a_document_and_nothing_in_it(
    text_editor: TextEditor, session_id: str
) -> None:
    uri = await opened(text_editor, session_id, [])
    assert text_editor.texts[uri] == f"# Session {session_id}\n"
    assert await shown(text_editor, uri) == ([], [])
    assert await text_editor.actions(uri, 0) == []


# --- lenses are asked for again -----------------------------------------------------------------------------


async def refreshing(start: Starter, **more: Any) -> TextEditor:
    """An editor that takes refreshes, and has answered none yet."""
    client = await start(capabilities=REFRESHES, **more)
    client.answerers[REFRESH] = lambda _: None
    client.answerers["lithify/complete"] = answers()
    return TextEditor(client)


@pytest.mark.parametrize("change", ["appended", "compacted", "agent", "deleted"])
async def test_lenses_are_refreshed_as_soon_as_an_open_session_changed(start: Starter, change: str) -> None:
    editor = await refreshing(start)
    uri = await opened(editor, "s", conversation())
    await shown(editor, uri)
    assert editor.client.received(REFRESH) == []
    if change == "appended":
        append(editor, "s", user("More"))
    elif change == "compacted":
        await editor.client.command(FULL, {"sessionId": "s"})
    elif change == "agent":
        editor.client.notify("lithify/didChangeSession", {"sessionId": "s", "agent": OFF})
    else:
        await editor.client.request("lithify/deleteSession", {"sessionId": "s"})
    for _ in range(2):
        await settled(editor.client)
    assert len(editor.client.received(REFRESH)) == 1
    names, lenses = await shown(editor, uri)
    assert (len(names), len(lenses)) == {"appended": (8, 8), "agent": (8, 0)}.get(change, (0, 0))


async def test_lenses_are_refreshed_after_another_window_changed_the_session(start: Starter) -> None:
    editor, other = await refreshing(start), await start()
    uri = await opened(editor, "s", conversation())
    await shown(editor, uri)
    other.notify("lithify/didAppendMessages", {"sessionId": "s", "messages": [user("More")]})
    await editor.client.wait_for(lambda one: one.get("method") == REFRESH)


async def test_changes_are_told_once_and_only_of_sessions_that_are_open(start: Starter) -> None:
    editor = await refreshing(start)
    uri = await opened(editor, "s", conversation())
    await shown(editor, uri)
    open_session(editor.client, "another", conversation())
    editor.close(uri)
    append(editor, "s", user("More"))
    await settled(editor.client)
    editor.open(uri, (await document(editor.client, "s"))["text"])
    await shown(editor, uri)
    assert editor.client.received(REFRESH) == []
    for _ in range(20):
        append(editor, "s", user("More"))
    await editor.client.wait_for(lambda one: one.get("method") == REFRESH)
    await settled(editor.client)
    assert len(editor.client.received(REFRESH)) == 1


@pytest.mark.parametrize(
    ("conversation", "refreshed"),
    [
        ({"compaction": {"enabled": False}}, True),
        ({"exactAnchor": True}, True),
        ({"timeoutMs": 5000}, False),
    ],
)
async def test_lenses_are_refreshed_after_a_setting_that_matters_changed(
    start: Starter, conversation: Json, refreshed: bool
) -> None:
    editor = await refreshing(start)
    changed = {"settings": {"lithify": {"conversation": conversation}}}
    editor.client.notify("workspace/didChangeConfiguration", changed)
    await settled(editor.client)
    assert len(editor.client.received(REFRESH)) == refreshed
    editor.client.notify("workspace/didChangeConfiguration", changed)
    await settled(editor.client)
    assert len(editor.client.received(REFRESH)) == refreshed


async def test_an_editor_that_takes_no_refresh_is_sent_none(start: Starter) -> None:
    client = await start(capabilities=EDITS)
    editor = TextEditor(client)
    await shown(editor, await opened(editor, "s", conversation()))
    append(editor, "s", user("More"))
    client.notify(
        "workspace/didChangeConfiguration",
        {"settings": {"lithify": {"conversation": {"compaction": {"enabled": False}}}}},
    )
    await settled(client)
    assert client.received(REFRESH) == []
