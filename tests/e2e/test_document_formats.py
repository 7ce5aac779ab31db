"""Every format as a document: real transcripts, shown and compacted in an editor."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithify.core.conversation import Range, with_summary
from lithify.transcripts.reading import Reading, read
from tests.support.document_chat import FULL
from tests.support.editor import SUMMARY
from tests.support.samples import DATA
from tests.support.text_editor import TextEditor

pytestmark = pytest.mark.asyncio(loop_scope="module")

TEXTS = {path: path.read_bytes().decode() for path in sorted((DATA / "transcripts").rglob("*")) if path.is_file()}


def reading_of(text: str, path: Path) -> Reading:
    """The sample, read."""
    reading = read(text, path.name)
    assert reading is not None
    return reading


SAMPLES = [path for path, text in TEXTS.items() if read(text, path.name) is not None]


async def test_the_samples_are_of_every_kind_of_writing() -> None:
    names = {reading_of(TEXTS[path], path).format.name for path in SAMPLES}
    assert names >= {"kimi-context", "claude-code", "codex", "specstory", "openai-json"}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
async def test_a_sample_has_a_symbol_for_each_message_and_each_part_that_is_not_sent(
    text_editor: TextEditor, path: Path
) -> None:
    text_editor.open(path.as_uri(), TEXTS[path])
    symbols = await text_editor.request("documentSymbol", path.as_uri())
    transcript = reading_of(TEXTS[path], path).transcript
    folds = [fold.title for fold in transcript.folds]
    assert len(symbols) == len(transcript.messages) + len(folds)
    assert sorted(symbol["name"] for symbol in symbols if "detail" not in symbol) == sorted(folds)


async def test_a_session_that_can_only_be_compacted_from_its_begin_asks_no_model_for_another_range(
    text_editor: TextEditor,
) -> None:
    path = next(path for path in SAMPLES if reading_of(TEXTS[path], path).transcript.prefix_only)
    text_editor.open(path.as_uri(), TEXTS[path])
    failure = await text_editor.client.command_failure(FULL, {"uri": path.as_uri(), "start": 1, "end": 2})
    assert failure.type == "invalid_range"
    assert text_editor.client.received("lithify/complete") == []


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
async def test_a_sample_is_compacted_by_an_edit_that_keeps_its_tail(text_editor: TextEditor, path: Path) -> None:
    uri, text = path.as_uri(), TEXTS[path]
    before = reading_of(text, path).transcript
    text_editor.open(uri, text)
    offered = [action["title"] for action in await text_editor.actions(uri, len(text))]
    if not before.writable:
        assert offered == []
        assert (await text_editor.client.command_failure(FULL, {"uri": uri})).type == "unsupported_document"
        return
    assert "Compact conversation" in offered
    done = await text_editor.client.command(FULL, {"uri": uri})
    after = reading_of(text_editor.texts[uri], path).transcript
    replaced = Range(done["range"]["start"], done["range"]["end"])
    place = len(before.messages[: replaced.start]) + len(after.messages) - done["stats"]["messagesAfter"]
    expected = with_summary(before.conversation, replaced, done["summary"])
    assert len(after.messages) == len(expected) == done["stats"]["messagesAfter"]
    assert after.conversation[replaced.start + 1 + place :] == expected[replaced.start + 1 + place :]
    assert SUMMARY.split("\n")[1] in str(after.conversation)
    assert len(text_editor.asked) == 1
