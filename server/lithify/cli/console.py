"""The console that lines leave by on a terminal, coloured and wrapped. Nothing printed on it can steer the terminal."""

from __future__ import annotations

import io
import os
import sys
from typing import IO, Literal

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook, RenderResult
from rich.segment import Segment
from rich.text import Text

from lithify.cli.visible_text import escaped_lines


def console(stream: IO[str] | None = None) -> Console:
    """A console on a stream, by default standard output; in colour unless NO_COLOR says otherwise."""
    out = stream or sys.stdout
    if isinstance(out, io.TextIOWrapper):
        out.reconfigure(errors="backslashreplace")
    colours: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    made = Console(file=out, color_system=colours, highlight=False, markup=False, emoji=False)
    made.push_render_hook(_Visible())
    return made


class _Visible(RenderHook):
    """Spells out control characters in all that is printed, whoever forgot to."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Shown(one) for one in renderables]


class _Shown:
    def __init__(self, renderable: RenderableType) -> None:
        self._renderable = Text(renderable) if isinstance(renderable, str) else renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._renderable, options):
            yield segment if segment.control else Segment(escaped_lines(segment.text), segment.style)
