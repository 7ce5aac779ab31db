"""A model that answers from a script and keeps what it was asked, and the shortest way to run a compaction with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

from lithify.core.agents import CompactionOptions
from lithify.core.compaction_results import Preview, Summarised
from lithify.core.conversation import Noop
from lithify.core.model_calls import ModelFailure, ModelReply, ModelRequest
from lithify.core.settings import Conversation
from lithify.prompt_files.templates import ConversationPrompt, find_conversation_prompt, read_template, user_prompts_dir
from lithify.workers import conversation

Answer: TypeAlias = str | ModelReply | ModelFailure | Callable[[ModelRequest], str | ModelReply | ModelFailure]

EXACT: ConversationPrompt = find_conversation_prompt(user_prompts_dir())
"""The prompt of kimi-cli; `tests/contracts/test_parity.py` asserts that it is."""

OWN = ConversationPrompt(
    text=read_template("conversation"),
    system_prompt=read_template("conversation_system").strip(),
    instruction_intro=f"\n\n{read_template('conversation_instructions').strip()}\n",
    source="lithify",
    exact=False,
)
"""Lithify's own prompt, as where nothing was fetched."""

MADE_UP = ConversationPrompt("Sum up: [what was done].", "You sum up.", "\n\nThe wish:\n", "made-up 1.0", exact=True)
"""A short prompt, for tests in which sizes matter."""


class ScriptedModel:
    """A model port. Answers come in order, the last of them again and again; `requests` holds what was asked."""

    name = "scripted"
    host: str | None = None
    default_model: str | None = None

    def __init__(self, *answers: Answer) -> None:
        self._answers = answers
        self.requests: list[ModelRequest] = []

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        answer = self._answers[min(len(self.requests), len(self._answers) - 1)]
        self.requests.append(request)
        if callable(answer):
            answer = answer(request)
        return ModelReply(answer, provider=self.name) if isinstance(answer, str) else answer


def options(**given: Any) -> CompactionOptions:
    """Options of a compaction: the defaults of a session without an agent, and what is given."""
    defaults: dict[str, Any] = {
        "start": None,
        "end": None,
        "up_to": None,
        "max_preserved_messages": 2,
        "exact": False,
        "instructions": "",
        "prompt": None,
        "model": None,
        "settings": {"disable_all_tools": True},
    }
    return CompactionOptions(**{**defaults, **given})


def workshop(prompt: ConversationPrompt = MADE_UP, **limits: Any) -> conversation.Workshop:
    """A workshop whose limits are the defaults, and those given by their names on the wire."""
    return conversation.Workshop(prompt, Conversation.model_validate(limits), conversation.ask_directly)


def preview(
    messages: list[dict[str, Any]], work: conversation.Workshop | None = None, /, **given: Any
) -> Preview | Noop:
    """A dry run."""
    return conversation.preview(messages, options(**given), work or workshop(), (ScriptedModel(""),))


def summarise(
    messages: list[dict[str, Any]], model: ScriptedModel, work: conversation.Workshop | None = None, /, **given: Any
) -> Summarised | Noop:
    """The whole way of a compaction, on an event loop of its own."""
    return asyncio.run(conversation.summarise(messages, options(**given), work or workshop(), (model,)))


def summarised(
    messages: list[dict[str, Any]], model: ScriptedModel, work: conversation.Workshop | None = None, /, **given: Any
) -> Summarised:
    """The whole way of a compaction that is no no-op."""
    done = summarise(messages, model, work, **given)
    assert isinstance(done, Summarised)
    return done
