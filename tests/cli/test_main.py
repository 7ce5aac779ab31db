"""The `lithify` command itself: versions, calls that do not fit, and ends that are asked for."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import lithify
from lithify.cli import main
from tests.cli.running import COMMAND, SECONDS, Ended, Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_version_names_the_version(place: Place) -> None:
    assert place.run("--version") == Ended(0, f"lithify {lithify.__version__}\n", "")


def test_help_lists_every_command(place: Place) -> None:
    ended = place.run("--help")
    listed = {line.split()[0] for line in ended.lines if line.startswith("    ") and line[4] != " "}
    assert (ended.code, listed) == (0, set(main.COMMANDS))
    assert {"serve", "compact", "memory", "buffer", "ledger", "demo", "doctor", "prompts"} <= listed


@pytest.mark.parametrize("arguments", [(), ("prompts",)], ids=["lithify", "lithify prompts"])
def test_a_command_that_asks_for_nothing_gets_its_help_and_exit_code_2(
    place: Place, arguments: tuple[str, ...]
) -> None:
    ended = place.run(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == place.run(*arguments, "--help").out


@pytest.mark.parametrize(
    "arguments",
    [
        ("frobnicate",),
        ("--frobnicate",),
        ("demo", "--frobnicate"),
        ("doctor", "extra"),
        ("doctor", "--data-dir"),
        ("serve", "--tcp", "nonsense"),
        ("serve", "--tcp", "127.0.0.1:99999"),
        ("serve", "--stdio", "--tcp", "127.0.0.1:0"),
        ("prompts", "publish"),
        ("compact",),
        ("compact", "-", "--up-to", "3", "--preserve", "2"),
        ("compact", ""),
        ("compact", "chat.json", "--output", ""),
        ("compact", "-", "--dry"),
        ("doctor", "--js"),
        ("--vers",),
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
    assert place.run("--frobnicate").err.endswith("-m lithify --help'\n")


@pytest.mark.parametrize(
    "arguments",
    [("compact",), ("compact", "-", "--frobnicate"), ("compact", "-", "--up-to", "x"), ("prompts", "list", "extra")],
    ids=" ".join,
)
def test_a_call_of_a_command_that_does_not_fit_points_to_the_help_of_that_command(
    place: Place, arguments: tuple[str, ...]
) -> None:
    command = "prompts list" if arguments[0] == "prompts" else "compact"
    assert place.run(*arguments).err.endswith(f"see '{sys.executable} -m lithify {command} --help'\n")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The command as pip installs it."""
    path = tmp_path / "bin" / "lithify"
    path.parent.mkdir()
    path.write_text(f"#!{sys.executable}\nimport sys\nfrom lithify.cli.main import main\nsys.exit(main())\n")
    path.chmod(0o755)
    return path


def said_of(place: Place, command: str, path: str) -> str:
    """What a shell that looks for commands in `path` is told of a call that does not fit."""
    done = subprocess.run(
        ["sh", "-c", f"{command} compact"],
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
        cwd=place.folder,
        env=place.environment(PATH=path),
    )
    return done.stderr


def test_hints_name_the_command_as_it_was_called(place: Place, script: Path) -> None:
    assert said_of(place, "bin/lithify", os.defpath).endswith("see 'bin/lithify compact --help'\n")


def test_hints_name_a_path_with_blanks_so_that_it_can_be_pasted(place: Place, script: Path) -> None:
    (place.folder / "my bin").symlink_to("bin")
    said = said_of(place, '"my bin/lithify"', os.defpath)
    assert said.endswith("see '\"my bin/lithify\" compact --help'\n")


def test_hints_name_a_command_on_path_by_its_name(place: Place, script: Path) -> None:
    said = said_of(place, "lithify", f"{script.parent}{os.pathsep}{os.defpath}")
    assert said.endswith("see 'lithify compact --help'\n")


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
