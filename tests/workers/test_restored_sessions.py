"""Sessions restored beside themselves: once for each compaction, where their agent finds them, or not at all."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import unquote

import pytest

from lithify.core.outcomes import LithifyError
from lithify.storage.agent_sessions.catalogue import AGENTS, Catalogue
from lithify.storage.session_files import SessionFiles
from lithify.transcripts.model import Stamp
from tests.support.agent_homes import HOLDING, AgentHome, another_process
from tests.support.document_bench import DocumentBench
from tests.support.kept_sessions import APPENDED, KeptSession, keep, said_in

FORMATS = {one.name: one.format_name for one in AGENTS}
WHOLE = ["question 0", "answer 0", "question 1", "answer 1", "question 2", "answer 2"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AgentHome:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "KIMI_CODE_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return AgentHome(tmp_path)


@pytest.fixture
def bench(tmp_path: Path) -> DocumentBench:
    return DocumentBench(tmp_path / "data")


def path_of(uri: str | None) -> Path:
    """The file that a URI names."""
    assert uri is not None
    return Path(unquote(uri.removeprefix("file://")))


def found(home: AgentHome, agent: str) -> set[Path]:
    """The files of an agent's sessions."""
    return {Path(one.path) for one in Catalogue(home.environment).find(agent).files}


def went_on(bench: DocumentBench, home: AgentHome, agent: str) -> KeptSession:
    """A session that was compacted, and in which its agent has gone on."""
    kept = keep(home, agent)
    bench.compact(kept.path, 4)
    kept.go_on()
    return kept


@pytest.mark.parametrize("agent", APPENDED)
def test_a_session_is_restored_once_whoever_does_it_how_often(home: AgentHome, tmp_path: Path, agent: str) -> None:
    bench = DocumentBench(tmp_path / "data")
    kept = went_on(bench, home, agent)
    killed = DocumentBench(tmp_path / "data", first_id=50)

    def die() -> None:
        if found(home, agent) > {kept.path}:
            raise LithifyError("storage_failed", "killed between the new session and the note of it")

    killed.broken = die
    first = path_of(killed.undo(kept.path).restored)
    with first.open("a", encoding="utf-8") as file:
        file.write('{"type":"progress"}\n')
    grown = first.read_bytes()
    second = DocumentBench(tmp_path / "data", first_id=100).undo(kept.path)
    assert (path_of(second.restored), found(home, agent)) == (first, {kept.path, first})
    assert first.read_bytes() == grown


@pytest.mark.parametrize("agent", APPENDED)
def test_of_two_who_restore_a_session_at_once_both_get_the_same_one(
    home: AgentHome, tmp_path: Path, agent: str
) -> None:
    path, stamp = keep(home, agent).path, Stamp("2026-01-02T03:04:05.000Z", lambda: f"{0:08}-0000-4000-8000-{1:012}")
    data = path.read_bytes()

    def restore(_: int) -> str | None:
        files = SessionFiles(tmp_path / "data", home.environment)
        return files.restore(str(path), data, FORMATS[agent], stamp)

    with ThreadPoolExecutor(4) as threads:
        restored = set(threads.map(restore, range(8)))
    assert {path_of(one) for one in restored} == found(home, agent) - {path}
    assert len(restored) == 1


def test_of_two_compactions_two_sessions_are_restored(home: AgentHome, bench: DocumentBench) -> None:
    kept = went_on(bench, home, "claude-code")
    bench.compact(kept.path, 3, "another summary")
    kept.go_on(4)
    second, first = bench.undo(kept.path).restored, bench.undo(kept.path).restored
    assert found(home, "claude-code") == {kept.path, path_of(first), path_of(second)}
    assert (said_in(path_of(first)), first == second) == (WHOLE, False)


LINKED = {
    "claude-code": ".claude/projects",
    "codex": ".codex/sessions/2026",
    "gemini": ".gemini/tmp/shop",
    "kimi-code": ".kimi-code/sessions/wd_shop_a0315dc96175",
}


@pytest.mark.parametrize("agent", APPENDED)
@pytest.mark.parametrize("below", [False, True])
def test_a_session_in_a_folder_that_is_a_link_is_restored_there(
    home: AgentHome, bench: DocumentBench, tmp_path: Path, agent: str, below: bool
) -> None:
    kept = keep(home, agent)
    linked = home.folder / LINKED[agent] if below else home.folder / LINKED[agent].partition("/")[0]
    if below and agent == "claude-code":
        linked = kept.path.parent
    linked.rename(tmp_path / "elsewhere")
    linked.symlink_to(tmp_path / "elsewhere")
    bench.compact(kept.path, 4)
    kept.go_on()
    made = path_of(bench.undo(kept.path).restored)
    assert found(home, agent) == {kept.path, made}
    assert said_in(made) == WHOLE


