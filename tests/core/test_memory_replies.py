"""What a model answers to an extraction and to a buffer compaction."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.core.entries import Entry
from lithify.core.memory_replies import CompactedText, Extracted, Unusable, read_compaction, read_extraction
from lithify.core.records import RECORD_TYPES, RecordDraft
from lithify.prompt_files.templates import find_template

EXTRACTION = find_template("extraction").text
COMPACTION = find_template("buffer_compaction").text


def entry(event_id: str, text: str = "x", sources: tuple[str, ...] = ()) -> Entry:
    return Entry(event_id, "/n/", "note", {"type": "text", "content": text}, "2026-01-01T00:00:00Z", "test", sources)


BATCH = (entry("01A"), entry("01B"), entry("compact_01S", sources=("01X", "01Y")))
ALL = ("01A", "01B", "01X", "01Y")
RECORD = "<memory_record type='error'><title>Build fails</title><summary>No space left.</summary></memory_record>"


def extraction(answer: str, stop_reason: str | None = "end", batch: tuple[Entry, ...] = BATCH) -> Extracted | Unusable:
    return read_extraction(answer, batch, EXTRACTION, stop_reason)


def record(answer: str, batch: tuple[Entry, ...] = BATCH) -> RecordDraft:
    found = extraction(answer, batch=batch)
    assert isinstance(found, Extracted), found
    assert len(found.records) == 1
    return found.records[0]


def records(answer: str) -> list[str]:
    found = extraction(answer)
    assert isinstance(found, Extracted), found
    return [each.title for each in found.records]


def reason(found: object) -> str:
    assert isinstance(found, Unusable), found
    return found.reason


def made(title: str = "T", summary: str = "S", more: str = "", type: str = "decision") -> str:
    return f'<memory_record type="{type}"><title>{title}</title><summary>{summary}</summary>{more}</memory_record>'


# A record


def test_a_record_is_read_with_all_its_parts() -> None:
    more = """
