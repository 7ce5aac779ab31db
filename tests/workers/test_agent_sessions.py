"""The list of agents' sessions: what is read again and what is not, and what belongs to a project."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from lithify.core.agent_sessions import AgentSession, SessionFile
from lithify.storage.agent_sessions.catalogue import Catalogue, Found
from lithify.workers.agent_sessions import AgentSessions
from tests.support.agent_homes import CLAUDE_ID, CODEX_ID, AgentHome, claude_code_records


class Counted(Catalogue):
    """The real catalogue, which keeps what was read, and waits for `go_on` before each session."""

    def __init__(self, home: AgentHome) -> None:
        super().__init__(home.environment)
        self.read: list[str] = []
        self.began = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()

    def session(self, file: SessionFile) -> AgentSession | None:
        self.began.set()
        assert self.go_on.wait(10)
        self.read.append(file.agent)
        return super().session(file)


@pytest.fixture
def home(tmp_path: Path) -> AgentHome:
    return AgentHome(tmp_path)


def listed(
    sessions: AgentSessions, folder: Path | str | None = None, agent: str | None = None
) -> Sequence[AgentSession]:
    return sessions.look(None if folder is None else str(folder), agent, None).sessions


def test_a_session_is_read_once_and_again_when_it_was_written(home: AgentHome) -> None:
    home.all()
    catalogue = Counted(home)
    sessions = AgentSessions(catalogue)
    first = listed(sessions)
    assert len(catalogue.read) == 6
    assert listed(sessions) == first
    assert len(catalogue.read) == 6
    with home.codex().open("a") as file:
        file.write("\n")
    assert listed(sessions)[0].file.agent == "codex"
    assert catalogue.read[6:] == ["codex"]


def test_a_session_that_was_given_a_name_is_read_again(home: AgentHome) -> None:
    home.kimi_code()
    sessions = AgentSessions(Counted(home))
    assert listed(sessions)[0].title == "Read the cart"
    home.kimi_code(title="Cart")
    assert listed(sessions)[0].title == "Cart"


def test_a_session_that_is_gone_is_forgotten(home: AgentHome) -> None:
    home.all()
    catalogue = Counted(home)
    sessions = AgentSessions(catalogue)
    listed(sessions)
    home.codex().unlink()
    assert "codex" not in [one.file.agent for one in listed(sessions)]
    home.codex()
    listed(sessions)
    assert catalogue.read[6:] == ["codex"]


def test_whether_a_session_is_live_is_never_kept(home: AgentHome) -> None:
    home.claude_code()
    sessions = AgentSessions(Counted(home))
    assert listed(sessions)[0].live is False
    os.utime(home.claude_code_runs(os.getpid()))
    assert listed(sessions)[0].live is True


def test_the_sessions_of_a_project_are_those_in_its_folder_and_below(home: AgentHome) -> None:
    for number, project in enumerate(("/home/ana/shop", "/home/ana/shop/web", "/home/ana/shop2", "/home/ana", "shop")):
        home.codex(f"01996135-afde-7911-97f0-00000000000{number}", project)
    found = listed(AgentSessions(Counted(home)), "/home/ana/shop")
    assert {one.project for one in found} == {"/home/ana/shop", "/home/ana/shop/web"}


def test_a_projects_folder_may_be_reached_over_a_link(home: AgentHome, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "link").symlink_to("shop")
    home.codex(project=str(tmp_path / "shop"))
    assert len(listed(AgentSessions(Counted(home)), tmp_path / "link")) == 1


def test_sessions_of_other_projects_are_not_read(home: AgentHome) -> None:
    home.all()
    home.codex(project="/home/ana/other")
    catalogue = Counted(home)
    listed(AgentSessions(catalogue), "/home/ana/other")
    assert catalogue.read == ["codex"]


def test_a_project_that_no_path_can_name_is_nobodys(home: AgentHome) -> None:
    home.codex(project="/x\0y")
    assert listed(AgentSessions(Counted(home)), "/") == []


def test_no_more_sessions_are_read_than_are_asked_for_and_one_to_see_whether_there_are_more(home: AgentHome) -> None:
    home.all()
    catalogue = Counted(home)
    listing = AgentSessions(catalogue).look(None, None, 2)
    assert (len(listing.sessions), listing.more, len(catalogue.read)) == (2, True, 3)


def test_all_sessions_and_no_more_is_no_reason_to_ask_again(home: AgentHome) -> None:
    home.all()
    assert AgentSessions(Counted(home)).look(None, None, 6).more is False


async def started(sessions: AgentSessions, catalogue: Counted) -> asyncio.Task[object]:
    """A listing that is at its first session, and goes on when it is let."""
    catalogue.go_on.clear()
    task: asyncio.Task[object] = asyncio.ensure_future(sessions.listed(None, None, None))
    assert await asyncio.to_thread(catalogue.began.wait, 10)
    return task


@pytest.mark.asyncio
async def test_the_event_loop_goes_on_while_sessions_are_read(home: AgentHome) -> None:
    home.all()
    catalogue = Counted(home)
    task = await started(AgentSessions(catalogue), catalogue)
    assert not task.done()
    catalogue.go_on.set()
    await task
    assert len(catalogue.read) == 6


@pytest.mark.asyncio
async def test_a_listing_that_is_cancelled_reads_no_further(home: AgentHome) -> None:
    home.all()
    catalogue = Counted(home)
    sessions = AgentSessions(catalogue)
    task = await started(sessions, catalogue)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    catalogue.go_on.set()
    await sessions.listed(None, "codex", None)  # which waits for the one that was cancelled
    assert catalogue.read[1:] == ["codex"]


@pytest.mark.asyncio
async def test_two_listings_at_a_time_read_each_session_once(home: AgentHome) -> None:
    home.all()
    catalogue = Counted(home)
    sessions = AgentSessions(catalogue)
    first = await started(sessions, catalogue)
    second = asyncio.ensure_future(sessions.listed(None, None, None))
    catalogue.go_on.set()
    assert await first == await second
    assert len(catalogue.read) == 6


def test_a_thousand_sessions_are_listed_and_none_of_them_is_read_again(home: AgentHome) -> None:
    records = claude_code_records("A question of some length. " * 40)
    for number in range(500):
        home.claude_code(f"3f2a9c41-5a7b-4c1d-9d61-{number:012}", records=records)
        home.codex(f"01996135-afde-7911-97f0-{number:012}")
    catalogue = Counted(home)
    sessions = AgentSessions(catalogue)
    assert [len(listed(sessions)), len(listed(sessions))] == [1000, 1000]
    assert len(catalogue.read) == 1000


def test_what_cannot_be_looked_into_is_told(home: AgentHome) -> None:
    home.codex()
    (home.folder / ".claude").mkdir()
    (home.folder / ".claude" / "projects").symlink_to("projects")
    listing = AgentSessions(Catalogue(home.environment)).look(None, None, None)
    assert [one.agent for one in listing.unreadable] == ["claude-code"]
    assert [one.session_id for one in listing.sessions] == [CODEX_ID]


def test_the_real_catalogue_finds_what_the_list_needs(home: AgentHome) -> None:
    home.claude_code()
    found = Catalogue(home.environment).find()
    assert isinstance(found, Found)
    assert [one.session_id for one in found.files] == [CLAUDE_ID]
