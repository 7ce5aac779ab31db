"""Which records of a Claude Code session its next request holds: the chain that leads down to the active leaf."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from lithify.transcripts.claude_code_records import (
    LINKED,
    SPEAKERS,
    Kept,
    Record,
    Records,
    kept_by,
    kept_messages,
    segment_of,
)


@dataclass(frozen=True, slots=True)
class Effective:
    """`sequence` are the records of the conversation in order, the ones between messages too; `compacted` the keys of
    those that the last compaction replaced."""

    sequence: list[Record]
    compacted: frozenset[str]


class Graph:
    """The records of one session with their parents, as Claude Code links them after a load."""

    def __init__(self, found: Records) -> None:
        records, boundaries = found.main, found.boundaries
        self.order = {key: place for place, key in enumerate(records)}
        early = list(records.values())
        early = early[: self.order[boundaries[0].key]] if boundaries else early
        self.is_flat = _is_flat(early, records)
        self.records = {key: record for key, record in records.items() if record.named or self.is_flat}
        self.parents = {key: _parent_in(self.records, record) for key, record in self.records.items()}
        if self.is_flat:
            self._link_in_file_order(early)
        self.dead: set[str] = set()
        self._hang_what_was_kept(boundaries)
        self._children: dict[str, list[str]] = {}
        for key in self._alive():
            parent = self.parents[key] or self._logical_parent(key)
            if parent is not None:
                self._children.setdefault(parent, []).append(key)
        named = found.leaf[1] if found.leaf else None
        self._named_leaf = named if named in self.records and named not in self.dead else None

    def effective(self) -> Effective:
        """The conversation, and what was compacted away in front of it. Linear in the records."""
        leaf = self._leaf()
        if leaf is None:
            return Effective([], frozenset())
        chain, boundary = self._chain(self._with_trailing(leaf))
        sequence = self._with_parallel_calls(chain)
        return Effective(sequence, self._compacted(boundary, {record.key for record in sequence}))

    def _link_in_file_order(self, early: Iterable[Record]) -> None:
        before: str | None = None
        for record in early:
            if record.type in LINKED:
                self.parents[record.key] = before
                before = record.key

    def _hang_what_was_kept(self, boundaries: list[Record]) -> None:
        """Hangs kept records below their anchor, and the other children of the anchor below the last of them.

        Where the last compaction says what it kept, all else that came in before it is dead.
        """
        kept: Kept | None = None
        splices: dict[str, tuple[str, str]] = {}
        for boundary in boundaries:
            kept = kept_by(boundary.compaction or {}, self.records)
            if kept is None and boundary is boundaries[-1]:
                kept = self._segment(boundary)
            if kept is not None and kept.uuids:
                self.parents.update(zip(kept.uuids, (kept.anchor, *kept.uuids), strict=False))
                splices[kept.anchor] = (kept.uuids[0], kept.uuids[-1])
        for key, parent in self.parents.items():
            if parent in splices and splices[parent][0] != key:
                self.parents[key] = splices[parent][1]
        if kept is not None:
            limit = self.order[boundaries[-1].key]
            self.dead = {key for key in self.records if self.order[key] < limit}.difference(kept.uuids)

    def _segment(self, boundary: Record) -> Kept | None:
        """What a compaction without a list kept: the way from the head down to the tail, where it names them."""
        segment = segment_of(boundary.compaction or {})
        if segment is None:
            return None
        head, tail, anchor = segment
        way: dict[str, None] = {}
        at: str | None = tail
        while at is not None and at not in way:
            way[at] = None
            at = None if at == head else self.parents.get(at)
        return kept_messages(list(reversed(way)), anchor, self.records) if head in way else Kept(broken=True)

    def _logical_parent(self, key: str) -> str | None:
        """The last record that a compaction replaced, where the record begins one."""
        named = (self.records[key].compaction or {}).get("logicalParentUuid")
        return named if isinstance(named, str) and named in self.records else None

    def _alive(self) -> Iterator[str]:
        return (key for key in self.records if key not in self.dead)

    def _leaf(self) -> str | None:
        """The newest message that no other hangs below, of those below the named leaf where there is one."""
        speaking = [key for key in self._alive() if self.records[key].type in SPEAKERS]
        inner: set[str] = set()
        for key in speaking:
            parent = self.parents[key]
            while parent is not None and parent not in inner:
                inner.add(parent)
                parent = self.parents[parent]
        reachable = None if self._named_leaf is None else self._below(self._named_leaf)
        leaves = [key for key in speaking if key not in inner and (reachable is None or key in reachable)]
        if leaves:
            return leaves[-1]
        return self._named_leaf or (speaking[-1] if speaking else None)

    def _below(self, top: str) -> set[str]:
        """The record and all that comes behind it, compactions of it too."""
        reached, waiting = {top}, [top]
        while waiting:
            for child in self._children.get(waiting.pop(), ()):
                if child not in reached:
                    reached.add(child)
                    waiting.append(child)
        return reached

    def _with_trailing(self, leaf: str) -> str:
        """The last of the attachments and other records that hang below the leaf."""
        passed = {leaf}
        while True:
            below = [key for key in self._children.get(leaf, ()) if self._trails(key) and key not in passed]
            if not below:
                return leaf
            leaf = below[-1]
            passed.add(leaf)

    def _trails(self, key: str) -> bool:
        record = self.records[key]
        return record.type in LINKED and record.type not in SPEAKERS and record.compaction is None

    def _chain(self, leaf: str) -> tuple[list[Record], Record | None]:
        """The records from the last compaction, or the root, down to the leaf; and that compaction."""
        chain: dict[str, Record] = {}
        at: str | None = leaf
        while at is not None and at not in self.dead and at not in chain:
            record = self.records[at]
            if record.compaction is not None:
                return list(reversed(chain.values())), record
            chain[at] = record
            at = self.parents[at]
        return list(reversed(chain.values())), None

    def _with_parallel_calls(self, chain: list[Record]) -> list[Record]:
        """The chain and what hangs beside it: further records of its assistant messages, and results of its calls."""
        groups: dict[str, str] = {}
        for record in chain:
            groups[record.key] = self._group(record, groups)
        beside: dict[str, list[Record]] = {}
        for record in self._beside(groups, self._alive()):
            beside.setdefault(groups[record.key], []).append(record)
        runs = [list(run) for _, run in groupby(chain, lambda record: groups[record.key])]
        for run in reversed(runs):
            run.extend(more := beside.pop(groups[run[0].key], []))
            if more:
                run.sort(key=lambda record: self.order[record.key])
        return [record for run in runs for record in run]

    def _group(self, record: Record, groups: dict[str, str]) -> str:
        """What holds the records of one assistant message and the results of its calls together."""
        if record.results:
            return groups.get(self.parents[record.key] or "", record.key)
        return f"message {record.message_id}" if record.message_id else record.key

    def _beside(self, groups: dict[str, str], keys: Iterable[str]) -> Iterator[Record]:
        """The records that belong beside those of the groups, which they join."""
        for key in keys:
            parent = self.parents[key]
            if key in groups or parent not in groups:
                continue
            record = self.records[key]
            same = record.message_id and record.message_id == self.records[parent].message_id
            if same or record.results:
                groups[key] = self._group(record, groups)
                yield record

    def _compacted(self, boundary: Record | None, effective: set[str]) -> frozenset[str]:
        """What the last compaction replaced: the conversation it names the end of, else all before it."""
        if boundary is None:
            return frozenset()
        end = self._logical_parent(boundary.key)
        if end is None or end in effective:
            limit = self.order[boundary.key]
            return frozenset(key for key in self.records if self.order[key] < limit and key not in effective)
        groups: dict[str, str] = {}
        at: str | None = end
        while at is not None and at not in groups and at not in effective:
            record = self.records[at]
            groups[at] = self._group(record, groups)
            at = self._logical_parent(at) or self.parents[at]
        for _ in self._beside(groups, self.records):
            pass
        return frozenset(groups) - effective


def _is_flat(early: list[Record], records: dict[str, Record]) -> bool:
    """Whether no record names one before it, though there are answers: such files are made by other tools."""
    return any(record.type == "assistant" for record in early) and all(
        _parent_in(records, record) is None for record in early
    )


def _parent_in(records: dict[str, Record], record: Record) -> str | None:
    parent = record.parent
    return parent if parent != record.key and parent in records else None