<facts><fact>one</fact><fact>two</fact></facts>
<concepts><concept>SQLite</concept></concepts>
<files><file>src/a.py</file></files>
<source_event_ids><id>01A</id></source_event_ids>
"""
    assert record(made("Why SQLite", "It is there.", more)) == RecordDraft(
        "decision", "Why SQLite", "It is there.", ("one", "two"), ("SQLite",), ("src/a.py",), ("01A",)
    )


@pytest.mark.parametrize("kind", RECORD_TYPES)
def test_every_type_of_the_contract_is_known(kind: str) -> None:
    assert record(made(type=kind)).type == kind


@pytest.mark.parametrize(
    ("kind", "read"),
    [("Error", "error"), (" TOOL_USE ", "tool_use"), ("session summary", "session_summary"), ("tool-use", "tool_use")],
)
def test_a_type_is_read_in_any_spelling(kind: str, read: str) -> None:
    assert record(made(type=kind)).type == read


@pytest.mark.parametrize("kind", ["", "bugfix", "decision|error", "决定"])
def test_an_unknown_type_is_taken_for_a_discovery(kind: str) -> None:
    assert record(made(type=kind)).type == "discovery"


def test_a_record_without_a_type_is_a_discovery() -> None:
    assert record("<memory_record><title>T</title><summary>S</summary></memory_record>").type == "discovery"


@pytest.mark.parametrize(
    "answer",
    [
        RECORD,
        RECORD.upper().replace("BUILD FAILS", "Build fails").replace("NO SPACE LEFT", "No space left"),
        f"Here are the records:\n\n```xml\n{RECORD}\n```\nLet me know!",
        f"<memory_records>\n{RECORD}\n</memory_records>",
        f"<think>Maybe {RECORD.replace('Build', 'Draft')} or so.</think>\n{RECORD}",
        RECORD.replace("type='error'", "id=1 confidence='0.9'\n type=error"),
        RECORD.replace("Build fails", "<![CDATA[Build fails]]>"),
        RECORD.replace("Build fails", "\n  Build\n  fails\n"),
        RECORD.replace("<title>Build fails</title>", "").replace("</memory", "<title>Build fails</title></memory"),
        RECORD.replace("No space left.", "<p>No space left.</p>"),
    ],
)
def test_a_record_is_read_however_it_is_written(answer: str) -> None:
    assert (record(answer).type, record(answer).title) == ("error", "Build fails")


def test_entities_are_resolved() -> None:
    assert record(made("a &lt;b&gt; &amp; c", "x?a=1&copy=2")).summary == "x?a=1&copy=2"


def test_tags_in_cdata_are_text() -> None:
    title = "How <memory_record> and </title> are read"
    assert record(made(f"<![CDATA[{title}]]>")).title == title


def test_several_records_come_in_order() -> None:
    assert records(made("1") + "\nand\n" + made("2") + made("3")) == ["1", "2", "3"]


def test_a_record_without_its_end_is_read_where_another_follows() -> None:
    assert records(made("1").replace("</memory_record>", "") + made("2")) == ["1", "2"]


@pytest.mark.parametrize("part", ["title", "summary"])
def test_a_record_without_title_or_summary_is_left_out(part: str) -> None:
    lame = made("1").replace(f"<{part}>", "<x>").replace(f"</{part}>", "</x>")
    assert records(lame + made("2")) == ["2"]


def test_only_records_without_title_or_summary_are_a_failure() -> None:
    assert reason(extraction(made(title=" "))) == "no memory record in the answer has both a title and a summary"


# Limits


@pytest.mark.parametrize(
    ("limit", "more", "name"),
    [
        (500, "<facts><fact>{}</fact></facts>", "facts"),
        (100, "<concepts><concept>{}</concept></concepts>", "concepts"),
        (500, "<files><file>{}</file></files>", "files"),
    ],
)
def test_a_list_s_longer_text_is_cut_not_refused(limit: int, more: str, name: str) -> None:
    (text,) = getattr(record(made(more=more.format("x" * limit + "yz"))), name)
    assert text == "x" * limit


def test_a_longer_title_is_cut() -> None:
    assert record(made("x" * 200 + "y")).title == "x" * 200


@pytest.mark.parametrize("text", [" ".join(map(str, range(2000))), "x" * 5000, "long " * 1000, "长" * 5000])
def test_a_longer_summary_is_cut(text: str) -> None:
    assert record(made("T", text)).summary == text.strip()[:4000]


# Lists


def test_a_list_given_as_lines_is_read() -> None:
    more = "<facts>\n- one, and more\n- two\n</facts><source_event_ids>01A 01B</source_event_ids>"
    found = record(made(more=more))
    assert (found.facts, found.source_event_ids) == (("one, and more", "two"), ("01A", "01B"))


def test_concepts_and_files_in_one_element_are_parted_at_commas() -> None:
    more = "<concepts><concept>lock, buffer</concept></concepts><files>a.py, b.py</files>"
    found = record(made(more=more))
    assert (found.concepts, found.files) == (("lock", "buffer"), ("a.py", "b.py"))


def test_a_list_holds_each_item_once() -> None:
    more = "<concepts><concept>SQLite</concept><concept>sqlite</concept></concepts>"
    assert record(made(more=more)).concepts == ("SQLite",)


def test_files_that_differ_by_case_are_two() -> None:
    more = "<files><file>README.md</file><file>readme.md</file></files>"
    assert record(made(more=more)).files == ("README.md", "readme.md")


# Sources


def sources(*ids: str) -> tuple[str, ...]:
    more = "<source_event_ids>" + "".join(f"<id>{each}</id>" for each in ids) + "</source_event_ids>"
    return record(made(more=more)).source_event_ids


def test_a_record_comes_from_the_ids_it_names() -> None:
    assert sources("01B") == ("01B",)


def test_a_record_that_names_no_id_comes_from_the_whole_batch() -> None:
    assert record(made()).source_event_ids == ALL


@pytest.mark.parametrize("ids", [(), ("",), ("01Z",), ("none", "1")])
def test_a_record_that_names_only_unknown_ids_comes_from_the_whole_batch(ids: tuple[str, ...]) -> None:
    assert sources(*ids) == ALL


def test_unknown_ids_beside_known_ones_are_passed_over() -> None:
    assert sources("01Z", "01A", "01A") == ("01A",)


def test_a_summary_s_id_stands_for_the_events_it_covers() -> None:
    assert sources("compact_01S") == ("01X", "01Y")


def test_an_event_that_a_summary_covers_can_be_named() -> None:
    assert sources("01Y") == ("01Y",)


@pytest.mark.parametrize("written", [" 01a ", "[01A]", '"01A"', "01A,"])
def test_an_id_is_read_in_any_spelling(written: str) -> None:
    assert sources(written) == ("01A",)


# Nothing to keep


@pytest.mark.parametrize(
    "answer",
    [
        '<skip reason="routine reads"/>',
        "<skip/>",
        "<skip />",
        "<SKIP REASON='x' />",
        "<skip>nothing new</skip>",
        '<skip reason="a > b, <b> and c"/>',
        "<skip reason=don't/>",
        'There is nothing.\n```\n<skip reason="x"/>\n```',
    ],
)
def test_an_explicit_skip_is_an_empty_success(answer: str) -> None:
    assert extraction(answer) == Extracted(())


def test_a_skip_beside_a_record_does_not_take_it_away() -> None:
    assert records(made("1") + '<skip reason="the rest"/>') == ["1"]


@pytest.mark.parametrize("answer", ["", " \n", "I found nothing of interest.", "<skipped/>", "skip", "{}", "[]"])
def test_neither_a_record_nor_a_skip_is_a_failure(answer: str) -> None:
    assert isinstance(extraction(answer), Unusable)


@pytest.mark.parametrize("skip", ['<skip reason="..."/>', "<skip reason='…'></skip>"])
def test_the_prompt_s_own_skip_as_answer_is_a_failure(skip: str) -> None:
    assert "repeats the prompt's skip" in reason(extraction(f"When nothing is worth keeping, answer `{skip}`."))


def test_a_skip_with_a_reason_counts_beside_the_prompt_s_own() -> None:
    assert extraction('Not `<skip reason="..."/>` but <skip reason="routine reads"/>') == Extracted(())


# Cut off


@pytest.mark.parametrize("stop_reason", ["max_tokens", "length"])
def test_an_answer_at_the_output_limit_is_a_failure(stop_reason: str) -> None:
    assert reason(extraction(made(), stop_reason)) == "the answer is cut off at the model's output limit"


@pytest.mark.parametrize("stop_reason", ["end", "stop", "end_turn", None, "anything"])
def test_any_other_stop_reason_is_fine(stop_reason: str | None) -> None:
    assert isinstance(extraction(made(), stop_reason), Extracted)


def test_an_answer_that_breaks_off_inside_its_last_record_is_a_failure_at_any_character() -> None:
    whole = made("1") + "\n" + made("2", more="<facts><fact>f</fact></facts>")
    starts = len(made("1")) + len("\n<memo")
    broken = [whole[:end] for end in range(starts, len(whole))]
    assert [each for each in broken if not isinstance(extraction(each), Unusable)] == []


def test_an_answer_that_only_thinks_is_a_failure() -> None:
    assert isinstance(extraction(f"<think>I could write {made()} but"), Unusable)


# Echoes and loops


def test_the_prompt_s_own_template_as_answer_is_a_failure() -> None:
    assert "template" in reason(extraction(EXTRACTION))


@pytest.mark.parametrize(
    "part", ["[what it is about, in one line]", "[one fact that stands by itself]", "[a path it concerns]"]
)
def test_one_placeholder_left_unfilled_is_a_failure(part: str) -> None:
    assert "template" in reason(extraction(made(more=f"<facts><fact>{part}</fact></facts>")))


def test_a_placeholder_that_stands_in_the_observations_may_be_quoted() -> None:
    batch = (entry("01A", "the prompt says [a path it concerns] there"),)
    assert record(made(summary="It says [a path it concerns]."), batch).title == "T"


def test_brackets_of_another_template_are_a_failure() -> None:
    assert isinstance(extraction(made("[Title of the record]", "[Summary goes here]")), Unusable)


TOLD = "what happened and what follows from it, in a few sentences"
PRESERVE = """- decisions: architecture, trade-offs, the approach that was chosen and why;
- patterns: behaviour that repeats, themes that run through the work;"""


def test_a_record_that_says_only_what_the_prompt_says_is_a_failure() -> None:
    assert "title and a summary" in reason(extraction(made("Memory", TOLD)))


def test_a_summary_that_says_only_what_the_prompt_says_is_a_failure() -> None:
    assert "no compacted entry with text" in reason(compaction(dense(PRESERVE)))


def test_a_summary_that_says_more_than_the_prompt_is_kept() -> None:
    assert shares(dense(f"{PRESERVE}\n- errors: the build failed"))[0][1] == "ABCD"


def test_the_prompt_s_sentences_may_be_quoted_where_the_observations_hold_them() -> None:
    assert record(made("The prompt", TOLD), (entry("01A", f"It asks for {TOLD}."),)).summary == TOLD


@pytest.mark.parametrize("word", ["errors", "decisions", "what was chosen"])
def test_a_word_or_two_that_stand_in_the_prompt_are_fine(word: str) -> None:
    assert record(made(word)).title == word


@pytest.mark.parametrize(
    "nothing", ["\u200b", "\u200e\u200f", "\ufffd", "&#0;", "\u2800", "\u3164 \u115f", "\u0301", "\u00ad\ufeff"]
)
@pytest.mark.parametrize("part", ["title", "summary"])
def test_a_text_that_shows_nothing_is_none(part: str, nothing: str) -> None:
    assert "title and a summary" in reason(extraction(made(**{part: nothing})))


def test_a_record_whose_title_shows_nothing_is_left_out_beside_others() -> None:
    assert records(made(title="\u200b") + made(title="Kept")) == ["Kept"]


@pytest.mark.parametrize("title", ["🚀", "!", "क़", "x\u200b", "👨\u200d👩", "\ue0a0"])
def test_a_title_that_shows_one_sign_is_one(title: str) -> None:
    assert record(made(title)).title == title


@pytest.mark.parametrize("title", ["[WIP] the parser", "Use [a, b] in order", "list[int] or None"])
def test_brackets_in_a_title_are_fine(title: str) -> None:
    assert record(made(title)).title == title


def test_one_record_again_and_again_is_a_failure() -> None:
    answer = made("The tests pass", "All the tests of the project pass now, and the build is green again.") * 12
    assert reason(extraction(answer)) == "the answer repeats itself over and over"


def test_a_loop_inside_a_summary_is_a_failure() -> None:
    assert "repeats itself" in reason(extraction(made("Start", "It works well. " + "and then again " * 40)))


def test_many_ordinary_records_of_one_form_are_fine() -> None:
    more = """
