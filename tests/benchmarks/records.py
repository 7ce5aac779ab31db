"""Memory records as a year of work leaves them, and the questions that people ask of them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from lithify.core.records import RECORD_TYPES, exact_key
from lithify.storage.database import open_database, transaction
from lithify.storage.memory import INDEXED_AS
from tests.benchmarks.words import Writer

PROJECT = "p"

QUESTIONS = (
    "How do I run the tests for a single module?",
    "why did the build fail on windows",
    "Where is the timeout of the http client configured?",
    "what did we decide about the cache of parsed files",
    "How are unicode errors handled when a file is read?",
    "which encoding do we use for the log files",
    "Did we ever fix the deadlock in the thread pool?",
    "what is the default buffer size of the socket",
    "How does the parser deal with nested comments?",
    "why is the iterator exhausted after the first call",
    "What happens when the connection is closed by the server?",
    "where do we validate the arguments of the command line",
    "how to add a new header to the request",
    "What does the error about an invalid literal mean?",
    "which functions are deprecated and what replaces them",
    "How do we escape quotes in the generated html?",
    "why does the import of the module take so long",
    "what was wrong with the path on windows drives",
    "How is the checksum of an archive computed?",
    "when is a temporary directory removed",
    "What is the order in which callbacks are called?",
    "how do I mock the event loop in a unit test",
    "is the dictionary safe for concurrent access from threads",
    "What are the limits for the length of a message?",
    "how does the scheduler choose the next task",
    "Which signal handler is installed when the process starts?",
    "what do we return when the key does not exist",
    "How are time zones converted in the calendar?",
    "the mail server refuses the password, what did we try",
    "why do we copy the list before it is sorted",
    "How is the certificate of the host verified?",
    "what does the compiler do with the optimization flag",
    "Where are the environment variables of the child process set?",
    "how can a widget be updated from another thread",
    "What is the difference between the two regular expression engines?",
    "decode base64 data without padding",
    "recursion limit json nested",
    "sqlite database is locked",
    "module_42.py",
    "fix flaky test_retry_17",
)
"""Some in whole sentences, some as people type them in haste."""

_CLAUSES = 200_000
_SOURCES = 300
_BATCH = 20_000
_CACHE_KIBIBYTES = 400_000


class Records:
    """A database of records that grows. `folder`: where it lies."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "lithify.db"
        self.count = 0
        self._choose = random.Random(7)
        writer = Writer(7)
        self._clauses = [writer.sentence(4 + int(self._choose.random() * 8)) for _ in range(_CLAUSES)]

    def grow_to(self, count: int) -> None:
        """Adds records until there are so many. Nothing of it needs to survive a power cut."""
        with closing(open_database(self.path)) as database:
            database.execute("PRAGMA synchronous = OFF")
            database.execute(f"PRAGMA cache_size = -{_CACHE_KIBIBYTES}")
            while self.count < count:
                rows = list(self._rows(min(_BATCH, count - self.count)))
                with transaction(database):
                    database.executemany(
                        "INSERT INTO memory_records (record_id, number, project_id, type, exact_key, title, summary,"
                        " facts, concepts, files, method, created_at, updated_at, schema_version)"
                        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'model', '2026-01-02', '2026-01-02', ?)",
                        rows,
                    )
                    database.executemany(
                        "INSERT INTO memory_index (rowid, title, summary, facts, concepts, files)"
                        " VALUES (?, ?, ?, ?, ?, ?)",
                        [(row[1], *row[5:10]) for row in rows],
                    )
                self.count += len(rows)

    def _rows(self, count: int) -> Iterator[tuple[str | int, ...]]:
        rand, clauses = self._choose.random, self._clauses
        for number in range(self.count + 1, self.count + 1 + count):
            said = [clauses[int(rand() * _CLAUSES)] for _ in range(5 + int(rand() * 5))]
            name = int(_SOURCES * rand() ** 3)
            record_type = RECORD_TYPES[int(rand() * len(RECORD_TYPES))]
            title = said[0].capitalize()
            summary = f"{'. '.join(said[1:-2])}: {said[-2]} (test_retry_{int(rand() * 100)}, {number:x})."
            concepts = said[-1].split()[:3]
            yield (
                f"{number:026}",
                number,
                PROJECT,
                record_type,
                exact_key(record_type, title),
                title,
                summary,
                json.dumps(said[-2:-1]),
                json.dumps(concepts),
                json.dumps([f"src/package_{name % 17}/module_{name}.py"]),
                INDEXED_AS,
            )
