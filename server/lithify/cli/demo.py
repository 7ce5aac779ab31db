"""`lithify demo`: the real server at work on a recorded conversation, with no key, no network and no editor."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lithify.cli.demo_session import RecordedSession

ENDED_BY_SIGNAL = 128
"""Added to a signal's number: the exit code of a command that the signal ended."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = subparsers.add_parser(
        "demo",
        help="show what Lithify does, on a recorded conversation (a few seconds)",
        description="Starts the real server as an editor would, in a temporary folder, makes memory of a recorded "
        "conversation and compacts it. Needs no key, no network and no editor.",
    )
    parser.add_argument("--full", action="store_true", help="show every line of the summary")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the demo; 0 when it came to its end, 1 when it failed."""
    from lithify.cli.demo_editor import ServerTrouble
    from lithify.cli.demo_session import recorded_session
    from lithify.cli.output import fail

    try:
        session = recorded_session()
    except (OSError, ValueError, KeyError, TypeError) as error:
        return fail(f"the recorded session cannot be read ({error}); install Lithify again")
    try:
        _play(session, args.full)
    except ServerTrouble as error:
        return fail(f"the demo stopped: {error}; run 'lithify doctor' to see what works on this machine")
    except OSError as error:
        return fail(f"the demo stopped: {error}; make room on the disk, or set TMPDIR to a folder that has some")
    return 0


def _play(session: RecordedSession, whole_summary: bool) -> None:
    """Tells the story in a temporary folder that is gone afterwards, also when a signal ends it."""
    import tempfile

    from lithify.cli.demo_screen import Screen
    from lithify.cli.demo_story import Story

    with (
        _ended_in_order_by_signals(),
        tempfile.TemporaryDirectory(prefix="lithify-demo-", ignore_cleanup_errors=True) as folder,
    ):
        story = Story(Screen(), session, Path(folder))
        story.tell(whole_summary)
    story.end()


@contextmanager
def _ended_in_order_by_signals() -> Iterator[None]:
    """Within the block the first signal that asks to end unwinds it, and further ones do not disturb that."""
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    heeded = [signal.Signals[name] for name in names if signal.getsignal(signal.Signals[name]) != signal.SIG_IGN]

    def end(number: int, _: FrameType | None) -> None:
        for one in heeded:
            signal.signal(one, signal.SIG_IGN)
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(ENDED_BY_SIGNAL + number)

    before = [(one, signal.signal(one, end)) for one in heeded]
    try:
        yield
    finally:
        for one, handler in before:
            signal.signal(one, handler)
