"""The `lithify` command itself: versions, calls that do not fit, and ends that are asked for."""

from __future__ import annotations

import signal
import socket
import subprocess
from pathlib import Path

import pytest

import lithify
from tests.cli.running import COMMAND, SECONDS, Ended, Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_version_names_the_version(place: Place) -> None:
    assert place.run("--version") == Ended(0, f"lithify {lithify.__version__}\n", "")


def test_help_lists_every_command(place: Place) -> None:
    ended = place.run("--help")
    listed = {line.split()[0] for line in ended.lines if line.startswith("    ") and line[4] != " "}
    assert (ended.code, listed) == (0, {"serve", "compact", "demo", "doctor", "prompts"})


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("frobnicate",),
        ("--frobnicate",),
        ("demo", "--frobnicate"),
        ("doctor", "extra"),
        ("doctor", "--data-dir"),
        ("serve", "--tcp", "nonsense"),
        ("serve", "--tcp", "127.0.0.1:99999"),
        ("serve", "--stdio", "--tcp", "127.0.0.1:0"),
        ("prompts",),
        ("compact",),
    ],
    ids=lambda arguments: " ".join(arguments) or "nothing",
)
def test_a_call_that_does_not_fit_is_one_line_on_stderr_and_exit_code_2(
    place: Place, arguments: tuple[str, ...]
) -> None:
    ended = place.run(*arguments)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith("lithify")


def test_a_call_that_does_not_fit_names_what_does_not(place: Place) -> None:
    assert "'frobnicate'" in place.run("frobnicate").err


def test_a_call_that_does_not_fit_points_to_the_help(place: Place) -> None:
    assert place.run("demo", "--frobnicate").err.endswith("--help'\n")


def test_a_port_that_is_taken_is_one_line_and_exit_code_1(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = place.run("serve", "--tcp", f"127.0.0.1:{taken.getsockname()[1]}")
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert "--tcp" in ended.err


def test_control_c_ends_a_command_without_a_traceback(place: Place) -> None:
    with place.started("serve", "--tcp", "127.0.0.1:0") as process:
        assert process.stderr is not None
        assert "listening" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out, err) == (130, "", "lithify: interrupted\n")


@pytest.mark.parametrize("command", ["doctor", "demo"])
def test_a_reader_that_goes_away_ends_a_command_without_a_word(place: Place, command: str) -> None:
    with place.started(command) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.wait(SECONDS)
        said = process.stderr.read()
    assert (process.returncode, said) == (1, "")


@pytest.mark.parametrize("command", ["doctor", "demo"])
def test_an_output_that_is_full_is_one_line_and_exit_code_1(place: Place, command: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=SECONDS,
            check=False,
            env=place.environment(),
        )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


@pytest.mark.parametrize("command", ["doctor", "demo"])
def test_a_command_without_standard_output_works_all_the_same(place: Place, command: str) -> None:
    assert place.run(command, under=("sh", "-c", 'exec "$@" >&-', "sh")) == Ended(0, "", "")
