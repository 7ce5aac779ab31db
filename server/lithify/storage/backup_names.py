"""Names for the backups that lie beside a rewritten file."""

from __future__ import annotations

import re
from itertools import chain, count
from pathlib import Path


def next_backup(path: Path) -> Path:
    """`<name>.bak`, else `<name>.bak.1`, `.bak.2`, ...: the first that is free."""
    numbered = (f"{path.name}.bak.{number}" for number in count(1))
    names = map(path.with_name, chain([f"{path.name}.bak"], numbered))
    return next(name for name in names if not _taken(name))


def next_rotation(path: Path) -> Path:
    """`<stem>_<n><suffix>` with the number after the highest there is, as kimi-cli names its own."""
    pattern = re.compile(rf"{re.escape(path.stem)}_(\d+){re.escape(path.suffix)}")
    numbers = [int(found.group(1)) for one in path.parent.iterdir() if (found := pattern.fullmatch(one.name))]
    return path.with_name(f"{path.stem}_{max(numbers, default=0) + 1}{path.suffix}")


def _taken(path: Path) -> bool:
    return path.exists() or path.is_symlink()
