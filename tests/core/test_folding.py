"""Folding: chunks that fit, that lose nothing, and as many as were counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.core.folding import (
    EXPECTED_SUMMARY_BYTES,
    LEAST_CHUNK_BYTES,
    Chunk,
    carried,
    count_requests,
    fits,
    measured,
    next_chunk,
    room_bytes,
)
from lithify.core.kimi import OUTPUT_PREFIX, request_parts, sendable_texts
from tests.support.messages import Message, assistant, said, text, user


def sent_bytes(messages: tuple[Message, ...]) -> int:
    """What the messages of a request take in UTF-8, the closing part left out."""
    return sum(len(part.encode("utf-8", "surrogatepass")) for part in request_parts(messages, "", "", "")[:-1])


def folded(messages: list[Message], room: int, summary: str = "S") -> list[Chunk]:
    """Every chunk, when each is answered with that summary."""
    chunks = [next_chunk(measured(messages), room, None)]
    while chunks[-1].rest.messages:
        chunks.append(next_chunk(chunks[-1].rest, room, carried(summary, room)))
    return chunks


def new_messages(chunks: list[Chunk]) -> list[Message]:
    """The messages of all chunks, those that carry a summary left out."""
    return [*chunks[0].messages, *(message for chunk in chunks[1:] for message in chunk.messages[1:])]


def all_text(messages: list[Message]) -> str:
    return "".join(part for message in messages for part in sendable_texts(message))


def roles_and_text(messages: list[Message]) -> list[tuple[str, str]]:
    """The text under each role, slices under the same role put together."""
    found: list[tuple[str, str]] = []
    for message in messages:
        said_now = "".join(sendable_texts(message))
        if found and found[-1][0] == message["role"]:
            found[-1] = (message["role"], found[-1][1] + said_now)
        else:
            found.append((message["role"], said_now))
    return found


def without_white_space(value: str) -> str:
    return "".join(value.split())


# --- any messages ---------------------------------------------------------------------------------------------

repeated = st.builds(
    lambda unit, times: unit * times, st.sampled_from(["a", "é", "漢", "😀", "two words"]), st.integers(1, 900)
)
with_blanks = repeated | st.builds(
    lambda unit, times: unit * times, st.sampled_from([" ", "\n", "\ud800"]), st.integers(0, 900)
)
roles = st.sampled_from(["user", "assistant", "tool", "developer", "a role of some length"])
contents = repeated | st.lists(repeated, min_size=1, max_size=3).map(lambda parts: text(*parts))
messages_with_text = st.lists(st.builds(said, roles, contents), min_size=1, max_size=8)
odd_contents = with_blanks | st.none() | st.lists(with_blanks, max_size=3).map(lambda parts: text(*parts))
any_messages = st.lists(st.builds(said, roles, odd_contents), min_size=1, max_size=8)
rooms = st.integers(LEAST_CHUNK_BYTES, 4000)
summaries = st.builds(
    lambda unit, times: unit * times, st.sampled_from(["s", "漢", "😀", "\ud800"]), st.integers(1, 4000)
)


@given(any_messages, rooms, summaries)
def test_every_request_stays_within_its_room(messages: list[Message], room: int, summary: str) -> None:
    assert [chunk for chunk in folded(messages, room, summary) if sent_bytes(chunk.messages) > room] == []


@given(messages_with_text, rooms, summaries)
def test_the_chunks_together_hold_all_the_text_in_order(messages: list[Message], room: int, summary: str) -> None:
    assert all_text(new_messages(folded(messages, room, summary))) == all_text(messages)


@given(any_messages, rooms)
def test_only_white_space_is_ever_lost_between_chunks(messages: list[Message], room: int) -> None:
    found = all_text(new_messages(folded(messages, room)))
    assert without_white_space(found) == without_white_space(all_text(messages))


@given(messages_with_text, rooms)
def test_a_slice_stays_under_the_role_of_its_message(messages: list[Message], room: int) -> None:
    assert roles_and_text(new_messages(folded(messages, room))) == roles_and_text(messages)


@given(any_messages, rooms, summaries)
def test_every_request_after_the_first_begins_with_the_summary_so_far(
    messages: list[Message], room: int, summary: str
) -> None:
    chunks = folded(messages, room, summary)
    assert [chunk for chunk in chunks[1:] if chunk.messages[0] != carried(summary, room)] == []


@given(any_messages, rooms, summaries)
def test_every_request_takes_something_new(messages: list[Message], room: int, summary: str) -> None:
    first, *others = folded(messages, room, summary)
    assert first.messages
    assert [chunk for chunk in others if len(chunk.messages) < 2] == []


# --- how many -------------------------------------------------------------------------------------------------


def expected_summary(room: int) -> str:
    """A summary of the size that counting takes it for."""
    return "x" * min(EXPECTED_SUMMARY_BYTES, room // 3)


def limit_of(room: int) -> int:
    """The least limit in tokens that leaves that much room beside an empty prompt."""
    return next(limit for limit in range(room // 3, room) if room_bytes(limit, 0) >= room)


@given(any_messages, rooms)
def test_as_many_requests_are_made_as_were_counted_when_summaries_have_the_expected_size(
    messages: list[Message], room: int
) -> None:
    limit = limit_of(room)
    room = room_bytes(limit, 0)
    made = 1 if fits(measured(messages), limit, 0) else len(folded(messages, room, expected_summary(room)))
    assert count_requests(measured(messages), limit, 0) == made


@given(any_messages, rooms, st.data())
def test_a_long_message_takes_no_more_requests_than_were_counted_when_summaries_are_smaller(
    messages: list[Message], room: int, data: st.DataObject
) -> None:
    limit, one = limit_of(room), messages[-1:]
    room = room_bytes(limit, 0)
    smaller = expected_summary(room)[: data.draw(st.integers(1, room // 3))]
    made = 1 if fits(measured(one), limit, 0) else len(folded(one, room, smaller))
    assert made <= count_requests(measured(one), limit, 0)


def test_several_messages_may_take_more_requests_than_were_counted_when_they_are_cut_elsewhere() -> None:
    messages, room = [user("a"), user("a"), user("😀" * 369)], 605
    limit = limit_of(room)
    room = room_bytes(limit, 0)
    assert len(folded(messages, room, "x" * 160)) == count_requests(measured(messages), limit, 0) + 1


def test_more_requests_may_be_made_than_were_counted_when_summaries_are_larger() -> None:
    messages, room = [user("a" * 100_000)], 4000
    assert len(folded(messages, room, "x" * 4000)) > count_requests(measured(messages), limit_of(room), 0)


# --- limits ---------------------------------------------------------------------------------------------------


def test_a_limit_of_nothing_never_folds() -> None:
    messages = [user("a" * 10_000_000)]
    assert fits(measured(messages), 0, 10**9)
    assert count_requests(measured(messages), 0, 0) == 1


def test_the_prompt_takes_room_from_the_messages() -> None:
    messages = [user("a" * 2000)]
    assert fits(measured(messages), 1000, 500)
    assert not fits(measured(messages), 1000, 1000)


def test_even_a_prompt_over_the_limit_leaves_room_for_something_new() -> None:
    assert room_bytes(100, 10_000) == LEAST_CHUNK_BYTES


def test_a_role_as_long_as_a_text_takes_its_room() -> None:
    messages = [said("r" * 400, "a" * 400)]
    assert not fits(measured(messages), limit_of(800), 0)


# --- slices ---------------------------------------------------------------------------------------------------


def test_a_giant_message_is_sent_in_slices_that_fill_their_requests() -> None:
    chunks = folded([assistant("0123456789" * 20_000)], 10_000)
    assert 200_000 / 10_000 <= len(chunks) <= 200_000 / 9_000
    assert {message["role"] for message in new_messages(chunks)} == {"assistant"}


@pytest.mark.parametrize("character", ["漢", "😀", "é", "a😀漢é"])
def test_no_character_is_cut_in_two(character: str) -> None:
    chunks = folded([user(character * 1000)], 1000)
    slices = [part for message in new_messages(chunks) for part in sendable_texts(message)]
    assert len(slices) > 1
    assert {mark for part in slices for mark in part} == set(character)


def test_a_message_that_fits_the_next_request_is_not_cut() -> None:
    messages = [user("a" * 700), user("b" * 400)]
    assert [message["content"] for message in new_messages(folded(messages, 1000))] == ["a" * 700, "b" * 400]


def test_the_text_parts_of_a_message_that_fits_stay_parts() -> None:
    messages = [said("tool", text("a" * 300, "b" * 300)), user("c" * 700)]
    assert next_chunk(measured(messages), 1000, None).messages[0] == messages[0]


# --- the summary carried over ---------------------------------------------------------------------------------


def test_a_summary_that_takes_less_than_half_the_room_is_carried_whole() -> None:
    assert carried("S" * 300, 1000) == said("user", text(OUTPUT_PREFIX, "S" * 300))


@given(summaries, rooms)
def test_a_summary_carried_over_takes_at_most_half_the_room(summary: str, room: int) -> None:
    assert sent_bytes((carried(summary, room),)) <= room // 2


def test_a_summary_too_long_to_carry_keeps_its_beginning_and_its_end() -> None:
    kept = carried("BEGIN" + "s" * 10_000 + "END", 2000)["content"][1]["text"]
    assert kept.startswith("BEGINs")
    assert kept.endswith("sEND")
    assert "[...]" in kept
