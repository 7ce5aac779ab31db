"""`lithify demo`: what it shows, and that it leaves nothing behind however it ends."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lithify.cli import demo_editor, demo_session, main
from lithify.cli.demo_editor import Editor, ServerTrouble
from lithify.cli.demo_session import SESSION_FILE, recorded_session, tool_events
from lithify.cli.demo_story import RECORDS_SHOWN, SEARCHED
from tests.cli.running import COMMAND, CONTROL, SECONDS, Ended, Place

MESSAGES: list[dict[str, Any]] = json.loads(SESSION_FILE.read_text(encoding="utf-8"))["messages"]
FIRST_STEP = "1  Start the server\n"
HANGING_SERVER = """
import os, signal, sys, time
if "serve" in sys.orig_argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open(os.environ["STARTED"], "w").close()
    time.sleep(600)
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


# What the demo showed, once, in a pipe


class Told:
    """One run of the demo, and what is left of it."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.data_dir = place.folder / "data"
        self.ended = place.run("demo", LITHIFY_DATA_DIR=str(self.data_dir))

    def sizes(self) -> list[tuple[str, int, int]]:
        """The rows of the last table: label, messages, tokens."""
        rows = re.findall(r"^ {3}(recorded|after step \d) +(\d+) +([\d,]+) ", self.ended.out, re.MULTILINE)
        return [(label, int(messages), int(tokens.replace(",", ""))) for label, messages, tokens in rows][-3:]

    def words(self) -> str:
        """All that was written, however its lines are broken."""
        return " ".join(self.ended.out.split())

    def gauges(self) -> list[tuple[int, str, str]]:
        """Each state of the buffer: entries, KiB, percent of the threshold."""
        found = re.findall(r"^ +(\d+) entries +([\d.]+) KiB .* (\d+) % of 256 KiB$", self.ended.out, re.MULTILINE)
        return [(int(entries), size, share) for entries, size, share in found]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return Told(Place(tmp_path_factory.mktemp("told")))


def test_the_demo_succeeds_and_says_nothing_on_stderr(told: Told) -> None:
    assert (told.ended.code, told.ended.err) == (0, "")


def test_the_demo_leaves_no_file_behind(told: Told) -> None:
    assert list(told.place.temporary.iterdir()) == []


def test_the_demo_leaves_no_process_behind(told: Told) -> None:
    assert told.place.processes() == []


def test_the_demo_does_not_touch_the_users_data(told: Told) -> None:
    assert not told.data_dir.exists()
    assert list(told.place.home.iterdir()) == []


def test_a_pipe_gets_no_control_codes(told: Told) -> None:
    assert CONTROL.findall(told.ended.out.replace("\n", "")) == []


def test_a_pipe_gets_no_blanks_at_the_end_of_lines(told: Told) -> None:
    assert [line for line in told.ended.lines if line != line.rstrip()] == []


def test_a_pipe_gets_lines_of_at_most_80_columns(told: Told) -> None:
    assert [line for line in told.ended.lines if len(line) > 80 and "lithify" not in line] == []


def test_the_demo_says_whose_conversation_it_shows(told: Told) -> None:
    assert "SWE-agent/SWE-agent (MIT licence)" in told.ended.out


def test_the_demo_names_what_to_do_next(told: Told) -> None:
    assert re.search(r"^ {6}\S*lithify serve$", told.ended.out, re.MULTILINE)
    assert re.search(r"^ {6}\S*lithify compact FILE$", told.ended.out, re.MULTILINE)


# The same, compared with what a server answers without the demo


class RawServer:
    """The server, driven with nothing of the demo's: one request after the other."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [*COMMAND, "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=Place(folder / "place").environment(),
        )
        self._last_id = 0
        self.progress: list[str] = []
        options = {"dataDir": str(folder / "data")}
        client = {"name": "lithify-demo"}
        self.ask("initialize", {"capabilities": {}, "clientInfo": client, "initializationOptions": options})

    def tell(self, method: str, params: Any, **more: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()

    def ask(self, method: str, params: Any) -> Any:
        self._last_id += 1
        self.tell(method, params, id=self._last_id)
        while (answer := self._read()).get("id") != self._last_id:
            if answer["method"] == "$/progress":
                value = answer["params"]["value"]
                self.progress.append(value.get("message") or value["title"])
        return answer["result"]

    def command(self, name: str, **argument: Any) -> Any:
        params = {"command": name, "arguments": [{"sessionId": "lithify-demo", **argument}], "workDoneToken": 1}
        return self.ask("workspace/executeCommand", params)

    def close(self) -> None:
        self._process.communicate(timeout=SECONDS)

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        header = b""
        while not header.endswith(b"\r\n\r\n"):
            header += self._process.stdout.read(1)
        message: dict[str, Any] = json.loads(self._process.stdout.read(int(header.split()[1])))
        return message


class Answers:
    """What a server answers when it is asked the same."""

    def __init__(self, folder: Path) -> None:
        server = RawServer(folder)
        server.tell("lithify/didOpenSession", {"sessionId": "lithify-demo", "agent": None, "messages": MESSAGES})
        server.ask("lithify/recordEvents", {"events": tool_events(MESSAGES, "lithify-demo")})
        self.status = server.ask("lithify/bufferStatus", {})
        self.extracted = server.command("lithify.extract_now")
        self.left = server.ask("lithify/bufferStatus", {})["entries"]
        self.records = server.command("lithify.list_memory")["records"]
        self.found = server.command("lithify.search_memory", query=SEARCHED)["records"]
        self.up_to_here = server.command("lithify.compact_up_to_here", index=len(MESSAGES) // 2)
        self.whole = server.command("lithify.compact_conversation")
        self.progress = server.progress
        server.close()

    def summary(self) -> str:
        text: str = self.whole["summary"]["content"]
        return text


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return Answers(tmp_path_factory.mktemp("answers"))


def test_the_recorded_conversation_is_counted_as_the_contract_says(told: Told) -> None:
    size = 0
    for message in MESSAGES:
        calls = message.get("tool_calls")
        size += len(message["content"].encode())
        size += len(json.dumps(calls, ensure_ascii=False, separators=(",", ":")).encode()) if calls else 0
    assert told.sizes()[0] == ("recorded", len(MESSAGES), math.ceil(size / 2.7))


def test_the_sizes_after_each_compaction_are_those_that_the_server_answers(told: Told, answers: Answers) -> None:
    expected = [
        (result["stats"]["messagesAfter"], result["stats"]["tokensAfter"])
        for result in (answers.up_to_here, answers.whole)
    ]
    assert [size[1:] for size in told.sizes()[1:]] == expected


def test_the_conversation_shrinks_with_each_compaction(told: Told) -> None:
    tokens = [size[2] for size in told.sizes()]
    assert tokens == sorted(tokens, reverse=True)


def test_the_buffer_ends_with_the_entries_and_bytes_that_the_server_answers(told: Told, answers: Answers) -> None:
    kib = answers.status["sizeBytes"] / 1024
    assert told.gauges()[-1] == (answers.status["entries"], f"{kib:.1f}", f"{100 * kib / 256:.0f}")


def test_the_buffer_is_seen_filling(told: Told) -> None:
    entries = [gauge[0] for gauge in told.gauges()]
    assert len(entries) > 4
    assert entries == sorted(set(entries))


def test_the_events_and_records_of_the_extraction_are_those_that_the_server_answers(
    told: Told, answers: Answers
) -> None:
    done = answers.extracted
    made = f"Of {done['extracted']} events the offline model made {done['records']} memory records;"
    assert (done["method"], done["extracted"]) == ("offline", answers.status["entries"])
    assert f"{made} the buffer holds {answers.left} entries now." in told.words()


def test_the_newest_records_are_shown_with_type_and_title(told: Told, answers: Answers) -> None:
    shown = [(one["type"].replace("_", " "), one["title"][:40]) for one in answers.records[:RECORDS_SHOWN]]
    assert len(shown) == RECORDS_SHOWN
    assert [one for one in shown if " ".join(one) not in told.words()] == []


def test_the_search_shows_how_much_it_found_and_the_best_record_whole(told: Told, answers: Answers) -> None:
    found, best = len(answers.found), answers.found[0]
    finds = f'"{SEARCHED}" finds {found} record{"" if found == 1 else "s"}.'
    assert [words for words in (finds, best["title"], best["summary"]) if words not in told.words()] == []


def test_the_word_that_is_searched_was_said_in_the_session() -> None:
    assert any(SEARCHED in str(message["content"]) for message in MESSAGES)


def test_the_progress_is_the_servers_own(told: Told, answers: Answers) -> None:
    assert answers.progress
    assert [words for words in answers.progress if words not in told.words()] == []


def test_every_section_of_the_summary_is_shown(told: Told, answers: Answers) -> None:
    names = re.findall(r"^<(\w+)>\n.*?\n</\1>$", answers.summary(), re.MULTILINE | re.DOTALL)
    assert len(names) == 6
    assert [
        name for name in names if not re.search(rf"^ +{name.replace('_', ' ')} ", told.ended.out, re.MULTILINE)
    ] == []


def test_full_shows_every_word_of_the_summary(place: Place, answers: Answers) -> None:
    shown = "".join(place.run("demo", "--full", COLUMNS="96").out.split())
    bodies = re.findall(r"^<(\w+)>\n(.*?)\n</\1>$", answers.summary(), re.MULTILINE | re.DOTALL)
    lines = [line for _, body in bodies for line in body.split("\n")]
    assert [line for line in lines if "".join(line.split()) not in shown] == []


def test_the_undo_is_said_to_give_back_what_was_recorded(told: Told) -> None:
    _, messages, tokens = told.sizes()[0]
    assert f"{messages} messages, {tokens:,} tokens: compared with the recording, every message is the same." in (
        told.words()
    )


# On terminals


def test_a_narrow_terminal_gets_lines_that_fit(place: Place) -> None:
    lines = [CONTROL.sub("", line) for line in re.split(r"[\r\n]+", place.run_on_terminal("demo", columns=60))]
    assert [line for line in lines if len(line) > 60 and "lithify" not in line] == []


def test_a_terminal_gets_colour(place: Place) -> None:
    assert re.search(r"\x1b\[[\d;]*3\dm", place.run_on_terminal("demo", columns=100))


def test_no_color_is_heeded(place: Place) -> None:
    assert not re.search(r"\x1b\[[\d;]*[34]\dm", place.run_on_terminal("demo", columns=100, NO_COLOR="1"))


def test_a_dumb_terminal_gets_no_control_codes(place: Place) -> None:
    written = place.run_on_terminal("demo", columns=80, TERM="dumb").replace("\r\n", "")
    assert CONTROL.findall(written) == []


def test_an_output_that_knows_no_more_than_ascii_gets_ascii(place: Place) -> None:
    ended = place.run("demo", PYTHONIOENCODING="ascii")
    assert (ended.code, ended.out.isascii()) == (0, True)


# Ends that nobody wants


@contextmanager
def waiting_for_a_server_that_hangs(place: Place) -> Iterator[subprocess.Popen[str]]:
    """The demo at the point where its server runs, answers nothing and heeds no polite signal."""
    place.customise(HANGING_SERVER)
    started = place.folder / "started"
    os.mkfifo(started)
    with place.started("demo", STARTED=str(started)) as process:
        started.open().close()
        yield process


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGINT, 130, "lithify: interrupted\n"),
        (signal.SIGTERM, 128 + signal.SIGTERM, ""),
        (signal.SIGHUP, 128 + signal.SIGHUP, ""),
    ],
)
def test_a_signal_ends_the_demo_its_server_and_its_folder(
    place: Place, number: signal.Signals, code: int, said: str
) -> None:
    with waiting_for_a_server_that_hangs(place) as process:
        process.send_signal(number)
        _, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, err) == (code, said)
    assert (place.processes(), list(place.temporary.iterdir())) == ([], [])


