"""How the demo looks: on a terminal, and in a pipe as plain lines."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from lithify.cli.console import console

WIDEST_COLUMNS = 96
WIDE_COLUMNS = 64
"""Columns from which labels stand beside what they name instead of above it."""

MARGIN = 3
LINES_OF_SECTION = 4
LEAST_BAR_COLUMNS = 6

_SECTION = re.compile(r"^<(\w+)>\n(.*?)\n</\1>$", re.DOTALL | re.MULTILINE)
_TAG_ALONE = re.compile(r"</?\w+>")


@dataclass(frozen=True, slots=True)
class Size:
    """What a conversation holds at some point, as the server counted it."""

    label: str
    messages: int
    tokens: int


class Screen:
    """Standard output. On a terminal what is going on moves; in a pipe each line is final and plain."""

    def __init__(self) -> None:
        self._out = sys.stdout or io.StringIO()
        self._console = console(self._out)
        if isinstance(self._out, io.TextIOWrapper):
            self._out.reconfigure(errors="replace")
        self._console.width = min(self._console.width, WIDEST_COLUMNS)
        self._ascii = self._console.options.ascii_only
        self._live: Live | None = None
        self._gauged: dict[str, Any] | None = None
        self._said: list[str] = []

    def title(self, text: str) -> None:
        """The first line."""
        self._print(Text(text, "bold"), margin=0)

    def heading(self, text: str, number: int | None = None) -> None:
        """What the lines after it are about; a step has a number."""
        self._print(Text(), margin=0)
        mark = "" if number is None else f"{number}  "
        self._print(Text.assemble((mark, "bold cyan"), (text, "bold")), margin=0)

    def say(self, text: str, style: str = "") -> None:
        """A paragraph."""
        self._print(Text(self._lettered(text), style))

    def command(self, text: str) -> None:
        """Something to copy: it stays on one line, however long it is."""
        self._print(Text(" " * MARGIN + text, "cyan"), unbroken=True)

    @contextmanager
    def working(self, words: str) -> Iterator[None]:
        """Shows what is being done while the block runs; afterwards `progress` of the server stays, in one line."""
        self._said = []
        if self._moves:
            self._live = Live(console=self._console, transient=True, refresh_per_second=12)
            self._live.start()
            self._spin(words)
        try:
            yield
        finally:
            self.settle()
            if self._said:
                self.say(" · ".join(self._said), "dim")

    def progress(self, words: str) -> None:
        """What the server says it is doing."""
        self._said.append(words)
        self._spin(words)

    def gauge(self, status: dict[str, Any]) -> None:
        """How full a buffer is. On a terminal it takes the place of the gauge before it, until `settle`."""
        if status == self._gauged:
            return
        self._gauged = status
        size, limit = status["sizeBytes"], status["thresholds"]["extractionBytes"]
        line = Text.assemble(
            f"{status['entries']:>4} entries {size / 1024:>6.1f} KiB  ",
            *self._bar(size / limit, self._room - 45, "cyan", whole=True),
            f"  {100 * size / limit:.0f} % of {limit / 1024:g} KiB",
        )
        if not self._moves:
            self._print(line)
            return
        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False)
            self._live.start()
        self._live.update(Padding(line, (0, 0, 0, MARGIN)), refresh=True)

    def settle(self) -> None:
        """Ends what moves; a gauge stays as it was last."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def sizes(self, sizes: Sequence[Size]) -> None:
        """A conversation at several points: messages, tokens, and a bar for the tokens, the first one for the whole."""
        table = Table(box=None, pad_edge=False, header_style="dim")
        table.add_column()
        table.add_column("messages", justify="right")
        table.add_column("tokens", justify="right")
        table.add_column()
        room = self._room - max(len(size.label) for size in sizes) - 28
        for index, size in enumerate(sizes):
            share = size.tokens / sizes[0].tokens
            colour = "green" if index == len(sizes) - 1 else "yellow"
            bar = Text.assemble(*self._bar(share, room, colour), f" {100 * share:.0f} %")
            table.add_row(size.label, str(size.messages), f"{size.tokens:,}", bar)
        self._print(table)

    def summary(self, text: str, whole: bool) -> None:
        """The sections of a summary: each with its first lines, or whole."""
        sections = _SECTION.findall(text) or [("summary", text)]
        self._labelled([(name.replace("_", " "), self._section(body, whole)) for name, body in sections])

    def records(self, records: Sequence[dict[str, Any]]) -> None:
        """Memory records, one a line: type and title."""
        self._labelled([(_type(one), Text(self._lettered(self._cut(one["title"])))) for one in records])

    def record(self, record: dict[str, Any]) -> None:
        """A memory record: title, summary, and of how many events it is made."""
        count = len(record["sourceEventIds"])
        content = Text(self._lettered(record["title"]), "bold")
        if record["summary"] != record["title"]:
            content.append(self._lettered(f"\n{record['summary']}"), "not bold")
        content.append(f"\n(from {count} event{'s' if count != 1 else ''})", "not bold dim")
        self._labelled([(_type(record), content)])

    @property
    def _moves(self) -> bool:
        return self._console.is_terminal and not self._console.is_dumb_terminal

    @property
    def _room(self) -> int:
        return self._console.width - MARGIN

    @property
    def _wide(self) -> bool:
        return self._console.width >= WIDE_COLUMNS

    def _labelled(self, parts: Sequence[tuple[str, Text]]) -> None:
        """Contents, each beside its label, or below it where there is no room."""
        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
        table.add_column(style="cyan", no_wrap=True)
        table.add_column(overflow="fold")
        for label, content in parts:
            if self._wide:
                table.add_row(label, content)
            else:
                self._print(Text(label, "cyan"))
                self._print(content, margin=MARGIN + 2)
        if self._wide:
            self._print(table)

    def _section(self, body: str, whole: bool) -> Text:
        lines = [line for line in body.split("\n") if line.strip()]
        if not whole:
            lines = [line for line in lines if not _TAG_ALONE.fullmatch(line)]
        shown = lines if whole else [self._cut(line) for line in lines[:LINES_OF_SECTION]]
        more = len(lines) - len(shown)
        content = Text(self._lettered("\n".join(shown)))
        if more:
            content.append(f"\n({more} more line{'s' if more > 1 else ''})", "dim")
        return content

    def _cut(self, line: str) -> str:
        room = self._room - (22 if self._wide else 4)
        return line if len(line) <= room else f"{line[: room - 3].rstrip()}..."

    def _bar(self, share: float, width: int, colour: str, whole: bool = False) -> list[tuple[str, str]]:
        """A bar, at least one piece long where there is anything; `whole` also shows what is left. None where there
        is no room for one."""
        if width < LEAST_BAR_COLUMNS:
            return []
        full, empty = "#." if self._ascii else "█░"
        count = min(width, max(round(share * width), 1 if share > 0 else 0))
        return [(full * count, colour), (empty * (width - count) if whole else "", "dim")]

    def _spin(self, words: str) -> None:
        if self._live is not None:
            spinner = Spinner("line" if self._ascii else "dots", Text(words, "dim"), style="cyan")
            self._live.update(Padding(spinner, (0, 0, 0, MARGIN)))

    def _lettered(self, text: str) -> str:
        return text.replace(" · ", " - ").replace("…", "...") if self._ascii else text

    def _print(self, content: RenderableType, margin: int = MARGIN, unbroken: bool = False) -> None:
        """Prints a block; a pipe gets its lines without the blanks that would fill them up. Raises OSError."""
        if unbroken:
            content, soft = Text.assemble(" " * margin, content), True  # type: ignore[arg-type]
        else:
            content, soft = Padding(content, (0, 0, 0, margin)), False
        if self._console.is_terminal:
            self._console.print(content, soft_wrap=soft)
            return
        with self._console.capture() as captured:
            self._console.print(content, soft_wrap=soft)
        try:
            self._out.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())
            self._out.flush()
        except BrokenPipeError:
            self._console.on_broken_pipe()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._out.fileno())  # Python would try again when it ends
            raise


def _type(record: dict[str, Any]) -> str:
    return str(record["type"]).replace("_", " ")
