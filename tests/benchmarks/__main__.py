"""Runs the cases: `python -m tests.benchmarks [MODULE ...]`."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.cases import (
    buffer_append,
    buffer_replace,
    busy,
    conversation,
    documents,
    growth,
    ingestion,
    memory_search,
    memory_use,
    round_trip,
    shutdown,
    start,
)
from tests.benchmarks.figures import Case, Measured
from tests.benchmarks.plot import svg
from tests.benchmarks.table import machine, table, with_table

DOCS = Path(__file__).parents[2] / "docs"
PAGE, PLOT = DOCS / "PERFORMANCE.md", DOCS / "growth.svg"

MODULES = (
    ingestion,
    round_trip,
    buffer_append,
    buffer_replace,
    busy,
    start,
    memory_use,
    conversation,
    documents,
    memory_search,
    shutdown,
)
"""In the order of the table."""

CASES: tuple[Case, ...] = tuple(case for module in MODULES for case in module.CASES)


def main(names: list[str]) -> int:
    """Measures the modules that are named and prints their rows; without names all, and the page and plot are kept.
    The exit code: 2 where a name is none of a module."""
    known = [*map(_name, MODULES), _name(growth)]
    if unknown := [name for name in names if name not in known]:
        sys.stderr.write(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(known)}\n")
        return 2
    rows: list[Measured] = []
    for module in MODULES:
        if not names or _name(module) in names:
            started = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="lithify-bench-") as folder:
                measured = list(module.measure(Path(folder)))
            _say(f"{_name(module)}: {time.monotonic() - started:.0f} s\n{table(measured)}")
            rows += measured
    if not names or _name(growth) in names:
        with tempfile.TemporaryDirectory(prefix="lithify-bench-") as folder:
            lines = growth.measure(Path(folder))
        _say(f"{_name(growth)}: {lines}")
        PLOT.write_text(svg(growth.TITLE, growth.LABELS, lines), encoding="utf-8")
    if not names:
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), machine(), rows), encoding="utf-8")
    return 0


def _name(module: object) -> str:
    return str(getattr(module, "__name__", "")).rpartition(".")[2]


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
