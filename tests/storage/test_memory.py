"""Memory records: found by what they say, merged when they say the same, and really gone when they are forgotten."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unicodedata import normalize

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lithify.core.records import MAX_FACT, RecordDraft
from lithify.storage import database, memory
from lithify.storage.memory import MAX_FACTS, match_expression
from lithify.storage.store import Store, open_store
from tests.support.clock import Clock
from tests.support.stores import CEILING_BYTES, event, rows, states

FIELDS = ("title", "summary", "facts", "concepts", "files")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path, Clock())
    yield opened
    opened.close()


def draft(
    title: str = "Tokens expire early", summary: str = "The clock was in local time.", **more: object
) -> RecordDraft:
    return replace(RecordDraft("decision", title, summary, source_event_ids=("E1",)), **more)  # type: ignore[arg-type]


def keep(store: Store, one: RecordDraft, record_id: str, project_id: str = "p1") -> str:
    with store.transaction():
        return store.memory.keep(project_id, one, record_id, "2026-01-02T03:04:05Z", "model")


def found(store: Store, query: str, project_id: str | None = "p1", limit: int = 10) -> list[str]:
    return [record.record_id for record in store.memory.search(project_id, query, limit)]


# --- search ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", FIELDS)
def test_a_record_is_found_by_a_word_of_any_field(store: Store, field: str) -> None:
    keep(store, draft(**{field: "pelican" if field in ("title", "summary") else ("a", "pelican")}), "R1")
    assert found(store, "pelican") == ["R1"]


def test_a_record_is_found_by_a_part_of_a_path(store: Store) -> None:
    keep(store, draft(files=("src/auth/token_store.py",)), "R1")
    assert (found(store, "token_store.py"), found(store, "auth")) == (["R1"], ["R1"])


def test_case_and_accents_make_no_difference(store: Store) -> None:
    keep(store, draft("Café MIGRATION"), "R1")
    assert (found(store, "cafe"), found(store, "migration")) == (["R1"], ["R1"])


@pytest.mark.parametrize("kept", ["NFC", "NFD"])
@pytest.mark.parametrize("asked", ["NFC", "NFD"])
@pytest.mark.parametrize("word", ["résumé", "설정", "がぎ", "x\u0304y"])
def test_composed_and_decomposed_spellings_are_found_alike(store: Store, word: str, kept: str, asked: str) -> None:
    keep(store, draft(files=(f"src/{normalize(kept, word)}.py",)), "R1")  # type: ignore[arg-type]
    assert found(store, normalize(asked, word)) == ["R1"]  # type: ignore[arg-type]


def test_a_record_of_an_earlier_index_leaves_it_wholly(store: Store) -> None:
    decomposed = normalize("NFD", "설정")
    with store.transaction():
        store._connection.execute(
            "INSERT INTO memory_records (record_id, number, project_id, type, exact_key, title, summary, facts,"
            " concepts, files, method, created_at, updated_at)"
            " VALUES ('R1', 1, 'p1', 'decision', 'k', ?, 's', '[]', '[]', '[]', 'model', '', '')",
            (decomposed,),
        )
        store._connection.execute(
            "INSERT INTO memory_index (rowid, title, summary, facts, concepts, files) VALUES (1, ?, 's', '', '', '')",
            (decomposed,),
        )
    store.forget_record("R1")
    store._connection.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, memory_index, row)")
    assert store._connection.execute("SELECT term FROM temp.terms").fetchall() == []


@pytest.mark.parametrize("query", ["数据库", "数据", "連接"])
def test_words_of_a_script_without_blanks_are_found_inside_a_sentence(store: Store, query: str) -> None:
    keep(store, draft("修复数据库連接超时", "因为连接池太小"), "R1")
    keep(store, draft("数字签名", "据说"), "R2")
    assert found(store, query) == ["R1"]


def test_a_forgotten_record_of_such_a_script_is_found_no_more(store: Store) -> None:
    keep(store, draft("修复数据库連接超时", "因为连接池太小"), "R1")
    store.forget_record("R1")
    assert found(store, "数据库") == []


def test_a_word_of_the_title_counts_more_than_one_of_the_summary(store: Store) -> None:
    keep(store, draft("Something else", "pelican and more"), "R1")
    keep(store, draft("A pelican", "words and more"), "R2")
    assert found(store, "pelican") == ["R2", "R1"]


def test_more_words_of_the_query_count_more(store: Store) -> None:
    keep(store, draft("pelican", "nothing"), "R1")
    keep(store, draft("pelican stork", "otherwise"), "R2")
    assert found(store, "stork pelican") == ["R2", "R1"]


def test_a_hit_has_a_score_that_falls(store: Store) -> None:
    keep(store, draft("A pelican", "words"), "R1")
    keep(store, draft("Something", "pelican and words"), "R2")
    first, second = (record.score for record in store.memory.search("p1", "pelican", 10))
    assert first is not None
    assert second is not None
    assert first > second > 0


def test_a_project_finds_its_own_records_alone(store: Store) -> None:
    keep(store, draft(), "R1")
    keep(store, draft(), "R2", project_id="p2")
    assert (found(store, "tokens"), found(store, "tokens", "p2")) == (["R1"], ["R2"])


def test_without_a_project_all_are_found(store: Store) -> None:
    keep(store, draft(), "R1")
    keep(store, draft(), "R2", project_id="p2")
    assert set(found(store, "tokens", None)) == {"R1", "R2"}


def test_no_more_are_found_than_asked_for(store: Store) -> None:
    for number in range(5):
        keep(store, draft(f"pelican {number}", f"alpha{number} beta{number} gamma{number}"), f"R{number}")
    assert len(found(store, "pelican", limit=3)) == 3


def test_what_no_record_holds_is_not_found(store: Store) -> None:
    keep(store, draft(), "R1")
    assert found(store, "zebra") == []


@pytest.mark.parametrize(
    "query",
    [
        '"', '""', "'", "*", "tok*", "(", ")", "((", "AND", "OR", "NOT", "NEAR", "NEAR(tokens, 2)", "tokens AND", "-",
        "^tokens", "title:", "title : tokens", "{title summary} : x", "tokens + early", ":", "%", "_", "__", "\\", ";",
        "'; DROP TABLE memory_records; --", "\x00", "tokens\x00early", "\ud800", "½ ² ٣", "\u0e33", "😀", "", " \t\n",
        "x" * 10_240, "word " * 2048, '"' * 10_240, "\u202e\u0301",
    ],
)  # fmt: skip
def test_no_text_breaks_a_search(store: Store, query: str) -> None:
    keep(store, draft(), "R1")
    assert found(store, query) in ([], ["R1"])


@given(query=st.text(max_size=60))
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_at_all_breaks_a_search(store: Store, query: str) -> None:
    assert found(store, query) == []


@pytest.mark.parametrize(
    "query", ['"tokens" expire', "tokens\x00early", "(tokens", "title:tokens", "NOT tokens", "*tokens*"]
)
def test_the_words_of_a_query_are_found_whatever_stands_around_them(store: Store, query: str) -> None:
    keep(store, draft(), "R1")
    assert found(store, query) == ["R1"]


def test_a_query_asks_for_so_many_words_at_most() -> None:
    assert match_expression(" ".join(f"w{number}" for number in range(100))).count(" OR ") == 31


@pytest.fixture
def many(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store that ranks few records: `common` stands in all 40, `some` in every third, `pelican` in three."""
    monkeypatch.setattr(memory, "MOST_RANKED", 8)
    monkeypatch.setattr(memory, "SAMPLED", 30)
    for number in range(40):
        rare = "pelican" if number in (5, 20, 35) else "heron"
        some = f"some other {number}" if number % 3 == 0 else f"filler text {number}"
        keep(store, draft(f"{rare} {number}", f"common {some}"), f"R{number:02}")
    return store


