"""Whatever a chat file looks like, only the range changes."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.core.messages import estimate_tokens
from lithify.transcripts import kimi_context, openai_json, openai_jsonl
from lithify.transcripts.model import TranscriptFormat
from lithify.transcripts.registry import formats, recognise
from tests.support import kimi_loader
from tests.transcripts import made_files
from tests.transcripts.rewriting import Rewritten, replaceable, rewrite

COUNTS_OF_THE_RANGE = re.compile(r'\A(?:[ \t]*(?:\r\n|\n|\r)[ \t]*\{"role": ?"_usage", ?"token_count": ?\d+\})+')

patient = settings(deadline=None)


def rewritten(chat_format: TranscriptFormat, text: str, data: st.DataObject) -> Rewritten | None:
    """A random range replaced, None where the text holds none that can be."""
    parsed = chat_format.parse(text)
    assert parsed.writable
    if not parsed.messages:
        return None
    start = data.draw(st.integers(0, len(parsed.messages) - 1), "start")
    end = data.draw(st.integers(start + 1, len(parsed.messages)), "end")
    if not replaceable(parsed, start, end):
        return None
    return rewrite(chat_format, text, start, end, data.draw(made_files.texts, "answer"))


@patient
@given(made_files.json_documents(), st.data())
def test_a_json_document_keeps_every_byte_outside_of_the_range(text: str, data: st.DataObject) -> None:
    made = rewritten(openai_json, text, data)
    assert made is None or made.text.endswith(made.tail)


@patient
@given(st.sampled_from(["", made_files.MARK]), made_files.openai_lines_files, st.data())
def test_a_file_of_json_lines_keeps_every_byte_outside_of_the_range(mark: str, text: str, data: st.DataObject) -> None:
    made = rewritten(openai_jsonl, mark + text, data)
    assert made is None or made.text.endswith(made.tail)


@patient
@given(made_files.kimi_files, st.data())
def test_a_kimi_session_keeps_every_record_outside_of_the_range_and_is_loaded(text: str, data: st.DataObject) -> None:
    made = rewritten(kimi_context, text, data)
    if made is None:
        return
    session = kimi_loader.load(made.text.encode())
    loaded = [message for message in made.parsed.conversation if message in session.messages]
    assert session.messages == loaded
    assert session.token_count == estimate_tokens(made.parsed.conversation)
    assert session.pending == []
    assert session.next_checkpoint > 0
    kept = COUNTS_OF_THE_RANGE.sub("", made.tail)
    before_the_new_count = made.text[: made.text.rindex('{"role": "_usage"')]
    assert before_the_new_count.endswith(kept) or before_the_new_count.removesuffix("\n").rstrip("\r").endswith(kept)
    assert made.text.endswith(("\n", "\r")) == text.endswith(("\n", "\r"))


@patient
@given(st.sampled_from(formats()), made_files.any_text)
def test_no_text_makes_a_format_raise(chat_format: TranscriptFormat, text: str) -> None:
    parsed = chat_format.parse(text)
    chat_format.recognise(text, "context.jsonl")
    assert all(0 <= placed.start < placed.end <= len(text) for placed in parsed.messages)


@patient
@given(made_files.json_documents(), st.integers(0, 200), st.sampled_from(["", '"', "{", "]", ",", "\\", "\n"]))
def test_a_damaged_document_is_read_as_far_as_it_goes(text: str, place: int, garbage: str) -> None:
    place = min(place, len(text))
    damaged = text[:place] + garbage + text[place:]
    parsed = openai_json.parse(damaged)
    assert all(damaged[placed.start] == "{" for placed in parsed.messages)
    assert parsed.writable or parsed.problems


@patient
@given(made_files.json_documents())
def test_what_is_recognised_holds_a_message(text: str) -> None:
    found = recognise(text, "chat")
    assert found is None or found.parse(text).messages
