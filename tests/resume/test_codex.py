"""What only Codex does: a summary of two parts as one message, and records that are numbered."""

from __future__ import annotations

import json

from lithify.core.kimi import OUTPUT_PREFIX
from tests.resume.agents import CODEX
from tests.resume.checks import recorded
from tests.resume.conftest import Meet
from tests.resume.person import compact
from tests.resume.story import prompt


def test_a_summary_of_two_parts_is_sent_as_one_message_of_two_parts(meet: Meet) -> None:
    person = meet(CODEX)
    recorded(person, 2)
    summary = compact(person, 2)
    messages = [item for item in person.says(prompt(3)).body["input"] if item["type"] == "message"]
    said = [[part["text"] for part in item["content"]] for item in messages]
    assert [texts for texts in said if summary in texts] == [[OUTPUT_PREFIX, summary]]


def test_records_stay_numbered_from_one_to_the_next(meet: Meet) -> None:
    person = meet(CODEX)
    recorded(person, 2)
    compact(person, 2)
    person.says(prompt(3))
    lines = person.session().read_text(encoding="utf-8").splitlines()
    ordinals = [json.loads(line)["ordinal"] for line in lines]
    assert ordinals == list(range(ordinals[0], ordinals[0] + len(lines)))
