"""Names for the backups that lie beside a rewritten file."""

from __future__ import annotations

import re
from pathlib import Path


def next_backup(path: Path) -> Path:
    """`<name>.bak`, then `<name>.bak.1`, `.bak.2`, ...: the number after the highest there is."""
    pattern = re.compile(rf"{re.escape(path.name)}\.bak(?:\.(\d+))?", re.DOTALL)
    numbers = [int(found.group(1) or 0) for one in path.parent.iterdir() if (found := pattern.fullmatch(one.name))]
    return path.with_name(f"{path.name}.bak.{max(numbers) + 1}" if numbers else f"{path.name}.bak")


def next_rotation(path: Path) -> Path:
    """`<stem>_<n><suffix>` with the number after the highest there is, as kimi-cli names its own."""
    pattern = re.compile(rf"{re.escape(path.stem)}_(\d+){re.escape(path.suffix)}")
    numbers = [int(found.group(1)) for one in path.parent.iterdir() if (found := pattern.fullmatch(one.name))]
    return path.with_name(f"{path.stem}_{max(numbers, default=0) + 1}{path.suffix}")
