"""Open documents: the text after each edit is the editor's, whatever it holds and however characters are counted."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args
from unittest.mock import AsyncMock, Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.core.settings import Settings
from lithify.lsp import document_wire as wire
from lithify.lsp import documents as documents_module
from lithify.lsp.documents import READ_AT_ONCE, Documents, DocumentText, beside_the_loop, file_path, name_of
from lithify.lsp.positions import Encoding, Place, offset_of, place_of, places_of
from lithify.lsp.read_only import ReadOnlyReasons
from lithify.lsp.shown_document import shown
from lithify.transcripts.lines import Lines
from lithify.transcripts.reading import read_again
from lithify.workers.document_places import Found
from tests.support.chats import said, user
from tests.support.text_positions import lines_of, position, span
from tests.support.transcripts import json_lines

URI = "file:///chats/a.jsonl"
ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)
FEW = st.text(alphabet="a\r\n\u00e9\u20ac\U0001f600\u2028\x0c", max_size=20)
"""Texts in which every kind of character comes often: of one to four bytes, all line endings, and what is none."""


def between_characters(text: str, offset: int) -> int:
    """An offset that an editor has a position for: none lies between a carriage return and its newline."""
    return offset - 1 if text[max(offset - 1, 0) : offset + 1] == "\r\n" else offset


@st.composite
def edits(draw: st.DrawFn, text: str) -> tuple[int, int, str]:
    """An edit of a text."""
    ends = sorted(between_characters(text, draw(st.integers(0, len(text)))) for _ in range(2))
    return ends[0], ends[1], draw(FEW)


def change(text: str, start: int, end: int, replacement: str, encoding: Encoding) -> wire.ContentChange:
    """An edit as the editor says it."""
    return wire.ContentChange.model_validate({"range": span(text, start, end, encoding), "text": replacement})


def text_of(documents: Documents) -> str:
    found = documents.find(URI)
    assert found is not None
    return found.lines.text


@given(st.data(), st.sampled_from(ENCODINGS), FEW)
def test_edits_leave_the_text_and_the_lines_that_the_editor_has(
    data: st.DataObject, encoding: Encoding, text: str
) -> None:
    documents = Documents()
    documents.agree_on(encoding)
    documents.open(URI, 1, text)
    for version in range(2, 5):
        changes = []
        for _ in range(data.draw(st.integers(1, 3))):
            start, end, replacement = data.draw(edits(text))
            changes.append(change(text, start, end, replacement, encoding))
            text = text[:start] + replacement + text[end:]
        documents.change(URI, version, changes)
        found = documents.find(URI)
        assert found is not None
        assert (found.lines.text, found.version) == (text, version)
        assert found.lines.starts == Lines(text).starts


@pytest.mark.parametrize(
    ("text", "start", "end", "replacement"),
    [("a\rb", 2, 2, "\nc"), ("a\r\nb", 0, 1, "\r"), ("a\r\n", 2, 3, ""), ("a\rxb", 2, 3, "\n"), ("a\rb\nc", 2, 3, "")],
)
def test_a_line_ending_may_be_made_of_an_old_half_and_a_new_one(
    text: str, start: int, end: int, replacement: str
) -> None:
    lines = Lines(text)
    assert len(lines.starts) > 1
    assert lines.edited(start, end, replacement).starts == Lines(text[:start] + replacement + text[end:]).starts


@given(FEW)
def test_lines_end_where_an_editor_ends_them(text: str) -> None:
    starts, begin = [], 0
    for line in lines_of(text):
        starts.append(begin)
        begin += len(line)
    assert Lines(text).starts == starts


@given(FEW)
def test_the_lines_of_a_text_are_the_same_before_and_after_it_is_parted(text: str) -> None:
    whole, parted = Lines(text), Lines(text)
    listed = parted.all
    numbers = range(len(listed))
    assert list(whole.each()) == list(map(whole.line, numbers)) == list(parted.each()) == listed == lines_of(text)
    assert (whole.starts, whole.count, whole.length) == (parted.starts, len(listed), len(text))
    assert [whole.bounds(one) for one in range(len(listed) + 1)] == [parted.bounds(one) for one in [*numbers, 99]]
    assert whole.text is text


@given(FEW, st.sampled_from(ENCODINGS), st.data())
def test_a_position_is_found_from_an_offset_and_back(text: str, encoding: Encoding, data: st.DataObject) -> None:
    offset = between_characters(text, data.draw(st.integers(0, len(text))))
    lines = Lines(text)
    place = place_of(lines, offset, encoding)
    assert place.on_wire() == position(text, offset, encoding)
    assert offset_of(lines, place.line, place.character, encoding) == offset


@given(FEW, st.sampled_from(ENCODINGS), st.data())
def test_many_positions_are_those_that_each_offset_has_alone(
    text: str, encoding: Encoding, data: st.DataObject
) -> None:
    offsets = data.draw(st.lists(st.integers(0, len(text))))
    lines = Lines(text)
    assert places_of(lines, offsets, encoding) == {one: place_of(lines, one, encoding) for one in offsets}


@pytest.mark.parametrize(
    ("encoding", "character", "offset"),
    [("utf-16", 2, 1), ("utf-8", 2, 1), ("utf-8", 4, 1), ("utf-8", 5, 2), ("utf-16", 3, 2), ("utf-32", 2, 2)],
)
def test_a_position_inside_a_character_is_the_one_in_front_of_it(
    encoding: Encoding, character: int, offset: int
) -> None:
    assert offset_of(Lines("a\U0001f600b"), 0, character, encoding) == offset


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(("line", "character", "offset"), [(0, 99, 2), (1, 99, 5), (9, 0, 6), (2, 7, 6)])
def test_a_position_behind_the_end_is_the_end(encoding: Encoding, line: int, character: int, offset: int) -> None:
    assert offset_of(Lines("\u00e9a\r\nb\n"), line, character, encoding) == offset


def test_half_of_a_character_counts_as_the_editor_counts_it() -> None:
    lines = Lines("\ud83da\U0001f600")
    assert place_of(lines, 2, "utf-16") == Place(0, 2)
    assert offset_of(lines, 0, 2, "utf-16") == 2
    assert offset_of(lines, 0, 3, "utf-16") == 2


def test_an_edit_makes_anew_only_the_lines_it_touches() -> None:
    lines = Lines("first\nsecond\nthird\n")
    edited = lines.edited(8, 8, "x")
    assert edited.all == ["first\n", "sexcond\n", "third\n", ""]
    assert [one is other for one, other in zip(lines.all, edited.all, strict=True)] == [True, False, True, True]


@given(FEW, st.data())
def test_whether_a_line_ends_in_a_carriage_return_alone_is_known_after_an_edit_too(
    text: str, data: st.DataObject
) -> None:
    lines = Lines(text)
    assert lines.has_lone_returns == ("\r" in text.replace("\r\n", ""))
    start, end, replacement = data.draw(edits(text))
    after = text[:start] + replacement + text[end:]
    assert lines.edited(start, end, replacement).has_lone_returns == ("\r" in after.replace("\r\n", ""))


def test_a_change_without_a_range_is_the_whole_text() -> None:
    documents = Documents()
    documents.open(URI, 1, "old")
    documents.change(URI, 2, [wire.ContentChange(text="new"), wire.ContentChange(text="newest")])
    assert text_of(documents) == "newest"


def test_a_document_that_was_closed_is_not_found() -> None:
    documents = Documents()
    documents.open(URI, 1, "text")
    documents.close(URI)
    documents.change(URI, 2, [wire.ContentChange(text="new")])
    assert documents.find(URI) is None


@pytest.mark.parametrize("spelled", ["file:///chats/a%2Ejsonl", "FILE:///chats/a.jsonl"])
def test_a_file_is_found_however_its_uri_is_spelled(spelled: str) -> None:
    documents = Documents()
    documents.open(URI, 1, "text")
    found = documents.find(spelled)
    assert found is not None
    assert found.uri == URI


@pytest.mark.parametrize("uri", ["untitled:Untitled-1", "file://[bad", "a.jsonl", "", "http://host/a.jsonl"])
def test_what_is_no_file_has_no_path(uri: str) -> None:
    assert file_path(uri) is None


def test_links_to_a_file_are_one_document_with_it(tmp_path: Path) -> None:
    (real := tmp_path / "chat.jsonl").write_text(CHAT)
    (link := tmp_path / "link.jsonl").symlink_to(real)
    for opened, asked in ((link, real), (real, link)):
        documents = Documents()
        documents.open(opened.as_uri(), 1, CHAT)
        assert documents.find(asked.as_uri()) is documents.find(opened.as_uri()) is not None
        assert documents.find((tmp_path / "other.jsonl").as_uri()) is None
        assert documents.find("file:///nul%00") is None


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("file:///a/context.jsonl", "context.jsonl"),
        ("file:///a/b%20c.md", "b c.md"),
        ("untitled:U-1", "U-1"),
        ("//[", ""),
    ],
)
def test_the_name_of_a_document_is_that_of_its_file(uri: str, name: str) -> None:
    assert name_of(uri) == name


async def readings(text: str) -> list[Any]:
    documents = Documents()
    documents.open(URI, 1, text)
    found = documents.find(URI)
    assert found is not None
    return [reading for _, reading in await asyncio.gather(*(found.read() for _ in range(3)))]


@pytest.mark.parametrize("length", [1, READ_AT_ONCE])
def test_a_text_is_read_once_however_many_ask(length: int) -> None:
    first, *others = asyncio.run(readings(json_lines([user("u" * length), said("a")])))
    assert [message.message["role"] for message in first.transcript.messages] == ["user", "assistant"]
    assert all(other is first for other in others)


def test_a_text_that_is_no_transcript_is_read_as_none() -> None:
    assert asyncio.run(readings("def f():\n    pass\n")) == [None] * 3


CHAT = json_lines([user("one"), said("two"), user("three")])


def typed(documents: Documents, version: int) -> DocumentText:
    """The next version of that chat: one more character in its first message."""
    documents.change(URI, version, [change(text_of(documents), CHAT.index("one"), CHAT.index("one"), "x", "utf-16")])
    found = documents.find(URI)
    assert found is not None
    return found


class SlowReading:
    """Readings that wait until they are let go; `texts` are those that were begun."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.texts: list[str] = []
        self._gone = threading.Event()
        monkeypatch.setattr(documents_module, "READ_AT_ONCE", 0)
        monkeypatch.setattr(documents_module, "read_again", self._read)

    def _read(self, lines: Lines, name: str, before: Any, read_as: str | None) -> Any:
        self.texts.append(lines.text)
        assert self._gone.wait(10)
        return read_again(lines, name, before, read_as)

    async def begun(self) -> None:
        while not self.texts:
            await asyncio.sleep(0)

    def let_go(self) -> None:
        self._gone.set()


