"""What comes of an agent's answer: the reply, and every way to fail."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from lithify.core.model_calls import ModelReply, Usage
from lithify.llm.acp.profile import Launch, Profile
from tests.llm.acp.stub import Stub, failed, failure, reply, request

pytestmark = pytest.mark.asyncio


# --- replies --------------------------------------------------------------------------------------------------


async def test_the_answer_is_all_that_the_agent_said(tmp_path: Path) -> None:
    found = await reply(Stub(tmp_path, pieces=["a sum", "mary\n", " of it "]))
    assert found == ModelReply("a summary\n of it ", "acp", "stub", "end")


async def test_thoughts_and_what_other_sessions_say_are_not_the_answer(tmp_path: Path) -> None:
    stub = Stub(tmp_path, thoughts=["hm"], early="Welcome!", other_session="elsewhere", pieces=["the answer"])
    assert (await reply(stub)).text == "the answer"


async def test_an_answer_that_was_cut_off_says_so(tmp_path: Path) -> None:
    found = await reply(Stub(tmp_path, pieces=["half of"], stop="max_tokens"))
    assert (found.text, found.stop_reason) == ("half of", "max_tokens")


async def test_tokens_are_told_where_the_agent_tells_them(tmp_path: Path) -> None:
    usage = {"totalTokens": 15, "inputTokens": 12, "outputTokens": 3}
    assert (await reply(Stub(tmp_path, usage=usage))).usage == Usage(12, 3)


async def test_an_answer_of_five_megabytes_in_one_line_arrives_whole(tmp_path: Path) -> None:
    assert (await reply(Stub(tmp_path, big=5_000_000))).text == "x" * 5_000_000


async def test_lines_that_are_no_messages_are_skipped(tmp_path: Path) -> None:
    noise = ["Welcome to the stub 1.0", "", "5", "[1]", '"text"', "{", '{"id": [1], "result": 1}', '{"method": 3}']
    assert (await reply(Stub(tmp_path, noise=noise))).text == "a summary"


async def test_an_agent_that_fills_its_log_in_every_phase_still_answers(tmp_path: Path) -> None:
    assert (await reply(Stub(tmp_path, stderr_bytes=300_000))).text == "a summary"


async def test_the_log_of_an_agent_goes_to_the_log_at_debug_without_secrets(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "lithify")
    stub = Stub(tmp_path, stderr="key s3cret-value used\n")
    await stub.model(env_names=("STUB_KEY",), environment={"STUB_KEY": "s3cret-value"}).ask(request())
    told = [record for record in caplog.records if "used" in record.getMessage()]
    assert [(record.levelno, record.getMessage()) for record in told] == [
        (logging.DEBUG, "the stub: key <STUB_KEY> used")
    ]


# --- what is refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        (
            [{"optionId": "y", "kind": "allow_once"}, {"optionId": "never", "kind": "reject_always"}],
            {"outcome": "selected", "optionId": "never"},
        ),
        (
            [{"optionId": "never", "kind": "reject_always"}, {"optionId": "n", "kind": "reject_once"}],
            {"outcome": "selected", "optionId": "n"},
        ),
        ([{"optionId": "y", "kind": "allow_always"}], {"outcome": "cancelled"}),
    ],
)
async def test_a_permission_is_refused(tmp_path: Path, options: Any, outcome: Any) -> None:
    stub = Stub(tmp_path, ask=options)
    assert (await reply(stub)).text == "a summary"
    (answer,) = stub.record()["replies"]
    assert answer["result"] == {"outcome": outcome}


async def test_there_are_no_files_and_no_terminal_for_an_agent(tmp_path: Path) -> None:
    stub = Stub(tmp_path, call=["fs/read_text_file", "terminal/create", "_own/thing"])
    assert (await reply(stub)).text == "a summary"
    assert [answer["error"]["code"] for answer in stub.record()["replies"]] == [-32601] * 3


@pytest.mark.parametrize("kind", ["tool_call", "tool_call_update"])
async def test_a_tool_call_ends_the_run_at_once_and_is_named(tmp_path: Path, kind: str) -> None:
    found = await failure(Stub(tmp_path, tool={"sessionUpdate": kind, "title": "Read notes.txt"}))
    assert found.type == "model_error"
    assert "wanted to use a tool (Read notes.txt)" in found.message


async def test_an_agent_that_asks_on_and_on_is_stopped(tmp_path: Path) -> None:
    stub = Stub(tmp_path, ask=[], ask_times=101)
    found = await failure(stub)
    assert (found.type, "asked for more than 100 things" in found.message) == ("model_error", True)
    assert stub.left() == []


async def test_an_agent_whose_refusals_fill_the_memory_is_stopped(tmp_path: Path) -> None:
    options = [{"optionId": "n" * 60_000, "kind": "reject_once"}]
    found = await failure(Stub(tmp_path, ask=options, ask_times=20))
    assert (found.type, "would fill the memory" in found.message) == ("model_error", True)


async def test_a_line_that_does_not_end_is_told_as_that(tmp_path: Path) -> None:
    found = await failure(Stub(tmp_path, big=65 << 20))
    assert (found.type, "more than 64 MB without the end of a line" in found.message) == ("model_error", True)


# --- how an answer fails --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stop", "said"),
    [("refusal", "refused to answer"), ("cancelled", "cancelled"), ("max_turn_requests", "limit of requests")],
)
async def test_a_stop_that_is_no_end_is_a_failure_of_its_own(tmp_path: Path, stop: str, said: str) -> None:
    found = await failure(Stub(tmp_path, pieces=["some text"], stop=stop))
    assert found.type == "model_error"
    assert said in found.message


@pytest.mark.parametrize("pieces", [[], [""], [" \n"]])
async def test_an_end_without_a_text_is_a_failure_with_the_line_that_may_explain_it(
    tmp_path: Path, pieces: list[str]
) -> None:
    log = "starting\nAPI error: 401 bad key\nbye\n"
    found = await failure(Stub(tmp_path, pieces=pieces, stderr_at_prompt=log))
    assert found.type == "empty_response"
    assert "agents hide an error of their model" in found.message
    assert found.message.endswith(": API error: 401 bad key")


async def test_tokens_used_up_before_the_first_word_are_an_empty_answer(tmp_path: Path) -> None:
    found = await failure(Stub(tmp_path, pieces=[], stop="max_tokens"))
    assert found.type == "empty_response"
    assert "used up its tokens" in found.message


async def test_an_error_keeps_the_agents_own_sentence_without_secrets(tmp_path: Path) -> None:
    error = {"code": -32603, "message": "Internal error", "data": {"details": "model overloaded (key s3cret-value)"}}
    stub = Stub(tmp_path, error={"session/prompt": error})
    found = await failed(stub.model(env_names=("STUB_KEY",), environment={"STUB_KEY": "s3cret-value"}))
    assert found.type == "model_error"
    assert "Internal error: model overloaded (key <STUB_KEY>) (code -32603)" in found.message


async def test_half_a_secret_is_not_told_where_an_error_is_cut(tmp_path: Path) -> None:
    stub = Stub(tmp_path, error={"session/prompt": {"code": 1, "message": "p" * 480 + " s3cret-value-s3cret-value"}})
    found = await failed(stub.model(env_names=("STUB_KEY",), environment={"STUB_KEY": "s3cret-value-s3cret-value"}))
    assert "s3cret" not in found.message
    assert "<STUB_KEY>" in found.message


@pytest.mark.parametrize(("stop", "named"), [(5, "(5)"), (["x"], "(['x'])"), (True, "(True)")])
async def test_a_stop_reason_that_is_no_word_is_no_end(tmp_path: Path, stop: Any, named: str) -> None:
    found = await failure(Stub(tmp_path, stop=stop))
    assert (found.type, named in found.message) == ("model_error", True)


async def test_a_stop_reason_that_we_do_not_know_is_passed_on(tmp_path: Path) -> None:
    assert (await reply(Stub(tmp_path, stop="paused"))).stop_reason == "paused"


async def test_names_of_models_and_of_logins_and_versions_are_cut(tmp_path: Path) -> None:
    found = await reply(Stub(tmp_path, models={"legacy": ["m\ud800" + "M" * 5000]}))
    assert found.model == "m\ufffd" + "M" * 197 + "…"
    assert len((await failure(Stub(tmp_path, version="v" * 5000))).message) < 400
    error = {"session/new": {"code": -32000, "message": "no"}}
    stub = Stub(tmp_path, error=error, auth_methods=[{"name": "n" * 5000}] * 50)
    assert len((await failure(stub)).message) < 2500


async def test_halves_of_a_character_that_come_in_two_pieces_are_one(tmp_path: Path) -> None:
    assert (await reply(Stub(tmp_path, pieces=["\ud83d", "\ude00 \ud800"]))).text == "😀 \ufffd"


async def test_a_request_that_is_too_long_is_told_as_that(tmp_path: Path) -> None:
    error = {"code": -32603, "message": "prompt is too long: 210000 tokens > 200000 maximum"}
    found = await failure(Stub(tmp_path, error={"session/prompt": error}))
    assert found.type == "context_too_long"


@pytest.mark.parametrize(
    ("method", "message"),
    [("session/new", "Authentication required"), ("session/new", "no"), ("session/prompt", "401 Unauthorized")],
)
async def test_an_agent_that_is_not_logged_in_says_how_to(tmp_path: Path, method: str, message: str) -> None:
    stub = Stub(
        tmp_path,
        error={method: {"code": -32000, "message": message}},
        auth_methods=[{"id": "x", "name": "Log in with X"}],
    )
    profile = Profile("stub", "the stub", (), keys=("STUB_KEY",))
    found = await failed(stub.model(profile))
    assert found.type == "model_unavailable"
    assert "start it once in a terminal and log in" in found.message
    assert "Log in with X" in found.message
    assert "STUB_KEY" in found.message
    assert message in found.message


@pytest.mark.parametrize("version", [2, None, "1", True])
async def test_another_version_of_the_protocol_is_told(tmp_path: Path, version: Any) -> None:
    found = await failure(Stub(tmp_path, version=version))
    assert found.type == "model_unavailable"
    assert f"speaks version {version} " in found.message


async def test_a_session_without_an_id_is_a_failure(tmp_path: Path) -> None:
    found = await failure(Stub(tmp_path, result={"session/new": {}}))
    assert (found.type, "without an id" in found.message) == ("model_error", True)


@pytest.mark.parametrize("result", [None, 5, [], {}])
async def test_an_answer_to_the_prompt_of_any_shape_does_no_harm(tmp_path: Path, result: Any) -> None:
    found = await failure(Stub(tmp_path, result={"session/prompt": result}))
    assert found.type == "empty_response"


async def test_an_error_of_any_shape_does_no_harm(tmp_path: Path) -> None:
    found = await failure(Stub(tmp_path, error={"session/prompt": "just a text"}))
    assert (found.type, "just a text" in found.message) == ("model_error", True)


# --- agents that end ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["start", "initialize", "session/new"])
async def test_an_agent_that_ends_before_it_could_be_asked_is_unavailable(tmp_path: Path, phase: str) -> None:
    stub = Stub(tmp_path, crash=phase, code=7, stderr="reading settings\nno settings found\n\n")
    found = await failure(stub)
    assert (found.type, found.absent) == ("model_unavailable", False)
    assert "exited with code 7 before it could be asked" in found.message
    assert found.message.endswith(": no settings found")
    assert stub.left() == []


@pytest.mark.parametrize("phase", ["prompt", "middle"])
async def test_an_agent_that_ends_in_its_answer_broke_off(tmp_path: Path, phase: str) -> None:
    found = await failure(Stub(tmp_path, crash=phase, pieces=["a", "b"], stderr_at_prompt="out of memory\n"))
    assert found.type == "model_error"
    assert "broke off in the middle of its answer: it exited with code 3" in found.message


async def test_an_answer_that_breaks_off_in_a_message_is_no_answer(tmp_path: Path) -> None:
    half = '{"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "end_tu'
    found = await failure(Stub(tmp_path, crash="middle", pieces=["a", "b"], last_words=half))
    assert (found.type, "broke off" in found.message) == ("model_error", True)


async def test_an_agent_that_closes_its_output_and_lives_on_broke_off(tmp_path: Path) -> None:
    stub = Stub(tmp_path, close="middle")
    found = await failure(stub)
    assert (found.type, "closed its output" in found.message) == ("model_error", True)
    assert stub.left() == []


# --- agents that are not started --------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["a\0b", "a\ud800b"])
async def test_words_that_no_program_can_be_given_are_told_by_their_setting(tmp_path: Path, word: str) -> None:
    stub = Stub(tmp_path)
    found = await failed(stub.model(command=[*stub.command, word]))
    assert (found.type, found.sent) == ("model_unavailable", False)
    assert "word 5 of the command of the stub holds a character" in found.message
    assert "model.acp.command" in found.message
    found = await failed(stub.model(env_names=("STUB_KEY",), environment={"STUB_KEY": word}))
    assert (found.type, found.sent) == ("model_unavailable", False)
    assert "the variable STUB_KEY" in found.message
    assert "model.acp.env" in found.message
    assert stub.left() == []


@pytest.mark.parametrize("word", ["a\0b", "a\ud800b"])
async def test_a_program_that_no_system_can_start_is_told_without_a_try(tmp_path: Path, word: str) -> None:
    found = Stub(tmp_path).model(command=[word]).lack()
    assert found is not None
    assert "word 1 of the command" in found.message


async def test_words_of_a_profile_that_no_program_can_be_given_are_a_failure_too(tmp_path: Path) -> None:
    stub = Stub(tmp_path)
    profile = Profile("stub", "the stub", (), prepare=lambda run: Launch(run.command, {"STUB_TEXT": "a\0b"}))
    found = await failed(stub.model(profile))
    assert (found.type, found.sent, "STUB_TEXT" in found.message) == ("model_unavailable", False, True)
    assert stub.left() == []


async def test_only_an_agent_that_ran_was_given_anything(tmp_path: Path) -> None:
    program = tmp_path / "agent"
    program.write_text("no program")
    program.chmod(0o755)
    stub = Stub(tmp_path, crash="start")
    assert not (await failed(stub.model(command=[str(program)]))).sent
    assert (await failure(stub)).sent


# --- agents that say nothing ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("phase", "what"), [("start", "the handshake"), ("session/new", "opening a session")])
async def test_an_opening_that_is_never_answered_has_a_limit_of_its_own(tmp_path: Path, phase: str, what: str) -> None:
    stub = Stub(tmp_path, hang=phase, noise=["> ", "> "])
    found = await failed(stub.model(handshake_seconds=1.5))
    assert found.type == "timeout"
    assert f"did not answer {what} within 1.5 s; it printed 2 lines that are no messages" in found.message
    assert stub.left() == []


@pytest.mark.parametrize("phase", ["initialize", "prompt", "middle"])
async def test_an_agent_that_does_not_answer_in_time_is_a_timeout(tmp_path: Path, phase: str) -> None:
    stub = Stub(tmp_path, hang=phase)
    found = await failure(stub, timeout_ms=700)
    assert (found.type, found.message) == ("timeout", "the stub did not answer within 0.7 s")
    assert stub.left() == []


async def test_an_agent_at_work_is_told_to_cancel_when_the_time_is_over(tmp_path: Path) -> None:
    stub = Stub(tmp_path, hang="middle", pieces=["a", "b"])
    await failure(stub, timeout_ms=2000)
    given = stub.record()
    assert given["methods"][-1] == "session/cancel"
    assert given["eof"] is True


async def test_an_agent_that_has_answered_is_not_told_to_cancel(tmp_path: Path) -> None:
    stub = Stub(tmp_path)
    await reply(stub)
    assert stub.record()["methods"][-1] == "session/prompt"
