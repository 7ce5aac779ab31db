"""Chat transcripts as documents, with the capabilities of real editors: what is shown, what is offered, what an edit
does to the text."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio
from lsprotocol import converters
from pytest_lsp import client_capabilities

from tests.support.document_chat import CHAT, FULL, TEXT, UP_TO_HERE, summary_line
from tests.support.editor import SUMMARY, SilentModel, answers, conversation, project_folder
from tests.support.messages import user
from tests.support.raw_client import Json, RawClient
from tests.support.text_editor import TextEditor
from tests.support.text_positions import position
from tests.support.transcripts import json_lines

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass(frozen=True)
class Kind:
    """What an editor chooses, and whether its edits name versions."""

    encoding: str
    takes_versions: bool


EDITORS = {
    "visual-studio-code": Kind("utf-16", takes_versions=True),
    "neovim@v0.11": Kind("utf-8", takes_versions=False),
    "neovim@v0.7": Kind("utf-16", takes_versions=False),
    "emacs": Kind("utf-32", takes_versions=True),
}


def capabilities(name: str) -> Json:
    """The capabilities that an editor announces."""
    announced: Json = converters.get_converter().unstructure(client_capabilities(name))
    return announced


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=EDITORS)
async def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[str, RawClient]]:
    """The name of an editor, and a server for it."""
    name: str = request.param
    project = project_folder(tmp_path_factory.mktemp("workspace"))
    running = await RawClient.start(tmp_path_factory.mktemp("data"), cwd=project)
    await running.initialize({"client": {"complete": True}}, capabilities(name))
    yield name, running
    await running.stop()
    assert running.not_protocol == b""


@pytest.fixture
def editor(server: tuple[str, RawClient]) -> TextEditor:
    """An editor of each kind, with a model that always answers."""
    name, client = server
    client.start_afresh()
    client.answerers["lithify/complete"] = answers()
    editor = TextEditor(client, name)
    assert editor.encoding == EDITORS[name].encoding
    return editor


def line_starts(text: str, encoding: str) -> list[Json]:
    """The position of each message of JSON lines."""
    offsets = [0]
    for line in text.splitlines(keepends=True)[:-1]:
        offsets.append(offsets[-1] + len(line))
    return [position(text, offset, encoding) for offset in offsets]


def place_of(symbol: Json) -> Json:
    """The range of a symbol of either kind."""
    place: Json = symbol["location"]["range"] if "location" in symbol else symbol["range"]
    return place


# --- what is shown --------------------------------------------------------------------------------------------


async def test_documents_and_what_is_shown_of_them_are_announced(editor: TextEditor) -> None:
    announced = editor.client.initialize_result["capabilities"]
    assert announced["textDocumentSync"] == {"openClose": True, "change": 2, "save": {"includeText": False}}
    assert announced["codeActionProvider"] == {"codeActionKinds": ["refactor.rewrite.compact"]}
    assert announced["codeLensProvider"] == {}
    for provider in ("documentSymbolProvider", "foldingRangeProvider", "hoverProvider"):
        assert announced[provider] is True


async def test_each_message_is_a_symbol_with_its_role_and_first_words(editor: TextEditor, uri: str) -> None:
    editor.open(uri, TEXT)
    symbols = await editor.request("documentSymbol", uri)
    assert [symbol["name"] for symbol in symbols] == [
        "user: Fix the \U0001f600 sum",
        "assistant: shell, shell",
        "tool: é",
        f"tool: {'x' * 59}…",
        "assistant: Done \U0001f600.",
        "user: Thanks",
    ]
    assert [place_of(symbol)["start"] for symbol in symbols] == line_starts(TEXT, editor.encoding)
    lines = TEXT.split("\n")
    ends = [position(line, len(line), editor.encoding)["character"] for line in lines[:-1]]
    assert [place_of(symbol)["end"]["character"] for symbol in symbols] == ends


async def test_each_message_can_be_folded(editor: TextEditor, uri: str) -> None:
    editor.open(uri, json.dumps(CHAT[4:], indent=1))
    folds = await editor.request("foldingRange", uri)
    assert [(fold["startLine"], fold["endLine"]) for fold in folds] == [(1, 4), (5, 8)]


async def test_a_hover_tells_role_position_tokens_and_calls(editor: TextEditor, uri: str) -> None:
    editor.open(uri, TEXT)
    shown = await editor.request("hover", uri, position={"line": 1, "character": 5})
    assert shown["contents"]["value"] == "assistant, message 2 of 6, 70 tokens\nCalls shell, shell"
    assert (shown["range"]["start"], shown["range"]["end"]["line"]) == ({"line": 1, "character": 0}, 1)
    assert await editor.request("hover", uri, position={"line": 6, "character": 0}) is None


async def test_a_lens_above_each_message_counts_what_it_would_compact(editor: TextEditor, uri: str) -> None:
    editor.open(uri, TEXT)
    lenses = await editor.request("codeLens", uri)
    assert [lens["command"]["title"] for lens in lenses] == [
        "Compact up to here: 1 message, 6 tokens",
        *["Compact up to here: 4 messages, 1.9k tokens"] * 3,
        "Compact up to here: 5 messages, 1.9k tokens",
        "Compact up to here: 6 messages, 1.9k tokens",
    ]
    assert [lens["range"]["start"] for lens in lenses] == line_starts(TEXT, editor.encoding)
    assert lenses[4]["command"]["command"] == UP_TO_HERE
    assert lenses[4]["command"]["arguments"] == [{"uri": uri, "line": 4}]


async def test_what_is_shown_follows_the_edits(editor: TextEditor, uri: str) -> None:
    editor.open(uri, TEXT)
    editor.replace(uri, "Fix the \U0001f600 sum", "Mend \U0001f680\U0001f680 it")
    editor.type(uri, editor.texts[uri].index("Thanks"), len(editor.texts[uri]), 'No"}\n' + json.dumps(user("More")))
    symbols = await editor.request("documentSymbol", uri)
    assert [symbol["name"] for symbol in (symbols[0], *symbols[-2:])] == [
        "user: Mend \U0001f680\U0001f680 it",
        "user: No",
        "user: More",
    ]


# --- what is offered ----------------------------------------------------------------------------------------


async def test_the_actions_on_a_message_compact_up_to_it_and_the_whole(editor: TextEditor, uri: str) -> None:
    editor.open(uri, TEXT)
    actions = await editor.actions(uri, TEXT.index("Done"))
    assert [(action["title"], action["kind"]) for action in actions] == [
        ("Compact up to here (5 messages, 1.9k tokens)", "refactor.rewrite.compact"),
        ("Compact conversation", "refactor.rewrite.compact"),
        ("Compact up to here with instructions…", "refactor.rewrite.compact"),
        ("Preview compaction up to here (5 messages, 1.9k tokens)", "refactor.rewrite.compact"),
    ]
    here = {"uri": uri, "line": 4}
    commands = [(action["command"]["command"], action["command"]["arguments"]) for action in actions]
    assert commands == [
        (UP_TO_HERE, [here]),
        (FULL, [{"uri": uri}]),
        ("lithify.compact_with_instructions", [{"command": UP_TO_HERE, "arguments": [here]}]),
        ("lithify.preview_compaction", [here]),
    ]


async def test_a_selection_over_several_messages_can_be_compacted_alone(editor: TextEditor, uri: str) -> None:
    editor.open(uri, TEXT)
    actions = await editor.actions(uri, TEXT.index("Done"), TEXT.index("Thanks"))
    assert [action["title"] for action in actions] == [
        "Compact up to here (6 messages, 1.9k tokens)",
        "Compact selection",
        "Compact conversation",
        "Compact up to here with instructions…",
        "Preview compaction up to here (6 messages, 1.9k tokens)",
    ]
    assert actions[1]["command"]["arguments"] == [{"uri": uri, "start": 4, "end": 6}]


# --- what an edit does to the text --------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("ended", [True, False], ids=["ended", "not ended"])
async def test_an_action_replaces_its_messages_and_no_other_character(
    editor: TextEditor, uri: str, ending: str, ended: bool
) -> None:
    text = json_lines(CHAT, ending, ended=ended)
    editor.open(uri, text)
    actions = await editor.actions(uri, text.index("Done"))
    done = await editor.run(actions[0]["command"])
    assert (done["type"], done["uri"], done["range"]) == ("compacted", uri, {"start": 0, "end": 5})
    assert "sessionId" not in done
    assert "messages" not in done
    assert "revision" not in done
    assert editor.texts[uri] == summary_line() + text[text.index(ending + '{"role": "user", "content": "Thanks') :]


async def test_the_edit_names_the_version_where_the_editor_can_take_it(editor: TextEditor, uri: str) -> None:
    editor.open(uri, TEXT)
    await editor.client.command(FULL, {"uri": uri})
    (asked,) = editor.asked
    if EDITORS[editor.name].takes_versions:
        (change,) = asked["edit"]["documentChanges"]
        assert change["textDocument"] == {"uri": uri, "version": 1}
        edits = change["edits"]
    else:
        edits = asked["edit"]["changes"][uri]
    assert len(edits) == 1


async def test_a_lens_inside_a_group_of_calls_compacts_the_whole_group(editor: TextEditor, uri: str) -> None:
    editor.open(uri, TEXT)
    lenses = await editor.request("codeLens", uri)
    done = await editor.run(lenses[1]["command"])
    assert (done["range"], done["requestedRange"]) == ({"start": 0, "end": 4}, {"start": 0, "end": 2})
    assert editor.texts[uri] == f"{summary_line()}\n{json_lines(CHAT[4:])}"
    assert [symbol["name"] for symbol in await editor.request("documentSymbol", uri)][1:] == [
        "assistant: Done \U0001f600.",
        "user: Thanks",
    ]


async def test_a_selection_is_compacted_in_the_midst(editor: TextEditor, uri: str) -> None:
    editor.open(uri, TEXT)
    actions = await editor.actions(uri, TEXT.index("é"), TEXT.index("Done"))
    await editor.run(actions[1]["command"])
    assert editor.texts[uri] == f"{json_lines(CHAT[:1])}{summary_line()}\n{json_lines(CHAT[5:])}"


async def test_what_the_user_types_outside_of_the_range_meanwhile_is_kept(editor: TextEditor, uri: str) -> None:
    model = SilentModel(editor.client)
    editor.open(uri, TEXT)
    running = editor.client.ask_command(UP_TO_HERE, {"uri": uri, "line": 3})
    await model.asked()
    editor.replace(uri, "Thanks", "Thanks \U0001f680")
    editor.type(uri, 0, 0, json.dumps(user("First of all")) + "\n")
    await model.answer({"text": SUMMARY})
    done = await editor.client.result_of(running)
    expected = [user("First of all"), json.loads(summary_line()), CHAT[4], user("Thanks \U0001f680")]
    assert [json.loads(line) for line in editor.texts[uri].splitlines()] == expected
    assert (done["range"], done["requestedRange"]) == ({"start": 1, "end": 5}, {"start": 1, "end": 5})
    assert (done["stats"]["messagesBefore"], done["stats"]["messagesAfter"]) == (7, 4)


async def test_a_session_of_kimi_stays_one(editor: TextEditor, uri: str) -> None:
    said = [message for message in conversation() if message.pop("id")]
    text = json_lines([{"role": "_system_prompt", "content": "be brief"}, *said])
    editor.open(uri, text)
    await editor.client.command(FULL, {"uri": uri})
    records = [json.loads(line) for line in editor.texts[uri].splitlines()]
    assert [record["role"] for record in records] == [
        "_system_prompt",
        "_checkpoint",
        "user",
        "user",
        "assistant",
        "_usage",
    ]
    assert records[3:5] == said[6:]
