"""How stored text is shown: coloured and wrapped on a terminal, plain and aligned in a pipe, never in control of it."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from lithify.cli.output import print_text

if TYPE_CHECKING:
    from lithify.core.projects import Project

INDENT = 4

_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, those that turn the direction of writing, and halves of characters."""


def visible(text: str) -> str:
    """A text on one line, in which what could steer a terminal is spelled out."""
    return escaped(" ".join(text.split()))


def visible_lines(text: str) -> list[str]:
    """A text line by line, in which what could steer a terminal is spelled out."""
    return [escaped(line.expandtabs(INDENT).rstrip()) for line in re.split(r"\r\n|\n|\r", text)]


def escaped(text: str) -> str:
    """A text in which what could steer a terminal stands as an escape, as JSON and Python write it."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def cut(text: str, most: int) -> str:
    """At most so many characters of a text; where some are left out, the last is an ellipsis."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def local_time(at: str) -> str:
    """A stored time, for people where they are; one that cannot be read as it stands."""
    try:
        return datetime.fromisoformat(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return cut(visible(at), 40)


def root_of(project: Project) -> str:
    """A project's root, for people."""
    return visible(project.root)


def on_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def columns() -> int:
    """How wide the terminal is."""
    return _console().width


def draws_blocks() -> bool:
    """Whether standard output is a terminal that can show block characters."""
    return on_terminal() and not _console().options.ascii_only


def print_lines(lines: Iterable[str | Text]) -> None:
    """Lines as they are; on a terminal those that are too long go on below their own indent."""
    if not on_terminal():
        print_text("\n".join(_plain(line) for line in lines))
        return
    console = _console()
    for line in lines:
        text = line if isinstance(line, Text) else Text(line)
        blanks = len(text.plain) - len(text.plain.lstrip(" "))
        shown: RenderableType = Padding(text[blanks:], (0, 0, 0, blanks)) if blanks else text
        console.print(shown, overflow="fold")


def print_pairs(pairs: Sequence[tuple[str, str | Text]]) -> None:
    """Labels, and beside each what it names, of one line or more."""
    width = max(len(label) for label, _ in pairs) + 2
    if on_terminal():
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        for label, shown in pairs:
            table.add_row(label, shown)
        _console().print(table)
        return
    lines = []
    for label, shown in pairs:
        first, *more = _plain(shown).split("\n")
        lines.extend([f"{label:<{width}}{first}", *(" " * width + line for line in more)])
    print_text("\n".join(line.rstrip() for line in lines))


def table_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """How wide a table is."""
    return sum(_widths(header, rows)) + 2 * (len(header) - 1)


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[str] = frozenset()) -> None:
    """A table; `right` names the columns that end in line."""
    if on_terminal():
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in header:
            table.add_column(column, justify="right" if column in right else "left", overflow="fold")
        for row in rows:
            table.add_row(*row)
        _console().print(table)
        return
    widths = _widths(header, rows)
    lines = []
    for row in (header, *rows):
        blanks = [" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = [
            blank + cell if name in right else cell + blank
            for name, cell, blank in zip(header, row, blanks, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    print_text("\n".join(lines))


def print_json(value: Any) -> None:
    """A value as JSON of plain ASCII, which no stored text can break out of."""
    print_text(json.dumps(value, indent=2))


def _widths(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(cell_len, cells)) for cells in zip(header, *rows, strict=True)]


def _plain(text: str | Text) -> str:
    return text.plain if isinstance(text, Text) else text


def _console() -> Console:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    colours: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    return Console(color_system=colours, highlight=False, markup=False, emoji=False)
