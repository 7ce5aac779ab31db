"""Appends, extractions, compactions, evictions, crashes, restarts, by two processes, in any order: nothing is lost."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lithify.core.entries import Entry, read_lines, summary_entry
from lithify.core.events import buffer_line
from lithify.core.eviction import evict
from lithify.core.pipeline import Purpose
from lithify.core.records import RecordDraft
from lithify.storage.store import Store, open_store
from tests.storage.auditing import audit, leftovers
from tests.storage.seam import dying_at
from tests.support.clock import Clock, Ids
from tests.support.stores import CEILING_BYTES, IN_MEMORY, buffer_file, event, states

PROJECT = "p1"
LOW_CEILING = 3000
BROKEN = (b'{"event_id":"01', b"null\n", b"\xff\xfe{}\n", b'{"event_id":1}\n', b"[]", b'"text"\n')

processes = st.integers(0, 1)
purposes = st.sampled_from(("extraction", "compaction"))
deaths = st.none() | st.integers(0, 12)


class BufferMachine(RuleBasedStateMachine):
    """Two processes (two stores with locks of their own) on one data folder; the model is who holds which claims."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(dir=IN_MEMORY)
        self.data_dir = Path(self._folder.name)
        self.clock, self.new_id = Clock(), Ids()
        self.stores: list[Store] = [open_store(self.data_dir, self.clock) for _ in range(2)]
        self.claims: dict[tuple[int, Purpose], list[Entry]] = {}
        self.accepted: set[str] = set()
        self.records = 0
        self.broken: list[bytes] = []
        self.tampered = False
        """Whether somebody ever took lines away or put some in; then no line is where it is expected."""
        self.whole = True
        """Whether nobody did so since the last look."""

    def teardown(self) -> None:
        try:
            self._judge_the_end()
        finally:
            for store in self.stores:
                store.close()
            self._folder.cleanup()

    # --- steps ---

    @rule(process=processes, sizes=st.lists(st.integers(1, 400), min_size=1, max_size=3), at=deaths)
    def append(self, process: int, sizes: list[int], at: int | None) -> None:
        events = [event(self.new_id(), "x" * size, PROJECT) for size in sizes]
        with dying_at(at) as died:
            self.stores[process].events.accept(events, LOW_CEILING)
            self.accepted.update(one.event_id for one in events)
        self._bury(process, died)

    @rule(process=processes, at=deaths)
    def feed(self, process: int, at: int | None) -> None:
        with dying_at(at) as died:
            self.stores[process].events.feed(PROJECT, LOW_CEILING)
            self.whole = True
        self._bury(process, died)

    @rule(process=processes, purpose=purposes)
    def begin(self, process: int, purpose: Purpose) -> None:
        staging = self.stores[process].staging
        taken = staging.begin_extraction(PROJECT) if purpose == "extraction" else staging.begin_compaction()
        assert taken == (self._holder(purpose) is None)
        if taken:
            self.claims[process, purpose] = []

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), at=deaths)
    def claim(self, data: st.DataObject, at: int | None) -> None:
        process, purpose = data.draw(st.sampled_from(sorted(self.claims)))
        others = {one.event_id for (_, other), held in self.claims.items() if other != purpose for one in held}
        with dying_at(at) as died:
            claimed = self.stores[process].staging.claim(
                PROJECT, purpose, lambda free: free[: data.draw(st.integers(0, len(free)))]
            )
            assert others.isdisjoint(one.event_id for one in claimed)
            self.whole = True
            self.claims[process, purpose] = claimed
        self._bury(process, died)

    @precondition(lambda self: self._holder("extraction") is not None)
    @rule(at=deaths)
    def extract(self, at: int | None) -> None:
        process = self._holder("extraction")
        assert process is not None
        batch = self.claims[process, "extraction"]
        covered = tuple(event_id for entry in batch for event_id in entry.covered_ids)
        self.records += 1
        draft = RecordDraft("decision", f"Number{self.records}", f"word{self.records}", source_event_ids=covered)
        with dying_at(at) as died:
            extracted = self.stores[process].staging.extract(PROJECT, batch, [draft], "model", self.new_id, "now")
            assert extracted == len(covered) or (self.tampered and extracted < len(covered))
            self.claims[process, "extraction"] = []
        self._bury(process, died)

    @precondition(lambda self: self._holder("compaction") is not None)
    @rule(at=deaths, cut=st.integers(0, 5))
    def compact(self, at: int | None, cut: int) -> None:
        process = self._holder("compaction")
        assert process is not None
        claimed = self.claims[process, "compaction"]
        summaries = [
            summary_entry(self.new_id(), part, "dense", [one for entry in part for one in entry.covered_ids])
            for part in (claimed[:cut], claimed[cut:])
            if part
        ]
        with dying_at(at) as died:
            covered = {entry.event_id for entry in claimed}
            rest = [one for one in buffered_ids_found(self.data_dir) if one not in covered]
            replaced = self.stores[process].staging.replace(PROJECT, covered, summaries)
            assert replaced or self.tampered
            if not self.tampered:
                assert buffered_ids_found(self.data_dir) == [*(one.event_id for one in summaries), *rest]
            self.claims[process, "compaction"] = []
        self._bury(process, died)

    @precondition(lambda self: self._holder("compaction") is not None)
    @rule(at=deaths)
    def evict(self, at: int | None) -> None:
        process = self._holder("compaction")
        assert process is not None
        claimed = self.claims[process, "compaction"]
        if not claimed:
            return
        with dying_at(at) as died:
            size = len(self._bytes())
            self.stores[process].staging.evict(PROJECT, evict(claimed))
            self.claims[process, "compaction"] = []
            assert len(self._bytes()) <= size or self.tampered
        self._bury(process, died)

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        process, purpose = data.draw(st.sampled_from(sorted(self.claims)))
        staging = self.stores[process].staging
        staging.end_extraction(PROJECT) if purpose == "extraction" else staging.end_compaction()
        del self.claims[process, purpose]

    @rule(process=processes)
    def crash(self, process: int) -> None:
        self._bury(process, [True])

    @rule(data=st.sampled_from(BROKEN))
    def foreign_bytes(self, data: bytes) -> None:
        file = buffer_file(self.data_dir)
        if file.exists():
            with file.open("ab") as end:
                end.write(data if file.read_bytes().endswith(b"\n") else b"\n" + data)
            self.broken.append(data.strip())

    # --- what holds ---

    @invariant()
    def each_event_is_in_one_place(self) -> None:
        assert audit(self.data_dir, healed=False, whole=self.whole, ordered=not self.tampered) == []

    @invariant()
    def what_was_accepted_is_known(self) -> None:
        assert self.accepted <= set(states(self.data_dir))

    @invariant()
    def what_nobody_can_read_is_kept(self) -> None:
        lines = self._bytes().split(b"\n")
        assert [one for one in self.broken if one not in lines] == []

    def _judge_the_end(self) -> None:
        """After a restart of both and one more look all is healed, and everything left can be extracted, once."""
        for process in range(2):
            self._bury(process, [True])
        store = self.stores[0]
        store.events.feed(PROJECT, CEILING_BYTES)
        assert store.staging.begin_extraction(PROJECT)
        batch = store.staging.claim(PROJECT, "extraction", lambda free: free)
        assert audit(self.data_dir, ordered=not self.tampered) == []
        assert set(states(self.data_dir).values()) <= {"buffered", "extracted", "evicted"}
        covered = tuple(event_id for entry in batch for event_id in entry.covered_ids)
        draft = RecordDraft("decision", "Last", "last", source_event_ids=covered)
        store.staging.extract(PROJECT, batch, [draft], "model", self.new_id, "now")
        assert audit(self.data_dir, ordered=not self.tampered) == []
        assert set(states(self.data_dir).values()) <= {"extracted", "evicted"}
        assert leftovers(self.data_dir) == []

    def _bytes(self) -> bytes:
        file = buffer_file(self.data_dir)
        return file.read_bytes() if file.exists() else b""

    def _holder(self, purpose: Purpose) -> int | None:
        return next((process for process, held in self.claims if held == purpose), None)

    def _bury(self, process: int, died: list[Any]) -> None:
        """A process that died is gone with its locks; another takes its place."""
        if died:
            self.stores[process].close()
            self.claims = {key: held for key, held in self.claims.items() if key[0] != process}
            self.stores[process] = open_store(self.data_dir, self.clock)


