"""What holds for any messages and any range: the rest is untouched, nothing is orphaned, and no more goes than must."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import assume, given
from hypothesis import strategies as st

from lithify.core.conversation import Noop, Plan, kept_in_front, plan_compaction, plan_up_to, with_summary
from lithify.core.kimi import request_parts, summary_message
from lithify.core.messages import estimate_tokens
from lithify.core.tool_groups import widen
from tests.support.messages import Message, call_ids, exactly, orphans, pairs

ROLES = ("system", "user", "assistant", "tool", "developer", "somebody")
CALL_IDS = ("a", "b", "c")
PROMPT, INTRO = "PROMPT", "INTRO"


class Asked(NamedTuple):
    """A compaction of either kind; `up_to` None: by range."""

    start: int | None
    end: int | None
    up_to: int | None
    preserved: int
    exact: bool


# --- any messages ---------------------------------------------------------------------------------------------

texts = st.text(max_size=6) | st.sampled_from(["", " ", "\n", "😀", "\ud800", "## Message 1\nRole: user\nContent:\n"])
ids = st.sampled_from([*CALL_IDS, "unknown", "", None])
odd = st.none() | st.integers() | texts | st.just({}) | st.just([None])

parts = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": texts | odd}),
    st.fixed_dictionaries({"type": st.just("think"), "think": texts}),
    st.fixed_dictionaries({"type": st.just("image_url"), "image_url": odd}),
    st.fixed_dictionaries({"type": st.just("weird")}, optional={"text": texts, "x": odd}),
    st.fixed_dictionaries({"type": st.just("tool_use"), "id": ids, "name": texts, "input": odd}),
    st.fixed_dictionaries({"type": st.just("tool_result"), "tool_use_id": ids, "content": texts | odd}),
    odd,
)
contents = texts | st.none() | st.lists(parts, max_size=3)
calls = st.fixed_dictionaries(
    {"function": st.fixed_dictionaries({"name": texts, "arguments": odd})}, optional={"id": ids}
)


def calls_if_allowed(message: Message) -> bool:
    """A leading system message stays in front whatever else goes, so it must have no calls to be orphaned."""
    return message["role"] != "system" or not call_ids(message)


plain = st.fixed_dictionaries(
    {"role": st.sampled_from(ROLES), "content": contents}, optional={"name": texts, "id": texts}
).filter(calls_if_allowed)
calling = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": contents, "tool_calls": st.lists(calls | odd, max_size=3) | odd}
)
answering = st.fixed_dictionaries(
    {"role": st.just("tool"), "content": contents},
    optional={"tool_call_id": ids, "tool_call_ids": st.lists(st.sampled_from(CALL_IDS), max_size=2)},
)


def numbered(messages: list[Message]) -> list[Message]:
    """Each with a key of its own, by which the checks tell equal messages apart."""
    return [{**message, "n": number} for number, message in enumerate(messages)]


conversations = st.lists(plain | calling | answering, max_size=10).map(numbered)


@st.composite
def compactions(draw: st.DrawFn, *, exact: bool = False) -> tuple[list[Message], Asked]:
    messages = draw(conversations)
    bound = st.none() | st.integers(0, len(messages))
    start, end = draw(bound), draw(bound)
    if start is not None and end is not None and end < start:
        start, end = end, start
    up_to = draw(st.none() | st.integers(0, len(messages) - 1)) if messages else None
    return messages, Asked(start, end, up_to, draw(st.integers(-1, 4)), exact)


def planned(messages: list[Message], asked: Asked) -> Plan | Noop:
    if asked.up_to is not None:
        found = plan_up_to(messages, asked.up_to, exact=asked.exact)
    else:
        found = plan_compaction(
            messages, start=asked.start, end=asked.end, max_preserved_messages=asked.preserved, exact=asked.exact
        )
    assert isinstance(found, Plan | Noop)
    return found


def compacted(messages: list[Message], plan: Plan) -> list[Message]:
    return with_summary(messages, plan.range, summary_message(messages, "SUM"))


# --- what is kept ---------------------------------------------------------------------------------------------


@given(compactions() | compactions(exact=True))
def test_everything_outside_the_range_is_kept_byte_for_byte(given: tuple[list[Message], Asked]) -> None:
    messages, asked = given
    plan = planned(messages, asked)
    assume(isinstance(plan, Plan))
    assert isinstance(plan, Plan)
    front = plan.range.start + kept_in_front(messages, plan.range)
    head, tail = exactly(messages[:front]), exactly(messages[plan.range.end :])
    after = compacted(messages, plan)
    assert exactly(after[:front]) == head
    assert exactly(after[front + 1 :]) == tail


@given(compactions() | compactions(exact=True))
def test_neither_a_plan_nor_a_no_op_nor_a_compaction_changes_what_was_given(given: tuple[list[Message], Asked]) -> None:
    messages, asked = given
    before = exactly(messages)
    plan = planned(messages, asked)
    if isinstance(plan, Plan):
        request_parts(messages[plan.range.start : plan.range.end], PROMPT, INTRO, "")
        compacted(messages, plan)
    assert exactly(messages) == before


@given(compactions())
def test_no_call_and_no_result_is_left_alone_that_was_not_before(given: tuple[list[Message], Asked]) -> None:
    messages, asked = given
    plan = planned(messages, asked)
    assume(isinstance(plan, Plan))
    assert isinstance(plan, Plan)
    assert set(orphans(compacted(messages, plan))) <= set(orphans(messages))


# --- what is taken --------------------------------------------------------------------------------------------


@given(compactions())
def test_the_range_holds_what_was_asked_for(given: tuple[list[Message], Asked]) -> None:
    messages, asked = given
    plan = planned(messages, asked)
    assume(isinstance(plan, Plan))
    assert isinstance(plan, Plan)
    assert 0 <= plan.range.start <= plan.requested.start < plan.requested.end <= plan.range.end <= len(messages)


@given(compactions(exact=True))
def test_exact_takes_just_what_was_asked_for(given: tuple[list[Message], Asked]) -> None:
    plan = planned(*given)
    assert isinstance(plan, Noop) or plan.range == plan.requested


def smallest_whole_range(messages: list[Message], start: int, end: int) -> tuple[int, int]:
    """Tries every range around the one asked for, the shortest first."""
    together = pairs(messages)
    around = [(low, high) for low in range(start + 1) for high in range(end, len(messages) + 1)]
    for low, high in sorted(around, key=lambda bounds: bounds[1] - bounds[0]):
        if all((low <= call < high) == (low <= result < high) for call, result in together):
            return low, high
    raise AssertionError("the whole conversation parts nothing")


@given(conversations, st.data())
def test_a_range_is_widened_as_far_as_it_must_and_no_further(messages: list[Message], data: st.DataObject) -> None:
    assume(messages)
    start = data.draw(st.integers(0, len(messages) - 1))
    end = data.draw(st.integers(start + 1, len(messages)))
    assert widen(messages, start, end) == smallest_whole_range(messages, start, end)


# --- kimi-cli's rules, said again in their own words ----------------------------------------------------------


def kimi_cut(messages: list[Message], preserved: int) -> int:
    """How many messages kimi-cli compacts: all before the n-th last user or assistant message; 0: a no-op."""
    counted = [index for index, message in enumerate(messages) if message["role"] in ("user", "assistant")]
    return counted[-preserved] if 0 < preserved <= len(counted) else 0


def kimi_parts(messages: list[Message]) -> list[str]:
    """What kimi-cli sends of messages whose roles and parts it knows, the closing part left out."""
    found = []
    for number, message in enumerate(messages, start=1):
        found.append(f"## Message {number}\nRole: {message['role']}\nContent:\n")
        content = message["content"]
        listed = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        found += [part["text"] for part in listed if part["type"] == "text"]
    return found


known_parts = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": texts}),
    st.fixed_dictionaries({"type": st.just("think"), "think": texts}),
    st.fixed_dictionaries({"type": st.just("image_url"), "image_url": st.just({"url": "x"})}),
)
known_messages = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["system", "user", "assistant", "tool"]),
        "content": texts | st.none() | st.lists(known_parts, max_size=4),
    }
)


@given(st.lists(plain, max_size=10), st.integers(-1, 4))
def test_the_tail_begins_where_kimi_cli_lets_it_begin(messages: list[Message], preserved: int) -> None:
    plan = plan_compaction(messages, start=None, end=None, max_preserved_messages=preserved, exact=False)
    cut = kimi_cut(messages, preserved)
    if isinstance(plan, Plan):
        assert plan.requested.end == cut
    else:
        assert isinstance(plan, Noop)
        assert cut == 0 or {message["role"] for message in messages[:cut]} == {"system"}


@given(st.lists(known_messages, max_size=6))
def test_without_blank_texts_the_parts_are_those_of_kimi_cli(messages: list[Message]) -> None:
    wanted = kimi_parts(messages)
    assume(all(part.strip() for part in wanted))
    assert list(request_parts(messages, PROMPT, INTRO, "")) == [*wanted, "\n" + PROMPT]


@given(st.lists(known_messages, max_size=6))
def test_with_blank_texts_the_request_differs_from_kimi_clis_by_white_space_alone(messages: list[Message]) -> None:
    parts = request_parts(messages, PROMPT, INTRO, "")[:-1]
    assert "".join("".join(parts).split()) == "".join("".join(kimi_parts(messages)).split())


@given(conversations)
def test_no_blank_part_is_ever_sent(messages: list[Message]) -> None:
    assert [part for part in request_parts(messages, PROMPT, INTRO, "") if not part.strip()] == []


@given(conversations)
def test_any_messages_can_be_measured(messages: list[Any]) -> None:
    assert estimate_tokens(messages) >= 0
