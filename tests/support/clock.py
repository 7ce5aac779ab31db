"""Time and ids that tests pass in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Clock:
    """The time, as the server writes it; one second later at every look."""

    def __init__(self) -> None:
        self._looks = 0

    def __call__(self) -> str:
        self._looks += 1
        return (START + timedelta(seconds=self._looks)).isoformat(timespec="milliseconds")


class Ids:
    """ULIDs in ascending order; different makers give different ones."""

    def __init__(self, maker: int = 0) -> None:
        self._maker = maker
        self._made = 0

    def __call__(self) -> str:
        self._made += 1
        return f"01{self._maker:08d}{self._made:016d}"
