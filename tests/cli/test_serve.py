"""`lithify serve` where no editor started it: on a terminal, and without standard input."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.running import COMMAND, SECONDS, Ended, Place

INTERRUPTED_AT_ITS_LOOP = """
import asyncio, os, signal
made = asyncio.BaseEventLoop.__init__
def made_and_interrupted(self):
    made(self)
    os.kill(os.getpid(), signal.SIGINT)
asyncio.BaseEventLoop.__init__ = made_and_interrupted
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_on_a_terminal_it_says_what_it_waits_for_and_control_c_ends_it(place: Place) -> None:
    terminal, ours = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "serve"],
        stdin=ours,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        cwd=place.folder,
        env=place.environment(),
        start_new_session=True,
    ) as process:
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=SECONDS)
        finally:
            process.kill()
            os.close(ours)
            os.close(terminal)
    assert said == "lithify: waiting for an editor on standard input; Ctrl-C ends\n"
    assert (process.returncode, out, err) == (130, "", "lithify: interrupted\n")


def test_a_control_c_while_the_event_loop_is_made_is_one_line(place: Place) -> None:
    place.customise(INTERRUPTED_AT_ITS_LOOP)
    assert place.run("serve") == Ended(130, "", "lithify: interrupted\n")


def test_in_a_pipe_it_says_nothing(place: Place) -> None:
    assert place.run("serve").err == ""


def test_without_standard_input_it_is_one_line_and_exit_code_1(place: Place) -> None:
    ended = place.run("serve", under=("sh", "-c", 'exec "$@" <&-', "sh"))
    expected = "lithify: standard input is closed, so no editor can be served; open it, or use --tcp\n"
    assert ended == Ended(1, "", expected)
