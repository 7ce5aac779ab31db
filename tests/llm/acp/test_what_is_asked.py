"""What an agent is given: its place, its environment, the handshake, the session, the model and the prompt."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pytest

import lithify
from lithify.llm.acp.folders import is_run_folder
from lithify.llm.acp.profile import Launch, Profile, Run
from tests.llm.acp.stub import Stub, failed, reply, request

pytestmark = pytest.mark.asyncio


async def record_of(stub: Stub, **given: Any) -> dict[str, Any]:
    await reply(stub, **given)
    return stub.record()


# --- its place ------------------------------------------------------------------------------------------------


async def test_the_agent_works_in_an_empty_folder_of_its_run(tmp_path: Path) -> None:
    given = await record_of(Stub(tmp_path))
    assert is_run_folder(given["cwd"])
    assert given["files"] == []
    assert given["session/new"]["cwd"] == given["cwd"]


async def test_the_folder_lies_in_the_users_private_runtime_folder_where_there_is_one(tmp_path: Path) -> None:
    stub = Stub(tmp_path)
    given = await record_of(stub)
    assert Path(given["cwd"]).parents[1] == stub.runs


async def test_a_runtime_folder_that_others_may_enter_is_not_used(tmp_path: Path) -> None:
    stub = Stub(tmp_path)
    stub.runs.chmod(0o755)
    given = await record_of(stub)
    assert Path(given["cwd"]).parents[1] != stub.runs


async def test_the_agent_has_three_descriptors_and_a_group_of_its_own(tmp_path: Path) -> None:
    given = await record_of(Stub(tmp_path))
    assert given["descriptors"] == [0, 1, 2]
    assert given["group"] == given["pid"]


async def test_the_agent_can_be_told_to_end_as_any_program_can(tmp_path: Path) -> None:
    given = await record_of(Stub(tmp_path))
    assert all(given["signals"].values())


# --- its environment ------------------------------------------------------------------------------------------


async def test_the_environment_holds_the_base_what_is_named_and_nothing_else(tmp_path: Path) -> None:
    stub = Stub(tmp_path)
    more = {"STUB_KEY": "secret-1", "OTHER_KEY": "secret-2", "LC_TIME": "C", "HTTPS_PROXY": "http://proxy.invalid"}
    await stub.model(env_names=("STUB_KEY", "NOT_SET"), environment=more).ask(request())
    environment = stub.record()["environment"]
    assert environment["STUB_KEY"] == "secret-1"
    assert environment["LC_TIME"] == "C"
    assert environment["HTTPS_PROXY"] == "http://proxy.invalid"
    assert environment["HOME"] == os.environ["HOME"]
    assert environment["TERM"] == "dumb"
    assert "OTHER_KEY" not in environment
    assert "NOT_SET" not in environment
    assert "PYTEST_CURRENT_TEST" not in environment


async def test_every_process_of_a_run_bears_the_runs_name(tmp_path: Path) -> None:
    given = await record_of(Stub(tmp_path))
    assert given["environment"]["LITHIFY_AGENT_RUN"] == Path(given["cwd"]).parent.name


async def test_what_the_profile_prepared_is_what_runs(tmp_path: Path) -> None:
    stub = Stub(tmp_path)
    seen: list[Run] = []

    def prepare(run: Run) -> Launch:
        seen.append(run)
        (run.home / "agent.md").write_text("an agent file")
        return Launch((*run.command, "--more"), {"AGENT_HOME": str(run.home)}, {"systemPrompt": "mine"}, "profile")

    profile = Profile(name="stub", title="the stub", command=(), prepare=prepare)
    await stub.model(profile, environment={"OF_THE_USER": "1"}).ask(request(model="m"))
    given = stub.record()
    (run,) = seen
    assert given["arguments"][-1] == "--more"
    assert given["environment"]["AGENT_HOME"] == str(run.home)
    assert given["session/new"]["_meta"] == {"systemPrompt": "mine"}
    assert [block["text"] for block in given["session/prompt"]["prompt"]] == ["one", "two"]
    assert (run.purpose, run.system_prompt, run.model) == ("conversation", "You sum up.", "m")
    assert run.user_environment["OF_THE_USER"] == "1"
    assert "OF_THE_USER" not in run.environment


# --- what it is told ------------------------------------------------------------------------------------------


async def test_the_handshake_offers_no_files_and_no_terminal(tmp_path: Path) -> None:
    given = await record_of(Stub(tmp_path))
    assert given["initialize"] == {
        "protocolVersion": 1,
        "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
        "clientInfo": {"name": "lithify", "title": "Lithify", "version": lithify.__version__},
    }


async def test_the_session_has_no_servers_of_tools(tmp_path: Path) -> None:
    given = await record_of(Stub(tmp_path))
    assert given["session/new"] == {"cwd": given["cwd"], "mcpServers": []}


async def test_the_prompt_is_the_system_prompt_and_each_part_as_a_text_of_its_own(tmp_path: Path) -> None:
    given = await record_of(Stub(tmp_path), parts=("one", "", "two"))
    assert given["session/prompt"]["prompt"] == [
        {"type": "text", "text": "You sum up."},
        {"type": "text", "text": "one"},
        {"type": "text", "text": "two"},
    ]


async def test_a_prompt_of_a_megabyte_arrives_whole(tmp_path: Path) -> None:
    part = "".join(f"{number} ü€😀\n" for number in range(70_000))
    assert len(part.encode()) > 1 << 20
    given = await record_of(Stub(tmp_path), parts=(part, "the end"))
    assert [block["text"] for block in given["session/prompt"]["prompt"][1:]] == [part, "the end"]


async def test_half_of_a_surrogate_pair_in_the_prompt_is_no_matter(tmp_path: Path) -> None:
    given = await record_of(Stub(tmp_path), parts=("a \ud800 b",))
    assert given["session/prompt"]["prompt"][1]["text"] == "a \ud800 b"


# --- the model ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("models", "way"),
    [
        ({"config": ["small", "large"]}, ("session/set_config_option", {"configId": "the-model", "value": "large"})),
        (
            {"config": ["small", "large"], "groups": True},
            ("session/set_config_option", {"configId": "the-model", "value": "large"}),
        ),
        ({"legacy": ["small", "large"]}, ("session/set_model", {"modelId": "large"})),
    ],
)
async def test_the_model_that_is_asked_for_is_chosen(tmp_path: Path, models: Any, way: tuple[str, Any]) -> None:
    stub = Stub(tmp_path, models=models)
    found = await reply(stub, model="large")
    given = stub.record()
    assert given["methods"] == ["initialize", "session/new", way[0], "session/prompt"]
    assert given[way[0]] == {"sessionId": f"session-{given['pid']}", **way[1]}
    assert (found.model, found.missing_model) == ("large", None)


async def test_the_model_that_answers_already_is_not_chosen_again(tmp_path: Path) -> None:
    stub = Stub(tmp_path, models={"config": ["small", "large"]})
    found = await reply(stub, model="Small")
    assert stub.record()["methods"] == ["initialize", "session/new", "session/prompt"]
    assert (found.model, found.missing_model) == ("small", None)


async def test_the_agents_own_model_answers_where_none_is_asked_for(tmp_path: Path) -> None:
    found = await reply(Stub(tmp_path, models={"legacy": ["small", "large"]}))
    assert (found.model, found.missing_model) == ("small", None)


@pytest.mark.parametrize("models", [{"config": ["small"]}, {"legacy": ["small"]}])
async def test_a_model_that_the_agent_does_not_have_is_told_and_its_own_answers(tmp_path: Path, models: Any) -> None:
    found = await reply(Stub(tmp_path, models=models), model="huge")
    assert (found.text, found.model, found.missing_model) == ("a summary", "small", "huge")


async def test_an_agent_without_a_choice_answers_under_its_profiles_name(tmp_path: Path) -> None:
    found = await reply(Stub(tmp_path), model="huge")
    assert (found.model, found.missing_model) == ("stub", "huge")


async def test_an_agent_that_refuses_a_model_which_it_offers_answers_with_its_own(tmp_path: Path) -> None:
    error = {"session/set_model": {"code": -32603, "message": "not in your plan"}}
    found = await reply(Stub(tmp_path, models={"legacy": ["small", "large"]}, error=error), model="large")
    assert (found.text, found.model, found.missing_model) == ("a summary", "small", "large")


async def test_a_model_that_the_profile_has_settled_is_not_chosen_again(tmp_path: Path) -> None:
    stub = Stub(tmp_path, models={"legacy": ["small", "large"]})
    profile = Profile("stub", "the stub", (), prepare=lambda run: Launch(run.command, model_settled=True))
    found = await stub.model(profile).ask(request(model="large"))
    assert "session/set_model" not in stub.record()["methods"]
    assert getattr(found, "missing_model", "") is None


async def test_a_missing_model_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "lithify")
    model = Stub(tmp_path).model()
    for name in ("huge", "huge", "other"):
        await model.ask(request(model=name))
    assert [record.getMessage() for record in caplog.records] == [
        "the stub has no model huge; its own one answers",
        "the stub has no model other; its own one answers",
    ]


# --- a command that cannot be run -----------------------------------------------------------------------------


async def test_a_command_that_is_not_there_is_absent_and_says_how_to_get_it(tmp_path: Path) -> None:
    stub = Stub(tmp_path)
    profile = Profile("stub", "the stub", ("no-such-agent", "acp"), install="Get it with `npm i -g stub`.")
    found = await failed(stub.model(profile, command=()))
    assert (found.type, found.absent) == ("model_unavailable", True)
    assert "no-such-agent" in found.message
    assert "npm i -g stub" in found.message
    assert stub.left() == []


async def test_no_command_at_all_is_absent(tmp_path: Path) -> None:
    found = await failed(Stub(tmp_path).model(command=()))
    assert (found.type, found.absent) == ("model_unavailable", True)
    assert "model.acp.command" in found.message


async def test_a_program_that_is_not_executable_is_named(tmp_path: Path) -> None:
    program = tmp_path / "agent"
    program.write_text("#!/bin/sh\n")
    found = await failed(Stub(tmp_path).model(command=(str(program),)))
    assert (found.type, found.absent) == ("model_unavailable", False)
    assert f"{program} is not a program that can be run" in found.message


@pytest.mark.parametrize(
    ("first_line", "said"),
    [("#!/no/such/interpreter", "the interpreter that its first line names is missing"), ("\0", "neither a program")],
)
async def test_a_program_that_the_system_refuses_is_explained(tmp_path: Path, first_line: str, said: str) -> None:
    stub = Stub(tmp_path)
    program = tmp_path / "agent"
    program.write_text(first_line + "\n")
    program.chmod(0o755)
    found = await failed(stub.model(command=(str(program),)))
    assert (found.type, found.absent) == ("model_unavailable", False)
    assert said in found.message
    assert stub.left() == []
    assert stub.marked() == []


async def test_a_profile_that_cannot_prepare_says_why(tmp_path: Path) -> None:
    def prepare(run: Run) -> Launch:
        raise ValueError("its configuration has no model; run `stub setup`")

    stub = Stub(tmp_path)
    found = await failed(stub.model(Profile("stub", "the stub", (), prepare=prepare)))
    assert found.type == "model_unavailable"
    assert "its configuration has no model; run `stub setup`" in found.message
    assert stub.left() == []
