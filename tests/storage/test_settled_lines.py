"""What holds of a buffer's lines while work goes on: they are settled once, and again wherever something else than an
append of ours may have changed what they are."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from lithify.core.entries import Entry, Line, entry_line, summary_entry
from lithify.storage import settling, system
from lithify.storage.locks import FileLock, LockUnavailable
from lithify.storage.store import Store, open_store
from tests.storage.seam import failing_from
from tests.support.clock import Clock
from tests.support.stores import CEILING_BYTES, IN_MEMORY, buffer_file, buffered_ids, change, event, states

COVERED = ("E1", "E2")


def made(folder: Path) -> Store:
    """A store with four events in the buffer of `p1`, two of which a compaction has claimed."""
    store = open_store(folder, Clock())
    store.events.accept([event(f"E{number}") for number in range(1, 5)], CEILING_BYTES)
    store.staging.begin_compaction()
    claim(store)
    return store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store in which a compaction goes on."""
    opened = made(tmp_path)
    yield opened
    opened.close()


def claim(store: Store) -> list[Entry]:
    return store.staging.claim("p1", "compaction", lambda free: [one for one in free if one.event_id in COVERED])


def compact(store: Store, folder: Path) -> bool:
    """Replaces the claimed entries by a summary."""
    covered = [*map(entry_of, COVERED)]
    return store.staging.replace("p1", set(COVERED), [summary_entry("1", covered, "dense", COVERED)])


def entry_of(event_id: str) -> Entry:
    """An entry as the buffer has it."""
    return Entry(event_id, "/actor/a/project/p1/", "note", {"type": "text", "content": event_id}, "t", "s")


def write(folder: Path, data: bytes) -> None:
    """Bytes at the end of the buffer that nobody of ours wrote."""
    with buffer_file(folder).open("ab") as file:
        file.write(data)


def hand_written(event_id: str, text: str = "by hand") -> bytes:
    entry = entry_of(event_id)
    return entry_line(Entry(event_id, entry.namespace, "note", {"type": "text", "content": text}, "t", "s")).encode()


# --- what may happen between a claim and what comes of it ------------------------------------------------------


def accept(store: Store, folder: Path) -> None:
    store.events.accept([event(f"N{len(states(folder))}")], CEILING_BYTES)


def accept_in_another_window(store: Store, folder: Path) -> None:
    other = open_store(folder, Clock())
    other.events.accept([event(f"O{len(states(folder))}")], CEILING_BYTES)
    other.close()


def evict_in_another_window(store: Store, folder: Path) -> None:
    change(folder, "UPDATE events SET state = 'evicted' WHERE event_id = 'E3'")


def extract(store: Store, folder: Path) -> None:
    store.staging.begin_extraction("p1")
    batch = store.staging.claim("p1", "extraction", lambda free: [one for one in free if one.event_id == "E4"])
    store.staging.extract("p1", batch, [], "model", lambda: "R1", "2026-01-02T03:04:05Z")
    store.staging.end_extraction("p1")


def take_the_last_line_away(store: Store, folder: Path) -> None:
    lines = buffer_file(folder).read_bytes().splitlines(keepends=True)
    with buffer_file(folder).open("r+b") as file:
        file.truncate(sum(map(len, lines[:-1])))


def take_a_covered_line_away(store: Store, folder: Path) -> None:
    lines = buffer_file(folder).read_bytes().splitlines(keepends=True)
    buffer_file(folder).write_bytes(b"".join(line for line in lines if b'"event_id":"E2"' not in line))


def change_a_line_in_its_place(store: Store, folder: Path) -> None:
    data = buffer_file(folder).read_bytes()
    buffer_file(folder).write_bytes(data.replace(b'"event_id":"E3"', b'"event_id":"E3, changed"'))


def write_a_line_by_hand(store: Store, folder: Path) -> None:
    write(folder, hand_written(f"H{buffer_file(folder).stat().st_size}") + b"\n")


def write_a_secret_by_hand(store: Store, folder: Path) -> None:
    write(folder, hand_written("S1", "<private>hunter2</private>") + b"\n")


def write_half_a_line(store: Store, folder: Path) -> None:
    write(folder, b'{"event_id":"torn')


