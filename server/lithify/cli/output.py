"""How every command speaks: what it found on standard output, the rest on standard error, one line for an error.

Every line leaves here or by `console`, and on both ways what could steer a terminal is spelled out.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lithify.cli.visible_text import escaped, escaped_lines, visible

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
    """Says something on standard error, on one line whatever it holds."""
    print_text(escaped(message), to_error=True)


def print_text(text: str, *, to_error: bool = False, end: str = "\n") -> None:
    """Prints whatever the text holds, of one line or more: what could steer a terminal, or what the stream cannot show,
    is escaped. Without that stream nothing is."""
    stream = sys.stderr if to_error else sys.stdout
    if stream is not None:
        encoding = stream.encoding or "utf-8"
        print(escaped_lines(text).encode(encoding, "backslashreplace").decode(encoding), end=end, file=stream)


def asks_somebody() -> bool:
    """Whether somebody sits at a terminal who can be asked."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def agreed(question: str) -> bool:
    """Asks on standard error; whether the answer is yes."""
    print_text(f"{question} [y/N] ", to_error=True, end="")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if not answer:
        say("")
    return answer.strip().lower() in {"y", "yes"}


def write_bytes(data: bytes) -> None:
    """Writes to standard output as it is; on a terminal what could steer that is escaped. Without one nothing is."""
    if sys.stdout is None:
        return
    if sys.stdout.isatty():
        print_text(data.decode(errors="replace").removesuffix("\n"))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


class Told(logging.Handler):
    """What parts of Lithify log while a command runs, said like all else."""

    def emit(self, record: logging.LogRecord) -> None:
        """Says one record."""
        say(f"lithify: {record.getMessage()}")


@contextmanager
def progress(text: str) -> Iterator[Callable[[str], None]]:
    """A spinner on a terminal's standard error, nothing in a pipe; call what it gives to say how far one is."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.text import Text

    from lithify.cli.console import console

    def shown(step: str) -> Text:
        return Text(visible(f"{text} {step}"), overflow="ellipsis", no_wrap=True)

    with console(sys.stderr).status(shown("")) as status:
        yield lambda step: status.update(shown(step))


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


def command_line(*words: str, name: str | None = None) -> str:
    """A command of Lithify's as it can be pasted into a shell; `name` is what it is done to."""
    named = [] if name is None else ["--", name] if name.startswith("-") else [name]
    return f"{command_name()} {shlex.join([*words, *named])}"


def _without_suffix(path: str) -> Path:
    return Path(path).with_suffix("").resolve()


def _quoted(path: str) -> str:
    return f'"{path}"' if re.search(r"\s", path) else path


def _say_error(message: str) -> None:
    say(as_called(f"lithify: {visible(message)}"))