@pytest.mark.parametrize("agent", APPENDED)
def test_a_session_outside_of_its_agents_folder_is_not_restored_however_it_is_named(
    home: AgentHome, bench: DocumentBench, tmp_path: Path, agent: str
) -> None:
    kept = keep(home, agent)
    outside = kept.path.rename(tmp_path / kept.path.name)
    bench.compact(outside, 4)
    with outside.open("a", encoding="utf-8") as file:
        file.write('{"type":"progress"}\n')
    before = sorted(tmp_path.rglob("*"))
    around = kept.path.parent / os.path.relpath(outside, kept.path.parent)
    for named in (outside, around):
        with pytest.raises(LithifyError, match="cannot be cut off"):
            bench.undo(named)
    assert [one for one in sorted(tmp_path.rglob("*")) if one not in before and "data" not in one.parts] == []


def test_a_session_that_kimi_code_has_open_is_restored_beside_it(home: AgentHome, bench: DocumentBench) -> None:
    kept = keep(home, "kimi-code")
    bench.compact(kept.path, 4)
    compacted = kept.path.read_bytes()
    with another_process(HOLDING, str(kept.path)):
        restored = bench.undo(kept.path).restored
    assert (kept.path.read_bytes(), said_in(path_of(restored))) == (compacted, WHOLE)
    assert bench.failure(kept.path) == "unknown_compaction"


def test_a_file_that_somebody_has_open_and_no_agent_knows_is_left_as_it_is(
    home: AgentHome, bench: DocumentBench, tmp_path: Path
) -> None:
    outside = keep(home, "kimi-code").path.rename(tmp_path / "wire.jsonl")
    bench.compact(outside, 4)
    with another_process(HOLDING, str(outside)), pytest.raises(LithifyError, match="Another program has it") as told:
        bench.undo(outside)
    assert told.value.type == "busy"
    assert bench.failure(outside) is None


TORN = '{"type":"user","message":{"content":"\u4e2d'.encode()[:-1]


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini", "kimi-cli"])
def test_a_session_whose_last_line_ends_within_a_character_is_compacted_undone_and_restored(
    home: AgentHome, bench: DocumentBench, agent: str
) -> None:
    kept = keep(home, agent)
    whole = kept.path.read_bytes()
    for before in (whole + TORN, whole + TORN + b"\n"):
        kept.path.write_bytes(before)
        assert Catalogue(home.environment).session(Catalogue(home.environment).find(agent).files[0]).writable
        bench.compact(kept.path, 4)
        assert TORN + b"\n" in kept.path.read_bytes() or agent == "kimi-cli"
        bench.undo(kept.path)
        assert kept.path.read_bytes() == before
    bench.compact(kept.path, 4)
    kept.go_on()
    restored = bench.undo(kept.path).restored
    if restored is not None:
        assert path_of(restored).read_bytes().endswith(TORN + b"\n")


def test_a_session_of_kimi_code_whose_last_line_ends_within_a_character_is_read_only_and_can_be_undone(
    home: AgentHome, bench: DocumentBench
) -> None:
    kept = keep(home, "kimi-code")
    bench.compact(kept.path, 4)
    kept.path.write_bytes(kept.path.read_bytes() + TORN)
    with pytest.raises(LithifyError, match="kimi-code reads nothing behind it: resume it once"):
        bench.compact(kept.path, 1)
    assert said_in(path_of(bench.undo(kept.path).restored)) == WHOLE


def test_a_message_that_is_not_utf_8_names_its_line(home: AgentHome, bench: DocumentBench) -> None:
    kept = keep(home, "claude-code")
    kept.path.write_bytes(kept.path.read_bytes().replace(b"question 1", b"qu\xe9stion 1"))
    (file,) = Catalogue(home.environment).find("claude-code").files
    looked = Catalogue(home.environment).session(file)
    assert looked is not None
    assert looked.reason == "It is not UTF-8 (line 3)."
    with pytest.raises(LithifyError, match=r"it is not UTF-8 \(line 3\)"):
        bench.compact(kept.path, 4)


@pytest.mark.parametrize(("behind", "end"), [(TORN, b"}\n" + TORN + b"\n"), (b"", b"}\n")], ids=["torn", "whole"])
@pytest.mark.parametrize("agent", APPENDED)
def test_the_last_line_of_a_restored_session_is_ended_so_that_nothing_said_there_becomes_a_part_of_it(
    home: AgentHome, tmp_path: Path, agent: str, behind: bytes, end: bytes
) -> None:
    path, files = keep(home, agent).path, SessionFiles(tmp_path / "data", home.environment)
    stamp = Stamp("2026-01-02T03:04:05.000Z", lambda: "00000000-0000-4000-8000-000000000001")
    restored = path_of(files.restore(str(path), path.read_bytes() + behind, FORMATS[agent], stamp))
    assert restored.read_bytes().endswith(end)
