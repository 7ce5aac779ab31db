"""The editor's model: what it is asked, what it answers, how it fails, when it is told to stop."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lithify.core.model_calls import ModelFailure, ModelReply, ModelRequest, Usage
from lithify.llm.editor import EditorError, EditorModel
from tests.support.clock import Ids

ANSWER = {"text": "a summary", "model": "gpt", "stopReason": "end", "usage": {"inputTokens": 10, "outputTokens": 3}}


class Editor:
    """The editor's side: it answers, fails, or says nothing, and keeps what it was sent."""

    def __init__(self, answer: Any = None, *, silent: bool = False) -> None:
        self._answer = answer
        self._silent = silent
        self.asked: list[dict[str, Any]] = []
        self.told_to_stop: list[str] = []
        self.was_asked = asyncio.Event()
        self.gave_up = False

    async def complete(self, params: dict[str, Any]) -> Any:
        self.asked.append(params)
        self.was_asked.set()
        if self._silent:
            try:
                await asyncio.Event().wait()
            finally:
                self.gave_up = True
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    def cancel_complete(self, request_id: str) -> None:
        self.told_to_stop.append(request_id)


def request(**given: Any) -> ModelRequest:
    defaults: dict[str, Any] = {
        "purpose": "conversation",
        "system_prompt": "You sum up.",
        "parts": ("one", "two"),
        "timeout_ms": 60_000,
    }
    return ModelRequest(**{**defaults, **given})


async def answer_to(editor: Editor, **given: Any) -> ModelReply | ModelFailure:
    return await EditorModel(editor, Ids()).ask(request(**given))


async def params_of(**given: Any) -> dict[str, Any]:
    editor = Editor(ANSWER)
    await answer_to(editor, **given)
    return editor.asked[0]


async def failure(answer: Any) -> ModelFailure:
    found = await answer_to(Editor(answer))
    assert isinstance(found, ModelFailure)
    return found


async def reply(answer: Any) -> ModelReply:
    found = await answer_to(Editor(answer))
    assert isinstance(found, ModelReply)
    return found


# --- what it is asked -----------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_the_params_are_those_of_the_contract() -> None:
    params = await params_of(
        user_initiated=False, model="claude", settings={"disable_all_tools": True}, max_output_tokens=500
    )
    assert params == {
        "requestId": Ids()(),
        "purpose": "conversation",
        "userInitiated": False,
        "model": "claude",
        "systemPrompt": "You sum up.",
        "message": {
            "role": "user",
            "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
        },
        "tools": [],
        "maxOutputTokens": 500,
        "timeoutMs": 60_000,
        "settings": {"disable_all_tools": True},
    }


@pytest.mark.asyncio
async def test_a_model_and_a_limit_that_nobody_named_are_left_out() -> None:
    assert {"model", "maxOutputTokens"} & set(await params_of()) == set()


@pytest.mark.asyncio
async def test_every_request_has_an_id_of_its_own() -> None:
    editor = Editor(ANSWER)
    model = EditorModel(editor, Ids())
    for _ in range(3):
        await model.ask(request())
    assert len({params["requestId"] for params in editor.asked}) == 3


@pytest.mark.asyncio
async def test_settings_are_carried_verbatim() -> None:
    odd = {"temperature": 0.0, "x": {"class": None, "a-b": [1.0, 10**30]}}
    assert (await params_of(settings=odd))["settings"] == odd


# --- what it answers ------------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_an_answer_is_the_models_reply() -> None:
    expected = ModelReply("a summary", provider="editor", model="gpt", stop_reason="end", usage=Usage(10, 3))
    assert await reply(ANSWER) == expected


@pytest.mark.asyncio
async def test_a_text_is_enough() -> None:
    assert await reply({"text": "a summary"}) == ModelReply("a summary", provider="editor")


@pytest.mark.asyncio
@pytest.mark.parametrize("stop", ["max_tokens", "anything at all"])
async def test_why_the_model_stopped_is_passed_on(stop: str) -> None:
    assert (await reply({"text": "x", "stopReason": stop})).stop_reason == stop


@pytest.mark.asyncio
async def test_a_blank_text_is_left_to_the_one_who_asked() -> None:
    assert (await reply({"text": " \n"})).text == " \n"


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, None),
        ("many", None),
        ([], None),
        ({}, Usage(None, None)),
        ({"inputTokens": 7}, Usage(7, None)),
        ({"inputTokens": "7", "outputTokens": 2.5}, Usage(None, None)),
        ({"inputTokens": True, "outputTokens": -1}, Usage(None, None)),
        ({"inputTokens": 0, "outputTokens": 0}, Usage(0, 0)),
    ],
)
async def test_counts_that_are_none_are_left_out(usage: Any, expected: Usage | None) -> None:
    assert (await reply({"text": "x", "usage": usage})).usage == expected


@pytest.mark.asyncio
@pytest.mark.parametrize("odd", [3, None, ["gpt"], {}])
async def test_names_that_are_no_text_are_left_out(odd: Any) -> None:
    found = await reply({"text": "x", "model": odd, "stopReason": odd})
    assert (found.model, found.stop_reason) == (None, None)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "answer", [None, "a summary", 3, [], ["a summary"], {}, {"text": None}, {"text": 3}, {"text": ["a"]}, {"Text": "a"}]
)
async def test_an_answer_without_a_text_is_an_error_of_the_model(answer: Any) -> None:
    found = await failure(answer)
    assert (found.type, found.message) == (
        "model_error",
        "the editor answered lithify/complete without a 'text' string",
    )


