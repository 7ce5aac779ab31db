"""`lithify compact`: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import argparse
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lithify.cli import chat_file, compact, main
from lithify.cli.in_place import undo_in_place
from lithify.core.kimi import is_summary
from lithify.core.model_calls import ModelFailure, ModelReply, ModelRequest
from lithify.core.outcomes import LithifyError
from lithify.core.settings import Settings
from lithify.llm.offline import OfflineModel
from lithify.storage import leases, system
from lithify.storage.store import open_store
from lithify.transcripts import kimi_context
from tests.support import claude_code_loader, kimi_loader
from tests.support.agent_homes import AgentHome
from tests.support.claude_code_session import Session
from tests.support.clock import Clock
from tests.support.kept_sessions import keep
from tests.support.samples import DATA
from tests.support.scripted_model import OWN

SAMPLES = DATA / "transcripts"
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Fix the bug in app.py. " * 60},
    {"role": "assistant", "content": "Fixed the sign in add(). " * 60},
    {"role": "user", "content": "Now write the tests."},
    {"role": "assistant", "content": "Tests are written."},
]


@pytest.fixture(autouse=True)
def data_dir(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of the command, away from the files that it compacts."""
    folder = tmp_path_factory.mktemp("data") / "lithify"
    monkeypatch.setenv("LITHIFY_DATA_DIR", str(folder))
    return folder


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(CHAT, indent=2))
    return path


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return Path(shutil.copy(SAMPLES / "kimi-cli" / "fix-bug.context.jsonl", tmp_path / "context.jsonl"))