def test_among_many_records_the_rare_words_find_and_the_common_ones_decide(many: Store) -> None:
    keep(many, draft("pelican 40", "common some other 40"), "R40")
    assert found(many, "common some pelican", limit=4)[0] == "R40"
    assert set(found(many, "common some pelican", limit=4)) == {"R05", "R20", "R35", "R40"}


def test_among_many_records_more_are_found_than_hold_a_rare_word(many: Store) -> None:
    hits = found(many, "common some pelican", limit=10)
    assert len(hits) == 10
    assert set(hits[:3]) == {"R05", "R20", "R35"}


def test_among_many_records_a_word_of_all_and_an_unknown_one_find_some(many: Store) -> None:
    assert len(found(many, "common zebra", limit=10)) == 10


def test_among_many_records_those_of_another_project_are_not_found(many: Store) -> None:
    keep(many, draft("pelican elsewhere", "common some"), "R99", project_id="p2")
    assert "R99" not in found(many, "common some pelican")
    assert found(many, "common some pelican", project_id="p2") == ["R99"]
    assert "R99" in found(many, "common some pelican", project_id=None)


@pytest.mark.parametrize("odd", ["a\x00b pelican", "lone \ud800 pelican", "'\"` pelican", "😀 pelican"])
@pytest.mark.parametrize("field", FIELDS)
def test_a_record_of_any_text_is_kept_and_found_and_forgotten(store: Store, field: str, odd: str) -> None:
    keep(store, draft(**{field: odd if field in ("title", "summary") else (odd,)}), "R1")
    assert found(store, "pelican") == ["R1"]
    assert store.forget_record("R1")
    assert found(store, "pelican") == []


