"""A command that carries the digest of the range it was offered for compacts that range and no other."""

from __future__ import annotations

import pytest

from lithify.core.compaction_results import Preview
from lithify.core.outcomes import LithifyError
from lithify.core.range_digests import range_digest
from tests.support.messages import Message, assistant, calling, result, user
from tests.support.scripted_model import ScriptedModel, preview, summarise, summarised

CHAT = [user("a"), assistant("b"), user("c"), assistant("d")]


def digest(messages: list[Message]) -> str:
    return range_digest(messages)


def test_a_preview_tells_the_digest_of_its_range() -> None:
    shown = preview(CHAT, up_to=1)
    assert isinstance(shown, Preview)
    assert shown.digest == digest(CHAT[:2])


def test_a_range_that_holds_what_was_shown_is_compacted_whatever_came_behind_it() -> None:
    done = summarised([*CHAT, user("more")], ScriptedModel("x"), up_to=1, digest=digest(CHAT[:2]))
    assert done.plan.range.end == 2


@pytest.mark.parametrize(
    "changed",
    [
        [user("A"), *CHAT[1:]],
        [user("summary"), *CHAT[2:]],
        [CHAT[0], calling("c1"), result("c1", "late")],
        [CHAT[0]],
    ],
    ids=["edited", "compacted", "widened", "cut"],
)
def test_a_range_that_holds_other_messages_is_stale_and_no_model_is_asked(changed: list[Message]) -> None:
    model = ScriptedModel("x")
    with pytest.raises(LithifyError) as caught:
        summarise(changed, model, up_to=1, digest=digest(CHAT[:2]))
    assert (caught.value.type, caught.value.retryable, model.requests) == ("stale", False, [])