def copy_a_line(store: Store, folder: Path) -> None:
    write(folder, buffer_file(folder).read_bytes().splitlines(keepends=True)[-1])


HAPPENING: tuple[Callable[[Store, Path], None], ...] = (
    accept,
    accept_in_another_window,
    evict_in_another_window,
    extract,
    take_the_last_line_away,
    take_a_covered_line_away,
    change_a_line_in_its_place,
    write_a_line_by_hand,
    write_a_secret_by_hand,
    write_half_a_line,
    copy_a_line,
)


def played(folder: Path, happening: Sequence[Callable[[Store, Path], None]], *, forgetful: bool) -> list[object]:
    """What the replacement says after all that, and what is in buffer and database in the end. `forgetful`: with
    everything read and held against the database anew at each step."""
    folder.mkdir()
    store = made(folder)
    steps: list[Callable[[Store, Path], object]] = [*happening, compact, lambda one, _: one.staging.entries("p1")]
    answers: list[object] = []
    for step in steps:
        if forgetful:
            store.staging.forget()
        answers.append(step(store, folder))
    store.close()
    return [answers, buffer_file(folder).read_bytes(), states(folder)]


PAIRS = {f"{one.__name__}, {other.__name__}": (one, other) for one, other in product(HAPPENING, repeat=2)}


@pytest.mark.parametrize("pair", PAIRS)
def test_a_replacement_does_what_it_would_with_everything_looked_at_anew(pair: str) -> None:
    with TemporaryDirectory(dir=IN_MEMORY) as folder:
        remembered = played(Path(folder, "remembered"), PAIRS[pair], forgetful=False)
        assert remembered == played(Path(folder, "forgetful"), PAIRS[pair], forgetful=True)


# --- what is not done again -----------------------------------------------------------------------------------


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many lines were held against the database, each time that any were."""
    counts: list[int] = []
    judge = settling.judge

    def counting(project_id: str, lines: Sequence[Line], *others: Any) -> settling.Settlement:
        counts.append(len(lines))
        return judge(project_id, lines, *others)

    monkeypatch.setattr(settling, "judge", counting)
    return counts


def test_a_replacement_holds_no_line_against_the_database_again(
    store: Store, tmp_path: Path, judged: list[int]
) -> None:
    accept(store, tmp_path)
    assert compact(store, tmp_path)
    assert judged == []


def test_a_claim_looks_at_what_was_appended_alone(store: Store, tmp_path: Path, judged: list[int]) -> None:
    accept(store, tmp_path)
    claim(store)
    assert judged == [1]


def test_with_no_work_left_all_is_looked_at_anew(store: Store, judged: list[int]) -> None:
    store.staging.end_compaction()
    claim(store)
    assert judged == [4]


def test_after_a_rewrite_that_the_disk_refused_all_is_looked_at_anew(store: Store, tmp_path: Path) -> None:
    with failing_from(1, errno.ENOSPC), pytest.raises(OSError, match="No space"):
        compact(store, tmp_path)
    assert (compact(store, tmp_path), buffered_ids(tmp_path)) == (True, ["compact_1", "E3", "E4"])


def test_lines_that_could_not_be_taken_out_are_taken_out_at_the_next_look(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "rename", refuse)
    with pytest.raises(OSError, match="refused"):
        extract(store, tmp_path)
    monkeypatch.undo()
    assert [one.event_id for one in store.staging.entries("p1")] == ["E1", "E2", "E3"]


def test_lines_that_no_lock_was_had_for_are_taken_out_at_the_next_look(store: Store, tmp_path: Path) -> None:
    store.staging.begin_extraction("p1")
    batch = store.staging.claim("p1", "extraction", lambda free: [one for one in free if one.event_id == "E4"])
    with FileLock(store.events.buffer("p1").lock.path).held(), pytest.raises(LockUnavailable):
        store.staging.extract("p1", batch, [], "model", lambda: "R1", "2026-01-02T03:04:05Z")
    assert [one.event_id for one in store.staging.entries("p1")] == ["E1", "E2", "E3"]


def refuse(*_: Path) -> None:
    raise OSError("refused")
