"""How every command speaks: what it found on standard output, the rest on standard error, one line for an error."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

FAILURE = 1
USAGE = 2
INTERRUPTED = 130
"""Exit codes: something went wrong; the call does not fit; Ctrl-C, as shells count it."""

_COMMAND_IN_A_HINT = re.compile(r"'lithify((?: -{0,2}[a-z][a-z-]*)+)'")


def fail(message: str) -> int:
    """Says in one line what went wrong and what to do; the exit code for a failure."""
    _say_error(message)
    return FAILURE


def usage(message: str) -> int:
    """Says in one line what is wrong with the call; the exit code for that."""
    _say_error(message)
    return USAGE


def say(message: str) -> None:
    """Says something on standard error."""
    print_text(message, to_error=True)


def print_text(text: str, *, to_error: bool = False) -> None:
    """Prints whatever the text holds: what the stream cannot show is escaped. Without that stream nothing is."""
    stream = sys.stderr if to_error else sys.stdout
    if stream is not None:
        encoding = stream.encoding or "utf-8"
        print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream)


def write_bytes(data: bytes) -> None:
    """Writes to standard output as it is; without one nothing is written."""
    if sys.stdout is not None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


@contextmanager
def progress(text: str) -> Iterator[Callable[[str], None]]:
    """A spinner on a terminal's standard error, nothing in a pipe; call what it gives to say how far one is."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(text) as status:
        yield lambda step: status.update(f"{text} {step}")


def drop_output() -> None:
    """Sends standard output nowhere: the interpreter would try once more to write what is left when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def as_called(text: str) -> str:
    """A text in which each command of Lithify's in single quotes begins as this one was called."""
    return _COMMAND_IN_A_HINT.sub(lambda found: f"'{command_name()}{found[1]}'", text)


def command_name() -> str:
    """How this command was called: `lithify` where a shell finds just this one, else with its path."""
    called = Path(sys.argv[0])
    if called.parts[-2:] == ("lithify", "__main__.py"):
        return f"{_quoted(sys.orig_argv[0])} -m lithify"
    found = shutil.which("lithify")
    if called.name != "lithify" or (found is not None and _without_suffix(found) == _without_suffix(sys.argv[0])):
        return "lithify"
    return _quoted(sys.argv[0])


def _without_suffix(path: str) -> Path:
    return Path(path).with_suffix("").resolve()


def _quoted(path: str) -> str:
    return f'"{path}"' if re.search(r"\s", path) else path


def _say_error(message: str) -> None:
    print(as_called(f"lithify: {_one_line(message)}"), file=sys.stderr)


def _one_line(message: str) -> str:
    return " ".join(message.split())