def test_control_c_on_a_terminal_twice_still_ends_in_order(place: Place) -> None:
    with waiting_for_a_server_that_hangs(place) as process:
        for _ in range(2):
            os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert (place.processes(), list(place.temporary.iterdir())) == ([], [])


def test_a_demo_that_is_killed_takes_its_server_with_it(place: Place) -> None:
    with place.started("demo") as process:
        assert process.stdout is not None
        while process.stdout.readline() != FIRST_STEP:
            pass
        process.kill()
        process.communicate(timeout=SECONDS)
    deadline = time.monotonic() + SECONDS
    while place.processes() and time.monotonic() < deadline:
        pass
    assert place.processes() == []


@pytest.fixture
def ended_server(place: Place) -> Ended:
    place.customise("import os, sys\nif 'serve' in sys.orig_argv:\n    os.write(2, b'no luck\\n')\n    os._exit(3)")
    return place.run("demo")


def test_a_server_that_ends_at_once_is_one_line_that_says_what_to_do(ended_server: Ended) -> None:
    said = re.escape("lithify: the demo stopped: the server ended too early (no luck); run '")
    assert ended_server.code == 1
    assert re.fullmatch(rf"{said}[^\n]*lithify doctor' to see what works on this machine\n", ended_server.err)


def test_a_server_that_ends_at_once_leaves_nothing_behind(ended_server: Ended, place: Place) -> None:
    assert ended_server.code == 1
    assert (place.processes(), list(place.temporary.iterdir())) == ([], [])


