"""The compaction of a conversation with a scripted model: requests, folding, warnings, refusals and failures."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.core.compaction_results import Preview, Summarised
from lithify.core.conversation import Noop
from lithify.core.model_calls import ModelFailure, ModelFailureType, ModelReply, ModelRequest, Usage
from lithify.core.outcomes import LithifyError
from lithify.core.replies import SECTIONS
from lithify.llm.offline import OfflineModel
from lithify.workers import conversation
from tests.support.messages import Message, assistant, calling, exactly, result, said, system, text, used, user, using
from tests.support.scripted_model import (
    EXACT,
    MADE_UP,
    OWN,
    ScriptedModel,
    options,
    preview,
    summarise,
    summarised,
    workshop,
)

PREFIX = "<system>Previous context has been compacted. Here is the compaction output:</system>"
WHOLE = "\n".join(f"<{tag}>x</{tag}>" for tag in SECTIONS)
TAIL = [user("TAIL-U"), assistant("TAIL-A")]
SHORT = [user("old"), *TAIL]
LONG = [user("o" * 5000), *TAIL]
TOO_LONG = ModelFailure("context_too_long", "the context is too long", retryable=False)


def tokens(request: ModelRequest) -> int:
    """Tokens of a whole request, by the contract's measure, in whole numbers."""
    return -(-10 * sum(len(part.encode()) for part in (request.system_prompt, *request.parts)) // 27)


def codes(messages: list[Message], answer: str | ModelReply = WHOLE, work: Any = None, **given: Any) -> list[str]:
    return [notice.code for notice in summarised(messages, ScriptedModel(answer), work, **given).warnings]


def failure(messages: list[Message], model: ScriptedModel, work: Any = None, **given: Any) -> LithifyError:
    before = exactly(messages)
    with pytest.raises(LithifyError) as caught:
        summarise(messages, model, work, **given)
    assert exactly(messages) == before
    return caught.value


# --- one request ----------------------------------------------------------------------------------------------


def test_the_request_carries_what_was_asked_for_and_no_tools() -> None:
    model = ScriptedModel(WHOLE)
    overrides = {"temperature": 0, "disable_all_tools": True}
    summarised(
        LONG, model, workshop(EXACT, timeoutMs=7000), model="small", settings=overrides, instructions=" keep db "
    )
    (request,) = model.requests
    assert (request.purpose, request.user_initiated, request.timeout_ms) == ("conversation", True, 7000)
    assert (request.model, request.settings, request.system_prompt) == ("small", overrides, EXACT.system_prompt)
    assert request.parts[-1] == f"\n{EXACT.text}{EXACT.instruction_intro}keep db"
    assert not hasattr(request, "tools")


@pytest.mark.parametrize("instructions", ["", "keep db"])
def test_a_prompt_of_the_users_own_takes_the_place_of_the_prompt_untrimmed(instructions: str) -> None:
    model = ScriptedModel(WHOLE)
    done = summarised(LONG, model, workshop(EXACT), prompt=" mine\n", instructions=instructions)
    suffix = EXACT.instruction_intro + instructions if instructions else ""
    assert model.requests[0].parts[-1] == f"\n mine\n{suffix}"
    assert model.requests[0].system_prompt == EXACT.system_prompt
    assert done.prompt_source == "override"


def test_a_dry_run_shows_the_request_that_is_sent() -> None:
    model = ScriptedModel(WHOLE)
    shown = preview(LONG, workshop(EXACT), instructions="keep db")
    summarised(LONG, model, workshop(EXACT), instructions="keep db")
    assert isinstance(shown, Preview)
    assert [shown.request] == model.requests


def test_the_result_says_where_prompt_and_answer_came_from() -> None:
    done = summarised(LONG, ScriptedModel(ModelReply(WHOLE, "scripted", model="small-1")), workshop(EXACT))
    assert (done.method, done.model, done.prompt_source) == ("model", "small-1", "kimi-cli 1.52.0")


def test_an_answer_of_the_offline_model_is_told_apart() -> None:
    assert summarised(LONG, ScriptedModel(ModelReply(WHOLE, "offline"))).method == "offline"


def test_the_answer_is_kept_with_its_white_space() -> None:
    assert summarised(LONG, ScriptedModel("  SUM\n")).summary == user(f"{PREFIX}\n  SUM\n")


def test_the_stats_measure_the_whole_conversation_before_and_after() -> None:
    messages = [system("s" * 27), user("o" * 2700), user("t" * 27), assistant("u" * 27)]
    answer = "a" * (270 - len(PREFIX) - 1)
    stats = summarised(messages, ScriptedModel(answer)).stats
    assert (stats.messages_before, stats.messages_after) == (4, 4)
    assert (stats.tokens_before, stats.tokens_after) == (1030, 130)


@pytest.mark.parametrize("messages", [[], TAIL, [system(), *TAIL]])
def test_a_no_op_asks_no_model_and_leaves_everything_untouched(messages: list[Message]) -> None:
    model, before = ScriptedModel(WHOLE), exactly(messages)
    assert isinstance(summarise(messages, model), Noop)
    assert isinstance(preview(messages), Noop)
    assert (model.requests, exactly(messages)) == ([], before)


@pytest.mark.parametrize("given", [{"start": -1}, {"start": 2, "end": 1}, {"end": 4}, {"up_to": 3}, {"up_to": -1}])
def test_a_range_that_does_not_fit_is_an_error_in_a_dry_run_too(given: dict[str, int]) -> None:
    model = ScriptedModel(WHOLE)
    assert failure(SHORT, model, **given).type == "invalid_range"
    with pytest.raises(LithifyError):
        preview(SHORT, **given)
    assert model.requests == []


# --- folding --------------------------------------------------------------------------------------------------

texts = st.builds(lambda unit, times: unit * times, st.sampled_from(["a ", "漢", "😀"]), st.integers(0, 3000))
conversations = st.lists(st.builds(said, st.sampled_from(["user", "assistant", "tool"]), texts), min_size=1, max_size=6)
answers = st.builds(lambda unit, times: unit * times, st.sampled_from(["s", "漢"]), st.integers(1, 5000))


@settings(deadline=None)
@given(conversations, answers, st.integers(450, 3000))
def test_every_request_stays_within_the_limit(messages: list[Message], answer: str, limit: int) -> None:
    model = ScriptedModel(answer)
    prompt = dataclasses.replace(MADE_UP, system_prompt="s" * 400)
    work = workshop(prompt, maxRequestTokens=limit, refuseLargerFrom=0)
    summarised([*messages, *TAIL], model, work, end=len(messages), instructions="i" * 100)
    assert [tokens(request) for request in model.requests if tokens(request) > limit] == []


def test_a_dry_run_counts_the_requests_that_are_made() -> None:
    messages = [user("o" * 50_000), *TAIL]
    work = workshop(maxRequestTokens=2000)
    shown = preview(messages, work)
    assert isinstance(shown, Preview)
    fixed = len(MADE_UP.system_prompt) + len(f"\n{MADE_UP.text}")
    model = ScriptedModel("x" * ((5400 - fixed) // 3))
    summarised(messages, model, work)
    assert shown.requests == len(model.requests) > 1
    assert shown.request == model.requests[0]


def test_each_summary_is_carried_into_the_next_request() -> None:
    model = ScriptedModel("FIRST", "SECOND", "THIRD")
    done = summarised([user("o" * 10_000), *TAIL], model, workshop(maxRequestTokens=1700))
    carried = [list(request.parts[:3]) for request in model.requests[1:]]
    head = "## Message 1\nRole: user\nContent:\n"
    assert carried == [[head, PREFIX, "FIRST"], [head, PREFIX, "SECOND"]]
    assert done.summary == user(f"{PREFIX}\nTHIRD")


def test_every_request_of_a_fold_ends_with_prompt_and_instruction() -> None:
    model = ScriptedModel("S")
    summarised([user("o" * 10_000), *TAIL], model, workshop(maxRequestTokens=1700), instructions="keep db")
    assert {request.parts[-1] for request in model.requests} == {f"\n{MADE_UP.text}{MADE_UP.instruction_intro}keep db"}


def test_one_message_far_over_the_limit_is_sent_whole_in_slices() -> None:
    giant = "".join(f"line {number} 漢😀\n" for number in range(5000))
    model = ScriptedModel("S")
    done = summarised([user(giant), *TAIL], model, workshop(maxRequestTokens=2000))
    first, *others = [request.parts[1:-1] for request in model.requests]
    sent = "".join([*first, *(parts[-1] for parts in others)])
    assert sent == giant
    assert done.messages == [user(f"{PREFIX}\nS"), *TAIL]


def test_a_prompt_larger_than_the_limit_still_gets_the_conversation_summarised() -> None:
    model = ScriptedModel("S")
    summarised([user("o" * 5000), *TAIL], model, workshop(EXACT, maxRequestTokens=10))
    assert "".join(part for request in model.requests for part in request.parts if set(part) == {"o"}) == "o" * 5000


def test_a_limit_of_nothing_never_folds() -> None:
    model = ScriptedModel(WHOLE)
    summarised([user("o" * 3_000_000), *TAIL], model, workshop(maxRequestTokens=0))
    assert len(model.requests) == 1


@pytest.mark.parametrize("limit", [0, 1700])
def test_the_offline_model_takes_a_conversation_whole_however_long_it_is(limit: int) -> None:
    messages = [user("one"), assistant("o" * 10_000), user("two"), assistant("p" * 10_000), *TAIL]
    work = workshop(maxRequestTokens=limit)
    done = asyncio.run(conversation.summarise(messages, options(), work, (OfflineModel(),)))
    shown = conversation.preview(messages, options(), work, (OfflineModel(),))
    assert isinstance(done, Summarised)
    assert isinstance(shown, Preview)
    assert "folded" not in [notice.code for notice in done.warnings]
    assert shown.requests == 1
    assert shown.request.messages == tuple(messages[:-2])


def test_an_offline_summary_is_no_longer_than_half_of_what_a_request_may_take() -> None:
    messages = [message for n in range(400) for message in (user(f"Fix bug {n} " + "a" * 200), assistant("Fixed."))]
    done = asyncio.run(conversation.summarise(messages, options(), workshop(maxRequestTokens=1700), (OfflineModel(),)))
    assert isinstance(done, Summarised)
    assert len(done.summary["content"].encode()) < 1700 * 2.7 / 2


def test_a_fold_is_told() -> None:
    assert "folded" in codes([user("o" * 10_000), *TAIL], WHOLE, workshop(maxRequestTokens=1700))
    assert "folded" not in codes(LONG)


def test_the_progress_of_a_fold_is_told() -> None:
    told: list[str] = []
    work = workshop(maxRequestTokens=1700)
    messages = [user("o" * 10_000), *TAIL]
    asyncio.run(conversation.summarise(messages, options(), work, (ScriptedModel("S"),), told.append))
    assert told == [f"Summarising part {number} of 3" for number in (1, 2, 3)]


def test_parts_beyond_the_estimate_are_told_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation.folding, "count_requests", lambda *_: 2)
    told: list[str] = []
    work = workshop(maxRequestTokens=1700)
    messages = [user("o" * 10_000), *TAIL]
    asyncio.run(conversation.summarise(messages, options(), work, (ScriptedModel("S"),), told.append))
    assert told == ["Summarising part 1 of 2", "Summarising part 2", "Summarising part 3"]


def test_the_usage_of_all_requests_is_added_up() -> None:
    model = ScriptedModel(ModelReply("S", "scripted", usage=Usage(100, 10)))
    done = summarised([user("o" * 10_000), *TAIL], model, workshop(maxRequestTokens=1700))
    assert done.usage == Usage(100 * len(model.requests), 10 * len(model.requests))


def test_usage_that_was_not_told_is_not_made_up() -> None:
    assert summarised(LONG, ScriptedModel(WHOLE)).usage is None


def test_requests_that_were_used_up_before_folding_smaller_count_too() -> None:
    reply = ModelReply("S", "scripted", usage=Usage(100, 10))
    done = summarised(
        [user("o" * 10_000), *TAIL], ScriptedModel(reply, TOO_LONG, reply), workshop(maxRequestTokens=2500)
    )
    assert done.usage is not None
    assert done.usage.input_tokens == 100 * (1 + int(_parts(done)))


def _parts(done: Summarised) -> str:
    """How many parts the last, successful fold had, as its warning says."""
    (notice,) = [notice for notice in done.warnings if notice.code == "folded"]
    return next(word for word in notice.message.split() if word.isdigit())


# --- too long for the model, whatever the limit says ------------------------------------------------------------


def window_of(limit: int) -> Callable[[ModelRequest], str | ModelFailure]:
    """A model that takes requests of so many tokens, no more."""
    return lambda request: TOO_LONG if tokens(request) > limit else "S"


@pytest.mark.parametrize("max_request_tokens", [0, 150_000, 6_000])
def test_a_request_too_long_for_the_model_is_folded_until_it_fits(max_request_tokens: int) -> None:
    model = ScriptedModel(window_of(3000))
    done = summarised([user("o" * 20_000), *TAIL], model, workshop(maxRequestTokens=max_request_tokens))
    assert done.messages[0] == user(f"{PREFIX}\nS")
    assert int(_parts(done)) > 1


def test_what_is_not_sent_does_not_slow_the_folding_down() -> None:
    call = calling("c1")
    call["tool_calls"][0]["function"]["arguments"] = "x" * 200_000
    model = ScriptedModel(window_of(3000))
    summarised([user("o" * 10_000), call, result("c1"), *TAIL], model, workshop(maxRequestTokens=0))
    assert tokens(model.requests[1]) < tokens(model.requests[0]) / 1.5


def test_a_model_that_finds_everything_too_long_is_a_model_error_in_the_end() -> None:
    model = ScriptedModel(TOO_LONG)
    assert failure([user("o" * 20_000), *TAIL], model).type == "model_error"
    sizes = [tokens(request) for request in model.requests]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == len(sizes) > 1


# --- warnings -------------------------------------------------------------------------------------------------


def test_a_whole_answer_to_the_exact_prompt_gives_no_warning() -> None:
    assert codes(LONG, WHOLE, workshop(EXACT)) == []


def test_an_answer_without_sections_is_kept_with_a_warning() -> None:
    assert codes(LONG, "prose") == ["missing_sections"]


def test_sections_are_not_missed_when_the_user_asks_with_a_prompt_of_their_own() -> None:
    assert codes(LONG, "prose", prompt="mine") == []


@pytest.mark.parametrize("prompt", [EXACT, OWN], ids=["exact", "own"])
def test_the_template_repeated_is_kept_with_a_warning(prompt: Any) -> None:
    template = prompt.text[prompt.text.index("<current_focus>") :]
    assert "echoed_template" in codes(LONG, template, workshop(prompt))


def test_an_answer_that_was_cut_off_is_kept_with_a_warning() -> None:
    assert codes(LONG, ModelReply(WHOLE, "scripted", stop_reason="max_tokens")) == ["cut_off"]


def test_lithifys_own_prompt_is_told_with_the_way_to_the_other() -> None:
    done = summarised(LONG, ScriptedModel(WHOLE), workshop(OWN))
    (notice,) = done.warnings
    assert (notice.code, done.prompt_source) == ("prompt_fallback", "lithify")
    assert "lithify prompts fetch" in notice.message


def test_a_damaged_copy_of_the_exact_prompt_is_told() -> None:
    damaged = dataclasses.replace(OWN, problem="The copy in /x is damaged.")
    (notice,) = summarised(LONG, ScriptedModel(WHOLE), workshop(damaged)).warnings
    assert "The copy in /x is damaged." in notice.message


def test_the_prompt_that_was_not_used_is_not_told() -> None:
    assert codes(LONG, WHOLE, workshop(OWN), prompt="mine") == []


def test_instructions_that_the_offline_model_does_not_heed_are_told() -> None:
    offline = ModelReply(WHOLE, "offline")
    assert codes(LONG, offline, instructions="keep the names") == ["instructions_ignored"]
    assert codes(LONG, offline, instructions=" \n") == codes(LONG, offline) == []


def test_instructions_to_a_model_are_not_said_to_be_ignored() -> None:
    assert codes(LONG, WHOLE, instructions="keep the names") == []


def test_media_in_the_range_are_told_and_media_in_the_tail_are_not() -> None:
    picture = said("user", [*text("o" * 5000), {"type": "image_url", "image_url": {"url": "x"}}])
    assert codes([picture, *TAIL]) == ["media_dropped"]
    assert codes([user("o" * 5000), picture, TAIL[1]]) == []


@pytest.mark.parametrize(
    "group",
    [[calling("c1"), result("c1")], [using("c1"), used("c1")]],
    ids=["openai", "anthropic"],
)
def test_an_exact_range_that_leaves_a_result_alone_names_it(group: list[Message]) -> None:
    messages = [user("o" * 5000), *group, *TAIL]
    done = summarised(messages, ScriptedModel(WHOLE), up_to=1, exact=True)
    (notice,) = done.warnings
    assert notice.code == "orphaned_tool_result"
    assert "c1" in notice.message
    assert done.messages[1] == group[1]


def test_an_exact_range_that_leaves_a_call_alone_names_it() -> None:
    messages = [user(), calling("c1"), result("c1"), user("o" * 5000), *TAIL]
    assert codes(messages, start=2, end=4, exact=True) == ["orphaned_tool_call"]


def test_a_widened_range_leaves_nothing_to_tell() -> None:
    assert codes([user("o" * 5000), calling("c1"), result("c1"), *TAIL], up_to=1) == []


def test_a_call_without_a_result_in_the_range_is_told() -> None:
    assert codes([user("o" * 5000), calling("c1"), *TAIL]) == ["open_tool_call"]


def test_a_call_without_a_result_in_the_tail_is_not_told() -> None:
    assert codes([user("o" * 5000), user(), calling("c1")]) == []


# --- a result that is not smaller -------------------------------------------------------------------------------


def of_tokens(count: int) -> list[Message]:
    """A conversation whose range has that many tokens."""
    return [user("o" * (count * 27 // 10)), *TAIL]


def answer_of_tokens(count: int) -> str:
    """An answer whose whole summary message has that many tokens."""
    return "a" * (count * 27 // 10 - len(PREFIX) - 1)


@pytest.mark.parametrize(("before", "after", "told"), [(1000, 990, False), (1000, 1000, True), (1000, 1010, True)])
def test_a_result_that_is_not_smaller_is_told(before: int, after: int, told: bool) -> None:
    assert ("not_smaller" in codes(of_tokens(before), answer_of_tokens(after), prompt="mine")) == told


def test_a_result_that_is_not_smaller_is_accepted_below_the_size_to_refuse_from() -> None:
    work = workshop(refuseLargerFrom=1001)
    assert codes(of_tokens(1000), answer_of_tokens(1000), work, prompt="mine") == ["not_smaller"]


@pytest.mark.parametrize("refuse_from", [1000, 999, 1])
def test_a_result_that_is_not_smaller_is_refused_at_the_size_to_refuse_from_and_above(refuse_from: int) -> None:
    found = failure(of_tokens(1000), ScriptedModel(answer_of_tokens(1000)), workshop(refuseLargerFrom=refuse_from))
    assert (found.type, found.retryable) == ("not_smaller", True)


def test_a_smaller_result_is_never_refused() -> None:
    assert codes(of_tokens(1000), answer_of_tokens(990), workshop(refuseLargerFrom=1), prompt="mine") == []


def test_a_size_to_refuse_from_of_nothing_never_refuses() -> None:
    work = workshop(refuseLargerFrom=0)
    assert codes(of_tokens(30_000), answer_of_tokens(31_000), work, prompt="mine") == ["not_smaller"]


# --- failures -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["", " ", "\n\t\n"])
def test_a_blank_answer_is_an_error_and_changes_nothing(answer: str) -> None:
    assert failure(LONG, ScriptedModel(answer)).type == "empty_response"


def test_a_blank_answer_in_the_middle_of_a_fold_is_an_error() -> None:
    model = ScriptedModel("S", " ", "S")
    assert failure([user("o" * 10_000), *TAIL], model, workshop(maxRequestTokens=1700)).type == "empty_response"
    assert len(model.requests) == 2


@pytest.mark.parametrize("kind", ["model_unavailable", "model_error", "empty_response", "timeout", "not_built"])
@pytest.mark.parametrize("retryable", [True, False])
def test_a_failure_of_the_model_is_passed_on_as_it_is(kind: ModelFailureType, retryable: bool) -> None:
    found = failure(LONG, ScriptedModel(ModelFailure(kind, "the sentence", retryable=retryable)))
    assert (found.type, found.message, found.retryable) == (kind, "the sentence", retryable)


def test_a_failure_in_the_middle_of_a_fold_is_passed_on() -> None:
    model = ScriptedModel("S", ModelFailure("timeout", "the sentence"))
    assert failure([user("o" * 10_000), *TAIL], model, workshop(maxRequestTokens=1700)).type == "timeout"