<facts>
<fact>Run {0} of `make test` took {0}.{1} s.</fact>
</facts>
<concepts>
<concept>pytest</concept>
<concept>buffer</concept>
</concepts>
<files>
<file>server/lithify/core/buffer.py</file>
</files>
<source_event_ids>
<id>01A</id>
</source_event_ids>
"""
    answer = "\n".join(
        made(
            f"Case {number} of the buffer",
            f"Writing line {number} of {number * 3} costs {number} ms.",
            more.format(number, number * 7),
        )
        for number in range(40)
    )
    assert len(records(answer)) == 40


def test_facts_that_say_the_summary_once_more_are_fine() -> None:
    sentences = [f"Step {number} changes setting {number * 3} of module m{number} for good." for number in range(12)]
    more = "<facts>" + "".join(f"<fact>{each}</fact>" for each in sentences) + "</facts>"
    assert len(record(made("Steps", " ".join(sentences), more)).facts) == 12


@given(st.text("<>/memory_recordtitlsuk \"'=&;[]!CDATA\n", max_size=200))
def test_no_answer_is_an_error(answer: str) -> None:
    extraction(answer)
    extraction(f"<memory_record>{answer}</memory_record>")
    read_compaction(f"<compacted_entry {answer}>{answer}</compacted_entry>", BATCH, COMPACTION, None)


# Compaction

FOUR = tuple(entry(name) for name in ("01A", "01B", "01C", "01D"))


def compaction(
    answer: str, batch: tuple[Entry, ...] = FOUR, stop_reason: str | None = "end"
) -> tuple[CompactedText, ...] | Unusable:
    return read_compaction(answer, batch, COMPACTION, stop_reason)


def shares(answer: str, batch: tuple[Entry, ...] = FOUR) -> list[tuple[str, str]]:
    """Each summary with the last letters of the ids it stands for."""
    found = compaction(answer, batch)
    assert not isinstance(found, Unusable), found
    return [(each.text, "".join(one.event_id[-1] for one in each.entries)) for each in found]


def dense(text: str, sources: str | None = None) -> str:
    named = "" if sources is None else f' sources="{sources}"'
    return f"<compacted_entry{named}>{text}</compacted_entry>"


def test_a_lone_summary_stands_for_the_whole_batch() -> None:
    assert shares(dense("all")) == [("all", "ABCD")]


def test_each_summary_stands_for_the_ids_it_names() -> None:
    assert shares(dense("x", "01B 01D") + dense("y", "01A 01C")) == [("x", "BD"), ("y", "AC")]


def test_an_id_that_two_name_belongs_to_the_first() -> None:
    assert shares(dense("x", "01A 01B") + dense("y", "01B 01C 01D")) == [("x", "AB"), ("y", "CD")]


def test_ids_that_none_names_are_shared_out_in_order() -> None:
    assert shares(dense("x") + dense("y")) == [("x", "AB"), ("y", "CD")]


def test_ids_that_none_names_go_to_the_summaries_that_name_none() -> None:
    assert shares(dense("x", "01B") + dense("y")) == [("x", "B"), ("y", "ACD")]


def test_ids_that_none_names_are_shared_among_all_where_each_names_some() -> None:
    assert shares(dense("x", "01A") + dense("y", "01B")) == [("x", "AC"), ("y", "BD")]


@pytest.mark.parametrize("sources", ["01A,01B", "[01A, 01B]", "01a 01b", "01A;01B", " 01A\n01B "])
def test_sources_are_read_in_any_spelling(sources: str) -> None:
    assert shares(dense("x", sources) + dense("y", "01C 01D")) == [("x", "AB"), ("y", "CD")]


def test_the_id_of_a_summary_can_be_named() -> None:
    assert shares(dense("x", "compact_01S") + dense("y", "01A 01B"), BATCH) == [("x", "S"), ("y", "AB")]


def test_unknown_ids_are_passed_over() -> None:
    assert shares(dense("x", "01Z 99") + dense("y", "01A")) == [("x", "BCD"), ("y", "A")]


def test_a_summary_left_without_an_entry_goes_on_in_the_one_that_has_them() -> None:
    assert shares(dense("x", "01A 01B 01C 01D") + dense("y", "01B")) == [("x\n\ny", "ABCD")]


def test_more_summaries_than_entries_lose_no_text() -> None:
    texts = [text for text, _ in shares(dense("x") + dense("y") + dense("z"), FOUR[:2])]
    assert sorted(" ".join(texts).split()) == ["x", "y", "z"]


IDS = st.lists(st.sampled_from(["01A", "01B", "01C", "01D", "01Z"]), max_size=5).map(" ".join)


@given(st.lists(st.none() | IDS, min_size=1, max_size=6))
def test_each_entry_belongs_to_exactly_one_summary(named: list[str | None]) -> None:
    found = shares("".join(dense(f"t{number}", ids) for number, ids in enumerate(named)))
    assert sorted("".join(names for _, names in found)) == list("ABCD")


@given(st.lists(st.none() | IDS, min_size=1, max_size=6))
def test_no_summary_is_without_an_entry_and_no_text_is_lost(named: list[str | None]) -> None:
    found = shares("".join(dense(f"t{number}", ids) for number, ids in enumerate(named)))
    assert all(names for _, names in found)
    assert sorted(word for text, _ in found for word in text.split()) == [f"t{number}" for number in range(len(named))]


def test_entries_of_a_summary_stand_in_the_order_of_the_batch() -> None:
    assert shares(dense("x", "01D 01A 01C 01B")) == [("x", "ABCD")]


@pytest.mark.parametrize(
    "answer", ["", " ", "Here is a summary.", "<compacted_entry></compacted_entry>", "<compacted_entry/>"]
)
def test_no_compacted_entry_with_text_is_a_failure(answer: str) -> None:
    assert isinstance(compaction(answer), Unusable)


def test_an_empty_compacted_entry_beside_a_good_one_is_passed_over() -> None:
    assert shares(dense("") + dense("x")) == [("x", "ABCD")]


def test_a_compaction_is_read_with_fences_and_prose_around_it() -> None:
    assert shares(f"Sure!\n```xml\n{dense('a &amp; b')}\n```\n") == [("a & b", "ABCD")]


def test_a_compaction_that_breaks_off_is_a_failure_at_any_character() -> None:
    whole = dense("first", "01A") + dense("second", "01B")
    broken = [whole[:end] for end in range(len(dense("first", "01A")) + len("<comp"), len(whole))]
    assert [each for each in broken if not isinstance(compaction(each), Unusable)] == []


def test_a_compaction_at_the_output_limit_is_a_failure() -> None:
    assert isinstance(compaction(dense("x"), stop_reason="max_tokens"), Unusable)


def test_the_compaction_prompt_s_own_template_as_answer_is_a_failure() -> None:
    assert "template" in reason(compaction(COMPACTION))


@pytest.mark.parametrize(
    "text",
    ["[the text of the entry]", "[What we're working on now]", "<a>\n[What we did]\n</a>\n- [Next steps here]\n..."],
)
def test_a_compaction_of_nothing_but_placeholders_is_a_failure(text: str) -> None:
    assert isinstance(compaction(dense(text)), Unusable)


def test_placeholders_in_the_sources_are_a_failure() -> None:
    answer = dense("x", "[ids of the observations it stands for, separated by spaces]")
    assert isinstance(compaction(answer), Unusable)


@pytest.mark.parametrize("unit", ["The tests pass now. ", "测试现在通过了。"])
def test_a_compaction_that_runs_away_is_a_failure(unit: str) -> None:
    assert "repeats itself" in reason(compaction(dense(unit * 60)))


def test_the_same_summary_for_many_is_a_failure() -> None:
    assert isinstance(
        compaction(dense("The session worked on the buffer and on its locks, all day long. ") * 20), Unusable
    )


def test_a_long_ordinary_compaction_is_fine() -> None:
    lines = [
        f"- `pytest tests/test_{n}.py` failed with exit {n}; fixed in src/m{n}.py by guarding key k{n}"
        for n in range(90)
    ]
    assert shares(dense("\n".join(lines)))[0][1] == "ABCD"


def test_sharing_out_a_full_buffer_is_linear() -> None:
    batch = tuple(entry(f"01{number:04}") for number in range(2600))
    answer = "".join(dense(f"summary {n} of part {n * 7}", f"01{n:04} 01{n + 1300:04}") for n in range(1300))
    found = compaction(answer, batch)
    assert not isinstance(found, Unusable)
    assert [len(each.entries) for each in found] == [2] * 1300


# What could steer whatever shows a record

STEERING = (
    "".join(map(chr, [*range(0x09), *range(0x0E, 0x1C), 0x1F, *range(0x7F, 0x85), *range(0x86, 0xA0)]))
    + "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)


def test_no_text_of_a_record_keeps_a_control_character() -> None:
    text = f"o{STEERING}n{STEERING}e"
    more = f"<facts><fact>{text}</fact></facts><concepts><concept>{text}</concept></concepts>"
    found = record(made(text, text, f"{more}<files><file>{text}</file></files>"))
    assert (found.title, found.summary, found.facts, found.concepts, found.files) == (
        "one",
        "one",
        ("one",),
        ("one",),
        ("one",),
    )


def test_an_escape_sequence_written_as_an_entity_loses_its_escape() -> None:
    assert record(made("&#x9b;2Jred &#155;31m", "S")).title.isprintable()


def test_a_summary_and_facts_keep_their_lines_and_tabs() -> None:
    found = record(made("T", "one\n\ttwo\r\nthree\rfour", "<facts><fact>a\tb\u2028c</fact></facts>"))
    assert (found.summary, found.facts) == ("one\n\ttwo\nthree\nfour", ("a\tb\nc",))


def test_title_concepts_and_files_stand_on_one_line() -> None:
    more = "<concepts><concept>a\nb</concept></concepts><files><file>c\t\nd  e</file></files>"
    found = record(made("one\n two\x0bthree\x85four", "S", more))
    assert (found.title, found.concepts, found.files) == ("one two three four", ("a b",), ("c d  e",))


def test_a_title_of_control_characters_alone_is_none() -> None:
    assert "title and a summary" in reason(extraction(made("\x1b\x07", "S")))


def test_letters_signs_and_joined_emoji_stay_as_they_are() -> None:
    text = "Größe: 日本 👩\u200d💻 \u05d0\u200f!"
    assert record(made(text, text)).summary == text