# --- records as they are kept ---------------------------------------------------------------------------------


def test_a_record_comes_back_as_it_was(store: Store) -> None:
    keep(store, draft(facts=("f1", "f2"), concepts=("c",), files=("a.py",), source_event_ids=("E2", "E1")), "R1")
    record = store.memory.find("R1")
    assert record is not None
    assert (record.title, record.facts, record.concepts, record.files) == (
        "Tokens expire early",
        ("f1", "f2"),
        ("c",),
        ("a.py",),
    )
    assert (record.source_event_ids, record.type, record.method) == (("E1", "E2"), "decision", "model")


def test_records_survive_a_restart(store: Store, tmp_path: Path) -> None:
    keep(store, draft(), "R1")
    store.close()
    again = open_store(tmp_path, Clock())
    assert found(again, "tokens") == ["R1"]
    again.close()


def test_records_are_seen_by_another_process(store: Store, tmp_path: Path) -> None:
    other = open_store(tmp_path, Clock())
    keep(store, draft(), "R1")
    assert found(other, "tokens") == ["R1"]
    other.close()


def test_a_record_that_is_not_there_is_none(store: Store) -> None:
    assert store.memory.find("R1") is None


def test_the_list_has_the_newest_first_and_goes_on_where_it_stopped(store: Store) -> None:
    for number in range(5):
        keep(store, draft(f"pelican {number}", f"alpha{number} beta{number} gamma{number}"), f"R{number}")
    first = store.memory.recent("p1", 2, None)
    second = store.memory.recent("p1", 2, first[-1][0])
    assert [record.record_id for _, record in (*first, *second)] == ["R4", "R3", "R2", "R1"]


def test_a_list_goes_on_rightly_when_a_record_came_meanwhile(store: Store) -> None:
    for number in range(3):
        keep(store, draft(f"pelican {number}", f"alpha{number} beta{number} gamma{number}"), f"R{number}")
    cursor = store.memory.recent("p1", 1, None)[-1][0]
    keep(store, draft("A new one", "entirely different words"), "R9")
    assert [record.record_id for _, record in store.memory.recent("p1", 9, cursor)] == ["R1", "R0"]


