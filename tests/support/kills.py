"""How often tests kill: `make test` takes a share of the moments that there are, `make test-kills` all of them."""

from __future__ import annotations

import os

ALL = "LITHIFY_ALL_KILLS" in os.environ


def at_least(few: int, all_of_them: int) -> int:
    """The number for this run."""
    return all_of_them if ALL else few
