"""The offline digest: a transcript shortened to six sections, literally and deterministically, without a model.

A digest selects and shortens the transcript's own words; it never states anything of its own. The stages:
`steps` reads messages, `tools` understands tool uses, `gathering` collects facts, `talk`, `work`, `files` and
`surroundings` turn facts into ranked items, `earlier` carries over a summary that stands in the transcript, and
`sections` fills the six sections to the byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lithify.core.digest import surroundings, talk, work
from lithify.core.digest.gathering import Facts, gather
from lithify.core.digest.items import Item
from lithify.core.digest.sections import fill
from lithify.core.digest.steps import read
from lithify.core.digest.tools import act
from lithify.core.messages import Message

LEAST_TARGET_BYTES = 1024
"""The smallest digest that can say anything: a smaller target is taken for this one."""


def digest(messages: Sequence[Message], target_bytes: int) -> str:
    """The six sections of kimi-cli's compaction output, filled from messages, in at most `target_bytes` of UTF-8.

    Never raises on foreign shapes; targets under 1024 are taken for 1024.
    """
    facts = gather(act(read(messages)))
    return fill(_items(facts), max(target_bytes, LEAST_TARGET_BYTES))


def _items(facts: Facts) -> Iterator[Item]:
    yield from talk.items(facts)
    yield from work.items(facts)
    yield from facts.files.items()
    yield from surroundings.items(facts)
    for nth, (section, text) in enumerate(facts.carried):
        yield Item(section, 11 + nth * 0.5, -1, text, share=30)