def call(*arguments: object) -> int:
    parser = argparse.ArgumentParser()
    compact.add_parser(parser.add_subparsers())
    args = parser.parse_args(["compact", *map(str, arguments)])
    return int(args.run(args))


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def test_the_summary_goes_to_standard_output_and_the_figures_to_standard_error(
    chat: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(chat) == 0
    out, err = capsys.readouterr()
    assert out.startswith("<current_focus>")
    assert "Compacted messages 2 to 3 (message 1 is the system message and stays): 5 messages became 4, " in err
    assert "offline model" in err


def test_without_an_output_nothing_is_written(chat: Path) -> None:
    before = chat.read_bytes()
    assert call(chat) == 0
    assert (names(chat.parent), chat.read_bytes()) == (["chat.json"], before)


def test_an_output_holds_the_whole_conversation_in_the_format_of_the_file(chat: Path, tmp_path: Path) -> None:
    assert call(chat, "--output", tmp_path / "out.json") == 0
    written = json.loads((tmp_path / "out.json").read_text())
    assert [written[0], *written[2:]] == [CHAT[0], *CHAT[3:]]
    assert is_summary(written[1])
    assert json.loads(chat.read_text()) == CHAT


def test_standard_output_can_be_the_output(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(chat, "--output", "-") == 0
    assert is_summary(json.loads(capsys.readouterr().out)[1])


def test_up_to_compacts_the_first_messages(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(chat, "--up-to", 4, "--output", "-") == 0
    assert json.loads(capsys.readouterr().out)[2:] == CHAT[4:]


def test_preserve_says_how_many_messages_stay(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(chat, "--preserve", 1, "--output", "-") == 0
    assert json.loads(capsys.readouterr().out)[2:] == CHAT[4:]


def test_in_place_rewrites_the_file_and_leaves_a_backup_beside_it(
    chat: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = chat.read_bytes()
    assert call(chat, "--in-place") == 0
    assert is_summary(json.loads(chat.read_text())[1])
    assert (chat.parent / "chat.json.bak").read_bytes() == before
    assert "what it held before is in chat.json.bak" in capsys.readouterr().err


def test_a_second_rewrite_leaves_the_first_backup_alone(chat: Path) -> None:
    assert call(chat, "--in-place") == call(chat, "--in-place", "--preserve", 1) == 0
    assert names(chat.parent) == ["chat.json", "chat.json.bak", "chat.json.bak.1"]
    assert json.loads((chat.parent / "chat.json.bak").read_text()) == CHAT


def test_a_session_of_kimi_cli_is_rotated_as_kimi_cli_does_and_loads(session: Path) -> None:
    before = session.read_bytes()
    assert call(session, "--in-place") == 0
    assert (session.parent / "context_1.jsonl").read_bytes() == before
    loaded = kimi_loader.load(session.read_bytes())
    old = kimi_context.parse(before.decode()).conversation
    assert loaded.messages[1:] == old[-2:]
    assert loaded.system_prompt == "You are a coding agent."
    assert loaded.skipped == []


def test_a_link_is_followed_to_the_file_behind_it(chat: Path, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere" / "link.json"
    link.parent.mkdir()
    link.symlink_to(chat)
    assert call(link, "--in-place") == 0
    assert link.is_symlink()
    assert (chat.parent / "chat.json.bak").exists()


def test_a_dry_run_shows_what_would_be_sent_and_asks_no_model(
    chat: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lithify.llm.offline.OfflineModel.ask", None)
    assert call(chat, "--dry-run", "--instructions", "keep the names") == 0
    out, err = capsys.readouterr()
    assert "## Message 2\nRole: user\nContent:\nFix the bug" in out
    assert "keep the names" in out
    assert "Would compact messages 2 to 3 of 5 (message 1 is the system message and stays) in 1 request" in err
    assert "warning: The offline model does not heed instructions" in err


def test_an_existing_output_is_refused_before_any_model_is_asked(
    chat: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lithify.llm.offline.OfflineModel.ask", None)
    assert call(chat, "--output", chat) == 1
    assert "never overwrites a file without --in-place" in one_line(capsys)
    assert json.loads(chat.read_text()) == CHAT


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--preserve", 9), "no more user and assistant messages than are preserved"),
        (("--preserve", 0), "--preserve 0"),
        (("--preserve", 4), "only system messages"),
    ],
)
def test_a_conversation_with_nothing_to_compact_is_left_alone(
    chat: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[object, ...], reason: str
) -> None:
    assert call(chat, "--in-place", *arguments) == 0
    assert reason in one_line(capsys)
    assert names(chat.parent) == ["chat.json"]


def test_with_nothing_to_compact_no_output_file_appears(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(chat, "--preserve", 9, "--output", chat.parent / "out.json") == 0
    assert "nothing was written" in one_line(capsys)
    assert names(chat.parent) == ["chat.json"]


def test_with_nothing_to_compact_a_pipe_gets_the_conversation_as_it_came(
    chat: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(chat, "--preserve", 9, "--output", "-") == 0
    assert capsys.readouterr().out == chat.read_text()


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """What was said, which is one line on standard error and nothing else."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


def test_a_number_of_messages_that_are_not_there_is_a_usage_error(
    chat: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(chat, "--up-to", 6) == 2
    assert "has 5 messages; give a number up to 5" in one_line(capsys)


def test_system_messages_that_were_asked_for_are_told_as_such(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(chat, "--up-to", 1) == 0
    assert one_line(capsys).endswith("left as it is: message 1 is a system message.\n")
    chat.write_text(json.dumps([CHAT[0], *CHAT]))
    assert call(chat, "--up-to", 2) == 0
    assert one_line(capsys).endswith("left as it is: messages 1 to 2 are system messages.\n")


def test_a_chat_that_would_not_become_smaller_is_left_alone_and_told_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"role": "user", "content": "Hi"}, *CHAT[3:]]))
    before = path.read_bytes()
    assert call(path, "--in-place") == 0
    assert re.search(
        r"Nothing to gain in .*chat.json, left as it is: compacted it would not be smaller "
        r"\(\d+ tokens instead of \d+\); compact more of it\.$",
        one_line(capsys),
    )
    assert (names(tmp_path), path.read_bytes()) == (["chat.json"], before)
    assert call(path, "--output", tmp_path / "out.json") == 0


@pytest.mark.parametrize("output", [("--in-place",), ("--dry-run",), ()])
def test_a_lone_summary_is_not_summarised_again(
    chat: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, output: tuple[str, ...]
) -> None:
    assert call(chat, "--in-place") == 0
    before = chat.read_bytes()
    monkeypatch.setattr("lithify.llm.offline.OfflineModel.ask", None)
    capsys.readouterr()
    assert call(chat, *output) == 0
    assert one_line(capsys).endswith("left as it is: what would be compacted is a summary already.\n")
    assert chat.read_bytes() == before


def test_a_lone_summary_is_passed_on_by_a_pipe(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(chat, "--in-place") == 0
    capsys.readouterr()
    assert call(chat, "--output", "-") == 0
    assert capsys.readouterr().out == chat.read_text()


def test_in_place_prints_the_command_that_takes_it_back_and_that_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "-it's a chat.json"
    path.write_text(json.dumps(CHAT, indent=2))
    before = path.read_bytes()
    assert call(path, "--in-place") == 0
    told = capsys.readouterr().err.splitlines()[-1]
    _, _, command = told.partition("To take it back: ")
    words = shlex.split(command)
    assert words[-3:] == ["sessions", "undo", str(path.resolve())]
    assert main.main(words[-3:]) == 0
    assert path.read_bytes() == before


def test_what_the_undo_refuses_tells_never_compacted_from_undone_already(
    chat: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["sessions", "undo", str(chat)]) == 1
    assert "as far as the data folder knows, Lithify never compacted it" in one_line(capsys)
    assert call(chat, "--in-place") == main.main(["sessions", "undo", str(chat)]) == 0
    capsys.readouterr()
    assert main.main(["sessions", "undo", str(chat)]) == 1
    assert "what Lithify compacted there was undone already" in one_line(capsys)


def test_no_undo_is_promised_where_none_was_kept(
    chat: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = chat.with_name("settings.json")
    settings.write_text(json.dumps({"conversation": {"keepOriginals": False}}))
    assert call(chat, "--in-place", "--settings", settings, "--model", "offline") == 0
    assert "To take it back" not in capsys.readouterr().err


def test_the_undo_of_another_data_folder_is_told_with_its_settings(
    chat: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = tmp_path / "set tings.json"
    settings.write_text(json.dumps({"dataDir": str(tmp_path / "elsewhere")}))
    before = chat.read_bytes()
    assert call(chat, "--in-place", "--settings", settings, "--model", "offline") == 0
    words = shlex.split(capsys.readouterr().err.splitlines()[-1].partition("To take it back: ")[2])
    assert main.main(words[words.index("sessions") :]) == 0
    assert chat.read_bytes() == before


def called(*names: str) -> dict[str, Any]:
    calls = [{"id": name, "type": "function", "function": {"name": "read", "arguments": "{}"}} for name in names]
    return {"role": "assistant", "content": None, "tool_calls": calls}


@pytest.mark.parametrize(
    ("results", "asked", "said"),
    [
        (
            "a",
            3,
            "messages 2 to 4 (message 1 is the system message and stays; message 4 is the result of a tool call in "
            "message 3, so it goes with it): ",
        ),
        (
            "ab",
            3,
            "messages 2 to 5 (message 1 is the system message and stays; as message 5 is the result of a tool call in "
            "message 3, all up to it go with it): ",
        ),
        ("a", 4, "messages 2 to 4 (message 1 is the system message and stays): "),
    ],
)
def test_a_range_that_was_widened_says_why(
    chat: Path, capsys: pytest.CaptureFixture[str], results: str, asked: int, said: str
) -> None:
    answers = [{"role": "tool", "tool_call_id": name, "content": "x"} for name in results]
    chat.write_text(json.dumps([*CHAT[:2], called(*results), *answers, *CHAT[3:]]))
    assert call(chat, "--up-to", asked) == 0
    assert f"Compacted {said}" in capsys.readouterr().err
    assert call(chat, "--up-to", asked, "--dry-run") == 0
    assert said.rstrip(": ").partition(" (")[2] in capsys.readouterr().err


def test_instructions_that_are_not_heeded_are_told(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(chat, "--instructions", "keep the names") == 0
    assert "warning: The offline model does not heed instructions" in capsys.readouterr().err


def test_a_prompt_that_the_offline_model_does_not_read_is_not_told(
    chat: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lithify.prompt_files.templates.find_conversation_prompt", lambda _: OWN)
    assert call(chat) == 0
    err = capsys.readouterr().err
    assert ("prompt" in err, "warning" in err) == (False, False)


def test_a_model_without_settings_that_say_whose_it_is_is_told_in_one_line(
    chat: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(chat, "--model", "gpt") == 2
    assert "--settings" in one_line(capsys)


def test_the_offline_model_can_be_named(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(chat, "--model", "offline") == 0
    assert "(the offline model)" in capsys.readouterr().err


@pytest.mark.parametrize("options", [("--in-place",), ()])
def test_a_standard_input_that_is_closed_is_told_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert call("-", *options) in (1, 2)
    assert "standard input" in one_line(capsys)


def test_standard_input_cannot_be_rewritten_in_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("-", "--in-place") == 2
    assert "--output -" in one_line(capsys)


@pytest.mark.parametrize("arguments", [("--model", ""), ("--up-to", "0"), ("--preserve", "-1"), ("--format", "x")])
def test_values_that_do_not_exist_are_usage_errors(
    chat: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        call(chat, *arguments)
    assert caught.value.code == 2
    assert arguments[0] in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[\n\xff]", "is not UTF-8 (line 2); save it as UTF-8"),
        (b"# Notes\n", "is no chat file: it is not JSON; Lithify reads OpenAI messages"),
        (b"\xef\xbb\xbf \n", "is empty; name a file that holds a conversation"),
        (b"[]", "has no messages in it; Lithify reads OpenAI messages"),
        (b'{"name": "a"}\n{"name": "b"}\n', "has no messages in it; Lithify reads OpenAI messages"),
        (b'[{"role": "human", "content": "a"}]', "to read them all the same, use '--format openai-json'"),
        (b"[" * 100_000, "is no chat file: it is not JSON"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, said: str
) -> None:
    (tmp_path / "x.json").write_bytes(content)
    assert call(tmp_path / "x.json") == 1
    assert said in one_line(capsys)


COPILOT_CHAT = {"version": 3, "responderUsername": "GitHub Copilot", "requests": []}


@pytest.mark.parametrize(
    ("text", "agent"),
    [
        (json.dumps({"kind": 0, "v": COPILOT_CHAT}) + "\n" + json.dumps({"kind": 1, "k": ["x"]}), "Copilot"),
        (json.dumps([{"role": "user", "parts": [{"text": "Hi"}]}]), "Gemini"),
    ],
    ids=lambda value: value if len(value) < 20 else "",
)
@pytest.mark.parametrize("options", [(), ("--format", "openai-jsonl")], ids=["recognised", "forced"])
def test_a_session_of_another_agent_is_told_as_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, agent: str, options: tuple[str, ...]
) -> None:
    (tmp_path / "x.json").write_text(text)
    assert call(tmp_path / "x.json", *options) == 1
    assert f"looks like a session of {agent}, which this version does not read yet" in one_line(capsys)


@pytest.mark.parametrize(
    ("content", "said"),
    [("# Notes\n", "is no chat file"), ("", "is empty"), ("{}", "has no messages in it; ")],
)
def test_a_format_that_finds_no_message_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, said: str
) -> None:
    (tmp_path / "x.json").write_text(content)
    assert call(tmp_path / "x.json", "--format", "openai-json") == 1
    assert said in one_line(capsys)


def test_a_format_that_is_not_that_of_the_file_is_told(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(chat, "--format", "openai-jsonl") == 1
    assert "has no messages in it as openai-jsonl, but as openai-json; leave --format out" in one_line(capsys)


@pytest.mark.parametrize("format_name", [(), ("--format", "kimi-context")])
def test_a_session_in_which_nothing_was_said_yet_is_nothing_bad(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], format_name: tuple[str, ...]
) -> None:
    (tmp_path / "context.jsonl").write_text('{"role": "_system_prompt", "content": "Be brief."}\n')
    assert call(tmp_path / "context.jsonl", *format_name) == 0
    assert "there are no messages" in one_line(capsys)


def test_a_missing_file_and_a_folder_are_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(tmp_path / "missing") == 1
    assert "No such file" in one_line(capsys)
    assert call(tmp_path) == 1
    assert "s a directory" in one_line(capsys)


def test_an_output_in_a_folder_that_is_missing_is_told_in_one_line(
    chat: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(chat, "--output", chat.parent / "none" / "out.json") == 1
    assert "make it first" in one_line(capsys)


def test_a_broken_document_is_summarised_but_not_rewritten(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torn = chat.read_text()[:-3]
    chat.write_text(torn)
    assert call(chat, "--in-place") == 1
    assert "repair the file" in one_line(capsys)
    assert chat.read_text() == torn
    assert call(chat) == 0
    assert "warning: line " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("agent", "seen", "other"), [("claude-code", "2.1.332", "1.0.95"), ("codex", "0.171.0", "0.39.0")]
)
def test_a_session_of_an_agents_version_that_was_not_seen_is_summarised_but_not_rewritten(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    agent: str,
    seen: str,
    other: str,
) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    path = keep(AgentHome(tmp_path), agent).path
    held = path.read_text().replace(seen, other)
    path.write_text(held)
    asked: list[str] = []
    meanwhile(monkeypatch, lambda: asked.append("a model"))
    assert call(path, "--in-place") == 1
    assert f" {other} wrote it, and only " in one_line(capsys)
    assert (path.read_text(), asked) == (held, [])
    link = tmp_path / "linked.jsonl"
    link.symlink_to(path)
    assert call(link, "--in-place", "--up-to", 2) == 1
    assert (path.read_text(), asked) == (held, [])
    assert call(path) == 0
    copy = Path(shutil.copy(path, tmp_path / "copy.jsonl"))
    assert call(copy, "--in-place") == 0
    assert copy.read_text().startswith(held)


def test_a_format_can_be_forced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "context.jsonl"
    path.write_text("".join(json.dumps(message) + "\n" for message in CHAT))
    assert call(path, "--format", "openai-jsonl", "--output", "-") == 0
    assert "_usage" not in capsys.readouterr().out


def test_every_format_can_be_named() -> None:
    assert sorted(compact.FORMAT_NAMES) == sorted(one.name for one in chat_file.formats())


def meanwhile(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Something that another program does while the model works."""
    ask = OfflineModel.ask

    async def slow(model: OfflineModel, request: ModelRequest) -> ModelReply | ModelFailure:
        change()
        return await ask(model, request)

    monkeypatch.setattr(OfflineModel, "ask", slow)


@pytest.mark.parametrize("after", ["[]", json.dumps([*CHAT, *CHAT[3:]], indent=2)], ids=["emptied", "grown"])
def test_a_file_that_another_program_rewrites_meanwhile_is_left_alone(
    chat: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    meanwhile(monkeypatch, lambda: chat.write_text(after))
    assert call(chat, "--in-place") == 1
    assert "nothing was written" in one_line(capsys)
    assert (names(chat.parent), chat.read_text()) == (["chat.json"], after)


def test_a_session_that_its_agent_appends_to_meanwhile_keeps_what_came(
    tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = Session()
    for number in range(3):
        talk.user(f"question {number} " * 200)
        talk.assistant(f"answer {number}")
    path = tmp_path / "s1.jsonl"
    path.write_text(talk.text())
    talk.user("later")
    meanwhile(monkeypatch, lambda: path.write_text(talk.text()))
    assert call(path, "--in-place", "--preserve", 1) == 0
    loaded = claude_code_loader.load(path.read_text())
    assert [one["content"] for one in loaded[1:]] == [[{"type": "text", "text": "answer 2"}], "later"]
    assert path.read_text().startswith(talk.text())
    (backup,) = data_dir.glob("backups/*/*.s1.jsonl")
    assert backup.read_text() == talk.text()


def test_a_summary_that_cannot_be_taken_out_again_is_told_and_can_be_undone(
    tmp_path: Path, data_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    talk, path, write = Session(), tmp_path / "s1.jsonl", system.write
    for number in range(3):
        talk.user(f"question {number} " * 200)
        talk.assistant(f"answer {number}")
    path.write_text(talk.text())

    def agent_says(words: str) -> None:
        before = len(talk.text())
        talk.user(words)
        with path.open("a") as file:
            file.write(talk.text()[before:])

    def between(descriptor: int, data: bytes) -> int:
        if b"compact_boundary" not in data:
            return write(descriptor, data)
        agent_says("before it")
        count = write(descriptor, data)
        agent_says("behind it")
        return count

    monkeypatch.setattr(leases, "_tried", lambda _: None)
    monkeypatch.setattr(system, "write", between)
    assert call(path, "--in-place", "--preserve", 1) == 1
    told = capsys.readouterr().err
    (backup,) = data_dir.glob("backups/*/*.s1.jsonl")
    assert ("nothing was written" in told.lower(), "it is as it was" in told) == (False, False)
    assert "may not be as it was: what was appended stands in it (bytes " in told
    assert told.endswith(f"what it held before is in {backup}\n")
    assert path.read_text().count("compact_boundary") == 1
    with pytest.raises(LithifyError, match=r"because the session went on behind it; .* is in the backup"):
        undo_in_place(str(path), None, Settings())


def test_a_session_that_is_compacted_in_place_can_be_undone_by_another_process(session: Path, data_dir: Path) -> None:
    before = session.read_text()
    assert call(session, "--in-place") == 0
    store = open_store(data_dir, Clock())
    (kept,) = store.document_compactions.of_document(str(session.resolve()))
    store.close()
    assert (kept.format, kept.certain, kept.backup) == ("kimi-context", True, "context_1.jsonl")
    assert undo_in_place(str(session), None, Settings()).compaction_id == kept.compaction_id
    assert session.read_text() == before
    with pytest.raises(LithifyError, match="no compaction that could be undone"):
        undo_in_place(str(session), None, Settings())


def test_where_nothing_is_to_be_kept_the_data_folder_holds_no_text(
    tmp_path: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(shutil.copy(SAMPLES / "claude-code" / "copilotchat-b3a7bd3c.jsonl", tmp_path))
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"conversation": {"keepOriginals": False}}))
    assert call(path, "--in-place", "--settings", settings, "--model", "offline") == 0
    assert "there is no backup, since conversation.keepOriginals is off" in capsys.readouterr().err
    assert names(data_dir) == ["lithify.db", "locks"]
    assert b"".join(one.read_bytes() for one in (data_dir / "locks").iterdir()).replace(b" ", b"").isdigit()
    store = open_store(data_dir, Clock())
    (kept,) = store.document_compactions.of_document(str(path.resolve()))
    store.close()
    assert (kept.kept, kept.changes) == (False, ())


def test_a_data_folder_that_cannot_be_used_is_told_and_the_file_is_compacted(
    chat: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data_dir.write_text("in the way")
    assert call(chat, "--in-place") == 0
    assert "warning: What was replaced could not be kept" in capsys.readouterr().err
    assert is_summary(json.loads(chat.read_text())[1])


def test_a_lone_surrogate_is_shown_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"role": "user", "content": "odd \ud800 text"}, *CHAT[1:]]))
    assert call(path, "--dry-run") == 0
    assert "\\ud800" in capsys.readouterr().out


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_shows_on_a_terminal(chat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.chdir(chat.parent)
    assert call(chat.name) == 0
    assert "Compacting chat.json ..." in terminal.getvalue()


def test_the_command_works_as_a_filter_with_windows_line_endings_kept(session: Path) -> None:
    windows = session.read_bytes().replace(b"\n", b"\r\n")
    ended = subprocess.run(
        [sys.executable, "-m", "lithify", "compact", "-", "--output", "-"],
        input=windows,
        capture_output=True,
        timeout=50,
        check=True,
    )
    assert b"\x1b" not in ended.stderr
    assert ended.stdout.count(b"\n") == ended.stdout.count(b"\r\n")
    tail = windows[windows.index(b'{"role":"user","content":"Remember') :]
    assert tail in ended.stdout
    assert len(kimi_loader.load(ended.stdout).messages) == 3


@pytest.mark.parametrize(
    ("sample", "agent"),
    [
        ("claude-code/copilotchat-b3a7bd3c.jsonl", "Claude Code"),
        ("codex/vct-codex.jsonl", "Codex"),
        ("specstory/2026-01-16_16-48-38Z-the-code-in-specstory.md", None),
    ],
)
def test_a_session_of_another_agent_is_compacted_in_place_and_its_backup_holds_what_was(
    tmp_path: Path, data_dir: Path, capsys: pytest.CaptureFixture[str], sample: str, agent: str | None
) -> None:
    path = Path(shutil.copy(SAMPLES / sample, tmp_path))
    before = path.read_bytes()
    assert call(path, "--in-place") == 0
    after = path.read_bytes()
    beside = [one for one in tmp_path.iterdir() if one != path]
    (backup,) = beside or data_dir.glob("backups/*/*")
    assert (backup.read_bytes(), after != before, beside == []) == (before, True, agent is not None)
    assert after.startswith(before) is (agent is not None), "sessions of these agents only ever grow"
    assert f"{agent} sees the change when it next opens this session" in capsys.readouterr().err or agent is None
