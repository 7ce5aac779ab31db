"""What is shown of documents with very many messages: the last ones one by one, and a word of the others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lithify.core.settings import Conversation
from lithify.lsp.features import code_lenses, document_symbols, folding_ranges
from lithify.lsp.shown_document import DocumentCompactions, ShownDocument
from lithify.transcripts.lines import Lines
from lithify.transcripts.reading import read_again
from tests.support.chats import said, user
from tests.support.transcripts import json_lines

URI = "file:///chats/a.jsonl"
CHAT = [user("one"), said("two"), user("three"), said("four"), user("five")]


def shown(messages: list[Any], uri: str = URI) -> ShownDocument:
    lines = Lines(json_lines(messages))
    reading = read_again(lines, "a.jsonl", None)
    assert reading is not None
    compactions = DocumentCompactions(uri, lines, reading.outline, Conversation())
    return ShownDocument(uri, lines, reading.outline, "utf-16", compactions)


@pytest.fixture(autouse=True)
def _few_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for feature in (code_lenses, document_symbols, folding_ranges):
        monkeypatch.setattr(feature, "MOST_SHOWN", 3)


def lenses(document: ShownDocument) -> list[dict[str, Any]]:
    return list(map(json.loads, code_lenses._lenses(document)))


def titles(document: ShownDocument) -> list[tuple[int, str]]:
    return [(one["range"]["start"]["line"], one["command"]["title"]) for one in lenses(document)]


def test_the_last_messages_have_lenses_and_the_first_of_them_tells_of_the_others() -> None:
    found = titles(shown(CHAT))
    assert found[0] == (2, "The 2 messages above have code actions instead of lenses")
    assert [line for line, _ in found[1:]] == [2, 3, 4]
    assert found[-1][1].startswith("Compact up to here: 5 messages")


def test_a_lens_is_json_whatever_its_document_is_called() -> None:
    uri = 'file:///a "\\\n\ud800é.jsonl'
    (lens,) = lenses(shown([user("one")], uri))
    assert lens == {
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
        "command": {
            "title": "Compact up to here: 1 message, 2 tokens",
            "command": "lithify.compact_up_to_here",
            "arguments": [{"uri": uri, "line": 0}],
        },
    }


def test_a_text_is_shown_with_its_lenses_without_being_parted_into_lines() -> None:
    document = shown(CHAT)
    assert len(lenses(document)) == 4
    assert document.lines.text is document.lines.text  # one that was parted is put together anew each time


def test_where_all_messages_have_lenses_nothing_is_told() -> None:
    assert [line for line, _ in titles(shown(CHAT[:3]))] == [0, 1, 2]


def test_the_first_of_many_messages_are_one_symbol_that_counts_them() -> None:
    found = document_symbols._symbols(shown(CHAT))
    assert [name for name, _, _, _ in found] == [
        "2 earlier messages, not listed one by one",
        "user: three",
        "assistant: four",
        "user: five",
    ]
    place = found[0][3]
    assert (place["start"]["line"], place["end"]["line"]) == (0, 1)


def test_the_last_of_many_messages_are_folded() -> None:
    assert [one["startLine"] for one in folding_ranges._ranges(shown(CHAT))] == [2, 3, 4]
