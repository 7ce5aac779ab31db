"""Lets the disk fail, or the process die, at a chosen call of the operating system."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from lithify.storage import system

CALLS = ("open_file", "open_folder", "read", "write", "truncate", "fsync", "rename", "unlink")


class Killed(BaseException):
    """Stands for the end of the process: nothing of ours catches it."""


@contextmanager
def at_each_call(before: Callable[[int, str, tuple[Any, ...]], None]) -> Iterator[None]:
    """Calls `before` with number, name and arguments of each call of the seam, counted from 0."""
    real = {name: getattr(system, name) for name in CALLS}
    number = -1

    def seen(name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            nonlocal number
            number += 1
            before(number, name, arguments)
            return real[name](*arguments)

        return call

    for name in CALLS:
        setattr(system, name, seen(name))
    try:
        yield
    finally:
        for name, one in real.items():
            setattr(system, name, one)


@contextmanager
def calls_noted() -> Iterator[list[tuple[str, tuple[Any, ...]]]]:
    """The calls of the seam in the block: name and arguments."""
    noted: list[tuple[str, tuple[Any, ...]]] = []
    with at_each_call(lambda _, name, arguments: noted.append((name, arguments))):
        yield noted


@contextmanager
def failing_from(first: int, error_number: int, last: int | None = None) -> Iterator[None]:
    """Each call from that one on (to `last`) fails; a write that fails has written half of its bytes before."""

    def fail(number: int, name: str, arguments: tuple[Any, ...]) -> None:
        if number >= first and (last is None or number <= last):
            if name == "write":
                _write_half(*arguments)
            raise OSError(error_number, os.strerror(error_number))

    with at_each_call(fail):
        yield


@contextmanager
def dying_at(at: int | None) -> Iterator[list[bool]]:
    """The process dies just before that call; within it, when it is a write. What is yielded is true afterwards when
    it did."""
    died: list[bool] = []

    def die(number: int, name: str, arguments: tuple[Any, ...]) -> None:
        if died or (at is not None and number >= at):
            if name == "write" and not died:
                _write_half(*arguments)
            died.append(True)
            raise Killed

    with at_each_call(die), suppress(Killed):
        yield died


def _write_half(descriptor: int, data: bytes) -> None:
    os.write(descriptor, data[: len(data) // 2])
