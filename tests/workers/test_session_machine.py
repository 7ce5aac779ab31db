"""Any sequence of what clients, users and crashes do to sessions, against a plain model of what they should hold."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lithify.core.kimi import is_summary
from lithify.core.outcomes import LithifyError
from tests.support.messages import Message, assistant, exactly, system, user
from tests.support.stores import SESSION, Bench

ROLES = {"user": user, "assistant": assistant, "system": system}
MESSAGES = st.builds(lambda role, text: ROLES[role](text), st.sampled_from([*ROLES]), st.sampled_from("abcd "))
CHATS = st.lists(MESSAGES, max_size=5)
SHARE = st.floats(0, 1)


@dataclass
class Compaction:
    """A compaction as the model keeps it: the objects it replaced, and the summary object that stands for them."""

    compaction_id: str
    originals: list[Message]
    summary: Message
    undone: bool = False


@dataclass
class Session:
    """What a session should hold. A message is known by its identity: an equal one is another one."""

    messages: list[Message] = field(default_factory=list)
    compactions: list[Compaction] = field(default_factory=list)
    revision: int = 0


class SessionMachine(RuleBasedStateMachine):
    """One session, its compactions, and what was said in it."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.mkdtemp()
        self.bench = Bench(Path(self._folder))
        self.model = Session()
        self.most_said: Counter[tuple[str, str]] = Counter()
        self.words = 0

    def teardown(self) -> None:
        self.bench.store.close()
        shutil.rmtree(self._folder)

    @initialize(messages=CHATS)
    def begin(self, messages: list[Message]) -> None:
        self._opened(messages)

    # --- what happens ---

    @rule(messages=CHATS)
    def append(self, messages: list[Message]) -> None:
        self.bench.append(*messages)
        self._replaced(len(self.model.messages), 0, messages)

    @rule(start=SHARE, share=SHARE, messages=CHATS)
    def splice(self, start: float, share: float, messages: list[Message]) -> None:
        first = round(start * len(self.model.messages))
        count = round(share * (len(self.model.messages) - first))
        self.bench.splice(first, count, *messages)
        self._replaced(first, count, messages)

    @rule(messages=CHATS)
    def open_with_others(self, messages: list[Message]) -> None:
        self._opened(messages)

    @rule(messages=CHATS)
    def open_with_the_same_and_more(self, messages: list[Message]) -> None:
        self._opened([*self.bench.messages(), *messages])

    @rule()
    def restart(self) -> None:
        self.bench.restart()

    @precondition(lambda self: len(self.model.messages) > 1)
    @rule(start=SHARE, share=SHARE, meanwhile=CHATS)
    def compact(self, start: float, share: float, meanwhile: list[Message]) -> None:
        first = round(start * (len(self.model.messages) - 1))
        last = first + 1 + round(share * (len(self.model.messages) - first - 1))
        if all(message["role"] == "system" for message in self.model.messages[first:last]):
            return
        self.words += 1
        prepared = self.bench.prepared(first, last, f"summary {self.words}")
        self.append(meanwhile)
        self.bench.apply(prepared)
        if first == 0 and self.model.messages[0]["role"] == "system":
            first = 1
        made = Compaction(prepared.compaction_id, self.model.messages[first:last], prepared.summary)
        self.model.messages[first:last] = [made.summary]
        self.model.compactions.append(made)
        self.model.revision += 1

    @precondition(lambda self: self.model.compactions)
    @rule(which=SHARE, newest=st.booleans())
    def undo(self, which: float, newest: bool) -> None:
        known = self.model.compactions
        wanted = known[round(which * (len(known) - 1))]
        if newest:
            wanted = next((one for one in reversed(known) if not one.undone), wanted)
        standing = [index for index, message in enumerate(self.model.messages) if message is wanted.summary]
        before = self.bench.dump()
        if wanted.undone or not standing:
            with pytest.raises(LithifyError) as problem:
                self.bench.undo(wanted.compaction_id)
            assert problem.value.type == ("unknown_compaction" if wanted.undone else "stale")
            assert self.bench.dump() == before
        else:
            self.bench.undo(wanted.compaction_id)
            self.model.messages[standing[0] : standing[0] + 1] = wanted.originals
            self.model.revision += 1
            wanted.undone = True

    # --- what should be so ---

    @invariant()
    def the_session_holds_what_it_should(self) -> None:
        assert exactly(self.bench.messages()) == exactly(self.model.messages)

    @invariant()
    def the_revision_is_the_number_of_changes(self) -> None:
        assert self.bench.info().revision == self.model.revision

    @invariant()
    def the_counts_are_those_of_the_messages(self) -> None:
        found = self.bench.store.sessions.find(SESSION)
        assert found is not None
        assert found.message_count == len(self.model.messages)

    @invariant()
    def the_compactions_are_those_that_were_made(self) -> None:
        listed = self.bench.store.compactions.of_session(SESSION)
        assert [(one.compaction_id, one.undone) for one in listed] == [
            (one.compaction_id, one.undone) for one in self.model.compactions
        ]

    @invariant()
    def each_is_said_as_often_as_it_was_there_at_most(self) -> None:
        assert Counter((entry["kind"], said) for entry, said in self._entries()) == self.most_said

    # --- the model ---

    def _opened(self, messages: list[Message]) -> None:
        is_new = self.bench.store.sessions.find(SESSION) is None
        self.bench.open(messages)
        same = 0
        for one, other in zip(self.model.messages, messages, strict=False):
            if exactly(one) != exactly(other):
                break
            same += 1
        changed = is_new or same < len(self.model.messages) or same < len(messages)
        diverged = same < len(self.model.messages)
        self.model.messages[same:] = [dict(message) for message in messages[same:]]
        self.model.revision += changed
        if diverged:
            reachable = self._reachable(self.model.messages)
            self.model.compactions = [
                one for one in self.model.compactions if any(one.summary is message for message in reachable)
            ]
        self._heard()

    def _replaced(self, start: int, count: int, messages: list[Message]) -> None:
        old, new = self.model.messages[start : start + count], messages
        front = 0
        while front < min(len(old), len(new)) and exactly(old[front]) == exactly(new[front]):
            front += 1
        back = 0
        while back < min(len(old), len(new)) - front and exactly(old[-1 - back]) == exactly(new[-1 - back]):
            back += 1
        fresh = [dict(message) for message in new[front : len(new) - back]]
        end = start + count - back
        if fresh or end > start + front:
            self.model.revision += 1
        self.model.messages[start + front : end] = fresh
        self._heard()

    def _heard(self) -> None:
        """What is there more often than ever before was said once more."""
        there = Counter(
            ("prompt" if message["role"] == "user" else "note", message["content"])
            for message in self._reachable(self.model.messages)
            if message["role"] != "system" and message["content"].strip() and not is_summary(message)
        )
        self.most_said |= there

    def _reachable(self, messages: list[Message]) -> list[Message]:
        """The messages, and those that a summary among them stands for."""
        found: list[Message] = []
        for message in messages:
            found.append(message)
            for one in self.model.compactions:
                if one.summary is message and not one.undone:
                    found.extend(self._reachable(one.originals))
        return found

    def _entries(self) -> list[tuple[dict[str, Any], str]]:
        return [(entry, turn["content"]) for entry in self.bench.entries() for turn in entry["body"]["turns"]]


SessionMachine.TestCase.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.timeout(180)
class TestSessions(SessionMachine.TestCase):
    """Run by pytest."""
