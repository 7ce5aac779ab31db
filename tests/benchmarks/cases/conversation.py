"""A compaction of a conversation of 10,000 messages: until the model is asked, and with the offline model's answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from lithify.core.agents import CompactionOptions
from lithify.core.model_calls import ModelFailure, ModelRequest
from lithify.core.outcomes import LithifyError
from lithify.core.settings import Conversation
from lithify.llm.offline import OfflineModel
from lithify.prompt_files.templates import find_conversation_prompt
from lithify.workers.conversation import Workshop, ask_directly, summarise
from lithify.workers.ports import Model
from tests.benchmarks.figures import Case, Measured, Target
from tests.benchmarks.material import messages
from tests.benchmarks.rounds import interleaved, milliseconds

MESSAGES, BYTES = 10_000, 5_000_000
ROUNDS = 11
OPTIONS = CompactionOptions(
    start=None,
    end=None,
    up_to=None,
    max_preserved_messages=2,
    exact=False,
    instructions="",
    prompt=None,
    model=None,
    settings={},
)

_YARDSTICK = "one `json.loads` of the same"

CASES = (
    Case("preparing a compaction of 10,000 messages (5 MB)", "ms", Target("ratio", at_most=1), _YARDSTICK),
    Case("offline compaction of the same", "ms", Target("ratio", at_most=15), _YARDSTICK),
)


class Nobody:
    """A model that is not there: what is asked of it is all that is to be measured."""

    name = "nobody"
    host = None
    default_model = None

    async def ask(self, request: ModelRequest) -> ModelFailure:
        """Fails at once."""
        return ModelFailure("model_error", "nobody is there", retryable=False)


def measure(folder: Path) -> Iterator[Measured]:
    """The figures of the cases."""
    chat = messages(MESSAGES, BYTES)
    text = json.dumps(chat, ensure_ascii=False)
    workshop = Workshop(find_conversation_prompt(folder), Conversation(), ask_directly)

    async def summarised(model: Model) -> None:
        await summarise(chat, OPTIONS, workshop, [model])

    def compact(model: Model) -> None:
        asyncio.run(summarised(model))  # which writes out what its coroutine returns, so that must be nothing

    def prepare() -> None:
        with suppress(LithifyError):
            compact(Nobody())

    def parse() -> float:
        return milliseconds(lambda: json.loads(text))

    yield interleaved(CASES[0], ROUNDS, lambda: milliseconds(prepare), parse)
    yield interleaved(CASES[1], ROUNDS, lambda: milliseconds(lambda: compact(OfflineModel())), parse)