def test_of_the_versions_that_come_while_one_is_read_only_the_newest_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async def asked() -> list[tuple[int, str, bool]]:
        slow, documents = SlowReading(monkeypatch), Documents()
        documents.open(URI, 1, CHAT)
        first = documents.find(URI)
        assert first is not None
        asking = [asyncio.ensure_future(first.read())]
        await slow.begun()
        asking += [asyncio.ensure_future(typed(documents, version).read()) for version in range(2, 30)]
        await asyncio.sleep(0)
        slow.let_go()
        answers = await asyncio.gather(*asking)
        assert slow.texts == [CHAT, text_of(documents)]
        found = []
        for document, reading in answers:
            assert reading is not None
            said = reading.transcript.conversation[0]["content"]
            found.append((document.version, said, reading.by_line.altered is not None))
        return found

    first, *others = asyncio.run(asked())
    assert first == (1, "one", False)
    assert others == [(29, f"{'x' * 28}one", True)] * 28


@pytest.mark.parametrize(("as_asked", "answered"), [(True, False), (False, True)])
def test_a_place_in_a_text_that_was_changed_before_its_turn_came_is_not_answered_for(
    as_asked: bool, answered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def asked() -> Any:
        slow, documents = SlowReading(monkeypatch), Documents()
        said = ReadOnlyReasons(Mock(), lambda: True, AsyncMock(return_value=None))
        server: Any = SimpleNamespace(documents=documents, settings=Settings(), read_only=said)
        documents.open(URI, 1, CHAT)
        first = asyncio.ensure_future(shown(server, URI))
        await slow.begun()
        typed(documents, 2)
        second = asyncio.ensure_future(shown(server, URI, as_asked=as_asked))
        await asyncio.sleep(0)
        typed(documents, 3)
        slow.let_go()
        await first
        return await second

    assert (asyncio.run(asked()) is not None) is answered


def test_why_a_document_can_only_be_read_is_found_once_for_each_version() -> None:
    async def found() -> tuple[list[int], list[str | None]]:
        documents, versions = Documents(), []

        async def why(one: Found) -> str | None:
            assert one.document is not None
            versions.append(one.document.version)
            return f"Version {one.document.version} is odd."

        said = ReadOnlyReasons(Mock(), lambda: True, why)
        server: Any = SimpleNamespace(documents=documents, settings=Settings(), read_only=said)
        documents.open(URI, 1, CHAT)
        answers = [await shown(server, URI) for _ in range(3)]
        typed(documents, 2)
        answers += [await shown(server, URI) for _ in range(2)]
        assert all(one is not None and one.compactions.whole() is None for one in answers)
        return versions, [one.read_only for one in answers if one is not None]

    assert asyncio.run(found()) == ([1, 2], ["Version 1 is odd."] * 3 + ["Version 2 is odd."] * 2)


def test_a_reader_who_gives_up_does_not_end_the_reading_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async def asked() -> tuple[list[str], Any]:
        slow, documents = SlowReading(monkeypatch), Documents()
        documents.open(URI, 1, CHAT)
        found = documents.find(URI)
        assert found is not None
        leaves, stays = asyncio.ensure_future(found.read()), asyncio.ensure_future(found.read())
        await slow.begun()
        leaves.cancel()
        await asyncio.gather(leaves, return_exceptions=True)
        later = asyncio.ensure_future(found.read())
        slow.let_go()
        return slow.texts, (await stays)[1] is (await later)[1] is not None

    assert asyncio.run(asked()) == ([CHAT], True)


def test_a_version_takes_over_from_the_last_one_that_was_read() -> None:
    async def took_over() -> bool:
        documents = Documents()
        documents.open(URI, 1, CHAT)
        found = documents.find(URI)
        assert found is not None
        await found.read()
        typed(documents, 2)
        _, reading = await typed(documents, 3).read()
        return reading.by_line.altered is not None

    assert asyncio.run(took_over())


def test_no_more_than_one_earlier_version_is_kept() -> None:
    async def kept() -> list[bool]:
        documents = Documents()
        documents.open(URI, 1, CHAT)
        found = documents.find(URI)
        assert found is not None
        seen = [weakref.ref(found.lines)]
        await found.read()
        for version in range(2, 6):
            found = typed(documents, version)
            seen.append(weakref.ref(found.lines))
            if version == 4:
                await found.read()
        del found
        gc.collect()
        return [one() is not None for one in seen]

    assert asyncio.run(kept()) == [False, False, False, True, True]


def test_a_long_text_is_worked_on_beside_the_loop_and_a_short_one_on_it() -> None:
    async def thread_of(text: str) -> int:
        return await beside_the_loop(Lines(text), threading.get_ident)

    here = threading.get_ident()
    assert asyncio.run(thread_of("short")) == here
    assert asyncio.run(thread_of("long" * READ_AT_ONCE)) != here


def test_while_a_long_text_is_read_other_work_goes_on() -> None:
    async def beats() -> int:
        documents = Documents()
        documents.open(URI, 1, json_lines([user("word " * 200)] * 5000))
        found = documents.find(URI)
        assert found is not None
        reading = asyncio.ensure_future(found.read())
        count = 0
        while not reading.done():
            count += 1
            await asyncio.sleep(0)
        return count

    assert asyncio.run(beats()) > 3
