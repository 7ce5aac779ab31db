"""The table of figures as Markdown, and the page that keeps the latest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from tests.benchmarks.figures import Measured, Target

BEGIN, END = "<!-- make bench: begin -->\n", "<!-- make bench: end -->\n"

_HEAD = (
    "| what | Lithify | yardstick | measured beside it | to reach | reached | ratio |\n|---|---|---|---|---|---|---|\n"
)
_SIGNIFICANT = 3


def table(rows: Sequence[Measured]) -> str:
    """One line a case: medians with the lowest and the highest round, the ratio last."""
    return _HEAD + "".join(f"| {' | '.join(_cells(row))} |\n" for row in rows)


def with_table(page: str, machine: str, rows: Sequence[Measured]) -> str:
    """The page with this machine and table in place of the last. Raises ValueError where it has no place for them."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no place for the table: {BEGIN.strip()} and {END.strip()}")
    return f"{before}{BEGIN}{machine}\n\n{table(rows)}{END}{after}"


def machine() -> str:
    """The machine in words: processor, cores, memory, system, Python; neither its name nor a path."""
    import os
    import platform
    import sqlite3

    fields = (line.partition(":") for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines())
    models = [value.strip() for name, _, value in fields if name.strip() == "model name"]
    gibibytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return (
        f"Measured on {models[0] if models else platform.machine()}, {os.cpu_count()} cores, {gibibytes:.0f} GiB; "
        f"{platform.system()} {platform.release()}; Python {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version}."
    )


def _cells(row: Measured) -> list[str]:
    case = row.case
    measured = (_figures(row.yardstick, case.unit), case.yardstick or "") if row.yardstick else ("", "")
    verdict = {True: "yes", False: "**no**", None: ""}[row.reached]
    return [case.name, _figures(row.ours, case.unit), *measured, _target(case.target, case.unit), verdict, _last(row)]


def _figures(values: Sequence[float], unit: str) -> str:
    middle, low, high = (_number(value) for value in (median(values), min(values), max(values)))
    spread = f" ({low} to {high})" if len(values) > 1 else ""
    return f"{middle}{spread} {unit}".strip()


def _number(value: float) -> str:
    """Three significant digits, and no exponent."""
    if value == 0:
        return "0"
    digits = _SIGNIFICANT - 1
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    rounded = round(value, max(digits + 1 - whole, 0) if whole else digits + 2)
    return f"{rounded:,.0f}" if abs(value) >= 10**digits else f"{rounded:g}"


def _target(target: Target, unit: str) -> str:
    bound, word = (target.at_most, "at most") if target.at_most is not None else (target.at_least, "at least")
    if bound is None:
        return ""
    return f"{word} {_bound(target, bound, unit)}"


def _last(row: Measured) -> str:
    return "" if row.case.target.measure == "value" else _bound(row.case.target, row.compared, row.case.unit)


def _bound(target: Target, value: float, unit: str) -> str:
    match target.measure:
        case "ratio":
            return f"{value:.2f} times" if value < 10 else f"{value:.1f} times"
        case "difference":
            return f"{value:+.1f} {unit}"
        case "value":
            return f"{_number(value)} {unit}".strip()
