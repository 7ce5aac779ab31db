"""Projects, and what is kept of one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Project:
    """A project: an id made from the real path of its root, never from a folder's name, and that root."""

    project_id: str
    root: str


@dataclass(frozen=True, slots=True)
class BufferSize:
    """What a buffer holds: bytes of the file, and lines in it."""

    size_bytes: int
    entries: int


@dataclass(frozen=True, slots=True)
class ProjectCounts:
    """What the database holds of a project: events outside the buffer, memory records, whether it is recorded."""

    waiting: int
    records: int
    recording: bool


@dataclass(frozen=True, slots=True)
class BufferLook:
    """How a project's buffer file stands: its bytes, its modification time, and its bytes after the last compaction."""

    project: Project
    size_bytes: int
    modified_ns: int
    size_after_bytes: int | None
