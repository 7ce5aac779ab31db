"""What all tests of the language server share."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """A server sets up the log of its process; here that is the one of all tests."""
    loggers = [logging.getLogger(name) for name in (None, "lithify", "pygls")]
    before = [(one.handlers[:], one.level) for one in loggers]
    yield
    for one, (handlers, level) in zip(loggers, before, strict=True):
        one.handlers[:] = handlers
        one.setLevel(level)
