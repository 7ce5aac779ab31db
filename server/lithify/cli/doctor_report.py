"""What `lithify doctor` finds: one check a line, as text or as JSON, with the home folder always written as `~`."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from lithify import __version__
from lithify.cli.output import as_called

Mark: TypeAlias = Literal["ok", "note", "attention", "fails"]
"""`ok`: works. `note`: nothing to judge. `attention`: works, but look. `fails`: is needed and does not work."""

MARK_COLUMNS = len("attention")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. `next_step` is one sentence: what to do about it.

    Where it names a command of Lithify's in single quotes, that is shown as this one was called.
    """

    name: str
    mark: Mark
    text: str
    next_step: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


def checked(name: str, look: Callable[[], Iterable[Check]]) -> list[Check]:
    """What a look at something found; a look that goes wrong is a check that fails."""
    try:
        return list(look())
    except Exception as error:  # noqa: BLE001 - a doctor does not fall ill from what it finds
        text = f"could not be looked at ({type(error).__name__}: {error})"
        return [Check(name, "fails", text, "this is unexpected: please report it, with the output of this command")]


def needed_works(checks: Sequence[Check]) -> bool:
    """Whether everything works that Lithify needs."""
    return all(check.mark != "fails" for check in checks)


def as_json(checks: Sequence[Check]) -> str:
    """All that was found, as JSON."""
    shown = []
    for check in map(_shortened, checks):
        one = {"name": check.name, "mark": check.mark, "text": check.text, **check.details}
        shown.append(one | ({"nextStep": check.next_step} if check.next_step else {}))
    return json.dumps({"lithify": __version__, "ok": needed_works(checks), "checks": shown}, indent=2)


def as_lines(checks: Sequence[Check]) -> list[str]:
    """All that was found, one line a check and one for each next step."""
    shown = [_shortened(check) for check in checks]
    columns = max(len(check.name) for check in shown)
    lines = []
    for check in shown:
        lines.append(f"{check.mark:<{MARK_COLUMNS}}  {check.name:<{columns}}  {check.text}")
        if check.next_step:
            lines.append(f"{'':<{MARK_COLUMNS}}  {'':<{columns}}  next: {check.next_step}")
    return [*lines, "", conclusion(checks)]


def print_table(checks: Sequence[Check]) -> None:
    """All that was found, for a terminal of any width."""
    from rich.table import Table
    from rich.text import Text

    from lithify.cli.console import console

    colours = {"ok": "green", "note": "dim", "attention": "yellow", "fails": "bold red"}
    shown_on = console()
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(style="bold", overflow="fold")
    table.add_column(overflow="fold")
    for check in map(_shortened, checks):
        text = Text(check.text)
        if check.next_step:
            text.append(f"\nnext: {check.next_step}", "cyan")
        table.add_row(Text(check.mark, colours[check.mark]), check.name, text)
    shown_on.print(table)
    shown_on.print()
    shown_on.print(Text(conclusion(checks), "bold"))


def conclusion(checks: Sequence[Check]) -> str:
    """The last line: whether everything that is needed works, and what does not."""
    failing = [check.name for check in checks if check.mark == "fails"]
    if failing:
        return f"Lithify cannot work as it should: see {', '.join(failing)}."
    looks = sum(check.mark == "attention" for check in checks)
    deserve = "deserves" if looks == 1 else "deserve"
    return "Everything that Lithify needs works" + (f"; {looks} of the above {deserve} a look." if looks else ".")


def shortened(text: str) -> str:
    """A text in which paths below the home folder begin with `~`."""
    for home in _homes():
        text = re.sub(rf"(?<![\w.~-]){re.escape(home)}(?![\w.-])", "~", text)
    return text


def shell_path(path: Path) -> str:
    """A path as it can be pasted into a shell."""
    short = shortened(str(path))
    return "~/" + shlex.quote(short[2:]) if short.startswith("~/") else shlex.quote(str(path))


def counted(number: int, what: str) -> str:
    """A number of things, in words."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def as_bytes(size: int) -> str:
    """A size for people."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"


def _homes() -> list[str]:
    try:
        home = Path.home()
        homes = {str(home), str(home.resolve())}
    except (RuntimeError, OSError):
        return []
    return sorted((one.rstrip("/\\") for one in homes if len(one) > 1), key=len, reverse=True)


def _shortened(check: Check) -> Check:
    return replace(
        check,
        text=shortened(check.text),
        next_step=shortened(as_called(check.next_step)) if check.next_step else None,
        details=_deep(check.details),
    )


def _deep(value: Any) -> Any:
    if isinstance(value, str):
        return shortened(value)
    if isinstance(value, Mapping):
        return {key: _deep(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_deep(one) for one in value]
    return value
