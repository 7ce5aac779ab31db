"""`lithify sessions compact` and `undo`, on sessions in the shape of each agent, in a home folder of the test's own."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.cli.running import SECONDS, Place
from tests.support import stub_opencode
from tests.support.agent_homes import HOLDING, AgentHome, another_process
from tests.support.kept_sessions import APPENDED, FILES, keep, keep_in_opencode, said_in

WHOLE = ["question 0", "answer 0", "question 1", "answer 1", "question 2", "answer 2"]
COMPACTED = ["summary", "question 2", "answer 2"]
WENT_ON = ["question 3", "answer 3"]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def home(place: Place) -> AgentHome:
    return AgentHome(place.home)


@pytest.fixture
def path(place: Place) -> str:
    """A search path on which there is an opencode."""
    return os.pathsep.join([str(stub_opencode.install(place.folder / "bin")), os.defpath])


# --- sessions in files ---


@pytest.mark.parametrize("agent", FILES)
def test_a_session_is_compacted_and_undone_at_once_by_another_process(
    place: Place, home: AgentHome, agent: str
) -> None:
    kept = keep(home, agent)
    before = kept.path.read_bytes()
    done = place.run("sessions", "compact", str(kept.path))
    assert (done.code, done.out, kept.said) == (0, "", COMPACTED), done.err
    undone = place.run("sessions", "undo", str(kept.path))
    assert (undone.code, kept.path.read_bytes()) == (0, before), undone.err


def test_what_is_told_is_what_became_of_it_how_to_go_on_and_how_to_undo_it(place: Place, home: AgentHome) -> None:
    kept = keep(home, "codex")
    told = place.run("sessions", "compact", str(kept.path), "--up-to", "4").err.splitlines()
    assert told[0].startswith("Compacted messages 1 to 4: 6 messages became 3, ")
    assert told[-4].startswith("Added the summary to the Codex session 01996135; what it held before is in ")
    assert told[-3:] == [
        "Codex sees it when it next resumes the session; one that is running keeps its own history.",
        f"To go on there: cd {home.folder / 'shop'} && codex resume 01996135-afde-7911-97f0-d863511eca56",
        told[-1],
    ]
    assert told[-1].endswith("lithify sessions undo 01996135")


@pytest.mark.parametrize("agent", APPENDED)
def test_where_the_agent_went_on_the_session_as_it_was_becomes_a_new_one_that_is_named(
    place: Place, home: AgentHome, agent: str
) -> None:
    kept = keep(home, agent)
    place.run("sessions", "compact", str(kept.path))
    kept.go_on()
    after = kept.path.read_bytes()
    undone = place.run("sessions", "undo", str(kept.path))
    assert undone.code == 0, undone.err
    assert (kept.path.read_bytes(), kept.said) == (after, [*COMPACTED, *WENT_ON])
    listed = json.loads(place.run("sessions", "list", "--json").out)["sessions"]
    (new,) = [one for one in listed if one["uri"] != kept.path.as_uri()]
    assert said_in(Path(new["uri"].removeprefix("file://"))) == WHOLE
    assert (new["writable"], new["project"]) == (True, str(home.folder / "shop"))
    assert undone.err.splitlines()[-3:] == [
        f"What it held before is a new session: {new['sessionId']}",
        f"It has the same title as the first one, and lies in {new['uri'].removeprefix('file://')}.",
        f"To go on there: {new['resumeCommand']}",
    ]


def test_a_session_of_kimi_cli_that_went_on_is_undone_where_it_lies(place: Place, home: AgentHome) -> None:
    kept = keep(home, "kimi-cli")
    place.run("sessions", "compact", str(kept.path))
    kept.go_on()
    assert place.run("sessions", "undo", str(kept.path)).code == 0
    assert kept.said == [*WHOLE, *WENT_ON]


def test_a_dry_run_shows_what_would_be_sent_and_changes_nothing(place: Place, home: AgentHome) -> None:
    kept = keep(home, "gemini")
    before = kept.path.read_bytes()
    done = place.run("sessions", "compact", str(kept.path), "--dry-run")
    assert (done.code, kept.path.read_bytes(), "question 0" in done.out) == (0, before, True)
    assert "Would compact messages 1 to 4 of 6" in done.err


def test_a_session_that_its_agent_has_open_is_left_alone_and_the_sentence_names_it(
    place: Place, home: AgentHome
) -> None:
    kept = keep(home, "gemini")
    before = kept.path.read_bytes()
    with another_process(HOLDING, str(kept.path)):
        refused = place.run("sessions", "compact", str(kept.path))
    assert (refused.code, refused.err.count("\n"), kept.path.read_bytes()) == (1, 1, before)
    assert "The Gemini CLI session 0ab84937 was left as it is. " in refused.err
    assert "has this session of Gemini CLI open; end it" in refused.err


def test_a_session_that_kimi_code_has_open_is_written_and_it_is_said_when_that_counts(
    place: Place, home: AgentHome
) -> None:
    kept = keep(home, "kimi-code")
    with another_process(HOLDING, str(kept.path)):
        done = place.run("sessions", "compact", str(kept.path))
    assert (done.code, kept.said) == (0, COMPACTED)
    assert "kimi-code has this session open now; there it counts from its next start." in done.err


def test_a_session_that_can_only_be_read_says_why(place: Place, home: AgentHome) -> None:
    kept = keep(home, "kimi-code")
    kept.path.write_text(kept.path.read_text().replace('"1.5"', '"9.1"'))
    refused = place.run("sessions", "compact", str(kept.path))
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "The kimi-code session 07308d83 cannot be compacted. It has the protocol 9.1" in refused.err


@pytest.mark.parametrize("action", ["compact", "undo"])
def test_a_name_that_means_no_session_is_told(place: Place, action: str) -> None:
    refused = place.run("sessions", action, "nothing")
    assert (refused.code, refused.err) == (
        1,
        "lithify: no agent has a session 'nothing'; "
        f"'{_called(refused.err)} sessions list' shows those there are; nothing was written\n",
    )


def _called(said: str) -> str:
    return said.partition("; '")[2].partition(" sessions list'")[0]


def test_there_is_nothing_to_undo_where_nothing_was_compacted(place: Place, home: AgentHome) -> None:
    refused = place.run("sessions", "undo", str(keep(home, "codex").path))
    assert refused.code == 1
    assert "The Codex session 01996135 has no compaction that could be undone: as far as the data" in refused.err


def test_show_lists_the_compactions_that_can_be_undone_and_how(place: Place, home: AgentHome) -> None:
    kept = keep(home, "kimi-cli")
    place.run("sessions", "compact", str(kept.path), "--preserve", "3")
    place.run("sessions", "compact", str(kept.path), "--preserve", "1")
    shown = json.loads(place.run("sessions", "show", "7c0e7f3a", "--json").out)
    assert [one["messages"] for one in shown["compactions"]] == [3, 3]
    lines = place.run("sessions", "show", "7c0e7f3a").lines
    (at,) = [index for index, line in enumerate(lines) if line.startswith("Compactions")]
    assert lines[at].split()[1] == shown["compactions"][0]["compactionId"]
    assert lines[at + 1].endswith("a summary of 3 messages")
    assert lines[at + 2].endswith("lithify sessions undo 7c0e7f3a")
    assert place.run("sessions", "undo", "7c0e7f3a", shown["compactions"][0]["compactionId"]).code == 0
    (left,) = json.loads(place.run("sessions", "show", "7c0e7f3a", "--json").out)["compactions"]
    assert left == shown["compactions"][1]


@pytest.mark.parametrize("agent", ["codex", "kimi-cli"])
def test_a_session_that_would_not_become_smaller_is_left_alone(place: Place, home: AgentHome, agent: str) -> None:
    kept = keep(home, agent)
    before = kept.path.read_bytes()
    done = place.run("sessions", "compact", str(kept.path), "--up-to", "1")
    assert (done.code, done.err.count("\n"), kept.path.read_bytes()) == (0, 1, before)
    assert "left as it is: compacted it would not be smaller (" in done.err
    assert not (place.home / ".local").exists()


def test_more_messages_than_there_are_do_not_fit(place: Place, home: AgentHome) -> None:
    refused = place.run("sessions", "compact", str(keep(home, "codex").path), "--up-to", "7")
    assert (refused.code, "has 6 messages; give a number up to 6" in refused.err) == (2, True)


@pytest.mark.parametrize("agent", FILES)
def test_of_two_processes_that_compact_a_session_at_once_each_is_done_whole_or_not_at_all(
    place: Place, home: AgentHome, agent: str
) -> None:
    kept = keep(home, agent)
    before = kept.path.read_bytes()
    command = ("sessions", "compact", str(kept.path))
    with place.started(*command) as one, place.started(*command) as other:
        codes = [process.wait(SECONDS) for process in (one, other)]
    assert (0 in codes, set(codes) <= {0, 1}, kept.said) == (True, True, COMPACTED)
    if agent in APPENDED:
        assert kept.path.read_bytes().startswith(before)


@pytest.mark.parametrize("agent", FILES)
def test_a_session_behind_a_link_is_written_where_it_lies_and_the_link_stays(
    place: Place, home: AgentHome, agent: str
) -> None:
    kept = keep(home, agent)
    real = kept.path.rename(place.folder / "elsewhere.jsonl")
    kept.path.symlink_to(real)
    assert place.run("sessions", "compact", str(kept.path)).code == 0
    assert (kept.path.readlink(), said_in(kept.path)) == (real, COMPACTED)
    assert place.run("sessions", "undo", str(kept.path)).code == 0
    assert said_in(kept.path) == WHOLE


# --- opencode ---


def exported(home: AgentHome, session_id: str = stub_opencode.SESSION) -> list[str]:
    """The first words of each message that opencode has of a session."""
    session = stub_opencode.exported(home.folder, session_id)
    assert session is not None
    texts = [part.get("text", part["type"]) for one in session["messages"] for part in one["parts"]]
    return ["summary" if "compacted" in one[:60] else one.partition(":")[0] for one in texts]


def test_a_session_of_opencode_is_compacted_by_opencode_itself_and_its_file_of_ours_is_gone(
    place: Place, home: AgentHome, path: str
) -> None:
    keep_in_opencode(home)
    done = place.run("sessions", "compact", "dd5934e6", PATH=path)
    assert done.code == 0, done.err
    assert exported(home) == [*WHOLE, "compaction", "summary"]
    assert "the opencode session dd5934e6" in done.err
    assert list(place.temporary.iterdir()) == []


def test_a_compaction_in_opencode_is_undone_as_a_new_session_since_opencode_takes_nothing_back(
    place: Place, home: AgentHome, path: str
) -> None:
    keep_in_opencode(home)
    place.run("sessions", "compact", "dd5934e6", PATH=path)
    undone = place.run("sessions", "undo", "dd5934e6", PATH=path)
    assert undone.code == 0, undone.err
    listed = json.loads(place.run("sessions", "list", "--json", PATH=path).out)["sessions"]
    (new,) = [one["sessionId"] for one in listed if one["sessionId"] != stub_opencode.SESSION]
    assert exported(home, new) == WHOLE
    assert exported(home) == [*WHOLE, "compaction", "summary"]
    assert f"What it held before is a new session: {new}\n" in undone.err
    assert f"opencode --session {new}\n" in undone.err


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("old", "the opencode that is installed is 1.4.3, and only 1.18.x is known here"),
        ("fails", "'opencode import' failed: Database is locked"),
        ("forgets", "what opencode has now is not what was meant"),
    ],
)
def test_an_opencode_that_does_not_do_what_is_asked_is_told_and_the_session_is_as_it_was(
    place: Place, home: AgentHome, path: str, wrong: str, told: str
) -> None:
    keep_in_opencode(home)
    refused = place.run("sessions", "compact", "dd5934e6", PATH=path, STUB_OPENCODE=wrong)
    assert (refused.code, refused.err.count("\n"), told in refused.err) == (1, 1, True), refused.err
    assert exported(home) == WHOLE
    assert place.run("sessions", "compact", "dd5934e6", PATH=path).code == 0


def test_without_opencode_its_session_can_only_be_read_and_the_reason_says_so(place: Place, home: AgentHome) -> None:
    keep_in_opencode(home)
    refused = place.run("sessions", "compact", "dd5934e6", PATH=str(place.folder))
    assert refused.code == 1
    assert "Only opencode itself writes into its database, and it is not found on the search path" in refused.err


def test_an_opencode_that_never_answers_is_ended_with_the_command_even_a_killed_one(
    place: Place, home: AgentHome, path: str
) -> None:
    keep_in_opencode(home)
    told = home.folder / "hanging"
    with place.started("sessions", "compact", "dd5934e6", PATH=path, STUB_OPENCODE="hangs") as process:
        _wait_until(told.exists)
        assert place.processes()
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    _wait_until(lambda: not place.processes())


def _wait_until(holds: object) -> None:
    deadline = time.monotonic() + 20
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline
        os.sched_yield()
