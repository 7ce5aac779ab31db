"""Compactions, drafts and their undoing of agents' sessions, named by the URIs that they are listed with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support import stub_opencode
from tests.support.agent_homes import AgentHome
from tests.support.document_chat import FULL, UP_TO_HERE
from tests.support.editor import Starter, answers
from tests.support.kept_sessions import APPENDED, FILES, keep, keep_in_opencode, said_in
from tests.support.raw_client import Json, RawClient
from tests.support.text_editor import EDITS, TextEditor

pytestmark = pytest.mark.asyncio(loop_scope="module")

APPLY, UNDO = "lithify.apply_compaction", "lithify.undo_compaction"
VARIABLES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "KIMI_SHARE_DIR", "KIMI_CODE_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME")
WHOLE = ["question 0", "answer 0", "question 1", "answer 1", "question 2", "answer 2"]
COMPACTED = ["summary", "question 2", "answer 2"]
IN_OPENCODE = [*WHOLE, "compaction", "summary"]


@pytest.fixture
def home(tmp_path: Path) -> AgentHome:
    return AgentHome(tmp_path / "home")


@pytest.fixture
def variables(tmp_path: Path, home: AgentHome) -> dict[str, str]:
    """Those of somebody whose home that is, and who has opencode."""
    path = os.pathsep.join([str(stub_opencode.install(tmp_path / "bin")), os.environ["PATH"]])
    return {**dict.fromkeys((*VARIABLES, "OPENCODE_DB"), ""), **home.environment, "PATH": path}


@pytest_asyncio.fixture(loop_scope="module")
async def client(start: Starter, variables: dict[str, str]) -> RawClient:
    """An editor with a model that always answers."""
    running = await start(capabilities=EDITS, environment=variables)
    running.answerers["lithify/complete"] = answers()
    return running


def text_of(uri: str) -> str:
    """What the file of a session holds."""
    return Path(uri.removeprefix("file://")).read_text(encoding="utf-8")


async def uris(client: RawClient) -> list[str]:
    answer = await client.request("lithify/listAgentSessions", {})
    return [one["uri"] for one in answer["sessions"]]


def exported(home: AgentHome, uri: str) -> list[str]:
    """The first words of each message that opencode has of a session."""
    session: Any = stub_opencode.exported(home.folder, uri.rpartition("/")[2])
    texts = [part.get("text", part["type"]) for one in session["messages"] for part in one["parts"]]
    return ["summary" if "compacted" in one[:60] else one.partition(":")[0] for one in texts]


# --- sessions in files ---


@pytest.mark.parametrize("agent", FILES)
async def test_a_listed_session_is_compacted_at_once_and_undone(client: RawClient, home: AgentHome, agent: str) -> None:
    kept = keep(home, agent)
    before = kept.path.read_bytes()
    (uri,) = await uris(client)
    done = await client.command(FULL, {"uri": uri})
    assert (done["type"], kept.said) == ("compacted", COMPACTED)
    undone = await client.command(UNDO, {"uri": uri})
    assert undone == {"uri": uri, "compactionId": done["compactionId"]}
    assert kept.path.read_bytes() == before


@pytest.mark.parametrize("agent", FILES)
async def test_a_listed_session_is_looked_at_and_drafted_and_the_draft_applied(
    client: RawClient, home: AgentHome, agent: str
) -> None:
    kept = keep(home, agent)
    before = kept.path.read_bytes()
    (uri,) = await uris(client)
    preview = await client.command(UP_TO_HERE, {"uri": uri, "index": 3, "dryRun": True})
    draft = await client.command(UP_TO_HERE, {"uri": uri, "index": 3, "draft": True})
    assert (preview["type"], draft["type"], kept.path.read_bytes()) == ("preview", "draft", before)
    await client.command(APPLY, {"draftId": draft["draftId"]})
    assert kept.said == COMPACTED


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
async def test_a_session_of_a_version_that_was_not_seen_can_only_be_read_and_says_so(
    client: RawClient, home: AgentHome, tmp_path: Path, agent: str
) -> None:
    kept = keep(home, agent)
    kept.path.write_text(kept.path.read_text().replace("2.1.332", "2.1.99").replace("0.171.0", "0.99.1"))
    version = {"claude-code": "Claude Code 2.1.99", "codex": "Codex 0.99.1"}[agent]
    before = kept.path.read_bytes()
    (listed,) = (await client.request("lithify/listAgentSessions", {}))["sessions"]
    shown = await client.request("lithify/getAgentSession", {"uri": listed["uri"]})
    assert (listed["writable"], listed["messages"]) == (False, 6)
    assert listed["reason"].startswith(f"{version} wrote it, and only ")
    assert (shown["writable"], shown["reason"]) == (False, listed["reason"])
    for more in ({}, {"dryRun": True}, {"draft": True}):
        failure = await client.command_failure(FULL, {"uri": listed["uri"], **more})
        assert (failure.type, listed["reason"] in failure.message) == ("unsupported_document", True)
    assert kept.path.read_bytes() == before
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(before)
    assert (await client.command(FULL, {"uri": copy.as_uri()}))["type"] == "compacted", "no agent goes on with that"


async def test_of_two_files_with_one_id_each_is_named_by_its_uri(client: RawClient, home: AgentHome) -> None:
    kept = keep(home, "claude-code")
    copied = kept.path.parent.with_name("-home-ana-copied-shop") / kept.path.name
    copied.parent.mkdir()
    copied.write_bytes(kept.path.read_bytes())
    before = copied.read_bytes()
    listed = (await client.request("lithify/listAgentSessions", {}))["sessions"]
    assert {one["uri"] for one in listed} == {kept.path.as_uri(), copied.as_uri()}
    assert len({one["sessionId"] for one in listed}) == 1
    kept.go_on()
    lengths = {
        uri: len((await client.request("lithify/getAgentSession", {"uri": uri}))["messages"])
        for uri in (kept.path.as_uri(), copied.as_uri())
    }
    assert lengths == {kept.path.as_uri(): 8, copied.as_uri(): 6}
    done = await client.command(FULL, {"uri": copied.as_uri()})
    assert (len(kept.said), said_in(copied)) == (8, COMPACTED)
    untouched = await client.request("lithify/getAgentSession", {"uri": kept.path.as_uri()})
    assert untouched["compactions"] == []
    assert (await client.command_failure(UNDO, {"uri": kept.path.as_uri()})).type == "unknown_compaction"
    undone = await client.command(UNDO, {"uri": copied.as_uri()})
    assert (undone["compactionId"], copied.read_bytes()) == (done["compactionId"], before)


@pytest.mark.parametrize("agent", APPENDED)
async def test_where_the_agent_went_on_the_undo_names_the_new_session_and_leaves_the_other(
    client: RawClient, home: AgentHome, agent: str
) -> None:
    kept = keep(home, agent)
    (uri,) = await uris(client)
    done = await client.command(FULL, {"uri": uri})
    kept.go_on()
    after = kept.path.read_bytes()
    undone: Json = await client.command(UNDO, {"uri": uri})
    (new,) = set(await uris(client)) - {uri}
    assert undone == {"uri": uri, "compactionId": done["compactionId"], "restoredUri": new}
    listed = (await client.request("lithify/listAgentSessions", {}))["sessions"]
    (old_id,) = [one["sessionId"] for one in listed if one["uri"] == uri]
    assert old_id not in text_of(new)
    assert len({one["sessionId"] for one in listed}) == 2
    assert (kept.path.read_bytes(), said_in(Path(new.removeprefix("file://")))) == (after, WHOLE)
    assert (await client.command_failure(UNDO, {"uri": uri})).type == "unknown_compaction"


async def test_a_session_outside_of_its_agents_folders_gets_no_copy_and_the_backup_is_named(
    client: RawClient, home: AgentHome, tmp_path: Path
) -> None:
    kept = keep(home, "claude-code")
    elsewhere = kept.path.rename(tmp_path / kept.path.name)
    await client.command(FULL, {"uri": elsewhere.as_uri()})
    elsewhere.write_text(elsewhere.read_text() + '{"type":"progress"}\n')
    failure = await client.command_failure(UNDO, {"uri": elsewhere.as_uri()})
    assert (failure.type, failure.data["retryable"]) == ("stale", False)
    assert str(tmp_path / "data" / "backups") in failure.message
    assert [name for name in os.listdir(tmp_path) if name.endswith(".jsonl")] == [elsewhere.name]


@pytest.mark.parametrize("agent", APPENDED)
async def test_an_open_session_gets_its_records_appended_and_shows_what_is_compacted_away_under_one_symbol(
    client: RawClient, home: AgentHome, agent: str
) -> None:
    kept = keep(home, agent)
    text = kept.path.read_text(encoding="utf-8")
    text_editor, uri = TextEditor(client), kept.path.as_uri()
    text_editor.open(uri, text)
    actions = await client.request(
        "textDocument/codeAction",
        {
            "textDocument": {"uri": uri},
            "range": {"start": _place(text, "answer 1"), "end": _place(text, "answer 1")},
            "context": {"diagnostics": []},
        },
    )
    command = actions[0]["command"]
    assert command["command"] == UP_TO_HERE
    await client.command(command["command"], command["arguments"][0])
    after = text_editor.texts[uri]
    assert (after.startswith(text), len(after) > len(text)) == (True, True)
    symbols = await client.request("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
    folded = [one for one in symbols if one["name"].startswith("Compacted away")]
    assert [one["name"] for one in folded] == ["Compacted away: 4 messages"]
    assert len(symbols) - len(folded) == len(COMPACTED)
    await client.command(UNDO, {"uri": uri})
    assert text_editor.texts[uri] == text


def _place(text: str, words: str) -> Json:
    line = text[: text.index(words)].count("\n")
    return {"line": line, "character": 0}


# --- opencode ---


async def test_a_session_of_opencode_is_compacted_looked_at_and_undone_by_its_uri(
    client: RawClient, home: AgentHome
) -> None:
    uri = keep_in_opencode(home)
    assert await uris(client) == [uri]
    shown = await client.request("lithify/getAgentSession", {"uri": uri})
    assert len(shown["messages"]) == len(WHOLE)
    preview = await client.command(FULL, {"uri": uri, "dryRun": True})
    assert (preview["type"], exported(home, uri)) == ("preview", WHOLE)
    done = await client.command(FULL, {"uri": uri})
    assert (done["type"], exported(home, uri)) == ("compacted", IN_OPENCODE)
    undone: Json = await client.command(UNDO, {"uri": uri})
    (new,) = set(await uris(client)) - {uri}
    assert undone == {"uri": uri, "compactionId": done["compactionId"], "restoredUri": new}
    assert (exported(home, new), exported(home, uri)) == (WHOLE, IN_OPENCODE)


async def test_what_is_said_in_opencode_while_a_draft_waits_is_kept(client: RawClient, home: AgentHome) -> None:
    uri = keep_in_opencode(home)
    draft = await client.command(UP_TO_HERE, {"uri": uri, "index": 3, "draft": True})
    stub_opencode.say(home.folder, home.folder / "shop", 3)
    await client.command(APPLY, {"draftId": draft["draftId"]})
    assert exported(home, uri) == [*WHOLE, "question 3", "answer 3", "compaction", "summary"]


async def test_a_session_that_opencode_does_not_have_is_unsupported(client: RawClient, home: AgentHome) -> None:
    keep_in_opencode(home)
    failure = await client.command_failure(FULL, {"uri": "lithify-agent:opencode/ses_none"})
    assert (failure.type, "opencode has no session ses_none" in failure.message) == ("unsupported_document", True)


@pytest.mark.parametrize(("wrong", "told"), [("old", "1.4.3"), ("forgets", "is not what was meant")])
async def test_an_opencode_of_another_version_or_that_takes_nothing_up_is_told(
    start: Starter, home: AgentHome, variables: dict[str, str], wrong: str, told: str
) -> None:
    uri = keep_in_opencode(home)
    client = await start(environment={**variables, "STUB_OPENCODE": wrong})
    client.answerers["lithify/complete"] = answers()
    failure = await client.command_failure(FULL, {"uri": uri})
    assert (failure.type, told in failure.message, exported(home, uri)) == ("storage_failed", True, WHOLE)
