"""How stored text is shown: coloured and wrapped on a terminal, plain and aligned in a pipe, never in control of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from lithify.cli.console import console
from lithify.cli.output import print_text
from lithify.cli.visible_text import visible

if TYPE_CHECKING:
    from lithify.core.projects import Project


def cut(text: str, most: int) -> str:
    """At most so many columns of a text; where some is left out, an ellipsis ends it."""
    return text if cell_len(text) <= most else set_cell_size(text, most - 1).rstrip() + "…"


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
    return console().width


def draws_blocks() -> bool:
    """Whether standard output is a terminal that can show block characters."""
    return on_terminal() and not console().options.ascii_only


def print_lines(lines: Iterable[str | Text]) -> None:
    """Lines as they are; on a terminal those that are too long go on below their own indent. One that is to be copied
    (`to_copy`) is not broken."""
    if not on_terminal():
        print_text("\n".join(_plain(line) for line in lines))
        return
    shown_on = console()
    for line in lines:
        text = line if isinstance(line, Text) else Text(line)
        if text.no_wrap:
            shown_on.print(text, soft_wrap=True)
            continue
        blanks = len(text.plain) - len(text.plain.lstrip(" "))
        shown: RenderableType = Padding(text[blanks:], (0, 0, 0, blanks)) if blanks else text
        shown_on.print(shown, overflow="fold")


def to_copy(text: str, style: str = "") -> Text:
    """A command or a name that somebody will copy: it stays on one line, however narrow the terminal is."""
    return Text(text, style, no_wrap=True)


def print_pairs(pairs: Sequence[tuple[str, str | Text]]) -> None:
    """Labels, and beside each what it names, of one line or more."""
    width = max(len(label) for label, _ in pairs) + 2
    if on_terminal():
        shown_on = console()
        for label, shown in pairs:
            if isinstance(shown, Text) and shown.no_wrap:
                shown_on.print(Text.assemble((f"{label:<{width}}", "bold"), shown), soft_wrap=True)
                continue
            table = Table.grid()
            table.add_column(style="bold", no_wrap=True, width=width)
            table.add_column(overflow="fold")
            table.add_row(label, shown)
            shown_on.print(table)
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
        console().print(table)
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