def test_the_list_is_that_of_a_project(store: Store) -> None:
    keep(store, draft(), "R1")
    keep(store, draft(), "R2", project_id="p2")
    assert [record.record_id for _, record in store.memory.recent("p1", 9, None)] == ["R1"]


# --- records that say the same --------------------------------------------------------------------------------


def test_the_same_title_in_other_case_and_punctuation_is_the_same_record(store: Store) -> None:
    keep(store, draft("Tokens expire early"), "R1")
    assert keep(store, draft("tokens EXPIRE, early!", "Another summary altogether."), "R2") == "R1"


def test_another_type_is_another_record(store: Store) -> None:
    keep(store, draft(), "R1")
    assert keep(store, draft(type="error"), "R2") == "R2"


def test_another_project_has_a_record_of_its_own(store: Store) -> None:
    keep(store, draft(), "R1")
    assert keep(store, draft(), "R2", project_id="p2") == "R2"


def test_records_with_nearly_the_same_words_are_one(store: Store) -> None:
    same = "The token check compared local time with UTC so that tokens expired two hours early"
    keep(store, draft("Tokens expire too early", same), "R1")
    assert keep(store, draft("Tokens expire early", same), "R2") == "R1"


def test_a_record_of_the_same_title_that_says_something_else_loses_nothing(store: Store) -> None:
    keep(store, draft("Bug", "alpha in file one leaks"), "R1")
    keep(store, draft("Bug", "zeta parser drops commas"), "R2")
    (record,) = [one for _, one in store.memory.recent("p1", 10, None)]
    assert (record.summary, record.facts) == ("zeta parser drops commas", ("alpha in file one leaks",))


def test_an_earlier_summary_that_says_the_opposite_in_the_same_words_is_kept_as_a_fact(store: Store) -> None:
    keep(store, draft("Indentation", "Use tabs, not spaces"), "R1")
    keep(store, draft("Indentation", "Use spaces, not tabs"), "R2")
    record = store.memory.find("R1")
    assert record is not None
    assert (record.summary, record.facts) == ("Use spaces, not tabs", ("Use tabs, not spaces",))


def test_an_earlier_summary_longer_than_a_fact_is_kept_whole(store: Store) -> None:
    earlier = " ".join(f"word{number}" for number in range(500))
    keep(store, draft("Bug", earlier), "R1")
    keep(store, draft("Bug", "zeta"), "R2")
    record = store.memory.find("R1")
    assert record is not None
    assert (" ".join(record.facts), max(map(len, record.facts)) <= MAX_FACT) == (earlier, True)


def test_the_same_summary_again_is_no_fact(store: Store) -> None:
    keep(store, draft(summary="The clock was in local time. " * 30), "R1")
    keep(store, draft(summary="the clock  was in local time. " * 30), "R2")
    record = store.memory.find("R1")
    assert record is not None
    assert record.facts == ()


def test_what_a_record_said_before_is_kept_too_where_the_words_are_nearly_the_same(store: Store) -> None:
    keep(store, draft("Tokens expire too early", "The token check compared local time with UTC"), "R1")
    keep(store, draft("Tokens expire early", "The token check then compared local time with UTC"), "R2")
    record = store.memory.find("R1")
    assert record is not None
    assert record.facts == ("The token check compared local time with UTC",)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            ("Use tabs not spaces", "The team decided to indent with tabs and never with spaces."),
            ("Use spaces not tabs", "The team decided to indent with spaces and never with tabs."),
        ),
        (
            ("port 8080", "The service listens on port 8080 in staging and prod clusters today"),
            ("port 9090", "The service listens on port 9090 in staging and prod clusters today"),
        ),
        (("C++ build", "It needs a toolchain"), ("C# build", "It needs a feed")),
        (("Retry if status != 200", "Retry on failures"), ("Retry if status == 200", "Poll until it changes")),
        (("🚀", "🔥"), ("💧", "🔥")),
    ],
)
def test_records_that_say_another_thing_are_two(store: Store, one: tuple[str, str], other: tuple[str, str]) -> None:
    keep(store, draft(*one), "R1")
    assert keep(store, draft(*other), "R2") == "R2"


