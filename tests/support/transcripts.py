"""Short ways to write transcripts as texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def json_lines(messages: Sequence[Any], ending: str = "\n", *, ended: bool = True) -> str:
    """Messages as JSON lines; `ended`: the last one too."""
    return ending.join(json.dumps(one, ensure_ascii=False) for one in messages) + (ending if ended else "")