def test_a_server_that_never_answers_is_given_up(place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place.customise("import sys, time\nif 'serve' in sys.orig_argv:\n    time.sleep(600)")
    monkeypatch.setenv("PYTHONPATH", str(place.customisation))
    editor = Editor(tmp_path, deadline_seconds=0.1)
    try:
        editor.start()
        with pytest.raises(ServerTrouble, match=r"did not answer in time \(initialize\)"):
            editor.request("initialize", {})
    finally:
        editor.close()


def test_a_request_that_the_server_refuses_is_told_in_its_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    editor = Editor(tmp_path, SECONDS)
    try:
        editor.start()
        editor.request("initialize", {"capabilities": {}})
        with pytest.raises(ServerTrouble, match="the server refused lithify/nothing: "):
            editor.request("lithify/nothing", {})
    finally:
        editor.close()


def test_an_answer_of_an_unknown_shape_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Editor, "request", lambda *_: {"unknown": "shape"})
    assert main.main(["demo"]) == 1
    assert capsys.readouterr().err.startswith("lithify: the demo stopped: the server answered in a shape that the demo")


def test_a_server_that_cannot_be_started_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo_editor, "SERVE", (os.devnull,))
    assert main.main(["demo"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("lithify: the demo stopped: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("content", [None, "no JSON", "{}", "[]"])
def test_a_package_without_its_session_is_one_line(
    content: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "session.json").write_text(content)
    monkeypatch.setattr(demo_session, "SESSION_FILE", tmp_path / "session.json")
    assert main.main(["demo"]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), err.endswith("install Lithify again\n")) == ("", 1, True)


# The recorded session


def test_the_session_is_small() -> None:
    assert SESSION_FILE.stat().st_size < 100_000


def test_the_session_comes_with_its_provenance_and_both_licences() -> None:
    provenance = SESSION_FILE.with_name("PROVENANCE.md").read_text(encoding="utf-8")
    wanted = ("https://github.com/SWE-agent/SWE-agent", "Copyright (c) 2024 John Yang", "Copyright 2017 Steven Loria")
    assert [words for words in wanted if words not in provenance] == []


def test_every_tool_result_of_the_session_answers_the_call_before_it() -> None:
    results = [(index, one["tool_call_id"]) for index, one in enumerate(MESSAGES) if one["role"] == "tool"]
    assert [calls for index, _ in results if (calls := MESSAGES[index - 1].get("tool_calls")) is None] == []
    assert [identity for _, identity in results] == [MESSAGES[index - 1]["tool_calls"][0]["id"] for index, _ in results]


def test_each_tool_call_becomes_one_event_with_its_own_result() -> None:
    session = recorded_session()
    expected = [
        {
            "tool_name": MESSAGES[index - 1]["tool_calls"][0]["function"]["name"],
            "tool_input": json.loads(MESSAGES[index - 1]["tool_calls"][0]["function"]["arguments"]),
            "tool_response": message["content"],
        }
        for index, message in enumerate(MESSAGES)
        if message["role"] == "tool"
    ]
    events = tool_events(session.messages, "here")
    assert [event["body"]["data"] for event in events] == expected


def test_events_leave_their_ids_to_the_server() -> None:
    assert {frozenset(event) for event in tool_events(MESSAGES, "here")} == {frozenset({"sessionId", "kind", "body"})}
