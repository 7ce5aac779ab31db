"""Asks the user what a summary should give weight to: in free words where the editor can, else with a few choices."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from lithify.core.outcomes import LithifyError
from lithify.lsp.asking import ClientError, ClientRequests
from lithify.lsp.errors import METHOD_NOT_FOUND
from lithify.lsp.wire_base import ClientOptions, is_unicode

FOCUSES = (
    "Decisions and why",
    "Code that was changed",
    "Open problems and next steps",
    "Errors and how they were solved",
)
CANCEL = "Cancel"
INFO = 3

ANSWER_SECONDS = 600.0
"""How long a user may think it over; then nothing is done."""


class Instructions:
    """Asks one editor's user. An editor that says it cannot show a question is not asked again."""

    def __init__(self, asking: ClientRequests, client: Callable[[], ClientOptions]) -> None:
        self._asking = asking
        self._client = client
        self._refused = False

    @property
    def can_be_asked(self) -> bool:
        """Whether the editor may be able to ask its user."""
        return not self._refused

    async def ask(self, title: str, note: str = "") -> str:
        """What the user wants; `title` names the compaction, `note` is what the user should know before. Raises
        LithifyError `cancelled`."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                if self._client().ask_instructions:
                    return await self._in_free_words(title, note)
                return await self._by_choice(title, note)
        except ClientError as error:
            self._refused = error.code == METHOD_NOT_FOUND
            raise _cancelled(f"the editor did not ask for instructions ({error})") from None
        except TimeoutError:
            raise _cancelled(f"no instructions were given within {ANSWER_SECONDS / 60:.0f} minutes") from None

    async def _in_free_words(self, title: str, note: str) -> str:
        params: dict[str, Any] = {"title": f"{title} with instructions", "suggestions": list(FOCUSES)}
        if note:
            params["note"] = note
        answer = await self._asking.ask("lithify/askInstructions", params, give_up=True)
        given = answer.get("instructions") if isinstance(answer, dict) else None
        if given is None:
            raise _cancelled("no instructions were given")
        if not isinstance(given, str) or not is_unicode(given):
            raise _cancelled("the answer to lithify/askInstructions must be { instructions: string | null }")
        return given

    async def _by_choice(self, title: str, note: str) -> str:
        choices = [{"title": one} for one in (*FOCUSES, CANCEL)]
        message = " ".join(filter(None, (note, f"{title}: what should the summary give weight to?")))
        params = {"type": INFO, "message": message, "actions": choices}
        answer: Any = await self._asking.ask("window/showMessageRequest", params, give_up=True)
        chosen = answer.get("title") if isinstance(answer, dict) else None
        if chosen not in FOCUSES:
            raise _cancelled("no instructions were chosen")
        return str(chosen)


def _cancelled(why: str) -> LithifyError:
    return LithifyError("cancelled", f"{why}; nothing was changed")
