"""What a compaction changes in a text: kept so that it can be taken back, whatever the file and whatever is typed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.core.conversation import Range
from lithify.core.document_compactions import DocumentCompaction, text_before
from lithify.core.outcomes import LithifyError
from lithify.transcripts.reading import Reading, read
from lithify.transcripts.registry import by_name
from lithify.workers.document_changes import NewText, new_text
from tests.support.document_bench import summarised
from tests.support.document_chat import TEXT
from tests.support.samples import DATA, sample_paths
from tests.transcripts import made_files
from tests.transcripts.agent_records import export, opencode_message, opencode_text
from tests.transcripts.rewriting import STAMP, replaceable

ANSWER = "Summary: \u00fc \U0001f600"
KIMI = (DATA / "transcripts" / "kimi-cli" / "fix-bug.context.jsonl").read_bytes().decode()


def reading_of(text: str, format_name: str | None = None) -> Reading:
    """The text, read as that, else as what it looks like."""
    reading = read(text, "", format_name)
    assert reading is not None
    return reading


def made(text: str, start: int, end: int, format_name: str | None = None) -> NewText:
    """The text with a range replaced."""
    reading = reading_of(text, format_name)
    done = summarised(reading.outline.conversation, end, ANSWER, start)
    return new_text(text, reading, done, STAMP)


def kept(new: NewText) -> DocumentCompaction:
    """What is kept of it."""
    return DocumentCompaction("C", "/a", "f", "now", len(new.text), new.changes, new.appended, kept=True)


def is_taken_back(text: str, new: NewText) -> None:
    assert new.text != text
    assert text_before(kept(new), new.text) == text


@pytest.mark.parametrize("path", sample_paths(), ids=lambda path: path.name)
def test_every_range_of_a_sample_is_taken_back(path: Any) -> None:
    text = path.read_bytes().decode()
    reading = read(text, path.name)
    if reading is None or not reading.transcript.writable:
        return
    count = len(reading.transcript.messages)
    for start in range(0, count, max(1, count // 2)):
        for end in range(start + 1, count + 1, max(1, count // 2)):
            possible = replaceable(reading.transcript, start, end) and not (reading.transcript.prefix_only and start)
            if possible and reading.outline.is_whole(Range(start, end)):
                is_taken_back(text, made(text, start, end, reading.format.name))


FILES = {
    "openai-json": made_files.json_documents(),
    "openai-jsonl": made_files.openai_lines_files,
    "kimi-context": made_files.kimi_files,
}


@pytest.mark.parametrize("format_name", FILES)
@given(st.data())
@settings(max_examples=60)
def test_any_range_of_any_file_is_taken_back_also_with_something_around_it(
    format_name: str, data: st.DataObject
) -> None:
    text = data.draw(FILES[format_name])
    chat_format = by_name(format_name)
    assert chat_format is not None
    transcript = chat_format.parse(text)
    count = len(transcript.messages)
    if not count or not transcript.writable:
        return
    start = data.draw(st.integers(0, count - 1))
    end = data.draw(st.integers(start + 1, count))
    if not replaceable(transcript, start, end):
        return
    new = made(text, start, end, format_name)
    is_taken_back(text, new)
    front, behind = data.draw(st.sampled_from(["", "in front\n"])), data.draw(st.sampled_from(["", "behind\n"]))
    assert text_before(kept(new), front + new.text + behind) == front + text + behind


def test_the_place_of_a_change_is_the_whole_summary() -> None:
    new = made(TEXT, 0, 4)
    (change,) = new.changes
    assert change.inserted == new.text.splitlines()[0]
    assert change.removed == "\n".join(TEXT.splitlines()[:4])


def test_what_changes_behind_the_tail_is_a_place_of_its_own() -> None:
    count = len(reading_of(KIMI, "kimi-context").transcript.messages)
    new = made(KIMI, 1, count - 2, "kimi-context")
    first, second = new.changes
    assert ("has been compacted" in first.inserted, second.removed, '"_usage"' in second.inserted) == (True, "", True)


CODEX = (DATA / "transcripts" / "codex" / "vct-codex.jsonl").read_bytes().decode()
OPENCODE = export(
    *(opencode_message(at, ("assistant", "user")[at % 2], opencode_text(f"turn {at}")) for at in range(1, 7))
)


@pytest.mark.parametrize(
    ("text", "format_name", "right", "wrong"),
    [
        (CODEX, "codex", '"role":"assistant"', '"role":"system"'),
        (OPENCODE, "opencode", '"tail_start_id": "msg_000000000003', '"tail_start_id": "msg_000000000005'),
    ],
    ids=["codex", "opencode"],
)
def test_a_session_that_would_be_read_another_way_is_not_written(
    monkeypatch: pytest.MonkeyPatch, text: str, format_name: str, right: str, wrong: str
) -> None:
    reading = reading_of(text, format_name)
    done = summarised(reading.outline.conversation, 2, ANSWER)
    write = reading.format.write

    def written(text: str, *given: Any) -> str:
        kept = text if format_name == "codex" else ""
        made = write(text, *given)
        assert right in made[len(kept) :]
        return kept + made[len(kept) :].replace(right, wrong, 1)

    new_text(text, reading, done, STAMP)
    monkeypatch.setattr(reading.format, "write", written)
    with pytest.raises(LithifyError) as raised:
        new_text(text, reading, done, STAMP)
    assert raised.value.type == "unsupported_document"
