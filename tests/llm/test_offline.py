"""The offline model."""

from __future__ import annotations

import pytest

from lithify.core.digest import digest
from lithify.core.entries import Entry
from lithify.core.memory_digest import compaction_answer, extraction_answer
from lithify.core.model_calls import ModelFailure, ModelReply, ModelRequest, Purpose
from lithify.llm.offline import OfflineModel
from tests.support.chats import Message, said, user


def request(*messages: Message, purpose: Purpose = "conversation", target_bytes: int = 1024) -> ModelRequest:
    """A request for a digest of messages."""
    return ModelRequest(purpose, "", (), 1000, messages=messages, target_bytes=target_bytes)


@pytest.mark.asyncio
async def test_a_conversation_is_answered_with_its_digest() -> None:
    chat = (user("Fix the build."), said("Green."))
    reply = await OfflineModel().ask(request(*chat, target_bytes=2000))
    assert reply == ModelReply(digest(chat, 2000), provider="offline", model="offline", stop_reason="end")


@pytest.mark.asyncio
@pytest.mark.parametrize("messages", [(), ({"role": "assistant", "content": None},), (user("  \n"),)])
async def test_messages_that_say_nothing_are_a_failure(messages: tuple[Message, ...]) -> None:
    reply = await OfflineModel().ask(request(*messages))
    assert isinstance(reply, ModelFailure)
    assert reply.type == "empty_response"


ENTRIES = (
    Entry("01A", "/n/", "prompt", {"type": "text", "content": "Fix the build."}, "2026-01-01T00:00:00Z", "test"),
    Entry("01B", "/n/", "note", {"type": "text", "content": "It is green."}, "2026-01-01T00:00:01Z", "test"),
)


def of_entries(purpose: Purpose, *entries: Entry, target_bytes: int = 1024) -> ModelRequest:
    """A request about entries of a buffer."""
    return ModelRequest(purpose, "", (), 1000, entries=entries, target_bytes=target_bytes)


@pytest.mark.asyncio
async def test_an_extraction_is_answered_with_records() -> None:
    reply = await OfflineModel().ask(of_entries("extraction", *ENTRIES))
    assert reply == ModelReply(extraction_answer(ENTRIES), provider="offline", model="offline", stop_reason="end")


@pytest.mark.asyncio
async def test_a_buffer_is_answered_with_compacted_entries_of_the_size_asked_for() -> None:
    reply = await OfflineModel().ask(of_entries("buffer", *ENTRIES, target_bytes=300))
    assert reply == ModelReply(compaction_answer(ENTRIES, 300), provider="offline", model="offline", stop_reason="end")


@pytest.mark.asyncio
@pytest.mark.parametrize("purpose", ["buffer", "extraction"])
async def test_no_entries_are_a_failure(purpose: Purpose) -> None:
    reply = await OfflineModel().ask(of_entries(purpose))
    assert isinstance(reply, ModelFailure)
    assert reply.type == "empty_response"


@pytest.mark.asyncio
async def test_an_extraction_that_finds_nothing_says_so_and_is_no_failure() -> None:
    read = {"tool_name": "Read", "tool_input": {"file_path": "/a.py"}, "tool_response": "x = 1"}
    entry = Entry("01A", "/n/", "tool_use", {"type": "json", "data": read}, "2026-01-01T00:00:00Z", "test")
    reply = await OfflineModel().ask(of_entries("extraction", entry))
    assert isinstance(reply, ModelReply)
    assert reply.text.startswith("<skip ")
