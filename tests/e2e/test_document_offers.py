"""Code actions and lenses of a document: offered where they would do something, and nowhere else."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.support.document_chat import CHAT, FULL, TEXT
from tests.support.messages import user
from tests.support.text_editor import TextEditor
from tests.support.transcripts import json_lines

pytestmark = pytest.mark.asyncio(loop_scope="module")


def more(amount: str) -> list[str]:
    """What is offered beside the compactions themselves."""
    return ["Compact up to here with instructions…", f"Preview compaction up to here ({amount})"]


async def test_a_selection_that_ends_where_the_next_message_begins_does_not_hold_it(
    text_editor: TextEditor, uri: str
) -> None:
    text_editor.open(uri, TEXT)
    start = TEXT.index('{"role": "assistant", "content": "Done')
    actions = await text_editor.actions(uri, start, TEXT.index("\n", start) + 1)
    assert [action["title"] for action in actions] == [
        "Compact up to here (5 messages, 1.9k tokens)",
        "Compact conversation",
        *more("5 messages, 1.9k tokens"),
    ]


@pytest.mark.parametrize(
    ("only", "offered"),
    [
        (["refactor"], True),
        (["refactor.rewrite"], True),
        (["quickfix", "refactor.rewrite.compact"], True),
        ([""], True),
        (["quickfix"], False),
        (["refactor.rewrite.compact.more"], False),
        (["refactor.re"], False),
    ],
)
async def test_only_actions_of_the_kinds_that_are_asked_for_are_offered(
    text_editor: TextEditor, uri: str, only: list[str], offered: bool
) -> None:
    text_editor.open(uri, TEXT)
    assert bool(await text_editor.actions(uri, 0, only=only)) == offered


async def test_messages_on_one_line_are_told_apart_by_the_cursor(text_editor: TextEditor, uri: str) -> None:
    text = json.dumps(CHAT)
    text_editor.open(uri, text)
    up_to_here, *_ = await text_editor.actions(uri, text.index("Done"))
    assert up_to_here["title"] == "Compact up to here (5 messages, 1.9k tokens)"
    assert up_to_here["command"]["arguments"] == [{"uri": uri, "index": 4}]
    (lens,) = await text_editor.request("codeLens", uri)
    assert lens["command"]["arguments"] == [{"uri": uri, "line": 0}]
    assert lens["command"]["title"] == "Compact up to here: 6 messages, 1.9k tokens"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "import os\n",
        "# Notes\n\nThe user said: no.\n",
        '{"role": "_system_prompt", "content": "be brief"}\n',
        json_lines([{"role": "system", "content": "be brief"}]),
        json.dumps(CHAT)[:-9],
        "\ufeff" + json_lines([{"role": "_system_prompt", "content": "be brief"}, *CHAT]),
    ],
    ids=["empty", "blank", "code", "notes", "no message", "system only", "broken", "read-only"],
)
async def test_nothing_is_offered_where_it_would_do_nothing(text_editor: TextEditor, uri: str, text: str) -> None:
    text_editor.open(uri, text)
    assert await text_editor.actions(uri, len(text) // 2) == []
    assert await text_editor.request("codeLens", uri) == []


async def test_no_conversation_is_offered_that_has_nothing_in_front_of_its_tail(
    text_editor: TextEditor, uri: str
) -> None:
    text_editor.open(uri, json_lines(CHAT[:1]))
    assert [action["title"] for action in await text_editor.actions(uri, 0)] == [
        "Compact up to here (1 message, 6 tokens)",
        *more("1 message, 6 tokens"),
    ]


async def test_above_all_messages_the_conversation_is_what_can_be_looked_at(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, f"\n{TEXT}")
    actions = await text_editor.actions(uri, 0)
    assert [action["title"] for action in actions] == [
        "Compact conversation",
        "Compact conversation with instructions…",
        "Preview compaction of the conversation (4 messages, 1.9k tokens)",
    ]
    assert actions[1]["command"]["arguments"] == [{"command": FULL, "arguments": [{"uri": uri}]}]
    assert actions[2]["command"]["arguments"] == [{"uri": uri}]


async def test_a_document_that_is_not_open_has_nothing(text_editor: TextEditor, uri: str) -> None:
    for method in ("documentSymbol", "foldingRange", "codeLens"):
        assert await text_editor.request(method, uri) == []
    assert await text_editor.request("hover", uri, position={"line": 0, "character": 0}) is None


async def test_nothing_is_offered_where_compaction_is_off(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    off = {"settings": {"lithify": {"conversation": {"compaction": {"enabled": False}}}}}
    text_editor.client.notify("workspace/didChangeConfiguration", off)
    try:
        assert await text_editor.request("codeLens", uri) == []
        assert await text_editor.actions(uri, 0) == []
        assert len(await text_editor.request("documentSymbol", uri)) == 6
        failure = await text_editor.client.command_failure(FULL, {"uri": uri})
        assert (failure.code, failure.type) == (-32803, "disabled")
    finally:
        text_editor.client.notify("workspace/didChangeConfiguration", {"settings": {"lithify": {}}})


async def test_an_anchor_that_is_exact_counts_no_other_message(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    text_editor.client.notify(
        "workspace/didChangeConfiguration", {"settings": {"lithify": {"conversation": {"exactAnchor": True}}}}
    )
    try:
        lenses = await text_editor.request("codeLens", uri)
        assert [lens["command"]["title"].split(",")[0] for lens in lenses[:3]] == [
            "Compact up to here: 1 message",
            "Compact up to here: 2 messages",
            "Compact up to here: 3 messages",
        ]
        up_to_here, *_ = await text_editor.actions(uri, TEXT.index("shell"))
        assert up_to_here["title"].startswith("Compact up to here (2 messages,")
    finally:
        text_editor.client.notify("workspace/didChangeConfiguration", {"settings": {"lithify": {}}})


async def test_a_long_transcript_is_answered_while_the_user_types(text_editor: TextEditor, uri: str) -> None:
    chat = [user("word " * 100) for _ in range(10_000)]
    text_editor.open(uri, json_lines(chat))
    asked = [text_editor.client.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}}) for _ in range(2)]
    text_editor.type(uri, 0, 0, json_lines([user("first")]))
    asked.append(text_editor.client.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}}))
    found = await asyncio.gather(*(text_editor.client.result_of(each) for each in asked))
    assert [len(symbols) for symbols in found] == [10_000, 10_000, 10_001]
