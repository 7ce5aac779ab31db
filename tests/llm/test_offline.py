"""The offline model."""

from __future__ import annotations

import pytest

from lithify.core.digest import digest
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


@pytest.mark.asyncio
@pytest.mark.parametrize("purpose", ["buffer", "extraction"])
async def test_other_purposes_are_not_built(purpose: Purpose) -> None:
    reply = await OfflineModel().ask(request(user("x"), purpose=purpose))
    assert isinstance(reply, ModelFailure)
    assert reply.type == "not_built"
