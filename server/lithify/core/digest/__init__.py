"""The offline digest: a transcript shortened to six sections, literally and deterministically, without a model.

A digest selects and shortens the transcript's own words; it never states anything of its own. The stages:
`steps` reads messages, `tools` understands tool uses, `gathering` collects facts, `asked`, `talk`, `work`, `files` and
`surroundings` turn facts into ranked items, `earlier` reads a summary that stands in the transcript and `carrying`
carries it over behind what is newer, and `sections` fills the six sections to the byte. What is left out there is told
of by number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lithify.core.digest import asked, carrying, surroundings, talk, work
from lithify.core.digest.gathering import Facts, gather
from lithify.core.digest.items import Item
from lithify.core.digest.labels import COMPLETED, ENVIRONMENT
from lithify.core.digest.sections import fill
from lithify.core.digest.steps import read
from lithify.core.digest.tools import act
from lithify.core.messages import Message

LEAST_TARGET_BYTES = 1024
"""The smallest digest that can say anything: a smaller target is taken for this one."""

_TURN_BYTES, _LEAST_TURNS, _MOST_TURNS = 250, 300, 800


def digest(messages: Sequence[Message], target_bytes: int) -> str:
    """The six sections of kimi-cli's compaction output, filled from messages, in at most `target_bytes` of UTF-8.

    Never raises on foreign shapes; targets under 1024 are taken for 1024.
    """
    facts = gather(act(read(messages)))
    target_bytes = max(target_bytes, LEAST_TARGET_BYTES)
    most = min(max(target_bytes // _TURN_BYTES, _LEAST_TURNS), _MOST_TURNS)
    left_out = {**facts.left_out, COMPLETED: facts.left_out.get(COMPLETED, 0) + asked.passed_over(facts, most)}
    return fill(_items(facts, most), target_bytes, left_out)


def _items(facts: Facts, most: int) -> list[Item]:
    past = carrying.sift(facts)
    items = [
        *asked.items(facts, most),
        *talk.items(facts),
        *work.items(facts, past.runs),
        *facts.files.items(),
        *surroundings.items(facts),
    ]
    newer = Counter(item.section for item in items if item.counted)
    labels = {item.text.partition(": ")[0] for item in items if item.section == ENVIRONMENT}
    return [*items, *carrying.items(past, newer, labels)]