class TamperedBufferMachine(BufferMachine):
    """The same, with somebody who deletes, cuts and edits the file by hand."""

    @rule()
    def delete_the_file(self) -> None:
        buffer_file(self.data_dir).unlink(missing_ok=True)
        self._tampered()

    @rule(share=st.floats(0, 1))
    def cut_the_file(self, share: float) -> None:
        if data := self._bytes():
            os.truncate(buffer_file(self.data_dir), int(len(data) * share))
            self._tampered()

    @rule(data=st.data())
    def break_a_line(self, data: st.DataObject) -> None:
        """As an editor saves: into a new file, which takes the old one's name."""
        lines = self._bytes().splitlines(keepends=True)
        if lines:
            number = data.draw(st.integers(0, len(lines) - 1))
            lines[number] = lines[number][1:]
            saved = buffer_file(self.data_dir).with_name("saved")
            saved.write_bytes(b"".join(lines))
            saved.replace(buffer_file(self.data_dir))
            self._tampered()

    @rule(namespace=st.sampled_from(("p1", "p2")))
    def copy_a_line_in(self, namespace: str) -> None:
        """A line of this project is an event from the next look on; one of another project is never."""
        if data := self._bytes():
            event_id = self.new_id()
            line = buffer_line(
                event_id, f"/actor/ann/project/{namespace}/", "note", "{}", "2026-01-02", "hand"
            ).encode()
            with buffer_file(self.data_dir).open("ab") as end:
                end.write((b"" if data.endswith(b"\n") else b"\n") + line + b"\n")
            self.tampered = True
            if namespace != PROJECT:
                self.broken.append(line)

    def _tampered(self) -> None:
        self.tampered, self.whole = True, False
        lines = self._bytes().split(b"\n")
        self.broken = [one for one in self.broken if one in lines]


def buffered_ids_found(data_dir: Path) -> list[str]:
    """The ids of the entries in the buffer, in order; what a crash left of events that are gone does not count."""
    gone = {one for one, state in states(data_dir).items() if state in ("extracted", "evicted")}
    found = []
    for entry in entries_of(data_dir):
        if not gone.issuperset(entry.covered_ids):
            found.append(entry.event_id)
    return found


def entries_of(data_dir: Path) -> list[Entry]:
    """The entries in the file, in order."""
    file = buffer_file(data_dir)
    return [one.entry for one in read_lines(file.read_bytes() if file.exists() else b"") if one.entry is not None]


TestBuffer = pytest.mark.timeout(300)(BufferMachine.TestCase)
TestTamperedBuffer = pytest.mark.timeout(300)(TamperedBufferMachine.TestCase)
TestBuffer.settings = TestTamperedBuffer.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
