"""When a buffer is due, at the very byte and millisecond."""

from __future__ import annotations

import pytest

from lithify.core.settings import Settings
from lithify.core.thresholds import compaction_due, extraction_due, fits_under_ceiling

SETTINGS = Settings.model_validate(
    {
        "buffer": {"idleMs": 30_000, "extractionBytes": 2048, "compactionBytes": 4096, "ceilingBytes": 8192},
        "bufferCompaction": {"enabled": True},
    }
)
NO_EXTRACTION = SETTINGS.model_copy(update={"extraction": SETTINGS.extraction.model_copy(update={"enabled": False})})


@pytest.mark.parametrize(("size_bytes", "due"), [(0, None), (1, None), (2047, None), (2048, "size"), (2049, "size")])
def test_extraction_is_due_at_its_size_and_above(size_bytes: int, due: str | None) -> None:
    assert extraction_due(size_bytes, 0, SETTINGS) == due


@pytest.mark.parametrize(("unchanged_ms", "due"), [(0, None), (29_999, None), (29_999.9, None), (30_000, "idle")])
def test_extraction_is_due_once_the_buffer_was_idle_for_its_time(unchanged_ms: float, due: str | None) -> None:
    assert extraction_due(1, unchanged_ms, SETTINGS) == due


def test_size_goes_before_idle_time() -> None:
    assert extraction_due(2048, 30_000, SETTINGS) == "size"


def test_an_empty_buffer_is_never_due() -> None:
    assert extraction_due(0, 1e9, SETTINGS) is None


def test_extraction_that_is_switched_off_is_never_due() -> None:
    assert extraction_due(8192, 1e9, NO_EXTRACTION) is None


@pytest.mark.parametrize(("size_bytes", "due"), [(0, False), (4095, False), (4096, False), (4097, True)])
def test_compaction_is_due_above_its_size_only(size_bytes: int, due: bool) -> None:
    assert compaction_due(size_bytes, SETTINGS) is due


def test_compaction_is_off_by_default() -> None:
    assert not compaction_due(1 << 30, Settings())


@pytest.mark.parametrize(("size_bytes", "line_bytes", "fits"), [(0, 8192, True), (0, 8193, False), (8000, 192, True)])
def test_a_line_fits_up_to_the_ceiling_itself(size_bytes: int, line_bytes: int, fits: bool) -> None:
    assert fits_under_ceiling(size_bytes, line_bytes, 8192) is fits


def test_nothing_fits_over_the_ceiling() -> None:
    assert not fits_under_ceiling(9000, 1, 8192)
