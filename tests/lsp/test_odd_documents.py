"""Documents that nobody would write: whatever is asked of them is answered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lithify.core.settings import Conversation
from lithify.lsp import document_wire as wire
from lithify.lsp.features import code_actions, code_lenses, document_symbols, folding_ranges, hover
from lithify.lsp.positions import place_of
from lithify.lsp.shown_document import DocumentCompactions, ShownDocument
from lithify.transcripts.lines import Lines
from lithify.transcripts.reading import read_again
from lithify.transcripts.registry import formats
from tests.support.messages import user

URI = "file:///chats/a.jsonl"
LINE = json.dumps(user("words"))
ODD = {
    "empty": "",
    "a byte order mark": "\ufeff",
    "line endings": "\n\r\n\r\n\n",
    "a NUL byte": "\0",
    "a NUL byte between messages": f"{LINE}\0\n{LINE}",
    "a NUL byte in a message": '{"role":"user","content":"a\0b"}\n' + LINE,
    "a long line": f"{json.dumps(user('x' * 200_000))}\n{LINE}",
    "a long line of nothing": "[" * 20_000,
    "a long line cut off": '[{"role":"user","content":"' + "\u00fc" * 200_000,
    "halves of characters, escaped": '{"role":"user","content":"\\ud83d x"}\n{"role":"assistant","content":"\\udc00"}',
    "half of a character": '{"role":"user","content":"\ud83d"}\n' + LINE,
    "all line endings": f"{LINE}\r{LINE}\n{LINE}\r\n{LINE}",
    "all line endings in an array": f"[\r{LINE},\n{LINE},\r\n{LINE}]",
    "all line endings in an export": "_**User**_\r\n\r\nx\r_**Agent (a)**_\n\0\n\u2028",
    "a mark and a record": '\ufeff{"role":"_checkpoint","id":0}\n' + LINE,
    "brackets": '{"messages": [' * 2_000,
}


def answers(text: str, lines: Lines, reading: Any) -> list[Any]:
    """What an editor is answered that asks everything."""
    shown = ShownDocument(
        URI, lines, reading.outline, "utf-16", DocumentCompactions(URI, lines, reading.outline, Conversation())
    )
    found: list[Any] = [document_symbols._symbols(shown), folding_ranges._ranges(shown)]
    found.append([json.loads(lens) for lens in code_lenses._lenses(shown)])
    for offset in (0, len(text) // 2, len(text)):
        place = place_of(lines, offset, "utf-16").on_wire()
        here = wire.Range.model_validate({"start": place, "end": place})
        found += [code_actions._commands(shown, here, asks=True), hover._hover(shown, offset)]
    return found


@pytest.mark.parametrize("format_name", [None, *(one.name for one in formats())])
@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_every_request_is_answered_before_and_after_an_edit(text: str, format_name: str | None) -> None:
    lines, reading = Lines(text), None
    for insertion in ("", "z", "\n"):
        lines = lines.edited(len(text) // 2, len(text) // 2, insertion)
        reading = read_again(lines, "a.jsonl", reading, format_name)
        if reading is not None:
            json.dumps(answers(lines.text, lines, reading)).encode("ascii")
