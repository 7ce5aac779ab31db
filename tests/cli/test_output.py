"""What leaves a command: no text from outside steers a terminal, whichever command shows it."""

from __future__ import annotations

import ast
import contextlib
import json
import logging
import os
from pathlib import Path

import pytest

import lithify.cli
from lithify.cli import ledger, main
from lithify.cli.output import say
from lithify.cli.visible_text import escaped_lines
from tests.cli.running import CONTROL, Place
from tests.support.agent_homes import CODEX_ID, AgentHome
from tests.support.kept_sessions import keep

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m \u202eevil\u202c [/x] [red]"
STEERS = ("\x1b", "\x07", "\x9b", "\u202e", "\u202c")
CLI = Path(lithify.cli.__file__).parent


def steering(text: str) -> list[str]:
    return [one for one in STEERS if one in text]


def test_lines_and_tabs_stay_and_all_else_that_steers_is_spelled_out() -> None:
    assert escaped_lines("a\tb\r\nc\rd\x1b[0m\ud800") == "a\tb\nc\nd\\u001b[0m\\ud800"


def test_what_is_said_stays_on_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    say("left as\nWrote /etc/passwd.")
    assert capsys.readouterr().err == "left as\\u000aWrote /etc/passwd.\n"


def test_what_parts_of_lithify_log_is_said_like_all_else(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "run", lambda _: logging.getLogger("elsewhere").warning(EVIL) or 0)
    monkeypatch.setattr(logging.getLogger("elsewhere"), "propagate", False)
    main.main(["ledger"])
    told = capsys.readouterr().err
    assert (told.startswith("lithify: \\u001b]0;owned"), steering(told)) == (True, [])


@pytest.mark.parametrize("name", sorted(path.name for path in CLI.glob("*.py")))
def test_only_the_modules_through_which_lines_leave_print(name: str) -> None:
    """Everybody else asks these, so that nobody can forget to escape."""
    allowed = {"output.py": {"print", "sys.stdout.buffer.write"}, "console.py": {"Console"}}
    assert printing(CLI / name) == allowed.get(name, set())


def printing(path: Path) -> set[str]:
    """What a module calls that prints by itself."""
    calls = [one for one in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(one, ast.Call)]
    called = {ast.unparse(one.func) for one in calls}
    streams = ("sys.stdout", "sys.stderr")
    return {
        one for one in called if one in ("print", "input", "Console") or (one.startswith(streams) and "write" in one)
    }


@pytest.fixture
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A chat full of control characters, in its name too."""
    monkeypatch.setenv("LITHIFY_DATA_DIR", str(tmp_path / "data"))
    path = tmp_path / f"{EVIL.replace('/', '')}.json"
    said = [{"role": "user", "content": f"{EVIL} fix {number} " * 40} for number in range(5)]
    path.write_text(json.dumps(said))
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ("compact", "CHAT"),
        ("compact", "CHAT", "--dry-run"),
        ("compact", "CHAT", "--preserve", "9"),
        ("compact", "CHAT", "--preserve", EVIL),
        ("compact", "CHAT", "--up-to", "99"),
        ("compact", "CHAT", "--in-place"),
        ("compact", "CHAT", "--output", "CHAT"),
        ("compact", "CHAT", "--output", f"/{EVIL}/out"),
        ("compact", "CHAT", "--settings", EVIL),
        ("compact", "CHAT", "--model", EVIL),
        ("compact", EVIL),
        ("compact", "CHAT", EVIL),
        ("sessions", "undo", "CHAT"),
        ("sessions", "undo", "CHAT", EVIL),
        ("sessions", "show", EVIL),
        ("sessions", "list", "--agent", EVIL),
        ("sessions", "list", "--project", EVIL),
        ("record", "CHAT", "--yes", "--project", EVIL),
        ("memory", "search", EVIL, "word", "--project", EVIL),
        ("memory", "show", EVIL),
        ("memory", "extract", "--project", EVIL, "--data-dir", EVIL),
        ("buffer", "status", "--project", EVIL),
        ("ledger", "--data-dir", EVIL),
        (EVIL,),
    ],
)
def test_no_command_lets_text_from_outside_steer_the_terminal(
    chat: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    with contextlib.suppress(SystemExit):
        main.main([str(chat) if one == "CHAT" else one for one in arguments])
    out, err = capsys.readouterr()
    assert out + err
    assert steering(out + err) == []


def test_sessions_of_agents_steer_nothing_in_a_pipe_or_on_a_terminal(tmp_path: Path) -> None:
    place = Place(tmp_path)
    kept = keep(AgentHome(place.home), "codex")
    text = kept.path.read_text().replace("question 1", json.dumps(EVIL)[1:-1])
    kept.path.write_text(text.replace("question 0", json.dumps(EVIL)[1:-1]))
    os.utime(kept.path, (1_700_000_000, 1_700_000_000))
    for action in ("compact", "show", "undo"):
        ended = place.run("sessions", action, CODEX_ID)
        assert (ended.code, steering(ended.out + ended.err)) == (0, []), ended
    shown = place.run_on_terminal("sessions", "show", CODEX_ID, columns=80, NO_COLOR="1")
    assert ("[/x] [red]" in shown, CONTROL.search(shown.replace("\r", ""))) == (True, None)


def test_a_spinner_shows_a_hostile_name_and_is_not_broken_by_it(chat: Path, tmp_path: Path) -> None:
    place = Place(tmp_path / "place")
    written = place.run_on_terminal("compact", str(chat), "--in-place", columns=120)
    assert "\x1b]0;owned" not in written
    assert "Rewrote" in written