@pytest.mark.asyncio
async def test_a_model_that_answered_is_not_told_to_stop() -> None:
    editor = Editor(ANSWER)
    await answer_to(editor)
    assert editor.told_to_stop == []


# --- how it fails ---------------------------------------------------------------------------------------------

REASONS = {
    "no_model": ("model_unavailable", True),
    "consent_required": ("model_unavailable", False),
    "consent_denied": ("model_unavailable", False),
    "quota": ("model_unavailable", False),
    "context_too_long": ("context_too_long", True),
    "timeout": ("timeout", True),
    "unknown": ("model_error", True),
    "a reason of another version": ("model_error", True),
}


@pytest.mark.asyncio
@pytest.mark.parametrize("reason", REASONS)
async def test_every_reason_is_a_failure_of_its_kind(reason: str) -> None:
    assert (await failure(EditorError(reason, "words"))).type == REASONS[reason][0]


@pytest.mark.asyncio
@pytest.mark.parametrize("reason", REASONS)
async def test_only_consent_and_quota_count_for_no_breaker(reason: str) -> None:
    assert (await failure(EditorError(reason, "words"))).counts == REASONS[reason][1]


@pytest.mark.asyncio
@pytest.mark.parametrize("reason", REASONS)
async def test_what_the_editor_said_is_passed_on(reason: str) -> None:
    assert "words" in (await failure(EditorError(reason, "words"))).message


@pytest.mark.asyncio
@pytest.mark.parametrize("reason", REASONS)
async def test_the_same_call_can_succeed_later(reason: str) -> None:
    assert (await failure(EditorError(reason, "words"))).retryable


@pytest.mark.asyncio
@pytest.mark.parametrize("reason", ["no_model", "consent_required", "consent_denied", "quota"])
async def test_a_reason_without_words_is_still_a_sentence(reason: str) -> None:
    message = (await failure(EditorError(reason, ""))).message
    assert len(message) > 20
    assert "()" not in message


# --- when it is told to stop ----------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_model_that_takes_too_long_is_a_timeout() -> None:
    found = await answer_to(Editor(silent=True), timeout_ms=1)
    assert found == ModelFailure("timeout", "the editor's model did not answer within 0.001 s")


@pytest.mark.asyncio
async def test_on_a_timeout_the_editor_is_told_to_stop_that_request() -> None:
    editor = Editor(silent=True)
    await answer_to(editor, timeout_ms=1)
    assert editor.told_to_stop == [editor.asked[0]["requestId"]]


@pytest.mark.asyncio
async def test_on_a_timeout_nothing_waits_for_the_editor_any_more() -> None:
    editor = Editor(silent=True)
    await answer_to(editor, timeout_ms=1)
    assert editor.gave_up


async def cancelled(editor: Editor) -> None:
    asking = asyncio.ensure_future(answer_to(editor))
    await editor.was_asked.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


@pytest.mark.asyncio
async def test_on_a_cancel_the_editor_is_told_to_stop_that_request() -> None:
    editor = Editor(silent=True)
    await cancelled(editor)
    assert editor.told_to_stop == [editor.asked[0]["requestId"]]


@pytest.mark.asyncio
async def test_on_a_cancel_nothing_waits_for_the_editor_any_more() -> None:
    editor = Editor(silent=True)
    await cancelled(editor)
    assert editor.gave_up


@pytest.mark.asyncio
async def test_an_editor_that_failed_is_not_told_to_stop() -> None:
    editor = Editor(EditorError("unknown", "words"))
    await answer_to(editor)
    assert editor.told_to_stop == []


# --- what holds until the user acts -----------------------------------------------------------------------------


class Reluctant(Editor):
    """An editor whose next answers are these."""

    def __init__(self, *answers: Any) -> None:
        super().__init__()
        self._answers = iter(answers)

    async def complete(self, params: dict[str, Any]) -> Any:
        self._answer = next(self._answers)
        return await super().complete(params)


@pytest.mark.asyncio
@pytest.mark.parametrize("reason", ["consent_required", "consent_denied", "quota"])
async def test_without_consent_or_quota_background_work_asks_no_second_time(reason: str) -> None:
    editor = Reluctant(EditorError(reason, "no"))
    model = EditorModel(editor, Ids())
    first = await model.ask(request(user_initiated=False))
    assert await model.ask(request(user_initiated=False)) == first
    assert len(editor.asked) == 1


@pytest.mark.asyncio
async def test_a_users_own_request_asks_all_the_same_and_an_answer_frees_background_work() -> None:
    editor = Reluctant(EditorError("consent_denied", "no"), EditorError("consent_denied", "no"), ANSWER, ANSWER)
    model = EditorModel(editor, Ids())
    told = [await model.ask(request(user_initiated=by_user)) for by_user in (False, True, False, True, False)]
    assert [isinstance(one, ModelReply) for one in told] == [False, False, False, True, True]
    assert [params["userInitiated"] for params in editor.asked] == [False, True, True, False]


@pytest.mark.asyncio
@pytest.mark.parametrize("reason", ["no_model", "unknown", "timeout", "context_too_long"])
async def test_other_failures_hold_nothing(reason: str) -> None:
    editor = Reluctant(EditorError(reason, "no"), ANSWER)
    model = EditorModel(editor, Ids())
    await model.ask(request(user_initiated=False))
    assert isinstance(await model.ask(request(user_initiated=False)), ModelReply)


@pytest.mark.asyncio
@pytest.mark.parametrize(("reason", "absent"), [("no_model", True), ("consent_denied", False), ("unknown", False)])
async def test_an_editor_without_a_model_is_told_apart_from_one_that_refuses(reason: str, absent: bool) -> None:
    assert (await failure(EditorError(reason, "no"))).absent is absent