def test_an_equal_title_is_found_where_its_key_was_made_without_signs(store: Store) -> None:
    for title, record_id in (("C++ build", "R1"), ("C# build", "R2")):
        keep(store, draft(title, record_id), record_id)
    store._connection.execute("UPDATE memory_records SET exact_key = 'decision:c build'")
    kept = [keep(store, draft(title, "new"), f"N{title}") for title in ("C build", "C# build", "C++ build")]
    assert kept == ["NC build", "R2", "R1"]


def test_records_with_other_words_are_two(store: Store) -> None:
    keep(store, draft("Tokens expire too early", "The token check compared local time with UTC"), "R1")
    assert keep(store, draft("Tokens expire early", "Redis evicts them when its memory is full"), "R2") == "R2"


def test_a_merged_record_keeps_every_event(store: Store) -> None:
    keep(store, draft(source_event_ids=("E1", "E2")), "R1")
    keep(store, draft(source_event_ids=("E2", "E3")), "R2")
    record = store.memory.find("R1")
    assert record is not None
    assert record.source_event_ids == ("E1", "E2", "E3")


def test_a_merged_record_has_the_later_summary_and_all_facts(store: Store) -> None:
    keep(store, draft(summary="first", facts=("a", "b")), "R1")
    keep(store, draft(summary="second", facts=("B", "c")), "R2")
    record = store.memory.find("R1")
    assert record is not None
    assert (record.summary, record.facts) == ("second", ("a", "b", "first", "c"))


def test_a_merged_record_is_found_by_its_new_words_and_by_its_old_ones(store: Store) -> None:
    keep(store, draft(summary="pelican"), "R1")
    keep(store, draft(summary="stork"), "R2")
    assert (found(store, "stork"), found(store, "pelican")) == (["R1"], ["R1"])


def test_merges_make_no_record_larger_than_a_limit(store: Store) -> None:
    for number in range(3):
        keep(store, draft(facts=tuple(f"fact {number} {each}" for each in range(60))), f"R{number}")
    record = store.memory.find("R0")
    assert record is not None
    assert (len(record.facts), record.facts[-1]) == (MAX_FACTS, "fact 2 59")


# --- forgetting -----------------------------------------------------------------------------------------------


def bytes_on_disk(data_dir: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(data_dir.glob("lithify.db*")))


def fill(store: Store, count: int = 60) -> None:
    """Records of all sizes, so that pages split and overflow; the middle words of each are its own secret."""
    for number in range(count):
        more = " ".join(f"w{number}x{each}" for each in range((5, 50, 400)[number % 3]))
        secret = f"zqsecret{number}zq"
        facts, files = (f"{secret}fact",), (f"src/{secret}.py",)
        one = draft(f"Title {number} {secret}", f"{more} {secret} {more}", facts=facts, concepts=(secret,), files=files)
        keep(store, one, f"R{number}")


def test_a_forgotten_record_is_neither_listed_nor_found_nor_named(store: Store, tmp_path: Path) -> None:
    keep(store, draft(), "R1")
    assert store.forget_record("R1")
    assert (found(store, "tokens"), store.memory.find("R1"), store.memory.recent("p1", 9, None)) == ([], None, [])
    assert rows(tmp_path, "SELECT * FROM record_events") == []


def test_a_forgotten_record_s_text_is_in_no_byte_of_the_database(store: Store, tmp_path: Path) -> None:
    fill(store)
    forgotten = [number for number in range(60) if number % 4 != 1]
    for number in forgotten:
        store.forget_record(f"R{number}")
    kept = bytes_on_disk(tmp_path)
    assert [number for number in forgotten if f"zqsecret{number}zq".encode() in kept] == []


