"""Bare messages: what is planned for them is what is planned for the messages that they come from."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from lithify.core.bare_messages import bare
from lithify.core.conversation import plan_up_to
from lithify.core.tool_groups import answers, widen
from tests.support.messages import Message, calling, result, said, using
from tests.transcripts.made_files import messages as made_messages

ODD = st.sampled_from([None, 7, "", "c1", [], [7], ["c1"], {"id": "c1"}, [{"id": 7}], [{}], ["c1", "c2"]])
IDS = st.sampled_from(["c1", "c2"])
ODD_MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "tool", "assistant", "system", 7]),
        "content": ODD | st.sampled_from([[{"type": []}], [{"type": "tool_use"}], [{"type": "tool_result"}]]),
        "tool_calls": ODD,
        "tool_call_id": ODD,
        "tool_call_ids": ODD,
    },
)
CONVERSATIONS = st.lists(
    st.one_of(
        ODD_MESSAGES,
        made_messages(),
        IDS.map(calling),
        IDS.map(using),
        (IDS | st.none()).map(result),
        IDS.map(lambda call_id: said("user", [{"type": "tool_result", "tool_use_id": call_id, "content": "x"}])),
    ),
    max_size=8,
)


@given(CONVERSATIONS)
def test_ranges_are_planned_alike_for_messages_and_for_bare_ones(conversation: list[Message]) -> None:
    stripped = list(map(bare, conversation))
    assert answers(stripped) == answers(conversation)
    for index in range(len(conversation)):
        assert plan_up_to(stripped, index, exact=False) == plan_up_to(conversation, index, exact=False)
        assert widen(stripped, index, len(conversation)) == widen(conversation, index, len(conversation))


def test_a_bare_message_says_nothing() -> None:
    spoken = [
        said("user", "secret", name="secret"),
        said("assistant", [{"type": "text", "text": "secret"}], reasoning_content="secret"),
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "secret", "arguments": "secret"}}]},
        said("user", [{"type": "tool_use", "id": "c", "name": "secret", "input": {"secret": "secret"}}]),
        said("user", [{"type": "tool_result", "tool_use_id": "c", "content": "secret"}]),
    ]
    assert "secret" not in json.dumps(list(map(bare, spoken)))