def test_the_others_are_still_found_when_one_is_forgotten(store: Store) -> None:
    fill(store)
    store.forget_record("R8")
    assert [number for number in range(60) if found(store, f"zqsecret{number}zq") != [f"R{number}"]] == [8]


def test_a_summary_that_a_merge_replaced_is_gone_with_its_record(store: Store, tmp_path: Path) -> None:
    keep(store, draft(summary="zqearlierzq " * 300), "R1")
    keep(store, draft(summary="later"), "R2")
    store.forget_record("R1")
    assert b"zqearlierzq" not in bytes_on_disk(tmp_path)


def test_what_another_process_wrote_is_gone_too(store: Store, tmp_path: Path) -> None:
    other = open_store(tmp_path, Clock())
    keep(other, draft(summary="zqothersecretzq " * 300), "R1")
    store.forget_record("R1")
    assert b"zqothersecretzq" not in bytes_on_disk(tmp_path)
    other.close()


def test_to_forget_what_is_not_there_is_told(store: Store) -> None:
    assert not store.forget_record("R1")


def test_the_events_of_a_forgotten_record_stay(store: Store, tmp_path: Path) -> None:
    store.events.accept([event("E1")], CEILING_BYTES)
    keep(store, draft(), "R1")
    store.forget_record("R1")
    assert states(tmp_path) == {"E1": "buffered"}


def test_the_index_is_sound_after_merges_and_forgetting(store: Store) -> None:
    fill(store, 30)
    keep(store, draft("Title 3 zqsecret3zq", "anew"), "R99")
    store.forget_record("R5")
    store._connection.execute("INSERT INTO memory_index (memory_index) VALUES ('integrity-check')")
    assert "R5" not in found(store, "Title", limit=100)


# --- a database of the first schema ---------------------------------------------------------------------------


@pytest.fixture
def first_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder as the first release left it: with events and a session, without records."""
    with monkeypatch.context() as earlier:
        earlier.setattr(database, "MIGRATIONS", database.MIGRATIONS[:1])
        connection = database.open_database(tmp_path / "lithify.db")
    columns = (
        "event_id, sequence, project_id, state, session_id, actor_id, kind, body, valid_time, recorded_at, namespace,"
        " surface, source"
    )
    connection.execute(
        f"INSERT INTO events ({columns})"
        " VALUES ('E1', 1, 'p1', 'waiting', 's', 'ann', 'note', ?, 't', 't', 'n', 'x', '{}')",
        (json.dumps({"type": "text", "content": "hello"}),),
    )
    connection.execute("INSERT INTO sessions VALUES ('s1', 't', 'p1', '{}', NULL, NULL, 'x', 1, 1, 5, 'a', 'b', 0)")
    connection.execute("INSERT INTO session_messages VALUES ('s1', 0, '{}', 5, NULL)")
    connection.close()
    return tmp_path


TABLES = ("events", "sessions", "session_messages")


def test_a_database_of_the_first_schema_keeps_its_events_and_sessions(first_schema: Path) -> None:
    before = {table: rows(first_schema, f"SELECT * FROM {table}") for table in TABLES}
    open_store(first_schema, Clock()).close()
    assert {table: rows(first_schema, f"SELECT * FROM {table}") for table in TABLES} == before


def test_a_database_of_the_first_schema_can_keep_records(first_schema: Path) -> None:
    store = open_store(first_schema, Clock())
    keep(store, draft(), "R1")
    assert found(store, "tokens") == ["R1"]
    store.close()


def test_events_that_waited_in_the_first_schema_are_fed(first_schema: Path) -> None:
    store = open_store(first_schema, Clock())
    store.events.feed("p1", CEILING_BYTES)
    assert states(first_schema) == {"E1": "buffered"}
    store.close()
